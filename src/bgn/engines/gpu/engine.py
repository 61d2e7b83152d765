"""Rows in torch tensors, on a GPU: a cut is a sort and running sums of integers.

Every sum is a sum of integers and every float is rounded once per step, as in :mod:`bgn.engines.part`: torch runs one
operation after the other and fuses none, so the bits are the same. Tensors on a CPU work as well. On a GPU
:mod:`bgn.engines.gpu.fused` does most of it faster, for rows without weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
import torch
from torch import Tensor

from bgn.engines.cells import PROBES, Best, Sieve
from bgn.engines.gpu.answers import Answers, count
from bgn.engines.gpu.cut import ProjectedRows, Total, best_of, edges_of, line_up, line_up_cells, line_up_window
from bgn.engines.gpu.sums import group_sums, numbers, project
from bgn.engines.memory.engine import PartsInMemory
from bgn.engines.merged import MergedEngine
from bgn.engines.protocol import NO_OUTPUT, Cut, Floats, Integers, Loss, Measures, Output, Question
from bgn.engines.ramp import LINEAR_BITS, Ramp
from bgn.engines.requests import RowPart
from bgn.model.neuron import Neuron, Projection

# Projections to keep, and rows from which on it pays to sort cells before rows.
_LINES = 3
ROWS_FOR_CELLS = 1 << 24
# Bytes to hold at once of columns made whole.
_ROOM = 1 << 29


class TensorPart(RowPart):
    """Rows on one device and the answers of the neurons of the layer being grown, one slot per neuron.

    Parameters
    ----------
    columns : tensor, shape (columns, rows)
        Each column contiguous; float64, float32 or int8.
    target : int64 tensor
    weight : int64 tensor or None
    loss : Loss
    """

    def __init__(self, columns: Tensor, target: Tensor, weight: Tensor | None, loss: Loss) -> None:
        self.columns, self.target, self.weight, self.loss = columns, target, weight, loss
        self.n_columns, self.n_rows = columns.shape
        self.n_weight = self.n_rows if weight is None else int(weight.sum())
        # On the device: a division by a number of the host is a product with its reciprocal.
        self._divisor = torch.full((), self.n_weight, dtype=torch.float64, device=columns.device)
        self.answers = Answers(self.n_rows, columns.device)
        self.output = NO_OUTPUT
        self._start = loss.gap(target)
        # Gaps, residuals and their sums; the current output's first.
        self._known: list[tuple[Output, Tensor, Tensor, Total]] = [(NO_OUTPUT, *self._with_residual(self._start))]
        self._whole: Tensor | None = None
        self._lines: dict[Projection, Tensor] = {}

    def _sum(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """The weighted sum of `values`, one per row or columns of them, over all rows or those marked."""
        if where is not None:
            values = values * where
        return (values if self.weight is None else values * self.weight).sum(dim=-1)

    def _total(self, total: Tensor, limbs: Tensor | None = None) -> Total:
        return Total(self.n_weight, total, total / self._divisor, limbs)

    def measure(self) -> Measures:
        n = min(self.n_rows, PROBES)
        index = torch.from_numpy(np.arange(n) * self.n_rows // n).to(self.target.device)
        low, high = zip(*(torch.aminmax(column) for column in self.columns), strict=True)
        return Measures(
            self.n_rows,
            self.n_weight,
            int(self._sum(self.target)),
            self._limbs(self._start),
            numbers(low).astype(np.float64),
            numbers(high).astype(np.float64),
            numbers([(column == column.round()).all() for column in self.columns]).astype(bool),
            self.columns[:, index].cpu().numpy(),
        )

    # -- cuts ----------------------------------------------------------------------------------------------

    def _project(self, direction: Projection) -> Tensor:
        """The projection of every row; the last few are kept, for the neurons that come of them."""
        z = self._lines.get(direction)
        if z is None:
            while len(self._lines) >= _LINES:
                del self._lines[next(iter(self._lines))]
            z = self._lines[direction] = project(self.columns, direction)
        return z

    def best(self, sieve: Sieve, edges: tuple[float, float] | None) -> tuple[Best, int]:
        """The best cut next to a row between two `edges`, or of all; and the sum of all residuals."""
        (gain, n, s, below, above), everything, first, last = self._best(sieve, edges)
        if edges is not None and gain > 0 and (first or last):
            z = self._project(sieve.projection)
            if first:
                below = float(torch.where(z < edges[0], z, -torch.inf).max())
            if last:
                above = float(torch.where(z < edges[1], torch.inf, z).min())
        return (gain, n, s, below, above), everything

    def _best(self, sieve: Sieve, edges: tuple[float, float] | None) -> tuple[Best, int, bool, bool]:
        """The best cut, the sum of all residuals, and if no row between the edges is below the cut, or above."""
        residual, total = self.residual(sieve.output)
        rows = ProjectedRows(self._project(sieve.projection), residual, self.weight)
        if edges is not None:
            lined = line_up_window(rows, edges)
        elif self.n_rows < ROWS_FOR_CELLS:
            lined = line_up(rows)
        else:
            lined = line_up_cells(rows, sieve, total)
        best, place, everything = best_of(lined, total)
        return best, everything, place == 0, place == len(lined.z)

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        z, residual = self._project(projection), self.residual(output)[0]
        sums, nearest = [], []
        for threshold in torch.from_numpy(thresholds).to(z.device):
            below = z < threshold
            sums += [count(below) if self.weight is None else (self.weight * below).sum(), self._sum(residual, below)]
            nearest += [(z - threshold).abs().min()] if len(projection.columns) > 1 else []
        return numbers(sums).reshape(-1, 2), numbers(nearest) if nearest else np.empty(0)

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, neuron: Neuron) -> Integers:
        fires = self._project(neuron.projection) >= neuron.threshold
        changed = self.answers.put(slot, fires)
        fired = count(fires) if self.weight is None else (self.weight * fires).sum()
        told = numbers([fired, self._sum(self.target, fires), changed])
        if told[2]:
            self._forget(slot)
        return told

    def _forget(self, slot: int) -> None:
        """Drop residuals that depend on a slot."""
        self._known = [known for known in self._known if not known[0].weights[slot : slot + 1].any()]

    def move(self, source: int, target: int) -> None:
        self.answers.put(target, self.answers.of(source))
        self._forget(target)

    def residual(self, output: Output) -> tuple[Tensor, Total]:
        """The residual that `output` leaves, row by row, and its sum; the current output's and the last are kept."""
        return self._found(output)[1:]

    def _found(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        """Gaps and residuals of `output`, and the sum of the residuals."""
        for known, gap, residual, total in self._known:
            if known.same(output):
                return gap, residual, total
        made = self._work_out(output)
        self._known = [*self._known[:1], (output, *made)]
        return made

    def _work_out(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        return self._with_residual(self.answers.subtracted(self._descended(self._start, output), output))

    def _with_residual(self, gap: Tensor) -> tuple[Tensor, Tensor, Total]:
        residual = self.loss.residual(gap, self.target)
        return gap, residual, self._total(self._sum(residual))

    def settle(self, output: Output) -> Integers:
        self.output, self._known = output, [(output, *self._found(output))]
        return self.limbs(output)

    def _limbs(self, gap: Tensor) -> Integers:
        return numbers([self._sum(limb) for limb in self.loss.limbs(gap, self.target)])

    def limbs(self, output: Output) -> Integers:
        gap, _, total = self._found(output)
        return self._limbs(gap) if total.limbs is None else total.limbs.cpu().numpy()

    def largest(self) -> int:
        return int(self._found(self.output)[0].abs().max())

    def loss_powers(self, unit: float) -> int:
        gap = self._found(self.output)[0].double()
        return int(self._sum(self.loss.powers(gap, self.target, unit).long()))

    def correlation(self, slot: int) -> int:
        return int(self._sum(self.residual(self.output)[0], self.answers.of(slot)))

    def pulls(self, width: int) -> Integers:
        return self._pulls(self.residual(self.output)[0], width)[:, None]

    def _pulls(self, residual: Tensor, width: int) -> Integers:
        fired = (self._sum(residual, self.answers.of(slot)) for slot in range(width))
        return numbers([self._sum(residual), *fired])

    def overlaps(self, slot: int, width: int) -> Integers:
        fires = self.answers.of(slot)
        both = (fires & self.answers.of(k) for k in range(width))
        return numbers(count(rows) if self.weight is None else (self.weight * rows).sum() for rows in both)

    # -- ramps ---------------------------------------------------------------------------------------------

    def _ramp(self, ramp: Ramp) -> Tensor:
        """The whole numbers of a ramp, one per row, as floats."""
        low, high, centre, scale = torch.tensor(ramp.place, dtype=torch.float64, device=self.target.device)
        values = self.columns[ramp.column].double()
        return ((torch.minimum(torch.maximum(values, low), high) - centre) * scale).round()

    def _descended(self, start: Tensor, output: Output) -> Tensor:
        """Gaps less what the ramps of an output add."""
        for ramp, rate in zip(output.ramps, output.rates.tolist(), strict=True):
            start = start - (self._ramp(ramp) * rate).round().long()
        return start

    def _limbs_of(self, values: Tensor, other: Tensor) -> list[Tensor]:
        product = values * other
        return [self._sum(product >> LINEAR_BITS), self._sum(product & ((1 << LINEAR_BITS) - 1))]

    def ramp_products(self, ramp: Ramp, others: Sequence[Ramp], width: int) -> Integers:
        own = self._ramp(ramp).long()
        sums = [self._sum(own), *(self._sum(own, self.answers.of(slot)) for slot in range(width))]
        limbs = [limb for each in (*others, ramp) for limb in self._limbs_of(own, self._ramp(each).long())]
        return numbers([*sums, *limbs])

    def ramp_fired(self, ramps: Sequence[Ramp], slot: int) -> Integers:
        fires = self.answers.of(slot)
        return numbers([self._sum(self._ramp(ramp).long(), fires) for ramp in ramps])

    def _residuals(self) -> Sequence[Tensor]:
        """The current residual, once per output."""
        return [self.residual(self.output)[0]]

    def ramp_pulls(self, ramps: Sequence[Ramp]) -> Integers:
        residuals, wholes = self._residuals(), [self._ramp(ramp).long() for ramp in ramps]
        limbs = [limb for own in wholes for each in residuals for limb in self._limbs_of(own, each)]
        return numbers(limbs).reshape(len(ramps), len(residuals), 2)

    # -- columns -------------------------------------------------------------------------------------------

    def column_sums(self, centre: Floats, scale: Floats, slot: int | None = None) -> Integers:
        fires = None if slot is None else self.answers.of(slot)
        return _joined([self._sum(columns, fires) for columns in self._columns(centre, scale)])

    def products(self, output: Output, centre: Floats, scale: Floats, shift: int) -> Integers:
        residual = self.residual(output)[0] >> shift
        return _joined([self._products(columns, residual) for columns in self._columns(centre, scale)])

    def residual_sum(self, output: Output, shift: int) -> int:
        return int(self._sum(self.residual(output)[0] >> shift))

    def column_squares(self, centre: Floats, scale: Floats) -> Integers:
        return _joined([self._products(columns, columns) for columns in self._columns(centre, scale)])

    def gram(self, column: int, centre: Floats, scale: Floats) -> Integers:
        one = self._made_whole(slice(column, column + 1), centre, scale)
        return _joined([self._products(columns, one) for columns in self._columns(centre, scale)])

    def _columns(self, centre: Floats, scale: Floats) -> Iterator[Tensor]:
        """The columns as whole numbers, some at a time; those of +-1 are quick to make, others are kept."""
        some = max(1, _ROOM // (8 * max(self.n_rows, 1)))
        parts = [slice(k, k + some) for k in range(0, self.n_columns, some)]
        if not self.columns.is_floating_point():
            yield from (self._made_whole(part, centre, scale) for part in parts)
            return
        if self._whole is None:
            self._whole = torch.empty(self.columns.shape, dtype=torch.int32, device=self.columns.device)
            for part in parts:
                self._whole[part] = self._made_whole(part, centre, scale)
        yield from (self._whole[part] for part in parts)

    def _made_whole(self, part: slice, centre: Floats, scale: Floats) -> Tensor:
        """Some columns as whole numbers, which 32 bits hold."""
        ends = torch.from_numpy(np.stack([centre[part], scale[part]])[..., None]).to(self.columns.device)
        return ((self.columns[part].double() - ends[0]) * ends[1]).round_().int()

    def _products(self, columns: Tensor, other: Tensor) -> Tensor:
        """Limbs of columns times another."""
        product = columns.long() * other
        return torch.stack([self._sum(product >> 31), self._sum(product & 0x7FFFFFFF)], dim=1)

    # -- depth and theory ----------------------------------------------------------------------------------

    def next_layer(self, neurons: Sequence[Neuron]) -> Self:
        columns = torch.empty((len(neurons), self.n_rows), dtype=torch.int8, device=self.target.device)
        for row, neuron in zip(columns, neurons, strict=True):
            row[:] = (project(self.columns, neuron.projection) >= neuron.threshold) * 2 - 1
        return type(self)(columns, self.target, self.weight, self.loss)

    def explained(self, width: int, shift: int) -> int:
        """By how much the best score of each region that the first `width` slots tell apart lowers the loss, a whole
        number of ``2**shift`` for each."""
        target = self.target if self.weight is None else self.target * self.weight
        _, n, s = group_sums(self.answers.keys(width), self.weight, target)
        return int(self.loss.explained(n.double(), s.double(), 2.0**-shift).long().sum())


def _joined(sums: Sequence[Tensor]) -> Integers:
    return torch.cat(list(sums)).cpu().numpy()


class TensorEngine(MergedEngine[TensorPart]):
    """Rows in tensors, in one part."""

    def __init__(self, part: TensorPart, loss: Loss) -> None:
        self.part = part
        super().__init__(PartsInMemory([part]), loss)

    def cuts(self, questions: Sequence[Question]) -> Iterator[Cut | None]:
        """Answer each question with its best cut, when the answer is wanted; None where there is none."""
        for question in map(self._without_narrow_window, questions):
            cut = None
            if self.can_project(question.projection):
                sieve = self._sieve(question)
                best, total = self.part.best(sieve, None if question.window is None else edges_of(sieve))
                cut = self._cut(question.projection, total, best)
            yield cut

    def _explained(self, shift: int) -> int:
        return self.part.explained(len(self.output.weights), shift)

    def next_layer(self, neurons: Sequence[Neuron]) -> TensorEngine:
        return TensorEngine(self.part.next_layer(neurons), self.loss)
