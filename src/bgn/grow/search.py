"""The direction that minimises the paper's Eq. (2) itself, as far as a search can tell.

The best cut of every single column, the debiased direction, and pairs of columns at several angles compete. They
are screened on tables of a sample of rows, the best are cut exactly, the winner's angle is refined. Coefficients
are rounded to three digits before anything is cut: what the equation prints is what the network uses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bgn.engines.base import Cut, Direction, Floats, Integers, Output
from bgn.engines.memory import MemoryEngine
from bgn.grow.direction import InnerProducts, direction_of
from bgn.grow.rows import Rows
from bgn.grow.screen import COARSE, FINE, pair_gains, single_gains

_ANGLES = 16
_MOST_IN_PAIRS = 16  # columns, those that gain most alone
_SINGLES, _PAIRS = 2, 3  # how many of each are cut exactly
_DIGITS = 3


@dataclass(frozen=True)
class _Binned:
    """A column in bins: code of every row, and the centre of every bin in robust units."""

    codes: NDArray[np.uint8]
    centres: Floats
    spread: float


class Search:
    """Single columns, pairs at several angles and the debiased direction, the largest gain first."""

    def __init__(self, rows: Rows, max_features: int) -> None:
        self._rows, self._most = rows, max_features
        assert isinstance(rows.sample, MemoryEngine)
        self._sample = rows.sample
        self._products = InnerProducts(rows.train)
        columns = self._sample.columns
        self._usable = np.flatnonzero(self._products.usable)
        self._fine = np.stack([_codes(column, FINE)[0] for column in columns]) if len(columns) else columns
        weight = self._sample.weight if len(self._sample.weight) else np.ones(self._sample.n_rows, np.int64)
        self._count = np.stack(
            [np.bincount(codes, weight, FINE).astype(np.int64) for codes in self._fine]
        )
        self._binned = [_bin(column) for column in columns]

    def learn(self, slot: int) -> None:
        """Take note of the neuron just stored in `slot`."""
        self._products.learn(slot)

    def propose(self, output: Output) -> list[Direction]:
        """The best directions for the residual that `output` leaves, as a sample of rows sees them."""
        if len(self._usable) == 0:
            return []
        values, total = self._values(output)
        singles = self._single_gains(values, total)
        ranked = self._usable[np.argsort(-singles[self._usable], kind="stable")]
        candidates = [Direction((int(j),), (1.0,)) for j in ranked[:_SINGLES]]
        if self._most > 1 and len(ranked) > 1:
            pairs = list(combinations(np.sort(ranked[:_MOST_IN_PAIRS]).tolist(), 2))
            candidates += self._best_pairs(pairs, values, total)
            candidates += self._debiased(output)
        best = self._cut(output, candidates)
        if best and len(best[0].neuron.direction.columns) == 2:
            best = self._cut(output, [*self._turned(best[0].neuron.direction), *(cut.neuron.direction for cut in best)])
        while best and 2 <= len(best[0].neuron.direction.columns) < self._most:
            wider = self._cut(output, self._extended(best[0].neuron.direction, values, total))
            if not wider or wider[0].gain <= 1.01 * best[0].gain:
                break
            best = [*wider[:1], *best]
        keep = 1 if self._rows.sample is self._rows.train else 2
        return [cut.neuron.direction for cut in best[:keep]]

    # -- on the sample -------------------------------------------------------------------------------------

    def _values(self, output: Output) -> tuple[Integers, int]:
        """Weighted residual of the sample's rows, and its sum."""
        values = self._sample.residual(output)
        if len(self._sample.weight):
            values = values * self._sample.weight
        return values, int(values.sum())

    def _cut(self, output: Output, directions: Sequence[Direction]) -> list[Cut]:
        """Exact cuts on the sample, the largest gain first."""
        unique = list(dict.fromkeys(directions))
        cuts = [cut for cut in self._sample.cuts([(output, each) for each in unique]) if cut is not None]
        return sorted(cuts, key=lambda cut: -cut.gain)

    def _single_gains(self, values: Integers, total: int) -> Floats:
        gains = np.zeros(len(self._fine))
        single_gains(self._fine, self._count, values, self._sample.total, total, gains)
        return gains

    def _gains(self, a: _Binned, b: _Binned, angles: Floats, values: Integers, total: int) -> Floats:
        gains = np.empty(len(angles))
        pair_gains(
            a.codes, b.codes, a.centres, b.centres, self._sample.weight, values, angles, self._sample.total, total, gains
        )
        return gains

    def _best_angle(self, a: _Binned, b: _Binned, values: Integers, total: int, around: float | None = None) -> tuple[float, float]:
        """Gain and angle of the best direction of a pair; `around`: only near this angle."""
        width = math.pi / _ANGLES
        if around is None:
            angles = (np.arange(_ANGLES) + 0.5) * width
        else:
            angles = around + width * np.array([0.0, -0.5, -0.25, 0.25, 0.5])
        gains = self._gains(a, b, angles, values, total)
        best = int(np.argmax(gains))
        return float(gains[best]), float(angles[best])

    def _best_pairs(self, pairs: list[tuple[int, int]], values: Integers, total: int) -> list[Direction]:
        """Directions of the pairs that the tables like best."""
        found = self._sample.each(
            lambda pair: self._best_angle(self._binned[pair[0]], self._binned[pair[1]], values, total), pairs
        )
        order = sorted(range(len(pairs)), key=lambda k: (-found[k][0], k))[:_PAIRS]
        directions = []
        for k in order:
            a, b = pairs[k]
            _, angle = self._best_angle(self._binned[a], self._binned[b], values, total, found[k][1])
            directions.append(self._direction(a, b, angle))
        return directions

    def _direction(self, a: int, b: int, angle: float) -> Direction:
        weights = np.array([math.cos(angle), math.sin(angle)])
        spread = np.array([self._binned[a].spread, self._binned[b].spread])
        lead = int(np.argmax(np.abs(weights)))
        with np.errstate(over="ignore", under="ignore"):
            return rounded(direction_of((a, b), weights / weights[lead] * (spread[lead] / spread)))

    def _debiased(self, output: Output) -> list[Direction]:
        support = np.flatnonzero(self._products.lasso(output, self._most))
        direction = self._products.in_units(self._products.least_squares(output, support))
        return [] if direction is None else [rounded(direction)]

    def _turned(self, direction: Direction) -> list[Direction]:
        """The same pair at slightly different angles."""
        a, b = direction.columns
        x, y = (c * self._binned[j].spread for j, c in zip(direction.columns, direction.coefficients, strict=True))
        angle = math.atan2(y, x)
        width = math.pi / _ANGLES
        return [self._direction(a, b, angle + width * turn) for turn in (-0.25, -0.125, -0.06, 0.06, 0.125, 0.25)]

    def _extended(self, direction: Direction, values: Integers, total: int) -> list[Direction]:
        """The direction with one more column, at the angle that the tables like best."""
        line = sum(
            c * self._sample.columns[j].astype(np.float64)
            for j, c in zip(direction.columns, direction.coefficients, strict=True)
        )
        base = _bin(np.asarray(line))
        others = [int(j) for j in self._usable if j not in direction.columns]
        found = self._sample.each(lambda j: self._best_angle(base, self._binned[j], values, total), others)
        order = sorted(range(len(others)), key=lambda k: (-found[k][0], k))[:_PAIRS]
        directions = []
        for k in order:
            angle = found[k][1]
            extra = math.tan(angle) * base.spread / self._binned[others[k]].spread
            if math.isfinite(extra):
                directions.append(
                    rounded(direction_of((*direction.columns, others[k]), np.array([*direction.coefficients, extra])))
                )
        return directions


def rounded(direction: Direction) -> Direction:
    """The direction with coefficients of a few digits; a column whose coefficient no float can hold is dropped."""
    return Direction(direction.columns, tuple(float(f"{c:.{_DIGITS}g}") for c in direction.coefficients))


def _codes(column: NDArray[np.float64], bins: int) -> tuple[NDArray[np.uint8], Floats]:
    """Bin number of every row, and the edges: a bin a value when they are few, otherwise bins of equal size."""
    values = np.unique(column).astype(np.float64)
    edges = values[1:] if len(values) <= bins else values[(np.arange(1, bins) * len(values)) // bins]
    return np.searchsorted(edges, column, side="right").astype(np.uint8), edges


def _bin(column: NDArray[np.float64]) -> _Binned:
    """A column in coarse bins, its centres in units of its robust spread and kept from running away."""
    ordered = np.sort(column.astype(np.float64))
    low, middle, high = (float(ordered[int(q * (len(ordered) - 1))]) for q in (0.1, 0.5, 0.9))
    spread = (high / 2 - low / 2) / 1.28 if high > low else float(ordered[-1] / 2 - ordered[0] / 2)
    if not spread > 0 or not math.isfinite(spread):
        spread = 1.0
    distinct = np.unique(ordered)
    cuts = distinct if len(distinct) <= COARSE else np.unique(ordered[(np.arange(COARSE) * len(ordered)) // COARSE])
    codes = np.clip(np.searchsorted(cuts, column, side="right") - 1, 0, COARSE - 1).astype(np.uint8)
    centres = np.zeros(COARSE)
    means = np.array([np.mean(column[codes == b] / spread - middle / spread) for b in range(len(cuts))])
    centres[: len(cuts)] = np.clip(means, -3.0, 3.0)
    centres[len(cuts) :] = centres[len(cuts) - 1]
    return _Binned(codes, centres, spread)
