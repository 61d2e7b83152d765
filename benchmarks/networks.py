"""Some thirty networks, bit for bit, beside those that an earlier version grew.

Run: python benchmarks/networks.py [--record FILE]

Fits the paper's seven tables with defaults, as in the paper, deep, weighted, with three and four features per question,
from files, on a cluster and in single precision, and compares a digest of every network with the record in
``results/networks.json``; ``--record`` writes a new record instead. All digits are kept, as they were in the version
that was recorded. Tables are found through BGN_DATA or downloaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bgn import BGNRegressor, Network, datasets

RECORD = Path(__file__).parent / "results" / "networks.json"
SMALL = ("diabetes", "chickenpox", "istanbul")
LARGE = ("bike", "housing", "parking", "power_plant")


def digest(network: Network) -> str:
    """Return a digest of every number of a network, in the layout of the paper's matrices."""
    sha = hashlib.sha256()
    for layer in network.layers:
        sha.update(np.array(layer.weights.shape, dtype="<i8").tobytes())
        for numbers in (layer.weights, layer.bias):
            sha.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    for numbers in (network.output_weights, network.base):
        sha.update(np.asarray(numbers, dtype="<f8").tobytes())
    return sha.hexdigest()[:32]


def in_memory(model: BGNRegressor, X: Any, y: Any, weight: Any = None) -> BGNRegressor:
    return model.fit(X, y, weight)


def on_disk(model: BGNRegressor, X: Any, y: Any) -> BGNRegressor:
    """Fit from two files that are read block by block."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("X", X), ("y", y)):
            np.save(f"{folder}/{name}.npy", values)
        return model.fit(f"{folder}/X.npy", f"{folder}/y.npy")


def on_cluster(model: BGNRegressor, X: Any, y: Any) -> BGNRegressor:
    """Fit from three partitions on a cluster of one worker in this process."""
    import dask.array as da
    import distributed

    from bgn.dask import DaskBGNRegressor

    rows = -(-len(y) // 3)
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None):
        partitioned = da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)
        return DaskBGNRegressor(**model.get_params()).fit(*partitioned).to_local()


def plan() -> Iterator[tuple[str, str, Callable[..., BGNRegressor], BGNRegressor, str]]:
    """Yield name, table, where it is fitted, model, and what is done to the rows before."""
    for table in (*SMALL, *LARGE):
        yield f"{table}, defaults", table, in_memory, BGNRegressor(max_terms=20, random_state=0), ""
        yield f"{table}, as in the paper", table, in_memory, BGNRegressor.as_in_paper(
            max_layers=2, max_terms=12, random_state=1), ""  # fmt: skip
    for table in ("diabetes", "housing", "power_plant"):
        yield f"{table}, deep", table, in_memory, BGNRegressor(max_layers=3, max_terms=12, random_state=2), ""
        yield f"{table}, weighted", table, in_memory, BGNRegressor(max_terms=12, random_state=3), "weighted"
        yield f"{table}, disk", table, on_disk, BGNRegressor(max_terms=10, random_state=4), ""
        yield f"{table}, cluster", table, on_cluster, BGNRegressor(max_terms=6, max_layers=2, random_state=5), ""
        yield f"{table}, single precision", table, in_memory, BGNRegressor(max_terms=12, random_state=6), "single"
    for table, features in (("bike", 3), ("housing", 4), ("chickenpox", 3)):
        model = BGNRegressor(max_terms=12, max_features=features, random_state=7)
        yield f"{table}, {features} features", table, in_memory, model, ""
    slow = BGNRegressor(direction="debiased", output="stagewise", learning_rate=0.3, max_terms=40, random_state=8)
    yield "istanbul, small steps", "istanbul", in_memory, slow, ""


def main() -> int:
    """Fit all and compare, or record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=Path, help="write a record to this file instead of comparing")
    wanted = parser.parse_args()
    known = {} if wanted.record else json.loads(RECORD.read_text())
    digests, wrong = {}, 0
    for name, table, fit, model, done in plan():
        data = datasets.load(table)
        X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
        started = time.perf_counter()
        if done == "single":
            X = X.astype(np.float32)
        weight = () if done != "weighted" else ((np.arange(len(y)) % 5) / 4.0,)
        network = fit(model.set_params(digits=None), X, y, *weight).network_
        digests[name] = {"digest": digest(network), "widths": list(network.widths), "base": network.base}
        same = not known or known.get(name) == digests[name]
        wrong += not same
        verdict = "recorded" if not known else "the same" if same else "DIFFERENT"
        print(f"{name:32} {verdict:10} {time.perf_counter() - started:6.1f} s", flush=True)
    if wanted.record:
        wanted.record.write_text(json.dumps(digests, indent=1) + "\n")
    print(f"{len(digests)} networks, {wrong} different")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
