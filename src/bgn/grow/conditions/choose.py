"""One way to choose: every setting that competes is tried where rows were left out, and the best one grows the model.

Search rows are all rows that learn, or a sample of them by hash, in memory and in the order of their hashes, wherever
the table lives: every engine searches on the same numbers. Where there are more rows, all of them refit the weights.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from bgn.engines.coding import Coding, coding_of, rare_categories
from bgn.engines.kernels.scores import LOGISTIC, SOFTMAX, SQUARED
from bgn.engines.memory import ThreadPool
from bgn.engines.protocol import Grid, RawBlock
from bgn.engines.raw_rows import Moments, Plan, Reach, Sample, Scored, target_lines
from bgn.grow.conditions.bins import Bins
from bgn.grow.conditions.climb import ConditionSearch, Model, losses_of, scores, total_of
from bgn.grow.conditions.moves import LINEAR_RIDGE, Budget, Rows, factor, follows_signs, solve
from bgn.grow.history import History, Monitor, OutOfFold, Record, Stage, choose_size
from bgn.grow.losses import loss_of
from bgn.grow.rows import SAMPLE_ROWS, _dealt, _plan, _some_of, _together
from bgn.model.link import LINKS, bounded
from bgn.model.network import Network
from bgn.model.numbers import rounded, written
from bgn.model.schema import Schema
from bgn.model.step import Floats
from bgn.model.term import Linear, Term

PRICE = 1.5
"""What the gain of a rule with "and" is divided by, where such rules compete with none."""
RIDGES = (1.0, 10.0, 60.0)
"""Penalties on the weights that compete, in rows. Of 57 datasets each is the best of some."""
SWAPS = 1
"""Terms tried in another form after each addition. Four did not lower the error on 66 datasets."""
SHARE_OF_TIME = 0.6
"""Of the time there is, what choosing may take."""
NEWTON = 4
"""Steps of a refit on all rows, where the loss is not squared."""


@dataclass(frozen=True, eq=False)
class SearchTarget:
    """Targets as the search has them: one line per output, numbers held between -1 and 1."""

    kind: int
    outputs: int
    center: float
    scale: float  # of one unit of a score, for people

    @classmethod
    def of(cls, schema: Schema, grid: Grid) -> SearchTarget:
        if schema.classes is None:
            return cls(SQUARED, 1, grid.center, 2.0 ** (grid.bits - grid.exponent))
        several = len(schema.classes) > 2
        return cls(SOFTMAX if several else LOGISTIC, len(schema.classes) if several else 1, 0.0, 1.0)

    @property
    def link(self) -> str:
        return ("identity", "logistic", "softmax")[self.kind]

    def lines(self, steps: Any, grid: Grid) -> Floats:
        """Return targets, one line per output."""
        return target_lines(self.kind, self.outputs, steps, grid)

    def bounds(self, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
        """Return bounds of predictions as the search has scores."""
        if bounds is None:
            return None
        low, high = ((end - self.center) / self.scale for end in bounds)
        return low, high

    def in_units(self, loss: float) -> float:
        """Return a mean loss as people see it: a squared error, or a log loss."""
        return 2.0 * loss * self.scale * self.scale if self.kind == SQUARED else loss


@dataclass(frozen=True, eq=False)
class Drawn:
    """The rows of a fit: a sample that learns, one that validates if any, and what is known of all."""

    plan: Plan
    unit: float  # the weight of one row
    learning: Sample
    validating: Sample | None
    coding: Coding
    schema: Schema
    folds: Any
    all_learn: bool  # whether the sample has all rows that learn


def draw(raw: Any, seed: int) -> Drawn:
    """Give every row its role, and fetch those to search on from wherever they live."""
    settings, schema, source = raw.settings, raw.schema, raw.source
    plan, exponent, has_missing, folds = _plan(
        source, raw.evaluation, settings.ensemble > 1 or raw.evaluation is None, raw.validation_fraction, seed,
        loss_of(schema.classes), raw.folds, 0,
    )  # fmt: skip
    learning = _together(source.ask(RawBlock.sample, plan))
    reach = reduce(Reach.merged, source.ask(RawBlock.reach))
    validating = None
    if raw.evaluation is not None:
        own = Plan(seed, None, plan.loss)
        smallest = np.unique(np.concatenate(raw.evaluation.ask(RawBlock.smallest, seed, None, None, SAMPLE_ROWS + 1)))
        own = replace(own, limit=int(smallest[SAMPLE_ROWS])) if len(smallest) > SAMPLE_ROWS else own
        validating = _together(raw.evaluation.ask(RawBlock.sample, own))
        reach = reduce(Reach.merged, raw.evaluation.ask(RawBlock.reach), reach)
        if not raw.evaluation.kept:
            raw.evaluation.close()
    elif plan.edge is not None:  # rows that validate have the smallest hashes
        most = source.ask(RawBlock.smallest, seed, plan.exponent, None, SAMPLE_ROWS + 1)
        smallest = np.unique(np.concatenate(most))
        limit = int(smallest[SAMPLE_ROWS]) if len(smallest) > SAMPLE_ROWS else None
        held = replace(plan, edge=None, limit=plan.edge + 1 if limit is None else min(limit, plan.edge + 1))
        validating = _together(source.ask(RawBlock.sample, held))
    coding = coding_of(schema.columns, has_missing, learning.columns, learning.weight)
    unit = 2.0**exponent
    rare = rare_categories(schema.columns, learning.columns, learning.weight, unit)
    columns = [
        replace(
            column, typical=coding.typical[j], rare=rare[j],
            **({} if column.categories is not None else {
                "seen": (float(reach.low[j]), float(reach.high[j])) if reach.low[j] <= reach.high[j] else (0.0, 0.0),
                "whole": bool(reach.whole[j]), "missing": j in coding.marked,
            }),
        )
        for j, column in enumerate(schema.columns)
    ]  # fmt: skip
    return Drawn(
        plan, unit, learning, validating, coding, replace(schema, columns=tuple(columns)), folds, plan.limit is None
    )


@dataclass(frozen=True)
class Setting:
    """What competes: the price of "and", the ridge, and whether linear terms are among the candidates."""

    price: float
    ridge: float
    linear: bool


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Mean loss and deviation of the rows' losses at every size, and per split the scores of its rows, size by size."""

    setting: Setting
    means: Floats
    deviations: Floats
    scores: list[list[Floats]]

    @property
    def least(self) -> float:
        return float(self.means.min())


class Growth:
    """One fit within a budget of conditions."""

    def __init__(self, raw: Any, seed: int, threads: int, monitor: Monitor) -> None:
        self.settings, self.monitor, self.threads, self.source = raw.settings, monitor, threads, raw.source
        self.drawn = draw(raw, seed)
        drawn = self.drawn
        self.target = SearchTarget.of(drawn.schema, drawn.plan.loss.targets)
        self.bins = Bins.of(drawn.learning, drawn.coding, self.settings.cuts or {})
        self.rows = self.to_rows(drawn.learning, drawn.unit)
        self.validating = None if drawn.validating is None else self.to_rows(
            drawn.validating, drawn.unit if raw.evaluation is None else 1.0
        )  # fmt: skip
        self.most = int(self.settings.max_conditions)

    def to_rows(self, sample: Sample, unit: float) -> Rows:
        return self.bins.rows(sample, self.target.lines(sample.target, self.drawn.plan.loss.targets), unit)

    def budget(self, setting: Setting) -> Budget:
        """Return what a search may do with a setting."""
        d, wanted = len(self.rows.codes), self.settings.constraints
        signs = np.array([wanted.of(j) for j in range(d)], np.int64)
        together = np.ones((d, d), bool)
        if wanted.groups is not None:
            for i, j in itertools.combinations(range(d), 2):
                together[i, j] = together[j, i] = wanted.together((i, j))
        most = self.settings.max_linear
        linear = 0 if not setting.linear else self.most if isinstance(most, str) else int(most)
        least = float(self.settings.min_rows)
        return Budget(self.target.kind, self.most, setting.ridge, setting.price, linear, least, 16, signs, together)

    # -- choosing ------------------------------------------------------------------------------------------------

    def splits(self) -> list[tuple[Rows, Rows, Any]]:
        """Return rows to learn from and rows to judge by, split by split, and where the latter stand."""
        folds, learning = self.drawn.folds, self.drawn.learning
        if folds is None:
            return [] if self.validating is None else [(self.rows, self.validating, None)]
        if isinstance(folds, int):
            dealt = _dealt(learning, folds)
            shares = [(dealt != fold, dealt == fold) for fold in range(folds)]
        else:
            shares = [(np.isin(learning.hashes, a), np.isin(learning.hashes, b)) for a, b in folds]
        unit, result = self.drawn.unit, []
        for some, others in shares:
            if some.any() and others.any():
                few = [np.flatnonzero(marks) for marks in (some, others)]
                pair = [self.to_rows(_some_of(learning, where), unit) for where in few]
                result.append((pair[0], pair[1], few[1]))
        return result

    def losses(self, models: list[Model], rows: Rows) -> tuple[Floats, Floats, list[Floats]]:
        """Return mean loss and deviation of rows at every size, and the scores."""
        bounds, weight = self.target.bounds(self.settings.bounds), total_of(rows.w)
        known: dict[int, tuple[float, float, Floats]] = {}
        for model in models:
            if id(model) not in known:
                f = bounded(scores(model, rows), bounds)
                losses = losses_of(self.target.kind, f, rows.y, rows.w)
                mean = total_of(losses) / weight
                squares = total_of(losses * losses / rows.w) / weight
                known[id(model)] = mean, math.sqrt(max(squares - mean * mean, 0.0)), f
        means, deviations, all_scores = zip(*(known[id(model)] for model in models), strict=True)
        return np.array(means), np.array(deviations), list(all_scores)

    def evaluate(self, settings: list[Setting], splits: list[Any], watch: Monitor) -> list[Evaluated]:
        """Grow with every setting on every split, side by side."""
        tasks = [(setting, split) for setting in settings for split in splits]

        def grown(task: tuple[Setting, Any]) -> list[Model]:
            setting, (rows, _, _) = task
            return ConditionSearch(rows, self.budget(setting)).climb(SWAPS, stop=watch.out_of_time)

        models = ThreadPool(self.threads).map(grown, tasks)
        weights = np.array([total_of(split[1].w) for split in splits])
        result = []
        for place, setting in enumerate(settings):
            own = models[place * len(splits) : (place + 1) * len(splits)]
            sizes = min(map(len, own))
            parts = [self.losses(some[:sizes], split[1]) for some, split in zip(own, splits, strict=True)]
            share = (weights / weights.sum())[:, None]
            means = (share * np.array([part[0] for part in parts])).sum(axis=0)
            deviations = np.sqrt((share * np.array([part[1] for part in parts]) ** 2).sum(axis=0))
            result.append(Evaluated(setting, means, deviations, [part[2] for part in parts]))
        return result

    def choose(self, splits: list[Any]) -> tuple[Setting, Evaluated | None]:
        """Return the setting that predicts rows left out best: first the ridge, then the kinds of terms."""
        settings, monitor = self.settings, self.monitor
        ridges = RIDGES if isinstance(settings.shrinkage, str) else (float(settings.shrinkage),)
        prices = (math.inf,) if settings.pairs is None else (PRICE, math.inf)
        kinds = (False,) if settings.max_linear == 0 else (True, False)
        first = [Setting(prices[0], ridge, kinds[0]) for ridge in ridges]
        if not splits:
            return first[0], None
        limit = None if monitor.max_seconds is None else SHARE_OF_TIME * monitor.max_seconds
        watch = Monitor(limit, started=monitor.started)
        best = min(self.evaluate(first, splits, watch), key=lambda one: one.least)
        others = [Setting(price, best.setting.ridge, linear) for price in prices for linear in kinds][1:]
        if others and not watch.out_of_time():
            tried = [best, *self.evaluate(others, splits, watch)]
            among, alone = ([one for one in tried if one.setting.linear is linear] for linear in (True, False))
            best = min(among or alone, key=lambda one: one.least)
            if among and alone:
                rules = min(alone, key=lambda one: one.least)
                best = rules if self.clearly_better(rules, best, splits) else best
        return best.setting, best

    def clearly_better(self, one: Evaluated, other: Evaluated, splits: list[Any]) -> bool:
        """Return whether one lowers the loss by more than the standard error of the difference, row by row."""

        def losses(evaluated: Evaluated) -> Floats:
            size = int(evaluated.means.argmin())
            pairs = zip(evaluated.scores, splits, strict=True)
            return np.concatenate([losses_of(self.target.kind, f[size], rows.y, rows.w) for f, (_, rows, _) in pairs])

        saved = losses(other) - losses(one)
        mean = total_of(saved) / len(saved)
        return mean > math.sqrt(total_of((saved - mean) ** 2)) / len(saved)

    def grow(self) -> History:
        """Choose a setting, grow with it, and refit on all rows."""
        splits, drawn = self.splits(), self.drawn
        setting, evaluated = self.choose(splits)
        path, records = self.path(setting, evaluated)
        n_validation, out = 0, None
        if evaluated is not None:
            n_validation = int((drawn.learning if drawn.validating is None else drawn.validating).weight.sum())
            out = None if drawn.folds is None else self.out_of_fold(evaluated.scores, splits)
        size = choose_size(path, self.settings.select, n_validation)
        why = "max_conditions" if size == len(path) - 1 else "validation"
        return History(
            tuple(records), (tuple(path),), (), len(drawn.schema), 0, size, self.monitor.stopped or why, setting.ridge,
            n_validation, drawn.schema, self.target.link, out, self.settings.bounds,
        )  # fmt: skip

    def out_of_fold(self, fold_scores: list[list[Floats]], splits: list[Any]) -> OutOfFold:
        """Return what folds predicted of the rows they were grown without, at every size."""
        n = len(self.drawn.learning.weight)
        several = self.target.kind == SOFTMAX
        sizes = len(fold_scores[0])
        predicted = np.zeros((n, sizes, self.target.outputs))
        there = np.zeros(n, bool)
        link = LINKS[self.target.link]
        for all_scores, (_, _, where) in zip(fold_scores, splits, strict=True):
            there[where] = True
            for size, f in enumerate(all_scores):
                values = self.target.center + self.target.scale * f.T
                predicted[where, size] = link(values if several else values[:, 0]).reshape(len(where), -1)
        targets = self.drawn.plan.loss.targets
        steps = self.drawn.learning.target
        numbers = targets.center + targets.value(steps) if self.target.kind == SQUARED else steps.astype(np.float64)
        return OutOfFold(predicted[there] if several else predicted[there][:, :, 0], numbers[there])

    # -- the model -----------------------------------------------------------------------------------------------

    def path(self, setting: Setting, evaluated: Evaluated | None) -> tuple[list[Stage], list[Record]]:
        """Grow models of all sizes on all rows, and return them with what became of each."""
        stages: list[Stage] = []
        records: list[Record] = []
        known: dict[int, Stage] = {}

        def stage(model: Model, size: int) -> Stage:
            if id(model) not in known:
                known[id(model)] = Stage(self.network(model, setting), math.nan, math.nan)
                loss = self.losses([model], self.rows)[0][0]
                known[id(model)] = replace(known[id(model)], train_loss=self.target.in_units(float(loss)))
            one = known[id(model)]
            if evaluated is None:
                return one
            at = min(size, len(evaluated.means) - 1)
            return replace(
                one, validation_loss=self.target.in_units(float(evaluated.means[at])),
                validation_deviation=self.target.in_units(float(evaluated.deviations[at])),
            )  # fmt: skip

        def tell(search: ConditionSearch, size: int) -> bool:
            model = search.models[size]
            assert model is not None
            loss = self.target.in_units(float(self.losses([model], self.rows)[0][0]))
            validation = math.nan
            if evaluated is not None and self.drawn.folds is None:
                validation = self.target.in_units(float(evaluated.means[min(size, len(evaluated.means) - 1)]))
            records.append(Record(
                0, len(model.linear) - 1, "addition", max(len(model.linear) - 2, 0), loss, validation, math.nan,
                self.monitor.seconds, self.monitor.member,
            ))  # fmt: skip
            self.monitor.tell(records[-1])
            return self.monitor.out_of_time()

        search = ConditionSearch(self.rows, self.budget(setting))
        try:
            models = search.climb(SWAPS, True, self.monitor.out_of_time, tell)
        except KeyboardInterrupt:
            if search.models[1] is None:
                raise
            self.monitor.stopped = "interrupted"
            models = search.up_to_now()
        for size, model in enumerate(models):
            stages.append(stage(model, size))
        return stages, records

    def network(self, model: Model, setting: Setting) -> Network:
        """Return a model as people read it: its terms, refitted on all rows, its weights in short decimals."""
        terms, intercept, coef = self.bins.terms(model)
        places = np.arange(1, len(terms) + 1)
        while not self.drawn.all_learn:
            intercept, coef = self.refitted(terms, intercept, coef, setting.ridge)
            budget = self.budget(setting)
            kept = [
                k for k, t in enumerate(places)
                if follows_signs(budget, self.rows.bins, model.linear[t], model.columns[t], model.tables[t], coef[k, 0])
            ]  # fmt: skip
            if len(kept) == len(terms):
                break
            terms, coef, places = [terms[k] for k in kept], coef[kept], places[kept]
        intercept = self.target.center + self.target.scale * intercept
        coef = self.target.scale * coef
        if self.settings.digits is not None:
            intercept, coef = self.short(terms, intercept, coef)
        kept = np.flatnonzero(coef.any(axis=1)).tolist()
        return Network(
            intercept, [terms[k] for k in kept], coef[kept], schema=self.drawn.schema, link=self.target.link,
            bounds=self.settings.bounds,
        )  # fmt: skip

    def short(self, terms: list[Term], intercept: Floats, coef: Floats) -> tuple[Floats, Floats]:
        """Round weights so far that people can say them: to digits of the target's deviation."""
        deviation = 1.0
        if self.target.kind == SQUARED:
            y, w = self.rows.y[0], self.rows.w
            mean = total_of(w * y) / total_of(w)
            deviation = math.sqrt(total_of(w * (y - mean) ** 2) / total_of(w)) * self.target.scale
        if not 0 < deviation < math.inf:
            return intercept, coef
        power = written(deviation).adjusted() - self.settings.digits + 1
        short = np.empty_like(coef)
        for t, term in enumerate(terms):
            own, middle = power, 0.0
            if isinstance(term, Linear):
                own -= written(max(term.high / 2 - term.low / 2, 5e-324) * 2).adjusted() + 1
                middle = float(self.bins.middle[term.column])
            for k, weight in enumerate(coef[t].tolist()):
                short[t, k] = rounded(weight, own)
                intercept = intercept.copy()
                intercept[k] += (weight - short[t, k]) * middle
        return np.array([rounded(float(value), power) for value in intercept]), short

    def refitted(self, terms: list[Term], intercept: Floats, coef: Floats, ridge: float) -> tuple[Floats, Floats]:
        """Fit the weights of some terms to all rows that learn, wherever they are."""
        size, outputs = len(terms) + 1, len(intercept)
        linear = [(self.bins.middle[t.column], self.bins.std[t.column]) if isinstance(t, Linear) else None
                  for t in terms]  # fmt: skip
        beta = np.zeros((outputs, size))
        beta[:, 0] = intercept
        for t, place in enumerate(linear):
            middle, std = place or (0.0, 1.0)
            beta[:, t + 1] = coef[t] * std
            beta[:, 0] += coef[t] * middle
        # The same terms weigh as much more as there are more rows.
        penalty = np.array([0.0, *(ridge * (1.0 if place is None else LINEAR_RIDGE) for place in linear)])
        before = math.inf
        L = np.zeros((size, size))
        step = np.zeros((outputs, size))
        for _ in range(2 if self.target.kind == SQUARED else NEWTON + 1):
            scored = Scored(tuple(terms), tuple(linear), beta.copy(), self.target.kind)
            moments = reduce(Moments.merged, self.source.ask(RawBlock.moments, self.drawn.plan, scored))
            loss, pull, gram = moments.values(self.drawn.unit)
            loss += 0.5 * float((penalty * beta * beta).sum())
            if loss > before:
                beta = beta - step
                step *= 0.5
                beta = beta + step
                continue
            before = loss
            for k in range(outputs):
                factor(gram[k], penalty, size, L)
                solve(L, pull[k] - penalty * beta[k], size, step[k])
            beta = beta + step
        coef = np.array([beta[:, t + 1] / (1.0 if place is None else place[1]) for t, place in enumerate(linear)])
        coef = coef.reshape(len(terms), outputs)
        intercept = beta[:, 0].copy()
        for t, place in enumerate(linear):
            if place is not None:
                intercept -= coef[t] * place[0]
        return intercept, coef


def grow_within_budget(raw: Any, seed: int, threads: int, monitor: Monitor) -> History:
    """Grow a network of at most so many conditions, and let go of the rows."""
    try:
        return Growth(raw, seed, threads, monitor).grow()
    finally:
        if not raw.source.kept:
            raw.source.close()
