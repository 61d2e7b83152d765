"""The card that `bgn fit` shows: the equation, how well it does against the obvious, how large it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import bgn
from bgn.cli.train import TrainingRows
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.printable import clean, visible

_NAMES = {"model": "this model", "linear": "linear model", "mean": "predicting the mean"}


def short(error: float, digits: int = 4) -> str:
    """Write an error to a few significant digits, 19780 rather than 1.978e+04."""
    return f"{float(f'{error:.{digits}g}'):.12g}"


def scores(y: Floats, predicted: Floats) -> dict[str, float]:
    """Return R2, mean squared and mean absolute error; R2 is 0 where `y` does not vary."""
    error = y - predicted
    mse, variance = float(np.mean(error**2)), float(np.mean((y - y.mean()) ** 2))
    return {"r2": 1.0 - mse / variance if variance else 0.0, "mse": mse, "mae": float(np.mean(np.abs(error)))}


def compare(network: Network, train: tuple[Any, Floats], judged: tuple[Any, Floats]) -> dict[str, dict[str, float]]:
    """Score a network, a linear model and the mean, all learnt on `train`, on the rows `judged`."""
    from bgn.explain.linear import as_numbers, linear_predictions

    learnt, X, y = network.schema.encode(train[0], gaps=True), network.schema.encode(judged[0], gaps=True), judged[1]
    rows, others = (as_numbers(network.schema, each, learnt) for each in (learnt, X))
    return {
        "model": scores(y, network.predict_encoded(X)),
        "linear": scores(y, linear_predictions(rows, train[1], others)),
        "mean": scores(y, np.full(len(y), train[1].mean())),
    }


@dataclass(frozen=True)
class Card:
    """All that is told about a fit."""

    data: str
    target: str
    rows_train: int
    rows_test: int
    rows_judged: int
    equation: str
    figures: Mapping[str, Mapping[str, float]]
    width: int
    best_width: int
    mse_by_width: Mapping[str, Sequence[float]]
    unit: str | None
    validation_mse: float | None
    train_mse: float
    bound: float | None
    widths: tuple[int, ...]
    parameters: int
    features: int
    features_used: tuple[str, ...]
    stopped: str
    seconds: float
    notes: tuple[str, ...]
    files: Mapping[str, str]

    def as_plain(self) -> dict[str, Any]:
        """Return plain values for machines."""
        return {"library": bgn.__version__, **asdict(self)}

    @property
    def warnings(self) -> list[str]:
        """What a user should think twice about."""
        model, linear = self.figures["model"]["mse"], self.figures["linear"]["mse"]
        found = []
        if linear <= 1.01 * model:
            found.append(f"a linear model is {'better' if linear < 0.99 * model else 'as good'} on these rows.")
        if self.figures["mean"]["mse"] <= model:
            found.append("predicting the mean is as good: the model has found nothing that holds on these rows.")
        return found

    @property
    def more(self) -> list[str]:
        """What more questions would buy, in a line and its legend; nothing where no more were tried."""
        rows, errors = list(self.mse_by_width.items())[-1]  # the test rows, if there are any
        best = self.best_width
        if len(errors) - 1 <= self.width:
            return []
        if best <= self.width:
            by = "validation" if "validation" in self.mse_by_width else "training"
            return [f"more questions, up to {len(errors) - 1}, did not lower the {by} error"]
        sizes = [size for size in (2 * self.width, best) if 0 < size <= best]
        told = ", ".join(f"with {size} questions: {short(errors[size], 3)}" for size in dict.fromkeys(sizes))
        linear = "" if rows == "validation" else f"; a linear model: {short(self.figures['linear']['mse'], 3)}"
        unit = "" if self.unit is None else f", in {clean(self.unit)} squared"
        return [
            f"{told} instead of {short(errors[self.width], 3)}{linear}",
            f"(mean squared error on the {rows} rows{unit}; ask for more with --size {best})",
        ]

    def show(self) -> None:
        """Print the card on standard output."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False)

        def line(text: str, style: str = "") -> None:
            console.print(Text(visible(text), style), soft_wrap=True)

        line(f"{clean(self.target)} from {clean(self.data)}", "bold")
        console.print()
        line(self.equation)
        console.print()
        sheet = Table(box=None, pad_edge=False)
        some = f"{self.rows_judged} of " if self.rows_judged < (self.rows_test or self.rows_train) else ""
        sheet.add_column(f"on {some}{self.rows_test} test rows" if self.rows_test else f"on {some}the training rows")
        for title in ("R2", "MSE", "MAE"):
            sheet.add_column(title, justify="right")
        for who, figures in self.figures.items():
            cells = (f"{round(figures['r2'], 3) + 0.0:.3f}", short(figures["mse"]), short(figures["mae"]))
            sheet.add_row(Text(_NAMES[who]), *cells)
        console.print(sheet)
        console.print()
        for text in self.more:
            line(text)
        if self.more:
            console.print()
        for text in self._facts():
            line(text)
        for text in self.warnings:
            line(f"warning: {text}", "yellow")

    def _facts(self) -> Sequence[str]:
        used = ", ".join(map(clean, self.features_used)) or "none"
        neurons = " + ".join(map(str, self.widths))
        facts = [
            f"{neurons} neuron{'s' * (self.widths != (1,))}, {self.parameters} numbers",
            f"uses {len(self.features_used)} of {self.features} features: {used}",
            f"training error {short(self.train_mse)}"
            + ("" if self.bound is None else f"; these neurons cannot go below {short(self.bound)} (Theorem 1)")
            + ("" if self.validation_mse is None else f"; validation error {short(self.validation_mse)}"),
            f"{self.rows_train} rows to learn from, {self.seconds:.1f} s; stopped: {self.stopped}",
        ]
        return facts + [f"{what} written to {clean(path)}" for what, path in self.files.items()]


def make_card(
    model: Any,
    data: str,
    rows: TrainingRows,
    figures: Mapping[str, Mapping[str, float]],
    units: Mapping[str, str],
    seconds: float,
    files: Mapping[str, str],
) -> Card:
    """Gather what is told about a fitted estimator."""
    network, history = model.network_, model.history_
    sizes = bgn.frontier(model, X_test=rows.X_test, y_test=rows.y_test) if len(rows.y_test) else bgn.frontier(model)
    best = history.paths[history.best_layer][history.best_width]
    bounds = [r.bound for r in history.records if (r.layer, r.width) == (history.best_layer, history.best_width)]
    return Card(
        data=data,
        target=network.target_name,
        rows_train=rows.n_train,
        rows_test=rows.n_test,
        rows_judged=len(rows.judged[1]),
        equation=bgn.equation(network, units=units),
        figures=figures,
        width=sizes.chosen,
        best_width=sizes.best,
        mse_by_width={judged: errors.tolist() for judged, errors in sizes.errors.items()},
        unit=units.get(network.target_name),
        validation_mse=None if np.isnan(best.validation_mse) else best.validation_mse,
        train_mse=best.train_mse,
        bound=bounds[-1] if bounds else None,
        widths=network.widths,
        parameters=network.n_parameters,
        features=network.n_inputs,
        features_used=tuple(network.names[column] for column in network.features_used),
        stopped=history.stopped,
        seconds=seconds,
        notes=rows.notes,
        files=files,
    )
