"""What a fit came to, in one value: the equation, scores beside simple models, the size, and what to think twice of.

``bgn fit`` prints it; Python users get it from :func:`summarize`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import bgn
from bgn.explain.frontier import size_advice
from bgn.explain.rivals import RivalScores
from bgn.inputs.training import to_labels
from bgn.model.network import Network
from bgn.model.readings import Cases, Choice, Count, ReadTerm, outputs_of
from bgn.model.schema import category_name
from bgn.persist import ModelFile
from bgn.persist.network import ends_out
from bgn.text import clean, count_of, people, quote_category, quote_name

if TYPE_CHECKING:
    from bgn.training_rows import TrainingRows

_MOST_PRINTED = 100  # rules of the equation; `bgn show` prints all
_SECONDS = 2.0  # to find the lowest prediction
_MOST_CLASSES = 10  # whose shares are printed
_LOSS_NAMES = {"mse": "mean squared error", "log_loss": "log loss"}
STOP_REASONS = {
    "patience": "more did not help",
    "max_terms": "the limit on its size was reached",
    "max_conditions": "the limit on its size was reached",
    "validation": "larger models did worse on rows left out",
    "max_seconds": "the time was over",
    "no gain": "nothing more was to be found",
    "callback": "a callback said so",
    "interrupted": "it was interrupted",
}
"""Why growth ended, in words."""


@dataclass(frozen=True)
class FitSummary:
    """What a fit came to."""

    data: str
    target: str
    rows_train: int
    rows_test: int
    rows_evaluated: int
    equation: str
    figures: Mapping[str, Mapping[str, float]]
    conditions: Mapping[str, int]
    n_terms: int
    n_conditions: int
    best_n_terms: int
    loss_by_size: Mapping[str, Sequence[float]]
    conditions_by_size: Sequence[int]
    unit: str | None
    validation_loss: float | None
    cross_validated: bool
    train_loss: float
    bound: float | None
    layer_sizes: tuple[int, ...]
    n_parameters: int
    features: int
    features_used: tuple[str, ...]
    stopped: str
    seconds: float
    notes: tuple[str, ...]
    files: Mapping[str, str]
    classes: Mapping[str, int] | None = None
    loss: str = "mse"
    proven: Sequence[str] = ()
    n_linear: int = 0
    verdicts: Sequence[str] = ()
    advice: str = ""
    classes_without_rows: Sequence[str] = ()
    negative: str = ""
    counted: str = "terms"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as ``bgn fit --json`` prints them."""
        plain = {name.replace("loss", self.loss): value for name, value in asdict(self).items() if name != "loss"}
        plain["figures"] = {model: {name: None if x != x else x for name, x in scores.items()}
                            for model, scores in self.figures.items()}  # fmt: skip
        if self.classes is None:
            del plain["classes"], plain["classes_without_rows"]
        return {"library": bgn.__version__, **plain}

    @property
    def has_validation_set(self) -> bool:
        """Whether validation rows were set apart from the training rows."""
        return self.validation_loss is not None and not self.cross_validated

    def warnings(self) -> list[str]:
        """What a user should think twice about."""
        model, *_, nothing = (scores[self.loss] for scores in self.figures.values())
        warnings = [self.negative[0].lower() + self.negative[1:]] if self.negative else []
        if nothing <= model:
            same = "predicting the mean"
            if self.classes is not None:
                same = "predicting the shares of the classes for every row"
            warnings.append(f"{same} is as good: the model has found nothing that holds on these rows.")
        return warnings

    def other_sizes(self) -> list[str]:
        """What models of other sizes do, in a line for each kind of rows, and whether larger ones do better."""
        lines, last = list[str](), len(next(iter(self.loss_by_size.values()))) - 1
        sizes = sorted(size for size in {self.n_terms, 2 * self.n_terms, self.best_n_terms, last}
                       if self.n_terms <= size <= last)  # fmt: skip
        squared = "" if self.unit is None or self.loss != "mse" else f" ({clean(self.unit)} squared)"
        for rows, errors in self.loss_by_size.items() if last > self.n_terms else ():
            if rows == "training" and len(self.loss_by_size) > 1:
                continue
            name = "cross-validated" if rows == "validation" and self.cross_validated else rows
            what = f" {self.counted}" if self.counted == "conditions" else " terms" if self.n_linear else " rules"
            counted = self.counted == "terms" and any(self.conditions_by_size[size] != size for size in sizes)
            texts = []
            for k, size in enumerate(sizes):
                conditions = f", {self.conditions_by_size[size]}{'' if k else ' conditions'}" * counted
                texts.append(f"{people(errors[size], 3)} ({size}{'' if k else what}{conditions})")
            lines.append(f"{name.capitalize()} {_LOSS_NAMES[self.loss]}{squared}: {', '.join(texts)}.")
        return [*lines, self.advice] if self.advice else lines

    def facts(self) -> list[str]:
        """The size of the model, its errors, how growth ended and what is proven, a line each."""
        loss, rules = _LOSS_NAMES[self.loss], count_of(self.layer_sizes[-1], "rule")
        if len(self.layer_sizes) > 1:
            rules = f"rules in layers of {', '.join(map(str, self.layer_sizes))}"
        size = f"{count_of(self.n_conditions, 'condition')} ({rules}"
        size += f", {count_of(self.n_linear, 'linear term')})" if self.n_linear else ")"
        validation = self.has_validation_set
        lines = [
            f"{size}, {count_of(self.n_parameters, 'number')} in all",
            f"uses {len(self.features_used)} of {count_of(self.features, 'column')}: "
            + (", ".join(map(quote_name, self.features_used)) or "none"),
            f"{loss} on the training rows{', validation rows left out' * validation}: {people(self.train_loss)}",
        ]
        if self.bound is not None:
            rules = "these rules" if len(self.layer_sizes) == 1 else "this last layer"
            lines.append(
                f"no weights of {rules} bring that training error below {people(self.bound)} (Theorem 1, which says "
                "nothing about new rows)"
            )
        if self.validation_loss is not None:
            where = "cross-validated" if self.cross_validated else "on the validation rows"
            lines.append(f"{loss}, {where}: {people(self.validation_loss)}")
        shares = ""
        if self.classes is not None and len(self.classes) <= _MOST_CLASSES:
            total = sum(self.classes.values())
            parts = (f"{quote_category(label)} {count / total:.1%}" for label, count in self.classes.items())
            shares = f" ({', '.join(parts)})"
        rows = count_of(self.rows_train, "training row") + " (validation rows among them)" * validation + shares
        lines.append(f"{rows}, {self.seconds:.1f} s; growth ended: {STOP_REASONS.get(self.stopped, self.stopped)}")
        lines += [f"proven for every row: {guarantee}" for guarantee in self.proven]
        return lines + [f"{what} written to {clean(path)}" for what, path in self.files.items()]


def summarize(
    model: Any, data: str, rows: TrainingRows, rivals: RivalScores, units: Mapping[str, str], seconds: float = 0.0,
    files: Mapping[str, str] | None = None,
) -> FitSummary:  # fmt: skip
    """Gather what is to be said of an estimator that was fitted to training rows of a dataset in so many seconds.

    `rivals` are its scores beside simple models, `units` those of columns, and `files` what was written, and where.
    """
    from bgn.explain.proofs import list_guarantees, negative_note

    network, history = model.network_, model.history_
    tests = {"X_test": rows.X_test, "y_test": to_labels(rows.y_test, rows.classes)} if len(rows.y_test) else {}
    sizes = bgn.frontier(model, **tests)
    counts, lacking = None, tuple[str, ...]()
    if rows.classes is not None:
        names = list(map(category_name, rows.classes))
        evaluated = set(rows.evaluation[1].astype(np.intp).tolist())
        lacking = tuple(name for code, name in enumerate(names) if code not in evaluated)
        counts = dict(zip(names, np.bincount(rows.y.astype(np.intp), minlength=len(names)).tolist(), strict=True))
    negative = ""
    if rows.classes is None and rows.y.min() >= 0:
        ends = bgn.extremes(network, "seen", max_seconds=_SECONDS)
        negative = negative_note(ends, rows.y, "--at-least 0")
    best = history.paths[history.best_layer][history.best_size]
    bounds = [r.bound for r in history.records if (r.layer, r.n_terms) == (history.best_layer, history.best_size)]
    option = "--size" if sizes.counted == "terms" else "--max-conditions"
    return FitSummary(
        data=data,
        target=network.target_name,
        rows_train=rows.n_train,
        rows_test=rows.n_test,
        rows_evaluated=len(rows.evaluation[1]),
        equation=bgn.equation(network, units=units, most=_MOST_PRINTED),
        figures=rivals.figures,
        conditions=rivals.conditions,
        n_terms=sizes.chosen,
        n_conditions=network.n_conditions,
        conditions_by_size=sizes.conditions,
        best_n_terms=sizes.best,
        loss_by_size={name: errors.tolist() for name, errors in sizes.errors.items()},
        unit=units.get(network.target_name),
        validation_loss=None if np.isnan(best.validation_loss) else best.validation_loss,
        cross_validated=sizes.cross_validated,
        train_loss=best.train_loss,
        bound=bounds[-1] if bounds and bounds[-1] > 0 else None,
        layer_sizes=network.widths if network.below else (len(network.rules),),
        n_parameters=network.n_parameters,
        features=network.n_inputs,
        features_used=tuple(network.names[column] for column in network.features_used),
        stopped=history.stopped,
        seconds=seconds,
        notes=rows.notes,
        files=files or {},
        classes=counts,
        loss=sizes.loss,
        proven=tuple(list_guarantees(model)),
        n_linear=len(network.linear),
        verdicts=tuple(map(str, rivals.verdicts)),
        advice=size_advice(model, sizes, f"{option} {{}}", f"a larger {option}"),
        classes_without_rows=lacking,
        negative=negative,
        counted=sizes.counted,
    )


def describe_model(file: ModelFile, digits: int | None = None) -> dict[str, Any]:
    """Return everything about a model in plain types; of several classes, the terms of each."""
    network, outputs = file.network, outputs_of(file.network)
    if len(outputs) > 1:
        labels = map(category_name, network.schema.classes or ())
        terms: dict[str, Any] = {"classes": dict(zip(labels, map(_terms, outputs), strict=True))}
        reach = None
    else:
        terms, reach = _terms(network), bgn.extremes(network, "seen", max_seconds=_SECONDS).as_dict()
    return {
        "equation": bgn.equation(network, digits=digits, units=file.units),
        **terms,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "categories": None if column.categories is None else list(column.categories),
                "ordered": column.ordered,
                "unit": column.unit,
                "typical": column.typical,
            }
            for column in network.schema.columns
        ],
        "feature_names": list(network.names),
        "features_used": [network.names[column] for column in network.features_used],
        "target": network.target_name,
        "extremes": reach,
        "n_terms": len(network.rules) + len(network.linear),
        "n_conditions": network.n_conditions,
        "n_parameters": network.n_parameters,
        "units": dict(file.units),
        "figures": file.figures,
        "settings": file.settings,
        "library": file.library,
    }


def _terms(network: Network) -> dict[str, Any]:
    """Return what one output is added up from, in plain types."""

    def choice(one: Choice) -> dict[str, Any]:
        return {"column": one.column, "values": list(one.values), "missing": one.missing}

    def count(of: Count | None) -> dict[str, Any] | None:
        return None if of is None else {"at_least": of.least, "of": list(map(choice, of.choices))}

    def reading(of: Cases | Count | None) -> dict[str, Any]:
        """Thresholds of a number by what other columns hold, or how many of some choices must hold."""
        cases = choices = None
        if isinstance(of, Cases):
            cases = [{"relation": case.relation, "threshold": float(case.threshold), "required": count(case.required)}
                     for case in of.cases]  # fmt: skip
        if isinstance(of, Count):
            choices = count(of)
        return {"cases": cases, "choices": choices, "sufficient": count(getattr(of, "sufficient", None))}

    def rule(term: ReadTerm) -> dict[str, Any]:
        conditions = [
            {
                "columns": list(condition.columns),
                "coefficients": list(condition.coefficients),
                "relation": condition.relation,
                "threshold": condition.threshold,
                "missing": condition.missing,
                "missing_as": None if condition.missing_as is None else list(condition.missing_as),
                **reading(condition.reading),
            }
            for condition in term.conditions
        ]
        if len(conditions) == 1:
            return {"coef": term.weight, **conditions[0]}
        return {"coef": term.weight, "holds_if": "any" if term.any_holds else "all", "conditions": conditions}

    terms = bgn.as_terms(network)
    return {
        "intercept": float(terms.intercept[0]),
        "terms": [*map(rule, terms.rules)],
        "linear": [
            {"column": term.linear.column, "coef": term.weight, "ends": ends_out(term.linear.low, term.linear.high)}
            for term in terms.linear
            if term.linear is not None
        ],
    }
