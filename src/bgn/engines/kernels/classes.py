"""Loops over rows for losses of classes, compiled; twins of :mod:`bgn.engines.fixed_point` on arrays.

A gap is the score of zero less the row's score, in steps of ``2**-(FINE - shift)``; with several classes there is one
row of gaps per class. `target` is the number of the row's class.
"""

from __future__ import annotations

import math

import numpy as np

from bgn.compiled import compiled
from bgn.engines.fixed_point import BETWEEN, FINE, INVERSES, LOG2_HIGH, LOG2_LOW, MASK, REACH, SQRT2
from bgn.engines.kernels.rows import LIMB

_END = REACH << FINE
_ONE = 1 << FINE
_INVERSES = np.array(INVERSES)


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
def _logarithm(x):
    """See :func:`bgn.engines.fixed_point.logarithm`."""
    mantissa, exponent = math.frexp(x)
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
def logistic_residuals(gap, target, weight, about, start, stop, out, limbs):
    """Write the share of certainty that each row lacks, in steps, signed by its class; add the losses to `limbs`.

    `about`: table, limit and shift.
    """
    table, limit, shift = about
    weighted = len(weight) > 0
    half = (1 << shift) >> 1
    gaps, targets, part = gap[start:stop], target[start:stop], out[start:stop]
    high, low = 0, 0
    for i in range(stop - start):
        score = min(max(gaps[i], -limit), limit)
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
def logistic_losses(gap, target, weight, table, limit, shift, start, stop, out):
    """Add to `out` the losses of some rows, times their weights, in two limbs."""
    weighted = len(weight) > 0
    gaps, targets = gap[start:stop], target[start:stop]
    high, low = 0, 0
    for i in range(stop - start):
        score = min(max(gaps[i], -limit), limit)
        margin = (-score if targets[i] == 1 else score) << shift
        loss = _cubic(abs(margin), table, 4) + max(-margin, 0)
        w = weight[start + i] if weighted else 1
        high += w * (loss >> LIMB)
        low += w * (loss & ((1 << LIMB) - 1))
    out[0] += high
    out[1] += low


@compiled
def logistic_powers(gap, target, weight, about, start, stop, out):
    """Add to ``out[0]`` the squared losses of some rows as shares of the largest, in units of 2^-30.

    `about`: table, limit, shift and the largest loss.
    """
    table, limit, shift, largest = about
    weighted = len(weight) > 0
    total = 0
    for i in range(start, stop):
        score = min(max(gap[i], -limit), limit)
        margin = (-score if target[i] == 1 else score) << shift
        loss = _cubic(abs(margin), table, 4) + max(-margin, 0)
        share = min(np.float64(loss) / largest, 1.0)
        w = weight[i] if weighted else 1
        total += w * int(np.rint(share * share * 1073741824.0))
    out[0] += total


@compiled
def _weigh_classes(gap, i, table, limit, shift, shares):
    """Write ``exp(score - largest)`` of every class to `shares`; the largest score, fine, and their sum."""
    largest = -limit
    for k in range(len(gap)):
        largest = max(largest, min(max(-gap[k, i], -limit), limit))
    total = 0
    for k in range(len(gap)):
        score = min(max(-gap[k, i], -limit), limit)
        shares[k] = _cubic((largest - score) << shift, table, 0)
        total += shares[k]
    return largest, total


@compiled
def softmax_residuals(gap, target, weight, about, start, stop, out, limbs):
    """Write, class by class, the row's own class less the probability, in steps; add the losses to `limbs`.

    `about`: table, limit and shift.
    """
    table, limit, shift = about
    weighted = len(weight) > 0
    shares = np.empty(len(gap), np.int64)
    one = np.float64(1 << (FINE - shift))
    high, low = 0, 0
    for i in range(start, stop):
        largest, total = _weigh_classes(gap, i, table, limit, shift, shares)
        for k in range(len(gap)):
            share = np.float64(shares[k]) / np.float64(total)
            own = 1 << (FINE - shift) if target[i] == k else 0
            out[k, i] = own - np.int64(np.rint(share * one))
        own = min(max(-gap[target[i], i], -limit), limit)
        log = _logarithm(np.float64(total) / np.float64(_ONE))
        loss = ((largest - own) << shift) + np.int64(np.rint(log * np.float64(_ONE)))
        w = weight[i] if weighted else 1
        high += w * (loss >> LIMB)
        low += w * (loss & ((1 << LIMB) - 1))
    limbs[0] += high
    limbs[1] += low


@compiled
def _softmax_loss(gap, target, i, table, limit, shift, shares):
    """The loss of one row, fine."""
    largest, total = _weigh_classes(gap, i, table, limit, shift, shares)
    own = min(max(-gap[target[i], i], -limit), limit)
    log = _logarithm(np.float64(total) / np.float64(_ONE))
    return ((largest - own) << shift) + np.int64(np.rint(log * np.float64(_ONE)))


@compiled
def softmax_losses(gap, target, weight, table, limit, shift, start, stop, out):
    """Add to `out` the losses of some rows, times their weights, in two limbs."""
    weighted = len(weight) > 0
    shares = np.empty(len(gap), np.int64)
    high, low = 0, 0
    for i in range(start, stop):
        loss = _softmax_loss(gap, target, i, table, limit, shift, shares)
        w = weight[i] if weighted else 1
        high += w * (loss >> LIMB)
        low += w * (loss & ((1 << LIMB) - 1))
    out[0] += high
    out[1] += low


@compiled
def softmax_powers(gap, target, weight, about, start, stop, out):
    """Add to ``out[0]`` the squared losses of some rows as shares of the largest, in units of 2^-30.

    `about`: table, limit, shift and the largest loss.
    """
    table, limit, shift, largest = about
    weighted = len(weight) > 0
    shares = np.empty(len(gap), np.int64)
    total = 0
    for i in range(start, stop):
        loss = _softmax_loss(gap, target, i, table, limit, shift, shares)
        share = min(np.float64(loss) / largest, 1.0)
        w = weight[i] if weighted else 1
        total += w * int(np.rint(share * share * 1073741824.0))
    out[0] += total
