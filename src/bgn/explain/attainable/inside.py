"""The rows of one region: one that the questions themselves confirm, or a proof in fractions that there is none.

How far inside its edges a region goes is a linear program. What its solver answers is not believed: from the shares
that it gives to the edges follows, in fractions, what no row of the region exceeds, whatever the shares are. Whole
numbers are halved until each is one number, or such a proof is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from bgn.explain.attainable.program import Region, RegionProgram
from bgn.explain.crossings import crossings
from bgn.model.step import Floats

# A region that is thinner than this, relative to the range of its sums, counts as empty where no row is found in it.
THIN = 1e-9
# How far inside its region, in the same units, a row is placed where slopes pull it to the edge.
_INSETS = (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2)
# Boxes of whole numbers that are looked into for one region.
_BOXES = 400

Blame = tuple[set[int], set[int]]  # numbers of columns and of sums


@dataclass(frozen=True, eq=False)
class Room:
    """How far inside its edges a region goes at most, which is proven; what keeps it from more; a solver's place.

    Below 0 no row is in the region, not even on its edges.
    """

    most: float
    blame: Blame
    steps: Floats | None


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
        rows, ends, strict, owner = list[Floats](), list[float](), list[bool](), list[tuple[int, int, float]]()
        for number in sorted(sums):
            each, part = program.sums[number], region.sums[number]
            if each.loses and part == len(each.edges) - 1:
                continue
            row, constant, least, most = program.summed(number)
            unit = float(most - least or np.abs(row[places]).max(initial=0.0) or 1.0)
            constant += float(row @ fixed)
            for side, sign in ((0, -1.0), (1, 1.0)):
                edge = each.edges[part, side]
                if np.isfinite(edge):
                    rows.append(sign * row[places] / unit)
                    ends.append(sign * (edge - constant) / unit)
                    strict.append(bool(each.strict[part, side]))
                    owner.append((number, side, unit))
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

    def room(self, every_edge: bool = True) -> Room:
        """Return how far inside its edges, or those that do not belong to it, the region goes."""
        counted = np.ones(len(self.rows)) if every_edge else self.strict.astype(float)
        found = self._solve(counted[:, np.newaxis], np.full(1, -1.0), [(None, 1.0)])
        if found is None:
            return Room(np.inf, self._everything(), None)
        shares = np.maximum(-found.ineqlin.marginals, 0.0) if len(self.rows) else np.zeros(0)
        most, blame = self._no_more_than(shares, counted)
        return Room(most, blame, found.x[: len(self.moving)])

    def _everything(self) -> Blame:
        return set(range(len(self.program.columns))), set(range(len(self.program.sums)))

    def _no_more_than(self, shares: Floats, counted: Floats) -> tuple[float, Blame]:
        """Return what no row is farther inside the edges that count than, in fractions, and the pieces that say so.

        The edges, each times its share, add up to one inequality that all rows of the region obey. Sums as a network
        rounds them are allowed for.
        """
        program, places = self.program, {self.program.columns[k].column: k for k in self.moving}
        spans = dict(zip(self.moving, self.spans.tolist(), strict=True))
        right, weight, pull = Fraction(0), Fraction(0), dict[int, Fraction]()
        sums = set[int]()
        for k in np.flatnonzero(shares > 1e-12 * shares.max(initial=0.0)):
            number, side, unit = self.owner[k]
            sums.add(number)
            each, share = program.sums[number], Fraction(float(shares[k])) / Fraction(unit)
            edge, sign = float(each.edges[self.region.sums[number], side]), 2 * side - 1
            right += share * sign * Fraction(edge)
            size, projection = abs(edge), each.projection
            gaps = projection.gaps or (0.0,) * len(projection.columns)
            for column, coefficient, gap in zip(projection.columns, projection.coefficients, gaps, strict=True):
                if column in places:
                    assert isinstance(coefficient, float)
                    moved = places[column]
                    pull[moved] = pull.get(moved, Fraction(0)) + share * sign * Fraction(coefficient)
                    size += abs(coefficient) * max(map(abs, spans[moved]))
                else:
                    added = self._added(column, coefficient, gap)
                    right -= share * sign * Fraction(added)
                    size += abs(added)
            right += share * Fraction((len(projection.columns) + 2) * 2.0**-52 * size)
            weight += Fraction(float(shares[k])) if counted[k] else 0
        ends = (min(each * Fraction(low), each * Fraction(high)) for each, (low, high) in
                ((each, spans[k]) for k, each in pull.items()))  # fmt: skip
        least = sum(ends, Fraction(0))
        blamed = {k for k, each in pull.items() if each}
        for number in sums:  # categories and gaps decide what the rest of a sum must reach
            own = (program.place[column] for column in program.sums[number].projection.columns)
            blamed |= {k for k in own if k not in spans or program.columns[k].gap is not None}
        if not weight:
            return (-np.inf if right < least else np.inf), (blamed, sums)
        return float((right - least) / weight), (blamed, sums)

    def _added(self, column: int, coefficient: Any, gap: float) -> float:
        """Return what a level or a gap adds to a sum."""
        k = self.program.place[column]
        value = float(self.program.columns[k].spans[self.region.columns[k], 0])
        if isinstance(coefficient, tuple):
            return gap if value != value else coefficient[int(value)]
        return gap * (coefficient or 1.0)

    def steps(self, room: float) -> Iterator[Floats]:
        """Yield numbers that obey the pieces: far from all edges, beside those that must be touched, up the slopes."""
        count, edges, slopes = len(self.moving), len(self.rows), self.program.problem.slopes.any()
        if room > THIN:
            widest = self._solve(np.ones((edges, 1)), np.full(1, -1.0), [(0.0, 1.0)])
            if widest is not None:
                yield widest.x[:count]
        if room <= THIN or slopes:
            for cap in (1e-3, 1e-6, 1e-9):
                found = self._solve(np.eye(edges), np.full(edges, -1.0), [(-1e-12, cap)] * edges)
                if found is not None:
                    yield found.x[:count]
        for inset in _INSETS if slopes else ():
            found = self._solve(np.ones((edges, 1)), np.zeros(1), [(inset, inset)], climbs=True)
            if found is not None:
                yield found.x[:count]
        if self.region.steps is not None and self.lattice:
            yield self.region.steps[self.moving]

    def _solve(
        self, insets: Floats, prices: Floats, ends: list[tuple[float | None, float]], climbs: bool = False
    ) -> Any:  # fmt: skip
        """Return what a solver takes for the best steps and insets; None where it finds none."""
        problem, program = self.program.problem, self.program
        columns = [program.columns[k].column for k in self.moving]
        aim = np.append(-problem.slopes[columns] * self.scale if climbs else np.zeros(len(columns)), prices)
        spans, some = (self.spans - self.low[:, np.newaxis]) / self.scale[:, np.newaxis], len(self.rows) > 0
        found = linprog(
            aim, A_ub=np.column_stack([self.rows, insets]) if some else None, b_ub=self.ends if some else None,
            bounds=[*map(tuple, spans.tolist()), *ends], method="highs", options={"presolve": False},
        )  # fmt: skip
        return found if found.status == 0 else None

    @property
    def lattice(self) -> list[int]:
        """Which numbers in sums are whole, by their place among those that move."""
        whole, read = self.program.problem.domain.whole, np.flatnonzero((self.rows != 0.0).any(axis=0)).tolist()
        return [k for k in read if whole[self.program.columns[self.moving[k]].column]]

    def among_whole_numbers(self) -> tuple[Floats | None, bool]:
        """Return a row of the region, all whole numbers tried; without one, whether it is proven that there is none."""
        lattice, read = self.lattice, np.flatnonzero((self.rows != 0.0).any(axis=0))
        boxes, known = [self.spans], True
        for _ in range(_BOXES):
            if not boxes:
                return None, known
            here = copy(self)
            here.spans = boxes.pop()
            room = here.room()
            if room.most < 0.0:
                continue
            wide = [k for k in lattice if here.spans[k, 0] < here.spans[k, 1]]
            rest = [k for k in read.tolist() if k not in lattice and here.spans[k, 0] < here.spans[k, 1]]
            tried = [here.spans[:, 0] * 0.0] if not wide and not rest else []
            tried += [] if room.steps is None or tried else [room.steps]
            tried += here.steps(room.most) if not wide and rest else []
            for steps in tried:
                if (row := here.row(steps)) is not None:
                    return row, True
            if wide:
                boxes += here._halves(max(wide, key=lambda k: here.spans[k, 1] - here.spans[k, 0]), room.steps)
            elif rest and room.most > THIN:
                known = False
        return None, False

    def _halves(self, k: int, steps: Floats | None) -> list[Floats]:
        """Return the spans with a whole number below a place, and above: last where a solver would look first."""
        low, high = self.spans[k].tolist()
        place = (low + high) / 2 if steps is None else float(self.low[k] + self.scale[k] * steps[k])
        cut = min(max(np.floor(place), low), high - 1.0)
        below, above = self.spans.copy(), self.spans.copy()
        below[k, 1], above[k, 0] = cut, cut + 1.0
        return [below, above] if place - cut > 0.5 else [above, below]

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
        whole = bool(self.program.problem.domain.whole[column])
        for digits in () if whole else range(1, 15):
            yield from (float(f"{value:.{digits}g}"), round(value, digits - 1))
        for neuron in () if short else self.program.problem.neurons:
            if column in neuron.projection.columns:
                turn = float(crossings(neuron, column, row[np.newaxis])[0])
                beside = np.ceil(turn) - 1.0 if whole else np.nextafter(turn, -np.inf)
                yield from (float(np.ceil(turn)) if whole else turn, float(beside))

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
