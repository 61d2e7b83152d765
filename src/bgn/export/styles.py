"""Plain text, for a terminal and for figures; every other format is a subclass of :class:`Text`."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bgn.text import quote_category, quote_name

_WIDEST = 30  # letters of an weight, beyond which weights do not stand in a column


@dataclass(frozen=True)
class Written:
    """The parts of an equation, already written in one format.

    `lines` holds a sign, an weight and what it is multiplied by; `hidden` names of conditions and the conditions;
    `notes` say what missing values count as and what was rounded, if anything.
    """

    target: str
    base: str
    lines: list[tuple[str, str, str]]
    hidden: list[tuple[str, str]]
    notes: list[str]


@dataclass(frozen=True)
class Text:
    """Plain text for a terminal, one term per line. A format overrides what it writes otherwise."""

    relations: ClassVar[Mapping[str, str]] = {">=": ">=", "<": "<", ">": ">", "<=": "<="}

    def name(self, name: str) -> str:
        """Write the name of a column or of the target."""
        return self._named(quote_name(name))

    def category(self, category: str) -> str:
        """Write a category or a class."""
        return self._named(quote_category(category))

    def _named(self, written: str) -> str:
        """Write what is quoted where it must be."""
        return written

    def prose(self, text: str) -> str:
        """Write words of our own."""
        return text

    def number(self, written: str) -> str:
        """Write a number that is plain text already."""
        return written

    def product(self, coefficient: str, name: str) -> str:
        """Write a summand of a condition."""
        return f"{coefficient} {name}"

    def case(self, written: str) -> str:
        """Write one of several cases of a condition, best kept on a line."""
        return written

    def factor(self, condition: str) -> str:
        """Write a condition as the factor that is 1 where it holds."""
        return f"[{condition}]"

    def scaled(self, name: str, ends: str = "") -> str:
        """Write a column as a factor; with its ends in brackets, where it has some."""
        return f"{self.prose('per unit of ')}{name}{ends}" if ends else name

    def whole(self, parts: Written) -> str:
        """Lay the equation out."""
        lines = [f"{name} = {self.factor(condition)}" for name, condition in parts.hidden]
        if lines:
            lines.append("")
        widest = max(len(parts.base), *(len(weight) for _, weight, _ in parts.lines), 0)
        widest = widest if widest <= _WIDEST else 0
        lines.append(f"{parts.target} = {parts.base:>{widest}}")
        margin = " " * len(parts.target)
        lines += [f"{margin} {sign} {weight:>{widest}} {factor}" for sign, weight, factor in parts.lines]
        return "\n".join([*lines, *parts.notes])


@dataclass(frozen=True)
class Signs(Text):
    """Plain text with mathematical signs, for figures."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "<", ">": ">", "<=": "≤"}

    def number(self, written: str) -> str:
        return written.replace("-", "\N{MINUS SIGN}")


# -- HTML, and the colors of terms.

# Told apart with any kind of color vision, and legible on white and on black (Okabe and Ito, then Tol).
COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#AA4499", "#999933", "#44AA99", "#A0785A")


def color(position: int) -> str:
    """Return the color of the term at `position`, in every figure and equation; there are ten, then they repeat."""
    return COLORS[position % len(COLORS)]


@dataclass(frozen=True)
class Html(Text):
    """A small HTML table that takes the page's own colors; the coefficients' colors are those of the figures."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "&lt;", ">": "&gt;", "<=": "≤"}

    def _named(self, written: str) -> str:
        return f"<b>{html.escape(written)}</b>"

    def prose(self, text: str) -> str:
        return html.escape(text)

    def number(self, written: str) -> str:
        return written.replace("-", "\N{MINUS SIGN}")

    def case(self, written: str) -> str:
        return f'<span style="display:inline-block">{written}</span>'

    def factor(self, condition: str) -> str:
        return f"if {condition}"

    def scaled(self, name: str, ends: str = "") -> str:
        return super().scaled(name, ends) if ends else f"times {name}"

    def whole(self, parts: Written) -> str:
        cell = '<td style="text-align:left;padding:2px 8px;overflow-wrap:anywhere">'
        figure = '<td style="text-align:right;padding:2px 8px;white-space:nowrap;border-left:6px solid {}">{}</td>'
        rows = [f"{figure.format('transparent', name + ' =')}{cell}{text}</td>" for name, text in parts.hidden]
        rows.append(f"{figure.format('currentColor', parts.base)}{cell}always</td>")
        rows += [
            f"{figure.format(color(i), f'{sign} {weight}')}{cell}{factor}</td>"
            for i, (sign, weight, factor) in enumerate(parts.lines)
        ]
        rows += [f"<td></td>{cell}{note}</td>" for note in parts.notes]
        body = "".join(f'<tr style="background:none">{row}</tr>' for row in rows)
        caption = f'<caption style="text-align:left;padding:2px 8px;caption-side:top">{parts.target} =</caption>'
        style = "border-collapse:collapse;max-width:100%;color:inherit"
        return f'<table class="bgn-equation" style="{style}">{caption}{body}</table>'


# -- LaTeX.

_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "-": "{-}",
}  # fmt: skip


@dataclass(frozen=True)
class Latex(Text):
    """An ``align*`` that needs amsmath alone; names outside Latin letters want LuaLaTeX or XeLaTeX."""

    relations: ClassVar[Mapping[str, str]] = {">=": r"\ge", "<": "<", ">": ">", "<=": r"\le"}

    def _named(self, written: str) -> str:
        return self.prose(written)

    def prose(self, text: str) -> str:
        return r"\text{" + "".join(_TEX.get(letter, letter) for letter in text) + "}"

    def number(self, written: str) -> str:
        mantissa, _, exponent = written.partition("e")
        return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa

    def product(self, coefficient: str, name: str) -> str:
        return rf"{coefficient} \cdot {name}"

    def factor(self, condition: str) -> str:
        return rf"\mathbf{{1}}_{{\{{{condition}\}}}}"

    def scaled(self, name: str, ends: str = "") -> str:
        return name + ends

    def whole(self, parts: Written) -> str:
        lines = [f"{name} &= {self.factor(condition)}" for name, condition in parts.hidden]
        lines.append(f"{parts.target} &= {parts.base}")
        lines += [rf"&\quad {{}} {sign} {weight} \cdot {factor}" for sign, weight, factor in parts.lines]
        lines += [rf"&\quad {note}" for note in parts.notes]
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"


# -- Markdown.


@dataclass(frozen=True)
class Markdown(Text):
    """A Markdown table."""

    relations: ClassVar[Mapping[str, str]] = {">=": "≥", "<": "&lt;", ">": "&gt;", "<=": "≤"}

    def _named(self, written: str) -> str:
        return self.prose(written)

    def prose(self, text: str) -> str:
        return re.sub(r"([\\`*_{}\[\]()#+!|~$^=:@-])", r"\\\1", html.escape(text)).replace("\\=", "=")

    def factor(self, condition: str) -> str:
        return f"if {condition}"

    def scaled(self, name: str, ends: str = "") -> str:
        return super().scaled(name, ends) if ends else f"times {name}"

    def whole(self, parts: Written) -> str:
        lines = [f"{name} = {condition}  " for name, condition in parts.hidden]
        if lines:
            lines.append("")
        lines += [f"| {parts.target} | |", "|---:|:---|", f"| {parts.base} | always |"]
        lines += [f"| {sign} {weight} | {factor} |" for sign, weight, factor in parts.lines]
        lines += [line for note in parts.notes for line in ("", note)]
        return "\n".join(lines)


# -- Pages of paragraphs and tables in every format: what cards and tables of classes are written with.

Cells = Sequence[str]


@dataclass(frozen=True)
class BareLatex(Latex):
    """LaTeX in mathematical mode that needs no package."""

    def prose(self, text: str) -> str:
        written = super().prose(text).replace(r"\textquotedbl{}", r"{\char34}")
        return r"\mbox" + written.removeprefix(r"\text")


class PageLayout(NamedTuple):
    """How a format writes an equation; on pages its texts, a paragraph of lines, a table with its head, and the page.

    The first column of a table holds texts, the others numbers.
    """

    equation: Text
    style: Text
    times: str
    lines: Callable[[Sequence[str]], str]
    table: Callable[[Cells, Sequence[Cells]], str]
    page: Callable[[Sequence[str], str], str]


def _text_table(head: Cells, rows: Sequence[Cells]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for first, *others in (head, *rows):
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:<{widths[0]}}", *cells]))
    return "\n".join(lines)


def _markdown_table(head: Cells, rows: Sequence[Cells]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|:---|" + "---:|" * (len(head) - 1), *lines[1:]])


def _latex_table(head: Cells, rows: Sequence[Cells]) -> str:
    lines = [" & ".join(f"${cell}$" for cell in row) + " \\\\" for row in (head, *rows)]
    columns = "l" + "r" * (len(head) - 1)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", lines[0] + r" \hline", *lines[1:], r"\end{tabular}"])


def _html_table(head: Cells, rows: Sequence[Cells]) -> str:
    cell = '<{0} style="text-align:{1};padding:2px 8px">{2}</{0}>'
    sides = ("left", *("right" for _ in head[1:]))
    cells = [
        "".join(cell.format(tag, side, text) for side, text in zip(sides, row, strict=True))
        for tag, row in zip(("th", *("td" for _ in rows)), (head, *rows), strict=True)
    ]
    body = "".join(f'<tr style="background:none;border-bottom:1px solid #8888">{row}</tr>' for row in cells)
    return f'<table style="border-collapse:collapse;max-width:100%;color:inherit">{body}</table>'


def _joined(blocks: Sequence[str], kind: str) -> str:
    return "\n\n".join(blocks)


FORMATS = {
    "text": PageLayout(Text(), Text(), "x", "\n".join, _text_table, _joined),
    "latex": PageLayout(
        Latex(), BareLatex(), r"\times", lambda lines: " \\\\\n".join(f"${line}$" for line in lines), _latex_table,
        _joined,
    ),
    "markdown": PageLayout(Markdown(), Markdown(), "\N{MULTIPLICATION SIGN}", "  \n".join, _markdown_table, _joined),
    "html": PageLayout(
        Html(), Html(), "\N{MULTIPLICATION SIGN}", lambda lines: f"<p>{'<br>'.join(lines)}</p>", _html_table,
        lambda blocks, kind: f'<div class="bgn-{kind}" style="overflow-wrap:anywhere">{"".join(blocks)}</div>',
    ),
}  # fmt: skip


def layout_of(format: str) -> PageLayout:
    """Return how a format is written, or say which formats there are."""
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}; got {format!r}.")
    return FORMATS[format]
