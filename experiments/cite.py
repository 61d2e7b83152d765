"""Figures of published tables inside sentences, so that no sentence says what the runs do not.

In the documentation ``:measured:`reduced/trees | averaged columns, 3, tree | test MSE | .3f``` stands for a cell: the
table, the first cells of its row, its column, and how to write it (as in the table without it).
``:measured:`benchmarks/scale_gpu | largest > seconds | .1f``` stands for what a benchmark recorded (``recorded``).
``:measured:`front-lowest``` stands for a **claim** that several cells carry, a function of ``experiments.claims``.
In the README a claim's name follows what it says, out of sight: ``nine of 16 cases<!--front-lowest-->``; a test
compares.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from experiments import STUDIES, runner
from experiments.published import complete, published_runs, scales
from experiments.tables import Cell, Table, written


def cited(address: str) -> str:
    """Return what a role or a mark stands for."""
    name, *parts = (part.strip() for part in address.split("|"))
    if not parts:
        from experiments.claims import CLAIMS

        if name not in CLAIMS:
            raise ValueError(f"no claim {name!r}; experiments/claims.py has {', '.join(CLAIMS)}.")
        return CLAIMS[name]()
    if name.startswith("benchmarks/"):
        return recorded(name.removeprefix("benchmarks/"), *parts)
    if len(parts) not in (2, 3):
        raise ValueError(f"{address!r} must be: table | first cells of the row | column | format.")
    row, column, *form = parts
    value = cell(name, row, column)
    return format(float(value), form[0]) if form and not isinstance(value, str | None) else written(value)


def cell(name: str, row: str, column: str) -> Cell:
    """Return a cell of a published table; `row` are its first cells, as many as tell it from others."""
    line = next((line for line in table(name).rows if row in _beginnings(line)), None)
    if line is None:
        raise ValueError(f"the table {name} has no row that begins with {row}.")
    header = list(table(name).header)
    if column not in header:
        raise ValueError(f"the table {name} has no column {column!r}; it has {', '.join(header)}.")
    return line[header.index(column)]


def _beginnings(row: Sequence[Cell]) -> list[str]:
    """Return the first cells of a row: one, two and so on."""
    cells = [*map(written, row)]
    return [", ".join(cells[: k + 1]) for k in range(len(cells))]


def number(name: str, row: str, column: str) -> float:
    """Return a cell that is a number."""
    value = cell(name, row, column)
    if value is None or isinstance(value, str):
        raise ValueError(f"{name}, {row}, {column} is no number: {value!r}.")
    return float(value)


@cache
def table(name: str) -> Table:
    """Return a published table: ``"reduced/trees"``."""
    scale, _, own = name.partition("/")
    study = max((study for study in STUDIES if own == study or own.startswith(f"{study}-")), key=len, default=None)
    tables = {} if study is None else _tables(study, scale)
    if own not in tables:
        raise ValueError(f"no published table {name!r}; of that study there are {', '.join(tables) or 'none'}.")
    return tables[own]


@cache
def _tables(study: str, scale: str) -> dict[str, Table]:
    """Return the published tables of a study at a scale by name."""
    options = scales(study).get(scale)
    if options is None:
        return {}
    runs = complete(runner.compare(study, options, published_runs(study)))
    return {shown.name: shown for shown in runner.study(study).show(list(runs.values())) if isinstance(shown, Table)}


# -- Records of benchmarks.


FOLDER = Path(__file__).parents[1] / "benchmarks" / "results"


@cache
def _record(name: str) -> Any:
    """Return a file of figures."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json")))
        raise ValueError(f"no record benchmarks/results/{name}.json; there are {known}.")
    return json.loads(path.read_text(encoding="utf-8"))


def recorded(name: str, keys: str, form: str = "") -> str:
    """Return a figure of a benchmark as a sentence writes it.

    Examples
    --------
    >>> float(recorded("printed", "disk > fit seconds")) > 0
    True
    """
    value = _record(name)
    for key in map(str.strip, keys.split(">")):
        if not isinstance(value, dict) or key not in value:
            raise ValueError(f"benchmarks/results/{name}.json has no {keys!r}: {key!r} is not there.")
        value = value[key]
    if isinstance(value, dict | str | bool):
        raise ValueError(f"benchmarks/results/{name}.json, {keys!r}, is no number.")
    factor = 1000.0 if form.startswith("ms") else 1.0
    numbers = value if isinstance(value, list) else [value]
    values = [format(factor * number if factor > 1 else number, form.removeprefix("ms")) for number in numbers]
    return values[0] if len(set(values)) == 1 else f"{values[0]} to {values[-1]}"
