"""Raw tables, in files or in memory, as Arrow tables: whole for a fit, block by block for predictions.

One small class per format, each with `names`, `read` (types guessed) and `blocks` (as they stand in the file: text in a
text file; :mod:`bgn.inputs.cells` reads them as at fit). Rows always come in the order of the file.
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
from bgn.inputs.cells import Met, check_format
from bgn.inputs.delimited import BLOCK_BYTES, MOST_BYTES, Delimited, even_part, read_sheet
from bgn.inputs.errors import InputError, check_characters, named, option
from bgn.inputs.file_format import PLAIN_FORMAT, USUAL_MISSING_VALUES, FileFormat
from bgn.model.values import labels_of
from bgn.whole_file import Stamp

BLOCK_ROWS = 250_000
_SUFFIXES = ".csv, .tsv, .txt, .data (also .gz), .parquet, .pq, .xlsx, .xlsm"

Types = Mapping[str, pa.DataType]


class RawTable(Protocol):
    """What every format offers."""

    names: tuple[str, ...]
    types: Types  # of the columns, where the format knows them
    met: Met  # while it was read

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return some columns whole, with types guessed from their content."""

    def look(self, names: Sequence[str], most: int = MOST_BYTES) -> tuple[pa.Table, int, int]:
        """Return as many rows as `most` bytes hold, all or every so many, the number of all rows, and how many."""

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns as they stand in the file, a block of rows at a time."""

    def close(self) -> None:
        """Let go of the file."""


def open_any(data: Any, form: FileFormat) -> tuple[RawTable, str]:
    """Open a path, or a table of any library; also what to call it."""
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
    arrays = map(_arrow_of, columns.values())
    return ArrowTable(pa.table(dict(zip(names, arrays, strict=True))), form), "the table"


def _arrow_of(column: Any) -> pa.Array | pa.ChunkedArray:
    """Return a column of a frame as Arrow has it, NaN as a missing value."""
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


class Parquet:
    """Parquet files; the row index pandas may have stored is left out."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pa_parquet

        self._path, self._stamp = path, Stamp.of(path)
        with self._errors():
            # Read ahead, Arrow would hold all of the file in memory.
            self._file = pa_parquet.ParquetFile(path, buffer_size=BLOCK_BYTES, pre_buffer=False)
            schema = self._file.schema_arrow
            found = named(schema.names, path)
        self.names = tuple(name for name in found if name and not name.startswith("__index_level_"))
        self.n_rows = self._file.metadata.num_rows
        kinds = {field.name: field.type for field in schema}
        self.met = Met()
        self.types: Types = {n: k.value_type if pa.types.is_dictionary(k) else k for n, k in kinds.items()}

    def read(self, names: Sequence[str]) -> pa.Table:
        with self._errors():
            (table,) = self._stamp.watch([self._file.read(columns=list(names))])
            return table

    def look(self, names: Sequence[str], most: int = MOST_BYTES) -> tuple[pa.Table, int, int]:
        return _looked_at(self, names, most)

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


def _looked_at(table: RawTable, names: Sequence[str], most: int) -> tuple[pa.Table, int, int]:
    """Return an even part of a table, or all of it."""
    part = even_part(table.blocks(names), most)
    return pa.concat_tables(part.tables) if part.tables else table.read(names), part.rows, part.step


class ArrowTable:
    """A table that is already there."""

    def __init__(self, table: pa.Table, form: FileFormat = PLAIN_FORMAT, notes: tuple[str, ...] = ()) -> None:
        self._table = table
        self.names = tuple(table.column_names)
        self.met = Met(notes=notes, header=form.header)
        self.types: Types = dict(zip(self.names, table.schema.types, strict=True))

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._table.select(list(names))

    def look(self, names: Sequence[str], most: int = MOST_BYTES) -> tuple[pa.Table, int, int]:
        return _looked_at(self, names, most)

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        for start in range(0, self._table.num_rows, BLOCK_ROWS):
            yield self._table.select(list(names)).slice(start, BLOCK_ROWS)

    def close(self) -> None:
        pass


class Workbook(ArrowTable):
    """A sheet of an Excel workbook: the first row names the columns."""

    def __init__(self, path: str, form: FileFormat) -> None:
        stamp = Stamp.of(path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about what else is in the file
                sheet = read_sheet(path, form)
            stamp.check()
        except InputError:
            raise
        except Exception as error:  # a damaged workbook fails anywhere in the reader, with anything
            stamp.check()
            told = f"{type(error).__name__}: {error}"
            raise InputError(f"{path!r} is no workbook that can be read ({told}).") from None
        columns = {name: _guess(column, form.missing_values) for name, column in sheet.columns.items()}
        super().__init__(pa.table(columns), form, sheet.notes)


def _guess(column: Sequence[Any], missing_values: Collection[str]) -> pa.Array:
    """Return a workbook's column as an array; a mixture of kinds becomes text."""
    missing = {"", *missing_values}
    values = [None if isinstance(cell, str) and cell.strip() in missing else cell for cell in column]
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([cells.word(value) for value in values], pa.string())


@dataclass(frozen=True)
class OpenedData:
    """A dataset with what is known about it."""

    name: str
    table: RawTable
    target: str | None = None
    units: Mapping[str, str] | None = None
