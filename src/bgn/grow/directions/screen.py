"""Quick estimates of how much a cut could gain, from small tables of counts and sums, compiled.

Sums are integers, so an estimate does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bgn.compiling import compiled
from bgn.engines.kernels.cuts import gain
from bgn.engines.kernels.rows import project
from bgn.engines.memory import Part

FINE = 256  # bins of one column
ALONG = 128  # cells along a direction that is judged more closely
_WORTH = 0.3  # cuts whose plain gain is below this share of the best are not judged more closely
_BLOCK = 8192
_SMALLEST = 1e-300  # width of a cell: their number per unit must be a float64
_FINEST = 2.0**50  # cells between zero and the values: more are not told apart by a float64
_PIECES = 2  # for every thread: one that wakes late finds something left to do
_CATEGORIES = 4  # profiles of a direction: the first, and those of its fullest cell


class SampledRows(NamedTuple):
    """The rows to look at: columns, residuals, weights (or none), the rules' answers, and the bits of every byte."""

    columns: Any
    residual: Any
    weight: Any
    codes: Any
    bits: Any


class Lines(NamedTuple):
    """Directions: columns and coefficients (directions x most columns), their numbers, where cells are spread, and the
    sign that the output weight of a rule along each must have, 0 for either."""

    index: Any
    coefficients: Any
    size: Any
    reach: Any
    wanted: Any


class Refit(NamedTuple):
    """What the other rules explain, and how their refit is foreseen; see `bgn.grow.directions.protocol.Others`. Sums
    are scaled from the sample to `total`. `chance` holds the weights of the constant and the rules that would explain
    what is left of them in the sample by chance; `least` is the least that a new rule holds and the others do not."""

    slots: Any
    inverse: Any
    total: float
    ridge: float
    chance: Any
    least: float


@compiled
def agrees(n, s, rows, total, wanted):
    """Whether weight `n` and sum `s` below a cut give its answer yes a weight of the sign `wanted`, 0 for either."""
    return wanted == 0 or (np.float64(s) - np.float64(n) * (np.float64(total) / np.float64(rows))) * wanted < 0.0


@compiled
def best_edge(count, sums, rows, total, wanted):
    """Largest gain of a cut between bins whose output weight has the sign `wanted`, 0 for either."""
    best = 0.0
    n, s = 0, 0
    for b in range(len(count) - 1):
        n += count[b]
        s += sums[b]
        if 0 < n < rows and agrees(n, s, rows, total, wanted):
            best = max(best, gain(n, s, rows, total))
    return best


@compiled
def single_gains(codes, count, values, rows, total, wanted, out):
    """Write the largest gain of a cut of each column, between its bins; of the sign that is `wanted` of it."""
    sums = np.empty(count.shape[1], np.int64)
    for j in range(len(codes)):
        sums[:] = 0
        code = codes[j]
        for i in range(len(values)):
            sums[code[i]] += values[i]
        out[j] = best_edge(count[j], sums, rows, total, wanted[j])


@compiled
def fill_profile(rows, line, low, scale, profile):
    """Add up weight, residual and co-firing weight of every rule, cell by cell along a line (columns, factors)."""
    residual, weight, codes = rows.residual, rows.weight, rows.codes
    count, sums, together = profile
    top = np.float64(len(count) - 1)
    z, cell_buffer, held = np.empty(_BLOCK), np.empty(_BLOCK, np.uint8), np.empty(len(count), np.int64)
    for begin in range(0, len(residual), _BLOCK):
        end = min(begin + _BLOCK, len(residual))
        cells, left, heavy = cell_buffer[: end - begin], residual[begin:end], weight[begin:end]
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
def best_refitted(profile, refit, wanted):
    """The cell before which a cut lowers the training objective most, and by how much; cell 0 when there is no cut.
    `profile` has the weight and sum of every cell, and (cells x rules) the weight that fires with each rule. The output
    weight must have the sign `wanted`, 0 for either."""
    count, sums, _ = profile
    slots, inverse = refit.slots, refit.inverse
    n, rows, all_sums = len(slots) + 1, count[0], sums[0]
    for c in range(1, len(count)):
        rows, all_sums = rows + count[c], all_sums + sums[c]
    b, cells, drop, tried = worthy_cuts(profile, slots, refit.total / np.float64(rows), rows, all_sums, wanted)
    explained, inner = np.empty(tried), np.empty(tried)
    explained[:] = 0.0
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
        if g > best and drop[t] * wanted >= 0.0:
            best, best_cell = g, cells[t]
    return best, best_cell


@compiled
def worthy_cuts(profile, slots, scale, rows, all_sums, wanted):
    """Of the cuts that gain enough by themselves: products with the constant and each rule, side by side so that the
    compiler can use vector instructions; the cell above each; its product with the residual; and how many there are."""
    count, sums, together = profile
    n = len(slots) + 1
    every = np.empty(together.shape[1], np.int64)
    every[:] = 0
    for c in range(len(count)):
        for j in range(len(every)):
            every[j] += together[c, j]
    worth = _WORTH * best_edge(count, sums, rows, all_sums, wanted)
    upper = np.empty(n)  # weight above the cut that fires with the constant and each rule
    upper[:] = 0.0
    tried, cells, drop = 0, np.empty(len(count), np.int64), np.empty(len(count))
    b = np.empty((n, len(count)))
    weight, s = 0, 0
    for c in range(len(count) - 1, 0, -1):
        if count[c] == 0:
            continue
        weight += count[c]
        s += sums[c]
        upper[0] = weight
        for j in range(1, n):
            upper[j] += together[c, slots[j - 1]]
        if weight == rows:
            break
        if gain(weight, s, rows, all_sums) < worth or not agrees(weight, s, rows, all_sums, -wanted):
            continue
        b[0, tried] = (2 * upper[0] - rows) * scale
        for j in range(1, n):
            b[j, tried] = (4 * upper[j] - 2 * every[slots[j - 1]] - 2 * upper[0] + rows) * scale
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
def rate_directions(rows, lines, n_rules, refit, out):
    """Write what each direction promises: gain, and the window (low, high) around its best coarse cut. The first
    `n_rules` rules count. A cell with more than a quarter of the weight, as when a few values are far out, is looked
    into."""
    count, sums = np.empty(ALONG, np.int64), np.empty(ALONG, np.int64)
    together = np.empty((ALONG, 8 * ((n_rules + 7) // 8)), np.int64)
    profile = count, sums, together
    for k in range(len(lines.index)):
        line = lines.index[k, : lines.size[k]], lines.coefficients[k, : lines.size[k]]
        low, high = lines.reach[k, 0], lines.reach[k, 1]
        scale = ALONG / (high - low) if high > low else 1.0
        out[k, 0], out[k, 1], out[k, 2] = 0.0, -np.inf, np.inf
        for _ in range(_CATEGORIES):
            count[:] = 0
            sums[:] = 0
            together[:] = 0
            fill_profile(rows, line, low, scale, profile)
            best, cell = best_refitted(profile, refit, lines.wanted[k])
            if best > out[k, 0]:
                distinct = scale * max(abs(low), abs(high)) < _FINEST
                out[k, 0] = best
                out[k, 1] = low + (cell - 1) / scale if cell > 1 and distinct else -np.inf
                out[k, 2] = low + (cell + 1) / scale if cell < ALONG - 1 and distinct else np.inf
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


def share_among_threads(rows: Part, part: Callable[[slice], None], number: int, least: int) -> None:
    """Share `number` items out among the threads, at least so many to each: fewer are not worth the waiting."""
    size = max(-(-number // (_PIECES * rows.threads)), least)
    rows.map(part, [slice(k, k + size) for k in range(0, number, size)])


# -- Counts of eight rules' answers in one number of 64 bits, compiled.

_FULL = 255
# The bits of every byte, each in a byte of its own.
_BITS_OF_BYTES = np.array([sum((code >> b & 1) << 8 * b for b in range(8)) for code in range(256)], np.uint64)


@compiled
def count_together(codes, cells, fullest, out):
    """Add to ``out[cell, bit]`` the number of rows in a cell whose code has the bit. The eight counts of a cell share a
    number of 64 bits, which is emptied before any of its bytes runs over; none does when the `fullest` cell has few
    rows."""
    packed, held = np.empty(len(out), np.uint64), np.empty(len(out), np.uint8)
    packed[:] = 0
    held[:] = 0
    if fullest <= _FULL:
        for i in range(len(cells)):
            packed[cells[i]] += _BITS_OF_BYTES[codes[i]]
    else:
        for i in range(len(cells)):
            cell = np.int64(cells[i])
            packed[cell] += _BITS_OF_BYTES[codes[i]]
            held[cell] += 1
            if held[cell] == _FULL:
                held[cell] = 0
                unpack(packed, cell, out)
    for cell in range(len(out)):
        unpack(packed, cell, out)


@compiled
def unpack(packed, cell, out):
    """Add a cell's eight counts to `out` and empty them."""
    for b in range(8):
        out[cell, b] += np.int64((packed[cell] >> np.uint64(8 * b)) & np.uint64(_FULL))
    packed[cell] = 0
