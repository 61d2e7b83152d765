"""Gradient-trained binary networks and their pruned versions, to compare with (needs torch)."""

from __future__ import annotations

from bgn.require import require

require("torch", extra="torch")

from bgn.baselines.base import BaselineRegressor  # noqa: E402
from bgn.baselines.config import Config, Epoch, Trained  # noqa: E402
from bgn.baselines.data import Split  # noqa: E402
from bgn.baselines.estimators import (  # noqa: E402
    BinaryConnectRegressor,
    BiRealRegressor,
    BNNPlusRegressor,
    BNNRegressor,
    QuantizationNetworkRegressor,
)
from bgn.baselines.fold import ReluNetwork, fold  # noqa: E402
from bgn.baselines.grid import Choice, GridResult, Run, grid_search, paper_grid  # noqa: E402
from bgn.baselines.pruning import Round, prune  # noqa: E402
from bgn.baselines.training import train_many  # noqa: E402

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
