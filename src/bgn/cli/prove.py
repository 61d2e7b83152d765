"""``bgn certify``: what a saved model can predict at most, and what each column does to it, proven."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

import bgn
from bgn.cli.options import class_option, json_option, one_of, read_model, size_option
from bgn.cli.terminal import show, show_columns, show_json
from bgn.explain.arguments import class_number
from bgn.inputs.errors import InputError
from bgn.model.network import Network
from bgn.model.readings import outputs_of, with_positive_second
from bgn.model.schema import Column
from bgn.show.labels import cell, just_below
from bgn.text import lower_end, quote_name, upper_end

if TYPE_CHECKING:
    from bgn.explain.proofs import Certificate, Extremes


@click.command()
@click.argument("model", type=click.Path())
@click.option("--column", "columns", multiple=True, metavar="COL", help="This column alone; again for more.")
@click.option(
    "--within", type=click.Choice(["all", "seen"]), default="seen", show_default=True,
    help="Rows within the ranges seen at fit, or all that can be written down.",
)  # fmt: skip
@click.option("--no-missing", is_flag=True, help="Leave rows with missing values aside.")
@click.option(
    "--max-seconds", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True,
    help="When to stop with what is proven so far.",
)  # fmt: skip
@class_option
@size_option
@json_option
def certify(
    model: str, columns: tuple[str, ...], within: str, no_missing: bool, max_seconds: float, label: str | None,
    size: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Prove what a saved MODEL can predict at most, and whether it only rises or falls with a column.

    For each column: by how much a higher value raises and lowers the prediction at most, all else fixed, with two rows
    that show it in --json. Where nothing is said against it, the proof holds for every row. Of three classes or more
    it is the score of the one that --class names.

    \b
    bgn certify model.json
    bgn certify model.json --column income --within all
    bgn certify penguins.json --class Adelie
    """
    network = with_positive_second(read_model(model, size).network)
    output = output_of(network, label)
    domain: dict[str, Any] = {"within": within, "missing": not no_missing, "max_seconds": max_seconds, "output": output}
    ends, certificates = bgn.extremes(network, **domain), bgn.certify(network, columns or None, **domain)
    if as_json:
        by_column = {name: certificate.as_dict() for name, certificate in certificates.items()}
        show_json({"within": within, "extremes": ends.as_dict(), "columns": by_column})
        return
    percent = network.link == "logistic"
    what = "predictions" if output is None else f"{quote_name(score_name(network, output))}: values"
    show(f"{'probabilities' if percent else what} lie {range_text(ends, percent)}")
    for end, row in (("lowest", ends.low_row), ("highest", ends.high_row)):
        if row is not None and network.features_used:
            coded = network.schema.encode(row[None], missing=True)[0]
            cells = ((network.schema.columns[j], float(coded[j])) for j in network.features_used)
            where = ", ".join(f"{quote_name(column.name)} {_written(column, value)}" for column, value in cells)
            show(f"{end:>8} where {where}")
    if certificates:
        show_columns([
            [quote_name(name), _effect_text(certificate, percent)] for name, certificate in certificates.items()
        ])  # fmt: skip


def _written(column: Column, value: float) -> str:
    """Write what a column holds; the float next below a threshold reads as below that."""
    short = just_below(value) if column.categories is None and column.part_of is None else ""
    return f"just below {short}" if short else f"= {cell(column, value)}"


def _effect_text(certificate: Certificate, percent: bool) -> str:
    """Say what a column does to predictions."""
    direction, rise, fall = certificate.direction, upper_end(certificate.rise), upper_end(certificate.fall)
    known = {
        "unordered": "has no order",
        "unknown": "unknown",
        "constant": "changes nothing",
        "increasing": f"increasing, by up to {rise}",
        "decreasing": f"decreasing, by up to {fall}",
    }
    text = known.get(direction, f"{direction}, up by {rise} and down by {fall} at most")
    return text + (" in log-odds" if percent and direction in ("increasing", "decreasing", "neither") else "")


def range_text(ends: Extremes, percent: bool = False) -> str:
    """Say between which values predictions lie."""
    low, high = (ends.low, ends.high) if ends.proven else ends.bounds
    percents = math.floor(1000 * low + 1e-9) / 10, math.ceil(1000 * high - 1e-9) / 10  # away from each other
    text = f"{percents[0]:.1f}% and {percents[1]:.1f}%" if percent else f"{lower_end(low)} and {upper_end(high)}"
    return f"between {text}" + ("" if ends.proven else ", perhaps less far")


def score_name(network: Network, output: int | None = None) -> str:
    """Return what the parts of a network add up to; of several outputs, of one."""
    return outputs_of(network)[output or 0].target_name or "prediction"


def output_of(network: Network, label: str | None) -> int | None:
    """Return the number of the class whose score is meant; None where there is one score alone."""
    if network.link != "softmax":
        if label is not None:
            raise InputError("--class is for models of three classes or more; leave it out.")
        return None
    if label is None:
        raise InputError(f"--class must say of which class, {one_of(network)}.")
    return class_number(network, label, "--class")


def check_no_class(label: str | None) -> None:
    """Refuse --class for a model of numbers."""
    if label is not None:
        raise InputError("--class is for classes, and the model predicts numbers; leave it out.")
