"""Tables of pandas, polars, pyarrow, NumPy and SciPy: their columns by name or by position, and what each holds.

A single row is a table, too. What is sparse is made dense here, up to a size. No library is imported that the table did
not come from.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.dates import HOUR
from bgn.model.raw import Coded, Durations, Nothing, Numbers, RawValues, Strange, Times, TimesOfDay, coded, of_objects

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
    >>> from bgn.model.reading import AnyTable
    >>> table = AnyTable([[31, "Nice"], [47, None]])
    >>> table.shape, table.column(1).levels
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
        gaps: dict[str, Any] = {"O": None, "m": np.timedelta64("NaT", "us"), "M": np.datetime64("NaT", "us")}
        return np.where(masked, gaps.get(cells.dtype.kind, np.nan), cells) if masked.any() else cells
    rows = np.asarray(X)
    # NumPy makes words of all cells where some are.
    return np.asarray(X, dtype=object) if rows.dtype.kind == "U" and not isinstance(X, np.ndarray) else rows


def rows_where(X: Any, keep: NDArray[np.bool_]) -> Any:
    """Return the rows of a table that are marked.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.reading import rows_where
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
    >>> from bgn.model.reading import is_named_row
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
    >>> from bgn.model.reading import as_rows
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
    >>> from bgn.model.reading import is_sparse
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
    >>> from bgn.model.reading import dense
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


def did_you_mean(name: Any, there: Iterable[Any]) -> str:
    """Return a question that names what is there and spelled nearly like `name`, or nothing."""
    words = {str(each).casefold(): each for each in there}
    close = difflib.get_close_matches(str(name).casefold(), words, n=1, cutoff=0.7)
    return f" Did you mean {words[close[0]]!r}?" if close else ""


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
