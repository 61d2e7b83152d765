"""How much features, terms and connections matter over a table: the three levels of the paper's drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.compiling import compiled
from bgn.explain.arguments import background_of, rows_of
from bgn.explain.crossings import fires, summands
from bgn.explain.shap import SortedColumns, explain_rows, gains_of, holding_counts, shapley_weights, term_worth
from bgn.model.network import Network
from bgn.model.readings import network_of
from bgn.model.step import Floats
from bgn.model.term import Oblique
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import quote_name


@through_pipelines("X", "background")
def importance(model: Any, X: Any, background: Any = None, kind: str = "shap") -> Importance:
    """Return the importance of features, connections and terms over the rows of a table.

    ``kind="shap"`` is the mean absolute SHAP value: how far a feature moves a prediction, on average, from what it
    would be were the feature unknown. ``kind="paper"`` is the algorithm "1-BANN SHAP": it takes the absolute value of
    the change between a row and *one* background row before averaging, so that changes which cancel over the background
    still count. It is never below the mean absolute SHAP value, and larger for features that push up and down about
    equally often. Both measure terms in the same way. The printed algorithm divides the sum over pairs of rows by the
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
        "paper" needs rules of one condition, and a loop over pairs of rows where that reads three columns and more.

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
        raise ValueError("kind='paper' is for binary activated networks; this one has linear terms. Use kind='shap'.")
    rows = rows_of(network, X, "X")
    drawn = rows if background is None else background_of(model, network, background)
    if kind not in ("shap", "paper"):
        raise ValueError(f"kind must be 'shap' or 'paper'; got {kind!r}.")
    if kind == "paper" and network.depth > 1:
        raise ValueError(f"kind='paper' needs one hidden layer; got {network.depth}. Use kind='shap'.")
    importance = _of_network(network, rows, drawn, kind)
    if network.members is None:
        return importance
    features = [_of_network(one, rows, drawn, kind).features for one in network.members.networks(network)]
    return replace(importance, standard_error=network.members.standard_error(features))


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Tabular):
    """Importance of features, connections and terms; each has a relative twin that sums to 1.

    Attributes
    ----------
    features : ndarray, shape (features,)
        SI in the paper, in the units of the prediction; with classes in those of the scores, and the mean over the
        classes where there are more than two.
    connections : ndarray, shape (features, terms)
        R in the paper: of a feature for one of ``network.terms``.
    terms : ndarray, shape (terms,)
        Mean absolute Linear SHAP value of each of ``network.terms``.
    feature_names : tuple of str
        Names of the columns.
    kind : {"shap", "paper"}
        How features and connections are measured.
    by_class : ndarray of shape (features, classes), or None
        With more than two classes, the importance of the features for each class's score.
    standard_error : ndarray of shape (features,), or None
        Of `features`: the standard deviation across an ensemble; None for other networks. The networks differ in which
        of several correlated columns they use, so that their importances vary more than that of the ensemble.
    """

    features: Floats
    connections: Floats
    terms: Floats
    feature_names: tuple[str, ...]
    kind: str
    by_class: Floats | None = None
    standard_error: Floats | None = None

    def _columns(self) -> Columns:
        order = np.argsort(-self.features, kind="stable")
        names = {"feature": [self.feature_names[j] for j in order], "importance": self.features[order].tolist()}
        errors = {} if self.standard_error is None else {"standard error": self.standard_error[order].tolist()}
        return {**names, "share": self.relative_features[order].tolist(), **errors}

    @property
    def relative_features(self) -> Floats:
        """Shares of `features` (rSI in the paper); they sum to 1 unless all are 0."""
        return _shares(self.features)

    @property
    def relative_connections(self) -> Floats:
        """Shares of the features within each term: every column of `connections` over its sum."""
        return _shares(self.connections, axis=0)

    @property
    def relative_terms(self) -> Floats:
        """Shares of `terms`; they sum to 1 unless all are 0."""
        return _shares(self.terms)

    def __repr__(self) -> str:
        shares = self.relative_features
        order = [i for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
        shown = ", ".join(f"{quote_name(self.feature_names[i])} {shares[i]:.1%}" for i in order[:6])
        more = f" and {len(order) - 6} more" if len(order) > 6 else ""
        return f"Importance({shown or 'nothing matters'}{more}; kind {self.kind!r})"


def _shares(values: Floats, axis: int | None = None) -> Floats:
    """Return `values` over their sum, zero where the sum is zero."""
    total = values.sum(axis=axis, keepdims=axis is not None)
    return np.divide(values, total, out=np.zeros_like(values), where=np.broadcast_to(total > 0, values.shape))


def _of_network(network: Network, rows: Floats, drawn: Floats, kind: str) -> Importance:
    """Return the importance for the number that is predicted, or for all classes."""
    matrix = np.zeros((network.n_inputs, len(network.terms), network.n_outputs))
    if kind == "paper":
        gains, table, drawn_columns = gains_of(network), SortedColumns(rows), SortedColumns(drawn)
        for k, rule in enumerate(network.rules):  # the matrix R of the algorithm for gains of 1, as a mean over pairs
            condition = rule.conditions[0].as_oblique()
            weights = shapley_weights(len(condition.columns))
            for column, size, changes in _changes(condition, table, drawn_columns):
                matrix[column, k] += weights[size] * changes / (len(rows) * len(drawn))
        matrix *= np.abs(gains)
        features = matrix.sum(axis=1)
        terms = np.abs((term_worth(network, rows) - term_worth(network, drawn).mean(axis=0))[..., np.newaxis] * gains)
    else:
        shares = explain_rows(network, rows, drawn)
        features, terms = np.abs(shares.values).mean(axis=0), np.abs(shares.term_values)
        matrix[tuple(shares.connections.T)] = np.abs(shares.connection_values).mean(axis=0)
    by_class = features if network.n_outputs > 1 else None
    features, matrix, terms = (values.mean(axis=-1) for values in (features, matrix, terms.mean(axis=0)))
    return Importance(features, matrix, terms, network.names, kind, by_class)


def _changes(condition: Oblique, rows: SortedColumns, drawn: SortedColumns) -> Iterator[tuple[int, int, int]]:
    """Yield for every column and coalition without it the size of that, and the number of pairs of rows for which the
    column changes whether the condition holds."""
    # Of the background rows that hold as they are, how many still do: where nothing else is known.
    holding, columns = drawn.only(condition.holds(drawn.rows)), condition.columns
    everyone = (1 << len(columns)) - 1
    known = [[column for place, column in enumerate(columns) if coalition >> place & 1]
             for coalition in range(everyone + 1)]  # fmt: skip
    counts, kept = (
        [holding_counts([condition], some, rows, background) for some in known] for background in (drawn, holding)
    )
    for place, column in enumerate(columns):
        for coalition in range(everyone + 1):
            joined = coalition | 1 << place
            if joined == coalition:
                continue
            if joined == everyone:
                changes = np.abs(counts[everyone] - counts[coalition])
            elif coalition == 0:
                changes = counts[joined] + counts[0] - 2 * kept[joined]
            else:
                changes = np.empty(len(rows.rows), dtype=np.int64)
                fixed, other = (np.ascontiguousarray(summands(condition, side.rows).T) for side in (rows, drawn))
                count_differing(fixed, other, np.isin(columns, known[coalition]), place, condition.threshold, changes)
            yield column, coalition.bit_count(), int(changes.sum())


@compiled
def count_differing(
    fixed: Floats, drawn: Floats, known: np.ndarray, place: int, threshold: float, counts: np.ndarray
) -> None:
    """Count, for every row of `fixed`, the rows of `drawn` whose answer changes with the summand in column `place`.

    Columns where `known` is true come from `fixed`, the others from `drawn`, and `place` from one and then the other.
    A loop over pairs of rows.
    """
    terms = np.empty(fixed.shape[1])
    for row in range(len(fixed)):
        count = 0
        for other in range(len(drawn)):
            for column in range(len(terms)):
                terms[column] = fixed[row, column] if known[column] else drawn[other, column]
            terms[place] = fixed[row, place]
            before = fires(terms, threshold)
            terms[place] = drawn[other, place]
            count += before != fires(terms, threshold)
        counts[row] = count
