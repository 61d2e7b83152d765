"""The highest score as a mixed-integer program over the pieces of columns and sums.

One binary variable per piece says which holds. A number is the start of its range plus a step; a gap leaves the step at
0. The program works on closed pieces, a relaxation: its optimum is an upper bound, and the region that it names is
entered by a row that the network confirms, or ruled out (:mod:`bgn.explain.optimize.search`).

Where the regions are few they are listed instead, the highest first, and no solver decides which comes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from bgn.explain.crossings import crossings
from bgn.explain.optimize.pieces import ColumnPieces, SharedSum, column_pieces, shared_sums
from bgn.explain.optimize.problem import ScoreProblem
from bgn.model.step import Floats
from bgn.model.term import Oblique, Projection

# Inputs of a deeper neuron up to which all its sums are listed, for the tightest limits.
_LISTED = 12
# By how much, relative to its weights, a deeper neuron's sum may miss in the program; the network itself decides.
_SLACK = 1e-9
# The solver tells values apart to about a millionth of the objective: let that be little.
_FINE = 1e4
# Regions up to which all are listed.
_REGIONS = 1000
# Scores closer than this, relative to all that can be added up, are the same: the solver promises no more.
_SAME = 1e-7
# The same where the network alone decides: rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Region:
    """One piece per column and per sum, the score on its edge, and an upper bound of all scores.

    `steps` are the numbers with which a solver came there.
    """

    columns: tuple[int, ...]
    sums: tuple[int, ...]
    value: float
    bound: float
    finished: bool
    steps: Floats | None = None


@dataclass(frozen=True, eq=False)
class Listed:
    """All regions that pieces allow, the highest first: their pieces, shape (regions, columns and sums), and scores."""

    pieces: NDArray[np.int64]
    values: Floats

    def without(self, places: list[int], pieces: list[int]) -> Listed:
        """Return the regions that do not have all these pieces at once."""
        kept = ~(self.pieces[:, places] == pieces).all(axis=1)
        return Listed(self.pieces[kept], self.values[kept])


class RegionProgram:
    """The program of one problem, all of whose columns have ends.

    Variables: per column its pieces and, for a number, its step in `scale`; per sum its pieces; the deeper neurons.
    """

    def __init__(self, problem: ScoreProblem) -> None:
        self.problem, domain = problem, problem.domain
        self.columns = [
            column_pieces(problem.neurons, domain, column, bool(problem.slopes[column])) for column in problem.columns
        ]
        self.sums = shared_sums(problem.neurons, domain)
        self.place = {each.column: k for k, each in enumerate(self.columns)}
        self.size = 0
        self.piece = [self._take(len(each.spans)) for each in self.columns]
        self.step = [self._take(0 if each.category else 1) for each in self.columns]
        self.part = [self._take(len(each.edges)) for each in self.sums]
        self.deep = [self._take(layer.width) for layer in problem.deeper]
        self.low = np.array([domain.low[each.column] for each in self.columns])
        high = np.array([domain.high[each.column] for each in self.columns])
        whole = np.array([bool(domain.whole[each.column]) for each in self.columns], dtype=bool)
        self.scale = np.where(whole | ~(high > self.low) | ~np.isfinite(high), 1.0, (high - self.low) / 100.0)
        self.lower, self.upper, self.integrality = np.zeros(self.size), np.ones(self.size), np.ones(self.size)
        for k, step in enumerate(self.step):
            self.upper[step] = np.inf
            self.integrality[step] = whole[k]
        self.rows: list[tuple[Floats, float, float]] = []
        self.feasible = True
        self._add_columns()
        for number in range(len(self.sums)):
            self._add_sum(number)
        self._add_score()
        self.listed = self._list_regions()

    def _take(self, count: int) -> slice:
        self.size += count
        return slice(self.size - count, self.size)

    def _row(self) -> Floats:
        return np.zeros(self.size)

    def _allow(self, place: slice, possible: Any, one_of: Floats) -> None:
        """Let one of the possible pieces hold."""
        self.feasible &= bool(possible.any())
        self.upper[place] = possible
        one_of[place] = 1.0
        self.rows.append((one_of, 1.0, 1.0))

    def _add_columns(self) -> None:
        """One piece per column, and the number inside it."""
        for each, piece, step, low, scale in zip(
            self.columns, self.piece, self.step, self.low, self.scale, strict=True
        ):
            limits = [k for k, neuron in enumerate(each.neurons) if neuron >= self.problem.width]
            self._allow(piece, (each.answers[:, limits] > 0).all(axis=1), self._row())
            if each.category:
                continue
            spans = np.nan_to_num((each.spans - low) / scale, nan=0.0)  # no step at a gap
            self.upper[step] = spans[:, 1].max()
            if len(spans) > 1:
                for end, bounds in enumerate(((0.0, np.inf), (-np.inf, 0.0))):
                    row = self._row()
                    row[step], row[piece] = 1.0, -spans[:, end]
                    self.rows.append((row, *bounds))

    def summed(self, number: int) -> tuple[Floats, float, float, float]:
        """Return a sum as a row of the program and a constant, and the least and the greatest that the row gives."""
        row, constant, least, most = self._row(), 0.0, 0.0, 0.0
        projection = self.sums[number].projection
        gaps = projection.missing_as or (0.0,) * len(projection.columns)
        for column, coefficient, gap in zip(projection.columns, projection.coefficients, gaps, strict=True):
            k = self.place[column]
            each, piece = self.columns[k], self.piece[k]
            if isinstance(coefficient, tuple):
                values = [gap if code != code else coefficient[int(code)] for code in each.spans[:, 0]]
                row[piece] = values
                ends = np.array(values)[self.upper[piece] > 0]
            else:
                start = coefficient * self.low[k]
                row[self.step[k]] = coefficient * self.scale[k]
                ends = coefficient * (each.spans[~np.isnan(each.spans[:, 0])] - self.low[k])
                if each.gap is not None:
                    row[piece.start + each.gap] = gap * (coefficient or 1.0) - start
                    ends = np.append(ends, gap * (coefficient or 1.0) - start)
                constant += start
            least, most = least + float(ends.min(initial=np.inf)), most + float(ends.max(initial=-np.inf))
        return row, constant, least, most

    def _add_sum(self, number: int) -> None:
        """One piece per sum, and the sum inside it."""
        each, part = self.sums[number], self.part[number]
        row, constant, least, most = self.summed(number)
        edges = each.edges - constant
        room = 1e-9 * (most - least + abs(constant))
        limits = [k for k, neuron in enumerate(each.neurons) if neuron >= self.problem.width]
        possible = (edges[:, 0] <= most + room) & (edges[:, 1] >= least - room)
        self._allow(part, possible & (each.answers[:, limits] > 0).all(axis=1), self._row())
        unit = float(np.abs(row).max()) or 1.0
        for side, bounds in enumerate(((0.0, np.inf), (-np.inf, 0.0))):
            held = row / unit
            held[part] -= np.clip(edges[:, side], least, most) / unit
            self.rows.append((held, *bounds))
        if each.loses:
            among = self._row()
            among[part.stop - 1] = -1.0
            for column in each.projection.columns:
                k = self.place[column]
                gap = self.columns[k].gap
                if gap is not None:
                    own = self._row()
                    own[self.piece[k].start + gap], own[part.stop - 1] = 1.0, -1.0
                    self.rows.append((own, -np.inf, 0.0))
                    among[self.piece[k].start + gap] = 1.0
            self.rows.append((among, 0.0, np.inf))

    def _add_score(self) -> None:
        """What is made large: the deeper layers, the weights, the slopes."""
        problem = self.problem
        answers, constant = np.zeros((problem.width, self.size)), np.zeros(problem.width)
        cut: list[tuple[ColumnPieces | SharedSum, slice]] = [*zip(self.columns, self.piece, strict=True)]
        cut += [*zip(self.sums, self.part, strict=True)]
        for each, place in cut:
            for number, values in zip(each.neurons, each.answers.T, strict=True):
                if number < problem.width:
                    answers[number, place] = values
        for k, neuron in enumerate(problem.neurons[: problem.width]):
            if not neuron.projection.columns:
                constant[k] = 1.0 if neuron.threshold <= 0 else -1.0
        for layer, deep in zip(problem.deeper, self.deep, strict=True):
            for variable, asked in zip(range(deep.start, deep.stop), layer.neurons, strict=True):
                self._add_neuron(variable, asked, answers, constant)
            answers, constant = np.zeros((layer.width, self.size)), np.full(layer.width, -1.0)
            answers[np.arange(layer.width), np.arange(deep.start, deep.stop)] = 2.0
        self.score, self.constant = problem.weights @ answers, float(problem.weights @ constant)
        for k, column in enumerate(self.columns):
            slope = problem.slopes[column.column]
            if slope:
                self.score[self.step[k]] += slope * self.scale[k]
                self.constant += float(slope * self.low[k])
        ends = sum(float(np.abs(self.score[step]) @ self.upper[step]) for step in self.step)
        self.unit = float(np.abs(problem.weights).sum()) + ends or 1.0

    def _add_neuron(self, place: int, neuron: Oblique, answers: Floats, constant: Floats) -> None:
        """Tie a deeper neuron's variable to the sum of the answers it reads."""
        (columns, weights), threshold = neuron.projection.arrays, neuron.threshold
        row, start = weights @ answers[columns], float(weights @ constant[columns])
        reach = float(np.abs(weights).sum())
        fires, rests = threshold, threshold
        if len(weights) <= _LISTED:
            signs = np.array(list(product((-1.0, 1.0), repeat=len(weights))))
            sums = Projection(tuple(range(len(weights))), neuron.projection.factors).values(signs)
            fires = float(sums[sums >= threshold].min(initial=np.inf))
            rests = float(sums[sums < threshold].max(initial=-np.inf))
        if fires > reach:
            self.upper[place] = 0.0
            return
        if rests < -reach:
            self.lower[place] = 1.0
            return
        unit = max(reach, 1e-300)
        at_least, at_most = row / unit, row / unit
        at_least[place] -= (fires + reach) / unit
        self.rows.append((at_least, (-reach - start) / unit - _SLACK, np.inf))
        at_most[place] -= (reach - rests) / unit
        self.rows.append((at_most, -np.inf, (rests - start) / unit + _SLACK))

    def _list_regions(self) -> Listed | None:
        """Return all regions where they are few, and a region has one score: no column has a slope."""
        problem, groups = self.problem, [*self.piece, *self.part]
        sizes = [int((self.upper[place] > 0).sum()) for place in groups]
        if prod(sizes) > _REGIONS or problem.slopes.any():
            return None
        options = [np.flatnonzero(self.upper[place] > 0) for place in groups]
        pieces = np.array(list(product(*options)), np.int64).reshape(-1, len(groups))
        for number, each in enumerate(self.sums):
            if each.loses:  # a gap leaves no sum, and nothing else does
                gaps = [(k, self.columns[k].gap) for k in (self.place[j] for j in each.projection.columns)]
                lost = np.any([pieces[:, k] == gap for k, gap in gaps if gap is not None], axis=0)
                pieces = pieces[(pieces[:, len(self.columns) + number] == len(each.edges) - 1) == lost]
        answers = np.tile([1.0 if neuron.threshold <= 0 else -1.0 for neuron in problem.neurons], (len(pieces), 1))
        cut: list[ColumnPieces | SharedSum] = [*self.columns, *self.sums]
        for asked, chosen in zip(cut, pieces.T, strict=True):
            answers[:, asked.neurons] = asked.answers[chosen]
        values = problem.scores(answers)
        order = np.argsort(-values, kind="stable")
        return Listed(pieces[order], values[order])

    @property
    def same(self) -> float:
        """Scores closer than this are the same: where no solver decides, but for a rounding."""
        share = _ROUNDING if self.listed is not None else _SAME
        return share * self.unit * (10.0 if self.problem.slopes.any() else 1.0)

    @property
    def tells_apart(self) -> bool:
        """Whether the solver tells apart what any one answer changes."""
        sizes = np.abs(self.problem.weights[self.problem.weights != 0.0])
        return self.listed is not None or bool((2.0 * sizes > 10.0 * self.same).all())

    def rule_out(self, region: Region, columns: set[int], sums: set[int]) -> None:
        """Forbid the pieces that some columns and sums have in a region to come together."""
        if self.listed is not None:
            places = [*columns, *(len(self.columns) + k for k in sums)]
            self.listed = self.listed.without(places, [(*region.columns, *region.sums)[k] for k in places])
            return
        row = self._row()
        for k in columns:
            row[self.piece[k].start + region.columns[k]] = 1.0
        for k in sums:
            row[self.part[k].start + region.sums[k]] = 1.0
        self.rows.append((row, -np.inf, len(columns) + len(sums) - 1.0))

    def solve(self, seconds: float, above: float | None = None) -> Region | None:
        """Return the region with the highest score; None when there is none.

        With `above`, one whose score is at least that is looked for by another program, which has its variables and
        rows in the opposite order: what it finds, or does not, stands on its own.
        """
        if not self.feasible:
            return None
        if self.listed is not None:
            return self._first_listed()
        rows, turn = self.rows, slice(None)
        if above is not None:
            turn = slice(None, None, -1)
            if np.isfinite(above):
                scale = _FINE / self.unit  # what a row misses by a millionth counts as met
                rows = [*rows, (self.score * scale, (above - self.constant) * scale, np.inf)]
        table = csr_array(np.array([row[turn] for row, _, _ in rows[turn]]))
        limits = np.array([(low, high) for _, low, high in rows[turn]])
        found = milp(
            -self.score[turn] * (_FINE / self.unit),
            integrality=self.integrality[turn],
            bounds=Bounds(self.lower[turn], self.upper[turn]),
            constraints=LinearConstraint(table, limits[:, 0], limits[:, 1]),
            # Presolve has lost optimal solutions of such programs; without it the search is about as quick.
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0, "presolve": False},
        )
        if found.status == 2:
            return None
        bound = found.mip_dual_bound if found.status in (0, 1) else None
        most = np.inf if bound is None or not np.isfinite(bound) else -float(bound) * self.unit / _FINE
        if found.x is None or found.status not in (0, 1):
            return Region((), (), -np.inf, most + self.constant, False)
        x = found.x[turn]
        pieces = tuple(int(x[place].argmax()) for place in self.piece)
        parts = tuple(int(x[place].argmax()) for place in self.part)
        steps = np.array([x[place.start] if place.start < place.stop else 0.0 for place in self.step])
        value = float(self.score @ x) + self.constant
        return Region(pieces, parts, value, most + self.constant, found.status == 0, steps)

    def _first_listed(self) -> Region | None:
        """Return the highest of the regions listed."""
        assert self.listed is not None
        if not len(self.listed.values):
            return None
        pieces, value = tuple(self.listed.pieces[0].tolist()), float(self.listed.values[0])
        count = len(self.columns)
        return Region(pieces[:count], pieces[count:], value, value, True)


# -- The rows of one region: one that the questions themselves confirm, or a proof in fractions that there is none.

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
            gaps = projection.missing_as or (0.0,) * len(projection.columns)
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
