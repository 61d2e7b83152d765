"""The row that is best, and the proof: column by column where columns stand alone, by trying all rows where they are
few, else by a program.

No proof rests on one answer of a solver. What attains a value is a row that the network has confirmed; a region is
ruled out by a proof in fractions (:mod:`bgn.explain.optimize.region`); and where regions are too many to be listed,
two programs, written differently, must agree that nothing is better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from bgn.explain.crossings import crossings
from bgn.explain.optimize.problem import Problem, cut_column
from bgn.explain.optimize.program import Program, Region
from bgn.explain.optimize.region import enter
from bgn.model.step import Floats


@dataclass(frozen=True, eq=False)
class Best:
    """The best row, NaN for a missing value; None where there is none. Its value, an upper bound of all values, and
    whether it is proven that nothing is better."""

    row: Floats | None
    value: float
    bound: float
    proven: bool


@dataclass(frozen=True, eq=False)
class Entered:
    """The best row of a region and its value; which columns and sums are ruled out to come together again; and a value
    that the region may have and that nobody has attained or ruled out."""

    row: Floats | None
    value: float
    cuts: Iterable[int]
    open: float = -np.inf


def improve(
    program: Program, enter_region: Callable[[Region, float], Entered], start: Floats | None, value: float,
    deadline: float,
) -> Best:  # fmt: skip
    """Return the best row: region by region, the most promising first, until two programs agree that none is better.

    It begins with a row, or None, and its value. `enter_region` looks for a row in a region, and is given the best
    value so far.
    """
    row, bound, unclear, turned, change = start, np.inf, -np.inf, False, program.change
    while (left := deadline - time.monotonic()) > 0:
        same = program.same(value)
        if turned and (program.listed is not None or not program.resolves):
            # A solver that cannot tell some weights from none knows no more than that the rest is near.
            slack = 0.0 if program.resolves else 10.0 * same
            proven = program.resolves and value >= unclear - same
            return Best(row, value, max(bound, unclear, value) + slack, proven)
        # A score is looked for without help until another program must find none higher; a cost never beyond the best.
        least = value + same if turned else value if change is not None else -np.inf
        region = program.solve(left, -np.inf if change is not None and change.nearest else least, turned)
        if region is not None:
            bound = max(bound, region.bound) if turned else min(bound, region.bound)
        elif not turned:
            bound = max(unclear, value)
        if region is None or value >= (region.bound if turned else bound) - same:
            if turned:
                return Best(row, value, max(bound, unclear, value), value >= unclear - same)
            turned = True
            continue
        if region.value == -np.inf or (change is not None and not change.nearest and bound <= unclear):
            break
        entered = enter_region(region, value)
        if entered.row is not None and entered.value > value:
            row, value = entered.row, entered.value
        unclear = max(unclear, entered.open)
        if not region.finished:
            break
        program.rule_out(region, entered.cuts)
        turned = False
    return Best(row, value, max(bound, unclear, value), False)


# -- The highest score.


def highest(problem: Problem, deadline: float) -> Best:
    """Return the row of a domain with the highest score."""
    row, bound, value, proven = problem.domain.start.copy(), 0.0, 0.0, True
    for part in problem.parts():
        best = _highest_of_part(part, deadline)
        if best.row is None:
            return Best(None, -np.inf, best.bound, best.proven)
        row[part.columns] = best.row[part.columns]
        bound, value, proven = bound + best.bound, value + best.value, proven and best.proven
    return Best(row + 0.0, value, bound, proven)


def _highest_of_part(problem: Problem, deadline: float) -> Best:
    """Return the best row of a problem whose columns hang together."""
    columns = problem.columns
    if pieces := problem.split():
        bests = list[Best]()
        for piece in pieces:
            best = _highest_of_part(replace(piece, constant=0.0), deadline)
            if best.row is not None:  # columns that no condition reads here keep to their side of the end, too
                row = np.where(np.isnan(best.row), np.nan, np.clip(best.row, piece.domain.low, piece.domain.high))
                row[[*piece.domain.absent]] = np.nan
                best = Best(row, best.value + piece.constant, best.bound + piece.constant, best.proven)
            bests.append(best)
        best = max(bests, key=lambda best: best.value)
        proven = best.row is not None and all(other.proven for other in bests)
        return Best(best.row, best.value, max(other.bound for other in bests), proven)
    problem = problem.bounded()
    if len(columns) == 1 and not problem.deeper:
        return _highest_of_column(problem, columns[0])
    if (tried := best_row(problem)) is not None:
        return Best(*tried, tried[1], True)
    program = Program(problem)

    def enter_region(region: Region, value: float) -> Entered:
        row, cuts, known = enter(program, region)
        own = -np.inf if row is None else problem.value(row)
        # Nobody knows, or linear terms lead to an edge near which no row was confirmed.
        is_open = not known or (row is not None and own < region.value - program.same(value))
        return Entered(row, own, cuts, region.value if is_open else -np.inf)

    return improve(program, enter_region, None, -np.inf, deadline)


def _highest_of_column(problem: Problem, column: int) -> Best:
    """Return the best value of one column: every piece is tried."""
    cut, coef = cut_column(problem.conditions, problem.domain, column), float(problem.linear_coef[column])
    ends = cut.edges[:, 1 if coef > 0 else 0]
    values = cut.signs[:, : problem.n_scored] @ problem.weights + (coef * ends if coef else 0.0)
    values = np.where((cut.signs[:, problem.n_scored :] > 0).all(axis=1), values, -np.inf)
    best = int(values.argmax())
    if not np.isfinite(values[best]):
        return Best(None, -np.inf, -np.inf, True)
    row = problem.domain.start.copy()
    low, high = cut.edges[best]
    if coef or not low <= row[column] <= high:
        row[column] = ends[best] if coef else _shorten(low, high, bool(problem.domain.whole[column]))
    return Best(row, float(values[best]), float(values[best]), True)


def _shorten(low: float, high: float, whole: bool) -> float:
    """Return a number of few digits from `low` to `high`; NaN for a missing value."""
    if not low < high or whole:
        return float(low)
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        for value in (0.0, float(f"{middle:.{digits}g}"), float(f"{low:.{digits}g}"), float(f"{high:.{digits}g}")):
            if low <= value <= high:
                return value
    return float(low)


def is_empty(problem: Problem, wanted: Floats) -> bool:
    """Whether it is proven that no row of a domain has all conditions hold, or fail, as wanted."""
    program, places = Program(problem), list[int]()
    for cut in program.cuts:
        pieces = np.flatnonzero((cut.signs == wanted[cut.conditions]).all(axis=1))
        if len(pieces) != 1:
            return not len(pieces)
        places.append(int(pieces[0]))
    row, _, known = enter(program, Region(tuple(places), 0.0, 0.0, True, None, np.zeros(0, dtype=bool)))
    return row is None and known


# -- Rows that stand for all rows of a problem, where they are few: no proof is simpler than to try them.

# Rows up to which all are tried.
_ROWS = 10_000


def best_row(problem: Problem) -> tuple[Floats | None, float] | None:
    """Return the best of all rows, None where nothing is allowed, and its value; None where rows are too many."""
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


def rows_but(problem: Problem, column: int | None) -> Floats | None:
    """Return all rows but for a column, which the caller moves; None where they are too many."""
    others = [other for other in problem.columns if other != column]
    moved = 0 if column is None else sum(column in condition.columns for condition in problem.conditions)
    options = [values for values in (values_of(problem, other) for other in others) if values is not None]
    if len(options) < len(others) or prod(map(len, options)) * (2 * moved + 1) > _ROWS:
        return None
    values = np.array(list(product(*options)), np.float64).reshape(prod(map(len, options)), len(others))
    rows = np.tile(problem.domain.start, (len(values), 1))
    rows[:, others] = values
    return rows


def values_of(problem: Problem, column: int) -> Floats | None:
    """Return the values of a column that stand for all, the one it starts from first; None where they are too many."""
    domain, coef = problem.domain, float(problem.linear_coef[column])
    cut, start = cut_column(problem.conditions, domain, column), domain.start[column]
    low, high = cut.edges.T
    if cut.categorical or not any(column in other.columns for other in problem.conditions if len(other.columns) > 1):
        inside = (low <= start) & (start <= high)
        values = high if coef > 0 else low if coef < 0 else np.where(inside, start, low)
    elif domain.whole[column] and domain.high[column] - domain.low[column] < _ROWS:
        values = np.arange(domain.low[column], domain.high[column] + 1.0)
        values = np.append(values[: 0 if column in domain.absent else None], [np.nan] * (cut.missing is not None))
    else:
        return None
    return np.concatenate([values[values == start], values[values != start]])


def places_along(problem: Problem, column: int, rows: Floats) -> Floats:
    """Return values of a column, one row of them for every row, that stand for all: in order, a missing value last."""
    domain, missing = problem.domain, [np.nan] * bool(problem.domain.missing[column])
    categories = domain.categories[column]
    if categories is not None:
        return np.tile([*map(float, categories), *missing], (len(rows), 1))
    low, high = float(domain.low[column]), float(domain.high[column])
    if domain.whole[column] and high - low < _ROWS // (len(rows) + 1):
        return np.tile([*np.arange(low, high + 1.0), *missing], (len(rows), 1))
    ends = [] if problem.linear_range is None else [end for end in problem.linear_range[column] if low <= end <= high]
    turns = [np.full(len(rows), end) for end in (low, *ends, high)]
    for condition in problem.conditions:
        if column in condition.columns:
            at = crossings(condition, column, rows)
            turns += [at, np.nextafter(at, -np.inf)]
    places = np.array(turns).T
    if domain.whole[column]:
        places = np.concatenate([np.floor(places), np.ceil(places)], axis=1)
    places = np.sort(np.clip(places, low, high), axis=1)
    return np.concatenate([places, np.full((len(rows), len(missing)), np.nan)], axis=1)
