"""``bgn fit``, the installed command: every format, every option, every error, and what a kill leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.persist import read
from tests.command import COMMAND, call

SMALL = ("--max-terms", 3, "--max-features", 1, "--replacements", 2, "--folds", 0, "--quiet")


@pytest.fixture(scope="module")
def rents() -> pd.DataFrame:
    """Rents that depend on a word, a number and a month, with nothing missing."""
    generator = np.random.default_rng(0)
    rows = 300
    table = pd.DataFrame(
        {
            "area": generator.uniform(20, 120, rows).round(1),
            "kind": generator.choice(["flat", "house", "loft"], rows),
            "listed": pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 700, rows), "D"),
            "lift": generator.random(rows) < 0.5,
            "floor": generator.integers(0, 4, rows),
        }
    )
    table["rent"] = (
        400
        + 300 * (table["area"] >= 60)
        + 250 * (table["kind"] == "loft")
        + 80 * (table["listed"].dt.month >= 7)
        + generator.normal(0, 5, rows)
    ).round(2)
    return table


@pytest.fixture(scope="module")
def fitted(rents: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table as CSV and the model that the command made of it."""
    folder = tmp_path_factory.mktemp("fitted")
    rents.to_csv(folder / "rents.csv", index=False)
    done = call(
        "fit", folder / "rents.csv", "--target", "rent", *SMALL,
        "--unit", "area=m²", "--unit", "rent=€", "--out", folder / "model.json", "--report", folder / "report.html",
    )  # fmt: skip
    (folder / "card.txt").write_text(done.out)
    return folder


def test_the_card_tells_the_equation_figures_and_files(fitted: Path) -> None:
    card = (fitted / "card.txt").read_text()
    assert "rent (€) = " in card
    assert "[kind = loft]" in card
    assert " m²]" in card
    for names in ("R2", "RMSE", "MAE", "this model", "linear model", "predicting the mean", "size", "Theorem 1"):
        assert names in card, names
    network = bgn.load(fitted / "model.json").network_
    names = ("this model", "linear model", "predicting the mean")
    table = [line.split() for line in card.splitlines() if line.startswith(names)]
    columns = sum(len(column.categories or "1") for column in network.schema.columns)
    assert [line[-1] for line in table] == [str(network.n_conditions), str(columns), "0"]
    assert f"\n{network.n_conditions} conditions ({len(network.rules)} rules" in card
    assert "mean squared error on the training rows, validation rows left out: " in card
    assert "(Theorem 1, which says nothing about new rows)" in card
    assert f"model written to {fitted / 'model.json'}" in card
    assert "training error</span> (validation rows left out)" in (fitted / "report.html").read_text()
    assert "<html" in (fitted / "report.html").read_text()


def test_the_saved_model_is_the_fitted_estimator(fitted: Path, rents: pd.DataFrame) -> None:
    model = bgn.load(fitted / "model.json")
    file = read(fitted / "model.json")
    assert isinstance(model, bgn.BGNRegressor)
    assert model.max_terms == 3
    assert list(model.feature_names_in_) == ["area", "kind", "listed", "lift", "floor"]
    assert file.preparation.schema == model.network_.schema
    assert model.network_.target_name == "rent"
    assert file.units == {"area": "m²", "rent": "€"}
    assert file.figures["model"]["mse"] < file.figures["linear"]["mse"] < file.figures["mean"]["mse"]
    assert model.history_.network() == model.network_
    done = call("predict", fitted / "model.json", fitted / "rents.csv")
    predicted = [float(line) for line in done.out.splitlines()[1:]]
    assert np.mean((np.array(predicted) - rents["rent"]) ** 2) < 0.2 * rents["rent"].var()
    assert call("show", fitted / "model.json").out in (fitted / "card.txt").read_text() + "\n"


def test_the_path_is_kept(fitted: Path) -> None:
    lines = call("path", fitted / "model.json").out.splitlines()
    assert lines[0].startswith("mean squared error by size")
    assert lines[1].split() == ["terms", "conditions", "training", "validation"]
    assert sum("chosen" in line for line in lines) == 1
    plain = json.loads(call("path", fitted / "model.json", "--json").out)
    assert [row["n_terms"] for row in plain["path"]] == [0, 1, 2, 3]
    history = bgn.load(fitted / "model.json").history_
    counts = [history.network(size).n_conditions for size in range(4)]
    assert [row["n_conditions"] for row in plain["path"]] == counts
    assert [line.split()[:2] for line in lines[2:6]] == [[str(size), str(n)] for size, n in enumerate(counts)]
    errors = [row["train_mse"] for row in plain["path"]]
    assert errors == sorted(errors, reverse=True)


def networks_agree(first: Path, second: Path) -> bool:
    return bool(bgn.load(first).network_ == bgn.load(second).network_)


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "xlsx", "-"])
def test_every_format_makes_the_same_model(fitted: Path, rents: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path: Any = tmp_path / f"rents.{suffix}"
    stdin = b""
    if suffix == "parquet":
        rents.astype({"kind": "category"}).to_parquet(path)
    elif suffix == "xlsx":
        rents.to_excel(path, index=False, sheet_name="all")
    elif suffix == "tsv":
        rents.to_csv(path, index=False, sep="\t")
    else:
        path, stdin = "-", (fitted / "rents.csv").read_bytes()
    sheet = ("--sheet", "all") if suffix == "xlsx" else ()
    call("fit", path, "-t", "rent", *SMALL, *sheet, "-o", tmp_path / "m.json", stdin=stdin)
    assert networks_agree(tmp_path / "m.json", fitted / "model.json")


def test_json_for_machines_with_every_option(fitted: Path, tmp_path: Path) -> None:
    done = call(
        "fit", fitted / "rents.csv", "-t", "rent", "--drop", "listed", "--categorical", "floor",
        "--max-terms", 2, "--max-features", 1, "--layers", 2, "--direction", "debiased", "--output", "full",
        "--shrinkage", 3, "--learning-rate", 0.5, "--replacements", 1, "--patience", 5, "--select", "compact",
        "--validation", 0.3, "--max-seconds", 60, "--seed", 7, "--test", 0.25, "--sep", ",", "--decimal", ".", "--json",
        "--out", tmp_path / "m.json",
    )  # fmt: skip
    card = json.loads(done.out)
    assert card["rows_train"] + card["rows_test"] == 300
    assert abs(card["rows_test"] - 75) < 3
    assert set(card["figures"]) == {"model", "linear", "mean"}
    assert card["files"] == {"model": str(tmp_path / "m.json")}
    settings = read(tmp_path / "m.json").settings
    wanted = {
        "max_terms": 2, "max_features": 1, "max_layers": 2, "direction": "debiased", "output": "full", "shrinkage": 3.0,
        "learning_rate": 0.5, "select": "compact", "validation_fraction": 0.3, "max_seconds": 60.0, "random_state": 7,
        "growth": {"max_replacements": 1, "sweeps": "auto", "patience": 5, "simplicity": 0.0},
    }  # fmt: skip
    assert settings is not None
    assert {name: settings[name] for name in wanted} == wanted
    assert "floor = 2" in read(tmp_path / "m.json").network.names


def test_nothing_given_is_shown_what_to_give() -> None:
    text = " ".join(call("fit", code=2).err.split())
    assert "DATA is needed" in text
    assert "'bgn tutorial' walks through" in text


def test_paper_is_the_papers_algorithm(tmp_path: Path) -> None:
    call("fit", "diabetes", "--paper", "--max-terms", 5, "--layers", 1, "-q", "-o", tmp_path / "m.json")
    result = read(tmp_path / "m.json").settings
    wanted = bgn.BGNRegressor.as_in_paper(max_terms=5, max_layers=1, random_state=0, task="regression").get_params()
    assert result == json.loads(json.dumps(wanted, default=vars))


def test_without_test_rows_the_training_rows_evaluate_and_a_linear_table_is_shown(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 200)
    pd.DataFrame({"x": x, "z": x[::-1] ** 2, "y": 3 * x}).to_csv(tmp_path / "t.csv", index=False)
    done = call("fit", tmp_path / "t.csv", "-t", "y", *SMALL, "--test", 0)
    assert "on the training and validation rows" in done.out
    assert "Compared with a linear model: worse in RMSE, MSE and MAE; no clear difference in R2: consider" in done.out
    assert "These are training and validation rows: on new rows every model is likely to do worse." in done.out


# -- missing values, words, dates --------------------------------------------------------------------------


def test_missing_values_are_trained_from_refused_dropped_or_filled(rents: pd.DataFrame, tmp_path: Path) -> None:
    holes = rents.drop(columns="listed")
    holes.loc[:9, "area"] = np.nan
    holes.loc[5:14, "kind"] = None
    holes.loc[290:, "rent"] = np.nan
    path = tmp_path / "t.csv"
    holes.to_csv(path, index=False)
    text = "25 of 300 rows have missing values ('area' 10, 'kind' 10, 'rent' 10)"
    errors = f"bgn: {text}; add --missing drop to leave them out, or --missing impute to fill them in."
    assert call("fit", path, "-t", "rent", *SMALL, "--missing", "refuse", code=1).err == errors
    assert call("fit", path, "-t", "rent", *SMALL, "--paper", code=1).err == errors  # takes numbers alone
    small = [item for item in SMALL if item != "--quiet"]
    done = call("fit", path, "-t", "rent", *small, "--json", "-o", tmp_path / "kept.json")
    assert done.err == "note: 10 rows without 'rent' are left out.\n"
    card = json.loads(done.out)
    assert card["rows_train"] + card["rows_test"] == 290
    predicted = call("predict", tmp_path / "kept.json", path).out.splitlines()[1:]
    assert [float(item) for item in predicted] == bgn.load(tmp_path / "kept.json").predict(holes).tolist()
    done = call("fit", path, "-t", "rent", *small, "--missing", "drop", "--json")
    assert done.err == f"note: {text}: left out.\n"
    card = json.loads(done.out)
    assert card["rows_train"] + card["rows_test"] == 275
    for more, lacking in (((), 10), (("--direction", "debiased"), 15)):  # questions about words always answer gaps
        options = *small, *more, "--missing", "impute", "--json", "-o", tmp_path / "m.json"
        done = call("fit", path, "-t", "rent", *options)
        assert done.err.splitlines() == [
            f"note: {text}: 15 filled in with the median or the commonest value.",
            "note: 10 rows without 'rent' are left out.",
        ]
        card = json.loads(done.out)
        assert card["rows_train"] + card["rows_test"] == 290
        done = call("predict", tmp_path / "m.json", path)
        assert f"{lacking} of 300 rows lack a value that no rule has an answer for: the median" in done.err
        assert "" not in done.out.splitlines()


def test_dates_are_expanded(rents: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rents.assign(listed=rents["listed"].dt.strftime("%d/%m/%Y")).to_csv(path, index=False)
    for more in ((), ("--direction", "debiased")):
        call(
            "fit", path, "-t", "rent", *SMALL, "--date-format", "%d/%m/%Y", "-o", tmp_path / "m.json",
            "--drop", "area", "--drop", "kind", *more,
        )  # fmt: skip
        file = read(tmp_path / "m.json")
        assert "listed month" in file.network.names
        predicted = call("predict", tmp_path / "m.json", path).out.splitlines()[1:]
        assert [float(item) for item in predicted] == file.network.predict(rents).tolist()


# -- refusals ----------------------------------------------------------------------------------------------


def test_wrong_usage(fitted: Path) -> None:
    path = fitted / "rents.csv"
    err = call("fit", path, code=2).err
    assert "--target is needed: which of 'area', 'kind', 'listed', 'lift', 'floor', 'rent' to predict?" in err
    for wrong, message in (
        (("--max-terms", 0), "--max-terms"),
        (("--shrinkage", "much"), "must be a number or 'auto'; got 'much'"),
        (("--unit", "area"), "must read COL=UNIT; got 'area'"),
        (("--test", 2), "--test"),
        (("--test", "nan"), "'nan' is not a number"),
    ):
        assert message in call("fit", path, "-t", "rent", *wrong, code=2).err


def test_refused_inputs(fitted: Path, tmp_path: Path) -> None:
    path = fitted / "rents.csv"
    (tmp_path / "few.csv").write_text("x,y\n1,2\n")
    (tmp_path / "comma.csv").write_text("x;y\n1;2,5\n2;3,5\n")
    (tmp_path / "mark.csv").write_text("x,y\n1,2\n2,3\n3,~\n")
    (tmp_path / "none.csv").write_text("x,y\n")
    (tmp_path / "one.csv").write_text("y\n1\n2\n")
    (tmp_path / "empty.csv").write_text("x,y\n,1\n,2\n")
    for arguments, message in (
        ((path, "-t", "price"), "--target: "),
        ((path, "-t", "kind", "--task", "regression"), "column 'kind' must hold numbers; it holds "),
        ((path, "-t", "rent", "--drop", "price"), "--drop: "),
        ((path, "-t", "rent", "--drop", "rent"), "--drop: 'rent' is the target"),
        ((path, "-t", "rent", "--categorical", "price"), "--categorical: "),
        ((path, "-t", "rent", "--categorical", "rent"), "--categorical: 'rent' is the target"),
        ((path, "-t", "rent", "--drop", "listed", "--out", tmp_path), "is a folder; name a file in it."),
        ((path, "-t", "rent", "--unit", "price=EUR"), "--unit: "),
        ((path, "-t", "rent", "--sheet", "May"), "--sheet is for Excel workbooks, and "),
        ((path, "-t", "rent", "--drop", "listed", "--out", tmp_path / "no" / "m.json"), "--out: the folder "),
        ((path, "-t", "rent", "--drop", "listed", "--report", tmp_path / "no" / "m.html"), "--report: the folder "),
        ((tmp_path / "few.csv", "-t", "y"), "1 row with 'y' to learn from besides test rows; at least 2 are needed"),
        ((tmp_path / "comma.csv", "-t", "y"), "1 row with 'y' to learn from"),
        ((tmp_path / "mark.csv", "-t", "y"), "it holds '~'."),
        ((tmp_path / "none.csv", "-t", "y"), "has column names but no rows"),
        ((tmp_path / "one.csv", "-t", "y"), "no column left to learn from"),
        ((tmp_path / "empty.csv", "-t", "y"), "no column with values to learn from"),
        (("boston",), "there is no file 'boston'. Nor is it a table of ours: bike_sharing, mammographic"),
        (("housing:other",), "columns of 'housing' must be one of 'statlib', 'averaged'; got 'other'"),
    ):
        assert message in call("fit", *arguments, code=1).err
    left = sorted(item.stem for item in tmp_path.iterdir())
    assert left == ["comma", "empty", "few", "mark", "none", "one"]


# -- killed ------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_kill_leaves_no_file_or_a_whole_one(fitted: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    command = [COMMAND, "fit", fitted / "rents.csv", "-t", "rent", "--drop", "listed", *SMALL, "--out", out]
    started = time.perf_counter()
    subprocess.run([*map(str, command)], check=True, capture_output=True)
    whole = time.perf_counter() - started
    out.unlink()
    for share in (0.6, 0.9, 1.0):
        child = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(share * whole)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        if out.exists():
            assert bgn.load(out).max_terms == 3
            out.unlink()
