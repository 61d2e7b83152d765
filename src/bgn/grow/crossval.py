"""Choosing by cross-validation, where rows are too few to set some apart: then all of them learn.

Each competing setting grows a layer on all rows but one fold, once per fold, and is judged on that fold at every width.
The rule: the ridge penalty with the least mean loss at its best width; with it questions about single columns if these
do better; and linear terms among the questions if that does better still. Linear terms alone are preferred unless the
others do better by more than the noise of their loss. On tables of many values penalties are tried from the least on,
while the last does best. For classes, where rows are not too few, scores are stretched as
the folds tell. Neurons are not replaced meanwhile, which would take ten times as long. The layer is then grown on all
rows, and every width of it carries the loss that cross-validation found for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bgn.engines.memory import ThreadPool
from bgn.grow.history import Snapshot
from bgn.grow.layer import LayerPath, Monitor
from bgn.grow.out_of_fold import FoldScores, out_of_fold, stretches
from bgn.grow.roles import Roles
from bgn.grow.tries import (
    CLEARLY,
    ENOUGH,
    LEAD_AMONG_FOLDS,
    GrowthSettings,
    grow_once,
    lines_alone,
    noise_of,
    penalties,
)  # fmt: skip

# Of the time there is, what choosing may take.
_SHARE_OF_TIME = 0.6
# From so many rows on, folds tell how far scores are to be stretched.
_TELLING = 2000
# Differences of losses count from so many of their standard errors on.
_SURE = 2.0


@dataclass(frozen=True)
class _CrossValidated:
    """A setting and its mean loss, with the deviation of the rows' losses, at every width; the folds' own losses."""

    settings: GrowthSettings
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
        """The folds' losses at the best width."""
        return self.folds[self.losses.index(min(self.losses))]

    def noise(self, rows: Roles) -> float:
        """The standard error of the least loss."""
        return noise_of(rows.train, rows.unit, min(self.losses)[1])

    def apart(self, other: _CrossValidated) -> float:
        """The standard error of the difference of two, as the folds tell it."""
        apart = np.array(self.at_best) - np.array(other.at_best)
        return float(apart.std(ddof=1)) / math.sqrt(len(apart)) if len(apart) > 1 else 0.0


def cross_validated(rows: Roles, settings: GrowthSettings, seed: int, monitor: Monitor) -> tuple[LayerPath, float]:
    """Grow one layer with the settings, and to the widths, that its folds choose; also the ridge penalty."""
    competing = len(penalties(rows, settings, True))
    short = replace(settings, digits=None)
    plain = replace(short, max_linear=0)
    enough = 0 if rows.wide else competing if rows.train.loss.quadratic else ENOUGH
    best = _climbed(rows, plain, enough, seed, monitor)
    if settings.max_features > 1 and not monitor.out_of_time():
        best = min(best, _judge(rows, replace(plain, max_features=1), best.penalty, seed, monitor), key=_least)
    if settings.most_linear and not monitor.out_of_time():
        best = _with_lines(rows, short, best, seed, monitor)
    penalty = penalties(rows, settings, True)[best.penalty]
    return _grown_on_all(rows, settings, best, penalty, seed, monitor), penalty


def _grown_on_all(
    rows: Roles, settings: GrowthSettings, best: _CrossValidated, penalty: float, seed: int, monitor: Monitor
) -> LayerPath:
    """The layer that all rows grow as the folds have chosen, with what these say of it."""
    scores = [*map(FoldScores.of, rows.folds, best.paths)]
    stretch = [1.0] * len(best.losses)
    enough = not rows.train.loss.quadratic and rows.train.total >= _TELLING * rows.unit
    if enough and settings.output == "full":
        stretch = stretches(scores, len(best.losses))
    width = max(1, min(settings.max_width, len(best.losses) - 1))
    final = replace(best.settings, digits=settings.digits, max_width=width, stretch=tuple(stretch))
    if settings.sweeps == "auto":  # what fits few rows better predicts others worse
        final = replace(final, sweeps=0)
    path = grow_once(rows, final, penalty, settings.max_replacements, seed, monitor, 0)
    known = tuple(record for record in path.records if record.width < len(best.losses))
    stopped = best.stopped if path.stopped == "max_width" else path.stopped
    told = tuple(map(_told, path.path, best.losses))
    said = out_of_fold(scores, stretch, settings.bounds)
    return replace(path, path=told, records=known, stopped=stopped, out_of_fold=said)


def _with_lines(
    rows: Roles, settings: GrowthSettings, best: _CrossValidated, seed: int, monitor: Monitor
) -> _CrossValidated:
    """The better of questions alone, as judged, and of linear terms among them; or linear terms alone."""
    among = replace(settings, max_features=best.settings.max_features, lead=LEAD_AMONG_FOLDS)
    # Many steps along a line are to be shrunk; the line that takes their place is not.
    joined = min((_judge(rows, among, place, seed, monitor) for place in sorted({0, best.penalty})), key=_least)
    if joined.least < best.least - CLEARLY * best.noise(rows):
        best = joined
    enough = 0 if rows.wide else len(penalties(rows, settings, True))
    alone = _climbed(rows, lines_alone(settings), enough, seed, monitor)
    noise = max(best.noise(rows), _SURE * best.apart(alone))
    return alone if alone.least <= best.least + noise else best


def _climbed(rows: Roles, settings: GrowthSettings, enough: int, seed: int, monitor: Monitor) -> _CrossValidated:
    """The best of the penalties that compete: `enough` beyond the least, and larger ones while the last is the best."""
    judged = list[_CrossValidated]()
    for place in range(len(penalties(rows, settings, True))):
        if place > enough and min(judged, key=_least) is not judged[-1]:
            break  # a larger penalty would do worse still
        judged.append(_judge(rows, settings, place, seed, monitor))
    return min(judged, key=_least)


def _least(judged: _CrossValidated) -> float:
    return judged.least


def _told(snapshot: Snapshot, found: tuple[float, float]) -> Snapshot:
    """A layer at one width with what cross-validation found for it."""
    return replace(snapshot, validation_loss=found[0], validation_deviation=found[1])


def _judge(rows: Roles, settings: GrowthSettings, penalty: int, seed: int, monitor: Monitor) -> _CrossValidated:
    """Grow without each fold in turn, side by side, and put together what the folds say."""
    limit = None if monitor.max_seconds is None else _SHARE_OF_TIME * monitor.max_seconds
    watches = [Monitor(limit, started=monitor.started) for _ in rows.folds]

    def grown(fold: int) -> LayerPath:
        some = rows.folds[fold]
        own = penalties(some, settings, True)[penalty]
        return grow_once(some, settings, own, 0, seed, watches[fold], 0)

    threads = rows.threads
    numbers = range(len(rows.folds))
    layers = ThreadPool(threads).each(grown, list(numbers)) if threads > 1 else [*map(grown, numbers)]
    if any(each.stopped == "interrupted" for each in watches):
        raise KeyboardInterrupt
    weight = np.array([some.validation.total for some in rows.folds if some.validation is not None], np.float64)
    paths, losses, folds = [layer.path for layer in layers], [], []
    longest = max(layers, key=lambda layer: len(layer.path))
    for width in range(len(longest.path)):
        each = [path[min(width, len(path) - 1)] for path in paths]
        mean = math.fsum(w * one.validation_loss for w, one in zip(weight.tolist(), each, strict=True)) / weight.sum()
        squares = [w * one.validation_deviation**2 for w, one in zip(weight.tolist(), each, strict=True)]
        losses.append((float(mean), math.sqrt(math.fsum(squares) / weight.sum())))
        folds.append(tuple(one.validation_loss for one in each))
    return _CrossValidated(settings, penalty, tuple(losses), tuple(folds), longest.stopped, tuple(paths))
