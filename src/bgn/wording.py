"""How counts and measured numbers are written for people. Numbers of a model itself keep all their digits
(:mod:`bgn.export.numbers`).
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

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


def signed(value: float, digits: int = 4) -> str:
    """Write a measured difference, with its sign.

    Examples
    --------
    >>> signed(0.00005), signed(-12.3456), signed(0.0)
    ('+0.00005', '-12.35', '+0')
    """
    return ("" if value < 0 else "+") + people(value, digits)


def lower_end(value: float, digits: int = 6) -> str:
    """Write a bound that nothing is below: rounded down, so that it still is one.

    Examples
    --------
    >>> lower_end(2.3456789), lower_end(-2.3456781), lower_end(0.1 + 0.2), lower_end(1 / 3, 3)
    ('2.34567', '-2.34568', '0.3', '0.333')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def upper_end(value: float, digits: int = 6) -> str:
    """Write a bound that nothing is above: rounded up.

    Examples
    --------
    >>> upper_end(2.3456711), upper_end(-2.3456789), upper_end(0.1 + 0.2), upper_end(2 / 3, 3)
    ('2.34568', '-2.34567', '0.3', '0.667')
    """
    return _rounded(value, digits, ROUND_CEILING)


def _rounded(value: float, digits: int, way: str) -> str:
    """Round to so many digits one way, but for what adding up floats leaves behind."""
    if not math.isfinite(value) or abs(float(f"{value:.{digits}g}") - value) <= 1e-12 * abs(value):
        return people(value, digits)
    return people(float(Context(prec=digits, rounding=way).create_decimal(repr(float(value)))), digits)
