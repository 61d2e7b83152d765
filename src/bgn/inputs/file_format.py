"""How text is written: what a user tells about a file, and what was found out about each of its columns of numbers."""

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
_WORDS = (
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "n.a.",
    "n. a.",
    "k.A.",
    "k. A.",
    "keine Angabe",
    "n.d.",
    "n/d",
    "s/d",
    "not available",
    "missing",
    "fehlt",
    "unknown",
    "unbekannt",
    "onbekend",
    "inconnu",
    "desconocido",
    "sconosciuto",
)
_SPELT = (form(word) for word in _WORDS for form in (str, str.lower, str.upper, str.capitalize))
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
        said = [f"{name} {mark!r}" for name, mark in marks.items() if mark]
        return ", ".join([*said, *([f"unit {self.unit!r}"] if self.unit else [])])


PLAIN = Numerals()


@dataclass(frozen=True)
class FileFormat:
    """What a user tells about how a file is written; what is not told is found out.

    Parameters
    ----------
    sep : str, optional
        Separator of a text file.
    decimal, thousands : str or mapping of str, optional
        Decimal mark, and mark of thousands: one for all columns of a text file, or by column.
    sheet : str, optional
        Sheet of a workbook.
    date_format : str, optional
        How dates are written, as for ``strptime``.
    missing_values : tuple of str
        Cells that count as missing, the empty one among them in any case.
    header : bool, optional
        Whether the first row of a text file or a sheet names the columns; it does unless told. Columns without a header
        are ``column_1``, ``column_2`` and so on.
    """

    sep: str | None = None
    decimal: str | Mapping[str, str] | None = None
    thousands: str | Mapping[str, str] | None = None
    sheet: str | None = None
    date_format: str | None = None
    missing_values: tuple[str, ...] = MISSING_VALUES
    header: bool | None = None

    def marks(self, column: str) -> tuple[str | None, str | None]:
        """Return the decimal mark and the mark of thousands that were told for a column, None where none was."""
        told = (self.decimal, self.thousands)
        decimal, thousands = (each.get(column) if isinstance(each, Mapping) else each for each in told)
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
