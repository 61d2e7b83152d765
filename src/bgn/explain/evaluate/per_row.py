"""Every measure of a model as one value per row, whose mean it is: what pairs two models row by row, and what its
standard error comes of.

Squared and absolute errors, log losses and Brier scores are such means. An AUC, a calibration error and R2 are not, but
nearly: a row's value is the measure itself and what the row moves it by, to first order (of the AUC, DeLong's parts).
"""

from __future__ import annotations

import numpy as np

from bgn.explain.evaluate.judged import JudgedRows, bin_numbers
from bgn.model.step import Bools, Floats

LARGER_IS_BETTER = frozenset({"auc", "accuracy", "r2"})
"""Measures of which more is better; of all others, less."""
BINS = 10
"""Bins of the calibration error."""


def of_numbers(y: Floats, predicted: Floats, weight: Floats | None = None) -> dict[str, Floats]:
    """Return the values of ``r2``, ``mse`` and ``mae``; R2 is 0 where the target does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> rows = of_numbers(np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 2.0]))
    >>> {name: round(float(values.mean()), 3) for name, values in rows.items()}
    {'r2': 0.875, 'mse': 0.083, 'mae': 0.167}
    """
    weight = np.ones(len(y)) if weight is None else weight
    squares, off = (y - predicted) ** 2, (y - np.average(y, weights=weight)) ** 2
    variance, mse = float(np.average(off, weights=weight)), float(np.average(squares, weights=weight))
    share = np.zeros(len(y))
    if variance:
        share += 1.0 - mse / variance  # the mean of the next line is zero
        share += (mse / variance * off - squares) / variance
    return {"r2": share, "mse": squares, "mae": np.abs(y - predicted)}


def of_classes(judged: JudgedRows, bins: int = BINS) -> dict[str, Floats]:
    """Return the values of ``auc``, ``log_loss``, ``brier``, ``calibration_error`` and ``accuracy``."""
    rows, count = np.arange(len(judged.codes)), len(judged.classes)
    off = (judged.probabilities - np.eye(count)[judged.codes]) ** 2
    right = judged.predicted == judged.codes
    if count == 2:
        order = auc_values(judged, 1)
        surprise = _surprise(judged.probabilities[:, 1], judged.is_class(1), judged.weight, bins)
    else:
        order = np.mean([auc_values(judged, k) for k in range(count)], axis=0)
        surprise = _surprise(judged.probabilities[rows, judged.predicted], right, judged.weight, bins)
    return {
        "auc": order,
        "log_loss": -judged.log_probabilities[rows, judged.codes],
        "brier": off[:, 1] if count == 2 else off.sum(axis=1),
        "calibration_error": surprise,
        "accuracy": right.astype(np.float64),
    }


def auc_values(judged: JudgedRows, k: int) -> Floats:
    """Return values whose mean is the AUC of a class against the others; NaN where rows of either are lacking."""
    one = judged.of_class(k)
    below, above = one.placements()
    found = np.where(one.member, below, above)
    total, of_members = one.weight.sum(), one.weight[one.member].sum()
    if not 0 < of_members < total:
        return np.full(len(found), np.nan)
    auc = np.average(below[one.member], weights=one.weight[one.member])
    heavier = np.where(one.member, total / of_members, total / (total - of_members))
    return np.asarray(auc + heavier * (found - auc))


def _surprise(probability: Floats, happened: Bools, weight: Floats, bins: int) -> Floats:
    """Return values whose mean is the calibration error: a row's own error, with the sign that its bin's has."""
    which, error = bin_numbers(probability, weight, bins), probability - happened
    return np.asarray(np.sign(np.bincount(which, weight * error))[which] * error)
