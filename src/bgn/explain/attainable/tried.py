"""Rows that stand for all rows of a problem, where they are few: no proof is simpler than to try them.

A column that no question adds to others has a value for each of its pieces. One that is added has all its levels or
whole numbers; a single number among such columns has, row by row, both sides of every place where a question about it
changes its answer, to the last float.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from bgn.explain.attainable.pieces import column_pieces
from bgn.explain.attainable.problem import ScoreProblem
from bgn.explain.crossings import crossings
from bgn.model.step import Floats

# Rows up to which all are tried.
_ROWS = 10_000


def best_row(problem: ScoreProblem) -> tuple[Floats | None, float] | None:
    """Return the best of all rows, None where limits allow none, and its value; None where rows are too many."""
    long = [column for column in problem.columns if values_of(problem, column) is None]
    if len(long) > 1:
        return None
    rows = rows_but(problem, long[0] if long else None)
    if rows is None:
        return None
    if long:
        places = places_along(problem, long[0], rows)
        rows = np.repeat(rows, places.shape[1], axis=0)
        rows[:, long[0]] = places.ravel()
    scores = problem.values(rows)
    best = int(scores.argmax())
    return rows[best] if np.isfinite(scores[best]) else None, float(scores[best])


def rows_but(problem: ScoreProblem, column: int | None) -> Floats | None:
    """Return all rows but for a column, which the caller moves; None where they are too many."""
    others = [each for each in problem.columns if each != column]
    moved = 0 if column is None else sum(column in neuron.projection.columns for neuron in problem.neurons)
    options = [values_of(problem, each) for each in others]
    known = [each for each in options if each is not None]
    if len(known) < len(options) or prod(map(len, known)) * (2 * moved + 1) > _ROWS:
        return None
    values = np.array(list(product(*known)), np.float64).reshape(prod(map(len, known)), len(others))
    rows = np.tile(problem.domain.start, (len(values), 1))
    rows[:, others] = values
    return rows


def values_of(problem: ScoreProblem, column: int) -> Floats | None:
    """Return the values of a column that stand for all, the one it starts from first; None where they are too many."""
    domain, slope = problem.domain, float(problem.slopes[column])
    each, start = column_pieces(problem.neurons, domain, column), domain.start[column]
    (low, high), several = each.spans.T, (neuron.projection.columns for neuron in problem.neurons)
    if each.category or not any(column in columns for columns in several if len(columns) > 1):
        here = (low <= start) & (start <= high)
        held = high if slope > 0 else low if slope < 0 else np.where(here, start, low)
    elif domain.whole[column] and domain.high[column] - domain.low[column] < _ROWS:
        held = np.arange(domain.low[column], domain.high[column] + 1.0)
        held = np.append(held[: 0 if column in domain.absent else None], [np.nan] * (each.gap is not None))
    else:
        return None
    return np.concatenate([held[held == start], held[held != start]])


def places_along(problem: ScoreProblem, column: int, rows: Floats) -> Floats:
    """Return values of a column, for every row in a row of their own, that stand for all: in order, a gap last."""
    domain, gap = problem.domain, [np.nan] * bool(problem.domain.gaps[column])
    levels = domain.levels[column]
    if levels is not None:
        return np.tile([*map(float, levels), *gap], (len(rows), 1))
    low, high = float(domain.low[column]), float(domain.high[column])
    if domain.whole[column] and high - low < _ROWS // (len(rows) + 1):
        return np.tile([*np.arange(low, high + 1.0), *gap], (len(rows), 1))
    ends = [] if problem.ends is None else [each for each in problem.ends[column] if low <= each <= high]
    turns = [np.full(len(rows), each) for each in (low, *ends, high)]
    for neuron in problem.neurons:
        if column in neuron.projection.columns:
            at = crossings(neuron, column, rows)
            turns += [at, np.nextafter(at, -np.inf)]
    places = np.array(turns).T
    if domain.whole[column]:
        places = np.concatenate([np.floor(places), np.ceil(places)], axis=1)
    places = np.sort(np.clip(places, low, high), axis=1)
    return np.concatenate([places, np.full((len(rows), len(gap)), np.nan)], axis=1)
