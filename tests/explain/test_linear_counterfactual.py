"""Counterfactuals of networks with linear terms: against a fine grid, and on one column exactly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, counterfactual
from tests.networks import with_linear_terms

NUMBERS = st.integers(-3, 3).map(float)


@st.composite
def cases(draw):
    """A network of two columns with slopes between ends, a row, and a goal."""
    linear_coef = [draw(st.sampled_from([-1.5, 0.5, 2.0])), draw(st.sampled_from([0.0, 1.0]))]
    ranges = [[draw(NUMBERS) - 2.0, 3.0], [-1.0, draw(NUMBERS) + 3.0]]
    weights = [[draw(st.sampled_from([1.0, 0.0])), 1.0], [1.0, 0.0]]
    layer = Layer(weights, [draw(NUMBERS), draw(NUMBERS)])
    network = with_linear_terms(Network.of_layers([layer], [draw(NUMBERS), draw(NUMBERS)], 0.0), linear_coef, ranges)
    return network, np.array([draw(NUMBERS), draw(NUMBERS)]), draw(st.integers(-40, 40)) / 4.0


@settings(max_examples=40, deadline=None)
@given(cases(), st.booleans())
def test_no_row_of_a_grid_is_cheaper(case, upwards):
    network, x, wanted = case
    goal = {"at_least": wanted} if upwards else {"at_most": wanted}
    answer = counterfactual(network, x, bounds={"x0": (-6, 6), "x1": (-6, 6)}, **goal)
    grid = np.array([*product(np.linspace(-6, 6, 97), repeat=2)])
    predicted = network.predict(grid)
    good = predicted >= wanted if upwards else predicted <= wanted
    assert answer.optimal
    if answer.reached:
        row = np.array(answer.x, dtype=float)
        reached = network.predict(row[np.newaxis])[0]
        assert reached >= wanted if upwards else reached <= wanted
        assert answer.cost == pytest.approx(np.abs(row - x).sum())
        costs = np.abs(grid[good] - x).sum(axis=1)
        assert answer.cost <= costs.min(initial=np.inf) * (1 + 1e-6) + 1e-9
    else:
        assert not good.any()


def test_a_linear_term_is_followed_to_the_last_bit():
    network = with_linear_terms(Network.of_layers([Layer.of([], 1)], [], 1.0), [0.1], [[0.0, 50.0]])
    answer = counterfactual(network, [3.0], at_least=4.3)
    assert answer.optimal
    (value,) = answer.x
    assert network.predict([[value]])[0] >= 4.3
    assert value == pytest.approx(33.0, rel=1e-9)
    assert counterfactual(network, [3.0], at_least=6.1).unreachable


def digits(value: float) -> int:
    return len(repr(float(value)).replace("-", "").replace(".", "").strip("0"))


@pytest.mark.parametrize("link", ["identity", "logistic"])
def test_a_change_is_written_in_few_digits_that_will_do(link):
    rng = np.random.default_rng(0)
    n_rounded = 0
    for _ in range(12):
        layer = Layer([[1.0, 0.0], [1.0, 0.7]], rng.normal(0, 20, 2))
        linear_coef, base = rng.normal(0, 0.07, 2), -rng.uniform(1, 3)
        network = with_linear_terms(
            Network.of_layers([layer], rng.normal(0, 0.4, 2), base, link=link), linear_coef, [[-200.0, 200.0]] * 2
        )
        wanted = {"at_least": 1.0} if link == "identity" else {"probability": (0.77, 1.0)}
        answer = counterfactual(
            network, rng.normal(0, 30, 2).round(1), costs=[1.0, 1.3], bounds={0: (-200, 200), 1: (-200, 200)}, **wanted
        )
        if not answer.reached or answer.rounded is None:
            continue
        n_rounded, short = n_rounded + 1, answer.rounded
        reached = network.predict([short.x])[0]
        assert reached == short.prediction >= (1.0 if link == "identity" else 0.77)
        assert answer.cost < short.cost <= 1.0021 * answer.cost
        assert short.max_saving == pytest.approx(1.0 - answer.cost / short.cost)
        for name, (_, new) in short.changes.items():
            assert digits(new) <= min(6, digits(answer.changes[name][1]))
        assert f"optimal to within {max(short.max_saving, 0.001):.1%}" in repr(answer)
        assert answer.as_dict()["rounded"]["changes"] == short.as_dict()["changes"]
    assert n_rounded > 5
