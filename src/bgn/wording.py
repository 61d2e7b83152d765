"""How counts and measured numbers are written for people. Numbers of a model itself keep all their digits
(:mod:`bgn.export.numbers`).
"""

from __future__ import annotations

import math

import numpy as np

_IRREGULAR = {"category": "categories", "class": "classes"}


def count_of(number: float, noun: str) -> str:
    """Write a number of things; of several words the last one takes the plural.

    Examples
    --------
    >>> count_of(1, "row"), count_of(1200, "test row"), count_of(2, "class")
    ('1 row', '1,200 test rows', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    """Return the plural of a noun."""
    *before, last = noun.split(" ")
    return " ".join([*before, _IRREGULAR.get(last, f"{last}s")])


def people(value: float, digits: int = 4) -> str:
    """Write a measured number: at most so many significant digits, and no power of ten but for the extremes.

    Examples
    --------
    >>> [people(value) for value in (15.840833333333334, 19783.4, 7e-5, 0.25, -0.0, 6.02214e23, 3e-12)]
    ['15.84', '19780', '0.00007', '0.25', '0', '6.022e+23', '3e-12']
    >>> people(0.123456, 2)
    '0.12'
    """
    if not math.isfinite(value):
        return str(value)
    short = float(f"{value:.{digits}g}") + 0.0
    if short and not 1e-7 <= abs(short) < 1e15:
        return f"{short:.{digits}g}"
    return np.format_float_positional(short, trim="-")
