"""How figures look, and what fits into them.

Axes are made when none are given; inks follow the user's light or dark style. In little room letters shrink down to a
size that can be read, then names, then lines; then fewer bars are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.export.numbers import alike
from bgn.export.styles import Signs
from bgn.model.step import Floats
from bgn.require import require
from bgn.show.drawing import text_width

# Told apart with any kind of color vision, on light and on dark.
UP, DOWN, FIRST, SECOND, THIRD = "#D55E00", "#0072B2", "#0072B2", "#D55E00", "#009E73"


def documented(**texts: str) -> Callable[[Any], Any]:
    """Put texts that several figures share into a docstring, in order; ``{ax}`` is the axes, given and returned."""
    texts["ax"] = """ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes"""

    def add(function: Any) -> Any:
        for name, text in texts.items():
            function.__doc__ = (function.__doc__ or "").replace(f"{{{name}}}", text)
        return function

    return add


def axes(ax: Any, width: float, height: float, **subplot: Any) -> Any:
    """Return `ax`, or the only axes of a new figure of so many inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot")
    return pyplot.subplots(figsize=(width, height), layout="constrained", subplot_kw=subplot)[1]


def ink(strength: float = 1.0) -> Any:
    """Return the text color of the style in force, blended into its background when `strength` is below 1."""
    matplotlib = require("matplotlib", extra="plot")
    colors = require("matplotlib.colors", extra="plot")
    front = colors.to_rgb(matplotlib.rcParams["text.color"])
    back = colors.to_rgb(matplotlib.rcParams["axes.facecolor"])
    return tuple(strength * f + (1.0 - strength) * b for f, b in zip(front, back, strict=True))


def plain_axes(ax: Any, width: float = 6.4, height: float = 4.8) -> Any:
    """Return axes as :func:`axes` does, without a frame on top and right, over a faint grid."""
    ax = axes(ax, width, height)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=ink(0.12), linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def two_tone() -> Any:
    """Return a color map from blue over grey to orange, legible on light and on dark."""
    colors = require("matplotlib.colors", extra="plot")
    return colors.LinearSegmentedColormap.from_list("bgn", ["#0072B2", "#8A8A8A", "#D55E00"])


def largest(values: Floats, most: int) -> NDArray[np.intp]:
    """Return the places of the largest values, at most so many, those that are 0 left out; the largest first."""
    order = np.argsort(-np.abs(values), kind="stable")
    return order[values[order] != 0][: max(most, 1)]


READABLE = 7.0
"""Points of the smallest letters that names are written in."""
NAME_LETTERS = (24, 18, 14, 10, 7)  # of a column, from plenty of room to little
_SIZES = (10.0, 9.0, 8.0, READABLE)
_NAMES = 0.55  # share of the width of axes that names of bars may take
_NARROW = 3.4  # inches of axes that want a small legend above them
_BREAKS = re.compile(r"(?<![≥≤<>=+±]) +")  # a sign stays with what follows
_LINE, _BETWEEN = 1.2, 0.45  # height of a line, and what parts two names, in sizes of letters


def inches(ax: Any) -> tuple[float, float]:
    """Return how wide and how tall axes are; of those whose units are equally long, the square that they fill."""
    place, figure = ax.get_position(original=True), ax.get_figure()
    wide, tall = float(figure.get_figwidth() * place.width), float(figure.get_figheight() * place.height)
    return (wide, tall) if ax.get_aspect() == "auto" else (min(wide, tall),) * 2


def is_narrow(ax: Any) -> bool:
    """Return whether axes have room for small letters only."""
    return inches(ax)[0] < _NARROW


def widest(labels: Sequence[str]) -> float:
    """Return the inches that the longest label takes."""
    return max(map(text_width, labels), default=0.0) / 72.0


def folded(text: str, points: float, size: float, lines: int | None = None) -> str:
    """Return text in lines that are so wide at most; what `lines` of them do not hold is left out and marked.

    Examples
    --------
    >>> folded("a name that is long", 60.0, 10.0)
    'a name\\nthat is\\nlong'
    >>> folded("a name that is long", 60.0, 10.0, 1)
    'a name …'
    """
    most = points * 10.0 / size
    folded: list[str] = []
    for part in _BREAKS.split(text.strip()):
        while text_width(part) > most and len(part) > 1:
            kept = next(n for n in range(len(part) - 1, 0, -1) if n == 1 or text_width(part[:n]) <= most)
            folded, part = [*folded, part[:kept]], part[kept:]
        if folded and text_width(f"{folded[-1]} {part}") <= most:
            folded[-1] += f" {part}"
        else:
            folded.append(part)
    if lines is not None and len(folded) > lines:
        last = folded[lines - 1]
        while last and text_width(f"{last} …") > most:
            last = last[: last.rfind(" ")] if " " in last else last[:-1]
        folded = [*folded[: lines - 1], f"{last} …"]
    return "\n".join(folded) or text


def bars_that_fit(ax: Any, most: int) -> int:
    """Return how many bars with names of one line axes have room for, at most so many."""
    return most if ax is None else max(1, min(most, int(72.0 * inches(ax)[1] / (READABLE * (_LINE + _BETWEEN)))))


def bar_axes(
    ax: Any, labels: Callable[[int], Sequence[str]], width: float, height: float, line: float
) -> tuple[Any, float, float]:
    """Return axes for named bars, the size of the names' letters, and the share of the width that names leave.

    `labels` returns the names, with columns called by so many letters at most. New axes are so wide beside the names,
    and so high beside the lines. In others letters are smaller, down to those that can just be read, and names stand
    in several lines; where that is not enough, columns are called by fewer letters, and in the end names are cut.
    """
    names, size = list(labels(NAME_LETTERS[0])), _SIZES[0]
    drawn = plain_axes(ax, width + widest(names), height + line * max(len(names), 1))
    if ax is not None and names and widest(names) > inches(ax)[0] * _NAMES:
        names, size = fitting(labels, 72.0 * inches(ax)[0] * _NAMES, 72.0 * inches(ax)[1] / len(names))
    drawn.set_yticks(range(len(names)), names, parse_math=False, fontsize=size)
    return drawn, size, 1.0 if ax is None else 1.25 - _NAMES  # and the margin of the axes


def name_values(ax: Any, places: Iterable[float], texts: Iterable[str], size: float) -> None:
    """Write to the right of bars what they are worth."""
    for place, (end, text) in enumerate(zip(places, texts, strict=True)):
        ax.annotate(
            text, (end, place), xytext=(4, 0), textcoords="offset points", va="center", color=ink(), zorder=3,
            fontsize=min(9.0, size),
        )  # fmt: skip


def signed_texts(values: Sequence[float], digits: int) -> list[str]:
    """Write values alike, with their signs."""
    texts = alike(list(values), list(values) or [1.0], digits)
    return ["+" * (value > 0) + Signs().number(text) for value, text in zip(values, texts, strict=True)]


def written(value: float, digits: int) -> str:
    """Write one value."""
    return Signs().number(alike([value], [value or 1.0], digits)[0])


def fitting(labels: Callable[[int], Sequence[str]], wide: float, tall: float) -> tuple[list[str], float]:
    """Return names in lines, and the size of their letters, that fit into so many points each."""
    names, size, lines = list[str](), READABLE, 1
    for size in _SIZES:
        lines = max(1, int((tall / size - _BETWEEN) / _LINE))
        names = [folded(name, wide, size) for name in labels(NAME_LETTERS[0])]
        if all(name.count("\n") < lines for name in names):
            return names, size
    for letters in NAME_LETTERS[1:]:  # of the names that are still too long alone
        cut = lines if letters == NAME_LETTERS[-1] else None
        shorter = [folded(name, wide, size, cut) for name in labels(letters)]
        names = [name if name.count("\n") < lines else other for name, other in zip(names, shorter, strict=True)]
    return names, size


def name_axes(ax: Any, across: str | None = None, up: str | None = None, *, share: float = 1.0) -> None:
    """Name the axes, letter by letter: a dollar sign is no mathematics. Names that are too long have several lines.

    `share` is that of the width which is left beside names of bars.
    """
    wide, tall = inches(ax)
    if across is not None:
        ax.set_xlabel(folded(across, 72.0 * share * wide, 10.0), parse_math=False)
    if up is not None:
        ax.set_ylabel(folded(up, 72.0 * tall, 10.0), parse_math=False)


def name_colors(ax: Any, shown: Any, name: str) -> None:
    """Put a bar of colors beside the axes, and name it."""
    bar = ax.figure.colorbar(shown, ax=ax)
    bar.set_label(folded(name, 72.0 * inches(ax)[1], 10.0), parse_math=False)


def legend(ax: Any, on_top: bool = False, **where: Any) -> None:
    """Name the lines, letter by letter; in narrow axes above them and in small letters, so that nothing is hidden."""
    wide, _ = inches(ax)
    on_top, size = on_top or is_narrow(ax), READABLE if is_narrow(ax) else 10.0
    if on_top:
        wide = max(wide, float(ax.get_figure().get_figwidth() * ax.get_position(original=True).width))
    handles, names = ax.get_legend_handles_labels()
    names = [folded(name, max(72.0 * wide - 3.5 * size, 60.0), size) for name in names]
    if on_top:
        where = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "borderaxespad": 0.0}
        where["ncols"] = max(1, min(len(names), int(wide // (widest(names) * size / 10.0 + 4.0 * size / 72.0))))
    shown = ax.legend(
        handles, names, facecolor=ax.get_facecolor(), edgecolor="none", framealpha=0.9, fontsize=size, **where
    )
    for text in shown.get_texts():
        text.set_parse_math(False)
