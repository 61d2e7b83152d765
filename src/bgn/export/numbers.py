"""Numbers as people read them."""

from __future__ import annotations

import math

import numpy as np


def number(value: float, digits: int) -> str:
    """Write a threshold or coefficient: whole when it is short, otherwise with `digits` significant digits.

    Digits before the point are never dropped, and halves and numbers up to two digits longer than asked are written
    whole, so that a cut between two integers (1996.5) is not rounded on to one of them.

    Examples
    --------
    >>> [number(value, 3) for value in (65.5, 1000000.5, 0.123456, 123456.789, 6.02214e23, 622.0)]
    ['65.5', '1000000.5', '0.123', '123457', '6.02e+23', '622']
    """
    if not math.isfinite(value):
        return str(value)
    shortest = np.format_float_positional(abs(value), trim="-")
    length = len(shortest.replace(".", "").strip("0"))
    size = math.floor(math.log10(abs(value))) if value else 0
    if not -5 < size < 9:
        return f"{value:.{digits - 1}e}"
    if length <= digits + 2 or float(2 * value).is_integer():
        return ("-" if value < 0 else "") + shortest
    return f"{value:.{max(digits - 1 - size, 0)}f}"


def amounts(values: list[float], scale: list[float], digits: int) -> list[str]:
    """Write values alike, so that the largest of `scale` has `digits` digits and the smallest at least one."""
    sizes = [math.floor(math.log10(abs(value))) for value in scale if value and math.isfinite(value)] or [0]
    if not -6 < max(sizes) < 9:
        return [f"{value:.{digits - 1}e}" for value in values]
    places = min(max(digits - 1 - max(sizes), -min(sizes), 0), 12)
    nothing = f"{-0.0:.{places}f}"
    written = [f"{value:.{places}f}" for value in values]
    return [text[1:] if text == nothing else text for text in written]


def base_and_weights(base: float, weights: list[float], digits: int) -> list[str]:
    """Write the base of an equation and the weights of its terms alike."""
    return amounts([base, *weights], weights or [base], digits)
