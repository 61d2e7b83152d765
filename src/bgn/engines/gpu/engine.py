"""Rows in torch tensors, on a GPU: a cut is a sort and running sums of integers.

Every sum is a sum of integers and every float is rounded once per step, as in :mod:`bgn.engines.memory`: torch runs one
operation after the other and fuses none, so the bits are the same. Tensors on a CPU work as well. On a GPU
:mod:`bgn.engines.gpu.fused` does most of it faster, for rows without weights.

Rows outside a window need no sorting. Where there is no window, cells are sorted before rows are, as in
:mod:`bgn.engines.reduce`: 16-bit numbers sort several times faster than floats, and only rows in cells that may hide
the best cut follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bgn.engines.memory import PartsInMemory, one_of, seen
from bgn.engines.protocol import (
    LINEAR_BITS,
    NO_OUTPUT,
    Cut,
    CutRequest,
    Floats,
    Integers,
    LinearTerm,
    Loss,
    Measures,
    Output,
    RowPart,
    tables_of,
)
from bgn.engines.reduce import PROBES, Best, Engine, Sieve, region_keys
from bgn.model.gpu import project
from bgn.model.term import Oblique, Projection


def numbers(values: Iterable[Tensor]) -> NDArray[Any]:
    """Scalars on a device as an array, in one transfer."""
    return torch.stack(list(values)).cpu().numpy()


def group_sums(keys: Tensor, weight: Tensor | None, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows put together by key: the place of one row of each group in order of the keys, its weight and its sum."""
    keys, order = torch.sort(keys)
    ends = torch.cat([keys[1:] != keys[:-1], torch.ones_like(keys[:1], dtype=torch.bool)]).nonzero().squeeze(1)
    reached = ends + 1 if weight is None else weight[order].cumsum(0)[ends]
    sums = values[order].cumsum(0)[ends]
    return order[ends], _differences(reached), _differences(sums)


def _differences(reached: Tensor) -> Tensor:
    """What running sums grew by from one to the next."""
    steps = reached.clone()
    steps[1:] -= reached[:-1]
    return steps


class Answers:
    """The answers of some rows, one slot per rule."""

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self.n_rows = n_rows
        self.codes = torch.zeros((1, n_rows), dtype=torch.uint8, device=device)

    def of(self, slot: int) -> Tensor:
        """Where a slot fires."""
        return (self.codes[slot >> 3] & (1 << (slot & 7))).bool()

    def bits(self, slot: int) -> Tensor:
        """The bytes that hold a slot's answers, made where there are none yet."""
        while slot >> 3 >= len(self.codes):
            self.codes = torch.cat([self.codes, torch.zeros_like(self.codes)])
        return self.codes[slot >> 3]

    def put(self, slot: int, fires: Tensor) -> Tensor:
        """Store the answers of a slot; true if any changed."""
        before, bit = self.bits(slot), slot & 7
        codes = (before & (255 - (1 << bit))).bitwise_or_(fires.view(torch.uint8) << bit)
        changed = (codes != before).any()
        before.copy_(codes)
        return changed

    def subtracted(self, target: Tensor, output: Output) -> Tensor:
        """The target less what the answers of each row add up to."""
        tables = torch.from_numpy(tables_of(output)).to(target.device)
        values = target - tables[0].index_select(0, self.codes[0].int())
        for table, codes in zip(tables[1:], self.codes[1:], strict=False):
            values -= table.index_select(0, codes.int())
        return values

    def keys(self, n_rules: int) -> Tensor:
        """A number for every row, the same where the first `n_rules` slots answer the same."""
        if n_rules > 62:
            return self._hashes(n_rules)
        kind = (
            torch.uint8
            if n_rules <= 8
            else torch.int16
            if n_rules < 16
            else torch.int32
            if n_rules < 32
            else torch.int64
        )
        keys = self.codes[0].to(kind)
        for g in range(1, (n_rules + 7) >> 3):
            keys |= self.codes[g].to(kind) << (8 * g)
        return keys & ((1 << n_rules) - 1)  # bits beyond the width hold old answers

    def _hashes(self, n_rules: int) -> Tensor:
        tables = torch.from_numpy(region_keys(n_rules).view(np.int64)).to(self.codes.device)
        keys = torch.zeros(self.n_rows, dtype=torch.int64, device=self.codes.device)
        for table, codes in zip(tables, self.codes, strict=False):
            keys += table.index_select(0, codes.int())
        return keys


def count(marks: Tensor) -> Tensor:
    """How many are true, eight at a time: a sum of truth values would be slow."""
    n = len(marks) // 1024 * 1024
    eights = marks[:n].view(torch.int64).view(-1, 128).sum(dim=1)  # no byte passes 128
    counted = eights.view(torch.uint8).sum()
    return counted if n == len(marks) else counted + marks[n:].sum()


_FINE_CELLS = 1 << 15


@dataclass(frozen=True, eq=False)
class ProjectedRows:
    """Projection, residual and, perhaps, weight of some rows."""

    z: Tensor
    residual: Tensor
    weight: Tensor | None

    def at(self, index: Tensor) -> ProjectedRows:
        return ProjectedRows(self.z[index], self.residual[index], None if self.weight is None else self.weight[index])

    def weighted(self) -> Tensor:
        return self.residual if self.weight is None else self.residual * self.weight


@dataclass(frozen=True, eq=False)
class Total:
    """Weight of all rows, sum of their residuals, mean residual, and, where known, limbs of the squared sum."""

    weight: int
    sum: Tensor
    mean: Tensor
    limbs: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Lined:
    """Sorted projections; weight, as floats, and sum below each and below the end; neighbours with no cut between."""

    z: Tensor
    n: Tensor
    s: Tensor
    closed: Tensor


def line_up(rows: ProjectedRows, n: Tensor | int = 0, s: Tensor | int = 0) -> Lined:
    """Sort the rows; weight `n` and sum `s` lie below all of them."""
    z, order = torch.sort(rows.z)
    sums = _running(rows.weighted()[order], s)
    if rows.weight is None:
        reached = torch.arange(len(z) + 1, dtype=torch.float64, device=z.device).add_(n)
    else:
        reached = _running(rows.weight[order], n).double()
    return Lined(z, reached, sums, z[1:] == z[:-1])


def line_up_window(rows: ProjectedRows, edges: tuple[float, float]) -> Lined:
    """Sort the rows between two edges, the first included."""
    under = rows.z < edges[0]
    index = ((rows.z < edges[1]) ^ under).nonzero().squeeze(1)
    n = count(under) if rows.weight is None else (rows.weight * under).sum()
    return line_up(rows.at(index), n, (rows.weighted() * under).sum())


def line_up_cells(rows: ProjectedRows, sieve: Sieve, total: Total) -> Lined:
    """Sort the rows of the cells that may hide the best cut, or lie on both sides of it."""
    finer = sieve.scale * (_FINE_CELLS / sieve.size)
    finer = finer if finer < math.inf else sieve.scale
    cells, order = torch.sort(((rows.z - sieve.low) * finer).clamp_(0, _FINE_CELLS - 1).to(torch.int16))
    ends = torch.searchsorted(cells, torch.arange(_FINE_CELLS, dtype=torch.int16, device=cells.device), right=True)
    residual = rows.weighted()[order]
    n = ends if rows.weight is None else _running(rows.weight[order])[ends]
    reached = torch.stack([n, _running(residual)[ends], _running(residual.clamp_(min=0))[ends]])
    before = torch.nn.functional.pad(reached[:, :-1], (1, 0))
    chosen = _promising(cells, ends, reached, before, total)
    where = chosen.index_select(0, cells.int()).nonzero().squeeze(1)
    lined = line_up(rows.at(order[where]))
    # What the cells before a row hold that were not chosen.
    held = (reached - before) * chosen
    skipped = (before - held.cumsum(1) + held).index_select(1, cells[where].int())
    lined.n[:-1] += skipped[0]
    lined.s[:-1] += skipped[1]
    lined.n[0] = lined.n[-1] = 0.0  # what lies beyond either end is not known
    lined.closed.logical_or_(skipped[0, 1:] != skipped[0, :-1])
    return lined


def _promising(cells: Tensor, ends: Tensor, reached: Tensor, before: Tensor, rows: Total) -> Tensor:
    """Mark the cells inside which a cut may do better than at the best edge between cells, and those beside that.
    `reached` and `before`: weight, residual sum and sum of positive residuals up to the end of each cell, and up to its
    start. See :func:`bgn.engines.kernels.cuts.prune_cells`."""
    n, s, _ = reached
    own = reached[2] - before[2]
    first, last, low, high = before[0] + 1, n - 1, s - own, before[1] + own
    gains, product = _gains(
        torch.stack([n, first, first, last, last]).double(), torch.stack([s, low, high, low, high]), rows
    )
    at_edge = torch.where((n >= first) & (product[0] > 0), gains[0], -1.0)
    place = at_edge.argmax()
    marked = (n > first) & (gains[1:].amax(dim=0) * (1.0 + 1e-9) >= at_edge[place])
    upper = cells[ends[place].clamp(max=len(cells) - 1)]  # the next cell that holds a row
    return marked.index_fill_(0, torch.stack([place, upper.long()]), True)


def best_of(lined: Lined, rows: Total) -> tuple[Best, int, int]:
    """The best cut, its place among the rows, at either end of which a neighbour is not known, and the sum of all."""
    gains, product = _gains(lined.n, lined.s, rows)
    gains = torch.where(product > 0, gains, -1.0)
    gains[1:-1].masked_fill_(lined.closed, -1.0)
    place = gains.argmax()  # the first of equals
    z = lined.z if len(lined.z) else lined.z.new_zeros(1)
    neighbours = z[torch.stack([place - 1, place]).clamp_(0, len(z) - 1)]
    floats = torch.cat([torch.stack([gains[place], lined.n[place]]), neighbours])
    numbers_read = torch.cat([torch.stack([place, rows.sum, lined.s[place]]), floats.view(torch.int64)]).cpu().numpy()
    gain, n, below, upper = numbers_read[3:].view(np.float64).tolist()
    return (gain, int(n), int(numbers_read[2]), below, upper), int(numbers_read[0]), int(numbers_read[1])


def _gains(n: Tensor, s: Tensor, rows: Total) -> tuple[Tensor, Tensor]:
    """What :func:`bgn.engines.kernels.cuts.gain` says, rounding by rounding; and its divisor, zero where no cut is."""
    excess = n * rows.mean
    torch.sub(s, excess, out=excess)
    product = (float(rows.weight) - n).mul_(n)
    return excess.mul_(excess).div_(product), product


def _running(values: Tensor, start: Tensor | int = 0) -> Tensor:
    """The start, and it with the sums of the first so many values, which are written over."""
    sums = values.new_empty(len(values) + 1)
    sums[0] = start
    if isinstance(start, Tensor):
        values[:1] += start
    torch.cumsum(values, 0, out=sums[1:])
    return sums


def edges_of(sieve: Sieve) -> tuple[float, float]:
    """Projections from the second cell of a sieve on, and from the last on."""
    return _reaching(sieve.low, sieve.scale, 1.0), _reaching(sieve.low, sieve.scale, float(sieve.size - 1))


def _reaching(low: float, scale: float, edge: float) -> float:
    """The smallest float z for which ``(z - low) * scale`` reaches `edge`."""
    guess = low + edge / scale
    step = max(math.ulp(guess), math.ulp(low))
    below = upper = guess
    while (below - low) * scale >= edge:
        below, step = below - step, 2 * step
    while (upper - low) * scale < edge:
        upper, step = upper + step, 2 * step
    while below < (middle := below / 2 + upper / 2) < upper:
        if (middle - low) * scale >= edge:
            upper = middle
        else:
            below = middle
    return upper


# Projections to keep, and rows from which on it pays to sort cells before rows.
_LINES = 3
ROWS_FOR_CELLS = 1 << 24
# Bytes to hold at once of columns made whole.
_MOST_BYTES = 1 << 29


class TensorPart(RowPart):
    """Rows on one device and the answers of the rules of the layer being grown, one slot per rule.

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
        self._start = loss.diff(target)
        # Differences, residuals and their sums; the current output's first.
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
        """The projection of every row; the last few are kept, for the rules that come of them."""
        z = self._lines.get(direction)
        if z is None:
            while len(self._lines) >= _LINES:
                del self._lines[next(iter(self._lines))]
            z = self._lines[direction] = project(self.columns, direction)
        return z

    def best(self, sieve: Sieve, edges: tuple[float, float] | None) -> tuple[Best, int]:
        """The best cut next to a row between two `edges`, or of all; and the sum of all residuals."""
        (gain, n, s, below, upper), everything, first, last = self._best(sieve, edges)
        if edges is not None and gain > 0 and (first or last):
            z = self._project(sieve.projection)
            if first:
                below = float(torch.where(z < edges[0], z, -torch.inf).max())
            if last:
                upper = float(torch.where(z < edges[1], torch.inf, z).min())
        return (gain, n, s, below, upper), everything

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

    def put(self, slot: int, rule: Oblique) -> Integers:
        fires = self._project(rule.projection) >= rule.threshold
        changed = self.answers.put(slot, fires)
        fired = count(fires) if self.weight is None else (self.weight * fires).sum()
        counts = numbers([fired, self._sum(self.target, fires), changed])
        if counts[2]:
            self._forget(slot)
        return counts

    def _forget(self, slot: int) -> None:
        self._known = [known for known in self._known if not known[0].weights[slot : slot + 1].any()]

    def move(self, source: int, target: int) -> None:
        self.answers.put(target, self.answers.of(source))
        self._forget(target)

    def residual(self, output: Output) -> tuple[Tensor, Total]:
        """The residual that `output` leaves, row by row, and its sum; the current output's and the last are kept."""
        return self._known_or_made(output)[1:]

    _same: ClassVar[Any] = staticmethod(Output.same)

    def _known_or_made(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        """Differences and residuals of `output`, and the sum of the residuals."""
        for known, diff, residual, total in self._known:
            if self._same(known, output):
                return diff, residual, total
        made = self._work_out(output)
        self._known = [*self._known[:1], (output, *made)]
        return made

    def _work_out(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        return self._with_residual(self.answers.subtracted(self._descended(self._start, output), output))

    def _with_residual(self, diff: Tensor) -> tuple[Tensor, Tensor, Total]:
        residual = self.loss.residual(diff, self.target)
        return diff, residual, self._total(self._sum(residual))

    def settle(self, output: Output) -> Integers:
        self.output, self._known = output, [(output, *self._known_or_made(output))]
        return self.limbs(output)

    def _limbs(self, diff: Tensor) -> Integers:
        return numbers([self._sum(limb) for limb in self.loss.limbs(diff, self.target)])

    def limbs(self, output: Output) -> Integers:
        diff, _, total = self._known_or_made(output)
        return self._limbs(diff) if total.limbs is None else total.limbs.cpu().numpy()

    def largest(self) -> int:
        return int(self._known_or_made(self.output)[0].abs().max())

    def loss_powers(self, unit: float) -> int:
        diff = self._known_or_made(self.output)[0].double()
        return int(self._sum(self.loss.powers(diff, self.target, unit).long()))

    def correlation(self, slot: int) -> int:
        return int(self._sum(self.residual(self.output)[0], self.answers.of(slot)))

    def pulls(self, n_rules: int) -> Integers:
        def sums(residual: Tensor) -> Integers:
            return numbers([self._sum(residual), *(self._sum(residual, self.answers.of(k)) for k in range(n_rules))])

        return np.stack([sums(residual) for residual in self._residuals()], axis=1)

    def overlaps(self, slot: int, n_rules: int) -> Integers:
        fires = self.answers.of(slot)
        both = (fires & self.answers.of(k) for k in range(n_rules))
        return numbers(count(rows) if self.weight is None else (self.weight * rows).sum() for rows in both)

    # -- linear terms ---------------------------------------------------------------------------------------------

    def _linear_values(self, linear_term: LinearTerm) -> Tensor:
        low, high, center, scale = torch.tensor(linear_term.place, dtype=torch.float64, device=self.target.device)
        values = self.columns[linear_term.column].double()
        return ((torch.minimum(torch.maximum(values, low), high) - center) * scale).round()

    def _descended(self, start: Tensor, output: Output) -> Tensor:
        for linear_term, rate in zip(output.linear, output.rates.tolist(), strict=True):
            start = start - (self._linear_values(linear_term) * rate).round().long()
        return start

    def _limbs_of(self, values: Tensor, other: Tensor) -> list[Tensor]:
        product = values * other
        return [self._sum(product >> LINEAR_BITS), self._sum(product & ((1 << LINEAR_BITS) - 1))]

    def linear_products(self, linear_term: LinearTerm, others: Sequence[LinearTerm], n_rules: int) -> Integers:
        own = self._linear_values(linear_term).long()
        sums = [self._sum(own), *(self._sum(own, self.answers.of(slot)) for slot in range(n_rules))]
        limbs = [
            limb for other in (*others, linear_term) for limb in self._limbs_of(own, self._linear_values(other).long())
        ]
        return numbers([*sums, *limbs])

    def linear_fired(self, linear: Sequence[LinearTerm], slot: int) -> Integers:
        fires = self.answers.of(slot)
        return numbers([self._sum(self._linear_values(linear_term).long(), fires) for linear_term in linear])

    def _residuals(self) -> Sequence[Tensor]:
        return [self.residual(self.output)[0]]

    def linear_pulls(self, linear: Sequence[LinearTerm]) -> Integers:
        residuals, wholes = self._residuals(), [self._linear_values(linear_term).long() for linear_term in linear]
        limbs = [limb for own in wholes for residual in residuals for limb in self._limbs_of(own, residual)]
        return numbers(limbs).reshape(len(linear), len(residuals), 2)

    # -- columns -------------------------------------------------------------------------------------------

    def column_sums(self, center: Floats, scale: Floats, slot: int | None = None) -> Integers:
        fires = None if slot is None else self.answers.of(slot)
        return _joined([self._sum(columns, fires) for columns in self._columns(center, scale)])

    def products(self, output: Output, center: Floats, scale: Floats, shift: int) -> Integers:
        residual = self.residual(output)[0] >> shift
        return _joined([self._products(columns, residual) for columns in self._columns(center, scale)])

    def residual_sum(self, output: Output, shift: int) -> int:
        return int(self._sum(self.residual(output)[0] >> shift))

    def column_squares(self, center: Floats, scale: Floats) -> Integers:
        return _joined([self._products(columns, columns) for columns in self._columns(center, scale)])

    def gram(self, column: int, center: Floats, scale: Floats) -> Integers:
        one = self._made_whole(slice(column, column + 1), center, scale)
        return _joined([self._products(columns, one) for columns in self._columns(center, scale)])

    def _columns(self, center: Floats, scale: Floats) -> Iterator[Tensor]:
        """The columns as whole numbers, some at a time; those of +-1 are quick to make, others are kept."""
        some = max(1, _MOST_BYTES // (8 * max(self.n_rows, 1)))
        parts = [slice(k, k + some) for k in range(0, self.n_columns, some)]
        if not self.columns.is_floating_point():
            yield from (self._made_whole(part, center, scale) for part in parts)
            return
        if self._whole is None:
            self._whole = torch.empty(self.columns.shape, dtype=torch.int32, device=self.columns.device)
            for part in parts:
                self._whole[part] = self._made_whole(part, center, scale)
        yield from (self._whole[part] for part in parts)

    def _made_whole(self, part: slice, center: Floats, scale: Floats) -> Tensor:
        """Some columns as whole numbers, which 32 bits hold."""
        ends = torch.from_numpy(np.stack([center[part], scale[part]])[..., None]).to(self.columns.device)
        return ((self.columns[part].double() - ends[0]) * ends[1]).round_().int()

    def _products(self, columns: Tensor, other: Tensor) -> Tensor:
        """Limbs of columns times another."""
        product = columns.long() * other
        return torch.stack([self._sum(product >> 31), self._sum(product & 0x7FFFFFFF)], dim=1)

    # -- depth and theory ----------------------------------------------------------------------------------

    def next_layer(self, rules: Sequence[Oblique]) -> Self:
        columns = torch.empty((len(rules), self.n_rows), dtype=torch.int8, device=self.target.device)
        for row, rule in zip(columns, rules, strict=True):
            row[:] = (project(self.columns, rule.projection) >= rule.threshold) * 2 - 1
        return type(self)(columns, self.target, self.weight, self.loss)

    def explained(self, n_rules: int, shift: int) -> int:
        """By how much the best score of each region that the first `n_rules` slots tell apart lowers the loss, a whole
        number of ``2**shift`` for each."""
        target = self.target if self.weight is None else self.target * self.weight
        _, n, s = group_sums(self.answers.keys(n_rules), self.weight, target)
        return int(self.loss.explained(n.double(), s.double(), 2.0**-shift).long().sum())


def _joined(sums: Sequence[Tensor]) -> Integers:
    return torch.cat(list(sums)).cpu().numpy()


class TensorEngine(Engine[TensorPart]):
    """Rows in tensors, in one part."""

    def __init__(self, part: TensorPart, loss: Loss) -> None:
        self.part = part
        super().__init__(PartsInMemory([part]), loss)

    def cuts(self, requests: Sequence[CutRequest]) -> Iterator[Cut | None]:
        """Answer each rule with its best cut, when the answer is wanted; None where there is none."""
        for request in map(self._without_narrow_window, requests):
            cut = None
            if self.can_project(request.projection):
                sieve = self._sieve(request)
                best, total = self.part.best(sieve, None if request.window is None else edges_of(sieve))
                cut = self._cut(request.projection, total, best)
            yield cut

    def _explained(self, shift: int) -> int:
        return self.part.explained(len(self.output.weights), shift)

    def next_layer(self, rules: Sequence[Oblique]) -> TensorEngine:
        return TensorEngine(self.part.next_layer(rules), self.loss)


class ClassTensorPart(TensorPart):
    """Rows on one device, with one line of differences and residuals per class."""

    _same = staticmethod(Output.same_scores)

    def residual(self, output: Output) -> tuple[Tensor, Total]:
        residuals = self._known_or_made(output)[1]
        residual = seen(residuals, output.contrast or (0,) * len(residuals))
        return residual, self._total(self._sum(residual))

    def _work_out(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        diffs_of_classes = []
        for k, start in enumerate(self._start):
            one = one_of(output, k)
            diffs_of_classes.append(self.answers.subtracted(self._descended(start, one), one))
        return self._with_residual(torch.stack(diffs_of_classes))

    def _residuals(self) -> Sequence[Tensor]:
        return list(self._known_or_made(self.output)[1])

    def explained(self, n_rules: int, shift: int) -> int:
        keys, heavy, weights, sums = self.answers.keys(n_rules), self.weight, None, []
        for k in range(self.loss.outputs):
            own = (self.target == k).long()
            _, weights, total = group_sums(keys, heavy, own if heavy is None else own * heavy)
            sums.append(total.double())
        assert weights is not None
        return int(self.loss.explained(weights.double(), torch.stack(sums, dim=1), 2.0**-shift).long().sum())
