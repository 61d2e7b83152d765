"""What growth asks of the rows, wherever they live, and how the rule reaches them.

An :class:`~bgn.engines.reduce.Engine` holds rows (columns, targets as whole steps of a :class:`Grid`, whole weights)
and the answers of the rules of the layer being grown, one slot per rule. Every reply is a sum of integers or an exact
choice, so all engines, on any number of threads or blocks, give the same bits: the bits of an integer are divided so
that no sum over rows can pass 2**61, and depend only on the total weight.

Inside an engine a request is a method of one of the protocols below, such as ``RowPart.put``. It is put to all parts
of an engine at once (``parts.ask(RowPart.put, slot, rule)``), wherever they live: a part that lacks the method, or
takes other arguments, does not type-check.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgn.model.term import Oblique, Projection

if TYPE_CHECKING:
    from bgn.engines.raw_rows import Moments, Plan, Reach, Sample, Scored, Survey, Weights
    from bgn.engines.reduce import CellSums, Engine, Regions, RowsInCells, Sieve
    from bgn.inputs.splits import Hashes, Inside


Integers = NDArray[np.int64]

_SUM_BITS = 61
_HEADROOM = 4
_MOST_TARGET_BITS = 38
COLUMN_BITS = 30


@dataclass(frozen=True)
class Grid:
    """Whole numbers for targets: ``value = center + steps * 2**-exponent``."""

    center: float
    exponent: int
    bits: int

    @classmethod
    def for_range(cls, low: float, high: float, total_weight: int) -> Grid:
        """The finest grid on which sums of residuals of targets between `low` and `high` stay below 2**61."""
        center, half = low / 2 + high / 2, high / 2 - low / 2
        bits_left = _SUM_BITS - _HEADROOM - max(total_weight, 1).bit_length()
        bits = min(_MOST_TARGET_BITS, bits_left)
        if bits < 8:
            raise ValueError(f"the row weights add up to {total_weight}, too many to sum exactly; scale them down.")
        return cls(center, bits - math.frexp(half)[1] if half > 0 else 0, bits)

    @property
    def limit(self) -> int:
        """Residuals beyond this are clipped where they are squared."""
        return 1 << (self.bits + _HEADROOM)

    def steps(self, y: NDArray[np.float64]) -> Integers:
        """Nearest whole number of steps of each target."""
        far = np.ldexp(np.clip(y / 2 - self.center / 2, -1e308, 1e308), self.exponent + 1)
        return np.rint(np.clip(far, -float(self.limit), float(self.limit))).astype(np.int64)

    def value(self, steps: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """A difference of `steps` in the target's units; the center is not added."""
        return np.ldexp(np.asarray(steps, dtype=np.float64), -self.exponent)


# Products of two whole numbers are summed in limbs of this many bits, which is also the most that a linear term has.
LINEAR_BITS = 20


@dataclass(frozen=True)
class LinearTerm:
    """A column between two ends as whole numbers, ``rint((x - center) * scale)``: at most ``2**bits`` either way. What
    it answers, beside the +-1 of rules, is such a number times `unit`; rows beyond an end answer as it does."""

    column: int
    low: float
    high: float
    bits: int
    unit: float

    @property
    def center(self) -> float:
        return self.low / 2 + self.high / 2

    @property
    def scale(self) -> float:
        """Whole numbers per unit of the column."""
        return 2.0**self.bits / (self.high / 2 - self.low / 2)

    @property
    def place(self) -> tuple[float, float, float, float]:
        """What kernels need: both ends, center and scale."""
        return self.low, self.high, self.center, self.scale

    @property
    def per_unit(self) -> float:
        """How much its answer rises per unit of the column."""
        return self.scale * self.unit


def places(linear: Sequence[LinearTerm]) -> tuple[Integers, np.ndarray]:
    """Columns of linear terms, and what kernels need of each."""
    return np.array([term.column for term in linear], np.int64), np.array([term.place for term in linear], np.float64)


def whole(limbs: Integers) -> int:
    """A sum of products from its two limbs."""
    high, low = limbs.tolist()
    return (high << LINEAR_BITS) + low


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


# A contrast is a whole number of this part of one, and of at most half of them.
CONTRAST = 9
_NO_COEF = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Output:
    """Outputs in whole steps: ``prediction = base + sum(weights * answers) + sum(linear_coef * linear)``. With several
    outputs, weights have one column and the base has one entry for each. A residual then is one number per row all the
    same: `contrast` says how many of each output's residual it takes, in units of ``2**-CONTRAST``."""

    weights: Integers
    base: Any
    contrast: tuple[int, ...] = ()
    linear: tuple[LinearTerm, ...] = ()
    linear_coef: Integers = field(default_factory=lambda: _NO_COEF)

    def same(self, other: Output) -> bool:
        return self is other or (self.contrast == other.contrast and self.same_scores(other))

    def same_scores(self, other: Output) -> bool:
        """True when both give every row the same scores."""
        alike = np.array_equal(self.base, other.base) and np.array_equal(self.weights, other.weights)
        return alike and self.same_linear(other)

    def same_linear(self, other: Output) -> bool:
        """True when both have the same linear terms with the same linear coefficients."""
        return self.linear == other.linear and np.array_equal(self.linear_coef, other.linear_coef)

    @property
    def rates(self) -> Floats:
        """What one whole number of each linear term adds."""
        return self.linear_coef.astype(np.float64) * np.array([term.unit for term in self.linear], np.float64)

    def of(self, k: int) -> Output:
        linear_coef = self.linear_coef[:, k] if self.linear else _NO_COEF
        return Output(self.weights[:, k], int(self.base[k]), (), self.linear, linear_coef)

    def seen(self, contrast: tuple[int, ...]) -> Output:
        """The same, its residual seen by a contrast."""
        return replace(self, contrast=contrast)

    def along(self) -> Floats:
        """The weights, as the residual sees them."""
        if not self.contrast:
            return self.weights.astype(np.float64)
        return np.asarray((self.weights * np.array(self.contrast)).sum(axis=1) * 2.0**-CONTRAST)

    def without(self, slot: int) -> tuple[Output, int]:
        """The output with weight zero in a slot, and the weight that was there."""
        weight = int(self.weights[slot]) if slot < len(self.weights) else 0
        if weight == 0:
            return self, 0
        weights = self.weights.copy()
        weights[slot] = 0
        return replace(self, weights=weights, contrast=()), weight

    def change_to(self, other: Output) -> tuple[int, int, int] | None:
        """The one slot whose weight differs, and what that adds to a residual where it fires and where it does not. A
        rule that has no weight here counts as one of weight zero. None where more than one weight differs."""
        n_rules = len(self.weights)
        if not self.same_linear(other) or not n_rules <= len(other.weights) <= n_rules + 1:
            return None
        changes = other.weights.copy()
        changes[:n_rules] -= self.weights
        (changed,) = changes.nonzero()
        if len(changed) > 1:
            return None
        slot = int(changed[0]) if len(changed) else 0
        change, silent = int(changes[slot]) if len(changed) else 0, self.base - other.base
        return slot, silent - change, silent + change


NO_OUTPUT = Output(np.zeros(0, np.int64), 0)


@dataclass(frozen=True)
class CutRequest:
    """Where to cut a direction's projection, given the residual that `output` leaves. With a `window` (low, high) only
    cuts between projections in it compete."""

    output: Output
    projection: Projection
    window: tuple[float, float] | None = None


@dataclass(frozen=True)
class Cut:
    """The best cut of a projection: what fires and what does not, in weight and residual sum. `gain` is the drop of the
    mean squared residual, in squared steps, that this cut allows. `lower` and `upper` are the projections next to
    it."""

    rule: Oblique
    gain: float
    fired: int
    fired_sum: int
    silent: int
    silent_sum: int
    lower: float
    upper: float


@dataclass(frozen=True)
class Columns:
    """Integer view of the columns: ``rint((x - center) * scale)``, their sums and what follows from them."""

    center: Floats
    scale: Floats
    sums: Integers
    mean: Floats
    deviation: Floats


@dataclass(frozen=True, eq=False)
class Measures:
    """What a part tells of itself: rows, weight, target sum, limbs of the loss of score zero, reach of the columns,
    and whether they hold whole numbers alone."""

    n_rows: int
    total: int
    target_sum: int
    limbs: Integers
    low: Floats
    high: Floats
    whole: Bools
    probes: NDArray[Any]


class Loss(Protocol):
    """What growth makes small, row by row and in whole numbers; :mod:`bgn.grow.losses` has every one there is. Targets
    and scores are whole steps of grids. Of every row a *difference* is kept: a number that depends on its target alone,
    less its score. Residual and loss are functions of difference and target; those below take arrays and tensors and
    give the same bits for both."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def link(self) -> str:
        """What a score means: a key of :data:`bgn.model.link.LINKS`."""

    @property
    def outputs(self) -> int:
        """How many scores a row has; where there are several, differences and residuals have one line per score."""

    @property
    def targets(self) -> Grid:
        """The grid of targets."""

    @property
    def grid(self) -> Grid:
        """The grid of scores, residuals and output weights."""

    @property
    def quadratic(self) -> bool:
        """True where the residual is the difference, so that sums follow from earlier sums and one refit is exact."""

    @property
    def curvature(self) -> float:
        """A residual falls by at most so many steps per step of the score."""

    def diff(self, target: Any) -> Any:
        """The differences of rows whose score is zero."""

    def residual(self, diff: Any, target: Any) -> Any:
        """Half of how fast the loss of each row falls as its score rises, in steps."""

    def start(self, residual: Any) -> Floats:
        """A score, in steps, to start from, given the mean residual of score zero; for losses that are no squares."""

    def fill_residual(
        self, diff: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers, limbs: Integers
    ) -> None:
        """Write the residuals of some rows to their places in `out`, and add their losses to `limbs`; compiled."""

    def limbs(self, diff: Any, target: Any) -> tuple[Any, Any, Any, Any]:
        """The loss of each row in four limbs, which :meth:`total` puts together once they are added up."""

    def add_limbs(
        self, diff: Integers, target: Integers, weight: Integers, start: int, stop: int, out: Integers
    ) -> None:
        """Add the limbs of some rows, times their weights, to `out`; compiled."""

    def total(self, limbs: Integers) -> int:
        """The sum of the losses."""

    def powers(self, diff: Any, target: Any, unit: float) -> Any:
        """The squared loss of each row as a whole number of 2^-30, where differences are multiplied by `unit`."""

    def add_powers(
        self, diff: Integers, target: Integers, weight: Integers, unit: float, start: int, stop: int, out: Integers
    ) -> None:
        """Add the powers of some rows, times their weights, to `out`; compiled."""

    def deviation(self, powers: int, largest: int, total: int, weight: int) -> float:
        """Standard deviation of the losses: from the sum of powers, the largest difference, and the sum of losses."""

    def explained(self, weight: Any, target_sum: Any, unit: float) -> Any:
        """By how much the best score for each group of rows lowers their loss from that of score zero. Times `unit`,
        and rounded to whole numbers."""

    def mean(self, total: int, weight: int) -> float:
        """A sum of losses as the mean that people see."""

    def in_units(self, value: float) -> float:
        """A loss per row as people see it."""

    def scale(self, mean: float) -> float:
        """How far scores may be expected to lie apart, given the mean loss of the best constant."""


BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1  # of every byte
SIGNS = np.ascontiguousarray((2 * BITS - 1).T)


def tables_of(output: Output) -> Integers:
    """What each of the 256 answers of a group of eight rules adds, for one group at least; the first has the base."""
    weights = np.zeros((max(1, (len(output.weights) + 7) >> 3), 8), np.int64)
    weights.ravel()[: len(output.weights)] = output.weights
    tables = weights @ SIGNS
    tables[0] += output.base
    return tables


Kind = TypeVar("Kind", covariant=True)
Receiver = TypeVar("Receiver", contravariant=True)
Reply = TypeVar("Reply")
Arguments = ParamSpec("Arguments")


class Request(Generic[Receiver, Reply]):
    """A method of a protocol and its arguments, which can travel to wherever rows live."""

    def __init__(
        self, method: Callable[Concatenate[Receiver, Arguments], Reply], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> None:  # fmt: skip
        self.method, self.arguments, self.named = method, arguments, named

    @property
    def name(self) -> str:
        return self.method.__name__

    def put_to(self, one: Receiver) -> Reply:
        """What `one` replies: its own method of that name runs."""
        reply: Reply = getattr(one, self.name)(*self.arguments, **self.named)
        return reply


class Askable(ABC, Generic[Kind]):
    """What holds several of a kind that requests can be put to, all at once."""

    def ask(
        self, method: Callable[Concatenate[Kind, Arguments], Reply], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> list[Reply]:  # fmt: skip
        """Put a request to all; their replies in order, perhaps merged."""
        return self.replies(Request(method, *arguments, **named))

    @abstractmethod
    def replies(self, request: Request[Kind, Reply]) -> list[Reply]:
        """What all reply to a request."""


class RowPart(Protocol):
    """Some rows and the answers of the rules of the layer being grown, one slot per rule. Every answer is integers that
    add up over parts, or extremes."""

    def measure(self) -> Measures:
        """Sums and extremes."""

    def split(self, output: Output, projection: Projection, thresholds: Floats) -> tuple[Integers, Floats]:
        """Weight and residual below each of some thresholds; and, for a sum, how near to it the nearest row is."""

    def put(self, slot: int, rule: Oblique) -> Integers:
        """Store a rule's answers; weight and target sum of the rows where it fires, and how many are new."""

    def move(self, source: int, target: int) -> None:
        """Copy the answers of one slot to another."""

    def settle(self, output: Output) -> Integers:
        """Make `output` the current one; the limbs of the sum of the losses."""

    def limbs(self, output: Output) -> Integers:
        """The limbs of the sum of the losses of `output`; the current one stays."""

    def largest(self) -> int:
        """The largest difference of the current output."""

    def loss_powers(self, unit: float) -> int:
        """Sum of the squared losses of differences times `unit`, in units of 2^-30."""

    def correlation(self, slot: int) -> int:
        """The current residual summed over the rows where a slot fires."""

    def pulls(self, n_rules: int) -> Integers:
        """The current residual summed over all rows, then over those where each of the first slots fires. One column
        per output."""

    def overlaps(self, slot: int, n_rules: int) -> Integers:
        """For each of the first `n_rules` slots, the weight of the rows where both it and `slot` fire."""

    def linear_products(self, linear_term: LinearTerm, others: Sequence[LinearTerm], n_rules: int) -> Integers:
        """Sum of a linear term's whole numbers over all rows, then where each of the first slots fires; then limbs of
        its products with other linear terms and itself."""

    def linear_fired(self, linear: Sequence[LinearTerm], slot: int) -> Integers:
        """Sum of the whole numbers of each linear term over the rows where a slot fires."""

    def linear_pulls(self, linear: Sequence[LinearTerm]) -> Integers:
        """Limbs of the current residual times each linear term, for every output."""

    def column_sums(self, center: Floats, scale: Floats, slot: int | None = None) -> Integers:
        """Sum of every integer column over all rows, or over those where `slot` fires."""

    def products(self, output: Output, center: Floats, scale: Floats, shift: int) -> Integers:
        """Limbs of every integer column times the residual that `output` leaves, without its last `shift` bits."""

    def residual_sum(self, output: Output, shift: int) -> int:
        """Sum of the residuals that `output` leaves, without their last `shift` bits."""

    def column_squares(self, center: Floats, scale: Floats) -> Integers:
        """Limbs of every integer column squared."""

    def gram(self, column: int, center: Floats, scale: Floats) -> Integers:
        """Limbs of one integer column times all."""

    def next_layer(self, rules: Sequence[Oblique]) -> Self:
        """The same rows with the +-1 answers of `rules` for columns."""


class CellPart(RowPart, Protocol):
    """A part that finds cuts by cells, and tells its regions: all but those on a GPU, which sorts."""

    def cells(self, sieves: Sequence[Sieve]) -> list[CellSums]:
        """What every cell of each sieve holds."""

    def inside(self, sieves: Sequence[Sieve], survives: Sequence[NDArray[np.uint8]]) -> list[RowsInCells]:
        """The rows in the cells of each sieve that survive."""

    def regions(self, n_rules: int) -> Regions:
        """The regions that the first `n_rules` slots tell apart: their keys; their weights and target sums."""


class RawBlock(Protocol):
    """Raw rows, before growth."""

    def weights(self) -> Weights:
        """What must be known to make all weights whole."""

    def weigh(self, exponent: int) -> int:
        """Sum of the weights times ``2**exponent``, each rounded."""

    def survey(self, seed: int, exponent: int | None) -> Survey:
        """Count, weigh and hash the rows."""

    def inside(self, seed: int, exponent: int | None, number: int) -> Inside:
        """The hashes in one bin."""

    def smallest(self, seed: int, exponent: int | None, edge: int | None, most: int) -> Hashes:
        """The smallest different hashes above `edge`, at most so many."""

    def sample(self, plan: Plan) -> Sample:
        """The rows of the sample, equal ones put together."""

    def reach(self) -> Reach:
        """The least and the greatest value of every column, and whether all are whole."""

    def moments(self, plan: Plan, scored: Scored) -> Moments:
        """What the weights of some terms are refitted by, of the rows that learn."""


class Parts(Askable[Kind]):
    """Rows in parts, wherever they live."""

    @abstractmethod
    def next_layer(self, rules: Sequence[Oblique]) -> Self:
        """The same rows with the +-1 answers of `rules` for columns."""


class RowSource(Askable[RawBlock]):
    """Raw rows in blocks. A source may check its rows when it is first asked; one that holds all rows in memory makes a
    :class:`~bgn.engines.memory.MemoryEngine`."""

    weighted: bool
    kept: bool = False  # whether more engines will be asked for, so that raw rows are needed still

    def for_threads(self, threads: int) -> RowSource | None:
        """The same rows for a fit at the same time as others, on so many threads; None where fits take turns."""
        return None

    @abstractmethod
    def engine(self, plan: Plan, held_out: bool) -> Engine:
        """The rows that learn, or those that validate."""

    def close(self) -> None:
        """Let go of the raw rows: engines are made."""


class OneBlock(RowSource):
    """Raw rows in one block."""

    def __init__(self, block: RawBlock, weighted: bool) -> None:
        self._block, self.weighted = block, weighted

    def replies(self, request: Request[RawBlock, Reply]) -> list[Reply]:
        return [request.put_to(self._block)]
