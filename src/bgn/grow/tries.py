"""How to grow, and one growth of one layer: the tries that the best is chosen from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.grow.bounds import Bounds
from bgn.grow.constraints import NO_CONSTRAINTS, Constraints
from bgn.grow.directions.lasso import Debiased, Lasso
from bgn.grow.directions.protocol import DirectionFinder
from bgn.grow.directions.search import Search
from bgn.grow.layer import LayerGrowth, LayerPath, LayerSettings, Monitor
from bgn.grow.output import Full, OutputRule
from bgn.grow.roles import Roles
from bgn.grow.signed import Signed
from bgn.grow.stagewise import Stagewise
from bgn.grow.sweeps import PlannedGrowth, Sweeper, highest, how_many, watch_for

# Ridge penalties that "auto" tries, as shares of the training weight; above so much weight it uses penalty 1.
_SHARES = (0.0, 0.1, 0.3, 1.0)
_PLENTY = 5000
_LITTLE = 1.0
_LITTLE_OF_MANY = 30.0  # the same in an average, whose networks grow wide


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
    sweeps: int | str = 0
    patience: int | None = 10
    select: str = "best"
    digits: int | None = None
    simplicity: float = 0.0
    cv: Any = None
    constraints: Constraints = NO_CONSTRAINTS
    bounds: Bounds | None = None
    n_networks: int = 1

    @property
    def folds(self) -> Any:
        """How many folds to choose by, where that is done: for a single network of a single layer."""
        return self.cv if self.max_layers == 1 and self.n_networks == 1 else None

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
    wanted = settings.constraints.over(rows.coding)
    limits = LayerSettings(
        settings.max_width, replacements, settings.patience, settings.digits, settings.simplicity, wanted,
        settings.bounds,
    )
    rule, rng = _rule(settings, penalty, wanted), np.random.default_rng([seed, layer])
    if settings.sweeps == 0 or replacements == 0 or settings.direction != "search" or settings.output != "full":
        return LayerGrowth(rows, _finder(rows, settings, wanted), rule, limits, rng, monitor, layer).grow()
    assert rows.sample is not None
    sample = replace(rows, train=rows.sample, validation=None, folds=())
    lesser = _rule(settings, penalty * (rows.sample.total / rows.train.total), wanted)
    wide = replace(limits, max_width=highest(settings.max_width), digits=None, bounds=None)
    sweeper = Sweeper(sample, _finder(sample, settings, wanted), lesser, wide, rng, watch_for(monitor), layer)
    found = sweeper.plan(how_many(settings.sweeps, settings.max_width))
    if found.interrupted:
        limits = replace(limits, max_width=min(settings.max_width, len(found.layers) - 1))
    path = PlannedGrowth(found.layers, rows, _finder(rows, settings, wanted), rule, limits, rng, monitor, layer).grow()
    if found.interrupted:
        monitor.stopped = "interrupted"
    return replace(path, stopped=monitor.stopped or path.stopped)


def criterion(path: LayerPath) -> float:
    """The least loss along a path."""
    return min(snapshot.criterion for snapshot in path.path)


def penalties(rows: Roles, settings: GrowthSettings, among_folds: bool = False) -> list[float]:
    """The ridge penalties to try; where folds choose among them, whatever the number of rows."""
    if settings.output != "full":
        return [0.0]
    if settings.shrinkage != "auto":
        return [float(settings.shrinkage)]
    if (rows.validation is None and not rows.folds) or (rows.train.total > _PLENTY * rows.unit and not among_folds):
        return [(_LITTLE if settings.n_networks == 1 else _LITTLE_OF_MANY) * rows.unit]
    whole = rows.train.loss.curvature * rows.train.total
    return [max(share * whole, _LITTLE * rows.unit) for share in _SHARES]


def _finder(rows: Roles, settings: GrowthSettings, wanted: Constraints) -> DirectionFinder:
    most = min(settings.max_features, rows.train.n_columns)
    if settings.direction == "search":
        return Search(rows, most, settings.digits, settings.simplicity, wanted)
    return (Lasso if settings.direction == "lasso" else Debiased)(rows.train, most, settings.digits)


def _rule(settings: GrowthSettings, penalty: float, wanted: Constraints) -> OutputRule:
    if settings.output != "full":
        return Stagewise(settings.learning_rate, wanted)
    return Signed(penalty, wanted) if wanted.signed else Full(penalty)
