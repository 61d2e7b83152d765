"""A network as a card of whole points, in any format: questions, points, and the line from total to prediction.

A card is a few paragraphs and tables (:mod:`bgn.export.styles`); questions are worded by
:func:`bgn.export.condition.describe`, as everywhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from functools import cached_property, reduce
from math import gcd
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.export.condition import describe, remarks
from bgn.export.equation import table_blocks
from bgn.export.numbers import percent, plain
from bgn.export.styles import PageLayout, Text, layout_of
from bgn.model.link import LINKS
from bgn.model.network import Network
from bgn.model.numbers import EXACT, whole_numbers, written
from bgn.model.readings import Term, Terms, TermTable, as_table, as_terms, as_told, is_turned, network_of, outputs_of
from bgn.model.step import Floats
from bgn.require import require
from bgn.text import Quoted, quote_category

_MOST_TOTALS = 10


@dataclass(frozen=True)
class Scorecard:
    """``prediction = start + unit * total``, the total being the points of the questions answered yes.

    For two classes that is the log-odds of the second, and :meth:`probability` what follows from it.

    Attributes
    ----------
    points : tuple of int
        One per question, all above zero: a question that lowers the prediction is asked the other way round.
    start : Decimal
        The prediction of a total of 0.
    unit : Decimal
        What a point is worth; 0 where there are no questions.
    terms : Terms
        The questions, in the order of `points`: those about the same columns together.
    evenly : bool
        Whether the class that the card tells is predicted where both are equally probable.
    """

    points: tuple[int, ...]
    start: Decimal
    unit: Decimal
    terms: Terms = field(repr=False)
    evenly: bool = field(default=False, repr=False)

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions in words, in the order of `points`."""
        return tuple(describe(term.condition, self.terms, Text()) for term in self.terms.terms)

    def prediction(self, total: int) -> Decimal:
        """Return the prediction of a total, exactly; the float nearest to it is what the network predicts.

        For two classes, the log-odds.
        """
        low, high = self.terms.bounds or (-math.inf, math.inf)
        with localcontext(EXACT):
            found = self.start + self.unit * total
        return written(low if found < low else high).normalize(EXACT) if not low <= found <= high else found

    @property
    def target(self) -> str:
        """What the card tells: the target's name, or the class whose probability it is, such as "Churn = Yes"."""
        target = self.terms.target
        return Quoted(target.removeprefix("log-odds of ")) if self.of_class else target

    @property
    def of_class(self) -> bool:
        """Whether totals stand for probabilities."""
        return self.terms.link == "logistic"

    def probability(self, total: int) -> float:
        """Return the probability that a total stands for, to the bit what the network predicts; for two classes."""
        if not self.of_class:
            raise ValueError("probability is for cards of two classes; this one predicts a number. Use prediction.")
        return float(LINKS["logistic"](np.array([float(self.prediction(total))]))[0])

    def likely_from(self) -> int | None:
        """Return the lowest total at which the class of the card is predicted; None where no row's total reaches it."""
        scores = ((total, self.prediction(total)) for total in self.attainable)
        return next((total for total, score in scores if score > 0 or (self.evenly and score == 0)), None)

    def totals(self) -> tuple[int, ...]:
        """Return totals to print, of those that a row can have: all where they are few, else the least, the largest and
        between them multiples of 2, 5, 10, ..."""
        found, step = self.attainable, 1
        if len(found) <= _MOST_TOTALS + 1:
            return found
        while found[-1] - found[0] > _MOST_TOTALS * step:
            step = step * 5 // 2 if str(step)[0] == "2" else step * 2
        return tuple(total for total in found if total % step == 0 or total in (found[0], found[-1]))

    @cached_property
    def attainable(self) -> tuple[int, ...]:
        """The totals that rows can have: questions about one column hold together only where a value of it allows.

        Those about several columns, or about answers, count as free of all others: of these some totals may be none.
        """
        columns, found = dict[int, list[int]](), 1  # whose bits are the totals
        for k, term in enumerate(self.terms.terms):
            alone = not self.terms.hidden and len(term.condition.columns) == 1
            columns.setdefault(term.condition.columns[0] if alone else -1 - k, []).append(k)
        for column, asked in columns.items():
            points = np.array([self.points[k] for k in asked])
            sums = _sums(self.terms, column, asked, points) if column >= 0 else {0, *points.tolist()}
            found = reduce(or_, (found << each for each in sums))
        return tuple(total for total, bit in enumerate(reversed(f"{found:b}")) if bit == "1")

    def format(self, format: str = "text", units: Mapping[str, str] | None = None) -> str:
        """Write the card.

        Parameters
        ----------
        format : {"text", "latex", "markdown", "html"}, default "text"
            LaTeX is two ``tabular`` that need no package. HTML has no scripts.
        units : mapping of str to str, optional
            Units by column name, written after thresholds; the target's goes beside its name.

        Returns
        -------
        str
        """
        layout = layout_of(format)
        return layout.page(_blocks(self, layout, units), "scorecard")

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        return self.format("html")

    def to_frame(self) -> Any:
        """Return questions and points as a pandas frame.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = require("pandas", extra="cli")
        return pandas.DataFrame({"question": list(self.questions), "points if yes": list(self.points)})


def scorecard(model: Any) -> Scorecard | ClassCard:
    """Return a network as a card: questions with whole points, and what their total stands for.

    That is a number, for two classes a probability; of more classes each has its total. The card is the network: who
    adds up points and follows the line gets what `predict` returns, on every row.

    Parameters
    ----------
    model : Network or fitted estimator
        Whose output weights are whole multiples of one unit, as :func:`bgn.simplify` makes them with `points`.

    Returns
    -------
    Scorecard or ClassCard
        To print, or to write with its `format` in LaTeX, Markdown or HTML; the latter for more than two classes.

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 0.59], [0.0, 1.0]], [-65.5, -63.56, -20.0])
    >>> network = bgn.Network.of_layers([layer], [0.26, 0.195, -0.065], 1.54, ["income", "age"], "value")
    >>> card = bgn.scorecard(network)
    >>> print(card)
    question                    points if yes
    income >= 65.5                          4
    income + 0.59 age >= 63.56              3
    age < 20                                1
    total                              0 to 8
    <BLANKLINE>
    value = 1.02 + 0.13 x total
    <BLANKLINE>
    total  value
    0       1.02
    1       1.15
    3       1.41
    4       1.54
    5       1.67
    7       1.93
    8       2.06
    >>> network.predict([[70.0, 30.0]]), float(card.prediction(4 + 3))
    (array([1.93]), 1.93)
    """
    given, whole = network_of(model, plain=False), as_told(network_of(model, plain=False))
    if whole.slopes is not None:
        raise ValueError("model must predict by questions alone; this one has slopes, which no points can stand for.")
    if whole.link == "softmax":
        return class_card(whole)
    terms, (network,) = as_terms(whole), outputs_of(whole)
    weights = network.output_weights.tolist()
    with localcontext(EXACT):
        amounts = [term.amount for term in terms.terms]
        unit = common_unit(amounts)
        points = [int(amount / unit) for amount in amounts]
    _check(points, unit, exact=not weights or whole_numbers([network.base, *weights]) is not None)
    order = _by_columns(terms.terms, points)
    ordered = replace(terms, terms=tuple(terms.terms[k] for k in order))
    each = tuple(points[k] for k in order)
    return Scorecard(each, terms.start.normalize(EXACT), unit.normalize(EXACT), ordered, is_turned(given))


def _sums(terms: Terms, column: int, asked: Sequence[int], points: NDArray[Any]) -> set[int]:
    """Return what questions about one column add up to, over all values that it can have."""
    conditions, about = [terms.terms[k].condition for k in asked], terms.schema.columns[column]
    if about.categories is not None:
        values = [float(code) for code in range(len(about.categories))]
    else:
        lines = [(each.threshold, float(each.coefficients[0])) for each in conditions]  # type: ignore[arg-type]
        edges = [0.0, *(threshold / slope for threshold, slope in lines if slope)]
        near = ((np.floor(x) - 1, np.floor(x), np.ceil(x), np.ceil(x) + 1) if about.whole else
                (np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)) for x in edges)  # fmt: skip
        values = [float(value) for each in near for value in each]
    if column not in terms.complete:
        values.append(math.nan)
    rows = np.zeros((len(values), len(terms.schema.columns)))
    rows[:, column] = values
    return set((np.stack([each.holds(rows) for each in conditions], axis=1) @ points).tolist())


def _check(points: Sequence[int], unit: Decimal, exact: bool) -> None:
    """Refuse weights without a common unit, or of so many digits that sums of them are rounded."""
    if max(points, default=0) > MOST_POINTS:
        raise ValueError(
            f"model must have output weights that are whole multiples, up to {MOST_POINTS}, of one unit; the largest "
            f"is {max(points):.6g} times {unit:.6g}. Make it so: bgn.simplify(model, X, y, points=10).network."
        )
    if not exact:
        raise ValueError(
            "model must have a base and output weights whose sums are exact, of 15 digits and 22 decimals at most. Use "
            "bgn.simplify(model, X, y, points=10).network; where it is like that already, rescale the target."
        )


def _by_columns(terms: Sequence[Term], points: Sequence[int]) -> list[int]:
    """Return an order: the columns worth most first, and on the same columns by direction and threshold."""
    worth: Counter[tuple[int, ...]] = Counter()
    for term, own in zip(terms, points, strict=True):
        worth[term.condition.columns] += own

    def place(k: int) -> tuple[Any, ...]:
        condition = terms[k].condition
        return -worth[condition.columns], condition.columns, condition.relation[0], condition.threshold

    return sorted(range(len(terms)), key=place)


def _blocks(card: Scorecard, layout: PageLayout, units: Mapping[str, str] | None) -> list[str]:
    """Write the parts of a card: what its questions are about, the questions, the line, the table of totals."""
    terms, style = card.terms, layout.style
    unit = (units or {}).get(terms.target) or terms.schema.target_unit
    target = style.name(terms.target) + (style.words(f" ({quote_category(unit)})") if unit else "")
    start = style.number(plain(card.start))
    if not card.points:
        return [layout.lines([f"{target} = {start}", *_chances(card, layout)])]
    names = {place: style.name(name) + style.words(": ") for place, name in terms.hidden_names.items()}
    below = [each for layer in terms.hidden for each in layer]
    hidden = [names[each.layer, each.neuron] + describe(each, terms, style, units) for each in below]
    total = style.words("total")
    questions = [describe(term.condition, terms, style, units) for term in terms.terms]
    asked = list(zip(questions, map(str, card.points), strict=True))
    asked.append((total, f"{card.attainable[0]}{style.words(' to ')}{card.attainable[-1]}"))
    said, line = remarks(terms, style, units), f"{start} + {style.number(plain(card.unit))} {layout.times} {total}"
    return [
        *([layout.lines(hidden)] if hidden else []),
        layout.table((style.words("question"), style.words("points if yes")), asked),
        *([layout.lines(said)] if said else []),
        layout.lines([f"{target} = {line}", *_chances(card, layout)]),
        _worth(card, layout, target),
    ]


def _worth(card: Scorecard, layout: PageLayout, target: str) -> str:
    """Write the table of totals and what they stand for."""
    style, total = layout.style, layout.style.words("total")
    if not card.of_class:
        rows = [(f"{each}", style.number(plain(card.prediction(each)))) for each in card.totals()]
        return layout.table((total, target), rows)
    chances = [(f"{each}", style.words(percent(card.probability(each)))) for each in card.totals()]
    return layout.table((total, style.words("probability of ") + style.name(card.target)), chances)


def _chances(card: Scorecard, layout: PageLayout) -> list[str]:
    """Say how probabilities follow from log-odds, and from which total on the second class is predicted."""
    if not card.of_class:
        return []
    style, likely = layout.style, card.likely_from() if card.points else None
    said = style.words("The probability is 1 / (1 + exp(-log-odds))")
    if not card.points:
        return [said + style.words(f", {percent(card.probability(0))}.")]
    ends = " is predicted for no total." if likely is None else f" is predicted from a total of {likely} on."
    return [said + style.words("; ") + style.name(card.target) + style.words(ends)]


# -- A network of several classes as a card: whole points per question and class, and the class of the most points.

MOST_POINTS = 1000


def common_unit(amounts: Sequence[Decimal]) -> Decimal:
    """Return the largest decimal of which all amounts are whole multiples; 0 for none."""
    power = min((int(amount.as_tuple().exponent) for amount in amounts), default=0)
    return Decimal(gcd(*(int(amount.scaleb(-power, EXACT)) for amount in amounts))).scaleb(power, EXACT)


@dataclass(frozen=True)
class ClassCard:
    """``score = unit * total`` for every class, a total being points for a start and for the questions answered yes.

    Attributes
    ----------
    points : tuple of tuple of int
        One row per question, one number per class; below zero where the answer yes speaks against a class.
    start : tuple of int
        What each class begins with.
    unit : Decimal
        What a point is worth in a score.
    table : TermTable
        The questions, in the order of `points`.
    """

    points: tuple[tuple[int, ...], ...]
    start: tuple[int, ...]
    unit: Decimal
    table: TermTable = field(repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels of the classes, in words."""
        return self.table.classes

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions in words, in the order of `points`."""
        asked = self.table.asked
        return tuple(describe(term.condition, asked, Text()) for term in asked.terms)

    def probabilities(self, totals: Sequence[int]) -> Floats:
        """Return the probabilities that totals, one per class, stand for: to the bit what the network predicts."""
        with localcontext(EXACT):
            scores = [float(self.unit * int(total)) for total in totals]
        return LINKS["softmax"](np.array([scores]))[0]

    def format(self, format: str = "text", units: Mapping[str, str] | None = None) -> str:
        """Write the card.

        Parameters
        ----------
        format : {"text", "latex", "markdown", "html"}, default "text"
        units : mapping of str to str, optional
            Units by column name, written after thresholds.

        Returns
        -------
        str
        """
        layout = layout_of(format)
        style, asked = layout.style, self.table.asked
        words = [style.words("always"), *(style.words("if ") + describe(term.condition, asked, style, units)
                                          for term in asked.terms)]  # fmt: skip
        numbers = [[style.number(str(each)) for each in own] for own in (self.start, *self.points)]
        unit = style.number(plain(self.unit))
        worth = f"{style.words('exp(')}{unit} {layout.times} {style.words('its total)')}"
        rest = style.words(" over the sum of the same for all classes.")
        lines = [
            *remarks(asked, style, units),
            style.words("The class with the highest total is predicted, the first of equals."),
            style.words("The probability of a class is ") + worth + rest,
        ]
        return layout.page(table_blocks(self.table, layout, units, words, numbers, lines, "points"), "scorecard")

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        return self.format("html")

    def to_frame(self) -> Any:
        """Return points by question and class as a pandas frame; the first row is the start.

        Returns
        -------
        pandas.DataFrame
        """
        questions = ["always", *(describe(term.condition, self.table.asked, Text()) for term in self.table.asked.terms)]
        frame = require("pandas", extra="cli").DataFrame([self.start, *self.points], columns=list(self.classes))
        frame.insert(0, "question", questions)
        return frame


def class_card(network: Network) -> ClassCard:
    """Return the card of a network of several classes, or say why it is none."""
    table = as_table(network)
    flat = [each for own in (table.starts, *table.amounts) for each in own]
    with localcontext(EXACT):
        unit = common_unit(flat) or Decimal(1)
        points = np.array([int(each / unit) for each in flat], dtype=object).reshape(-1, len(table.starts)).tolist()
    largest = max((abs(each) for own in points[1:] for each in own), default=0)
    numbers: list[Any] = [*np.ravel(network.base), *np.ravel(network.output_weights)]
    if largest > MOST_POINTS or whole_numbers(numbers) is None:
        raise ValueError(
            f"model must have scores that are whole multiples, up to {MOST_POINTS}, of one unit; the largest is "
            f"{largest:.6g} times {unit:.6g}. Make it so: bgn.simplify(model, X, y, points=5).network."
        )
    start, *rest = map(tuple, points)
    return ClassCard(tuple(rest), start, unit.normalize(EXACT), table)
