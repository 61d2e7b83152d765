"""Rows in memory, in one part or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, TypeVar

from bgn.engines.cell_engine import CellEngine
from bgn.engines.part import Part
from bgn.engines.protocol import Cut, Integers, Loss, Output, Question
from bgn.engines.requests import Parts, Reply, Request, RowPart
from bgn.model.neuron import Neuron

PartKind = TypeVar("PartKind", bound=RowPart)


class PartsInMemory(Parts[PartKind]):
    """Parts in this process, asked one after the other."""

    def __init__(self, parts: Sequence[PartKind]) -> None:
        self.parts = parts

    def replies(self, request: Request[PartKind, Reply]) -> list[Reply]:
        return [request.put_to(part) for part in self.parts]

    def next_layer(self, neurons: Sequence[Neuron]) -> Self:
        return type(self)([part.next_layer(neurons) for part in self.parts])


class MemoryEngine(CellEngine):
    """Rows in RAM, in one part that threads share."""

    def __init__(self, part: Part, loss: Loss) -> None:
        self.part = part
        super().__init__(PartsInMemory([part]), loss)

    def cuts(self, questions: Sequence[Question]) -> Iterator[Cut | None]:
        """Answer each question when it is its turn: the first are often enough."""
        for question in questions:
            yield from super().cuts([question])

    def residual(self, output: Output) -> Integers:
        """The residual that `output` leaves, row by row."""
        return self.part.residual(output)

    def next_layer(self, neurons: Sequence[Neuron]) -> MemoryEngine:
        return MemoryEngine(self.part.next_layer(neurons), self.loss)
