"""What growth makes small: one small class per loss, each a :class:`bgn.engines.protocol.Loss`, which says what each
method does.

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

from bgn.engines.kernels import losses as fixed_point
from bgn.engines.kernels import rows as kernels
from bgn.engines.kernels.losses import FINE
from bgn.engines.kernels.rows import LIMB
from bgn.engines.protocol import Floats, Grid, Integers
from bgn.engines.protocol import Loss as Loss

# -- Losses of classes: twice the log loss, in the squared steps that outputs are fitted in.

_SUM_BITS = 61
_MOST_BITS = 34
_LARGEST = 11  # scores are clipped at two to this power
_LOW_BITS = (1 << LIMB) - 1


@dataclass(frozen=True)
class _Classes:
    """What both have in common; targets are the numbers of the classes."""

    grid: Grid
    outputs: int
    quadratic: ClassVar[bool] = False
    _table: ClassVar[Callable[[], Integers]]
    _kernels: ClassVar[tuple[Any, Any]]  # for residuals, and for sums of losses and of their powers

    @classmethod
    def over(cls, low: float, high: float, total_weight: int) -> Self:
        """The loss of classes 0 to `high`, on the finest grid that sums of so much weight allow."""
        bits = min(_MOST_BITS, _SUM_BITS - max(total_weight, 1).bit_length())
        if bits < 20:
            raise ValueError(f"the row weights add up to {total_weight}, too many to sum exactly; scale them down.")
        return cls(Grid(0.0, bits, bits), 1 if high < 2 else int(high) + 1)

    @property
    def targets(self) -> Grid:
        return Grid(0.0, 0, self.outputs.bit_length())

    @property
    def _shift(self) -> int:
        """From steps to fine ones."""
        return FINE - self.grid.exponent

    @property
    def _limit(self) -> int:
        return 1 << (self.grid.exponent + _LARGEST)

    def _fine(self, diff: Any) -> Any:
        """Scores, clipped, in fine steps."""
        return (-diff).clip(-self._limit, self._limit) << self._shift

    def _losses(self, diff: Any, target: Any) -> Any:
        raise NotImplementedError

    def fill_residual(
        self, diff: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers, limbs: Integers
    ) -> None:
        about = type(self)._table(), self._limit, self._shift
        self._kernels[0](diff, target, weight, about, start, stop, out, limbs)

    def limbs(self, diff: Any, target: Any) -> tuple[Any, Any, Any, Any]:
        loss = self._losses(diff, target)
        return loss >> LIMB, loss & _LOW_BITS, 0 * loss, 0 * loss

    def add_limbs(
        self, diff: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers
    ) -> None:
        about = type(self)._table(), self._limit, self._shift, 0.0
        self._kernels[1](diff, target, weight, about, start, stop, out)

    def total(self, limbs: Integers) -> int:
        total = (int(limbs[0]) << LIMB) + int(limbs[1])
        return total << (2 * self.grid.exponent + 1 - FINE)

    def _most(self, largest: float) -> float:
        """A log loss, fine, that no difference up to `largest` exceeds."""
        return (min(largest, float(self._limit)) * 2.0 ** (1 - self.grid.exponent) + self.outputs) * 2.0**FINE

    def powers(self, diff: Any, target: Any, unit: float) -> Any:
        diff = diff if isinstance(diff, np.ndarray) else diff.long()
        share = (self._floats(self._losses(diff, target)) / self._most(1.0 / unit)).clip(0.0, 1.0)
        return (share * share * 1073741824.0).round()

    def add_powers(
        self, diff: Integers, target: Integers, weight: Integers, unit: float, start: int, stop: int, out: Integers
    ) -> None:
        about = type(self)._table(), self._limit, self._shift, self._most(1.0 / unit)
        self._kernels[1](diff, target, weight, about, start, stop, out)

    @staticmethod
    def _floats(values: Any) -> Any:
        return values.astype(np.float64) if isinstance(values, np.ndarray) else values.double()

    def deviation(self, powers: int, largest: int, total: int, weight: int) -> float:
        scale = self._most(1.0 / (1.0 / largest)) * 2.0 ** (2 * self.grid.exponent + 1 - FINE)
        mean = total / weight / scale
        return scale * math.sqrt(max(powers / 2**30 / weight - mean * mean, 0.0))

    def mean(self, total: int, weight: int) -> float:
        return self.in_units(total / weight)

    def in_units(self, value: float) -> float:
        return math.ldexp(value, -2 * self.grid.exponent - 1)

    def scale(self, mean: float) -> float:
        return 1.0  # log-odds are of the order of one

    @staticmethod
    def _logarithms(shares: Floats) -> Floats:
        """The logarithms of shares, of which none counts as less than a billionth."""
        return np.asarray(fixed_point.logarithm(np.clip(shares, 1e-9, 1.0)))

    def _explained(self, saved: Any, unit: float) -> Any:
        """What is saved of the log loss, in squared steps times `unit`."""
        return (saved * (math.ldexp(unit, 2 * self.grid.exponent + 1))).round()


@dataclass(frozen=True)
class Logistic(_Classes):
    """Yes or no: the score is the log-odds of class 1."""

    name: ClassVar[str] = "logistic"
    link: ClassVar[str] = "logistic"
    curvature: ClassVar[float] = 0.25
    _table = staticmethod(fixed_point.logistic_table)
    _kernels = (fixed_point.logistic_residuals, fixed_point.logistic_sums)

    def diff(self, target: Any) -> Any:
        return 0 * target

    def start(self, residual: Any) -> Floats:
        beyond = residual / 2.0**self.grid.exponent
        yes, no = self._logarithms(np.array([0.5 + beyond, 0.5 - beyond]))
        return np.asarray((yes - no) * 2.0**self.grid.exponent)

    def _margin(self, diff: Any, target: Any) -> Any:
        return self._fine(diff) * (2 * target - 1)

    def _losses(self, diff: Any, target: Any) -> Any:
        return fixed_point.softplus(self._margin(diff, target))

    def residual(self, diff: Any, target: Any) -> Any:
        """The share of certainty that a row lacks, with the sign of its class."""
        half = (1 << self._shift) >> 1
        lacks = (fixed_point.logistic(self._margin(diff, target)) + half) >> self._shift
        return lacks * (2 * target - 1)

    def explained(self, weight: Any, target_sum: Any, unit: float) -> Any:
        """What the share of class 1 in each group saves beside even odds: the rest is the entropy."""
        no = weight - target_sum
        saved = fixed_point.entropy_part(target_sum, weight) + fixed_point.entropy_part(no, weight)
        return self._explained(saved + weight * _LOG2, unit)


_LOG2 = 0.6931471805599453


@dataclass(frozen=True)
class Softmax(_Classes):
    """Several classes: one score for each, and differences of shape (classes, rows)."""

    name: ClassVar[str] = "softmax"
    link: ClassVar[str] = "softmax"
    curvature: ClassVar[float] = 0.5
    _table = staticmethod(fixed_point.exponential_table)
    _kernels = (fixed_point.softmax_residuals, fixed_point.softmax_sums)

    @classmethod
    def over(cls, low: float, high: float, total_weight: int) -> Self:
        return cls(super().over(low, high, total_weight).grid, int(high) + 1)

    def diff(self, target: Any) -> Any:
        zeros = 0 * target
        if isinstance(zeros, np.ndarray):
            return np.zeros((self.outputs, *zeros.shape), np.int64)
        return zeros.new_zeros((self.outputs, *zeros.shape))

    def start(self, residual: Any) -> Floats:
        logs = self._logarithms(1.0 / self.outputs + np.asarray(residual) / 2.0**self.grid.exponent)
        return np.asarray((logs - logs.sum() / self.outputs) * 2.0**self.grid.exponent)

    def _shares(self, diff: Any) -> tuple[Any, Any, Any]:
        """Scores, fine, the largest of each row, and ``exp(score - largest)``."""
        scores = self._fine(diff)
        largest = scores.max(0) if isinstance(scores, np.ndarray) else scores.max(0).values
        return scores, largest, fixed_point.decay(largest - scores)

    def _losses(self, diff: Any, target: Any) -> Any:
        scores, largest, shares = self._shares(diff)
        pick = np.take_along_axis if isinstance(diff, np.ndarray) else type(scores).gather
        own = pick(scores, *((target[None], 0) if isinstance(diff, np.ndarray) else (0, target[None])))[0]
        log = fixed_point.logarithm(self._floats(shares.sum(0)) / float(1 << FINE))
        fine = (log * float(1 << FINE)).round()
        return largest - own + (fine.astype(np.int64) if isinstance(diff, np.ndarray) else fine.long())

    def residual(self, diff: Any, target: Any) -> Any:
        """Class by class, the row's own class less the probability."""
        _, _, shares = self._shares(diff)
        step = float(1 << self.grid.exponent)
        near = (self._floats(shares) * (step / self._floats(shares.sum(0)))).round()
        near = near.astype(np.int64) if isinstance(diff, np.ndarray) else near.long()
        numbers: Any = np.arange(self.outputs)
        numbers = numbers if isinstance(target, np.ndarray) else target.new_tensor(numbers)
        return (numbers[:, None] == target[None]) * (1 << self.grid.exponent) - near

    def explained(self, weight: Any, target_sum: Any, unit: float) -> Any:
        """What the shares of the classes in each group save beside even odds; `target_sum` has one column per class."""
        saved = sum(fixed_point.entropy_part(target_sum[..., k], weight) for k in range(self.outputs))
        evens = float(fixed_point.logarithm(np.array([float(self.outputs)]))[0])
        return self._explained(saved + weight * evens, unit)


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
        return self.grid

    def diff(self, target: Any) -> Any:
        return target

    def residual(self, diff: Any, target: Any) -> Any:
        return diff

    def start(self, residual: Any) -> Floats:
        return np.asarray(residual, np.float64)

    def fill_residual(
        self, diff: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers, limbs: Integers
    ) -> None:
        out[start:stop] = self.residual(diff[start:stop], target[start:stop])
        self.add_limbs(diff, target, weight, start, stop, limbs)

    def limbs(self, diff: Any, target: Any) -> tuple[Any, Any, Any, Any]:
        """The squares of the differences, clipped to what can be added up."""
        diff = diff.clip(-self.grid.limit, self.grid.limit)
        high, low = diff >> LIMB, diff & _LOW_BITS
        squared = low * low
        return high * high, high * low, squared >> LIMB, squared & _LOW_BITS

    def add_limbs(
        self, diff: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers
    ) -> None:
        kernels.squares(diff, weight, self.grid.limit, start, stop, out)

    def total(self, limbs: Integers) -> int:
        high, middle, low, last = (int(limb) for limb in limbs)
        return (high << 2 * LIMB) + (middle << LIMB + 1) + (low << LIMB) + last

    def powers(self, diff: Any, target: Any, unit: float) -> Any:
        share = abs(diff * unit).clip(0.0, 1.0)
        share = share * share
        return (share * share * 1073741824.0).round()

    def add_powers(
        self, diff: Integers, target: Integers, weight: Integers, unit: float, start: int, stop: int, out: Integers
    ) -> None:
        kernels.fourth_powers(diff, weight, unit, start, stop, out)

    def deviation(self, powers: int, largest: int, total: int, weight: int) -> float:
        mean = total / weight
        return math.sqrt(max(powers / 2**30 / weight * float(largest**4) - mean * mean, 0.0))

    def explained(self, weight: Any, target_sum: Any, unit: float) -> Any:
        return (target_sum * target_sum / weight * unit).round()

    def mean(self, total: int, weight: int) -> float:
        mantissa, exponent = math.frexp(total / weight)
        try:
            return math.ldexp(mantissa, exponent - 2 * self.grid.exponent)
        except OverflowError:
            return math.inf

    def in_units(self, value: float) -> float:
        return math.ldexp(value, -2 * self.grid.exponent)

    def scale(self, mean: float) -> float:
        return math.sqrt(mean)


@dataclass(frozen=True)
class BoundedSquares(Squared):
    """The squared error of predictions, scores held to bounds: what validation rows are evaluated by. `low` and `high`
    are whole steps. Beyond them the loss no longer depends on the score, and the residual is zero."""

    low: int
    high: int
    quadratic: ClassVar[bool] = False

    @classmethod
    def within(cls, grid: Grid, bounds: tuple[float, float]) -> Self:
        """The loss of predictions between bounds, the nearest whole steps."""
        with np.errstate(over="ignore"):  # what is open is clipped
            low, high = grid.steps(np.array(bounds)).tolist()
        return cls(grid, low, high)

    def _held(self, diff: Any, target: Any) -> Any:
        return diff.clip(target - self.high, target - self.low)

    def residual(self, diff: Any, target: Any) -> Any:
        return diff * (self._held(diff, target) == diff)

    def limbs(self, diff: Any, target: Any) -> tuple[Any, Any, Any, Any]:
        return super().limbs(self._held(diff, target), target)

    def add_limbs(
        self, diff: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers
    ) -> None:
        held, weight = self._held(diff[start:stop], target[start:stop]), weight[start:stop]
        super().add_limbs(held, held, weight, 0, stop - start, out)

    def powers(self, diff: Any, target: Any, unit: float) -> Any:
        return super().powers(self._held(diff, target), target, unit)

    def add_powers(
        self, diff: Integers, target: Integers, weight: Integers, unit: float, start: int, stop: int, out: Integers
    ) -> None:
        held, weight = self._held(diff[start:stop], target[start:stop]), weight[start:stop]
        super().add_powers(held, held, weight, unit, 0, stop - start, out)


def held_to(loss: Loss, bounds: tuple[float, float] | None) -> Loss:
    """What validation rows are evaluated by, where rows train by this loss: predictions within bounds, if any."""
    return loss if bounds is None else BoundedSquares.within(loss.grid, bounds)


LOSSES: dict[str, type[Any]] = {loss.name: loss for loss in (Squared, Logistic, Softmax)}


def loss_of(classes: Sequence[Any] | None) -> Callable[[float, float, int], Loss]:
    """What makes the loss, from the reach of the targets and the weight of the rows: of numbers, or of classes."""
    if classes is None:
        return LOSSES["squared"].over
    kind = LOSSES["logistic" if len(classes) == 2 else "softmax"]
    return lambda low, high, total_weight: kind.over(0.0, len(classes) - 1.0, total_weight)
