"""Damaged tables through `fit`, `predict`, `explain` and `report`: no traceback, no hang, no half file.

    python -m tests.fuzz_tables --cases 1000
    python -m tests.fuzz_tables --first 123 --cases 1     # one case again

A case is made from its number alone. A few of them run with the tests.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import json
import random
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from bgn.cli.app import bgn as program
from bgn.persist import read

SECONDS = 300  # of one case; a hang ends the process with every thread's stack
LONGEST_LINE = 1000  # letters in a line on standard error
ODD = (
    "", " ", "NA", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e400", "-0", "0x1F", "0xFFFFFFFFFFFFFFFFF",
    "1,5", "1_000", "9" * 40, "1" * 400, "--1", "1e", "\u0661\u0662", "true", "Yes", "2020-02-30",
    "2020-01-01T00:00:00.123456789Z", "9999-12-31T23:59:59.999999999",
    "0000-00-00", "12:30", "\x1b[31m", "\u202e", "'", "=1+1", "{}", "\\N",
    "x" * 3000,
)  # fmt: skip


def table(chance: random.Random, rows: int = 40) -> pd.DataFrame:
    """Return a small table with every kind of column."""
    generator = np.random.default_rng(chance.randrange(2**32))
    frame = pd.DataFrame(
        {
            "a": generator.normal(size=rows).round(3),
            "n": generator.integers(0, 9, rows),
            "w": generator.choice(["red", "green, dark", 'the "blue"'], rows),
            "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 10**7, rows), "s"),
            "f": generator.random(rows) < 0.5,
        }
    )
    frame["y"] = 3.0 * (frame["a"] > 0) + (frame["w"] == "red") + frame["f"] + generator.normal(0, 0.1, rows).round(3)
    return frame


# -- damage --------------------------------------------------------------------------------------------------------


def flipped(raw: bytes, chance: random.Random) -> bytes:
    """Change some bytes."""
    content = bytearray(raw)
    for _ in range(chance.choice((1, 2, 8, 64))):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    return bytes(content)


def cut(raw: bytes, chance: random.Random) -> bytes:
    """Lose the end."""
    return raw[: chance.randrange(len(raw) + 1)]


def moved(raw: bytes, chance: random.Random) -> bytes:
    """Lose a stretch, or have it twice, or have noise in its place."""
    start = chance.randrange(len(raw) + 1)
    end = min(len(raw), start + chance.choice((1, 5, 50, 500)))
    return raw[:start] + chance.choice((b"", raw[start:end] * 2, chance.randbytes(end - start))) + raw[end:]


def sprinkled(raw: bytes, chance: random.Random) -> bytes:
    """Put what means something to a reader where it does not belong."""
    for _ in range(chance.choice((1, 3, 20))):
        at = chance.randrange(len(raw) + 1)
        what = chance.choice(
            (b'"', b",", b"\0", b"\r", b"\n", b"\r\n", b";", b"\t", b"\\", b"'", b"\xff", b"\xef\xbb\xbf")
        )
        raw = raw[:at] + what * chance.choice((1, 1, 1, 100)) + raw[at:]
    return raw


def celled(raw: bytes, chance: random.Random) -> bytes:
    """Write odd values into cells, the header's among them; leave some out."""
    lines = raw.split(b"\n")
    for _ in range(chance.choice((1, 4, 40))):
        row = chance.randrange(len(lines)) if chance.random() < 0.9 else 0
        fields = lines[row].split(b",")
        fields[chance.randrange(len(fields))] = chance.choice(ODD).encode()
        if chance.random() < 0.1:
            del fields[chance.randrange(len(fields))]
        lines[row] = b",".join(fields)
    return b"\n".join(lines)


def column(raw: bytes, chance: random.Random) -> bytes:
    """Write one odd value all over a column."""
    place, value = chance.randrange(6), chance.choice(ODD).encode()
    lines = [line.split(b",") for line in raw.split(b"\n")]
    for fields in lines[1:]:
        if place < len(fields) and chance.random() < 0.95:
            fields[place] = value
    return b"\n".join(map(b",".join, lines))


def huge(raw: bytes, chance: random.Random) -> bytes:
    """Have a field, or very many, of a size nobody expects."""
    lines = raw.split(b"\n")
    row = chance.choice((0, min(1, len(lines) - 1), len(lines) - 1))
    lines[row] += chance.choice((b"x" * 140_000, b"," * 5000, b'"' + b"y" * 1_200_000, b"," + b"1" * 70_000))
    return b"\n".join(lines)


def encoded(raw: bytes, chance: random.Random) -> bytes:
    """Be written in another way."""
    text = raw.decode("utf-8", "replace")
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-16-le"),
        lambda: text.replace("red", "r\u00e9d").encode("latin-1", "replace"),
        lambda: b"\xef\xbb\xbf" + raw,
        lambda: raw.replace(b"\n", b"\r"),
        lambda: raw.replace(b"\n", b"\r\n"),
        lambda: raw.replace(b",", chance.choice((b";", b"\t", b"|", b" "))),
        lambda: raw.replace(b"n", chance.choice((b"a", b"", b"y")), 1),
        lambda: raw.split(b"\n")[0] + chance.choice((b"", b"\n", b"\n\n\n")),
        lambda: chance.choice((b"", b"\n", b"\0", b'"', b"PK", b"PAR1", chance.randbytes(300))),
        lambda: b"\n".join(raw.split(b"\n")[: chance.choice((2, 3, 4))]),
    )
    return chance.choice(ways)()


TEXT = (flipped, cut, moved, sprinkled, celled, celled, column, huge, encoded)
BINARY = (flipped, cut, moved)


def several(raw: bytes, ways: tuple[Callable[[bytes, random.Random], bytes], ...], chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 4))):
        raw = chance.choice(ways)(raw, chance)
    return raw


def parquet(frame: pd.DataFrame, chance: random.Random) -> bytes:
    """Return a Parquet file with odd types, damaged or whole."""
    columns = {name: pa.array(frame[name]) for name in frame}
    rows = len(frame)
    odd: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array([[1]] * rows),
        lambda: pa.array([{"x": 1}] * rows),
        lambda: pa.array([b"\xff"] * rows),
        lambda: pa.nulls(rows),
        lambda: pa.array(frame["w"]).dictionary_encode(),
        lambda: pa.array(frame["n"]).cast(pa.decimal128(30, 2)),
        lambda: pa.array(frame["t"]).cast(pa.timestamp("ns", "Asia/Tokyo")),
        lambda: pa.array(frame["n"].to_numpy(), pa.duration("s")),
        lambda: pa.array(np.full(rows, chance.choice((np.nan, np.inf, 1e308, -1e308, 5e-324)))),
        lambda: pa.array([2**62 + i for i in range(rows)]),
        lambda: pa.array([chance.choice(ODD) for _ in range(rows)]),
        lambda: pa.array(np.zeros(rows, np.float16)),
    )
    for _ in range(chance.choice((0, 1, 3))):
        columns[chance.choice([*columns])] = chance.choice(odd)()
    names = [
        chance.choice(("", "a", "y", "__index_level_0__", "\x1b")) if chance.random() < 0.03 else name
        for name in columns
    ]
    out = io.BytesIO()
    pq.write_table(
        pa.table([*columns.values()], names=names), out, compression=chance.choice(("snappy", "none", "gzip"))
    )
    return out.getvalue() if chance.random() < 0.3 else several(out.getvalue(), BINARY, chance)


def workbook(frame: pd.DataFrame, chance: random.Random) -> bytes:
    """Return a workbook with odd cells, damaged inside or outside, or whole."""
    cells = frame.astype(object)
    for _ in range(chance.choice((0, 3, 30))):
        value: Any = chance.choice(
            (*(odd for odd in ODD if odd.isprintable()), True, 7, 1e308, None, pd.Timestamp("2020-01-01"))
        )
        cells.iat[chance.randrange(len(cells)), chance.randrange(cells.shape[1])] = value
    out = io.BytesIO()
    cells.to_excel(out, index=False)
    way = chance.random()
    if way < 0.3:
        return out.getvalue()
    if way < 0.6:
        return several(out.getvalue(), BINARY, chance)
    again = io.BytesIO()
    with zipfile.ZipFile(out) as whole, zipfile.ZipFile(again, "w") as damaged:
        victim = chance.choice(whole.namelist())
        for name in whole.namelist():
            content = whole.read(name)
            if name == victim:
                content = chance.choice((b"", several(content, TEXT, chance), several(content, BINARY, chance)))
            if name != victim or chance.random() < 0.8:
                damaged.writestr(name, content)
    return again.getvalue()


def damaged(chance: random.Random) -> tuple[str, bytes]:
    """Return a table's suffix and content."""
    frame = table(chance, chance.choice((3, 40, 40)))
    suffix = chance.choice(("csv", "csv", "csv", "csv", "tsv", "csv.gz", "csv.gz", "parquet", "parquet", "xlsx"))
    if suffix == "parquet":
        return suffix, parquet(frame, chance)
    if suffix == "xlsx":
        return suffix, workbook(frame, chance)
    text = several(frame.to_csv(index=False).encode(), TEXT, chance)
    if suffix == "csv.gz":
        return suffix, several(gzip.compress(text), BINARY, chance) if chance.random() < 0.6 else gzip.compress(text)
    return suffix, text


# -- what must hold ------------------------------------------------------------------------------------------------


def run(folder: Path, arguments: list[str], outputs: list[str]) -> int:
    """Run a command; return its exit code once all that must hold has been seen to."""
    for name in outputs:
        (folder / name).unlink(missing_ok=True)
    before = {path.name for path in folder.iterdir()}
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a shell, not as in the tests
        done = CliRunner().invoke(program, arguments, prog_name="bgn")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    lines = done.stderr.splitlines()
    assert done.exit_code in (0, 1, 2), done.stderr
    assert all(len(line) <= LONGEST_LINE for line in lines), max(map(len, lines))
    assert "Traceback" not in done.stderr
    if done.exit_code == 1:
        assert len([line for line in lines if not line.startswith("note: ")]) >= 1, done.stderr
        assert [line[:5] for line in lines if not line.startswith(("note: ", "  - "))] == ["bgn: "], done.stderr
    there = {path.name for path in folder.iterdir()}
    assert there <= before | set(outputs), there - before
    for name in outputs:
        if name in there:
            whole(folder / name)
        else:
            assert done.exit_code != 0, f"{name} was not written"
    return done.exit_code


def whole(path: Path) -> None:
    """Raise unless a file that was written is whole."""
    if path.suffix == ".json":
        read(path)
    elif path.suffix == ".html":
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    else:
        pd.read_csv(path, skip_blank_lines=False)


def case(number: int, folder: Path, model: Path) -> list[int]:
    """Run one damaged table through the commands; return their exit codes."""
    chance = random.Random(number)
    suffix, content = damaged(chance)
    data = folder / f"table.{suffix}"
    data.write_bytes(content)
    model_out, page_out, rows_out = (str(folder / name) for name in ("m.json", "r.html", "p.csv"))
    fit = ["fit", str(data), "-t", "y", "--max-terms", "2", "--replacements", "0", "--max-features", "1"]
    fit += ["--folds", "0"]  # to be quick
    fit += ["--missing", chance.choice(("keep", "keep", "keep", "refuse", "drop", "impute"))]
    fit += ["--direction", "debiased"] if chance.random() < 0.1 else []
    own = str(model.parent / "own.json")
    codes = [
        run(folder, [*fit, "-o", model_out, "--report", page_out], ["m.json", "r.html"]),
        run(folder, ["predict", str(model), str(data), "-o", rows_out], ["p.csv"]),
        run(folder, ["explain", str(model), str(data), "-o", rows_out], ["p.csv"]),
        run(folder, ["report", str(model), str(data), "-o", page_out], ["r.html"]),
    ]
    if run(folder, [*fit, "-o", own], []) == 0:  # what fit takes, predict takes
        assert run(folder, ["predict", own, str(data), "-o", rows_out], ["p.csv"]) == 0, (
            "fit takes it, predict does not"
        )
    data.unlink()
    return codes


def cases(first: int, count: int) -> Iterator[tuple[int, list[int] | BaseException]]:
    """Yield the number of every case with its exit codes, or with what went wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "work", Path(temporary) / "home"
        folder.mkdir()
        home.mkdir()
        table(random.Random(0)).to_csv(home / "t.csv", index=False)
        fit = [
            "fit",
            str(home / "t.csv"),
            "-t",
            "y",
            "--max-terms",
            "4",
            "-o",
            str(home / "model.json"),
        ]
        done = CliRunner().invoke(program, fit, prog_name="bgn")
        assert done.exit_code == 0, done.stderr
        for number in range(first, first + count):
            try:
                yield number, case(number, folder, home / "model.json")
            except Exception as error:
                yield number, error
                for path in folder.iterdir():
                    path.unlink()


def main() -> int:
    """Run as many cases as the command line says; say which of them failed."""
    reader = argparse.ArgumentParser("python -m tests.fuzz_tables", description=__doc__.partition("\n")[0])
    reader.add_argument("--cases", type=int, default=1000)
    reader.add_argument("--first", "--seed", type=int, default=0)
    args = reader.parse_args()
    wrong, codes, started, slowest = 0, dict[str, int](), time.perf_counter(), (0.0, 0)
    last = started
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    for number, problems in cases(args.first, args.cases):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        now = time.perf_counter()
        slowest, last = max(slowest, (now - last, number)), now
        if isinstance(problems, BaseException):
            wrong += 1
            print(f"case {number}: {type(problems).__name__}: {str(problems)[:300]}", flush=True)
            if args.cases == 1:
                raise problems
        else:
            codes[json.dumps(problems)] = codes.get(json.dumps(problems), 0) + 1
    faulthandler.cancel_dump_traceback_later()
    seconds, (longest, slow) = time.perf_counter() - started, slowest
    print(f"{args.cases} cases, {wrong} wrong, {seconds:.0f} s; the slowest, {slow}, {longest:.1f} s")
    print("exit codes of fit, predict, explain, report:", dict(sorted(codes.items(), key=lambda item: -item[1])))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
