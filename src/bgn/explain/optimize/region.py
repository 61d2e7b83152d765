"""The rows of one region: one that the network itself confirms, or a proof in fractions that there is none."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from bgn.explain.crossings import crossings
from bgn.explain.optimize.program import Program, Region
from bgn.model.step import Floats

# A region that is thinner than this, relative to the range of its sums, counts as empty where no row is met in it.
THIN = 1e-9
# How far inside its region, in the same units, a row is placed where linear terms pull it to the edge.
_INSETS = (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2)
# Boxes of whole numbers that are looked into for one region.
_BOXES = 400


def enter(program: Program, region: Region) -> tuple[Floats | None, set[int], bool]:
    """Return a row inside a region of a score, or which of its columns and sums keep rows out.

    Without a row, whether it is proven that there is none, but for rows within `THIN` of edges.
    """
    everything = set(range(len(program.cuts)))
    inside = Inside(program, region, everything)
    clearance = inside.clearance()
    if clearance.most < 0.0:
        return None, clearance.blame, True
    if clearance.most <= THIN and not inside.lattice:
        open_edges = inside.clearance(every_edge=False)
        if open_edges.most <= THIN:  # all its rows would lie on edges that do not belong to it
            return None, open_edges.blame, True
    rows = [row for row in map(inside.row, inside.steps(clearance.most)) if row is not None]
    if rows:
        return max(rows, key=program.problem.value), everything, True
    if inside.lattice:
        row, known = inside.among_whole_numbers()
        return row, everything, known
    if clearance.most > THIN or clearance.blame == everything:
        return None, everything, clearance.most <= THIN
    # Nothing but a touch of edges: those alone are looked at, and blamed where they cannot touch either.
    alone = Inside(program, region, clearance.blame)
    touched = any(row is not None for row in map(alone.row, alone.steps(clearance.most)))
    return None, everything if touched else clearance.blame, True


@dataclass(frozen=True, eq=False)
class Clearance:
    """How far inside its edges a region goes at most, which is proven, below 0 where it has no row at all; the numbers
    of the columns and sums that keep it from more; and a solver's place."""

    most: float
    blame: set[int]
    steps: Floats | None


class Inside:
    """Rows that obey the pieces that some columns and sums have in a region."""

    def __init__(self, program: Program, region: Region, cuts: set[int]) -> None:
        self.program, self.region, domain = program, region, program.problem.domain
        # The numbers that are not missing in this region, by their place in the program.
        lost = {column: program.cuts[number].missing for column, number in program.cut_of.items()}
        self.moving = [k for column, k in program.place.items()
                       if region.pieces[program.cut_of[column]] != lost[column]]  # fmt: skip
        self.columns = program.columns[self.moving].tolist()
        self.start, self.scale = program.start[self.moving], program.scale[self.moving]
        self.whole, self.linear_coef = domain.whole[self.columns], program.problem.linear_coef[self.columns]
        spans = []
        for number in (program.cut_of[column] for column in self.columns):  # all pieces where it does not matter which
            edges = program.cuts[number].edges
            own = edges[region.pieces[number]] if number in cuts else (np.nanmin(edges), np.nanmax(edges))
            spans.append(own)
        self.spans = np.array(spans).reshape(-1, 2)
        fixed = np.zeros(program.size)
        for place, piece in zip(program.piece, region.pieces, strict=True):
            fixed[place.start + piece] = 1.0
        rows, ends, strict, owner = list[Floats](), list[float](), list[bool](), list[tuple[int, int, float]]()
        for number in sorted(cuts):
            cut, piece = program.cuts[number], region.pieces[number]
            if cut.column is not None or piece == cut.missing:
                continue
            row, constant, least, most = program.summed(number)
            steps = row[program.up][self.moving]
            unit = float(most - least or np.abs(steps).max(initial=0.0) or 1.0)
            constant += float(row @ fixed)
            for side, sign in ((0, -1.0), (1, 1.0)):
                edge = cut.edges[piece, side]
                if np.isfinite(edge):
                    rows.append(sign * steps / unit)
                    ends.append(sign * (edge - constant) / unit)
                    strict.append(bool(cut.strict[piece, side]))
                    owner.append((number, side, unit))
        self.rows, self.ends = np.array(rows).reshape(len(rows), len(self.moving)), np.array(ends)
        self.strict, self.owner = np.array(strict, dtype=bool), owner
        signs = dict[int, float]()
        for number in cuts:
            cut = program.cuts[number]
            signs |= dict(zip(cut.conditions, cut.signs[region.pieces[number]].tolist(), strict=True))
        self.conditions = sorted(signs)
        self.wanted = np.array([signs[k] for k in self.conditions])

    @property
    def lattice(self) -> list[int]:
        """Which numbers in sums are whole, by their place among those that move."""
        return [k for k in np.flatnonzero((self.rows != 0.0).any(axis=0)).tolist() if self.whole[k]]

    # -- Proofs in fractions.

    def clearance(self, every_edge: bool = True) -> Clearance:
        """Return how far inside its edges, or those that do not belong to it, the region goes."""
        counted = np.ones(len(self.rows)) if every_edge else self.strict.astype(float)
        result = self._solve(counted[:, np.newaxis], np.full(1, -1.0), [(None, 1.0)])
        if result is None:
            return Clearance(np.inf, set(range(len(self.program.cuts))), None)
        shares = np.maximum(-result.ineqlin.marginals, 0.0) if len(self.rows) else np.zeros(0)
        most, blame = self._no_more_than(shares, counted)
        return Clearance(most, blame, result.x[: len(self.moving)])

    def _no_more_than(self, shares: Floats, counted: Floats) -> tuple[float, set[int]]:
        """Return what no row is farther inside the edges that count than, in fractions, and the pieces that say so.

        The edges, each times its share, add up to one inequality that all rows of the region obey. Sums as a network
        rounds them are allowed for.
        """
        program = self.program
        spans = dict(zip(self.columns, self.spans.tolist(), strict=True))
        right, weight, pull = Fraction(0), Fraction(0), dict[int, Fraction]()
        blame = set[int]()
        for k in np.flatnonzero(shares > 1e-12 * shares.max(initial=0.0)):
            number, side, unit = self.owner[k]
            cut, share = program.cuts[number], Fraction(float(shares[k])) / Fraction(unit)
            edge, sign = float(cut.edges[self.region.pieces[number], side]), 2 * side - 1
            right += share * sign * Fraction(edge)
            size, projection = abs(edge), cut.projection
            blame.add(number)
            counts_as = projection.missing_as or (0.0,) * len(projection.columns)
            for column, coefficient, missing in zip(
                projection.columns, projection.coefficients, counts_as, strict=True
            ):
                own = program.cut_of[column]
                if column in spans:
                    assert isinstance(coefficient, float)
                    pull[column] = pull.get(column, Fraction(0)) + share * sign * Fraction(coefficient)
                    size += abs(coefficient) * max(map(abs, spans[column]))
                else:
                    value = float(program.cuts[own].edges[self.region.pieces[own], 0])
                    if isinstance(coefficient, tuple):
                        added = missing if value != value else coefficient[int(value)]
                    else:
                        added = missing * (coefficient or 1.0)
                    right -= share * sign * Fraction(added)
                    size += abs(added)
                if column not in spans or program.cuts[own].missing is not None:
                    blame.add(own)  # categories and missing values decide what the rest of a sum must reach
            right += share * Fraction((len(projection.columns) + 2) * 2.0**-52 * size)
            weight += Fraction(float(shares[k])) if counted[k] else 0
        least = Fraction(0)
        for column, factor in pull.items():
            least += min(factor * Fraction(end) for end in spans[column])
            if factor:
                blame.add(program.cut_of[column])
        if not weight:
            return (-np.inf if right < least else np.inf), blame
        return float((right - least) / weight), blame

    # -- Rows that a solver proposes, moved to where the network confirms them.

    def steps(self, most: float) -> Iterator[Floats]:
        """Yield numbers that obey the pieces: far from all edges, near those that must be touched, up linear terms."""
        count, edges, linear = len(self.moving), len(self.rows), self.program.problem.linear_coef.any()
        if most > THIN:
            widest = self._solve(np.ones((edges, 1)), np.full(1, -1.0), [(0.0, 1.0)])
            if widest is not None:
                yield widest.x[:count]
        if most <= THIN or linear:
            for cap in (1e-3, 1e-6, 1e-9):
                nearest = self._solve(np.eye(edges), np.full(edges, -1.0), [(-1e-12, cap)] * edges)
                if nearest is not None:
                    yield nearest.x[:count]
        for inset in _INSETS if linear else ():
            highest = self._solve(np.ones((edges, 1)), np.zeros(1), [(inset, inset)], climbs=True)
            if highest is not None:
                yield highest.x[:count]
        if self.region.solution is not None and self.lattice:
            yield self.region.solution[self.program.up][self.moving]

    def _solve(
        self, insets: Floats, prices: Floats, ends: list[tuple[float | None, float]], climbs: bool = False
    ) -> Any:  # fmt: skip
        """Return what a solver takes for the best steps and insets; None where it finds none."""
        aim = np.append(-self.linear_coef * self.scale if climbs else np.zeros(len(self.moving)), prices)
        spans, some = (self.spans - self.start[:, np.newaxis]) / self.scale[:, np.newaxis], len(self.rows) > 0
        result = linprog(
            aim, A_ub=np.column_stack([self.rows, insets]) if some else None, b_ub=self.ends if some else None,
            bounds=[*map(tuple, spans.tolist()), *ends], method="highs", options={"presolve": False},
        )  # fmt: skip
        return result if result.status == 0 else None

    def among_whole_numbers(self) -> tuple[Floats | None, bool]:
        """Return a row of the region, all whole numbers tried; without one, whether it is proven that there is none."""
        lattice, read = self.lattice, np.flatnonzero((self.rows != 0.0).any(axis=0))
        boxes, known = [self.spans], True
        for _ in range(_BOXES):
            if not boxes:
                return None, known
            here = copy(self)
            here.spans = boxes.pop()
            clearance = here.clearance()
            if clearance.most < 0.0:
                continue
            wide = [k for k in lattice if here.spans[k, 0] < here.spans[k, 1]]
            rest = [k for k in read.tolist() if k not in lattice and here.spans[k, 0] < here.spans[k, 1]]
            trials = [here.spans[:, 0] * 0.0] if not wide and not rest else []
            trials += [] if clearance.steps is None or trials else [clearance.steps]
            trials += here.steps(clearance.most) if not wide and rest else []
            for steps in trials:
                if (row := here.row(steps)) is not None:
                    return row, True
            if wide:  # split the widest where the solver stands, and look first where it would
                k = max(wide, key=lambda k: here.spans[k, 1] - here.spans[k, 0])
                low, high = here.spans[k].tolist()
                place = (low + high) / 2
                if clearance.steps is not None:
                    place = float(here.start[k] + here.scale[k] * clearance.steps[k])
                cut = min(max(np.floor(place), low), high - 1.0)
                lower_half, upper_half = here.spans.copy(), here.spans.copy()
                lower_half[k, 1], upper_half[k, 0] = cut, cut + 1.0
                boxes += [lower_half, upper_half] if place - cut > 0.5 else [upper_half, lower_half]
            elif rest and clearance.most > THIN:
                known = False
        return None, False

    def row(self, steps: Floats) -> Floats | None:
        """Return a row of the numbers proposed, in as few digits as do, if the conditions hold in it as they should."""
        program, problem = self.program, self.program.problem
        row = problem.domain.start.copy()
        for cut, piece in zip(program.cuts, self.region.pieces, strict=True):
            if cut.column is not None:
                row[cut.column] = cut.edges[piece, 0]
        values = self.start + self.scale * steps
        values = np.where(self.whole, np.rint(values), values)
        row[self.columns] = np.clip(values, *self.spans.T)
        fits, linear = self._fits(row), problem.linear_coef.any()
        for k in () if fits and linear else range(len(self.columns)):
            for value in self._values_near(row, k, fits):
                trial = row.copy()
                trial[self.columns[k]] = value
                if self._fits(trial):
                    row, fits = trial, True
                    break
        if not fits:
            return None
        return self._climb(row) if linear else row

    def _values_near(self, row: Floats, k: int, short: bool) -> Iterator[float]:
        """Yield values near a column's own: of few digits and, unless short ones are all that is wanted, thresholds."""
        column, whole = self.columns[k], bool(self.whole[k])
        value = float(row[column])
        for digits in () if whole else range(1, 15):
            yield from (float(f"{value:.{digits}g}"), round(value, digits - 1))
        for condition in () if short else self.program.problem.conditions:
            if column in condition.columns:
                turn = float(crossings(condition, column, row[np.newaxis])[0])
                last = np.ceil(turn) - 1.0 if whole else np.nextafter(turn, -np.inf)
                yield from (float(np.ceil(turn)) if whole else turn, float(last))

    def _climb(self, row: Floats) -> Floats:
        """Return a row with every number, one after the other, as far up its linear term as the conditions allow."""
        for column, whole, coef, (low, high) in zip(
            self.columns, self.whole, self.linear_coef, self.spans.tolist(), strict=True
        ):
            if coef:
                readers = [condition for condition in self.program.problem.conditions if column in condition.columns]
                turns = np.array([crossings(condition, column, row[np.newaxis])[0] for condition in readers])
                turns = np.ceil(turns) if whole else turns
                passed = turns <= row[column]
                low = max(low, turns[passed].max(initial=-np.inf))
                after = turns[~passed].min(initial=np.inf)
                high = min(high, after - 1.0 if whole else np.nextafter(after, -np.inf))
                row[column] = high if coef > 0 else low
        return row

    def _fits(self, row: Floats) -> bool:
        """Whether a row lies in the pieces, as the conditions themselves tell."""
        inside = (row[self.columns] >= self.spans[:, 0]) & (row[self.columns] <= self.spans[:, 1])
        conditions = self.program.problem.conditions
        return bool(inside.all()) and all(
            conditions[k].holds(row[np.newaxis])[0] == (sign > 0)
            for k, sign in zip(self.conditions, self.wanted, strict=True)
        )
