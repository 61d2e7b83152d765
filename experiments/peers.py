"""Beyond the paper: BGN beside the models people use today, at equal size and at any size.

At equal size: at most 5, 10, 20 and 40 threshold conditions (splits of trees, stumps that differ, conditions of rules,
neurons). Every family offers its candidates (``rivals``, ``anysize``); of those within a limit, the one that validates
best is tested. All are fitted to the training rows alone, on one thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from experiments import anysize, data, rivals
from experiments.options import Options
from experiments.rivals import Candidate, Family
from experiments.store import Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Measured, Table, by, mean

REVISION = 1

BUDGETS = (5, 10, 20, 40)

EQUAL: dict[str, tuple[str, Family]] = {
    "bgn": ("BGN, at most 2 features a neuron", rivals.two_features),
    "bgn_4": ("BGN, at most 4 features a neuron", rivals.four_features),
    "bgn_1": ("BGN, 1 feature a neuron", rivals.one_feature),
    "tree": ("tree, best first", rivals.best_first_trees),
    "hstree": ("tree, shrunk (HSTree)", rivals.shrunken_trees),
    "figs": ("FIGS", rivals.figs),
    "stumps": ("XGBoost stumps", rivals.stumps),
    "rules": ("RuleFit, rules alone", rivals.rules_only),
    "rules_lines": ("RuleFit with linear terms", rivals.rules_and_lines),
    "lines": ("Lasso: linear terms alone", rivals.lines),
}
OURS = ("bgn", "bgn_4", "bgn_1")
WITH_LINES = ("rules_lines", "lines")

FREE: dict[str, tuple[str, str, Family]] = {
    "bgn": ("BGN, our defaults", "neurons", anysize.bgn_default),
    "bgn_wide": ("BGN, size no concern", "neurons", anysize.bgn_wide),
    "tree": ("tree", "splits", anysize.tree),
    "figs": ("FIGS, up to 50 splits", "splits", anysize.figs),
    "rulefit": ("RuleFit, 30 terms", "conditions and terms", anysize.rulefit),
    "ebm": ("EBM without pairs", "table entries", anysize.ebm),
    "ebm_pairs": ("EBM, default", "table entries", anysize.ebm_pairs),
    "stumps": ("XGBoost stumps", "different stumps", anysize.stumps),
    "boosting": ("LightGBM, tuned", "splits", anysize.boosting),
    "gam": ("pyGAM", "coefficients", anysize.gam),
    "lasso": ("least squares / LassoCV", "terms", anysize.lasso),
}


def tasks(options: Options) -> list[Task]:
    """Return every family on every table, at equal size and at any."""
    smoke = options.scale == "smoke"
    names = ("power_plant",) if smoke else data.TABLES
    split = data.paper_split(150 if smoke else None)
    equal, free = ({"most": 5}, {"most": 8}) if smoke else ({"most": max(BUDGETS)}, {"most": 2**16})
    count = options.seeds or (1 if smoke else 3)
    return [
        Task("peers", name, f"{kind} {family}", sizes, seed, split)
        for kind, families, sizes in (("equal", EQUAL, equal), ("free", FREE, free))
        for name, family, seed in product(names, families, range(count))
        if not (family == "ebm_pairs" and name in data.LARGE and seed > 0 and options.scale != "full")
    ]


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    if task.split != data.paper_split():
        return 0.3
    weights = {
        "equal figs": 60, "equal stumps": 20, "equal rules": 40, "equal rules_lines": 50, "equal bgn": 25,
        "equal bgn_4": 50, "free rulefit": 30, "free ebm": 25, "free ebm_pairs": 400, "free bgn_wide": 100,
    }  # fmt: skip
    return weights.get(task.method, 5) * (1.0 if task.dataset in data.LARGE else 0.1)


def run(task: Task) -> dict[str, Any]:
    """Fit a family and record what validates best, within each budget or at all."""
    rows = data.split(task)
    kind, _, family = task.method.partition(" ")
    with warnings.catch_warnings():
        # Other people's packages warn of their own future; a fit that did not converge is judged by its error.
        warnings.simplefilter("ignore")
        begun = time.process_time()
        candidates = list((EQUAL if kind == "equal" else FREE)[family][-1](rows, task.seed, task.parameters["most"]))
        seconds = time.process_time() - begun
        errors = [_mse(each.predict, rows.X_validation, rows.y_validation) for each in candidates]
        if kind == "free":
            return judged(candidates, errors, rows) | {"family_seconds": seconds, "candidates": len(candidates)}
        within = {
            str(budget): judged(*fitting(candidates, errors, budget), rows)
            for budget in BUDGETS
            if budget <= task.parameters["most"]
        }
    return {"within": within, "family_seconds": seconds, "candidates": len(candidates)}


def fitting(
    candidates: Sequence[Candidate], errors: Sequence[float], budget: int
) -> tuple[list[Candidate], list[float]]:
    """Return the candidates with at most so many conditions, a linear term counted as one, and their errors."""
    kept = [k for k, each in enumerate(candidates) if each.size + each.linear_terms <= budget]
    return [candidates[k] for k in kept], [errors[k] for k in kept]


def judged(candidates: Sequence[Candidate], errors: Sequence[float], rows: data.Rows) -> dict[str, Any]:
    """Return the figures of the candidate with the least error, of equal ones the first."""
    best = int(np.argmin(errors))
    chosen = candidates[best]
    times = [rivals.timed(lambda: chosen.predict(rows.X_test)) for _ in range(3)]
    predicted = np.ravel(chosen.predict(rows.X_test))
    return {
        "setting": chosen.setting,
        "size": chosen.size,
        "linear_terms": chosen.linear_terms,
        "validation_mse": float(errors[best]),
        "test_mse": float(np.mean((predicted - rows.y_test) ** 2)),
        "fit_seconds": chosen.fit_seconds,
        "microseconds_a_row": 1e6 * min(times) / len(rows.y_test),
    }


def _mse(predict: Callable[[Any], Any], X: Any, y: Any) -> float:
    return float(np.mean((np.ravel(predict(X)) - y) ** 2))


# -- what is shown ---------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return errors at equal size, who leads, errors and sizes at any size, times, and a figure."""
    groups = by(runs, "dataset", "method")
    names = list(dict.fromkeys(run.task.dataset for run in runs))
    budgets = [b for b in BUDGETS if any(str(b) in run.figures.get("within", {}) for run in runs)]
    equal = [
        Table(
            f"peers-equal-{budget}", f"Test MSE with at most {budget} conditions", ("model", *names), body,
            EQUAL_NOTES, lowest=True,
        )
        for budget, body in ((budget, _equal(names, budget, groups)) for budget in budgets)
    ]
    header = ("model", *names)
    free = [
        Table("peers", "Test MSE at any size", header, _free(names, groups, "test_mse"), FREE_NOTES, lowest=True),
        Table("peers-sizes", "Sizes", ("model", "what is counted", *names), _sizes(names, groups)),
        Table("peers-seconds", "Seconds to fit", header, _free(names, groups, "fit_seconds"), FIT_NOTES),
        Table(
            "peers-predict-seconds",
            "Microseconds to predict a row",
            header,
            _free(names, groups, "microseconds_a_row"),
            ("The best of three times all test rows.",),
        ),
    ]
    leaders = Table(
        "peers-leaders", "BGN beside the best of the others, at equal size", LEADERS, _leaders(names, budgets, groups)
    )
    figure = Figure("peers-equal", "Test error by size", _figure(names, budgets, groups), (9.0, 4.6))
    return [leaders, *equal, *free, figure]


LEADERS = (
    "table", "conditions", "BGN", "best of the others", "which", "BGN / others", "best with linear terms", "which ",
    "BGN / those",
)  # fmt: skip
EQUAL_NOTES = (
    "Means over seeds ± their standard deviation; the lowest is bold. A condition is a split, a stump that differs "
    "from the others, a condition of a rule or a "
    "neuron. Linear terms count as a condition each, and are no thresholds.",
)
FREE_NOTES = (
    "Means over seeds ± their standard deviation; the lowest is bold; size and settings chosen on the validation rows. "
    "EBM with pairs on the four large tables: seed 0 alone.",
)
FIT_NOTES = ("The processor's seconds, one thread; of the chosen setting alone.",)


def within(runs: Sequence[Run] | None, budget: int, figure: str = "test_mse") -> float | str:
    """Return the mean of a figure over seeds within a budget."""
    if not runs:
        return MISSING
    if any(run.error is not None or str(budget) not in run.figures["within"] for run in runs):
        return FAILED
    return Measured([run.figures["within"][str(budget)][figure] for run in runs])


def _leaders(names: Sequence[str], budgets: Sequence[int], groups: dict[Any, list[Run]]) -> list[list[Cell]]:
    """Return, for every table and budget, ours beside the best threshold model and the best model with lines."""
    lines: list[list[Cell]] = []
    for name, budget in product(names, budgets):
        errors = {key: within(groups.get((name, f"equal {key}")), budget) for key in EQUAL}
        errors = {key: error if isinstance(error, str) else float(error) for key, error in errors.items()}
        ours = errors["bgn"]
        line: list[Cell] = [name, budget, ours]
        for keys in ([k for k in EQUAL if k not in OURS + WITH_LINES], list(WITH_LINES)):
            known = {key: error for key in keys if not isinstance(error := errors[key], str)}
            best = min(known, key=lambda key, known=known: known[key], default=None)
            ratio = None if best is None or isinstance(ours, str) else ours / known[best]
            line += [None, None, None] if best is None else [known[best], EQUAL[best][0], ratio]
        lines.append(line)
    return lines


def _equal(names: Sequence[str], budget: int, groups: dict[Any, list[Run]]) -> list[list[Cell]]:
    """Return the errors of every family on every table within a budget."""
    return [
        [label, *(within(groups.get((name, f"equal {key}")), budget) for name in names)]
        for key, (label, _) in EQUAL.items()
    ]


def _free(names: Sequence[str], groups: dict[Any, list[Run]], figure: str) -> list[list[Cell]]:
    """Return a figure of every family on every table."""
    return [
        [label, *(_measured(groups.get((name, f"free {key}")), figure) for name in names)]
        for key, (label, *_) in FREE.items()
    ]


def _measured(runs: Sequence[Run] | None, figure: str) -> float | str:
    """Return the mean of a figure over seeds, of errors with their spread."""
    found = mean(runs, figure)
    if figure != "test_mse" or runs is None or isinstance(found, str):
        return found
    return Measured([run.figures[figure] for run in runs])


def _sizes(names: Sequence[str], groups: dict[Any, list[Run]]) -> list[list[Cell]]:
    """Return conditions plus linear terms of every family on every table."""
    body: list[list[Cell]] = []
    for key, (label, counted, _) in FREE.items():
        line: list[Cell] = [label, counted]
        for name in names:
            runs = groups.get((name, f"free {key}"))
            parts = [mean(runs, figure) for figure in ("size", "linear_terms")]
            line.append(round(sum(float(part) for part in parts)) if not isinstance(parts[0], str) else parts[0])
        body.append(line)
    return body


COLOURS = {
    "bgn": "#0072B2", "tree": "#E69F00", "hstree": "#B8A000", "figs": "#D55E00", "stumps": "#009E73",
    "rules": "#CC79A7", "rules_lines": "#7F7F7F",
}  # fmt: skip


def _figure(names: Sequence[str], budgets: Sequence[int], groups: dict[Any, list[Run]]) -> Callable[[Any], None]:
    """Return what draws the errors by budget, a panel a table."""

    def draw(canvas: Any) -> None:
        columns = min(4, len(names))
        panels = np.ravel(canvas.subplots(-(-len(names) // columns), columns, squeeze=False))
        for ax, name in zip(panels, names, strict=False):
            errors = {key: [within(groups.get((name, f"equal {key}")), b) for b in budgets] for key in COLOURS}
            known = {key: line for key, line in errors.items() if not any(isinstance(each, str) for each in line)}
            _panel(ax, name, budgets, known)
        for ax in panels[len(names) :]:
            ax.set_axis_off()
        handles, labels = panels[0].get_legend_handles_labels()
        if len(names) < len(panels):
            panels[-1].legend(handles, labels, frameon=False, fontsize=7.5, loc="center")
        else:
            canvas.legend(handles, labels, frameon=False, fontsize=7.5, loc="outside upper center")
        canvas.supxlabel("threshold conditions, at most", fontsize=9)
        canvas.supylabel("test mean squared error", fontsize=9)

    return draw


def _panel(ax: Any, name: str, budgets: Sequence[int], errors: dict[str, list[Any]]) -> None:
    """Draw one table's errors, a line a family."""
    from bgn.plots.style import plain

    plain(ax)
    for key, line in errors.items():
        mark = {"color": COLOURS[key], "markersize": 3, "linewidth": 2.4 if key == "bgn" else 1.2}
        ax.plot(budgets, line, "o-", label=EQUAL[key][0], **mark)
    # RuleFit begins far above the others and would flatten them: it may leave the panel.
    highest = max(
        (error for key, line in errors.items() if not key.startswith("rules") for error in line), default=None
    )
    if highest is not None:
        lowest = min(error for line in errors.values() for error in line)
        ax.set_ylim(lowest - 0.1 * (highest - lowest), highest + 0.1 * (highest - lowest))
    ax.set_title(name.replace("_", " "), fontsize=10)
    ax.set(xscale="log", xticks=budgets, xticklabels=budgets)
    ax.minorticks_off()
    ax.tick_params(labelsize=8)
