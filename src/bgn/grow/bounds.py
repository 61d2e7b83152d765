"""Outputs that keep every prediction there can be within bounds.

What a network predicts for a combination of answers is linear in its output weights, so a bound is a half-space for
each combination that some row has. There are too many to list: the weights nearest to those of the refit that respect
the combinations known so far are found, the lowest and the highest prediction of that network are proven, and their
combinations join the others, until no prediction lies beyond the bounds (Kelley 1960). The network stays a plain sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bgn.engines.protocol import Floats, Integers
from bgn.grow.signed import multipliers
from bgn.model.neuron import Neuron

_MOST_PROOFS = 200  # of one network; then its outputs are drawn together
_SAME = 1e-9  # relative to all there is between: what lies beyond a bound by less is rounding
_LOOSE = 1e-10  # share of its size that every half-space gives way by, so that equal ones do no harm

Outputs = tuple[Any, Floats]


class End(NamedTuple):
    """The lowest or highest prediction that was found, a row that has it, and what no prediction goes beyond."""

    value: float
    row: Floats | None
    limit: float


# The lowest and the highest prediction of a layer of a table's neurons with these outputs, base first.
Prover = Callable[[Sequence[Neuron], Any, Floats], tuple[End, End]]


@dataclass(frozen=True)
class Bounds:
    """What no prediction may go beyond, and what proves it."""

    low: float
    high: float
    prove: Prover


class Bounded:
    """Finds outputs within bounds, and remembers the rows whose predictions threatened to go beyond them."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._rows: list[Floats] = []

    def outputs(
        self, neurons: Sequence[Neuron], outputs: Outputs, inverse: Floats, signs: Integers,
        shorten: Callable[[Any, Floats], Outputs],
    ) -> Outputs:  # fmt: skip
        """The outputs nearest to some, as the inverse of `inverse` measures, that stay within the bounds in short
        numbers and keep their signs."""
        low, high = self._bounds.low, self._bounds.high
        start, room = np.append(outputs[0], outputs[1]), 0.0
        reach = max(np.abs(start).sum(), *(abs(each) for each in (low, high) if math.isfinite(each)))
        for _ in range(_MOST_PROOFS):
            moved = self._nearest(neurons, start, inverse, signs, room)
            found = shorten(float(moved[0]), moved[1:])
            least, most = self._bounds.prove(neurons, *found)
            beyond = max(low - least.limit, most.limit - high, 0.0)
            if beyond == 0.0:
                return found
            rows = [end.row for end, over in ((least, low - least.value), (most, most.value - high))
                    if end.row is not None and over > _SAME * reach]  # fmt: skip
            fresh = [row for row in rows if not any(np.array_equal(row, each, equal_nan=True) for each in self._rows)]
            self._rows += fresh
            if not fresh:  # known rows that rounding moved, or nothing found in time
                room += 1.01 * beyond
                if 2 * room >= high - low:
                    break
        return self._drawn_together(neurons, start, shorten)

    def _nearest(
        self, neurons: Sequence[Neuron], start: Floats, inverse: Floats, signs: Integers, room: float
    ) -> Floats:
        """The outputs nearest to some that keep the predictions of known rows within the bounds, less some room."""
        own = np.flatnonzero(signs)
        spaces = [np.eye(len(start))[own] * signs[own, None]]
        edges = [np.zeros(len(own))]
        if self._rows:
            rows = np.stack(self._rows)
            answers = np.column_stack([np.ones(len(rows)), *(2.0 * neuron.fires(rows) - 1.0 for neuron in neurons)])
            answers = np.unique(answers, axis=0)
            for sign, bound in ((1.0, self._bounds.low), (-1.0, self._bounds.high)):
                if math.isfinite(bound):
                    spaces.append(sign * answers)
                    edges.append(np.full(len(answers), sign * bound + room))
        space, edge = np.concatenate(spaces), np.concatenate(edges)
        left = space @ start - edge
        if not (left < 0).any():
            return start
        along = space @ inverse
        table = along @ space.T
        table[np.diag_indices(len(table))] *= 1.0 + _LOOSE
        return np.asarray(start + multipliers(table, left) @ along)

    def _drawn_together(
        self, neurons: Sequence[Neuron], start: Floats, shorten: Callable[[Any, Floats], Outputs]
    ) -> Outputs:
        """The outputs drawn towards a constant within the bounds, as far as it takes."""
        low, high = self._bounds.low, self._bounds.high
        centre = float(np.clip(start[0], low, high))
        least, most = self._bounds.prove(neurons, float(start[0]), start[1:])
        share = min(
            (centre - low) / (centre - least.limit) if least.limit < low else 1.0,
            (high - centre) / (most.limit - centre) if most.limit > high else 1.0,
        )
        for tried in (share, 0.99 * share, 0.9 * share, 0.5 * share):
            found = shorten(centre + tried * (float(start[0]) - centre), tried * start[1:])
            least, most = self._bounds.prove(neurons, *found)
            if least.limit >= low and most.limit <= high:
                return found
        return centre, np.zeros(len(start) - 1)
