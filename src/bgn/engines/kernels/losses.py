"""Logistic and softmax losses in whole numbers, so that every engine agrees to the bit.

A value is a whole number of ``2**-FINE``. Functions of a distance ``u >= 0`` come from tables of cubics between nodes
2**-6 apart, worked out in decimals, which round the same everywhere; beyond 32 they are zero. The first half is for
arrays of NumPy and for tensors alike: every step is one of whole numbers, or one of floats that IEEE 754 rounds. The
second half is the same compiled: loops over rows, where a difference is zero less the row's score, in steps of
``2**-(FINE - shift)``, `target` is the number of the row's class, and several classes have one row of differences each.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from bgn.compiling import compiled
from bgn.engines.kernels.rows import LIMB
from bgn.engines.protocol import Integers

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


def _cubics(values: list[Decimal], linear_coef: list[Decimal]) -> Integers:
    """Hermite cubics between nodes, from values and slopes at them; one row of four coefficients for each."""
    rows = []
    for (a, b), (s, t) in zip(pairwise(values), pairwise(linear_coef), strict=True):
        s, t = s * _STEP, t * _STEP
        rows.append([a, s, 3 * (b - a) - 2 * s - t, 2 * (a - b) + s + t])
    return np.array([[int((value * 2**FINE).to_integral_value()) for value in row] for row in rows], np.int64)


@cache
def logistic_table() -> Integers:
    """Cubics of the logistic function of -u, then of its integral ``log(1 + exp(-u))``: eight columns."""
    with localcontext(_PRECISE):
        odds = _exponentials()
        shares = [odd / (1 + odd) for odd in odds]
        values = _cubics(shares, [share * (share - 1) for share in shares])
        return np.hstack([values, _cubics([(1 + odd).ln() for odd in odds], [-share for share in shares])])


@cache
def exponential_table() -> Integers:
    """Cubics of ``exp(-u)``: four columns."""
    with localcontext(_PRECISE):
        odds = _exponentials()
        return _cubics(odds, [-odd for odd in odds])


def _exponentials() -> list[Decimal]:
    """``exp(-u)`` at every node."""
    return [(-k * _STEP).exp() for k in range(int(REACH / _STEP) + 1)]


_TABLES: dict[tuple[Any, str], Any] = {}


def _table_for(make: Callable[[], Integers], values: Any) -> Any:
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
    away = _interpolated(abs(margin), _table_for(logistic_table, margin), 0)
    return (margin >= 0) * away + (margin < 0) * ((1 << FINE) - away)


def softplus(margin: Any) -> Any:
    """``log(1 + exp(-margin))``, both fine."""
    return _interpolated(abs(margin), _table_for(logistic_table, margin), 4) + (-margin).clip(min=0)


def decay(u: Any) -> Any:
    """``exp(-u)`` of what is not negative, both fine."""
    return _interpolated(u, _table_for(exponential_table, u), 0)


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
    for inverse in reversed(INVERSES):
        total = total * square + inverse
    return exponent * LOG2_HIGH + (exponent * LOG2_LOW + 2.0 * z * total)


def entropy_part(x: Any, whole: Any) -> Any:
    """``x log(x / whole)`` of floats from zero to `whole`, which is positive; 0 where `x` is."""
    some = x > 0
    share = (x * some + whole * ~some) / whole
    return x * logarithm(share)


_END = REACH << FINE
_ONE = 1 << FINE
_INVERSES = np.array(INVERSES)
# Rows of several classes that are worked on at a time.
_TOGETHER = 128


@compiled
def _cubic(u, table, first):
    """A function of `u` by four columns of a table; zero out of its reach."""
    if u >= _END:
        return 0
    k, t = u >> BETWEEN, u & MASK
    value = table[k, first + 3]
    value = table[k, first + 2] + ((value * t) >> BETWEEN)
    value = table[k, first + 1] + ((value * t) >> BETWEEN)
    return table[k, first] + ((value * t) >> BETWEEN)


@compiled
def _logarithm(total):
    """See :func:`bgn.engines.kernels.losses.logarithm`; of one or more, fine."""
    exponent = 1
    while total >> (FINE + exponent):
        exponent += 1
    mantissa = np.float64(total) / np.float64(1 << (FINE + exponent))
    if mantissa * SQRT2 < 1.0:
        mantissa, exponent = mantissa + mantissa, exponent - 1
    z = (mantissa - 1.0) / (mantissa + 1.0)
    square, total = z * z, 0.0
    for k in range(len(_INVERSES) - 1, -1, -1):
        total = total * square
        total = total + _INVERSES[k]
    low = exponent * LOG2_LOW
    high = exponent * LOG2_HIGH
    rest = 2.0 * z * total
    return high + (low + rest)


@compiled
def logistic_residuals(diff, target, weight, about, start, stop, out, limbs):
    """Write the share of certainty that each row lacks, in steps, signed by its class; add the losses to `limbs`.
    `about`: table, limit and shift."""
    table, limit, shift = about
    weighted = len(weight) > 0
    half = (1 << shift) >> 1
    diffs, targets, part = diff[start:stop], target[start:stop], out[start:stop]
    high, low = 0, 0
    for i in range(stop - start):
        score = min(max(diffs[i], -limit), limit)
        margin = (-score if targets[i] == 1 else score) << shift
        lacks = _cubic(abs(margin), table, 0)
        lacks = lacks if margin >= 0 else _ONE - lacks
        lacks = (lacks + half) >> shift
        part[i] = lacks if targets[i] == 1 else -lacks
        loss = _cubic(abs(margin), table, 4) + max(-margin, 0)
        w = weight[start + i] if weighted else 1
        high += w * (loss >> LIMB)
        low += w * (loss & ((1 << LIMB) - 1))
    limbs[0] += high
    limbs[1] += low


@compiled
def logistic_sums(diff, target, weight, about, start, stop, out):
    """Add to `out` the losses of some rows, times their weights, in two limbs; where a largest loss is given, add to
    ``out[0]`` their squares as shares of it, in units of 2^-30. `about`: table, limit, shift and that loss, or 0."""
    table, limit, shift, largest = about
    weighted = len(weight) > 0
    diffs, targets = diff[start:stop], target[start:stop]
    high, low = 0, 0
    for i in range(stop - start):
        score = min(max(diffs[i], -limit), limit)
        margin = (-score if targets[i] == 1 else score) << shift
        loss = _cubic(abs(margin), table, 4) + max(-margin, 0)
        w = weight[start + i] if weighted else 1
        if largest > 0.0:
            high += w * _squared_share(loss, largest)
        else:
            high += w * (loss >> LIMB)
            low += w * (loss & ((1 << LIMB) - 1))
    out[0] += high
    if largest == 0.0:
        out[1] += low


@compiled
def _squared_share(loss, largest):
    """The square of a loss as a share of the largest, in units of 2^-30."""
    share = min(np.float64(loss) / largest, 1.0)
    return int(np.rint(share * share * 1073741824.0))


@compiled
def _weigh_classes(diff, start, stop, about, shares, rows):
    """Write ``exp(score - largest)`` of every class to `shares`, for a few rows; to `rows` their largest score and
    the sum of shares. Classes are the outer loop, so that the inner one runs over neighbours in memory."""
    table, limit, shift = about
    few = stop - start
    largest, total = rows[0], rows[1]
    for i in range(few):
        largest[i], total[i] = -limit, 0
    for k in range(len(diff)):
        own = diff[k, start:stop]
        for i in range(few):
            largest[i] = max(largest[i], min(max(-own[i], -limit), limit))
    for k in range(len(diff)):
        own, share = diff[k, start:stop], shares[k]
        for i in range(few):
            score = min(max(-own[i], -limit), limit)
            share[i] = _cubic((largest[i] - score) << shift, table, 0)
            total[i] += share[i]


@compiled
def _softmax_loss(own, largest, total, limit, shift):
    """The loss of one row, fine, from the difference of its own class."""
    score = min(max(-own, -limit), limit)
    log = _logarithm(total)
    return ((largest - score) << shift) + np.int64(np.rint(log * np.float64(_ONE)))


@compiled
def softmax_residuals(diff, target, weight, about, start, stop, out, limbs):
    """Write, class by class, the row's own class less the probability, in steps; add the losses to `limbs`. `about`:
    table, limit and shift."""
    _, limit, shift = about
    weighted = len(weight) > 0
    shares, rows = np.empty((len(diff), _TOGETHER), np.int64), np.empty((2, _TOGETHER), np.int64)
    steps = np.empty(_TOGETHER)
    whole = 1 << (FINE - shift)
    one = np.float64(whole)
    high, low = 0, 0
    for first in range(start, stop, _TOGETHER):
        few = min(_TOGETHER, stop - first)
        _weigh_classes(diff, first, first + few, about, shares, rows)
        largest, total = rows[0], rows[1]
        for i in range(few):
            steps[i] = one / np.float64(total[i])
        for k in range(len(diff)):
            share, part = shares[k], out[k, first : first + few]
            for i in range(few):
                part[i] = -np.int64(np.rint(np.float64(share[i]) * steps[i]))
        for i in range(few):
            row = first + i
            out[target[row], row] += whole
            loss = _softmax_loss(diff[target[row], row], largest[i], total[i], limit, shift)
            w = weight[row] if weighted else 1
            high += w * (loss >> LIMB)
            low += w * (loss & ((1 << LIMB) - 1))
    limbs[0] += high
    limbs[1] += low


@compiled
def softmax_sums(diff, target, weight, about, start, stop, out):
    """What :func:`logistic_sums` adds, of several classes."""
    table, limit, shift, most = about
    weighted = len(weight) > 0
    shares, rows = np.empty((len(diff), _TOGETHER), np.int64), np.empty((2, _TOGETHER), np.int64)
    high, low = 0, 0
    for first in range(start, stop, _TOGETHER):
        few = min(_TOGETHER, stop - first)
        _weigh_classes(diff, first, first + few, (table, limit, shift), shares, rows)
        for i in range(few):
            row = first + i
            loss = _softmax_loss(diff[target[row], row], rows[0, i], rows[1, i], limit, shift)
            w = weight[row] if weighted else 1
            if most > 0.0:
                high += w * _squared_share(loss, most)
            else:
                high += w * (loss >> LIMB)
                low += w * (loss & ((1 << LIMB) - 1))
    out[0] += high
    if most == 0.0:
        out[1] += low
