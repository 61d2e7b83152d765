"""The group of commands, and what happens when an input is refused."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from bgn import __version__
from bgn.cli.change import distill, edit, simplify
from bgn.cli.counterfactual import counterfactual, margin
from bgn.cli.data import check, data
from bgn.cli.explain import compare, effect, explain
from bgn.cli.export import export
from bgn.cli.fit import INTERRUPTED, fit
from bgn.cli.pages import report, serve
from bgn.cli.predict import evaluate, predict
from bgn.cli.prove import certify
from bgn.cli.show import path, show_model
from bgn.cli.terminal import note, show_problems
from bgn.cli.tutorial import completion, tutorial
from bgn.inputs.errors import on_command_line
from bgn.text import message


class OneLine(click.Group):
    """Turns an error into a line per problem on standard error and exit code 1; wrong usage stays 2."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _short_usage():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings(), _short_usage(), on_command_line():
                warnings.showwarning = lambda message, *_, **__: note(str(message))
                return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output has gone, as `head` does: not an error, and nobody to tell.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except KeyboardInterrupt:
            show_problems(["interrupted."])
            ctx.exit(INTERRUPTED)
        except (ValueError, OSError, ImportError, MemoryError) as error:
            problems = getattr(error, "problems", None) or [str(error) or type(error).__name__]
            if isinstance(error, OSError) and error.filename and error.strerror:
                problems = [f"{error.filename}: {error.strerror}."]
            show_problems(problems)
            ctx.exit(1)


@contextmanager
def _short_usage() -> Iterator[None]:
    """Print what is wrong with the usage in a few lines, which a terminal does not obey."""
    try:
        yield
    except click.ClickException as error:
        if error.message:  # a missing argument has none of its own
            vars(error)["message"] = message(error.message)
        raise


@click.group(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", "-V", message="bgn %(version)s")
def bgn() -> None:
    """Fit small, readable models to tabular data: an intercept plus a few weighted rules.

    \b
    bgn tutorial                                first: a walk through all of it, on breast tumours
    bgn check houses.csv --target price         what its columns are, and what may be wrong
    bgn fit houses.csv --target price --out model.json
    bgn show model.json                         its equation; with 5 terms: --size 5
    bgn predict model.json new.csv -o predicted.csv

    Exit codes: 0 done; 1 an input was refused, and standard error says why; 2 wrong usage; 130 interrupted.
    """


for _command in (
    check, fit, predict, evaluate, show_model, path, explain, effect, margin, counterfactual, certify, compare, edit,
    simplify, distill, report, serve, export, data, tutorial, completion,
):  # fmt: skip
    bgn.add_command(_command)
