"""Rows to learn from: a raw table prepared, a part of it set aside as a test."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.cli.roles import RowKeys, edge_of, fingerprint, held_by
from bgn.cli.source import OpenedData
from bgn.inputs.files import Parquet
from bgn.inputs.prepare import Choices
from bgn.inputs.refusal import Refused
from bgn.inputs.target import labelled
from bgn.inputs.training import decide
from bgn.model.schema import level_word
from bgn.model.step import Floats
from bgn.persist import HeldOut
from bgn.preparation import Preparation


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a fit needs and what happened on the way; of `n_train` training and `n_test` test rows perhaps a sample.

    Targets are numbers; those that stand for `classes` are the numbers of these.
    """

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats
    preparation: Preparation
    notes: tuple[str, ...]
    n_train: int
    n_test: int
    held_out: HeldOut
    classes: tuple[Any, ...] | None = None

    @classmethod
    def sampled(cls, parts: Iterable[tuple[Any, ...]], counts: Sequence[int], rows: Any) -> TrainingRows:
        """Some of many rows: parts of features, target and whether they are test rows; how many there are of each."""
        X, y, held = (np.concatenate(each) for each in zip(*parts, strict=True))
        roles = X[~held], y[~held], X[held], y[held]
        return cls(*roles, rows.preparation, rows.notes, int(counts[0]), int(counts[1]), rows.held_out, rows.classes)

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows it was fitted to."""
        import pandas as pd

        if self.classes is not None:
            enough_of_each(self.classes, np.bincount(self.y.astype(np.intp), minlength=len(self.classes)))
        model.fit(pd.DataFrame(self.X, columns=list(self.preparation.names)), labelled(self.y, self.classes))
        return self

    @property
    def judged(self) -> tuple[Floats, Floats]:
        """The rows to judge by: the test rows, or the training rows when none were set aside."""
        return (self.X_test, self.y_test) if len(self.y_test) else (self.X, self.y)


@dataclass(frozen=True, eq=False)
class Wanted:
    """What to learn: from which table, how its columns and incomplete rows are treated, and the share of test rows."""

    source: OpenedData
    choices: Choices
    test: float
    seed: int
    units: Collection[str] = ()
    key: str | None = None

    @property
    def target(self) -> str:
        """The column to predict."""
        return str(self.choices.target)

    @property
    def keys(self) -> RowKeys:
        """What decides which rows are test rows: not the columns that are learnt from."""
        return RowKeys(self.key, self.seed)

    def held_out(self, edge: int | None, rows: int, fingerprint: int) -> HeldOut:
        """What a model file keeps of which rows were set aside."""
        return HeldOut(self.seed, self.test, self.key, edge, rows, fingerprint % 2**64)

    def features(self) -> list[str]:
        """Return the columns to learn from; name those that are not there."""
        there = self.source.table.names
        if self.key is not None and self.key not in there:
            raise Refused(
                f"--key: {self.source.name} has no column {self.key!r}; it has {', '.join(map(repr, there))}."
            )
        if self.key is not None and self.key == self.choices.target:
            raise Refused(f"--key: {self.key!r} is the target; name a column that tells rows apart.")
        return self.choices.features(self.source.table.names, self.source.name, self.units)

    def parquet(self, option: str, where: str) -> Parquet:
        """Return the Parquet file of a source whose rows are never all in one place."""
        if not isinstance(self.source.table, Parquet):
            raise Refused(f"{option} reads Parquet files; {self.source.name} is none. Convert it first.")
        if self.choices.missing == "impute":
            raise Refused(f"--missing impute needs all rows in memory, and these {where}; try --missing drop.")
        return self.source.table


def training_rows(wanted: Wanted) -> TrainingRows:
    """Read a whole table and split it; rows with the same key stay on one side."""
    source, features, keys = wanted.source, wanted.features(), wanted.keys
    found = decide(source.table, features, wanted.choices, source.name, keys.columns)
    table = found.table
    keys.check(1, table)
    X, y, usable = found.X, found.y, found.usable
    hashes = keys.hashes(1, table)
    edge = edge_of(lambda: [hashes], wanted.test)
    held = usable & held_by(hashes, edge)
    learn = usable & ~held
    preparation = found.imputed(learn) if wanted.choices.missing == "impute" else found.preparation
    n_train, n_test = int(np.count_nonzero(learn)), int(np.count_nonzero(held))
    if n_train < 2:
        raise Refused(f"{source.name} has {n_train} complete rows to learn from; at least 2 are needed.")
    kept = wanted.held_out(edge, len(y), fingerprint(1, y))
    roles = X[learn], y[learn], X[held], y[held]
    return TrainingRows(*roles, preparation, found.notes, n_train, n_test, kept, found.classes)


def enough_of_each(classes: Sequence[Any], counts: Any) -> None:
    """Refuse classes from which nothing can be learnt, because the rows to learn from have one of them or none."""
    if len(classes) > 1 and (few := np.flatnonzero(np.asarray(counts) < 2)).size:
        one = int(few[0])
        raise Refused(
            f"the class {level_word(classes[one])!r} has {int(counts[one])} row{'s' * int(counts[one] != 1)} among "
            "those to learn from; at least 2 are needed. Drop its rows, put classes together, or set fewer rows aside "
            "with --test."
        )
