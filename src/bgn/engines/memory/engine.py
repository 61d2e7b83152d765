"""Rows in memory, in one part or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgn.engines.cell_engine import CellEngine
from bgn.engines.part import Part
from bgn.engines.protocol import Cut, Floats, Integers, Loss, Output, Question
from bgn.engines.raw_rows import Plan, RawRows
from bgn.engines.requests import OneBlock, Parts, Reply, Request, RowPart
from bgn.engines.row_hashes import Hashes
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


class RowsInMemory(OneBlock):
    """Raw rows in memory, as a source."""

    def __init__(self, X: NDArray[Any], y: Floats, sample_weight: Floats | None = None, threads: int = 1) -> None:
        self._rows = RawRows(X.T, y, sample_weight, threads)
        super().__init__(self._rows, sample_weight is not None)

    def beside(self, threads: int) -> RowsInMemory:
        rows = self._rows
        return type(self)(rows.columns.T, rows.target, rows.weight, threads)

    def hashes(self, seed: int) -> Hashes:
        """A hash of every row's content."""
        return np.asarray(self._rows.known_hashes(seed))

    def that_count(self) -> NDArray[np.int64]:
        """The places of the rows that have a weight above 0."""
        return np.flatnonzero(np.ones(len(self._rows.target)) if self._rows.weight is None else self._rows.weight)

    def encoded(self, chosen: NDArray[Any]) -> Floats:
        """Some of the rows as a network reads them."""
        return np.ascontiguousarray(self._rows.columns.T[chosen], dtype=np.float64)

    def engine(self, plan: Plan, held_out: bool) -> MemoryEngine:
        return MemoryEngine(self._rows.part(plan, held_out), plan.loss_of(held_out))
