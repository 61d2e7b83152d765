"""Rows to learn from: a raw table prepared, a part of it set aside as a test."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.cli.source import OpenedData
from bgn.engines.row_hashes import lowest, row_hashes
from bgn.inputs.files import Parquet
from bgn.inputs.prepare import Choices
from bgn.inputs.refusal import Refused
from bgn.inputs.training import decide
from bgn.model.step import Floats
from bgn.preparation import Preparation

_TEST_SEED = 0x7E57


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a fit needs and what happened on the way; of `n_train` training and `n_test` test rows perhaps a sample."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats
    preparation: Preparation
    notes: tuple[str, ...]
    n_train: int
    n_test: int

    @classmethod
    def sampled(cls, parts: Iterable[tuple[Any, ...]], counts: Sequence[int], rows: Any) -> TrainingRows:
        """Some of many rows: parts of features, target and whether they are test rows; how many there are of each."""
        X, y, held = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(X[~held], y[~held], X[held], y[held], rows.preparation, rows.notes, int(counts[0]), int(counts[1]))

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows it was fitted to."""
        import pandas as pd

        model.fit(pd.DataFrame(self.X, columns=list(self.preparation.names)), self.y)
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

    @property
    def target(self) -> str:
        """The column to predict."""
        return str(self.choices.target)

    @property
    def test_seed(self) -> int:
        """Test rows are chosen like validation rows, with another seed, since those come from what is left."""
        return self.seed ^ _TEST_SEED

    def features(self) -> list[str]:
        """Return the columns to learn from; name those that are not there."""
        return self.choices.features(self.source.table.names, self.source.name, self.units)

    def parquet(self, option: str, where: str) -> Parquet:
        """Return the Parquet file of a source whose rows are never all in one place."""
        if not isinstance(self.source.table, Parquet):
            raise Refused(f"{option} reads Parquet files; {self.source.name} is none. Convert it first.")
        if self.choices.missing == "impute":
            raise Refused(f"--missing impute needs all rows in memory, and these {where}; try --missing drop.")
        return self.source.table


def training_rows(wanted: Wanted) -> TrainingRows:
    """Read a whole table and split it; test rows are chosen by their content, so that equal rows stay on one side."""
    source, features = wanted.source, wanted.features()
    found = decide(source.table, features, wanted.choices, source.name)
    X, y, usable = found.X, found.y, found.usable
    held = np.zeros(len(y), dtype=bool)
    held[usable] = lowest(row_hashes(X[usable].T, y[usable], wanted.test_seed), None, wanted.test)
    learn = usable & ~held
    preparation = found.imputed(learn) if wanted.choices.missing == "impute" else found.preparation
    n_train, n_test = int(np.count_nonzero(learn)), int(np.count_nonzero(held))
    if n_train < 2:
        raise Refused(f"{source.name} has {n_train} complete rows to learn from; at least 2 are needed.")
    return TrainingRows(X[learn], y[learn], X[held], y[held], preparation, found.notes, n_train, n_test)
