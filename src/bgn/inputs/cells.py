"""What the cells of a column say, read by the kind that was decided at fit: numbers, true and false, times, words.

Text is read cell by cell: what a cell means never depends on its neighbours. `guess` decides, once, what a whole column
of text holds; the other functions read any column, text or not, as what it was at fit.

A time stamp with an offset (``Z``, ``+02:00``) or of a column with a time zone counts in UTC; one without counts as it
is written. The two are never mixed in one column.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import numerals
from bgn.inputs.date_formats import read_dates
from bgn.inputs.file_format import PLAIN, Numerals
from bgn.inputs.refusal import option

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
