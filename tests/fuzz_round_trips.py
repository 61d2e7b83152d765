"""Honest fits of every kind, each saved and loaded: the same model, history and report come back.

python -m tests.fuzz_round_trips --cases 500 --seed 1
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bgn
from bgn import BGNRegressor, GrowthSettings
from bgn.report.facts import Facts
from bgn.report.page import PageSettings, render
from tests.round_trips import bits, scratch, through_a_file


def columns_of(kind: str, rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return a column, or the several of a word, of the kind asked for."""
    if kind == "one-hot":
        texts = rng.integers(0, 3, rows)
        return [(texts == text).astype(float) for text in range(3)]
    made = {
        "yes or no": lambda: rng.integers(0, 2, rows).astype(float),
        "few values": lambda: rng.integers(-1, 3, rows).astype(float),
        "rounded": lambda: rng.normal(size=rows).round(1),
        "fine": lambda: rng.normal(size=rows) * 10.0 ** rng.integers(-8, 9),
        "constant": lambda: np.full(rows, -0.0),
    }
    return [made[kind]()]


KINDS = ("yes or no", "few values", "one-hot", "rounded", "fine", "constant")


def table(seed: int, kinds: tuple[str, ...], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of columns of these kinds, and targets with ties."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([column for kind in kinds for column in columns_of(kind, rows, rng)])
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=rows)
    return X, y.round(rng.integers(0, 4)) if rng.random() < 0.5 else y


def same_report(model: Any, again: Any, X: Any, y: Any) -> None:
    """Compare the pages about two models, letter by letter, but for settings that no file can hold."""
    model.set_params(**again.get_params())
    pages = [render(Facts.of(fitted, X, y, None, None), PageSettings()) for fitted in (model, again)]
    assert pages[0] == pages[1]


def settings(rng: np.random.Generator) -> dict[str, Any]:
    """Return settings, most of them those of a hurried user."""
    choices: dict[str, list[Any]] = {
        "max_layers": [1, 1, 2, 3], "max_terms": [1, 4, 8], "max_features": [1, 2, None],
        "direction": ["search", "search", "lasso", "debiased"], "output": ["full", "full", "stagewise"],
        "shrinkage": ["auto", 0.0, 1.0, 30.0, 1e6], "learning_rate": [1.0, 0.3],
        "growth": [None, GrowthSettings(0), GrowthSettings(2, patience=None), GrowthSettings(0, patience=3)],
        "validation_fraction": [0.0, 0.2], "cv": [None, "auto"],
        "select": ["best", "compact"], "max_seconds": [None, None, 1e-9], "n_jobs": [1], "random_state": [0, 7, None],
    }  # fmt: skip
    return {name: among[rng.integers(len(among))] for name, among in choices.items()}


def case(number: int, seed: int, folder: Path) -> str:
    """Fit one model of one kind, send it through a file, and return the kind."""
    rng = np.random.default_rng([seed, number])
    kinds = tuple(rng.choice(KINDS, size=rng.integers(1, 4)))
    X, y = table(int(rng.integers(2**31)), kinds, int(rng.integers(2, 60)))
    chosen = settings(rng)
    kind = ("plain", "weighted", "frame", "paper", "stopped", "validated", "on disk", "simplified", "default")[
        number % 9
    ]
    given: Any = X
    more: dict[str, Any] = {}
    model = BGNRegressor(**chosen)
    if kind == "weighted":
        more["sample_weight"] = rng.integers(1, 4, len(y)) if number % 2 else rng.random(len(y)) + 0.01
    elif kind == "frame":
        given, y = pd.DataFrame(X, columns=[f"näme {k} \"'<\t" for k in range(X.shape[1])]), pd.Series(y, name="ŷ")
    elif kind == "paper":
        model = BGNRegressor.as_in_paper(max_terms=6, random_state=np.random.RandomState(0))
    elif kind == "stopped":
        calls = itertools.count()
        model.set_params(callbacks=[lambda record: next(calls) == 2])
    elif kind == "validated":
        more["eval_set"] = (X[:2], y[:2])
    elif kind == "on disk":
        given = folder / "rows.npy"
        np.save(given, X)
    elif kind == "default":
        model = BGNRegressor(random_state=int(rng.integers(100)))
    model.fit(given, y, **more)
    again = through_a_file(model, folder)
    np.testing.assert_array_equal(again.predict(given), model.predict(given))
    if number % 5 == 0:
        same_report(model, again, X if kind == "on disk" else given, y)
    if kind == "simplified":
        simple = bgn.simplify(model.network_, X, y, max_loss=0.1)
        bgn.save(simple.network, folder / "simple.json")
        assert bits(bgn.load(folder / "simple.json")) == bits(simple.network)
    return kind


def run(cases: int, seed: int = 0) -> Counter[str]:
    """Try `cases` fits; return how many there were of each kind."""
    with scratch() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts: Counter[str] = Counter()
        for number in range(cases):
            try:
                counts[case(number, seed, Path(folder))] += 1
            except Exception as error:
                raise AssertionError(f"seed {seed}, case {number}: {type(error).__name__}: {error}") from error
        return counts


def main() -> None:
    """Run as many cases as asked and tell what they came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = run(options.cases, options.seed)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"{counts.total()} fits saved and loaded, {counts.total()} equal: {kinds}")


if __name__ == "__main__":
    main()
