"""Averages: members on shares of the rows, and their mean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1

import bgn
from bgn import BGNClassifier, BGNRegressor, GrowthSettings, Layer, Network
from bgn.explain.crossings import crossings, fires
from bgn.explain.shap import count_in_cells
from bgn.grow.ensemble import EnsembleHistory, member_seeds
from bgn.model.ensemble import mean_of
from bgn.model.term import Oblique, Projection
from tests.every_engine import ENGINES
from tests.reference.explain import shapley
from tests.round_trips import bits

X, Y = make_friedman1(400, n_features=5, noise=1.0, random_state=0)
SMALL: dict[str, Any] = {"max_terms": 6, "growth": GrowthSettings(2), "max_linear": 0, "random_state": 0}


def _written(number: float) -> Fraction:
    return Fraction(repr(float(number)))


@st.composite
def _networks(draw: Any) -> list[Network]:
    """Networks of one layer with short numbers, among whose questions some are the same."""
    count = draw(st.integers(1, 6))
    short = st.integers(-9999, 9999).map(lambda k: k / 1000)
    result = []
    for _ in range(count):
        size = draw(st.integers(0, 4))
        rows = draw(st.lists(st.sampled_from([(1.0, 0.0), (0.0, 1.0), (1.0, -1.0)]), min_size=size, max_size=size))
        cuts = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size))
        weights = draw(st.lists(short, min_size=size, max_size=size))
        result.append(Network.of_layers([Layer(np.reshape(rows, (size, 2)), cuts)], weights, draw(short)))
    return result


@given(networks=_networks())
@settings(max_examples=60, deadline=None)
def test_the_mean_is_the_mean(networks: list[Network]) -> None:
    mean = mean_of(networks)
    rows = np.array([[a, b] for a in (-1.0, -0.5, 0.0, 0.5) for b in (-1.0, 0.0, 0.5)])
    several = [network.predict(rows) for network in networks]
    assert mean.members is not None
    assert np.allclose(mean.members.scores(mean, rows), several, rtol=0, atol=1e-12)
    assert all(np.array_equal(a.predict(rows), b) for a, b in zip(mean.members.networks(mean), several, strict=True))
    assert len(set(mean.layers[0].neurons)) == mean.widths[0]
    ends = 10**6 % len(networks) == 0
    for k, row in enumerate(rows):
        exact = sum((_written(one[k]) for one in several), Fraction(0)) / len(networks)
        wanted = float(exact) if ends else pytest.approx(float(exact), abs=1e-6)
        assert mean.predict(row[np.newaxis])[0] == wanted


def test_layers_of_different_depth_stand_side_by_side() -> None:
    deep = [
        BGNRegressor(max_layers=layers, max_terms=5, cv=None, random_state=seed).fit(X, Y).history_
        for layers, seed in ((1, 0), (2, 1), (3, 2), (2, 3))
    ]
    networks = [history.network(4, len(history.paths) - 1) for history in deep]
    assert len({network.depth for network in networks}) > 1
    mean = mean_of(networks)
    assert mean.depth == max(network.depth for network in networks)
    assert np.allclose(mean.predict(X), np.mean([network.predict(X) for network in networks], axis=0), atol=1e-9)


def test_members_see_other_rows_and_the_mean_is_one_network() -> None:
    model = BGNRegressor(ensemble=4, **SMALL).fit(X, Y)
    assert isinstance(model.history_, EnsembleHistory)
    networks = [member.network() for member in model.history_.members]
    assert len({repr(bits(network)) for network in networks}) == 4
    assert np.allclose(model.predict(X), np.mean([one.predict(X) for one in networks], axis=0), atol=1e-12)
    first = BGNRegressor(cv=None, **SMALL).fit(X, Y)
    assert bits(networks[0]) == bits(first.network_)  # the first has the seed of a fit without others
    assert len(set(member_seeds(7, 50))) == 50


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_bits_everywhere(engine: str) -> None:
    wanted = BGNRegressor(ensemble=3, n_jobs=1, **SMALL).fit(X, Y)
    result = ENGINES[engine](BGNRegressor(ensemble=3, n_jobs=2, **SMALL), X, Y)
    assert bits(result.network_) == bits(wanted.network_)
    assert result.network_.members == wanted.network_.members


def test_rows_to_validate_on_leave_shares_to_learn_from() -> None:
    held = (X[300:], Y[300:])
    model = BGNRegressor(ensemble=3, **SMALL).fit(X[:300], Y[:300], eval_set=held)
    networks = [member.network() for member in model.history_.members]
    assert len({repr(bits(network)) for network in networks}) == 3
    assert all(member.n_validation == 100 for member in model.history_.members)
    assert model.intervals_.network == model.network_


def test_intervals_come_from_the_networks_without_a_row() -> None:
    model = BGNRegressor(ensemble=4, **SMALL).fit(X[:300], Y[:300])
    _, ends = model.predict(X[300:], interval=0.8)
    inside = np.mean((Y[300:] >= ends[:, 0]) & (Y[300:] <= ends[:, 1]))
    assert 0.65 <= inside <= 1.0
    assert model.intervals_.calibrations[None].count < 300


def test_classes() -> None:
    labels = np.digitize(Y, [11.0, 16.0])
    for y in (labels > 0, labels):
        growth = GrowthSettings(max_replacements=0)
        model = BGNClassifier(ensemble=2, max_terms=2, growth=growth, shrinkage=5.0, random_state=0).fit(X, y)
        scores = [member.network().raw_score(X) for member in model.history_.members]
        assert np.allclose(model.decision_function(X), np.mean(scores, axis=0), atol=1e-12)


def test_sizes_of_an_ensemble() -> None:
    model = BGNRegressor(ensemble=2, **SMALL).fit(X, Y)
    small = model.with_terms(2)
    assert small.network_.widths[0] <= 4
    parts = [member.network(min(2, member.best_size)).predict(X) for member in model.history_.members]
    assert np.allclose(small.predict(X), np.mean(parts, axis=0), atol=1e-12)
    assert bits(small.with_terms(model.history_.best_size).network_) == bits(model.network_)
    with pytest.raises(ValueError, match="size must be one that was grown"):
        model.with_terms(7)


def test_stopping_keeps_what_has_grown() -> None:
    reported: list[int] = []

    def stop(record: Any) -> bool:
        reported.append(record.member)
        return record.member == 1 and record.n_terms == 2

    model = BGNRegressor(ensemble=4, callbacks=stop, n_jobs=2, **SMALL).fit(X, Y)
    assert reported == sorted(reported)
    assert len(model.history_.members) == 2
    assert model.history_.stopped == "callback"
    hurried = BGNRegressor(ensemble=4, max_seconds=0.0, **SMALL).fit(X, Y)
    assert len(hurried.history_.members) == 1
    assert hurried.history_.stopped == "max_seconds"


def test_an_interrupt_keeps_what_has_grown() -> None:
    def interrupt(record: Any) -> None:
        if record.member == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        model = BGNRegressor(ensemble=4, callbacks=interrupt, **SMALL).fit(X, Y)
    assert len(model.history_.members) == 2
    assert model.history_.stopped == "interrupted"


def test_no_rows_left_out_is_refused() -> None:
    with pytest.raises(ValueError, match="validation_fraction must be above 0 where ensemble"):
        BGNRegressor(ensemble=2, validation_fraction=0.0).fit(X, Y)


def test_standard_errors_are_the_deviation_of_the_members() -> None:
    model = BGNRegressor(ensemble=4, **SMALL).fit(X, Y)
    predicted, errors = model.predict(X[:7], return_std=True)
    several = [member.network().predict(X[:7]) for member in model.history_.members]
    assert np.array_equal(predicted, model.predict(X[:7]))
    assert np.allclose(errors, np.std(several, axis=0, ddof=1))
    labels = Y > 14.0
    growth = GrowthSettings(max_replacements=0)
    sure = BGNClassifier(ensemble=2, max_terms=3, shrinkage=5.0, growth=growth, random_state=0).fit(X, labels)
    chances, std = sure.predict_proba(X[:7], return_std=True)
    several = [member.network().predict(X[:7]) for member in sure.history_.members]
    assert chances.shape == std.shape == (7, 2)
    assert np.allclose(std[:, 1], np.std(several, axis=0, ddof=1))
    with pytest.raises(ValueError, match="return_std needs an ensemble"):
        BGNRegressor(max_terms=1).fit(X, Y).predict(X, return_std=True)
    with pytest.raises(ValueError, match="for two calls"):
        model.predict(X, interval=0.9, return_std=True)


def _wide(count: int, networks: int) -> Network:
    """Return an average with so many questions of one to four columns."""
    rng = np.random.default_rng(0)
    result = []
    for _ in range(networks):
        rules = []
        for _ in range(count // networks):
            columns = np.sort(rng.choice(5, rng.integers(1, 5), replace=False))
            factors = (1.0, *np.round(rng.normal(size=len(columns) - 1), 2).tolist())
            rules.append(Oblique(Projection(tuple(columns.tolist()), factors), float(np.round(rng.normal(), 1))))
        weights = np.round(rng.normal(size=len(rules)) / 10, 3)
        result.append(Network.of_layers([Layer.of(rules, 5)], weights, float(np.round(rng.normal(), 2))))
    return mean_of(result)


@pytest.mark.exhaustive
def test_explanations_of_two_thousand_rules_add_up() -> None:
    network = _wide(2800, 8)
    assert network.widths[0] >= 2000
    rows = np.random.default_rng(1).normal(size=(40, 5)).round(1)
    explained = bgn.shap_values(network, rows, rows)
    assert explained.method == "exact"
    assert np.allclose(explained.base_value + explained.values.sum(axis=1), network.predict(rows), atol=1e-9)
    text = bgn.equation(network, most=3)
    assert text.count("[") == 3
    assert f"{len(bgn.as_terms(network).rules) - 3} more rules add up to" in text
    assert network.members is not None
    several = [bgn.shap_values(one, rows, rows).values for one in network.members.networks(network)]
    assert np.allclose(np.mean(several, axis=0), explained.values, atol=1e-9)
    result = bgn.importance(network, rows)
    features = [np.abs(one).mean(axis=0) for one in several]
    assert np.allclose(result.standard_error, np.std(features, axis=0, ddof=1))


def test_the_cheapest_change_of_one_column_among_two_thousand_rules() -> None:
    network = _wide(2800, 8)
    rows = np.random.default_rng(1).normal(size=(200, 5)).round(1)
    scores = network.predict(rows)
    row, wanted = rows[np.argmin(scores)], float(np.quantile(scores, 0.6))
    result = bgn.counterfactual(network, row, at_least=wanted, max_changed=1, max_seconds=600.0)
    assert result.optimal
    least = np.inf
    for column in range(5):  # every answer of the network along a column: between two crossings, and at each of them
        readers = [rule for rule in network.layers[0].neurons if column in rule.projection.columns]
        places = np.array([crossings(rule, column, row[np.newaxis])[0] for rule in readers])
        tried = np.repeat(row[np.newaxis], 2 * len(places), axis=0)
        tried[:, column] = np.concatenate([places, np.nextafter(places, -np.inf)])
        good = network.predict(tried) >= wanted
        least = min(least, np.abs(tried[good, column] - row[column]).min(initial=np.inf))
    assert result.reached == np.isfinite(least)
    assert np.isclose(result.cost, least, rtol=1e-9)


def test_explanations_of_a_small_ensemble() -> None:
    network = _wide(12, 3)
    rows = np.random.default_rng(1).normal(size=(9, 5)).round(1)
    values = bgn.shap_values(network, rows, rows).values
    assert np.allclose(values, shapley(network, rows, rows).sum(axis=2), atol=1e-10)
    effect = bgn.effect(network, 0, rows)
    assert network.members is not None
    ones = [bgn.effect(one, 0, rows) for one in network.members.networks(network)]
    for place in (-3.0, 0.0, 0.4, 2.0):
        k = int(np.searchsorted(effect.breakpoints, place, side="right"))
        std = np.std([one(place) for one in ones], ddof=1)
        assert np.isclose(effect(place), np.mean([one(place) for one in ones]))
        assert np.isclose(effect.standard_error[k], std)
    wanted, lowest = float(network.predict(rows).max()), rows[np.argmin(network.predict(rows))]
    result = bgn.counterfactual(network, lowest, at_least=wanted)
    assert result.reached
    assert result.optimal
    assert network.predict(result.x[np.newaxis])[0] == result.prediction >= wanted
    to_best = np.abs(rows[np.argmax(network.predict(rows))] - lowest).sum()
    assert result.cost <= to_best + 1e-9


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_counts_in_cells_are_those_of_the_definition(data: Any) -> None:
    values = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3), st.sampled_from([np.inf, 1e-300, 1e9]))
    shape = data.draw(st.integers(2, 4))
    fixed, drawn = (
        np.array(data.draw(st.lists(st.tuples(*[values] * shape), min_size=1, max_size=30)), np.float64) for _ in "ab"
    )
    known = np.array([*data.draw(st.tuples(*[st.booleans()] * (shape - 2))), True, False])
    threshold, counts = data.draw(st.floats(-10, 10)), np.empty(len(fixed), np.int64)
    if count_in_cells(fixed, drawn, known, threshold, 64, counts):
        for row, count in zip(fixed, counts, strict=True):
            assert count == sum(fires(np.where(known, row, other), threshold) for other in drawn)
