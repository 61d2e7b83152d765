"""Bounds that no prediction goes beyond, whatever the row."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNClassifier, BGNRegressor
from bgn.grow.bounds import Bounded, Bounds, End
from bgn.model.neuron import Neuron, Projection
from tests.every_engine import in_blocks, in_tensors
from tests.grow.test_constraints import QUICK, houses, proven
from tests.growing import table


def within(model, low, high):
    """Check that every width is proven to stay within bounds."""
    for width in range(len(model.history_.paths[0])):
        ends = bgn.extremes(model.history_.network(width), max_seconds=60)
        assert ends.proven
        assert low <= ends.low
        assert ends.high <= high


@pytest.mark.parametrize("change", [{}, {"digits": None}, {"cv": 3}, {"max_features": 1, "sweeps": 1}])
@pytest.mark.parametrize("bounds", [(20, None), (None, 40), (10, 45.5)])
def test_every_width_is_proven(change, bounds):
    X, y = houses(150)
    free = BGNRegressor(**QUICK | change).fit(X, y)
    model = BGNRegressor(**QUICK | change, bounds=bounds).fit(X, y)
    low, high = (np.inf * side if end is None else end for side, end in zip((-1, 1), bounds, strict=True))
    ends = bgn.extremes(free)
    assert ends.low < low or ends.high > high
    within(model, low, high)
    assert len(model.network_.features_used) > 0


def test_bounds_that_are_kept_anyway_change_nothing():
    X, y = houses(150)
    settings = QUICK | {"sweeps": 1}
    free = BGNRegressor(**settings).fit(X, y)
    assert BGNRegressor(**settings, bounds=(-1e6, 1e6)).fit(X, y).network_ == free.network_


def test_bounds_with_signs():
    X, y = houses(150)
    wanted = {"area": 1, "state": -1}
    model = BGNRegressor(**QUICK, bounds=(10, None), monotonic_cst=wanted).fit(X, y)
    within(model, 10, np.inf)
    proven(model, wanted)


def test_bounds_beyond_all_targets():
    X, y = houses(100)
    model = BGNRegressor(**QUICK, bounds=(y.max() + 10, None)).fit(X, y)
    within(model, y.max() + 10, np.inf)


def test_the_same_network_from_other_engines():
    X, y = table(150, 3, 5)
    model = BGNRegressor(**QUICK, bounds=(5, 20)).fit(X, y)
    for fit in (in_blocks(3), in_tensors):
        assert fit(BGNRegressor(**QUICK, bounds=(5, 20)), X, y).network_ == model.network_


@given(st.integers(0, 10**6), st.integers(1, 4))
@settings(max_examples=60)
def test_the_nearest_outputs_within_bounds(seed, width):
    """Questions about columns of their own, so that all combinations of answers are there."""
    rng = np.random.default_rng(seed)
    neurons = [Neuron(Projection((j,), (1.0,)), 0.0) for j in range(width)]
    every = np.array([*product((-1.0, 1.0), repeat=width)])
    answers = np.column_stack([np.ones(len(every)), every])
    start = rng.normal(size=width + 1).round(2)
    H = np.column_stack([np.ones(30), rng.choice([-1.0, 1.0], (30, width))])
    inverse = np.linalg.inv(H.T @ H + 0.1 * np.eye(width + 1))
    low, high = -rng.exponential(0.7), rng.exponential(0.7)

    def prove(asked, base, weights):
        found = answers @ np.append(base, weights)
        k, m = int(found.argmin()), int(found.argmax())
        return End(found[k], every[k], found[k]), End(found[m], every[m], found[m])

    about = neurons, (start[0], start[1:]), inverse, np.zeros(width + 1, np.int64)
    base, weights = Bounded(Bounds(low, high, prove)).outputs(*about, lambda base, weights: (base, weights))
    found = np.append(base, weights)
    assert low <= (answers @ found).min()
    assert (answers @ found).max() <= high
    # No other outputs within the bounds are nearer: a step towards any of them leads away.
    slope = np.linalg.inv(inverse) @ (found - start)
    for _ in range(40):
        other = rng.normal(size=width + 1) * rng.exponential(1.0)
        reach = answers @ other
        middle = (low + high) / 2
        other *= min(1.0, (high - low) / 2 / max(np.abs(reach).max(), 1e-12))
        other[0] += middle
        assert slope @ (other - found) >= -1e-6 * (1 + np.abs(start).sum())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": 0}, r"bounds must be two ends, \(low, high\) with None for an open one; got 0"),
        ({"bounds": (3, 1)}, "bounds must be two ends"),
        ({"bounds": ("a", None)}, "bounds must be two ends"),
        ({"bounds": (0, None), "max_linear": 1}, "max_linear must be 0 or 'auto' where bounds is not None"),
        ({"bounds": (0, None), "max_layers": 2}, "bounds need max_layers=1 and output='full'"),
        ({"bounds": (0, None), "output": "stagewise"}, "bounds need max_layers=1 and output='full'"),
    ],
)
def test_errors_name_the_remedy(change, message):
    X, y = table(60, 0, 5)
    with pytest.raises(ValueError, match=message):
        BGNRegressor(**QUICK | change).fit(X, y)
    with pytest.raises(ValueError, match="probabilities lie between 0 and 1"):
        BGNClassifier(**QUICK, bounds=(0, None)).fit(X, y > y.mean())
