"""The mixed-integer program over the pieces of columns and sums, whatever is sought.

One binary variable per piece tells which one it is. A number is where it starts plus a step up, or down; a missing
value leaves the step at 0. Deeper layers follow from the pieces. What is made large is a score, or minus the cost of
changing a row, or minus the score that a goal still needs: an argument, like the limits on a change. The program
works on closed pieces, a relaxation: its optimum is a bound, and the region that it names is entered by a row that the
network confirms, or ruled out (:mod:`bgn.explain.optimize.search`).

Where the regions of a score are few they are listed instead, the highest first, and no solver decides which comes next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from bgn.explain.optimize.problem import Problem, cut_column, cut_sums
from bgn.model.step import Bools, Floats
from bgn.model.term import Linear, Oblique, Projection

# Inputs of a deeper neuron up to which all its sums are listed, for the tightest limits.
_LISTED = 12
# By how much, relative to its weights, a sum may miss in the program; the network itself decides.
_SLACK = 1e-9
# The solver tells values apart to about a millionth of the objective: let that be little.
_FINE = 1e4
# Regions up to which all are listed.
_REGIONS = 1000
# Scores closer than this, relative to all that can be added up, are the same: the solver promises no more.
_SAME = 1e-7
# The same of costs, relative to the cost, and of the score that a goal still needs.
_SAME_COST = 1e-6
# The same where the network alone decides: rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ScoreLimit:
    """What the last layer's neurons and the linear terms must add up to: ``least`` or more."""

    weights: Floats
    intercept: float
    linear_coef: Floats
    least: float


@dataclass(frozen=True, eq=False)
class RowChange:
    """The cost of changing a row as the objective, and the limits of a change."""

    row: Floats
    prices: Floats
    columns: NDArray[np.int64]  # the numbers that may change
    parts: Sequence[tuple[int, ...]]  # columns that change as one
    counted: Bools  # parts that `max_changed` counts
    max_changed: int | None
    barred: Sequence[Iterable[int]]  # sets of parts that must not all change
    groups: Sequence[tuple[int, ...]]  # columns of which exactly one is 1, the others 0
    goals: list[ScoreLimit]
    linear_terms: list[Linear]  # those of numbers that may change
    nearest: bool = False  # whether the objective is by how much the goals are missed, not the cost


@dataclass(frozen=True, eq=False)
class Region:
    """One piece of every column and sum, its value on the edge, minus infinity where none was reached in time, and an
    upper bound of all values."""

    pieces: tuple[int, ...]
    value: float
    bound: float
    finished: bool
    solution: Floats | None  # the variables with which a solver came there
    changed: Bools  # which parts of a row it changes


@dataclass(frozen=True, eq=False)
class Listed:
    """All regions that pieces allow, the highest first: their pieces, shape (regions, columns and sums), and values."""

    pieces: NDArray[np.int64]
    values: Floats


class Program:
    """The program of one problem, all of whose columns have ends.

    Variables, in order: of a score, the pieces of all columns, the steps up of all numbers, and the pieces of all sums;
    of a change, the steps up and down, whether a part changes, and the pieces of all columns and sums. Then the deeper
    neurons; and, of a change, what linear terms move by and what the goals are missed by.
    """

    def __init__(self, problem: Problem, change: RowChange | None = None) -> None:
        self.problem, self.change, domain = problem, change, problem.domain
        terms = [] if change is None else change.linear_terms
        cuts = []
        for column in sorted({*problem.columns, *(part[0] for part in (change.parts if change else ()))}):
            ends = [end for term in terms if term.column == column for end in (term.low, term.high)]
            cuts.append(cut_column(problem.conditions, domain, column, ends, bool(problem.linear_coef[column])))
        cuts += cut_sums(problem.conditions, domain)
        if change is None:
            self.cuts, start = cuts, domain.low
            self.columns = np.array([cut.column for cut in cuts if cut.column is not None and not cut.categorical])
            self.columns = self.columns.astype(np.int64)
        else:
            ended = {term.column for term in terms}
            cuts = [cut for cut in cuts if cut.conditions or cut.categorical or cut.missing is not None
                    or cut.column in ended]  # fmt: skip
            self.cuts = sorted(cuts, key=lambda cut: min(cut.conditions, default=len(problem.conditions)))
            self.columns, start = change.columns, change.row
        self.place = {int(column): k for k, column in enumerate(self.columns)}
        self.cut_of = {cut.column: number for number, cut in enumerate(self.cuts) if cut.column is not None}
        self.start, whole = start[self.columns], domain.whole[self.columns]
        low, high = domain.low[self.columns] - self.start, domain.high[self.columns] - self.start
        self.scale = np.where(whole | ~(high > low) | ~np.isfinite(high), 1.0, (high - low) / 100.0)
        self.size, count, two_way = 0, len(self.columns), 0 if change is None else 1
        first = len(problem.columns) * (1 - two_way)
        self.piece = [self._take(len(cut.edges)) for cut in self.cuts[:first]]
        self.up, self.down = self._take(count), self._take(count * two_way)
        self.part = self._take(0 if change is None else len(change.parts))
        self.piece += [self._take(len(cut.edges)) for cut in self.cuts[first:]]
        self.deep = [self._take(len(layer.neurons)) for layer in problem.deeper]
        self.linear = self._take(0 if change is None else len(change.linear_terms))
        self.miss = self._take(two_way)
        self.lower, self.upper, self.integrality = np.zeros(self.size), np.ones(self.size), np.ones(self.size)
        self.lower[self.up], self.upper[self.up] = np.maximum(low, 0.0) / self.scale, np.maximum(high, 0.0) / self.scale
        self.integrality[self.up] = whole
        if change is not None:
            self.lower[self.down] = np.maximum(-high, 0.0) / self.scale
            self.upper[self.down] = np.maximum(-low, 0.0) / self.scale
            self.integrality[self.down] = whole
            self.integrality[self.linear], self.lower[self.linear], self.upper[self.linear] = 0, -np.inf, np.inf
            self.integrality[self.miss], self.upper[self.miss] = 0, np.inf if change.nearest else 0.0
        # A required condition on no column at all holds or does not, whatever changes.
        required = problem.conditions[problem.n_scored :]
        self.feasible = all(condition.threshold <= 0 for condition in required if not condition.columns)
        self.rows: list[tuple[Floats, float, float]] = []
        # Rows that hold a sum in its piece: row, cut, edge, and the pieces where that edge is a threshold.
        self.sides: list[tuple[int, int, int, Bools]] = []
        for number, cut in enumerate(self.cuts):
            if cut.column is None:
                self._add_sum(number)
            else:
                self._add_column(number)
        self.counts_parts = False
        if change is not None:
            self._add_parts(change)
            self._add_linear_terms(change)
        activations, constants = self._add_layers()
        if change is None:
            self._set_score(activations, constants)
        else:
            self._set_change(change, activations, constants)
        self.listed = self._list_regions()

    def _take(self, count: int) -> slice:
        self.size += count
        return slice(self.size - count, self.size)

    def _row(self) -> Floats:
        return np.zeros(self.size)

    # -- Rows: one piece of every column and sum.

    def _add_piece(self, number: int, possible: Bools) -> None:
        """Let one of the possible pieces hold, in which all required conditions do."""
        cut, place, row = self.cuts[number], self.piece[number], self._row()
        required = [k for k, condition in enumerate(cut.conditions) if condition >= self.problem.n_scored]
        possible = possible & (cut.signs[:, required] > 0).all(axis=1)
        self.feasible &= bool(possible.any())
        self.upper[place] = possible
        row[place] = 1.0
        self.rows.append((row, 1.0, 1.0))

    def _add_column(self, number: int) -> None:
        """One piece of a column, and the number inside it."""
        cut, piece = self.cuts[number], self.piece[number]
        self._add_piece(number, np.ones(len(cut.edges), dtype=bool))
        k = self.place.get(cut.column or 0)
        if cut.categorical or k is None:
            return
        edges = np.nan_to_num((cut.edges - self.start[k]) / self.scale[k], nan=0.0)  # no step where it is missing
        up, down = self.up.start + k, self.down.start + k
        self.upper[up] = min(self.upper[up], max(edges[:, 1].max(), 0.0))
        for side, bounds in enumerate(((0.0, np.inf), (-np.inf, 0.0)) if len(edges) > 1 else ()):
            row = self._row()
            row[up], row[piece] = 1.0, -edges[:, side]
            if self.change is not None:
                row[down] = -1.0
            self.rows.append((row, *bounds))

    def summed(self, number: int) -> tuple[Floats, float, float, float]:
        """Return a sum as a row of the program and a constant, and the least and the greatest that the row gives."""
        row, constant, least, most = self._row(), 0.0, 0.0, 0.0
        projection, domain = self.cuts[number].projection, self.problem.domain
        counted = projection.missing_as or (0.0,) * len(projection.columns)
        for column, coefficient, missing in zip(projection.columns, projection.coefficients, counted, strict=True):
            cut = self.cuts[self.cut_of[column]] if column in self.cut_of else None
            if isinstance(coefficient, tuple):
                assert cut is not None
                values = np.array([missing if code != code else coefficient[int(code)] for code in cut.edges[:, 0]])
                row[self.piece[self.cut_of[column]]] = values
                ends = values[self.upper[self.piece[self.cut_of[column]]] > 0]
            elif column not in self.place:
                value = (
                    missing * (coefficient or 1.0) if column in domain.absent else coefficient * domain.start[column]
                )
                constant, ends = constant + value, np.zeros(1)
            else:
                k = self.place[column]
                start, ends = coefficient * self.start[k], np.zeros(0)
                row[self.up.start + k] = coefficient * self.scale[k]
                if self.change is not None:
                    row[self.down.start + k] = -coefficient * self.scale[k]
                if column not in domain.absent:
                    ends = coefficient * (np.array([domain.low[column], domain.high[column]]) - self.start[k])
                if cut is not None and cut.missing is not None:
                    extra = missing * (coefficient or 1.0) - start
                    row[self.piece[self.cut_of[column]].start + cut.missing] = extra
                    ends = np.append(ends, extra)
                constant += start
            least, most = least + float(ends.min(initial=np.inf)), most + float(ends.max(initial=-np.inf))
        return row, constant, least, most

    def _add_sum(self, number: int) -> None:
        """One piece of a sum, and the sum inside it."""
        cut, part = self.cuts[number], self.piece[number]
        row, constant, least, most = self.summed(number)
        if self.change is not None and not row.any():  # nothing that it adds up can change
            signs = [self.problem.conditions[k].holds(self.change.row[np.newaxis])[0] for k in cut.conditions]
            self._add_piece(number, ((cut.signs > 0) == signs).all(axis=1))
            return
        edges = cut.edges - constant
        slack = 1e-9 * (most - least + abs(constant))
        self._add_piece(number, (edges[:, 0] <= most + slack) & (edges[:, 1] >= least - slack))
        unit = float(np.abs(row).max()) or 1.0
        for side, bounds in enumerate(((0.0, np.inf), (-np.inf, 0.0))):
            held = row / unit
            held[part] -= np.clip(edges[:, side], least, most) / unit
            self.sides.append((len(self.rows), number, side, (edges[:, side] > least) & (edges[:, side] < most)))
            self.rows.append((held, *bounds))
        if cut.missing is None:
            return
        among = self._row()
        among[part.stop - 1] = -1.0
        for k in (self.cut_of[column] for column in cut.projection.columns if column in self.cut_of):
            missing = self.cuts[k].missing
            if missing is not None:
                own = self._row()
                own[self.piece[k].start + missing], own[part.stop - 1] = 1.0, -1.0
                self.rows.append((own, -np.inf, 0.0))
                among[self.piece[k].start + missing] = 1.0
        self.rows.append((among, 0.0, np.inf))

    # -- Rows of a change: what changes as one, how much may change, and linear terms between their ends.

    def _add_parts(self, change: RowChange) -> None:
        """One category per group, and how many parts may change."""
        for group in change.groups:
            row = self._row()
            for column in group:
                if column in self.place:
                    k = self.place[column]
                    row[self.up.start + k], row[self.down.start + k] = 1.0, -1.0
            self.rows.append((row, 0.0, 0.0))
        self.counts_parts = bool(change.barred) or (
            change.max_changed is not None and change.max_changed < len(change.parts)
        )
        if not self.counts_parts:
            self.lower[self.part] = 1.0
            return
        for number, part in enumerate(change.parts):
            for column in part:
                if column not in self.place:  # a category that is not the row's own
                    row = self._row()
                    row[self.piece[self.cut_of[column]]] = (
                        self.cuts[self.cut_of[column]].edges[:, 0] != change.row[column]
                    )
                    row[self.part.start + number] = -1.0
                    self.rows.append((row, -np.inf, 0.0))
                    continue
                for side in (self.up.start, self.down.start):
                    row, place = self._row(), side + self.place[column]
                    row[place], row[self.part.start + number] = 1.0, -self.upper[place]
                    self.rows.append((row, -np.inf, 0.0))
        if change.max_changed is not None:
            row = self._row()
            row[self.part] = change.counted
            self.rows.append((row, 0.0, float(change.max_changed)))
        for barred in change.barred:
            row, parts = self._row(), sorted(barred)
            row[[self.part.start + part for part in parts]] = 1.0
            self.rows.append((row, min(0.0, len(parts) - 1.0), len(parts) - 1.0))

    def _add_linear_terms(self, change: RowChange) -> None:
        """How far the value of a linear term moves, in the scale of its column: along with the column between the
        term's ends, not at all beyond them."""
        for variable, term in zip(range(self.linear.start, self.linear.stop), change.linear_terms, strict=True):
            k, here = self.place[term.column], float(change.row[term.column])
            scale, start = float(self.scale[k]), float(np.clip(here, term.low, term.high))
            number = self.cut_of[term.column]
            piece, edges = self.piece[number], self.cuts[number].edges
            spans = np.clip(edges, term.low, term.high) - start
            for side, bounds in enumerate(((0.0, np.inf), (-np.inf, 0.0))):
                row = self._row()
                row[variable], row[piece] = 1.0, -spans[:, side] / scale
                self.rows.append((row, *bounds))
            outside = (edges[:, 1] < term.low) | (edges[:, 0] >= term.high)
            reach = np.array([self.problem.domain.low[term.column], self.problem.domain.high[term.column]])
            most = float(np.abs(np.clip(reach, term.low, term.high) - reach).max()) / scale
            row = self._row()
            row[variable], row[self.up.start + k], row[self.down.start + k] = 1.0, -1.0, 1.0
            offset = (here - start) / scale
            for sign, bounds in ((-1.0, (-np.inf, offset)), (1.0, (offset, np.inf))):
                held = row.copy()
                held[piece] = sign * most * outside
                self.rows.append((held, *bounds))

    # -- Rows of deeper layers, and the objective.

    def _add_layers(self) -> tuple[Floats, Floats]:
        """Add the deeper neurons; return what the last layer gives, +1 or -1, as rows of the program and constants."""
        problem = self.problem
        signs, constants = np.zeros((problem.n_scored, self.size)), np.zeros(problem.n_scored)
        for cut, piece in zip(self.cuts, self.piece, strict=True):
            for number, values in zip(cut.conditions, cut.signs.T, strict=True):
                if number < problem.n_scored:
                    signs[number, piece] = values
        for k, condition in enumerate(problem.conditions[: problem.n_scored]):
            if not condition.columns:
                constants[k] = 1.0 if condition.threshold <= 0 else -1.0
        for layer, deep in zip(problem.deeper, self.deep, strict=True):
            for place, condition in zip(range(deep.start, deep.stop), layer.neurons, strict=True):
                self._tie(place, condition, signs, constants)
            signs, constants = np.zeros((len(layer.neurons), self.size)), np.full(len(layer.neurons), -1.0)
            signs[np.arange(len(signs)), np.arange(deep.start, deep.stop)] = 2.0
        return signs, constants

    def _tie(self, place: int, condition: Oblique, signs: Floats, constants: Floats) -> None:
        """Tie the variable of a condition of a deeper layer to the sum that it reads."""
        (columns, weights), threshold = condition.projection.arrays, condition.threshold
        row, start = weights @ signs[columns], float(weights @ constants[columns])
        reach = float(np.abs(weights).sum())
        fires, rests = threshold, threshold
        if len(weights) <= _LISTED:
            inputs = np.array(list(product((-1.0, 1.0), repeat=len(weights))))
            sums = Projection(tuple(range(len(weights))), condition.projection.factors).values(inputs)
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

    def _set_score(self, signs: Floats, constants: Floats) -> None:
        """Make the score large: weights and linear terms."""
        problem = self.problem
        score, self.constant = problem.weights @ signs, float(problem.weights @ constants)
        for column, k in self.place.items():
            coef = problem.linear_coef[column]
            if coef:
                score[self.up.start + k] += coef * self.scale[k]
                self.constant += float(coef * self.start[k])
        ends = float(np.abs(score[self.up]) @ self.upper[self.up]) if problem.linear_coef.any() else 0.0
        self.unit = float(np.abs(problem.weights).sum()) + ends or 1.0
        self.loss_unit = self.unit / _FINE
        self.loss = -score * (_FINE / self.unit)

    def _set_change(self, change: RowChange, signs: Floats, constants: Floats) -> None:
        """Make the cost of the change small, or what the goals are missed by."""
        linear_scale = self.scale[[self.place[term.column] for term in change.linear_terms]]
        moved = [float(np.abs(goal.weights).sum()) + 100.0 * float(np.abs(goal.linear_coef * linear_scale).sum())
                 for goal in change.goals]  # fmt: skip
        self.unit, self.constant = max(*moved, 1e-300, 1e-300), 0.0
        for goal in change.goals:
            row = (goal.weights @ signs) / self.unit
            row[self.miss], row[self.linear] = 1.0, goal.linear_coef * linear_scale / self.unit
            reached = goal.intercept + float(goal.weights @ constants)
            self.rows.append((row, (goal.least - reached) / self.unit - _SLACK, np.inf))
        prices = change.prices[self.columns] * self.scale
        self.price_unit = float(prices.max(initial=1.0)) or 1.0
        self.cost = self._row()
        self.cost[self.up] = self.cost[self.down] = prices / self.price_unit
        for cut, place in zip(self.cuts, self.piece, strict=True):
            if cut.categorical and cut.missing is None and cut.column is not None:
                price = change.prices[cut.column] / self.price_unit
                self.cost[place] = np.where(cut.edges[:, 0] == change.row[cut.column], 0.0, price)
        self.loss, self.loss_unit = self.cost, self.price_unit
        if change.nearest:
            self.loss, self.loss_unit = self._row(), self.unit
            self.loss[self.miss] = 1.0

    def _list_regions(self) -> Listed | None:
        """Return all regions where they are few, and a region has one score: no column has a linear term."""
        problem = self.problem
        options = [np.flatnonzero(self.upper[place] > 0) for place in self.piece]
        if self.change is not None or prod(map(len, options)) > _REGIONS or problem.linear_coef.any():
            return None
        pieces = np.array(list(product(*options)), np.int64).reshape(-1, len(options))
        for number, cut in enumerate(self.cuts):
            if cut.column is None and cut.missing is not None:  # a missing value leaves no sum, and nothing else does
                missing = [(k, self.cuts[k].missing) for k in (self.cut_of[j] for j in cut.projection.columns)]
                lost = np.any([pieces[:, k] == piece for k, piece in missing if piece is not None], axis=0)
                pieces = pieces[(pieces[:, number] == cut.missing) == lost]
        always = [1.0 if condition.threshold <= 0 else -1.0 for condition in problem.conditions]
        signs = np.tile(always, (len(pieces), 1))
        for cut, chosen in zip(self.cuts, pieces.T, strict=True):
            signs[:, cut.conditions] = cut.signs[chosen]
        values = problem.scores(signs)
        order = np.argsort(-values, kind="stable")
        return Listed(pieces[order], values[order])

    # -- Solving it, and ruling regions out.

    def same(self, value: float) -> float:
        """By how much values near one may differ and count as the same."""
        if self.change is not None:
            size = self.unit if self.change.nearest else abs(value)
            return _SAME_COST * size if np.isfinite(size) else 0.0
        share = _ROUNDING if self.listed is not None else _SAME
        return share * self.unit * (10.0 if self.problem.linear_coef.any() else 1.0)

    @property
    def resolves(self) -> bool:
        """Whether the solver notices what any one neuron of the last layer adds."""
        if self.change is not None or self.listed is not None:
            return True
        sizes = np.abs(self.problem.weights[self.problem.weights != 0.0])
        return bool((2.0 * sizes > 10.0 * self.same(0.0)).all())

    def rule_out(self, region: Region, cuts: Iterable[int]) -> None:
        """Forbid the pieces that some columns and sums have in a region to come together, and what changes there."""
        cuts = list(cuts)
        pieces = [region.pieces[k] for k in cuts]
        if self.listed is not None:
            kept = ~(self.listed.pieces[:, cuts] == pieces).all(axis=1)
            self.listed = Listed(self.listed.pieces[kept], self.listed.values[kept])
            return
        row, total = self._row(), len(cuts)
        row[[self.piece[k].start + piece for k, piece in zip(cuts, pieces, strict=True)]] = 1.0
        if self.counts_parts:
            row[self.part] = np.where(region.changed, 1.0, -1.0)
            total += int(region.changed.sum())
        self.rows.append((row, -np.inf, total - 1.0))

    def solve(
        self, seconds: float, least: float = -np.inf, turned: bool = False, inside: Region | None = None,
        insets: tuple[float, float] = (0.0, 0.0),
    ) -> Region | None:  # fmt: skip
        """Return the region with the highest value; None when there is none.

        With `least`, only what has at least that value. A program that is `turned` has its variables and rows in the
        opposite order: what it finds, or does not, stands on its own. `inside` fixes the region, and `insets` keep sums
        that far from the edges that belong to their piece, and from those that do not.
        """
        if not self.feasible:
            return None
        if self.listed is not None:
            if not len(self.listed.values):
                return None
            value = float(self.listed.values[0])
            return Region(tuple(self.listed.pieces[0].tolist()), value, value, True, None, np.zeros(0, bool))
        rows, loss, unit = [row for row, _, _ in self.rows], self.loss, self.loss_unit
        lower, upper = self.lower.copy(), self.upper.copy()
        limits = np.array([(low, high) for _, low, high in self.rows]).reshape(-1, 2)
        if inside is not None:
            for place, piece in zip(self.piece, inside.pieces, strict=True):
                lower[place], upper[place] = 0.0, 0.0
                lower[place.start + piece] = upper[place.start + piece] = 1.0
            lower[self.part] = upper[self.part] = inside.changed
            for row, number, side, inner in self.sides:
                piece = inside.pieces[number]
                if inner[piece]:
                    inset = insets[int(self.cuts[number].strict[piece, side])]
                    limits[row] += (inset, 0.0) if side == 0 else (0.0, -inset)
        if np.isfinite(least):
            # What a row misses by a millionth counts as met: where that matters, let it be little.
            most = (self.constant - least) / unit
            scale = _FINE / most if turned and self.change is not None and most > 0 else 1.0
            rows.append(loss * scale)
            limits = np.vstack([limits, [-np.inf, most * scale * (1.0 if self.change is None else 1 + 1e-9)]])
        if inside is not None and self.change is not None and not self.change.linear_terms:
            loss, unit = self.cost, self.price_unit  # all its rows miss the goals by as much
        turn = slice(None, None, -1 if turned else 1)
        result = milp(
            loss[turn],
            integrality=self.integrality[turn],
            bounds=Bounds(lower[turn], upper[turn]),
            constraints=LinearConstraint(np.array([row[turn] for row in rows[turn]]), *limits[turn].T),
            # Presolve has lost optimal solutions of such programs; without it the search is about as quick.
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0, "presolve": False},
        )
        if result.status == 2:
            return None
        bound = result.mip_dual_bound if result.status in (0, 1) else None
        if bound is None or not np.isfinite(bound):
            bound = -np.inf if self.change is None else 0.0
        most = self.constant - float(bound) * unit
        if result.x is None or result.status not in (0, 1):
            return Region((), -np.inf, most, False, None, np.zeros(0, bool))
        solution = result.x[turn]
        pieces = tuple(int(solution[place].argmax()) for place in self.piece)
        value = self.constant - float(loss @ solution) * unit
        return Region(pieces, value, most, result.status == 0, solution, solution[self.part] > 0.5)

    def changed_row(self, region: Region) -> Floats:
        """Return the row of a change with which a solver came to a region."""
        assert self.change is not None
        assert region.solution is not None
        row = self.change.row.copy()
        row[self.columns] += (region.solution[self.up] - region.solution[self.down]) * self.scale
        for cut, piece in zip(self.cuts, region.pieces, strict=True):
            if cut.categorical and cut.column is not None:
                row[cut.column] = cut.edges[piece, 0]
        return row
