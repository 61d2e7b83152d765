"""Exported programs run where they belong: each function returns the raw scores of rows, one column per output."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bgn import Network, export
from bgn.export.plan import plan
from bgn.model.schema import level_word


def cell(value: Any) -> Any:
    """A cell as a person would hand it over: None for a gap."""
    return None if value is None or value != value else value


def records(network: Network, rows: np.ndarray) -> list[dict[str, Any]]:
    return [dict(zip(network.names, map(cell, row), strict=True)) for row in rows.tolist()]


def in_python(network: Network, rows: np.ndarray) -> np.ndarray:
    names: dict[str, Any] = {}
    exec(compile(export.to_python(network), "exported", "exec"), names)
    return np.array([names["score"](row) for row in records(network, rows)], np.float64).reshape(len(rows), -1)


def needs(program: str) -> str:
    """The path of a program, or a skip."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


_NODE = """
import fs from "node:fs";
const model = await import(process.argv[2]);
const {names, rows} = JSON.parse(fs.readFileSync(process.argv[3]));
const found = rows.map((row) => model.score(Object.fromEntries(names.map((name, k) => [name, row[k]])))).flat();
fs.writeFileSync(process.argv[4], Buffer.from(new Float64Array(found).buffer));
"""


def in_node(network: Network, rows: np.ndarray) -> np.ndarray:
    node = needs("node")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        export.to_javascript(network, place / "model.mjs")
        (place / "run.mjs").write_text(_NODE)
        table = {"names": network.names, "rows": [list(map(cell, row)) for row in rows.tolist()]}
        (place / "rows.json").write_text(json.dumps(table))
        command = [node, "run.mjs", str(place / "model.mjs"), "rows.json", "scores"]
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
    (place / "driver.c").write_text((_DRIVER % call) + driver)
    command = [gcc, "-Wall", "-Wextra", "-Werror", *flags, "-shared", "-fPIC", "driver.c", "-o", "model.so", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return ctypes.CDLL(str(place / "model.so"))


def coded(network: Network, rows: np.ndarray) -> np.ndarray:
    """Rows as C reads them: the columns of the plan, categories by number."""
    columns = []
    for each in plan(network).inputs:
        values = rows[:, each.place]
        columns.append(network.schema.columns[each.place].codes(values) if each.levels else values.astype(np.float64))
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.zeros((len(rows), 0))


def in_c(*flags: str):
    """A function that runs C compiled with some flags."""

    def run(network: Network, rows: np.ndarray) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            library = compiled(network, folder, *flags)
            given, out = coded(network, rows), np.empty((len(rows), np.size(network.base)))
            pointer = ctypes.POINTER(ctypes.c_double)
            library.run(given.ctypes.data_as(pointer), ctypes.c_long(len(rows)), ctypes.c_int(given.shape[1]), out.ctypes.data_as(pointer))
            return out

    return run


def words_of(network: Network) -> dict[str, tuple[str, ...]]:
    """The levels of every category, as words."""
    return {column.name: tuple(map(level_word, column.levels)) for column in network.schema.columns if column.levels}
