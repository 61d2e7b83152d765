"""Loops over rows for ramps: columns between two ends, as whole numbers; see :mod:`bgn.engines.kernels.rows`.

`place` of a ramp: both ends, centre and scale.
"""

from __future__ import annotations

import numpy as np

from bgn.compiled import compiled
from bgn.engines.kernels.rows import BLOCK

LINEAR_BITS = 20


@compiled
def fill_ramp(columns, index, place, start, stop, out):
    """Write the whole numbers of one ramp, ``rint((x - centre) * scale)``, to their places in `out`."""
    low, high, centre, scale = place[0], place[1], place[2], place[3]
    column, part = columns[index, start:stop], out[start:stop]
    for i in range(stop - start):
        x = min(max(np.float64(column[i]), low), high)
        part[i] = np.int64(np.rint((x - centre) * scale))


@compiled
def descend(gap, columns, index, place, rates, start, stop, out):
    """Gap less what every ramp adds: its whole number times its rate, rounded."""
    part, values = out[start:stop], gap[start:stop]
    for i in range(stop - start):
        part[i] = values[i]
    for k in range(len(index)):
        low, high, centre, scale = place[k, 0], place[k, 1], place[k, 2], place[k, 3]
        column, rate = columns[index[k], start:stop], rates[k]
        for i in range(stop - start):
            x = min(max(np.float64(column[i]), low), high)
            part[i] -= np.int64(np.rint(np.rint((x - centre) * scale) * rate))


@compiled
def ramps_fired(columns, index, place, fires, weight, start, stop, out):
    """Add to ``out[k]`` the weighted sum of the whole numbers of ramp k over the rows where a neuron fires.

    `fires`: its row of codes, and its bit.
    """
    weighted, (row, bit) = len(weight) > 0, fires
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        codes = row[begin:end]
        for k in range(len(index)):
            low, high, centre, scale = place[k, 0], place[k, 1], place[k, 2], place[k, 3]
            column, total = columns[index[k], begin:end], 0
            for i in range(end - begin):
                x = min(max(np.float64(column[i]), low), high)
                whole = np.int64(np.rint((x - centre) * scale)) & -np.int64((codes[i] >> bit) & 1)
                total += weight[begin + i] * whole if weighted else whole
            out[k] += total


@compiled
def product_limbs(values, other, weight, start, stop, out):
    """Add the limbs (high, low) of the weighted sum of ``values * other`` to `out`."""
    weighted = len(weight) > 0
    one, two = values[start:stop], other[start:stop]
    high, low = 0, 0
    for i in range(stop - start):
        product = one[i] * two[i]
        w = weight[start + i] if weighted else 1
        high += w * (product >> LINEAR_BITS)
        low += w * (product & ((1 << LINEAR_BITS) - 1))
    out[0] += high
    out[1] += low
