"""How much features or neurons matter, as bars."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from bgn.export.html import colour
from bgn.model.step import Floats
from bgn.model.terms import as_terms, network_of
from bgn.plots.room import bars_that_fit, beside_names, name_axes, name_bars, widest
from bgn.plots.style import FIRST, axes, ink, largest, plain
from bgn.show.drawing import importance_of, percent
from bgn.show.labels import shortened, term_labels


def importance(model: Any, X: Any, *, of: str = "features", most: int = 20, ax: Any = None) -> Any:
    """Draw the importance of features or of neurons, the largest on top, with their shares.

    Features of an average get a whisker of two standard errors either way.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like, frame or Importance
        Rows to measure importance on, or what :func:`bgn.importance` returned.
    of : {"features", "neurons"}, default "features"
        Whose importance; neurons have the colours of their terms in the equation.
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
    >>> model = bgn.Network([bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0])], [1.0, 3.0], 0.0, ["a", "b"])
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    >>> ax = bgn.plots.importance(model, X)
    >>> [text.get_text() for text in ax.texts]
    ['75%', '25%']
    """
    found = importance_of(model, X)
    if of not in ("features", "neurons"):
        raise ValueError(f"of must be 'features' or 'neurons'; got {of!r}.")
    values: Floats = getattr(found, of)
    colours = [FIRST] * len(values)
    for position, term in enumerate(as_terms(model).terms if of == "neurons" else ()):
        colours[term.neuron] = colour(position)
    order = largest(values, bars_that_fit(ax, most))
    labels = partial(_labels, model, of, order)
    ax, room = axes(ax, 4.6 + widest(labels(24)), 0.9 + 0.3 * max(len(order), 1)), ax is None
    plain(ax)
    ax.grid(visible=False, axis="y")
    ax.barh(range(len(order)), values[order], color=[colours[i] for i in order], height=0.65, zorder=2)
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
            percent(values[i] / total), (reach[place], place), xytext=(4, 0), textcoords="offset points", va="center",
            color=ink(), fontsize=min(9.0, size),
        )  # fmt: skip
    ax.set_xlim(0, 1.12 * max(reach.max(initial=0.0), 1e-300))
    measured = "mean absolute SHAP value" if found.kind == "shap" else "importance as in the paper"
    name_axes(ax, measured, share=beside_names(room))
    return ax


def _labels(model: Any, of: str, order: Iterable[int], letters: int) -> list[str]:
    """Return what the bars are called, columns by so many letters at most."""
    schema = network_of(model, plain=False).schema
    names = term_labels(model, letters) if of == "neurons" else shortened(schema, letters).names
    return [names[i] for i in order]
