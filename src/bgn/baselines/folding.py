"""A trained model as a :class:`bgn.Network`, in original units and float64.

Batch norms, input scaling and target scaling are affine, so they fold into weights and biases; answers 0 and 1
become -1 and 1 by halving the weights that read them. Zeros stay zeros: the count of non-zero weights survives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.baselines.config import Trained
from bgn.baselines.network import EPSILON, effective_weights
from bgn.baselines.surrogates import METHODS
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
        """Number of non-zero connection weights, hidden and output."""
        hidden = sum(np.count_nonzero(weights) for weights, _ in self.layers)
        return int(hidden + np.count_nonzero(self.output_weights))

    def predict(self, X: Any) -> Floats:
        """Return the predicted value of every row."""
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
    weights = [each[0].numpy().copy() for each in effective_weights(pieces, surrogate, mask)]
    biases = [np.zeros(len(each)) for each in weights]
    output, base = pieces.output[0, 0].numpy().copy(), pieces.base.item()
    if surrogate.levels == (0.0, 1.0):
        for above, bias in zip(weights[1:], biases[1:], strict=True):
            bias += above.sum(axis=1) / 2
            above /= 2
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
    biases[0] -= weights[0] @ (scaling.center / scaling.spread)
    weights[0] /= scaling.spread
    output *= scaling.target_spread
    base = base * scaling.target_spread + scaling.target_center
    if surrogate.levels is None:
        return ReluNetwork(tuple(zip(weights, biases, strict=True)), output, base)
    layers = [Layer(layer, bias) for layer, bias in zip(weights, biases, strict=True)]
    return Network(layers, output, base, feature_names, target_name)
