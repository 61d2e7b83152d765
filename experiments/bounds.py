"""Theorem 1 along depth: what each layer of a grown network could still reach, and what growth made of it.

A layer's bound is the training error of the best that any layers and output above it could do: the variance of the
target left inside its regions. Depth can only raise it. The fits are those of ``accuracy``, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from experiments import accuracy
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Table, by

REVISION = 1
PUBLISHED = {"reduced": 3}

HEADER = (
    "table", "layer", "seeds", "width", "bound", "lost by this layer", "training MSE", "above the bound",
    "validation MSE", "test MSE",
)  # fmt: skip
NOTES = (
    "Means over the seeds whose growth came so far. The bound of a layer is what no output and no layers above it can "
    "go below on the training rows; the training, validation and test errors are those of the network that ends there.",
    "Lost by this layer: the rise of the bound over the layer below, of the same seeds. Above the bound: what the "
    "output layer leaves.",
)


def tasks(options: Options) -> list[Task]:
    """Return the fits of ``accuracy`` that follow the paper."""
    return [task for task in accuracy.tasks(options) if task.method == "bgn_paper"]


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return a line a layer, and a panel a table."""
    groups = by(runs, "dataset")
    rows = [line for name, group in groups.items() for line in _lines(name, group)]
    sound = {name: [run for run in group if run.error is None] for name, group in groups.items()}
    drawn = {name: group for name, group in sound.items() if group}
    figure = Figure("bounds", "Theorem 1 along depth", lambda canvas: _draw(canvas, drawn), (9.0, 4.5))
    return [Table("bounds", "Theorem 1 along depth", HEADER, rows, NOTES), *([figure] if drawn else [])]


def _lines(name: str, runs: list[Run]) -> list[list[Cell]]:
    """Return a table's lines, a layer each."""
    sound = [run.figures["depths"] for run in runs if run.error is None]
    if not sound:
        return [[name, *[FAILED if runs else MISSING] * (len(HEADER) - 1)]]
    lines: list[list[Cell]] = []
    for layer in range(max(map(len, sound))):
        reached = [depths for depths in sound if len(depths) > layer]
        here = {figure: _mean(depths[layer][figure] for depths in reached) for figure in reached[0][layer]}
        below = _mean(depths[layer - 1]["bound"] for depths in reached) if layer else None
        lost = None if below is None else here["bound"] - below
        left = here["train_mse"] - here["bound"]
        errors = (here["train_mse"], left, here["validation_mse"], here["test_mse"])
        lines.append([name, layer + 1, len(reached), round(here["width"]), here["bound"], lost, *errors])
    return lines


def _mean(values: Any) -> float:
    """Return the mean of some numbers."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)


def _draw(canvas: Any, groups: dict[str, list[Run]]) -> None:
    """Draw bounds and errors by layer, a panel a table, each in units of its first layer's training error."""
    panels = canvas.subplots(-(-len(groups) // 4), min(4, len(groups)), squeeze=False).ravel()
    labels = {"bound": "bound", "train_mse": "training MSE", "test_mse": "test MSE"}
    for axes, (name, runs) in zip(panels, groups.items(), strict=False):
        for k, run in enumerate(runs):
            depths = run.figures["depths"]
            unit = depths[0]["train_mse"]
            for color, (figure, label) in zip(("C0", "C1", "C2"), labels.items(), strict=True):
                values = [depth[figure] / unit for depth in depths]
                axes.plot(
                    range(1, len(depths) + 1), values, marker="o", markersize=3, color=color, alpha=0.8,
                    label=label if k == 0 else None,
                )  # fmt: skip
        axes.set_title(name, fontsize=10)
        axes.set_xticks([1, 2, 3])
        axes.set_ylim(bottom=0)
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    canvas.supxlabel("hidden layers")
    canvas.supylabel("in units of the first layer's training MSE")
    handles, names = panels[0].get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside upper center", ncols=3, frameon=False)
