"""Looking at a saved model: ``bgn show`` and ``bgn path``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

import bgn
from bgn.cli.card import REASONS
from bgn.cli.certify import told_range
from bgn.cli.source import class_option, read_model, width_option
from bgn.cli.terminal import note, show, show_json
from bgn.explain.arguments import class_number
from bgn.inputs.errors import InputError
from bgn.model.network import Network
from bgn.model.readings import Cases, Choice, Count, as_told, outputs_of, swapped
from bgn.model.schema import category_name
from bgn.persist import ModelFile, read
from bgn.persist.network import ends_out
from bgn.text import people

_SECONDS = 2.0  # for a line beside the equation


@click.command("show")
@click.argument("model", type=click.Path())
@click.option("--latex", is_flag=True, help="As LaTeX (amsmath).")
@click.option("--markdown", is_flag=True, help="As a Markdown table.")
@click.option("--html", is_flag=True, help="As an HTML table.")
@click.option("--json", is_flag=True, help="Everything about the model, for machines.")
@click.option("--digits", type=click.IntRange(1, 17), help="Fewer digits than the model has; the text says so.")
@class_option
@width_option
def show_model(model: str, digits: int | None, label: str | None, size: int | None, **forms: bool) -> None:
    """Print the equation of a saved MODEL.

    \b
    bgn show model.json
    bgn show model.json --latex > equation.tex
    bgn show model.json --size 20
    bgn show churn.json --class No
    """
    chosen = [form for form, wanted in forms.items() if wanted]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]}: choose one.")
    file = read_model(model, size)
    several, file = file.network.link == "softmax", replace(file, network=_seen_from(file.network, label))
    network = file.network
    if chosen != ["json"]:
        written = bgn.as_terms(network)
        show(bgn.equation(written, format=chosen[0] if chosen else "text", digits=digits, units=file.units))
        if not chosen and not several:
            chances, ends = network.link == "logistic", bgn.extremes(network, "seen", max_seconds=_SECONDS)
            what = "probabilities" if chances else "predictions"
            note(f"{what} lie {told_range(ends, chances)}; see bgn certify.")
        return
    show_json(_about(file, digits))


def _seen_from(network: Network, label: str | None) -> Network:
    """Return a model of the same predictions that is told by the score of a class."""
    if label is None:
        return as_told(network)
    if network.link == "identity":
        raise InputError("--class is for classes, and the model predicts numbers; leave it out.")
    number = class_number(network, label, "--class")
    if network.link == "softmax":
        return outputs_of(network)[number]
    return network if number else swapped(network)


def _added(network: Network) -> dict[str, Any]:
    """Return what one output is added up from, in plain types."""
    terms = bgn.as_terms(network)
    return {
        "base": float(terms.intercept[0]),
        "terms": [
            {
                "weight": term.weight,
                "columns": list(term.condition.columns),
                "coefficients": list(term.condition.coefficients),
                "relation": term.condition.relation,
                "threshold": term.condition.threshold,
                "missing": term.condition.missing,
                "gaps": None if term.condition.missing_as is None else list(term.condition.missing_as),
                "cases": _cases(term.condition.reading),
                "choices": _choices(term.condition.reading),
                "required": _choices(getattr(term.condition.reading, "required", None)),
                "sufficient": _choices(getattr(term.condition.reading, "sufficient", None)),
            }
            for term in terms.rules
        ],
        "lines": [
            {"column": term.linear.column, "per_unit": term.weight, "ends": ends_out(term.linear.low, term.linear.high)}
            for term in terms.linear if term.linear is not None
        ],
    }


def _about(file: ModelFile, digits: int | None) -> dict[str, Any]:
    """Return everything about a model in plain types; of several classes, what each adds up."""
    network, outputs = file.network, outputs_of(file.network)
    words = map(category_name, network.schema.classes or ())
    added = {"classes": dict(zip(words, map(_added, outputs), strict=True))} if len(outputs) > 1 else _added(network)
    reach = None if len(outputs) > 1 else bgn.extremes(network, "seen", max_seconds=_SECONDS).as_dict()
    return {
        "equation": bgn.equation(network, digits=digits, units=file.units),
        **added,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "levels": None if column.categories is None else list(column.categories),
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
        "widths": list(network.widths),
        "parameters": network.n_parameters,
        "units": dict(file.units),
        "figures": file.figures,
        "settings": file.settings,
        "library": file.library,
    }


def _cases(reading: Cases | Count | None) -> list[dict[str, Any]] | None:
    """Thresholds of one number by what 0/1 columns and categories hold; None for a question of another kind."""
    if not isinstance(reading, Cases):
        return None
    return [
        {
            "where": list(map(_choice, case.where)),
            "relation": case.relation,
            "threshold": float(case.threshold),
        }
        for case in reading.cases
    ]


def _choices(reading: Cases | Count | None) -> dict[str, Any] | None:
    """How many of some choices must hold; None for a question of another kind."""
    if not isinstance(reading, Count):
        return None
    return {"at_least": reading.least, "of": list(map(_choice, reading.choices))}


def _choice(choice: Choice) -> dict[str, Any]:
    return {"column": choice.column, "values": list(choice.values), "missing": choice.missing}


@click.command()
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def path(model: str, as_json: bool) -> None:
    """Print the errors of a saved MODEL at every width it had while it grew; where it has classes, log losses."""
    file = read(model)
    loss = "mse" if file.network.link == "identity" else "log_loss"
    if file.history is None:
        raise InputError(f"{model} was saved without a history: only fitted estimators have one.")
    history = file.model().history_
    crossed = history.cross_validated
    rows = [
        {"layer": layer + 1, "width": width, "train": each.train_loss, "validation": each.validation_loss}
        for layer, grown in enumerate(history.paths)
        for width, each in enumerate(grown)
    ]
    if as_json:
        names = {"train": f"train_{loss}", "validation": f"validation_{loss}"}
        plain = [{names.get(name, name): None if x != x else x for name, x in row.items()} for row in rows]
        chosen = {"layer": history.best_layer + 1, "width": history.best_width}
        show_json({"chosen": chosen, "stopped": history.stopped, "cross_validated": crossed, "path": plain})
        return
    word = {"mse": "mean squared error", "log_loss": "log loss"}[loss]
    titles = ["training", "cross-validated" if crossed else "validation"]
    show(f"{word} by width: so many questions (and straight lines) in a layer")
    wide, deep = max(map(len, titles)), len(history.paths) > 1
    show(f"{'layer ' * deep}{'width':>5} {titles[0]:>{wide}} {titles[1]:>{wide}}")
    shown = [row for row in rows if row["width"] in _telling(history.paths[row["layer"] - 1], history.best_width)]
    for row in shown:
        best = (row["layer"], row["width"]) == (history.best_layer + 1, history.best_width)
        valid = "" if np.isnan(row["validation"]) else people(row["validation"])
        layer, mark = f"{row['layer']:>5} " if deep else "", "  chosen" if best else ""
        show(f"{layer}{row['width']:>5} {people(row['train']):>{wide}} {valid:>{wide}}{mark}")
    asked = file.network.widths[-1] + len(file.network.linear)
    if not deep and asked < history.best_width:
        show(f"the model has {asked}: of {history.best_width} grown questions and lines, equal ones became one")
    more = "" if len(shown) == len(rows) else "; --json has every width"
    show(f"growth ended: {REASONS.get(history.stopped, history.stopped)}{more}")


def _telling(grown: Sequence[Any], chosen: int) -> set[int]:
    """Return the widths to print: all of a few, then fewer and fewer, the last and the one that was chosen."""
    last = len(grown) - 1
    return {*range(min(last, 10) + 1), *(k for k in (12, 15) if k <= last), *range(20, last, 10 * 2 ** (last > 100)),
            chosen, last}  # fmt: skip
