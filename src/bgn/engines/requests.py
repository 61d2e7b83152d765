"""What can be asked of rows, by name and with types.

A request is a method of one of the protocols below, such as ``RowPart.put``. It is put to all parts of an engine at
once (``parts.ask(RowPart.put, slot, neuron)``), wherever they live: a part that lacks the method, or takes other
arguments, does not type-check.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgn.engines.protocol import Engine, Floats, Integers, Measures, Output
from bgn.engines.ramp import Ramp
from bgn.model.neuron import Neuron, Projection

if TYPE_CHECKING:
    from bgn.engines.cells import CellSums, RowsInCells, Sieve
    from bgn.engines.raw_rows import Plan, Sample, Survey, Weights
    from bgn.engines.regions import Regions
    from bgn.engines.row_hashes import Hashes, Inside

Kind = TypeVar("Kind", covariant=True)
Receiver = TypeVar("Receiver", contravariant=True)
Reply = TypeVar("Reply")
Arguments = ParamSpec("Arguments")


class Request(Generic[Receiver, Reply]):
    """A method of a protocol and its arguments, which can travel to wherever rows live."""

    def __init__(
        self, method: Callable[Concatenate[Receiver, Arguments], Reply], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> None:  # fmt: skip
        self.method, self.arguments, self.named = method, arguments, named

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.method.__name__

    def put_to(self, one: Receiver) -> Reply:
        """What `one` replies: its own method of that name runs."""
        reply: Reply = getattr(one, self.name)(*self.arguments, **self.named)
        return reply


class Asked(ABC, Generic[Kind]):
    """What holds several of a kind that requests can be put to, all at once."""

    def ask(
        self, method: Callable[Concatenate[Kind, Arguments], Reply], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> list[Reply]:  # fmt: skip
        """Put a request to all; their replies in order, perhaps merged."""
        return self.replies(Request(method, *arguments, **named))

    @abstractmethod
    def replies(self, request: Request[Kind, Reply]) -> list[Reply]:
        """What all reply to a request."""


class RowPart(Protocol):
    """Some rows and the answers of the neurons of the layer being grown, one slot per neuron.

    Every answer is integers that add up over parts, or extremes.
    """

    def measure(self) -> Measures:
        """Sums and extremes."""

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        """Weight and residual below each of some thresholds; and, for a sum, how near to it the nearest row is."""

    def put(self, slot: int, neuron: Neuron) -> Integers:
        """Store a neuron's answers; weight and target sum of the rows where it fires, and how many are new."""

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""

    def settle(self, output: Output) -> Integers:
        """Make `output` the current one; the limbs of the sum of the losses."""

    def limbs(self, output: Output) -> Integers:
        """The limbs of the sum of the losses of `output`; the current one stays."""

    def largest(self) -> int:
        """The largest gap of the current output."""

    def loss_powers(self, unit: float) -> int:
        """Sum of the squared losses of gaps times `unit`, in units of 2^-30."""

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""

    def pulls(self, width: int) -> Integers:
        """The current residual summed over all rows, then over those where each of the first slots fires.

        One column per output.
        """

    def overlaps(self, slot: int, width: int) -> Integers:
        """For each of the first `width` slots, the weight of the rows where both it and `slot` fire."""

    def ramp_products(self, ramp: Ramp, others: Sequence[Ramp], width: int) -> Integers:
        """Sum of a ramp's whole numbers over all rows, then over those where each of the first slots fires; then the
        limbs of its products with other ramps and itself."""

    def ramp_fired(self, ramps: Sequence[Ramp], slot: int) -> Integers:
        """Sum of the whole numbers of each ramp over the rows where a slot fires."""

    def ramp_pulls(self, ramps: Sequence[Ramp]) -> Integers:
        """Limbs of the current residual times each ramp, for every output."""

    def column_sums(self, centre: Floats, scale: Floats, slot: int | None = None) -> Integers:
        """Sum of every integer column over all rows, or over those where `slot` fires."""

    def products(self, output: Output, centre: Floats, scale: Floats, shift: int) -> Integers:
        """Limbs of every integer column times the residual that `output` leaves, without its last `shift` bits."""

    def residual_sum(self, output: Output, shift: int) -> int:
        """Sum of the residuals that `output` leaves, without their last `shift` bits."""

    def column_squares(self, centre: Floats, scale: Floats) -> Integers:
        """Limbs of every integer column squared."""

    def gram(self, column: int, centre: Floats, scale: Floats) -> Integers:
        """Limbs of one integer column times all."""

    def next_layer(self, neurons: Sequence[Neuron]) -> Self:
        """The same rows with the +-1 answers of `neurons` for columns."""


class CellPart(RowPart, Protocol):
    """A part that finds cuts by cells, and tells its regions: all but those on a GPU, which sorts."""

    def cells(self, sieves: Sequence[Sieve]) -> list[CellSums]:
        """What every cell of each sieve holds."""

    def inside(self, sieves: Sequence[Sieve], survives: Sequence[NDArray[np.uint8]]) -> list[RowsInCells]:
        """The rows in the cells of each sieve that survive."""

    def regions(self, width: int) -> Regions:
        """The regions that the first `width` slots tell apart: their keys; their weights and target sums."""


class RawBlock(Protocol):
    """Raw rows, before growth."""

    def weights(self) -> Weights:
        """What must be known to make all weights whole."""

    def weigh(self, exponent: int) -> int:
        """Sum of the weights times ``2**exponent``, each rounded."""

    def survey(self, seed: int, exponent: int | None) -> Survey:
        """Count, weigh and hash the rows."""

    def inside(self, seed: int, exponent: int | None, number: int) -> Inside:
        """The hashes in one bin."""

    def smallest(self, seed: int, exponent: int | None, edge: int | None, most: int) -> Hashes:
        """The smallest different hashes above `edge`, at most so many."""

    def sample(self, plan: Plan) -> Sample:
        """The rows of the sample, equal ones put together."""


class Parts(Asked[Kind]):
    """Rows in parts, wherever they live."""

    @abstractmethod
    def next_layer(self, neurons: Sequence[Neuron]) -> Self:
        """The same rows with the +-1 answers of `neurons` for columns."""


class RowSource(Asked[RawBlock]):
    """Raw rows in blocks.

    A source may check its rows when it is first asked; one that holds all rows in memory makes a
    :class:`~bgn.engines.memory.engine.MemoryEngine`.
    """

    weighted: bool
    kept: bool = False  # whether more engines will be asked for, so that raw rows are needed still

    def beside(self, threads: int) -> RowSource | None:
        """The same rows for a fit at the same time as others, on so many threads; None where fits take turns."""
        return None

    @abstractmethod
    def engine(self, plan: Plan, held_out: bool) -> Engine:
        """The rows that learn, or those that validate."""

    def close(self) -> None:
        """Let go of the raw rows: engines are made."""


class OneBlock(RowSource):
    """Raw rows in one block."""

    def __init__(self, block: RawBlock, weighted: bool) -> None:
        self._block, self.weighted = block, weighted

    def replies(self, request: Request[RawBlock, Reply]) -> list[Reply]:
        return [request.put_to(self._block)]
