"""A model as a card of whole points, in any format: rules, their points, and what totals of points stand for.

Every output has its total. Of one output, a table says what totals stand for: a number, or the probability of one of
two classes. Of several classes the one with the highest total is predicted. Cards are a few paragraphs and tables
(:mod:`bgn.export.styles`) in the words of :func:`bgn.export.condition.describe`.
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

from bgn.export.condition import describe, remarks
from bgn.export.equation import table_blocks, write_hidden, write_target
from bgn.export.numbers import percent, plain
from bgn.export.styles import PageLayout, Text, layout_of
from bgn.model.link import LINKS
from bgn.model.numbers import EXACT, whole_numbers, written
from bgn.model.readings import ReadTerm, Terms, as_terms, is_first_positive, network_of, with_positive_second
from bgn.model.step import Floats
from bgn.require import require
from bgn.text import Quoted

MOST_POINTS = 1000
_MOST_TOTALS = 10


@dataclass(frozen=True)
class Scorecard:
    """``score = start + unit * total`` for every output, a total being the points of the rules that hold.

    A score is the prediction, the log-odds of the second of two classes, or the score of one of several.

    Attributes
    ----------
    points : tuple of tuple of int
        One row per rule, one number per output. Of one output all are above zero: a rule that lowers the prediction is
        read the other way round.
    start : tuple of Decimal
        The score of every output where its total is 0.
    unit : Decimal
        What a point is worth; 0 where there are no rules.
    terms : Terms
        The rules, in the order of `points`; of one output those about the same columns together.
    evenly : bool
        Whether the class of a card of two is predicted where both are equally probable.
    """

    points: tuple[tuple[int, ...], ...]
    start: tuple[Decimal, ...]
    unit: Decimal
    terms: Terms = field(repr=False)
    evenly: bool = field(default=False, repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that have totals; empty for one output."""
        return self.terms.classes

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules in words, in the order of `points`."""
        return tuple(describe(term, self.terms, Text()) for term in self.terms.rules)

    @property
    def target(self) -> str:
        """What the card predicts: the target's name, or the class whose probability it is, such as "Churn = Yes"."""
        target = self.terms.target
        return Quoted(target.removeprefix("log-odds of ")) if self.of_class else target

    @property
    def of_class(self) -> bool:
        """Whether totals stand for the probability of one of two classes."""
        return self.terms.link == "logistic"

    def prediction(self, total: int) -> Decimal:
        """Return the prediction of a total, exactly; the float nearest to it is what the network predicts.

        For two classes, the log-odds.
        """
        low, high = self.terms.bounds or (-math.inf, math.inf)
        with localcontext(EXACT):
            score = self.start[0] + self.unit * total
        return written(low if score < low else high).normalize(EXACT) if not low <= score <= high else score

    def probability(self, total: int) -> float:
        """Return the probability that a total stands for, to the bit what the network predicts; for two classes."""
        if not self.of_class:
            raise ValueError("probability is for cards of two classes; this one predicts a number. Use prediction.")
        return float(LINKS["logistic"](np.array([float(self.prediction(total))]))[0])

    def probabilities(self, totals: Sequence[int]) -> Floats:
        """Return the probabilities that totals stand for, one per class and with what each begins with included.

        They are to the bit what the network predicts.
        """
        with localcontext(EXACT):
            scores = [float(self.unit * int(total)) for total in totals]
        return LINKS["softmax"](np.array([scores]))[0]

    def likely_from(self) -> int | None:
        """Return the lowest total at which the class of the card is predicted; None where no row's total reaches it."""
        scores = ((total, self.prediction(total)) for total in self.attainable)
        return next((total for total, score in scores if score > 0 or (self.evenly and score == 0)), None)

    def totals(self) -> tuple[int, ...]:
        """Return totals to print, of those that a row can have: all where they are few, else the least, the largest and
        between them multiples of 2, 5, 10, ..., with the last that speaks for one class and the first for the other."""
        totals, step = self.attainable, 1
        if len(totals) <= _MOST_TOTALS + 1:
            return totals
        while totals[-1] - totals[0] > _MOST_TOTALS * step:
            step = step * 5 // 2 if str(step)[0] == "2" else step * 2
        turn = totals.index(likely) if self.of_class and (likely := self.likely_from()) is not None else 0
        shown = {totals[0], *totals[max(turn - 1, 0) : turn + 1], totals[-1]}
        return tuple(total for total in totals if total % step == 0 or total in shown)

    @cached_property
    def attainable(self) -> tuple[int, ...]:
        """The totals that rows can have: rules about one column hold together only where a value of it allows.

        Rules about several columns, or of deep networks, count as free of all others: of these totals some may not
        occur.
        """
        by_column, bits = dict[int, list[int]](), 1  # whose places are the totals
        for k, term in enumerate(self.terms.rules):
            alone = not self.terms.hidden and len(term.columns) == 1
            by_column.setdefault(term.columns[0] if alone else -1 - k, []).append(k)
        for column, places in by_column.items():
            points = np.array([self.points[k][0] for k in places])
            sums = {0, *points.tolist()} if column < 0 else set((self._holds_over(column, places) @ points).tolist())
            bits = reduce(or_, (bits << total for total in sums))
        return tuple(total for total, bit in enumerate(reversed(f"{bits:b}")) if bit == "1")

    def _holds_over(self, column: int, places: Sequence[int]) -> Any:
        """Return which rules about one column hold, over values that show all that it can do."""
        rules, about = [self.terms.rules[k] for k in places], self.terms.schema.columns[column]
        if about.categories is not None:
            values = [float(code) for code in range(len(about.categories))]
        else:
            sums = [(condition.threshold, float(condition.coefficients[0]))  # type: ignore[arg-type]
                    for rule in rules for condition in rule.conditions]  # fmt: skip
            edges = [0.0, *(threshold / factor for threshold, factor in sums if factor)]
            near = ((np.floor(x) - 1, np.floor(x), np.ceil(x), np.ceil(x) + 1) if about.whole else
                    (np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)) for x in edges)  # fmt: skip
            values = [float(value) for some in near for value in some]
        if column not in self.terms.complete:
            values.append(math.nan)
        rows = np.zeros((len(values), len(self.terms.schema.columns)))
        rows[:, column] = values
        return np.stack([rule.holds(rows) for rule in rules], axis=1)

    def lines(self) -> list[list[int]]:
        """Return the lines of points; of several classes the first line is the points that each begins with."""
        with localcontext(EXACT):
            first = [[int(start / self.unit) for start in self.start]] if self.classes else []
        return [*first, *map(list, self.points)]

    def format(self, format: str = "text", units: Mapping[str, str] | None = None) -> str:
        """Write the card.

        Parameters
        ----------
        format : {"text", "latex", "markdown", "html"}, default "text"
            LaTeX is ``tabular`` that need no package. HTML has no scripts.
        units : mapping of str to str, optional
            Units by column name, written after thresholds; the target's goes beside its name.

        Returns
        -------
        str
        """
        layout = layout_of(format)
        blocks = _blocks_of_classes if self.classes else _blocks
        return layout.page(blocks(self, layout, units), "scorecard")

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        return self.format("html")

    def to_frame(self) -> Any:
        """Return rules and points as a pandas frame; of several classes the first row is what each begins with.

        Returns
        -------
        pandas.DataFrame
        """
        columns = list(self.classes) or ["points if yes"]
        frame = require("pandas", extra="cli").DataFrame(self.lines(), columns=columns)
        frame.insert(0, "question", ["always"] * bool(self.classes) + list(self.rules))
        return frame


def scorecard(model: Any) -> Scorecard:
    """Return a network as a card: rules with whole points, and what their total stands for.

    That is a number, for two classes a probability; of more classes each has its total. The card is the network: who
    adds up points and follows the line gets what `predict` returns, on every row.

    Parameters
    ----------
    model : Network or fitted estimator
        Whose weights are whole multiples of one unit, as :func:`bgn.simplify` makes them with `points`.

    Returns
    -------
    Scorecard
        To print, or to write with its `format` in LaTeX, Markdown or HTML.

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
    given = network_of(model, plain=False)
    network = with_positive_second(given)
    if network.linear_coef.any():
        raise ValueError("model must predict by rules alone; this one has linear terms, which no points can stand for.")
    terms = as_terms(network)
    exact = whole_numbers([*np.ravel(network.intercept), *np.ravel(network.rule_coef)]) is not None
    coef = [number for term in terms.rules for number in term.coef]
    unit = common_unit([*terms.intercept, *coef] if terms.classes else coef)
    unit = unit or Decimal(bool(terms.classes))
    with localcontext(EXACT):
        points = [tuple(int(number / unit) for number in term.coef) for term in terms.rules]
    largest = max((abs(own) for row in points for own in row), default=0)
    if terms.classes and (largest > MOST_POINTS or not exact):
        raise ValueError(
            f"model must have scores that are whole multiples, up to {MOST_POINTS}, of one unit; the largest is "
            f"{largest:.6g} times {unit:.6g}. Make it so: bgn.simplify(model, X, y, points=5).network."
        )
    if largest > MOST_POINTS:
        raise ValueError(
            f"model must have output weights that are whole multiples, up to {MOST_POINTS}, of one unit; the largest "
            f"is {largest:.6g} times {unit:.6g}. Make it so: bgn.simplify(model, X, y, points=10).network."
        )
    if points and not exact:
        raise ValueError(
            "model must have a base and output weights whose sums are exact, of 15 digits and 22 decimals at most. Use "
            "bgn.simplify(model, X, y, points=10).network; where it is like that already, rescale the target."
        )
    if not terms.classes:
        order = _order_by_columns(terms.rules, points)
        points, terms = [points[k] for k in order], replace(terms, terms=tuple(terms.rules[k] for k in order))
    start = tuple(number.normalize(EXACT) for number in terms.intercept)
    return Scorecard(tuple(points), start, unit.normalize(EXACT), terms, is_first_positive(given))


def common_unit(numbers: Sequence[Decimal]) -> Decimal:
    """Return the largest decimal of which all numbers are whole multiples; 0 for none."""
    power = min((int(number.as_tuple().exponent) for number in numbers), default=0)
    return Decimal(gcd(*(int(number.scaleb(-power, EXACT)) for number in numbers))).scaleb(power, EXACT)


def _order_by_columns(rules: Sequence[ReadTerm], points: Sequence[Sequence[int]]) -> list[int]:
    """Return an order: the columns worth most first, and on the same columns by direction and threshold."""
    worth: Counter[tuple[int, ...]] = Counter()
    for term, (own,) in zip(rules, points, strict=True):
        worth[term.columns] += own

    def place(k: int) -> tuple[Any, ...]:
        columns, condition = rules[k].columns, rules[k].condition
        return -worth[columns], columns, condition.relation[0], condition.threshold

    return sorted(range(len(rules)), key=place)


def _blocks(card: Scorecard, layout: PageLayout, units: Mapping[str, str] | None) -> list[str]:
    """Write the parts of a card of one output: the rules, the line from total to score, the table of totals."""
    terms, style = card.terms, layout.style
    target, start = write_target(terms, style, units), style.number(plain(card.start[0]))
    chances = []
    if card.of_class:
        text = style.prose("The probability is 1 / (1 + exp(-log-odds))")
        if card.points:
            likely = card.likely_from()
            end = " is predicted for no total." if likely is None else f" is predicted from a total of {likely} on."
            chances = [text + style.prose("; ") + style.name(card.target) + style.prose(end)]
        else:
            chances = [text + style.prose(f", {percent(card.probability(0))}.")]
    if not card.points:
        return [layout.lines([f"{target} = {start}", *chances])]
    hidden = [f"{name}{style.prose(': ')}{text}" for name, text in write_hidden(terms, style, units)]
    total, remarked = style.prose("total"), remarks(terms, style, units)
    rows = [(describe(term, terms, style, units), f"{own}")
            for term, (own,) in zip(terms.rules, card.points, strict=True)]  # fmt: skip
    rows.append((total, f"{card.attainable[0]}{style.prose(' to ')}{card.attainable[-1]}"))
    line = f"{target} = {start} + {style.number(plain(card.unit))} {layout.times} {total}"
    if card.of_class:
        stands_for = style.prose("probability of ") + style.name(card.target)
        worth = [(f"{points}", style.prose(percent(card.probability(points)))) for points in card.totals()]
    else:
        stands_for = target
        worth = [(f"{points}", style.number(plain(card.prediction(points)))) for points in card.totals()]
    return [
        *([layout.lines(hidden)] if hidden else []),
        layout.table((style.prose("question"), style.prose("points if yes")), rows),
        *([layout.lines(remarked)] if remarked else []),
        layout.lines([line, *chances]),
        layout.table((total, stands_for), worth),
    ]


def _blocks_of_classes(card: Scorecard, layout: PageLayout, units: Mapping[str, str] | None) -> list[str]:
    """Write the parts of a card of several classes: one table, and how totals are read."""
    style = layout.style
    numbers = [[style.number(f"{own}") for own in line] for line in card.lines()]
    unit = style.number(plain(card.unit))
    worth = f"{style.prose('exp(')}{unit} {layout.times} {style.prose('its total)')}"
    lines = [
        *remarks(card.terms, style, units),
        style.prose("The class with the highest total is predicted, the first of equals."),
        style.prose("The probability of a class is ") + worth
        + style.prose(" over the sum of the same for all classes."),
    ]  # fmt: skip
    return table_blocks(card.terms, layout, units, numbers, lines, "points")
