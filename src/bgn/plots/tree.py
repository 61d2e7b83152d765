"""Size against error, beside regression trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bgn.explain.frontier import history_of
from bgn.pipelines import through_pipelines
from bgn.plots.room import legend, name_axes
from bgn.plots.style import FIRST, SECOND, axes, ink, plain


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
    widths = list(range(1, history.best_width + 1)) if sizes is None else list(sizes)
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
