"""Error against size: how a network was grown, where more rules pay, and how trees of the same size do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain import frontier as sizes
from bgn.explain.frontier import history_of
from bgn.pipelines import through_pipelines
from bgn.plots.style import FIRST, SECOND, THIRD, axes, ink, is_narrow, legend, name_axes, plain


@through_pipelines(undone=False)
def growth(model: Any, *, ax: Any = None) -> Any:
    """Draw the errors, Theorem 1's bound and accepted replacements along the path of growth.

    Errors are those of the training rows, and of the validation rows or of cross-validation, where there was either. Of
    an average they are means over its networks, beside the thin lines of each.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, or the history itself.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    history = history_of(model)
    records = list(history.records)
    if not records:
        raise ValueError("model has an empty history: nothing was grown.")
    classes = history.link != "identity"
    word = "log loss" if classes else "error"
    ends = _layer_ends(records)
    place = [ends[record.layer] + record.n_terms for record in records]
    # What a width came to: the last record at each place, and the layer at that width.
    settled = sorted(dict(zip(place, records, strict=True)).items())
    grown = [(start, history.paths[layer]) for layer, start in ends.items() if layer < len(history.paths)]
    reached = [(start + width, path[width]) for start, path in grown for width in range(1, len(path))]
    if members := getattr(history, "members", ()):
        settled, reached = [], list(enumerate(history.paths[history.best_layer]))[1:]
        records, place, ends = [], [], {history.best_layer: 0}
    validated = f"{'cross-validated' if history.cross_validated else 'validation'} {word}"
    ax = axes(ax, 7.0, 4.2)
    plain(ax)
    _thinly(ax, members)
    for label, values, color, dash in (
        (f"training {word}", [(x, each.train_loss) for x, each in reached], FIRST, "-"),
        (validated, [(x, each.validation_loss) for x, each in reached], SECOND, "-"),
        ("lower bound of training (Theorem 1)", [(x, record.bound) for x, record in settled], ink(0.6), ":"),
    ):
        line = [(x, value) for x, value in values if math.isfinite(value)]
        if line:
            mark = "o" if len(line) <= 30 else None
            ax.plot(
                *zip(*line, strict=True), dash, color=color, label=label, linewidth=1.8, marker=mark, markersize=3.5
            )
    swaps = [(x, r.train_loss) for x, r in zip(place, records, strict=True) if r.kind == "replacement"]
    if swaps:
        ax.plot(*zip(*swaps, strict=True), "x", color=FIRST, label="replacement accepted", markersize=5, zorder=3)
    _mark_layers(ax, ends)
    chosen = ends.get(history.best_layer, 0) + history.best_size
    ax.axvline(chosen, color=ink(0.5), linestyle="--", linewidth=1.2, label=f"chosen: width {history.best_size}")
    errors = [value for _, each in reached for value in (each.train_loss, each.validation_loss) if value > 0]
    if max(errors, default=0.0) > 10 * min(errors, default=0.0):
        ax.set_yscale("log")
    name_axes(ax, "neurons", "log loss" if classes else "mean squared error")
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend(ax)
    return ax


def _thinly(ax: Any, members: Any) -> None:
    """Draw the errors of every network of an average."""
    for each in members:
        path = each.paths[each.best_layer][1:]
        for name, color in (("train_loss", FIRST), ("validation_loss", SECOND)):
            errors = [getattr(one, name) for one in path]
            ax.plot(range(1, len(path) + 1), errors, color=color, alpha=0.3, linewidth=0.8)


def _layer_ends(records: list[Any]) -> dict[int, int]:
    """Return how many neurons stand in the layers before each layer."""
    widths: dict[int, int] = {}
    for record in records:
        widths[record.layer] = max(widths.get(record.layer, 0), record.n_terms)
    ends, total = {}, 0
    for layer in sorted(widths):
        ends[layer] = total
        total += widths[layer]
    return ends


def _mark_layers(ax: Any, ends: dict[int, int]) -> None:
    """Say where each layer begins, when there are several, where no legend stands."""
    height = -10 if is_narrow(ax) else 3
    for count, start in enumerate(ends.values(), start=1):
        if len(ends) > 1:
            ax.axvline(start + 0.5, color=ink(0.3), linewidth=0.8)
            ax.annotate(
                f"layer {count}", (start + 0.5, 1.0), xycoords=("data", "axes fraction"), xytext=(3, height),
                textcoords="offset points", fontsize=8, color=ink(0.7),
            )  # fmt: skip


_COLORS = {"training": FIRST, "validation": SECOND, "test": THIRD}


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
    >>> model = bgn.BGNRegressor(max_terms=3, random_state=0).fit(X, y)
    >>> bgn.plots.frontier(model).get_xlabel()
    'yes/no questions'
    """
    found = sizes.frontier(model, X, y, X_test, y_test)
    ax = axes(ax, 7.0, 4.2)
    plain(ax)
    word = "log loss" if found.loss == "log_loss" else "error"
    for rows, errors in found.errors.items():
        ax.plot(
            errors, "o-" if len(errors) <= 30 else "-", color=_COLORS[rows], label=f"{found.name(rows)} {word}",
            linewidth=1.8, markersize=3.5,
        )  # fmt: skip
    last = list(found.linear)[-1:]  # the test rows come last
    classes = found.loss == "log_loss"
    lines = [("shares of the classes" if classes else "the mean", found.evaluated_on, found.errors[found.evaluated_on][0])]
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


@through_pipelines("X", "X_test", targets=("y", "y_test"), undone=False)
def tree_comparison(
    model: Any,
    X: Any,
    y: ArrayLike,
    X_test: Any,
    y_test: ArrayLike,
    *,
    sizes: Sequence[int] | None = None,
    random_state: int = 0,
    ax: Any = None,
) -> Any:
    """Draw the test error of every width along a model's path beside trees that ask as many questions.

    A neuron and a split are both one yes/no question, so a network of five neurons stands beside a tree of five
    splits (six leaves). Trees are grown best first on `X` and `y`.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, for the smaller networks along its path, or the history itself.
    X, y : array_like
        Rows that the trees are fitted to: those of the model.
    X_test, y_test : array_like
        Rows that both are judged on.
    sizes : sequence of int, optional
        Numbers of questions; by default every width up to the chosen one.
    random_state : int, default 0
        For the trees' ties.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    from sklearn.tree import DecisionTreeRegressor

    history = history_of(model)
    widths = list(range(1, history.best_size + 1)) if sizes is None else list(sizes)
    table, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    tests, truth = np.asarray(X_test, dtype=np.float64), np.asarray(y_test, dtype=np.float64)
    networks = [float(np.mean((history.network(width).predict(tests) - truth) ** 2)) for width in widths]
    trees = []
    for width in widths:
        tree = DecisionTreeRegressor(max_leaf_nodes=width + 1, random_state=random_state).fit(table, target)
        trees.append(float(np.mean((tree.predict(tests) - truth) ** 2)))
    ax = axes(ax, 6.4, 4.0)
    plain(ax)
    mark = {"linewidth": 1.8, "markersize": 4 if len(widths) <= 40 else 0}
    ax.plot(widths, trees, "s--", color=SECOND, label="tree: splits", **mark)
    ax.plot(widths, networks, "o-", color=FIRST, label="network: neurons", **mark)
    ax.axhline(
        float(np.mean((truth - target.mean()) ** 2)), color=ink(0.5), linestyle=":", linewidth=1.2, label="mean of y"
    )
    name_axes(ax, "yes/no questions", "test mean squared error")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax
