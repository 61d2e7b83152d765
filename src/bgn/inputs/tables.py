"""Tables in memory, of any library: finite numbers with different column names, or an error that names the column."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.above import ANSWERS
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
        table = ANSWERS["table_of"](table).cpu()
    try:
        rows = network._rows(as_rows(table))
    except ValueError as error:
        told = str(error)
        raise ValueError(f"{name}{told[1:]}" if told.startswith("X ") else f"{name}: {told}") from None
    if len(rows) == 0:
        raise ValueError(f"{name} must have at least one row; got none.")
    return np.ascontiguousarray(rows)


def table(
    estimator: Any, X: Any, y: Any = NO_TARGET, *, reset: bool = True, least: int = 1, dtype: Any = _DTYPES,
    missing: bool = False,
) -> Any:  # fmt: skip
    """Return X (and y) as finite numeric arrays, or name the column that is not; `least`: rows that are needed.

    The estimator takes note of the columns or, unless `reset`, knows them again. With `gaps`, X may hold NaN.
    """
    from sklearn.utils.validation import validate_data

    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X must be a table in memory; got the path {os.fspath(X)!r}. Read it first.")
    X = dense(to_array(X))
    if missing and isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    unmasked(X, "X")
    plain_columns(X)
    checks: dict[str, Any] = {"dtype": dtype, "ensure_all_finite": False, "reset": reset, "ensure_min_samples": least}
    try:
        if y is NO_TARGET:
            rows = validate_data(estimator, X, **checks)
        else:
            rows, y = validate_data(estimator, X, numeric_target(y), y_numeric=True, **checks)
    except (TypeError, ValueError) as error:
        raise _naming_column(error, X) from None
    finite_columns(rows, getattr(estimator, "feature_names_in_", None), missing)
    return rows if y is NO_TARGET else (rows, finite_target(y))


def mixed_table(
    estimator: Any, X: Any, schema: Schema, y: Any, *, reset: bool = True, least: int = 1
) -> tuple[Floats, Floats]:
    """Return X as a schema reads it, NaN for gaps, and y; the estimator takes note of the columns or knows them again.

    Beside the columns that are known, a frame may have others.
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
    """Return the columns of a frame that are known, where it has others beside them; everything else as it is."""
    there = set(labels_of(X) or ())
    if not len(names) or len(there) <= len(names) or not there.issuperset(names):
        return X
    return X.select(list(names)) if hasattr(X, "select") else X[list(names)]


def finite_target(y: Any) -> Floats:
    """Return targets without NaN and infinity as float64."""
    y = np.asarray(y, dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError(f"Input y contains {_kind(y)} ({(~np.isfinite(y)).sum()} of {len(y)} rows). Drop those rows.")
    return y


def check_row_count(rows: int, least: int = 2) -> None:
    """As many rows as a fit needs."""
    if rows < least:
        raise ValueError(f"X has {rows} sample(s); a minimum of {least} is required.")


def different_columns(X: Any) -> list[Any]:
    """Columns of different names, which are returned; none where there are no names."""
    return labels_of(X) or []


def plain_columns(X: Any) -> None:
    """Columns of different names, and no dates, which would be read as numbers."""
    if type(X).__module__.partition(".")[0] == "pyarrow":
        raise ValueError(
            f"X must be an array or a frame; got a pyarrow {type(X).__name__}. Call its to_pandas() first."
        )
    names = different_columns(X)
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


def finite_columns(X: NDArray[Any], names: Sequence[str] | None, missing: bool = False) -> None:
    """No NaN or infinity in any column; with `gaps`, no infinity."""
    if X.dtype.kind == "f" and all_finite(X):
        return
    for j, column in enumerate(X.T):
        if not (good := ~np.isinf(column) if missing else np.isfinite(column)).all():
            bad = column[~good]
            raise ValueError(
                f"Input X contains {_kind(bad)} in column {_name(j, names)!r} ({len(bad)} of {len(column)} rows). "
                "Drop or fill those rows (for instance with sklearn.impute.SimpleImputer)."
            )


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
    reach, spread = max(abs(high), abs(low)), high / 2 - low / 2
    if reach > LARGEST_SQUARED or 0 < spread < 1 / LARGEST_SQUARED:
        raise ValueError(
            f"y has values up to {reach:.3g} and a spread of {spread:.3g}; squared errors leave the range of "
            f"floats beyond {LARGEST_SQUARED:g} and below {1 / LARGEST_SQUARED:g}. Rescale the target."
        )


def check_numeric_only(direction: str, schema: Schema, missing: Sequence[int]) -> None:
    """Refuse categories and gaps to a direction that takes numbers alone; `gaps` are the columns that have some."""
    remedy = f"direction={direction!r} takes numbers without gaps"
    for column in schema.columns:
        if column.categories is not None:
            raise ValueError(
                f"X has words, categories or truths in column {column.name!r}, and {remedy}. Encode them (for instance "
                "with sklearn.preprocessing.OneHotEncoder), leave them out, or use direction='search'."
            )
    for j in missing:
        raise ValueError(
            f"Input X contains NaN in column {schema.names[j] if schema.named else j!r}, and {remedy}. Drop or fill "
            "those rows (for instance with sklearn.impute.SimpleImputer), or use direction='search'."
        )


def warn_of_lost_columns(lost: Iterable[int], names: Sequence[str] | None) -> None:
    """Warn of columns that vary by too little to be learnt from."""
    for j in lost:
        warnings.warn(
            f"X varies in column {_name(j, names)!r} by less than about 1e-308, the smallest difference that can be "
            "learnt from: the column is not used. Multiply it by a large number, as 2.0**100.",
            stacklevel=4,
        )


def _kind(values: NDArray[Any]) -> str:
    return "NaN" if np.isnan(values).any() else "infinity"


def _name(j: int, names: Sequence[str] | None) -> Any:
    return j if names is None else names[j]


# -- Targets and weights: one number per row of a table.

_LARGEST_WEIGHT = 1e300


def to_array(values: Any) -> Any:
    """The values of a torch tensor, which NumPy does not take as they are when gradients or bfloat16 are involved."""
    if type(values).__module__ != "torch":
        return values
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def unmasked(values: Any, name: str) -> None:
    """No masked values, under which anything may hide."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.count_masked(values):
        raise ValueError(
            f"{name} has {np.ma.count_masked(values)} masked values. Fill them (filled) or drop those rows."
        )


def refuse_dates(kind: Any, name: str = "y") -> None:
    """Targets or weights of a dtype that is none of dates."""
    if getattr(kind, "kind", "") in ("m", "M"):
        raise ValueError(f"{name} holds dates or durations. Turn them into numbers, for instance days since the first.")


def numeric_target(y: Any) -> Any:
    """Return targets that are numbers, not dates or words, as they are; those of a tensor as an array."""
    y = to_array(y)
    unmasked(y, "y")
    values = np.asarray(y)
    refuse_dates(values.dtype)
    if values.dtype.kind in ("O", "S", "U"):
        for value in values.ravel():
            try:
                float(value)
            except (TypeError, ValueError):
                # What is no text, scikit-learn has its own words for.
                if isinstance(value, str):
                    raise ValueError(f"y must hold numbers; got {str(value)!r}.") from None
                break
    return y


def numbers_per_row(values: Any, name: str, rows: int) -> Floats:
    """Return one finite float64 per row, or say what is wrong with them."""
    values = to_array(values)
    refuse_dates(getattr(values, "dtype", None), name)
    unmasked(values, name)
    found = np.asarray(values, dtype=np.float64, order="C")
    if found.shape != (rows,):
        raise ValueError(f"{name} must have one entry per row of X ({rows}); got shape {found.shape}.")
    if not np.isfinite(found).all():
        wrong = f"{name} must be finite; got {found[~np.isfinite(found)][0]}"
        raise ValueError(f"{name} has NaN or infinity: {wrong}. Drop or fill those rows.")
    return found


def weights(values: Any, rows: int) -> Floats:
    """Return one weight per row, none of them negative, whose sums a float64 can hold; a number counts for all rows."""
    if isinstance(values, numbers.Number):
        values = np.full(rows, values)
    found = numbers_per_row(values, "sample_weight", rows)
    if (found < 0).any():
        least = f"sample_weight must not be negative; got {found.min()}"
        raise ValueError(f"Negative values in data passed to `sample_weight`: {least}.")
    check_reach(float(found.max(initial=0.0)))
    return found


def check_reach(largest: float) -> None:
    """Refuse row weights whose sums no float64 can hold, by the largest of them."""
    most = _LARGEST_WEIGHT
    if largest > most or 0 < largest < 1 / most:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}; beyond {most:g} and below {1 / most:g} sums leave the range of "
            "floats. Multiply all weights by one number."
        )
