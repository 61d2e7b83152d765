"""The search behind a counterfactual: trying candidates first, then the program, region by region, until it is proven.

No proof rests on one answer of a solver: a second program, written in the opposite order, must find nothing cheaper,
and a region in which no row was confirmed counts as open unless it is proven to be empty.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import combinations, product
from math import prod

import numpy as np

from bgn.explain.counterfactual.problem import ChangeProblem
from bgn.explain.crossings import after_first, crossings, factor
from bgn.explain.optimize.problem import Domain, Problem
from bgn.explain.optimize.program import Program, Region, RowChange, ScoreLimit
from bgn.explain.optimize.search import Best, Entered, improve, is_empty
from bgn.model.step import Bools, Floats
from bgn.model.term import Oblique, Projection

# Costs closer than this, relatively, are the same: the solver promises no more.
_SAME = 1e-6
# How far inside its region, relative to the columns' ranges, a row is placed: from edges that belong to it and from
# those that do not.
_INSETS = (*((inset, inset) for inset in (0.0, 1e-13, 1e-11, 1e-9, 1e-7)), (0.0, 1e-9), (0.0, 1e-5), (1e-5, 1e-5))
# A column without bounds is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0
# Columns up to which every way to move, up or down, is looked at by itself.
_WAYS = 6
# What values of few digits may cost more than the cheapest, relatively, and how many digits are few.
_ROUNDED, _FEW_DIGITS = 0.002, 5


def cheapest_row(problem: ChangeProblem, deadline: float) -> tuple[Floats | None, float, bool]:
    """Return the cheapest row that will do, a lower bound of the cost, and whether the row is proven cheapest."""
    row = _cheapest(problem, np.concatenate([problem.x[np.newaxis], *_one_changed(problem, problem.x)]))
    most, cost = problem.most, np.inf if row is None else problem.cost(row)
    if cost == 0:
        return row, 0.0, True
    if most > 1 and (rows := _all_rows(problem)) is not None:
        row = _cheapest(problem, rows if row is None else np.vstack([row, rows]))
        return row, np.inf if row is None else problem.cost(row), True
    if most >= 2:
        # As a proof for two parts, as a start for more: then not for long.
        now = time.monotonic()
        pair = _change_two(problem, cost, deadline if most == 2 else now + 0.1 * (deadline - now))
        if pair is not None:
            row, cost = pair, problem.cost(pair)
    tiny = (
        cost <= 1e-12 * float(np.nan_to_num(np.abs(problem.x)) @ problem.costs) + 1e-200
    )  # nothing that a solver could resolve
    if tiny or most <= 1 or (most == 2 and _two_are_proven(problem, cost)):
        proven = time.monotonic() <= deadline
        return row, cost if proven else 0.0, proven
    start = _climb(problem, deadline)
    if start is not None and problem.cost(start) < cost:
        start = _tighten(problem, start)
        if problem.fits(start):
            row, cost = start, problem.cost(start)
    reach = _reach(problem, cost)
    best = _by_program(problem, row, cost, reach, deadline)
    if best.row is not None:
        cost = problem.cost(best.row)
        needed = np.minimum(cost / problem.costs, np.maximum(problem.high - problem.x, problem.x - problem.low))
        moving = [column for part in problem.parts for column in part]
        if not (needed[moving] <= reach[moving] * (1 + 1e-6)).all():  # cheaper rows may be out of reach
            best = _by_program(problem, best.row, cost, _reach(problem, cost), deadline)
    return best.row, max(-best.bound, 0.0), best.proven


def nearest_miss(problem: ChangeProblem, deadline: float) -> tuple[Floats | None, bool]:
    """Return the allowed row whose prediction comes nearest to the wanted ones, and whether that is proven."""
    if (rows := _all_rows(problem)) is not None:
        rows = rows[problem.allows(rows, wanted=False)]
        misses = problem.misses(rows)
        near = rows[misses <= misses.min(initial=np.inf)]
        return (near[problem.price(near).argmin()] if len(near) else None), True
    program = _program(problem, _reach(problem, np.inf), nearest=True)
    same = program.same(0.0)

    def enter_region(region: Region, value: float) -> Entered:
        """Place a row in a region, by how much it misses."""
        best, nearest = None, np.inf
        for insets in _INSETS:
            placed = program.solve(max(deadline - time.monotonic(), 0.1), inside=region, insets=insets)
            if placed is None or placed.value == -np.inf:
                continue
            row = _settle(problem, program, placed)
            if problem.fits(row, wanted=False):
                miss = float(problem.misses(row[np.newaxis])[0])
                if miss < nearest:
                    best, nearest = row, miss
            if min(nearest, -value) <= same - region.bound:
                break
        is_open = nearest > same - region.bound and not _nobody_in(problem, program, region, wanted=False)
        return Entered(best, -nearest, range(len(program.cuts)), region.bound if is_open else -np.inf)

    row = problem.x.copy() if problem.fits(problem.x, wanted=False) else None
    value = -np.inf if row is None else -float(problem.misses(row[np.newaxis])[0])
    best = improve(program, enter_region, row, value, deadline)
    return best.row, best.proven


# -- By the program.


def _reach(problem: ChangeProblem, cost: float) -> Floats:
    """Return how far each column need be moved: no farther than an answer's cost pays for."""
    if np.isfinite(cost):
        return cost * (1 + 1e-9) / problem.costs
    ranges = np.where(np.isfinite(problem.high - problem.low), problem.high - problem.low, 0.0)
    far = np.zeros(len(problem.x))
    for condition in problem.layer.neurons:
        pairs = [*zip(condition.columns, condition.projection.coefficients, strict=True)]
        short = abs(condition.threshold - condition.projection.values(problem.x[np.newaxis])[0])
        short += sum(sum(map(abs, number)) if isinstance(number, tuple) else abs(number) * ranges[column]
                     for column, number in pairs)  # fmt: skip
        for column, number in pairs:
            if not isinstance(number, tuple) and number and np.isfinite(short):
                far[column] = max(far[column], short / abs(number))
    return _FAR * (far + 1.0)


def _program(problem: ChangeProblem, reach: Floats, nearest: bool = False) -> Program:
    """Return the program of a change in which columns move at most `reach` from where they are."""
    network, x = problem.network, problem.x
    missing, none = np.isnan(x), np.zeros(len(x))
    numbers = [column for part in problem.parts for column in part if problem.allowed[column] is None]
    low, high = np.where(missing, 0.0, x), np.where(missing, 0.0, x)
    low[numbers] = np.clip(x - reach, problem.low, problem.high)[numbers]
    high[numbers] = np.clip(x + reach, problem.low, problem.high)[numbers]
    low[problem.integer], high[problem.integer] = np.ceil(low[problem.integer]), np.floor(high[problem.integer])
    categories = tuple(
        None if codes is None else _different(problem, j, codes) for j, codes in enumerate(problem.allowed)
    )
    domain = Domain(low, high, problem.integer, categories, missing, x, frozenset(np.flatnonzero(missing).tolist()))
    conditions, n_first = problem.layer.neurons, len(network.layers[0].neurons)
    outputs, intercept = network.output_weights.reshape(-1, network.n_outputs), np.ravel(network.base)
    for term, weights in zip(network.linear, network.linear_coef, strict=True):
        intercept = intercept + weights * term.values(x[np.newaxis])
    moving = [k for k, term in enumerate(network.linear) if term.column in numbers]
    goals = [ScoreLimit(outputs @ factors, float(intercept @ factors), network.linear_coef[moving] @ factors, least)
             for factors, least in problem.goal.limits(network)]  # fmt: skip
    change = RowChange(
        x, problem.costs, np.array(numbers, dtype=np.int64), problem.parts, problem.counted, problem.max_changed,
        problem.barred, problem.groups, goals, [network.linear[k] for k in moving], nearest,
    )  # fmt: skip
    scored = Problem(conditions, none, none, domain, network.layers[1:], len(conditions) - n_first)
    return Program(scored, change)


def _different(problem: ChangeProblem, column: int, codes: tuple[int, ...]) -> tuple[int, ...]:
    """Return categories that differ for some condition, the row's own first among its like; any one if missing."""
    if np.isnan(problem.x[column]):
        return (0,)
    own, kinds = int(problem.x[column]), dict[tuple[float | bool, ...], int]()
    for code in sorted(codes, key=lambda code: code != own):
        kind = list[float | bool]()
        for condition in problem.layer.neurons:
            if column in condition.columns:
                coefficient = condition.projection.coefficients[condition.columns.index(column)]
                assert isinstance(coefficient, tuple)
                alone = len(condition.columns) == 1
                kind.append(coefficient[code] >= condition.threshold if alone else coefficient[code])
        kinds.setdefault(tuple(kind), code)
    return tuple(sorted(kinds.values()))


def _by_program(problem: ChangeProblem, row: Floats | None, cost: float, reach: Floats, deadline: float) -> Best:
    """Improve on a row until two programs prove that nothing is cheaper; values are costs below 0."""
    program = _program(problem, reach)

    def enter_region(region: Region, value: float) -> Entered:
        """Place a row in a region, as cheap as it goes; a solver knows the lowest cost there, but for roundings."""
        best, cheapest, aim = None, np.inf, np.inf
        for insets in _INSETS:
            placed = program.solve(max(deadline - time.monotonic(), 0.1), inside=region, insets=insets)
            if placed is None or placed.value == -np.inf:
                continue
            aim = min(aim, problem.cost(program.changed_row(placed)))
            trial = _tighten(problem, _settle(problem, program, placed))
            if problem.fits(trial):
                if problem.cost(trial) < cheapest:
                    best, cheapest = trial, problem.cost(trial)
                if cheapest <= aim * (1 + 1e-9):
                    break
        aim = min(aim, max(-region.bound, 0.0)) if best is None else aim
        ceiling = min(-value, cheapest) * (1 - _SAME)
        is_open = cheapest > aim * (1 + _SAME) and not _nobody_in(problem, program, region, ceiling)
        return Entered(best, -cheapest, range(len(program.cuts)), max(-aim, region.bound) if is_open else -np.inf)

    return improve(program, enter_region, row, -cost, deadline)


def _settle(problem: ChangeProblem, program: Program, region: Region) -> Floats:
    """Move the solver's values, right to a millionth, onto the floats that are meant."""
    row = program.changed_row(region)
    row[problem.integer] = np.rint(row[problem.integer])
    near = np.zeros(len(row))
    near[program.columns] = 1e-7 * program.scale
    same = np.abs(row - problem.x) <= near
    row[same] = problem.x[same]
    row[program.columns] = np.clip(row, problem.low, problem.high)[program.columns]
    for cut, piece in zip(program.cuts, region.pieces, strict=True):
        if cut.column is not None:
            row[cut.column] = np.clip(row[cut.column], *cut.edges[piece])
    return row


def _nobody_in(
    problem: ChangeProblem, program: Program, region: Region, cost: float = np.inf, wanted: bool = True
) -> bool:
    """Whether it is proven that a region has no row that costs less: its prediction is not `wanted`, or its pieces
    never meet, whichever way columns move."""
    network = problem.network
    signs = problem.layer.fire(problem.x[np.newaxis])
    conditions, holds = list[Oblique](), list[float]()
    for cut, piece in zip(program.cuts, region.pieces, strict=True):
        signs[0, cut.conditions] = cut.signs[piece]
        conditions += [problem.layer.neurons[k] for k in cut.conditions]
        holds += cut.signs[piece].tolist()
    scores = after_first(network, signs[:, : len(network.layers[0].neurons)])
    if wanted and not network.linear and not problem.goal.holds(network, scores)[0]:
        return True
    for group in problem.groups:
        for sign in (1.0, -1.0):
            conditions.append(Oblique(Projection(group, (sign,) * len(group)), sign))
            holds.append(1.0)
    x, domain, none = problem.x, program.problem.domain, np.zeros(len(problem.x))
    low, high, categories = domain.low.copy(), domain.high.copy(), [*domain.categories]
    for cut, piece in zip(program.cuts, region.pieces, strict=True):
        if cut.categorical and cut.column is not None and cut.missing is None:
            categories[cut.column] = (int(cut.edges[piece, 0]),)
            cost -= problem.costs[cut.column] * (cut.edges[piece, 0] != x[cut.column])
    for part, changed in zip(problem.parts, region.changed, strict=True):
        if program.counts_parts and not changed:
            low[list(part)] = high[list(part)] = x[list(part)]
    if cost < 0:
        return True
    there = ~np.isnan(x)
    low[there] = np.maximum(low, x - cost / problem.costs)[there]
    high[there] = np.minimum(high, x + cost / problem.costs)[there]
    low[problem.integer], high[problem.integer] = np.ceil(low[problem.integer]), np.floor(high[problem.integer])
    if (low > high).any():
        return True
    numbers = np.zeros(len(x), dtype=bool)
    numbers[program.columns] = True
    both = np.flatnonzero(numbers & (low < x) & (x < high)).tolist()
    some = np.flatnonzero(numbers & (low < high)).tolist()
    directions = np.where(low < x, -1.0, 1.0)
    by_way = np.isfinite(cost) and len(both) <= _WAYS and bool(some)
    for way in product((-1.0, 1.0), repeat=len(both)) if by_way else [()]:
        least, most, required = low, high, conditions
        if by_way:
            directions[both] = way
            least = np.where(np.isin(np.arange(len(low)), both) & (directions > 0), x, low)
            most = np.where(np.isin(np.arange(len(low)), both) & (directions < 0), x, high)
            prices = -(directions * problem.costs)[some]
            cheaper = Projection(tuple(some), tuple(prices.tolist()))
            required = [*conditions, Oblique(cheaper, float(prices @ x[some] - cost))]
        start = np.where(there, np.clip(x, least, most), np.nan)
        narrow = replace(domain, low=least, high=most, categories=tuple(categories), start=start)
        if not is_empty(Problem(tuple(required), none, none, narrow), np.array([*holds, 1.0][: len(required)])):
            return False
    return True


# -- A row that will do, made cheaper, and written in few digits.


def _tighten(problem: ChangeProblem, row: Floats) -> Floats:
    """Bring every changed column, one after the other, as near to where it was as the prediction allows."""
    single = [part[0] for part in problem.parts if problem.listed(part) is None]
    fine = problem.fits(row)
    for column in [*single, *reversed(single)]:
        if row[column] == problem.x[column]:
            continue
        trial = row.copy()
        trial[column] = _nearest_along(problem, column, row[np.newaxis])[0]
        nearer = abs(trial[column] - problem.x[column]) < abs(row[column] - problem.x[column])
        if (nearer or not fine) and problem.fits(trial):
            row, fine = trial, True
    return row


def shorten(problem: ChangeProblem, row: Floats) -> Floats:
    """Write every changed value with the fewest digits that cost no more, to a billionth, and still do."""
    ceiling = problem.cost(row) * (1 + 1e-9)
    for column in problem.moved_numbers(row):
        for value in (0.0, *(float(f"{row[column]:.{digits}g}") for digits in range(1, 16))):
            trial = row.copy()
            trial[column] = value
            if problem.cost(trial) <= ceiling and problem.fits(trial):
                row = trial
                break
    return row


def round_row(problem: ChangeProblem, row: Floats) -> Floats:
    """Write every changed value of many digits with the fewest that cost little more and still do.

    Where a linear term passes what is wanted, the cheapest value has all the digits there are.
    """
    ceiling = problem.cost(row) * (1 + _ROUNDED)
    for column in problem.moved_numbers(row):
        exact, direction = row[column], np.sign(row[column] - problem.x[column])
        if float(f"{exact:.{_FEW_DIGITS}g}") == exact:
            continue
        for digits in range(1, 16):
            near = float(f"{exact:.{digits}g}")
            unit = 10.0 ** (math.floor(math.log10(abs(exact))) - digits + 1) if exact else 0.0
            values = (near, float(f"{near + direction * unit:.{digits}g}"))  # the nearest, and one that goes farther
            trials = [np.where(np.arange(len(row)) == column, value, row) for value in values]
            good = [trial for trial in trials if problem.cost(trial) <= ceiling and problem.fits(trial)]
            if good:
                row = good[0]
                break
    return row


# -- Values of one column: in every piece the one nearest to the row, and where a linear term passes what is wanted.

# How far from the value at which a linear term passes what is wanted to try, relative to what is added up.
_NEAR_PASSING = (0.0, *(sign * 2.0**-power for power in (52, 50, 47, 40, 33) for sign in (1.0, -1.0)))


def _nearest_along(problem: ChangeProblem, column: int, rows: Floats, ceiling: float = np.inf) -> Floats:
    """Return for every row the value of a column nearest to the one it has now that will do; NaN if none will, or
    none for less than `ceiling`."""
    best = np.full(len(rows), np.nan)
    if column in problem.linear_columns:
        for number, row in enumerate(rows):
            trials = _settings(problem, (column,), row)
            reached = trials[problem.holds(problem.layer.fire(trials), trials), column]
            if len(reached):
                best[number] = reached[np.abs(reached - problem.x[column]).argmin()]
        return best
    values, there = _nearest_in_pieces(problem, column, problem.places_along(column, rows))
    far = np.abs(values - problem.x[column])
    spent = problem.price(rows) - np.abs(rows[:, column] - problem.x[column]) * problem.costs[column]
    row, piece = np.nonzero(there & (spent[:, np.newaxis] + far * problem.costs[column] <= ceiling))
    trials = rows[row]
    trials[:, column] = values[row, piece]
    good = problem.holds(problem.layer.fire(trials), trials)
    row, piece = row[good], piece[good]
    nearest = np.lexsort((far[row, piece], row))
    first = nearest[np.unique(row[nearest], return_index=True)[1]]
    best[row[first]] = values[row[first], piece[first]]
    return best


def _values_on_line(problem: ChangeProblem, column: int, row: Floats) -> Floats:
    """Return the values of a column with a linear term that may be the nearest: in every piece its own nearest value,
    its ends, and where the prediction passes what is wanted, with floats near it."""
    places = problem.places_along(column, row[np.newaxis])
    nearest, there = _nearest_in_pieces(problem, column, places)
    first, last = _pieces(problem, column, places)
    near, low, high = nearest[there], first[there], last[there]
    values = [near, low[np.isfinite(low)], high[np.isfinite(high)]]
    (coefs,) = problem.network.linear_coef[[term.column == column for term in problem.network.linear]]
    rows = np.repeat(row[np.newaxis], len(near), axis=0)
    rows[:, column] = near
    outputs = problem.network.predict_encoded(rows, scores=True).reshape(len(rows), len(coefs))
    for factors, least in problem.goal.limits(problem.network):
        coef, scores = float(factors @ coefs), outputs @ factors
        if coef == 0.0:
            continue
        passed = near + (least - scores) / coef
        slack = 1e-9 * (1.0 + np.abs(passed))
        inside = passed[(passed >= low - slack) & (passed <= high + slack)]
        passed = np.clip(inside, problem.low[column], problem.high[column])
        size = np.abs(passed) + np.abs(scores).max(initial=0.0) / abs(coef)
        values += [passed + share * size for share in _NEAR_PASSING]
    return _within(problem, column, np.concatenate(values), problem.low[column], problem.high[column])


def _within(problem: ChangeProblem, column: int, values: Floats, low: float, high: float) -> Floats:
    """Return the values of a column between two ends, in order; of a whole number those on both sides."""
    if problem.integer[column]:
        values = np.concatenate([np.floor(values), np.ceil(values)])
    values = np.unique(values[np.isfinite(values)])
    return values[(values >= low) & (values <= high)]


def _pieces(problem: ChangeProblem, column: int, places: Floats) -> tuple[Floats, Floats]:
    """Return the first and the last value of every piece between crossings, within the column's limits."""
    ends = np.full((len(places), 1), np.inf)
    first = np.maximum(np.hstack([-ends, places]), problem.low[column])
    last = np.minimum(np.nextafter(np.hstack([places, ends]), -np.inf), problem.high[column])
    if problem.integer[column]:
        first, last = np.ceil(first), np.floor(last)
    return first, last


def _nearest_in_pieces(problem: ChangeProblem, column: int, places: Floats) -> tuple[Floats, Bools]:
    """Return for every piece between crossings its value nearest to the one in the row, and whether it has any."""
    first, last = _pieces(problem, column, places)
    there = (first <= last) & (first < np.inf) & (last > -np.inf)
    return np.clip(problem.x[column], first, np.maximum(first, last)), there


# -- Changes of one part of a row, or two, and all rows where they are few: every candidate is tried.

# How far from a crossing of two lines to try, relative to its size.
_NEAR_CROSSING = np.array([0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-9, -1e-9])
# Most whole numbers of a column that are tried one by one.
_MOST_WHOLE = 20_000
# So many rows, about, are tried at once.
_AT_ONCE = 100_000
# Rows up to which all are tried, and rows whose places on a linear term are.
_ROWS, _ON_LINES = 10_000, 200


def _cheapest(problem: ChangeProblem, rows: Floats) -> Floats | None:
    """Return the cheapest of the rows that will do, or None."""
    rows = rows[problem.allows(rows)]
    return rows[problem.price(rows).argmin()] if len(rows) else None


def _one_changed(problem: ChangeProblem, row: Floats) -> list[Floats]:
    """Return a row with one part changed, for every part the rows in which conditions hold or not otherwise."""
    return [_settings(problem, part, row) for part in problem.parts]


def _settings(problem: ChangeProblem, part: tuple[int, ...], row: Floats) -> Floats:
    """Return a row with one part changed: every category, or a value in every piece."""
    if (listed := problem.listed(part)) is not None:
        values = listed
    elif part[0] in problem.linear_columns:
        values = _values_on_line(problem, part[0], row)[:, np.newaxis]
    else:
        places = problem.places_along(part[0], row[np.newaxis])
        nearest, there = _nearest_in_pieces(problem, part[0], places)
        values = nearest[there][:, np.newaxis]
    rows = np.repeat(row[np.newaxis], len(values), axis=0)
    rows[:, list(part)] = values
    return rows


def _climb(problem: ChangeProblem, deadline: float) -> Floats | None:
    """Return a row that will do, reached by changing one part after another for the most gain per cost; maybe None."""
    row = problem.x
    miss, cost = float(problem.misses(row[np.newaxis])[0]), 0.0
    while miss > 0:
        if time.monotonic() > deadline:
            return None
        rows = np.concatenate([row[np.newaxis], *_one_changed(problem, row)])
        rows = rows[problem.allows(rows, wanted=False)]
        misses, costs = problem.misses(rows), problem.price(rows)
        nearer = misses < miss
        if not nearer.any():
            return None
        rates = (miss - misses[nearer]) / np.maximum(costs[nearer] - cost, 1e-300)
        best = np.flatnonzero(nearer)[rates.argmax()]
        row, miss, cost = rows[best], float(misses[best]), float(costs[best])
    return row


def _all_rows(problem: ChangeProblem) -> Floats | None:
    """Return rows among which the cheapest and the nearest are, if there are few: every category and whole number of
    all parts but one, whose value is the nearest in every piece; None where there are too many."""
    options = [_options(problem, part) for part in problem.parts]
    long = [part for part, values in zip(problem.parts, options, strict=True) if values is None]
    if len(long) > 1:
        return None
    rest = [part for part in problem.parts if part not in long]
    known = [values for values in options if values is not None]
    column = long[0][0] if long else None
    linear = column in problem.linear_columns
    pieces = 1 if column is None else 1 + int(problem.layer.reads[:, column].sum())
    count = prod(map(len, known))
    if count * pieces > _ROWS or (linear and count > _ON_LINES):
        return None
    rows = np.tile(problem.x, (count, 1))
    for chosen, row in zip(product(*known), rows, strict=True):
        for part, values in zip(rest, chosen, strict=True):
            row[list(part)] = values
    rows = np.vstack([problem.x, rows])
    if column is None:
        return rows
    if linear:
        return np.vstack([rows, *(_settings(problem, (column,), row) for row in rows)])
    values, there = _nearest_in_pieces(problem, column, problem.places_along(column, rows))
    which, piece = np.nonzero(there)
    moved = rows[which]
    moved[:, column] = values[which, piece]
    return np.vstack([rows, moved])


def _options(problem: ChangeProblem, part: tuple[int, ...]) -> Floats | None:
    """Return what a category or a whole number may be, one row each; None for other numbers, and very many."""
    if (listed := problem.listed(part)) is not None:
        return listed[problem.high[list(part)] > 0] if part in problem.groups else listed
    low, high = problem.low[part[0]], problem.high[part[0]]
    if not problem.integer[part[0]] or not high - low < _ROWS:
        return None
    values = np.arange(np.ceil(low), np.floor(high) + 1.0)
    return np.unique(np.append(values, problem.x[part[0]]))[:, np.newaxis]


def _two_are_proven(problem: ChangeProblem, ceiling: float) -> bool:
    """Whether trying candidates proves the cheapest pair: not where two columns of whole numbers range too far."""
    if problem.linear_columns:
        return False
    reach = 2 * ceiling / problem.costs
    whole = [part[0] for part in problem.parts if problem.listed(part) is None and problem.integer[part[0]]]
    far = [column for column in whole if min(reach[column], problem.high[column] - problem.low[column]) > _MOST_WHOLE]
    return not far or len(whole) < 2


def _change_two(problem: ChangeProblem, ceiling: float, deadline: float) -> Floats | None:
    """Return the cheapest answer that changes two parts, if it is cheaper than `ceiling`, or None."""
    best = None
    for pair in combinations(problem.parts, 2):
        # One of them is tried value by value, a category first, then whole numbers, of which there are few; the other
        # one follows, unless both are categories.
        first, second = sorted(pair, key=lambda part: (problem.listed(part) is None, not problem.integer[part[0]]))
        column = second[0] if problem.listed(second) is None else None
        if column is None:
            rows = np.concatenate([_settings(problem, pair[1], row) for row in _settings(problem, pair[0], problem.x)])
        elif problem.listed(first) is not None:
            rows = _settings(problem, first, problem.x)
        else:
            values = _candidates(problem, first[0], column, ceiling)
            rows = np.repeat(problem.x[np.newaxis], len(values), axis=0)
            rows[:, first[0]] = values
        prices = problem.price(rows)
        order = np.argsort(prices, kind="stable")
        some = len(rows) if column is None else _AT_ONCE // (1 + np.count_nonzero(problem.layer.reads[:, column])) + 1
        for begin in range(0, len(rows), max(some, 1)):
            chosen = order[begin : begin + some]
            if time.monotonic() > deadline:
                return best
            if column is not None and prices[chosen[0]] > ceiling:
                break  # the others cost more still
            trials = rows[chosen]
            if column is not None:
                trials[:, column] = _nearest_along(problem, column, trials, ceiling)
                trials = trials[~np.isnan(trials[:, column])]
            row = _cheapest(problem, trials)
            if row is not None and problem.cost(row) < ceiling * (1 - 1e-12):
                best, ceiling = row, problem.cost(row)
    return best


def _candidates(problem: ChangeProblem, first: int, second: int, ceiling: float) -> Floats:
    """Return the values of the first column at which a cheapest pair can lie."""
    low = max(problem.low[first], problem.x[first] - ceiling / problem.costs[first])
    high = min(problem.high[first], problem.x[first] + ceiling / problem.costs[first])
    if problem.integer[first] and problem.integer[second] and high - low <= _MOST_WHOLE:
        return np.arange(np.ceil(low), np.floor(high) + 1)
    x, rest = problem.x, problem.x.copy()
    rest[[first, second]] = 0.0
    lines, exact = [], []
    for condition in problem.layer.neurons:
        across, up = factor(condition, first), factor(condition, second)
        offset = condition.threshold - condition.projection.values(rest[np.newaxis])[0]
        if (across or up) and not np.isnan(offset):
            lines.append((across, up, offset))
        if across and not up:
            exact.append(crossings(condition, first, x[np.newaxis])[0])
    edges = [(0.0, 1.0, value) for value in (problem.low[second], problem.high[second], x[second])]
    lines += [edge for edge in edges if np.isfinite(edge[2])]
    a, b, c = np.array(lines).T
    cross = np.outer(a, b) - np.outer(b, a)
    with np.errstate(all="ignore"):
        meet = ((np.outer(c, b) - np.outer(b, c)) / cross)[np.triu_indices(len(lines), 1)]
    meet = np.unique(meet[np.isfinite(meet)])
    size = np.abs(meet).max(initial=0.0) * 1e-3 + np.abs(meet)
    near = (meet[:, np.newaxis] + _NEAR_CROSSING * size[:, np.newaxis]).ravel()
    values = np.concatenate([near, exact, np.nextafter(exact, -np.inf), [low, high, x[first]]])
    return _within(problem, first, values, low, high)
