"""One layer: add a rule, reconsider the others, stop in time (Algorithm 1 with Improvement 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from bgn.engines.coding import n_columns_read
from bgn.engines.memory import ClassPart
from bgn.engines.protocol import CONTRAST, Cut, CutRequest, Floats, Grid, Integers, LinearTerm, Output
from bgn.grow.constraints import NO_CONSTRAINTS, Constraints
from bgn.grow.directions.lasso import Lasso
from bgn.grow.directions.pairs import bins_of
from bgn.grow.directions.protocol import Others
from bgn.grow.directions.search import Search
from bgn.grow.history import Monitor as Monitor
from bgn.grow.history import OutOfFold, Record, Snapshot, choose_size
from bgn.grow.out_of_fold import stretched
from bgn.grow.refit import OutputFitter, State
from bgn.grow.rounding import Shortener
from bgn.grow.rows import RowSets
from bgn.model.numbers import EXACT, written
from bgn.model.term import Linear, Oblique

_AT_A_TIME = 3
DirectionFinder = Lasso | Search
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
    linear_factor: float = 1.0  # a rule is added instead of a linear term where it gains so many times as much
    stretch: tuple[float, ...] = ()  # how far scores are stretched at every size, not at all where nothing is said


@dataclass(frozen=True)
class LayerPath:
    """A grown layer: its snapshot at every size, the steps, and why it stopped."""

    path: tuple[Snapshot, ...]
    records: tuple[Record, ...]
    stopped: str
    out_of_fold: OutOfFold | None = None  # of folds, where these chose


class LayerGrowth:
    """Grows one layer on `rows`. The engines hold the rules' answers; `state` is what they amount to."""

    def __init__(
        self, rows: RowSets, finder: DirectionFinder, fitter: OutputFitter, settings: LayerSettings,
        rng: np.random.Generator, monitor: Monitor, layer: int,
    ) -> None:  # fmt: skip
        self.rows, self.finder, self.fitter, self.settings = rows, finder, fitter, settings
        self.rng, self.monitor, self.layer = rng, monitor, layer
        self.state = fitter.start(rows.train)
        self.records: list[Record] = []
        self.path: list[Snapshot] = []
        scale = rows.train.loss.scale(self._train_loss())
        self._short = None if settings.digits is None else Shortener(settings.digits, scale, rows.coding)
        self._linear_candidates = LinearCandidates(rows, settings.max_linear, settings.digits)
        self._center: Any = 0.0  # the score without rules
        self._short_rules: list[Oblique] = []  # what each slot asks in short numbers
        self._otherwise: set[int] = set()  # slots that answer some training rows otherwise then
        self._to_put: set[int] = set()  # those of them whose answers the training rows do not keep yet
        self._follow(None)
        self._keep()

    def grow(self) -> LayerPath:
        """Add rules until nothing is gained, patience or size is spent, or somebody says stop."""
        reason = "max_terms"
        try:
            while self.state.size < self.settings.max_terms and not self.monitor.out_of_time():
                if not self._add():
                    reason = "no gain"
                    break
                self._replace()
                self._keep()
                patience, size = self.settings.patience, self.state.size
                if patience is None or self.rows.validation is None:
                    continue
                if size - choose_size(self.path, "best", 0) >= patience:
                    reason = "patience"
                    break
        except KeyboardInterrupt:
            self.monitor.stopped = "interrupted"
        return LayerPath(tuple(self.path), tuple(self.records), self.monitor.stopped or reason)

    # -- steps ---------------------------------------------------------------------------------------------

    def _add(self) -> bool:
        """Add the rule that gains most, or a linear term where that gains more."""
        candidates = self._linear_candidates.candidates(self.state)
        gains = [self.fitter.linear_gain(self.rows.train, self.state, term) for term in candidates]
        best = int(np.argmax(gains)) if gains else 0
        linear_term, least_gain = None, 0.0
        if gains and gains[best] > 0.0:
            linear_term, least_gain = candidates[best], self.settings.linear_factor * gains[best]
        if math.isinf(self.settings.linear_factor):
            return linear_term is not None and self._add_linear(linear_term)
        if self._add_rule(least_gain):
            return True
        return linear_term is not None and (self._add_linear(linear_term) or self._add_rule())

    def _add_linear(self, linear_term: LinearTerm) -> bool:
        state = self.fitter.admit_linear(self.rows.train, self.state, linear_term)
        if state is None:
            return False
        self.state = state
        self._follow(None)
        self._note(len(state.linear) - 1, "linear")
        return True

    def _replace(self) -> None:
        """Try to replace random rules (Improvement 1); what failed at this state is not tried again."""
        n_rules = self.state.n_rules
        attempts = n_rules if self.settings.max_replacements is None else min(n_rules, self.settings.max_replacements)
        if n_rules < 2 or attempts == 0:
            return
        failed: set[int] = set()
        for slot in self.rng.integers(0, n_rules, attempts).tolist():
            if slot in failed:
                continue
            if self.monitor.out_of_time():
                return
            # Only the most promising are tried, one for classes, where each is dear: more take time and bring little.
            requests = self._worth_trying(self.fitter.without(self.state, slot), slot)
            requests = requests[: 2 if self.rows.train.loss.quadratic else 1]
            if self._accept_first(slot, requests, "replacement"):
                failed.clear()
            else:
                failed.add(slot)

    def _add_rule(self, least_gain: float = 0.0) -> bool:
        """Look for one more rule, and take the first that helps. A few rules are put at a time. When the first few do
        not help, the next are tried, because growth ends where nothing is gained, unless one must gain more than
        `least_gain`."""
        slot = self.state.n_rules
        requests = self._worth_trying(self.state.output, slot)
        for start in range(0, len(requests), _AT_A_TIME):
            some = requests[start : start + _AT_A_TIME]
            if self._accept_first(slot, some, "addition", least_gain):
                return True
            if least_gain > 0.0:
                return False
        return False

    def _accept_first(self, slot: int, requests: Sequence[CutRequest], kind: str, least_gain: float = 0.0) -> bool:
        pairs = zip(self.rows.train.cuts(requests), requests, strict=True)
        return any(
            cut is not None and self._accept(slot, cut, kind, request.output, least_gain) for cut, request in pairs
        )

    def _worth_trying(self, output: Output, slot: int) -> list[CutRequest]:
        """Rules for a slot, the most promising first."""
        others = self.fitter.others(self.rows.train, self.state, slot)
        taken_out = None if slot == self.state.n_rules else self.state.output.weights[slot]
        return proposals(self.rows, self.finder, output, others, taken_out)

    def _accept(self, slot: int, cut: Cut, kind: str, output: Output, least_gain: float = 0.0) -> bool:
        """Put the rule in its slot if the training loss falls; tell everybody."""
        same = slot < self.state.n_rules and cut.rule == self.state.rules[slot]
        if same and self.rows.train.loss.quadratic:  # nothing changes; another loss is refitted a little more
            return False
        state = self.fitter.admit(self.rows.train, self.state, slot, cut, self._share(slot, cut.rule), least_gain)
        if state is None:
            return False
        rule, known = state.rules[slot], [*self.state.rules]
        self.state = state
        self._shorten(slot, cut if rule is cut.rule else known.index(rule), output)
        self._follow(slot)
        if not state.same_answers:
            self.finder.learn(slot, state.rules[slot].projection)
        self._note(slot, kind)
        return True

    def _note(self, slot: int, kind: str) -> None:
        """Remember the step, and tell of it."""
        if self.state.linear:
            self._bound = math.nan
        elif not self.state.same_answers:
            self._bound = self.rows.train.loss.in_units(self.rows.train.bound())
        record = Record(
            self.layer, self.state.size, kind, slot, self._train_loss(), self._validation_loss(),
            self._bound, self.monitor.seconds, self.monitor.member,
        )  # fmt: skip
        self.records.append(record)
        self.monitor.tell(record)

    def _share(self, slot: int, rule: Oblique) -> float:
        """The share of its gain that counts for a rule in a slot; less where it asks about more columns."""
        if slot == self.state.n_rules:
            return 1.0
        new, old = (n_columns_read(either.projection, self.rows.coding) for either in (rule, self.state.rules[slot]))
        return 1.0 - self.settings.simplicity if new > 1 >= old else 1.0

    def _shorten(self, slot: int, cut: Cut | int, output: Output) -> None:
        """Say the rule of a slot in short numbers: that of a cut, or the one that another slot asks already."""
        if isinstance(cut, int):
            rule, otherwise = self._short_rules[cut], cut in self._otherwise
        elif self._short is None:
            rule, otherwise = cut.rule, False
        else:
            rows, most = self.rows.train, self._most_moved(slot)
            rule, otherwise = self._short.rule(rows, self.rows.sample, output, cut, most)
        self._short_rules[slot : slot + 1] = [rule]
        for slots in (self._otherwise, self._to_put):
            (slots.add if otherwise else slots.discard)(slot)

    def _most_moved(self, slot: int) -> float:
        """The weight of rows that a rule in short numbers may answer otherwise: what a sharp step explains would
        come back."""
        loss, weights = self.rows.train.loss, self.state.output.weights[slot]
        step = 2.0 * float(np.abs(loss.grid.value(weights)).max())
        dear = step * step if loss.quadratic else step  # what a row loses at most, or about that
        return _OF_WHAT_IS_LEFT * self._train_loss() * self.rows.train.total / dear if dear > 0.0 else math.inf

    def _aside(self, slot: int) -> int:
        """Where the training rows keep the answers to a slot's rule in short numbers."""
        return self.settings.max_terms + 1 + slot

    def _follow(self, slot: int | None) -> None:
        for rows in self.rows.followers:
            if slot is not None:
                rows.put(slot, (self._short_rules if rows is self.rows.validation else self.state.rules)[slot])
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
        base, weights, linear_coef = in_units(loss.grid, self.state.output)
        losses = self._train_loss(), self._validation_loss()
        deviation = math.nan if rows is None else loss.in_units(rows.loss_deviation())
        linear_part = linear_terms(self.state.linear, self.rows), linear_coef
        snapshot = Snapshot(self.state.rules, weights, base, *losses, deviation, *linear_part)
        self._center = base if not self.path else self._center
        stretch = dict(enumerate(self.settings.stretch)).get(self.state.size, 1.0)
        if stretch != 1.0:
            base, weights, linear_coef = (
                stretched(base, self._center, stretch),
                stretch * weights,
                stretch * linear_coef,
            )
            snapshot = self._shortened(base, weights, linear_coef)
        if self._short is not None:
            noise = self._noise(snapshot)
            signs, linear = self.settings.constraints.signs(self.state.rules, self.state.linear), self.state.linear
            inverse = self.fitter.inverse(self.state)
            for more in range(_MOST_MORE + 1):
                short = self._short.short_outputs(base, weights, inverse, more, signs, linear, linear_coef)
                snapshot = self._shortened(*short)
                if snapshot.criterion <= noise:
                    break
        self.path.append(snapshot)

    def _noise(self, snapshot: Snapshot) -> float:
        """The loss up to which short numbers are as good as the others."""
        rows = self.rows.validation
        if rows is None:
            return snapshot.criterion * (1.0 + _AS_GOOD / 100)
        return snapshot.criterion + _AS_GOOD * snapshot.validation_deviation / math.sqrt(rows.total)

    def _shortened(self, base: Any, weights: Floats, linear_coef: Floats) -> Snapshot:
        """The layer with these outputs and its rules in short numbers, and how well it does."""
        loss, train, rows = self.rows.train.loss, self.rows.train, self.rows.validation
        while self._to_put:
            slot = self._to_put.pop()
            train.put(self._aside(slot), self._short_rules[slot])
        output = in_steps(loss.grid, self.state.linear, base, weights, linear_coef)
        places = [self._aside(slot) if slot in self._otherwise else slot for slot in range(len(weights))]
        scale = np.zeros((max(places, default=-1) + 1, *weights.shape[1:]), np.int64)
        scale[places] = output.weights
        train_loss, validated, deviation = train.total_loss(replace(output, weights=scale)), math.nan, math.nan
        if rows is not None:
            validated = loss.mean(rows.settle(output), rows.total)
            deviation = loss.in_units(rows.loss_deviation())
        mean = loss.mean(train_loss, train.total)
        linear_part = linear_terms(self.state.linear, self.rows), linear_coef
        return Snapshot(tuple(self._short_rules), weights, base, mean, validated, deviation, *linear_part)


# -- Rules for several outputs: which contrast of their residuals to look at.

_HALF = 1 << (CONTRAST - 1)


def proposals(
    rows: RowSets, finder: DirectionFinder, output: Output, others: Others, taken_out: Integers | None
) -> list[CutRequest]:
    """Rules worth asking of the residual that `output` leaves, for one output or several. A rule that takes the place
    of another is sought where that one's output weights point (`taken_out`)."""
    several = rows.train.loss.outputs
    if several == 1:
        return [*finder.propose(output, others)]
    if taken_out is not None and taken_out.any():
        return [*finder.propose(output.seen(contrast_of(taken_out.astype(np.float64))), others)]
    alone = [tuple(_HALF * (k == place) for k in range(several)) for place in range(several)]
    strengths = [finder.strength(output.seen(contrast)) for contrast in alone]
    first = [*finder.propose(output.seen(alone[int(np.argmax(strengths))]), others)]
    shares = _explained(rows, first[:1], output)
    return first if shares is None else [*finder.propose(output.seen(contrast_of(shares)), others), *first]


def contrast_of(shares: Floats) -> tuple[int, ...]:
    """The contrast that takes so much of each output, in whole numbers."""
    largest = float(np.abs(shares).max())
    return tuple(round(share / largest * _HALF) for share in shares.tolist())


def _explained(rows: RowSets, requests: list[CutRequest], output: Output) -> Floats | None:
    """How much of every output's residual the best cut of a rule explains, on a sample; None without one."""
    sample = rows.sample
    if sample is None or not requests:
        return None
    (cut,) = sample.cuts([CutRequest(requests[0].output, requests[0].projection)])
    if cut is None:
        return None
    part = sample.part
    assert isinstance(part, ClassPart)
    answers = part.answers([cut.rule])[0].astype(np.int64)
    heavy = answers * part.weight if len(part.weight) else answers
    mean = int(heavy.sum()) / sample.total
    residuals = part.residuals(output)
    total = [int(residual.sum() if not len(part.weight) else (residual * part.weight).sum()) for residual in residuals]
    sums = [int((residual * heavy).sum()) - mean * all_ for residual, all_ in zip(residuals, total, strict=True)]
    shares = np.array([math.ldexp(value, -20) for value in sums])
    return shares if shares.any() else None


# -- Linear terms: which column to take as a straight line next, and between which ends.

_TRIED = 2  # columns that are fitted together with all terms, before one is taken


class LinearCandidates:
    """The linear terms that a layer may get, at most so many."""

    def __init__(self, rows: RowSets, most: int, digits: int | None) -> None:
        self._rows, self._most, self._digits = rows, most, digits
        self._columns = _numbers(rows) if most else np.zeros(0, np.int64)

    def candidates(self, state: State) -> list[LinearTerm]:
        """The columns that explain most of what a state leaves, as linear terms, the most promising first."""
        taken = [linear_term.column for linear_term in state.linear]
        columns = self._columns[~np.isin(self._columns, taken)]
        if len(taken) >= self._most or len(columns) == 0:
            return []
        rows = self._rows.train
        gains = self._explained(state.output)[columns]
        candidates: list[LinearTerm] = []
        for j in columns[np.argsort(-gains, kind="stable")[:_TRIED]].tolist():
            linear_term = rows.linear_of(j, *ends(*self._rows.ends(j), self._digits))
            candidates += [] if linear_term is None else [linear_term]
        return candidates

    def _explained(self, output: Output) -> Floats:
        """How much each column alone explains of what an output leaves; of several outputs all together."""
        rows = self._rows.train
        about, several = rows.describe(), rows.loss.outputs
        seen = [output]
        if several > 1:
            half = 1 << (CONTRAST - 1)
            seen = [output.seen(tuple(half * (k == j) for k in range(several))) for j in range(several)]
        deviation = np.where(about.deviation > 0, about.deviation, np.inf)
        shares = [rows.products(one) / deviation for one in seen]
        return np.asarray(sum(share * share for share in shares))


def _numbers(rows: RowSets) -> Integers:
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
    decimals = [
        float(EXACT.multiply(EXACT.divide(written(end), unit).to_integral_value(rounding, EXACT), unit))
        for end, rounding in places
    ]
    return (decimals[0], decimals[1]) if decimals[0] <= low < high <= decimals[1] else (low, high)


# -- between steps of a grid and units ----------------------------------------------------------------------


def in_units(grid: Grid, output: Output) -> tuple[Any, Floats, Floats]:
    """Base, output weights and linear coefficients per unit of their columns; the base is for columns of zero."""
    base: Any = grid.center + grid.value(output.base)
    linear_coef = grid.value(output.linear_coef)
    linear_coef = linear_coef * _per_output([linear_term.per_unit for linear_term in output.linear], linear_coef)
    if output.linear:
        base = base - (
            linear_coef * _per_output([linear_term.center for linear_term in output.linear], linear_coef)
        ).sum(axis=0)
    return base if np.ndim(base) else float(base), grid.value(output.weights), linear_coef


def in_steps(grid: Grid, linear: tuple[LinearTerm, ...], base: Any, weights: Floats, linear_coef: Floats) -> Output:
    if linear:
        base = base + (linear_coef * _per_output([linear_term.center for linear_term in linear], linear_coef)).sum(
            axis=0
        )
        linear_coef = linear_coef / _per_output([linear_term.per_unit for linear_term in linear], linear_coef)
    steps = [
        np.rint(np.ldexp(values, grid.exponent)).astype(np.int64)
        for values in (weights, base - grid.center, linear_coef)
    ]
    return Output(steps[0], steps[1], (), linear, steps[2])


def _per_output(values: list[float], linear_coef: Floats) -> Floats:
    """One number per linear term, to be multiplied by linear coefficients of one output or several."""
    return np.array(values, np.float64).reshape(-1, *(1,) * (linear_coef.ndim - 1))


def linear_terms(linear: tuple[LinearTerm, ...], rows: RowSets) -> tuple[Linear, ...]:
    typical = None if rows.coding is None else rows.coding.typical
    return tuple(
        Linear(term.column, term.low, term.high, None if typical is None else typical[term.column]) for term in linear
    )
