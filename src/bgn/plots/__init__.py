"""Figures of models and explanations: axes in, axes out; matplotlib loads when the first is drawn."""

from bgn.plots.growth import growth
from bgn.plots.network import network
from bgn.plots.regions import regions

__all__ = ["growth", "network", "regions"]
