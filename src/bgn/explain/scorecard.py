"""Whole points per neuron: a prediction that can be added up by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgn.model.network import Network
from bgn.model.step import Floats


@dataclass(frozen=True)
class Scorecard:
    """``prediction = intercept + unit * (sum of the points of the neurons that fire)``.

    Attributes
    ----------
    points : tuple of int
        One per neuron of the last hidden layer.
    unit : float
        What a point is worth.
    intercept : float
        The prediction with no points.
    """

    points: tuple[int, ...]
    unit: float
    intercept: float


def fit_points(network: Network, rows: Floats, target: Floats, max_points: int) -> tuple[Network, Scorecard]:
    """Return the network whose output weights are whole multiples of one unit, and its scorecard.

    Points start from the output weights rounded to every unit that fits, and then change by one at a time while the
    squared error falls; unit and intercept are least squares, rounded to three significant digits.
    """
    fires = (network.hidden(rows) > 0).astype(np.float64)
    centred, residual = fires - fires.mean(axis=0), target - target.mean()
    gram, moment = centred.T @ centred, centred.T @ residual
    largest = float(np.abs(network.output_weights).max(initial=0.0))
    starts = [
        np.clip(np.rint(network.output_weights / largest * most), -max_points, max_points)
        for most in np.linspace(0.6, max_points, 10 * max_points)
        if largest > 0
    ]
    points = max(starts, key=lambda each: _explained(each, gram, moment), default=np.zeros(fires.shape[1]))
    points = _climb(points, gram, moment, max_points)
    variance = points @ gram @ points
    unit = float(f"{points @ moment / variance:.2e}") if variance > 0 else 0.0
    keep = np.flatnonzero(unit * points)
    points = points[keep]
    intercept = float(np.mean(target - unit * (fires[:, keep] @ points)))
    intercept = float(f"{intercept:.{_digits(intercept, unit)}e}")
    layers = [*network.layers[:-1], network.layers[-1].only(keep)]
    weights = unit * points / 2.0
    simple = network.changed(layers=layers, output_weights=weights, base=intercept + weights.sum())
    return simple, Scorecard(tuple(int(each) for each in points), unit, intercept)


def _digits(intercept: float, unit: float) -> int:
    """Return how many decimals an intercept needs to be as fine as a hundredth of the unit."""
    if intercept == 0 or unit == 0:
        return 15
    return int(np.clip(np.floor(np.log10(abs(intercept))) - np.floor(np.log10(abs(unit))) + 2, 0, 15))


def _explained(points: Floats, gram: Floats, moment: Floats) -> float:
    """Return how much of the sum of squares these points explain with their best unit, a positive one."""
    variance = points @ gram @ points
    slope = points @ moment
    return float(slope**2 / variance) if variance > 0 and slope > 0 else 0.0


def _climb(points: Floats, gram: Floats, moment: Floats, max_points: int) -> Floats:
    """Change points by one, best change first, while they explain more."""
    best = _explained(points, gram, moment)
    while True:
        trials: list[tuple[float, int, Floats]] = []
        for neuron in range(len(points)):
            for change in (-1.0, 1.0):
                trial = points.copy()
                trial[neuron] += change
                if abs(trial[neuron]) <= max_points:
                    trials.append((_explained(trial, gram, moment), len(trials), trial))
        found = max(trials, default=None, key=lambda each: each[:2])
        if found is None or found[0] <= best * (1 + 1e-12):
            return points
        best, _, points = found
