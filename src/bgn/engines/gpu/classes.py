"""Rows in tensors with several scores each, one per class; see :mod:`bgn.engines.class_part`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bgn.engines.class_part import one_of, seen
from bgn.engines.gpu.cut import Total
from bgn.engines.gpu.engine import TensorPart
from bgn.engines.gpu.sums import group_sums
from bgn.engines.protocol import Integers, Output


class ClassTensorPart(TensorPart):
    """Rows on one device, with one line of gaps and residuals per class."""

    def residual(self, output: Output) -> tuple[Tensor, Total]:
        residuals = self._found(output)[1]
        residual = seen(residuals, output.contrast or (0,) * len(residuals))
        return residual, self._total(self._sum(residual))

    def _found(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        for known, gap, residuals, total in self._known:
            if known.same_scores(output):
                return gap, residuals, total
        made = self._work_out(output)
        self._known = [*self._known[:1], (output, *made)]
        return made

    def _work_out(self, output: Output) -> tuple[Tensor, Tensor, Total]:
        each = []
        for k, start in enumerate(self._start):
            one = one_of(output, k)
            each.append(self.answers.subtracted(self._descended(start, one), one))
        return self._with_residual(torch.stack(each))

    def _residuals(self) -> Sequence[Tensor]:
        return list(self._found(self.output)[1])

    def pulls(self, width: int) -> Integers:
        return np.stack([self._pulls(residual, width) for residual in self._found(self.output)[1]], axis=1)

    def explained(self, width: int, shift: int) -> int:
        keys, heavy, weights, sums = self.answers.keys(width), self.weight, None, []
        for k in range(self.loss.outputs):
            own = (self.target == k).long()
            _, weights, total = group_sums(keys, heavy, own if heavy is None else own * heavy)
            sums.append(total.double())
        assert weights is not None
        return int(self.loss.explained(weights.double(), torch.stack(sums, dim=1), 2.0**-shift).long().sum())
