"""Rows to learn from on a Dask cluster: a Parquet file of numbers that the workers read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bgn.cli.roles import RowKeys, all_numbers, edge_of, fingerprint, held_by, sampled
from bgn.cli.stream import KEPT
from bgn.cli.train import TrainingRows, Wanted
from bgn.engines.row_hashes import Hashes, Inside, find_edge, histogram, inside_bin
from bgn.inputs.refusal import Refused
from bgn.inputs.training import incomplete
from bgn.model.step import Floats
from bgn.preparation import Number, Preparation
from bgn.require import require


class Clustered:
    """The training rows of a Parquet file on a cluster, the same that would be chosen of a file in memory.

    One pass counts, two over a key, where there is one, decide on test rows, one hands the rows over, one keeps some of
    them to judge by.
    """

    classes = None

    def __init__(self, wanted: Wanted, address: str) -> None:
        if wanted.choices.task == "classes":
            raise Refused("--scheduler fits models that predict numbers; leave it out for classes, or try --stream.")
        kinds = wanted.parquet("--scheduler", "stay on the cluster").types
        features, target = wanted.features(), wanted.target
        for name in [*features, target]:
            kind = kinds[name]
            plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            if not plain or name in wanted.choices.categorical:
                raise Refused(
                    f"column {name!r} ({kind}) needs preparation, and with --scheduler columns must be numbers: --drop "
                    "it, prepare it first, or leave --scheduler out."
                )
        self.preparation = Preparation(tuple(Number(name, pa.types.is_boolean(kinds[name])) for name in features))
        self._wanted, self._names, self._keys = wanted, [*features, target], wanted.keys
        self._calls = _connect(address)
        self._frame = require("dask.dataframe", extra="dask").read_parquet(
            str(Path(wanted.source.name).resolve()),
            columns=[*dict.fromkeys([*self._names, *self._keys.columns])],
            index=False,
        )
        self.notes = self._survey(wanted.choices.missing)

    def _parts(self, function: Any, *arguments: Any) -> list[Any]:
        """What a function will make of every partition, of the number of its first row and of some arguments."""
        do = require("dask", extra="dask").delayed(function, pure=False)
        parts = self._frame.to_delayed()
        firsts = self._firsts or [0] * len(parts)  # not known before they are counted
        return [do(part, first, *arguments) for part, first in zip(parts, firsts, strict=True)]

    def _each(self, what: str, function: Any, *arguments: Any) -> list[Any]:
        """What a function makes of every partition."""
        return self._calls.results(what, self._parts(function, *arguments))

    def _survey(self, missing: str) -> tuple[str, ...]:
        """Count incomplete rows and find the edge between test and training rows."""
        self._firsts: list[int] = []
        surveys = self._each("survey", _look, self._names)
        holes = dict(zip(self._names, sum(each[1] for each in surveys).tolist(), strict=True))
        counts = [each[0][0] for each in surveys]
        rows, lacking = sum(counts), sum(each[0][1] for each in surveys)
        notes = (f"{incomplete(rows, lacking, holes, missing)}: left out.",) if lacking else ()
        self._firsts = [1 + sum(counts[:k]) for k in range(len(counts))]
        self._edge, self._all, self._rows = self._find_edge(rows), rows, rows - lacking
        return notes

    def _find_edge(self, rows: int) -> int | None:
        """The edge between test and training rows; the workers are asked where it depends on a key."""
        share, keys = self._wanted.test, self._keys
        if keys.key is None:
            return edge_of(lambda: all_numbers(rows, keys.seed), share)
        counts = sum(self._each("keys", _counts, keys))
        return find_edge(counts, lambda number: self._each("inside", _inside, keys, number), share)

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows that were kept."""
        from bgn.dask import DaskBGNRegressor
        from bgn.estimator_state import take_over

        meta = self._frame._meta[self._names].astype(np.float64)
        chosen = self._parts(_chosen, self._names, self._keys, self._edge)
        train = require("dask.dataframe", extra="dask").from_delayed(chosen, meta=meta, verify_meta=False)
        on_cluster = DaskBGNRegressor(**model.get_params(), client=self._calls.client)
        try:
            take_over(model, on_cluster.fit(train, target=self._names[-1]))
            kept = self._each("kept", _kept, self._names, self._keys, self._edge, KEPT / self._rows)
        except RuntimeError as error:
            raise Refused(str(error)) from error
        counts = [sum(each[k] for each in kept) for k in (3, 4)]
        self.held_out = self._wanted.held_out(self._edge, self._all, sum(each[5] for each in kept))
        return TrainingRows.sampled([each[:3] for each in kept], counts, self)


def _connect(address: str) -> Any:
    """The calls to the scheduler at an address."""
    distributed = require("distributed", extra="dask")
    from bgn.engines.cluster.tasks import ClusterTasks

    try:
        calls = ClusterTasks(distributed.Client(address, timeout="10s", set_as_default=False))
    except (OSError, ValueError) as error:
        raise Refused(f"--scheduler: no Dask scheduler answers at {address!r} ({error}).") from None
    calls.check_workers()
    return calls


# -- on a worker -------------------------------------------------------------------------------------------------


def _values(part: Any, names: list[str]) -> tuple[Floats, Any]:
    """A partition as numbers, and which rows are complete."""
    values = part[names].to_numpy(dtype=np.float64, na_value=np.nan)
    return values, np.isfinite(values).all(axis=1)


def _hashes(part: Any, first: int, keys: RowKeys) -> Hashes:
    """What decides on test rows, for all rows of a partition."""
    columns = {name: pa.array(part[name], from_pandas=True) for name in keys.columns} or {"": np.empty(len(part))}
    table = pa.table(columns)
    keys.check(first, table)
    return keys.hashes(first, table)


def _look(part: Any, first: int, names: list[str]) -> tuple[tuple[int, int], Any]:
    values, whole = _values(part, names)
    return (len(values), int(np.count_nonzero(~whole))), np.count_nonzero(~np.isfinite(values), axis=0)


def _counts(part: Any, first: int, keys: RowKeys) -> Any:
    return histogram(_hashes(part, first, keys), None)


def _inside(part: Any, first: int, keys: RowKeys, number: int) -> Inside:
    return inside_bin(_hashes(part, first, keys), None, number)


def _chosen(part: Any, first: int, names: list[str], keys: RowKeys, edge: int | None) -> Any:
    """The training rows of a partition."""
    values, whole = _values(part, names)
    learn = whole & ~held_by(_hashes(part, first, keys), edge)
    return type(part)(values[learn], columns=part[names].columns)


def _kept(
    part: Any, first: int, names: list[str], keys: RowKeys, edge: int | None, share: float
) -> tuple[Floats, Floats, Any, int, int, int]:
    """About a share of the rows, which are test rows, how many there are of either role; the target's fingerprint."""
    values, whole = _values(part, names)
    held = held_by(_hashes(part, first, keys), edge)
    kept = whole & sampled(first, len(values), share)
    target = np.where(np.isfinite(values[:, -1]), values[:, -1], np.nan)
    counts = (int(np.count_nonzero(whole & ~held)), int(np.count_nonzero(whole & held)))
    return values[kept, :-1], values[kept, -1], held[kept], *counts, fingerprint(first, target)
