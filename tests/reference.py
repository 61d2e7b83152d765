"""Slow twins of what growth does fast, written from the definitions in the paper."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from sklearn.linear_model import Lasso


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


def lasso_direction(X, residual, most):
    """The paper's direction by bisection on scikit-learn's Lasso penalty: at most `most` columns."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    low, high = 0.0, float(np.abs(Z.T @ residual).max() / len(residual))
    weights = np.zeros(X.shape[1])
    for _ in range(30):
        penalty = (low + high) / 2
        fit = Lasso(alpha=penalty, max_iter=10_000).fit(Z, residual)
        if np.count_nonzero(fit.coef_) <= most:
            high, weights = penalty, fit.coef_
        else:
            low = penalty
    return weights / X.std(axis=0)


def literal_neuron(X, residual, most=2):
    """One neuron as the paper's Algorithm 1 defines it: Lasso, all m + 1 splits, side means."""
    weights = lasso_direction(X, residual, most)
    projection = X @ weights
    order = np.argsort(projection)
    best = None
    for split in range(len(order) + 1):
        below, above = residual[order[:split]], residual[order[split:]]
        left = (len(below) * np.var(below) if len(below) else 0.0) + (len(above) * np.var(above) if len(above) else 0.0)
        if best is None or left < best[0]:
            best = (left, split)
    split = best[1]
    if 0 < split < len(order):
        threshold = (projection[order[split - 1]] + projection[order[split]]) / 2
    else:
        threshold = -math.inf if split == 0 else math.inf
    fires = projection >= threshold
    up = residual[fires].mean() if fires.any() else 0.0
    down = residual[~fires].mean() if (~fires).any() else 0.0
    return weights, threshold, (up - down) / 2, (up + down) / 2


def ridge_weights(H, target, ridge):
    """Least squares with a penalty on all weights but the constant's, by the normal equations."""
    design = np.column_stack([np.ones(len(H)), H])
    penalty = ridge * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    return np.linalg.solve(design.T @ design + penalty, design.T @ target)
