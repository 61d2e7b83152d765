"""Figures 6 and 7: networks of five, seven and eight neurons on housing, their equations and drawings.

Five stands beside the printed model, seven and eight beside the errors that Table 5 prints for such widths. The printed
equation is evaluated and explained on our rows too, so that its error and its percentages can be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bgn import BGNRegressor, Layer, Network, equation, importance
from bgn.explain.importance import Importance
from experiments import data
from experiments.store import Options, Run, Task
from experiments.tables import Cell, Figure, Table, by, mean

REVISION = 1

MODELS = {
    "printed": "the printed equation",
    "bgn_paper": "BGN, as in the paper",
    "bgn": "BGN, our defaults",
}
TARGET = "value (100 k$)"
# Width, and what Table 5 prints of it: test MSE and features.
WIDTHS = {5: (0.6358, 3), 7: (0.5849, 4), 8: (0.5020, 5)}

# Figure 6: weight, coefficients by column, threshold; the base is 1.00.
PRINTED = (
    (1.27, {"MedInc": 1.0}, 65.46),
    (1.01, {"MedAge": 0.59, "MedInc": 1.0}, 63.56),
    (0.60, {"MedInc": 1.0}, 28.20),
    (0.36, {"TotalBed": 1.0}, 622.0),
    (0.27, {"MedAge": 1.0}, 20.0),
)
PRINTED_FEATURES = {"MedInc": 0.62, "TotalBed": 0.28, "MedAge": 0.10}
PRINTED_NEURONS = (0.51, 0.19, 0.12, 0.10, 0.08)
NAMES = {"MedInc": "medianIncome", "MedAge": "housingMedianAge", "TotalBed": "totalBedrooms"}


def tasks(options: Options) -> list[Task]:
    """Return the printed model to evaluate and those to grow, each on five splits."""
    smoke = options.scale == "smoke"
    split = data.paper_split(400 if smoke else None)
    return [
        Task("housing_model", "housing", method, {"width": width}, seed, split)
        for method in MODELS
        for width in (WIDTHS if method != "printed" else (5,))
        for seed in range(options.seeds or (1 if smoke else 5))
    ]


def run(task: Task) -> dict[str, Any]:
    """Grow a network, or take the printed one; record it, its errors, and what matters in it on the test rows."""
    rows = data.split(task)
    if task.method == "printed":
        network = printed_network(rows.names)
    else:
        make = BGNRegressor.as_in_paper if task.method == "bgn_paper" else BGNRegressor
        size = {"max_layers": 1, "max_terms": task.parameters["width"], "patience": None}
        model = data.build(make, {**size, **data.ALONE, "random_state": task.seed, "n_jobs": 1})
        model.fit(rows.X, rows.y, eval_set=(rows.X_validation, rows.y_validation))
        network = model.history_.network(task.parameters["width"])
    return rows.mse(network) | {
        "features": len(network.features_used),
        "names": list(rows.names),
        "weights": network.layers[0].weights.tolist(),
        "bias": network.layers[0].bias.tolist(),
        "output_weights": network.output_weights.tolist(),
        "base": network.base,
        "importance": {kind: plain(importance(network, rows.X_test, kind=kind)) for kind in ("shap", "paper")},
    }


def printed_network(names: Sequence[str]) -> Network:
    """Return the equation of the paper's Figure 6 as a network. It prints ">", we ask ">="."""
    weights = np.zeros((len(PRINTED), len(names)))
    for row, (_, coefficients, _) in zip(weights, PRINTED, strict=True):
        for name, value in coefficients.items():
            row[list(names).index(NAMES[name])] = value
    outputs = np.array([weight / 2 for weight, _, _ in PRINTED])
    layer = Layer(weights, [-threshold for _, _, threshold in PRINTED])
    return Network.of_layers([layer], outputs, 1.0 + float(outputs.sum()), list(names), TARGET)


def plain(importance: Importance) -> dict[str, Any]:
    """Return importances in plain values."""
    return {name: getattr(importance, name).tolist() for name in ("features", "connections", "terms")}


# -- what is shown ---------------------------------------------------------------------------------------------


def show(runs: Sequence[Run]) -> list[Table | Figure]:
    """Return errors, equations, percentages and drawings; of grown models those of the first split."""
    groups = by(runs, "method", "width")
    errors = [
        [width, label, *(mean(groups.get((method, width)), name) for name in ("test_mse", "features")), *printed]
        for width, printed in WIDTHS.items()
        for method, label in MODELS.items()
        if method != "printed" or width == 5
    ]
    shown: list[Table | Figure] = [
        Table("housing_model", "Five, seven and eight neurons on housing (StatLib's columns)", HEADER, errors, NOTES)
    ]
    for (method, width), group in groups.items():
        if group[0].error is None:
            name = f"housing_model-{method.replace('_', '-')}" + ("" if width == 5 else f"-{width}")
            label = MODELS[method] if method == "printed" else f"{MODELS[method]}, {width} neurons"
            lines, note = _equation(group[0])
            shown.append(Table(name, f"The equation: {label}", ("", "if"), lines, note))
            size = (8.2, 3.6 if width == 5 else 4.6)
            shown.append(Figure(f"{name}-drawing", f"The drawing: {label}", _drawing(group[0]), size))
    printed = groups.get(("printed", 5))
    if printed and printed[0].error is None:
        shown += _percentages(printed[0])
    return shown


HEADER = ("neurons", "model", "test MSE", "features", "printed MSE", "printed features")


NOTES = (
    "Means over seeds. Which rows the printed equation was fitted to is unknown; some are among our test rows. Grown "
    "models have that many neurons, each of at most two features.",
)


def network_of(run: Run) -> Network:
    """Return the network that a run recorded."""
    figures = run.figures
    layer = Layer(figures["weights"], figures["bias"])
    return Network.of_layers([layer], figures["output_weights"], figures["base"], figures["names"], TARGET)


def importance_of(run: Run, kind: str = "shap") -> Importance:
    """Return the importances that a run recorded."""
    stored = run.figures["importance"][kind]
    parts = {name: np.array(stored[name]) for name in ("features", "connections", "terms")}
    return Importance(**parts, feature_names=tuple(run.figures["names"]), kind=kind)


def _equation(run: Run) -> tuple[list[list[Cell]], list[str]]:
    """Return the equation, one line per term, and what rounding it does."""
    first, *terms = equation(network_of(run), digits=4).splitlines()
    lines: list[list[Cell]] = [[first.strip(), "always"]]
    for term in terms:
        weight, _, condition = term.strip().partition(" [")
        if condition:
            lines.append([weight, condition.removesuffix("]")])
    return lines, [line for line in terms if " [" not in line]


def _drawing(run: Run) -> Callable[[Any], None]:
    """Return what draws the network with its percentages."""
    from bgn import plots

    return lambda canvas: plots.network(network_of(run), importance_of(run), digits=4, ax=canvas.subplots())


def _percentages(run: Run) -> list[Table | Figure]:
    """Return the percentages of the printed drawing beside those we compute for the printed equation."""
    kinds = {kind: importance_of(run, kind) for kind in ("shap", "paper")}
    names = run.figures["names"]
    body: list[list[Cell]] = []
    for short, share in PRINTED_FEATURES.items():
        place = names.index(NAMES[short])
        shares = [float(kind.relative_features[place]) for kind in kinds.values()]
        body.append([NAMES[short], *map(_percent, (share, *shares))])
    neurons = [sorted(kind.relative_terms, reverse=True) for kind in kinds.values()]
    for place, share in enumerate(PRINTED_NEURONS):
        body.append([f"neuron {place + 1}, by importance", *map(_percent, (share, *(n[place] for n in neurons)))])
    header = ("share of", "printed", "ours, mean SHAP size", "ours, the paper's algorithm")
    return [Table("housing_model-shares", "The printed model's percentages", header, body)]


def _percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.0f} %"
