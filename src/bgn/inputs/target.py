"""What a user hands over beside the columns, one value per row: targets of numbers, labels of classes, weights.

Each function returns checked values or raises an error that says what is wrong. Targets in files and raw tables are
decided in :mod:`bgn.inputs.training`.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.model.network import Network
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.model.values import Coded, Misread, Nothing, Numbers, values_of
from bgn.text import clean

MOST_CLASSES = 256
Label = str | int | float | bool
_LARGEST_WEIGHT = 1e300


def to_array(values: Any) -> Any:
    """Return a torch tensor as an array, which NumPy refuses with gradients and for bfloat16; all else as it is."""
    if type(values).__module__ != "torch":
        return values
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def refuse_masked(values: Any, name: str) -> None:
    """Refuse masked values, under which anything may hide."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.count_masked(values):
        raise ValueError(
            f"{name} has {np.ma.count_masked(values)} masked values. Fill them (filled) or drop those rows."
        )


def refuse_dates(dtype: Any, name: str = "y") -> None:
    if getattr(dtype, "kind", "") in ("m", "M"):
        raise ValueError(f"{name} holds dates or durations. Turn them into numbers, for instance days since the first.")


# -- numbers -----------------------------------------------------------------------------------------------------


def numeric_target(y: Any) -> Any:
    """Return targets that are numbers, not dates or text, as they are; those of a tensor as an array."""
    y = to_array(y)
    refuse_masked(y, "y")
    values = np.asarray(y)
    refuse_dates(values.dtype)
    if values.dtype.kind in ("O", "S", "U"):
        for value in values.ravel():
            try:
                float(value)
            except (TypeError, ValueError):
                # What is no text, scikit-learn has its own words for.
                if isinstance(value, str):
                    raise ValueError(
                        f"y must hold numbers; got {str(value)!r}. For labels use bgn.BGNClassifier."
                    ) from None
                break
    elif values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(f"Input y contains NaN ({np.isnan(values).sum()} of {len(values)} rows). Drop those rows.")
    return y


def finite_target(y: Any) -> Floats:
    """Return targets without NaN and infinity as float64."""
    y = np.asarray(y, dtype=np.float64)
    if not np.isfinite(y).all():
        kind = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"Input y contains {kind} ({(~np.isfinite(y)).sum()} of {len(y)} rows). Drop those rows.")
    return y


def numbers_per_row(values: Any, name: str, rows: int) -> Floats:
    """Return one finite float64 per row, or say what is wrong with them."""
    values = to_array(values)
    refuse_dates(getattr(values, "dtype", None), name)
    refuse_masked(values, name)
    try:
        floats = np.asarray(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        text = next((value for value in np.ravel(np.asarray(values, dtype=object)) if isinstance(value, str)), values)
        raise ValueError(f"{name} must hold one number per row of X; got {clean(repr(text), 60)}.") from None
    if floats.shape != (rows,):
        raise ValueError(f"{name} must have one entry per row of X ({rows}); got shape {floats.shape}.")
    if not np.isfinite(floats).all():
        wrong = f"{name} must be finite; got {floats[~np.isfinite(floats)][0]}"
        raise ValueError(f"{name} has NaN or infinity: {wrong}. Drop or fill those rows.")
    return floats


def weights(values: Any, rows: int) -> Floats:
    """Return one weight per row, none of them negative, whose sums a float64 can hold; a number counts for all rows."""
    if isinstance(values, numbers.Number):
        values = np.full(rows, values)
    floats = numbers_per_row(values, "sample_weight", rows)
    if (floats < 0).any():
        least = f"sample_weight must not be negative; got {floats.min()}"
        raise ValueError(f"Negative values in data passed to `sample_weight`: {least}.")
    check_reach(float(floats.max(initial=0.0)))
    return floats


def check_reach(largest: float) -> None:
    """Refuse row weights whose sums no float64 can hold, by the largest of them."""
    most = _LARGEST_WEIGHT
    if largest > most or 0 < largest < 1 / most:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}; beyond {most:g} and below {1 / most:g} sums leave the range of "
            "floats. Multiply all weights by one number."
        )


# -- labels of classes -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Classes:
    """The labels of classes, in order, and what a row of each counts for, if not for one.

    Examples
    --------
    >>> from bgn.inputs.target import Classes
    >>> Classes(("no", "yes")).codes(["yes", "no", "yes"])
    array([1., 0., 1.])
    """

    labels: tuple[Label, ...]
    weights: tuple[float, ...] | None = None

    def codes(self, y: Any, name: str = "y") -> Floats:
        """Return the number of every label's class, or say which is none of them."""
        y = _one_per_row(y, name)
        try:
            codes = values_of(y).codes_in(self.labels)
        except Misread as problem:
            raise ValueError(f"{name} {problem}.") from None
        if (wrong := np.isnan(codes)).any():
            _refuse_missing(y, name)
            odd = distinct_labels(np.asarray(y, dtype=object)[wrong][:1])
            known = ", ".join(map(category_name, self.labels[:10]))
            raise ValueError(f"{name} holds the label {odd[0]!r}, which fit did not see; the classes are {known}.")
        return codes

    def weighted(self, codes: Floats, weight: Any) -> Any:
        if self.weights is None:
            return weight
        own = np.array(self.weights)[codes.astype(np.intp)]
        return own if weight is None else own * np.asarray(weight, np.float64)


def codes_of(network: Network, y: Any, rows: int, name: str = "y") -> Floats:
    """Return the number of every label's class in a network, or say what is wrong with the labels.

    Where the network does not name its classes, labels are their numbers from 0.
    """
    labels = network.schema.classes or tuple(range(max(2, np.size(network.base))))
    codes = Classes(labels).codes(y, name)
    if codes.shape != (rows,):
        raise ValueError(f"{name} must have one label per row ({rows}); got shape {codes.shape}.")
    return codes


def labels_in(y: Any, name: str = "y") -> tuple[Label, ...]:
    """Return the different labels of a target in memory, in order, or say what is wrong with it."""
    y = _one_per_row(y, name)
    refuse_masked(y, name)
    dtype = getattr(y, "dtype", None)
    refuse_dates(dtype, name)
    if getattr(dtype, "kind", "") == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers.")
    if getattr(dtype, "kind", "") == "f" and np.isinf(np.asarray(y)).any():
        raise ValueError(f"Input {name} contains infinity or a value too large for {dtype!r}. Drop those rows.")
    _refuse_missing(y, name)
    return distinct_labels(y, name)


def _one_per_row(y: Any, name: str) -> Any:
    y = to_array(y)
    if not hasattr(y, "dtype") and not hasattr(y, "to_pylist"):
        has_text = isinstance(y, Iterable) and any(isinstance(label, str) for label in y)
        y = np.asarray(y, dtype=object if has_text else None)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) > 1 and shape[1:] != (1,):
        raise ValueError(
            f"{name} must be one label per row; got shape {tuple(shape)}. Of 0/1 columns per class take the class of "
            "each row, as with y.argmax(axis=1)."
        )
    return np.asarray(y)[:, 0] if len(shape) == 2 else y


def _refuse_missing(y: Any, name: str) -> None:
    missing = values_of(y).missing
    if missing.any():
        raise ValueError(
            f"Input {name} contains NaN: {int(missing.sum())} of {len(missing)} rows have no label. Drop those rows."
        )


def distinct_labels(y: Any, name: str = "y") -> tuple[Label, ...]:
    """Return the different labels of some rows, missing ones left out, in order."""
    values = values_of(y)
    if isinstance(values, Nothing):
        return ()
    if isinstance(values, Numbers):
        numbers = values.distinct.tolist()
        if any(number != round(number) for number in numbers):
            from sklearn.utils.multiclass import check_classification_targets  # a command starts without it

            check_classification_targets(np.asarray(y, dtype=np.float64))  # scikit-learn has its own words for it
        kind = getattr(getattr(y, "dtype", None), "kind", "O")
        return tuple({"b": bool, "f": float}.get(kind, int)(number) for number in numbers)
    if isinstance(values, Coded):
        return sorted_labels(values.observed)
    raise ValueError(f"{name} holds {values.holds}; classes are words, whole numbers, or true and false.")


def sorted_labels(labels: Iterable[Any]) -> tuple[Label, ...]:
    """Return labels in order: numbers and truths by size, then text by its letters."""
    return tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))


def check_classes(labels: tuple[Label, ...], counts: Floats, name: str = "y") -> None:
    """Refuse a single class and more than a table can carry; warn of classes of a single row."""
    if len(labels) < 2:
        raise ValueError(
            f"{name} has {len(labels)} class: {', '.join(map(repr, labels)) or 'no rows'}. A classifier needs at least "
            "two to tell apart."
        )
    if len(labels) > MOST_CLASSES:
        raise ValueError(
            f"{name} has {len(labels)} different labels; a classifier takes at most {MOST_CLASSES}. Put classes "
            "together or, if they are numbers, use BGNRegressor."
        )
    # scikit-learn's checks of estimators fit such classes; the shell refuses them.
    for number in np.flatnonzero(counts < 2):
        warnings.warn(
            f"{name} has the class {labels[number]!r} in one row, too few to learn from. Drop that "
            "row, or put classes together.",
            stacklevel=7,
        )


def class_weights(given: Any, labels: tuple[Label, ...], totals: Floats) -> tuple[float, ...] | None:
    """Return what a row of each class counts for; `totals` are the weights of the classes."""
    if given is None:
        return None
    if isinstance(given, str):
        if given != "balanced":
            raise ValueError(f'class_weight must be "balanced", a mapping or None; got {given!r}.')
        return tuple((totals.sum() / (len(labels) * totals)).tolist())
    if not isinstance(given, Mapping):
        raise ValueError(f'class_weight must be "balanced", a mapping from label to weight or None; got {given!r}.')
    unknown = [key for key in given if not any(key == label for label in labels)]
    if unknown:
        known = ", ".join(repr(label) for label in labels[:10])
        raise ValueError(f"class_weight names {unknown[0]!r}, which is no class of y; the classes are {known}.")
    weights = [float(given.get(label, 1.0)) for label in labels]
    for label, weight in zip(labels, weights, strict=True):
        if not 0 < weight < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be above 0 and finite; got {weight!r}. Drop its rows instead."
            )
    return tuple(weights)


# -- Targets of a few whole numbers: counts and ratings look like labels of classes, and only the user knows which.

FEW_VALUES, MANY_ROWS = 10, 100
"""A target of at most so many different whole numbers in at least so many rows may be quantities or classes."""


def may_be_classes(values: Collection[float], rows: int) -> bool:
    """Return whether the different values of a target of numbers are as few as those of classes."""
    few = 2 <= len(values) <= FEW_VALUES and (len(values) == 2 or rows >= MANY_ROWS)
    return few and all(float(value).is_integer() for value in values)


def few_numbers(values: Collection[float]) -> str:
    return f"{len(values)} different whole numbers ({', '.join(f'{value:.0f}' for value in sorted(values))})"


def tally(block: Any) -> tuple[list[Any], int]:
    """Return some of the different values of a block of targets, more than a few where there are, and its rows."""
    values = np.asarray(block)
    numeric = values.dtype.kind in "biuf"
    return np.unique(values)[: FEW_VALUES + 1].tolist() if numeric else [np.nan], values.size


def few_values(tallies: Iterable[tuple[list[Any], int]]) -> str:
    """Describe a target whose values may be classes; of many blocks no more are read than needed."""
    distinct, rows = set[float](), 0
    for values, size in tallies:
        distinct.update(values)
        rows += size
        if len(distinct) > FEW_VALUES or not all(float(value).is_integer() for value in distinct):
            return ""
    return few_numbers(distinct) if may_be_classes(distinct, rows) else ""
