"""What the command prints, all of it: nothing that a terminal would obey, and no message longer than a few lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from bgn.printable import escaped, message, visible


def show(text: object = "") -> None:
    """Print lines for people on standard output."""
    click.echo(visible(str(text)))


def show_json(value: Any) -> None:
    """Print plain values for machines on standard output, exactly: what would not be seen is escaped."""
    click.echo(escaped(json.dumps(value, indent=2, ensure_ascii=False)))


def note(told: str) -> None:
    """Tell something on standard error that does not stop the work."""
    click.echo(f"note: {message(told)}", err=True)


def say(told: str) -> None:
    """Tell on standard error, in one line, why the work stops or what to think of."""
    click.echo(f"bgn: {message(told)}", err=True)


def say_all(problems: Sequence[str]) -> None:
    """Tell why the work stops: in one line, or in one per problem."""
    if len(problems) == 1:
        say(problems[0])
        return
    say(f"{len(problems)} problems:")
    for told in problems:
        click.echo(f"  - {message(told)}", err=True)
