"""The places where rows can live, for tests: each fits a model on given rows, and all must grow the same network.

An entry of `ENGINES` is a function ``fit(model, X, y, sample_weight=None, eval_set=None)`` that puts the rows where
its engine wants them and returns the fitted model.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch

import bgn.estimators as estimators
from bgn import BGNRegressor
from bgn.engines.block import Block, Plan
from bgn.engines.gpu_block import Tensors
from bgn.engines.memory import PartsInMemory
from bgn.engines.merged import MergedEngine
from bgn.grow.rows import InMemory


class InBlocks(InMemory):
    """Rows in memory, in uneven blocks of which one is empty."""

    number = 2

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, threads: int = 1) -> None:
        super().__init__(X, y, sample_weight, threads)
        edges = np.sort(np.random.default_rng(self.number).integers(0, len(y), self.number - 1))
        edges = [0, *edges.tolist(), len(y), len(y)][: self.number + 2]
        weight = (lambda a, b: None) if sample_weight is None else (lambda a, b: sample_weight[a:b])
        self._blocks = [Block(X[a:b].T, y[a:b], weight(a, b)) for a, b in pairwise(edges)]

    def ask(self, question: str, *arguments: Any) -> list[Any]:
        return [getattr(block, question)(*arguments) for block in self._blocks]

    def engine(self, plan: Plan, held_out: bool) -> MergedEngine:
        parts = [block.part(plan, held_out, self._threads) for block in self._blocks]
        return MergedEngine(PartsInMemory(parts), plan.grid)

def in_memory(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
    return model.fit(X, y, sample_weight, eval_set)

def in_blocks(number: int) -> Callable[..., BGNRegressor]:
    """Fit on so many blocks and an empty one."""

    class Source(InBlocks):
        pass

    Source.number = number

    def fit(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
        kept = estimators.InMemory
        estimators.InMemory = Source
        try:
            return model.fit(X, y, sample_weight, eval_set)
        finally:
            estimators.InMemory = kept

    return fit

def in_tensors(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
    """Fit on the tensors' engine, without a GPU."""

    def source(X: Any, y: Any, sample_weight: Any = None, threads: int = 1) -> Tensors:
        weight = None if sample_weight is None else torch.from_numpy(sample_weight)
        return Tensors(torch.from_numpy(X), torch.from_numpy(y), weight)

    kept = estimators.InMemory
    estimators.InMemory = source
    try:
        return model.fit(X, y, sample_weight, eval_set)
    finally:
        estimators.InMemory = kept


def on_gpu(model: BGNRegressor, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> BGNRegressor:
    """Fit on CUDA tensors; everything beside X stays an array."""
    X = torch.tensor(np.asarray(X), device="cuda")
    if eval_set is not None:
        eval_set = torch.tensor(np.asarray(eval_set[0]), device="cuda"), eval_set[1]
    return model.fit(X, y, sample_weight, eval_set)


ENGINES: dict[str, Callable[..., BGNRegressor]] = {
    "memory": in_memory,
    **{f"{number} blocks": in_blocks(number) for number in (1, 2, 7, 23)},
    "torch cpu": in_tensors,
    **({"torch cuda": on_gpu} if torch.cuda.is_available() else {}),
}
