"""Between a table and the search: columns as bins, and what the search found as terms about the columns.

A column of numbers is cut between the values that the search rows have, at most ``MOST_BINS`` times, at places that as
many rows lie between; an unordered column has a bin per category. Missing values have the bin after the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.engines.coding import Coding
from bgn.engines.raw_rows import Sample
from bgn.grow.conditions.climb import Model, total_of
from bgn.grow.conditions.moves import Rows
from bgn.model.numbers import shortest
from bgn.model.step import Floats
from bgn.model.term import Condition, Linear, Member, Missing, Rule, Term, Threshold

MOST_BINS = 255
"""Of a column: as many as boosting on histograms commonly has."""


@dataclass(frozen=True, eq=False)
class Bins:
    """How the columns of a table are cut.

    Parameters
    ----------
    coding : Coding
        Kinds of the columns, what a missing value of each counts as, and which numbers have missing ones.
    lower, upper : tuple of ndarray
        The values on either side of every cut of a column; empty for unordered categories.
    given : mapping of int to ndarray
        Cuts that were asked for, by column.
    ends : tuple of (float, float)
        The least and the greatest value of every column.
    middle, std : ndarray
        Mean and deviation of every column, by which linear terms are scaled.
    """

    coding: Coding
    lower: tuple[Floats, ...]
    upper: tuple[Floats, ...]
    given: Mapping[int, Floats]
    ends: tuple[tuple[float, float], ...]
    middle: Floats
    std: Floats

    @classmethod
    def of(cls, sample: Sample, coding: Coding, given: Mapping[int, Floats]) -> Bins:
        """Return bins for the columns of some rows; `given` are the only cuts of some columns."""
        lower, upper, ends, middle, std = [], [], [], [], []
        weight = sample.weight.astype(np.float64)
        for j, raw in enumerate(sample.columns):
            values = raw.astype(np.float64)
            there = ~np.isnan(values)
            known, heavy = values[there], weight[there]
            if coding.categories[j] is not None and not coding.ordered[j]:
                known = np.zeros(1)
                cuts = known[1:], known[1:]
            elif j in given:
                cuts = given[j], given[j]
            else:
                cuts = _cuts(known, heavy)
            lower.append(cuts[0])
            upper.append(cuts[1])
            ends.append((float(known.min()), float(known.max())) if len(known) else (0.0, 0.0))
            filled = np.where(there, values, coding.typical[j])
            center = 2.0 * total_of(weight * (filled / 2 - filled[0] / 2)) / total_of(weight) + float(filled[0])
            middle.append(center)
            with np.errstate(over="ignore"):  # then it has no linear term
                std.append(float(np.sqrt(total_of(weight * (filled - center) ** 2) / total_of(weight))))
        return cls(
            coding, tuple(lower), tuple(upper), given, tuple(ends), np.array(middle), np.array(std)
        )

    def rows(self, sample: Sample, targets: Floats, unit: float) -> Rows:
        """Return rows to search on; `unit` is the weight of one row."""
        columns = sample.columns
        counts = np.array([*map(self.count, range(len(columns)))], np.int64)
        codes = np.empty(columns.shape, np.uint16 if counts.max(initial=0) >= 255 else np.uint8)
        lines = np.full(columns.shape, np.nan)
        for j, raw in enumerate(columns):
            values = raw.astype(np.float64)
            missing = np.isnan(values)
            if self.unordered(j):
                codes[j] = np.where(missing, counts[j], np.where(missing, 0, values).astype(np.int64))
                continue
            codes[j] = np.where(missing, counts[j], np.searchsorted(self.upper[j], values, side="right"))
            if self.coding.categories[j] is None and counts[j] > 2 and np.isfinite(self.std[j]) and self.std[j]:
                filled = np.clip(np.where(missing, self.coding.typical[j], values), *self.ends[j])
                lines[j] = (filled - self.middle[j]) / self.std[j]
        ordered = np.array([not self.unordered(j) for j in range(len(columns))])
        return Rows(codes, counts, ordered, lines, targets, sample.weight / unit)

    def unordered(self, column: int) -> bool:
        """Whether a column's categories have no order."""
        return self.coding.categories[column] is not None and not self.coding.ordered[column]

    def count(self, column: int) -> int:
        """How many bins a column has, missing values aside."""
        return int(self.coding.categories[column] or 0) if self.unordered(column) else len(self.upper[column]) + 1

    # -- back to terms -------------------------------------------------------------------------------------------

    def terms(self, model: Model) -> tuple[list[Term], Floats, Floats]:
        """Return the terms of a model, its intercept and its weights, shape (terms, outputs)."""
        terms: list[Term] = []
        weights, intercept = [], model.beta[:, 0].copy()
        for t in range(1, len(model.linear)):
            j, weight = int(model.linear[t]), model.beta[:, t]
            if j >= 0:
                terms.append(Linear(j, *self.ends[j], self.coding.typical[j]))
                weights.append(weight / self.std[j])
                intercept = intercept - weight * self.middle[j] / self.std[j]
                continue
            pairs = [(int(j), table) for j, table in zip(model.columns[t], model.tables[t], strict=True) if j >= 0]
            terms.append(Rule(tuple(self._condition(j, table) for j, table in pairs)))
            weights.append(weight)
        return terms, intercept, np.array(weights).reshape(len(terms), len(intercept))

    def _condition(self, column: int, table: Any) -> Condition:
        """Return the condition that holds in the bins that a table marks."""
        count = self.count(column)
        holds, missing = table[:count].astype(bool), bool(table[count])
        categories = self.coding.categories[column]
        answers = missing if column in self.coding.marked or self.unordered(column) else None
        if not holds.any():
            return Missing(column, categories)
        if self.unordered(column):
            return Member(column, tuple(np.flatnonzero(holds).tolist()), answers, categories)
        rising = bool(holds[-1])
        place = int(np.argmax(holds)) if rising else int(np.argmin(holds))
        if categories is not None:  # in order
            first = int(self.upper[column][place - 1]) if place else 0
            codes = range(first, categories) if rising else range(first)
            return Member(column, tuple(codes), answers, categories)
        if place == 0:  # all that are known
            return Threshold(column, self.ends[column][0], ">=", answers)
        return Threshold(column, self.threshold(column, place - 1), ">=" if rising else "<", answers)

    def threshold(self, column: int, cut: int) -> float:
        """Return the shortest number that cuts a column at a place."""
        low, high = float(self.lower[column][cut]), float(self.upper[column][cut])
        return high if low == high else shortest(low, high)


def _cuts(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the values below and above every cut: between all values, or where about as many rows lie between."""
    different, place = np.unique(values, return_inverse=True)
    if len(different) <= MOST_BINS:
        return different[:-1], different[1:]
    reached = np.cumsum(np.bincount(place, weight, len(different)))
    share = np.floor(reached * (MOST_BINS / reached[-1]))
    cuts = np.flatnonzero(share[1:] > share[:-1])
    return different[cuts], different[cuts + 1]
