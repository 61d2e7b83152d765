"""Numbers as people write them: decimal commas, marks of thousands, currencies, percent. Read one way, or not at all.

A column of text is read as numbers when all of its cells agree with one way to write them. Where two ways give other
numbers (``1,234``: 1.234 or 1234?), cells that can be read in one way only decide, then other columns of the file, then
the file's separator; where these do not, the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bgn.inputs.file_format import GAPS, Numerals
from bgn.inputs.refusal import option, option_of

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
    decimal, written, gaps
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
    gaps: tuple[str, ...] = GAPS
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
