"""Halve a trained network again and again, fine-tuning after every cut.

A connection's score is its magnitude, its magnitude relative to its layer's, its magnitude times its gradient on one
training batch, or chance. Ranking all connections together is global, each layer by itself layerwise. Biases and batch
norms are neither counted nor cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bgn.baselines.data import Split, Tables, Trained, batches, shuffles
from bgn.baselines.estimators import BaselineRegressor, Floats, ReluNetwork, fold
from bgn.baselines.network import METHODS, Parameters, gradients
from bgn.baselines.training import batch_size, choose_device, train_stack
from bgn.inputs.arguments import chosen
from bgn.model.network import Network

PRUNINGS = ("global_magnitude", "global_scaled", "layer_magnitude", "global_gradient", "layer_gradient", "random")
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
    method : {"global_magnitude", "global_scaled", "layer_magnitude", "global_gradient", "layer_gradient", "random"}
        "global_scaled" divides magnitudes by the root mean square of their layer's: after a batch norm the size of a
        layer's weights means nothing. Global rankings end when a layer would be left empty; layerwise ones keep one
        weight in every layer.
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
    names, target = getattr(estimator, "feature_names_in_", None), getattr(estimator.folded_, "target_name", None)
    device, ways = choose_device(estimator.device), [(method, schedule)]
    cuts = _cuts([estimator.trained_], [estimator.split_], ways, [seed], device)
    for number, pruned in enumerate(cuts, start=1):
        trained = pruned[0]
        folded, rate = fold(trained, names, target), trained.config.learning_rate
        yield Round(number, folded.n_weights, trained.validation_mse, rate, trained, folded)


def prune_many(
    models: Sequence[Trained], splits: Sequence[Split], ways: Sequence[tuple[str, str]], device: str = "cpu"
) -> list[list[Trained]]:
    """Prune several trained networks of one shape side by side, as :func:`prune` does one after the other.

    Parameters
    ----------
    models : sequence of Trained
        As :func:`train_many` returns them; left untouched.
    splits : sequence of Split
        The rows of each, of equal numbers.
    ways : sequence of (method, schedule)
        How each is pruned, as for :func:`prune`.
    device : {"cpu", "cuda", "auto"}

    Returns
    -------
    list of lists of Trained
        The rounds of each, the first halving first. Each step is that of the network alone, up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.baselines import Config, Split, prune_many, train_many
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> split = Split.at_random(X, X[:, 0], seed=0)
    >>> model = train_many([Config("bnn_plus", (16,), max_epochs=10)], split)[0]
    >>> ways = [("layer_magnitude", "paper"), ("layer_gradient", "constant")]
    >>> [len(rounds) for rounds in prune_many([model] * 2, [split] * 2, ways)]
    [5, 5]
    """
    for method, schedule in ways:
        chosen("method", method, PRUNINGS)
        chosen("schedule", schedule, SCHEDULES)
    rounds: list[list[Trained]] = [[] for _ in models]
    for pruned in _cuts(models, splits, ways, [model.config.seed for model in models], choose_device(device)):
        for i, trained in pruned.items():
            rounds[i].append(trained)
    return rounds


def _cuts(
    models: Sequence[Trained],
    splits: Sequence[Split],
    ways: Sequence[tuple[str, str]],
    seeds: Sequence[int],
    device: torch.device,
) -> Iterator[dict[int, Trained]]:
    """Yield the networks with half the connections of the round before, fine-tuned, without those that are done."""
    left = dict(enumerate(models))
    for number in count(1):
        starts: dict[int, Trained] = {}
        for i, model in left.items():
            method, schedule = ways[i]
            start = _cut(model, splits[i], method, number, seeds[i])
            if start is not None:
                rate = models[i].config.learning_rate / 10 ** (number if schedule == "paper" else 1)
                starts[i] = replace(start, config=replace(model.config, learning_rate=rate, seed=seeds[i]))
        if not starts:
            return
        configs, rows = [start.config for start in starts.values()], [splits[i] for i in starts]
        left = dict(zip(starts, train_stack(configs, rows, device, list(starts.values())), strict=True))
        yield left


def _cut(trained: Trained, split: Split, method: str, number: int, seed: int) -> Trained | None:
    """Return a network with half its connections masked; None when nothing can be cut."""
    connections = trained.shape.n_connections
    alive = trained.parameters[:connections] != 0 if trained.mask is None else trained.mask[:connections]
    scores = _scores(trained, split, method, np.random.default_rng([seed, number]))
    left = halve(scores, alive, trained.shape.sizes, layerwise=method.startswith("layer"))
    if left is None:
        return None
    mask = np.ones(trained.shape.n_parameters, dtype=bool)
    mask[:connections] = left
    return replace(trained, mask=mask)


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
    weights = trained.parameters[: trained.shape.n_connections].astype(np.float64)
    if method == "random":
        return generator.random(len(weights))
    if method == "global_scaled":
        parts = [part[part != 0] for part in np.split(weights, np.cumsum(trained.shape.sizes)[:-1])]
        sizes = [np.sqrt(np.mean(part**2)) if len(part) else 1.0 for part in parts]
        return np.abs(weights) / np.repeat(sizes, trained.shape.sizes)
    if method.endswith("magnitude"):
        return np.abs(weights)
    return np.abs(weights * batch_gradients(trained, split))


def batch_gradients(trained: Trained, split: Split) -> Floats:
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
    derivatives = Parameters(shape, torch.zeros_like(pieces.table))
    sharpness = torch.tensor(config.sharpness, dtype=torch.float64).reshape(1, 1, 1)
    gradients(pieces, derivatives, running, x, y, surrogate, surrogate.sharpness(sharpness, 1), mask)
    return np.asarray(derivatives.table[0, : shape.n_connections].numpy())
