"""Linear terms between two ends, explained: each answer against a slow twin from the definition."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, certify, effect, extremes, importance, margin, shap_values
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import linear_coef_of, linear_ends_of, with_linear_terms

VALUES = st.integers(-4, 4).map(float)


@st.composite
def networks(draw, outputs=1):
    """Small networks of three columns with questions and at least one slope between ends."""

    def numbers(*size):
        count = int(np.prod(size, dtype=int))
        return np.array(draw(st.lists(VALUES, min_size=count, max_size=count))).reshape(size)

    signs = st.sampled_from([1.0, -1.0])
    alone = draw(st.lists(st.integers(0, 2), max_size=2))
    neurons = [Oblique(Projection((column,), (draw(signs),)), draw(VALUES)) for column in alone]
    both = Oblique(Projection((0, 1), (1.0, draw(st.sampled_from([0.5, -2.0])))), draw(VALUES))
    neurons += [both] * draw(st.integers(0, 1))
    shape = (outputs,) if outputs > 1 else ()
    slopes = numbers(3, *shape)
    slopes[draw(st.integers(0, 2))] = 1.5
    low = numbers(3)
    ranges = np.stack([low, low + draw(st.integers(0, 5))], axis=1)
    link = "softmax" if outputs > 1 else "identity"
    return with_linear_terms(Network.of_layers([Layer.of(neurons, 3)], numbers(len(neurons), *shape), numbers(*shape) if outputs > 1 else draw(VALUES), link=link), slopes, ranges)  # fmt: skip


TABLES = st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=4).map(np.array)


def score(network, rows):
    """A score by hand."""
    total = np.tile(np.asarray(network.base, float), (len(rows), *(1,) * np.ndim(network.base)))
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            (low, high), slope = linear_ends_of(network)[j], linear_coef_of(network)[j]
            total[i] += (slope if total.ndim > 1 else slope[0]) * min(max(value, low), high)
        for neuron, weight in zip(network.layers[0].neurons, network.output_weights, strict=True):
            line = neuron.projection
            reached = sum(c * row[j] for j, c in zip(line.columns, line.coefficients, strict=True))
            total[i] += weight if reached >= neuron.threshold else -weight
    return total


def shapley(network, row, background):
    """SHAP values from the definition."""
    d, found = len(row), []

    def value(known):
        mixed = background.copy()
        mixed[:, list(known)] = row[list(known)]
        return score(network, mixed).mean(axis=0)

    for i in range(d):
        others, total = [j for j in range(d) if j != i], 0.0
        for size in range(d):
            for known in combinations(others, size):
                weight = factorial(size) * factorial(d - size - 1) / factorial(d)
                total = total + weight * (value((*known, i)) - value(known))
        found.append(total)
    return np.array(found), value(())


@settings(max_examples=60, deadline=None)
@given(networks(), TABLES)
def test_a_score_is_what_its_parts_add_up_to(network, rows):
    assert np.allclose(network.predict(rows), score(network, rows), rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3).flatmap(lambda k: networks(k)), TABLES, TABLES)
def test_shap_values_are_those_of_the_definition(network, rows, background):
    found = shap_values(network, rows, background)
    for k, row in enumerate(rows):
        values, base = shapley(network, row, background)
        assert np.allclose(found.values[k], values, rtol=0, atol=1e-9)
        assert np.allclose(found.base_value, base, rtol=0, atol=1e-9)
    total = found.base_value + found.term_values.sum(axis=1)
    assert np.allclose(total, network.raw_score(rows), rtol=0, atol=1e-9)
    assert found.interaction_values().shape[:3] == (len(rows), 3, 3)
    assert importance(network, rows, background).features.shape == (3,)


@settings(max_examples=40, deadline=None)
@given(networks(), TABLES, st.integers(0, 2), st.lists(st.floats(-6, 6), min_size=1, max_size=4))
def test_effects_are_means_over_the_background(network, background, column, places):
    found, pair = effect(network, column, background), effect(network, (column, (column + 1) % 3), background)
    for place in places:
        moved = background.copy()
        moved[:, column] = place
        assert found(place) == pytest.approx(network.predict(moved).mean(), abs=1e-9)
        moved[:, (column + 1) % 3] = 1.0
        assert float(pair(place, 1.0)) == pytest.approx(network.predict(moved).mean(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(networks(), st.booleans())
def test_nothing_goes_beyond_the_extremes(network, inside):
    within = dict.fromkeys(network.names, (-2.0, 2.0)) if inside else "all"
    found = extremes(network, within)
    reach = np.linspace(-2, 2, 9) if inside else np.linspace(-12, 12, 49)
    grid = np.stack(np.meshgrid(reach, reach, reach), axis=-1).reshape(-1, 3)
    predicted = network.predict(grid)
    assert found.proven
    assert found.low <= predicted.min() + 1e-6
    assert predicted.max() - 1e-6 <= found.high
    assert network.predict([found.low_row])[0] == pytest.approx(found.low, abs=1e-9)
    assert network.predict([found.high_row])[0] == pytest.approx(found.high, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(networks())
def test_certificates_hold_on_a_grid(network):
    reach = np.linspace(-12, 12, 25)
    grid = np.stack(np.meshgrid(reach, reach, reach, indexing="ij"), axis=-1)
    predicted = network.predict(grid.reshape(-1, 3)).reshape(25, 25, 25)
    for column, told in enumerate(certify(network, [0, 1, 2]).values()):
        steps = np.diff(predicted, axis=column)
        if told.direction in ("constant", "increasing"):
            assert steps.min() > -1e-9
        if told.direction in ("constant", "decreasing"):
            assert steps.max() < 1e-9


def test_margins_tell_the_slope_until_the_next_threshold():
    network = with_linear_terms(Network.of_layers([Layer([[1.0, 0.0]], [-3.0])], [1.0], 0.0), [0.0, 0.5], [[0, 1], [0.0, 10.0]])
    found = margin(network, [[1.0, 5.0], [1.0, 11.0]])
    assert found.up[0, 0] == 3.0
    assert found.distance[0, 0] == 2.0
    assert found.linear_coef.tolist() == [[0.0, 0.5], [0.0, 0.0]]


@settings(max_examples=25, deadline=None)
@given(networks(), st.lists(st.booleans(), min_size=3, max_size=3), st.lists(VALUES, min_size=3, max_size=3))
def test_extremes_look_at_gaps_under_lines(network, answers, typical):
    neurons = [replace(each, missing=answers[k]) for k, each in enumerate(network.layers[0].neurons)]
    columns = [replace(each, typical=value) for each, value in zip(network.schema.columns, typical, strict=True)]
    schema = replace(network.schema, columns=tuple(columns))
    network = network.changed(layers=[Layer.of(neurons, 3)], schema=schema)
    found = extremes(network, dict.fromkeys(network.names, (-6, 6)))
    half = np.arange(-6, 6.5, 0.5)
    values = np.array([*half, *np.nextafter(half[1:], -np.inf), np.nan])
    rows = np.stack(np.meshgrid(values, values, values[[0, 8, 12, 16, 24, -1]]), axis=-1).reshape(-1, 3)
    predicted = network.predict(rows)
    assert found.proven
    assert found.low - 1e-9 <= predicted.min() <= predicted.max() <= found.high + 1e-9
    assert network.predict([found.low_row, found.high_row]).tolist() == [found.low, found.high]


def test_a_gap_may_be_the_extreme():
    asked = Oblique(Projection((0,), (1.0,)), 3.0, missing=True)
    schema = Schema((Column("x", typical=8.0),), named=True)
    line = with_linear_terms(Network.of_layers([Layer.of([asked], 1)], [0.25], 1.0, schema=schema), [0.5], [[0.0, 10.0]])
    found = extremes(line, {"x": (0, 4)})
    assert (found.low, found.high, found.proven) == (0.75, 5.25, True)
    assert np.isnan(found.high_row[0])
    assert extremes(line, {"x": (0, 4)}, missing=False).high == 3.25
