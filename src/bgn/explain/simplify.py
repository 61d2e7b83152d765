"""Numbers a person can remember: short thresholds for free, then output weights at a stated price.

A threshold may slide anywhere between the projections of the rows on its two sides without changing one answer on
them, so the shortest number there costs nothing. So does a rounder direction that still separates the same rows.
Output weights are rounded next, or become whole points, and the loss is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import localcontext
from math import floor, log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.points import asking_weights, fit_points, with_amounts
from bgn.inputs.tables import LARGEST_SQUARED, rows_of
from bgn.model.decimals import EXACT, rounded, shortest, written
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.neuron import Neuron, Projection
from bgn.model.step import Floats
from bgn.model.terms import network_of
from bgn.pipelines import through_pipelines

# Most significant digits to which directions are rounded; beyond, they stay as they are.
_MOST_DIGITS = 6
_MOST_POINTS = 1000
_ROUNDING = 1e-12  # relative difference below which two sums of answers are the same


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
    """

    network: Network
    free: Network
    mse_before: float
    mse_after: float

    @property
    def loss(self) -> float:
        """How much the mean squared error rose, relative to what it was."""
        return self.mse_after / self.mse_before - 1.0 if self.mse_before > 0 else float(self.mse_after > 0)

    def __repr__(self) -> str:
        return f"Simplified({self.network!r}, MSE {self.mse_before:.6g} -> {self.mse_after:.6g})"


@through_pipelines("X", targets=("y",))
def simplify(
    model: Any, X: Any, y: ArrayLike, *, digits: int | None = None, max_loss: float = 0.01, points: int | None = None
) -> Simplified:
    """Round a network's numbers: thresholds and directions for free, then output weights, perhaps to whole points.

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
    points : int, optional
        Most points of a question. With it, every question is worth a whole number of points, and a prediction is
        ``start + unit * total`` of the points of the questions answered yes, with a short start and a short unit:
        what :func:`bgn.scorecard` prints. Whatever the loss, which `Simplified.loss` tells.

    Returns
    -------
    Simplified

    Examples
    --------
    >>> from bgn import Layer, Network, scorecard, simplify
    >>> network = Network([Layer([[1.0, 0.0], [0.5931, 1.0]], [-28.2174, -63.557])], [0.30412, 0.505], 1.8)
    >>> rows = [[20.0, 40.0], [31.0, 50.0], [40.0, 30.0], [25.0, 60.0]]
    >>> simple = simplify(network, rows, network.predict(rows), digits=2)
    >>> simple.network.layers[0].thresholds, simple.network.output_weights
    (array([30., 60.]), array([0.3, 0.5]))
    >>> bool((simple.free.predict(rows) == network.predict(rows)).all())
    True
    >>> scorecard(simplify(network, rows, network.predict(rows), points=5).network).points
    (5, 3)
    """
    network = network_of(model)
    rows = rows_of(network, X, "X")
    target = np.asarray(y, dtype=np.float64)
    if target.shape != (len(rows),) or not np.isfinite(target).all():
        raise ValueError(f"y must have one finite number per row ({len(rows)}); got shape {target.shape}.")
    if np.abs(target).max() > LARGEST_SQUARED:
        raise ValueError(f"y must stay within {LARGEST_SQUARED:g}; got {np.abs(target).max():g}. Rescale it.")
    if digits is not None and points is not None:
        raise ValueError(f"digits and points exclude each other; got {digits} and {points}. Leave one out.")
    _check_range("digits", digits, 17)
    _check_range("points", points, _MOST_POINTS)
    free, before = _free(network, rows), _mse(network, rows, target)
    if points is not None:
        simple = fit_points(free, rows, target, points)
    else:
        simple = _round_outputs(free, rows, target, digits, (1.0 + max_loss) * before)
    return Simplified(simple, free, before, _mse(simple, rows, target))


def _check_range(name: str, value: Any, most: int) -> None:
    """Refuse what is neither None nor a whole number from 1 to `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is not None and not (whole and 1 <= value <= most):
        raise ValueError(f"{name} must be a whole number from 1 to {most}; got {value!r}.")


def _mse(network: Network, rows: Floats, target: Floats) -> float:
    return float(np.mean((network.predict(rows) - target) ** 2))


def _free(network: Network, rows: Floats) -> Network:
    """Return the network with the roundest directions and thresholds that give the same answers on the rows."""
    layers: list[Layer] = []
    inputs = rows
    for layer in network.layers:
        answers, choose = layer.fire(inputs), _between_sums if layers else _between_rows
        pairs = zip(layer.neurons, answers.T > 0, strict=True)
        neurons = [_round_neuron(neuron, inputs, fires, choose) for neuron, fires in pairs]
        layers.append(Layer.of(neurons, layer.n_inputs))
        inputs = answers
    return network.changed(layers=layers)


def _round_neuron(neuron: Neuron, inputs: Floats, fires: Any, choose: Callable[..., float | None]) -> Neuron:
    """Return the roundest coefficients, then threshold, with which the same rows fire."""
    columns, factors = neuron.projection.columns, neuron.projection.factors
    if not columns:
        return neuron
    for divisor, numbers in _rounder(factors):
        projection, near = Projection(columns, numbers), neuron.threshold / divisor
        projections = projection.values(inputs)
        low, high = float(projections[~fires].max(initial=-np.inf)), float(projections[fires].min(initial=np.inf))
        threshold = choose(low, high, near, numbers) if low < high else None
        if threshold is not None:
            return replace(neuron, projection=projection, threshold=threshold)
    return neuron


def _between_rows(low: float, high: float, near: float, numbers: tuple[float, ...]) -> float:
    """Return the shortest number between two projections; an infinite one is taken as far from `near` as the other."""
    if low < near <= high:
        low, high = (2 * near - high if np.isinf(low) else low), (2 * near - low if np.isinf(high) else high)
    return shortest(low, high) if low < high else near


def _between_sums(low: float, high: float, near: float, numbers: tuple[float, ...]) -> float | None:
    """Return a threshold of answers from below, +-1, that is short when they are written as 0 and 1.

    It stays away from both sums, so that it parts them however they are rounded; None where they differ by rounding.
    """
    if np.isinf(low):
        low = min(2 * near - high, high - 1.0)
    elif np.isinf(high):
        high = max(2 * near - low, low + 1.0)
    away = (high - low) / 4
    if away < _ROUNDING * sum(map(abs, numbers)):
        return None
    with localcontext(EXACT):
        ones = sum(map(written, numbers), written(0.0))
        short = shortest((low + away + float(ones)) / 2, (high - away + float(ones)) / 2)
        return float(2 * written(short) - ones)


def _rounder(factors: tuple[float, ...]) -> Iterator[tuple[float, tuple[float, ...]]]:
    """Yield coefficients, the roundest first and the leading one +-1, and what they were divided by before rounding."""
    leading = abs(next((each for each in factors if abs(each) == 1.0), max(factors, key=abs)))
    for digits in range(1, _MOST_DIGITS + 1):
        yield leading, tuple(float(f"{each / leading:.{digits - 1}e}") for each in factors)
    yield leading, tuple(each / leading for each in factors)
    yield 1.0, factors


def _round_outputs(network: Network, rows: Floats, target: Floats, digits: int | None, most: float) -> Network:
    """Return the network with rounder output weights: to `digits`, or to the fewest whose error is at most `most`."""
    if digits is not None:
        return _round_to(network, rows, target, digits)
    tried = (_round_to(network, rows, target, few) for few in range(1, 17))
    return next((simple for simple in tried if _mse(simple, rows, target) <= most), network)


def _round_to(network: Network, rows: Floats, target: Floats, digits: int) -> Network:
    """Return the network with amounts (twice the weights) rounded to one decimal place, and its start refitted."""
    steps = 2.0 * asking_weights(network)
    largest = float(np.abs(steps).max(initial=0.0))
    if largest == 0:
        return network
    power = floor(log10(largest)) - digits + 1
    amounts = [written(rounded(step, power)) for step in steps.tolist()]
    from_zero = with_amounts(network, amounts, written(0.0))
    start = float(np.mean(target - from_zero.predict(rows)))
    return with_amounts(network, amounts, written(rounded(start, power)))
