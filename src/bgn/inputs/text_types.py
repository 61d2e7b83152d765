"""What columns of text hold, decided once for a whole file: numbers however written, true and false, times, or text.

`read_text_columns` is told nothing but the cells: which of them mean missing, which columns are codes such as 01234,
and how numbers are written. Where a cell such as ``1.234`` leaves that open, other columns of the file may prove it
(`DoubtfulColumns`); where nothing does, the user is asked. `FileReading` keeps what was found out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs import cells
from bgn.inputs.errors import listed, listing, option, option_of
from bgn.inputs.file_format import MISSING_VALUES, FileFormat, Numerals
from bgn.text import clean

_FIRST = 64
_EXACT = 1 << 53  # up to here floats hold every whole number
_MOST_SHOWN = 6  # columns, and texts of each, that a note names


@dataclass(frozen=True)
class FileReading:
    """How a table was read: what :class:`bgn.preparation.Preparation` keeps, and what a user may want to know.

    `problems` are what only the user can decide, by column; `header` is what the user has said of the first row.
    """

    decimal: str = "."
    written: tuple[Numerals, ...] = ()
    missing_values: tuple[str, ...] = MISSING_VALUES
    notes: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None


def read_text_columns(table: pa.Table, form: FileFormat, separator: str) -> tuple[pa.Table, FileReading]:
    """Return columns of text as what all of their cells can be read as, and how they were read."""
    table, missing = without_missing(table, form.missing_values)
    doubtful = DoubtfulColumns(separator, form.decimal if isinstance(form.decimal, str) else None)
    columns, by_column = {}, form.decimal if isinstance(form.decimal, Mapping) else {}
    codes = [name for name in table.column_names if name not in by_column and are_codes(table.column(name))]
    for name in table.column_names:
        text, (decimal, thousands) = table.column(name), form.marks(name)
        columns[name] = text if name in codes else guess_type(text, decimal or ".", form.date_format)
        if columns[name] is text and name not in codes:
            doubtful.add(name, _different(text), (decimal, thousands))
    if doubtful.need_points:
        for name, column in columns.items():
            text, number = table.column(name), pa.types.is_floating(column.type)
            if number and form.marks(name)[0] is None and pc.any(pc.match_substring(text, ".")).as_py():
                doubtful.add_plain(name, _different(text))
    written, reading = doubtful.decide()
    for numerals in written:
        if numerals != Numerals(numerals.column):
            columns[numerals.column] = cells.numbers(table.column(numerals.column), numerals)
    infinite = [
        name
        for name, column in columns.items()
        if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py()
    ]
    rounded = [
        name
        for name, column in columns.items()
        if pa.types.is_floating(column.type)
        and (pc.max(pc.abs(column)).as_py() or 0.0) > _EXACT
        and pc.any(pc.match_substring_regex(table.column(name), r"^\s*[-+]?\d{16,}\s*$")).as_py()
    ]
    # All that an open quote swallows has line breaks.
    broken = [
        name
        for name, column in columns.items()
        if cells.is_text(column.type) and pc.any(pc.match_substring_regex(column, r"[\r\n]")).as_py()
    ]
    notes = [*_missing_notes(missing)]
    if codes:
        remedy = f"{option_of('decimal', codes[0], '.')} if they are numbers"
        notes.append(f"{_columns(codes)}: codes that begin with zeros are read as words ({remedy}).")
    notes += reading.notes
    if infinite:
        notes.append(f"{_columns(infinite)}: numbers beyond what a float can hold count as missing.")
    if rounded:
        remedy = f"Leave ids out: {option('drop', repr(rounded[0]))}."
        notes.append(f"{_columns(rounded)}: whole numbers beyond {_EXACT} are rounded, and may become equal. {remedy}")
    if broken:
        remedy = "If that is not meant, a quote is left open, and rows are missing."
        notes.append(f"{_columns(broken)}: some cells have line breaks. {remedy}")
    return pa.table(columns), replace(reading, notes=tuple(notes), missing_values=form.missing_values)


def without_missing(table: pa.Table, missing_values: Sequence[str]) -> tuple[pa.Table, dict[str, dict[str, int]]]:
    """Return columns of text with null where a cell, blanks around it left out, means missing.

    Also how often each value does, column by column.
    """
    value_set, columns, counts = pa.array(["", *missing_values], pa.string()), {}, {}
    for name in table.column_names:
        columns[name] = text = table.column(name)
        if not cells.is_text(text.type):
            continue
        bare = pc.utf8_trim_whitespace(text)
        missing = pc.is_in(bare, value_set=value_set)
        if not pc.any(missing).as_py():
            continue
        columns[name] = pc.if_else(missing, pa.scalar(None, text.type), text)
        tally = pc.value_counts(bare.filter(missing)).to_pylist()
        if met := {count["values"]: count["counts"] for count in tally if count["values"]}:
            counts[name] = met
    return pa.table(columns), counts


def guess_type(text: pa.ChunkedArray, decimal: str = ".", date_format: str | None = None) -> pa.ChunkedArray:
    """Return a column of text as what all of its cells can be read as; other text stays as it is."""
    if text.null_count == len(text):
        return pa.chunked_array([pa.nulls(len(text))])

    def read_wholes(some: pa.ChunkedArray) -> pa.ChunkedArray:
        some.cast(pa.int64())
        return cells.read_numbers(some, decimal)

    readers: tuple[Callable[[pa.ChunkedArray], Any], ...] = (
        read_wholes,
        lambda some: some.cast(pa.bool_()),
        lambda some: cells.read_stamps(some, date_format, None),
        cells.read_times,
        lambda some: cells.read_plain_numbers(some, decimal),
    )
    bare = cells.trimmed(text)
    for some in (text,) if bare is text else (text, bare):
        for reader in readers:
            try:
                reader(some.slice(0, _FIRST))  # what fails there fails soon
                return reader(some)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
    return text


def are_codes(text: pa.ChunkedArray) -> bool:
    """Return whether all cells are digits, and some begin with a zero: no number is written so, but a code is (01234).

    Two digits (01 to 12) are how forms write months and hours, and are numbers.
    """
    bare = cells.trimmed(text)
    if not pc.all(pc.match_substring_regex(bare.slice(0, _FIRST), "^[0-9]*$"), min_count=0).as_py():
        return False
    zeros = pc.match_substring_regex(bare, "^0[0-9]{2,}$")
    return bool(pc.any(zeros).as_py() and pc.all(pc.match_substring_regex(bare, "^[0-9]*$")).as_py())


def _different(text: pa.ChunkedArray) -> pa.Array:
    """Return the different cells of a column, blanks around them left out."""
    return pc.unique(pc.utf8_trim_whitespace(text.drop_null()))


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {listed(names)}"


def _missing_notes(missing: Mapping[str, Mapping[str, int]]) -> list[str]:
    if not missing:
        return []
    most, notes = sorted(missing, key=lambda name: -sum(missing[name].values()))[:_MOST_SHOWN], []
    for name, counts in missing.items():
        if name in most:
            values = [f"{value!r} ({count:,})" for value, count in counts.items()]
            more = f" and {len(values) - _MOST_SHOWN} others" if len(values) > _MOST_SHOWN else ""
            notes.append(f"{', '.join(values[:_MOST_SHOWN])}{more} in {clean(name, 40)!r}")
    if len(missing) > len(most):
        notes.append(f"others in {len(missing) - len(most)} more columns")
    remedy = f"If one of these is a value, list those that are none: {listing('missing_values')}."
    return [f"read as missing: {'; '.join(notes)}. {remedy}"]


@dataclass
class DoubtfulColumns:
    """The columns of a text file of which more must be known than a cell says.

    `separator` is that of the file, `decimal` the decimal mark, if a user gave one for all columns.
    """

    separator: str
    decimal: str | None = None
    _ways: dict[str, list[Numerals]] = field(default_factory=dict)
    _values: dict[str, pa.Array] = field(default_factory=dict)

    def add(self, name: str, values: pa.Array, marks: tuple[str | None, str | None]) -> None:
        """Take the different cells of a column that plain numbers, dates and the like did not fit."""
        if ways := cells.readings(values, name, *marks):
            self._ways[name], self._values[name] = ways, values

    @property
    def need_points(self) -> bool:
        """Whether numbers with a point elsewhere in the file matter: as a proof, or as one that is in doubt itself."""
        ways = (way for ways in self._ways.values() for way in ways)
        return self.separator == ";" or any("," in (way.decimal, way.thousands) for way in ways)

    def add_plain(self, name: str, values: pa.Array) -> None:
        """Take the different cells of a column of plain numbers, some with a point: perhaps a mark of thousands."""
        point, groups = Numerals(name), Numerals(name, ",", ".")
        try:
            cells.read(values, groups)
            self._ways[name] = [point, groups]
        except pa.ArrowInvalid:
            self._ways[name] = [point]
        self._values[name] = values

    def decide(self) -> tuple[list[Numerals], FileReading]:
        """Decide how every column is written, or ask; also what a user should know and what is kept."""
        proofs = dict[str, str]()  # the decimal mark, by columns that can be read in one way only
        for name, (way, *more) in self._ways.items():
            if not more and (way.thousands in (",", ".") or self._has(name, way.decimal)):
                proofs[name] = way.decimal
        marks = set(proofs.values())
        written, notes, problems = list[Numerals](), list[str](), dict[str, str]()
        for name, ways in self._ways.items():
            why, way = "", ways[0]
            if len(ways) > 1:
                mark, why = self._evidence(ways, proofs)
                kept = [way for way in ways if way.decimal == mark]
                if len(kept) != 1:
                    problems[name] = self._ask(name, ways)
                    continue
                (way,) = kept
            if not self._has(name, way.decimal) and marks == {","} and way.thousands != ",":
                way = replace(way, decimal=",")
            written.append(way)
            plain = Numerals(name, self.decimal or ".")
            if way != plain and (way.thousands or way.unit or self._has(name, way.decimal)):
                cell, (number,) = self._examples([way])
                reason = f", {why}" if why else ""
                remedy = f" If that is wrong, say so with {option('decimal')} or {option('thousands')}." if why else ""
                notes.append(f"column {name!r}: {cell[:40]!r} is read as {number:.15g} ({way}{reason}).{remedy}")
        decimal = self.decimal or ("," if marks == {","} else ".")
        others = [way for way in written if way != Numerals(way.column, decimal)]
        return written, FileReading(decimal, tuple(others), notes=tuple(notes), problems=problems)

    def _has(self, name: str, mark: str) -> bool:
        return bool(pc.any(pc.match_substring(self._values[name], mark)).as_py())

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
        """Return the first cell that the ways read differently, or that has a mark, and what they make of it."""
        values, way = self._values[ways[0].column], ways[0]
        numbers = [cells.read(values, way) for way in ways]
        if len(ways) > 1:
            shows = pc.not_equal(numbers[0], numbers[-1])
        else:
            mark = way.thousands or (way.decimal if way.decimal != "." else "")
            shows = pc.match_substring(values, mark or way.unit)
        place = max(0, pc.index(shows, True).as_py())
        return str(values[place].as_py()), [column[place].as_py() for column in numbers]

    def _ask(self, name: str, ways: Sequence[Numerals]) -> str:
        cell, numbers = self._examples(ways)
        choices = []
        for way, number in zip(ways, numbers, strict=True):
            which = "thousands" if way.thousands and way.thousands in cell else "decimal"
            choices.append(f"{option_of(which, name, getattr(way, which))} for {number:.15g}")
        return f"column {name!r}: {cell[:40]!r} can be read in {len(ways)} ways; add {' or '.join(choices)}."
