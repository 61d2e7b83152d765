"""Directions: the Lasso path against scikit-learn's, and what search promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.linear_model import lars_path_gram

from bgn import BGNRegressor
from bgn.engines.protocol import BITS, Output
from bgn.grow.directions.lasso import Debiased, InnerProducts, Lasso, lasso_path, solve_small, weighted_sum
from bgn.grow.directions.pairs import ANGLE_STEP, ANGLES, BINS, Binned, Pairs, different
from bgn.grow.directions.screen import ALONG, Lines, Refit, SampledRows, rate_directions
from bgn.grow.directions.search import AnswerPairs
from bgn.model.term import Oblique, Projection
from experiments.timing import lasso_direction
from tests.growing import EMPTY, engine_of
from tests.reference.growth import best_angle, best_pair, finer_and_finer, refitted_gains


def path_weights(gram, products, most):
    weights = np.zeros(len(products))
    assert lasso_path(gram, np.arange(len(products)), products, most, weights) == -1
    return weights


@given(st.integers(0, 2**31), st.integers(2, 8), st.integers(1, 4))
@settings(max_examples=200)
def test_path_stops_where_one_column_too_many_would_enter(seed, columns, most):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, columns)) @ rng.normal(size=(columns, columns))
    y = X @ rng.normal(size=columns) + rng.normal(size=60)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = y - y.mean()
    gram, products = X.T @ X / 60, X.T @ y / 60
    weights = path_weights(gram, products, most)
    _, _, coefficients = lars_path_gram(products * 60, gram * 60, n_samples=60, method="lasso", copy_X=True)
    # The first knot after which more than `most` columns are in: a column may leave again at the next one.
    between = (coefficients[:, 1:] + coefficients[:, :-1]) / 2
    too_many = np.flatnonzero(np.count_nonzero(np.abs(between) > 1e-12, axis=0) > most)
    expected = coefficients[:, too_many[0]] if len(too_many) else coefficients[:, -1]
    np.testing.assert_allclose(weights, expected, atol=1e-8)


@given(st.integers(0, 2**31))
@settings(max_examples=30)
def test_path_is_scikit_learns_lasso_at_that_penalty(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6)) + rng.normal(size=(80, 1))
    y = X @ rng.normal(size=6) + rng.normal(size=80)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = y - y.mean()
    products = X.T @ y / 80
    weights = path_weights(X.T @ X / 80, products, 2)
    penalty = np.abs(products - X.T @ X / 80 @ weights).max()
    fit = SklearnLasso(alpha=penalty, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(weights, fit.coef_, atol=1e-6)


def test_direction_is_the_bisected_one_in_original_units():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 5)) * [1, 100, 0.01, 5, 2] + [0, 1000, 3, -7, 1]
    y = X[:, 1] / 50 - 80 * X[:, 2] + 0.3 * X[:, 3] + rng.normal(size=300)
    direction = Lasso(engine_of(X, y), 2).propose(EMPTY, None)[0].projection
    expected = lasso_direction(X, y, 2)
    columns = np.flatnonzero(expected)
    assert direction.columns == tuple(columns)
    ratio = np.array(direction.coefficients) / expected[columns]
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-4)
    assert 1.0 in np.abs(direction.coefficients)


def test_copies_and_constants_never_enter_twice():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    X = np.column_stack([x, x, np.full(200, 3.0), rng.normal(size=200), 2 * x - 1])
    engine = engine_of(X, x + 0.1 * X[:, 3])
    for finder in (Lasso(engine, 3), Debiased(engine, 3)):
        direction = finder.propose(EMPTY, None)[0].projection
        assert 2 not in direction.columns
        assert len(set(direction.columns) & {0, 1, 4}) == 1


def test_inner_products_take_no_more_rows_than_columns_in_use():
    """Of 3,000 columns, all products with each other would be nine million."""
    X = np.random.default_rng(0).normal(size=(40, 3000))
    products = InnerProducts(engine_of(X, X[:, 7] + X[:, 8]))
    assert np.count_nonzero(products.debiased(EMPTY, 2)) == 2
    assert products._gram.size <= 8 * 3000


@given(st.integers(0, 2**31), st.booleans())
@settings(max_examples=40)
def test_inner_products_are_those_of_the_rows(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)).round(1) * [1, 1e6, 1e-3] + [0, 5e7, 2]
    y = X[:, 0] + rng.normal(size=50)
    weight = rng.integers(1, 4, 50) if weighted else None
    engine = engine_of(X, y, weight)
    products = InnerProducts(engine)
    w = np.ones(50) if weight is None else weight
    mean = np.average(X, axis=0, weights=w)
    Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    direct = (Z.T * w) @ engine.part.target / w.sum()
    np.testing.assert_allclose(products.with_residual(EMPTY), direct, atol=np.abs(engine.part.target).max() * 1e-7)
    np.testing.assert_allclose(products.gram_of(np.arange(3)), (Z.T * w) @ Z / w.sum(), atol=1e-6)
    engine.put(0, Oblique(Projection((1,), (1.0,)), float(np.median(X[:, 1]))))
    products.learn(0)
    output = Output(np.array([2**30], np.int64), 5)
    residual = engine.residual(output) if engine.settle(output) >= 0 else None
    centred = (Z.T * w) @ residual / w.sum()
    np.testing.assert_allclose(products.with_residual(output), centred, rtol=1e-5, atol=np.abs(centred).max() * 1e-6)


@pytest.mark.parametrize(("lines", "columns"), [(0, 3), (1, 1), (4, 2), (7, 5), (30, 40)])
def test_lines_are_added_one_after_the_other(lines, columns):
    rng = np.random.default_rng(lines)
    values, weights, out = rng.normal(size=(lines + 2, columns)), rng.normal(size=lines) * 1e6, np.empty(columns)
    weighted_sum(values, weights, out)
    expected = np.zeros(columns)
    for line, weight in zip(values, weights, strict=False):
        expected += line * weight
    assert np.array_equal(out, expected)


def test_solve_small_says_singular():
    assert not solve_small(np.ones((2, 2)), np.ones(2))
    answer = np.array([3.0, 5.0])
    assert solve_small(np.array([[0.0, 1.0], [2.0, 0.0]]), answer)
    np.testing.assert_array_equal(answer, [2.5, 3.0])


@given(st.integers(0, 2**31), st.integers(2, 30), st.integers(2, 5), st.sampled_from([1, 2**40]))
@settings(max_examples=100)
def test_pairs_of_answers_equal_brute_force(seed, rows, n_columns, size):
    rng = np.random.default_rng(seed)
    columns = rng.choice(np.array([-1, 1], np.int8), (n_columns, rows))
    weight = rng.integers(1, 4, rows)
    values = rng.integers(-5, 6, rows) * weight * size
    result = AnswerPairs(columns, weight).best(np.arange(n_columns), values, 1)[0]
    best = best_pair(columns, values, weight)
    if best is None or best[0] == 0:
        return
    (a, b), (_, sign) = result.columns, result.coefficients
    chosen = [columns[a], columns[b] * np.int8(sign)]
    gain = best_pair([chosen[0], chosen[1]], values, weight)
    assert float(gain[0]) == pytest.approx(float(best[0]), rel=1e-9)


def test_pairs_of_answers_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    columns = rng.choice(np.array([-1, 1], np.int8), (40, 3000))
    values, weight = rng.integers(-(2**38), 2**38, 3000), np.ones(3000, np.int64)
    best = AnswerPairs(columns, weight).best(np.arange(40), values, 8)
    order = rng.permutation(3000)
    assert AnswerPairs(columns[:, order], weight).best(np.arange(40), values[order], 8) == best


def test_a_second_layer_finds_interactions():
    """Boxes are sums of "both" and "neither", which one layer can only approach."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 2))
    inside = (np.abs(X[:, 0]) < 0.5) & (np.abs(X[:, 1] - 0.2) < 0.4)
    y = X[:, 0] + 3.0 * inside + 0.1 * rng.normal(size=3000)
    model = BGNRegressor(max_layers=2, max_terms=20, max_features=2, random_state=0).fit(X, y)
    best = [min(snapshot.validation_mse for snapshot in path) for path in model.history_.paths]
    assert best[1] < 0.9 * best[0]


@given(st.integers(0, 2**31), st.integers(2, 200), st.sampled_from([2, 5, 1000]), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_pairs_at_angles_equal_brute_force(seed, rows, values, weighted, signed):
    rng = np.random.default_rng(seed)
    wanted = rng.integers(-1, 2, 4) * signed
    columns = rng.integers(0, values, (4, rows)) * 0.37
    weight = rng.integers(1, 4, rows) if weighted else np.ones(rows, np.int64)
    table = Binned.of(columns, map(different, columns))
    requested = Pairs(
        table, weight if weighted else np.zeros(0, np.int64), lambda part, number, least: part(slice(0, number)), wanted
    )
    for pairs in (np.array([[0, 1], [1, 3]]), np.array([[1, 3], [0, 2], [0, 1]])):  # some are known by then
        residual = rng.integers(-1000, 1000, rows)
        reported = residual * weight, int(weight.sum()), int((residual * weight).sum())
        result = requested.best(pairs, *reported)
        near = requested.near(result, *reported[1:])
        for (a, b), gain, angle, turned in zip(pairs, result.gains, result.angles, near, strict=True):
            centers = table.centers[a, : table.bins[a]], table.centers[b, : table.bins[b]]
            about = table.codes[[a, b]], centers
            all_round = (np.arange(ANGLES) + 0.5) * ANGLE_STEP
            nearby = angle + ANGLE_STEP * np.array([0.0, -0.5, -0.25, 0.25, 0.5])
            best, place = best_angle(*about, all_round, residual, weight, BINS, wanted[[a, b]])
            assert (gain, angle) == (best, all_round[place])
            assert turned == nearby[best_angle(*about, nearby, residual, weight, BINS, wanted[[a, b]])[1]]


def test_pairs_beyond_those_kept_are_computed_again(monkeypatch):
    rng = np.random.default_rng(0)
    columns, values = rng.normal(size=(5, 300)), rng.integers(-99, 99, 300)
    pairs = np.array([(a, b) for a in range(5) for b in range(a)])
    share = lambda part, number, least: part(slice(0, number))  # noqa: E731
    about = np.zeros(0, np.int64), share, np.zeros(5, np.int64)
    plenty = Pairs(Binned.of(columns, map(different, columns)), *about).best(pairs, values, 300, int(values.sum()))
    monkeypatch.setattr("bgn.grow.directions.pairs._KEPT", 3)
    few = Pairs(Binned.of(columns, map(different, columns)), *about)
    for some in (pairs[:2], pairs[2:4], pairs[:2], pairs):
        result = few.best(some, values, 300, int(values.sum()))
        which = [pairs.tolist().index(pair) for pair in some.tolist()]
        assert result.gains.tolist() == plenty.gains[which].tolist()
        assert result.angles.tolist() == plenty.angles[which].tolist()


@pytest.mark.exhaustive
@given(
    st.integers(0, 2**31),
    st.integers(4, 400) | st.sampled_from([8192, 8193]),  # blocks; cells with more than 255 rows
    st.integers(0, 20),
    st.booleans(),
    st.sampled_from([2.0, 1e4, 1e9]),  # with values far out, all others are in one cell
    st.sampled_from([0, 1, -1]),
)
@settings(max_examples=6)
def test_the_score_of_a_direction_is_what_a_refit_gains(seed, rows, size, weighted, reach, wanted):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(2, rows)).round(1)
    weight = rng.integers(1, 300, rows) if weighted else np.ones(rows, np.int64)
    answers = rng.choice([-1.0, 1.0], (size, rows))
    H = np.vstack([np.ones(rows), answers])
    ridge = 3.0 * np.eye(size + 1)
    ridge[0, 0] = 0.0
    inverse = np.linalg.inv((H * weight) @ H.T + ridge)
    residual = rng.integers(-10_000, 10_000, rows)
    codes = np.zeros((3, rows), np.uint8)
    for slot, one in enumerate(answers):
        codes[slot >> 3] |= (one > 0).astype(np.uint8) << (slot & 7)
    z = columns[0] - 0.5 * columns[1]
    out = np.empty((1, 3))
    rate_directions(
        SampledRows(columns, residual, weight if weighted else np.zeros(0, np.int64), codes, BITS),
        Lines(*map(np.array, ([[0, 1]], [[1.0, -0.5]], [2], [[-reach, reach]], [wanted]))),
        size,
        Refit(np.arange(size), inverse, float(weight.sum()), 3.0, np.zeros(size + 1), 1e-3 * weight.sum()),
        out,
    )
    best, seen = 0.0, []
    for low, scale in finer_and_finer(z, weight, -reach, reach, ALONG):
        cells = np.clip((z - low) * scale, 0, ALONG - 1).astype(int)
        expected = refitted_gains(cells, residual, weight, answers, inverse, 3.0)
        expected = {edge: one for edge, one in expected.items() if one[3] * wanted >= 0}
        worth = 0.3 * max((plain for plain, *_ in expected.values()), default=0.0)
        for edge, (plain, along, left, _) in expected.items():
            if along * wanted < 0:
                continue
            # `left` is what little remains of two numbers of the size of all weights.
            gain = along**2 / max(left, 1e-3 * weight.sum())
            if plain >= worth * (1 + 1e-9):
                best = max(best, gain)
            if plain >= worth * (1 - 1e-9):
                window = low + (edge - 1) / scale if edge > 1 else -np.inf
                seen.append((gain, window))
    if best > 0:
        assert out[0, 0] >= best * (1 - 1e-5)
        assert any(
            gain == pytest.approx(out[0, 0], rel=1e-5) and (window == out[0, 1] or abs(window - out[0, 1]) < 1e-9)
            for gain, window in seen
        )


@pytest.mark.parametrize("max_features", [1, 2])
@pytest.mark.parametrize(
    ("n_values", "far"), [(5, [999.0]), (20, [9998.0, 9999.0]), (2, [-1e200, 1e200]), (3000, [1e30])]
)
def test_values_far_out_do_not_hide_a_column(n_values, far, max_features):
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_values, (3000, 3)).astype(float)
    y = X[:, 0] / n_values + 0.2 * (2 * X[:, 1] >= n_values) + 0.02 * rng.normal(size=3000)
    model = BGNRegressor(max_terms=10, max_features=max_features, max_linear=0, random_state=0, cv=None)
    plain = model.fit(X, y).score(X, y)
    X[: len(far), 0] = far
    assert model.fit(X, y).score(X, y) > plain - 0.01


def test_columns_in_use_are_paired_though_others_gain_more_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 24))
    truth = 3.0 * (X[:, 7] > 0) + 2.0 * ((X[:, 5] > 0.2) & (X[:, 3] > 0))
    y = truth + 0.5 * rng.normal(size=20_000)
    model = BGNRegressor(max_terms=12, random_state=0, cv=None).fit(X, y)
    assert np.mean((model.predict(X) - truth) ** 2) < 0.15  # 0.25 without a pair of 3 and 5
