"""``bgn margin``: how far rows are from another prediction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import bgn
from bgn.cli.source import CompleteRows, DataFile, json_option, model_and_data, reads_data, rows_option
from bgn.cli.terminal import note, show, show_json
if TYPE_CHECKING:
    from bgn.explain.margin import Margin
from bgn.explain.arguments import decode_rows
from bgn.export.numbers import number, whole
from bgn.model.schema import Column, category_name
from bgn.model.step import Floats
from bgn.persist import ModelFile
from bgn.text import clean, count_of, quote_category, quote_name

_NEAREST = 5
"""Rows that a person is shown; machines get all."""
_ROUNDING = 1e-9
"""Distances up to this are none."""
_LINES = "no question is near that would be answered otherwise; straight lines change the prediction with every value"


def _number(value: float) -> float | None:
    """A float that JSON can hold."""
    return float(value) if math.isfinite(value) else None


@model_and_data
@click.option("--row", type=click.IntRange(1), help="This row alone, column by column; the first is 1.")
@rows_option
@json_option
@reads_data
def margin(file: ModelFile, data: DataFile, row: int | None, which: str | None, as_json: bool) -> None:
    """Say how far the rows of DATA are from the nearest threshold that would change a saved MODEL's prediction.

    Without --row: a summary, column by column, and the rows that are nearest (every row with --json). A row is near in
    the column whose change is smallest relative to that column's spread in DATA. With --row: to where each column must
    rise or fall for the prediction to change.

    \b
    bgn margin model.json houses.csv
    bgn margin model.json houses.csv --row 17
    """
    rows = data.complete_rows(file).only(which)
    chosen = rows.chosen(row)
    change = "score" if bool(file.network.linear) and file.network.link != "identity" else None
    if change is not None:
        note("the model has straight lines: this tells where an answer changes, not where the class does.")
    found = bgn.margin(file.network, decode_rows(file.network, rows.X[chosen]), change=change)
    if row is not None:
        lines = _of_row(file, rows.X[chosen][0], found)
        if as_json:
            show_json(lines)
        else:
            _show_row(file, lines)
        return
    lines, nearness = _of_rows(file, rows, found)
    if as_json:
        show_json(lines)
    else:
        _summary(lines, nearness, bool(file.network.linear))


def _of_row(file: ModelFile, row: Floats, found: Margin) -> list[dict[str, Any]]:
    """Return a line per column: what it holds, and where the prediction would be another."""
    from bgn.show.labels import cell

    lines = []
    for j in file.network.features_used:
        kind, value = file.network.schema.columns[j], float(row[j])
        up, down = float(found.up[0, j]), float(found.down[0, j])
        if kind.whole and value.is_integer():  # the next whole number that will do
            up, down = float(np.ceil(up)), float(np.floor(down))
        ends: dict[str, Any] = {"up_to": _number(up), "down_to": _number(down)}
        if not file.network.schema.all_numbers:
            other = zip(kind.categories or (), found.categories[kind.name][0] if kind.categories else (), strict=True)
            ends["or_at"] = ", ".join(category_name(category) for category, changes in other if changes) or None
        plain = kind.categories is None and value == value
        lines.append({"column": file.network.names[j], "at": value if plain else cell(kind, value), **ends})
    return lines


def _of_rows(file: ModelFile, rows: CompleteRows, found: Margin) -> tuple[list[dict[str, Any]], Floats]:
    """Return a line per row with the column in which it is nearest, and how near, in spreads of that column."""
    names, used, spread = file.network.names, list(file.network.features_used), np.nanstd(rows.X, axis=0)
    lines, nearness, away = list[dict[str, Any]](), list[float](), found.distance.copy()
    for j in used:
        if file.network.schema.columns[j].whole:  # the next whole number that will do
            values = rows.X[:, j]
            nearer = np.minimum(np.ceil(found.up[:, j]) - values, values - np.floor(found.down[:, j]))
            away[:, j] = np.where(values == np.rint(values), nearer, away[:, j])
    for place, distances in zip(rows.numbers.tolist(), away, strict=True):
        shares = [(distances[j] / spread[j] if spread[j] > 0 else math.inf, j) for j in used]
        share, near = min(shares, default=(math.inf, None))
        near = near if math.isfinite(share) else None
        name, distance = (None, math.inf) if near is None else (names[near], distances[near])
        lines.append({"row": place, "column": name, "distance": _number(distance)})
        nearness.append(float(share))
    return lines, np.array(nearness)


def _summary(lines: list[dict[str, Any]], nearness: Floats, straight: bool) -> None:
    """Print how often each column is the one in which a row is nearest, how near, and the nearest rows."""
    by_column: dict[str, list[float]] = {}
    for line in lines:
        if line["column"] is not None:
            by_column.setdefault(line["column"], []).append(line["distance"])
    if not by_column:
        show(_LINES if straight else "no number matters: nothing that one of them could do changes a prediction")
        return
    row_s = f"{count_of(len(lines), 'row')} {'is' if len(lines) == 1 else 'are'}"
    show(f"how far {row_s} from another prediction, in the column where that is nearest")
    order = sorted(by_column, key=lambda name: -len(by_column[name]))
    table = [["column", "rows", "a tenth within", "half within"]]
    for name in order:
        tenth, half = np.quantile(by_column[name], [0.1, 0.5]).tolist()
        table.append([quote_name(name), f"{len(by_column[name]) / len(lines):.0%}", number(tenth, 3), number(half, 3)])
    if rest := len(lines) - sum(map(len, by_column.values())):
        table.append(["none", f"{rest / len(lines):.0%}", "-", "-"])
    _columns(table, right=True)
    nearest = [lines[k] for k in np.argsort(nearness, kind="stable")[:_NEAREST] if lines[k]["column"] is not None]
    told = ", ".join(f"{each['row']} ({quote_name(each['column'])} {_away(each['distance'])})" for each in nearest)
    show(f"nearest row{'s' * (len(nearest) > 1)}: {told}")
    show("--row N for one of them, column by column; --json for all")


def _away(distance: float) -> str:
    """Say how far a threshold is; a row can stand on one, and be beside it by the last digit of a float."""
    return f"{number(distance, 3)} away" if distance > _ROUNDING else "on a threshold"


def _end(kind: Column, value: float | str | None) -> str:
    """Write where another prediction begins; the number next below a threshold reads as below that."""
    from bgn.show.labels import cell

    if value is None or isinstance(value, str):
        return "-" if value is None else quote_category(value)
    if kind.part_of is not None:
        return cell(kind, value)
    above = float(np.nextafter(value, np.inf))
    short = len(whole(above)) < len(whole(value)) - 5
    return f"below {whole(above)}" if short else number(value, 6)


def _show_row(file: ModelFile, lines: list[dict[str, Any]]) -> None:
    """Print for each column what it holds and where another prediction begins; nothing there reads as a dash."""
    from bgn.show.labels import cell

    if not lines:
        show("no column matters: every prediction is the base value")
        return
    ends = [name for name in lines[0] if name not in ("column", "at")]
    if all(line[name] is None for line in lines for name in ends):
        alone = "no other prediction is near: whatever one column becomes, the others as they are, it stays the same"
        show(alone if not file.network.linear else _LINES)
    kinds = dict(zip(file.network.names, file.network.schema.columns, strict=True))
    texts = [["column", "at", *(name.replace("_", " ") for name in ends)]]
    for line in lines:
        kind = kinds[line["column"]]
        at = cell(kind, line["at"]) if isinstance(line["at"], float) else clean(str(line["at"]))
        texts.append([quote_name(line["column"]), at, *(_end(kind, line[name]) for name in ends)])
    _columns(texts)


def _columns(texts: list[list[str]], right: bool = False) -> None:
    """Print cells below each other; if `right`, all but the first ones end where their columns do."""
    widths = [max(len(text[k]) for text in texts) for k in range(len(texts[0]))]
    for text in texts:
        cells = [cell.rjust(width) if right and k else cell.ljust(width)
                 for k, (cell, width) in enumerate(zip(text, widths, strict=True))]  # fmt: skip
        show("  ".join(cells).rstrip())
