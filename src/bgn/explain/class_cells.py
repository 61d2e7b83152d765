"""Rows by their answers: what the search for whole points sees of a table, however many rows it has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgn.explain.classes import probabilities_of
from bgn.explain.crossings import after_last
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.theory import regions

# Half of what counts is what was seen, half what the network expects: points then keep its shrinkage.
EXPECTED = 0.5
# Start and unit get the fewest digits, up to three of the unit, that raise the log loss by at most this share.
SPARE = 0.001
# Scales from which points are polished, the best of many.
STARTS = 4
NEWTON_STEPS = 25
# Most numbers that are held at a time.
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by their answers in the last layer.

    Attributes
    ----------
    fires : ndarray, shape (cells, neurons)
        1 where a neuron fires, else 0.
    counts : ndarray, shape (cells, classes)
        How many rows of each class, smoothed: in part those seen, in part those that the network expects.
    """

    fires: Floats
    counts: Floats


def cells_of(network: Network, rows: Floats, codes: Floats, n_classes: int, expected: float = EXPECTED) -> Cells:
    """Return the cells of rows of known classes; `expected` is the share of what the network says."""
    found = regions(network, rows)[-1]
    counts = np.zeros((len(found), n_classes))
    np.add.at(counts, (found.index, codes.astype(np.intp)), 1.0)
    totals, mass = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    smooth = (1.0 / (totals + n_classes))[:, np.newaxis] + np.diag(totals / (totals + n_classes))
    told = probabilities_of(network, after_last(network, found.patterns.astype(np.float64)))
    return Cells((found.patterns > 0).astype(np.float64), (1.0 - expected) * (counts @ smooth) + expected * mass * told)
