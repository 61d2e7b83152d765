"""How figures look: axes made when none are given, and inks that follow the user's light or dark style."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.step import Floats
from bgn.require import require
from bgn.show.drawing import text_width

# Told apart with any kind of colour vision, on light and on dark.
UP, DOWN, FIRST, SECOND, THIRD = "#D55E00", "#0072B2", "#0072B2", "#D55E00", "#009E73"
_NAMES, _SMALL, _LETTER = 0.55, 6, 0.52  # names of bars: share of the axes, points, and width of a letter per point


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


def label(ax: Any, across: str, up: str) -> None:
    """Name both axes, letter by letter: a dollar sign is no mathematics."""
    ax.set_xlabel(across, parse_math=False)
    ax.set_ylabel(up, parse_math=False)


def two_tone() -> Any:
    """Return a colour map from blue over grey to orange, legible on light and on dark."""
    colors = require("matplotlib.colors", extra="plot")
    return colors.LinearSegmentedColormap.from_list("bgn", ["#0072B2", "#8A8A8A", "#D55E00"])


def largest(values: Floats, most: int) -> NDArray[np.intp]:
    """Return the places of the largest values, at most so many, those that are 0 left out; the largest first."""
    order = np.argsort(-np.abs(values), kind="stable")
    return order[values[order] != 0][: max(most, 1)]


def inches(ax: Any) -> float:
    """Return how wide axes are."""
    return float(ax.get_figure().get_figwidth() * ax.get_position(original=True).width)


def name_bars(ax: Any, labels: Sequence[str], room: bool) -> None:
    """Write the names of bars beside them; in axes that have no room for them, in small letters and several lines."""
    most = inches(ax) * _NAMES
    if room or widest(labels) <= most:
        ax.set_yticks(range(len(labels)), labels, parse_math=False)
        return
    letters = max(12, int(most * 72.0 / (_LETTER * _SMALL)))
    tall = 72.0 * ax.get_figure().get_figheight() * ax.get_position(original=True).height
    lines = max(1, int(tall / len(labels) / (1.2 * _SMALL)))
    told = [folded(each, letters, lines) for each in labels]
    ax.set_yticks(range(len(labels)), told, parse_math=False, fontsize=_SMALL)


def folded(text: str, letters: int, lines: int | None = None) -> str:
    """Return text in lines of so many letters at most; what `lines` do not hold is left out."""
    return "\n".join(textwrap.wrap(text, letters, max_lines=lines, placeholder=" …")) or text


def fold_label(ax: Any) -> None:
    """Write the name of the axis across in several lines where axes, whose names of bars take room, are narrow."""
    letters = int((1.0 - _NAMES) * inches(ax) * 72.0 / (_LETTER * 10.0))
    ax.set_xlabel(folded(ax.get_xlabel(), max(26, letters)), parse_math=False)


def widest(labels: Sequence[str]) -> float:
    """Return the inches that the longest label takes."""
    return max(map(text_width, labels), default=0.0) / 72.0
