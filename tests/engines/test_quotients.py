"""Fractions of large whole numbers, against Python's own, which are exact until their one rounding."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgn.engines.reduce import covariances


def whole(bits):
    """Whole numbers of up to so many bits, small and large ones alike."""
    return st.integers(0, bits).flatmap(lambda most: st.integers(-(2**most), 2**most))


@given(
    st.lists(st.tuples(whole(45), whole(61).map(abs), whole(58), whole(58)), min_size=1, max_size=5),
    whole(33).map(lambda total: abs(total) + 1),
)
def test_covariances_are_rounded_once(columns, total):
    high, low, sums, others = np.array(columns, np.int64).T
    result = covariances(np.stack([high, low], axis=1), sums, others, total)
    assert result.tolist() == [(((h << 31) + s) * total - a * b) / total for h, s, a, b in columns]
    alone = covariances(np.stack([high, low], axis=1), sums, columns[0][3], total)
    assert alone.tolist() == [(((h << 31) + s) * total - a * columns[0][3]) / total for h, s, a, _ in columns]


@given(st.integers(2**52, 2**53 - 1), st.integers(0, 8), st.integers(1, 6000), st.integers(-1, 1), st.booleans())
def test_quotients_near_the_middle_of_two_floats_go_the_right_way(half, shift, total, other, negative):
    sign = -1 if negative else 1
    middle = sign * ((2 * half + 1) << shift)
    limbs = np.array([[middle >> 31, middle & (2**31 - 1)]])
    result = covariances(limbs, np.array([other]), 1, total)
    assert result.tolist() == [(middle * total - other) / total]
