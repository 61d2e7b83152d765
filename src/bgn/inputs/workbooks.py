"""Excel workbooks: one sheet as columns, every row of it in its place, and what of the file was not read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bgn.inputs.file_format import FileFormat
from bgn.inputs.refusal import Refused, listed, named, numbered_names, option


@dataclass(frozen=True)
class SheetColumns:
    """The columns of a sheet with their names, and notes on the sheet.

    Blank rows between others are kept, as rows without a value, so that the numbers of rows are those that a reader of
    the sheet counts; those at the end are not.
    """

    columns: dict[str, Sequence[Any]]
    notes: tuple[str, ...]


def read_sheet(path: str, form: FileFormat) -> SheetColumns:
    """Read the sheet that was asked for, or the first."""
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    try:
        pages = {page.title: page for page in book.worksheets}
        if not pages or (form.sheet is not None and form.sheet not in pages):
            raise Refused(f"{path!r} has no sheet {form.sheet or ''!r}; it has {', '.join(map(repr, pages))}.")
        title = next(iter(pages)) if form.sheet is None else form.sheet
        skipped, rows = _filled_rows(pages[title])
    finally:
        book.close()
    others = [name for name in pages if name != title]
    remedy = f"to read another: {option('sheet', repr(others[0]))}" if others else ""
    if not rows:
        more = f" It also has {listed(others)}; {remedy}." if others else ""
        raise Refused(f"sheet {title!r} of {path!r} is empty: there is no header row with column names.{more}")
    notes = [f"sheet {title!r} is read, and not {listed(others)} ({remedy})."] if others and form.sheet is None else []
    width = max(map(len, rows))
    rows = [(*row, *[None] * (width - len(row))) for row in rows]
    data = rows if form.header is False else rows[1:]
    columns: list[Sequence[Any]] = list(zip(*data, strict=True)) if data else [()] * width
    if form.header is False:
        names: Sequence[str] = numbered_names(width)
    else:
        names = named(["" if cell is None else str(cell) for cell in rows[0]], path, in_file=True)
    first = skipped + 1 + (form.header is not False)
    notes += _blank_rows([first + k for k, row in enumerate(data) if _blank(row)])
    filled = [k for k, column in enumerate(columns, 1) if not names[k - 1] and not _blank(column)]
    notes += unnamed_note(filled)
    return SheetColumns({name: column for name, column in zip(names, columns, strict=True) if name}, tuple(notes))


def _blank(cells: Collection[Any]) -> bool:
    """Return whether cells hold nothing that is seen."""
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells)


def _filled_rows(page: Any) -> tuple[int, list[Sequence[Any]]]:
    """Return the rows from the first to the last that hold something, and how many stand above them."""
    skipped, waiting, found = 0, 0, list[Sequence[Any]]()
    for row in page.iter_rows(values_only=True):
        if not _blank(row):
            found += [()] * waiting
            found.append(row)
            waiting = 0
        elif found:
            waiting += 1
        else:
            skipped += 1
    return skipped, found


def _blank_rows(places: Sequence[int]) -> list[str]:
    """Say which rows of a sheet are blank."""
    if not places:
        return []
    shown = ", ".join(map(str, places[:5])) + (", ..." if len(places) > 5 else "")
    rows, are = ("row", "is") if len(places) == 1 else ("rows", "are")
    return [f"{len(places):,} blank {rows} ({rows} {shown} of the sheet) {are} kept as {rows} without values."]


def unnamed_note(places: Sequence[int]) -> list[str]:
    """Say which columns are left out because they have no name; columns count from 1."""
    if not places:
        return []
    shown = ", ".join(map(str, places[:5])) + (", ..." if len(places) > 5 else "")
    column, are = ("column", "is") if len(places) == 1 else ("columns", "are")
    return [f"{column} {shown} of the file {are} left out: there is no name in the header. Name what is to be used."]
