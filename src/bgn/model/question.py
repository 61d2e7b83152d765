"""A yes/no question as it is asked, and how a person reads it.

A question compares a sum over a few columns with a threshold. Where that sum has one number, and otherwise 0/1 columns
and categories, it is read as thresholds of the number, case by case: "hour >= 10, or >= 16 where workingday = 1". A
question about 0/1 columns and categories alone is read as a count: at least so many of some choices hold. Either
reading answers as the float64 sum does on every row, rows on thresholds included, as long as a 0/1 column holds 0 or 1
and a column of whole numbers whole numbers.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.decimals import EXACT, written
from bgn.model.neuron import Coefficient, Projection
from bgn.model.schema import Column, Schema
from bgn.model.step import Bools, Floats

_RELATIONS = {">=": operator.ge, "<": operator.lt, ">": operator.gt, "<=": operator.le}
_MOST_CASES = 4  # beyond, a sum is shorter
_MOST_TRIED = 64  # combinations of 0/1 columns and levels
_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Choice:
    """A 0/1 column, a category or an answer from the layer below has one of some values.

    Parameters
    ----------
    column : int
        Which, as in ``Condition.columns``.
    values : tuple of int
        0 or 1, or numbers of levels.
    """

    column: int
    values: tuple[int, ...]


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
        The answer where a column has a gap; None where gaps are refused.
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
    reading: Cases | Count | None = None

    @property
    def leading(self) -> int | None:
        """The column in whose units the threshold is; None for questions about categories alone, or about nothing."""
        if isinstance(self.reading, Cases):
            return self.reading.column
        return next((column for column, each in zip(self.columns, self.coefficients, strict=True) if each == 1.0), None)

    def holds(self, inputs: NDArray[Any]) -> Bools:
        """Return whether the answer is yes for every row of `inputs` (0/1 answers for layers after the first)."""
        values = Projection(self.columns, self.coefficients).values(inputs)
        answers = np.asarray(_RELATIONS[self.relation](values, self.threshold))
        return answers if self.missing is None else np.where(np.isnan(values), self.missing, answers)

    def read(self, schema: Schema) -> Condition:
        """Return the same question with its reading."""
        compact = replace(self, columns=tuple(range(len(self.columns))))
        columns = [None if self.layer else schema.columns[j] for j in self.columns]
        found = _reading(compact, columns)
        if isinstance(found, Cases):
            cases = tuple(replace(each, where=_at(each.where, self.columns)) for each in found.cases)
            found = Cases(self.columns[found.column], cases)
        elif found is not None:
            found = Count(found.least, _at(found.choices, self.columns))
        return replace(self, reading=found)


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


def _at(choices: Sequence[Choice], columns: Sequence[int]) -> tuple[Choice, ...]:
    return tuple(Choice(columns[each.column], each.values) for each in choices)


def is_flag(column: Column | None) -> bool:
    """Tell whether a column holds 0 and 1 alone; None stands for an answer of the layer below."""
    return column is None or column.level_of is not None or (column.whole and column.seen == (0.0, 1.0))


def _reading(condition: Condition, columns: Sequence[Column | None]) -> Cases | Count | None:
    """Return how a question about the first few columns is read."""
    groups: list[list[tuple[int, ...]]] = []  # the values of each column that come to the same
    numbers = []
    for place, (column, coefficient) in enumerate(zip(columns, condition.coefficients, strict=True)):
        if isinstance(coefficient, tuple):
            same: dict[float, list[int]] = {}
            for code, value in enumerate(coefficient):
                same.setdefault(value, []).append(code)
            groups.append([tuple(codes) for codes in same.values()])
        elif is_flag(column):
            groups.append([(0,), (1,)])
        else:
            numbers.append(place)
            groups.append([(0,)])
    if len(numbers) > 1 or prod(map(len, groups)) > _MOST_TRIED:
        return None
    return _cases(condition, columns, groups, numbers[0]) if numbers else _count(condition, groups)


def _count(condition: Condition, groups: list[list[tuple[int, ...]]]) -> Count | None:
    """Read a question about 0/1 columns and categories as a count; None where it is none."""
    combinations = list(product(*groups))
    rows = np.array([[codes[0] for codes in each] for each in combinations], dtype=np.float64)
    yes = condition.holds(rows) if groups else condition.holds(np.zeros((1, 1)))
    table = yes.reshape([len(each) for each in groups])
    choices = []
    for place, each in enumerate(groups):
        # What a column's values come to: the other columns' answers for each.
        answers = np.moveaxis(table, place, 0).reshape(len(each), -1)
        patterns = sorted({tuple(row) for row in answers.tolist()}, key=sum)
        if len(patterns) > 2:
            return None
        if len(patterns) == 2:
            chosen = [codes for codes, row in zip(each, answers.tolist(), strict=True) if tuple(row) == patterns[1]]
            choices.append(Choice(place, tuple(sorted(code for codes in chosen for code in codes))))
    if not choices:
        return Count(int(not yes.flat[0]), ())
    held = [sum(combination[each.column][0] in each.values for each in choices) for combination in combinations]
    least = min(count for count, one in zip(held, yes.tolist(), strict=True) if one)
    if any(one is not (count >= least) for count, one in zip(held, yes.tolist(), strict=True)):
        return None
    return Count(least, tuple(choices))


def _cases(
    condition: Condition, columns: Sequence[Column | None], groups: list[list[tuple[int, ...]]], number: int
) -> Cases | None:
    """Read a question about one number, 0/1 columns and categories as thresholds of the number."""
    column = columns[number]
    assert column is not None
    if condition.coefficients[number] != 1.0 and not column.whole and len(columns) > 1:
        return None  # the thresholds would have many digits
    usual = tuple(max(each, key=len) for each in groups)
    found: dict[tuple[tuple[int, ...], ...], Decimal] = {}
    for combination in sorted(product(*groups), key=lambda each: each != usual):
        named = [of.level_of[0] for of, codes in zip(columns, combination, strict=True)
                 if of is not None and of.level_of is not None and codes == (1,)]  # fmt: skip
        if len(set(named)) < len(named):
            continue  # two levels of one category at a time
        threshold = _threshold(condition, combination, number, column.whole)
        if threshold is None:
            return None
        if not found or threshold != found[usual]:
            found[combination] = threshold
    if len(found) > _MOST_CASES:
        return None
    relation = condition.relation
    if float(condition.coefficients[number]) < 0.0:  # type: ignore[arg-type]
        relation = {">=": "<=", "<": ">", ">": "<", "<=": ">="}[relation]
    cases: list[Case] = []
    for combination, threshold in found.items():
        cases.append(Case(_where(combination, columns, groups) if cases else (), relation, threshold))
    return Cases(number, tuple(cases))


def _where(
    combination: Sequence[tuple[int, ...]], columns: Sequence[Column | None], groups: list[list[tuple[int, ...]]]
) -> tuple[Choice, ...]:
    """Return the choices of a case; what is one level of a category need not be said to be none of the others."""
    titles = [of.level_of[0] if of is not None and of.level_of is not None else None for of in columns]
    told = {title for title, codes in zip(titles, combination, strict=True) if title is not None and codes == (1,)}
    return tuple(
        Choice(place, codes)
        for place, codes in enumerate(combination)
        if len(groups[place]) > 1 and not (titles[place] in told and codes == (0,))
    )


def _threshold(
    condition: Condition, combination: Sequence[tuple[int, ...]], number: int, whole: bool
) -> Decimal | None:
    """Return where the answer changes along one number, the other columns fixed; None where it never does.

    What a float stands for is the decimal that it is written as, so the first float beyond the change is the threshold.
    """
    row = np.array([float(codes[0]) for codes in combination])
    coefficient = float(condition.coefficients[number])  # type: ignore[arg-type]
    # Asked so that it is no below and yes from the threshold on: x and its sign, and the answer.
    first = condition.relation in (">=", "<")
    sign = 1.0 if first is (coefficient > 0.0) else -1.0
    upwards = condition.relation in (">=", ">") if coefficient > 0.0 else condition.relation in ("<=", "<")
    turned = upwards is not (sign > 0.0)

    def yes(values: Floats) -> Bools:
        rows = np.tile(row, (len(values), 1))
        rows[:, number] = sign * values
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(condition.holds(rows) != turned)

    rest = written(condition.threshold)
    for place, each in enumerate(condition.coefficients):
        if place != number:
            value = each[int(row[place])] if isinstance(each, tuple) else each * row[place]
            rest = EXACT.subtract(rest, written(value))
    guess = sign * float(EXACT.divide(rest, written(coefficient)))
    change = _change(yes, float(ceil(guess)), 1.0) if whole and abs(guess) < 2.0**52 else None
    if change is None:
        change = _change(yes, guess, None)
    if change is None:
        return None
    return written(sign * change + 0.0)


def _change(yes: Callable[[Floats], Bools], guess: float, step: float | None) -> float | None:
    """Return the first float answered yes; the guess where it is right. With a step, the guess or None."""
    below = float(np.nextafter(guess, -np.inf)) if step is None else guess - step
    if yes(np.array([below, guess])).tolist() == [False, True]:
        return guess
    if step is not None or yes(np.array([-_LARGEST, _LARGEST])).tolist() != [False, True]:
        return None
    low, high = _place(-_LARGEST), _place(_LARGEST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if yes(np.array([_float(middle)]))[0] else (middle, high)
    return _float(high)


def _place(value: float) -> int:
    """Return a float's place among all floats in order, 0 for zero."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return bits if value >= 0.0 else -bits


def _float(place: int) -> float:
    """Return the float at a place."""
    value = float(np.int64(abs(place)).view(np.float64))
    return value if place >= 0 else -value
