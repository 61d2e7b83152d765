"""Rows to learn from on a Dask cluster: a Parquet file that the workers read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bgn.cli.roles import RowKeys, all_numbers, edge_of, fingerprint, held_by, sampled
from bgn.cli.stream import KEPT
from bgn.cli.train import TrainingRows, Wanted, enough_of_each
from bgn.engines.raw_rows import Hashes, Inside, find_edge, histogram, inside_bin
from bgn.inputs import cells, prepare
from bgn.inputs.classes import Label
from bgn.inputs.refusal import Refused
from bgn.inputs.target import labelled, tallied, target_of, target_values
from bgn.inputs.training import GapCount, gaps_in
from bgn.model.step import Floats
from bgn.preparation import Preparation
from bgn.require import require


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
                raise Refused(
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
            raise Refused(f"{self._wanted.source.name} has no column with values to learn from.")
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
        from bgn.estimator_state import take_over

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
            raise Refused(str(error)) from error
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
        raise Refused(f"--scheduler: no Dask scheduler answers at {address!r} ({error}).") from None
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
