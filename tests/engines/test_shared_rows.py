"""What is quicker with threads, or without putting everything in order, against the plain way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgn.engines import memory as shared_rows
from bgn.engines import raw_rows
from bgn.engines import raw_rows as row_hashes
from bgn.engines.coding import _median
from bgn.engines.memory import part_of
from bgn.engines.raw_rows import RawRows
from bgn.grow.directions.pairs import different_values
from bgn.grow.losses import LOSSES
from bgn.inputs.splits import few_of

numbers_there = [0.0, -0.0, 1.0, 1.5, -2.0, 1e300, -1e300, 5e-324]
some_values = st.sampled_from([*numbers_there, np.nan])


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 12), st.booleans())
def test_a_few_of_many_hashes_are_those_that_sorting_gives(numbers, few, last):
    hashes = np.array(numbers, np.uint64)
    order = np.argsort(hashes, kind="stable")
    expected = order[max(len(order) - few, 0) :] if last else order[:few]
    assert few_of(hashes, few, last).tolist() == sorted(expected.tolist())


@given(st.lists(some_values, max_size=12), st.integers(1, 3))
def test_the_median_of_equal_weights_is_that_of_any(values, weight):
    column = np.array(values, np.float64)
    there = sorted(value for value in values if value == value)
    result = _median(column, np.full(len(column), weight))
    assert result == (there[(len(there) - 1) // 2] if there else 0.0)
    assert not np.signbit(result) or result < 0
    doubled = np.concatenate([column, column[:1]])  # the first value in two rows is one row of twice the weight
    heavy = np.full(len(column), weight)
    heavy[:1] *= 2
    assert _median(column, heavy) == _median(doubled, np.full(len(doubled), weight))


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.sampled_from(numbers_there), min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_the_different_values_of_columns_are_those_of_one_by_one(columns):
    table = np.array(columns, np.float64).reshape(len(columns), -1)
    assert [one.tolist() for one in different_values(table)] == [sorted({*column}) for column in columns]


def made(rows, columns):
    rng = np.random.default_rng(rows)
    X = np.round(rng.normal(size=(rows, columns)), 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, rng.normal(size=rows)


@pytest.mark.parametrize("order", ["C", "F"])
def test_threads_hash_and_gather_the_rows_that_one_does(monkeypatch, order):
    monkeypatch.setattr(row_hashes, "_AT_ONCE", 7)
    monkeypatch.setattr(raw_rows, "_GATHERED", 7)
    X, y = made(40, 3)
    X = np.array(X, order=order)
    expected = np.concatenate([row_hashes.row_hashes(X[k : k + 1].T, y[k : k + 1], 5) for k in range(len(y))])
    which = X[:, 0] > 0
    for threads in (1, 3):
        assert np.array_equal(row_hashes.row_hashes(X.T, y, 5, threads), expected)
        rows = RawRows(X.T, y, None, threads)
        assert np.array_equal(rows._gathered(rows.columns, which), X.T[:, which], equal_nan=True)
        assert rows._gathered(rows.columns, which).flags.c_contiguous


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_that_share_columns_or_rows_find_the_same_sums(monkeypatch, weighted):
    for name in ("_ROWS_FOR_SHARING", "_ROWS_FOR_THREADS", "_ROWS_PER_THREAD"):
        monkeypatch.setattr(shared_rows, name, 8)
    rng = np.random.default_rng(0)
    columns, y = rng.normal(size=(6, 50)), rng.normal(size=50)
    loss = LOSSES["squared"].over(float(y.min()), float(y.max()), 50)
    weight = rng.integers(1, 4, 50) if weighted else None
    center, scale, values = np.zeros(6), np.full(6, 2.0**20), rng.integers(-(2**30), 2**30, 50)
    replies = []
    for threads, by_columns in ((1, 100), (3, 100), (3, 1)):
        monkeypatch.setattr(shared_rows, "_COLUMNS_FOR_SHARING", by_columns)
        part = part_of(columns, loss.targets.steps(y), weight, loss, threads)
        assert part.threads == threads
        result = (
            part.column_squares(center, scale),
            part._products(center, scale, values),
            part.column_sums(center, scale),
        )
        replies.append([one.tolist() for one in (*result, part.measure().low, part.measure().whole)])
    assert replies[0] == replies[1] == replies[2]


def test_no_more_threads_share_rows_than_have_enough_of_them(monkeypatch):
    monkeypatch.setattr(shared_rows, "_ROWS_FOR_SHARING", 4)
    monkeypatch.setattr(shared_rows, "_ROWS_FOR_THREADS", 4)
    monkeypatch.setattr(shared_rows, "_ROWS_PER_THREAD", 10)
    loss = LOSSES["squared"].over(0.0, 1.0, 60)
    for rows, expected in ((3, 1), (5, 2), (35, 3), (60, 6)):
        part = part_of(np.zeros((2, rows)), np.zeros(rows, np.int64), None, loss, 6)
        assert part.threads == expected
