"""``bgn compare``: why a saved model predicts two groups, or two files, differently on average."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click
import numpy as np

import bgn
from bgn.cli.explain import output_of, score_name
from bgn.cli.source import DataFile, ModelRows, class_option, json_option, model_and_data, reads_data
from bgn.cli.terminal import note, show, show_json
from bgn.explain.arguments import decode_rows
from bgn.inputs.errors import InputError
from bgn.model.readings import as_told
from bgn.model.step import Bools, Floats
from bgn.persist import ModelFile
from bgn.show.labels import term_labels
from bgn.text import clean, count_of, people, quote_category, quote_name, signed

if TYPE_CHECKING:
    from bgn.explain.compare import Comparison


@model_and_data
@click.option("--groups", metavar="COL", help="Column of DATA that says which group a row is in.")
@click.option("--between", nargs=2, metavar="A B", help="Which two groups; to be left out where there are two.")
@click.option("--with", "other", metavar="FILE", help="Another file, to compare DATA with.")
@click.option("--questions", is_flag=True, help="Question by question, not column by column.")
@class_option
@json_option
@reads_data
def compare(
    file: ModelFile, data: DataFile, groups: str | None, between: tuple[str, str] | None, other: str | None,
    questions: bool, label: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say why the mean prediction of a saved MODEL differs between two groups of DATA, or between two files.

    The gap is a sum over columns, or over questions, that adds up to the last digit. A question about two columns is
    shared among them by their Shapley values.

    \b
    bgn compare model.json people.csv --groups sex
    bgn compare model.json last_year.csv --with this_year.csv --questions
    """
    from bgn.explain.compare import told

    if (groups is None) == (other is None):
        raise click.UsageError("name a column with --groups, or another file with --with: one of the two.")
    file = replace(file, network=as_told(file.network))
    output = output_of(file.network, label)
    if other is not None:
        tables = [data.complete_rows(file).X, replace(data, name=other).complete_rows(file).X]
        first, second = (decode_rows(file.network, rows) for rows in tables)
        found = bgn.compare_tables(file.network, first, second, names=(data.name, other), output=output)
    else:
        assert groups is not None
        found = _of_groups(file, data, (groups, between), output)
    if as_json:
        show_json(found.as_dict())
        return
    what = "prediction" if file.network.link == "identity" else quote_name(score_name(file.network, output))
    for name, rows, mean in zip(found.names, found.rows, found.means, strict=True):
        group = clean(name) if groups is None else f"{quote_name(groups)} = {quote_category(name)}"
        show(f"mean {what}, {group} ({count_of(rows, 'row')}): {people(mean, 6)}")
    labels = term_labels(found.network) if questions else [*map(quote_name, found.network.names)]
    parts = told(found, dict(enumerate(labels)), "questions" if questions else "columns")
    widest = max([len(name) for name, _ in parts] + [len("gap")])
    for name, value in parts:
        show(f"{name:<{widest}} {signed(value):>12}")
    show(f"{'gap':<{widest}} {signed(found.gap, 6):>12}")


def _of_groups(
    file: ModelFile, data: DataFile, groups: tuple[str, tuple[str, str] | None], output: int | None
) -> Comparison:
    """Read the rows with the group of each: a column, and which two of its groups."""
    column, between = groups
    rows, complete, labels = list[Floats](), list[Bools](), list[str | None]()
    for _, table, prepared in ModelRows(file, data.open(), [column], form=data.form).blocks():
        rows.append(prepared.X)
        complete.append(prepared.complete)
        labels += [None if value is None else str(value) for value in table.column(column).to_pylist()]
    X = np.concatenate(rows) if rows else np.empty((0, file.network.n_inputs))
    whole: Bools = np.concatenate(complete) if complete else np.ones(0, dtype=bool)
    if not whole.any():
        raise InputError(f"{data.name} has no complete row.")
    if not whole.all():
        note(f"{np.count_nonzero(~whole)} of {len(whole)} rows lack a value and are left out.")
    kept = [label for label, there in zip(labels, whole, strict=True) if there]
    try:
        return bgn.compare_groups(file.network, decode_rows(file.network, X[whole]), kept, between=between, output=output)
    except ValueError as error:
        raise InputError(str(error).replace("between must", "--between must")) from None
