"""Rows to learn from on a Dask cluster: a Parquet file of numbers that the workers read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bgn.cli.stream import KEPT
from bgn.cli.train import TrainingRows, Wanted
from bgn.engines.row_hashes import Inside, find_edge, histogram, inside_bin, row_hashes
from bgn.inputs.refusal import Refused
from bgn.inputs.training import incomplete
from bgn.model.step import Floats
from bgn.preparation import Number, Preparation
from bgn.require import require


class Clustered:
    """The training rows of a Parquet file on a cluster, the same that would be chosen of a file in memory.

    One pass counts, one or two decide on test rows, one hands the rows over, one keeps some of them to judge by.
    """

    def __init__(self, wanted: Wanted, address: str) -> None:
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
        self._names, self._seed, self._test = [*features, target], wanted.test_seed, wanted.test
        self._calls = _connect(address)
        self._frame = require("dask.dataframe", extra="dask").read_parquet(
            str(Path(wanted.source.name).resolve()), columns=self._names, index=False
        )
        self.notes = self._survey(wanted.choices.missing)

    def _each(self, what: str, function: Any, *arguments: Any) -> list[Any]:
        """What a function makes of every partition."""
        do = require("dask", extra="dask").delayed(function, pure=False)
        return self._calls.results(what, [do(part, *arguments) for part in self._frame.to_delayed()])

    def _survey(self, missing: str) -> tuple[str, ...]:
        """Count incomplete rows and find the edge between test and training rows."""
        surveys = self._each("survey", _look, self._seed)
        holes = dict(zip(self._names, sum(each[1] for each in surveys).tolist(), strict=True))
        rows, lacking = (sum(each[0][k] for each in surveys) for k in range(2))
        notes = (f"{incomplete(rows, lacking, holes, missing)}: left out.",) if lacking else ()
        counts = sum(each[2] for each in surveys)
        self._edge = find_edge(counts, lambda number: self._each("inside", _inside, self._seed, number), self._test)
        self._rows = rows - lacking
        return notes

    def fit(self, model: Any) -> TrainingRows:
        """Fit a model; return the rows that were kept."""
        from bgn.dask import DaskBGNRegressor
        from bgn.estimator_state import take_over

        meta = self._frame._meta.astype(np.float64)
        train = self._frame.map_partitions(_chosen, self._seed, self._edge, meta=meta)
        on_cluster = DaskBGNRegressor(**model.get_params(), client=self._calls.client)
        try:
            take_over(model, on_cluster.fit(train, target=self._names[-1]))
            kept = self._each("kept", _kept, self._seed, self._edge, min(1.0, KEPT / self._rows))
        except RuntimeError as error:
            raise Refused(str(error)) from error
        counts = [sum(each[k] for each in kept) for k in (3, 4)]
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


def _values(part: Any) -> tuple[Floats, Any]:
    """A partition as numbers, and which rows are complete."""
    values = part.to_numpy(dtype=np.float64, na_value=np.nan)
    return values, np.isfinite(values).all(axis=1)


def _rows(part: Any, seed: int) -> tuple[Floats, Any]:
    """The complete rows of a partition, and their hashes."""
    values, whole = _values(part)
    return values[whole], row_hashes(values[whole, :-1].T, values[whole, -1].copy(), seed)


def _look(part: Any, seed: int) -> tuple[tuple[int, int], Any, Any]:
    values, whole = _values(part)
    holes = np.count_nonzero(~np.isfinite(values), axis=0)
    return (len(values), int(np.count_nonzero(~whole))), holes, histogram(_rows(part, seed)[1], None)


def _inside(part: Any, seed: int, number: int) -> Inside:
    return inside_bin(_rows(part, seed)[1], None, number)


def _chosen(part: Any, seed: int, edge: int | None) -> Any:
    """The training rows of a partition."""
    values, hashes = _rows(part, seed)
    learn = slice(None) if edge is None else hashes > np.uint64(edge)
    return type(part)(values[learn], columns=part.columns)


def _kept(part: Any, seed: int, edge: int | None, share: float) -> tuple[Floats, Floats, Any, int, int]:
    """About a share of the rows of either role, and how many there are of each."""
    values, hashes = _rows(part, seed)
    held = np.zeros(len(hashes), dtype=bool) if edge is None else hashes <= np.uint64(edge)
    kept = row_hashes([], hashes.view(np.int64).astype(np.float64), seed) <= np.uint64(share * (2**64 - 2048))
    return values[kept, :-1], values[kept, -1], held[kept], int(np.count_nonzero(~held)), int(np.count_nonzero(held))
