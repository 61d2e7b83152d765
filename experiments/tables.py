"""Tables and figures as values, and their files: the same bytes for the same value."""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np

from bgn.require import require
from bgn.whole_file import whole_file, write_whole
from experiments.store import Run

Cell = str | int | float | None

# What begins a list, an option, a field, a comment or a rule at the start of a paragraph.
_BEGINS = re.compile(r"\W|\w+[.)]( |$)")

MISSING = "missing"
"""In place of a figure whose run is not there."""

FAILED = "failed"
"""In place of a figure whose run failed."""


class Measured(float):
    """A mean over runs that knows how far they lie apart: their standard deviation, NaN where there is one run."""

    deviation: float

    def __new__(cls, values: Sequence[float]) -> Measured:
        made = super().__new__(cls, math.fsum(values) / len(values))
        made.deviation = stdev(values) if len(values) > 1 else math.nan
        return made


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    name : str
        Of its files.
    title : str
        One line.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Numbers as numbers, written with four significant digits (in full in CSV); text as text; None for nothing.
    notes : sequence of str
        What a reader must know, a paragraph each.
    lowest : bool, default False
        Whether the lowest number of every column is the best, and bold in the documentation.
    """

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    lowest: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"every row of {self.name!r} must have {len(self.header)} cells; got {list(row)!r}.")

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers, and stand to the right."""
        return [any(isinstance(row[k], int | float) for row in self.rows) for k in range(len(self.header))]

    def best(self, row: int, column: int) -> bool:
        """Tell whether a cell is the best of its column."""
        known = [line[column] for line in self.rows if isinstance(line[column], float)]
        return self.lowest and len(known) > 1 and self.rows[row][column] == min(known)

    def written_rows(self) -> list[list[str]]:
        """Return the body as it is printed."""
        return [[written(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A drawing: `draw` fills an empty matplotlib figure of `size` inches."""

    name: str
    title: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.0, 4.5)


def written(cell: Cell) -> str:
    """Return a cell as it is printed: four significant digits, thousands apart.

    Examples
    --------
    >>> [written(cell) for cell in (3573.67, 0.31996, 1000, None, "failed", 12345.6)]
    ['3,574', '0.3200', '1,000', '', 'failed', '12,346']
    """
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, Measured) and math.isfinite(cell.deviation):
        own = written(float(cell))
        decimals = len(own.partition(".")[2])
        return f"{own} ± {cell.deviation:,.{decimals}f}"
    if not math.isfinite(cell) or cell == 0:
        return str(cell) if cell else "0"
    digits = max(0, 3 - math.floor(math.log10(abs(cell))))
    return f"{cell:,.{digits}f}" if digits < 8 else f"{cell:.3e}"


def text(table: Table) -> str:
    """Return a table for the terminal."""
    body = [list(table.header), *table.written_rows()]
    widths = [max(len(row[k]) for row in body) for k in range(len(table.header))]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, table.numeric, strict=True)
        return "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells).rstrip()

    rule = "  ".join("-" * width for width in widths)
    notes = _paragraphs(map(_wrapped, table.notes))
    return "\n".join([table.title, "", line(body[0]), rule, *map(line, body[1:]), *notes]) + "\n"


def markdown(table: Table) -> str:
    """Return a table in Markdown."""

    def line(row: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in row) + " |"

    rule = "|" + "|".join(" ---: " if right else " :--- " for right in table.numeric) + "|"
    body = [line(table.header), rule, *map(line, table.written_rows())]
    return "\n".join([f"**{table.title}**", "", *body, *_paragraphs(table.notes)]) + "\n"


def latex(table: Table) -> str:
    """Return a table in LaTeX, for the booktabs package."""
    shape = "".join("r" if right else "l" for right in table.numeric)
    lines = [" & ".join(map(_tex, row)) + r" \\" for row in [list(table.header), *table.written_rows()]]
    body = [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    notes = [rf"% {note}" for note in table.notes]
    return "\n".join([f"% {table.title}", *body, r"\end{tabular}", *notes]) + "\n"


def comma_separated(table: Table) -> str:
    """Return a table as CSV, numbers in full."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows([["" if cell is None else cell for cell in row] for row in table.rows])
    return buffer.getvalue()


def restructured(table: Table) -> str:
    """Return a table for the documentation."""
    lines = [f".. list-table:: {_rst(table.title)}", "   :header-rows: 1", ""]
    for number, row in enumerate([list(table.header), *table.written_rows()], -1):
        for k, cell in enumerate(row):
            shown = f"**{_rst(cell)}**" if number >= 0 and table.best(number, k) else _rst(cell)
            lines.append(f"   {'*' if k == 0 else ' '} - {shown}".rstrip())
    return "\n".join([*lines, *_paragraphs(map(_rst, table.notes))]) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {
    "txt": text,
    "md": markdown,
    "tex": latex,
    "csv": comma_separated,
    "rst": restructured,
}


def write(shown: Table | Figure, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write a table or a figure in the formats among `formats` that it has; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(shown, Figure):
        return _draw(shown, [folder / f"{shown.name}.{kind}" for kind in ("png", "svg") if kind in formats])
    paths = [folder / f"{shown.name}.{kind}" for kind in FORMATS if kind in formats]
    for path in paths:
        write_whole(path, FORMATS[path.suffix[1:]](shown).encode("utf-8"))
    return paths


def _draw(figure: Figure, paths: list[Path]) -> list[Path]:
    """Draw a figure into files that hold no dates and no random names."""
    matplotlib = require("matplotlib", extra="plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    settings = {"svg.hashsalt": figure.name, "svg.fonttype": "path", "font.family": "DejaVu Sans"}
    with matplotlib.rc_context(settings):
        for path in paths:
            canvas = Canvas(figsize=figure.size, layout="constrained")
            FigureCanvasAgg(canvas)
            figure.draw(canvas)
            empty = {"Software": None} if path.suffix == ".png" else {"Date": None, "Creator": None}
            with whole_file(path) as file:
                canvas.savefig(file, format=path.suffix[1:], dpi=150, metadata=empty)
    return paths


def by(runs: Iterable[Run], *names: str) -> dict[Any, list[Run]]:
    """Group runs by fields of their tasks (``"dataset"``, ``"method"``, ``"seed"`` or a parameter), in order.

    The keys are values of the one field, or tuples of the several.
    """
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        values = tuple(_field(run, name) for name in names)
        groups.setdefault(values if len(names) > 1 else values[0], []).append(run)
    return groups


def run_at_all(body: Iterable[list[Cell]]) -> list[list[Cell]]:
    """Return the rows of a table that have more than words and `MISSING`: what was never run needs no row."""
    return [row for row in body if MISSING not in row or any(isinstance(cell, float) or cell == FAILED for cell in row)]


def mean(runs: Sequence[Run] | None, figure: str) -> float | str:
    """Return the mean of a figure over runs; FAILED when one failed, MISSING when there is none."""
    if not runs:
        return MISSING
    if any(run.error is not None for run in runs):
        return FAILED
    return math.fsum(run.figures[figure] for run in runs) / len(runs)


def _field(run: Run, name: str) -> Any:
    """Return a field of a run's task or one of its parameters."""
    return getattr(run.task, name) if hasattr(run.task, name) else run.task.parameters.get(name)


def _paragraphs(notes: Iterable[str]) -> list[str]:
    """Return notes as lines, an empty one before each."""
    return [line for note in notes for line in ("", note)]


def _wrapped(note: str) -> str:
    """Return a paragraph in lines that fit a terminal."""
    return textwrap.fill(note, 100)


def _tex(cell: str) -> str:
    """Return text that LaTeX prints as it stands."""
    signs = {
        "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\textasciitilde{}", "±": r"$\pm$", "<": r"$<$", ">": r"$>$",
    }  # fmt: skip
    return "".join(rf"\{sign}" if sign in "&%$#_{}" else signs.get(sign, sign) for sign in cell)


def _rst(cell: str) -> str:
    """Return text that the documentation prints as it stands, in one paragraph: no list, no field, no option."""
    safe = "".join(rf"\{sign}" if sign in "*`|_\\" else sign for sign in " ".join(cell.split()))
    if safe.endswith("::"):
        safe = rf"{safe[:-2]}\::"
    return rf"\ {safe}" if _BEGINS.match(safe) else safe  # an escaped space is nothing


# -- A figure of one panel per table: a figure of models by their size, one line per model


COLUMNS = 4
"""Panels side by side, at most."""


@dataclass(frozen=True)
class Panels:
    """What all panels share.

    Parameters
    ----------
    sizes : sequence of int
        Where the axis of sizes has its marks.
    labels, colors : mapping of str to str
        The models by their keys, drawn in the order of `colors`; `ours` is the broad one.
    across, upwards : str
        What the axes say.
    ours : str
    stray : str or None
        A model that may leave the panel, as it would flatten the others.
    """

    sizes: Sequence[int]
    labels: Mapping[str, str]
    colors: Mapping[str, str]
    across: str
    upwards: str
    ours: str = "bgn"
    stray: str | None = None

    def figure(
        self,
        names: Sequence[str],
        value: Callable[[str, str, int], float | str | None],
        place: Callable[[str, str, int], float | str | None] = lambda name, key, size: size,
    ) -> Callable[[Any], None]:
        """Return what draws a panel per table; `value` has a table, a model and a size, and words are left out.

        So has `place`, which says where on the axis that model stands: at the size itself without it.
        """

        def draw(canvas: Any) -> None:
            columns = min(COLUMNS, len(names))
            panels = np.ravel(canvas.subplots(-(-len(names) // columns), columns, squeeze=False))
            for ax, name in zip(panels, names, strict=False):
                lines = {
                    key: [(_number(place(name, key, size)), _number(value(name, key, size))) for size in self.sizes]
                    for key in self.colors
                }
                self._panel(ax, name, lines)
            for ax in panels[len(names) :]:
                ax.set_axis_off()
            handles, labels = panels[0].get_legend_handles_labels()
            n_columns = min(COLUMNS + 2, len(labels)) or 1
            canvas.legend(handles, labels, frameon=False, fontsize=7.5, loc="outside upper center", ncols=n_columns)
            canvas.supxlabel(self.across, fontsize=9)
            canvas.supylabel(self.upwards, fontsize=9)

        return draw

    def _panel(self, ax: Any, name: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> None:
        """Draw one table."""
        from bgn.plots.style import plain_axes

        plain_axes(ax)
        for key, line in lines.items():
            points = sorted(point for point in line if all(map(math.isfinite, point)))
            mark = {"color": self.colors[key], "markersize": 3, "linewidth": 2.4 if key == self.ours else 1.2}
            ax.plot([x for x, _ in points], [y for _, y in points], "o-", label=self.labels[key], **mark)
        tame = [y for key, line in lines.items() if key != self.stray for _, y in line if math.isfinite(y)]
        if self.stray is not None and tame:
            margin = 0.1 * (max(tame) - min(tame))
            ax.set_ylim(min(tame) - margin, max(tame) + margin)
        ax.set_title(name.replace("_", " "), fontsize=10)
        ticks, largest = list(self.sizes), max((x for line in lines.values() for x, _ in line if x == x), default=0.0)
        while ticks and 2 * ticks[-1] <= largest:
            ticks.append(2 * ticks[-1])
        ax.set(xscale="log", xticks=ticks, xticklabels=ticks)
        ax.minorticks_off()
        ax.tick_params(labelsize=8)


def _number(value: float | str | None) -> float:
    """Return a number to draw, nan for what is missing or failed."""
    return math.nan if value is None or isinstance(value, str) else float(value)
