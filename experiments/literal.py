"""The paper's definitions taken literally: a slow program to measure against, and to test ours with."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

Floats = NDArray[np.float64]


def lasso_direction(X: Floats, residual: Floats, most: int) -> Floats:
    """Return the paper's direction by bisection on scikit-learn's Lasso penalty: at most `most` columns."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    low, high = 0.0, float(np.abs(Z.T @ residual).max() / len(residual))
    weights: Floats = np.zeros(X.shape[1])
    for _ in range(30):
        penalty = (low + high) / 2
        fit = Lasso(alpha=penalty, max_iter=10_000).fit(Z, residual)
        if np.count_nonzero(fit.coef_) <= most:
            high, weights = penalty, fit.coef_
        else:
            low = penalty
    return weights / X.std(axis=0)


def literal_neuron(X: Floats, residual: Floats, most: int = 2) -> tuple[Floats, float, float, float]:
    """Return direction, threshold, weight and base of one neuron of Algorithm 1.

    Lasso, all m + 1 splits, side means.
    """
    weights = lasso_direction(X, residual, most)
    projection = X @ weights
    order = np.argsort(projection)
    best = (math.inf, 0)
    for split in range(len(order) + 1):
        below, above = residual[order[:split]], residual[order[split:]]
        left = (len(below) * np.var(below) if len(below) else 0.0) + (len(above) * np.var(above) if len(above) else 0.0)
        if left < best[0]:
            best = (float(left), split)
    split = best[1]
    if 0 < split < len(order):
        threshold = float(projection[order[split - 1]] + projection[order[split]]) / 2
    else:
        threshold = -math.inf if split == 0 else math.inf
    fires = projection >= threshold
    up = float(residual[fires].mean()) if fires.any() else 0.0
    down = float(residual[~fires].mean()) if (~fires).any() else 0.0
    return weights, threshold, (up - down) / 2, (up + down) / 2


def literal_residual(X: Floats, y: Floats, neurons: int) -> Floats:
    """Return what is left of the target after so many neurons, each grown on what the others left."""
    residual = y.copy()
    for _ in range(neurons):
        weights, threshold, weight, base = literal_neuron(X, residual)
        residual = residual - base - np.where(X @ weights >= threshold, weight, -weight)
    return residual
