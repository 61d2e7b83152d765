"""Linear terms: test errors with and without them at equal numbers of conditions, and beside LassoCV on small tables.

Run: python -m benchmarks.linear [large | tiny | time ...]

Everything when nothing is named. A quarter of the rows are for testing (``train_test_split`` with the seed); of large
tables a fifth of the rest validates, three seeds; small ones are cross-validated, ten seeds.

Other models with lines stand beside BGN in ``python -m experiments peers``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bgn import BGNRegressor, datasets

LARGE = {"power_plant": (19.5, 17.6, 16.7, 15.8), "housing": (), "bike": (), "parking": ()}
TINY = {"diabetes": 3250.0, "istanbul": 2.15, "chickenpox": float("inf")}


def splits(name: str, seeds: Iterable[int]) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
    """Yield rows to learn from and to test on, for each seed."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    for seed in seeds:
        yield seed, tuple(train_test_split(X, y, test_size=0.25, random_state=seed))


def error(model: object, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error."""
    return float(np.mean((model.predict(X) - y) ** 2))  # type: ignore[attr-defined]


def large() -> None:
    """Print the errors on large tables at 5 to 40 conditions."""
    for name, limits in LARGE.items():
        for place, size in enumerate((5, 10, 20, 40)):
            means = {}
            for most in (0, "auto"):
                errors = []
                for seed, (X, X_test, y, y_test) in splits(name, range(3)):
                    rest = train_test_split(X, y, test_size=0.2, random_state=seed)
                    model = BGNRegressor(max_terms=size, max_linear=most, random_state=seed)
                    model.fit(rest[0], rest[2], eval_set=(rest[1], rest[3]))
                    errors.append(error(model, X_test, y_test))
                means[most] = np.mean(errors)
            limit = f", at most {limits[place]}" if limits else ""
            print(f"{name:12} {size:2} conditions: without {means[0]:.5g}, with {means['auto']:.5g}{limit}")


def tiny() -> None:
    """Print the errors on small tables, beside LassoCV on the same splits."""
    for name, limit in TINY.items():
        rival = []
        for _, (X, X_test, y, y_test) in splits(name, range(10)):
            rival.append(error(make_pipeline(StandardScaler(), LassoCV()).fit(X, y), X_test, y_test))
        lasso = float(np.mean(rival))
        for size in (5, 10, 50):
            errors = []
            for seed, (X, X_test, y, y_test) in splits(name, range(10)):
                errors.append(error(BGNRegressor(max_terms=size, random_state=seed).fit(X, y), X_test, y_test))
            most = min(limit, 1.04 * lasso) if size == 50 else limit
            print(f"{name:12} at most {size:2}: {np.mean(errors):.5g}, LassoCV {lasso:.5g}, at most {most:.5g}")


def seconds() -> None:
    """Print how long a default fit on 300 rows takes."""
    _, (X, _, y, _) = next(splits("diabetes", [0]))
    BGNRegressor(max_terms=3, random_state=0).fit(X[:100], y[:100])
    started = time.perf_counter()
    BGNRegressor(random_state=0).fit(X[:300], y[:300])
    print(f"a default fit on 300 rows: {time.perf_counter() - started:.1f} s, at most 5")


SECTIONS = {"large": large, "tiny": tiny, "time": seconds}

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()
