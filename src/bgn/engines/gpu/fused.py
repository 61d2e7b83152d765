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

from bgn.engines.gpu import engine, kernels
from bgn.engines.gpu.engine import TensorPart, Total
from bgn.engines.memory import signs
from bgn.engines.protocol import Floats, Integers, Loss, Output, tables_of
from bgn.engines.reduce import Best, Sieve
from bgn.model.gpu import project
from bgn.model.term import Oblique, Projection

# Up to this width regions have numbers; their tables are this long at least, so that rows seldom wait for one another.
_MOST_NUMBERED = 22
# What `between` and `best` tell of a cut, its threshold last.
_CUT = 12
# Columns, and a projection of them.
_Line = tuple[Tensor, Projection]


class FusedPart(TensorPart):
    """Rows without weights, and squares for a loss; see `TensorPart`."""

    def __init__(self, columns: Tensor, target: Tensor, weight: Tensor | None, loss: Loss) -> None:
        super().__init__(columns, target, weight, loss)
        # The last slot put, and how many rows fire together with each other slot; None as long as nobody asked.
        self._together: tuple[int, Integers] | None = None
        # The last rule found, already in the spare slot, and what was told of it.
        self._ready: tuple[int, Oblique, Integers] | None = None

    def _run(self, kernel: Any, *arguments: Any, rows: int | None = None, lines: int = 1) -> None:
        """Run a kernel on all rows, or so many; Triton, unlike torch, runs it on the current device."""
        programs, device = -(-(self.n_rows if rows is None else rows) // kernels.ROWS), self.target.device
        elsewhere = device.type == "cuda" and device.index != torch.cuda.current_device()
        with torch.cuda.device(device) if elsewhere else nullcontext():
            kernel[(max(programs, 1), lines)](*arguments, **kernels.OPTIONS)

    def _slate(self, results: int, direction: Projection, extra: Sequence[float]) -> Tensor:
        """Room for results, then a projection, then some floats."""
        features = len(direction.columns)
        slate = np.zeros(results + 2 * features + len(extra), np.int64)
        slate[results : results + features] = direction.columns
        slate[results + features :].view(np.float64)[:] = (*direction.coefficients, *extra)
        return torch.from_numpy(slate).to(self.target.device)

    def _zeros(self, *shape: int, kind: torch.dtype = torch.int64) -> Tensor:
        return torch.zeros(shape, dtype=kind, device=self.target.device)

    # -- cuts ----------------------------------------------------------------------------------------------

    def _line(self, direction: Projection) -> tuple[Tensor, Projection]:
        """Columns and a projection of them for a kernel; where there are categories, what each column adds."""
        if direction.numeric:
            return self.columns, direction
        places = range(len(direction.columns))
        added = torch.stack([project(self.columns, direction.at(place)) for place in places])
        return added, Projection(tuple(places), (1.0,) * len(places))

    def _project(self, direction: Projection) -> Tensor:
        columns, direction = self._line(direction)
        z = torch.empty(self.n_rows, dtype=torch.float64, device=self.target.device)
        about = self._slate(0, direction, ())
        self._run(kernels.project, columns, self.n_rows, about, 0, len(direction.columns), z)
        return z

    def _best(self, sieve: Sieve, edges: tuple[float, float] | None) -> tuple[Best, int, bool, bool]:
        if edges is None and self.n_rows >= engine.ROWS_FOR_CELLS:
            return super()._best(sieve, edges)
        residual, total = self.residual(sieve.output)
        projection, spare = sieve.projection, len(self.output.weights)
        line = self._line(projection)
        groups = 0 if self._together is None else (spare >> 3) + 1
        results = _CUT + 3 + 8 * groups
        slate = self._slate(results, line[1], edges or ())
        if edges is None:
            z = self._project(projection)
        else:
            z, residual = self._between(line, residual, slate, results)
        z, order = torch.sort(z)
        running, n = residual[order].cumsum_(0), len(z)
        programs = n // kernels.ROWS + 1
        best = torch.empty(programs, dtype=torch.float64, device=z.device)
        places = torch.empty(programs, dtype=torch.int64, device=z.device)
        self._run(
            kernels.best, z, running, slate[1:], total.sum, total.mean, n, self.n_rows, best, places, slate[3:],
            rows=n + 1,
        )  # fmt: skip
        if groups:  # who asks for overlaps puts the rule in the spare slot next
            self._fire(spare, line, slate, results, _CUT - 1, groups)
        replies = slate[:results].cpu().numpy()
        place, s, silent = replies[4:7].tolist()
        gain, below, upper = replies[7:10].view(np.float64).tolist()
        if groups:
            self._note(spare, replies[_CUT:])
            if 0 < place < n:
                threshold = float(replies[_CUT - 1 : _CUT].view(np.float64)[0])
                self._ready = spare, Oblique(projection, threshold), replies[_CUT:]
        return (gain, silent, s, below, upper), int(replies[10]), place == 0, place == n

    def _between(self, line: _Line, residual: Tensor, slate: Tensor, results: int) -> tuple[Tensor, Tensor]:
        """Projection and residual of the rows between two edges; the slate has number and sum of those below."""
        z, chosen = torch.empty(self.n_rows, dtype=torch.float64, device=residual.device), torch.empty_like(residual)
        columns, features = line[0], len(line[1].columns)
        self._run(kernels.between, columns, residual, self.n_rows, slate, results, features, z, chosen)
        n = int(slate[0])
        return z[:n], chosen[:n]

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, rule: Oblique) -> Integers:
        if self._ready is not None and self._ready[:2] == (slot, rule):
            return self._ready[2][:3]
        groups = 0 if self._together is None else (slot >> 3) + 1
        results = 3 + 8 * groups
        line = self._line(rule.projection)
        slate = self._slate(results, line[1], (rule.threshold,))
        self._fire(slot, line, slate, results, len(slate) - 1, groups)
        replies = slate[:results].cpu().numpy()
        self._note(slot, replies)
        return replies[:3]

    def _fire(self, slot: int, line: _Line, slate: Tensor, results: int, threshold: int, groups: int) -> None:
        """Let a slot fire: the threshold is at a place of the slate, what is told are the last of its results."""
        self.answers.bits(slot)
        columns, direction = line
        about = slate, results, len(direction.columns), threshold, slot
        self._run(kernels.fire, columns, self.target, self.n_rows, *about, self.answers.codes, groups)

    def _note(self, slot: int, replies: Integers) -> None:
        """Keep what `fire` replies of a slot, drop what depended on its answers."""
        self._ready = None
        if self._together is not None:
            self._together = slot, replies[3:]
        if replies[2]:
            self._forget(slot)

    def move(self, source: int, target: int) -> None:
        self._ready = None
        self._run(kernels.move, self.answers.codes, self.n_rows, source, target)
        self._forget(target)

    def _forget(self, slot: int) -> None:
        super()._forget(slot)
        if self._together is not None and self._together[0] != slot:
            self._together = -1, self._together[1]

    def _work_out(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        tables = np.append(np.zeros(5, np.int64), tables_of(output))
        slate, residual = torch.from_numpy(tables).to(self.target.device), torch.empty_like(self.target)
        self._run(
            kernels.look_up, self._descended(self._start, output), self.answers.codes, self.n_rows, slate,
            len(tables) // 256, self.loss.grid.limit, residual,
        )  # fmt: skip
        return residual, residual, self._total(slate[0], slate[1:5])

    def correlation(self, slot: int) -> int:
        return int(self._fired_sums(self.residual(self.output)[0][None], slot)[0])

    def _fired_sums(self, values: Tensor, slot: int) -> Integers:
        """Sum of every line of `values` over the rows where a slot fires."""
        sums = self._zeros(len(values))
        self._run(kernels.fired_sums, values, self.answers.codes, self.n_rows, slot, sums, lines=len(values))
        return sums.cpu().numpy()

    def overlaps(self, slot: int, n_rules: int) -> Integers:
        if self._together is None or self._together[0] != slot or len(self._together[1]) < n_rules:
            groups = (n_rules + 7) >> 3
            counts = self._zeros(8 * groups)
            self._run(kernels.overlaps, self.answers.codes, self.n_rows, slot, groups, counts)
            self._together = slot, counts.cpu().numpy()
        return self._together[1][:n_rules]

    # -- columns, depth and theory -------------------------------------------------------------------------

    def column_sums(self, center: Floats, scale: Floats, slot: int | None = None) -> Integers:
        if slot is None:
            return super().column_sums(center, scale)
        if not self.columns.is_floating_point():
            return self._fired_sums(self.columns, slot) * signs(center, scale)
        return np.concatenate([self._fired_sums(columns, slot) for columns in self._columns(center, scale)])

    def explained(self, n_rules: int, shift: int) -> int:
        if n_rules > _MOST_NUMBERED:
            return super().explained(n_rules, shift)
        copies = 1 << (_MOST_NUMBERED - n_rules)
        counts, sums = self._zeros(copies, 1 << n_rules, kind=torch.int32), self._zeros(copies, 1 << n_rules)
        self._run(kernels.regions, self.answers.codes, self.target, self.n_rows, n_rules, copies, counts, sums)
        explained, unit = self._zeros(1), torch.full((1,), 2.0**-shift, dtype=torch.float64, device=self.target.device)
        self._run(
            kernels.explained, counts.sum(dim=0), sums.sum(dim=0), 1 << n_rules, unit, explained, rows=1 << n_rules
        )
        return int(explained)
