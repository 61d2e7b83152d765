"""A network as a list of steps for programs of any language: sums, comparisons, what each answer adds.

All formats write the same plan, so that all of them do the same float operations in the same order as
:meth:`bgn.Network.raw_score`: a sum over columns in their order, one rounding per operation, compared by ``>=``; then
base, slopes and questions, added up in their order. Where :attr:`bgn.Network.summands` are whole numbers over a power
of ten, the order does not matter, and one division ends it. Sums and comparisons that several neurons share stand in it
once, and those that reach no output do not stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite
from typing import Any

import numpy as np

from bgn.export.condition import describe
from bgn.export.styles import Text
from bgn.model.dates import TimePart
from bgn.model.layer import Coefficient, Oblique, Projection
from bgn.model.linear_term import LinearTerm
from bgn.model.network import Network
from bgn.model.readings import as_terms, condition_of, network_of, outputs_of
from bgn.model.schema import Category, category_name
from bgn.model.step import any_output
from bgn.text import quote_category, quote_name

# -- Where a program gets a number of a row from: a number, the number of a word, a part of a date.

NOT_TEXT = "\0\ud800-\udfff"
"""What ends strings or is no text at all, as `check_words` takes it."""


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
        Of the table's column that it is made of; the same where nothing is to be done.
    levels : tuple, optional
        The levels of a category, whose number is what the network reads.
    made : TimePart, optional
        How it is made of the table's column; None where it is that column.
    level_of : (str, level), optional
        For a column of 0 and 1 that stands for a level of a category: the category, and that level.
    fill : float, optional
        What a gap counts as, before any question sees it.
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
    def category_kind(self) -> str:
        """What the levels are: ``"words"``, ``"numbers"`` or ``"truths"``; words where there are several kinds."""
        categories = self.categories or ("",)
        if all(isinstance(category, bool) for category in categories):
            return "truths"
        return "words" if any(isinstance(category, str | bool) for category in categories) else "numbers"

    def to_do(self) -> str:
        """Return the sentence that says how to make it of a raw table; empty where nothing is to be done."""
        name, raw = quote_name(self.name), quote_name(self.raw)
        if self.category_of is not None:
            category, category = quote_name(self.category_of[0]), quote_category(category_name(self.category_of[1]))
            return f"{name}: 1 where {category} is {category}, 0 where it is anything else."
        if self.made is None:
            return ""
        zone = "" if self.made.zone is None else f", by the clocks of {self.made.zone}"
        told = {
            "year": f"the year of {raw}",
            "month": f"the month of {raw}, 1 to 12",
            "day": f"the day of the month of {raw}",
            "weekday": f"the weekday of {raw}, 1 for Monday to 7",
            "hour": f"the hour of {raw}, minutes as a fraction",
            "days": f"days from {self.made.first} to {raw}, with a fraction",
            "duration": f"{raw} in days, with a fraction",
            "time": f"{raw} in hours, minutes as a fraction",
        }
        return f"{name}: {told[self.made.part]}{zone}."


def check_words(words: Iterable[str], refused: str, target: str) -> None:
    """Refuse words with a character of the set `refused`, which a target would lose or take for their end.

    Examples
    --------
    >>> check_words(["a", "b\\0"], "\\0", "SQL")
    Traceback (most recent call last):
    ...
    ValueError: SQL has no place for the character '\\x00' of "b\\u0000". Call the column or category otherwise.
    """
    for word in words:
        if found := re.search(f"[{refused}]", word):
            raise ValueError(
                f"{target} has no place for the character {found[0]!r} of {quote_name(word, 80)}. "
                "Call the column or category otherwise."
            )


def inputs_of(network: Network, columns: tuple[int, ...]) -> tuple[Input, ...]:
    """Return what a program reads for some of a network's columns."""
    found = []
    for place in columns:
        column = network.schema.columns[place]
        refused, sloped = bool(network.layers[0].refuses_missing[place]), bool(network.refuses_missing[place])
        fill = column.typical if refused else None
        made = {"levels": column.categories, "made": column.part_of, "level_of": column.category_of}
        refuses = sloped and column.typical is None
        found.append(Input(place, column.name, column.raw, **made, fill=fill, refuses=refuses))  # type: ignore[arg-type]
    return tuple(found)


_MOST_WHOLE = float(1 << 53)


@dataclass(frozen=True)
class Summation:
    """A sum over inputs, or over the +-1 answers of the layer below, in their order.

    `gaps` is what a gap adds, input by input; None where a gap leaves no sum.
    """

    inputs: tuple[int, ...]
    coefficients: tuple[Coefficient, ...]
    gaps: tuple[float, ...] | None = None


@dataclass(frozen=True)
class PlannedComparison:
    """Answers yes where a sum, by its number in the layer, reaches the threshold.

    `missing` is the answer where there is no sum; None where there always is one.
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
    """What a comparison of the last layer adds to each output: the amounts for a yes, their negatives for a no."""

    comparison: int
    amounts: tuple[float, ...]


@dataclass(frozen=True)
class SlopedInput:
    """What an input adds to each output per unit; a value beyond an end counts as the end.

    `gap` is what a gap counts as, None where none can reach it.
    """

    input: int
    slopes: tuple[float, ...]
    low: float = -inf
    high: float = inf
    gap: float | None = None


@dataclass(frozen=True)
class ReasonAmounts:
    """The SHAP value of a question of the last layer, where it is answered yes and where no, and its words."""

    comparison: int
    yes: tuple[float, ...]
    no: tuple[float, ...]
    words: str


@dataclass(frozen=True, eq=False)
class ExportPlan:
    """Everything that a program has to do.

    Attributes
    ----------
    inputs : tuple of Input
        What is read of a row.
    layers : tuple of PlannedLayer
    base, over : tuple of float, float
        Where each output's sum starts, and what it is divided by at the end.
    slopes : tuple of SlopedInput
        Added after the base.
    addends : tuple of Addend
        Added after the slopes.
    whole : bool
        Whether all of these are whole numbers, and their sums exact in any order.
    link : str
    classes : tuple, optional
        Labels of the classes: two where the link is logistic, the second of which has the probability.
    network : Network
    """

    inputs: tuple[Input, ...]
    layers: tuple[PlannedLayer, ...]
    base: tuple[float, ...]
    over: float
    slopes: tuple[SlopedInput, ...]
    addends: tuple[Addend, ...]
    whole: bool
    link: str
    classes: tuple[Category, ...] | None
    network: Network = field(repr=False)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.base)

    @property
    def target(self) -> str:
        """What is predicted."""
        return self.network.target_name or "prediction"

    @property
    def bounds(self) -> tuple[tuple[str, float], ...]:
        """What predictions do not go beyond: the sign of a score beyond each, and the bound that it predicts."""
        return tuple((sign, end) for sign, end in zip("<>", self.network.bounds or (), strict=False) if isfinite(end))

    @property
    def class_words(self) -> tuple[str, ...]:
        """The labels as words."""
        return tuple(map(category_name, self.classes or ()))

    @property
    def words(self) -> tuple[str, ...]:
        """All words that a program compares or names things by: columns, categories, classes and the target."""
        categories = (category_name(category) for each in self.inputs for category in each.categories or ())
        return (*(each.name for each in self.inputs), *self.raws, *categories, *self.class_words, self.target)

    @cached_property
    def raws(self) -> tuple[str, ...]:
        """Names of the columns of a raw table that are read."""
        return tuple(dict.fromkeys(each.raw for each in self.inputs))

    @property
    def to_do(self) -> tuple[str, ...]:
        """Sentences on what to do to a raw table, for formats that cannot."""
        return tuple(filter(None, (each.to_do() for each in self.inputs)))

    def chosen_categories(self, layer: int, comparison: PlannedComparison) -> tuple[bool, ...] | None:
        """Return the answer for every level, where a question is about one category; None for any other question."""
        summed = self.layers[layer].sums[comparison.summation]
        if layer or len(summed.inputs) != 1 or not isinstance(summed.coefficients[0], tuple):
            return None
        return tuple(value >= comparison.threshold for value in summed.coefficients[0])

    def gap_answer(self, layer: int, comparison: PlannedComparison) -> bool | None:
        """Return the answer where the one input of a question is missing; None where a gap cannot reach it."""
        summed = self.layers[layer].sums[comparison.summation]
        (place,) = summed.inputs
        if layer or self.inputs[place].refuses or self.inputs[place].fill is not None:
            return None
        return comparison.missing if summed.gaps is None else summed.gaps[0] >= comparison.threshold

    def sees_gap(self, place: int) -> bool:
        """Whether questions may meet a gap in an input."""
        return not self.inputs[place].refuses and self.inputs[place].fill is None

    def reasons(self, background: Any) -> tuple[ReasonAmounts, ...]:
        """Return the exact SHAP values of the last layer's questions against the mean answers over a background."""
        if np.shape(background)[0] == 0:
            raise ValueError("background must have rows, over which answers are averaged; got none.")
        return self.worded(dict(enumerate(self.network.hidden(background).mean(axis=0).tolist())))

    def worded(self, means: Mapping[int, float]) -> tuple[ReasonAmounts, ...]:
        """Return the words of the last layer's questions, and their SHAP values for some mean answers."""
        network = self.network
        weights = network.output_weights.reshape(network.widths[-1], self.outputs)
        terms = as_terms(outputs_of(network)[0])
        seen = dict(terms.filled)
        found: dict[int, ReasonAmounts] = {}
        for neuron, comparison in self.asked_last.items():
            yes, no = weights[neuron] * (1.0 - means[neuron]), weights[neuron] * (-1.0 - means[neuron])
            if comparison in found:  # the same question twice is one reason
                yes, no = yes + found[comparison].yes, no + found[comparison].no
            words = describe(condition_of(network, network.depth - 1, neuron, False, seen), terms, Text())
            found[comparison] = ReasonAmounts(comparison, tuple(yes.tolist()), tuple(no.tolist()), words)
        return tuple(found.values())

    @cached_property
    def asked_last(self) -> dict[int, int]:
        """The comparison of every neuron of the last layer that has a weight."""
        return _planned(self.network, self.inputs)[1]


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
    >>> [each.name for each in planned.inputs], planned.layers[0].comparisons
    (['income'], (PlannedComparison(summation=0, threshold=65.5, missing=None),))
    >>> planned.base, planned.addends, planned.over
    ((100.0,), (Addend(comparison=0, amounts=(75.0,)),), 100.0)
    """
    network = network_of(model, plain=False)
    inputs = inputs_of(network, network.features_used)
    layers, comparisons = _planned(network, inputs)
    base, weights, over = network.summands
    bases, amounts = np.ravel(base), weights.reshape(len(weights), np.size(base))
    whole = _whole(np.vstack([bases[np.newaxis], amounts])) and network.slopes is None
    places = {each.place: k for k, each in enumerate(inputs)}
    return ExportPlan(
        inputs=inputs,
        layers=layers,
        base=tuple(bases.tolist()),
        over=over,
        slopes=tuple(_sloped(each, places[each.column], inputs) for each in network.linear_terms),
        addends=_addends(comparisons, amounts, whole),
        whole=whole,
        link=network.link,
        classes=_classes(network),
        network=network,
    )


def _sloped(term: LinearTerm, place: int, inputs: tuple[Input, ...]) -> SlopedInput:
    reached = inputs[place].fill is None and not inputs[place].refuses
    gap = float(term.between(np.array([np.nan]))[0]) if reached else None
    return SlopedInput(place, term.slopes, term.low, term.high, gap)


def _classes(network: Network) -> tuple[Category, ...] | None:
    if network.link == "identity":
        return None
    numbers = range(2 if network.link == "logistic" else np.size(network.base))
    return network.schema.classes or tuple(map(float, numbers))


def _whole(numbers: Any) -> bool:
    return bool((numbers == np.rint(numbers)).all() and np.abs(numbers).sum(axis=0).max(initial=0.0) < _MOST_WHOLE)


def _addends(comparisons: dict[int, int], amounts: Any, whole: bool) -> tuple[Addend, ...]:
    """Return what is added, in order; equal questions are added together where that changes no sum."""
    if not whole:
        return tuple(Addend(each, tuple(amounts[neuron].tolist())) for neuron, each in comparisons.items())
    merged: dict[int, Any] = {}
    for neuron, each in comparisons.items():
        merged[each] = merged.get(each, 0.0) + amounts[neuron]
    return tuple(Addend(each, tuple(total.tolist())) for each, total in merged.items())


def _planned(network: Network, inputs: tuple[Input, ...]) -> tuple[tuple[PlannedLayer, ...], dict[int, int]]:
    """Return the layers, and the comparison that each neuron of the last one asks, if it has a weight."""
    alive = [np.flatnonzero(any_output(network.output_weights)).tolist()]
    for layer in reversed(network.layers[1:]):
        chosen = np.zeros(layer.width, dtype=bool)
        chosen[alive[0]] = True
        alive.insert(0, np.flatnonzero(layer.inputs_of(chosen)).tolist())
    places = {each.place: k for k, each in enumerate(inputs)}
    layers = []
    for layer, neurons in zip(network.layers, alive, strict=True):
        planned, places = _planned_layer((layer.neurons[k] for k in neurons), neurons, places)
        layers.append(planned)
    return tuple(layers), places


def _planned_layer(
    asked: Iterable[Oblique], numbers: list[int], places: dict[int, int]
) -> tuple[PlannedLayer, dict[int, int]]:
    """Return the different sums and comparisons of some neurons, and which comparison each of them is."""
    sums: dict[Summation, int] = {}
    comparisons: dict[PlannedComparison, int] = {}
    found = {}
    for number, neuron in zip(numbers, asked, strict=True):
        summed = _summation(neuron.projection, places)
        made = PlannedComparison(sums.setdefault(summed, len(sums)), neuron.threshold + 0.0, neuron.missing)
        found[number] = comparisons.setdefault(made, len(comparisons))
    return PlannedLayer(tuple(sums), tuple(comparisons)), found


def _summation(projection: Projection, places: dict[int, int]) -> Summation:
    gaps = projection.gaps
    if gaps is not None:
        gaps = tuple(
            gap if isinstance(each, tuple) else gap * (each or 1.0)
            for gap, each in zip(gaps, projection.coefficients, strict=True)
        )
    return Summation(tuple(places[j] for j in projection.columns), projection.coefficients, gaps)
