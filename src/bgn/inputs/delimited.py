"""CSV and its relatives as Arrow tables of text."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from bgn.inputs.file_format import AS_FOUND, FileFormat
from bgn.inputs.memory import CELL_BYTES, MOST_BYTES, available_memory, even_part, within_memory
from bgn.inputs.numerals import Met
from bgn.inputs.refusal import Refused, named, numbered_names
from bgn.inputs.stamp import Stamp
from bgn.inputs.text_columns import guessed, without_gaps
from bgn.inputs.text_stream import BlankLines, TextStream, ragged_lines
from bgn.inputs.workbooks import unnamed_note

BLOCK_BYTES = 2**20
_MOST_HEADER = 2**24
_SECONDS_TO_LET_GO = 5
_SEPARATORS = ",;\t|"


class Delimited:
    """CSV and its relatives, from a file or a pipe, read by Arrow as text."""

    def __init__(self, stream: BinaryIO, origin: str, form: FileFormat = AS_FOUND, plain: bool = False) -> None:
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
        except Refused:
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
            yield without_gaps(batch, self._form.gaps)[0]
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
            raise Refused(f"{self._origin}: {ragged or _in_words(str(error), self._all)}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._unchanged()
            raise Refused(f"{self._origin} is damaged or not whole ({error}); get it again.") from None

    def _header(self, origin: str) -> str:
        """Return the first record, over several lines when a name is quoted; keep what was read beyond it."""
        raw, end, quoted = bytearray(), -1, False
        while end < 0 and (more := self._text.read()):
            start = len(raw)
            raw += more
            if len(raw) > _MOST_HEADER:
                raise Refused(f"{origin} has a header line of more than {_MOST_HEADER:,} bytes; is a quote left open?")
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
            raise Refused(f"{origin} has no header line with column names.")
        if "\0" in header:
            raise Refused(f"{origin} has zeros in its header line; it is no text, or not whole.")
        return header

    def _fields(self, header: str) -> Sequence[str]:
        try:
            return next(csv.reader([header], delimiter=self._sep), [])
        except csv.Error as error:
            raise Refused(f"{self._origin}: the header line cannot be read ({error}); is a quote left open?") from None

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
