"""An engine made of parts: every request goes to all of them, and their replies are put together exactly.

What the parts are and where they live is up to :class:`~bgn.engines.requests.Parts`: rows in memory, blocks on disk, a
cluster's workers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Concatenate, Generic, TypeVar

import numpy as np

from bgn.engines.cells import CELLS, CELLS_IN_WINDOW, PROBES, Best, Sieve, line_of
from bgn.engines.integers import COLUMN_BITS
from bgn.engines.kernels import cuts
from bgn.engines.protocol import NO_OUTPUT, Columns, Cut, Engine, Floats, Integers, Loss, Output, Question
from bgn.engines.quotients import covariances
from bgn.engines.ramp import LINEAR_BITS, Ramp, whole
from bgn.engines.requests import Arguments, Parts, Reply, RowPart
from bgn.model.neuron import Neuron, Projection

_RESIDUAL_BITS = 31  # are plenty for a direction
_MOST_KEPT = 1 << 23  # covariances of columns
_EVERYWHERE = (-math.inf, math.inf)

PartKind = TypeVar("PartKind", bound=RowPart)


class MergedEngine(Engine, ABC, Generic[PartKind]):
    """Rows in parts, as one; how cuts are found depends on the kind of part."""

    def __init__(self, parts: Parts[PartKind], loss: Loss) -> None:
        self.parts, self.loss = parts, loss
        measures = parts.ask(RowPart.measure)
        self.n_rows = sum(each.n_rows for each in measures)
        self.total = sum(each.total for each in measures)
        self.target_sum = sum(each.target_sum for each in measures)
        self._zero_loss = loss.total(np.sum([each.limbs for each in measures], axis=0))
        self._low = np.min([each.low for each in measures], axis=0)
        self._high = np.max([each.high for each in measures], axis=0)
        self._whole = np.all([each.whole for each in measures], axis=0)
        self._seen = list(zip(self._low.tolist(), self._high.tolist(), self._whole.tolist(), strict=True))
        self.n_columns = len(self._low)
        self._reach: list[float] = np.maximum(self._high, -self._low).tolist()
        probes = np.concatenate([each.probes for each in measures], axis=1)
        some = min(probes.shape[1], PROBES)
        self._probes = np.ascontiguousarray(probes[:, np.arange(some) * probes.shape[1] // max(some, 1)])
        self._cells = min(CELLS, 1 << max(4, (self.n_rows // 32).bit_length()))
        self._cells_in_window = min(CELLS_IN_WINDOW, self._cells)
        self.output = NO_OUTPUT
        self._columns: Columns | None = None
        self._products: tuple[Output, Floats] | None = None  # of the last output asked about
        self._gram: dict[int, Floats] = {}
        self._fired: dict[int, int] = {}  # weight of the rows where each slot fires

    def _sum(
        self, method: Callable[Concatenate[PartKind, Arguments], Reply], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Reply:  # fmt: skip
        """What all parts reply, added up."""
        first, *others = self.parts.ask(method, *arguments, **named)
        return sum(others, first)  # type: ignore[call-overload]

    # -- cuts ----------------------------------------------------------------------------------------------

    def _cut(self, direction: Projection, total: int, best: Best) -> Cut | None:
        gain, silent, silent_sum, below, above = best
        if not gain > 0.0:
            return None
        threshold = below / 2 + above / 2
        if not below < threshold <= above:  # neighbouring floats leave no room between them
            threshold = above
        fired = self.total - silent, total - silent_sum
        return Cut(Neuron(direction, threshold), gain, *fired, silent, silent_sum, below, above)

    def _bound(self, direction: Projection) -> float:
        """No projection is beyond this; infinity when some could overflow."""
        bound = 0.0
        for j, c in zip(direction.columns, direction.coefficients, strict=True):
            bound += max(map(abs, c)) if isinstance(c, tuple) else abs(c) * self._reach[j]
        return bound if bound < 1e307 else np.inf

    def can_project(self, direction: Projection) -> bool:
        """True unless a projection could overflow."""
        return self._bound(direction) < np.inf

    def _sieve(self, question: Question) -> Sieve:
        """Cells over a window, with one for all rows below and one for all above; or over the reach of a few dozen
        rows, on which only speed depends."""
        if question.window is None:
            line = line_of(self._probes, question.projection)
            low, scale = cuts.reach_of(*line, self._cells, self._probes.shape[1])
            return Sieve(question.output, question.projection, low, scale, self._cells)
        bottom, width = self._window(question.projection, question.window)
        return Sieve(
            question.output, question.projection, bottom - width, 1.0 / width, self._cells_in_window, bounded=True
        )

    def _window(self, direction: Projection, window: tuple[float, float]) -> tuple[float, float]:
        """Where the cells of a window begin, and how wide they are."""
        bound = self._bound(direction)
        bottom, top = max(window[0], -bound), min(window[1], bound)
        return bottom, (top - bottom) / (self._cells_in_window - 2)

    def _without_narrow_window(self, question: Question) -> Question:
        """The question, without a window that is too narrow for floats to tell where in it a row lies."""
        if question.window is None:
            return question
        bottom, width = self._window(question.projection, question.window)
        told_apart = width > 1e-307 and bottom - width < bottom and question.window != _EVERYWHERE
        return question if told_apart else replace(question, window=None)

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        sums, nearest = zip(*self.parts.ask(RowPart.split, output, projection, thresholds), strict=True)
        return np.sum(sums, axis=0), np.min(nearest, axis=0)

    def seen(self) -> list[tuple[float, float, bool]]:
        return self._seen

    # -- answers and outputs -------------------------------------------------------------------------------

    def put(self, slot: int, neuron: Neuron) -> tuple[int, int, bool]:
        self._products = None
        fired, target_sum, changed = self._sum(RowPart.put, slot, neuron).tolist()
        self._fired[slot] = fired
        return fired, target_sum, changed > 0 or slot >= len(self.output.weights)

    def move(self, source: int, target: int) -> None:
        self._products = None
        self.parts.ask(RowPart.move, source, target)
        self._fired[target] = self._fired[source]

    def settle(self, output: Output) -> int:
        """Make `output` the current one; the sum of the losses."""
        self.output = output
        self._settled = self.loss.total(self._sum(RowPart.settle, output))
        return self._settled

    def total_loss(self, output: Output) -> int:
        return self.loss.total(self._sum(RowPart.limbs, output))

    def loss_deviation(self) -> float:
        """Standard deviation of the rows' losses."""
        largest = max(self.parts.ask(RowPart.largest))
        if largest == 0:
            return 0.0
        powers = self._sum(RowPart.loss_powers, 1.0 / largest)
        return self.loss.deviation(powers, largest, self._settled, self.total)

    def residual_sum(self) -> int:
        """The current residual summed over all rows."""
        return int(self._sum(RowPart.residual_sum, self.output, 0))

    def correlation(self, slot: int) -> int:
        return int(self._sum(RowPart.correlation, slot))

    def pulls(self) -> Floats:
        total, *fired = self._sum(RowPart.pulls, len(self.output.weights)).astype(np.float64)
        found = np.array([total, *(2 * each - total for each in fired)])
        return found if self.loss.outputs > 1 else found[:, 0]

    def overlaps(self, slot: int) -> Integers:
        """For every slot up to `slot` or the current width, the weight of the rows where both fire."""
        return self._sum(RowPart.overlaps, slot, max(slot + 1, len(self.output.weights)))

    # -- ramps ---------------------------------------------------------------------------------------------

    def ramp_of(self, column: int, low: float, high: float) -> Ramp | None:
        about = self.describe()
        bits, half = min(LINEAR_BITS, 60 - self.total.bit_length()), high / 2 - low / 2
        spread = about.deviation[column] / about.scale[column]
        if not (half > 0 and spread > 0 and bits > 0 and math.isfinite(2.0**bits / half)):
            return None
        return Ramp(column, low, high, bits, math.ldexp(half / spread, -bits))

    def ramp_products(self, ramp: Ramp, others: Sequence[Ramp]) -> Floats:
        width = len(self.output.weights)
        found = self._sum(RowPart.ramp_products, ramp, others, width)
        total, fired = int(found[0]), found[1 : 1 + width]
        limbs = found[1 + width :].reshape(-1, 2)
        signed = [float(2 * each - total) * ramp.unit for each in fired.tolist()]
        both = [float(whole(two)) * ramp.unit * each.unit for two, each in zip(limbs, (*others, ramp), strict=True)]
        return np.array([total * ramp.unit, *signed, *both])

    def ramp_fired(self, ramps: Sequence[Ramp], slot: int) -> Floats:
        if not ramps:
            return np.zeros(0)
        return self._sum(RowPart.ramp_fired, ramps, slot) * np.array([each.unit for each in ramps])

    def ramp_pulls(self, ramps: Sequence[Ramp]) -> Floats:
        if not ramps:
            return np.zeros((0, self.loss.outputs) if self.loss.outputs > 1 else 0)
        limbs = self._sum(RowPart.ramp_pulls, ramps)
        pairs = zip(limbs, ramps, strict=True)
        found = np.array([[float(whole(two)) * ramp.unit for two in some] for some, ramp in pairs])
        return found if self.loss.outputs > 1 else found[:, 0]

    # -- columns -------------------------------------------------------------------------------------------

    def describe(self) -> Columns:
        """Integer columns and their moments, worked out once."""
        if self._columns is None:
            self._columns = self._measure()
        return self._columns

    def lost(self) -> list[int]:
        _, half, scale = self._places()
        return np.flatnonzero((self._low < self._high) & (half * scale <= 0.5)).tolist()

    def _places(self) -> tuple[Floats, Floats, Floats]:
        """Centre and half the reach of every column, and how many integers there are to a unit of it."""
        centre = self._low / 2 + self._high / 2
        half = self._high / 2 - self._low / 2
        room = min(COLUMN_BITS, 60 - self.total.bit_length())
        exponent = np.where(half > 0, room - np.frexp(half)[1], 0)
        return centre, half, np.ldexp(1.0, np.clip(exponent, -1022, 1022))

    def _measure(self) -> Columns:
        centre, _, scale = self._places()
        sums = self._sum(RowPart.column_sums, centre, scale)
        limbs = self._sum(RowPart.column_squares, centre, scale)
        deviation = np.sqrt(np.maximum(covariances(limbs, sums, sums, self.total) / self.total, 0.0))
        return Columns(centre, scale, sums, sums / self.total, deviation)

    def products(self, output: Output) -> Floats:
        """Covariances of all columns with what `output` leaves, in integer units, times the total weight."""
        if self._products is None or self._products[0] is not output:
            about = self.describe()
            shift = max(0, self.loss.grid.bits + 4 - _RESIDUAL_BITS)
            limbs = self._sum(RowPart.products, output, about.centre, about.scale, shift)
            left = self._sum(RowPart.residual_sum, output, shift)
            self._products = output, covariances(limbs, about.sums, left, self.total) * 2.0**shift
        return self._products[1]

    def gram(self, column: int) -> Floats:
        if column not in self._gram:
            about = self.describe()
            limbs = self._sum(RowPart.gram, column, about.centre, about.scale)
            if len(self._gram) * self.n_columns > _MOST_KEPT:
                self._gram = {}
            self._gram[column] = covariances(limbs, about.sums, int(about.sums[column]), self.total)
        return self._gram[column]

    def cross(self, slot: int) -> Floats:
        about, fired = self.describe(), self._fired[slot]
        sums = self._sum(RowPart.column_sums, about.centre, about.scale, slot)
        return 2 * covariances(np.stack([np.zeros_like(sums), sums], axis=1), about.sums, fired, self.total)

    # -- depth and theory ----------------------------------------------------------------------------------

    def bound(self) -> float:
        everything = self._zero_loss
        # Whole numbers again, so that the order of the regions does not matter.
        shift = max(0, everything.bit_length() - 60)
        return max(everything - (self._explained(shift) << shift), 0) / self.total

    @abstractmethod
    def _explained(self, shift: int) -> int:
        """By how much the best score of each region lowers the loss, a whole number of ``2**shift`` for each."""
