"""The search behind a counterfactual: enumeration first, then the program, region by region, until it is proven."""

from __future__ import annotations

import time

import numpy as np

from bgn.explain.enumeration import best_along, change_one, change_two, climb, complete
from bgn.explain.program import Program, Solution
from bgn.explain.question import Question
from bgn.model.step import Floats

# Costs closer than this, relatively, are the same: the solver promises no more.
_SAME = 1e-6
# How far inside its region, relative to the columns' ranges, a row is placed: from edges that belong to it and from
# those that do not.
_INSETS = (
    (0.0, 0.0),
    (1e-13, 1e-13),
    (1e-11, 1e-11),
    (1e-9, 1e-9),
    (1e-7, 1e-7),
    (0.0, 1e-9),
    (0.0, 1e-5),
    (1e-5, 1e-5),
)
# A column without bounds is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0


def cheapest_row(question: Question, deadline: float) -> tuple[Floats | None, float, bool]:
    """Return the cheapest row that will do, a lower bound of the cost, and whether the row is proven cheapest."""
    row = change_one(question)
    cost = np.inf if row is None else float(question.price(row[np.newaxis])[0])
    if cost == 0:
        return row, 0.0, True
    most = len(question.parts) if question.max_changed is None else min(question.max_changed, len(question.parts))
    if most >= 2:
        # As a proof for two parts, as a start for more: then not for long.
        now = time.monotonic()
        pair = change_two(question, cost, deadline if most == 2 else now + 0.1 * (deadline - now))
        if pair is not None:
            row, cost = pair, float(question.price(pair[np.newaxis])[0])
    tiny = cost <= 1e-12 * float(np.abs(question.x) @ question.costs) + 1e-200  # nothing that a solver could tell apart
    if tiny or most <= 1 or (most == 2 and complete(question, cost)):
        proven = time.monotonic() <= deadline
        return row, cost if proven else 0.0, proven
    start = climb(question)
    if start is not None and question.price(start[np.newaxis])[0] < cost:
        start = _tighten(question, start)
        if question.allows(start[np.newaxis])[0]:
            row, cost = start, float(question.price(start[np.newaxis])[0])
    reach = _reach(question, cost)
    row, bound, proven = _by_program(question, row, cost, reach, deadline)
    if row is not None:
        cost = float(question.price(row[np.newaxis])[0])
        if not _covers(question, reach, cost):
            row, bound, proven = _by_program(question, row, cost, _reach(question, cost), deadline)
    return row, bound, proven


def _reach(question: Question, cost: float) -> Floats:
    """Return how far each column need be moved: no farther than an answer's cost pays for."""
    if np.isfinite(cost):
        return cost * (1 + 1e-9) / question.costs
    x, layer = question.x, question.layer
    spread = np.where(np.isfinite(question.high - question.low), question.high - question.low, 0.0)
    missing = np.abs(layer.thresholds - layer.project(x[np.newaxis])[0]) + np.abs(layer.weights) @ spread
    sizes = np.abs(layer.weights)
    far = np.divide(missing[:, np.newaxis], sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return _FAR * (far.max(axis=0, initial=0.0) + 1.0)


def _covers(question: Question, reach: Floats, cost: float) -> bool:
    """Whether all rows of at most this cost were within reach."""
    needed = np.minimum(cost / question.costs, np.maximum(question.high - question.x, question.x - question.low))
    moving = [column for part in question.parts for column in part]
    return bool((needed[moving] <= reach[moving] * (1 + 1e-6)).all())


def _by_program(
    question: Question, row: Floats | None, cost: float, reach: Floats, deadline: float
) -> tuple[Floats | None, float, bool]:
    """Improve on a row until the program proves that nothing is cheaper, region by region."""
    program, bound = Program(question, reach), 0.0
    while (left := deadline - time.monotonic()) > 0:
        solution = program.solve(left, ceiling=cost)
        if solution is None:
            return row, cost, True
        bound = max(bound, solution.bound)
        if cost <= bound * (1 + _SAME):
            return row, bound, True
        if solution.x is None:
            break
        better = _enter(program, solution, deadline)
        if better is not None and question.price(better[np.newaxis])[0] < cost:
            row, cost = better, float(question.price(better[np.newaxis])[0])
        if cost <= bound * (1 + _SAME):
            return row, bound, True
        if not solution.finished:
            break
        program.rule_out(solution)
    return row, bound, False


def _enter(program: Program, solution: Solution, deadline: float) -> Floats | None:
    """Return the cheapest row inside a region that the network confirms, or None if the region holds none."""
    question, best, best_cost = program.question, None, np.inf
    aim = np.inf
    for insets in _INSETS:
        found = program.solve(max(deadline - time.monotonic(), 0.1), inside=solution, insets=insets)
        if found is None or found.x is None:
            continue
        aim = min(aim, float(question.price(found.x[np.newaxis])[0]))
        row = _tighten(question, _settle(program, found))
        if question.allows(row[np.newaxis])[0]:
            cost = float(question.price(row[np.newaxis])[0])
            if cost < best_cost:
                best, best_cost = row, cost
            if best_cost <= aim * (1 + 1e-9):
                break
    return best


def _settle(program: Program, solution: Solution) -> Floats:
    """Move the solver's values, right to a millionth, onto the floats that are meant."""
    question = program.question
    assert solution.x is not None
    row = solution.x.copy()
    row[question.integer] = np.rint(row[question.integer])
    near = np.zeros(len(row))
    near[program.columns] = 1e-7 * program.scale
    same = np.abs(row - question.x) <= near
    row[same] = question.x[same]
    row = np.clip(row, question.low, question.high)
    for each, piece in zip(program.directions, solution.pieces, strict=True):
        if np.count_nonzero(each.weights) == 1:
            column = int(np.flatnonzero(each.weights)[0])
            row[column] = np.clip(row[column], *each.edges[piece])
    return row


def _tighten(question: Question, row: Floats) -> Floats:
    """Bring every changed column, one after the other, as near to where it was as the prediction allows."""
    single = [part[0] for part in question.parts if len(part) == 1]
    fine = bool(question.allows(row[np.newaxis])[0])
    for column in [*single, *reversed(single)]:
        if row[column] == question.x[column]:
            continue
        trial = row.copy()
        trial[column] = best_along(question, column, row[np.newaxis])[0]
        nearer = abs(trial[column] - question.x[column]) < abs(row[column] - question.x[column])
        if (nearer or not fine) and question.allows(trial[np.newaxis])[0]:
            row, fine = trial, True
    return row


def neat(question: Question, row: Floats) -> Floats:
    """Write every changed value with the fewest digits that cost no more, to a billionth, and still do."""
    ceiling = question.price(row[np.newaxis])[0] * (1 + 1e-9)
    for column in np.flatnonzero(row != question.x):
        for value in (0.0, *(float(f"{row[column]:.{digits}g}") for digits in range(1, 16))):
            trial = row.copy()
            trial[column] = value
            if question.price(trial[np.newaxis])[0] <= ceiling and question.allows(trial[np.newaxis])[0]:
                row = trial
                break
    return row


def nearest_miss(question: Question, deadline: float) -> tuple[Floats | None, bool]:
    """Return the allowed row whose prediction comes nearest to the wanted ones, and whether that is proven."""
    program = Program(question, _reach(question, np.inf))
    best = question.x.copy() if question.allows(question.x[np.newaxis], wanted=False)[0] else None
    miss = np.inf if best is None else float(question.misses(best[np.newaxis])[0])
    while (left := deadline - time.monotonic()) > 0:
        solution = program.solve(left, missing=True)
        if solution is None:
            return best, True
        if solution.x is None or solution.bound >= miss - _SAME * program.unit:
            return best, solution.x is not None
        for insets in _INSETS:
            found = program.solve(max(left, 0.1), missing=True, inside=solution, insets=insets)
            if found is None or found.x is None:
                continue
            row = _settle(program, found)
            away = float(question.misses(row[np.newaxis])[0])
            if question.allows(row[np.newaxis], wanted=False)[0] and away < miss:
                best, miss = row, away
            if miss <= solution.bound + _SAME * program.unit:
                return best, solution.finished
        if not solution.finished:
            return best, False
        program.rule_out(solution)
    return best, False
