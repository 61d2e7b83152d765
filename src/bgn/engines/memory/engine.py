"""Rows in memory, in one part or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, Protocol, Self, TypeVar

from numpy.typing import NDArray

from bgn.engines.block import Block, Plan
from bgn.engines.celled import CellEngine
from bgn.engines.part import Part
from bgn.engines.protocol import Floats, Integers, Loss, Output
from bgn.engines.requests import Answer, Arguments, RawBlock, RowPart, answer
from bgn.model.neuron import Neuron


class _Layered(RowPart, Protocol):
    """A part that can be asked for the next one."""

    def next_layer(self, neurons: Sequence[Neuron]) -> Self: ...


PartKind = TypeVar("PartKind", bound=_Layered)


class PartsInMemory(Generic[PartKind]):
    """Parts in this process, asked one after the other; see :class:`bgn.engines.requests.Parts`."""

    def __init__(self, parts: Sequence[PartKind]) -> None:
        self.parts = parts

    def ask(
        self, request: Callable[Concatenate[PartKind, Arguments], Answer], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> list[Answer]:  # fmt: skip
        """Put a request to all parts."""
        return [answer(part, request, *arguments, **named) for part in self.parts]

    def next_layer(self, neurons: Sequence[Neuron]) -> Self:
        """The same rows with the +-1 answers of `neurons` for columns."""
        return type(self)([part.next_layer(neurons) for part in self.parts])


class MemoryEngine(CellEngine):
    """Rows in RAM, in one part that threads share."""

    def __init__(self, part: Part, loss: Loss) -> None:
        self.part = part
        super().__init__(PartsInMemory([part]), loss)

    def residual(self, output: Output) -> Integers:
        """The residual that `output` leaves, row by row."""
        return self.part.residual(output)

    def next_layer(self, neurons: Sequence[Neuron]) -> MemoryEngine:
        """The same rows with the +-1 answers of `neurons` for columns."""
        return MemoryEngine(self.part.next_layer(neurons), self.loss)


class RowsInMemory:
    """Rows in memory, in one block; see :class:`bgn.engines.requests.RowSource`."""

    def __init__(self, X: NDArray[Any], y: Floats, sample_weight: Floats | None = None, threads: int = 1) -> None:
        self._block, self._threads = Block(X.T, y, sample_weight), threads
        self.weighted = sample_weight is not None

    def ask(
        self, request: Callable[Concatenate[RawBlock, Arguments], Answer], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> list[Answer]:  # fmt: skip
        """Put a request to the block."""
        return [answer(self._block, request, *arguments, **named)]

    def engine(self, plan: Plan, held_out: bool) -> MemoryEngine:
        """The rows that learn, or those that validate."""
        return MemoryEngine(self._block.part(plan, held_out, self._threads), plan.loss)
