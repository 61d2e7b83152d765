"""``bgn fit --stream``: the same model as from memory, and what cannot be had block by block."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bgn.training_rows as stream
from bgn import BGNRegressor
from bgn.cli.fit import show_card
from bgn.explain.rivals import compare_with_rivals
from bgn.inputs.delimited import available_memory
from bgn.inputs.prepare import Choices
from bgn.model_rows import DataFile
from bgn.summary import summarize
from bgn.training_rows import TrainingRequest
from tests.command import call

SMALL = ("--max-terms", 3, "--replacements", 2, "--folds", 0, "--quiet")


@pytest.fixture(scope="module")
def rents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rents with words, codes, dates, holes and an empty column, in groups of a few rows."""
    generator, rows = np.random.default_rng(0), 300
    table = pd.DataFrame(
        {
            "area": generator.uniform(20, 120, rows).round(1),
            "kind": pd.Categorical(generator.choice(["flat", "house", "loft"], rows)),
            "quarter": generator.choice(["north", "south"], rows),
            "listed": pd.Timestamp("2020-03-01") + pd.to_timedelta(generator.integers(0, 700, rows), "h"),
            "lift": generator.random(rows) < 0.5,
            "floor": generator.integers(0, 4, rows),
            "nothing": None,
        }
    )
    table["rent"] = 400 + 300 * (table["area"] >= 60) + 250 * (table["kind"] == "loft") + generator.normal(0, 5, rows)
    table.loc[5, "area"], table.loc[7, "kind"], table.loc[200, "rent"] = np.nan, None, np.inf
    path = tmp_path_factory.mktemp("stream") / "rents.parquet"
    table.to_parquet(path, row_group_size=64)
    return path


@pytest.mark.parametrize(
    ("test", "missing", "direction"), [(0, "drop", ()), (0.2, "keep", ()), (0.2, "drop", ("--direction", "debiased"))]
)
def test_the_same_model_as_in_memory(
    rents: Path, tmp_path: Path, test: float, missing: str, direction: tuple[str, ...]
) -> None:
    options = "--missing", missing, "--categorical", "floor", "--test", test, "--layers", 2, *direction, *SMALL
    options += "--validation", 0  # rows that validate would make intervals, in memory alone
    for how in ("--stream", "--no-stream"):
        files = "--out", tmp_path / f"model{how}.json", "--report", tmp_path / f"report{how}.html"
        card = json.loads(call("fit", rents, "-t", "rent", *options, *files, how, "--json").out)
        (tmp_path / f"card{how}.json").write_text(json.dumps({**card, "seconds": 0, "files": None}))
    for name in ("model{}.json", "report{}.html", "card{}.json"):
        assert (tmp_path / name.format("--stream")).read_text() == (tmp_path / name.format("--no-stream")).read_text()


def test_what_needs_all_rows_is_refused(rents: Path, tmp_path: Path) -> None:
    def refused(*options: object) -> str:
        return call("fit", rents, "--stream", *SMALL, *options, code=1).err

    assert "--missing impute needs all rows in memory" in refused("-t", "rent", "--missing", "impute")
    whole = "-t", "rent", "--missing", "refuse"
    assert "3 of 300 rows have missing values ('area' 1, 'kind' 1, 'rent' 1); add --missing drop" in refused(*whole)
    numbers = "-t", "quarter", "--drop", "listed", "--task", "regression"
    assert "--target: column 'quarter' must hold numbers" in refused(*numbers)
    assert "has no column 'price'" in refused("-t", "price")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    assert "--stream reads Parquet files" in call("fit", tmp_path / "rows.csv", "-t", "b", "--stream", code=1).err
    pd.DataFrame({"a": [1.0], "b": [2.0]}).to_parquet(tmp_path / "one.parquet")
    assert "1 row with 'b'" in call("fit", tmp_path / "one.parquet", "-t", "b", "--stream", code=1).err
    pd.DataFrame({"a": [None, None], "b": [2.0, 3.0]}).to_parquet(tmp_path / "none.parquet")
    assert "no column with values" in call("fit", tmp_path / "none.parquet", "-t", "b", "--stream", code=1).err


def test_only_what_is_too_large_stays_on_disk(rents: Path) -> None:
    source = DataFile(str(rents)).open()
    assert 0 < available_memory() < sys.maxsize or not Path("/proc/meminfo").exists()
    assert stream.too_large(source, 2**30) is None
    assert "takes about 9.6e-05 GB and 1e-05 GB are free: its rows stay on disk" in stream.too_large(source, 10**4)
    assert stream.too_large(DataFile("diabetes").open(), 0) is None


def test_of_many_rows_some_are_kept_to_evaluate_by(rents, monkeypatch, capsys) -> None:
    monkeypatch.setattr(stream, "SAMPLE_ROWS", 100)
    source = DataFile(str(rents)).open()
    rows = stream.Streamed(TrainingRequest(source, Choices("rent", ["listed"], missing="drop"), 0.2, 0))
    n_train = sum(piece.columns.shape[1] for piece in rows.pieces(1000))
    assert rows.n_rows == 297
    assert 230 < n_train < 245
    assert 20 < sum(int((~held).sum()) for _, _, held, _, _ in rows._kept) < 150
    assert 5 < sum(int(held.sum()) for _, _, held, _, _ in rows._kept) < 50
    model = BGNRegressor(max_terms=2, random_state=0, cv=None)
    kept = rows.fit(model)
    encode = model.network_.schema.encode
    compared = compare_with_rivals(
        model.network_, (encode(kept.X), kept.y), (encode(kept.evaluation[0]), kept.evaluation[1])
    )
    card = summarize(model, "rents", kept, compared, {})
    assert (card.rows_train, card.rows_test) == (n_train, 297 - n_train)
    show_card(card)
    assert f"on {len(kept.y_test)} of {297 - n_train} test rows" in capsys.readouterr().out
