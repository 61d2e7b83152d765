"""Text with a word of its own in nearly every row, as ids have: not learnt from, whatever the library, and said."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bgn
from bgn.inputs.kinds import TableKinds, is_crowded, schema_of
from tests.command import call

ROWS = 60


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"customer": [f"C-{k:03d}" for k in range(ROWS)], "age": rng.integers(20, 60, ROWS)})
    rows["charges"] = [str(value) for value in rng.normal(size=ROWS).round(4)]
    rows.loc[3, "charges"] = " "
    return rows


def of_library(name: str, rows: pd.DataFrame) -> Any:
    if name == "polars":
        return pytest.importorskip("polars").DataFrame(rows.to_dict("list"))
    return pa.Table.from_pandas(rows) if name == "pyarrow" else rows.astype({"customer": name, "charges": name})


@pytest.mark.parametrize("library", ["object", "string", "polars", "pyarrow"])
def test_ids_have_no_categories_and_are_said(library: str) -> None:
    with pytest.warns(UserWarning, match="too many to learn from") as caught:
        schema = schema_of(of_library(library, table()))
    assert [column.categories for column in schema.columns] == [(), None, ()]
    one, two = (str(warning.message) for warning in caught)
    assert one.startswith("column 'customer' holds 60 different words in 60 rows")
    assert "Leave it out" in one
    assert "59 of them are numbers, and ' ' is not" in two
    assert "to_numeric" in two


def test_numbers_with_marks_are_said() -> None:
    rows = pd.DataFrame({"fee": [f"{k},50 €" for k in range(ROWS)]})
    with pytest.warns(UserWarning, match=r"look like numbers: bgn.preparation.fit reads files with such marks"):
        schema_of(rows)


def test_blocks_tell_what_the_whole_tells() -> None:
    rows = table()[["customer", "age"]]
    with pytest.warns(UserWarning, match="'customer'"):
        parts = TableKinds.of(rows[:10]).merged(TableKinds.of(rows[10:])).schema()
    assert parts.columns[0].categories == ()


def test_columns_that_are_declared_are_kept() -> None:
    rows = table()[["customer", "age"]]
    assert len(schema_of(rows, ["customer"]).columns[0].categories or ()) == ROWS
    assert len(schema_of(rows.astype({"customer": "category"})).columns[0].categories or ()) == ROWS


@pytest.mark.parametrize(
    ("different", "filled", "many"), [(20, 20, False), (21, 21, True), (30, 60, False), (31, 60, True)]
)
def test_half_of_the_rows(different: int, filled: int, many: bool) -> None:
    assert is_crowded(different, filled) is many


def test_a_fit_does_without_ids_and_predicts_them(tmp_path: Path) -> None:
    rows = table()[["customer", "age"]]
    target = rows["age"] * 2.0
    with pytest.warns(UserWarning, match="it is not used"):
        model = bgn.BGNRegressor(max_terms=3, max_linear=0, random_state=0).fit(rows, target)
    assert model.feature_importances_[0] == 0 < model.feature_importances_[1]
    bgn.save(model, tmp_path / "m.json")
    np.testing.assert_array_equal(bgn.load(tmp_path / "m.json").predict(rows), model.predict(rows))
    assert importlib.import_module("bgn.export").to_sql(model, table="rows")


def test_the_command_line_leaves_them_out_by_default(tmp_path: Path) -> None:
    rows = table()[["customer", "age"]].assign(price=lambda rows: rows.age * 2.0)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    small = ("--size", "2", "--max-terms", "2", "--max-linear", "0")
    fitted = call("fit", tmp_path / "rows.csv", "-t", "price", *small, "-o", tmp_path / "m.json")
    assert "In the training rows, 'customer' holds 48 different words in 48 rows" in fitted.err
    assert "A fit leaves it out" in fitted.err
    assert [column.name for column in bgn.load(tmp_path / "m.json").network_.schema.columns] == ["age"]
    name = ("--categorical", "customer")
    kept = call("fit", tmp_path / "rows.csv", "-t", "price", *small, *name, "-o", tmp_path / "m.json")
    assert "different words" not in kept.err
    assert "customer" in [column.name for column in bgn.load(tmp_path / "m.json").network_.schema.columns]
