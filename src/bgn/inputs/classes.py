"""Classes as users write them: words, whole numbers or truths, one label per row."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.inputs.tables import to_array, refuse_dates, unmasked
from bgn.model.network import Network
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.model.values import Coded, Misread, Nothing, Numbers, values_of

MOST_CLASSES = 256
Label = str | int | float | bool


@dataclass(frozen=True)
class Classes:
    """The labels of classes, in order, and what a row of each counts for, if not for one.

    Examples
    --------
    >>> from bgn.inputs.classes import Classes
    >>> Classes(("no", "yes")).codes(["yes", "no", "yes"])
    array([1., 0., 1.])
    """

    labels: tuple[Label, ...]
    weights: tuple[float, ...] | None = None

    def codes(self, y: Any, name: str = "y") -> Floats:
        """Return the number of every label's class, or say which is none of them."""
        try:
            codes = values_of(_one_per_row(y)).codes_in(self.labels)
        except Misread as problem:
            raise ValueError(f"{name} {problem}.") from None
        if (wrong := np.isnan(codes)).any():
            _no_gaps(y, name)
            odd = distinct_labels(np.asarray(_one_per_row(y), dtype=object)[wrong][:1])
            known = ", ".join(map(category_name, self.labels[:10]))
            raise ValueError(f"{name} holds the label {odd[0]!r}, which fit did not see; the classes are {known}.")
        return codes

    def weighted(self, codes: Floats, weight: Any) -> Any:
        """Return row weights with those of the classes."""
        if self.weights is None:
            return weight
        own = np.array(self.weights)[codes.astype(np.intp)]
        return own if weight is None else own * np.asarray(weight, np.float64)


def codes_of(network: Network, y: Any, rows: int, name: str = "y") -> Floats:
    """Return the number of every label's class in a network, or say what is wrong with the labels.

    Where the network does not name its classes, labels are their numbers from 0.

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.inputs.classes import codes_of
    >>> codes_of(Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0, link="logistic"), [True, False], 2)
    array([1., 0.])
    """
    labels = network.schema.classes or tuple(range(max(2, np.size(network.base))))
    codes = Classes(labels).codes(y, name)
    if codes.shape != (rows,):
        raise ValueError(f"{name} must have one label per row ({rows}); got shape {codes.shape}.")
    return codes


def _one_per_row(y: Any) -> Any:
    """Return labels as one value per row."""
    y = to_array(y)
    if not hasattr(y, "dtype") and not hasattr(y, "to_pylist"):
        y = np.asarray(y, dtype=object if isinstance(y, Iterable) and any(isinstance(e, str) for e in y) else None)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        y = np.asarray(y)[:, 0]
    return y


def labels_in(y: Any, name: str = "y") -> tuple[Label, ...]:
    """Return the different labels of a target in memory, in order, or say what is wrong with it."""
    y = _one_per_row(y)
    unmasked(y, name)
    kind = getattr(y, "dtype", None)
    refuse_dates(kind, name)
    if getattr(kind, "kind", "") == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers.")
    if getattr(kind, "kind", "") == "f" and np.isinf(np.asarray(y)).any():
        raise ValueError(f"Input {name} contains infinity or a value too large for {kind!r}. Drop those rows.")
    _no_gaps(y, name)
    return distinct_labels(y, name)


def distinct_labels(y: Any, name: str = "y") -> tuple[Label, ...]:
    """Return the different labels of some rows, gaps left out, in order."""
    values = values_of(y)
    if isinstance(values, Nothing):
        return ()
    if isinstance(values, Numbers):
        found = values.distinct.tolist()
        if any(each != round(each) for each in found):
            from sklearn.utils.multiclass import check_classification_targets  # a command starts without it

            check_classification_targets(np.asarray(y, dtype=np.float64))  # scikit-learn has its own words for it
        kind = getattr(getattr(y, "dtype", None), "kind", "O")
        return tuple(bool(each) if kind == "b" else each if kind == "f" else int(each) for each in found)
    if isinstance(values, Coded):
        return sorted_labels(values.observed)
    raise ValueError(f"{name} holds {values.holds}; classes are words, whole numbers, or true and false.")


def sorted_labels(labels: Iterable[Any]) -> tuple[Label, ...]:
    """Return labels in order: numbers and truths by size, words by their letters, before them."""
    return tuple(sorted(set(labels), key=lambda each: (isinstance(each, str), each)))


def _no_gaps(y: Any, name: str) -> None:
    missing = values_of(_one_per_row(y)).missing
    if missing.any():
        raise ValueError(
            f"Input {name} contains NaN: {int(missing.sum())} of {len(missing)} rows have no label. Drop those rows."
        )


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
            f"{name} has the class {labels[number]!r} in one row alone, from which little can be learnt. Drop that "
            "row, or put classes together.",
            stacklevel=6,
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
    found = [float(given.get(label, 1.0)) for label in labels]
    for label, weight in zip(labels, found, strict=True):
        if not 0 < weight < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be above 0 and finite; got {weight!r}. Drop its rows instead."
            )
    return tuple(found)


# -- Targets of a few whole numbers: counts and ratings look like labels of classes, and only the user knows which.

FEW_VALUES, MANY_ROWS = 10, 100
"""A target of at most so many different whole numbers in at least so many rows may hold amounts or classes."""


def may_be_classes(values: Collection[float], rows: int) -> bool:
    """Return whether the different values of a target of numbers are as few as those of classes.

    Examples
    --------
    >>> from bgn.inputs.classes import may_be_classes
    >>> may_be_classes([0, 1], 2), may_be_classes([1, 2, 3], 100), may_be_classes([1, 2, 3], 99)
    (True, True, False)
    >>> may_be_classes([0.5, 1, 2], 200), may_be_classes(range(11), 1000)
    (False, False)
    """
    few = 2 <= len(values) <= FEW_VALUES and (len(values) == 2 or rows >= MANY_ROWS)
    return few and all(float(value).is_integer() for value in values)


def few_numbers(values: Collection[float]) -> str:
    """Return what a target of a few whole numbers holds, in words."""
    listed = ", ".join(f"{value:.0f}" for value in sorted(values))
    return f"{len(values)} different whole numbers ({listed})"


def tally(block: Any) -> tuple[list[Any], int]:
    """Return some of the different values of a block of targets, more than a few where there are, and its rows."""
    values = np.asarray(block)
    found = np.unique(values)[: FEW_VALUES + 1].tolist() if values.dtype.kind in "biuf" else [np.nan]
    return found, values.size


def few_values(tallies: Iterable[tuple[list[Any], int]]) -> str:
    """Return what a target holds whose values may be classes, in words; of many blocks no more are read than needed.

    Examples
    --------
    >>> from bgn.inputs.classes import few_values, tally
    >>> few_values([tally([0, 1, 1]), tally([2, 0] * 50)]), few_values([tally([0.5, 1])])
    ('3 different whole numbers (0, 1, 2)', '')
    """
    found, rows = set[float](), 0
    for values, size in tallies:
        found.update(values)
        rows += size
        if len(found) > FEW_VALUES or not all(float(value).is_integer() for value in found):
            return ""
    return few_numbers(found) if may_be_classes(found, rows) else ""
