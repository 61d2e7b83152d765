"""Quick estimates of how much a cut could gain, from small tables of counts and sums, compiled.

Sums are integers, so an estimate does not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bgn.engines.kernels import gain

FINE = 256  # bins of one column
COARSE = 32  # bins of each column of a pair
_ALONG = 64  # bins along a pair's direction


@njit(cache=True, nogil=True)
def best_edge(count, sums, rows, total):
    """Largest gain of a cut between bins."""
    best = 0.0
    n, s = 0, 0
    for b in range(len(count) - 1):
        n += count[b]
        s += sums[b]
        if 0 < n < rows:
            best = max(best, gain(n, s, rows, total))
    return best


@njit(cache=True, nogil=True)
def single_gains(codes, count, values, rows, total, out):
    """Write the largest gain of a cut of each column, between its bins."""
    sums = np.empty(count.shape[1], np.int64)
    for j in range(len(codes)):
        sums[:] = 0
        code = codes[j]
        for i in range(len(values)):
            sums[code[i]] += values[i]
        out[j] = best_edge(count[j], sums, rows, total)


@njit(cache=True, nogil=True)
def pair_gains(first, second, centre, other, weight, values, angles, rows, total, out):
    """Write the gain of the best cut of ``cos(angle) * x + sin(angle) * y`` for every angle.

    The rows are summed once in a two-way table; each angle then bins the table's cells along its direction.
    """
    count = np.zeros((COARSE, COARSE), np.int64)
    sums = np.zeros((COARSE, COARSE), np.int64)
    if len(weight) > 0:
        for i in range(len(values)):
            count[first[i], second[i]] += weight[i]
            sums[first[i], second[i]] += values[i]
    else:
        for i in range(len(values)):
            count[first[i], second[i]] += 1
            sums[first[i], second[i]] += values[i]
    along_count = np.empty(_ALONG, np.int64)
    along_sums = np.empty(_ALONG, np.int64)
    for a in range(len(angles)):
        x, y = centre * np.cos(angles[a]), other * np.sin(angles[a])
        low = min(x[0], x[-1]) + min(y[0], y[-1])
        high = max(x[0], x[-1]) + max(y[0], y[-1])
        scale = _ALONG / (high - low) if high > low else 0.0
        along_count[:] = 0
        along_sums[:] = 0
        for p in range(COARSE):
            for q in range(COARSE):
                if count[p, q] > 0:
                    b = min(np.int64((x[p] + y[q] - low) * scale), _ALONG - 1)
                    along_count[b] += count[p, q]
                    along_sums[b] += sums[p, q]
        out[a] = best_edge(along_count, along_sums, rows, total)
