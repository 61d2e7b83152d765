"""Dask collections with gaps, words and dates: the schema and the matrix that the same table in memory gives."""

from __future__ import annotations

import numpy as np
import pytest

from bgn.inputs.kinds import schema_of
from bgn.model.schema import Schema
from tests.every_engine import local_cluster

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
pd = pytest.importorskip("pandas", reason="the extra dask is not installed")

from bgn.engines.cluster import ClusterTasks, rows_on_cluster, schema_on_cluster  # noqa: E402
from bgn.engines.sources import RowArguments  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
ROWS = 60


@pytest.fixture(scope="module")
def tasks():
    with (
        local_cluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        tasks = ClusterTasks(client)
        yield tasks
        tasks.release()


@pytest.fixture(scope="module")
def frame():
    chance = np.random.default_rng(0)
    cities = chance.choice(["Nice", "Lille", "", None], ROWS)
    return pd.DataFrame(
        {
            "age": np.where(chance.random(ROWS) < 0.2, np.nan, chance.normal(size=ROWS)),
            "city": cities,
            "kind": pd.Categorical(cities, categories=["Nice", "Lille", "", "Rome"]),
            "size": pd.Categorical(chance.choice(list("SML"), ROWS), categories=["S", "M", "L", "XL"], ordered=True),
            "floor": chance.integers(0, 5, ROWS),
            "owned": chance.choice([True, False], ROWS),
            "sold": pd.Timestamp("2006-01-15") + pd.to_timedelta(chance.integers(0, 9999, ROWS), "h"),
        }
    )


def matrix(tasks, X, y, schema):
    """Return the rows of all partitions as the engine has them."""
    source = rows_on_cluster(tasks, RowArguments(X, y), lambda surveys: None, schema)
    return np.concatenate([part.columns for part in tasks.results("rows", source._partitions)], axis=1).T


@pytest.mark.parametrize("reported", ["from_dtype", ["floor"]])
@pytest.mark.parametrize("unknown", [False, True])
def test_partitions_give_what_the_frame_gives(tasks, frame, reported, unknown):
    collection = dd.from_pandas(frame, npartitions=4)
    if unknown:
        collection["kind"] = collection["kind"].cat.as_unknown()
    y = dd.from_pandas(pd.Series(np.arange(float(ROWS)), name="price"), npartitions=4)
    schema = schema_on_cluster(tasks, collection, reported, target="price")
    assert schema == schema_of(frame, reported, target="price")
    assert np.array_equal(matrix(tasks, collection, y, schema), schema.encode(frame, missing=True), equal_nan=True)


def test_arrays_may_have_missing_values(tasks):
    rows = np.array([[1.0, np.nan], [2.0, 7.0], [np.nan, 7.0]], np.float32)
    X, y = da.from_array(rows, chunks=(2, 2)), da.from_array(np.arange(3.0), chunks=2)
    schema = schema_on_cluster(tasks, X)
    assert schema == Schema.of_numbers(2)
    result = matrix(tasks, X, y, schema)
    assert result.dtype == np.float32
    assert np.array_equal(result, rows, equal_nan=True)
    assert schema_on_cluster(tasks, X, [1]).columns[1].categories == (7.0,)


def test_what_stays_refused(tasks, frame):
    y = dd.from_pandas(pd.Series(np.arange(float(ROWS))), npartitions=2)
    cities = dd.from_pandas(frame[["city"]], npartitions=2)
    with pytest.raises(ValueError, match=r"column 'city' holds words .*, which categorical_features=None refuses"):
        schema_on_cluster(tasks, cities, None)
    with pytest.raises(ValueError, match=r"Partition \d: X cannot be read as at fit: column 'city' holds words"):
        matrix(tasks, cities, y, Schema.of_numbers(1, ["city"]))
    endless = dd.from_pandas(frame[["age"]].assign(age=np.inf), npartitions=2)
    with pytest.raises(ValueError, match=r"Partition \d: X has infinity in column 'age'"):
        matrix(tasks, endless, y, schema_of(frame[["age"]]))
