"""Rows in memory: the answers of one part of the rows to every question of a pass.

Each method returns integers that add up, extremes that merge, or rows; :mod:`bgn.engines.merged` puts the answers
of all parts together. Methods that read rows run compiled kernels on the threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.cells import CellSums, RowsInCells, Sieve, chosen_rows, joined_rows, merge
from bgn.engines.kernels import cuts
from bgn.engines.kernels import rows as kernels
from bgn.engines.memory.threads import Crew
from bgn.engines.outputs import one_change, same, without
from bgn.engines.protocol import Floats, Integers, Loss, Measures, Output
from bgn.engines.split import mix
from bgn.model.neuron import Neuron

PROBES = 64
# From so many rows on threads share out directions, and from so many on rows.
_ROWS_FOR_SHARING = 1 << 12
_ROWS_FOR_THREADS = 1 << 18
_CHUNK = 1 << 18
_ROOM = 1 << 8
_FEW_REGIONS = 1 << 13
_NO_WEIGHT = np.empty(0, np.int64)
NO_OUTPUT = Output(np.zeros(0, np.int64), 0)
# The eight bits of every byte.
BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1
SIGNS = np.ascontiguousarray((2 * BITS - 1).T)
# A gap; and what to add where a slot, a bit of a row of codes, fires and where it does not.
Leftover = tuple[Integers, NDArray[np.uint8], int, int, int]
_NO_SHIFT = np.zeros(0, np.uint8), 0, 0, 0
# Keys of regions; their weights and target sums.
Regions = tuple[NDArray[np.uint64], Integers]


class Part:
    """Some rows and the answers of the neurons of the layer being grown, one slot per neuron.

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
        self,
        columns: NDArray[Any],
        target: Integers,
        weight: Integers | None,
        loss: Loss,
        threads: int = 1,
        below: NDArray[np.uint8] | None = None,
    ) -> None:
        self.columns, self.target, self.loss, self.below = columns, target, loss, below
        self.weight = _NO_WEIGHT if weight is None else weight
        self.n_columns, self.n_rows = columns.shape
        self.threads = threads if self.n_rows >= _ROWS_FOR_SHARING else 1
        self._crew = Crew(self.threads) if self.threads > 1 else None
        edges = np.linspace(0, self.n_rows, (self.threads if self.n_rows >= _ROWS_FOR_THREADS else 1) + 1)
        self._spans = list(pairwise(edges.astype(int).tolist()))
        self.codes = np.zeros((1, self.n_rows), np.uint8)
        self.output = NO_OUTPUT
        self._start = loss.gap(target)
        # Gaps; the current output's first.
        self._known: list[tuple[Output, Leftover]] = [(NO_OUTPUT, (self._start, *_NO_SHIFT))]
        self._residual: tuple[Output, Integers] | None = None  # where it is not the gap
        self._last: tuple[Output, Leftover] | None = None
        self._cells: list[tuple[Sieve, NDArray[np.uint16]]] = []
        self._correlations: dict[int, list[int]] = {}
        self._room = _ROOM  # for regions

    # -- sharing work --------------------------------------------------------------------------------------

    def each(self, work: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """Run `work` on every item, on the threads there are."""
        items = list(items)
        if self._crew is None or len(items) < 2:
            return [work(item) for item in items]
        return self._crew.each(work, items)

    def _each_sieve(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run `work` on every item, side by side when rows are too few to share out."""
        return self.each(work, items) if len(self._spans) == 1 else [work(item) for item in items]

    def _sum(self, shape: int | tuple[int, ...], kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a summing kernel on every span of rows and add up the parts."""

        def part(span: tuple[int, int]) -> Integers:
            out = np.zeros(shape, np.int64)
            kernel(*arguments, *span, out)
            return out

        return _added(self.each(part, self._spans))

    def _fill(self, kernel: Callable[..., Any], *arguments: Any) -> Integers:
        """Run a kernel that writes one integer a row."""
        out = np.empty(self.n_rows, np.int64)
        self.each(lambda span: kernel(*arguments, *span, out), self._spans)
        return out

    def measure(self) -> Measures:
        """Sums and extremes."""
        n = min(self.n_rows, PROBES)
        probes = self.columns[:, np.arange(n) * self.n_rows // max(n, 1)]
        reach = [(float(c.min()), float(c.max())) if n else (np.inf, -np.inf) for c in self.columns]
        low, high = np.array(reach, np.float64).reshape(-1, 2).T
        return Measures(
            self.n_rows,
            int(self.weight.sum()) if len(self.weight) else self.n_rows,
            int(self._sum(1, kernels.plain_sum, self.target, self.weight)[0]),
            self._limbs(self._start),
            low,
            high,
            probes,
        )

    # -- cuts ----------------------------------------------------------------------------------------------

    def cells(self, sieves: Sequence[Sieve]) -> list[CellSums]:
        """What every cell of each sieve holds."""
        self._cells = []
        for sieve in sieves:
            self._leftover(sieve.output)
        return self._each_sieve(self._finer_cells if sieves[0].finer else self._coarse_cells, sieves)

    def _coarse_cells(self, sieve: Sieve) -> CellSums:
        leftover, cells, line = self._leftover(sieve.output), np.empty(self.n_rows, np.uint16), sieve.projection.arrays
        place = sieve.low, sieve.scale

        def fill(span: tuple[int, int]) -> CellSums:
            sums = cuts.empty_cells(sieve.size)
            cuts.fill_cells(self.columns, *line, *leftover, self.weight, *place, *span, cells, *sums)
            return sums

        found = self.each(fill, self._spans)
        self._cells.append((sieve, cells))
        return merge(found)

    def _finer_cells(self, sieve: Sieve) -> CellSums:
        sums = cuts.empty_cells(sieve.n_cells)
        for start in range(0, self.n_rows, _CHUNK):
            rows = self._sieved(sieve, start, min(start + _CHUNK, self.n_rows))
            cuts.add_to_cells(*rows, *sums)
        return sums

    def _sieved(self, sieve: Sieve, start: int, stop: int) -> RowsInCells:
        """The rows that pass a sieve of several levels, and their cells."""
        line, residual = sieve.projection.arrays, self.residual(sieve.output)[start:stop]
        weight = self.weight[start:stop] if len(self.weight) else self.weight
        cells, z = np.empty(stop - start, np.uint16), np.empty(stop - start)
        columns, line = self.columns[line[0], start:stop], (np.arange(len(line[0])), line[1])
        unused = cuts.empty_cells(sieve.size)
        place = sieve.low, sieve.scale, 0, stop - start
        cuts.fill_cells(columns, *line, residual, *_NO_SHIFT, weight, *place, cells, *unused)
        kernels.project(columns, *line, 0, stop - start, z)
        rows: RowsInCells = z, residual, weight, cells
        for finer in sieve.finer:
            rows = chosen_rows(rows, np.flatnonzero(finer.family[rows[3]] >= 0))
            cuts.refine_cells(rows[0], rows[3], finer.family, finer.extent, finer.size)
        return rows

    def inside(self, sieves: Sequence[Sieve], survives: Sequence[NDArray[np.uint8]]) -> list[RowsInCells]:
        """The rows in the cells of each sieve that survive."""
        answer = self._each_sieve(self._inside, list(zip(sieves, survives, strict=True)))
        self._cells = []
        return answer

    def _inside(self, question: tuple[Sieve, NDArray[np.uint8]]) -> RowsInCells:
        sieve, survives = question
        if sieve.finer:
            chunks = [(k, min(k + _CHUNK, self.n_rows)) for k in range(0, max(self.n_rows, 1), _CHUNK)]
            rows = [self._sieved(sieve, *chunk) for chunk in chunks]
            return joined_rows([chosen_rows(some, np.flatnonzero(survives[some[3]])) for some in rows])
        cells = next((cells for known, cells in self._cells if known.same(sieve)), None)
        if cells is None:
            self._coarse_cells(sieve)
            cells = self._cells[-1][1]
        leftover, line = self._leftover(sieve.output), sieve.projection.arrays

        def part(span: tuple[int, int]) -> RowsInCells:
            n = span[1] - span[0]
            heavy = np.empty(min(n, len(self.weight)), np.int64)
            room = np.empty(n), np.empty(n, np.int64), heavy, np.empty(n, np.uint16)
            found = cuts.gather(self.columns, *line, *leftover, self.weight, cells, survives, *span, *room)
            # Copies, because the rows found are few and the room is not.
            return room[0][:found].copy(), room[1][:found].copy(), room[2][:found].copy(), room[3][:found].copy()

        return joined_rows(self.each(part, self._spans))

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, neuron: Neuron) -> Integers:
        """Store a neuron's answers; weight and target sum of the rows where it fires, and how many are new."""
        while slot >> 3 >= len(self.codes):
            self.codes = np.concatenate([self.codes, np.zeros_like(self.codes)])
        before = self.codes[slot >> 3].copy()
        told = self._sum(
            3, kernels.fire, self.columns, *neuron.projection.arrays, neuron.threshold, self.weight, self.target,
            self.codes[slot >> 3], slot & 7,
        )  # fmt: skip
        self._last, self._residual, self._correlations = None, None, {}
        if told[2]:
            self._known = [self._without(known, slot, before) for known in self._known[:1] if not any(known[1][3:])]
        return told

    @staticmethod
    def _without(known: tuple[Output, Leftover], slot: int, before: NDArray[np.uint8]) -> tuple[Output, Leftover]:
        """A known gap with what the answers that were in a slot `before` took from it given back."""
        output, weight = without(known[0], slot)
        return (output, (known[1][0], before, slot & 7, weight, -weight)) if weight else known

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""
        a, b = self.codes[source >> 3], self.codes[target >> 3]
        self.each(lambda span: kernels.move_bit(a, source & 7, b, target & 7, *span), self._spans)
        self._known, self._last, self._residual, self._correlations = [], None, None, {}

    def residual(self, output: Output) -> Integers:
        """The residual that `output` leaves, row by row."""
        if self.loss.quadratic:
            return self._gap(output)
        known = self._residual
        if known is None or not same(known[0], output):
            known = self._residual = output, self.loss.residual(self._gap(output), self.target)
        return known[1]

    def _gap(self, output: Output) -> Integers:
        """The gaps that `output` leaves; the current output's and the last ones are remembered."""
        leftover = self._leftover_gap(output)
        if not any(leftover[3:]):
            return leftover[0]
        gap = self._made(leftover)
        self._known, self._last = [*self._known[:1], (output, (gap, *_NO_SHIFT))], None
        return gap

    def _leftover(self, output: Output) -> Leftover:
        """The residual that `output` leaves; where it is the gap, a known one and what turns it into this."""
        return self._leftover_gap(output) if self.loss.quadratic else (self.residual(output), *_NO_SHIFT)

    def _leftover_gap(self, output: Output) -> Leftover:
        """A known gap, and what turns it into the one that `output` leaves; asked for several times in a row."""
        last = self._last  # threads may ask about different outputs
        if last is None or last[0] is not output:
            last = self._last = output, self._find_leftover(output)
        return last[1]

    def _find_leftover(self, output: Output) -> Leftover:
        for known, leftover in self._known:
            if same(known, output):
                return leftover
        for known, leftover in self._known[:1]:
            if (change := one_change(known, output)) is not None:
                slot, up, down = change
                return self._made(leftover), self.codes[slot >> 3], slot & 7, up, down
        gap = self._fill(kernels.look_up, self._start, self.codes, *_tables(output))
        self._known = [*self._known[:1], (output, (gap, *_NO_SHIFT))]
        return gap, *_NO_SHIFT

    def _made(self, leftover: Leftover) -> Integers:
        return self._fill(kernels.shift, *leftover) if any(leftover[3:]) else leftover[0]

    def settle(self, output: Output) -> Integers:
        """Make `output` the current one; the limbs of the sum of the losses."""
        gap = self._gap(output)
        self.output, self._known, self._last = output, [(output, (gap, *_NO_SHIFT))], None
        self._correlations = {}
        return self._limbs(gap)

    def forget(self) -> None:
        """Drop everything that can be worked out again."""
        self._known, self._last, self._residual, self._cells, self._correlations = [], None, None, [], {}

    def _limbs(self, gap: Integers) -> Integers:
        return self._sum(4, self.loss.add_limbs, gap, self.target, self.weight)

    def largest(self) -> int:
        """The largest gap of the current output."""
        return int(np.abs(self._gap(self.output)).max(initial=0))

    def loss_powers(self, unit: float) -> int:
        """Sum of the squared losses of gaps times `unit`, in units of 2^-30."""
        return int(self._sum(1, self.loss.add_powers, self._gap(self.output), self.target, self.weight, unit)[0])

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires; the eight of a group are found in one pass."""
        group = slot >> 3
        if group not in self._correlations:
            sums = self._sum(8, kernels.group_sums, self.codes[group], self.residual(self.output), self.weight)
            self._correlations[group] = sums.tolist()
        return self._correlations[group][slot & 7]

    def overlaps(self, slot: int, width: int) -> Integers:
        """For each of the first `width` slots, the weight of the rows where both it and `slot` fire."""
        return self.fired_sums(self._fired(slot), width)

    def fired_sums(self, values: Integers, width: int) -> Integers:
        """Sum of `values`, one a row, over the rows where each of the first `width` slots fires."""
        return self._sum(width, kernels.fired_sums, self.codes, values, width)

    def _fired(self, slot: int) -> Integers:
        return self._fill(kernels.answers, self.codes[slot >> 3], slot & 7, self.weight)

    # -- columns -------------------------------------------------------------------------------------------

    def column_sums(self, centre: Floats, scale: Floats, slot: int | None = None) -> Integers:
        """Sum of every integer column over all rows, or over those where `slot` fires."""
        if slot is not None:
            values = self._fired(slot)
        else:
            values = self.weight if len(self.weight) else np.ones(self.n_rows, np.int64)
        if self.below is None:
            return self._sum(self.n_columns, kernels.column_sums, self.columns, centre, scale, values)
        return self._signed_sums(values) * signs(centre, scale)

    def _signed_sums(self, values: Integers) -> Integers:
        """Sum of every column of +-1 times `values`: what the rows that fire hold, less what the others do."""
        return 2 * self._sum(self.n_columns, kernels.fired_sums, self.below, values, self.n_columns) - values.sum()

    def products(self, output: Output, centre: Floats, scale: Floats, shift: int) -> Integers:
        """Limbs of every integer column times the residual that `output` leaves, without its last `shift` bits."""
        return self._products(slice(None), centre, scale, self.residual(output) >> shift)

    def residual_sum(self, output: Output, shift: int) -> int:
        """Sum of the residuals that `output` leaves, without their last `shift` bits."""
        return int(self._sum(1, kernels.plain_sum, self.residual(output) >> shift, self.weight)[0])

    def column_squares(self, centre: Floats, scale: Floats) -> Integers:
        """Limbs of every integer column squared."""
        columns = range(self.n_columns)
        return np.concatenate(
            [self._products(slice(j, j + 1), centre, scale, self._column(j, centre, scale)) for j in columns]
        )

    def gram(self, column: int, centre: Floats, scale: Floats) -> Integers:
        """Limbs of one integer column times all."""
        if self.below is None:
            return self._products(slice(None), centre, scale, self._column(column, centre, scale))
        values = self.columns[column].astype(np.int64)
        sums = self._signed_sums(values * self.weight if len(self.weight) else values)
        sign = signs(centre, scale)
        whole = sums.astype(object) * sign.astype(object) * int(sign[column])
        return np.stack([whole >> 31, whole & 0x7FFFFFFF], axis=1).astype(np.int64)

    def _column(self, j: int, centre: Floats, scale: Floats) -> Integers:
        return np.rint((self.columns[j].astype(np.float64) - centre[j]) * scale[j]).astype(np.int64)

    def _products(self, which: slice, centre: Floats, scale: Floats, other: Integers) -> Integers:
        columns = self.columns[which]
        return self._sum(
            (len(columns), 2), kernels.column_products, columns, centre[which], scale[which], other, self.weight
        )

    # -- depth and theory ----------------------------------------------------------------------------------

    def answers(self, neurons: Sequence[Neuron]) -> NDArray[np.int8]:
        """The +-1 answers of `neurons`, a row each."""
        columns = np.empty((len(neurons), self.n_rows), np.int8)
        z = np.empty(self.n_rows)
        for row, neuron in zip(columns, neurons, strict=True):
            kernels.project(self.columns, *neuron.projection.arrays, 0, self.n_rows, z)
            row[:] = np.where(z >= neuron.threshold, 1, -1)
        return columns

    def next_layer(self, neurons: Sequence[Neuron]) -> Part:
        """The same rows with the +-1 answers of `neurons` for columns."""
        columns = self.answers(neurons)
        below = np.packbits(columns > 0, axis=0, bitorder="little")
        weight = self.weight if len(self.weight) else None
        return Part(columns, self.target, weight, self.loss, self.threads, below)

    def regions(self, width: int) -> Regions:
        """The regions that the first `width` slots tell apart: their keys; their weights and target sums."""
        groups = (width + 7) >> 3
        keys = _keys(1 << groups.bit_length())[:groups]
        if width & 7:  # bits beyond the width hold old answers
            keys = keys.copy()
            keys[-1] = keys[-1][np.arange(256) & ((1 << (width & 7)) - 1)]
        # Regions of several spans are put together, which does not pay where they are many.
        spans = self._spans if self._room <= _FEW_REGIONS else [(0, self.n_rows)]
        found = merge_regions(self.each(lambda span: self._regions(groups, keys, span), spans))
        self._room = max(_ROOM, 4 * len(found[0]))
        return found

    def _regions(self, groups: int, keys: NDArray[np.uint64], span: tuple[int, int]) -> Regions:
        """The regions of a span of rows; more room where there is too little, up to one place a row."""
        room, found = self._room, -1
        while found < 0:
            room = min(room, span[1] - span[0])
            place_of = np.full(2 << room.bit_length(), -1, np.int32)
            names, sums = np.empty(room, np.uint64), np.empty((room, 2), np.int64)
            found = kernels.region_sums(
                self.codes, groups, keys, self.target, self.weight, *span, place_of, names, sums
            )
            room *= 4
        return names[:found].copy(), sums[:found].copy()


def merge_regions(parts: Sequence[Regions]) -> Regions:
    """Keys and sums of the regions of several parts, as one."""
    if len(parts) == 1:
        return parts[0]
    keys, number = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    sums = np.zeros((len(keys), 2), np.int64)
    np.add.at(sums, number, np.concatenate([part for _, part in parts]))
    return keys, sums


@cache
def _keys(groups: int) -> NDArray[np.uint64]:
    """A random number for each of the 256 answers of every group of eight neurons."""
    with np.errstate(over="ignore"):
        keys = mix(np.arange(1, 256 * groups + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return keys.reshape(groups, 256)


def _added(parts: Sequence[Integers]) -> Integers:
    return parts[0] if len(parts) == 1 else np.asarray(sum(parts))


def signs(centre: Floats, scale: Floats) -> Integers:
    """What a +1 is as an integer, for columns of +-1; zero where all rows hold the same."""
    return np.where(centre == 0.0, scale, 0.0).astype(np.int64)


def _tables(output: Output) -> tuple[Integers, int]:
    """For every group of eight neurons, what each of their 256 answers adds; and the base."""
    groups = (len(output.weights) + 7) >> 3
    weights = np.zeros((groups, 8), np.int64)
    weights.ravel()[: len(output.weights)] = output.weights
    return weights @ SIGNS, int(output.base)
