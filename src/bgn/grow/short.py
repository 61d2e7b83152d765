"""From what growth finds to numbers that people can say: short thresholds, and short amounts for the answers.

Growth itself goes on with the numbers it found, so a network with short numbers has the questions of one without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bgn.engines.kernels.cuts import gain
from bgn.engines.protocol import Cut, Engine, Floats, Output
from bgn.model.decimals import EXACT, multiples, rounded, shortest, sum_of, written
from bgn.model.neuron import Neuron

_MORE_FOR_THRESHOLDS = 2  # digits that a threshold may have beyond those of coefficients and amounts
_MOST_MORE = 8  # but no shorter one will do
# A shorter threshold may cost a cut this share of its gain, and answer this share of the rows otherwise.
_COSTS, _MOVES = 0.02, 0.002
_ROUNDINGS = 8 * float(np.finfo(float).eps)  # of a sum of products, as a share of its largest value


@dataclass(frozen=True)
class Shortener:
    """How short numbers are: `digits` of coefficients, and of amounts as far as the targets' `spread` goes."""

    digits: int
    spread: float

    @property
    def power(self) -> int | None:
        """Amounts are multiples of ten to this power; None where the targets do not differ."""
        return written(self.spread).adjusted() - self.digits + 1 if 0 < self.spread < math.inf else None

    def neuron(self, rows: Engine, output: Output, cut: Cut) -> tuple[Neuron, bool]:
        """The cut's neuron with a short threshold, and whether it answers some rows otherwise.

        A threshold between the cut's neighbours answers no row otherwise. Where that takes many digits, the shortest
        is taken among the cuts nearby that gain nearly as much.
        """
        room = self._roundings(rows, cut)
        low, high = cut.below + room, cut.above - room
        most = self.digits + _MORE_FOR_THRESHOLDS
        found = shortest(low, high) if low < high else cut.neuron.threshold
        if len(written(found).normalize(EXACT).as_tuple().digits) <= most:
            return replace(cut.neuron, threshold=found), False
        tried = multiples(cut.below, cut.above, self.digits + _MOST_MORE)
        thresholds = np.array(sorted(tried))
        below, nearest = rows.split(output, cut.neuron.projection, thresholds)
        total, enough, most_moved = cut.fired_sum + cut.silent_sum, (1.0 - _COSTS) * cut.gain, _MOVES * rows.total
        good = {
            float(threshold)
            for threshold, (n, s), near in zip(thresholds, below.tolist(), nearest.tolist(), strict=True)
            if 0 < n < rows.total and near > room and abs(n - cut.silent) <= most_moved
            if gain(n, s, rows.total, total) >= enough
        }
        for threshold in tried:  # the shortest first
            if threshold in good:
                return replace(cut.neuron, threshold=threshold), True
        return replace(cut.neuron, threshold=found), False

    def _roundings(self, rows: Engine, cut: Cut) -> float:
        """How far a sum of floats may be from the sum of what they write; nothing where there is no sum."""
        line = cut.neuron.projection
        if len(line.columns) < 2:
            return 0.0
        seen = rows.seen()
        parts = (abs(c) * max(map(abs, seen[j][:2])) for j, c in zip(line.columns, line.factors, strict=True))
        return _ROUNDINGS * sum(parts)

    def amounts(self, base: float, weights: Floats, inverse: Floats | None, more: int) -> tuple[float, Floats]:
        """Base and output weights whose amounts, for a yes and for all noes, are short; `more` digits than usual.

        One weight after the other is rounded. With the `inverse` of their products, base first, the others make up for
        it as far as they can.
        """
        if self.power is None:
            return base, weights
        power, values = self.power - more, np.append(base, weights)
        inverse = None if inverse is None else inverse.copy()
        for k in range(1, len(values)):
            short = rounded(2 * values.item(k), power) / 2
            if inverse is not None:
                column = inverse[:, k] / inverse[k, k]
                values = values + column * (short - values[k])
                inverse -= np.outer(column, inverse[k])
                inverse[k, k] = 1.0
            values[k] = short
        noes = written(rounded(values.item(0) - math.fsum(values[1:].tolist()), power))
        return float(sum_of([noes, *map(written, values[1:].tolist())])), values[1:]
