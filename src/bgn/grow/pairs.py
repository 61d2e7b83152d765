"""Pairs of columns at several angles, judged from two-way tables of a sample of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.base import Floats, Integers
from bgn.grow.screen import BINS, COARSE, pair_gains, place_cells

ANGLES = 16
WIDTH = math.pi / ANGLES
_ALL_ROUND = (np.arange(ANGLES) + 0.5) * WIDTH
_NEARBY = WIDTH * np.array([0.0, -0.5, -0.25, 0.25, 0.5])
_KEPT = 256  # pairs, some 24 KiB each
_PAIRS_A_THREAD = 8

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
    def of(cls, columns: Iterable[NDArray[Any]]) -> Binned:
        """Bin every column."""
        codes, centres, bins, spread, reach = zip(*(_bin(column) for column in columns), strict=True)
        return cls(np.stack(codes), np.stack(centres), np.array(bins), np.array(spread), np.array(reach))

    def with_column(self, column: NDArray[np.float64]) -> Binned:
        """The same with one more column, the last."""
        one = Binned.of([column])
        return Binned(
            np.concatenate([self.codes, one.codes]),
            np.concatenate([self.centres, one.centres]),
            np.append(self.bins, one.bins),
            np.append(self.spread, one.spread),
            np.concatenate([self.reach, one.reach]),
        )


class Pairs:
    """Where on two-way tables the best cut of every pair of columns lies.

    How the cells of a table fall along an angle, and the weight there, does not depend on the residual: it is kept for
    the pairs asked about before.
    """

    def __init__(self, binned: Binned, weight: Integers, share: Share) -> None:
        self.binned, self._weight, self._share = binned, weight, share
        self._known: dict[tuple[int, int], int] = {}
        self._places, self._count = _room(0, ANGLES)

    def best(self, pairs: Integers, values: Integers, rows: int, total: int) -> tuple[Floats, Floats]:
        """Gain and angle of the best direction of each pair; `values` are weighted residuals."""
        which = self._find(pairs)
        gains, best = self._gains(pairs, which, self._places, self._count, values, rows, total)
        return gains, np.asarray(_ALL_ROUND[best], np.float64)

    def near(self, pairs: Integers, around: Floats, values: Integers, rows: int, total: int) -> Floats:
        """The best angle of each pair near a given one."""
        angles = around[:, None] + _NEARBY
        room, which = _room(len(pairs), len(_NEARBY)), np.arange(len(pairs))
        self._place(pairs, angles, *room)
        _, best = self._gains(pairs, which, *room, values, rows, total)
        return angles[which, best]

    def _find(self, pairs: Integers) -> Integers:
        """Where what is known of each pair is kept."""
        named = list(map(tuple, pairs.tolist()))
        if len(self._known) + len(named) > _KEPT:
            self._known = {}
        missing = [pair for pair in named if pair not in self._known]
        if missing:
            start = len(self._known)
            self._known.update((pair, start + k) for k, pair in enumerate(missing))
            if len(self._known) > len(self._places):
                more = _room(max(len(self._known), min(_KEPT, 2 * len(self._places))), ANGLES)
                more[0][:start], more[1][:start] = self._places[:start], self._count[:start]
                self._places, self._count = more
            new = slice(start, len(self._known))
            angles = np.tile(_ALL_ROUND, (len(missing), 1))
            self._place(np.array(missing), angles, self._places[new], self._count[new])
        return np.array([self._known[pair] for pair in named])

    def _place(self, pairs: Integers, angles: Floats, places: NDArray[np.uint8], count: Integers) -> None:
        table = self.binned

        def part(some: slice) -> None:
            place_cells(
                table.codes, table.centres, table.bins, pairs[some], angles[some], self._weight, places[some],
                count[some],
            )  # fmt: skip

        self._share(part, len(pairs), _PAIRS_A_THREAD)

    def _gains(
        self, pairs: Integers, which: Integers, places: NDArray[np.uint8], count: Integers, values: Integers, rows: int,
        total: int,
    ) -> tuple[Floats, Integers]:  # fmt: skip
        gains, best = np.empty(len(pairs)), np.zeros(len(pairs), np.int64)
        table = self.binned

        def part(some: slice) -> None:
            pair_gains(
                table.codes, table.bins, pairs[some], which[some], places, count, values, rows, total, gains[some],
                best[some],
            )  # fmt: skip

        self._share(part, len(pairs), _PAIRS_A_THREAD)
        return gains, best


def _room(pairs: int, angles: int) -> tuple[NDArray[np.uint8], Integers]:
    return np.empty((pairs, COARSE * COARSE, angles), np.uint8), np.empty((pairs, angles, BINS), np.int64)


def codes_of(column: NDArray[np.float64], bins: int) -> tuple[NDArray[np.uint8], Floats, Integers]:
    """Bin number of every row, the different values, and the first of them in each bin.

    A bin a value when they are few, otherwise bins of equally many values.
    """
    values = np.unique(column).astype(np.float64)
    first = np.arange(min(bins, len(values))) * len(values) // min(bins, len(values))
    return (np.searchsorted(values[first], column, side="right") - 1).astype(np.uint8), values, first


def _bin(column: NDArray[np.float64]) -> tuple[NDArray[np.uint8], Floats, int, float, tuple[float, float]]:
    """Codes, centres, number of bins, robust spread and reach of a column; far centres are kept from running away."""
    codes, values, first = codes_of(column, COARSE)
    few, low, middle, high, most = (float(values[int(q * (len(values) - 1))]) for q in (0.01, 0.1, 0.5, 0.9, 0.99))
    spread = (high / 2 - low / 2) / 1.28 if high > low else float(values[-1] / 2 - values[0] / 2)
    if not 0 < spread < math.inf:
        spread = 1.0
    centres = np.zeros(COARSE)
    for b, part in enumerate(np.split(values, first[1:])):
        centres[b] = np.clip(np.mean(part / spread - middle / spread), -3.0, 3.0)
    return codes, centres, len(first), spread, (few, most) if most > few else (values[0], values[-1])
