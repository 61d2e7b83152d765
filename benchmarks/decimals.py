"""What short numbers and simple questions cost: test errors and times with them and without, on the large tables.

``python benchmarks/decimals.py`` prints, for every table and width, by how much the test error of networks with three
digits is above that of networks with all digits, the mean over seeds, how much longer a fit takes, and the share of
questions about several columns. ``--simplicity 0.2`` compares that setting with none instead.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from bgn import BGNRegressor, datasets
from experiments.data import build

TABLES = ("housing", "power_plant", "bike", "parking")
SIZES = (5, 10, 20, 50)


def errors(X: np.ndarray, y: np.ndarray, seed: int, setting: dict[str, Any]) -> tuple[list[float], float, float]:
    """Mean squared errors on a quarter of the rows at every width, the seconds of the fit, and the share of pairs."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [len(y) // 4])
    started = time.process_time()
    model = build(BGNRegressor, {"patience": None, "random_state": seed, **setting})
    model.fit(X[train], y[train])
    seconds = time.process_time() - started
    networks = [model.history_.network(min(size, len(model.history_.paths[0]) - 1)) for size in SIZES]
    several = [len(condition.projection.columns) > 1 for network in networks for condition in network.layers[0].neurons]
    mses = [float(np.mean((network.predict(X[test]) - y[test]) ** 2)) for network in networks]
    return mses, seconds, float(np.mean(several))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=int, default=3)
    parser.add_argument("--simplicity", type=float)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    settings: list[dict[str, Any]] = [{"digits": None}, {"digits": args.digits}]
    if args.simplicity is not None:
        settings = [{}, {"simplicity": args.simplicity}]
    worst, every = -np.inf, []
    for name in TABLES:
        data = datasets.load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y, float)
        pairs = [[errors(X, y, seed, setting) for setting in settings] for seed in range(args.seeds)]
        rises = np.array([100 * (np.array(short[0]) / long[0] - 1) for long, short in pairs])
        longer = sum(short[1] for _, short in pairs) / sum(long[1] for long, _ in pairs)
        cells = "  ".join(f"{size}: {rise:+.2f} %" for size, rise in zip(SIZES, rises.mean(axis=0), strict=True))
        pairs_in = [np.mean([pair[k][2] for pair in pairs]) for k in (0, 1)]
        shares = f"pairs {pairs_in[0]:.2f} -> {pairs_in[1]:.2f}"
        print(f"{name:12} {cells}   time {longer:.2f}x   {shares}", flush=True)
        worst, every = max(worst, rises.mean(axis=0).max()), [*every, *rises.ravel()]
    print(f"mean {np.mean(every):+.3f} %, worst cell {worst:+.2f} %, worst run {max(every):+.2f} %")


if __name__ == "__main__":
    main()
