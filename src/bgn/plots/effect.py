"""The exact effect of a feature as steps, of a pair as colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.explain.effects import Effect, PairEffect
from bgn.explain.effects import effect as measure
from bgn.model.step import Floats
from bgn.model.terms import network_of
from bgn.pipelines import through_pipelines
from bgn.plots.style import FIRST, axes, ink, label, plain
from bgn.show.curve import corners, few_wholes, histogram
from bgn.show.labels import shortened

_PIXELS = 200


@through_pipelines("X")
def effect(model: Any, feature: Any, X: Any, *, cmap: str = "cividis", ax: Any = None) -> Any:
    """Draw the effect of a feature, or of a pair, on the prediction: the mean when it has a value and all else varies.

    One feature gives a step function, exact, over a histogram of the data; a column of few whole numbers gets one
    level per number. Two features give colours, worked out at every pixel.

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
    rows, schema = network._rows(X), shortened(network.schema)
    found = measure(network, feature, rows)
    ax = axes(ax, 6.0, 4.0)
    target = f"mean predicted {schema.target or 'value'}"
    columns = [network.names.index(name) for name in ([found.feature] if isinstance(found, Effect) else found.features)]
    names = [schema.names[column] for column in columns]
    if isinstance(found, Effect):
        _curve(ax, found, rows[:, columns[0]])
        label(ax, names[0], target)
    else:
        _map(ax, found, rows[:, columns], cmap, target)
        label(ax, *names)
    return ax


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


def _map(ax: Any, found: PairEffect, columns: Floats, cmap: str, target: str) -> None:
    """Colour the plane of two features by the mean prediction."""
    across, up = (np.linspace(column.min(), column.max(), _PIXELS) for column in columns.T)
    values = found(across[np.newaxis, :], up[:, np.newaxis])
    shown = ax.pcolormesh(across, up, values, cmap=cmap, shading="nearest", rasterized=True)
    ax.figure.colorbar(shown, ax=ax).set_label(target, parse_math=False)
