"""``bgn.preparation``: raw tables in Python, of any library, read as the command line reads them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bgn
from bgn.persist import read
from tests.command import call

QUICK = {"max_terms": 3, "random_state": 0, "growth": bgn.GrowthSettings(max_replacements=2)}


@pytest.fixture(scope="module")
def rents() -> pd.DataFrame:
    generator, rows = np.random.default_rng(0), 80
    table = pd.DataFrame(
        {
            "area": generator.uniform(20, 120, rows).round(1),
            "kind": generator.choice(["flat", "house", "loft"], rows),
            "listed": pd.Timestamp("2020-03-01") + pd.to_timedelta(generator.integers(0, 700, rows), "D"),
            "lift": generator.random(rows) < 0.5,
            "floor": generator.integers(0, 4, rows),
        }
    )
    table["rent"] = 400 + 300 * (table["area"] >= 60) + 250 * (table["kind"] == "loft") + 50.0 * table["lift"]
    table.loc[5, "area"], table.loc[7, "kind"], table.loc[20, "rent"] = np.nan, None, np.nan
    return table


@pytest.mark.parametrize("missing", ["keep", "drop", "impute"])
def test_python_and_the_command_line_do_the_same(rents: pd.DataFrame, tmp_path: Path, missing: str) -> None:
    data = tmp_path / "rents.csv"
    rents.to_csv(data, index=False)
    options = "--missing", missing, "--categorical", "floor", "--test", 0, "-q"
    call("fit", data, "-t", "rent", *options, "--max-terms", 3, "--replacements", 2, "-o", tmp_path / "shell.json")
    ours = bgn.preparation.fit(data, "rent", missing=missing, categorical="floor")
    model = bgn.BGNRegressor(**QUICK).fit(ours.frame(), ours.target())
    assert model.network_.target_name == "rent"
    bgn.save(model, tmp_path / "python.json", preparation=ours.preparation)
    shell, python = read(tmp_path / "shell.json"), read(tmp_path / "python.json")
    later = ours.preparation.apply(data)
    assert later.table.num_rows == 80
    output = {name: call("predict", tmp_path / f"{name}.json", data).out for name in ("shell", "python")}
    assert output["shell"] == output["python"]
    predicted = [float(line) for line in output["shell"].split("\n")[1:-1]]
    for saved in (shell, python):
        np.testing.assert_array_equal(predicted, saved.model().predict(later.frame()))
        np.testing.assert_array_equal(predicted, saved.model().predict(rents))  # the raw frame
    if missing != "impute":  # which keeps the medians that it filled in
        assert shell.preparation == python.preparation
        assert shell.network == python.network
        direct = bgn.BGNRegressor(**QUICK, categorical_features=["floor"])
        whole = rents[rents.notna().all(axis=1)] if missing == "drop" else rents[rents["rent"].notna()]
        assert direct.fit(whole.drop(columns="rent"), whole["rent"]).network_ == shell.network


def test_a_model_made_in_python_reads_files_in_the_shell(rents: pd.DataFrame, tmp_path: Path) -> None:
    whole = rents[rents["rent"].notna()]
    model = bgn.BGNRegressor(**QUICK).fit(whole.drop(columns="rent"), whole["rent"])
    bgn.save(model, tmp_path / "model.json")
    rents.to_csv(tmp_path / "rents.csv", index=False)
    rents.to_parquet(tmp_path / "rents.parquet")
    for data in ("rents.csv", "rents.parquet"):
        lines = call("predict", tmp_path / "model.json", tmp_path / data).out.split("\n")[1:-1]
        np.testing.assert_array_equal([float(line) for line in lines], model.predict(rents))


def test_tables_of_every_library_and_format_give_the_same_rows(rents: pd.DataFrame, tmp_path: Path) -> None:
    rents.to_csv(tmp_path / "rents.csv", index=False)
    rents.to_parquet(tmp_path / "rents.parquet")
    rents.to_excel(tmp_path / "rents.xlsx", index=False)
    frames = [rents, rents.convert_dtypes(), pl.from_pandas(rents), pa.table(rents), dict(rents.items())]
    first = bgn.preparation.fit(rents, "rent")
    assert first.rows.tolist() == [i for i in range(80) if i != 20]
    for data in (*frames, *(tmp_path / f"rents.{ending}" for ending in ("csv", "parquet", "xlsx"))):
        prepared_again = bgn.preparation.fit(data, "rent")
        assert prepared_again.preparation == first.preparation
        np.testing.assert_array_equal(prepared_again.X, first.X)
        np.testing.assert_array_equal(prepared_again.y, first.y)
        np.testing.assert_array_equal(first.preparation.apply(data).X[first.rows], first.X)


def test_what_is_new_or_lacks_a_value_is_said() -> None:
    raw = {"kind": ["flat", "house", None], "rooms": [1, None, 3], "y": [1, 2, 3]}
    filled = bgn.preparation.fit(raw, "y", missing="impute")
    assert filled.X.tolist() == [[0, 1], [1, 2], [0, 3]]
    assert "2 of 3 rows have missing values ('kind' 1, 'rooms' 1): 2 filled in" in filled.notes[0]
    later = filled.preparation.apply({"kind": ["tent", "flat"], "rooms": ["7", " 8 "], "more": [1, 2]})
    assert (later.unseen, later.complete.tolist(), later.y) == ({"kind": ("tent",)}, [False, True], None)
    np.testing.assert_array_equal(later.X, [[np.nan, 7], [0, 8]])
    assert filled.preparation.apply({"kind": [], "rooms": []}).X.shape == (0, 2)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"a": [1, None], "y": [1, 2]}, {"missing": "refuse"}, "('a' 1); add missing='drop' to leave them out, or"),
        ({"a": [1], "y": [1]}, {"drop": "b"}, "drop: the table has no column 'b'; it has 'a', 'y'."),
        ({"a": [1], "y": [1]}, {"drop": ["a"]}, "the table has no column left to learn from beside 'y'."),
        ({"a": [1], "y": ["1,5"]}, {}, "it holds '1,5'."),
        ({"a": [1], "y": [1]}, {"missing": True}, "missing must be one of"),
        ({"a": [1], "y": [1]}, {"sep": "||"}, "sep must be one character; got '||'."),
        (np.ones((2, 2)), {}, "data must be a path or a table with named columns; got ndarray."),
        (pl.LazyFrame({"a": [1]}), {}, "got a LazyFrame. Call its collect() first."),
        ("nowhere.csv", {}, "there is no file 'nowhere.csv'."),
    ],
)  # fmt: skip
def test_what_cannot_be_prepared_is_refused_in_python_s_names(data: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        bgn.preparation.fit(data, "y", **options)


def test_a_later_table_that_lacks_a_column_or_cannot_be_read_is_refused() -> None:
    numbers = bgn.preparation.fit({"a": [1, 2], "y": [1, 2]}, "y").preparation
    with pytest.raises(ValueError, match=r"the table lacks the column 'a'; it has 'b'\."):
        numbers.apply({"b": [1]})
    with pytest.raises(ValueError, match=r"the table: row 2, column 'a': 'x' is not a number, as at fit\."):
        numbers.apply({"a": ["1", "x"]})
