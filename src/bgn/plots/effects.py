"""What the prediction is over one column or two: exact effects as steps, pairs as colors, regions as polygons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bgn.explain.arguments import rows_of
from bgn.explain.effects import Effect, PairEffect, arrangement, effect_over
from bgn.model.network import Network
from bgn.model.readings import network_of
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.plots.style import (
    FIRST,
    READABLE,
    axes,
    documented,
    inches,
    ink,
    is_narrow,
    name_axes,
    name_colors,
    plain_axes,
)
from bgn.require import require
from bgn.show.curves import band, categories_of, corners, few_wholes, histogram, stepping
from bgn.show.labels import shorten, shortened
from bgn.text import quote_name

_SLANTED_PER_INCH = 2.0  # categories whose names have room beside each other
_PIXELS = 200


@documented()
@through_pipelines("X")
def effect(model: Any, feature: Any, X: Any, *, cmap: str = "cividis", ax: Any = None) -> Any:
    """Draw the effect of a feature, or of a pair, on the prediction: the mean when it has a value and all else varies.

    One feature gives a step function, exact, over a histogram of the data, in an ensemble with a band of two standard
    errors either way; a column of few whole numbers gets one step per number, a categorical column a dot per category.
    A missing value is a dotted line, or a dot "missing". Two features give colors, worked out at every pixel.

    Parameters
    ----------
    model : Network or fitted estimator
    feature : str, int, or a pair of them
        The column or columns.
    X : array_like or frame
        Rows over which the other columns vary; they also give the range drawn.
    cmap : str, default "cividis"
        Color map for pairs.
    {ax}

    Examples
    --------
    >>> import bgn, numpy as np
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])
    >>> model = bgn.Network.of_layers([layer], [1.0, 0.5], 3.0, ["rooms", "age"], "price")
    >>> ax = bgn.plots.effect(model, "rooms", np.array([[1.0, 1.0], [3.0, 1.0], [5.0, 9.0]]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rooms', 'mean predicted price')
    """
    network = network_of(model, plain=False)
    if network.link != "identity":
        raise ValueError("model must predict one number; of classes, plot bgn.effect(model, feature, scale='score').")
    rows, schema = rows_of(network, X, "X"), shortened(network.schema)
    shown, target = effect_over(network, feature, rows), f"mean predicted {schema.target or 'value'}"
    columns = [network.names.index(name) for name in ([shown.feature] if isinstance(shown, Effect) else shown.features)]
    names = [schema.names[column] for column in columns]
    if isinstance(shown, Effect):
        ax = plain_axes(ax, 6.0, 4.0)
        (_curve if shown.column.categories is None else _dots)(ax, shown, rows[:, columns[0]])
        name_axes(ax, names[0], target)
    else:
        ax = axes(ax, 6.0, 4.0)
        _map(ax, shown, rows[:, columns], cmap, target)
        name_axes(ax, names[0], names[1])
    return ax


def _curve(ax: Any, shown: Effect, column: Floats) -> None:
    """Draw the steps within the data's range, and where the data lie."""
    missing, column = np.isnan(column).any(), column[~np.isnan(column)]
    if missing and shown.missing is not None:
        ax.axhline(shown.missing, color=FIRST, linewidth=1.5, linestyle=":", zorder=2)
        ax.annotate("missing", (1.0, shown.missing), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    if not len(column):
        return
    ends, steps, (places, reached) = band(shown, column), stepping(shown, column), corners(shown, column)
    if ends is not None:
        step = "post" if steps else None
        ax.fill_between(places, *ends, step=step, color=FIRST, alpha=0.25, linewidth=0)
    style = "steps-post" if steps else "default"
    ax.plot(places, reached, drawstyle=style, color=FIRST, linewidth=2.0, zorder=3)
    if few_wholes(column):
        ax.xaxis.get_major_locator().set_params(integer=True)
    counts, edges = histogram(column)
    _bars(ax, edges[:-1], np.diff(edges), counts, "edge")


def _dots(ax: Any, shown: Effect, column: Floats) -> None:
    """Draw a dot per category, and how many rows have it."""
    names, effects, counts = categories_of(shown, column)
    places = np.arange(len(names), dtype=np.float64)
    ax.plot(places, effects, "o", color=FIRST, markersize=8, zorder=3)
    ends = band(shown, column)
    if ends is not None:
        ax.vlines(places, *ends, color=FIRST, alpha=0.5, linewidth=3, zorder=2)
    narrow = is_narrow(ax)
    if len(names) <= _SLANTED_PER_INCH * inches(ax)[0]:
        labels, size = shorten(names, 14 if narrow else 24), READABLE if narrow else None
        ax.set_xticks(places, labels, rotation=30, ha="right", rotation_mode="anchor", parse_math=False, fontsize=size)
    else:
        size = READABLE if narrow else 8.0
        every = math.ceil(len(names) * 1.3 * size / (72.0 * inches(ax)[0]))  # where all of them have no room
        ax.set_xticks(places[::every], shorten(names, 16)[::every], rotation=90, fontsize=size, parse_math=False)
    _bars(ax, places, np.full(len(names), 0.8), counts, "center")


def _bars(ax: Any, places: Floats, widths: Floats, counts: Floats, align: str) -> None:
    """Draw how many rows there are, in the lowest quarter."""
    bottom, top = ax.get_ylim()
    tall = 0.25 * (top - bottom) * counts / max(counts.max(initial=0.0), 1.0)
    ax.bar(places, tall, widths, bottom=bottom, align=align, color=ink(0.15), zorder=1)
    ax.set_ylim(bottom, top)


def _map(ax: Any, shown: PairEffect, columns: Floats, cmap: str, target: str) -> None:
    """Color the plane of two features by the mean prediction."""
    grid, places = [], []
    for part, column, axis in zip((shown.first, shown.second), columns.T, (ax.xaxis, ax.yaxis), strict=True):
        if part.column.categories is None:
            grid.append(np.linspace(np.nanmin(column), np.nanmax(column), _PIXELS))
            places.append(grid[-1])
        else:
            grid.append(np.array(part.column.categories, dtype=object))
            places.append(np.arange(len(part.column.categories)))
            axis.set_ticks(places[-1], shorten(list(map(category_name, part.column.categories))), parse_math=False)
    values = shown(grid[0][np.newaxis, :], grid[1][:, np.newaxis])
    name_colors(ax, ax.pcolormesh(*places, values, cmap=cmap, shading="nearest", rasterized=True), target)


@through_pipelines("X")
def regions(
    model: Any,
    X: Any,
    features: tuple[str | int, str | int] | None = None,
    *,
    at: Mapping[str, float] | None = None,
    steps: bool = False,
    points: int = 0,
    cmap: str = "cividis",
    ax: Any = None,
) -> Any:
    """Draw the regions, exact polygons, that the first layer cuts two features into, colored by the prediction.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame
        Rows that give the ranges drawn and, as medians, the values of the other features.
    features : pair of str or int, optional
        The two features; by default the first two that the network uses.
    at : mapping of str to float, optional
        Values of other features, by name, instead of their medians.
    steps : bool, default False
        Draw predictions as heights too, in three dimensions.
    points : int, default 0
        How many rows of `X` to show as dots.
    cmap : str, default "cividis"
        A color map; the default looks alike with any kind of color vision.
    ax : matplotlib Axes, optional
        Where to draw; three-dimensional for `steps`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn, numpy as np
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 2.0]], [-0.5, -1.0])
    >>> ax = bgn.plots.regions(bgn.Network.of_layers([layer], [1.0, 0.5], 0.0), np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> len(ax.collections[0].get_paths())
    4
    """
    network = network_of(model)
    rows, schema = network._rows(X), shortened(network.schema)
    pair = _pair(network, features)
    polygons, values, lines = _cells(network, rows, pair, at or {})
    target = schema.target or "prediction"
    if steps:
        ax = axes(ax, 6.4, 4.8, projection="3d")
        _steps(ax, polygons, values, lines, cmap, target)
    else:
        ax = axes(ax, 6.4, 4.8)
        collections = require("matplotlib.collections", extra="plot")
        filled = collections.PolyCollection(polygons, array=values, cmap=cmap, edgecolor="white", linewidth=0.7)
        ax.add_collection(filled)
        name_colors(ax, filled, target)
    xlim, ylim = map(_range, np.concatenate(polygons).T)
    ax.set(xlim=xlim, ylim=ylim)
    if steps and is_narrow(ax):  # three names that stand slanted, in small letters
        schema = shortened(network.schema, 12)
        names = schema.names[pair[0]], schema.names[pair[1]], schema.target or "prediction"
        for side, name in zip((ax.xaxis, ax.yaxis, ax.zaxis), names, strict=True):
            side.set_label_text(name, parse_math=False, fontsize=READABLE)
            side.set_tick_params(labelsize=READABLE)
    else:
        name_axes(ax, schema.names[pair[0]], schema.names[pair[1]])
    if points and not steps:
        shown = rows[np.linspace(0, len(rows) - 1, min(points, len(rows))).astype(int)]
        ax.scatter(*shown[:, pair].T, s=6, color="white", edgecolor="black", linewidth=0.4, zorder=3)
    return ax


def _pair(network: Network, features: tuple[str | int, str | int] | None) -> tuple[int, int]:
    """Return the columns of the two features."""
    if features is None:
        if network.n_inputs < 2:
            raise ValueError("regions needs two features; the network reads one column. Use bgn.plots.effect.")
        unused = [i for i in range(network.n_inputs) if i not in network.features_used]
        first, second = [*network.features_used, *unused][:2]
        return first, second
    first, second = (_column(network, feature, "features") for feature in features)
    if first == second:
        raise ValueError(f"features must be two different columns; got {features!r}.")
    return first, second


def _column(network: Network, feature: str | int, argument: str) -> int:
    """Return the column of a feature given by name or position."""
    if isinstance(feature, str) and feature in network.names:
        return network.names.index(feature)
    if not isinstance(feature, str) and 0 <= feature < network.n_inputs:
        return int(feature)
    names = ", ".join(map(quote_name, network.names))
    raise ValueError(f"{argument} must name columns among {names}; got {feature!r}.")


def _range(values: Floats) -> tuple[float, float]:
    """Return the lowest and the highest value, kept apart when they are equal."""
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _cells(
    network: Network, rows: Floats, pair: tuple[int, int], at: Mapping[str, float]
) -> tuple[list[Floats], Floats, Floats]:
    """Return the polygons that the first layer cuts two features into, their predictions, and the cutting lines.

    A line ``a x + b y = c`` is a row (a, b, c).
    """
    fixed = np.median(rows, axis=0)
    for name, value in at.items():
        fixed[_column(network, name, "at")] = value
    layer, rest = network.layers[0], fixed.copy()
    rest[list(pair)] = 0.0
    cuts = layer.thresholds - layer.project(rest[np.newaxis])[0]
    lines = np.column_stack([layer.weights[:, pair], cuts])
    lines = lines[lines[:, :2].any(axis=1)]
    polygons = arrangement(np.array([_range(rows[:, column]) for column in pair]), lines)
    middles = np.tile(fixed, (len(polygons), 1))
    middles[:, pair] = [polygon.mean(axis=0) for polygon in polygons]
    return polygons, network.predict(middles), lines


def _steps(ax: Any, polygons: list[Floats], values: Floats, lines: Floats, cmap: str, target: str) -> None:
    """Stand the polygons up as columns as high as their predictions, the farthest drawn first."""
    art3d = require("mpl_toolkits.mplot3d.art3d", extra="plot")
    shades = require("matplotlib", extra="plot").colormaps[cmap]
    low, high = _range(values)
    floor = low - 0.05 * (high - low)
    middles = np.array([polygon.mean(axis=0) for polygon in polygons])
    size = np.ptp(np.concatenate(polygons), axis=0)
    # Look from the low corner, so that high steps do not hide the others.
    rises = (middles - middles.mean(axis=0)).T @ (values - values.mean())
    view = np.where(rises >= 0, -1.0, 1.0)
    ax.view_init(elev=32, azim=float(np.degrees(np.arctan2(1.3 * view[1], view[0]))))
    ax.computed_zorder = False
    # Cells on the far side of the first line that parts them from others come first: no column hides what is nearer.
    sides = np.sign(middles @ lines[:, :2].T - lines[:, 2]) * np.sign((lines[:, :2] * size) @ (view * [1.0, 1.3]))
    order = np.lexsort(sides.T[::-1]) if len(lines) else np.zeros(1, dtype=int)
    for place, i in enumerate(order, start=2):
        shade = shades((values[i] - low) / (high - low))
        walls = [
            [(x0, y0, floor), (x1, y1, floor), (x1, y1, values[i]), (x0, y0, values[i])]
            for (x0, y0), (x1, y1) in zip(polygons[i], np.roll(polygons[i], -1, axis=0), strict=True)
        ]
        faces = [[(x, y, values[i]) for x, y in polygons[i]], *walls]
        colors = [shade] + [tuple(0.8 * part for part in shade[:3])] * len(walls)
        column = art3d.Poly3DCollection(faces, facecolors=colors, edgecolor=(*ink(0.5), 0.5), linewidth=0.3)
        column.set_zorder(place)
        ax.add_collection3d(column)
    ax.set_zlim(floor, high)
    ax.set_zlabel(target, parse_math=False)
