"""``bgn effect``: what one column does to the mean prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import bgn
from bgn.cli.source import DataFile, class_option, json_option, model_and_data, one_of, reads_data, rows_option
from bgn.cli.terminal import show, show_json
from bgn.explain.arguments import class_labels, class_number, decode_rows
from bgn.export.condition import ends
from bgn.inputs.errors import InputError, check_there
from bgn.model.readings import as_told
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.persist import ModelFile
from bgn.persist.network import ends_out
from bgn.text import clean, count_of, people, quote_name, signed

if TYPE_CHECKING:
    from bgn.explain.effects import Effect


@model_and_data
@click.argument("column")
@rows_option
@class_option
@json_option
@reads_data
def effect(file: ModelFile, data: DataFile, column: str, which: str | None, label: str | None, as_json: bool) -> None:
    """Show the mean prediction of a saved MODEL as one COLUMN moves and the others stay as in the rows of DATA.

    About ten lines: every level where there are few, else ten values of the column between the least and the greatest
    in the rows. It is known exactly everywhere: --json has each step. With classes it is the mean of the probability of
    one.

    \b
    bgn effect model.json houses.csv income
    bgn effect penguins.json penguins.csv bill_length_mm --class Adelie
    """
    file = replace(file, network=as_told(file.network))
    of = _class_of(file, label)
    if column not in file.network.names and data.name in file.network.names:
        raise InputError(f"DATA comes before COLUMN: bgn effect MODEL {column} {data.name!r}.")
    check_there([column], file.network.names, "the model")
    X = data.complete_rows(file).only(which).X
    found: Any = bgn.effect(file.network, column, background=decode_rows(file.network, X), of=of)
    if as_json:
        of_what = {} if file.network.link == "identity" else {"of": found.target}
        show_json({**_plain(found), **of_what})
        return
    _show(found, X[:, file.network.names.index(found.feature)], file)


def _class_of(file: ModelFile, label: str | None) -> Any:
    """Return the class that is meant, or None where none needs to be."""
    classes = file.network.schema.classes
    if file.network.link == "identity":
        if label is not None:
            raise InputError("--class is for classes, and the model predicts numbers; leave it out.")
        return None
    if label is None and classes is not None and len(classes) > 2:
        raise InputError(f"--class must say of which class, {one_of(file.network)}.")
    return None if label is None else class_labels(file.network)[class_number(file.network, label, "--class")]


def _plain(found: Effect) -> dict[str, Any]:
    """Return an effect in plain values: every step, and the straight line beside them."""
    if found.column.categories is not None:
        levels = found(np.array(found.column.categories, dtype=object)).tolist()
        told = dict(zip(map(category_name, found.column.categories), levels, strict=True))
        return {"column": found.feature, "effects": told, "missing": found.missing}
    line = None
    if found.linear is not None:
        line = {"per_unit": float(found.linear_coef), "ends": ends_out(found.linear.low, found.linear.high)}
    steps = {"breakpoints": found.breakpoints.tolist(), "levels": found.levels.tolist()}
    bends = {} if found.bends is None else {"per_unit": found.bends.tolist()}
    return {"column": found.feature, **steps, **bends, "line": line, "missing": found.missing}


def _show(found: Effect, column: Floats, file: ModelFile) -> None:
    """Print an effect in about ten lines, with bars."""
    from bgn.show.curves import bars, decimals_of, effect_lines

    name, unit = quote_name(found.feature), file.units.get(found.feature, "")
    mean = f"mean {quote_name(found.target)}" if file.network.link != "identity" and found.target else "mean prediction"
    if found.nothing:
        level = people(float(found.levels[0]), 6)
        show(f"The model does not ask about {name}: the {mean} is {level} whatever its value.")
        return
    show(f"{mean} over {count_of(len(column), 'row')}, by {name}{f' ({clean(unit)})' if unit else ''}")
    lines = effect_lines(found, column)
    decimals, drawn = decimals_of(lines.levels), bars(lines.levels)
    written = [f"{level:.{decimals}f}" for level in lines.levels]
    places = [clean(place) for place in lines.places]
    left, right = max(map(len, places), default=0), max(map(len, written), default=0)
    number = found.column.categories is None
    for place, level, bar in zip(places, written, drawn, strict=True):
        at = f"{place:>{left}}" if number else f"{place:<{left}}"
        show(f"  {at}  {level:>{right}}  {bar}".rstrip())
    if lines.of_steps is not None:
        line = "" if found.bends is None else ", and so much per unit between them"
        if found.linear is not None:
            line = f", and {signed(float(found.linear_coef), 6)} per unit{ends(found.linear)}"
        show(f"some values; the effect itself has {count_of(lines.of_steps, 'step')}{line} (--json has all)")
