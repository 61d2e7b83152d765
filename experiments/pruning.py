"""Figures 3 and 4: networks trained by gradients and pruned, against BGN while it grows.

BNN+ on power plant and QN on Istanbul, halved again and again by five rankings, fine-tuned after every cut. Every seed
chooses rate (and temperature) of the network to prune on its validation rows. All rankings of a seed prune the same
network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from bgn import BGNRegressor
from experiments import data
from experiments.accuracy import OWN
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Table, by

REVISION = 1
PUBLISHED = {"reduced": 5, "full": None}

GROWN = {"bgn_paper": "BGN, as in the paper", "bgn": "BGN, our defaults"}
PRUNED = {
    "global_magnitude": "global magnitude",
    "global_magnitude, raw": "global magnitude, raw targets",
    "global_scaled": "global magnitude, layers scaled alike",
    "layer_magnitude": "layerwise magnitude",
    "global_gradient": "global gradient magnitude",
    "layer_gradient": "layerwise gradient magnitude",
    "random": "random",
}
METHODS = {"power_plant": "BNN+", "istanbul": "QN"}
BUDGETS = (1000, 300, 100, 30)
COLORS = ("#D55E00", "#E69F00", "#8C564B", "#CC79A7", "#009E73", "#56B4E9", "#7F7F7F")


def tasks(options: Options) -> list[Task]:
    """Return every ranking with both schedules of the rate, and BGN's two variants, seed by seed."""
    smoke = options.scale == "smoke"
    split = data.paper_split(200 if smoke else None)
    seeds = range(options.seeds or (5 if options.scale == "full" else 1))
    wanted = []
    for name, seed in product(METHODS, seeds):
        trained = {"smoke": SMOKE, "reduced": REDUCED, "full": FULL}[options.scale][name]
        grown = {"max_terms": 5} if smoke else {}
        wanted += [Task("pruning", name, method, grown, seed, split) for method in GROWN]
        wanted += [
            Task("pruning", name, method, trained | {"schedule": schedule}, seed, split)
            for method, schedule in product(PRUNED, ("constant", "paper"))
        ]
    return wanted


# The paper prunes what it had chosen: 1000 x 2 on power plant, 1000 x 1 on Istanbul.
FULL: dict[str, dict[str, Any]] = {
    "power_plant": {
        "hidden_layers": [1000, 1000], "rates": [0.1, 0.01, 0.001], "own": OWN["bnn_plus"], "batch_size": 512,
    },
    "istanbul": {"hidden_layers": [1000], "rates": [0.1, 0.01, 0.001], "temperatures": [5, 10, 20], "batch_size": 64},
}  # fmt: skip
REDUCED = FULL | {"power_plant": {"hidden_layers": [100, 100], "rates": [0.1, 0.01], "batch_size": 512}}
SMOKE = {
    "power_plant": {"hidden_layers": [8, 8], "rates": [0.1], "batch_size": 64, "max_epochs": 3},
    "istanbul": {"hidden_layers": [16], "rates": [0.1], "temperatures": [5], "batch_size": 64, "max_epochs": 3},
}


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    if task.method in GROWN:
        return 20.0
    layers = task.parameters["hidden_layers"]
    return 30.0 if len(layers) == 1 else 30.0 * (layers[0] / 100) ** 2


def extra(task: Task) -> str | None:
    """Return the extra that training by gradients needs."""
    return None if task.method in GROWN else "torch"


def together(task: Task) -> object:
    """Return what the rankings of one network have in common: they prune the same one."""
    if task.method in GROWN:
        return None
    return (task.dataset, task.split, task.seed, task.method.endswith(", raw"))


def run_together(tasks: Sequence[Task], device: str) -> list[dict[str, Any]]:
    """Train the networks that the tasks prune, keep the one that validates best, and prune it in all ways at once."""
    from bgn.baselines import Split, prune_many

    rows = data.split(tasks[0])
    split = Split(rows.X, rows.y, rows.X_validation, rows.y_validation, rows.X_test, rows.y_test)
    model = trained(tasks[0], split, device)
    ways = [(task.method.partition(",")[0], task.parameters["schedule"]) for task in tasks]
    pruned = prune_many([model] * len(tasks), [split] * len(tasks), ways, device)
    own = {name: getattr(model.config, name) for name in ("learning_rate", "sharpness", "penalty", "penalty_strength")}
    return [{"curve": [*map(point, [model, *rounds])]} | own for rounds in pruned]


def point(model: Any) -> dict[str, float]:
    """Return a network's size and errors."""
    left = model.parameters[: model.shape.n_connections] != 0
    if model.mask is not None:
        left = left & model.mask[: len(left)]
    return {"weights": int(left.sum()), "validation_mse": model.validation_mse, "test_mse": model.test_mse}


def trained(task: Task, split: Any, device: str) -> Any:
    """Return the network that validates best among those a task names."""
    import torch

    from bgn.baselines import Config, train_many

    torch.set_num_threads(1)
    parameters = task.parameters
    method = {"power_plant": "bnn_plus", "istanbul": "quantization"}[task.dataset]
    temperatures = [{"sharpness": float(value)} for value in parameters.get("temperatures", [])]
    own = parameters.get("own") or temperatures or OWN[method][:1]
    configs = [
        Config(
            method, tuple(parameters["hidden_layers"]), learning_rate=rate, seed=task.seed,
            batch_size=parameters["batch_size"],
            max_epochs=parameters.get("max_epochs", 200), scale_target=not task.method.endswith(", raw"), **more,
        )
        for rate, more in product(parameters["rates"], own)
    ]  # fmt: skip
    return min(train_many(configs, split, device), key=lambda model: model.validation_mse)


def run(task: Task) -> dict[str, Any]:
    """Grow a network; look at the first layer after every neuron, and at the network where it converged."""
    rows = data.split(task)
    make = BGNRegressor.as_in_paper if task.method == "bgn_paper" else BGNRegressor
    model = data.build(make, {**data.ALONE, "random_state": task.seed, "n_jobs": 1, **task.parameters})
    model.fit(rows.X, rows.y, eval_set=(rows.X_validation, rows.y_validation))
    networks = [model.history_.network(width, 0) for width in range(1, len(model.history_.paths[0]))]
    return {
        "curve": [{"weights": network.n_weights} | rows.mse(network) for network in networks],
        "converged": {"weights": model.network_.n_weights} | rows.mse(model),
        "widths": list(model.network_.widths),
    }


# -- what is shown ---------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return a table of errors by size and a figure for each of the two tables, with either schedule."""
    groups = by(runs, "dataset", "method", "schedule")
    names = [name for name in METHODS if any(run.task.dataset == name for run in runs)]
    budgets = tuple(f"at most {budget:,}" for budget in BUDGETS)
    header = ("table", "method", "rate", "weights", "test MSE", *budgets)
    body = [line for name in names for line in _lines(name, groups)]
    shown: list[Table | Figure] = [Table("pruning", "Test MSE by non-zero weights", header, body, NOTES)]
    for name, schedule in product(names, ("constant", "paper")):
        title = f"{METHODS[name]} pruned on {name.replace('_', ' ')}, {RATES[schedule]}"
        drawn = Figure(f"pruning-{name.replace('_', '-')}-{schedule}", title, _figure(name, schedule, title, groups))
        shown.append(drawn)
    return shown


RATES = {"constant": "rate / 10 in every round", "paper": "rate / 10 once more every round"}
NOTES = (
    'Means over seeds. "weights" and "test MSE" are those of the network before pruning, or of BGN where it '
    "converged. Then the network that validates best among those on the way with at most so many weights, a mean over "
    "seeds; empty where pruning ended before.",
    "On standardised targets a global ranking by magnitude takes the whole output layer at the first cut, and pruning "
    "ends; so that ranking is tried on raw targets, and with every weight divided by the root mean square of its "
    "layer's, too.",
)


def _lines(name: str, groups: dict[Any, list[Run]]) -> list[list[Cell]]:
    """Return the lines of one table: BGN, then every ranking with both schedules."""
    keys = [(method, None) for method in GROWN] + list(product(PRUNED, RATES))
    lines = []
    for method, schedule in keys:
        runs = groups.get((name, method, schedule), [])
        label = GROWN.get(method) or f"{METHODS[name]}, {PRUNED[method]}"
        head: list[Cell] = [name, label, RATES.get(schedule or "")]
        if not runs or any(run.error is not None for run in runs):
            lines.append([*head, FAILED if runs else MISSING, *[None] * (1 + len(BUDGETS))])
            continue
        ends = [run.figures.get("converged", run.figures["curve"][0]) for run in runs]
        sizes = [float(np.mean([point[figure] for point in ends])) for figure in ("weights", "test_mse")]
        curves = [[*run.figures["curve"], end] for run, end in zip(runs, ends, strict=True)]
        lines.append([*head, round(sizes[0]), sizes[1], *(at_most(curves, budget) for budget in BUDGETS)])
    return lines


def at_most(curves: Sequence[Sequence[dict[str, float]]], budget: int) -> float | None:
    """Return the mean test error of what validates best among networks with at most so many weights, if all have one.

    Examples
    --------
    >>> large = {"weights": 8, "validation_mse": 1.0, "test_mse": 1.0}
    >>> at_most([[large, {"weights": 4, "validation_mse": 3.0, "test_mse": 2.0}]], 5)
    2.0
    """
    errors = []
    for curve in curves:
        small = [point for point in curve if point["weights"] <= budget]
        if not small:
            return None
        errors.append(min(small, key=lambda point: point["validation_mse"])["test_mse"])
    return float(np.mean(errors))


def by_step(curves: Sequence[Sequence[dict[str, float]]]) -> np.ndarray:
    """Return mean weights, mean test error and its deviation, a row a step that all seeds took."""
    steps = min(map(len, curves))
    values = np.array([[(point["weights"], point["test_mse"]) for point in curve[:steps]] for curve in curves])
    return np.column_stack([values[:, :, 0].mean(axis=0), values[:, :, 1].mean(axis=0), values[:, :, 1].std(axis=0)])


def _figure(name: str, schedule: str, title: str, groups: dict[Any, list[Run]]) -> Callable[[Any], None]:
    """Return what draws the errors of all rankings and of BGN by weights, both on a log scale."""
    from bgn.plots.style import FIRST, ink, plain_axes

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        plain_axes(ax)
        for (method, label), color, sign in zip(PRUNED.items(), COLORS, "sDPv^<x", strict=True):
            curves = _curves(groups.get((name, method, schedule)))
            if curves and min(map(len, curves)) > 1:
                x, y, deviation = by_step(curves).T
                ax.errorbar(
                    x,
                    y,
                    deviation,
                    fmt=f"{sign}-",
                    color=color,
                    markersize=4,
                    linewidth=1.1,
                    elinewidth=0.8,
                    label=label,
                )
        for (method, label), dash, color in zip(GROWN.items(), ("-", "--"), (FIRST, ink(0.9)), strict=True):
            runs = groups.get((name, method, None))
            if curves := _curves(runs):
                x, y, deviation = by_step(curves).T
                ax.plot(x, y, dash, color=color, linewidth=2.2, label=label, zorder=4)
                ax.fill_between(x, y - deviation, y + deviation, color=color, alpha=0.15, linewidth=0)
                ends = [run.figures["converged"] for run in runs or () if run.error is None]
                for line, figure in ((ax.axvline, "weights"), (ax.axhline, "test_mse")):
                    line(np.mean([end[figure] for end in ends]), color=color, linestyle=":", linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel="non-zero weights", ylabel="test mean squared error")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "235" else "")
        ax.set_title(title, fontsize=11)
        canvas.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=3)  # lines are everywhere

    return draw


def _curves(runs: Sequence[Run] | None) -> list[Any]:
    """Return the curves of runs that did not fail."""
    return [run.figures["curve"] for run in runs or () if run.error is None]
