"""``bgn effect`` and ``bgn margin``: a column's steps, a row's safety."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import bgn
from bgn.cli.source import DataFile, class_option, json_option, model_and_data, one_of, reads_data, rows_option
from bgn.cli.terminal import show, show_json
from bgn.explain.classes import class_labels, class_number
from bgn.explain.subject import decoded
from bgn.export.remarks import ends
from bgn.export.text import Text
from bgn.inputs.refusal import Refused
from bgn.model.schema import level_word
from bgn.model.step import Floats
from bgn.persist import ModelFile
from bgn.persist.network import ends_out
from bgn.printable import clean

if TYPE_CHECKING:
    from bgn.explain.effects import Effect

_MOST = 40
"""Lines that a person is shown; machines get all."""


def _number(value: float) -> float | None:
    """A float that JSON can hold."""
    return float(value) if math.isfinite(value) else None


@model_and_data
@click.argument("column")
@rows_option
@class_option
@json_option
@reads_data
def effect(file: ModelFile, data: DataFile, column: str, which: str | None, label: str | None, as_json: bool) -> None:
    """Show the mean prediction of a saved MODEL as one COLUMN moves and the others stay as in the rows of DATA.

    It is a step function, given exactly: where it steps, and its level from there on. Of more than 40 steps some are
    shown, and all with --json. With classes it is the mean of the probability of one.

    \b
    bgn effect model.json houses.csv income
    bgn effect penguins.json penguins.csv bill_length_mm --class Adelie
    """
    of = _class_of(file, label)
    X = data.complete_rows(file).only(which).X
    steps: Any = bgn.effect(file.network, column, background=decoded(file.network, X), of=of)
    mean = f"mean {clean(steps.target)}" if file.network.link != "identity" else "mean prediction"
    if as_json:
        told = {"column": column, "breakpoints": steps.breakpoints.tolist(), "levels": steps.levels.tolist()}
        if steps.column.levels is not None:
            told = {"column": column, "effects": dict(zip(map(level_word, steps.column.levels),
                    steps(np.array(steps.column.levels, dtype=object)).tolist(), strict=True))}  # fmt: skip
        if steps.line is not None:
            told["line"] = {"per_unit": steps.line.slopes[0], "ends": ends_out(steps.line.low, steps.line.high)}
        elif steps.bends is not None:
            told["per_unit"] = steps.bends.tolist()
        of_what = {} if file.network.link == "identity" else {"of": steps.target}
        show_json({**told, "missing": steps.missing, **of_what})
        return
    if steps.column.levels is not None:
        _show_levels(steps, X, mean)
        return
    count = len(steps.levels)
    some = f"; {_MOST} of its {count} levels, --json has all" if count > _MOST else ""
    show(f"{mean} over {len(X)} rows{some}")
    for k in sorted({i * (count - 1) // (_MOST - 1) for i in range(_MOST)}) if some else range(count):
        start = f"from {steps.breakpoints[k - 1]:.10g}" if k else "below"
        rises = "" if steps.bends is None else f" {steps.bends[k]:>+12.6g} per unit"
        show(f"{clean(column)} {start:<24} {steps.levels[k]:>12.6g}{rises}")
    if steps.line is not None:
        between = Text().between(*ends(steps.line))
        show(f"{clean(column)} {'beside these':<24} {steps.line.slopes[0]:>+12.6g} per unit{between}")
    if steps.missing is not None:
        show(f"{clean(column)} {'missing':<24} {steps.missing:>12.6g}")


def _class_of(file: ModelFile, label: str | None) -> Any:
    """Return the class that is meant, or None where none needs to be."""
    classes = file.network.schema.classes
    if file.network.link == "identity":
        if label is not None:
            raise Refused("--class is for classes, and the model predicts numbers; leave it out.")
        return None
    if label is None and classes is not None and len(classes) > 2:
        raise Refused(f"--class must say of which class, {one_of(file.network)}.")
    return None if label is None else class_labels(file.network)[class_number(file.network, label, "--class")]


def _show_levels(steps: Effect, X: Floats, mean: str) -> None:
    """Print the effect of a category, level by level."""
    from bgn.show.curve import levels_of

    words, effects, _ = levels_of(steps, np.empty(0))
    show(f"{mean} over {len(X)} rows")
    for word, level in zip(words, effects.tolist(), strict=True):
        show(f"{clean(steps.feature)} = {clean(word):<24} {level:>12.6g}")


@model_and_data
@click.option("--row", type=click.IntRange(1), help="This row alone, column by column; the first is 1.")
@rows_option
@json_option
@reads_data
def margin(file: ModelFile, data: DataFile, row: int | None, which: str | None, as_json: bool) -> None:
    """Say how far the rows of DATA are from the nearest threshold that would change a saved MODEL's prediction.

    Without --row: the rows that are nearest (all of them with --json), each with the column whose change is smallest
    relative to that column's spread in DATA. With it: to where each column must rise or fall for the prediction to
    change.

    \b
    bgn margin model.json houses.csv
    bgn margin model.json houses.csv --row 17
    """
    from bgn.show.labels import cell

    rows = data.complete_rows(file).only(which)
    names, used, spread = file.network.names, file.network.features_used, np.nanstd(rows.X, axis=0)
    chosen = rows.chosen(row)
    found = bgn.margin(file.network, decoded(file.network, rows.X[chosen]))
    lines, nearness = list[dict[str, Any]](), list[float]()
    if row is not None:
        for j in used:
            kind, value = file.network.schema.columns[j], float(rows.X[chosen][0, j])
            up, down = float(found.up[0, j]), float(found.down[0, j])
            if kind.whole and value.is_integer():  # the next whole number that will do
                up, down = float(np.ceil(up)), float(np.floor(down))
            ends: dict[str, Any] = {"up_to": _number(up), "down_to": _number(down)}
            if not file.network.schema.all_numbers:
                other = zip(kind.levels or (), found.levels[kind.name][0] if kind.levels else (), strict=True)
                ends["or_at"] = ", ".join(level_word(level) for level, changes in other if changes) or None
            plain = kind.levels is None and value == value
            lines.append({"column": names[j], "at": value if plain else cell(kind, value), **ends})
    else:
        for number, distances in zip(rows.numbers.tolist(), found.distance, strict=True):
            shares = [(distances[j] / spread[j] if spread[j] > 0 else math.inf, j) for j in used]
            share, near = min(shares, default=(math.inf, None))
            name, distance = (None, math.inf) if near is None else (names[near], distances[near])
            lines.append({"row": number, "column": name, "distance": _number(distance)})
            nearness.append(float(share))
        if len(lines) > _MOST and not as_json:
            show(f"the {_MOST} of {len(lines)} rows that are nearest to another prediction; --json has all")
            lines = [lines[k] for k in sorted(range(len(lines)), key=nearness.__getitem__)[:_MOST]]
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
