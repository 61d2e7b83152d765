"""How figures look: axes made when none are given, and inks that follow the user's light or dark style."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.step import Floats
from bgn.require import require

# Told apart with any kind of colour vision, on light and on dark.
UP, DOWN, FIRST, SECOND, THIRD = "#D55E00", "#0072B2", "#0072B2", "#D55E00", "#009E73"


def axes(ax: Any, width: float, height: float, **subplot: Any) -> Any:
    """Return `ax`, or the only axes of a new figure of so many inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot")
    return pyplot.subplots(figsize=(width, height), layout="constrained", subplot_kw=subplot)[1]


def ink(strength: float = 1.0) -> Any:
    """Return the text colour of the style in force, blended into its background when `strength` is below 1."""
    matplotlib = require("matplotlib", extra="plot")
    colors = require("matplotlib.colors", extra="plot")
    front = colors.to_rgb(matplotlib.rcParams["text.color"])
    back = colors.to_rgb(matplotlib.rcParams["axes.facecolor"])
    return tuple(strength * f + (1.0 - strength) * b for f, b in zip(front, back, strict=True))


def plain(ax: Any) -> None:
    """Take away the frame's top and right, and lay a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=ink(0.12), linewidth=0.8)
    ax.set_axisbelow(True)


def two_tone() -> Any:
    """Return a colour map from blue over grey to orange, legible on light and on dark."""
    colors = require("matplotlib.colors", extra="plot")
    return colors.LinearSegmentedColormap.from_list("bgn", ["#0072B2", "#8A8A8A", "#D55E00"])


def largest(values: Floats, most: int) -> NDArray[np.intp]:
    """Return the places of the largest values, at most so many, those that are 0 left out; the largest first."""
    order = np.argsort(-np.abs(values), kind="stable")
    return order[values[order] != 0][: max(most, 1)]
