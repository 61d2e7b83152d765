"""A network as ordered yes/no terms: what equations, figures, reports and exports print.

A neuron answers +-1 and is worth ``c`` or ``-c``. Read as a 0/1 question, it adds ``2 |c|`` to the lowest value the
network can give when its answer is the better one. So every term adds something positive, the largest first, and the
base is the prediction when no term holds. A neuron whose output weight is negative is asked the other way round
(``<`` for ``>=``).

The leading coefficient of a question about numbers is 1 where it can be had without rounding: networks that are grown
store it as +-1, unless an ordered category leads. Amounts and base are exact decimals: what a network stores is read as
it is written, and added up by hand. A term holds on exactly the rows where its neuron says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from bgn.model.above import ANSWERS
from bgn.model.asked import condition_of
from bgn.model.decimals import EXACT, whole_numbers, written
from bgn.model.linear_term import LinearTerm
from bgn.model.network import Network
from bgn.model.question import Condition, counted_gaps, named_choices, named_columns
from bgn.model.schema import Schema, level_word
from bgn.model.step import Bools, Floats
from bgn.printable import Quoted, quote_category, quote_name


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
    linear_terms : tuple of LinearTerm
        What some columns add per unit, beside the questions.
    filled : tuple of (int, float or None)
        Columns of which no question sees a gap, and what a gap counts as in all of them; None where it is refused.
    link : {"identity", "logistic"}
        What the sum means: the prediction, or log-odds.
    bounds : (float, float) or None
        What predictions do not go beyond: a sum that does counts as the nearer one.
    """

    start: Decimal
    terms: tuple[Term, ...]
    hidden: tuple[tuple[Condition, ...], ...]
    schema: Schema
    widths: tuple[int, ...]
    linear_terms: tuple[LinearTerm, ...] = ()
    filled: tuple[tuple[int, float | None], ...] = ()
    link: str = "identity"
    bounds: tuple[float, float] | None = None

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

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All questions, those of the first layer first."""
        return (*(each for layer in self.hidden for each in layer), *(term.condition for term in self.terms))

    @cached_property
    def complete(self) -> frozenset[int]:
        """The columns of which no question sees a gap."""
        return frozenset(column for column, _ in self.filled)

    def may_lack(self, column: int) -> bool:
        """Tell whether a column had missing values at fit."""
        return self.schema.columns[column].missing

    @cached_property
    def counted_as(self) -> dict[int, float]:
        """What a gap in a number counts as, by column, where all questions that count it as something agree."""
        found: dict[int, set[float]] = {}
        chosen: set[int] = set()  # of these some questions name values and say themselves what a gap is
        for condition in self.conditions:
            for column, gap in counted_gaps(condition):
                found.setdefault(column, set()).add(gap)
            if condition.layer == 0 and len(named_columns(condition)) > 1:
                chosen |= {choice.column for choice in named_choices(condition)}
        agreed = {j: gaps.pop() for j, gaps in sorted(found.items()) if len(gaps) == 1}
        return {j: gap for j, gap in agreed.items() if j not in self.complete and j not in chosen}

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
        rows = self.inputs(self._rows(X))
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
        rows = self._rows(X)
        return np.asarray(total + sum(term.values(rows) * term.slopes[0] for term in self.linear_terms))

    def _rows(self, X: Any) -> Floats:
        """Return a table as the questions read it."""
        rows = self.schema.encode(X, gaps=True)
        for column, value in self.filled:
            gaps = np.isnan(rows[:, column])
            if value is not None and gaps.any():
                rows = rows.copy()
                rows[gaps, column] = value
        return rows


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
            "model must predict one number from columns of numbers, without gaps, slopes or classes, as the paper's "
            "networks do: this is said of them alone. Fit such columns with max_linear=0, or ask bgn.effect and "
            "bgn.shap_values, which take every model."
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
        The network itself where its one output needs no link and has no bounds.

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
        return (network if network.bounds is None else network.changed(bounds=None),)
    weights = network.output_weights.reshape(-1, np.size(network.base)).T
    slopes = [None] * len(weights) if network.slopes is None else network.slopes.reshape(-1, np.size(network.base)).T
    titles = _titles(network)
    outputs = zip(titles, weights, np.ravel(network.base), slopes, strict=True)
    return tuple(
        network.changed(
            output_weights=weight, base=base, slopes=slope, link="identity",
            schema=replace(network.schema, target=title, target_unit="", classes=None),
        )
        for title, weight, base, slope in outputs
    )  # fmt: skip


def _titles(network: Network) -> list[str]:
    """Return what each output of a network with classes is called."""
    target, classes = network.target_name and quote_name(network.target_name), network.schema.classes
    words = None if classes is None else [quote_category(level_word(each)) for each in classes]
    if network.link == "logistic":
        named = None if words is None else f"{target or 'class'} = {words[1]}"
        return [Quoted(f"log-odds of {named or target or 'yes'}")]
    labels = range(np.size(network.base)) if words is None else words
    return [Quoted(f"score of {target or 'class'} {'= ' if words is not None else ''}{label}") for label in labels]


def as_terms(model: Any) -> Terms:
    """Return a model as a base value plus weighted yes/no terms.

    Neurons that can never change the prediction (no output weight, or no inputs) do not become terms; those without
    inputs go into the base.

    Parameters
    ----------
    model : Network or fitted estimator
        With one output. The terms of a probability add up to its log-odds; :func:`bgn.as_table` is for several
        classes, and :func:`bgn.model.terms.outputs_of` parts their scores.

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
    whole, (network, *others) = network_of(model, plain=False), outputs_of(model)
    if others:
        raise ValueError(
            f"model must have one output; got {1 + len(others)}. Use bgn.as_table(model), or one of "
            "bgn.model.terms.outputs_of(model)."
        )
    last, filled = network.depth - 1, _filled(network)
    start, terms = written(network.base), []
    for neuron, weight in enumerate(network.output_weights.tolist()):
        if weight == 0.0:
            continue
        condition, size = condition_of(network, last, neuron, weight < 0, filled), written(abs(weight))
        if condition.columns:
            start = EXACT.subtract(start, size)
            terms.append(Term(EXACT.add(size, size), condition))
        else:
            fires = bool(network.layers[last].bias[neuron] >= 0)
            start = EXACT.add(start, size) if fires is (weight > 0) else EXACT.subtract(start, size)
    terms.sort(key=lambda term: -term.amount)
    return Terms(
        start=start,
        terms=tuple(terms),
        hidden=_hidden(network, terms, filled),
        schema=network.schema,
        widths=network.widths,
        linear_terms=network.linear_terms,
        filled=tuple(filled.items()),
        link=whole.link,
        bounds=whole.bounds,
    )


def _filled(network: Network) -> dict[int, float | None]:
    """Return the columns of which the questions see no gap, and what one counts as; None where it is refused."""
    refused = np.flatnonzero(network.layers[0].refuses_gaps).tolist()
    return {column: network.schema.columns[column].typical for column in refused}


def _hidden(network: Network, terms: list[Term], filled: dict[int, float | None]) -> tuple[tuple[Condition, ...], ...]:
    """Return the conditions below the last layer that some term depends on, first layer first."""
    hidden: list[tuple[Condition, ...]] = []
    columns = {column for term in terms for column in term.condition.columns}
    for layer in range(network.depth - 2, -1, -1):
        conditions = tuple(condition_of(network, layer, neuron, False, filled) for neuron in sorted(columns))
        columns = {column for condition in conditions for column in condition.columns}
        hidden.insert(0, conditions)
    return tuple(hidden)
