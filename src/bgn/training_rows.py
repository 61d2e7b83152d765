"""The rows of a file that a model trains on, and its test rows: in memory, on disk, or on a Dask cluster.

Which rows are test rows depends on their number in the file or on a key (:mod:`bgn.inputs.splits`), never on where the
rows are kept. :func:`training_rows` reads a whole file. :class:`Streamed` and :class:`Clustered` leave a Parquet file
where it is and read it block by block, as if it were read whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from bgn.engines.disk.table import BLOCK_BYTES, BlockwiseRows, Piece, rows_in
from bgn.estimator_base import take_over
from bgn.estimators import BGNClassifier
from bgn.grow.history import choose_size
from bgn.inputs import cells, prepare
from bgn.inputs.errors import InputError, Problems, did_you_mean
from bgn.inputs.files import OpenedData, Parquet
from bgn.inputs.kinds import TableKinds
from bgn.inputs.prepare import Choices
from bgn.inputs.splits import (
    HeldOut,
    RowKeys,
    edge_of,
    find_edge,
    fingerprint,
    histogram,
    inside_bin,
    is_test,
    sample_rows,
)
from bgn.inputs.target import Classes, Label, class_weights
from bgn.inputs.training import (
    MissingCount,
    decide,
    decide_target,
    encode_target,
    read_whole,
    rows_with_missing,
    tally_target,
    to_labels,
)
from bgn.model.categories import RARE
from bgn.model.schema import Schema, category_name
from bgn.model.step import Bools, Floats
from bgn.preparation import Preparation
from bgn.require import require
from bgn.text import count_of
from bgn.whole_file import Stamp

SAMPLE_ROWS = 200_000
"""About so many rows of a larger file are kept in memory, to evaluate the model and to draw."""
_COPIES = 5  # of a dataset that a fit in memory holds, each number in 8 bytes
_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class TrainingRequest:
    """What to train on: which dataset, how its columns and incomplete rows are treated, and the share of test rows.

    With `one_hot`, categories become columns of 0 and 1, and a model gets a matrix of numbers.
    """

    source: OpenedData
    choices: Choices
    test: float
    seed: int
    units: Collection[str] = ()
    key: str | None = None
    one_hot: bool = False

    @property
    def target(self) -> str:
        return str(self.choices.target)

    @property
    def keys(self) -> RowKeys:
        """What decides which rows are test rows: not the columns that the model uses."""
        return RowKeys(self.key, self.seed)

    def check_count(self, rows: int) -> None:
        if rows < 2:
            complete = "complete " * (self.choices.missing in ("refuse", "drop"))
            there = f"{count_of(rows, complete + 'row')} with {self.target!r}"
            remedy = " besides test rows; at least 2 are needed (--test 0 sets no rows apart)" * (self.test > 0)
            raise InputError(f"{self.source.name} has {there} to learn from{remedy or '; at least 2 are needed'}.")

    def held_out(self, edge: int | None, rows: int, fingerprint: int) -> HeldOut:
        """What a model file keeps of which rows are test rows."""
        return HeldOut(self.seed, self.test, self.key, edge, rows, fingerprint % 2**64)

    def features(self) -> list[str]:
        """Return the columns that the model may use; refuse names of columns that are not there."""
        names, problems, features = self.source.table.names, Problems(), list[str]()
        with problems.gathered():
            if self.key is not None and self.key not in names:
                lacks = f"{self.source.name} has no column {self.key!r}; it has {', '.join(map(repr, names))}."
                raise InputError(f"--key: {lacks}{did_you_mean(self.key, names)}")
            if self.key is not None and self.key == self.choices.target:
                raise InputError(f"--key: {self.key!r} is the target; name a column that tells rows apart.")
        with problems.gathered():
            features = self.choices.features(names, self.source.name, self.units, self.source.table.reading.notes)
        problems.tell()
        return features

    def parquet(self, option: str, where: str) -> Parquet:
        """Return the Parquet file of a source whose rows are never all in one place."""
        if not isinstance(self.source.table, Parquet):
            raise InputError(f"{option} reads Parquet files; {self.source.name} is none. Convert it first.")
        if self.choices.missing == "impute":
            raise InputError(f"--missing impute needs all rows in memory, and these {where}; try --missing drop.")
        return self.source.table


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a fit needs and what happened on the way; of `n_train` training and `n_test` test rows perhaps a sample.

    Targets are numbers; those that stand for `classes` are the numbers of these. `numbers` are those of the training
    and of the test rows in the file.
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
    numbers: tuple[list[int], list[int]] | None = None

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows it was fitted to."""
        if self.classes is not None:
            check_classes(self.classes, np.bincount(self.y.astype(np.intp), minlength=len(self.classes)))
        model.fit(self.X, to_labels(self.y, self.classes))
        return self

    @property
    def evaluation(self) -> tuple[Any, Floats]:
        """The rows to evaluate a model on: the test rows, or the training rows where there are none."""
        return (self.X_test, self.y_test) if len(self.y_test) else (self.X, self.y)


def training_rows(request: TrainingRequest) -> TrainingRows:
    """Read a whole dataset and split it; rows with the same key stay on one side."""
    source, names, keys = request.source, request.features(), request.keys
    table = read_whole(source.table, names, request.choices, source.name, keys.columns)
    keys.check(1, table)
    hashes = keys.hashes(1, table)
    edge = edge_of(lambda: [hashes], request.test)
    held = is_test(hashes, edge)
    decided = decide(source.table, table, names, request.choices, source.name, held)
    test, train = decided.usable & held, decided.usable & ~held
    request.check_count(int(np.count_nonzero(train)))
    table, preparation, notes = decided.prepared(train)
    if request.one_hot:
        preparation = replace(preparation, schema=prepare.one_hot_schema(preparation.schema))
    X, X_test = (_model_input(preparation, table.filter(pa.array(rows)), request.one_hot) for rows in (train, test))
    numbers = (1 + np.flatnonzero(train)).tolist(), (1 + np.flatnonzero(test)).tolist()
    return TrainingRows(
        X, decided.y[train], X_test, decided.y[test], preparation, notes, len(numbers[0]), len(numbers[1]),
        request.held_out(edge, len(decided.y), fingerprint(1, decided.y, held)), decided.classes, numbers,
    )  # fmt: skip


def _model_input(preparation: Preparation, table: pa.Table, one_hot: bool) -> Any:
    """Return rows as a model is fitted to them: the columns as they are or, `one_hot`, a matrix of numbers."""
    if not one_hot:
        return table
    import pandas as pd

    return pd.DataFrame(prepare.read_as_at_fit(preparation, table).X, columns=list(preparation.schema.names))


def check_classes(classes: Sequence[Any], counts: Any) -> None:
    """Refuse classes that cannot be learned because the training rows have one row of them or none."""
    if len(classes) > 1 and (few := np.flatnonzero(np.asarray(counts) < 2)).size:
        rare = int(few[0])
        raise InputError(
            f"the class {category_name(classes[rare])!r} has {int(counts[rare])} row{'s' * int(counts[rare] != 1)} "
            "among those to learn from; at least 2 are needed. Merge it with others (--merge-rare N merges classes of "
            "fewer than N rows), drop its rows, or set fewer rows aside with --test."
        )


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


# -- Files that are never read whole: what is done to each block, and the order of the passes.


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a file: the features, the target, which rows can be used, and which are test rows."""

    first: int
    table: pa.Table
    y: Floats
    usable: Bools
    test: Bools

    @property
    def train(self) -> Bools:
        return self.usable & ~self.test

    def sample(self, share: float) -> tuple[pa.Table, Floats, Bools, list[int], tuple[int, int]]:
        kept = self.usable & sample_rows(self.first, len(self.y), share)
        numbers = (self.first + np.flatnonzero(kept)).tolist()
        counts = int(np.count_nonzero(self.train)), int(np.count_nonzero(self.usable & self.test))
        return self.table.filter(pa.array(kept)), self.y[kept], self.test[kept], numbers, counts


@dataclass(frozen=True)
class BlockReader:
    """What is done to the blocks of a file: which columns are features, how the target is read, which rows are used."""

    names: tuple[str, ...]
    target: str
    categorical: tuple[str, ...]
    keys: RowKeys
    missing: str
    classes: tuple[Label, ...] | None = None
    merged: tuple[Label, ...] = ()
    edge: int | None = None

    @property
    def columns(self) -> list[str]:
        return [*dict.fromkeys([*self.names, self.target, *self.keys.columns])]

    def read(self, raw: pa.Table, first: int) -> Block:
        y, _ = encode_target(raw.column(self.target), self.classes, merged=self.merged)
        table = prepare.to_plain_types(raw.select(list(self.names)), self.categorical)
        usable = ~np.isnan(y) if self.missing == "keep" else ~(np.isnan(y) | rows_with_missing(table))
        return Block(first, table, y, usable, is_test(self.keys.hashes(first, raw), self.edge))

    def tally_target(self, raw: pa.Table, first: int, every: bool) -> tuple[pa.Array, int]:
        """Return the values of the target with their rows, some of many unless `every` one is needed; and all rows."""
        return tally_target(raw.column(self.target), every), raw.num_rows

    def key_bins(self, raw: pa.Table, first: int) -> Any:
        return histogram(self.keys.hashes(first, raw), None)

    def keys_inside(self, raw: pa.Table, first: int, number: int) -> Any:
        return inside_bin(self.keys.hashes(first, raw), None, number)

    def survey(self, raw: pa.Table, first: int) -> tuple[MissingCount, int]:
        """Return what the rows lack, and the fingerprint of the training targets."""
        self.keys.check(first, raw)
        block = self.read(raw, first)
        return MissingCount.of(block.table, block.y, block.test), fingerprint(first, block.y, block.test)

    def kinds(self, raw: pa.Table, first: int) -> TableKinds:
        block = self.read(raw, first)
        return TableKinds.of(block.table.filter(pa.array(block.train)))

    def class_counts(self, raw: pa.Table, first: int) -> Any:
        block = self.read(raw, first)
        return np.bincount(block.y[block.train].astype(np.intp), minlength=len(self.classes or ()))

    def sample(self, raw: pa.Table, first: int, share: float) -> Any:
        return self.read(raw, first).sample(share)


class BlocksOfFile:
    """The rows of a Parquet file that is never read whole. One pass counts the values of the target, two over the key,
    where there is one, decide on test rows, one counts missing values."""

    n_rows: int
    target_name: str | None
    preparation: Preparation

    @abstractmethod
    def _on_blocks(self, what: str, do: Callable[..., _Result], *more: Any, only: Sequence[str] = ()) -> list[_Result]:
        """Return what a method of :class:`BlockReader` makes of every block; it needs the columns `only`, or all."""

    def _look(self, request: TrainingRequest) -> None:
        """Decide on the target, on test rows and on columns without values."""
        choices, keys = request.choices, request.keys
        self._request, self._notes = request, list[str]()
        self.one_hot, self.target_name = request.one_hot, request.target
        names, categorical = tuple(request.features()), tuple(choices.categorical)
        self._reader = BlockReader(names, request.target, categorical, keys, choices.missing)
        counted = self._on_blocks(
            "targets", BlockReader.tally_target, choices.merge_rare is not None, only=[request.target]
        )
        self._firsts = np.cumsum([1, *(rows for _, rows in counted)]).tolist()
        self._all_rows = self._firsts.pop() - 1
        target = decide_target([tally for tally, _ in counted], request.target, choices.task, choices.merge_rare)
        self.classes = target.classes
        if keys.key is None:
            edge = edge_of(lambda: keys.number_blocks(self._all_rows), request.test)
        else:
            bins = sum(self._on_blocks("keys", BlockReader.key_bins, only=keys.columns), np.zeros(1 << 16, np.int64))

            def inside(number: int) -> Any:
                return self._on_blocks("inside", BlockReader.keys_inside, number, only=keys.columns)

            edge = find_edge(bins, inside, request.test)
        self._reader = replace(self._reader, classes=target.classes, merged=target.merged, edge=edge)
        surveyed = self._on_blocks("survey", BlockReader.survey)
        self.n_rows = 0
        if surveyed:
            columns, self.n_rows, self._notes = MissingCount.summarize([count for count, _ in surveyed], choices)
            self._reader = replace(self._reader, names=tuple(columns))
        if not self._reader.names:
            raise InputError(f"{request.source.name} has no column with values to learn from.")
        self._notes = [*[target.note] * bool(target.note), *self._notes]
        self.held_out = request.held_out(edge, self._all_rows, sum(part for _, part in surveyed))

    def _count_classes(self) -> Any:
        """Return how many training rows each class has; refuse those that have too few."""
        assert self.classes is not None
        counts = sum(self._on_blocks("classes", BlockReader.class_counts), np.zeros(len(self.classes)))
        check_classes(self.classes, counts)
        return counts

    def _sampled(self, parts: Iterable[tuple[Any, ...]]) -> TrainingRows:
        tables, targets, tests, numbers, counts = zip(*parts, strict=True)
        table = pa.concat_tables(tables, promote_options="permissive")
        y, test, number = np.concatenate(targets), np.concatenate(tests), np.concatenate(numbers).astype(int)
        X, X_test = (
            _model_input(self.preparation, table.filter(pa.array(rows)), self.one_hot) for rows in (~test, test)
        )
        n_train, n_test = np.sum(counts, axis=0).tolist()
        return TrainingRows(
            X, y[~test], X_test, y[test], self.preparation, tuple(self._notes), n_train, n_test, self.held_out,
            self.classes, (number[~test].tolist(), number[test].tolist()),
        )  # fmt: skip


class Streamed(BlocksOfFile, BlockwiseRows):
    """The training rows of a Parquet file on disk. One more pass decides on the columns, and one hands the rows over
    and keeps some of them."""

    dtype = np.dtype(np.float64)

    _class_weights: tuple[float, ...] | None = None

    def __init__(self, request: TrainingRequest) -> None:
        self._table = request.parquet("--stream", "stay on disk")
        self._stamp = Stamp.of(request.source.name)
        self._look(request)
        request.check_count(self.n_rows)
        kinds, *others = self._on_blocks("kinds", BlockReader.kinds)
        for more in others:
            kinds = kinds.merged(more)
        schema = kinds.schema(request.target)
        self.notes = (*self._notes, *prepare.notes_on_text(schema))
        self._notes = list(self.notes)
        schema = prepare.one_hot_schema(schema) if self.one_hot else schema
        self.preparation = Preparation(schema, date_format=request.choices.date_format, merged=self._reader.merged)
        self.names, self.n_columns = schema.names, len(schema)

    @property
    def schema(self) -> Schema:
        schema = self.preparation.schema
        return Schema.of_numbers(len(schema), schema.names, self.target_name) if self.one_hot else schema

    def _on_blocks(self, what: str, do: Callable[..., _Result], *more: Any, only: Sequence[str] = ()) -> list[_Result]:
        return [do(self._reader, raw, first, *more) for first, raw in self._raw_blocks(only)]

    def _raw_blocks(self, only: Sequence[str] = ()) -> Iterator[tuple[int, pa.Table]]:
        """Yield the number of the first row of every block, and its columns."""
        names, first = list(only) or self._reader.columns, 1
        size = () if only else (rows_in(BLOCK_BYTES, len(names)),)
        for raw in self._stamp.watch(self._table.blocks(names, *size)):
            yield first, raw
            first += raw.num_rows

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield the training rows; of training and test rows some are kept, and all are counted."""
        self._kept: list[tuple[Any, ...]] = []
        classes = Classes(self.classes or (), self._class_weights)
        for first, raw in self._raw_blocks():
            block = self._reader.read(raw, first)
            self._kept.append(block.sample(SAMPLE_ROWS / self.n_rows))
            if block.train.any():
                X = prepare.read_as_at_fit(self.preparation, block.table.filter(pa.array(block.train))).X
                y = block.y[block.train]
                yield Piece(np.ascontiguousarray(X.T), y, classes.weighted(y, None))

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows that were kept."""
        if self.classes is None:
            model.fit(self)
        else:
            self._class_weights = class_weights(model.class_weight, self.classes, self._count_classes())
            self.weighted = self._class_weights is not None
            take_over(model, _OfNumberedClasses(**model.get_params()).fit(self))
        return self._sampled(self._kept)


class _OfNumberedClasses(BGNClassifier):
    """A classifier of rows that know their classes by number."""

    def _with_classes(self, given: Any, held_out: Any) -> Any:
        self.classes_ = to_labels(np.arange(len(given.X.classes), dtype=np.float64), given.X.classes)
        return given, held_out, given.X.classes


class Clustered(BlocksOfFile):
    """The training rows of a Parquet file that the workers of a Dask cluster read. One more pass hands the rows over,
    and one keeps some of them."""

    def __init__(self, request: TrainingRequest, address: str) -> None:
        kinds = request.parquet("--scheduler", "stay on the cluster").types
        features = request.features()
        for name in features if request.one_hot else ():
            kind = kinds[name]
            plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            if not plain or name in request.choices.categorical:
                raise InputError(
                    f"column {name!r} ({kind}) is none of numbers, which on a cluster all columns must be without "
                    "--direction search: --drop it, or leave --scheduler out."
                )
        distributed = require("distributed", extra="dask")
        from bgn.engines.cluster import ClusterTasks

        try:
            self._tasks = ClusterTasks(distributed.Client(address, timeout="10s", set_as_default=False))
        except (OSError, ValueError) as error:
            raise InputError(f"--scheduler: no Dask scheduler answers at {address!r} ({error}).") from None
        self._tasks.check_workers()
        self._frame = require("dask.dataframe", extra="dask").read_parquet(
            str(Path(request.source.name).resolve()),
            columns=[*dict.fromkeys([*features, request.target, *request.keys.columns])],
            index=False,
        )
        self._firsts: list[int] = []
        self._look(request)
        self.notes = tuple(self._notes)

    def _tasks_of(self, do: Callable[..., Any], *more: Any) -> list[Any]:
        """Return what a function will make of every partition, of the number of its first row and of some arguments."""
        task = require("dask", extra="dask").delayed(do, pure=False)
        parts = self._frame.to_delayed()
        firsts = self._firsts or [0] * len(parts)  # not known before they are counted
        return [task(self._reader, part, first, *more) for part, first in zip(parts, firsts, strict=True)]

    def _on_blocks(self, what: str, do: Callable[..., _Result], *more: Any, only: Sequence[str] = ()) -> list[_Result]:
        results: list[_Result] = self._tasks.results(what, self._tasks_of(_on_partition, do, *more))
        return results

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows that were kept."""
        from bgn.dask import DaskBGNClassifier, DaskBGNRegressor

        meta = _training_frame(self._reader, self._frame._meta, 0, self.one_hot, True)
        parts = self._tasks_of(_training_frame, self.one_hot)
        train = require("dask.dataframe", extra="dask").from_delayed(parts, meta=meta, verify_meta=False)
        if self.classes is not None:
            self._count_classes()
        estimator = DaskBGNRegressor if self.classes is None else DaskBGNClassifier
        on_cluster = estimator(**model.get_params(), client=self._tasks.client)
        try:
            take_over(model, on_cluster.fit(train, target=self.target_name))
            kept = self._on_blocks("kept", BlockReader.sample, SAMPLE_ROWS / max(self.n_rows, 1))
        except RuntimeError as error:
            raise InputError(str(error)) from error
        choices, merged = self._request.choices, self._reader.merged
        self.preparation = Preparation(model.network_.schema, date_format=choices.date_format, merged=merged)
        return self._sampled(kept)


def _on_partition(reader: BlockReader, part: Any, first: int, do: Callable[..., _Result], *more: Any) -> _Result:
    """Return what a method of :class:`BlockReader` makes of a partition, on the worker that has it."""
    return do(reader, pa.Table.from_pandas(part, preserve_index=False), first, *more)


def _training_frame(reader: BlockReader, part: Any, first: int, one_hot: bool, every: bool = False) -> Any:
    """Return the training rows of a partition, or every row, as a frame with the target."""
    block = reader.read(pa.Table.from_pandas(part, preserve_index=False), first)
    rows, table = np.ones(len(block.y), bool) if every else block.train, block.table
    if one_hot:
        table = pa.table({name: cells.numbers(table.column(name)) for name in table.column_names})
    return table.to_pandas()[rows].assign(**{reader.target: to_labels(block.y[rows], reader.classes)})


def fit_rows(
    model: Any, rows: TrainingRows | Streamed | Clustered, target: str, size: int | None = None
) -> tuple[Any, TrainingRows]:
    """Fit a model, and keep the size at most that is wanted; its columns know how they are read from a raw dataset.

    Returns the model, and the rows it was fitted to, or some of them.
    """
    kept = rows.fit(model)
    model.set_params(verbose=0)
    history = model.history_
    if size is not None and history.best_size > size:
        narrow = history.paths[history.best_layer][: size + 1]
        model = model.with_terms(choose_size(narrow, model.select, history.n_validation))
    schema = _with_raw_columns(model.network_.schema, kept.preparation.schema, target, kept.X)
    model.history_ = model.history_.with_schema(schema)
    model.network_ = model.history_.network()
    if hasattr(model, "intervals_"):
        model.intervals_ = replace(model.intervals_, network=model.network_)
    return model, replace(kept, preparation=replace(kept.preparation, schema=schema))


def _with_raw_columns(schema: Schema, read: Schema, target: str, X: Any) -> Schema:
    """Return the columns of a network with how they are read from a raw dataset, what is imputed, and which of 0 and 1
    stand for a rare category."""
    columns = []
    flags = np.asarray(X, np.float64) if any(column.category_of for column in read.columns) else np.empty((0, 0))
    for j, (column, other) in enumerate(zip(schema.columns, read.columns, strict=True)):
        typical = column.typical if other.typical is None else other.typical
        rare = column.rare if other.category_of is None else (1,) * bool(np.nansum(flags[:, j]) < RARE)
        columns.append(
            replace(column, category_of=other.category_of, part_of=other.part_of, typical=typical, rare=rare)
        )
    return replace(schema, columns=tuple(columns), target=target)
