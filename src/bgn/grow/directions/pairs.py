"""Pairs of columns at several angles, judged from two-way tables of a sample of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bgn.compiling import compiled
from bgn.engines.coding import Coding
from bgn.engines.kernels.cuts import best_subsets
from bgn.engines.memory import MemoryEngine
from bgn.engines.protocol import Floats, Integers
from bgn.engines.reduce import Engine
from bgn.grow.constraints import Constraints
from bgn.grow.directions.screen import FINE, best_edge, single_gains
from bgn.model.term import Projection

# -- What cuts of two columns at several angles could gain, from two-way tables of counts and sums, compiled.

COARSE = 32  # bins of each column of a pair
ANGLES = 16  # directions of a pair
BINS = 64  # bins along each
NEVER = 2  # in the place of a sign: an angle that is not allowed


@compiled
def place_in_bins(column, first, codes):
    """Write the bin of every row of a column: the last whose `first` value is not above the row's. O(rows log bins).
    All rows take each step of the search together: there is no branch that the processor would have to guess."""
    low, number = np.empty(len(column), np.int64), len(first)
    low[:] = 0
    while number > 1:
        half = number >> 1
        for i in range(len(column)):
            low[i] += half * np.int64(first[low[i] + half] <= np.float64(column[i]))
        number -= half
    for i in range(len(column)):
        codes[i] = low[i]


@compiled
def place_along(centers, bins, pair, turn, x, y):
    """Write where the bins of two columns lie along ``cos * x + sin * y``; their start and scale."""
    p, q = pair
    cos, sin = turn
    for b in range(COARSE):
        x[b], y[b] = centers[p, b] * cos, centers[q, b] * sin
    low = min(x[0], x[bins[p] - 1]) + min(y[0], y[bins[q] - 1])
    high = max(x[0], x[bins[p] - 1]) + max(y[0], y[bins[q] - 1])
    return low, BINS / (high - low) if high > low else 0.0


@compiled
def add_up(codes, pair, values, table):
    """Sum `values`, one per row, or the rows where there are none, in the cells of a two-way table."""
    first, second = codes[pair[0]], codes[pair[1]]
    table[:] = 0
    for i in range(len(first)):
        table[np.int64(first[i]) * COARSE + np.int64(second[i])] += values[i] if len(values) else 1


@compiled
def place_cells(codes, centers, bins, pairs, turns, weight, weights, places, count):
    """For each pair of binned columns and each turn (cosine, sine), write where the cells of a two-way table fall.
    Written: the weight in every cell, `weights` (pairs x cells); its bin among those of all angles, `places` (pairs x
    cells x angles); and the weight in every bin, `count` (pairs x angles x bins)."""
    x, y = np.empty(COARSE), np.empty(COARSE)
    count[:] = 0
    for k in range(len(pairs)):
        p, q = pairs[k]
        add_up(codes, (p, q), weight, weights[k])
        places[k] = 0  # for cells that no row is in
        for a in range(len(turns)):
            low, scale = place_along(centers, bins, (p, q), turns[a], x, y)
            for u in range(bins[p]):
                for v in range(bins[q]):
                    b = min(np.int64((x[u] + y[v] - low) * scale), BINS - 1)
                    places[k, u * COARSE + v, a] = a * BINS + b
                    count[k, a, b] += weights[k, u * COARSE + v]


@compiled
def pair_gains(codes, pairs, kept, values, rows, total, wanted, out):
    """For each pair of binned columns, the number of its best angle and the gain it promises. `out` are the tables,
    gains and angles to write: the rows are summed once per pair in a two-way table. `kept` is what :func:`place_cells`
    wrote, and before it where in that each pair is. `wanted` (pairs x angles) are the signs that output weights must
    have, 0 for either and `NEVER` for an angle that is not allowed."""
    (which, places, count), (tables, gains, best) = kept, out
    sums = np.empty(ANGLES * BINS, np.int64)
    for k in range(len(pairs)):
        w, table = which[k], tables[k]
        add_up(codes, (pairs[k, 0], pairs[k, 1]), values, table)
        sums[:] = 0
        for cell in range(COARSE * COARSE):
            place, held = places[w, cell], table[cell]
            for a in range(ANGLES):
                sums[place[a]] += held
        gains[k] = -1.0
        for a in range(ANGLES):
            if wanted[k, a] == NEVER:
                continue
            g = best_edge(count[w, a], sums[a * BINS : (a + 1) * BINS], rows, total, wanted[k, a])
            if g > gains[k]:
                gains[k], best[k] = g, a


@compiled
def near_gains(centers, bins, pairs, turns, weights, tables, rows, total, wanted, best):
    """For each pair, the number of the best of its own angles (pairs x angles x cosine and sine), given its tables; see
    :func:`pair_gains`."""
    x, y = np.empty(COARSE), np.empty(COARSE)
    count, sums = np.empty(BINS, np.int64), np.empty(BINS, np.int64)
    for k in range(len(pairs)):
        p, q = pairs[k]
        most = -1.0
        for a in range(turns.shape[1]):
            if wanted[k, a] == NEVER:
                continue
            low, scale = place_along(centers, bins, (p, q), turns[k, a], x, y)
            count[:] = 0
            sums[:] = 0
            for u in range(bins[p]):
                for v in range(bins[q]):
                    b = min(np.int64((x[u] + y[v] - low) * scale), BINS - 1)
                    count[b] += weights[k, u * COARSE + v]
                    sums[b] += tables[k, u * COARSE + v]
            g = best_edge(count, sums, rows, total, wanted[k, a])
            if g > most:
                most, best[k] = g, a


ANGLE_STEP = math.pi / ANGLES
_ALL_ROUND = (np.arange(ANGLES) + 0.5) * ANGLE_STEP
_NEARBY = ANGLE_STEP * np.array([0.0, -0.5, -0.25, 0.25, 0.5])
_KEPT = 256  # pairs, some 48 KiB each
_PAIRS_PER_THREAD = 8
_AT_ONCE = 64  # columns
_ALL_WITHIN = 50  # values: one of so few is more than may lie beyond a column's reach

# Shares so many items out among threads, at least so many to each.
Share = Callable[[Callable[[slice], None], int, int], None]


@dataclass(frozen=True)
class Binned:
    """Columns in coarse bins: code of every row, center of every bin in units of the column's scale, and where
    all but a few values lie. It depends on the different values alone, not on their order or number."""

    codes: NDArray[np.uint8]
    centers: Floats
    bins: Integers
    scale: Floats
    reach: Floats

    @classmethod
    def of(cls, columns: Iterable[NDArray[Any]], values: Iterable[Floats]) -> Binned:
        """Bin every column, given its different values."""
        values = list(values)
        codes = np.stack([codes_of(*both, COARSE) for both in zip(columns, values, strict=True)])
        size = np.array([len(own) for own in values])
        centers, scale, reach = np.zeros((len(values), COARSE)), np.empty(len(values)), np.empty((len(values), 2))
        for number in np.unique(size).tolist():  # columns of equally many values at once, but not too many
            alike = np.flatnonzero(size == number)
            for some in np.split(alike, range(_AT_ONCE, len(alike), _AT_ONCE)):
                centers[some], scale[some], reach[some] = _places(np.stack([values[j] for j in some.tolist()]))
        return cls(codes, centers, np.minimum(size, COARSE), scale, reach)

    def with_column(self, column: NDArray[np.float64]) -> Binned:
        """The same with one more column, the last."""
        one = Binned.of([column], [different(column)])
        return Binned(
            np.concatenate([self.codes, one.codes]),
            np.concatenate([self.centers, one.centers]),
            np.append(self.bins, one.bins),
            np.append(self.scale, one.scale),
            np.concatenate([self.reach, one.reach]),
        )


@dataclass(frozen=True, eq=False)
class BestAngles:
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

    def at(self, index: Integers) -> BestAngles:
        """Some of the pairs."""
        return BestAngles(self.pairs[index], self.gains[index], self.best[index], self.which[index], self.tables[index])


class Pairs:
    """Where on two-way tables the best cut of every pair of columns lies. How the cells of a table fall along an angle,
    and the weight there, does not depend on the residual: it is kept for the pairs asked about before. `wanted` tells
    for every column whether output weights of rules that read it with a positive coefficient must be positive (1),
    negative (-1), or either (0)."""

    def __init__(self, binned: Binned, weight: Integers, share: Share, wanted: Integers) -> None:
        self.binned, self._weight, self._share, self._wanted = binned, weight, share, wanted
        self._signed = bool(wanted.any())
        self._known: dict[tuple[int, ...], int] = {}
        self._last: tuple[bytes, Integers] = b"", np.zeros(0, np.int64)  # what was looked up last, and where it is
        self._version = np.zeros(len(binned.codes), np.int64)
        # Weights of the cells, their places, and weights of the bins.
        self._kept = _empty_cells(0)

    def best(self, pairs: Integers, values: Integers, rows: int, total: int) -> BestAngles:
        """The best direction of each pair; `values` are weighted residuals."""
        versions = np.concatenate([pairs, self._version[pairs]], axis=1)
        if (key := versions.tobytes()) != self._last[0]:
            self._last = key, self._looked_up(versions)
        which, table = self._last[1], self.binned
        _, places, count = self._kept
        gains, best = np.empty(len(pairs)), np.zeros(len(pairs), np.int64)
        tables = np.empty((len(pairs), COARSE * COARSE), np.int64)
        wanted = self._signs(pairs, _turned()[0][None])

        def part(some: slice) -> None:
            out = tables[some], gains[some], best[some]
            kept = which[some], places, count
            pair_gains(table.codes, pairs[some], kept, values, rows, total, wanted[some], out)

        self._share(part, len(pairs), _PAIRS_PER_THREAD)
        return BestAngles(pairs, gains, best, which, tables)

    def rewrite(self, column: int, codes: NDArray[np.uint8]) -> None:
        """Take other codes for the rows of a column."""
        if not np.array_equal(self.binned.codes[column], codes):
            self.binned.codes[column] = codes
            self._version[column] += 1

    def near(self, best_angles: BestAngles, rows: int, total: int) -> Floats:
        """The best angle of each pair near the one just found."""
        best, (angles, turned) = (
            np.zeros(len(best_angles.pairs), np.int64),
            (table[best_angles.best] for table in _turned()[1:]),
        )
        about = self.binned.centers, self.binned.bins, best_angles.pairs, turned
        wanted = self._signs(best_angles.pairs, turned)
        near_gains(*about, self._kept[0][best_angles.which], best_angles.tables, rows, total, wanted, best)
        return angles[np.arange(len(best)), best]

    def _signs(self, pairs: Integers, turned: Floats) -> Integers:
        """The signs that output weights must have for pairs at angles (.. x angles x cosine and sine), or `NEVER`."""
        if not self._signed:
            return np.zeros((len(pairs), turned.shape[-2]), np.int64)
        one, other = (np.sign(turned[..., k]).astype(np.int64) * self._wanted[pairs[:, k], None] for k in range(2))
        return np.where(one * other < 0, NEVER, np.where(one == 0, other, one))

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
                more = _empty_cells(max(len(self._known), min(_KEPT, 2 * len(self._kept[0]))))
                for new, old in zip(more, self._kept, strict=True):
                    new[:start] = old[:start]
                self._kept = more
            self._place(np.array([pair[:2] for pair in missing]), start)
        return np.array([self._known[pair] for pair in named])

    def _place(self, pairs: Integers, start: int) -> None:
        table, kept_now = self.binned, [kept[start : start + len(pairs)] for kept in self._kept]

        def part(some: slice) -> None:
            place_cells(
                table.codes, table.centers, table.bins, pairs[some], _turned()[0], self._weight,
                *(kept[some] for kept in kept_now),
            )  # fmt: skip

        self._share(part, len(pairs), _PAIRS_PER_THREAD)


@cache
def _turned() -> tuple[Floats, Floats, Floats]:
    """Cosines and sines of all angles; of each the angles near it, and their cosines and sines."""
    nearby = _ALL_ROUND[:, None] + _NEARBY
    return turns(_ALL_ROUND), nearby, turns(nearby)


def _empty_cells(pairs: int) -> tuple[NDArray[Any], ...]:
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
    values = []
    for start in range(0, len(columns), _AT_ONCE):
        some = np.sort(columns[start : start + _AT_ONCE], axis=1).astype(np.float64, copy=False)
        new = some[:, 1:] != some[:, :-1]
        distinct = new.all(axis=1).tolist()
        values += [some[k] if all_new else some[k][np.append(True, new[k])] for k, all_new in enumerate(distinct)]
    return values


def codes_of(column: NDArray[Any], values: Floats, bins: int) -> NDArray[np.uint8]:
    """Bin number of every row of a column with these different values. One bin per value when they are few, otherwise
    bins of equally many values."""
    codes = np.empty(len(column), np.uint8)
    place_in_bins(column, values[_firsts(len(values), bins)], codes)
    return codes


@lru_cache(64)
def _firsts(values: int, bins: int) -> Integers:
    """The first of so many different values in each bin."""
    return np.arange(min(bins, values)) * values // min(bins, values)


def _places(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Centers of bins, robust scale and reach of columns with these different values, equally many of each; far
    centers are kept from running away."""
    n = values.shape[1]
    few, low, middle, high, most = (values[:, int(q * (n - 1))] for q in (0.01, 0.1, 0.5, 0.9, 0.99))
    if n <= _ALL_WITHIN:
        most = values[:, -1]
    scale = np.where(high > low, (high / 2 - low / 2) / 1.28, values[:, -1] / 2 - values[:, 0] / 2)
    scale[~((scale > 0) & (scale < math.inf))] = 1.0
    first, centers = _firsts(n, COARSE), np.zeros((len(values), COARSE))
    means = _means(values / scale[:, None] - (middle / scale)[:, None], first)
    centers[:, : len(first)] = means.clip(-3.0, 3.0)
    within = (most > few)[:, None]
    return centers, scale, np.where(within, np.stack([few, most], axis=1), values[:, [0, -1]])


def _means(values: Floats, first: Integers) -> Floats:
    """The mean of the values of each bin, given where it starts; bins of one length at once."""
    size, means = np.diff(first, append=values.shape[1]), np.empty((len(values), len(first)))
    for length in np.unique(size).tolist():
        which = np.flatnonzero(size == length)
        means[:, which] = np.take(values, first[which][:, None] + np.arange(length), axis=1).mean(axis=2)
    return means


# -- Sines, cosines and logarithms that are the same number on every machine.

_BITS = 192  # of the fraction: a cosine near zero keeps more than a float64 holds
_DIGITS = Context(prec=40)


@lru_cache(maxsize=256)
def turn(angle: float) -> tuple[float, float]:
    """Cosine and sine of an angle of at most a few turns."""
    numerator, denominator = angle.as_integer_ratio()
    x = (numerator << _BITS) // denominator
    return _series(x, 1 << _BITS, 0), _series(x, x, 1)


def _series(x: int, term: int, degree: int) -> float:
    """The sum of the Taylor series of cosine or sine that starts with a term of such a degree."""
    square, total = x * x >> _BITS, 0
    while term:
        total += term
        term = -(term * square >> _BITS) // ((degree + 1) * (degree + 2))
        degree += 2
    return total / (1 << _BITS)


def turns(angles: NDArray[Any]) -> Floats:
    """Cosines and sines of many angles, along a new last axis."""
    return np.array([turn(angle) for angle in angles.ravel().tolist()]).reshape(*angles.shape, 2)


@lru_cache(maxsize=256)
def logarithm(number: int) -> float:
    """The natural logarithm of a whole number."""
    return float(_DIGITS.ln(Decimal(number)))


# -- The columns of a sample in bins: they depend on no residual, so they are worked out once for all growths on it.

_FLAG = np.array([0.0, 1.0])


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """What screening knows of columns: how many values each has, and which where they are two; fine bins of every line
    along a single one (see :class:`~bgn.grow.directions.pairs.SingleLines`), and coarse bins for pairs."""

    different: Integers
    two_values: list[list[float] | None]
    codes: NDArray[np.uint8]
    weights: Integers
    coarse: Binned
    lines: list[Projection]

    @classmethod
    def of(cls, columns: NDArray[Any], weight: Integers, coding: Coding | None) -> ColumnBins:
        """Bin columns; those of categories hold 0 and 1, as the categories that are asked for will tell."""
        subsets, marked = ((), ()) if coding is None else (coding.subsets, coding.marked)
        values = different_values(columns)
        for j in subsets:
            values[j] = _FLAG
        if subsets:
            columns = columns.astype(np.float64)
            columns[list(subsets)] = 0.0
        codes = [codes_of(*both, FINE) for both in zip(columns, values, strict=True)]
        for j in marked:
            missing = columns[coding.mark_of(j)] > 0  # type: ignore[union-attr]
            fewer = codes_of(columns[j], values[j], FINE - 1)
            codes += [np.where(missing, 0, fewer + 1).astype(np.uint8), np.where(missing, FINE - 1, fewer)]
        fine = np.stack(codes).astype(np.uint8)
        weights = np.stack([np.bincount(column, weight, FINE).astype(np.int64) for column in fine])
        two = [own.tolist() if len(own) == 2 else None for own in values]
        alone = [Projection((j,), (1.0,)) for j in range(len(columns))]
        return cls(np.array([*map(len, values)]), two, fine, weights, Binned.of(columns, values), alone)


_KNOWN: WeakKeyDictionary[MemoryEngine, ColumnBins] = WeakKeyDictionary()


def bins_of(sample: MemoryEngine, coding: Coding | None) -> ColumnBins:
    """The columns of a sample in bins, kept as long as the sample is. `coding` is always the same for one sample."""
    bins = _KNOWN.get(sample)
    if bins is None:
        part = sample.part
        weight = part.weight if len(part.weight) else np.ones(part.n_rows, np.int64)
        bins = _KNOWN[sample] = ColumnBins.of(part.columns, weight, coding)
    return bins


# -- Rules about one column, as a sample of rows sees them: where to cut a number, which categories of a category to
# ask for, and on which side of a cut missing values are best.

# Levels are taken to have so many rows more than they have, with the mean residual of all.
_PRIOR = 10.0
# Of the variance between categories that differ by chance alone, the best two groups of them explain so much.
_BY_CHANCE = 2 / math.pi
_LINES_PER_THREAD = 64


class Subsets:
    """Which categories of the unordered categories to ask for."""

    def __init__(self, coding: Coding, columns: NDArray[np.float64], weight: Integers, unit: float) -> None:
        self.columns, self._prior = coding.subsets, _PRIOR * unit
        self.codes = columns[list(self.columns)].astype(np.int32)
        categories = [(coding.categories[j] or 0) + 1 for j in self.columns]  # one more for missing values
        self._starts = np.cumsum([0, *categories])
        self._count = np.zeros(self._starts[-1], np.int64)
        for start, codes in zip(self._starts.tolist(), self.codes, strict=False):
            np.add.at(self._count, start + codes, weight)
        self._chosen = np.zeros(len(self._count), np.uint8)
        self.gains = np.zeros(len(self.columns))
        self.different = np.array([np.count_nonzero(self._count[a:b]) for a, b in self._places()])

    def _places(self) -> list[tuple[int, int]]:
        return list(zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True))

    def choose(self, values: Integers, rows: int, total: int) -> None:
        """Choose categories by weighted residuals."""
        about = self._starts, self._count, values, rows, total, self._prior
        best_subsets(self.codes, *about, self._chosen, self.gains)

    def chosen(self) -> list[NDArray[np.uint8]]:
        """For every category which categories are asked for, the missing value's last."""
        return [self._chosen[a:b] for a, b in self._places()]

    def spelled(self, direction: Projection) -> Projection:
        """A projection of columns of 0 and 1 in their place, with a value per level."""
        if not any(j in self.columns for j in direction.columns):
            return direction
        coefficients = []
        chosen = dict(zip(self.columns, self.chosen(), strict=True))
        for j, factor in zip(direction.columns, direction.factors, strict=True):
            coefficients.append(tuple(factor if one else 0.0 for one in chosen[j].tolist()) if j in chosen else factor)
        return Projection(direction.columns, tuple(coefficients))

    def chance_gains(self) -> dict[int, float]:
        """What the categories of each category seem to gain by chance, in units of the variance."""
        return dict(zip(self.columns, (_BY_CHANCE * np.maximum(self.different - 1, 0)).tolist(), strict=True))


class SingleLines:
    """Lines along one column each, screened by bins; `owner` tells the column of every line."""

    def __init__(self, bins: ColumnBins, coding: Coding | None, train: Engine, constraints: Constraints) -> None:
        columns = len(bins.different)
        n_columns = columns if coding is None else coding.n_columns
        self.lines = [*bins.lines]
        owner = [*range(n_columns)]
        for j in () if coding is None else coding.marked:
            owner.append(j)
        for j in () if coding is None else coding.marked:
            low, high, _ = train.seen()[j]
            # A power of two by which a missing value is moved beyond all numbers of the column.
            far = math.ldexp(1.0, math.frexp(high / 2 - low / 2)[1] + 1) if high / 2 - low / 2 > 0 else 1.0
            mark = coding.mark_of(j)  # type: ignore[union-attr]
            self.lines += [Projection((j, mark), (1.0, -far)), Projection((j, mark), (1.0, far))]
            owner += [j, j]
        self._codes, self._count = bins.codes, bins.weights
        self._owner = np.array(owner)
        self._wanted = constraints.of_all([line.columns[0] for line in self.lines])
        self._n_columns, self._plain = n_columns, len(self.lines) == n_columns

    def gains(self, values: Integers, rows: int, total: int, share: Share) -> Floats:
        """What every line gains; the engine's columns come first."""
        gains, about = np.zeros(len(self._codes)), (values, rows, total)

        def part(some: slice) -> None:
            single_gains(self._codes[some], self._count[some], *about, self._wanted[some], gains[some])

        share(part, len(gains), _LINES_PER_THREAD)
        return gains

    def best(self, gains: Floats) -> tuple[Floats, Integers]:
        """What every column of the table gains, and along which of its lines."""
        if self._plain:
            return gains, np.arange(len(gains))
        best, which = np.full(self._n_columns, -1.0), np.zeros(self._n_columns, np.int64)
        for line in np.argsort(-gains, kind="stable")[::-1].tolist():  # the last that is written is the best
            best[self._owner[line]], which[self._owner[line]] = gains[line], line
        return best, which


def largest(values: Floats, most: int) -> Integers:
    """Where the largest values are, at most so many, the largest first and of equal ones the first."""
    some = np.arange(len(values))
    if len(values) > 4 * most:
        some = np.flatnonzero(values >= np.partition(values, len(values) - most)[len(values) - most])
    return some[np.argsort(-values[some], kind="stable")][:most]
