"""The exact cut of a projection, from what parts of the rows know about it.

A :class:`Sieve` sorts rows into cells along a direction. Parts add up what a cut needs to know of every cell; these
sums merge, and together they leave a few cells where the best cut may hide (:func:`prune`). Their rows, from
all parts, are then sorted and tried one by one (:func:`best_inside`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.kernels import cuts
from bgn.engines.protocol import Floats, Integers, Output
from bgn.model.neuron import Projection

CELLS = 8192
CELLS_IN_WINDOW = 2048
_INNER_CELLS = 2048
PROBES = 64  # rows of a part that tell how far projections reach
_FEW_ROWS = 2048

# Gain, weight below, sum below, projection just below, projection just above.
Best = tuple[float, int, int, float, float]
NO_CUT: Best = (-1.0, 0, 0, 0.0, 0.0)
_NOTHING_BEFORE = np.zeros((1, 2), np.int64)
# Projection, residual, weight (or nothing) and cell of some rows.
RowsInCells = tuple[Floats, Integers, Integers, NDArray[np.uint16]]
# Weight, (residual sum, sum of positive residuals) and (smallest, largest) projection of every cell.
CellSums = tuple[Integers, Integers, Floats]
# Columns, which of them, and their coefficients.
Line = tuple[NDArray[Any], Integers, Floats]


@dataclass(frozen=True, eq=False)
class Finer:
    """Cells inside cells: `size` for each that has a family number in `family` (-1 for those left out)."""

    family: Integers
    extent: Floats
    size: int


@dataclass(frozen=True, eq=False)
class Sieve:
    """Which cell a row falls in, given the residual that `output` leaves.

    Cell ``floor((z - low) * scale)``, clamped to 0 .. size - 1; then, level by level, a finer one inside it. Where it
    is `bounded`, no cut is looked for inside the first and the last cell.
    """

    output: Output
    projection: Projection
    low: float
    scale: float
    size: int
    finer: tuple[Finer, ...] = ()
    bounded: bool = False

    @property
    def n_cells(self) -> int:
        """Number of cells of the last level."""
        return self.finer[-1].size * (int(self.finer[-1].family.max()) + 1) if self.finer else self.size

    def same(self, other: Sieve) -> bool:
        """True when both sort rows into the same affine cells."""
        return (self.projection, self.low, self.scale, self.size, self.bounded) == (
            other.projection, other.low, other.scale, other.size, other.bounded
        )  # fmt: skip

    def inside(self, pruned: PrunedCells) -> Sieve:
        """The sieve that splits the cells that survived."""
        return replace(self, finer=(*self.finer, pruned.finer()))


@dataclass(frozen=True, eq=False)
class PrunedCells:
    """Cells and the best cut at their edges: which cells may hide a better one, and what lies before each."""

    best: Best
    cells: CellSums
    survives: NDArray[np.uint8]
    survivors: int
    prefix: Integers

    @property
    def weight_inside(self) -> int:
        """Weight of the rows in surviving cells; at least their number."""
        return int(self.cells[0][self.survives > 0].sum())

    @property
    def chosen(self) -> Integers:
        """Numbers of the surviving cells."""
        return np.flatnonzero(self.survives)

    def finer(self) -> Finer:
        """Cells of its own for every surviving cell."""
        family = np.full(len(self.survives), -1, np.int64)
        family[self.chosen] = np.arange(self.survivors)
        return Finer(family, self.cells[2], max(2, 2 * _INNER_CELLS // self.survivors))


def merge(parts: Sequence[CellSums]) -> CellSums:
    """Cells of several parts, as one; the first part's arrays are written over."""
    whole, *others = parts
    for count, sums, extent in others:
        whole[0][:] += count
        whole[1][:] += sums
        np.minimum(whole[2][:, 0], extent[:, 0], out=whole[2][:, 0])
        np.maximum(whole[2][:, 1], extent[:, 1], out=whole[2][:, 1])
    return whole


def prune(
    cells: CellSums, rows: int, total: int, best: Best = NO_CUT, starts: Integers | None = None, bounded: bool = False
) -> PrunedCells:
    """The best cut at an edge between cells, and the cells that may hide a better one.

    `starts` holds weight and residual sum before each family of cells. When `bounded`, nothing is looked for
    inside the first and the last cell.
    """
    size = len(cells[0])
    survives, prefix = np.empty(size, np.uint8), np.empty((size, 2), np.int64)
    starts = _NOTHING_BEFORE if starts is None else starts
    best, survivors = cuts.prune_cells(cells, starts, rows, total, best, survives, prefix)
    if bounded:
        survivors -= int(survives[0]) + int(survives[-1])
        survives[0] = survives[-1] = 0
    return PrunedCells(best, cells, survives, survivors, prefix)


def best_inside(rows: RowsInCells, pruned: PrunedCells, weight: int, total: int) -> Best:
    """Try the cuts inside the surviving cells: split them once more if they hold many rows, then sort."""
    if len(rows[0]) > _FEW_ROWS and 2 * pruned.survivors <= _INNER_CELLS:
        rows, pruned = _split(rows, pruned, weight, total)
    return cuts.scan_sorted(chosen_rows(rows, rows[0].argsort()), pruned.prefix, weight, total, pruned.best)


def _split(rows: RowsInCells, pruned: PrunedCells, weight: int, total: int) -> tuple[RowsInCells, PrunedCells]:
    """Give every surviving cell finer cells of its own; keep the rows of those that survive."""
    cells, finer = rows[3], pruned.finer()
    cuts.refine_cells(rows[0], cells, finer.family, finer.extent, finer.size)
    sums = cuts.empty_cells(finer.size * pruned.survivors)
    cuts.add_to_cells(rows, sums)
    again = prune(sums, weight, total, pruned.best, pruned.prefix[pruned.chosen])
    return chosen_rows(rows, np.flatnonzero(again.survives[cells])), again


def joined_rows(parts: Sequence[RowsInCells]) -> RowsInCells:
    """Rows of several parts, as one."""
    if len(parts) == 1:
        return parts[0]
    z, values, heavy, cells = zip(*parts, strict=True)
    return np.concatenate(z), np.concatenate(values), np.concatenate(heavy), np.concatenate(cells)


def chosen_rows(rows: RowsInCells, which: NDArray[Any]) -> RowsInCells:
    """Some of the rows, in the given order."""
    z, values, heavy, cells = rows
    return z[which], values[which], heavy[which] if len(heavy) else heavy, cells[which]


def line_of(columns: NDArray[Any], projection: Projection) -> Line:
    """What kernels need to project rows: columns, index and coefficients.

    Of a projection with categories the columns are what each of its own adds.
    """
    if projection.numeric:
        return columns, *projection.arrays
    found = np.empty((len(projection.columns), columns.shape[1]))
    for to, j, each in zip(found, projection.columns, projection.coefficients, strict=True):
        to[:] = np.array(each)[columns[j].astype(np.intp)] if isinstance(each, tuple) else columns[j] * np.float64(each)
    return found, np.arange(len(found)), np.ones(len(found))
