"""Bounds that no prediction goes beyond, whatever the row: part of the link, seen where widths are chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNClassifier, BGNRegressor, GrowthSettings
from bgn.engines.protocol import Grid
from bgn.grow.losses import BoundedSquares, Squared
from tests.every_engine import ENGINES
from tests.grow.test_constraints import QUICK, SWEPT, houses, proven
from tests.growing import table


@pytest.mark.parametrize(
    "change",
    [
        {}, {"digits": None}, {"cv": 3}, {"max_features": 1, **SWEPT}, {"max_layers": 2}, {"ensemble": 2},
        {"output": "stagewise"}, {"select": "compact"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("bounds", [(20, None), (None, 40), (10, 45.5)])
def test_every_size_stays_within(change, bounds):
    X, y = houses(150)
    model = BGNRegressor(**QUICK | change, bounds=bounds).fit(X, y)
    low, high = (np.inf * side if end is None else end for side, end in zip((-1, 1), bounds, strict=True))
    assert model.network_.bounds == (low, high)
    for size in range(len(model.history_.paths[-1])):
        network = model.history_.network(size)
        predictions = network.predict(X)
        assert predictions.min() >= low
        assert predictions.max() <= high
        np.testing.assert_array_equal(predictions, np.clip(network.raw_score(X), low, high))
    interval = model.predict(X, interval=0.9)[1] if hasattr(model, "intervals_") else np.zeros((1, 2)) + max(low, 0.0)
    assert interval.min() >= low
    assert interval.max() <= high


def test_sizes_are_evaluated_by_predictions_within():
    X, y = houses(200)
    y = np.maximum(y, np.quantile(y, 0.4))
    model = BGNRegressor(**QUICK | {"digits": None}, bounds=(float(y.min()), None)).fit(X, y)
    rows, targets = model.validation_rows_
    for size, snapshot in enumerate(model.history_.paths[0]):
        network = model.history_.network(size)
        errors = network.predict_encoded(network._rows(rows, encoded=True)) - targets
        assert snapshot.validation_loss == pytest.approx(np.mean(errors**2), rel=1e-6)


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_loss_is_that_of_predictions_within(seed):
    """Row by row from the definition, in arrays and compiled, weights or none."""
    rng = np.random.default_rng(seed)
    target, score = (rng.normal(size=(2, 30)) * 10).round(2)
    low, high = sorted(rng.choice([*target, *score, -3.0, 5.0], 2, replace=False).tolist())
    low, high = (low, np.inf) if rng.random() < 0.3 else (low, high)
    if low == high:
        return
    grid = Grid.for_range(-50.0, 50.0, 30)
    loss = BoundedSquares.within(grid, (low, high))
    steps = grid.steps(target)
    diff = steps - grid.steps(score)
    weight = rng.integers(0, 4, 30) if rng.random() < 0.5 else np.empty(0, np.int64)
    heavy = weight if len(weight) else np.ones(30)
    want = (heavy * (target - np.clip(score, low, high)) ** 2).sum()
    limbs = np.zeros(4, np.int64)
    loss.add_limbs(diff, steps, weight, 0, 17, limbs)
    loss.add_limbs(diff, steps, weight, 17, 30, limbs)
    assert loss.in_units(float(loss.total(limbs))) == pytest.approx(want, rel=1e-6, abs=1e-9)
    several = [int((heavy * part).sum()) for part in loss.limbs(diff, steps)]
    assert loss.total(np.array(several)) == loss.total(limbs)
    np.testing.assert_array_equal(loss.residual(diff, steps), np.where((score < low) | (score > high), 0, diff))
    powers = np.zeros(1, np.int64)
    loss.add_powers(diff, steps, weight, 2.0**-44, 0, 30, powers)
    assert powers[0] == (heavy * loss.powers(diff, steps, 2.0**-44)).sum()
    inside = BoundedSquares.within(grid, (-1e3, np.inf))
    same = np.zeros(4, np.int64)
    Squared(grid).add_limbs(diff, steps, weight, 0, 30, same)
    others = np.zeros(4, np.int64)
    inside.add_limbs(diff, steps, weight, 0, 30, others)
    np.testing.assert_array_equal(same, others)


def test_bounds_that_are_kept_anyway_change_nothing():
    X, y = houses(150)
    settings = QUICK | SWEPT
    free = BGNRegressor(**settings).fit(X, y)
    assert BGNRegressor(**settings, bounds=(-1e6, 1e6)).fit(X, y).network_.changed(bounds=None) == free.network_


@pytest.mark.parametrize("bounds", [(20, None), (10, 45.5)])
def test_the_rules_are_those_of_free_growth(bounds):
    X, y = houses(150)
    settings = QUICK | {"digits": None, "max_linear": 0, "growth": GrowthSettings(3, sweeps=0, patience=None)}
    free, held = BGNRegressor(**settings).fit(X, y), BGNRegressor(**settings, bounds=bounds).fit(X, y)
    assert len(free.history_.paths[0]) == len(held.history_.paths[0])
    for size in range(len(free.history_.paths[0])):
        assert held.history_.network(size).changed(bounds=None) == free.history_.network(size)


def test_bounds_with_signs_and_lines():
    X, y = houses(150)
    wanted = {"area": 1, "state": -1}
    model = BGNRegressor(**QUICK, bounds=(10, None), monotonic_cst=wanted).fit(X, y)
    proven(model, wanted)
    line = np.random.default_rng(0).normal(size=(200, 2))
    target = np.maximum(line @ [1.0, 0.5], -1.0)
    model = BGNRegressor(**QUICK, max_linear=2, bounds=(-1, None)).fit(line, target)
    assert model.network_.linear
    assert model.predict(line).min() == -1.0
    ends = bgn.extremes(model)
    assert ends.proven
    assert ends.low == -1.0


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_the_same_network_from_every_engine(engine):
    X, y = table(150, 3, 5)
    settings = QUICK | {"max_terms": 4}
    model = BGNRegressor(**settings, bounds=(5, 20)).fit(X, y)
    other = ENGINES[engine](BGNRegressor(**settings, bounds=(5, 20)), X, y)
    assert other.network_ == model.network_
    losses = [[snapshot.validation_loss for snapshot in one.history_.paths[0]] for one in (model, other)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": 0}, r"bounds must be two ends, \(low, high\) with None for an open one; got 0"),
        ({"bounds": (3, 1)}, "bounds must be two ends"),
        ({"bounds": ("a", None)}, "bounds must be two ends"),
    ],
)
def test_errors_name_the_remedy(change, message):
    X, y = table(60, 0, 5)
    with pytest.raises(ValueError, match=message):
        BGNRegressor(**QUICK | change).fit(X, y)
    with pytest.raises(ValueError, match="probabilities lie between 0 and 1"):
        BGNClassifier(**QUICK, bounds=(0, None)).fit(X, y > y.mean())
    with pytest.raises(ValueError, match="bounds are for numbers, whose link is 'identity'"):
        bgn.Network.of_layers([bgn.Layer([[1.0]], [0.0])], [1.0], 0.0, link="logistic", bounds=(0, None))
