"""The columns of a dataset as the user has them: names, kinds, categories, units and the ranges that were seen.

A network reads rows as one matrix of float64: a number as it is, a category as its number, a missing value as NaN.
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
    """A column of a dataset.

    Parameters
    ----------
    name : str
    categories : tuple of str, float or bool, optional
        The categories, in order; None for a column of numbers. A column with no category, such as ids are, is missing
        in every row: no model reads it.
    ordered : bool, default False
        Whether the order of the categories means something.
    unit : str, default ""
    seen : (float, float), optional
        The least and the greatest number among the training rows.
    whole : bool, default False
        Whether all of those were whole numbers.
    typical : float, optional
        What a missing value counts as where no rule has an answer for it: the median of those numbers or the number of
        the commonest category. Where categories have no order, every rule has an answer.
    category_of : (str, category), optional
        For a column of 0 and 1 that stands for one category: the categorical column's name, and that category.
    part_of : TimePart, optional
        For a number that is made of a column of dates or durations: that column's name, and how.
    missing : bool, default False
        For a number, whether some training rows had no value.
    rare : tuple of int, optional
        After a fit, the numbers of the categories that fewer than ten training rows have; files may leave them out.
        Columns are equal whatever these are.

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
        if self.always_missing:  # there is no category that a missing value could count as
            object.__setattr__(self, "typical", None)

    @property
    def always_missing(self) -> bool:
        """True for a categorical column without categories."""
        return self.categories == ()

    @property
    def raw(self) -> str:
        """The name of the column of a raw dataset that it is read from."""
        return self.name if self.part_of is None else self.part_of.raw

    @property
    def kind(self) -> str:
        """``"number"`` or ``"category"``."""
        return "number" if self.categories is None else "category"

    def codes(self, values: Any) -> Floats:
        """Return the number of every value's category; NaN for a missing value and for a category never seen."""
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return of_objects(cells).codes_in(self.categories or ())

    def flags(self, values: RawValues) -> Floats:
        """Return 1 where a value is the category that the column stands for, 0 for others, NaN for a missing value."""
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
"""In how many rows a column holds categories never seen, and some of them."""


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
        """Return the schema of columns of numbers, with names or without."""
        given = [f"x{i}" for i in range(n_columns)] if names is None else [str(name) for name in names]
        if len(given) != n_columns:
            raise ValueError(f"feature_names must name all {n_columns} columns; got {len(given)} names.")
        return cls(tuple(map(Column, given)), target, named=names is not None)

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
        """The 0/1 columns that stand for the categories of one column, by its name."""
        columns: dict[str, list[int]] = {}
        for i, column in enumerate(self.columns):
            if column.category_of is not None:
                columns.setdefault(column.category_of[0], []).append(i)
        return columns

    def with_categories(self, categories: Mapping[str, tuple[str, Category]]) -> Schema:
        """Return the same columns, those of some names standing for a category of a column.

        Examples
        --------
        >>> from bgn.model.schema import Schema
        >>> plain = Schema.of_numbers(2, ["age", "in Nice"])
        >>> plain.with_categories({"in Nice": ("city", "Nice")}).category_columns
        {'city': [1]}
        """
        columns = (replace(one, category_of=categories.get(one.name, one.category_of)) for one in self.columns)
        return replace(self, columns=tuple(columns))

    def encode(
        self, X: Any, missing: bool | Bools = False, *, raw: bool = False, unseen: dict[str, Unseen] | None = None
    ) -> Floats:
        """Return a dataset as a network reads it, shape (rows, columns).

        Parameters
        ----------
        X : array_like, sparse matrix or frame, shape (rows, columns), or one row
            A frame of pandas, polars or pyarrow, whose columns are taken by name where the schema has names, in any
            order and among others; or an array, by position. It has a date or the parts made of it, a categorical
            column or the columns of 0 and 1 made of it. One row may be a mapping or a series.
        missing : bool or array of bool, default False
            Whether missing values (NaN, None, NA, masked) and categories never seen may stand in it, as NaN; in all
            columns or one by one.
        raw : bool, default False
            Whether an array, whose columns have no names, has dates where the dataset had them, and not a number made
            of them.
        unseen : dict, optional
            What takes note of categories never seen, by the name of their column.
        """
        if isinstance(X, str | os.PathLike):
            raise ValueError(f"X must be a table in memory; got the path {str(X)!r}. Loop over bgn.read_blocks of it.")
        table = AnyTable(X)
        places = self.places(table.labels, table.shape)
        flags = set[int]()  # columns of 0 and 1 made of a category, which the dataset has in their place
        if self.named and (labels := table.labels) is not None:
            own = enumerate(zip(self.columns, places, strict=True))
            flags = {j for j, (one, place) in own if one.category_of and labels[place] not in (one.raw, one.name)}
        rows = table.matrix(places) if self.plain and not flags else None
        if rows is None:
            rows = self._columns(table, places, flags, raw, unseen)
        elif rows.dtype not in (np.float64, np.float32, np.int8):
            rows = rows.astype(np.float64)
        if rows.dtype.kind == "f" and not all_finite(rows):
            wrong = np.isinf(rows) | (np.isnan(rows) & ~np.asarray(missing))
            for column in np.flatnonzero(wrong.any(axis=0)).tolist():
                what = "infinity" if np.broadcast_to(missing, wrong.shape[1:])[column] else "NaN or infinity"
                raise ValueError(f"X has {what} in column {self.names[column]!r}; drop or fill those rows first.")
        return rows.astype(np.float64, copy=False)

    @cached_property
    def raws(self) -> tuple[str, ...]:
        """Names of the columns of a raw dataset: where a date has become several numbers, that of the date."""
        return tuple(dict.fromkeys(column.raw for column in self.columns))

    @cached_property
    def plain(self) -> bool:
        """True where an array of numbers is what is read, as it stands: no categories, and nothing made of dates."""
        return self.all_numbers and all(column.part_of is None for column in self.columns)

    def places(self, labels: Sequence[Any] | None, shape: Sequence[int]) -> list[int]:
        """Return where in a dataset of some shape, whose columns may have names, each column is read from.

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
        places = [next((by_label[name] for name in names if name in by_label), None) for names in named]
        absent = (column for column, place in zip(self.columns, places, strict=True) if place is None)
        lacking = dict.fromkeys(one.raw if one.category_of is None else one.category_of[0] for one in absent)
        if lacking:
            hint = did_you_mean(next(iter(lacking)), [label for label in by_label if label not in self.raws])
            raise ValueError(f"X lacks the column{'s' * (len(lacking) > 1)} {', '.join(map(repr, lacking))}.{hint}")
        return [place for place in places if place is not None]

    def reads_categories(self, labels: Sequence[Any] | None) -> bool:
        """Tell whether a dataset with these names has categories in the place of columns of 0 and 1 made of them.

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
        """Return a dataset column by column; all that cannot be read is named in one error."""
        rows = np.empty((table.shape[0], len(places)))
        labels = table.labels if self.named else None
        # By position, a dataset that has fewer columns than a network has dates where several are made of one.
        parts = not raw and (table.shape[1] == len(self.columns) or len(self.raws) == len(self.columns))
        problems: dict[str, str] = {}
        place, values = -1, None
        for j, (column, wanted) in enumerate(zip(self.columns, places, strict=True)):
            if values is None or wanted != place:
                place, values = wanted, table.column(wanted)
            is_part = parts if labels is None else labels[wanted] != column.raw
            try:
                rows[:, j] = column.flags(values) if j in flags else column.encoded(values, is_part)
                strange = np.isnan(rows[:, j]) & ~values.missing if unseen is not None and column.categories else None
                if unseen is not None and strange is not None and strange.any():
                    unseen[column.raw] = int(np.count_nonzero(strange)), values.examples(strange)
            except Misread as problem:
                problems[column.raw] = f"column {column.raw!r} {problem}"
        if problems:
            of_text = any(problem.endswith("not numbers") for problem in problems.values())
            remedy = " Make numbers of words first, as with pandas.to_numeric(column, errors='coerce')." * of_text
            raise ValueError(f"X cannot be read as at fit: {'; '.join(problems.values())}.{remedy}")
        return rows
