"""What growth asks of the rows, wherever they live.

An engine holds rows (columns, targets as whole steps of a grid, whole weights) and the answers of the neurons of
the layer being grown, one slot per neuron. Every answer it gives is a sum of integers or an exact choice, so all
engines, on any number of threads or blocks, give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bgn.engines.integers import Grid, Integers
from bgn.model.neuron import Neuron, Projection

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Output:
    """Output weights and base in whole steps: ``prediction = base + sum(weights * answers)``."""

    weights: Integers
    base: int

    def same(self, other: Output) -> bool:
        """True when both leave the same residual."""
        return self is other or (self.base == other.base and np.array_equal(self.weights, other.weights))

    def without(self, slot: int) -> tuple[Output, int]:
        """The output with weight zero in a slot, and the weight that was there."""
        weight = int(self.weights[slot]) if slot < len(self.weights) else 0
        if weight == 0:
            return self, 0
        weights = self.weights.copy()
        weights[slot] = 0
        return Output(weights, self.base), weight

    def change_to(self, other: Output) -> tuple[int, int, int] | None:
        """The one slot whose weight differs, and what that adds to a residual where it fires and where it does not.

        A neuron that has no weight here counts as one of weight zero. None where more than one weight differs.
        """
        width = len(self.weights)
        if not width <= len(other.weights) <= width + 1:
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

    `gain` is the drop of the mean squared residual, in squared steps, that this cut allows.
    """

    neuron: Neuron
    gain: float
    fired: int
    fired_sum: int
    silent: int
    silent_sum: int


@dataclass(frozen=True)
class Columns:
    """Integer view of the columns: ``rint((x - centre) * scale)``, their sums and what follows from them."""

    centre: Floats
    scale: Floats
    sums: Integers
    mean: Floats
    deviation: Floats
    target_products: Floats


@dataclass(frozen=True, eq=False)
class Measures:
    """What a part tells of itself: rows, weight, target sum, limbs of the squared targets, reach of the columns."""

    n_rows: int
    total: int
    target_sum: int
    squares: Integers
    low: Floats
    high: Floats
    probes: NDArray[Any]


class Engine(Protocol):
    """What growth asks. Sums are over the engine's rows, each counted with its weight."""

    total: int
    target_sum: int
    n_columns: int
    grid: Grid

    def cuts(self, questions: Sequence[Question]) -> Iterable[Cut | None]:
        """Answer each question with its best cut, perhaps only when it is wanted; None where there is none."""

    def put(self, slot: int, neuron: Neuron) -> tuple[int, int, bool]:
        """Store a neuron's answers; weight and target sum of the rows where it fires, and if any answer is new."""

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""

    def settle(self, output: Output) -> int:
        """Make `output` the current one; the sum of squared residuals, in squared steps."""

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""

    def overlaps(self, slot: int) -> Integers:
        """For every slot, the weight of the rows where both it and `slot` fire."""

    def describe(self) -> Columns:
        """Integer columns and their moments."""

    def lost(self) -> list[int]:
        """The columns that vary by too little for :meth:`describe` to see."""

    def gram(self, column: int) -> Floats:
        """Covariances of one column with all, in integer units, times the total weight."""

    def cross(self, slot: int) -> Floats:
        """Covariances of all columns with a slot's +-1 answers, in integer units, times the total weight."""

    def bound(self) -> float:
        """Theorem 1's bound for the answers stored, in squared steps."""

    def squared_error_deviation(self) -> float:
        """Standard deviation of the squared residuals, in squared steps."""

    def next_layer(self, neurons: Sequence[Neuron]) -> Engine:
        """The same rows with the +-1 answers of `neurons` for columns."""
