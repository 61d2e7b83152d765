"""Columns in bins, sums over columns, and what is kept of them: against definitions."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn.engines.kernels import rows as row_kernels
from bgn.engines.kernels.rows import linear_fired
from bgn.engines.memory import MemoryEngine, Part
from bgn.engines.raw_rows import RowsInMemory
from bgn.grow import rows as row_sets
from bgn.grow.directions.pairs import COARSE, Binned, bins_of, codes_of, different_values, largest
from bgn.grow.losses import Squared

numbers = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-1e3, 1e3), st.sampled_from([0.0, -0.0, 1e300, -1e300, 5e-324])
)


@st.composite
def columns(draw, most=80):
    rows, number = draw(st.integers(1, most)), draw(st.integers(1, 4))
    kind = draw(st.sampled_from([np.float64, np.float32]))
    cells = numbers if kind is np.float64 else st.integers(-40, 40).map(float)
    return np.array([[draw(cells) for _ in range(rows)] for _ in range(number)], kind)


@given(columns(), st.sampled_from([2, 3, 32, 255, 256]))
@settings(max_examples=60, deadline=None)
def test_a_row_is_in_the_last_bin_that_starts_at_or_below_it(table, bins):
    for column, values in zip(table, different_values(table), strict=True):
        assert values.tolist() == sorted(set(column.astype(np.float64).tolist()))
        number = min(bins, len(values))
        first = [values[k * len(values) // number] for k in range(number)]
        assert codes_of(column, values, bins).tolist() == [
            max(k for k in range(number) if first[k] <= x) for x in column
        ]


@given(columns())
@settings(max_examples=60, deadline=None)
def test_bins_of_many_columns_are_those_of_one_by_one(table):
    with np.errstate(over="ignore", invalid="ignore"):
        together = Binned.of(table, different_values(table))
        for k, (column, values) in enumerate(zip(table, different_values(table), strict=True)):
            alone = Binned.of(column[None], [values])
            for name in ("codes", "centers", "bins", "scale", "reach"):
                np.testing.assert_array_equal(getattr(together, name)[k], getattr(alone, name)[0])
            assert 0 < together.scale[k] < math.inf
            centers = [
                np.mean((values - values[(len(values) - 1) // 2])[codes_of(values, values, COARSE) == b])
                for b in range(together.bins[k])
            ]
            if np.abs(values).max() < 1e200 and together.scale[k] > 1e-200:
                near = np.clip(np.array(centers) / together.scale[k], -3, 3)
                np.testing.assert_allclose(together.centers[k, : together.bins[k]], near, rtol=1e-6, atol=1e-6)


@given(st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=300), st.integers(1, 12))
def test_the_largest_come_first_and_of_equal_ones_the_first(values, most):
    wanted = sorted(range(len(values)), key=lambda k: (-values[k], k))[:most]
    assert largest(np.array(values), most).tolist() == wanted


@given(st.integers(0, 2**31), st.integers(1, 60), st.booleans())
@settings(max_examples=30, deadline=None)
def test_sums_over_columns_are_whole_numbers_from_the_definition(seed, rows, weighted):
    rng = np.random.default_rng(seed)
    table, weight = rng.normal(size=(3, rows)), rng.integers(1, 5, rows) if weighted else np.zeros(0, np.int64)
    heavy = weight if weighted else np.ones(rows, np.int64)
    center, scale = np.array([0.0, 0.5, -1.0]), np.array([2.0**20, 2.0**26, 1.0])
    whole = np.rint((table - center[:, None]) * scale[:, None]).astype(np.int64)
    squares, cut = np.zeros((3, 2), np.int64), rows // 3
    for span in ((0, cut), (cut, rows)):
        row_kernels.column_squares(table, center, scale, weight, *span, squares)
    for j in range(3):
        assert (int(squares[j, 0]) << 31) + int(squares[j, 1]) == sum(
            int(w) * int(x) ** 2 for w, x in zip(heavy, whole[j], strict=True)
        )
    codes, bit, place = rng.integers(0, 256, rows).astype(np.uint8), 5, np.array([[-1.0, 0.75, 0.0, 1024.0]] * 2)
    fired = np.zeros(2, np.int64)
    for span in ((0, cut), (cut, rows)):
        linear_fired(table, np.array([2, 0]), place, (codes, bit), weight, *span, fired)
    yes = (codes >> bit) & 1
    clipped = [np.rint(np.clip(table[j], -1.0, 0.75) * 1024.0).astype(np.int64) for j in (2, 0)]
    assert fired.tolist() == [int((one * heavy * yes).sum()) for one in clipped]


def test_bins_are_worked_out_once_for_a_sample():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    loss = Squared.over(y.min(), y.max(), 40)
    engine = MemoryEngine(Part(rng.normal(size=(3, 40)), loss.targets.steps(y), None, loss), loss)
    assert bins_of(engine, None) is bins_of(engine, None)


def test_tables_of_many_values_have_fewer_folds(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    few, _ = row_sets.assign_rows(RowsInMemory(X, y), None, 0.2, 0, cv="auto")
    assert (len(few.folds), few.wide) == (5, False)
    monkeypatch.setattr(row_sets, "_MANY_VALUES", 299)
    many, _ = row_sets.assign_rows(RowsInMemory(X, y), None, 0.2, 0, cv="auto")
    assert (len(many.folds), many.wide) == (3, True)
    reported, _ = row_sets.assign_rows(RowsInMemory(X, y), None, 0.2, 0, cv=4)
    assert len(reported.folds) == 4
