"""A network as a list of terms for programs of any language: rules, linear terms, what each of them adds.

All formats write the same plan, so that all of them do the same float operations in the same order as
:meth:`bgn.Network.raw_score`: a sum over columns in their order, one rounding per operation; then intercept and terms,
added up in their order. Where :attr:`bgn.Network.addends` are whole numbers over a power of ten, the order does not
matter, and one division ends it. Sums, conditions and rules that are the same stand in it once, and those that reach no
output do not stand in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from math import inf, isfinite
from typing import Any

import numpy as np

from bgn.export.condition import describe
from bgn.model.dates import TimePart
from bgn.model.network import Network
from bgn.model.readings import ReadTerm, as_terms, network_of, read_rule
from bgn.model.schema import Category, category_name
from bgn.model.term import Coefficient, Condition, Linear, Member, Oblique, Projection, Threshold, condition_of
from bgn.text import quote_category, quote_name
from bgn.whole_file import write_whole

_MOST_WHOLE = float(1 << 53)

# -- Where a program gets a number of a row from: a number, the number of a category, a part of a date.


@dataclass(frozen=True)
class Input:
    """A number or a category that a program reads from a row."""

    place: int  # the network's column
    name: str
    raw: str  # the dataset's column that it is made of; the same where nothing is to be done
    categories: tuple[Category, ...] | None = None
    made: TimePart | None = None  # how it is made of the dataset's column; None where it is that column
    category_of: tuple[str, Category] | None = None  # the categorical column, and which category of it is a 1
    fill: float | None = None  # what a missing value counts as, before any rule sees it
    refuses: bool = False  # whether there is no prediction where it is missing

    @property
    def names(self) -> list[str]:
        """The names of its categories."""
        return [category_name(category) for category in self.categories or ()]

    @property
    def category_kind(self) -> str:
        """What the categories are: ``"texts"``, ``"numbers"`` or ``"truths"``; texts where there are several kinds."""
        categories = self.categories or ("",)
        if all(isinstance(category, bool) for category in categories):
            return "truths"
        return "texts" if any(isinstance(category, str | bool) for category in categories) else "numbers"

    def to_do(self) -> str:
        """Return the sentence that says how to make it of a raw dataset; empty where nothing is to be done."""
        name, raw = quote_name(self.name), quote_name(self.raw)
        if self.category_of is not None:
            column, category = quote_name(self.category_of[0]), quote_category(category_name(self.category_of[1]))
            return f"{name}: 1 where {column} is {category}, 0 where it is anything else."
        if self.made is None:
            return ""
        zone = "" if self.made.zone is None else f", by the clocks of {self.made.zone}"
        part = {
            "year": f"the year of {raw}",
            "month": f"the month of {raw}, 1 to 12",
            "day": f"the day of the month of {raw}",
            "weekday": f"the weekday of {raw}, 1 for Monday to 7",
            "hour": f"the hour of {raw}, minutes as a fraction",
            "days": f"days from {self.made.first} to {raw}, with a fraction",
            "duration": f"{raw} in days, with a fraction",
            "time": f"{raw} in hours, minutes as a fraction",
        }
        return f"{name}: {part[self.made.part]}{zone}."


NOT_TEXT = "\0\ud800-\udfff"
"""What ends strings or is no text at all, as `check_texts` takes it."""


def check_texts(texts: Iterable[str], refused: str, target: str) -> None:
    """Refuse texts with a character of the set `refused`, which a target would lose or take for their end.

    Examples
    --------
    >>> check_texts(["a", "b\\0"], "\\0", "SQL")
    Traceback (most recent call last):
    ...
    ValueError: SQL has no place for the character '\\x00' of "b\\u0000". Call the column or category otherwise.
    """
    for text in texts:
        if match := re.search(f"[{refused}]", text):
            raise ValueError(
                f"{target} has no place for the character {match[0]!r} of {quote_name(text, 80)}. "
                "Call the column or category otherwise."
            )


# -- What a program computes.


@dataclass(frozen=True)
class Summation:
    """A sum over inputs, or over the +-1 of the layer below, in their order.

    `missing_as` is what a missing value adds, input by input; None where one leaves no sum.
    """

    inputs: tuple[int, ...]
    coefficients: tuple[Coefficient, ...]
    missing_as: tuple[float, ...] | None = None

    def parts(self, layer: int) -> Iterator[tuple[int, Coefficient, float | None]]:
        """Yield inputs, their coefficients and what they add where they are missing; above the first layer, None."""
        missing_as = self.missing_as if self.missing_as is not None and not layer else (None,) * len(self.inputs)
        return zip(self.inputs, self.coefficients, missing_as, strict=True)


@dataclass(frozen=True)
class PlannedComparison:
    """It holds where a sum, by its number in the layer, is at or beyond a threshold.

    `missing` is whether it does where there is no sum; None where there always is one.
    """

    summation: int
    relation: str
    threshold: float
    missing: bool | None = None


@dataclass(frozen=True)
class OneOf:
    """It holds where an input is one of the chosen of its categories, or perhaps missing or none of them."""

    input: int
    chosen: tuple[bool, ...]
    missing: bool = False

    @property
    def listed(self) -> list[int]:
        """The categories to name: those that it holds for, or does not where it holds for a missing value."""
        return [code for code, holds in enumerate(self.chosen) if holds is not self.missing]


@dataclass(frozen=True)
class Absent:
    """It holds where an input, a number, is missing."""

    input: int


PlannedCondition = PlannedComparison | OneOf | Absent


@dataclass(frozen=True)
class PlannedLayer:
    """The different sums of a hidden layer, and the different conditions on them and on inputs."""

    sums: tuple[Summation, ...]
    conditions: tuple[PlannedCondition, ...]


@dataclass(frozen=True)
class Addend:
    """What a rule, by its number, adds to each output where it holds, and where it does not."""

    rule: int
    coef: tuple[float, ...]
    otherwise: tuple[float, ...]


@dataclass(frozen=True)
class LinearInput:
    """What an input adds to each output per unit; a value beyond an end counts as the end.

    `missing_as` is what a missing value counts as, None where none can reach it.
    """

    input: int
    coef: tuple[float, ...]
    low: float = -inf
    high: float = inf
    missing_as: float | None = None


@dataclass(frozen=True)
class Reason:
    """The SHAP value of a rule, per output, where it holds and where it does not, and the rule in words."""

    rule: int
    yes: tuple[float, ...]
    no: tuple[float, ...]
    text: str


@dataclass(frozen=True, eq=False)
class ExportPlan:
    """Everything that a program has to do."""

    inputs: tuple[Input, ...]  # what is read of a row
    layers: tuple[PlannedLayer, ...]  # the hidden layers of a deep network, then the conditions of the rules
    rules: tuple[tuple[int, ...], ...]  # the different ones: which conditions of the last layer must all hold
    intercept: tuple[float, ...]  # where each output's sum starts
    over: float  # what sums are divided by at the end
    terms: tuple[Addend | LinearInput, ...]  # added after the intercept, in this order
    whole: bool  # whether all of these are whole numbers, and their sums exact in any order
    link: str
    classes: tuple[Category, ...] | None  # two where the link is logistic, the second of which has the probability
    network: Network = field(repr=False)
    rule_numbers: dict[int, int] = field(repr=False)  # which of `rules` every rule of the network with a weight is

    @property
    def addends(self) -> tuple[Addend, ...]:
        """The terms that are rules."""
        return tuple(term for term in self.terms if isinstance(term, Addend))

    @property
    def linear(self) -> tuple[LinearInput, ...]:
        """The linear terms."""
        return tuple(term for term in self.terms if isinstance(term, LinearInput))

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.intercept)

    @property
    def last(self) -> PlannedLayer:
        """The conditions of the rules."""
        return self.layers[-1]

    @property
    def target(self) -> str:
        """What is predicted."""
        return self.network.target_name or "prediction"

    @property
    def bounds(self) -> tuple[tuple[str, float], ...]:
        """What predictions do not go beyond: the sign of a score beyond each, and the bound that it predicts."""
        return tuple((sign, end) for sign, end in zip("<>", self.network.bounds or (), strict=False) if isfinite(end))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The labels as texts."""
        return tuple(map(category_name, self.classes or ()))

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that a program compares or names things by: columns, categories, classes and the target."""
        categories = (name for given in self.inputs for name in given.names)
        return (*(given.name for given in self.inputs), *self.raws, *categories, *self.class_names, self.target)

    @cached_property
    def raws(self) -> tuple[str, ...]:
        """Names of the columns of a raw dataset that are read."""
        return tuple(dict.fromkeys(given.raw for given in self.inputs))

    @property
    def to_do(self) -> tuple[str, ...]:
        """Sentences on what to do to a raw dataset, for formats that cannot."""
        return tuple(filter(None, (given.to_do() for given in self.inputs)))

    def sees_missing(self, place: int) -> bool:
        """Whether conditions may meet a missing value in an input."""
        return not self.inputs[place].refuses and self.inputs[place].fill is None

    @cached_property
    def rule_texts(self) -> dict[int, str]:
        """The rules in words, by their numbers."""
        terms = as_terms(self.network)
        numbers = {rule: index for index, rule in reversed(self.rule_numbers.items())}
        reading = {rule: read_rule(self.network, index, dict(terms.filled)) for rule, index in numbers.items()}
        return {rule: describe(ReadTerm((), 0, numbers[rule], read), terms) for rule, read in reading.items()}

    def reasons(self, background: Any = None) -> tuple[Reason, ...]:
        """Return the rules with their exact SHAP values against the mean of a background, or against their middle."""
        network, means = self.network, np.zeros(len(self.network.rules))
        if background is not None:
            if np.shape(background)[0] == 0:
                raise ValueError("background must have rows, over which answers are averaged; got none.")
            means = network.hidden(background).mean(axis=0)
        reasons: dict[int, Reason] = {}
        for index, rule in self.rule_numbers.items():
            coef = network.rule_coef[index] * (1.0 - network.rules[index].otherwise) / 2.0
            mean = float(means[index])
            yes, no = coef * (1.0 - mean), coef * (-1.0 - mean)
            if rule in reasons:  # the same rule twice is one reason
                yes, no = yes + reasons[rule].yes, no + reasons[rule].no
            reasons[rule] = Reason(rule, tuple(yes.tolist()), tuple(no.tolist()), self.rule_texts[rule])
        return tuple(reasons.values())


def plan(model: Any) -> ExportPlan:
    """Return what a program has to do to predict as a model does.

    Examples
    --------
    >>> from bgn import Network, Rule, Threshold
    >>> from bgn.export.plan import plan
    >>> rules = [Rule((Threshold(0, 65.5), Threshold(1, 20.0, "<"))), Rule(Threshold(0, 65.5), -1.0)]
    >>> planned = plan(Network(1.0, rules, [0.5, 0.25], ["income", "age"]))
    >>> [given.name for given in planned.inputs], planned.rules
    (['income', 'age'], ((0, 1), (0,)))
    >>> planned.last.conditions[1]
    PlannedComparison(summation=1, relation='<', threshold=20.0, missing=None)
    >>> planned.intercept, planned.addends[1], planned.over
    ((75.0,), Addend(rule=1, coef=(50.0,), otherwise=(0.0,)), 100.0)
    """
    network = network_of(model, plain=False)
    inputs = _plan_inputs(network)
    places = {given.place: k for k, given in enumerate(inputs)}
    chosen, alive = np.asarray(network.rule_coef.any(axis=1)), list[list[int]]()
    for layer in reversed(network.layers[1:] if network.below else ()):
        chosen = layer.inputs_of(chosen)
        alive.insert(0, np.flatnonzero(chosen).tolist())
    layers = [_Planned(inputs, places, first=True)]
    for layer, numbers in zip(network.below, alive, strict=True):
        below = {k: layers[-1].add(layer.neurons[k]) for k in numbers}
        layers.append(_Planned(inputs, below, first=False))
    rules: dict[tuple[int, ...], int] = {}
    rule_numbers = {}
    for index, rule in enumerate(network.rules):
        if network.rule_coef[index].any():
            held = tuple(dict.fromkeys(map(layers[-1].add, rule.conditions)))
            rule_numbers[index] = rules.setdefault(held, len(rules))
    intercept, over, whole, terms = _plan_terms(network, rule_numbers, places, inputs)
    classes = None
    if network.link != "identity":
        classes = network.schema.classes or tuple(map(float, range(max(2, network.n_outputs))))
    return ExportPlan(
        inputs=inputs,
        layers=tuple(PlannedLayer(tuple(layer.sums), tuple(layer.conditions)) for layer in layers),
        rules=tuple(rules),
        intercept=intercept,
        over=over,
        terms=terms,
        whole=whole,
        link=network.link,
        classes=classes,
        network=network,
        rule_numbers=rule_numbers,
    )


def _plan_inputs(network: Network) -> tuple[Input, ...]:
    """Return what a program reads of a row."""
    inputs = []
    for place in network.features_used:
        column = network.schema.columns[place]
        refuses = bool(network.refuses_missing[place]) and column.typical is None
        fill = column.typical if network.layers[0].refuses_missing[place] else None
        inputs.append(Input(place, column.name, column.raw, column.categories, column.part_of, column.category_of,
                            fill, refuses))  # fmt: skip
    return tuple(inputs)


@dataclass
class _Planned:
    """The sums and conditions of a layer on their way, each once; `places` are those of the columns that it reads."""

    inputs: tuple[Input, ...]
    places: dict[int, int]
    first: bool
    sums: dict[Summation, int] = field(default_factory=dict)
    conditions: dict[PlannedCondition, int] = field(default_factory=dict)

    def add(self, condition: Condition) -> int:
        """Return the number of a condition."""
        return self.conditions.setdefault(self._planned(condition), len(self.conditions))

    def _planned(self, condition: Condition) -> PlannedCondition:
        condition = condition_of(condition) if self.first and isinstance(condition, Oblique) else condition
        if isinstance(condition, Oblique):
            return self._compared(condition, ">=", condition.threshold + 0.0, condition.missing)
        k = self.places[condition.column]
        missing = condition.missing if self.inputs[k].fill is None and not self.inputs[k].refuses else None
        if isinstance(condition, Threshold):
            one = Oblique(Projection((condition.column,), (1.0,)), 0.0)
            return self._compared(one, condition.relation, condition.threshold + 0.0, missing)
        categories = self.inputs[k].categories
        if categories is None:
            return Absent(k)
        held = set(condition.categories if isinstance(condition, Member) else ())
        return OneOf(k, tuple(code in held for code in range(len(categories))), bool(missing))

    def _compared(self, oblique: Oblique, relation: str, threshold: float, missing: bool | None) -> PlannedComparison:
        projection, missing_as = oblique.projection, oblique.projection.missing_as
        if missing_as is not None:
            missing_as = tuple(
                value if isinstance(coefficient, tuple) else value * (coefficient or 1.0)
                for value, coefficient in zip(missing_as, projection.coefficients, strict=True)
            )
        summed = Summation(tuple(self.places[j] for j in projection.columns), projection.coefficients, missing_as)
        return PlannedComparison(self.sums.setdefault(summed, len(self.sums)), relation, threshold, missing)


def _plan_terms(
    network: Network, rule_numbers: dict[int, int], places: dict[int, int], inputs: tuple[Input, ...]
) -> tuple[tuple[float, ...], float, bool, tuple[Addend | LinearInput, ...]]:
    """Return the intercept, what sums are divided by, whether they are whole, and the terms.

    Where they are, what a rule is worth elsewhere goes into the intercept, and equal rules are added together.
    """
    intercept, coef, over = network.addends
    otherwise = np.array([getattr(term, "otherwise", 0.0) for term in network.terms]).reshape(-1, 1) * coef + 0.0
    sums = np.vstack([intercept + otherwise.sum(axis=0) if otherwise.any() else intercept, coef - otherwise])
    whole = bool((sums == np.rint(sums)).all() and np.abs(sums).sum(axis=0).max(initial=0.0) < _MOST_WHOLE)
    if whole := whole and not network.linear_coef.any():
        intercept, coef, otherwise = sums[0], sums[1:], np.zeros_like(otherwise)
    terms: dict[Any, Addend | LinearInput] = {}
    indices = count()
    for place, (term, own, rest) in enumerate(zip(network.terms, coef, otherwise, strict=True)):
        if isinstance(term, Linear):
            if own.any():
                k = places[term.column]
                seen = inputs[k].fill is None and not inputs[k].refuses
                missing_as = float(term.between(np.array([np.nan]))[0]) if seen else None
                terms[place] = LinearInput(k, tuple(own.tolist()), term.low, term.high, missing_as)
        elif (rule := rule_numbers.get(next(indices))) is not None:
            key = ("rule", rule) if whole else place
            known = terms.get(key)
            if isinstance(known, Addend):
                own, rest = own + known.coef, rest + known.otherwise
            terms[key] = Addend(rule, tuple(own.tolist()), tuple(rest.tolist()))
    start = intercept + 0.0 if network.terms else intercept
    return tuple(start.tolist()), over, whole, tuple(terms.values())


def write_file(content: str | bytes, path: str | os.PathLike[str] | None) -> Any:
    """Return what was written, after writing it to a file as well, whole or not at all, where there is a path."""
    if path is not None:
        write_whole(path, content.encode() if isinstance(content, str) else content)
    return content
