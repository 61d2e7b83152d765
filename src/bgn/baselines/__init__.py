"""Gradient-trained binary networks and their pruned versions, to compare with (needs torch)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bgn.require import require

if TYPE_CHECKING:
    from bgn.baselines.base import BaselineRegressor
    from bgn.baselines.config import Config, Epoch, Trained
    from bgn.baselines.data import Split
    from bgn.baselines.estimators import (
        BinaryConnectRegressor,
        BiRealRegressor,
        BNNPlusRegressor,
        BNNRegressor,
        QuantizationNetworkRegressor,
    )
    from bgn.baselines.folding import ReluNetwork, fold
    from bgn.baselines.grid import Choice, GridResult, Run, grid_search, paper_grid
    from bgn.baselines.pruning import Round, prune
    from bgn.baselines.training import train_many

# Public name -> module that holds it. Loaded on first use: that is when torch is asked for.
_HOMES = {
    "BNNPlusRegressor": "estimators",
    "BNNRegressor": "estimators",
    "BaselineRegressor": "base",
    "BiRealRegressor": "estimators",
    "BinaryConnectRegressor": "estimators",
    "Choice": "grid",
    "Config": "config",
    "Epoch": "config",
    "GridResult": "grid",
    "QuantizationNetworkRegressor": "estimators",
    "ReluNetwork": "folding",
    "Round": "pruning",
    "Run": "grid",
    "Split": "data",
    "Trained": "config",
    "fold": "folding",
    "grid_search": "grid",
    "paper_grid": "grid",
    "prune": "pruning",
    "train_many": "training",
}

__all__ = [
    "BNNPlusRegressor",
    "BNNRegressor",
    "BaselineRegressor",
    "BiRealRegressor",
    "BinaryConnectRegressor",
    "Choice",
    "Config",
    "Epoch",
    "GridResult",
    "QuantizationNetworkRegressor",
    "ReluNetwork",
    "Round",
    "Run",
    "Split",
    "Trained",
    "fold",
    "grid_search",
    "paper_grid",
    "prune",
    "train_many",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bgn.baselines' has no attribute {name!r}")
    require("torch", extra="torch")
    value = getattr(importlib.import_module(f"bgn.baselines.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
