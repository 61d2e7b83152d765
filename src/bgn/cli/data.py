"""``bgn check`` and ``bgn data``: what is in a dataset, what may be wrong with it, and the built-in datasets."""

from __future__ import annotations

from typing import Any

import click

from bgn import datasets
from bgn.cli.options import DatasetName, file_options, json_option, missing_values_option, open_data
from bgn.cli.terminal import note, show, show_json
from bgn.inputs.check import check_opened
from bgn.inputs.errors import InputError
from bgn.inputs.file_format import FileFormat
from bgn.inputs.training import TASKS
from bgn.model_rows import DataFile


@click.command()
@click.argument("data", type=DatasetName())
@click.option("-t", "--target", metavar="COL", help="Column to predict: also look for columns that give it away.")
@click.option("--task", type=click.Choice(TASKS), help="What the target is for.")
@click.option("--date-format", metavar="FORMAT", help="How dates are written, such as %d/%m/%Y.")
@file_options
@missing_values_option
@json_option
def check(data: str, target: str | None, task: str | None, as_json: bool, **form: Any) -> None:
    """Look at DATA before a fit: its columns, their kinds, missing values and ranges, and what may be wrong with them.

    \b
    bgn check houses.csv
    bgn check houses.csv --target price
    """
    opened = open_data(DataFile(data, FileFormat(**form), note))
    name = "standard input" if opened.name == "-" else opened.name
    findings = check_opened(opened.table, name, target or opened.target, task, form["date_format"])
    if as_json:
        show_json(findings.as_plain())
    else:
        show(findings)


@click.group()
def data() -> None:
    """List, fetch and find the built-in datasets.

    \b
    bgn data list
    bgn data get housing
    bgn data path bike_sharing
    """


@data.command("list")
@json_option
def list_datasets(as_json: bool) -> None:
    """List the tables: name, rows, features, what is predicted, license, whether it is on this machine."""
    titles = ("name", "rows", "features", "target", "here", "license")
    rows = []
    for name, spec in datasets.SPECS.items():
        here = spec.source is None or datasets.path(name) is not None
        rows.append((name, spec.rows, len(next(iter(spec.features.values()))), spec.target[0], here, spec.license))
    if as_json:
        show_json([dict(zip(titles, row, strict=True)) for row in rows])
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sheet = Table(box=None, pad_edge=False)
    for title in titles:
        sheet.add_column(title, justify="right" if title in ("rows", "features") else "left")
    for row in rows:
        sheet.add_row(*(Text(("no", "yes")[cell] if isinstance(cell, bool) else str(cell)) for cell in row))
    Console(width=max(Console().width, 130)).print(sheet)


@data.command()
@click.argument("name", type=click.Choice(datasets.names()))
@json_option
def get(name: str, as_json: bool) -> None:
    """Fetch a table into the cache, unless it is on this machine, and check it."""
    table = datasets.load(name)
    if as_json:
        content = {"rows": len(table.y), "features": list(table.feature_names), "target": table.target_name}
        about = {"description": table.description, "citation": table.citation, "license": table.license}
        show_json({"name": name, **content, **about})
        return
    show(f"{table!r}\n{table.description}\nCite: {table.citation}\nLicense: {table.license}")


@data.command()
@click.argument("name", required=False, type=click.Choice(datasets.names()))
@json_option
def path(name: str | None, as_json: bool) -> None:
    """Print where the raw file of a table lies; without a name, where downloads are kept."""
    from bgn.datasets.fetch import cache_folder

    place = cache_folder() if name is None else datasets.path(name)
    if name is not None:
        if datasets.SPECS[name].source is None:
            raise InputError(f"{name!r} has no file of its own: it comes with scikit-learn.")
        if place is None:
            raise InputError(f"{name!r} is not on this machine; run: bgn data get {name}")
    if as_json:
        show_json({"path": str(place)})
    else:
        click.echo(str(place))
