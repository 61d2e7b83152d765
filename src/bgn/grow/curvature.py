"""How steeply a loss curves, as steps along it tell (L-BFGS)."""

from __future__ import annotations

import numpy as np

from bgn.engines.protocol import Floats


class LearntCurvature:
    """What steps have told of the curvature, beside its bound: pairs of steps and of what they did to the slope."""

    def __init__(self, inverse: Floats, curvature: float) -> None:
        self._inverse, self._curvature, self._scale = inverse, curvature, 1.0
        self.pairs: list[tuple[Floats, Floats, float]] = []

    def take_in(self, step: Floats, fell: Floats) -> None:
        """Remember a step, and by how much it lowered the slope."""
        along = float((step * fell).sum())
        if along > 0:
            self.pairs.append((step, fell, along))
            self._scale = along / float((fell * self._bounded(fell)).sum())

    def step(self, slope: Floats) -> Floats:
        """The step to take: two loops over the pairs (Nocedal 1980), around the inverse of the bound."""
        shares = []
        for step, fell, along in reversed(self.pairs):
            share = float((step * slope).sum()) / along
            slope = slope - share * fell
            shares.append(share)
        found = self._bounded(slope) * (self._scale if self.pairs else 1.0)
        for (step, fell, along), share in zip(self.pairs, reversed(shares), strict=True):
            found = found + (share - float((fell * found).sum()) / along) * step
        return found

    def _bounded(self, slope: Floats) -> Floats:
        """The step that the bound alone tells."""
        inverse = self._inverse if slope.ndim == 1 else self._inverse[:, :, None]
        return np.asarray((inverse * slope).sum(axis=1) / self._curvature)
