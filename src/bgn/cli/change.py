"""``bgn simplify``, ``distill`` and ``edit``: simpler models, smaller ones, and an expert's changes.

All of them use training rows alone; the test rows measure the result (:class:`~bgn.model_rows.TrainingSplit`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import click
import numpy as np
import pyarrow as pa

import bgn
from bgn.cli.options import json_option, model_and_data, reads_data, train_option
from bgn.cli.terminal import note, show, show_json
from bgn.explain.arguments import decode_rows
from bgn.explain.edit import Editor
from bgn.export.styles import FORMATS
from bgn.inputs.arguments import monotone_columns
from bgn.inputs.errors import InputError
from bgn.inputs.training import to_labels
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model_rows import DataFile, TrainingSplit
from bgn.persist import ModelFile, save
from bgn.persist.parts import edits_out
from bgn.text import clean, count_of, people


@model_and_data
@click.option("--digits", type=click.IntRange(1, 17), help="Significant digits of the output weights.")
@click.option("--max-loss", type=float, default=0.01, show_default=True, help="Largest relative rise of the error.")
@click.option("--points", type=click.IntRange(1, 1000), help="A card of whole points, at most so many per rule.")
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True,
    help="How the equation or the card is written.",
)  # fmt: skip
@click.option("-o", "--out", help="Where to write the simpler model.")
@train_option
@json_option
@reads_data
def simplify(
    file: ModelFile, data: DataFile, form: str, out: str | None, which: str | None, as_json: bool, **options: Any
) -> None:
    """Round the numbers of a saved MODEL: thresholds without changing a prediction in DATA, then output weights.

    With --points it becomes a card to add up by hand: whole points per rule, and a line from their total to the
    prediction. What is printed is what the written model predicts. Numbers are learned from the training rows of DATA
    alone; the test rows measure the result. The rows of another file than the model was fitted to are all training
    rows.

    \b
    bgn simplify model.json houses.csv
    bgn simplify model.json houses.csv --points 5 -o points.json
    bgn simplify model.json houses.csv --points 5 --format html > card.html
    """
    from bgn.explain.simplify import rounded  # a command starts without numba

    every = data.complete_rows(file, with_target=True)
    every.target("the error is measured on")
    split = TrainingSplit.of(file, every, which)
    X = decode_rows(file.network, split.train.X)
    monotone = monotone_columns((file.settings or {}).get("monotonic_cst"), file.network.schema)
    simple = rounded(file.network, X, split.train.target(""), monotone, **options)
    card = None if options["points"] is None else bgn.scorecard(simple.network)
    if out is not None:
        kept: dict[str, Any] = {"preparation": file.preparation, "held_out": split.held_out}
        save(file.with_network(simple.network), out, units=file.units, **kept)
    if as_json:
        plain: dict[str, Any] = {"measure": simple.measure, "before": simple.before, "after": simple.after}
        plain |= split.counts | split.test_errors(file.network, simple.network)
        plain["equation"] = bgn.equation(simple.network, units=file.units)
        plain["n_conditions"] = simple.network.n_conditions
        if card is not None:
            points = card.points if card.classes else [own for (own,) in card.points]
            start: Any = card.lines()[0] if card.classes else float(card.start[0])
            plain["scorecard"] = {"rules": card.rules, "points": points, "start": start}
            plain["scorecard"]["unit"] = float(card.unit)
        show_json(plain)
        return
    show(bgn.equation(simple.network, form, units=file.units) if card is None else card.format(form, file.units))
    # What is no part of an equation or a card stays out of a file that it is written to.
    print_line = show if form == "text" else note
    if form == "text":
        show()
    errors = f"{simple.measure} {people(simple.before, 6)} before, {people(simple.after, 6)} after"
    print_line(f"Learned from {split.training_text}: {errors}.")
    for line in split.test_report(file.network, simple.network):
        print_line(line)
    if out is not None:
        print_line(f"model written to {clean(out)}")


@model_and_data
@click.option("--max-terms", type=click.IntRange(1), default=10, show_default=True, help="Most terms to keep.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seeds growth and the choice of test rows."
)
@click.option("-o", "--out", help="Where to write the small model.")
@train_option
@json_option
@reads_data
def distill(
    file: ModelFile, data: DataFile, max_terms: int, seed: int, out: str | None, which: str | None, as_json: bool
) -> None:
    """Grow a small model on what a saved MODEL predicts of the training rows of DATA, and tell how near it comes.

    The test rows tell it; where there are none, a fifth of the rows. Targets are read for the errors of both models,
    and not learned from. The rows of another file than the model was fitted to are all training rows.

    \b
    bgn distill model.json houses.csv --max-terms 5 -o small.json
    """
    split = TrainingSplit.of(file, data.complete_rows(file, with_target=True), which)
    tables: dict[str, Any] = {}
    for end, rows in {"": split.train, "_test": split.test}.items():
        if rows is not None:
            y = None if rows.y is None else to_labels(rows.y, rows.classes)
            tables |= {f"X{end}": _to_table(file.network, rows.X), f"y{end}": y}
    for name in ("monotonic_cst", "interaction_cst"):
        if (constraint := (file.settings or {}).get(name)) is not None:
            tables[name] = constraint
    small = bgn.distill(file.network, max_terms=max_terms, random_state=seed, **tables)
    network = small.network_.changed(schema=file.network.schema)
    if out is not None:
        kept = replace(file, settings=small.get_params()).with_network(network)
        save(kept, out, units=file.units, preparation=file.preparation, held_out=split.held_out)
    fidelity: Any = small.fidelity_
    if as_json:
        known = {name: value for name, value in asdict(fidelity).items() if not math.isnan(value)}
        size = {"n_conditions": network.n_conditions, "n_conditions_before": file.network.n_conditions}
        show_json({"fidelity": known, **split.counts, **size, "equation": bgn.equation(network, units=file.units)})
        return
    show(bgn.equation(network, units=file.units))
    where = split.test_text if split.test is not None else f"{fidelity.n_rows:,} of them, held out as test rows"
    show(f"\nLearned from {split.training_text}. Measured on {where}:")
    show(str(fidelity))
    show(f"{count_of(network.n_conditions, 'condition')}, the large model's {file.network.n_conditions:,}")
    if out is not None:
        show(f"model written to {clean(out)}")


def _to_table(network: Network, X: Floats) -> pa.Table:
    """Return encoded rows as a table with the columns of a network, which have every category that it knows."""
    columns = []
    for column, values in zip(network.schema.columns, X.T, strict=True):
        missing = np.isnan(values)
        if column.categories is None:
            columns.append(pa.array(values, mask=missing))
            continue
        codes = pa.array(np.where(missing, 0, values).astype(np.int32), mask=missing)
        columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(list(column.categories)), ordered=column.ordered))
    return pa.table(columns, names=[column.name for column in network.schema.columns])


_FORMS = """threshold N VALUE, weight N VALUE, category N CATEGORY yes|no, drop N, merge N M, forbid COL, \
round DIGITS, add COL '>=' VALUE WEIGHT, and N COL '>=' VALUE; N.K is condition K of rule N"""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"a number must stand where {text!r} does.") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a whole number must stand where {text!r} does.") from None


def _place(text: str) -> tuple[int, int | None]:
    """Return the number of a rule, and of one of its conditions where the text has both, as "2.1"."""
    rule, _, condition = text.partition(".")
    return _whole(rule), _whole(condition) if condition else None


def _change_threshold(editor: Editor, text: str, value: str, why: str) -> Editor:
    rule, condition = _place(text)
    return editor.threshold(rule, _number(value), why, condition)


def _drop(editor: Editor, text: str, why: str) -> Editor:
    rule, condition = _place(text)
    return editor.drop(rule, why=why) if condition is None else editor.drop_condition(rule, condition, why)


def _read_value(relation: str, value: str) -> Any:
    return value.split(",") if relation == "in" else _number(value)


def _change_category(editor: Editor, line: str, category: str, yes: str, why: str) -> Editor:
    """Change whether a rule holds for a category, which is named as text; "missing" for a missing value."""
    if yes not in ("yes", "no"):
        raise ValueError(f"a category is followed by yes or no; got {yes!r}.")
    known = {str(value): value for column in editor.network.schema.columns for value in column.categories or ()}
    value = None if category == "missing" else known.get(category, category)
    rule, condition = _place(line)
    return editor.category(rule, value, yes == "yes", why, condition)


# By name: how many arguments follow, and what they do.
CHANGES: dict[str, tuple[int, Callable[..., Editor]]] = {
    "threshold": (2, _change_threshold),
    "weight": (2, lambda editor, n, value, why: editor.coef(_whole(n), _number(value), why)),
    "category": (3, _change_category),
    "drop": (1, _drop),
    "merge": (2, lambda editor, n, m, why: editor.merge(_whole(n), _whole(m), why=why)),
    "forbid": (1, lambda editor, column, why: editor.forbid(column, why)),
    "round": (1, lambda editor, digits, why: editor.round(_whole(digits), why)),
    "add": (4, lambda editor, column, relation, value, weight, why: editor.add(
        column, relation, _read_value(relation, value), _number(weight), why=why)),
    "and": (4, lambda editor, n, column, relation, value, why: editor.add_condition(
        _whole(n), column, relation, _read_value(relation, value), why=why)),
}  # fmt: skip


@model_and_data
@click.argument("changes", nargs=-1, required=True)
@click.option("--why", default="", help="The reason, kept with the model.")
@click.option("--cutoff", type=float, help="Predictions from here on are decisions for yes, whose changes are counted.")
@click.option("-o", "--out", help="Where to write the edited model.")
@train_option
@json_option
@reads_data
def edit(
    file: ModelFile, data: DataFile, changes: tuple[str, ...], why: str, cutoff: float | None, out: str | None,
    which: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Change a saved MODEL as an expert says, and tell what that does to the training rows of DATA.

    What is told of each change, and kept with the model, is about training rows, so that nobody chooses by test rows;
    these measure the result. The rows of another file than the model was fitted to are all training rows.

    CHANGES are one or more of: threshold N VALUE, weight N VALUE, category N CATEGORY yes|no, drop N, merge N M, forbid
    COL, round DIGITS, add COL RELATION VALUE WEIGHT, and N COL RELATION VALUE (one more condition). N is the line of a
    rule in the equation, the first being 1, as it is when its turn comes; N.K is its condition K.

    \b
    bgn edit model.json houses.csv threshold 1 65 --why "the bracket begins there" -o edited.json
    bgn edit model.json houses.csv forbid sex round 3 -o edited.json
    """
    split = TrainingSplit.of(file, data.complete_rows(file, with_target=True), which)
    y = None if split.train.y is None else split.train.target("")
    editor = bgn.edit(file.network, decode_rows(file.network, split.train.X), y, cutoff=cutoff)
    remaining, receipts = list(changes), list[str]()
    while remaining:
        name = remaining.pop(0)
        count, change = CHANGES.get(name, (0, None))
        if change is None or len(remaining) < count:
            raise InputError(f"{name}: not a change that is known, or words are missing. Changes are: {_FORMS}.")
        arguments, remaining = remaining[:count], remaining[count:]
        try:
            editor = change(editor, *arguments, why)
        except ValueError as error:
            remedy = str(error).replace("pass condition=1", f"write {arguments[0]}.1")
            raise InputError(f"{name} {' '.join(arguments)}: {remedy}") from None
        receipts.append(str(editor.receipt))
    if out is not None:
        kept: dict[str, Any] = {"preparation": file.preparation, "held_out": split.held_out}
        save(editor.network, out, units=file.units, edits=(*file.edits, *editor.log), **kept)
    if as_json:
        plain = {"edits": edits_out(editor.log), "equation": bgn.equation(editor.network, units=file.units)}
        show_json(plain | split.counts | split.test_errors(file.network, editor.network))
        return
    show(f"On {split.training_text}:")
    for line in (*receipts, *split.test_report(file.network, editor.network)):
        show(line)
    show(bgn.equation(editor.network, units=file.units))
    if out is not None:
        show(f"model written to {clean(out)}")
