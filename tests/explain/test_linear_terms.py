"""Linear terms between two ends, of numbers and of classes: each answer against a slow twin from the definition."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations, product
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import (
    BGNClassifier,
    Layer,
    Network,
    certify,
    counterfactual,
    effect,
    extremes,
    importance,
    margin,
    shap_values,
)
from bgn.explain.arguments import probabilities_of
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
    conditions = [Oblique(Projection((column,), (draw(signs),)), draw(VALUES)) for column in alone]
    both = Oblique(Projection((0, 1), (1.0, draw(st.sampled_from([0.5, -2.0])))), draw(VALUES))
    conditions += [both] * draw(st.integers(0, 1))
    shape = (outputs,) if outputs > 1 else ()
    linear_coef = numbers(3, *shape)
    linear_coef[draw(st.integers(0, 2))] = 1.5
    low = numbers(3)
    ranges = np.stack([low, low + draw(st.integers(0, 5))], axis=1)
    link = "softmax" if outputs > 1 else "identity"
    base = numbers(*shape) if outputs > 1 else draw(VALUES)
    network = Network.of_layers([Layer.of(conditions, 3)], numbers(len(conditions), *shape), base, link=link)
    return with_linear_terms(network, linear_coef, ranges)


TABLES = st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=4).map(np.array)


def score(network, rows):
    """A score by hand."""
    total = np.tile(np.asarray(network.base, float), (len(rows), *(1,) * np.ndim(network.base)))
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            (low, high), steepness = linear_ends_of(network)[j], linear_coef_of(network)[j]
            total[i] += (steepness if total.ndim > 1 else steepness[0]) * min(max(value, low), high)
        for condition, weight in zip(network.layers[0].neurons, network.output_weights, strict=True):
            line = condition.projection
            reached = sum(c * row[j] for j, c in zip(line.columns, line.coefficients, strict=True))
            total[i] += weight if reached >= condition.threshold else -weight
    return total


def shapley(network, row, background):
    """SHAP values from the definition."""
    d, answer = len(row), []

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
        answer.append(total)
    return np.array(answer), value(())


@settings(max_examples=60, deadline=None)
@given(networks(), TABLES)
def test_a_score_is_what_its_parts_add_up_to(network, rows):
    assert np.allclose(network.predict(rows), score(network, rows), rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3).flatmap(lambda k: networks(k)), TABLES, TABLES)
def test_shap_values_are_those_of_the_definition(network, rows, background):
    answer = shap_values(network, rows, background)
    for k, row in enumerate(rows):
        values, base = shapley(network, row, background)
        assert np.allclose(answer.values[k], values, rtol=0, atol=1e-9)
        assert np.allclose(answer.base_value, base, rtol=0, atol=1e-9)
    total = answer.base_value + answer.term_values.sum(axis=1)
    assert np.allclose(total, network.raw_score(rows), rtol=0, atol=1e-9)
    assert answer.interaction_values().shape[:3] == (len(rows), 3, 3)
    assert importance(network, rows, background).features.shape == (3,)


@settings(max_examples=40, deadline=None)
@given(networks(), TABLES, st.integers(0, 2), st.lists(st.floats(-6, 6), min_size=1, max_size=4))
def test_effects_are_means_over_the_background(network, background, column, places):
    answer, pair = effect(network, column, background), effect(network, (column, (column + 1) % 3), background)
    for place in places:
        moved = background.copy()
        moved[:, column] = place
        assert answer(place) == pytest.approx(network.predict(moved).mean(), abs=1e-9)
        moved[:, (column + 1) % 3] = 1.0
        assert float(pair(place, 1.0)) == pytest.approx(network.predict(moved).mean(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(networks(), st.booleans())
def test_nothing_goes_beyond_the_extremes(network, inside):
    within = dict.fromkeys(network.names, (-2.0, 2.0)) if inside else "all"
    answer = extremes(network, within)
    reach = np.linspace(-2, 2, 9) if inside else np.linspace(-12, 12, 49)
    grid = np.stack(np.meshgrid(reach, reach, reach), axis=-1).reshape(-1, 3)
    predicted = network.predict(grid)
    assert answer.proven
    assert answer.low <= predicted.min() + 1e-6
    assert predicted.max() - 1e-6 <= answer.high
    assert network.predict([answer.low_row])[0] == pytest.approx(answer.low, abs=1e-9)
    assert network.predict([answer.high_row])[0] == pytest.approx(answer.high, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(networks())
def test_certificates_hold_on_a_grid(network):
    reach = np.linspace(-12, 12, 25)
    grid = np.stack(np.meshgrid(reach, reach, reach, indexing="ij"), axis=-1)
    predicted = network.predict(grid.reshape(-1, 3)).reshape(25, 25, 25)
    for column, certificate in enumerate(certify(network, [0, 1, 2]).values()):
        steps = np.diff(predicted, axis=column)
        if certificate.direction in ("constant", "increasing"):
            assert steps.min() > -1e-9
        if certificate.direction in ("constant", "decreasing"):
            assert steps.max() < 1e-9


def test_margins_have_the_linear_weight_until_the_next_threshold():
    network = with_linear_terms(
        Network.of_layers([Layer([[1.0, 0.0]], [-3.0])], [1.0], 0.0), [0.0, 0.5], [[0, 1], [0.0, 10.0]]
    )
    answer = margin(network, [[1.0, 5.0], [1.0, 11.0]])
    assert answer.up[0, 0] == 3.0
    assert answer.distance[0, 0] == 2.0
    assert answer.linear_coef.tolist() == [[0.0, 0.5], [0.0, 0.0]]


@settings(max_examples=25, deadline=None)
@given(networks(), st.lists(st.booleans(), min_size=3, max_size=3), st.lists(VALUES, min_size=3, max_size=3))
def test_extremes_look_at_missing_values_of_linear_terms(network, answers, typical):
    conditions = [replace(part, missing=answers[k]) for k, part in enumerate(network.layers[0].neurons)]
    columns = [replace(part, typical=value) for part, value in zip(network.schema.columns, typical, strict=True)]
    schema = replace(network.schema, columns=tuple(columns))
    network = network.changed(layers=[Layer.of(conditions, 3)], schema=schema)
    answer = extremes(network, dict.fromkeys(network.names, (-6, 6)))
    half = np.arange(-6, 6.5, 0.5)
    values = np.array([*half, *np.nextafter(half[1:], -np.inf), np.nan])
    rows = np.stack(np.meshgrid(values, values, values[[0, 8, 12, 16, 24, -1]]), axis=-1).reshape(-1, 3)
    predicted = network.predict(rows)
    assert answer.proven
    assert answer.low - 1e-9 <= predicted.min() <= predicted.max() <= answer.high + 1e-9
    assert network.predict([answer.low_row, answer.high_row]).tolist() == [answer.low, answer.high]


def test_a_missing_value_may_be_the_extreme():
    condition = Oblique(Projection((0,), (1.0,)), 3.0, missing=True)
    schema = Schema((Column("x", typical=8.0),), named=True)
    line = with_linear_terms(
        Network.of_layers([Layer.of([condition], 1)], [0.25], 1.0, schema=schema), [0.5], [[0.0, 10.0]]
    )
    answer = extremes(line, {"x": (0, 4)})
    assert (answer.low, answer.high, answer.proven) == (0.75, 5.25, True)
    assert np.isnan(answer.high_row[0])
    assert extremes(line, {"x": (0, 4)}, missing=False).high == 3.25


NUMBERS = st.integers(-3, 3).map(float)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)).round(2)
SCORE = 2 * X[:, 0] - X[:, 1] + 1.5 * (X[:, 2] >= 0.2)
TWO = np.where(SCORE + RNG.logistic(size=300) > 0.7, "yes", "no")
SEVERAL = np.digitize(SCORE + RNG.logistic(size=300), [-1.0, 1.5])


@st.composite
def cases(draw: Any) -> tuple[Network, np.ndarray]:
    """A network of two columns and two or three classes, with slopes between ends, and a row."""
    outputs = draw(st.sampled_from([1, 3]))
    shape, steep = (outputs,) if outputs > 1 else (), st.sampled_from([-1.5, 0.0, 0.5, 2.0])

    def numbers(strategy: Any, *size: int) -> np.ndarray:
        count = int(np.prod(size, dtype=int))
        return np.array(draw(st.lists(strategy, min_size=count, max_size=count))).reshape(size)

    linear_coef = numbers(steep, 2, *shape)
    linear_coef[0] += 0.25 if outputs == 1 else [0.25, 0.0, -0.25]
    ranges = [[draw(NUMBERS) - 2.0, 3.0], [-1.0, draw(NUMBERS) + 3.0]]
    layer = Layer([[draw(st.sampled_from([1.0, 0.0])), 1.0], [1.0, 0.0]], numbers(NUMBERS, 2))
    link = "logistic" if outputs == 1 else "softmax"
    base = numbers(NUMBERS, *shape) if shape else draw(NUMBERS)
    network = with_linear_terms(
        Network.of_layers([layer], numbers(NUMBERS, 2, *shape), base, link=link), linear_coef, ranges
    )
    return network, numbers(NUMBERS, 2)


@settings(max_examples=40, deadline=None)
@given(cases(), st.integers(0, 2), st.sampled_from([None, (0.3, 1.0), (0.8, 1.0), (0.0, 0.25)]))
def test_no_row_of_a_grid_is_cheaper(case: Any, number: int, chance: Any) -> None:
    network, x = case
    number, chance = (number, None) if network.link == "softmax" else (min(number, 1), chance)
    answer = counterfactual(network, x, to=number, probability=chance, bounds={"x0": (-6, 6), "x1": (-6, 6)})
    grid = np.array([*product(np.linspace(-6, 6, 97), repeat=2)])

    def good(rows: np.ndarray) -> np.ndarray:
        scores = network.raw_score(rows)
        if chance is None:
            return (scores > 0).astype(int) == number if scores.ndim == 1 else scores.argmax(axis=1) == number
        given = probabilities_of(network, scores)[:, number]
        return (given >= chance[0]) & (given <= chance[1])

    assert answer.optimal
    if answer.reached:
        row = np.array(answer.x, dtype=float)
        assert good(row[np.newaxis])[0]
        assert answer.cost == pytest.approx(np.abs(row - x).sum())
        costs = np.abs(grid[good(grid)] - x).sum(axis=1)
        assert answer.cost <= costs.min(initial=np.inf) * (1 + 1e-6) + 1e-9
    else:
        assert not good(grid).any()


def test_a_probability_is_reached_to_the_last_bit() -> None:
    network = with_linear_terms(Network.of_layers([Layer.of([], 1)], [], -2.0, link="logistic"), [0.1], [[0.0, 50.0]])
    answer = counterfactual(network, [3.0], to=1, probability=(0.6, 1.0))
    assert answer.optimal
    assert answer.prediction >= 0.6
    assert answer.x[0] == pytest.approx((np.log(1.5) + 2.0) / 0.1, rel=1e-9)
    assert counterfactual(network, [3.0], to=1, probability=(0.96, 1.0)).unreachable


def test_a_probability_of_several_classes_is_refused() -> None:
    linear_coef = [[0.1, 0.0, -0.1]]
    network = with_linear_terms(
        Network.of_layers([Layer.of([], 1)], np.zeros((0, 3)), [0.0] * 3, link="softmax"), linear_coef, [[0, 9]]
    )
    with pytest.raises(ValueError, match="probability is for two classes"):
        counterfactual(network, [3.0], to=2, probability=(0.6, 1.0))


@pytest.fixture(scope="module", params=["two", "several"])
def model(request: Any) -> Any:
    y = TWO if request.param == "two" else SEVERAL
    answer = BGNClassifier(max_terms=5, max_linear=2, cv=None, random_state=0).fit(X, y)
    assert answer.network_.linear
    return answer, y


def test_effects_on_probabilities(model: Any) -> None:
    network, rows = model[0].network_, X[:60]
    label, linear_columns = model[0].classes_[-1], [term.column for term in network.linear]
    assert len(linear_columns) < 3
    for column in range(3):
        if column in linear_columns:
            with pytest.raises(ValueError, match="scale must be 'score' for a feature with a linear term"):
                bgn.effect(network, column, rows, of=label, scale="probability")
            scores = bgn.effect(network, column, rows, of=label, scale="score")
            assert bgn.effect(network, column, rows, of=label)(0.2) == scores(0.2)
            continue
        answer = bgn.effect(network, column, rows, of=label)
        for value in (-1.0, 0.2, 0.7):
            mixed = rows.copy()
            mixed[:, column] = value
            wanted = probabilities_of(network, network.raw_score(mixed))[:, -1].mean()
            assert answer(value) == pytest.approx(wanted)


def test_rounding(model: Any) -> None:
    fitted, y = model
    simple = bgn.simplify(fitted, X, y, digits=2)
    network = fitted.network_
    scores = simple.network.raw_score(X)
    assert simple.network.linear == network.linear
    assert np.abs(scores - network.raw_score(X)).max() < 0.5
    probabilities, codes = probabilities_of(network, scores), np.searchsorted(fitted.classes_, y)
    assert simple.after == pytest.approx(-np.log(probabilities[np.arange(len(y)), codes]).mean())
    assert simple.loss < 0.05
    with pytest.raises(ValueError, match="fit with max_linear=0"):
        bgn.simplify(network, X, y, points=5)
    with pytest.warns(UserWarning, match="grown anew"):
        card = bgn.simplify(fitted, X, y, points=5).network
    assert card.linear == ()
    assert bgn.scorecard(card) is not None


def test_the_report(model: Any, tmp_path: Any) -> None:
    fitted, y = model
    page = bgn.write_report(fitted, X, y, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "weights of linear terms per unit of their column" in page
    answer = [line.column for line in fitted.network_.linear]
    blob = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert [line["column"] for line in blob["network"]["linear"]] == answer
