"""The highest score as a mixed-integer program over the pieces of columns and sums.

One binary variable per piece says which holds. A number is the start of its range plus a step; a gap leaves the step at
0. The program works on closed pieces, a relaxation: its optimum is an upper bound, and the region that it names is
entered by a row that the network confirms, or ruled out (:mod:`bgn.explain.attainable.search`).

Where the regions are few they are listed instead, the highest first, and no solver decides which comes next.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from bgn.explain.attainable.pieces import ColumnPieces, SharedSum, column_pieces, shared_sums
from bgn.explain.attainable.problem import ScoreProblem
from bgn.model.neuron import Neuron, Projection
from bgn.model.step import Floats

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
        gaps = projection.gaps or (0.0,) * len(projection.columns)
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

    def _add_neuron(self, place: int, neuron: Neuron, answers: Floats, constant: Floats) -> None:
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
