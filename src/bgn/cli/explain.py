"""``bgn explain``, ``effect`` and ``compare``: which columns move predictions, in a row, on average, between groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pyarrow as pa

import bgn
from bgn.cli.options import class_option, json_option, model_and_data, one_of, reads_data, rows_option
from bgn.cli.prove import check_no_class, output_of, score_name
from bgn.cli.terminal import note, raw_option, show, show_columns, show_json
from bgn.explain.arguments import class_labels, class_number, column_of, decode_rows, probabilities_of
from bgn.export.condition import bounds, ends
from bgn.inputs.errors import InputError
from bgn.model.network import Network
from bgn.model.readings import as_terms, with_positive_second
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.model_rows import DataFile
from bgn.persist import ModelFile
from bgn.persist.network import ends_out
from bgn.show.labels import cell, term_labels
from bgn.table_files import table_writer
from bgn.text import clean, count_of, people, quote_category, quote_name, signed

if TYPE_CHECKING:
    from bgn.explain.effects import Effect
    from bgn.explain.shap import Explanation

_ROUNDING = 1e-12  # a share of the largest value that is what adding up leaves behind


@model_and_data
@click.option("--row", type=click.IntRange(1), help="Explain this row alone; the first is 1.")
@class_option
@click.option("--background", help="File of rows to compare with, all of it [default: the rows of DATA].")
@rows_option
@json_option
@click.option("-o", "--out", help="CSV, TSV or Parquet file for the values of every row.")
@raw_option
@reads_data
def explain(
    file: ModelFile, data: DataFile, row: int | None, label: str | None, background: str | None, which: str | None,
    as_json: bool, out: str | None, raw: bool,
) -> None:  # fmt: skip
    """Say which columns move the predictions of a saved MODEL on the rows of DATA, by exact SHAP values.

    Without --row: how far each column moves a prediction, on average over the rows. With it: what each column adds to
    the mean prediction in that row. The mean is over the rows of --background, or of DATA. Of the file that the model
    was fitted to, the test rows are averaged over, unless --rows or --out is given. With classes what
    is explained is a score, since scores add up: the log-odds of the second of two classes, the score of the class
    predicted in a row, or of --class.

    \b
    bgn explain model.json houses.csv
    bgn explain model.json houses.csv --row 17
    bgn explain model.json new.csv --background houses.csv
    bgn explain model.json houses.csv -o values.csv
    """
    file = replace(file, network=with_positive_second(file.network))
    network, rows = file.network, data.complete_rows(file)
    explained = rows.X[rows.chosen(row)]
    if row is None:
        explained = rows.only(which, "test" if out is None else "all").X
    elif rows.test is not None:
        train, test = (bool(chosen[rows.chosen(row)][0]) for chosen in (rows.train, rows.test))
        note(f"row {row} is {'a training row' if train else 'a test row' if test else 'no training row'}.")
    others = rows.X if background is None else replace(data, name=background).complete_rows(file).X
    if len(others) == 1 and background is None:
        raise InputError(f"{data.name} has one row, and nothing to compare it with. Name rows with --background FILE.")
    explanation = bgn.shap_values(network, decode_rows(network, explained), background=decode_rows(network, others))
    classes = explanation.classes or ()
    if not classes:
        check_no_class(label)
    elif label is not None:
        explanation = explanation.of_class(classes[class_number(network, label, "--class")])
    elif explanation.values.ndim == 3 and row is not None and explanation.probabilities is not None:
        explanation = explanation.of_class(classes[int(explanation.probabilities[0].argmax())])
    used = [network.names[column] for column in network.features_used]
    values = explanation.values[:, list(network.features_used)]
    if values.ndim == 3 and out is not None:
        raise InputError(f"--out: name the class whose score is explained with --class, {one_of(network)}.")
    if out is not None:
        schema = pa.schema([(name, pa.float64()) for name in ("base value", *used)])
        with table_writer(out, schema, raw=raw, note=note) as writer:
            base = np.full(len(values), explanation.base_value)
            writer.write_table(pa.table([base, *values.T.copy()], schema=schema))
    sizes = values[0] if row is not None else np.abs(values).mean(axis=(0, *range(2, values.ndim)))
    by_column = {used[i]: float(sizes[i]) for i in np.argsort(-np.abs(sizes), kind="stable")}
    if as_json:
        facts = {"base_value": np.asarray(explanation.base_value).tolist(), "method": explanation.method}
        facts |= {"rows": len(explained)}
        if network.link != "identity":
            several = explanation.values.ndim == 3
            facts["of"] = "scores of all classes" if several else score_name(explanation.network)
            if row is not None and not several:
                facts["probabilities"] = _probabilities(network, explained)
        if row is not None and explanation.predictions is not None:
            facts |= {"of": "sum before bounds", "prediction": float(explanation.predictions[0])}
        show_json({**facts, ("values" if row else "importance"): by_column})
    elif row is None:
        _show_importance(network, explanation, by_column)
    else:
        _show_row(file, explanation, by_column)


def _probabilities(network: Network, rows: Floats) -> dict[str, float]:
    """Return the probability of every class in the first of some encoded rows."""
    probabilities = probabilities_of(network, network.raw_score(decode_rows(network, rows)))[0].tolist()
    return dict(zip(map(category_name, class_labels(network)), probabilities, strict=True))


def _show_importance(network: Network, explanation: Explanation, by_column: dict[str, float]) -> None:
    """Print how far every column moves predictions, the largest first."""
    what = ""
    if explanation.values.ndim == 3:
        what = f" and {len(class_labels(network))} classes"
    elif network.link != "identity":
        what = f", {quote_name(score_name(explanation.network))}"
    show(f"mean |SHAP value| over {count_of(len(explanation.values), 'row')}{what} ({explanation.method})")
    total = sum(by_column.values()) or 1.0
    widest = max([len(quote_name(name)) for name in by_column] + [len("prediction")])
    for name, size in by_column.items():
        show(f"{quote_name(name):<{widest}} {people(size):>12} {size / total:>6.1%}")


def _show_row(file: ModelFile, explanation: Explanation, by_column: dict[str, float]) -> None:
    """Print what every column adds in a row, the largest first, and the prediction."""
    network, bounded = file.network, explanation.predictions is not None
    name = "sum" if bounded else "prediction"
    if network.link != "identity" and not bounded:
        name = quote_name(score_name(explanation.network))
    widest = max([len(quote_name(column)) for column in by_column] + [len(f"mean {name}"), len("prediction")])
    show(f"{f'mean {name}':<{widest}} {people(float(explanation.base_value), 6):>12}")
    row = dict(zip(network.names, zip(network.schema.columns, explanation.data[0].tolist(), strict=True), strict=True))
    least = _ROUNDING * max(map(abs, by_column.values()), default=0.0)
    for column_name, value in by_column.items():
        column, at = row[column_name]
        unit = file.units.get(column_name, "") if column.categories is None and at == at else ""
        text = signed(value) if abs(value) > least else "0"
        show(f"{quote_name(column_name):<{widest}} {text:>12}   at {clean(f'{cell(column, at)} {unit}')}")
    prediction = float(explanation.base_value + explanation.values[0].sum())
    show(f"{name:<{widest}} {people(prediction, 6):>12}")
    if explanation.predictions is not None:
        end = people(float(explanation.predictions[0]), 6)
        show(f"{'prediction':<{widest}} {end:>12}   {bounds(as_terms(network))}")
    if network.link != "identity":
        shares = _probabilities(network, explanation.data).items()
        show(f"probability: {', '.join(f'{quote_category(label)} {share:.1%}' for label, share in shares)}")


@model_and_data
@click.argument("column")
@rows_option
@class_option
@json_option
@reads_data
def effect(file: ModelFile, data: DataFile, column: str, which: str | None, label: str | None, as_json: bool) -> None:
    """Show the mean prediction of a saved MODEL as one COLUMN moves and the others stay as in the rows of DATA.

    About ten lines: every category where there are few, else ten values of the column between the least and the
    greatest in the rows. It is known exactly everywhere: --json has each step. With classes it is the mean of the
    probability of one.

    \b
    bgn effect model.json houses.csv income
    bgn effect penguins.json penguins.csv bill_length_mm --class Adelie
    """
    file = replace(file, network=with_positive_second(file.network))
    network, classes, of = file.network, file.network.schema.classes, None
    if network.link == "identity":
        check_no_class(label)
    elif label is not None:
        of = class_labels(network)[class_number(network, label, "--class")]
    elif classes is not None and len(classes) > 2:
        raise InputError(f"--class must say of which class, {one_of(network)}.")
    if column not in network.names and data.name in network.names:
        raise InputError(f"DATA comes before COLUMN: bgn effect MODEL {column} {data.name!r}.")
    column = network.names[column_of(network, column, "COLUMN")]
    X = data.complete_rows(file).only(which).X
    curve: Any = bgn.effect(network, column, background=decode_rows(network, X), of=of)
    if as_json:
        show_json(_describe_effect(curve) | ({} if network.link == "identity" else {"of": curve.target}))
    else:
        _show_effect(curve, X[:, network.names.index(curve.feature)], file)


def _describe_effect(curve: Effect) -> dict[str, Any]:
    """Return an effect in plain values: every step, and the linear term beside them."""
    facts: dict[str, Any] = {"column": curve.feature}
    if curve.column.categories is not None:
        effects = curve(np.array(curve.column.categories, dtype=object)).tolist()
        facts["effects"] = dict(zip(map(category_name, curve.column.categories), effects, strict=True))
    else:
        facts |= {"breakpoints": curve.breakpoints.tolist(), "values": curve.values.tolist()}
        facts |= {} if curve.rates is None else {"per_unit": curve.rates.tolist()}
        term = curve.linear
        facts["linear"] = term and {"coef": float(curve.linear_coef), "ends": ends_out(term.low, term.high)}
    return facts | {"missing": curve.missing}


def _show_effect(curve: Effect, column: Floats, file: ModelFile) -> None:
    """Print an effect in about ten lines, with bars."""
    from bgn.show.curves import bars, decimals_of, effect_lines

    name, unit = quote_name(curve.feature), file.units.get(curve.feature, "")
    mean = f"mean {quote_name(curve.target)}" if file.network.link != "identity" and curve.target else "mean prediction"
    if curve.is_constant:
        value = people(float(curve.values[0]), 6)
        show(f"The model does not use {name}: the {mean} is {value} whatever its value.")
        return
    show(f"{mean} over {count_of(len(column), 'row')}, by {name}{f' ({clean(unit)})' if unit else ''}")
    lines = effect_lines(curve, column)
    decimals, drawn = decimals_of(lines.values), bars(lines.values)
    written = [f"{value:.{decimals}f}" for value in lines.values]
    places = [clean(place) for place in lines.places]
    left, right = max(map(len, places), default=0), max(map(len, written), default=0)
    side = ">" if curve.column.categories is None else "<"
    for place, value, bar in zip(places, written, drawn, strict=True):
        show(f"  {place:{side}{left}}  {value:>{right}}  {bar}".rstrip())
    if lines.of_steps is not None:
        linear = "" if curve.rates is None else ", and so much per unit between them"
        if curve.linear is not None:
            linear = f", and {signed(float(curve.linear_coef), 6)} per unit{ends(curve.linear)}"
        show(f"some values; the effect itself has {count_of(lines.of_steps, 'step')}{linear} (--json has all)")


@model_and_data
@click.option("--groups", metavar="COL", help="Column of DATA that says which group a row is in.")
@click.option("--between", nargs=2, metavar="A B", help="Which two groups; to be left out where there are two.")
@click.option("--with", "other", metavar="FILE", help="Another file, to compare DATA with.")
@click.option("--terms", is_flag=True, help="Term by term, not column by column.")
@class_option
@json_option
@reads_data
def compare(
    file: ModelFile, data: DataFile, groups: str | None, between: tuple[str, str] | None, other: str | None,
    terms: bool, label: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say why the mean prediction of a saved MODEL differs between two groups of DATA, or between two files.

    The difference is a sum over columns, or over terms, that adds up to the last digit. A term about two columns is
    shared among them by their Shapley values.

    \b
    bgn compare model.json people.csv --groups sex
    bgn compare model.json last_year.csv --with this_year.csv --terms
    """

    if (groups is None) == (other is None):
        raise click.UsageError("name a column with --groups, or another file with --with: one of the two.")
    file = replace(file, network=with_positive_second(file.network))
    network, output = file.network, output_of(file.network, label)
    if other is not None:
        tables = [data.complete_rows(file).X, replace(data, name=other).complete_rows(file).X]
        first, second = (decode_rows(network, rows) for rows in tables)
        comparison = bgn.compare_tables(network, first, second, names=(data.name, other), output=output)
    else:
        grouped = data.complete_rows(file, labelled_by=groups)
        of_rows = [None if label is None else str(label) for label in grouped.labels.tolist()]
        table = decode_rows(network, grouped.X)
        try:
            comparison = bgn.compare_groups(network, table, of_rows, between=between, output=output)
        except ValueError as error:
            raise InputError(str(error).replace("between must", "--between must")) from None
    if as_json:
        show_json(comparison.as_dict())
        return
    what = "prediction" if network.link == "identity" else quote_name(score_name(network, output))
    for name, rows, mean in zip(comparison.names, comparison.rows, comparison.means, strict=True):
        group = clean(name) if groups is None else f"{quote_name(groups)} = {quote_category(name)}"
        show(f"mean {what}, {group} ({count_of(rows, 'row')}): {people(mean, 6)}")
    labels = term_labels(comparison.network) if terms else [*map(quote_name, comparison.network.names)]
    parts = comparison.parts(labels, "terms" if terms else "columns")
    lines = [[name, signed(value)] for name, value in parts]
    show_columns([*lines, ["difference", signed(comparison.difference, 6)]], left=1)
