"""A part whose rows have several scores, one per class; questions about its residuals see one contrast of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.answer_bits import tables_of
from bgn.engines.kernels import rows as kernels
from bgn.engines.part import Part
from bgn.engines.protocol import CONTRAST, Integers, Loss, Output


class ClassPart(Part):
    """Some rows with several scores each, and the answers of the neurons of the layer being grown."""

    def residuals(self, output: Output) -> Integers:
        """The residuals that `output` leaves, one line per class; the last ones are remembered."""
        known = getattr(self, "_each", None)
        if known is None or known[0] != self._answers_known or not known[1].same_scores(output):
            known = self._each = self._answers_known, output, self._with_losses(self._gap(output))[0]
        return known[2]

    def _remember(self, output: Output, residual: Integers, limbs: Integers) -> tuple[Output, Integers]:
        self._each = self._answers_known, output, residual
        return output, residual

    def residual(self, output: Output) -> Integers:
        known = self._residual
        if known is None or not known[0].same(output):
            residuals = self.residuals(output)
            known = self._residual = output, seen(residuals, output.contrast or (0,) * len(residuals))
        return known[1]

    def _gap(self, output: Output) -> Integers:
        for known, leftover in self._known:
            if known.same_scores(output):
                return leftover[0]
        gap = np.empty_like(self._start)
        each = [one_of(output, k) for k in range(self.loss.outputs)]
        start = self._start
        if output.ramps:
            start = np.stack([self._descended(own, one) for own, one in zip(start, each, strict=True)])
        tables = np.stack([tables_of(one) for one in each])
        self.each(lambda span: kernels.look_up_each(start, self.codes, tables, *span, gap), self._spans)
        self._known = [*self._known[:1], (output, (gap, np.zeros(0, np.uint8), 0, 0, 0))]
        return gap

    def _take_back(self, slot: int, before: NDArray[np.uint8]) -> None:
        self._known = [known for known in self._known if not known[0].weights[slot : slot + 1].any()]
        self._answers_known += 1

    def move(self, source: int, target: int) -> None:
        super().move(source, target)
        self._answers_known += 1

    def forget(self) -> None:
        super().forget()
        self._answers_known += 1

    def pulls(self, width: int) -> Integers:
        found = []
        for residual in self.residuals(self.output):
            values = residual * self.weight if len(self.weight) else residual
            found.append(np.append(values.sum(), self.fired_sums(values, width)))
        return np.stack(found, axis=1)

    def _residuals(self) -> Sequence[Any]:
        return [*self.residuals(self.output)]

    @property
    def _sums_per_region(self) -> int:
        """The weight of every class, in more columns than two."""
        return max(3, self.loss.outputs)

    _answers_known = 0  # how often answers have changed


def one_of(output: Output, k: int) -> Output:
    """One of several outputs, of none too."""
    return output.of(k) if output.weights.ndim > 1 else output


def seen(residuals: Any, contrast: tuple[int, ...]) -> Any:
    """One number per row from one per class."""
    total = residuals[0] * contrast[0]
    for residual, factor in zip(residuals[1:], contrast[1:], strict=True):
        if factor:
            total = total + residual * factor
    return total >> CONTRAST


def part_of(
    columns: NDArray[Any], target: Integers, weight: Integers | None, loss: Loss, threads: int = 1,
    below: NDArray[np.uint8] | None = None,
) -> Part:  # fmt: skip
    """Rows as a part, of the kind that their loss takes."""
    return (Part if loss.outputs == 1 else ClassPart)(columns, target, weight, loss, threads, below)
