"""How much features, neurons and connections matter over a table: the three levels of the paper's drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.explain.crossings import summands
from bgn.explain.shap import SortedColumns, coalition_counts, count_differing, explain_rows, shapley_weights
from bgn.explain.arguments import background_of, rows_of
from bgn.model.network import Network
from bgn.model.readings import network_of, outputs_of
from bgn.model.step import Floats
from bgn.model.term import Oblique
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import quote_name


def _shares(values: Floats, axis: int | None = None) -> Floats:
    """Return `values` over their sum, zero where the sum is zero."""
    total = values.sum(axis=axis, keepdims=axis is not None)
    return np.divide(values, total, out=np.zeros_like(values), where=np.broadcast_to(total > 0, values.shape))


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Tabular):
    """Importance of features, connections and neurons; each has a relative twin that sums to 1.

    Attributes
    ----------
    features : ndarray, shape (features,)
        SI in the paper, in the units of the prediction; with classes in those of the scores, and the mean over the
        classes where there are more than two.
    connections : ndarray, shape (features, neurons)
        R in the paper: of a feature for a neuron of the last hidden layer.
    neurons : ndarray, shape (neurons,)
        Mean absolute Linear SHAP value of each neuron of the last hidden layer.
    feature_names : tuple of str
        Names of the columns.
    kind : {"shap", "paper"}
        How features and connections are measured.
    by_class : ndarray of shape (features, classes), or None
        With more than two classes, the importance of the features for each class's score.
    standard_error : ndarray of shape (features,), or None
        Of `features`, from how far the networks of an average lie apart; None for other networks. The networks differ
        in which of several like columns they ask about, so that their importances lie apart more than that of the mean.
    """

    features: Floats
    connections: Floats
    neurons: Floats
    feature_names: tuple[str, ...]
    kind: str
    by_class: Floats | None = None
    standard_error: Floats | None = None

    def _columns(self) -> Columns:
        order = np.argsort(-self.features, kind="stable")
        names = {"feature": [self.feature_names[j] for j in order], "importance": self.features[order].tolist()}
        spread = {} if self.standard_error is None else {"standard error": self.standard_error[order].tolist()}
        return {**names, "share": self.relative_features[order].tolist(), **spread}

    @property
    def relative_features(self) -> Floats:
        """Shares of `features` (rSI in the paper); they sum to 1 unless all are 0."""
        return _shares(self.features)

    @property
    def relative_connections(self) -> Floats:
        """Shares of the features within each neuron: every column of `connections` over its sum."""
        return _shares(self.connections, axis=0)

    @property
    def relative_terms(self) -> Floats:
        """Shares of `neurons`; they sum to 1 unless all are 0."""
        return _shares(self.neurons)

    def __repr__(self) -> str:
        shares = self.relative_features
        order = [i for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
        shown = ", ".join(f"{quote_name(self.feature_names[i])} {shares[i]:.1%}" for i in order[:6])
        more = f" and {len(order) - 6} more" if len(order) > 6 else ""
        return f"Importance({shown or 'nothing matters'}{more}; kind {self.kind!r})"


@through_pipelines("X", "background")
def importance(model: Any, X: Any, background: Any = None, kind: str = "shap") -> Importance:
    """Return the importance of features, connections and neurons over the rows of a table.

    ``kind="shap"`` is the mean absolute SHAP value: how far a feature moves a prediction, on average, from what it
    would be were the feature unknown. ``kind="paper"`` is the algorithm "1-BANN SHAP": it takes the absolute value of
    the change between a row and *one* background row before averaging, so that changes which cancel over the background
    still count. It is never below the mean absolute SHAP value, and larger for features that push up and down about
    equally often. Neurons are measured alike by both. The printed algorithm divides the sum over pairs of rows by the
    number of rows; here it is their mean, so that both kinds are in the units of the prediction (relative importance
    is the same). Its weight C is the corrected one.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, shape (rows, features)
        Rows over which to average.
    background : array_like or frame, optional
        What a feature is compared with when unknown; `X` itself by default, as in the paper.
    kind : {"shap", "paper"}, default "shap"
        "paper" needs a network with one hidden layer, and a loop over pairs of rows for neurons of three inputs and
        more.

    Returns
    -------
    Importance

    Examples
    --------
    >>> from bgn import Layer, Network, importance
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> rows = [[1.0, 1.0], [3.0, 1.0], [0.0, 9.0], [2.0, 4.0]]
    >>> importance(network, rows)
    Importance(rooms 68.0%, age 32.0%; kind 'shap')
    >>> importance(network, rows, kind="paper").relative_terms
    array([0.66666667, 0.33333333])
    """
    network = network_of(model, plain=False)
    if kind == "paper" and network.linear:
        raise ValueError("kind='paper' is for binary activated networks; this one has slopes. Use kind='shap'.")
    rows = rows_of(network, X, "X")
    drawn = rows if background is None else background_of(model, network, background)
    if kind not in ("shap", "paper"):
        raise ValueError(f"kind must be 'shap' or 'paper'; got {kind!r}.")
    if kind == "paper" and network.depth > 1:
        raise ValueError(f"kind='paper' needs one hidden layer; got {network.depth}. Use kind='shap'.")
    found = _of_network(network, rows, drawn, kind)
    if network.members is None:
        return found
    features = [_of_network(one, rows, drawn, kind).features for one in network.members.networks(network)]
    return replace(found, standard_error=network.members.standard_error(features))


def _of_network(network: Network, rows: Floats, drawn: Floats, kind: str) -> Importance:
    """Return the importance for the number that is predicted, or for all classes."""
    each = [_of_score(score, rows, drawn, kind) for score in outputs_of(network)]
    if len(each) == 1:
        return each[0]
    parts = ("features", "connections", "neurons")
    means = {name: np.mean([getattr(one, name) for one in each], axis=0) for name in parts}
    return replace(each[0], **means, by_class=np.stack([one.features for one in each], axis=1))


def _of_score(network: Network, rows: Floats, drawn: Floats, kind: str) -> Importance:
    """Return the importance for one output."""
    if kind == "paper":
        matrix = _paper(network, rows, drawn)
        features = matrix.sum(axis=1)
    else:
        explanation = explain_rows(network, rows, drawn)
        features = np.abs(explanation.values).mean(axis=0)
        matrix = np.zeros((network.n_inputs, network.widths[-1]))
        matrix[tuple(explanation.connections.T)] = np.abs(explanation.connection_values).mean(axis=0)
    expected = network._hidden(drawn).mean(axis=0)
    neurons = np.abs((network._hidden(rows) - expected) * network.output_weights).mean(axis=0)
    return Importance(features, matrix, neurons, network.names, kind)


def _paper(network: Network, rows: Floats, background: Floats) -> Floats:
    """Return the matrix R of Algorithm "1-BANN SHAP", as a mean over pairs of rows."""
    matrix = np.zeros((network.n_inputs, network.widths[0]))
    table, drawn = SortedColumns(rows), SortedColumns(background)
    for k in np.flatnonzero(network.output_weights):
        neuron = network.layers[0].neurons[k]
        weights = shapley_weights(len(neuron.projection.columns))
        scale = 2.0 * abs(network.output_weights[k]) / (len(rows) * len(background))
        for place, coalition, changes in _changes(neuron, table, drawn):
            matrix[neuron.projection.columns[place], k] += scale * weights[coalition.bit_count()] * changes
    return matrix


def _changes(neuron: Oblique, rows: SortedColumns, drawn: SortedColumns) -> Iterator[tuple[int, int, int]]:
    """Yield for every input and coalition without it the number of pairs of rows whose answer the input changes."""
    # Of the background rows that fire as they are, how many still do: where nothing else is known.
    firing = SortedColumns(drawn.rows[neuron.fires(drawn.rows)])
    places = range(len(neuron.projection.columns))
    everyone = (1 << len(places)) - 1
    counts, kept = (
        [coalition_counts(neuron, coalition, rows, background) for coalition in range(everyone + 1)]
        for background in (drawn, firing)
    )
    for place in places:
        for coalition in range(everyone + 1):
            joined = coalition | 1 << place
            if joined == coalition:
                continue
            if joined == everyone:
                changes = np.abs(counts[everyone] - counts[coalition])
            elif coalition == 0:
                changes = counts[joined] + counts[0] - 2 * kept[joined]
            else:
                known = np.array([bool(coalition >> bit & 1) for bit in places])
                changes = np.empty(len(rows.rows), dtype=np.int64)
                fixed, other = (np.ascontiguousarray(summands(neuron, side.rows).T) for side in (rows, drawn))
                count_differing(fixed, other, known, place, neuron.threshold, changes)
            yield place, coalition, int(changes.sum())
