"""What one more term could gain: every cut of every column, every "and" of two cuts, on rows in memory.

Columns are read in bins: row ``i`` lies in bin ``codes[j, i]`` of column ``j``, the last bin ``bins[j]`` is for missing
values. A condition is a column and, for each of its bins, whether it holds there; a rule is one to ``MOST`` of them,
unused places have column -1. Row sums ``g`` (first derivatives of the loss, negated) and ``h`` (second derivatives)
have one line per output. What a term ``z`` gains beside an intercept is, summed over outputs,
``(z'g)^2 / (z'hz - (z'h)^2 / sum(h) + ridge) / 2``.

All sums run over the rows in their order, with additions, multiplications and divisions alone: any processor gives
the same bits.
"""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled

# Conditions that a rule may have: more cannot be said in one breath.
MOST = 3
# Bins of a column in a two-way table, missing values aside; cuts are refined on all bins afterwards.
COARSE = 16
# What a shrunk mean of a category is mixed with, in rows: orders rare categories near the middle.
SHRUNK = 10.0


@compiled
def fill_holds(codes, table, column, holds, first):
    """Note in `holds` in which rows a condition holds; with `first` 0, only where all before did. Cost: one pass."""
    own = codes[column]
    if first:
        for i in range(len(holds)):
            holds[i] = table[own[i]]
    else:
        for i in range(len(holds)):
            holds[i] &= table[own[i]]


@compiled
def fill_rule(codes, columns, tables, without, holds):
    """Note in which rows the conditions of a rule hold, the one in place `without` left out."""
    holds[:] = 1
    for c in range(MOST):
        if columns[c] >= 0 and c != without:
            fill_holds(codes, tables[c], columns[c], holds, 0)


@compiled
def fill_bins(own, holds, g, h, weight, sums, counts):
    """Sum g and h of the rows that `holds` marks by bin: `sums` is (2, outputs, bins), `counts` their weights."""
    outputs = len(g)
    sums[:] = 0.0
    counts[:] = 0.0
    for k in range(outputs):
        for i in range(len(own)):
            if holds[i]:
                b = own[i]
                sums[0, k, b] += g[k, i]
                sums[1, k, b] += h[k, i]
    for i in range(len(own)):
        if holds[i]:
            counts[own[i]] += weight[i]


@compiled
def gain_of(a, s, whole, ridge):
    """What a term gains whose sums of g and h are `a` and `s`, per output."""
    gain = 0.0
    for k in range(len(a)):
        d = s[k] - s[k] * s[k] / whole[k] + ridge
        if d > 1e-9 * whole[k]:
            gain += a[k] * a[k] / d
    return 0.5 * gain


@compiled
def fill_order(sums, counts, count, ordered, order):
    """Order the bins of a column: as they are, or by the shrunk mean of g over h. Returns how many are not empty."""
    if ordered:
        for b in range(count):
            order[b] = b
        return count
    means = np.empty(count)
    size = 0
    for b in range(count):
        if counts[b] > 0:
            top, low = 0.0, 0.0
            for k in range(sums.shape[1]):  # of several outputs, the first direction that differs most
                if abs(sums[0, k, b]) > abs(top):
                    top, low = sums[0, k, b], sums[1, k, b]
            mean = top / (low * (1.0 + SHRUNK / counts[b]) + 1e-300)
            place = size
            while place > 0 and means[place - 1] > mean:
                means[place], order[place] = means[place - 1], order[place - 1]
                place -= 1
            means[place], order[place] = mean, b
            size += 1
    return size


@compiled
def best_cut(sums, counts, count, order, size, whole, rule, table):
    """Find the best condition on one column among rows whose sums by bin are given.

    `rule` is (ridge, least rows, sign, whether both directions count, chance). Fills `table`; returns the gain, or 0.
    """
    ridge, least, sign, both, chance = rule
    outputs = sums.shape[1]
    a, s = np.zeros(outputs), np.zeros(outputs)
    total_a, total_s, rows = np.zeros(outputs), np.zeros(outputs), 0.0
    for place in range(size):
        b = order[place]
        rows += counts[b]
        for k in range(outputs):
            total_a[k] += sums[0, k, b]
            total_s[k] += sums[1, k, b]
    lost = counts[count] > 0
    best, at, up, with_missing = 0.0, -1, True, False
    below_a, below_s, below = np.zeros(outputs), np.zeros(outputs), 0.0
    for place in range(size + 1):
        if place:
            b = order[place - 1]
            below += counts[b]
            for k in range(outputs):
                below_a[k] += sums[0, k, b]
                below_s[k] += sums[1, k, b]
        for direction in range(2):  # at least; below
            if direction and not both and place:
                continue
            inside = rows - below if direction == 0 else below
            for missing in range(2 if lost else 1):
                held = inside + (counts[count] if missing else 0.0)
                if held == rows + counts[count] or (missing == 0 and held == rows):
                    continue  # holds for all rows, or for all that are known: said as "is missing"
                if held < least or (not both and rows + counts[count] - held < least) or held == 0:
                    continue
                for k in range(outputs):
                    a[k] = total_a[k] - below_a[k] if direction == 0 else below_a[k]
                    s[k] = total_s[k] - below_s[k] if direction == 0 else below_s[k]
                    if missing:
                        a[k] += sums[0, k, count]
                        s[k] += sums[1, k, count]
                if sign != 0 and place not in (0, size) and a[0] * sign * (1 if direction == 0 else -1) < 0:
                    continue
                gain = gain_of(a, s, whole, ridge) - chance
                if gain > best:
                    best, at, up, with_missing = gain, place, direction == 0, missing == 1
    if at >= 0:
        table[:] = 0
        for place in range(size):
            if (place >= at) == up:
                table[order[place]] = 1
        table[count] = 1 if with_missing else 0
    return best


@compiled
def fill_coarse(orders, sizes, counts, coarse, lows):
    """Deal the bins of every column, in order, to at most ``COARSE`` of about as many rows; missing is the last.

    `coarse` says where a bin goes, `lows` at which place of the order each coarse bin begins.
    """
    for j in range(len(orders)):
        total = 0.0
        for place in range(sizes[j]):
            total += counts[j, orders[j, place]]
        coarse[j] = COARSE
        lows[j] = sizes[j]
        lows[j, 0] = 0
        few = sizes[j] <= COARSE
        group, seen = 0, 0.0
        for place in range(sizes[j]):
            b = orders[j, place]
            if place and (few or seen * COARSE >= total * (group + 1)):
                group += 1
                lows[j, group] = place
            coarse[j, b] = group
            seen += counts[j, b]


@compiled
def fill_pairs(first, second, g, h, weight, sums):
    """Sum g, h and weights in the two-way table of two columns' coarse bins: `sums` is (2 K + 1, bins, bins)."""
    sums[:] = 0.0
    outputs = len(g)
    for i in range(len(first)):
        a, b = first[i], second[i]
        for k in range(outputs):
            sums[k, a, b] += g[k, i]
            sums[outputs + k, a, b] += h[k, i]
        sums[2 * outputs, a, b] += weight[i]


@compiled
def best_corner(sums, whole, ridge, least, signs):
    """Find the best "and" of two cuts in a table: the gain, the cuts and on which side each condition holds.

    `sums` is turned into sums over all bins above and to the left. Missing values, in the last bins, are outside.
    """
    outputs = (len(sums) - 1) // 2
    for m in range(len(sums)):
        for x in range(COARSE):
            for y in range(COARSE):
                if x:
                    sums[m, x, y] += sums[m, x - 1, y]
        for x in range(COARSE):
            for y in range(1, COARSE):
                sums[m, x, y] += sums[m, x, y - 1]
    end = COARSE - 1
    best, at_x, at_y, side_x, side_y = 0.0, -1, -1, 0, 0
    a, s = np.zeros(outputs), np.zeros(outputs)
    for x in range(end):
        for y in range(end):
            for side in range(4):
                up_x, up_y = side & 1, side >> 1
                m = 2 * outputs
                rows = sums[m, x, y]
                if up_x and up_y:
                    rows = sums[m, end, end] - sums[m, x, end] - sums[m, end, y] + rows
                elif up_x:
                    rows = sums[m, end, y] - rows
                elif up_y:
                    rows = sums[m, x, end] - rows
                if rows < least or rows == 0:
                    continue
                for k in range(outputs):
                    for part in range(2):
                        m = k + part * outputs
                        value = sums[m, x, y]
                        if up_x and up_y:
                            value = sums[m, end, end] - sums[m, x, end] - sums[m, end, y] + value
                        elif up_x:
                            value = sums[m, end, y] - value
                        elif up_y:
                            value = sums[m, x, end] - value
                        if part:
                            s[k] = value
                        else:
                            a[k] = value
                if signs[0] != 0 and a[0] * signs[0] * (1 if up_x else -1) < 0:
                    continue
                if signs[1] != 0 and a[0] * signs[1] * (1 if up_y else -1) < 0:
                    continue
                gain = gain_of(a, s, whole, ridge)
                if gain > best:
                    best, at_x, at_y, side_x, side_y = gain, x + 1, y + 1, up_x, up_y
    return best, at_x, at_y, side_x, side_y
