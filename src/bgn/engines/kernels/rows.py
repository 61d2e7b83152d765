"""Loops over rows: projections, answers, differences and sums of integers; compiled on first use, cached on disk.

Kernels know arrays only. All sums over rows are sums of integers, so that partial results of any blocks, in any
order, merge to the same bits. `columns` is (columns, rows), each column contiguous; `codes` is (groups, rows), a
byte holding the answers of eight rules; `weight` holds integer row weights and is empty when all are one.
A kernel with ``start`` and ``stop`` works on those rows, so that threads can share one array; it indexes slices
from zero, which lets the compiler use vector instructions. `place` of a linear term: both ends, center and scale.
"""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled

# Squares of integers beyond 31 bits are summed in limbs of this many bits.
LIMB = 22
BLOCK = 2048
_EIGHTS = 255  # of eight rows each
_AT_HAND = 4096  # rows of several outputs that are looked up at a time


@compiled
def project(columns, index, coefficients, start, stop, out):
    """Write the projection of rows start..stop to `out`, one rounding per step, columns in order."""
    n = stop - start
    column = columns[index[0], start:stop]
    c = coefficients[0]
    for i in range(n):
        out[i] = c * np.float64(column[i])
    for j in range(1, len(index)):
        column = columns[index[j], start:stop]
        c = coefficients[j]
        for i in range(n):
            term = c * np.float64(column[i])
            out[i] = out[i] + term


@compiled
def fire(line, threshold, weight, target, row, bit, start, stop, out):
    """Store the answers of one rule in its bit of `row`; `line` holds columns, index and coefficients of `project`.
    Added to `out`: weight and target sum of the rows that fire, and how many answers changed."""
    columns, index, coefficients = line
    weighted = len(weight) > 0
    mask = np.uint8(1 << bit)
    clear = np.uint8(255 - (1 << bit))
    z = np.empty(BLOCK)
    n, s, changed = 0, 0, 0
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        project(columns, index, coefficients, begin, end, z)
        part, values = row[begin:end], target[begin:end]
        for i in range(end - begin):
            before = part[i]
            if z[i] >= threshold:
                part[i] |= mask
                w = weight[begin + i] if weighted else 1
                n += w
                s += w * values[i]
            else:
                part[i] &= clear
            changed += before != part[i]
    out[0] += n
    out[1] += s
    out[2] += changed


@compiled
def look_up(diff, codes, tables, start, stop, out):
    """Difference less the sum of table entries: one look-up for eight rules."""
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        part, values = out[begin:end], diff[begin:end]
        for i in range(end - begin):
            part[i] = values[i]
        for g in range(len(tables)):
            table = tables[g]
            row = codes[g, begin:end]
            for i in range(end - begin):
                part[i] -= table[row[i]]


@compiled
def look_up_classes(diff, codes, tables, start, stop, out):
    """Differences of every class less the sums of table entries; a few rows at a time, which stay in the cache."""
    for begin in range(start, stop, _AT_HAND):
        end = min(begin + _AT_HAND, stop)
        for k in range(len(diff)):
            look_up(diff[k], codes, tables[k], begin, end, out[k])


@compiled
def shift(residual, row, bit, fired, silent, start, stop, out):
    """Residual plus `fired` where the rule fires and `silent` elsewhere."""
    values, bits, part = residual[start:stop], row[start:stop], out[start:stop]
    for i in range(stop - start):
        part[i] = values[i] + (fired if (bits[i] >> bit) & 1 else silent)


@compiled
def squares(residual, weight, limit, start, stop, out):
    """Add the sum of squares of residuals, clipped to +-limit, to `out` in four limbs."""
    weighted = len(weight) > 0
    high, middle, low, last = 0, 0, 0, 0
    part = residual[start:stop]
    for i in range(stop - start):
        r = min(max(part[i], -limit), limit)
        a = r >> LIMB
        b = r & ((1 << LIMB) - 1)
        w = weight[start + i] if weighted else 1
        high += w * (a * a)
        middle += w * (a * b)
        low += w * ((b * b) >> LIMB)
        last += w * ((b * b) & ((1 << LIMB) - 1))
    out[0] += high
    out[1] += middle
    out[2] += low
    out[3] += last


@compiled
def fourth_powers(residual, weight, unit, start, stop, out):
    """Add to ``out[0]`` the sum of min(r * unit, 1)^4, in units of 2^-30."""
    weighted = len(weight) > 0
    total = 0
    part = residual[start:stop]
    for i in range(stop - start):
        share = min(abs(np.float64(part[i]) * unit), 1.0)
        share *= share
        w = weight[start + i] if weighted else 1
        total += w * int(np.rint(share * share * 1073741824.0))
    out[0] += total


@compiled
def fired_sums(codes, values, n_rules, start, stop, out):
    """Add to ``out[k]`` the sum of `values` over the rows where rule k fires. O(rows x width / 8)."""
    bins = np.empty(256, np.int64)
    part = values[start:stop]
    for g in range((n_rules + 7) // 8):
        bins[:] = 0
        row = codes[g, start:stop]
        for i in range(stop - start):
            bins[row[i]] += part[i]
        for code in range(256):
            for bit in range(min(8, n_rules - 8 * g)):
                if (code >> bit) & 1:
                    out[8 * g + bit] += bins[code]


@compiled
def both_fire(codes, row, bit, n_rules, start, stop, out):
    """Add to ``out[k]`` the number of rows where rule k fires along with the one in a bit of `row`. Eight rows are
    counted at a time: each byte of a number of 64 bits holds the count of one of them, and is emptied before it can run
    over. O(rows x width / 8)."""
    ones, whole = np.uint64(0x0101010101010101), len(row) // 8 * 8
    first = (start + 7) // 8 * 8
    last = max(stop // 8 * 8, first)
    mask, few, shift = np.empty(_EIGHTS, np.uint64), np.uint64(0x00FF00FF00FF00FF), np.uint64(bit)
    fires = row[:whole].view(np.uint64)
    for begin in range(first // 8, last // 8, _EIGHTS):
        end = min(begin + _EIGHTS, last // 8)
        eights = fires[begin:end]
        for i in range(end - begin):
            mask[i] = ((eights[i] >> shift) & ones) * np.uint64(255)
        for g in range((n_rules + 7) // 8):
            eights = codes[g][:whole].view(np.uint64)[begin:end]
            for b in range(min(8, n_rules - 8 * g)):
                count, by = np.uint64(0), np.uint64(b)
                for i in range(end - begin):
                    count += ((eights[i] & mask[i]) >> by) & ones
                pairs = (count & few) + ((count >> np.uint64(8)) & few)
                out[8 * g + b] += np.int64((pairs * np.uint64(0x0001000100010001)) >> np.uint64(48))
    for i in range(stop - start):
        k = start + i
        if (k < first or k >= last) and (row[k] >> bit) & 1:
            for j in range(n_rules):
                out[j] += (codes[j >> 3, k] >> (j & 7)) & 1


@compiled
def group_sums(row, values, weight, start, stop, out):
    """Add to ``out[k]`` the weighted sum of `values` over the rows where rule k of a group of eight fires."""
    weighted = len(weight) > 0
    codes, part = row[start:stop], values[start:stop]
    bins = np.zeros((2, 256), np.int64)  # neighbouring rows take turns, so that none waits for the last
    for i in range(stop - start):
        w = weight[start + i] if weighted else 1
        bins[i & 1, codes[i]] += w * part[i]
    for code in range(256):
        for bit in range(8):
            if (code >> bit) & 1:
                out[bit] += bins[0, code] + bins[1, code]


@compiled
def fired_weight(row, bit, weight, start, stop, out):
    """Write the weight of the rows where a rule fires, zero elsewhere."""
    weighted = len(weight) > 0
    bits, part = row[start:stop], out[start:stop]
    for i in range(stop - start):
        w = weight[start + i] if weighted else 1
        part[i] = w if (bits[i] >> bit) & 1 else 0


@compiled
def column_sums(columns, center, scale, values, start, stop, out):
    """Add to ``out[j]`` the sum of ``values * rint((x - centre_j) * scale_j)``."""
    part = values[start:stop]
    for j in range(len(columns)):
        column = columns[j, start:stop]
        c, f = center[j], scale[j]
        total = 0
        for i in range(stop - start):
            total += part[i] * np.int64(np.rint((np.float64(column[i]) - c) * f))
        out[j] += total


@compiled
def column_products(columns, center, scale, other, weight, start, stop, out):
    """Add to ``out[j]`` the limbs (high, low) of the sum of ``weight * x_j * other``, `other` of at most 31 bits."""
    weighted = len(weight) > 0
    part = other[start:stop]
    for j in range(len(columns)):
        column = columns[j, start:stop]
        c, f = center[j], scale[j]
        high, low = 0, 0
        for i in range(stop - start):
            product = part[i] * np.int64(np.rint((np.float64(column[i]) - c) * f))
            w = weight[start + i] if weighted else 1
            high += w * (product >> 31)
            low += w * (product & 0x7FFFFFFF)
        out[j, 0] += high
        out[j, 1] += low


@compiled
def column_squares(columns, center, scale, weight, start, stop, out):
    """Add to ``out[j]`` the limbs (high, low) of the sum of ``weight * x_j * x_j``; see `column_products`."""
    weighted = len(weight) > 0
    for j in range(len(columns)):
        column = columns[j, start:stop]
        c, f = center[j], scale[j]
        high, low = 0, 0
        for i in range(stop - start):
            x = np.int64(np.rint((np.float64(column[i]) - c) * f))
            w = weight[start + i] if weighted else 1
            high += w * ((x * x) >> 31)
            low += w * ((x * x) & 0x7FFFFFFF)
        out[j, 0] += high
        out[j, 1] += low


@compiled
def region_sums(codes, keys, target, weight, start, stop, place):
    """Group the rows by their answers; `place` (place_of, names, sums) receives the regions. Rows are told apart by a
    64-bit hash of their answers (`keys`, groups x 256), kept in `names`; `sums` holds weight and target sum of each
    region or, where it has more columns, the weight of every class. `place_of` is an open-addressing hash table, a
    power of two long and longer than `names`, full of -1. Returns the number of regions, or -1 when `names` has too few
    places for them."""
    place_of, names, sums = place
    weighted, many = len(weight) > 0, sums.shape[1] > 2
    mask = np.uint64(len(place_of) - 1)
    regions = 0
    for i in range(start, stop):
        key = np.uint64(0)
        for g in range(len(keys)):
            key += keys[g, codes[g, i]]
        slot = (key ^ (key >> np.uint64(29))) & mask
        region = place_of[slot]
        while region >= 0 and names[region] != key:
            slot = (slot + np.uint64(1)) & mask
            region = place_of[slot]
        if region < 0:
            if regions == len(names):
                return -1
            region = place_of[slot] = regions
            names[region] = key
            sums[region] = 0
            regions += 1
        w = weight[i] if weighted else 1
        if many:
            sums[region, target[i]] += w
        else:
            sums[region, 0] += w
            sums[region, 1] += w * target[i]
    return regions


LINEAR_BITS = 20


@compiled
def fill_linear(columns, index, place, start, stop, out):
    """Write the whole numbers of one linear term, ``rint((x - center) * scale)``, to their places in `out`."""
    low, high, center, scale = place[0], place[1], place[2], place[3]
    column, part = columns[index, start:stop], out[start:stop]
    for i in range(stop - start):
        x = min(max(np.float64(column[i]), low), high)
        part[i] = np.int64(np.rint((x - center) * scale))


@compiled
def descend(diff, columns, index, place, rates, start, stop, out):
    """Difference less what every linear term adds: its whole number times its rate, rounded."""
    part, values = out[start:stop], diff[start:stop]
    for i in range(stop - start):
        part[i] = values[i]
    for k in range(len(index)):
        low, high, center, scale = place[k, 0], place[k, 1], place[k, 2], place[k, 3]
        column, rate = columns[index[k], start:stop], rates[k]
        for i in range(stop - start):
            x = min(max(np.float64(column[i]), low), high)
            part[i] -= np.int64(np.rint(np.rint((x - center) * scale) * rate))


@compiled
def linear_fired(columns, index, place, fires, weight, start, stop, out):
    """Add to ``out[k]`` the weighted sum of the whole numbers of linear term k over the rows where a rule fires.
    `fires`: its row of codes, and its bit."""
    weighted, (row, bit) = len(weight) > 0, fires
    for begin in range(start, stop, BLOCK):
        end = min(begin + BLOCK, stop)
        codes = row[begin:end]
        for k in range(len(index)):
            low, high, center, scale = place[k, 0], place[k, 1], place[k, 2], place[k, 3]
            column, total = columns[index[k], begin:end], 0
            for i in range(end - begin):
                x = min(max(np.float64(column[i]), low), high)
                whole = np.int64(np.rint((x - center) * scale)) & -np.int64((codes[i] >> bit) & 1)
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
