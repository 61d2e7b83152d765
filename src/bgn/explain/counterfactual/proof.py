"""The search behind a counterfactual: enumeration first, then the program, region by region, until it is proven."""

from __future__ import annotations

import math
import time

import numpy as np

from bgn.explain.counterfactual.enumeration import best_along, change_one, change_two, climb, complete
from bgn.explain.counterfactual.problem import Problem
from bgn.explain.counterfactual.program import Program, Solution
from bgn.model.step import Floats

# Costs closer than this, relatively, are the same: the solver promises no more.
_SAME = 1e-6
# How far inside its region, relative to the columns' ranges, a row is placed: from edges that belong to it and from
# those that do not.
_INSETS = (*((each, each) for each in (0.0, 1e-13, 1e-11, 1e-9, 1e-7)), (0.0, 1e-9), (0.0, 1e-5), (1e-5, 1e-5))
# A column without bounds is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0
# What values of few digits may cost more than the cheapest, relatively, and how many digits are few.
_ROUNDED, _FEW_DIGITS = 0.002, 5


def cheapest_row(problem: Problem, deadline: float) -> tuple[Floats | None, float, bool]:
    """Return the cheapest row that will do, a lower bound of the cost, and whether the row is proven cheapest."""
    row = change_one(problem)
    cost = np.inf if row is None else problem.cost(row)
    if cost == 0:
        return row, 0.0, True
    most = len(problem.parts) if problem.max_changed is None else min(problem.max_changed, len(problem.parts))
    if most >= 2:
        # As a proof for two parts, as a start for more: then not for long.
        now = time.monotonic()
        pair = change_two(problem, cost, deadline if most == 2 else now + 0.1 * (deadline - now))
        if pair is not None:
            row, cost = pair, problem.cost(pair)
    tiny = cost <= 1e-12 * float(np.abs(problem.x) @ problem.costs) + 1e-200  # nothing that a solver could tell apart
    if tiny or most <= 1 or (most == 2 and complete(problem, cost)):
        proven = time.monotonic() <= deadline
        return row, cost if proven else 0.0, proven
    start = climb(problem, deadline)
    if start is not None and problem.cost(start) < cost:
        start = _tighten(problem, start)
        if problem.fits(start):
            row, cost = start, problem.cost(start)
    reach = _reach(problem, cost)
    row, bound, proven = _by_program(problem, row, cost, reach, deadline)
    if row is not None:
        cost = problem.cost(row)
        if not _covers(problem, reach, cost):
            row, bound, proven = _by_program(problem, row, cost, _reach(problem, cost), deadline)
    return row, bound, proven


def _reach(problem: Problem, cost: float) -> Floats:
    """Return how far each column need be moved: no farther than an answer's cost pays for."""
    if np.isfinite(cost):
        return cost * (1 + 1e-9) / problem.costs
    spread = np.where(np.isfinite(problem.high - problem.low), problem.high - problem.low, 0.0)
    far = np.zeros(len(problem.x))
    for neuron in problem.layer.neurons:
        columns, sizes = neuron.projection.arrays[0], np.abs(neuron.projection.arrays[1])
        missing = abs(neuron.threshold - neuron.projection.values(problem.x[np.newaxis])[0]) + sizes @ spread[columns]
        far[columns] = np.maximum(far[columns], missing / sizes)
    return _FAR * (far + 1.0)


def _covers(problem: Problem, reach: Floats, cost: float) -> bool:
    """Whether all rows of at most this cost were within reach."""
    needed = np.minimum(cost / problem.costs, np.maximum(problem.high - problem.x, problem.x - problem.low))
    moving = [column for part in problem.parts for column in part]
    return bool((needed[moving] <= reach[moving] * (1 + 1e-6)).all())


def _by_program(
    problem: Problem, row: Floats | None, cost: float, reach: Floats, deadline: float
) -> tuple[Floats | None, float, bool]:
    """Improve on a row until the program proves that nothing is cheaper, region by region."""
    program, bound = Program(problem, reach), 0.0
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
        if better is not None and problem.cost(better) < cost:
            row, cost = better, problem.cost(better)
        if cost <= bound * (1 + _SAME):
            return row, bound, True
        if not solution.finished:
            break
        program.rule_out(solution)
    return row, bound, False


def _enter(program: Program, solution: Solution, deadline: float) -> Floats | None:
    """Return the cheapest row inside a region that the network confirms, or None if the region holds none."""
    problem, best, best_cost, aim = program.problem, None, np.inf, np.inf
    for insets in _INSETS:
        found = program.solve(max(deadline - time.monotonic(), 0.1), inside=solution, insets=insets)
        if found is None or found.x is None:
            continue
        aim = min(aim, problem.cost(found.x))
        row = _tighten(problem, _settle(program, found))
        if problem.fits(row):
            if problem.cost(row) < best_cost:
                best, best_cost = row, problem.cost(row)
            if best_cost <= aim * (1 + 1e-9):
                break
    return best


def _settle(program: Program, solution: Solution) -> Floats:
    """Move the solver's values, right to a millionth, onto the floats that are meant."""
    problem = program.problem
    assert solution.x is not None
    row = solution.x.copy()
    row[problem.integer] = np.rint(row[problem.integer])
    near = np.zeros(len(row))
    near[program.columns] = 1e-7 * program.scale
    same = np.abs(row - problem.x) <= near
    row[same] = problem.x[same]
    row = np.clip(row, problem.low, problem.high)
    for axis, piece in zip(program.axes, solution.pieces, strict=True):
        if axis.column is not None:
            row[axis.column] = np.clip(row[axis.column], *axis.edges[piece])
    return row


def _tighten(problem: Problem, row: Floats) -> Floats:
    """Bring every changed column, one after the other, as near to where it was as the prediction allows."""
    single = [part[0] for part in problem.parts if len(part) == 1]
    fine = problem.fits(row)
    for column in [*single, *reversed(single)]:
        if row[column] == problem.x[column]:
            continue
        trial = row.copy()
        trial[column] = best_along(problem, column, row[np.newaxis])[0]
        nearer = abs(trial[column] - problem.x[column]) < abs(row[column] - problem.x[column])
        if (nearer or not fine) and problem.fits(trial):
            row, fine = trial, True
    return row


def neat(problem: Problem, row: Floats) -> Floats:
    """Write every changed value with the fewest digits that cost no more, to a billionth, and still do."""
    ceiling = problem.cost(row) * (1 + 1e-9)
    for column in np.flatnonzero(row != problem.x):
        for value in (0.0, *(float(f"{row[column]:.{digits}g}") for digits in range(1, 16))):
            trial = row.copy()
            trial[column] = value
            if problem.cost(trial) <= ceiling and problem.fits(trial):
                row = trial
                break
    return row


def brief(problem: Problem, row: Floats) -> Floats:
    """Write every changed value of many digits with the fewest that cost little more and still do.

    Where a straight line passes what is wanted, the cheapest value has all the digits there are.
    """
    ceiling = problem.cost(row) * (1 + _ROUNDED)
    for column in np.flatnonzero(row != problem.x):
        exact, away = row[column], np.sign(row[column] - problem.x[column])
        if float(f"{exact:.{_FEW_DIGITS}g}") == exact:
            continue
        for digits in range(1, 16):
            near = float(f"{exact:.{digits}g}")
            unit = 10.0 ** (math.floor(math.log10(abs(exact))) - digits + 1) if exact else 0.0
            values = (near, float(f"{near + away * unit:.{digits}g}"))  # the nearest, and one that goes farther
            trials = [np.where(np.arange(len(row)) == column, value, row) for value in values]
            good = [trial for trial in trials if problem.cost(trial) <= ceiling and problem.fits(trial)]
            if good:
                row = good[0]
                break
    return row


def nearest_miss(problem: Problem, deadline: float) -> tuple[Floats | None, bool]:
    """Return the allowed row whose prediction comes nearest to the wanted ones, and whether that is proven."""
    program = Program(problem, _reach(problem, np.inf))
    best = problem.x.copy() if problem.fits(problem.x, wanted=False) else None
    miss = np.inf if best is None else float(problem.misses(best[np.newaxis])[0])
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
            away = float(problem.misses(row[np.newaxis])[0])
            if problem.fits(row, wanted=False) and away < miss:
                best, miss = row, away
            if miss <= solution.bound + _SAME * program.unit:
                return best, solution.finished
        if not solution.finished:
            return best, False
        program.rule_out(solution)
    return best, False
