"""Figures of models and explanations: axes in, axes out; matplotlib loads when the first is drawn."""

from bgn.plots.classes import calibration, decision_curve, precision_recall, roc, scores
from bgn.plots.comparison import comparison
from bgn.plots.effect import effect
from bgn.plots.frontier import frontier
from bgn.plots.growth import growth
from bgn.plots.importance import importance
from bgn.plots.network import network
from bgn.plots.regions import regions
from bgn.plots.scorecard import scorecard
from bgn.plots.summary import summary
from bgn.plots.tree import tree_comparison
from bgn.plots.waterfall import waterfall

__all__ = [
    "calibration", "comparison", "decision_curve", "effect", "frontier", "growth", "importance", "network",
    "precision_recall", "regions", "roc", "scorecard", "scores", "summary", "tree_comparison", "waterfall",
]  # fmt: skip
