"""Inverses that grow and shrink by a column."""

from __future__ import annotations

import numpy as np

from bgn.engines.protocol import Floats, Integers


def with_one_more(inverse: Floats, pull: Floats, own: float) -> Floats:
    """The inverse for one more column, the last: `pull` is inverse times its products, `own` what is new in it."""
    n = len(inverse)
    grown = np.empty((n + 1, n + 1))
    grown[:n, :n] = inverse + np.outer(pull, pull) / own
    grown[:n, n] = grown[n, :n] = -pull / own
    grown[n, n] = 1.0 / own
    return grown


def taken_out(inverse: Floats, k: int) -> tuple[Floats, Integers]:
    """The inverse for all columns but number `k`, and the numbers of those columns."""
    keep = np.arange(len(inverse) - 1)
    keep[k:] += 1
    return among(inverse, keep) - np.outer(inverse[keep, k], inverse[k, keep]) / inverse[k, k], keep


def among(matrix: Floats, which: Integers) -> Floats:
    """Some rows of a matrix and the same columns."""
    return np.asarray(matrix[which[:, None], which])
