"""Which levels of categories to ask for, compiled; written like the kernels in :mod:`bgn.engines.kernels.rows`."""

from __future__ import annotations

import numpy as np

from bgn.compiled import compiled
from bgn.engines.kernels.cuts import gain


@compiled
def best_subsets(codes, starts, count, values, rows, total, prior, chosen, gains):
    """Write for every category which levels to ask for, and what that gains.

    `codes` (categories x rows) are numbers of levels; those of category k have the places ``starts[k]`` to
    ``starts[k + 1]`` in `count`, the weight of each, and in `chosen`. The levels are put in the order of their mean
    residuals, shrunk to the mean of all by the weight `prior`, and cut: without a prior no other two groups of them
    gain more (Fisher 1958). Levels that no row has go with the greater weight.
    """
    sums = np.zeros(starts[-1], np.int64)
    mean = np.float64(total) / np.float64(rows)
    for k in range(len(codes)):
        start, stop = starts[k], starts[k + 1]
        code = codes[k]
        for i in range(len(values)):
            sums[start + code[i]] += values[i]
        rate = np.empty(stop - start)
        for c in range(stop - start):
            weight = np.float64(count[start + c])
            rate[c] = (np.float64(sums[start + c]) + prior * mean) / (weight + prior) if weight + prior > 0.0 else mean
        order = np.argsort(rate, kind="mergesort")
        n, s, place, below = 0, 0, -1, 0
        gains[k] = 0.0
        for t in range(stop - start - 1):
            n += count[start + order[t]]
            s += sums[start + order[t]]
            if 0 < n < rows:
                g = gain(n, s, rows, total)
                if g > gains[k]:
                    gains[k], place, below = g, t, n
        for t in range(stop - start):
            c = start + order[t]
            chosen[c] = np.uint8(t > place) if count[c] > 0 else np.uint8(2 * below < rows)
