"""How to grow, and one growth of one layer: the tries that the best is chosen from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bgn.engines.protocol import Cut, CutRequest, Floats, LinearTerm, Output
from bgn.engines.reduce import Engine
from bgn.grow.constraints import NO_CONSTRAINTS, Constraints
from bgn.grow.directions.lasso import Debiased, Lasso
from bgn.grow.directions.search import Search
from bgn.grow.history import Record, Snapshot
from bgn.grow.layer import LayerGrowth, LayerPath, LayerSettings, Monitor
from bgn.grow.refit import Full, OutputFitter, Signed, Stagewise, State, changed
from bgn.grow.rows import RowSets
from bgn.model.term import Oblique, Projection

# Ridge penalties that "auto" tries, as shares of the training weight; above so much weight it uses penalty 1.
_SHARES = (0.0, 0.1, 0.3, 1.0)
_PLENTY = 5000
_LITTLE = 1.0
_LITTLE_OF_MANY = 30.0  # the same in an average, whose networks grow wide
# So many beyond the least are tried for classes (by folds of wide tables none), and more while the last is the best.
ENOUGH = 2
# How many times as much as a linear term a rule must gain to be asked instead; these compete.
GAIN_FACTORS = (1.0, 3.0)
FACTOR_AMONG_FOLDS = 2.0
# By so many times the noise linear terms must be better than rules alone, to join them.
CLEARLY = 0.25
# Where linear terms without replacement are so many times worse than rules with it, they are given up.
_HOPELESS = 1.15
# At this size an average's networks decide between linear terms among rules and rules alone.
_EARLY = 32


@dataclass(frozen=True)
class GrowthSettings:
    """How thoroughly growth searches: what hardly anybody needs to set, for the estimators' parameter `growth`.

    Parameters
    ----------
    max_replacements : int or None, default 10
        After each new rule, how many attempts to replace a random one; None: one attempt per rule.
    sweeps : int or "auto", default "auto"
        How often growth goes back down and up again, on at most 16,384 rows, to find the best layer of every size up to
        20 rules and 3 more; for ``direction="search"`` and ``output="full"`` with replacements. "auto": 60 divided by
        `max_terms`, 1 above 20 terms, and 0 up to 5,000 training rows and with cross-validation, where a closer fit
        predicts worse. 0: grow once, which is faster and makes small models worse.
    patience : int or None, default 10
        Stop when the validation error has not fallen for this many terms; None: never.
    simplicity : float, default 0.0
        How much more a rule on several columns must gain than one on a single column, as a share of its gain, to be
        tried first (``direction="search"``) or to replace it. Near 1 almost all rules use single columns.

    Examples
    --------
    >>> import bgn
    >>> quick = bgn.GrowthSettings(max_replacements=0)
    >>> bgn.BGNRegressor(max_terms=5, growth=quick).growth.max_replacements
    0
    """

    max_replacements: int | None = 10
    sweeps: int | str = "auto"
    patience: int | None = 10
    simplicity: float = 0.0


@dataclass(frozen=True)
class SearchSettings(GrowthSettings):
    """All that decides how a network grows; the estimators say what each means."""

    max_layers: int = 1
    max_terms: int = 50
    max_features: int = 2
    direction: str = "search"
    output: str = "full"
    shrinkage: float | str = "auto"
    learning_rate: float = 1.0
    select: str = "best"
    digits: int | None = None
    cv: Any = None
    constraints: Constraints = NO_CONSTRAINTS
    bounds: tuple[float, float] | None = None
    ensemble: int = 1
    max_linear: int | str = 0
    max_conditions: int | None = None
    pairs: str | None = "and"
    min_rows: int = 1
    cuts: Any = None
    linear_factor: float = 1.0  # what a rule must gain beside a linear term; see :class:`~bgn.grow.layer.LayerSettings`
    stretch: tuple[float, ...] = ()  # of the scores at every size; see there too

    @property
    def folds(self) -> Any:
        """How many folds to choose by, where that is done: for a single network of a single layer."""
        return self.cv if self.max_layers == 1 and self.ensemble == 1 else None

    @property
    def refits(self) -> bool:
        """Whether directions are searched for and all outputs refitted, as some ways of growing need."""
        return self.direction == "search" and self.output == "full"

    @property
    def drafted(self) -> int:
        """The size of the layers that a part of very many rows may draft."""
        return self.max_terms if self.refits else 0

    @property
    def most_linear(self) -> int:
        """Most linear terms: none in deep networks, nor where outputs are not refitted, nor beside the Lasso."""
        if self.max_layers > 1 or not self.refits:
            return 0
        return self.max_terms if isinstance(self.max_linear, str) else self.max_linear

    def scaled(self, exponent: int) -> SearchSettings:
        """The same for rows whose weights were multiplied by ``2**exponent``."""
        if exponent == 0 or self.shrinkage == "auto":
            return self
        return replace(self, shrinkage=float(self.shrinkage) * 2.0**exponent)


@dataclass(frozen=True)
class Attempt:
    """A grown layer, and how it was grown."""

    path: LayerPath
    settings: SearchSettings
    penalty: float

    @property
    def best(self) -> Snapshot:
        return min(self.path.path, key=lambda snapshot: snapshot.criterion)

    @property
    def loss(self) -> float:
        return self.best.criterion


def grow_once(
    rows: RowSets, seed: int, monitor: Monitor, layer: int, settings: SearchSettings, penalty: float,
    replacements: int | None,
) -> Attempt:  # fmt: skip
    wanted = settings.constraints.over(rows.coding)
    limits = LayerSettings(
        settings.max_terms, replacements, settings.patience, settings.digits, settings.simplicity, wanted,
        settings.most_linear, settings.linear_factor, settings.stretch,
    )  # fmt: skip
    rng = np.random.default_rng([seed, layer])
    enough = settings.sweeps != "auto" or rows.train.total > _PLENTY * rows.unit  # few rows are fitted too well by it
    swept = settings.sweeps and enough and replacements != 0 and not settings.most_linear
    planned: SweepPlan | None = None
    if swept and settings.refits:
        assert rows.sample is not None
        sample = replace(rows, train=rows.sample, validation=None, folds=())
        lesser = _fitter(settings, penalty * (rows.sample.total / rows.train.total), wanted)
        wide = replace(limits, max_terms=highest(settings.max_terms), digits=None)
        sweeper = Sweeper(sample, _finder(sample, settings, wanted), lesser, wide, rng, watch_for(monitor), layer)
        planned = sweeper.plan(how_many(settings.sweeps, settings.max_terms))
        if planned.interrupted:
            limits = replace(limits, max_terms=min(settings.max_terms, len(planned.layers) - 1))
    parts = rows, _finder(rows, settings, wanted), _fitter(settings, penalty, wanted), limits, rng, monitor, layer
    growth: LayerGrowth
    if rows.draft is None:
        growth = LayerGrowth(*parts) if planned is None else PlannedGrowth(planned.layers, *parts)
    else:  # all rows take over what a draft finds
        some, lesser = rows.drafted(), _fitter(settings, penalty * (rows.draft.total / rows.train.total), wanted)
        watch = Monitor(monitor.max_seconds, (), monitor.on_record, monitor.started)
        few = some, _finder(some, settings, wanted), lesser, limits, rng, watch, layer
        draft = Draft(*few) if planned is None else PlannedDraft(planned.layers, *few)
        growth = DraftedGrowth(draft, *parts)
    path = growth.grow()
    if planned is not None and planned.interrupted:
        monitor.stopped = "interrupted"
        path = replace(path, stopped=monitor.stopped)
    return Attempt(path, settings, penalty)


def noise_of(rows: Engine, unit: float, deviation: float) -> float:
    """The standard error of a mean loss on some rows, given the deviation of the rows' losses."""
    return deviation / math.sqrt(rows.total / unit)


class Attempts:
    """Growths of one layer that compete; `best` is the one to keep so far."""

    def __init__(self, rows: RowSets, settings: SearchSettings, seed: int, monitor: Monitor, layer: int) -> None:
        self._rows, self._settings, self._place, self._monitor = rows, settings, (seed, monitor, layer), monitor
        self._grown = partial(grow_once, rows, seed, monitor, layer)
        self.best: Attempt | None = None
        self.linear_alone: Attempt | None = None  # for an ensemble to choose

    def grow(self) -> None:
        """Rules alone, with the ridge penalty that validates best; then linear terms, if rows can judge them."""
        settings, competing = self._settings, penalties(self._rows, self._settings)
        validated, classes = self._rows.validation is not None, not self._rows.train.loss.quadratic
        if validated and settings.most_linear and self._sampled is not None:
            self._keep(self._grown(self._foreseen(competing[0]), competing[0], settings.max_replacements))
            if not self._monitor.out_of_time():
                self._grow_linear_alone(competing)
            return
        if validated or isinstance(settings.max_linear, str):
            settings = replace(settings, max_linear=0)
        for place, penalty in enumerate(competing if len(competing) > 1 else ()):
            self._keep(self._grown(settings, penalty, 0))
            if self._monitor.out_of_time():
                return
            if classes and place >= ENOUGH and self.best is not None and self.best.penalty != penalty:
                break  # a larger penalty would do worse still, and take longer
        lines = validated and self._settings.most_linear > 0
        if lines and self._settings.ensemble > 1 and self.best is None:
            settings, linear_decided = self._choose_early(settings, competing[0]), True
        else:
            linear_decided = False
        if self.best is None or settings.max_replacements != 0:
            penalty = competing[0] if self.best is None else self.best.penalty
            self._keep(self._grown(settings, penalty, settings.max_replacements))
        if lines and not linear_decided and not self._monitor.out_of_time():
            self._with_linear(competing[0])
        if lines and not self._monitor.out_of_time():
            self._grow_linear_alone(competing)

    @property
    def _sampled(self) -> Engine | None:
        """The rows that tell whether a single network should have linear terms, where they are not all of them."""
        sample = self._rows.sample
        fewer = sample is not None and sample.total < self._rows.train.total and self._settings.ensemble == 1
        return sample if fewer else None

    def _foreseen(self, penalty: float) -> SearchSettings:
        """How to grow on all rows: with linear terms or without, as does better on a sample of many rows. What is grown
        there, without replacement, is judged by all rows that validate. Where time is too short to tell, rules are
        asked alone."""
        sample, validation, (seed, _, layer), watch = (
            self._sampled, self._rows.validation, self._place, watch_for(self._monitor)
        )  # fmt: skip
        assert sample is not None
        assert validation is not None
        rows, share = replace(self._rows, train=sample, draft=None), sample.total / self._rows.train.total
        tried = [
            replace(self._settings, max_linear=0),
            *(replace(self._settings, linear_factor=linear_factor) for linear_factor in GAIN_FACTORS),
        ]
        grown = partial(grow_once, rows, seed, watch, layer)
        attempts = [grown(replace(settings, digits=None), share * penalty, 0) for settings in tried]
        if watch.stopped == "interrupted":
            raise KeyboardInterrupt
        best = [attempt.best for attempt in attempts]
        line = min(range(1, len(tried)), key=lambda k: best[k].criterion)
        noise = noise_of(validation, self._rows.unit, best[0].validation_deviation)
        clearly = not watch.stopped and best[line].criterion < best[0].criterion - noise
        return tried[line if clearly else 0]

    def _keep(self, attempt: Attempt, better: float = 0.0) -> None:
        """Keep what is found if its loss is lower by more than that."""
        if self.best is None or attempt.loss < self.best.loss - better:
            self.best = attempt

    def _with_linear(self, least: float) -> None:
        """Linear terms beside rules, where they are better by more than a part of the noise. Many steps along a line
        are to be shrunk, the line that takes their place is not: so the `least` penalty, too."""
        assert self.best is not None
        plain, tried, one = self.best, list[Attempt](), self._settings.ensemble == 1
        for linear_factor in GAIN_FACTORS if one else self._promising(plain):
            for penalty in sorted({least, plain.penalty} if one else {plain.penalty}):
                tried.append(self._grown(replace(self._settings, linear_factor=linear_factor), penalty, 0))
                if self._monitor.out_of_time():
                    return
        if not tried:
            return
        best = min(tried, key=lambda attempt: attempt.loss)
        if self._settings.max_replacements != 0 and best.loss < _HOPELESS * plain.loss:
            again = self._grown(best.settings, best.penalty, self._settings.max_replacements)
            best = min(best, again, key=lambda attempt: attempt.loss)
        self._keep(best, 0.0 if self._settings.ensemble > 1 else CLEARLY * self.noise)

    def _promising(self, plain: Attempt) -> Sequence[float]:
        """What is tried in an average, whose networks are wide: one lead, unless rules alone do better early on."""
        path = plain.path.path
        if len(path) > _EARLY:
            early = self._early(replace(self._settings, linear_factor=GAIN_FACTORS[-1]), plain.penalty)
            if len(early) > _EARLY and early[_EARLY].criterion > path[_EARLY].criterion:
                return ()
        return GAIN_FACTORS[-1:]

    def _choose_early(self, plain: SearchSettings, penalty: float) -> SearchSettings:
        """Rules alone or linear terms among them: what an average's network does better with while it is small."""
        lines = replace(self._settings, linear_factor=GAIN_FACTORS[-1])
        plain_path, joined = (self._early(settings, penalty) for settings in (plain, lines))
        return lines if joined[-1].criterion <= plain_path[-1].criterion else plain

    def _early(self, settings: SearchSettings, penalty: float) -> Sequence[Snapshot]:
        early = replace(settings, max_terms=min(_EARLY, settings.max_terms), digits=None)
        return self._grown(early, penalty, 0).path.path

    def _grow_linear_alone(self, competing: Sequence[float]) -> None:
        """Linear terms alone, unless what was found does better by more than noise; of that an average knows more."""
        linear_alone = replace(self._settings, linear_factor=math.inf)  # without rules
        self.linear_alone = min(
            (self._grown(linear_alone, penalty, 0) for penalty in competing), key=lambda penalty: penalty.loss
        )
        if self._settings.ensemble == 1:
            self._keep(self.linear_alone, -self.noise)

    @property
    def noise(self) -> float:
        assert self._rows.validation is not None
        assert self.best is not None
        return noise_of(self._rows.validation, self._rows.unit, self.best.best.validation_deviation)


def penalties(rows: RowSets, settings: SearchSettings, among_folds: bool = False) -> list[float]:
    """The ridge penalties to try; where folds choose among them, whatever the number of rows."""
    if settings.output != "full":
        return [0.0]
    if settings.shrinkage != "auto":
        return [float(settings.shrinkage)]
    if (rows.validation is None and not rows.folds) or (rows.train.total > _PLENTY * rows.unit and not among_folds):
        return [(_LITTLE if settings.ensemble == 1 else _LITTLE_OF_MANY) * rows.unit]
    whole = rows.train.loss.curvature * rows.train.total
    return [max(share * whole, _LITTLE * rows.unit) for share in _SHARES]


def _finder(rows: RowSets, settings: SearchSettings, wanted: Constraints) -> Lasso | Search:
    most = min(settings.max_features, rows.train.n_columns)
    if settings.direction == "search":
        return Search(rows, most, settings.digits, settings.simplicity, wanted)
    return (Lasso if settings.direction == "lasso" else Debiased)(rows.train, most, settings.digits)


def _fitter(settings: SearchSettings, penalty: float, wanted: Constraints) -> OutputFitter:
    if settings.output != "full":
        return Stagewise(settings.learning_rate, wanted)
    return Signed(penalty, wanted) if wanted.signed else Full(penalty)


# -- Small layers that are nearly the best of their size: growth goes back down and up again, several times.

# Layers wider than this are grown once, and from here on.
MOST_SWEPT = 20
# The sweeps go so much higher than the widest layer that is wanted.
_BEYOND = 3
# Of the time there is left, what they may take.
_SHARE_OF_TIME = 0.6
# "auto": so many sweeps, divided by the size; one where layers grow on.
_SWEPT_SIZES = 60


@dataclass(frozen=True)
class Planned:
    """A rule that sweeps found: its direction, where to cut it, and the contrast of outputs it was found by."""

    projection: Projection
    window: tuple[float, float]
    contrast: tuple[int, ...]

    @classmethod
    def of(cls, cut: Cut, output: Output) -> Planned:
        """Cut between the same rows: a window between them holds no other cut of theirs."""
        middle = cut.rule.threshold / 2
        return cls(cut.rule.projection, (cut.lower / 2 + middle, cut.upper / 2 + middle), output.contrast)


@dataclass(frozen=True)
class SweepPlan:
    """The rules of a layer at every size, and whether somebody interrupted the search for them."""

    layers: tuple[tuple[Planned, ...], ...]
    interrupted: bool


def how_many(sweeps: int | str, max_terms: int) -> int:
    if not isinstance(sweeps, str):
        return sweeps
    return 1 if max_terms > MOST_SWEPT else max(1, _SWEPT_SIZES // max_terms)


def highest(max_terms: int) -> int:
    """The size that sweeps turn back at."""
    return min(max_terms, MOST_SWEPT) + _BEYOND


class _Shrinkable(LayerGrowth):
    """Growth that can take rules out again."""

    fitter: Full

    def _take_out(self, slot: int) -> None:
        """Take the rule out of a slot; the last one takes its place."""
        last = self.state.n_rules - 1
        self.state = self.fitter.removed(self.rows.train, self.state, slot)
        otherwise = last in self._otherwise and slot < last
        for slots in (self._otherwise, self._to_put):
            slots.difference_update((slot, last))
            slots.update((slot,) if otherwise else ())
        self._short_rules[slot] = self._short_rules[last]
        self._short_rules.pop()
        for rows in self.rows.followers:
            if slot < last:
                rows.move(last, slot)
        if slot < last:
            self.finder.learn(slot, self.state.rules[slot].projection)
        self._follow(None)


class Sweeper(_Shrinkable):
    """Growth up and down a sample of the rows, which remembers the best layer of every size."""

    def __init__(self, *parts: Any) -> None:
        self._planned_rules: dict[Oblique, Planned] = {}
        super().__init__(*parts)
        self._best: dict[int, State] = {0: self.state}

    def plan(self, sweeps: int) -> SweepPlan:
        """Grow, then go down and up again so many times; the rules of the best layer of every size. The first sweep
        passes every size, the others the upper half, where there is most to find."""
        try:
            self._up()
            for number in range(sweeps):
                self._down(self.settings.max_terms // 2 if number else 2)
                self._up()
        except KeyboardInterrupt:
            self.monitor.stopped = "interrupted"
        best = [self._best[n_rules] for n_rules in range(len(self._best))]
        layers = tuple(tuple(self._planned_rules[rule] for rule in state.rules) for state in best)
        return SweepPlan(layers, self.monitor.stopped == "interrupted")

    def _up(self) -> None:
        while self.state.n_rules < self.settings.max_terms and not self.monitor.out_of_time():
            if not self._add():
                return
            self._replace()
            self._compare()

    def _down(self, low: int) -> None:
        while self.state.n_rules > max(low, 2) and not self.monitor.out_of_time():
            # Of a random half of the rules the one that costs least: always the same one would lead back up.
            costs, some = self.fitter.costs(self.state), self.rng.permutation(self.state.n_rules)
            some = some[: (self.state.n_rules + 1) // 2]
            self._take_out(int(some[np.argmin(costs[some])]))
            self._replace()
            self._compare()

    def _compare(self) -> None:
        """Go on from the best layer of this size, be it this one or an earlier one."""
        best = self._best.get(self.state.n_rules)
        if best is None or self.fitter.objective(self.state) < self.fitter.objective(best):
            self._best[self.state.n_rules] = self.state
        else:
            self._return_to(best)

    def _return_to(self, state: State) -> None:
        for slot, (now, then) in enumerate(zip(self.state.rules, state.rules, strict=True)):
            if now is not then:
                self.rows.train.put(slot, then)
                for rows in self.rows.followers:
                    rows.put(slot, then)
                self.finder.learn(slot, then.projection)
        self.state = state
        self._short_rules = [*state.rules]
        self.rows.train.settle(state.output)
        self._follow(None)

    def _shorten(self, slot: int, cut: Cut | int, output: Output) -> None:
        if not isinstance(cut, int):
            self._planned_rules[cut.rule] = Planned.of(cut, output)
        super()._shorten(slot, cut, output)

    def _note(self, slot: int, kind: str) -> None:
        known = self._train_loss(), math.nan, math.nan, self.monitor.seconds
        self.monitor.tell(Record(self.layer, self.state.n_rules, kind, slot, *known))

    def _keep(self) -> None:
        """Plans need no snapshots."""


class PlannedGrowth(_Shrinkable):
    """Growth that takes the rules of every size from a plan, and goes on by itself where that ends."""

    def __init__(self, layers: tuple[tuple[Planned, ...], ...], *parts: Any) -> None:
        self._plan = layers
        self._planned: list[Planned] = []  # for every slot
        self._silent = False
        super().__init__(*parts)

    def _add(self) -> bool:
        """Bring the layer to what is planned for the next size; what all rows refuse is made up for as ever."""
        n_rules = self.state.n_rules + 1
        if n_rules >= len(self._plan):
            return super()._add()
        missing = Counter(self._plan[n_rules])
        for slot in reversed(range(n_rules - 1)):
            if missing[self._planned[slot]] > 0:
                missing[self._planned[slot]] -= 1
            else:
                self._take_out(slot)
        for planned in missing.elements():
            self._silent = self.state.n_rules + 1 < n_rules
            if not self._ask(planned) and not super()._add():
                return False
            self._planned.append(planned)
        return True

    def _replace(self) -> None:
        if self.state.n_rules >= len(self._plan):
            super()._replace()

    def _ask(self, planned: Planned) -> bool:
        """Add a planned rule, cut exactly."""
        output = self.state.output
        output = output.seen(planned.contrast) if planned.contrast else output
        (cut,) = self.rows.train.cuts([CutRequest(output, planned.projection, planned.window)])
        return cut is not None and self._accept(self.state.n_rules, cut, "addition", output)

    def _take_out(self, slot: int) -> None:
        super()._take_out(slot)
        self._planned[slot] = self._planned[-1]
        self._planned.pop()

    def _note(self, slot: int, kind: str) -> None:
        if not self._silent:
            super()._note(slot, kind)


def watch_for(monitor: Monitor) -> Monitor:
    """Watches sweeps: they may take a share of the time that is left, and are shown, but are not told to callbacks."""
    limit = None
    if monitor.max_seconds is not None:
        spent = monitor.seconds
        limit = spent + _SHARE_OF_TIME * (monitor.max_seconds - spent)
    return Monitor(limit, (), monitor.on_record, monitor.started)


# -- Growth on very many rows: a draft of them finds the rules, all of them say how much each answer counts.

# Where the loss of all rows is so many times as large beside the draft's as at first, that fits too well to tell more.
_ABOUT = 1.25


class Draft(LayerGrowth):
    """Growth on a part of the rows, of which nothing is kept but the layer."""

    def advance(self) -> bool:
        """Add a rule or a linear term, and try to replace others; False where nothing is gained."""
        if not self._add():
            return False
        self._replace()
        return True

    @property
    def rules(self) -> tuple[Oblique, ...]:
        """What the layer asks, in short numbers where these are wanted."""
        return tuple(self._short_rules)

    @property
    def loss(self) -> float:
        return self._train_loss()

    def _note(self, slot: int, kind: str) -> None:
        """All rows tell of what they take over."""

    def _keep(self) -> None:
        """Nobody chooses among drafts."""


class PlannedDraft(Draft, PlannedGrowth):
    """A draft that takes the rules of its first sizes from a plan."""


class DraftedGrowth(LayerGrowth):
    """Growth that takes over what a draft finds, size by size, and goes on by itself where that does not help."""

    fitter: Full

    def __init__(self, draft: Draft, *parts: Any) -> None:
        self._draft: Draft | None = draft
        super().__init__(*parts)
        self._loss_ratio = max(self._train_loss() / draft.loss, 1.0) if draft.loss > 0.0 else math.inf

    def _add(self) -> bool:
        if self._draft is not None:
            # A draft tells what is left to explain while its loss beside that of all rows is about what it was.
            tells = self._train_loss() <= _ABOUT * self._loss_ratio * self._draft.loss
            if tells and self._draft.advance() and self._take_over(self._draft):
                return True
            self._go_on()
        return super()._add()

    def _replace(self) -> None:
        if self._draft is None:
            super()._replace()

    def _take_over(self, draft: Draft) -> bool:
        """Ask what the draft asks, or at least its last rule beside one's own; False, and nothing has changed,
        where neither lowers the loss of all rows."""
        known, linear = self.state.rules, self._linear_of(draft.state.linear)
        if linear is None:
            return False
        alone = (*known, *draft.rules[len(known) :])
        for rules, start in ((draft.rules, _start(draft.state.output, linear)), (alone, None)):
            state = self.fitter.take_over(self.rows.train, self.state, rules, linear, start)
            if state is not None:
                break
        else:
            return False
        kind, slot = ("linear", len(linear) - 1) if len(rules) == len(known) else ("addition", len(known))
        self.state, self._short_rules = state, [*rules]
        if self.rows.validation is not None:
            for place in changed(known, rules):
                self.rows.validation.put(place, rules[place])
        self._follow(None)
        self._note(slot, kind)
        return True

    def _linear_of(self, drafted: tuple[LinearTerm, ...]) -> tuple[LinearTerm, ...] | None:
        """The lines of a draft as all rows measure them."""
        known = self.state.linear
        terms = [self.rows.train.linear_of(term.column, term.low, term.high) for term in drafted[len(known) :]]
        return None if None in terms else (*known, *(term for term in terms if term is not None))

    def _follow(self, slot: int | None) -> None:
        """Bring the rows that validate up to date; the sample follows the draft while there is one."""
        if self._draft is None:
            super()._follow(slot)
        elif self.rows.validation is not None:
            self._validation_total = self.rows.validation.settle(self.state.output)

    def _go_on(self) -> None:
        """Leave the draft, and search for all rows from here on."""
        self._draft = None
        for slot, rule in enumerate(self.state.rules):
            for rows in self.rows.followers:
                rows.put(slot, rule)
        self._follow(None)
        for slot, rule in enumerate(self.state.rules):
            self.finder.learn(slot, rule.projection)


def _start(drafted: Output, linear: tuple[LinearTerm, ...]) -> Floats:
    """The outputs of a draft as all rows measure its lines: the base, the weights, the linear coefficients."""
    linear_coef = drafted.linear_coef.astype(np.float64)
    for k, (theirs, ours) in enumerate(zip(drafted.linear, linear, strict=True)):
        linear_coef[k] *= theirs.per_unit / ours.per_unit
    base = np.asarray(drafted.base, np.float64)[None]
    return np.concatenate([base, drafted.weights.astype(np.float64), linear_coef])
