"""How large a model of the shell is: about ten questions, what more would buy, and any other width afterwards."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.cli.fit import SIZE
from tests.command import call

RULE = re.compile(r"^ +\+ +[\d.e+-]+ \[", flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that forty questions tell more of than ten, and a model of ten out of fifty with its card."""
    path = tmp_path_factory.mktemp("size")
    generator = np.random.default_rng(0)
    table = pd.DataFrame(generator.uniform(size=(800, 2)).round(3), columns=["a", "b"])
    table["y"] = 10 * np.sin(6 * table["a"]) + 20 * table["b"]
    table.to_csv(path / "t.csv", index=False)
    fit = ("fit", path / "t.csv", "-t", "y", "--shrinkage", 1, "--folds", 0, "--max-linear", 0, "-q", "--unit", "y=km",
           "--max-terms", 50, "--size", SIZE)  # fmt: skip
    (path / "card.txt").write_text(call(*fit, "-o", path / "m.json").out)
    return path


def test_ten_rules_are_shown_kept_and_run(folder: Path) -> None:
    card = (folder / "card.txt").read_text()
    assert 8 <= len(RULE.findall(card)) <= SIZE
    model = bgn.load(folder / "m.json")
    assert model.history_.best_size == SIZE
    assert len(model.history_.paths[0]) > 2 * SIZE
    assert call("show", folder / "m.json").out in card + "\n"
    done = call("predict", folder / "m.json", folder / "t.csv")
    rows = pd.read_csv(folder / "t.csv")[["a", "b"]]
    np.testing.assert_allclose(np.array(done.out.split()[1:], float), model.history_.network(SIZE).predict(rows))


def test_the_card_says_what_more_would_buy(folder: Path) -> None:
    card = (folder / "card.txt").read_text()
    text = re.search(
        r"^Validation mean squared error \(km squared\): \S+ \(10 rules, 17 conditions\), \S+ \(20, 28\), .*\.\n"
        r"Test mean squared error \(km squared\): (\S+) \(10 rules, 17 conditions\), (\S+) \(20, 28\), "
        r"(\S+) \((\d+), \d+\).*\.\n"
        r"(\d+) rules predict clearly better: --size (\d+) keeps them\.$",
        card, flags=re.MULTILINE,
    )  # fmt: skip
    assert text is not None, card
    now, twice, least, best, *requested = map(float, text.groups())
    assert requested == [best, best]
    assert best > 2 * SIZE
    assert least < twice < now
    options = "--shrinkage", 1, "--folds", 0, "--max-linear", 0, "-q", "--json", "--max-terms", 50, "--size", SIZE
    plain = json.loads(call("fit", folder / "t.csv", "-t", "y", *options).out)
    assert plain["n_terms"] == SIZE
    assert plain["n_conditions"] == plain["conditions_by_size"][SIZE] == 17
    assert plain["conditions"] == {"model": 17, "linear": 2, "mean": 0}
    errors = plain["mse_by_size"]["test"]
    assert [float(f"{errors[k]:.3g}") for k in (SIZE, 2 * SIZE, int(best))] == [now, twice, least]
    assert plain["figures"]["model"]["mse"] == pytest.approx(errors[SIZE])


def test_without_test_rows_validation_tells_and_training_rows_otherwise(folder: Path) -> None:
    fit = ("fit", folder / "t.csv", "-t", "y", "--shrinkage", 1, "-q", "--max-terms", 12, "--size", 5, "--test", 0)
    for options, text in (((), "Cross-validated"), (("--validation", 0.2), "Validation")):
        card = call(*fit, *options).out
        sizes = rf"^{text} mean squared error: \S+ \(\d+ (rules|terms)(, \d+ conditions)?\), "
        assert re.search(sizes, card, flags=re.MULTILINE)
        assert "Test mean" not in card
        advice = r"^\d+ (rules|terms) predict clearly better: --size \d+ keeps them\.$"
        assert re.search(advice, card, flags=re.MULTILINE)
    card = call(*fit, "--validation", 0).out
    assert "Training mean squared error: " in card
    assert not re.search("keeps them|do not help|gain|may help", card)  # training rows do not tell
    assert "These are training rows: on new rows every model is likely to do worse." in card


def test_a_size_is_grown_for_itself(folder: Path, tmp_path: Path) -> None:
    """What is decided for fifty need not suit ten: the command grows what Python grows with that limit."""
    fit = ("fit", folder / "t.csv", "-t", "y", "-q", "--test", 0, "-o", tmp_path / "m.json")
    rows = pd.read_csv(folder / "t.csv")
    for options, size in (((), SIZE), (("--size", 4), 4)):
        card = call(*fit, *options).out
        model = bgn.load(tmp_path / "m.json")
        alike = bgn.BGNRegressor(max_terms=size, random_state=0).fit(rows[["a", "b"]], rows["y"])
        assert model.max_terms == size == len(model.history_.paths[0]) - 1
        np.testing.assert_array_equal(model.predict(rows[["a", "b"]]), alike.predict(rows[["a", "b"]]))
        assert f"error was still falling at {size} " in card
        assert "--size" in card


def test_no_card_advises_what_does_worse(tmp_path: Path) -> None:
    """On noise, and where a few rules tell everything, validation errors fall by chance now and then."""
    rng, advised = np.random.default_rng(0), 0
    for seed in range(5):
        table = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
        table["y"] = 1.0 * (table["a"] > 0) * (seed % 2) + rng.normal(size=150)
        table.to_csv(tmp_path / "t.csv", index=False)
        options = "--max-terms", 8, "--size", 3, "--seed", seed, "--folds", 3, "--max-features", 1, "-q", "--json"
        plain = json.loads(call("fit", tmp_path / "t.csv", "-t", "y", *options).out)
        text = re.fullmatch(r"(\d+) (?:rules|terms) predict clearly better: --size \1 keeps them\.", plain["advice"])
        if text:
            advised += 1
            for rows in ("validation", "test"):
                errors = plain["mse_by_size"][rows]
                assert errors[int(text[1])] < errors[plain["n_terms"]]
        elif plain["best_n_terms"] <= plain["n_terms"] < len(plain["mse_by_size"]["test"]) - 1:
            advice = r"By the (validation|cross-validated) error more (rules|terms) do not help\."
            assert re.fullmatch(advice, plain["advice"])
    assert advised <= 2


def test_more_that_brings_nothing_is_said(tmp_path: Path) -> None:
    x = np.arange(400) % 40
    pd.DataFrame({"x": x, "y": 1.0 * (x >= 20) + np.random.default_rng(0).normal(0, 0.5, 400)}).to_csv(
        tmp_path / "t.csv", index=False
    )
    card = call("fit", tmp_path / "t.csv", "-t", "y", "--shrinkage", 1, "-q", "-o", tmp_path / "m.json").out
    assert re.search(r"^By the cross-validated error more (rules|terms) do not help\.$", card, flags=re.MULTILINE)
    assert "--size" not in card
    assert "cross-validated" in call("path", tmp_path / "m.json").out.splitlines()[1]
    assert json.loads(call("path", tmp_path / "m.json", "--json").out)["cross_validated"]


@pytest.mark.parametrize(
    ("options", "grown", "kept"),
    [
        (("--size", 4), 4, 4),
        (("--size", 4, "--max-terms", 14), 14, 4),
        (("--size", 4, "--max-terms", 6), 6, 4),
        (("--max-terms", 3), 3, 3),
        (("--size", 3, "--layers", 2), 3, 3),
        (("--size", 3, "--paper", "--layers", 1), 3, 3),
        (("--size", 20, "--select", "compact"), 20, 20),
    ],
)
def test_sizes_that_are_requested_for(
    folder: Path, tmp_path: Path, options: tuple[object, ...], grown: int, kept: int
) -> None:
    call("fit", folder / "t.csv", "-t", "y", "--shrinkage", 1, "--folds", 0, "-q", *options, "-o", tmp_path / "m.json")
    history = bgn.load(tmp_path / "m.json").history_
    assert history.best_size <= kept
    assert max(map(len, history.paths)) - 1 >= grown
    if "--max-terms" in options or "--layers" in options:
        assert max(map(len, history.paths)) - 1 == grown


def test_a_saved_model_is_requested_at_another_size(folder: Path, tmp_path: Path) -> None:
    path, table = folder / "m.json", folder / "t.csv"
    model = bgn.load(path)
    wide = model.with_terms(20)
    assert call("show", path, "--size", 20).out == bgn.equation(wide, units={"y": "km"}) + "\n"
    done = call("predict", path, table, "--size", 20)
    rows = pd.read_csv(table)[["a", "b"]]
    np.testing.assert_allclose(np.array(done.out.split()[1:], float), wide.predict(rows))
    call("report", path, table, "--size", 2, "-o", tmp_path / "r.html")
    err = call("show", path, "--size", 99, code=1).err
    assert re.search(r"size must be one that was grown, 0 to \d+; got 99", err)
    bgn.save(model.network_, tmp_path / "n.json")
    assert "was saved without a history" in call("show", tmp_path / "n.json", "--size", 3, code=1).err


def test_people_are_shown_some_lines_and_machines_all(folder: Path) -> None:
    path, table = folder / "m.json", folder / "t.csv"
    lines = call("margin", path, table).out.splitlines()
    assert lines[0].startswith("how far 800 rows are from another prediction")
    assert len(lines) <= 7
    everything = json.loads(call("margin", path, table, "--json").out)
    assert len(everything) == 800
    assert len(re.findall(r"\d+ \(\w+ (on a threshold|[\d.e-]+ away)\)", lines[-2])) == 5
    plain = json.loads(call("effect", path, table, "a", "--size", 30, "--json").out)
    assert len(plain["values"]) > 40
    lines = call("effect", path, table, "a", "--size", 30).out.splitlines()
    assert lines[0] == "mean prediction over 800 rows, by a"
    assert 10 <= len(lines) <= 13
    assert re.fullmatch(r"some values; the effect itself has [\d,]+ steps \(--json has all\)", lines[-1])
    (missing,) = [line.split() for line in lines if line.split()[0] == "missing"]
    assert float(missing[1]) == pytest.approx(plain["missing"], rel=1e-2)


NEEDS_DATA = pytest.mark.skipif(
    "BGN_DATA" not in os.environ, reason="BGN_DATA does not name a folder with the raw tables"
)
LARGER = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("bike", "bike_sharing")]
LACKING = [pytest.param(name, marks=NEEDS_DATA) for name in ("housing", "telco")]


@pytest.mark.parametrize("name", ["diabetes:measured", "mammographic", *LARGER, *LACKING])
def test_first_models_of_well_known_tables_are_readable(name: str, tmp_path: Path) -> None:
    data: tuple[object, ...] = (name,)
    if name == "telco":
        raw = Path(os.environ["BGN_DATA"]) / "mixed" / "telco_churn.csv.gz"
        if not raw.exists():
            pytest.skip("there is no table of telephone customers")
        table = pd.read_csv(raw).drop(columns="customerID").sample(2500, random_state=0)
        table.assign(Churn=1 * (table["Churn"] == "Yes")).to_csv(tmp_path / "telco.csv", index=False)
        data = (tmp_path / "telco.csv", "-t", "Churn", "--missing", "drop")
    out = call("fit", *data, "-q").out
    equation = out.split("\n\n")[1].splitlines()
    assert 6 <= len(equation) <= 14  # the base, ten rules, and what missing values, units and log-odds come to
    assert "Compared with a" in out or "etter than" in out or "No clear difference from" in out
