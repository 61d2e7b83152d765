"""A network as ordered yes/no terms: what equations, figures, reports and exports print.

A neuron answers +-1 and is worth ``c`` or ``-c``. Read as a 0/1 question, it adds ``2 |c|`` to the lowest value the
network can give when its answer is the better one. So every term adds something positive, the largest first, and the
base is the prediction when no term holds. A neuron whose output weight is negative is asked the other way round
(``<`` for ``>=``).

The leading coefficient of a question is 1. Networks that are grown already store it as +-1, and then a term holds
on exactly the rows where its neuron says so; other networks are divided by their largest weight, which may move a
row that lies within a rounding error of a threshold.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.step import Floats

Bools = NDArray[np.bool_]

_RELATIONS = {">=": operator.ge, "<": operator.lt, ">": operator.gt, "<=": operator.le}
_MIRROR = {">=": "<=", "<": ">"}


@dataclass(frozen=True)
class Condition:
    """A yes/no question: ``coefficients . inputs`` stands in `relation` to `threshold`.

    Parameters
    ----------
    layer, neuron : int
        Which neuron asks, both counted from 0.
    columns : tuple of int
        Inputs the neuron reads, in order: columns of the table for the first layer, neurons of the layer below after.
    coefficients : tuple of float
        One a column; the leading one is 1.
    relation : {">=", "<", ">", "<="}
        How the sum compares when the answer is yes.
    threshold : float
        What the sum is compared with.
    """

    layer: int
    neuron: int
    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    relation: str
    threshold: float

    @property
    def leading(self) -> int | None:
        """The column whose coefficient is 1; None for a question about nothing."""
        return self.columns[self.coefficients.index(1.0)] if self.columns else None

    def holds(self, inputs: NDArray[Any]) -> Bools:
        """Return whether the answer is yes for every row of `inputs` (0/1 answers for layers after the first)."""
        total = np.zeros(len(inputs))
        for count, (column, coefficient) in enumerate(zip(self.columns, self.coefficients, strict=True)):
            part = inputs[:, column] * coefficient
            total = total + part if count else part
        return np.asarray(_RELATIONS[self.relation](total, self.threshold))


@dataclass(frozen=True)
class Term:
    """A condition of the last layer and what it adds to the prediction when it holds.

    Parameters
    ----------
    weight : float
        Always above zero.
    condition : Condition
        The question.
    """

    weight: float
    condition: Condition

    @property
    def neuron(self) -> int:
        """Row of the neuron in the network's last layer."""
        return self.condition.neuron


@dataclass(frozen=True)
class Terms:
    """A network written as a base value plus weighted conditions, the heaviest first.

    Parameters
    ----------
    base : float
        The prediction when no term holds: the lowest there is.
    terms : tuple of Term
        By decreasing weight.
    hidden : tuple of tuple of Condition
        For deeper networks, the conditions of the layers below the last that can reach the output, layer by layer,
        each answering 0 or 1 to the layer above.
    names : tuple of str
        Names of the table's columns.
    target : str
        What is predicted.
    widths : tuple of int
        Width of every hidden layer of the network.
    """

    base: float
    terms: tuple[Term, ...]
    hidden: tuple[tuple[Condition, ...], ...]
    names: tuple[str, ...]
    target: str
    widths: tuple[int, ...]

    def inputs(self, rows: Floats) -> Floats:
        """Return what the last layer reads: the table itself, or the 0/1 answers of the layer below."""
        for width, conditions in zip(self.widths, self.hidden, strict=False):
            answers = np.zeros((len(rows), width))
            for condition in conditions:
                answers[:, condition.neuron] = condition.holds(rows)
            rows = answers
        return rows

    def holds(self, X: Any) -> Bools:
        """Return which terms hold.

        Parameters
        ----------
        X : array_like, shape (rows, columns)

        Returns
        -------
        ndarray of bool, shape (rows, terms)
        """
        rows = self.inputs(np.asarray(X, dtype=np.float64))
        answers = [term.condition.holds(rows) for term in self.terms]
        return np.stack(answers, axis=1) if answers else np.zeros((len(rows), 0), dtype=bool)

    def evaluate(self, X: Any) -> Floats:
        """Return base plus the weights of the terms that hold: the network's predictions.

        Parameters
        ----------
        X : array_like, shape (rows, columns)

        Returns
        -------
        ndarray of float64, shape (rows,)
        """
        weights = np.array([term.weight for term in self.terms])
        return self.base + self.holds(X) @ weights


def network_of(model: Any, plain: bool = True) -> Network:
    """Return `model` if it is a network, else its ``network_``; with `plain`, only where it is the paper's kind."""
    network = model if isinstance(model, Network) else getattr(model, "network_", None)
    if not isinstance(network, Network):
        raise TypeError(
            f"model must be a bgn.Network or a fitted estimator with network_; got {type(model).__name__}. "
            "Call fit first if it is an estimator."
        )
    if plain and not network.plain:
        raise ValueError(
            "model must predict one number from columns of numbers, without gaps, slopes or classes; networks of other "
            "kinds can predict, and no more, so far."
        )
    return network


def as_terms(model: Any) -> Terms:
    """Return a model as a base value plus weighted yes/no terms.

    Neurons that can never change the prediction (no output weight, or no inputs) do not become terms; those without
    inputs go into the base.

    Parameters
    ----------
    model : Network or fitted estimator

    Returns
    -------
    Terms

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> network = Network([Layer([[1.0, 0.0], [0.0, 1.0]], [-65.5, -20.0])], [0.5, -0.25], 1.0, ["income", "age"])
    >>> terms = as_terms(network)
    >>> terms.base
    0.25
    >>> [(term.weight, term.condition.relation, term.condition.threshold) for term in terms.terms]
    [(1.0, '>=', 65.5), (0.5, '<', 20.0)]
    >>> terms.evaluate([[70.0, 10.0], [70.0, 30.0]]), network.predict([[70.0, 10.0], [70.0, 30.0]])
    (array([1.75, 1.25]), array([1.75, 1.25]))
    """
    network = network_of(model)
    last = network.depth - 1
    base, terms = network.base, []
    for neuron, weight in enumerate(network.output_weights.tolist()):
        condition = _condition(network.layers[last], last, neuron, flipped=weight < 0)
        if weight == 0.0:
            continue
        if condition.columns:
            base -= abs(weight)
            terms.append(Term(2.0 * abs(weight), condition))
        else:
            base += weight if network.layers[last].bias[neuron] >= 0 else -weight
    terms.sort(key=lambda term: -term.weight)
    return Terms(
        base=base,
        terms=tuple(terms),
        hidden=_hidden(network, terms),
        names=network.names,
        target=network.target_name or "prediction",
        widths=network.widths,
    )


def _hidden(network: Network, terms: list[Term]) -> tuple[tuple[Condition, ...], ...]:
    """Return the conditions below the last layer that some term depends on, first layer first."""
    hidden: list[tuple[Condition, ...]] = []
    read = {column for term in terms for column in term.condition.columns}
    for layer in range(network.depth - 2, -1, -1):
        conditions = tuple(_condition(network.layers[layer], layer, neuron, flipped=False) for neuron in sorted(read))
        read = {column for condition in conditions for column in condition.columns}
        hidden.insert(0, conditions)
    return tuple(hidden)


def _condition(layer: Layer, number: int, neuron: int, flipped: bool) -> Condition:
    """Return the question of one neuron, answered yes where it fires (or where it does not, when `flipped`)."""
    asked = layer.neurons[neuron]
    (columns, weights), threshold = asked.projection.arrays, asked.threshold
    if number > 0:
        # Inputs +-1 become 0/1: w . (2 a - 1) >= t is w . a >= (t + sum of w) / 2.
        threshold = (threshold + float(weights.sum())) / 2.0
    relation = "<" if flipped else ">="
    if len(columns):
        ones = np.flatnonzero(np.abs(weights) == 1.0)
        leading = float(weights[ones[0] if len(ones) else np.argmax(np.abs(weights))])
        weights, threshold = weights / leading, threshold / leading + 0.0
        relation = _MIRROR[relation] if leading < 0 else relation
    return Condition(
        layer=number,
        neuron=neuron,
        columns=tuple(columns.tolist()),
        coefficients=tuple(weights.tolist()),
        relation=relation,
        threshold=threshold,
    )
