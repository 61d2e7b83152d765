"""Pairs of columns at several angles, judged from two-way tables of a sample of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.protocol import Floats, Integers
from bgn.grow.directions.angles import turns
from bgn.grow.directions.two_way import ANGLES, BINS, COARSE, NEVER, near_gains, pair_gains, place_cells, place_in_bins

WIDTH = math.pi / ANGLES
_ALL_ROUND = (np.arange(ANGLES) + 0.5) * WIDTH
_NEARBY = WIDTH * np.array([0.0, -0.5, -0.25, 0.25, 0.5])
_KEPT = 256  # pairs, some 48 KiB each
_PAIRS_PER_THREAD = 8
_AT_ONCE = 64  # columns
_ALL_WITHIN = 50  # values: one of so few is more than may lie beyond a column's reach

# Shares so many items out among threads, at least so many to each.
Share = Callable[[Callable[[slice], None], int, int], None]


@dataclass(frozen=True)
class Binned:
    """Columns in coarse bins: code of every row, centre of every bin in units of the column's spread, and where
    all but a few values lie. It depends on the different values alone, not on their order or number."""

    codes: NDArray[np.uint8]
    centres: Floats
    bins: Integers
    spread: Floats
    reach: Floats

    @classmethod
    def of(cls, columns: Iterable[NDArray[Any]], values: Iterable[Floats]) -> Binned:
        """Bin every column, given its different values."""
        values = list(values)
        codes = np.stack([codes_of(*both, COARSE) for both in zip(columns, values, strict=True)])
        size = np.array([len(each) for each in values])
        centres, spread, reach = np.zeros((len(values), COARSE)), np.empty(len(values)), np.empty((len(values), 2))
        for number in np.unique(size).tolist():  # columns of equally many values at once, but not too many
            alike = np.flatnonzero(size == number)
            for some in np.split(alike, range(_AT_ONCE, len(alike), _AT_ONCE)):
                centres[some], spread[some], reach[some] = _places(np.stack([values[j] for j in some.tolist()]))
        return cls(codes, centres, np.minimum(size, COARSE), spread, reach)

    def with_column(self, column: NDArray[np.float64]) -> Binned:
        """The same with one more column, the last."""
        one = Binned.of([column], [different(column)])
        return Binned(
            np.concatenate([self.codes, one.codes]),
            np.concatenate([self.centres, one.centres]),
            np.append(self.bins, one.bins),
            np.append(self.spread, one.spread),
            np.concatenate([self.reach, one.reach]),
        )


@dataclass(frozen=True, eq=False)
class Found:
    """The best direction of each pair, its gain and the number of its angle; where it is kept, and the residuals in
    its two-way table."""

    pairs: Integers
    gains: Floats
    best: Integers
    which: Integers
    tables: Integers

    @property
    def angles(self) -> Floats:
        """The angles of the best directions."""
        return np.asarray(_ALL_ROUND[self.best], np.float64)

    def at(self, index: Integers) -> Found:
        """Some of the pairs."""
        return Found(self.pairs[index], self.gains[index], self.best[index], self.which[index], self.tables[index])


class Pairs:
    """Where on two-way tables the best cut of every pair of columns lies.

    How the cells of a table fall along an angle, and the weight there, does not depend on the residual: it is kept for
    the pairs asked about before. `wanted` tells for every column whether output weights of questions that read it with
    a positive coefficient must be positive (1), negative (-1), or either (0).
    """

    def __init__(self, binned: Binned, weight: Integers, share: Share, wanted: Integers) -> None:
        self.binned, self._weight, self._share, self._wanted = binned, weight, share, wanted
        self._signed = bool(wanted.any())
        self._known: dict[tuple[int, ...], int] = {}
        self._last: tuple[bytes, Integers] = b"", np.zeros(0, np.int64)  # what was looked up last, and where it is
        self._version = np.zeros(len(binned.codes), np.int64)
        # Weights of the cells, their places, and weights of the bins.
        self._kept = _room(0)

    def best(self, pairs: Integers, values: Integers, rows: int, total: int) -> Found:
        """The best direction of each pair; `values` are weighted residuals."""
        which, table = self._find(pairs), self.binned
        _, places, count = self._kept
        gains, best = np.empty(len(pairs)), np.zeros(len(pairs), np.int64)
        tables = np.empty((len(pairs), COARSE * COARSE), np.int64)
        wanted = self._signs(pairs, _turned()[0][None])

        def part(some: slice) -> None:
            found = tables[some], gains[some], best[some]
            kept = which[some], places, count
            pair_gains(table.codes, pairs[some], kept, values, rows, total, wanted[some], found)

        self._share(part, len(pairs), _PAIRS_PER_THREAD)
        return Found(pairs, gains, best, which, tables)

    def rewrite(self, column: int, codes: NDArray[np.uint8]) -> None:
        """Take other codes for the rows of a column."""
        if not np.array_equal(self.binned.codes[column], codes):
            self.binned.codes[column] = codes
            self._version[column] += 1

    def near(self, found: Found, rows: int, total: int) -> Floats:
        """The best angle of each pair near the one just found."""
        best, (angles, turned) = np.zeros(len(found.pairs), np.int64), (each[found.best] for each in _turned()[1:])
        about = self.binned.centres, self.binned.bins, found.pairs, turned
        wanted = self._signs(found.pairs, turned)
        near_gains(*about, self._kept[0][found.which], found.tables, rows, total, wanted, best)
        return angles[np.arange(len(best)), best]

    def _signs(self, pairs: Integers, turned: Floats) -> Integers:
        """The signs that output weights must have for pairs at angles (.. x angles x cosine and sine), or `NEVER`."""
        if not self._signed:
            return np.zeros((len(pairs), turned.shape[-2]), np.int64)
        one, other = (np.sign(turned[..., k]).astype(np.int64) * self._wanted[pairs[:, k], None] for k in range(2))
        return np.where(one * other < 0, NEVER, np.where(one == 0, other, one))

    def _find(self, pairs: Integers) -> Integers:
        """Where what is known of each pair is kept."""
        versions = np.concatenate([pairs, self._version[pairs]], axis=1)
        if (key := versions.tobytes()) != self._last[0]:
            self._last = key, self._looked_up(versions)
        return self._last[1]

    def _looked_up(self, versions: Integers) -> Integers:
        """Where what is known of each pair and its version is kept, worked out if need be."""
        named = list(map(tuple, versions.tolist()))
        if len(self._known) + len(named) > _KEPT:
            self._known = {}
        missing = [pair for pair in named if pair not in self._known]
        if missing:
            start = len(self._known)
            self._known.update((pair, start + k) for k, pair in enumerate(missing))
            if len(self._known) > len(self._kept[0]):
                more = _room(max(len(self._known), min(_KEPT, 2 * len(self._kept[0]))))
                for new, old in zip(more, self._kept, strict=True):
                    new[:start] = old[:start]
                self._kept = more
            self._place(np.array([pair[:2] for pair in missing]), start)
        return np.array([self._known[pair] for pair in named])

    def _place(self, pairs: Integers, start: int) -> None:
        table, rooms = self.binned, [room[start : start + len(pairs)] for room in self._kept]

        def part(some: slice) -> None:
            place_cells(
                table.codes, table.centres, table.bins, pairs[some], _turned()[0], self._weight,
                *(room[some] for room in rooms),
            )  # fmt: skip

        self._share(part, len(pairs), _PAIRS_PER_THREAD)


@cache
def _turned() -> tuple[Floats, Floats, Floats]:
    """Cosines and sines of all angles; of each the angles near it, and their cosines and sines."""
    nearby = _ALL_ROUND[:, None] + _NEARBY
    return turns(_ALL_ROUND), nearby, turns(nearby)


def _room(pairs: int) -> tuple[NDArray[Any], ...]:
    cells = COARSE * COARSE
    return (
        np.empty((pairs, cells), np.int64),
        np.empty((pairs, cells, ANGLES), np.uint16),
        np.empty((pairs, ANGLES, BINS), np.int64),
    )


def different(column: NDArray[Any]) -> Floats:
    """The different values of a column, in order."""
    return different_values(column[None])[0]


def different_values(columns: NDArray[Any]) -> list[Floats]:
    """The different values of each column, in order."""
    found = []
    for start in range(0, len(columns), _AT_ONCE):
        some = np.sort(columns[start : start + _AT_ONCE], axis=1).astype(np.float64, copy=False)
        new = some[:, 1:] != some[:, :-1]
        told_apart = new.all(axis=1).tolist()
        found += [some[k] if each else some[k][np.append(True, new[k])] for k, each in enumerate(told_apart)]
    return found


def codes_of(column: NDArray[Any], values: Floats, bins: int) -> NDArray[np.uint8]:
    """Bin number of every row of a column with these different values.

    One bin per value when they are few, otherwise bins of equally many values.
    """
    codes = np.empty(len(column), np.uint8)
    place_in_bins(column, values[_firsts(len(values), bins)], codes)
    return codes


@lru_cache(64)
def _firsts(values: int, bins: int) -> Integers:
    """The first of so many different values in each bin."""
    return np.arange(min(bins, values)) * values // min(bins, values)


def _places(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Centres of bins, robust spread and reach of columns with these different values, equally many of each; far
    centres are kept from running away."""
    n = values.shape[1]
    few, low, middle, high, most = (values[:, int(q * (n - 1))] for q in (0.01, 0.1, 0.5, 0.9, 0.99))
    if n <= _ALL_WITHIN:
        most = values[:, -1]
    spread = np.where(high > low, (high / 2 - low / 2) / 1.28, values[:, -1] / 2 - values[:, 0] / 2)
    spread[~((spread > 0) & (spread < math.inf))] = 1.0
    first, centres = _firsts(n, COARSE), np.zeros((len(values), COARSE))
    means = _means(values / spread[:, None] - (middle / spread)[:, None], first)
    centres[:, : len(first)] = means.clip(-3.0, 3.0)
    within = (most > few)[:, None]
    return centres, spread, np.where(within, np.stack([few, most], axis=1), values[:, [0, -1]])


def _means(values: Floats, first: Integers) -> Floats:
    """The mean of the values of each bin, given where it starts; bins of one length at once."""
    size, means = np.diff(first, append=values.shape[1]), np.empty((len(values), len(first)))
    for length in np.unique(size).tolist():
        which = np.flatnonzero(size == length)
        means[:, which] = np.take(values, first[which][:, None] + np.arange(length), axis=1).mean(axis=2)
    return means
