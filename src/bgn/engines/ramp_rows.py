"""What is asked of rows about ramps, the straight lines beside the neurons; a part of every engine but the GPU's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.kernels import ramps as kernels
from bgn.engines.protocol import Integers, Output
from bgn.engines.ramp import Ramp, places
from bgn.engines.shared_rows import SharedRows


class RampRows(SharedRows):
    """Rows and their ramps (what has no docstring: :class:`~bgn.engines.requests.RowPart`)."""

    output: Output
    residual: Callable[[Output], Integers]
    fired_sums: Callable[[Integers, int], Integers]
    codes: NDArray[np.uint8]

    def _ramp(self, ramp: Ramp) -> Integers:
        """The whole numbers of a ramp, one per row."""
        return self._fill(kernels.fill_ramp, self.columns, ramp.column, np.array(ramp.place))

    def _descended(self, start: Integers, output: Output) -> Integers:
        """Gaps less what the ramps of an output add."""
        if not output.ramps:
            return start
        return self._fill(kernels.descend, start, self.columns, *places(output.ramps), output.rates)

    def _heavy(self, values: Integers) -> Integers:
        return values * self.weight if len(self.weight) else values

    def _limbs_of(self, values: Integers, other: Integers) -> Integers:
        return self._sum(2, kernels.product_limbs, values, other, self.weight)

    def ramp_products(self, ramp: Ramp, others: Sequence[Ramp], width: int) -> Integers:
        own = self._ramp(ramp)
        heavy = self._heavy(own)
        limbs = [self._limbs_of(own, own if each == ramp else self._ramp(each)) for each in (*others, ramp)]
        return np.concatenate([[heavy.sum()], self.fired_sums(heavy, width), *limbs])

    def ramp_fired(self, ramps: Sequence[Ramp], slot: int) -> Integers:
        fires = self.codes[slot >> 3], slot & 7
        return self._sum(len(ramps), kernels.ramps_fired, self.columns, *places(ramps), fires, self.weight)

    def _residuals(self) -> Sequence[Any]:
        """The current residual, once per output."""
        return [self.residual(self.output)]

    def ramp_pulls(self, ramps: Sequence[Ramp]) -> Integers:
        residuals = self._residuals()
        wholes = [self._ramp(ramp) for ramp in ramps]
        return np.array([[self._limbs_of(own, each) for each in residuals] for own in wholes], np.int64)
