"""From the columns of a table to the columns that engines hold, and from the questions asked of these back to its own.

Engines hold finite numbers. A number column with gaps becomes two: itself, with a value that stands in for gaps, and
a 0/1 column that marks them, the marks of all columns after the columns themselves. An unordered category is the number
of its level, and a gap in it one level more; an ordered one is a number like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.protocol import Integers
from bgn.model.categories import RARE
from bgn.model.schema import Column
from bgn.model.term import Coefficient, Oblique, Projection


@dataclass(frozen=True)
class Coding:
    """How a table's columns become an engine's.

    Parameters
    ----------
    categories : tuple of int or None
        For every column of the table the number of its levels, None for a number.
    ordered : tuple of bool
        For every column whether its levels have an order.
    typical : tuple of float
        For every column what a gap counts as.
    marked : tuple of int
        Numbers and ordered categories that have gaps, in order; each has a 0/1 column that marks them.
    """

    categories: tuple[int | None, ...]
    ordered: tuple[bool, ...]
    typical: tuple[float, ...]
    marked: tuple[int, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns of the table."""
        return len(self.categories)

    @property
    def subsets(self) -> tuple[int, ...]:
        """The unordered categories, of which questions ask for some of the levels."""
        pairs = enumerate(zip(self.categories, self.ordered, strict=True))
        return tuple(j for j, (categories, ordered) in pairs if categories is not None and not ordered)

    @property
    def plain(self) -> bool:
        """True where an engine's columns are the table's."""
        return not self.marked and not self.subsets

    def mark_of(self, column: int) -> int:
        """The engine's column that marks the gaps of one."""
        return self.n_columns + self.marked.index(column)

    def owner(self, column: int) -> int:
        """The table's column that an engine's belongs to."""
        return column if column < self.n_columns else self.marked[column - self.n_columns]

    def columns(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The columns of an engine, (columns, rows), given those of the table."""
        gaps = np.isnan(raw).any(axis=1)
        if self.plain and not gaps.any():
            return raw
        found = np.empty((self.n_columns + len(self.marked), raw.shape[1]), raw.dtype)
        found[: self.n_columns] = raw
        for column, missing in zip(self.marked, found[self.n_columns :], strict=True):
            missing[:] = np.isnan(raw[column])
        for column in np.flatnonzero(gaps).tolist():
            found[column, np.isnan(raw[column])] = self.in_gaps(column)
        return found

    def in_gaps(self, column: int) -> float:
        """What stands in an engine's column where the table has a gap."""
        return float(self.categories[column] or 0) if column in self.subsets else self.typical[column]

    # -- back to the table ---------------------------------------------------------------------------------

    def neuron(self, asked: Oblique, seen: Sequence[tuple[float, float, bool]]) -> Oblique:
        """The question that an engine's neuron asks of the table; `seen` is the engine's."""
        line = asked.projection
        owners = tuple(map(self.owner, line.columns))
        if len(set(owners)) == 1:
            return self._about_one(owners[0], asked, seen[owners[0]])
        coefficients = tuple(map(self._coefficient, line.columns, line.coefficients))
        if not any(column in self.marked or column in self.subsets for column in owners):
            return Oblique(Projection(owners, coefficients), asked.threshold)
        gaps = tuple(map(self._gap, line.columns, line.coefficients))
        columns, coefficients, gaps = zip(*sorted(zip(owners, coefficients, gaps, strict=True)), strict=True)
        return Oblique(Projection(columns, coefficients, gaps), asked.threshold)

    def _about_one(self, column: int, asked: Oblique, seen: tuple[float, float, bool]) -> Oblique:
        """A question about one column, and perhaps the marks of its gaps."""
        coefficient, *mark = asked.projection.coefficients
        threshold = asked.threshold
        if asked.projection.columns[0] >= self.n_columns:  # its gaps alone
            return Oblique(Projection((column,), (self._nothing(column),)), 1.0, True)
        if isinstance(coefficient, tuple):  # some levels, the gap last
            *yes, missing = (value >= threshold for value in coefficient)
            return Oblique(Projection((column,), (tuple(map(float, yes)),)), 1.0, missing)
        if column not in self.marked:
            threshold = self._threshold(column, threshold, coefficient)
            return Oblique(Projection((column,), (self._coefficient(column, coefficient),)), threshold)
        gap = coefficient * self.typical[column] + sum(mark)  # type: ignore[arg-type]
        low, high = sorted(coefficient * each for each in seen[:2])
        if threshold > high or threshold <= low:  # asks for gaps alone
            return Oblique(Projection((column,), (self._nothing(column),)), float(threshold > high), gap >= threshold)
        projection = Projection((column,), (self._coefficient(column, coefficient),))
        return Oblique(projection, self._threshold(column, threshold, coefficient), gap >= threshold)

    def _threshold(self, column: int, threshold: float, coefficient: float) -> float:
        """What the first level that reaches it counts as, where the column is an ordered category."""
        reaching = (coefficient * code for code in range(self.categories[column] or 0))
        return min((each for each in reaching if each >= threshold), default=threshold)

    def _nothing(self, column: int) -> Coefficient:
        """A coefficient that takes no notice of a value."""
        categories = self.categories[column]
        return 0.0 if categories is None else (0.0,) * categories

    def _gap(self, column: int, coefficient: Coefficient) -> float:
        """What a gap counts as beside other columns."""
        if isinstance(coefficient, tuple):
            return coefficient[-1]
        if column >= self.n_columns:
            return coefficient
        return self.typical[column] * (1.0 if self.categories[column] is None else coefficient)

    def _coefficient(self, column: int, asked: Coefficient) -> Coefficient:
        """The coefficient of a table's column, given that of an engine's."""
        if column >= self.n_columns:
            return self._nothing(self.owner(column))
        categories = self.categories[column]
        if isinstance(asked, tuple):
            return asked[:-1]
        return asked if categories is None else tuple(asked * code for code in range(categories))


def columns_asked(line: Projection, coding: Coding | None) -> int:
    """How many columns of the table a sum over an engine's asks about; marks of gaps belong to theirs."""
    return len(line.columns if coding is None or not coding.marked else {*map(coding.owner, line.columns)})


def coding_of(columns: Sequence[Column], gaps: NDArray[np.bool_], sample: NDArray[Any], weight: Integers) -> Coding:
    """How a table's columns become an engine's, given which have gaps, and a sample of the rows."""
    categories = tuple(None if column.categories is None else len(column.categories) for column in columns)
    ordered = tuple(column.ordered for column in columns)
    pairs = zip(sample, categories, strict=True)
    typical = tuple(_commonest(values, weight, n) if n is not None else _median(values, weight) for values, n in pairs)
    marked = (j for j in np.flatnonzero(gaps).tolist() if categories[j] is None or ordered[j])
    return Coding(categories, ordered, typical, tuple(marked))


def rare_categories(
    columns: Sequence[Column], sample: NDArray[Any], weight: Integers, unit: float
) -> tuple[tuple[int, ...], ...]:
    """The levels of each unordered category that fewer than ten rows have, of a sample whose rows weigh `unit` each."""
    found = []
    for column, codes in zip(columns, sample, strict=True):
        categories = 0 if column.categories is None or column.ordered else len(column.categories)
        there = ~np.isnan(codes) & (categories > 0)
        counts = np.zeros(categories, np.int64)
        np.add.at(counts, codes[there].astype(np.int64), weight[there])
        found.append(tuple(np.flatnonzero(counts < RARE * unit).tolist()))
    return tuple(found)


def _median(values: NDArray[Any], weight: Integers) -> float:
    """The value up to which half of the weight lies, gaps left aside; one that is there."""
    there = ~np.isnan(values)
    values, weight = values[there], weight[there]
    if len(values) == 0:
        return 0.0
    if (weight == weight[0]).all():  # no need to put all in order
        middle = (len(values) - 1) // 2
        return float(np.partition(values, middle)[middle]) + 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(2 * reached, reached[-1])]) + 0.0


def _commonest(codes: NDArray[Any], weight: Integers, categories: int) -> float:
    """The level of most weight, the first of several."""
    there = ~np.isnan(codes)
    counts = np.zeros(max(categories, 1), np.int64)
    np.add.at(counts, codes[there].astype(np.int64), weight[there])
    return float(np.argmax(counts))
