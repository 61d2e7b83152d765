"""What growth makes small: one small class per loss, each a :class:`bgn.engines.protocol.Loss`; those of classes stand
in :mod:`bgn.grow.class_losses`.

A loss turns the whole-number target and score of a row into a whole-number residual, bounds how fast that falls as the
score rises, and adds itself up exactly, so that every engine agrees to the bit. Growth, history, engines and outputs
know no more of it than the protocol says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bgn.engines.kernels import rows as kernels
from bgn.engines.protocol import Floats, Grid, Integers
from bgn.engines.protocol import Loss as Loss
from bgn.grow.class_losses import Logistic as Logistic
from bgn.grow.class_losses import Softmax as Softmax

_LOW = (1 << kernels.LIMB) - 1


@dataclass(frozen=True)
class Squared:
    """The squared error; the residual is the target less the score."""

    grid: Grid
    name: ClassVar[str] = "squared"
    link: ClassVar[str] = "identity"
    outputs: ClassVar[int] = 1
    quadratic: ClassVar[bool] = True
    curvature: ClassVar[float] = 1.0

    @classmethod
    def over(cls, low: float, high: float, total_weight: int) -> Self:
        """The loss of targets between `low` and `high`, on the finest grid that sums of so much weight allow."""
        return cls(Grid.for_range(low, high, total_weight))

    @property
    def targets(self) -> Grid:
        """Targets are on the scores' grid."""
        return self.grid

    def gap(self, target: Any) -> Any:
        """The targets themselves."""
        return target

    def residual(self, gap: Any, target: Any) -> Any:
        """The gaps themselves."""
        return gap

    def start(self, residual: Any) -> Floats:
        """The mean itself."""
        return np.asarray(residual, np.float64)

    def fill_residual(
        self, gap: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers, limbs: Integers
    ) -> None:
        """Write the residuals of some rows, and add up their losses."""
        out[start:stop] = self.residual(gap[start:stop], target[start:stop])
        self.add_limbs(gap, target, weight, start, stop, limbs)

    def limbs(self, gap: Any, target: Any) -> tuple[Any, Any, Any, Any]:
        """The squares of the gaps, clipped to what can be added up."""
        gap = gap.clip(-self.grid.limit, self.grid.limit)
        high, low = gap >> kernels.LIMB, gap & _LOW
        squared = low * low
        return high * high, high * low, squared >> kernels.LIMB, squared & _LOW

    def add_limbs(
        self, gap: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers
    ) -> None:
        """Add the limbs of some rows, times their weights, to `out`."""
        kernels.squares(gap, weight, self.grid.limit, start, stop, out)

    def total(self, limbs: Integers) -> int:
        """The sum of squares, in squared steps."""
        high, middle, low, last = (int(limb) for limb in limbs)
        return (high << 2 * kernels.LIMB) + (middle << kernels.LIMB + 1) + (low << kernels.LIMB) + last

    def powers(self, gap: Any, target: Any, unit: float) -> Any:
        """Fourth powers."""
        share = abs(gap * unit).clip(0.0, 1.0)
        share = share * share
        return (share * share * 1073741824.0).round()

    def add_powers(
        self, gap: Integers, target: Integers, weight: Integers, unit: float, start: int, stop: int, out: Integers
    ) -> None:
        """Add the fourth powers of some rows, times their weights, to `out`."""
        kernels.fourth_powers(gap, weight, unit, start, stop, out)

    def deviation(self, powers: int, largest: int, total: int, weight: int) -> float:
        """Standard deviation of the squares, in squared steps."""
        mean = total / weight
        return math.sqrt(max(powers / 2**30 / weight * float(largest**4) - mean * mean, 0.0))

    def explained(self, weight: Any, target_sum: Any, unit: float) -> Any:
        """The squared sum of each group by its weight."""
        return (target_sum * target_sum / weight * unit).round()

    def mean(self, total: int, weight: int) -> float:
        """The mean squared error in the target's units."""
        mantissa, exponent = math.frexp(total / weight)
        try:
            return math.ldexp(mantissa, exponent - 2 * self.grid.exponent)
        except OverflowError:
            return math.inf

    def in_units(self, value: float) -> float:
        """Squared steps in the target's units."""
        return math.ldexp(value, -2 * self.grid.exponent)

    def spread(self, mean: float) -> float:
        """The standard deviation of the targets."""
        return math.sqrt(mean)


@dataclass(frozen=True)
class BoundedSquares(Squared):
    """The squared error of predictions, scores held to bounds: what rows apart are judged by.

    `low` and `high` are whole steps. Beyond them the loss no longer depends on the score, and the residual is zero.
    """

    low: int
    high: int
    quadratic: ClassVar[bool] = False

    @classmethod
    def within(cls, grid: Grid, bounds: tuple[float, float]) -> Self:
        """The loss of predictions between bounds, the nearest whole steps."""
        with np.errstate(over="ignore"):  # what is open is clipped
            low, high = grid.steps(np.array(bounds)).tolist()
        return cls(grid, low, high)

    def _held(self, gap: Any, target: Any) -> Any:
        """The targets less the predictions."""
        return gap.clip(target - self.high, target - self.low)

    def residual(self, gap: Any, target: Any) -> Any:
        """The gaps, zero where the score lies beyond the bounds."""
        return gap * (self._held(gap, target) == gap)

    def limbs(self, gap: Any, target: Any) -> tuple[Any, Any, Any, Any]:
        """The squares of the errors."""
        return super().limbs(self._held(gap, target), target)

    def add_limbs(
        self, gap: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers
    ) -> None:
        """Add the limbs of some rows, times their weights, to `out`."""
        held, weight = self._held(gap[start:stop], target[start:stop]), weight[start:stop]
        super().add_limbs(held, held, weight, 0, stop - start, out)

    def powers(self, gap: Any, target: Any, unit: float) -> Any:
        """Fourth powers of the errors."""
        return super().powers(self._held(gap, target), target, unit)

    def add_powers(
        self, gap: Integers, target: Integers, weight: Integers, unit: float, start: int, stop: int, out: Integers
    ) -> None:
        """Add the fourth powers of some rows' errors, times their weights, to `out`."""
        held, weight = self._held(gap[start:stop], target[start:stop]), weight[start:stop]
        super().add_powers(held, held, weight, unit, 0, stop - start, out)


def judging(loss: Loss, bounds: tuple[float, float] | None) -> Loss:
    """What rows apart are judged by, where rows learn by this loss: predictions are held to bounds, if there are."""
    return loss if bounds is None else BoundedSquares.within(loss.grid, bounds)


LOSSES: dict[str, type[Any]] = {loss.name: loss for loss in (Squared, Logistic, Softmax)}


def loss_of(classes: Sequence[Any] | None) -> Callable[[float, float, int], Loss]:
    """What makes the loss, from the reach of the targets and the weight of the rows: of numbers, or of classes."""
    if classes is None:
        return LOSSES["squared"].over
    kind = LOSSES["logistic" if len(classes) == 2 else "softmax"]
    return lambda low, high, total_weight: kind.over(0.0, len(classes) - 1.0, total_weight)
