"""Parquet and arrays on disk with gaps, words and dates: the matrix that the same table in memory gives."""

from __future__ import annotations

import numpy as np
import pytest

from bgn import BGNRegressor
from bgn.engines.disk.table import FileTable
from bgn.inputs.kinds import schema_of
from bgn.model.schema import Schema
from tests.optional import pandas as pd
from tests.optional import polars as pl

ROWS = 100


@pytest.fixture
def frame():
    chance = np.random.default_rng(0)
    cities = chance.choice(["Nice", "Lille", "", "é", None], ROWS)
    return pd.DataFrame(
        {
            "age": np.where(chance.random(ROWS) < 0.2, np.nan, chance.normal(size=ROWS)),
            "city": cities,
            "kind": pd.Categorical(cities, categories=["é", "Nice", "Lille", "", "Rome"]),
            "size": pd.Categorical(chance.choice(list("SML"), ROWS), categories=["S", "M", "L", "XL"], ordered=True),
            "floor": pd.Categorical(chance.integers(0, 5, ROWS)),
            "owned": pd.array(chance.choice([True, False, None], ROWS), "boolean"),
            "sold": pd.Timestamp("2006-01-15", tz="Europe/Paris")
            + pd.to_timedelta(chance.integers(0, 9999, ROWS), "h"),
            "took": pd.to_timedelta(chance.integers(0, 9999, ROWS), "h"),
            "rooms": pd.array(chance.choice([1, 2, None], ROWS), "Int64"),
            "price": chance.normal(size=ROWS),
        }
    )


def matrix(table, size=200):
    """Return all rows of a table, read in small blocks."""
    return np.concatenate([piece.columns for piece in table.pieces(size)], axis=1).T


def test_a_file_gives_what_the_frame_gives(frame, tmp_path):
    frame.to_parquet(tmp_path / "all.parquet", row_group_size=7)
    table = FileTable(tmp_path / "all.parquet", target="price", missing=True)
    X = frame.drop(columns="price")
    schema = schema_of(X, target="price")
    assert table.schema == schema
    assert table.names == schema.names
    assert table.n_columns == len(schema)
    assert np.array_equal(matrix(table), schema.encode(X, missing=True), equal_nan=True)
    targets = np.concatenate([piece.target for piece in table.pieces(200)])
    assert np.array_equal(targets, frame["price"])


def test_a_folder_and_a_known_schema(frame, tmp_path):
    for k in range(3):
        frame.iloc[40 * k : 40 * k + 40].to_parquet(tmp_path / f"{k}.parquet")
    X = frame.drop(columns="price")
    schema = schema_of(X.iloc[:50])
    assert FileTable(tmp_path, target="price", missing=True).schema == schema_of(X, target="price")
    known = FileTable(tmp_path, schema=schema, missing=True)
    assert known.schema is schema
    assert np.array_equal(matrix(known), schema.encode(X, missing=True), equal_nan=True)
    numbers = frame.astype({"floor": float})  # polars knows no categories of numbers
    pl.from_pandas(numbers[frame.columns[::-1]]).write_parquet(tmp_path / "polars.pq")
    again = FileTable(tmp_path / "polars.pq", schema=schema, missing=True)
    assert np.array_equal(matrix(again), schema.encode(X, missing=True), equal_nan=True)
    X.drop(columns="city").to_parquet(tmp_path / "less.pq")
    with pytest.raises(ValueError, match="X lacks the column 'city'"):
        FileTable(tmp_path / "less.pq", schema=schema, missing=True)


def test_numbers_declared_as_categories(frame, tmp_path):
    frame[["age", "rooms"]].to_parquet(tmp_path / "x.parquet", row_group_size=9)
    np.save(tmp_path / "x.npy", schema_of(frame[["age", "rooms"]]).encode(frame, missing=True))
    for name, reported in (("x.parquet", ["rooms"]), ("x.npy", [1]), ("x.npy", [False, True])):
        table = FileTable(tmp_path / name, categorical_features=reported, missing=True)
        assert [column.categories for column in table.schema.columns] == [None, (1.0, 2.0)]
        expected = schema_of(frame[["age", "rooms"]], [1]).encode(frame, missing=True)
        assert np.array_equal(matrix(table), expected, equal_nan=True)


def test_what_stays_refused(frame, tmp_path):
    path = tmp_path / "x.parquet"
    frame[["age", "price"]].assign(age=[np.inf, *frame["age"][1:]]).to_parquet(path)
    with pytest.raises(ValueError, match="column 'age' holds infinity in row 0"):
        matrix(FileTable(path, missing=True))
    frame[["age", "price"]].to_parquet(path)
    with pytest.raises(ValueError, match="column 'age' holds NaN in row"):
        [*FileTable(path, target="age", missing=True).pieces(200)]
    with pytest.raises(ValueError, match="column 'age' holds NaN in row"):
        matrix(FileTable(path))
    frame[["city"]].to_parquet(path)
    with pytest.raises(ValueError, match="not numbers"):
        FileTable(path)
    with pytest.raises(ValueError, match=r"column 'city' holds words \(''\), which categorical_features=None refuses"):
        FileTable(path, categorical_features=None, missing=True)
    with pytest.raises(ValueError, match=r"column 'city' holds words .*, not numbers"):
        matrix(FileTable(path, schema=Schema.of_numbers(1, ["city"]), missing=True))
    pd.DataFrame({"a": [[1], [2]], "b": [b"x", b"y"]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"'a' holds values of the type list.*'b' holds values of the type binary"):
        FileTable(path, missing=True)


def test_single_precision_stays(tmp_path):
    rows = pd.DataFrame({"a": np.array([1, np.nan, 2], np.float32)})
    rows.to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", rows.to_numpy())
    for name in ("x.parquet", "x.npy"):
        table = FileTable(tmp_path / name, missing=True)
        assert table.dtype == np.float32
        assert np.array_equal(matrix(table), rows, equal_nan=True)


def test_ids_are_no_categories_on_disk_either(tmp_path):
    x = np.random.default_rng(0).normal(size=200)
    frame = pd.DataFrame({"id": [f"c{k}" for k in range(200)], "x": x, "y": 3.0 * (x > 0.0)})
    frame.to_parquet(tmp_path / "ids.parquet", row_group_size=60)
    settings = {"max_terms": 1, "max_linear": 0, "cv": None, "random_state": 0}
    with pytest.warns(UserWarning, match="column 'id' holds 200 different words in 200 rows, too many"):
        there = BGNRegressor(**settings).fit(tmp_path / "ids.parquet", target="y")
    with pytest.warns(UserWarning, match="too many to learn from"):
        here = BGNRegressor(**settings).fit(frame[["id", "x"]], frame["y"])
    assert there.network_ == here.network_
    assert there.network_.schema.columns[0].categories == ()
