"""One network from everywhere: a table with classes, gaps and categories in memory, on disk, on Dask and on a GPU.

Grows the same classifier (two classes, and three) from each place and prints a digest of the network, with the seconds
it took; the digests of a target must be equal.

    python benchmarks/everywhere.py [memory] [disk] [dask] [gpu] [--rows 1000000] [--width 5]

Without names, all places that are there.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import bgn
from bgn.persist.network import network_out

PLACES = ("memory", "disk", "dask", "gpu")


def table(rows: int) -> tuple[Any, dict[str, Any]]:
    """Numbers with gaps, a column of levels as whole numbers, and targets of two and of three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 6)).round(4)
    X[:, 5] = rng.integers(0, 12, rows)
    score = X[:, 0] + np.abs(X[:, 1]) - (X[:, 2] > 0.5) + np.isin(X[:, 5], (1, 4, 7)) + rng.logistic(size=rows)
    X[rng.random(rows) < 0.1, 0] = np.nan
    X[rng.random(rows) < 0.2, 3] = np.nan
    return X, {"two classes": (score > 1).astype(float), "three classes": np.digitize(score, [0.0, 2.0]).astype(float)}


def grown(place: str, model: bgn.BGNClassifier, X: Any, y: Any) -> Any:
    """Fit where the rows live."""
    if place == "memory":
        return model.fit(X, y)
    if place == "disk":
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder, "X.npy"), X)
            return model.fit(Path(folder, "X.npy"), y)
    if place == "gpu":
        import torch

        return model.fit(torch.tensor(X, device="cuda"), torch.tensor(y, device="cuda"))
    import dask.array as da
    from distributed import Client, LocalCluster

    from bgn.dask import DaskBGNClassifier

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        chunks = -(-len(y) // 5)
        on_dask = DaskBGNClassifier(**model.get_params(), client=client)
        return on_dask.fit(da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=chunks)).to_local()


def there(place: str) -> bool:
    """Whether a place can be used."""
    if place == "gpu":
        if not find_spec("torch"):
            return False
        import torch

        return torch.cuda.is_available()
    return place != "dask" or find_spec("distributed") is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", choices=[*PLACES, []], default=[])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=5)
    options = parser.parse_args()
    X, targets = table(options.rows)
    for name, y in targets.items():
        digests = set()
        for place in options.places or filter(there, PLACES):
            model = bgn.BGNClassifier(
                max_terms=options.width, growth=bgn.GrowthSettings(3), random_state=0, categorical_features=[5]
            )
            start = time.perf_counter()
            model = grown(place, model, X, y)
            seconds = time.perf_counter() - start
            plain = repr((network_out(model.network_), [repr(record.bound) for record in model.history_.records]))
            digests.add(digest := hashlib.sha256(plain.encode()).hexdigest()[:16])
            print(f"{name:<14}{place:<8}{digest}  {seconds:7.1f} s", flush=True)
        print(f"{name:<14}{'equal' if len(digests) == 1 else 'DIFFERENT'}", flush=True)


if __name__ == "__main__":
    main()
