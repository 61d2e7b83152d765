"""The card of a page: what every rule and every linear term adds, in points where totals of points say it all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from bgn.export.condition import ends
from bgn.export.numbers import aligned, places, plain, whole
from bgn.export.numbers import percent as chance_of
from bgn.export.scorecard import common_unit, scorecard
from bgn.export.styles import Html, Signs
from bgn.model.readings import Terms
from bgn.model.term import Linear
from bgn.report import classes
from bgn.report.facts import Facts
from bgn.require import require
from bgn.show.labels import Quantity
from bgn.show.labels import title as title_of

_MOST_POINTS = 999
_MOST_QUESTIONS = 40


@dataclass(frozen=True)
class ModelCard:
    """What the lines of a card say, in the order of the equation's terms.

    Attributes
    ----------
    base : str
        Where one starts; "0" points where there are points.
    adds : list of str
        What each question adds.
    numbers : list of float
        The same as numbers, and `decimals` how many of them are told.
    points : dict or None
        How a total of points is read: the totals and what they stand for, and the formula.
    columns : dict or None
        What questions add to each of several classes, in place of `adds`.
    """

    base: str
    adds: list[str]
    numbers: list[float]
    decimals: int | None
    points: dict[str, Any] | None = None
    columns: dict[str, Any] | None = None

    @classmethod
    def of(cls, facts: Facts) -> ModelCard:
        """Return the card of a model: points for classes where they are whole numbers, otherwise amounts."""
        terms = facts.terms
        base, *weights = aligned([terms.intercept[0], *(term.coef[0] for term in terms.rules)])
        amounts = cls(
            facts.quantity.bare(base), [facts.quantity.bare(f"+{each}") for each in weights],
            [term.weight for term in terms.rules], places([base, *weights]),
            columns=classes.columns_of_amounts(facts.network, terms),
        )  # fmt: skip
        if not facts.classes or not terms.rules or len(terms.rules) > _MOST_QUESTIONS:
            return amounts
        return _pointed(facts, amounts)


def _pointed(facts: Facts, amounts: ModelCard) -> ModelCard:
    """Return a card of points, or the same where amounts have no common unit that is large enough."""
    if facts.network.linear:
        return amounts
    if facts.network.link == "softmax":
        return _of_classes(amounts)
    try:
        card = scorecard(facts.network)
    except ValueError:
        return amounts
    card = replace(card, evenly=facts.turned)
    if max(own for line in card.points for own in line) > _MOST_POINTS:
        return amounts
    by_neuron = {term.index: points for term, (points,) in zip(card.terms.rules, card.points, strict=True)}
    points = [by_neuron[term.index] for term in facts.terms.rules]
    from_total = card.likely_from()
    word = classes.words_of(facts.network)[1]
    read = {
        "largest": sum(points),
        "totals": [{"total": total, "chance": chance_of(card.probability(total))} for total in card.totals()],
        "word": word,
        "from": f"“{word}” is predicted for no total." if from_total is None else
        f"“{word}” is predicted from {from_total} points on." if from_total else
        f"“{word}” is predicted whatever the total.",
        "start": Signs().number(plain(card.start[0])), "unit": plain(card.unit),
    }  # fmt: skip
    return ModelCard("0", [f"+{each}" for each in points], list(map(float, points)), 0, read)


def _of_classes(amounts: ModelCard) -> ModelCard:
    """Return a card of points for several classes, or the same where amounts have no common unit."""
    if amounts.columns is None:
        return amounts
    lines = [amounts.columns["starts"], *amounts.columns["rows"]]
    numbers = [[Decimal(each.replace("\N{MINUS SIGN}", "-")) for each in line] for line in lines]
    unit = common_unit([each for line in numbers for each in line]) or Decimal(1)
    starts, *rows = [[int(each / unit) for each in line] for line in numbers]
    most = [max(map(abs, row)) for row in rows]
    if max(map(abs, [*most, *starts])) > _MOST_POINTS:
        return amounts
    columns = amounts.columns | {
        "starts": [Signs().number(str(each)) for each in starts],
        "rows": [[Signs().number(f"{each:+d}" if each else "0") for each in row] for row in rows],
    }
    read = {"unit": plain(unit), "totals": None}
    return ModelCard("0", [f"+{each}" for each in most], list(map(float, most)), 0, read, columns)


def lines_of(facts: Facts) -> list[dict[str, Any]]:
    """Return the linear terms as the card shows them."""
    network = facts.network
    return [
        {"slopes": [facts.quantity.bare(("+" if slope > 0 else "") + whole(slope)) for slope in weights],
         "words": _words(term, facts.terms), "share": share}
        for term, weights, share in zip(network.linear, network.linear_coef.tolist(), facts.shares[1], strict=True)
    ]  # fmt: skip


def _words(term: Linear, terms: Terms) -> Any:
    markup = require("markupsafe", extra="report").Markup
    column = terms.schema.columns[term.column]
    unit = Quantity(column.unit).suffix
    of = f"per unit of {Html().name(title_of(column))}"
    return markup(of + (ends(term, Html(), unit) or Html().prose(Quantity(column.unit).title)))
