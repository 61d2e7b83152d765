"""From Dask collections to rows on a cluster: what is checked here, and how a worker reads and checks a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from numpy.typing import NDArray

from bgn.engines.cluster.engine import OnCluster, RawRowsOnCluster
from bgn.engines.cluster.tasks import ClusterTasks
from bgn.engines.protocol import Floats
from bgn.engines.raw_rows import Survey
from bgn.require import require

LARGEST_VALUE = 1e300
_AS_THEY_ARE = {"enforce_metadata": False, "transform_divisions": False, "align_dataframes": False}


@dataclass(frozen=True)
class Layout:
    """What every partition of a table must look like."""

    dtype: Any
    n_columns: int
    names: tuple[Any, ...] | None

    def name(self, column: int) -> Any:
        """How to speak of a column."""
        return column if self.names is None else self.names[column]


def is_collection(value: Any) -> bool:
    """True for a Dask array, frame or series."""
    return isinstance(value, (da.Array, dd.DataFrame, dd.Series))


def rows_on_cluster(
    tasks: ClusterTasks, X: Any, y: Any, weight: Any, check: Callable[[Sequence[Survey]], None]
) -> OnCluster:
    """Check what can be checked without reading, and say how every partition is to be read."""
    X = whole_rows(X)
    layout = layout_of(X)
    others = {"y": y} if weight is None else {"y": y, "sample_weight": weight}
    tables = {"X": X} | {name: _aligned(X, other, name) for name, other in others.items()}
    read, name = dask.delayed(read_rows, pure=False), tasks.name("partition")
    partitions = [
        read(number, layout, rows, dask_key_name=f"{name}-{number}")
        for number, rows in enumerate(_together(tasks, tables))
    ]
    return OnCluster(tasks, partitions, weight is not None, check)


def _together(tasks: ClusterTasks, tables: dict[str, Any]) -> list[Any]:
    """The rows of X with what belongs to them, partition by partition."""
    frames = [each for each in tables.values() if not isinstance(each, da.Array)]
    if len(frames) == len(tables) and len({each.npartitions for each in frames}) == 1:
        return _delayed(dd.map_partitions(_beside, *frames, **_AS_THEY_ARE, meta=frames[0]._meta))
    parts = {name: _delayed(table) for name, table in tables.items()}
    if len({len(each) for each in parts.values()}) > 1:
        parts = _cut_alike(tasks, parts)
    return list(zip(*parts.values(), strict=True))


def _beside(*parts: Any) -> tuple[Any, ...]:
    return parts


def _cut_alike(tasks: ClusterTasks, parts: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns cut where X is, by counting rows: for numbers of partitions that differ, of lengths that are unknown."""
    count, cut = dask.delayed(len, pure=False), dask.delayed(_cut, pure=False)
    lengths = iter(tasks.results("lengths", [count(part) for each in parts.values() for part in each]))
    edges = {name: np.cumsum([0, *(next(lengths) for _ in each)]) for name, each in parts.items()}
    alike = {"X": parts["X"]}
    for name, each in parts.items():
        if edges[name][-1] != edges["X"][-1]:
            raise ValueError(f"X has {edges['X'][-1]} rows and {name} has {edges[name][-1]}.")
        if name != "X":
            alike[name] = [cut(each[k : m + 1], *ends) for k, m, *ends in _pieces(edges["X"], edges[name])]
    return alike


def _pieces(wanted: NDArray[Any], there: NDArray[Any]) -> Iterator[tuple[int, int, int, int]]:
    """For every piece that is wanted: its first and its last partition, and where it begins and ends in them."""
    last = len(there) - 2
    for start, stop in pairwise(wanted.tolist()):
        k = min(int(np.searchsorted(there, start, side="right")) - 1, last)
        m = max(k, min(int(np.searchsorted(there, stop, side="left")) - 1, last))
        yield k, m, start - int(there[k]), stop - int(there[k])


def whole_rows(X: Any, name: str = "X") -> Any:
    """A table whose partitions hold whole rows; `name` is what to call it."""
    if isinstance(X, dd.DataFrame):
        return X
    if not isinstance(X, da.Array) or X.ndim != 2:
        raise TypeError(
            f"{name} must be a Dask array of two dimensions or a Dask dataframe; got {_kind(X)}. Rows in memory fit "
            "bgn.BGNRegressor, or become a collection with dask.array.from_array."
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def layout_of(X: Any) -> Layout:
    """What the partitions of a table must look like; columns of anything but numbers are refused by name."""
    if isinstance(X, da.Array):
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {X.dtype}; it must hold numbers. Convert it, as with X.astype(float).")
        return Layout(_kept(X.dtype), X.shape[1], None)
    dtypes = X.dtypes
    for name, dtype in zip(X.columns, dtypes, strict=True):
        if remedy := _why_not(dtype):
            raise ValueError(f"Column {name!r} {remedy}")
    plain = [dtype for dtype in dtypes if isinstance(dtype, np.dtype)]
    dtype = _kept(np.result_type(*plain)) if plain and len(plain) == len(dtypes) else np.dtype(np.float64)
    return Layout(dtype, len(dtypes), tuple(X.columns))


def _kept(dtype: Any) -> Any:
    """float32 and float64 stay, everything else becomes float64."""
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)


def _why_not(dtype: Any) -> str:
    """Why a column of this dtype cannot be learnt from, and what to do."""
    kind = getattr(dtype, "kind", "O")
    if str(dtype) == "category":
        return (
            "is categorical, and categories may differ from one partition to another. Make them known and encode them: "
            "dask.dataframe.get_dummies(X.categorize())."
        )
    if kind in "mM":
        return "holds dates or durations. Turn it into numbers (for instance days since the first) or leave it out."
    if kind not in "biuf":
        return (
            f"has dtype {dtype}, not numbers. Encode it (dask.dataframe.get_dummies(X.categorize())), convert it with "
            "astype(float), or leave it out."
        )
    return ""


def _aligned(X: Any, other: Any, name: str) -> Any:
    """A column in partitions like those of X, as far as can be told without reading."""
    if not is_collection(other) or other.ndim != 1:
        raise TypeError(
            f"{name} must be a Dask array of one dimension or a Dask series, as X is a collection; got {_kind(other)}."
        )
    if isinstance(X, da.Array) and isinstance(other, da.Array):
        if not np.isnan([X.shape[0], other.shape[0]]).any():
            if X.shape[0] != other.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and {name} has {other.shape[0]}.")
            return other.rechunk((X.chunks[0],))
    elif isinstance(X, dd.DataFrame) and isinstance(other, dd.Series) and _differ(X, other):
        remedy = f"{name} = {name}.repartition(divisions=X.divisions)"
        raise ValueError(f"X and {name} have different divisions; align them: {remedy}.")
    return other


def _differ(X: Any, other: Any) -> bool:
    return X.known_divisions and other.known_divisions and X.divisions != other.divisions


def _kind(value: Any) -> str:
    dimensions = f" of {value.ndim} dimensions" if is_collection(value) else ""
    return f"{type(value).__module__}.{type(value).__name__}{dimensions}"


def _delayed(collection: Any) -> list[Any]:
    """The partitions, one after the other.

    Those of a frame are the ones that its user sees, of which only the columns that matter are read. Dask's own
    optimiser would put some of them together, more of a few columns than of many.
    """
    if isinstance(collection, da.Array):
        return list(collection.to_delayed().ravel())
    simplify = getattr(collection, "simplify", lambda: collection)
    return list(simplify().to_delayed(optimize_graph=False))


# -- on a worker -------------------------------------------------------------------------------------------------


def read_rows(number: int, layout: Layout, rows: tuple[Any, ...]) -> RawRowsOnCluster:
    """Take a partition (X, y, perhaps weights) column by column, or name the column that holds something else."""
    X, y, weight = rows if len(rows) == 3 else (*rows, None)
    names = tuple(X.columns) if hasattr(X, "columns") else None
    n_columns = len(names) if names is not None else np.shape(X)[1]
    if names != layout.names or n_columns != layout.n_columns:
        raise ValueError(
            f"Partition {number} of X has the columns {names or n_columns}, not {layout.names or layout.n_columns}."
        )
    columns = np.empty((n_columns, len(X)), layout.dtype)
    for j, column in enumerate(columns):
        name = f"column {layout.name(j)!r} of partition {number}"
        column[:] = _numbers(X[:, j] if names is None else X.iloc[:, j], layout.dtype, f"X in {name}")
        largest = float(np.abs(column).max(initial=0.0))
        if largest > LARGEST_VALUE:
            raise ValueError(
                f"X has a value of {largest:.3g} in {name}; beyond {LARGEST_VALUE:g} sums overflow. Rescale the column."
            )
    target = _column(y, "y", number, len(X))
    heavy = None if weight is None else _column(weight, "sample_weight", number, len(X))
    if heavy is not None and (heavy < 0).any():
        raise ValueError(f"sample_weight has negative values in partition {number}, the least {heavy.min():g}.")
    return RawRowsOnCluster(columns, target, heavy)


def _cut(parts: Sequence[Any], start: int, stop: int) -> Any:
    """Some rows of a column in several parts."""
    if hasattr(parts[0], "iloc"):
        return require("pandas", extra="dask").concat(parts).iloc[start:stop]
    return np.concatenate(parts)[start:stop]


def _column(values: Any, name: str, number: int, length: int) -> Floats:
    if len(values) != length:
        raise ValueError(f"Partition {number}: X has {length} rows and {name} has {len(values)}.")
    return np.array(_numbers(values, np.float64, f"{name} in partition {number}"))


def _numbers(values: Any, dtype: Any, where: str) -> NDArray[Any]:
    """The values as finite numbers."""
    try:
        if hasattr(values, "to_numpy"):  # a series, perhaps of a dtype that has a value for nothing
            numbers = values.to_numpy(dtype=dtype, na_value=np.nan)
        else:
            numbers = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Input {where} does not hold numbers: {error}") from None
    if not (fine := np.isfinite(numbers)).all():
        kind = "NaN" if np.isnan(numbers).any() else "infinity"
        variable, _, place = where.partition(" ")
        raise ValueError(
            f"Input {variable} contains {kind} {place} ({(~fine).sum()} of {len(numbers)} rows). Drop or fill them."
        )
    return numbers
