"""Targets of a few whole numbers: counts and ratings look like labels of classes, and only the user knows which."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

FEW_VALUES, MANY_ROWS = 10, 100
"""A target of at most so many different whole numbers in at least so many rows may hold amounts or classes."""


def may_be_classes(values: Collection[float], rows: int) -> bool:
    """Return whether the different values of a target of numbers are as few as those of classes.

    Examples
    --------
    >>> from bgn.inputs.few_values import may_be_classes
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
    >>> from bgn.inputs.few_values import few_values, tally
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
