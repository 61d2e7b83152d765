"""The scikit-learn face that the five methods share: validate, split, train, fold."""

from __future__ import annotations

import warnings
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bgn.baselines.config import Config
from bgn.baselines.data import Split
from bgn.baselines.folding import Floats, ReluNetwork, fold
from bgn.baselines.training import train_many
from bgn.estimator_state import take_over, unfitted
from bgn.inputs.arguments import seed_of
from bgn.inputs.tables import LARGEST_SQUARED, representable, table
from bgn.model.network import Network


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

    _method = ""

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
        return take_over(self, unfitted(self)._fit(X, y, eval_set))

    def _fit(self, X: Any, y: Any, eval_set: tuple[Any, Any] | None) -> Self:
        target_name = getattr(y, "name", None)
        X, y = self._table(X, y, least=2 if eval_set is None else 1)
        seed = _seed(self.random_state)
        config = self._config(seed)
        self.split_ = self._split(X, y, eval_set, seed)
        self.trained_ = train_many([config], self.split_, self.device)[0]
        self.history_ = self.trained_.history
        self.best_epoch_ = self.trained_.best_epoch
        self.validation_mse_ = self.trained_.validation_mse
        if self.trained_.note:
            warnings.warn(f"{type(self).__name__} {self.trained_.note}.", ConvergenceWarning, stacklevel=3)
        names = getattr(self, "feature_names_in_", None)
        self._keep(fold(self.trained_, names, target_name if isinstance(target_name, str) else None))
        return self

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
        return self.folded_.predict(table(self, X, reset=False, dtype=np.float64))

    def _table(self, X: Any, y: Any, **how: Any) -> tuple[Floats, Floats]:
        X, y = table(self, X, y, dtype=np.float64, **how)
        names = getattr(self, "feature_names_in_", None)
        representable(np.abs(X).max(axis=0), y.min(), y.max(), names, LARGEST_SQUARED)
        return X, y

    def _keep(self, folded: Network | ReluNetwork) -> None:
        """Store the network that `predict` uses."""
        self.folded_ = folded
        self.network_ = folded

    def _split(self, X: Floats, y: Floats, eval_set: tuple[Any, Any] | None, seed: int) -> Split:
        """Return the rows to train on and the rows to stop by."""
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
        """Return the parameters as training wants them, or say which is wrong."""
        own = self.get_params(deep=False)
        named = {each.name: own[each.name] for each in fields(Config) if each.name in own}
        widths = tuple(np.atleast_1d(self.hidden_layers).tolist())
        made = {"method": self._method, "seed": seed, "hidden_layers": widths, "scale_target": bool(self.scale_target)}
        return Config(**(named | made))


def _seed(random_state: Any) -> int:
    """Return an integer as it is, and a draw from anything else that scikit-learn takes."""
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    return seed_of(random_state)
