"""What layers that were grown without some rows say of them, and how far their scores are to be stretched.

A ridge penalty finds rules well and leaves scores too near to each other. What the folds left out tells by how
much: the stretch that makes the loss on these rows least, size by size, in sixteenths. Losses are compared in whole
numbers, so that they come out the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.engines.memory import MemoryEngine, Part
from bgn.engines.protocol import Loss
from bgn.grow.history import OutOfFold, Snapshot
from bgn.grow.rows import RowSets
from bgn.model.link import LINKS, bounded
from bgn.model.step import Floats
from bgn.model.term import Oblique

# Gains count from so many of their standard errors on.
_CLEAR = 1
# A stretch is a whole number of these parts, between so many of them.
_PARTS, _LEAST, _MOST = 16, 8, 32


def stretched(value: Any, center: Any, stretch: float) -> Any:
    """A score, or a base, so many times as far from a center."""
    return center + stretch * (value - center)


@dataclass(frozen=True, eq=False)
class FoldScores:
    """The scores of a fold's layer at every size, for the rows it was grown without."""

    part: Part
    loss: Loss
    scores: tuple[Floats, ...]
    center: Any  # the score without rules

    @classmethod
    def of(cls, rows: RowSets, path: Sequence[Snapshot]) -> FoldScores:
        """Ask a fold's layer about the rows that validate it."""
        assert isinstance(rows.validation, MemoryEngine)
        part, known = rows.validation.part, dict[Oblique, Floats]()
        table = np.asarray(part.columns).T
        scores = tuple(_scores(table, snapshot, known) for snapshot in path)
        return cls(part, rows.validation.loss, scores, path[0].base)

    def at(self, size: int, stretch: float) -> Floats:
        return np.asarray(stretched(self.scores[min(size, len(self.scores) - 1)], self.center, stretch))

    def total(self, size: int, stretch: float) -> int:
        """The loss at a size, stretched, in whole steps."""
        grid, target, weight = self.loss.grid, self.part.target, self.part.weight
        steps = np.rint(np.ldexp(self.at(size, stretch) - grid.center, grid.exponent)).astype(np.int64)
        limbs = self.loss.limbs(self.loss.diff(target) - steps.T, target)
        return self.loss.total(np.array([int((limb * weight if len(weight) else limb).sum()) for limb in limbs]))


def _scores(table: Floats, snapshot: Snapshot, known: dict[Oblique, Floats]) -> Floats:
    scores = np.zeros((len(table), *np.shape(snapshot.base))) + snapshot.base
    for rule, weight in zip(snapshot.rules, snapshot.output_weights, strict=True):
        if rule not in known:
            known[rule] = np.where(rule.holds(table), 1.0, -1.0)
        scores += np.multiply.outer(known[rule], weight)
    for term, weight in zip(snapshot.linear, snapshot.linear_coef, strict=True):
        scores += np.multiply.outer(term.values(table), weight)
    return scores


def stretches(folds: Sequence[FoldScores], sizes: int) -> list[float]:
    """For every size the stretch of the least loss on all rows; 1 unless what all folds but one tell lowers the loss
    of that one by more than noise, as the folds differ."""
    best, parts, every = [], _PARTS, range(len(folds))
    others = [(fold, [other for other in every if other != fold]) for fold in every]
    for size in range(sizes):
        losses = _Losses(folds, size)
        parts = losses.best(every, parts) if size else _PARTS
        gains = [losses.at(fold, _PARTS) - losses.at(fold, losses.best(some, parts)) for fold, some in others]
        best.append(parts / _PARTS if _sure(gains) else 1.0)
    return best


def _sure(gains: Sequence[int]) -> bool:
    """Whether gains are positive by more than the standard error of their mean."""
    number, total = len(gains), sum(gains)
    squares = sum((number * gain - total) ** 2 for gain in gains)  # of the deviations, times the number squared
    return total > 0 and number > 1 and total * total * number * (number - 1) > _CLEAR * _CLEAR * squares


class _Losses:
    """The losses of folds at one size, by stretches, each worked out once."""

    def __init__(self, folds: Sequence[FoldScores], size: int) -> None:
        self._folds, self._size = folds, size
        self._known: dict[tuple[int, int], int] = {}

    def at(self, fold: int, parts: int) -> int:
        if (fold, parts) not in self._known:
            self._known[fold, parts] = self._folds[fold].total(self._size, parts / _PARTS)
        return self._known[fold, parts]

    def best(self, some: Sequence[int], parts: int) -> int:
        """The stretch of the least loss of some folds, from a first guess: the loss is convex along it."""
        for way in (1, -1):
            while _LEAST <= parts + way <= _MOST and self._sum(some, parts + way) < self._sum(some, parts):
                parts += way
        return parts

    def _sum(self, some: Sequence[int], parts: int) -> int:
        return sum(self.at(fold, parts) for fold in some)


def out_of_fold(folds: Sequence[FoldScores], stretch: Sequence[float], bounds: tuple[float, float] | None) -> OutOfFold:
    """What every fold's layer, at every size, predicts of the rows it was grown without, within bounds."""
    predictions, targets = [], []
    for fold in folds:
        link = LINKS[fold.loss.link]
        said = [bounded(link(fold.at(size, factor)), bounds) for size, factor in enumerate(stretch)]
        predictions.append(np.stack(said, axis=1))
        targets.append(fold.loss.targets.center + fold.loss.targets.value(fold.part.target))
    return OutOfFold(np.concatenate(predictions), np.concatenate(targets))
