"""A column as a straight line between two ends, in whole numbers: a term beside the neurons of a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bgn.engines.integers import Integers

# Products of two whole numbers are summed in limbs of this many bits, which is also the most that a ramp has.
LINEAR_BITS = 20


@dataclass(frozen=True)
class Ramp:
    """A column between two ends as whole numbers, ``rint((x - centre) * scale)``: at most ``2**bits`` either way.

    What it answers, beside the +-1 of neurons, is such a number times `unit`; rows beyond an end answer as it does.
    """

    column: int
    low: float
    high: float
    bits: int
    unit: float

    @property
    def centre(self) -> float:
        """Halfway between the ends."""
        return self.low / 2 + self.high / 2

    @property
    def scale(self) -> float:
        """Whole numbers per unit of the column."""
        return 2.0**self.bits / (self.high / 2 - self.low / 2)

    @property
    def place(self) -> tuple[float, float, float, float]:
        """What kernels need: both ends, centre and scale."""
        return self.low, self.high, self.centre, self.scale

    @property
    def per_unit(self) -> float:
        """How much its answer rises per unit of the column."""
        return self.scale * self.unit


def places(ramps: Sequence[Ramp]) -> tuple[Integers, np.ndarray]:
    """Columns of ramps, and what kernels need of each."""
    return np.array([each.column for each in ramps], np.int64), np.array([each.place for each in ramps], np.float64)


def whole(limbs: Integers) -> int:
    """A sum of products from its two limbs."""
    high, low = limbs.tolist()
    return (high << LINEAR_BITS) + low
