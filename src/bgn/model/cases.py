"""How a person reads a question: thresholds of one number, case by case, or a count of choices.

Where a question's sum has one number, and otherwise 0/1 columns and categories, it is read as thresholds of the number:
"hour >= 10, or >= 16 where workingday = 1". A question about 0/1 columns and categories alone is read as a count: at
least so many of some choices hold. A missing value is one more category, of 0/1 columns too. Either reading answers as
the float64 sum does on every row, rows on thresholds included, as long as a 0/1 column holds 0 or 1 and a column of
whole numbers whole numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import ceil, prod

import numpy as np

from bgn.model.decimals import EXACT, written
from bgn.model.neuron import Projection
from bgn.model.question import Case, Cases, Choice, Condition, Count
from bgn.model.schema import Column, Schema
from bgn.model.step import Bools, Floats

_GAP = -1  # among the numbers of levels
_MOST_CASES = 4  # beyond, a sum is shorter
_MOST_MORE = 4  # digits of a threshold beyond the numbers that it comes from, where a sum is shorter
_MOST_TRIED = 64  # combinations of 0/1 columns and levels
_LARGEST = sys.float_info.max

Group = tuple[int, ...]


def read(condition: Condition, schema: Schema, complete: Collection[int] = ()) -> Condition:
    """Return the same question with its reading; the columns `complete` never show it a gap.

    Examples
    --------
    >>> from bgn.model.schema import Column, Schema
    >>> city = Schema((Column("city", levels=("Lille", "Nice")),))
    >>> read(Condition(0, 0, (0,), ((0.0, 1.0),), ">=", 1.0, missing=True), city).reading
    Count(least=1, choices=(Choice(column=0, values=(1,), missing=True),))
    """
    compact = replace(condition, columns=tuple(range(len(condition.columns))))
    columns = [None if condition.layer else schema.columns[j] for j in condition.columns]
    found = _reading(compact, columns, [j not in complete for j in condition.columns])
    if isinstance(found, Cases):
        cases = tuple(replace(each, where=_at(each.where, condition.columns)) for each in found.cases)
        found = Cases(condition.columns[found.column], cases)
    elif found is not None:
        found = Count(found.least, _at(found.choices, condition.columns))
    return replace(condition, reading=found)


def _at(choices: Sequence[Choice], columns: Sequence[int]) -> tuple[Choice, ...]:
    return tuple(replace(each, column=columns[each.column]) for each in choices)


def is_flag(column: Column | None) -> bool:
    """Tell whether a column holds 0 and 1 alone; None stands for an answer of the layer below."""
    return column is None or column.level_of is not None or (column.whole and column.seen == (0.0, 1.0))


def _reading(condition: Condition, columns: Sequence[Column | None], gappy: Sequence[bool]) -> Cases | Count | None:
    """Return how a question about the first few columns is read; `gappy`: which of them may have a gap."""
    groups: list[list[Group]] = []
    numbers = []
    alone = condition.missing is not None and len(columns) == 1 and gappy[0]
    for place, (column, coefficient) in enumerate(zip(columns, condition.coefficients, strict=True)):
        gap = condition.gaps[place] if condition.gaps is not None and gappy[place] else None
        if isinstance(coefficient, tuple):
            groups.append(_alike(coefficient, gap))
        elif coefficient == 0.0:
            groups.append([(0,), (_GAP,)] if gap else [(0,)])
        elif is_flag(column):
            groups.append(_alike((0.0, 1.0), gap))
        else:
            numbers.append(place)
            groups.append([(0,)])
        if alone and not numbers:
            groups[0].append((_GAP,))
    if len(numbers) > 1 or (len(groups) > 1 and prod(map(len, groups)) > _MOST_TRIED):
        return None
    return _cases(condition, columns, groups, numbers[0]) if numbers else _count(condition, groups)


def _alike(values: tuple[float, ...], gap: float | None) -> list[Group]:
    """Return categories, or 0 and 1, and the gap, by what they add: those that add the same together."""
    same: dict[float, list[int]] = {}
    for code, value in enumerate(values):
        same.setdefault(value, []).append(code)
    if gap is not None:
        same.setdefault(gap, []).append(_GAP)
    return [tuple(codes) for codes in same.values()]


def _chosen(place: int, codes: Sequence[int]) -> Choice:
    return Choice(place, tuple(sorted(code for code in codes if code != _GAP)), _GAP in codes)


def _value(codes: Group) -> float:
    """Return what a row holds that stands for a group."""
    return np.nan if codes[0] == _GAP else float(codes[0])


def _count(condition: Condition, groups: list[list[Group]]) -> Count | None:
    """Read a question about 0/1 columns and categories as a count; None where it is none."""
    combinations = list(product(*groups))
    rows = np.array([[_value(codes) for codes in each] for each in combinations], dtype=np.float64)
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
            choices.append(_chosen(place, [code for codes in chosen for code in codes]))
    if not choices:
        return Count(int(not yes.flat[0]), ())
    held = [sum(_among(combination[each.column], each) for each in choices) for combination in combinations]
    least = min(count for count, one in zip(held, yes.tolist(), strict=True) if one)
    if any(one is not (count >= least) for count, one in zip(held, yes.tolist(), strict=True)):
        return None
    return Count(least, tuple(choices))


def _among(codes: Group, choice: Choice) -> bool:
    """Tell whether a group is one of a choice's."""
    return choice.missing if codes[0] == _GAP else codes[0] in choice.values


def _cases(
    condition: Condition, columns: Sequence[Column | None], groups: list[list[Group]], number: int
) -> Cases | None:
    """Read a question about one number, 0/1 columns and categories as thresholds of the number."""
    column = columns[number]
    assert column is not None
    if condition.coefficients[number] != 1.0 and not column.whole and len(columns) > 1:
        return None  # the thresholds would have many digits
    gap = 0.0 if condition.gaps is None else condition.gaps[number]
    whole = column.whole and gap.is_integer()  # what a gap counts as is compared too
    usual = tuple(max(each, key=lambda codes: sum(code != _GAP for code in codes)) for each in groups)
    found: dict[tuple[Group, ...], Decimal] = {}
    for combination in sorted(product(*groups), key=lambda each: each != usual):
        named = [of.level_of[0] for of, codes in zip(columns, combination, strict=True)
                 if of is not None and of.level_of is not None and codes == (1,)]  # fmt: skip
        if len(set(named)) < len(named):
            continue  # two levels of one category at a time
        threshold = _threshold(condition, combination, number, whole)
        if threshold is None:
            return None
        if not found or threshold != found[usual]:
            found[combination] = threshold
    stored = [condition.threshold, *Projection(condition.columns, condition.coefficients).numbers]
    most = max(len(written(value).as_tuple().digits) for value in stored) + _MOST_MORE
    if len(found) > _MOST_CASES or any(len(each.as_tuple().digits) > most for each in found.values()):
        return None  # the float64 sum rounds across what it would be in decimals
    relation = condition.relation
    if float(condition.coefficients[number]) < 0.0:  # type: ignore[arg-type]
        relation = {">=": "<=", "<": ">", ">": "<", "<=": ">="}[relation]
    cases: list[Case] = []
    for combination, threshold in found.items():
        cases.append(Case(_where(combination, columns, groups) if cases else (), relation, threshold))
    return Cases(number, tuple(cases))


def _where(
    combination: Sequence[Group], columns: Sequence[Column | None], groups: list[list[Group]]
) -> tuple[Choice, ...]:
    """Return the choices of a case; what is one level of a category need not be said to be none of the others."""
    titles = [of.level_of[0] if of is not None and of.level_of is not None else None for of in columns]
    told = {title for title, codes in zip(titles, combination, strict=True) if title is not None and codes == (1,)}
    return tuple(
        _chosen(place, codes)
        for place, codes in enumerate(combination)
        if len(groups[place]) > 1 and not (titles[place] in told and 0 in codes and groups[place][1:] == [(1,)])
    )


def _threshold(condition: Condition, combination: Sequence[Group], number: int, whole: bool) -> Decimal | None:
    """Return where the answer changes along one number, the other columns fixed; None where it never does.

    What a float stands for is the decimal that it is written as, so the first float beyond the change is the threshold.
    """
    row = np.array([_value(codes) for codes in combination])
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
    whole_sum = Projection(condition.columns, condition.coefficients, condition.gaps)
    for place in range(len(combination)):
        if place != number:
            rest = EXACT.subtract(rest, written(float(whole_sum.at(place).values(row[np.newaxis])[0])))
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
