"""The columns of a sample in bins: they depend on no residual, so they are worked out once for all growths on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bgn.engines.coding import Coding
from bgn.engines.memory import MemoryEngine
from bgn.engines.protocol import Integers
from bgn.grow.directions.pairs import Binned, codes_of, different_values
from bgn.grow.directions.screen import FINE
from bgn.model.neuron import Projection

_FLAG = np.array([0.0, 1.0])


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """What screening knows of columns: how many values each has, and which where they are two; fine bins of every line
    along a single one (see :class:`~bgn.grow.directions.lines.SingleLines`), and coarse bins for pairs."""

    different: Integers
    two_values: list[list[float] | None]
    codes: NDArray[np.uint8]
    weights: Integers
    coarse: Binned
    lines: list[Projection]

    @classmethod
    def of(cls, columns: NDArray[Any], weight: Integers, coding: Coding | None) -> ColumnBins:
        """Bin columns; those of categories hold 0 and 1, as the levels that are asked for will tell."""
        subsets, marked = ((), ()) if coding is None else (coding.subsets, coding.marked)
        values = different_values(columns)
        for j in subsets:
            values[j] = _FLAG
        if subsets:
            columns = columns.astype(np.float64)
            columns[list(subsets)] = 0.0
        codes = [codes_of(*both, FINE) for both in zip(columns, values, strict=True)]
        for j in marked:
            missing = columns[coding.mark_of(j)] > 0  # type: ignore[union-attr]
            fewer = codes_of(columns[j], values[j], FINE - 1)
            codes += [np.where(missing, 0, fewer + 1).astype(np.uint8), np.where(missing, FINE - 1, fewer)]
        fine = np.stack(codes).astype(np.uint8)
        weights = np.stack([np.bincount(each, weight, FINE).astype(np.int64) for each in fine])
        two = [each.tolist() if len(each) == 2 else None for each in values]
        alone = [Projection((j,), (1.0,)) for j in range(len(columns))]
        return cls(np.array([*map(len, values)]), two, fine, weights, Binned.of(columns, values), alone)


_KNOWN: WeakKeyDictionary[MemoryEngine, ColumnBins] = WeakKeyDictionary()


def bins_of(sample: MemoryEngine, coding: Coding | None) -> ColumnBins:
    """The columns of a sample in bins, kept as long as the sample is. `coding` is always the same for one sample."""
    found = _KNOWN.get(sample)
    if found is None:
        part = sample.part
        weight = part.weight if len(part.weight) else np.ones(part.n_rows, np.int64)
        found = _KNOWN[sample] = ColumnBins.of(part.columns, weight, coding)
    return found
