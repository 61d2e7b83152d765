"""The exact effect of a feature as steps, of a pair as colours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bgn.explain.effects import Effect, PairEffect, effect_over
from bgn.explain.subject import rows_of
from bgn.model.schema import level_word
from bgn.model.step import Floats
from bgn.model.terms import network_of
from bgn.pipelines import through_pipelines
from bgn.plots.room import READABLE, inches, is_narrow, name_axes, name_colours
from bgn.plots.style import FIRST, axes, ink, plain
from bgn.show.curve import band, band_of_levels, corners, few_wholes, histogram, levels_of, stepping
from bgn.show.labels import shorten, shortened

_SLANTED_PER_INCH = 2.0  # levels whose words have room beside each other
_PIXELS = 200


@through_pipelines("X")
def effect(model: Any, feature: Any, X: Any, *, cmap: str = "cividis", ax: Any = None) -> Any:
    """Draw the effect of a feature, or of a pair, on the prediction: the mean when it has a value and all else varies.

    One feature gives a step function, exact, over a histogram of the data, in an average with a band of two standard
    errors either way; a column of few whole numbers gets one
    level per number, a category a dot per level. What a gap comes to is a dotted line, or a dot "missing". Two features
    give colours, worked out at every pixel.

    Parameters
    ----------
    model : Network or fitted estimator
    feature : str, int, or a pair of them
        The column or columns.
    X : array_like or frame
        Rows over which the other columns vary; they also give the range drawn.
    cmap : str, default "cividis"
        Colour map for pairs.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn, numpy as np
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])
    >>> model = bgn.Network([layer], [1.0, 0.5], 3.0, ["rooms", "age"], "price")
    >>> ax = bgn.plots.effect(model, "rooms", np.array([[1.0, 1.0], [3.0, 1.0], [5.0, 9.0]]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rooms', 'mean predicted price')
    """
    network = network_of(model, plain=False)
    if network.link != "identity":
        raise ValueError("model must predict one number; of classes, plot bgn.effect(model, feature, scale='score').")
    rows, schema = rows_of(network, X, "X"), shortened(network.schema)
    found = effect_over(network, feature, rows)
    ax = axes(ax, 6.0, 4.0)
    target = f"mean predicted {schema.target or 'value'}"
    columns = [network.names.index(name) for name in ([found.feature] if isinstance(found, Effect) else found.features)]
    names = [schema.names[column] for column in columns]
    if isinstance(found, Effect):
        (_curve if found.column.levels is None else _dots)(ax, found, rows[:, columns[0]])
        name_axes(ax, names[0], target)
    else:
        _map(ax, found, rows[:, columns], cmap, target)
        name_axes(ax, names[0], names[1])
    return ax


def _curve(ax: Any, found: Effect, column: Floats) -> None:
    """Draw the steps within the data's range, and where the data lie."""
    plain(ax)
    gaps, column = np.isnan(column).any(), column[~np.isnan(column)]
    if gaps and found.missing is not None:
        ax.axhline(found.missing, color=FIRST, linewidth=1.5, linestyle=":", zorder=2)
        ax.annotate("missing", (1.0, found.missing), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    if not len(column):
        return
    ends, steps, (places, reached) = band(found, column), stepping(found, column), corners(found, column)
    if ends is not None:
        step = "post" if steps else None
        ax.fill_between(places, *ends, step=step, color=FIRST, alpha=0.25, linewidth=0)
    style = "steps-post" if steps else "default"
    ax.plot(places, reached, drawstyle=style, color=FIRST, linewidth=2.0, zorder=3)
    if few_wholes(column):
        ax.xaxis.get_major_locator().set_params(integer=True)
    counts, edges = histogram(column)
    _bars(ax, edges[:-1], np.diff(edges), counts, "edge")


def _dots(ax: Any, found: Effect, column: Floats) -> None:
    """Draw a dot per level of a category, and how many rows have it."""
    plain(ax)
    words, effects, counts = levels_of(found, column)
    places = np.arange(len(words), dtype=np.float64)
    ax.plot(places, effects, "o", color=FIRST, markersize=8, zorder=3)
    ends = band_of_levels(found, column)
    if ends is not None:
        ax.vlines(places, *ends, color=FIRST, alpha=0.5, linewidth=3, zorder=2)
    narrow = is_narrow(ax)
    if len(words) <= _SLANTED_PER_INCH * inches(ax)[0]:
        told, size = shorten(words, 14 if narrow else 24), READABLE if narrow else None
        ax.set_xticks(places, told, rotation=30, ha="right", rotation_mode="anchor", parse_math=False, fontsize=size)
    else:
        size = READABLE if narrow else 8.0
        every = math.ceil(len(words) * 1.3 * size / (72.0 * inches(ax)[0]))  # where all of them have no room
        ax.set_xticks(places[::every], shorten(words, 16)[::every], rotation=90, fontsize=size, parse_math=False)
    _bars(ax, places, np.full(len(words), 0.8), counts, "center")


def _bars(ax: Any, places: Floats, widths: Floats, counts: Floats, align: str) -> None:
    """Draw how many rows there are, in the lowest quarter."""
    bottom, top = ax.get_ylim()
    tall = 0.25 * (top - bottom) * counts / max(counts.max(initial=0.0), 1.0)
    ax.bar(places, tall, widths, bottom=bottom, align=align, color=ink(0.15), zorder=1)
    ax.set_ylim(bottom, top)


def _map(ax: Any, found: PairEffect, columns: Floats, cmap: str, target: str) -> None:
    """Colour the plane of two features by the mean prediction."""
    asked, places = [], []
    for part, column, axis in zip((found.first, found.second), columns.T, (ax.xaxis, ax.yaxis), strict=True):
        if part.column.levels is None:
            asked.append(np.linspace(np.nanmin(column), np.nanmax(column), _PIXELS))
            places.append(asked[-1])
        else:
            asked.append(np.array(part.column.levels, dtype=object))
            places.append(np.arange(len(part.column.levels)))
            axis.set_ticks(places[-1], shorten(list(map(level_word, part.column.levels))), parse_math=False)
    values = found(asked[0][np.newaxis, :], asked[1][:, np.newaxis])
    shown = ax.pcolormesh(*places, values, cmap=cmap, shading="nearest", rasterized=True)
    name_colours(ax, shown, target)
