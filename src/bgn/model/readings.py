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

import operator
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import product
from math import ceil, frexp, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.model.above import ANSWERS
from bgn.model.layer import Coefficient, Oblique, Projection
from bgn.model.linear_term import LinearTerm
from bgn.model.network import Ensemble, Network
from bgn.model.numbers import EXACT, shortest, whole_numbers, written
from bgn.model.schema import Column, Schema, category_name
from bgn.model.step import Bools, Floats
from bgn.text import Quoted, quote_category, quote_name

# -- A yes/no question as it is asked, and how a person reads it.

_RELATIONS = {">=": operator.ge, "<": operator.lt, ">": operator.gt, "<=": operator.le}
_MOST_FLOATS = 64  # floats on each side of a difference


@dataclass(frozen=True)
class Choice:
    """A 0/1 column, a category or an answer from the layer below has one of some values.

    Parameters
    ----------
    column : int
        Which, as in ``Condition.columns``.
    values : tuple of int
        0 or 1, or numbers of levels; a single 0 for any value, where a question asks for missing values alone. None
        for a missing value alone.
    missing : bool, default False
        Whether a gap is among them.
    """

    column: int
    values: tuple[int, ...]
    missing: bool = False


@dataclass(frozen=True)
class Case:
    """A threshold of a number, for the rows where some choices hold.

    Parameters
    ----------
    where : tuple of Choice
        All of them must hold; none for the case of all other rows, which comes first.
    relation : {">=", "<", ">", "<="}
        How the number compares when the answer is yes.
    threshold : Decimal
    """

    where: tuple[Choice, ...]
    relation: str
    threshold: Decimal


@dataclass(frozen=True)
class Cases:
    """A question about the number in `column`: the case whose choices hold decides, otherwise the first."""

    column: int
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Count:
    """A question about choices: the answer is yes where at least `least` of them hold.

    Without choices it is "always" (`least` 0) or "never" (`least` 1).
    """

    least: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Condition:
    """A yes/no question: ``coefficients . inputs`` stands in `relation` to `threshold`.

    Parameters
    ----------
    layer, neuron : int
        Which neuron asks, both counted from 0.
    columns : tuple of int
        Inputs the neuron reads, in order: columns of the table for the first layer, neurons of the layer below after.
    coefficients : tuple of float or tuple of float
        One per column, the leading one 1 where the network stores it as +-1; of a category one per level.
    relation : {">=", "<", ">", "<="}
        How the sum compares when the answer is yes.
    threshold : float
        What the sum is compared with.
    missing : bool or None, default None
        The answer where a column has a gap; None where gaps are refused, or count as something.
    gaps : tuple of float or None, default None
        What a gap counts as, column by column: a value of the column or, for a category, what it adds to the sum.
    reading : Cases, Count or None, default None
        The same question as thresholds of one number, case by case, or as a count of choices; None for a sum.
    """

    layer: int
    neuron: int
    columns: tuple[int, ...]
    coefficients: tuple[Coefficient, ...]
    relation: str
    threshold: float
    missing: bool | None = None
    gaps: tuple[float, ...] | None = None
    reading: Cases | Count | None = None

    @property
    def leading(self) -> int | None:
        """The column in whose units the threshold is; None for questions about categories alone, or about nothing."""
        if isinstance(self.reading, Cases):
            return self.reading.column
        return next((column for column, each in zip(self.columns, self.coefficients, strict=True) if each == 1.0), None)

    @property
    def takes_missing(self) -> bool:
        """True where it has an answer for gaps."""
        return self.missing is not None or self.gaps is not None

    @property
    def gap_answer(self) -> bool | None:
        """The answer where the one number it is read as a threshold of has a gap; None where it is read otherwise."""
        if self.gaps is None or not isinstance(self.reading, Cases) or len(self.reading.cases) > 1:
            return self.missing
        gap, case = self.gaps[self.columns.index(self.reading.column)], self.reading.cases[0]
        return bool(_RELATIONS[case.relation](gap, float(case.threshold)))

    def holds(self, inputs: NDArray[Any]) -> Bools:
        """Return whether the answer is yes for every row of `inputs` (0/1 answers for layers after the first)."""
        values = Projection(self.columns, self.coefficients, self.gaps).values(inputs)
        answers = np.asarray(_RELATIONS[self.relation](values, self.threshold))
        return answers if self.missing is None else np.where(np.isnan(values), self.missing, answers)


def summed_categories(condition: Condition, place: int) -> list[tuple[Choice, float]]:
    """Return what the category at a place of `columns` adds to a sum: levels, the gap among them, that add the same.

    Examples
    --------
    >>> summed_levels(Condition(0, 0, (1, 4), (1.0, (0.0, 2.5, 2.5)), ">=", 3.0, gaps=(0.0, 2.5)), 1)
    [(Choice(column=4, values=(1, 2), missing=True), 2.5)]
    """
    values = condition.coefficients[place]
    assert isinstance(values, tuple)
    gap = 0.0 if condition.gaps is None else condition.gaps[place]
    different = dict.fromkeys(each for each in (*values, gap) if each)
    categories = {each: tuple(code for code, value in enumerate(values) if value == each) for each in different}
    return [(Choice(condition.columns[place], categories[each], each == gap), each) for each in different]


def named_choices(condition: Condition) -> tuple[Choice, ...]:
    """Return the choices that a question names as it is read."""
    if isinstance(condition.reading, Cases):
        return tuple(choice for case in condition.reading.cases for choice in case.where)
    if condition.reading is not None:
        return condition.reading.choices
    categories = (place for place, each in enumerate(condition.coefficients) if isinstance(each, tuple))
    return tuple(choice for place in categories for choice, _ in summed_categories(condition, place))


def named_columns(condition: Condition) -> set[int]:
    """Return the columns that a question speaks of as it is read."""
    if condition.reading is None:
        return set(condition.columns)
    named = {choice.column for choice in named_choices(condition)}
    return named | {condition.reading.column} if isinstance(condition.reading, Cases) else named


def counted_gaps(condition: Condition) -> list[tuple[int, float]]:
    """Return by column the numbers that a question about several columns counts as something where they are missing.

    Where choices of a column are named, they say themselves whether a missing value is among them.
    """
    if condition.gaps is None or len(named_columns(condition)) < 2 or isinstance(condition.reading, Count):
        return []
    counted = set(condition.columns) if condition.reading is None else {condition.reading.column}
    asked = zip(condition.columns, condition.coefficients, condition.gaps, strict=True)
    return [(column, gap) for column, each, gap in asked if column in counted and not isinstance(each, tuple) and each]


def offset(threshold: float, case: float) -> float | None:
    """Return the float to add to a number so that the sum reaches `threshold` exactly from the number `case` on.

    It is the difference of the two, or a float beside it: 15.8 - 5.6 >= 10.2 rounds so that the float before 15.8
    would do as well. None where no float near the difference does. For a number that counts downwards take ``-case``.

    Examples
    --------
    >>> offset(10.0, 15.5), offset(10.2, 15.8)
    (-5.5, -5.600000000000001)
    """
    low = high = float(EXACT.subtract(written(threshold), written(case)))
    before = float(np.nextafter(case, -np.inf))
    for _ in range(_MOST_FLOATS):
        for each in (low, high):
            if case + each >= threshold > before + each:
                return each
        low, high = float(np.nextafter(low, -np.inf)), float(np.nextafter(high, np.inf))
    return None


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
    >>> from bgn.model.readings import outputs_of
    >>> network = Network.of_layers([Layer([[1.0]], [-2.0])], [[1.0, -0.5]], [0.0, 1.0], ["age"], "kind", link="softmax")
    >>> [(each.target_name, float(each.predict([[3.0]])[0])) for each in outputs_of(network)]
    [('score of kind 0', 1.0), ('score of kind 1', 0.5)]
    """
    network = network_of(model, plain=False)
    if network.link == "identity":
        return (network if network.bounds is None else network.changed(bounds=None),)
    return tuple(
        network.changed(
            intercept=intercept, coef=coef, link="identity",
            schema=replace(network.schema, target=title, target_unit="", classes=None),
        )
        for title, intercept, coef in zip(_titles(network), network.intercept, network.coef.T, strict=True)
    )  # fmt: skip


def _titles(network: Network) -> list[str]:
    """Return what each output of a network with classes is called."""
    target, classes = network.target_name and quote_name(network.target_name), network.schema.classes
    words = None if classes is None else [quote_category(category_name(each)) for each in classes]
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
        classes, and :func:`bgn.model.readings.outputs_of` parts their scores.

    Returns
    -------
    Terms

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [0.0, 1.0]], [-65.5, -20.0])], [0.5, -0.25], 1.0, ["income", "age"])
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
            "bgn.model.readings.outputs_of(model)."
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
    refused = np.flatnonzero(network.layers[0].refuses_missing).tolist()
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


# -- The question that a neuron asks, as it is printed.

_MOST_FACTORS = 10  # answers of the layer below whose every combination is tried
_MIRROR = {">=": "<=", "<": ">"}


def condition_of(
    network: Network, layer: int, neuron: int, flipped: bool, filled: dict[int, float | None]
) -> Condition:
    """Return the question of one neuron, answered yes where it fires (or where it does not, when `flipped`)."""
    asked = network.layers[layer].neurons[neuron]
    asked = asked if layer else _seeing(asked, filled)
    columns, coefficients, gaps = asked.projection.columns, asked.projection.coefficients, asked.projection.gaps
    threshold = _of_answers(asked) if layer > 0 else asked.threshold
    relation = "<" if flipped else ">="
    leading = _leading(columns, coefficients, None if layer else network.schema)
    # Only signs and powers of two are divided by: nothing is rounded.
    if leading is not None and abs(frexp(leading)[0]) == 0.5:
        if gaps is not None:
            gaps = tuple(
                gap / leading if isinstance(each, tuple) or each == 0.0 else gap
                for gap, each in zip(gaps, coefficients, strict=True)
            )
        coefficients = tuple(
            tuple(value / leading for value in each) if isinstance(each, tuple) else each / leading
            for each in coefficients
        )
        threshold = threshold / leading + 0.0
        relation = _MIRROR[relation] if leading < 0 else relation
    missing = None if asked.missing is None or layer > 0 else asked.missing is not flipped
    condition = Condition(layer, neuron, columns, coefficients, relation, threshold, missing, gaps)
    return read(condition, network.schema, filled)


def _seeing(asked: Oblique, filled: dict[int, float | None]) -> Oblique:
    """Return a neuron of the first layer with what it says of gaps that it can see, and without idle numbers.

    One that reads a single column has an answer for its gap, whatever the gap counts as.
    """
    projection, gaps, missing = asked.projection, asked.projection.gaps, asked.missing
    if filled.keys() >= set(projection.columns):
        gaps = missing = None
    if missing is None:
        places = [
            place
            for place, each in enumerate(projection.coefficients)
            if not _idle(each, None if gaps is None or projection.columns[place] in filled else gaps[place])
        ]
        columns = tuple(projection.columns[place] for place in places)
        kept = None if gaps is None else tuple(gaps[place] for place in places)
        projection = Projection(columns, tuple(projection.coefficients[place] for place in places), kept)
        if kept is not None and len(columns) == 1:
            missing = bool(Oblique(projection, asked.threshold).fires(np.full((1, columns[0] + 1), np.nan))[0])
            projection = replace(projection, gaps=None)
    return Oblique(projection, asked.threshold, missing)


def _idle(coefficient: Coefficient, gap: float | None) -> bool:
    """Tell whether a column adds nothing to a sum, whatever it holds."""
    return not any((*(coefficient if isinstance(coefficient, tuple) else (coefficient,)), gap or 0.0))


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


def _of_answers(asked: Oblique) -> float:
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
    if not 0 < len(factors) <= _MOST_FACTORS:
        return threshold
    answers = np.array(list(product((0.0, 1.0), repeat=len(factors))))
    compact = Projection(tuple(range(len(factors))), factors)
    sums, fires = compact.values(answers), Oblique(compact, asked.threshold).fires(2.0 * answers - 1.0)
    size = 1e-9 * np.abs(factors).max()
    if np.abs(sums - threshold).min() > size or fires.all() or not fires.any():
        return threshold
    low, high = float(sums[~fires].max()), float(sums[fires].min())
    return shortest(low + size, high - size) if high - low > 4 * size else threshold


# -- How a person reads a question: thresholds of one number, case by case, or a count of choices.

_GAP = -1  # among the numbers of levels
_MOST_CASES = 4  # beyond, a sum is shorter
_MOST_MORE = 4  # digits of a threshold beyond the numbers that it comes from, where a sum is shorter
_MOST_CASES = 64  # combinations of 0/1 columns and levels
_LARGEST = sys.float_info.max

Group = tuple[int, ...]


def read(condition: Condition, schema: Schema, complete: Collection[int] = ()) -> Condition:
    """Return the same question with its reading; the columns `complete` never show it a gap.

    Examples
    --------
    >>> from bgn.model.schema import Column, Schema
    >>> city = Schema((Column("city", levels=("Lille", "Nice")),))
    >>> read(Condition(0, 0, (0,), ((0.0, 1.0),), ">=", 1.0, missing=True), city).reading
    Count(least=1, choices=(Choice(column=0, values=(1,), missing=True),))
    """
    compact = replace(condition, columns=tuple(range(len(condition.columns))))
    columns = [None if condition.layer else schema.columns[j] for j in condition.columns]
    found = _reading(compact, columns, [j not in complete for j in condition.columns])
    if isinstance(found, Cases):
        cases = tuple(replace(each, where=_at(each.where, condition.columns)) for each in found.cases)
        found = Cases(condition.columns[found.column], cases)
    elif found is not None:
        found = Count(found.least, _at(found.choices, condition.columns))
    return replace(condition, reading=found)


def _at(choices: Sequence[Choice], columns: Sequence[int]) -> tuple[Choice, ...]:
    return tuple(replace(each, column=columns[each.column]) for each in choices)


def is_flag(column: Column | None) -> bool:
    """Tell whether a column holds 0 and 1 alone; None stands for an answer of the layer below."""
    return column is None or column.category_of is not None or (column.whole and column.seen == (0.0, 1.0))


def _reading(condition: Condition, columns: Sequence[Column | None], gappy: Sequence[bool]) -> Cases | Count | None:
    """Return how a question about the first few columns is read; `gappy`: which of them may have a gap."""
    groups: list[list[Group]] = []
    numbers = []
    alone = condition.missing is not None and len(columns) == 1 and gappy[0]
    for place, (column, coefficient) in enumerate(zip(columns, condition.coefficients, strict=True)):
        gap = condition.gaps[place] if condition.gaps is not None and gappy[place] else None
        if isinstance(coefficient, tuple):
            groups.append(_alike(coefficient, gap))
        elif coefficient == 0.0:
            groups.append([(0,), (_GAP,)] if gap else [(0,)])
        elif is_flag(column):
            groups.append(_alike((0.0, 1.0), gap))
        else:
            numbers.append(place)
            groups.append([(0,)])
        if alone and not numbers:
            groups[0].append((_GAP,))
    if len(numbers) > 1 or (len(groups) > 1 and prod(map(len, groups)) > _MOST_CASES):
        return None
    return _cases(condition, columns, groups, numbers[0]) if numbers else _count(condition, groups)


def _alike(values: tuple[float, ...], gap: float | None) -> list[Group]:
    """Return categories, or 0 and 1, and the gap, by what they add: those that add the same together."""
    same: dict[float, list[int]] = {}
    for code, value in enumerate(values):
        same.setdefault(value, []).append(code)
    if gap is not None:
        same.setdefault(gap, []).append(_GAP)
    return [tuple(codes) for codes in same.values()]


def _chosen(place: int, codes: Sequence[int]) -> Choice:
    return Choice(place, tuple(sorted(code for code in codes if code != _GAP)), _GAP in codes)


def _value(codes: Group) -> float:
    """Return what a row holds that stands for a group."""
    return np.nan if codes[0] == _GAP else float(codes[0])


def _count(condition: Condition, groups: list[list[Group]]) -> Count | None:
    """Read a question about 0/1 columns and categories as a count; None where it is none."""
    combinations = list(product(*groups))
    rows = np.array([[_value(codes) for codes in each] for each in combinations], dtype=np.float64)
    yes = condition.holds(rows) if groups else condition.holds(np.zeros((1, 1)))
    table = yes.reshape([len(each) for each in groups])
    choices = []
    for place, each in enumerate(groups):
        # What a column's values come to: the other columns' answers for each.
        answers = np.moveaxis(table, place, 0).reshape(len(each), -1)
        patterns = sorted({tuple(row) for row in answers.tolist()}, key=sum)
        if len(patterns) > 2:
            return None
        if len(patterns) == 2:
            chosen = [codes for codes, row in zip(each, answers.tolist(), strict=True) if tuple(row) == patterns[1]]
            choices.append(_chosen(place, [code for codes in chosen for code in codes]))
    if not choices:
        return Count(int(not yes.flat[0]), ())
    held = [sum(_among(combination[each.column], each) for each in choices) for combination in combinations]
    least = min(count for count, one in zip(held, yes.tolist(), strict=True) if one)
    if any(one is not (count >= least) for count, one in zip(held, yes.tolist(), strict=True)):
        return None
    return Count(least, tuple(choices))


def _among(codes: Group, choice: Choice) -> bool:
    """Tell whether a group is one of a choice's."""
    return choice.missing if codes[0] == _GAP else codes[0] in choice.values


def _cases(
    condition: Condition, columns: Sequence[Column | None], groups: list[list[Group]], number: int
) -> Cases | None:
    """Read a question about one number, 0/1 columns and categories as thresholds of the number."""
    column = columns[number]
    assert column is not None
    if condition.coefficients[number] != 1.0 and not column.whole and len(columns) > 1:
        return None  # the thresholds would have many digits
    gap = 0.0 if condition.gaps is None else condition.gaps[number]
    whole = column.whole and gap.is_integer()  # what a gap counts as is compared too
    usual = tuple(max(each, key=lambda codes: sum(code != _GAP for code in codes)) for each in groups)
    found: dict[tuple[Group, ...], Decimal] = {}
    for combination in sorted(product(*groups), key=lambda each: each != usual):
        named = [of.category_of[0] for of, codes in zip(columns, combination, strict=True)
                 if of is not None and of.category_of is not None and codes == (1,)]  # fmt: skip
        if len(set(named)) < len(named):
            continue  # two levels of one category at a time
        threshold = _threshold(condition, combination, number, whole)
        if threshold is None:
            return None
        if not found or threshold != found[usual]:
            found[combination] = threshold
    stored = [condition.threshold, *Projection(condition.columns, condition.coefficients).numbers]
    most = max(len(written(value).as_tuple().digits) for value in stored) + _MOST_MORE
    if len(found) > _MOST_CASES or any(len(each.as_tuple().digits) > most for each in found.values()):
        return None  # the float64 sum rounds across what it would be in decimals
    relation = condition.relation
    if float(condition.coefficients[number]) < 0.0:  # type: ignore[arg-type]
        relation = {">=": "<=", "<": ">", ">": "<", "<=": ">="}[relation]
    cases: list[Case] = []
    for combination, threshold in found.items():
        cases.append(Case(_where(combination, columns, groups) if cases else (), relation, threshold))
    return Cases(number, tuple(cases))


def _where(
    combination: Sequence[Group], columns: Sequence[Column | None], groups: list[list[Group]]
) -> tuple[Choice, ...]:
    """Return the choices of a case; what is one level of a category need not be said to be none of the others."""
    titles = [of.category_of[0] if of is not None and of.category_of is not None else None for of in columns]
    told = {title for title, codes in zip(titles, combination, strict=True) if title is not None and codes == (1,)}
    return tuple(
        _chosen(place, codes)
        for place, codes in enumerate(combination)
        if len(groups[place]) > 1 and not (titles[place] in told and 0 in codes and groups[place][1:] == [(1,)])
    )


def _threshold(condition: Condition, combination: Sequence[Group], number: int, whole: bool) -> Decimal | None:
    """Return where the answer changes along one number, the other columns fixed; None where it never does.

    What a float stands for is the decimal that it is written as, so the first float beyond the change is the threshold.
    """
    row = np.array([_value(codes) for codes in combination])
    coefficient = float(condition.coefficients[number])  # type: ignore[arg-type]
    # Asked so that it is no below and yes from the threshold on: x and its sign, and the answer.
    first = condition.relation in (">=", "<")
    sign = 1.0 if first is (coefficient > 0.0) else -1.0
    upwards = condition.relation in (">=", ">") if coefficient > 0.0 else condition.relation in ("<=", "<")
    turned = upwards is not (sign > 0.0)

    def yes(values: Floats) -> Bools:
        rows = np.tile(row, (len(values), 1))
        rows[:, number] = sign * values
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(condition.holds(rows) != turned)

    rest = written(condition.threshold)
    whole_sum = Projection(condition.columns, condition.coefficients, condition.gaps)
    for place in range(len(combination)):
        if place != number:
            rest = EXACT.subtract(rest, written(float(whole_sum.at(place).values(row[np.newaxis])[0])))
    guess = sign * float(EXACT.divide(rest, written(coefficient)))
    change = _change(yes, float(ceil(guess)), 1.0) if whole and abs(guess) < 2.0**52 else None
    if change is None:
        change = _change(yes, guess, None)
    if change is None:
        return None
    return written(sign * change + 0.0)


def _change(yes: Callable[[Floats], Bools], guess: float, step: float | None) -> float | None:
    """Return the first float answered yes; the guess where it is right. With a step, the guess or None."""
    below = float(np.nextafter(guess, -np.inf)) if step is None else guess - step
    if yes(np.array([below, guess])).tolist() == [False, True]:
        return guess
    if step is not None or yes(np.array([-_LARGEST, _LARGEST])).tolist() != [False, True]:
        return None
    low, high = _place(-_LARGEST), _place(_LARGEST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if yes(np.array([_float(middle)]))[0] else (middle, high)
    return _float(high)


def _place(value: float) -> int:
    """Return a float's place among all floats in order, 0 for zero."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return bits if value >= 0.0 else -bits


def _float(place: int) -> float:
    """Return the float at a place."""
    value = float(np.int64(abs(place)).view(np.float64))
    return value if place >= 0 else -value


# -- A network of several classes as one table: every question once, with what it adds to each class's score.


@dataclass(frozen=True)
class TermTable:
    """Scores of classes as starts plus what questions that hold add, which may be below zero.

    Attributes
    ----------
    asked : Terms
        The questions, each asked so that what it changes most it raises, the heaviest first.
    starts : tuple of Decimal
        The score of every class when no question holds.
    amounts : tuple of tuple of Decimal
        For every question, what it adds to the score of each class.
    classes : tuple of str
        Their labels in words.
    """

    asked: Terms
    starts: tuple[Decimal, ...]
    amounts: tuple[tuple[Decimal, ...], ...]
    classes: tuple[str, ...]

    def evaluate(self, X: Any) -> Floats:
        """Return the score of every class: starts and the amounts of the questions that hold, added up.

        Parameters
        ----------
        X : array_like or frame, shape (rows, columns)

        Returns
        -------
        ndarray of float64, shape (rows, classes)
        """
        found = []
        for k, start in enumerate(self.starts):
            own = [replace(term, amount=each[k]) for term, each in zip(self.asked.terms, self.amounts, strict=True)]
            found.append(replace(self.asked, start=start, terms=tuple(own)).evaluate(X))
        return np.stack(found, axis=1)


def as_table(model: Any) -> TermTable:
    """Return a model of several classes as one table of questions by classes.

    Parameters
    ----------
    model : Network or fitted estimator
        Of more than two classes, without slopes; :func:`bgn.as_terms` is for the others.

    Returns
    -------
    TermTable

    Examples
    --------
    >>> from bgn import Layer, Network, as_table
    >>> network = Network.of_layers([Layer([[1.0]], [-2.0])], [[1.0, -0.5, 0.0]], [0.0, 1.0, 0.5], ["age"], link="softmax")
    >>> table = as_table(network)
    >>> table.starts, table.amounts
    ((Decimal('-1.0'), Decimal('1.5'), Decimal('0.5')), ((Decimal('2.0'), Decimal('-1.0'), Decimal('0.0')),))
    >>> table.evaluate([[3.0]]), network.raw_score([[3.0]])
    (array([[1. , 0.5, 0.5]]), array([[1. , 0.5, 0.5]]))
    """
    network = network_of(model, plain=False)
    if network.link != "softmax" or network.slopes is not None:
        raise ValueError("model must tell classes apart, one score per class, without slopes. Use bgn.as_terms.")
    weights = network.output_weights
    heaviest = np.abs(weights).argmax(axis=1) if weights.shape[1] else np.zeros(len(weights), dtype=np.intp)
    lead = weights[np.arange(len(weights)), heaviest]
    (first, *_) = outputs_of(network)
    asked = as_terms(first.changed(output_weights=lead, base=0.0))
    starts = [written(base) for base in network.base.tolist()]
    told = {term.neuron for term in asked.terms}
    for neuron, own in enumerate(weights.tolist()):
        fires = lead[neuron] < 0 if neuron in told else network.layers[-1].bias[neuron] >= 0
        answer = 1 if fires else -1  # where the question does not hold; the only one where there is none
        starts = [
            EXACT.add(start, EXACT.multiply(Decimal(answer), written(each)))
            for start, each in zip(starts, own, strict=True)
        ]
    amounts = tuple(tuple(_amount(term, each, lead) for each in weights[term.neuron].tolist()) for term in asked.terms)
    labels = network.schema.classes or tuple(range(weights.shape[1]))
    asked = replace(asked, schema=replace(asked.schema, target=network.target_name, target_unit=""))
    return TermTable(asked, tuple(starts), amounts, tuple(map(category_name, labels)))


def _amount(term: Term, weight: float, lead: Floats) -> Decimal:
    """Return what a question adds to a score when it holds."""
    twice = EXACT.multiply(Decimal(2), written(weight))
    return EXACT.minus(twice) if lead[term.neuron] < 0 else twice


# -- Which of two classes people are told of: the one that says yes, in the languages that tables are written in.

# ruff: noqa: RUF001  (letters of other alphabets that look like ours)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_YES = _words(
    "yes y true t on ja j oui o vrai si sí sì s vero sim da tak ano áno a jo igen kyllä kylla k evet hai はい ya có "
    "ναι да д так 是 有 예 네 نعم כן हाँ jah taip jā positive positiv positif positivo present success"
)
_NO = _words(
    "no n false f off nein nee nej nei non faux falso não nao ne nie nem ei e hayır hayir h iie いいえ tidak không όχι "
    "нет н ні 否 无 아니요 아니오 لا לא नहीं nu negative negativ négatif negatif negativo absent failure"
)
_NOT = _words(
    "no not non never without kein keine keinen nicht nie ohne pas sans jamais sin senza niet geen zonder não nao sem "
    "inte utan ikke uten ingen bez нет не без"
)
_WITH = _words("with mit avec con com met med")


def affirmed(labels: Sequence[Any]) -> int | None:
    """Return which of two labels says yes where the other says no; None where they do not.

    Either both are such words, or one is the other with a word that denies it.

    Examples
    --------
    >>> affirmed(["ja", "nein"]), affirmed(["Default", "no default"]), affirmed(["cat", "dog"]), affirmed([0, 1])
    (0, 0, None, None)
    """
    if len(labels) != 2 or not all(isinstance(each, str) for each in labels):
        return None
    words = [each.casefold().replace("_", " ").replace("-", " ").split() for each in labels]
    for yes, no in ((0, 1), (1, 0)):
        if len(words[yes]) == len(words[no]) == 1 and words[yes][0] in _YES and words[no][0] in _NO:
            return yes
        denied = [each for each in words[no] if each not in _NOT]
        if len(denied) < len(words[no]) and denied and denied == [each for each in words[yes] if each not in _WITH]:
            return yes
    return None


def swapped(network: Network) -> Network:
    """Return a network of two classes with the first as its second: it predicts the same.

    Rows of which both are equally probable are an exception: of them the first is predicted.
    """
    schema = replace(network.schema, classes=(network.schema.classes or (0, 1))[::-1])
    members = network.members and Ensemble(-network.members.intercept, -network.members.coef)
    return network.changed(intercept=-network.intercept, coef=-network.coef, schema=schema, members=members)


def is_turned(network: Network) -> bool:
    """Return whether the first of two classes says yes and the second no, as "ja" and "nein" do."""
    classes = network.schema.classes
    return network.link == "logistic" and classes is not None and affirmed(classes) == 0


def as_told(network: Network) -> Network:
    """Return a network as people are told of it: of two classes that say yes and no, yes is the second.

    Classes stand in the order of their letters, as scikit-learn has them, which puts "yes" second but "ja" first.
    """
    return swapped(network) if is_turned(network) else network
