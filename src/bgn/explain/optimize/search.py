"""The row with the highest score, and the proof: column by column where columns stand alone, by trying all rows where
they are few, else by a program.

No proof rests on one answer of a solver. What attains a score is a row that the network has confirmed; a region is
ruled out by a proof in fractions (:mod:`bgn.explain.optimize.program`); and where regions are too many to be listed,
two programs, written differently, must agree that nothing is higher.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from bgn.explain.crossings import crossings
from bgn.explain.optimize.pieces import ColumnPieces, SharedSum, column_pieces
from bgn.explain.optimize.problem import ScoreProblem
from bgn.explain.optimize.program import THIN, Inside, Region, RegionProgram
from bgn.model.step import Floats


@dataclass(frozen=True, eq=False)
class Highest:
    """The best row, NaN for a gap; None where none was found. Its value, an upper bound, and whether they agree."""

    row: Floats | None
    value: float
    bound: float
    proven: bool


def highest(problem: ScoreProblem, deadline: float) -> Highest:
    """Return the row of a domain with the highest score."""
    row, bound, value, proven = problem.domain.start.copy(), 0.0, 0.0, True
    for part in problem.parts():
        found = _of_part(part, deadline)
        if found.row is None:
            return Highest(None, -np.inf, found.bound, found.proven)
        row[part.columns] = found.row[part.columns]
        bound, value, proven = bound + found.bound, value + found.value, proven and found.proven
    return Highest(row + 0.0, value, bound, proven)


def _of_part(problem: ScoreProblem, deadline: float) -> Highest:
    """Return the best row of a problem whose columns hang together."""
    columns = problem.columns
    if apart := problem.beyond():
        found = [_beyond(each, deadline) for each in apart]
        best = max(found, key=lambda each: each.value)
        bound = max(each.bound for each in found)
        return Highest(best.row, best.value, bound, best.row is not None and all(each.proven for each in found))
    problem = problem.bounded()
    if len(columns) == 1 and not problem.deeper:
        return _alone(problem, columns[0])
    tried = best_row(problem)
    return _by_program(problem, deadline) if tried is None else Highest(*tried, tried[1], True)


def _beyond(problem: ScoreProblem, deadline: float) -> Highest:
    """Return the best row of a part of a problem, with what a slope adds beyond its end."""
    constant = problem.constant
    found = _of_part(replace(problem, constant=0.0), deadline)
    if found.row is None:
        return found
    # Columns that nothing asks about here keep to their side of the end, too.
    row = np.where(np.isnan(found.row), np.nan, np.clip(found.row, problem.domain.low, problem.domain.high))
    row[[*problem.domain.absent]] = np.nan
    return Highest(row, found.value + constant, found.bound + constant, found.proven)


def _alone(problem: ScoreProblem, column: int) -> Highest:
    """Return the best value of one column: every piece is tried."""
    each, slope = column_pieces(problem.neurons, problem.domain, column), float(problem.slopes[column])
    limits = each.answers[:, problem.width :]
    ends = each.spans[:, 1 if slope > 0 else 0]
    values = each.answers[:, : problem.width] @ problem.weights + (slope * ends if slope else 0.0)
    values = np.where((limits > 0).all(axis=1), values, -np.inf)
    best = int(values.argmax())
    if not np.isfinite(values[best]):
        return Highest(None, -np.inf, -np.inf, True)
    row = problem.domain.start.copy()
    low, high = each.spans[best]
    if slope or not low <= row[column] <= high:
        row[column] = ends[best] if slope else neat(low, high, bool(problem.domain.whole[column]))
    return Highest(row, float(values[best]), float(values[best]), True)


def neat(low: float, high: float, whole: bool = False) -> float:
    """Return a number of few digits from `low` to `high`; NaN for a gap."""
    if not low < high or whole:
        return float(low)
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        for value in (0.0, float(f"{middle:.{digits}g}"), float(f"{low:.{digits}g}"), float(f"{high:.{digits}g}")):
            if low <= value <= high:
                return value
    return float(low)


def _by_program(problem: ScoreProblem, deadline: float) -> Highest:
    """Solve the program, and rule out regions that no row is in, until a row attains the bound."""
    program = RegionProgram(problem)
    best, value, bound, unclear = None, -np.inf, np.inf, -np.inf
    while (left := deadline - time.monotonic()) > 0:
        attained = value >= bound - program.same
        if attained and (program.listed is not None or not program.tells_apart):
            # A solver that cannot tell some weights apart knows no more than that the rest is near.
            room = 0.0 if program.tells_apart else 10.0 * program.same
            return Highest(best, value, max(bound, value) + room, program.tells_apart)
        # Where nobody has checked the bound another program must find nothing beyond it, either.
        region = program.solve(left, above=value + program.same if attained else None)
        if region is None and (attained or unclear > value + program.same):
            return Highest(best, value, max(unclear, bound if attained else value, value), attained)
        if region is None:
            bound = max(unclear, value)
            continue
        bound = max(max(bound, region.bound) if attained else min(bound, region.bound), unclear, value)
        if not attained and value >= bound - program.same:
            continue
        if not region.columns:
            break
        row, columns, sums, known = _enter(program, region)
        if row is not None and problem.value(row) > value:
            best, value = row, problem.value(row)
        if not known or (row is not None and problem.value(row) < region.value - program.same):
            unclear = max(unclear, region.value)  # nobody knows, or slopes lead to an edge that no row was found beside
        if not region.finished:
            break
        program.rule_out(region, columns, sums)
    return Highest(best, value, max(bound, value), False)


def is_empty(problem: ScoreProblem, wanted: Floats) -> bool:
    """Whether it is proven that no row of a domain has these answers to all questions."""
    program, places = RegionProgram(problem), list[int]()
    cut: list[ColumnPieces | SharedSum] = [*program.columns, *program.sums]
    for each in cut:
        pieces = np.flatnonzero((each.answers == wanted[each.neurons]).all(axis=1))
        if len(pieces) != 1:
            return not len(pieces)
        places.append(int(pieces[0]))
    count = len(program.columns)
    row, _, _, known = _enter(program, Region(tuple(places[:count]), tuple(places[count:]), 0.0, 0.0, True))
    return row is None and known


def _enter(program: RegionProgram, region: Region) -> tuple[Floats | None, set[int], set[int], bool]:
    """Return a row inside a region, or which of its pieces keep rows out: numbers of columns and of sums.

    Without a row, whether it is proven that there is none, but for rows within `THIN` of edges.
    """
    everything = set(range(len(program.columns))), set(range(len(program.sums)))
    inside, value = Inside(program, region, *everything), program.problem.value
    room = inside.room()
    if room.most < 0.0:
        return None, *room.blame, True
    if room.most <= THIN and not inside.lattice:
        behind = inside.room(every_edge=False)
        if behind.most <= THIN:  # all its rows would lie on edges that do not belong to it
            return None, *behind.blame, True
    found = [row for row in map(inside.row, inside.steps(room.most)) if row is not None]
    if found:
        return max(found, key=value), *everything, True
    if inside.lattice:
        row, known = inside.among_whole_numbers()
        return row, *everything, known
    if room.most > THIN or room.blame == everything:
        return None, *everything, room.most <= THIN
    # Nothing but a touch of edges: those alone are looked at, and blamed where they cannot touch either.
    alone = Inside(program, region, *room.blame)
    touched = any(row is not None for row in map(alone.row, alone.steps(room.most)))
    return None, *(everything if touched else room.blame), True


# -- Rows that stand for all rows of a problem, where they are few: no proof is simpler than to try them.

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
    domain, gap = problem.domain, [np.nan] * bool(problem.domain.missing[column])
    categories = domain.categories[column]
    if categories is not None:
        return np.tile([*map(float, categories), *gap], (len(rows), 1))
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
