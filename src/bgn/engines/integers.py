"""From floats to integers whose sums do not depend on the order of the rows.

Targets live on a grid of spacing ``2**-exponent``; residuals and output weights are whole numbers of grid steps.
Row weights are whole numbers too. The bits are divided so that no sum over rows can pass 2**61, and depend
only on the total weight: a row of weight 2 and the row twice give the same integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_SUM_BITS = 61
_HEADROOM = 4
_MOST_TARGET_BITS = 38
COLUMN_BITS = 30


@dataclass(frozen=True)
class Grid:
    """Whole numbers for targets: ``value = centre + steps * 2**-exponent``."""

    centre: float
    exponent: int
    bits: int

    @classmethod
    def for_range(cls, low: float, high: float, total_weight: int) -> Grid:
        """The finest grid on which sums of residuals of targets between `low` and `high` stay below 2**61."""
        centre, half = low / 2 + high / 2, high / 2 - low / 2
        room = _SUM_BITS - _HEADROOM - max(total_weight, 1).bit_length()
        bits = min(_MOST_TARGET_BITS, room)
        if bits < 8:
            raise ValueError(f"the row weights add up to {total_weight}, too many to sum exactly; scale them down.")
        return cls(centre, bits - math.frexp(half)[1] if half > 0 else 0, bits)

    @property
    def limit(self) -> int:
        """Residuals beyond this are clipped where they are squared."""
        return 1 << (self.bits + _HEADROOM)

    def steps(self, y: NDArray[np.float64]) -> Integers:
        """Nearest whole number of steps of each target."""
        far = np.ldexp(np.clip(y / 2 - self.centre / 2, -1e308, 1e308), self.exponent + 1)
        return np.rint(np.clip(far, -float(self.limit), float(self.limit))).astype(np.int64)

    def value(self, steps: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """A difference of `steps` in the target's units; the centre is not added."""
        return np.ldexp(np.asarray(steps, dtype=np.float64), -self.exponent)
