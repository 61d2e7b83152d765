"""The rows a network grows on, in three roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.base import Engine, Neuron
from bgn.engines.integers import Grid, whole_weights
from bgn.engines.memory import MemoryEngine
from bgn.engines.split import lowest, row_hashes

# Directions are screened on at most this many different rows.
SAMPLE_ROWS = 16384


@dataclass(frozen=True)
class Rows:
    """The same neurons on three sets of rows: to learn from, to choose by, and a sample to search on."""

    train: Engine
    validation: Engine | None
    sample: Engine

    @property
    def followers(self) -> list[Engine]:
        """The engines that follow what the training rows decide."""
        others = [] if self.validation is None else [self.validation]
        return others if self.sample is self.train else [*others, self.sample]

    def next_layer(self, neurons: Sequence[Neuron]) -> Rows:
        """The same rows behind a finished layer."""
        train = self.train.next_layer(neurons)
        sample = train if self.sample is self.train else self.sample.next_layer(neurons)
        return Rows(train, self.validation and self.validation.next_layer(neurons), sample)


def rows_in_memory(
    X: NDArray[Any],
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    eval_set: tuple[NDArray[Any], NDArray[np.float64]] | None,
    validation_fraction: float,
    seed: int,
    threads: int,
) -> tuple[Rows, int]:
    """Share out rows by their content; also returns the power of two that row weights were scaled by."""
    weight, scaled = None, 0
    if sample_weight is not None:
        X, y, sample_weight = _positive(X, y, sample_weight)
        weight, scaled = whole_weights(sample_weight)
        X, y, weight = _positive(X, y, weight)
        if np.all(weight == 1):
            weight = None
    total = len(y) if weight is None else int(weight.sum())
    grid = Grid.for_target(y if eval_set is None else np.append(y, eval_set[1]), total)
    hashes = row_hashes(X, y, seed)
    held_out = np.zeros(len(y), dtype=bool)
    if eval_set is None:
        held_out = lowest(hashes, weight, validation_fraction)

    def engine(X: NDArray[Any], y: NDArray[np.float64], weight: Any, which: Any) -> MemoryEngine:
        columns = np.empty((X.shape[1], int(which.sum())), X.dtype)
        for j, column in enumerate(columns):
            column[:] = X[which, j]
        heavy = None if weight is None else weight[which]
        return MemoryEngine(columns, grid.steps(y[which]), heavy, grid, threads)

    train = engine(X, y, weight, ~held_out)
    validation = None
    if eval_set is not None:
        validation = engine(*eval_set, None, np.ones(len(eval_set[1]), dtype=bool))
    elif held_out.any():
        validation = engine(X, y, weight, held_out)
    kept = hashes[~held_out]
    sample = train
    if len(np.unique(kept)) > SAMPLE_ROWS:
        limit = np.partition(np.unique(kept), SAMPLE_ROWS)[SAMPLE_ROWS]
        chosen = ~held_out
        chosen[chosen] = kept < limit
        sample = engine(X, y, weight, chosen)
    return Rows(train, validation, sample), scaled


def _positive(X: NDArray[Any], y: NDArray[Any], weight: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Leave out rows without weight."""
    keep = weight > 0
    return (X, y, weight) if keep.all() else (X[keep], y[keep], weight[keep])
