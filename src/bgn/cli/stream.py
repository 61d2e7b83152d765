"""Rows to learn from that are larger than memory: a Parquet file prepared block by block, as if it were read whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn.cli.roles import all_numbers, edge_of, fingerprint, held_by, sampled
from bgn.cli.source import OpenedData
from bgn.cli.train import TrainingRows, Wanted, enough_of_each
from bgn.engines.disk.table import BLOCK_BYTES, BlockwiseRows, Piece, rows_in
from bgn.engines.raw_rows import Hashes
from bgn.inputs import prepare
from bgn.inputs.classes import Classes, class_weights
from bgn.inputs.files import Parquet
from bgn.inputs.frames import Kinds
from bgn.inputs.refusal import Refused
from bgn.inputs.stamp import Stamp
from bgn.inputs.target import tallied, target_of, target_values
from bgn.inputs.training import GapCount, gaps_in
from bgn.model.schema import Schema
from bgn.model.step import Floats
from bgn.preparation import Preparation

# A fit in memory holds about so many copies of a table, each number in 8 bytes.
_COPIES = 5
# About so many rows are kept to judge by and to draw.
KEPT = 200_000


def too_large(source: OpenedData, available: int) -> str | None:
    """Say so when a Parquet file is too large to be read whole."""
    if not isinstance(source.table, Parquet):
        return None
    needed = 8 * _COPIES * source.table.n_rows * len(source.table.names)
    if needed <= available:
        return None
    return (
        f"a fit of {source.name} in memory takes about {needed / 1e9:.3g} GB and {available / 1e9:.3g} GB are free: "
        "its rows stay on disk."
    )


class Streamed(BlockwiseRows):
    """The training rows of a Parquet file. One pass counts incomplete rows, two over the key, if there is one, decide
    on test rows, one on the columns; one more hands the rows over, and keeps some of them to judge by."""

    dtype = np.dtype(np.float64)

    _class_weights: tuple[float, ...] | None = None

    def __init__(self, wanted: Wanted) -> None:
        source = wanted.source
        self._table, self._choices = wanted.parquet("--stream", "stay on disk"), wanted.choices
        self._stamp, self._keys, self.numbers = Stamp.of(source.name), wanted.keys, wanted.numbers
        self._target = self.target_name = wanted.target
        self._names = wanted.features()
        targets = (table.column(self._target) for table in self._stamp.watch(self._table.blocks([self._target])))
        task, merge_rare = wanted.choices.task, wanted.choices.merge_rare
        tallies = (tallied(column, every=merge_rare is not None) for column in targets)
        found = target_of(tallies, self._target, task, merge_rare)
        self.classes, self._merged = found.classes, found.merged
        self._edge = edge_of(self._hashes, wanted.test)
        self.n_rows, target, notes = self._survey()
        if not self._names:
            raise Refused(f"{source.name} has no column with values to learn from.")
        if self.n_rows < 2:
            raise Refused(f"{source.name} has {self.n_rows} {wanted.rows} to learn from; at least 2 are needed.")
        self.held_out = wanted.held_out(self._edge, self._table.n_rows, target)
        schema = self._kinds().schema(self._target)
        self.notes = (*[found.note] * bool(found.note), *notes, *prepare.read_as_words(schema))
        schema = prepare.in_numbers(schema) if self.numbers else schema
        self.preparation = Preparation(schema, date_format=wanted.choices.date_format, merged=self._merged)
        self.names, self.n_columns = schema.names, len(schema)

    @property
    def schema(self) -> Schema:
        schema = self.preparation.schema
        return Schema.of_numbers(len(schema), schema.names, self._target) if self.numbers else schema

    def _survey(self) -> tuple[int, int, list[str]]:
        """Count rows to learn from, and leave empty columns out; also the fingerprint of their target, and notes."""
        target, counts = 0, list[GapCount]()
        for first, raw, table, y in self._blocks():
            self._keys.check(first, raw)
            held = held_by(self._keys.hashes(first, raw), self._edge)
            counts.append(GapCount.of(table, y, held))
            target += fingerprint(first, y, held)
        if not counts:
            return 0, 0, []
        self._names, rows, notes = GapCount.told(counts, self._choices)
        return rows, target, notes

    def _hashes(self) -> Iterator[Hashes]:
        """Yield the hashes of all rows, block by block."""
        if self._keys.key is None:
            yield from all_numbers(self._table.n_rows, self._keys.seed)
            return
        for table in self._stamp.watch(self._table.blocks(self._keys.columns)):
            yield self._keys.hashes(1, table)

    def _kinds(self) -> Kinds:
        """What the columns are, as the training rows tell."""
        kinds: Kinds | None = None
        for first, raw, table, y in self._blocks():
            learn = self._usable(table, y) & ~held_by(self._keys.hashes(first, raw), self._edge)
            found = Kinds.of(table.filter(pa.array(learn)))
            kinds = found if kinds is None else kinds.merged(found)
        assert kinds is not None
        return kinds

    def _usable(self, table: pa.Table, y: Floats) -> NDArray[np.bool_]:
        """Which rows of a block can be learnt from."""
        return ~np.isnan(y) if self._choices.missing == "keep" else ~(np.isnan(y) | gaps_in(table))

    def _blocks(self) -> Iterator[tuple[int, pa.Table, pa.Table, Floats]]:
        """Yield the number of the first row, the raw block, its features and its target."""
        first = 1
        names = [*dict.fromkeys([*self._names, self._target, *self._keys.columns])]
        for raw in self._stamp.watch(self._table.blocks(names, rows_in(BLOCK_BYTES, len(names)))):
            y, _ = target_values(raw.column(self._target), self.classes, merged=self._merged)
            yield first, raw, prepare.learn(raw.select(self._names), self._choices.categorical), y
            first += len(y)

    def _class_counts(self, classes: tuple[Any, ...]) -> Floats:
        """Count the training rows of each class."""
        counts = np.zeros(len(classes))
        for first, raw, table, y in self._blocks():
            learn = self._usable(table, y) & ~held_by(self._keys.hashes(first, raw), self._edge)
            counts += np.bincount(y[learn].astype(np.intp), minlength=len(classes))
        return counts

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield the training rows; of training and test rows some are kept, and all are counted."""
        self._kept: list[tuple[pa.Table, Floats, NDArray[np.bool_], NDArray[np.intp]]] = []
        self._counts = np.zeros(2, np.int64)
        classes = Classes(self.classes or (), self._class_weights)
        for first, raw, table, y in self._blocks():
            usable, held = self._usable(table, y), held_by(self._keys.hashes(first, raw), self._edge)
            kept = usable & sampled(first, len(y), KEPT / self.n_rows)
            self._kept.append((table.filter(pa.array(kept)), y[kept], held[kept], first + np.flatnonzero(kept)))
            self._counts += np.count_nonzero(usable & ~held), np.count_nonzero(usable & held)
            if (learn := usable & ~held).any():
                X = prepare.typed(self.preparation, table.filter(pa.array(learn))).X
                yield Piece(np.ascontiguousarray(X.T), y[learn], classes.weighted(y[learn], None))

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows that were kept."""
        if self.classes is None:
            model.fit(self)
        else:
            from bgn.cli.numbered import fit_numbered

            counts = self._class_counts(self.classes)
            enough_of_each(self.classes, counts)
            self._class_weights = class_weights(model.class_weight, self.classes, counts)
            self.weighted = self._class_weights is not None
            fit_numbered(model, self)
        return TrainingRows.sampled(self._kept, self._counts.tolist(), self)
