"""Answers of neurons as bits: a byte holds those of eight."""

from __future__ import annotations

import numpy as np

from bgn.engines.protocol import Integers, Output

BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1  # of every byte
SIGNS = np.ascontiguousarray((2 * BITS - 1).T)


def tables_of(output: Output) -> Integers:
    """What each of the 256 answers of a group of eight neurons adds, for one group at least; the first has the base."""
    weights = np.zeros((max(1, (len(output.weights) + 7) >> 3), 8), np.int64)
    weights.ravel()[: len(output.weights)] = output.weights
    tables = weights @ SIGNS
    tables[0] += output.base
    return tables
