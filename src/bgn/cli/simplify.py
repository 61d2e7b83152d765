"""``bgn simplify``: a model with rounder numbers, or as a card of whole points."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import click

import bgn
from bgn.cli.learning import LearningRows, learning_option
from bgn.cli.source import DataFile, json_option, model_and_data, reads_data
from bgn.cli.terminal import note, show, show_json
from bgn.explain.arguments import decode_rows
from bgn.export.equation import FORMATS
from bgn.inputs.arguments import monotone_columns
from bgn.persist import ModelFile, save
from bgn.text import clean, people


@model_and_data
@click.option("--digits", type=click.IntRange(1, 17), help="Significant digits of the output weights.")
@click.option("--max-loss", type=float, default=0.01, show_default=True, help="Largest relative rise of the error.")
@click.option("--points", type=click.IntRange(1, 1000), help="A card of whole points, at most so many per question.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="How the equation or the card is written.",
)
@click.option("-o", "--out", help="Where to write the simpler model.")
@learning_option
@json_option
@reads_data
def simplify(
    file: ModelFile, data: DataFile, form: str, out: str | None, which: str | None, as_json: bool, **options: Any
) -> None:
    """Round the numbers of a saved MODEL: thresholds without changing a prediction in DATA, then output weights.

    With --points it becomes a card to add up by hand: whole points per question, and a line from their total to the
    prediction. What is printed is what the written model predicts. Numbers are learned from the training rows of DATA
    alone; the test rows measure the result. The rows of another file than the model was fitted to are all training
    rows.

    \b
    bgn simplify model.json houses.csv
    bgn simplify model.json houses.csv --points 5 -o points.json
    bgn simplify model.json houses.csv --points 5 --format html > card.html
    """
    from bgn.explain.simplify import rounded  # a command starts without numba

    every = data.complete_rows(file, judged=True)
    every.target("the error is measured on")
    rows = LearningRows.of(file, every, which)
    X = decode_rows(file.network, rows.train.X)
    wanted = monotone_columns((file.settings or {}).get("monotonic_cst"), file.network.schema)
    simple = rounded(file.network, X, rows.train.target(""), wanted, **options)
    card = None if options["points"] is None else bgn.scorecard(simple.network)
    if out is not None:
        known: dict[str, Any] = {"preparation": file.preparation, "held_out": rows.held_out}
        save(file.with_network(simple.network), out, units=file.units, **known)
    if as_json:
        plain: dict[str, Any] = {"measure": simple.measure, "before": simple.before, "after": simple.after}
        plain |= rows.counts | rows.test_errors(file.network, simple.network)
        plain["equation"] = bgn.equation(simple.network, units=file.units)
        if card is not None:
            plain["scorecard"] = {"questions": card.questions, "points": card.points}
            start: Any = float(card.start) if isinstance(card.start, Decimal) else card.start
            plain["scorecard"] |= {"start": start, "unit": float(card.unit)}
        show_json(plain)
        return
    show(bgn.equation(simple.network, form, units=file.units) if card is None else card.format(form, file.units))
    # What is no part of an equation or a card stays out of a file that it is written to.
    tell = show if form == "text" else note
    if form == "text":
        show()
    told = f"{simple.measure} {people(simple.before, 6)} before, {people(simple.after, 6)} after"
    tell(f"Learned from {rows.training_rows}: {told}.")
    for text in rows.tested(file.network, simple.network):
        tell(text)
    if out is not None:
        tell(f"model written to {clean(out)}")
