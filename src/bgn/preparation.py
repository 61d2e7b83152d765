"""How the columns of a file become the numbers a network reads: a frozen record, kept in the model file.

A column of numbers stays as it is, a column of words becomes one 0/1 column a word (``season = winter``), a date
becomes its parts (``sold month``). The record holds every choice made at fit, so that a prediction repeats them.
"""

from __future__ import annotations

from dataclasses import dataclass

PARTS = ("year", "month", "day", "weekday", "hour")


@dataclass(frozen=True)
class Number:
    """A column of numbers.

    Parameters
    ----------
    column : str
        Its name in the file.
    boolean : bool
        Whether it was written as true and false; these count 1 and 0.
    fill : float, optional
        What stands in for a missing value; None when rows with one were refused or dropped.
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
    """A column of words, or of numbers that are names: one 0/1 feature a value.

    Parameters
    ----------
    column : str
        Its name in the file.
    values : tuple of str or tuple of float
        What it held at fit, in order; any other value is none of them.
    fill : str or float, optional
        Which of them stands in for a missing value.
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
        Its name in the file.
    parts : tuple of str
        Some of ``year``, ``month``, ``day``, ``weekday`` (Monday = 1) and ``hour`` (with minutes as a fraction).
    format : str, optional
        How it is written, as for ``strptime``; ISO 8601 when None.
    fill : tuple of float, optional
        What stands in for the parts of a missing date.
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
class Preparation:
    """What is done to a file's columns, in the order of the network's inputs.

    Parameters
    ----------
    columns : tuple of Number, Category or Date
        One a column of the file.
    decimal : str
        Decimal mark of the text file the model was fitted to, and of those it reads unless told otherwise.

    Examples
    --------
    >>> from bgn.preparation import Category, Date, Number, Preparation
    >>> Preparation((Number("rooms"), Category("kind", ("flat", "house")), Date("sold", ("year", "month")))).names
    ('rooms', 'kind = flat', 'kind = house', 'sold year', 'sold month')
    """

    columns: tuple[Number | Category | Date, ...]
    decimal: str = "."

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
