"""The five methods of the paper's comparison as scikit-learn regressors, one small class per method.

What they share (validate, split, train) stands in :class:`BaselineRegressor`. A trained model is folded into a
:class:`bgn.Network` in original units and float64: batch norms, input scaling and target scaling are affine, so they
fold into weights and biases; answers 0 and 1 become -1 and 1 by halving the weights that read them. Zeros stay zeros:
the count of non-zero weights survives.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bgn.baselines.data import Config, Split, Trained, positive
from bgn.baselines.network import EPSILON, METHODS, effective_weights
from bgn.baselines.training import train_many
from bgn.estimator_base import inherit_parameters, take_over, unfitted
from bgn.inputs.arguments import chosen, seed_of
from bgn.inputs.frames import LARGEST_SQUARED, check_representable, numeric_table
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.step import Floats


@dataclass(frozen=True, eq=False)
class ReluNetwork:
    """What BinaryConnect trains: real activations ``max(0, W a + b)``, a linear output, original units."""

    layers: tuple[tuple[Floats, Floats], ...]
    output_weights: Floats
    base: float

    @property
    def n_weights(self) -> int:
        hidden = sum(np.count_nonzero(weights) for weights, _ in self.layers)
        return int(hidden + np.count_nonzero(self.output_weights))

    def predict(self, X: Any) -> Floats:
        values = np.asarray(X, dtype=np.float64)
        for weights, bias in self.layers:
            values = np.maximum(values @ weights.T + bias, 0.0)
        return values @ self.output_weights + self.base


def fold(
    trained: Trained, feature_names: Sequence[str] | None = None, target_name: str | None = None
) -> Network | ReluNetwork:
    """Return the network in original units: a binary one, but for BinaryConnect.

    Parameters
    ----------
    trained : Trained
    feature_names : sequence of str, optional
    target_name : str, optional
        Handed on to :class:`bgn.Network`.

    Returns
    -------
    Network or ReluNetwork

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import Config, Split, fold, train_many
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> split = Split.at_random(X, X[:, 0], seed=0)
    >>> network = fold(train_many([Config("bireal", (4, 3), max_epochs=2)], split)[0])
    >>> network.widths
    (4, 3)
    """
    surrogate = METHODS[trained.config.method]
    pieces, running, mask = trained.pieces()
    weights = [layer[0].numpy().copy() for layer in effective_weights(pieces, surrogate, mask)]
    biases = [np.zeros(len(layer)) for layer in weights]
    output, base = pieces.output[0, 0].numpy().copy(), pieces.base.item()
    if surrogate.outputs == (0.0, 1.0):
        for later, bias in zip(weights[1:], biases[1:], strict=True):
            bias += later.sum(axis=1) / 2
            later /= 2
        base += output.sum() / 2
        output /= 2
    for k, (layer, bias) in enumerate(zip(weights, biases, strict=True)):
        gamma, beta, mean, variance = (
            part[k].flatten().numpy() for part in (pieces.gamma, pieces.beta, running.mean, running.variance)
        )
        scale = gamma / np.sqrt(variance + EPSILON)
        layer *= scale[:, None]
        bias[:] = scale * (bias - mean) + beta
    scaling = trained.scaling
    biases[0] -= weights[0] @ (scaling.center / scaling.scale)
    weights[0] /= scaling.scale
    output *= scaling.target_scale
    base = base * scaling.target_scale + scaling.target_center
    if surrogate.outputs is None:
        return ReluNetwork(tuple(zip(weights, biases, strict=True)), output, base)
    layers = [Layer(layer, bias) for layer, bias in zip(weights, biases, strict=True)]
    return Network.of_layers(layers, output, base, feature_names, target_name)


class BaselineRegressor(RegressorMixin, BaseEstimator):
    """What the five have in common; use one of the subclasses.

    Parameters
    ----------
    hidden_layers : sequence of int, default (500,)
        Widths of the hidden layers.
    learning_rate : float, default 0.01
        Adam's first rate.
    batch_size : int or "auto", default "auto"
        Rows of a batch; ``"auto"`` is 512 above 9,000 rows, else 64. A small last batch joins the one before.
    max_epochs : int, default 200
        Most passes over the rows.
    patience : int, default 20
        Epochs without a better validation error before training stops. The best epoch is what is kept.
    lr_patience : int, default 5
        Epochs without a better validation error that are borne; at the next one the rate falls.
    lr_factor : float, default 0.1
        What the rate is multiplied by then.
    validation_fraction : float, default 0.2
        Part of the rows held out to stop by, when there is no `eval_set`.
    scale_target : bool, default True
        Train on standardised targets.
    output_init : {"zeros", "kaiming"}, default "zeros"
        First weights of the output layer.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        Where to train; ``"auto"`` takes a GPU when there is one.
    random_state : int, RandomState or None, default None
        Decides first weights, order of the rows and held-out rows.

    Attributes
    ----------
    network_ : Network
        The trained network with batch norms and scalings folded in: all of bgn's tools take it.
    history_ : tuple of Epoch
        Errors and rate of every epoch.
    best_epoch_ : int
        The epoch that was kept, counted from 1; 0 when the very first one diverged.
    validation_mse_ : float
        The kept network's error on the held-out rows.
    split_ : Split
        The rows trained and held out, which :func:`bgn.baselines.prune` needs again.
    trained_ : Trained
        The numbers as they were trained.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    _method, _sharpness = "", ""

    def __init__(
        self,
        hidden_layers: Any = (500,),
        *,
        learning_rate: float = 0.01,
        batch_size: int | str = "auto",
        max_epochs: int = 200,
        patience: int = 20,
        lr_patience: int = 5,
        lr_factor: float = 0.1,
        validation_fraction: float = 0.2,
        scale_target: bool = True,
        output_init: str = "zeros",
        device: str = "cpu",
        random_state: Any = None,
    ) -> None:
        self.hidden_layers = hidden_layers
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.lr_patience = lr_patience
        self.lr_factor = lr_factor
        self.validation_fraction = validation_fraction
        self.scale_target = scale_target
        self.output_init = output_init
        self.device = device
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Train on some of the rows, stop by the others.

        Parameters
        ----------
        X : array_like or frame, shape (rows, columns)
        y : array_like, shape (rows,)
        eval_set : (X, y), optional
            Rows to stop by; without it `validation_fraction` of the rows are held out.

        Returns
        -------
        self
        """
        fresh = unfitted(self)
        target_name = getattr(y, "name", None)
        X, y = fresh._table(X, y, least=2 if eval_set is None else 1)
        random_state = self.random_state
        is_seed = isinstance(random_state, Integral) and int(random_state) >= 0
        seed = int(random_state) if is_seed else seed_of(random_state)
        config = fresh._config(seed)
        fresh.split_ = fresh._split(X, y, eval_set, seed)
        fresh.trained_ = trained = train_many([config], fresh.split_, self.device)[0]
        fresh.history_, fresh.best_epoch_ = trained.history, trained.best_epoch
        fresh.validation_mse_ = trained.validation_mse
        if trained.note:
            warnings.warn(f"{type(self).__name__} {trained.note}.", ConvergenceWarning, stacklevel=2)
        names = getattr(fresh, "feature_names_in_", None)
        fresh._keep(fold(trained, names, target_name if isinstance(target_name, str) else None))
        return take_over(self, fresh)

    def predict(self, X: Any) -> Floats:
        """Return the folded network's value of every row.

        Parameters
        ----------
        X : array_like or frame, shape (rows, columns)

        Returns
        -------
        ndarray of float64, shape (rows,)
        """
        check_is_fitted(self)
        return self.folded_.predict(numeric_table(self, X, reset=False, dtype=np.float64))

    def _table(self, X: Any, y: Any, **how: Any) -> tuple[Floats, Floats]:
        X, y = numeric_table(self, X, y, dtype=np.float64, **how)
        names = getattr(self, "feature_names_in_", None)
        check_representable(np.abs(X).max(axis=0), y.min(), y.max(), names, LARGEST_SQUARED)
        return X, y

    def _keep(self, folded: Network | ReluNetwork) -> None:
        self.folded_ = self.network_ = folded

    def _split(self, X: Floats, y: Floats, eval_set: tuple[Any, Any] | None, seed: int) -> Split:
        if eval_set is None:
            fraction = self.validation_fraction
            if not (isinstance(fraction, Real) and 0 < fraction < 1):
                raise ValueError(
                    f"validation_fraction must lie between 0 and 1; got {fraction!r}. Give eval_set to choose the rows."
                )
            held = min(max(1, round(float(fraction) * len(X))), len(X) - 1)
            order = np.random.default_rng(seed).permutation(len(X))
            return Split(X[order[held:]], y[order[held:]], X[order[:held]], y[order[:held]])
        if not (isinstance(eval_set, tuple | list) and len(eval_set) == 2):
            raise ValueError(f"eval_set must be a pair (X, y) of held-out rows; got {type(eval_set).__name__}.")
        X_held, y_held = self._table(*eval_set, reset=False)
        return Split(X, y, X_held, y_held)

    def _config(self, seed: int) -> Config:
        """Return the parameters as training needs them; raise an error that names a wrong one."""
        own = self.get_params(deep=False)
        named = {field.name: own[field.name] for field in fields(Config) if field.name in own}
        if self._sharpness:
            positive(self._sharpness, own[self._sharpness])
            named["sharpness"] = float(own[self._sharpness])
        widths = tuple(np.atleast_1d(self.hidden_layers).tolist())
        made = {"method": self._method, "seed": seed, "hidden_layers": widths, "scale_target": bool(self.scale_target)}
        return Config(**(named | made))


@inherit_parameters
class BNNRegressor(BaselineRegressor):
    """BNN*: steps of -1 and 1, trained by the straight-through estimator.

    Parameters
    ----------
    surrogate : {"clipped", "identity"}, default "clipped"
        Derivative that stands in for the step's: 1 between -1 and 1, or 1 everywhere (clearly worse).
    **common
        As for :class:`BaselineRegressor`.

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
    """BNN+: steps of 0 and 1, the derivative of the SignSwish curve, weights drawn towards -1 and 1.

    Parameters
    ----------
    beta : float, default 5.0
        Sharpness of the curve.
    penalty : {"l1", "l2"} or None, default "l1"
        Penalty on the hidden weights: ``abs(1 - abs(w))`` or ``(1 - abs(w)) ** 2``.
    penalty_strength : float, default 1e-6
        Its factor.
    **common
        As for :class:`BaselineRegressor`.
    """

    _method = "bnn_plus"
    _sharpness = "beta"

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
        positive("penalty_strength", self.penalty_strength)
        return super()._config(seed)


class BiRealRegressor(BaselineRegressor):
    """Bi-real net*: steps of -1 and 1 with a triangular derivative, and no real-valued shortcuts.

    Parameters
    ----------
    **common
        As for :class:`BaselineRegressor`.
    """

    _method = "bireal"


@inherit_parameters
class QuantizationNetworkRegressor(BaselineRegressor):
    """Quantization network: sigmoids that sharpen every epoch; steps of 0 and 1 in every evaluation.

    Parameters
    ----------
    temperature : float, default 5.0
        Sharpness at the first epoch; twice that at the second, and so on.
    **common
        As for :class:`BaselineRegressor`.
    """

    _method = "quantization"
    _sharpness = "temperature"

    def __init__(self, hidden_layers: Any = (500,), *, temperature: float = 5.0, **common: Any) -> None:
        super().__init__(hidden_layers, **common)
        self.temperature = temperature


class BinaryConnectRegressor(BaselineRegressor):
    """BinaryConnect: hidden weights of -1 and 1, real activations; not a binary activated network.

    It has no ``network_``: its neurons answer real numbers, which no :class:`bgn.Network` can hold.

    Parameters
    ----------
    **common
        As for :class:`BaselineRegressor`.
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
