"""How to grow, and one growth of one layer: the tries that the best is chosen from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.engines.protocol import Engine
from bgn.grow.directions.lasso import Debiased, Lasso
from bgn.grow.directions.protocol import DirectionFinder
from bgn.grow.directions.search import Search
from bgn.grow.history import Snapshot
from bgn.grow.layer import LayerGrowth, LayerPath, LayerSettings, Monitor
from bgn.grow.output import Full, OutputRule
from bgn.grow.roles import Roles
from bgn.grow.stagewise import Stagewise

# Ridge penalties that "auto" tries, as shares of the training weight; above so much weight it uses penalty 1.
_SHARES = (0.0, 0.1, 0.3, 1.0)
_PLENTY = 5000
_LITTLE = 1.0
# How many times as much as a linear term a question must gain to be asked instead; these compete.
LEADS = (1.0, 3.0)
LEAD_AMONG_FOLDS = 2.0


@dataclass(frozen=True)
class GrowthSettings:
    """How to grow; :class:`bgn.BGNRegressor` says what each means."""

    max_layers: int = 1
    max_width: int = 50
    max_features: int = 2
    direction: str = "search"
    output: str = "full"
    shrinkage: float | str = "auto"
    learning_rate: float = 1.0
    max_replacements: int | None = 10
    patience: int | None = 10
    select: str = "best"
    digits: int | None = None
    simplicity: float = 0.0
    cv: Any = None
    max_linear: int | str = 0
    lead: float = 1.0  # what a question must gain beside a linear term; see :class:`~bgn.grow.layer.LayerSettings`

    @property
    def folds(self) -> Any:
        """How many folds to choose by, where that is done: for a single layer."""
        return self.cv if self.max_layers == 1 else None

    @property
    def most_linear(self) -> int:
        """Most linear terms: none in deep networks, nor where outputs are not refitted, nor beside the Lasso."""
        if self.max_layers > 1 or self.output != "full" or self.direction != "search":
            return 0
        return self.max_width if isinstance(self.max_linear, str) else self.max_linear

    def scaled(self, exponent: int) -> GrowthSettings:
        """The same for rows whose weights were multiplied by ``2**exponent``."""
        if exponent == 0 or self.shrinkage == "auto":
            return self
        return replace(self, shrinkage=float(self.shrinkage) * 2.0**exponent)


def grow_once(
    rows: Roles, settings: GrowthSettings, penalty: float, replacements: int | None,
    seed: int, monitor: Monitor, layer: int,
) -> LayerPath:  # fmt: skip
    """Grow one layer with one ridge penalty."""
    limits = LayerSettings(
        settings.max_width, replacements, settings.patience, settings.digits, settings.simplicity,
        settings.most_linear, settings.lead,
    )  # fmt: skip
    finder = _finder(rows, settings)
    rule: OutputRule = Full(penalty) if settings.output == "full" else Stagewise(settings.learning_rate)
    return LayerGrowth(rows, finder, rule, limits, np.random.default_rng([seed, layer]), monitor, layer).grow()


def lines_alone(settings: GrowthSettings) -> GrowthSettings:
    """The same, without questions."""
    return replace(settings, lead=math.inf)


def noise_of(rows: Engine, unit: float, deviation: float) -> float:
    """The standard error of a mean loss on some rows, given the deviation of the rows' losses."""
    return deviation / math.sqrt(rows.total / unit)


class Tries:
    """Growths of one layer that compete; `best` is the best so far, with its ridge penalty."""

    def __init__(self, rows: Roles, settings: GrowthSettings, seed: int, monitor: Monitor, layer: int) -> None:
        self._rows, self._settings, self._place = rows, settings, (seed, monitor, layer)
        self._monitor = monitor
        self.best: tuple[LayerPath, float] | None = None
        self._how = replace(settings, max_linear=0), 0.0  # settings and penalty of the best

    def grow(self) -> None:
        """Try what competes, without replacement; then the best with it."""
        rows, settings = self._rows, self._settings
        plain, competing = replace(settings, max_linear=0), penalties(rows, settings)
        lines = settings.most_linear > 0 and rows.validation is not None
        if len(competing) > 1 or lines:
            for penalty in competing:
                if self._took_all_time(plain, penalty, 0):
                    return
        for lead in LEADS if lines else ():
            if self._took_all_time(replace(settings, lead=lead), self._how[1], 0):
                return
        if lines and self._straight(competing):
            return
        if self.best is None:
            settings = replace(settings, max_linear=0) if isinstance(settings.max_linear, str) else settings
            self._took_all_time(settings, competing[0], settings.max_replacements)
        elif settings.max_replacements != 0:
            self._took_all_time(*self._how, settings.max_replacements)

    def _took_all_time(self, settings: GrowthSettings, penalty: float, replacements: int | None) -> bool:
        """Grow once more and keep the better; True when the time is up."""
        path = grow_once(self._rows, settings, penalty, replacements, *self._place)
        if self.best is None or _best_of(path).criterion < _best_of(self.best[0]).criterion:
            self.best, self._how = (path, penalty), (settings, penalty)
        return self._monitor.out_of_time()

    def _straight(self, competing: Sequence[float]) -> bool:
        """Take linear terms alone unless what was found does better by more than noise."""
        assert self.best is not None
        assert self._rows.validation is not None
        straight = lines_alone(self._settings)
        paths = [(grow_once(self._rows, straight, each, 0, *self._place), each) for each in competing]
        path, penalty = min(paths, key=lambda pair: _best_of(pair[0]).criterion)
        found = _best_of(self.best[0])
        noise = noise_of(self._rows.validation, self._rows.unit, found.validation_deviation)
        taken = _best_of(path).criterion <= found.criterion + noise
        if taken:
            self.best = path, penalty
        return taken


def _best_of(path: LayerPath) -> Snapshot:
    """The layer at the width of the least loss along a path."""
    return min(path.path, key=lambda snapshot: snapshot.criterion)


def penalties(rows: Roles, settings: GrowthSettings, among_folds: bool = False) -> list[float]:
    """The ridge penalties to try; where folds choose among them, whatever the number of rows."""
    if settings.output != "full":
        return [0.0]
    if settings.shrinkage != "auto":
        return [float(settings.shrinkage)]
    if (rows.validation is None and not rows.folds) or (
        rows.train.total > _PLENTY * rows.unit and not among_folds
    ):
        return [_LITTLE * rows.unit]
    whole = rows.train.loss.curvature * rows.train.total
    return [max(share * whole, _LITTLE * rows.unit) for share in _SHARES]


def _finder(rows: Roles, settings: GrowthSettings) -> DirectionFinder:
    most = min(settings.max_features, rows.train.n_columns)
    if settings.direction == "search":
        return Search(rows, most, settings.digits, settings.simplicity)
    return (Lasso if settings.direction == "lasso" else Debiased)(rows.train, most, settings.digits)
