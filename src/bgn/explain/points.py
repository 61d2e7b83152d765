"""Whole points per question: a prediction that can be added up by hand, and stored as it is added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import floor, gcd, log10
from typing import Any, ClassVar

import numpy as np

from bgn.model.decimals import EXACT, rounded, written
from bgn.model.network import Network
from bgn.model.step import Floats

# Start and unit get the fewest digits, up to three of the unit, that raise the squared error by at most this share.
_SPARE = 0.001
# Figures that differ by no more than this share are the same: processors round exponentials and sums otherwise.
SAME = 1e-8


def first_least(losses: Floats) -> int:
    """Return the place of the first loss that is least, or as good as that."""
    least = losses.min()
    return int(np.argmax(losses <= least + SAME * abs(least)))


def in_order(losses: Floats) -> list[int]:
    """Return the places of losses, the least first; the first of those that are as good as equal."""
    return sorted(range(len(losses)), key=lambda k: float(f"{losses[k]:.7e}"))


def in_lowest_terms(points: Floats) -> Floats:
    """Return whole points divided by what divides them all: five questions of three points each are of one each."""
    return points / max(gcd(*points.astype(np.int64).ravel().tolist()), 1)


def best_points(found: Sequence[tuple[float, Floats]]) -> Floats:
    """Return, in lowest terms, the points of the least loss; of several such the smallest."""
    told = [(loss, in_lowest_terms(points)) for loss, points in found]
    told.sort(key=lambda each: (float(np.abs(each[1]).sum()), each[1].ravel().tolist()))
    return told[first_least(np.array([loss for loss, _ in told]))][1]


def with_amounts(network: Network, amounts: Sequence[Decimal], start: Decimal) -> Network:
    """Return the network whose last neurons add these amounts to `start`, the lowest prediction there is.

    A negative amount is added where its neuron does not fire. Every number that is stored, an amount's half or the
    base, is the float nearest to its decimal. Neurons that add nothing are gone.
    """
    keep = [neuron for neuron, amount in enumerate(amounts) if amount]
    with localcontext(EXACT):
        halves = [amounts[neuron] / 2 for neuron in keep]
        base = start + sum(map(abs, halves))
    layers = [*network.layers[:-1], network.layers[-1].only(np.array(keep, np.int64))]
    return network.changed(layers=layers, output_weights=[float(half) for half in halves], base=float(base))


def asking_weights(network: Network) -> Floats:
    """Return the output weights, 0 for neurons that read nothing: they are part of the base."""
    asks = [bool(neuron.projection.columns) for neuron in network.layers[-1].neurons]
    return np.where(asks, network.output_weights, 0.0)


def rounding_power(steps: Floats, digits: int) -> int | None:
    """Return the power of ten to which amounts are rounded so that the largest has so many digits; None for none."""
    largest = float(np.abs(steps).max(initial=0.0))
    return floor(log10(largest)) - digits + 1 if largest else None


@dataclass(frozen=True, eq=False)
class SquaredError:
    """What is lost on rows whose target is a number.

    `signs` are those that the amounts of the last layer's questions must have, 0 for either: what a model was told that
    its predictions do as columns rise.
    """

    rows: Floats
    target: Floats
    signs: Floats | None = None
    measure: ClassVar[str] = "mean squared error"

    def of(self, network: Network) -> float:
        """Return the mean squared error of a network."""
        return float(np.mean((network.predict(self.rows) - self.target) ** 2))

    def rounded(self, network: Network, digits: int) -> Network:
        """Return the network with amounts (twice the weights) rounded to one decimal place, and its start refitted."""
        steps = 2.0 * asking_weights(network)
        power = rounding_power(steps, digits)
        if power is None:
            return network
        amounts = [written(rounded(step, power)) for step in steps.tolist()]
        from_zero = with_amounts(network, amounts, written(0.0))
        start = float(np.mean(self.target - from_zero.predict(self.rows)))
        return with_amounts(network, amounts, written(rounded(start, power)))

    def points(self, network: Network, most: int) -> Network:
        """Return the network whose amounts are whole multiples, up to `most`, of one unit."""
        return fit_points(network, self.rows, self.target, most, self.signs)


def fit_points(network: Network, rows: Floats, target: Floats, most: int, signs: Floats | None = None) -> Network:
    """Return the network whose amounts are whole multiples, up to `most`, of one unit; start and unit are short.

    Where `signs` says so, of that sign or none.

    Points start from the output weights rounded to every unit that fits, and then change by one at a time while the
    squared error falls.
    """
    fires = (network.hidden(rows) > 0).astype(np.float64)
    centred, residual = fires - fires.mean(axis=0), target - target.mean()
    gram, moment = centred.T @ centred, centred.T @ residual
    weights = asking_weights(network)
    largest = float(np.abs(weights).max(initial=0.0))
    starts = [
        np.clip(np.rint(weights / largest * scale), -most, most)
        for scale in np.linspace(0.6, most, 10 * most)
        if largest > 0
    ]
    starts = starts or [np.zeros(fires.shape[1])]
    first = first_least(np.array([-_explained(each, gram, moment) for each in starts]))
    points = in_lowest_terms(_climb(starts[first], gram, moment, most, signs))
    start, unit = _short_line(np.where(points < 0, 1.0 - fires, fires) @ np.abs(points), target)
    with localcontext(EXACT):
        amounts = [int(each) * unit for each in points]
    return with_amounts(network, amounts, start)


def _short_line(totals: Floats, target: Floats) -> tuple[Decimal, Decimal]:
    """Return the start and the unit, both short, of the line from totals to the target; the unit is not below 0."""
    centred, mean = totals - totals.mean(), float(target.mean())
    variance = float(centred @ centred)
    slope = max(float(centred @ target) / variance, 0.0) if variance > 0 else 0.0
    least = float(np.sum((target - mean - slope * centred) ** 2))
    scale = slope or float(target.std())
    if scale == 0.0:
        return written(mean), Decimal(0)
    first, longest = floor(log10(scale)), floor(log10(abs(mean))) - 13 if mean else -400
    for power in range(max(first, longest), max(first - 2, longest) - 1, -1):
        unit = rounded(slope, power)
        start = rounded(float(np.mean(target - unit * totals)), power)
        if np.sum((target - start - unit * totals) ** 2) <= (1.0 + _SPARE) * least:
            break
    return written(start), written(unit)


def _explained(points: Floats, gram: Floats, moment: Floats) -> float:
    """Return the root of how much of the sum of squares these points explain with their best unit, a positive one."""
    variance = points @ gram @ points
    slope = points @ moment
    return float(slope / np.sqrt(variance)) if variance > 0 and slope > 0 else 0.0


def turned_round(points: Floats, signs: Floats | None) -> Any:
    """Return which of several rows of points have one of the wrong sign."""
    if signs is None:
        return np.zeros(len(points), dtype=bool)
    return (points * signs < 0).any(axis=1)


def _climb(points: Floats, gram: Floats, moment: Floats, most: int, signs: Floats | None) -> Floats:
    """Change points by one, best change first, while they explain more."""
    best = _explained(points, gram, moment)
    while True:
        trials: list[Floats] = []
        for neuron in range(len(points)):
            for change in (-1.0, 1.0):
                trial = points.copy()
                trial[neuron] += change
                if abs(trial[neuron]) <= most and not turned_round(trial[np.newaxis], signs)[0]:
                    trials.append(trial)
        if not trials:
            return points
        explained = np.array([_explained(trial, gram, moment) for trial in trials])
        k = first_least(-explained)
        if explained[k] <= best * (1 + SAME):
            return points
        best, points = float(explained[k]), trials[k]
