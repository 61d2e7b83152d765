"""Questions about one column, as a sample of rows sees them: where to cut a number, which levels of a category to ask
for, and on which side of a cut gaps are best.

A number without gaps is one line. One with gaps is three, which differ in where gaps lie: at the value that stands in
for them, below all numbers, and above. A category is one line too, of 0 and 1: the levels that are asked for are those
with the highest residuals, and change with it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bgn.engines.coding import Coding
from bgn.engines.kernels.cuts import best_subsets
from bgn.engines.protocol import Engine, Floats, Integers
from bgn.grow.constraints import Constraints
from bgn.grow.directions.column_bins import ColumnBins
from bgn.grow.directions.pairs import Share
from bgn.grow.directions.screen import single_gains
from bgn.model.neuron import Projection

# Levels are taken to have so many rows more than they have, with the mean residual of all.
_PRIOR = 10.0
# Of the variance between levels that differ by chance alone, the best two groups of them explain so much.
_BY_CHANCE = 2 / math.pi
_LINES_PER_THREAD = 64


class Subsets:
    """Which levels of the unordered categories to ask for."""

    def __init__(self, coding: Coding, columns: NDArray[np.float64], weight: Integers, unit: float) -> None:
        self.columns, self._prior = coding.subsets, _PRIOR * unit
        self.codes = columns[list(self.columns)].astype(np.int32)
        levels = [(coding.levels[j] or 0) + 1 for j in self.columns]  # one more for gaps
        self._starts = np.cumsum([0, *levels])
        self._count = np.zeros(self._starts[-1], np.int64)
        for start, codes in zip(self._starts.tolist(), self.codes, strict=False):
            np.add.at(self._count, start + codes, weight)
        self._chosen = np.zeros(len(self._count), np.uint8)
        self.gains = np.zeros(len(self.columns))
        self.different = np.array([np.count_nonzero(self._count[a:b]) for a, b in self._places()])

    def _places(self) -> list[tuple[int, int]]:
        return list(zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True))

    def choose(self, values: Integers, rows: int, total: int) -> None:
        """Choose levels by weighted residuals."""
        about = self._starts, self._count, values, rows, total, self._prior
        best_subsets(self.codes, *about, self._chosen, self.gains)

    def chosen(self) -> list[NDArray[np.uint8]]:
        """For every category which levels are asked for, the gap's last."""
        return [self._chosen[a:b] for a, b in self._places()]

    def spelled(self, direction: Projection) -> Projection:
        """A projection of columns of 0 and 1 in their place, with a value per level."""
        if not any(j in self.columns for j in direction.columns):
            return direction
        coefficients = []
        chosen = dict(zip(self.columns, self.chosen(), strict=True))
        for j, each in zip(direction.columns, direction.factors, strict=True):
            coefficients.append(tuple(each if one else 0.0 for one in chosen[j].tolist()) if j in chosen else each)
        return Projection(direction.columns, tuple(coefficients))

    def luck(self) -> dict[int, float]:
        """What the levels of each category seem to gain by chance, in units of the variance."""
        return dict(zip(self.columns, (_BY_CHANCE * np.maximum(self.different - 1, 0)).tolist(), strict=True))


class SingleLines:
    """Lines along one column each, screened by bins; `owner` tells the column of every line."""

    def __init__(self, bins: ColumnBins, coding: Coding | None, train: Engine, constraints: Constraints) -> None:
        columns = len(bins.different)
        n_columns = columns if coding is None else coding.n_columns
        self.lines = [*bins.lines]
        owner = [*range(n_columns)]
        for j in () if coding is None else coding.marked:
            owner.append(j)
        for j in () if coding is None else coding.marked:
            mark, far = coding.mark_of(j), _beyond(*train.seen()[j][:2])  # type: ignore[union-attr]
            self.lines += [Projection((j, mark), (1.0, -far)), Projection((j, mark), (1.0, far))]
            owner += [j, j]
        self._codes, self._count = bins.codes, bins.weights
        self._owner = np.array(owner)
        self._wanted = constraints.of_all([line.columns[0] for line in self.lines])
        self._n_columns, self._plain = n_columns, len(self.lines) == n_columns

    def gains(self, values: Integers, rows: int, total: int, share: Share) -> Floats:
        """What every line gains; the engine's columns come first."""
        gains, about = np.zeros(len(self._codes)), (values, rows, total)

        def part(some: slice) -> None:
            single_gains(self._codes[some], self._count[some], *about, self._wanted[some], gains[some])

        share(part, len(gains), _LINES_PER_THREAD)
        return gains

    def best(self, gains: Floats) -> tuple[Floats, Integers]:
        """What every column of the table gains, and along which of its lines."""
        if self._plain:
            return gains, np.arange(len(gains))
        best, which = np.full(self._n_columns, -1.0), np.zeros(self._n_columns, np.int64)
        for line in np.argsort(-gains, kind="stable")[::-1].tolist():  # the last that is written is the best
            best[self._owner[line]], which[self._owner[line]] = gains[line], line
        return best, which


def largest(values: Floats, most: int) -> Integers:
    """Where the largest values are, at most so many, the largest first and of equal ones the first."""
    some = np.arange(len(values))
    if len(values) > 4 * most:
        some = np.flatnonzero(values >= np.partition(values, len(values) - most)[len(values) - most])
    return some[np.argsort(-values[some], kind="stable")][:most]


def _beyond(low: float, high: float) -> float:
    """A power of two by which a gap is moved beyond all numbers of a column."""
    reach = high / 2 - low / 2
    return math.ldexp(1.0, math.frexp(reach)[1] + 1) if reach > 0 else 1.0
