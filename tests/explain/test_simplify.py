"""Rounder numbers: free where promised, and the loss told where not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, simplify
from bgn.explain.simplify import roundest
from tests.networks import problems

finite = st.floats(-1e12, 1e12).map(lambda value: value + 0.0)


def decimals(number):
    """Power of ten of the last non-zero digit of the shortest decimal that reads as this float."""
    mantissa, _, exponent = f"{number!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).rstrip("0")
    return int(exponent or 0) - len(part) + len(whole + part) - len(digits)


@settings(deadline=None, max_examples=300)
@given(finite, finite, st.floats(0, 1))
def test_roundest_is_inside_and_nothing_inside_is_rounder(low, high, share):
    low, high = min(low, high), max(low, high)
    if low == high:
        assert roundest(low, high, low) is None
        return
    near = min(max(low + share * (high - low), low), high)
    found = roundest(low, high, near)
    assert low < found <= high
    if found != 0:
        rounder = Fraction(10) ** (decimals(found) + 1)
        first = Fraction(low) // rounder + 1
        assert not low < float(first * rounder) <= high
    else:
        assert low < 0 <= high


@settings(deadline=None, max_examples=100)
@given(st.one_of(problems(), problems(depth=2)))
def test_the_free_step_changes_no_prediction_to_the_bit(problem):
    network, X, background = problem
    rows = np.vstack([X, background])
    y = np.random.default_rng(0).normal(size=len(rows))
    simple = simplify(network, rows, y)
    assert simple.free.predict(rows).tobytes() == network.predict(rows).tobytes()
    for layer, other in zip(network.layers, simple.free.layers, strict=True):
        assert ((layer.weights != 0) == (other.weights != 0)).all()
    assert simple.mse_after == np.mean((simple.network.predict(rows) - y) ** 2)
    assert simple.mse_before == np.mean((network.predict(rows) - y) ** 2)
    assert simple.mse_after <= 1.01 * simple.mse_before + 1e-12


@settings(deadline=None, max_examples=60)
@given(st.one_of(problems(), problems(depth=2)), st.integers(1, 12))
def test_scorecards_add_up(problem, max_points):
    network, X, background = problem
    rows = np.vstack([X, background])
    y = network.predict(rows)
    simple = simplify(network, rows, y, scorecard=True, max_points=max_points)
    card = simple.scorecard
    assert all(isinstance(point, int) and 0 < abs(point) <= max_points for point in card.points)
    total = (simple.network.hidden(rows) > 0) @ np.array(card.points, dtype=float)
    np.testing.assert_allclose(simple.network.predict(rows), card.intercept + card.unit * total, atol=1e-9)
    assert simple.mse_after <= np.var(y) * 1.01 + 1e-12


def example():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).round(4) * 10
    network = Network(
        [Layer([[1.0, 0.0, 0.0], [0.5931234, 1.0, 0.0], [0.0, 0.0, -1.0]], [-2.84637, -3.557, 1.23456])],
        [1.23456, 0.607, -0.271],
        7.123456,
    )
    return network, X, network.predict(X) + rng.normal(size=500)


def test_output_weights_keep_the_digits_asked_for():
    network, X, y = example()
    losses = []
    for digits in (1, 2, 3):
        simple = simplify(network, X, y, digits=digits)
        steps = 2 * simple.network.output_weights * 10.0 ** (digits - 1)
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
        losses.append(simple.loss)
    assert abs(losses[2]) < 0.01
    assert simplify(network, X, y, max_loss=10.0).mse_after <= 11.0 * simplify(network, X, y).mse_before
    assert "MSE" in repr(simplify(network, X, y))


def test_a_neuron_that_rounds_to_nothing_goes():
    network, X, y = example()
    tiny = Network(network.layers, [1.0, 0.001, 1.0], 0.0, ["a", "b", "c"], "y")
    simple = simplify(tiny, X, y, digits=1)
    assert simple.network.widths == (2,)
    assert simple.network.feature_names == ("a", "b", "c")
    assert simple.network.target_name == "y"


def test_points_are_at_least_as_good_as_plain_rounding():
    network, X, y = example()
    simple = simplify(network, X, y, scorecard=True, max_points=5)
    fires = network.hidden(X) > 0
    plain = np.rint(network.output_weights / np.abs(network.output_weights).max() * 5)
    line = np.polyfit(fires @ plain, y, 1)
    assert simple.mse_after <= np.mean((np.polyval(line, fires @ plain) - y) ** 2) * 1.001


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": 0}, "digits must be at least 1; got 0"),
        ({"max_points": 0}, "max_points must be at least 1; got 0"),
        ({"y": [1.0]}, r"y must have one finite number a row \(500\); got shape \(1,\)"),
    ],
)
def test_bad_input_is_named(options, message):
    network, X, y = example()
    with pytest.raises(ValueError, match=message):
        simplify(network, X, **{"y": y, **options})


def test_networks_of_nothing():
    nothing = Network([Layer(np.empty((0, 2)), [])], [], 3.0)
    rows, y = np.zeros((2, 2)), [1.0, 2.0]
    assert simplify(nothing, rows, y).network == nothing
    assert simplify(nothing, rows, y, scorecard=True).network.predict(rows).tolist() == [1.5, 1.5]
