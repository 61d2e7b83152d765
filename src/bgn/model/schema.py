"""The columns of a table as the user has them: names, kinds, levels, units and the ranges that were seen.

A network reads rows as one matrix of float64: a number as it is, a category as the number of its level, a gap as NaN.
:meth:`Schema.encode` makes that matrix from arrays and frames; everything printed, drawn or exported takes its words
from here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.step import Bools, Floats

Level = str | float | bool


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
    levels : tuple of str, float or bool, optional
        The values of a category, in order; None for a column of numbers.
    ordered : bool, default False
        Whether the order of the levels means something.
    unit : str, default ""
    seen : (float, float), optional
        The least and the greatest number among the rows that a network was made from.
    whole : bool, default False
        Whether all of those were whole numbers.
    typical : float, optional
        What a gap counts as where no question has an answer for it: the median of those numbers or, for a category, the
        number of the commonest level.
    level_of : (str, level), optional
        For a column of 0 and 1 that stands for one level of a category: the category's name, and that level.

    Examples
    --------
    >>> from bgn.model.schema import Column
    >>> Column("city", levels=("Lille", "Nice")).kind, Column("age", unit="years").kind
    ('category', 'number')
    >>> Column("in Nice", level_of=("city", "Nice")).kind
    'number'
    """

    name: str
    levels: tuple[Level, ...] | None = None
    ordered: bool = False
    unit: str = ""
    seen: tuple[float, float] | None = None
    whole: bool = False
    typical: float | None = None
    level_of: tuple[str, Level] | None = None

    @property
    def kind(self) -> str:
        """``"number"`` or ``"category"``."""
        return "number" if self.levels is None else "category"

    def codes(self, values: Any) -> Floats:
        """Return the number of every value's level; NaN for a gap and for a level never seen."""
        known = {level: float(code) for code, level in enumerate(self.levels or ())}
        return np.array([known.get(value, np.nan) if _is_scalar(value) else np.nan for value in values], np.float64)


def level_word(level: Level) -> str:
    """Write a level: words as they are, whole numbers without a point."""
    return level if isinstance(level, str) else repr(level).removesuffix(".0")


def _is_scalar(value: Any) -> bool:
    """Tell whether a value may be a level: neither a gap that is no value nor something that cannot be looked up."""
    return isinstance(value, (str, int, float, bool, np.generic))


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

    Examples
    --------
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("age"), Column("city", levels=("Lille", "Nice"))), target="price")
    >>> schema.encode([[31, "Nice"], [47, "Rome"]], gaps=True)
    array([[31.,  1.],
           [47., nan]])
    """

    columns: tuple[Column, ...]
    target: str | None = None
    target_unit: str = ""
    named: bool = True

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
        return all(column.levels is None for column in self.columns)

    @cached_property
    def level_columns(self) -> dict[str, list[int]]:
        """The 0/1 columns that stand for the levels of a category, by the category's name."""
        found: dict[str, list[int]] = {}
        for i, column in enumerate(self.columns):
            if column.level_of is not None:
                found.setdefault(column.level_of[0], []).append(i)
        return found

    def with_levels(self, levels: Mapping[str, tuple[str, Level]]) -> Schema:
        """Return the same columns, some of which stand for a level of a category.

        Parameters
        ----------
        levels : mapping of str to (str, level)
            By the name of a 0/1 column: the category and the level that it stands for.

        Returns
        -------
        Schema

        Examples
        --------
        >>> from bgn.model.schema import Schema
        >>> plain = Schema.of_numbers(2, ["age", "in Nice"])
        >>> plain.with_levels({"in Nice": ("city", "Nice")}).level_columns
        {'city': [1]}
        """
        told = (replace(column, level_of=levels.get(column.name, column.level_of)) for column in self.columns)
        return replace(self, columns=tuple(told))

    def encode(self, X: Any, gaps: bool | Bools = False) -> Floats:
        """Return a table as a network reads it.

        Parameters
        ----------
        X : array_like or frame, shape (rows, columns)
            A frame's columns are taken by name where the schema has names.
        gaps : bool or array of bool, default False
            Whether NaN, None and levels never seen may stand in it, as NaN; in all columns or one by one.

        Returns
        -------
        ndarray of float64, shape (rows, columns)
        """
        if isinstance(X, str | os.PathLike):
            raise ValueError(f"X must be a table in memory; got the path {str(X)!r}. Loop over bgn.read_blocks of it.")
        X = self._by_name(X)
        rows = self._numbers(X) if self.all_numbers else self._mixed(X)
        wrong = np.isinf(rows) | (np.isnan(rows) & ~np.asarray(gaps))
        if rows.dtype.kind == "f" and wrong.any():
            column = int(np.flatnonzero(wrong.any(axis=0))[0])
            what = "infinity" if np.broadcast_to(gaps, rows.shape[1:])[column] else "NaN or infinity"
            raise ValueError(f"X has {what} in column {self.names[column]!r}; drop or fill those rows first.")
        return rows.astype(np.float64, copy=False)

    def _by_name(self, X: Any) -> Any:
        """Return the columns of a frame in order, or say which are missing."""
        columns = getattr(X, "columns", None)
        if columns is None or not self.named:
            return X
        there = set(columns)
        missing = [name for name in self.names if name not in there]
        if missing:
            raise ValueError(f"X lacks the column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}.")
        return X[list(self.names)]

    def _numbers(self, X: Any) -> NDArray[Any]:
        rows = np.asarray(X)
        if rows.dtype not in (np.float64, np.float32, np.int8):
            rows = rows.astype(np.float64)
        self._check_shape(rows.shape)
        return rows

    def _mixed(self, X: Any) -> Floats:
        """Return a table of numbers and categories, column by column."""
        table = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
        self._check_shape(table.shape)
        rows = np.empty(table.shape)
        for j, column in enumerate(self.columns):
            if column.levels is not None:
                rows[:, j] = column.codes(table[:, j])
            else:
                rows[:, j] = [np.nan if value is None else value for value in table[:, j]]
        return rows

    def _check_shape(self, shape: Sequence[int]) -> None:
        if len(shape) != 2 or shape[1] != len(self.columns):
            raise ValueError(f"X must have {len(self.columns)} columns; got shape {tuple(shape)}.")
