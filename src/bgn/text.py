"""Text that is safe to show, whatever names hold: on one line, of bounded length, without unseen characters.

Prose (titles, descriptions, messages) is cleaned. Names of columns, targets and categories are quoted where they are
not plain, as JSON strings: a name then never reads as a part of an equation, and two different names never look the
same.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np

# ruff: noqa: RUF001  (letters of other alphabets that look like ours)


# Letters and marks that Unicode counts as printable and nobody can see.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
# What equations are made of: no plain name holds it.
_SYNTAX = re.compile(
    r'[\[\]{}"“”„‟<>=≥≤≧≦⩾⩽≠≯≮−×…]|, |,$|^\s|\s$|\s\s'
    r"|(?:^|\s)(?:[-+±]|and|or|where|is missing|is not|counts as)(?:\s|$)"
)
# What the name of a column cannot begin with; a category, which follows "=", can.
_BEGINS = re.compile(
    r"[-+(]|\d+(?:\.\d*)?(?:e[-+]?\d+)?(?:\s|$)"
    r"|(?:not|either of|both of|neither of|not both of|none of|all of|at least|at most|per unit of|a missing)\s"
)
_DAYS = re.compile(r", days since \d{4}-\d\d-\d\d\Z")
_MARKS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # they choose the look of a letter, often none
# Letters of other alphabets that look like Latin ones.
_LOOKALIKE = frozenset("аеорсухіјѕһԁԛԝАВЕЅІЈКМНОРСТУХԌԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲνɑɡοօսհոցѵ")
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
    """Return text on one line, whatever it holds: runs of blanks and unseen characters become one blank.

    Longer than `most` letters, it loses its middle.

    Examples
    --------
    >>> clean("net\\nincome\\u2066\\x1b")
    'net income'
    """
    written = " ".join(visible(name).split()) or "(blank)"
    return written if most is None else _cut(written, most)


class Quoted(str):
    """A name as it is printed; it is not quoted again."""


def quote_name(name: str, most: int | None = None) -> Quoted:
    """Return the name of a column or a target as it is printed: as it is where it is plain, else as a JSON string.

    Plain is a name of visible characters on one line that holds nothing of what equations are made of, such as
    brackets, comparisons and signs between blanks. Longer than `most` letters, it loses its middle.

    Examples
    --------
    >>> for name in ("hours_per-week", "capital.gain (USD)", "age\\u200b", "age >= 30] + 0 [age", "2", " a"):
    ...     print(quote_name(name))
    hours_per-week
    capital.gain (USD)
    "age\\u200b"
    "age >= 30] + 0 [age"
    "2"
    "\\u0020a"
    """
    return _quoted(name, isinstance(name, Quoted) or (_is_plain(name) and _BEGINS.match(name) is None), most)


def quote_category(category: str, most: int | None = None) -> Quoted:
    """Return a category, a class or a unit as it is printed: like a name, but it may begin with a number or a sign.

    Examples
    --------
    >>> print(quote_category("2"), quote_category("(30, 40]"), quote_category(""))
    2 "(30, 40]" ""
    """
    return _quoted(category, isinstance(category, Quoted) or _is_plain(category), most)


def _quoted(name: str, plain: bool, most: int | None) -> Quoted:
    written = name if plain else _as_json(name)
    return Quoted(written if most is None else _cut(written, most))


def _is_plain(name: str) -> bool:
    """Tell whether a name is visible to the letter, and nothing in it reads as a part of an equation."""
    name = _DAYS.sub("", name)  # "sold, days since 2006-01-15" is a name that we give
    if not name or _SYNTAX.search(name) or _nesting(name):
        return False
    if name.isascii():
        return name.isprintable()
    composed = unicodedata.normalize("NFC", name) == name and not unicodedata.combining(name[0])
    if not composed or _MARKS.search(name) or _SYNTAX.search(unicodedata.normalize("NFKC", name)):
        return False
    return all(map(_seen, name)) and not _mimics(name)


def _nesting(name: str) -> bool:
    """Tell whether brackets of a name are not in pairs."""
    depth = 0
    for letter in name:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return True
    return depth > 0


def _mimics(text: str) -> bool:
    """Tell whether text of other alphabets could be taken for Latin: all of its letters, or those of a mixed word."""
    for part in (text, *re.findall(r"\w+", text)):
        letters = [letter for letter in part if letter.isalpha()]
        foreign = [letter in _LOOKALIKE for letter in letters]
        latin = ["LATIN" in unicodedata.name(letter, "") and letter not in _LOOKALIKE for letter in letters]
        if any(foreign) and (all(map(max, foreign, latin)) if part is text else any(latin)):
            return True
    return False


def _as_json(name: str) -> str:
    """Return a JSON string in which all that is not plainly seen is escaped."""
    mimics = _mimics(name)

    def write(letter: str, before: str) -> str:
        odd = not _seen(letter) or _MARKS.match(letter) is not None
        odd = odd or (letter == " " and before in ("", " ")) or (mimics and letter in _LOOKALIKE)
        if odd or unicodedata.combining(letter) or unicodedata.normalize("NFC", letter) != letter:
            return json.dumps(letter)[1:-1] if letter >= "\x7f" or letter < " " else f"\\u{ord(letter):04x}"
        return json.dumps(letter, ensure_ascii=False)[1:-1]

    written = [write(letter, before) for letter, before in zip(name, ["", *name], strict=False)]
    if name.endswith(" "):
        written[-1] = "\\u0020"
    return f'"{"".join(written)}"'


def message(text: str, most: int = 800) -> str:
    """Return a message on one line of bounded length: long quotations, and then the whole, lose their middle.

    Examples
    --------
    >>> len(message(f"there is no column {'x' * 10**6!r}; rename one."))
    192
    """
    return _cut(_LONG.sub(lambda match: _cut(match[0], 160), clean(_cut(text, 10**5))), most)


def _cut(name: str, length: int) -> str:
    """Return a name without its middle when it is longer than `length`."""
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[: length - 1 - half]}…{name[-half:]}"


# -- How counts and measured numbers are written for people. Numbers of a model itself keep all their digits
# (:mod:`bgn.export.numbers`).


def count_of(number: float, noun: str) -> str:
    """Write a number of things; of several words the last one takes the plural.

    Examples
    --------
    >>> count_of(1, "row"), count_of(1200, "test row"), count_of(2, "class")
    ('1 row', '1,200 test rows', '2 classes')
    """
    *before, last = noun.split(" ")
    last = last if number == 1 else {"category": "categories", "class": "classes"}.get(last, f"{last}s")
    return " ".join([f"{number:,}", *before, last])


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
