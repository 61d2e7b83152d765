"""What growth asks of a strategy for output weights, and a layer while it grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from bgn.engines.protocol import Cut, Engine, Floats, Output, Ramp
from bgn.grow.directions.protocol import Others
from bgn.model.neuron import Neuron


@dataclass(frozen=True)
class State:
    """A layer while it grows: its neurons, their output, and the sum of losses it leaves.

    `same_answers` tells that the last step changed nothing but output weights.
    """

    neurons: tuple[Neuron, ...]
    output: Output
    loss: int
    same_answers: bool = field(default=False, kw_only=True)

    @property
    def width(self) -> int:
        """Number of neurons."""
        return len(self.neurons)

    @property
    def ramps(self) -> tuple[Ramp, ...]:
        """The straight lines beside the neurons."""
        return self.output.ramps

    @property
    def size(self) -> int:
        """Number of terms, neurons and ramps."""
        return self.width + len(self.ramps)


class OutputRule(Protocol):
    """What a strategy must do. `slot` is where the neuron goes: the width for an addition."""

    def start(self, rows: Engine) -> State:
        """The base alone."""
        ...

    def without(self, state: State, slot: int) -> Output:
        """The output when the neuron in `slot` is taken out: its weight is zero."""
        ...

    def others(self, rows: Engine, state: State, slot: int) -> Others:
        """What the neurons but the one in `slot` explain."""
        ...

    def admit(
        self, rows: Engine, state: State, slot: int, cut: Cut, share: float = 1.0, lead: float = 0.0
    ) -> State | None:
        """Put the cut's neuron in `slot` if the training loss falls strictly; None if it does not.

        This `share` of what it gains must be more than all that the neuron in the slot does, and more than `lead`.
        """
        ...

    def ramp_gain(self, rows: Engine, state: State, ramp: Ramp) -> float:
        """By how much a ramp would lower the training loss with its penalty; the current output is the state's."""
        ...

    def admit_ramp(self, rows: Engine, state: State, ramp: Ramp) -> State | None:
        """Add a ramp, if the training loss falls strictly; None if it does not."""
        ...

    def inverse(self, state: State) -> Floats | None:
        """The inverse of the neurons' products, the constant's first, where they are refitted together."""
        ...
