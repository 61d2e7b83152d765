"""Quick estimates of how much a cut could gain, from small tables of counts and sums, compiled.

Sums are integers, so an estimate does not depend on the order of the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bgn.compiled import compiled
from bgn.engines.kernels.cuts import gain
from bgn.engines.kernels.rows import project
from bgn.grow.directions.packed import count_together

FINE = 256  # bins of one column
COARSE = 32  # bins of each column of a pair
ANGLES = 16  # directions of a pair
BINS = 64  # bins along each
ALONG = 128  # cells along a direction that is judged more closely
_WORTH = 0.3  # cuts whose plain gain is below this share of the best are not judged more closely
_BLOCK = 8192
_SMALLEST = 1e-300  # width of a cell: their number per unit must be a float64
_FINEST = 2.0**50  # cells between zero and the values: more are not told apart by a float64
_LEVELS = 4  # profiles of a direction: the first, and those of its fullest cell


class SampledRows(NamedTuple):
    """The rows to look at: columns, residuals, weights (or none), the neurons' answers, and the bits of every byte."""

    columns: Any
    residual: Any
    weight: Any
    codes: Any
    bits: Any


class Lines(NamedTuple):
    """Directions: columns and coefficients (directions x most columns), their numbers, and where cells are spread."""

    index: Any
    coefficients: Any
    size: Any
    reach: Any


class Refit(NamedTuple):
    """What the other neurons explain, and how their refit is foreseen; see `bgn.grow.directions.protocol.Others`.

    Sums are scaled from the sample to `total`. `chance` holds the weights of the constant and the neurons that would
    explain what is left of them in the sample by chance; `least` is the least that a new question holds and the others
    do not.
    """

    slots: Any
    inverse: Any
    total: float
    ridge: float
    chance: Any
    least: float


@compiled
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


@compiled
def single_gains(codes, count, values, rows, total, out):
    """Write the largest gain of a cut of each column, between its bins."""
    sums = np.empty(count.shape[1], np.int64)
    for j in range(len(codes)):
        sums[:] = 0
        code = codes[j]
        for i in range(len(values)):
            sums[code[i]] += values[i]
        out[j] = best_edge(count[j], sums, rows, total)


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
def pair_gains(codes, pairs, kept, values, rows, total, found):
    """For each pair of binned columns, the number of its best angle and the gain it promises.

    `found` are the tables, gains and angles to write: the rows are summed once per pair in a two-way table. `kept` is
    what :func:`place_cells` wrote, and before it where in that each pair is.
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
            g = best_edge(count[w, a], sums[a * BINS : (a + 1) * BINS], rows, total)
            if g > gains[k]:
                gains[k], best[k] = g, a


@compiled
def near_gains(centres, bins, pairs, turns, weights, tables, rows, total, best):
    """For each pair, the number of the best of its own angles (pairs x angles x cosine and sine), given its tables."""
    x, y = np.empty(COARSE), np.empty(COARSE)
    count, sums = np.empty(BINS, np.int64), np.empty(BINS, np.int64)
    for k in range(len(pairs)):
        p, q = pairs[k]
        most = -1.0
        for a in range(turns.shape[1]):
            low, scale = spread(centres, bins, (p, q), turns[k, a], x, y)
            count[:] = 0
            sums[:] = 0
            for u in range(bins[p]):
                for v in range(bins[q]):
                    b = min(np.int64((x[u] + y[v] - low) * scale), BINS - 1)
                    count[b] += weights[k, u * COARSE + v]
                    sums[b] += tables[k, u * COARSE + v]
            g = best_edge(count, sums, rows, total)
            if g > most:
                most, best[k] = g, a


@compiled
def fill_profile(rows, line, low, scale, profile):
    """Add up weight, residual and co-firing weight of every neuron, cell by cell along a line (columns, factors)."""
    residual, weight, codes = rows.residual, rows.weight, rows.codes
    count, sums, together = profile
    top = np.float64(len(count) - 1)
    z, room, held = np.empty(_BLOCK), np.empty(_BLOCK, np.uint8), np.empty(len(count), np.int64)
    for begin in range(0, len(residual), _BLOCK):
        end = min(begin + _BLOCK, len(residual))
        cells, left, heavy = room[: end - begin], residual[begin:end], weight[begin:end]
        project(rows.columns, line[0], line[1], begin, end, z)
        for i in range(len(cells)):  # apart from the sums, so that the compiler can use vector instructions
            cells[i] = np.uint8(np.int32(min(max((z[i] - low) * scale, 0.0), top)))
        held[:] = 0
        for i in range(len(cells)):
            w = heavy[i] if len(heavy) else 1
            held[cells[i]] += w
            sums[cells[i]] += w * left[i]
        fullest = held[0]
        for c in range(len(held)):
            count[c] += held[c]
            fullest = max(fullest, held[c])
        for g in range(together.shape[1] // 8):
            here = together[:, 8 * g : 8 * g + 8]
            if len(heavy):
                for i in range(len(cells)):
                    pattern, row = rows.bits[codes[g, begin + i]], here[cells[i]]
                    for b in range(8):
                        row[b] += heavy[i] * pattern[b]
            else:
                count_together(codes[g, begin:end], cells, fullest, here)


@compiled
def best_refitted(profile, refit):
    """The cell before which a cut lowers the training objective most, and by how much; cell 0 when there is no cut.

    `profile` has the weight and sum of every cell, and (cells x neurons) the weight that fires with each neuron.
    """
    count, sums, _ = profile
    slots, inverse = refit.slots, refit.inverse
    n, rows, all_sums = len(slots) + 1, count[0], sums[0]
    for c in range(1, len(count)):
        rows, all_sums = rows + count[c], all_sums + sums[c]
    b, cells, drop, tried = worthy_cuts(profile, slots, refit.total / np.float64(rows), rows, all_sums)
    explained, inner = np.zeros(tried), np.empty(tried)
    for j in range(n):
        inner[:] = 0.0
        for k in range(j):
            for t in range(tried):
                inner[t] += inverse[j, k] * b[k, t]
        for t in range(tried):
            drop[t] -= b[j, t] * refit.chance[j]
            explained[t] += (2.0 * inner[t] + inverse[j, j] * b[j, t]) * b[j, t]
    best, best_cell = 0.0, 0
    for t in range(tried):
        g = drop[t] * drop[t] / max(refit.total + refit.ridge - explained[t], refit.least)
        if g > best:
            best, best_cell = g, cells[t]
    return best, best_cell


@compiled
def worthy_cuts(profile, slots, scale, rows, all_sums):
    """Of the cuts that gain enough by themselves: products with the constant and each neuron, side by side so that the
    compiler can use vector instructions; the cell above each; its product with the residual; and how many there are."""
    count, sums, together = profile
    n = len(slots) + 1
    every = np.zeros(together.shape[1], np.int64)
    for c in range(len(count)):
        for j in range(len(every)):
            every[j] += together[c, j]
    worth = _WORTH * best_edge(count, sums, rows, all_sums)
    above = np.zeros(n)  # weight above the cut that fires with the constant and each neuron
    tried, cells, drop = 0, np.empty(len(count), np.int64), np.empty(len(count))
    b = np.empty((n, len(count)))
    weight, s = 0, 0
    for c in range(len(count) - 1, 0, -1):
        if count[c] == 0:
            continue
        weight += count[c]
        s += sums[c]
        above[0] = weight
        for j in range(1, n):
            above[j] += together[c, slots[j - 1]]
        if weight == rows:
            break
        if gain(weight, s, rows, all_sums) < worth:
            continue
        b[0, tried] = (2 * above[0] - rows) * scale
        for j in range(1, n):
            b[j, tried] = (4 * above[j] - 2 * every[slots[j - 1]] - 2 * above[0] + rows) * scale
        cells[tried], drop[tried] = c, np.float64(2 * s - all_sums) * scale
        tried += 1
    return b, cells, drop, tried


@compiled
def range_within(columns, line, rows, low, scale, cell):
    """Smallest and largest projection of the rows in a cell."""
    z, least, most = np.empty(_BLOCK), np.inf, -np.inf
    top = np.float64(ALONG - 1)
    for begin in range(0, rows, _BLOCK):
        end = min(begin + _BLOCK, rows)
        project(columns, line[0], line[1], begin, end, z)
        for i in range(end - begin):
            if np.int32(min(max((z[i] - low) * scale, 0.0), top)) == cell:
                least, most = min(least, z[i]), max(most, z[i])
    return least, most


@compiled
def judge_directions(rows, lines, width, refit, out):
    """Write what each direction promises: gain, and the window (low, high) around its best coarse cut.

    The first `width` neurons count. A cell with more than a quarter of the weight, as when a few values are far out, is
    looked into.
    """
    count, sums = np.empty(ALONG, np.int64), np.empty(ALONG, np.int64)
    together = np.empty((ALONG, 8 * ((width + 7) // 8)), np.int64)
    profile = count, sums, together
    for k in range(len(lines.index)):
        line = lines.index[k, : lines.size[k]], lines.coefficients[k, : lines.size[k]]
        low, high = lines.reach[k, 0], lines.reach[k, 1]
        scale = ALONG / (high - low) if high > low else 1.0
        out[k, 0], out[k, 1], out[k, 2] = 0.0, -np.inf, np.inf
        for _ in range(_LEVELS):
            count[:] = 0
            sums[:] = 0
            together[:] = 0
            fill_profile(rows, line, low, scale, profile)
            best, cell = best_refitted(profile, refit)
            if best > out[k, 0]:
                told_apart = scale * max(abs(low), abs(high)) < _FINEST
                out[k, 0] = best
                out[k, 1] = low + (cell - 1) / scale if cell > 1 and told_apart else -np.inf
                out[k, 2] = low + (cell + 1) / scale if cell < ALONG - 1 and told_apart else np.inf
            fullest, total = len(count) - 1, count[0]
            for c in range(len(count) - 1, 0, -1):
                fullest, total = (c if count[c] >= count[fullest] else fullest), total + count[c]
            fullest = fullest if count[fullest] > count[0] else 0
            if 4 * count[fullest] <= total:
                break
            low, high = range_within(rows.columns, line, len(rows.residual), low, scale, fullest)
            step = (high - low) / (ALONG - 2)
            if not _SMALLEST < step < np.inf:
                break
            low, scale = low - step, 1.0 / step  # what is below has the first cell, what is above the last
