"""Where a gap between two groups, or a shift between two tables, comes from, as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.explain.compare import told
from bgn.export.numbers import amounts
from bgn.export.text import Signs
from bgn.plots.room import bars_that_fit, beside_names, name_axes, name_bars, widest
from bgn.plots.style import DOWN, UP, axes, ink, plain
from bgn.printable import clean
from bgn.show.labels import shortened, term_labels


def comparison(found: Any, *, by: str = "columns", most: int = 12, digits: int = 3, ax: Any = None) -> Any:
    """Draw what columns, or questions, add to the gap in the mean score, the largest on top.

    Parameters
    ----------
    found : Comparison
        From :func:`bgn.compare_groups` or :func:`bgn.compare_tables`.
    by : {"columns", "questions"}, default "columns"
        Whose parts to draw.
    most : int, default 12
        Bars to draw at most; the smallest parts go together in one.
    digits : int, default 3
        Significant digits of what the bars are worth.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn
    >>> model = bgn.Network([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [2.0, 1.0], 0.0, ["a", "b"])
    >>> ax = bgn.plots.comparison(bgn.compare_tables(model, [[0.0, 0.0]], [[2.0, 0.0], [2.0, 2.0]]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    if by not in ("columns", "questions"):
        raise ValueError(f"by must be 'columns' or 'questions'; got {by!r}.")

    def parts(letters: int) -> list[tuple[str, float]]:
        network = found.network
        names = shortened(network.schema, letters).names if by == "columns" else term_labels(network, letters)
        each = told(found, dict(enumerate(names)), by)
        if len(each) <= shown:
            return each
        return [*each[: shown - 1], (f"{len(each) - shown + 1} others", sum(value for _, value in each[shown - 1 :]))]

    room, shown = ax is None, bars_that_fit(ax, most)
    values, labels = [value for _, value in parts(24)], [name for name, _ in parts(24)]
    ax = axes(ax, 4.6 + widest(labels), 1.0 + 0.32 * max(len(values), 1))
    plain(ax)
    ax.grid(visible=False, axis="y")
    ax.barh(range(len(values)), values, color=[UP if value > 0 else DOWN for value in values], height=0.65, zorder=2)
    size = name_bars(ax, lambda letters: [name for name, _ in parts(letters)], room)
    ax.set_ylim(len(values) - 0.4, -0.6)
    for place, (value, text) in enumerate(zip(values, amounts(values, values or [1.0], digits), strict=True)):
        ax.annotate(
            ("+" if value > 0 else "") + Signs().number(text), (max(value, 0.0), place), xytext=(4, 0),
            textcoords="offset points", va="center", color=ink(), fontsize=min(9.0, size),
        )  # fmt: skip
    reach = max(np.abs(values).max(initial=0.0), 1e-300)
    ax.set_xlim(-1.05 * reach * (min([0.0, *values]) < 0), 1.3 * reach)
    first, second = map(clean, found.names)
    gap = Signs().number(amounts([found.gap], [found.gap or 1.0], digits + 1)[0])
    name_axes(ax, f"mean score of {second} less that of {first}: {gap}", share=beside_names(room))
    return ax
