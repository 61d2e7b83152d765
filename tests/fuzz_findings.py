"""Tables of which something is true that only their owner knows: it is noticed, said, and what answers it is named.

    python -m tests.fuzz_findings --cases 1000
    python -m tests.fuzz_findings --first 123 --cases 1     # one case again

A case is made from its number alone: a table with or without names, of words, numbers and dates, in a text file or a
workbook of one or two sheets with blank rows and columns without a name. What is true of it is known, and everything
that is said is compared with it. A few cases run with the tests.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bgn
from bgn.inputs.errors import InputError
from bgn.inputs.files import open_table

NAMES = ("red", "green", "blue", "south", "north", "flat", "house", "Lille", "Nice", "loft")
NAMES = ("area", "kind", "colour", "city", "income", "age", "width", "height", "sold", "distance", "weight", "speed")


@dataclass
class Made:
    """A table, and what is true of it."""

    names: list[str]
    rows: list[list[Any]]
    target: str
    few: bool = False
    classes: dict[str, int] = field(default_factory=dict)
    codes: list[str] = field(default_factory=list)
    day_first: dict[str, bool] = field(default_factory=dict)  # whether day and month are in doubt


def made(chance: random.Random) -> Made:
    """Return a table of 120 rows or so."""
    count = chance.choice((40, 120, 150))
    names, columns = [], []
    table = Made([], [], "")
    for place, name in enumerate(chance.sample(NAMES, chance.randint(2, 5))):
        kind = chance.choice(("number", "number", "whole", "word", "code", "date")) if place else "number"
        if kind == "number":
            columns.append([round(chance.gauss(0, 30), 2) for _ in range(count)])
        elif kind == "whole":
            columns.append([chance.randint(-40, 900) for _ in range(count)])
        elif kind == "word":
            some = chance.sample(NAMES, 4)
            columns.append([chance.choice(some) for _ in range(count)])
        elif kind == "code":
            name += chance.choice(("_code", "_id", " type"))
            few = chance.sample(range(3, 80), 6)
            columns.append([few[k] if k < 6 else chance.choice(few) for k in range(count)])
            table.codes.append(name)
        else:
            doubt = chance.random() < 0.5
            days = [datetime.date(2020, chance.randint(1, 12), chance.randint(1, 12)) for _ in range(count)]
            days[chance.randrange(count)] = datetime.date(2020, 5, 7 if doubt else 25)
            columns.append([day.strftime("%d.%m.%Y") for day in days])
            table.day_first[name] = doubt
        names.append(name)
    target = chance.choice(("amount", "few", "classes"))
    if target == "amount":
        columns.append([round(chance.gauss(100, 30), 3) for _ in range(count)])
    elif target == "few":
        different = chance.randint(3, 13)
        start, steps = chance.choice((0, 1, -2)), chance.choice((1, 1, 5))
        columns.append([start + steps * (k if k < different else chance.randrange(different)) for k in range(count)])
        table.few = different <= 10 and count >= 100
    else:
        sizes = chance.choice(((3,), (30,), (10, 2, 4), (18,), (12, 4, 3), (9, 9, 5)))
        labels = [label for label, size in zip(("no", "often", "once"), sizes, strict=False) for _ in range(size)]
        labels += ["yes"] * (count - len(labels))
        chance.shuffle(labels)
        columns.append(labels)
        table.classes = {label: labels.count(label) for label in dict.fromkeys(labels)}
    table.names, table.target = [*names, "y"], "y"
    table.rows = [list(row) for row in zip(*columns, strict=True)]
    return table


# -- what is written, and what must be said ------------------------------------------------------------------------


def case(number: int, folder: Path) -> str:
    """Write one table in one way, and see that what is true of it is said, and nothing else."""
    chance = random.Random(number)
    table = made(chance)
    header = chance.random() < 0.6
    book = chance.random() < 0.35
    wanted = dict[str, bool]()
    names: list[str | None] = [*table.names]
    rows = [[*row] for row in table.rows]
    nameless = chance.randint(0, len(names) - 1) if header and chance.random() < 0.3 else None
    if nameless is not None:
        names.insert(nameless, None)
        for k, row in enumerate(rows):
            row.insert(nameless, f"note {k % 3}")
    blank = sorted(chance.sample(range(1, len(rows) - 1), chance.choice((0, 0, 1, 3))))
    written = [[*([names] if header else [])], *([row] for row in rows)]
    lines = [line for some in written for line in some]
    placed = [row + k + header for k, row in enumerate(blank)]  # each blank row moves those below
    for place in placed:
        lines.insert(place, [])
    path = folder / ("t.xlsx" if book else "t.csv")
    sheets = 1 + (book and chance.random() < 0.5)
    _write(path, lines, sheets)
    wanted["blank"], wanted["sheets"], wanted["unnamed"] = bool(blank), sheets > 1, nameless is not None
    _compare(path, table, header, wanted, placed, book)
    return f"{'workbook' if book else 'text'}, {'named' if header else 'no names'}"


def _write(path: Path, lines: list[list[Any]], sheets: int) -> None:
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
        return
    import openpyxl

    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    book.active.title = "First"
    for number in range(1, sheets):
        book.create_sheet(f"More {number}").append(["nothing"])
    book.save(path)


def _compare(path: Path, table: Made, header: bool, wanted: dict[str, bool], blank: list[int], book: bool) -> None:
    first = [str(cell) for cell in table.rows[0]]
    if not header and len({*first}) < len(first):  # two names alike, of a row that holds values
        assert "header=False" in _refused(bgn.check, path)
    else:
        checked = bgn.check(path, table.target if header else None)
        about = [finding for finding in checked.findings if finding.what == "header"]
        assert bool(about) != header, (header, about, table.rows[0])
        assert not header or checked.rows == len(table.rows) + (len(blank) if book else 0)
    right = bgn.check(path, table.target if header else f"column_{len(table.names)}", header=header)
    findings = {finding.what: finding for finding in right.findings}
    notes = " ".join(right.notes)
    called = dict(zip(table.names, table.names if header else _numbered(table), strict=True))
    assert "header" not in findings
    assert ("task" in findings) == table.few, findings.get("task")
    rare = [label for label, rows in table.classes.items() if rows < 5] if len(table.classes) > 2 else []
    assert ("rare" in findings) == bool(rare), findings.get("rare")
    assert all(label in str(findings["rare"]) for label in rare[:3])
    if header:
        assert set(table.codes) == {*(findings["codes"].columns if "codes" in findings else ())}
    for name, doubt in table.day_first.items():
        own = [finding for finding in right.findings if finding.columns == (called[name],)]
        (date,) = [finding for finding in own if finding.what == "date"]
        assert (date.severity == "serious") == doubt
        assert "date_format='%d.%m.%Y'" in str(date)
    assert ("blank" in notes) == wanted["blank"], notes
    assert ("is read, and not" in notes) == wanted["sheets"], notes
    assert ("no name in the header" in notes) == wanted["unnamed"], notes
    if blank:
        assert ", ".join(str(place + 1) for place in blank[:5]) in notes, (blank, notes)
    _compare_rows(path, table, header, blank if book else [])


def _refused(function: Callable[..., Any], *given: Any, **options: Any) -> str:
    """What is said of something that is not taken."""
    try:
        function(*given, **options)
    except InputError as refused:
        return str(refused)
    return "taken"


def _numbered(table: Made) -> list[str]:
    return [f"column_{k}" for k in range(1, len(table.names) + 1)]


def _compare_rows(path: Path, table: Made, header: bool, blank: list[int]) -> None:
    """Every row stands where a reader of the sheet counts it; preparing asks, or takes what is said."""
    from bgn.inputs.file_format import FileFormat

    opened = open_table(str(path), FileFormat(header=header))
    target = table.target if header else f"column_{len(table.names)}"
    values = opened.read(opened.names).column(target).to_pylist()
    expected = [row[-1] for row in table.rows]
    for place in blank:
        expected.insert(place - header, None)
    assert values == expected
    options: dict[str, Any] = {"header": header, "target": target}
    if table.few:
        assert "task='regression' or task='classification'" in _refused(bgn.preparation.fit, path, **options)
        options["task"] = "classification"
    counts, fewest = table.classes, 5 if len(table.classes) > 2 else None
    prepared = bgn.preparation.fit(path, merge_rare=fewest if counts else None, **options)
    if counts and fewest:
        kept = {label for label, rows in counts.items() if rows >= fewest}
        merged = {*counts} - kept
        assert {*prepared.y.tolist()} == kept | ({"other"} if merged else set())
        assert {*prepared.preparation.merged} == merged
    assert len(prepared.rows) == len(table.rows)


def cases(first: int, count: int) -> Iterator[tuple[int, str | BaseException]]:
    """Yield the number of every case with what it was, or with what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            try:
                yield number, case(number, Path(folder))
            except Exception as error:
                yield number, error


def main() -> int:
    """Run as many cases as the command line says; say which of them failed."""
    reader = argparse.ArgumentParser("python -m tests.fuzz_findings", description=__doc__.partition("\n")[0])
    reader.add_argument("--cases", type=int, default=300)
    reader.add_argument("--first", "--seed", type=int, default=0)
    args = reader.parse_args()
    wrong = 0
    for number, problems in cases(args.first, args.cases):
        if isinstance(problems, BaseException):
            wrong += 1
            print(f"case {number}: {type(problems).__name__}: {str(problems)[:300]}", flush=True)
            if args.cases == 1:
                traceback.print_exception(problems)
    print(f"{args.cases} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
