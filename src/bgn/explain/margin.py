"""How far a row is from another prediction, or class: along each column, and straight, all columns free."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from bgn.explain.arguments import linear_values, positive_numbers, rows_of
from bgn.explain.crossings import after_first, walks
from bgn.model.layer import Layer
from bgn.model.link import bounded
from bgn.model.network import Network, on_gpu
from bgn.model.numbers import EXACT, written
from bgn.model.readings import network_of
from bgn.model.schema import Schema
from bgn.model.step import Bools, Floats
from bgn.model.term import Oblique, Projection
from bgn.model.values import as_rows
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import count_of

# How far inside a region, relative to the sizes at hand, a point must lie for the region to count as one.
_INSIDE = 1e-9


@through_pipelines("X")
def margin(
    model: Any, X: Any, units: ArrayLike | Mapping[str, float] | None = None, max_cells: int = 1000,
    change: str | None = None,
) -> Margin:  # fmt: skip
    """Return how far each row is from the nearest threshold that would change its prediction, and at which levels.

    Thresholds whose crossing changes nothing (two rules that cancel, a condition that a deeper layer ignores) do not
    count. Two predictions are the same when they differ by no more than rounding. Linear terms stand beside them, and
    bounds are then left aside.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like, sparse matrix or frame, shape (rows, features), or one row
        A single row may be a series, a mapping by name, or a sequence.
    units : array_like or mapping from names, optional
        What counts as one unit of each column in the Euclidean distance, such as its standard deviation; 1 by
        default, also for names left out of a mapping.
    max_cells : int, default 1000
        Most regions searched for a row's Euclidean margin in a deeper network, to another class, or within bounds.
    change : {"class", "score"}, optional
        With classes, what must change: the class that is predicted, by default, or any score, as at the nearest
        threshold that matters.

    Returns
    -------
    Margin

    Examples
    --------
    >>> from bgn import Layer, Network, margin
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [3.0, 4.0]], [-2.0, -25.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> nearest = margin(network, [[3.0, 2.0]])
    >>> nearest.up, nearest.distance.round(3)
    (array([[5.66666667, 4.        ]]), array([[1., 2.]]))
    >>> nearest.euclidean, nearest.nearest
    (array([1.]), array([[2., 2.]]))
    """
    return margin_over(network_of(model, plain=False), X, units, max_cells, change)


def margin_over(
    given: Network, X: Any, units: ArrayLike | Mapping[str, float] | None = None, max_cells: int = 1000,
    change: str | None = None, whole: Collection[int] = (),
) -> Margin:  # fmt: skip
    """Return the same of a network; columns that are `whole` go from whole numbers to whole numbers alone."""
    if given.linear and given.link != "identity" and change != "score":
        raise ValueError(f"change must be 'score' where the model has linear terms; got {change!r}.")
    network = given.with_linear()
    if given.linear:  # what is cut off depends on them
        network = network.changed(bounds=None)
    X = as_rows(X)
    rows = rows_of(given, X, "X")
    missing = np.isnan(rows) if on_gpu(X) else np.isnan(network.schema.encode(X, missing=True))
    scale = positive_numbers(network, units, "units")
    if network.link == "identity" and change is not None:
        raise ValueError(f"change is for classes; the model predicts a number. Leave it out; got {change!r}.")
    if change not in (None, "class", "score"):
        raise ValueError(f"change must be 'class' or 'score'; got {change!r}.")
    sizes = np.abs(network.base) + np.abs(network.output_weights).sum(axis=0)
    of_class = network.link != "identity" and change != "score"
    other = Difference(of_class, np.ndim(network.base) == 1, 1e-12 * float(np.max(sizes)), network.bounds)
    up, down = np.full(rows.shape, np.inf), np.full(rows.shape, -np.inf)
    categories, answers = {}, network.layers[0].fire
    for column in network.features_used:
        kind, known = network.schema.columns[column], ~missing[:, column]
        if kind.categories is not None:
            here, moved, differs = after_first(network, answers(rows)), rows.copy(), []
            for code in range(len(kind.categories)):
                moved[:, column] = code
                differs.append(other.between(after_first(network, answers(moved)), here))
            categories[kind.name] = np.stack(differs, axis=1) & known[:, np.newaxis]
        elif known.any():
            in_steps = (rows[known, column] == np.rint(rows[known, column])) & (column in whole)
            up[known, column], down[known, column] = _along(network, column, rows[known], other, in_steps)
    distance = np.where(np.isinf(up) & np.isinf(down), np.inf, np.minimum(up - rows, rows - down))
    if not missing.any() and network.plain and network.depth == 1 and not other.jointly:
        euclidean: tuple[Any, ...] = (*_nearest_shallow(network, rows, scale, other), np.ones(len(rows), dtype=bool))
    else:
        nearest = [_nearest_numbers(network, row, lost, scale, other, max_cells)
                   for row, lost in zip(rows, missing, strict=True)]  # fmt: skip
        euclidean = tuple(np.array(part) for part in zip(*nearest, strict=True))
    linear_coef = linear_values(given, rows, per_unit=True) if given.linear else None
    length, nearest_rows, exact = euclidean
    return Margin(up, down, distance, length, nearest_rows, exact, categories, linear_coef, network.names)


def _nearest_numbers(
    network: Network, row: Floats, missing: Bools, scale: Floats, change: Difference, max_cells: int
) -> tuple[float, Floats, bool]:
    """Return distance to and foot on the nearest hyperplane that matters where only numbers move; tell if proven."""
    shallow = network.depth == 1 and not change.jointly
    if not missing.any() and network.plain and not shallow:
        return _nearest_deep(network, row, scale, change, max_cells)
    free = np.array([kind.categories is None for kind in network.schema.columns]) & ~missing
    numbers = np.flatnonzero(free)
    if not len(numbers):
        return np.inf, np.full(len(row), np.nan), True
    conditions = [_over_numbers(condition, row, free) for condition in network.layers[0].neurons]
    layers = (Layer.of(conditions, len(numbers)), *network.layers[1:])
    plain = network.changed(layers=layers, schema=Schema.of_numbers(len(numbers)))
    if shallow:
        distances, feet = _nearest_shallow(plain, row[np.newaxis, numbers], scale[numbers], change)
        distance, foot, exact = float(distances[0]), feet[0], True
    else:
        distance, foot, exact = _nearest_deep(plain, row[numbers], scale[numbers], change, max_cells)
    nearest = np.where(missing, np.nan, row)
    nearest[numbers] = foot
    return distance, nearest if np.isfinite(distance) else np.full(len(row), np.nan), exact


def _over_numbers(condition: Oblique, row: Floats, free: Bools) -> Oblique:
    """Return a condition over the numbers that may move, the other columns as in a row."""
    projection, order = condition.projection, np.cumsum(free) - 1
    if condition.missing is not None and np.isnan(row[list(projection.columns)]).any():
        return Oblique(Projection((), ()), -1.0 if condition.missing else 1.0)
    places = [place for place, column in enumerate(projection.columns) if free[column]]
    if not places:
        return Oblique(Projection((), ()), -1.0 if condition.holds(row[np.newaxis])[0] else 1.0)
    threshold = written(condition.threshold)
    for place, column in enumerate(projection.columns):
        if not free[column]:
            threshold = EXACT.subtract(threshold, written(float(projection.at(place).values(row[np.newaxis])[0])))
    columns = tuple(int(order[projection.columns[place]]) for place in places)
    return Oblique(Projection(columns, tuple(projection.coefficients[place] for place in places)), float(threshold))


def _along(
    network: Network, column: int, rows: Floats, change: Difference, in_steps: Bools
) -> tuple[Floats, Floats]:
    """Return the nearest values up and down at which the prediction is another; whole ones for rows `in_steps`."""
    places, predictions = walks(network, column, rows)
    edges = np.column_stack([np.full(len(rows), -np.inf), places, np.full(len(rows), np.inf)])
    starts, ends = np.where(in_steps[:, np.newaxis], np.ceil(edges[:, :-1]), edges[:, :-1]), edges[:, 1:]
    everyone, own = np.arange(len(rows)), np.sum(places <= rows[:, [column]], axis=1)
    other = change.between(predictions, predictions[everyone, own][:, np.newaxis]) & (starts < ends)
    pieces = np.arange(predictions.shape[1])
    higher, lower = other & (pieces > own[:, np.newaxis]), other & (pieces < own[:, np.newaxis])
    first, last = higher.argmax(axis=1), predictions.shape[1] - 1 - lower[:, ::-1].argmax(axis=1)
    up, beyond = starts[everyone, first], ends[everyone, last]
    down = np.where(in_steps, np.ceil(beyond) - 1.0, np.nextafter(beyond, -np.inf))
    return np.where(higher.any(axis=1), up, np.inf), np.where(lower.any(axis=1), down, -np.inf)


def _nearest_shallow(network: Network, rows: Floats, scale: Floats, change: Difference) -> tuple[Floats, Floats]:
    """Return the distance to, and foot on, the nearest hyperplane that matters, for a single hidden layer.

    Crossing a hyperplane alone is always possible at its nearest point or beside it, so that the nearest one whose
    conditions do not cancel decides.
    """
    layer = network.layers[0]
    best, feet = np.full(len(rows), np.inf), np.full(rows.shape, np.nan)
    projections, answers = layer.project(rows), layer.fire(rows)
    for conditions, states in _hyperplanes(network):
        now = answers[:, conditions] @ network.output_weights[conditions]
        then = np.array(states) @ network.output_weights[conditions]
        matters = change.between(then, now[:, np.newaxis]).any(axis=1)
        first = conditions[0]
        across = _normals(layer, [first])[0] * scale
        length = np.linalg.norm(across)
        shortfalls = (layer.neurons[first].threshold - projections[:, first]) / length
        distance = np.where(matters, np.abs(shortfalls), np.inf)
        nearer = distance < best
        best[nearer] = distance[nearer]
        feet[nearer] = rows[nearer] + shortfalls[nearer, np.newaxis] * (across / length * scale)
    return best, feet


def _hyperplanes(network: Network) -> list[tuple[list[int], list[Floats]]]:
    """Return the hyperplanes that count: the conditions of each, and their answers below, on and above it.

    Above is where the first of them points to. All fire on it.
    """
    groups: dict[tuple[Projection, float], list[int]] = {}
    signs = np.zeros(network.widths[0])
    for number, condition in enumerate(network.layers[0].neurons):
        if condition.columns and (network.depth > 1 or network.output_weights[number].any()):
            factors = condition.projection.factors
            direction = Projection(condition.columns, tuple(factor / factors[0] for factor in factors))
            signs[number] = np.sign(factors[0])
            groups.setdefault((direction, condition.threshold / factors[0]), []).append(number)
    planes = []
    for conditions in groups.values():
        along = signs[conditions] * signs[conditions[0]]
        planes.append((conditions, [-along, np.ones(len(conditions)), along]))
    return planes


def _normals(layer: Layer, conditions: list[int]) -> Floats:
    """Return the factors of conditions, all of numbers, one row each over the columns."""
    normals = np.zeros((len(conditions), layer.n_inputs))
    for row, number in zip(normals, conditions, strict=True):
        condition = layer.neurons[number]
        row[list(condition.columns)] = condition.projection.factors
    return normals


def _nearest_deep(
    network: Network, row: Floats, scale: Floats, change: Difference, max_cells: int
) -> tuple[float, Floats, bool]:
    """Search the regions around a row, nearest first, until one predicts something else; tell if that is proven.

    A region has a state per hyperplane: 0 below, 1 on, 2 above; on is one of its own where conditions face each other.
    Regions with no inside, between thresholds a rounding error apart, are passed through and do not count.
    """
    layer, planes = network.layers[0], _hyperplanes(network)
    firsts = [conditions[0] for conditions, _ in planes]
    normals = _normals(layer, firsts) * scale
    shortfalls = (layer.thresholds - layer.project(row[np.newaxis])[0])[firsts]
    lengths = np.linalg.norm(normals, axis=1)
    normals, shortfalls = normals / lengths[:, np.newaxis], shortfalls / lengths
    size = _INSIDE * float(np.abs(shortfalls).max(initial=1e-300))
    answers = layer.fire(row[np.newaxis])

    def predict(states: tuple[int, ...]) -> Floats:
        for (conditions, options), state in zip(planes, states, strict=True):
            answers[0, conditions] = options[state]
        return np.asarray(after_first(network, answers)[0])

    own = tuple(
        max(state for state in range(3) if np.array_equal(options[state], answers[0, conditions]))
        for conditions, options in planes
    )
    here = predict(own)
    queue: list[tuple[float, tuple[int, ...], Floats | None]] = [(0.0, own, np.zeros(len(row)))]
    seen = {own}
    for _ in range(max_cells):
        if not queue:
            return np.inf, np.full(len(row), np.nan), True
        distance, states, move = heapq.heappop(queue)
        if move is not None and change.between(predict(states), here):
            return distance, row + move * scale, True
        for place, (_, options) in enumerate(planes):
            facing = not any(np.array_equal(options[1], options[side]) for side in (0, 2))
            for state in range(3) if facing else (0, 2):
                turned = (*states[:place], state, *states[place + 1 :])
                if turned in seen:
                    continue
                seen.add(turned)
                point = _inside(normals, shortfalls, turned, size)
                edge = _inside(normals, shortfalls, turned, 0.0) if point is None else point
                if edge is not None:
                    heapq.heappush(queue, (float(np.linalg.norm(edge)), turned, point))
    return (queue[0][0] if queue else np.inf), np.full(len(row), np.nan), not queue


def _inside(normals: Floats, shortfalls: Floats, states: tuple[int, ...], size: float) -> Floats | None:
    """Return the shortest vector into a region, `size` away from its edges, or None if it has no inside."""
    where = np.array(states)
    upper, lower, on = where == 2, where == 0, where == 1
    sides = np.vstack([normals[upper], -normals[lower], normals[on], -normals[on]])
    least = np.concatenate([shortfalls[upper] + size, size - shortfalls[lower], shortfalls[on], -shortfalls[on]])
    # The shortest vector with ``sides @ vector >= least``: Lawson and Hanson's LDP.
    unit = max(float(np.abs(least).max(initial=0.0)), 1e-300)
    system = np.vstack([sides.T, least / unit])
    target = np.append(np.zeros(sides.shape[1]), 1.0)
    solution, _ = nnls(system, target)
    residual = system @ solution - target
    if abs(residual[-1]) < 1e-12:
        return None
    vector = -residual[:-1] / residual[-1] * unit
    return vector if (sides @ vector >= least - 1e-3 * _INSIDE * unit).all() else None


# -- The distances of rows to other predictions.


@dataclass(frozen=True, eq=False)
class Margin(Tabular):
    """Distances to the nearest other prediction: with classes, to the nearest other class unless requested otherwise.

    Attributes
    ----------
    up, down : ndarray, shape (rows, features)
        The nearest value above, and below, the row's own at which the prediction is another, all other columns as
        they are; ``inf`` and ``-inf`` where there is none.
    distance : ndarray, shape (rows, features)
        How far the nearer of the two is, in the units of the column; ``inf`` for categories and missing values.
    euclidean : ndarray, shape (rows,)
        Distance to the nearest rows with another prediction, all numbers free, in the units given: their infimum.
    nearest : ndarray, shape (rows, features)
        The point of the threshold at that distance; NaN where there is none. Categories and missing values
        stay.
    exact : ndarray of bool, shape (rows,)
        False where the search in a deeper network ended early: `euclidean` is then a lower bound.
    categories : dict of str to ndarray of bool, shape (rows, levels)
        By category: at which of its levels the prediction is another, all other columns as they are; none where the
        row has a missing value.
    linear_coef : ndarray, shape (rows, features), or None
        What linear terms add per unit of each column until then, 0 beyond their ends; with several classes one last
        axis for them. None without linear terms.
    feature_names : tuple of str
        Names of the columns.
    """

    up: Floats
    down: Floats
    distance: Floats
    euclidean: Floats
    nearest: Floats
    exact: Bools
    categories: Mapping[str, Bools] = field(default_factory=dict)
    linear_coef: Floats | None = None
    feature_names: tuple[str, ...] = ()

    def _columns(self) -> Columns:
        names = self.feature_names or tuple(f"x{j}" for j in range(self.distance.shape[1]))
        rows = {"row": [*range(1, len(self.distance) + 1)], "all columns free": self.euclidean.tolist()}
        return rows | {f"{name} alone": own.tolist() for name, own in zip(names, self.distance.T, strict=True)}

    def __repr__(self) -> str:
        rows, features = self.distance.shape
        shape = f"{count_of(rows, 'row')}, {count_of(features, 'feature')}"
        nearest = float(self.euclidean.min())
        return f"Margin({shape}, {f'nearest change at {nearest:.6g}' if np.isfinite(nearest) else 'no change near'})"


# -- What counts as another prediction.


@dataclass(frozen=True)
class Difference:
    """What counts as another prediction: another class, or scores that differ by more than rounding.

    Scores may have any shape; their last axis is that of the classes where there are `several`.
    """

    of_class: bool
    several: bool
    tolerance: float
    bounds: tuple[float, float] | None = None

    @property
    def jointly(self) -> bool:
        """Whether crossing one threshold may change nothing, and two something."""
        return self.of_class or self.bounds is not None

    def between(self, scores: Floats, others: Floats) -> Bools:
        """Return where scores and others stand for different predictions; shapes broadcast."""
        if not self.of_class:
            differs = np.abs(bounded(scores, self.bounds) - bounded(others, self.bounds)) > self.tolerance
            return np.asarray(differs.any(axis=-1) if self.several else differs)
        numbers = (side.argmax(axis=-1) if self.several else side > 0 for side in (scores, others))
        return np.asarray(np.not_equal(*numbers))
