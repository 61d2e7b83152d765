"""Layers drafted on a part of very many rows, beside layers grown on all of them: test error and processor's time.

Run: python benchmarks/drafts.py [TABLE ...] [--rows N] [--seeds N]

The tables are made up: smooth curves and products, steps in rounded values, rare rows of great effect, targets and
columns with long tails, two classes and three. Everything when none is named.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np

from bgn import BGNClassifier, BGNRegressor
from bgn.grow import rows as grow_rows

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.speed import made_up

Rows = tuple[np.ndarray, np.ndarray]


def curves(rng: np.random.Generator, rows: int) -> Rows:
    """Friedman's first function: a product, a parabola, two lines."""
    X = rng.random((rows, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.standard_normal(rows)


def noisy(rng: np.random.Generator, rows: int) -> Rows:
    """Twenty columns, and more noise than signal."""
    X = rng.standard_normal((rows, 20))
    y = np.sin(X[:, 0] + X[:, 1]) + np.exp(-(X[:, 2] ** 2)) * X[:, 3] + np.abs(X[:, 7] - X[:, 8])
    return X, y + 2 * rng.standard_normal(rows)


def steps(rng: np.random.Generator, rows: int) -> Rows:
    """Steps in columns of few values."""
    X = np.round(rng.gamma(2, size=(rows, 12)), 1)
    y = 2 * (X[:, 0] > 1.3) * (X[:, 1] < 2) + (X[:, 2] > 3) + np.minimum(X[:, 5], 3)
    return X, y + rng.standard_t(4, rows)


def rare(rng: np.random.Generator, rows: int) -> Rows:
    """A few rows in ten thousand that count for much."""
    X = rng.standard_normal((rows, 8))
    X[:, 0], X[:, 1] = rng.random(rows) < 0.0005, rng.random(rows) < 0.003
    return X, np.sin(X[:, 2]) + 40 * X[:, 0] + 10 * X[:, 1] * (X[:, 3] > 1) + rng.standard_normal(rows)


def long_tails(rng: np.random.Generator, rows: int) -> Rows:
    """Columns, and noise, with long tails."""
    X = rng.lognormal(1, 1.5, size=(rows, 8))
    return X, 3 * np.log1p(X[:, 0]) + X[:, 1] / (1 + X[:, 2]) + 20 * (X[:, 3] > 50) + rng.standard_t(3, rows)


def classes(number: int) -> Callable[[np.random.Generator, int], Rows]:
    """So many classes of the rows that the study of speed makes up."""

    def made(rng: np.random.Generator, rows: int) -> Rows:
        X, y = made_up(rows, 10, int(rng.integers(1 << 30)))
        return X, np.digitize(y + rng.logistic(size=rows), [1.5] if number == 2 else [0.5, 2.0])

    return made


TABLES = {
    "mixed": lambda rng, rows: made_up(rows, 10, int(rng.integers(1 << 30))),
    "curves": curves, "noisy": noisy, "steps": steps, "rare": rare, "long tails": long_tails,
    "two classes": classes(2), "three classes": classes(3),
}  # fmt: skip


def fitted(name: str, rows: Rows, others: Rows, seed: int) -> tuple[float, float]:
    """Test error, or log loss, and the processor's seconds of a fit as it comes."""
    model = (BGNClassifier if "classes" in name else BGNRegressor)(n_jobs=1, random_state=seed)
    started = time.process_time()
    model.fit(*rows)
    seconds, (X, y) = time.process_time() - started, others
    if "classes" in name:
        return float(-np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()), seconds
    return float(np.mean((model.predict(X) - y) ** 2)), seconds


def main() -> None:
    """Compare, table by table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    for name in chosen.tables or TABLES:
        errors = []
        for seed in range(chosen.seeds):
            rng = np.random.default_rng(seed)
            rows, others = TABLES[name](rng, chosen.rows), TABLES[name](rng, 100_000)
            with patch.object(grow_rows, "MOST_DRAFTED", 0):
                all_rows = fitted(name, rows, others, seed)
            errors.append(np.divide(fitted(name, rows, others, seed), all_rows))
        error, seconds = np.array(errors).T
        deviation = f" +- {100 * error.std(ddof=1) / len(error) ** 0.5:.1f}" if len(error) > 1 else ""
        percent, share = 100 * (error.mean() - 1), seconds.mean()
        print(f"{name:14} test error {percent:+.1f} %{deviation}, {share:.2f} of the time", flush=True)


if __name__ == "__main__":
    main()
