"""Files and tables in memory as Arrow tables: whole for a fit, block by block for predictions.

`open_any` opens whatever a user hands over. There is one small class per format, each with `names`, `read` (types
guessed) and `blocks` (as they stand in the file: text in a text file; :mod:`bgn.inputs.cells` reads them as at fit).
Rows always come in the order of the file.
"""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa

from bgn.inputs import cells
from bgn.inputs.cells import check_format
from bgn.inputs.delimited import BLOCK_BYTES, MOST_BYTES, Delimited, even_part
from bgn.inputs.errors import (
    InputError,
    check_characters,
    first_places,
    listed,
    named,
    numbered_names,
    option,
    unnamed_note,
)
from bgn.inputs.file_format import PLAIN_FORMAT, USUAL_MISSING_VALUES, FileFormat
from bgn.inputs.text_types import FileReading
from bgn.model.values import labels_of
from bgn.whole_file import Stamp

BLOCK_ROWS = 250_000
_SUFFIXES = ".csv, .tsv, .txt, .data (also .gz), .parquet, .pq, .xlsx, .xlsm"

Types = Mapping[str, pa.DataType]


class RawTable(Protocol):
    """What every format offers."""

    names: tuple[str, ...]
    types: Types  # of the columns, where the format knows them
    reading: FileReading  # how it was read

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return some columns whole, with types guessed from their content."""

    def look(self, names: Sequence[str], most: int = MOST_BYTES) -> tuple[pa.Table, int, int]:
        """Return as many rows as `most` bytes hold, all or every so many, the number of all rows, and how many."""
        tables, rows, step = even_part(self.blocks(names), most)
        return pa.concat_tables(tables) if tables else self.read(names), rows, step

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns as they stand in the file, a block of rows at a time."""

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True)
class OpenedData:
    """A dataset with what is known about it."""

    name: str
    table: RawTable
    target: str | None = None
    units: Mapping[str, str] | None = None


def open_any(data: Any, form: FileFormat) -> tuple[RawTable, str]:
    check_characters(sep=form.sep, decimal=form.decimal, thousands=form.thousands)
    check_format(form.date_format)
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        return open_table(path, form), path
    form = replace(form, header=form.header or None)  # the names of a table are its own
    if isinstance(data, pa.Table):
        return ArrowTable(data, form), "the table"
    if isinstance(data, Mapping):
        columns = dict(data)
    elif labels_of(data):
        columns = {name: data[name] for name in data.columns}
    else:
        raise InputError(f"data must be a path or a table with named columns; got {type(data).__name__}.")
    names = named([str(name) for name in columns], "the table")
    for name, column in columns.items():
        if isinstance(column, str | bytes) or not hasattr(column, "__iter__"):
            raise InputError(f"data must hold a list of values per column; got {column!r} for {name!r}.")
    arrays = dict(zip(names, map(_arrow_of, columns.values()), strict=True))
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"data must hold as many values in every column; got {lengths}.")
    return ArrowTable(pa.table(arrays), form), "the table"


def _arrow_of(column: Any) -> pa.Array | pa.ChunkedArray:
    try:
        if hasattr(column, "to_arrow"):
            return column.to_arrow()
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _guess(list(column), USUAL_MISSING_VALUES)


def open_table(path: str, form: FileFormat = PLAIN_FORMAT) -> RawTable:
    """Open a data file by its suffix; ``-`` is standard input."""
    book = Path(path).suffix.lower() in (".xlsx", ".xlsm")
    if form.sheet is not None and not book:
        raise InputError(
            f"{option('sheet')} is for Excel workbooks, and {'standard input' if path == '-' else repr(path)} is none."
        )
    if path == "-":
        return Delimited(cast(BinaryIO, sys.stdin.buffer), "standard input", form)
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path!r}." if not file.exists() else f"{path!r} is not a file.")
    suffixes = [suffix.lower() for suffix in file.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if zipped else suffixes)[-1:]
    if suffix in ([".csv"], [".tsv"], [".txt"], [".data"]):
        stream = cast(BinaryIO, gzip.GzipFile(file) if zipped else open(path, "rb"))  # noqa: SIM115
        return Delimited(
            stream, path, replace(form, sep=form.sep or ("\t" if suffix == [".tsv"] else None)), not zipped
        )
    if suffix in ([".parquet"], [".pq"]) and not zipped:
        return Parquet(path)
    if book:
        return Workbook(path, form)
    model = " A model file is no table; MODEL comes before DATA." if suffix == [".json"] else ""
    raise InputError(f"cannot tell the format of {path!r} from its name; known are {_SUFFIXES}.{model}")


class Parquet(RawTable):
    """Parquet files; the row index pandas may have stored is left out."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pa_parquet

        self._path, self._stamp = path, Stamp.of(path)
        with self._errors():
            # Read ahead, Arrow would hold all of the file in memory.
            self._file = pa_parquet.ParquetFile(path, buffer_size=BLOCK_BYTES, pre_buffer=False)
            schema = self._file.schema_arrow
            names = named(schema.names, path)
        self.names = tuple(name for name in names if name and not name.startswith("__index_level_"))
        self.n_rows = self._file.metadata.num_rows
        kinds = {field.name: field.type for field in schema}
        self.reading = FileReading()
        self.types: Types = {n: k.value_type if pa.types.is_dictionary(k) else k for n, k in kinds.items()}

    def read(self, names: Sequence[str]) -> pa.Table:
        with self._errors():
            (table,) = self._stamp.watch([self._file.read(columns=list(names))])
            return table

    def blocks(self, names: Sequence[str], rows: int = BLOCK_ROWS) -> Iterator[pa.Table]:
        with self._errors():
            yield from self._stamp.watch(self._read(names, rows))

    def _read(self, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        for group in range(self._file.num_row_groups):
            for batch in self._file.iter_batches(rows, [group], columns=list(names)):
                yield pa.Table.from_batches([batch]).select(list(names))

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let what Arrow refuses name the file."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self._stamp.check()
            raise InputError(f"{self._path!r} is no Parquet file that can be read ({error}).") from None


class ArrowTable(RawTable):
    """A table that is already there."""

    def __init__(self, table: pa.Table, form: FileFormat = PLAIN_FORMAT, notes: tuple[str, ...] = ()) -> None:
        self._table = table
        self.names = tuple(table.column_names)
        self.reading = FileReading(notes=notes, header=form.header)
        self.types: Types = dict(zip(self.names, table.schema.types, strict=True))

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._table.select(list(names))

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        for start in range(0, self._table.num_rows, BLOCK_ROWS):
            yield self._table.select(list(names)).slice(start, BLOCK_ROWS)

    def close(self) -> None:
        pass


class Workbook(ArrowTable):
    """A sheet of an Excel workbook: the first row names the columns.

    Blank rows between others are kept, as rows without a value, so that the numbers of rows are those that a reader of
    the sheet counts; those at the end are not.
    """

    def __init__(self, path: str, form: FileFormat) -> None:
        stamp = Stamp.of(path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about what else is in the file
                columns, notes = _read_sheet(path, form)
            stamp.check()
        except InputError:
            raise
        except Exception as error:  # a damaged workbook fails anywhere in the reader, with anything
            stamp.check()
            message = f"{type(error).__name__}: {error}"
            raise InputError(f"{path!r} is no workbook that can be read ({message}).") from None
        arrays = {name: _guess(column, form.missing_values) for name, column in columns.items()}
        super().__init__(pa.table(arrays), form, tuple(notes))


def _read_sheet(path: str, form: FileFormat) -> tuple[dict[str, Sequence[Any]], list[str]]:
    """Return the columns of the sheet that was requested, or of the first, and notes on what was not read."""
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    try:
        pages = {page.title: page for page in book.worksheets}
        if not pages or (form.sheet is not None and form.sheet not in pages):
            raise InputError(f"{path!r} has no sheet {form.sheet or ''!r}; it has {', '.join(map(repr, pages))}.")
        title = next(iter(pages)) if form.sheet is None else form.sheet
        # The rows from the first to the last that hold something, and how many stand before them.
        skipped, waiting, rows = 0, 0, list[Sequence[Any]]()
        for row in pages[title].iter_rows(values_only=True):
            if not _is_blank(row):
                rows += [()] * waiting
                rows.append(row)
                waiting = 0
            elif rows:
                waiting += 1
            else:
                skipped += 1
    finally:
        book.close()
    others = [name for name in pages if name != title]
    remedy = f"to read another: {option('sheet', repr(others[0]))}" if others else ""
    if not rows:
        more = f" It also has {listed(others)}; {remedy}." if others else ""
        raise InputError(f"sheet {title!r} of {path!r} is empty: there is no header row with column names.{more}")
    notes = [f"sheet {title!r} is read, and not {listed(others)} ({remedy})."] if others and form.sheet is None else []
    n_columns = max(map(len, rows))
    rows = [(*row, *[None] * (n_columns - len(row))) for row in rows]
    data = rows if form.header is False else rows[1:]
    columns: list[Sequence[Any]] = list(zip(*data, strict=True)) if data else [()] * n_columns
    if form.header is False:
        names: Sequence[str] = numbered_names(n_columns)
    else:
        names = named(["" if cell is None else str(cell) for cell in rows[0]], path, in_file=True)
    first = skipped + 1 + (form.header is not False)
    if blank := [first + k for k, row in enumerate(data) if _is_blank(row)]:
        kept, are = ("row", "is") if len(blank) == 1 else ("rows", "are")
        places = f"{kept} {first_places(blank)} of the sheet"
        notes.append(f"{len(blank):,} blank {kept} ({places}) {are} kept as {kept} without values.")
    notes += unnamed_note([k for k, column in enumerate(columns, 1) if not names[k - 1] and not _is_blank(column)])
    return {name: column for name, column in zip(names, columns, strict=True) if name}, notes


def _is_blank(cells: Collection[Any]) -> bool:
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells)


def _guess(column: Sequence[Any], missing_values: Collection[str]) -> pa.Array:
    """Return a workbook's column as an array; a mixture of kinds becomes text."""
    missing = {"", *missing_values}
    values = [None if isinstance(cell, str) and cell.strip() in missing else cell for cell in column]
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([cells.written_as_text(value) for value in values], pa.string())
