"""The exact effect of a feature as steps, of a pair as colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.explain.effects import Effect, PairEffect
from bgn.explain.effects import effect as measure
from bgn.network import Floats, Network
from bgn.plots.style import FIRST, axes, ink, plain
from bgn.terms import network_of
from bgn.writing import shorten

_PIXELS = 200
_HALF = np.finfo(np.float64).max / 2.0


def effect(model: Any, feature: Any, X: Any, *, cmap: str = "cividis", ax: Any = None) -> Any:
    """Draw the effect of a feature, or of a pair, on the prediction: the mean when it has a value and all else varies.

    One feature gives a step function, exact, over a histogram of the data; a column of few whole numbers gets a level a
    number. Two features give colours, worked out at every pixel.

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
    network = network_of(model)
    rows = network._rows(X)
    found = measure(network, feature, rows)
    ax = axes(ax, 6.0, 4.0)
    target = "mean predicted " + shorten([network.target_name or "value"])[0]
    if isinstance(found, Effect):
        column = rows[:, network.names.index(found.feature) if isinstance(feature, str) else int(feature)]
        _curve(ax, found, column)
        ax.set_ylabel(target, parse_math=False)
        ax.set_xlabel(shorten([found.feature])[0], parse_math=False)
    else:
        _map(ax, found, network, rows, cmap, target)
    return ax


def few_wholes(column: Floats) -> bool:
    """Tell whether a column holds whole numbers in a short range, such as hours or yes and no.

    Beyond 2**52 all floats are whole, and halves between them are none.
    """
    return bool(np.ptp(column) <= 60 and (column == np.rint(column)).all() and np.abs(column).max() < 2.0**52)


def histogram(column: Floats) -> tuple[Floats, Floats]:
    """Return counts and edges of bins: one bin per number for few whole numbers, otherwise thirty at most."""
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        edges = np.arange(low - 0.5, high + 1.0)
    else:  # halved, because the widest range there is has no length in float64
        room = max(0.5, 1e-3 * abs(low)) / 2.0 if low == high else 0.0
        edges = np.unique(np.clip(np.linspace(low / 2.0 - room, high / 2.0 + room, 31), -_HALF, _HALF) * 2.0)
        edges[[0, -1]] = min(edges[0], low), max(edges[-1], high)
    return np.histogram(column, bins=edges)[0].astype(np.float64), edges


def corners(found: Effect, column: Floats) -> tuple[Floats, Floats]:
    """Return where the effect steps within a column's range, and the levels from there on; the last closes the line.

    A column of few whole numbers gets a level a number: what lies between them never occurs.
    """
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        places = np.arange(low, high + 1.0)
        return np.append(places - 0.5, high + 0.5), found(np.append(places, high))
    first, last = np.searchsorted(found.breakpoints, [low, high], side="right")
    places = np.concatenate([[low], found.breakpoints[first:last], [high]])
    return places, np.append(found.levels[first : last + 1], found.levels[last])


def _curve(ax: Any, found: Effect, column: Floats) -> None:
    """Draw the steps within the data's range, and where the data lie."""
    plain(ax)
    ax.plot(*corners(found, column), drawstyle="steps-post", color=FIRST, linewidth=2.0, zorder=3)
    if few_wholes(column):
        ax.xaxis.get_major_locator().set_params(integer=True)
    counts, edges = histogram(column)
    bottom, top = ax.get_ylim()
    tall = 0.25 * (top - bottom) * counts / counts.max()
    ax.bar(edges[:-1], tall, np.diff(edges), bottom=bottom, align="edge", color=ink(0.15), zorder=1)
    ax.set_ylim(bottom, top)


def _map(ax: Any, found: PairEffect, network: Network, rows: Floats, cmap: str, target: str) -> None:
    """Colour the plane of two features by the mean prediction."""
    columns = [network.names.index(name) for name in found.features]
    across, up = (np.linspace(rows[:, i].min(), rows[:, i].max(), _PIXELS) for i in columns)
    values = found(across[np.newaxis, :], up[:, np.newaxis])
    shown = ax.pcolormesh(across, up, values, cmap=cmap, shading="nearest", rasterized=True)
    ax.figure.colorbar(shown, ax=ax).set_label(target, parse_math=False)
    names = shorten(network.names)
    ax.set_xlabel(names[columns[0]], parse_math=False)
    ax.set_ylabel(names[columns[1]], parse_math=False)
