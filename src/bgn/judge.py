"""Judgements on what a user hands to an estimator: each passes, or raises an error that names what is wrong."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_non_negative, validate_data

from bgn.engines.integers import check_reach

LARGEST_VALUE, LARGEST_SQUARED = 1e300, 1e150
NO_TARGET = object()
_DTYPES = (np.float64, np.float32)
_Class = TypeVar("_Class", bound=type)
_Estimator = TypeVar("_Estimator", bound=object)


def inherit_parameters(cls: _Class) -> _Class:
    """Show all parameters of an ``__init__`` that passes ``**parameters`` on to its parent's.

    scikit-learn reads an estimator's parameters off the signature of ``__init__``, as help and editors do.
    """
    init, above = vars(cls)["__init__"], inspect.signature(cls.__mro__[1])
    own = inspect.signature(init)
    shown = {name: each for name, each in own.parameters.items() if each.kind != each.VAR_KEYWORD}
    merged = {"self": shown.pop("self")} | dict(above.parameters) | shown

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **parameters: Any) -> None:
        for name in parameters.keys() - merged.keys():
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}")
        init(self, *values, **parameters)

    checked.__signature__ = own.replace(parameters=list(merged.values()))  # type: ignore[attr-defined]
    cls.__init__ = checked  # type: ignore[misc]
    return cls


def unfitted(estimator: _Estimator) -> _Estimator:
    """The same parameters and nothing learnt, to fit on; the estimator keeps the model of an earlier fit meanwhile."""
    return _with(type(estimator), {name: value for name, value in _state(estimator) if not name.endswith("_")})


def as_it_is(estimator: _Estimator) -> _Estimator:
    """The estimator with all that it has learnt, which a fit in another thread leaves alone."""
    return _with(type(estimator), dict(_state(estimator)))


def take_over(estimator: _Estimator, other: Any) -> _Estimator:
    """Learn what another has learnt, all of it at once: whoever looks sees the model before or the whole new one."""
    kept = [(name, value) for name, value in _state(estimator) if not name.endswith("_")]
    learnt = [(name, value) for name, value in _state(other) if name.endswith("_")]
    estimator.__dict__ = dict(kept + learnt)
    return estimator


def _state(estimator: Any) -> list[tuple[str, Any]]:
    """The attributes at one moment."""
    return list(vars(estimator).copy().items())


def _with(kind: type[_Estimator], state: dict[str, Any]) -> _Estimator:
    made = object.__new__(kind)
    made.__dict__ = state
    return made


# -- parameters --------------------------------------------------------------------------------------------------


def chosen(name: str, value: Any, choices: Sequence[str | None]) -> None:
    """One of several words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def whole(name: str, value: Any, least: int, none: str | None = None) -> None:
    """A whole number, or None where that means something."""
    if value is None and none is not None:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        remedy = f" Use None for {none}." if none else ""
        raise ValueError(f"{name} must be a whole number, at least {least}; got {value!r}.{remedy}")


def real(
    name: str, value: Any, low: float, high: float, open_low: bool = False, open_high: bool = False, also: str = ""
) -> None:
    """A number between two others."""
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool) and bool(low <= float(value) <= high)
    if not fine or (open_low and value == low) or (open_high and value == high):
        above = f"above {low:g}" if open_low else f"at least {low:g}"
        below = "" if high == np.inf else f" and {'below' if open_high else 'at most'} {high:g}"
        raise ValueError(f"{name} must be a number {above}{below}{also}; got {value!r}.")


def seed_of(random_state: Any) -> int:
    """A seed drawn from what scikit-learn takes for `random_state`."""
    try:
        if isinstance(random_state, bool | np.bool_):
            raise ValueError
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError:
        raise ValueError(
            f"random_state must be None, a RandomState or a whole number from 0 to 2**32 - 1; got {random_state!r}."
        ) from None


def threads(n_jobs: Any) -> int:
    """How many threads `n_jobs` stands for."""
    if n_jobs is None:
        return int(effective_n_jobs(-1))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number, not 0, or None for all cores; got {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def callables(name: str, given: Any) -> tuple[Callable[..., Any], ...]:
    """None, one callable or several, as a tuple."""
    several = () if given is None else tuple(given) if isinstance(given, Sequence) else (given,)
    for each in several:
        if not callable(each):
            raise ValueError(f"{name} must be callables that take a record; got {each!r}.")
    return several


# -- rows --------------------------------------------------------------------------------------------------------


def enough_rows(rows: int, least: int = 2) -> None:
    """As many rows as a fit needs."""
    if rows < least:
        raise ValueError(f"X has {rows} sample(s); a minimum of {least} is required.")


def different_columns(X: Any) -> list[Any]:
    """Columns of different names, which are returned."""
    if type(X).__name__ == "LazyFrame":
        raise ValueError("X must be a table that is there; got a LazyFrame. Call its collect() first.")
    if type(X).__module__.partition(".")[0] == "pyarrow":
        raise ValueError(
            f"X must be an array or a frame; got a pyarrow {type(X).__name__}. Call its to_pandas() first."
        )
    names = list(getattr(X, "columns", ()))
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"X has more than one column named {twice!r}. Rename or drop all but one.")
    return names


def plain_columns(X: Any) -> None:
    """Columns of different names, and no dates, which would be read as numbers."""
    names = different_columns(X)
    kinds: list[str] = [np.asarray(X[name][:1]).dtype.kind for name in names]
    kinds = kinds or [str(getattr(getattr(X, "dtype", None), "kind", ""))]
    for name, kind in zip(names or ["X"], kinds, strict=True):
        if kind in ("m", "M"):
            raise ValueError(
                f"Column {name!r} holds dates or durations. Turn it into numbers (for instance days since the first) "
                "or leave it out."
            )


def no_dates(kind: Any, name: str = "y") -> None:
    """Targets or weights of a dtype that is none of dates."""
    if getattr(kind, "kind", "") in ("m", "M"):
        raise ValueError(f"{name} holds dates or durations. Turn them into numbers, for instance days since the first.")


def _unmasked(values: Any, name: str) -> None:
    """No masked values, under which anything may hide."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.count_masked(values):
        raise ValueError(
            f"{name} has {np.ma.count_masked(values)} masked values. Fill them (filled) or drop those rows."
        )


def _array_of(values: Any) -> Any:
    """The values of a torch tensor, which NumPy does not take as they are when gradients or bfloat16 are involved."""
    if type(values).__module__ != "torch":
        return values
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def weights(values: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    """Row weights as numbers, none of them negative, whose sums a float64 can hold."""
    values = _array_of(values)
    no_dates(getattr(values, "dtype", None), "sample_weight")
    _unmasked(values, "sample_weight")
    if isinstance(values, numbers.Number):
        values = np.full(len(X), values)
    found = check_array(values, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if found.shape != (len(X),):
        raise ValueError(f"sample_weight must hold one number per row, {len(X)} of them; its shape is {found.shape}.")
    check_non_negative(found, "`sample_weight`")
    check_reach(float(found.max(initial=0.0)))
    return np.asarray(found)


def number_target(y: Any) -> None:
    """Targets that are numbers, not dates or words."""
    values = np.asarray(y)
    no_dates(values.dtype)
    if values.dtype.kind in ("O", "S", "U"):
        for value in values.ravel():
            try:
                float(value)
            except (TypeError, ValueError):
                # What is no text, scikit-learn has its own words for.
                if isinstance(value, str):
                    raise ValueError(f"y must hold numbers; got {str(value)!r}.") from None
                return


def table(
    estimator: Any, X: Any, y: Any = NO_TARGET, *, reset: bool = True, least: int = 1, dtype: Any = _DTYPES
) -> Any:
    """Return X (and y) as finite numeric arrays, or name the column that is not; `least`: rows that are needed.

    The estimator takes note of the columns or, unless `reset`, knows them again.
    """
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X must be a table in memory; got the path {os.fspath(X)!r}. Read it first.")
    X = _array_of(X)
    _unmasked(X, "X")
    plain_columns(X)
    checks: dict[str, Any] = {"dtype": dtype, "ensure_all_finite": False, "reset": reset, "ensure_min_samples": least}
    try:
        if y is NO_TARGET:
            rows = validate_data(estimator, X, **checks)
        else:
            y = _array_of(y)
            _unmasked(y, "y")
            number_target(y)
            rows, y = validate_data(estimator, X, y, y_numeric=True, **checks)
    except (TypeError, ValueError) as error:
        raise _naming_column(error, X) from None
    finite_columns(rows, getattr(estimator, "feature_names_in_", None))
    if y is NO_TARGET:
        return rows
    y = np.asarray(y, dtype=np.float64)
    finite_target(y)
    return rows, y


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


def finite_columns(X: NDArray[Any], names: Sequence[str] | None) -> None:
    """No NaN or infinity in any column."""
    for j, column in enumerate(X.T):
        if not np.isfinite(column).all():
            bad = column[~np.isfinite(column)]
            raise ValueError(
                f"Input X contains {_kind(bad)} in column {_name(j, names)!r} ({len(bad)} of {len(column)} rows). "
                "Drop or fill those rows (for instance with sklearn.impute.SimpleImputer)."
            )


def finite_target(y: NDArray[Any]) -> None:
    """No NaN or infinity among the targets."""
    if not np.isfinite(y).all():
        raise ValueError(f"Input y contains {_kind(y)} ({(~np.isfinite(y)).sum()} of {len(y)} rows). Drop those rows.")


def representable(
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


def nothing_lost(lost: Iterable[int], names: Sequence[str] | None) -> None:
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
