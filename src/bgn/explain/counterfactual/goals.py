"""What a counterfactual is to reach: a number within limits, a probability, or a class.

A goal decides on scores as the network computes them. To the solver it tells limits, linear in the scores, that hold
wherever the goal is reached; by how much the farthest is missed guides the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from bgn.explain.classes import class_labels, class_number, probabilities_of
from bgn.model.decimals import whole_numbers
from bgn.model.network import Network
from bgn.model.step import Bools, Floats
from bgn.model.told import is_turned

_TINY = float(np.finfo(np.float64).smallest_subnormal)


class Limit(NamedTuple):
    """``scores @ factors >= least``."""

    factors: Floats
    least: float


class Goal(Protocol):
    """What is wanted of the scores of rows, one or several each."""

    @property
    def number(self) -> int | None:
        """The class whose probability is told; None for a number."""

    def holds(self, network: Network, scores: Floats) -> Bools:
        """Whether scores reach the goal."""

    def limits(self, network: Network) -> list[Limit]:
        """Return limits that hold wherever the goal is reached."""


def misses(goal: Goal, network: Network, scores: Floats) -> Floats:
    """Return by how much the scores of rows miss a goal's farthest limit; 0 where the goal holds."""
    columns, found = scores.reshape(len(scores), np.size(network.base)), np.full(len(scores), _TINY)
    for factors, least in goal.limits(network):
        found = np.maximum(found, least - columns @ factors)
    return np.where(goal.holds(network, scores), 0.0, found)


@dataclass(frozen=True)
class Between:
    """A number from `least` to `most`; a bound of the network is reached by all scores beyond it."""

    least: float
    most: float
    number: int | None = None

    def holds(self, network: Network, scores: Floats) -> Bools:
        found = network.linked(scores)
        return np.asarray((found >= self.least) & (found <= self.most))

    def limits(self, network: Network) -> list[Limit]:
        low, high = network.bounds or (-np.inf, np.inf)
        least, most = self.least if self.least > low else -np.inf, self.most if self.most < high else np.inf
        both = Limit(np.array([1.0]), least), Limit(np.array([-1.0]), -most)
        return [limit for limit in both if np.isfinite(limit.least)]


@dataclass(frozen=True)
class Chance:
    """A probability of the class `number` from `least` to `most`.

    A class of probability q has odds of at least q / (1 - q) against each other class of several, and at most
    (n - 1) q / (1 - q) against the likeliest of n - 1 others, `rival`. That is all that the solver is told of more than
    two: what does not reach q after all is ruled out region by region.
    """

    least: float
    most: float
    number: int | None
    rival: int | None = None

    def holds(self, network: Network, scores: Floats) -> Bools:
        found = probabilities_of(network, scores)[:, self.number]
        return np.asarray((found >= self.least) & (found <= self.most))

    def limits(self, network: Network) -> list[Limit]:
        with np.errstate(divide="ignore"):
            low, high = (float(np.log(each) - np.log1p(-each)) for each in (self.least, self.most))
        if network.link == "softmax":
            rivals = _against(network, self.number or 0)
            above = [Limit(factors, low) for _, factors in rivals if np.isfinite(low)]
            below = [Limit(-factors, -high - np.log(len(rivals))) for rival, factors in rivals if rival == self.rival]
            return above + below
        sign = 1.0 if self.number == 1 else -1.0
        both = Limit(np.array([sign]), low), Limit(np.array([-sign]), -high)
        return [limit for limit in both if np.isfinite(limit.least)]


@dataclass(frozen=True)
class Predicted:
    """The class `number`: no other has a higher score, and none before it the same."""

    number: int | None

    def holds(self, network: Network, scores: Floats) -> Bools:
        return np.asarray(predicted(scores) == self.number)

    def limits(self, network: Network) -> list[Limit]:
        # Sums of short decimals differ by a unit of the last place or not at all, but for straight lines.
        short = network.slopes is None
        whole = whole_numbers([*np.ravel(network.base), *np.ravel(network.output_weights)]) if short else None
        least = _TINY if whole is None else 1.0 / whole[1]
        if network.link == "softmax":
            own = self.number or 0
            return [Limit(factors, least if rival < own else 0.0) for rival, factors in _against(network, own)]
        return [Limit(np.array([1.0]), least) if self.number == 1 else Limit(np.array([-1.0]), 0.0)]


def predicted(scores: Floats) -> Any:
    """Return the number of the class that is predicted from scores: of equal ones the first."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def _against(network: Network, own: int) -> list[tuple[int, Floats]]:
    """Return the other classes, and the factors of the score of class `own` minus each of theirs."""
    unit = np.eye(np.size(network.base))
    return [(rival, unit[own] - unit[rival]) for rival in range(len(unit)) if rival != own]


# -- reading -----------------------------------------------------------------------------------------------


def read_goals(
    network: Network, at_least: float | None, at_most: float | None, to: Any, probability: Any
) -> Sequence[Goal]:
    """Return what is wanted, one goal or several of which any will do, or say what is wrong with it."""
    if network.link == "identity":
        if to is not None or probability is not None:
            raise ValueError(
                "to and probability are for classes; the model predicts a number. Use at_least or at_most."
            )
        return [_between(at_least, at_most, network.bounds or (-np.inf, np.inf))]
    if at_least is not None or at_most is not None:
        raise ValueError("at_least and at_most are for numbers; the model tells classes apart. Use to or probability.")
    labels = class_labels(network)
    if to is None and (probability is None or len(labels) > 2):
        known = ", ".join(map(repr, labels[:10]))
        raise ValueError(f"to must be given: the class that is wanted, one of {known}.")
    number = int(not is_turned(network)) if to is None else class_number(network, to, "to")
    return [Predicted(number)] if probability is None else _chances(number, probability, len(labels))


def _between(at_least: float | None, at_most: float | None, bounds: tuple[float, float]) -> Between:
    """Return the least and the greatest prediction that is wanted."""
    if at_least is None and at_most is None:
        raise ValueError("at_least or at_most must be given: the prediction that is wanted.")
    for argument, wanted in (("at_least", at_least), ("at_most", at_most)):
        if wanted is not None and not np.isfinite(wanted):
            raise ValueError(f"{argument} must be a finite number; got {wanted}. Use None for no limit.")
    least = -np.inf if at_least is None else float(at_least)
    most = np.inf if at_most is None else float(at_most)
    if least > most:
        raise ValueError(f"at_least must not be above at_most; got {at_least} and {at_most}.")
    if least > bounds[1]:
        raise ValueError(f"at_least must not be above {bounds[1]:g}, which no prediction goes beyond; got {at_least}.")
    if most < bounds[0]:
        raise ValueError(f"at_most must not be below {bounds[0]:g}, which no prediction goes beyond; got {at_most}.")
    return Between(least, most)


def _chances(number: int, probability: Any, n_classes: int) -> Sequence[Chance]:
    """Return the least and the greatest probability that is wanted, for every other class that may be the likeliest."""
    try:
        least, most = map(float, probability)
    except (TypeError, ValueError):
        raise ValueError(f"probability must be a pair such as (0.5, 1); got {probability!r}.") from None
    if not 0.0 <= least <= most <= 1.0:
        raise ValueError(f"probability must be a pair from 0 to 1, the lower one first; got {probability!r}.")
    if n_classes > 2 and most < 1.0:
        return [Chance(least, most, number, rival) for rival in range(n_classes) if rival != number]
    return [Chance(least, most, number)]
