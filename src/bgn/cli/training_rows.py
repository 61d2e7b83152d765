"""Rows to learn from: a raw table read, a part of it set aside as a test."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from bgn.cli.source import OpenedData
from bgn.cli.splits import RowKeys, edge_of, fingerprint, held_by
from bgn.inputs import prepare
from bgn.inputs.files import Parquet
from bgn.inputs.prepare import Choices
from bgn.inputs.errors import Problems, InputError, did_you_mean
from bgn.inputs.training import decide, labelled, read_whole
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.persist import HeldOut
from bgn.preparation import Preparation


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a fit needs and what happened on the way; of `n_train` training and `n_test` test rows perhaps a sample.

    Targets are numbers; those that stand for `classes` are the numbers of these.
    """

    X: Any
    y: Floats
    X_test: Any
    y_test: Floats
    preparation: Preparation
    notes: tuple[str, ...]
    n_train: int
    n_test: int
    held_out: HeldOut
    classes: tuple[Any, ...] | None = None
    numbers: tuple[list[int], list[int]] | None = None  # in the file, of the training and of the test rows

    @classmethod
    def sampled(cls, parts: Iterable[tuple[Any, ...]], counts: Sequence[int], rows: Any) -> TrainingRows:
        """Some of many rows: parts of features, target, which are test rows and their numbers; how many of each."""
        tables, targets, roles, places = zip(*parts, strict=True)
        table = pa.concat_tables(tables, promote_options="permissive")
        y, held, number = np.concatenate(targets), np.concatenate(roles), np.concatenate(places)
        X, X_test = (features(rows.preparation, table.filter(pa.array(each)), rows.numbers) for each in (~held, held))
        numbers = number[~held].tolist(), number[held].tolist()
        known = rows.preparation, rows.notes, int(counts[0]), int(counts[1]), rows.held_out, rows.classes, numbers
        return cls(X, y[~held], X_test, y[held], *known)

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows it was fitted to."""
        if self.classes is not None:
            enough_of_each(self.classes, np.bincount(self.y.astype(np.intp), minlength=len(self.classes)))
        model.fit(self.X, labelled(self.y, self.classes))
        return self

    @property
    def judged(self) -> tuple[Any, Floats]:
        """The rows to judge by: the test rows, or the training rows when none were set aside."""
        return (self.X_test, self.y_test) if len(self.y_test) else (self.X, self.y)


def features(preparation: Preparation, table: pa.Table, numbers: bool) -> Any:
    """Return rows as a model is fitted to them: the table as it is or, where it takes `numbers` alone, a matrix."""
    if not numbers:
        return table
    import pandas as pd

    return pd.DataFrame(prepare.typed(preparation, table).X, columns=list(preparation.schema.names))


@dataclass(frozen=True, eq=False)
class Wanted:
    """What to learn: from which table, how its columns and incomplete rows are treated, and the share of test rows."""

    source: OpenedData
    choices: Choices
    test: float
    seed: int
    units: Collection[str] = ()
    key: str | None = None
    numbers: bool = False  # whether words are to become columns of 0 and 1

    @property
    def target(self) -> str:
        """The column to predict."""
        return str(self.choices.target)

    @property
    def rows(self) -> str:
        """What rows that can be learnt from are called."""
        return "complete rows" if self.choices.missing in ("refuse", "drop") else f"rows with {self.target!r}"

    @property
    def keys(self) -> RowKeys:
        """What decides which rows are test rows: not the columns that are learnt from."""
        return RowKeys(self.key, self.seed)

    def held_out(self, edge: int | None, rows: int, fingerprint: int) -> HeldOut:
        """What a model file keeps of which rows were set aside."""
        return HeldOut(self.seed, self.test, self.key, edge, rows, fingerprint % 2**64)

    def features(self) -> list[str]:
        """Return the columns to learn from; name those that are not there."""
        there, problems, found = self.source.table.names, Problems(), list[str]()
        with problems.gathered():
            if self.key is not None and self.key not in there:
                told = f"{self.source.name} has no column {self.key!r}; it has {', '.join(map(repr, there))}."
                raise InputError(f"--key: {told}{did_you_mean(self.key, there)}")
            if self.key is not None and self.key == self.choices.target:
                raise InputError(f"--key: {self.key!r} is the target; name a column that tells rows apart.")
        with problems.gathered():
            found = self.choices.features(there, self.source.name, self.units, self.source.table.met.notes)
        problems.tell()
        return found

    def parquet(self, option: str, where: str) -> Parquet:
        """Return the Parquet file of a source whose rows are never all in one place."""
        if not isinstance(self.source.table, Parquet):
            raise InputError(f"{option} reads Parquet files; {self.source.name} is none. Convert it first.")
        if self.choices.missing == "impute":
            raise InputError(f"--missing impute needs all rows in memory, and these {where}; try --missing drop.")
        return self.source.table


def training_rows(wanted: Wanted) -> TrainingRows:
    """Read a whole table and split it; rows with the same key stay on one side."""
    source, features_of, keys = wanted.source, wanted.features(), wanted.keys
    table = read_whole(source.table, features_of, wanted.choices, source.name, keys.columns)
    keys.check(1, table)
    hashes = keys.hashes(1, table)
    edge = edge_of(lambda: [hashes], wanted.test)
    aside = held_by(hashes, edge)
    found = decide(source.table, table, features_of, wanted.choices, source.name, aside)
    held, learn = found.usable & aside, found.usable & ~aside
    n_train, n_test = int(np.count_nonzero(learn)), int(np.count_nonzero(held))
    if n_train < 2:
        raise InputError(f"{source.name} has {n_train} {wanted.rows} to learn from; at least 2 are needed.")
    table, preparation, notes = found.learnt(learn)
    if wanted.numbers:
        preparation = replace(preparation, schema=prepare.in_numbers(preparation.schema))
    X, X_test = (features(preparation, table.filter(pa.array(rows)), wanted.numbers) for rows in (learn, held))
    kept = wanted.held_out(edge, len(found.y), fingerprint(1, found.y, aside))
    numbers = (1 + np.flatnonzero(learn)).tolist(), (1 + np.flatnonzero(held)).tolist()
    known = preparation, notes, n_train, n_test, kept, found.classes, numbers
    return TrainingRows(X, found.y[learn], X_test, found.y[held], *known)


def enough_of_each(classes: Sequence[Any], counts: Any) -> None:
    """Refuse classes from which nothing can be learnt, because the rows to learn from have one of them or none."""
    if len(classes) > 1 and (few := np.flatnonzero(np.asarray(counts) < 2)).size:
        one = int(few[0])
        raise InputError(
            f"the class {category_name(classes[one])!r} has {int(counts[one])} row{'s' * int(counts[one] != 1)} among "
            "those to learn from; at least 2 are needed. Merge rare classes with --merge-rare, drop its rows, or set "
            "fewer rows aside with --test."
        )
