"""Beyond the paper: BGN beside the models people use today, at equal size and at any size.

At equal size: at most 5, 10, 20 and 40 threshold conditions (splits of trees, stumps that differ, conditions of rules,
neurons) and linear terms, counted once by conditions and once by the columns that they name. Every family offers its
candidates (``grown``, ``rivals``, ``slopes``, ``anysize``); of those within a limit, the one that validates best is
tested. All are fitted to the training rows alone, on one thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from experiments import anysize, classdata, data, grown, rivals, slopes
from experiments.options import Options
from experiments.peertables import BUDGETS, show
from experiments.rivals import Candidate, Family
from experiments.store import Task

__all__ = ["PUBLISHED", "REVISION", "cost", "run", "show", "skipped", "tasks"]

REVISION = 1
PUBLISHED = {"full": None}

TABLES = data.TABLES + classdata.NUMBERS
LARGE = (*data.LARGE, "diamonds")

EQUAL: dict[str, Family] = {
    "bgn": grown.at_sizes(),
    "bgn_questions": grown.at_sizes(max_linear=0),
    "bgn_1": grown.at_sizes(max_linear=0, max_features=1),
    "tree": rivals.best_first_trees,
    "hstree": rivals.shrunken_trees,
    "figs": rivals.figs,
    "stumps": rivals.stumps,
    "rules": rivals.rules_only,
    "rules_lines": rivals.rules_and_lines,
    "lines": slopes.lines,
    "aplr": slopes.aplr,
    "cubist": slopes.cubist,
    "mars": slopes.mars,
    "pilot": slopes.pilot,
}
FREE: dict[str, Family] = {
    "bgn": grown.default,
    "bgn_accurate": grown.accurate,
    "tree": anysize.tree,
    "figs": anysize.figs,
    "rulefit": anysize.rulefit,
    "ebm": anysize.ebm,
    "ebm_pairs": anysize.ebm_pairs,
    "stumps": anysize.stumps,
    "boosting": anysize.boosting,
    "gam": anysize.gam,
    "lasso": anysize.lasso,
    "aplr": slopes.aplr_default,
    "cubist": slopes.cubist_default,
    "mars": slopes.mars_default,
    "pilot": slopes.pilot_default,
}
REDUCED = ("diabetes", "housing", "chickenpox", "istanbul")
"""The tables of what is done in an hour: of the large ones housing alone."""

SLOW = ("free ebm", "free ebm_pairs", "free bgn_accurate", "free rulefit", "free aplr", "equal aplr")
"""With "full" alone on large tables, where they take minutes each."""

PACKAGES = {"pilot": "pilot", "mars": "pymars"}
"""Packages that not every Python has a wheel of."""


def tasks(options: Options) -> list[Task]:
    """Return every family on every table, at equal size and at any; "reduced": one seed, four tables, nothing slow."""
    smoke, full = options.scale == "smoke", options.scale == "full"
    names = ("bike",) if smoke else TABLES if full else REDUCED
    split = data.paper_split(150 if smoke else None)
    equal, free = (5, 8) if smoke else (max(BUDGETS), 2**16)
    return [
        Task("peers", name, method, _parameters(method, most), seed, split)
        for kind, families, most in (("equal", EQUAL, equal), ("free", FREE, free))
        for name, method, seed in product(
            names, (f"{kind} {family}" for family in families), range(options.seeds or (3 if full else 1))
        )
        if not _left_out(name, method, seed, options.scale)
    ]


LEFT_OUT = (("ames_housing", "free gam"), ("ames_housing", "free ebm_pairs"), ("diamonds", "free ebm_pairs"))
"""What does not end within a quarter of an hour: 300 splines, and pairs of so many columns or rows."""

ONCE = (("parking", "free bgn_accurate"),)
"""What takes so long that it has one seed."""


def _left_out(name: str, method: str, seed: int, scale: str) -> bool:
    """Tell what is left out for its time; tables with words, and the slowest models on large tables, have one seed."""
    slow = method in SLOW and name in LARGE
    once = name in classdata.NUMBERS or (method == "free ebm_pairs" and name in LARGE) or (name, method) in ONCE
    return (name, method) in LEFT_OUT or (slow and scale == "reduced") or (once and seed > 0 and scale == "full")


def _parameters(method: str, most: int) -> dict[str, Any]:
    """Return the largest size; of ours, that each size is grown anew, with all that is the default today."""
    return {"most": most} | ({"grown": "anew"} if method.split()[1].startswith("bgn") else {})


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    if task.split != data.paper_split():
        return 0.3
    weights = {
        "equal figs": 30, "equal stumps": 30, "equal rules": 10, "equal rules_lines": 10, "equal bgn": 60,
        "equal bgn_questions": 40, "equal bgn_1": 30, "equal mars": 20, "equal aplr": 30, "free mars": 25,
        "free aplr": 60, "free rulefit": 110, "free ebm": 110, "free ebm_pairs": 480, "free bgn_accurate": 250,
        "free bgn": 10, "free boosting": 20, "free stumps": 20,
    }  # fmt: skip
    small = 0.4 if task.method.split()[1] in ("figs", "stumps", "rulefit", "ebm", "ebm_pairs", "rules_lines") else 0.1
    size = {"parking": 2.0, "diamonds": 2.0, "ames_housing": 1.0}.get(task.dataset, 1.0)
    return weights.get(task.method, 3) * (size if task.dataset in (*LARGE, "ames_housing") else small)


def skipped(task: Task) -> str | None:
    """Return why a task cannot be done here, or None."""
    package = PACKAGES.get(task.method.split()[1])
    if package is None or find_spec(package):
        return None
    return f"the package {package} of the extra 'experiments' is not installed"


def run(task: Task) -> dict[str, Any]:
    """Fit a family and record what validates best, within each limit or at all."""
    rows = data.split(task)
    kind, _, family = task.method.partition(" ")
    with warnings.catch_warnings():
        # Other people's packages warn of their own future; a fit that did not converge is judged by its error.
        warnings.simplefilter("ignore")
        begun = time.process_time()
        candidates = list((EQUAL if kind == "equal" else FREE)[family](rows, task.seed, task.parameters["most"]))
        taken = {"family_seconds": time.process_time() - begun, "candidates": len(candidates)}
        errors = [mse(each, rows, 1) for each in candidates]
        if kind == "free":
            return judged(candidates, errors, rows) | taken
        limits = [limit for limit in BUDGETS if limit <= task.parameters["most"]]
        found = {
            name: {
                str(limit): judged(*kept, rows)
                for limit in limits
                if (kept := fitting(candidates, errors, limit, columns))[0]
            }
            for name, columns in (("within", False), ("within_columns", True))
            if not columns or any(each.columns is not None for each in candidates)
        }
    return found | taken


def fitting(
    candidates: Sequence[Candidate], errors: Sequence[float], limit: int, columns: bool = False
) -> tuple[list[Candidate], list[float]]:
    """Return the candidates with at most so many conditions, a linear term counted as one, and their errors.

    With `columns`, those whose conditions and linear terms name at most so many columns.
    """
    sizes = [each.named_columns if columns else each.conditions for each in candidates]
    kept = [k for k, size in enumerate(sizes) if size <= limit]
    return [candidates[k] for k in kept], [errors[k] for k in kept]


def judged(candidates: Sequence[Candidate], errors: Sequence[float], rows: data.Rows) -> dict[str, Any]:
    """Return the figures of the candidate with the least error, of equal ones the first."""
    best = int(np.argmin(errors))
    chosen = candidates[best]
    X_test = rows.raw[2] if chosen.raw else rows.X_test
    times = [rivals.timed(lambda: chosen.predict(X_test)) for _ in range(3)]
    return {
        "setting": chosen.setting,
        "size": chosen.size,
        "linear_terms": chosen.linear_terms,
        "columns": chosen.named_columns,
        "validation_mse": float(errors[best]),
        "test_mse": mse(chosen, rows, 2),
        "fit_seconds": chosen.fit_seconds,
        "microseconds_a_row": 1e6 * min(times) / len(rows.y_test),
    }


def mse(candidate: Candidate, rows: data.Rows, part: int) -> float:
    """Return the mean squared error on the rows to train on (0), to validate on (1) or to report on (2)."""
    X = (rows.raw if candidate.raw else (rows.X, rows.X_validation, rows.X_test))[part]
    y = (rows.y, rows.y_validation, rows.y_test)[part]
    return float(np.mean((np.ravel(candidate.predict(X)) - y) ** 2))
