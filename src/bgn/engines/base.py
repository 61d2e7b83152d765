"""What growth asks of the rows, wherever they live.

An engine holds rows (columns, targets as whole steps of a grid, whole weights) and the answers of the neurons of
the layer being grown, one slot a neuron. Every answer it gives is a sum of integers or an exact choice, so all
engines, on any number of threads or blocks, give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bgn.engines.integers import Grid

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Direction:
    """A sparse direction in the columns' own units: ``sum(coefficients * x[columns])``, columns in order."""

    columns: tuple[int, ...]
    coefficients: tuple[float, ...]

    @cached_property
    def arrays(self) -> tuple[Integers, Floats]:
        """Columns and coefficients for a kernel."""
        return np.array(self.columns, np.int64), np.array(self.coefficients, np.float64)


@dataclass(frozen=True)
class Neuron:
    """Fires when the direction's projection reaches the threshold."""

    direction: Direction
    threshold: float


@dataclass(frozen=True)
class Output:
    """Output weights and base in whole steps: ``prediction = base + sum(weights * answers)``."""

    weights: Integers
    base: int


@dataclass(frozen=True)
class Question:
    """Where to cut a direction's projection, given the residual that `output` leaves.

    With a `window` (low, high) only cuts between projections in it compete.
    """

    output: Output
    direction: Direction
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


class Engine(Protocol):
    """The questions. Sums are over the engine's rows, each counted with its weight."""

    total: int
    target_sum: int
    n_columns: int
    grid: Grid

    def cuts(self, questions: Sequence[Question]) -> Iterable[Cut | None]:
        """Answer each question with its best cut, perhaps only when it is wanted; None where there is none."""
        ...

    def put(self, slot: int, neuron: Neuron) -> tuple[int, int, bool]:
        """Store a neuron's answers; weight and target sum of the rows where it fires, and if any answer is new."""
        ...

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""
        ...

    def settle(self, output: Output) -> int:
        """Make `output` the current one; the sum of squared residuals, in squared steps."""
        ...

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""
        ...

    def overlaps(self, slot: int) -> Integers:
        """For every slot, the weight of the rows where both it and `slot` fire."""
        ...

    def describe(self) -> Columns:
        """Integer columns and their moments."""
        ...

    def lost(self) -> list[int]:
        """The columns that vary by too little for :meth:`describe` to see."""
        ...

    def gram(self, column: int) -> Floats:
        """Covariances of one column with all, in integer units, times the total weight."""
        ...

    def cross(self, slot: int) -> Floats:
        """Covariances of all columns with a slot's +-1 answers, in integer units, times the total weight."""
        ...

    def bound(self) -> float:
        """Theorem 1's bound for the answers stored, in squared steps."""
        ...

    def squared_error_deviation(self) -> float:
        """Standard deviation of the squared residuals, in squared steps."""
        ...

    def next_layer(self, neurons: Sequence[Neuron]) -> Engine:
        """The same rows with the +-1 answers of `neurons` for columns."""
        ...
