"""The exact cut, against all splits of a sorted projection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn.engines.memory as parts
import bgn.engines.memory as shared_rows
from bgn.engines.kernels import cuts as kernels
from bgn.engines.kernels.rows import both_fire
from bgn.engines.memory import Part
from bgn.engines.protocol import CutRequest, Grid, Output
from bgn.engines.raw_rows import RowsInMemory, weight_exponent
from bgn.model.term import Oblique, Projection
from tests.growing import EMPTY, engine_of, tables
from tests.reference.growth import best_split, split_variance


def assert_best_cut(engine, direction, weight=None):
    (cut,) = engine.cuts([CutRequest(EMPTY, direction)])
    pairs = zip(direction.columns, direction.coefficients, strict=True)
    z = sum(c * engine.part.columns[j].astype(float) for j, c in pairs)
    best = best_split(z, engine.part.target, weight)
    if best is None:
        assert cut is None
        return
    gain, n, s, below, upper = best
    assert (cut.gain, cut.silent, cut.silent_sum) == (gain, n, s)
    assert below < cut.rule.threshold <= upper
    assert cut.fired == engine.total - n


@given(tables(), st.sampled_from([Projection((0,), (1.0,)), Projection((0, 1), (1.0, -0.37))]))
@settings(max_examples=400, deadline=None)
def test_cut_is_the_best_of_all_splits(table, direction):
    X, y, weight = table
    assert_best_cut(engine_of(X, y, weight), direction, weight)


@pytest.mark.parametrize("rows", [300, 5000])
@pytest.mark.parametrize("shape", ["normal", "cauchy", "atoms", "exponents", "sorted", "one far out"])
def test_cut_on_larger_tables(rows, shape):
    rng = np.random.default_rng(rows)
    x = {
        "normal": rng.normal(size=rows),
        "cauchy": rng.standard_cauchy(rows),
        "atoms": rng.choice([0.0, 1.0, 1.5, 7.0], rows),
        "exponents": 10.0 ** rng.uniform(-300, 300, rows),
        "sorted": np.arange(rows, dtype=float),
        "one far out": np.append(rng.normal(size=rows - 1), 1e12),
    }[shape]
    X = np.column_stack([x, rng.integers(0, 9, rows).astype(float)])
    y = np.where(x > np.median(x), 1.0, 0.0) + rng.normal(size=rows)
    for direction in (Projection((0,), (1.0,)), Projection((0, 1), (0.25, 1.0))):
        assert_best_cut(engine_of(X, y), direction)


@given(tables())
@settings(max_examples=100, deadline=None)
def test_cut_minimises_the_paper_objective(table):
    X, y, _ = table
    engine = engine_of(X, y)
    (cut,) = engine.cuts([CutRequest(EMPTY, Projection((0,), (1.0,)))])
    if cut is None:
        return
    left = split_variance(engine.part.target, X[:, 0] >= cut.rule.threshold)
    everything = split_variance(engine.part.target, np.ones(len(y)))
    assert float(everything - left) == pytest.approx(cut.gain, rel=1e-9, abs=1e-3)
    for threshold in X[:, 0]:
        assert float(left) <= float(split_variance(engine.part.target, X[:, 0] >= threshold)) * (1 + 1e-9)


def test_blocks_and_threads_do_not_matter(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 3)).round(2)
    y = X[:, 0] - X[:, 1] ** 2 + rng.normal(size=4000)
    requests = [CutRequest(EMPTY, Projection((0, 1), (1.0, -1.7))), CutRequest(EMPTY, Projection((2,), (1.0,)))]
    monkeypatch.setattr(shared_rows, "_ROWS_FOR_SHARING", 1)
    monkeypatch.setattr(shared_rows, "_ROWS_FOR_THREADS", 1)
    rule = Oblique(Projection((0, 2), (1.0, 0.3)), 0.1)
    answers = []
    for threads in (1, 2, 7, 23):
        engine = engine_of(X, y, threads=threads)
        cuts = list(engine.cuts(requests))
        put = engine.put(0, rule)
        squared = engine.settle(Output(np.array([12345], np.int64), -77))
        answers.append(
            (
                cuts, put, squared, engine.bound(), engine.overlaps(0).tolist(), engine.correlation(0),
                engine.cross(0).tolist(), engine.gram(1).tolist(), engine.loss_deviation(),
                engine.products(engine.output).tolist(),
            )
        )  # fmt: skip
    assert all(answer == answers[0] for answer in answers)


@given(tables(), st.floats(-4, 4), st.floats(0.1, 4))
@settings(max_examples=100, deadline=None)
def test_a_window_bounds_the_cut(table, low, size):
    X, y, _ = table
    engine = engine_of(X, y)
    free, kept = engine.cuts([CutRequest(EMPTY, Projection((0,), (1.0,)), w) for w in (None, (low, low + size))])
    if kept is not None:
        # The rows next to the cut are neighbours of the window, and nothing inside it does better.
        assert kept.gain <= free.gain
        inside = np.unique(X[(X[:, 0] > low + 0.01) & (X[:, 0] < low + size), 0])
        for threshold in inside[1:]:  # cuts between two projections of the window
            fires = X[:, 0] >= threshold
            if 0 < fires.sum() < len(y):
                left = split_variance(engine.part.target, X[:, 0] >= kept.rule.threshold)
                assert float(left) <= float(split_variance(engine.part.target, fires)) * (1 + 1e-9)


@given(st.integers(0, 300), st.integers(3, 40), st.integers(0, 9), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_rows_outside_a_window_are_added_up_alike(rows, size, start, ties, seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(2, rows)).round(1 if ties else 12)
    columns[:, : rows // 9] *= 1e200
    line = columns, np.array([1, 0]), np.array([1.0, -0.4])
    leftover = rng.integers(-(2**40), 2**40, rows), rng.integers(0, 256, rows).astype(np.uint8), 3, 5, -7
    result = []
    for bounded in (False, True):
        cells, sums = np.zeros(rows, np.uint16), kernels.empty_cells(size)
        span, place = (min(start, rows), rows), (-0.5, size * 1.0, bounded)
        kernels.fill_cells(line, leftover, np.empty(0, np.int64), place, span, cells, sums)
        result.append((cells, *sums))
    (cells, count, sums, extent), (cells_too, count_too, sums_too, extent_too) = result
    for one, other in (
        (cells, cells_too), (count, count_too), (sums[:, 0], sums_too[:, 0]), (sums[1:-1], sums_too[1:-1]),
        (extent[1:-1], extent_too[1:-1]), (extent[0, 1], extent_too[0, 1]), (extent[-1, 0], extent_too[-1, 0]),
    ):  # fmt: skip
        np.testing.assert_array_equal(one, other)


@given(st.integers(1, 5000), st.integers(1, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_rows_where_two_rules_fire_are_counted(rows, size, start, left, seed):
    codes = np.random.default_rng(seed).integers(0, 256, (-(-size // 8), rows)).astype(np.uint8)
    start, stop, slot = min(start, rows), max(rows - left, min(start, rows)), seed % size
    counts = np.ones(size, np.int64)
    both_fire(codes, codes[slot >> 3], slot & 7, size, start, stop, counts)
    answers = np.unpackbits(codes, axis=0, bitorder="little")[:size, start:stop].astype(int)
    assert counts.tolist() == (1 + (answers * answers[slot]).sum(axis=1)).tolist()


@given(st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=50).filter(lambda w: sum(w) > 1e-3))
def test_whole_weights_keep_proportions(weights):
    weights = np.array(weights)
    source = RowsInMemory(np.zeros((len(weights), 1)), weights, weights)
    exponent = weight_exponent(source)
    whole = np.rint(np.ldexp(weights, exponent))
    assert whole.sum() < 2**32
    np.testing.assert_allclose(np.ldexp(whole.astype(float), -exponent), weights, atol=weights.sum() / 2**28)
    if np.array_equal(weights, np.rint(weights)) and weights.sum() <= 2**31:
        assert exponent == 0


@given(st.lists(st.floats(-1e150, 1e150), min_size=2, max_size=30))
def test_grid_is_fine_and_safe(y):
    y = np.array(y)
    grid = Grid.for_range(y.min(), y.max(), len(y))
    steps = grid.steps(y)
    assert np.abs(steps).max() <= 1 << grid.bits
    half = y.max() / 2 - y.min() / 2
    if half > 1e-290:
        back = grid.center / half + grid.value(steps) / half
        np.testing.assert_allclose(back, y / half, atol=2.0**-35)


def layer(rows, size, weighted, rng):
    """Rows of few values, and the answers of neurons that part them."""
    X, weight = rng.integers(0, 4, (rows, 2)).astype(float), rng.integers(1, 5, rows) if weighted else None
    engine = engine_of(X, rng.integers(-9, 9, rows).astype(float), weight)
    rules = [Oblique(Projection((0, 1), (1.0, c)), t) for c, t in rng.integers(-3, 4, (size, 2)) + 0.5]
    for slot, rule in enumerate(rules):
        engine.put(slot, rule)
    return engine, rules, weight


@given(st.integers(1, 60), st.integers(0, 20), st.integers(1, 3), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_regions_are_the_rows_that_answer_alike(rows, size, threads, weighted, seed):
    rng = np.random.default_rng(seed)
    engine, rules, weight = layer(rows, size, weighted, rng)
    with pytest.MonkeyPatch.context() as patch:  # rows shared out, too little room at first
        for module, name in [
            (shared_rows, "_ROWS_FOR_SHARING"),
            (shared_rows, "_ROWS_FOR_THREADS"),
            (parts, "_CAPACITY"),
        ]:
            patch.setattr(module, name, 1)
        part = Part(engine.part.columns, engine.part.target, weight, engine.loss, threads)
        for slot, rule in enumerate(rules):
            part.put(slot, rule)
        result = [part.regions(size), part.regions(size), engine.part.regions(size)]
    heavy = np.ones(rows, int) if weight is None else weight
    _, alike = np.unique(part.answers(rules), axis=1, return_inverse=True)
    expected = [np.bincount(alike, heavy), np.bincount(alike, heavy * part.target)]
    for keys, sums in result:
        assert len(np.unique(keys)) == len(keys)
        assert sorted(sums.tolist()) == sorted(np.transpose(expected).astype(int).tolist())


@given(st.integers(1, 60), st.integers(1, 20), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_correlations_are_residuals_of_the_rows_that_fire(rows, size, weighted, seed):
    rng = np.random.default_rng(seed)
    engine, rules, weight = layer(rows, size, weighted, rng)
    heavy = np.ones(rows, int) if weight is None else weight
    for _ in range(2):
        output = Output(rng.integers(-99, 99, size), int(rng.integers(-99, 99)))
        engine.settle(output)
        answers = engine.part.answers(rules).astype(int)
        residual = engine.part.target - output.base - output.weights @ answers
        for slot in rng.integers(0, size, 5).tolist():
            assert engine.correlation(slot) == (heavy * residual)[answers[slot] > 0].sum()
        rules[0] = Oblique(Projection((0,), (1.0,)), 1.5)
        engine.put(0, rules[0])
