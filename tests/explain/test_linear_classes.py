"""Classes told apart by questions and straight lines: counterfactuals, effects, rounding and the report."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNClassifier, Layer, Network, counterfactual
from bgn.explain.arguments import probabilities_of
from tests.networks import with_linear_terms

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
    assert "so much per unit of" in page
    assert "per unit of a column as the last lines say" in page
    answer = [line.column for line in fitted.network_.linear]
    blob = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert [line["column"] for line in blob["network"]["linear"]] == answer
