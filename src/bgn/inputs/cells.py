"""What the cells of a column say, read by the kind that was decided at fit: numbers, true and false, times, words.

Text is read cell by cell: what a cell means never depends on its neighbours. `guess` decides, once, what a whole column
of text holds; the other functions read any column, text or not, as what it was at fit.

A time stamp with an offset (``Z``, ``+02:00``) or of a column with a time zone counts in UTC; one without counts as it
is written. The two are never mixed in one column.
"""

from __future__ import annotations

import datetime
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells as numerals
from bgn.inputs.errors import InputError, option, option_of
from bgn.inputs.file_format import MISSING_VALUES, PLAIN, Numerals

_STAMP = pa.timestamp("us")
_IN_UTC = pa.timestamp("us", "UTC")
_FIRST_STAMP = datetime.datetime(1, 1, 1)
_FIRST = 64
_HEX = "^0[xX][0-9a-fA-F]{1,15}$"  # with 16 digits Arrow reads some as negative
_TIME = r"^\d{1,2}:\d\d(:\d\d(\.\d{1,6})?)?$"
_TRUE, _FALSE = ("true", "yes", "y", "t", "on", "1", "1.0"), ("false", "no", "n", "f", "off", "0", "0.0")


class Unreadable(Exception):
    """A cell, or a whole column, is not what it was at fit."""

    def __init__(self, told: str, position: int | None = None) -> None:
        super().__init__(told)
        self.position = position


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_time(kind: pa.DataType) -> bool:
    """Return whether a type is one of dates or time stamps."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def are_codes(text: pa.ChunkedArray) -> bool:
    """Return whether all cells are digits, and some begin with a zero: no number is written so, but a code is (01234).

    Two digits (01 to 12) are how forms write months and hours, and are numbers.
    """
    bare = trimmed(text)
    if not pc.all(pc.match_substring_regex(bare.slice(0, _FIRST), "^[0-9]*$"), min_count=0).as_py():
        return False
    zeros = pc.match_substring_regex(bare, "^0[0-9]{2,}$")
    return bool(pc.any(zeros).as_py() and pc.all(pc.match_substring_regex(bare, "^[0-9]*$")).as_py())


def guess(text: pa.ChunkedArray, decimal: str = ".", date_format: str | None = None) -> pa.ChunkedArray:
    """Return a column of text as what all of its cells can be read as; words stay as they are."""
    if text.null_count == len(text):
        return pa.chunked_array([pa.nulls(len(text))])
    readers: tuple[Callable[[pa.ChunkedArray], Any], ...] = (
        lambda cells: _wholes(cells, decimal),
        lambda cells: cells.cast(pa.bool_()),
        lambda cells: _stamps(cells, date_format, None),
        _times,
        lambda cells: _decimals(cells, decimal),
    )
    bare = trimmed(text)
    for cells in (text,) if bare is text else (text, bare):
        for reader in readers:
            try:
                reader(cells.slice(0, _FIRST))  # what fails there fails soon
                return reader(cells)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
    return text


def numbers(column: pa.ChunkedArray, written: Numerals = PLAIN) -> pa.ChunkedArray:
    """Return any column of numbers as float64; true and false count 1 and 0."""
    column = plain(column)
    if is_text(column.type):
        wanted = f"a number with {written}" if str(written) else "a number"
        return _read(column, lambda cells: _written(cells, written), wanted, marked_otherwise)
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int8()).cast(pa.float64())
    _expect(column, is_number(column.type), "numbers")
    return column.cast(pa.float64(), safe=False)


def booleans(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return any column of true and false, however spelled, as float64."""
    column = plain(column)
    if is_text(column.type):
        return _read(column, _truths, "true or false")
    found = numbers(column)
    wrong = np.flatnonzero(~np.isin(found.drop_null().to_numpy(), (0.0, 1.0)))
    if len(wrong):
        raise Unreadable(f"{found.drop_null()[int(wrong[0])].as_py():g} is not true or false, as at fit.")
    return found


def stamps(column: pa.ChunkedArray, form: str | None = None, zone: bool | None = None) -> pa.ChunkedArray:
    """Return any column of dates or time stamps in microseconds, in UTC where there is a time zone.

    `zone` says whether there must be one; None takes either.
    """
    column = plain(column)
    wanted = "a date or time stamp" + {None: "", True: " with a time zone", False: " without a time zone"}[zone]
    if is_text(column.type):
        return _read(column, lambda cells: _stamps(cells, form, zone), wanted).cast(_STAMP)
    _expect(column, is_time(column.type), "dates")
    if zone is not None and len(column) > column.null_count and zone != has_zone(column):
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
        return _read(column, _times, "a time of day")
    _expect(column, pa.types.is_time(column.type) or is_time(column.type), "times of day")
    known = pa.types.is_time(column.type) or is_time(column.type)
    return column if known else pa.chunked_array([pa.nulls(len(column))])


def words(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return any column as words: what is no text is written as a workbook's mixed column would be."""
    column = plain(column)
    if is_text(column.type):
        return column.cast(pa.string())
    _expect(column, not pa.types.is_nested(column.type) and not pa.types.is_binary(column.type), "words")
    if not column.num_chunks:
        return column.cast(pa.string())
    codes = pa.concat_arrays(column.chunks).dictionary_encode()
    values = pa.array([word(value) for value in codes.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([values.take(codes.indices)])


def as_words(values: pa.Array) -> list[str]:
    """Return values as they are shown; Python knows no times before the year 1 and after 9999, and Arrow does."""
    try:
        return [str(value) for value in values.to_pylist()]
    except (OverflowError, ValueError):
        return [str(value) for value in values.cast(pa.string()).to_pylist()]


def word(value: Any) -> str | None:
    """Return how a value reads among words."""
    return None if value is None or value != value else str(value).removesuffix(".0")


def has_zone(column: pa.ChunkedArray) -> bool:
    """Return whether a column of times has a time zone."""
    return pa.types.is_timestamp(column.type) and column.type.tz is not None


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without the codes that stand for its values."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def trimmed(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without blanks around it, null where nothing is left."""
    bare = pc.utf8_trim_whitespace(text)
    if pc.all(pc.equal(bare, text)).as_py() is not False:
        return text
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, bare.type), bare)


def without_gaps(text: pa.ChunkedArray, gaps: pa.Array) -> tuple[pa.ChunkedArray, dict[str, int]]:
    """Return text with null where a cell, blanks around it left out, says missing; also how often each word does."""
    if not is_text(text.type):
        return text, {}
    bare = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(bare, value_set=gaps)
    if not pc.any(missing).as_py():
        return text, {}
    counts = pc.value_counts(bare.filter(missing)).to_pylist()
    said = {each["values"]: each["counts"] for each in counts if each["values"]}
    return pc.if_else(missing, pa.scalar(None, text.type), text), said


def _expect(column: pa.ChunkedArray, right: bool, what: str) -> None:
    """Refuse a column of another type; one without values has any."""
    if not right and len(column) > column.null_count:
        raise Unreadable(f"the column holds {column.type}, not {what} as at fit.")


def _read(
    text: pa.ChunkedArray, reader: Callable[[Any], Any], wanted: str, remedy: Callable[[str], str] = lambda cell: ""
) -> pa.ChunkedArray:
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
    raise Unreadable(f"{shown(value)} is not {wanted}, as at fit.{remedy(value)}", low)


def marked_otherwise(value: str) -> str:
    """Say what to do where a number may only be written otherwise than expected."""
    if not numerals.readings(pa.array([value.strip()]), "", None, None):
        return ""
    return f" If this file writes numbers otherwise, say how: {option('decimal')}, {option('thousands')}."


def shown(value: Any, most: int = 60) -> str:
    """Return a value for a message: quoted, escaped, and without its middle when it is long."""
    text = repr(value[: 4 * most] if isinstance(value, str) else value)
    cut = len(text) > most or (isinstance(value, str) and len(value) > 4 * most)
    return f"{text[: most - 2]}…{text[0]}" if cut else text


def _wholes(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    text.cast(pa.int64())
    return _numbers(text, decimal)


def _written(text: pa.ChunkedArray, written: Numerals) -> pa.ChunkedArray:
    if written.thousands or written.unit:
        return numerals.read(text, written)
    return _numbers(text, written.decimal)


def _decimals(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    if decimal != ".":
        # A point is then no part of a number.
        text = pc.replace_substring(pc.replace_substring(text, ".", "\0"), decimal, ".")
    return text.cast(pa.float64())


def _numbers(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Read numbers; where some are written in base 16, or as true and false, they are read apart."""
    try:
        return _decimals(text, decimal)
    except pa.ArrowInvalid:
        base16, truth = pc.match_substring_regex(text, _HEX), pc.is_in(pc.utf8_lower(text), pa.array(["true", "false"]))
        some = _only(text, base16).cast(pa.int64()).cast(pa.float64(), safe=False)
        more = _only(text, truth).cast(pa.bool_()).cast(pa.int8()).cast(pa.float64())
        return pc.coalesce(some, more, _decimals(_only(text, pc.invert(pc.or_(base16, truth))), decimal))


def _only(text: pa.ChunkedArray, where: Any) -> Any:
    """Return text where a condition holds, null elsewhere."""
    return pc.if_else(where, text, pa.scalar(None, text.type))


def _truths(text: pa.ChunkedArray) -> pa.ChunkedArray:
    lower = pc.utf8_lower(text)
    yes, no = (pc.is_in(lower, value_set=pa.array(spelled)) for spelled in (_TRUE, _FALSE))
    if not pc.all(pc.or_(pc.or_(yes, no), pc.is_null(text)), min_count=0).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return pc.if_else(pc.is_valid(text), yes.cast(pa.int8()).cast(pa.float64()), pa.scalar(None, pa.float64()))


def _stamps(text: pa.ChunkedArray, form: str | None, zone: bool | None) -> pa.ChunkedArray:
    """Read times by the format told, and those that are not written so as ISO 8601."""
    rest, parts = text, []
    if form is not None:
        parts.append(pa.chunked_array([read_dates(text, form)]))
        rest = _only(text, pc.is_null(parts[0]))
    if form is None or rest.null_count < len(rest):
        parts.append(_iso(rest, zone))
    zones = {has_zone(part) for part in parts if part.null_count < len(part)}
    if len(zones) > 1 or (zone is not None and zones == {not zone}):
        raise pa.ArrowInvalid("a time zone")
    return pc.coalesce(*(part.cast(_IN_UTC if zones == {True} else _STAMP) for part in parts))


def _iso(text: pa.ChunkedArray, zone: bool | None) -> pa.ChunkedArray:
    kinds = [kind for kind, has in ((_STAMP, False), (_IN_UTC, True)) if zone is None or zone is has]
    for cells in _to_microseconds(text):
        for kind in kinds:
            try:
                found = cells.cast(kind)
            except pa.ArrowInvalid:
                continue
            if pc.any(pc.less(found, pa.scalar(_FIRST_STAMP, kind))).as_py():
                break  # there is no year 0
            return found
    raise pa.ArrowInvalid("no time stamp")


def _to_microseconds(text: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield the text, then the same without digits beyond those of microseconds."""
    yield text
    yield pc.replace_substring_regex(text, r"(\.\d{6})\d{1,3}(\D|$)", r"\1\2")


def _times(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read times of a day."""
    if pc.all(pc.match_substring_regex(text, _TIME)).as_py() is False:
        raise pa.ArrowInvalid("no time of a day")
    day = str(datetime.date(1970, 1, 1))
    padded = pc.replace_substring_regex(text, r"^(\d:)", r"0\1")
    return pc.binary_join_element_wise(day, padded, " ").cast(_STAMP).cast(pa.time64("us"))


# -- Numbers as people write them: decimal commas, marks of thousands, currencies, percent. Read one way, or not at
# all.

_BLANKS = " \u00a0\u2009\u202f"
_THOUSANDS = f",.'\u2019{_BLANKS}"
_CURRENCIES = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|ZAR|[A-Z]{0,2}\\$|€|£|¥|₹"
_UNIT = f"%|{_CURRENCIES}"
_NUMBER_LIKE = re.compile(
    rf"[-+]?({_UNIT})?[{_BLANKS}]?[-+]?[\d{_THOUSANDS}]*\d[\d{_THOUSANDS}]*([eE][-+]?\d+)?[{_BLANKS}]?({_UNIT})?"
)


@dataclass(frozen=True)
class Met:
    """What was met while a file was read.

    Parameters
    ----------
    decimal, written, missing_values
        As :class:`bgn.preparation.Preparation` keeps them.
    notes : tuple of str
        What a user may want to know.
    problems : mapping of str
        What only the user can settle, by column.
    header : bool, optional
        Whether the first row names the columns, where the user has said so.
    """

    decimal: str = "."
    written: tuple[Numerals, ...] = ()
    missing_values: tuple[str, ...] = MISSING_VALUES
    notes: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None


def read(text: Any, written: Numerals) -> Any:
    """Return text without blanks around it as float64; `pyarrow.ArrowInvalid` where a cell is written otherwise."""
    if not pc.all(pc.match_substring_regex(text, _pattern(written)), min_count=0).as_py():
        raise pa.ArrowInvalid("a number is written otherwise")
    for mark in (written.unit, written.thousands, *_BLANKS):
        text = pc.replace_substring(text, mark, "") if mark else text
    return pc.replace_substring(text, written.decimal, ".").cast(pa.float64())


def _pattern(written: Numerals) -> str:
    """Return what a number so written looks like."""
    decimal, thousands, unit = map(re.escape, (written.decimal, written.thousands, written.unit))
    whole = rf"(\d+|[1-9]\d{{0,2}}({thousands}\d{{3}})+)" if thousands else r"\d+"
    number = rf"({whole}({decimal}\d*)?|{decimal}\d+)([eE][-+]?\d+)?"
    if not unit:
        return f"^[-+]?{number}$"
    blank = f"[{_BLANKS}]?"
    return f"^([-+]?{unit}{blank}{number}|{unit}{blank}[-+]{number}|[-+]?{number}{blank}{unit})$"


def readings(values: pa.Array, column: str, decimal: str | None, thousands: str | None) -> list[Numerals]:
    """Return the ways to read all of a column's different cells that give different numbers; marks may be told."""
    like = _NUMBER_LIKE.fullmatch(values[0].as_py()) if len(values) else None
    if like is None:
        return []
    unit = like[1] or like[3] or ""
    marks = [mark for mark in _THOUSANDS if pc.any(pc.match_substring(values, mark)).as_py()]
    found: list[tuple[Numerals, Any]] = []
    for point in (decimal,) if decimal else (".", ","):
        for mark in (thousands, "") if thousands else ("", *marks):
            written = Numerals(column, point, mark, unit)
            if point == mark:
                continue
            try:
                numbers = read(values, written)
            except pa.ArrowInvalid:
                continue
            if not any(numbers.equals(other) for _, other in found):
                found.append((written, numbers))
    return [written for written, _ in found]


@dataclass
class DoubtfulColumns:
    """The columns of a text file of which more must be known than a cell says.

    Parameters
    ----------
    separator : str
        Of the file.
    told : str, optional
        The decimal mark, if it was told for all columns.
    """

    separator: str
    told: str | None = None
    _ways: dict[str, list[Numerals]] = field(default_factory=dict)
    _values: dict[str, pa.Array] = field(default_factory=dict)

    def add(self, name: str, values: pa.Array, marks: tuple[str | None, str | None]) -> None:
        """Take the different cells of a column that plain numbers, dates and the like did not fit."""
        if ways := readings(values, name, *marks):
            self._ways[name], self._values[name] = ways, values

    @property
    def need_points(self) -> bool:
        """Whether numbers with a point elsewhere in the file matter: as a proof, or as one that is in doubt itself."""
        return self.separator == ";" or any(
            "," in (w.decimal, w.thousands) for ways in self._ways.values() for w in ways
        )

    def add_plain(self, name: str, values: pa.Array) -> None:
        """Take the different cells of a column of plain numbers, some with a point: perhaps a mark of thousands."""
        point, groups = Numerals(name), Numerals(name, ",", ".")
        try:
            read(values, groups)
            self._ways[name] = [point, groups]
        except pa.ArrowInvalid:
            self._ways[name] = [point]
        self._values[name] = values

    def settle(self) -> tuple[list[Numerals], Met]:
        """Decide how every column is written, or ask; also what is to be told and kept."""
        proofs = {name: mark for name, (way, *more) in self._ways.items() if not more and (mark := self._proof(way))}
        marks = set(proofs.values())
        written, notes, problems = list[Numerals](), list[str](), dict[str, str]()
        for name, ways in self._ways.items():
            why, way = "", ways[0]
            if len(ways) > 1:
                mark, why = self._evidence(ways, proofs)
                kept = [each for each in ways if each.decimal == mark]
                if len(kept) != 1:
                    problems[name] = self._question(name, ways)
                    continue
                (way,) = kept
            if not self._has(name, way.decimal) and marks == {","} and way.thousands != ",":
                way = replace(way, decimal=",")
            written.append(way)
            if way != Numerals(name, self.told or ".") and (way.thousands or way.unit or self._has(name, way.decimal)):
                notes.append(self._note(way, why))
        decimal = self.told or ("," if marks == {","} else ".")
        others = [way for way in written if way != Numerals(way.column, decimal)]
        return written, Met(decimal, tuple(others), notes=tuple(notes), problems=problems)

    def _has(self, name: str, mark: str) -> bool:
        return bool(pc.any(pc.match_substring(self._values[name], mark)).as_py())

    def _proof(self, way: Numerals) -> str | None:
        """Return the decimal mark that a column proves, which can be read in one way only."""
        if way.thousands in (",", ".") or self._has(way.column, way.decimal):
            return way.decimal
        return None

    def _evidence(self, ways: Sequence[Numerals], proofs: Mapping[str, str]) -> tuple[str | None, str]:
        """Return the decimal mark that the rest of the file speaks for, and why."""
        marks = set(proofs.values())
        if len(marks) == 1:
            return marks.pop(), f"as column {next(iter(proofs))!r} is written"
        plain = any(way == Numerals(way.column) for way in ways)
        if not marks and not plain and self.separator in ",;":
            commas = self.separator == ","
            return "." if commas else ",", f"as the file separates by {'commas' if commas else 'semicolons'}"
        return None, ""

    def _examples(self, ways: Sequence[Numerals]) -> tuple[str, list[float]]:
        """Return the first cell that the ways read differently, or that has a mark, and what each makes of it."""
        values = self._values[ways[0].column]
        numbers = [read(values, way) for way in ways]
        differ = pc.not_equal(numbers[0], numbers[-1]) if len(ways) > 1 else _marked(values, ways[0])
        place = max(0, pc.index(differ, True).as_py())
        return str(values[place].as_py()), [each[place].as_py() for each in numbers]

    def _note(self, way: Numerals, why: str) -> str:
        cell, (number,) = self._examples([way])
        reason = f", {why}" if why else ""
        otherwise = "" if not why else f" If that is wrong, say so with {option('decimal')} or {option('thousands')}."
        return f"column {way.column!r}: {cell[:40]!r} is read as {_written_out(number)} ({way}{reason}).{otherwise}"

    def _question(self, name: str, ways: Sequence[Numerals]) -> str:
        cell, numbers = self._examples(ways)
        told = []
        for way, number in zip(ways, numbers, strict=True):
            which = "thousands" if way.thousands and way.thousands in cell else "decimal"
            told.append(f"{option_of(which, name, getattr(way, which))} for {_written_out(number)}")
        return f"column {name!r}: {cell[:40]!r} can be read in {len(ways)} ways; add {' or '.join(told)}."


def _marked(values: pa.Array, way: Numerals) -> Any:
    """Return which cells show how a column is written."""
    mark = way.thousands or (way.decimal if way.decimal != "." else "")
    return pc.match_substring(values, mark or way.unit)


def _written_out(number: float) -> str:
    return f"{number:.15g}"


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
        told = str(error)
        if isinstance(error, re.error) or not told.startswith(("time data", "unconverted data")):
            why = "it names a part twice" if isinstance(error, re.error) else told
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
    pattern = _date_pattern(form)
    if pattern is None:
        return found
    parts = pc.extract_regex(text, pattern)
    fits = np.flatnonzero(np.asarray(pc.is_valid(parts)))
    if not len(fits):
        return found
    parts = parts.take(pa.array(fits))
    numbers = {each.name: _digits_to_numbers(parts.field(each.name), each.name) for each in parts.type}
    year = numbers["Y"] if "Y" in numbers else numbers["y"] + np.where(numbers["y"] < _PIVOT, 2000, 1900)
    month, day = (numbers.get(part, np.ones(len(fits), np.int64)) for part in "md")
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    seconds = sum(numbers.get(part, 0) * size for part, size in (("H", 3600), ("M", 60), ("S", 1)))
    whole = days.astype("M8[us]") + (np.asarray(seconds) * 10**6 + numbers.get("f", 0)).astype("m8[us]")
    right = (days.astype("M8[M]") == months) & (year >= 1)
    found[fits[right]] = np.broadcast_to(whole, len(fits))[right]
    return found


def _digits_to_numbers(digits: pa.Array, part: str) -> Any:
    """Return digits as numbers; those of a fraction count from the left."""
    if part == "f":
        digits = pc.utf8_rpad(digits, 6, "0")
    return np.asarray(pc.utf8_ltrim_whitespace(digits).cast(pa.int64()))


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
    return f"^{''.join(a + b for a, b in zip(plain, [*(_PARTS[each] for each in letters), ''], strict=True))}$"


def _stamp(cell: str, form: str) -> Any:
    """Return a cell as microseconds, or not a time."""
    try:
        found = _read_date(cell, form)
        if "j" in _directives(form) and time.strptime(cell, form).tm_yday != found.timetuple().tm_yday:
            return np.datetime64("NaT", "us")
        if found.tzinfo is not None:
            found = found.astimezone(datetime.UTC).replace(tzinfo=None)
        return np.datetime64(found, "us")
    except (ValueError, OverflowError, re.error):
        return np.datetime64("NaT", "us")


def _read_date(cell: str, form: str) -> datetime.datetime:
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
    >>> from bgn.inputs.cells import looks_like_a_date
    >>> looks_like_a_date("31.12.2020"), looks_like_a_date("1.2")
    (True, False)
    """
    return _DATE_LIKE.fullmatch(word.strip()) is not None


def usual_formats(words: pa.Array) -> list[str]:
    """Return which of the usual formats all words are written in; none for ISO 8601, which needs no format.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from bgn.inputs.cells import usual_formats
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
