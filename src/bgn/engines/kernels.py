"""Loops over rows, compiled by numba on first use and cached on disk.

Kernels know arrays only. All sums over rows are sums of integers, so that partial results of any blocks, in any
order, merge to the same bits. `columns` is (columns, rows), each column contiguous; `codes` is (groups, rows), a
byte holding the answers of eight neurons; `weight` holds integer row weights and is empty when all are one.
A kernel with ``start`` and ``stop`` works on those rows, so that threads can share one array; it indexes slices
from zero, which lets the compiler use vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Squares of integers beyond 31 bits are summed in limbs of this many bits.
LIMB = 22
_BLOCK = 2048


@njit(cache=True, nogil=True)
def project(columns, index, coefficients, start, stop, out):
    """Write the projection of rows start..stop to `out`, one rounding a step, columns in order."""
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


@njit(cache=True, nogil=True)
def add_to_cells(z, residual, weight, cells, count, sums, extent):
    """Add rows to their cells: weight, residual sum, sum of positive residuals, smallest and largest `z`."""
    if len(weight) > 0:
        for i in range(len(z)):
            c = np.int64(cells[i])
            r = residual[i] * weight[i]
            count[c] += weight[i]
            sums[c, 0] += r
            sums[c, 1] += max(r, 0)
            extent[c, 0] = min(extent[c, 0], z[i])
            extent[c, 1] = max(extent[c, 1], z[i])
    else:
        for i in range(len(z)):
            c = np.int64(cells[i])
            r = residual[i]
            count[c] += 1
            sums[c, 0] += r
            sums[c, 1] += max(r, 0)
            extent[c, 0] = min(extent[c, 0], z[i])
            extent[c, 1] = max(extent[c, 1], z[i])


@njit(cache=True, nogil=True)
def empty_cells(size):
    """Cells without rows: count, sums and extent as `add_to_cells` wants them."""
    extent = np.empty((size, 2))
    extent[:, 0] = np.inf
    extent[:, 1] = -np.inf
    return np.zeros(size, np.int64), np.zeros((size, 2), np.int64), extent


@njit(cache=True, nogil=True)
def fill_cells(columns, index, coefficients, residual, weight, low, scale, start, stop, cells, count, sums, extent):
    """Put every row's projection in a cell and add up what a cut needs to know of the cell.

    The cell is ``floor((z - low) * scale)``, clamped: monotone in z under rounding. Written: `cells` (rows),
    `count` (cells), `sums` (cells x 2) and `extent` (cells x 2), see `add_to_cells`. O(rows).
    """
    top = np.float64(len(count) - 1)
    z = np.empty(_BLOCK)
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
        project(columns, index, coefficients, begin, end, z)
        part = cells[begin:end]
        for i in range(end - begin):
            part[i] = np.uint16(np.int32(min(max((z[i] - low) * scale, 0.0), top)))
        rows = weight[begin:end] if len(weight) > 0 else weight
        add_to_cells(z[: end - begin], residual[begin:end], rows, part, count, sums, extent)


@njit(cache=True, nogil=True)
def gain(n, s, rows, total):
    """Drop of the mean squared residual when a side of weight `n` and residual sum `s` gets its own mean."""
    below = np.float64(n)
    excess = np.float64(s) - below * (np.float64(total) / np.float64(rows))
    return excess * excess / (below * np.float64(rows - n))


@njit(cache=True, nogil=True)
def judge_cells(count, sums, extent, starts, rows, total, best, survives, prefix):
    """Find the best cut at an edge between cells, and mark the cells that may hide a better one.

    Cells come in ``len(starts)`` equal families; `starts` holds the weight and sum before each family. `best` is
    the incumbent and the result: gain, weight below, sum below, projection just below and just above; of equal
    gains the smallest cut wins. The gain is jointly convex in (n, s), so inside a cell it stays below the largest
    of the four corners of the box its cuts live in. `prefix` (cells x 2) receives weight and sum before each
    cell. Returns the new best and the number of surviving cells.
    """
    best_gain, best_n, best_s, best_low, best_high = best
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def gather(
    columns, index, coefficients, residual, weight, cells, survives, start, stop, z, to_residual, to_weight, to_cells
):
    """Copy the rows whose cell survives, projection included, to the last four arrays; return how many they are."""
    part = cells[start:stop]
    chosen = np.empty(stop - start + 1, np.int64)
    found = 0
    for i in range(stop - start):
        chosen[found] = start + i
        found += np.int64(survives[part[i]])
    for k in range(found):
        i = chosen[k]
        value = coefficients[0] * np.float64(columns[index[0], i])
        for j in range(1, len(index)):
            term = coefficients[j] * np.float64(columns[index[j], i])
            value = value + term
        z[k] = value
        to_residual[k] = residual[i]
        to_cells[k] = cells[i]
        if len(weight) > 0:
            to_weight[k] = weight[i]
    return found


@njit(cache=True, nogil=True)
def refine_cells(z, cells, family, extent, size):
    """Replace each row's cell by a finer one: `size` cells for every surviving one, numbered by `family`."""
    for i in range(len(z)):
        c = np.int64(cells[i])
        low, high = extent[c, 0], extent[c, 1]
        share = (z[i] - low) / (high - low) * np.float64(size)
        inner = np.int64(min(max(share, 0.0), np.float64(size - 1)))
        cells[i] = np.uint16(family[c] * size + inner)


@njit(cache=True, nogil=True)
def scan_sorted(z, cells, residual, weight, prefix, rows, total, best):
    """Try every cut between unequal neighbours of one cell; arrays are sorted by `z`.

    Starts from the incumbent and returns the winner. Of equal gains the smallest cut wins.
    """
    best_gain, best_n, best_s, best_low, best_high = best
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


@njit(cache=True, nogil=True)
def fire(columns, index, coefficients, threshold, weight, target, start, stop, row, bit, out):
    """Store the answers of one neuron in its bit of `row`.

    `out`: weight and target sum of the rows that fire, and how many answers changed.
    """
    weighted = len(weight) > 0
    mask = np.uint8(1 << bit)
    clear = np.uint8(255 - (1 << bit))
    z = np.empty(_BLOCK)
    n, s, changed = 0, 0, 0
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
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
    out[0] = n
    out[1] = s
    out[2] = changed


@njit(cache=True, nogil=True)
def look_up(target, codes, tables, base, start, stop, out):
    """Residual ``target - base - sum of table entries``: one look-up for eight neurons."""
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
        part, values = out[begin:end], target[begin:end]
        for i in range(end - begin):
            part[i] = values[i] - base
        for g in range(len(tables)):
            table = tables[g]
            row = codes[g, begin:end]
            for i in range(end - begin):
                part[i] -= table[row[i]]


@njit(cache=True, nogil=True)
def shift(residual, row, bit, fired, silent, start, stop, out):
    """Residual plus `fired` where the neuron fires and `silent` elsewhere."""
    values, bits, part = residual[start:stop], row[start:stop], out[start:stop]
    for i in range(stop - start):
        part[i] = values[i] + (fired if (bits[i] >> bit) & 1 else silent)


@njit(cache=True, nogil=True)
def plain_sum(values, weight, start, stop, out):
    """Add the weighted sum of `values` to ``out[0]``."""
    total = 0
    part = values[start:stop]
    if len(weight) > 0:
        heavy = weight[start:stop]
        for i in range(stop - start):
            total += heavy[i] * part[i]
    else:
        for i in range(stop - start):
            total += part[i]
    out[0] += total


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def fired_sums(codes, values, width, start, stop, out):
    """Add to ``out[k]`` the sum of `values` over the rows where neuron k fires. O(rows x width / 8)."""
    bins = np.empty(256, np.int64)
    part = values[start:stop]
    for g in range((width + 7) // 8):
        bins[:] = 0
        row = codes[g, start:stop]
        for i in range(stop - start):
            bins[row[i]] += part[i]
        for code in range(256):
            for bit in range(min(8, width - 8 * g)):
                if (code >> bit) & 1:
                    out[8 * g + bit] += bins[code]


@njit(cache=True, nogil=True)
def fired_sum(row, bit, values, weight, start, stop, out):
    """Add the weighted sum of `values` over the rows where one neuron fires to ``out[0]``."""
    weighted = len(weight) > 0
    bits, part = row[start:stop], values[start:stop]
    total = 0
    for i in range(stop - start):
        w = weight[start + i] if weighted else 1
        total += w * part[i] * np.int64((bits[i] >> bit) & 1)
    out[0] += total


@njit(cache=True, nogil=True)
def answers(row, bit, weight, start, stop, out):
    """Write the weight of the rows where a neuron fires, zero elsewhere."""
    weighted = len(weight) > 0
    bits, part = row[start:stop], out[start:stop]
    for i in range(stop - start):
        w = weight[start + i] if weighted else 1
        part[i] = w if (bits[i] >> bit) & 1 else 0


@njit(cache=True, nogil=True)
def move_bit(source, source_bit, target, target_bit, start, stop):
    """Copy a neuron's answers from one bit to another."""
    mask = np.uint8(1 << target_bit)
    clear = np.uint8(255 - (1 << target_bit))
    a, b = source[start:stop], target[start:stop]
    for i in range(stop - start):
        b[i] = (b[i] | mask) if (a[i] >> source_bit) & 1 else (b[i] & clear)


@njit(cache=True, nogil=True)
def column_sums(columns, centre, scale, values, start, stop, out):
    """Add to ``out[j]`` the sum of ``values * rint((x - centre_j) * scale_j)``."""
    part = values[start:stop]
    for j in range(len(columns)):
        column = columns[j, start:stop]
        c, f = centre[j], scale[j]
        total = 0
        for i in range(stop - start):
            total += part[i] * np.int64(np.rint((np.float64(column[i]) - c) * f))
        out[j] += total


@njit(cache=True, nogil=True)
def column_products(columns, centre, scale, other, weight, start, stop, out):
    """Add to ``out[j]`` the limbs (high, low) of the sum of ``weight * x_j * other``, `other` of at most 31 bits."""
    weighted = len(weight) > 0
    part = other[start:stop]
    for j in range(len(columns)):
        column = columns[j, start:stop]
        c, f = centre[j], scale[j]
        high, low = 0, 0
        for i in range(stop - start):
            product = part[i] * np.int64(np.rint((np.float64(column[i]) - c) * f))
            w = weight[start + i] if weighted else 1
            high += w * (product >> 31)
            low += w * (product & 0x7FFFFFFF)
        out[j, 0] += high
        out[j, 1] += low


@njit(cache=True, nogil=True)
def region_sums(codes, groups, keys, target, weight, table, number, sums):
    """Group the rows by their answers; `sums` (regions x 2) receives weight and target sum of each region.

    Rows are told apart by a 64-bit hash of their answers (`keys`, groups x 256). `table` and `number` are an
    open-addressing hash table, a power of two long, `number` full of -1. Returns the number of regions.
    """
    weighted = len(weight) > 0
    mask = np.uint64(len(table) - 1)
    regions = 0
    for i in range(len(target)):
        key = np.uint64(0)
        for g in range(groups):
            key += keys[g, codes[g, i]]
        place = (key ^ (key >> np.uint64(29))) & mask
        while number[place] >= 0 and table[place] != key:
            place = (place + np.uint64(1)) & mask
        if number[place] < 0:
            number[place] = regions
            table[place] = key
            regions += 1
        w = weight[i] if weighted else 1
        sums[number[place], 0] += w
        sums[number[place], 1] += w * target[i]
    return regions
