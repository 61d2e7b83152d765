"""Exported programs run where they belong: each function returns the raw scores of rows, one column per output; then,
where a network has bounds, the predictions within them."""

from __future__ import annotations

import csv
import ctypes
import io
import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bgn import Network, export
from bgn.export.plan import plan
from bgn.model.schema import category_name


def cell(value: Any) -> Any:
    """A cell as a person would hand it over: None for a gap."""
    return None if value is None or value != value else value


def records(network: Network, rows: np.ndarray) -> list[dict[str, Any]]:
    return [dict(zip(network.names, map(cell, row), strict=True)) for row in rows.tolist()]


def in_python(network: Network, rows: np.ndarray) -> np.ndarray:
    names: dict[str, Any] = {}
    exec(compile(export.to_python(network), "exported", "exec"), names)
    functions = [names["score"], names["predict"]] if network.bounds else [names["score"]]
    given, count = records(network, rows), len(rows)
    return np.column_stack([np.array(list(map(run, given)), np.float64).reshape(count, -1) for run in functions])


def needs(program: str) -> str:
    """The path of a program, or a skip."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


_NODE = """
import fs from "node:fs";
const model = await import(process.argv[2]);
const {names, rows} = JSON.parse(fs.readFileSync(process.argv[3]));
const all = [model.score, ...(process.argv[5] === "bounds" ? [model.predict] : [])];
const given = rows.map((row) => Object.fromEntries(names.map((name, k) => [name, row[k]])));
const scores = given.map((row) => all.map((run) => run(row)).flat()).flat();
fs.writeFileSync(process.argv[4], Buffer.from(new Float64Array(scores).buffer));
"""


def in_node(network: Network, rows: np.ndarray) -> np.ndarray:
    node = needs("node")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        export.to_javascript(network, place / "model.mjs")
        (place / "run.mjs").write_text(_NODE)
        table = {"names": network.names, "rows": [list(map(cell, row)) for row in rows.tolist()]}
        (place / "rows.json").write_text(json.dumps(table))
        command = [node, "run.mjs", str(place / "model.mjs"), "rows.json", "scores", "bounds" if network.bounds else ""]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return np.fromfile(place / "scores").reshape(len(rows), -1)


_DRIVER = """
#include "model.h"
void run(const double *rows, long count, int columns, double *out) {
    for (long k = 0; k < count; k++) %s;
}
"""


def compiled(network: Network, folder: str, *flags: str, driver: str = "") -> ctypes.CDLL:
    """The header in a shared library."""
    gcc, place = needs("gcc"), Path(folder)
    export.to_c(network, place / "model.h")
    planned = plan(network)
    call = f"bgn_scores(rows + k * columns, out + k * {planned.outputs})"
    call = call if network.link == "softmax" else "out[k] = bgn_score(rows + k * columns)"
    if network.bounds:
        call = "out[2 * k] = bgn_score(rows + k * columns), out[2 * k + 1] = bgn_predict(rows + k * columns)"
    (place / "driver.c").write_text((_DRIVER % call) + driver)
    command = [gcc, "-Wall", "-Wextra", "-Werror", *flags, "-shared", "-fPIC", "driver.c", "-o", "model.so", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return ctypes.CDLL(str(place / "model.so"))


def coded(network: Network, rows: np.ndarray) -> np.ndarray:
    """Rows as C reads them: the columns of the plan, categories by number."""
    columns = []
    for given in plan(network).inputs:
        values = rows[:, given.place]
        column = network.schema.columns[given.place]
        columns.append(column.codes(values) if given.categories else values.astype(np.float64))
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.zeros((len(rows), 0))


def in_c(*flags: str):
    """A function that runs C compiled with some flags."""

    def run(network: Network, rows: np.ndarray) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            library = compiled(network, folder, *flags)
            given, out = coded(network, rows), np.empty((len(rows), 2 if network.bounds else np.size(network.base)))
            pointer = ctypes.POINTER(ctypes.c_double)
            library.run(
                given.ctypes.data_as(pointer),
                ctypes.c_long(len(rows)),
                ctypes.c_int(given.shape[1]),
                out.ctypes.data_as(pointer),
            )
            return out

    return run


# -- databases ---------------------------------------------------------------------------------------------------

KEY = "number of the row"


def table_of(network: Network, rows: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Names and rows of a table as a database holds it, with a key."""
    return [KEY, *network.names], [[k, *map(cell, row)] for k, row in enumerate(rows.tolist())]


def kinds_of(network: Network, number: Any, text: Any, truth: Any) -> list[Any]:
    """The types of a table's columns but the key."""
    firsts = [(column.categories or (0.0,))[0] for column in network.schema.columns]
    return [truth if isinstance(first, bool) else number if isinstance(first, float) else text for first in firsts]


def outputs_of(network: Network) -> list[str]:
    """The columns of a SELECT that hold raw scores."""
    if network.link == "softmax":
        return [f"score of {name}" for name in plan(network).class_names]
    return ["score", "prediction"] if network.bounds else ["score" if network.link == "logistic" else "prediction"]


def scores(answers: list[tuple], names: list[str], network: Network) -> np.ndarray:
    """The raw scores of what a SELECT returned, in the order of the key."""
    places = [names.index(name) for name in outputs_of(network)]
    ordered = sorted(answers, key=lambda row: row[0])
    return np.array([[np.nan if row[k] is None else row[k] for k in places] for row in ordered], np.float64)


def in_sqlite(network: Network, rows: np.ndarray) -> np.ndarray:
    import sqlite3

    names, table = table_of(network, rows)
    database = sqlite3.connect(":memory:")
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    kinds = ["INTEGER", *kinds_of(network, "REAL", "TEXT", "INTEGER")]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, kinds, strict=True))
    database.execute(f'CREATE TABLE "the table" ({columns})')
    database.executemany(f'INSERT INTO "the table" VALUES ({", ".join("?" * len(names))})', table)
    answer = database.execute(export.to_sql(network, dialect="sqlite", table="the table", keep=[KEY]))
    return scores(answer.fetchall(), [title[0] for title in answer.description], network)


def in_duckdb(network: Network, rows: np.ndarray, query: str | None = None) -> np.ndarray:
    """What DuckDB says of its own SELECT, or of another."""
    duckdb, pa = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    names, table = table_of(network, rows)
    kinds = [pa.int64(), *kinds_of(network, pa.float64(), pa.string(), pa.bool_())]
    arrow = pa.table(
        [pa.array(column, kind) for column, kind in zip(zip(*table, strict=True), kinds, strict=True)], names=names
    )
    with duckdb.connect() as database:
        database.execute("SET threads = 2")
        database.register("the table", arrow)
        query = query or export.to_sql(network, dialect="duckdb", table="the table", keep=[KEY])
        answer = database.execute(query)
        return scores(answer.fetchall(), [title[0] for title in answer.description], network)


def translated(dialect: str):
    """A function that reads SQL as a dialect whose database cannot be had here, and runs it in DuckDB's words."""

    def run(network: Network, rows: np.ndarray) -> np.ndarray:
        sqlglot = pytest.importorskip("sqlglot")
        query = export.to_sql(network, dialect=dialect, table="the table", keep=[KEY])
        (query,) = sqlglot.transpile(query, read=dialect, write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
        return in_duckdb(network, rows, query)

    return run


class Postgres:
    """A PostgreSQL server of our own, in a folder of its own, reached through a socket there."""

    def __init__(self, folder: str) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "")]
        if not programs[-1].name or not shutil.which("psql"):
            pytest.skip("PostgreSQL is not installed")
        self.programs, self.folder = programs[-1].parent, folder
        self.user = None
        if os.geteuid() == 0:  # which PostgreSQL does not run as
            try:
                self.user = pwd.getpwnam("postgres").pw_name
            except KeyError:
                pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
            shutil.chown(folder, self.user)
        self._run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "bgn", "-E", "UTF8", "--no-sync", "--locale=C")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        self._run("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o", options, "start")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, user=self.user, cwd=self.folder, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def stop(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def sql(self, text: str) -> str:
        """Run statements; return what they print, or raise what the server said."""
        options = ["-U", "bgn", "-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-X", "-f", "-"]
        command = ["psql", "-h", self.folder, *options]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        return done.stdout

    def __call__(self, network: Network, rows: np.ndarray) -> np.ndarray:
        names, table = table_of(network, rows)
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        kinds = ["BIGINT", *kinds_of(network, "DOUBLE PRECISION", "TEXT", "BOOLEAN")]
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, kinds, strict=True))
        data = io.StringIO()
        for row in table:
            data.write(",".join(_csv(value) for value in row) + "\n")
        query = export.to_sql(network, dialect="postgresql", table="the table", keep=[KEY])
        printed = self.sql(
            f'DROP TABLE IF EXISTS "the table";\nCREATE TABLE "the table" ({columns});\n'
            f'COPY "the table" FROM STDIN WITH (FORMAT csv);\n{data.getvalue()}\\.\n'
            f"COPY (\n{query}\n) TO STDOUT WITH (FORMAT csv, HEADER);\n"
        )
        head, *lines = csv.reader(io.StringIO(printed))
        answers = [(int(line[0]), *map(_float, line[1:])) for line in lines]
        return scores(answers, head, network)


def _csv(value: Any) -> str:
    if value is None:
        return ""
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else repr(value)


def _float(text: str) -> Any:
    try:
        return float(text) if text else None
    except ValueError:
        return text


# -- ONNX --------------------------------------------------------------------------------------------------------


def session_of(content: bytes) -> Any:
    """A session of onnxruntime on one thread."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def feed(network: Network, rows: np.ndarray, session: Any) -> dict[str, np.ndarray]:
    """Rows as a graph reads them."""
    names, columns = [given.name for given in session.get_inputs()], network.schema.columns
    if names == ["X"] and "X" not in network.names:
        codes = [column.codes(rows[:, j]) if column.categories else rows[:, j].astype(np.float64)
                 for j, column in enumerate(columns)]  # fmt: skip
        return {"X": np.column_stack(codes)}
    given = {}
    for name in names:
        column, values = columns[network.names.index(name)], rows[:, network.names.index(name)]
        given[name] = values[:, np.newaxis].astype(np.float64) if column.categories is None else None
        if column.categories is not None:
            missing = "" if "" not in column.categories else "no such category"
            texts = [missing if cell(value) is None else category_name(value) for value in values.tolist()]
            given[name] = np.array(texts, dtype=object)[:, np.newaxis]
    return given


def in_onnx(network: Network, rows: np.ndarray, inputs: str | None = None) -> np.ndarray:
    session = session_of(export.to_onnx(network, inputs=inputs))
    wanted = ["prediction"] if network.link == "identity" else ["score"]
    wanted = ["score", "prediction"] if network.bounds else wanted
    names = [output.name for output in session.get_outputs()]
    outputs = [next(name for name in names if name.startswith(start)) for start in wanted]  # "... of bgn" if taken
    values = session.run(outputs, feed(network, rows, session))
    return np.column_stack([own.reshape(len(rows), -1) for own in values])


# -- workbooks and PMML ------------------------------------------------------------------------------------------


def in_workbook(network: Network, rows: np.ndarray) -> list[list[Any]]:
    """What LibreOffice shows beside the inputs of a workbook, filled in with some rows."""
    office, excel = needs("soffice"), pytest.importorskip("openpyxl")
    planned = plan(network)
    with tempfile.TemporaryDirectory() as folder:
        book = excel.load_workbook(io.BytesIO(export.to_excel(network, rows=len(rows))))
        sheet = book["Input"]
        for number, row in enumerate(rows.tolist(), start=4):
            for k, given in enumerate(planned.inputs, start=1):
                if (value := cell(row[given.place])) is not None:
                    place = sheet.cell(number, k)
                    place.value = value
                    place.data_type = "s" if isinstance(value, str) else place.data_type
        book.save(f"{folder}/filled.xlsx")
        profile = f"-env:UserInstallation=file://{folder}/profile"
        convert = ["--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", f"{folder}/out"]
        command = [office, profile, "--headless", *convert, f"{folder}/filled.xlsx"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
        assert done.returncode == 0, done.stderr
        shown = excel.load_workbook(f"{folder}/out/filled.xlsx", data_only=True)["Input"]
        first = len(planned.inputs) + 1
        count = {"identity": 1, "logistic": 2, "softmax": 2 * planned.outputs}[network.link]
        places = [1, 0] if network.bounds else range(count)  # the prediction stands before the score
        return [[shown.cell(k, first + j).value for j in places] for k in range(4, 4 + len(rows))]


def in_pmml(network: Network, rows: np.ndarray) -> list[dict[str, Any]]:
    """What pypmml returns for every row."""
    pypmml = pytest.importorskip("pypmml")
    needs("java")
    model = pypmml.Model.fromString(export.to_pmml(network))
    return [model.predict(row) for row in records(network, rows)]
