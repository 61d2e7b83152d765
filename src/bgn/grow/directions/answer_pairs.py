"""Pairs of yes/no columns: which two answers of a layer, taken together, explain a residual best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgn.engines.protocol import Floats, Integers
from bgn.model.neuron import Projection

_EXACT = 53  # bits of a whole number that a float64 holds


class AnswerPairs:
    """Counts of every pair of +-1 columns.

    Two answers make four groups of rows, and each of them can be cut off from the other three: "a and b", "a and
    not b" and so on. The sums of all groups come from one matrix product of whole numbers that float64 holds
    exactly, so they do not depend on the order of the rows.
    """

    def __init__(self, columns: NDArray[np.int8], weight: Integers) -> None:
        self._yes = (columns > 0).astype(np.float64)
        self._weight = weight.astype(np.float64)
        self._count = (self._yes * self._weight) @ self._yes.T
        self._total = float(weight.sum())

    def best(self, columns: Integers, values: Integers, most: int) -> list[Projection]:
        """The pairs among `columns` with the largest gain, the largest first; `values` are weighted residuals."""
        shift = max(0, int(np.abs(values).sum()).bit_length() - _EXACT)
        whole = (values >> shift).astype(np.float64)
        yes = self._yes[columns]
        both = (yes * whole) @ yes.T
        count = self._count[np.ix_(columns, columns)]
        alone, number, everything = np.diag(both), np.diag(count), float(whole.sum())
        mean = everything / self._total
        same = np.maximum(
            self._gain(count, both, mean),
            self._gain(
                self._total - number[:, None] - number + count, everything - alone[:, None] - alone + both, mean
            ),
        )
        apart = self._gain(number[:, None] - count, alone[:, None] - both, mean)
        opposed = np.maximum(apart, apart.T)
        rows, others = np.triu_indices(len(columns), 1)
        gains = np.maximum(same, opposed)[rows, others]
        directions = []
        for k in np.argsort(-gains, kind="stable")[:most]:
            a, b = int(rows[k]), int(others[k])
            sign = 1.0 if same[a, b] >= opposed[a, b] else -1.0
            directions.append(Projection((int(columns[a]), int(columns[b])), (1.0, sign)))
        return directions

    def _gain(self, count: Floats, sums: Floats, mean: float) -> Floats:
        """What cutting groups off gains, up to a factor; nothing where a group is empty or everything."""
        excess = sums - count * mean
        room = count * (self._total - count)
        return np.where(room > 0, excess * excess / np.maximum(room, 1.0), 0.0)
