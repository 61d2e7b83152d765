"""A network as a card of whole points, in any format: questions, points, and the line from total to prediction.

A card is a few paragraphs and tables, so a format is how it writes either; questions are worded by
:func:`bgn.export.condition.describe`, as everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from math import gcd
from typing import Any, NamedTuple

from bgn.export.condition import describe
from bgn.export.html import Html
from bgn.export.latex import Latex
from bgn.export.markdown import Markdown
from bgn.export.remarks import remarks
from bgn.export.text import Text
from bgn.model.decimals import EXACT, whole_numbers
from bgn.model.terms import Term, Terms, as_terms, outputs_of
from bgn.printable import clean

MOST_POINTS = 1000
_MOST_TOTALS = 10
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Scorecard:
    """``prediction = start + unit * total``, the total being the points of the questions answered yes.

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
    """

    points: tuple[int, ...]
    start: Decimal
    unit: Decimal
    terms: Terms = field(repr=False)

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions in words, in the order of `points`."""
        return tuple(describe(term.condition, self.terms, Text()) for term in self.terms.terms)

    def prediction(self, total: int) -> Decimal:
        """Return the prediction of a total, exactly; the float nearest to it is what the network predicts."""
        with localcontext(EXACT):
            return self.start + self.unit * total

    def totals(self) -> tuple[int, ...]:
        """Return totals to print: all from 0 to the largest where they are few, else every second, fifth, tenth, ..."""
        largest, step = sum(self.points), 1
        while largest > _MOST_TOTALS * step:
            step = step * 5 // 2 if str(step)[0] == "2" else step * 2
        return (*range(0, largest, step), largest)

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
        if format not in CARD_FORMATS:
            raise ValueError(f"format must be one of {', '.join(map(repr, CARD_FORMATS))}; got {format!r}.")
        layout = CARD_FORMATS[format]
        return layout.page(_blocks(self, layout, units))

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        return self.format("html")


def scorecard(model: Any) -> Scorecard:
    """Return a network as a card: questions with whole points, and a line from their total to the prediction.

    The card is the network: who adds up points and follows the line gets what `predict` returns, on every row.

    Parameters
    ----------
    model : Network or fitted estimator
        Whose output weights are whole multiples of one unit, as :func:`bgn.simplify` makes them with `points`.

    Returns
    -------
    Scorecard
        To print, or to write with its `format` in LaTeX, Markdown or HTML.

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 0.59], [0.0, 1.0]], [-65.5, -63.56, -20.0])
    >>> network = bgn.Network([layer], [0.26, 0.195, -0.065], 1.54, ["income", "age"], "value")
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
    2       1.28
    3       1.41
    4       1.54
    5       1.67
    6       1.80
    7       1.93
    8       2.06
    >>> network.predict([[70.0, 30.0]]), float(card.prediction(4 + 3))
    (array([1.93]), 1.93)
    """
    terms = as_terms(model)
    if terms.slopes:
        raise ValueError("model must predict by questions alone; this one has slopes, which no points can stand for.")
    (network,) = outputs_of(model)
    weights = network.output_weights.tolist()
    with localcontext(EXACT):
        amounts = [term.amount for term in terms.terms]
        unit = _common_unit(amounts)
        points = [int(amount / unit) for amount in amounts]
    _check(points, unit, exact=not weights or whole_numbers([network.base, *weights]) is not None)
    order = _by_columns(terms.terms, points)
    ordered = replace(terms, terms=tuple(terms.terms[k] for k in order))
    return Scorecard(tuple(points[k] for k in order), terms.start.normalize(EXACT), unit.normalize(EXACT), ordered)


def _common_unit(amounts: Sequence[Decimal]) -> Decimal:
    """Return the largest decimal of which all amounts are whole multiples; 0 for none."""
    power = min((int(amount.as_tuple().exponent) for amount in amounts), default=0)
    return Decimal(gcd(*(int(amount.scaleb(-power, EXACT)) for amount in amounts))).scaleb(power, EXACT)


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


def _plain(value: Decimal) -> str:
    """Write a decimal with all its digits."""
    return f"{value:f}" if -7 < value.adjusted() < 16 else f"{value.normalize(EXACT):e}"


def _blocks(card: Scorecard, layout: CardFormat, units: Mapping[str, str] | None) -> list[str]:
    """Write the parts of a card: what its questions are about, the questions, the line, the table of totals."""
    terms, style = card.terms, layout.style
    unit = (units or {}).get(terms.target) or terms.schema.target_unit
    target = style.name(terms.target) + (style.words(f" ({clean(unit)})") if unit else "")
    start = style.number(_plain(card.start))
    if not card.points:
        return [layout.lines([f"{target} = {start}"])]
    names = {place: style.name(name) + style.words(": ") for place, name in terms.hidden_names.items()}
    below = [each for layer in terms.hidden for each in layer]
    hidden = [names[each.layer, each.neuron] + describe(each, terms, style, units) for each in below]
    total = style.words("total")
    questions = [describe(term.condition, terms, style, units) for term in terms.terms]
    asked = list(zip(questions, map(str, card.points), strict=True))
    asked.append((total, f"0{style.words(' to ')}{sum(card.points)}"))
    worth = [(f"{each}", style.number(_plain(card.prediction(each)))) for each in card.totals()]
    return [
        *([layout.lines(hidden)] if hidden else []),
        layout.table((style.words("question"), style.words("points if yes")), asked),
        *([layout.lines(said)] if (said := remarks(terms, style, units)) else []),
        layout.lines([f"{target} = {start} + {style.number(_plain(card.unit))} {layout.times} {total}"]),
        layout.table((total, target), worth),
    ]


# -- formats -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BareLatex(Latex):
    """LaTeX in mathematical mode that needs no package."""

    def words(self, words: str) -> str:
        written = super().words(words).replace(r"\textquotedbl{}", r"{\char34}")
        return r"\mbox" + written.removeprefix(r"\text")


class CardFormat(NamedTuple):
    """How a format writes words and numbers, a paragraph of lines, a table of two columns with its head, and a page."""

    style: Text
    times: str
    lines: Callable[[Sequence[str]], str]
    table: Callable[[tuple[str, str], Pairs], str]
    page: Callable[[Sequence[str]], str]


def _text_table(head: tuple[str, str], rows: Pairs) -> str:
    left, right = (max(len(row[k]) for row in (head, *rows)) for k in (0, 1))
    return "\n".join(f"{first:<{left}}  {second:>{right}}" for first, second in (head, *rows))


def _markdown_table(head: tuple[str, str], rows: Pairs) -> str:
    lines = ["| {} | {} |".format(*row) for row in (head, *rows)]
    return "\n".join([lines[0], "|:---|---:|", *lines[1:]])


def _latex_table(head: tuple[str, str], rows: Pairs) -> str:
    lines = ["${}$ & ${}$ \\\\".format(*row) for row in (head, *rows)]
    return "\n".join([r"\begin{tabular}{lr}", lines[0] + r" \hline", *lines[1:], r"\end{tabular}"])


def _html_table(head: tuple[str, str], rows: Pairs) -> str:
    cell = '<{0} style="text-align:{1};padding:2px 8px">{2}</{0}>'
    tags = ("th", *("td" for _ in rows))
    cells = [
        cell.format(tag, "left", row[0]) + cell.format(tag, "right", row[1])
        for tag, row in zip(tags, (head, *rows), strict=True)
    ]
    body = "".join(f'<tr style="background:none;border-bottom:1px solid #8888">{row}</tr>' for row in cells)
    return f'<table style="border-collapse:collapse;max-width:100%;color:inherit">{body}</table>'


CARD_FORMATS = {
    "text": CardFormat(Text(), "x", "\n".join, _text_table, "\n\n".join),
    "latex": CardFormat(
        BareLatex(), r"\times", lambda lines: " \\\\\n".join(f"${line}$" for line in lines), _latex_table, "\n\n".join
    ),
    "markdown": CardFormat(Markdown(), "\N{MULTIPLICATION SIGN}", "  \n".join, _markdown_table, "\n\n".join),
    "html": CardFormat(
        Html(), "\N{MULTIPLICATION SIGN}", lambda lines: f"<p>{'<br>'.join(lines)}</p>", _html_table,
        lambda blocks: f'<div class="bgn-scorecard" style="overflow-wrap:anywhere">{"".join(blocks)}</div>',
    ),
}  # fmt: skip
