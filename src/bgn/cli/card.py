"""The card that `bgn fit` shows: the equation, how well it does against the obvious, how large it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import bgn
from bgn.explain.frontier import size_advice
from bgn.explain.rivals import LEGEND, NAMES, SHOWN, RivalScores, written_score
from bgn.inputs.training import to_labels
from bgn.model.schema import category_name
from bgn.text import clean, count_of, people, quote_category, quote_name, visible

if TYPE_CHECKING:
    from bgn.training_rows import TrainingRows

MOST_PRINTED = 100
"""Questions of the equation that a card prints; `bgn show` prints all."""
_SECONDS = 2.0  # to find the lowest prediction
_WORDS = {"mse": "mean squared error", "log_loss": "log loss"}
_LEGENDS = {
    "mse": "R2: share of the variance explained. MSE: mean squared error, RMSE its root. MAE: mean absolute error",
    "log_loss": "log loss: how wrong the probabilities are, 0 at best. AUC: how well they order the rows, 1 at best",
}  # fmt: skip
REASONS = {
    "patience": "more did not help",
    "max_terms": "the limit on its size was reached",
    "max_seconds": "the time was over",
    "no gain": "nothing more was to be found",
    "callback": "a callback said so",
    "interrupted": "it was interrupted",
}
"""Why growth ended, in words."""


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
    verdicts: Sequence[str] = ()
    advice: str = ""
    classes_without_rows: Sequence[str] = ()
    negative: str = ""

    def as_plain(self) -> dict[str, Any]:
        """Return plain values for machines."""
        told = {name.replace("loss", self.loss): value for name, value in asdict(self).items() if name != "loss"}
        told["figures"] = {who: {name: None if x != x else x for name, x in each.items()}
                           for who, each in self.figures.items()}  # fmt: skip
        if self.classes is None:
            del told["classes"], told["classes_without_rows"]
        return {"library": bgn.__version__, **told}

    @property
    def warnings(self) -> list[str]:
        """What a user should think twice about."""
        model, *_, nothing = (each[self.loss] for each in self.figures.values())
        found = [self.negative[0].lower() + self.negative[1:]] if self.negative else []
        if nothing > model:
            return found
        same = "predicting the mean" if self.classes is None else "predicting the shares of the classes for every row"
        return [*found, f"{same} is as good: the model has found nothing that holds on these rows."]

    @property
    def more(self) -> list[str]:
        """What models of other sizes do, in a line for each kind of rows, and whether larger ones do better."""
        sizes = self.sizes_shown
        if not sizes:
            return [self.advice] if self.advice else []
        lines = []
        for rows, errors in self.loss_by_width.items():
            if rows == "training" and len(self.loss_by_width) > 1:
                continue
            name = self._validation if rows == "validation" else rows
            first, *rest = (f"{people(errors[size], 3)} ({size}{{}})" for size in sizes)
            told = ", ".join([first.format(f" {self._conditions}"), *(each.format("") for each in rest)])
            lines.append(f"{name.capitalize()} {_WORDS[self.loss]}{self._squared}: {told}.")
        return [*lines, self.advice] if self.advice else lines

    @property
    def sizes_shown(self) -> list[int]:
        """The size of the model, twice it, that of the least validation error and the largest; none but where larger
        ones were grown."""
        last = len(next(iter(self.loss_by_width.values()))) - 1
        if last <= self.width:
            return []
        some = {self.width, 2 * self.width, self.best_width, last}
        return sorted(size for size in some if self.width <= size <= last)

    @property
    def _squared(self) -> str:
        return "" if self.unit is None or self.loss != "mse" else f" ({clean(self.unit)} squared)"

    @property
    def _conditions(self) -> str:
        """What a model has more or fewer of."""
        return "terms" if self.lines else "rules"

    @property
    def _apart(self) -> bool:
        """Whether validation rows were set apart from the training rows, and not learnt from."""
        return self.validation_loss is not None and not self.cross_validated

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
        learnt = "training and validation" if self._apart else "training"
        sheet.add_column(f"on {some}{self.rows_test} test rows" if self.rows_test else f"on {some}the {learnt} rows")
        for title in SHOWN[self.loss].values():
            sheet.add_column(title, justify="right")
        for who, figures in self.figures.items():
            sheet.add_row(Text(NAMES[who]), *(written_score(name, figures[name]) for name in SHOWN[self.loss]))
        console.print(sheet)
        line(f"({_LEGENDS[self.loss]}{self._in_unit()})")
        if self.classes_without_rows:
            rows = "test rows" if self.rows_test else "rows"
            line(f"(No AUC: there are no {rows} of {', '.join(map(quote_category, self.classes_without_rows))}.)")
        console.print()
        for text in self.verdicts:
            line(text)
        line(f"({LEGEND})")
        if not self.rows_test:
            line(f"(These are {learnt} rows: on new rows every model is likely to do worse.)")
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
        left_out = ", validation rows left out" if self._apart else ""
        facts = [
            f"{self._size()}, {count_of(self.parameters, 'number')} in all",
            f"uses {len(self.features_used)} of {count_of(self.features, 'column')}: {used}",
            f"{_WORDS[self.loss]} on the training rows{left_out}: {people(self.train_loss)}",
        ]
        if self.bound is not None:
            kept = "these rules" if len(self.widths) == 1 else "this last layer"
            facts.append(
                f"no weights of {kept} bring that training error below {people(self.bound)} (Theorem 1, which says "
                "nothing about new rows)"
            )
        if self.validation_loss is not None:
            where = "cross-validated" if self.cross_validated else "on the validation rows"
            facts.append(f"{_WORDS[self.loss]}, {where}: {people(self.validation_loss)}")
        why = REASONS.get(self.stopped, self.stopped)
        rows = count_of(self.rows_train, "training row")
        among = " (validation rows among them)" if self._apart else ""
        facts += [f"{rows}{among}{self._shares()}, {self.seconds:.1f} s; growth ended: {why}"]
        facts += [f"proven for every row: {each}" for each in self.proven]
        return facts + [f"{what} written to {clean(path)}" for what, path in self.files.items()]

    def _size(self) -> str:
        """Say how many questions there are, layer by layer where there are several, and how many straight lines."""
        if len(self.widths) > 1:
            said = f"{' + '.join(map(str, self.widths))} neurons"
        else:
            said = count_of(sum(self.widths), "question")
        return said + (f" and {count_of(self.lines, 'straight line')}" if self.lines else "")

    def _in_unit(self) -> str:
        return "" if self.unit is None or self.loss != "mse" else f"; RMSE and MAE in {clean(self.unit)}"

    def _shares(self) -> str:
        """Say how many of the rows are of each class, where there are classes, and few."""
        if self.classes is None or len(self.classes) > 10:
            return ""
        total = sum(self.classes.values())
        shares = (f"{quote_category(label)} {count / total:.1%}" for label, count in self.classes.items())
        return f" ({', '.join(shares)})"


def make_card(
    model: Any,
    data: str,
    rows: TrainingRows,
    compared: RivalScores,
    units: Mapping[str, str],
    seconds: float,
    files: Mapping[str, str],
) -> Card:
    """Gather what is told about a fitted estimator."""
    from bgn.explain.certify import list_guarantees  # a command starts without numba
    from bgn.explain.extremes import negative_note

    network, history = model.network_, model.history_
    tested = {"X_test": rows.X_test, "y_test": to_labels(rows.y_test, rows.classes)} if len(rows.y_test) else {}
    sizes = bgn.frontier(model, **tested)
    counts, lacking = None, tuple[str, ...]()
    if rows.classes is not None:
        judged = set(rows.evaluation[1].astype(np.intp).tolist())
        lacking = tuple(word for k, word in enumerate(map(category_name, rows.classes)) if k not in judged)
        each = np.bincount(rows.y.astype(np.intp), minlength=len(rows.classes)).tolist()
        counts = dict(zip(map(category_name, rows.classes), each, strict=True))
    ends = bgn.extremes(network, "seen", max_seconds=_SECONDS) if rows.classes is None and rows.y.min() >= 0 else None
    best = history.paths[history.best_layer][history.best_width]
    bounds = [r.bound for r in history.records if (r.layer, r.width) == (history.best_layer, history.best_width)]
    return Card(
        data=data,
        target=network.target_name,
        rows_train=rows.n_train,
        rows_test=rows.n_test,
        rows_judged=len(rows.evaluation[1]),
        equation=bgn.equation(network, units=units, most=MOST_PRINTED),
        figures=compared.figures,
        width=sizes.chosen,
        best_width=sizes.best,
        loss_by_width={judged: errors.tolist() for judged, errors in sizes.errors.items()},
        unit=units.get(network.target_name),
        validation_loss=None if np.isnan(best.validation_loss) else best.validation_loss,
        cross_validated=sizes.cross_validated,
        train_loss=best.train_loss,
        bound=bounds[-1] if bounds and bounds[-1] > 0 else None,
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
        proven=tuple(list_guarantees(model)),
        lines=len(network.linear),
        verdicts=tuple(map(str, compared.verdicts)),
        advice=size_advice(model, sizes, "--size {}", "a larger --size"),
        classes_without_rows=lacking,
        negative="" if ends is None else negative_note(ends, rows.y, "--at-least 0"),
    )
