"""The exact cut of a projection on a device: rows lined up by their projections, and running sums of integers.

Rows outside a window need no sorting. Where there is no window, cells are sorted before rows are, as in
:mod:`bgn.engines.cells`: 16-bit numbers sort several times faster than floats, and only rows in cells that may hide
the best cut follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    """Weight of all rows, sum of their residuals, and mean residual."""

    weight: int
    sum: Tensor
    mean: Tensor

    @classmethod
    def of(cls, weight: int, sum: Tensor) -> Total:
        """Divide on the device: a division by a number of the host is a product with its reciprocal."""
        return cls(weight, sum, sum.double() / torch.full_like(sum, weight, dtype=torch.float64))


@dataclass(frozen=True, eq=False)
class Lined:
    """Sorted projections; weight and sum below each and below the end; and which cuts, below each, compete."""

    z: Tensor
    n: Tensor
    s: Tensor
    competes: Tensor


def line_up(rows: Rows, n: Tensor | int = 0, s: Tensor | int = 0) -> Lined:
    """Sort the rows; weight `n` and sum `s` lie below all of them."""
    z, order = torch.sort(rows.z)
    rows = rows.at(order)
    reached = torch.arange(len(z) + 1, device=z.device) if rows.weight is None else _running(rows.weight)
    differs = torch.ones_like(reached, dtype=torch.bool)
    torch.ne(z[1:], z[:-1], out=differs[1:-1])
    return Lined(z, reached + n, _running(rows.weighted()) + s, differs)


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
    ends = torch.searchsorted(cells, torch.arange(_CELLS, device=cells.device).to(torch.int16), right=True)
    residual = rows.weighted()[order]
    n = ends if rows.weight is None else _running(rows.weight[order])[ends]
    s, positive = _running(residual)[ends], _running(residual.clamp(min=0))[ends]
    chosen = _promising(cells, ends, n, s, positive, total).nonzero().squeeze(1)
    first = _before(ends)[chosen]
    lengths = ends[chosen] - first
    # The rows of the chosen cells, cell after cell: what lies before a cell, less what was chosen before it.
    places = torch.arange(int(lengths.sum()), device=cells.device)
    places += torch.repeat_interleave(first - _before(lengths.cumsum(0)), lengths, output_size=len(places))
    lined = line_up(rows.at(order[places]))
    skipped = _skipped(n, chosen, lengths, len(places))
    lined.n[:-1] += skipped
    lined.s[:-1] += _skipped(s, chosen, lengths, len(places))
    lined.competes[1:-1] &= skipped[1:] == skipped[:-1]  # no cell lies between
    lined.competes[0] = lined.competes[-1] = False
    return lined


def _skipped(reached: Tensor, chosen: Tensor, lengths: Tensor, size: int) -> Tensor:
    """For every row of the chosen cells, what the cells before it that were not chosen hold."""
    before = _before(reached)[chosen]
    held = reached[chosen] - before
    return torch.repeat_interleave(before - _before(held.cumsum(0)), lengths, output_size=size)


def _promising(cells: Tensor, ends: Tensor, n: Tensor, s: Tensor, positive: Tensor, rows: Total) -> Tensor:
    """Mark the cells inside which a cut may do better than at the best edge between cells, and those beside that.

    `n`, `s` and `positive`: weight, residual sum and sum of positive residuals up to the end of each cell. See
    :func:`bgn.engines.cut_kernels.judge_cells`.
    """
    n_before, s_before, own = _before(n), _before(s), positive - _before(positive)
    at_edge = torch.where((n > n_before) & (n < rows.weight), _gains(n, s, rows)[0], -1.0)
    best = at_edge.max()
    first, last, low, high = n_before + 1, n - 1, s - own, s_before + own
    corners = torch.stack([first, first, last, last]), torch.stack([low, high, low, high])
    bound = _gains(*corners, rows)[0].amax(dim=0)
    marked = (n > first) & (bound * (1.0 + 1e-9) >= best)
    winners = (at_edge == best) & (best > 0)
    above = cells[ends.clamp(max=len(cells) - 1)].long()  # the next cell that holds a row
    return marked | winners | (torch.zeros_like(n).scatter_add_(0, above, winners.long()) > 0)


def best_of(lined: Lined, rows: Total) -> tuple[Best, int]:
    """The best cut and its place among the rows: at either end the neighbour on the other side is not known."""
    gain, room = _gains(lined.n, lined.s, rows)
    gain = torch.where(lined.competes & (room > 0), gain, -1.0)
    place, last = int(gain.argmax()), len(lined.z) - 1  # the first of equals
    z = (lined.z if last >= 0 else lined.z.new_zeros(1)).view(torch.int64)
    found = [gain.view(torch.int64)[place], lined.n[place], lined.s[place], z[max(place - 1, 0)], z[min(place, last)]]
    told = numbers(found)
    best, below, above = told[[0, 3, 4]].view(np.float64).tolist()
    return (best, int(told[1]), int(told[2]), below, above), place


def _gains(n: Tensor, s: Tensor, rows: Total) -> tuple[Tensor, Tensor]:
    """What :func:`bgn.engines.cut_kernels.gain` says, rounding by rounding; and its divisor, zero where no cut is."""
    below = n.double()
    excess = s.double() - below * rows.mean
    room = below * (float(rows.weight) - below)
    return excess * excess / room, room


def _running(values: Tensor) -> Tensor:
    """Zero, and the sums of the first so many values."""
    sums = values.new_empty(len(values) + 1)
    sums[:1] = 0
    torch.cumsum(values, 0, out=sums[1:])
    return sums


def _before(reached: Tensor) -> Tensor:
    """What was reached before each: zero, then all but the last."""
    before = torch.zeros_like(reached)
    before[1:] = reached[:-1]
    return before


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
