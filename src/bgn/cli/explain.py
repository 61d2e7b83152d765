"""``bgn explain`` and ``bgn report``: why a saved model predicts what it does, on the rows of a file."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
import pyarrow as pa

import bgn
from bgn.cli.output import table_writer
from bgn.cli.source import complete_rows, file_options
from bgn.cli.tables import Refused
from bgn.cli.terminal import show, show_json
from bgn.writing import clean


@click.command()
@click.argument("model", type=click.Path())
@click.argument("data")
@click.option("--row", type=click.IntRange(1), help="Explain this row alone; the first is 1.")
@click.option("--background", help="File of rows to compare with; all of it is used. The rows of DATA unless told.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
@click.option("-o", "--out", help="CSV, TSV or Parquet file for the values of every row.")
@file_options
def explain(
    model: str,
    data: str,
    row: int | None,
    background: str | None,
    as_json: bool,
    out: str | None,
    sep: str | None,
    decimal: str | None,
    sheet: str | None,
) -> None:
    """Say which columns move the predictions of a saved MODEL on the rows of DATA, by exact SHAP values.

    Without --row: how far each column moves a prediction, on average over the rows. With it: what each column adds to
    the mean prediction in that row. The mean is over the rows of --background, or of DATA.

    \b
    bgn explain model.json houses.csv
    bgn explain model.json houses.csv --row 17
    bgn explain model.json new.csv --background houses.csv
    bgn explain model.json houses.csv -o values.csv
    """
    from bgn.persist import read

    file = read(model)
    X, _, numbers = complete_rows(file, data, sep, decimal, sheet)
    if row is not None and row not in numbers:
        raise Refused(f"--row must be a complete row of {data}, {numbers[0]} to {numbers[-1]}; got {row}.")
    explained = X if row is None else X[numbers == row]
    others = X if background is None else complete_rows(file, background, sep, decimal, sheet)[0]
    if len(others) == 1 and background is None:
        raise Refused(f"{data} has one row, and nothing to compare it with. Name rows with --background FILE.")
    explanation = bgn.shap_values(file.network, explained, background=others)
    used = [file.network.names[column] for column in file.network.features_used]
    values = explanation.values[:, list(file.network.features_used)]
    if out is not None:
        schema = pa.schema([(name, pa.float64()) for name in ("base value", *used)])
        with table_writer(out, schema) as writer:
            base = np.full(len(values), explanation.base_value)
            writer.write_table(pa.table([base, *values.T.copy()], schema=schema))
    amounts = values[0] if row is not None else np.abs(values).mean(axis=0)
    order = np.argsort(-np.abs(amounts), kind="stable")
    if as_json:
        plain = {
            "base_value": explanation.base_value,
            "method": explanation.method,
            "rows": len(explained),
            ("values" if row else "importance"): {used[i]: float(amounts[i]) for i in order},
        }
        show_json(plain)
        return
    _table(file, explanation, row, [(used[i], float(amounts[i])) for i in order])


def _table(file: Any, explanation: Any, row: int | None, amounts: list[tuple[str, float]]) -> None:
    """Print features with what they add, or how much they matter, the largest first."""
    widest = max([len(clean(name)) for name, _ in amounts] + [len("mean prediction")])
    if row is None:
        total = sum(amount for _, amount in amounts) or 1.0
        show(f"mean |SHAP value| over {len(explanation.values)} rows ({explanation.method})")
        for name, amount in amounts:
            show(f"{clean(name):<{widest}} {amount:>12.4g} {amount / total:>6.1%}")
        return
    at = dict(zip(explanation.feature_names, explanation.data[0], strict=True))
    show(f"{'mean prediction':<{widest}} {explanation.base_value:>12.6g}")
    for name, amount in amounts:
        show(f"{clean(name):<{widest}} {amount:>+12.4g}   at {at[name]:g}")
    prediction = float(file.network.predict(explanation.data)[0])
    show(f"{'prediction':<{widest}} {prediction:>12.6g}")


@click.command()
@click.argument("model", type=click.Path())
@click.argument("data")
@click.option("-o", "--out", default="report.html", show_default=True, help="Where to write.")
@click.option("--title", help="Heading of the page.")
@file_options
def report(
    model: str, data: str, out: str, title: str | None, sep: str | None, decimal: str | None, sheet: str | None
) -> None:
    """Write a one-file web page about a saved MODEL, judged on the rows of DATA.

    \b
    bgn report model.json houses.csv -o report.html
    """
    from bgn.persist import read

    file = read(model)
    X, y, _ = complete_rows(file, data, sep, decimal, sheet)
    if y is None:
        raise Refused(f"{data} lacks the column {file.network.target_name!r}, which the report compares with.")
    bgn.write_report(file.model(), X, y, out, title=title, units=file.units)
    show(f"report written to {clean(out)}")
