"""Rows to learn from: a table's columns prepared, incomplete rows dealt with, a part set aside as a test."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn.cli import cells, prepare
from bgn.cli.source import Source
from bgn.cli.tables import Parquet, Refused
from bgn.engines.row_hashes import lowest, row_hashes
from bgn.model.step import Floats
from bgn.preparation import Preparation

_TEST_SEED = 0x7E57


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit needs, and what happened on the way."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats
    preparation: Preparation
    notes: tuple[str, ...]
    counts: tuple[int, int] | None = None

    @property
    def n_train(self) -> int:
        """Number of training rows, of which `X` may be a sample."""
        return len(self.y) if self.counts is None else self.counts[0]

    @property
    def n_test(self) -> int:
        """Number of test rows, of which `X_test` may be a sample."""
        return len(self.y_test) if self.counts is None else self.counts[1]

    def fit(self, model: Any) -> Training:
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
    """What to learn: a target from the columns of a source, how columns and incomplete rows are treated, and the share
    of test rows."""

    source: Source
    target: str
    drop: Sequence[str]
    choices: prepare.Choices
    missing: str
    test: float
    seed: int
    units: Collection[str] = ()

    @property
    def test_seed(self) -> int:
        """Test rows are chosen like validation rows, with another seed, since those come from what is left."""
        return self.seed ^ _TEST_SEED

    def features(self) -> list[str]:
        """Return the columns to learn from; name those that are not there."""
        names = self.source.table.names
        options: dict[str, Collection[str]] = {
            "--target": [self.target],
            "--drop": self.drop,
            "--categorical": self.choices.categorical,
            "--unit": self.units,
        }
        for option, wanted in options.items():
            for name in wanted:
                if name not in names:
                    there = ", ".join(map(repr, names))
                    raise Refused(f"{option}: {self.source.name} has no column {name!r}; it has {there}.")
        for option in ("--drop", "--categorical"):
            if self.target in options[option]:
                raise Refused(f"{option}: {self.target!r} is the target; name another column or predict another.")
        features = [name for name in names if name != self.target and name not in self.drop]
        if not features:
            raise Refused(f"{self.source.name} has no column left to learn from beside {self.target!r}.")
        return features

    def parquet(self, option: str, where: str) -> Parquet:
        """Return the Parquet file of a source whose rows are never all in one place."""
        if not isinstance(self.source.table, Parquet):
            raise Refused(f"{option} reads Parquet files; {self.source.name} is none. Convert it first.")
        if self.missing == "impute":
            raise Refused(f"--missing impute needs all rows in memory, and these {where}; try --missing drop.")
        return self.source.table


def training_rows(wanted: Wanted) -> Training:
    """Read a whole table and split it."""
    source, target, choices, missing = wanted.source, wanted.target, wanted.choices, wanted.missing
    features = wanted.features()
    table = source.table.read([*features, target])
    y = target_values(table.column(target), target)
    preparation, notes = prepare.learn(table.select(features), choices)
    if not preparation.columns:
        raise Refused(f"{source.name} has no column with values to learn from.")
    X = prepare.apply(preparation, table).X
    whole, more = _whole_rows(preparation, X, y, missing, target)
    held = _held_out(X, y, whole, wanted)
    learn = whole & ~held
    if missing == "impute":
        preparation = prepare.with_fills(preparation, X[learn])
        prepare.fill(preparation, X)
    if np.count_nonzero(learn) < 2:
        raise Refused(
            f"{source.name} has {np.count_nonzero(learn)} complete rows to learn from; at least 2 are needed."
        )
    return Training(X[learn], y[learn], X[held], y[held], preparation, (*notes, *more))


def target_values(column: pa.ChunkedArray, name: str) -> Floats:
    """Return a target column as numbers, NaN where there is none."""
    if not cells.is_number(column.type):
        text = cells.plain(column)
        values = (
            text.unique().drop_null().to_pylist() if cells.is_text(text.type) else [*text.drop_null()[:1].to_pylist()]
        )
        found = (prepare.not_numbers(values) or values)[:1]
        comma = " If the comma is a decimal mark, add --decimal ','." if found and "," in str(found[0]) else ""
        told = cells.shown(found[0]) if found else "nothing"
        raise Refused(f"--target: column {name!r} must hold numbers; it holds {told}.{comma}")
    return prepare.finite(cells.numbers(column))


def _whole_rows(
    preparation: Preparation, X: Floats, y: Floats, missing: str, target: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which rows to use, as the user wants incomplete ones treated, and say how many there were."""
    holes = {
        column.column: int(np.count_nonzero(np.isnan(part[:, 0]))) for column, part in prepare.slices(preparation, X)
    }
    holes[target] = int(np.count_nonzero(np.isnan(y)))
    lacking = np.isnan(X).any(axis=1) | np.isnan(y)
    count = int(np.count_nonzero(lacking))
    if not count:
        return ~lacking, []
    told = incomplete(len(y), count, holes, missing)
    if missing == "drop":
        return ~lacking, [f"{told}: left out."]
    notes = []
    if filled := int(np.count_nonzero(np.isnan(X).any(axis=1) & ~np.isnan(y))):
        notes.append(f"{told}: {filled} filled in with the median or the commonest value.")
    if holes[target]:
        notes.append(f"{holes[target]} rows without {target!r} are left out.")
    return ~np.isnan(y), notes


def incomplete(rows: int, lacking: int, holes: Mapping[str, int], missing: str) -> str:
    """Say how many rows lack a value and in which columns, or refuse them."""
    where = ", ".join(f"{name!r} {number}" for name, number in holes.items() if number)
    told = f"{lacking} of {rows} rows have missing values ({where})"
    if missing == "refuse":
        raise Refused(f"{told}; add --missing drop to leave them out, or --missing impute to fill them in.")
    return told


def _held_out(X: Floats, y: Floats, whole: NDArray[np.bool_], wanted: Wanted) -> NDArray[np.bool_]:
    """Choose test rows by their content, as the fit chooses validation rows: equal rows stay on one side."""
    held = np.zeros(len(y), dtype=bool)
    held[whole] = lowest(row_hashes(X[whole].T, y[whole], wanted.test_seed), None, wanted.test)
    return held
