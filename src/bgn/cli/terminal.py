"""What the command prints, all of it: nothing that a terminal would obey, and no message longer than a few lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from bgn.text import escaped, message, visible


def show(text: object = "") -> None:
    """Print lines for people on standard output."""
    click.echo(visible(str(text)))


def show_json(value: Any) -> None:
    """Print plain values for machines on standard output, exactly: what would not be seen is escaped."""
    click.echo(escaped(json.dumps(value, indent=2, ensure_ascii=False)))


def show_columns(rows: Sequence[Sequence[str]], left: int = 99) -> None:
    """Print cells below each other; behind the first `left` of a row they end where their columns do."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) if k >= left else cell.ljust(width)
                 for k, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        show("  ".join(cells).rstrip())


def note(text: str) -> None:
    """Print something on standard error that does not stop the work."""
    click.echo(f"note: {message(text)}", err=True)


def show_problems(problems: Sequence[str]) -> None:
    """Print on standard error why the work stops: in one line, or in one per problem."""
    if len(problems) > 1:
        problems = [f"{len(problems)} problems:", *problems]
    for place, problem in enumerate(problems):
        click.echo(f"{'  - ' if place else 'bgn: '}{message(problem)}", err=True)


raw_option = click.option(
    "--raw", is_flag=True,
    help="Write text that begins like a formula (=, +, -, @) as it is; in CSV and TSV it has an apostrophe in front "
    "otherwise.",
)  # fmt: skip
