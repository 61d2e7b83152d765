"""Numbers a person can remember: round thresholds for free, then weights at a stated price.

A threshold may slide anywhere between the projections of the rows on its two sides without changing one answer on
them, so the roundest number there costs nothing. So does a rounder direction that still separates the same rows.
Output weights are rounded next, and the loss is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.scorecard import Scorecard, fit_points
from bgn.explain.subject import rows_of
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.neuron import Neuron, Projection
from bgn.model.step import Floats
from bgn.model.terms import network_of

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
    model: Any, X: Any, y: ArrayLike, *, digits: int | None = None, max_loss: float = 0.01, scorecard: bool = False,
    max_points: int = 10,
) -> Simplified:  # fmt: skip
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
    for name, least in (("digits", digits), ("max_points", max_points)):
        if least is not None and least < 1:
            raise ValueError(f"{name} must be at least 1; got {least}.")
    free, before, card = _free(network, rows), _mse(network, rows, target), None
    if scorecard:
        rounded, card = fit_points(free, rows, target, max_points)
    else:
        rounded = _round_outputs(free, rows, target, digits, (1.0 + max_loss) * before)
    return Simplified(rounded, free, before, _mse(rounded, rows, target), card)


def _mse(network: Network, rows: Floats, target: Floats) -> float:
    return float(np.mean((network.predict(rows) - target) ** 2))


def _free(network: Network, rows: Floats) -> Network:
    """Return the network with the roundest directions and thresholds that give the same answers on the rows."""
    layers, inputs = [], rows
    for layer in network.layers:
        answers = layer.fire(inputs)
        pairs = zip(layer.neurons, answers.T > 0, strict=True)
        layers.append(Layer.of([_round_neuron(neuron, inputs, fires) for neuron, fires in pairs], layer.n_inputs))
        inputs = answers
    return network.changed(layers=layers)


def _round_neuron(neuron: Neuron, inputs: Floats, fires: Any) -> Neuron:
    """Return the roundest coefficients, then threshold, with which the same rows fire."""
    projection, threshold = neuron.projection, neuron.threshold
    if len(projection.columns) > 1:
        for digits in range(1, _MOST_DIGITS + 1):
            numbers = tuple(float(f"{each:.{digits - 1}e}") for each in projection.numbers)
            rounder = Projection(projection.columns, numbers)
            low, high = _gap(rounder, inputs, fires)
            if low < high and (low < threshold <= high or np.isfinite(high - low)):
                middle = threshold if low < threshold <= high else (low + high) / 2
                found = roundest(*_close(low, high, middle), near=middle)
                if found is not None:
                    return replace(neuron, projection=rounder, threshold=found)
    low, high = _gap(projection, inputs, fires)
    found = roundest(*_close(low, high, threshold), near=threshold)
    return neuron if found is None else replace(neuron, threshold=found)


def _gap(projection: Projection, inputs: Floats, fires: Any) -> tuple[float, float]:
    """Return the largest projection of the rows that must not fire and the smallest of those that must."""
    projections = projection.values(inputs)
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


def _round_outputs(network: Network, rows: Floats, target: Floats, digits: int | None, most: float) -> Network:
    """Return the network with rounder output weights: to `digits`, or to the fewest whose error is at most `most`."""
    if digits is not None:
        return _round_to(network, rows, target, digits)
    tried = (_round_to(network, rows, target, few) for few in range(1, 17))
    return next((rounded for rounded in tried if _mse(rounded, rows, target) <= most), network)


def _round_to(network: Network, rows: Floats, target: Floats, digits: int) -> Network:
    """Return the network with output steps (twice the weights) rounded to one decimal place, and its base refitted."""
    steps = 2.0 * network.output_weights
    largest = float(np.abs(steps).max(initial=0.0))
    if largest == 0:
        return network
    place = digits - 1 - floor(log10(largest))
    weights = np.array([round(float(each), place) for each in steps]) / 2.0
    keep = np.flatnonzero(weights)
    layers = [*network.layers[:-1], network.layers[-1].only(keep)]
    weights = weights[keep]
    centre = network.changed(layers=layers, output_weights=weights, base=0.0)
    lowest = float(np.mean(target - centre.predict(rows)) - np.abs(weights).sum())
    base = round(lowest, place) + float(np.abs(weights).sum())
    return centre.changed(base=base)
