"""How files are written: what a user says about one, and how each of its columns writes numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

USUAL_MISSING_VALUES = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What pandas reads as missing, and version 0.1.0 did."""
_MARKS = (
    "-", "--", "---", "\N{EN DASH}", "\N{EM DASH}", ".", "..", "...", "?", "??", "???", "\\N", "(null)", "[null]",
    "(blank)", "(empty)", "(leer)", "#NV", "#DIV/0!", "#VALUE!", "#WERT!", "#REF!", "#BEZUG!", "#NAME?", "#NUM!",
    "#ZAHL!", "#NULL!", "NaT",
)  # fmt: skip
_TEXTS = (
    "N/A", "NA", "NULL", "NaN", "n.a.", "n. a.", "k.A.", "k. A.", "keine Angabe", "n.d.", "n/d", "s/d",
    "not available", "missing", "fehlt", "unknown", "unbekannt", "onbekend", "inconnu", "desconocido", "sconosciuto",
)  # fmt: skip
_SPELT = (spelt(text) for text in _TEXTS for spelt in (str, str.lower, str.upper, str.capitalize))
MISSING_VALUES = tuple(dict.fromkeys((*USUAL_MISSING_VALUES, *_MARKS, *_SPELT)))
"""Cells that count as missing unless told otherwise; ``none`` in small letters often is a value, and is one."""


@dataclass(frozen=True)
class Numerals:
    """How a column of text writes its numbers.

    Parameters
    ----------
    column : str
        Its name in the table; empty for any column.
    decimal : str
        Decimal mark.
    thousands : str
        Mark of thousands; empty when there is none.
    unit : str
        What every number has before or after it: ``$``, ``EUR``, ``%``; empty when there is nothing.
    """

    column: str = ""
    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def __str__(self) -> str:
        marks = {"decimal mark": self.decimal if self.decimal != "." else "", "mark of thousands": self.thousands}
        marks["unit"] = self.unit
        return ", ".join(f"{name} {mark!r}" for name, mark in marks.items() if mark)


PLAIN = Numerals()


@dataclass(frozen=True)
class FileFormat:
    """What a user says about how a file is written, see :func:`bgn.preparation.fit`; the rest is found out."""

    sep: str | None = None
    decimal: str | Mapping[str, str] | None = None
    thousands: str | Mapping[str, str] | None = None
    sheet: str | None = None
    date_format: str | None = None
    missing_values: tuple[str, ...] = MISSING_VALUES
    header: bool | None = None

    def marks(self, column: str) -> tuple[str | None, str | None]:
        """Return the decimal mark and the mark of thousands that were given for a column, None where none was."""
        given = (self.decimal, self.thousands)
        decimal, thousands = (mark.get(column) if isinstance(mark, Mapping) else mark for mark in given)
        if decimal is None and thousands in (",", "."):
            decimal = "." if thousands == "," else ","
        return decimal, thousands

    def rewritten(self, written: Numerals) -> Numerals:
        """Return how a later file writes a column: as at fit, unless told otherwise."""
        decimal, thousands = self.marks(written.column)
        if decimal is None and thousands is None:
            return written
        mark = "" if thousands is None and written.thousands == decimal else written.thousands
        return replace(written, decimal=decimal or written.decimal, thousands=mark if thousands is None else thousands)


PLAIN_FORMAT = FileFormat()
