"""Text of any of the usual encodings as a stream of UTF-8."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from typing import Any, BinaryIO, cast

from bgn.inputs.refusal import Refused

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
            raise Refused(f"{self._origin} is not whole: its UTF-16 text cannot be read ({error}).") from None

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

    def _mixed(self) -> Refused:
        return Refused(
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
    >>> from bgn.inputs.text_stream import BlankLines
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
