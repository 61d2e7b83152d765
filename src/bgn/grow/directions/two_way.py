"""What cuts of two columns at several angles could gain, from two-way tables of counts and sums, compiled."""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled
from bgn.grow.directions.screen import best_edge

COARSE = 32  # bins of each column of a pair
ANGLES = 16  # directions of a pair
BINS = 64  # bins along each
NEVER = 2  # in the place of a sign: an angle that is not allowed


@compiled
def place_in_bins(column, first, codes):
    """Write the bin of every row of a column: the last whose `first` value is not above the row's. O(rows log bins).

    All rows take each step of the search together: there is no branch that the processor would have to guess.
    """
    low, number = np.empty(len(column), np.int64), len(first)
    low[:] = 0
    while number > 1:
        half = number >> 1
        for i in range(len(column)):
            low[i] += half * np.int64(first[low[i] + half] <= np.float64(column[i]))
        number -= half
    for i in range(len(column)):
        codes[i] = low[i]


@compiled
def spread(centres, bins, pair, turn, x, y):
    """Write where the bins of two columns lie along ``cos * x + sin * y``; their start and scale."""
    p, q = pair
    cos, sin = turn
    for b in range(COARSE):
        x[b], y[b] = centres[p, b] * cos, centres[q, b] * sin
    low = min(x[0], x[bins[p] - 1]) + min(y[0], y[bins[q] - 1])
    high = max(x[0], x[bins[p] - 1]) + max(y[0], y[bins[q] - 1])
    return low, BINS / (high - low) if high > low else 0.0


@compiled
def add_up(codes, pair, values, table):
    """Sum `values`, one per row, or the rows where there are none, in the cells of a two-way table."""
    first, second = codes[pair[0]], codes[pair[1]]
    table[:] = 0
    for i in range(len(first)):
        table[np.int64(first[i]) * COARSE + np.int64(second[i])] += values[i] if len(values) else 1


@compiled
def place_cells(codes, centres, bins, pairs, turns, weight, weights, places, count):
    """For each pair of binned columns and each turn (cosine, sine), write where the cells of a two-way table fall.

    Written: the weight in every cell, `weights` (pairs x cells); its bin among those of all angles, `places` (pairs x
    cells x angles); and the weight in every bin, `count` (pairs x angles x bins).
    """
    x, y = np.empty(COARSE), np.empty(COARSE)
    count[:] = 0
    for k in range(len(pairs)):
        p, q = pairs[k]
        add_up(codes, (p, q), weight, weights[k])
        places[k] = 0  # for cells that no row is in
        for a in range(len(turns)):
            low, scale = spread(centres, bins, (p, q), turns[a], x, y)
            for u in range(bins[p]):
                for v in range(bins[q]):
                    b = min(np.int64((x[u] + y[v] - low) * scale), BINS - 1)
                    places[k, u * COARSE + v, a] = a * BINS + b
                    count[k, a, b] += weights[k, u * COARSE + v]


@compiled
def pair_gains(codes, pairs, kept, values, rows, total, wanted, found):
    """For each pair of binned columns, the number of its best angle and the gain it promises.

    `found` are the tables, gains and angles to write: the rows are summed once per pair in a two-way table. `kept` is
    what :func:`place_cells` wrote, and before it where in that each pair is. `wanted` (pairs x angles) are the signs
    that output weights must have, 0 for either and `NEVER` for an angle that is not allowed.
    """
    (which, places, count), (tables, gains, best) = kept, found
    sums = np.empty(ANGLES * BINS, np.int64)
    for k in range(len(pairs)):
        w, table = which[k], tables[k]
        add_up(codes, (pairs[k, 0], pairs[k, 1]), values, table)
        sums[:] = 0
        for cell in range(COARSE * COARSE):
            place, held = places[w, cell], table[cell]
            for a in range(ANGLES):
                sums[place[a]] += held
        gains[k] = -1.0
        for a in range(ANGLES):
            if wanted[k, a] == NEVER:
                continue
            g = best_edge(count[w, a], sums[a * BINS : (a + 1) * BINS], rows, total, wanted[k, a])
            if g > gains[k]:
                gains[k], best[k] = g, a


@compiled
def near_gains(centres, bins, pairs, turns, weights, tables, rows, total, wanted, best):
    """For each pair, the number of the best of its own angles (pairs x angles x cosine and sine), given its tables; see
    :func:`pair_gains`."""
    x, y = np.empty(COARSE), np.empty(COARSE)
    count, sums = np.empty(BINS, np.int64), np.empty(BINS, np.int64)
    for k in range(len(pairs)):
        p, q = pairs[k]
        most = -1.0
        for a in range(turns.shape[1]):
            if wanted[k, a] == NEVER:
                continue
            low, scale = spread(centres, bins, (p, q), turns[k, a], x, y)
            count[:] = 0
            sums[:] = 0
            for u in range(bins[p]):
                for v in range(bins[q]):
                    b = min(np.int64((x[u] + y[v] - low) * scale), BINS - 1)
                    count[b] += weights[k, u * COARSE + v]
                    sums[b] += tables[k, u * COARSE + v]
            g = best_edge(count, sums, rows, total, wanted[k, a])
            if g > most:
                most, best[k] = g, a
