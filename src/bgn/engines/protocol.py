"""What growth asks of the rows, wherever they live, and what rows ask of a loss.

An engine holds rows (columns, targets as whole steps of a grid, whole weights) and the answers of the neurons of
the layer being grown, one slot per neuron. Every answer it gives is a sum of integers or an exact choice, so all
engines, on any number of threads or blocks, give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bgn.engines.integers import Grid, Integers
from bgn.engines.ramp import Ramp
from bgn.model.neuron import Neuron, Projection

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


# A contrast is a whole number of this part of one, and of at most half of them.
CONTRAST = 9
_NO_SLOPES = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Output:
    """Output weights and base in whole steps: ``prediction = base + sum(weights * answers) + sum(slopes * ramps)``.

    With several outputs, weights have one column and the base has one entry for each. A residual then is one number per
    row all the same: `contrast` says how many of each output's residual it takes, in units of ``2**-CONTRAST``.
    """

    weights: Integers
    base: Any
    contrast: tuple[int, ...] = ()
    ramps: tuple[Ramp, ...] = ()
    slopes: Integers = field(default_factory=lambda: _NO_SLOPES)

    def same(self, other: Output) -> bool:
        """True when both leave the same residual."""
        return self is other or (self.contrast == other.contrast and self.same_scores(other))

    def same_scores(self, other: Output) -> bool:
        """True when both give every row the same scores."""
        alike = np.array_equal(self.base, other.base) and np.array_equal(self.weights, other.weights)
        return alike and self.same_ramps(other)

    def same_ramps(self, other: Output) -> bool:
        """True when both have the same ramps with the same slopes."""
        return self.ramps == other.ramps and np.array_equal(self.slopes, other.slopes)

    @property
    def rates(self) -> Floats:
        """What one whole number of each ramp adds."""
        return self.slopes.astype(np.float64) * np.array([each.unit for each in self.ramps], np.float64)

    def of(self, k: int) -> Output:
        """One of several outputs."""
        slopes = self.slopes[:, k] if self.ramps else _NO_SLOPES
        return Output(self.weights[:, k], int(self.base[k]), (), self.ramps, slopes)

    def seen(self, contrast: tuple[int, ...]) -> Output:
        """The same, its residual seen by a contrast."""
        return replace(self, contrast=contrast)

    def along(self) -> Floats:
        """The weights, as the residual sees them."""
        if not self.contrast:
            return self.weights.astype(np.float64)
        return np.asarray((self.weights * np.array(self.contrast)).sum(axis=1) * 2.0**-CONTRAST)

    def without(self, slot: int) -> tuple[Output, int]:
        """The output with weight zero in a slot, and the weight that was there."""
        weight = int(self.weights[slot]) if slot < len(self.weights) else 0
        if weight == 0:
            return self, 0
        weights = self.weights.copy()
        weights[slot] = 0
        return replace(self, weights=weights, contrast=()), weight

    def change_to(self, other: Output) -> tuple[int, int, int] | None:
        """The one slot whose weight differs, and what that adds to a residual where it fires and where it does not.

        A neuron that has no weight here counts as one of weight zero. None where more than one weight differs.
        """
        width = len(self.weights)
        if not self.same_ramps(other) or not width <= len(other.weights) <= width + 1:
            return None
        changes = other.weights.copy()
        changes[:width] -= self.weights
        (changed,) = changes.nonzero()
        if len(changed) > 1:
            return None
        slot = int(changed[0]) if len(changed) else 0
        change, silent = int(changes[slot]) if len(changed) else 0, self.base - other.base
        return slot, silent - change, silent + change


NO_OUTPUT = Output(np.zeros(0, np.int64), 0)


@dataclass(frozen=True)
class Question:
    """Where to cut a direction's projection, given the residual that `output` leaves.

    With a `window` (low, high) only cuts between projections in it compete.
    """

    output: Output
    projection: Projection
    window: tuple[float, float] | None = None


@dataclass(frozen=True)
class Cut:
    """The best cut of a projection: what fires and what does not, in weight and residual sum.

    `gain` is the drop of the mean squared residual, in squared steps, that this cut allows. `below` and `above` are the
    projections next to it.
    """

    neuron: Neuron
    gain: float
    fired: int
    fired_sum: int
    silent: int
    silent_sum: int
    below: float
    above: float


@dataclass(frozen=True)
class Columns:
    """Integer view of the columns: ``rint((x - centre) * scale)``, their sums and what follows from them."""

    centre: Floats
    scale: Floats
    sums: Integers
    mean: Floats
    deviation: Floats


@dataclass(frozen=True, eq=False)
class Measures:
    """What a part tells of itself: rows, weight, target sum, limbs of the loss of score zero, reach of the columns,
    and whether they hold whole numbers alone."""

    n_rows: int
    total: int
    target_sum: int
    limbs: Integers
    low: Floats
    high: Floats
    whole: Bools
    probes: NDArray[Any]


class Loss(Protocol):
    """What growth makes small, row by row and in whole numbers; :mod:`bgn.grow.loss` has every one there is.

    Targets and scores are whole steps of grids. Of every row a *gap* is kept: a number that its target alone decides,
    less its score. Residual and loss are functions of gap and target; those below take arrays of NumPy and tensors
    alike and give the same bits for both.
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def link(self) -> str:
        """What a score means: a key of :data:`bgn.model.link.LINKS`."""

    @property
    def outputs(self) -> int:
        """How many scores a row has; where there are several, gaps and residuals have one line per score."""

    @property
    def targets(self) -> Grid:
        """The grid of targets."""

    @property
    def grid(self) -> Grid:
        """The grid of scores, residuals and output weights."""

    @property
    def quadratic(self) -> bool:
        """True where the residual is the gap, so that sums follow from earlier sums and one refit is exact."""

    @property
    def curvature(self) -> float:
        """A residual falls by at most so many steps per step of the score."""

    def gap(self, target: Any) -> Any:
        """The gaps of rows whose score is zero."""

    def residual(self, gap: Any, target: Any) -> Any:
        """Half of how fast the loss of each row falls as its score rises, in steps."""

    def start(self, residual: Any) -> Floats:
        """A score, in steps, to start from, given the mean residual of score zero; for losses that are no squares."""

    def fill_residual(
        self, gap: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers, limbs: Integers
    ) -> None:
        """Write the residuals of some rows to their places in `out`, and add their losses to `limbs`; compiled."""

    def limbs(self, gap: Any, target: Any) -> tuple[Any, Any, Any, Any]:
        """The loss of each row in four limbs, which :meth:`total` puts together once they are added up."""

    def add_limbs(
        self, gap: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers
    ) -> None:
        """Add the limbs of some rows, times their weights, to `out`; compiled."""

    def total(self, limbs: Integers) -> int:
        """The sum of the losses."""

    def powers(self, gap: Any, target: Any, unit: float) -> Any:
        """The squared loss of each row as a whole number of 2^-30, where gaps are multiplied by `unit`."""

    def add_powers(
        self, gap: Integers, target: Integers, weight: Integers, unit: float, start: int, stop: int, out: Integers
    ) -> None:
        """Add the powers of some rows, times their weights, to `out`; compiled."""

    def deviation(self, powers: int, largest: int, total: int, weight: int) -> float:
        """Standard deviation of the rows' losses: from the sum of powers, the largest gap, and the sum of losses."""

    def explained(self, weight: Any, target_sum: Any, unit: float) -> Any:
        """By how much the best score for each group of rows lowers their loss from that of score zero.

        Times `unit`, and rounded to whole numbers.
        """

    def mean(self, total: int, weight: int) -> float:
        """A sum of losses as the mean that people see."""

    def in_units(self, value: float) -> float:
        """A loss per row as people see it."""

    def spread(self, mean: float) -> float:
        """How far scores may be expected to lie apart, given the mean loss of the best constant."""


class Engine(Protocol):
    """What growth asks. Sums are over the engine's rows, each counted with its weight."""

    total: int
    target_sum: int
    n_columns: int
    loss: Loss

    def cuts(self, questions: Sequence[Question]) -> Iterable[Cut | None]:
        """Answer each question with its best cut, perhaps only when it is wanted; None where there is none."""

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        """For each of some thresholds, what lies below it, and, for a sum of columns, how near the nearest row is.

        What lies below is weight and sum of the residual that `output` leaves.
        """

    def put(self, slot: int, neuron: Neuron) -> tuple[int, int, bool]:
        """Store a neuron's answers; weight and target sum of the rows where it fires, and if any answer is new."""

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""

    def settle(self, output: Output) -> int:
        """Make `output` the current one; the sum of the losses."""

    def total_loss(self, output: Output) -> int:
        """The sum of the losses of `output`; the current one stays."""

    def residual_sum(self) -> int:
        """The current residual summed over all rows."""

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""

    def pulls(self) -> Floats:
        """The current residual summed over all rows, then times the +-1 answers of every slot; a column per output."""

    def overlaps(self, slot: int) -> Integers:
        """For every slot, the weight of the rows where both it and `slot` fire."""

    def ramp_of(self, column: int, low: float, high: float) -> Ramp | None:
        """A column between two ends, its answers of about unit spread; None where float64 cannot tell them apart."""

    def ramp_products(self, ramp: Ramp, others: Sequence[Ramp]) -> Floats:
        """A ramp's answers times one, times the +-1 answers of every slot, times other ramps', and its own squared."""

    def ramp_fired(self, ramps: Sequence[Ramp], slot: int) -> Floats:
        """The answers of ramps summed over the rows where a slot fires."""

    def ramp_pulls(self, ramps: Sequence[Ramp]) -> Floats:
        """The current residual times the answers of ramps; a column per output."""

    def describe(self) -> Columns:
        """Integer columns and their moments."""

    def seen(self) -> list[tuple[float, float, bool]]:
        """The least and greatest value of every column, and whether all are whole numbers."""

    def lost(self) -> list[int]:
        """The columns that vary by too little for :meth:`describe` to see."""

    def products(self, output: Output) -> Floats:
        """Covariances of all columns with what `output` leaves, in integer units, times the total weight."""

    def gram(self, column: int) -> Floats:
        """Covariances of one column with all, in integer units, times the total weight."""

    def cross(self, slot: int) -> Floats:
        """Covariances of all columns with a slot's +-1 answers, in integer units, times the total weight."""

    def bound(self) -> float:
        """The loss per row that no output can undercut for the answers stored: Theorem 1's bound for squares."""

    def loss_deviation(self) -> float:
        """Standard deviation of the rows' losses."""

    def next_layer(self, neurons: Sequence[Neuron]) -> Engine:
        """The same rows with the +-1 answers of `neurons` for columns."""
