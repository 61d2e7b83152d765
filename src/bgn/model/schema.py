"""The columns of a table as the user has them: names, kinds, levels, units and the ranges that were seen.

A network reads rows as one matrix of float64: a number as it is, a category as the number of its level, a gap as NaN.
:meth:`Schema.encode` makes that matrix from arrays and frames; everything printed, drawn or exported takes its words
from here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bgn.model.dates import TimePart
from bgn.model.step import Bools, Floats, all_finite
from bgn.model.values import AnyTable, Category, Misread, RawValues, category_name, did_you_mean, of_objects

__all__ = ["Category", "Column", "Schema", "category_name"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
    categories : tuple of str, float or bool, optional
        The values of a category, in order; None for a column of numbers. A category without any, such as ids are, is
        missing in every row: no model asks about it.
    ordered : bool, default False
        Whether the order of the levels means something.
    unit : str, default ""
    seen : (float, float), optional
        The least and the greatest number among the rows that a network was made from.
    whole : bool, default False
        Whether all of those were whole numbers.
    typical : float, optional
        What a missing value counts as where no question has an answer for it: the median of those numbers or, for a
        category, the number of the commonest level. Of a category without an order every question has an answer.
    category_of : (str, level), optional
        For a column of 0 and 1 that stands for one level of a category: the category's name, and that level.
    part_of : TimePart, optional
        For a number that is made of a column of dates or durations: that column's name, and how.
    missing : bool, default False
        For a number, whether some of the rows that a network was made from had no value.
    rare : tuple of int, optional
        After a fit, the numbers of the levels that fewer than ten training rows have; files may leave them out. Columns
        are equal whatever these are.

    Examples
    --------
    >>> from bgn.model.schema import Column
    >>> Column("city", categories=("Lille", "Nice")).kind, Column("age", unit="years").kind
    ('category', 'number')
    >>> Column("in Nice", category_of=("city", "Nice")).kind
    'number'
    """

    name: str
    categories: tuple[Category, ...] | None = None
    ordered: bool = False
    unit: str = ""
    seen: tuple[float, float] | None = None
    whole: bool = False
    typical: float | None = None
    category_of: tuple[str, Category] | None = None
    part_of: TimePart | None = None
    missing: bool = False
    rare: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.categories == ():  # there is none that a gap could count as
            object.__setattr__(self, "typical", None)

    @property
    def always_missing(self) -> bool:
        """True for a category without levels."""
        return self.categories == ()

    @property
    def raw(self) -> str:
        """The name of the column of a raw table that it is read from."""
        return self.name if self.part_of is None else self.part_of.raw

    @property
    def kind(self) -> str:
        """``"number"`` or ``"category"``."""
        return "number" if self.categories is None else "category"

    def codes(self, values: Any) -> Floats:
        """Return the number of every value's level; NaN for a gap and for a level never seen."""
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return of_objects(cells).codes_in(self.categories or ())

    def flags(self, values: RawValues) -> Floats:
        """Return 1 where a category has the level that the column stands for, 0 for others, NaN for a gap."""
        assert self.category_of is not None
        return np.where(values.missing, np.nan, values.codes_in(self.category_of[1:]) == 0.0)

    def encoded(self, values: RawValues, is_part: bool = True) -> Floats:
        """Return the values of its raw column as a network reads them, or raise :class:`~bgn.model.values.Misread`.

        Numbers in the place of dates are refused unless the column `is_part`: unless it is the part itself.
        """
        try:
            if self.part_of is not None:
                return values.part(self.part_of, is_part)
            return values.numbers() if self.categories is None else values.codes_in(self.categories)
        except Misread:
            if not values.missing.all():
                raise
            return np.full(len(values.missing), np.nan)


Unseen = tuple[int, list[str]]
"""In how many rows a column holds levels never seen, and some of them."""


def _note_unseen(unseen: dict[str, Unseen], column: Column, values: RawValues, codes: Floats) -> None:
    """Take note of levels never seen."""
    strange = np.isnan(codes) & ~values.missing
    if strange.any():
        unseen[column.raw] = int(np.count_nonzero(strange)), values.examples(strange)


@dataclass(frozen=True)
class Schema:
    """Columns, and what is predicted from them.

    Parameters
    ----------
    columns : tuple of Column
    target : str, optional
        What is predicted.
    target_unit : str, default ""
    named : bool, default True
        False where the columns had no names, and those of `columns` (``x0, x1, ...``) are made up.
    classes : tuple of str, float or bool, optional
        The labels of the classes that are told apart, in order; None where a number is predicted. Of two, the second is
        the one whose log-odds a network adds up.

    Examples
    --------
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("age"), Column("city", categories=("Lille", "Nice"))), target="price")
    >>> schema.encode([[31, "Nice"], [47, "Rome"]], missing=True)
    array([[31.,  1.],
           [47., nan]])
    """

    columns: tuple[Column, ...]
    target: str | None = None
    target_unit: str = ""
    named: bool = True
    classes: tuple[Category, ...] | None = None

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"feature_names must differ; got {twice!r} twice. Rename one of the columns.")

    @classmethod
    def of_numbers(cls, n_columns: int, names: Iterable[str] | None = None, target: str | None = None) -> Schema:
        """Return the schema of columns of numbers, with names or without.

        Parameters
        ----------
        n_columns : int
        names : iterable of str, optional
        target : str, optional

        Returns
        -------
        Schema
        """
        given = None if names is None else [str(name) for name in names]
        if given is not None and len(given) != n_columns:
            raise ValueError(f"feature_names must name all {n_columns} columns; got {len(given)} names.")
        made = (f"x{i}" for i in range(n_columns)) if given is None else given
        return cls(tuple(Column(name) for name in made), target, named=given is not None)

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, made up where there were none."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def all_numbers(self) -> bool:
        """True where no column is a category."""
        return all(column.categories is None for column in self.columns)

    @cached_property
    def category_columns(self) -> dict[str, list[int]]:
        """The 0/1 columns that stand for the levels of a category, by the category's name."""
        found: dict[str, list[int]] = {}
        for i, column in enumerate(self.columns):
            if column.category_of is not None:
                found.setdefault(column.category_of[0], []).append(i)
        return found

    def with_categories(self, categories: Mapping[str, tuple[str, Category]]) -> Schema:
        """Return the same columns, some of which stand for a level of a category.

        Parameters
        ----------
        categories : mapping of str to (str, category)
            By the name of a 0/1 column: the categorical column and the category that it stands for.

        Returns
        -------
        Schema

        Examples
        --------
        >>> from bgn.model.schema import Schema
        >>> plain = Schema.of_numbers(2, ["age", "in Nice"])
        >>> plain.with_categories({"in Nice": ("city", "Nice")}).category_columns
        {'city': [1]}
        """
        told = (replace(column, category_of=categories.get(column.name, column.category_of)) for column in self.columns)
        return replace(self, columns=tuple(told))

    def encode(
        self, X: Any, missing: bool | Bools = False, *, raw: bool = False, unseen: dict[str, Unseen] | None = None
    ) -> Floats:
        """Return a table as a network reads it.

        Parameters
        ----------
        X : array_like, sparse matrix or frame, shape (rows, columns), or one row
            A table of pandas, polars or pyarrow, whose columns are taken by name where the schema has names, in any
            order and among others; or an array, by position. Of a date it has the date, or the parts made of it; of a
            category whose levels are columns of 0 and 1, the category or those. One row may be a mapping or a series.
        gaps : bool or array of bool, default False
            Whether gaps (NaN, None, NA, masked) and levels never seen may stand in it, as NaN; in all columns or one by
            one.
        raw : bool, default False
            Whether an array, whose columns have no names, has dates where the table had them, and not a number made of
            them.
        unseen : dict, optional
            What takes note of levels never seen, by the name of their column.

        Returns
        -------
        ndarray of float64, shape (rows, columns)
        """
        if isinstance(X, str | os.PathLike):
            raise ValueError(f"X must be a table in memory; got the path {str(X)!r}. Loop over bgn.read_blocks of it.")
        table = AnyTable(X)
        places = self.places(table.labels, table.shape)
        flags = self._flags(table.labels, places)
        rows = table.matrix(places) if self.plain and not flags else None
        if rows is None:
            rows = self._columns(table, places, flags, raw, unseen)
        elif rows.dtype not in (np.float64, np.float32, np.int8):
            rows = rows.astype(np.float64)
        if rows.dtype.kind == "f" and not all_finite(rows):
            self._refuse(np.isinf(rows) | (np.isnan(rows) & ~np.asarray(missing)), missing)
        return rows.astype(np.float64, copy=False)

    def _refuse(self, wrong: Bools, missing: bool | Bools) -> None:
        """Say which column has gaps that it must not have, or infinities, if one has."""
        if wrong.any():
            column = int(np.flatnonzero(wrong.any(axis=0))[0])
            what = "infinity" if np.broadcast_to(missing, wrong.shape[1:])[column] else "NaN or infinity"
            raise ValueError(f"X has {what} in column {self.names[column]!r}; drop or fill those rows first.")

    @cached_property
    def raws(self) -> tuple[str, ...]:
        """Names of the columns of a raw table: where a date has become several numbers, that of the date."""
        return tuple(dict.fromkeys(column.raw for column in self.columns))

    @cached_property
    def plain(self) -> bool:
        """True where an array of numbers is what is read, as it stands: no categories, and nothing made of dates."""
        return self.all_numbers and all(column.part_of is None for column in self.columns)

    def places(self, labels: Sequence[Any] | None, shape: Sequence[int]) -> list[int]:
        """Return where in a table each column is read from, or say which are missing.

        Parameters
        ----------
        labels : sequence, optional
            The names of the table's columns, if it has names.
        shape : (rows, columns)

        Returns
        -------
        list of int

        Examples
        --------
        >>> from bgn.model.schema import Schema
        >>> Schema.of_numbers(2, ["age", "height"]).places(["height", "weight", "age"], (10, 3))
        [2, 0]
        """
        if labels is None or not (self.named or set(self.names) <= set(labels)):
            if len(shape) == 2 and shape[1] == len(self.raws):
                there = {raw: place for place, raw in enumerate(self.raws)}
                return [there[column.raw] for column in self.columns]
            if len(shape) != 2 or shape[1] != len(self.columns):
                raise ValueError(f"X must have {len(self.raws)} columns; got shape {tuple(shape)}.")
            return [*range(len(self.columns))]
        by_label = {label: place for place, label in enumerate(labels)}
        named = ((column.raw, column.name, *(column.category_of or ())[:1]) for column in self.columns)
        found = [next((by_label[name] for name in names if name in by_label), None) for names in named]
        absent = (column for column, place in zip(self.columns, found, strict=True) if place is None)
        lacking = dict.fromkeys(
            column.raw if column.category_of is None else column.category_of[0] for column in absent
        )
        if lacking:
            hint = did_you_mean(next(iter(lacking)), [label for label in by_label if label not in self.raws])
            raise ValueError(f"X lacks the column{'s' * (len(lacking) > 1)} {', '.join(map(repr, lacking))}.{hint}")
        return [place for place in found if place is not None]

    def _flags(self, labels: Sequence[Any] | None, places: Sequence[int]) -> set[int]:
        """Return the columns of 0 and 1 that are made of a category, which the table has in their place."""
        if labels is None or not self.named:
            return set()
        pairs = enumerate(zip(self.columns, places, strict=True))
        return {
            j for j, (column, place) in pairs if column.category_of and labels[place] not in (column.raw, column.name)
        }

    def reads_categories(self, labels: Sequence[Any] | None) -> bool:
        """Tell whether a table has categories in the place of columns of 0 and 1 that stand for their levels.

        Parameters
        ----------
        labels : sequence, optional
            The names of the table's columns, if it has names.

        Returns
        -------
        bool

        Examples
        --------
        >>> from bgn.model.schema import Column, Schema
        >>> nice = Schema((Column("city = Nice", category_of=("city", "Nice")),))
        >>> nice.reads_categories(["city"]), nice.reads_categories(["city = Nice"])
        (True, False)
        """
        if labels is None or not self.category_columns:
            return False
        there = set(labels)
        return any(title in there and not there.issuperset(self.names[j] for j in of)
                   for title, of in self.category_columns.items())  # fmt: skip

    def _columns(
        self, table: AnyTable, places: Sequence[int], flags: set[int], raw: bool, unseen: dict[str, Unseen] | None
    ) -> Floats:
        """Return a table column by column; all that cannot be read is named in one error."""
        rows = np.empty((table.shape[0], len(places)))
        labels = table.labels if self.named else None
        # By position, a table that has fewer columns than a network has dates where several are made of one.
        parts = not raw and (table.shape[1] == len(self.columns) or len(self.raws) == len(self.columns))
        problems: dict[str, str] = {}
        place, values = -1, None
        for j, (column, wanted) in enumerate(zip(self.columns, places, strict=True)):
            if values is None or wanted != place:
                place, values = wanted, table.column(wanted)
            is_part = parts if labels is None else labels[wanted] != column.raw
            try:
                rows[:, j] = column.flags(values) if j in flags else column.encoded(values, is_part)
                if unseen is not None and column.categories:
                    _note_unseen(unseen, column, values, rows[:, j])
            except Misread as problem:
                problems[column.raw] = f"column {column.raw!r} {problem}"
        if problems:
            words = any(each.endswith("not numbers") for each in problems.values())
            remedy = " Make numbers of words first, as with pandas.to_numeric(column, errors='coerce')." * words
            raise ValueError(f"X cannot be read as at fit: {'; '.join(problems.values())}.{remedy}")
        return rows
