"""Data files as Arrow tables: whole for a fit, block by block for predictions.

One small class a format, each with `names`, `read` (types guessed) and `blocks` (types given). Rows always come in
the order of the file.
"""

from __future__ import annotations

import csv
import gzip
import mmap
import re
import sys
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, Protocol, cast
from zipfile import BadZipFile

import pyarrow as pa
import pyarrow.csv as pa_csv

# What pandas reads as missing.
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
BLOCK_ROWS = 250_000
_BLOCK_BYTES = 2**20
_SECONDS_TO_LET_GO = 5
_SEPARATORS = ",;\t|"
_SUFFIXES = ".csv, .tsv, .txt, .data (also .gz), .parquet, .pq, .xlsx, .xlsm"

Types = Mapping[str, pa.DataType]


class Refused(Exception):
    """The input is not one the command can work with; the message is one line and says what to do."""


class Table(Protocol):
    """What every format offers."""

    names: tuple[str, ...]
    types: Types  # of the columns, where the format knows them

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return some columns whole, with types guessed from their content."""

    def blocks(self, types: Types) -> Iterator[pa.Table]:
        """Yield the named columns, in the types given, a block of rows at a time."""


def open_table(
    path: str, *, sep: str | None = None, decimal: str = ".", sheet: str | None = None, date_format: str | None = None
) -> Table:
    """Open a data file by its suffix; ``-`` is standard input."""
    book = Path(path).suffix.lower() in (".xlsx", ".xlsm")
    if sheet is not None and not book:
        raise Refused(f"--sheet is for Excel workbooks, and {'standard input' if path == '-' else repr(path)} is none.")
    if path == "-":
        return Delimited(cast(BinaryIO, sys.stdin.buffer), "standard input", sep, decimal, date_format)
    file = Path(path)
    if not file.is_file():
        raise Refused(f"there is no file {path!r}." if not file.exists() else f"{path!r} is not a file.")
    suffixes = [suffix.lower() for suffix in file.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if zipped else suffixes)[-1:]
    if suffix in ([".csv"], [".tsv"], [".txt"], [".data"]):
        stream = cast(BinaryIO, gzip.GzipFile(file) if zipped else open(path, "rb"))  # noqa: SIM115
        return Delimited(stream, path, sep or ("\t" if suffix == [".tsv"] else None), decimal, date_format, not zipped)
    if suffix in ([".parquet"], [".pq"]) and not zipped:
        return Parquet(path)
    if book:
        return Workbook(path, sheet)
    raise Refused(f"cannot tell the format of {path!r} from its name; known are {_SUFFIXES}.")


class Delimited:
    """CSV and its relatives, from a file or a pipe, read by Arrow."""

    def __init__(
        self,
        stream: BinaryIO,
        origin: str,
        sep: str | None,
        decimal: str,
        date_format: str | None,
        plain: bool = False,
    ) -> None:
        self._stream = stream
        self._origin = origin
        self._plain = plain
        header = self._header(origin)
        self._sep = sep or _separator(header)
        self._decimal = decimal
        self._parsers = [pa_csv.ISO8601] + ([date_format] if date_format else [])
        self._all = _named(next(csv.reader([header], delimiter=self._sep), []), origin)
        self.names = tuple(name for name in self._all if name)
        self.types: Types = {}

    def read(self, names: Sequence[str]) -> pa.Table:
        with self._stream:
            if not self._more():
                return pa.table({name: pa.array([], pa.null()) for name in names})
            # Arrow guesses the types of a whole table from all of it, those of a stream from its first block.
            quoted = not self._plain or _has_quotes(self._stream)
            with self._rest() as rest:
                return pa_csv.read_csv(rest.file(), *self._options(names, {}, quoted))

    def blocks(self, types: Types) -> Iterator[pa.Table]:
        with self._stream:
            if not self._more():
                return
            with self._rest() as rest:
                for batch in pa_csv.open_csv(rest.file(), *self._options(list(types), types, True, threads=False)):
                    yield pa.Table.from_batches([batch])

    @contextmanager
    def _rest(self) -> Iterator[_Rest]:
        """Give Arrow what follows the header, and let what it refuses name the file and the column, which it counts."""
        rest = _Rest(self._stream, self._origin if self._plain else None)
        try:
            yield rest
        except pa.ArrowInvalid as error:
            told = re.sub(r"In CSV column #(\d+)", lambda found: f"column {self._all[int(found[1])]!r}", str(error))
            comma = re.search(r"invalid value '[^']*,", told) and self._decimal != ","
            hint = ". If the comma is a decimal mark, add --decimal ','." if comma else ""
            raise Refused(f"{self._origin}: {told.replace('Row #', 'row ')}{hint}") from None
        finally:
            rest.wait()

    def _header(self, origin: str) -> str:
        """Return the first record, which may run over several lines when a name is quoted."""
        raw = self._stream.readline()
        while raw.count(b'"') % 2 and (more := self._stream.readline()):
            raw += more
        try:
            header = raw.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise Refused(f"{origin} is not UTF-8 text; convert it first, for example with iconv.") from None
        if not header.strip():
            raise Refused(f"{origin} has no header line with column names.")
        return header

    def _more(self) -> bool:
        return bool(cast(Any, self._stream).peek(1))

    def _options(
        self, names: Sequence[str], types: Types, quoted: bool, *, threads: bool = True
    ) -> tuple[Any, Any, Any]:
        # Columns without a name are read over; Arrow wants some name for them.
        filler = iter(f"\0{position}" for position in range(len(self._all)))
        return (
            pa_csv.ReadOptions(
                column_names=[name or next(filler) for name in self._all], block_size=_BLOCK_BYTES, use_threads=threads
            ),
            pa_csv.ParseOptions(delimiter=self._sep, newlines_in_values=quoted, ignore_empty_lines=len(self._all) > 1),
            pa_csv.ConvertOptions(
                include_columns=list(names),
                column_types=dict(types),
                null_values=list(MISSING),
                strings_can_be_null=True,
                decimal_point=self._decimal,
                timestamp_parsers=self._parsers,
            ),
        )


class _Rest:
    """The rest of a stream as a file for Arrow, which reads ahead in a thread of its own.

    That thread may outlive an error by a moment. If it then lets go of an object of Python while Python shuts down, the
    process aborts: hence `wait`. A plain file is opened again by Arrow, which reads it faster than Python.
    """

    def __init__(self, stream: BinaryIO, path: str | None) -> None:
        self._stream = stream
        self._path = path
        self._let_go = Event()
        self._let_go.set()

    def file(self) -> Any:
        if self._path is not None:
            file = pa.OSFile(self._path)
            file.seek(self._stream.tell())
            return file
        held = _Held(self._stream)
        self._let_go.clear()
        weakref.finalize(held, self._let_go.set)
        return held

    def wait(self) -> None:
        self._let_go.wait(_SECONDS_TO_LET_GO)


class _Held:
    """What Arrow asks of a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    closed = False

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass


class Parquet:
    """Parquet files; the row index pandas may have stored is left out."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pa_parquet

        try:
            # Read ahead, Arrow would hold all of the file in memory.
            self._file = pa_parquet.ParquetFile(path, buffer_size=_BLOCK_BYTES, pre_buffer=False)
        except (pa.ArrowInvalid, OSError) as error:
            raise Refused(f"{path!r} is no Parquet file that can be read ({error}).") from None
        named = _named(self._file.schema_arrow.names, path)
        self.names = tuple(name for name in named if name and not name.startswith("__index_level_"))
        self.n_rows = self._file.metadata.num_rows
        kinds = {field.name: field.type for field in self._file.schema_arrow}
        self.types: Types = {n: k.value_type if pa.types.is_dictionary(k) else k for n, k in kinds.items()}

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._file.read(columns=list(names))

    def blocks(self, types: Types, rows: int = BLOCK_ROWS) -> Iterator[pa.Table]:
        for group in range(self._file.num_row_groups):
            for batch in self._file.iter_batches(rows, [group], columns=list(types)):
                yield with_types(pa.Table.from_batches([batch]), types)


class InMemory:
    """A table that is already there."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.names = tuple(table.column_names)
        self.types: Types = dict(zip(self.names, table.schema.types, strict=True))

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._table.select(list(names))

    def blocks(self, types: Types) -> Iterator[pa.Table]:
        for start in range(0, self._table.num_rows, BLOCK_ROWS):
            yield with_types(self._table.select(list(types)).slice(start, BLOCK_ROWS), types)


class Workbook(InMemory):
    """A sheet of an Excel workbook: the first row names the columns."""

    def __init__(self, path: str, sheet: str | None) -> None:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException

        try:
            book = load_workbook(path, read_only=True, data_only=True)
        except (InvalidFileException, BadZipFile, KeyError, OSError, ValueError) as error:
            raise Refused(f"{path!r} is no workbook that can be read ({error}).") from None
        try:
            if sheet is not None and sheet not in book.sheetnames:
                raise Refused(f"{path!r} has no sheet {sheet!r}; it has {', '.join(map(repr, book.sheetnames))}.")
            page = book[sheet] if sheet is not None else book.worksheets[0]
            rows = [row for row in page.iter_rows(values_only=True) if any(cell is not None for cell in row)]
        finally:
            book.close()
        if not rows:
            raise Refused(f"{path!r} has no header row with column names.")
        names = _named(["" if cell is None else str(cell) for cell in rows[0]], path)
        columns = zip(*rows[1:], strict=True) if rows[1:] else [()] * len(names)
        super().__init__(pa.table({name: _guess(cells) for name, cells in zip(names, columns, strict=True) if name}))


def _guess(cells: Sequence[Any]) -> pa.Array:
    """Return a workbook's column as an array; a mixture of kinds becomes text."""
    values = [None if isinstance(cell, str) and cell in MISSING else cell for cell in cells]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def _has_quotes(stream: BinaryIO) -> bool:
    """Return whether a quoted value may hold a line break; looking is cheap, being ready for it is not."""
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b'"', stream.tell()) >= 0


def _separator(header: str) -> str:
    """Return the separator a header line uses most; a comma when there is none."""
    outside = "".join(header.split('"')[::2])
    return max(_SEPARATORS, key=outside.count)


def _named(names: Sequence[str], origin: str) -> tuple[str, ...]:
    """Return stripped names, refusing two alike; columns without one keep an empty name."""
    stripped = tuple(name.strip() for name in names)
    twice = [name for name, count in Counter(stripped).items() if count > 1 and name]
    if twice:
        raise Refused(f"{origin} has two columns named {twice[0]!r}; rename one.")
    return stripped


def with_types(table: pa.Table, types: Types) -> pa.Table:
    """Return a table whose columns have the types given."""
    columns = []
    for name, wanted in types.items():
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        try:
            columns.append(column.cast(wanted, safe=not pa.types.is_temporal(wanted)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = str(error).splitlines()[0]
            raise Refused(f"column {name!r} holds {column.type}, not {wanted} as at fit: {reason}") from None
    return pa.table(columns, names=list(types))
