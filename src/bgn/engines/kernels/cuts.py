"""The exact cut: rows in cells, hopeless cells left out, the rows of the others sorted; and the best set of categories.

Compiled, and written like the loops in :mod:`bgn.engines.kernels.rows`. :mod:`bgn.engines.reduce` merges what the parts
of the rows reply and says why a cut found in cells is the one that a full sort finds.
"""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled
from bgn.engines.kernels.rows import BLOCK, project, shift

_WITHOUT_SIGN = (1 << 63) - 1


@compiled
def add_to_cells(rows, cell_sums):
    """Add rows (projection, residual, weight, cell) to what their cells hold. Of every cell: its weight; its residual
    sum and sum of positive residuals; the smallest and largest projection."""
    z, residual, weight, cells = rows
    count, sums, extent = cell_sums
    weighted = len(weight) > 0
    for i in range(len(z)):
        c = np.int64(cells[i])
        w = weight[i] if weighted else 1
        r = w * residual[i]
        count[c] += w
        sums[c, 0] += r
        sums[c, 1] += max(r, 0)
        extent[c, 0] = min(extent[c, 0], z[i])
        extent[c, 1] = max(extent[c, 1], z[i])


def empty_cells(size):
    """Cells without rows: weight, sums and extent as `add_to_cells` wants them. Not compiled: an interrupt while numba
    hands arrays over would surface as a SystemError."""
    extent = np.empty((size, 2))
    extent[:, 0] = np.inf
    extent[:, 1] = -np.inf
    return np.zeros(size, np.int64), np.zeros((size, 2), np.int64), extent


@compiled
def fill_cells(line, leftover, weight, place, span, cells, cell_sums):
    """Put the projection of every row of a span in a cell and add up what a cut needs to know of the cell. `line` holds
    columns, index and coefficients of `project`; `leftover` a residual, to which comes `up` where the bit of `row` is
    set and `down` elsewhere (`row` may be empty when both are zero). With `place` (low, scale, bounded) the cell is
    ``floor((z - low) * scale)``, clamped: monotone in z under rounding. Written: `cells` (one per row) and `cell_sums`,
    see `add_to_cells`; where it is bounded, nothing is looked for inside the first and the last cell, and what only
    that needs is left out. O(rows)."""
    columns, index, coefficients = line
    residual, row, bit, up, down = leftover
    low, scale, bounded = place
    start, stop = span
    top = np.float64(len(cell_sums[0]) - 1)
    z, shifted = np.empty(BLOCK), np.empty(BLOCK, np.int64)
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        project(columns, index, coefficients, begin, end, z)
        values = residual[begin:end]
        if up != 0 or down != 0:
            shift(values, row[begin:end], bit, up, down, 0, end - begin, shifted)
            values = shifted[: end - begin]
        part = cells[begin:end]
        for i in range(end - begin):
            part[i] = np.uint16(np.int32(min(max((z[i] - low) * scale, 0.0), top)))
        heavy = weight[begin:end] if len(weight) > 0 else weight
        if bounded and len(heavy) == 0:
            add_within(z[: end - begin], values, part, cell_sums)
        else:
            add_to_cells((z[: end - begin], values, heavy, part), cell_sums)


@compiled
def add_within(z, residual, cells, cell_sums):
    """Like `add_to_cells`, quicker where most rows are in the first and the last cell and all have weight one. Of these
    two no sums of positive residuals are added up, and the projections next to the other cells alone."""
    count, sums, extent = cell_sums
    n, last = len(z), len(count) - 1
    chosen, n_chosen = np.empty(n + 1, np.int64), 0
    below, beyond, low_sum, high_sum = 0, 0, 0, 0
    for i in range(n):
        first, final = np.int64(cells[i] == 0), np.int64(cells[i] == last)
        below += first
        beyond += final
        low_sum += residual[i] & -first
        high_sum += residual[i] & -final
    largest, smallest = extent[0, 1], extent[last, 0]
    for i in range(n):
        chosen[n_chosen] = i
        n_chosen += np.int64(cells[i] != 0) & np.int64(cells[i] != last)
        lower, upper = z[i] if cells[i] == 0 else -np.inf, z[i] if cells[i] == last else np.inf
        if lower > largest:  # hardly ever
            largest = lower
        if upper < smallest:
            smallest = upper
    extent[0, 1], extent[last, 0] = largest, smallest
    count[0] += below
    count[last] += beyond
    sums[0, 0] += low_sum
    sums[last, 0] += high_sum
    for k in range(n_chosen):
        i = chosen[k]
        c = np.int64(cells[i])
        count[c] += 1
        sums[c, 0] += residual[i]
        sums[c, 1] += max(residual[i], 0)
        extent[c, 0] = min(extent[c, 0], z[i])
        extent[c, 1] = max(extent[c, 1], z[i])


@compiled
def split_rows(line, residual, weight, thresholds, span, sums, nearest):
    """Add to ``sums[k]`` weight and residual of the rows of a span below threshold k; how near to it a row is.
    `nearest` is left alone where it is empty. One loop per threshold, which the compiler can turn to vector
    instructions."""
    columns, index, coefficients = line
    z, distance = np.empty(BLOCK), np.empty(BLOCK)
    bits, bits_of_nearest = distance.view(np.int64), nearest.view(np.int64)  # floats without sign are in their order
    for begin in range(span[0], span[1], BLOCK):
        end = min(begin + BLOCK, span[1])
        project(columns, index, coefficients, begin, end, z)
        values = residual[begin:end]
        for k in range(len(thresholds)):
            threshold, n, s = thresholds[k], 0, 0
            if len(weight) > 0:
                heavy = weight[begin:end]
                for i in range(end - begin):
                    below = np.int64(z[i] < threshold) * heavy[i]
                    n += below
                    s += below * values[i]
            else:
                for i in range(end - begin):
                    below = np.int64(z[i] < threshold)
                    n += below
                    s += values[i] & -below
            sums[k, 0] += n
            sums[k, 1] += s
            if len(nearest) > 0:
                least = bits_of_nearest[k]
                for i in range(end - begin):
                    distance[i] = z[i] - threshold
                for i in range(end - begin):
                    least = min(least, bits[i] & _WITHOUT_SIGN)
                bits_of_nearest[k] = least


@compiled
def gain(n, s, rows, total):
    """Drop of the mean squared residual when a side of weight `n` and residual sum `s` gets its own mean."""
    below = np.float64(n)
    excess = np.float64(s) - below * (np.float64(total) / np.float64(rows))
    return excess * excess / (below * np.float64(rows - n))


@compiled
def prune_cells(cell_sums, starts, rows, total, best, survives, prefix):
    """Find the best cut at an edge between cells, and mark the cells that may hide a better one. Cells come in
    ``len(starts)`` equal families; `starts` holds the weight and sum before each family. `best` is the incumbent and
    the result: gain, weight below, sum below, projection just below and just above; of equal gains the smallest cut
    wins. The gain is jointly convex in (n, s), so inside a cell it stays below the largest of the four corners of the
    box its cuts live in. `prefix` (cells x 2) receives weight and sum before each cell. Returns the new best and the
    number of surviving cells."""
    best_gain, best_n, best_s, best_low, best_high = best
    count, sums, extent = cell_sums
    size = len(count) // len(starts)
    for family in range(len(starts)):
        n, s = starts[family, 0], starts[family, 1]
        before = np.inf
        for c in range(family * size, (family + 1) * size):
            prefix[c, 0] = n
            prefix[c, 1] = s
            if count[c] == 0:
                continue
            if before < np.inf:
                g = gain(n, s, rows, total)
                if g > best_gain or (g == best_gain and extent[c, 0] < best_high):
                    best_gain, best_n, best_s, best_low, best_high = g, n, s, before, extent[c, 0]
            n += count[c]
            s += sums[c, 0]
            before = extent[c, 1]
    survivors = 0
    for c in range(len(count)):
        survives[c] = 0
        if count[c] > 1 and extent[c, 0] < extent[c, 1]:
            n0, n1 = prefix[c, 0] + 1, prefix[c, 0] + count[c] - 1
            s1 = prefix[c, 1] + sums[c, 1]
            s0 = prefix[c, 1] + sums[c, 0] - sums[c, 1]
            bound = max(
                max(gain(n0, s0, rows, total), gain(n0, s1, rows, total)),
                max(gain(n1, s0, rows, total), gain(n1, s1, rows, total)),
            )
            if bound * (1.0 + 1e-9) >= best_gain:
                survivors += 1
                survives[c] = 1
    return (best_gain, best_n, best_s, best_low, best_high), survivors


@compiled
def reach_of(columns, index, coefficients, size, probes):
    """Return (low, scale) for `size` cells over the projections of a few rows, evenly spaced."""
    rows = columns.shape[1]
    z = np.empty(1)
    low, high = np.inf, -np.inf
    for p in range(probes):
        i = p * rows // probes
        project(columns, index, coefficients, i, i + 1, z)
        low, high = min(low, z[0]), max(high, z[0])
    scale = np.float64(size) / (high - low) if high > low else 1.0
    return low, scale if 0.0 < scale < 1e307 else 1.0


@compiled
def gather(line, leftover, weight, cells, survives, span, out):
    """Copy the rows of a span whose cell survives to `out`: projection, residual, weight, cell; return their number.
    `line` and `leftover` are those of `fill_cells`."""
    columns, index, coefficients = line
    residual, row, bit, up, down = leftover
    start, stop = span
    z, to_residual, to_weight, to_cells = out
    shifted = up != 0 or down != 0
    part = cells[start:stop]
    chosen = np.empty(stop - start + 1, np.int64)
    n_chosen = 0
    for i in range(stop - start):
        chosen[n_chosen] = start + i
        n_chosen += np.int64(survives[part[i]])
    for k in range(n_chosen):
        i = chosen[k]
        value = coefficients[0] * np.float64(columns[index[0], i])
        for j in range(1, len(index)):
            term = coefficients[j] * np.float64(columns[index[j], i])
            value = value + term
        z[k] = value
        to_residual[k] = residual[i]
        if shifted:
            to_residual[k] += up if (row[i] >> bit) & 1 else down
        to_cells[k] = cells[i]
        if len(weight) > 0:
            to_weight[k] = weight[i]
    return n_chosen


@compiled
def refine_cells(z, cells, family, extent, size):
    """Replace each row's cell by a finer one: `size` cells for every surviving one, numbered by `family`."""
    for i in range(len(z)):
        c = np.int64(cells[i])
        low, high = extent[c, 0], extent[c, 1]
        share = (z[i] - low) / (high - low) * np.float64(size)
        inner = np.int64(min(max(share, 0.0), np.float64(size - 1)))
        cells[i] = np.uint16(family[c] * size + inner)


@compiled
def scan_sorted(sorted_rows, prefix, rows, total, best):
    """Try every cut between unequal neighbours of one cell. The rows (projection, residual, weight, cell) are sorted by
    projection; `prefix` has what lies before each cell. Starts from the incumbent and returns the winner. Of equal
    gains the smallest cut wins."""
    best_gain, best_n, best_s, best_low, best_high = best
    z, residual, weight, cells = sorted_rows
    weighted = len(weight) > 0
    n, s = 0, 0
    for i in range(len(z)):
        if i == 0 or cells[i] != cells[i - 1]:
            n, s = prefix[cells[i], 0], prefix[cells[i], 1]
        elif z[i] != z[i - 1]:
            g = gain(n, s, rows, total)
            if g > best_gain or (g == best_gain and z[i] < best_high):
                best_gain, best_n, best_s, best_low, best_high = g, n, s, z[i - 1], z[i]
        w = weight[i] if weighted else 1
        n += w
        s += w * residual[i]
    return best_gain, best_n, best_s, best_low, best_high


@compiled
def best_subsets(codes, starts, count, values, rows, total, prior, chosen, gains):
    """Write which categories of every column to ask for, and what that gains. `codes` (columns x rows) are numbers of
    categories; those of column k have the places ``starts[k]`` to ``starts[k + 1]`` in `count`, the weight of each, and
    in `chosen`. The categories are put in the order of their mean residuals, shrunk to the mean of all by the weight
    `prior`, and cut: without a prior no other two groups of them gain more (Fisher 1958). Categories that no row has go
    with the greater weight."""
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
