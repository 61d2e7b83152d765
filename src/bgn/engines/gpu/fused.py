"""Rows on a GPU, each pass a kernel of its own instead of a dozen torch operations; the same bits.

Needs Triton, which comes with torch for GPUs; :mod:`bgn.engines.gpu.engine` does without.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bgn.engines.cells import Best, Sieve
from bgn.engines.gpu import engine, kernels
from bgn.engines.gpu.bits import tables_of
from bgn.engines.gpu.cut import Total
from bgn.engines.gpu.engine import TensorPart
from bgn.engines.part import signs
from bgn.engines.protocol import Floats, Integers, Loss, Output
from bgn.model.neuron import Neuron, Projection

# Up to this width regions have numbers; their tables are this long at least, so that rows seldom wait for one another.
_MOST_NUMBERED = 22
# What `between` and `best` tell of a cut, its threshold last.
_CUT = 12


class FusedPart(TensorPart):
    """Rows without weights, and squares for a loss; see `TensorPart`."""

    def __init__(self, columns: Tensor, target: Tensor, weight: Tensor | None, loss: Loss) -> None:
        super().__init__(columns, target, weight, loss)
        # The last slot put, and how many rows fire together with each other slot; None as long as nobody asked.
        self._together: tuple[int, Integers] | None = None
        # The last neuron found, already in the spare slot, and what was told of it.
        self._ready: tuple[int, Neuron, Integers] | None = None

    def _run(self, kernel: Any, *arguments: Any, rows: int | None = None, lines: int = 1) -> None:
        """Run a kernel on all rows, or so many; Triton, unlike torch, runs it on the current device."""
        programs, device = -(-(self.n_rows if rows is None else rows) // kernels.ROWS), self.target.device
        elsewhere = device.type == "cuda" and device.index != torch.cuda.current_device()
        with torch.cuda.device(device) if elsewhere else nullcontext():
            kernel[(max(programs, 1), lines)](*arguments, **kernels.OPTIONS)

    def _slate(self, answers: int, direction: Projection, extra: Sequence[float]) -> Tensor:
        """Room for answers, then a projection, then some floats."""
        features = len(direction.columns)
        slate = np.zeros(answers + 2 * features + len(extra), np.int64)
        slate[answers : answers + features] = direction.columns
        slate[answers + features :].view(np.float64)[:] = (*direction.coefficients, *extra)
        return torch.from_numpy(slate).to(self.target.device)

    def _zeros(self, *shape: int, kind: torch.dtype = torch.int64) -> Tensor:
        return torch.zeros(shape, dtype=kind, device=self.target.device)

    # -- cuts ----------------------------------------------------------------------------------------------

    def _project(self, direction: Projection) -> Tensor:
        """The projection of every row."""
        z = torch.empty(self.n_rows, dtype=torch.float64, device=self.target.device)
        about = self._slate(0, direction, ())
        self._run(kernels.project, self.columns, self.n_rows, about, 0, len(direction.columns), z)
        return z

    def _best(self, sieve: Sieve, edges: tuple[float, float] | None) -> tuple[Best, int, bool, bool]:
        if edges is None and self.n_rows >= engine.ROWS_FOR_CELLS:
            return super()._best(sieve, edges)
        residual, total = self.residual(sieve.output)
        direction, spare = sieve.projection, len(self.output.weights)
        groups = 0 if self._together is None else (spare >> 3) + 1
        answers = _CUT + 3 + 8 * groups
        slate = self._slate(answers, direction, edges or ())
        if edges is None:
            z = self._project(direction)
        else:
            z, residual = self._between(direction, residual, slate, answers)
        z, order = torch.sort(z)
        running, n = residual[order].cumsum_(0), len(z)
        programs = n // kernels.ROWS + 1
        best = torch.empty(programs, dtype=torch.float64, device=z.device)
        places = torch.empty(programs, dtype=torch.int64, device=z.device)
        self._run(
            kernels.best, z, running, slate[1:], total.sum, total.mean, n, self.n_rows, best, places, slate[3:],
            rows=n + 1,
        )  # fmt: skip
        if groups:  # who asks for overlaps puts the neuron in the spare slot next
            self._fire(spare, direction, slate, answers, _CUT - 1, _CUT, groups)
        told = slate[:answers].cpu().numpy()
        place, s, silent = told[4:7].tolist()
        gain, below, above = told[7:10].view(np.float64).tolist()
        if groups:
            self._note(spare, told[_CUT:])
            if 0 < place < n:
                self._ready = spare, Neuron(direction, float(told[_CUT - 1 : _CUT].view(np.float64)[0])), told[_CUT:]
        return (gain, silent, s, below, above), int(told[10]), place == 0, place == n

    def _between(self, direction: Projection, residual: Tensor, slate: Tensor, answers: int) -> tuple[Tensor, Tensor]:
        """Projection and residual of the rows between two edges; the slate has number and sum of those below."""
        z, chosen = torch.empty(self.n_rows, dtype=torch.float64, device=residual.device), torch.empty_like(residual)
        features = len(direction.columns)
        self._run(kernels.between, self.columns, residual, self.n_rows, slate, answers, features, z, chosen)
        n = int(slate[0])
        return z[:n], chosen[:n]

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, neuron: Neuron) -> Integers:
        """Store a neuron's answers; weight and target sum of the rows where it fires, and how many are new."""
        if self._ready is not None and self._ready[:2] == (slot, neuron):
            return self._ready[2][:3]
        groups = 0 if self._together is None else (slot >> 3) + 1
        answers = 3 + 8 * groups
        slate = self._slate(answers, neuron.projection, (neuron.threshold,))
        self._fire(slot, neuron.projection, slate, answers, len(slate) - 1, 0, groups)
        told = slate[:answers].cpu().numpy()
        self._note(slot, told)
        return told[:3]

    def _fire(
        self, slot: int, direction: Projection, slate: Tensor, answers: int, threshold: int, told: int, groups: int
    ) -> None:
        """Let a slot fire: the threshold is at one place of the slate, what is told from another on."""
        self.answers.bits(slot)
        self._run(
            kernels.fire, self.columns, self.target, self.n_rows, slate, answers, len(direction.columns), threshold,
            slot, self.answers.codes, slate[told:], groups,
        )  # fmt: skip

    def _note(self, slot: int, told: Integers) -> None:
        """Keep what `fire` told of a slot, drop what depended on its answers."""
        self._ready = None
        if self._together is not None:
            self._together = slot, told[3:]
        if told[2]:
            self._forget(slot)

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""
        self._ready = None
        self._run(kernels.move, self.answers.codes, self.n_rows, source, target)
        self._forget(target)

    def _forget(self, slot: int) -> None:
        """Drop what depends on a slot."""
        super()._forget(slot)
        if self._together is not None and self._together[0] != slot:
            self._together = -1, self._together[1]

    def _work_out(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        tables = np.append(np.zeros(5, np.int64), tables_of(output))
        slate, residual = torch.from_numpy(tables).to(self.target.device), torch.empty_like(self.target)
        self._run(
            kernels.look_up, self.target, self.answers.codes, self.n_rows, slate, len(tables) // 256,
            self.loss.grid.limit, residual,
        )  # fmt: skip
        return residual, residual, self._total(slate[0], slate[1:5])

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""
        return int(self._fired_sums(self.residual(self.output)[0][None], slot)[0])

    def _fired_sums(self, values: Tensor, slot: int) -> Integers:
        """Sum of every line of `values` over the rows where a slot fires."""
        sums = self._zeros(len(values))
        self._run(kernels.fired_sums, values, self.answers.codes, self.n_rows, slot, sums, lines=len(values))
        return sums.cpu().numpy()

    def overlaps(self, slot: int, width: int) -> Integers:
        """For each of the first `width` slots, the weight of the rows where both it and `slot` fire."""
        if self._together is None or self._together[0] != slot or len(self._together[1]) < width:
            groups = (width + 7) >> 3
            counts = self._zeros(8 * groups)
            self._run(kernels.overlaps, self.answers.codes, self.n_rows, slot, groups, counts)
            self._together = slot, counts.cpu().numpy()
        return self._together[1][:width]

    # -- columns, depth and theory -------------------------------------------------------------------------

    def column_sums(self, centre: Floats, scale: Floats, slot: int | None = None) -> Integers:
        """Sum of every integer column over all rows, or over those where `slot` fires."""
        if slot is None:
            return super().column_sums(centre, scale)
        if not self.columns.is_floating_point():
            return self._fired_sums(self.columns, slot) * signs(centre, scale)
        return np.concatenate([self._fired_sums(columns, slot) for columns in self._columns(centre, scale)])

    def explained(self, width: int, shift: int) -> int:
        """By how much the best score of each region that the first `width` slots tell apart lowers the loss, a whole
        number of ``2**shift`` for each."""
        if width > _MOST_NUMBERED:
            return super().explained(width, shift)
        copies = 1 << (_MOST_NUMBERED - width)
        counts, sums = self._zeros(copies, 1 << width, kind=torch.int32), self._zeros(copies, 1 << width)
        self._run(kernels.regions, self.answers.codes, self.target, self.n_rows, width, copies, counts, sums)
        told, unit = self._zeros(1), torch.full((1,), 2.0**-shift, dtype=torch.float64, device=self.target.device)
        self._run(kernels.explained, counts.sum(dim=0), sums.sum(dim=0), 1 << width, unit, told, rows=1 << width)
        return int(told)
