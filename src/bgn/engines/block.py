"""A block of raw rows, before growth: who validates, who is sampled, and the part of an engine it becomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.part import Part
from bgn.engines.protocol import Floats, Integers, Loss
from bgn.engines.requests import RawBlock, RowSource
from bgn.engines.split import Hashes, Inside, histogram, inside_bin, row_hashes
from bgn.inputs.per_row import check_reach

_FRACTIONAL_TOTAL = 2**30
_FINE_WEIGHT_BITS = 30


@dataclass(frozen=True)
class Weights:
    """Row weights of a block: how many are positive, the largest, their sum, and whether all are whole numbers."""

    positive: int
    largest: float
    total: float
    whole: bool


@dataclass(frozen=True)
class Survey:
    """Rows of a block that count: number, weight, reach of the target, weight by bin of hash."""

    n_rows: int
    total: int
    low: float
    high: float
    counts: Integers


@dataclass(frozen=True)
class Plan:
    """What becomes of every row.

    Weights are multiplied by ``2**exponent`` and rounded (None: all are one). Rows whose hash is at most `edge`
    validate; of the others those below `limit` are the sample.
    """

    seed: int
    exponent: int | None
    loss: Loss
    edge: int | None = None
    limit: int | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """Different rows and what they weigh together."""

    hashes: Hashes
    columns: NDArray[Any]
    target: Integers
    weight: Integers


class Block:
    """Raw rows: `columns` (columns, rows) of float64 or float32, their target and, perhaps, their weights."""

    def __init__(self, columns: NDArray[Any], target: Floats, weight: Floats | None = None) -> None:
        self.columns, self.target, self.weight = columns, target, weight

    def weights(self) -> Weights:
        """What must be known to make all weights whole."""
        assert self.weight is not None
        w = self.weight[self.weight > 0]
        largest = float(w.max()) if len(w) else 0.0
        with np.errstate(over="ignore"):  # those of which the sum is infinite are refused
            total = float(w.sum())
        return Weights(len(w), largest, total, bool(np.array_equal(w, np.rint(w))))

    def weigh(self, exponent: int) -> int:
        """Sum of the weights times ``2**exponent``, each rounded."""
        assert self.weight is not None
        return int(np.rint(np.ldexp(self.weight, exponent)).astype(np.int64).sum())

    def survey(self, seed: int, exponent: int | None) -> Survey:
        """Count, weigh and hash the rows."""
        rows = self._rows(seed, exponent)
        y = rows.target
        reach = (float(y.min()), float(y.max())) if len(y) else (math.inf, -math.inf)
        total = len(y) if rows.weight is None else int(rows.weight.sum())
        return Survey(len(y), total, *reach, histogram(rows.hashes, rows.weight))

    def inside(self, seed: int, exponent: int | None, number: int) -> Inside:
        """The hashes in one bin."""
        rows = self._rows(seed, exponent)
        return inside_bin(rows.hashes, rows.weight, number)

    def smallest(self, seed: int, exponent: int | None, edge: int | None, most: int) -> Hashes:
        """The smallest different hashes above `edge`, at most so many."""
        hashes = self._rows(seed, exponent).hashes
        hashes = hashes if edge is None else hashes[hashes > np.uint64(edge)]
        if len(hashes) > 8 * most:  # rows that repeat could hide others; take all if so
            few = np.unique(np.partition(hashes, 4 * most)[: 4 * most])
            if len(few) >= most:
                return few[:most]
        return np.unique(hashes)[:most]

    def sample(self, plan: Plan) -> Sample:
        """The rows of the sample, equal ones put together."""
        rows = self._rows(plan.seed, plan.exponent)
        chosen = self._held_out(rows.hashes, plan, False)
        if plan.limit is not None:
            chosen &= rows.hashes < np.uint64(plan.limit)
        where = np.flatnonzero(chosen)
        hashes, first, number = np.unique(rows.hashes[where], return_index=True, return_inverse=True)
        weight = np.zeros(len(hashes), np.int64)
        np.add.at(weight, number, 1 if rows.weight is None else rows.weight[where])
        index = where[first]
        return Sample(hashes, rows.columns[:, index], plan.loss.targets.steps(rows.target[index]), weight)

    def part(self, plan: Plan, held_out: bool, threads: int = 1) -> Part:
        """The rows that learn, or those that validate, as part of an engine."""
        rows = self._rows(plan.seed, plan.exponent)
        which = self._held_out(rows.hashes, plan, held_out)
        columns = np.empty((len(rows.columns), int(which.sum())), rows.columns.dtype)
        for to, column in zip(columns, rows.columns, strict=True):
            to[:] = column[which]
        weight = None if rows.weight is None else rows.weight[which]
        return Part(columns, plan.loss.targets.steps(rows.target[which]), weight, plan.loss, threads)

    def _held_out(self, hashes: Hashes, plan: Plan, held_out: bool) -> NDArray[np.bool_]:
        """Mark the rows that validate, or the others."""
        if plan.edge is None:
            return np.full(len(hashes), not held_out)
        return (hashes <= np.uint64(plan.edge)) == held_out

    def hashes(self, seed: int) -> Hashes:
        """A hash of every row's content."""
        return row_hashes(self.columns, self.target, seed)

    def _rows(self, seed: int, exponent: int | None) -> _Counted:
        """The rows with weight, hashed; the last answer is remembered."""
        known = getattr(self, "_last", None)
        if known is None or known[0] != (seed, exponent):
            rows = _Counted(self.columns, self.target, self.hashes(seed), None)
            if self.weight is not None:
                rows = rows.weighted(np.rint(np.ldexp(self.weight, exponent or 0)).astype(np.int64))
            known = self._last = (seed, exponent), rows if exponent is not None else replace(rows, weight=None)
        return known[1]


@dataclass(frozen=True, eq=False)
class _Counted:
    """Rows that count."""

    columns: NDArray[Any]
    target: Floats
    hashes: Hashes
    weight: Integers | None

    def weighted(self, weight: Integers) -> _Counted:
        """The rows that have weight."""
        keep = weight > 0
        if keep.all():
            return replace(self, weight=weight)
        return _Counted(self.columns[:, keep], self.target[keep], self.hashes[keep], weight[keep])


def weight_exponent(source: RowSource) -> int:
    """The power of two that makes row weights whole once they are rounded.

    Whole numbers stay as they are. Others are rounded to a grid of which their total has about 2**30 steps.
    """
    weights = source.ask(RawBlock.weights)
    check_reach(max(each.largest for each in weights))
    if all(each.whole for each in weights) and sum(each.total for each in weights) <= 2**31:
        return 0
    number = sum(each.positive for each in weights)
    room = _FINE_WEIGHT_BITS - math.frexp(max(each.largest for each in weights))[1]
    total = math.ldexp(float(sum(source.ask(RawBlock.weigh, room))), -room)
    return math.frexp(max(_FRACTIONAL_TOTAL, 16 * number))[1] - math.frexp(total)[1]
