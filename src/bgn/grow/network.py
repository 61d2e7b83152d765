"""From rows to a network: layers one after the other, the best of them kept (Improvement 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bgn.engines.memory import ThreadPool
from bgn.engines.protocol import RowSource
from bgn.grow.history import History, LinearAlone, Record, Snapshot, choose_size
from bgn.grow.layer import LayerPath, Monitor
from bgn.grow.losses import loss_of
from bgn.grow.out_of_fold import FoldScores, out_of_fold, stretches
from bgn.grow.rows import Folding, RowSets, assign_rows
from bgn.grow.search import (
    CLEARLY,
    ENOUGH,
    FACTOR_AMONG_FOLDS,
    Attempt,
    Attempts,
    SearchSettings,
    grow_once,
    noise_of,
    penalties,
)
from bgn.inputs.frames import check_numeric_only, warn_of_lost_columns
from bgn.model.layer import Layer
from bgn.model.schema import Schema
from bgn.model.term import Oblique


@dataclass(frozen=True)
class GrowthRows:
    """Raw rows to train and, perhaps, to validate on, and all that decides what grows on them."""

    source: RowSource
    evaluation: RowSource | None
    schema: Schema
    settings: SearchSettings
    folds: Folding
    validation_fraction: float
    seeds: Sequence[int]  # one per network
    threads: int


def grow_network(raw: GrowthRows, seed: int, threads: int, monitor: Monitor) -> History:
    """Give every row its role, and grow layer upon layer; each is fixed at its best size and feeds the next."""
    if raw.settings.max_conditions is not None:
        from bgn.grow.conditions.choose import grow_within_budget

        return grow_within_budget(raw, seed, threads, monitor)
    settings, schema, searches = raw.settings, raw.schema, raw.settings.direction == "search"
    rows, exponent = assign_rows(
        raw.source, raw.evaluation, raw.validation_fraction, seed, threads, loss_of(schema.classes), schema.columns,
        raw.folds, always=settings.ensemble > 1, bounds=settings.bounds, drafted=settings.drafted,
    )  # fmt: skip
    if not searches:
        check_numeric_only(settings.direction, schema, () if rows.coding is None else rows.coding.marked)
        rows = replace(rows, sample=None)
    warn_of_lost_columns(rows.train.lost(), schema.names if schema.named else None)
    settings = settings.scaled(exponent)
    if settings.max_linear == "auto" and not rows.train.loss.quadratic and not rows.folds:
        settings = replace(settings, max_linear=0)  # unless requested, for classes only where folds choose
    schema, decode = _with_values_seen(rows, schema, searches), _decoder(rows)
    n_validation = rows.train.total if rows.folds else 0 if rows.validation is None else rows.validation.total
    paths: list[tuple[Snapshot, ...]] = []
    records: list[Record] = []
    inputs: list[Layer] = []
    grown: list[Attempt] = []
    linear_alone = None
    for layer in range(settings.max_layers):
        attempts = Attempts(rows, settings, seed, monitor, layer)
        try:
            if rows.folds:
                attempts.best = cross_validated(rows, settings, seed, monitor)
            else:
                attempts.grow()
        except KeyboardInterrupt:  # what was grown before stays
            if attempts.best is None and not grown:
                raise
            monitor.stopped = "interrupted"
        if attempts.best is None:
            break
        attempt = attempts.best
        if settings.ensemble > 1 and attempts.linear_alone is not None:
            alone = attempts.linear_alone
            linear_alone = LinearAlone(
                alone.path.path, alone.path.records, alone.path.stopped, alone.penalty, alone.loss - attempt.loss,
                attempts.noise,
            )  # fmt: skip
        grown.append(attempt)
        records += attempt.path.records
        paths.append(attempt.path.path)
        best = attempt.path.path[choose_size(attempt.path.path, "best", n_validation)]
        best = best.distinct() if attempt.penalty else best
        if monitor.stopped or not best.rules or layer + 1 == settings.max_layers:
            break
        try:
            deeper = rows.next_layer(best.rules)
        except KeyboardInterrupt:
            monitor.stopped = "interrupted"
            break
        inputs.append(best.layer(rows.train.n_columns) if inputs else decode(best).layer(len(schema)))
        rows = deeper
    paths[0] = tuple(map(decode, paths[0]))
    sizes = [choose_size(path, settings.select, n_validation) for path in paths]
    chosen = min(range(len(paths)), key=lambda k: (paths[k][sizes[k]].criterion, k))
    return History(
        tuple(records), tuple(paths), tuple(inputs[: len(paths) - 1]), len(schema), chosen, sizes[chosen],
        monitor.stopped or grown[-1].path.stopped, grown[chosen].penalty, n_validation,
        schema, rows.train.loss.link, grown[-1].path.out_of_fold, settings.bounds, linear_alone,
    )  # fmt: skip


def _with_values_seen(rows: RowSets, schema: Schema, missing: bool) -> Schema:
    """The columns of the table, with what was seen in them and, if values may be `missing`, what these count as."""
    known = rows.train.seen()
    others = known if rows.validation is None else rows.validation.seen()
    columns = []
    for j, (column, a, b) in enumerate(zip(schema.columns, known, others, strict=False)):
        typical = None if rows.coding is None or not missing else rows.coding.typical[j]
        if column.categories is None:
            lacking = rows.coding is not None and j in rows.coding.marked
            column = replace(column, seen=(min(a[0], b[0]), max(a[1], b[1])), whole=a[2] and b[2], missing=lacking)
        columns.append(replace(column, typical=typical, rare=rows.rare[j] if rows.rare else ()))
    return replace(schema, columns=tuple(columns))


def _decoder(rows: RowSets) -> Callable[[Snapshot], Snapshot]:
    """What turns a layer that asks about an engine's columns into one that asks about the table's."""
    coding, seen = rows.coding, rows.train.seen()
    if coding is None or (coding.plain and not any(coding.ordered)):
        return lambda snapshot: snapshot
    known: dict[Oblique, Oblique] = {}

    def decode(snapshot: Snapshot) -> Snapshot:
        for rule in snapshot.rules:
            if rule not in known:
                known[rule] = coding.rule(rule, seen)
        return replace(snapshot, rules=tuple(known[rule] for rule in snapshot.rules))

    return decode


# -- Choosing by cross-validation, where rows are too few to set some apart: then all of them learn.

# Of the time there is, what choosing may take.
_SHARE_OF_TIME = 0.6
# From so many rows on, folds tell how far scores are to be stretched.
_TELLING = 2000
# Differences of losses count from so many of their standard errors on.
_SURE = 2.0


@dataclass(frozen=True)
class _CrossValidated:
    """A setting and its mean loss, with the deviation of the rows' losses, at every size; the folds' own losses."""

    settings: SearchSettings
    penalty: int  # its place among those that compete
    losses: tuple[tuple[float, float], ...]
    folds: tuple[tuple[float, ...], ...]
    stopped: str  # why the fold that grew the longest went no further
    paths: tuple[tuple[Snapshot, ...], ...]  # of the folds

    @property
    def least(self) -> float:
        return min(loss for loss, _ in self.losses)

    @property
    def at_best(self) -> tuple[float, ...]:
        """The folds' losses at the best size."""
        return self.folds[self.losses.index(min(self.losses))]

    def noise(self, rows: RowSets) -> float:
        return noise_of(rows.train, rows.unit, min(self.losses)[1])

    def difference_error(self, other: _CrossValidated) -> float:
        """The standard error of the difference of two, as the folds tell it."""
        differences = np.array(self.at_best) - np.array(other.at_best)
        return float(differences.std(ddof=1)) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0


def cross_validated(rows: RowSets, settings: SearchSettings, seed: int, monitor: Monitor) -> Attempt:
    """Grow one layer with the settings, the penalty and to the sizes that its folds choose."""
    competing = len(penalties(rows, settings, True))
    short = replace(settings, digits=None)
    plain = replace(short, max_linear=0)
    enough = 0 if rows.wide else competing if rows.train.loss.quadratic else ENOUGH
    best = _climbed(rows, plain, enough, seed, monitor)
    if settings.max_features > 1 and not monitor.out_of_time():
        best = min(best, _cross_validate(rows, replace(plain, max_features=1), best.penalty, seed, monitor), key=_least)
    if settings.most_linear and not monitor.out_of_time():
        best = _with_lines(rows, short, best, seed, monitor)
    penalty = penalties(rows, settings, True)[best.penalty]
    scores = [*map(FoldScores.of, rows.folds, best.paths)]
    stretch = [1.0] * len(best.losses)
    enough = not rows.train.loss.quadratic and rows.train.total >= _TELLING * rows.unit
    if enough and settings.output == "full":
        stretch = stretches(scores, len(best.losses))
    size = max(1, min(settings.max_terms, len(best.losses) - 1))
    final = replace(best.settings, digits=settings.digits, max_terms=size, stretch=tuple(stretch))
    if settings.sweeps == "auto":  # what fits few rows better predicts others worse
        final = replace(final, sweeps=0)
    attempt = grow_once(rows, seed, monitor, 0, final, penalty, settings.max_replacements)
    path = attempt.path
    known = tuple(record for record in path.records if record.n_terms < len(best.losses))
    stopped = best.stopped if path.stopped == "max_terms" else path.stopped
    snapshots = tuple(
        replace(snapshot, validation_loss=mean, validation_deviation=deviation)
        for snapshot, (mean, deviation) in zip(path.path, best.losses, strict=False)
    )
    predicted = out_of_fold(scores, stretch, settings.bounds)
    path = replace(path, path=snapshots, records=known, stopped=stopped, out_of_fold=predicted)
    return replace(attempt, path=path)


def _with_lines(
    rows: RowSets, settings: SearchSettings, best: _CrossValidated, seed: int, monitor: Monitor
) -> _CrossValidated:
    """The better of rules alone, as judged, and of linear terms among them; or linear terms alone."""
    among = replace(settings, max_features=best.settings.max_features, linear_factor=FACTOR_AMONG_FOLDS)
    # Many steps along a line are to be shrunk; the line that takes their place is not.
    joined = min(
        (_cross_validate(rows, among, place, seed, monitor) for place in sorted({0, best.penalty})), key=_least
    )
    if joined.least < best.least - CLEARLY * best.noise(rows):
        best = joined
    enough = 0 if rows.wide else len(penalties(rows, settings, True))
    alone = _climbed(rows, replace(settings, linear_factor=math.inf), enough, seed, monitor)
    noise = max(best.noise(rows), _SURE * best.difference_error(alone))
    return alone if alone.least <= best.least + noise else best


def _climbed(rows: RowSets, settings: SearchSettings, enough: int, seed: int, monitor: Monitor) -> _CrossValidated:
    """The best of the penalties that compete: `enough` beyond the least, and larger ones while the last is the best."""
    candidates = list[_CrossValidated]()
    for place in range(len(penalties(rows, settings, True))):
        if place > enough and min(candidates, key=_least) is not candidates[-1]:
            break  # a larger penalty would do worse still
        candidates.append(_cross_validate(rows, settings, place, seed, monitor))
    return min(candidates, key=_least)


def _least(candidate: _CrossValidated) -> float:
    return candidate.least


def _cross_validate(
    rows: RowSets, settings: SearchSettings, penalty: int, seed: int, monitor: Monitor
) -> _CrossValidated:
    """Grow without each fold in turn, side by side, and put together what the folds say."""
    limit = None if monitor.max_seconds is None else _SHARE_OF_TIME * monitor.max_seconds
    watches = [Monitor(limit, started=monitor.started) for _ in rows.folds]

    def grown(fold: int) -> LayerPath:
        some = rows.folds[fold]
        own = penalties(some, settings, True)[penalty]
        return grow_once(some, seed, watches[fold], 0, settings, own, 0).path

    threads = rows.threads
    numbers = range(len(rows.folds))
    layers = ThreadPool(threads).map(grown, list(numbers)) if threads > 1 else [*map(grown, numbers)]
    if any(watch.stopped == "interrupted" for watch in watches):
        raise KeyboardInterrupt
    weight = np.array([some.validation.total for some in rows.folds if some.validation is not None], np.float64)
    paths, losses, folds = [layer.path for layer in layers], [], []
    longest = max(layers, key=lambda layer: len(layer.path))
    for size in range(len(longest.path)):
        at_size = [path[min(size, len(path) - 1)] for path in paths]
        mean = (
            math.fsum(w * one.validation_loss for w, one in zip(weight.tolist(), at_size, strict=True)) / weight.sum()
        )
        squares = [w * one.validation_deviation**2 for w, one in zip(weight.tolist(), at_size, strict=True)]
        losses.append((float(mean), math.sqrt(math.fsum(squares) / weight.sum())))
        folds.append(tuple(one.validation_loss for one in at_size))
    return _CrossValidated(settings, penalty, tuple(losses), tuple(folds), longest.stopped, tuple(paths))
