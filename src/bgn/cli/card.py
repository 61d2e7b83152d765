"""The card that `bgn fit` shows: the equation, how well it does against the obvious, how large it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import bgn
from bgn.cli.train import TrainingRows
from bgn.inputs.target import labelled
from bgn.model.network import Network
from bgn.model.schema import level_word
from bgn.model.step import Floats
from bgn.printable import clean, quote_category, quote_name, visible

_NAMES = {
    "model": "this model", "linear": "linear model", "mean": "predicting the mean",
    "logistic": "logistic regression", "majority": "the commonest class",
}  # fmt: skip
_TITLES = {
    "mse": {"r2": "R2", "rmse": "RMSE", "mse": "MSE", "mae": "MAE"},
    "log_loss": {"log_loss": "log loss", "auc": "AUC", "accuracy": "accuracy"},
}  # fmt: skip
MOST_PRINTED = 100
"""Questions of the equation that a card prints; `bgn show` prints all."""
_WORDS = {"mse": "mean squared error", "log_loss": "log loss"}
_LEGENDS = {
    "mse": "R2: share of the variance explained. MSE: mean squared error, RMSE its root. MAE: mean absolute error",
    "log_loss": "log loss: how wrong the probabilities are, 0 at best. AUC: how well they order the rows, 1 at best",
}  # fmt: skip
REASONS = {
    "patience": "more did not help",
    "max_width": "it had as many as were allowed",
    "max_seconds": "the time was over",
    "no gain": "nothing more was to be found",
    "callback": "a callback said so",
    "interrupted": "it was interrupted",
}
"""Why growth ended, in words."""


def short(error: float, digits: int = 4) -> str:
    """Write an error to a few significant digits, 19780 rather than 1.978e+04."""
    return f"{float(f'{error:.{digits}g}'):.12g}"


def scores(y: Floats, predicted: Floats) -> dict[str, float]:
    """Return R2, the mean squared error and its root, and the mean absolute error; R2 is 0 where `y` does not vary."""
    error = y - predicted
    mse, variance = float(np.mean(error**2)), float(np.mean((y - y.mean()) ** 2))
    share = 1.0 - mse / variance if variance else 0.0
    return {"r2": share, "rmse": float(np.sqrt(mse)), "mse": mse, "mae": float(np.mean(np.abs(error)))}


def compare(network: Network, train: tuple[Any, Floats], judged: tuple[Any, Floats]) -> dict[str, dict[str, float]]:
    """Score a network, a linear model and the mean, all learnt on `train`, on the rows `judged`.

    For classes, whose numbers the targets are: a network, logistic regression, and the shares of the classes.
    """
    from bgn.explain.linear import as_numbers, linear_predictions, logistic_scores, majority_scores

    learnt, X, y = network.schema.encode(train[0], gaps=True), network.schema.encode(judged[0], gaps=True), judged[1]
    rows, others = (as_numbers(network.schema, each, learnt) for each in (learnt, X))
    if (classes := network.schema.classes) is not None:
        guesses = {
            "model": network.predict_encoded(X, scores=True),
            "logistic": logistic_scores(rows, train[1], others, len(classes)),
            "majority": majority_scores(train[1], len(y), len(classes)),
        }
        return {who: class_scores(classes, y, guess) for who, guess in guesses.items()}
    return {
        "model": scores(y, network.predict_encoded(X)),
        "linear": scores(y, linear_predictions(rows, train[1], others)),
        "mean": scores(y, np.full(len(y), train[1].mean())),
    }


def class_scores(classes: Sequence[Any], codes: Floats, scores: Floats) -> dict[str, float]:
    """Return what a card says of classes: all scores, NaN where the rows do not tell."""
    from bgn.explain.evaluate import evaluation
    from bgn.explain.evaluate.judged import JudgedRows

    return dict(evaluation(JudgedRows.scored(classes, scores, codes)).scores)


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
    loss_by_width: Mapping[str, Sequence[float]]
    unit: str | None
    validation_loss: float | None
    cross_validated: bool
    train_loss: float
    bound: float | None
    widths: tuple[int, ...]
    parameters: int
    features: int
    features_used: tuple[str, ...]
    stopped: str
    seconds: float
    notes: tuple[str, ...]
    files: Mapping[str, str]
    classes: Mapping[str, int] | None = None
    loss: str = "mse"
    proven: Sequence[str] = ()
    lines: int = 0

    def as_plain(self) -> dict[str, Any]:
        """Return plain values for machines."""
        told = {name.replace("loss", self.loss): value for name, value in asdict(self).items() if name != "loss"}
        told["figures"] = {who: {name: None if x != x else x for name, x in each.items()}
                           for who, each in self.figures.items()}  # fmt: skip
        if self.classes is None:
            del told["classes"]
        return {"library": bgn.__version__, **told}

    @property
    def _rivals(self) -> tuple[str, str]:
        """Who else is scored: a linear model, and what needs no columns at all."""
        _, linear, nothing = self.figures
        return linear, nothing

    @property
    def warnings(self) -> list[str]:
        """What a user should think twice about."""
        model, linear, nothing = (self.figures[who][self.loss] for who in ("model", *self._rivals))
        found = []
        if linear <= 1.01 * model:
            rival = "a linear model" if self.classes is None else "logistic regression"
            found.append(f"{rival} is {'better' if linear < 0.99 * model else 'as good'} on these rows.")
        if nothing <= model:
            same = "predicting the mean" if self.classes is None else "saying the shares of the classes of every row"
            found.append(f"{same} is as good: the model has found nothing that holds on these rows.")
        return found

    @property
    def more(self) -> list[str]:
        """What more questions would buy, in a line and its legend; nothing where no more were tried."""
        rows, errors = list(self.loss_by_width.items())[-1]  # the test rows, if there are any
        best = self.best_width
        if len(errors) - 1 <= self.width:
            return []
        if best <= self.width:
            by = self._validation if "validation" in self.loss_by_width else "training"
            error = "error" if self.classes is None else "log loss"
            return [f"more {self._conditions}, up to {len(errors) - 1}, did not lower the {by} {error}"]
        sizes = [size for size in (2 * self.width, best) if 0 < size <= best]
        told = ", ".join(f"with {size} {self._conditions}: {short(errors[size], 3)}" for size in dict.fromkeys(sizes))
        rival = self._rivals[0]
        name = "a linear model" if rival == "linear" else "logistic regression"
        linear = "" if rows == "validation" else f"; {name}: {short(self.figures[rival][self.loss], 3)}"
        unit = "" if self.unit is None else f", in {clean(self.unit)} squared"
        measured = f"{_WORDS[self.loss]} on the {rows} rows"
        if rows == "validation" and self.cross_validated:
            measured = f"cross-validated {_WORDS[self.loss]}"
        return [
            f"{told} instead of {short(errors[self.width], 3)}{linear}",
            f"({measured}{unit}; ask for more with --size {best})",
        ]

    @property
    def _conditions(self) -> str:
        """What a model has more or fewer of."""
        return "questions and lines" if self.lines else "questions"

    @property
    def _validation(self) -> str:
        """What the validation error is called."""
        return "cross-validated" if self.cross_validated else "validation"

    def show(self) -> None:
        """Print the card on standard output."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False)

        def line(text: str, style: str = "") -> None:
            console.print(Text(visible(text), style), soft_wrap=True)

        line(f"{quote_name(self.target)} from {clean(self.data)}", "bold")
        console.print()
        line(self.equation)
        console.print()
        sheet = Table(box=None, pad_edge=False)
        some = f"{self.rows_judged} of " if self.rows_judged < (self.rows_test or self.rows_train) else ""
        sheet.add_column(f"on {some}{self.rows_test} test rows" if self.rows_test else f"on {some}the training rows")
        for title in _TITLES[self.loss].values():
            sheet.add_column(title, justify="right")
        for who, figures in self.figures.items():
            sheet.add_row(Text(_NAMES[who]), *(_cell(name, figures[name]) for name in _TITLES[self.loss]))
        console.print(sheet)
        line(f"({_LEGENDS[self.loss]}{self._in_unit()})")
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
        used = ", ".join(map(quote_name, self.features_used)) or "none"
        learnt = f"{_WORDS[self.loss]} on the rows it learnt from: {short(self.train_loss)}"
        if self.bound is not None:
            learnt += f"; no other amounts for these questions could go below {short(self.bound)} (Theorem 1)"
        facts = [
            f"{self._size()}, {self.parameters} number{'s' * (self.parameters != 1)} in all",
            f"uses {len(self.features_used)} of {self.features} columns: {used}",
            learnt,
        ]
        if self.validation_loss is not None:
            where = "cross-validated" if self.cross_validated else "on rows kept back while it grew"
            facts.append(f"{_WORDS[self.loss]}, {where}: {short(self.validation_loss)}")
        why = REASONS.get(self.stopped, self.stopped)
        facts += [f"{self.rows_train} rows to learn from{self._shares()}, {self.seconds:.1f} s; growth ended: {why}"]
        facts += [f"proven for every row: {each}" for each in self.proven]
        return facts + [f"{what} written to {clean(path)}" for what, path in self.files.items()]

    def _size(self) -> str:
        """Say how many questions there are, layer by layer where there are several, and how many straight lines."""
        if len(self.widths) > 1:
            said = f"{' + '.join(map(str, self.widths))} neurons"
        else:
            said = f"{sum(self.widths)} question{'s' * (self.widths != (1,))}"
        return said + (f" and {self.lines} straight line{'s' * (self.lines > 1)}" if self.lines else "")

    def _in_unit(self) -> str:
        return "" if self.unit is None or self.loss != "mse" else f"; RMSE and MAE in {clean(self.unit)}"

    def _shares(self) -> str:
        """Say how many of the rows are of each class, where there are classes, and few."""
        if self.classes is None or len(self.classes) > 10:
            return ""
        total = sum(self.classes.values())
        shares = (f"{quote_category(label)} {count / total:.1%}" for label, count in self.classes.items())
        return f" ({', '.join(shares)})"


def _cell(name: str, value: float) -> str:
    """Write a figure: shares to three digits after the point, errors to four that count."""
    if value != value:
        return "-"
    return short(value) if name in ("mse", "rmse", "mae", "log_loss") else f"{round(value, 3) + 0.0:.3f}"


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
    from bgn.explain.promises import promises  # a command starts without numba

    network, history = model.network_, model.history_
    tested = {"X_test": rows.X_test, "y_test": labelled(rows.y_test, rows.classes)} if len(rows.y_test) else {}
    sizes = bgn.frontier(model, **tested)
    counts = None
    if rows.classes is not None:
        each = np.bincount(rows.y.astype(np.intp), minlength=len(rows.classes)).tolist()
        counts = dict(zip(map(level_word, rows.classes), each, strict=True))
    best = history.paths[history.best_layer][history.best_width]
    bounds = [r.bound for r in history.records if (r.layer, r.width) == (history.best_layer, history.best_width)]
    return Card(
        data=data,
        target=network.target_name,
        rows_train=rows.n_train,
        rows_test=rows.n_test,
        rows_judged=len(rows.judged[1]),
        equation=bgn.equation(network, units=units, most=MOST_PRINTED),
        figures=figures,
        width=sizes.chosen,
        best_width=sizes.best,
        loss_by_width={judged: errors.tolist() for judged, errors in sizes.errors.items()},
        unit=units.get(network.target_name),
        validation_loss=None if np.isnan(best.validation_loss) else best.validation_loss,
        cross_validated=sizes.cross_validated,
        train_loss=best.train_loss,
        bound=bounds[-1] if bounds and not np.isnan(bounds[-1]) else None,
        widths=network.widths,
        parameters=network.n_parameters,
        features=network.n_inputs,
        features_used=tuple(network.names[column] for column in network.features_used),
        stopped=history.stopped,
        seconds=seconds,
        notes=rows.notes,
        files=files,
        classes=counts,
        loss=sizes.loss,
        proven=tuple(promises(model)),
        lines=len(network.linear_terms),
    )
