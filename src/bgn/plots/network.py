"""The drawing of a network: features, neurons and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bgn.export.numbers import share_of
from bgn.plots.style import READABLE, axes, inches, ink
from bgn.show.drawing import PAD, WIDE, Drawing, Sheet, draw, importance_of

# From plenty of room to little: short names, short lines, columns close together; then few boxes.
_TIGHTER = (
    Sheet(18, 36, 36, 0.6), Sheet(14, 24, 24, 0.45), Sheet(10, 18, 18, 0.35), Sheet(8, 13, 13, 0.25),
    Sheet(6, 10, 10, 0.15),
)  # fmt: skip
_FEWER = (12, 10, 8, 7, 6, 5, 4, 3)


def network(model: Any, X: Any = None, *, digits: int | None = None, ax: Any = None) -> Any:
    """Draw a network as in the paper: features, neurons and output, each with its share of the prediction.

    Features and neurons are sorted by relative importance, the largest on top. A connection is as dark as its share
    of the neuron; a neuron has the color of its coefficient in ``bgn.equation(model, format="html")``.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like, frame or Importance, optional
        Rows to measure importance on, or what :func:`bgn.importance` returned. Without either, neurons are sorted by
        output weight and features show no percentage.
    digits : int, optional
        Fewer digits than the model has; the drawing then says that it is rounded.
    ax : matplotlib Axes, optional
        Where to draw; a figure of a fitting size otherwise. In little room names are short, and the least important
        parts share a box, so that letters can be read.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 0.59]], [-65.46, -63.56])
    >>> model = bgn.Network.of_layers([layer], [0.635, 0.505], 2.0, ["income", "age"], "value")
    >>> ax = bgn.plots.network(model)
    >>> [text.get_text() for text in ax.texts][2:5]
    ['income', 'age', 'income ≥ 65.46']
    """
    importance = None if X is None else importance_of(model, X)
    drawing = draw(model, importance, digits)
    if ax is None:
        ax = axes(None, drawing.width / 72 + 0.3, drawing.height / 72 + 0.3)
        ax.set_axis_off()
    else:
        ax.set_axis_off()
        drawing = _readable(lambda sheet: draw(model, importance, digits, sheet=sheet), _space(ax))
    ax.set(xlim=(-4, drawing.width + 4), ylim=(drawing.height + 4, -4))
    _paint(ax, drawing, size=10.0 * min(1.0, *_scales(_space(ax), drawing)))
    return ax


def _space(ax: Any) -> tuple[float, float]:
    """Return how many points wide and tall axes are, or will be where a layout gives them all of their figure."""
    figure = ax.get_figure()
    if len(figure.axes) > 1:  # others may yet take space
        wide, tall = inches(ax)
        return 72.0 * wide, 72.0 * tall
    figure.draw_without_rendering()
    box = ax.get_window_extent()
    return 72.0 * float(box.width) / figure.dpi, 72.0 * float(box.height) / figure.dpi


def _scales(space: tuple[float, float], drawing: Drawing) -> tuple[float, float]:
    """Return how many points of the figure a point of the drawing gets, across and down."""
    return space[0] / (drawing.width + 8), space[1] / (drawing.height + 8)


def _readable(drawn: Callable[[Sheet], Drawing], space: tuple[float, float]) -> Drawing:
    """Return the roomiest drawing whose letters can be read there, or else the smallest there is."""
    needed = READABLE / 10.0
    drawing = drawn(WIDE)
    for sheet in (WIDE, *_TIGHTER):
        if _scales(space, drawn(sheet))[0] < needed and sheet is not _TIGHTER[-1]:
            continue
        for most in (None, *_FEWER):
            drawing = drawn(replace(sheet, most=most))
            if _scales(space, drawing)[1] >= needed:
                return drawing
    return drawing


def _paint(ax: Any, drawing: Drawing, size: float) -> None:
    """Put lines, boxes and texts on the axes."""
    from matplotlib.patches import Rectangle

    for line in drawing.lines:
        x0, y0, x1, y1 = drawing.ends(line)
        shade = line.color or ink(0.15 + 0.85 * line.darkness)
        ax.plot([x0, x1], [y0, y1], color=shade, linewidth=1.3, solid_capstyle="round", zorder=1)
        if line.text:
            ax.text(x0 - line.margin + 3, y0, line.text, va="center", fontsize=size * 0.95, color=ink(), zorder=3)
    for box in drawing.boxes:
        edge, style = box.color or ink(0.6), {"va": "center", "fontsize": size, "color": ink(), "zorder": 3}
        for x, y, width, height in box.rectangles:
            shape = {"facecolor": ink(0.04), "edgecolor": edge, "linewidth": 1.4, "zorder": 2}
            ax.add_patch(Rectangle((x, y), width, height, **shape))
        lines = zip(box.text.split("\n"), box.middles, strict=True) if box.joined else [(box.text, box.y)]
        for text, y in lines:
            ax.text(box.x + PAD, y, text, ha="left", parse_math=False, **style)
        for x0, y0, x1, y1 in box.bracket:
            ax.plot([x0, x1], [y0, y1], color=edge, linewidth=1.4, zorder=2)
        if box.share is not None:
            y = box.middles[0] if box.joined else box.y
            ax.text(box.x + box.rectangles[0][2] - PAD, y, share_of(box.share), ha="right", parse_math=False, **style)
