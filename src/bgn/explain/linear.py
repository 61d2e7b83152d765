"""Least squares on all columns: what models are compared with."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve

from bgn.model.step import Floats

_RIDGE = 1e-9  # of a standardised column's own size
_FAR = 1e30  # standard deviations; scikit-learn's trees read single precision


def standardised(rows: Floats, judged: Floats) -> tuple[Floats, Floats]:
    """Return rows, and others to judge by, with the former's columns centred and of size 1, whatever their scale."""
    size = np.maximum(np.abs(rows).max(axis=0), np.finfo(np.float64).tiny)  # 1e300 has no square
    scaled = rows / size
    centre, spread = scaled.mean(axis=0), scaled.std(axis=0)
    spread[np.ptp(scaled, axis=0) == 0] = 1.0
    scaled = (scaled - centre) / spread
    return scaled, scaled if judged is rows else np.clip((judged / size - centre) / spread, -_FAR, _FAR)


def linear_predictions(rows: Floats, target: Floats, judged: Floats) -> Floats:
    """Return what least squares on `rows` predicts for the rows `judged`.

    The system is as small as the fewer of rows and columns; the slightest of ridges makes it solvable, whatever columns
    repeat each other.
    """
    table, asked = standardised(rows, judged)
    wide = len(table) < table.shape[1]
    products = table @ table.T if wide else table.T @ table
    products.flat[:: len(products) + 1] += _RIDGE * len(table)
    residual = target - target.mean()
    solved = solve(products, residual if wide else table.T @ residual, assume_a="pos", check_finite=False)
    return np.asarray(target.mean() + asked @ (table.T @ solved if wide else solved))
