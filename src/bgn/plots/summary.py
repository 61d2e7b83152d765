"""SHAP values of many rows at a glance: one dot per row, one line per feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.model.step import Floats
from bgn.plots.room import bars_that_fit, beside_names, name_axes, name_bars, widest
from bgn.plots.style import axes, ink, largest, plain, two_tone
from bgn.show.labels import shortened


def summary(explanation: Any, *, most: int = 12, points: int = 1000, ax: Any = None) -> Any:
    """Draw the SHAP values of the most important features, coloured by the features' own values.

    Categories whose levels have no order, and gaps, are grey.

    Parameters
    ----------
    explanation : Explanation
        From :func:`bgn.shap_values`.
    most : int, default 12
        Features to draw at most, the most important (mean absolute value) on top.
    points : int, default 1000
        Rows to draw at most, spread evenly over those explained.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn, numpy as np
    >>> model = bgn.Network([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [1.0, 2.0], 0.0, ["a", "b"])
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    >>> ax = bgn.plots.summary(bgn.shap_values(model, X, X))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    """
    sizes = np.abs(explanation.values).mean(axis=0)
    order = largest(sizes, bars_that_fit(ax, most))
    rows = np.linspace(0, len(explanation.values) - 1, min(points, len(explanation.values))).astype(int)

    def labels(letters: int) -> list[str]:
        names = shortened(explanation.network.schema, letters).names
        return [names[i] for i in order]

    ax, room = axes(ax, 5.8 + widest(labels(24)), 1.2 + 0.42 * max(len(order), 1)), ax is None
    plain(ax)
    ax.axvline(0.0, color=ink(0.5), linewidth=1.0)
    dots, colours = None, two_tone().with_extremes(bad=ink(0.5))
    for place, feature in enumerate(order):
        values, data = explanation.values[rows, feature], explanation.data[rows, feature]
        kind = explanation.network.schema.columns[feature]
        if kind.levels is not None and not kind.ordered and kind.levels != (False, True):
            data = np.full(len(data), np.nan)  # no level is higher than another
        dots = ax.scatter(
            values, place + _swarm(values, sizes[order[0]]), c=_ranks(data), cmap=colours, vmin=0.0, vmax=1.0,
            s=9, plotnonfinite=True, linewidth=0, zorder=2, rasterized=len(rows) * len(order) > 5000,
        )  # fmt: skip
    size = name_bars(ax, labels, room)
    ax.set_ylim(max(len(order), 1) - 0.5, -0.5)
    name_axes(ax, "SHAP value: change of the prediction", share=beside_names(room))
    if dots is not None:
        bar = ax.figure.colorbar(dots, ax=ax, ticks=[0.0, 1.0], shrink=0.8, aspect=25, pad=0.02)
        word = " value" if room else "\nvalue"
        bar.ax.set_yticklabels([f"low{word}", f"high{word}"], fontsize=size)
        bar.outline.set_visible(False)
    return ax


def _ranks(values: Floats) -> Floats:
    """Return where each value stands among all, 0 to 1, equal ones alike; NaN for gaps."""
    distinct, places = np.unique(values[~np.isnan(values)], return_inverse=True)
    ranks = np.full(len(values), np.nan)
    ranks[~np.isnan(values)] = places / max(len(distinct) - 1, 1)
    return ranks


def _swarm(values: Floats, scale: float) -> Floats:
    """Return offsets that keep dots of about equal value apart, within 0.4 of the line."""
    bins = np.rint(values / (0.08 * scale or 1.0)).astype(np.int64)
    offsets = np.zeros(len(values))
    _, places, counts = np.unique(bins, return_inverse=True, return_counts=True)
    for group in range(len(counts)):
        members = np.flatnonzero(places == group)
        half = 0.4 * counts[group] / counts.max()
        # A golden-ratio sequence fills the band evenly whatever the order of the rows.
        offsets[members] = half * (2.0 * ((np.arange(1, len(members) + 1) * 0.6180339887498949) % 1.0) - 1.0)
    return offsets * (counts.max() > 1)
