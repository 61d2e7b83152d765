"""How a network was grown: errors and Theorem 1's bound along the path."""

from __future__ import annotations

import math
from typing import Any

from bgn.explain.frontier import history_of
from bgn.pipelines import through_pipelines
from bgn.plots.room import is_narrow, legend, name_axes
from bgn.plots.style import FIRST, SECOND, axes, ink, plain


@through_pipelines(undone=False)
def growth(model: Any, *, ax: Any = None) -> Any:
    """Draw the errors, Theorem 1's bound and accepted replacements along the path of growth.

    Errors are those of the training rows, and of the validation rows or of cross-validation, where there was either. Of
    an average they are means over its networks, beside the thin lines of each.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, or the history itself.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    history = history_of(model)
    records = list(history.records)
    if not records:
        raise ValueError("model has an empty history: nothing was grown.")
    classes = history.link != "identity"
    word = "log loss" if classes else "error"
    ends = _layer_ends(records)
    place = [ends[record.layer] + record.width for record in records]
    # What a width came to: the last record at each place, and the layer at that width.
    settled = sorted(dict(zip(place, records, strict=True)).items())
    grown = [(start, history.paths[layer]) for layer, start in ends.items() if layer < len(history.paths)]
    reached = [(start + width, path[width]) for start, path in grown for width in range(1, len(path))]
    if members := getattr(history, "members", ()):
        settled, reached = [], list(enumerate(history.paths[history.best_layer]))[1:]
        records, place, ends = [], [], {history.best_layer: 0}
    validated = f"{'cross-validated' if history.cross_validated else 'validation'} {word}"
    ax = axes(ax, 7.0, 4.2)
    plain(ax)
    _thinly(ax, members)
    for label, values, colour, dash in (
        (f"training {word}", [(x, each.train_loss) for x, each in reached], FIRST, "-"),
        (validated, [(x, each.validation_loss) for x, each in reached], SECOND, "-"),
        ("lower bound of training (Theorem 1)", [(x, record.bound) for x, record in settled], ink(0.6), ":"),
    ):
        line = [(x, value) for x, value in values if math.isfinite(value)]
        if line:
            mark = "o" if len(line) <= 30 else None
            ax.plot(
                *zip(*line, strict=True), dash, color=colour, label=label, linewidth=1.8, marker=mark, markersize=3.5
            )
    swaps = [(x, r.train_loss) for x, r in zip(place, records, strict=True) if r.kind == "replacement"]
    if swaps:
        ax.plot(*zip(*swaps, strict=True), "x", color=FIRST, label="replacement accepted", markersize=5, zorder=3)
    _mark_layers(ax, ends)
    chosen = ends.get(history.best_layer, 0) + history.best_width
    ax.axvline(chosen, color=ink(0.5), linestyle="--", linewidth=1.2, label=f"chosen: width {history.best_width}")
    errors = [value for _, each in reached for value in (each.train_loss, each.validation_loss) if value > 0]
    if max(errors, default=0.0) > 10 * min(errors, default=0.0):
        ax.set_yscale("log")
    name_axes(ax, "neurons", "log loss" if classes else "mean squared error")
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend(ax)
    return ax


def _thinly(ax: Any, members: Any) -> None:
    """Draw the errors of every network of an average."""
    for each in members:
        path = each.paths[each.best_layer][1:]
        for name, colour in (("train_loss", FIRST), ("validation_loss", SECOND)):
            errors = [getattr(one, name) for one in path]
            ax.plot(range(1, len(path) + 1), errors, color=colour, alpha=0.3, linewidth=0.8)


def _layer_ends(records: list[Any]) -> dict[int, int]:
    """Return how many neurons stand in the layers before each layer."""
    widths: dict[int, int] = {}
    for record in records:
        widths[record.layer] = max(widths.get(record.layer, 0), record.width)
    ends, total = {}, 0
    for layer in sorted(widths):
        ends[layer] = total
        total += widths[layer]
    return ends


def _mark_layers(ax: Any, ends: dict[int, int]) -> None:
    """Say where each layer begins, when there are several, where no legend stands."""
    height = -10 if is_narrow(ax) else 3
    for count, start in enumerate(ends.values(), start=1):
        if len(ends) > 1:
            ax.axvline(start + 0.5, color=ink(0.3), linewidth=0.8)
            ax.annotate(
                f"layer {count}", (start + 0.5, 1.0), xycoords=("data", "axes fraction"), xytext=(3, height),
                textcoords="offset points", fontsize=8, color=ink(0.7),
            )  # fmt: skip
