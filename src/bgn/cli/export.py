"""``bgn export``: a saved model as a program for somewhere else."""

from __future__ import annotations

import sys
from typing import Any

import click

from bgn.cli.options import json_option, read_model, size_option
from bgn.cli.terminal import note, show, show_json
from bgn.explain.arguments import class_labels, decode_rows
from bgn.export import TARGETS
from bgn.export.plan import plan
from bgn.export.programs.sql import count_differing_rows
from bgn.export.programs.sql_dialects import DIALECTS
from bgn.inputs.errors import InputError
from bgn.model.readings import is_first_positive
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.model_rows import DataFile, preparation_of
from bgn.persist import ModelFile
from bgn.text import clean, count_of
from bgn.whole_file import check_place


@click.command()
@click.argument("model", type=click.Path())
@click.option("--to", "target", type=click.Choice(list(TARGETS)), required=True, help="What to write.")
@click.option("-o", "--out", help="File to write [default: standard output, but for onnx and excel].")
@click.option("--dialect", type=click.Choice(list(DIALECTS)), help="Of SQL.")
@click.option("--table", help="Of SQL: the table to read.")
@click.option("--keep", multiple=True, metavar="COL", help="Of SQL: a column to return too; again for more.")
@click.option("--expression", is_flag=True, help="Of SQL: one expression and no SELECT.")
@click.option("--name", help="Of C: what all names start with.")
@click.option("--integers", is_flag=True, help="Of C: the points of a card, without floats.")
@click.option("--inputs", type=click.Choice(["matrix", "columns"]), help="Of ONNX: one input, or one per column.")
@click.option("--precision", type=click.Choice(["double", "float"]), help="Of ONNX: type of the numbers handed over.")
@click.option("--rows", type=click.IntRange(1, 1_000_000), help="Of Excel: lines for rows to predict.")
@click.option("--reasons", metavar="DATA", help="Of Python, SQL, ONNX and PMML: rows to explain predictions against.")
@click.option("--count", type=click.IntRange(1), help="Of SQL and ONNX: how many reasons per prediction.")
@click.option("--check", metavar="DATA", help="Of SQL: run it on these rows, in SQLite, and compare with the model.")
@size_option
@json_option
def export(
    model: str, target: str, out: str | None, check: str | None, size: int | None, as_json: bool, **options: Any
) -> None:
    """Write a saved MODEL as a program that predicts the same without bgn.

    \b
    bgn export model.json --to sql --dialect duckdb --table houses --keep id
    bgn export model.json --to sql --table houses -o model.sql --check houses.csv
    bgn export model.json --to c -o model.h
    bgn export model.json --to onnx -o model.onnx
    bgn export model.json --to excel -o model.xlsx
    """
    chosen, file = TARGETS[target], read_model(model, size)
    given = {name: value for name, value in options.items() if value not in (None, (), False)}
    if given.pop("expression", False):
        given["form"] = "expression"
    if wrong := [name for name in given if name not in chosen.options]:
        raise click.UsageError(f"--{'expression' if wrong[0] == 'form' else wrong[0]} is no option of --to {target}.")
    if check is not None and target != "sql":
        raise click.UsageError(f"--check is no option of --to {target}.")
    if out is None and not chosen.text:
        raise InputError(f"--to {target} is no text; say where to write it: --out FILE.")
    if out is not None:
        check_place(out)
    if "reasons" in given:
        given["reasons"] = decode_rows(file.network, _read_rows(file, given["reasons"]))
    compared = None
    if check is not None:
        X = _read_rows(file, check)
        scores = file.network.predict_encoded(X, scores=True)
        compared = len(X), count_differing_rows(file.network, decode_rows(file.network, X).tolist(), scores)
    written = chosen.write(file.network, out, **given)
    to_do = plan(file.network).to_do if target in ("c", "onnx", "excel", "pmml") else ()
    if as_json:
        facts = {"program": str(written)} if out is None else {"written": out}
        checked = {} if compared is None else {"rows_checked": compared[0], "rows_that_differ": compared[1]}
        show_json({"to": target, **facts, "to_make_before": list(to_do), **checked})
        return
    if out is None:
        sys.stdout.write(str(written))
    else:
        show(f"{target} written to {clean(out)}")
    if is_first_positive(file.network):
        second = clean(category_name(class_labels(file.network)[1]))
        note(f"score and probability are those of {second!r}, the second class.")
    for sentence in to_do:
        note(f"to make before: {sentence}")
    if compared is not None:
        result = f"{compared[1]:,} differ from the model" if compared[1] else "all as the model"
        note(f"run in SQLite on {count_of(compared[0], 'row')}: {result}.")


def _read_rows(file: ModelFile, name: str) -> Floats:
    return DataFile(name, preparation_of(file).later_format(), note).complete_rows(file).X
