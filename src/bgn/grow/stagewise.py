"""The paper's output weights: each neuron's are those it was found with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgn.engines.protocol import Cut, Engine, Output, Ramp
from bgn.grow.constraints import NO_CONSTRAINTS, Constraints
from bgn.grow.directions.protocol import Others
from bgn.grow.output import State, base_alone, placed


@dataclass(frozen=True)
class _Steps(State):
    """A stagewise state also remembers what each neuron did to the base, and how many rows fire."""

    offsets: tuple[int, ...] = ()
    fired: tuple[int, ...] = ()


class Stagewise:
    """The paper's closed form (Prop. 1): each neuron fits the residual it met, times a step size. For squares only."""

    def __init__(self, learning_rate: float, constraints: Constraints = NO_CONSTRAINTS) -> None:
        self._rate, self._constraints = learning_rate, constraints

    def start(self, rows: Engine) -> State:
        """The mean alone."""
        if not rows.loss.quadratic:
            raise ValueError("output='stagewise' is for squared errors alone; use output='full'.")
        _, state = base_alone(rows)
        return _Steps(state.neurons, state.output, state.loss)

    def without(self, state: State, slot: int) -> Output:
        """Take the neuron's step back, base and all."""
        assert isinstance(state, _Steps)
        weights = state.output.weights.copy()
        weights[slot] = 0
        return Output(weights, state.output.base - state.offsets[slot])

    def others(self, rows: Engine, state: State, slot: int) -> Others:
        """The other neurons stay as they are."""
        return Others(rows.total, 0.0, np.array([[1.0 / rows.total]]), np.zeros(0, np.int64), 0.0)

    def admit(
        self, rows: Engine, state: State, slot: int, cut: Cut, share: float = 1.0, lead: float = 0.0
    ) -> State | None:
        """Give the neuron the means of its two sides."""
        assert isinstance(state, _Steps)
        step = self.judge(rows, state, slot, cut, share)
        if step is None:
            return None
        weight, offset = step
        base = state.output if slot == state.width else self.without(state, slot)
        weights = np.append(base.weights, 0) if slot == state.width else base.weights.copy()
        weights[slot] = weight
        *_, changed = rows.put(slot, cut.neuron)
        output = Output(weights, base.base + offset)
        return _Steps(
            placed(state, slot, cut.neuron), output, rows.settle(output),
            (*state.offsets[:slot], offset, *state.offsets[slot + 1 :]),
            (*state.fired[:slot], cut.fired, *state.fired[slot + 1 :]),
            same_answers=not changed,
        )  # fmt: skip

    def ramp_gain(self, rows: Engine, state: State, ramp: Ramp) -> float:
        """Linear terms are for outputs that are refitted."""
        return 0.0

    def admit_ramp(self, rows: Engine, state: State, ramp: Ramp) -> State | None:
        """None, ever."""
        return None

    def inverse(self, state: State) -> None:
        """No neuron makes up for another."""
        return

    def judge(self, rows: Engine, state: State, slot: int, cut: Cut, share: float) -> tuple[int, int] | None:
        """Weight of the neuron and change of the base, if they lower the squared sum; no pass over the rows."""
        assert isinstance(state, _Steps)
        up, down = cut.fired_sum / cut.fired, cut.silent_sum / cut.silent
        weight, offset = round(self._rate * (up - down) / 2), round(self._rate * (up + down) / 2)
        if (self._constraints.sign(cut.neuron.projection) or 0) * weight < 0:
            return None
        total = cut.fired_sum + cut.silent_sum
        released = self._released(rows, state, slot, total) if slot < state.width else 0
        gained = _drop(rows.total, weight, offset, cut.fired, cut.fired_sum, total)
        return (weight, offset) if gained > released and share * gained > released else None

    def _released(self, rows: Engine, state: _Steps, slot: int, total: int) -> int:
        """By how much the squared sum rises when the neuron in `slot` is taken out; `total`: residual sum then."""
        weight, offset, fired = int(state.output.weights[slot]), state.offsets[slot], state.fired[slot]
        released = rows.correlation(slot) + (weight + offset) * fired
        return _drop(rows.total, weight, offset, fired, released, total)


def _drop(rows: int, weight: int, offset: int, fired: int, fired_sum: int, total: int) -> int:
    """How far ``weight * answer + offset`` lowers the squared sum of a residual with these sums."""
    up, down = weight + offset, offset - weight
    silent, silent_sum = rows - fired, total - fired_sum
    return 2 * up * fired_sum - up * up * fired + 2 * down * silent_sum - down * down * silent
