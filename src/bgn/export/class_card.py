"""A network of several classes as a card: whole points per question and class, and the class of the most points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from math import gcd
from typing import Any

import numpy as np

from bgn.export.class_table import table_blocks
from bgn.export.condition import describe
from bgn.export.layouts import layout_of
from bgn.export.numbers import plain
from bgn.export.remarks import remarks
from bgn.export.text import Text
from bgn.model.decimals import EXACT, whole_numbers
from bgn.model.link import LINKS
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.term_table import TermTable, as_table
from bgn.require import require

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
