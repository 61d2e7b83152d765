"""The exact cut of a projection on a device: rows lined up by their projections, and running sums of integers.

Rows outside a window need no sorting. Where there is no window, cells are sorted before rows are, as in
:mod:`bgn.engines.cells`: 16-bit numbers sort several times faster than floats, and only rows in cells that may hide
the best cut follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bgn.engines.cells import Best, Sieve
from bgn.engines.gpu_bits import count
from bgn.engines.gpu_sums import numbers

_CELLS = 1 << 15


@dataclass(frozen=True, eq=False)
class Rows:
    """Projection, residual and, perhaps, weight of some rows."""

    z: Tensor
    residual: Tensor
    weight: Tensor | None

    def at(self, index: Tensor) -> Rows:
        """Some of the rows, in the given order."""
        return Rows(self.z[index], self.residual[index], None if self.weight is None else self.weight[index])

    def weighted(self) -> Tensor:
        """The residuals times the weights."""
        return self.residual if self.weight is None else self.residual * self.weight


@dataclass(frozen=True, eq=False)
class Total:
    """Weight of all rows, on the host and as a float64 on the device, and the sum of their residuals."""

    weight: int
    divisor: Tensor
    sum: Tensor

    @cached_property
    def mean(self) -> Tensor:
        """The mean residual, divided on the device: torch multiplies with the reciprocal of a number of the host."""
        return self.sum.double() / self.divisor


@dataclass(frozen=True, eq=False)
class Lined:
    """Sorted projections; weight and sum below each and below the end; and whether each equals the one below."""

    z: Tensor
    n: Tensor
    s: Tensor
    same: Tensor


def line_up(rows: Rows, n: Tensor | None = None, s: Tensor | None = None) -> Lined:
    """Sort the rows; weight `n` and sum `s` lie below all of them."""
    z, order = torch.sort(rows.z)
    weight = None if rows.weight is None else rows.weight[order]
    residual = rows.residual[order] if weight is None else rows.residual[order] * weight
    if weight is None:
        reached = torch.arange(len(z) + 1, device=z.device)
        reached = reached if n is None else reached + n
    else:
        reached = _running(weight, n)
    return Lined(z, reached, _running(residual, s), z[1:] == z[:-1])


def line_up_window(rows: Rows, edges: tuple[float, float]) -> Lined:
    """Sort the rows between two edges, the first included."""
    under = rows.z < edges[0]
    index = ((rows.z < edges[1]) ^ under).nonzero().squeeze(1)
    n = count(under) if rows.weight is None else (rows.weight * under).sum()
    return line_up(rows.at(index), n, (rows.weighted() * under).sum())


def line_up_cells(rows: Rows, sieve: Sieve, total: Total) -> Lined:
    """Sort the rows of the cells that may hide the best cut, or lie on both sides of it."""
    finer = sieve.scale * (_CELLS / sieve.size)
    finer = finer if finer < math.inf else sieve.scale
    cells, order = torch.sort(((rows.z - sieve.low) * finer).clamp(0, _CELLS - 1).to(torch.int16))
    ends = torch.searchsorted(cells, torch.arange(_CELLS, dtype=torch.int16, device=cells.device), right=True)
    residual = rows.weighted()[order]
    # Up to the end of each cell: rows, weight, residual sum, and sum of positive residuals; then the same before it.
    n = ends if rows.weight is None else _running(rows.weight[order])[ends]
    sums = torch.stack([ends, n, _running(residual)[ends], _running(residual.clamp(min=0))[ends]])
    before = torch.zeros_like(sums)
    before[:, 1:] = sums[:, :-1]
    chosen = _promising(cells, sums, before, total).nonzero().squeeze(1)
    before, held = before[:3, chosen], (sums - before)[:3, chosen]
    # For every row of the chosen cells, what the cells before it that were not chosen hold.
    skipped = torch.repeat_interleave(before - held.cumsum(1) + held, held[0], dim=1)
    places = skipped[0] + torch.arange(skipped.shape[1], device=cells.device)
    lined = line_up(rows.at(order[places]))
    lined.n[:-1] += skipped[1]
    lined.s[:-1] += skipped[2]
    apart = skipped[0, 1:] != skipped[0, :-1]  # other cells lie between
    lined.n[:1] = lined.n[-1:] = 0  # neither end is a cut
    return Lined(lined.z, lined.n, lined.s, lined.same | apart)


def _promising(cells: Tensor, sums: Tensor, before: Tensor, rows: Total) -> Tensor:
    """Mark the cells inside which a cut may do better than at the best edge between cells, and those beside that.

    `sums` and `before`: rows, weight, residual sum and sum of positive residuals up to the end of each cell and up to
    its start. See :func:`bgn.engines.cut_kernels.judge_cells`.
    """
    (ends, n, s, positive), (_, n_before, s_before, positive_before) = sums, before
    own = positive - positive_before
    first, last, low, high = n_before + 1, n - 1, s - own, s_before + own
    gains, _ = _gains(torch.stack([n, first, first, last, last]), torch.stack([s, low, high, low, high]), rows)
    at_edge = torch.where((n > n_before) & (n < rows.weight), gains[0], -1.0)
    best = at_edge.max().clamp(min=0.0)
    marked = (n > first) & (gains[1:].amax(dim=0) * (1.0 + 1e-9) >= best)
    winners = at_edge == best
    above = cells[ends.clamp(max=len(cells) - 1)].long()  # the next cell that holds a row
    return marked | winners | (torch.zeros_like(n).scatter_add_(0, above, winners.long()) > 0)


@dataclass(frozen=True)
class Answer:
    """The best cut, the sum of all residuals, and the place of the cut among the rows: at either end the neighbour on
    the other side is not known."""

    best: Best
    total: int
    place: int


def best_of(lined: Lined, rows: Total) -> Answer:
    """Try the cuts below every row and above the last."""
    gain, room = _gains(lined.n, lined.s, rows)
    gain = torch.where(room > 0, gain, -1.0)
    gain[1:-1].masked_fill_(lined.same, -1.0)
    place, last = int(gain.argmax()), len(lined.z) - 1  # the first of equals
    z = (lined.z if last >= 0 else lined.z.new_zeros(1)).view(torch.int64)
    found = [gain.view(torch.int64)[place], lined.n[place], lined.s[place], z[max(place - 1, 0)], z[min(place, last)]]
    told = numbers([*found, rows.sum])
    best, below, above = told[[0, 3, 4]].view(np.float64).tolist()
    return Answer((best, int(told[1]), int(told[2]), below, above), int(told[5]), place)


def _gains(n: Tensor, s: Tensor, rows: Total) -> tuple[Tensor, Tensor]:
    """What :func:`bgn.engines.cut_kernels.gain` says, rounding by rounding; and its divisor, zero where no cut is."""
    below = n.double()
    excess = s.double() - below * rows.mean
    room = below * (float(rows.weight) - below)
    return excess * excess / room, room


def _running(values: Tensor, start: Tensor | None = None) -> Tensor:
    """The start, or zero, and the sums with the first so many values."""
    first = values.new_zeros(1) if start is None else start.view(1)
    return torch.cat([first, values]).cumsum(0)


def edges_of(sieve: Sieve) -> tuple[float, float]:
    """Projections from the second cell of a sieve on, and from the last on."""
    return _reaching(sieve.low, sieve.scale, 1.0), _reaching(sieve.low, sieve.scale, float(sieve.size - 1))


def _reaching(low: float, scale: float, edge: float) -> float:
    """The smallest float z for which ``(z - low) * scale`` reaches `edge`."""
    guess = low + edge / scale
    step = max(math.ulp(guess), math.ulp(low))
    below = above = guess
    while (below - low) * scale >= edge:
        below, step = below - step, 2 * step
    while (above - low) * scale < edge:
        above, step = above + step, 2 * step
    while below < (middle := below / 2 + above / 2) < above:
        if (middle - low) * scale >= edge:
            above = middle
        else:
            below = middle
    return above
