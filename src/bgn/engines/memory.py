"""Rows in memory, in one part or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bgn.engines.base import Integers, Output
from bgn.engines.integers import Grid
from bgn.engines.merged import MergedEngine
from bgn.engines.part import Part
from bgn.model.neuron import Neuron


class PartsInMemory:
    """Parts in this process, asked one after the other; see :class:`bgn.engines.merged.Parts`."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def ask(self, question: str, *arguments: Any) -> list[Any]:
        """Put a question to all parts."""
        return [getattr(part, question)(*arguments) for part in self.parts]

    def next_layer(self, neurons: Sequence[Neuron]) -> PartsInMemory:
        """The same rows with the +-1 answers of `neurons` for columns."""
        return PartsInMemory([part.next_layer(neurons) for part in self.parts])


class MemoryEngine(MergedEngine):
    """Rows in RAM, in one part that threads share."""

    def __init__(self, part: Part, grid: Grid) -> None:
        self.part = part
        super().__init__(PartsInMemory([part]), grid)

    def residual(self, output: Output) -> Integers:
        """The residual that `output` leaves, row by row."""
        return self.part.residual(output)

    def _explained(self, shift: int) -> int:
        return self.part.explained(len(self.output.weights), shift)

    def next_layer(self, neurons: Sequence[Neuron]) -> MemoryEngine:
        """The same rows with the +-1 answers of `neurons` for columns."""
        return MemoryEngine(self.part.next_layer(neurons), self.grid)
