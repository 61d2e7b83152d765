"""The search behind a counterfactual: enumeration first, then the program, region by region, until it is proven.

No proof rests on one answer of a solver: a second program, written in the opposite order, must find nothing cheaper,
and a region in which no row was found counts as open unless it is proven to be empty.
"""

from __future__ import annotations

import math
import time
from itertools import combinations, product
from math import prod

import numpy as np

from bgn.explain.counterfactual.problem import Problem
from bgn.explain.counterfactual.program import Program, Solution
from bgn.explain.crossings import after_first, crossings, crossings_along, factor
from bgn.explain.optimize.problem import Domain, ScoreProblem
from bgn.explain.optimize.search import is_empty
from bgn.model.step import Bools, Floats
from bgn.model.term import Oblique, Projection

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
    neurons, given = list[Oblique](), list[float]()
    for axis, piece in zip(program.axes, solution.pieces, strict=True):
        answers[0, axis.neurons] = axis.answers[piece]
        neurons += [problem.layer.neurons[k] for k in axis.neurons]
        given += axis.answers[piece].tolist()
    scores = after_first(network, answers[:, : network.widths[0]])
    if wanted and not network.linear and not problem.goal.holds(network, scores)[0]:
        return True
    for group in problem.groups:
        for sign in (1.0, -1.0):
            neurons.append(Oblique(Projection(group, (sign,) * len(group)), sign))
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
            asked = [*neurons, Oblique(cheaper, float(prices @ problem.x[some] - cost))]
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


# -- Counterfactuals that change one part of a row, or two: every candidate is tried.

# How far beside a crossing of two lines to try, relative to its size.
_BESIDE = np.array([0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-9, -1e-9])
# Most whole numbers of a column that are tried one by one.
_MOST_WHOLE = 20_000
# So many rows, about, are tried at once.
_AT_ONCE = 100_000
# Rows up to which all are tried, and rows whose places on a straight line are.
_ROWS, _ON_LINES = 10_000, 200
# How far beside the value at which a straight line passes what is wanted to try, relative to what is added up.
_ON_SLOPE = (0.0, *(sign * 2.0**-power for power in (52, 50, 47, 40, 33) for sign in (1.0, -1.0)))


def best_along(problem: Problem, column: int, rows: Floats, ceiling: float = np.inf) -> Floats:
    """Return for every row the value of a column nearest to the one asked about that will do; NaN if none will, or
    none for less than `ceiling`."""
    if column in sloped(problem):
        return np.array([_best_on_slope(problem, column, row) for row in rows])
    values, there = nearest_in_pieces(problem, column, crossings_along(problem.layer, column, rows))
    far = np.abs(values - problem.x[column])
    spent = problem.price(rows) - np.abs(rows[:, column] - problem.x[column]) * problem.costs[column]
    row, piece = np.nonzero(there & (spent[:, np.newaxis] + far * problem.costs[column] <= ceiling))
    tried = rows[row]
    tried[:, column] = values[row, piece]
    good = problem.holds(problem.layer.fire(tried), tried)
    row, piece = row[good], piece[good]
    best, nearest = np.full(len(rows), np.nan), np.lexsort((far[row, piece], row))
    first = nearest[np.unique(row[nearest], return_index=True)[1]]
    best[row[first]] = values[row[first], piece[first]]
    return best


def sloped(problem: Problem) -> list[int]:
    """Return the columns with linear terms."""
    return [term.column for term in problem.network.linear]


def _best_on_slope(problem: Problem, column: int, row: Floats) -> float:
    """Return the value of a column with a linear term nearest to the one asked about that will do; NaN if none will."""
    values = _on_slope(problem, column, row)
    rows = np.repeat(row[np.newaxis], len(values), axis=0)
    rows[:, column] = values
    good = values[problem.holds(problem.layer.fire(rows), rows)]
    return float(good[np.abs(good - problem.x[column]).argmin()]) if len(good) else np.nan


def _on_slope(problem: Problem, column: int, row: Floats) -> Floats:
    """Return the values of a column with a linear term that may be the nearest: in every piece its own nearest value,
    its ends, and where the prediction passes what is wanted, with floats beside."""
    places = crossings_along(problem.layer, column, row[np.newaxis])
    nearest, there = nearest_in_pieces(problem, column, places)
    first, last = pieces(problem, column, places)
    near, low, high = nearest[there], first[there], last[there]
    found = [near, low[np.isfinite(low)], high[np.isfinite(high)]]
    pairs = zip(problem.network.linear, problem.network.linear_coef, strict=True)
    (slopes,) = (weights for term, weights in pairs if term.column == column)
    rows = np.repeat(row[np.newaxis], len(near), axis=0)
    rows[:, column] = near
    columns = problem.network.raw_score(rows).reshape(len(rows), len(slopes))
    for factors, least in problem.goal.limits(problem.network):
        slope, scores = float(factors @ slopes), columns @ factors
        if slope == 0.0:
            continue
        passed = near + (least - scores) / slope
        room = 1e-9 * (1.0 + np.abs(passed))
        passed = np.clip(
            passed[(passed >= low - room) & (passed <= high + room)], problem.low[column], problem.high[column]
        )
        size = np.abs(passed) + np.abs(scores).max(initial=0.0) / abs(slope)
        found += [passed + share * size for share in _ON_SLOPE]
    values = np.concatenate(found)
    if problem.integer[column]:
        values = np.concatenate([np.floor(values), np.ceil(values)])
    values = np.unique(values[np.isfinite(values)])
    return values[(values >= problem.low[column]) & (values <= problem.high[column])]


def pieces(problem: Problem, column: int, places: Floats) -> tuple[Floats, Floats]:
    """Return the first and the last value of every piece between crossings, within the column's limits."""
    ends = np.full((len(places), 1), np.inf)
    first = np.maximum(np.hstack([-ends, places]), problem.low[column])
    last = np.minimum(np.nextafter(np.hstack([places, ends]), -np.inf), problem.high[column])
    if problem.integer[column]:
        first, last = np.ceil(first), np.floor(last)
    return first, last


def nearest_in_pieces(problem: Problem, column: int, places: Floats) -> tuple[Floats, Bools]:
    """Return for every piece between crossings its value nearest to the one asked about, and whether it has any."""
    first, last = pieces(problem, column, places)
    there = (first <= last) & (first < np.inf) & (last > -np.inf)
    return np.clip(problem.x[column], first, np.maximum(first, last)), there


def climb(problem: Problem, deadline: float) -> Floats | None:
    """Return a row that will do, found by changing one part after another for the most gain per cost; maybe None."""
    row = problem.x
    miss, cost = float(problem.misses(row[np.newaxis])[0]), 0.0
    while miss > 0:
        if time.monotonic() > deadline:
            return None
        rows = np.concatenate([row[np.newaxis], *(_settings(problem, part, row) for part in problem.parts)])
        rows = rows[problem.allows(rows, wanted=False)]
        misses, costs = problem.misses(rows), problem.price(rows)
        nearer = misses < miss
        if not nearer.any():
            return None
        rates = (miss - misses[nearer]) / np.maximum(costs[nearer] - cost, 1e-300)
        best = np.flatnonzero(nearer)[rates.argmax()]
        row, miss, cost = rows[best], float(misses[best]), float(costs[best])
    return row


def all_rows(problem: Problem) -> Floats | None:
    """Return rows among which the cheapest and the nearest are, if there are few: every level and whole number of all
    parts but one, whose value is the nearest in every piece; None where there are too many."""
    long = [part for part in problem.parts if _options(problem, part) is None]
    if len(long) > 1:
        return None
    rest = [part for part in problem.parts if part not in long]
    options = [_options(problem, part) for part in rest]
    known = [each for each in options if each is not None]
    column = long[0][0] if long else None
    lines = column is not None and column in sloped(problem)
    pieces = 1 if column is None else 1 + int(problem.layer.reads[:, column].sum())
    count = prod(map(len, known))
    if count * pieces > _ROWS or (lines and count > _ON_LINES):
        return None
    rows = np.tile(problem.x, (count, 1))
    for chosen, row in zip(product(*known), rows, strict=True):
        for part, values in zip(rest, chosen, strict=True):
            row[list(part)] = values
    rows = np.vstack([problem.x, rows])
    if column is None:
        return rows
    if lines:
        return np.vstack([rows, *(_settings(problem, (column,), row) for row in rows)])
    values, there = nearest_in_pieces(problem, column, crossings_along(problem.layer, column, rows))
    which, piece = np.nonzero(there)
    moved = rows[which]
    moved[:, column] = values[which, piece]
    return np.vstack([rows, moved])


def _options(problem: Problem, part: tuple[int, ...]) -> Floats | None:
    """Return what a category or a whole number may be, one row each; None for other numbers, and very many."""
    if part in problem.groups:
        return np.eye(len(part))[problem.high[list(part)] > 0]
    low, high = problem.low[part[0]], problem.high[part[0]]
    if not problem.integer[part[0]] or not high - low < _ROWS:
        return None
    values = np.arange(np.ceil(low), np.floor(high) + 1.0)
    return np.unique(np.append(values, problem.x[part[0]]))[:, np.newaxis]


def complete(problem: Problem, ceiling: float) -> bool:
    """Whether trying candidates proves the cheapest pair: not where two columns of whole numbers range too far."""
    if sloped(problem):
        return False
    reach = 2 * ceiling / problem.costs
    whole = [part[0] for part in problem.parts if part not in problem.groups and problem.integer[part[0]]]
    far = [column for column in whole if min(reach[column], problem.high[column] - problem.low[column]) > _MOST_WHOLE]
    return not far or len(whole) < 2


def cheapest(problem: Problem, rows: Floats) -> Floats | None:
    """Return the cheapest of the rows that will do, or None."""
    rows = rows[problem.allows(rows)]
    return rows[problem.price(rows).argmin()] if len(rows) else None


def change_one(problem: Problem) -> Floats | None:
    """Return the cheapest answer that changes at most one part, or None."""
    found = [problem.x[np.newaxis], *(_settings(problem, part, problem.x) for part in problem.parts)]
    return cheapest(problem, np.concatenate(found))


def change_two(problem: Problem, ceiling: float, deadline: float) -> Floats | None:
    """Return the cheapest answer that changes two parts, if it is cheaper than `ceiling`, or None."""
    best = None
    for pair in combinations(problem.parts, 2):
        rows, column = _first_of_two(problem, pair, ceiling)
        prices = problem.price(rows)
        order = np.argsort(prices, kind="stable")
        some = len(rows) if column is None else _AT_ONCE // (1 + np.count_nonzero(problem.layer.reads[:, column])) + 1
        for begin in range(0, len(rows), max(some, 1)):
            chosen = order[begin : begin + some]
            if time.monotonic() > deadline:
                return best
            if column is not None and prices[chosen[0]] > ceiling:
                break  # the others cost more still
            found = cheapest(problem, _second_of_two(problem, rows[chosen], column, ceiling))
            if found is not None and problem.cost(found) < ceiling * (1 - 1e-12):
                best, ceiling = found, problem.cost(found)
    return best


def _settings(problem: Problem, part: tuple[int, ...], row: Floats) -> Floats:
    """Return a row with one part changed to every other answer of the first layer."""
    if part in problem.groups:
        return _categories(part, row)
    if part[0] in sloped(problem):
        values = _on_slope(problem, part[0], row)
    else:
        places = crossings_along(problem.layer, part[0], row[np.newaxis])
        nearest, there = nearest_in_pieces(problem, part[0], places)
        values = nearest[there]
    rows = np.repeat(row[np.newaxis], len(values), axis=0)
    rows[:, part[0]] = values
    return rows


def _categories(group: tuple[int, ...], row: Floats) -> Floats:
    """Return the row with each category of a one-hot group in turn."""
    rows = np.repeat(row[np.newaxis], len(group), axis=0)
    rows[:, list(group)] = np.eye(len(group))
    return rows


def _first_of_two(problem: Problem, pair: tuple[tuple[int, ...], ...], ceiling: float) -> tuple[Floats, int | None]:
    """Return rows with the first of two parts changed, and the column to change next; None where both are."""
    grouped = [part for part in pair if part in problem.groups]
    single = [part[0] for part in pair if part not in problem.groups]
    if len(grouped) == 2:
        return np.concatenate([_categories(grouped[1], row) for row in _categories(grouped[0], problem.x)]), None
    if len(grouped) == 1:
        return _categories(grouped[0], problem.x), single[0]
    # The first is tried value by value: better the whole numbers, of which there are few.
    other, column = sorted(single, key=lambda each: not problem.integer[each])
    values = _candidates(problem, other, column, ceiling)
    rows = np.repeat(problem.x[np.newaxis], len(values), axis=0)
    rows[:, other] = values
    return rows, column


def _second_of_two(problem: Problem, rows: Floats, column: int | None, ceiling: float) -> Floats:
    """Return the rows that will do with that column changed, if there is one to change."""
    if column is None:
        return rows
    found = best_along(problem, column, rows, ceiling)
    rows[:, column] = found
    return rows[~np.isnan(found)]


def _candidates(problem: Problem, first: int, second: int, ceiling: float) -> Floats:
    """Return the values of the first column at which a cheapest pair can lie."""
    low = max(problem.low[first], problem.x[first] - ceiling / problem.costs[first])
    high = min(problem.high[first], problem.x[first] + ceiling / problem.costs[first])
    if problem.integer[first] and problem.integer[second] and high - low <= _MOST_WHOLE:
        return np.arange(np.ceil(low), np.floor(high) + 1)
    x, rest = problem.x, problem.x.copy()
    rest[[first, second]] = 0.0
    lines, exact = [], []
    for neuron in problem.layer.neurons:
        across, up = factor(neuron, first), factor(neuron, second)
        if across or up:
            lines.append((across, up, neuron.threshold - neuron.projection.values(rest[np.newaxis])[0]))
        if across and not up:
            exact.append(crossings(neuron, first, x[np.newaxis])[0])
    edges = [(0.0, 1.0, value) for value in (problem.low[second], problem.high[second], x[second])]
    lines += [edge for edge in edges if np.isfinite(edge[2])]
    a, b, c = np.array(lines).T
    cross = np.outer(a, b) - np.outer(b, a)
    with np.errstate(all="ignore"):
        meet = ((np.outer(c, b) - np.outer(b, c)) / cross)[np.triu_indices(len(lines), 1)]
    meet = np.unique(meet[np.isfinite(meet)])
    size = np.abs(meet).max(initial=0.0) * 1e-3 + np.abs(meet)
    beside = (meet[:, np.newaxis] + _BESIDE * size[:, np.newaxis]).ravel()
    values = np.concatenate([beside, exact, np.nextafter(exact, -np.inf), [low, high, x[first]]])
    if problem.integer[first]:
        values = np.concatenate([np.floor(values), np.ceil(values)])
    values = np.unique(values[np.isfinite(values)])
    return values[(values >= low) & (values <= high)]
