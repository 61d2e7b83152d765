"""From a raw table, with words, dates and gaps, to the numbers a network reads, and back to what each number means.

A column of numbers stays as it is, a column of words becomes one 0/1 column per word (``season = winter``), a date
becomes its parts (``sold month``). :func:`fit` decides once what each column is; what it decided is a frozen record,
kept in the model file, so that every later table is read alike, here and by the ``bgn`` command.

Examples
--------
>>> import pandas as pd
>>> import bgn
>>> raw = pd.DataFrame({"rooms": [2, 3, 5, 4], "kind": ["flat", "flat", "house", "house"], "price": [1.0, 2, 4, 4]})
>>> houses = bgn.preparation.fit(raw, target="price")
>>> model = bgn.BGNRegressor(max_width=1, validation_fraction=0, shrinkage=0.0).fit(houses.frame(), houses.y)
>>> model.network_.names
('rooms', 'kind = flat', 'kind = house')
>>> new = houses.preparation.apply(pd.DataFrame({"kind": ["house", "tent"], "rooms": [4, 1]}))
>>> new.X
array([[4., 0., 1.],
       [1., 0., 0.]])
>>> new.unseen
{'kind': ('tent',)}
>>> model.predict(new.frame()).shape
(2,)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.inputs.arguments import chosen, whole
from bgn.inputs.file_format import GAPS, FileFormat, Numerals
from bgn.model.step import Floats
from bgn.require import require

PARTS = ("year", "month", "day", "weekday", "hour")


@dataclass(frozen=True)
class Number:
    """A column of numbers.

    Parameters
    ----------
    column : str
        Its name in the table.
    boolean : bool
        Whether it was written as true and false; these count 1 and 0.
    fill : float, optional
        Imputed for a missing value; None when rows with one were refused or dropped.
    """

    column: str
    boolean: bool = False
    fill: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features it becomes."""
        return (self.column,)


@dataclass(frozen=True)
class Category:
    """A column of words, or of numbers that are names: one 0/1 feature per value.

    Parameters
    ----------
    column : str
        Its name in the table.
    values : tuple of str or tuple of float
        What it held at fit, in order; any other value is none of them.
    fill : str or float, optional
        The imputed one, for a missing value.
    """

    column: str
    values: tuple[str, ...] | tuple[float, ...]
    fill: str | float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features it becomes.

        Examples
        --------
        >>> from bgn.preparation import Category
        >>> Category("season", ("summer", "winter")).names
        ('season = summer', 'season = winter')
        >>> Category("floor", (1.0, 2.5)).names
        ('floor = 1', 'floor = 2.5')
        """
        words = (value if isinstance(value, str) else repr(value).removesuffix(".0") for value in self.values)
        return tuple(f"{self.column} = {word}" for word in words)


@dataclass(frozen=True)
class Date:
    """A column of dates or time stamps, expanded into numbers.

    Parameters
    ----------
    column : str
        Its name in the table.
    parts : tuple of str
        Some of ``year``, ``month``, ``day``, ``weekday`` (Monday = 1) and ``hour`` (with minutes as a fraction).
    format : str, optional
        How it is written, as for ``strptime``; ISO 8601 when None.
    fill : tuple of float, optional
        Imputed for the parts of a missing date.
    zone : bool, optional
        Whether the times had a time zone at fit, and so count in UTC; None when that is not known.
    """

    column: str
    parts: tuple[str, ...]
    format: str | None = None
    fill: tuple[float, ...] | None = None
    zone: bool | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features it becomes."""
        return tuple(f"{self.column} {part}" for part in self.parts)


@dataclass(frozen=True)
class Feature:
    """A column of numbers that a network reads, and the raw column it stands for.

    Parameters
    ----------
    name : str
        As in ``network.feature_names``.
    column : str
        The raw column.
    kind : str
        ``"number"``, ``"category"`` or ``"date"``.
    level : str or float, optional
        The value of a category for which it is 1, or the part of a date that it holds.
    """

    name: str
    column: str
    kind: str
    level: str | float | None = None


@dataclass(frozen=True)
class Preparation:
    """What is done to a table's columns, in the order of the network's inputs.

    Parameters
    ----------
    columns : tuple of Number, Category or Date
        One per raw column.
    decimal : str
        Decimal mark of the text file the model was fitted to, and of those it reads unless told otherwise.
    written : tuple of Numerals
        How columns of that file, the target among them, write numbers beyond that: with marks of thousands, a unit.
    gaps : tuple of str
        Cells of text files that count as missing.

    Examples
    --------
    >>> from bgn.preparation import Category, Date, Number, Preparation
    >>> Preparation((Number("rooms"), Category("kind", ("flat", "house")), Date("sold", ("year", "month")))).names
    ('rooms', 'kind = flat', 'kind = house', 'sold year', 'sold month')
    """

    columns: tuple[Number | Category | Date, ...]
    decimal: str = "."
    written: tuple[Numerals, ...] = ()
    gaps: tuple[str, ...] = GAPS

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, as in ``network.feature_names``."""
        return tuple(name for column in self.columns for name in column.names)

    @property
    def levels(self) -> dict[str, tuple[str, str | float]]:
        """What the 0/1 features stand for, by name: a column of the file and one of its values."""
        found: dict[str, tuple[str, str | float]] = {}
        for column in self.columns:
            if isinstance(column, Category):
                found |= dict(zip(column.names, ((column.column, value) for value in column.values), strict=True))
        return found

    @property
    def features(self) -> tuple[Feature, ...]:
        """What each feature stands for.

        Examples
        --------
        >>> from bgn.preparation import Category, Preparation
        >>> Preparation((Category("floor", (1.0, 2.0)),)).features[1]
        Feature(name='floor = 2', column='floor', kind='category', level=2.0)
        """
        found = []
        for column in self.columns:
            kind, levels = type(column).__name__.lower(), getattr(column, "values", getattr(column, "parts", (None,)))
            found += [Feature(name, column.column, kind, x) for name, x in zip(column.names, levels, strict=True)]
        return tuple(found)

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
    ) -> Prepared:
        """Turn any later raw table into the numbers a network reads, as at fit.

        Parameters
        ----------
        data : path, frame or mapping
            As for :func:`fit`; columns are found by name, in any order, and others are ignored.
        sep, decimal, thousands, sheet : str, optional
            As for :func:`fit`; text is read as at fit unless told.

        Returns
        -------
        Prepared
            All rows, in their order; NaN where a value is missing and none was imputed at fit.

        Examples
        --------
        >>> from bgn.preparation import Category, Number, Preparation
        >>> preparation = Preparation((Number("rooms", fill=3.0), Category("kind", ("flat", "house"))))
        >>> preparation.apply({"kind": ["house", None], "rooms": [None, 2]}).X
        array([[ 3.,  0.,  1.],
               [ 2., nan, nan]])
        """
        require("pyarrow", extra="parquet")
        from bgn.inputs import training

        return training.apply(self, data, FileFormat(sep, decimal, thousands, sheet, gaps=self.gaps))


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready for a network, and what was met on the way.

    Parameters
    ----------
    preparation : Preparation
        How they were made, and any later table can be.
    X : ndarray of float64, shape (rows, features)
        NaN where a value is missing and none is imputed.
    filled : ndarray of bool, shape (rows,)
        Which rows had a missing value imputed.
    unseen : dict
        For each raw column, the values that were not there at fit; they count as none of those known.
    y : ndarray, shape (rows,), optional
        The target, at fit: numbers, or labels.
    rows : ndarray of int, shape (rows,), optional
        Where the rows stand in the raw table; the first is 0.
    notes : tuple of str
        What a user may want to know about columns and rows left out.
    """

    preparation: Preparation
    X: Floats
    filled: NDArray[np.bool_]
    unseen: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    y: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which rows have no NaN, and so can be predicted."""
        return np.asarray(~np.isnan(self.X).any(axis=1))

    def frame(self) -> Any:
        """Return the rows as a pandas frame, whose column names a fit keeps."""
        return require("pandas", extra="cli").DataFrame(self.X, columns=list(self.preparation.names), copy=False)


def fit(
    data: Any,
    target: str | None = None,
    *,
    drop: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    dates: str = "refuse",
    date_format: str | None = None,
    max_categories: int = 50,
    missing: str = "refuse",
    task: str | None = None,
    sep: str | None = None,
    decimal: str | Mapping[str, str] | None = None,
    thousands: str | Mapping[str, str] | None = None,
    gaps: Sequence[str] = GAPS,
    sheet: str | None = None,
) -> Prepared:
    """Read a raw table, decide once what each of its columns is, and return its rows as numbers.

    Parameters
    ----------
    data : path, frame or mapping
        A CSV, TSV, Parquet or Excel file (also ``.csv.gz``), a table of pandas, polars or pyarrow, or columns by name.
    target : str, optional
        The column to predict; rows without it are left out.
    drop, categorical : str or sequence of str, optional
        Columns to leave out, and columns whose numbers are names.
    dates, date_format : str, optional
        "expand" makes dates year, month, day, weekday and hour; written as "%d/%m/%Y" says, or as ISO 8601.
    max_categories : int, default 50
        A column with more different words is refused.
    missing : {"refuse", "drop", "impute"}, default "refuse"
        What to do with rows that lack a value; imputed are the median and the commonest word.
    task : {"classes", "numbers"}, optional
        What the target holds. Words, true and false, and two different whole numbers are classes unless told.
    sep, sheet, gaps : optional
        Separator of a text file, found from its header unless told; sheet of a workbook; cells that count as missing.
    decimal, thousands : str or mapping of str, optional
        Marks of a text file, or of columns (``{"price": ","}``); like units found where cells leave no doubt.

    Returns
    -------
    Prepared
        The rows to learn from: no NaN in them.

    Examples
    --------
    >>> import bgn
    >>> raw = {"rooms": [2, 3, None], "kind": ["flat", "house", "flat"], "id": ["a", "b", "c"], "price": [1, 2, 3]}
    >>> houses = bgn.preparation.fit(raw, "price", drop="id", missing="impute")
    >>> houses.X[:, 0], houses.y
    (array([2. , 3. , 2.5]), array([1., 2., 3.]))
    """
    chosen("dates", dates, ("refuse", "expand"))
    chosen("missing", missing, ("refuse", "drop", "impute"))
    whole("max_categories", max_categories, 2)
    if task is not None:
        chosen("task", task, ("classes", "numbers"))
    require("pyarrow", extra="parquet")
    from bgn.inputs import prepare, training

    drop, categorical = ((each,) if isinstance(each, str) else tuple(each) for each in (drop, categorical))
    choices = prepare.Choices(target, drop, categorical, dates, date_format, max_categories, missing, task)
    return training.fit(data, choices, FileFormat(sep, decimal, thousands, sheet, date_format, tuple(gaps)))
