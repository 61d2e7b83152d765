"""The effect of a number with a linear term on predictions within bounds: it steps, and bends where they cut off.

Along the column every background row has a score that steps at crossings and rises by the linear term between its ends.
Within bounds that is a line with finitely many bends, and so is the mean over the rows: intercepts and slopes change at
known places, and are added up in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.explain.one_effect import Effect
from bgn.model.link import bounded
from bgn.model.network import Network
from bgn.model.step import Floats


def bent_effect(network: Network, column: int, places: Floats, scores: Floats, missing: float | None) -> Effect:
    """Return the mean over rows of predictions within bounds as a column with a linear term moves.

    `places`, shape (rows, crossings), are where each row's score steps, and `scores`, shape (rows, crossings + 1), what
    it is between them, without this column's term.
    """
    term = next(each for each in network.linear_terms if each.column == column)
    slope, ends = term.slopes[0], np.array([term.low, term.high])
    firsts = np.column_stack([np.full(len(places), -np.inf), places])
    lasts = np.column_stack([places, np.full(len(places), np.inf)])
    with np.errstate(invalid="ignore"):
        cut = [(bound - scores) / slope for bound in network.bounds or () if np.isfinite(bound)]
    # Where pieces begin: a crossing, an end of the term, or where the score meets a bound between the two.
    inner = [np.broadcast_to(end, scores.shape) for end in ends] + cut
    edges = np.stack([firsts, *(np.clip(each, firsts, lasts) for each in inner)], axis=2)
    edges.sort(axis=2)
    after = np.concatenate([edges[:, :, 1:], lasts[:, :, np.newaxis]], axis=2)
    there = (edges < after).ravel()
    start, stop = edges.ravel()[there], after.ravel()[there]
    score = np.broadcast_to(scores[:, :, np.newaxis], edges.shape).ravel()[there]
    row = np.broadcast_to(np.arange(len(scores))[:, np.newaxis, np.newaxis], edges.shape).ravel()[there]
    middle = np.where(np.isinf(start), stop - 1.0, np.where(np.isinf(stop), start + 1.0, start / 2 + stop / 2))
    middle = np.where(np.isinf(middle) | np.isnan(middle), 0.0, middle)
    total = score + slope * np.clip(middle, *ends)
    steep = (middle > ends[0]) & (middle < ends[1]) & (bounded(total, network.bounds) == total)
    level = bounded(total, network.bounds) - np.where(steep, slope * middle, 0.0)  # at zero, were it a line
    return _mean(network, column, missing, (start, level, steep, row), slope, len(scores))


def _mean(
    network: Network, column: int, missing: float | None, pieces: tuple[Any, ...], slope: float, rows: int
) -> Effect:
    """Return the mean of rows' pieces: where each begins, its intercept, whether it rises, and whose it is."""
    start, level, steep, row = pieces
    first = np.append(True, row[1:] != row[:-1])
    changes = np.where(first, level, np.diff(level, prepend=0.0))
    rising = steep.astype(np.int64)
    turns = np.where(first, rising, np.diff(rising, prepend=0))
    points, slot = np.unique(start, return_inverse=True)
    intercepts = np.cumsum(np.bincount(slot, weights=changes, minlength=len(points))) / rows
    count = np.cumsum(np.bincount(slot, weights=turns, minlength=len(points)))
    bends = np.rint(count) * slope / rows
    levels = intercepts + np.append(0.0, bends[1:] * points[1:])
    kind = network.schema.columns[column]
    return Effect(kind, points[1:], levels, missing, network.target_name, bends=bends)
