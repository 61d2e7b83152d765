"""From rows to a network: layers one after the other, the best of them kept (Improvement 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bgn.grow.direction import Debiased, DirectionFinder, Lasso
from bgn.grow.history import History, Snapshot, choose_width
from bgn.grow.layer import LayerGrowth, LayerPath, LayerSettings, Monitor
from bgn.grow.output import Full, OutputRule, Stagewise
from bgn.grow.rows import Rows
from bgn.grow.search import Search

# Ridge penalties that "auto" tries, and the training weight above which it tries the first alone.
SHRINKAGES = (1.0, 10.0, 30.0, 100.0, 300.0)
PLENTY = 5000


@dataclass(frozen=True)
class GrowthSettings:
    """How to grow; see :class:`bgn.BGNRegressor` for the meaning of each."""

    max_layers: int = 1
    max_width: int = 50
    max_features: int = 2
    direction: str = "search"
    output: str = "full"
    shrinkage: float | str = "auto"
    learning_rate: float = 1.0
    max_replacements: int | None = 20
    patience: int | None = 20
    select: str = "best"


def grow_network(rows: Rows, settings: GrowthSettings, seed: int, monitor: Monitor) -> History:
    """Grow layer upon layer; each is fixed at its best width and feeds the next."""
    n_inputs = rows.train.n_columns
    n_validation = 0 if rows.validation is None else rows.validation.total
    paths: list[dict[int, Snapshot]] = []
    records, inputs, grown = [], [], []
    for layer in range(settings.max_layers):
        result, shrinkage = _grow_layer(rows, settings, seed, monitor, layer)
        records += result.records
        paths.append(result.path)
        grown.append((result.stopped, shrinkage))
        best = result.path[choose_width(result.path, "best", n_validation)]
        if monitor.stopped or not best.neurons or layer + 1 == settings.max_layers:
            break
        inputs.append(best.layer(rows.train.n_columns))
        rows = rows.next_layer(best.neurons)
    widths = [choose_width(path, settings.select, n_validation) for path in paths]
    chosen = min(range(len(paths)), key=lambda k: (paths[k][widths[k]].criterion, k))
    return History(
        tuple(records), tuple(paths), tuple(inputs), n_inputs, chosen, widths[chosen],
        monitor.stopped or grown[-1][0], grown[chosen][1], n_validation,
    )  # fmt: skip


def _grow_layer(
    rows: Rows, settings: GrowthSettings, seed: int, monitor: Monitor, layer: int
) -> tuple[LayerPath, float]:
    """Grow one layer, with each ridge penalty that is to be tried; the best validated wins."""
    limits = LayerSettings(settings.max_width, settings.max_replacements, settings.patience)
    best: tuple[LayerPath, float] | None = None
    for shrinkage in _shrinkages(rows, settings):
        finder = _finder(rows, replace(settings, max_features=min(settings.max_features, rows.train.n_columns)))
        rule: OutputRule = Full(shrinkage) if settings.output == "full" else Stagewise(settings.learning_rate)
        rng = np.random.default_rng([seed, layer])
        path = LayerGrowth(rows, finder, rule, limits, rng, monitor, layer).grow()
        if best is None or _criterion(path) < _criterion(best[0]):
            best = path, shrinkage
        if monitor.out_of_time():
            break
    assert best is not None
    return best


def _criterion(path: LayerPath) -> float:
    return min(snapshot.criterion for snapshot in path.path.values())


def _shrinkages(rows: Rows, settings: GrowthSettings) -> tuple[float, ...]:
    if settings.output != "full":
        return (0.0,)
    if settings.shrinkage != "auto":
        return (float(settings.shrinkage),)
    return SHRINKAGES if rows.validation is not None and rows.train.total <= PLENTY else SHRINKAGES[:1]


def _finder(rows: Rows, settings: GrowthSettings) -> DirectionFinder:
    if settings.direction == "search":
        return Search(rows, settings.max_features)
    return (Lasso if settings.direction == "lasso" else Debiased)(rows.train, settings.max_features)


