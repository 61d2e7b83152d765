"""Rows in memory, the layer that grows on them, and the threads that share the work.

A :class:`Part` is some of the rows: what every engine but the GPU's is made of, a block on disk or a share on a
cluster as well as all of a table in memory. Each method of :class:`~bgn.engines.protocol.CellPart` returns integers
that add up, extremes that merge, or rows; :mod:`bgn.engines.reduce` puts the replies of all parts together. What
reads rows runs the compiled loops of :mod:`bgn.engines.kernels`.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgn.engines.kernels import cuts
from bgn.engines.kernels import rows as kernels
from bgn.engines.protocol import (
    CONTRAST,
    NO_OUTPUT,
    CellPart,
    Cut,
    CutRequest,
    Floats,
    Integers,
    LinearTerm,
    Loss,
    Measures,
    Output,
    Parts,
    Reply,
    Request,
    RowPart,
    places,
    tables_of,
)
from bgn.engines.reduce import (
    PROBES,
    CellEngine,
    CellSums,
    Line,
    Regions,
    RowsInCells,
    Sieve,
    chosen_rows,
    joined_rows,
    line_of,
    merge,
    merge_regions,
    region_keys,
)
from bgn.model.term import Oblique, Projection


class ThreadPool:
    """Some threads, this one among them, that work off lists of items.

    Whoever is free takes the next item, so a thread that is late to wake keeps nobody waiting. The threads end with the
    pool.

    Parameters
    ----------
    threads : int

    Examples
    --------
    >>> ThreadPool(2).map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, threads: int) -> None:
        self._others = threads - 1
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        for _ in range(self._others):
            threading.Thread(target=_serve, args=(self._jobs,), daemon=True).start()
        weakref.finalize(self, _dismiss, self._jobs, self._others)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        job = _Job(work, items)
        for _ in range(min(self._others, len(items) - 1)):
            self._jobs.put(job)
        done = job.work_off()
        for _ in range(len(items) - done):
            job.ended.get()
        if job.problems:
            raise job.problems[0]
        return job.answers


class _Job:
    """Items, what to do with each, and what came of it."""

    def __init__(self, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self._work, self._items = work, items
        self._left = deque(range(len(items)))
        self.answers: list[Any] = [None] * len(items)
        self.problems: list[BaseException] = []
        self.ended: SimpleQueue[None] = SimpleQueue()

    def work_off(self, tell: bool = False) -> int:
        """Do items until none is left; return how many, or tell of each."""
        done = 0
        while self._left:
            try:
                k = self._left.popleft()
            except IndexError:  # somebody else was faster
                break
            try:
                self.answers[k] = self._work(self._items[k])
            except BaseException as problem:
                self.problems.append(problem)
            done += 1
            if tell:
                self.ended.put(None)
        return done


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.work_off(tell=True)
        del job


def _dismiss(jobs: SimpleQueue[_Job | None], threads: int) -> None:
    for _ in range(threads):
        jobs.put(None)


# From so many rows, or values, on threads share directions and columns, and from so many rows on rows.
_ROWS_FOR_SHARING = 1 << 12
_VALUES_FOR_SHARING = 1 << 21
_ROWS_FOR_THREADS = 1 << 16
_ROWS_PER_THREAD = 1 << 17  # more threads would wait for each other longer than they work
_COLUMNS_FOR_SHARING = 1 << 9
# More pieces of rows than threads: one that wakes late finds something left to do.
_PIECES = 4
_NO_WEIGHT = np.empty(0, np.int64)
_LINES = 3  # to remember
_CHUNK = 1 << 18
_CAPACITY = 1 << 8
_FEW_REGIONS = 1 << 13
# A difference; and what to add where a slot, a bit of a row of codes, fires and where it does not.
Leftover = tuple[Integers, NDArray[np.uint8], int, int, int]
_NO_SHIFT = np.zeros(0, np.uint8), 0, 0, 0


class Part(CellPart):
    """Some rows and the answers of the rules of the layer being grown, one slot per rule; see :class:`CellPart`.

    Parameters
    ----------
    columns : array, shape (columns, rows)
        Each column contiguous; float64, float32 or int8.
    target : int64 array
        Whole steps of the loss's grid of targets.
    weight : int64 array or None
        Whole, positive row weights; None when all are one.
    loss : Loss
    threads : int
    below : uint8 array, shape (groups, rows), optional
        The columns as bits, where they are the answers of a layer.
    """

    def __init__(
        self, columns: NDArray[Any], target: Integers, weight: Integers | None, loss: Loss, threads: int = 1,
        below: NDArray[np.uint8] | None = None,
    ) -> None:  # fmt: skip
        self.columns, self.target, self.loss, self.below = columns, target, loss, below
        self.weight = _NO_WEIGHT if weight is None else weight
        self.n_columns, self.n_rows = columns.shape
        enough = self.n_rows >= _ROWS_FOR_SHARING or columns.size >= _VALUES_FOR_SHARING
        by_rows = self.n_rows >= _ROWS_FOR_THREADS
        if by_rows and self.n_columns < _COLUMNS_FOR_SHARING:
            threads = min(threads, max(2, self.n_rows // _ROWS_PER_THREAD))
        self.threads = threads if enough else 1
        self._pool = ThreadPool(self.threads) if self.threads > 1 else None
        pieces = _PIECES * self.threads if self.threads > 1 and by_rows else 1
        edges = np.linspace(0, self.n_rows, pieces + 1)
        self._spans = list(pairwise(edges.astype(int).tolist()))
        self._lines: list[tuple[Projection, Line]] = []
        self.codes = np.zeros((1, self.n_rows), np.uint8)
        self.output = NO_OUTPUT
        self._start = loss.diff(target)
        # Differences; the current output's first.
        self._known: list[tuple[Output, Leftover]] = [(NO_OUTPUT, (self._start, *_NO_SHIFT))]
        self._residual: tuple[Output, Integers] | None = None  # where it is not the difference
        self._losses: tuple[Output, Integers] | None = None  # the limbs that came with it
        self._last: tuple[Output, Leftover] | None = None
        self._cells: list[tuple[Sieve, NDArray[np.uint16]]] = []
        self._correlations: dict[int, list[int]] = {}
        self._capacity = _CAPACITY  # for regions

    def map(self, work: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        items = list(items)
        if self._pool is None or len(items) < 2:
            return [work(item) for item in items]
        return self._pool.map(work, items)

    def _gathered(self, empty: Callable[[], Any], add: Callable[[tuple[int, int], Any], Any]) -> list[Any]:
        """Have every span of rows added to what its thread holds, `empty` at first; return what each thread holds."""
        left = deque(self._spans)

        def share(_: int) -> Any:
            held = None
            while left:
                try:
                    span = left.popleft()
                except IndexError:  # somebody else was faster
                    break
                held = empty() if held is None else held
                add(span, held)
            return held

        return [held for held in self.map(share, range(min(self.threads, len(left)))) if held is not None]

    def _sum(self, shape: int | tuple[int, ...], kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a kernel that adds to sums on every span of rows; return the sums."""
        parts = self._gathered(lambda: np.zeros(shape, np.int64), lambda span, out: kernel(*arguments, *span, out))
        return parts[0] if len(parts) == 1 else np.asarray(sum(parts))

    def _by_column(
        self, shape: int | tuple[int, ...], kernel: Callable[..., Any], center: Floats, scale: Floats, *arguments: Any
    ) -> Integers:
        """Run one that adds to sums of every column, centred and scaled; threads share columns where these are many."""
        columns = self.columns
        if self._pool is None or self.n_columns < _COLUMNS_FOR_SHARING:
            return self._sum(shape, kernel, columns, center, scale, *arguments)
        out, edges = np.zeros(shape, np.int64), np.linspace(0, len(columns), _PIECES * self.threads + 1).astype(int)

        def part(some: slice) -> None:
            kernel(columns[some], center[some], scale[some], *arguments, 0, self.n_rows, out[some])

        self.map(part, [slice(*ends) for ends in pairwise(edges.tolist())])
        return out

    def _fill(self, kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a kernel that writes one integer per row."""
        out = np.empty(self.n_rows, np.int64)
        self.map(lambda span: kernel(*arguments, *span, out), self._spans)
        return out

    def _total(self, values: Integers) -> int:
        return int(values @ self.weight if len(self.weight) else values.sum())

    def _signed_sums(self, values: Integers) -> Integers:
        """Sum of every column of +-1 times `values`: what the rows that fire hold, less what the others do."""
        return 2 * self._sum(self.n_columns, kernels.fired_sums, self.below, values, self.n_columns) - values.sum()

    def column_squares(self, center: Floats, scale: Floats) -> Integers:
        return self._by_column((self.n_columns, 2), kernels.column_squares, center, scale, self.weight)

    def gram(self, column: int, center: Floats, scale: Floats) -> Integers:
        if self.below is None:
            return self._products(center, scale, self._column(column, center, scale))
        values = self.columns[column].astype(np.int64)
        sums = self._signed_sums(values * self.weight if len(self.weight) else values)
        sign = signs(center, scale)
        whole = sums.astype(object) * sign.astype(object) * int(sign[column])
        return np.stack([whole >> 31, whole & 0x7FFFFFFF], axis=1).astype(np.int64)

    def _column(self, j: int, center: Floats, scale: Floats) -> Integers:
        return np.rint((self.columns[j].astype(np.float64) - center[j]) * scale[j]).astype(np.int64)

    def _products(self, center: Floats, scale: Floats, other: Integers) -> Integers:
        return self._by_column((self.n_columns, 2), kernels.column_products, center, scale, other, self.weight)

    def line(self, projection: Projection) -> Line:
        """What kernels need to project the rows; where categories are looked up, the last few are remembered."""
        if projection.numeric:
            return self.columns, *projection.arrays
        line = next((kept for known, kept in self._lines if known is projection or known == projection), None)
        if line is None:
            line = line_of(self.columns, projection)
            self._lines = [*self._lines[1 - _LINES :], (projection, line)]
        return line

    def answers(self, rules: Sequence[Oblique]) -> NDArray[np.int8]:
        columns = np.empty((len(rules), self.n_rows), np.int8)
        z = np.empty(self.n_rows)
        for row, rule in zip(columns, rules, strict=True):
            kernels.project(*line_of(self.columns, rule.projection), 0, self.n_rows, z)
            row[:] = np.where(z >= rule.threshold, 1, -1)
        return columns

    def _linear_values(self, linear_term: LinearTerm) -> Integers:
        return self._fill(kernels.fill_linear, self.columns, linear_term.column, np.array(linear_term.place))

    def _descended(self, start: Integers, output: Output) -> Integers:
        if not output.linear:
            return start
        return self._fill(kernels.descend, start, self.columns, *places(output.linear), output.rates)

    def _heavy(self, values: Integers) -> Integers:
        return values * self.weight if len(self.weight) else values

    def _limbs_of(self, values: Integers, other: Integers) -> Integers:
        return self._sum(2, kernels.product_limbs, values, other, self.weight)

    def linear_products(self, linear_term: LinearTerm, others: Sequence[LinearTerm], n_rules: int) -> Integers:
        own = self._linear_values(linear_term)
        heavy = self._heavy(own)
        limbs = [
            self._limbs_of(own, own if other == linear_term else self._linear_values(other))
            for other in (*others, linear_term)
        ]
        return np.concatenate([[heavy.sum()], self.fired_sums(heavy, n_rules), *limbs])

    def linear_fired(self, linear: Sequence[LinearTerm], slot: int) -> Integers:
        fires = self.codes[slot >> 3], slot & 7
        return self._sum(len(linear), kernels.linear_fired, self.columns, *places(linear), fires, self.weight)

    def _residuals(self) -> Sequence[Any]:
        return [self.residual(self.output)]

    def linear_pulls(self, linear: Sequence[LinearTerm]) -> Integers:
        residuals = self._residuals()
        wholes = [self._linear_values(linear_term) for linear_term in linear]
        return np.array([[self._limbs_of(own, residual) for residual in residuals] for own in wholes], np.int64)

    def measure(self) -> Measures:
        n = min(self.n_rows, PROBES)
        probes = self.columns[:, np.arange(n) * self.n_rows // max(n, 1)]
        low, high, whole = np.array(self.map(extremes_of, self.columns), np.float64).reshape(-1, 3).T
        total = int(self.weight.sum()) if len(self.weight) else self.n_rows
        return Measures(
            self.n_rows, total, self._total(self.target), self._limbs(self._start), low, high, whole > 0, probes
        )

    # -- cuts ----------------------------------------------------------------------------------------------

    def _map_sieves(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run `work` on every item, side by side when rows are too few to share."""
        return self.map(work, items) if len(self._spans) == 1 else [work(item) for item in items]

    def cells(self, sieves: Sequence[Sieve]) -> list[CellSums]:
        self._cells = []
        for sieve in sieves:
            self._leftover(sieve.output)
        return self._map_sieves(self._finer_cells if sieves[0].finer else self._coarse_cells, sieves)

    def _coarse_cells(self, sieve: Sieve) -> CellSums:
        leftover, cells = self._leftover(sieve.output), np.empty(self.n_rows, np.uint16)
        line, place = self.line(sieve.projection), (sieve.low, sieve.scale, sieve.bounded)

        def fill(span: tuple[int, int], sums: CellSums) -> None:
            cuts.fill_cells(line, leftover, self.weight, place, span, cells, sums)

        parts = self._gathered(lambda: cuts.empty_cells(sieve.size), fill)
        self._cells.append((sieve, cells))
        return merge(parts)

    def _finer_cells(self, sieve: Sieve) -> CellSums:
        sums = cuts.empty_cells(sieve.n_cells)
        for start in range(0, self.n_rows, _CHUNK):
            rows = self._sieved(sieve, start, min(start + _CHUNK, self.n_rows))
            cuts.add_to_cells(rows, sums)
        return sums

    def _sieved(self, sieve: Sieve, start: int, stop: int) -> RowsInCells:
        """The rows that pass a sieve of several categories, and their cells."""
        columns, index, coefficients = self.line(sieve.projection)
        line = columns[index, start:stop], np.arange(len(index)), coefficients
        residual = self.residual(sieve.output)[start:stop]
        weight = self.weight[start:stop] if len(self.weight) else self.weight
        cells, z, span = np.empty(stop - start, np.uint16), np.empty(stop - start), (0, stop - start)
        unused, place = cuts.empty_cells(sieve.size), (sieve.low, sieve.scale, sieve.bounded)
        cuts.fill_cells(line, (residual, *_NO_SHIFT), weight, place, span, cells, unused)
        kernels.project(*line, *span, z)
        rows: RowsInCells = z, residual, weight, cells
        for finer in sieve.finer:
            rows = chosen_rows(rows, np.flatnonzero(finer.family[rows[3]] >= 0))
            cuts.refine_cells(rows[0], rows[3], finer.family, finer.extent, finer.size)
        return rows

    def inside(self, sieves: Sequence[Sieve], survives: Sequence[NDArray[np.uint8]]) -> list[RowsInCells]:
        answer = self._map_sieves(self._inside, list(zip(sieves, survives, strict=True)))
        self._cells = []
        return answer

    def _inside(self, survivors: tuple[Sieve, NDArray[np.uint8]]) -> RowsInCells:
        sieve, survives = survivors
        if sieve.finer:
            chunks = [(k, min(k + _CHUNK, self.n_rows)) for k in range(0, max(self.n_rows, 1), _CHUNK)]
            rows = [self._sieved(sieve, *chunk) for chunk in chunks]
            return joined_rows([chosen_rows(some, np.flatnonzero(survives[some[3]])) for some in rows])
        cells = next((cells for known, cells in self._cells if known.same(sieve)), None)
        if cells is None:
            self._coarse_cells(sieve)
            cells = self._cells[-1][1]
        leftover, line = self._leftover(sieve.output), self.line(sieve.projection)

        def part(span: tuple[int, int]) -> RowsInCells:
            n = span[1] - span[0]
            heavy = np.empty(min(n, len(self.weight)), np.int64)
            out = np.empty(n), np.empty(n, np.int64), heavy, np.empty(n, np.uint16)
            n_chosen = cuts.gather(line, leftover, self.weight, cells, survives, span, out)
            return (
                out[0][:n_chosen].copy(),
                out[1][:n_chosen].copy(),
                out[2][:n_chosen].copy(),
                out[3][:n_chosen].copy(),
            )  # few

        return joined_rows(self.map(part, self._spans))

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        line, residual = self.line(projection), self.residual(output)

        def part(span: tuple[int, int]) -> tuple[Integers, Floats]:
            sums = np.zeros((len(thresholds), 2), np.int64)
            nearest = np.full(len(thresholds) if len(projection.columns) > 1 else 0, np.inf)
            cuts.split_rows(line, residual, self.weight, thresholds, span, sums, nearest)
            return sums, nearest

        sums, nearest = zip(*self.map(part, self._spans), strict=True)
        return np.sum(sums, axis=0), np.min(nearest, axis=0)

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, rule: Oblique) -> Integers:
        while slot >> 3 >= len(self.codes):
            self.codes = np.concatenate([self.codes, np.zeros_like(self.codes)])
        before = self.codes[slot >> 3].copy()
        line, row = self.line(rule.projection), self.codes[slot >> 3]
        counts = self._sum(3, kernels.fire, line, rule.threshold, self.weight, self.target, row, slot & 7)
        self._last, self._correlations = None, {}
        if counts[2]:
            self._take_back(slot, before)
            self._drop_residual(slot)
        return counts

    def _drop_residual(self, slot: int) -> None:
        if self._residual is not None and self._residual[0].weights[slot : slot + 1].any():
            self._residual = None

    def _take_back(self, slot: int, before: NDArray[np.uint8]) -> None:
        """Forget what depends on the answers that were in a slot `before`."""
        current = [self._without(known, slot, before) for known in self._known[:1] if not any(known[1][3:])]
        others = [known for known in self._known[1:] if not known[0].weights[slot : slot + 1].any()]
        self._known = current + others if current else []

    @staticmethod
    def _without(known: tuple[Output, Leftover], slot: int, before: NDArray[np.uint8]) -> tuple[Output, Leftover]:
        """A known difference with what the answers that were in a slot `before` took from it given back."""
        output, weight = known[0].without(slot)
        return (output, (known[1][0], before, slot & 7, weight, -weight)) if weight else known

    def move(self, source: int, target: int) -> None:
        fires, row = (self.codes[source >> 3] >> (source & 7)) & 1, self.codes[target >> 3]
        row[:] = (row & (255 - (1 << (target & 7)))) | (fires << (target & 7))
        known = [entry for entry in self._known if not entry[0].weights[target : target + 1].any()]
        self._known, self._last, self._correlations = [entry for entry in known if not any(entry[1][3:])], None, {}
        self._drop_residual(target)

    def residual(self, output: Output) -> Integers:
        if self.loss.quadratic:
            return self._diff(output)
        known = self._residual
        if known is None or not known[0].same(output):
            known = self._remember(output, *self._with_losses(self._diff(output)))
        return known[1]

    def _with_losses(self, diff: Integers) -> tuple[Integers, Integers]:
        """The residuals that differences amount to, and the limbs of the sum of the losses."""
        residual = np.empty_like(diff)

        def part(span: tuple[int, int]) -> Integers:
            limbs = np.zeros(4, np.int64)
            self.loss.fill_residual(diff, self.target, self.weight, span[0], span[1], residual, limbs)
            return limbs

        return residual, np.sum(self.map(part, self._spans), axis=0)

    def _diff(self, output: Output) -> Integers:
        """The differences that `output` leaves; the current output's and the last ones are remembered."""
        leftover = self._leftover_diff(output)
        if not any(leftover[3:]):
            return leftover[0]
        diff = self._made(leftover)
        self._known, self._last = [*self._known[:1], (output, (diff, *_NO_SHIFT))], None
        return diff

    def _leftover(self, output: Output) -> Leftover:
        """The residual that `output` leaves; where it is the difference, a known one and what turns it into this."""
        return self._leftover_diff(output) if self.loss.quadratic else (self.residual(output), *_NO_SHIFT)

    def _leftover_diff(self, output: Output) -> Leftover:
        """A known difference, and what turns it into the one that `output` leaves; asked for several times in a row."""
        last = self._last  # threads may ask about different outputs
        if last is None or last[0] is not output:
            last = self._last = output, self._find_leftover(output)
        return last[1]

    def _find_leftover(self, output: Output) -> Leftover:
        for known, leftover in self._known:
            if known.same(output):
                return leftover
        for known, leftover in self._known[:1]:
            if (change := known.change_to(output)) is not None:
                slot, up, down = change
                return self._made(leftover), self.codes[slot >> 3], slot & 7, up, down
        diff = self._fill(kernels.look_up, self._descended(self._start, output), self.codes, tables_of(output))
        self._known = [*self._known[:1], (output, (diff, *_NO_SHIFT))]
        return diff, *_NO_SHIFT

    def _made(self, leftover: Leftover) -> Integers:
        return self._fill(kernels.shift, *leftover) if any(leftover[3:]) else leftover[0]

    def settle(self, output: Output) -> Integers:
        diff = self._diff(output)
        self.output, self._known, self._last = output, [(output, (diff, *_NO_SHIFT))], None
        self._correlations = {}
        if self.loss.quadratic:
            return self._limbs(diff)
        known, losses = self._residual, self._losses
        if known is None or losses is None or known[0] is not losses[0] or not known[0].same(output):
            residual, limbs = self._with_losses(diff)
            self._remember(output, residual, limbs)
            return limbs
        return losses[1]

    def _remember(self, output: Output, residual: Integers, limbs: Integers) -> tuple[Output, Integers]:
        """Keep a residual, which is likely to be asked for, and the limbs that came with it."""
        self._residual, self._losses = (output, residual), (output, limbs)
        return self._residual

    def forget(self) -> None:
        """Drop everything that can be worked out again."""
        self._known, self._last, self._residual, self._losses, self._correlations = [], None, None, None, {}
        self._cells, self._lines = [], []

    def _limbs(self, diff: Integers) -> Integers:
        return self._sum(4, self.loss.add_limbs, diff, self.target, self.weight)

    def limbs(self, output: Output) -> Integers:
        return self._limbs(self._diff(output))

    def largest(self) -> int:
        return int(np.abs(self._diff(self.output)).max(initial=0))

    def loss_powers(self, unit: float) -> int:
        return int(self._sum(1, self.loss.add_powers, self._diff(self.output), self.target, self.weight, unit)[0])

    def correlation(self, slot: int) -> int:
        group = slot >> 3  # the eight of a group are found in one pass
        if group not in self._correlations:
            sums = self._sum(8, kernels.group_sums, self.codes[group], self.residual(self.output), self.weight)
            self._correlations[group] = sums.tolist()
        return self._correlations[group][slot & 7]

    def pulls(self, n_rules: int) -> Integers:
        heavy = map(self._heavy, self._residuals())
        return np.stack([np.append(values.sum(), self.fired_sums(values, n_rules)) for values in heavy], axis=1)

    def overlaps(self, slot: int, n_rules: int) -> Integers:
        if len(self.weight):
            return self.fired_sums(self._fired(slot), n_rules)
        return self._sum(n_rules, kernels.both_fire, self.codes, self.codes[slot >> 3], slot & 7, n_rules)

    def fired_sums(self, values: Integers, n_rules: int) -> Integers:
        """Sum of `values`, one per row, over the rows where each of the first `n_rules` slots fires."""
        return self._sum(n_rules, kernels.fired_sums, self.codes, values, n_rules)

    def _fired(self, slot: int) -> Integers:
        return self._fill(kernels.fired_weight, self.codes[slot >> 3], slot & 7, self.weight)

    def column_sums(self, center: Floats, scale: Floats, slot: int | None = None) -> Integers:
        if slot is not None:
            values = self._fired(slot)
        else:
            values = self.weight if len(self.weight) else np.ones(self.n_rows, np.int64)
        if self.below is None:
            return self._by_column(self.n_columns, kernels.column_sums, center, scale, values)
        return self._signed_sums(values) * signs(center, scale)

    def products(self, output: Output, center: Floats, scale: Floats, shift: int) -> Integers:
        return self._products(center, scale, self.residual(output) >> shift)

    def residual_sum(self, output: Output, shift: int) -> int:
        return self._total(self.residual(output) >> shift)

    # -- depth and theory ----------------------------------------------------------------------------------

    def next_layer(self, rules: Sequence[Oblique]) -> Self:
        columns = self.answers(rules)
        below = np.packbits(columns > 0, axis=0, bitorder="little")
        weight = self.weight if len(self.weight) else None
        return type(self)(columns, self.target, weight, self.loss, self.threads, below)

    def regions(self, n_rules: int) -> Regions:
        keys = region_keys(n_rules)
        # Regions of several spans are put together, which does not pay where they are many.
        spans = self._spans if self._capacity <= _FEW_REGIONS else [(0, self.n_rows)]
        regions = merge_regions(self.map(lambda span: self._regions(keys, span), spans))
        self._capacity = max(_CAPACITY, 4 * len(regions[0]))
        return regions

    def _regions(self, keys: NDArray[np.uint64], span: tuple[int, int]) -> Regions:
        """The regions of a span of rows; more room where there is too little, up to one place per row."""
        capacity, n_regions = self._capacity, -1
        # Weight and target sum; of several classes the weights of each, in more columns than two.
        n_sums = 2 if self.loss.outputs == 1 else max(3, self.loss.outputs)
        while n_regions < 0:
            capacity = min(capacity, span[1] - span[0])
            place_of = np.full(2 << capacity.bit_length(), -1, np.int32)
            names, sums = np.empty(capacity, np.uint64), np.empty((capacity, n_sums), np.int64)
            place = place_of, names, sums
            n_regions = kernels.region_sums(self.codes, keys, self.target, self.weight, *span, place)
            capacity *= 4
        return names[:n_regions].copy(), sums[:n_regions].copy()


def signs(center: Floats, scale: Floats) -> Integers:
    """What a +1 is as an integer, for columns of +-1; zero where all rows hold the same."""
    return np.where(center == 0.0, scale, 0.0).astype(np.int64)


def extremes_of(column: NDArray[Any]) -> tuple[float, float, bool]:
    """The least and the greatest value of a column, and whether all are whole numbers."""
    if len(column) == 0:
        return np.inf, -np.inf, True
    return float(column.min()), float(column.max()), bool((column == np.rint(column)).all())


class ClassPart(Part):
    """Some rows with several scores each, and the answers of the rules of the layer being grown."""

    def residuals(self, output: Output) -> Integers:
        """The residuals that `output` leaves, one line per class; the last ones are remembered."""
        known = getattr(self, "_class_residuals", None)
        if known is None or known[0] != self._answers_known or not known[1].same_scores(output):
            known = self._class_residuals = self._answers_known, output, self._with_losses(self._diff(output))[0]
        return known[2]

    def _remember(self, output: Output, residual: Integers, limbs: Integers) -> tuple[Output, Integers]:
        self._class_residuals = self._answers_known, output, residual
        return output, residual

    def residual(self, output: Output) -> Integers:
        known = self._residual
        if known is None or not known[0].same(output):
            residuals = self.residuals(output)
            known = self._residual = output, seen(residuals, output.contrast or (0,) * len(residuals))
        return known[1]

    def _diff(self, output: Output) -> Integers:
        for known, leftover in self._known:
            if known.same_scores(output):
                return leftover[0]
        diff = np.empty_like(self._start)
        outputs = [one_of(output, k) for k in range(self.loss.outputs)]
        start = self._start
        if output.linear:
            start = np.stack([self._descended(own, one) for own, one in zip(start, outputs, strict=True)])
        tables = np.stack([tables_of(one) for one in outputs])
        self.map(lambda span: kernels.look_up_classes(start, self.codes, tables, *span, diff), self._spans)
        self._known = [*self._known[:1], (output, (diff, np.zeros(0, np.uint8), 0, 0, 0))]
        return diff

    def _take_back(self, slot: int, before: NDArray[np.uint8]) -> None:
        self._known = [known for known in self._known if not known[0].weights[slot : slot + 1].any()]
        self._answers_known += 1

    def move(self, source: int, target: int) -> None:
        super().move(source, target)
        self._answers_known += 1

    def forget(self) -> None:
        super().forget()
        self._answers_known += 1

    def _residuals(self) -> Sequence[Any]:
        return [*self.residuals(self.output)]

    _answers_known = 0  # how often answers have changed


def one_of(output: Output, k: int) -> Output:
    return output.of(k) if output.weights.ndim > 1 else output


def seen(residuals: Any, contrast: tuple[int, ...]) -> Any:
    """One number per row from one per class."""
    total = residuals[0] * contrast[0]
    for residual, factor in zip(residuals[1:], contrast[1:], strict=True):
        if factor:
            total = total + residual * factor
    return total >> CONTRAST


def part_of(
    columns: NDArray[Any], target: Integers, weight: Integers | None, loss: Loss, threads: int = 1,
    below: NDArray[np.uint8] | None = None,
) -> Part:  # fmt: skip
    """Rows as a part, of the kind that their loss takes."""
    return (Part if loss.outputs == 1 else ClassPart)(columns, target, weight, loss, threads, below)


PartKind = TypeVar("PartKind", bound=RowPart)


class PartsInMemory(Parts[PartKind]):
    """Parts in this process, asked one after the other."""

    def __init__(self, parts: Sequence[PartKind]) -> None:
        self.parts = parts

    def replies(self, request: Request[PartKind, Reply]) -> list[Reply]:
        return [request.put_to(part) for part in self.parts]

    def next_layer(self, rules: Sequence[Oblique]) -> Self:
        return type(self)([part.next_layer(rules) for part in self.parts])


class MemoryEngine(CellEngine):
    """Rows in RAM, in one part that threads share."""

    def __init__(self, part: Part, loss: Loss) -> None:
        self.part = part
        super().__init__(PartsInMemory([part]), loss)

    def cuts(self, requests: Sequence[CutRequest]) -> Iterator[Cut | None]:
        """Answer each rule when it is its turn: the first are often enough."""
        for request in requests:
            yield from super().cuts([request])

    def residual(self, output: Output) -> Integers:
        return self.part.residual(output)

    def next_layer(self, rules: Sequence[Oblique]) -> MemoryEngine:
        return MemoryEngine(self.part.next_layer(rules), self.loss)
