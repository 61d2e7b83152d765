"""What commands that read data have in common: options for files, names of built-in tables, notes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn import datasets
from bgn.cli.completion import TableName
from bgn.cli.terminal import note
from bgn.inputs import cells, prepare
from bgn.inputs.cells import check_format
from bgn.inputs.errors import InputError, check_characters, check_there, listed
from bgn.inputs.file_format import PLAIN_FORMAT, MISSING_VALUES, FileFormat
from bgn.inputs.files import ArrowTable, OpenedData, open_table
from bgn.inputs.splits import Recognizer
from bgn.inputs.training import to_labels, encode_target
from bgn.model.network import Network
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.persist import HeldOut, ModelFile
from bgn.preparation import Preparation

Decorator = Callable[[Callable[..., Any]], Any]


def grouped(*options: Decorator) -> Decorator:
    """Make one decorator of several, in the order of the help text."""
    return lambda command: functools.reduce(lambda made, add: add(made), reversed(options), command)


def _marks(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str | dict[str, str] | None:
    """Return a mark for all columns, or marks by column."""
    if not value or len(value[-1].replace("\\t", "\t")) == 1:
        return value[-1] if value else None
    pairs = [each.rpartition("=") for each in value]
    if wrong := [each for each, (name, _, _) in zip(value, pairs, strict=True) if not name]:
        raise click.BadParameter(f"must be one character, or COL=MARK; got {wrong[0]!r}.")
    return {name: mark for name, _, mark in pairs}


def _missing_values(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells that count as missing: the usual ones and more; without the usual ones after "none"."""
    return value[1:] if value[:1] == ("none",) else (*MISSING_VALUES, *value)


file_options = grouped(
    click.option("--sep", help="Separator of a text file; found from its header unless told."),
    click.option(
        "--decimal", multiple=True, metavar="MARK", callback=_marks,
        help="Decimal mark of a text file, or COL=MARK of a column; the model's, or found from the cells, unless told.",
    ),
    click.option("--thousands", multiple=True, metavar="MARK", callback=_marks, help="Mark of thousands, likewise."),
    click.option("--sheet", help="Sheet of an Excel workbook; the first unless told."),
    click.option(
        "--header/--no-header", default=None,
        help="Whether the first row of a file names the columns; without names they are column_1, column_2, ...",
    ),
)  # fmt: skip
rows_option = click.option(
    "--rows", "which", type=click.Choice(["test", "train", "all"]),
    help="Rows of the file that was fitted to: those set aside, those learnt from, or all.",
)  # fmt: skip
class_option = click.option("--class", "label", metavar="LABEL", help="The class meant; of two the second unless told.")
missing_values_option = click.option(
    "--missing-values", multiple=True, metavar="WORD", callback=_missing_values,
    help="Word that means a missing value, besides the usual ones (NA, ?, -, unknown, ...); again for more. none, "
    "given first, leaves out the usual ones: by itself only empty cells are missing.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="For machines.")


def model_and_data(command: Callable[..., None]) -> click.Command:
    """Make a command about a model and a table."""
    arguments = grouped(click.argument("model", type=click.Path()), click.argument("data", type=TableName()))
    return click.command()(arguments(command))


width_option = click.option(
    "--size", type=click.IntRange(0), help="Questions of the model, any number it had while it grew (see bgn path)."
)


def read_model(path: str, size: int | None) -> ModelFile:
    """Return what a model file holds; with a width, the model as it was with so many neurons in its last layer."""
    from bgn import persist

    file = persist.read(path)
    if size is None:
        return file
    if file.history is None:
        raise InputError(f"--size: {path} was saved without a history: only fitted estimators have one.")
    model = file.model().with_terms(size)
    history = {**file.history, "best_width": size}
    return replace(file, network=model.network_, history=history, figures={}, intervals=None)


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a file is written; hand over a `file` that was read and its `data`, not names."""

    @functools.wraps(command)
    def read(
        model: str,
        data: str,
        size: int | None,
        sep: str | None,
        decimal: str | dict[str, str] | None,
        thousands: str | dict[str, str] | None,
        sheet: str | None,
        header: bool | None,
        **options: Any,
    ) -> None:
        file = read_model(model, size)
        form = preparation_of(file).later_format(sep, decimal, thousands, sheet, header)
        command(file=file, data=DataFile(data, form), **options)

    return width_option(file_options(read))


@dataclass(frozen=True)
class DataFile:
    """A table as the command line names it, and how it is written."""

    name: str
    form: FileFormat = PLAIN_FORMAT

    def open(self) -> OpenedData:
        """Open a file, standard input (``-``) or a built-in dataset (``bike_sharing``, ``housing:averaged``)."""
        form = self.form
        check_characters(sep=form.sep, decimal=form.decimal, thousands=form.thousands)
        check_format(form.date_format)
        name, _, columns = self.name.partition(":")
        if name in datasets.names():
            return _built_in(self.name, datasets.load(name, columns=columns or None))
        try:
            opened = open_table(self.name, replace(form, sep=form.sep and form.sep.replace("\\t", "\t")))
        except InputError as error:
            if str(error).startswith("there is no file"):
                raise InputError(f"{error} Nor is it a table of ours: {', '.join(datasets.names())}.") from None
            raise
        if context := click.get_current_context(silent=True):
            context.call_on_close(opened.close)
        return OpenedData(self.name, opened)

    def complete_rows(self, file: ModelFile, judged: bool = False) -> CompleteRows:
        """Return every row that a model can read, and its target where it has one; if `judged`, those alone that do."""
        opened, target = self.open(), file.network.target_name
        there = [target] if target is not None and target in opened.table.names else []
        known = Recognizer(file.held_out, opened.table.names)
        keep = [*dict.fromkeys([*there, *known.columns])]
        X, y, whole = list[Floats](), list[Floats](), list[NDArray[np.bool_]]()
        rows = ModelRows(file, opened, keep, every=True, form=self.form)
        for first, table, encoded in rows.blocks():
            X.append(encoded.X)
            whole.append(encoded.complete)
            y += [rows.target(table.column(name), name, first) for name in there]
            known.look(first, table, y[-1] if there else None)
        if not X:
            raise InputError(f"{self.name} has no rows.")
        features, targets = np.concatenate(X), np.concatenate(y) if there else None
        usable = np.concatenate(whole)
        if judged and targets is not None:
            usable &= np.isfinite(targets)
        if not usable.any():
            raise InputError(f"{self.name} has no complete row.")
        if not usable.all():
            what = repr(target) if np.concatenate(whole).all() else "a value"
            note(f"{np.count_nonzero(~usable)} of {len(usable)} rows lack {what} and are left out.")
        found = None if targets is None else targets[usable]
        held = None if known.test_rows is None else known.test_rows[usable]
        numbers, classes = np.flatnonzero(usable) + 1, file.network.schema.classes
        return CompleteRows(self.name, target, features[usable], found, numbers, held, classes, known.all_training)


def _built_in(name: str, loaded: datasets.Dataset) -> OpenedData:
    arrays = {
        feature: pa.array(loaded.X[:, i] if isinstance(loaded.X, np.ndarray) else loaded.X[feature], from_pandas=True)
        for i, feature in enumerate(loaded.feature_names)
    }
    units = {n: u for n, u in zip(loaded.feature_names, loaded.units, strict=True) if u}
    if loaded.target_unit:
        units[loaded.target_name] = loaded.target_unit
    arrays[loaded.target_name] = pa.array(loaded.y, from_pandas=True)
    return OpenedData(name, ArrowTable(pa.table(arrays)), loaded.target_name, units)


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The rows of a data file that lack nothing, the target where the file has it, and their numbers in the file.

    `held` tells which of them were set aside when the model was fitted, and not learnt from; None where nobody knows.
    A target of `classes` is the number of each row's class. `all_training` is what a model file keeps that has learned
    from every row of the data file; None where that cannot be told.
    """

    name: str
    target_name: str | None
    X: Floats
    y: Floats | None
    numbers: NDArray[np.int64]
    held: NDArray[np.bool_] | None = None
    classes: tuple[Any, ...] | None = None
    all_training: HeldOut | None = None

    def only(self, which: str | None, default: str = "all") -> CompleteRows:
        """Return test rows, training rows or all, and say so; by default all where nobody knows the others."""
        if self.held is None:
            if which in ("test", "train"):
                told = f"--rows {which}: nobody knows which rows of {self.name} the model was fitted to"
                raise InputError(f"{told}: the model's file does not say, or this is another table. Use --rows all.")
            return self
        learnt, wanted = int(np.count_nonzero(self.learnt)), which or (default if self.held.any() else "all")
        chosen = {"test": self.held, "train": self.learnt}.get(wanted, np.full(len(self.X), True))
        these = {"test": f": these are the other {np.count_nonzero(self.held)}", "train": ": these alone count here"}
        more = " (--rows all for all)" if which is None and wanted != "all" else ""
        note(f"{learnt} of {len(self.X)} rows of {self.name} were learnt from{these.get(wanted, '')}{more}.")
        if not chosen.any():
            raise InputError(f"--rows {which}: {self.name} has no such rows. Use --rows all.")
        return self.at(chosen)

    def to_judge(self, which: str | None) -> CompleteRows:
        """Return the rows that judge a model, test rows by default; say so where training rows may be among them."""
        if self.held is None:
            told = f"the model file does not say which rows of {self.name} are training rows"
            note(f"{told}: where some are, the model looks better than it is.")
        return self.only(which, "test")

    def at(self, chosen: NDArray[np.bool_]) -> CompleteRows:
        """Return some of the rows."""
        y = None if self.y is None else self.y[chosen]
        held = None if self.held is None else self.held[chosen]
        return replace(self, X=self.X[chosen], y=y, numbers=self.numbers[chosen], held=held)

    @property
    def learnt(self) -> NDArray[np.bool_]:
        """Which of them were learnt from, where that is known: not those without a target."""
        assert self.held is not None
        return ~self.held if self.y is None else np.asarray(~self.held & np.isfinite(self.y))

    def chosen(self, row: int | None) -> NDArray[np.bool_]:
        """Which rows are asked about: one, or all."""
        if row is not None and row not in self.numbers:
            ends = f"{self.numbers[0]} to {self.numbers[-1]}"
            raise InputError(f"--row must be a complete row of {self.name}, {ends}; got {row}.")
        return np.full(len(self.X), True) if row is None else self.numbers == row

    def target(self, why: str) -> Any:
        """The target, numbers or labels, or an error that says why it is needed."""
        if self.target_name is None:
            raise InputError(f"the model does not say what its target is called, which {why}. Fit it to a named column.")
        if self.y is None:
            raise InputError(f"{self.name} lacks the column {self.target_name!r}, which {why}.")
        return to_labels(self.y, self.classes)


def one_of(network: Network) -> str:
    """Name the classes to choose from."""
    return f"one of {listed([category_name(label) for label in network.schema.classes or ()])}"


def preparation_of(file: ModelFile) -> Preparation:
    """Return how a file's columns are read; a model made in Python knows nothing of files, and finds its columns."""
    return file.preparation or Preparation(file.network.schema)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows as a network reads them, NaN for a gap; which of them it can predict, and in which a value stands in."""

    X: Floats
    complete: NDArray[np.bool_]
    filled: NDArray[np.bool_]


class ModelRows:
    """The rows of a data file as a model wants them, block by block, with everything odd said once."""

    def __init__(
        self, file: ModelFile, opened: OpenedData, keep: Sequence[str] = (), every: bool = False,
        form: FileFormat = PLAIN_FORMAT,
    ) -> None:  # fmt: skip
        self._opened, self._network = opened, file.network
        self._origin = "standard input" if opened.name == "-" else opened.name
        self._preparation = prepare.told(preparation_of(file), form)
        self._keep = list(keep)
        self._classes = file.network.schema.classes
        columns, used = self._preparation.schema.columns, file.network.features_used
        self._read = [j for j in range(len(columns)) if every or j in used]
        self._only = {prepare.raw_of(columns[j]) for j in self._read}
        self._used = {prepare.raw_of(columns[j]) for j in used}
        self._said: dict[str, set[Any]] = {}
        self._categories = self._preparation.schema.category_columns
        there = opened.table.names
        check_there((*sorted(self._only), *keep), there, self._origin)
        known = {prepare.raw_of(column) for column in columns} | {file.network.target_name, *keep}
        known |= {file.held_out.key} if file.held_out is not None else set()
        if extra := [name for name in there if name not in known]:
            note(f"the model does not know the column{'s' * (len(extra) > 1)} {listed(extra)}: ignored.")

    @functools.cached_property
    def _typical(self) -> Floats:
        """What a gap counts as in every column, NaN where it is refused."""
        own = zip(self._network.schema.columns, self._preparation.schema.columns, strict=True)
        return np.array([b.typical if a.typical is None else a.typical for a, b in own], np.float64)

    @functools.cached_property
    def _answered(self) -> NDArray[np.bool_]:
        """For which columns questions have an answer to a gap."""
        return ~self._network.refuses_missing

    @property
    def _refused(self) -> NDArray[np.bool_]:
        return np.isnan(self._typical) & ~self._answered

    def blocks(self) -> Iterator[tuple[int, pa.Table, EncodedRows]]:
        """Yield the rows in order: the number of the first, those columns as they are, and as the model reads them."""
        # Even a model that reads nothing must know how many rows there are.
        names, first = sorted(self._only.union(self._keep)) or [self._opened.table.names[0]], 1
        for table in self._opened.table.blocks(names):
            prepared = prepare.typed(self._preparation, table, self._only, self._origin, first)
            self._tell(prepared.unseen)
            yield first, table, self._encoded(prepared.X)
            first += table.num_rows
        for text in self._opened.table.met.notes:
            note(text)

    def _encoded(self, X: Floats) -> EncodedRows:
        gaps = np.zeros(X.shape, bool)
        gaps[:, self._read] = np.isnan(X[:, self._read])
        stands_in = gaps & ~self._answered
        found = np.where(stands_in, self._typical, X)
        found[:, [j for j in range(X.shape[1]) if j not in self._read]] = 0.0
        complete = np.asarray(~(gaps & self._refused).any(axis=1))
        return EncodedRows(found, complete, np.asarray(stands_in.any(axis=1) & complete))

    def target(self, column: pa.ChunkedArray, name: str, first: int) -> Floats:
        """Return the target of a block as numbers, those of classes; `first` is the number of its first row."""
        with prepare.placed(name, self._origin, first):
            how, merged = self._preparation.how(name), self._preparation.merged
            values, unseen = encode_target(column, self._classes, how, merged)
        if unseen:
            self._tell({name: unseen}, "such rows have no known class")
        return values

    def _tell(self, unseen: Mapping[str, Sequence[Any]], so: str = "") -> None:
        for column, values in unseen.items():
            if column not in self._used and not so:
                continue
            new = [value for value in values if value not in self._said.setdefault(column, set())]
            self._said[column].update(new)
            counted = "none of the known" if column in self._categories else "missing"
            for value in new[:5]:
                told = f"column {column!r} holds {cells.shown(value)}, which was not there at fit"
                note(f"{told}: {so or f'counted as {counted}'}.")
            if len(new) > 5:
                note(f"column {column!r} holds {len(new) - 5} more values that were not there at fit.")
