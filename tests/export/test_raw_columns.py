"""Programs that read a raw table: dates and words as people keep them; and `bgn export` on a fitted file."""

from __future__ import annotations

import datetime
import json
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest

from bgn import Layer, Network, export
from bgn.model.dates import TimePart
from bgn.model.schema import Column, Schema
from bgn.persist import read
from tests import export_engines as engines
from tests.command import call

PARTS = ("year", "month", "weekday", "hour", "days")


def network_of_dates(zone=None, duration=True):
    """A network that asks about every part of a date, with thresholds on and around those of the rows below."""
    parts = [TimePart("sold on", part, "2006-01-15" if part == "days" else "", zone) for part in PARTS]
    parts += [TimePart("took", "duration")] if duration else []
    columns = tuple(Column(part.name, part_of=part, typical=5.0) for part in parts)
    cuts = {"year": [1968, 2006, 2007], "month": [1, 2, 12], "weekday": [1, 5, 7], "hour": [0.0, 13.0, 18.5, 23.9999],
            "days": [-0.5, 0.0, 0.7708333333333334, 400.0], "duration": [1.0, 1.25]}  # fmt: skip
    conditions = [(j, cut) for j, part in enumerate(parts) for cut in cuts[part.part]]
    weights = np.zeros((len(conditions), len(columns)))
    for row, (j, _) in zip(weights, conditions, strict=True):
        row[j] = 1.0
    layer = Layer(weights, [-cut for _, cut in conditions])
    return Network.of_layers([layer], 2.0 ** np.arange(len(conditions)), 0.0, schema=Schema(columns, "price"))


def dates(count, milliseconds=True, zone=None):
    rng = np.random.default_rng(0)
    first = datetime.datetime(1960, 1, 1)
    stamps = [first + datetime.timedelta(milliseconds=int(x)) for x in rng.integers(0, 70 * 365 * 86_400_000, count)]
    if not milliseconds:
        stamps = [stamp + datetime.timedelta(microseconds=int(rng.integers(1000))) for stamp in stamps]
    stamps[:6] = [datetime.datetime(2006, 1, 15, 18, 30), datetime.datetime(2006, 1, 15), datetime.datetime(2007, 1, 1),
                 datetime.datetime(1967, 12, 31, 23, 59, 59), datetime.datetime(2020, 3, 29, 1, 30), None]  # fmt: skip
    return [None if stamp is None else stamp.replace(tzinfo=zone) for stamp in stamps]


def table(stamps):
    took = [datetime.timedelta(days=k % 3, seconds=k * 3600) for k in range(len(stamps))]
    took[3] = None
    return pd.DataFrame({"sold on": pd.Series(stamps, dtype=object), "took": pd.Series(took, dtype="m8[us]")})


def test_dates_in_python():
    import zoneinfo

    paris = zoneinfo.ZoneInfo("Europe/Paris")
    for zone, kind in ((None, None), ("Europe/Paris", paris), ("UTC", datetime.UTC)):
        network, frame = network_of_dates(zone), table(dates(300, False, kind))
        names = {}
        exec(export.to_python(network), names)
        took = [None if time is pd.NaT else time.to_pytimedelta() for time in frame["took"]]
        cells = [{"sold on": one, "took": other} for one, other in zip(frame["sold on"], took, strict=True)]
        assert [names["predict"](row) for row in cells] == network.predict(frame).tolist()


def test_dates_in_duckdb():
    duckdb, pa = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    network, frame = network_of_dates(), table(dates(300, False))
    given = frame.assign(n=np.arange(len(frame)), **{"sold on": pd.to_datetime(frame["sold on"])})
    with duckdb.connect() as database:
        database.register("rows", pa.Table.from_pandas(given))
        query = export.to_sql(network, dialect="duckdb", keep=["n"])
        predictions = database.execute(f"SELECT prediction FROM ({query}) ORDER BY n").fetchall()
    assert [row[0] for row in predictions] == network.predict(frame).tolist()


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
def test_dates_in_dialects_that_are_translated(dialect):
    duckdb, sqlglot = pytest.importorskip("duckdb"), pytest.importorskip("sqlglot")
    network, frame = network_of_dates(duration=False), table(dates(300, False))[["sold on"]]
    given = frame.assign(n=np.arange(len(frame)), **{"sold on": pd.to_datetime(frame["sold on"])})
    (query,) = sqlglot.transpile(export.to_sql(network, dialect=dialect, keep=["n"]), read=dialect, write="duckdb")
    # BigQuery counts days of the week from 1 and DuckDB from 0, which the translation leaves as it is.
    query = query.replace("EXTRACT(DAYOFWEEK FROM", "1 + EXTRACT(DAYOFWEEK FROM")
    with duckdb.connect() as database:
        database.register("rows", given)
        predictions = database.execute(f"SELECT prediction FROM ({query}) ORDER BY n").fetchall()
    assert [row[0] for row in predictions] == network.predict(frame).tolist()


def test_dates_in_postgresql(tmp_path_factory):
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        server = engines.Postgres(folder)
        try:
            for zone, kind in ((None, "TIMESTAMP"), ("Europe/Paris", "TIMESTAMPTZ")):
                stamps = dates(200, False, datetime.UTC if zone else None)
                frame = table(stamps)
                if zone:
                    frame["sold on"] = pd.to_datetime(frame["sold on"], utc=True).dt.tz_convert(zone)
                network = network_of_dates(zone)
                lines = [
                    f"{k},{'' if stamp is None else stamp.isoformat()},{'' if took is pd.NaT else took.total_seconds()}"
                    for k, (stamp, took) in enumerate(zip(stamps, frame["took"], strict=True))
                ]
                query = export.to_sql(network, dialect="postgresql", keep=["n"])
                printed = server.sql(
                    "DROP TABLE IF EXISTS rows; DROP TABLE IF EXISTS given;\n"
                    f"CREATE TABLE given (n INT, s {kind}, t DOUBLE PRECISION);\n"
                    "COPY given FROM STDIN WITH (FORMAT csv);\n" + "\n".join(lines) + "\n\\.\n"
                    """CREATE TABLE rows AS SELECT n, s AS "sold on", t * INTERVAL '1 second' AS took FROM given;\n"""
                    f"COPY (SELECT prediction FROM ({query}) AS found ORDER BY n) TO STDOUT;\n"
                )
                assert [float(line) for line in printed.split()] == network.predict(frame).tolist()
        finally:
            server.stop()


def test_dates_in_sqlite_and_javascript_have_milliseconds(tmp_path):
    network, stamps = network_of_dates(duration=False), dates(300)
    want = network.predict(table(stamps)[["sold on"]]).tolist()
    database = sqlite3.connect(":memory:")
    database.execute('CREATE TABLE rows (n INTEGER, "sold on" TEXT)')
    database.executemany(
        "INSERT INTO rows VALUES (?, ?)",
        [(k, stamp and stamp.isoformat(timespec="milliseconds")) for k, stamp in enumerate(stamps)],
    )
    query = export.to_sql(network, dialect="sqlite", keep=["n"])
    assert [row[0] for row in database.execute(f"SELECT prediction FROM ({query}) ORDER BY n")] == want
    node = engines.needs("node")
    export.to_javascript(network, tmp_path / "model.mjs")
    given = json.dumps([stamp and stamp.isoformat(timespec="milliseconds") + "Z" for stamp in stamps])
    code = (
        "import('./model.mjs').then((m) => console.log(JSON.stringify(JSON.parse(process.argv[1])"
        ".map((text) => m.predict({'sold on': text === null ? null : new Date(text)})))))"
    )
    done = subprocess.run([node, "-e", code, given], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == want


def test_dates_that_a_target_cannot_read_are_said():
    with pytest.raises(ValueError, match="reads the weekday of 'sold on', which this dialect has no plain words for"):
        export.to_sql(network_of_dates())
    with pytest.raises(ValueError, match="by the clocks of Europe/Paris, which JavaScript has no plain words for"):
        export.to_javascript(network_of_dates("Europe/Paris"))
    header = export.to_c(network_of_dates("Europe/Paris"))
    assert "sold on weekday: the weekday of sold on, 1 for Monday to 7, by the clocks of Europe Paris." in header
    assert "took (days): took in days, with a fraction." in header


# -- the command -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model of a file with words, dates, truths and gaps, and that file."""
    folder = tmp_path_factory.mktemp("fitted")
    rng = np.random.default_rng(0)
    count = 300
    frame = pd.DataFrame({
        "rooms": rng.integers(1, 7, count).astype(float), "kind": rng.choice(["flat", "house", 'a "villa"'], count),
        "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, count), unit="D"),
        "garden": rng.choice(["true", "false"], count),
    })  # fmt: skip
    frame["price"] = (
        frame["rooms"]
        + 3.0 * (frame["kind"] == "house")
        + 2.0 * (frame["sold"].dt.month > 6)
        + (frame["garden"] == "true")
    )
    frame.loc[rng.random(count) < 0.1, "rooms"] = np.nan
    frame.loc[rng.random(count) < 0.1, "kind"] = None
    frame.to_csv(folder / "houses.csv", index=False)
    call("fit", folder / "houses.csv", "--target", "price", "--size", "8", "--out", folder / "model.json")
    return folder


def predicted(folder):
    done = call("predict", folder / "model.json", folder / "houses.csv", "--exact")
    return [float(line) for line in done.out.splitlines()[1:]]


def test_export_sql_reads_the_file_as_it_is(fitted):
    duckdb = pytest.importorskip("duckdb")
    done = call(
        "export", fitted / "model.json", "--to", "sql", "--dialect", "duckdb", "--table", "houses", "--keep", "n"
    )
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE houses AS SELECT row_number() OVER () AS n, * "
            f"FROM read_csv('{fitted / 'houses.csv'}', nullstr='')"
        )
        predictions = database.execute(f"SELECT prediction FROM ({done.out}) ORDER BY n").fetchall()
    assert [row[0] for row in predictions] == predicted(fitted)


def test_export_python_reads_a_row_of_the_file(fitted):
    names = {}
    exec(call("export", fitted / "model.json", "--to", "python", "--reasons", fitted / "houses.csv").out, names)
    frame = pd.read_csv(fitted / "houses.csv", parse_dates=["sold"])
    rows = frame.to_dict("records")
    for row in rows:
        row["sold"] = row["sold"].to_pydatetime()
    assert [names["predict"](row) for row in rows] == predicted(fitted)
    assert len(names["reasons"](rows[0])) == 3


def test_export_says_what_must_be_made_before(fitted, tmp_path):
    done = call("export", fitted / "model.json", "--to", "onnx", "-o", tmp_path / "model.onnx")
    network = read(fitted / "model.json").network
    parts = [column for j, column in enumerate(network.schema.columns) if column.part_of and j in network.features_used]
    assert parts
    assert f"to make before: {parts[0].name}: " in done.err
    session = engines.session_of((tmp_path / "model.onnx").read_bytes())
    assert parts[0].name in session.get_modelmeta().custom_metadata_map["to do before"]


@pytest.mark.parametrize(
    ("target", "suffix"),
    [("c", "h"), ("javascript", "mjs"), ("pmml", "xml"), ("excel", "xlsx"), ("json-schema", "json")],
)
def test_export_writes_files(fitted, tmp_path, target, suffix):
    if target == "excel":
        pytest.importorskip("openpyxl")
    out = tmp_path / f"model.{suffix}"
    assert (
        f"{target} written to {out}"
        in call("export", fitted / "model.json", "--to", target, "-o", out, "--size", "3").out
    )
    assert out.stat().st_size > 100


def test_export_refuses(fitted, tmp_path):
    model = fitted / "model.json"
    assert "--to onnx is no text" in call("export", model, "--to", "onnx", code=1).err
    assert "--dialect is no option of --to c" in call("export", model, "--to", "c", "--dialect", "duckdb", code=2).err
    assert "does not exist" in call("export", model, "--to", "c", "-o", tmp_path / "no" / "m.h", code=1).err
