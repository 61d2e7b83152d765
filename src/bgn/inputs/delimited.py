"""CSV and its relatives as Arrow tables of text."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import sys
import weakref
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from bgn.inputs import cells
from bgn.inputs.cells import DoubtfulColumns, Met
from bgn.inputs.errors import InputError, listed, listing, named, numbered_names, option, option_of
from bgn.inputs.file_format import PLAIN_FORMAT, FileFormat, Numerals
from bgn.text import clean
from bgn.whole_file import Stamp

# -- Columns of text: which cells say missing, and what the others are, decided once for a whole file.

_MOST_TOLD = 6  # columns, and words of each, that a note names
GapCounts = dict[str, dict[str, int]]
"""How often each word says missing, column by column."""


def without_gaps(table: pa.Table, gaps: Sequence[str]) -> tuple[pa.Table, GapCounts]:
    """Return columns of text with null where a cell says missing."""
    words = pa.array(["", *gaps], pa.string())
    columns = {name: cells.without_gaps(table.column(name), words) for name in table.column_names}
    counts = {name: said for name, (_, said) in columns.items() if said}
    return pa.table({name: column for name, (column, _) in columns.items()}), counts


def guessed(table: pa.Table, form: FileFormat, separator: str) -> tuple[pa.Table, Met]:
    """Return columns of text as what all of their cells can be read as, and what was met on the way."""
    table, gaps = without_gaps(table, form.missing_values)
    doubtful = DoubtfulColumns(separator, form.decimal if isinstance(form.decimal, str) else None)
    columns, told_of = {}, form.decimal if isinstance(form.decimal, Mapping) else {}
    codes = [name for name in table.column_names if name not in told_of and cells.are_codes(table.column(name))]
    for name in table.column_names:
        text, (decimal, thousands) = table.column(name), form.marks(name)
        if name in codes:
            columns[name] = text
            continue
        columns[name] = cells.guess(text, decimal or ".", form.date_format)
        if columns[name] is text:
            doubtful.add(name, _different(text), (decimal, thousands))
    if doubtful.need_points:
        for name, column in columns.items():
            text, number = table.column(name), pa.types.is_floating(column.type)
            if number and form.marks(name)[0] is None and pc.any(pc.match_substring(text, ".")).as_py():
                doubtful.add_plain(name, _different(text))
    settled, met = doubtful.settle()
    for written in settled:
        if written != Numerals(written.column):
            columns[written.column] = cells.numbers(table.column(written.column), written)
    infinite = [name for name, column in columns.items() if _beyond_floats(column)]
    told = (
        f"column{'s' * (len(infinite) > 1)} {listed(infinite)}: numbers beyond what a float can hold count as missing."
    )
    notes = (*_gap_notes(gaps), *_code_notes(codes), *met.notes, *([told] if infinite else []), *_break_notes(columns))
    return pa.table(columns), replace(met, notes=notes, missing_values=form.missing_values)


def _different(text: pa.ChunkedArray) -> pa.Array:
    """Return the different cells of a column, blanks around them left out."""
    return pc.unique(pc.utf8_trim_whitespace(text.drop_null()))


def _beyond_floats(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_inf(column)).as_py())


def _break_notes(columns: Mapping[str, pa.ChunkedArray]) -> list[str]:
    """Say which columns have line breaks in their cells: all that an open quote swallows looks like that."""
    words = {name: column for name, column in columns.items() if cells.is_text(column.type)}
    found = [name for name, text in words.items() if pc.any(pc.match_substring_regex(text, r"[\r\n]")).as_py()]
    told = f"column{'s' * (len(found) > 1)} {listed(found)}: some cells have line breaks. If that is not meant, a quote"
    return [f"{told} is left open, and rows are missing."] if found else []


def _code_notes(codes: Sequence[str]) -> list[str]:
    """Say which columns of digits are read as words."""
    if not codes:
        return []
    column = "column" if len(codes) == 1 else "columns"
    remedy = f"{option_of('decimal', codes[0], '.')} if they are numbers"
    return [f"{column} {listed(codes)}: codes that begin with zeros are read as words ({remedy})."]


def _gap_notes(gaps: GapCounts) -> list[str]:
    """Say which words count as missing, and where."""
    if not gaps:
        return []
    most = sorted(gaps, key=lambda name: -sum(gaps[name].values()))[:_MOST_TOLD]
    told = [f"{_words(gaps[name])} in {clean(name, 40)!r}" for name in gaps if name in most]
    more = [f"others in {len(gaps) - len(most)} more columns"] if len(gaps) > len(most) else []
    remedy = f"If one of these is a value, list those that are none: {listing('missing_values')}."
    return [f"read as missing: {'; '.join(told + more)}. {remedy}"]


def _words(said: Mapping[str, int]) -> str:
    """Return words with how often each was met."""
    words = [f"{word!r} ({count:,})" for word, count in said.items()]
    return ", ".join(words[:_MOST_TOLD]) + (f" and {len(words) - _MOST_TOLD} others" if len(words) > _MOST_TOLD else "")


# -- Text of any of the usual encodings as a stream of UTF-8.

_CHUNK = 2**16
_MARK = re.compile(rb'["\n]|[^\r\n"]+')
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NAMES = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp1252": "Latin-1 (Windows-1252)"}
# What accented letters and curly quotes of UTF-8 look like, which in Latin-1 next to nobody writes.
_UTF8 = re.compile(rb"\xc3[\x80-\xbf]|\xe2\x80[\x80-\xbf]")


class TextStream:
    """The bytes of a text file or a pipe, whatever its encoding, as UTF-8 without a mark at its start.

    UTF-16 is told by its mark, or by the zeros of its first letters. A text that is not UTF-8 is Latin-1 (as Windows
    extends it) from its first such byte on; before it all was ASCII, which both write alike, or else it is refused.
    """

    def __init__(self, stream: BinaryIO, origin: str) -> None:
        self._stream, self._origin = stream, origin
        self._left = io.BytesIO()
        self._pending = b""  # a letter whose end is still to come
        self._lines, self._beyond_ascii = 1, False
        self.blank_lines = BlankLines()
        self.delivered = 0
        """Bytes handed out, and those of a mark: where one is in a file of UTF-8."""
        start = b""
        while len(start) < 4 and (more := self._some()):
            start += more
        mark = next((mark for mark in _MARKS if start.startswith(mark)), b"")
        self._encoding = _MARKS.get(mark) or _without_mark(start)
        if self._encoding.startswith("utf-16"):
            self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self.delivered = len(mark)
        self._left = io.BytesIO(self._decoded(start[len(mark) :]))

    @property
    def encoding(self) -> str:
        """What it is called, as far as it was read."""
        return _NAMES[self._encoding]

    def read(self, size: int = _CHUNK) -> bytes:
        """Return some bytes of UTF-8, at most `size`; none at the end."""
        while not (found := self._left.read(size)):
            raw = self._some(size)
            self._left = io.BytesIO(self._decoded(raw))
            if not raw:
                found = self._left.read(size)
                break
        self.delivered += len(found)
        self.blank_lines.feed(found)
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._stream.close()

    def _some(self, size: int = _CHUNK) -> bytes:
        """Return what can be read at once."""
        return bytes(cast(Any, self._stream).read1(size))

    def _decoded(self, raw: bytes) -> bytes:
        """Return bytes of the file as UTF-8; none says that there are no more."""
        if self._encoding == "utf-8":
            return self._checked(self._pending + raw, final=not raw)
        if self._encoding == "cp1252":
            return self._latin(raw)
        try:
            return self._decoder.decode(raw, not raw).encode()
        except UnicodeError as error:
            raise InputError(f"{self._origin} is not whole: its UTF-16 text cannot be read ({error}).") from None

    def _checked(self, raw: bytes, final: bool) -> bytes:
        """Return UTF-8 as it is; from its first byte that is none on, Latin-1."""
        self._pending = b""
        if raw.isascii():
            self._lines += raw.count(b"\n")
            return raw
        try:
            raw.decode()
            good = len(raw)
        except UnicodeDecodeError as error:
            good = error.start
            if error.reason == "unexpected end of data" and not final:
                self._pending, raw = raw[good:], raw[:good]
        self._beyond_ascii |= not raw[:good].isascii()
        self._lines += raw[:good].count(b"\n")
        if good == len(raw):
            return raw
        if self._beyond_ascii:
            raise self._mixed()
        self._encoding = "cp1252"
        return raw[:good] + self._latin(raw[good:])

    def _latin(self, raw: bytes) -> bytes:
        if _UTF8.search(raw):
            raise self._mixed()
        try:
            text = raw.decode("cp1252").encode()
        except UnicodeDecodeError:
            raise self._mixed() from None
        self._lines += raw.count(b"\n")
        return text

    def _mixed(self) -> InputError:
        return InputError(
            f"{self._origin} is neither UTF-8 nor Latin-1 text, or both, near line {self._lines:,}; convert it first, "
            "for example with iconv."
        )


def _without_mark(start: bytes) -> str:
    """Return the encoding of a file without a mark by its first four bytes: ASCII letters have a zero in UTF-16."""
    zeros = [byte == 0 for byte in start[:4]]
    return "utf-16-le" if zeros == [False, True] * 2 else "utf-16-be" if zeros == [True, False] * 2 else "utf-8"


class BlankLines:
    """Counts the lines of a text that hold nothing, block by block; those at its end and in quoted values do not count.

    Examples
    --------
    >>> from bgn.inputs.delimited import BlankLines
    >>> blank = BlankLines()
    >>> for block in (b"a,b\\n1,2\\n\\n", b"3,4\\r\\n\\r\\n5,", b"'6'\\n\\n\\n"):
    ...     blank.feed(block)
    >>> blank.places
    [3, 5]
    """

    def __init__(self) -> None:
        self.places: list[int] = []
        """Which lines of the text they are, from 1."""
        self._ends, self._quoted, self._waiting, self._last = 0, False, list[int](), b""

    def feed(self, block: bytes) -> None:
        """Take the next bytes."""
        text = self._last + block
        if b"\n\n" in text or b"\n\r\n" in text or self._waiting:
            self._count(text, len(self._last))
        self._quoted ^= block.count(b'"') % 2 == 1
        self._ends += block.count(b"\n")
        self._last = text[-2:]

    def _count(self, text: bytes, known: int) -> None:
        """Find blank lines that end beyond the bytes that are known."""
        quoted, ends = self._quoted, self._ends
        for found in _MARK.finditer(text, known):
            if found[0] == b'"':
                quoted = not quoted
            elif found[0] == b"\n":
                ends += 1
                before = text[max(0, found.start() - 2) : found.start()].removesuffix(b"\r")
                if before.endswith(b"\n") and not quoted:
                    self._waiting.append(ends)
                continue
            self.places += self._waiting
            self._waiting = []


def ragged_lines(path: str, separator: str, width: int) -> str:
    """Say which lines of a file have more or fewer fields than its header; nothing where they cannot be found."""
    places, fields, records = list[int](), list[int](), 0
    with open(path, "rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = TextStream(cast(BinaryIO, gzip.GzipFile(fileobj=raw) if zipped else raw), path)
        text = io.TextIOWrapper(cast(Any, io.BufferedReader(_RawStream(stream))), "utf-8", newline="")
        reader = csv.reader(text, delimiter=separator)
        try:
            line = 1
            for record in reader:
                records += bool(record)
                if record and len(record) != width:
                    places.append(line)
                    fields.append(len(record))
                line = reader.line_num + 1
        except (csv.Error, ValueError):
            return ""
    if not places:
        return ""
    one, plural, which = len(places) == 1, "s" * (width != 1), zip(places[:5], fields, strict=False)
    shown = ", ".join([*(f"line {place:,} has {count}" for place, count in which), *["..."] * (len(places) > 5)])
    told = f"{len(places):,} line{' does' if one else 's do'} not have the header's {width} field{plural}: {shown}"
    if len(places) > max(records / 2, 5):
        return f"{told}; does the line with the names of columns stand further down? Then delete those above it."
    return f"{told}; is a separator or a quote missing, or one too many?"


class _RawStream(io.RawIOBase):
    """A text stream as Python reads one."""

    def __init__(self, stream: TextStream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._stream.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


# -- Excel workbooks: one sheet as columns, every row of it in its place, and what of the file was not read.


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
            raise InputError(f"{path!r} has no sheet {form.sheet or ''!r}; it has {', '.join(map(repr, pages))}.")
        title = next(iter(pages)) if form.sheet is None else form.sheet
        skipped, rows = _filled_rows(pages[title])
    finally:
        book.close()
    others = [name for name in pages if name != title]
    remedy = f"to read another: {option('sheet', repr(others[0]))}" if others else ""
    if not rows:
        more = f" It also has {listed(others)}; {remedy}." if others else ""
        raise InputError(f"sheet {title!r} of {path!r} is empty: there is no header row with column names.{more}")
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


# -- How much memory a table takes while it is read, how much there is, and an even part of a table that is too
# large.

CELL_BYTES = 64
"""What a look at a table takes beside the table, per cell: measured on text and numbers, 50 to 70."""
MOST_BYTES = 2**30
"""What a look at a table may take; of a larger one it is a look at every second row, every fourth and so on."""


def available_memory() -> int:
    """Bytes that this process can still take, as far as the system tells."""
    limits = [sys.maxsize]
    for path, name in (("/proc/meminfo", "MemAvailable:"), ("/sys/fs/cgroup/memory.max", "")):
        try:
            words = Path(path).read_text().split()
            limits.append(int(words[words.index(name) + 1]) * 1024 if name else int(words[0]))
        except (OSError, ValueError):
            pass  # no such file, or no limit
    return min(limits)


def bytes_of(table: pa.Table) -> int:
    """Return what a table takes while it is looked at."""
    return int(table.nbytes) + CELL_BYTES * table.num_rows * table.num_columns


@dataclass(frozen=True, eq=False)
class EvenPart:
    """Every so many rows of a table, from the first on.

    Parameters
    ----------
    tables : list of pyarrow.Table
    rows : int
        How many rows there are in all.
    step : int
        1 where these are all.
    """

    tables: list[pa.Table]
    rows: int
    step: int


def even_part(blocks: Iterator[pa.Table], most: int = MOST_BYTES) -> EvenPart:
    """Return as many rows of a table that comes in blocks as may be held: all, or every second, fourth, eighth.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from bgn.inputs.delimited import even_part
    >>> part = even_part((pa.table({"a": [k, k + 1, k + 2]}) for k in range(0, 12, 3)), most=300)
    >>> pa.concat_tables(part.tables)["a"].to_pylist(), part.rows, part.step
    ([0, 4, 8], 12, 4)
    """
    kept, rows, step, size = list[pa.Table](), 0, 1, 0
    for block in blocks:
        some = _every(block, -rows % step, step)
        rows += block.num_rows
        kept.append(some)
        size += bytes_of(some)
        while size > most and sum(each.num_rows for each in kept) > 1:
            step *= 2
            kept = [_every(pa.concat_tables(kept, promote_options="permissive"), 0, 2)]
            size = bytes_of(kept[0])
    return EvenPart(kept, rows, step)


def _every(table: pa.Table, first: int, step: int) -> pa.Table:
    """Return every so many rows as a table of their own, which holds on to no other row."""
    return table if step == 1 else table.take(pa.array(np.arange(first, table.num_rows, step)))


def within_memory(blocks: Iterator[pa.Table], origin: str, names: Sequence[str]) -> list[pa.Table]:
    """Return all blocks of a table; refuse one that takes more than there is before it has taken it."""
    found, size, free = list[pa.Table](), 0, available_memory()
    for block in blocks:
        found.append(block)
        size += bytes_of(block)
        if size > free:
            rows = sum(each.num_rows for each in found)
            raise InputError(
                f"{origin} is too large to be read whole: {rows:,} rows of {len(names)} columns take about "
                f"{size / 1e9:.3g} GB, more follow, and {free / 1e9:.3g} GB are free. Make a Parquet file of it, whose "
                "rows can stay on disk, or leave columns out."
            )
    return found


BLOCK_BYTES = 2**20
_MOST_HEADER = 2**24
_SECONDS_TO_LET_GO = 5
_SEPARATORS = ",;\t|"


class Delimited:
    """CSV and its relatives, from a file or a pipe, read by Arrow as text."""

    def __init__(self, stream: BinaryIO, origin: str, form: FileFormat = PLAIN_FORMAT, plain: bool = False) -> None:
        self._origin, self._form, self._plain = origin, form, plain
        self._stamp = Stamp.of(origin) if os.path.isfile(origin) else None
        self._raw, self._read_at_once = stream, False
        try:
            with self._errors():
                self._text = TextStream(stream, origin)
                header = self._header(origin)
            self._sep = form.sep or _separator(header)
            fields = self._fields(header)
            no_header = form.header is False
            self._all = numbered_names(len(fields)) if no_header else named(fields, origin, in_file=True)
        except InputError:
            self.close()
            raise
        self.names = tuple(name for name in self._all if name)
        self.types: Mapping[str, pa.DataType] = {}
        self.met = Met(header=form.header)

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._understood(names, self._whole([*names, *self._nameless]))

    def look(self, names: Sequence[str], most: int = MOST_BYTES) -> tuple[pa.Table, int, int]:
        if self._plain and self._bytes_needed(names) <= most:
            found = self.read(names)
            return found, found.num_rows, 1
        wanted = [*names, *self._nameless]
        part = even_part(self._batches(wanted), most)
        return self._understood(names, self._together(part.tables, wanted)), part.rows, part.step

    @property
    def _nameless(self) -> list[str]:
        """The columns without a name, as Arrow calls them."""
        return [self._filler(k) for k, name in enumerate(self._all) if not name]

    def _bytes_needed(self, names: Sequence[str]) -> int:
        """Return about what some columns of a plain file take while they are looked at."""
        return os.path.getsize(self._origin) + CELL_BYTES * self._scanned.lines * len(names)

    @cached_property
    def _scanned(self) -> _Scan:
        return _Scan.of(self._raw.name)

    def _understood(self, names: Sequence[str], whole: pa.Table) -> pa.Table:
        """Return columns of text as what they hold."""
        nameless = self._nameless
        unnamed = [int(name[1:]) + 1 for name in nameless if pc.any(pc.not_equal(whole.column(name), "")).as_py()]
        found, met = guessed(whole.select(list(names)), self._form, self._sep)
        blank = self._scanned.blank if self._read_at_once else self._text.blank_lines.places
        notes = (*self._encoding_note(), *self._blank_note(blank), *unnamed_note(unnamed), *met.notes)
        self.met = replace(met, notes=notes, header=self._form.header)
        return found

    def _whole(self, names: Sequence[str]) -> pa.Table:
        """Return all rows as text; many threads read a plain file of UTF-8, one finds the row that cannot be read."""
        fits = self._plain and self._bytes_needed(names) <= available_memory()
        if fits and self._text.encoding == "UTF-8" and self._more():
            try:
                with pa.OSFile(self._origin) as file:
                    file.seek(self._text.delivered - len(self._ahead))
                    whole = pa_csv.read_csv(file, *self._options(names, self._scanned.quotes))
                self._unchanged()
                self.close()
                self._read_at_once = True
                return whole
            except pa.ArrowInvalid:
                pass
            except OSError:
                self.close()
                raise
        return self._together(within_memory(self._batches(names), self._origin, names), names)

    @staticmethod
    def _together(tables: list[pa.Table], names: Sequence[str]) -> pa.Table:
        return pa.concat_tables(tables) if tables else pa.table({name: pa.array([], pa.string()) for name in names})

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        for batch in self._batches(names):
            yield without_gaps(batch, self._form.missing_values)[0]
        self.met = Met(notes=(*self._encoding_note(), *self._blank_note(self._text.blank_lines.places)))

    def _batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield all rows as text, block by block."""
        with closing(self), self._errors():
            if not self._more():
                return
            rest = _Unread(self._text, self._ahead)
            try:
                for batch in pa_csv.open_csv(rest.file(), *self._options(names, True, threads=False)):
                    yield pa.Table.from_batches([batch])
                self._unchanged()
            finally:
                rest.wait()

    def _encoding_note(self) -> tuple[str, ...]:
        encoding = self._text.encoding
        return () if encoding == "UTF-8" else (f"{self._origin} is read as {encoding}, not UTF-8.",)

    def _blank_note(self, places: Sequence[int]) -> tuple[str, ...]:
        """Say which lines are no rows; where there is one column, they are rows without a value."""
        if not places or len(self._all) == 1:
            return ()
        shown = ", ".join(map(str, places[:5])) + (", ..." if len(places) > 5 else "")
        if len(places) == 1:
            return (f"1 blank line of {self._origin} (line {shown}) is left out: it is no row.",)
        return (f"{len(places):,} blank lines of {self._origin} (lines {shown}) are left out: they are no rows.",)

    def _unchanged(self) -> None:
        """Refuse a file that is another by now; what comes from a pipe cannot be looked at again."""
        if self._stamp is not None:
            self._stamp.check()

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let what Arrow or gzip refuses name the file and the place."""
        try:
            yield
        except pa.ArrowInvalid as error:
            self._unchanged()
            ragged = self._stamp and "Expected " in str(error) and ragged_lines(self._origin, self._sep, len(self._all))
            raise InputError(f"{self._origin}: {ragged or _in_words(str(error), self._all)}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._unchanged()
            raise InputError(f"{self._origin} is damaged or not whole ({error}); get it again.") from None

    def _header(self, origin: str) -> str:
        """Return the first record, over several lines when a name is quoted; keep what was read beyond it."""
        raw, end, quoted = bytearray(), -1, False
        while end < 0 and (more := self._text.read()):
            start = len(raw)
            raw += more
            if len(raw) > _MOST_HEADER:
                raise InputError(f"{origin} has a header line of more than {_MOST_HEADER:,} bytes; is a quote left open?")
            if raw.endswith(b"\r"):
                raw += self._text.read()  # is it a line break of one byte or of two?
            for found in re.finditer(rb'["\r\n]', raw[start:]):
                quoted ^= found[0] == b'"'
                if found[0] != b'"' and not quoted:
                    end = start + found.start()
                    break
        end = len(raw) if end < 0 else end
        self._ahead = bytes(raw[end + 2 if raw[end : end + 2] == b"\r\n" else end + 1 :])
        if self._form.header is False:
            self._ahead = bytes(raw)
        header = raw[:end].decode()
        if not header.strip():
            raise InputError(f"{origin} has no header line with column names.")
        if "\0" in header:
            raise InputError(f"{origin} has zeros in its header line; it is no text, or not whole.")
        return header

    def _fields(self, header: str) -> Sequence[str]:
        try:
            return next(csv.reader([header], delimiter=self._sep), [])
        except csv.Error as error:
            raise InputError(f"{self._origin}: the header line cannot be read ({error}); is a quote left open?") from None

    def _more(self) -> bool:
        self._ahead = self._ahead or self._text.read()
        return bool(self._ahead)

    @staticmethod
    def _filler(position: int) -> str:
        """Return what a column without a name is called: Arrow wants some name."""
        return f"\0{position}"

    def _options(self, names: Sequence[str], quoted: bool, *, threads: bool = True) -> tuple[Any, Any, Any]:
        return (
            pa_csv.ReadOptions(
                column_names=[name or self._filler(k) for k, name in enumerate(self._all)],
                block_size=BLOCK_BYTES,
                use_threads=threads,
            ),
            pa_csv.ParseOptions(delimiter=self._sep, newlines_in_values=quoted, ignore_empty_lines=len(self._all) > 1),
            pa_csv.ConvertOptions(
                include_columns=list(names), column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )


def _in_words(told: str, names: Sequence[str]) -> str:
    """Say in plain words, with the place, what Arrow found wrong with a text file."""
    row = f"row {found[1]}" if (found := re.search(r"Row #(\d+)", told)) else "a row"
    if found := re.search(r"Expected (\d+) columns, got (\d+)", told):
        return f"{row} has {found[2]} fields, and the header {found[1]}."
    if "straddl" in told:
        return f"a row is longer than {BLOCK_BYTES:,} bytes; is a quote left open?"
    column = f"column {names[int(found[1])]!r}" if (found := re.search(r"CSV column #(\d+)", told)) else "it"
    if "invalid UTF8" in told:
        return f"{row}, {column} is not UTF-8 text; convert the file first, for example with iconv."
    return told


class _Unread:
    """The rest of a stream as a file for Arrow, which reads ahead in a thread of its own; some may be read already.

    That thread may outlive an error by a moment. If it then lets go of an object of Python while Python shuts down, the
    process aborts: hence `wait`.
    """

    def __init__(self, stream: TextStream, ahead: bytes) -> None:
        self._stream = stream
        self._ahead = ahead
        self._let_go = Event()
        self._let_go.set()

    def file(self) -> Any:
        held = _StreamOfArrow(_reader(self._stream, self._ahead))
        self._let_go.clear()
        weakref.finalize(held, self._let_go.set)
        return held

    def wait(self) -> None:
        self._let_go.wait(_SECONDS_TO_LET_GO)


class _StreamOfArrow:
    """What Arrow asks of a stream."""

    closed = False

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass


def _reader(stream: TextStream, ahead: bytes) -> Callable[[int], bytes]:
    """Return a function that reads what was read ahead, then the stream.

    No method: the traceback of what it raises would hold its object, which `wait` waits for.
    """
    left = io.BytesIO(ahead)

    def read(size: int = -1) -> bytes:
        return left.read(size) or stream.read(BLOCK_BYTES if size < 0 else size)

    return read


@dataclass(frozen=True)
class _Scan:
    """What the bytes of a file tell before it is read: its lines, the blank ones, and whether any value is in quotes.

    Only a quoted value may hold a line break. Looking is cheap, being ready for it is not.
    """

    lines: int
    quotes: bool
    blank: Sequence[int]

    @classmethod
    def of(cls, path: str) -> _Scan:
        """Read a file once."""
        lines, quotes, blank = 0, False, BlankLines()
        with open(path, "rb", buffering=0) as content:  # not mapped: a file may be cut short meanwhile
            for block in iter(lambda: content.read(BLOCK_BYTES), b""):
                lines += max(block.count(b"\n"), block.count(b"\r"))
                quotes = quotes or b'"' in block
                blank.feed(block)
        return cls(lines, quotes, blank.places)


def _separator(header: str) -> str:
    """Return the separator a header line uses most; a comma when there is none."""
    outside = "".join(header.split('"')[::2])
    return max(_SEPARATORS, key=outside.count)
