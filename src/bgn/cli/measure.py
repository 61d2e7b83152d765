"""``bgn effect`` and ``bgn margin``: a column's steps, a row's safety."""

from __future__ import annotations

import math
from typing import Any

import click

import bgn
from bgn.cli.source import DataFile, json_option, model_and_data, reads_data
from bgn.cli.terminal import show, show_json
from bgn.persist import ModelFile
from bgn.printable import clean


def _number(value: float) -> float | None:
    """A float that JSON can hold."""
    return float(value) if math.isfinite(value) else None


@model_and_data
@click.argument("column")
@json_option
@reads_data
def effect(file: ModelFile, data: DataFile, column: str, as_json: bool) -> None:
    """Show the mean prediction of a saved MODEL as one COLUMN moves and the others stay as in the rows of DATA.

    It is a step function, given exactly: where it steps, and its level from there on.

    \b
    bgn effect model.json houses.csv income
    """
    X = data.complete_rows(file).X
    steps: Any = bgn.effect(file.network, column, background=X)
    if as_json:
        show_json({"column": column, "breakpoints": steps.breakpoints.tolist(), "levels": steps.levels.tolist()})
        return
    show(f"mean prediction over {len(X)} rows")
    starts = ["below", *(f"from {point:.10g}" for point in steps.breakpoints)]
    for start, level in zip(starts, steps.levels, strict=True):
        show(f"{clean(column)} {start:<24} {level:>12.6g}")


@model_and_data
@click.option("--row", type=click.IntRange(1), help="This row alone, column by column; the first is 1.")
@json_option
@reads_data
def margin(file: ModelFile, data: DataFile, row: int | None, as_json: bool) -> None:
    """Say how far the rows of DATA are from the nearest threshold that would change a saved MODEL's prediction.

    Without --row: for every row, the column whose change is smallest relative to that column's spread in DATA. With it:
    to where each column must rise or fall for the prediction to change.

    \b
    bgn margin model.json houses.csv
    bgn margin model.json houses.csv --row 17
    """
    rows = data.complete_rows(file)
    names, used, spread = file.network.names, file.network.features_used, rows.X.std(axis=0)
    chosen = rows.chosen(row)
    found = bgn.margin(file.network, rows.X[chosen])
    lines: list[dict[str, Any]] = []
    if row is not None:
        for j in used:
            ends = {"up_to": _number(found.up[0, j]), "down_to": _number(found.down[0, j])}
            lines.append({"column": names[j], "at": float(rows.X[chosen][0, j]), **ends})
    else:
        for number, distances in zip(rows.numbers.tolist(), found.distance, strict=True):
            near = min(used, key=lambda j: distances[j] / spread[j] if spread[j] > 0 else math.inf, default=None)
            name, distance = (None, math.inf) if near is None else (names[near], distances[near])
            lines.append({"row": number, "column": name, "distance": _number(distance)})
    _print(lines, as_json)


def _print(lines: list[dict[str, Any]], as_json: bool) -> None:
    """Print records as JSON or as a table; nothing there reads as a dash."""
    if as_json:
        show_json(lines)
        return
    if not lines:
        show("no column matters: every prediction is the base value")
        return
    texts = [list(lines[0])]
    for line in lines:
        written = ("-" if v is None else f"{v:.6g}" if isinstance(v, float) else clean(str(v)) for v in line.values())
        texts.append([*written])
    widths = [max(len(text[k]) for text in texts) for k in range(len(texts[0]))]
    for text in texts:
        show("  ".join(cell.ljust(width) for cell, width in zip(text, widths, strict=True)).rstrip())
