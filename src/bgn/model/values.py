"""The values of one column of a raw table, whatever library holds it: numbers, text, dates, durations, times of day.

Each kind is a small final class. It answers what a :class:`~bgn.model.schema.Column` needs of it: numbers, the codes
of categories, a part of a date; what it cannot answer is a :class:`Misread`, whose text follows the column's name.
:func:`values_of` reads a column of any library, :class:`AnyTable` a table.
"""

from __future__ import annotations

import datetime
import decimal
import difflib
import importlib
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.dates import HOUR, TimePart, hours_of, in_utc, zone_name
from bgn.model.step import Bools, Floats

Category = str | float | bool

MOST_DENSE = 1 << 32
"""Bytes that a sparse table may take once it is dense: 4 GiB."""
_TIMES = {"duration": ("durations", "pandas.to_timedelta(..., unit='s')"), "time": ("times of day", "datetime.time")}
_MOST_EXAMPLES = 3
_MOST_COMPARED = 200  # letters; comparing takes their square
_TRUTHS = (False, True)
# A number as text, or blanks alone, which made text of a column of numbers: they are read as in a file.
_NUMERAL = re.compile(r"\s*([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)?\s*")


def category_name(category: Category) -> str:
    """Write a category: text as it is, whole numbers without a point."""
    return category if isinstance(category, str) else repr(category).removesuffix(".0")


class Misread(ValueError):
    """A column does not hold what it should; the text follows its name."""


# -- What a column holds -----------------------------------------------------------------------------------------


class RawValues:
    """One value per row; a missing value is NaN, NaT or the code -1."""

    kind = ""
    """What it is, where one word says it: a number, a time, a duration or a time of day."""
    holds: str
    """What to say that it holds."""
    parts: tuple[str, ...] = ()
    """The parts of dates that its values are."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    @property
    def missing(self) -> Bools:
        """Which rows have no value."""
        return np.isnan(self.values)

    def numbers(self) -> Floats:
        raise Misread(f"holds {self.holds}, not numbers")

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        """Return the place of every value among categories, NaN for missing values and for others than these."""
        raise Misread(f"holds {self.holds}, not categories")

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        """Return a part of dates; numbers are that part where the column `is_part`, and refused where it is not."""
        values = self.values if part.part in self.parts else self.numbers()
        if is_part or part.part in self.parts:
            return values
        what, make = _TIMES.get(part.part, ("dates", "pandas.to_datetime(..., unit='s')"))
        raise Misread(
            f"holds numbers, and held {what} at fit: numbers alone do not say which {what} they are. Make {what} of "
            f"them, for instance with {make}, or name the column {part.name!r} if they are that"
        )

    def examples(self, which: Bools) -> list[str]:
        """Return some of the values of the rows that are marked, each once."""
        return []


class Nothing(RawValues):
    """Missing values and no type."""

    holds = "nothing"

    def __init__(self, n_rows: int) -> None:
        super().__init__(np.full(n_rows, np.nan))

    def numbers(self) -> Floats:
        return self.values

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        return self.values

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        return self.values


class Numbers(RawValues):
    """Numbers. Those that were `loose`, objects of Python, may stand among text elsewhere in the column."""

    kind, holds = "number", "numbers"

    def __init__(self, values: Floats, loose: bool = False) -> None:
        super().__init__(values)
        self.loose = loose

    def numbers(self) -> Floats:
        return self.values

    @property
    def distinct(self) -> Floats:
        """The different numbers, in order; 0 for -0."""
        distinct = np.unique(self.values)
        return distinct[~np.isnan(distinct)] + 0.0

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        distinct = self.distinct
        if len(distinct) and categories and not any(map(_reads_as_number, categories)):
            raise Misread(
                f"holds numbers, and held words at fit, such as {str(categories[0])[:40]!r}: if they stand for these, "
                "as codes do, put the words in their place"
            )
        places = np.searchsorted(distinct, self.values)  # that of NaN is behind the last
        return _places_in(categories, distinct.tolist())[places]

    def examples(self, which: Bools) -> list[str]:
        return [category_name(value) for value in np.unique(self.values[which])[:_MOST_EXAMPLES].tolist()]


class Coded(RawValues):
    """Categories: a code per row, and the categories that codes stand for.

    Those that were `loose`, objects of Python, may stand among numbers elsewhere; the type of `text` says no more than
    that they are text.
    """

    def __init__(
        self, codes: NDArray[Any], categories: Iterable[Category], *, ordered: bool = False, loose: bool = False,
        text: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(codes)
        self.codes, self.categories, self.ordered, self.loose = codes, tuple(categories), ordered, loose
        self.text = text or loose

    @property
    def missing(self) -> Bools:
        return self.codes < 0

    @property
    def holds(self) -> str:  # type: ignore[override]
        text = next((category for category in self.categories if isinstance(category, str)), None)
        return "categories" if text is None else f"words ({text[:40]!r})"

    @property
    def observed(self) -> list[Category]:
        """The categories that occur, in their order."""
        return [self.categories[code] for code in np.unique(self.codes).tolist() if code >= 0]

    def numbers(self) -> Floats:
        observed = self.observed
        if strange := next((text for text in observed if not _reads_as_number(text)), None):
            raise Misread(f"holds words ({str(strange)[:40]!r}), not numbers")
        # Blanks are missing values.
        there = {known: float(known) if str(known).strip() else np.nan for known in observed}
        return np.array([*(there.get(category, np.nan) for category in self.categories), np.nan])[self.codes]

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        return _places_in(categories, self.categories)[self.codes]

    def examples(self, which: Bools) -> list[str]:
        names = sorted(category_name(self.categories[code]) for code in np.unique(self.codes[which]).tolist())
        return [name[:40] for name in names[:_MOST_EXAMPLES]]

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        """Return a part of dates, or times of day, that are written as ISO 8601 does."""
        observed = self.observed
        if part.part == "duration" or not all(isinstance(category, str) for category in observed):
            return super().part(part, is_part)
        texts, clock = [str(text).strip() for text in observed], part.part == "time"
        try:
            if clock:
                hours = [hours_of(datetime.time.fromisoformat(text.zfill(5))) for text in texts]
                values: RawValues = TimesOfDay(np.array(hours))
            else:
                moments = [datetime.datetime.fromisoformat(text) for text in texts]
                values = _of_moments(np.array([*moments, None], dtype=object)[:-1], {type(None)})
        except ValueError:
            raise Misread(f"holds {self.holds}, not {'times of day' if clock else 'dates'}") from None
        places = np.full(len(self.categories) + 1, -1)
        places[[self.categories.index(category) for category in observed]] = np.arange(len(observed))
        return np.append(values.part(part), np.nan)[places[self.codes]]


class Times(RawValues):
    """Dates and times, in UTC where they have a time zone."""

    kind, holds = "time", "dates"

    def __init__(self, stamps: NDArray[Any], zone: Any = None) -> None:
        super().__init__(stamps.astype("M8[us]"))
        self.zone = zone_name(zone)

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        if part.part == "duration":
            return super().part(part)
        if (self.zone is None) != (part.zone is None):
            had, has = ("one", "no") if self.zone is None else ("none", "a")
            raise Misread(f"holds times that have {has} time zone, and had {had} at fit")
        return part.of(self.values)


class Durations(RawValues):
    """Lengths of time, in days."""

    kind, holds, parts = "duration", "durations", ("duration",)

    def __init__(self, lengths: NDArray[Any]) -> None:
        super().__init__(lengths.astype("m8[us]") / np.timedelta64(1, "D"))


class TimesOfDay(RawValues):
    """What a clock shows, in hours."""

    kind, holds, parts = "time of day", "times of day", ("time", "hour")


class Strange(RawValues):
    """What is none of the others."""

    def __init__(self, holds: str) -> None:
        super().__init__(np.zeros(1))
        self.holds = holds


def _reads_as_number(category: Category) -> bool:
    return not isinstance(category, str) or _NUMERAL.fullmatch(category) is not None


def _places_in(categories: Sequence[Category], values: Sequence[Category]) -> Floats:
    """Return the places of values among categories, by value and then by name, else NaN; and one more NaN."""
    places: dict[Any, float] = {category_name(category): float(place) for place, category in enumerate(categories)}
    places |= {category: float(place) for place, category in enumerate(categories)}
    return np.array([*(places.get(value, places.get(category_name(value), np.nan)) for value in values), np.nan])


# -- One column of any library -----------------------------------------------------------------------------------


def values_of(column: Any) -> RawValues:
    """Return what a column of any library holds."""
    read: dict[str, Callable[[Any], RawValues]]
    read = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}
    return read.get(_library(column), lambda other: _of_numpy(np.asarray(other)))(column)


def _of_numpy(values: NDArray[Any]) -> RawValues:
    kind = values.dtype.kind
    if kind in "fiub":
        return Numbers(values.astype(np.float64))
    if kind in "OU":
        return of_objects(values.astype(object))
    if kind == "M":
        return Times(values)
    return Durations(values) if kind == "m" else Strange(f"values of the type {values.dtype}")


def _truths(values: Any) -> Coded:
    """Return truths from numbers 0, 1 and NaN."""
    return Coded(np.where(np.isnan(values), -1, values).astype(np.int64), _TRUTHS)


def _of_pandas(series: Any) -> RawValues:
    dtype, kind = series.dtype, getattr(series.dtype, "kind", "O")
    if isinstance(dtype, np.dtype):
        values = series.to_numpy()
        return _truths(values.astype(np.float64)) if kind == "b" else _of_numpy(values)
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(importlib.import_module("pyarrow").array(series))
    if hasattr(dtype, "categories"):
        codes = series.cat.codes.to_numpy() if hasattr(series, "cat") else series.codes  # a Categorical by itself
        return coded(codes, dtype.categories, bool(dtype.ordered))
    if kind == "M":
        return Times(series.dt.tz_convert(None).to_numpy(), dtype.tz)
    if dtype.name.startswith("Sparse"):
        return _of_pandas(series.sparse.to_dense())
    if kind in "iuf":
        return Numbers(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "b":
        return _truths(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if dtype.name in ("string", "str"):
        codes, texts = importlib.import_module("pandas").factorize(series)
        return coded(codes, texts, text=True)
    return Strange(f"values of the type {dtype}")


def _of_polars(series: Any) -> RawValues:
    pl = importlib.import_module("polars")
    dtype = series.dtype
    if dtype == pl.Decimal:  # as written, which rounds once
        series = series.cast(pl.String)
    if dtype.is_numeric():
        return Numbers(series.cast(pl.Float64).to_numpy())
    if dtype == pl.Boolean:
        return _truths(series.cast(pl.Float64).to_numpy())
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = dtype.categories if dtype == pl.Enum else series.cast(pl.String).unique().drop_nulls()
        places = pl.Series(range(len(texts)), dtype=pl.Int64)
        codes = series.cast(pl.String).replace_strict(texts, places, default=-1, return_dtype=pl.Int64)
        return coded(codes.to_numpy(), texts.to_list(), ordered=dtype == pl.Enum, text=dtype == pl.String)
    if dtype in (pl.Date, pl.Datetime):
        return Times(series.to_numpy(), getattr(dtype, "time_zone", None))
    if dtype == pl.Duration:
        return Durations(series.to_numpy())
    if dtype == pl.Time:
        return TimesOfDay((series.to_physical() // 1000).cast(pl.Float64).to_numpy() / HOUR)
    if dtype == pl.Null:
        return Nothing(len(series))
    objects = dtype == pl.Object
    return of_objects(np.array(series.to_list(), object)) if objects else Strange(f"values of the type {dtype}")


def _of_arrow(column: Any) -> RawValues:
    pa = importlib.import_module("pyarrow")
    types, kind = pa.types, column.type
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
        if hasattr(column, "chunks"):  # none at all, or more than fit into one
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    if types.is_null(kind):
        return Nothing(len(column))
    if types.is_dictionary(kind) and (types.is_temporal(kind.value_type) or types.is_nested(kind.value_type)):
        return _of_arrow(column.dictionary_decode())
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if types.is_dictionary(kind) or text:
        column = column if types.is_dictionary(kind) else column.dictionary_encode()
        codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return coded(codes, column.dictionary.to_pylist(), getattr(kind, "ordered", False), text)
    if types.is_boolean(kind):
        return _truths(column.cast(pa.int8()).cast(pa.float64()).to_numpy(zero_copy_only=False))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        written = column.cast(pa.string()) if types.is_decimal(kind) else column  # which rounds once
        return Numbers(written.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if types.is_date(kind) or types.is_timestamp(kind):
        stamps = column.cast(pa.timestamp("us")) if types.is_date(kind) else column
        return Times(stamps.to_numpy(zero_copy_only=False), getattr(kind, "tz", None))
    if types.is_duration(kind):
        return Durations(column.to_numpy(zero_copy_only=False))
    if types.is_time(kind):
        moments = column.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(pa.float64())
        return TimesOfDay(moments.to_numpy(zero_copy_only=False) / HOUR)
    return Strange(f"values of the type {kind}")


# -- Objects of Python -------------------------------------------------------------------------------------------


def of_objects(values: NDArray[Any]) -> RawValues:
    """Return what objects of Python hold: numbers, text, truths, dates or durations, with missing values among them."""
    sorts = {kind: _sort_of(kind) for kind in set(map(type, values))}
    kinds = set(sorts.values()) - {"missing"}
    missing = {kind for kind, sort in sorts.items() if sort == "missing"}
    if not kinds:
        return Nothing(len(values))
    if kinds == {"number"}:
        try:
            floats = np.array([np.nan if type(value) in missing else value for value in values], np.float64)
            return Numbers(floats, loose=True)
        except (OverflowError, ValueError, TypeError):
            return Strange("numbers too large for a float64")
    if kinds <= {"word", "number", "truth"}:
        return _of_texts(values, missing)
    if kinds == {"time"}:
        return _of_moments(values, missing)
    if kinds == {"duration"}:
        return Durations(_without_missing(values, missing).astype("m8[us]"))
    if kinds == {"time of day"}:
        return TimesOfDay(np.array([np.nan if type(value) in missing else hours_of(value) for value in values]))
    if strange := sorted(kind.__name__ for kind, sort in sorts.items() if sort == "other"):
        return Strange(f"values of the type {', '.join(strange)}")
    return Strange(" and ".join(sorted(f"{kind}s" for kind in kinds)))


def _sort_of(kind: type) -> str:
    """Return what values of a type are."""
    if kind.__name__ in ("NoneType", "NAType", "NaTType", "MaskedConstant"):
        return "missing"
    sorts: dict[str, tuple[type, ...]] = {
        "truth": (bool, np.bool_), "word": (str,), "time": (datetime.date, np.datetime64),
        "duration": (datetime.timedelta, np.timedelta64), "number": (numbers.Real, decimal.Decimal),
        "time of day": (datetime.time,),
    }  # fmt: skip
    return next((sort for sort, types in sorts.items() if issubclass(kind, types)), "other")


def _of_texts(values: NDArray[Any], missing: set[type]) -> Coded:
    """Text and truths, perhaps among numbers. As these are equal at times (True is 1), their names tell them apart."""
    distinct = [value for value in dict.fromkeys(values) if type(value) not in missing and value == value]
    if all(isinstance(value, str) for value in distinct):
        known: dict[Any, int] = {value: code for code, value in enumerate(distinct)}
        codes = np.fromiter((known.get(value, -1) for value in values), np.int64, len(values))
        return Coded(codes, map(str, distinct), loose=True)
    categories, names = dict[str, Category](), list[str | None]()
    for value in values:
        if type(value) in missing or value != value:
            names.append(None)
            continue
        names.append(name := category_name(category_of(value)))
        if name not in categories or isinstance(value, str):
            categories[name] = category_of(value)
    places: dict[str | None, int] = {name: code for code, name in enumerate(categories)}
    return Coded(np.array([places.get(name, -1) for name in names], np.int64), categories.values(), loose=True)


def category_of(value: Any) -> Category:
    """Return text, a truth or a number as a category."""
    if isinstance(value, str):
        return str(value)
    return bool(value) if isinstance(value, bool | np.bool_) else float(value) + 0.0


def coded(codes: NDArray[Any], values: Iterable[Any], ordered: bool = False, text: bool = False) -> RawValues:
    """Return categories whose codes stand for any values; None and NaN among these are missing values."""
    values = list(values)
    sorts = [_sort_of(type(value)) for value in values]
    if not set(sorts) <= {"missing", "word", "number", "truth"}:
        simple = ("missing", "word", "number")
        kind = next(type(value).__name__ for value, sort in zip(values, sorts, strict=True) if sort not in simple)
        return Strange(f"categories of the type {kind}")
    known = [k for k, value in enumerate(values) if sorts[k] != "missing" and value == value]
    place = np.full(len(values) + 1, -1)
    place[known] = np.arange(len(known))
    return Coded(place[codes], (category_of(values[k]) for k in known), ordered=ordered, text=text)


def _of_moments(values: NDArray[Any], missing: set[type]) -> RawValues:
    """Dates and times of one time zone, or of none."""
    clocks = {getattr(value, "tzinfo", None) for value in values if type(value) not in missing}
    zones = set(map(zone_name, clocks))
    if len(zones) > 1:
        return Strange(f"times {'with and without a time zone' if None in zones else 'of several time zones'}")
    if zones != {None}:
        zoned = (getattr(value, "tzinfo", None) is not None for value in values)
        values = np.array([in_utc(value) if has else value for value, has in zip(values, zoned, strict=True)], object)
    return Times(_without_missing(values, missing).astype("M8[us]"), *zones)


def _without_missing(values: NDArray[Any], missing: set[type]) -> NDArray[Any]:
    # None stands in the place of every missing value.
    if missing <= {type(None)}:
        return values
    return np.array([None if type(value) in missing else value for value in values], dtype=object)


# -- Tables of pandas, polars, pyarrow, NumPy and SciPy ---------------------------------------------------------


class AnyTable:
    """A dataset of any library: an array, sparse matrix or frame; or one row by name, a mapping or a series.

    Examples
    --------
    >>> from bgn.model.values import AnyTable
    >>> table = AnyTable([[31, "Nice"], [47, None]])
    >>> table.shape, table.column(1).categories
    ((2, 2), ('Nice',))
    >>> row = AnyTable({"age": 31, "city": "Nice"})
    >>> row.names, row.shape, row.is_one_row
    (('age', 'city'), (1, 2), True)
    """

    def __init__(self, X: Any) -> None:
        X = dense(X)
        self._library = _library(X)
        self.labels = labels_of(X)
        self.is_one_row = is_named_row(X)
        if self.is_one_row:
            self._X: Any = np.empty((1, len(X)), dtype=object)
            self._X[0] = list(X.values()) if isinstance(X, Mapping) else list(X)
        else:
            self._X = X if self.labels is not None else as_array(X)
        self.shape: tuple[int, ...] = self._X.shape

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns; None where they have none, or some that are no words."""
        named = self.labels is not None and all(isinstance(label, str) for label in self.labels)
        return tuple(map(str, self.labels or ())) if named else None

    @property
    def text(self) -> bool:
        """True for an array of text, in which numbers would be text, too."""
        return self.labels is None and self._X.dtype.kind == "U"

    def column(self, place: int) -> RawValues:
        """Return what one column holds."""
        X = self._X
        if isinstance(X, np.ndarray) or self.labels is None:
            return values_of(X[:, place])
        if self._library == "pandas":
            return values_of(X.iloc[:, place])
        return values_of(X.column(place) if self._library == "pyarrow" else X[self.labels[place]])

    def matrix(self, places: Sequence[int]) -> NDArray[Any] | None:
        """Return some columns as one array, if the library holds them as numbers in a few of them; else None."""
        X = self._X
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
            return X if list(places) == list(range(X.shape[1])) else X[:, places]
        if self._library != "pandas" or isinstance(X, np.ndarray):
            return None
        dtypes = [X.dtypes.iloc[place] for place in places]
        if all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in dtypes):
            return np.asarray(X if list(places) == list(range(X.shape[1])) else X.iloc[:, list(places)])
        return None


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def labels_of(X: Any) -> list[Any] | None:
    """Return the names of a frame's columns, which must differ; None for what has no names."""
    if type(X).__name__ == "LazyFrame":
        raise ValueError("X must be a table that is there; got a LazyFrame. Call its collect() first.")
    if is_named_row(X):
        return list(X.keys())
    labels = X.schema.names if _library(X) == "pyarrow" and hasattr(X, "schema") else getattr(X, "columns", None)
    if labels is None:
        return None
    labels = list(labels)
    if len(set(labels)) < len(labels):
        twice = next(name for k, name in enumerate(labels) if name in labels[:k])
        raise ValueError(f"X has more than one column named {twice!r}. Rename or drop all but one.")
    return labels


def as_array(X: Any) -> NDArray[Any]:
    """Return rows without names as an array; masked values are missing."""
    if isinstance(X, np.ma.MaskedArray):
        cells, masked = np.asarray(X.data), np.ma.getmaskarray(X)
        cells = cells.astype(object) if cells.dtype.kind not in "fiubmM" else cells
        missing: dict[str, Any] = {"O": None, "m": np.timedelta64("NaT", "us"), "M": np.datetime64("NaT", "us")}
        return np.where(masked, missing.get(cells.dtype.kind, np.nan), cells) if masked.any() else cells
    rows = np.asarray(X)
    # NumPy makes words of all cells where some are.
    return np.asarray(X, dtype=object) if rows.dtype.kind == "U" and not isinstance(X, np.ndarray) else rows


def rows_where(X: Any, keep: NDArray[np.bool_]) -> Any:
    """Return the rows of a table that are marked."""
    if labels_of(X) is None:
        return as_array(X)[keep]
    if _library(X) == "pandas":
        return X[keep]
    return X.filter(importlib.import_module("pyarrow").array(keep) if _library(X) == "pyarrow" else keep)


def is_named_row(X: Any) -> bool:
    """Tell whether something is a row whose values have names: a mapping, or a series of pandas whose index is text."""
    if isinstance(X, Mapping):
        return not is_sparse(X)  # one of SciPy's is like a dictionary
    series = _library(X) == "pandas" and getattr(X, "ndim", 0) == 1 and hasattr(X, "index")
    return series and len(X) > 0 and all(isinstance(label, str) for label in X.index)


def as_rows(X: Any) -> Any:
    """Return a row that is a sequence of one value per column as a table of one row; everything else as it is."""
    if _library(X) == "scipy" and is_sparse(X) and X.ndim == 1:  # a row that was taken of a sparse array
        return X.toarray()[np.newaxis]
    if _library(X) == "torch" or labels_of(X) is not None or is_sparse(X):
        return X
    if isinstance(X, list | tuple):
        return X if not X or any(map(np.ndim, X)) else [list(X)]
    if np.ndim(X) != 1:
        return X
    return np.asarray(X)[np.newaxis] if _library(X) == "numpy" else [list(X)]


def is_sparse(X: Any) -> bool:
    """Tell whether a table is a sparse matrix or array of SciPy, or a frame of pandas with sparse columns."""
    if _library(X) == "scipy":
        return hasattr(X, "toarray")
    return _library(X) == "pandas" and hasattr(X, "columns") and any(map(_is_sparse_dtype, X.dtypes))


def dense(X: Any) -> Any:
    """Return what is sparse as a dense array or frame, unless it would take too much memory; all else as it is."""
    if not is_sparse(X):
        return X
    frame, (rows, columns) = labels_of(X) is not None, (*X.shape, 1)[:2]  # names must differ
    sparse = [name for name, dtype in X.dtypes.items() if _is_sparse_dtype(dtype)] if frame else []
    row_bytes = sum(X.dtypes[name].subtype.itemsize for name in sparse) if frame else columns * X.dtype.itemsize
    if rows * row_bytes > MOST_DENSE:
        raise ValueError(
            f"X is sparse, with {rows:,} rows and {len(sparse) if frame else columns:,} sparse columns. Dense, as it "
            f"must be here, it would take {rows * row_bytes / 2**30:.3g} GiB; at most {MOST_DENSE / 2**30:.3g} GiB are "
            "tried. Keep fewer columns (for instance with sklearn.feature_selection), pass fewer rows, or pass a "
            "category as one column of words: it needs no one-hot encoding."
        )
    return X.astype({name: X.dtypes[name].subtype for name in sparse}) if frame else X.toarray()


def dense_blocks(X: Any, size: int) -> Iterator[Any]:
    """Yield a sparse table as dense ones of about `size` bytes each, at least one."""
    X = X if hasattr(X, "columns") else X.tocsr()
    rows = max(1, size // (8 * max(X.shape[1], 1)))
    for start in range(0, max(X.shape[0], 1), rows):
        some = slice(start, start + rows)
        yield dense(X.iloc[some] if hasattr(X, "columns") else X[some])


def _is_sparse_dtype(dtype: Any) -> bool:
    return not isinstance(dtype, np.dtype) and str(getattr(dtype, "name", "")).startswith("Sparse")


def did_you_mean(name: Any, names: Iterable[Any]) -> str:
    """Return a sentence that suggests the name that looks most like `name`, or nothing.

    Examples
    --------
    >>> from bgn.model.values import did_you_mean
    >>> did_you_mean("Prise", ["rooms", "price"])
    " Did you mean 'price'?"
    >>> did_you_mean("costs", ["rooms", "monthly costs of the household"])
    " Did you mean 'monthly costs of the household'?"
    """
    known: dict[str, Any] = {}
    for other in names:
        known.setdefault(str(other).strip().casefold(), other)
    bare = str(name).strip().casefold()
    short = [other for other in known if len(other) <= _MOST_COMPARED] if len(bare) <= _MOST_COMPARED else []
    close = difflib.get_close_matches(bare, short, n=1, cutoff=0.7)
    if not close and len(bare) > 2:  # the beginning of a long name, or a part of it
        holding = [other for other in short if other.startswith(bare)] or [other for other in short if bare in other]
        close = holding if len(holding) == 1 else []
    return f" Did you mean {known[close[0]]!r}?" if close else ""
