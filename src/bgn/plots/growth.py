"""Error against size, in conditions: how a network was grown, where more pay, and how trees of the same size do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain import frontier as frontiers
from bgn.explain.frontier import count_conditions, history_of, size_of_networks
from bgn.pipelines import through_pipelines
from bgn.plots.style import FIRST, SECOND, THIRD, documented, ink, is_narrow, legend, name_axes, plain_axes


@documented()
@through_pipelines(undone=False)
def growth(model: Any, *, ax: Any = None) -> Any:
    """Draw the errors, Theorem 1's bound and accepted replacements along the path of growth.

    Errors are those of the training rows, and of the validation rows or of cross-validation, where there was either.
    They stand above the conditions that a reader reads, ``history.network(size).n_conditions``, layer after layer. Of
    an ensemble errors and conditions are means over its networks, beside the thin lines of each.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, or the history itself.
    {ax}
    """
    history = history_of(model)
    records = list(history.records)
    if not records:
        raise ValueError("model has an empty history: nothing was grown.")
    loss = "log loss" if history.link != "identity" else "error"
    members = getattr(history, "members", ())
    # Where every size of each layer stands: its conditions, behind all that were tried in the layers below.
    starts, places = dict[int, float](), dict[int, list[float]]()
    for layer in range(0 if members else len(history.paths)):
        starts[layer] = max((max(own) for own in places.values()), default=0.0)
        counts = count_conditions(history, layer)
        places[layer] = [starts[layer] + count - counts[0] for count in counts]
    if members:
        places = {history.best_layer: size_of_networks(history)}
    records = [r for r in records if not members and r.layer in places and r.n_terms < len(places[r.layer])]
    last = [(places[layer][size], r) for (layer, size), r in sorted({(r.layer, r.n_terms): r for r in records}.items())]
    reached = [(x, snapshot) for layer, own in places.items()
               for x, snapshot in list(zip(own, history.paths[layer], strict=True))[1:]]  # fmt: skip
    validated = f"{'cross-validated' if history.cross_validated else 'validation'} {loss}"
    ax = plain_axes(ax, 7.0, 4.2)
    for member in members:  # thin lines
        path, own = member.paths[member.best_layer][1:], count_conditions(member)[1:]
        for name, color in (("train_loss", FIRST), ("validation_loss", SECOND)):
            losses = [getattr(snapshot, name) for snapshot in path]
            ax.plot(own, losses, color=color, alpha=0.3, linewidth=0.8)
    for label, values, color, dash in (
        (f"training {loss}", [(x, snapshot.train_loss) for x, snapshot in reached], FIRST, "-"),
        (validated, [(x, snapshot.validation_loss) for x, snapshot in reached], SECOND, "-"),
        ("lower bound of training (Theorem 1)", [(x, record.bound) for x, record in last], ink(0.6), ":"),
    ):
        line = [(x, value) for x, value in values if math.isfinite(value)]
        if line:
            mark = "o" if len(line) <= 30 else None
            ax.plot(
                *zip(*line, strict=True), dash, color=color, label=label, linewidth=1.8, marker=mark, markersize=3.5
            )
    swaps = [(places[r.layer][r.n_terms], r.train_loss) for r in records if r.kind == "replacement"]
    if swaps:
        ax.plot(*zip(*swaps, strict=True), "x", color=FIRST, label="replacement accepted", markersize=5, zorder=3)
    for number, start in enumerate(starts.values() if len(starts) > 1 else (), start=1):
        ax.axvline(start + 0.5, color=ink(0.3), linewidth=0.8)
        ax.annotate(
            f"layer {number}", (start + 0.5, 1.0), xycoords=("data", "axes fraction"), fontsize=8, color=ink(0.7),
            xytext=(3, -10 if is_narrow(ax) else 3), textcoords="offset points",
        )  # fmt: skip
    chosen = places[history.best_layer][history.best_size]
    count = f"{chosen:.4g} on average" if members else str(history.network().n_conditions)
    ax.axvline(chosen, color=ink(0.5), linestyle="--", linewidth=1.2, label=f"chosen: {count}")
    errors = [value for _, snapshot in reached
              for value in (snapshot.train_loss, snapshot.validation_loss) if value > 0]  # fmt: skip
    if max(errors, default=0.0) > 10 * min(errors, default=0.0):
        ax.set_yscale("log")
    axis = "conditions of a network" if members else "conditions"
    axis += ", layer after layer" if len(starts) > 1 else ""
    name_axes(ax, axis, "mean squared error" if loss == "error" else loss)
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend(ax)
    return ax


_COLORS = {"training": FIRST, "validation": SECOND, "test": THIRD}


@documented()
def frontier(
    model: Any, X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None, *, ax: Any = None
) -> Any:
    """Draw a model's error at every size it had while it grew, with the mean and a linear model as lines.

    Size is the number of conditions that a reader reads: one per comparison, two for a condition on a sum of two
    columns, one per linear term. :func:`bgn.frontier` has the same as numbers. The lines are those of the test rows
    where there are any; otherwise the mean's is the validation error, and the linear model's that of the rows it was
    fitted to.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, or the history itself.
    X, y : array_like, optional
        Rows that the linear model is fitted to: those of the model. None for no linear model.
    X_test, y_test : array_like, optional
        Rows to measure the test error on [default: none].
    {ax}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import bgn
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = bgn.BGNRegressor(max_terms=3, random_state=0).fit(X, y)
    >>> bgn.plots.frontier(model).get_xlabel()
    'conditions'
    """
    measured = frontiers.frontier(model, X, y, X_test, y_test)
    ax = plain_axes(ax, 7.0, 4.2)
    classes = measured.loss == "log_loss"
    for rows, errors in measured.errors.items():
        ax.plot(
            measured.conditions, errors, "o-" if len(errors) <= 30 else "-", color=_COLORS[rows], linewidth=1.8,
            markersize=3.5, label=f"{measured.name(rows)} {'log loss' if classes else 'error'}",
        )  # fmt: skip
    lines = [("shares of the classes" if classes else "the mean", measured.evaluated_on,
              measured.errors[measured.evaluated_on][0])]  # fmt: skip
    name = "logistic regression" if classes else "a linear model"
    lines += [(name, rows, measured.linear[rows]) for rows in list(measured.linear)[-1:]]  # the test rows come last
    for (name, rows, error), dash in zip(lines, (":", "-."), strict=False):
        on = rows + " rows" if measured.name(rows) == rows else measured.name(rows)
        ax.axhline(error, color=ink(0.6), linestyle=dash, linewidth=1.4, label=f"{name}, {on}")
    chosen = measured.conditions[measured.chosen]
    ax.axvline(chosen, color=ink(0.5), linestyle="--", linewidth=1.2, label=f"chosen: {chosen}")
    name_axes(ax, "conditions", "log loss" if classes else "mean squared error")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax


@documented()
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
    """Draw the test error of every size along a model's path beside trees with as many splits as it has conditions.

    A network of five conditions stands beside a tree of five splits (six leaves): every split is a condition to read.
    Trees are grown best first on `X` and `y`.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, for the smaller networks along its path, or the history itself.
    X, y : array_like
        Rows that the trees are fitted to: those of the model.
    X_test, y_test : array_like
        Rows to measure both on.
    sizes : sequence of int, optional
        Numbers of terms along the path [default: every one up to the chosen one].
    random_state : int, default 0
        For the trees' ties.
    {ax}
    """
    from sklearn.tree import DecisionTreeRegressor

    history = history_of(model)
    sizes = list(range(1, history.best_size + 1)) if sizes is None else list(sizes)
    rows, target, test_rows, truth = (np.asarray(part, dtype=np.float64) for part in (X, y, X_test, y_test))
    networks, trees, conditions = list[float](), list[float](), list[int]()
    for size in sizes:
        network = history.network(size)
        conditions.append(network.n_conditions)
        tree = DecisionTreeRegressor(max_leaf_nodes=max(network.n_conditions + 1, 2), random_state=random_state)
        for losses, model_of_size in ((networks, network), (trees, tree.fit(rows, target))):
            losses.append(float(np.mean((model_of_size.predict(test_rows) - truth) ** 2)))
    ax = plain_axes(ax, 6.4, 4.0)
    mark = {"linewidth": 1.8, "markersize": 4 if len(sizes) <= 40 else 0}
    ax.plot(conditions, trees, "s--", color=SECOND, label="tree", **mark)
    ax.plot(conditions, networks, "o-", color=FIRST, label="network", **mark)
    ax.axhline(
        float(np.mean((truth - target.mean()) ** 2)), color=ink(0.5), linestyle=":", linewidth=1.2, label="mean of y"
    )
    name_axes(ax, "conditions (of a tree: splits)", "test mean squared error")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax
