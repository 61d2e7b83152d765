"""What chance alone lets questions seem to gain, when the best of many is picked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bgn.engines.memory import MemoryEngine
from bgn.engines.protocol import Output
from bgn.grow.directions.angles import logarithm
from bgn.grow.directions.lines import Subsets
from bgn.grow.directions.pairs import ANGLES
from bgn.model.neuron import Projection

_STEPS = 1 << 14


@dataclass(frozen=True)
class Luck:
    """What single columns, pairs, and the levels of each category seem to gain by chance."""

    single: float = 0.0
    pair: float = 0.0
    levels: Mapping[int, float] = field(default_factory=dict)

    def of(self, direction: Projection, several: bool) -> float:
        """What there is in one direction."""
        chosen = sum(self.levels.get(j, 0.0) for j in direction.columns) if self.levels else 0.0
        return (self.pair if several else self.single) + chosen


NO_LUCK = Luck()


def luck_in(
    sample: MemoryEngine, output: Output, total: int, unit: float, columns: int, subsets: Subsets | None, weight: int
) -> Luck:
    """What chance lets the best of all single columns, and of all pairs at all angles, seem to gain.

    On noise, the largest of K gains is about ``2 log K`` times the variance. The more rows there are, the less of
    a residual is noise: luck fades above 500 rows and is gone at 1,500. What there is in choosing the levels of a
    category never fades. `total` is the sum of the residuals, `unit` the weight of one row, `weight` that of all.
    """
    rows, part = sample.total, sample.part
    share = min(max(1.5 - rows / unit / 1000, 0.0), 1.0)
    if share == 0.0 and subsets is None:
        return NO_LUCK
    residual = part.residual(output)
    largest = max(1, int(np.abs(residual).max(initial=0)))
    whole = np.rint(residual * (_STEPS / largest)).astype(np.int64)  # whole, so that order does not matter
    squares = int((whole * whole * (part.weight if len(part.weight) else 1)).sum())
    step, mean = largest / _STEPS, total / rows
    variance = (squares / rows * (step * step) - mean * mean) * unit
    levels = {} if subsets is None else subsets.luck()
    variance, among_levels = variance * share, variance * (weight / rows)
    pairs = 2 * logarithm(max(1, columns * (columns - 1) // 2 * ANGLES)) * variance
    return Luck(2 * logarithm(columns) * variance, pairs, {j: each * among_levels for j, each in levels.items()})
