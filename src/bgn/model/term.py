"""The terms of a model: rules, which hold or do not, and linear terms.

A prediction is an intercept plus, for every term, a weight times what the term is worth. A :class:`Rule` is worth 1
where all of its conditions hold and 0 elsewhere; in the paper's networks, whose neurons answer +1 or -1, it is worth -1
where they do not. A :class:`Linear` term is worth the value of a column, held within the range seen.

A condition compares: a number with a threshold (:class:`Threshold`), a category with some (:class:`Member`), a value
with none (:class:`Missing`), or a sum over several columns with a threshold (:class:`Oblique`, the paper's neuron). It
reads rows as a schema has encoded them: categories as their numbers, missing values as NaN. ``value >= threshold``
holds on the threshold itself, as :func:`~bgn.model.step.step` says.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bgn.model.step import Bools, Floats

Coefficient = float | tuple[float, ...]

RELATIONS = {">=": operator.ge, "<": operator.lt, ">": operator.gt, "<=": operator.le}
MIRRORED = {">=": "<=", "<": ">", ">": "<", "<=": ">="}
OPPOSITE = {">=": "<", "<": ">=", ">": "<=", "<=": ">"}


# -- Conditions about one column.


class _OnOneColumn:
    column: int

    @property
    def columns(self) -> tuple[int, ...]:
        """The column it reads."""
        return (self.column,)

    @property
    def size(self) -> int:
        """How many conditions a reader reads."""
        return 1


@dataclass(frozen=True)
class Threshold(_OnOneColumn):
    """A number is at or beyond a threshold.

    Parameters
    ----------
    column : int
    threshold : float
    relation : {">=", "<", ">", "<="}, default ">="
    missing : bool or None, default None
        Whether it holds for a missing value; None where a missing value is refused, or counts as the column's typical
        value.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Threshold
    >>> Threshold(0, 65.5, missing=True).holds(np.array([[65.5], [65.4], [np.nan]]))
    array([ True, False,  True])
    """

    column: int
    threshold: float
    relation: str = ">="
    missing: bool | None = None

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ValueError(f"relation must be one of {', '.join(map(repr, RELATIONS))}; got {self.relation!r}.")

    def holds(self, rows: NDArray[Any]) -> Bools:
        """Return whether it holds, for every row."""
        values = rows[:, self.column]
        answers = np.asarray(RELATIONS[self.relation](values, self.threshold))
        return np.where(np.isnan(values), self.missing, answers) if self.missing is not None else answers

    def as_oblique(self) -> Oblique:
        sign = 1.0 if self.relation in (">=", ">") else -1.0
        threshold = sign * self.threshold + 0.0
        if self.relation in (">", "<"):
            threshold = float(np.nextafter(threshold, np.inf))
        return Oblique(Projection((self.column,), (sign,)), threshold, self.missing)


@dataclass(frozen=True)
class Member(_OnOneColumn):
    """A category is one of some.

    Parameters
    ----------
    column : int
    categories : tuple of int
        The numbers of the categories, as the column's schema counts them, in order.
    missing : bool or None, default False
        Whether it holds for a missing value; None where a missing value is refused, or counts as the column's typical
        category.
    n_categories : int, optional
        How many categories the column has; a network takes it from its schema.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Member
    >>> Member(0, (0, 2)).holds(np.array([[0.0], [1.0], [np.nan]]))
    array([ True, False, False])
    """

    column: int
    categories: tuple[int, ...]
    missing: bool | None = False
    n_categories: int | None = None

    def holds(self, rows: NDArray[Any]) -> Bools:
        """Return whether it holds, for every row."""
        values = rows[:, self.column]
        answers = np.isin(values, self.categories)
        return answers | np.isnan(values) if self.missing else answers

    def as_oblique(self) -> Oblique:
        # 1 for the categories that it names and 0 for others.
        count = max((-1, *self.categories)) + 1 if self.n_categories is None else self.n_categories
        named = set(self.categories)
        values = tuple(float(code in named) for code in range(count))
        return Oblique(Projection((self.column,), (values,)), 1.0, self.missing)


@dataclass(frozen=True)
class Missing(_OnOneColumn):
    """A value is missing.

    Parameters
    ----------
    column : int
    n_categories : int, optional
        How many categories the column has, where it is one of categories; a network takes it from its schema.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Missing
    >>> Missing(0).holds(np.array([[65.5], [np.nan]]))
    array([False,  True])
    """

    column: int
    n_categories: int | None = None

    @property
    def missing(self) -> bool:
        return True

    def holds(self, rows: NDArray[Any]) -> Bools:
        """Return whether it holds, for every row."""
        return np.isnan(rows[:, self.column])

    def as_oblique(self) -> Oblique:
        # A sum that never reaches its threshold.
        nothing = 0.0 if self.n_categories is None else (0.0,) * self.n_categories
        return Oblique(Projection((self.column,), (nothing,)), 1.0, True)


# -- A condition about a sum over columns: the paper's neuron.


@dataclass(frozen=True)
class Projection:
    """A sum over columns, in their order, each rounded once.

    Parameters
    ----------
    columns : tuple of int
        The columns it reads, in order.
    coefficients : tuple of float or tuple of float
        For every column a factor, or, for a categorical column, one value per category.
    missing_as : tuple of float or None, default None
        What a missing value counts as, column by column: a value of the column, or, for a categorical column and where
        the coefficient is 0, what it adds to the sum. None where a missing value leaves no sum.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.term import Projection
    >>> Projection((0, 2), (1.0, (0.0, -6.0))).values(np.array([[12.0, 5.0, 0.0], [12.0, 5.0, 1.0]]))
    array([12.,  6.])
    >>> Projection((0, 1), (1.0, 0.5), missing_as=(20.0, 3.0)).values(np.array([[np.nan, 4.0], [12.0, np.nan]]))
    array([22. , 13.5])
    """

    columns: tuple[int, ...]
    coefficients: tuple[Coefficient, ...]
    missing_as: tuple[float, ...] | None = None

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], Floats]:
        """Columns and factors for a kernel; only where no column is a category."""
        return np.array(self.columns, np.int64), np.array(self.coefficients, np.float64)

    @property
    def factors(self) -> tuple[float, ...]:
        """The coefficients; only where no column is a category."""
        return cast(tuple[float, ...], self.coefficients)

    @property
    def numeric(self) -> bool:
        """True where no column is a category."""
        return not any(isinstance(coefficient, tuple) for coefficient in self.coefficients)

    @property
    def numbers(self) -> Iterator[float]:
        for coefficient in self.coefficients:
            yield from coefficient if isinstance(coefficient, tuple) else (coefficient,)
        yield from self.missing_as or ()

    def at(self, place: int) -> Projection:
        """Return what the column at a place of `columns` adds, as a projection of its own."""
        missing_as = None if self.missing_as is None else self.missing_as[place : place + 1]
        return Projection(self.columns[place : place + 1], self.coefficients[place : place + 1], missing_as)

    def values(self, rows: NDArray[Any]) -> Floats:
        """Return the sum for every row; NaN where a missing value counts as nothing."""
        total = np.zeros(len(rows))
        missing_as = self.missing_as or (np.nan,) * len(self.columns)
        pairs = zip(self.columns, self.coefficients, missing_as, strict=True)
        for count, (column, coefficient, missing) in enumerate(pairs):
            part = rows[:, column]
            if isinstance(coefficient, tuple):
                place = np.where(np.isnan(part), len(coefficient), part).astype(np.int64)
                part = np.append(coefficient, missing)[place]
            else:
                part = part * coefficient
                if self.missing_as is not None:
                    part = np.where(np.isnan(part), missing * (coefficient or 1.0), part)
            total = total + part if count else part
        return total


@dataclass(frozen=True)
class Oblique:
    """A sum over columns reaches a threshold: the paper's neuron, which fires where it does.

    Parameters
    ----------
    projection : Projection
    threshold : float
    missing : bool or None, default None
        Whether it holds where a missing value leaves no sum; None where missing values are refused, or count as
        something.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.term import Oblique, Projection
    >>> Oblique(Projection((0, 1), (1.0, 0.5)), 65.5).holds(np.array([[60.5, 10.0], [65.4, 0.0]]))
    array([ True, False])
    """

    projection: Projection
    threshold: float
    missing: bool | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns it reads, in order."""
        return self.projection.columns

    @property
    def size(self) -> int:
        """How many conditions a reader reads: one per column."""
        return len(self.projection.columns)

    @property
    def takes_missing(self) -> bool:
        """True where it has an answer for missing values."""
        return self.missing is not None or self.projection.missing_as is not None

    def holds(self, rows: NDArray[Any]) -> Bools:
        """Return whether it holds, for every row."""
        values = self.projection.values(rows)
        answers = values - self.threshold >= 0
        return np.where(np.isnan(values), self.missing, answers) if self.missing is not None else answers

    def as_oblique(self) -> Oblique:
        return self


Condition = Threshold | Member | Missing | Oblique


def condition_of(oblique: Oblique) -> Condition:
    """Return the condition about one column that an oblique one is, or itself; it holds on the same rows, to the bit.

    Examples
    --------
    >>> from bgn.model.term import Oblique, Projection, condition_of
    >>> condition_of(Oblique(Projection((1,), (-1.0,)), -65.5))
    Threshold(column=1, threshold=65.5, relation='<=', missing=None)
    >>> condition_of(Oblique(Projection((0,), ((0.0, 2.5, 3.0),)), 1.0, missing=False))
    Member(column=0, categories=(1, 2), missing=False, n_categories=3)
    """
    projection, threshold, missing = oblique.projection, oblique.threshold, oblique.missing
    if len(projection.columns) != 1:
        return oblique
    (column,), (coefficient,) = projection.columns, projection.coefficients
    if projection.missing_as is not None:
        missing = bool(Oblique(projection, threshold).holds(np.full((1, column + 1), np.nan))[0])
    if isinstance(coefficient, tuple):
        categories = (code for code, value in enumerate(coefficient) if value - threshold >= 0)
        return Member(column, tuple(categories), missing, len(coefficient))
    if abs(coefficient) == 1.0:
        return Threshold(column, coefficient * threshold + 0.0, ">=" if coefficient > 0 else "<=", missing)
    return Missing(column) if coefficient == 0.0 and threshold > 0 and missing else oblique


# -- Terms.

MOST_CONDITIONS = 3
"""Conditions that a rule may have: more cannot be said in one breath."""


@dataclass(frozen=True)
class Rule:
    """Worth 1 where all of its conditions hold, and `otherwise` elsewhere.

    Conditions stand in a fixed order. Where several compare one column, those that another one implies are left out.

    Parameters
    ----------
    conditions : condition, or sequence of up to three
    otherwise : float, default 0
        What it is worth where some condition does not hold: 0, or -1 as the paper's neurons have it.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Rule, Threshold
    >>> Rule(Threshold(0, 65.5)).values(np.array([[65.5], [65.4]]))
    array([1., 0.])
    >>> working_age = Rule([Threshold(0, 65.0, "<"), Threshold(0, 18.0), Threshold(0, 16.0)])
    >>> working_age.values(np.array([[17.0], [18.0], [65.0]]))
    array([0., 1., 0.])
    >>> len(working_age.conditions)
    2
    """

    conditions: tuple[Condition, ...]
    otherwise: float = 0.0

    def __post_init__(self) -> None:
        given = (self.conditions,) if isinstance(self.conditions, Condition) else tuple(self.conditions)
        if not given or not all(isinstance(condition, Condition) for condition in given):
            raise ValueError(f"conditions must be one or more conditions of bgn; got {given!r}.")
        object.__setattr__(self, "conditions", _in_order(given) if len(given) > 1 else given)
        if len(self.conditions) > MOST_CONDITIONS:
            raise ValueError(f"a rule has at most {MOST_CONDITIONS} conditions; got {len(self.conditions)}.")
        if self.otherwise not in (0.0, -1.0):
            raise ValueError(f"otherwise must be 0 or -1; got {self.otherwise!r}.")

    @property
    def never(self) -> bool:
        """True where its conditions contradict each other, so that it holds for no row."""
        return _contradict(self.conditions)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns it reads, in order, each once."""
        return tuple(sorted({column for condition in self.conditions for column in condition.columns}))

    @property
    def size(self) -> int:
        """How many conditions a reader reads."""
        return sum(condition.size for condition in self.conditions)

    def holds(self, rows: NDArray[Any]) -> Bools:
        """Return whether all conditions hold, for every row."""
        answers = self.conditions[0].holds(rows)
        for condition in self.conditions[1:]:
            answers = answers & condition.holds(rows)
        return answers

    def values(self, rows: NDArray[Any]) -> Floats:
        """Return what it is worth, for every row."""
        return np.where(self.holds(rows), 1.0, self.otherwise)


def _in_order(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return conditions of one rule by column, without those that another one implies."""
    kept: list[Condition] = []
    for condition in conditions:
        for place, other in enumerate(kept):
            if (both := _both(other, condition)) is not None:
                kept[place] = both
                break
        else:
            kept.append(condition)
    if len(kept) < len(conditions):
        return _in_order(tuple(kept))
    kinds = [Missing, Threshold, Member, Oblique]
    return tuple(sorted(kept, key=lambda one: (one.columns, kinds.index(type(one)), repr(one))))


def _both(first: Condition, second: Condition) -> Condition | None:
    """Return the one condition that holds where both do; None where it takes two."""
    if first == second:
        return first
    if isinstance(first, Oblique) or isinstance(second, Oblique) or first.column != second.column:
        return None
    if first.missing is None or second.missing is None:
        if first.missing is not second.missing:
            return None
        missing = None
    else:
        missing = first.missing and second.missing
    if isinstance(first, Missing) or isinstance(second, Missing):
        return Missing(first.column) if missing else None
    if isinstance(first, Member) and isinstance(second, Member):
        common = tuple(code for code in first.categories if code in second.categories)
        return replace(first, categories=common, missing=missing) if common or not missing else Missing(first.column)
    if isinstance(first, Threshold) and isinstance(second, Threshold):
        if first.relation[0] == second.relation[0]:
            sign = 1.0 if first.relation[0] == ">" else -1.0
            tighter = max(first, second, key=lambda one: (sign * one.threshold, len(one.relation) == 1))
            return replace(tighter, missing=missing)
        if missing and _contradict((replace(first, missing=False), replace(second, missing=False))):
            return Missing(first.column)
    return None


def _contradict(conditions: tuple[Condition, ...]) -> bool:
    """Whether no row meets all of some conditions on single columns, obliques left aside."""
    for condition in conditions:
        if isinstance(condition, Member) and not condition.categories and not condition.missing:
            return True
        others = [one for one in conditions if not isinstance(one, Oblique) and one.columns == condition.columns]
        if isinstance(condition, Missing) and any(other.missing is False for other in others):
            return True
        if isinstance(condition, Threshold) and condition.relation[0] == ">":
            least = condition.threshold if condition.relation == ">=" else np.nextafter(condition.threshold, np.inf)
            for other in others:
                if isinstance(other, Threshold) and other.relation[0] == "<":
                    most = other.threshold if other.relation == "<=" else np.nextafter(other.threshold, -np.inf)
                    if least > most and not (condition.missing and other.missing):
                        return True
    return False


@dataclass(frozen=True)
class Linear(_OnOneColumn):
    """Worth the value of a column; a value beyond an end counts as that end.

    Parameters
    ----------
    column : int
    low, high : float
        The ends; infinite where there are none.
    missing : float, optional
        What a missing value counts as; None where it is refused. A network takes it from its schema.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Linear
    >>> Linear(0, 20.0, 40.0, missing=30.0).values(np.array([[10.0], [25.0], [np.nan]]))
    array([20., 25., 30.])
    """

    column: int
    low: float = -np.inf
    high: float = np.inf
    missing: float | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.high or self.low == np.inf:
            raise ValueError(f"a linear term must have a low end and a high one; got {self.low} and {self.high}.")

    @property
    def clipped(self) -> bool:
        """True where it has an end."""
        return bool(np.isfinite([self.low, self.high]).any())

    def values(self, rows: NDArray[Any]) -> Floats:
        """Return what it is worth in every row: between the ends, missing values filled."""
        return self.between(rows[:, self.column])

    def between(self, values: NDArray[Any]) -> Floats:
        """Return values of the column, missing ones filled and none beyond an end."""
        filled = values if self.missing is None else np.where(np.isnan(values), self.missing, values)
        return np.minimum(np.maximum(filled, self.low), self.high)


Term = Rule | Linear
