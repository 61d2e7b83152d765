"""Halve a trained network again and again, fine-tuning after every cut.

A connection's score is its magnitude, its magnitude times its slope on one training batch, or chance. Ranking all
connections together is global, each layer by itself layerwise. Biases and batch norms are neither counted nor cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bgn.baselines.base import BaselineRegressor
from bgn.baselines.config import Trained
from bgn.baselines.data import Split, Tables, batches, shuffles
from bgn.baselines.folding import Floats, ReluNetwork, fold
from bgn.baselines.network import Pieces, gradients
from bgn.baselines.surrogates import METHODS
from bgn.baselines.training import batch_size, choose_device, train_stack
from bgn.inputs.arguments import chosen
from bgn.model.network import Network

PRUNINGS = ("global_magnitude", "layer_magnitude", "global_gradient", "layer_gradient", "random")
SCHEDULES = ("paper", "constant")


@dataclass(frozen=True, eq=False)
class Round:
    """A pruned and fine-tuned network.

    Attributes
    ----------
    round : int
        1 after the first halving.
    n_weights : int
        Non-zero connection weights, hidden and output.
    validation_mse : float
        Error on the rows that the estimator held out.
    learning_rate : float
        What fine-tuning started with.
    trained : Trained
        The numbers as they were trained.
    """

    round: int
    n_weights: int
    validation_mse: float
    learning_rate: float
    trained: Trained
    folded_: Network | ReluNetwork

    @property
    def network(self) -> Network:
        """The folded network; BinaryConnect has none."""
        if isinstance(self.folded_, ReluNetwork):
            raise AttributeError(
                "a pruned BinaryConnect has no network: its activations are real (ReLU), only its weights are binary. "
                "Use predict."
            )
        return self.folded_

    def predict(self, X: Any) -> Floats:
        """Return the predicted value of every row."""
        return self.folded_.predict(X)


def prune(
    estimator: BaselineRegressor,
    method: str = "global_magnitude",
    schedule: str = "paper",
    random_state: int | None = None,
) -> Iterator[Round]:
    """Yield ever smaller versions of a fitted baseline, each with half the weights of the one before.

    Parameters
    ----------
    estimator : BaselineRegressor
        Fitted; left untouched.
    method : {"global_magnitude", "layer_magnitude", "global_gradient", "layer_gradient", "random"}
        Global rankings end when a layer would be left empty; layerwise ones keep a weight in every layer.
    schedule : {"paper", "constant"}
        Rate of fine-tuning: the first rate divided by 10 once more every round, or by 10 in all rounds.
    random_state : int, optional
        For ``"random"`` and for the order of the rows; the estimator's own seed when not given.

    Yields
    ------
    Round

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import BNNPlusRegressor, prune
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = BNNPlusRegressor((16,), random_state=0, max_epochs=10).fit(X, X[:, 0])
    >>> model.network_.n_weights, [small.n_weights for small in prune(model, "layer_magnitude")]
    (64, [32, 16, 8, 4, 2])
    """
    chosen("method", method, PRUNINGS)
    chosen("schedule", schedule, SCHEDULES)
    check_is_fitted(estimator)
    seed = estimator.trained_.config.seed if random_state is None else random_state
    return _rounds(estimator, method, schedule, seed)


def _rounds(estimator: BaselineRegressor, method: str, schedule: str, seed: int) -> Iterator[Round]:
    """Cut, fine-tune, fold, until nothing can be cut."""
    trained, split = estimator.trained_, estimator.split_
    device = choose_device(estimator.device)
    names, target = getattr(estimator, "feature_names_in_", None), getattr(estimator.folded_, "target_name", None)
    first_rate = trained.config.learning_rate
    alive = trained.parameters[: trained.shape.n_connections] != 0
    number = 0
    while True:
        number += 1
        scores = _scores(trained, split, method, np.random.default_rng([seed, number]))
        left = halve(scores, alive, trained.shape.sizes, layerwise=method.startswith("layer"))
        if left is None:
            return
        alive = left
        rate = first_rate / 10 ** (number if schedule == "paper" else 1)
        mask = np.ones(trained.shape.n_parameters, dtype=bool)
        mask[: len(alive)] = alive
        config = replace(trained.config, learning_rate=rate, seed=seed)
        trained = train_stack([config], [split], device, start=replace(trained, mask=mask))[0]
        folded = fold(trained, names, target)
        yield Round(number, folded.n_weights, trained.validation_mse, rate, trained, folded)


def halve(
    scores: Floats, alive: NDArray[np.bool_], sizes: tuple[int, ...], layerwise: bool
) -> NDArray[np.bool_] | None:
    """Return which connections are left when the lower half goes, or None when that cannot be.

    Of equal scores the later connection goes first. `sizes` are the connections of every layer, output included.
    """
    edges = np.cumsum((0, *sizes))
    parts = [slice(low, high) for low, high in pairwise(edges)]
    left = np.zeros_like(alive)
    for part in parts if layerwise else [slice(0, edges[-1])]:
        where = np.flatnonzero(alive[part])
        size = max(1, len(where) // 2) if layerwise else len(where) // 2
        best = where[np.argsort(-scores[part][where], kind="stable")[:size]]
        left[part.start + best] = True
    if left.sum() == alive.sum() or not all(left[part].any() for part in parts):
        return None
    return left


@torch.no_grad()
def _scores(trained: Trained, split: Split, method: str, generator: np.random.Generator) -> Floats:
    """Return the score of every connection."""
    weights = trained.parameters[: trained.shape.n_connections].astype(np.float64)
    if method == "random":
        return generator.random(len(weights))
    if method.endswith("magnitude"):
        return np.abs(weights)
    return np.abs(weights * batch_slopes(trained, split))


def batch_slopes(trained: Trained, split: Split) -> Floats:
    """Return d error / d weight of every connection on the first batch of the first epoch, in float64.

    The sharpness is that of a first epoch, from which fine-tuning starts again.
    """
    shape, config = trained.shape, trained.config
    tables = Tables.of([split], config.scale_target, torch.device("cpu"))
    rows = shuffles(len(split.X), torch.tensor([config.seed]), 1)[0]
    low, high = batches(len(split.X), batch_size(config, split))[0]
    x, y = (tensor[:, rows[low:high]] for tensor in tables.train)
    surrogate = METHODS[config.method]
    pieces, running, mask = trained.pieces()
    slopes = Pieces(shape, torch.zeros_like(pieces.table))
    sharpness = torch.tensor(config.sharpness, dtype=torch.float64).reshape(1, 1, 1)
    gradients(pieces, slopes, running, x, y, surrogate, surrogate.sharpness(sharpness, 1), mask)
    return np.asarray(slopes.table[0, : shape.n_connections].numpy())
