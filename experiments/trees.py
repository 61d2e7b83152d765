"""Figure 5 and Table 5: regression trees of depth 3, 4 and 5 on housing, and the smallest one-layer BGN as good.

Trees have the choices the paper kept: every feature at every split, squared error, the best split. A tree and a network
always see the same columns and the same training rows; that the printed table does is doubtful.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from bgn import BGNRegressor
from experiments import data
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Table, by, mean

REVISION = 1

COLUMNS = {"housing": "StatLib's columns", "housing:averaged": "averaged columns"}
GROWN = {"bgn": "BGN, our defaults", "bgn_paper": "BGN, as in the paper"}
DEPTHS = (3, 4, 5)
# What the paper searches for its trees: columns looked at per split, criterion, which split is taken.
SEARCHED = {
    "max_features": [None, "sqrt", "log2"],
    "criterion": ["squared_error", "friedman_mse", "absolute_error", "poisson"],
    "splitter": ["best", "random"],
}

# Test MSE, size (depth of the tree, width of the network), features.
PRINTED = {
    3: {"network": (0.6358, 5, 3), "tree": (0.6413, 3, 3)},
    4: {"network": (0.5849, 7, 4), "tree": (0.5779, 4, 5)},
    5: {"network": (0.5020, 8, 5), "tree": (0.5291, 5, 6)},
}


def tasks(options: Options) -> list[Task]:
    """Return the trees and the networks to grow, on both sets of columns."""
    smoke = options.scale == "smoke"
    split = data.paper_split(400 if smoke else None)
    width = 6 if smoke else 60
    seeds = range(options.seeds or (2 if smoke else 5))
    drawn = Task("trees", "housing", "tree, drawn", {"max_depth": 3}, 0, split)
    return [drawn] + [
        Task("trees", name, method, parameters, seed, split)
        for name in COLUMNS
        for method, parameters in [
            *((f"tree {depth}", {"max_depth": depth}) for depth in DEPTHS),
            *((f"tree {depth}, searched", {"max_depth": depth, "grid": SEARCHED}) for depth in DEPTHS),
            *((method, {"max_terms": width}) for method in GROWN),
        ]
        for seed in seeds
    ]


def cost(task: Task) -> float:
    """Return about how many seconds a run takes."""
    return {"bgn": 20.0, "bgn_paper": 10.0}.get(task.method, 5.0 if task.method.endswith("searched") else 0.1)


def run(task: Task) -> dict[str, Any]:
    """Fit a tree, or grow a layer and look at it at every width."""
    rows = data.split(task)
    if task.method in GROWN:
        return grown(task, rows)
    if task.method.endswith("searched"):
        return searched(task, rows)
    tree = DecisionTreeRegressor(**task.parameters, random_state=task.seed).fit(rows.X, rows.y)
    if task.method.endswith("drawn"):
        return {"marks": layout(tree, rows.names)}
    return rows.mse(tree) | {
        "splits": int((tree.tree_.children_left >= 0).sum()),
        "features": len(set(tree.tree_.feature[tree.tree_.feature >= 0].tolist())),
        "nodes": nodes(tree, rows.names),
    }


def searched(task: Task, rows: data.Rows) -> dict[str, Any]:
    """Return the errors of the tree that validates best, its parameters, and the validation errors of all."""
    depth, grid = task.parameters["max_depth"], dict(sorted(task.parameters["grid"].items()))  # as records keep it
    tried: list[tuple[float, dict[str, Any], DecisionTreeRegressor]] = []
    for values in product(*grid.values()):
        setting = dict(zip(grid, values, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # Friedman's criterion goes, being the squared error
            tree = DecisionTreeRegressor(max_depth=depth, random_state=task.seed, **setting).fit(rows.X, rows.y)
        tried.append((rows.mse(tree)["validation_mse"], setting, tree))
    _, setting, tree = min(tried, key=lambda trial: trial[0])
    return rows.mse(tree) | {"chosen": setting, "tried": [[setting, error] for error, setting, _ in tried]}


def grown(task: Task, rows: data.Rows) -> dict[str, Any]:
    """Return errors, features and conditions of one layer at every width, the intercept alone first."""
    make = BGNRegressor.as_in_paper if task.method == "bgn_paper" else BGNRegressor
    alone = {"max_layers": 1, "patience": None, **data.ALONE, "random_state": task.seed, "n_jobs": 1}
    model = data.build(make, {**task.parameters, **alone})
    model.fit(rows.X, rows.y, eval_set=(rows.X_validation, rows.y_validation))
    networks = [model.history_.network(width) for width in range(len(model.history_.paths[0]))]
    errors = [rows.mse(network) for network in networks]
    return {
        "validation_mse": [error["validation_mse"] for error in errors],
        "test_mse": [error["test_mse"] for error in errors],
        "features": [len(network.features_used) for network in networks],
        "conditions": [network.n_conditions for network in networks],
    }


# -- what is shown ---------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return trees and networks beside the printed ones, the errors by size and the tree of depth three."""
    groups = by(runs, "dataset", "method")
    body = [line for name in COLUMNS for depth in DEPTHS for line in _lines(name, depth, groups, matching)]
    again = [line[:7] for name in COLUMNS for depth in DEPTHS for line in _lines(name, depth, groups, matching_means)]
    shown: list[Table | Figure] = [
        Table("trees", "Trees, and the smallest one-layer networks as good", HEADER, body, NOTES),
        Table("trees-by-test", "The same, widths chosen by the test error", HEADER[:7], again, TEST_NOTES),
        Table("trees-searched", "Trees with the paper's search", SEARCH, _searched(groups), SEARCH_NOTES),
    ]
    shown += [
        Figure(f"trees-{_label(name)}", f"Test error by size, {COLUMNS[name]}", _curves(name, groups))
        for name in COLUMNS
        if any(_sound(groups.get((name, method))) for method in GROWN)
    ]
    first = next((run for run in runs if run.task.method == "tree 3" and run.error is None), None)
    if first is not None:
        title = "A regression tree of depth three on housing"
        shown.append(Figure("trees-depth-3", title, ours(first.figures["nodes"]), (9.0, 3.6)))
    drawn = next((run for run in runs if run.task.method == "tree, drawn" and run.error is None), None)
    if drawn is not None:
        title = "The same tree, drawn by scikit-learn"
        shown.append(Figure("trees-scikit-learn", title, scikit_learns(drawn.figures["marks"]), (9.0, 3.6)))
    return shown


MOST_DRAWN = 60
"""The most conditions that figures show."""

SEARCH = ("columns", "depth", "test MSE, searched", "test MSE, the paper's choice", "chosen", "its validation MSE")
SEARCH_NOTES = (
    "Means over seeds. The search tries 24 combinations: columns looked at per split (all, square root, logarithm), "
    "criterion (squared error, Friedman's, absolute error, Poisson), split (best, random); each seed takes what "
    "validates best. Chosen: the combination with the least mean validation error, and by how many seeds. The paper "
    "kept all columns, squared error and the best split.",
)


def _searched(groups: dict[Any, list[Run]]) -> list[list[Cell]]:
    """Return the searched trees beside those of the paper's choice."""
    lines: list[list[Cell]] = []
    for name, depth in product(COLUMNS, DEPTHS):
        searches, plain = groups.get((name, f"tree {depth}, searched")), groups.get((name, f"tree {depth}"))
        line: list[Cell] = [COLUMNS[name], depth, mean(searches, "test_mse"), mean(plain, "test_mse"), None, None]
        if searches and _sound(searches):
            errors: dict[str, list[float]] = {}
            for setting, error in (trial for run in searches for trial in run.figures["tried"]):
                errors.setdefault(_combination(setting), []).append(error)
            best = min(errors, key=lambda combination: float(np.mean(errors[combination])))
            own = sum(_combination(run.figures["chosen"]) == best for run in searches)
            line[4:] = [f"{best} ({own} of {len(searches)} seeds)", float(np.mean(errors[best]))]
        lines.append(line)
    return lines


def _combination(setting: dict[str, Any]) -> str:
    """Return a combination in words."""
    columns, criterion = setting["max_features"] or "all", setting["criterion"].replace("_", " ")
    return f"{columns} columns, {criterion}, {setting['splitter']} split"


HEADER = (
    "columns", "depth", "model", "test MSE", "conditions", "neurons", "features", "printed MSE", "printed size",
    "printed features",
)  # fmt: skip
NOTES = (
    "Means over seeds. Size is the number of conditions that a reader reads: one per split of a tree, one per "
    "comparison of a network, two where a sum of two features is compared. The width of a network is the smallest "
    "number of neurons at which its validation error is at most the tree's, seed by seed; the test rows have no say. "
    "The printed size is a depth for trees and a width for networks.",
)
TEST_NOTES = (
    "The smallest width at which the mean test error is at most the tree's, which is how the printed table seems to "
    "be made.",
)


def _lines(
    name: str, depth: int, groups: dict[Any, list[Run]], reach: Callable[[Sequence[Run], Sequence[Run]], list[Cell]]
) -> list[list[Cell]]:
    """Return the tree of a depth, and both kinds of network that reach it."""
    trees = groups.get((name, f"tree {depth}"), [])
    head: list[Cell] = [COLUMNS[name], depth]
    error, splits, features = (mean(trees, figure) for figure in ("test_mse", "splits", "features"))
    lines: list[list[Cell]] = [[*head, "tree", error, splits, None, features, *PRINTED[depth]["tree"]]]
    for method, label in GROWN.items():
        printed = PRINTED[depth]["network"] if method == "bgn_paper" else (None, None, None)
        lines.append([*head, label, *reach(trees, groups.get((name, method), [])), *printed])
    return lines


def matching(trees: Sequence[Run], networks: Sequence[Run]) -> list[Cell]:
    """Return mean test error, conditions, width and features of the smallest networks that validate as well as the
    trees."""
    if not trees or not networks:
        return [MISSING, None, None, None]
    if not (_sound(trees) and _sound(networks)):
        return [FAILED, None, None, None]
    limits = {run.task.seed: run.figures["validation_mse"] for run in trees}
    figures_at_size = []
    for run in networks:
        if run.task.seed not in limits:
            continue
        width = smallest(run.figures["validation_mse"], limits[run.task.seed])
        if width is None:
            return ["not reached", None, None, None]
        error, conditions, features = (run.figures[name][width] for name in ("test_mse", "conditions", "features"))
        figures_at_size.append((error, conditions, width, features))
    if not figures_at_size:
        return [MISSING, None, None, None]
    return [float(value) for value in np.mean(figures_at_size, axis=0)]


def matching_means(trees: Sequence[Run], networks: Sequence[Run]) -> list[Cell]:
    """Return mean test error, conditions, width and features of the smallest width whose mean test error is the
    trees'."""
    if not trees or not networks:
        return [MISSING, None, None, None]
    if not (_sound(trees) and _sound(networks)):
        return [FAILED, None, None, None]
    errors = _stacked(networks, "test_mse").mean(axis=0)
    width = smallest(errors.tolist(), float(mean(trees, "test_mse")))
    if width is None:
        return ["not reached", None, None, None]
    conditions, features = (_stacked(networks, name)[:, width].mean() for name in ("conditions", "features"))
    return [float(errors[width]), float(conditions), width, float(features)]


def error_within(run: Run, most: int) -> float:
    """Return the test error of a run's widest network with at most so many conditions, nan where that has no neuron."""
    width = max(width for width, conditions in enumerate(run.figures["conditions"]) if conditions <= most)
    return run.figures["test_mse"][width] if width else math.nan


def smallest(errors: Sequence[float], limit: float) -> int | None:
    """Return the first place at which an error is at most the limit.

    Examples
    --------
    >>> smallest([3.0, 2.0, 1.0], 2.5)
    1
    """
    return next((place for place, error in enumerate(errors) if error <= limit), None)


def _stacked(runs: Sequence[Run], figure: str) -> np.ndarray:
    """Return a figure by width, a row a run, as far as all of them go."""
    shortest = min(len(run.figures[figure]) for run in runs)
    return np.array([run.figures[figure][:shortest] for run in runs])


def _sound(runs: Sequence[Run] | None) -> bool:
    """Whether there are runs and none failed."""
    return bool(runs) and all(run.error is None for run in runs or ())


def _label(name: str) -> str:
    """Return a table's name as part of a file's."""
    return "statlib" if name == "housing" else name.partition(":")[2]


def _curves(name: str, groups: dict[Any, list[Run]]) -> Callable[[Any], None]:
    """Return what draws the networks' errors by conditions, the trees as lines across."""
    from bgn.plots.style import FIRST, SECOND, THIRD, ink, plain_axes

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        plain_axes(ax)
        for (method, label), color in zip(GROWN.items(), (FIRST, THIRD), strict=True):
            runs = groups.get((name, method))
            if not _sound(runs):
                continue
            largest = min(max(run.figures["conditions"]) for run in runs or ())
            sizes = np.arange(1, min(largest, MOST_DRAWN) + 1)
            errors = np.array([[error_within(run, int(size)) for size in sizes] for run in runs or ()])
            middle, deviation = errors.mean(axis=0), errors.std(axis=0)
            ax.fill_between(sizes, middle - deviation, middle + deviation, color=color, alpha=0.15, linewidth=0)
            ax.plot(sizes, middle, "o-", markersize=3, linewidth=1.6, color=color, label=label)
        for depth in DEPTHS:
            trees = groups.get((name, f"tree {depth}"))
            if _sound(trees):
                error, splits = float(mean(trees, "test_mse")), float(mean(trees, "splits"))
                ax.axhline(error, color=ink(0.35), linewidth=0.9, linestyle="--", zorder=1)
                ax.plot(
                    [splits],
                    [error],
                    "s",
                    color=SECOND,
                    markersize=7,
                    label="trees of depth 3, 4, 5" if depth == 3 else None,
                )
        size = "conditions, at most: one per split of a tree, one or two per neuron of a network"
        ax.set(xlabel=size, ylabel="test mean squared error")
        ax.set_title(f"California housing, {COLUMNS[name]}", fontsize=11)
        ax.legend(frameon=False)

    return draw


# -- A fitted tree in plain values, and two drawings of it: ours, and scikit-learn's as it laid it out


def nodes(tree: DecisionTreeRegressor, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the nodes of a fitted tree in plain values, the root first."""
    inner = tree.tree_
    return [
        {"value": float(inner.value[k, 0, 0]), "rows": int(inner.n_node_samples[k])}
        | (
            {
                "name": names[inner.feature[k]],
                "threshold": float(inner.threshold[k]),
                "below": int(inner.children_left[k]),
                "above": int(inner.children_right[k]),
            }
            if inner.children_left[k] >= 0
            else {}
        )
        for k in range(inner.node_count)
    ]


def layout(tree: DecisionTreeRegressor, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return scikit-learn's drawing of a fitted tree: its texts, where they stand and what they point to."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from sklearn.tree import plot_tree

    canvas = FigureCanvasAgg(Figure((9.0, 3.6)))
    marks = plot_tree(tree, feature_names=list(names), filled=True, precision=2, ax=canvas.figure.subplots())
    return [
        {
            "text": mark.get_text(),
            "at": list(mark.get_position()),
            "from": list(mark.xy),
            "colour": None if (box := mark.get_bbox_patch()) is None else [float(part) for part in box.get_facecolor()],
        }
        for mark in marks
    ]


def scikit_learns(marks: Sequence[dict[str, Any]]) -> Callable[[Any], None]:
    """Return what draws a tree as scikit-learn laid it out."""

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        ax.set_axis_off()
        for number, mark in enumerate(marks):
            box = None if mark["colour"] is None else {"facecolor": mark["colour"], "edgecolor": "black"}
            arrow = {"arrowstyle": "<-"} if mark["at"] != mark["from"] and box else None
            place = {"xycoords": "axes fraction", "textcoords": "axes fraction", "ha": "center", "va": "center"}
            look = {"fontsize": 6, "bbox": box, "arrowprops": arrow, "zorder": 100 - number}  # parents over arrows
            ax.annotate(mark["text"], mark["from"], mark["at"], **look, **place)

    return draw


def ours(nodes: list[dict[str, Any]]) -> Callable[[Any], None]:
    """Return what draws a tree: a box a node, the condition above, yes to the left."""
    from bgn.plots.style import ink

    places: dict[int, tuple[float, int]] = {}

    def place(node: int, depth: int) -> float:
        inner = "below" in nodes[node]
        leaves = sum("below" not in nodes[k] for k in places)
        x = (
            (place(nodes[node]["below"], depth + 1) + place(nodes[node]["above"], depth + 1)) / 2
            if inner
            else float(leaves)
        )
        places[node] = (x, depth)
        return x

    place(0, 0)

    def draw(canvas: Any) -> None:
        ax = canvas.subplots()
        ax.set_axis_off()
        low, high = min(n["value"] for n in nodes), max(n["value"] for n in nodes)
        for k, node in enumerate(nodes):
            x, depth = places[k]
            for side, answer in (("below", "yes"), ("above", "no")):
                if side in node:
                    to, _ = places[node[side]]
                    ax.plot([x, to], [-depth, -depth - 1], color=ink(0.4), linewidth=1, zorder=1)
                    ax.text((x + to) / 2, -depth - 0.5, answer, fontsize=7, color=ink(0.6), ha="center", va="center",
                            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6}, zorder=2)  # fmt: skip
            condition = f"{node['name']} ≤ {node['threshold']:.4g}\n" if "name" in node else ""
            shade = 0.04 + 0.3 * (node["value"] - low) / (high - low or 1)
            text = f"{condition}{node['value']:.2f}\n{node['rows']:,} rows"
            box = {"facecolor": ink(shade), "edgecolor": ink(0.6), "boxstyle": "round,pad=0.35"}
            ax.text(x, -depth, text, fontsize=7.5, ha="center", va="center", bbox=box, zorder=3)
        widest, deepest = max(x for x, _ in places.values()), max(depth for _, depth in places.values())
        ax.set(xlim=(-0.6, widest + 0.6), ylim=(-deepest - 0.45, 0.4))

    return draw
