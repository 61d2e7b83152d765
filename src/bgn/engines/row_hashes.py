"""Rows told apart by what they hold, never by where they stand: which validate, and which make up a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.integers import Integers
from bgn.engines.memory.threads import ThreadPool
from bgn.engines.regions import mix

Hashes = NDArray[np.uint64]
# Hashes that fall in one bin, their weights, and the largest hash below the bin (None where there is none).
Inside = tuple[Hashes, Integers, int | None]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BIN_BITS = 16
_AT_ONCE = 1 << 15  # rows: what is worked out on the way stays in the processor's cache


def one_of_a_kind(column: NDArray[Any]) -> NDArray[np.float64]:
    """The values of a column, with one zero for both and one NaN for all."""
    values = column.astype(np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return values


def row_hashes(columns: Iterable[NDArray[Any]], y: NDArray[np.float64], seed: int, threads: int = 1) -> Hashes:
    """Return a 64-bit hash of every row's content, the target included."""
    values, hashes = [*columns, y], np.empty(len(y), np.uint64)

    def fill(some: slice) -> None:
        with np.errstate(over="ignore"):
            found = mix(np.array([seed], dtype=np.uint64) + _GOLDEN)
            for column in values:
                bits = one_of_a_kind(column[some]).view(np.uint64)
                found = mix((found ^ bits) * _GOLDEN + _GOLDEN)
            hashes[some] = found

    ThreadPool(threads).each(fill, [slice(start, start + _AT_ONCE) for start in range(0, len(y), _AT_ONCE)])
    return hashes


def different(hashes: Hashes) -> Hashes:
    """Each hash once, in order."""
    found = np.sort(hashes)
    return found[np.append(True, found[1:] != found[:-1])[: len(found)]]


def histogram(hashes: Hashes, weight: Integers | None) -> Integers:
    """Weight of the hashes in each of 2^16 bins."""
    bins = (hashes >> np.uint64(64 - _BIN_BITS)).astype(np.int64)
    return np.bincount(bins, weight, 1 << _BIN_BITS).astype(np.int64)


def inside_bin(hashes: Hashes, weight: Integers | None, number: int) -> Inside:
    """What :func:`find_edge` wants to know of one bin."""
    bins = hashes >> np.uint64(64 - _BIN_BITS)
    here, below = bins == np.uint64(number), hashes[bins < np.uint64(number)]
    heavy = np.ones(int(here.sum()), np.int64) if weight is None else weight[here]
    return hashes[here], heavy, int(below.max()) if len(below) else None


def find_edge(counts: Integers, fetch: Callable[[int], list[Inside]], share: float) -> int | None:
    """The hash up to which rows weigh nearest to `share` of all; equal rows stay together.

    `counts` are the bins of all rows, `fetch` tells of a bin, part by part. None when no row, or every row, would
    be marked.
    """
    reached = np.cumsum(counts)
    total = int(reached[-1])
    wanted = share * float(total)
    if share <= 0 or total == 0:
        return None
    number = int(np.searchsorted(reached, wanted, side="right"))
    parts = fetch(number)
    hashes, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    weights = np.zeros(len(hashes), np.int64)
    np.add.at(weights, where, np.concatenate([part[1] for part in parts]))
    before = int(reached[number] - counts[number])
    ends = [(before + int(w), int(h)) for h, w in zip(hashes, np.cumsum(weights), strict=True)]
    below = [part[2] for part in parts if part[2] is not None]
    if below:
        ends.insert(0, (before, max(below)))
    ends = [end for end in ends if end[0] < total]
    return min(ends, key=lambda end: (abs(end[0] - wanted), end[0]))[1] if ends else None


def few_of(hashes: Hashes, number: int, last: bool = False) -> NDArray[np.intp]:
    """Where the so many smallest hashes are, or the largest; of equal ones the first, or the last."""
    where = np.arange(len(hashes))
    if len(hashes) > number > 0:  # most need not be put in order
        edge = np.partition(hashes, -number if last else number - 1)[-number if last else number - 1]
        where = np.flatnonzero(hashes >= edge if last else hashes <= edge)
    order = np.argsort(hashes[where], kind="stable")
    return np.sort(where[order[max(len(order) - number, 0) :] if last else order[:number]])


def lowest(hashes: Hashes, weight: Integers | None, share: float) -> NDArray[np.bool_]:
    """Mark the rows of lowest hash that together weigh nearest to `share` of all; equal rows go together.

    Never marks everything: where all rows are equal nothing is marked.
    """
    edge = find_edge(histogram(hashes, weight), lambda number: [inside_bin(hashes, weight, number)], share)
    return np.zeros(len(hashes), dtype=bool) if edge is None else hashes <= np.uint64(edge)
