"""Names, numbers and colours as people read them: one home for what equations, figures and reports have in common."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence

import numpy as np

# Told apart with any kind of colour vision, and legible on white and on black (Okabe and Ito, then Tol).
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#AA4499", "#999933", "#44AA99", "#A0785A")


def colour(position: int) -> str:
    """Return the colour of the term at `position`, in every figure and equation; there are ten, then they repeat."""
    return COLOURS[position % len(COLOURS)]


# Letters and marks that Unicode counts as printable and nobody can see.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_LONG = re.compile(r"'[^']{161,}'|\"[^\"]{161,}\"|\S{321,}")


def _seen(letter: str) -> bool:
    """Return whether a letter is seen and does nothing else: no control or format character, no odd blank."""
    return letter.isprintable() and letter not in _UNSEEN


def _through(text: str, write: Callable[[str], str]) -> str:
    """Return text, line by line, with everything that is not seen written otherwise."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(
        line if line.isascii() and line.isprintable() else "".join(c if _seen(c) else write(c) for c in line)
        for line in text.split("\n")
    )


def visible(text: str) -> str:
    """Return text with a blank for every control, format or otherwise unseen character but the end of a line.

    Examples
    --------
    >>> visible("red \\x1b[31m\\u202e\\tend")
    'red  [31m  end'
    """
    return _through(text, lambda letter: " ")


def escaped(text: str) -> str:
    """Return JSON text with every unseen character but the end of a line escaped, so that it means the same.

    Examples
    --------
    >>> print(escaped('"\\u202e\\x7f"'))
    "\\u202e\\u007f"
    """
    return _through(text, lambda c: f"\\u{ord(c):04x}" if ord(c) < 0x10000 else json.dumps(c)[1:-1])


def clean(name: str, most: int | None = None) -> str:
    """Return a name on one line, whatever it holds: runs of blanks and unseen characters become one blank.

    Longer than `most` letters, it loses its middle.

    Examples
    --------
    >>> clean("net\\nincome\\u2066\\x1b")
    'net income'
    """
    written = " ".join(visible(name).split()) or "(blank)"
    return written if most is None else _cut(written, most)


def message(text: str, most: int = 800) -> str:
    """Return a message on one line of bounded length: long quotations, and then the whole, lose their middle.

    Examples
    --------
    >>> len(message(f"there is no column {'x' * 10**6!r}; rename one."))
    192
    """
    short = clean(_cut(text, 10**5))
    return _cut(_LONG.sub(lambda found: _cut(found[0], 160), short), most)


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
