"""How long fits, predictions and explanations take as rows, columns and threads grow, beside what people use today.

The rows are made up. Every model is as it comes, on one thread unless the table says otherwise. What a fit costs is the
processor's time: other work on the machine disturbs it less than the clock on the wall. Runs of one machine and one day
are compared, so trust the ratios, not the seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import bgn
from experiments.data import MADE_UP
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Table, by

REVISION = 1
PUBLISHED = {"full": None}

Floats = NDArray[np.float64]
TOY = 200
ROWS = {"smoke": (TOY,), "reduced": (10_000, 100_000, 1_000_000)}
ROWS["full"] = (*ROWS["reduced"], 10_000_000)
COLUMNS = {"smoke": (12,), "reduced": (100, 1_000, 5_000), "full": (100, 1_000, 5_000, 10_000)}
THREADS = {"smoke": (1,), "reduced": (1, 2), "full": (1, 2, 4, 8, 16)}
# On one thread these would take an hour.
MOST: dict[str, list[tuple[int, int]]] = {"smoke": [], "reduced": [], "full": [(100_000_000, 16)]}
WIDE_ROWS, FEW = 2_000, 10
# Fits of more rows, or of more columns, would take hours.
MOST_ROWS = {"figs": 100_000, "ebm": 100_000, "bgn_questions": 1_000_000, "bgn_classes": 1_000_000}
MOST_ROWS |= {"lightgbm_classes": 1_000_000}
MOST_COLUMNS = {"figs": 1_000, "ebm": 100}
NAMES = {
    "bgn": "BGN", "bgn_questions": "BGN, rules alone", "bgn_classes": "BGN, two classes",
    "lightgbm": "LightGBM", "lightgbm_classes": "LightGBM, two classes", "ebm": "EBM", "figs": "FIGS",
}  # fmt: skip
WIDE = ("bgn", "lightgbm", "ebm", "figs")
THREADED = ("bgn", "lightgbm")
EXPLAINED = {"smoke": 50, "reduced": 10_000, "full": 10_000}
PREDICTED = {"smoke": 1_000, "reduced": 1_000_000, "full": 1_000_000}
_CHANGED = 20  # rows whose predictions are to be changed


def made_up(rows: int, columns: int, seed: int) -> tuple[Floats, Floats]:
    """Return columns and targets: steps, a curve, a product and a line of five columns, and noise."""
    rng = np.random.default_rng([seed, columns])
    X = rng.standard_normal((rows, columns))
    y = 3.0 * (X[:, 0] > 0) + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * X[:, 4]
    return X, y + 0.5 * rng.standard_normal(rows)


def model(method: str, threads: int, toy: bool = False) -> Any:
    """Return a model as it comes, or of three terms for a toy."""
    if method.startswith("bgn"):
        settings: dict[str, Any] = {"max_linear": 0} if method == "bgn_questions" else {}
        kind = bgn.BGNClassifier if method == "bgn_classes" else bgn.BGNRegressor
        return kind(**settings | ({"max_terms": 3} if toy else {}), n_jobs=threads, random_state=0)
    if method.startswith("lightgbm"):
        import lightgbm

        kind = lightgbm.LGBMClassifier if method.endswith("classes") else lightgbm.LGBMRegressor
        return kind(n_jobs=threads, verbose=-1)
    if method == "ebm":
        from interpret.glassbox import ExplainableBoostingRegressor

        return ExplainableBoostingRegressor(n_jobs=threads, random_state=0)
    from imodels import FIGSRegressor

    return FIGSRegressor(max_rules=3 if toy else 50, random_state=0)


# -- tasks ---------------------------------------------------------------------------------------------------


def tasks(options: Options) -> list[Task]:
    """Return fits by rows, by columns and by threads, and what is asked of fitted models."""
    scale = options.scale
    wanted = [_fit(method, rows, FEW) for rows in ROWS[scale] for method in NAMES if rows <= _most(method)]
    wanted += [
        _fit(method, min(WIDE_ROWS, ROWS[scale][-1]), columns)
        for columns in COLUMNS[scale] for method in WIDE
        if columns <= MOST_COLUMNS.get(method, columns)
    ]  # fmt: skip
    rows = min(1_000_000, ROWS[scale][-1])
    shared = [(rows, threads) for threads in THREADS[scale]] + MOST[scale]
    wanted += [_shared(method, rows, threads) for rows, threads in shared for method in THREADED]
    sizes = {"rows": min(100_000, ROWS[scale][-1]), "explained": EXPLAINED[scale], "predicted": PREDICTED[scale]}
    wanted += [_task(method, sizes) for method in ("ask bgn", "ask lightgbm", "ask ebm")]
    slow = set() if scale == "full" else {"ebm"}  # which takes minutes, however few the rows
    kept = [task for task in wanted if _model_of(task) not in slow]
    return list({(task.dataset, task.method): task for task in kept}.values())


def _most(method: str) -> int:
    return MOST_ROWS.get(method, 10_000_000)


def _fit(method: str, rows: int, columns: int) -> Task:
    return _task(method, {"rows": rows, "columns": columns, "threads": 1})


def _shared(method: str, rows: int, threads: int) -> Task:
    """Return a fit by threads; that of one thread is measured like the others, in a process of its own."""
    name = f"{threads} thread{'s' * (threads > 1)} {method}"
    return _task(name, {"rows": rows, "columns": FEW, "threads": threads})


def _is_shared(task: Task) -> bool:
    return " thread" in task.method


def _task(method: str, parameters: dict[str, int]) -> Task:
    table = f"{MADE_UP}:{parameters['rows']}x{parameters.get('columns', FEW)}"
    return Task("speed", table, method, parameters, 0, "none")


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    rows, columns = task.parameters["rows"], task.parameters.get("columns", FEW)
    per_cell = {"ebm": 1e-4, "figs": 1e-4, "lightgbm": 6e-7}.get(_model_of(task), 3e-6)
    return 5.0 + per_cell * rows * columns


def _model_of(task: Task) -> str:
    """Return the model of a task: the last word of its method."""
    return task.method.split()[-1]


def code(task: Task) -> str | None:
    """Return which part of bgn is timed."""
    return "growth" if "bgn" in task.method else None


# -- runs ----------------------------------------------------------------------------------------------------


def run(task: Task) -> dict[str, Any]:
    """Fit a model, or ask a fitted one, and return how long it took."""
    if task.method.startswith("ask "):
        return _explained(task)
    return _separate(task) if _is_shared(task) else fitted(task)


def _separate(task: Task) -> dict[str, Any]:
    """Fit in a process of its own: a worker of joblib is granted one thread, however many a model asks for."""
    model(_model_of(task), 1)  # a package that is missing is missed here
    limited = {f"{name}_NUM_THREADS" for name in ("BLIS", "MKL", "NUMBA", "NUMEXPR", "OMP", "OPENBLAS")}
    free = {name: value for name, value in os.environ.items() if name not in limited}
    done = subprocess.run(
        [sys.executable, "-c", SEPARATE, json.dumps(vars(task), default=dict)],
        env=free,
        capture_output=True,
        text=True,
        check=False, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the process that fits with threads ended with {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


SEPARATE = """
import json, sys
from experiments.speed import fitted
from experiments.store import Task
print(json.dumps(fitted(Task(**json.loads(sys.argv[1])))))
"""


def fitted(task: Task) -> dict[str, Any]:
    """Fit a model to made-up rows in this process; return how long it took and how it does on others."""
    rows, columns, threads = (task.parameters[name] for name in ("rows", "columns", "threads"))
    X, y = made_up(rows, columns, task.seed)
    X_test, y_test = made_up(10_000, columns, task.seed + 1)
    if task.method.endswith("classes"):
        y, y_test = (y > 1.5).astype(int), (y_test > 1.5).astype(int)
    fresh = model(_model_of(task), threads, rows == TOY)
    few = {"bgn": {"max_terms": 3, "cv": None}, "ebm": {"max_rounds": 2}}.get(_model_of(task).partition("_")[0], {})
    clone(fresh).set_params(**few).fit(X[:1000, :FEW], y[:1000])  # what is compiled or loaded once is there then
    wall, processor = _seconds(lambda: fresh.fit(X, y))
    error = float(np.mean((np.asarray(fresh.predict(X_test), np.float64) - y_test) ** 2))
    return {"fit_seconds": wall, "fit_processor_seconds": processor, "test_error": error}


def _explained(task: Task) -> dict[str, Any]:
    rows, explained, predicted = (task.parameters[name] for name in ("rows", "explained", "predicted"))
    X, y = made_up(rows, FEW, task.seed)
    rows = made_up(predicted, FEW, task.seed + 1)[0]
    kind = _model_of(task)
    fitted = model("bgn_questions" if kind == "bgn" else kind, 1, rows == TOY).fit(X, y)
    background, some = X[:explained], rows[:explained]
    seconds = {"predict": _best(lambda: fitted.predict(rows))}
    if kind == "bgn":
        network = fitted.network_
        seconds["explain"] = _best(lambda: bgn.shap_values(network, some, background))
        wanted, start = float(np.quantile(y, 0.9)), time.process_time()
        for row in some[:_CHANGED]:
            bgn.counterfactual(network, row, at_least=wanted, background=background)
        seconds["counterfactual"] = (time.process_time() - start) / _CHANGED
    elif kind == "lightgbm":
        seconds["explain"] = _best(lambda: fitted.predict(some, pred_contrib=True))
    else:
        seconds["explain"] = _best(lambda: fitted.explain_local(some))
    return {f"{name}_processor_seconds": value for name, value in seconds.items()}


def _seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Return the wall's and the processor's seconds of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


def _best(call: Callable[[], object]) -> float:
    """Return the processor's seconds of the best of three calls, after one that compiles and warms."""
    call()
    return min(_seconds(call)[1] for _ in range(3))


# -- tables --------------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return the processor's seconds by rows, columns and threads, ratios beside them, and what is asked."""
    fits = [run for run in runs if not run.task.method.startswith("ask ")]
    single = [run for run in fits if not _is_shared(run.task)]
    by_rows = [run for run in single if run.task.parameters["columns"] == FEW]
    wide = [run for run in single if run.task.parameters["columns"] != FEW]
    tables = [
        _grid("speed-rows", f"Seconds to fit {FEW} columns", "rows", by_rows, [*NAMES]),
        _grid("speed-columns", f"Seconds to fit {WIDE_ROWS:,} rows", "columns", wide, WIDE),
        _ratios(by_rows),
        _threads([run for run in fits if _is_shared(run.task) and run.error is None]),
        _answers([run for run in runs if run.task.method.startswith("ask ")]),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def _grid(name: str, title: str, what: str, runs: Sequence[Run], methods: Sequence[str]) -> Table:
    """Return the processor's seconds, a line per size."""
    sizes = sorted({run.task.parameters[what] for run in runs})
    body = [[f"{size:,}", *(_processor(runs, what, size, method) for method in methods)] for size in sizes]
    note = "Processor's seconds of one fit, one thread, every model as it comes; FIGS with at most 50 rules."
    return Table(name, title, (what, *(NAMES[method] for method in methods)), body, (note,))


def _processor(runs: Sequence[Run], what: str, size: int, method: str) -> Cell:
    runs_of_size = [run for run in runs if run.task.parameters[what] == size and run.task.method == method]
    if not runs_of_size:
        return None
    return FAILED if runs_of_size[0].error is not None else runs_of_size[0].figures["fit_processor_seconds"]


def _ratios(runs: Sequence[Run]) -> Table:
    """Return how many times the processor's time of its peers a fit takes."""
    pairs = {
        "BGN / LightGBM": ("bgn", "lightgbm"), "rules alone / LightGBM": ("bgn_questions", "lightgbm"),
        "classes / LightGBM": ("bgn_classes", "lightgbm_classes"), "classes / numbers": ("bgn_classes", "bgn"),
        "BGN / EBM": ("bgn", "ebm"), "BGN / FIGS": ("bgn", "figs"),
    }  # fmt: skip
    sizes = sorted({run.task.parameters["rows"] for run in runs})
    body = []
    for size in sizes:
        seconds = {method: _processor(runs, "rows", size, method) for method in NAMES}
        both = [(seconds[one], seconds[other]) for one, other in pairs.values()]
        body.append([f"{size:,}", *(a / b if isinstance(a, float) and isinstance(b, float) else None for a, b in both)])
    return Table("speed-ratios", "The same as ratios: above one, the peer is faster", ("rows", *pairs), body)


def _threads(runs: Sequence[Run]) -> Table:
    """Return the wall's and the processor's seconds by threads."""
    sizes = sorted({run.task.parameters["rows"] for run in runs})
    body: list[list[Cell]] = []
    for rows, method in product(sizes, THREADED):
        same = [run for run in runs if (run.task.parameters["rows"], _model_of(run.task)) == (rows, method)]
        by_threads = {run.task.parameters["threads"]: run.figures for run in same}
        for threads, figures in sorted(by_threads.items()):
            wall, processor = figures["fit_seconds"], figures["fit_processor_seconds"]
            times = by_threads[1]["fit_seconds"] / wall if 1 in by_threads else None
            body.append([f"{rows:,}", NAMES[method], threads, wall, processor, times])
    header = ("rows", "model", "threads", "seconds on the wall", "processor's seconds", "times as fast as one thread")
    return Table("speed-threads", f"Threads: {FEW} columns", header, body)


def _answers(runs: Sequence[Run]) -> Table:
    """Return what predictions and explanations take per row."""
    groups, body = by(runs, "method"), list[list[Cell]]()
    for method in ("ask bgn", "ask lightgbm", "ask ebm"):
        name = NAMES[method.removeprefix("ask ")]
        group = groups.get(method, [])
        if not group or group[0].error is not None:
            body.append([name, FAILED if group else MISSING, None, None])
            continue
        sizes, predict, explain, change = group[0].task.parameters, *(
            group[0].figures.get(f"{name}_processor_seconds") for name in ("predict", "explain", "counterfactual")
        )  # fmt: skip
        changed = None if change is None else 1e3 * change
        body.append([name, sizes["predicted"] / predict / 1e6, explain / sizes["explained"] * 1e6, changed])
    header = ("model", "million predictions per second", "µs to explain a row", "ms to find a counterfactual")
    return Table("speed-asked", "What is asked of a fitted model", header, body, (
        "One thread. BGN: 50 rules, exact SHAP values against as many background rows as are explained, proven "
        "counterfactuals. LightGBM: its own TreeSHAP, which follows the tree's paths and has no background. EBM: its "
        "own contributions, which are read off.",
    ))  # fmt: skip
