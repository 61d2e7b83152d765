"""Error against size: where more questions pay."""

from __future__ import annotations

from typing import Any

from bgn.explain import frontier as sizes
from bgn.plots.room import legend, name_axes
from bgn.plots.style import FIRST, SECOND, THIRD, axes, ink, plain

_COLOURS = {"training": FIRST, "validation": SECOND, "test": THIRD}


def frontier(
    model: Any, X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None, *, ax: Any = None
) -> Any:
    """Draw a model's error at every size it had while it grew, with the mean and a linear model as lines.

    :func:`bgn.frontier` has the same as numbers. The lines are those of the test rows where there are any; otherwise
    the mean's is the validation error, and the linear model's that of the rows it was fitted to.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, or the history itself.
    X, y : array_like, optional
        Rows that the linear model is fitted to: those of the model. None for no linear model.
    X_test, y_test : array_like, optional
        Rows to measure the test error on; none unless told.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import bgn
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = bgn.BGNRegressor(max_width=3, random_state=0).fit(X, y)
    >>> bgn.plots.frontier(model).get_xlabel()
    'yes/no questions'
    """
    found = sizes.frontier(model, X, y, X_test, y_test)
    ax = axes(ax, 7.0, 4.2)
    plain(ax)
    word = "log loss" if found.loss == "log_loss" else "error"
    for rows, errors in found.errors.items():
        ax.plot(
            errors, "o-" if len(errors) <= 30 else "-", color=_COLOURS[rows], label=f"{found.name(rows)} {word}",
            linewidth=1.8, markersize=3.5,
        )  # fmt: skip
    last = list(found.linear)[-1:]  # the test rows come last
    classes = found.loss == "log_loss"
    lines = [("shares of the classes" if classes else "the mean", found.judged, found.errors[found.judged][0])]
    rival = "logistic regression" if classes else "a linear model"
    lines += [(rival, rows, found.linear[rows]) for rows in last]
    for (name, rows, error), dash in zip(lines, (":", "-."), strict=False):
        measured = rows + " rows" if found.name(rows) == rows else found.name(rows)
        ax.axhline(error, color=ink(0.6), linestyle=dash, linewidth=1.4, label=f"{name}, {measured}")
    ax.axvline(found.chosen, color=ink(0.5), linestyle="--", linewidth=1.2, label=f"chosen: {found.chosen}")
    name_axes(ax, "yes/no questions", "log loss" if classes else "mean squared error")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax
