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
from bgn.engines.gpu.bits import count

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


def line_up(rows: Rows, n: Tensor | int = 0, s: Tensor | int = 0) -> Lined:
    """Sort the rows; weight `n` and sum `s` lie below all of them."""
    z, order = torch.sort(rows.z)
    sums = _running(rows.weighted()[order], s)
    if rows.weight is None:
        reached = torch.arange(len(z) + 1, dtype=torch.float64, device=z.device).add_(n)
    else:
        reached = _running(rows.weight[order], n).double()
    return Lined(z, reached, sums, z[1:] == z[:-1])


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
    cells, order = torch.sort(((rows.z - sieve.low) * finer).clamp_(0, _CELLS - 1).to(torch.int16))
    ends = torch.searchsorted(cells, torch.arange(_CELLS, dtype=torch.int16, device=cells.device), right=True)
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

    `reached` and `before`: weight, residual sum and sum of positive residuals up to the end of each cell, and up to
    its start. See :func:`bgn.engines.kernels.cuts.judge_cells`.
    """
    n, s, _ = reached
    own = reached[2] - before[2]
    first, last, low, high = before[0] + 1, n - 1, s - own, before[1] + own
    gains, room = _gains(
        torch.stack([n, first, first, last, last]).double(), torch.stack([s, low, high, low, high]), rows
    )
    at_edge = torch.where((n >= first) & (room[0] > 0), gains[0], -1.0)
    place = at_edge.argmax()
    marked = (n > first) & (gains[1:].amax(dim=0) * (1.0 + 1e-9) >= at_edge[place])
    above = cells[ends[place].clamp(max=len(cells) - 1)]  # the next cell that holds a row
    return marked.index_fill_(0, torch.stack([place, above.long()]), True)


def best_of(lined: Lined, rows: Total) -> tuple[Best, int, int]:
    """The best cut, its place among the rows, at either end of which a neighbour is not known, and the sum of all."""
    gains, room = _gains(lined.n, lined.s, rows)
    gains = torch.where(room > 0, gains, -1.0)
    gains[1:-1].masked_fill_(lined.closed, -1.0)
    place = gains.argmax()  # the first of equals
    z = lined.z if len(lined.z) else lined.z.new_zeros(1)
    beside = z[torch.stack([place - 1, place]).clamp_(0, len(z) - 1)]
    floats = torch.cat([torch.stack([gains[place], lined.n[place]]), beside])
    told = torch.cat([torch.stack([place, rows.sum, lined.s[place]]), floats.view(torch.int64)]).cpu().numpy()
    gain, n, below, above = told[3:].view(np.float64).tolist()
    return (gain, int(n), int(told[2]), below, above), int(told[0]), int(told[1])


def _gains(n: Tensor, s: Tensor, rows: Total) -> tuple[Tensor, Tensor]:
    """What :func:`bgn.engines.kernels.cuts.gain` says, rounding by rounding; and its divisor, zero where no cut is."""
    excess = n * rows.mean
    torch.sub(s, excess, out=excess)
    room = (float(rows.weight) - n).mul_(n)
    return excess.mul_(excess).div_(room), room


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
