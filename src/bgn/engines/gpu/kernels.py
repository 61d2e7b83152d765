"""Passes over rows on a GPU, one kernel per pass, compiled by Triton when first used.

Every sum is one of integers, so that the order in which a device adds does not matter; floats are rounded once per
step (`OPTIONS` forbid to fuse a product and a sum), so that the bits are those of :mod:`bgn.engines.kernels.rows`.

A program takes `ROWS` rows, `BLOCK` at a time. What a kernel is told and what it tells share an array of 64-bit
numbers, `slate`: first the `results`, zero at the start, then what the caller wrote.
"""

from __future__ import annotations

import triton
import triton.language as tl

from bgn.engines.kernels.rows import LIMB

BLOCK, STEPS = tl.constexpr(1024), tl.constexpr(8)
ROWS = 1024 * 8
OPTIONS = {"enable_fp_fusion": False}
# A product with this puts copies of four bits 15 apart; of each copy one bit is kept.
_COPIES, _LAST = tl.constexpr(1 + (1 << 15) + (1 << 30) + (1 << 45)), tl.constexpr(0x0001_0001_0001_0001)
_WHOLE = tl.constexpr(4503599627370496.0)
_LIMB, _LOW = tl.constexpr(LIMB), tl.constexpr((1 << LIMB) - 1)
# Numbers that change from call to call are no reason to compile again.
_OFTEN_NEW = "n rows groups limit slot source features results threshold width copies"
_kernel = triton.jit(do_not_specialize=_OFTEN_NEW.split())


@triton.jit
def _float(slate, place):
    """A float64 on the slate."""
    return tl.load(slate + place).to(tl.float64, bitcast=True)


@triton.jit
def _projected(columns, slate, results, features, n, at, inside):
    """The projection of some rows; after the results, the slate has column numbers, in order, and coefficients."""
    column = columns + tl.load(slate + results) * n
    z = tl.load(column + at, mask=inside, other=0).to(tl.float64) * _float(slate, results + features)
    for k in range(1, features):
        column = columns + tl.load(slate + results + k) * n
        z += tl.load(column + at, mask=inside, other=0).to(tl.float64) * _float(slate, results + features + k)
    return z


@triton.jit
def _fires(codes, slot, n, at, inside):
    return ((tl.load(codes + (slot // 8) * n + at, mask=inside, other=0).to(tl.int32) >> (slot % 8)) & 1) != 0


@triton.jit
def _count_together(codes, n, slot, groups, counts, start):
    """Count the rows of a program that fire together with each slot of the first groups of eight."""
    for group in range(groups):
        first, second = tl.zeros((BLOCK,), tl.int64), tl.zeros((BLOCK,), tl.int64)
        for step in range(STEPS):
            at = start + step * BLOCK + tl.arange(0, BLOCK)
            fires = _fires(codes, slot, n, at, at < n)
            both = tl.load(codes + group * n + at, mask=fires, other=0).to(tl.int64)
            first += ((both & 15) * _COPIES) & _LAST  # four bits, each in 16 of its own
            second += ((both >> 4) * _COPIES) & _LAST
        low, high = tl.sum(first), tl.sum(second)
        for k in tl.static_range(4):
            tl.atomic_add(counts + group * 8 + k, (low >> (16 * k)) & 0xFFFF)
            tl.atomic_add(counts + group * 8 + 4 + k, (high >> (16 * k)) & 0xFFFF)


@_kernel
def project(columns, n, slate, results, features, z):
    n = n.to(tl.int64)
    for step in range(STEPS):
        at = (tl.program_id(0).to(tl.int64) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        tl.store(z + at, _projected(columns, slate, results, features, n, at, inside), mask=inside)


@_kernel
def fire(columns, target, n, slate, results, features, threshold, slot, codes, groups):
    """Store a rule's answers in its slot; its threshold is at a place of the slate. The last results: how many rows
    fire, the sum of their targets, how many answers changed, and how many rows fire together with each slot of the
    first groups of eight."""
    n = n.to(tl.int64)
    start = tl.program_id(0).to(tl.int64) * STEPS * BLOCK
    edge, results_at = _float(slate, threshold), slate + results - 3 - 8 * groups
    fired, changed = tl.zeros((BLOCK,), tl.int32), tl.zeros((BLOCK,), tl.int32)
    sums = tl.zeros((BLOCK,), tl.int64)
    here = codes + (slot // 8) * n
    for step in range(STEPS):
        at = start + step * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        fires = (_projected(columns, slate, results, features, n, at, inside) >= edge) & inside
        before = tl.load(here + at, mask=inside, other=0).to(tl.int32)
        new = (((before >> (slot % 8)) & 1) != fires.to(tl.int32)) & inside
        tl.store(here + at, (before ^ (new.to(tl.int32) << (slot % 8))).to(tl.uint8), mask=inside)
        fired += fires.to(tl.int32)
        changed += new.to(tl.int32)
        sums += tl.load(target + at, mask=fires, other=0)
    tl.atomic_add(results_at, tl.sum(fired).to(tl.int64))
    tl.atomic_add(results_at + 1, tl.sum(sums))
    tl.atomic_add(results_at + 2, tl.sum(changed).to(tl.int64))
    tl.debug_barrier()  # what was stored is read again
    _count_together(codes, n, slot, groups, results_at + 3, start)


@_kernel
def overlaps(codes, n, slot, groups, counts):
    """Tell how many rows fire together with each slot of the first groups of eight."""
    start = tl.program_id(0).to(tl.int64) * STEPS * BLOCK
    _count_together(codes, n.to(tl.int64), slot, groups, counts, start)


@_kernel
def move(codes, n, source, slot):
    n = n.to(tl.int64)
    for step in range(STEPS):
        at = (tl.program_id(0).to(tl.int64) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        here = codes + (slot // 8) * n + at
        before = tl.load(here, mask=inside, other=0).to(tl.int32)
        new = ((before >> (slot % 8)) & 1) ^ _fires(codes, source, n, at, inside).to(tl.int32)
        tl.store(here, (before ^ (new << (slot % 8))).to(tl.uint8), mask=inside)


@_kernel
def look_up(target, codes, n, slate, groups, limit, residual):
    """Write the target less what the answers of each row add up to; tell its sum and the limbs of its square. After
    five results, the slate has what each of the 256 answers of every group adds. See
    :func:`bgn.engines.kernels.rows.squares`."""
    n = n.to(tl.int64)
    total, high, middle = tl.zeros((BLOCK,), tl.int64), tl.zeros((BLOCK,), tl.int64), tl.zeros((BLOCK,), tl.int64)
    low, last = tl.zeros((BLOCK,), tl.int64), tl.zeros((BLOCK,), tl.int64)
    for step in range(STEPS):
        at = (tl.program_id(0).to(tl.int64) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        r = tl.load(target + at, mask=inside, other=0)
        for group in range(groups):
            code = tl.load(codes + group * n + at, mask=inside, other=0).to(tl.int32)
            r -= tl.load(slate + 5 + group * 256 + code)
        r = tl.where(inside, r, 0)
        tl.store(residual + at, r, mask=inside)
        total += r
        r = tl.minimum(tl.maximum(r, -limit), limit)
        a, b = r >> _LIMB, r & _LOW
        high += a * a
        middle += a * b
        low += (b * b) >> _LIMB
        last += (b * b) & _LOW
    tl.atomic_add(slate, tl.sum(total))
    tl.atomic_add(slate + 1, tl.sum(high))
    tl.atomic_add(slate + 2, tl.sum(middle))
    tl.atomic_add(slate + 3, tl.sum(low))
    tl.atomic_add(slate + 4, tl.sum(last))


@_kernel
def fired_sums(values, codes, n, slot, sums):
    """Add each line of `values` (lines x rows), where a slot fires, to `sums`."""
    n = n.to(tl.int64)
    line = tl.program_id(1).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.int64)
    for step in range(STEPS):
        at = (tl.program_id(0).to(tl.int64) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        fires = _fires(codes, slot, n, at, at < n)
        total += tl.load(values + line * n + at, mask=fires, other=0).to(tl.int64)
    tl.atomic_add(sums + line, tl.sum(total))


@_kernel
def between(columns, residual, n, slate, results, features, chosen_z, chosen_residual):
    """Gather the rows between two edges, in any order; tell how many, and number and residual sum of those below. After
    the projection, the slate has the edges."""
    n = n.to(tl.int64)
    low, high = _float(slate, results + 2 * features), _float(slate, results + 2 * features + 1)
    number, sums = tl.zeros((BLOCK,), tl.int32), tl.zeros((BLOCK,), tl.int64)
    for step in range(STEPS):
        at = (tl.program_id(0).to(tl.int64) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        z = _projected(columns, slate, results, features, n, at, inside)
        r = tl.load(residual + at, mask=inside, other=0)
        under = (z < low) & inside
        chosen = ((z < high) & inside) ^ under
        number += under.to(tl.int32)
        sums += tl.where(under, r, 0)
        count = chosen.to(tl.int32)
        to = tl.atomic_add(slate, tl.sum(count).to(tl.int64)) + tl.cumsum(count, 0) - count
        tl.store(chosen_z + to, z, mask=chosen)
        tl.store(chosen_residual + to, r, mask=chosen)
    tl.atomic_add(slate + 1, tl.sum(number).to(tl.int64))
    tl.atomic_add(slate + 2, tl.sum(sums))


@_kernel
def best(z, running, below, total, mean, n, rows, gains, places, results):
    """Tell of the best cut of sorted rows, the first of equals; its gain is -1 where there is none. `running` has the
    sums of the residuals up to each row, `below` number and sum of those below all; `total` and `mean` are those of all
    `rows`. Told: programs that are done, place, sum and number below, gain, the projections beside it, the total, and
    the threshold. See :func:`bgn.engines.kernels.cuts.gain`."""
    program = tl.program_id(0)
    whole, middle, here = rows.to(tl.float64), tl.load(mean), tl.load(below)
    most, place = tl.full((), -2.0, tl.float64), program.to(tl.int64) * STEPS * BLOCK
    for step in range(STEPS):
        first = (program.to(tl.int64) * STEPS + step) * BLOCK
        at = first + tl.arange(0, BLOCK)
        inner = (at > 0) & (at < n)
        differ = tl.load(z + at, mask=inner, other=0.0) != tl.load(z + at - 1, mask=inner, other=0.0)
        s = tl.load(running + at - 1, mask=(at > 0) & (at <= n), other=0) + tl.load(below + 1)
        number = (here + at).to(tl.float64)
        excess = s.to(tl.float64) - number * middle
        product = (whole - number) * number
        possible = (at <= n) & (product > 0) & (differ | (at == 0) | (at == n))
        gain = tl.where(possible, excess * excess / tl.where(possible, product, 1.0), -1.0)
        largest, k = tl.max(gain, 0, return_indices=True, return_indices_tie_break_left=True)
        place = tl.where(largest > most, first + k, place)
        most = tl.maximum(largest, most)
    tl.store(gains + program, most)
    tl.store(places + program, place)
    tl.debug_barrier()
    if tl.atomic_add(results, 1) == tl.num_programs(0) - 1:  # the last program compares them all
        most = tl.full((), -2.0, tl.float64)
        for first in range(0, tl.num_programs(0), BLOCK):
            at = first + tl.arange(0, BLOCK)
            some = tl.load(gains + at, mask=at < tl.num_programs(0), other=-2.0, cache_modifier=".cg")
            largest, k = tl.max(some, 0, return_indices=True, return_indices_tie_break_left=True)
            place = tl.where(largest > most, tl.load(places + first + k, cache_modifier=".cg"), place)
            most = tl.maximum(largest, most)
        tl.store(results + 1, place)
        tl.store(results + 2, tl.load(running + place - 1, mask=place > 0, other=0) + tl.load(below + 1))
        tl.store(results + 3, here + place)
        tl.store(results + 4, most.to(tl.int64, bitcast=True))
        left = tl.load(z + place - 1, mask=place > 0, other=0.0)
        right = tl.load(z + place, mask=place < n, other=0.0)
        tl.store(results + 5, left.to(tl.int64, bitcast=True))
        tl.store(results + 6, right.to(tl.int64, bitcast=True))
        tl.store(results + 7, tl.load(total))
        middle = left / 2 + right / 2
        middle = tl.where((left < middle) & (middle <= right), middle, right)
        tl.store(results + 8, middle.to(tl.int64, bitcast=True))


@_kernel
def regions(codes, target, n, n_rules, copies, counts, sums):
    """Add one and the target of every row to its region, numbered by the answers of the first `n_rules` slots. Several
    copies of the tables, so that programs do not all wait for the same numbers."""
    n = n.to(tl.int64)
    copy = (tl.program_id(0) % copies) << n_rules
    for step in range(STEPS):
        at = (tl.program_id(0).to(tl.int64) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        region = tl.zeros((BLOCK,), tl.int32)
        for group in range((n_rules + 7) // 8):
            region |= tl.load(codes + group * n + at, mask=inside, other=0).to(tl.int32) << (8 * group)
        region = (region & ((1 << n_rules) - 1)) + copy
        tl.atomic_add(counts + region, tl.full((BLOCK,), 1, tl.int32), mask=inside, sem="relaxed")
        tl.atomic_add(sums + region, tl.load(target + at, mask=inside, other=0), mask=inside, sem="relaxed")


@_kernel
def explained(counts, sums, n, unit, results):
    """Tell the sum over `n` regions of squared target sum by number of rows, each a whole number of ``1 / unit``."""
    total = tl.zeros((BLOCK,), tl.int64)
    for step in range(STEPS):
        at = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        rows, s = tl.load(counts + at, mask=at < n, other=0), tl.load(sums + at, mask=at < n, other=0).to(tl.float64)
        share = s * s / tl.maximum(rows, 1).to(tl.float64) * tl.load(unit)
        # Beyond 2^52 all floats are whole; below, a sum with it is rounded to whole numbers.
        total += tl.where(share < _WHOLE, (share + _WHOLE) - _WHOLE, share).to(tl.int64)
    tl.atomic_add(results, tl.sum(total))
