"""``bgn show`` and ``bgn path``: the equation of a saved model, and the errors of every size it had while it grew."""

from __future__ import annotations

from dataclasses import replace

import click
import numpy as np

import bgn
from bgn.cli.options import class_option, json_option, read_model, size_option
from bgn.cli.prove import check_no_class, range_text
from bgn.cli.terminal import note, show, show_columns, show_json
from bgn.explain.arguments import class_number
from bgn.explain.frontier import count_conditions
from bgn.inputs.errors import InputError
from bgn.model.readings import outputs_of, swap_classes, with_positive_second
from bgn.persist import read
from bgn.summary import STOP_REASONS, describe_model
from bgn.text import count_of, people

_SECONDS = 2.0  # to prove how far predictions go
_LOSS_NAMES = {"mse": "mean squared error", "log_loss": "log loss"}


@click.command("show")
@click.argument("model", type=click.Path())
@click.option("--latex", is_flag=True, help="As LaTeX (amsmath).")
@click.option("--markdown", is_flag=True, help="As a Markdown table.")
@click.option("--html", is_flag=True, help="As an HTML table.")
@click.option("--json", is_flag=True, help="Print everything about the model as JSON.")
@click.option("--digits", type=click.IntRange(1, 17), help="Fewer digits than the model has; the text says so.")
@class_option
@size_option
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
    several, network = file.network.link == "softmax", with_positive_second(file.network)
    if label is not None:
        if network.link == "identity":
            check_no_class(label)
        number, network = class_number(file.network, label, "--class"), file.network
        if several:
            network = outputs_of(network)[number]
        elif not number:
            network = swap_classes(network)
    if chosen == ["json"]:
        show_json(describe_model(replace(file, network=network), digits))
        return
    written = bgn.as_terms(network)
    show(bgn.equation(written, format=chosen[0] if chosen else "text", digits=digits, units=file.units))
    if not chosen and not several:
        percent, ends = network.link == "logistic", bgn.extremes(network, "seen", max_seconds=_SECONDS)
        note(f"{'probabilities' if percent else 'predictions'} lie {range_text(ends, percent)}; see bgn certify.")


@click.command()
@click.argument("model", type=click.Path())
@json_option
def path(model: str, as_json: bool) -> None:
    """Print the errors of a saved MODEL at every size it had while it grew; where it has classes, log losses."""
    file = read(model)
    loss = "mse" if file.network.link == "identity" else "log_loss"
    if file.history is None:
        raise InputError(f"{model} was saved without a history: only fitted estimators have one.")
    history = file.model().history_
    best = (history.best_layer + 1, history.best_size)
    counts = [count_conditions(history, layer) if grown else [] for layer, grown in enumerate(history.paths)]
    budget = history.counted == "conditions"
    rows = [
        {"layer": layer + 1, "n_terms": len(history.network(size, layer).terms) if budget else size,
         "n_conditions": count, "train": record.train_loss, "validation": record.validation_loss}
        for layer, grown in enumerate(history.paths)
        for size, (record, count) in enumerate(zip(grown, counts[layer], strict=True))
    ]  # fmt: skip
    if as_json:
        names = {"train": f"train_{loss}", "validation": f"validation_{loss}"}
        plain = [{names.get(name, name): None if x != x else x for name, x in row.items()} for row in rows]
        chosen = dict(zip(("layer", f"n_{history.counted}"), best, strict=True))
        crossed = history.cross_validated
        show_json({"chosen": chosen, "stopped": history.stopped, "cross_validated": crossed, "path": plain})
        return
    titles = ["terms", "conditions"]
    if budget:
        show(f"{_LOSS_NAMES[loss]} by size: the conditions that a reader reads, which --size counts, and the terms")
        titles.reverse()
    else:
        show(f"{_LOSS_NAMES[loss]} by size: terms, which --size counts, and the conditions that a reader reads")
    deep = len(history.paths) > 1
    validated = "cross-validated" if history.cross_validated else "validation"
    titles = ["layer"] * deep + [*titles, "training", validated, ""]
    lines = []
    sizes = [(layer + 1, size) for layer, grown in enumerate(history.paths) for size in range(len(grown))]
    for (layer, size), row in zip(sizes, rows, strict=True):
        last = len(history.paths[layer - 1]) - 1
        # All of a few sizes, then fewer and fewer, the last and the chosen one.
        if size > 10 and size not in {12, 15, *range(20, last, 10 * 2 ** (last > 100)), history.best_size, last}:
            continue
        validation = "" if np.isnan(row["validation"]) else people(row["validation"])
        mark = "chosen" if (layer, size) == best else ""
        other = str(row["n_terms" if budget else "n_conditions"])
        lines.append([str(layer)] * deep + [str(size), other, people(row["train"]), validation, mark])
    show_columns([titles, *lines], left=0)
    kept = len(file.network.rules) + len(file.network.linear)
    if not deep and not budget and kept < history.best_size:
        show(f"the model has {count_of(kept, 'term')}: of {history.best_size} grown, equal ones became one")
    more = "" if len(lines) == len(rows) else "; --json has every size"
    show(f"growth ended: {STOP_REASONS.get(history.stopped, history.stopped)}{more}")
