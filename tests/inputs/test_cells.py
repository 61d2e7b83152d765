"""Kinds are decided once, at fit: what `fit` takes `predict` takes, and a row alone says what it says among others."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network
from bgn.cli.app import bgn as bgn_command
from bgn.inputs import prepare, text_types
from bgn.inputs.delimited import Delimited
from bgn.inputs.errors import InputError
from bgn.inputs.file_format import FileFormat
from bgn.inputs.files import OpenedData, open_table
from bgn.inputs.kinds import schema_of
from bgn.model.dates import TimePart
from bgn.model.schema import Column, Schema
from bgn.model_rows import ModelRows
from bgn.persist import ModelFile, parts, read
from bgn.preparation import Preparation
from tests.command import call
from tests.raw_columns import category, date, number, prepared

SPELLED = {
    "numbers": ["1", "-2.5", "1e5", "007", " 3", "4 ", "0x1F", "0xFFFFFFFFFFFFFFFF", "+5", "1.", ".5", "inf",
                "-0", "9" * 25],
    "wholes": ["0", "1", "0x1", "-3", "12345678901234567"],
    "commas": ["1,5", "1.5", "1,000", "1"],
    "truths": ["true", "False", "TRUE", "1", "0", " true"],
    "days": ["2020-02-03", "1969-12-31", " 2021-01-01", "0001-01-01"],
    "times": ["2020-02-03 04:05", "2020-02-03T04:05:06.123456789", "1969-12-31 23:59:59.999999999", "2020-02-03"],
    "zones": ["2020-02-03T23:30:00Z", "2020-02-03 23:30:00+02:00", "2020-02-03T23:30:00.123456789-0130"],
    "ambiguous": ["03/02/2021", "2021-02-03", "13/12/2020"],
    "hours": ["12:30", "23:59:59"],
    "words": ["flat", " flat", "007", "1e5", "true", "2020-01-01", "a,b", 'say "no"', "nan ", "\u00e4", "\x1b[31m"],
}  # fmt: skip
MISSING = ["", "NA", " ", "nan"]


@st.composite
def columns(draw: st.DrawFn) -> list[list[str]]:
    rows = draw(st.integers(1, 6))
    count = draw(st.integers(1, 4))
    columns = []
    for _ in range(count):
        spelled = [
            text
            for kind in draw(st.lists(st.sampled_from([*SPELLED]), min_size=1, max_size=2))
            for text in SPELLED[kind]
        ]
        columns.append(
            draw(
                st.lists(st.sampled_from(spelled + draw(st.sampled_from([[], MISSING]))), min_size=rows, max_size=rows)
            )
        )
    return columns


def written(table: list[list[str]]) -> bytes:
    frame = pd.DataFrame({f"c{i}": column for i, column in enumerate(table)})
    return frame.to_csv(index=False, quoting=1).encode()


def opened(raw: bytes, decimal: str, form: str | None = None) -> Delimited:
    return Delimited(io.BufferedReader(io.BytesIO(raw)), "t.csv", FileFormat(decimal=decimal, date_format=form))


def features(file: ModelFile, raw: bytes) -> Any:
    """What a model reads of a text file: its rows block by block, and which lack a value."""
    rows = ModelRows(file, OpenedData("t.csv", opened(raw, ".")), every=True, note=print)
    blocks = [block for _, _, block in rows.blocks()]
    return np.concatenate([np.where(block.complete[:, None], block.X, np.nan) for block in blocks])


@given(columns(), st.sampled_from([".", ","]), st.sampled_from([None, "%d/%m/%Y"]), st.booleans())
@settings(max_examples=100)
def test_what_fit_takes_predict_takes_and_a_row_alone_is_the_same(
    table: list[list[str]], decimal: str, form: str | None, alone: bool
) -> None:
    raw = written(table)
    whole = opened(raw, decimal, form)
    try:
        whole_table = whole.read(whole.names)
        typed = prepare.to_plain_types(whole_table, ())
    except InputError:
        return
    typed = typed.drop_columns(prepare.empty_columns(typed))
    if not typed.num_columns:
        return
    schema = schema_of(typed)
    schema = prepare.one_hot_schema(schema) if alone else schema
    preparation = Preparation(schema, whole.reading.decimal, whole.reading.written, date_format=form)
    X = prepare.read_as_at_fit(preparation, typed).X
    plain = Schema.of_numbers(len(schema), schema.names)
    kept = parts.preparation_out(preparation, plain)  # as a file has it
    preparation = parts.preparation_in(json.loads(json.dumps(kept)), "preparation")
    if "columns" not in kept:  # they are the network's
        preparation = replace(preparation, schema=schema)
    network = Network.of_layers([Layer(np.ones((1, len(schema))), [0.0])], [1.0], 0.0, schema.names)
    file = ModelFile(network, "0", preparation=preparation)
    X[np.isnan(X).any(axis=1)] = np.nan
    np.testing.assert_array_equal(features(file, raw), X)
    for i, row in enumerate(zip(*table, strict=True)):
        np.testing.assert_array_equal(features(file, written([[cell] for cell in row])), X[i : i + 1])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (["0x1", "2"], [1.0, 2.0]),
        ([" 1", "2 ", " "], [1.0, 2.0, None]),
        (["1", "true"], [True, True]),
        (["1", "0"], [1.0, 0.0]),
        (["007", "x"], ["007", "x"]),
        (["1,000"], ["1,000"]),
        (["yes", "no"], ["yes", "no"]),
        (["2020-01-01T12:00:00+02:00", "2020-01-01 12:00Z"], [10, 12]),
        (["2020-01-01T12:00:00.123456789"], [12]),
        (["2020-01-01T12:00Z", "2020-01-01"], ["2020-01-01T12:00Z", "2020-01-01"]),
    ],
)
def test_what_a_column_of_text_holds(text: list[str], values: list[Any]) -> None:
    column = text_types.guess_type(pa.chunked_array([text])).to_pylist()
    assert [value.hour if isinstance(value, datetime.datetime) else value for value in column] == values


def test_the_format_given_comes_before_iso() -> None:
    column = text_types.guess_type(pa.chunked_array([["2020-03-02", "2020-13-02"]]), date_format="%Y-%d-%m").to_pylist()
    assert [(day.day, day.month) for day in column] == [(3, 2), (13, 2)]


def days(zone: str | None) -> Column:
    part = TimePart("c", "days", "2020-01-01", zone)
    return Column(part.name, part_of=part)


def test_columns_are_read_as_at_fit_however_they_are_spelled() -> None:
    def values(column: Any, text: list[Any]) -> list[float]:
        return prepare.read_as_at_fit(prepared(column, decimal=","), pa.table({"c": text})).X[:, 0].tolist()

    assert values(number("c", boolean=True), ["yes", "NO", " True", "0", "1.0"]) == [1, 0, 1, 0, 1]
    assert values(number("c"), ["1,5", " 2", "True", "0x10"]) == [1.5, 2, 1, 16]
    assert values(number("c"), [True, False]) == [1, 0]
    assert np.isnan(values(number("c"), [None, None])).all()
    assert np.isnan(values(date("c", ("hour",), zone=True), [None])).all()
    assert values(category("c", ("1", "x")), [1, 2]) == [1, 0]
    assert values(category("c", ("1", "x")), [1.0, np.nan])[0] == 1
    assert values(category("c", ("flat",)), ["flat", " flat ", "house"]) == [1, 1, 0]
    with pytest.raises(InputError, match="is not a number"):
        values(number("c"), ["1.5"])
    for zone, text in (("UTC", "2020-01-01"), (None, "2020-01-01T00:00Z")):
        with pytest.raises(InputError, match=f"not a date or time stamp {'with' if zone else 'without'} a time zone"):
            values(((days(zone),), None), [text])
    berlin = pa.chunked_array([pa.array([datetime.datetime(2020, 7, 1)], pa.timestamp("ns", "Europe/Berlin"))])
    read = prepare.read_as_at_fit(prepared(date("c", ("hour",), zone=True)), pa.table({"c": berlin}))
    assert read.X.tolist() == [[0.0]]
    with pytest.raises(InputError, match="has a time zone, and had none at fit"):
        prepare.read_as_at_fit(prepared(((days(None),), None)), pa.table({"c": berlin}))


@pytest.fixture
def visits() -> pd.DataFrame:
    """A table with every kind of column, whose text only the type decided at fit makes readable."""
    generator = np.random.default_rng(0)
    rows = 60
    when = pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(generator.integers(0, 10**16, rows), "ns")
    frame = pd.DataFrame(
        {
            "when": when.tz_convert("Europe/Berlin"),
            "code": generator.choice(["007", "1e5", "x"], rows),
            "size": generator.integers(0, 9, rows) / 2,
            "open": generator.random(rows) < 0.5,
        }
    )
    frame["y"] = 10.0 * (when.hour >= 12) + 5.0 * (frame["code"] == "007") + frame["open"] + (frame["size"] > 2)
    return frame


def test_a_model_reads_the_table_it_was_fitted_to_in_every_format(visits: pd.DataFrame, tmp_path: Path) -> None:
    visits.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    visits.to_parquet(tmp_path / "t.parquet")
    visits.to_csv(tmp_path / "t.csv.gz", index=False, sep=";", decimal=",")
    fit = "-t", "y", "--max-terms", 4, "-q", "--validation", 0, "--test", 0
    call("fit", tmp_path / "t.csv", *fit, "--decimal", ",", "-o", tmp_path / "m.json")
    call("fit", tmp_path / "t.parquet", *fit, "-o", tmp_path / "p.json")
    assert read(tmp_path / "m.json").preparation.decimal == ","
    first = call("predict", tmp_path / "m.json", tmp_path / "t.csv").out
    assert len(set(first.split())) > 4
    for data in ("t.csv", "t.csv.gz", "t.parquet"):
        assert call("predict", tmp_path / "m.json", tmp_path / data).out == first, data
    # A column with a zone is asked about by the clocks of that zone, the offsets of a text file in UTC.
    assert len(call("predict", tmp_path / "p.json", tmp_path / "t.parquet").out.split()) == len(first.split())
    lines = (tmp_path / "t.csv").read_text().splitlines()
    for row in (0, 7):
        alone = "\n".join([lines[0], lines[1 + row]])
        assert call("predict", tmp_path / "m.json", "-", stdin=alone).out.split() == [
            "prediction",
            first.split()[1 + row],
        ]
    naive = visits.assign(when=visits["when"].dt.tz_localize(None))
    naive.to_excel(tmp_path / "n.xlsx", index=False)
    naive.to_csv(tmp_path / "n.csv", index=False)
    assert "with a time zone" in call("predict", tmp_path / "m.json", tmp_path / "n.csv", "--decimal", ".", code=1).err
    call("fit", tmp_path / "n.xlsx", *fit, "-o", tmp_path / "n.json")
    outputs = [call("predict", tmp_path / "n.json", tmp_path / name).out for name in ("n.xlsx", "n.csv")]
    assert outputs[0] == outputs[1]


# -- files that cannot be read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"a," + b"x" * 140_000 + b"\n1,2\n", "the header line cannot be read (field larger"),
        ("t.csv", b'"a,b\n' + b"1,2\n" * 5_000_000, "header line of more than 16,777,216 bytes; is a quote left open?"),
        ("t.csv", b"a,y\n1,2\n3\n4,5\n", "1 line does not have the header's 2 fields: line 3 has 1; is"),
        ("t.csv", b'a,y\n1,"2\n' + b"3,4\n" * 600_000, "is a quote left open?"),
        ("t.csv", b"a,y\n\xc3\xa4,2\n\xff,3\n", "neither UTF-8 nor Latin-1 text, or both, near line 3;"),
        ("t.csv.gz", gzip.compress(b"a,y\n1,2\n" * 90_000)[:-30], "damaged or not whole (Compressed file ended"),
        ("t.csv.gz", gzip.compress(b"a,y\n1,2\n" * 90_000)[:9], "damaged or not whole"),
        ("t.csv.gz", gzip.compress(b"a,y\n1,2\n")[:10] + b"\xff" * 40, "damaged or not whole"),
        ("t.csv", b",".join(b"%d" % i * 90_000 for i in range(9)) + b"\n", "has no column 'y'; it has '0000"),
    ],
    ids=["field", "header", "ragged", "quote", "bytes", "cut", "cut early", "noise", "names"],
)  # fmt: skip
def test_a_damaged_table_is_refused_in_one_short_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    limit = csv.field_size_limit(131_072)  # Python's own, which others in this process may have raised
    errors = call("fit", tmp_path / name, "-t", "y", "-q", code=1).err
    csv.field_size_limit(limit)
    assert message in errors
    assert len(errors) < 1000


def test_carriage_returns_end_lines(tmp_path: Path) -> None:
    for end in ("\r", "\n", "\r\n"):
        raw = f'"a\r\nb",y{end}1,2{end}3,4{end}'.encode()
        for stream in (io.BufferedReader(io.BytesIO(raw)), io.BufferedReader(io.BytesIO(raw), 1)):
            table = Delimited(stream, "t")
            assert table.names == ("a\r\nb", "y")
            assert table.read(["y"]).column("y").to_pylist() == [2.0, 4.0]


def test_a_parquet_file_that_is_replaced_while_it_is_open_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": range(5000)}).to_parquet(path, row_group_size=500)
    table = open_table(str(path))
    pd.DataFrame({"a": range(10)}).to_parquet(tmp_path / "other.parquet")
    (tmp_path / "other.parquet").replace(path)
    for attempt in (lambda: table.read(["a"]), lambda: list(table.blocks(["a"]))):
        with pytest.raises(OSError, match=r"rows\.parquet changed while it was read"):
            attempt()


def test_a_text_file_that_is_cut_short_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 700_000)
    for attempt in (lambda table: table.read(["a"]), lambda table: list(table.blocks(["a"]))):
        table = open_table(str(path))
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size - 4)
        with pytest.raises(OSError, match=r"rows\.csv changed while it was read"):
            attempt(table)


@pytest.fixture(scope="module")
def blanks(tmp_path_factory):
    """A table with blanks after its separators, and the model that was fitted to it."""
    folder = tmp_path_factory.mktemp("blanks")
    rows = [f" {i}, {city}, {i * (1 + (city == 'Rome'))}" for i in range(40) for city in ("Rome", "Oslo")]
    (folder / "rows.csv").write_text("\n".join(["n, city, y", *rows]))
    call("fit", folder / "rows.csv", "-t", "y", "--max-terms", 2, "-q", "-o", folder / "m.json")
    return folder


def test_blanks_around_a_text_make_no_other_text(blanks):
    assert [column.categories for column in read(blanks / "m.json").network.schema.columns[1:]] == [("Oslo", "Rome")]
    first, second = call("predict", blanks / "m.json", "-", stdin="n,city\n2,Oslo\n2,  Oslo \n").out.split()[1:]
    assert first == second


def test_what_is_kept_says_its_zone_or_that_it_cannot_be_text(blanks, tmp_path):
    times = pd.to_datetime(["2021-01-01 10:00:00.0", "2021-07-01 10:00:00.5"]).tz_localize("Europe/Paris")
    rows = pd.DataFrame({"n": [1.0, 2.0], "city": ["Rome", "Oslo"], "t": times, "l": [[1], [2]]})
    rows.to_parquet(tmp_path / "rows.parquet")
    kept = call("predict", blanks / "m.json", tmp_path / "rows.parquet", "--keep", "t").out
    assert "2021-01-01 10:00:00" in kept
    assert kept.count("+0100") == kept.count("+0200") == 1
    errors = call("predict", blanks / "m.json", tmp_path / "rows.parquet", "--keep", "l", code=1).err
    assert "cannot be written as text; write to a .parquet file" in errors


def test_nothing_is_written_over_the_data_or_over_another_output(blanks, tmp_path):
    before = (blanks / "rows.csv").read_bytes()
    fit = ("fit", blanks / "rows.csv", "-t", "y", "--max-terms", 1, "-q")
    assert "the data and --out are the same file" in call(*fit, "-o", blanks / "rows.csv", code=1).err
    both = ("-o", tmp_path / "same", "--report", tmp_path / "same")
    assert "--out and --report are the same file" in call(*fit, *both, code=1).err
    assert (blanks / "rows.csv").read_bytes() == before
    assert "--out: [Errno 9]" in call(*fit, "-o", "/dev/fd/99", code=1).err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_model_that_cannot_be_kept_is_shown(blanks):
    done = CliRunner().invoke(
        bgn_command, ["fit", str(blanks / "rows.csv"), "-t", "y", "--max-terms", "1", "-q", "-o", "/dev/full"]
    )
    assert done.exit_code == 1
    assert "squared error on the training rows" in done.stdout
    assert "--out /dev/full: No space left on device; it was not written." in done.stderr
