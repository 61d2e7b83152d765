"""Any table straight in: what each column of a raw table is, and the schema that remembers it.

Numbers stay numbers. Words, categories, true and false become categories; dates become several numbers, one per part
that varies; durations become days. A table that comes in blocks is looked at block by block, and :meth:`Kinds.merged`
tells of all blocks what :meth:`Kinds.of` would have told of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.inputs.kinds import ColumnKind
from bgn.model.schema import Column, Schema
from bgn.model.values import AnyTable, Coded, Misread, RawValues, Strange, did_you_mean

FROM_DTYPE = "from_dtype"


def schema_of(X: Any, categorical_features: Any = FROM_DTYPE, target: str | None = None) -> Schema:
    """Decide what every column of a table is.

    Parameters
    ----------
    X : array_like or frame, shape (rows, columns)
        A table of pandas, polars or pyarrow, or an array.
    categorical_features : {"from_dtype"}, mask, positions, names or None, default "from_dtype"
        Columns that are categories whatever they hold; those of words are categories anyway, unless None refuses them.
    target : str, optional
        What is predicted.

    Returns
    -------
    Schema
        Whose :meth:`~bgn.model.schema.Schema.encode` makes a matrix of this table and of later ones.

    Raises
    ------
    ValueError
        Naming all columns that hold something else, such as lists.

    Examples
    --------
    >>> import datetime
    >>> from bgn.inputs.frames import schema_of
    >>> sold = [datetime.date(2006, 1, 15), datetime.date(2007, 1, 15), None]
    >>> schema = schema_of([[31, "Nice", sold[0]], [None, "Lille", sold[1]], [47, None, sold[2]]])
    >>> schema.names, schema.columns[1].levels
    (('x0', 'x1', 'x2 year', 'x2 weekday', 'x2, days since 2006-01-15'), ('Lille', 'Nice'))
    >>> schema.encode([[20, "Nice", sold[1]]])
    array([[2.000e+01, 1.000e+00, 2.007e+03, 1.000e+00, 3.650e+02]])
    """
    return TableKinds.of(X, categorical_features).schema(target)


@dataclass(frozen=True)
class TableKinds:
    """What was seen of a table's columns: as much of it as decides on a schema, and no more.

    Parameters
    ----------
    columns : tuple of ColumnKind
    named : bool
        Whether the table has names for them.
    words : bool
        Whether words may be learnt from.

    Examples
    --------
    >>> from bgn.inputs.frames import Kinds
    >>> first, second = Kinds.of([[1, "Nice"]]), Kinds.of([[2, "Lille"]])
    >>> first.merged(second).schema().columns[1].levels
    ('Lille', 'Nice')
    """

    columns: tuple[ColumnKind, ...]
    named: bool = True
    words: bool = True

    @classmethod
    def of(cls, X: Any, categorical_features: Any = FROM_DTYPE) -> TableKinds:
        """Return what a table, or a block of one, tells.

        Parameters
        ----------
        X, categorical_features
            As for :func:`schema_of`.

        Returns
        -------
        Kinds
        """
        table = AnyTable(X)
        if len(table.shape) != 2:
            raise ValueError(
                f"X must be a table: Expected 2D array, got {len(table.shape)}D array instead. Reshape your data with "
                "reshape(-1, 1) if it is one column, or reshape(1, -1) if it is one row."
            )
        odd = [label for label in table.labels or () if not isinstance(label, str)]
        if odd and len(odd) < len(table.labels or ()):
            raise ValueError(
                f"X must have column names that are all words, or none that is; got {odd[0]!r} among words."
            )
        names = table.names or tuple(f"x{place}" for place in range(table.shape[1]))
        chosen = chosen_columns(categorical_features, table.names, table.shape[1])
        columns = {}
        for place, name in enumerate(names):
            values = table.column(place)
            columns[name] = _no_text_of_numbers(values) if table.text else values
        forced = [names[place] for place in chosen]
        return cls.of_columns(columns, forced, table.names is not None, categorical_features is not None)

    @classmethod
    def of_columns(
        cls, columns: Mapping[str, RawValues], forced: Container[str] = (), named: bool = True, words: bool = True
    ) -> TableKinds:
        """Return what columns tell, of which those in `forced` are categories whatever they hold."""
        return cls(tuple(ColumnKind.of(name, each, name in forced) for name, each in columns.items()), named, words)

    def merged(self, *others: TableKinds) -> TableKinds:
        """Return what this and other blocks of one table tell together; a block may lack columns."""
        found = {column.name: column for column in self.columns}
        for column in (each for other in others for each in other.columns):
            found[column.name] = found[column.name].merged(column) if column.name in found else column
        return TableKinds(tuple(found.values()), self.named, self.words)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Names of the columns whose values decide, not their type alone."""
        return tuple(column.name for column in self.columns if not column.settled)

    def schema(self, target: str | None = None) -> Schema:
        """Return the schema; all columns that cannot be learnt from are named in one error."""
        columns: list[Column] = []
        problems: list[str] = []
        for kind in self.columns:
            try:
                columns += kind.columns(self.words)
            except Misread as problem:
                problems.append(f"column {kind.name!r} {problem}")
        for name, times in Counter(column.name for column in columns).items():
            if times > 1:
                problems.append(f"column {name!r} is there, and would also be made of a column of dates or durations")
        if problems:
            raise ValueError(
                f"X cannot be learnt from: {'; '.join(problems)}. Turn such columns into numbers, words (astype(str)), "
                "dates or true and false, of one kind each, or leave them out."
            )
        return Schema(tuple(columns), target, named=self.named)


def _no_text_of_numbers(values: RawValues) -> RawValues:
    """Refuse numbers that NumPy has made text of, as it does of all cells where some are text."""
    try:
        floats = [float(category) for category in values.observed] if isinstance(values, Coded) else []
    except ValueError:
        return values
    return (
        Strange("numbers as text, as NumPy makes them where a cell is text; use a frame, or dtype=object")
        if floats
        else values
    )


def chosen_columns(categorical_features: Any, names: tuple[str, ...] | None, n_columns: int) -> frozenset[int]:
    """Return the places of the columns that are told to be categories.

    Examples
    --------
    >>> from bgn.inputs.frames import chosen_columns
    >>> sorted(chosen_columns([True, False, True], None, 3)), sorted(chosen_columns(["b"], ("a", "b"), 2))
    ([0, 2], [1])
    """
    name = "categorical_features"
    if categorical_features is None or (isinstance(categorical_features, str) and categorical_features == FROM_DTYPE):
        return frozenset()
    given = np.asarray(categorical_features, dtype=object)
    kinds = {bool if isinstance(each, bool | np.bool_) else type(each) for each in given.ravel()}
    if given.ndim == 1 and kinds == {bool}:
        if len(given) != n_columns:
            raise ValueError(f"{name}, a mask, must have one entry per column of X ({n_columns}); got {len(given)}.")
        return frozenset(np.flatnonzero(given.astype(bool)).tolist())
    if given.ndim == 1 and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        for place in given:
            if not 0 <= place < n_columns:
                raise ValueError(f"{name} must be positions from 0 to {n_columns - 1}; got {place}.")
        return frozenset(map(int, given))
    if given.ndim == 1 and all(issubclass(kind, str) for kind in kinds):
        if names is None:
            raise ValueError(f"{name} must be positions where columns have no names; got {str(given[0])!r}.")
        for each in given:
            if each not in names:
                raise ValueError(f"{name}: X has no column {str(each)!r}.{did_you_mean(each, names)}")
        return frozenset(names.index(each) for each in given)
    raise ValueError(
        f"{name} must be 'from_dtype', None, or for all columns true or false, or the positions or the names of some; "
        f"got {categorical_features!r}."
    )
