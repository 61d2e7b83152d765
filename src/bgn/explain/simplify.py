"""Numbers a person can remember: round thresholds for free, then weights at a stated price.

A threshold may slide anywhere between the projections of the rows on its two sides without changing one answer on
them, so the roundest number there costs nothing. So does a rounder direction that still separates the same rows.
Output weights are rounded next, and the loss is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.scorecard import Scorecard, fit_points
from bgn.explain.subject import rows_of
from bgn.network import Floats, Layer, Network
from bgn.terms import network_of

# Most significant digits to which directions are rounded; beyond, they stay as they are.
_MOST_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Simplified:
    """A network with rounder numbers, and what that cost on the rows it was rounded for.

    Attributes
    ----------
    network : Network
        Thresholds, directions and output weights rounded; neurons whose weight became 0 are gone.
    free : Network
        Thresholds and directions rounded only: not one prediction on the rows has changed.
    mse_before, mse_after : float
        Mean squared error of the model and of `network` on the rows.
    scorecard : Scorecard or None
        The points of `network`, when asked for.
    """

    network: Network
    free: Network
    mse_before: float
    mse_after: float
    scorecard: Scorecard | None

    @property
    def loss(self) -> float:
        """How much the mean squared error rose, relative to what it was."""
        return self.mse_after / self.mse_before - 1.0 if self.mse_before > 0 else float(self.mse_after > 0)

    def __repr__(self) -> str:
        return f"Simplified({self.network!r}, MSE {self.mse_before:.6g} -> {self.mse_after:.6g})"


def simplify(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    digits: int | None = None,
    max_loss: float = 0.01,
    scorecard: bool = False,
    max_points: int = 10,
) -> Simplified:
    """Round a network's numbers: thresholds and directions for free, then output weights.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, shape (rows, features)
        The rows whose answers must not change, usually the training rows.
    y : array_like, shape (rows,)
        Their target.
    digits : int, optional
        Significant digits of the largest output weight; the others are rounded to the same decimal place. By default
        the fewest whose loss is at most `max_loss`.
    max_loss : float, default 0.01
        Most relative rise of the mean squared error that choosing `digits` may cost.
    scorecard : bool, default False
        Give whole points to the neurons instead: ``intercept + unit * points``.
    max_points : int, default 10
        Most points of a neuron.

    Returns
    -------
    Simplified

    Examples
    --------
    >>> from bgn import Layer, Network, simplify
    >>> network = Network([Layer([[1.0, 0.0], [0.5931, 1.0]], [-28.2174, -63.557])], [0.30412, 0.505], 1.8)
    >>> rows = [[20.0, 40.0], [31.0, 50.0], [40.0, 30.0], [25.0, 60.0]]
    >>> simple = simplify(network, rows, network.predict(rows), digits=2)
    >>> simple.network.layers[0].thresholds, simple.network.output_weights
    (array([30., 60.]), array([0.3, 0.5]))
    >>> bool((simple.free.predict(rows) == network.predict(rows)).all())
    True
    """
    network = network_of(model)
    rows = rows_of(network, X, "X")
    target = np.asarray(y, dtype=np.float64)
    if target.shape != (len(rows),) or not np.isfinite(target).all():
        raise ValueError(f"y must have one finite number a row ({len(rows)}); got shape {target.shape}.")
    if digits is not None and digits < 1:
        raise ValueError(f"digits must be at least 1; got {digits}.")
    if max_points < 1:
        raise ValueError(f"max_points must be at least 1; got {max_points}.")
    free = _free(network, rows)
    before = float(np.mean((network.predict(rows) - target) ** 2))
    card = None
    if scorecard:
        rounded, card = fit_points(free, rows, target, max_points)
    elif digits is not None:
        rounded = _round_output(free, rows, target, digits)
    else:
        for digits in range(1, 17):
            rounded = _round_output(free, rows, target, digits)
            if np.mean((rounded.predict(rows) - target) ** 2) <= (1.0 + max_loss) * before:
                break
        else:
            rounded = free
    after = float(np.mean((rounded.predict(rows) - target) ** 2))
    return Simplified(rounded, free, before, after, card)


def _free(network: Network, rows: Floats) -> Network:
    """Return the network with the roundest directions and thresholds that give the same answers on the rows."""
    layers, inputs = [], rows
    for layer in network.layers:
        answers = layer.fire(inputs)
        neurons = [
            _round_neuron(weights, threshold, inputs, fires)
            for weights, threshold, fires in zip(layer.weights, layer.thresholds, answers.T > 0, strict=True)
        ]
        weights = np.array([weights for weights, _ in neurons]).reshape(layer.weights.shape)
        layers.append(Layer(weights, [-threshold for _, threshold in neurons]))
        inputs = answers
    return Network(layers, network.output_weights, network.base, network.feature_names, network.target_name)


def _round_neuron(weights: Floats, threshold: float, inputs: Floats, fires: Any) -> tuple[Floats, float]:
    """Return the roundest weights, then threshold, with which the same rows fire."""
    if np.count_nonzero(weights) > 1:
        for digits in range(1, _MOST_DIGITS + 1):
            rounder = np.array([float(f"{weight:.{digits - 1}e}") for weight in weights])
            low, high = _gap(rounder, inputs, fires)
            if low < high and (low < threshold <= high or np.isfinite(high - low)):
                middle = threshold if low < threshold <= high else (low + high) / 2
                found = roundest(*_close(low, high, middle), near=middle)
                if found is not None:
                    return rounder, found
    low, high = _gap(weights, inputs, fires)
    found = roundest(*_close(low, high, threshold), near=threshold)
    return weights, threshold if found is None else found


def _gap(weights: Floats, inputs: Floats, fires: Any) -> tuple[float, float]:
    """Return the largest projection of the rows that must not fire and the smallest of those that must."""
    projections = Layer(weights[np.newaxis], [0.0]).project(inputs)[:, 0]
    return float(projections[~fires].max(initial=-np.inf)), float(projections[fires].min(initial=np.inf))


def _close(low: float, high: float, near: float) -> tuple[float, float]:
    """Bound a gap that is open on one side as far from `near` as its other end is."""
    if np.isinf(low) and np.isinf(high):
        return near, near
    return (2 * near - high if np.isinf(low) else low), (2 * near - low if np.isinf(high) else high)


def roundest(low: float, high: float, near: float) -> float | None:
    """Return the number above `low` and not above `high` with the fewest decimals; of several the nearest to `near`.

    Examples
    --------
    >>> from bgn.explain.simplify import roundest
    >>> roundest(617.3, 633.9, near=622.0), roundest(0.0617, 0.0618, near=0.06175)
    (620.0, 0.0618)
    >>> roundest(-1.5, 2.5, near=2.2)
    0.0
    """
    if not low < high:
        return None
    if low < 0 <= high:
        return 0.0
    bottom, top, middle = (Fraction(repr(float(end))) for end in (low, high, near))
    for exponent in range(floor(log10(max(abs(low), abs(high)))) + 1, -325, -1):
        unit = Fraction(10) ** exponent
        first, last = floor(bottom / unit) + 1, floor(top / unit)
        if first <= last:
            number = float(min(max(round(middle / unit), first), last) * unit)
            if low < number <= high:
                return number
    return None


def _round_output(network: Network, rows: Floats, target: Floats, digits: int) -> Network:
    """Return the network with output steps (twice the weights) rounded to one decimal place, and its base refitted."""
    steps = 2.0 * network.output_weights
    largest = float(np.abs(steps).max(initial=0.0))
    if largest == 0:
        return network
    place = digits - 1 - floor(log10(largest))
    weights = np.array([round(float(each), place) for each in steps]) / 2.0
    keep = np.flatnonzero(weights)
    last = network.layers[-1]
    layers = [*network.layers[:-1], Layer(last.weights[keep], last.bias[keep])]
    weights = weights[keep]
    centre = Network(layers, weights, 0.0)
    lowest = float(np.mean(target - centre.predict(rows)) - np.abs(weights).sum())
    base = round(lowest, place) + float(np.abs(weights).sum())
    return Network(layers, weights, base, network.feature_names, network.target_name)
