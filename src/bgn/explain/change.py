"""What counts as another prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgn.model.link import bounded
from bgn.model.network import Network
from bgn.model.step import Bools, Floats


@dataclass(frozen=True)
class Change:
    """What counts as another prediction: another class, or scores that differ by more than rounding.

    Scores may have any shape; their last axis is that of the classes where there are `several`.
    """

    of_class: bool
    several: bool
    tolerance: float
    bounds: tuple[float, float] | None = None

    @property
    def jointly(self) -> bool:
        """Whether crossing one threshold may change nothing, and two something."""
        return self.of_class or self.bounds is not None

    def between(self, scores: Floats, others: Floats) -> Bools:
        """Return where scores and others stand for different predictions; shapes broadcast."""
        if not self.of_class:
            apart = np.abs(bounded(scores, self.bounds) - bounded(others, self.bounds)) > self.tolerance
            return np.asarray(apart.any(axis=-1) if self.several else apart)
        numbers = (each.argmax(axis=-1) if self.several else each > 0 for each in (scores, others))
        return np.asarray(np.not_equal(*numbers))


def change_of(network: Network, asked: str | None) -> Change:
    """Return what counts as another prediction."""
    if network.link == "identity" and asked is not None:
        raise ValueError(f"change is for classes; the model predicts a number. Leave it out; got {asked!r}.")
    if asked not in (None, "class", "score"):
        raise ValueError(f"change must be 'class' or 'score'; got {asked!r}.")
    sizes = np.abs(network.base) + np.abs(network.output_weights).sum(axis=0)
    of_class = network.link != "identity" and asked != "score"
    return Change(of_class, np.ndim(network.base) == 1, 1e-12 * float(np.max(sizes)), network.bounds)
