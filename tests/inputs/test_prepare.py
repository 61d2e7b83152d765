"""Columns to features: against pandas, and through every format's own types."""

from __future__ import annotations

import datetime
import io
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgn.inputs import prepare
from bgn.inputs.delimited import Delimited
from bgn.inputs.files import ArrowTable, open_table
from bgn.inputs.prepare import Choices
from bgn.inputs.refusal import Refused
from bgn.preparation import Category, Date, Number, Preparation

EXPAND = Choices(dates="expand")

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
    return {name: draw(st.lists(each, min_size=rows, max_size=rows)) for name, each in cells.items()}


def arrow(columns: dict[str, list[Any]]) -> pa.Table:
    types = {
        "number": pa.float64(),
        "count": pa.int64(),
        "word": pa.string(),
        "flag": pa.bool_(),
        "day": pa.timestamp("us"),
    }
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


@given(frames())
def test_features_are_those_of_pandas(columns: dict[str, list[Any]]) -> None:
    table = arrow(columns)
    preparation, notes = prepare.learn(table, EXPAND)
    assert len(notes) == sum(all(value is None for value in values) for values in columns.values())
    found = pd.DataFrame(prepare.apply(preparation, table).X, columns=list(preparation.names))
    kept = {column.column for column in preparation.columns}
    for name in kept & {"number", "count", "flag"}:
        np.testing.assert_array_equal(found[name], pd.Series(columns[name]).astype(float))
    if "word" in kept:
        words = pd.Series(columns["word"], dtype=object)
        dummies = pd.get_dummies(words, prefix="word", prefix_sep=" = ").astype(float)
        dummies[words.isna().to_numpy()] = np.nan
        pd.testing.assert_frame_equal(found[[n for n in found if n.startswith("word")]], dummies, check_names=False)
    if "day" in kept:
        day = pd.Series(pd.to_datetime(columns["day"]))
        hour = (day - day.dt.normalize()) / pd.Timedelta(hours=1)
        expected = {"year": day.dt.year, "month": day.dt.month, "day": day.dt.day, "weekday": day.dt.day_of_week + 1}
        for name in (n for n in found if n.startswith("day ")):
            np.testing.assert_allclose(found[name], {**expected, "hour": hour}[name.removeprefix("day ")], rtol=1e-12)


@given(frames())
def test_a_text_file_gives_the_same_features(columns: dict[str, list[Any]]) -> None:
    table = arrow(columns)
    preparation, _ = prepare.learn(table, EXPAND)
    text = pd.DataFrame({name: table.column(name).to_pandas(types_mapper=None) for name in columns})
    text["number"] = [None if value is None else repr(value) for value in columns["number"]]
    raw = text.to_csv(index=False).encode()
    names = [column.column for column in preparation.columns]
    delimited = Delimited(io.BufferedReader(io.BytesIO(raw)), "text")
    blocks = list(delimited.blocks(names))
    if names:
        X = np.concatenate([prepare.apply(preparation, block).X for block in blocks])
        np.testing.assert_array_equal(X, prepare.apply(preparation, table).X)


@given(frames())
def test_fills_stand_in_for_what_is_missing(columns: dict[str, list[Any]]) -> None:
    table = arrow(columns)
    preparation, _ = prepare.learn(table, EXPAND)
    X = prepare.apply(preparation, table).X
    with_fills = prepare.with_fills(preparation, X)
    filled = X.copy()
    prepare.fill(with_fills, filled)
    assert not np.isnan(filled).any()
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    again = prepare.apply(with_fills, table)
    np.testing.assert_array_equal(again.X, filled)
    np.testing.assert_array_equal(again.filled, np.isnan(X).any(axis=1))
    if "number" in [column.column for column in preparation.columns]:
        known = [value for value in columns["number"] if value is not None]
        assert with_fills.columns[0].fill == np.median(known)


def test_numbers_as_names_and_unseen_values() -> None:
    table = pa.table({"floor": [1, 2, 2, None], "kind": pa.array(["a", "b", "a", "b"]).dictionary_encode()})
    preparation, _ = prepare.learn(table, Choices(categorical=("floor",)))
    assert preparation == Preparation((Category("floor", (1.0, 2.0)), Category("kind", ("a", "b"))))
    assert preparation.names == ("floor = 1", "floor = 2", "kind = a", "kind = b")
    other = prepare.apply(preparation, pa.table({"floor": [2.0, 9.0], "kind": ["c", "a"]}))
    np.testing.assert_array_equal(other.X, [[0, 1, 0, 0], [0, 0, 1, 0]])
    assert other.unseen == {"floor": (9.0,), "kind": ("c",)}


def test_constant_dates_keep_a_part_and_infinity_is_missing() -> None:
    table = pa.table({"day": [datetime.date(2020, 2, 3)] * 2, "x": [np.inf, 1.0]})
    preparation, _ = prepare.learn(table, EXPAND)
    assert preparation.columns == (Date("day", ("year",), zone=False), Number("x"))
    np.testing.assert_array_equal(prepare.apply(preparation, table).X, [[2020, np.nan], [2020, 1.0]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([datetime.date(2020, 1, 1)]), "column 'c' holds dates; add dates='expand'"),
        (pa.array([datetime.time(12, 0)]), "neither number, word nor date"),
        (pa.array([[1, 2]]), "column 'c' holds list"),
        (pa.array([str(i) for i in range(51)]), "holds 51 different words .*drop='c'.*max_categories"),
    ],
)
def test_columns_that_cannot_be_used_are_refused(column: pa.Array, message: str) -> None:
    with pytest.raises(Refused, match=message):
        prepare.learn(pa.table({"c": column}), Choices())


def test_what_cannot_be_read_as_at_fit_is_refused_with_its_place() -> None:
    (block,) = ArrowTable(pa.table({"a": [[1], [2]], "b": ["1", "x"]})).blocks(["a", "b"])
    with pytest.raises(Refused, match=r"t\.csv: row 8, column 'b': 'x' is not a number, as at fit"):
        prepare.apply(Preparation((Number("b"),)), block, None, "t.csv", 7)
    with pytest.raises(Refused, match=r"t\.csv: column 'a': the column holds list.*, not numbers as at fit"):
        prepare.apply(Preparation((Number("a"),)), block, None, "t.csv", 7)


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
    ("values", "told"),
    [
        (["1", "2.5", "-3e4", "?"], "'?' does not fit"),
        (["1,000", "2,500", "3"], "'1,000', '2,500' do not fit the others"),
        (["1st", "2nd", "3"], ""),
        (["red", "green"], ""),
    ],
)
def test_words_among_numbers_are_told(values: list[str], told: str) -> None:
    preparation, notes = prepare.learn(pa.table({"x": values}), Choices())
    assert preparation.columns == (Category("x", tuple(sorted(values))),)
    assert bool(notes) == bool(told)
    assert told in "".join(notes)
