"""A network as ordered yes/no terms: what equations, figures, reports and exports print.

A neuron answers +-1 and is worth ``c`` or ``-c``. Read as a 0/1 question, it adds ``2 |c|`` to the lowest value the
network can give when its answer is the better one. So every term adds something positive, the largest first, and the
base is the prediction when no term holds. A neuron whose output weight is negative is asked the other way round
(``<`` for ``>=``).

The leading coefficient of a question about numbers is 1 where it can be had without rounding: networks that are grown
store it as +-1. Amounts and base are exact decimals: what a network stores is read as it is written, and added up by
hand. A term holds on exactly the rows where its neuron says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import product
from math import frexp
from typing import Any

import numpy as np

from bgn.model.above import ANSWERS
from bgn.model.decimals import EXACT, shortest, whole_numbers, written
from bgn.model.network import Network
from bgn.model.neuron import Coefficient, Neuron, Projection
from bgn.model.question import Condition, is_flag
from bgn.model.schema import Schema
from bgn.model.step import Bools, Floats

_MOST_TRIED = 10  # answers of the layer below whose every combination is tried
_MIRROR = {">=": "<=", "<": ">"}


@dataclass(frozen=True)
class Term:
    """A condition of the last layer and what it adds to the prediction when it holds.

    Parameters
    ----------
    amount : Decimal
        Always above zero.
    condition : Condition
        The question.
    """

    amount: Decimal
    condition: Condition

    @property
    def weight(self) -> float:
        """The amount as the nearest float."""
        return float(self.amount)

    @property
    def neuron(self) -> int:
        """Row of the neuron in the network's last layer."""
        return self.condition.neuron


@dataclass(frozen=True)
class Terms:
    """A network written as a base value plus weighted conditions, the heaviest first.

    Parameters
    ----------
    start : Decimal
        The prediction when no term holds: the lowest there is, slopes left aside.
    terms : tuple of Term
        By decreasing weight.
    hidden : tuple of tuple of Condition
        For deeper networks, the conditions of the layers below the last that can reach the output, layer by layer,
        each answering 0 or 1 to the layer above.
    schema : Schema
        The table's columns, and what is predicted.
    widths : tuple of int
        Width of every hidden layer of the network.
    slopes : tuple of (int, float)
        What some columns add per unit, beside the questions.
    """

    start: Decimal
    terms: tuple[Term, ...]
    hidden: tuple[tuple[Condition, ...], ...]
    schema: Schema
    widths: tuple[int, ...]
    slopes: tuple[tuple[int, float], ...] = ()

    @property
    def base(self) -> float:
        """Where the sum starts, as the nearest float."""
        return float(self.start)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the table's columns."""
        return self.schema.names

    @property
    def target(self) -> str:
        """What the terms add up to."""
        return self.schema.target or "prediction"

    @cached_property
    def hidden_names(self) -> dict[tuple[int, int], str]:
        """Names h1, h2, ... of the conditions below the last layer, by layer and neuron."""
        conditions = (each for layer in self.hidden for each in layer)
        return {(each.layer, each.neuron): f"h{i}" for i, each in enumerate(conditions, start=1)}

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
        X : array_like or frame, shape (rows, columns)

        Returns
        -------
        ndarray of bool, shape (rows, terms)
        """
        rows = self.inputs(self.schema.encode(X, gaps=True))
        answers = [term.condition.holds(rows) for term in self.terms]
        return np.stack(answers, axis=1) if answers else np.zeros((len(rows), 0), dtype=bool)

    def evaluate(self, X: Any) -> Floats:
        """Return base, slopes and the weights of the terms that hold, added up: the network's raw score.

        Parameters
        ----------
        X : array_like or frame, shape (rows, columns)

        Returns
        -------
        ndarray of float64, shape (rows,)
        """
        numbers = [self.base, *(term.weight for term in self.terms)]
        # Short decimals are summed as whole numbers: the nearest float of the exact sum, whatever the order.
        summed, unit = whole_numbers(numbers) or (np.array(numbers), 1.0)
        total = (summed[0] + self.holds(X) @ summed[1:]) / unit
        rows = self.schema.encode(X, gaps=True)
        return np.asarray(total + sum(rows[:, j] * slope for j, slope in self.slopes))


def network_of(model: Any, plain: bool = True) -> Network:
    """Return `model` if it is a network, else its ``network_`` or, of a pipeline, that of the estimator inside.

    With `plain`, only where it is the paper's kind.
    """
    network = model if isinstance(model, Network) else getattr(model, "network_", None)
    if network is None:
        network = ANSWERS["network_within"](model)
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


def outputs_of(model: Any) -> tuple[Network, ...]:
    """Return the outputs of a model as networks of one output each, whose prediction is the raw score.

    Parameters
    ----------
    model : Network or fitted estimator

    Returns
    -------
    tuple of Network
        The network itself where its one output needs no link.

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.model.terms import outputs_of
    >>> network = Network([Layer([[1.0]], [-2.0])], [[1.0, -0.5]], [0.0, 1.0], ["age"], "kind", link="softmax")
    >>> [(each.target_name, float(each.predict([[3.0]])[0])) for each in outputs_of(network)]
    [('score of kind 0', 1.0), ('score of kind 1', 0.5)]
    """
    network = network_of(model, plain=False)
    if network.link == "identity":
        return (network,)
    weights = network.output_weights.reshape(len(network.output_weights), -1).T
    slopes = [None] * len(weights) if network.slopes is None else network.slopes.reshape(network.n_inputs, -1).T
    titles = [f"score of {network.target_name or 'class'} {k}" for k in range(len(weights))]
    if network.link == "logistic":
        titles = [f"log-odds of {network.target_name or 'yes'}"]
    outputs = zip(titles, weights, np.ravel(network.base), slopes, strict=True)
    return tuple(
        network.changed(
            output_weights=weight, base=base, slopes=slope, link="identity",
            schema=replace(network.schema, target=title, target_unit=""),
        )
        for title, weight, base, slope in outputs
    )  # fmt: skip


def as_terms(model: Any) -> Terms:
    """Return a model as a base value plus weighted yes/no terms.

    Neurons that can never change the prediction (no output weight, or no inputs) do not become terms; those without
    inputs go into the base.

    Parameters
    ----------
    model : Network or fitted estimator
        With one output. The terms of a probability add up to its log-odds; :func:`bgn.model.terms.outputs_of` parts
        several outputs.

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
    network, *others = outputs_of(model)
    if others:
        raise ValueError(
            f"model must have one output; got {1 + len(others)}. Take one of bgn.model.terms.outputs_of(model)."
        )
    last = network.depth - 1
    start, terms = written(network.base), []
    for neuron, weight in enumerate(network.output_weights.tolist()):
        if weight == 0.0:
            continue
        condition, size = _condition(network, last, neuron, flipped=weight < 0), written(abs(weight))
        if condition.columns:
            start = EXACT.subtract(start, size)
            terms.append(Term(EXACT.add(size, size), condition))
        else:
            fires = bool(network.layers[last].bias[neuron] >= 0)
            start = EXACT.add(start, size) if fires is (weight > 0) else EXACT.subtract(start, size)
    terms.sort(key=lambda term: -term.amount)
    slopes = () if network.slopes is None else enumerate(network.slopes.tolist())
    return Terms(
        start=start,
        terms=tuple(terms),
        hidden=_hidden(network, terms),
        schema=network.schema,
        widths=network.widths,
        slopes=tuple((column, slope) for column, slope in slopes if slope),
    )


def _hidden(network: Network, terms: list[Term]) -> tuple[tuple[Condition, ...], ...]:
    """Return the conditions below the last layer that some term depends on, first layer first."""
    hidden: list[tuple[Condition, ...]] = []
    read = {column for term in terms for column in term.condition.columns}
    for layer in range(network.depth - 2, -1, -1):
        conditions = tuple(_condition(network, layer, neuron, flipped=False) for neuron in sorted(read))
        read = {column for condition in conditions for column in condition.columns}
        hidden.insert(0, conditions)
    return tuple(hidden)


def _condition(network: Network, layer: int, neuron: int, flipped: bool) -> Condition:
    """Return the question of one neuron, answered yes where it fires (or where it does not, when `flipped`)."""
    asked = network.layers[layer].neurons[neuron]
    columns, coefficients = asked.projection.columns, asked.projection.coefficients
    threshold = _of_answers(asked) if layer > 0 else asked.threshold
    relation = "<" if flipped else ">="
    leading = _leading(columns, coefficients, None if layer else network.schema)
    # Only signs and powers of two are divided by: nothing is rounded.
    if leading is not None and abs(frexp(leading)[0]) == 0.5:
        coefficients = tuple(
            tuple(value / leading for value in each) if isinstance(each, tuple) else each / leading
            for each in coefficients
        )
        threshold = threshold / leading + 0.0
        relation = _MIRROR[relation] if leading < 0 else relation
    missing = None if asked.missing is None or layer > 0 else asked.missing is not flipped
    return Condition(layer, neuron, columns, coefficients, relation, threshold, missing).read(network.schema)


def _leading(columns: tuple[int, ...], coefficients: tuple[Coefficient, ...], schema: Schema | None) -> float | None:
    """Return the coefficient that a question is divided by: a number's before a 0/1 column's, 1 before others."""
    factors = [
        (column, each) for column, each in zip(columns, coefficients, strict=True) if not isinstance(each, tuple)
    ]
    numbers = [each for j, each in factors if schema is not None and not is_flag(schema.columns[j])]
    for some in (numbers, [each for _, each in factors]):
        if some:
            return next((each for each in some if abs(each) == 1.0), max(some, key=abs))
    return None


def _of_answers(asked: Neuron) -> float:
    """Return the threshold of a question that reads 0/1 answers in place of +-1: w . (2 a - 1) >= t is w . a >= this.

    Where a sum would lie on it, and a rounding decide, it is moved between the sums on both sides. Only where floats
    answer two combinations of one and the same sum differently there is nothing between them; thresholds that are grown
    lie between sums.
    """
    factors = asked.projection.factors
    exact = written(asked.threshold)
    for each in factors:
        exact = EXACT.add(exact, written(each))
    threshold = float(EXACT.divide(exact, Decimal(2)))
    if not 0 < len(factors) <= _MOST_TRIED:
        return threshold
    answers = np.array(list(product((0.0, 1.0), repeat=len(factors))))
    compact = Projection(tuple(range(len(factors))), factors)
    sums, fires = compact.values(answers), Neuron(compact, asked.threshold).fires(2.0 * answers - 1.0)
    size = 1e-9 * np.abs(factors).max()
    if np.abs(sums - threshold).min() > size or fires.all() or not fires.any():
        return threshold
    low, high = float(sums[~fires].max()), float(sums[fires].min())
    return shortest(low + size, high - size) if high - low > 4 * size else threshold
