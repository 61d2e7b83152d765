"""Rows before growth: which validate, which are sampled, and the part of an engine they become.

Rows are told apart by a hash of what they hold, never by where they stand, so that the order of the rows and the blocks
they come in do not matter. A block of raw rows replies to the requests of :class:`~bgn.engines.protocol.RawBlock`; once
a :class:`Plan` says what becomes of every row, it turns into parts (:mod:`bgn.engines.memory`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.coding import Coding
from bgn.engines.kernels.scores import LOGISTIC, SQUARED, add_moments
from bgn.engines.memory import MemoryEngine, Part, ThreadPool, part_of
from bgn.engines.protocol import Floats, Grid, Integers, Loss, OneBlock, RawBlock, RowSource
from bgn.inputs.splits import Hashes, Inside, hash_values, histogram, inside_bin
from bgn.inputs.target import check_reach
from bgn.model.term import Term

_AT_ONCE = 1 << 15  # rows: what is worked out on the way stays in the processor's cache


def row_hashes(columns: Iterable[NDArray[Any]], y: NDArray[np.float64], seed: int, threads: int = 1) -> Hashes:
    """Return a 64-bit hash of every row's content, the target included."""
    values, hashes = [*columns, y], np.empty(len(y), np.uint64)

    def fill(some: slice) -> None:
        hashes[some] = hash_values([column[some] for column in values], seed)

    ThreadPool(threads).map(fill, [slice(start, start + _AT_ONCE) for start in range(0, len(y), _AT_ONCE)])
    return hashes


def different(hashes: Hashes) -> Hashes:
    ordered = np.sort(hashes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]


_ROWS_AT_ONCE, _GATHERED = 1 << 12, 1 << 14  # rows
_FRACTIONAL_TOTAL = 2**30
_FINE_WEIGHT_BITS = 30
# Sums of a refit on all rows are in steps of this part of one, or coarser where rows are very many.
_MOMENT_BITS = 24
_FARTHEST = 16.0  # deviations from its mean that a linear term is held to there


@dataclass(frozen=True)
class Weights:
    """Row weights of a block: how many are positive, the largest, their sum, and whether all are whole numbers."""

    positive: int
    largest: float
    total: float
    whole: bool


@dataclass(frozen=True)
class Survey:
    """Rows of positive weight in a block: number, weight, reach of the target, weight by bin of hash, columns with
    missing."""

    n_rows: int
    total: int
    low: float
    high: float
    counts: Integers
    missing: NDArray[np.bool_]

    def merged(self, other: Survey) -> Survey:
        return Survey(
            self.n_rows + other.n_rows, self.total + other.total, min(self.low, other.low), max(self.high, other.high),
            self.counts + other.counts, self.missing | other.missing,
        )  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What becomes of every row. Weights are multiplied by ``2**exponent`` and rounded (None: all are one). Rows whose
    hash is at most `edge` validate; of the others those below `limit` are the sample. `coding` turns the table's
    columns to the engine's. Rows that validate have a loss of their own, `validation_loss`, if there is one; its grids
    are those of `loss`."""

    seed: int
    exponent: int | None
    loss: Loss
    edge: int | None = None
    limit: int | None = None
    coding: Coding | None = None
    validation_loss: Loss | None = None

    def loss_of(self, held_out: bool) -> Loss:
        """The loss of the rows that learn, or of those that validate."""
        return self.validation_loss if held_out and self.validation_loss is not None else self.loss


@dataclass(frozen=True, eq=False)
class Sample:
    """Different rows and what they weigh together."""

    hashes: Hashes
    columns: NDArray[Any]
    target: Integers
    weight: Integers


@dataclass(frozen=True, eq=False)
class Reach:
    """The least and the greatest value of every column, and whether all are whole."""

    low: Floats
    high: Floats
    whole: NDArray[np.bool_]

    def merged(self, other: Reach) -> Reach:
        return Reach(np.minimum(self.low, other.low), np.maximum(self.high, other.high), self.whole & other.whole)


@dataclass(frozen=True, eq=False)
class Moments:
    """What weights of terms are refitted by, in whole steps of ``2**-bits``: one line per output."""

    bits: int
    gram: Integers
    pull: Integers
    loss: Integers

    def merged(self, other: Moments) -> Moments:
        return Moments(self.bits, self.gram + other.gram, self.pull + other.pull, self.loss + other.loss)

    def values(self, unit: float) -> tuple[float, Floats, Floats]:
        """The loss, its slopes, downhill, and its curvature; `unit` is the weight of one row."""
        step = 2.0**-self.bits / unit
        lower = self.gram * step
        upper = np.transpose(np.tril(lower, -1), (0, 2, 1))
        gram: Floats = np.asarray(lower + upper, np.float64)
        return float(self.loss[0]) * step, np.asarray(self.pull * step, np.float64), gram


def target_lines(kind: int, outputs: int, steps: Integers, grid: Grid) -> Floats:
    """Return targets as a search within a budget has them, one line per output: numbers between -1 and 1, or 0/1."""
    if kind == SQUARED:
        return np.asarray(np.ldexp(steps.astype(np.float64), -grid.bits)[None, :])
    classes = np.ones(1, np.int64) if kind == LOGISTIC else np.arange(outputs)
    return np.asarray((steps[None, :] == classes[:, None]).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Scored:
    """Terms and their weights, the intercept first, one line per output. A linear term is worth its column less a
    middle, over a spread; targets that are numbers lie between -1 and 1."""

    terms: tuple[Term, ...]
    linear: tuple[tuple[float, float] | None, ...]
    beta: Floats
    kind: int

    def nothing(self, plan: Plan) -> Moments:
        outputs, terms = self.beta.shape
        bits = min(_MOMENT_BITS, plan.loss.grid.bits)
        sums = np.zeros((outputs, terms, terms), np.int64), np.zeros((outputs, terms), np.int64)
        return Moments(bits, *sums, np.zeros(1, np.int64))

    def add(self, rows: Floats, target: Integers, weight: Integers, plan: Plan, moments: Moments) -> None:
        z = np.ones((self.beta.shape[1], len(rows)))
        for t, (term, place) in enumerate(zip(self.terms, self.linear, strict=True)):
            values = term.values(rows)
            z[t + 1] = values if place is None else (values - place[0]) / place[1]
        whole = np.rint(np.ldexp(np.clip(z, -_FARTHEST, _FARTHEST), moments.bits)).astype(np.int64)
        y = target_lines(self.kind, len(self.beta), target, plan.loss.targets)
        add_moments(
            self.kind, z, whole, y, weight, self.beta, moments.bits, moments.gram, moments.pull, moments.loss
        )


class RawRows(RawBlock):
    """Raw rows: `columns` (columns, rows) of float64 or float32, their target and, perhaps, their weights. Arrays here,
    tensors in :class:`bgn.engines.gpu.tensors.RawTensors`, which says what it does otherwise."""

    def __init__(self, columns: Any, target: Any, weight: Any = None, threads: int = 1) -> None:
        self.columns, self.target, self.weight, self.threads = columns, target, weight, threads

    def weights(self) -> Weights:
        w = self.weight[self.weight > 0]
        largest = float(w.max()) if len(w) else 0.0
        with np.errstate(over="ignore"):  # those of which the sum is infinite are refused
            total = float(w.sum())
        return Weights(len(w), largest, total, bool((w == w.round()).all()))

    def weigh(self, exponent: int) -> int:
        return int(self._whole_weight(exponent).sum())

    def survey(self, seed: int, exponent: int | None) -> Survey:
        rows = self._rows(seed, exponent)
        y = rows.target
        reach = (float(y.min()), float(y.max())) if len(y) else (math.inf, -math.inf)
        total = len(y) if rows.weight is None else int(rows.weight.sum())
        return Survey(len(y), total, *reach, self._histogram(rows), self._missing(rows.columns))

    def inside(self, seed: int, exponent: int | None, number: int) -> Inside:
        rows = self._rows(seed, exponent)
        return inside_bin(rows.hashes, rows.weight, number)

    def smallest(self, seed: int, exponent: int | None, edge: int | None, most: int) -> Hashes:
        hashes = self._rows(seed, exponent).hashes
        hashes = hashes if edge is None else hashes[hashes > np.uint64(edge)]
        taken = most
        while taken < len(hashes):  # rows that repeat may hide others; then look at more
            few = different(np.partition(hashes, taken)[:taken])
            if len(few) >= most:
                return few[:most]
            taken *= 4
        return different(hashes)[:most]

    def sample(self, plan: Plan) -> Sample:
        rows = self._rows(plan.seed, plan.exponent)
        where = np.flatnonzero(self._chosen(rows.hashes, plan, False, plan.limit))
        hashes, first, number = np.unique(rows.hashes[where], return_index=True, return_inverse=True)
        weight = np.zeros(len(hashes), np.int64)
        np.add.at(weight, number, 1 if rows.weight is None else rows.weight[where])
        index = where[first]
        return Sample(hashes, rows.columns[:, index], plan.loss.targets.steps(rows.target[index]), weight)

    def reach(self) -> Reach:
        keep = None if self.weight is None else self._array(self.weight > 0)
        low, high, whole = (np.full(len(self.columns), value) for value in (np.inf, -np.inf, True))
        for start in range(0, len(self.target), _GATHERED):
            some = self._array(self.columns[:, start : start + _GATHERED]).astype(np.float64)
            some = some if keep is None else some[:, keep[start : start + _GATHERED]]
            low = np.fmin(low, np.fmin.reduce(some, axis=1, initial=np.inf))
            high = np.fmax(high, np.fmax.reduce(some, axis=1, initial=-np.inf))
            whole &= ((some == np.floor(some)) | np.isnan(some)).all(axis=1)
        return Reach(low, high, whole)

    def moments(self, plan: Plan, scored: Scored) -> Moments:
        rows = self._rows(plan.seed, plan.exponent)
        chosen, result = self._chosen(rows.hashes, plan, False), scored.nothing(plan)
        for start in range(0, len(chosen), _GATHERED):
            which = self._array(chosen[start : start + _GATHERED])
            columns = self._array(rows.columns[:, start : start + _GATHERED])[:, which]
            target = plan.loss.targets.steps(self._array(rows.target[start : start + _GATHERED])[which])
            weight = np.ones(len(target), np.int64)
            if rows.weight is not None:
                weight = self._array(rows.weight[start : start + _GATHERED])[which]
            scored.add(columns.T.astype(np.float64), target, weight, plan, result)
        return result

    def part(self, plan: Plan, held_out: bool) -> Part:
        """The rows that learn, or those that validate, as part of an engine."""
        rows = self._rows(plan.seed, plan.exponent)
        which = self._chosen(rows.hashes, plan, held_out)
        columns = self._gathered(rows.columns, which)
        weight = None if rows.weight is None else rows.weight[which]
        columns = columns if plan.coding is None else plan.coding.columns(columns)
        return part_of(
            columns, plan.loss.targets.steps(rows.target[which]), weight, plan.loss_of(held_out), self.threads
        )  # fmt: skip

    def _gathered(self, columns: NDArray[Any], which: NDArray[np.bool_]) -> NDArray[Any]:
        """Some rows of all columns, each column contiguous; a few rows, which may lie together, at a time."""
        chosen = [start + np.flatnonzero(which[start : start + _GATHERED]) for start in range(0, len(which), _GATHERED)]
        ends = np.cumsum([0, *map(len, chosen)])
        gathered = np.empty((len(columns), int(ends[-1])), columns.dtype)

        def fill(k: int) -> None:
            gathered[:, ends[k] : ends[k + 1]] = columns[:, chosen[k]]

        ThreadPool(self.threads).map(fill, range(len(chosen)))
        return gathered

    def _chosen(self, hashes: Any, plan: Plan, held_out: bool, limit: int | None = None) -> Any:
        """Mark the rows that validate, or the others; of these the ones whose hash is below a limit."""
        chosen = (hashes != hashes if plan.edge is None else hashes <= self._hash(plan.edge)) == held_out
        return chosen if limit is None else chosen & (hashes < self._hash(limit))

    def _rows(self, seed: int, exponent: int | None) -> _HashedRows:
        """The rows of positive weight, hashed; the last reply is remembered."""
        known: tuple[Any, _HashedRows] | None = getattr(self, "_last", None)
        if known is None or known[0] != (seed, exponent):
            columns, target, hashes, weight = self.columns, self.target, self.known_hashes(seed), None
            if self.weight is not None:
                weight = self._whole_weight(exponent or 0)
                keep = weight > 0
                if not keep.all():
                    columns, target, hashes, weight = columns[:, keep], target[keep], hashes[keep], weight[keep]
            rows = _HashedRows(columns, target, hashes, None if exponent is None else weight)
            known = self._last = (seed, exponent), rows
        return known[1]

    def known_hashes(self, seed: int) -> Any:
        """A hash of every row's content; the last ones are remembered."""
        known: tuple[int, Any] | None = getattr(self, "_hashed", None)
        if known is None or known[0] != seed:
            known = self._hashed = seed, self.hashes(seed)
        return known[1]

    # -- what depends on where the rows are ------------------------------------------------------------------

    @staticmethod
    def _array(values: Any) -> NDArray[Any]:
        """Some values as an array."""
        return np.asarray(values)

    def hashes(self, seed: int) -> Any:
        return row_hashes(self.columns, self.target, seed, self.threads)

    def _hash(self, value: int) -> Any:
        """A number to compare hashes with."""
        return np.uint64(value)

    def _whole_weight(self, exponent: int) -> Any:
        return np.rint(np.ldexp(self.weight, exponent)).astype(np.int64)

    def _histogram(self, rows: _HashedRows) -> Integers:
        return histogram(rows.hashes, rows.weight)

    def _missing(self, columns: Any) -> NDArray[np.bool_]:
        missing = np.zeros(len(columns), dtype=bool)
        for start in range(0, columns.shape[1], _ROWS_AT_ONCE):  # rows of many columns lie together
            missing |= np.isnan(columns[:, start : start + _ROWS_AT_ONCE]).any(axis=1)
        return missing


@dataclass(frozen=True, eq=False)
class _HashedRows:
    """Rows of positive weight; arrays or tensors."""

    columns: Any
    target: Any
    hashes: Any
    weight: Any


def weight_exponent(source: RowSource) -> int:
    """The power of two that makes row weights whole once they are rounded. Whole numbers stay as they are. Others are
    rounded to a grid of which their total has about 2**30 steps."""
    weights = source.ask(RawBlock.weights)
    check_reach(max(part.largest for part in weights))
    if all(part.whole for part in weights) and sum(part.total for part in weights) <= 2**31:
        return 0
    number = sum(part.positive for part in weights)
    bits = _FINE_WEIGHT_BITS - math.frexp(max(part.largest for part in weights))[1]
    total = math.ldexp(float(sum(source.ask(RawBlock.weigh, bits))), -bits)
    return math.frexp(max(_FRACTIONAL_TOTAL, 16 * number))[1] - math.frexp(total)[1]


class RowsInMemory(OneBlock):
    """Raw rows in memory, as a source."""

    def __init__(self, X: NDArray[Any], y: Floats, sample_weight: Floats | None = None, threads: int = 1) -> None:
        self._rows = RawRows(X.T, y, sample_weight, threads)
        super().__init__(self._rows, sample_weight is not None)

    def for_threads(self, threads: int) -> RowsInMemory:
        rows = self._rows
        return type(self)(rows.columns.T, rows.target, rows.weight, threads)

    def hashes(self, seed: int) -> Hashes:
        return np.asarray(self._rows.known_hashes(seed))

    def that_count(self) -> NDArray[np.int64]:
        """The places of the rows that have a weight above 0."""
        return np.flatnonzero(np.ones(len(self._rows.target)) if self._rows.weight is None else self._rows.weight)

    def encoded(self, chosen: NDArray[Any]) -> Floats:
        return np.ascontiguousarray(self._rows.columns.T[chosen], dtype=np.float64)

    def engine(self, plan: Plan, held_out: bool) -> MemoryEngine:
        return MemoryEngine(self._rows.part(plan, held_out), plan.loss_of(held_out))
