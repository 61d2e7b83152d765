"""The row with the highest score, and the proof: column by column where columns stand alone, else by a program."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from bgn.explain.attainable.pieces import column_pieces
from bgn.explain.attainable.problem import ScoreProblem
from bgn.explain.attainable.program import Region, RegionProgram
from bgn.model.step import Floats

# Scores closer than this, relative to all that can be added up, are the same: the solver promises no more.
_SAME = 1e-9
# A region that is thinner than this, relative to the range of its sums, counts as empty where no row is found in it.
_THIN = 1e-9
# How far inside its region, in the same units, a row is placed where slopes pull it to the edge.
_INSETS = (0.0, 1e-12, 1e-9, 1e-7)


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
    return Highest(row, value, bound, proven)


def _of_part(problem: ScoreProblem, deadline: float) -> Highest:
    """Return the best row of a problem whose columns hang together."""
    columns = problem.columns
    problem = problem.bounded()
    if len(columns) == 1 and not problem.deeper:
        return _alone(problem, columns[0])
    if not columns:
        row = problem.domain.start
        return Highest(row, problem.value(row), problem.value(row), True)
    return _by_program(problem, deadline)


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
    same = _SAME * program.unit if not problem.slopes.any() else 1e-6 * program.unit
    best, value, bound = None, -np.inf, np.inf
    while (left := deadline - time.monotonic()) > 0:
        region = program.solve(left)
        if region is None:
            return Highest(best, value, value, True)
        bound = min(bound, region.bound)
        if value >= bound - same:
            return Highest(best, value, bound, True)
        if not region.columns:
            break
        row, columns, sums = _enter(program, region)
        if row is not None and problem.value(row) > value:
            best, value = row, problem.value(row)
        if value >= bound - same:
            return Highest(best, value, bound, True)
        if not region.finished:
            break
        program.rule_out(region, columns, sums)
    return Highest(best, value, bound, False)


def _enter(program: RegionProgram, region: Region) -> tuple[Floats | None, set[int], set[int]]:
    """Return a row inside a region, or which of its pieces keep rows out: numbers of columns and of sums."""
    everything = set(range(len(program.columns))), set(range(len(program.sums)))
    inside = _Inside(program, region)
    best, value = None, -np.inf
    widest, _ = inside.solve(every_edge=True)
    thin, blame = (widest, everything) if widest is not None and widest[0] > _THIN else inside.solve(every_edge=False)
    for found in (widest, thin):
        row = None if found is None else inside.row(found[1])
        if row is not None and program.problem.value(row) > value:
            best, value = row, program.problem.value(row)
    if best is not None and program.problem.slopes.any():
        for inset in _INSETS:
            found, _ = inside.solve(every_edge=True, inset=inset)
            row = None if found is None else inside.row(found[1])
            if row is not None and program.problem.value(row) > value:
                best, value = row, program.problem.value(row)
    if best is None and (thin is None or thin[0] <= _THIN):
        return None, *blame
    return best, *everything


class _Inside:
    """The rows of one region: numbers that obey its pieces."""

    def __init__(self, program: RegionProgram, region: Region) -> None:
        self.program, self.region = program, region
        moving = [k for k, each in enumerate(program.columns)
                  if not each.category and region.columns[k] != each.gap]  # fmt: skip
        self.moving, self.places = moving, [program.step[k].start for k in moving]
        self.fixed = np.zeros(program.size)
        for place, piece in zip(program.piece, region.columns, strict=True):
            self.fixed[place.start + piece] = 1.0
        spans = [program.columns[k].spans[region.columns[k]] for k in moving]
        self.spans = np.array(spans).reshape(-1, 2)
        self.low, self.scale = program.low[moving], program.scale[moving]
        rows, ends, strict, owner = list[Floats](), list[float](), list[bool](), list[int]()
        for number, (each, part) in enumerate(zip(program.sums, region.sums, strict=True)):
            if each.loses and part == len(each.edges) - 1:
                continue
            row, constant, least, most = program.summed(number)
            unit = max(most - least, 1e-300)
            constant += float(row @ self.fixed)
            for side, sign in ((0, -1.0), (1, 1.0)):
                edge = each.edges[part, side]
                if np.isfinite(edge):
                    rows.append(sign * row[self.places] / unit)
                    ends.append(sign * (edge - constant) / unit)
                    strict.append(bool(each.strict[part, side]))
                    owner.append(number)
        self.rows, self.ends = np.array(rows).reshape(-1, len(moving)), np.array(ends)
        self.strict, self.owner = np.array(strict, dtype=bool), owner

    def solve(
        self, every_edge: bool, inset: float | None = None
    ) -> tuple[tuple[float, Floats] | None, tuple[set[int], set[int]]]:
        """Return how far inside the edges a row can be and its numbers; and which pieces keep it from going farther.

        With `inset` the row is so far inside, and as high as the slopes bring it.
        """
        kept = np.ones(len(self.rows)) if every_edge else self.strict.astype(float)
        table = np.column_stack([self.rows, kept])
        aim = np.append(np.zeros(len(self.moving)), -1.0)
        bounds = [*((self.spans - self.low[:, np.newaxis]) / self.scale[:, np.newaxis]).tolist(), [0.0, 1.0]]
        problem = self.program.problem
        if inset is not None:
            aim[:-1] = [-problem.slopes[self.program.columns[k].column] * self.program.scale[k] for k in self.moving]
            aim[-1], bounds[-1] = 0.0, [inset, inset]
        whole = [int(problem.domain.whole[self.program.columns[k].column]) for k in self.moving]
        found = linprog(
            aim, A_ub=table if len(table) else None, b_ub=self.ends if len(table) else None, bounds=bounds,
            integrality=[*whole, 0] if any(whole) else None, method="highs",
        )  # fmt: skip
        blame = set(range(len(self.program.columns))), set(range(len(self.program.sums)))
        if found.status != 0:
            return None, blame
        if not any(whole):
            rows = [self.owner[k] for k in np.flatnonzero(np.abs(found.ineqlin.marginals) > 1e-12)] if len(table) else []
            held = np.flatnonzero(np.abs(found.lower.marginals) + np.abs(found.upper.marginals) > 1e-12)
            columns = {self.moving[k] for k in held if k < len(self.moving)}
            for number in rows:  # categories and gaps decide what the rest of a sum must reach
                own = (self.program.place[column] for column in self.program.sums[number].projection.columns)
                columns |= {k for k in own if k not in self.moving or self.program.columns[k].gap is not None}
            blame = columns, set(rows)
        return (float(found.x[-1]), found.x[:-1]), blame

    def row(self, steps: Floats) -> Floats | None:
        """Return a row of the numbers found, in as few digits as do, if the questions answer it as they should."""
        program, problem = self.program, self.program.problem
        row = problem.domain.start.copy()
        for k, each in enumerate(program.columns):
            row[each.column] = each.spans[self.region.columns[k], 0]
        for k, span, step in zip(self.moving, self.spans, steps, strict=True):
            column = program.columns[k].column
            value = program.low[k] + program.scale[k] * step
            row[column] = np.clip(np.rint(value) if problem.domain.whole[column] else value, *span)
        wanted = self._answers()
        if not np.array_equal(problem.answers(row)[self.asked], wanted):
            return None
        if problem.slopes.any():
            return row
        for k, span in zip(self.moving, self.spans, strict=True):
            column = program.columns[k].column
            for digits in range(1, 15):
                trial = row.copy()
                trial[column] = float(f"{row[column]:.{digits}g}")
                inside = span[0] <= trial[column] <= span[1]
                if inside and np.array_equal(problem.answers(trial)[self.asked], wanted):
                    row = trial
                    break
        return row

    def _answers(self) -> Floats:
        """Return the answers that the pieces stand for, of the questions `asked`."""
        pairs = [*zip(self.program.columns, self.region.columns, strict=True),
                 *zip(self.program.sums, self.region.sums, strict=True)]  # fmt: skip
        told = {neuron: answer for each, piece in pairs
                for neuron, answer in zip(each.neurons, each.answers[piece], strict=True)}  # fmt: skip
        self.asked = sorted(told)
        return np.array([told[k] for k in self.asked])
