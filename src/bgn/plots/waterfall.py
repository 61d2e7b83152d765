"""One row explained: from the mean prediction to this row's, one bar per feature or neuron."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.export.numbers import amounts, number, whole
from bgn.export.text import Signs
from bgn.model.schema import Column
from bgn.plots.room import bars_that_fit, name_bars, widest
from bgn.plots.style import DOWN, UP, axes, ink, largest, plain
from bgn.show.labels import cell, shortened, term_labels

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
    by : {"features", "neurons"}, default "features"
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
    >>> model = bgn.Network([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [2.0, 1.0], 0.0, ["a", "b"])
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
    colours = [UP if value > 0 else DOWN for value in shown]
    ax.barh(range(len(shown)), shown, left=starts, color=colours, height=0.6, zorder=2)
    ax.invert_yaxis()
    size = min(9.0, name_bars(ax, names, room))
    _annotate(ax, start, shown, starts, ends, digits, size)
    predicted = None if explanation.predictions is None else float(explanation.predictions[row])
    if predicted is not None and not np.isclose(predicted, start + sum(shown), rtol=1e-12, atol=0.0):
        written = Signs().number(amounts([predicted], [predicted or 1.0], digits + 1)[0])
        ax.set_title(f"predicted within bounds: {written}", fontsize=9, color=ink(), pad=20)
    return ax


def _parts(explanation: Any, row: int, by: str, letters: int) -> tuple[list[str], Any]:
    """Return what the bars are called, columns by so many letters, and worth."""
    if by == "features":
        pairs = zip(shortened(explanation.network.schema, letters).columns, explanation.data[row].tolist(), strict=True)
        return [_told(column, value) for column, value in pairs], explanation.values[row]
    if by == "neurons":
        return term_labels(explanation.network, letters), explanation.neuron_values[row]
    raise ValueError(f"by must be 'features' or 'neurons'; got {by!r}.")


def _told(column: Column, value: float) -> str:
    """Write a feature and its value; a 0/1 column that stands for a level tells whether it is that."""
    if column.level_of is not None and value in (0.0, 1.0):
        return column.name if value else "{} is not {}".format(*column.level_of)
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
        written = Signs().number(amounts([value], [value or 1.0], digits + 1)[0])
        height = 1.0 if text == "this row" else 0.0
        ax.annotate(
            f"{text}: {written}", (value, height), xycoords=("data", "axes fraction"), ha="center", fontsize=9,
            va="bottom" if height else "top", xytext=(0, 4 if height else -18), textcoords="offset points", color=ink(),
        )  # fmt: skip
    for place, (value, text) in enumerate(zip(shown, amounts(shown, shown or [1.0], digits), strict=True)):
        sign = "+" if value > 0 else ""
        ax.annotate(
            sign + Signs().number(text), (max(starts[place], ends[place]), place), xytext=(4, 0), fontsize=size,
            textcoords="offset points", va="center", color=ink(), zorder=3,
        )  # fmt: skip
    reach = [*starts, *ends, start]
    room = 0.04 * (np.ptp(reach) or 1.0)
    ax.set_xlim(min(reach) - room, max(reach) + 4 * room)
