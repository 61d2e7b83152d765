"""Networks of short numbers: the questions of those without, no digit that is not needed, and the losses they have."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import BGNRegressor
from bgn.engines.protocol import CutRequest
from bgn.grow.rounding import Shortener
from bgn.model.term import Projection
from tests.growing import EMPTY, engine_of, table, tables
from tests.optional import torch


def digits_of(value: float) -> int:
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


@given(tables(), st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6, unique=True))
@settings(deadline=None)
def test_a_split_is_what_lies_below_every_threshold(rows, thresholds):
    X, y, weight = rows
    thresholds, direction = np.sort(thresholds), Projection((0, 1), (1.0, -0.37))
    engines = [engine_of(X, y, weight)]
    if torch is not None:
        from bgn.engines.gpu.engine import TensorEngine, TensorPart

        part = engines[0].part
        heavy = None if weight is None else torch.tensor(weight)
        columns = torch.from_numpy(part.columns.copy())
        engines.append(TensorEngine(TensorPart(columns, torch.from_numpy(part.target), heavy, part.loss), part.loss))
    z = X[:, 0] + -0.37 * X[:, 1]
    heavy = np.ones(len(y), int) if weight is None else np.array(weight)
    for engine in engines:
        below, nearest = engine.split(EMPTY, direction, thresholds)
        for k, threshold in enumerate(thresholds):
            some = z < threshold
            assert below[k].tolist() == [heavy[some].sum(), (heavy * engines[0].part.target)[some].sum()]
            assert nearest[k] == np.abs(z - threshold).min()


@given(st.integers(0, 2**31), st.sampled_from([40, 400, 3000]), st.integers(1, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_short_thresholds_answer_alike_or_nearly(seed, rows, digits, pair):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(rows, 2)) * 10.0 ** rng.integers(-3, 4), rng.integers(0, 6))
    engine = engine_of(X, X[:, 0] + rng.normal(size=rows))
    direction = Projection((0, 1), (1.0, -0.372)) if pair else Projection((0,), (1.0,))
    (cut,) = engine.cuts([CutRequest(EMPTY, direction)])
    if cut is None:
        return
    rule, otherwise = Shortener(digits, 1.0).rule(engine, None, EMPTY, cut)
    z = X[:, 0] + (-0.372 * X[:, 1] if pair else 0.0)
    moved = np.count_nonzero((z >= rule.threshold) != (z >= cut.rule.threshold))
    assert moved <= 0.02 * rows if otherwise else moved == 0
    assert digits_of(rule.threshold) <= digits_of(cut.rule.threshold)


@given(st.integers(0, 2**31), st.sampled_from([2.2, 31.7, 484.0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_number_with_a_category_has_a_short_threshold_for_every_category(seed, value, first):
    """Rows must not tell 0.895 from 0.8949999999999999, which a sum with a far larger number does not."""
    rng = np.random.default_rng(seed)
    city = rng.integers(0, 3, 300).astype(float)
    x = np.round(rng.normal(1, 1, 300) + np.where(city < 2, 0, value), 2)
    engine = engine_of(np.column_stack([x, city]), (x + np.where(city < 2, value, 0) > value + 1) + 0.0)
    direction = Projection((0, 1), (1.0, (value, value, 0.0) if first else (0.0, 0.0, -value)))
    (cut,) = engine.cuts([CutRequest(EMPTY, direction)])
    rule, _ = Shortener(3, 1.0).rule(engine, None, EMPTY, cut)
    rows = np.column_stack([x, city])
    assert np.count_nonzero(rule.holds(rows) != cut.rule.holds(rows)) <= 0.02 * len(rows)
    for added in {*rule.projection.coefficients[1]}:
        exact = float(Decimal(repr(rule.threshold)) - Decimal(repr(added)))
        category = rule.projection.coefficients[1].index(added)
        other = np.array([[np.nextafter(exact, -np.inf), category], [exact, category]])
        assert rule.holds(other).tolist() == [False, True]


@pytest.mark.parametrize("output", ["full", "stagewise"])
def test_growth_stores_short_numbers_and_the_rules_it_chose(output, engine):
    X, y = table(400)
    settings = {"max_terms": 5, "max_layers": 2, "output": output, "random_state": 0, "cv": None}
    model = engine(BGNRegressor(**settings), X, y)
    plain = BGNRegressor(**settings, digits=None).fit(X, y)
    first, other = (one.history_.paths[0][-1] for one in (model, plain))
    assert [rule.projection for rule in first.rules] == [rule.projection for rule in other.rules]
    for path in model.history_.paths:
        for size in range(len(path)):
            network = model.history_.network(size, model.history_.paths.index(path))
            points = [*(2 * network.output_weights).tolist(), network.base - network.output_weights.sum()]
            assert all(round(point, 4) == pytest.approx(point, abs=1e-12) for point in points)
            assert network.addends[2] > 1.0 or size == 0
            assert all(digits_of(rule.threshold) <= 5 for layer in network.layers for rule in layer.neurons)
            assert all(
                digits_of(c) <= 3 for layer in network.layers for n in layer.neurons for c in n.projection.factors
            )


def test_sums_of_short_numbers_are_the_floats_nearest_to_them():
    X, y = table(500)
    network = BGNRegressor(max_terms=20, max_linear=0, random_state=0, cv=None).fit(X, y).network_
    weights = [Decimal(repr(weight)) for weight in network.output_weights.tolist()]
    for row, predicted in zip(network.hidden(X).tolist(), network.predict(X).tolist(), strict=True):
        exact = Decimal(repr(network.base)) + sum(
            w if answer > 0 else -w for w, answer in zip(weights, row, strict=True)
        )
        assert predicted == float(exact)


def test_targets_that_do_not_differ_keep_their_value():
    model = BGNRegressor(random_state=0).fit(np.arange(40.0)[:, None], np.full(40, np.pi))
    assert (model.predict([[3.0]]) == np.pi).all()


@pytest.mark.parametrize("digits", [0, -1, 2.5, "3", True])
def test_digits_that_cannot_be(digits):
    with pytest.raises(ValueError, match=r"digits must be a whole number, at least 1; got .*Use None for the numbers"):
        BGNRegressor(digits=digits).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])


def test_short_thresholds_give_no_sharp_step_away():
    """Where hardly anything is left of the loss, rounding must not bring back much of it."""
    rng = np.random.default_rng(1)
    X = 100.0 + rng.normal(size=(20_000, 3))
    y = 10.0 * (X[:, 0] > 100.301237) + 0.02 * rng.normal(size=len(X))
    losses = [
        BGNRegressor(max_terms=4, digits=digits, validation_fraction=0, random_state=0).fit(X, y).history_.paths[0][-1]
        for digits in (3, None)
    ]
    assert losses[0].train_loss < 1.6 * losses[1].train_loss
