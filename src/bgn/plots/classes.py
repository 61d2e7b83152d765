"""How well classes are predicted, drawn: ROC, precision and recall, calibration, scores by class, net benefit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bgn.explain.arguments import class_number
from bgn.explain.evaluate import OneClass, evaluation_rows, network_with_classes
from bgn.model.readings import is_first_positive
from bgn.pipelines import through_pipelines
from bgn.plots.style import FIRST, SECOND, THIRD, documented, ink, legend, name_axes, plain_axes
from bgn.text import count_of, quote_category

# Told apart with any kind of color vision; the first three are those of the other figures.
_COLORS = (FIRST, SECOND, THIRD, "#CC79A7", "#56B4E9", "#E69F00", "#8A8A8A")
_SHARED = """Parameters
    ----------
    model : BGNClassifier or Network with classes
    X : array_like or frame of shape (rows, columns)
    y : array_like of shape (rows,)
        The labels.
    of : label, optional
        The class to draw [default: of two the second ("ja" beside "nein"), of more all, each against the others].
    sample_weight : array_like of shape (rows,), optional
        What every row counts for.
    {more}{ax}"""


def _drawn(model: Any, X: Any, y: Any, of: Any, weight: Any) -> Iterator[tuple[str, str, OneClass]]:
    """Yield name, color and rows of every class that is drawn."""
    evaluated = evaluation_rows(model, X, y, weight)
    chosen = list(range(len(evaluated.classes)))
    if of is not None or len(chosen) == 2:
        chosen = [_class_of(model, of)]
    for k in chosen:
        color = _COLORS[(0 if len(chosen) == 1 else k) % len(_COLORS)]
        yield quote_category(evaluated.class_names[k], 24), color, evaluated.of_class(k)


def _class_of(model: Any, of: Any) -> int:
    """Return which class to draw: the one that is asked for, or the one of two that people speak of."""
    network = network_with_classes(model)
    return int(not is_first_positive(network)) if of is None else class_number(network, of, "of")


def _unit_square(ax: Any) -> None:
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")


@documented(parameters=_SHARED, more="")
@through_pipelines("X", targets=("y",), undone=False)
def roc(model: Any, X: Any, y: Any, *, of: Any = None, sample_weight: Any = None, ax: Any = None) -> Any:
    """Draw the ROC curve: the share of a class that is found against the share of the others called so, wrongly.

    {parameters}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import bgn
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = bgn.BGNClassifier(max_terms=3, random_state=0).fit(X[:400], y[:400])
    >>> bgn.plots.roc(model, X[400:], y[400:]).get_ylabel()
    'sensitivity (true positives)'
    """
    ax = plain_axes(ax, 4.6, 4.6)
    ax.plot([0, 1], [0, 1], color=ink(0.5), linestyle=":", linewidth=1.4)
    for name, color, one in _drawn(model, X, y, of, sample_weight):
        across, up = one.roc()
        area, error = one.auc()
        label = f"{name}: AUC {area:.3f} ± {error:.3f}"
        ax.plot(across, up, color=color, linewidth=1.8, label=label)
    _unit_square(ax)
    name_axes(ax, "1 - specificity (false positives)", "sensitivity (true positives)")
    legend(ax, loc="lower right")
    return ax


@documented(parameters=_SHARED, more="")
@through_pipelines("X", targets=("y",), undone=False)
def precision_recall(model: Any, X: Any, y: Any, *, of: Any = None, sample_weight: Any = None, ax: Any = None) -> Any:
    """Draw precision against recall: of those called a class, how many are; of those who are, how many are called so.

    The dotted line is the share of the class in the rows: the precision of chance.

    {parameters}
    """
    ax = plain_axes(ax, 4.6, 4.6)
    for name, color, one in _drawn(model, X, y, of, sample_weight):
        precision, recall = one.precision_recall()
        label = f"{name}: average precision {one.average_precision():.3f}"
        ax.step(recall, precision, color=color, linewidth=1.8, where="pre", label=label)
        share = np.average(one.member, weights=one.weight)
        ax.axhline(share, color=color, linestyle=":", linewidth=1.4)
    _unit_square(ax)
    name_axes(ax, "recall", "precision")
    legend(ax, loc="lower left")
    return ax


@documented(
    parameters=_SHARED, more="bins : int, default 10\n        Most bins; they have about the same number of rows.\n    "
)
@through_pipelines("X", targets=("y",), undone=False)
def calibration(
    model: Any, X: Any, y: Any, *, of: Any = None, sample_weight: Any = None, bins: int = 10, ax: Any = None
) -> Any:
    """Draw how often a class happened against how probable it was said to be; bars are two standard errors each way.

    {parameters}
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"bins must be a whole number of at least 1; got {bins!r}.")
    drawn = list(_drawn(model, X, y, of, sample_weight))
    ax = plain_axes(ax, 4.6, 4.6 + 0.4 * len(drawn))
    ax.plot([0, 1], [0, 1], color=ink(0.5), linestyle=":", linewidth=1.4)
    for name, color, one in drawn:
        bin_ = one.bins(bins)
        low, high = np.clip([bin_.observed - 2 * bin_.error, bin_.observed + 2 * bin_.error], 0, 1)
        label = f"{name}: calibration error {bin_.expected_error:.3f} ({bin_.by_chance:.3f} by chance)"
        ax.errorbar(
            bin_.predicted, bin_.observed, [bin_.observed - low, high - bin_.observed], color=color, fmt="o-",
            linewidth=1.6, markersize=4, elinewidth=1.2, capsize=2.5, label=label,
        )  # fmt: skip
    _unit_square(ax)
    name_axes(ax, "predicted probability", "share that is")
    legend(ax, on_top=True)  # curves are everywhere
    return ax


@documented(parameters=_SHARED, more="")
@through_pipelines("X", targets=("y",), undone=False)
def scores(model: Any, X: Any, y: Any, *, of: Any = None, sample_weight: Any = None, ax: Any = None) -> Any:
    """Draw how the probability of a class is spread over the rows, by the class that they are.

    {parameters}
    """
    evaluated = evaluation_rows(model, X, y, sample_weight)
    if of is None and len(evaluated.classes) > 2:
        raise ValueError(f"of must name one of the classes, {', '.join(map(repr, evaluated.classes[:10]))}; got None.")
    chosen, ax = _class_of(model, of), plain_axes(ax, 6.0, 3.8)
    edges = np.linspace(0, 1, 41)
    for k, name in enumerate(evaluated.class_names):
        mine = evaluated.codes == k
        heights = np.histogram(evaluated.probabilities[mine, chosen], edges, weights=evaluated.weight[mine])[0]
        color, label = _COLORS[k % len(_COLORS)], f"{quote_category(name, 24)} ({count_of(int(mine.sum()), 'row')})"
        ax.stairs(heights / max(heights.sum(), 1e-300), edges, fill=True, color=color, alpha=0.35)
        ax.stairs(heights / max(heights.sum(), 1e-300), edges, color=color, linewidth=1.6, label=label)
    ax.set(xlim=(-0.02, 1.02))
    drawn = quote_category(evaluated.class_names[chosen], 24)
    name_axes(ax, f"predicted probability of {drawn}", "share of the class's rows")
    legend(ax)
    return ax


@documented(parameters=_SHARED, more="")
@through_pipelines("X", targets=("y",), undone=False)
def decision_curve(model: Any, X: Any, y: Any, *, of: Any = None, sample_weight: Any = None, ax: Any = None) -> Any:
    """Draw the net benefit of acting on rows above each threshold, beside acting on all and on none.

    The net benefit is the share of true positives less that of false ones, each of which weighs as the odds of the
    threshold: at 0.2, one that is found is worth four that are bothered for nothing.

    {parameters}
    """
    ax = plain_axes(ax, 6.0, 3.8)
    thresholds = np.linspace(0.0, 0.99, 100)
    highest = 0.0
    ax.axhline(0.0, color=ink(0.6), linestyle="-.", linewidth=1.4, label="act on none")
    for name, color, one in _drawn(model, X, y, of, sample_weight):
        benefit, share = one.net_benefit(thresholds), np.average(one.member, weights=one.weight)
        everyone = share - (1.0 - share) * thresholds / (1.0 - thresholds)
        ax.plot(thresholds, everyone, color=color, linestyle=":", linewidth=1.4, label=f"{name}: act on all")
        ax.plot(thresholds, benefit, color=color, linewidth=1.8, label=f"{name}: act above the threshold")
        highest = max(highest, float(share), float(benefit.max()))
    ax.set(xlim=(-0.01, 1.0), ylim=(-0.25 * highest, 1.1 * highest))
    name_axes(ax, "threshold of the probability", "net benefit per row")
    legend(ax)
    return ax
