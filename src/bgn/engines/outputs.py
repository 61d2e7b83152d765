"""How outputs differ, and so how the residual that one leaves follows from that of another."""

from __future__ import annotations

import numpy as np

from bgn.engines.protocol import Output


def same(a: Output, b: Output) -> bool:
    """True when both leave the same residual."""
    return a is b or (a.base == b.base and np.array_equal(a.weights, b.weights))


def without(output: Output, slot: int) -> tuple[Output, int]:
    """The output with weight zero in a slot, and the weight that was there."""
    weight = int(output.weights[slot]) if slot < len(output.weights) else 0
    if weight == 0:
        return output, 0
    weights = output.weights.copy()
    weights[slot] = 0
    return Output(weights, output.base), weight


def one_change(known: Output, output: Output) -> tuple[int, int, int] | None:
    """The one slot whose weight differs, and what its change adds to a residual where it fires and where it does not.

    A neuron that `known` has no weight for counts as one of weight zero. None where more than one weight differs.
    """
    width = len(known.weights)
    if not width <= len(output.weights) <= width + 1:
        return None
    changes = output.weights.copy()
    changes[:width] -= known.weights
    (changed,) = changes.nonzero()
    if len(changed) > 1:
        return None
    slot = int(changed[0]) if len(changed) else 0
    change, down = int(changes[slot]) if len(changed) else 0, known.base - output.base
    return slot, down - change, down + change
