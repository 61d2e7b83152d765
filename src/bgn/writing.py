"""Names, numbers and colours as people read them: one home for what equations, figures and reports have in common."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

# Told apart with any kind of colour vision, and legible on white and on black (Okabe and Ito, then Tol).
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#AA4499", "#999933", "#44AA99", "#A0785A")


def colour(position: int) -> str:
    """Return the colour of the term at `position`, in every figure and equation; there are ten, then they repeat."""
    return COLOURS[position % len(COLOURS)]


def clean(name: str) -> str:
    """Return a name on one line: runs of white space and control characters become one blank."""
    blanks = r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
    return re.sub(blanks, " ", name).strip() or "(blank)"


def shorten(names: Sequence[str], length: int = 24) -> tuple[str, ...]:
    """Return names of at most about `length` letters that still differ: long ones lose their middle.

    Examples
    --------
    >>> shorten(["income", "a very long name that ends in one", "a very long name that ends in two"], 12)
    ('income', 'a very…n one', 'a very…n two')
    >>> shorten(["same  name", "same name"])
    ('same name (1)', 'same name (2)')
    """
    written = []
    for name in map(clean, names):
        column, equals, value = name.partition(" = ")
        room = length // 2 if equals else length
        written.append(_cut(column, room) + equals + _cut(value, room))
    seen: dict[str, list[int]] = {}
    for i, name in enumerate(written):
        seen.setdefault(name, []).append(i)
    for name, places in seen.items():
        if len(places) > 1:
            for count, i in enumerate(places, start=1):
                written[i] = f"{name} ({count})"
    return tuple(written)


def _cut(name: str, length: int) -> str:
    """Return a name without its middle when it is longer than `length`."""
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[: length - 1 - half]}…{name[-half:]}"


def number(value: float, digits: int) -> str:
    """Write a threshold or coefficient: whole when it is short, otherwise with `digits` significant digits.

    Digits before the point are never dropped, and halves and numbers up to two digits longer than asked are written
    whole, so that a cut between two integers (1996.5) is not rounded on to one of them.

    Examples
    --------
    >>> [number(value, 3) for value in (65.5, 1000000.5, 0.123456, 123456.789, 6.02214e23, 622.0)]
    ['65.5', '1000000.5', '0.123', '123457', '6.02e+23', '622']
    """
    if not math.isfinite(value):  # what was rounded beyond the largest float
        return f"{value:g}"
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
    finite = [abs(value) for value in scale if value and math.isfinite(value)]
    sizes = [math.floor(math.log10(value)) for value in finite] or [0]
    if not -6 < max(sizes) < 9:
        return [f"{value:.{digits - 1}e}" for value in values]
    places = min(max(digits - 1 - max(sizes), -min(sizes), 0), 12)
    nothing = f"{-0.0:.{places}f}"
    written = [f"{value:.{places}f}" for value in values]
    return [text[1:] if text == nothing else text for text in written]
