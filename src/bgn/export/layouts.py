"""Pages of paragraphs and tables in every format: what cards and tables of classes are written with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bgn.export.html import Html
from bgn.export.latex import Latex
from bgn.export.markdown import Markdown
from bgn.export.text import Text

Cells = Sequence[str]


@dataclass(frozen=True)
class BareLatex(Latex):
    """LaTeX in mathematical mode that needs no package."""

    def words(self, words: str) -> str:
        written = super().words(words).replace(r"\textquotedbl{}", r"{\char34}")
        return r"\mbox" + written.removeprefix(r"\text")


class PageLayout(NamedTuple):
    """How a format writes words and numbers, a paragraph of lines, a table with its head, and a page of a kind.

    The first column of a table holds words, the others numbers.
    """

    style: Text
    times: str
    lines: Callable[[Sequence[str]], str]
    table: Callable[[Cells, Sequence[Cells]], str]
    page: Callable[[Sequence[str], str], str]


def _text_table(head: Cells, rows: Sequence[Cells]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for first, *others in (head, *rows):
        cells = [f"{each:>{width}}" for each, width in zip(others, widths[1:], strict=True)]
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
        "".join(cell.format(tag, side, each) for side, each in zip(sides, row, strict=True))
        for tag, row in zip(("th", *("td" for _ in rows)), (head, *rows), strict=True)
    ]
    body = "".join(f'<tr style="background:none;border-bottom:1px solid #8888">{row}</tr>' for row in cells)
    return f'<table style="border-collapse:collapse;max-width:100%;color:inherit">{body}</table>'


def _joined(blocks: Sequence[str], kind: str) -> str:
    return "\n\n".join(blocks)


LAYOUTS = {
    "text": PageLayout(Text(), "x", "\n".join, _text_table, _joined),
    "latex": PageLayout(
        BareLatex(), r"\times", lambda lines: " \\\\\n".join(f"${line}$" for line in lines), _latex_table, _joined
    ),
    "markdown": PageLayout(Markdown(), "\N{MULTIPLICATION SIGN}", "  \n".join, _markdown_table, _joined),
    "html": PageLayout(
        Html(), "\N{MULTIPLICATION SIGN}", lambda lines: f"<p>{'<br>'.join(lines)}</p>", _html_table,
        lambda blocks, kind: f'<div class="bgn-{kind}" style="overflow-wrap:anywhere">{"".join(blocks)}</div>',
    ),
}  # fmt: skip


def layout_of(format: str) -> PageLayout:
    """Return how a format lays a page out, or say which formats there are."""
    if format not in LAYOUTS:
        raise ValueError(f"format must be one of {', '.join(map(repr, LAYOUTS))}; got {format!r}.")
    return LAYOUTS[format]
