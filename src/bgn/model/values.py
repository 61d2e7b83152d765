"""The values of one column of a raw table, whatever library holds it: numbers, words, dates, durations, times of day.

Each kind is a small final class. It answers what a :class:`~bgn.model.schema.Column` may ask of it: numbers, the codes
of levels, a part of a date; what it cannot answer is a :class:`Misread`, whose words follow the column's name.
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

from bgn.model.dates import HOUR, Stamps, TimePart, hours_of, in_utc, zone_name
from bgn.model.step import Bools, Floats

Category = str | float | bool

_TIMES = {
    "duration": ("durations", "pandas.to_timedelta(..., unit='s')"),
    "time": ("times of day", "datetime.time"),
}
_MOST_EXAMPLES = 3
_MOST_COMPARED = 200  # letters; comparing takes their square
_NO_VALUE = ("NoneType", "NAType", "NaTType", "MaskedConstant")


def category_name(category: Category) -> str:
    """Write a level: words as they are, whole numbers without a point."""
    return category if isinstance(category, str) else repr(category).removesuffix(".0")


# A number as text, or blanks alone, which made text of a column of numbers: they are read as in a file.
_NUMERAL = re.compile(r"\s*([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)?\s*")


def _number(category: Category) -> float:
    """A level as a number; blanks are a gap."""
    return float(category) if not isinstance(category, str) or category.strip() else float("nan")


class Misread(ValueError):
    """A column does not hold what it should; the words follow its name."""


class RawValues:
    """One value per row; a gap is NaN, NaT or the code -1."""

    kind = ""
    """What it is, where one word says it: a number, a time, a duration or a time of day."""
    holds: str
    """What to say that it holds."""

    @property
    def missing(self) -> Bools:
        """Which rows have no value."""
        return np.zeros(1, bool)

    def numbers(self) -> Floats:
        """Return the values as numbers."""
        raise Misread(f"holds {self.holds}, not numbers")

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        """Return the place of every value among levels, NaN for a gap and for a level that is not there."""
        raise Misread(f"holds {self.holds}, not levels of a category")

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        """Return a part of dates; numbers are that part where the column `is_part`, and refused where it is not."""
        found = self.numbers()
        if is_part:
            return found
        what, make = _TIMES.get(part.part, ("dates", "pandas.to_datetime(..., unit='s')"))
        raise Misread(
            f"holds numbers, and held {what} at fit: numbers alone do not say which {what} they are. Make {what} of "
            f"them, for instance with {make}, or name the column {part.name!r} if they are that"
        )

    def examples(self, which: Bools) -> list[str]:
        """Return some of the values of the rows that are marked, each once."""
        return []


class Nothing(RawValues):
    """Gaps and no type."""

    holds = "nothing"

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    @property
    def missing(self) -> Bools:
        return np.ones(self.n_rows, bool)

    def numbers(self) -> Floats:
        return np.full(self.n_rows, np.nan)

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        return self.numbers()

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        return self.numbers()


class Numbers(RawValues):
    """Numbers. Those that were `loose`, objects of Python, may stand among words elsewhere in the column."""

    kind, holds = "number", "numbers"

    def __init__(self, values: Floats, loose: bool = False) -> None:
        self.values, self.loose = values, loose

    @property
    def missing(self) -> Bools:
        return np.isnan(self.values)

    def numbers(self) -> Floats:
        return self.values

    @property
    def distinct(self) -> Floats:
        """The different numbers, in order; 0 for -0."""
        found = np.unique(self.values)
        return found[~np.isnan(found)] + 0.0

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        distinct = self.distinct
        if len(distinct) and categories and not any(map(_reads_as_number, categories)):
            raise Misread(
                f"holds numbers, and held words at fit, such as {str(categories[0])[:40]!r}: if they stand for these, as "
                "codes do, put the words in their place"
            )
        places = np.searchsorted(distinct, self.values)  # that of NaN is behind the last
        return _places_in(categories, distinct.tolist())[places]

    def examples(self, which: Bools) -> list[str]:
        return [category_name(value) for value in np.unique(self.values[which])[:_MOST_EXAMPLES].tolist()]


class Coded(RawValues):
    """Categories: a code per row, and the levels that codes stand for.

    Those that were `loose`, objects of Python, may stand among numbers elsewhere; the type of `text` says no more than
    that they are words.
    """

    def __init__(
        self, codes: NDArray[Any], categories: Iterable[Category], *, ordered: bool = False, loose: bool = False,
        text: bool = False,
    ) -> None:  # fmt: skip
        self.codes, self.categories, self.ordered, self.loose = codes, tuple(categories), ordered, loose
        self.text = text or loose

    @property
    def missing(self) -> Bools:
        return self.codes < 0

    @property
    def holds(self) -> str:  # type: ignore[override]
        kind = "words" if any(isinstance(category, str) for category in self.categories) else "categories"
        shown = next((category for category in self.categories if isinstance(category, str)), None)
        return kind if shown is None else f"{kind} ({shown[:40]!r})"

    def numbers(self) -> Floats:
        observed = self.observed
        strange = next((each for each in observed if isinstance(each, str) and _NUMERAL.fullmatch(each) is None), None)
        if strange is not None:
            raise Misread(f"holds words ({strange[:40]!r}), not numbers")
        there = {category: _number(category) for category in observed}
        return np.array([*(there.get(category, np.nan) for category in self.categories), np.nan])[self.codes]

    @property
    def observed(self) -> list[Category]:
        """The levels that occur, in their order."""
        there = np.zeros(len(self.categories) + 1, bool)
        there[self.codes] = True
        return [category for category, seen in zip(self.categories, there, strict=False) if seen]

    def codes_in(self, categories: Sequence[Category]) -> Floats:
        return _places_in(categories, self.categories)[self.codes]

    def examples(self, which: Bools) -> list[str]:
        words = sorted(category_name(self.categories[code]) for code in np.unique(self.codes[which]).tolist())
        return [word[:40] for word in words[:_MOST_EXAMPLES]]

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        """Return a part of dates, or times of day, that are written as ISO 8601 does."""
        observed = self.observed
        if part.part == "duration" or not all(isinstance(category, str) for category in observed):
            return super().part(part, is_part)
        clock = part.part == "time"
        try:
            values = _from_words(list(map(str, observed)), clock)
        except ValueError:
            raise Misread(f"holds {self.holds}, not {'times of day' if clock else 'dates'}") from None
        found = values.part(part)
        places = np.full(len(self.categories) + 1, -1)
        places[[self.categories.index(category) for category in observed]] = np.arange(len(observed))
        return np.append(found, np.nan)[places[self.codes]]


class Times(RawValues):
    """Dates and times, in UTC where they have a time zone."""

    kind, holds = "time", "dates"

    def __init__(self, stamps: NDArray[Any], zone: Any = None) -> None:
        self.stamps: Stamps = stamps.astype("M8[us]")
        self.zone = zone_name(zone)

    @property
    def missing(self) -> Bools:
        return np.isnat(self.stamps)

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        if part.part == "duration":
            return super().part(part)
        if (self.zone is None) != (part.zone is None):
            had, has = ("one", "no") if self.zone is None else ("none", "a")
            raise Misread(f"holds times that have {has} time zone, and had {had} at fit")
        return part.of(self.stamps)


class Durations(RawValues):
    """Lengths of time, in days."""

    kind, holds = "duration", "durations"

    def __init__(self, lengths: NDArray[Any]) -> None:
        self.days: Floats = lengths.astype("m8[us]") / np.timedelta64(1, "D")

    @property
    def missing(self) -> Bools:
        return np.isnan(self.days)

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        return self.days if part.part == "duration" else super().part(part)


class TimesOfDay(RawValues):
    """What a clock shows, in hours."""

    kind, holds = "time of day", "times of day"

    def __init__(self, hours: Floats) -> None:
        self.hours = hours

    @property
    def missing(self) -> Bools:
        return np.isnan(self.hours)

    def part(self, part: TimePart, is_part: bool = True) -> Floats:
        return self.hours if part.part in ("time", "hour") else super().part(part)


class Strange(RawValues):
    """What is none of the others."""

    def __init__(self, holds: str) -> None:
        self.holds = holds


def _reads_as_number(category: Category) -> bool:
    return not isinstance(category, str) or _NUMERAL.fullmatch(category) is not None


def _places_in(categories: Sequence[Category], values: Sequence[Category]) -> Floats:
    """Return where values stand among levels, by value and then by word; NaN where they do not, and one more NaN."""
    places: dict[Any, float] = {category_name(category): float(place) for place, category in enumerate(categories)}
    places |= {category: float(place) for place, category in enumerate(categories)}
    found = [places.get(value, places.get(category_name(value), np.nan)) for value in values]
    return np.array([*found, np.nan], np.float64)


# -- objects of Python -------------------------------------------------------------------------------------------


def of_objects(values: NDArray[Any]) -> RawValues:
    """Return what objects of Python hold: numbers, words, truths, dates or durations, with gaps among them."""
    types = set(map(type, values))
    sorts = {each: _sort_of(each) for each in types}
    kinds = set(sorts.values()) - {"gap"}
    missing = {each for each, sort in sorts.items() if sort == "gap"}
    if not kinds:
        return Nothing(len(values))
    if kinds <= {"word", "number", "truth"}:
        return _numbers(values, missing) if kinds == {"number"} else _words(values, missing)
    if kinds == {"time"}:
        return _times(values, missing)
    if kinds == {"duration"}:
        return Durations(_filled(values, missing).astype("m8[us]"))
    if kinds == {"time of day"}:
        return TimesOfDay(np.array([np.nan if type(value) in missing else hours_of(value) for value in values]))
    strange = sorted(each.__name__ for each in types if sorts[each] == "other")
    if strange:
        return Strange(f"values of the type {', '.join(strange)}")
    return Strange(" and ".join(sorted(f"{kind}s" for kind in kinds)))


def _sort_of(kind: type) -> str:
    if kind.__name__ in _NO_VALUE:
        return "gap"
    sorts: dict[str, tuple[type, ...]] = {
        "truth": (bool, np.bool_), "word": (str,), "time": (datetime.date, np.datetime64),
        "duration": (datetime.timedelta, np.timedelta64), "number": (numbers.Real, decimal.Decimal),
        "time of day": (datetime.time,),
    }  # fmt: skip
    return next((sort for sort, types in sorts.items() if issubclass(kind, types)), "other")


def _numbers(values: NDArray[Any], missing: set[type]) -> RawValues:
    try:
        return Numbers(
            np.array([np.nan if type(value) in missing else value for value in values], np.float64), loose=True
        )
    except (OverflowError, ValueError, TypeError):
        return Strange("numbers too large for a float64")


def _words(values: NDArray[Any], missing: set[type]) -> Coded:
    """Words and truths, perhaps among numbers. As these are equal at times (True is 1), they are told by their word."""
    distinct = [value for value in dict.fromkeys(values) if type(value) not in missing and value == value]
    if all(isinstance(value, str) for value in distinct):
        known: dict[Any, int] = {value: code for code, value in enumerate(distinct)}
        codes = np.fromiter((known.get(value, -1) for value in values), np.int64, len(values))
        return Coded(codes, map(str, distinct), loose=True)
    categories: dict[str, Category] = {}
    words = [
        None if type(value) in missing or value != value else category_name(category_of(value)) for value in values
    ]
    for word, value in zip(words, values, strict=True):
        if word is not None and (word not in categories or isinstance(value, str)):
            categories[word] = category_of(value)
    places: dict[str | None, int] = {word: code for code, word in enumerate(categories)}
    return Coded(np.array([places.get(word, -1) for word in words], np.int64), categories.values(), loose=True)


def category_of(value: Any) -> Category:
    """Return a word, a truth or a number as a level."""
    if isinstance(value, str):
        return str(value)
    return bool(value) if isinstance(value, bool | np.bool_) else float(value) + 0.0


def coded(codes: NDArray[Any], values: Iterable[Any], ordered: bool = False, text: bool = False) -> RawValues:
    """Return categories whose codes stand for any values; None and NaN among these are gaps."""
    values = list(values)
    sorts = {_sort_of(type(value)) for value in values}
    if not sorts <= {"gap", "word", "number", "truth"}:
        kind = next(type(value).__name__ for value in values if _sort_of(type(value)) not in ("gap", "word", "number"))
        return Strange(f"categories of the type {kind}")
    known = [k for k, value in enumerate(values) if _sort_of(type(value)) != "gap" and value == value]
    place = np.full(len(values) + 1, -1)
    place[known] = np.arange(len(known))
    return Coded(place[codes], (category_of(values[k]) for k in known), ordered=ordered, text=text)


def _times(values: NDArray[Any], missing: set[type]) -> RawValues:
    clocks = {getattr(value, "tzinfo", None) for value in values if type(value) not in missing}
    zones = {zone_name(each) for each in clocks}
    if len(zones) > 1:
        return Strange(f"times {'with and without a time zone' if None in zones else 'of several time zones'}")
    if zones != {None}:
        values = np.array([_in_utc(value) for value in values], dtype=object)
    return Times(_filled(values, missing).astype("M8[us]"), *zones)


def _in_utc(value: Any) -> Any:
    return in_utc(value) if getattr(value, "tzinfo", None) is not None else value


def _from_words(words: Sequence[str], clock: bool) -> RawValues:
    """Return times of day, or dates and times, that words tell."""
    if clock:
        return TimesOfDay(np.array([hours_of(datetime.time.fromisoformat(word.strip().zfill(5))) for word in words]))
    moments = [datetime.datetime.fromisoformat(word.strip()) for word in words]
    return _times(np.array([*moments, None], dtype=object)[:-1], {type(None)})


def _filled(values: NDArray[Any], missing: set[type]) -> NDArray[Any]:
    """Return objects with None in the place of every gap."""
    if missing <= {type(None)}:
        return values
    return np.array([None if type(value) in missing else value for value in values], dtype=object)


# -- Tables of pandas, polars, pyarrow, NumPy and SciPy: their columns by name or by position, and what each holds.

_TRUTHS = (False, True)

MOST_DENSE = 1 << 32
"""Bytes that a sparse table may take once it is dense: 4 GiB."""


class AnyTable:
    """A table of any library, or one row of a table, by name.

    Parameters
    ----------
    X : array_like, sparse matrix or frame of shape (rows, columns), or one row: a mapping or a series

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
        self._X: Any = _row_values(X) if self.is_one_row else X if self.labels is not None else as_array(X)
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
        frame = self._library == "pandas" and not isinstance(X, np.ndarray)
        if frame and all(_is_number(X.dtypes.iloc[place]) for place in places):
            return np.asarray(X if list(places) == list(range(X.shape[1])) else X.iloc[:, list(places)])
        return None


def _is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiu"


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
    """Return rows without names as an array; masked values are gaps."""
    if isinstance(X, np.ma.MaskedArray):
        cells, masked = np.asarray(X.data), np.ma.getmaskarray(X)
        cells = cells.astype(object) if cells.dtype.kind not in "fiubmM" else cells
        missing: dict[str, Any] = {"O": None, "m": np.timedelta64("NaT", "us"), "M": np.datetime64("NaT", "us")}
        return np.where(masked, missing.get(cells.dtype.kind, np.nan), cells) if masked.any() else cells
    rows = np.asarray(X)
    # NumPy makes words of all cells where some are.
    return np.asarray(X, dtype=object) if rows.dtype.kind == "U" and not isinstance(X, np.ndarray) else rows


def rows_where(X: Any, keep: NDArray[np.bool_]) -> Any:
    """Return the rows of a table that are marked.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.values import rows_where
    >>> rows_where([[1, "a"], [2, "b"]], np.array([False, True]))
    array([[2, 'b']], dtype=object)
    """
    if labels_of(X) is None:
        return as_array(X)[keep]
    if _library(X) == "pandas":
        return X[keep]
    return X.filter(importlib.import_module("pyarrow").array(keep) if _library(X) == "pyarrow" else keep)


# -- one row -----------------------------------------------------------------------------------------------------


def is_named_row(X: Any) -> bool:
    """Tell whether something is one row whose values have names: a mapping, or a series of pandas whose index is words.

    Examples
    --------
    >>> from bgn.model.values import is_named_row
    >>> is_named_row({"age": 31, "city": "Nice"}), is_named_row([31, "Nice"])
    (True, False)
    """
    if isinstance(X, Mapping):
        return not is_sparse(X)  # one of SciPy's is like a dictionary
    series = _library(X) == "pandas" and getattr(X, "ndim", 0) == 1 and hasattr(X, "index")
    return series and len(X) > 0 and all(isinstance(label, str) for label in X.index)


def _row_values(X: Any) -> NDArray[Any]:
    """Return the values of a row whose values have names, as a table of one row."""
    values = np.empty((1, len(X)), dtype=object)
    values[0] = list(X.values()) if isinstance(X, Mapping) else list(X)
    return values


def as_rows(X: Any) -> Any:
    """Return a row that is a sequence of one value per column as a table of one row; everything else as it is.

    Examples
    --------
    >>> from bgn.model.values import as_rows
    >>> as_rows([31, "Nice"])
    [[31, 'Nice']]
    """
    if _library(X) == "torch" or labels_of(X) is not None or is_sparse(X):
        return X
    if isinstance(X, list | tuple):
        return X if not X or any(np.ndim(each) for each in X) else [list(X)]
    if np.ndim(X) != 1:
        return X
    return np.asarray(X)[np.newaxis] if _library(X) == "numpy" else [list(X)]


# -- what is sparse ----------------------------------------------------------------------------------------------


def is_sparse(X: Any) -> bool:
    """Tell whether a table is a sparse matrix or array of SciPy, or a frame of pandas with sparse columns.

    Examples
    --------
    >>> import scipy.sparse
    >>> from bgn.model.values import is_sparse
    >>> is_sparse(scipy.sparse.eye(2)), is_sparse([[1.0]])
    (True, False)
    """
    if _library(X) == "scipy":
        return hasattr(X, "toarray")
    return _library(X) == "pandas" and hasattr(X, "columns") and any(map(_is_sparse_dtype, X.dtypes))


def dense(X: Any) -> Any:
    """Return what is sparse as a dense array or frame, unless it would take too much memory; all else as it is.

    Raises
    ------
    ValueError
        Where that would take more than :data:`MOST_DENSE` bytes.

    Examples
    --------
    >>> import scipy.sparse
    >>> from bgn.model.values import dense
    >>> dense(scipy.sparse.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if not is_sparse(X):
        return X
    frame, (rows, columns) = labels_of(X) is not None, (*X.shape, 1)[:2]  # names must differ
    sparse = [name for name, dtype in X.dtypes.items() if _is_sparse_dtype(dtype)] if frame else []
    width = sum(X.dtypes[name].subtype.itemsize for name in sparse) if frame else columns * X.dtype.itemsize
    if rows * width > MOST_DENSE:
        raise ValueError(
            f"X is sparse, with {rows:,} rows and {len(sparse) if frame else columns:,} sparse columns. Dense, as it "
            f"must be here, it would take {rows * width / 2**30:.3g} GiB; at most {MOST_DENSE / 2**30:.3g} GiB are "
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


# -- one column --------------------------------------------------------------------------------------------------


def values_of(column: Any) -> RawValues:
    """Return what a column of any library holds."""
    read: dict[str, Callable[[Any], RawValues]] = {
        "pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow,
    }  # fmt: skip
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
        codes, words = importlib.import_module("pandas").factorize(series)
        return coded(codes, words, text=True)
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
        words = dtype.categories if dtype == pl.Enum else series.cast(pl.String).unique().drop_nulls()
        codes = pl.Series(range(len(words)), dtype=pl.Int64)
        found = series.cast(pl.String).replace_strict(words, codes, default=-1, return_dtype=pl.Int64)
        return coded(found.to_numpy(), words.to_list(), ordered=dtype == pl.Enum, text=dtype == pl.String)
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
    words = (types.is_string, types.is_large_string, types.is_string_view)
    if types.is_null(kind):
        return Nothing(len(column))
    if types.is_dictionary(kind) and (types.is_temporal(kind.value_type) or types.is_nested(kind.value_type)):
        return _of_arrow(column.dictionary_decode())
    if types.is_dictionary(kind) or any(each(kind) for each in words):
        column = column if types.is_dictionary(kind) else column.dictionary_encode()
        codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        text = not types.is_dictionary(kind)
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
