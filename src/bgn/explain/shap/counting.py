"""Compiled loops that count the background rows with which a row makes a neuron fire: arrays in, arrays out.

A neuron fires when its summands, added in the order of the columns, reach its threshold. Every rounding of that sum is
monotone in each summand, so that counts found by sorting and searching are those of the network itself, ties and all.
"""

from __future__ import annotations

import numpy as np

from bgn.compiling import compiled
from bgn.explain.crossings import fires
from bgn.model.step import Floats

# A bound on the relative error of a short sum, per term, with room to spare.
_ROUNDING = 4 * np.finfo(np.float64).eps
# Rows that a cell may hold, where no more than others.
_CROWDED = 256


@compiled
def count_merged(fixed: Floats, order: np.ndarray, drawn: Floats, threshold: float, counts: np.ndarray) -> None:
    """Count, for every ``fixed[row]``, the entries of `drawn` with ``fixed + drawn >= threshold``; O(rows + drawn).

    `order` sorts `fixed` upwards and `drawn` is sorted downwards; `counts` is written.
    """
    reach = 0
    for row in order:
        while reach < len(drawn) and fixed[row] + drawn[reach] >= threshold:
            reach += 1
        counts[row] = reach


@compiled
def count_windowed(
    fixed: Floats, places: np.ndarray, drawn: Floats, sums: Floats, above: np.ndarray, threshold: float,
    counts: np.ndarray,
) -> None:  # fmt: skip
    """Count, for every row of `fixed`, the rows of `drawn` that make it fire when put in columns `places`.

    `drawn` holds distinct rows sorted by their `sums`; ``above[i]`` is how many background rows stand at `i` or
    later. Sums that clear the threshold by more than a rounding error are counted; the few others are summed anew in
    the network's order. Infinite entries, which stand for gaps, decide by themselves and are in no doubt.
    """
    spread = 0.0
    for row in range(len(drawn)):
        size = np.abs(drawn[row]).sum()
        if size < np.inf or not np.isinf(drawn[row]).any():
            spread = max(spread, size)
    terms = np.empty(fixed.shape[1])
    for row in range(len(fixed)):
        terms[:] = fixed[row]
        for place in places:
            terms[place] = 0.0
        doubt = _ROUNDING * len(terms) * (np.abs(terms).sum() + spread + abs(threshold))
        wanted = threshold - terms.sum()
        at = np.searchsorted(sums, wanted - doubt)
        count = 0
        while at < len(sums) and sums[at] <= wanted + doubt:
            for place, value in zip(places, drawn[at]):  # noqa: B905 (numba knows no strict)
                terms[place] = value
            if fires(terms, threshold):
                count += above[at] - above[at + 1]
            at += 1
        counts[row] = count + above[at]


@compiled
def count_in_cells(
    fixed: Floats, drawn: Floats, known: np.ndarray, threshold: float, n_cells: int, counts: np.ndarray
) -> bool:
    """Count, for every row of `fixed`, the rows of `drawn` that make it fire when put in the columns not `known`.

    The background's sums are put in cells of equal width, without sorting. All in the cells above a row's are counted
    and those in its own looked at; sums within a rounding error of the threshold are made anew in the network's order.
    An infinite summand, which stands for a gap, decides by itself. Cost: a few steps per row of either table, unless
    one cell holds many rows: then nothing is counted and False is returned.
    """
    n, m, width = len(fixed), len(drawn), len(known)
    sums, spread, always = np.empty(m), 0.0, 0
    low, high, finite = np.inf, -np.inf, 0
    for row in range(m):
        total, size = 0.0, 0.0
        for column in range(width):
            if not known[column]:
                total += drawn[row, column]
                size += abs(drawn[row, column])
        sums[row] = total
        if size < np.inf:
            low, high, finite, spread = min(low, total), max(high, total), finite + 1, max(spread, size)
        elif total == np.inf:
            always += 1
        elif total != -np.inf:
            return False  # summands that overflow
    scale = (n_cells - 1) / (high - low) if high > low else 0.0
    if not scale * max(abs(low), abs(high)) < np.inf:
        return False
    first = np.zeros(n_cells + 1, np.int64)  # where each cell begins
    for row in range(m):
        if abs(sums[row]) < np.inf:
            first[int((sums[row] - low) * scale) + 1] += 1
    if finite and first.max() > max(_CROWDED, 64 * finite // n_cells):
        return False
    for cell in range(n_cells):
        first[cell + 1] += first[cell]
    place, order = first.copy(), np.empty(m, np.int64)
    for row in range(m):
        if abs(sums[row]) < np.inf:
            cell = int((sums[row] - low) * scale)
            order[place[cell]] = row
            place[cell] += 1
    terms = np.empty(width)
    for row in range(n):
        total, size = 0.0, 0.0
        for column in range(width):
            if known[column]:
                total += fixed[row, column]
                size += abs(fixed[row, column])
        if size == np.inf:
            if abs(total) < np.inf or total != total:
                return False
            counts[row] = m if total > 0 else 0
            continue
        doubt = _ROUNDING * width * (size + spread + abs(threshold))
        wanted = threshold - total
        begin = int(min(max((wanted - doubt - low) * scale, 0.0), n_cells - 1.0))
        end = int(min(max((wanted + doubt - low) * scale, -1.0), n_cells - 1.0))
        count = always + first[n_cells] - first[end + 1]
        for at in range(first[begin], first[end + 1]):
            other = order[at]
            if sums[other] > wanted + doubt:
                count += 1
            elif sums[other] >= wanted - doubt:
                for column in range(width):
                    terms[column] = fixed[row, column] if known[column] else drawn[other, column]
                count += fires(terms, threshold)
        counts[row] = count
    return True


@compiled
def count_differing(
    fixed: Floats, drawn: Floats, known: np.ndarray, place: int, threshold: float, counts: np.ndarray
) -> None:
    """Count, for every row of `fixed`, the rows of `drawn` whose answer changes with the summand in column `place`.

    Columns where `known` is true come from `fixed`, the others from `drawn`, and `place` from one and then the other.
    A loop over pairs of rows.
    """
    terms = np.empty(fixed.shape[1])
    for row in range(len(fixed)):
        count = 0
        for other in range(len(drawn)):
            for column in range(len(terms)):
                terms[column] = fixed[row, column] if known[column] else drawn[other, column]
            terms[place] = fixed[row, place]
            before = fires(terms, threshold)
            terms[place] = drawn[other, place]
            count += before != fires(terms, threshold)
        counts[row] = count
