"""Times of day, and raw frames whose dates and categories are still words."""

from __future__ import annotations

import datetime
import json
import re
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bgn
from bgn import GrowthSettings, Layer, Network, export
from bgn.model.dates import TimePart
from bgn.model.schema import Column, Schema
from tests import export_engines as engines
from tests.command import call

QUICK = {"max_terms": 3, "max_features": 1, "random_state": 0, "growth": GrowthSettings(max_replacements=2)}


def written(rows: int = 240) -> pd.DataFrame:
    """A table as a file has it: text for times and dates."""
    rng = np.random.default_rng(0)
    minutes, days = rng.integers(0, 24 * 60, rows), rng.integers(0, 700, rows)
    table = pd.DataFrame(
        {
            "opens": [f"{minute // 60}:{minute % 60:02}" for minute in minutes],
            "since": [str(datetime.date(2020, 1, 1) + datetime.timedelta(int(day))) for day in days],
            "kind": rng.choice(["bar", "shop"], rows),
        }
    )
    table["visits"] = (
        10.0 * ((minutes >= 510) & (minutes < 1050)) + 3.0 * (days >= 366) + 2.0 * (table["kind"] == "bar")
    )
    table.loc[::19, "opens"], table.loc[::23, "since"] = None, None
    return table


def clocks(text: pd.Series) -> list[datetime.time | None]:
    return [None if cell != cell or cell is None else datetime.time.fromisoformat(cell.zfill(5)) for cell in text]


def test_every_library_has_the_same_times_of_day():
    table = written()
    times, y = clocks(table["opens"]), table["visits"]
    frames = [
        pd.DataFrame({"opens": pd.Series(times, dtype=object), "kind": table["kind"]}),
        pl.DataFrame({"opens": times, "kind": table["kind"].tolist()}),
        pa.table({"opens": pa.array(times, pa.time32("s")), "kind": table["kind"].tolist()}),
        pa.table({"opens": pa.array(times, pa.time64("ns")), "kind": table["kind"].tolist()}),
    ]
    models = [bgn.BGNRegressor(**QUICK).fit(frame, y) for frame in frames]
    text = bgn.equation(models[0])
    assert "[opens >= 08:30" in text
    assert "[opens < 17:30" in text
    assert {bgn.equation(model) for model in models} == {text}
    want = models[0].predict(frames[0])
    for model, frame in zip(models, frames, strict=True):
        np.testing.assert_array_equal(model.predict(frame), want)
        np.testing.assert_array_equal(model.predict(table[["opens", "kind"]]), want)  # still text


def test_a_file_with_times_is_fitted_in_a_shell_and_read_in_python(tmp_path: Path):
    table, file, model = written(), tmp_path / "visits.csv", tmp_path / "m.json"
    table.to_csv(file, index=False)
    call("fit", file, "-t", "visits", "--task", "regression", "--size", 6, "--max-features", 1, "-o", model)
    call("predict", model, file, "-o", tmp_path / "p.csv")
    predicted = pd.read_csv(tmp_path / "p.csv")["prediction"].to_numpy()
    loaded, raw = bgn.load(model), pd.read_csv(file)
    np.testing.assert_array_equal(loaded.predict(raw), predicted)
    typed = raw.assign(opens=pd.Series(clocks(raw["opens"]), dtype=object), since=pd.to_datetime(raw["since"]))
    np.testing.assert_array_equal(loaded.predict(typed), predicted)
    assert "[opens >= 08:30" in call("show", model).out
    row = next(k for k, value in enumerate(raw["opens"]) if value == value)
    assert f"at {raw['opens'][row].zfill(5)}" in call("explain", model, file, "--row", row + 1).out
    facts = {facts_of_column.name: facts_of_column for facts_of_column in bgn.check(raw, target="visits").columns}
    assert facts["opens"].kind != "time"  # words in a frame
    with pytest.raises(ValueError, match=r"column 'opens' holds words .*, not times of day"):
        loaded.predict(raw.assign(opens="noon"))
    with pytest.raises(ValueError, match=r"column 'since' holds words .*, not dates"):
        loaded.predict(raw.assign(since="01/02/2020"))


def test_check_tells_the_range_of_times(tmp_path: Path):
    written().to_csv(tmp_path / "t.csv", index=False)
    line = next(line for line in call("check", tmp_path / "t.csv").out.splitlines() if line.startswith("opens"))
    assert re.search(r" time .* 00:0\d to 23:5\d", line)


def test_texts_that_look_like_dates_are_said():
    table = written()
    for column in ("since", "opens"):
        with pytest.warns(UserWarning, match=f"column '{column}' holds words that look like dates or times"):
            bgn.BGNRegressor(**QUICK).fit(table[[column]], table["visits"])


def test_the_papers_model_of_a_file_reads_the_raw_frame(tmp_path: Path):
    rng, file, model = np.random.default_rng(0), tmp_path / "t.csv", tmp_path / "m.json"
    table = pd.DataFrame({"kind": rng.choice(list("abc"), 200), "code": rng.choice([3, 5], 200), "x": rng.random(200)})
    table["y"] = 4.0 * (table["kind"] == "a") + 6.0 * (table["code"] == 5) + table["x"]
    table.to_csv(file, index=False)
    call("fit", file, "-t", "y", "--paper", "--size", 6, "--categorical", "code", "-o", model)
    call("predict", model, file, "-o", tmp_path / "p.csv")
    predicted, loaded = pd.read_csv(tmp_path / "p.csv")["prediction"].to_numpy(), bgn.load(model)
    assert len(np.unique(predicted)) > 2
    features = table.drop(columns="y")
    for frame in (table, features[["x", "kind", "code"]], pl.from_pandas(features), pa.table(features.to_dict("list"))):
        np.testing.assert_array_equal(loaded.predict(frame), predicted)
    assert loaded.predict(table.assign(kind="none of them")).shape == (200,)
    values = bgn.shap_values(loaded, features[:5], features)
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_value, predicted[:5])
    with pytest.raises(ValueError, match="X lacks the column 'kind'"):
        loaded.predict(features.drop(columns="kind"))


# -- programs ----------------------------------------------------------------------------------------------------


def asks_for_times() -> tuple[Network, list[datetime.time | None]]:
    """A network with thresholds on and around some times, and those."""
    cuts = [0.0, 8.5, 8.500000000000002, 12.75, 17.508333333333333]
    column = Column("opens (hours)", part_of=TimePart("opens", "time"), typical=5.0)
    layer = Layer([[1.0]] * len(cuts), [-cut for cut in cuts])
    network = Network.of_layers([layer], 2.0 ** np.arange(len(cuts)), 0.0, schema=Schema((column,), "visits"))
    times = [datetime.time(0), datetime.time(8, 30), datetime.time(8, 29, 59, 999000), datetime.time(12, 45),
             datetime.time(17, 30, 30), datetime.time(17, 30, 29), datetime.time(23, 59, 59, 999000), None]  # fmt: skip
    return network, times


def test_programs_read_times_of_day(tmp_path: Path):
    network, times = asks_for_times()
    want = network.predict(pd.DataFrame({"opens": pd.Series(times, dtype=object)})).tolist()
    assert len(set(want)) == 4
    names: dict = {}
    exec(export.to_python(network), names)
    assert [names["predict"]({"opens": time}) for time in times] == want
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (n INTEGER, opens TEXT)")
    database.executemany("INSERT INTO rows VALUES (?, ?)", [(k, time and str(time)) for k, time in enumerate(times)])
    query = export.to_sql(network, dialect="sqlite", keep=["n"])
    assert [row[0] for row in database.execute(f"SELECT prediction FROM ({query}) ORDER BY n")] == want
    assert "opens (hours): opens in hours, minutes as a fraction." in export.to_c(network)
    assert json.loads(export.to_json_schema(network))["properties"]["opens"]["format"] == "time"
    node = engines.needs("node")
    export.to_javascript(network, tmp_path / "model.mjs")
    code = (
        "import('./model.mjs').then((m) => console.log(JSON.stringify(JSON.parse(process.argv[1])"
        ".map((text) => m.predict({opens: text})))))"
    )
    given = json.dumps([time and str(time)[:12] for time in times])
    done = subprocess.run([node, "-e", code, given], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == want


def test_times_of_day_in_duckdb():
    duckdb = pytest.importorskip("duckdb")
    network, times = asks_for_times()
    given = pd.DataFrame({"opens": pd.Series(times, dtype=object), "n": range(len(times))})
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows (n INTEGER, opens TIME)")
        database.executemany("INSERT INTO rows VALUES (?, ?)", [[k, time] for k, time in enumerate(times)])
        query = export.to_sql(network, dialect="duckdb", keep=["n"])
        predictions = database.execute(f"SELECT prediction FROM ({query}) ORDER BY n").fetchall()
    assert [row[0] for row in predictions] == network.predict(given).tolist()


def test_times_of_day_in_postgresql():
    network, times = asks_for_times()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        server = engines.Postgres(folder)
        try:
            lines = [f"{k},{'' if time is None else time}" for k, time in enumerate(times)]
            query = export.to_sql(network, dialect="postgresql", keep=["n"])
            printed = server.sql(
                "CREATE TABLE rows (n INT, opens TIME);\nCOPY rows FROM STDIN WITH (FORMAT csv);\n"
                + "\n".join(lines) + f"\n\\.\nCOPY (SELECT prediction FROM ({query}) AS found ORDER BY n) TO STDOUT;\n"
            )  # fmt: skip
        finally:
            server.stop()
    frame = pd.DataFrame({"opens": pd.Series(times, dtype=object)})
    assert [float(line) for line in printed.split()] == network.predict(frame).tolist()
