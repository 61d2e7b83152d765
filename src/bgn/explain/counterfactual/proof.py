"""The search behind a counterfactual: enumeration first, then the program, region by region, until it is proven.

No proof rests on one answer of a solver: a second program, written in the opposite order, must find nothing cheaper,
and a region in which no row was found counts as open unless it is proven to be empty.
"""

from __future__ import annotations

import math
import time
from itertools import product

import numpy as np

from bgn.explain.attainable.domain import Domain
from bgn.explain.attainable.problem import ScoreProblem
from bgn.explain.attainable.search import is_empty
from bgn.explain.counterfactual.enumeration import (
    all_rows,
    best_along,
    change_one,
    change_two,
    cheapest,
    climb,
    complete,
)
from bgn.explain.counterfactual.problem import Problem
from bgn.explain.counterfactual.program import Program, Solution
from bgn.explain.crossings import after_first
from bgn.model.neuron import Neuron, Projection
from bgn.model.step import Floats

# Costs closer than this, relatively, are the same: the solver promises no more.
_SAME = 1e-6
# How far inside its region, relative to the columns' ranges, a row is placed: from edges that belong to it and from
# those that do not.
_INSETS = (*((each, each) for each in (0.0, 1e-13, 1e-11, 1e-9, 1e-7)), (0.0, 1e-9), (0.0, 1e-5), (1e-5, 1e-5))
# A column without bounds is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0
# Columns up to which every way to move, up or down, is looked at by itself.
_WAYS = 6
# What values of few digits may cost more than the cheapest, relatively, and how many digits are few.
_ROUNDED, _FEW_DIGITS = 0.002, 5


def cheapest_row(problem: Problem, deadline: float) -> tuple[Floats | None, float, bool]:
    """Return the cheapest row that will do, a lower bound of the cost, and whether the row is proven cheapest."""
    row, most = change_one(problem), problem.most
    cost = np.inf if row is None else problem.cost(row)
    if cost == 0:
        return row, 0.0, True
    if most > 1 and (rows := all_rows(problem)) is not None:
        row = cheapest(problem, rows if row is None else np.vstack([row, rows]))
        return row, np.inf if row is None else problem.cost(row), True
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
    """Improve on a row until two programs prove that nothing is cheaper, region by region."""
    program, bound, least, turned = Program(problem, reach), 0.0, np.inf, False  # `least` of what nobody could enter
    while (left := deadline - time.monotonic()) > 0:
        solution = program.solve(left, ceiling=cost * (1 - _SAME) if turned else cost, turned=turned)
        if solution is None and turned:
            return row, min(cost, least), cost <= least * (1 + _SAME)
        if solution is not None:
            bound = min(bound, solution.bound) if turned else max(bound, solution.bound)
        if not turned and (solution is None or cost <= bound * (1 + _SAME)):
            turned = True
            continue
        assert solution is not None
        if solution.x is None or bound >= least:
            break
        better, aim = _enter(program, solution, deadline)
        if better is not None and problem.cost(better) < cost:
            row, cost = better, problem.cost(better)
        inside = np.inf if better is None else problem.cost(better)
        if inside > aim * (1 + _SAME) and not _nobody_in(program, solution, cost * (1 - _SAME)):
            least = min(least, aim, solution.bound)
        if not solution.finished:
            break
        program.rule_out(solution)
        turned = False
    return row, min(bound, least, cost), False


def _nobody_in(program: Program, solution: Solution, cost: float = np.inf, wanted: bool = True) -> bool:
    """Whether it is proven that a region has no row that costs less: its prediction is not `wanted`, or its pieces
    never meet, whichever way columns move."""
    problem, network = program.problem, program.problem.network
    answers = problem.layer.fire(problem.x[np.newaxis])
    neurons, given = list[Neuron](), list[float]()
    for axis, piece in zip(program.axes, solution.pieces, strict=True):
        answers[0, axis.neurons] = axis.answers[piece]
        neurons += [problem.layer.neurons[k] for k in axis.neurons]
        given += axis.answers[piece].tolist()
    scores = after_first(network, answers[:, : network.widths[0]])
    if wanted and not network.linear_terms and not problem.goal.holds(network, scores)[0]:
        return True
    for group in problem.groups:
        for sign in (1.0, -1.0):
            neurons.append(Neuron(Projection(group, (sign,) * len(group)), sign))
            given.append(1.0)
    low, high, none = problem.x.copy(), problem.x.copy(), np.zeros(len(problem.x))
    low[program.columns] += program.low
    high[program.columns] += program.high
    for part, changed in zip(problem.parts, solution.changed, strict=True):
        if program.counts_parts and not changed:
            low[list(part)] = high[list(part)] = problem.x[list(part)]
    low, high = np.maximum(low, problem.x - cost / problem.costs), np.minimum(high, problem.x + cost / problem.costs)
    low[problem.integer], high[problem.integer] = np.ceil(low[problem.integer]), np.floor(high[problem.integer])
    if (low > high).any():
        return True
    both = np.flatnonzero((low < problem.x) & (problem.x < high)).tolist()
    some = np.flatnonzero(low < high).tolist()
    signs = np.where(low < problem.x, -1.0, 1.0)
    told = np.isfinite(cost) and len(both) <= _WAYS and bool(some)
    for way in product((-1.0, 1.0), repeat=len(both)) if told else [()]:
        least, most, asked = low, high, neurons
        if told:
            signs[both] = way
            least = np.where(np.isin(np.arange(len(low)), both) & (signs > 0), problem.x, low)
            most = np.where(np.isin(np.arange(len(low)), both) & (signs < 0), problem.x, high)
            prices = -(signs * problem.costs)[some]
            cheaper = Projection(tuple(some), tuple(prices.tolist()))
            asked = [*neurons, Neuron(cheaper, float(prices @ problem.x[some] - cost))]
        domain = Domain(least, most, problem.integer, (None,) * len(low), none > 0, np.clip(problem.x, least, most))
        region = ScoreProblem(tuple(asked), np.zeros(len(asked)), none, domain)
        if not is_empty(region, np.array([*given, 1.0][: len(asked)])):
            return False
    return True


def _enter(program: Program, solution: Solution, deadline: float) -> tuple[Floats | None, float]:
    """Return the cheapest row inside a region that the network confirms, or None if none was found; and what a solver
    takes for the lowest cost there."""
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
    return best, min(aim, max(solution.bound, 0.0)) if best is None else aim


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
    best = problem.x.copy() if problem.fits(problem.x, wanted=False) else None
    if (rows := all_rows(problem)) is not None:
        rows = rows[problem.allows(rows, wanted=False)]
        misses = problem.misses(rows)
        near = rows[misses <= misses.min(initial=np.inf)]
        return (near[problem.price(near).argmin()] if len(near) else None), True
    program, turned, unclear = Program(problem, _reach(problem, np.inf)), False, np.inf
    miss = np.inf if best is None else float(problem.misses(best[np.newaxis])[0])
    while (left := deadline - time.monotonic()) > 0:
        solution = program.solve(left, missing=True, turned=turned)
        near = solution is not None and solution.x is not None and solution.bound >= miss - _SAME * program.unit
        if solution is None or near:
            if turned:
                return best, miss <= unclear + _SAME * program.unit
            turned = True
            continue
        if solution.x is None:
            break
        inside = np.inf
        for insets in _INSETS:
            found = program.solve(max(left, 0.1), missing=True, inside=solution, insets=insets)
            if found is None or found.x is None:
                continue
            row = _settle(program, found)
            if problem.fits(row, wanted=False):
                inside = min(inside, away := float(problem.misses(row[np.newaxis])[0]))
                if away < miss:
                    best, miss = row, away
            if miss <= solution.bound + _SAME * program.unit:
                break
        if inside > solution.bound + _SAME * program.unit and not _nobody_in(program, solution, wanted=False):
            unclear = min(unclear, solution.bound)
        if not solution.finished:
            break
        program.rule_out(solution)
        turned = False
    return best, False
