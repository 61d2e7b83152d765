"""Tables with every kind of column beside every other, and labels of every kind."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator


def _with_missing(values: Sequence[Any], rng: Rng) -> list[Any]:
    return [None if rng.random() < 0.15 else value for value in values]


def _dates(rng: Rng, n: int) -> pd.Series:
    days = pd.to_timedelta(rng.integers(0, 900, n), "D") + pd.to_timedelta(rng.integers(0, 24, n), "h")
    return pd.Series(pd.Timestamp("2019-03-05") + days)


def _texts(rng: Rng, n: int) -> Any:
    return rng.choice(["Lille", "Nice", "Paris", "a very long name of a town that has none", "x"], n)


KINDS: dict[str, Callable[[Rng, int], Any]] = {
    "number": lambda rng, n: rng.normal(size=n).round(2),
    "number with missing": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
    "large number": lambda rng, n: rng.normal(size=n) * 1e9,
    "whole": lambda rng, n: rng.integers(-3, 9, n),
    "whole with missing": lambda rng, n: pd.array(_with_missing(rng.integers(0, 5, n).tolist(), rng), "Int64"),
    "flag": lambda rng, n: rng.integers(0, 2, n),
    "flag with missing": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 2, n)),
    "boolean": lambda rng, n: rng.random(n) < 0.4,
    "boolean with missing": lambda rng, n: pd.Series(_with_missing((rng.random(n) < 0.4).tolist(), rng), dtype=object),
    "constant": lambda rng, n: np.full(n, 7.0),
    "all missing": lambda rng, n: np.full(n, np.nan),
    "nothing": lambda rng, n: pd.Series([None] * n, dtype=object),
    "words": lambda rng, n: pd.Series(_texts(rng, n), dtype=object),
    "words with missing": lambda rng, n: pd.Series(_with_missing(_texts(rng, n).tolist(), rng), dtype=object),
    "category": lambda rng, n: pd.Categorical(_texts(rng, n)),
    "category of numbers": lambda rng, n: pd.Categorical(rng.integers(1, 5, n)),
    "one category": lambda rng, n: pd.Categorical(["only"] * n),
    "one category with missing": lambda rng, n: pd.Categorical(_with_missing(["only"] * n, rng)),
    "empty category": lambda rng, n: pd.Categorical([None] * n),
    "unused categories": lambda rng, n: pd.Categorical([None] * n, categories=["a", "b"]),
    "crowded text": lambda rng, n: pd.Series([f"customer {k}" for k in range(n)], dtype=object),
    "ordered": lambda rng, n: pd.Categorical(rng.choice(["low", "fair", "high"], n), ["low", "fair", "high"], True),
    "ordered with missing": lambda rng, n: pd.Categorical(
        _with_missing(rng.choice(["low", "fair", "high"], n).tolist(), rng), ["low", "fair", "high"], True
    ),
    "ordered and empty": lambda rng, n: pd.Categorical([None] * n, ordered=True),
    "date": _dates,
    "date with missing": lambda rng, n: _dates(rng, n).where(rng.random(n) > 0.2),
    "date in a zone": lambda rng, n: _dates(rng, n).dt.tz_localize("UTC").dt.tz_convert("Europe/Paris"),
    "constant date": lambda rng, n: pd.Series([pd.Timestamp("2020-02-29")] * n),
    "no date": lambda rng, n: pd.Series([pd.NaT] * n, dtype="datetime64[ns]"),
    "duration": lambda rng, n: pd.Series(pd.to_timedelta(rng.integers(0, 10**6, n), "s")),
    "no duration": lambda rng, n: pd.Series([pd.NaT] * n, dtype="timedelta64[ns]"),
    "time of day": lambda rng, n: pd.Series(
        [datetime.time(int(h), int(m)) for h, m in zip(rng.integers(0, 24, n), rng.integers(0, 60, n), strict=True)]
    ),
    "sparse": lambda rng, n: pd.arrays.SparseArray(np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n))),
}  # fmt: skip

LABELS: dict[str, Callable[[np.ndarray, Rng], Any]] = {
    "numbers": lambda score, rng: score + rng.normal(0, 0.1, len(score)),
    "whole numbers": lambda score, rng: np.rint(4 * score),
    "yes and no": lambda score, rng: np.where(score > np.median(score), "yes", "no"),
    "truths": lambda score, rng: score > np.median(score),
    "3 and 7": lambda score, rng: np.where(score > np.median(score), 7, 3),
    "three words": lambda score, rng: np.array(["a", "b", "c"], object)[
        np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
    ],
    "three numbers": lambda score, rng: np.digitize(score, np.quantile(score, [1 / 3, 2 / 3])) + 2,
}


def table(kinds: Sequence[str], rng: Rng, rows: int = 60) -> pd.DataFrame:
    """Return a table with a column of each kind, named after it."""
    return pd.DataFrame({f"{kind} {k}": KINDS[kind](rng, rows) for k, kind in enumerate(kinds)})


def score(X: pd.DataFrame, rng: Rng) -> np.ndarray:
    """Return a number per row that hangs on every column: by its values where they can be ordered, and by missing."""
    total = rng.normal(0, 0.2, len(X))
    for name in X:
        codes = pd.factorize(X[name], sort=False)[0].astype(float)
        size = max(np.ptp(codes), 1.0)
        total += rng.normal() * codes / size + rng.normal() * (codes < 0)
    return total


def target(kind: str, X: pd.DataFrame, rng: Rng) -> Any:
    """Return labels of a kind, which hang on the columns of a table."""
    made = score(X, rng)
    while len(np.unique(np.asarray(LABELS[kind](made, rng)))) < 2 or (kind[:5] == "three" and len(np.unique(made)) < 9):
        made = made + rng.normal(size=len(made))
    return LABELS[kind](made, rng)
