"""A network as a list of steps for programs of any language: sums, comparisons, what each of them adds.

All formats write the same plan, so that all of them do the same float operations in the same order as
:meth:`bgn.Network.raw_score`: a sum over columns in their order, one rounding per operation, compared by ``>=``; then
intercept and terms, added up in their order. Where :attr:`bgn.Network.addends` are whole numbers over a power of ten,
the order does not matter, and one division ends it. Sums and comparisons that several rules share stand in it once, and
those that reach no output do not stand in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
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
from bgn.model.term import Coefficient, Linear, Oblique
from bgn.text import quote_category, quote_name
from bgn.whole_file import write_whole

_MOST_WHOLE = float(1 << 53)

# -- Where a program gets a number of a row from: a number, the number of a category, a part of a date.


@dataclass(frozen=True)
class Input:
    """A number that a program reads from a row.

    Attributes
    ----------
    place : int
        The network's column.
    name : str
        Of that column.
    raw : str
        Of the dataset's column that it is made of; the same where nothing is to be done.
    categories : tuple, optional
        The values of a categorical column, whose number is what the network reads.
    made : TimePart, optional
        How it is made of the dataset's column; None where it is that column.
    category_of : (str, category), optional
        For a column of 0 and 1 that stands for a value of a categorical column: that column, and the value.
    fill : float, optional
        What a missing value counts as, before any rule sees it.
    refuses : bool
        Whether there is no prediction where it is missing.
    """

    place: int
    name: str
    raw: str
    categories: tuple[Category, ...] | None = None
    made: TimePart | None = None
    category_of: tuple[str, Category] | None = None
    fill: float | None = None
    refuses: bool = False

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
    """It holds where a sum, by its number in the layer, reaches the threshold.

    `missing` is whether it does where there is no sum; None where there always is one.
    """

    summation: int
    threshold: float
    missing: bool | None = None


@dataclass(frozen=True)
class PlannedLayer:
    """The different sums of a hidden layer, and the different comparisons of them."""

    sums: tuple[Summation, ...]
    comparisons: tuple[PlannedComparison, ...]


@dataclass(frozen=True)
class Addend:
    """What a comparison of the last layer adds to each output where it holds, and where it does not."""

    comparison: int
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

    comparison: int
    yes: tuple[float, ...]
    no: tuple[float, ...]
    text: str


@dataclass(frozen=True, eq=False)
class ExportPlan:
    """Everything that a program has to do.

    Attributes
    ----------
    inputs : tuple of Input
        What is read of a row.
    layers : tuple of PlannedLayer
    intercept, over : tuple of float, float
        Where each output's sum starts, and what it is divided by at the end.
    terms : tuple of Addend or LinearInput
        Added after the intercept, in this order.
    whole : bool
        Whether all of these are whole numbers, and their sums exact in any order.
    link : str
    classes : tuple, optional
        Labels of the classes: two where the link is logistic, the second of which has the probability.
    network : Network
    comparison_of_rule : dict of int to int
        The comparison of the last layer that every rule with a weight is.
    """

    inputs: tuple[Input, ...]
    layers: tuple[PlannedLayer, ...]
    intercept: tuple[float, ...]
    over: float
    terms: tuple[Addend | LinearInput, ...]
    whole: bool
    link: str
    classes: tuple[Category, ...] | None
    network: Network = field(repr=False)
    comparison_of_rule: dict[int, int] = field(repr=False)

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
        """The layer that is added up."""
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

    def chosen_categories(self, layer: int, comparison: PlannedComparison) -> tuple[bool, ...] | None:
        """Return whether it holds for every category, where it is about one categorical column; None for others."""
        summed = self.layers[layer].sums[comparison.summation]
        if layer or len(summed.inputs) != 1 or not isinstance(summed.coefficients[0], tuple):
            return None
        return tuple(value >= comparison.threshold for value in summed.coefficients[0])

    def holds_if_missing(self, comparison: PlannedComparison) -> bool | None:
        """Return whether a comparison of one input holds where that is missing; None where that cannot be."""
        summed = self.layers[0].sums[comparison.summation]
        if not self.sees_missing(summed.inputs[0]):
            return None
        return comparison.missing if summed.missing_as is None else summed.missing_as[0] >= comparison.threshold

    def sees_missing(self, place: int) -> bool:
        """Whether rules may meet a missing value in an input."""
        return not self.inputs[place].refuses and self.inputs[place].fill is None

    def reasons(self, background: Any = None) -> tuple[Reason, ...]:
        """Return the rules with their exact SHAP values against the mean of a background, or against their middle."""
        network, terms = self.network, as_terms(self.network)
        means = np.zeros(len(network.rules))
        if background is not None:
            if np.shape(background)[0] == 0:
                raise ValueError("background must have rows, over which answers are averaged; got none.")
            means = network.hidden(background).mean(axis=0)
        reasons: dict[int, Reason] = {}
        for index, comparison in self.comparison_of_rule.items():
            coef = network.rule_coef[index] * (1.0 - network.rules[index].otherwise) / 2.0
            mean = float(means[index])
            yes, no = coef * (1.0 - mean), coef * (-1.0 - mean)
            if comparison in reasons:  # the same rule twice is one reason
                yes, no = yes + reasons[comparison].yes, no + reasons[comparison].no
            rule = ReadTerm((), 0, index, read_rule(network, index, dict(terms.filled)))
            text = describe(rule, terms)
            reasons[comparison] = Reason(comparison, tuple(yes.tolist()), tuple(no.tolist()), text)
        return tuple(reasons.values())


def plan(model: Any) -> ExportPlan:
    """Return what a program has to do to predict as a model does.

    Parameters
    ----------
    model : Network or fitted estimator

    Returns
    -------
    ExportPlan

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.export.plan import plan
    >>> layer = Layer([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [-65.5, -65.5, -20.0])
    >>> planned = plan(Network.of_layers([layer], [0.5, 0.25, 0.0], 1.0, ["income", "age"]))
    >>> [given.name for given in planned.inputs], planned.layers[0].comparisons
    (['income'], (PlannedComparison(summation=0, threshold=65.5, missing=None),))
    >>> planned.intercept, planned.addends, planned.over
    ((100.0,), (Addend(comparison=0, coef=(75.0,), otherwise=(-75.0,)),), 100.0)
    """
    network = network_of(model, plain=False)
    inputs = inputs_of(network, network.features_used)
    places = {given.place: k for k, given in enumerate(inputs)}
    alive = [np.flatnonzero(network.rule_coef.any(axis=1)).tolist()]
    for layer in reversed(network.layers[1:]):
        chosen = np.zeros(layer.width, dtype=bool)
        chosen[alive[0]] = True
        alive.insert(0, np.flatnonzero(layer.inputs_of(chosen)).tolist())
    layers, below = [], places
    for layer, numbers in zip(network.layers, alive, strict=True):
        planned, below = _plan_layer({k: layer.neurons[k] for k in numbers}, below)
        layers.append(planned)
    intercept, coef, over = network.addends
    sums = np.vstack([intercept[np.newaxis], coef])
    whole = bool((sums == np.rint(sums)).all() and np.abs(sums).sum(axis=0).max(initial=0.0) < _MOST_WHOLE)
    whole = whole and not network.linear_coef.any()
    terms: dict[Any, Addend | LinearInput] = {}
    rules = count()
    for place, (term, own) in enumerate(zip(network.terms, coef, strict=True)):
        if isinstance(term, Linear):
            if own.any():
                terms[place] = _plan_linear(term, own.tolist(), places[term.column], inputs)
        elif (comparison := below.get(next(rules))) is not None:
            key = f"{comparison}" if whole else place  # equal rules are added together where that changes no sum
            known = terms.get(key)
            yes, no = own, term.otherwise * own
            if isinstance(known, Addend):
                yes, no = yes + known.coef, no + known.otherwise
            terms[key] = Addend(comparison, tuple(yes.tolist()), tuple((no + 0.0).tolist()))
    classes = None
    if network.link != "identity":
        classes = network.schema.classes or tuple(map(float, range(max(2, network.n_outputs))))
    return ExportPlan(
        inputs=inputs,
        layers=tuple(layers),
        intercept=tuple(intercept.tolist()),
        over=over,
        terms=tuple(terms.values()),
        whole=whole,
        link=network.link,
        classes=classes,
        network=network,
        comparison_of_rule=below,
    )


def inputs_of(network: Network, columns: tuple[int, ...]) -> tuple[Input, ...]:
    """Return what a program reads for some of a network's columns."""
    inputs = []
    for place in columns:
        column = network.schema.columns[place]
        refuses = bool(network.refuses_missing[place]) and column.typical is None
        fill = column.typical if network.layers[0].refuses_missing[place] else None
        inputs.append(Input(place, column.name, column.raw, column.categories, column.part_of, column.category_of,
                            fill, refuses))  # fmt: skip
    return tuple(inputs)


def _plan_layer(neurons: Mapping[int, Oblique], places: dict[int, int]) -> tuple[PlannedLayer, dict[int, int]]:
    """Return the different sums and comparisons of some neurons, and which comparison each of them is."""
    sums: dict[Summation, int] = {}
    comparisons: dict[PlannedComparison, int] = {}
    comparison_of = {}
    for number, neuron in neurons.items():
        projection = neuron.projection
        missing_as = projection.missing_as
        if missing_as is not None:
            missing_as = tuple(
                value if isinstance(coefficient, tuple) else value * (coefficient or 1.0)
                for value, coefficient in zip(missing_as, projection.coefficients, strict=True)
            )
        summed = Summation(tuple(places[j] for j in projection.columns), projection.coefficients, missing_as)
        comparison = PlannedComparison(sums.setdefault(summed, len(sums)), neuron.threshold + 0.0, neuron.missing)
        comparison_of[number] = comparisons.setdefault(comparison, len(comparisons))
    return PlannedLayer(tuple(sums), tuple(comparisons)), comparison_of


def _plan_linear(term: Linear, coef: list[float], place: int, inputs: tuple[Input, ...]) -> LinearInput:
    reached = inputs[place].fill is None and not inputs[place].refuses
    missing_as = float(term.between(np.array([np.nan]))[0]) if reached else None
    return LinearInput(place, tuple(coef), term.low, term.high, missing_as)


def write_file(content: str | bytes, path: str | os.PathLike[str] | None) -> Any:
    """Return what was written, after writing it to a file as well, whole or not at all, where there is a path."""
    if path is not None:
        write_whole(path, content.encode() if isinstance(content, str) else content)
    return content
