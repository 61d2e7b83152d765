"""Some of the rows, in memory, and the layer that grows on them: a part that every engine but the GPU's is made of.

Each method of :class:`~bgn.engines.requests.CellPart` returns integers that add up, extremes that merge, or rows;
:mod:`bgn.engines.merged` puts the replies of all parts together. What reads rows runs compiled kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bgn.engines.answer_bits import tables_of
from bgn.engines.cells import PROBES, CellSums, RowsInCells, Sieve, chosen_rows, joined_rows, merge
from bgn.engines.kernels import cuts
from bgn.engines.kernels import rows as kernels
from bgn.engines.protocol import NO_OUTPUT, Floats, Integers, Loss, Measures, Output
from bgn.engines.ramp_rows import RampRows
from bgn.engines.regions import Regions, merge_regions, region_keys
from bgn.engines.requests import CellPart
from bgn.engines.shared_rows import told_of
from bgn.model.neuron import Neuron, Projection

_CHUNK = 1 << 18
_ROOM = 1 << 8
_FEW_REGIONS = 1 << 13
# A gap; and what to add where a slot, a bit of a row of codes, fires and where it does not.
Leftover = tuple[Integers, NDArray[np.uint8], int, int, int]
_NO_SHIFT = np.zeros(0, np.uint8), 0, 0, 0


class Part(RampRows, CellPart):
    """Some rows and the answers of the neurons of the layer being grown, one slot per neuron.

    What has no docstring is a request of :class:`~bgn.engines.requests.CellPart`.
    """

    def __init__(
        self, columns: NDArray[Any], target: Integers, weight: Integers | None, loss: Loss, threads: int = 1,
        below: NDArray[np.uint8] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(columns, target, weight, loss, threads, below)
        self.codes = np.zeros((1, self.n_rows), np.uint8)
        self.output = NO_OUTPUT
        self._start = loss.gap(target)
        # Gaps; the current output's first.
        self._known: list[tuple[Output, Leftover]] = [(NO_OUTPUT, (self._start, *_NO_SHIFT))]
        self._residual: tuple[Output, Integers] | None = None  # where it is not the gap
        self._losses: tuple[Output, Integers] | None = None  # the limbs that came with it
        self._last: tuple[Output, Leftover] | None = None
        self._cells: list[tuple[Sieve, NDArray[np.uint16]]] = []
        self._correlations: dict[int, list[int]] = {}
        self._room = _ROOM  # for regions

    def measure(self) -> Measures:
        n = min(self.n_rows, PROBES)
        probes = self.columns[:, np.arange(n) * self.n_rows // max(n, 1)]
        low, high, whole = np.array(self.each(told_of, self.columns), np.float64).reshape(-1, 3).T
        total = int(self.weight.sum()) if len(self.weight) else self.n_rows
        return Measures(
            self.n_rows, total, self._total(self.target), self._limbs(self._start), low, high, whole > 0, probes
        )

    # -- cuts ----------------------------------------------------------------------------------------------

    def _each_sieve(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run `work` on every item, side by side when rows are too few to share."""
        return self.each(work, items) if len(self._spans) == 1 else [work(item) for item in items]

    def cells(self, sieves: Sequence[Sieve]) -> list[CellSums]:
        self._cells = []
        for sieve in sieves:
            self._leftover(sieve.output)
        return self._each_sieve(self._finer_cells if sieves[0].finer else self._coarse_cells, sieves)

    def _coarse_cells(self, sieve: Sieve) -> CellSums:
        leftover, cells = self._leftover(sieve.output), np.empty(self.n_rows, np.uint16)
        line, place = self.line(sieve.projection), (sieve.low, sieve.scale, sieve.bounded)

        def fill(span: tuple[int, int], sums: CellSums) -> None:
            cuts.fill_cells(line, leftover, self.weight, place, span, cells, sums)

        found = self._gathered(lambda: cuts.empty_cells(sieve.size), fill)
        self._cells.append((sieve, cells))
        return merge(found)

    def _finer_cells(self, sieve: Sieve) -> CellSums:
        sums = cuts.empty_cells(sieve.n_cells)
        for start in range(0, self.n_rows, _CHUNK):
            rows = self._sieved(sieve, start, min(start + _CHUNK, self.n_rows))
            cuts.add_to_cells(rows, sums)
        return sums

    def _sieved(self, sieve: Sieve, start: int, stop: int) -> RowsInCells:
        """The rows that pass a sieve of several levels, and their cells."""
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
        answer = self._each_sieve(self._inside, list(zip(sieves, survives, strict=True)))
        self._cells = []
        return answer

    def _inside(self, asked: tuple[Sieve, NDArray[np.uint8]]) -> RowsInCells:
        sieve, survives = asked
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
            room = np.empty(n), np.empty(n, np.int64), heavy, np.empty(n, np.uint16)
            found = cuts.gather(line, leftover, self.weight, cells, survives, span, room)
            return room[0][:found].copy(), room[1][:found].copy(), room[2][:found].copy(), room[3][:found].copy()  # few

        return joined_rows(self.each(part, self._spans))

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        line, residual = self.line(projection), self.residual(output)

        def part(span: tuple[int, int]) -> tuple[Integers, Floats]:
            sums = np.zeros((len(thresholds), 2), np.int64)
            nearest = np.full(len(thresholds) if len(projection.columns) > 1 else 0, np.inf)
            cuts.split_rows(line, residual, self.weight, thresholds, span, sums, nearest)
            return sums, nearest

        sums, nearest = zip(*self.each(part, self._spans), strict=True)
        return np.sum(sums, axis=0), np.min(nearest, axis=0)

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, neuron: Neuron) -> Integers:
        while slot >> 3 >= len(self.codes):
            self.codes = np.concatenate([self.codes, np.zeros_like(self.codes)])
        before = self.codes[slot >> 3].copy()
        line, row = self.line(neuron.projection), self.codes[slot >> 3]
        told = self._sum(3, kernels.fire, line, neuron.threshold, self.weight, self.target, row, slot & 7)
        self._last, self._correlations = None, {}
        if told[2]:
            self._take_back(slot, before)
            self._drop_residual(slot)
        return told

    def _drop_residual(self, slot: int) -> None:
        """Forget the residual if it depends on the answers in a slot."""
        if self._residual is not None and self._residual[0].weights[slot : slot + 1].any():
            self._residual = None

    def _take_back(self, slot: int, before: NDArray[np.uint8]) -> None:
        """Forget what depends on the answers that were in a slot `before`."""
        current = [self._without(known, slot, before) for known in self._known[:1] if not any(known[1][3:])]
        others = [known for known in self._known[1:] if not known[0].weights[slot : slot + 1].any()]
        self._known = current + others if current else []

    @staticmethod
    def _without(known: tuple[Output, Leftover], slot: int, before: NDArray[np.uint8]) -> tuple[Output, Leftover]:
        """A known gap with what the answers that were in a slot `before` took from it given back."""
        output, weight = known[0].without(slot)
        return (output, (known[1][0], before, slot & 7, weight, -weight)) if weight else known

    def move(self, source: int, target: int) -> None:
        fires, row = (self.codes[source >> 3] >> (source & 7)) & 1, self.codes[target >> 3]
        row[:] = (row & (255 - (1 << (target & 7)))) | (fires << (target & 7))
        known = [each for each in self._known if not each[0].weights[target : target + 1].any()]
        self._known, self._last, self._correlations = [each for each in known if not any(each[1][3:])], None, {}
        self._drop_residual(target)

    def residual(self, output: Output) -> Integers:
        """The residual that `output` leaves, row by row."""
        if self.loss.quadratic:
            return self._gap(output)
        known = self._residual
        if known is None or not known[0].same(output):
            known = self._remember(output, *self._with_losses(self._gap(output)))
        return known[1]

    def _with_losses(self, gap: Integers) -> tuple[Integers, Integers]:
        """The residuals that gaps amount to, and the limbs of the sum of the losses."""
        residual = np.empty_like(gap)

        def part(span: tuple[int, int]) -> Integers:
            limbs = np.zeros(4, np.int64)
            self.loss.fill_residual(gap, self.target, self.weight, span[0], span[1], residual, limbs)
            return limbs

        return residual, np.sum(self.each(part, self._spans), axis=0)

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
            if known.same(output):
                return leftover
        for known, leftover in self._known[:1]:
            if (change := known.change_to(output)) is not None:
                slot, up, down = change
                return self._made(leftover), self.codes[slot >> 3], slot & 7, up, down
        gap = self._fill(kernels.look_up, self._descended(self._start, output), self.codes, tables_of(output))
        self._known = [*self._known[:1], (output, (gap, *_NO_SHIFT))]
        return gap, *_NO_SHIFT

    def _made(self, leftover: Leftover) -> Integers:
        return self._fill(kernels.shift, *leftover) if any(leftover[3:]) else leftover[0]

    def settle(self, output: Output) -> Integers:
        gap = self._gap(output)
        self.output, self._known, self._last = output, [(output, (gap, *_NO_SHIFT))], None
        self._correlations = {}
        if self.loss.quadratic:
            return self._limbs(gap)
        known, losses = self._residual, self._losses
        if known is None or losses is None or known[0] is not losses[0] or not known[0].same(output):
            residual, limbs = self._with_losses(gap)
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

    def _limbs(self, gap: Integers) -> Integers:
        return self._sum(4, self.loss.add_limbs, gap, self.target, self.weight)

    def limbs(self, output: Output) -> Integers:
        return self._limbs(self._gap(output))

    def largest(self) -> int:
        return int(np.abs(self._gap(self.output)).max(initial=0))

    def loss_powers(self, unit: float) -> int:
        return int(self._sum(1, self.loss.add_powers, self._gap(self.output), self.target, self.weight, unit)[0])

    def correlation(self, slot: int) -> int:
        group = slot >> 3  # the eight of a group are found in one pass
        if group not in self._correlations:
            sums = self._sum(8, kernels.group_sums, self.codes[group], self.residual(self.output), self.weight)
            self._correlations[group] = sums.tolist()
        return self._correlations[group][slot & 7]

    def pulls(self, width: int) -> Integers:
        residual = self.residual(self.output)
        values = residual * self.weight if len(self.weight) else residual
        return np.append(values.sum(), self.fired_sums(values, width))[:, None]

    def overlaps(self, slot: int, width: int) -> Integers:
        if len(self.weight):
            return self.fired_sums(self._fired(slot), width)
        return self._sum(width, kernels.both_fire, self.codes, self.codes[slot >> 3], slot & 7, width)

    def fired_sums(self, values: Integers, width: int) -> Integers:
        """Sum of `values`, one per row, over the rows where each of the first `width` slots fires."""
        return self._sum(width, kernels.fired_sums, self.codes, values, width)

    def _fired(self, slot: int) -> Integers:
        return self._fill(kernels.fired_weight, self.codes[slot >> 3], slot & 7, self.weight)

    def column_sums(self, centre: Floats, scale: Floats, slot: int | None = None) -> Integers:
        if slot is not None:
            values = self._fired(slot)
        else:
            values = self.weight if len(self.weight) else np.ones(self.n_rows, np.int64)
        return self._column_sums(centre, scale, values)

    def products(self, output: Output, centre: Floats, scale: Floats, shift: int) -> Integers:
        return self._products(centre, scale, self.residual(output) >> shift)

    def residual_sum(self, output: Output, shift: int) -> int:
        return self._total(self.residual(output) >> shift)

    # -- depth and theory ----------------------------------------------------------------------------------

    def next_layer(self, neurons: Sequence[Neuron]) -> Self:
        columns = self.answers(neurons)
        below = np.packbits(columns > 0, axis=0, bitorder="little")
        weight = self.weight if len(self.weight) else None
        return type(self)(columns, self.target, weight, self.loss, self.threads, below)

    def regions(self, width: int) -> Regions:
        keys = region_keys(width)
        # Regions of several spans are put together, which does not pay where they are many.
        spans = self._spans if self._room <= _FEW_REGIONS else [(0, self.n_rows)]
        found = merge_regions(self.each(lambda span: self._regions(keys, span), spans))
        self._room = max(_ROOM, 4 * len(found[0]))
        return found

    @property
    def _sums_per_region(self) -> int:
        """Weight and target sum."""
        return 2

    def _regions(self, keys: NDArray[np.uint64], span: tuple[int, int]) -> Regions:
        """The regions of a span of rows; more room where there is too little, up to one place per row."""
        room, found = self._room, -1
        while found < 0:
            room = min(room, span[1] - span[0])
            place_of = np.full(2 << room.bit_length(), -1, np.int32)
            names, sums = np.empty(room, np.uint64), np.empty((room, self._sums_per_region), np.int64)
            place = place_of, names, sums
            found = kernels.region_sums(self.codes, keys, self.target, self.weight, *span, place)
            room *= 4
        return names[:found].copy(), sums[:found].copy()
