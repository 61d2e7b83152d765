"""What moves predictions, as bars and dots: importance, one row explained, many rows, two groups compared.

Each figure draws what `bgn.explain` returned; names of columns are shortened until they fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from bgn.export.numbers import alike, number, share_of, whole
from bgn.export.styles import Signs, color
from bgn.model.readings import as_terms, network_of
from bgn.model.schema import Column
from bgn.model.step import Floats
from bgn.plots.style import (
    DOWN,
    FIRST,
    UP,
    axes,
    bars_that_fit,
    beside_names,
    ink,
    largest,
    name_axes,
    name_bars,
    plain,
    two_tone,
    widest,
)
from bgn.show.drawing import importance_of
from bgn.show.labels import cell, shortened, term_labels
from bgn.text import clean


def importance(model: Any, X: Any, *, of: str = "features", most: int = 20, ax: Any = None) -> Any:
    """Draw the importance of features or of terms, the largest on top, with their shares.

    Features of an average get a whisker of two standard errors either way.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like, frame or Importance
        Rows to measure importance on, or what :func:`bgn.importance` returned.
    of : {"features", "terms"}, default "features"
        Whose importance; terms have the colors that they have in the equation.
    most : int, default 20
        Bars to draw at most.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn, numpy as np
    >>> model = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [1.0, 3.0], 0.0, ["a", "b"])
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    >>> ax = bgn.plots.importance(model, X)
    >>> [text.get_text() for text in ax.texts]
    ['75%', '25%']
    """
    found = importance_of(model, X)
    if of not in ("features", "terms"):
        raise ValueError(f"of must be 'features' or 'terms'; got {of!r}.")
    values: Floats = getattr(found, of)
    colors = [FIRST] * len(values)
    for position, term in enumerate(as_terms(model).rules if of == "terms" else ()):
        colors[term.place] = color(position)
    order = largest(values, bars_that_fit(ax, most))
    labels = partial(_labels, model, of, order)
    ax, room = axes(ax, 4.6 + widest(labels(24)), 0.9 + 0.3 * max(len(order), 1)), ax is None
    plain(ax)
    ax.grid(visible=False, axis="y")
    ax.barh(range(len(order)), values[order], color=[colors[i] for i in order], height=0.65, zorder=2)
    reach = values[order]
    if of == "features" and found.standard_error is not None:
        errors = 2.0 * found.standard_error[order]
        ax.errorbar(reach, range(len(order)), xerr=errors, fmt="none", ecolor=ink(0.6), capsize=3, zorder=3)
        reach = reach + errors
    size = name_bars(ax, labels, room)
    ax.set_ylim(len(order) - 0.4, -0.6)
    total = values.sum() or 1.0
    for place, i in enumerate(order):
        ax.annotate(
            share_of(values[i] / total), (reach[place], place), xytext=(4, 0), textcoords="offset points", va="center",
            color=ink(), fontsize=min(9.0, size),
        )  # fmt: skip
    ax.set_xlim(0, 1.12 * max(reach.max(initial=0.0), 1e-300))
    measured = "mean absolute SHAP value" if found.kind == "shap" else "importance as in the paper"
    name_axes(ax, measured, share=beside_names(room))
    return ax


def _labels(model: Any, of: str, order: Iterable[int], letters: int) -> list[str]:
    """Return what the bars are called, columns by so many letters at most."""
    schema = network_of(model, plain=False).schema
    names = term_labels(model, letters) if of == "terms" else shortened(schema, letters).names
    return [names[i] for i in order]


_DIGITS = 5  # of a value beside its feature


def waterfall(
    explanation: Any, row: int = 0, *, by: str = "features", most: int = 12, digits: int = 3, ax: Any = None
) -> Any:
    """Draw how the prediction of one row comes about, starting from the mean prediction of the background.

    Parameters
    ----------
    explanation : Explanation
        From :func:`bgn.shap_values`.
    row : int, default 0
        Which of the explained rows.
    by : {"features", "terms"}, default "features"
        Whose shares to draw.
    most : int, default 12
        Bars to draw at most; the smallest shares go together in one.
    digits : int, default 3
        Significant digits of what the bars are worth.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn, numpy as np
    >>> model = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [2.0, 1.0], 0.0, ["a", "b"])
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    >>> ax = bgn.plots.waterfall(bgn.shap_values(model, X, X), row=1)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a = 2', 'b = 0']
    """
    values = _parts(explanation, row, by, 24)[1]
    order = largest(values, bars_that_fit(ax, most))
    shown = values[order].tolist()
    if left_out := int(np.count_nonzero(values)) - len(shown):
        shown[-1] += float(values.sum() - np.sum(shown))

    def names(letters: int) -> list[str]:
        labels = _parts(explanation, row, by, letters)[0]
        return [labels[i] for i in order[: len(order) - bool(left_out)]] + [f"{left_out + 1} others"] * bool(left_out)

    start = float(explanation.base_value)
    # The largest share stands on top, and the bars climb from the bottom: they are laid from the smallest up.
    ends = start + np.cumsum(shown[::-1])[::-1]
    starts = ends - shown
    room = ax is None
    ax = axes(ax, 5.0 + widest(names(24)), 1.3 + 0.36 * max(len(shown), 1))
    plain(ax)
    colors = [UP if value > 0 else DOWN for value in shown]
    ax.barh(range(len(shown)), shown, left=starts, color=colors, height=0.6, zorder=2)
    ax.invert_yaxis()
    size = min(9.0, name_bars(ax, names, room))
    _annotate(ax, start, shown, starts, ends, digits, size)
    predicted = None if explanation.predictions is None else float(explanation.predictions[row])
    if predicted is not None and not np.isclose(predicted, start + sum(shown), rtol=1e-12, atol=0.0):
        written = Signs().number(alike([predicted], [predicted or 1.0], digits + 1)[0])
        ax.set_title(f"predicted within bounds: {written}", fontsize=9, color=ink(), pad=20)
    return ax


def _parts(explanation: Any, row: int, by: str, letters: int) -> tuple[list[str], Any]:
    """Return what the bars are called, columns by so many letters, and worth."""
    if by == "features":
        pairs = zip(shortened(explanation.network.schema, letters).columns, explanation.data[row].tolist(), strict=True)
        return [_told(column, value) for column, value in pairs], explanation.values[row]
    if by == "terms":
        return term_labels(explanation.network, letters), explanation.term_values[row]
    raise ValueError(f"by must be 'features' or 'terms'; got {by!r}.")


def _told(column: Column, value: float) -> str:
    """Write a feature and its value; a 0/1 column that stands for a level tells whether it is that."""
    if column.category_of is not None and value in (0.0, 1.0):
        return column.name if value else "{} is not {}".format(*column.category_of)
    if value != value:
        return f"{column.name} is missing"
    text = cell(column, value)
    if text == Signs().number(whole(value)):  # a measured number, which a figure need not tell to its last digit
        text = Signs().number(number(value, _DIGITS))
    return f"{column.name} = {text}"


def _annotate(ax: Any, start: float, shown: list[float], starts: Any, ends: Any, digits: int, size: float) -> None:
    """Write what each bar is worth beside it, and mark where the bars begin and end."""
    finish = start + sum(shown)
    for value, text in ((start, "mean"), (finish, "this row")):
        ax.axvline(value, color=ink(0.5), linestyle="--", linewidth=1.0, zorder=1)
        written = Signs().number(alike([value], [value or 1.0], digits + 1)[0])
        height = 1.0 if text == "this row" else 0.0
        ax.annotate(
            f"{text}: {written}", (value, height), xycoords=("data", "axes fraction"), ha="center", fontsize=9,
            va="bottom" if height else "top", xytext=(0, 4 if height else -18), textcoords="offset points", color=ink(),
        )  # fmt: skip
    for place, (value, text) in enumerate(zip(shown, alike(shown, shown or [1.0], digits), strict=True)):
        sign = "+" if value > 0 else ""
        ax.annotate(
            sign + Signs().number(text), (max(starts[place], ends[place]), place), xytext=(4, 0), fontsize=size,
            textcoords="offset points", va="center", color=ink(), zorder=3,
        )  # fmt: skip
    reach = [*starts, *ends, start]
    room = 0.04 * (np.ptp(reach) or 1.0)
    ax.set_xlim(min(reach) - room, max(reach) + 4 * room)


def summary(explanation: Any, *, most: int = 12, points: int = 1000, ax: Any = None) -> Any:
    """Draw the SHAP values of the most important features, colored by the features' own values.

    Categories whose levels have no order, and gaps, are grey.

    Parameters
    ----------
    explanation : Explanation
        From :func:`bgn.shap_values`.
    most : int, default 12
        Features to draw at most, the most important (mean absolute value) on top.
    points : int, default 1000
        Rows to draw at most, spread evenly over those explained.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn, numpy as np
    >>> model = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [1.0, 2.0], 0.0, ["a", "b"])
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    >>> ax = bgn.plots.summary(bgn.shap_values(model, X, X))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    """
    sizes = np.abs(explanation.values).mean(axis=0)
    order = largest(sizes, bars_that_fit(ax, most))
    rows = np.linspace(0, len(explanation.values) - 1, min(points, len(explanation.values))).astype(int)

    def labels(letters: int) -> list[str]:
        names = shortened(explanation.network.schema, letters).names
        return [names[i] for i in order]

    ax, room = axes(ax, 5.8 + widest(labels(24)), 1.2 + 0.42 * max(len(order), 1)), ax is None
    plain(ax)
    ax.axvline(0.0, color=ink(0.5), linewidth=1.0)
    dots, colors = None, two_tone().with_extremes(bad=ink(0.5))
    for place, feature in enumerate(order):
        values, data = explanation.values[rows, feature], explanation.data[rows, feature]
        kind = explanation.network.schema.columns[feature]
        if kind.categories is not None and not kind.ordered and kind.categories != (False, True):
            data = np.full(len(data), np.nan)  # no level is higher than another
        dots = ax.scatter(
            values, place + _swarm(values, sizes[order[0]]), c=_ranks(data), cmap=colors, vmin=0.0, vmax=1.0,
            s=9, plotnonfinite=True, linewidth=0, zorder=2, rasterized=len(rows) * len(order) > 5000,
        )  # fmt: skip
    size = name_bars(ax, labels, room)
    ax.set_ylim(max(len(order), 1) - 0.5, -0.5)
    name_axes(ax, "SHAP value: change of the prediction", share=beside_names(room))
    if dots is not None:
        bar = ax.figure.colorbar(dots, ax=ax, ticks=[0.0, 1.0], shrink=0.8, aspect=25, pad=0.02)
        word = " value" if room else "\nvalue"
        bar.ax.set_yticklabels([f"low{word}", f"high{word}"], fontsize=size)
        bar.outline.set_visible(False)
    return ax


def _ranks(values: Floats) -> Floats:
    """Return where each value stands among all, 0 to 1, equal ones alike; NaN for gaps."""
    distinct, places = np.unique(values[~np.isnan(values)], return_inverse=True)
    ranks = np.full(len(values), np.nan)
    ranks[~np.isnan(values)] = places / max(len(distinct) - 1, 1)
    return ranks


def _swarm(values: Floats, scale: float) -> Floats:
    """Return offsets that keep dots of about equal value apart, within 0.4 of the line."""
    bins = np.rint(values / (0.08 * scale or 1.0)).astype(np.int64)
    offsets = np.zeros(len(values))
    _, places, counts = np.unique(bins, return_inverse=True, return_counts=True)
    for group in range(len(counts)):
        members = np.flatnonzero(places == group)
        half = 0.4 * counts[group] / counts.max()
        # A golden-ratio sequence fills the band evenly whatever the order of the rows.
        offsets[members] = half * (2.0 * ((np.arange(1, len(members) + 1) * 0.6180339887498949) % 1.0) - 1.0)
    return offsets * (counts.max() > 1)


def comparison(found: Any, *, by: str = "columns", most: int = 12, digits: int = 3, ax: Any = None) -> Any:
    """Draw what columns, or terms, add to the difference of the mean scores, the largest on top.

    Parameters
    ----------
    found : Comparison
        From :func:`bgn.compare_groups` or :func:`bgn.compare_tables`.
    by : {"columns", "terms"}, default "columns"
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
    >>> model = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [2.0, 1.0], 0.0, ["a", "b"])
    >>> ax = bgn.plots.comparison(bgn.compare_tables(model, [[0.0, 0.0]], [[2.0, 0.0], [2.0, 2.0]]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    if by not in ("columns", "terms"):
        raise ValueError(f"by must be 'columns' or 'terms'; got {by!r}.")

    def parts(letters: int) -> list[tuple[str, float]]:
        network = found.network
        names = shortened(network.schema, letters).names if by == "columns" else term_labels(network, letters)
        each = found.parts(names, by)
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
    for place, (value, text) in enumerate(zip(values, alike(values, values or [1.0], digits), strict=True)):
        ax.annotate(
            ("+" if value > 0 else "") + Signs().number(text), (max(value, 0.0), place), xytext=(4, 0),
            textcoords="offset points", va="center", color=ink(), fontsize=min(9.0, size),
        )  # fmt: skip
    reach = max(np.abs(values).max(initial=0.0), 1e-300)
    ax.set_xlim(-1.05 * reach * (min([0.0, *values]) < 0), 1.3 * reach)
    first, second = map(clean, found.names)
    gap = Signs().number(alike([found.difference], [found.difference or 1.0], digits + 1)[0])
    name_axes(ax, f"mean score of {second} less that of {first}: {gap}", share=beside_names(room))
    return ax
