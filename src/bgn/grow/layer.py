"""One layer: add a neuron, reconsider the others, stop in time (Algorithm 1 with Improvement 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from bgn.engines.coding import columns_asked
from bgn.engines.memory import ClassPart
from bgn.engines.protocol import CONTRAST, Cut, Floats, Grid, Integers, Output, Question, Ramp
from bgn.grow.constraints import NO_CONSTRAINTS, Constraints
from bgn.grow.directions.pairs import bins_of
from bgn.grow.directions.protocol import DirectionFinder, Others
from bgn.grow.history import Monitor as Monitor
from bgn.grow.history import OutOfFold, Record, Snapshot, choose_size
from bgn.grow.out_of_fold import stretched
from bgn.grow.refit import OutputRule, State
from bgn.grow.rounding import Shortener
from bgn.grow.rows import Roles
from bgn.model.numbers import EXACT, written
from bgn.model.term import Linear, Oblique

_AT_A_TIME = 3
# Short numbers may raise the loss by this share of its noise, or of itself; otherwise they get more digits, so many.
_AS_GOOD = 0.1
_OF_WHAT_IS_LEFT = 0.5  # and by this share of what is left, where nearly all is explained
_MOST_MORE = 3


@dataclass(frozen=True)
class LayerSettings:
    """What bounds the growth of a layer."""

    max_terms: int
    max_replacements: int | None
    patience: int | None
    digits: int | None = None
    simplicity: float = 0.0
    constraints: Constraints = NO_CONSTRAINTS
    max_linear: int = 0
    lead: float = 1.0  # a question is asked instead of a linear term where it gains so many times as much
    stretch: tuple[float, ...] = ()  # how far scores are stretched at every width, not at all where nothing is said


@dataclass(frozen=True)
class LayerPath:
    """A grown layer: its snapshot at every width, the steps, and why it stopped."""

    path: tuple[Snapshot, ...]
    records: tuple[Record, ...]
    stopped: str
    out_of_fold: OutOfFold | None = None  # of folds, where these chose


class LayerGrowth:
    """Grows one layer on `rows`. The engines hold the neurons' answers; `state` is what they amount to."""

    def __init__(
        self, rows: Roles, finder: DirectionFinder, rule: OutputRule, settings: LayerSettings,
        rng: np.random.Generator, monitor: Monitor, layer: int,
    ) -> None:  # fmt: skip
        self.rows, self.finder, self.rule, self.settings = rows, finder, rule, settings
        self.rng, self.monitor, self.layer = rng, monitor, layer
        self.state = rule.start(rows.train)
        self.records: list[Record] = []
        self.path: list[Snapshot] = []
        spread = rows.train.loss.spread(self._train_loss())
        self._short = None if settings.digits is None else Shortener(settings.digits, spread, rows.coding)
        self._straight = Straight(rows, settings.max_linear, settings.digits)
        self._centre: Any = 0.0  # the score where nothing is asked
        self._asked: list[Oblique] = []  # what each slot asks in short numbers
        self._otherwise: set[int] = set()  # slots that answer some training rows otherwise then
        self._to_put: set[int] = set()  # those of them whose answers the training rows do not keep yet
        self._follow(None)
        self._keep()

    def grow(self) -> LayerPath:
        """Add neurons until nothing is gained, patience or width is spent, or somebody says stop."""
        reason = "max_terms"
        try:
            while self.state.size < self.settings.max_terms and not self.monitor.out_of_time():
                if not self._add():
                    reason = "no gain"
                    break
                self._replace()
                self._keep()
                if self._impatient():
                    reason = "patience"
                    break
        except KeyboardInterrupt:
            self.monitor.stopped = "interrupted"
        return LayerPath(tuple(self.path), tuple(self.records), self.monitor.stopped or reason)

    # -- steps ---------------------------------------------------------------------------------------------

    def _add(self) -> bool:
        """Add the question that gains most, or a linear term where that gains more."""
        ramp, lead = self._best_ramp()
        if math.isinf(self.settings.lead):
            return ramp is not None and self._add_ramp(ramp)
        if self._add_question(lead):
            return True
        return ramp is not None and (self._add_ramp(ramp) or self._add_question())

    def _best_ramp(self) -> tuple[Ramp | None, float]:
        """The linear term that gains most, and what a question must gain to be preferred."""
        rows, found = self.rows.train, self._straight.candidates(self.state)
        gains = [self.rule.ramp_gain(rows, self.state, ramp) for ramp in found]
        best = int(np.argmax(gains)) if gains else 0
        if not gains or gains[best] <= 0.0:
            return None, 0.0
        return found[best], self.settings.lead * gains[best]

    def _add_ramp(self, ramp: Ramp) -> bool:
        state = self.rule.admit_ramp(self.rows.train, self.state, ramp)
        if state is None:
            return False
        self.state = state
        self._follow(None)
        self._note(len(state.ramps) - 1, "linear")
        return True

    def _replace(self) -> None:
        """Try to replace random neurons (Improvement 1); what failed at this state is not tried again."""
        width = self.state.width
        attempts = width if self.settings.max_replacements is None else min(width, self.settings.max_replacements)
        if width < 2 or attempts == 0:
            return
        failed: set[int] = set()
        for slot in self.rng.integers(0, width, attempts).tolist():
            if slot in failed:
                continue
            if self.monitor.out_of_time():
                return
            if self._replace_one(self.rule.without(self.state, slot), slot):
                failed.clear()
            else:
                failed.add(slot)

    def _add_question(self, lead: float = 0.0) -> bool:
        """Look for one more neuron, and take the first that helps.

        A few questions are put at a time. When the first few do not help, the next are tried, because growth ends where
        nothing is gained, unless one must gain more than `lead`.
        """
        slot = self.state.width
        questions = self._worth_asking(self.state.output, slot)
        for start in range(0, len(questions), _AT_A_TIME):
            some = questions[start : start + _AT_A_TIME]
            found = zip(self.rows.train.cuts(some), some, strict=True)
            if any(cut is not None and self._accept(slot, cut, "addition", asked.output, lead) for cut, asked in found):
                return True
            if lead > 0.0:
                return False
        return False

    def _replace_one(self, output: Output, slot: int) -> bool:
        """Replace the neuron in a slot if that helps, given the residual that `output` leaves without it.

        Only the most promising questions are tried, two for numbers and one for classes, where each is dear: further
        ones take time and bring hardly anything.
        """
        some = self._worth_asking(output, slot)[: 2 if self.rows.train.loss.quadratic else 1]
        found = zip(self.rows.train.cuts(some), some, strict=True)
        return any(cut is not None and self._accept(slot, cut, "replacement", asked.output) for cut, asked in found)

    def _worth_asking(self, output: Output, slot: int) -> list[Question]:
        """Questions for a slot, the most promising first."""
        others = self.rule.others(self.rows.train, self.state, slot)
        return proposals(self.rows, self.finder, output, others, self._weights_of(slot))

    def _weights_of(self, slot: int) -> Integers | None:
        """The output weights of the neuron that is taken out of a slot; None for a new one."""
        return None if slot == self.state.width else self.state.output.weights[slot]

    def _accept(self, slot: int, cut: Cut, kind: str, output: Output, lead: float = 0.0) -> bool:
        """Put the neuron in its slot if the training loss falls; tell everybody."""
        same = slot < self.state.width and cut.neuron == self.state.neurons[slot]
        if same and self.rows.train.loss.quadratic:  # nothing changes; another loss is refitted a little more
            return False
        state = self.rule.admit(self.rows.train, self.state, slot, cut, self._share(slot, cut.neuron), lead)
        if state is None:
            return False
        neuron, known = state.neurons[slot], [*self.state.neurons]
        self.state = state
        self._shorten(slot, cut if neuron is cut.neuron else known.index(neuron), output)
        self._follow(slot)
        if not state.same_answers:
            self.finder.learn(slot, state.neurons[slot].projection)
        self._note(slot, kind)
        return True

    def _note(self, slot: int, kind: str) -> None:
        """Remember the step, and tell of it."""
        if self.state.ramps:
            self._bound = math.nan
        elif not self.state.same_answers:
            self._bound = self.rows.train.loss.in_units(self.rows.train.bound())
        record = Record(
            self.layer, self.state.size, kind, slot, self._train_loss(), self._validation_loss(),
            self._bound, self.monitor.seconds, self.monitor.member,
        )  # fmt: skip
        self.records.append(record)
        self.monitor.tell(record)

    def _share(self, slot: int, neuron: Oblique) -> float:
        """The share of its gain that counts for a neuron in a slot; less where it asks about more columns."""
        if slot == self.state.width:
            return 1.0
        new, old = (columns_asked(each.projection, self.rows.coding) for each in (neuron, self.state.neurons[slot]))
        return 1.0 - self.settings.simplicity if new > 1 >= old else 1.0

    def _shorten(self, slot: int, found: Cut | int, output: Output) -> None:
        """Say the question of a slot in short numbers: that of a cut, or the one that another slot asks already."""
        if isinstance(found, int):
            neuron, otherwise = self._asked[found], found in self._otherwise
        elif self._short is None:
            neuron, otherwise = found.neuron, False
        else:
            rows, most = self.rows.train, self._most_moved(slot)
            neuron, otherwise = self._short.neuron(rows, self.rows.sample, output, found, most)
        self._asked[slot : slot + 1] = [neuron]
        for slots in (self._otherwise, self._to_put):
            (slots.add if otherwise else slots.discard)(slot)

    def _most_moved(self, slot: int) -> float:
        """The weight of rows that a question in short numbers may answer otherwise: what a sharp step explains would
        come back."""
        loss, weights = self.rows.train.loss, self.state.output.weights[slot]
        step = 2.0 * float(np.abs(loss.grid.value(weights)).max())
        dear = step * step if loss.quadratic else step  # what a row loses at most, or about that
        return _OF_WHAT_IS_LEFT * self._train_loss() * self.rows.train.total / dear if dear > 0.0 else math.inf

    def _aside(self, slot: int) -> int:
        """Where the training rows keep the answers to a slot's question in short numbers."""
        return self.settings.max_terms + 1 + slot

    def _follow(self, slot: int | None) -> None:
        """Bring the other rows up to date."""
        for rows in self.rows.followers:
            if slot is not None:
                rows.put(slot, (self._asked if rows is self.rows.validation else self.state.neurons)[slot])
            total = rows.settle(self.state.output)
            if rows is self.rows.validation:
                self._validation_total = total

    # -- figures -------------------------------------------------------------------------------------------

    def _train_loss(self) -> float:
        return self.rows.train.loss.mean(self.state.loss, self.rows.train.total)

    def _validation_loss(self) -> float:
        rows = self.rows.validation
        return math.nan if rows is None else rows.loss.mean(self._validation_total, rows.total)

    def _keep(self) -> None:
        """Take a snapshot: in short numbers, of no more digits than it takes for the loss to stay what it is."""
        loss, rows = self.rows.train.loss, self.rows.validation
        base, weights, slopes = in_units(loss.grid, self.state.output)
        losses = self._train_loss(), self._validation_loss()
        deviation = math.nan if rows is None else loss.in_units(rows.loss_deviation())
        straight = linear_terms(self.state.ramps, self.rows), slopes
        snapshot = Snapshot(self.state.neurons, weights, base, *losses, deviation, *straight)
        self._centre = base if not self.path else self._centre
        stretch = dict(enumerate(self.settings.stretch)).get(self.state.size, 1.0)
        if stretch != 1.0:
            base, weights, slopes = stretched(base, self._centre, stretch), stretch * weights, stretch * slopes
            snapshot = self._told(base, weights, slopes)
        if self._short is not None:
            noise = self._noise(snapshot)
            for more in range(_MOST_MORE + 1):
                snapshot = self._told(*self._in_short(self._short, more, base, weights, slopes))
                if snapshot.criterion <= noise:
                    break
        self.path.append(snapshot)

    def _in_short(
        self, short: Shortener, more: int, base: Any, weights: Floats, slopes: Floats
    ) -> tuple[Any, Floats, Floats]:
        """Outputs in short numbers, `more` digits than usual, with the signs that they must have."""
        signs = self.settings.constraints.signs(self.state.neurons, self.state.ramps)
        return short.amounts(base, weights, self.rule.inverse(self.state), more, signs, self.state.ramps, slopes)

    def _noise(self, snapshot: Snapshot) -> float:
        """The loss up to which short numbers are as good as the others."""
        rows = self.rows.validation
        if rows is None:
            return snapshot.criterion * (1.0 + _AS_GOOD / 100)
        return snapshot.criterion + _AS_GOOD * snapshot.validation_deviation / math.sqrt(rows.total)

    def _told(self, base: Any, weights: Floats, slopes: Floats) -> Snapshot:
        """The layer with these outputs and its questions in short numbers, and how well it does."""
        loss, train, rows = self.rows.train.loss, self.rows.train, self.rows.validation
        while self._to_put:
            slot = self._to_put.pop()
            train.put(self._aside(slot), self._asked[slot])
        output = in_steps(loss.grid, self.state.ramps, base, weights, slopes)
        places = [self._aside(slot) if slot in self._otherwise else slot for slot in range(len(weights))]
        spread = np.zeros((max(places, default=-1) + 1, *weights.shape[1:]), np.int64)
        spread[places] = output.weights
        learnt, validated, deviation = train.total_loss(replace(output, weights=spread)), math.nan, math.nan
        if rows is not None:
            validated = loss.mean(rows.settle(output), rows.total)
            deviation = loss.in_units(rows.loss_deviation())
        mean = loss.mean(learnt, train.total)
        straight = linear_terms(self.state.ramps, self.rows), slopes
        return Snapshot(tuple(self._asked), weights, base, mean, validated, deviation, *straight)

    def _impatient(self) -> bool:
        """True when the validation loss has not fallen for `patience` additions."""
        if self.settings.patience is None or self.rows.validation is None:
            return False
        return self.state.size - choose_size(self.path, "best", 0) >= self.settings.patience


# -- Questions for several outputs: which contrast of their residuals to look at.

_HALF = 1 << (CONTRAST - 1)


def proposals(
    rows: Roles, finder: DirectionFinder, output: Output, others: Others, taken_out: Integers | None
) -> list[Question]:
    """Questions worth asking of the residual that `output` leaves, for one output or several.

    A neuron that takes the place of another is sought where that one's output weights point (`taken_out`).
    """
    several = rows.train.loss.outputs
    if several == 1:
        return [*finder.propose(output, others)]
    if taken_out is not None and taken_out.any():
        return [*finder.propose(output.seen(contrast_of(taken_out.astype(np.float64))), others)]
    alone = [tuple(_HALF * (k == place) for k in range(several)) for place in range(several)]
    strengths = [finder.strength(output.seen(each)) for each in alone]
    first = [*finder.propose(output.seen(alone[int(np.argmax(strengths))]), others)]
    found = _explained(rows, first[:1], output)
    return first if found is None else [*finder.propose(output.seen(contrast_of(found)), others), *first]


def contrast_of(shares: Floats) -> tuple[int, ...]:
    """The contrast that takes so much of each output, in whole numbers."""
    largest = float(np.abs(shares).max())
    return tuple(round(each / largest * _HALF) for each in shares.tolist())


def _explained(rows: Roles, questions: list[Question], output: Output) -> Floats | None:
    """How much of every output's residual the best cut of a question explains, on a sample; None without one."""
    sample = rows.sample
    if sample is None or not questions:
        return None
    (cut,) = sample.cuts([Question(questions[0].output, questions[0].projection)])
    if cut is None:
        return None
    part = sample.part
    assert isinstance(part, ClassPart)
    answers = part.answers([cut.neuron])[0].astype(np.int64)
    heavy = answers * part.weight if len(part.weight) else answers
    mean = int(heavy.sum()) / sample.total
    residuals = part.residuals(output)
    total = [int(each.sum() if not len(part.weight) else (each * part.weight).sum()) for each in residuals]
    sums = [int((each * heavy).sum()) - mean * all_ for each, all_ in zip(residuals, total, strict=True)]
    found = np.array([math.ldexp(each, -20) for each in sums])
    return found if found.any() else None


# -- Linear terms: which column to take as a straight line next, and between which ends.

_TRIED = 2  # columns that are fitted together with all terms, before one is taken


class Straight:
    """The linear terms that a layer may get, at most so many."""

    def __init__(self, rows: Roles, most: int, digits: int | None) -> None:
        self._rows, self._most, self._digits = rows, most, digits
        self._columns = _numbers(rows) if most else np.zeros(0, np.int64)

    def candidates(self, state: State) -> list[Ramp]:
        """The columns that explain most of what a state leaves, as ramps, the most promising first."""
        taken = [ramp.column for ramp in state.ramps]
        columns = self._columns[~np.isin(self._columns, taken)]
        if len(taken) >= self._most or len(columns) == 0:
            return []
        rows = self._rows.train
        gains = self._explained(state.output)[columns]
        found: list[Ramp] = []
        for j in columns[np.argsort(-gains, kind="stable")[:_TRIED]].tolist():
            ramp = rows.ramp_of(j, *ends(*self._rows.ends(j), self._digits))
            found += [] if ramp is None else [ramp]
        return found

    def _explained(self, output: Output) -> Floats:
        """How much each column alone explains of what an output leaves; of several outputs all together."""
        rows = self._rows.train
        about, several = rows.describe(), rows.loss.outputs
        each = [output]
        if several > 1:
            half = 1 << (CONTRAST - 1)
            each = [output.seen(tuple(half * (k == j) for k in range(several))) for j in range(several)]
        deviation = np.where(about.deviation > 0, about.deviation, np.inf)
        shares = [rows.products(one) / deviation for one in each]
        return np.asarray(sum(share * share for share in shares))


def _numbers(rows: Roles) -> Integers:
    """The columns of numbers that take more than two values in the sample, and vary."""
    if rows.sample is None or (part := rows.sample.part).below is not None:
        return np.zeros(0, np.int64)
    coding = rows.coding
    n = part.n_columns if coding is None else coding.n_columns
    categories = [None] * n if coding is None else coding.categories
    varied = rows.train.describe().deviation > 0
    different = bins_of(rows.sample, coding).different
    return np.array([j for j in range(n) if categories[j] is None and varied[j] and different[j] > 2], np.int64)


def ends(low: float, high: float, digits: int | None) -> tuple[float, float]:
    """The ends of a line over values from `low` to `high`: the nearest decimals beyond, of so many digits."""
    if digits is None or not low < high or not math.isfinite(high - low):
        return low, high
    unit = Decimal(1).scaleb(written(high - low).adjusted() - digits + 1, EXACT)
    places = ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    found = [
        float(EXACT.multiply(EXACT.divide(written(each), unit).to_integral_value(rounding, EXACT), unit))
        for each, rounding in places
    ]
    return (found[0], found[1]) if found[0] <= low < high <= found[1] else (low, high)


# -- between steps of a grid and units ----------------------------------------------------------------------


def in_units(grid: Grid, output: Output) -> tuple[Any, Floats, Floats]:
    """Base, output weights and slopes per unit of their columns; the base holds where all columns are zero."""
    base: Any = grid.centre + grid.value(output.base)
    slopes = grid.value(output.slopes)
    slopes = slopes * _beside([ramp.per_unit for ramp in output.ramps], slopes)
    if output.ramps:
        base = base - (slopes * _beside([ramp.centre for ramp in output.ramps], slopes)).sum(axis=0)
    return base if np.ndim(base) else float(base), grid.value(output.weights), slopes


def in_steps(grid: Grid, ramps: tuple[Ramp, ...], base: Any, weights: Floats, slopes: Floats) -> Output:
    """The output of these numbers in whole steps."""
    if ramps:
        base = base + (slopes * _beside([ramp.centre for ramp in ramps], slopes)).sum(axis=0)
        slopes = slopes / _beside([ramp.per_unit for ramp in ramps], slopes)
    steps = [np.rint(np.ldexp(each, grid.exponent)).astype(np.int64) for each in (weights, base - grid.centre, slopes)]
    return Output(steps[0], steps[1], (), ramps, steps[2])


def _beside(values: list[float], slopes: Floats) -> Floats:
    """One number per ramp, to be multiplied by slopes of one output or several."""
    return np.array(values, np.float64).reshape(-1, *(1,) * (slopes.ndim - 1))


def linear_terms(ramps: tuple[Ramp, ...], rows: Roles) -> tuple[Linear, ...]:
    """Ramps as a network has them."""
    typical = None if rows.coding is None else rows.coding.typical
    return tuple(
        Linear(each.column, each.low, each.high, None if typical is None else typical[each.column]) for each in ramps
    )
