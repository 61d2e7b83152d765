"""The rows of a task: which table, which of its rows to train, validate and test on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from bgn import datasets
from bgn.datasets.specs import SPECS
from experiments import classdata
from experiments.store import Task

Floats = NDArray[np.float64]

TABLES = ("bike", "diabetes", "housing", "chickenpox", "istanbul", "parking", "power_plant")
"""The paper's tables, in the order of its Table 1."""

LARGE = ("bike", "housing", "parking", "power_plant")
"""Those with thousands of rows."""

MADE_UP = "made_up"
"""Rows that a study makes up, as many as stand behind a colon; the study's revision says which."""

ALONE = {"digits": None, "cv": None, "sweeps": 0, "max_linear": 0}
"""What networks that the studies compare are grown with: questions alone, one after the other, in all their digits."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train on, to validate on and to report on, and the columns' names.

    `frames` has the three as they are, words and gaps among them, where a table is not of numbers alone.
    """

    X: Floats
    y: Floats
    X_validation: Floats
    y_validation: Floats
    X_test: Floats
    y_test: Floats
    names: tuple[str, ...]
    frames: tuple[Any, Any, Any] | None = None

    @property
    def raw(self) -> tuple[Any, Any, Any]:
        """The columns to train on, to validate on and to report on as they are."""
        return self.frames or (self.X, self.X_validation, self.X_test)

    def mse(self, predict: object) -> dict[str, float]:
        """Return the errors of a fitted model on the validation and test rows, by name."""
        parts = {"validation_mse": (self.X_validation, self.y_validation), "test_mse": (self.X_test, self.y_test)}
        return {name: float(np.mean((predict.predict(X) - y) ** 2)) for name, (X, y) in parts.items()}  # type: ignore[attr-defined]


def paper_split(rows: int | None = None) -> str:
    """Return the name of the paper's split: a quarter for testing, a fifth of the rest for validation.

    The seed of the task is ``random_state`` both times. With `rows`, of so many rows taken at random.
    """
    return "paper" if rows is None else f"paper, {rows} rows"


def split(task: Task) -> Rows:
    """Return the rows that a task names."""
    mixed = task.dataset in classdata.NUMBERS
    X, y, names = _mixed(task.dataset) if mixed else table(task.dataset)
    kind, _, size = task.split.partition(", ")
    if kind != "paper":
        raise ValueError(f"split must be one that data.paper_split makes; got {task.split!r}.")
    if size:
        chosen = np.random.default_rng(0).permutation(len(y))[: int(size.removesuffix(" rows"))]
        X, y = X.iloc[chosen] if mixed else X[chosen], y[chosen]
    rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.25, random_state=task.seed)
    X_train, X_held, y_train, y_held = train_test_split(rest, y_rest, test_size=0.2, random_state=task.seed)
    if not mixed:
        return Rows(X_train, y_train, X_held, y_held, X_test, y_test, names)
    frames = (X_train, X_held, X_test)
    seen, held, test = classdata.as_numbers(*frames)
    return Rows(seen, y_train, held, y_held, test, y_test, names, frames)


def _mixed(dataset: str) -> tuple[Any, Floats, tuple[str, ...]]:
    """Return the columns, the target and the names of a table with words."""
    X, y = classdata.table(dataset)
    return X, np.asarray(y, dtype=np.float64), tuple(X.columns)


@cache
def table(dataset: str) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return the matrix, the target and the names of a table."""
    name, _, columns = dataset.partition(":")
    data = datasets.load(name, columns=columns or None)
    return np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64), data.feature_names


def check(dataset: str) -> None:
    """Raise unless a table can be read here."""
    if dataset.partition(":")[0] == MADE_UP:
        return
    if dataset in classdata.TABLES + classdata.NUMBERS:
        classdata.table(dataset)
    else:
        table(dataset)


@cache
def checksum(dataset: str) -> str:
    """Return the SHA-256 of the raw table, which loading checks; of the numbers when scikit-learn ships it."""
    if dataset.partition(":")[0] == MADE_UP:
        return hashlib.sha256(MADE_UP.encode()).hexdigest()
    if dataset in classdata.TABLES + classdata.NUMBERS:
        return classdata.checksum(dataset)
    name = dataset.partition(":")[0]
    if name not in SPECS:
        raise ValueError(f"dataset must be one of {', '.join(SPECS)}; got {name!r}.")
    source = SPECS[name].source
    if source is not None:
        return source.sha256
    X, y, _ = table(dataset)
    return hashlib.sha256(np.column_stack([X, y]).tobytes()).hexdigest()
