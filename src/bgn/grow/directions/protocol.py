"""What strategies for directions receive and return."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bgn.engines.protocol import Floats
from bgn.model.term import Projection


@dataclass(frozen=True)
class Others:
    """What the other rules of the layer explain, for held_to a new one. A new rule with +-1 answers h lowers the
    training objective by ``(h.r)^2 / (h.h + ridge - b'Pb)``, where r is the residual, ``b = H'h`` its products with the
    constant and the rules that are refitted along with it (`slots`), and P (`inverse`) the inverse of ``H'H + ridge``.
    A rule they already answer counts for little. Where the others stay as they are, only the constant is refitted.
    `ridge` is the penalty by the curvature of the loss, `penalty` the penalty itself."""

    total: int
    ridge: float
    inverse: Floats
    slots: NDArray[np.int64]
    penalty: float

    def staying(self) -> Others:
        """The same, were the others not refitted."""
        return replace(self, inverse=np.array([[1.0 / self.total]]), slots=self.slots[:0])


@dataclass(frozen=True)
class RatedDirection:
    """A direction, what it promises, and the window in which to cut it."""

    score: float
    projection: Projection
    window: tuple[float, float]
