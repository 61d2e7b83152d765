"""Effects of one or two features as what they are: steps and cells, with no grid.

The effect of a feature is its partial dependence: the mean prediction over a background when the feature is set to a
value in every row. A network is constant between thresholds, so the effect is a step function whose breakpoints are
known to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.crossings import crossings, walks
from bgn.explain.polygons import Cell, arrangement
from bgn.explain.shap.coalitions import SortedColumns, coalition_counts, mixed_answers
from bgn.explain.shap.counting import add_steps
from bgn.explain.subject import background_of, column_of
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.terms import network_of


@dataclass(frozen=True, eq=False)
class Effect:
    """A step function of one feature.

    Attributes
    ----------
    feature : str
        Name of the column.
    breakpoints : ndarray, shape (steps,)
        The first value of every new level, in order.
    levels : ndarray, shape (steps + 1,)
        Mean prediction below the first breakpoint, from it on, and so forth.
    """

    feature: str
    breakpoints: Floats
    levels: Floats

    def __call__(self, values: ArrayLike) -> Floats:
        """Return the mean prediction when the feature is set to each of `values`."""
        return self.levels[np.searchsorted(self.breakpoints, np.asarray(values, dtype=np.float64), side="right")]

    def __repr__(self) -> str:
        return (
            f"Effect({self.feature}: {len(self.breakpoints)} steps, from {self.levels.min():.6g} to "
            f"{self.levels.max():.6g})"
        )


@dataclass(frozen=True, eq=False)
class PairEffect:
    """The effect of two features: ``base + first(a) + second(b) + joint(a, b)``.

    Attributes
    ----------
    features : tuple of two str
        Names of the columns.
    base : float
        What neither feature changes.
    first, second : Effect
        Neurons that read one of the two and not the other; in a deeper network all is joint.
    lines : ndarray, shape (lines, 3)
        The joint part changes where ``lines[:, 0] * a + lines[:, 1] * b`` crosses ``lines[:, 2]``.
    network : Network
        What the effect is of.
    background : ndarray, shape (any number of rows, features)
        The rows over which the other columns vary.
    """

    features: tuple[str, str]
    base: float
    first: Effect
    second: Effect
    lines: Floats
    network: Network
    background: Floats

    def __call__(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the mean prediction when the features are set to each pair of values (shapes broadcast)."""
        return self.base + self.first(first) + self.second(second) + self.joint(first, second)

    def joint(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the part that neurons reading both features add, at each pair of values (shapes broadcast)."""
        a, b = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
        columns = [self.network.names.index(name) for name in self.features]
        rows = np.zeros((a.size, self.network.n_inputs))
        rows[:, columns[0]], rows[:, columns[1]] = a.ravel(), b.ravel()
        weights = self.network.output_weights
        if self.network.depth > 1:
            means = mixed_answers(self.network, columns, rows, self.background)
            return (self.network.base + weights @ means).reshape(a.shape)
        total, table, drawn = np.zeros(a.size), SortedColumns(rows), SortedColumns(self.background)
        for neuron in _readers(self.network, columns, every=True):
            players = self.network.layers[0].neurons[neuron].projection.columns
            coalition = sum(1 << place for place, player in enumerate(players) if player in columns)
            counts = coalition_counts(self.network, neuron, coalition, table, drawn)
            total += weights[neuron] * (2.0 * counts / len(self.background) - 1.0)
        return total.reshape(a.shape)

    def cells(self, bounds: ArrayLike | None = None, whole: bool = False) -> list[Cell]:
        """Return the convex polygons on which the joint part is constant.

        Parameters
        ----------
        bounds : array_like, shape (2, 2), optional
            Lowest and highest value of the first feature, then of the second; the background's by default.
        whole : bool, default False
            Cut by the steps of `first` and `second` too, and give the whole effect as level.

        Returns
        -------
        list of Cell
        """
        columns = [self.network.names.index(name) for name in self.features]
        if bounds is None:
            drawn = self.background[:, columns]
            bounds = np.column_stack([drawn.min(axis=0), drawn.max(axis=0)])
        box = np.asarray(bounds, dtype=np.float64)
        if box.shape != (2, 2) or not (box[:, 0] < box[:, 1]).all():
            raise ValueError(f"bounds must be two pairs, lowest then highest; got {box.tolist()}.")
        lines = self.lines
        if whole:
            upright = [(1.0, 0.0, value) for value in self.first.breakpoints]
            level = [(0.0, 1.0, value) for value in self.second.breakpoints]
            lines = np.concatenate([lines, np.array(upright + level).reshape(-1, 3)])
        polygons = arrangement(box, lines)
        centres = np.array([polygon.mean(axis=0) for polygon in polygons])
        levels = (self if whole else self.joint)(centres[:, 0], centres[:, 1])
        return [Cell(polygon, float(level)) for polygon, level in zip(polygons, levels, strict=True)]

    def __repr__(self) -> str:
        return f"PairEffect({' x '.join(self.features)}: {len(self.lines)} joint lines)"


def effect(model: Any, feature: Any, background: Any = None) -> Effect | PairEffect:
    """Return the exact effect of a feature, or of a pair, on the prediction.

    Parameters
    ----------
    model : Network or fitted estimator
    feature : str, int, or a pair of them
        The column or columns.
    background : array_like or frame
        Rows over which the other columns vary; all are used. May be left out when the model has ``background_``.

    Returns
    -------
    Effect or PairEffect

    Examples
    --------
    >>> from bgn import Layer, Network, effect
    >>> network = Network([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> background = [[1.0, 1.0], [3.0, 1.0], [0.0, 9.0]]
    >>> rooms = effect(network, "rooms", background)
    >>> rooms.breakpoints
    array([-4.,  2.,  4.])
    >>> rooms.levels.round(2)
    array([1.5 , 1.83, 3.83, 4.5 ])
    >>> effect(network, ("rooms", "age"), background)(2.0, [3.0, 2.0])
    array([4.5, 3.5])
    """
    network = network_of(model)
    rows = background_of(model, network, background)
    if isinstance(feature, Iterable) and not isinstance(feature, str):
        pair = [column_of(network, each, "feature") for each in feature]
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"feature must be one column or two different ones; got {feature!r}.")
        return _pair_effect(network, pair, rows)
    column = column_of(network, feature, "feature")
    if network.depth > 1:
        return _deep_effect(network, column, rows)
    return _steps(network, list(np.flatnonzero(network.output_weights)), column, rows, network.base)


def _readers(network: Network, columns: list[int], every: bool) -> list[int]:
    """Return the first-layer neurons that read every one, or any, of the columns."""
    read = network.layers[0].reads[:, columns]
    reads = read.all(axis=1) if every else read.any(axis=1)
    if network.depth == 1:
        reads &= network.output_weights != 0
    return [int(neuron) for neuron in np.flatnonzero(reads)]


def _steps(network: Network, neurons: list[int], column: int, rows: Floats, base: float) -> Effect:
    """Return the effect of a column through some neurons of a one-layer network, counted exactly."""
    layer, m = network.layers[0], len(rows)
    moving = [neuron for neuron in neurons if layer.reads[neuron, column]]
    still = [neuron for neuron in neurons if not layer.reads[neuron, column]]
    found = {neuron: np.sort(crossings(layer, neuron, column, rows)) for neuron in moving}
    every = np.unique(np.concatenate([[], *found.values()]))
    points = np.concatenate([[-np.inf], every[np.isfinite(every)]])
    firing = (layer.only(still).fire(rows) > 0).sum(axis=0)
    levels = np.full(len(points), base + network.output_weights[still] @ (2.0 * firing / m - 1.0))
    for neuron in moving:
        add_steps(found[neuron], points, layer.weights[neuron, column] > 0, network.output_weights[neuron], levels)
    return _effect(network.names[column], points[1:], levels)


def _effect(name: str, points: Floats, levels: Floats) -> Effect:
    """Return the step function without the points where nothing changes."""
    changed = np.diff(levels) != 0
    return Effect(name, points[changed], levels[np.append(True, changed)])


def _deep_effect(network: Network, column: int, rows: Floats) -> Effect:
    """Return the effect of a column in a deeper network: the mean over rows of their own step functions."""
    places, predictions = walks(network, column, rows)
    where, jump = places.ravel(), np.diff(predictions, axis=1).ravel()
    finite = np.isfinite(where)
    unique, slot = np.unique(where[finite], return_inverse=True)
    rises = np.bincount(slot, weights=jump[finite], minlength=len(unique))
    level = predictions[:, 0].sum() + jump[where == -np.inf].sum()
    return _effect(network.names[column], unique, np.concatenate([[level], level + np.cumsum(rises)]) / len(rows))


def _pair_effect(network: Network, pair: list[int], rows: Floats) -> PairEffect:
    """Return the effect of two columns."""
    names = (network.names[pair[0]], network.names[pair[1]])
    deep = network.depth > 1
    joint = _readers(network, pair, every=not deep)
    parts = []
    for column in pair:
        alone = [] if deep else [k for k in _readers(network, [column], every=True) if k not in joint]
        parts.append(_steps(network, alone, column, rows, 0.0))
    still = [k for k in range(network.widths[-1]) if k not in _readers(network, pair, every=False)]
    base = (
        0.0
        if deep
        else network.base + network.layers[0].fire(rows)[:, still].mean(axis=0) @ (network.output_weights[still])
    )
    lines = [np.empty((0, 3))]
    for neuron in joint:
        weights = network.layers[0].weights[neuron].copy()
        first, second = weights[pair]
        weights[pair] = 0.0
        offsets = np.unique(network.layers[0].thresholds[neuron] - rows @ weights)
        lines.append(np.column_stack([np.full(len(offsets), first), np.full(len(offsets), second), offsets]))
    return PairEffect(names, float(base), parts[0], parts[1], np.concatenate(lines), network, rows)
