"""Figures of published tables inside sentences, so that no sentence says what the runs do not.

In the documentation ``:measured:`reduced/trees | averaged columns, 3, tree | test MSE | .3f``` stands for a cell: the
table, the first cells of its row, its column, and how to write it (as in the table without it).
``:measured:`benchmarks/scale_gpu | largest > seconds | .1f``` stands for what a benchmark recorded (``benchmarked``).
``:measured:`front-lowest``` stands for a **claim** that several cells carry, a function of ``experiments.claims``.
In the README a claim's name follows what it says, out of sight: ``nine of 16 cases<!--front-lowest-->``; a test
compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from experiments import STUDIES, runner
from experiments.benchmarked import recorded
from experiments.publish import complete, published_runs, scales
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
    found = cell(name, row, column)
    return format(float(found), form[0]) if form and not isinstance(found, str | None) else written(found)


def cell(name: str, row: str, column: str) -> Cell:
    """Return a cell of a published table; `row` are its first cells, as many as tell it from others."""
    found = next((each for each in table(name).rows if row in _beginnings(each)), None)
    if found is None:
        raise ValueError(f"the table {name} has no row that begins with {row}.")
    header = list(table(name).header)
    if column not in header:
        raise ValueError(f"the table {name} has no column {column!r}; it has {', '.join(header)}.")
    return found[header.index(column)]


def _beginnings(row: Sequence[Cell]) -> list[str]:
    """Return the first cells of a row: one, two and so on."""
    cells = [*map(written, row)]
    return [", ".join(cells[: k + 1]) for k in range(len(cells))]


def number(name: str, row: str, column: str) -> float:
    """Return a cell that is a number."""
    found = cell(name, row, column)
    if found is None or isinstance(found, str):
        raise ValueError(f"{name}, {row}, {column} is no number: {found!r}.")
    return float(found)


@cache
def table(name: str) -> Table:
    """Return a published table: ``"reduced/trees"``."""
    scale, _, own = name.partition("/")
    study = max((each for each in STUDIES if own == each or own.startswith(f"{each}-")), key=len, default=None)
    found = {} if study is None else _tables(study, scale)
    if own not in found:
        raise ValueError(f"no published table {name!r}; of that study there are {', '.join(found) or 'none'}.")
    return found[own]


@cache
def _tables(study: str, scale: str) -> dict[str, Table]:
    """Return the published tables of a study at a scale by name."""
    options = scales(study).get(scale)
    if options is None:
        return {}
    runs = complete(runner.compare(study, options, published_runs(study)))
    return {shown.name: shown for shown in runner.study(study).show(list(runs.values())) if isinstance(shown, Table)}
