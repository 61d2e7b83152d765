"""What commands that read data have in common: options for files, names of built-in tables, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
import pyarrow as pa

from bgn import datasets
from bgn.cli import cells, prepare
from bgn.cli.tables import InMemory, Refused, Table, open_table
from bgn.cli.terminal import note
from bgn.network import Floats, Network
from bgn.persist import ModelFile
from bgn.preparation import Number, Preparation


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a file is written."""
    for option in (
        click.option("--sheet", help="Sheet of an Excel workbook; the first unless told."),
        click.option("--decimal", help="Decimal mark of a text file; the model's, or a point, unless told."),
        click.option("--sep", help="Separator of a text file; found from its header unless told."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Source:
    """A table with what is known about it."""

    name: str
    table: Table
    target: str | None = None
    units: Mapping[str, str] | None = None


def open_source(
    data: str, sep: str | None, decimal: str | None, sheet: str | None, date_format: str | None = None
) -> Source:
    """Open a file, standard input (``-``) or a built-in table (``housing``, ``housing:averaged``)."""
    for name, value in (("--sep", sep), ("--decimal", decimal)):
        if value is not None and len(value.replace("\\t", "\t")) != 1:
            raise Refused(f"{name} must be one character; got {value!r}.")
    name, _, columns = data.partition(":")
    if name in datasets.names():
        loaded = datasets.load(name, columns=columns or None)
        arrays = {feature: np.asarray(loaded.X)[:, i] for i, feature in enumerate(loaded.feature_names)}
        units = {n: u for n, u in zip(loaded.feature_names, loaded.units, strict=True) if u}
        if loaded.target_unit:
            units[loaded.target_name] = loaded.target_unit
        table = InMemory(pa.table(arrays | {loaded.target_name: loaded.y}))
        return Source(data, table, loaded.target_name, units)
    try:
        tab = sep.replace("\\t", "\t") if sep else None
        opened = open_table(data, sep=tab, decimal=decimal or ".", sheet=sheet, date_format=date_format)
    except Refused as error:
        if str(error).startswith("there is no file"):
            raise Refused(f"{error} Nor is it a table of ours: {', '.join(datasets.names())}.") from None
        raise
    if context := click.get_current_context(silent=True):
        context.call_on_close(opened.close)
    return Source(data, opened)


def preparation_of(file: ModelFile) -> Preparation:
    """Return how a file's columns become inputs; a model made in Python reads columns of numbers as they are."""
    return file.preparation or Preparation(tuple(Number(name) for name in file.network.names))


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows ready to predict: no NaN in `X`, and which of them lack a value the network reads."""

    X: Floats
    lacking: Any
    filled: int
    table: pa.Table


class Rows:
    """The rows of a data file as a model wants them, block by block, with everything odd said once."""

    def __init__(
        self, file: ModelFile, source: Source, keep: Sequence[str] = (), every: bool = False, decimal: str | None = None
    ) -> None:
        self._file = file
        self._source = source
        self._origin = "standard input" if source.name == "-" else source.name
        found = preparation_of(file)
        self._preparation = found if decimal is None else replace(found, decimal=decimal)
        self._keep = list(keep)
        used = set(range(file.network.n_inputs)) if every else set(file.network.features_used)
        self._only = {column.column for column in self._used(file.network, used)}
        self._said: dict[str, set[Any]] = {}
        self._check()

    def _used(self, network: Network, used: set[int]) -> Iterator[Any]:
        start = 0
        for column in self._preparation.columns:
            stop = start + len(column.names)
            if used & set(range(start, stop)):
                yield column
            start = stop

    def _check(self) -> None:
        """Name missing columns and those nobody asked for."""
        there = self._source.table.names
        missing = [name for name in (*sorted(self._only), *self._keep) if name not in there]
        if missing:
            raise Refused(
                f"{self._origin} lacks the column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}; "
                f"it has {_listed(there)}."
            )
        known = {column.column for column in self._preparation.columns} | {self._file.network.target_name, *self._keep}
        extra = [name for name in there if name not in known]
        if extra:
            note(f"the model does not know the column{'s' * (len(extra) > 1)} {_listed(extra)}: ignored.")

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order."""
        # Even a model that reads nothing must know how many rows there are.
        names = sorted(self._only.union(self._keep)) or [self._source.table.names[0]]
        rows = 0
        for table in self._source.table.blocks(names):
            prepared = prepare.apply(self._preparation, table, self._only, self._origin, rows + 1)
            self._tell(prepared.unseen)
            lacking = np.isnan(prepared.X).any(axis=1)
            prepared.X[lacking] = 0.0
            yield Block(prepared.X, lacking, int(prepared.filled.sum()), table)
            rows += table.num_rows

    def numbers(self, block: Block, column: str, first: int) -> Floats:
        """Return a kept column of a block as numbers; `first` is the number of its first row."""
        with prepare.placed(column, self._origin, first):
            return prepare.finite(cells.numbers(block.table.column(column), self._preparation.decimal))

    def _tell(self, unseen: Mapping[str, Sequence[Any]]) -> None:
        for column, values in unseen.items():
            new = [value for value in values if value not in self._said.setdefault(column, set())]
            self._said[column].update(new)
            for value in new[:5]:
                told = f"column {column!r} holds {cells.shown(value)}, which was not there at fit"
                note(f"{told}: counted as none of the known.")
            if len(new) > 5:
                note(f"column {column!r} holds {len(new) - 5} more values that were not there at fit.")


def complete_rows(
    file: ModelFile, data: str, sep: str | None, decimal: str | None, sheet: str | None
) -> tuple[Any, Any, Any]:
    """Return the features of every complete row of a data file, its target or None, and its number in the file."""
    source = open_source(data, sep, decimal, sheet)
    target = file.network.target_name
    there = [target] if target is not None and target in source.table.names else []
    rows, blocks, targets, count = Rows(file, source, there, every=True, decimal=decimal), [], [], 0
    for block in rows.blocks():
        blocks.append(block)
        targets += [rows.numbers(block, name, count + 1) for name in there]
        count += len(block.X)
    if not blocks:
        raise Refused(f"{data} has no rows.")
    X = np.concatenate([block.X for block in blocks])
    whole = ~np.concatenate([block.lacking for block in blocks])
    y = np.concatenate(targets) if there else None
    if y is not None:
        whole &= np.isfinite(y)
    if not whole.any():
        raise Refused(f"{data} has no complete row.")
    if not whole.all():
        note(f"{np.count_nonzero(~whole)} of {len(whole)} rows lack a value and are left out.")
    return X[whole], None if y is None else y[whole], np.flatnonzero(whole) + 1


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
