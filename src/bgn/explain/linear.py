"""Least squares and logistic regression on all columns: what models are compared with."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import solve

from bgn.model.schema import Schema
from bgn.model.step import Floats

MOST_LEVELS = 100
"""Levels of a category that have a 0/1 column of their own: tens of thousands would take gigabytes."""

_RIDGE = 1e-9  # of a standardised column's own size
_NEVER = 700.0  # a score so low that its probability is next to nothing
_FAR = 1e30  # standard deviations; scikit-learn's trees read single precision


def known(rows: Floats) -> Floats:
    """Return rows with 0 in columns that hold nothing."""
    return np.where(np.isnan(rows).all(axis=0), 0.0, rows)


def as_numbers(schema: Schema, rows: Floats, learnt: Floats) -> Floats:
    """Return encoded rows as numbers that any model takes.

    A category is one 0/1 column per level, for the commonest :data:`MOST_LEVELS` of the rows `learnt` from; a gap is
    their median.
    """
    if schema.all_numbers and not np.isnan(rows).any():
        return rows
    parts = list[Floats]()
    for kind, column, others in zip(schema.columns, rows.T, known(learnt).T, strict=True):
        if kind.levels is None:
            parts.append(np.where(np.isnan(column), np.nanmedian(others), column))
        else:
            parts += [(column == code).astype(np.float64) for code in _commonest(others, len(kind.levels))]
    return np.stack(parts, axis=1) if parts else np.zeros((len(rows), 1))


def _commonest(codes: Floats, count: int) -> list[int]:
    """Return the numbers of the commonest levels, in their order: all of them where they are few."""
    if count <= MOST_LEVELS:
        return list(range(count))
    times = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=count)
    return sorted(np.argsort(-times, kind="stable")[:MOST_LEVELS].tolist())


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


def logistic_scores(rows: Floats, codes: Floats, judged: Floats, count: int) -> Floats:
    """Return the scores that logistic regression on `rows` gives the rows `judged`: one column per class.

    It is scikit-learn's, on standardised columns with its usual penalty; a class that `rows` lack is never said.
    """
    from sklearn.linear_model import LogisticRegression

    table, asked = standardised(rows, judged)
    found = np.full((len(asked), count), -_NEVER)
    known = np.unique(codes).astype(int)
    if len(known) == 1:
        found[:, known[0]] = 0.0
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # after so many steps the rest does not matter here
        model = LogisticRegression(max_iter=500).fit(table, codes.astype(int))
    scores = model.decision_function(np.clip(asked, -1e6, 1e6))
    found[:, known] = np.stack([np.zeros(len(asked)), scores], axis=1) if scores.ndim == 1 else scores
    return found


def majority_scores(codes: Floats, judged: int, count: int) -> Floats:
    """Return the scores that say the same of all rows: the shares of the classes."""
    shares = np.bincount(codes.astype(int), minlength=count) / len(codes)
    logs = np.log(shares, out=np.full(count, -_NEVER), where=shares > 0)
    return np.tile(logs, (judged, 1))
