"""Figures of models and explanations: axes in, axes out; matplotlib loads when the first is drawn."""

from bgn.plots.classes import calibration, decision_curve, precision_recall, roc, scores
from bgn.plots.effects import effect, regions
from bgn.plots.explanations import comparison, importance, summary, waterfall
from bgn.plots.growth import frontier, growth, tree_comparison
from bgn.plots.network import network
from bgn.plots.scorecard import scorecard

__all__ = [
    "calibration", "comparison", "decision_curve", "effect", "frontier", "growth", "importance", "network",
    "precision_recall", "regions", "roc", "scorecard", "scores", "summary", "tree_comparison", "waterfall",
]  # fmt: skip
