"""What moves predictions, as bars and dots: importance, one row explained, many rows, two groups compared.

Each figure draws what `bgn.explain` returned; names of columns are shortened until they fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.export.numbers import number, share_of, whole
from bgn.export.styles import Signs, color
from bgn.model.readings import as_terms, network_of
from bgn.model.schema import Column
from bgn.model.step import Floats
from bgn.plots.style import (
    DOWN,
    FIRST,
    UP,
    bar_axes,
    bars_that_fit,
    documented,
    ink,
    largest,
    name_axes,
    name_values,
    signed_texts,
    two_tone,
    written,
)
from bgn.show.drawing import importance_of
from bgn.show.labels import cell, shortened, term_labels
from bgn.text import clean


@documented()
def importance(model: Any, X: Any, *, of: str = "features", most: int = 20, ax: Any = None) -> Any:
    """Draw the importance of features or of terms, the largest on top, with their shares.

    Features of an ensemble get a whisker of two standard errors either way.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like, frame or Importance
        Rows to measure importance on, or what :func:`bgn.importance` returned.
    of : {"features", "terms"}, default "features"
        Whose importance; terms have the colors that they have in the equation.
    most : int, default 20
        Bars to draw at most.
    {ax}

    Examples
    --------
    >>> import bgn, numpy as np
    >>> model = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [1.0, 3.0], 0.0, ["a", "b"])
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    >>> ax = bgn.plots.importance(model, X)
    >>> [text.get_text() for text in ax.texts]
    ['75%', '25%']
    """
    measured = importance_of(model, X)
    if of not in ("features", "terms"):
        raise ValueError(f"of must be 'features' or 'terms'; got {of!r}.")
    values: Floats = getattr(measured, of)
    colors = [FIRST] * len(values)
    for position, term in enumerate(as_terms(model).rules if of == "terms" else ()):
        colors[term.place] = color(position)
    order = largest(values, bars_that_fit(ax, most))

    def labels(letters: int) -> list[str]:
        schema = network_of(model, plain=False).schema
        names = term_labels(model, letters) if of == "terms" else shortened(schema, letters).names
        return [names[i] for i in order]

    ax, size, share = bar_axes(ax, labels, 4.6, 0.9, 0.3)
    ax.grid(visible=False, axis="y")
    ax.barh(range(len(order)), values[order], color=[colors[i] for i in order], height=0.65, zorder=2)
    reach = values[order]
    if of == "features" and measured.standard_error is not None:
        errors = 2.0 * measured.standard_error[order]
        ax.errorbar(reach, range(len(order)), xerr=errors, fmt="none", ecolor=ink(0.6), capsize=3, zorder=3)
        reach = reach + errors
    ax.set_ylim(len(order) - 0.4, -0.6)
    name_values(ax, reach, (share_of(value / (values.sum() or 1.0)) for value in values[order]), size)
    ax.set_xlim(0, 1.12 * max(reach.max(initial=0.0), 1e-300))
    kind = "mean absolute SHAP value" if measured.kind == "shap" else "importance as in the paper"
    name_axes(ax, kind, share=share)
    return ax


_DIGITS = 5  # of a value beside its feature


@documented()
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
    {ax}

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
    ax, size, _ = bar_axes(ax, names, 5.0, 1.3, 0.36)
    ax.barh(range(len(shown)), shown, left=starts, color=[UP if value > 0 else DOWN for value in shown], height=0.6,
            zorder=2)  # fmt: skip
    ax.invert_yaxis()
    name_values(ax, np.maximum(starts, ends), signed_texts(shown, digits), size)
    finish = start + sum(shown)
    for value, text, height, offset in ((start, "mean", 0.0, -18), (finish, "this row", 1.0, 4)):
        ax.axvline(value, color=ink(0.5), linestyle="--", linewidth=1.0, zorder=1)
        ax.annotate(
            f"{text}: {written(value, digits + 1)}", (value, height), xycoords=("data", "axes fraction"), ha="center",
            fontsize=9, va="bottom" if height else "top", xytext=(0, offset), textcoords="offset points", color=ink(),
        )  # fmt: skip
    reach = [*starts, *ends, start]
    margin = 0.04 * (np.ptp(reach) or 1.0)
    ax.set_xlim(min(reach) - margin, max(reach) + 4 * margin)
    predicted = None if explanation.predictions is None else float(explanation.predictions[row])
    if predicted is not None and not np.isclose(predicted, finish, rtol=1e-12, atol=0.0):
        ax.set_title(f"predicted within bounds: {written(predicted, digits + 1)}", fontsize=9, color=ink(), pad=20)
    return ax


def _parts(explanation: Any, row: int, by: str, letters: int) -> tuple[list[str], Any]:
    """Return what the bars are called, columns by so many letters, and worth."""
    if by == "features":
        pairs = zip(shortened(explanation.network.schema, letters).columns, explanation.data[row].tolist(), strict=True)
        return [_named_value(column, value) for column, value in pairs], explanation.values[row]
    if by == "terms":
        return term_labels(explanation.network, letters), explanation.term_values[row]
    raise ValueError(f"by must be 'features' or 'terms'; got {by!r}.")


def _named_value(column: Column, value: float) -> str:
    """Write a feature and its value; a 0/1 column that stands for a level tells whether it is that."""
    if column.category_of is not None and value in (0.0, 1.0):
        return column.name if value else "{} is not {}".format(*column.category_of)
    if value != value:
        return f"{column.name} is missing"
    text = cell(column, value)
    if text == Signs().number(whole(value)):  # a measured number, which a figure need not tell to its last digit
        text = Signs().number(number(value, _DIGITS))
    return f"{column.name} = {text}"


@documented()
def summary(explanation: Any, *, most: int = 12, points: int = 1000, ax: Any = None) -> Any:
    """Draw the SHAP values of the most important features, colored by the features' own values.

    Unordered categories and missing values are grey.

    Parameters
    ----------
    explanation : Explanation
        From :func:`bgn.shap_values`.
    most : int, default 12
        Features to draw at most, the most important (mean absolute value) on top.
    points : int, default 1000
        Rows to draw at most, spread evenly over those explained.
    {ax}

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

    ax, size, share = bar_axes(ax, labels, 5.8, 1.2, 0.42)
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
    ax.set_ylim(max(len(order), 1) - 0.5, -0.5)
    name_axes(ax, "SHAP value: change of the prediction", share=share)
    if dots is not None:
        bar = ax.figure.colorbar(dots, ax=ax, ticks=[0.0, 1.0], shrink=0.8, aspect=25, pad=0.02)
        between = " " if share == 1.0 else "\n"
        bar.ax.set_yticklabels([f"low{between}value", f"high{between}value"], fontsize=size)
        bar.outline.set_visible(False)
    return ax


def _ranks(values: Floats) -> Floats:
    """Return where each value stands among all, 0 to 1, equal ones alike; NaN for missing values."""
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


@documented()
def comparison(compared: Any, *, by: str = "columns", most: int = 12, digits: int = 3, ax: Any = None) -> Any:
    """Draw what columns, or terms, add to the difference of the mean scores, the largest on top.

    Parameters
    ----------
    compared : Comparison
        From :func:`bgn.compare_groups` or :func:`bgn.compare_tables`.
    by : {"columns", "terms"}, default "columns"
        Whose parts to draw.
    most : int, default 12
        Bars to draw at most; the smallest parts go together in one.
    digits : int, default 3
        Significant digits of what the bars are worth.
    {ax}

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

    shown = bars_that_fit(ax, most)

    def parts(letters: int) -> list[tuple[str, float]]:
        network = compared.network
        names = shortened(network.schema, letters).names if by == "columns" else term_labels(network, letters)
        pairs = compared.parts(names, by)
        if len(pairs) <= shown:
            return pairs
        rest = pairs[shown - 1 :]
        return [*pairs[: shown - 1], (f"{len(rest)} others", sum(value for _, value in rest))]

    values = [value for _, value in parts(24)]
    ax, size, share = bar_axes(ax, lambda letters: [name for name, _ in parts(letters)], 4.6, 1.0, 0.32)
    ax.grid(visible=False, axis="y")
    ax.barh(range(len(values)), values, color=[UP if value > 0 else DOWN for value in values], height=0.65, zorder=2)
    ax.set_ylim(len(values) - 0.4, -0.6)
    name_values(ax, np.maximum(values, 0.0), signed_texts(values, digits), size)
    reach = max(np.abs(values).max(initial=0.0), 1e-300)
    ax.set_xlim(-1.05 * reach * (min([0.0, *values]) < 0), 1.3 * reach)
    first, second = map(clean, compared.names)
    difference = written(compared.difference, digits + 1)
    name_axes(ax, f"mean score of {second} less that of {first}: {difference}", share=share)
    return ax
