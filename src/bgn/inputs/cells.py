"""What the cells of a column hold, read by the kind that was decided at fit: numbers, true and false, times, text.

Text is read cell by cell: what a cell means never depends on its neighbors. :mod:`bgn.inputs.text_types` decides, once,
what a whole column of text holds; the functions here read any column, text or not, as what it was at fit. Below them
stand numbers as people write them, and dates in a given format.

A time stamp with an offset (``Z``, ``+02:00``) or of a column with a time zone counts in UTC; one without counts as it
is written. The two are never mixed in one column.
"""

from __future__ import annotations

import datetime
import re
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs.errors import InputError, option
from bgn.inputs.file_format import PLAIN, Numerals
from bgn.model.dates import in_utc

_STAMP, _IN_UTC = pa.timestamp("us"), pa.timestamp("us", "UTC")
_FIRST_STAMP = datetime.datetime(1, 1, 1)
_HEX = "^0[xX][0-9a-fA-F]{1,15}$"  # with 16 digits Arrow reads some as negative
_TIME = r"^\d{1,2}:\d\d(:\d\d(\.\d{1,6})?)?$"
_TRUE, _FALSE = ("true", "yes", "y", "t", "on", "1", "1.0"), ("false", "no", "n", "f", "off", "0", "0.0")


class Unreadable(Exception):
    """A cell, or a whole column, is not what it was at fit."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


# -- Types of columns ---------------------------------------------------------------------------------------------


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_any_time(kind: pa.DataType) -> bool:
    return is_time(kind) or bool(pa.types.is_duration(kind) or pa.types.is_time(kind))


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without the codes that stand for its values."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def trimmed(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without blanks around it, null where nothing is left."""
    bare = pc.utf8_trim_whitespace(text)
    if pc.all(pc.equal(bare, text)).as_py() is not False:
        return text
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, bare.type), bare)


# -- Columns as what they were at fit -----------------------------------------------------------------------------


def numbers(column: pa.ChunkedArray, written: Numerals = PLAIN) -> pa.ChunkedArray:
    """Return any column of numbers as float64; true and false count 1 and 0."""
    column = plain(column)
    if is_text(column.type):
        what = f"a number with {written}" if str(written) else "a number"
        if written.thousands or written.unit:
            return _read(column, lambda cells: read(cells, written), what)
        return _read(column, lambda cells: read_numbers(cells, written.decimal), what)
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int8()).cast(pa.float64())
    _expect(column, is_number(column.type), "numbers")
    return column.cast(pa.float64(), safe=False)


def booleans(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return any column of true and false, however spelled, as float64."""
    column = plain(column)
    if is_text(column.type):
        return _read(column, _read_truths, "true or false")
    floats = numbers(column)
    known = floats.drop_null()
    wrong = np.flatnonzero(~np.isin(known.to_numpy(), (0.0, 1.0)))
    if len(wrong):
        raise Unreadable(f"{known[int(wrong[0])].as_py():g} is not true or false, as at fit.")
    return floats


def stamps(column: pa.ChunkedArray, form: str | None = None, zone: bool | None = None) -> pa.ChunkedArray:
    """Return any column of dates or time stamps in microseconds, in UTC where there is a time zone.

    `zone` says whether there must be one; None takes either.
    """
    column = plain(column)
    what = "a date or time stamp" + {None: "", True: " with a time zone", False: " without a time zone"}[zone]
    if is_text(column.type):
        remedy = f" Write dates as {form} or 2021-06-05." if form else " Write dates as 2021-06-05."
        return _read(column, lambda cells: read_stamps(cells, form, zone), what, remedy).cast(_STAMP)
    _expect(column, is_time(column.type), "dates")
    if zone is not None and len(column) > column.null_count and zone != _has_zone(column):
        raise Unreadable(
            f"the column has {'no' if zone else 'a'} time zone, and had {'one' if zone else 'none'} at fit."
        )
    # NumPy rounds down, also before 1970.
    values = column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column
    return pa.chunked_array([pa.array(np.asarray(values.to_numpy()).astype("M8[us]"), _STAMP)])


def durations(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of durations; one without values has any type."""
    column = plain(column)
    _expect(column, pa.types.is_duration(column.type), "durations")
    return column if pa.types.is_duration(column.type) else pa.chunked_array([pa.nulls(len(column))])


def times_of_day(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return any column of times of day; of a time stamp it is the time that its clocks show."""
    column = plain(column)
    if is_text(column.type):
        return _read(column, read_times, "a time of day")
    has_times = pa.types.is_time(column.type) or is_time(column.type)
    _expect(column, has_times, "times of day")
    return column if has_times else pa.chunked_array([pa.nulls(len(column))])


def to_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return any column as text: what is no text is written as a workbook's mixed column would be."""
    column = plain(column)
    if is_text(column.type):
        return column.cast(pa.string())
    _expect(column, not pa.types.is_nested(column.type) and not pa.types.is_binary(column.type), "words")
    if not column.num_chunks:
        return column.cast(pa.string())
    codes = pa.concat_arrays(column.chunks).dictionary_encode()
    values = pa.array([written_as_text(value) for value in codes.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([values.take(codes.indices)])


def written_as_text(value: Any) -> str | None:
    """Return how a value reads among text."""
    return None if value is None or value != value else str(value).removesuffix(".0")


def as_shown(values: pa.Array) -> list[str]:
    """Return values as they are shown; Python knows no times before the year 1 and after 9999, and Arrow does."""
    try:
        return [str(value) for value in values.to_pylist()]
    except (OverflowError, ValueError):
        return [str(value) for value in values.cast(pa.string()).to_pylist()]


def shown(value: Any, most: int = 60) -> str:
    """Return a value for a message: quoted, escaped, and without its middle when it is long."""
    text = repr(value[: 4 * most] if isinstance(value, str) else value)
    cut = len(text) > most or (isinstance(value, str) and len(value) > 4 * most)
    return f"{text[: most - 2]}…{text[0]}" if cut else text


def _expect(column: pa.ChunkedArray, right: bool, what: str) -> None:
    if not right and len(column) > column.null_count:
        raise Unreadable(f"the column holds {column.type}, not {what} as at fit.")


def _read(text: pa.ChunkedArray, reader: Callable[[Any], Any], what: str, remedy: str = "") -> pa.ChunkedArray:
    """Read text, with blanks taken away where that is needed; name the first cell that cannot be read."""
    if not len(text):
        return reader(text)
    for prepare in (lambda cells: cells, trimmed):
        cells = prepare(text)
        try:
            return reader(cells)
        except pa.ArrowInvalid:
            continue
    low, high = 0, len(cells)  # all cells before `low` can be read, some before `high` cannot
    while high - low > 1:
        middle = (low + high) // 2
        try:
            reader(cells.slice(low, middle - low))
            low = middle
        except pa.ArrowInvalid:
            high = middle
    value = text[low].as_py()
    if what.startswith("a number") and readings(pa.array([value.strip()]), "", None, None):
        remedy = f" If this file writes numbers otherwise, say how: {option('decimal')}, {option('thousands')}."
    raise Unreadable(f"{shown(value)} is not {what}, as at fit.{remedy}", low)


# -- Cells of text: each function reads all of them, or raises `pyarrow.ArrowInvalid`. ----------------------------


def read_plain_numbers(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    if decimal != ".":
        # A point is then no part of a number.
        text = pc.replace_substring(pc.replace_substring(text, ".", "\0"), decimal, ".")
    return text.cast(pa.float64())


def read_numbers(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Read numbers; where some are in base 16, or true and false, these are read by themselves."""
    try:
        return read_plain_numbers(text, decimal)
    except pa.ArrowInvalid:
        base16, truth = pc.match_substring_regex(text, _HEX), pc.is_in(pc.utf8_lower(text), pa.array(["true", "false"]))
        some = _only(text, base16).cast(pa.int64()).cast(pa.float64(), safe=False)
        more = _only(text, truth).cast(pa.bool_()).cast(pa.int8()).cast(pa.float64())
        return pc.coalesce(some, more, read_plain_numbers(_only(text, pc.invert(pc.or_(base16, truth))), decimal))


def _only(text: pa.ChunkedArray, where: Any) -> Any:
    return pc.if_else(where, text, pa.scalar(None, text.type))


def _read_truths(text: pa.ChunkedArray) -> pa.ChunkedArray:
    lower = pc.utf8_lower(text)
    yes, no = (pc.is_in(lower, value_set=pa.array(spelled)) for spelled in (_TRUE, _FALSE))
    if not pc.all(pc.or_(pc.or_(yes, no), pc.is_null(text)), min_count=0).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return pc.if_else(pc.is_valid(text), yes.cast(pa.int8()).cast(pa.float64()), pa.scalar(None, pa.float64()))


def read_stamps(text: pa.ChunkedArray, form: str | None, zone: bool | None) -> pa.ChunkedArray:
    """Read times by the format given, and those that are not written so as ISO 8601."""
    rest, parts = text, []
    if form is not None:
        parts.append(pa.chunked_array([read_dates(text, form)]))
        rest = _only(text, pc.is_null(parts[0]))
    if form is None or rest.null_count < len(rest):
        parts.append(_read_iso(rest, zone))
    zones = {_has_zone(part) for part in parts if part.null_count < len(part)}
    if len(zones) > 1 or (zone is not None and zones == {not zone}):
        raise pa.ArrowInvalid("a time zone")
    return pc.coalesce(*(part.cast(_IN_UTC if zones == {True} else _STAMP) for part in parts))


def _has_zone(column: pa.ChunkedArray) -> bool:
    return pa.types.is_timestamp(column.type) and column.type.tz is not None


def _read_iso(text: pa.ChunkedArray, zone: bool | None) -> pa.ChunkedArray:
    kinds = [kind for kind, has in ((_STAMP, False), (_IN_UTC, True)) if zone is None or zone is has]
    for beyond in (None, r"(\.\d{6})\d{1,3}(\D|$)"):  # digits beyond those of microseconds
        cells = text if beyond is None else pc.replace_substring_regex(text, beyond, r"\1\2")
        for kind in kinds:
            try:
                times = cells.cast(kind)
            except pa.ArrowInvalid:
                continue
            if pc.any(pc.less(times, pa.scalar(_FIRST_STAMP, kind))).as_py():
                break  # there is no year 0
            return times
    raise pa.ArrowInvalid("no time stamp")


def read_times(text: pa.ChunkedArray) -> pa.ChunkedArray:
    if pc.all(pc.match_substring_regex(text, _TIME)).as_py() is False:
        raise pa.ArrowInvalid("no time of a day")
    padded = pc.replace_substring_regex(text, r"^(\d:)", r"0\1")
    return pc.binary_join_element_wise("1970-01-01", padded, " ").cast(_STAMP).cast(pa.time64("us"))


# -- Numbers as people write them: decimal commas, marks of thousands, currencies, percent. Read one way, or not at
# all.

_BLANKS = " \u00a0\u2009\u202f"
_THOUSANDS = f",.'\u2019{_BLANKS}"
_CURRENCIES = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|ZAR|[A-Z]{0,2}\\$|€|£|¥|₹"
_UNIT = f"%|{_CURRENCIES}"
_NUMBER_LIKE = re.compile(
    rf"[-+]?({_UNIT})?[{_BLANKS}]?[-+]?[\d{_THOUSANDS}]*\d[\d{_THOUSANDS}]*([eE][-+]?\d+)?[{_BLANKS}]?({_UNIT})?"
)


def read(text: Any, written: Numerals) -> Any:
    """Return text without blanks around it as float64; `pyarrow.ArrowInvalid` where a cell is written otherwise."""
    decimal, thousands, unit = map(re.escape, (written.decimal, written.thousands, written.unit))
    whole = rf"(\d+|[1-9]\d{{0,2}}({thousands}\d{{3}})+)" if thousands else r"\d+"
    number = rf"({whole}({decimal}\d*)?|{decimal}\d+)([eE][-+]?\d+)?"
    blank = f"[{_BLANKS}]?"
    pattern = f"^[-+]?{number}$"
    if unit:
        pattern = f"^([-+]?{unit}{blank}{number}|{unit}{blank}[-+]{number}|[-+]?{number}{blank}{unit})$"
    if not pc.all(pc.match_substring_regex(text, pattern), min_count=0).as_py():
        raise pa.ArrowInvalid("a number is written otherwise")
    for mark in (written.unit, written.thousands, *_BLANKS):
        text = pc.replace_substring(text, mark, "") if mark else text
    return pc.replace_substring(text, written.decimal, ".").cast(pa.float64())


def readings(values: pa.Array, column: str, decimal: str | None, thousands: str | None) -> list[Numerals]:
    """Return the ways to read all of a column's different cells that give different numbers; marks may be given."""
    like = _NUMBER_LIKE.fullmatch(values[0].as_py()) if len(values) else None
    if like is None:
        return []
    unit = like[1] or like[3] or ""
    marks = [mark for mark in _THOUSANDS if pc.any(pc.match_substring(values, mark)).as_py()]
    ways: list[tuple[Numerals, Any]] = []
    for point in (decimal,) if decimal else (".", ","):
        for mark in (thousands, "") if thousands else ("", *marks):
            if point == mark:
                continue
            try:
                numbers = read(values, written := Numerals(column, point, mark, unit))
            except pa.ArrowInvalid:
                continue
            if not any(numbers.equals(other) for _, other in ways):
                ways.append((written, numbers))
    return [written for written, _ in ways]


# -- Dates as text in a format that is told: exactly what Python's ``datetime.strptime`` reads, many cells at a
# time.

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
        _read_date(" ", form)
    except (ValueError, re.error) as error:
        message = str(error)
        if isinstance(error, re.error) or not message.startswith(("time data", "unconverted data")):
            why = "it names a part twice" if isinstance(error, re.error) else message
            raise InputError(f"{option('date_format', repr(form))} cannot be read by: {why}.") from None
    directives = _directives(form)
    if "Z" in directives:
        raise InputError(
            f"{option('date_format', repr(form))}: names of time zones (%Z) mean different things on different "
            "machines. Write offsets such as +02:00 (%z), or leave the names out of the file."
        )
    if not directives & _HAVE_A_YEAR:
        raise InputError(f"{option('date_format', repr(form))} has no year; add %Y, or %y for years of two digits.")


def _directives(form: str) -> set[str]:
    """Return the letters behind a percent sign."""
    return set(re.findall("%(.)", form))


def read_dates(text: Any, form: str) -> pa.Array:
    """Return text as microseconds, in UTC where the format has offsets; null where a cell is written otherwise."""
    text = pa.concat_arrays(text.chunks) if isinstance(text, pa.ChunkedArray) and text.num_chunks else text
    kind = pa.timestamp("us", "UTC" if "z" in _directives(form) else None)
    if isinstance(text, pa.ChunkedArray):
        return pa.array([], kind)
    times = _read_digits(text, form)
    rest = np.flatnonzero(np.isnat(times) & np.asarray(pc.is_valid(text)))
    if len(rest):
        codes = text.take(pa.array(rest)).dictionary_encode()
        values = np.array([_stamp(cell, form) for cell in codes.dictionary.to_pylist()], "M8[us]")
        times[rest] = values[np.asarray(codes.indices)]
    return pa.array(times).cast(kind)


def _read_digits(text: pa.Array, form: str) -> Any:
    """Read what a format of digits alone allows; everything else is not a time."""
    times = np.full(len(text), "NaT", "M8[us]")
    pattern = _date_pattern(form)
    if pattern is None:
        return times
    parts = pc.extract_regex(text, pattern)
    fits = np.flatnonzero(np.asarray(pc.is_valid(parts)))
    if not len(fits):
        return times
    parts, numbers = parts.take(pa.array(fits)), {}
    for part in parts.type:
        digits = parts.field(part.name)
        digits = pc.utf8_rpad(digits, 6, "0") if part.name == "f" else digits  # of a fraction they count from the left
        numbers[part.name] = np.asarray(pc.utf8_ltrim_whitespace(digits).cast(pa.int64()))
    year = numbers["Y"] if "Y" in numbers else numbers["y"] + np.where(numbers["y"] < _PIVOT, 2000, 1900)
    month, day = (numbers.get(part, np.ones(len(fits), np.int64)) for part in "md")
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    seconds = sum(numbers.get(part, 0) * size for part, size in (("H", 3600), ("M", 60), ("S", 1)))
    whole = days.astype("M8[us]") + (np.asarray(seconds) * 10**6 + numbers.get("f", 0)).astype("m8[us]")
    right = (days.astype("M8[M]") == months) & (year >= 1)
    times[fits[right]] = np.broadcast_to(whole, len(fits))[right]
    return times


@cache
def _date_pattern(form: str) -> str | None:
    """Return a pattern of the cells that are surely written so, None for a format with names, offsets and the like."""
    pieces = re.split("%(.)", form)
    letters = pieces[1::2]
    if not set(letters) <= _PARTS.keys() or "%" in "".join(pieces[::2]) or not form.isascii():
        return None
    if len({*letters} & {"Y", "y"}) != 1:
        return None
    plain = [re.sub(r"(\\?\s)+", r"[ \\t]+", re.escape(piece)) for piece in pieces[::2]]
    return f"^{''.join(a + b for a, b in zip(plain, [*(_PARTS[letter] for letter in letters), ''], strict=True))}$"


def _stamp(cell: str, form: str) -> Any:
    """Return a cell as microseconds, or not a time."""
    try:
        moment = _read_date(cell, form)
        if "j" in _directives(form) and time.strptime(cell, form).tm_yday != moment.timetuple().tm_yday:
            return np.datetime64("NaT", "us")
        return np.datetime64(in_utc(moment), "us")
    except (ValueError, OverflowError, re.error):
        return np.datetime64("NaT", "us")


def _read_date(cell: str, form: str) -> datetime.datetime:
    """Read a cell; that a day without a year may be the 29th of February needs no warning here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return datetime.datetime.strptime(cell, form)


# -- Formats that people use --------------------------------------------------------------------------------------

_DATE_LIKE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d\d(:\d\d)?)?|\d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4}")
_DATES = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y", "%d{0}%b{0}%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
_SOME = 1000


def looks_like_a_date(text: str) -> bool:
    return _DATE_LIKE.fullmatch(text.strip()) is not None


def usual_formats(texts: pa.Array) -> list[str]:
    """Return which of the usual formats all texts are written in; none for ISO 8601, which needs no format."""
    first = texts[0].as_py().strip() if len(texts) else ""
    if not (like := _DATE_LIKE.fullmatch(first)):
        return []
    bare, mark = pc.utf8_trim_whitespace(texts), like[1] or re.findall("[ -]", first)[-1]
    forms = [date.format(mark) + time for date in _DATES for time in _TIMES]
    for part in (bare[:_SOME], bare):
        forms = [form for form in forms if not read_dates(part, form).null_count]
    return forms
