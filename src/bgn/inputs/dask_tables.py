"""Dask collections: what can be checked of them without reading a partition, and what each partition must look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np


@dataclass(frozen=True)
class Layout:
    """What every partition of a table must look like."""

    dtype: Any
    n_columns: int
    names: tuple[Any, ...] | None

    def name(self, column: int) -> Any:
        return column if self.names is None else self.names[column]


def is_collection(value: Any) -> bool:
    return isinstance(value, (da.Array, dd.DataFrame, dd.Series))


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


def layout_of(X: Any, numbers: bool = True) -> Layout:
    """What the partitions of a table must look like; with `numbers`, columns of anything else are refused by name."""
    if isinstance(X, da.Array):
        if numbers and X.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {X.dtype}; it must hold numbers. Convert it, as with X.astype(float).")
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        return Layout(dtype, X.shape[1], None)
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        kind, why = getattr(dtype, "kind", "O"), ""
        if str(dtype) == "category":
            why = (
                "is categorical, and categories may differ from one partition to another. Make them known and encode "
                "them: dask.dataframe.get_dummies(X.categorize())."
            )
        elif kind in "mM":
            why = "holds dates or durations. Turn it into numbers (for instance days since the first) or leave it out."
        elif kind not in "biuf":
            why = (
                f"has dtype {dtype}, not numbers. Encode it (dask.dataframe.get_dummies(X.categorize())), convert it "
                "with astype(float), or leave it out."
            )
        if numbers and why:
            raise ValueError(f"Column {name!r} {why}")
    plain = [dtype for dtype in X.dtypes if isinstance(dtype, np.dtype) and dtype.kind in "biuf"]
    common = np.result_type(*plain) if plain and len(plain) == len(X.dtypes) else None
    return Layout(np.dtype(np.float32 if common == np.float32 else np.float64), len(X.dtypes), tuple(X.columns))


def no_rows(X: Any) -> Any:
    """The types of a table's columns: the table without its rows."""
    return X._meta if isinstance(X, dd.DataFrame) else np.empty((0, X.shape[1]), X.dtype)


def aligned(X: Any, other: Any, name: str) -> Any:
    """A column in partitions like those of X, as far as can be known without reading."""
    if not is_collection(other) or other.ndim != 1:
        raise TypeError(
            f"{name} must be a Dask array of one dimension or a Dask series, as X is a collection; got {_kind(other)}."
        )
    if isinstance(X, da.Array) and isinstance(other, da.Array) and not np.isnan([X.shape[0], other.shape[0]]).any():
        if X.shape[0] != other.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and {name} has {other.shape[0]}.")
        return other.rechunk((X.chunks[0],))
    frames = isinstance(X, dd.DataFrame) and isinstance(other, dd.Series)
    if frames and X.known_divisions and other.known_divisions and X.divisions != other.divisions:
        remedy = f"{name} = {name}.repartition(divisions=X.divisions)"
        raise ValueError(f"X and {name} have different divisions; align them: {remedy}.")
    return other


def _kind(value: Any) -> str:
    dimensions = f" of {value.ndim} dimensions" if is_collection(value) else ""
    return f"{type(value).__module__}.{type(value).__name__}{dimensions}"
