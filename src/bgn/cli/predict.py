"""``bgn predict`` and ``bgn evaluate``: what a saved model predicts of the rows of a file, and how well."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bgn
from bgn.cli.options import json_option, model_and_data, open_data, reads_data, rows_option
from bgn.cli.terminal import note, raw_option, show, show_columns, show_json
from bgn.explain.arguments import decode_rows, probabilities_of
from bgn.inputs.errors import InputError
from bgn.inputs.splits import Recognizer
from bgn.model.numbers import written
from bgn.model.readings import as_terms
from bgn.model.schema import category_name
from bgn.model.step import Bools, Floats
from bgn.model_rows import DataFile, ModelRows
from bgn.persist import ModelFile
from bgn.table_files import table_writer
from bgn.text import count_of, quote_category

_SEPARATOR = " | "  # of the classes of a set
_MOST_CLASSES = 20  # of a confusion matrix that is printed


@model_and_data
@click.option("-o", "--out", help="CSV, TSV or Parquet file to write [default: standard output].")
@click.option("--keep", multiple=True, metavar="COL", help="Copy this column beside the prediction; again for more.")
@click.option("--proba", is_flag=True, help="Write the probability of every class beside the predicted one.")
@click.option(
    "--interval", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE",
    help="Also low and high ends between which so many rows' targets lie, such as 0.9; for classes, those among which "
    "so many rows' classes are.",
)  # fmt: skip
@click.option("--exact", is_flag=True, help="Write every digit; text has as many as the model's weights otherwise.")
@raw_option
@click.option("--json", "as_json", is_flag=True, help="A JSON object per row and line, with every digit.")
@reads_data
def predict(
    file: ModelFile, data: DataFile, out: str | None, keep: tuple[str, ...], proba: bool, interval: float | None,
    exact: bool, raw: bool, as_json: bool,
) -> None:  # fmt: skip
    """Predict the rows of DATA (a file, - for standard input, or a built-in table) with a saved MODEL.

    Columns are found by name, in any order. One line comes out for every row; where a value is missing, a rule holds or
    not as it was fitted. Files larger than memory are read in blocks. A model for classes writes labels and, with
    --proba, a column per class with its probability. Text has as many decimals as the model's weights, probabilities
    six; Parquet, --json and --exact have every digit. Text that a spreadsheet would take for a formula has an
    apostrophe in front in CSV and TSV.

    \b
    bgn predict model.json new.csv > predicted.csv
    bgn predict model.json new.parquet --keep id -o predicted.parquet
    bgn predict model.json new.csv --interval 0.9
    bgn predict churn.json new.csv --proba
    """
    made = _new_columns(file, proba, interval)
    if twice := [name for name in made if name in keep]:
        raise InputError(f"--keep {twice[0]} would name two columns alike; rename that column first.")
    if interval is not None:
        intervals = file.intervals
        if intervals is None:
            raise InputError(
                "--interval: the model was saved without intervals: it had no rows to learn them from. Fit it with "
                "some to validate on."
            )
        if intervals.network != file.network:
            raise InputError("--interval: the model has intervals at its own size only; leave out --size.")
        if not intervals.folds and set(intervals.calibrations) != {None}:
            raise InputError("--interval: the model's intervals are made for groups; ask for them in Python.")
    opened, binary = open_data(data), out is not None and out.lower().endswith((".parquet", ".pq"))
    kinds = {name: _copied_type(name, opened.table.types.get(name, pa.string()), binary) for name in keep}
    recognizer, target = Recognizer(file.held_out, opened.table.names), file.network.target_name
    targets = [target] if file.held_out is not None and target in opened.table.names else []
    rows = ModelRows(file, opened, [*dict.fromkeys([*keep, *recognizer.columns, *targets])], form=data.form, note=note)
    schema = pa.schema([*kinds.items(), *made.items()])
    total = lacking = filled = 0
    decimals = None if exact or binary or as_json else _decimals(file)
    with table_writer(out, schema, as_json, raw, note) as writer:
        for first, table, block in rows.blocks():
            y = None
            with suppress(InputError):  # a target that cannot be read does not make the file another one
                y = rows.target(table.column(targets[0]), targets[0], first) if targets else None
            recognizer.look(first, table, y)
            incomplete = ~block.complete
            block.X[incomplete] = 0.0
            columns = [_copied(table.column(name), kind) for name, kind in kinds.items()]
            for column in _predict_columns(file, block.X, incomplete, proba, interval):
                rounds = decimals is not None and pa.types.is_floating(column.type)
                columns.append(pc.round(column, decimals) if rounds else column)
            writer.write_table(pa.table(columns, schema=schema))
            total += len(incomplete)
            lacking += int(np.count_nonzero(incomplete))
            filled += int(np.count_nonzero(block.filled))
    if lacking:
        note(f"{lacking} of {count_of(total, 'row')} lack a value the model reads: their predictions are empty.")
    if filled:
        stands_in = "the median or the commonest value of the training rows stands in"
        note(f"{filled} of {count_of(total, 'row')} lack a value that no rule has an answer for: {stands_in}.")
    if recognizer.n_training is not None:
        trained = f"{recognizer.n_training:,} of {count_of(total, 'row')} are training rows"
        note(f"{trained}: errors on them may be smaller than on new rows.")


def _new_columns(file: ModelFile, proba: bool, interval: float | None) -> dict[str, pa.DataType]:
    """Return the columns that are written beside copied ones, with their types."""
    classes = file.network.schema.classes
    if classes is None:
        if proba:
            raise InputError("--proba: the model predicts numbers, which have no probability; leave it out.")
        return dict.fromkeys(["prediction"] if interval is None else ["prediction", "low", "high"], pa.float64())
    shares = {f"probability of {category_name(label)}": pa.float64() for label in classes} if proba else {}
    sets = {} if interval is None else {"classes": pa.string()}
    return {"prediction": pa.array(list(classes)).type, **sets, **shares}


def _copied_type(name: str, kind: pa.DataType, binary: bool) -> pa.DataType:
    """Return the type of a column that is copied: its own, or text where a text file would write it otherwise."""
    if binary or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return kind
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise InputError(f"--keep {name!r}: a column of {kind} cannot be written as text; write to a .parquet file.")
    return pa.string()


def _decimals(file: ModelFile) -> int:
    """Return how many decimals to write: those of the model's weights, six for probabilities."""
    if file.network.link != "identity":
        return 6
    terms = as_terms(file.network)
    weights = [float(terms.intercept[0]), *(term.weight for term in terms.rules)]
    return max(0, *(-int(written(weight).as_tuple().exponent) for weight in weights))


def _copied(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column to copy; time stamps as text without fractions of seconds that say nothing."""
    if pa.types.is_timestamp(column.type) and pa.types.is_string(kind):
        zone = column.type.tz
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.timestamp("s", zone))
        if zone is not None:
            return pc.strftime(column, format="%Y-%m-%d %H:%M:%S%z")
    return column.cast(kind)


def _predict_columns(
    file: ModelFile, X: Floats, incomplete: Bools, proba: bool, interval: float | None
) -> list[pa.Array]:
    """Return what is written of some rows: the prediction and, if wanted, probabilities or ends of an interval."""
    network, classes = file.network, file.network.schema.classes
    intervals = file.intervals if interval is not None else None
    ranges = None if intervals is None or interval is None else intervals.predict_encoded(X, interval)
    if classes is None:
        columns = [network.predict_encoded(X), *([] if ranges is None else ranges.T.copy())]
        return [pa.array(column, mask=incomplete) for column in columns]
    scores = network.predict_encoded(X, scores=True)
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    predicted = [pa.array(list(classes)).take(pa.array(codes, mask=incomplete))]
    if ranges is not None:
        names = [category_name(label) for label in classes]
        sets = [_SEPARATOR.join(name for name, inside in zip(names, row, strict=True) if inside)
                for row in ranges.tolist()]  # fmt: skip
        predicted.append(pa.array(sets, mask=incomplete))
    if proba:
        predicted += [pa.array(column, mask=incomplete) for column in probabilities_of(network, scores).T]
    return predicted


@model_and_data
@click.option(
    "--threshold", type=click.FloatRange(0, 1),
    help="Of two classes, the probability of the second above which it is predicted [default: 0.5].",
)  # fmt: skip
@rows_option
@json_option
@reads_data
def evaluate(file: ModelFile, data: DataFile, threshold: float | None, which: str | None, as_json: bool) -> None:
    """Say how well a saved MODEL predicts the rows of DATA, which must have the target.

    Of the file that the model was fitted to, the test rows are evaluated, unless --rows says otherwise. For
    classes: AUC, log loss, Brier and calibration error, accuracy and more, with standard errors, and how often each
    class was taken for which. For regression: R2, mean squared error and its root, mean absolute error, with theirs.

    \b
    bgn evaluate model.json houses.csv
    bgn evaluate churn.json customers.csv --threshold 0.3
    """
    rows = data.complete_rows(file, with_target=True)
    rows.target("predictions are compared with")
    rows = rows.for_evaluation(which)
    y, classes = rows.target(""), file.network.schema.classes
    if classes is None and threshold is not None:
        raise InputError("--threshold is for two classes, and the model predicts numbers; leave it out.")
    threshold = 0.5 if threshold is None else threshold
    more: dict[str, Any] = {} if classes is None else {"threshold": threshold}
    evaluation = bgn.evaluate(file.network, decode_rows(file.network, rows.X), y, **more)
    names, counts = [category_name(label) for label in classes or ()], []
    if evaluation.confusion is not None:
        counts = evaluation.confusion.astype(int).tolist()
    if as_json:
        scores, errors = ({name: None if value != value else value for name, value in values.items()}
                          for values in (evaluation.scores, evaluation.errors))  # fmt: skip
        plain: dict[str, Any] = {"rows": evaluation.rows, "scores": scores, "standard_errors": errors}
        if classes is not None:
            plain |= {"classes": names, "threshold": threshold, "confusion": counts}
            plain["calibration_by_chance"] = evaluation.by_chance
        show_json(plain)
        return
    show(str(evaluation))
    if counts and len(names) <= _MOST_CLASSES:
        titles = [quote_category(name, 24) for name in names]
        lines = [[title, *map(str, row)] for title, row in zip(titles, counts, strict=True)]
        show()
        show_columns([["actual \\ predicted", *titles], *lines], left=1)
