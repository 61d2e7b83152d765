"""Compiled loops that count the background rows with which a row makes a neuron fire: arrays in, arrays out.

A neuron fires when its summands, added in the order of the columns, reach its threshold. Every rounding of that sum is
monotone in each summand, so that counts found by sorting and searching are those of the network itself, ties and all.
"""

from __future__ import annotations

import numpy as np

from bgn.compiled import compiled
from bgn.explain.crossings import fires
from bgn.model.step import Floats

# A bound on the relative error of a short sum, per term, with room to spare.
_ROUNDING = 4 * np.finfo(np.float64).eps


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
