"""A layer with its outputs fitted: what a refit needs to know, with a neuron less, or with other neurons."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bgn.engines.protocol import Engine, Floats, Integers, Ramp
from bgn.grow.inverses import among, taken_out, with_one_more
from bgn.grow.output_rule import State
from bgn.model.neuron import Neuron


@dataclass(frozen=True)
class Fit(State):
    """A fitted state: weights in floats, the inverse of ``H'H + ridge / curvature`` and how fresh it is.

    The constant comes first, then the neurons, then the ramps.
    """

    weights: Floats
    inverse: Floats
    products: Floats
    target: Floats
    changes: int


@dataclass(frozen=True)
class WithoutOne:
    """A fit without the neuron in one slot: inverse, columns kept, all weights, and what taking it out costs."""

    inverse: Floats
    keep: Integers
    weights: Floats
    gone: float

    @classmethod
    def of(cls, state: Fit, slot: int) -> WithoutOne:
        """Take the neuron out, if there is one."""
        if slot == state.width:
            return cls(state.inverse, np.arange(len(state.inverse)), state.weights, 0.0)
        k = slot + 1
        inverse, keep = taken_out(state.inverse, k)
        gone = state.weights[k] / state.inverse[k, k]
        weights = state.weights - (np.outer(state.inverse[:, k], gone) if np.ndim(gone) else state.inverse[:, k] * gone)
        weights[k] = 0.0
        return cls(inverse, keep, weights, float((state.weights[k] * gone).sum()))


def changed(old: tuple[Neuron, ...], new: tuple[Neuron, ...]) -> list[int]:
    """The slots that ask something else, or nothing so far."""
    return [slot for slot, neuron in enumerate(new) if slot >= len(old) or neuron != old[slot]]


def taken_over(
    rows: Engine, state: Fit, neurons: tuple[Neuron, ...], ramps: tuple[Ramp, ...], ridge: float
) -> Fit | None:
    """The state with other neurons, put in their slots, and more ramps; None where one answers as others do together.

    What is new has no weight yet.
    """
    layer = _Layer(rows, state, neurons, ramps)
    lines = layer.add_ramps()
    new = changed(state.neurons, neurons)
    layer.put(new)
    inverse, kept = state.inverse, [*layer.known]
    for slot in reversed([slot for slot in new if slot < state.width]):
        inverse, _ = taken_out(inverse, slot + 1)
        kept.remove(slot + 1)
    for k in [*lines, *(slot + 1 for slot in new)]:
        column = layer.products[kept, k]
        pull = (inverse * column).sum(axis=1)
        own = layer.products[k, k] + ridge - float((pull * column).sum())
        if own <= 1e-9 * layer.products[k, k]:
            return None
        inverse = with_one_more(inverse, pull, own)
        kept.append(k)
    weights = np.zeros((len(kept), *state.weights.shape[1:]))
    weights[layer.known] = state.weights
    weights[[slot + 1 for slot in new]] = 0.0
    return replace(
        state, neurons=neurons, weights=weights, inverse=among(inverse, np.argsort(kept)), products=layer.products,
        target=layer.target, changes=state.changes + len(lines) + len(new),
    )  # fmt: skip


class _Layer:
    """Products and targets of a layer that follows another: the constant comes first, then neurons, then ramps."""

    def __init__(self, rows: Engine, state: Fit, neurons: tuple[Neuron, ...], ramps: tuple[Ramp, ...]) -> None:
        self._rows, self._state, self._neurons, self._ramps = rows, state, neurons, ramps
        size, self._first = 1 + len(neurons) + len(ramps), 1 + len(neurons)  # of all; where ramps begin
        self.known = [*range(state.width + 1), *range(self._first, self._first + len(state.ramps))]
        self.products, self.target = np.zeros((size, size)), np.zeros(size)
        self.products[np.ix_(self.known, self.known)], self.target[self.known] = state.products, state.target

    def add_ramps(self) -> list[int]:
        """Measure the ramps that the state does not have, while its neurons are in their slots; their places."""
        rows, state, first = self._rows, self._state, self._first
        places = range(first + len(state.ramps), first + len(self._ramps))
        for k in places:
            ramp = self._ramps[k - first]
            column = rows.ramp_products(ramp, self._ramps[: k - first])
            beside = [*range(state.width + 1), *range(first, k + 1)]
            self.products[k, beside] = self.products[beside, k] = column
            if rows.loss.quadratic:
                left = float(rows.ramp_pulls([ramp])[0])
                self.target[k] = left + float((column[: len(state.weights)] * state.weights).sum())
        return [*places]

    def put(self, slots: list[int]) -> None:
        """Put new neurons in their slots, and measure them."""
        rows, products, total, width = self._rows, self.products, float(self._rows.total), self._first - 1
        for slot in slots:
            fired, target_sum, _ = rows.put(slot, self._neurons[slot])
            products[0, slot + 1] = products[slot + 1, 0] = 2 * fired - total
            self.target[slot + 1] = 2 * target_sum - self.target[0]
        for slot in slots:
            k, both = slot + 1, rows.overlaps(slot)[:width].astype(np.float64)
            some = slice(1, 1 + len(both))
            products[k, some] = products[some, k] = 4 * both - (products[0, some] + total) - products[0, k]
            products[k, k] = total
            lines = 2 * rows.ramp_fired(self._ramps, slot) - products[0, self._first :]
            products[k, self._first :] = products[self._first :, k] = lines
