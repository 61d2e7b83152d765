"""Dates as text in a format that is told: exactly what Python's ``datetime.strptime`` reads, many cells at a time.

Arrow's own reader takes 31/02/2020 for 2 March and "20" for the year 20. Here a pattern reads what plain formats of
digits allow, and `datetime.strptime` decides on every other cell, once per different one. In two things this is
stricter than Python: the 366th day of a year that has 365 is refused, and so are names of time zones (``%Z``), which
Python reads otherwise on every machine and then ignores.
"""

from __future__ import annotations

import datetime
import re
import time
import warnings
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs.refusal import Refused, option

# As CPython's, without the digits of other scripts, of which `datetime.strptime` knows.
_PARTS = {
    "d": "(?P<d>3[0-1]|[1-2][0-9]|0[1-9]|[1-9]| [1-9])", "m": "(?P<m>1[0-2]|0[1-9]|[1-9])",
    "Y": "(?P<Y>[0-9][0-9][0-9][0-9])", "y": "(?P<y>[0-9][0-9])", "H": "(?P<H>2[0-3]|[0-1][0-9]|[0-9])",
    "M": "(?P<M>[0-5][0-9]|[0-9])", "S": "(?P<S>[0-5][0-9]|[0-9])", "f": "(?P<f>[0-9]{1,6})", "%": "%",
}  # fmt: skip
_HAVE_A_YEAR = frozenset("YyGcx")
_PIVOT = 69
"""Years of two digits are those from 1969 to 2068."""


def check_format(form: str | None) -> None:
    """Refuse a format that cannot be read by, or that leaves the year open."""
    if form is None:
        return
    try:
        _read(" ", form)
    except (ValueError, re.error) as error:
        told = str(error)
        if isinstance(error, re.error) or not told.startswith(("time data", "unconverted data")):
            why = "it names a part twice" if isinstance(error, re.error) else told
            raise Refused(f"{option('date_format', repr(form))} cannot be read by: {why}.") from None
    directives = _directives(form)
    if "Z" in directives:
        raise Refused(
            f"{option('date_format', repr(form))}: names of time zones (%Z) mean different things on different "
            "machines. Write offsets such as +02:00 (%z), or leave the names out of the file."
        )
    if not directives & _HAVE_A_YEAR:
        raise Refused(f"{option('date_format', repr(form))} has no year; add %Y, or %y for years of two digits.")


def _directives(form: str) -> set[str]:
    """Return the letters behind a percent sign."""
    return set(re.findall("%(.)", form))


def has_offset(form: str) -> bool:
    """Return whether dates in a format tell how far from UTC they are."""
    return "z" in _directives(form)


def read_dates(text: Any, form: str) -> pa.Array:
    """Return text as microseconds, in UTC where the format has offsets; null where a cell is written otherwise."""
    text = pa.concat_arrays(text.chunks) if isinstance(text, pa.ChunkedArray) and text.num_chunks else text
    kind = pa.timestamp("us", "UTC" if has_offset(form) else None)
    if isinstance(text, pa.ChunkedArray):
        return pa.array([], kind)
    found = _of_digits(text, form)
    rest = np.flatnonzero(np.isnat(found) & np.asarray(pc.is_valid(text)))
    if len(rest):
        codes = text.take(pa.array(rest)).dictionary_encode()
        values = np.array([_stamp(cell, form) for cell in codes.dictionary.to_pylist()], "M8[us]")
        found[rest] = values[np.asarray(codes.indices)]
    return pa.array(found).cast(kind)


def _of_digits(text: pa.Array, form: str) -> Any:
    """Read what a format of digits alone allows; everything else is not a time."""
    found = np.full(len(text), "NaT", "M8[us]")
    pattern = _pattern(form)
    if pattern is None:
        return found
    parts = pc.extract_regex(text, pattern)
    fits = np.flatnonzero(np.asarray(pc.is_valid(parts)))
    if not len(fits):
        return found
    parts = parts.take(pa.array(fits))
    numbers = {each.name: _numbers(parts.field(each.name), each.name) for each in parts.type}
    year = numbers["Y"] if "Y" in numbers else numbers["y"] + np.where(numbers["y"] < _PIVOT, 2000, 1900)
    month, day = (numbers.get(part, np.ones(len(fits), np.int64)) for part in "md")
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    seconds = sum(numbers.get(part, 0) * size for part, size in (("H", 3600), ("M", 60), ("S", 1)))
    whole = days.astype("M8[us]") + (np.asarray(seconds) * 10**6 + numbers.get("f", 0)).astype("m8[us]")
    right = (days.astype("M8[M]") == months) & (year >= 1)
    found[fits[right]] = np.broadcast_to(whole, len(fits))[right]
    return found


def _numbers(digits: pa.Array, part: str) -> Any:
    """Return digits as numbers; those of a fraction count from the left."""
    if part == "f":
        digits = pc.utf8_rpad(digits, 6, "0")
    return np.asarray(pc.utf8_ltrim_whitespace(digits).cast(pa.int64()))


@cache
def _pattern(form: str) -> str | None:
    """Return a pattern of the cells that are surely written so, None for a format with names, offsets and the like."""
    pieces = re.split("%(.)", form)
    letters = pieces[1::2]
    if not set(letters) <= _PARTS.keys() or "%" in "".join(pieces[::2]) or not form.isascii():
        return None
    if len({*letters} & {"Y", "y"}) != 1:
        return None
    plain = [re.sub(r"(\\?\s)+", r"[ \\t]+", re.escape(piece)) for piece in pieces[::2]]
    return f"^{''.join(a + b for a, b in zip(plain, [*(_PARTS[each] for each in letters), ''], strict=True))}$"


def _stamp(cell: str, form: str) -> Any:
    """Return a cell as microseconds, or not a time."""
    try:
        found = _read(cell, form)
        if "j" in _directives(form) and time.strptime(cell, form).tm_yday != found.timetuple().tm_yday:
            return np.datetime64("NaT")
        if found.tzinfo is not None:
            found = found.astimezone(datetime.UTC).replace(tzinfo=None)
        return np.datetime64(found, "us")
    except (ValueError, OverflowError, re.error):
        return np.datetime64("NaT")


def _read(cell: str, form: str) -> datetime.datetime:
    """Read a cell; that a day without a year may be the 29th of February needs no warning here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return datetime.datetime.strptime(cell, form)


# -- formats that people use -------------------------------------------------------------------------------------

_DATE_LIKE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d\d(:\d\d)?)?|\d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4}")
_DATES = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y", "%d{0}%b{0}%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
_SOME = 1000


def looks_like_a_date(word: str) -> bool:
    """Return whether a word has the shape of a date.

    Examples
    --------
    >>> from bgn.inputs.date_formats import looks_like_a_date
    >>> looks_like_a_date("31.12.2020"), looks_like_a_date("1.2")
    (True, False)
    """
    return _DATE_LIKE.fullmatch(word.strip()) is not None


def usual_formats(words: pa.Array) -> list[str]:
    """Return which of the usual formats all words are written in; none for ISO 8601, which needs no format.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from bgn.inputs.date_formats import usual_formats
    >>> usual_formats(pa.array(["31.12.2020", "1.2.2021"])), usual_formats(pa.array(["03.04.2020"]))
    (['%d.%m.%Y'], ['%d.%m.%Y', '%m.%d.%Y'])
    """
    first = words[0].as_py().strip() if len(words) else ""
    if not (like := _DATE_LIKE.fullmatch(first)):
        return []
    text, mark = pc.utf8_trim_whitespace(words), like[1] or re.findall("[ -]", first)[-1]
    forms = [each.format(mark) + time for each in _DATES for time in _TIMES]
    for part in (text[:_SOME], text):
        forms = [form for form in forms if not read_dates(part, form).null_count]
    return forms
