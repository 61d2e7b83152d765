"""Options of ``bgn fit`` for what predictions must do, whatever the rows."""

from __future__ import annotations

from typing import Any

import click

from bgn.cli.source import grouped

behaviour_options = grouped(
    click.option(
        "--increasing", multiple=True, metavar="COL",
        help="Predictions must never fall as this column rises; of two classes, the score of the second. Again for "
        "more.",
    ),
    click.option(
        "--decreasing", multiple=True, metavar="COL", help="Predictions must never rise as this column rises."
    ),
    click.option(
        "--together", multiple=True, metavar="COL,COL",
        help="Columns that one question may ask about; again for more sets. Columns that no set names are one more.",
    ),
    click.option("--no-interactions", is_flag=True, help="Ask about one column at a time."),
    click.option("--at-least", type=float, help="No prediction may lie below this."),
    click.option("--at-most", type=float, help="No prediction may lie above this."),
)  # fmt: skip


def behaviour(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator that say what predictions must do."""
    rising, falling = options["increasing"], options["decreasing"]
    if both := set(rising) & set(falling):
        raise click.UsageError(f"--increasing and --decreasing both name {min(both)!r}; choose one.")
    if options["together"] and options["no_interactions"]:
        raise click.UsageError("--together and --no-interactions say different things; choose one.")
    found: dict[str, Any] = {}
    if rising or falling:
        found["monotonic_cst"] = dict.fromkeys(rising, 1) | dict.fromkeys(falling, -1)
    if options["together"] or options["no_interactions"]:
        groups = [{name.strip() for name in each.split(",")} for each in options["together"]]
        found["interaction_cst"] = groups or "no_interactions"
    if (ends := (options["at_least"], options["at_most"])) != (None, None):
        found["bounds"] = ends
    return found
