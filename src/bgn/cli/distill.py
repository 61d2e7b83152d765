"""``bgn distill``: a small model that predicts what a large one predicts."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import click
import numpy as np
import pyarrow as pa

import bgn
from bgn.cli.learning import LearningRows, learning_option
from bgn.cli.source import CompleteRows, DataFile, json_option, model_and_data, reads_data
from bgn.cli.terminal import show, show_json
from bgn.inputs.training import to_labels
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.persist import ModelFile, save
from bgn.text import clean


@model_and_data
@click.option("--max-terms", type=click.IntRange(1), default=10, show_default=True, help="Most questions to keep.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seeds growth and the rows to judge."
)
@click.option("-o", "--out", help="Where to write the small model.")
@learning_option
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
    rows = LearningRows.of(file, data.complete_rows(file, judged=True), which)
    X, y = _table(file.network, rows.train.X), _labels(rows.train)
    tests: dict[str, Any] = {}
    if rows.test is not None:
        tests = {"X_test": _table(file.network, rows.test.X), "y_test": _labels(rows.test)}
    asked = {name: (file.settings or {}).get(name) for name in ("monotonic_cst", "interaction_cst")}
    wanted: dict[str, Any] = {name: each for name, each in asked.items() if each is not None}
    small = bgn.distill(file.network, X, y, max_terms=max_terms, random_state=seed, **tests, **wanted)
    network = small.network_.changed(schema=file.network.schema)
    if out is not None:
        kept = replace(file, settings=small.get_params()).with_network(network)
        save(kept, out, units=file.units, preparation=file.preparation, held_out=rows.held_out)
    fidelity: Any = small.fidelity_
    if as_json:
        known = {name: value for name, value in asdict(fidelity).items() if not math.isnan(value)}
        show_json({"fidelity": known, **rows.counts, "equation": bgn.equation(network, units=file.units)})
        return
    show(bgn.equation(network, units=file.units))
    show()
    show(f"Learned from {rows.training_rows}. {_measured(rows, fidelity.n_rows)}")
    show(str(fidelity))
    if out is not None:
        show(f"model written to {clean(out)}")


def _labels(rows: CompleteRows) -> Any:
    """The target of rows, where they have one."""
    return None if rows.y is None else to_labels(rows.y, rows.classes)


def _measured(rows: LearningRows, count: int) -> str:
    """Say which rows tell how near the small model comes."""
    if rows.test is not None:
        return f"Measured on {rows.test_rows}:"
    return f"Measured on {count:,} of them, which were set aside:"


def _table(network: Network, X: Floats) -> pa.Table:
    """Return encoded rows as a table with the columns of a network, categories with every level that it knows."""
    columns = []
    for column, values in zip(network.schema.columns, X.T, strict=True):
        gaps = np.isnan(values)
        if column.categories is None:
            columns.append(pa.array(values, mask=gaps))
            continue
        codes = pa.array(np.where(gaps, 0, values).astype(np.int32), mask=gaps)
        columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(list(column.categories)), ordered=column.ordered))
    return pa.table(columns, names=[column.name for column in network.schema.columns])
