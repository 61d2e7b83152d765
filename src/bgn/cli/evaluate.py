"""``bgn evaluate``: how well a saved model predicts the rows of a file."""

from __future__ import annotations

from typing import Any

import click

import bgn
from bgn.cli.source import CompleteRows, DataFile, json_option, model_and_data, reads_data, rows_option
from bgn.cli.terminal import show, show_json
from bgn.explain.evaluate import evaluate_numbers
from bgn.explain.arguments import decode_rows
from bgn.inputs.errors import InputError
from bgn.model.schema import category_name
from bgn.persist import ModelFile
from bgn.text import quote_category


@model_and_data
@click.option(
    "--threshold", type=click.FloatRange(0, 1),
    help="Of two classes, the probability of the second above which it is said; 0.5 unless told.",
)  # fmt: skip
@rows_option
@json_option
@reads_data
def evaluate(file: ModelFile, data: DataFile, threshold: float | None, which: str | None, as_json: bool) -> None:
    """Say how well a saved MODEL predicts the rows of DATA, which must have the target.

    Of the file that the model was fitted to, the rows that were set aside are judged, unless --rows says otherwise. For
    classes: AUC, log loss, Brier and calibration error, accuracy and more, with standard errors, and how often each
    class was taken for which. For regression: R2, mean squared error and its root, mean absolute error, with theirs.

    \b
    bgn evaluate model.json houses.csv
    bgn evaluate churn.json customers.csv --threshold 0.3
    """
    rows = data.complete_rows(file, judged=True)
    rows.target("predictions are compared with")
    rows = rows.to_judge(which)
    if file.network.schema.classes is not None:
        _show_classes(file, rows, 0.5 if threshold is None else threshold, as_json)
        return
    if threshold is not None:
        raise InputError("--threshold is for two classes, and the model predicts numbers; leave it out.")
    found = evaluate_numbers(rows.target(""), file.network.predict_encoded(rows.X))
    if as_json:
        errors = {name: None if value != value else value for name, value in found.errors.items()}
        show_json({"rows": found.rows, **found.scores, "standard_errors": errors})
        return
    show(str(found))


def _show_classes(file: ModelFile, rows: CompleteRows, threshold: float, as_json: bool) -> None:
    X = decode_rows(file.network, rows.X)
    found = bgn.evaluate(file.network, X, rows.target("predictions are compared with"), threshold=threshold)
    assert found.classes is not None and found.confusion is not None
    words = [category_name(label) for label in found.classes]
    counts = found.confusion.astype(int).tolist()
    if as_json:
        plain: dict[str, Any] = {"rows": found.rows, "classes": words, "threshold": threshold}
        for name, values in (("scores", found.scores), ("standard_errors", found.errors)):
            plain[name] = {key: None if value != value else value for key, value in values.items()}
        show_json(plain | {"calibration_by_chance": found.by_chance, "confusion": counts})
        return
    show(str(found))
    if len(words) > 20:
        return
    show()
    told = [quote_category(word, 24) for word in words]
    table = [["is \\ said", *told], *([name, *map(str, row)] for name, row in zip(told, counts, strict=True))]
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    for row in table:
        first, *others = (f"{text:<{width}}" if not k else f"{text:>{width}}"
                          for k, (text, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        show("  ".join([first, *others]))
