"""CSV and its relatives as Arrow tables: the encoding, the header, the separator, and rows as text.

`Delimited` reads a file or a pipe. Below it stand what it needs: a stream that is UTF-8 whatever the file's encoding,
the blank lines of a text, the memory that a table takes, and the lines that do not fit the header.
"""

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
from collections.abc import Callable, Iterator, Mapping, Sequence
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

from bgn.inputs.errors import InputError, first_places, named, numbered_names, unnamed_note
from bgn.inputs.file_format import PLAIN_FORMAT, FileFormat
from bgn.inputs.text_types import FileReading, read_text_columns, without_missing
from bgn.whole_file import Stamp

BLOCK_BYTES = 2**20
_MOST_HEADER = 2**24
_SECONDS_TO_LET_GO = 5
_SEPARATORS = ",;\t|"
_LEFT_OUT = "are left out: they are no rows"
CELL_BYTES = 64
"""What a look at a table takes besides the table, per cell: measured on text and numbers, 50 to 70."""
MOST_BYTES = 2**30
"""What a look at a table may take; of a larger one it is a look at every second row, every fourth and so on."""


class Delimited:
    """CSV and its relatives, from a file or a pipe, read by Arrow as text."""

    def __init__(self, stream: BinaryIO, origin: str, form: FileFormat = PLAIN_FORMAT, plain: bool = False) -> None:
        self._origin, self._form, self._plain = origin, form, plain
        self._stamp = Stamp.of(origin) if os.path.isfile(origin) else None
        self._raw, self._read_at_once = stream, False
        try:
            with self._errors():
                self._text = TextStream(stream, origin)
                header = self._header()
            outside = "".join(header.split('"')[::2])
            self._sep = form.sep or max(_SEPARATORS, key=outside.count)  # a comma where there is none
            try:
                fields = next(csv.reader([header], delimiter=self._sep), [])
            except csv.Error as error:
                raise InputError(f"{origin}: the header line cannot be read ({error}); is a quote left open?") from None
            no_header = form.header is False
            self._all = numbered_names(len(fields)) if no_header else named(fields, origin, in_file=True)
        except InputError:
            self.close()
            raise
        self.names = tuple(name for name in self._all if name)
        # Arrow wants some name for those without one.
        self._columns = [name or f"\0{place}" for place, name in enumerate(self._all)]
        self._nameless = [name for name in self._columns if name.startswith("\0")]
        self.types: Mapping[str, pa.DataType] = {}
        self.reading = FileReading(header=form.header)

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._with_types(names, self._whole([*names, *self._nameless]))

    def look(self, names: Sequence[str], most: int = MOST_BYTES) -> tuple[pa.Table, int, int]:
        if self._plain and self._bytes_needed(names) <= most:
            table = self.read(names)
            return table, table.num_rows, 1
        wanted = [*names, *self._nameless]
        tables, rows, step = even_part(self._batches(wanted), most)
        return self._with_types(names, _concatenated(tables, wanted)), rows, step

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        for batch in self._batches(names):
            yield without_missing(batch, self._form.missing_values)[0]
        self.reading = FileReading(notes=tuple(self._notes(self._text.blank_lines.places)))

    def close(self) -> None:
        self._raw.close()

    def _with_types(self, names: Sequence[str], whole: pa.Table) -> pa.Table:
        unnamed = [int(name[1:]) + 1 for name in self._nameless if pc.any(pc.not_equal(whole.column(name), "")).as_py()]
        table, reading = read_text_columns(whole.select(list(names)), self._form, self._sep)
        blank = self._scanned.blank if self._read_at_once else self._text.blank_lines.places
        notes = (*self._notes(blank), *unnamed_note(unnamed), *reading.notes)
        self.reading = replace(reading, notes=notes, header=self._form.header)
        return table

    def _notes(self, blank: Sequence[int]) -> list[str]:
        """Say which encoding it has, and which lines are no rows; of one column, they are rows without a value."""
        encoding, notes = self._text.encoding, list[str]()
        if encoding != "UTF-8":
            notes.append(f"{self._origin} is read as {encoding}, not UTF-8.")
        if blank and len(self._all) > 1:
            lines, them = ("line", "is left out: it is no row") if len(blank) == 1 else ("lines", _LEFT_OUT)
            notes.append(f"{len(blank):,} blank {lines} of {self._origin} ({lines} {first_places(blank)}) {them}.")
        return notes

    def _bytes_needed(self, names: Sequence[str]) -> int:
        return os.path.getsize(self._origin) + CELL_BYTES * self._scanned.lines * len(names)

    @cached_property
    def _scanned(self) -> _Scan:
        return _Scan.of(self._raw.name)

    def _whole(self, names: Sequence[str]) -> pa.Table:
        """Return all rows as text; many threads read a plain file of UTF-8, one finds the row that cannot be read."""
        fits = self._plain and self._bytes_needed(names) <= available_memory()
        if fits and self._text.encoding == "UTF-8" and self._more():
            try:
                with pa.OSFile(self._origin) as file:
                    file.seek(self._text.delivered - len(self._ahead))
                    whole = pa_csv.read_csv(file, *self._options(names, self._scanned.quotes))
                self._check_unchanged()
                self.close()
                self._read_at_once = True
                return whole
            except pa.ArrowInvalid:
                pass
            except OSError:
                self.close()
                raise
        return _concatenated(within_memory(self._batches(names), self._origin, names), names)

    def _batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        with closing(self), self._errors():
            if not self._more():
                return
            rest = _Unread(self._text, self._ahead)
            try:
                for batch in pa_csv.open_csv(rest.file(), *self._options(names, True, threads=False)):
                    yield pa.Table.from_batches([batch])
                self._check_unchanged()
            finally:
                rest.wait()

    def _check_unchanged(self) -> None:
        """Refuse a file that is another by now; what comes from a pipe cannot be looked at again."""
        if self._stamp is not None:
            self._stamp.check()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let what Arrow or gzip refuses name the file and the place."""
        try:
            yield
        except pa.ArrowInvalid as error:
            self._check_unchanged()
            message, names = str(error), self._all
            ragged = self._stamp and "Expected " in message and ragged_lines(self._origin, self._sep, len(names))
            row = f"row {number[1]}" if (number := re.search(r"Row #(\d+)", message)) else "a row"
            if ragged:
                message = ragged
            elif counts := re.search(r"Expected (\d+) columns, got (\d+)", message):
                message = f"{row} has {counts[2]} fields, and the header {counts[1]}."
            elif "straddl" in message:
                message = f"a row is longer than {BLOCK_BYTES:,} bytes; is a quote left open?"
            elif "invalid UTF8" in message:
                place = re.search(r"CSV column #(\d+)", message)
                column = f"column {names[int(place[1])]!r}" if place else "it"
                message = f"{row}, {column} is not UTF-8 text; convert the file first, for example with iconv."
            raise InputError(f"{self._origin}: {message}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._check_unchanged()
            raise InputError(f"{self._origin} is damaged or not whole ({error}); get it again.") from None

    def _header(self) -> str:
        """Return the first record, over several lines when a name is quoted; keep what was read beyond it."""
        raw, end, quoted = bytearray(), -1, False
        while end < 0 and (more := self._text.read()):
            start = len(raw)
            raw += more
            if len(raw) > _MOST_HEADER:
                raise InputError(
                    f"{self._origin} has a header line of more than {_MOST_HEADER:,} bytes; is a quote left open?"
                )
            if raw.endswith(b"\r"):
                raw += self._text.read()  # is it a line break of one byte or of two?
            for mark in re.finditer(rb'["\r\n]', raw[start:]):
                quoted ^= mark[0] == b'"'
                if mark[0] != b'"' and not quoted:
                    end = start + mark.start()
                    break
        end = len(raw) if end < 0 else end
        rest = end + 2 if raw[end : end + 2] == b"\r\n" else end + 1
        self._ahead = bytes(raw if self._form.header is False else raw[rest:])
        header = raw[:end].decode()
        if not header.strip():
            raise InputError(f"{self._origin} has no header line with column names.")
        if "\0" in header:
            raise InputError(f"{self._origin} has zeros in its header line; it is no text, or not whole.")
        return header

    def _more(self) -> bool:
        self._ahead = self._ahead or self._text.read()
        return bool(self._ahead)

    def _options(self, names: Sequence[str], quoted: bool, *, threads: bool = True) -> tuple[Any, Any, Any]:
        return (
            pa_csv.ReadOptions(column_names=self._columns, block_size=BLOCK_BYTES, use_threads=threads),
            pa_csv.ParseOptions(delimiter=self._sep, newlines_in_values=quoted, ignore_empty_lines=len(self._all) > 1),
            pa_csv.ConvertOptions(
                include_columns=list(names), column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )


def _concatenated(tables: list[pa.Table], names: Sequence[str]) -> pa.Table:
    return pa.concat_tables(tables) if tables else pa.table({name: pa.array([], pa.string()) for name in names})


class _Unread:
    """The rest of a stream as a file for Arrow, which reads ahead in a thread of its own; some may be read already.

    That thread may outlive an error by a moment. If it then lets go of an object of Python while Python shuts down, the
    process aborts: hence `wait`.
    """

    def __init__(self, stream: TextStream, ahead: bytes) -> None:
        self._stream, self._ahead, self._let_go = stream, ahead, Event()

    def file(self) -> Any:
        stream, left = self._stream, io.BytesIO(self._ahead)

        # No method: the traceback of what it raises would hold its object, which `wait` waits for.
        def read(size: int = -1) -> bytes:
            return left.read(size) or stream.read(BLOCK_BYTES if size < 0 else size)

        file = _FileForArrow(read)
        weakref.finalize(file, self._let_go.set)
        return file

    def wait(self) -> None:
        self._let_go.wait(_SECONDS_TO_LET_GO)


class _FileForArrow:
    """What Arrow needs of a stream."""

    closed = False

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class _Scan:
    """What the bytes of a file show before it is read: its lines, the blank ones, and whether any value is in quotes.

    Only a quoted value may hold a line break. Looking is cheap, being ready for it is not.
    """

    lines: int
    quotes: bool
    blank: Sequence[int]

    @classmethod
    def of(cls, path: str) -> _Scan:
        lines, quotes, blank = 0, False, BlankLines()
        with open(path, "rb", buffering=0) as content:  # not mapped: a file may be cut short meanwhile
            for block in iter(lambda: content.read(BLOCK_BYTES), b""):
                lines += max(block.count(b"\n"), block.count(b"\r"))
                quotes = quotes or b'"' in block
                blank.feed(block)
        return cls(lines, quotes, blank.places)


# -- Text of any of the usual encodings as a stream of UTF-8 ------------------------------------------------------

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
        zeros = [byte == 0 for byte in start[:4]]  # which ASCII letters have in UTF-16
        by_zeros = "utf-16-le" if zeros == [False, True] * 2 else "utf-16-be" if zeros == [True, False] * 2 else "utf-8"
        self._encoding = _MARKS.get(mark) or by_zeros
        if self._encoding.startswith("utf-16"):
            self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self.delivered = len(mark)
        self._left = io.BytesIO(self._decoded(start[len(mark) :]))

    @property
    def encoding(self) -> str:
        return _NAMES[self._encoding]

    def read(self, size: int = _CHUNK) -> bytes:
        """Return some bytes of UTF-8, at most `size`; none at the end."""
        while not (block := self._left.read(size)):
            raw = self._some(size)
            self._left = io.BytesIO(self._decoded(raw))
            if not raw:
                block = self._left.read(size)
                break
        self.delivered += len(block)
        self.blank_lines.feed(block)
        return block

    def close(self) -> None:
        self._stream.close()

    def _some(self, size: int = _CHUNK) -> bytes:
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


class BlankLines:
    """Counts the lines of a text that hold nothing, block by block, but not those at its end and in quoted values."""

    def __init__(self) -> None:
        self.places: list[int] = []
        """Which lines of the text they are, from 1."""
        self._ends, self._quoted, self._waiting, self._last = 0, False, list[int](), b""

    def feed(self, block: bytes) -> None:
        text, known = self._last + block, len(self._last)
        if b"\n\n" in text or b"\n\r\n" in text or self._waiting:
            quoted, ends = self._quoted, self._ends
            for mark in _MARK.finditer(text, known):
                if mark[0] == b'"':
                    quoted = not quoted
                elif mark[0] == b"\n":
                    ends += 1
                    before = text[max(0, mark.start() - 2) : mark.start()].removesuffix(b"\r")
                    if before.endswith(b"\n") and not quoted:
                        self._waiting.append(ends)
                    continue
                self.places += self._waiting
                self._waiting = []
        self._quoted ^= block.count(b'"') % 2 == 1
        self._ends += block.count(b"\n")
        self._last = text[-2:]


def ragged_lines(path: str, separator: str, columns: int) -> str:
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
                if record and len(record) != columns:
                    places.append(line)
                    fields.append(len(record))
                line = reader.line_num + 1
        except (csv.Error, ValueError):
            return ""
    if not places:
        return ""
    one, plural, which = len(places) == 1, "s" * (columns != 1), zip(places[:5], fields, strict=False)
    shown = ", ".join([*(f"line {place:,} has {count}" for place, count in which), *["..."] * (len(places) > 5)])
    lines = f"{len(places):,} line{' does' if one else 's do'} not have the header's {columns} field{plural}: {shown}"
    if len(places) > max(records / 2, 5):
        return f"{lines}; does the line with the names of columns stand further down? Then delete those above it."
    return f"{lines}; is a separator or a quote missing, or one too many?"


class _RawStream(io.RawIOBase):
    """A text stream as Python reads one."""

    def __init__(self, stream: TextStream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)


# -- How much memory a table takes while it is read, and how much there is -----------------------------------------


def available_memory() -> int:
    """Bytes that this process can still take, as far as the system tells."""
    limits = [sys.maxsize]
    for path, name in (("/proc/meminfo", "MemAvailable:"), ("/sys/fs/cgroup/memory.max", "")):
        try:
            entries = Path(path).read_text().split()
            limits.append(int(entries[entries.index(name) + 1]) * 1024 if name else int(entries[0]))
        except (OSError, ValueError):
            pass  # no such file, or no limit
    return min(limits)


def bytes_of(table: pa.Table) -> int:
    return int(table.nbytes) + CELL_BYTES * table.num_rows * table.num_columns


def even_part(blocks: Iterator[pa.Table], most: int = MOST_BYTES) -> tuple[list[pa.Table], int, int]:
    """Return as many rows of a table that comes in blocks as may be held: all, or every second, fourth, eighth.

    Also how many rows there are in all, and the step: 1 where these are all.
    """

    def every(table: pa.Table, first: int, step: int) -> pa.Table:
        # A table of its own holds on to no other row.
        return table if step == 1 else table.take(pa.array(np.arange(first, table.num_rows, step)))

    kept, rows, step, size = list[pa.Table](), 0, 1, 0
    for block in blocks:
        some = every(block, -rows % step, step)
        rows += block.num_rows
        kept.append(some)
        size += bytes_of(some)
        while size > most and sum(table.num_rows for table in kept) > 1:
            step *= 2
            kept = [every(pa.concat_tables(kept, promote_options="permissive"), 0, 2)]
            size = bytes_of(kept[0])
    return kept, rows, step


def within_memory(blocks: Iterator[pa.Table], origin: str, names: Sequence[str]) -> list[pa.Table]:
    """Return all blocks of a table; refuse one that takes more than there is before it has taken it."""
    tables, size, free = list[pa.Table](), 0, available_memory()
    for block in blocks:
        tables.append(block)
        size += bytes_of(block)
        if size > free:
            rows = sum(table.num_rows for table in tables)
            raise InputError(
                f"{origin} is too large to be read whole: {rows:,} rows of {len(names)} columns take about "
                f"{size / 1e9:.3g} GB, more follow, and {free / 1e9:.3g} GB are free. Make a Parquet file of it, whose "
                "rows can stay on disk, or leave columns out."
            )
    return tables
