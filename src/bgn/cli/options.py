"""The model and the dataset that a command is about: shared arguments and options."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from click.shell_completion import CompletionItem

from bgn import datasets, persist
from bgn.cli.terminal import note
from bgn.inputs.errors import InputError, listed
from bgn.inputs.file_format import MISSING_VALUES, FileFormat
from bgn.inputs.files import OpenedData
from bgn.model.network import Network
from bgn.model.schema import category_name
from bgn.model_rows import DataFile, preparation_of
from bgn.persist import ModelFile

Decorator = Callable[[Callable[..., Any]], Any]


class DatasetName(click.ParamType):
    """The name of a data file or of a built-in dataset."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        built_in = [CompletionItem(name) for name in datasets.names() if incomplete and name.startswith(incomplete)]
        return built_in or [CompletionItem(incomplete, type="file")]


def grouped(*options: Decorator) -> Decorator:
    """Make one decorator of several, in the order of the help text."""
    return lambda command: functools.reduce(lambda made, add: add(made), reversed(options), command)


def _marks(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str | dict[str, str] | None:
    """Return a mark for all columns, or marks by column."""
    if not value or len(value[-1].replace("\\t", "\t")) == 1:
        return value[-1] if value else None
    pairs = [text.rpartition("=") for text in value]
    if wrong := [text for text, (name, _, _) in zip(value, pairs, strict=True) if not name]:
        raise click.BadParameter(f"must be one character, or COL=MARK; got {wrong[0]!r}.")
    return {name: mark for name, _, mark in pairs}


def _missing_values(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells that count as missing: the usual ones and more; without the usual ones after "none"."""
    return value[1:] if value[:1] == ("none",) else (*MISSING_VALUES, *value)


file_options = grouped(
    click.option("--sep", help="Separator of a text file [default: found from its header]."),
    click.option(
        "--decimal", multiple=True, metavar="MARK", callback=_marks,
        help="Decimal mark of a text file, or COL=MARK of a column [default: the model's, or found from the cells].",
    ),
    click.option("--thousands", multiple=True, metavar="MARK", callback=_marks, help="Mark of thousands, likewise."),
    click.option("--sheet", help="Sheet of an Excel workbook [default: the first]."),
    click.option(
        "--header/--no-header", default=None,
        help="Whether the first row of a file names the columns; without names they are column_1, column_2, ...",
    ),
)  # fmt: skip
rows_option = click.option(
    "--rows", "which", type=click.Choice(["test", "train", "all"]),
    help="Of the file that was fitted to: its test rows, its training rows, or all.",
)  # fmt: skip
class_option = click.option("--class", "label", metavar="LABEL", help="The class meant [default: the second of two].")
missing_values_option = click.option(
    "--missing-values", multiple=True, metavar="WORD", callback=_missing_values,
    help="Word that means a missing value, besides the usual ones (NA, ?, -, unknown, ...); again for more. none, "
    "given first, leaves out the usual ones: by itself only empty cells are missing.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


train_option = click.option(
    "--rows", "which", type=click.Choice(["train", "all"]),
    help="Rows to learn from. Of the file that was fitted to, the training rows by default; with all, the saved model "
    "has no test rows any more.",
)  # fmt: skip
size_option = click.option(
    "--size", type=click.IntRange(0), help="Terms of the model, any number it had while it grew (see bgn path)."
)


def model_and_data(command: Callable[..., None]) -> click.Command:
    """Make a command about a model and a dataset."""
    arguments = grouped(click.argument("model", type=click.Path()), click.argument("data", type=DatasetName()))
    return click.command()(arguments(command))


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a file is written; hand over a `file` that was read and its `data`, not names."""

    @functools.wraps(command)
    def run(
        model: str, data: str, size: int | None, sep: str | None, decimal: str | dict[str, str] | None,
        thousands: str | dict[str, str] | None, sheet: str | None, header: bool | None, **options: Any,
    ) -> None:  # fmt: skip
        file = read_model(model, size)
        form = preparation_of(file).later_format(FileFormat(sep, decimal, thousands, sheet, header=header))
        command(file=file, data=DataFile(data, form, note), **options)

    return size_option(file_options(run))


def open_data(data: DataFile) -> OpenedData:
    """Open a dataset until the command ends."""
    opened = data.open()
    click.get_current_context().call_on_close(opened.table.close)
    return opened


def read_model(path: str, size: int | None) -> ModelFile:
    """Return what a model file holds; with a size, the model as it was with so many terms in its last layer."""
    file = persist.read(path)
    if size is None:
        return file
    if file.history is None:
        raise InputError(f"--size: {path} was saved without a history: only fitted estimators have one.")
    model = file.model().with_terms(size)
    history = {**file.history, "best_size": size}
    return replace(file, network=model.network_, history=history, figures={}, intervals=None)


def one_of(network: Network) -> str:
    """Name the classes to choose from."""
    return f"one of {listed([category_name(label) for label in network.schema.classes or ()])}"
