"""Columns as they are read: against pandas, and through every format's own types."""

from __future__ import annotations

import datetime
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgn.inputs import prepare
from bgn.inputs.delimited import Delimited
from bgn.inputs.errors import InputError
from bgn.inputs.files import ArrowTable, open_table
from bgn.inputs.kinds import schema_of
from bgn.model.schema import Column, Schema
from bgn.preparation import Preparation

cells = {
    "number": st.none() | st.floats(-1e6, 1e6),
    "count": st.none() | st.integers(-(10**6), 10**6),
    "word": st.none() | st.sampled_from(["red", "green, dark", 'so-called "blue"', "line\nbreak", "ärger"]),
    "flag": st.none() | st.booleans(),
    "day": st.none() | st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
}


@st.composite
def frames(draw: st.DrawFn) -> dict[str, list[Any]]:
    rows = draw(st.integers(1, 12))
    return {name: draw(st.lists(cell, min_size=rows, max_size=rows)) for name, cell in cells.items()}


def arrow(columns: dict[str, list[Any]]) -> pa.Table:
    types = {
        "number": pa.float64(),
        "count": pa.int64(),
        "word": pa.string(),
        "flag": pa.bool_(),
        "day": pa.timestamp("us"),
    }
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def read_at_fit(columns: dict[str, list[Any]]) -> tuple[pa.Table, Preparation]:
    """Columns as estimators take them, and how they are read again."""
    table = prepare.to_plain_types(arrow(columns), ())
    table = table.drop_columns(prepare.empty_columns(table))
    return table, Preparation(schema_of(table) if table.num_columns else Schema(()))


@given(frames())
def test_columns_are_those_of_pandas(columns: dict[str, list[Any]]) -> None:
    table, preparation = read_at_fit(columns)
    if not table.num_columns:
        return
    frame = pd.DataFrame(prepare.read_as_at_fit(preparation, table).X, columns=list(preparation.schema.names))
    for name in {"number", "count", "flag"}.intersection(table.column_names):
        np.testing.assert_array_equal(frame[name], pd.Series(columns[name]).astype(float))
    if "word" in table.column_names:
        codes = pd.Categorical(columns["word"]).codes.astype(float)
        np.testing.assert_array_equal(frame["word"], np.where(codes < 0, np.nan, codes))
    if "day" in table.column_names:
        day = pd.Series(pd.to_datetime(columns["day"]))
        hour = (day - day.dt.normalize()) / pd.Timedelta(hours=1)
        since = (day - day.min().normalize()) / pd.Timedelta(days=1)
        expected = {"day year": day.dt.year, "day month": day.dt.month, "day weekday": day.dt.day_of_week + 1}
        for name in (n for n in frame if n.startswith("day")):
            wanted = {**expected, "day hour": hour}.get(name, since)
            np.testing.assert_allclose(frame[name], wanted, rtol=1e-12, atol=1e-9)


@given(frames(), st.booleans())
def test_a_text_file_gives_the_same_columns(columns: dict[str, list[Any]], alone: bool) -> None:
    table, preparation = read_at_fit(columns)
    if not table.num_columns:
        return
    if alone:
        preparation = replace(preparation, schema=prepare.one_hot_schema(preparation.schema))
    text = pd.DataFrame({name: table.column(name).to_pandas() for name in table.column_names})
    if "number" in table.column_names:
        text["number"] = [None if value is None else repr(value) for value in columns["number"]]
    delimited = Delimited(io.BufferedReader(io.BytesIO(text.to_csv(index=False).encode())), "text")
    X = np.concatenate([prepare.read_as_at_fit(preparation, block).X for block in delimited.blocks(table.column_names)])
    np.testing.assert_array_equal(X, prepare.read_as_at_fit(preparation, table).X)


@given(frames())
def test_numbers_alone_say_what_the_columns_say(columns: dict[str, list[Any]]) -> None:
    table, preparation = read_at_fit(columns)
    if not table.num_columns:
        return
    whole, schema = prepare.read_as_at_fit(preparation, table).X, preparation.schema
    alone = replace(preparation, schema=prepare.one_hot_schema(schema))
    X = dict(zip(alone.schema.names, prepare.read_as_at_fit(alone, table).X.T, strict=True))
    for column, codes in zip(schema.columns, whole.T, strict=True):
        if column.categories is None or column.ordered:
            np.testing.assert_array_equal(X[column.name], codes)
            continue
        for code, category in enumerate(column.categories):
            wanted = np.where(np.isnan(codes), np.nan, codes == code)
            np.testing.assert_array_equal(X[f"{column.name} = {category}"], wanted)


@given(frames())
def test_fills_stand_in_for_what_is_missing(columns: dict[str, list[Any]]) -> None:
    table, _ = read_at_fit(columns)
    if not table.num_columns:
        return
    filled, fills = prepare.impute(table, np.ones(table.num_rows, bool))
    assert fills.num_rows == 1
    for name in table.column_names:
        before, after, fill = (part.column(name).to_pylist() for part in (table, filled, fills))
        assert after == [fill[0] if value is None else value for value in before], name
    if "number" in table.column_names:
        assert fills.column("number")[0].as_py() == np.median([v for v in columns["number"] if v is not None])


def test_numbers_as_names_and_unseen_values() -> None:
    table = pa.table({"floor": [1, 2, 2, None], "kind": pa.array(["a", "b", "a", "b"]).dictionary_encode()})
    preparation = Preparation(schema_of(prepare.to_plain_types(table, ["floor"])))
    assert [column.categories for column in preparation.schema.columns] == [(1.0, 2.0), ("a", "b")]
    other = prepare.read_as_at_fit(preparation, pa.table({"floor": [2.0, 9.0], "kind": ["c", "a"]}))
    np.testing.assert_array_equal(other.X, [[1, np.nan], [np.nan, 0]])
    assert other.unseen == {"floor": (9.0,), "kind": ("c",)}
    alone = replace(preparation, schema=prepare.one_hot_schema(preparation.schema))
    other = prepare.read_as_at_fit(alone, pa.table({"floor": ["2", "9"], "kind": ["c", "a"]}))
    np.testing.assert_array_equal(other.X, [[0, 1, 0, 0], [0, 0, 1, 0]])
    assert other.unseen == {"floor": (9.0,), "kind": ("c",)}


def test_constant_dates_keep_a_part_and_infinity_is_missing() -> None:
    table = prepare.to_plain_types(pa.table({"day": [datetime.date(2020, 2, 3)] * 2, "x": [np.inf, 1.0]}), ())
    preparation = Preparation(schema_of(table))
    assert preparation.schema.names == ("day year", "x")
    np.testing.assert_array_equal(prepare.read_as_at_fit(preparation, table).X, [[2020, np.nan], [2020, 1.0]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([b"12"]), "neither number, word nor date"),
        (pa.array([[1, 2]]), "column 'c' holds list"),
    ],
)
def test_columns_that_cannot_be_used_are_refused(column: pa.Array, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare.to_plain_types(pa.table({"c": column}), ())


def test_what_cannot_be_read_as_at_fit_is_refused_with_its_place() -> None:
    (block,) = ArrowTable(pa.table({"a": [[1], [2]], "b": ["1", "x"]})).blocks(["a", "b"])
    with pytest.raises(InputError, match=r"t\.csv: row 8, column 'b': 'x' is not a number, as at fit"):
        prepare.read_as_at_fit(Preparation(Schema((Column("b"),))), block, None, "t.csv", 7)
    with pytest.raises(InputError, match=r"t\.csv: column 'a': the column holds list.*, not numbers as at fit"):
        prepare.read_as_at_fit(Preparation(Schema((Column("a"),))), block, None, "t.csv", 7)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n", ("a", "b")),
        ("a;b\n1;2\n", ("a", "b")),
        ("a\tb\n1\t2\n", ("a", "b")),
        ("a|b\n1|2\n", ("a", "b")),
        ('"a;x;y",b\n1,2\n', ("a;x;y", "b")),
        ('"two\nlines", b \n1,2\n', ("two\nlines", "b")),
        (",b\n0,2\n", ("b",)),
        ("b\n2\n", ("b",)),
        ("﻿a,b\r\n1,2\r\n", ("a", "b")),
    ],
)
def test_headers(tmp_path: Any, text: str, names: tuple[str, ...]) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    table = open_table(str(tmp_path / "t.csv"))
    assert table.names == names
    assert table.read(names).column(names[-1]).to_pylist() == [2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2.5", "-3e4", "?"], "'?' does not fit"),
        (["1,000", "2,500", "3"], "'1,000', '2,500' do not fit the others"),
        (["1st", "2nd", "3"], ""),
        (["red", "green"], ""),
    ],
)
def test_text_among_numbers_is_said(values: list[str], message: str) -> None:
    schema = schema_of(prepare.to_plain_types(pa.table({"x": values}), ()))
    notes = prepare.notes_on_text(schema)
    assert schema.columns[0].categories == tuple(sorted(values))
    assert bool(notes) == bool(message)
    assert message in "".join(notes)
