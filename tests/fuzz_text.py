"""Damaged text files, cell by cell against a slow reader: refused in words, or read as they say, or the rest is told.

    python -m tests.fuzz_text --cases 5000
    python -m tests.fuzz_text --first 123 --cases 1     # one case again

A case is made from its number alone. Two hundred of them run with the tests.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import datetime
import io
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import bgn
from bgn.inputs.errors import InputError
from bgn.inputs.file_format import MISSING_VALUES, Numerals
from bgn.inputs.files import open_table
from bgn.inputs.text_types import FileReading
from tests.fuzz_tables import TEXT, several, table

TRUTHS = {"true": True, "false": False, "1": True, "0": False}


# -- damage --------------------------------------------------------------------------------------------------------


def marked(raw: bytes, chance: random.Random) -> bytes:
    """Write the numbers of a column as people do, all of them or most."""
    mark, unit, decimal = chance.choice(",. '"), chance.choice(("", "", "$", "€", " EUR", "%")), chance.choice(".,")
    lines = [line.split(b",") for line in raw.split(b"\n")]
    place = chance.randrange(6)
    for fields in lines[1:]:
        if place < len(fields) and chance.random() < chance.choice((1, 1, 0.9)):
            text = f"{chance.choice((12, 1234, 248910, 1234567)):,}".replace(",", mark)
            text += decimal + str(chance.randrange(1000)) if chance.random() < 0.3 else ""
            fields[place] = f'"{text}{unit}"'.encode()
    return b"\n".join(map(b",".join, lines))


def separated(raw: bytes, chance: random.Random) -> bytes:
    """Have another separator, in all lines or in some."""
    new, share = chance.choice((b";", b"\t", b"|", b":")), chance.choice((1, 1, 0.9, 0.1))
    return b"\n".join(line.replace(b",", new) if chance.random() < share else line for line in raw.split(b"\n"))


def doubled(raw: bytes, chance: random.Random) -> bytes:
    """Have the header twice, or two columns of a name, or lines twice, empty lines, or line ends of several kinds."""
    lines = raw.split(b"\n")
    way = chance.randrange(5)
    if way == 0:
        lines.insert(chance.randrange(len(lines)), lines[0])
    elif way == 1:
        lines[0] = lines[0].replace(b"a", b"n", 1)
    elif way == 2:
        lines += lines[chance.randrange(len(lines)) :]
    elif way == 3:
        for _ in range(5):
            lines.insert(chance.randrange(len(lines) + 1), chance.choice((b"", b" ", b",")))
    ends = (b"\r\n", b"\n", b"\r") if way == 4 else (b"\n",)
    return b"".join(line + chance.choice(ends) for line in lines)


def gapped(raw: bytes, chance: random.Random) -> bytes:
    """Have words for gaps in any cell."""
    lines = [line.split(b",") for line in raw.split(b"\n")]
    for _ in range(10):
        fields = chance.choice(lines[1:] or lines)
        fields[chance.randrange(len(fields))] = chance.choice((*MISSING_VALUES, " NA ", "none", "N/A?")).encode()
    return b"\n".join(map(b",".join, lines))


WAYS = (*TEXT, marked, marked, marked, marked, separated, doubled, gapped, gapped)


# -- the slow reader -----------------------------------------------------------------------------------------------


def decoded(raw: bytes) -> tuple[str, bool]:
    """The text of a file, and whether it is UTF-8."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if raw.startswith(mark):
            return raw[2:].decode(encoding), False
    zeros = [byte == 0 for byte in raw[:4]]
    if zeros in ([False, True] * 2, [True, False] * 2):
        return raw.decode("utf-16-le" if zeros[1] else "utf-16-be"), False
    try:
        return raw.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        return raw.removeprefix(codecs.BOM_UTF8).decode("cp1252"), False


def records(text: str, separator: str) -> list[list[str]]:
    """All lines of a file, its header first; those that hold nothing left out."""
    csv.field_size_limit(10**9)
    return [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if record]


def number(text: str, written: Numerals) -> float | None:
    """What a cell says if numbers are so written, by the rules of a school book."""
    text = text.strip()
    sign, rest = re.fullmatch(r"([-+]?)(.*)", text, re.DOTALL).groups()
    if written.unit:
        if rest.count(written.unit) != 1 or not (rest.startswith(written.unit) or rest.endswith(written.unit)):
            return None
        rest = rest.replace(written.unit, "").strip()
        if not sign:
            sign, rest = re.fullmatch(r"([-+]?)(.*)", rest, re.DOTALL).groups()
    whole, point, more = rest.partition(written.decimal)
    groups = whole.split(written.thousands) if written.thousands else [whole]
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])):
        return None
    try:
        return float(Decimal(sign + "".join(groups) + ("." + more if point else "")))
    except (InvalidOperation, OverflowError):
        return None


def plain_number(text: str) -> float | None:
    """What a cell says in every programming language."""
    bare = text.strip()
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", bare):
        return float(int(bare, 16))
    if bare.lower() in ("true", "false"):
        return float(bare.lower() == "true")
    return number(bare, Numerals())


def agrees(cell: str, value: Any, written: Numerals | None, infinite: bool) -> bool:
    """Whether a value is what a cell says, or what was told of its column."""
    bare = cell.strip()
    if value is None:
        return bare in MISSING_VALUES
    if isinstance(value, str):
        return value == cell
    if isinstance(value, bool):
        return TRUTHS.get(bare.lower()) is value
    if isinstance(value, datetime.datetime):
        short = re.sub(r"(\.\d{6})\d+", r"\1", bare)
        said = datetime.datetime.fromisoformat(short)
        return said.astimezone(datetime.UTC) == value if said.tzinfo else said == value
    if isinstance(value, datetime.time):
        return datetime.time.fromisoformat(bare) == value
    said = plain_number(cell) if written is None else number(cell, written)
    return said == value or (infinite and abs(value) == float("inf"))


# -- what must hold ------------------------------------------------------------------------------------------------


def case(seed: int, folder: Path) -> str:
    """Read one damaged file; return how that ended once all that must hold has been seen to."""
    chance = random.Random(seed)
    good = table(chance, chance.choice((3, 40, 40))).to_csv(index=False).encode()
    if chance.random() < 0.8:  # without separators in cells more files stay whole
        good = good.replace(b'"green, dark"', b"green")
    raw = several(good, WAYS, chance)
    path = folder / "t.csv"
    path.write_bytes(raw)
    try:
        opened = open_table(str(path))
        rows = opened.read(opened.names)
    except InputError:
        fitted(path)
        return "refused"
    compare(raw, opened.names, rows.to_pydict(), rows.num_rows, opened.reading)
    checked = bgn.check(path, "y" if "y" in opened.names else None)
    assert str(checked)
    assert checked._repr_html_()
    return f"read, {fitted(path)}"


def fitted(path: Path) -> str:
    """Prepare a file for a fit; only what is refused in words may stop it."""
    try:
        bgn.preparation.fit(path, "y", missing="drop")
    except InputError:
        return "not fitted"
    return "fitted"


def compare(raw: bytes, names: tuple[str, ...], values: dict[str, list[Any]], rows: int, met: FileReading) -> None:
    """Compare all that was read with what the slow reader says."""
    text, utf8 = decoded(raw)
    notes = "\n".join(met.notes)
    assert utf8 or "not UTF-8" in notes
    header = min((records(text, separator)[0] for separator in ",;\t|"), key=lambda mark: mark.count("") - len(mark))
    separator = next(mark for mark in ",;\t|" if records(text, mark)[0] == header)
    lines = records(text, separator)[1:]
    if len(header) > 1:
        assert len(lines) == rows, (len(lines), rows)
        assert all(len(line) == len(header) for line in lines)
    ways = {written.column: written for written in met.written}
    places = {name.strip(): place for place, name in enumerate(header)}
    for name in names if len(header) > 1 else ():
        written = ways.get(name) or (Numerals(name, met.decimal) if met.decimal != "." else None)
        if written is not None and any(isinstance(value, float) for value in values[name]):
            said = f"column {name!r}: " in notes
            assert said or all(plain_number(line[places[name]]) is not None for line in lines if line[places[name]]), (
                name
            )
        infinite = "numbers beyond what a float can hold" in notes
        for line, value in zip(lines, values[name], strict=True):
            cell = line[places[name]]
            plain = agrees(cell, value, None, infinite)
            assert plain or (written is not None and agrees(cell, value, written, infinite)), (name, cell, value)
            assert value is not None or not cell.strip() or repr(cell.strip())[:20] in notes, (name, cell)
            assert "\n" not in cell or not isinstance(value, str) or "line breaks" in notes, (name, cell)


def cases(first: int, count: int) -> Iterator[tuple[int, str | BaseException]]:
    """Yield the number of every case with how it ended, or with what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            try:
                yield seed, case(seed, Path(folder))
            except Exception as error:
                yield seed, error


def main() -> int:
    """Run as many cases as the command line says; say which of them failed."""
    reader = argparse.ArgumentParser("python -m tests.fuzz_text", description=__doc__.partition("\n")[0])
    reader.add_argument("--cases", type=int, default=1000)
    reader.add_argument("--first", "--seed", type=int, default=0)
    args = reader.parse_args()
    ends, wrong = Counter[str](), 0
    for seed, end in cases(args.first, args.cases):
        if isinstance(end, BaseException):
            wrong += 1
            print(f"case {seed}: {type(end).__name__}: {str(end)[:300]}", flush=True)
            if args.cases == 1:
                raise end
        else:
            ends[end] += 1
    print(f"{args.cases} cases, {wrong} wrong; {dict(ends.most_common())}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
