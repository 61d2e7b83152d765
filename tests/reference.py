"""Slow twins of what growth does fast, written from the definitions in the paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np


def best_split(z, residual, weight=None):
    """Try all splits of the sorted projections; of equal gains the smallest cut. None when nothing gains.

    Returns (gain, weight below, sum below, projection below, projection above). The gain is the drop of the mean
    squared residual when each side gets its own mean, in the arithmetic that the engines promise.
    """
    weight = [1] * len(z) if weight is None else [int(w) for w in weight]
    order = sorted(range(len(z)), key=lambda i: z[i])
    rows, total = sum(weight), sum(w * int(r) for w, r in zip(weight, residual, strict=True))
    best = None
    n, s = 0, 0
    for before, after in pairwise(order):
        n += weight[before]
        s += weight[before] * int(residual[before])
        if z[before] == z[after]:
            continue
        excess = float(s) - float(n) * (float(total) / float(rows))
        gain = excess * excess / (float(n) * float(rows - n))
        if gain > 0 and (best is None or gain > best[0]):
            best = (gain, n, s, z[before], z[after])
    return best


def split_variance(residual, fires):
    """Eq. (2): the variance left when each side of a split gets its own mean, exactly."""
    left = Fraction(0)
    for side in (True, False):
        values = [Fraction(int(r)) for r, f in zip(residual, fires, strict=True) if bool(f) is side]
        if values:
            mean = sum(values) / len(values)
            left += sum((v - mean) ** 2 for v in values)
    return left / len(residual)


def ridge_weights(H, target, ridge):
    """Least squares with a penalty on all weights but the constant's, by the normal equations."""
    design = np.column_stack([np.ones(len(H)), H])
    penalty = ridge * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    return np.linalg.solve(design.T @ design + penalty, design.T @ target)
