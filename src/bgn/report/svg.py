"""Ink for pages and notebooks: charts and the drawing of a network as SVG, without any other library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from bgn.export.equation import equation
from bgn.export.numbers import share_of
from bgn.export.styles import Signs
from bgn.model.readings import network_of, outputs_of, with_positive_second
from bgn.show.drawing import PAD, Box, Drawing, draw, text_width
from bgn.text import count_of

# Beyond this an axis has no room for numbers, nor for its reciprocal: differences and powers of ten must stay finite.
_MOST = 1e290
_FONT = 'font-family="system-ui, sans-serif"'


def drawing(sheet: Drawing, label: str, focus: bool = False) -> str:
    """Return the drawing of a network, called `label`; with `focus` the keyboard reaches every rule."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="bgn-drawing" role="{"group" if focus else "img"}" '
        f'aria-label="{escape(label)}" viewBox="-2 -2 {sheet.width + 4:.0f} {sheet.height + 4:.0f}" '
        f'width="{sheet.width + 4:.0f}" height="{sheet.height + 4:.0f}" '
        f'style="min-width:{sheet.width:.0f}px;max-width:{1.4 * sheet.width:.0f}px" '
        f'{_FONT} font-size="10" fill="currentColor">'
    ]
    last = max(box.layer for box in sheet.boxes) - 1
    for line in sheet.lines:
        x0, y0, x1, y1 = sheet.ends(line)
        # To which box of the last layer it goes, for the report's script.
        near = [box for box in (sheet.boxes[line.start], sheet.boxes[line.end]) if box.layer == last]
        belongs = _index(near[0]) if near else 'data-rule="-1"'
        faint = f'stroke="currentColor" opacity="{0.15 + 0.85 * line.darkness:.2f}"'
        shade = f'stroke="{line.color}"' if line.color else faint
        parts.append(
            f'<line {belongs} x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" {shade} stroke-width="1.3"/>'
        )
        if line.text:
            parts.append(f'<text x="{x0 - line.margin + 3:.1f}" y="{y0 + 3.5:.1f}">{escape(line.text)}</text>')
    for box in sheet.boxes:
        reached = focus and box.layer == last and box.kind in ("neuron", "group")
        reach = f' tabindex="0" role="img" aria-label="{escape(box.label)}"' if reached else ""
        index = f" {_index(box)}" if box.layer == last else ""
        edge = f'stroke="{box.color}"' if box.color else 'stroke="currentColor" stroke-opacity="0.6"'
        parts.append(f'<g class="{box.kind}"{index}{reach}><title>{escape(box.label)}</title>')
        parts += [
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.0f}" rx="3" '
            f'fill="currentColor" fill-opacity="0.04" {edge} stroke-width="1.4"/>'
            for x, y, width, height in box.rectangles
        ]
        for text, y in zip(box.text.split("\n"), box.middles, strict=True):
            parts.append(f'<text x="{box.x + PAD:.1f}" y="{y + 3.5:.1f}">{escape(text)}</text>')
        parts += [
            f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" {edge} stroke-width="1.4"/>'
            for x0, y0, x1, y1 in box.bracket
        ]
        if box.share is not None:
            end_x, end_y = box.x + box.rectangles[0][2] - PAD, box.middles[0] if box.joined else box.y
            parts.append(f'<text x="{end_x:.1f}" y="{end_y + 3.5:.1f}" text-anchor="end">{share_of(box.share)}</text>')
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _index(box: Box) -> str:
    """Return the number of a rule, or of a group of rules."""
    return f'data-{"group" if box.kind == "group" else "rule"}="{-1 if box.kind == "line" else box.index}"'


class Chart:
    """An x-y chart under construction: scales, axes, then lines."""

    def __init__(
        self, size: tuple[int, int], across: tuple[float, float], up: tuple[float, float], label: str,
        log: bool = False, whole: bool = False, letter: float = 6.4,
    ) -> None:  # fmt: skip
        self.width, self.height = size
        self.log, self.label, self.parts = log, label, list[str]()
        self.across, self.up = _nonempty(across), _nonempty(up, log)
        ticks, bottom = _decades(*self.up) if log else _ticks(*self.up, count=4), self.height - 24
        self.left = 10 + letter * max((len(_short(t)) for t in ticks), default=1)
        for tick in ticks:
            y = self.y(tick)
            self.parts.append(
                f'<line x1="{self.left:.1f}" x2="{self.width - 8}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
                f'<text x="{self.left - 4:.1f}" y="{y + 4:.1f}" text-anchor="end">{_short(tick)}</text>'
            )
        for tick in _ticks(*self.across, count=4):
            if whole and not tick.is_integer():
                continue
            x = self.x(tick)
            middle = _inside(x, tick, self.width, letter)
            self.parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}" class="axis"/>'
                f'<text x="{middle:.1f}" y="{bottom + 16}" text-anchor="middle">{_short(tick)}</text>'
            )
        self.parts.append(
            f'<line x1="{self.left:.1f}" x2="{self.width - 8}" y1="{bottom}" y2="{bottom}" class="axis"/>'
        )

    def x(self, value: float) -> float:
        """Return where a value stands from the left."""
        low, high = self.across
        return self.left + (self.width - 8 - self.left) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        """Return where a value stands from the top."""
        low, high = (math.log10(self.up[0]), math.log10(self.up[1])) if self.log else self.up
        value = math.log10(max(value, self.up[0])) if self.log else value
        return 8 + (self.height - 32) * (1.0 - (value - low) / (high - low))

    def bars(self, edges: Sequence[float], counts: Sequence[float]) -> None:
        """Draw a faint histogram along the bottom, a quarter of the height."""
        bottom, highest = self.height - 24, max([1.0, *counts])
        for low, high, count in zip(edges, edges[1:], counts, strict=False):
            tall, wide = 0.25 * (self.height - 32) * count / highest, max(self.x(high) - self.x(low), 0.5)
            self.parts.append(
                f'<rect x="{self.x(low):.1f}" y="{bottom - tall:.1f}" width="{wide:.1f}" '
                f'height="{tall:.1f}" class="bar"/>'
            )

    def line(self, points: Sequence[tuple[float, float]], kind: str, steps: bool = False) -> None:
        """Draw a line through points; `steps` keeps each level until the next point."""
        if not points:
            return
        path = f"M{self.x(points[0][0]):.1f} {self.y(points[0][1]):.1f}"
        for x, y in points[1:]:
            path += f"H{self.x(x):.1f}V{self.y(y):.1f}" if steps else f"L{self.x(x):.1f} {self.y(y):.1f}"
        self.parts.append(f'<path d="{path}" class="{kind}" fill="none"/>')

    def dots(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Draw a cross at every point."""
        for x, y in points:
            a, b = self.x(x), self.y(y)
            self.parts.append(
                f'<path d="M{a - 3:.1f} {b - 3:.1f}l6 6M{a - 3:.1f} {b + 3:.1f}l6 -6" class="{kind}" fill="none"/>'
            )

    def upright(self, value: float, kind: str) -> None:
        """Draw a line from bottom to top."""
        x = self.x(value)
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{self.height - 24}" class="{kind}"/>')

    def svg(self, name: str = "") -> str:
        """Return the chart; `name` goes into its class."""
        return _whole(self.parts, f"chart {name}", self.label, self.width, self.height)


def category_chart(categories: Sequence[tuple[str, float, float]], up: tuple[float, float], label: str) -> str:
    """Return the effect of a category: one line per category with its name, mean prediction and, faintly, rows."""
    low, high = _nonempty(up)
    left, line = 12 + 1.12 * max((text_width(name) for name, _, _ in categories), default=6.0), 18
    height, most = line * len(categories) + 28, max([1.0, *(rows for _, _, rows in categories)])
    across = 320 - 12 - left
    parts = []
    for tick in _ticks(low, high, count=3):
        x = left + across * (tick - low) / (high - low)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{height - 20}" class="grid"/>'
            f'<text x="{_inside(x, tick, 320):.1f}" y="{height - 6}" text-anchor="middle">{_short(tick)}</text>'
        )
    for place, (name, value, rows) in enumerate(categories):
        y = 4 + line * (place + 0.5)
        parts.append(
            f'<rect x="{left:.1f}" y="{y - 6:.1f}" width="{0.25 * across * rows / most:.1f}" height="12" class="bar"/>'
            f'<text x="{left - 5:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>'
            f'<circle cx="{left + across * (value - low) / (high - low):.1f}" cy="{y:.1f}" r="4" class="level"/>'
        )
    return _whole(parts, "chart effect", label, 320, height)


def _whole(parts: Sequence[str], kind: str, label: str, width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width} {height}" font-size="11" {_FONT} fill="currentColor">{"".join(parts)}</svg>'
    )


def _nonempty(ends: tuple[float, float], log: bool = False) -> tuple[float, float]:
    """Return a range that has some width."""
    low, high = (min(max(end, -_MOST), _MOST) for end in ends)
    if log:
        low, high = max(low, 1 / _MOST), max(high, 1 / _MOST)
    if high - low > (0.0 if log else 1 / _MOST):
        return low, high
    if not log:
        low, high = (0.0 if abs(end) <= 1e-300 else end for end in (low, high))
    return (low / 2.0, high * 2.0) if log else (low - (abs(low) or 1.0) * 0.5, high + (abs(high) or 1.0) * 0.5)


def _inside(x: float, tick: float, width: float, letter: float = 6.4) -> float:
    """Return the middle of a tick's label, which stays inside at the right edge."""
    return min(x, width - 0.57 * letter * len(_short(tick)))


def _short(tick: float) -> str:
    """Write a tick whole: it is round, and neighbours such as 2011 and 2012 must not become the same."""
    return Signs().number(f"{tick:,.12g}" if abs(tick) >= 10_000 else f"{tick:.12g}")


def _decades(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [mantissa * 10.0**power for power in powers for mantissa in (1, 2, 5)]
    return [mark for mark in marks if low <= mark <= high][:: max(1, len(marks) // 8)]


def _ticks(low: float, high: float, count: int) -> list[float]:
    """Return about `count` round numbers from low to high."""
    raw = (high - low) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next((m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw), 10 * size)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, math.floor(high / step + 1e-9) + 1)]


_MOST_LISTED = 100  # rules that a card shows


def picture(model: Any) -> str:
    """Return the drawing of a network, or of a fitted estimator's, as HTML, for ``Network._repr_html_``."""
    outputs = outputs_of(with_positive_second(network_of(model, plain=False)))
    drawings = "".join(drawing(draw(output), repr(output)) for output in outputs)
    return f'<div style="overflow-x:auto">{drawings}</div>'


def card(model: Any) -> str:
    """Return the card of a fitted model as HTML, for its ``_repr_html_``: what it is and its equation."""
    network = network_of(model, plain=False)
    size = f"{count_of(network.n_conditions, 'condition')} ({count_of(len(network.terms), 'term')})"
    line = (
        f"{type(model).__name__}: {size} on {len(network.features_used)} of {count_of(network.n_inputs, 'column')}, "
        f"{count_of(network.n_parameters, 'non-zero parameter')}"
    )
    return f"<div><p>{escape(line)}</p>{equation(network, format='html', most=_MOST_LISTED)}</div>"
