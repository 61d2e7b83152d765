"""Why two groups, or two datasets, are predicted differently on average: a sum over terms and over columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.arguments import rows_of
from bgn.explain.extremes import network_of_output
from bgn.explain.shap import explain_rows, gains_of, term_worth
from bgn.model.network import Network
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import clean, quote_name

# Rows whose shares are in memory at once.
_ROWS = 50_000


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
        return {
            "difference": self.difference,
            "sets": [{"name": name, "rows": count, "mean": mean}
                     for name, count, mean in zip(self.names, self.rows, self.means, strict=True)],
            "columns": {name: share for name, share in zip(self.network.names, self.columns.tolist(), strict=True) if share},
            "terms": self.terms.tolist(),
            "method": self.method,
        }  # fmt: skip

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
