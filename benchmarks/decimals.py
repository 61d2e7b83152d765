"""What short numbers cost: test errors and times with `digits` and without, on the large tables.

``python benchmarks/decimals.py`` prints, for every table and width, by how much the test error of networks with three
digits is above that of networks with all digits, the mean over seeds, and how much longer a fit takes.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from bgn import BGNRegressor, datasets

TABLES = ("housing", "power_plant", "bike", "parking")
WIDTHS = (5, 10, 20, 50)


def errors(X: np.ndarray, y: np.ndarray, seed: int, digits: int | None) -> tuple[list[float], float]:
    """Mean squared errors on a quarter of the rows at every width, and the seconds of the fit."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [len(y) // 4])
    started = time.process_time()
    model = BGNRegressor(patience=None, digits=digits, random_state=seed).fit(X[train], y[train])
    seconds = time.process_time() - started
    networks = [model.history_.network(min(width, len(model.history_.paths[0]) - 1)) for width in WIDTHS]
    return [float(np.mean((network.predict(X[test]) - y[test]) ** 2)) for network in networks], seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    worst, every = -np.inf, []
    for name in TABLES:
        data = datasets.load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y, float)
        pairs = [[errors(X, y, seed, digits) for digits in (None, args.digits)] for seed in range(args.seeds)]
        rises = np.array([100 * (np.array(short[0]) / long[0] - 1) for long, short in pairs])
        longer = sum(short[1] for _, short in pairs) / sum(long[1] for long, _ in pairs)
        cells = "  ".join(f"{width}: {rise:+.2f} %" for width, rise in zip(WIDTHS, rises.mean(axis=0), strict=True))
        print(f"{name:12} {cells}   time {longer:.2f}x", flush=True)
        worst, every = max(worst, rises.mean(axis=0).max()), [*every, *rises.ravel()]
    print(f"mean {np.mean(every):+.3f} %, worst cell {worst:+.2f} %, worst run {max(every):+.2f} %")


if __name__ == "__main__":
    main()
