"""HTML, and the colours of terms."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bgn.export.text import Text, Written

# Told apart with any kind of colour vision, and legible on white and on black (Okabe and Ito, then Tol).
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#AA4499", "#999933", "#44AA99", "#A0785A")


def colour(position: int) -> str:
    """Return the colour of the term at `position`, in every figure and equation; there are ten, then they repeat."""
    return COLOURS[position % len(COLOURS)]


@dataclass(frozen=True)
class Html(Text):
    """A small HTML table that takes the page's own colours; the coefficients' colours are those of the figures."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "&lt;", ">": "&gt;", "<=": "≤"}

    def _named(self, written: str) -> str:
        return f"<b>{html.escape(written)}</b>"

    def words(self, words: str) -> str:
        return html.escape(words)

    def number(self, written: str) -> str:
        return written.replace("-", "\N{MINUS SIGN}")

    def case(self, written: str) -> str:
        return f'<span style="display:inline-block">{written}</span>'

    def asked(self, condition: str) -> str:
        return f"if {condition}"

    def scaled(self, name: str, low: str = "", high: str = "") -> str:
        return f"times {name}" if low == high == "" else super().scaled(name, low, high)

    def whole(self, parts: Written) -> str:
        cell = '<td style="text-align:left;padding:2px 8px;overflow-wrap:anywhere">'
        figure = '<td style="text-align:right;padding:2px 8px;white-space:nowrap;border-left:6px solid {}">{}</td>'
        rows = [f"{figure.format('transparent', name + ' =')}{cell}{text}</td>" for name, text in parts.hidden]
        rows.append(f"{figure.format('currentColor', parts.base)}{cell}always</td>")
        rows += [
            f"{figure.format(colour(i), f'{sign} {amount}')}{cell}{factor}</td>"
            for i, (sign, amount, factor) in enumerate(parts.lines)
        ]
        rows += [f"<td></td>{cell}{note}</td>" for note in parts.notes]
        body = "".join(f'<tr style="background:none">{row}</tr>' for row in rows)
        caption = f'<caption style="text-align:left;padding:2px 8px;caption-side:top">{parts.target} =</caption>'
        style = "border-collapse:collapse;max-width:100%;color:inherit"
        return f'<table class="bgn-equation" style="{style}">{caption}{body}</table>'
