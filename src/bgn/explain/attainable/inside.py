"""The rows of one region: how much room it has, and a row in it that the questions themselves confirm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from bgn.explain.attainable.program import Region, RegionProgram
from bgn.explain.crossings import crossings
from bgn.model.step import Floats

# A region that is thinner than this, relative to the range of its sums, counts as empty where no row is found in it.
THIN = 1e-9
# How far inside its region, in the same units, a row is placed where slopes pull it to the edge.
_INSETS = (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2)

Blame = tuple[set[int], set[int]]  # numbers of columns and of sums


class Inside:
    """Rows that obey the pieces that some columns and sums have in a region."""

    def __init__(self, program: RegionProgram, region: Region, columns: set[int], sums: set[int]) -> None:
        self.program, self.region, self.columns, self.sums = program, region, columns, sums
        self.moving = [k for k, each in enumerate(program.columns)
                       if not each.category and region.columns[k] != each.gap]  # fmt: skip
        places = [program.step[k].start for k in self.moving]
        fixed = np.zeros(program.size)
        for place, piece in zip(program.piece, region.columns, strict=True):
            fixed[place.start + piece] = 1.0
        spans = [self._span(k) for k in self.moving]
        self.spans = np.array(spans).reshape(-1, 2)
        self.low, self.scale = program.low[self.moving], program.scale[self.moving]
        rows, ends, strict, owner = list[Floats](), list[float](), list[bool](), list[int]()
        for number in sorted(sums):
            each, part = program.sums[number], region.sums[number]
            if each.loses and part == len(each.edges) - 1:
                continue
            row, constant, least, most = program.summed(number)
            unit = max(most - least, 1e-300)
            constant += float(row @ fixed)
            for side, sign in ((0, -1.0), (1, 1.0)):
                edge = each.edges[part, side]
                if np.isfinite(edge):
                    rows.append(sign * row[places] / unit)
                    ends.append(sign * (edge - constant) / unit)
                    strict.append(bool(each.strict[part, side]))
                    owner.append(number)
        self.rows, self.ends = np.array(rows).reshape(len(rows), len(self.moving)), np.array(ends)
        self.strict, self.owner = np.array(strict, dtype=bool), owner
        pairs = [(program.columns[k], region.columns[k]) for k in columns]
        pairs += [(program.sums[k], region.sums[k]) for k in sums]  # type: ignore[misc]
        told = {neuron: answer for each, piece in pairs
                for neuron, answer in zip(each.neurons, each.answers[piece], strict=True)}  # fmt: skip
        self.asked = sorted(told)
        self.wanted = np.array([told[k] for k in self.asked])

    def _span(self, k: int) -> Floats:
        """Return the range of a number: its piece, or all pieces where its piece does not matter."""
        spans = self.program.columns[k].spans
        if k in self.columns:
            return spans[self.region.columns[k]]
        return np.array([np.nanmin(spans), np.nanmax(spans)])

    def room(self, every_edge: bool) -> tuple[float, Blame]:
        """Return how far inside its edges, or those that do not belong to it, the region goes, and what ends it there.

        Below 0 there is no region, not even on its edges; -1 also where a hard edge leaves none.
        """
        insets = np.ones((len(self.rows), 1)) if every_edge else self.strict.astype(float)[:, np.newaxis]
        found, blame = self._solve(insets, np.full(1, -1.0), [(-1.0 if every_edge else 0.0, 1.0)], relaxed=True)
        return (-1.0 if found is None else float(found[-1])), blame

    def steps(self, room: float) -> Iterator[Floats]:
        """Yield numbers that obey the pieces: far from all edges, beside those that must be touched, up the slopes."""
        count, edges, slopes = len(self.moving), len(self.rows), self.program.problem.slopes.any()
        if room > THIN:
            widest, _ = self._solve(np.ones((edges, 1)), np.full(1, -1.0), [(0.0, 1.0)])
            if widest is not None:
                yield widest[:count]
        if room <= THIN or slopes:
            for cap in (1e-3, 1e-6, 1e-9):
                found, _ = self._solve(np.eye(edges), np.full(edges, -1.0), [(-1e-12, cap)] * edges)
                if found is not None:
                    yield found[:count]
        for inset in _INSETS if slopes else ():
            found, _ = self._solve(np.ones((edges, 1)), np.zeros(1), [(inset, inset)], climbs=True)
            if found is not None:
                yield found[:count]

    def _solve(
        self, insets: Floats, prices: Floats, ends: list[tuple[float, float]], climbs: bool = False,
        relaxed: bool = False,
    ) -> tuple[Floats | None, Blame]:  # fmt: skip
        """Return the best steps and insets, and which pieces keep them from being better; all where nobody knows."""
        problem, program = self.program.problem, self.program
        columns = [program.columns[k].column for k in self.moving]
        aim = np.append(-problem.slopes[columns] * self.scale if climbs else np.zeros(len(columns)), prices)
        spans = (self.spans - self.low[:, np.newaxis]) / self.scale[:, np.newaxis]
        whole, some = problem.domain.whole[columns] & (not relaxed), len(self.rows) > 0
        found = linprog(
            aim, A_ub=np.column_stack([self.rows, insets]) if some else None, b_ub=self.ends if some else None,
            bounds=[*map(tuple, spans.tolist()), *ends], method="highs",
            integrality=[*whole.astype(int), *(0 for _ in ends)] if whole.any() else None,
        )  # fmt: skip
        everything = set(range(len(program.columns))), set(range(len(program.sums)))
        if found.status != 0:
            return None, everything
        if whole.any() or not some:
            return found.x, everything
        sums = {self.owner[k] for k in np.flatnonzero(np.abs(found.ineqlin.marginals) > 1e-12)}
        held = np.flatnonzero(np.abs(found.lower.marginals) + np.abs(found.upper.marginals) > 1e-12)
        blamed = {self.moving[k] for k in held if k < len(self.moving)}
        for number in sums:  # categories and gaps decide what the rest of a sum must reach
            own = (program.place[column] for column in program.sums[number].projection.columns)
            blamed |= {k for k in own if k not in self.moving or program.columns[k].gap is not None}
        return found.x, (blamed, sums)

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
        done, slopes = self._fits(row), problem.slopes.any()
        for k in () if done and slopes else self.moving:
            column = program.columns[k].column
            for value in self._beside(row, column, done):
                trial = row.copy()
                trial[column] = value
                if self._fits(trial):
                    row, done = trial, True
                    break
        if not done:
            return None
        return self._climbed(row) if slopes else row

    def _beside(self, row: Floats, column: int, short: bool) -> Iterator[float]:
        """Yield values near a column's own: of few digits and, unless that is all that is missing, on thresholds."""
        value = float(row[column])
        for digits in range(1, 15):
            yield from (float(f"{value:.{digits}g}"), round(value, digits - 1))
        for neuron in () if short else self.program.problem.neurons:
            if column in neuron.projection.columns:
                turn = float(crossings(neuron, column, row[np.newaxis])[0])
                yield from (turn, float(np.nextafter(turn, -np.inf)))

    def _climbed(self, row: Floats) -> Floats:
        """Return a row with every number, one after the other, as far up its slope as the answers stay."""
        problem = self.program.problem
        for k, (low, high) in zip(self.moving, self.spans.tolist(), strict=True):
            column = self.program.columns[k].column
            if problem.slopes[column]:
                readers = [each for each in problem.neurons if column in each.projection.columns]
                turns = np.array([crossings(each, column, row[np.newaxis])[0] for each in readers])
                if problem.domain.whole[column]:
                    turns = np.ceil(turns)
                passed = turns <= row[column]
                low = max(low, turns[passed].max(initial=-np.inf))
                after = turns[~passed].min(initial=np.inf)
                high = min(high, after - 1.0 if problem.domain.whole[column] else np.nextafter(after, -np.inf))
                row[column] = high if problem.slopes[column] > 0 else low
        return row

    def _fits(self, row: Floats) -> bool:
        """Whether a row lies in the pieces, as the questions themselves answer."""
        columns = [self.program.columns[k].column for k in self.moving]
        inside = (row[columns] >= self.spans[:, 0]) & (row[columns] <= self.spans[:, 1])
        neurons = self.program.problem.neurons
        return bool(inside.all()) and all(
            neurons[k].fires(row[np.newaxis])[0] == (answer > 0)
            for k, answer in zip(self.asked, self.wanted, strict=True)
        )
