"""``bgn explain``: why a saved model predicts what it does, on the rows of a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pyarrow as pa

import bgn
from bgn.cli.source import DataFile, class_option, json_option, model_and_data, one_of, reads_data, rows_option
from bgn.cli.terminal import note, raw_option, show, show_json, table_writer
from bgn.explain.arguments import class_labels, class_number, decode_rows, probabilities_of
from bgn.export.condition import bounds
from bgn.inputs.errors import InputError
from bgn.model.network import Network
from bgn.model.readings import as_terms, as_told, outputs_of
from bgn.model.schema import Column, category_name
from bgn.persist import ModelFile
from bgn.show.labels import cell
from bgn.text import clean, count_of, people, quote_category, quote_name, signed

if TYPE_CHECKING:
    from bgn.explain.shap import Explanation

_ROUNDING = 1e-12  # a share of the largest amount that is what adding up leaves behind


@model_and_data
@click.option("--row", type=click.IntRange(1), help="Explain this row alone; the first is 1.")
@class_option
@click.option("--background", help="File of rows to compare with; all of it is used. The rows of DATA unless told.")
@rows_option
@json_option
@click.option("-o", "--out", help="CSV, TSV or Parquet file for the values of every row.")
@raw_option
@reads_data
def explain(
    file: ModelFile,
    data: DataFile,
    row: int | None,
    label: str | None,
    background: str | None,
    which: str | None,
    as_json: bool,
    out: str | None,
    raw: bool,
) -> None:
    """Say which columns move the predictions of a saved MODEL on the rows of DATA, by exact SHAP values.

    Without --row: how far each column moves a prediction, on average over the rows. With it: what each column adds to
    the mean prediction in that row. The mean is over the rows of --background, or of DATA. Of the file that the model
    was fitted to, the rows that were set aside are averaged over, unless --rows or --out is given. With classes what
    is explained is a score, since scores add up: the log-odds of the second of two classes, the score of the class
    predicted in a row, or of --class.

    \b
    bgn explain model.json houses.csv
    bgn explain model.json houses.csv --row 17
    bgn explain model.json new.csv --background houses.csv
    bgn explain model.json houses.csv -o values.csv
    """
    file = replace(file, network=as_told(file.network))
    rows = data.complete_rows(file)
    explained = rows.X[rows.chosen(row)]
    if row is None:
        explained = rows.only(which, "test" if out is None else "all").X
    elif rows.held is not None:
        learnt, held = (bool(each[rows.chosen(row)][0]) for each in (rows.learnt, rows.held))
        note(f"row {row} was {'set aside and ' * held}{'not ' * (not learnt)}learnt from.")
    others = rows.X if background is None else replace(data, name=background).complete_rows(file).X
    if len(others) == 1 and background is None:
        raise InputError(f"{data.name} has one row, and nothing to compare it with. Name rows with --background FILE.")
    explained, others = decode_rows(file.network, explained), decode_rows(file.network, others)
    explanation = _of_class(bgn.shap_values(file.network, explained, background=others), label, row is not None)
    used = [file.network.names[column] for column in file.network.features_used]
    values = explanation.values[:, list(file.network.features_used)]
    if values.ndim == 3 and out is not None:
        raise InputError(f"--out: name the class whose score is explained with --class, {one_of(file.network)}.")
    if out is not None:
        schema = pa.schema([(name, pa.float64()) for name in ("base value", *used)])
        with table_writer(out, schema, raw=raw) as writer:
            base = np.full(len(values), explanation.base_value)
            writer.write_table(pa.table([base, *values.T.copy()], schema=schema))
    amounts = values[0] if row is not None else np.abs(values).mean(axis=(0, *range(2, values.ndim)))
    ordered = {used[i]: float(amounts[i]) for i in np.argsort(-np.abs(amounts), kind="stable")}
    if as_json:
        told = {"base_value": np.asarray(explanation.base_value).tolist(), "method": explanation.method}
        told |= {"rows": len(explained)}
        if file.network.link != "identity":
            told |= _plain_classes(file, explanation, explained if row is not None else None)
        if row is not None and explanation.predictions is not None:
            told |= {"of": "sum before bounds", "prediction": float(explanation.predictions[0])}
        show_json({**told, ("values" if row else "importance"): ordered})
    else:
        _show(file, explanation, row, ordered)


def _of_class(explanation: Explanation, label: str | None, one_row: bool) -> Explanation:
    """Return the explanation of the score that is asked for; of several classes, and rows, that of all scores."""
    if explanation.classes is None:
        if label is not None:
            raise InputError("--class is for classes, and the model predicts numbers; leave it out.")
        return explanation
    if label is not None:
        return explanation.of_class(explanation.classes[class_number(explanation.network, label, "--class")])
    if explanation.values.ndim == 3 and one_row and explanation.probabilities is not None:
        return explanation.of_class(explanation.classes[int(explanation.probabilities[0].argmax())])
    return explanation


def _plain_classes(file: ModelFile, explanation: Explanation, row: Any) -> dict[str, Any]:
    """Return what else is told of classes: what is explained and, of one row, the probabilities."""
    words = [category_name(label) for label in class_labels(file.network)]
    if explanation.values.ndim == 3:
        return {"of": "scores of all classes"}
    told: dict[str, Any] = {"of": score_name(explanation.network)}
    if row is not None:
        chances = probabilities_of(file.network, file.network.raw_score(row))[0]
        told["probabilities"] = dict(zip(words, chances.tolist(), strict=True))
    return told


def score_name(network: Network, output: int | None = None) -> str:
    """Return what the parts of a network add up to; of several outputs, of one."""
    return outputs_of(network)[output or 0].target_name or "prediction"


def output_of(network: Network, label: str | None) -> int | None:
    """Return the number of the class whose score is meant; None where there is one score alone."""
    if network.link != "softmax":
        if label is not None:
            raise InputError("--class is for models of three classes or more; leave it out.")
        return None
    if label is None:
        raise InputError(f"--class must say of which class, {one_of(network)}.")
    return class_number(network, label, "--class")


def _unit(file: ModelFile, column: Column, value: float) -> str:
    """Return the unit behind a number, with a blank."""
    unit = file.units.get(column.name, "") if column.categories is None and value == value else ""
    return f" {clean(unit)}" if unit else ""


def _show(file: ModelFile, explanation: Explanation, row: int | None, amounts: dict[str, float]) -> None:
    """Print features with what they add, or how much they matter, the largest first."""
    classes = file.network.link != "identity"
    several = explanation.values.ndim == 3
    name = "" if several else quote_name(score_name(explanation.network)) if classes else "prediction"
    name = name if explanation.predictions is None else "sum"
    widest = max([len(quote_name(name)) for name in amounts] + [len(f"mean {name}"), len("prediction")])
    if row is None:
        total = sum(amounts.values()) or 1.0
        what = f" and {len(class_labels(file.network))} classes" if several else f", {name}" if classes else ""
        show(f"mean |SHAP value| over {count_of(len(explanation.values), 'row')}{what} ({explanation.method})")
        for name, amount in amounts.items():
            show(f"{quote_name(name):<{widest}} {people(amount):>12} {amount / total:>6.1%}")
        return
    columns = zip(file.network.schema.columns, explanation.data[0].tolist(), strict=True)
    at = {column.name: f"{cell(column, value)}{_unit(file, column, value)}" for column, value in columns}
    show(f"{f'mean {name}':<{widest}} {people(float(explanation.base_value), 6):>12}")
    least = _ROUNDING * max(map(abs, amounts.values()), default=0.0)
    for column, amount in amounts.items():
        told = signed(amount) if abs(amount) > least else "0"
        show(f"{quote_name(column):<{widest}} {told:>12}   at {at[column]}")
    prediction = float(explanation.base_value + explanation.values[0].sum())
    show(f"{name:<{widest}} {people(prediction, 6):>12}")
    if explanation.predictions is not None:
        end = people(float(explanation.predictions[0]), 6)
        show(f"{'prediction':<{widest}} {end:>12}   {bounds(as_terms(file.network))}")
    if classes:
        chances = probabilities_of(file.network, file.network.raw_score(decode_rows(file.network, explanation.data)))[0]
        words = map(category_name, class_labels(file.network))
        each = (f"{quote_category(word)} {chance:.1%}" for word, chance in zip(words, chances, strict=True))
        show(f"probability: {', '.join(each)}")
