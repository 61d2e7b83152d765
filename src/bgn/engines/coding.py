"""From the columns of a table to the columns that engines hold, and from rules on these back to rules on its own.

Engines hold finite numbers. A number column with missing values becomes two: itself, with a value in their place, and
a 0/1 column that marks them, the marks of all columns after the columns themselves. An unordered category is the number
of its category, and a missing value in it one more; an ordered one is a number like any other.
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
        For every column of the table the number of its categories, None for a number.
    ordered : tuple of bool
        For every column whether its categories have an order.
    typical : tuple of float
        For every column what a missing value counts as.
    marked : tuple of int
        Numbers and ordered categories that have missing values, in order; each has a 0/1 column that marks them.
    """

    categories: tuple[int | None, ...]
    ordered: tuple[bool, ...]
    typical: tuple[float, ...]
    marked: tuple[int, ...] = ()

    @property
    def n_columns(self) -> int:
        return len(self.categories)

    @property
    def subsets(self) -> tuple[int, ...]:
        """The columns of unordered categories, of which a rule names some."""
        pairs = enumerate(zip(self.categories, self.ordered, strict=True))
        return tuple(j for j, (categories, ordered) in pairs if categories is not None and not ordered)

    @property
    def plain(self) -> bool:
        """True where an engine's columns are the table's."""
        return not self.marked and not self.subsets

    def mark_of(self, column: int) -> int:
        """The engine's column that marks the missing values of one."""
        return self.n_columns + self.marked.index(column)

    def owner(self, column: int) -> int:
        """The table's column that an engine's belongs to."""
        return column if column < self.n_columns else self.marked[column - self.n_columns]

    def columns(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The columns of an engine, (columns, rows), given those of the table."""
        has_missing = np.isnan(raw).any(axis=1)
        if self.plain and not has_missing.any():
            return raw
        columns = np.empty((self.n_columns + len(self.marked), raw.shape[1]), raw.dtype)
        columns[: self.n_columns] = raw
        for column, missing in zip(self.marked, columns[self.n_columns :], strict=True):
            missing[:] = np.isnan(raw[column])
        for column in np.flatnonzero(has_missing).tolist():
            columns[column, np.isnan(raw[column])] = self.fill_value(column)
        return columns

    def fill_value(self, column: int) -> float:
        """What stands in an engine's column where the table has a missing value."""
        return float(self.categories[column] or 0) if column in self.subsets else self.typical[column]

    # -- back to the table ---------------------------------------------------------------------------------

    def rule(self, rule: Oblique, seen: Sequence[tuple[float, float, bool]]) -> Oblique:
        """An engine's rule as one on the table's columns; `seen` is the engine's."""
        line = rule.projection
        owners = tuple(map(self.owner, line.columns))
        if len(set(owners)) == 1:
            return self._about_one(owners[0], rule, seen[owners[0]])
        coefficients = tuple(map(self._coefficient, line.columns, line.coefficients))
        if not any(column in self.marked or column in self.subsets for column in owners):
            return Oblique(Projection(owners, coefficients), rule.threshold)
        has_missing = tuple(map(self._missing_value, line.columns, line.coefficients))
        columns, coefficients, has_missing = zip(
            *sorted(zip(owners, coefficients, has_missing, strict=True)), strict=True
        )
        return Oblique(Projection(columns, coefficients, has_missing), rule.threshold)

    def _about_one(self, column: int, rule: Oblique, seen: tuple[float, float, bool]) -> Oblique:
        """A rule about one column, and perhaps the marks of its missing values."""
        coefficient, *mark = rule.projection.coefficients
        threshold = rule.threshold
        if rule.projection.columns[0] >= self.n_columns:  # its missing values alone
            return Oblique(Projection((column,), (self._nothing(column),)), 1.0, True)
        if isinstance(coefficient, tuple):  # some categories, the missing value last
            *yes, missing = (value >= threshold for value in coefficient)
            return Oblique(Projection((column,), (tuple(map(float, yes)),)), 1.0, missing)
        if column not in self.marked:
            threshold = self._threshold(column, threshold, coefficient)
            return Oblique(Projection((column,), (self._coefficient(column, coefficient),)), threshold)
        missing_value = coefficient * self.typical[column] + sum(mark)  # type: ignore[arg-type]
        low, high = sorted(coefficient * end for end in seen[:2])
        if threshold > high or threshold <= low:  # asks for missing values alone
            return Oblique(
                Projection((column,), (self._nothing(column),)), float(threshold > high), missing_value >= threshold
            )
        projection = Projection((column,), (self._coefficient(column, coefficient),))
        return Oblique(projection, self._threshold(column, threshold, coefficient), missing_value >= threshold)

    def _threshold(self, column: int, threshold: float, coefficient: float) -> float:
        """What the first category that reaches it counts as, where the column is ordered."""
        reaching = (coefficient * code for code in range(self.categories[column] or 0))
        return min((value for value in reaching if value >= threshold), default=threshold)

    def _nothing(self, column: int) -> Coefficient:
        """A coefficient that takes no notice of a value."""
        categories = self.categories[column]
        return 0.0 if categories is None else (0.0,) * categories

    def _missing_value(self, column: int, coefficient: Coefficient) -> float:
        if isinstance(coefficient, tuple):
            return coefficient[-1]
        if column >= self.n_columns:
            return coefficient
        return self.typical[column] * (1.0 if self.categories[column] is None else coefficient)

    def _coefficient(self, column: int, rule: Coefficient) -> Coefficient:
        """The coefficient of a table's column, given that of an engine's."""
        if column >= self.n_columns:
            return self._nothing(self.owner(column))
        categories = self.categories[column]
        if isinstance(rule, tuple):
            return rule[:-1]
        return rule if categories is None else tuple(rule * code for code in range(categories))


def n_columns_read(line: Projection, coding: Coding | None) -> int:
    """How many columns of the table a sum over an engine's asks about; marks of missing values belong to theirs."""
    return len(line.columns if coding is None or not coding.marked else {*map(coding.owner, line.columns)})


def coding_of(
    columns: Sequence[Column], has_missing: NDArray[np.bool_], sample: NDArray[Any], weight: Integers
) -> Coding:
    """How a table's columns become an engine's, given which have missing values, and a sample of the rows."""
    categories = tuple(None if column.categories is None else len(column.categories) for column in columns)
    ordered = tuple(column.ordered for column in columns)
    pairs = zip(sample, categories, strict=True)
    typical = tuple(_commonest(values, weight, n) if n is not None else _median(values, weight) for values, n in pairs)
    marked = (j for j in np.flatnonzero(has_missing).tolist() if categories[j] is None or ordered[j])
    return Coding(categories, ordered, typical, tuple(marked))


def rare_categories(
    columns: Sequence[Column], sample: NDArray[Any], weight: Integers, unit: float
) -> tuple[tuple[int, ...], ...]:
    """The categories of each unordered column that fewer than ten rows of a sample have; a row weighs `unit`."""
    rare = []
    for column, codes in zip(columns, sample, strict=True):
        categories = 0 if column.categories is None or column.ordered else len(column.categories)
        there = ~np.isnan(codes) & (categories > 0)
        counts = np.zeros(categories, np.int64)
        np.add.at(counts, codes[there].astype(np.int64), weight[there])
        rare.append(tuple(np.flatnonzero(counts < RARE * unit).tolist()))
    return tuple(rare)


def _median(values: NDArray[Any], weight: Integers) -> float:
    """The value up to which half of the weight lies, missing values left aside; one that is there."""
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
    """The category of most weight, the first of several."""
    there = ~np.isnan(codes)
    counts = np.zeros(max(categories, 1), np.int64)
    np.add.at(counts, codes[there].astype(np.int64), weight[there])
    return float(np.argmax(counts))
