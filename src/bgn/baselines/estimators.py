"""The five methods of the paper's comparison as scikit-learn regressors, one small class per method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

from bgn.baselines.base import BaselineRegressor
from bgn.baselines.config import Config, positive
from bgn.baselines.folding import ReluNetwork
from bgn.estimator_state import inherit_parameters
from bgn.inputs.arguments import chosen
from bgn.model.network import Network


@inherit_parameters
class BNNRegressor(BaselineRegressor):
    """BNN*: steps of -1 and 1, trained by the straight-through estimator.

    Parameters
    ----------
    surrogate : {"clipped", "identity"}, default "clipped"
        Slope that stands in for the step's: 1 between -1 and 1, or 1 everywhere (clearly worse).
    hidden_layers, learning_rate, batch_size, max_epochs, patience, lr_patience, lr_factor, validation_fraction, \
scale_target, output_init, device, random_state
        Common to all, see :class:`BaselineRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import BNNRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] >= 0, 2.0, 1.0)
    >>> model = BNNRegressor((16,), random_state=0, max_epochs=40).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _method = "bnn"

    def __init__(self, hidden_layers: Any = (500,), *, surrogate: str = "clipped", **common: Any) -> None:
        super().__init__(hidden_layers, **common)
        self.surrogate = surrogate

    def _config(self, seed: int) -> Config:
        chosen("surrogate", self.surrogate, ("clipped", "identity"))
        return replace(super()._config(seed), method="bnn" if self.surrogate == "clipped" else "bnn_identity")


@inherit_parameters
class BNNPlusRegressor(BaselineRegressor):
    """BNN+: steps of 0 and 1, the slope of the SignSwish curve, weights drawn towards -1 and 1.

    Parameters
    ----------
    beta : float, default 5.0
        Sharpness of the curve.
    penalty : {"l1", "l2"} or None, default "l1"
        Penalty on the hidden weights: ``abs(1 - abs(w))`` or ``(1 - abs(w)) ** 2``.
    penalty_strength : float, default 1e-6
        Its factor.
    hidden_layers, learning_rate, batch_size, max_epochs, patience, lr_patience, lr_factor, validation_fraction, \
scale_target, output_init, device, random_state
        Common to all, see :class:`BaselineRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import BNNPlusRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] >= 0, 2.0, 1.0)
    >>> model = BNNPlusRegressor((16,), random_state=0, max_epochs=40).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _method = "bnn_plus"

    def __init__(
        self,
        hidden_layers: Any = (500,),
        *,
        beta: float = 5.0,
        penalty: str | None = "l1",
        penalty_strength: float = 1e-6,
        **common: Any,
    ) -> None:
        super().__init__(hidden_layers, **common)
        self.beta = beta
        self.penalty = penalty
        self.penalty_strength = penalty_strength

    def _config(self, seed: int) -> Config:
        positive("beta", self.beta)
        positive("penalty_strength", self.penalty_strength)
        return replace(super()._config(seed), sharpness=float(self.beta))


class BiRealRegressor(BaselineRegressor):
    """Bi-real net*: steps of -1 and 1 with a triangular slope, and no real-valued shortcuts.

    Parameters
    ----------
    hidden_layers, learning_rate, batch_size, max_epochs, patience, lr_patience, lr_factor, validation_fraction, \
scale_target, output_init, device, random_state
        Common to all, see :class:`BaselineRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import BiRealRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] >= 0, 2.0, 1.0)
    >>> model = BiRealRegressor((16,), random_state=0, max_epochs=40).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _method = "bireal"


@inherit_parameters
class QuantizationNetworkRegressor(BaselineRegressor):
    """Quantization network: sigmoids that sharpen every epoch; steps of 0 and 1 in every evaluation.

    Parameters
    ----------
    temperature : float, default 5.0
        Sharpness at the first epoch; twice that at the second, and so on.
    hidden_layers, learning_rate, batch_size, max_epochs, patience, lr_patience, lr_factor, validation_fraction, \
scale_target, output_init, device, random_state
        Common to all, see :class:`BaselineRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import QuantizationNetworkRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] >= 0, 2.0, 1.0)
    >>> model = QuantizationNetworkRegressor((16,), random_state=0, max_epochs=40).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _method = "quantization"

    def __init__(self, hidden_layers: Any = (500,), *, temperature: float = 5.0, **common: Any) -> None:
        super().__init__(hidden_layers, **common)
        self.temperature = temperature

    def _config(self, seed: int) -> Config:
        positive("temperature", self.temperature)
        return replace(super()._config(seed), sharpness=float(self.temperature))


class BinaryConnectRegressor(BaselineRegressor):
    """BinaryConnect: hidden weights of -1 and 1, real activations; not a binary activated network.

    It has no ``network_``: its neurons answer real numbers, which no :class:`bgn.Network` can hold.

    Parameters
    ----------
    hidden_layers, learning_rate, batch_size, max_epochs, patience, lr_patience, lr_factor, validation_fraction, \
scale_target, output_init, device, random_state
        Common to all, see :class:`BaselineRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import BinaryConnectRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.maximum(X[:, 0], 0) + X[:, 1]
    >>> model = BinaryConnectRegressor((64,), random_state=0, max_epochs=40).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _method = "binaryconnect"

    def _keep(self, folded: Network | ReluNetwork) -> None:
        self.folded_ = folded

    @property
    def network_(self) -> NoReturn:  # type: ignore[override]
        """Raise: there is no binary activated network here."""
        raise AttributeError(
            "BinaryConnectRegressor has no network_: its activations are real (ReLU), only its weights are binary: "
            "it is no binary activated network. Use predict, or one of the other four methods."
        )
