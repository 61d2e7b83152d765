"""A yes/no question as it is asked, and how a person reads it.

A question compares a sum over a few columns with a threshold. :func:`bgn.model.cases.read` finds out where it can be
read without the sum: as thresholds of one number, case by case, or as a count of choices.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.decimals import EXACT, written
from bgn.model.neuron import Coefficient, Projection
from bgn.model.step import Bools

_RELATIONS = {">=": operator.ge, "<": operator.lt, ">": operator.gt, "<=": operator.le}
_MOST_TRIED = 64  # floats on each side of a difference


@dataclass(frozen=True)
class Choice:
    """A 0/1 column, a category or an answer from the layer below has one of some values.

    Parameters
    ----------
    column : int
        Which, as in ``Condition.columns``.
    values : tuple of int
        0 or 1, or numbers of levels; a single 0 for any value, where a question asks for missing values alone. None
        for a missing value alone.
    missing : bool, default False
        Whether a gap is among them.
    """

    column: int
    values: tuple[int, ...]
    missing: bool = False


@dataclass(frozen=True)
class Case:
    """A threshold of a number, for the rows where some choices hold.

    Parameters
    ----------
    where : tuple of Choice
        All of them must hold; none for the case of all other rows, which comes first.
    relation : {">=", "<", ">", "<="}
        How the number compares when the answer is yes.
    threshold : Decimal
    """

    where: tuple[Choice, ...]
    relation: str
    threshold: Decimal


@dataclass(frozen=True)
class Cases:
    """A question about the number in `column`: the case whose choices hold decides, otherwise the first."""

    column: int
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Count:
    """A question about choices: the answer is yes where at least `least` of them hold.

    Without choices it is "always" (`least` 0) or "never" (`least` 1).
    """

    least: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Condition:
    """A yes/no question: ``coefficients . inputs`` stands in `relation` to `threshold`.

    Parameters
    ----------
    layer, neuron : int
        Which neuron asks, both counted from 0.
    columns : tuple of int
        Inputs the neuron reads, in order: columns of the table for the first layer, neurons of the layer below after.
    coefficients : tuple of float or tuple of float
        One per column, the leading one 1 where the network stores it as +-1; of a category one per level.
    relation : {">=", "<", ">", "<="}
        How the sum compares when the answer is yes.
    threshold : float
        What the sum is compared with.
    missing : bool or None, default None
        The answer where a column has a gap; None where gaps are refused, or count as something.
    gaps : tuple of float or None, default None
        What a gap counts as, column by column: a value of the column or, for a category, what it adds to the sum.
    reading : Cases, Count or None, default None
        The same question as thresholds of one number, case by case, or as a count of choices; None for a sum.
    """

    layer: int
    neuron: int
    columns: tuple[int, ...]
    coefficients: tuple[Coefficient, ...]
    relation: str
    threshold: float
    missing: bool | None = None
    gaps: tuple[float, ...] | None = None
    reading: Cases | Count | None = None

    @property
    def leading(self) -> int | None:
        """The column in whose units the threshold is; None for questions about categories alone, or about nothing."""
        if isinstance(self.reading, Cases):
            return self.reading.column
        return next((column for column, each in zip(self.columns, self.coefficients, strict=True) if each == 1.0), None)

    @property
    def takes_gaps(self) -> bool:
        """True where it has an answer for gaps."""
        return self.missing is not None or self.gaps is not None

    @property
    def gap_answer(self) -> bool | None:
        """The answer where the one number it is read as a threshold of has a gap; None where it is read otherwise."""
        if self.gaps is None or not isinstance(self.reading, Cases) or len(self.reading.cases) > 1:
            return self.missing
        gap, case = self.gaps[self.columns.index(self.reading.column)], self.reading.cases[0]
        return bool(_RELATIONS[case.relation](gap, float(case.threshold)))

    def holds(self, inputs: NDArray[Any]) -> Bools:
        """Return whether the answer is yes for every row of `inputs` (0/1 answers for layers after the first)."""
        values = Projection(self.columns, self.coefficients, self.gaps).values(inputs)
        answers = np.asarray(_RELATIONS[self.relation](values, self.threshold))
        return answers if self.missing is None else np.where(np.isnan(values), self.missing, answers)


def summed_levels(condition: Condition, place: int) -> list[tuple[Choice, float]]:
    """Return what the category at a place of `columns` adds to a sum: levels, the gap among them, that add the same.

    Examples
    --------
    >>> summed_levels(Condition(0, 0, (1, 4), (1.0, (0.0, 2.5, 2.5)), ">=", 3.0, gaps=(0.0, 2.5)), 1)
    [(Choice(column=4, values=(1, 2), missing=True), 2.5)]
    """
    values = condition.coefficients[place]
    assert isinstance(values, tuple)
    gap = 0.0 if condition.gaps is None else condition.gaps[place]
    different = dict.fromkeys(each for each in (*values, gap) if each)
    levels = {each: tuple(code for code, value in enumerate(values) if value == each) for each in different}
    return [(Choice(condition.columns[place], levels[each], each == gap), each) for each in different]


def named_choices(condition: Condition) -> tuple[Choice, ...]:
    """Return the choices that a question names as it is read."""
    if isinstance(condition.reading, Cases):
        return tuple(choice for case in condition.reading.cases for choice in case.where)
    if condition.reading is not None:
        return condition.reading.choices
    categories = (place for place, each in enumerate(condition.coefficients) if isinstance(each, tuple))
    return tuple(choice for place in categories for choice, _ in summed_levels(condition, place))


def named_columns(condition: Condition) -> set[int]:
    """Return the columns that a question speaks of as it is read."""
    if condition.reading is None:
        return set(condition.columns)
    named = {choice.column for choice in named_choices(condition)}
    return named | {condition.reading.column} if isinstance(condition.reading, Cases) else named


def counted_gaps(condition: Condition) -> list[tuple[int, float]]:
    """Return by column the numbers that a question about several columns counts as something where they are missing.

    Where choices of a column are named, they say themselves whether a missing value is among them.
    """
    if condition.gaps is None or len(named_columns(condition)) < 2 or isinstance(condition.reading, Count):
        return []
    counted = set(condition.columns) if condition.reading is None else {condition.reading.column}
    asked = zip(condition.columns, condition.coefficients, condition.gaps, strict=True)
    return [(column, gap) for column, each, gap in asked if column in counted and not isinstance(each, tuple) and each]


def offset(threshold: float, case: float) -> float | None:
    """Return the float to add to a number so that the sum reaches `threshold` exactly from the number `case` on.

    It is the difference of the two, or a float beside it: 15.8 - 5.6 >= 10.2 rounds so that the float before 15.8
    would do as well. None where no float near the difference does. For a number that counts downwards take ``-case``.

    Examples
    --------
    >>> offset(10.0, 15.5), offset(10.2, 15.8)
    (-5.5, -5.600000000000001)
    """
    low = high = float(EXACT.subtract(written(threshold), written(case)))
    before = float(np.nextafter(case, -np.inf))
    for _ in range(_MOST_TRIED):
        for each in (low, high):
            if case + each >= threshold > before + each:
                return each
        low, high = float(np.nextafter(low, -np.inf)), float(np.nextafter(high, np.inf))
    return None
