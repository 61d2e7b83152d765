"""Tables 2 and 3: the seven tables as their files are, and the methods as they really run, beside what is printed.

The shapes are those of the matrices that every study fits. What a method has (binary weights, levels of its
activations, batch norm, a penalty) is read off a small network of it that was trained, not off a description.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bgn import BGNRegressor
from experiments import data
from experiments.accuracy import OWN, TRAINED
from experiments.store import Options, Run, Task
from experiments.tables import FAILED, MISSING, Cell, Figure, Table, by

REVISION = 1

# Table 2: columns, what they hold (F = floats, I = integers), rows.
PRINTED = {
    "bike": (16, "F/I", 17_389), "diabetes": (10, "F/I", 442), "housing": (8, "F", 20_640),
    "chickenpox": (20, "F", 521), "istanbul": (8, "F", 536), "parking": (4, "F", 35_717),
    "power_plant": (4, "F", 9_568),
}  # fmt: skip
# Table 3: weights, outputs of activations, batch norm, regularisation.
PRINTED_METHODS = {
    "bgn_paper": ("real", "-1, +1", "no", "no"), "binaryconnect": ("-1, +1", "real", "yes", "no"),
    "bnn": ("real", "-1, +1", "yes", "no"), "bnn_identity": ("real", "-1, +1", "yes", "no"),
    "bnn_plus": ("real", "0, 1", "yes", "yes"), "bireal": ("real", "-1, +1", "yes", "no"),
    "quantization": ("real", "0, 1", "yes", "no"),
}  # fmt: skip
LABELS = {"bgn_paper": "BGN, as in the paper"} | TRAINED


def tasks(options: Options) -> list[Task]:
    """Return the tables to look at, and a small network of every method."""
    tables = ("diabetes",) if options.scale == "smoke" else data.TABLES
    looked = [Task("overview", name, "table", {}, 0, data.paper_split()) for name in tables]
    own = [Task("overview", "diabetes", method, {"width": 4}, 0, data.paper_split(200)) for method in LABELS]
    return looked + own


def extra(task: Task) -> str | None:
    """Return the extra that training by gradients needs."""
    return "torch" if task.method in TRAINED else None


def run(task: Task) -> dict[str, Any]:
    """Look at a table, or at a network."""
    if task.method == "table":
        return _table(task.dataset)
    if task.method in TRAINED:
        return _trained(task)
    rows = data.split(task)
    model = BGNRegressor.as_in_paper(max_terms=task.parameters["width"], max_layers=1, random_state=task.seed)
    layer = model.fit(rows.X, rows.y).network_.layers[0]
    sums = rows.X @ layer.weights.T + layer.bias
    return {"weights": _distinct_values(layer.weights), "activations": _distinct_values(np.where(sums >= 0, 1.0, -1.0)),
            "batch_norm": "no", "penalty": "no"}  # fmt: skip


def _table(name: str) -> dict[str, Any]:
    """Return the shape of a table, and what its columns and its target are like."""
    X, y, _ = data.table(name)
    whole = [bool(np.all(column == np.round(column))) for column in X.T]
    return {
        "rows": len(y), "columns": X.shape[1], "integers": sum(whole), "target_mean": float(np.mean(y)),
        "target_variance": float(np.var(y)), "largest_targets": np.sort(y)[-2:].tolist(),
        "different_rows": len(np.unique(X, axis=0)),
    }  # fmt: skip


def _trained(task: Task) -> dict[str, Any]:
    """Return what a trained network has, from its numbers."""
    import torch

    from bgn.baselines import Config, Split, train_many
    from bgn.baselines.network import METHODS as SURROGATES
    from bgn.baselines.network import effective_weights

    rows = data.split(task)
    split = Split(rows.X, rows.y, rows.X_validation, rows.y_validation)
    own = OWN.get(task.method, [{}])[0]
    config = Config(task.method, (task.parameters["width"],), max_epochs=3, batch_size=64, **own)
    (model,) = train_many([config], split)
    weights = effective_weights(model.pieces()[0], SURROGATES[task.method], None)[0].numpy()
    sums = torch.linspace(-2, 2, 9, dtype=torch.float64).reshape(1, 1, -1)
    return {
        "weights": _distinct_values(weights),
        "activations": _distinct_values(SURROGATES[task.method].hard(sums).numpy()),
        "batch_norm": "yes" if np.any(model.running[: model.shape.n_neurons]) else "no",
        "penalty": "yes" if config.penalty else "no",
    }  # fmt: skip


def _distinct_values(values: Any) -> str:
    """Return the values that there are, where they are two; "real" otherwise."""
    distinct = sorted({float(value) for value in np.ravel(values) if value != 0 or np.min(values) >= 0})
    if len(distinct) != 2:
        return "real"
    return ", ".join(f"{value:+g}" if distinct[0] < 0 else f"{value:g}" for value in distinct)


# -- what is shown ---------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return the tables and the methods beside the printed ones."""
    groups = by(runs, "dataset", "method")
    names = [name for name in PRINTED if (name, "table") in groups]
    looked = [line for name in names for line in _shape(name, groups[name, "table"][0])]
    methods = [line for method in LABELS for line in _method(method, groups.get(("diabetes", method)))]
    return [
        Table("overview-tables", "The tables (Table 2)", TABLES, looked, (NOTE,)),
        Table("overview-methods", "The methods (Table 3)", METHODS, methods, (METHODS_NOTE,)),
    ]


TABLES = (
    "table", "whose", "columns", "of them whole numbers", "rows", "different rows", "variance of the target",
    "largest target", "next largest",
)  # fmt: skip
NOTE = "F = floats, I = integers. The printed figures are those of the archives' catalogues, not of the matrices."
METHODS = ("method", "whose", "weights", "outputs of activations", "batch norm", "regularisation")
METHODS_NOTE = "Read off a trained network of four neurons each."


def _shape(name: str, run: Run) -> list[list[Cell]]:
    """Return a table as it is, and as it is printed."""
    columns, kinds, rows = PRINTED[name]
    keys = ("columns", "integers", "rows", "different_rows", "target_variance")
    ours = [FAILED, *[None] * 6]
    if not run.error:
        ours = [*(run.figures[key] for key in keys), *reversed(run.figures["largest_targets"])]
    return [[name, "ours", *ours], [name, "printed", columns, kinds, rows, *[None] * 4]]


def _method(method: str, runs: Sequence[Run] | None) -> list[list[Cell]]:
    """Return a method as it runs, and as it is printed."""
    keys = ("weights", "activations", "batch_norm", "penalty")
    if not runs or runs[0].error:
        ours: list[Cell] = [FAILED if runs else MISSING, *[None] * 3]
    else:
        ours = [runs[0].figures[key] for key in keys]
    return [[LABELS[method], "ours", *ours], [LABELS[method], "printed", *PRINTED_METHODS[method]]]
