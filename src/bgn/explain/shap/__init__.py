"""SHAP values of a network: for features, neurons and connections, against the whole of a background.

With ``v(Q)`` the mean prediction when the columns Q come from the row and the others from the background, a feature's
value is its Shapley share of ``f(x) - v(nothing)``. For one hidden layer it is exact and costs a few sorts per neuron
(:mod:`bgn.explain.shap.coalitions`).
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.shap.coalitions import Game, Slots, SortedColumns, add_shares, averages, games, shapley_weights
from bgn.explain.shap.sampling import sampled_shares
from bgn.explain.subject import background_of, network_of_questions, rows_of
from bgn.model.network import Network, on_gpu
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.require import require

MAX_PLAYERS = 10
"""Most inputs whose coalitions are enumerated: of a neuron with one hidden layer, of the network with more."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a network predicts what it predicts, row by row.

    Attributes
    ----------
    values : ndarray, shape (rows, features)
        SHAP values: ``base_value + values.sum(axis=1)`` is the prediction.
    base_value : float
        Mean prediction over the background.
    neuron_values : ndarray, shape (rows, neurons)
        Linear SHAP values of the last hidden layer: what each neuron adds to the base value. They add up too.
    connections : ndarray of int, shape (connections, 2)
        Feature and last-layer neuron of every column of `connection_values`: the pairs where the feature can reach
        the neuron.
    connection_values : ndarray, shape (rows, connections)
        Share of a feature in what a neuron adds: summed over neurons they are `values`, over features
        `neuron_values`.
    data : ndarray, shape (rows, features)
        The rows explained, as the network reads them: a category as the number of its level, a gap as NaN.
    feature_names : tuple of str
        Names of the columns.
    method : {"exact", "sampled"}
        How the values were found.
    standard_error : ndarray of shape (rows, features), or None
        Of `values`, when sampled; None when exact.
    network : Network
        What was explained.
    background : ndarray, shape (any number of rows, features)
        What it was compared with.
    """

    values: Floats
    base_value: float
    neuron_values: Floats
    connections: NDArray[np.int64]
    connection_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    method: str
    standard_error: Floats | None
    network: Network
    background: Floats

    def interaction_values(self) -> Floats:
        """Return exact SHAP interaction values, shape (rows, features, features).

        Off the diagonal stands half the interaction of a pair, on it what the feature does alone; a row's matrix sums
        to its `values` along either axis.

        Returns
        -------
        ndarray of float64
        """
        if self.method != "exact":
            raise ValueError("interaction_values needs method='exact'; these values were sampled.")
        n, d = self.values.shape
        pairs = np.zeros((d, d, n))
        rows, background = SortedColumns(self.data), SortedColumns(self.background)
        for game in games(self.network):
            output = self.network.output_weights[list(game.neurons)]
            weights = shapley_weights(len(game.players) - 1)
            for coalition, means in averages(self.network, game, rows, background):
                value = output @ means / 2.0
                for a, first in enumerate(game.players):
                    for b, second in enumerate(game.players[:a]):
                        inside = (coalition >> a & 1) + (coalition >> b & 1)
                        weight = weights[coalition.bit_count() - inside]
                        pairs[first, second] += (-weight if inside == 1 else weight) * value
        pairs += pairs.transpose(1, 0, 2)
        pairs[np.arange(d), np.arange(d)] = self.values.T - pairs.sum(axis=1)
        return pairs.transpose(2, 0, 1)

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation`` of the features' values, so that shap's plots work.

        Returns
        -------
        shap.Explanation
        """
        shap = require("shap", extra="shap")
        return shap.Explanation(
            values=self.values.copy(),
            base_values=np.full(len(self.values), self.base_value),
            data=self.data.copy(),
            feature_names=list(self.feature_names),
        )

    def __repr__(self) -> str:
        rows, features = self.values.shape
        return f"Explanation({rows} rows, {features} features, base value {self.base_value:.6g}, {self.method})"


@through_pipelines("X", "background")
def shap_values(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    method: str = "auto",
    n_samples: int = 512,
    random_state: int | np.random.Generator | None = None,
) -> Explanation:
    """Return the SHAP values of every row, against the whole background.

    With one hidden layer the values are exact, and cost a few sorts of the background for every neuron. A deeper
    network is exact, by enumeration, while it uses at most ten features (so is a single layer while no neuron reads
    more than ten). Beyond that permutations are sampled, with a standard error and a warning.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, shape (rows, features)
        The rows to explain. Of a CUDA tensor, the exact values of one hidden layer are found on its GPU; the result
        holds arrays, with the same bits.
    background : array_like or frame, shape (any number of rows, features)
        What a feature is compared with when it is unknown; all rows are used. May be left out when the model has
        ``background_``.
    method : {"auto", "exact", "sampled"}, default "auto"
        "exact" and "sampled" force one or the other.
    n_samples : int, default 512
        Number of sampled permutations, each walked both ways.
    random_state : int, Generator or None
        For the sampled permutations.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from bgn import Layer, Network, shap_values
    >>> network = Network([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> explanation = shap_values(network, [[2.0, 4.0]], background=[[1.0, 1.0], [3.0, 1.0], [0.0, 9.0]])
    >>> explanation.values.round(3)
    array([[1.5, 0.5]])
    >>> float(explanation.base_value + explanation.values.sum()), float(network.predict([[2.0, 4.0]])[0])
    (4.5, 4.5)
    """
    network = network_of_questions(model)
    rows, drawn = rows_of(network, X, "X"), background_of(model, network, background)
    if method not in ("auto", "exact", "sampled"):
        raise ValueError(f"method must be 'auto', 'exact' or 'sampled'; got {method!r}.")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}.")
    on_device = X if on_gpu(X) and network.plain and network.depth == 1 else None
    return explain_rows(network, rows, drawn, method, n_samples, np.random.default_rng(random_state), on_device)


def explain_rows(
    network: Network,
    rows: Floats,
    background: Floats,
    method: str = "auto",
    n_samples: int = 512,
    rng: np.random.Generator | None = None,
    on_device: Any = None,
) -> Explanation:
    """Return the SHAP values of rows as the network reads them; `on_device` may hold the same rows on a GPU."""
    parts, connections = games(network), _connections(network)
    slots = {pair: slot for slot, pair in enumerate(map(tuple, connections.tolist()))}
    largest = max((len(game.players) for game in parts), default=0)
    error = None
    if method == "sampled" or (method == "auto" and largest > MAX_PLAYERS):
        expected, neuron_values = _linear(network, rows, background)
        rng = np.random.default_rng() if rng is None else rng
        shares, error = sampled_shares(network, rows, background, n_samples, rng, neuron_values, slots)
    elif on_device is not None:
        exact_shares = importlib.import_module("bgn.explain.shap.gpu").exact_shares
        expected, neuron_values, shares = exact_shares(network, parts, on_device, background, slots)
    else:
        expected, neuron_values = _linear(network, rows, background)
        shares = _exact(network, parts, rows, background, slots)
    if error is not None and method == "auto":
        warnings.warn(
            f"SHAP values are sampled: {largest} inputs have too many coalitions (the most is {MAX_PLAYERS}). Their "
            f"standard error is at most {error.max():.3g}; raise n_samples for less, or pass method='exact'.",
            stacklevel=3,
        )
    totals = np.zeros((network.n_inputs, len(rows)))
    for feature, share in zip(connections[:, 0], shares, strict=True):
        totals[feature] += share
    return Explanation(
        values=totals.T,
        base_value=float(network.base + expected @ network.output_weights),
        neuron_values=neuron_values,
        connections=connections,
        connection_values=shares.T,
        data=rows,
        feature_names=network.names,
        method="exact" if error is None else "sampled",
        standard_error=error,
        network=network,
        background=background,
    )


def _connections(network: Network) -> NDArray[np.int64]:
    """Return the (feature, last-layer neuron) pairs that non-zero weights join, neuron by neuron."""
    reach = np.eye(network.n_inputs, dtype=bool)
    for layer in network.layers:
        reach = layer.reads @ reach
    neurons, features = np.nonzero(reach)
    return np.column_stack([features, neurons])


def _linear(network: Network, rows: Floats, background: Floats) -> tuple[Floats, Floats]:
    """Return the mean answers of the last layer over the background, and what each neuron adds for every row."""
    expected = network._hidden(background).mean(axis=0)
    return expected, (network._hidden(rows) - expected) * network.output_weights


def _exact(network: Network, parts: list[Game], rows: Floats, background: Floats, slots: Slots) -> Floats:
    """Return the shares of the connections, one row of `slots` each: every coalition's part added up."""
    shares, table, drawn = np.zeros((len(slots), len(rows))), SortedColumns(rows), SortedColumns(background)
    for game in parts:
        for coalition, means in averages(network, game, table, drawn):
            add_shares(network, game, coalition, means, shares, slots)
    return shares
