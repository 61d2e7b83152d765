"""SHAP values of a network: for features, neurons and connections, against the whole of a background.

With ``v(Q)`` the mean prediction when the columns Q come from the row and the others from the background, a feature's
value is its Shapley share of ``f(x) - v(nothing)``. For one hidden layer it is exact and costs a few sorts per neuron
(:mod:`bgn.explain.shap.coalitions`). Of classes the scores are explained, which add up: log-odds, or one per class.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.shap.coalitions import Game, Slots, SortedColumns, add_shares, averages, games, shapley_weights
from bgn.explain.shap.sampling import sampled_shares
from bgn.explain.subject import (
    background_of, binary_network, class_labels, class_number, probabilities_of, rows_of, score_of, swapped,
)  # fmt: skip
from bgn.model.network import Network, on_gpu
from bgn.model.schema import Level
from bgn.model.step import Floats, any_output
from bgn.model.terms import outputs_of
from bgn.pipelines import through_pipelines
from bgn.require import require

MAX_PLAYERS = 10
"""Most inputs whose coalitions are enumerated: of a neuron with one hidden layer, of the network with more."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a network predicts what it predicts, row by row.

    Attributes
    ----------
    values : ndarray, shape (rows, features), or (rows, features, classes) where there are more than two
        SHAP values: ``base_value + values.sum(axis=1)`` is the prediction; with classes the score, which for two
        classes is the log-odds of the second.
    base_value : float, or ndarray of shape (classes,)
        Mean prediction, or score, over the background.
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
    classes : tuple, or None
        The labels of the classes; None where a number is predicted. With more than two, `neuron_values` and
        `connection_values` have a last axis of classes, too.
    probabilities : ndarray of shape (rows, classes), or None
        What is predicted for the rows; with classes only.
    """

    values: Floats
    base_value: Any
    neuron_values: Floats
    connections: NDArray[np.int64]
    connection_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    method: str
    standard_error: Floats | None
    network: Network
    background: Floats
    classes: tuple[Level, ...] | None = None
    probabilities: Floats | None = None

    def of_class(self, label: Any) -> Explanation:
        """Return the explanation of one class's score; of two classes, of the log-odds of either.

        Parameters
        ----------
        label : str, number or bool
            One of `classes`.

        Returns
        -------
        Explanation
            With `values` of shape (rows, features), as plots take it.
        """
        if self.classes is None:
            raise ValueError("of_class needs classes; this explanation is of a number.")
        number, whole = class_number(self.network, label, "label"), self.values.ndim == 2
        if whole and number == 1:
            return self
        parts = ("values", "neuron_values", "connection_values", "base_value")
        taken = {name: -getattr(self, name) if whole else getattr(self, name)[..., number] for name in parts}
        error = self.standard_error if whole or self.standard_error is None else self.standard_error[..., number]
        # Two classes: the network whose second class is the one asked for.
        network = swapped(self.network) if whole else score_of(self.network, label)
        classes = self.classes[::-1] if whole else None
        shown = self.probabilities[:, ::-1] if whole and self.probabilities is not None else None
        return replace(self, **taken, standard_error=error, network=network, classes=classes, probabilities=shown)

    def interaction_values(self) -> Floats:
        """Return exact SHAP interaction values, shape (rows, features, features); with K > 2 classes, (..., classes).

        Off the diagonal stands half the interaction of a pair, on it what the feature does alone; a row's matrix sums
        to its `values` along either axis.

        Returns
        -------
        ndarray of float64
        """
        if self.method != "exact":
            raise ValueError("interaction_values needs method='exact'; these values were sampled.")
        if self.values.ndim == 3:
            each = [self.of_class(label).interaction_values() for label in self.classes or ()]
            return np.stack(each, axis=-1)
        if self.values.ndim == 3:
            each = [self.of_class(label).interaction_values() for label in self.classes or ()]
            return np.stack(each, axis=-1)
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
            base_values=np.tile(self.base_value, (len(self.values), 1) if self.values.ndim == 3 else len(self.values)),
            data=self.data.copy(),
            feature_names=list(self.feature_names),
        )

    def __repr__(self) -> str:
        rows, features = self.values.shape[:2]
        if self.values.ndim == 3:
            return f"Explanation({rows} rows, {features} features, {self.values.shape[2]} classes, {self.method})"
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
        With classes the scores are explained, since they add up: the log-odds of the second of two classes, or one
        score per class. `Explanation.probabilities` stands beside them.
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

    Two classes, in log-odds:

    >>> explanation = shap_values(network.changed(link="logistic"), [[2.0, 4.0]], background=[[1.0, 1.0], [3.0, 1.0]])
    >>> explanation.values.round(3), explanation.probabilities.round(3)
    (array([[1.25, 0.75]]), array([[0.011, 0.989]]))
    """
    network = binary_network(model)
    rows, drawn = rows_of(network, X, "X"), background_of(model, network, background)
    if method not in ("auto", "exact", "sampled"):
        raise ValueError(f"method must be 'auto', 'exact' or 'sampled'; got {method!r}.")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}.")
    scores = outputs_of(network)
    on_device = X if on_gpu(X) and scores[0].plain and network.depth == 1 else None
    if len(scores) > 1 and not _sampling(games(_unweighted(network)), method):
        found = _weighted(explain_rows(_unweighted(network), rows, drawn, method, on_device=on_device), scores)
    else:
        seed = np.random.default_rng(random_state).integers(1 << 32)  # the same permutations for all classes
        each = [explain_rows(score, rows, drawn, method, n_samples, np.random.default_rng(seed), on_device)
                for score in scores]  # fmt: skip
        found = each[0] if len(each) == 1 else _stacked(each)
    if network.link == "identity":
        return found
    probabilities = probabilities_of(network, network._raw_score(rows))
    return replace(found, network=network, classes=class_labels(network), probabilities=probabilities)


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
    error = None
    if _sampling(parts, method):
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
            f"SHAP values are sampled: {_most_players(parts)} inputs have too many coalitions (the most is {MAX_PLAYERS}). Their "
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


def _unweighted(network: Network) -> Network:
    """Return the score whose every question that reaches any output counts for 1: those of all classes follow."""
    alike = any_output(network.output_weights).astype(np.float64)
    return outputs_of(network)[0].changed(output_weights=alike, base=0.0)


def _weighted(unit: Explanation, scores: Sequence[Network]) -> Explanation:
    """Return the exact explanation of several scores from that of the one in which all questions count alike."""
    weights = np.stack([score.output_weights for score in scores], axis=1)
    shares = unit.connection_values[:, :, np.newaxis] * weights[unit.connections[:, 1]]
    totals = np.zeros((len(unit.feature_names), len(unit.data), len(scores)))
    for place, feature in enumerate(unit.connections[:, 0]):
        totals[feature] += shares[:, place]
    expected = unit.network._hidden(unit.background).mean(axis=0)
    return replace(
        unit, values=totals.transpose(1, 0, 2), base_value=np.array([each.base for each in scores]) + expected @ weights,
        neuron_values=unit.neuron_values[:, :, np.newaxis] * weights, connection_values=shares,
    )  # fmt: skip


def _stacked(each: Sequence[Explanation]) -> Explanation:
    """Return the explanations of several scores as one, with a last axis of classes."""
    parts = ("values", "neuron_values", "connection_values", "standard_error")
    joined = {name: np.stack([getattr(one, name) for one in each], axis=-1) for name in parts}
    return replace(each[0], base_value=np.array([one.base_value for one in each]), **joined)


def _most_players(parts: Sequence[Game]) -> int:
    return max((len(game.players) for game in parts), default=0)


def _sampling(parts: Sequence[Game], method: str) -> bool:
    """Whether permutations are sampled: where told, or where coalitions are too many."""
    return method == "sampled" or (method == "auto" and _most_players(parts) > MAX_PLAYERS)


def _unweighted(network: Network) -> Network:
    """Return the score whose every question that reaches any output counts for 1: those of all classes follow."""
    alike = any_output(network.output_weights).astype(np.float64)
    return outputs_of(network)[0].changed(output_weights=alike, base=0.0)


def _of_classes(network: Network, scores: Sequence[Network], unit: Explanation) -> Explanation:
    """Return the explanation of every class's score from that of the score in which all questions count alike."""
    weights = np.stack([score.output_weights for score in scores], axis=1)
    shares = unit.connection_values[:, :, np.newaxis] * weights[unit.connections[:, 1]]
    totals = np.zeros((network.n_inputs, len(unit.data), len(scores)))
    for place, feature in enumerate(unit.connections[:, 0]):
        totals[feature] += shares[:, place]
    expected = network._hidden(unit.background).mean(axis=0)
    error = None
    if unit.standard_error is not None:  # a share's error is at most the largest weight times that of the plain share
        error = unit.standard_error[:, :, np.newaxis] * np.abs(weights).max(axis=0)
    found = replace(
        unit, values=totals.transpose(1, 0, 2), base_value=network.base + expected @ weights,
        neuron_values=unit.neuron_values[:, :, np.newaxis] * weights, connection_values=shares, standard_error=error,
    )  # fmt: skip
    return _with_classes(network, unit.data, network=network, found=found)


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
