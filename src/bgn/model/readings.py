"""A model as people read it: an intercept, and terms that say in conditions what they compare.

Equations, cards, figures, reports and the comments of exported programs print one and the same reading,
:func:`as_terms`. The paper's neuron answers +-1 and is worth ``c`` or ``-c``; read as a rule, it adds ``2 |c|`` to the
lowest score that the network can give. So each rule adds something positive to the output that it moves most, the
heaviest first, and the intercept is the score where no rule holds. A rule of negative weight is read the other way
round, ``<`` for ``>=``.

A condition about one number is read as a threshold, or as several of which all but one need categories as well; one
about categories alone as a choice, or a count of choices; any other one as a sum. Weights and thresholds are exact
decimals: a float counts as the number that is printed for it. A condition holds on exactly the rows where the network
says so. Its words drop what no number in the range seen can reach; see :attr:`ReadCondition.simplified`.
"""

from __future__ import annotations

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

from bgn.model.network import Ensemble, Network
from bgn.model.numbers import EXACT, shortest, whole_numbers, written
from bgn.model.schema import Column, Schema, category_name
from bgn.model.step import Bools, Floats
from bgn.model.term import (
    MIRRORED,
    OPPOSITE,
    RELATIONS,
    Coefficient,
    Condition,
    Linear,
    Oblique,
    Projection,
    Threshold,
)
from bgn.text import Quoted, quote_category, quote_name

# -- What is read: choices of categories, thresholds of a number, conditions, terms, models.


@dataclass(frozen=True)
class Choice:
    """A 0/1 column, a category or a condition of the layer below has one of some values, perhaps a missing one.

    These are 0 or 1, or numbers of categories; a single 0 for any value, where a condition is about missing values
    alone, and none for a missing value alone.
    """

    column: int
    values: tuple[int, ...]
    missing: bool = False


@dataclass(frozen=True)
class Count:
    """At least `least` of some choices hold; without any it is "always" (`least` 0) or "never" (`least` 1)."""

    least: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Case:
    """A number compares so with a threshold, and what is required as well holds."""

    relation: str
    threshold: Decimal
    required: Count | None = None


@dataclass(frozen=True)
class Cases:
    """One of some cases of the number in `column` holds, or what is sufficient by itself."""

    column: int
    cases: tuple[Case, ...]
    sufficient: Count | None = None

    @property
    def counts(self) -> tuple[Count, ...]:
        """What holds or must hold beside the number."""
        counts = (*(case.required for case in self.cases), self.sufficient)
        return tuple(count for count in counts if count is not None)


@dataclass(frozen=True)
class ReadCondition:
    """A condition: ``coefficients . inputs`` stands in `relation` to `threshold`."""

    layer: int  # which neuron of which layer it is read from, both counted from 0
    number: int
    columns: tuple[int, ...]  # inputs: columns of the dataset for the first layer, conditions of the layer below after
    coefficients: tuple[Coefficient, ...]  # the leading one is 1 where the network stores it as +-1
    relation: str
    threshold: float
    missing: bool | None = (
        None  # whether it holds for a missing value; None where that is refused, or counts as a value
    )
    missing_as: tuple[float, ...] | None = None  # what a missing value counts as, as `Projection` has it
    reading: Cases | Count | None = None  # thresholds of one number, or a count of choices; None for a sum
    simplified: int | None = None  # the column whose range seen the reading relies on: beyond it the sum decides

    @property
    def leading(self) -> int | None:
        """The column in whose units the threshold is; None for conditions about categories alone, or about nothing."""
        if isinstance(self.reading, Cases):
            return self.reading.column
        pairs = zip(self.columns, self.coefficients, strict=True)
        return next((column for column, coefficient in pairs if coefficient == 1.0), None)

    @property
    def takes_missing(self) -> bool:
        """True where it holds or does not for missing values."""
        return self.missing is not None or self.missing_as is not None

    @property
    def holds_if_missing(self) -> bool | None:
        """Whether it holds where the one number that it compares is missing; None where it is read otherwise."""
        reading = self.reading
        if self.missing_as is None or not isinstance(reading, Cases) or len(reading.cases) > 1 or reading.counts:
            return self.missing
        value, case = self.missing_as[self.columns.index(reading.column)], reading.cases[0]
        return bool(RELATIONS[case.relation](value, float(case.threshold)))

    def holds(self, inputs: NDArray[Any]) -> Bools:
        """Return whether it holds for every row of `inputs` (0 or 1 per condition for layers after the first)."""
        values = Projection(self.columns, self.coefficients, self.missing_as).values(inputs)
        holds = np.asarray(RELATIONS[self.relation](values, self.threshold))
        return holds if self.missing is None else np.where(np.isnan(values), self.missing, holds)

    @property
    def fixed(self) -> bool | None:
        """Whether it holds, where that is the same for every row; None where it is not."""
        if not self.columns:
            return bool(self.holds(np.zeros((1, 1)))[0])
        if not isinstance(self.reading, Count) or self.reading.choices:
            return None
        always = self.reading.least == 0
        return always if self.missing in (None, always) else None

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices that it names as it is read."""
        reading = self.reading
        if reading is not None:
            counts = reading.counts if isinstance(reading, Cases) else (reading,)
            return tuple(choice for count in counts for choice in count.choices)
        places = (place for place, coefficient in enumerate(self.coefficients) if isinstance(coefficient, tuple))
        return tuple(choice for place in places for choice, _ in self.summed_categories(place))

    @property
    def named(self) -> set[int]:
        """The columns that it names as it is read."""
        if self.reading is None:
            return set(self.columns)
        named = {choice.column for choice in self.choices}
        return named | {self.reading.column} if isinstance(self.reading, Cases) else named

    @property
    def counted_missing(self) -> list[tuple[int, float]]:
        """By column, the numbers that a condition about several columns counts as something where they are missing.

        Choices say themselves whether a missing value is among them.
        """
        if self.missing_as is None or len(self.named) < 2 or isinstance(self.reading, Count):
            return []
        numbers = set(self.columns) if self.reading is None else {self.reading.column}
        parts = zip(self.columns, self.coefficients, self.missing_as, strict=True)
        return [(column, number) for column, coefficient, number in parts
                if column in numbers and not isinstance(coefficient, tuple) and coefficient]  # fmt: skip

    def summed_categories(self, place: int) -> list[tuple[Choice, float]]:
        """Return what the category at a place of `columns` adds to a sum, with the categories that add the same.

        Examples
        --------
        >>> condition = ReadCondition(0, 0, (1, 4), (1.0, (0.0, 2.5, 2.5)), ">=", 3.0, missing_as=(0.0, 2.5))
        >>> condition.summed_categories(1)
        [(Choice(column=4, values=(1, 2), missing=True), 2.5)]
        """
        values = self.coefficients[place]
        assert isinstance(values, tuple)
        missing = 0.0 if self.missing_as is None else self.missing_as[place]
        return [
            (Choice(self.columns[place], tuple(k for k, value in enumerate(values) if value == part), part == missing),
             part)
            for part in dict.fromkeys((*values, missing)) if part
        ]  # fmt: skip


@dataclass(frozen=True)
class ReadTerm:
    """What is added to the scores: a rule's coefficients where it holds, or those of a linear term per unit."""

    coef: tuple[Decimal, ...]  # one per output; above zero in the output that a rule moves most
    place: int  # in `network.terms`
    index: int  # in `network.rules` or `network.linear`
    conditions: tuple[ReadCondition, ...] = ()
    any_holds: bool = False  # whether one condition is enough, as for a rule that is read the other way round
    linear: Linear | None = None

    @property
    def weight(self) -> float:
        """The coefficient of the first output as the nearest float."""
        return float(self.coef[0])

    @property
    def condition(self) -> ReadCondition:
        return self.conditions[0]

    @property
    def columns(self) -> tuple[int, ...]:
        """The inputs that a rule reads, in order."""
        return tuple(dict.fromkeys(column for condition in self.conditions for column in condition.columns))

    def holds(self, inputs: NDArray[Any]) -> Bools:
        """Return whether a rule holds, for every row of `inputs`."""
        holds = [condition.holds(inputs) for condition in self.conditions]
        return np.any(holds, axis=0) if self.any_holds else np.all(holds, axis=0)


@dataclass(frozen=True)
class Terms:
    """A model as an intercept plus weighted terms.

    Parameters
    ----------
    intercept : tuple of Decimal
        One per output: the score where no rule holds, the lowest there is, linear terms aside.
    terms, hidden : tuple of ReadTerm, tuple of tuple of ReadCondition
        Rules by decreasing weight, then linear terms; and the conditions of the layers below that can reach the output.
    schema : Schema
    filled : tuple of (int, float or None)
        Columns of which no condition sees a missing value, and what one counts as; None where it is refused.
    link, bounds : str, (float, float) or None
        As of the network.
    """

    intercept: tuple[Decimal, ...]
    terms: tuple[ReadTerm, ...]
    hidden: tuple[tuple[ReadCondition, ...], ...]
    schema: Schema
    filled: tuple[tuple[int, float | None], ...] = ()
    link: str = "identity"
    bounds: tuple[float, float] | None = None

    @property
    def rules(self) -> tuple[ReadTerm, ...]:
        """The terms that are rules."""
        return tuple(term for term in self.terms if term.linear is None)

    @property
    def linear(self) -> tuple[ReadTerm, ...]:
        """The linear terms."""
        return tuple(term for term in self.terms if term.linear is not None)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the outputs, where there are several."""
        several = len(self.intercept) > 1
        return tuple(map(category_name, self.schema.classes or range(len(self.intercept)))) if several else ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.schema.names

    @property
    def target(self) -> str:
        return self.schema.target or "prediction"

    @cached_property
    def hidden_names(self) -> dict[tuple[int, int], str]:
        """Names h1, h2, ... of the conditions below the last layer, by layer and number."""
        hidden = (condition for layer in self.hidden for condition in layer)
        return {(condition.layer, condition.number): f"h{k}" for k, condition in enumerate(hidden, start=1)}

    @property
    def conditions(self) -> tuple[ReadCondition, ...]:
        """All conditions, those of the first layer first."""
        hidden = (condition for layer in self.hidden for condition in layer)
        return (*hidden, *(condition for term in self.terms for condition in term.conditions))

    @cached_property
    def complete(self) -> frozenset[int]:
        """The columns of which no condition sees a missing value."""
        return frozenset(column for column, _ in self.filled)

    @cached_property
    def counted_as(self) -> dict[int, float]:
        """What a missing number counts as, by column, where all conditions that count it as something agree."""
        counted: dict[int, set[float]] = {}
        chosen: set[int] = set()  # columns of which some conditions say themselves what a missing one is
        for condition in self.conditions:
            for column, number in condition.counted_missing:
                counted.setdefault(column, set()).add(number)
            if condition.layer == 0 and len(condition.named) > 1:
                chosen |= {choice.column for choice in condition.choices}
        for rule in self.rules:
            if len(rule.conditions) > 1 and len(rule.columns) > 1 and rule.condition.layer == 0:
                for condition in rule.conditions:  # next to another column, a threshold compares what is there alone
                    chosen |= condition.named - {column for column, _ in condition.counted_missing}
        agreed = {column: min(numbers) for column, numbers in sorted(counted.items()) if len(numbers) == 1}
        return {column: number for column, number in agreed.items() if column not in self.complete | chosen}

    def holds(self, X: Any) -> Bools:
        """Return which rules hold on the rows of a dataset, shape (rows, rules)."""
        return self._holds(self._rows(X))

    def evaluate(self, X: Any) -> Floats:
        """Return intercept and terms added up: the network's raw score, one column for each of several outputs."""
        rows = self._rows(X)
        holds, scores = self._holds(rows), np.zeros((len(rows), len(self.intercept)))
        for output, intercept in enumerate(self.intercept):
            numbers = list(map(float, [intercept, *(term.coef[output] for term in self.rules)]))
            # Short decimals are summed as whole numbers: the nearest float of the exact sum, whatever the order.
            summed, unit = whole_numbers(numbers) or (np.array(numbers), 1.0)
            total = (summed[0] + holds @ summed[1:]) / unit
            lines = (term.linear.values(rows) * float(term.coef[output]) for term in self.terms if term.linear)
            scores[:, output] = total + sum(lines)
        return scores if len(self.intercept) > 1 else scores[:, 0]

    def _holds(self, rows: Floats) -> Bools:
        for layer in self.hidden:
            below = np.zeros((len(rows), max((condition.number for condition in layer), default=-1) + 1))
            for condition in layer:
                below[:, condition.number] = condition.holds(rows)
            rows = below
        holds = [term.holds(rows) for term in self.rules]
        return np.stack(holds, axis=1) if holds else np.zeros((len(rows), 0), dtype=bool)

    def _rows(self, X: Any) -> Floats:
        """Return a dataset as the conditions read it."""
        rows = self.schema.encode(X, missing=True)
        for column, value in self.filled:
            missing = np.isnan(rows[:, column])
            if value is not None and missing.any():
                rows = rows.copy()
                rows[missing, column] = value
        return rows


def as_terms(model: Any) -> Terms:
    """Return a model as an intercept plus weighted terms, as equations print it.

    Rules that can never change the prediction (no weight, or no inputs) do not become terms; those without inputs go
    into the intercept.

    Parameters
    ----------
    model : Network or fitted estimator
        The terms of a probability add up to its log-odds; those of several classes to a score per class.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> layer = Layer([[1.0, 0.0], [0.0, 1.0]], [-65.5, -20.0])
    >>> network = Network.of_layers([layer], [0.5, -0.25], 1.0, ["income", "age"])
    >>> terms = as_terms(network)
    >>> terms.intercept
    (Decimal('0.25'),)
    >>> [(term.weight, term.condition.relation, term.condition.threshold) for term in terms.terms]
    [(1.0, '>=', 65.5), (0.5, '<', 20.0)]
    >>> terms.evaluate([[70.0, 10.0], [70.0, 30.0]]), network.predict([[70.0, 10.0], [70.0, 30.0]])
    (array([1.75, 1.25]), array([1.75, 1.25]))
    """
    network = network_of(model, plain=False)
    filled = unseen_missing(network)
    intercept = [written(value) for value in network.intercept.tolist()]
    rules: list[ReadTerm] = []
    linear: list[ReadTerm] = []
    index = -1
    for place, (rule, coef) in enumerate(zip(network.terms, network.coef.tolist(), strict=True)):
        if isinstance(rule, Linear):
            if any(coef):
                linear.append(ReadTerm(tuple(map(written, coef)), place, len(linear), linear=rule))
            continue
        index += 1
        if not any(coef):
            continue
        reversed_ = max(coef, key=abs) < 0.0
        conditions = read_rule(network, index, filled, reversed_)
        fixed = [None if condition.columns and len(conditions) == 1 else condition.fixed for condition in conditions]
        varies = not rule.never and reversed_ not in fixed and None in fixed
        # What it is worth as it is read where it does not hold, and where it does.
        low, high = (1, int(rule.otherwise)) if reversed_ else (int(rule.otherwise), 1)
        start = low if varies else int(rule.otherwise) if rule.never or reversed_ in fixed else 1
        conditions = tuple(part for part, value in zip(conditions, fixed, strict=True) if value is None and varies)
        exact = [written(weight) for weight in coef]
        intercept = [EXACT.add(value, weight * start) for value, weight in zip(intercept, exact, strict=True)]
        if conditions:
            steps = tuple(EXACT.multiply(Decimal(high - low), weight) for weight in exact)
            rules.append(ReadTerm(steps, place, index, conditions, reversed_ and len(conditions) > 1))
    rules.sort(key=lambda term: -max(map(abs, term.coef)))
    several = network.link == "softmax"
    schema = replace(network.schema, target_unit="") if several else outputs_of(network)[0].schema
    # The conditions below the last layer that some rule depends on.
    hidden: list[tuple[ReadCondition, ...]] = []
    columns = {column for term in rules for column in term.columns}
    for layer in range(len(network.below) - 1, -1, -1):
        own = network.below[layer].neurons
        hidden.insert(0, tuple(_read_condition(network, own[k], layer, k, filled) for k in sorted(columns)))
        columns = {column for condition in hidden[0] for column in condition.columns}
    return Terms(
        tuple(intercept), (*rules, *linear), tuple(hidden), schema, tuple(filled.items()), network.link, network.bounds
    )


# -- Which network a model has, and its outputs one by one.


def network_of(model: Any, plain: bool = True) -> Network:
    """Return `model` if it is a network, else its ``network_`` or, of a pipeline, that of the estimator inside.

    With `plain`, only where it is the paper's kind.
    """
    network = model if isinstance(model, Network) else getattr(model, "network_", None)
    if network is None:
        from bgn.pipelines import network_within

        network = network_within(model)
    if not isinstance(network, Network):
        raise TypeError(
            f"model must be a bgn.Network or a fitted estimator with network_; got {type(model).__name__}. "
            "Call fit first if it is an estimator."
        )
    if plain and not network.plain:
        raise ValueError(
            "model must predict one number from columns of numbers, without missing values, linear terms or classes, "
            "as the paper's networks do: this is said of them alone. Fit such columns with max_linear=0, or use "
            "bgn.effect and bgn.shap_values, which take every model."
        )
    return network


def outputs_of(model: Any) -> tuple[Network, ...]:
    """Return the outputs of a model as networks of one output each, whose prediction is the raw score.

    It is the network itself where its one output needs no link and has no bounds.

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.model.readings import outputs_of
    >>> layers = [Layer([[1.0]], [-2.0])]
    >>> network = Network.of_layers(layers, [[1.0, -0.5]], [0.0, 1.0], ["age"], "kind", link="softmax")
    >>> [(output.target_name, float(output.predict([[3.0]])[0])) for output in outputs_of(network)]
    [('score of kind 0', 1.0), ('score of kind 1', 0.5)]
    """
    network = network_of(model, plain=False)
    if network.link == "identity":
        return (network if network.bounds is None else network.changed(bounds=None),)
    target, classes = network.target_name and quote_name(network.target_name), network.schema.classes
    names = None if classes is None else [quote_category(category_name(label)) for label in classes]
    if network.link == "logistic":
        positive = None if names is None else f"{target or 'class'} = {names[1]}"
        titles = [Quoted(f"log-odds of {positive or target or 'yes'}")]
    else:
        labels, equals = (range(network.n_outputs), "") if names is None else (names, "= ")
        titles = [Quoted(f"score of {target or 'class'} {equals}{label}") for label in labels]
    return tuple(
        network.changed(
            intercept=intercept, coef=coef, link="identity",
            schema=replace(network.schema, target=title, target_unit="", classes=None),
        )
        for title, intercept, coef in zip(titles, network.intercept, network.coef.T, strict=True)
    )  # fmt: skip


# -- A condition as it is read: first a sum without idle parts whose leading coefficient is 1.

_MOST_FACTORS = 10  # conditions of the layer below whose every combination is tried


def unseen_missing(network: Network) -> dict[int, float | None]:
    """Return the columns of which the rules see no missing value, and what one counts as; None where it is refused."""
    refused = np.flatnonzero(network.layers[0].refuses_missing).tolist()
    return {column: network.schema.columns[column].typical for column in refused}


def read_rule(
    network: Network, index: int, filled: dict[int, float | None], reversed_: bool = False
) -> tuple[ReadCondition, ...]:
    """Return the conditions of one of a network's rules as they are read, perhaps each the other way round."""
    layer, own = len(network.below), network.rules[index].conditions
    return tuple(_read_condition(network, condition, layer, index, filled, reversed_) for condition in own)


def _read_condition(
    network: Network, condition: Condition, layer: int, number: int, filled: dict[int, float | None],
    reversed_: bool = False,
) -> ReadCondition:  # fmt: skip
    """Return a condition as it is read, perhaps the other way round."""
    if isinstance(condition, Threshold):
        missing = condition.missing if condition.column not in filled else None
        missing = missing if missing is None else missing is not reversed_
        relation = OPPOSITE[condition.relation] if reversed_ else condition.relation
        threshold = condition.threshold + 0.0
        plain = ReadCondition(layer, number, condition.columns, (1.0,), relation, threshold, missing)
        return read(plain, network.schema, filled)
    oblique = condition.as_oblique() if layer else _without_idle(condition.as_oblique(), filled)
    columns, coefficients = oblique.projection.columns, oblique.projection.coefficients
    missing_as = oblique.projection.missing_as
    threshold, schema = oblique.threshold if layer == 0 else _threshold_of_flags(oblique), network.schema
    relation = "<" if reversed_ else ">="
    # It is divided by the coefficient of a number rather than of a 0/1 column, by 1 rather than another one.
    factors = [(column, coefficient) for column, coefficient in zip(columns, coefficients, strict=True)
               if not isinstance(coefficient, tuple)]  # fmt: skip
    numbers = [factor for column, factor in factors if layer == 0 and not is_flag(schema.columns[column])]
    numbers = numbers or [factor for _, factor in factors]
    leading = next((factor for factor in numbers if abs(factor) == 1.0), max(numbers, key=abs, default=1.0))
    if abs(frexp(leading)[0]) == 0.5:  # signs and powers of two alone: nothing is rounded
        if missing_as is not None:
            missing_as = tuple(
                value / leading if isinstance(coefficient, tuple) or coefficient == 0.0 else value
                for value, coefficient in zip(missing_as, coefficients, strict=True)
            )
        coefficients = tuple(
            tuple(value / leading for value in coefficient) if isinstance(coefficient, tuple) else coefficient / leading
            for coefficient in coefficients
        )
        threshold = threshold / leading + 0.0
        relation = MIRRORED[relation] if leading < 0 else relation
    missing = None if oblique.missing is None or layer > 0 else oblique.missing is not reversed_
    summed = ReadCondition(layer, number, columns, coefficients, relation, threshold, missing, missing_as)
    return read(summed, schema, filled)


def _without_idle(oblique: Oblique, filled: Collection[int]) -> Oblique:
    """Return a condition of the first layer without numbers that add nothing, and missing values that it never sees.

    One that reads a single column holds for its missing value or does not, whatever that counts as.
    """
    projection, missing_as, missing = oblique.projection, oblique.projection.missing_as, oblique.missing
    if set(filled) >= set(projection.columns):
        missing_as = missing = None
    if missing is None:
        places = []
        for place, (column, coefficient) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
            values = coefficient if isinstance(coefficient, tuple) else (coefficient,)
            if any(values) or (missing_as is not None and column not in filled and missing_as[place]):
                places.append(place)
        columns = tuple(projection.columns[place] for place in places)
        missing_as = None if missing_as is None else tuple(missing_as[place] for place in places)
        projection = Projection(columns, tuple(projection.coefficients[place] for place in places), missing_as)
        if missing_as is not None and len(columns) == 1:
            row = np.full((1, columns[0] + 1), np.nan)
            missing = bool(Oblique(projection, oblique.threshold).holds(row)[0])
            projection = replace(projection, missing_as=None)
    return Oblique(projection, oblique.threshold, missing)


def _threshold_of_flags(oblique: Oblique) -> float:
    """Return the threshold of a sum over 0 and 1 in place of +-1: w . (2 a - 1) >= t is w . a >= this.

    Where a sum would lie on it, and a rounding decide, it is moved between the sums on both sides. Only where floats
    answer two combinations of one and the same sum differently there is nothing between them; thresholds that are grown
    lie between sums.
    """
    factors = oblique.projection.factors
    exact = written(oblique.threshold)
    for factor in factors:
        exact = EXACT.add(exact, written(factor))
    threshold = float(EXACT.divide(exact, Decimal(2)))
    if not 0 < len(factors) <= _MOST_FACTORS:
        return threshold
    flags = np.array(list(product((0.0, 1.0), repeat=len(factors))))
    compact = Projection(tuple(range(len(factors))), factors)
    sums, holds = compact.values(flags), Oblique(compact, oblique.threshold).holds(2.0 * flags - 1.0)
    size = 1e-9 * np.abs(factors).max()
    if np.abs(sums - threshold).min() > size or holds.all() or not holds.any():
        return threshold
    low, high = float(sums[~holds].max()), float(sums[holds].min())
    return shortest(low + size, high - size) if high - low > 4 * size else threshold


# -- A sum as a person reads it: thresholds of one number, case by case, or a count of choices.

_NO_VALUE = -1  # the missing value among the numbers of categories
_MOST_CASES = 4  # beyond, a sum is shorter
_MOST_DIGITS = 4  # of a threshold beyond those of the numbers that it comes from, where a sum is shorter
_MOST_COMBINATIONS = 64  # of 0/1 columns and categories
_LARGEST = sys.float_info.max

Group = tuple[int, ...]
"""Categories, or 0 and 1, and perhaps the missing value, that add the same."""


def is_flag(column: Column | None) -> bool:
    """Tell whether a column holds 0 and 1 alone; None stands for a condition of the layer below."""
    return column is None or column.category_of is not None or (column.whole and column.seen == (0.0, 1.0))


def read(condition: ReadCondition, schema: Schema, complete: Collection[int] = ()) -> ReadCondition:
    """Return the same condition with its reading; the columns `complete` never show it a missing value.

    Examples
    --------
    >>> from bgn.model.schema import Column, Schema
    >>> city = Schema((Column("city", categories=("Lille", "Nice")),))
    >>> read(ReadCondition(0, 0, (0,), ((0.0, 1.0),), ">=", 1.0, missing=True), city).reading
    Count(least=1, choices=(Choice(column=0, values=(1,), missing=True),))
    """
    columns = [None if condition.layer else schema.columns[j] for j in condition.columns]
    seen_missing = [j not in complete for j in condition.columns]
    missing_alone = condition.missing is not None and len(columns) == 1 and seen_missing[0]
    groups: list[list[Group]] = []
    numbers = []
    for place, (column, coefficient) in enumerate(zip(columns, condition.coefficients, strict=True)):
        missing = condition.missing_as[place] if condition.missing_as is not None and seen_missing[place] else None
        if isinstance(coefficient, tuple):
            groups.append(_group_alike(coefficient, missing))
        elif coefficient == 0.0:
            groups.append([(0,), (_NO_VALUE,)] if missing else [(0,)])
        elif is_flag(column):
            groups.append(_group_alike((0.0, 1.0), missing))
        else:
            numbers.append(place)
            groups.append([(0,)])
        if missing_alone and not numbers:
            groups[0].append((_NO_VALUE,))
    reading: Cases | Count | None = None
    simplified = False
    # With the inputs by their places, all that follows is the same for columns and conditions of a layer below.
    compact = replace(condition, columns=tuple(range(len(columns))))
    if len(numbers) < 2 and (len(groups) == 1 or prod(map(len, groups)) <= _MOST_COMBINATIONS):
        if numbers:
            reading, simplified = _read_number(compact, columns, groups, numbers[0], seen_missing[numbers[0]])
        else:
            rows = [[_value_in(group) for group in combination] for combination in product(*groups)]
            holds = compact.holds(np.array(rows) if groups else np.zeros((1, 1)))
            reading = _read_count(holds.reshape([len(own) for own in groups]), groups)
    return replace(
        condition, reading=None if reading is None else _at_columns(reading, condition.columns),
        simplified=condition.columns[numbers[0]] if simplified else None,
    )  # fmt: skip


def _group_alike(values: tuple[float, ...], missing: float | None) -> list[Group]:
    """Return categories, or 0 and 1, and the missing value, by what they add: those that add the same together."""
    same: dict[float, list[int]] = {}
    for code, value in enumerate(values):
        same.setdefault(value, []).append(code)
    if missing is not None:
        same.setdefault(missing, []).append(_NO_VALUE)
    return [tuple(codes) for codes in same.values()]


def _value_in(group: Group) -> float:
    # What a row holds that stands for a group.
    return np.nan if group[0] == _NO_VALUE else float(group[0])


def _choose(place: int, codes: Sequence[int]) -> Choice:
    return Choice(place, tuple(sorted(code for code in codes if code != _NO_VALUE)), _NO_VALUE in codes)


def _at_columns(reading: Any, columns: Sequence[int]) -> Any:
    """Return a reading of places as one of columns."""
    if isinstance(reading, tuple):
        return tuple(_at_columns(part, columns) for part in reading)
    changes = {
        name: columns[part] if name == "column" else _at_columns(part, columns)
        for name, part in vars(reading).items()
        if name in ("column", "choices", "cases", "required", "sufficient") and part is not None
    }
    return replace(reading, **changes)


def _read_count(holds: NDArray[np.bool_], groups: list[list[Group]]) -> Count | None:
    """Read what holds by groups, one dimension per column, as a count of choices; None where it is none."""
    choices = []
    for place, own in enumerate(groups):
        # What a column's values come to: what holds for each of them, whatever the other columns are.
        patterns = [tuple(row) for row in np.moveaxis(holds, place, 0).reshape(len(own), -1).tolist()]
        distinct = sorted(set(patterns), key=sum)
        if len(distinct) > 2:
            return None
        if len(distinct) == 2:
            codes = [code for group, row in zip(own, patterns, strict=True) if row == distinct[1] for code in group]
            choices.append(_choose(place, codes))
    if not choices:
        return Count(int(not holds.flat[0]), ())
    counts = []
    for combination in product(*groups):
        firsts = [combination[choice.column][0] for choice in choices]
        counts.append(sum(choice.missing if first == _NO_VALUE else first in choice.values
                          for first, choice in zip(firsts, choices, strict=True)))  # fmt: skip
    flat = holds.ravel().tolist()
    least = min(count for count, one in zip(counts, flat, strict=True) if one)
    return Count(least, tuple(choices)) if flat == [count >= least for count in counts] else None


def _read_number(
    condition: ReadCondition, columns: Sequence[Column | None], groups: list[list[Group]], number: int, missing: bool
) -> tuple[Cases | Count | None, bool]:
    """Read a condition about one number, 0/1 columns and categories as thresholds of the number, by their values.

    Return as well whether that relies on the range of the numbers seen.
    """
    column = columns[number]
    assert column is not None
    coefficient = float(condition.coefficients[number])  # type: ignore[arg-type]
    if coefficient != 1.0 and not column.whole and len(columns) > 1:
        return None, False  # the thresholds would have many digits
    missing_as = None if condition.missing_as is None else condition.missing_as[number]
    whole = column.whole and (missing_as is None or missing_as.is_integer())  # what it counts as is compared too
    relation = condition.relation if coefficient > 0.0 else MIRRORED[condition.relation]
    thresholds: dict[tuple[Group, ...], Decimal] = {}
    for combination in product(*groups):
        titles = [of.category_of[0] for of, group in zip(columns, combination, strict=True)
                  if of is not None and of.category_of is not None and group == (1,)]  # fmt: skip
        if len(set(titles)) < len(titles):
            continue  # two categories of one column at a time
        threshold = _threshold(condition, combination, number, whole)
        if threshold is None:
            return None, False
        thresholds[combination] = threshold
    stored = [condition.threshold, *Projection(condition.columns, condition.coefficients).numbers]
    most = max(len(written(value).as_tuple().digits) for value in stored) + _MOST_DIGITS
    plain: dict[tuple[Group, ...], bool | None] = dict.fromkeys(thresholds)
    decided = dict(plain)  # where all numbers seen reach the threshold, or none
    for combination, threshold in thresholds.items() if column.seen is not None else ():
        values = [*(column.seen or ()), *([missing_as] if missing and missing_as is not None else [])]
        outcomes = {bool(RELATIONS[relation](value, float(threshold))) for value in values}
        decided[combination] = outcomes.pop() if len(outcomes) == 1 else None
    simpler = len(set(thresholds.values())) > 1 and set(decided.values()) not in ({True}, {False})
    for known in (decided, plain) if simpler else (plain,):
        reading = _read_cases(number, relation, thresholds, known, groups)
        # With many digits, the float64 sum rounds across what it would be in decimals.
        cases = reading.cases if isinstance(reading, Cases) else ()
        if reading is not None and all(len(case.threshold.as_tuple().digits) <= most for case in cases):
            return reading, known != plain
    return None, False


def _read_cases(
    number: int, relation: str, thresholds: dict[tuple[Group, ...], Decimal],
    decided: dict[tuple[Group, ...], bool | None], groups: list[list[Group]],
) -> Cases | Count | None:  # fmt: skip
    """Read thresholds of a number by what else a row has, some of them decided; None where no count of choices fits."""
    always = {own for own, outcome in decided.items() if outcome}
    sufficient = _read_where(always, thresholds, groups) if always else None
    # From the highest threshold on, or below the lowest, it always holds; otherwise for some combinations alone.
    undecided = {thresholds[own] for own, outcome in decided.items() if outcome is None}
    distinct = sorted(undecided, reverse=relation[0] == ">")
    if len(distinct) > _MOST_CASES or (always and sufficient is None):
        return None
    cases = []
    for place, threshold in enumerate(distinct):
        where = {own for own, outcome in decided.items() if outcome is None and thresholds[own] in distinct[place:]}
        required = None
        if len(where | always) < len(thresholds):
            required = _read_where(where | always, thresholds, groups)
            if required is None:
                return None
        cases.append(Case(relation, threshold, required))
    return Cases(number, tuple(cases), sufficient) if cases else sufficient


def _read_where(
    chosen: Collection[tuple[Group, ...]], possible: Collection[tuple[Group, ...]], groups: list[list[Group]]
) -> Count | None:
    """Read which of the possible combinations of groups are chosen as a count of choices; None where it is none."""
    for other in (False, True):  # two categories of one column at a time are none of the rows
        table = [own in chosen if own in possible else other for own in product(*groups)]
        count = _read_count(np.array(table).reshape([len(own) for own in groups]), groups)
        if count is not None:
            return count
    return None


def _threshold(condition: ReadCondition, combination: Sequence[Group], number: int, whole: bool) -> Decimal | None:
    """Return where it begins to hold along one number, the other columns fixed; None where it never changes.

    What a float stands for is the decimal that it is written as, so the first float beyond the change is the threshold.
    """
    row = np.array([_value_in(group) for group in combination])
    coefficient = float(condition.coefficients[number])  # type: ignore[arg-type]
    # Turned so that it does not hold below and does from the threshold on: x and its sign, and the outcome.
    first = condition.relation in (">=", "<")
    sign = 1.0 if first is (coefficient > 0.0) else -1.0
    upwards = condition.relation in (">=", ">") if coefficient > 0.0 else condition.relation in ("<=", "<")
    turned = upwards is not (sign > 0.0)

    def holds(value: float) -> bool:
        row[number] = sign * value
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(condition.holds(row[np.newaxis])[0]) is not turned

    rest = written(condition.threshold)
    projection = Projection(condition.columns, condition.coefficients, condition.missing_as)
    for place in range(len(combination)):
        if place != number:
            rest = EXACT.subtract(rest, written(float(projection.at(place).values(row[np.newaxis])[0])))
    guess = sign * float(EXACT.divide(rest, written(coefficient)))
    if whole and abs(guess) < 2.0**52 and holds(ceil(guess)) and not holds(ceil(guess) - 1.0):
        change = float(ceil(guess))
    elif holds(guess) and not holds(float(np.nextafter(guess, -np.inf))):
        change = guess
    elif holds(_LARGEST) and not holds(-_LARGEST):
        change = first_float(holds)
    else:
        return None
    return written(sign * change + 0.0)


def first_float(holds: Callable[[float], bool]) -> float:
    """Return the lowest float on which something holds that holds on every higher one, too; the largest if none.

    Examples
    --------
    >>> first_float(lambda value: value * 3.0 >= 1.0)
    0.3333333333333333
    """

    def float_at(place: int) -> float:
        value = float(np.int64(abs(place)).view(np.float64))
        return value if place >= 0 else -value

    most = int(np.float64(_LARGEST).view(np.int64))  # floats in order are whole numbers in order
    low, high = -most - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(float_at(middle)) else (middle, high)
    return float_at(high)


# -- Which of two classes people are told of: the one that says yes, in the languages that tables are written in.

# ruff: noqa: RUF001  (letters of other alphabets that look like ours)


_YES, _NO, _NOT, _WITH = (
    frozenset(texts.split())
    for texts in (
        "yes y true t on ja j oui o vrai si sí sì s vero sim da tak ano áno a jo igen kyllä kylla k evet hai はい ya "
        "có ναι да д так 是 有 예 네 نعم כן हाँ jah taip jā positive positiv positif positivo present success",
        "no n false f off nein nee nej nei non faux falso não nao ne nie nem ei e hayır hayir h iie いいえ tidak không "
        "όχι нет н ні 否 无 아니요 아니오 لا לא नहीं nu negative negativ négatif negatif negativo absent failure",
        "no not non never without kein keine keinen nicht nie ohne pas sans jamais sin senza niet geen zonder não nao "
        "sem inte utan ikke uten ingen bez нет не без",
        "with mit avec con com met med",
    )
)


def find_positive_class(labels: Sequence[Any]) -> int | None:
    """Return which of two labels says yes where the other says no; None where they do not.

    Either both are such words, or one is the other with a word that denies it.

    Examples
    --------
    >>> find_positive_class(["ja", "nein"]), find_positive_class(["Default", "no default"])
    (0, 0)
    >>> find_positive_class(["cat", "dog"]), find_positive_class([0, 1])
    (None, None)
    """
    if len(labels) != 2 or not all(isinstance(label, str) for label in labels):
        return None
    texts = [label.casefold().replace("_", " ").replace("-", " ").split() for label in labels]
    for yes, no in ((0, 1), (1, 0)):
        if len(texts[yes]) == len(texts[no]) == 1 and texts[yes][0] in _YES and texts[no][0] in _NO:
            return yes
        denied = [part for part in texts[no] if part not in _NOT]
        if len(denied) < len(texts[no]) and denied and denied == [part for part in texts[yes] if part not in _WITH]:
            return yes
    return None


def swap_classes(network: Network) -> Network:
    """Return a network of two classes with the first as its second: it predicts the same.

    Rows of which both are equally probable are an exception: of them the first is predicted.
    """
    schema = replace(network.schema, classes=(network.schema.classes or (0, 1))[::-1])
    members = network.members and Ensemble(-network.members.intercept, -network.members.coef)
    return network.changed(intercept=-network.intercept, coef=-network.coef, schema=schema, members=members)


def is_first_positive(network: Network) -> bool:
    """Return whether the first of two classes says yes and the second no, as "ja" and "nein" do."""
    classes = network.schema.classes
    return network.link == "logistic" and classes is not None and find_positive_class(classes) == 0


def with_positive_second(network: Network) -> Network:
    """Return a network as people are told of it: of two classes that say yes and no, yes is the second.

    Classes stand in the order of their letters, as scikit-learn has them, which puts "yes" second but "ja" first.
    """
    return swap_classes(network) if is_first_positive(network) else network
