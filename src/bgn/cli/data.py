"""``bgn data``: the built-in datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from bgn import datasets
from bgn.cli.source import json_option
from bgn.cli.terminal import show, show_json


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
def list_tables(as_json: bool) -> None:
    """List the tables: name, rows, features, what is predicted, license, whether it is on this machine."""
    from bgn.datasets.specs import SPECS

    titles = ("name", "rows", "features", "target", "here", "license")
    rows = []
    for name, spec in SPECS.items():
        here = spec.source is None or datasets.path(name) is not None
        rows.append((name, spec.rows, len(next(iter(spec.features.values()))), spec.target[0], here, spec.license))
    if as_json:
        show_json([dict(zip(titles, row, strict=True)) for row in rows])
    else:
        _show_tables(titles, rows)


def _show_tables(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sheet = Table(box=None, pad_edge=False)
    for title in titles:
        sheet.add_column(title, justify="right" if title in ("rows", "features") else "left")
    for row in rows:
        sheet.add_row(*(Text(("no", "yes")[each] if isinstance(each, bool) else str(each)) for each in row))
    Console(width=max(Console().width, 130)).print(sheet)


@data.command()
@click.argument("name", type=click.Choice(datasets.names()))
@json_option
def get(name: str, as_json: bool) -> None:
    """Fetch a table into the cache, unless it is on this machine, and check it."""
    table = datasets.load(name)
    if as_json:
        told = {"rows": len(table.y), "features": list(table.feature_names), "target": table.target_name}
        about = {"description": table.description, "citation": table.citation, "license": table.license}
        show_json({"name": name, **told, **about})
        return
    show(f"{table!r}\n{table.description}\nCite: {table.citation}\nLicence: {table.license}")


@data.command()
@click.argument("name", required=False, type=click.Choice(datasets.names()))
@json_option
def path(name: str | None, as_json: bool) -> None:
    """Print where the raw file of a table lies; without a name, where downloads are kept."""
    from bgn.datasets.fetch import cache_folder
    from bgn.inputs.errors import InputError

    if name is None:
        _tell_place(str(cache_folder()), as_json)
        return
    if datasets.SPECS[name].source is None:
        raise InputError(f"{name!r} has no file of its own: it comes with scikit-learn.")
    place = datasets.path(name)
    if place is None:
        raise InputError(f"{name!r} is not on this machine; run: bgn data get {name}")
    _tell_place(str(place), as_json)


def _tell_place(place: str, as_json: bool) -> None:
    if as_json:
        show_json({"path": place})
    else:
        click.echo(place)
