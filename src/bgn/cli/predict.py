"""``bgn predict``: a file in, its predictions out, block by block."""

from __future__ import annotations

from contextlib import suppress

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bgn.cli.source import DataFile, ModelRows, model_and_data, reads_data
from bgn.cli.terminal import note, raw_option, table_writer
from bgn.inputs.errors import InputError
from bgn.inputs.splits import Recognizer
from bgn.model.numbers import written
from bgn.model.readings import as_terms
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.persist import ModelFile
from bgn.text import count_of

_BETWEEN = " | "  # classes of a set


@model_and_data
@click.option("-o", "--out", help="CSV, TSV or Parquet file to write; standard output unless told.")
@click.option("--keep", multiple=True, metavar="COL", help="Copy this column beside the prediction; again for more.")
@click.option("--proba", is_flag=True, help="Write the probability of every class beside the predicted one.")
@click.option(
    "--interval", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="SHARE",
    help="Also low and high ends between which so many rows' targets lie, such as 0.9; for classes, those among which "
    "so many rows' classes are.",
)  # fmt: skip
@click.option("--exact", is_flag=True, help="Write every digit; text has as many as the model's amounts otherwise.")
@raw_option
@click.option("--json", "as_json", is_flag=True, help="A JSON object per row and line, with every digit.")
@reads_data
def predict(
    file: ModelFile, data: DataFile, out: str | None, keep: tuple[str, ...], proba: bool, interval: float | None,
    exact: bool, raw: bool, as_json: bool,
) -> None:  # fmt: skip
    """Predict the rows of DATA (a file, - for standard input, or a built-in table) with a saved MODEL.

    Columns are found by name, in any order. One line comes out for every row; where a value is missing, questions are
    answered as they learnt to. Files larger than memory are read in blocks. A model for classes writes labels and, with
    --proba, a column per class with its probability. Text has as many decimals as the model's amounts, probabilities
    six; Parquet, --json and --exact have every digit. Words that a spreadsheet would take for a formula have an
    apostrophe in front in CSV and TSV.

    \b
    bgn predict model.json new.csv > predicted.csv
    bgn predict model.json new.parquet --keep id -o predicted.parquet
    bgn predict model.json new.csv --interval 0.9
    bgn predict churn.json new.csv --proba
    """
    made = _columns(file, proba, interval)
    if twice := [name for name in made if name in keep]:
        raise InputError(f"--keep {twice[0]} would name two columns alike; rename that column first.")
    _can_tell(file, interval)
    opened = data.open()
    binary = out is not None and out.lower().endswith((".parquet", ".pq"))
    own = {name: opened.table.types.get(name, pa.string()) for name in keep}
    for name, kind in own.items():
        if not binary and (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
            raise InputError(f"--keep {name!r}: a column of {kind} cannot be written as text; write to a .parquet file.")
    known, target = Recognizer(file.held_out, opened.table.names), file.network.target_name
    there = [target] if file.held_out is not None and target in opened.table.names else []
    read = [*dict.fromkeys([*keep, *known.columns, *there])]
    rows, kinds = ModelRows(file, opened, read, form=data.form), {n: _kept(k, binary) for n, k in own.items()}
    schema = pa.schema([*kinds.items(), *made.items()])
    total = lacking = filled = 0
    decimals = None if exact or binary or as_json else _decimals(file)
    with table_writer(out, schema, as_json, raw) as writer:
        for first, table, block in rows.blocks():
            known.look(first, table, _target(rows, table, there, first))
            lacks = ~block.complete
            block.X[lacks] = 0.0
            predicted = _predicted(file, block.X, lacks, proba, interval)
            columns = [_as(table.column(name), kind) for name, kind in kinds.items()]
            shown = [_rounded(each, decimals) for each in predicted]
            writer.write_table(pa.table([*columns, *shown], schema=schema))
            total += len(lacks)
            lacking += int(np.count_nonzero(lacks))
            filled += int(np.count_nonzero(block.filled))
    if lacking:
        note(f"{lacking} of {count_of(total, 'row')} lack a value the model reads: their predictions are empty.")
    if filled:
        stands_in = "the median or the commonest value of the training rows stands in"
        note(f"{filled} of {count_of(total, 'row')} lack a value that no question has an answer for: {stands_in}.")
    if known.n_training is not None:
        trained = f"{known.n_training:,} of {count_of(total, 'row')} are training rows"
        note(f"{trained}: errors on them may be smaller than on new rows.")


def _columns(file: ModelFile, proba: bool, interval: float | None) -> dict[str, pa.DataType]:
    """Return the columns that are written, with their types."""
    classes = file.network.schema.classes
    if classes is None:
        if proba:
            raise InputError("--proba: the model predicts numbers, which have no probability; leave it out.")
        return dict.fromkeys(["prediction"] if interval is None else ["prediction", "low", "high"], pa.float64())
    chances = {f"probability of {category_name(label)}": pa.float64() for label in classes} if proba else {}
    sets = {} if interval is None else {"classes": pa.string()}
    return {"prediction": pa.array(list(classes)).type, **sets, **chances}


def _decimals(file: ModelFile) -> int:
    """Return how many decimals to write: those of the model's amounts, six for probabilities."""
    if file.network.link != "identity":
        return 6
    terms = as_terms(file.network)
    amounts = [float(terms.intercept[0]), *(term.weight for term in terms.rules)]
    return max(0, *(-int(written(each).as_tuple().exponent) for each in amounts))


def _rounded(column: pa.Array, decimals: int | None) -> pa.Array:
    """Return a column that was predicted as text has it; None for every digit."""
    return column if decimals is None or not pa.types.is_floating(column.type) else pc.round(column, decimals)


def _can_tell(file: ModelFile, interval: float | None) -> None:
    """Refuse intervals where the model file has none, or those of groups."""
    if interval is None:
        return
    if file.intervals is None:
        raise InputError(
            "--interval: the model was saved without intervals: it had no rows to learn them from. Fit it with some to "
            "validate on."
        )
    if file.intervals.network != file.network:
        raise InputError("--interval: the model has intervals at its own width only; leave out --size.")
    if not file.intervals.folds and set(file.intervals.calibrations) != {None}:
        raise InputError("--interval: the model's intervals are made for groups; ask for them in Python.")


def _predicted(
    file: ModelFile, X: Floats, lacks: NDArray[np.bool_], proba: bool, interval: float | None
) -> list[pa.Array]:
    """Return what is written of some rows: the prediction and, if wanted, probabilities or ends of an interval."""
    classes = file.network.schema.classes
    if classes is None:
        predicted = [file.network.predict_encoded(X)]
        if interval is not None and file.intervals is not None:
            predicted += [*file.intervals.predict_encoded(X, interval).T.copy()]
        return [pa.array(each, mask=lacks) for each in predicted]
    scores = file.network.predict_encoded(X, scores=True)
    said = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    labels = pa.array(list(classes)).take(pa.array(said, mask=lacks))
    chances = file.network.linked(scores)
    chances = np.stack([1.0 - chances, chances], axis=1) if chances.ndim == 1 else chances
    sets = []
    if interval is not None and file.intervals is not None:
        words = [category_name(label) for label in classes]
        held = file.intervals.predict_encoded(X, interval).tolist()
        told = [_BETWEEN.join(word for word, inside in zip(words, each, strict=True) if inside) for each in held]
        sets = [pa.array(told, mask=lacks)]
    return [labels, *sets, *([pa.array(each, mask=lacks) for each in chances.T] if proba else [])]


def _target(rows: ModelRows, table: pa.Table, there: list[str], first: int) -> Floats | None:
    """Return the target of a block, by which a file is known again; None where it has none that can be read."""
    try:
        return rows.target(table.column(there[0]), there[0], first) if there else None
    except InputError:
        return None


def _kept(kind: pa.DataType, binary: bool) -> pa.DataType:
    """Return the type of a column that is copied: its own, or text where a text file would write it otherwise."""
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return kind if binary or plain else pa.string()


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column to copy; time stamps as text without fractions of seconds that say nothing."""
    if pa.types.is_timestamp(column.type) and pa.types.is_string(kind):
        zone = column.type.tz
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.timestamp("s", zone))
        if zone is not None:
            return pc.strftime(column, format="%Y-%m-%d %H:%M:%S%z")
    return column.cast(kind)
