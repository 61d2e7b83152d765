"""Where the paper's text slips, checked from its own definitions; ``docs/algorithm.rst`` tells each in a line."""

from fractions import Fraction
from itertools import chain, combinations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgn import Layer, Network

RESIDUALS = st.lists(st.integers(-20, 20).map(Fraction), min_size=1, max_size=12)


def mean(values):
    return sum(values, Fraction(0)) / len(values)


def unit(side_plus, side_minus):
    """Algorithm 1, lines 7 and 8: the output weight and the base of a neuron that splits a residual in two."""
    plus, minus = mean(side_plus), mean(side_minus)
    return (plus - minus) / 2, (plus + minus) / 2


def drop(side_plus, side_minus):
    """How much the mean squared residual falls when the neuron is added."""
    weight, base = unit(side_plus, side_minus)
    before = [r**2 for r in side_plus + side_minus]
    after = [(r - weight - base) ** 2 for r in side_plus] + [(r + weight - base) ** 2 for r in side_minus]
    return mean(before) - mean(after)


@given(RESIDUALS, RESIDUALS)
def test_proposition_2_needs_a_residual_of_mean_zero(side_plus, side_minus):
    weight, base = unit(side_plus, side_minus)
    m = len(side_plus) + len(side_minus)
    always = (len(side_plus) * mean(side_plus) ** 2 + len(side_minus) * mean(side_minus) ** 2) / m
    assert drop(side_plus, side_minus) == always
    as_printed = (weight + base) * (weight - base)
    middle = mean(side_plus + side_minus)
    assert always - as_printed == middle * (mean(side_plus) + mean(side_minus))


def test_proposition_2_as_printed_fails_on_a_raw_target():
    weight, base = unit([Fraction(3)], [Fraction(1)])
    assert drop([Fraction(3)], [Fraction(1)]) == 5
    assert (weight + base) * (weight - base) == -3


@given(RESIDUALS, RESIDUALS)
def test_the_mean_residual_cannot_evaluate_a_replacement(side_plus, side_minus):
    """Any neuron leaves a residual of mean zero, good or bad; only the mean square tells them apart."""
    weight, base = unit(side_plus, side_minus)
    assert mean([r - weight - base for r in side_plus] + [r + weight - base for r in side_minus]) == 0


def weight_as_printed(d, k, q):
    """Return C(D, D(k), Q) of Eq. (6) from the three sizes, as the paper prints it."""
    return sum(
        Fraction(comb(d - k - 1, u) * factorial(q + u) * factorial(d - q - u - 1), factorial(d)) for u in range(d - k)
    )


def weight_summed(d, k, q):
    """Return the same weight from its definition: over all sets U of columns that the neuron ignores."""
    return sum(
        Fraction(factorial(q + len(u)) * factorial(d - q - len(u) - 1), factorial(d))
        for u in chain.from_iterable(combinations(range(d - k), size) for size in range(d - k + 1))
    )


@pytest.mark.parametrize(("d", "k", "q"), [(d, k, q) for d in range(1, 8) for k in range(1, d + 1) for q in range(k)])
def test_the_shapley_weight_is_that_of_a_rules_own_columns(d, k, q):
    assert weight_summed(d, k, q) == Fraction(factorial(q) * factorial(k - q - 1), factorial(k))


@pytest.mark.parametrize("d", range(2, 10))
def test_as_printed_a_rule_with_one_column_gets_half_its_weight(d):
    assert weight_as_printed(d, 1, 0) == Fraction(1, 2)
    assert weight_summed(d, 1, 0) == 1


def importances(rows, bias):
    """Return the first column's importance with the bars inside the pair average (Algorithm 2), and mean |phi|."""
    network = Network.of_layers([Layer([[1.0, 1.0]], [float(bias)])], [1.0], 0.0)

    def answer(x, other, known):
        return network.predict([[x[c] if c in known else other[c] for c in (0, 1)]])[0]

    inside = outside = 0.0
    for x in rows:
        phi = 0.0
        for others in ((), (1,)):  # coalitions of the other column, Shapley weight 1/2 each
            gains = [(answer(x, z, (0, *others)) - answer(x, z, others)) / 2 for z in rows]
            phi += sum(gains) / len(rows)
            inside += sum(map(abs, gains)) / len(rows)
        outside += abs(phi)
    return inside / len(rows), outside / len(rows)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=6), st.integers(-3, 3))
def test_bars_inside_the_pair_mean_give_an_upper_bound_of_mean_absolute_shap(rows, bias):
    inside, outside = importances(rows, bias)
    assert inside >= outside - 1e-12


def test_bars_inside_and_outside_differ():
    inside, outside = importances([(0, 0), (-2, 1), (2, -1)], 0)
    assert inside > outside + 0.1


def test_a_row_on_the_threshold_fires():
    network = Network.of_layers([Layer([[1.0]], [-5.0])], [1.0], 0.0, feature_names=["age"])
    assert network.predict([[5.0], [np.nextafter(5.0, 0)]]).tolist() == [1.0, -1.0]
