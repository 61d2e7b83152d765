"""A Dask cluster on one machine: two workers against one, and what a pass costs when the rows are few.

The section ``dask`` of ``benchmarks/scale.py``.
"""

from __future__ import annotations

import os
import time
from typing import Any

from bgn import GrowthSettings
from bgn.dask import DaskBGNRegressor
from bgn.engines.cluster import ClusterTasks

ROWS, COLUMNS, CHUNK = 20_000_000, 10, 1_000_000
MODEL = {"max_terms": 4, "growth": GrowthSettings(2, patience=None), "shrinkage": 1.0, "random_state": 0}


class Watch:
    """Counts passes over the rows and the seconds they take."""

    def __init__(self) -> None:
        self.passes, self.seconds, self._replies = 0, 0.0, ClusterTasks.replies

    def __enter__(self) -> Watch:
        def replies(tasks: ClusterTasks, what: str, *arguments: Any) -> list[Any]:
            started = time.perf_counter()
            try:
                return self._replies(tasks, what, *arguments)
            finally:
                if what != "reading":
                    self.passes, self.seconds = self.passes + 1, self.seconds + time.perf_counter() - started

        ClusterTasks.replies = replies  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        ClusterTasks.replies = self._replies  # type: ignore[method-assign]


def rows_made_there(rows: int, chunk: int) -> tuple[Any, Any]:
    """Made-up rows that the workers make themselves, and their targets."""
    import dask.array as da

    X = da.random.default_rng(0).random((rows, COLUMNS), chunks=(chunk, COLUMNS))
    return X, 3 * X[:, 0] + da.sin(6 * X[:, 1]) + 4 * X[:, 2] * X[:, 3]


def fitted(client: Any, rows: int, chunk: int) -> tuple[float, float, Watch, Any]:
    """Seconds of a fit, those that the busiest worker computed, the passes, and the network."""
    before, started = client.run(time.process_time), time.perf_counter()
    with Watch() as watch:
        model = DaskBGNRegressor(**MODEL, client=client).fit(*rows_made_there(rows, chunk))
    seconds, after = time.perf_counter() - started, client.run(time.process_time)
    return seconds, max(after[worker] - before[worker] for worker in after), watch, model.network_


def measure() -> None:
    """Print the seconds of fits with one worker and with two, and what a pass costs when rows are few."""
    from distributed import Client, LocalCluster

    print(f"{os.cpu_count()} cores; load when this began: {os.getloadavg()[0]:.1f}", flush=True)
    results = {}
    for workers in (1, 2):
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            fitted(client, 2000, 2000 // workers)  # compiled code is loaded
            few = fitted(client, 2000, 2000 // workers)[2]
            print(f"{workers} workers, 2,000 rows: {1e3 * few.seconds / few.passes:.0f} ms a pass", flush=True)
            seconds, busiest, watch, network = results[workers] = fitted(client, ROWS, CHUNK)
            print(
                f"{workers} workers, {ROWS:,} rows x {COLUMNS}: {seconds:.1f} s, of which {watch.seconds:.1f} s in "
                f"{watch.passes} passes ({1e3 * watch.seconds / watch.passes:.0f} ms each); the busiest worker "
                f"computed for {busiest:.1f} s; load now {os.getloadavg()[0]:.1f}; {network}", flush=True
            )  # fmt: skip
    one, two = results[1], results[2]
    print(
        f"two workers are {one[0] / two[0]:.2f} times as fast as one, wanted at least 1.5; each computes 1 / "
        f"{one[1] / two[1]:.2f} of what one does; the networks are {'equal' if one[3] == two[3] else 'DIFFERENT'}"
    )
