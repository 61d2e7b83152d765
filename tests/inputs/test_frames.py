"""Any table straight in: the same schema and the same matrix from every library, from blocks as from the whole."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn.inputs.kinds import TableKinds, schema_of
from bgn.model.schema import Column, Schema
from tests.optional import pandas as pd
from tests.optional import polars as pl
from tests.optional import pyarrow as pa

PARIS = ZoneInfo("Europe/Paris")
SIZES = ("small", "middle", "", "größer\u2028", "z")
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4) | st.sampled_from(
    ["", " ", "é", "𝄞", "nan"]
)
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "number": st.floats(-1e9, 1e9) | st.integers(-9, 9).map(float),
    "whole": st.integers(-(2**60), 2**60),
    "word": texts,
    "many": st.integers(0, 400).map("level {}".format),
    "size": st.sampled_from(SIZES),
    "truth": st.booleans(),
    "day": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "time": st.datetimes(dt.datetime(1971, 1, 1), dt.datetime(2036, 1, 1)),
    "clock": st.datetimes(dt.datetime(1971, 1, 1), dt.datetime(2036, 1, 1), timezones=st.just(PARIS)),
    "length": st.timedeltas(dt.timedelta(-999), dt.timedelta(999)),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, tuple[str, list[Any]]]:
    """Columns by name, each with its kind and its values; None is a gap."""
    n_rows = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from([*CELLS]), min_size=1, max_size=5))
    with_missing = draw(st.booleans())
    return {
        f"{kind} {k}": (kind, [draw(st.none() | CELLS[kind] if with_missing else CELLS[kind]) for _ in range(n_rows)])
        for k, kind in enumerate(kinds)
    }


def typed(kind: str, values: list[Any]) -> bool:
    """Return whether a column has a type in any library: not one of gaps alone."""
    return any(value is not None for value in values) or kind == "size"


def in_pandas(table: dict[str, tuple[str, list[Any]]]) -> Any:
    dtypes = {
        "number": "float64", "whole": "Int64", "word": "string", "many": "category", "truth": "boolean",
        "size": pd.CategoricalDtype(SIZES, ordered=True), "time": "M8[us]", "day": object, "length": "m8[us]",
        "clock": pd.DatetimeTZDtype("us", PARIS),
    }  # fmt: skip
    return pd.DataFrame({name: pd.Series(values, dtype=dtypes[kind]) for name, (kind, values) in table.items()})


def in_polars(table: dict[str, tuple[str, list[Any]]]) -> Any:
    dtypes = {
        "number": pl.Float64, "whole": pl.Int64, "word": pl.String, "many": pl.Categorical, "truth": pl.Boolean,
        "size": pl.Enum(SIZES), "time": pl.Datetime("us"), "day": pl.Date, "length": pl.Duration("us"),
        "clock": pl.Datetime("us", "Europe/Paris"),
    }  # fmt: skip
    return pl.DataFrame({name: pl.Series(values, dtype=dtypes[kind]) for name, (kind, values) in table.items()})


def in_arrow(table: dict[str, tuple[str, list[Any]]]) -> Any:
    types = {
        "number": pa.float64(), "whole": pa.int64(), "word": pa.string(), "many": pa.large_string(),
        "truth": pa.bool_(),        "time": pa.timestamp("us"), "day": pa.date32(), "length": pa.duration("us"),
        "clock": pa.timestamp("us", "Europe/Paris"),
    }  # fmt: skip

    def column(kind: str, values: list[Any]) -> Any:
        if kind != "size":
            return pa.array(values, types[kind])
        codes = pa.array([None if value is None else SIZES.index(value) for value in values], pa.int8())
        return pa.DictionaryArray.from_arrays(codes, pa.array(SIZES), ordered=True)

    return pa.table({name: column(kind, values) for name, (kind, values) in table.items()})


def in_objects(table: dict[str, tuple[str, list[Any]]]) -> Any:
    rows = np.empty((len(next(iter(table.values()))[1]), len(table)), dtype=object)
    for j, (_, values) in enumerate(table.values()):
        rows[:, j] = values
    return rows


def same(one: Any, other: Any) -> bool:
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=True)


@given(tables())
@settings(max_examples=60)
def test_every_library_gives_the_same_schema_and_the_same_matrix(table):
    frame = in_pandas(table)
    others = [in_polars(table), in_arrow(table), pa.Table.from_pandas(frame)]
    schema = schema_of(frame)
    rows = schema.encode(frame, missing=True)
    known = all(typed(*column) for column in table.values())
    for other in others:
        assert same(schema.encode(other, missing=True), rows)
        if known:
            assert schema_of(other) == schema
    assert same(schema.encode(in_objects(table), missing=True), rows)
    prepared = pd.DataFrame(rows, columns=schema.names)
    for column in schema.columns:
        if column.categories is not None:
            there = prepared[column.name]
            prepared[column.name] = [None if code != code else column.categories[int(code)] for code in there]
    assert same(schema.encode(prepared, missing=True), rows)
    assert same(schema.encode(frame[frame.columns[::-1]].assign(other=1), missing=True), rows)


@given(tables(), st.data())
@settings(max_examples=60)
def test_blocks_tell_what_the_whole_tells(table, data):
    mixed = {
        "loose 9": (
            "word",
            data.draw(st.lists(st.sampled_from([None, 1, 2.5, True, "a", "1"]), min_size=12, max_size=12)),
        )
    }
    n_rows = len(next(iter(table.values()))[1])
    table = table | {name: (kind, values[:n_rows]) for name, (kind, values) in mixed.items()}
    frame = in_pandas({name: column for name, column in table.items() if name != "loose 9"})
    frame["loose 9"] = np.array(table["loose 9"][1], dtype=object)
    cuts = sorted(data.draw(st.lists(st.integers(0, n_rows), max_size=3)))
    blocks = [TableKinds.of(frame.iloc[start:stop]) for start, stop in zip([0, *cuts], [*cuts, n_rows], strict=True)]
    order = data.draw(st.permutations(blocks))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert order[0].merged(*order[1:]).schema() == schema_of(frame)


def test_a_type_without_categories_says_nothing_of_an_order():
    sizes = pd.Categorical(["S", "L"], categories=["S", "M", "L"], ordered=True)
    full, empty = (TableKinds.of(pd.DataFrame({"size": values})) for values in (sizes, pd.Categorical([])))
    for merged in (full.merged(empty), empty.merged(full)):
        (column,) = merged.schema().columns
        assert column.ordered
        assert column.categories == ("S", "M", "L")


def test_what_every_kind_of_column_becomes():
    frame = pd.DataFrame(
        {
            "rooms": pd.array([2, None, 4], "Int64"),
            "price": [Decimal("1.5"), None, Decimal("2")],
            "city": pd.Categorical(["Nice", "Lille", None], categories=["Rome", "Nice", "Lille"]),
            "floor": pd.Categorical([10, 9, 9]),
            "size": pd.Categorical(["S", "L", "S"], categories=["S", "M", "L"], ordered=True),
            "owned": [True, False, None],
            "sold": pd.to_datetime(["2006-01-15 18:30", "2007-01-15 18:30", None]),
            "took": pd.to_timedelta(["36h", None, "1D"]),
        }
    )
    schema = schema_of(frame, target="rent")
    assert schema.names == (
        "rooms", "price", "city", "floor", "size", "owned", "sold year", "sold weekday", "sold, days since 2006-01-15",
        "took (days)",
    )  # fmt: skip
    assert schema.target == "rent"
    categories = [("Lille", "Nice"), (9.0, 10.0), ("S", "M", "L"), (False, True)]
    assert [column.categories for column in schema.columns[2:6]] == categories
    assert [column.ordered for column in schema.columns[2:6]] == [False, False, True, True]
    missing = np.nan
    expected = [
        [2, 1.5, 1, 1, 0, 1, 2006, 7, 18.5 / 24, 1.5],
        [missing, missing, 0, 0, 2, 0, 2007, 1, 365 + 18.5 / 24, missing],
        [4, 2, missing, 0, 0, missing, missing, missing, missing, 1],
    ]
    assert np.array_equal(schema.encode(frame, missing=True), expected, equal_nan=True)
    unseen = frame.assign(city=["Rome", "Paris", "Nice"])
    assert np.array_equal(schema.encode(unseen, missing=True)[:, 2], [missing, missing, 1.0], equal_nan=True)


def test_local_time_counts_across_changes_of_the_clock():
    times = pd.date_range("2024-03-30", "2024-04-01", freq="17min", tz="UTC")
    frame = pd.DataFrame({"sold": times.tz_convert(PARIS)})
    schema = schema_of(frame)
    local = frame["sold"].dt
    hours = schema.encode(frame)[:, schema.names.index("sold hour")]
    assert np.array_equal(hours, (60 * local.hour + local.minute) / 60)
    assert same(schema.encode(pd.DataFrame({"sold": times})), schema.encode(frame))
    with pytest.raises(ValueError, match="'sold' holds times that have no time zone, and had one at fit"):
        schema.encode(pd.DataFrame({"sold": times.tz_localize(None)}))


def test_all_that_cannot_be_used_is_named_at_once():
    frame = pd.DataFrame(
        {
            "a": [[1], [2]],
            "b": [b"x", None],
            "c": [1j, 2j],
            "d": pd.interval_range(0, 2),
            "e": [dt.date(2000, 1, 1), "x"],
            "f": [1, 2],
        }
    )
    with pytest.raises(
        ValueError, match=r"'a' holds values of the type list.*'b'.*bytes.*'c'.*complex128.*'d'.*'e'"
    ) as error:
        schema_of(frame)
    assert "'f'" not in str(error.value)
    with pytest.raises(ValueError, match="column 'sold year' is there, and would also be made"):
        schema_of(pd.DataFrame({"sold": pd.to_datetime(["2006-01-15"]), "sold year": [2006]}))
    with pytest.raises(ValueError, match="2D array, got 1D array instead"):
        schema_of([1, 2])
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        schema_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="column 'x0' holds numbers as text"):
        schema_of(np.array([[1, "a"], [2, "b"]]))
    schema = schema_of(pd.DataFrame({"age": [1, 2], "city": ["a", "b"]}))
    with pytest.raises(ValueError, match=r"lacks the columns 'age', 'city'. Did you mean 'Age'\?"):
        schema.encode(pd.DataFrame({"Age": [1], "town": ["a"]}))
    with pytest.raises(ValueError, match="infinity in column 'age'"):
        schema.encode(pd.DataFrame({"age": [np.inf], "city": ["a"]}), missing=True)
    with pytest.raises(ValueError, match=r"column 'age' holds words \('x'\), not numbers; column 'city' holds dates"):
        schema.encode(pd.DataFrame({"age": ["x"], "city": pd.to_datetime(["2006-01-15"])}))
    with pytest.raises(ValueError, match=r"holds words \('1,5'\), not numbers. Make numbers of words first"):
        schema.encode(pd.DataFrame({"age": ["1,5"], "city": ["a"]}))


def test_blanks_that_made_text_of_numbers_are_missing():
    schema = schema_of(pd.DataFrame({"age": [1.5, 2], "city": ["a", "b"]}))
    raw = pd.DataFrame({"age": ["29.85", " ", "", None, " -1e3", "7."], "city": ["a"] * 6})
    np.testing.assert_array_equal(schema.encode(raw, missing=True)[:, 0], [29.85, np.nan, np.nan, np.nan, -1000, 7])


def test_text_among_numbers_is_text_and_said():
    frame = pd.DataFrame({"code": np.array([12, "7a", None, 12.5, 12], dtype=object)})
    with pytest.warns(UserWarning, match="column 'code' mixes words and numbers, such as '7a' and 12"):
        schema = schema_of(frame)
    assert schema.columns == (Column("code", ("12", "12.5", "7a")),)
    assert np.array_equal(schema.encode(frame, missing=True)[:, 0], [0, 2, np.nan, 1, 0], equal_nan=True)
    assert np.array_equal(
        schema.encode(pd.DataFrame({"code": [12.0, 13.0]}), missing=True)[:, 0], [0, np.nan], equal_nan=True
    )


@pytest.mark.parametrize("chosen", [[True, False], [0], ["floor"], np.array([0]), np.array(["floor"])])
def test_numbers_can_be_made_categories(chosen):
    frame = pd.DataFrame({"floor": [3.0, np.nan, -0.0, 1.0], "city": list("abab")})
    schema = schema_of(frame, chosen)
    assert schema.columns[0] == Column("floor", (0.0, 1.0, 3.0))
    assert np.array_equal(schema.encode(frame, missing=True)[:, 0], [2, np.nan, 0, 1], equal_nan=True)
    assert schema.columns[1].categories == ("a", "b")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (None, r"column 'city' holds words \('a'\), which categorical_features=None refuses"),
        ([True], r"one entry per column of X \(2\); got 1"),
        ([2], "positions from 0 to 1; got 2"),
        (["flor"], "no column 'flor'. Did you mean 'floor'"),
        ("floor", "must be 'from_dtype', None, or .*; got 'floor'"),
        ([1.5], r"got \[1.5\]"),
        ([[0]], r"got \[\[0\]\]"),
    ],
)
def test_arguments_are_checked(chosen, message):
    with pytest.raises(ValueError, match=message):
        schema_of(pd.DataFrame({"floor": [3.0, 1.0], "city": ["a", "b"]}), chosen)


def test_arrays_go_by_position():
    masked = np.ma.masked_equal([[1.0, 2.0], [3.0, 2.0]], 3.0)
    assert schema_of(masked) == Schema.of_numbers(2)
    assert np.isnan(schema_of(masked).encode(masked, missing=True)[1, 0])
    assert schema_of(np.array([[True], [False]])) == Schema.of_numbers(1)
    days = np.array([["2006-01-15"], ["2006-02-15"]], "M8[D]")
    assert schema_of(days).names == ("x0 month", "x0 weekday", "x0, days since 2006-01-15")
    assert schema_of(days).encode(days).tolist() == [[1, 7, 0], [2, 3, 31]]
    assert not schema_of(pd.DataFrame([[1, 2]])).named


def test_a_million_texts_take_little_time_and_no_loop_over_rows():
    rows = np.random.default_rng(0).integers(0, 300, 1_000_000).astype(str)
    for frame in (pd.DataFrame({"word": rows}), pl.DataFrame({"word": rows}), pa.table({"word": rows})):
        schema = schema_of(frame)
        assert schema.encode(frame)[:5, 0].tolist() == [schema.columns[0].categories.index(value) for value in rows[:5]]
