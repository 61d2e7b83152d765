"""Table 4: how long the paper's algorithm takes, and how long its definitions take when they are taken literally.

The fits are those of ``accuracy``, as in the paper, on one thread. The literal program (``literal.py``) and ours grow
the same first neurons, without replacements, on the same rows in the same run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

from bgn import BGNRegressor, GrowthSettings
from experiments import accuracy, data
from experiments.accuracy import TABLE_4
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Table, by, mean

REVISION = 1
PUBLISHED = {"reduced": 3}

TABLES = ("chickenpox", "housing", "bike")


def tasks(options: Options) -> list[Task]:
    """Return the fits of ``accuracy`` that follow the paper, and the first neurons grown both ways."""
    smoke = options.scale == "smoke"
    fits = [
        task for task in accuracy.tasks(options) if task.method == "bgn_paper" and (smoke or task.dataset in TABLES)
    ]
    neurons = {"smoke": 2, "reduced": 20, "full": 100}[options.scale]
    names = list(dict.fromkeys(task.dataset for task in fits))
    return fits + [Task("timing", name, "literal", {"neurons": neurons}, 0, fits[0].split) for name in names]


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    return 0.0 if task.dataset == "chickenpox" else 4.0 * task.parameters["neurons"]


def code(task: Task) -> str:
    """Return which part of bgn is timed."""
    return "growth"


def run(task: Task) -> dict[str, Any]:
    """Grow the first neurons literally and our way."""
    rows, neurons = data.split(task), task.parameters["neurons"]
    growth = GrowthSettings(max_replacements=0, sweeps=0, patience=None)
    model = BGNRegressor.as_in_paper(
        max_layers=1, max_terms=neurons, growth=growth, validation_fraction=0, n_jobs=1, random_state=task.seed
    )
    model.fit(rows.X, rows.y)
    ours = min(_seconds(lambda: model.fit(rows.X, rows.y)) for _ in range(3))
    left: list[float] = []
    literal = _seconds(lambda: left.append(float(np.mean(literal_residual(rows.X, rows.y, neurons) ** 2))))
    return {
        "rows": len(rows.y),
        "our_seconds": ours,
        "literal_seconds": literal,
        "our_mse": float(np.mean((model.predict(rows.X) - rows.y) ** 2)),
        "literal_mse": left[0],
    }


def _seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return minutes beside the printed ones, and both programs on the same neurons."""
    groups = by(runs, "dataset", "method")
    names = list(dict.fromkeys(run.task.dataset for run in runs))
    return [
        Table(
            "timing", "Minutes to train BGN as in the paper", HEADER,
            [_fit(name, groups.get((name, "bgn_paper"), [])) for name in names], NOTES,
        ),
        Table(
            "timing-literal", "The first neurons, beside the paper's definitions taken literally", LITERAL,
            [_literal(name, groups.get((name, "literal"), [])) for name in names],
            ("No replacements, no validation; one thread each; ours is the best of three.",),
        ),
    ]  # fmt: skip


HEADER = ("table", "printed", "ours", "ours, processor", "seeds", "neurons grown", "printed / ours, processor")
NOTES = (
    "Mean ± standard deviation over seeds, at most three hidden layers of 1,000 neurons, one thread. Wall time, and "
    "the processor's time, which other work on the machine disturbs less. The paper "
    "does not say which machine it used.",
)
LITERAL = (
    "table",
    "rows",
    "neurons",
    "literal, s",
    "ours, s",
    "times faster",
    "literal training MSE",
    "our training MSE",
)


def _fit(name: str, runs: list[Run]) -> list[Cell]:
    """Return a line of the first table."""
    printed = TABLE_4.get(name)
    shown = f"{printed[0]:.2f} ± {printed[1]:.2f}" if printed else None
    if not runs or any(run.error is not None for run in runs):
        return [name, shown, FAILED if runs else MISSING, None, None, None, None]
    wall, processor = (_minutes(runs, figure) for figure in ("fit_seconds", "fit_processor_seconds"))
    ratio = printed[0] * 60 / float(mean(runs, "fit_processor_seconds")) if printed else None
    grown = float(np.mean([sum(run.figures["grown"]) for run in runs]))
    return [name, shown, wall, processor, len(runs), round(grown), ratio]


def _minutes(runs: list[Run], figure: str) -> str:
    """Return minutes as the paper prints them, of several seeds with their standard deviation."""
    values = [run.figures[figure] / 60 for run in runs]
    digits = 2 if max(values) >= 0.1 else 4
    deviation = f" ± {np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def _literal(name: str, runs: list[Run]) -> list[Cell]:
    """Return a line of the second table."""
    if not runs or runs[0].error is not None:
        return [name, FAILED if runs else MISSING, *[None] * 6]
    figures, neurons = runs[0].figures, runs[0].task.parameters["neurons"]
    slow, quick = figures["literal_seconds"], figures["our_seconds"]
    return [name, figures["rows"], neurons, slow, quick, slow / quick, figures["literal_mse"], figures["our_mse"]]


# -- The paper's definitions taken literally: a slow program to measure against, and to test ours with


Floats = NDArray[np.float64]


def lasso_direction(X: Floats, residual: Floats, most: int) -> Floats:
    """Return the paper's direction by bisection on scikit-learn's Lasso penalty: at most `most` columns."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    low, high = 0.0, float(np.abs(Z.T @ residual).max() / len(residual))
    weights: Floats = np.zeros(X.shape[1])
    for _ in range(30):
        penalty = (low + high) / 2
        fit = Lasso(alpha=penalty, max_iter=10_000).fit(Z, residual)
        if np.count_nonzero(fit.coef_) <= most:
            high, weights = penalty, fit.coef_
        else:
            low = penalty
    return weights / X.std(axis=0)


def literal_neuron(X: Floats, residual: Floats, most: int = 2) -> tuple[Floats, float, float, float]:
    """Return direction, threshold, weight and base of one neuron of Algorithm 1.

    Lasso, all m + 1 splits, side means.
    """
    weights = lasso_direction(X, residual, most)
    projection = X @ weights
    order = np.argsort(projection)
    best = (math.inf, 0)
    for split in range(len(order) + 1):
        below, beyond = residual[order[:split]], residual[order[split:]]
        left = sum(len(part) * float(np.var(part)) for part in (below, beyond) if len(part))
        if left < best[0]:
            best = (float(left), split)
    split = best[1]
    if 0 < split < len(order):
        threshold = float(projection[order[split - 1]] + projection[order[split]]) / 2
    else:
        threshold = -math.inf if split == 0 else math.inf
    fires = projection >= threshold
    up = float(residual[fires].mean()) if fires.any() else 0.0
    down = float(residual[~fires].mean()) if (~fires).any() else 0.0
    return weights, threshold, (up - down) / 2, (up + down) / 2


def literal_residual(X: Floats, y: Floats, neurons: int) -> Floats:
    """Return what is left of the target after so many neurons, each grown on what the others left."""
    residual = y.copy()
    for _ in range(neurons):
        weights, threshold, weight, base = literal_neuron(X, residual)
        residual = residual - base - np.where(X @ weights >= threshold, weight, -weight)
    return residual
