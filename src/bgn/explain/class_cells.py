"""Rows by their answers: what the search for whole points sees of a table, however many rows it has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.theory import regions

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
        How many rows of each class, smoothed.
    """

    fires: Floats
    counts: Floats


def cells_of(network: Network, rows: Floats, codes: Floats, n_classes: int) -> Cells:
    """Return the cells of rows, given the numbers of their classes."""
    found = regions(network, rows)[-1]
    counts = np.zeros((len(found), n_classes))
    np.add.at(counts, (found.index, codes.astype(np.intp)), 1.0)
    totals = counts.sum(axis=0)
    smooth = (1.0 / (totals + n_classes))[:, np.newaxis] + np.diag(totals / (totals + n_classes))
    return Cells((found.patterns > 0).astype(np.float64), counts @ smooth)
