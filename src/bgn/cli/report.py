"""``bgn report``: a saved model as one web page, judged on the rows of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import pyarrow as pa

import bgn
from bgn.cli.source import CompleteRows, DataFile, grouped, json_option, model_and_data, reads_data, rows_option
from bgn.cli.terminal import note, show, show_json
from bgn.explain.arguments import decode_rows
from bgn.inputs import cells
from bgn.inputs.errors import check_there
from bgn.persist import HeldOut, ModelFile
from bgn.text import clean

no_rows_option = click.option(
    "--no-rows", is_flag=True,
    help="Leave every row of DATA out of what is written or served: values, keys, names and largest errors.",
)  # fmt: skip
page_options = grouped(
    click.option("--title", help="Heading of the page."),
    click.option(
        "--labels", type=click.Path(), metavar="FILE",
        help="TOML or JSON file of what the page calls things: title, description, target and columns with label, "
        "unit, description and levels.",
    ),
    click.option("--key", metavar="COL", help="Column by which readers find rows, beside their number in the file."),
    rows_option,
    no_rows_option,
)  # fmt: skip


@dataclass(frozen=True)
class ReportedRows:
    """The rows of a file as a report takes them: to learn from, to judge by, their names, and which were learnt from.

    `arguments` are those of :func:`bgn.write_report` after the model. `held_out` is what the file of a model
    keeps of its test rows when it is edited on the rows ``X`` among them.
    """

    every: CompleteRows
    arguments: dict[str, Any]
    held_out: HeldOut | None = None

    @classmethod
    def of(cls, file: ModelFile, data: DataFile, which: str | None, key: str | None) -> ReportedRows:
        """Read a file, and say of which rows the model knows already."""
        why = "the report compares with"
        rows = data.complete_rows(file, judged=True)
        rows.target(why)
        judged = rows.to_judge(which)
        called = _names(data, rows, key)
        place = {number: k for k, number in enumerate(rows.numbers.tolist())}
        chosen = [called[place[number]] for number in judged.numbers.tolist()]
        found: dict[str, Any] = {"X": decode_rows(file.network, judged.X), "y": judged.target(why), "names": chosen}
        if rows.held is not None and judged.held is not None and judged.held.all() and not rows.held.all():
            learnt = [called[k] for k in (~rows.held).nonzero()[0].tolist()]
            found = {f"{name}_test": value for name, value in found.items()}
            found |= {"X": decode_rows(file.network, rows.X[~rows.held]), "y": rows.target(why)[~rows.held]}
            return cls(rows, found | {"names": learnt}, file.held_out)
        if judged.held is None:
            return cls(rows, found, rows.all_training)
        found["learnt"] = int(judged.learnt.sum())
        return cls(rows, found, rows.all_training if judged.held.any() else file.held_out)


def _names(data: DataFile, rows: CompleteRows, key: str | None) -> list[str]:
    """Return what rows are called: their number in the file, and their key where one is named."""
    numbers = rows.numbers.tolist()
    if key is None:
        return list(map(str, numbers))
    opened = data.open()
    check_there([key], opened.table.names, f"--key: {data.name}")
    keys = [_word(value) for block in opened.table.blocks([key]) for value in _values(block, key)]
    from bgn.report.controls import BETWEEN  # a command starts without what it does not need

    return [f"{number}{BETWEEN}{keys[number - 1]}" for number in numbers]


def _values(block: pa.Table, key: str) -> list[Any]:
    return list(cells.plain(block.column(key)).to_pylist())


def _word(value: Any) -> str:
    """Write a key as a person would."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else clean(str(value), 60)


@model_and_data
@click.option("-o", "--out", default="report.html", show_default=True, help="Where to write.")
@page_options
@click.option(
    "--start-rows", type=click.IntRange(0), metavar="N",
    help="Most rows of DATA in the page, those with the largest errors first; as many as fit unless given.",
)  # fmt: skip
@json_option
@reads_data
def report(
    file: ModelFile, data: DataFile, out: str, title: str | None, labels: str | None, key: str | None,
    which: str | None, no_rows: bool, start_rows: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Write a one-file web page about a saved MODEL, judged on the rows of DATA.

    Of the file that the model was fitted to, the rows that were set aside judge, unless --rows says otherwise; where
    rows judge that were learnt from, the page says so. The page contains rows of DATA, with the columns that the model
    uses, and says how many: leave them out with --no-rows before the page goes to strangers.

    \b
    bgn report model.json houses.csv -o report.html
    bgn report model.json patients.csv --no-rows
    bgn report churn.json customers.csv --labels labels.toml --key customerID
    """
    rows = ReportedRows.of(file, data, which, key)
    if no_rows and start_rows:
        asks = f"--no-rows leaves all rows out, and --start-rows {start_rows} asks for some"
        raise click.UsageError(f"{asks}; choose one.")
    more: dict[str, Any] = {"title": title, "labels": labels, "rows": False if no_rows else start_rows}
    bgn.write_report(file.model(), path=out, units=file.units, edits=file.edits, **rows.arguments, **more)
    if more["rows"] is None or more["rows"]:
        note(f"{clean(out)} contains rows of {data.name}; --no-rows leaves them out.")
    if as_json:
        show_json({"report": out, "rows": len(rows.arguments["y"]), "test_rows": len(rows.arguments.get("y_test", ()))})
    else:
        show(f"report written to {clean(out)}: open it in a browser")
