"""``bgn check``: what is in a table, and what may be wrong with it."""

from __future__ import annotations

from typing import Any

import click

from bgn.cli.completion import TableName
from bgn.cli.source import DataFile, file_options, json_option, missing_values_option
from bgn.cli.terminal import show, show_json
from bgn.inputs.check import check_opened
from bgn.inputs.file_format import FileFormat
from bgn.inputs.training import TASKS


@click.command()
@click.argument("data", type=TableName())
@click.option("-t", "--target", metavar="COL", help="Column to predict: also look for columns that give it away.")
@click.option("--task", type=click.Choice(TASKS), help="What the target is for.")
@click.option("--date-format", metavar="FORMAT", help="How dates are written, such as %d/%m/%Y.")
@file_options
@missing_values_option
@json_option
def check(data: str, target: str | None, task: str | None, as_json: bool, **form: Any) -> None:
    """Look at DATA before a fit: its columns, their kinds, gaps and ranges, and what may be wrong with them.

    \b
    bgn check houses.csv
    bgn check houses.csv --target price
    """
    opened = DataFile(data, FileFormat(**form)).open()
    name = "standard input" if opened.name == "-" else opened.name
    found = check_opened(opened.table, name, target or opened.target, task, form["date_format"])
    if as_json:
        show_json(found.as_plain())
    else:
        show(found)
