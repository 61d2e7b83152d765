"""Text files as people write them: marks of decimals and thousands, units, words for gaps, encodings, ragged lines."""

from __future__ import annotations

import gzip
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bgn
from bgn.inputs import cells as numerals
from bgn.inputs.delimited import Delimited, TextStream
from bgn.inputs.errors import InputError, did_you_mean
from bgn.inputs.file_format import FileFormat, Numerals
from bgn.model.schema import Schema
from bgn.model_rows import DataFile
from bgn.persist import parts, read
from tests.command import call
from tests.raw_columns import number, prepared


def fitted(text: str | bytes, sep: str = ",", target: str | None = None, **options: Any) -> Any:
    raw = text if isinstance(text, bytes) else text.replace("|", sep).encode()
    table = Delimited(io.BufferedReader(io.BytesIO(raw)), "t.csv", FileFormat(**options))
    return table.read(table.names), table.reading


def spelled(number: Decimal, written: Numerals) -> str:
    """A number written so, from the definition: digits in groups of three from the decimal mark on."""
    whole, _, rest = f"{abs(number):f}".partition(".")
    groups = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)][::-1]
    text = written.thousands.join(groups) + (written.decimal + rest if rest else "")
    sign = "-" * (number < 0)
    return f"{sign}{text} {written.unit}" if written.unit == "%" else f"{sign}{written.unit}{text}"


ways = st.builds(
    Numerals,
    st.just("a"),
    st.sampled_from(".,"),
    st.sampled_from(["", ",", ".", " ", "'", "\u00a0", "\u202f"]),
    st.sampled_from(["", "$", "€", "USD", "%"]),
).filter(lambda written: written.decimal != written.thousands)
decimals = st.decimals(-(10**9), 10**9, places=2, allow_nan=False)


@given(st.lists(decimals, min_size=1, max_size=5), ways)
def test_numbers_are_read_as_they_were_written(numbers: list[Decimal], written: Numerals) -> None:
    text = pa.array([spelled(number, written) for number in numbers])
    assert numerals.read(text, written).to_pylist() == [float(number) for number in numbers]
    assert written.decimal in [way.decimal for way in numerals.readings(text, "a", None, None)]


@given(st.lists(decimals, min_size=1, max_size=5), ways, st.sampled_from(";\t|"))
def test_what_a_file_was_read_as_is_kept_and_read_again(numbers: list[Decimal], written: Numerals, sep: str) -> None:
    cells = [spelled(number, written) for number in numbers]
    table, met = fitted(f"a{sep}y\n" + "".join(f'"{cell}"{sep}1\n' for cell in cells))
    assert not met.problems  # two digits behind the mark leave no doubt
    assert table.column("a").to_pylist() == [float(number) for number in numbers]
    kept = prepared(number("a"), decimal=met.decimal, written=met.written)
    kept = parts.preparation_in(parts.preparation_out(kept, Schema(())), "preparation")
    for cell, wanted in zip(cells, numbers, strict=True):
        assert kept.apply({"a": [cell]}).X.tolist() == [[float(wanted)]]


@pytest.mark.parametrize(
    ("text", "sep", "value", "note"),
    [
        ('a|y\n"248,910"|1\n', ",", 248910, "'248,910' is read as 248910 (mark of thousands ',', as the file"),
        ("a|y\n248,910|1\n", ";", 248.91, "as the file separates by semicolons). If that is wrong"),
        ("a|b|y\n248,910|0.5|1\n", "\t", 248910, "as column 'b' is written"),
        ("a|b|y\n248,910|0,5|1\n", "\t", 248.91, "as column 'b' is written"),
        ("a|b|y\n1.234|0,5|1\n", ";", 1234, "as column 'b' is written"),
        ("a|b|y\n1.234|0.5|1\n", ";", 1.234, ""),
        ("a|y\n1.234|1\n", ",", 1.234, ""),
        ("a|y\n1,234,567|1\n", "\t", 1234567, "'1,234,567' is read as 1234567 (mark of thousands ',')."),
        ("a|y\n12,34|1\n", "\t", 12.34, "(decimal mark ',')"),
        ("a|y\n1.234,5|1\n", "\t", 1234.5, "(decimal mark ',', mark of thousands '.')"),
        ("a|y\n1 234|1\n", ",", 1234, "(mark of thousands ' ')"),
        ("a|y\n1'234.5|1\n", ",", 1234.5, 'mark of thousands "\'"'),
        ("a|y\n12.5 %|1\n", ",", 12.5, "'12.5 %' is read as 12.5 (unit '%')"),
        ("a|y\n-$3.50|1\n", ",", -3.5, "(unit '$')"),
        ("a|y\n1e400|1\n", ",", np.inf, "numbers beyond what a float can hold count as missing"),
        ("a|y\n$5|1\n€7|1\n", ",", "$5", ""),
        ("a|y\n5%|1\n7|1\n", ",", "5%", ""),
        ("a|y\n0xFFFFFFFFFFFFFFFF|1\n", ",", "0xFFFFFFFFFFFFFFFF", ""),
    ],
)  # fmt: skip
def test_marks_and_units_are_read_and_said(text: str, sep: str, value: Any, note: str) -> None:
    table, met = fitted(text, sep)
    assert table.column("a")[0].as_py() == value
    assert not met.problems
    assert note in "\n".join(met.notes)
    assert bool(met.notes) == bool(note)


@pytest.mark.parametrize(
    ("text", "sep", "message"),
    [
        ("a|y\n248,910|1\n", "\t", "'248,910' can be read in 2 ways; add thousands={'a': ','} for 248910 or decimal="),
        ("a|y\n1.234|1\n", ";", "'1.234' can be read in 2 ways; add decimal={'a': '.'} for 1.234 or thousands="),
        ("a|b|c|y\n1,234|0,5|0.5|1\n", "\t", "'1,234' can be read in 2 ways"),
    ],
)  # fmt: skip
def test_numbers_that_could_be_a_thousand_times_larger_need_an_answer(text: str, sep: str, message: str) -> None:
    _, met = fitted(text, sep)
    assert [*met.problems] == ["a"]
    assert message in met.problems["a"]
    assert met.problems["a"].count("for") == 2


def test_what_a_user_says_decides_it() -> None:
    text = "a|b|y\n248,910|1,234|1\n"
    tables = [fitted(text, "\t", **options)[0] for options in ({"decimal": ","}, {"thousands": ","}, {"decimal": "."})]
    assert [table.column("a")[0].as_py() for table in tables] == [248.91, 248910, 248910]
    table, met = fitted(text, "\t", decimal={"a": ","}, thousands={"b": ","})
    assert (table.column("a")[0].as_py(), table.column("b")[0].as_py(), met.problems) == (248.91, 1234, {})


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_later_file_is_read_as_at_fit_or_refused(tmp_path: Path, ending: str) -> None:
    rows = [f'"${1000 + 37 * i:,}.50",{i % 7}.5%,"{2000 * i + 1000:,}"' for i in range(40)]
    pack = gzip.compress if ending.endswith("gz") else bytes
    data = tmp_path / f"t.{ending}"
    data.write_bytes(pack("\n".join(["price,share,y", *rows]).encode()))
    errors = call("fit", data, "-t", "y", "--max-terms", 2, "--unit", "y=km", "-o", tmp_path / "m.json").err
    assert "'$1,000.50' is read as 1000.5 (mark of thousands ',', unit '$')" in errors
    assert "column 'y': '1,000' is read as 1000" in errors
    file = read(tmp_path / "m.json")
    assert file.units == {"price": "$", "share": "%", "y": "km"}
    whole = call("predict", tmp_path / "m.json", data).out
    alone = call("predict", tmp_path / "m.json", "-", stdin="\n".join(["price,share,y", rows[3]])).out
    assert alone.split()[1] == whole.split()[4]
    targets = DataFile(str(data), note=print).complete_rows(file).y
    assert targets.tolist() == [2000 * i + 1000 for i in range(40)]  # as at fit, too
    wrong = "price,share\n€5,1%\n"
    assert (
        "'€5' is not a number with mark of thousands ',', unit '$', as at fit"
        in call("predict", tmp_path / "m.json", "-", stdin=wrong, code=1).err
    )
    other = "price;share\n$1.000,50;0,5%\n"
    refused = call("predict", tmp_path / "m.json", "-", stdin=other, code=1).err
    assert "If this file writes numbers otherwise, say how: --decimal, --thousands." in refused
    again = call("predict", tmp_path / "m.json", "-", "--decimal", ",", "--thousands", ".", stdin=other).out
    assert (
        again.split()[1]
        == call("predict", tmp_path / "m.json", "-", stdin='price,share\n"$1,000.50",0.5%\n').out.split()[1]
    )


def test_texts_for_missing_values_are_said_and_can_be_changed() -> None:
    text = "a|b|y\n1|?|1\n-|unknown|2\n3| NA |3\n4|x|4\n"
    table, met = fitted(text)
    assert table.column("a").to_pylist() == [1, None, 3, 4]
    assert table.column("b").to_pylist() == [None, None, None, "x"]
    assert "read as missing: '-' (1) in 'a'; '?' (1), 'unknown' (1), 'NA' (1) in 'b'." in met.notes[0]
    table, met = fitted(text, missing_values=("-",))
    assert table.column("b").to_pylist() == ["?", "unknown", " NA ", "x"]
    assert table.column("a").null_count == 1
    table, met = fitted(text, missing_values=())
    assert (table.column("a").null_count, met.notes) == (0, ())


@pytest.mark.parametrize(
    "mark",
    [
        "k.A.",
        "K.A.",
        "k.a.",
        "keine Angabe",
        "N/a",
        "n.d.",
        ".",
        "???",
        "\\N",
        "#WERT!",
        "MISSING",
        "Unbekannt",
        "\u2014",
    ],
)
def test_the_usual_marks_are_missing_however_they_are_spelt(mark: str) -> None:
    table, met = fitted(f"a|b\n1|x\n{mark}|{mark}\n3|none\n", sep=";")
    assert table.column("a").to_pylist() == [1, None, 3]
    assert table.column("b").to_pylist() == ["x", None, "none"]  # in small letters, none is a value
    assert met.notes[0].startswith(f"read as missing: {mark!r} (1) in 'a'; {mark!r} (1) in 'b'. If")


def test_codes_keep_their_zeros(tmp_path: Path) -> None:
    text = "zip|month|late\n01067|01|0012.5\n80331|12|7\n?|03|8\n"
    table, met = fitted(text)
    assert table.column("zip").to_pylist() == ["01067", "80331", None]
    assert table.column("month").to_pylist() == [1, 12, 3]
    assert table.column("late").to_pylist() == [12.5, 7, 8]
    assert (
        "column 'zip': codes that begin with zeros are read as words (decimal={'zip': '.'} if they are" in met.notes[1]
    )
    assert fitted(text, decimal={"zip": "."})[0].column("zip").to_pylist() == [1067, 80331, None]
    longer = fitted("id\n00012345678901234567890\n12345678901234567890123\n")[0]
    assert longer.column("id").to_pylist()[0] == "00012345678901234567890"
    rows = [("01067" if i % 2 else "80331", i % 7, 5.0 * (i % 2) + i % 7 / 10) for i in range(60)]
    (tmp_path / "t.csv").write_text("zip,a,y\n" + "".join(f"{z},{a},{y}\n" for z, a, y in rows))
    done = call("fit", tmp_path / "t.csv", "-t", "y", "--max-terms", 2, "-o", tmp_path / "m.json")
    assert "codes that begin with zeros are read as words (--decimal 'zip=.' if they are numbers)" in done.err
    assert "zip = 01067" in done.out or "zip = 80331" in done.out
    both = [call("predict", tmp_path / "m.json", "-", stdin=f"zip,a\n{code},3\n").out for code in ("01067", "80331")]
    assert both[0] != both[1]  # a file of one row without a zero is read alike


def test_a_model_keeps_its_texts_for_missing_values(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,w,y\n" + "".join(f"{i},{'?' if i % 3 else 'x'},{i}\n" for i in range(30)))
    fit = "fit", tmp_path / "t.csv", "-t", "y", "--max-terms", 2, "-o", tmp_path / "m.json"
    assert "read as missing: '?' (20) in 'w'" in call(*fit, "--missing", "drop").err
    assert "missing" not in call(*fit, "--missing-values", "none").err
    assert read(tmp_path / "m.json").preparation.missing_values == ()
    assert "lack" not in call("predict", tmp_path / "m.json", tmp_path / "t.csv").err
    assert "read as missing: 'x' (10), '?' (20) in 'w'" in call(*fit, "--missing-values", "x").err
    call(*fit, "--missing-values", "none", "--missing-values", "x")
    assert read(tmp_path / "m.json").preparation.missing_values == ("x",)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 7, 2**16])
def test_encodings(encoding: str, size: int) -> None:
    text = "größe,y\n" + "Zoë,1\nJürgen,2\n" * 9
    stream = TextStream(io.BufferedReader(io.BytesIO(text.encode(encoding)), size), "t")
    assert b"".join(iter(lambda: stream.read(5), b"")).decode() == text
    table, met = fitted(text.encode(encoding))
    assert table.column("größe").to_pylist() == ["Zoë", "Jürgen"] * 9
    assert bool(met.notes) == (encoding != "utf-8-sig")


def test_two_encodings_in_one_file_are_refused() -> None:
    for raw in (
        "ä,y\n".encode() + "ö,1\n".encode("latin-1"),
        "ä,y\n".encode("latin-1") + "ö,1\n".encode(),
        b"\x81,y\n",
    ):
        with pytest.raises(InputError, match="neither UTF-8 nor Latin-1 text, or both, near line"):
            fitted(raw)


def test_ragged_lines_are_counted_and_named(tmp_path: Path) -> None:
    lines = ["a,b", "1,2", '"x\ny",2', "1", "", *["1,2,3"] * 6, "1,2"]
    for name, pack in (("t.csv", bytes), ("t.csv.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack("\r\n".join(lines).encode()))
        message = (
            "7 lines do not have the header's 2 fields: line 5 has 1, line 7 has 3, line 8 has 3, line 9 has 3, line 10"
        )
        with pytest.raises(InputError, match=message):
            bgn.preparation.fit(tmp_path / name, "b")
    assert "row 3 has 1 fields" in call("check", "-", stdin="\n".join(lines), code=1).err
    (tmp_path / "report.csv").write_text("Report of 2024\n\na;b\n" + "1,5;2\n" * 9)
    assert "stand further down? Then delete" in call("check", tmp_path / "report.csv", code=1).err


def test_all_problems_are_raised_at_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id\tday\tsize\ty\n" + "".join(f"k{i}\t2020-01-01\t1,234\tno\n" for i in range(60)))
    errors = call("fit", tmp_path / "t.csv", "-t", "y", "--task", "regression", code=1).err.split("\n")
    assert errors[0] == "bgn: 2 problems:"
    starts = ["column 'size'", "--target: column 'y'"]
    assert [line.startswith(f"  - {start}") for line, start in zip(errors[1:], starts, strict=True)] == [True] * 2
    errors = call("fit", tmp_path / "t.csv", "-t", "Y", "--drop", "days", code=1).err
    assert "Did you mean 'y'?" in errors
    assert "Did you mean 'day'?" in errors


def test_what_a_name_may_have_meant() -> None:
    assert did_you_mean("PRICE", ["size", "price"]) == " Did you mean 'price'?"
    assert did_you_mean("colour", ["size", "price"]) == ""
    assert did_you_mean("x" * 10**6, ["x" * 10**6 + "y"]) == ""
