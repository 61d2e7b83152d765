"""The logistic function, the exponential and their like in whole numbers, so that every engine agrees to the bit.

A value is a whole number of ``2**-FINE``. Functions of a distance ``u >= 0`` come from tables of cubics between nodes
2**-6 apart, worked out in decimals, which round the same everywhere; beyond 32 they are zero. Everything here is a step
of whole numbers, or one of floats that IEEE 754 rounds, for arrays of NumPy and for tensors alike.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from bgn.engines.integers import Integers

FINE = 36
BETWEEN = FINE - 6  # bits of a place between two nodes
REACH = 32
MASK = (1 << BETWEEN) - 1
_STEP = Decimal(2) ** (BETWEEN - FINE)  # from node to node
_PRECISE = Context(prec=30)
# ln 2 in two parts, the first of few bits; and as much of the series of atanh as a float64 needs.
LOG2_HIGH, LOG2_LOW = 0.693145751953125, 1.42860682030941723212e-6
INVERSES = tuple(1.0 / (2 * k + 1) for k in range(12))  # of the odd numbers
SQRT2 = 1.4142135623730951


def _cubics(values: list[Decimal], slopes: list[Decimal]) -> Integers:
    """Hermite cubics between nodes, from values and slopes at them; one row of four coefficients for each."""
    rows = []
    for (a, b), (s, t) in zip(pairwise(values), pairwise(slopes), strict=True):
        s, t = s * _STEP, t * _STEP
        rows.append([a, s, 3 * (b - a) - 2 * s - t, 2 * (a - b) + s + t])
    return np.array([[int((each * 2**FINE).to_integral_value()) for each in row] for row in rows], np.int64)


@cache
def logistic_table() -> Integers:
    """Cubics of the logistic function of -u, then of its integral ``log(1 + exp(-u))``: eight columns."""
    with localcontext(_PRECISE):
        odds = _exponentials()
        shares = [each / (1 + each) for each in odds]
        values = _cubics(shares, [each * (each - 1) for each in shares])
        return np.hstack([values, _cubics([(1 + each).ln() for each in odds], [-each for each in shares])])


@cache
def exponential_table() -> Integers:
    """Cubics of ``exp(-u)``: four columns."""
    with localcontext(_PRECISE):
        odds = _exponentials()
        return _cubics(odds, [-each for each in odds])


def _exponentials() -> list[Decimal]:
    """``exp(-u)`` at every node."""
    return [(-k * _STEP).exp() for k in range(int(REACH / _STEP) + 1)]


_TABLES: dict[tuple[Any, str], Any] = {}


def _beside(make: Callable[[], Integers], values: Any) -> Any:
    """A table where the values are."""
    if isinstance(values, np.ndarray):
        return make()
    key = make, str(values.device)
    if key not in _TABLES:
        _TABLES[key] = values.new_tensor(make())
    return _TABLES[key]


def _interpolated(u: Any, table: Any, first: int) -> Any:
    """A function of `u`, fine and not negative, by four columns of a table; zero out of its reach."""
    inside = u < (REACH << FINE)
    u = u * inside
    cubic, t = table[u >> BETWEEN], u & MASK
    value = cubic[..., first + 3]
    for k in (2, 1, 0):
        value = cubic[..., first + k] + ((value * t) >> BETWEEN)
    return value * inside


def logistic(margin: Any) -> Any:
    """The logistic function of ``-margin``, both fine."""
    away = _interpolated(abs(margin), _beside(logistic_table, margin), 0)
    return (margin >= 0) * away + (margin < 0) * ((1 << FINE) - away)


def softplus(margin: Any) -> Any:
    """``log(1 + exp(-margin))``, both fine."""
    return _interpolated(abs(margin), _beside(logistic_table, margin), 4) + (-margin).clip(min=0)


def decay(u: Any) -> Any:
    """``exp(-u)`` of what is not negative, both fine."""
    return _interpolated(u, _beside(exponential_table, u), 0)


def _parts(x: Any) -> tuple[Any, Any]:
    """Mantissa and exponent, both floats."""
    if isinstance(x, np.ndarray):
        mantissa, exponent = np.frexp(x)
        return mantissa, exponent.astype(np.float64)
    mantissa, exponent = x.frexp()
    return mantissa, exponent.double()


def logarithm(x: Any) -> Any:
    """The logarithm of positive floats, a few roundings off."""
    mantissa, exponent = _parts(x)
    low = mantissa * SQRT2 < 1.0
    mantissa, exponent = mantissa + mantissa * low, exponent - low * 1.0
    z = (mantissa - 1.0) / (mantissa + 1.0)
    square, total = z * z, 0.0 * z
    for each in reversed(INVERSES):
        total = total * square + each
    return exponent * LOG2_HIGH + (exponent * LOG2_LOW + 2.0 * z * total)


def entropy_part(x: Any, whole: Any) -> Any:
    """``x log(x / whole)`` of floats from zero to `whole`, which is positive; 0 where `x` is."""
    some = x > 0
    share = (x * some + whole * ~some) / whole
    return x * logarithm(share)
