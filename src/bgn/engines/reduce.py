"""From the replies of many parts to one exact answer: sums, covariances, regions, and the best cut.

An :class:`Engine` puts every request to all its parts and adds up what they reply; where they live is up to
:class:`~bgn.engines.protocol.Parts`: rows in memory, blocks on disk, a cluster's workers. A :class:`CellEngine` finds
cuts without sorting all rows: a :class:`Sieve` sorts them into cells along a direction, parts add up what a cut needs
to know of every cell, these sums merge, and together they leave a few cells where the best cut may hide
(:func:`prune`). Their rows, from all parts, are then sorted and tried one by one (:func:`best_inside`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Concatenate, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgn.engines.kernels import cuts
from bgn.engines.protocol import (
    COLUMN_BITS,
    LINEAR_BITS,
    NO_OUTPUT,
    Arguments,
    CellPart,
    Columns,
    Cut,
    CutRequest,
    Floats,
    Integers,
    LinearTerm,
    Loss,
    Output,
    Parts,
    Reply,
    RowPart,
    whole,
)
from bgn.inputs.splits import mix
from bgn.model.term import Oblique, Projection

# Keys of regions; their weights and target sums, or the weights of their classes.
Regions = tuple[NDArray[np.uint64], Integers]


def merge_regions(parts: Sequence[Regions]) -> Regions:
    """Keys and sums of the regions of several parts, as one."""
    if len(parts) == 1:
        return parts[0]
    keys, number = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    sums = np.zeros((len(keys), parts[0][1].shape[1]), np.int64)
    np.add.at(sums, number, np.concatenate([part for _, part in parts]))
    return keys, sums


@cache
def _keys(groups: int) -> NDArray[np.uint64]:
    """A random number for each of the 256 answers of every group of eight rules."""
    with np.errstate(over="ignore"):
        keys = mix(np.arange(1, 256 * groups + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return keys.reshape(groups, 256)


def region_keys(n_rules: int) -> NDArray[np.uint64]:
    """The same for the first `n_rules` slots alone: bits beyond hold old answers."""
    groups = (n_rules + 7) >> 3
    keys = _keys(1 << groups.bit_length())[:groups].copy()
    if n_rules & 7:
        keys[-1] = keys[-1][np.arange(256) & ((1 << (n_rules & 7)) - 1)]
    return keys


_HALF = 31
_LOW_HALF = (1 << _HALF) - 1
_MOST_EXACT = 2.0**59


def covariances(limbs: Integers, sums: Integers, other: Integers | int, total: int) -> NDArray[np.float64]:
    """Return ``((high * 2**31 + low) * total - own * other) / total`` for every pair of limbs and sum of its own."""
    others = np.broadcast_to(np.asarray(other, np.int64), sums.shape)
    high, low = limbs[:, 0] + (limbs[:, 1] >> _HALF), limbs[:, 1] & _LOW_HALF
    most, largest = _largest_of(sums), _largest_of(others)
    if max(_largest_of(high) * total, most * largest / 2**_HALF, most, largest, total * 2.0**30) >= _MOST_EXACT:
        triples = zip(limbs.tolist(), sums.tolist(), others.tolist(), strict=True)
        return np.array(
            [(((up << _HALF) + down) * total - one * two) / total for (up, down), one, two in triples], float
        )
    own, rest, far, near = sums >> _HALF, sums & _LOW_HALF, others >> _HALF, others & _LOW_HALF
    high = high * total - (((own * far) << _HALF) + own * near + rest * far)
    return _rounded_quotients(high, low * total - rest * near, total)


def _rounded_quotients(high: Integers, low: Integers, total: int) -> NDArray[np.float64]:
    """``(high * 2**31 + low) / total``, rounded as the division of whole numbers is."""
    high, low = high + (low >> _HALF), low & _LOW_HALF
    whole = high // total
    part = ((high - whole * total) << _HALF) + low
    rest = part // total
    # Beyond 2**54 a fraction only tells on which side of a whole number the quotient lies: a half tells it, too.
    quotients = np.ldexp(whole.astype(np.float64), _HALF) + (rest + 0.5 * (part > rest * total))
    small = np.abs(high) < 1 << 21  # floats divide as they are
    quotients[small] = (np.ldexp(high[small].astype(np.float64), _HALF) + low[small]) / total
    within = (np.abs(quotients) < 2.0**54) | (np.abs(whole) >= 1 << 53)
    for k in np.flatnonzero(within & ~small).tolist():
        quotients[k] = ((int(high[k]) << _HALF) + int(low[k])) / total
    return quotients


def _largest_of(values: Integers) -> float:
    """The largest of some whole numbers, whatever their signs."""
    return max(-float(values.min(initial=0)), float(values.max(initial=0)))


CELLS = 8192
CELLS_IN_WINDOW = 2048
_INNER_CELLS = 2048
PROBES = 64  # rows of a part that tell how far projections reach
_FEW_ROWS = 2048

# Gain, weight below, sum below, projection just below, projection just above.
Best = tuple[float, int, int, float, float]
NO_CUT: Best = (-1.0, 0, 0, 0.0, 0.0)
_NOTHING_BEFORE = np.zeros((1, 2), np.int64)
# Projection, residual, weight (or nothing) and cell of some rows.
RowsInCells = tuple[Floats, Integers, Integers, NDArray[np.uint16]]
# Weight, (residual sum, sum of positive residuals) and (smallest, largest) projection of every cell.
CellSums = tuple[Integers, Integers, Floats]
# Columns, which of them, and their coefficients.
Line = tuple[NDArray[Any], Integers, Floats]


@dataclass(frozen=True, eq=False)
class Finer:
    """Cells inside cells: `size` for each that has a family number in `family` (-1 for those left out)."""

    family: Integers
    extent: Floats
    size: int


@dataclass(frozen=True, eq=False)
class Sieve:
    """Which cell a row falls in, given the residual that `output` leaves. Cell ``floor((z - low) * scale)``, clamped to
    0 .. size - 1; then, level by level, a finer one inside it. Where it is `bounded`, no cut is looked for inside the
    first and the last cell."""

    output: Output
    projection: Projection
    low: float
    scale: float
    size: int
    finer: tuple[Finer, ...] = ()
    bounded: bool = False

    @property
    def n_cells(self) -> int:
        return self.finer[-1].size * (int(self.finer[-1].family.max()) + 1) if self.finer else self.size

    def same(self, other: Sieve) -> bool:
        return (self.projection, self.low, self.scale, self.size, self.bounded) == (
            other.projection, other.low, other.scale, other.size, other.bounded
        )  # fmt: skip

    def inside(self, pruned: PrunedCells) -> Sieve:
        """The sieve that splits the cells that survived."""
        return replace(self, finer=(*self.finer, pruned.finer()))


@dataclass(frozen=True, eq=False)
class PrunedCells:
    """Cells and the best cut at their edges: which cells may hide a better one, and what lies before each."""

    best: Best
    cells: CellSums
    survives: NDArray[np.uint8]
    survivors: int
    prefix: Integers

    @property
    def chosen(self) -> Integers:
        return np.flatnonzero(self.survives)

    def finer(self) -> Finer:
        """Cells of its own for every surviving cell."""
        family = np.full(len(self.survives), -1, np.int64)
        family[self.chosen] = np.arange(self.survivors)
        return Finer(family, self.cells[2], max(2, 2 * _INNER_CELLS // self.survivors))


def merge(parts: Sequence[CellSums]) -> CellSums:
    """Cells of several parts, as one; the first part's arrays are written over."""
    whole, *others = parts
    for count, sums, extent in others:
        whole[0][:] += count
        whole[1][:] += sums
        np.minimum(whole[2][:, 0], extent[:, 0], out=whole[2][:, 0])
        np.maximum(whole[2][:, 1], extent[:, 1], out=whole[2][:, 1])
    return whole


def prune(
    cells: CellSums, rows: int, total: int, best: Best = NO_CUT, starts: Integers | None = None, bounded: bool = False
) -> PrunedCells:
    """The best cut at an edge between cells, and the cells that may hide a better one. `starts` holds weight and
    residual sum before each family of cells. When `bounded`, nothing is looked for inside the first and the last
    cell."""
    size = len(cells[0])
    survives, prefix = np.empty(size, np.uint8), np.empty((size, 2), np.int64)
    starts = _NOTHING_BEFORE if starts is None else starts
    best, survivors = cuts.prune_cells(cells, starts, rows, total, best, survives, prefix)
    if bounded:
        survivors -= int(survives[0]) + int(survives[-1])
        survives[0] = survives[-1] = 0
    return PrunedCells(best, cells, survives, survivors, prefix)


def best_inside(rows: RowsInCells, pruned: PrunedCells, weight: int, total: int) -> Best:
    """Try the cuts inside the surviving cells: split them once more if they hold many rows, then sort."""
    if len(rows[0]) > _FEW_ROWS and 2 * pruned.survivors <= _INNER_CELLS:
        rows, pruned = _split(rows, pruned, weight, total)
    return cuts.scan_sorted(chosen_rows(rows, rows[0].argsort()), pruned.prefix, weight, total, pruned.best)


def _split(rows: RowsInCells, pruned: PrunedCells, weight: int, total: int) -> tuple[RowsInCells, PrunedCells]:
    """Give every surviving cell finer cells of its own; keep the rows of those that survive."""
    cells, finer = rows[3], pruned.finer()
    cuts.refine_cells(rows[0], cells, finer.family, finer.extent, finer.size)
    sums = cuts.empty_cells(finer.size * pruned.survivors)
    cuts.add_to_cells(rows, sums)
    again = prune(sums, weight, total, pruned.best, pruned.prefix[pruned.chosen])
    return chosen_rows(rows, np.flatnonzero(again.survives[cells])), again


def joined_rows(parts: Sequence[RowsInCells]) -> RowsInCells:
    if len(parts) == 1:
        return parts[0]
    z, values, heavy, cells = zip(*parts, strict=True)
    return np.concatenate(z), np.concatenate(values), np.concatenate(heavy), np.concatenate(cells)


def chosen_rows(rows: RowsInCells, which: NDArray[Any]) -> RowsInCells:
    """Some of the rows, in the given order."""
    z, values, heavy, cells = rows
    return z[which], values[which], heavy[which] if len(heavy) else heavy, cells[which]


def line_of(columns: NDArray[Any], projection: Projection) -> Line:
    """What kernels need to project rows: columns, index and coefficients. Of a projection with categories the columns
    are what each of its own adds."""
    if projection.numeric:
        return columns, *projection.arrays
    terms = np.empty((len(projection.columns), columns.shape[1]))
    for to, j, coefficient in zip(terms, projection.columns, projection.coefficients, strict=True):
        to[:] = (
            np.array(coefficient)[columns[j].astype(np.intp)]
            if isinstance(coefficient, tuple)
            else columns[j] * np.float64(coefficient)
        )
    return terms, np.arange(len(terms)), np.ones(len(terms))


_RESIDUAL_BITS = 31  # are plenty for a direction
_MOST_KEPT = 1 << 23  # covariances of columns
_EVERYWHERE = (-math.inf, math.inf)

PartKind = TypeVar("PartKind", bound=RowPart)


class Engine(ABC, Generic[PartKind]):
    """What growth asks: rows in parts, as one. Sums are over all rows, each counted with its weight. How cuts are found
    depends on the kind of part. Of every column `seen` has the least and greatest value, and whether all are whole
    numbers."""

    def __init__(self, parts: Parts[PartKind], loss: Loss) -> None:
        self.parts, self.loss = parts, loss
        measures = parts.ask(RowPart.measure)
        self.n_rows = sum(measure.n_rows for measure in measures)
        self.total = sum(measure.total for measure in measures)
        self.target_sum = sum(measure.target_sum for measure in measures)
        self._zero_loss = loss.total(np.sum([measure.limbs for measure in measures], axis=0))
        self._low = np.min([measure.low for measure in measures], axis=0)
        self._high = np.max([measure.high for measure in measures], axis=0)
        self._whole = np.all([measure.whole for measure in measures], axis=0)
        self._seen = list(zip(self._low.tolist(), self._high.tolist(), self._whole.tolist(), strict=True))
        self.n_columns = len(self._low)
        self._reach: list[float] = np.maximum(self._high, -self._low).tolist()
        probes = np.concatenate([measure.probes for measure in measures], axis=1)
        some = min(probes.shape[1], PROBES)
        self._probes = np.ascontiguousarray(probes[:, np.arange(some) * probes.shape[1] // max(some, 1)])
        self._cells = min(CELLS, 1 << max(4, (self.n_rows // 32).bit_length()))
        self._cells_in_window = min(CELLS_IN_WINDOW, self._cells)
        self.output = NO_OUTPUT
        self._columns: Columns | None = None
        self._products: tuple[Output, Floats] | None = None  # of the last output asked about
        self._gram: dict[int, Floats] = {}
        self._fired: dict[int, int] = {}  # weight of the rows where each slot fires

    def _sum(
        self, method: Callable[Concatenate[PartKind, Arguments], Reply], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Reply:  # fmt: skip
        first, *others = self.parts.ask(method, *arguments, **named)
        return sum(others, first)  # type: ignore[call-overload]

    # -- cuts ----------------------------------------------------------------------------------------------

    @abstractmethod
    def cuts(self, requests: Sequence[CutRequest]) -> Iterable[Cut | None]:
        """Answer each request with its best cut, perhaps only when it is wanted; None where there is none."""

    def _cut(self, direction: Projection, total: int, best: Best) -> Cut | None:
        gain, silent, silent_sum, lower, upper = best
        if not gain > 0.0:
            return None
        threshold = lower / 2 + upper / 2
        if not lower < threshold <= upper:  # neighbouring floats leave no room between them
            threshold = upper
        fired = self.total - silent, total - silent_sum
        return Cut(Oblique(direction, threshold), gain, *fired, silent, silent_sum, lower, upper)

    def _bound(self, direction: Projection) -> float:
        """No projection is beyond this; infinity when some could overflow."""
        bound = 0.0
        for j, c in zip(direction.columns, direction.coefficients, strict=True):
            bound += max(map(abs, c)) if isinstance(c, tuple) else abs(c) * self._reach[j]
        return bound if bound < 1e307 else np.inf

    def can_project(self, direction: Projection) -> bool:
        """True unless a projection could overflow."""
        return self._bound(direction) < np.inf

    def _sieve(self, request: CutRequest) -> Sieve:
        """Cells over a window, with one for all rows below and one for all above; or over the reach of a few dozen
        rows, on which only speed depends."""
        if request.window is None:
            line = line_of(self._probes, request.projection)
            low, scale = cuts.reach_of(*line, self._cells, self._probes.shape[1])
            return Sieve(request.output, request.projection, low, scale, self._cells)
        bottom, step = self._window(request.projection, request.window)
        return Sieve(request.output, request.projection, bottom - step, 1.0 / step, self._cells_in_window, bounded=True)

    def _window(self, direction: Projection, window: tuple[float, float]) -> tuple[float, float]:
        """Where the cells of a window begin, and how wide they are."""
        bound = self._bound(direction)
        bottom, top = max(window[0], -bound), min(window[1], bound)
        return bottom, (top - bottom) / (self._cells_in_window - 2)

    def _without_narrow_window(self, request: CutRequest) -> CutRequest:
        """The request, without a window that is too narrow for floats to tell where in it a row lies."""
        if request.window is None:
            return request
        bottom, step = self._window(request.projection, request.window)
        wide = step > 1e-307 and bottom - step < bottom and request.window != _EVERYWHERE
        return request if wide else replace(request, window=None)

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        """Weight and residual below each of some thresholds; for a sum of columns, how near the nearest row is."""
        sums, nearest = zip(*self.parts.ask(RowPart.split, output, projection, thresholds), strict=True)
        return np.sum(sums, axis=0), np.min(nearest, axis=0)

    def seen(self) -> list[tuple[float, float, bool]]:
        return self._seen

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, rule: Oblique) -> tuple[int, int, bool]:
        """Store a rule's answers; weight and target sum of the rows where it fires, and if any answer is new."""
        self._products = None
        fired, target_sum, changed = self._sum(RowPart.put, slot, rule).tolist()
        self._fired[slot] = fired
        return fired, target_sum, changed > 0 or slot >= len(self.output.weights)

    def move(self, source: int, target: int) -> None:
        self._products = None
        self.parts.ask(RowPart.move, source, target)
        self._fired[target] = self._fired[source]

    def settle(self, output: Output) -> int:
        """Make `output` the current one; the sum of the losses."""
        self.output = output
        self._whole_fit = self.loss.total(self._sum(RowPart.settle, output))
        return self._whole_fit

    def total_loss(self, output: Output) -> int:
        """The sum of the losses of `output`; the current one stays."""
        return self.loss.total(self._sum(RowPart.limbs, output))

    def loss_deviation(self) -> float:
        """Standard deviation of the rows' losses."""
        largest = max(self.parts.ask(RowPart.largest))
        if largest == 0:
            return 0.0
        powers = self._sum(RowPart.loss_powers, 1.0 / largest)
        return self.loss.deviation(powers, largest, self._whole_fit, self.total)

    def residual_sum(self) -> int:
        """The current residual summed over all rows."""
        return int(self._sum(RowPart.residual_sum, self.output, 0))

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""
        return int(self._sum(RowPart.correlation, slot))

    def pulls(self) -> Floats:
        """The current residual summed over all rows, then times the +-1 answers of every slot; a column per output."""
        total, *fired = self._sum(RowPart.pulls, len(self.output.weights)).astype(np.float64)
        sums = np.array([total, *(2 * value - total for value in fired)])
        return sums if self.loss.outputs > 1 else sums[:, 0]

    def overlaps(self, slot: int) -> Integers:
        """For every slot up to `slot` or the current width, the weight of the rows where both fire."""
        return self._sum(RowPart.overlaps, slot, max(slot + 1, len(self.output.weights)))

    # -- linear terms ---------------------------------------------------------------------------------------------

    def linear_of(self, column: int, low: float, high: float) -> LinearTerm | None:
        """A column between two ends, its answers of about unit scale; None where float64 cannot tell them apart."""
        about = self.describe()
        bits, half = min(LINEAR_BITS, 60 - self.total.bit_length()), high / 2 - low / 2
        deviation = about.deviation[column] / about.scale[column]
        if not (half > 0 and deviation > 0 and bits > 0 and math.isfinite(2.0**bits / half)):
            return None
        return LinearTerm(column, low, high, bits, math.ldexp(half / deviation, -bits))

    def linear_products(self, linear_term: LinearTerm, others: Sequence[LinearTerm]) -> Floats:
        """A term's answers times one, times the answers of every slot, times other terms', and its own squared."""
        n_rules = len(self.output.weights)
        sums = self._sum(RowPart.linear_products, linear_term, others, n_rules)
        total, fired = int(sums[0]), sums[1 : 1 + n_rules]
        limbs = sums[1 + n_rules :].reshape(-1, 2)
        signed = [float(2 * value - total) * linear_term.unit for value in fired.tolist()]
        both = [
            float(whole(two)) * linear_term.unit * other.unit
            for two, other in zip(limbs, (*others, linear_term), strict=True)
        ]
        return np.array([total * linear_term.unit, *signed, *both])

    def linear_fired(self, linear: Sequence[LinearTerm], slot: int) -> Floats:
        """The answers of linear terms summed over the rows where a slot fires."""
        if not linear:
            return np.zeros(0)
        return self._sum(RowPart.linear_fired, linear, slot) * np.array([term.unit for term in linear])

    def linear_pulls(self, linear: Sequence[LinearTerm]) -> Floats:
        """The current residual times the answers of linear terms; a column per output."""
        if not linear:
            return np.zeros((0, self.loss.outputs) if self.loss.outputs > 1 else 0)
        limbs = self._sum(RowPart.linear_pulls, linear)
        pairs = zip(limbs, linear, strict=True)
        sums = np.array([[float(whole(two)) * linear_term.unit for two in some] for some, linear_term in pairs])
        return sums if self.loss.outputs > 1 else sums[:, 0]

    # -- columns -------------------------------------------------------------------------------------------

    def describe(self) -> Columns:
        """Integer columns and their moments, worked out once."""
        if self._columns is None:
            self._columns = self._measure()
        return self._columns

    def lost(self) -> list[int]:
        """The columns that vary by too little for :meth:`describe` to see."""
        _, half, scale = self._places()
        return np.flatnonzero((self._low < self._high) & (half * scale <= 0.5)).tolist()

    def _places(self) -> tuple[Floats, Floats, Floats]:
        """Center and half the reach of every column, and how many integers there are to a unit of it."""
        center = self._low / 2 + self._high / 2
        half = self._high / 2 - self._low / 2
        bits_left = min(COLUMN_BITS, 60 - self.total.bit_length())
        exponent = np.where(half > 0, bits_left - np.frexp(half)[1], 0)
        return center, half, np.ldexp(1.0, np.clip(exponent, -1022, 1022))

    def _measure(self) -> Columns:
        center, _, scale = self._places()
        sums = self._sum(RowPart.column_sums, center, scale)
        limbs = self._sum(RowPart.column_squares, center, scale)
        deviation = np.sqrt(np.maximum(covariances(limbs, sums, sums, self.total) / self.total, 0.0))
        return Columns(center, scale, sums, sums / self.total, deviation)

    def products(self, output: Output) -> Floats:
        """Covariances of all columns with what `output` leaves, in integer units, times the total weight."""
        if self._products is None or self._products[0] is not output:
            about = self.describe()
            shift = max(0, self.loss.grid.bits + 4 - _RESIDUAL_BITS)
            limbs = self._sum(RowPart.products, output, about.center, about.scale, shift)
            left = self._sum(RowPart.residual_sum, output, shift)
            self._products = output, covariances(limbs, about.sums, left, self.total) * 2.0**shift
        return self._products[1]

    def gram(self, column: int) -> Floats:
        """Covariances of one column with all, in integer units, times the total weight."""
        if column not in self._gram:
            about = self.describe()
            limbs = self._sum(RowPart.gram, column, about.center, about.scale)
            if len(self._gram) * self.n_columns > _MOST_KEPT:
                self._gram = {}
            self._gram[column] = covariances(limbs, about.sums, int(about.sums[column]), self.total)
        return self._gram[column]

    def cross(self, slot: int) -> Floats:
        """Covariances of all columns with a slot's +-1 answers, in integer units, times the total weight."""
        about, fired = self.describe(), self._fired[slot]
        sums = self._sum(RowPart.column_sums, about.center, about.scale, slot)
        return 2 * covariances(np.stack([np.zeros_like(sums), sums], axis=1), about.sums, fired, self.total)

    # -- depth and theory ----------------------------------------------------------------------------------

    def bound(self) -> float:
        """The loss per row that no output can undercut for the answers stored: Theorem 1's bound for squares."""
        everything = self._zero_loss
        # Whole numbers again, so that the order of the regions does not matter.
        shift = max(0, everything.bit_length() - 60)
        return max(everything - (self._explained(shift) << shift), 0) / self.total

    @abstractmethod
    def _explained(self, shift: int) -> int:
        """By how much the best score of each region lowers the loss, a whole number of ``2**shift`` for each."""

    @abstractmethod
    def next_layer(self, rules: Sequence[Oblique]) -> Engine[PartKind]:
        """The same rows with the +-1 answers of `rules` for columns."""


# Surviving cells are split where their rows are, until they hold no more weight than this.
ROWS_TO_FETCH = 1 << 20
_MOST_TO_SPLIT = 1 << 14  # cells are numbered in 16 bits


class CellEngine(Engine[CellPart]):
    """Rows in parts that sort themselves into cells; see :mod:`bgn.engines.reduce`."""

    def cuts(self, requests: Sequence[CutRequest]) -> Iterable[Cut | None]:
        requests = [*map(self._without_narrow_window, requests)]
        places = [k for k, request in enumerate(requests) if self.can_project(request.projection)]
        sieves = [self._sieve(requests[k]) for k in places]
        best_cuts: list[Cut | None] = [None] * len(requests)
        if not places:
            return best_cuts
        answers = zip(*self.parts.ask(CellPart.cells, sieves), strict=True)
        tables = [merge(cells) for cells in answers]
        totals = [int(cells[1][:, 0].sum()) for cells in tables]
        pruned = [
            prune(cells, self.total, total, bounded=sieve.bounded)
            for cells, total, sieve in zip(tables, totals, sieves, strict=True)
        ]
        for k, total, best in zip(places, totals, self._look_inside(sieves, pruned, totals), strict=True):
            best_cuts[k] = self._cut(requests[k].projection, total, best)
        return best_cuts

    def _look_inside(self, sieves: list[Sieve], pruned: list[PrunedCells], totals: list[int]) -> list[Best]:
        """Try the cuts inside the surviving cells: split them while they hold too many rows to fetch, then fetch."""
        best = [cells.best for cells in pruned]
        open_ = [k for k, cells in enumerate(pruned) if cells.survivors]
        for k in open_:
            # Too many rows to fetch, in cells that are few enough to split.
            while (
                self.total > ROWS_TO_FETCH
                and pruned[k].survivors <= _MOST_TO_SPLIT
                and pruned[k].cells[0][pruned[k].survives > 0].sum() > ROWS_TO_FETCH
            ):
                sieves[k], pruned[k] = self._split(sieves[k], pruned[k], totals[k])
            best[k] = pruned[k].best
        open_ = [k for k in open_ if pruned[k].survivors]
        if open_:
            survives = [pruned[k].survives for k in open_]
            answers = zip(*self.parts.ask(CellPart.inside, [sieves[k] for k in open_], survives), strict=True)
            for k, rows in zip(open_, answers, strict=True):
                best[k] = best_inside(joined_rows(rows), pruned[k], self.total, totals[k])
        return best

    def _split(self, sieve: Sieve, pruned: PrunedCells, total: int) -> tuple[Sieve, PrunedCells]:
        finer = sieve.inside(pruned)
        cells = merge([answer for (answer,) in self.parts.ask(CellPart.cells, [finer])])
        return finer, prune(cells, self.total, total, pruned.best, pruned.prefix[pruned.chosen])

    def next_layer(self, rules: Sequence[Oblique]) -> CellEngine:
        return CellEngine(self.parts.next_layer(rules), self.loss)

    def _explained(self, shift: int) -> int:
        _, sums = merge_regions(self.parts.ask(CellPart.regions, len(self.output.weights)))
        weight, target_sum = sums.astype(np.float64).T if self.loss.outputs == 1 else (sums.sum(1) * 1.0, sums * 1.0)
        return int(self.loss.explained(weight, target_sum, 2.0**-shift).astype(np.int64).sum())
