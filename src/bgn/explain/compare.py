"""Why two groups, or two tables, are predicted differently on average: the gap as a sum over questions and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.extremes import score_of
from bgn.explain.shap import explain_rows
from bgn.explain.arguments import read_codes, rows_of
from bgn.model.network import Network
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import clean, quote_name

# Rows whose shares are in memory at once.
_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """The gap in the mean score between two sets of rows, and where it comes from.

    Attributes
    ----------
    gap : float
        Mean score of the second set less that of the first.
    means : (float, float)
        The mean scores: of a network without a link mean predictions, of a probability mean log-odds.
    names : (str, str)
        What the sets are called.
    rows : (int, int)
        How many rows they have.
    questions : ndarray, shape (neurons,)
        What each neuron of the last layer adds to the gap; with `slopes` they add up to it.
    columns : ndarray, shape (columns,)
        What each column adds to the gap, slopes included: they add up to it. A question about several columns is shared
        among them by their Shapley values: the columns of one set are exchanged for the other's, in every order.
    slopes : ndarray, shape (columns,)
        What the slopes add.
    shares : ndarray, shape (neurons, columns)
        What a question adds through a column.
    method : {"exact", "sampled"}
        How columns were told apart: sampled only in deeper networks on more than ten columns.
    network : Network
        What was compared, of one output.
    """

    gap: float
    means: tuple[float, float]
    names: tuple[str, str]
    rows: tuple[int, int]
    questions: Floats
    columns: Floats
    slopes: Floats
    shares: Floats
    method: str
    network: Network

    def _columns(self) -> Columns:
        order = [j for j in np.argsort(-np.abs(self.columns), kind="stable") if self.columns[j]]
        return {"column": [self.network.names[j] for j in order], "adds to the gap": self.columns[order].tolist()}

    def as_dict(self) -> dict[str, Any]:
        """Return the same in plain types: what JSON can hold."""
        names = self.network.names
        return {
            "gap": self.gap,
            "sets": [{"name": name, "rows": count, "mean": mean}
                     for name, count, mean in zip(self.names, self.rows, self.means, strict=True)],
            "columns": {name: float(share) for name, share in zip(names, self.columns, strict=True) if share},
            "questions": self.questions.tolist(),
            "slopes": {name: float(share) for name, share in zip(names, self.slopes, strict=True) if share},
            "method": self.method,
        }  # fmt: skip

    def __repr__(self) -> str:
        order = [j for j in np.argsort(-np.abs(self.columns), kind="stable") if self.columns[j]]
        shown = ", ".join(f"{quote_name(self.network.names[j])} {self.columns[j]:+.4g}" for j in order[:6])
        more = f" and {len(order) - 6} more" if len(order) > 6 else ""
        first, second = map(clean, self.names)
        return f"Comparison({second} - {first}: {self.gap:+.6g} = {shown or 'nothing'}{more})"


@through_pipelines("X_a", "X_b")
def compare_tables(
    model: Any, X_a: Any, X_b: Any, *, names: tuple[str, str] = ("a", "b"), output: int | None = None,
    random_state: int | None = None,
) -> Comparison:  # fmt: skip
    """Return the shift of the mean score from one table to another as a sum over questions and over columns.

    Parameters
    ----------
    model : Network or fitted estimator
    X_a, X_b : array_like or frame, shape (any number of rows, columns)
        The tables, such as last year's rows and this year's.
    names : (str, str), default ("a", "b")
        What to call them.
    output : int, optional
        Of a model of several classes, the one whose raw score is compared.
    random_state : int, optional
        For deeper networks on more than ten columns, whose columns are told apart by sampling.

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
    network = score_of(model, output)
    rows = rows_of(network, X_a, "X_a"), rows_of(network, X_b, "X_b")
    return _compared(network, *rows, names, random_state)


@through_pipelines("X")
def compare_groups(
    model: Any, X: Any, groups: Any, *, between: tuple[Any, Any] | None = None, output: int | None = None,
    random_state: int | None = None,
) -> Comparison:  # fmt: skip
    """Return the gap in the mean score between two groups of rows as a sum over questions and over columns.

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
    output : int, optional
        Of a model of several classes, the one whose raw score is compared.
    random_state : int, optional
        For deeper networks on more than ten columns, whose columns are told apart by sampling.

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
    network = score_of(model, output)
    rows = rows_of(network, X, "X")
    if isinstance(groups, str):
        if groups not in getattr(X, "columns", getattr(X, "column_names", ())):
            raise ValueError(f"groups must be a group per row, or name a column of X; X has no column {groups!r}.")
        groups = X[groups]
    labels = np.array(groups.tolist() if hasattr(groups, "tolist") else list(groups), dtype=object)
    if labels.shape != (len(rows),):
        raise ValueError(f"groups must have one entry per row of X, {len(rows)}; got shape {labels.shape}.")
    known = sorted({label for label in labels if label is not None and label == label}, key=lambda each: str(each))
    pair = tuple(known) if between is None else tuple(between)
    if len(pair) != 2 or any(each not in known for each in pair) or pair[0] == pair[1]:
        there = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        got = f"; got {between!r}" if between is not None else ""
        raise ValueError(f"between must name two of the groups {there}{got}.")
    first, second = (rows[[label == each for label in labels]] for each in pair)
    return _compared(network, first, second, (category_name(pair[0]), category_name(pair[1])), random_state)


def _compared(network: Network, first: Floats, second: Floats, names: tuple[str, str], seed: int | None) -> Comparison:
    """Return the comparison of two sets of rows as the network reads them."""
    bare = read_codes(network.with_linear())
    slopes = np.zeros(network.n_inputs)
    for term, weights in zip(network.linear, network.linear_coef, strict=True):
        slopes[term.column] += weights[0] * (term.values(second).mean() - term.values(first).mean())
    fires = [(bare._hidden(rows) > 0).mean(axis=0) for rows in (first, second)]
    questions = 2.0 * (fires[1] - fires[0]) * network.output_weights
    shares, method = _shares(bare, first, second, questions, seed)
    columns = shares.sum(axis=0) + slopes
    means = tuple(_mean(network, rows) for rows in (first, second))
    return Comparison(
        gap=float(questions.sum() + slopes.sum()), means=(means[0], means[1]), names=(str(names[0]), str(names[1])),
        rows=(len(first), len(second)), questions=questions, columns=columns, slopes=slopes, shares=shares,
        method=method, network=network,
    )  # fmt: skip


def _mean(network: Network, rows: Floats) -> float:
    """Return the mean score."""
    return float(network.predict_encoded(rows).mean())


def _shares(network: Network, first: Floats, second: Floats, questions: Floats, seed: int | None) -> tuple[Floats, str]:
    """Return what each question adds to the gap through each column, and how that was found.

    The mean SHAP value of the second set's rows against the first set is the gap, shared out.
    """
    shares, method = np.zeros((network.widths[-1], network.n_inputs)), "exact"
    rng = np.random.default_rng(seed)
    for start in range(0, len(second), _ROWS):
        found = explain_rows(network, second[start : start + _ROWS], first, rng=rng)
        features, neurons = found.connections.T
        shares[neurons, features] += found.connection_values.sum(axis=0) / len(second)
        method = found.method
    # The last of a question's columns has what is left, so that roundings do not add up.
    for neuron, row in enumerate(shares):
        read = np.flatnonzero(row)
        if len(read):
            row[read[-1]] = questions[neuron] - row[read[:-1]].sum()
    return shares, method


def told(comparison: Comparison, labels: Mapping[int, str], by: str) -> list[tuple[str, float]]:
    """Return the parts of a gap by columns or by questions, the largest first, each with its name."""
    values = comparison.columns if by == "columns" else comparison.questions
    parts = [(labels[k], float(value)) for k, value in enumerate(values) if value]
    if by != "columns":
        names = comparison.network.names
        parts += [(f"slope of {names[j]}", float(value)) for j, value in enumerate(comparison.slopes) if value]
    return sorted(parts, key=lambda part: -abs(part[1]))
