"""The cheapest change as a mixed-integer program over the regions of the network.

Neurons that look along the same axis cut a projection into pieces; a region is one piece per axis, and one
binary variable per piece says which. A column is what it was plus a rise minus a fall, whose prices are the objective.
Deeper layers follow from the pieces. The program works on closed pieces, a relaxation: its optimum is a lower bound,
and the region it names is entered exactly, or ruled out, before it counts (:mod:`bgn.explain.counterfactual.search`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from bgn.explain.counterfactual.problem import Problem
from bgn.explain.crossings import crossings, direction, normal
from bgn.model.step import Bools, Floats
from bgn.model.term import Oblique, Projection

# Inputs of a deeper neuron up to which all its sums are listed, for the tightest limits.
_LISTED = 12
# By how much, relative to the output weights, a prediction may miss in the program; the network itself decides.
_SLACK = 1e-9
# The cost in a program that must find nothing cheaper.
_FINE = 1e4


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver found: values of the columns, the piece of every axis, the parts changed, a bound."""

    finished: bool
    bound: float
    x: Floats | None
    pieces: NDArray[np.int64]
    changed: NDArray[np.bool_]


class Program:
    """The program of one problem, with columns that move at most `reach` from where they are.

    Variables, in order: rise and fall of every column (in its own scale), whether a part changes, the pieces of every
    axis, the deeper neurons, and by how much the prediction misses.
    """

    def __init__(self, problem: Problem, reach: Floats) -> None:
        self.problem, self.axes = problem, axes(problem)
        self.columns = np.array([column for part in problem.parts for column in part], dtype=np.int64)
        x, low, high = (each[self.columns] for each in (problem.x, problem.low, problem.high))
        reach = reach[self.columns]
        self.low = np.clip(x - reach, low, high) - x
        self.high = np.clip(x + reach, low, high) - x
        whole = problem.integer[self.columns]
        self.low[whole], self.high[whole] = np.ceil(self.low[whole]), np.floor(self.high[whole])
        self.scale = np.where(whole | (self.high <= self.low), 1.0, (self.high - self.low) / 100.0)
        count = len(self.columns)
        sizes = [count, count, len(problem.parts), *(len(each.edges) for each in self.axes)]
        network = problem.network
        pairs = zip(network.linear, network.linear_coef, strict=True)
        self.lines = [(term, weights) for term, weights in pairs if term.column in self.columns]
        sizes += [*problem.network.widths[1:], len(self.lines), 1]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        slices = [slice(a, b) for a, b in pairwise(starts)]
        self.size = int(starts[-1])
        self.rise, self.fall, self.part = slices[:3]
        self.piece, self.deep = slices[3 : 3 + len(self.axes)], slices[3 + len(self.axes) : -2]
        self.line, self.miss = slices[-2], slices[-1].start
        self.lower, self.upper = np.zeros(self.size), np.ones(self.size)
        self.lower[self.rise], self.upper[self.rise] = np.maximum(self.low, 0), np.maximum(self.high, 0)
        self.lower[self.fall], self.upper[self.fall] = np.maximum(-self.high, 0), np.maximum(-self.low, 0)
        self.integrality = np.ones(self.size)
        self.integrality[self.miss] = 0
        self.integrality[self.line], self.lower[self.line], self.upper[self.line] = 0, -np.inf, np.inf
        for side in (self.rise, self.fall):
            self.lower[side] /= self.scale
            self.upper[side] /= self.scale
            self.integrality[side] = whole
        # A constraint on no column at all holds or does not, whatever changes.
        limits = problem.layer.neurons[problem.network.widths[0] :]
        self.feasible = all(limit.threshold <= 0 for limit in limits if not limit.projection.columns)
        self.rows: list[tuple[Floats, float, float]] = []
        # Rows that hold a projection in its piece: number, axis, edge, and the pieces where that is a threshold.
        self.sides: list[tuple[int, int, int, NDArray[np.bool_]]] = []
        self._add_directions()
        self._add_parts()
        self._add_lines()
        self._add_prediction()

    def _row(self) -> Floats:
        return np.zeros(self.size)

    def _add_directions(self) -> None:
        """One piece per axis, and the projection inside it."""
        answers = self.problem.layer.fire(self.problem.x[np.newaxis])[0]
        for number, (each, piece) in enumerate(zip(self.axes, self.piece, strict=True)):
            here, weights = float(each.weights @ self.problem.x), each.weights[self.columns]
            most = float(np.maximum(weights * self.low, weights * self.high).sum())
            least = float(np.minimum(weights * self.low, weights * self.high).sum())
            edges = each.edges - here
            if not weights.any():
                possible = (each.answers == answers[each.neurons]).all(axis=1)
            else:
                room = 1e-9 * (most - least + abs(here))
                possible = (edges[:, 0] <= most + room) & (edges[:, 1] >= least - room)
            self.feasible &= bool(possible.any())
            self.upper[piece] = possible
            one = self._row()
            one[piece] = 1.0
            self.rows.append((one, 1.0, 1.0))
            if weights.any():
                unit = float(np.abs(weights * self.scale).max())
                for side, (low, high) in enumerate(((0.0, np.inf), (-np.inf, 0.0))):
                    row = self._row()
                    row[self.rise], row[self.fall] = weights * self.scale / unit, -weights * self.scale / unit
                    row[piece] = -np.clip(edges[:, side], least, most) / unit
                    inner = (edges[:, side] > least) & (edges[:, side] < most) & (each.column is None)
                    self.sides.append((len(self.rows), number, side, inner))
                    self.rows.append((row, low, high))

    def _add_parts(self) -> None:
        """One category per group, and how many parts may change."""
        problem = self.problem
        where = {int(column): place for place, column in enumerate(self.columns)}
        for group in problem.groups:
            row = self._row()
            for column in group:
                if column in where:
                    row[self.rise.start + where[column]], row[self.fall.start + where[column]] = 1.0, -1.0
            self.rows.append((row, 0.0, 0.0))
        self.counts_parts = bool(problem.barred) or (
            problem.max_changed is not None and problem.max_changed < len(problem.parts)
        )
        if not self.counts_parts:
            self.lower[self.part] = 1.0
            return
        for number, part in enumerate(problem.parts):
            for column in part:
                for side in (self.rise.start, self.fall.start):
                    row, place = self._row(), side + where[column]
                    row[place], row[self.part.start + number] = 1.0, -self.upper[place]
                    self.rows.append((row, -np.inf, 0.0))
        if problem.max_changed is not None:
            row = self._row()
            row[self.part] = problem.counted
            self.rows.append((row, 0.0, float(problem.max_changed)))
        for barred in problem.barred:
            row = self._row()
            row[self.part.start + np.array(sorted(barred))] = 1.0
            self.rows.append((row, 0.0, len(barred) - 1.0))

    def _add_lines(self) -> None:
        """For every linear term, how far its value moves, in the scale of its column: along with the column between
        its ends, not at all beyond them."""
        for variable, (term, _) in zip(range(self.line.start, self.line.stop), self.lines, strict=True):
            place = int(np.flatnonzero(self.columns == term.column)[0])
            here, scale = float(self.problem.x[term.column]), float(self.scale[place])
            start = float(np.clip(here, term.low, term.high))
            number = next(k for k, each in enumerate(self.axes) if each.column == term.column)
            piece, edges = self.piece[number], self.axes[number].edges
            spans = (
                np.clip(np.clip(edges, here + self.low[place], here + self.high[place]), term.low, term.high) - start
            )
            for side, bounds in enumerate(((0.0, np.inf), (-np.inf, 0.0))):
                row = self._row()
                row[variable], row[piece] = 1.0, -spans[:, side] / scale
                self.rows.append((row, *bounds))
            outside = (edges[:, 1] < term.low) | (edges[:, 0] >= term.high)
            reach = here + np.array([self.low[place], self.high[place]])
            most = float(np.abs(np.clip(reach, term.low, term.high) - reach).max()) / scale
            row = self._row()
            row[variable], row[self.rise.start + place], row[self.fall.start + place] = 1.0, -1.0, 1.0
            apart = (here - start) / scale
            for sign, bounds in ((-1.0, (-np.inf, apart)), (1.0, (apart, np.inf))):
                held = row.copy()
                held[piece] = sign * most * outside
                self.rows.append((held, *bounds))

    def _add_prediction(self) -> None:
        """The deeper layers, and the prediction that is wanted."""
        network, problem = self.problem.network, self.problem
        fired = network.layers[0].fire(problem.x[np.newaxis])[0]
        answers, constant = np.zeros((network.widths[0], self.size)), fired.copy()
        for each, piece in zip(self.axes, self.piece, strict=True):
            for neuron, values in zip(each.neurons, each.answers.T, strict=True):
                if neuron < network.widths[0]:
                    answers[neuron, piece], constant[neuron] = values, 0.0
        for layer, deep in zip(network.layers[1:], self.deep, strict=True):
            for place, asked in zip(range(deep.start, deep.stop), layer.neurons, strict=True):
                self._add_neuron(place, asked, answers, constant)
            answers, constant = np.zeros((layer.width, self.size)), np.full(layer.width, -1.0)
            answers[np.arange(layer.width), np.arange(deep.start, deep.stop)] = 2.0
        outputs = network.output_weights.reshape(-1, np.size(network.base))
        scale, start = dict(zip(self.columns.tolist(), self.scale.tolist(), strict=True)), np.ravel(network.base)
        for term, weights in zip(network.linear, network.linear_coef, strict=True):
            start = start + weights * term.values(problem.x[np.newaxis])
        slopes = np.array([weights * scale[term.column] for term, weights in self.lines])
        slopes = slopes.reshape(-1, outputs.shape[1])
        limits = [(outputs @ factors, float(start @ factors), slopes @ factors, least)
                  for factors, least in problem.goal.limits(network)]  # fmt: skip
        moved = [float(np.abs(weights).sum()) + 100.0 * float(np.abs(lines).sum()) for weights, _, lines, _ in limits]
        unit = max(*moved, 1e-300, 1e-300)
        for weights, base, lines, least in limits:
            row = (weights @ answers) / unit
            row[self.miss] = 1.0
            row[self.line] = lines / unit
            category = base + float(weights @ constant)
            self.rows.append((row, (least - category) / unit - _SLACK, np.inf))
        self.upper[self.miss] = np.inf
        self.unit = unit

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
        at_least[place] += -(fires + reach) / unit
        self.rows.append((at_least, (-reach - start) / unit - _SLACK, np.inf))
        at_most[place] += -(reach - rests) / unit
        self.rows.append((at_most, -np.inf, (rests - start) / unit + _SLACK))

    def rule_out(self, solution: Solution) -> None:
        """Forbid a region, with the parts it changes where these are counted."""
        row, total = self._row(), 0
        for piece, chosen in zip(self.piece, solution.pieces, strict=True):
            row[piece.start + chosen] = 1.0
            total += 1
        if self.counts_parts:
            row[self.part] = np.where(solution.changed, 1.0, -1.0)
            total += int(solution.changed.sum())
        self.rows.append((row, -np.inf, total - 1.0))

    def solve(
        self,
        seconds: float,
        *,
        ceiling: float = np.inf,
        missing: bool = False,
        inside: Solution | None = None,
        insets: tuple[float, float] = (0.0, 0.0),
        turned: bool = False,
    ) -> Solution | None:
        """Return the cheapest solution, or the one that misses least; None when there is none.

        A program that is `turned` has its variables and rows in the opposite order: what it finds, or does not, stands
        on its own.

        `inside` fixes the region, and `insets` keep projections that far from the edges that belong to their piece,
        and from those that do not.
        """
        if not self.feasible:
            return None
        rows = [row for row, _, _ in self.rows]
        lower, upper, limits = self._bounds(inside, insets)
        prices = self.problem.costs[self.columns] * self.scale
        unit = float(prices.max(initial=1.0)) or 1.0
        cost = self._row()
        cost[self.rise] = cost[self.fall] = prices / unit
        if not missing:
            upper[self.miss] = 0.0
        if np.isfinite(ceiling):
            # What a row misses by a millionth counts as met: where that matters, let it be little.
            scale = _FINE * unit / ceiling if turned and ceiling > 0 else 1.0
            rows.append(cost * scale)
            limits = np.vstack([limits, [-np.inf, ceiling / unit * scale * (1 + 1e-9)]])
        aim = cost
        if missing and (inside is None or self.lines):  # along a straight line a region misses more or less
            aim, unit = self._row(), self.unit
            aim[self.miss] = 1.0
        turn = slice(None, None, -1 if turned else 1)
        found = milp(
            aim[turn],
            integrality=self.integrality[turn],
            bounds=Bounds(lower[turn], upper[turn]),
            constraints=LinearConstraint(np.array([row[turn] for row in rows[turn]]), *limits[turn].T),
            # Presolve has lost optimal solutions of such programs; without it the search is about as quick.
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0, "presolve": False},
        )
        if found.status == 2:
            return None
        bound = found.mip_dual_bound if found.status in (0, 1) else None
        bound = 0.0 if bound is None or not np.isfinite(bound) else float(bound) * unit
        if found.x is None or found.status not in (0, 1):
            return Solution(False, bound, None, np.array([], dtype=np.int64), np.array([], dtype=bool))
        values, x = found.x[turn], self.problem.x.copy()
        x[self.columns] += (values[self.rise] - values[self.fall]) * self.scale
        pieces = np.array([int(values[piece].argmax()) for piece in self.piece], dtype=np.int64)
        return Solution(found.status == 0, bound, x, pieces, values[self.part] > 0.5)

    def _bounds(self, inside: Solution | None, insets: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
        """Return the ends of the variables, lower and upper, and of the rows; with `inside`, those of its region."""
        lower, upper = self.lower.copy(), self.upper.copy()
        limits = np.array([(low, high) for _, low, high in self.rows]).reshape(-1, 2)
        if inside is not None:
            for piece, chosen in zip(self.piece, inside.pieces, strict=True):
                lower[piece], upper[piece] = 0.0, 0.0
                lower[piece.start + chosen] = upper[piece.start + chosen] = 1.0
            lower[self.part] = upper[self.part] = inside.changed
            for row, number, side, inner in self.sides:
                chosen = inside.pieces[number]
                if inner[chosen]:
                    inset = insets[int(self.axes[number].strict[chosen, side])]
                    limits[row] += (inset, 0.0) if side == 0 else (0.0, -inset)
        return lower, upper, limits


# -- Axes along which the neurons of the first layer look, and the pieces into which their thresholds cut each.


@dataclass(frozen=True, eq=False)
class Axis:
    """Neurons whose weights are multiples of one vector, and the pieces between their thresholds.

    Piece r lies between ``edges[r, 0]`` and ``edges[r, 1]``, without an edge that is `strict`; ``answers[r]`` are the
    neurons' answers there. `column` is the only one with a weight, None where there are several.
    """

    weights: Floats
    column: int | None
    neurons: list[int]
    edges: Floats
    strict: Bools
    answers: Floats


def axes(problem: Problem) -> list[Axis]:
    """Return the axes of the first layer, with the pieces in which every constraint holds."""
    groups: dict[Projection, list[int]] = {}
    for number, neuron in enumerate(problem.layer.neurons):
        if neuron.projection.columns:
            groups.setdefault(direction(neuron), []).append(number)
    return [_axis(problem, numbers) for numbers in groups.values()]


def _axis(problem: Problem, numbers: list[int]) -> Axis:
    """Return the axis of some parallel neurons."""
    neurons = [problem.layer.neurons[number] for number in numbers]
    first = neurons[0].projection
    vectors = np.array([normal(neuron, len(problem.x)) for neuron in neurons])
    weights = vectors[0] / neurons[0].projection.factors[0]
    leads = vectors @ weights / (weights @ weights)
    cuts = np.array([neuron.threshold for neuron in neurons]) / leads
    # A neuron that looks along the axis turns at its threshold, one that looks against it just after.
    turns = list(zip(cuts.tolist(), (leads < 0).tolist(), strict=True))
    keys = sorted(set(turns))
    passed = np.arange(len(keys) + 1)[:, np.newaxis] > [keys.index(turn) for turn in turns]
    answers = np.where(passed == (leads > 0), 1.0, -1.0)
    limits = np.array(numbers) >= problem.network.widths[0]
    allowed = (answers[:, limits] > 0).all(axis=1)
    column = first.columns[0] if len(first.columns) == 1 else None
    if column is None:
        edges = np.array([-np.inf, *(cut for cut, _ in keys), np.inf])
        spans = np.column_stack([edges[:-1], edges[1:]])
        late = [after for _, after in keys]
        strict = np.array([[False, *late], [*(not after for after in late), False]]).T
    else:
        spans = _exact_spans(problem, column, numbers, passed)
        allowed &= spans[:, 0] <= spans[:, 1]
        strict = np.zeros(spans.shape, dtype=bool)
    return Axis(weights, column, numbers, spans[allowed], strict[allowed], answers[allowed])


def _exact_spans(problem: Problem, column: int, numbers: list[int], passed: Bools) -> Floats:
    """Return the first and last value of one column in every piece: the last float, or whole number, that belongs."""
    neurons = [problem.layer.neurons[number] for number in numbers]
    turns = np.array([crossings(neuron, column, problem.x[np.newaxis])[0] for neuron in neurons])
    first = np.where(passed, turns, -np.inf).max(axis=1)
    last = np.where(passed, np.inf, np.nextafter(turns, -np.inf)).min(axis=1)
    if problem.integer[column]:
        first, last = np.ceil(first), np.floor(last)
    return np.column_stack([first, last])
