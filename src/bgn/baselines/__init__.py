"""Gradient-trained binary networks and their pruned versions, to compare with (needs torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgn.require import lazy_names, require

if TYPE_CHECKING:
    from bgn.baselines.data import Config as Config
    from bgn.baselines.data import Epoch as Epoch
    from bgn.baselines.data import Split as Split
    from bgn.baselines.data import Trained as Trained
    from bgn.baselines.estimators import BaselineRegressor as BaselineRegressor
    from bgn.baselines.estimators import BinaryConnectRegressor as BinaryConnectRegressor
    from bgn.baselines.estimators import BiRealRegressor as BiRealRegressor
    from bgn.baselines.estimators import BNNPlusRegressor as BNNPlusRegressor
    from bgn.baselines.estimators import BNNRegressor as BNNRegressor
    from bgn.baselines.estimators import QuantizationNetworkRegressor as QuantizationNetworkRegressor
    from bgn.baselines.estimators import ReluNetwork as ReluNetwork
    from bgn.baselines.estimators import fold as fold
    from bgn.baselines.pruning import Round as Round
    from bgn.baselines.pruning import prune as prune
    from bgn.baselines.pruning import prune_many as prune_many
    from bgn.baselines.training import train_many as train_many

# Torch is asked for when a name is first used.
__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "bgn.baselines.data": "Config Epoch Split Trained",
        "bgn.baselines.estimators": (
            "BNNPlusRegressor BNNRegressor BaselineRegressor BiRealRegressor BinaryConnectRegressor "
            "QuantizationNetworkRegressor ReluNetwork fold"
        ),
        "bgn.baselines.pruning": "Round prune prune_many",
        "bgn.baselines.training": "train_many",
    },
    ready=lambda: require("torch", extra="torch"),
)
