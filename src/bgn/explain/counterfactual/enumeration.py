"""Counterfactuals that change one part of a row, or two: every candidate is tried.

Along one column a network has finitely many pieces with known ends, so the nearest value that will do is found to the
last bit. With two columns the cheapest point of a region lies where two lines cross (thresholds, constraints, bounds,
the row's own values): the first column is tried at every crossing and beside it, the second solved exactly.
"""

from __future__ import annotations

import time
from itertools import combinations, product
from math import prod

import numpy as np

from bgn.explain.counterfactual.problem import Problem
from bgn.explain.crossings import crossings, crossings_along, factor
from bgn.model.step import Bools, Floats

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
    return [term.column for term in problem.network.linear_terms]


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
    (slopes,) = (term.slopes for term in problem.network.linear_terms if term.column == column)
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
