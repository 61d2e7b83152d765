"""Rows to learn from that are larger than memory: a Parquet file prepared block by block, as if it were read whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgn.cli.source import OpenedData
from bgn.cli.splits import RowKeys, all_numbers, edge_of, fingerprint, held_by, sampled
from bgn.cli.training_rows import TrainingRows, Wanted, enough_of_each
from bgn.engines.disk.table import BLOCK_BYTES, BlockwiseRows, Piece, rows_in
from bgn.engines.raw_rows import Hashes, Inside, find_edge, histogram, inside_bin
from bgn.estimator_base import take_over
from bgn.estimators import BGNClassifier
from bgn.inputs import cells, prepare
from bgn.inputs.classes import Classes, Label, class_weights
from bgn.inputs.files import Parquet
from bgn.inputs.frames import TableKinds
from bgn.inputs.errors import InputError
from bgn.inputs.training import GapCount, gaps_in, labelled, tallied, target_of, target_values
from bgn.model.schema import Schema
from bgn.model.step import Floats
from bgn.preparation import Preparation
from bgn.require import require
from bgn.whole_file import Stamp

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
            raise InputError(f"{source.name} has no column with values to learn from.")
        if self.n_rows < 2:
            raise InputError(f"{source.name} has {self.n_rows} {wanted.rows} to learn from; at least 2 are needed.")
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

    def _kinds(self) -> TableKinds:
        """What the columns are, as the training rows tell."""
        kinds: TableKinds | None = None
        for first, raw, table, y in self._blocks():
            learn = self._usable(table, y) & ~held_by(self._keys.hashes(first, raw), self._edge)
            found = TableKinds.of(table.filter(pa.array(learn)))
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
            counts = self._class_counts(self.classes)
            enough_of_each(self.classes, counts)
            self._class_weights = class_weights(model.class_weight, self.classes, counts)
            self.weighted = self._class_weights is not None
            fit_numbered(model, self)
        return TrainingRows.sampled(self._kept, self._counts.tolist(), self)


# -- Rows to learn from on a Dask cluster: a Parquet file that the workers read.


class Clustered:
    """The training rows of a Parquet file on a cluster, the same that would be chosen of a file in memory.

    One pass counts, two over a key, where there is one, decide on test rows, one hands the rows over, one keeps some of
    them to judge by.
    """

    def __init__(self, wanted: Wanted, address: str) -> None:
        kinds = wanted.parquet("--scheduler", "stay on the cluster").types
        self._wanted, self.numbers, self._keys = wanted, wanted.numbers, wanted.keys
        features, target = wanted.features(), wanted.target
        for name in features if wanted.numbers else ():
            kind = kinds[name]
            plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            if not plain or name in wanted.choices.categorical:
                raise InputError(
                    f"column {name!r} ({kind}) is none of numbers, which on a cluster all columns must be without "
                    "--direction search: --drop it, or leave --scheduler out."
                )
        chosen = tuple(wanted.choices.categorical), self._keys, wanted.choices.missing
        self._part = _Part(tuple(features), target, *chosen)
        self._calls = _connect(address)
        self._frame = require("dask.dataframe", extra="dask").read_parquet(
            str(Path(wanted.source.name).resolve()),
            columns=[*dict.fromkeys([*features, target, *self._keys.columns])],
            index=False,
        )
        self._firsts: list[int] = []
        task, merge_rare = wanted.choices.task, wanted.choices.merge_rare
        tallies, counts = zip(*self._each("targets", _Part.targets, merge_rare is not None), strict=True)
        self._firsts, self._all = [1 + sum(counts[:k]) for k in range(len(counts))], sum(counts)
        self._edge = self._find_edge(self._all)
        found = target_of(tallies, target, task, merge_rare)
        self.classes = found.classes
        self._part = replace(self._part, classes=found.classes, merged=found.merged)
        self.notes = (*[found.note] * bool(found.note), *self._survey())

    def _parts(self, function: Any, *arguments: Any) -> list[Any]:
        """What a function will make of every partition, of the number of its first row and of some arguments."""
        do = require("dask", extra="dask").delayed(function, pure=False)
        parts = self._frame.to_delayed()
        firsts = self._firsts or [0] * len(parts)  # not known before they are counted
        return [do(self._part, part, first, *arguments) for part, first in zip(parts, firsts, strict=True)]

    def _each(self, what: str, function: Any, *arguments: Any) -> list[Any]:
        """What a function makes of every partition."""
        return self._calls.results(what, self._parts(function, *arguments))

    def _survey(self) -> tuple[str, ...]:
        """Count incomplete rows, and leave empty columns out."""
        counts = self._each("survey", _Part.look, self._edge)
        names, self._rows, notes = GapCount.told(counts, self._wanted.choices)
        if not names:
            raise InputError(f"{self._wanted.source.name} has no column with values to learn from.")
        self._part = replace(self._part, names=tuple(names))
        return tuple(notes)

    def _find_edge(self, rows: int) -> int | None:
        """The edge between test and training rows; the workers are asked where it depends on a key."""
        share, keys = self._wanted.test, self._keys
        if keys.key is None:
            return edge_of(lambda: all_numbers(rows, keys.seed), share)
        counts = sum(self._each("keys", _Part.counts))
        return find_edge(counts, lambda number: self._each("inside", _Part.inside, number), share)

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows that were kept."""
        from bgn.dask import DaskBGNClassifier, DaskBGNRegressor
        from bgn.estimator_base import take_over

        meta = self._part.frame(self._frame._meta, self.numbers)
        chosen = self._parts(_Part.chosen, self._edge, self.numbers)
        train = require("dask.dataframe", extra="dask").from_delayed(chosen, meta=meta, verify_meta=False)
        if self.classes is not None:
            enough_of_each(self.classes, sum(self._each("classes", _Part.class_counts, self._edge)))
        estimator = DaskBGNRegressor if self.classes is None else DaskBGNClassifier
        on_cluster = estimator(**model.get_params(), client=self._calls.client)
        try:
            take_over(model, on_cluster.fit(train, target=self._part.target))
            kept = self._each("kept", _Part.kept, self._edge, KEPT / max(self._rows, 1))
        except RuntimeError as error:
            raise InputError(str(error)) from error
        counts = [sum(each[k] for each in kept) for k in (4, 5)]
        self.held_out = self._wanted.held_out(self._edge, self._all, sum(each[6] for each in kept))
        date_format, merged = self._wanted.choices.date_format, self._part.merged
        self.preparation = Preparation(model.network_.schema, date_format=date_format, merged=merged)
        return TrainingRows.sampled([each[:4] for each in kept], counts, self)


def _connect(address: str) -> Any:
    """The calls to the scheduler at an address."""
    distributed = require("distributed", extra="dask")
    from bgn.engines.cluster import ClusterTasks

    try:
        calls = ClusterTasks(distributed.Client(address, timeout="10s", set_as_default=False))
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler: no Dask scheduler answers at {address!r} ({error}).") from None
    calls.check_workers()
    return calls


# -- on a worker -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """What is done to a partition: which columns it has, and how they are read."""

    names: tuple[str, ...]
    target: str
    categorical: tuple[str, ...]
    keys: RowKeys
    missing: str
    classes: tuple[Label, ...] | None = None
    merged: tuple[Label, ...] = ()

    def targets(self, part: Any, first: int, every: bool) -> tuple[pa.Array, int]:
        """The values of its target with their rows, some of many unless `every` one is asked for; and its rows."""
        return tallied(pa.chunked_array([pa.array(part[self.target], from_pandas=True)]), every), len(part)

    def table(self, part: Any) -> tuple[pa.Table, Floats]:
        """A partition's features and target."""
        raw = pa.Table.from_pandas(part[[*self.names]], preserve_index=False)
        column = pa.chunked_array([pa.array(part[self.target], from_pandas=True)])
        y, _ = target_values(column, self.classes, merged=self.merged)
        return prepare.learn(raw, self.categorical), y

    def usable(self, table: pa.Table, y: Floats) -> Any:
        """Which rows can be learnt from."""
        return ~np.isnan(y) if self.missing == "keep" else ~(np.isnan(y) | gaps_in(table))

    def hashes(self, part: Any, first: int) -> Hashes:
        """What decides on test rows, for all rows of a partition."""
        keys = self.keys
        columns = {name: pa.array(part[name], from_pandas=True) for name in keys.columns} or {"": np.empty(len(part))}
        table = pa.table(columns)
        keys.check(first, table)
        return keys.hashes(first, table)

    def look(self, part: Any, first: int, edge: int | None) -> GapCount:
        """What its rows lack."""
        return GapCount.of(*self.table(part), held_by(self.hashes(part, first), edge))

    def counts(self, part: Any, first: int) -> Any:
        """The histogram of its keys."""
        return histogram(self.hashes(part, first), None)

    def inside(self, part: Any, first: int, number: int) -> Inside:
        """Its keys in one bin of that."""
        return inside_bin(self.hashes(part, first), None, number)

    def frame(self, part: Any, numbers: bool, rows: Any = slice(None)) -> Any:
        """Some rows as a frame, with the target."""
        table, y = self.table(part)
        if numbers:
            table = pa.table({name: cells.numbers(table.column(name)) for name in table.column_names})
        found = table.to_pandas()[rows]
        return found.assign(**{self.target: labelled(y[rows], self.classes)})

    def learns(self, part: Any, first: int, edge: int | None) -> Any:
        """Which of its rows are for training."""
        return self.usable(*self.table(part)) & ~held_by(self.hashes(part, first), edge)

    def class_counts(self, part: Any, first: int, edge: int | None) -> Any:
        """How many training rows each class has."""
        codes = self.table(part)[1][self.learns(part, first, edge)]
        return np.bincount(codes.astype(np.intp), minlength=len(self.classes or ()))

    def chosen(self, part: Any, first: int, edge: int | None, numbers: bool) -> Any:
        """Its training rows."""
        return self.frame(part, numbers, self.learns(part, first, edge))

    def kept(
        self, part: Any, first: int, edge: int | None, share: float
    ) -> tuple[pa.Table, Floats, Any, Any, int, int, int]:
        """About a share of the rows, which are test rows, their numbers, counts; the training targets' fingerprint."""
        table, y = self.table(part)
        usable, held = self.usable(table, y), held_by(self.hashes(part, first), edge)
        kept = usable & sampled(first, len(y), share)
        counts = (int(np.count_nonzero(usable & ~held)), int(np.count_nonzero(usable & held)))
        numbers = first + np.flatnonzero(kept)
        return table.filter(pa.array(kept)), y[kept], held[kept], numbers, *counts, fingerprint(first, y, held)


# -- A classifier of rows on disk that know their classes by number.


class _OfNumberedClasses(BGNClassifier):
    def _with_classes(self, given: Any, held_out: Any) -> Any:
        self.classes_ = labelled(np.arange(len(given.X.classes), dtype=np.float64), given.X.classes)
        return given, held_out, given.X.classes


def fit_numbered(model: Any, rows: Any) -> None:
    """Fit a classifier to rows whose targets are numbers of their ``classes``."""
    take_over(model, _OfNumberedClasses(**model.get_params()).fit(rows))
