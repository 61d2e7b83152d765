"""How much columns, terms and connections matter over a dataset: the three levels of the paper's drawing; and why two
datasets, or two groups, are predicted differently on average: a sum over terms and over columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.compiling import compiled
from bgn.explain.arguments import background_of, rows_of
from bgn.explain.crossings import fires, summands
from bgn.explain.proofs import network_of_output
from bgn.explain.shap import SortedColumns, explain_rows, gains_of, holding_counts, shapley_weights, term_worth
from bgn.model.network import Network
from bgn.model.readings import network_of
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.model.term import Oblique
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import clean, quote_name

# Rows whose shares are in memory at once.
_ROWS = 50_000


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


@through_pipelines("X_a", "X_b")
def compare_tables(
    model: Any, X_a: Any, X_b: Any, *, names: tuple[str, str] = ("a", "b"), output: int | None = None,
    random_state: int | None = None,
) -> Comparison:  # fmt: skip
    """Return the shift of the mean score from one dataset to another as a sum over terms and over columns.

    Parameters
    ----------
    model : Network or fitted estimator
    X_a, X_b : array_like or frame, shape (any number of rows, columns)
        The datasets, such as last year's rows and this year's.
    names : (str, str), default ("a", "b")
        What to call them.
    output : int, optional
        Of a model of several classes, the one whose raw score is compared.
    random_state : int, optional
        For deeper networks on more than ten columns, whose shares are sampled.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from bgn import Layer, Network, compare_tables
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> compare_tables(network, [[1.0, 1.0], [3.0, 1.0]], [[3.0, 3.0], [4.0, 4.0]])
    Comparison(b - a: +2 = rooms +1.375, age +0.625)
    """
    network = network_of_output(model, output)
    return _compared(network, rows_of(network, X_a, "X_a"), rows_of(network, X_b, "X_b"), names, random_state)


@through_pipelines("X")
def compare_groups(
    model: Any, X: Any, groups: Any, *, between: tuple[Any, Any] | None = None, output: int | None = None,
    random_state: int | None = None,
) -> Comparison:  # fmt: skip
    """Return the difference between the mean scores of two groups of rows as a sum over terms and over columns.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, shape (rows, columns)
    groups : array_like of shape (rows,), or str
        The group of every row; rows without one (None, NaN) are left out. The name of a column where X is a frame,
        which need not be one that the model reads.
    between : (group, group), optional
        Which two, the first being what the other is compared with. To be left out where there are two, which are taken
        in their order.
    output, random_state
        As in :func:`bgn.compare_tables`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from bgn import Layer, Network, compare_groups
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> X = [[1.0, 1.0], [3.0, 3.0], [3.0, 1.0], [4.0, 4.0]]
    >>> compare_groups(network, X, ["town", "land", "town", "land"], between=("town", "land"))
    Comparison(land - town: +2 = rooms +1.375, age +0.625)
    """
    network = network_of_output(model, output)
    rows = rows_of(network, X, "X")
    if isinstance(groups, str):
        if groups not in getattr(X, "columns", getattr(X, "column_names", ())):
            raise ValueError(f"groups must be a group per row, or name a column of X; X has no column {groups!r}.")
        groups = X[groups]
    labels = np.array(groups.tolist() if hasattr(groups, "tolist") else list(groups), dtype=object)
    if labels.shape != (len(rows),):
        raise ValueError(f"groups must have one entry per row of X, {len(rows)}; got shape {labels.shape}.")
    known = sorted({label for label in labels if label is not None and label == label}, key=str)
    pair = tuple(known) if between is None else tuple(between)
    if len(pair) != 2 or any(label not in known for label in pair) or pair[0] == pair[1]:
        listed = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        got = f"; got {between!r}" if between is not None else ""
        raise ValueError(f"between must name two of the groups {listed}{got}.")
    first, second = (rows[[label == group for label in labels]] for group in pair)
    return _compared(network, first, second, (category_name(pair[0]), category_name(pair[1])), random_state)


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """The difference between the mean scores of two sets of rows, and where it comes from.

    Attributes
    ----------
    difference : float
        Mean score of the second set less that of the first.
    means : (float, float)
        The mean scores: of a network without a link mean predictions, of a probability mean log-odds.
    names : (str, str)
        What the sets are called.
    rows : (int, int)
        How many rows they have.
    terms : ndarray, shape (terms,)
        What each of ``network.terms`` adds to the difference: they add up to it.
    columns : ndarray, shape (columns,)
        What each column adds to the difference: they add up to it. A rule about several columns is shared among them by
        their Shapley values: the columns of one set are exchanged for the other's, in every order.
    shares : ndarray, shape (terms, columns)
        What a term adds through a column.
    method : {"exact", "sampled"}
        How the shares were computed: sampled only in deeper networks on more than ten columns.
    network : Network
        What was compared, of one output.
    """

    difference: float
    means: tuple[float, float]
    names: tuple[str, str]
    rows: tuple[int, int]
    terms: Floats
    columns: Floats
    shares: Floats
    method: str
    network: Network

    def _columns(self) -> Columns:
        parts = self.parts(self.network.names)
        return {"column": [name for name, _ in parts], "adds to the difference": [value for _, value in parts]}

    def parts(self, labels: Sequence[str], by: str = "columns") -> list[tuple[str, float]]:
        """Return what columns, or terms, add to the difference, the largest first, by labels in their order."""
        values = (self.columns if by == "columns" else self.terms).tolist()
        named = [(label, value) for label, value in zip(labels, values, strict=True) if value]
        return sorted(named, key=lambda part: -abs(part[1]))

    def as_dict(self) -> dict[str, Any]:
        """Return the same in plain types: what JSON can hold."""
        sets = zip(self.names, self.rows, self.means, strict=True)
        columns = zip(self.network.names, self.columns.tolist(), strict=True)
        return {
            "difference": self.difference,
            "sets": [{"name": name, "rows": count, "mean": mean} for name, count, mean in sets],
            "columns": {name: share for name, share in columns if share},
            "terms": self.terms.tolist(),
            "method": self.method,
        }

    def __repr__(self) -> str:
        parts = self.parts(self.network.names)
        shown = ", ".join(f"{quote_name(name)} {value:+.4g}" for name, value in parts[:6])
        more = f" and {len(parts) - 6} more" if len(parts) > 6 else ""
        first, second = map(clean, self.names)
        return f"Comparison({second} - {first}: {self.difference:+.6g} = {shown or 'nothing'}{more})"


def _compared(network: Network, first: Floats, second: Floats, names: tuple[str, str], seed: int | None) -> Comparison:
    """Return the comparison of two sets of rows as the network reads them.

    The mean SHAP value of the second set's rows against the first set is the difference, shared out.
    """
    worth = [term_worth(network, rows).mean(axis=0) for rows in (first, second)]
    terms = (worth[1] - worth[0]) * gains_of(network)[:, 0]
    shares, method, rng = np.zeros((len(terms), network.n_inputs)), "exact", np.random.default_rng(seed)
    for start in range(0, len(second), _ROWS):
        of_rows = explain_rows(network, second[start : start + _ROWS], first, rng=rng)
        columns, numbers = of_rows.connections.T
        shares[numbers, columns] += of_rows.connection_values[:, :, 0].sum(axis=0) / len(second)
        method = "exact" if of_rows.standard_error is None else "sampled"
    # The last of a term's columns has what is left, so that roundings do not add up.
    for total, row in zip(terms, shares, strict=True):
        read = np.flatnonzero(row)
        if len(read):
            row[read[-1]] = total - row[read[:-1]].sum()
    means = tuple(float(network.predict_encoded(rows).mean()) for rows in (first, second))
    return Comparison(
        difference=float(terms.sum()), means=(means[0], means[1]), names=(str(names[0]), str(names[1])),
        rows=(len(first), len(second)), terms=terms, columns=shares.sum(axis=0), shares=shares, method=method,
        network=network,
    )  # fmt: skip
