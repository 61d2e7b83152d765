"""``bgn certify``: what a saved model can predict at most, and what each column does to it, proven."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

import bgn
from bgn.cli.explain import output_of, score_name
from bgn.cli.source import class_option, json_option, read_model, width_option
from bgn.cli.terminal import show, show_json
from bgn.model.network import Network
from bgn.model.readings import as_told
from bgn.show.labels import cell
from bgn.text import lower_end, quote_name, upper_end

if TYPE_CHECKING:
    from bgn.explain.certify import Certificate
    from bgn.explain.extremes import Extremes

seconds_option = click.option(
    "--max-seconds", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True,
    help="When to stop with what is proven so far.",
)  # fmt: skip


@click.command()
@click.argument("model", type=click.Path())
@click.option("--column", "columns", multiple=True, metavar="COL", help="This column alone; again for more.")
@click.option(
    "--within", type=click.Choice(["all", "seen"]), default="seen", show_default=True,
    help="Rows within the ranges seen at fit, or all that can be written down.",
)  # fmt: skip
@click.option("--no-missing", is_flag=True, help="Leave rows with missing values aside.")
@seconds_option
@class_option
@width_option
@json_option
def certify(
    model: str, columns: tuple[str, ...], within: str, no_gaps: bool, max_seconds: float, label: str | None,
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
    network = as_told(read_model(model, size).network)
    about: dict[str, Any] = {"within": within, "gaps": not no_gaps, "max_seconds": max_seconds}
    about["output"] = output = output_of(network, label)
    ends, found = bgn.extremes(network, **about), bgn.certify(network, columns or None, **about)
    if as_json:
        told = {name: each.as_dict() for name, each in found.items()}
        show_json({"within": within, "extremes": ends.as_dict(), "columns": told})
        return
    chances = network.link == "logistic"
    what = "predictions" if output is None else f"{quote_name(score_name(network, output))}: values"
    show(f"{'probabilities' if chances else what} lie {told_range(ends, chances)}")
    for end, row in (("lowest", ends.low_row), ("highest", ends.high_row)):
        if row is not None:
            show(f"{end:>8} where {_told_row(network, row)}")
    widest = max([len(quote_name(name)) for name in found], default=0)
    for name, each in found.items():
        score = " in log-odds" if chances and each.direction in ("increasing", "decreasing", "neither") else ""
        show(f"{quote_name(name):<{widest}}  {_told(each)}{score}")


def told_range(ends: Extremes, chances: bool = False) -> str:
    """Say between which values predictions lie; of `chances`, in percent."""
    low, high = (ends.low, ends.high) if ends.proven else ends.bounds
    percents = math.floor(1000 * low + 1e-9) / 10, math.ceil(1000 * high - 1e-9) / 10  # away from each other
    told = f"{percents[0]:.1f}% and {percents[1]:.1f}%" if chances else f"{lower_end(low)} and {upper_end(high)}"
    return f"between {told}" + ("" if ends.proven else ", perhaps less far")


def _told(each: Certificate) -> str:
    """Say what a column does."""
    if each.direction in ("unordered", "unknown", "constant"):
        return {"unordered": "has no order", "unknown": "unknown", "constant": "changes nothing"}[each.direction]
    sizes = {"increasing": f"by up to {upper_end(each.rise)}", "decreasing": f"by up to {upper_end(each.fall)}"}
    both = f"up by {upper_end(each.rise)} and down by {upper_end(each.fall)} at most"
    return f"{each.direction}, {sizes.get(each.direction, both)}"


def _told_row(network: Network, row: Any) -> str:
    """Write the columns of a row that matter."""
    coded = network.schema.encode(row[None], missing=True)[0]
    pairs = ((network.schema.columns[j], float(coded[j])) for j in network.features_used)
    return ", ".join(f"{quote_name(column.name)} = {cell(column, value)}" for column, value in pairs)
