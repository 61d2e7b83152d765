"""The row with the highest score, and the proof: column by column where columns stand alone, by trying all rows where
they are few, else by a program.

No proof rests on one answer of a solver. What attains a score is a row that the network has confirmed; a region is
ruled out by a proof in fractions (:mod:`bgn.explain.attainable.inside`); and where regions are too many to be listed,
two programs, written differently, must agree that nothing is higher.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from bgn.explain.attainable.inside import THIN, Inside
from bgn.explain.attainable.pieces import ColumnPieces, SharedSum, column_pieces
from bgn.explain.attainable.problem import ScoreProblem
from bgn.explain.attainable.program import Region, RegionProgram
from bgn.explain.attainable.tried import best_row
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
