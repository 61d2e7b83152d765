"""From a raw table, in a file or a frame, to what the estimators read.

An estimator takes frames as they are: words, dates and gaps included. What a file does not tell by itself is how it is
written: decimal marks and marks of thousands, units, words that mean missing, formats of dates. :func:`fit` finds
that out once; what it found is a frozen record, kept in the model file, so that every later table is read alike, here
and by the ``bgn`` command, which does nothing else.

Examples
--------
>>> import pandas as pd
>>> import bgn
>>> raw = pd.DataFrame({"rooms": [2, 3, None, 4], "kind": ["flat", "flat", "house", "house"], "price": [1, 2, 4, 4]})
>>> houses = bgn.preparation.fit(raw, target="price")
>>> model = bgn.BGNRegressor(max_terms=1, validation_fraction=0, shrinkage=0.0).fit(houses.frame(), houses.y)
>>> print(bgn.equation(model))
prediction = 1.5
           + 2.5 [rooms >= 4 or rooms is missing]
>>> new = houses.preparation.apply(pd.DataFrame({"kind": ["house", "tent"], "rooms": ["4", "1"]}))
>>> new.unseen
{'kind': ('tent',)}
>>> model.predict(new.frame().head(1))  # of the second row it would warn, too
array([4.])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.inputs.arguments import chosen, whole
from bgn.inputs.file_format import MISSING_VALUES, PLAIN_FORMAT, FileFormat, Numerals
from bgn.model.schema import Category, Column, Schema, category_name
from bgn.model.step import Bools, Floats
from bgn.require import require
from bgn.text import count_of, quote_category, quote_name

MISSING = ("keep", "refuse", "drop", "impute")
_FEW = 5  # categories of a column that are printed


@dataclass(frozen=True, repr=False)
class Preparation:
    """How raw tables are read: what each column is, and how text writes it.

    Parameters
    ----------
    schema : Schema
        The columns, in the order of a network's inputs.
    decimal : str
        Decimal mark of the text file that was learnt from, and of those read later unless told otherwise.
    written : tuple of Numerals
        How columns of that file, the target among them, write numbers beyond that: with marks of thousands, a unit.
    missing_values : tuple of str
        Cells of text files that count as missing.
    date_format : str, optional
        How text writes dates, as for ``strptime``; ISO 8601 is read in any case.
    merged : tuple
        Labels of the target that count as the class ``"other"``, because few rows had them.
    header : bool
        Whether the first row of text files and sheets names the columns.

    Examples
    --------
    >>> from bgn.preparation import Preparation
    >>> from bgn.model.schema import Column, Schema
    >>> rooms = Preparation(Schema((Column("rooms"), Column("kind", categories=("flat", "house")))), decimal=",")
    >>> rooms.apply({"kind": ["house", None], "rooms": ["2,5", "3"]}).X
    array([[2.5, 1. ],
           [3. , nan]])
    >>> print(rooms)
    column  kind      what is done
    rooms   number    used as it is; decimal mark ','
    kind    category  2 categories: flat, house
    """

    schema: Schema
    decimal: str = "."
    written: tuple[Numerals, ...] = ()
    missing_values: tuple[str, ...] = MISSING_VALUES
    date_format: str | None = None
    merged: tuple[Category, ...] = ()
    header: bool = True

    def __repr__(self) -> str:
        """One line per column of the raw table: what it is, and what is done with it."""
        raws = dict[str, list[Column]]()
        for column in self.schema.columns:
            raws.setdefault(column.category_of[0] if column.category_of else column.raw, []).append(column)
        lines = [("column", "kind", "what is done")]
        lines += [(quote_name(raw), *self._describe(raw, columns)) for raw, columns in raws.items()]
        most = [max(len(line[k]) for line in lines) for k in (0, 1)]
        return "\n".join(f"{name:<{most[0]}}  {kind:<{most[1]}}  {done}" for name, kind, done in lines)

    def _describe(self, raw: str, columns: Sequence[Column]) -> tuple[str, str]:
        first, parts = columns[0], [column.part_of for column in columns if column.part_of is not None]
        if parts:
            kind = {"duration": "duration", "time": "time of day"}.get(parts[0].part, "date")
            uses = {"duration": "used in days", "time": "used in hours", "days": f"days since {parts[0].first}"}
            form = f"; read as {self.date_format}, or ISO 8601" if kind == "date" and self.date_format else ""
            return kind, f"{', '.join(uses.get(part.part, part.part) for part in parts)}{form}"
        flags = [column.category_of[1] for column in columns if column.category_of is not None]
        categories = tuple(flags) or first.categories
        if categories is None:
            how = str(self.how(raw))
            return "number", f"used as it is{f'; {how}' if how else ''}"
        if categories == (False, True):
            return "true or false", "used as it is"
        some = ", ".join(quote_category(category_name(category), 24) for category in categories[:_FEW])
        more = f" and {len(categories) - _FEW} more" if len(categories) > _FEW else ""
        one_hot = "; a column of 0 and 1 each" if flags else ""
        done = f"{count_of(len(categories), 'category')}: {some}{more}{one_hot}" if categories else "always missing"
        return "ordered category" if first.ordered else "category", done

    def how(self, column: str) -> Numerals:
        """Return how text writes the numbers of a column."""
        plain = Numerals(column, self.decimal)
        return next((written for written in self.written if written.column == column), plain)

    def apply(
        self,
        data: Any,
        *,
        sep: str | None = None,
        decimal: str | Mapping[str, str] | None = None,
        thousands: str | Mapping[str, str] | None = None,
        sheet: str | None = None,
        header: bool | None = None,
    ) -> Prepared:
        """Read any later raw table as at fit.

        Parameters
        ----------
        data : path, frame or mapping
            As for :func:`fit`; columns are found by name, in any order, and others are ignored.
        sep, decimal, thousands, sheet, header : optional
            As for :func:`fit`; text is read as at fit unless told.

        Returns
        -------
        Prepared
            All rows, in their order.
        """
        require("pyarrow", extra="parquet")
        from bgn.inputs import training

        form = self.later_format(FileFormat(sep, decimal, thousands, sheet, header=header))
        return training.apply(self, data, replace(form, date_format=self.date_format))

    def later_format(self, form: FileFormat = PLAIN_FORMAT) -> FileFormat:
        """Return how a later file is written: as at fit, but for what `form` says."""
        header = False if form.header is None and not self.header else form.header
        return replace(form, missing_values=self.missing_values, header=header)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows as estimators take them, and what was met on the way.

    Parameters
    ----------
    preparation : Preparation
        How they were read, and any later table can be.
    table : pyarrow.Table
        The columns: numbers, words, truths, times; null where a value is missing.
    unseen : dict
        For each raw column, the words that were not there at fit, and infinite numbers; they count as missing.
    y : ndarray, shape (rows,), optional
        The target, at fit: numbers, or labels.
    rows : ndarray of int, shape (rows,), optional
        Where the rows stand in the raw table; the first is 0.
    notes : tuple of str
        What a user may want to know about columns and rows.
    """

    preparation: Preparation
    table: Any
    unseen: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    y: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    @property
    def X(self) -> Floats:
        """The rows as a network reads them: a category as the number of its level, NaN for what is missing."""
        return self.preparation.schema.encode(self.table, missing=True)

    @property
    def complete(self) -> Bools:
        """Which rows lack nothing."""
        return np.asarray(~np.isnan(self.X).any(axis=1))

    def frame(self) -> Any:
        """Return the rows as a pandas frame, to fit and to predict."""
        require("pandas", extra="cli")
        return self.table.to_pandas()

    def target(self) -> Any:
        """Return the target, at fit, as a pandas series by its name, which models then know it by."""
        if self.y is None:
            raise ValueError("target was not named when the table was read: use bgn.preparation.fit(data, target=...).")
        return require("pandas", extra="cli").Series(self.y, name=self.preparation.schema.target)


def fit(
    data: Any,
    target: str | None = None,
    *,
    drop: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    date_format: str | None = None,
    missing: str = "keep",
    task: str | None = None,
    merge_rare: int | None = None,
    sep: str | None = None,
    decimal: str | Mapping[str, str] | None = None,
    thousands: str | Mapping[str, str] | None = None,
    missing_values: Sequence[str] = MISSING_VALUES,
    sheet: str | None = None,
    header: bool | None = None,
) -> Prepared:
    """Read a raw table as ``bgn fit`` does: find out how it is written, and what each of its columns is.

    Parameters
    ----------
    data : path, frame or mapping
        Training rows: a CSV, TSV, Parquet or Excel file (also ``.csv.gz``), a table of pandas, polars or pyarrow, or
        columns by name. Categories, first dates and what is imputed are learned from all of them; read test rows with
        :meth:`Preparation.apply`.
    target : str, optional
        The column to predict; rows without it are left out.
    drop, categorical : str or sequence of str, optional
        Columns to leave out, and columns whose numbers are names.
    date_format : str, optional
        How dates are written, as "%d/%m/%Y"; ISO 8601 unless told.
    missing : {"keep", "refuse", "drop", "impute"}, default "keep"
        What to do with rows that lack a value: the estimators learn from gaps. Imputed are the median and the commonest
        word.
    task : {"regression", "classification"}, optional
        What the target is for. Words, true and false, and two different whole numbers are classes unless told. For 3 to
        10 different whole numbers in 100 rows or more there is no default: amounts and classes look alike.
    merge_rare : int, optional
        Merge all classes of fewer rows into one class, ``"other"``. Labels are then words.
    sep, sheet, missing_values : optional
        Separator of a text file, found from its header unless told; sheet of a workbook; cells that count as missing.
    decimal, thousands : str or mapping of str, optional
        Marks of a text file, or of columns (``{"price": ","}``); like units found where cells leave no doubt.
    header : bool, optional
        Whether the first row of a file names the columns; it does unless told, and a note says so where that is odd.
        With False they are ``column_1``, ``column_2`` and so on.

    Returns
    -------
    Prepared
        The rows to learn from.

    Examples
    --------
    >>> import bgn
    >>> raw = {"rooms": [2, 3, None], "kind": ["flat", "house", None], "id": ["a", "b", "c"], "price": [1, 2, 3]}
    >>> houses = bgn.preparation.fit(raw, "price", drop="id")
    >>> houses.X, houses.y
    (array([[ 2.,  0.],
           [ 3.,  1.],
           [nan, nan]]), array([1., 2., 3.]))
    """
    chosen("missing", missing, MISSING)
    chosen("task", task, (None, "regression", "classification"))
    whole("merge_rare", merge_rare, 1, none="no merging")
    require("pyarrow", extra="parquet")
    from bgn.inputs import prepare, training

    drop, categorical = ((names,) if isinstance(names, str) else tuple(names) for names in (drop, categorical))
    choices = prepare.Choices(target, drop, categorical, date_format, missing, task, merge_rare)
    form = FileFormat(sep, decimal, thousands, sheet, date_format, tuple(missing_values), header)
    return training.fit(data, choices, form)
