"""The paper's two illustrations, with real networks: hyperplanes in the plane, and growth neuron by neuron."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from bgn import BGNRegressor, Layer, Network
from experiments import data
from experiments.store import Options, Run, Task
from experiments.tables import Figure, Table

REVISION = 1

SHOWN_ROWS = 600


def tasks(options: Options) -> list[Task]:
    """Return two neurons in a plane of housing, a small network to draw step by step, and two grown to the end."""
    smoke = options.scale == "smoke"
    split = data.paper_split(400 if smoke else None)
    planes = {"columns": ["longitude", "latitude"], "target": "value, 100 k$", "max_terms": 2}
    return [
        Task("figures", "housing", "hyperplanes", planes, 0, split),
        Task("figures", "power_plant", "building", {"max_layers": 2, "max_terms": 3}, 0, split),
        *(
            Task("figures", "power_plant", method, {"max_layers": 2, "max_terms": 4 if smoke else 30}, 0, split)
            for method in ("growth", "growth as in the paper")
        ),
    ]


def code(task: Task) -> str:
    """Return which part of bgn decides a figure."""
    return "growth"


def run(task: Task) -> dict[str, Any]:
    """Grow a network and record what its figure needs."""
    rows, parameters = data.split(task), task.parameters
    columns = [rows.names.index(name) for name in parameters.get("columns", rows.names)]
    X, held = rows.X[:, columns], (rows.X_validation[:, columns], rows.y_validation)
    limits = {name: parameters[name] for name in ("max_layers", "max_terms") if name in parameters}
    make = BGNRegressor if task.method in ("hyperplanes", "growth") else BGNRegressor.as_in_paper
    model = data.build(make, {**limits, **data.ALONE, "random_state": task.seed, "n_jobs": 1})
    model.fit(X, rows.y, eval_set=held)
    history = model.history_
    if task.method == "hyperplanes":
        return {
            "network": plain(history.network(parameters["max_terms"])),
            "X": X[:SHOWN_ROWS].tolist(),
            "y": rows.y[:SHOWN_ROWS].tolist(),
        }
    if task.method == "building":
        steps = [(layer, width) for layer, path in enumerate(history.paths) for width in range(1, len(path))]
        return {"networks": [plain(history.network(width, layer)) for layer, width in steps], "names": list(rows.names)}
    kept = ("layer", "n_terms", "kind", "train_mse", "validation_mse", "bound")
    records = [{name: getattr(record, name) for name in kept} for record in history.records]
    conditions = [
        [history.network(size, layer).n_conditions for size in range(len(path))]
        for layer, path in enumerate(history.paths)
    ]
    return {
        "records": records, "conditions": conditions, "best_layer": history.best_layer, "best_size": history.best_size,
    }  # fmt: skip


def plain(network: Network) -> dict[str, Any]:
    """Return a network in plain values."""
    layers = [{"weights": layer.weights.tolist(), "bias": layer.bias.tolist()} for layer in network.layers]
    return {"layers": layers, "output_weights": network.output_weights.tolist(), "base": network.base}


def network_of(stored: dict[str, Any], names: Sequence[str], target: str | None = None) -> Network:
    """Return a network from plain values."""
    layers = [Layer(layer["weights"], layer["bias"]) for layer in stored["layers"]]
    return Network.of_layers(layers, stored["output_weights"], stored["base"], list(names), target)


# -- what is shown ---------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return the figures whose runs are there, and which failed."""
    drawn = {
        "hyperplanes": _hyperplanes, "building": _building, "growth": _growth, "growth as in the paper": _growth,
    }  # fmt: skip
    size = {"hyperplanes": (11.0, 7.0), "building": (10.0, 2.9)}
    title = {
        "hyperplanes": "Two neurons in the plane: labels, regions, predictions",
        "building": "A network grows, neuron by neuron and layer by layer",
        "growth": "Errors and Theorem 1's bound while a network grows with our defaults",
        "growth as in the paper": "Errors and Theorem 1's bound while a network grows as in the paper",
    }
    failed = [[run.task.method, run.error] for run in runs if run.error is not None]
    tables: list[Table | Figure] = (
        [Table("figures-failed", "Figures that failed", ("figure", "error"), failed)] if failed else []
    )
    return tables + [
        Figure(f"figures-{method.replace(' ', '-')}", title[method], drawn[method](run), size.get(method, (7.0, 4.2)))
        for run in runs
        if run.error is None and (method := run.task.method)
    ]


def _hyperplanes(run: Run) -> Callable[[Any], None]:
    """Return what draws labels, regions and predictions over two columns, from the side and from above."""
    from bgn import plots
    from bgn.plots.style import ink

    names, target = run.task.parameters["columns"], run.task.parameters["target"]
    X, y = np.array(run.figures["X"]), np.array(run.figures["y"])
    network = network_of(run.figures["network"], names, target)

    def draw(canvas: Any) -> None:
        panels = [canvas.add_subplot(2, 3, 1 + k, projection="3d") for k in range(3)]
        below = [canvas.add_subplot(2, 3, 4 + k) for k in range(3)]
        dots = {"c": y, "cmap": "cividis", "s": 7}
        plots.regions(network, X, steps=True, ax=panels[2])
        plots.regions(network, X, ax=below[2])
        box = [(values.min(), values.max()) for values in X.T]
        floor = np.zeros(len(y))
        for ax, heights in zip(panels, (y, floor), strict=False):
            ax.scatter(X[:, 0], X[:, 1], heights, **dots)
            ax.set(xlim=box[0], ylim=box[1], zlim=(0, y.max()))
            ax.view_init(elev=30, azim=panels[2].azim)
        for ax in below[:2]:
            ax.scatter(X[:, 0], X[:, 1], **dots)
            ax.set(xlim=box[0], ylim=box[1], xlabel=names[0], ylabel=names[1])
        for line in _ends(network, box):
            panels[1].plot(*line, [0, 0], color=ink(), linewidth=1.8)
            below[1].plot(*line, color=ink(), linewidth=1.8)
        for ax, title in zip(panels, ("labels", "the hidden layer's hyperplanes", "predictions"), strict=True):
            ax.set_title(title, fontsize=11)
            ax.set(xticklabels=[], yticklabels=[], xlabel=names[0], ylabel=names[1], zlabel=target)
            ax.xaxis.labelpad = ax.yaxis.labelpad = -10
            ax.tick_params(labelsize=8)
            ax.set_in_layout(False)  # older Matplotlib finds no room for what a 3d axes might hold
        panels[1].set(zticks=[], zlabel="")

    return draw


def _ends(network: Network, box: Sequence[tuple[float, float]]) -> list[tuple[list[float], list[float]]]:
    """Return where each neuron's line enters and leaves a box: the two x and the two y."""
    layer, ends = network.layers[0], []
    for (a, b), threshold in zip(layer.weights, layer.thresholds, strict=True):
        corners = []
        for x in box[0]:
            if b and box[1][0] <= (y := (threshold - a * x) / b) <= box[1][1]:
                corners.append((x, y))
        for y in box[1]:
            if a and box[0][0] <= (x := (threshold - b * y) / a) <= box[0][1]:
                corners.append((x, y))
        if len(corners) >= 2:
            ends.append(([corners[0][0], corners[1][0]], [corners[0][1], corners[1][1]]))
    return ends


def _building(run: Run) -> Callable[[Any], None]:
    """Return what draws the network after every neuron, the new one in colour."""
    from bgn.plots.style import SECOND, ink

    names = run.figures["names"]
    networks = [network_of(stored, names) for stored in run.figures["networks"]]

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, len(networks), squeeze=False)[0]
        tallest = max(len(names), *(width for network in networks for width in network.widths))
        for ax, network in zip(panels, networks, strict=True):
            _draw_network(ax, network, tallest, SECOND, ink)
            ax.set_title(f"⟨{', '.join(map(str, (len(names), *network.widths, 1)))}⟩", fontsize=10)
        for height, name in zip(_heights(len(names), tallest), names, strict=True):
            panels[0].text(-0.25, height, name, ha="right", va="center", fontsize=8)

    return draw


def _draw_network(ax: Any, network: Network, tallest: int, new: str, ink: Callable[[float], Any]) -> None:
    """Draw circles and non-zero weights, the last neuron of the last layer in another colour."""
    sizes = (network.n_inputs, *network.widths, 1)
    places = [[(float(k), height) for height in _heights(size, tallest)] for k, size in enumerate(sizes)]
    matrices = [*(layer.weights for layer in network.layers), network.output_weights[np.newaxis]]
    added = (len(network.widths), network.widths[-1] - 1)
    for k, matrix in enumerate(matrices):
        for (i, j), weight in np.ndenumerate(matrix):
            if weight:
                fresh = (k + 1, i) == added or (k, j) == added
                (x0, y0), (x1, y1) = places[k][j], places[k + 1][i]
                ax.plot([x0, x1], [y0, y1], color=new if fresh else ink(0.5), linewidth=1.5 if fresh else 1.0, zorder=1)
    for k, column in enumerate(places):
        for i, (x, y) in enumerate(column):
            edge = new if (k, i) == added else ink(0.7)
            ax.plot([x], [y], "o", markersize=11, markerfacecolor="white", markeredgecolor=edge, markeredgewidth=1.5)
    ax.set(xlim=(-0.3, len(sizes) - 0.7), ylim=(-0.6, tallest - 0.4))
    ax.set_axis_off()


def _heights(size: int, tallest: int) -> list[float]:
    """Return the heights of a column of circles, in the middle."""
    return [(tallest - size) / 2 + size - 1 - k for k in range(size)]


def _paths(records: list[Any]) -> list[list[Any]]:
    """Return the layers at every size, as far as their records tell: what a size came to."""
    paths = []
    for layer in sorted({record.layer for record in records}):
        reached = {record.n_terms: record for record in records if record.layer == layer}
        paths.append([reached.get(size, reached[min(reached)]) for size in range(max(reached) + 1)])
    return paths


def _growth(run: Run) -> Callable[[Any], None]:
    """Return what draws errors and the bound along the path, by conditions; the axis says how many neurons they are."""
    from bgn import plots

    losses = {"train_mse": "train_loss", "validation_mse": "validation_loss"}
    renamed = [{losses.get(name, name): value for name, value in record.items()} for record in run.figures["records"]]
    records = [SimpleNamespace(**record) for record in renamed]
    conditions, best_layer, best_size = (run.figures[name] for name in ("conditions", "best_layer", "best_size"))
    history = SimpleNamespace(
        records=records, best_layer=best_layer, best_size=best_size, paths=_paths(records),
        link="identity", cross_validated=False,
        network=lambda size=best_size, layer=best_layer: SimpleNamespace(n_conditions=conditions[layer][size]),
    )  # fmt: skip
    neurons, tried = (
        " + ".join(map(str, counts))
        for counts in ([len(own) - 1 for own in conditions], [own[-1] - own[0] for own in conditions])
    )

    def draw(canvas: Any) -> None:
        ax = plots.growth(history, ax=canvas.subplots())
        ax.set_xlabel(f"{ax.get_xlabel()} ({neurons} neurons: {tried} conditions)")

    return draw
