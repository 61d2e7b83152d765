"""Every figure there is, of a model with long names, and what is measured on each: texts that keep apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

import bgn
from tests.networks import grown, town, town_rows

NAMES = [f"{column} of the household, as the office counted it last summer, {k}" for k, column in enumerate(
    ("income", "number of rooms", "age of the oldest member", "distance to the next station", "heating costs",
     "years since the last move", "share of working adults", "area of the garden", "noise at night"))]  # fmt: skip


def many_rules() -> bgn.Network:
    """Return a network of nine rules, six about one column and three about two."""
    weights = np.eye(9)
    weights[6, 0], weights[7, 1], weights[8, 2] = 0.25, -0.5, 0.125
    biases = [-1.0, 0.25, -0.5, 0.375, -1.25, -0.75, 0.5, -0.125, -1.5]
    points = [1.0, 2.0, -3.0, 4.0, -1.5, 0.5, 2.5, -0.75, 1.75]
    target = "monthly costs of the household in euros, everything included"
    return bgn.Network.of_layers([bgn.Layer(weights, biases)], points, 10.0, NAMES, target)


def every_figure() -> dict[str, Callable[[Any], Any]]:
    """Return every figure by name, each a function of the axes."""
    network = many_rules()
    rng = np.random.default_rng(0)
    rows = rng.normal(1.0, 1.0, (60, 9))
    compared = bgn.compare_tables(network, rows[:30], rows[30:] + 0.5)
    explanation = bgn.shap_values(network, rows, rows)
    simple, towns = town(), town_rows(60)
    classes = rng.normal(size=(200, 3))
    said_yes = "said yes at the very first visit to the branch of the bank"
    labels = np.where(classes[:, 0] + rng.normal(0, 0.7, 200) > 0, said_yes, "did not")
    three = np.digitize(classes[:, 0] + rng.normal(0, 0.3, 200), [-0.5, 0.5])
    two = (bgn.BGNClassifier(max_terms=3, random_state=0, cv=None).fit(classes, labels), classes, labels)
    several = (bgn.BGNClassifier(max_terms=3, random_state=0, cv=None).fit(classes, three), classes, three)
    history = grown()
    plane = rng.uniform(size=(200, 2))
    target = 1.5 + 2.0 * plane[:, 0]
    plots = bgn.plots
    return {
        "network": lambda ax: plots.network(network, rows, ax=ax),
        "network without rows": lambda ax: plots.network(network, ax=ax),
        "importance of features": lambda ax: plots.importance(network, rows, ax=ax),
        "importance of terms": lambda ax: plots.importance(network, rows, of="terms", ax=ax),
        "comparison by columns": lambda ax: plots.comparison(compared, ax=ax),
        "comparison by terms": lambda ax: plots.comparison(compared, by="terms", ax=ax),
        "waterfall of features": lambda ax: plots.waterfall(explanation, ax=ax),
        "waterfall of terms": lambda ax: plots.waterfall(explanation, by="terms", ax=ax),
        "summary": lambda ax: plots.summary(explanation, ax=ax),
        "scorecard": lambda ax: plots.scorecard(network, ax=ax),
        "effect": lambda ax: plots.effect(network, 0, rows, ax=ax),
        "effect of a category": lambda ax: plots.effect(simple, "city", towns, ax=ax),
        "effect of a pair": lambda ax: plots.effect(network, (0, 6), rows, ax=ax),
        "regions": lambda ax: plots.regions(network, rows, (0, 6), ax=ax),
        "growth": lambda ax: plots.growth(history, ax=ax),
        "frontier": lambda ax: plots.frontier(history, ax=ax),
        "tree comparison": lambda ax: plots.tree_comparison(
            history, plane[:150], target[:150], plane[150:], target[150:], ax=ax
        ),
        **{name: lambda ax, name=name: getattr(plots, name)(*two, ax=ax)
           for name in ("roc", "precision_recall", "calibration", "scores", "decision_curve")},
        **{f"{name} of three": lambda ax, name=name: getattr(plots, name)(*several, ax=ax)
           for name in ("roc", "precision_recall", "calibration", "decision_curve")},
    }  # fmt: skip


def texts(figure: Any) -> list[tuple[str, Any, float]]:
    """Return every text of a figure that shows, with its box on the canvas and the size of its letters."""
    figure.draw_without_rendering()
    artists: list[Any] = []
    for ax in figure.axes:
        artists += [*ax.texts, ax.title, *(ax.get_legend().get_texts() if ax.get_legend() else ())]
        for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())) if ax.axison else ():
            ticks = zip(axis.get_majorticklabels(), axis.get_majorticklocs(), strict=True)
            artists += [axis.label, *(label for label, at in ticks if min(ends) <= at <= max(ends))]
    shown = [one for one in artists if one.get_text() and one.get_visible()]
    return [(one.get_text(), one.get_window_extent(), one.get_fontsize()) for one in shown]


def assert_no_overlap(ax: Any) -> list[tuple[str, Any, float]]:
    """No two texts of the figure may touch, and none may leave it; return them all."""
    shown = texts(ax.figure)
    for (first, a, _), (second, b, _) in combinations(shown, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert wide <= 0.5 or high <= 0.5, f"{first!r} and {second!r} overlap by {wide:.1f} x {high:.1f} pixels"
    canvas = ax.figure.bbox
    for text, box, _ in shown:
        assert box.x0 >= canvas.x0 - 1, text
        assert box.x1 <= canvas.x1 + 1, text
        assert box.y0 >= canvas.y0 - 1, text
        assert box.y1 <= canvas.y1 + 1, text
    return shown
