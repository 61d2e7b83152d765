"""The places where rows can live, for tests: each fits a model on given rows, and all must grow the same network.

An entry of `ENGINES` is a function ``fit(model, X, y, sample_weight=None, eval_set=None)`` that puts the rows where
its engine wants them and returns the fitted model.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import bgn.engines.disk.engine as disk
import bgn.engines.sources as sources
from bgn import BGNRegressor
from bgn.engines.memory import PartsInMemory
from bgn.engines.protocol import Request
from bgn.engines.raw_rows import Plan, RawRows, RowsInMemory
from bgn.engines.reduce import CellEngine
from bgn.model.schema import Schema
from tests.optional import torch


class InBlocks(RowsInMemory):
    """Rows in memory, in uneven blocks of which one is empty."""

    number = 2

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, threads: int = 1) -> None:
        super().__init__(X, y, sample_weight, threads)
        edges = np.sort(np.random.default_rng(self.number).integers(0, len(y), self.number - 1))
        edges = [0, *edges.tolist(), len(y), len(y)][: self.number + 2]
        weight = (lambda a, b: None) if sample_weight is None else (lambda a, b: sample_weight[a:b])
        self._blocks = [RawRows(X[a:b].T, y[a:b], weight(a, b), threads) for a, b in pairwise(edges)]

    def replies(self, request: Request[Any, Any]) -> list[Any]:
        return [request.put_to(block) for block in self._blocks]

    def engine(self, plan: Plan, held_out: bool) -> CellEngine:
        parts = [block.part(plan, held_out) for block in self._blocks]
        return CellEngine(PartsInMemory(parts), plan.loss)


def local_cluster(**options: Any) -> Any:
    """Start a cluster; Dask gives the thread of its loop ten seconds, which a busy machine may not keep."""
    import distributed

    for _ in range(5):
        try:
            return distributed.LocalCluster(**options)
        except AssertionError:
            continue
    raise TimeoutError("no cluster could be started in a minute")


def in_memory(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
    return model.fit(X, y, sample_weight, eval_set)


def _with_source(source: Any, model: BGNRegressor, *arguments: Any, **more: Any) -> BGNRegressor:
    """Fit on rows in memory that `source` makes an engine's own."""
    kept = sources.RowsInMemory
    sources.RowsInMemory = source
    try:
        return model.fit(*arguments, **more)
    finally:
        sources.RowsInMemory = kept


def in_blocks(number: int) -> Callable[..., BGNRegressor]:
    """Fit on so many blocks and an empty one."""

    class Source(InBlocks):
        pass

    Source.number = number
    return partial(_with_source, Source)


def in_tensors(model: BGNRegressor, *arguments: Any, **more: Any) -> BGNRegressor:
    """Fit on the tensors' engine, without a GPU."""
    from bgn.engines.gpu.tensors import Tensors

    def source(X: Any, y: Any, sample_weight: Any = None, threads: int = 1) -> Tensors:
        weight = None if sample_weight is None else torch.from_numpy(sample_weight)
        return Tensors(torch.from_numpy(np.array(X)), torch.from_numpy(np.array(y)), weight)

    return _with_source(source, model, *arguments, **more)


def on_gpu(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
    """Fit on CUDA tensors; everything beside X stays an array."""
    X = torch.tensor(np.asarray(X), device="cuda")
    if eval_set is not None:
        eval_set = torch.tensor(np.asarray(eval_set[0]), device="cuda"), eval_set[1]
    return model.fit(X, y, sample_weight, eval_set)


def on_disk(write: Callable[[Path, Any, Any, Any], dict[str, Any]]) -> Callable[..., BGNRegressor]:
    """Fit on files in small blocks; the names that columns get there are taken off again."""

    def fit(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
        kept = disk.BLOCK_BYTES
        disk.BLOCK_BYTES = 8 * X.shape[1] * max(70, len(y) // 3)
        try:
            with TemporaryDirectory() as folder:
                if eval_set is not None:
                    held = write(Path(folder, "held"), *eval_set, None)
                    eval_set = held["X"] if "target" in held else (held["X"], held["y"])
                model.fit(**write(Path(folder, "rows"), X, y, sample_weight), eval_set=eval_set)
        finally:
            disk.BLOCK_BYTES = kept
        vars(model).pop("feature_names_in_", None)
        plain = Schema.of_numbers(model.n_features_in_).columns
        seen = zip(model.history_.schema.columns, plain, strict=True)
        columns = tuple(replace(column, name=own.name) for column, own in seen)
        schema = Schema(columns, named=False, classes=model.history_.schema.classes)
        model.history_ = model.history_.with_schema(schema)
        model.network_ = model.history_.network()
        return model

    return fit


def arrays(folder: Path, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Memory maps of `.npy` files."""
    folder.mkdir()
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    for name, value in given.items():
        if value is not None:
            np.save(folder / f"{name}.npy", value)
            given[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return given


def parquet(folder: Path, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """A folder of Parquet files, one of them without rows, and small groups of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    folder.mkdir()
    columns = {f"x{j}": column for j, column in enumerate(X.T)} | {"y": y}
    table = pa.table(columns if sample_weight is None else columns | {"w": sample_weight})
    for k, (start, stop) in enumerate(((0, 70), (70, 70), (70, len(y)))):
        pa_parquet.write_table(table[start:stop], folder / f"{k}.parquet", row_group_size=40)
    return {"X": folder, "target": "y", "sample_weight": None if sample_weight is None else "w"}


@cache
def cluster() -> Any:
    """Two workers in this process, closed with it."""
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    client = distributed.Client(**options, set_as_default=False)
    atexit.register(client.close)
    return client


def on_cluster(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
    """Fit on Dask arrays in uneven partitions, one of them empty."""
    import dask.array as da

    from bgn.dask import DaskBGNClassifier, DaskBGNRegressor

    def collection(rows: Any) -> Any:
        edges = [0, len(rows) // 10, len(rows) // 10, len(rows) // 2, len(rows)]
        return da.from_array(rows, chunks=(tuple(np.diff(edges).tolist()), *rows.shape[1:]))

    weight = None if sample_weight is None else collection(sample_weight)
    held = None if eval_set is None else tuple(map(collection, eval_set))
    kind = DaskBGNRegressor if isinstance(model, BGNRegressor) else DaskBGNClassifier
    on_dask = kind(**model.get_params(), client=cluster())
    return on_dask.fit(collection(X), collection(y), weight, held).to_local()


ENGINES: dict[str, Callable[..., BGNRegressor]] = {
    "memory": in_memory,
    "disk .npy": on_disk(arrays),
    "disk Parquet": on_disk(parquet),
    **{f"{number} blocks": in_blocks(number) for number in (1, 2, 7, 23)},
    "torch cpu": in_tensors,
    "dask": on_cluster,
    **({"torch cuda": on_gpu} if find_spec("torch") and torch.cuda.is_available() else {}),
}

# What `make test` runs of the cross product of engines, settings and cases; `make test-all` runs it whole.
STANDING_FOR_ALL = {
    ("weights", "lasso", "stagewise", 1),
    ("float32", "lasso", "full", 1),
    ("plain", "debiased", "stagewise", 3),
    ("weights", "debiased", "full", 1),
    ("float32", "search", "stagewise", 3),
    ("plain", "search", "full", 3),
}
# However few the rows, a pass over a cluster takes 10 ms; there these stand for the other settings and tests.
ON_CLUSTER = {
    ("weights", "debiased", "full", 1),
    "test_weights_out_of_reach_are_named_wherever_the_rows_are",
}


def worth_running(test: str, parameters: dict[str, Any]) -> bool:
    """False for a test of an engine or a setting that others stand for: one number of blocks, a few settings."""
    engine = parameters.get("engine")
    if engine in ("1 blocks", "2 blocks", "23 blocks"):
        return False
    if "setting" in parameters:
        setting = tuple(parameters["setting"].values())
        if "case" in parameters:
            return (parameters["case"], *setting) in (ON_CLUSTER if engine == "dask" else STANDING_FOR_ALL)
        return engine == "memory" and setting in {standing[1:] for standing in STANDING_FOR_ALL}
    return engine != "dask" or test in ON_CLUSTER
