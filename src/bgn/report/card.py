"""The card of a page: what every rule and every linear term adds, in points where totals of points say it all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from bgn.export.condition import ends
from bgn.export.numbers import aligned, places, plain, whole
from bgn.export.numbers import percent as written_percent
from bgn.export.scorecard import common_unit, scorecard
from bgn.export.styles import Html, Signs
from bgn.model.numbers import EXACT, written
from bgn.model.readings import outputs_of
from bgn.report.facts import Facts
from bgn.require import require
from bgn.show.labels import Quantity, title

_MOST_POINTS = 999
_MOST_RULES = 40  # of a card of points


@dataclass(frozen=True)
class ModelCard:
    """What the lines of a card say, in the order of the equation's terms.

    Attributes
    ----------
    start : str
        Where one starts; "0" points where there are points.
    adds : list of str
        What each rule adds.
    numbers : list of float
        The same as numbers, and `decimals` how many of them are written.
    points : dict or None
        How a total of points is read: the totals and what they stand for, and the formula.
    columns : dict or None
        What rules add to each of several classes, in place of `adds`.
    """

    start: str
    adds: list[str]
    numbers: list[float]
    decimals: int | None
    points: dict[str, Any] | None = None
    columns: dict[str, Any] | None = None

    @classmethod
    def of(cls, facts: Facts) -> ModelCard:
        """Return the card of a model: points for classes where they are whole numbers, otherwise weights."""
        terms = facts.terms
        start, *weights = aligned([terms.intercept[0], *(term.coef[0] for term in terms.rules)])
        card = cls(
            facts.quantity.bare(start), [facts.quantity.bare(f"+{weight}") for weight in weights],
            [term.weight for term in terms.rules], places([start, *weights]), columns=_columns_of_classes(facts),
        )  # fmt: skip
        if not facts.classes or not terms.rules or len(terms.rules) > _MOST_RULES or facts.network.linear:
            return card
        return _pointed(facts, card) if card.columns is None else _pointed_classes(card)


def _columns_of_classes(facts: Facts) -> dict[str, Any] | None:
    """Return what rules add to the score of every class, rule by rule, and where scores start; None for one score."""
    outputs = outputs_of(facts.network)
    if len(outputs) == 1:
        return None
    rules, starts, columns = [term.index for term in facts.terms.rules], [], []
    for output in outputs:
        weights = [written(weight) for weight in output.output_weights.tolist()]
        start = written(output.base)
        for k, weight in enumerate(weights):
            adds = k not in rules and bool(output.layers[-1].bias[k] >= 0)
            start = EXACT.add(start, weight) if adds else EXACT.subtract(start, weight)
        first, *rest = aligned([start, *(EXACT.add(weights[k], weights[k]) for k in rules)])
        starts.append(Signs().number(first))
        columns.append([Signs().number(weight) for weight in rest])
    return {"names": facts.class_names, "starts": starts, "rows": [list(row) for row in zip(*columns, strict=True)]}


def _pointed(facts: Facts, weights: ModelCard) -> ModelCard:
    """Return a card of points, or the same where weights have no common unit that is large enough."""
    try:
        card = scorecard(facts.network)
    except ValueError:
        return weights
    card = replace(card, evenly=facts.turned)
    if max(own for line in card.points for own in line) > _MOST_POINTS:
        return weights
    by_rule = {term.index: points for term, (points,) in zip(card.terms.rules, card.points, strict=True)}
    points = [by_rule[term.index] for term in facts.terms.rules]
    from_total, name = card.likely_from(), facts.class_names[1]
    totals = "whatever the total" if from_total == 0 else f"from {from_total} points on"
    read = {
        "largest": sum(points),
        "totals": [{"total": total, "probability": written_percent(card.probability(total))}
                   for total in card.totals()],
        "name": name,
        "from": f"“{name}” is predicted {'for no total' if from_total is None else totals}.",
        "start": Signs().number(plain(card.start[0])), "unit": plain(card.unit),
    }  # fmt: skip
    return ModelCard("0", [f"+{count}" for count in points], list(map(float, points)), 0, read)


def _pointed_classes(weights: ModelCard) -> ModelCard:
    """Return a card of points for several classes, or the same where weights have no common unit."""
    columns = weights.columns or {}
    numbers = [[Decimal(text.replace("\N{MINUS SIGN}", "-")) for text in line]
               for line in (columns["starts"], *columns["rows"])]  # fmt: skip
    unit = common_unit([number for line in numbers for number in line]) or Decimal(1)
    starts, *rows = [[int(number / unit) for number in line] for line in numbers]
    most = [max(map(abs, row)) for row in rows]
    if max(map(abs, [*most, *starts])) > _MOST_POINTS:
        return weights
    columns = columns | {
        "starts": [Signs().number(str(count)) for count in starts],
        "rows": [[Signs().number(f"{count:+d}" if count else "0") for count in row] for row in rows],
    }
    read = {"unit": plain(unit), "totals": None}
    return ModelCard("0", [f"+{count}" for count in most], list(map(float, most)), 0, read, columns)


def linear_lines(facts: Facts) -> list[dict[str, Any]]:
    """Return the linear terms as the card shows them."""
    markup, network, lines = require("markupsafe", extra="report").Markup, facts.network, []
    for term, coefs, share in zip(network.linear, network.linear_coef.tolist(), facts.shares[1], strict=True):
        column = facts.terms.schema.columns[term.column]
        text = f"per unit of {Html().name(title(column))}"
        text += ends(term, Html(), Quantity(column.unit).suffix) or Html().prose(Quantity(column.unit).title)
        weights = [facts.quantity.bare(("+" if coef > 0 else "") + whole(coef)) for coef in coefs]
        lines.append({"weights": weights, "text": markup(text), "share": share})
    return lines
