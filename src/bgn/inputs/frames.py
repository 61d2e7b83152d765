"""DataFrames and arrays that a user hands over: finite numbers by named columns, or an error that names the column.

Every table in memory passes here once: :func:`numeric_table` and :func:`mixed_table` at fit and predict,
:func:`rows_of` where a fitted network explains rows. The ``check_...`` functions are rules that rows on disk, on a GPU
or on a cluster must keep, too.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bgn.inputs.target import finite_target, numeric_target, refuse_masked, to_array
from bgn.model.network import Network, on_gpu
from bgn.model.schema import Schema
from bgn.model.step import Floats, all_finite
from bgn.model.values import as_rows, dense, labels_of

LARGEST_VALUE, LARGEST_SQUARED = 1e300, 1e150
NO_TARGET = object()
_DTYPES = (np.float64, np.float32)


def rows_of(network: Network, table: Any, name: str) -> Floats:
    """Return `table` as float64 rows with the network's columns; at least one row. A CUDA tensor is copied.

    A single row may be a series, a mapping by name, or a sequence.
    """
    if on_gpu(table):
        from bgn.model.gpu import table_of

        table = table_of(table).cpu()
    try:
        rows = network._rows(as_rows(table))
    except ValueError as error:
        message = str(error)
        raise ValueError(f"{name}{message[1:]}" if message.startswith("X ") else f"{name}: {message}") from None
    if len(rows) == 0:
        raise ValueError(f"{name} must have at least one row; got none.")
    return np.ascontiguousarray(rows)


def numeric_table(
    estimator: Any,
    X: Any,
    y: Any = NO_TARGET,
    *,
    reset: bool = True,
    least: int = 1,
    dtype: Any = _DTYPES,
    missing: bool = False,
) -> Any:
    """Return X (and y) as finite numeric arrays, or name the column that is not; `least`: rows that are needed.

    The estimator takes note of the columns or, unless `reset`, knows them again. With `missing`, X may hold NaN.
    """
    from sklearn.utils.validation import validate_data

    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X must be a table in memory; got the path {os.fspath(X)!r}. Read it first.")
    X = dense(to_array(X))
    if missing and isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    refuse_masked(X, "X")
    if hasattr(X, "columns") and np.shape(X)[1:] == (0,):
        raise ValueError(f"X has no columns, and {np.shape(X)[0]} rows. Pass at least one column to learn from.")
    _refuse_dates_in(X)
    checks: dict[str, Any] = {"dtype": dtype, "ensure_all_finite": False, "reset": reset, "ensure_min_samples": least}
    try:
        if y is NO_TARGET:
            rows = validate_data(estimator, X, **checks)
        else:
            rows, y = validate_data(estimator, X, numeric_target(y), y_numeric=True, **checks)
    except (TypeError, ValueError) as error:
        raise _naming_column(error, X) from None
    if not (rows.dtype.kind == "f" and all_finite(rows)):
        names = getattr(estimator, "feature_names_in_", None)
        for j, column in enumerate(rows.T):
            bad = column[np.isinf(column) if missing else ~np.isfinite(column)]
            if len(bad):
                is_nan = np.isnan(bad).any()
                remedy = "Drop or fill those rows (for instance with sklearn.impute.SimpleImputer)."
                if not is_nan:
                    remedy = f"Drop those rows{', or put NaN for a missing value' * missing}."
                raise ValueError(
                    f"Input X contains {'NaN' if is_nan else 'infinity'} in column {_name(j, names)!r} ({len(bad)} of "
                    f"{len(column)} rows). {remedy}"
                )
    return rows if y is NO_TARGET else (rows, finite_target(y))


def mixed_table(
    estimator: Any, X: Any, schema: Schema, y: Any, *, reset: bool = True, least: int = 1
) -> tuple[Floats, Floats]:
    """Return X as a schema reads it, NaN for missing values, and y; besides known columns, a frame may have others.

    The estimator takes note of the columns or, unless `reset`, knows them again.
    """
    from sklearn.utils.validation import check_X_y

    if not reset:
        X = pick_known_columns(X, getattr(estimator, "feature_names_in_", ()))
    check_known_columns(estimator, X, reset)
    checks: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": least}
    rows, y = check_X_y(schema.encode(X, missing=True), numeric_target(y), y_numeric=True, **checks)
    return rows, finite_target(y)


def check_known_columns(estimator: Any, X: Any, reset: bool = False) -> None:
    """Compare the columns of a table with those that an estimator knows; with `reset`, let it know them."""
    from sklearn.utils.validation import validate_data

    validate_data(estimator, X, reset=reset, skip_check_array=True)


def pick_known_columns(X: Any, names: Sequence[str]) -> Any:
    """Return the columns of a frame that are known, where it has others, too; everything else as it is."""
    there = set(labels_of(X) or ())
    if not len(names) or len(there) <= len(names) or not there.issuperset(names):
        return X
    return X.select(list(names)) if hasattr(X, "select") else X[list(names)]


def check_row_count(rows: int, least: int = 2) -> None:
    if rows < least:
        raise ValueError(f"X has {rows} sample(s); a minimum of {least} is required.")


def _refuse_dates_in(X: Any) -> None:
    """Refuse columns of equal names, and dates, which would be read as numbers."""
    if type(X).__module__.partition(".")[0] == "pyarrow":
        raise ValueError(
            f"X must be an array or a frame; got a pyarrow {type(X).__name__}. Call its to_pandas() first."
        )
    names = labels_of(X) or []
    kinds: list[str] = [np.asarray(X[name][:1]).dtype.kind for name in names]
    kinds = kinds or [str(getattr(getattr(X, "dtype", None), "kind", ""))]
    for name, kind in zip(names or ["X"], kinds, strict=True):
        if kind in ("m", "M"):
            raise ValueError(
                f"Column {name!r} holds dates or durations. Turn it into numbers (for instance days since the first) "
                "or leave it out."
            )


def _naming_column(error: TypeError | ValueError, X: Any) -> TypeError | ValueError:
    """The same error, naming the column that holds text or other things that are no numbers, if that is wrong."""
    text = "could not convert string" in str(error)
    if not text and "float() argument must be" not in str(error):
        return error
    names = list(getattr(X, "columns", range(np.shape(X)[1] if np.ndim(X) == 2 else 0)))
    for j, name in enumerate(names):
        column = np.asarray(X[name]) if hasattr(X, "columns") else np.asarray(X)[:, j]
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            if text:
                return ValueError(
                    f"{error} in column {name!r}: it holds text. Encode it (for instance with pandas.get_dummies or "
                    "sklearn.preprocessing.OneHotEncoder) or leave it out."
                )
            return TypeError(
                f"{error} in column {name!r}. Turn it into numbers (dates for instance into days since the first) or "
                "leave it out."
            )
    return error


def check_representable(
    largest: Iterable[float], low: float, high: float, names: Sequence[str] | None, most: float = LARGEST_VALUE
) -> None:
    """Numbers whose sums and squares a float64 can hold, by the reach of every column and of the target."""
    for j, value in enumerate(largest):
        if float(value) > most:
            raise ValueError(
                f"X has a value of {value:.3g} in column {_name(j, names)!r}; beyond {most:g} sums overflow. "
                "Rescale the column."
            )
    reach, half_range = max(abs(high), abs(low)), high / 2 - low / 2
    if reach > LARGEST_SQUARED or 0 < half_range < 1 / LARGEST_SQUARED:
        raise ValueError(
            f"y has values up to {reach:.3g} and a spread of {half_range:.3g}; squared errors leave the range of "
            f"floats beyond {LARGEST_SQUARED:g} and below {1 / LARGEST_SQUARED:g}. Rescale the target."
        )


def check_numeric_only(direction: str, schema: Schema, missing: Sequence[int]) -> None:
    """Refuse categories and missing values to a direction that takes numbers alone."""
    remedy = f"direction={direction!r} takes numbers without missing values"
    for column in schema.columns:
        if column.categories is not None:
            raise ValueError(
                f"X has categories in column {column.name!r}, and {remedy}. Encode them (for instance "
                "with sklearn.preprocessing.OneHotEncoder), leave them out, or use direction='search'."
            )
    for j in missing:
        raise ValueError(
            f"Input X contains NaN in column {schema.names[j] if schema.named else j!r}, and {remedy}. Drop or fill "
            "those rows (for instance with sklearn.impute.SimpleImputer), or use direction='search'."
        )


def warn_of_lost_columns(lost: Iterable[int], names: Sequence[str] | None) -> None:
    """Warn of columns that vary by too little to be used."""
    for j in lost:
        warnings.warn(
            f"X varies in column {_name(j, names)!r} by less than about 1e-308, the smallest difference that can be "
            "used: the column is left out. Multiply it by a large number, as 2.0**100.",
            stacklevel=4,
        )


def _name(j: int, names: Sequence[str] | None) -> Any:
    return j if names is None else names[j]
