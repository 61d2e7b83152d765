"""How far a row is from another prediction: along each column, and straight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.crossings import walks
from bgn.explain.nearest import nearest_deep, nearest_shallow
from bgn.explain.subject import column_of, rows_of
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.terms import network_of


@dataclass(frozen=True, eq=False)
class Margin:
    """Distances to the nearest other prediction.

    Attributes
    ----------
    up, down : ndarray, shape (rows, features)
        The nearest value above, and below, the row's own at which the prediction is another, all other columns as
        they are; ``inf`` and ``-inf`` where there is none.
    distance : ndarray, shape (rows, features)
        How far the nearer of the two is, in the units of the column.
    euclidean : ndarray, shape (rows,)
        Distance to the nearest rows with another prediction, all columns free, in the units given: their infimum.
    nearest : ndarray, shape (rows, features)
        The point of the threshold at that distance; NaN where there is none.
    exact : ndarray of bool, shape (rows,)
        False where the search in a deeper network ended early: `euclidean` is then a lower bound.
    """

    up: Floats
    down: Floats
    distance: Floats
    euclidean: Floats
    nearest: Floats
    exact: Any

    def __repr__(self) -> str:
        rows, features = self.distance.shape
        return f"Margin({rows} rows, {features} features, nearest change at {self.euclidean.min():.6g})"


def margin(model: Any, X: Any, units: ArrayLike | Mapping[str, float] | None = None, max_cells: int = 1000) -> Margin:
    """Return how far each row is from the nearest threshold that would change its prediction.

    Thresholds whose crossing changes nothing (two neurons that cancel, a neuron that a deeper layer ignores) do not
    count. Two predictions are the same when they differ by no more than rounding.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, shape (rows, features)
    units : array_like or mapping from names, optional
        What counts as one unit of each column in the Euclidean distance, such as its standard deviation; 1 by
        default, also for names left out of a mapping.
    max_cells : int, default 1000
        Most regions searched for a row's Euclidean margin in a deeper network.

    Returns
    -------
    Margin

    Examples
    --------
    >>> from bgn import Layer, Network, margin
    >>> network = Network([Layer([[1.0, 0.0], [3.0, 4.0]], [-2.0, -25.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> found = margin(network, [[3.0, 2.0]])
    >>> found.up, found.distance.round(3)
    (array([[5.66666667, 4.        ]]), array([[1., 2.]]))
    >>> found.euclidean, found.nearest
    (array([1.]), array([[2., 2.]]))
    """
    network = network_of(model)
    rows = rows_of(network, X, "X")
    scale = _units(network, units)
    tolerance = 1e-12 * (abs(network.base) + float(np.abs(network.output_weights).sum()))
    up, down = np.full(rows.shape, np.inf), np.full(rows.shape, -np.inf)
    for column in network.features_used:
        up[:, column], down[:, column] = _along(network, column, rows, tolerance)
    if network.depth == 1:
        euclidean, nearest = nearest_shallow(network, rows, scale, tolerance)
        exact = np.ones(len(rows), dtype=bool)
    else:
        euclidean, nearest, exact = nearest_deep(network, rows, scale, tolerance, max_cells)
    return Margin(up, down, np.minimum(up - rows, rows - down), euclidean, nearest, exact)


def _units(network: Network, units: ArrayLike | Mapping[str, float] | None) -> Floats:
    """Return one positive unit a column."""
    if units is None:
        return np.ones(network.n_inputs)
    if isinstance(units, Mapping):
        scale = np.ones(network.n_inputs)
        for name, unit in units.items():
            scale[column_of(network, name, "units")] = unit
    else:
        scale = np.asarray(units, dtype=np.float64)
    if scale.shape != (network.n_inputs,) or not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError(f"units must be a positive number for each of the {network.n_inputs} columns; got {units!r}.")
    return scale


def _along(network: Network, column: int, rows: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Return the nearest values above and below at which the prediction is another."""
    places, predictions = walks(network, column, rows)
    edges = np.column_stack([np.full(len(rows), -np.inf), places, np.full(len(rows), np.inf)])
    own = np.sum(places <= rows[:, [column]], axis=1)
    other = np.abs(predictions - np.take_along_axis(predictions, own[:, np.newaxis], axis=1)) > tolerance
    other &= edges[:, :-1] < edges[:, 1:]
    pieces = np.arange(predictions.shape[1])
    above, below = other & (pieces > own[:, np.newaxis]), other & (pieces < own[:, np.newaxis])
    first, last = above.argmax(axis=1), predictions.shape[1] - 1 - below[:, ::-1].argmax(axis=1)
    everyone = np.arange(len(rows))
    up = np.where(above.any(axis=1), edges[everyone, first], np.inf)
    down = np.where(below.any(axis=1), np.nextafter(edges[everyone, last + 1], -np.inf), -np.inf)
    return up, down
