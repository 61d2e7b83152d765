"""The local search: what a term gains, beside the definition, and models beside trying every rule."""

import itertools

import numpy as np
import pytest

from bgn.engines.kernels.scores import LOGISTIC, SQUARED, exponential, logarithm
from bgn.grow.conditions.climb import ConditionSearch, scores
from bgn.grow.conditions.moves import Budget, Rows
from bgn.grow.conditions.scan import best_cut, fill_order


def random_rows(seed, n=40, columns=3, kind=SQUARED):
    rng = np.random.default_rng(seed)
    bins = rng.integers(1, 6, columns)
    codes = np.array([rng.integers(0, count + rng.integers(2), n) for count in bins], np.uint16)
    ordered = rng.random(columns) < 0.6
    values = np.where(ordered[:, None], rng.normal(size=(columns, n)), np.nan)
    signal = rng.normal(size=n) + 2.0 * (codes[0] >= 1) * (codes[-1] < 2)
    y = (signal > signal.mean()).astype(float) if kind == LOGISTIC else signal
    return Rows(codes, bins, ordered, values, y[None, :], rng.integers(1, 4, n).astype(float))


def budget(rows, size=4, kind=SQUARED, price=1.0, linear=9, signs=None):
    d = len(rows.codes)
    signs = np.zeros(d, np.int64) if signs is None else np.array(signs)
    return Budget(kind, size, 1.0, price, linear, 1.0, 16, signs, np.ones((d, d), bool))


def loss_with(rows, columns, ridge):
    """The least squared loss of an intercept and some columns, from the definition."""
    z = np.column_stack([np.ones(len(rows.w)), *columns])
    penalty = np.diag([0.0, *ridge])
    beta = np.linalg.lstsq(z.T @ (rows.w[:, None] * z) + penalty, z.T @ (rows.w * rows.y[0]), rcond=None)[0]
    return 0.5 * (rows.w * (rows.y[0] - z @ beta) ** 2).sum() + 0.5 * beta @ penalty @ beta


@pytest.mark.parametrize("seed", range(8))
def test_the_first_condition_is_the_best_of_all(seed):
    rows = random_rows(seed)
    first = ConditionSearch(rows, budget(rows, 1, price=np.inf, linear=0)).climb()[1].loss
    losses = [loss_with(rows, [], [])]
    for j, count in enumerate(rows.bins):
        different = np.arange(count)
        if not rows.ordered[j]:  # every set of categories; chance is taken off, so that fewer may be worth it
            continue
        for cut, missing in itertools.product(range(count), (False, True)):
            table = np.append(different >= cut, missing)
            losses.append(loss_with(rows, [table[rows.codes[j]].astype(float)], [1.0]))
    assert first <= min(losses) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [SQUARED, LOGISTIC])
def test_models_improve_with_size_and_keep_to_it(seed, kind):
    rows = random_rows(seed, kind=kind)
    models = ConditionSearch(rows, budget(rows, 6, kind)).climb(swaps=3, downward=True)
    assert all(model.n_conditions <= size for size, model in enumerate(models))
    assert all(after.loss <= before.loss for before, after in itertools.pairwise(models))
    for model in models:
        f = scores(model, rows)[0]
        losses = (rows.y[0] - f) ** 2 / 2 if kind == SQUARED else np.logaddexp(0.0, f) - rows.y[0] * f
        ridge = np.where(model.linear[1:] >= 0, 0.01, 1.0)
        expected = (rows.w * losses).sum() + 0.5 * (ridge * model.beta[0, 1:] ** 2).sum()
        assert model.loss == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_weight_is_a_repetition(seed):
    rows = random_rows(seed)
    often = rows.w.astype(int)
    again = Rows(
        np.repeat(rows.codes, often, 1), rows.bins, rows.ordered, np.repeat(rows.values, often, 1),
        np.repeat(rows.y, often, 1), np.ones(often.sum()),
    )  # fmt: skip
    one, other = (ConditionSearch(given, budget(given)).climb() for given in (rows, again))
    assert [model.loss for model in one] == pytest.approx([model.loss for model in other], rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rising_column_never_lowers_the_score(sign):
    for seed in range(6):
        rows = random_rows(seed)._replace(ordered=np.ones(3, bool))
        model = ConditionSearch(rows, budget(rows, 6, signs=[sign, 0, 0], linear=0)).climb(swaps=2)[-1]
        codes = np.repeat(rows.codes[:, :1], rows.bins[0], 1)
        for row in rows.codes.T:
            codes[:] = row[:, None]
            codes[0] = np.arange(rows.bins[0])
            n = codes.shape[1]
            line = rows._replace(codes=codes, values=np.full((3, n), np.nan), y=np.zeros((1, n)), w=np.ones(n))
            assert (np.diff(scores(model, line)[0]) * sign >= 0).all()


def test_categories_in_order_have_the_best_set_first():
    """With equal weights the best set of categories is at a cut in the order of their means."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        count, g = 5, rng.normal(size=5)
        g -= g.mean()
        sums = np.array([[np.append(g, 0.0)], [np.append(np.ones(count), 0.0)]])
        counts, order, table = (
            np.append(np.ones(count), 0.0),
            np.zeros(count + 1, np.int64),
            np.zeros(count + 1, np.uint8),
        )
        size = fill_order(sums, counts, count, False, order)
        gain = best_cut(sums, counts, count, order, size, np.array([5.0]), (0.0, 1.0, 0, False, 0.0), table)
        sets = itertools.chain.from_iterable(itertools.combinations(range(count), k) for k in range(1, count))
        gains = [g[list(chosen)].sum() ** 2 / (len(chosen) - len(chosen) ** 2 / 5) / 2 for chosen in sets]
        assert gain == pytest.approx(max(gains))


def test_powers_and_logarithms_agree_with_the_library():
    x = np.linspace(-60.0, 60.0, 401)
    assert [exponential(value) for value in x] == pytest.approx(np.exp(x), rel=1e-14)
    assert [logarithm(value) for value in np.exp(x)] == pytest.approx(x, rel=1e-13, abs=1e-14)
