"""Rows in memory, shared by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines import kernels
from bgn.engines.base import Columns, Cut, Direction, Floats, Integers, Neuron, Output, Question
from bgn.engines.integers import COLUMN_BITS, Grid
from bgn.engines.split import _mix

_CELLS = 2048
PROBES = 64
_FEW_ROWS = 2048
# From so many rows on threads share out directions, and from so many on rows.
_ROWS_FOR_SHARING = 1 << 12
_ROWS_FOR_THREADS = 1 << 16
_NO_WEIGHT = np.empty(0, np.int64)
# The eight bits of every byte.
BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1
_NOTHING_BEFORE = np.zeros((1, 2), np.int64)

# Gain, weight below, sum below, projection just below, projection just above.
Best = tuple[float, int, int, float, float]
# Projection, residual, weight (or nothing) and cell of some rows.
Rows = tuple[Floats, Integers, Integers, NDArray[np.uint16]]


class MemoryEngine:
    """Rows in RAM; see :class:`bgn.engines.base.Engine`.

    Parameters
    ----------
    columns : array, shape (columns, rows)
        Each column contiguous; float64, float32 or int8.
    target : int64 array
        Whole steps of `grid`.
    weight : int64 array or None
        Whole, positive row weights; None when all are one.
    grid : Grid
    threads : int
    """

    def __init__(
        self, columns: NDArray[Any], target: Integers, weight: Integers | None, grid: Grid, threads: int = 1
    ) -> None:
        self.columns, self.target, self.grid = columns, target, grid
        self.weight = _NO_WEIGHT if weight is None else weight
        self.n_columns, self.n_rows = columns.shape
        self.total = self.n_rows if weight is None else int(weight.sum())
        self.threads = threads if self.n_rows >= _ROWS_FOR_SHARING else 1
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        self._spans = self._share_out(self.threads if self.n_rows >= _ROWS_FOR_THREADS else 1)
        self.target_sum = self._with_total(target)[1]
        self.codes = np.zeros((1, self.n_rows), np.uint8)
        self.output = Output(np.zeros(0, np.int64), 0)
        self._residual = target
        self._trial = self.output, self._residual
        self._columns: Columns | None = None
        self._below: NDArray[np.uint8] | None = None  # the columns as bits, where they are a layer's answers
        largest = np.maximum(columns.max(axis=1).astype(np.float64), -columns.min(axis=1).astype(np.float64))
        self._reach: list[float] = largest.tolist()
        self._cells = min(_CELLS, 1 << max(4, (self.n_rows // 16).bit_length()))
        self._slots: dict[int, int] = {}  # weight of the rows where each fires
        self._stale = False  # answers changed since the residual was worked out

    # -- sharing work --------------------------------------------------------------------------------------

    def _share_out(self, parts: int) -> list[tuple[int, int]]:
        edges = np.linspace(0, self.n_rows, parts + 1).astype(int)
        return [(int(a), int(b)) for a, b in pairwise(edges)]

    def each(self, work: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """Run `work` on every item, on the threads there are."""
        items = list(items)
        if self._pool is None or len(items) < 2:
            return [work(item) for item in items]
        return list(self._pool.map(work, items))

    def _sum(self, shape: int | tuple[int, ...], kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a summing kernel on every span of rows and add up the parts."""

        def part(span: tuple[int, int]) -> Integers:
            out = np.zeros(shape, np.int64)
            kernel(*arguments, *span, out)
            return out

        return sum(self.each(part, self._spans))

    def _fill(self, kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a kernel that writes one integer a row."""
        out = np.empty(self.n_rows, np.int64)
        self.each(lambda span: kernel(*arguments, *span, out), self._spans)
        return out

    # -- cuts ----------------------------------------------------------------------------------------------

    def cuts(self, questions: Sequence[Question]) -> list[Cut | None]:
        """Answer each question with its best cut; None where there is none."""
        outputs = {id(question.output): question.output for question in questions}
        residuals = {key: self._with_total(self.residual(output)) for key, output in outputs.items()}

        def answer(question: Question) -> Cut | None:
            return self._cut(question, *residuals[id(question.output)])

        if len(self._spans) > 1:
            return [answer(question) for question in questions]
        return self.each(answer, questions)

    def _with_total(self, residual: Integers) -> tuple[Integers, int]:
        return residual, int(self._sum(1, kernels.plain_sum, residual, self.weight)[0])

    def _cut(self, question: Question, residual: Integers, total: int) -> Cut | None:
        direction = question.direction
        bound = self._bound(direction)
        if not bound < np.inf:
            return None
        line = np.array(direction.columns, np.int64), np.array(direction.coefficients)
        place = self._place(line, question.window, bound)
        cells = np.empty(self.n_rows, np.uint16)

        def fill(span: tuple[int, int]) -> _Cells:
            table = _Cells(self._cells)
            kernels.fill_cells(self.columns, *line, residual, self.weight, *place, *span, cells, *table.arrays)
            return table

        table = _merge(self.each(fill, self._spans))
        best = table.judge(_NOTHING_BEFORE, self.total, total, (-1.0, 0, 0, 0.0, 0.0), question.window is not None)
        if table.survivors:
            best = self._look_inside(line, residual, total, cells, table, best)
        gain, silent, silent_sum, below, above = best
        if not gain > 0.0:
            return None
        threshold = below / 2 + above / 2
        if not below < threshold <= above:  # neighbouring floats leave no room between them
            threshold = above
        return Cut(Neuron(direction, threshold), gain, self.total - silent, total - silent_sum, silent, silent_sum)

    def _bound(self, direction: Direction) -> float:
        """No projection is beyond this; infinity when some could overflow."""
        bound = 0.0
        for j, c in zip(direction.columns, direction.coefficients, strict=True):
            bound += abs(c) * self._reach[j]
        return bound if bound < 1e307 else np.inf

    def can_project(self, direction: Direction) -> bool:
        """True unless a projection could overflow."""
        return self._bound(direction) < np.inf

    def _place(
        self, line: tuple[Integers, Floats], window: tuple[float, float] | None, bound: float
    ) -> tuple[float, float]:
        """Where the cells lie, as (low, scale).

        Over a window, with one cell for all rows below and one for all above; or over the reach of a few dozen
        rows, on which only speed depends. No projection is beyond +-bound.
        """
        if window is None:
            return kernels.reach_of(self.columns, *line, self._cells, min(self.n_rows, PROBES))
        low, high = max(window[0], -bound), min(window[1], bound)
        width = (high - low) / (self._cells - 2)
        return low - width, (1.0 / width if width > 1e-307 else 1.0)

    def _look_inside(
        self,
        line: tuple[Integers, Floats],
        residual: Integers,
        total: int,
        cells: NDArray[np.uint16],
        table: _Cells,
        best: Best,
    ) -> Best:
        """Try the cuts inside the surviving cells: split them once more if they hold many rows, then sort."""

        def part(span: tuple[int, int]) -> Rows:
            n = span[1] - span[0]
            heavy = np.empty(min(n, len(self.weight)), np.int64)
            room = np.empty(n), np.empty(n, np.int64), heavy, np.empty(n, np.uint16)
            found = kernels.gather(self.columns, *line, residual, self.weight, cells, table.survives, *span, *room)
            return room[0][:found], room[1][:found], room[2][:found], room[3][:found]

        parts = self.each(part, self._spans)
        rows = parts[0] if len(parts) == 1 else _joined(parts)
        if len(rows[0]) > _FEW_ROWS and 2 * table.survivors <= _CELLS:
            rows, table, best = self._split(rows, total, table, best)
        z, values, weight, cells = _chosen(rows, np.argsort(rows[0]))
        return kernels.scan_sorted(z, cells, values, weight, table.prefix, self.total, total, best)

    def _split(self, rows: Rows, total: int, table: _Cells, best: Best) -> tuple[Rows, _Cells, Best]:
        """Give every surviving cell finer cells of its own; keep the rows of those that survive."""
        z, values, weight, cells = rows
        chosen = np.flatnonzero(table.survives)
        family = np.zeros(len(table.survives), np.int64)
        family[chosen] = np.arange(len(chosen))
        size = 2 * _CELLS // len(chosen)
        kernels.refine_cells(z, cells, family, table.arrays[2], size)
        finer = _Cells(size * len(chosen))
        kernels.add_to_cells(z, values, weight, cells, *finer.arrays)
        best = finer.judge(table.prefix[chosen], self.total, total, best)
        return _chosen(rows, np.flatnonzero(finer.survives[cells])), finer, best

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, neuron: Neuron) -> tuple[int, int, bool]:
        """Store a neuron's answers; weight and target sum of the rows where it fires, and if any answer is new."""
        while slot >> 3 >= len(self.codes):
            self.codes = np.concatenate([self.codes, np.zeros_like(self.codes)])
        index = np.array(neuron.direction.columns, np.int64)
        coefficients = np.array(neuron.direction.coefficients)

        def part(span: tuple[int, int]) -> Integers:
            out = np.zeros(3, np.int64)
            kernels.fire(
                self.columns, index, coefficients, neuron.threshold, self.weight, self.target, *span,
                self.codes[slot >> 3], slot & 7, out,
            )  # fmt: skip
            return out

        fired, target_sum, changed = sum(self.each(part, self._spans)).tolist()
        self._slots[slot] = fired
        self._stale |= changed > 0 and slot < len(self.output.weights)
        return fired, target_sum, changed > 0 or slot >= len(self.output.weights)

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""
        a, b = self.codes[source >> 3], self.codes[target >> 3]
        self.each(lambda span: kernels.move_bit(a, source & 7, b, target & 7, *span), self._spans)
        self._slots[target] = self._slots[source]
        self._stale = True

    def residual(self, output: Output) -> Integers:
        """The residual that `output` leaves, row by row; the last answer is remembered."""
        if self._trial[0] is not output:
            self._trial = output, self._work_out(output)
        return self._trial[1]

    def _work_out(self, output: Output) -> Integers:
        now = self.output
        if len(output.weights) == len(now.weights):
            changed = np.flatnonzero(output.weights != now.weights)
            if len(changed) == 0 and output.base == now.base:
                return self._residual
            if len(changed) == 1:
                slot = int(changed[0])
                up, down = int(now.weights[slot] - output.weights[slot]), now.base - output.base
                row = self.codes[slot >> 3]
                return self._fill(kernels.shift, self._residual, row, slot & 7, down + up, down - up)
        return self._looked_up(output)

    def _looked_up(self, output: Output) -> Integers:
        return self._fill(kernels.look_up, self.target, self.codes, *_tables(output))

    def settle(self, output: Output) -> int:
        """Make `output` the current one; the sum of squared residuals, in squared steps."""
        look_up = self._stale or len(output.weights) != len(self.output.weights)
        self._residual = self._looked_up(output) if look_up else self.residual(output)
        self.output, self._stale = output, False
        self._trial = output, self._residual
        return self._sum_of_squares(self._residual)

    def _sum_of_squares(self, residual: Integers) -> int:
        limbs = self._sum(4, kernels.squares, residual, self.weight, self.grid.limit)
        high, middle, low, last = (int(limb) for limb in limbs)
        return (high << 2 * kernels.LIMB) + (middle << kernels.LIMB + 1) + (low << kernels.LIMB) + last

    def squared_error_deviation(self) -> float:
        """Standard deviation of the squared residuals, in squared steps."""
        unit = int(np.abs(self._residual).max(initial=0))
        if unit == 0:
            return 0.0
        fourth = int(self._sum(1, kernels.fourth_powers, self._residual, self.weight, 1.0 / unit)[0])
        mean = self._sum_of_squares(self._residual) / self.total
        return float(np.sqrt(max(fourth / 2**30 / self.total * float(unit) ** 4 - mean**2, 0.0)))

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""
        return int(self._sum(1, kernels.fired_sum, self.codes[slot >> 3], slot & 7, self._residual, self.weight)[0])

    def overlaps(self, slot: int) -> Integers:
        """For every slot up to `slot` or the current width, the weight of the rows where both fire."""
        width = max(slot + 1, len(self.output.weights))
        return self._sum(width, kernels.fired_sums, self.codes, self._fired(slot), width)

    def _fired(self, slot: int) -> Integers:
        return self._fill(kernels.answers, self.codes[slot >> 3], slot & 7, self.weight)

    # -- columns -------------------------------------------------------------------------------------------

    def describe(self) -> Columns:
        """Integer columns and their moments, worked out once."""
        if self._columns is None:
            self._columns = self._measure()
        return self._columns

    def _measure(self) -> Columns:
        low = self.columns.min(axis=1).astype(np.float64)
        high = self.columns.max(axis=1).astype(np.float64)
        centre = low / 2 + high / 2
        half = high / 2 - low / 2
        room = min(COLUMN_BITS, 60 - self.total.bit_length())
        exponent = np.where(half > 0, room - np.frexp(half)[1], 0)
        scale = np.ldexp(1.0, np.clip(exponent, -1022, 1022))
        ones = self.weight if len(self.weight) else np.ones(self.n_rows, np.int64)
        sums = self._sum(self.n_columns, kernels.column_sums, self.columns, centre, scale, ones)
        # The target in 31 bits is plenty for a direction.
        shorter = self.target >> max(0, self.grid.bits + 4 - 31)
        up = max(0, self.grid.bits + 4 - 31)
        target_sum = self._with_total(shorter)[1]
        nothing = np.zeros(self.n_columns)
        self._columns = Columns(centre, scale, sums, sums / self.total, nothing, nothing)
        products = self._covariances(self._columns, shorter, target_sum, slice(None)) * 2.0**up
        variance = np.array([self.gram(j, only=True)[0] for j in range(self.n_columns)]) / self.total
        deviation = np.sqrt(np.maximum(variance, 0.0))
        return Columns(centre, scale, sums, sums / self.total, deviation, products)

    def _covariances(self, about: Columns, other: Integers, other_sum: int, which: slice) -> Floats:
        """Sum over rows of (x_j - mean_j) * other for some columns, exact until the last rounding."""
        columns = self.columns[which]
        limbs = self._sum(
            (len(columns), 2), kernels.column_products, columns, about.centre[which], about.scale[which],
            other, self.weight,
        )  # fmt: skip
        return np.array(
            [
                (((int(high) << 31) + int(low)) * self.total - int(own) * other_sum) / self.total
                for (high, low), own in zip(limbs, about.sums[which], strict=True)
            ]
        )

    def gram(self, column: int, only: bool = False) -> Floats:
        """Covariances of one column with all (or with itself only), in integer units, times the total weight."""
        about = self._columns or self.describe()
        if self._below is not None and not only:
            x = self.columns[column].astype(np.int64)
            x = x * self.weight if len(self.weight) else x
            scale, own = int(about.scale[column]), int(about.sums[column])
            sums = self._column_sums(x, own // scale)
            pairs = zip(sums.tolist(), about.sums.tolist(), strict=True)
            return np.array([(s * scale * self.total - t * own) / self.total for s, t in pairs])
        x = np.rint((self.columns[column].astype(np.float64) - about.centre[column]) * about.scale[column])
        which = slice(column, column + 1) if only else slice(None)
        return self._covariances(about, x.astype(np.int64), int(about.sums[column]), which)

    def _column_sums(self, values: Integers, total: int) -> Integers:
        """Sum of every integer column times `values`, which add up to `total`."""
        about = self._columns or self.describe()
        if self._below is None:
            return self._sum(self.n_columns, kernels.column_sums, self.columns, about.centre, about.scale, values)
        # Columns of +-1: what the rows that fire hold, less what the others do.
        fired = self._sum(self.n_columns, kernels.fired_sums, self._below, values, self.n_columns)
        return (2 * fired - total) * np.where(about.deviation > 0, about.scale, 0).astype(np.int64)

    def cross(self, slot: int) -> Floats:
        """Covariances of all columns with a slot's +-1 answers, in integer units, times the total weight."""
        about = self.describe()
        sums = self._column_sums(self._fired(slot), self._slots[slot])
        fired = self._slots[slot]
        pairs = zip(sums.tolist(), about.sums.tolist(), strict=True)
        return np.array([2 * (s * self.total - own * fired) / self.total for s, own in pairs])

    # -- depth ---------------------------------------------------------------------------------------------

    def next_layer(self, neurons: Sequence[Neuron]) -> MemoryEngine:
        """The same rows with the +-1 answers of `neurons` for columns."""
        columns = np.empty((len(neurons), self.n_rows), np.int8)
        for row, neuron in zip(columns, neurons, strict=True):
            z = np.empty(self.n_rows)
            index, coefficients = np.array(neuron.direction.columns), np.array(neuron.direction.coefficients)
            kernels.project(self.columns, index, coefficients, 0, self.n_rows, z)
            row[:] = np.where(z >= neuron.threshold, 1, -1)
        weight = self.weight if len(self.weight) else None
        engine = MemoryEngine(columns, self.target, weight, self.grid, self.threads)
        engine._below = np.packbits(columns > 0, axis=0, bitorder="little")
        return engine

    # -- theory --------------------------------------------------------------------------------------------

    def bound(self) -> float:
        """Theorem 1's bound for the answers stored, in squared steps."""
        groups = (len(self.output.weights) + 7) >> 3
        with np.errstate(over="ignore"):
            keys = _mix(np.arange(1, 256 * groups + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        keys = keys.reshape(groups, 256)
        if len(self.output.weights) & 7:  # bits beyond the width hold old answers
            keys[-1] = keys[-1][np.arange(256) & ((1 << (len(self.output.weights) & 7)) - 1)]
        size = 2 << self.n_rows.bit_length()
        sums = np.zeros((self.n_rows, 2), np.int64)
        regions = kernels.region_sums(
            self.codes, groups, keys, self.target, self.weight,
            np.empty(size, np.uint64), np.full(size, -1, np.int64), sums,
        )  # fmt: skip
        n, s = sums[:regions].astype(np.float64).T
        everything = self._sum_of_squares(self.target)
        # Whole numbers again, so that the order of the regions does not matter.
        shift = max(0, everything.bit_length() - 60)
        explained = int(np.rint(np.ldexp(s * s / n, -shift)).astype(np.int64).sum()) << shift
        return max(everything - explained, 0) / self.total


def _tables(output: Output) -> tuple[Integers, int]:
    """For every group of eight neurons, what each of their 256 answers adds; and the base."""
    groups = (len(output.weights) + 7) >> 3
    weights = np.zeros((groups, 8), np.int64)
    weights.ravel()[: len(output.weights)] = output.weights
    return (weights[:, None, :] * (2 * BITS - 1)).sum(axis=2), int(output.base)


def _joined(parts: list[Rows]) -> Rows:
    """Rows of several spans, as one."""
    z, values, weight, cells = zip(*parts, strict=True)
    return np.concatenate(z), np.concatenate(values), np.concatenate(weight), np.concatenate(cells)


def _chosen(rows: Rows, which: Integers) -> Rows:
    """Some of the rows, in the given order."""
    z, values, weight, cells = rows
    return z[which], values[which], weight[which] if len(weight) else weight, cells[which]


class _Cells:
    """What is known of the rows in each cell of a projection."""

    def __init__(self, size: int) -> None:
        self.arrays = kernels.empty_cells(size)

    def judge(self, starts: Integers, rows: int, total: int, best: Best, bounded: bool = False) -> Best:
        """The best cut at an edge; `survives` and `prefix` then tell where better ones may hide.

        When `bounded`, nothing is looked for inside the first and the last cell.
        """
        size = len(self.arrays[0])
        self.survives, self.prefix = np.empty(size, np.uint8), np.empty((size, 2), np.int64)
        count, sums, extent = self.arrays
        best, self.survivors = kernels.judge_cells(
            count, sums, extent, starts, rows, total, best, self.survives, self.prefix
        )
        if bounded:
            self.survivors -= int(self.survives[0]) + int(self.survives[-1])
            self.survives[0] = self.survives[-1] = 0
        return best


def _merge(parts: list[_Cells]) -> _Cells:
    """Cells of several blocks of rows, as one."""
    whole, *others = parts
    count, sums, extent = whole.arrays
    for each in others:
        count += each.arrays[0]
        sums += each.arrays[1]
        np.minimum(extent[:, 0], each.arrays[2][:, 0], out=extent[:, 0])
        np.maximum(extent[:, 1], each.arrays[2][:, 1], out=extent[:, 1])
    return whole
