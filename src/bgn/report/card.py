"""The card of a page: what every rule and every linear term adds, in points where totals of points say it all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bgn.export.condition import ends
from bgn.export.numbers import aligned, places, plain, whole
from bgn.export.numbers import percent as written_percent
from bgn.export.scorecard import Scorecard, scorecard
from bgn.export.styles import Html, Signs
from bgn.report.facts import Facts
from bgn.require import require
from bgn.show.labels import Quantity, title

_MOST_POINTS = 999
_MOST_RULES = 40  # of a card of points


@dataclass(frozen=True)
class ModelCard:
    """What the lines of a card say, in the order of the equation's terms: the start; what each rule adds, as text and
    as `numbers`; how points are read; what rules add to each of several classes (`columns`)."""

    start: str
    adds: list[str]
    numbers: list[float]
    decimals: int | None
    points: dict[str, Any] | None = None
    columns: dict[str, Any] | None = None

    @classmethod
    def of(cls, facts: Facts) -> ModelCard:
        """Return the card of a model: points for classes where they are whole numbers, otherwise weights."""
        terms, points = facts.terms, _points_of(facts)
        if points is None:
            lines = [terms.intercept, *(term.coef for term in terms.rules)]
            largest = [max(line, key=abs) for line in lines[1:]]
            start, *weights = aligned([lines[0][0], *largest])
            card = cls(
                facts.quantity.bare(start), [facts.quantity.bare(f"+{weight}") for weight in weights],
                list(map(float, largest)), places([start, *weights]),
            )  # fmt: skip
            outputs = [map(Signs().number, aligned(numbers)) for numbers in zip(*lines, strict=True)]
            written = [list(line) for line in zip(*outputs, strict=True)]
        else:
            by_rule = {term.index: own for term, own in zip(points.terms.rules, points.points, strict=True)}
            most = [max(map(abs, by_rule[term.index])) for term in terms.rules]
            reading: dict[str, Any] = {"unit": plain(points.unit), "totals": None}
            if not points.classes:  # a total says it all
                from_total, name = points.likely_from(), facts.class_names[1]
                totals = "whatever the total" if from_total == 0 else f"from {from_total} points on"
                reading |= {
                    "totals": [{"total": total, "probability": written_percent(points.probability(total))}
                               for total in points.totals()],
                    "name": name, "start": Signs().number(plain(points.start[0])),
                    "from": f"“{name}” is predicted {'for no total' if from_total is None else totals}.",
                }  # fmt: skip
            card = cls("0", [f"+{count}" for count in most], list(map(float, most)), 0, reading)
            written = [
                [Signs().number(f"{count:+d}" if count and place else str(count)) for count in own]
                for place, own in enumerate(points.lines())
            ]
        if not terms.classes:
            return card
        starts, *rows = written
        return replace(card, columns={"names": facts.class_names, "starts": starts, "rows": rows})


def _points_of(facts: Facts) -> Scorecard | None:
    """Return the points of a model of classes; None where it has too many rules, or no short common unit."""
    if not facts.classes or not 0 < len(facts.terms.rules) <= _MOST_RULES or facts.network.linear:
        return None
    try:
        card = replace(scorecard(facts.network), evenly=facts.turned)
    except ValueError:
        return None
    return card if max(abs(count) for line in card.lines() for count in line) <= _MOST_POINTS else None


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
