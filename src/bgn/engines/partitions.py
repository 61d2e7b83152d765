"""From Dask collections to shares of rows: which partitions go together, and how a worker reads and checks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from distributed import futures_of
from numpy.typing import NDArray

from bgn.engines.base import Floats
from bgn.engines.block import Survey
from bgn.engines.calls import Calls
from bgn.engines.cluster import OnCluster, RawRows

LARGEST_VALUE = 1e300


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
    calls: Calls, X: Any, y: Any, weight: Any, judge: Callable[[Sequence[Survey]], None]
) -> OnCluster:
    """Judge what can be judged without reading, and share the partitions out among the workers' threads."""
    X = whole_rows(X)
    layout = layout_of(X)
    others = {"y": y} if weight is None else {"y": y, "sample_weight": weight}
    parts = [_delayed(X), *(_delayed(_aligned(X, other, name)) for name, other in others.items())]
    for name, other in zip(others, parts[1:], strict=True):
        if len(other) != len(parts[0]):
            raise ValueError(f"X has {len(parts[0])} partitions and {name} has {len(other)}; repartition one like the other.")
    read = dask.delayed(read_rows, pure=False)
    shares = []
    for group in _groups(calls, X, parts[0]):
        chosen = [[column[k] for k in group] for column in parts]
        shares.append(read(group, layout, *chosen, dask_key_name=calls.name("read")))
    return OnCluster(calls, shares, weight is not None, judge)


def whole_rows(X: Any) -> Any:
    """A table whose partitions hold whole rows."""
    if isinstance(X, dd.DataFrame):
        return X
    if not isinstance(X, da.Array) or X.ndim != 2:
        kind = f"a Dask array of {X.ndim} dimensions" if isinstance(X, da.Array) else f"{type(X).__module__}.{type(X).__name__}"
        raise TypeError(
            f"X must be a Dask array of two dimensions or a Dask dataframe; got {kind}. Rows in memory fit "
            "bgn.BGNRegressor, or become a collection with dask.array.from_array."
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def layout_of(X: Any) -> Layout:
    """What the partitions of a table must look like; columns of anything but numbers are refused by name."""
    if isinstance(X, da.Array):
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {X.dtype}; it must hold numbers. Convert it, for instance with X.astype(float).")
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
        kind = f"{other.ndim} dimensions" if is_collection(other) else f"{type(other).__module__}.{type(other).__name__}"
        raise TypeError(f"{name} must be a Dask array of one dimension or a Dask series, as X is a collection; got {kind}.")
    if isinstance(X, da.Array) and isinstance(other, da.Array):
        if not np.isnan([X.shape[0], other.shape[0]]).any():
            if X.shape[0] != other.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and {name} has {other.shape[0]}.")
            return other.rechunk((X.chunks[0],))
    elif isinstance(X, dd.DataFrame) and isinstance(other, dd.Series):
        if X.known_divisions and other.known_divisions and X.divisions != other.divisions:
            raise ValueError(
                f"X and {name} have different divisions; align them: {name} = {name}.repartition(divisions=X.divisions)."
            )
    return other


def _delayed(collection: Any) -> list[Any]:
    """The partitions, one after the other."""
    return list(np.asarray(collection.to_delayed(), dtype=object).ravel())


def _groups(calls: Calls, X: Any, parts: Sequence[Any]) -> list[list[int]]:
    """Numbers of the partitions that each thread is to hold, near where they are if they are anywhere."""
    homes = calls.find_homes()[: len(parts)]
    places = calls.client.who_has(futures_of(X))
    room = -(-len(parts) // len(homes))
    groups: list[list[int]] = [[] for _ in homes]
    for number, part in enumerate(parts):
        free = [k for k, group in enumerate(groups) if len(group) < room]
        near = [k for k in free if homes[k] in places.get(part.key, ())]
        groups[(near or free)[0]].append(number)
    return [group for group in groups if group]


# -- on a worker -------------------------------------------------------------------------------------------------


def read_rows(numbers: list[int], layout: Layout, X: list[Any], y: list[Any], weight: list[Any] | None = None) -> RawRows:
    """Put partitions together, column by column, or name the partition and column that hold something else."""
    ends = np.cumsum([0, *(len(part) for part in X)]).tolist()
    columns = np.empty((layout.n_columns, ends[-1]), layout.dtype)
    for number, part, start, stop in zip(numbers, X, ends, ends[1:], strict=False):
        _fill(columns[:, start:stop], part, layout, number)
    lengths = np.diff(ends).tolist()
    target = _column(y, "y", numbers, lengths)
    if weight is None:
        return RawRows(columns, target)
    heavy = _column(weight, "sample_weight", numbers, lengths)
    if (heavy < 0).any():
        raise ValueError(f"sample_weight has negative values, the least {heavy.min():g}, in one of the partitions {numbers}.")
    return RawRows(columns, target, heavy)


def _fill(columns: NDArray[Any], part: Any, layout: Layout, number: int) -> None:
    """Write a partition's columns, each of them checked."""
    names = tuple(part.columns) if hasattr(part, "columns") else None
    shape = len(names) if names is not None else np.shape(part)[1]
    if names != layout.names or shape != layout.n_columns:
        raise ValueError(
            f"Partition {number} of X has the columns {names or shape}, not {layout.names or layout.n_columns} as expected."
        )
    for j, column in enumerate(columns):
        values = part[:, j] if names is None else part.iloc[:, j]
        column[:] = _numbers(values, layout.dtype, f"column {layout.name(j)!r} of X", number)
        _finite(column, f"Input X contains {{kind}} in column {layout.name(j)!r} of partition {number}")
        if len(column) and np.abs(column).max() > LARGEST_VALUE:
            raise ValueError(
                f"X has a value of {np.abs(column).max():.3g} in column {layout.name(j)!r} of partition {number}; beyond "
                f"{LARGEST_VALUE:g} sums overflow. Rescale the column."
            )


def _column(parts: list[Any], name: str, numbers: list[int], lengths: list[int]) -> Floats:
    """The parts of one column, as long as they must be."""
    values = []
    for number, part, length in zip(numbers, parts, lengths, strict=True):
        if len(part) != length:
            raise ValueError(f"Partition {number}: X has {length} rows and {name} has {len(part)}.")
        values.append(_numbers(part, np.float64, name, number))
        _finite(values[-1], f"Input {name} contains {{kind}} in partition {number}")
    return np.concatenate(values)


def _numbers(values: Any, dtype: Any, name: str, number: int) -> NDArray[Any]:
    try:
        if hasattr(values, "to_numpy"):  # a series, perhaps of a dtype that has a value for nothing
            return np.asarray(values.to_numpy(dtype=dtype, na_value=np.nan))
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Partition {number}: {name} does not hold numbers: {error}") from None


def _finite(values: NDArray[Any], where: str) -> None:
    if not (fine := np.isfinite(values)).all():
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"{where.format(kind=kind)} ({(~fine).sum()} of {len(values)} rows). Drop or fill those rows.")
