"""Short decimals, against all decimals there are."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bgn.model.numbers import rounded, shortest, whole_numbers

finite = st.floats(allow_nan=False, allow_infinity=False)
short = st.builds(
    lambda whole, places: float(Decimal(whole).scaleb(-places)), st.integers(-9999, 9999), st.integers(0, 4)
)


@given(
    st.one_of(
        st.tuples(finite, finite), st.tuples(short, short), finite.map(lambda x: (x, math.nextafter(x, math.inf)))
    )
)
@example((5e-324, 1e-323))
@example((1e300, 1.7976931348623157e308))
def test_the_shortest_decimal_lies_between_and_none_is_shorter(ends):
    low, high = sorted(ends)
    if low == high or math.isinf(high):
        return
    decimals = shortest(low, high)
    assert low < decimals <= high
    exponent = Decimal(repr(decimals)).normalize().as_tuple().exponent
    unit = Fraction(10) ** (exponent + 1)  # no multiple of this lies between
    if decimals != 0:
        low_end, end = Fraction(Decimal(repr(low))), Fraction(Decimal(repr(high)))
        last = end // unit * unit
        assert last <= low_end or not low < float(last) <= high


def test_of_several_the_middle_one():
    assert shortest(1.2, 8.9) == 5.0
    assert shortest(0.123, 0.187) == 0.16
    assert shortest(-8.9, -1.2) == -5.0


@pytest.mark.parametrize(("low", "high", "decimals"), [(-math.inf, -3.0, -3.0), (3.0, math.inf, 6.0), (-1.0, 9.0, 0.0)])
def test_ends_may_be_open(low, high, decimals):
    assert shortest(low, high) == decimals


def test_nothing_lies_between_the_wrong_way_round():
    with pytest.raises(ValueError, match="low must be below high"):
        shortest(2.0, 2.0)


@given(finite, st.integers(-30, 30))
def test_rounding_is_exact(value, power):
    decimals, unit = rounded(value, power), Fraction(10) ** power
    if math.isfinite(decimals):
        nearest = round(Fraction(value) / unit) * unit
        assert decimals == float(nearest)


@given(st.lists(short, min_size=1, max_size=30), st.randoms())
def test_sums_of_whole_numbers_are_what_is_written(values, random):
    whole, over = whole_numbers(values)
    random.shuffle(order := list(range(len(values))))
    exact = sum(Fraction(Decimal(repr(value))) for value in values)
    assert np.sum(whole[order]) / over == float(exact)
    assert [one / over for one in whole] == values


def test_long_numbers_have_no_common_unit():
    assert whole_numbers([math.pi, 1e300]) is None
    assert whole_numbers([1e-30]) is None
    assert whole_numbers([math.inf]) is None
