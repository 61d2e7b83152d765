"""Sines, cosines and logarithms that are the same number on every machine.

A math library may round them either way, and does so differently on processors with and without fused multiply-add.
Growth needs few of them, so they are worked out in whole numbers and rounded once, correctly.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.protocol import Floats

_BITS = 192  # of the fraction: a cosine near zero keeps more than a float64 holds
_DIGITS = Context(prec=40)


@lru_cache(maxsize=256)
def turn(angle: float) -> tuple[float, float]:
    """Cosine and sine of an angle of at most a few turns."""
    numerator, denominator = angle.as_integer_ratio()
    x = (numerator << _BITS) // denominator
    return _series(x, 1 << _BITS, 0), _series(x, x, 1)


def _series(x: int, term: int, degree: int) -> float:
    """The sum of the Taylor series of cosine or sine that starts with a term of such a degree."""
    square, total = x * x >> _BITS, 0
    while term:
        total += term
        term = -(term * square >> _BITS) // ((degree + 1) * (degree + 2))
        degree += 2
    return total / (1 << _BITS)


def turns(angles: NDArray[Any]) -> Floats:
    """Cosines and sines of many angles, along a new last axis."""
    return np.array([turn(angle) for angle in angles.ravel().tolist()]).reshape(*angles.shape, 2)


@lru_cache(maxsize=256)
def logarithm(number: int) -> float:
    """The natural logarithm of a whole number."""
    return float(_DIGITS.ln(Decimal(number)))
