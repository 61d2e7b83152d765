"""``bgn data``: the built-in tables."""

from __future__ import annotations

import click

from bgn import datasets
from bgn.cli.terminal import show


@click.group()
def data() -> None:
    """List, fetch and find the built-in tables.

    \b
    bgn data list
    bgn data get housing
    bgn data path housing
    """


@data.command("list")
def list_tables() -> None:
    """List the tables: name, rows, features, what is predicted, licence, whether it is on this machine."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from bgn.datasets.specs import SPECS

    sheet = Table(box=None, pad_edge=False)
    for title in ("name", "rows", "features", "target", "here", "licence"):
        sheet.add_column(title, justify="right" if title in ("rows", "features") else "left")
    for name, spec in SPECS.items():
        features = next(iter(spec.features.values()))
        here = "yes" if spec.source is None or datasets.path(name) else "no"
        cells = (name, str(spec.rows), str(len(features)), spec.target[0], here, spec.licence)
        sheet.add_row(*map(Text, cells))
    Console(width=max(Console().width, 130)).print(sheet)


@data.command()
@click.argument("name", type=click.Choice(datasets.names()))
def get(name: str) -> None:
    """Fetch a table into the cache, unless it is on this machine, and check it."""
    table = datasets.load(name)
    show(f"{table!r}\n{table.description}\nCite: {table.citation}\nLicence: {table.licence}")


@data.command()
@click.argument("name", required=False, type=click.Choice(datasets.names()))
def path(name: str | None) -> None:
    """Print where the raw file of a table lies; without a name, where downloads are kept."""
    from bgn.datasets.fetch import cache_folder
    from bgn.inputs.refusal import Refused

    if name is None:
        click.echo(cache_folder())
        return
    if datasets.SPECS[name].source is None:
        raise Refused(f"{name!r} has no file of its own: it comes with scikit-learn.")
    place = datasets.path(name)
    if place is None:
        raise Refused(f"{name!r} is not on this machine; run: bgn data get {name}")
    click.echo(place)
