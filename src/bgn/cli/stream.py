"""Rows to learn from that are larger than memory: a Parquet file prepared block by block, as if it were read whole."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn.cli.roles import all_numbers, edge_of, fingerprint, held_by, sampled
from bgn.cli.source import OpenedData
from bgn.cli.train import TrainingRows, Wanted, enough_of_each
from bgn.engines.disk.table import BLOCK_BYTES, BlockwiseRows, Piece, rows_in
from bgn.engines.row_hashes import Hashes
from bgn.inputs import prepare
from bgn.inputs.classes import Classes, class_weights
from bgn.inputs.files import Parquet
from bgn.inputs.refusal import Refused
from bgn.inputs.stamp import Stamp
from bgn.inputs.target import classes_of, target_values
from bgn.inputs.training import holes_of, incomplete
from bgn.model.step import Floats

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


def available_memory() -> int:
    """Bytes that this process can still take, as far as the system tells."""
    limits = [sys.maxsize]
    for path, name in (("/proc/meminfo", "MemAvailable:"), ("/sys/fs/cgroup/memory.max", "")):
        try:
            words = Path(path).read_text().split()
            limits.append(int(words[words.index(name) + 1]) * 1024 if name else int(words[0]))
        except (OSError, ValueError):
            pass  # no such file, or no limit
    return min(limits)


class Streamed(BlockwiseRows):
    """The training rows of a Parquet file. Two passes decide on columns and incomplete rows, two over the key, if there
    is one, on test rows; one more hands the rows over, and keeps some of them to judge by."""

    _class_weights: tuple[float, ...] | None = None

    def __init__(self, wanted: Wanted) -> None:
        source = wanted.source
        self._table, self._missing = wanted.parquet("--stream", "stay on disk"), wanted.choices.missing
        self._stamp = Stamp.of(source.name)
        self._target = self.target_name = wanted.target
        types = {name: self._table.types[name] for name in wanted.features()}
        blocks = self._stamp.watch(self._table.blocks([*types]))
        self.preparation, notes = prepare.learn_blocks(blocks, types, wanted.choices)
        if not self.preparation.columns:
            raise Refused(f"{source.name} has no column with values to learn from.")
        self.names = self.preparation.names
        self.n_columns, self.dtype = len(self.names), np.dtype(np.float64)
        self._keys = wanted.keys
        targets = (table.column(self._target) for table in self._stamp.watch(self._table.blocks([self._target])))
        self.classes, noted = classes_of(targets, self._target, wanted.choices.task)
        self.n_rows, target, more = self._survey()
        self.notes = (*[noted] * bool(noted), *notes, *more)
        self._edge = edge_of(self._hashes, wanted.test)
        self.held_out = wanted.held_out(self._edge, self._table.n_rows, target)
        if self.n_rows < 2:
            raise Refused(f"{source.name} has {self.n_rows} complete rows to learn from; at least 2 are needed.")

    def _survey(self) -> tuple[int, int, list[str]]:
        """Count complete rows; also the fingerprint of the target, and a note on rows that lack something."""
        rows, lacking, target, holes = 0, 0, 0, Counter[str]()
        for first, table, X, y, whole in self._blocks():
            self._keys.check(first, table)
            rows, lacking = rows + len(y), lacking + int(np.count_nonzero(~whole))
            holes.update(holes_of(self.preparation, X, y, self._target))
            target += fingerprint(first, y)
        notes = [f"{incomplete(rows, lacking, holes, self._missing)}: left out."] if lacking else []
        return rows - lacking, target, notes

    def _hashes(self) -> Iterator[Hashes]:
        """Yield the hashes of all rows, block by block."""
        if self._keys.key is None:
            yield from all_numbers(self._table.n_rows, self._keys.seed)
            return
        for table in self._stamp.watch(self._table.blocks(self._keys.columns)):
            yield self._keys.hashes(1, table)

    def _blocks(self) -> Iterator[tuple[int, pa.Table, Floats, Floats, NDArray[np.bool_]]]:
        """Yield the number of the first row, the raw block, its features and target, and which rows are complete."""
        first = 1
        names = [*(column.column for column in self.preparation.columns), self._target, *self._keys.columns]
        blocks = self._table.blocks([*dict.fromkeys(names)], rows_in(BLOCK_BYTES, self.n_columns))
        for table in self._stamp.watch(blocks):
            X = prepare.apply(self.preparation, table).X
            y, _ = target_values(table.column(self._target), self.classes)
            yield first, table, X, y, ~(np.isnan(X).any(axis=1) | np.isnan(y))
            first += len(y)

    def _class_counts(self, classes: tuple[Any, ...]) -> Floats:
        """Count the training rows of each class."""
        counts = np.zeros(len(classes))
        for first, table, _, y, whole in self._blocks():
            learn = whole & ~held_by(self._keys.hashes(first, table), self._edge)
            counts += np.bincount(y[learn].astype(np.intp), minlength=len(classes))
        return counts

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield the training rows; of training and test rows some are kept, and all are counted."""
        self._kept: list[tuple[Floats, Floats, NDArray[np.bool_]]] = []
        self._counts = np.zeros(2, np.int64)
        classes = Classes(self.classes or (), self._class_weights)
        for first, table, X, y, whole in self._blocks():
            held = held_by(self._keys.hashes(first, table), self._edge)[whole]
            kept = sampled(first, len(y), KEPT / self.n_rows)[whole]
            X, y = X[whole], y[whole]
            self._kept.append((X[kept], y[kept], held[kept]))
            self._counts += np.count_nonzero(~held), np.count_nonzero(held)
            if not held.all():
                yield Piece(np.ascontiguousarray(X[~held].T), y[~held], classes.weighted(y[~held], None))

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
