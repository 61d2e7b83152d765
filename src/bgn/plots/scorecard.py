"""A card of whole points as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bgn.export.condition import describe
from bgn.export.numbers import percent, plain
from bgn.export.scorecard import Scorecard
from bgn.export.scorecard import scorecard as card_of
from bgn.export.styles import Signs
from bgn.plots.style import NAME_LETTERS, READABLE, axes, documented, folded, inches, widest
from bgn.show.labels import shortened
from bgn.text import quote_category, quote_name

_WIDEST = 372.0  # points of a question per line, in letters of 10 points
_SPACED = 1.3  # height of a line in sizes of its letters
_LINE, _WIDTH = 0.26, 8.0  # inches
_COLUMN = 0.11  # share of the width that a column of points takes at least


@documented()
def scorecard(model: Any, *, ax: Any = None) -> Any:
    """Draw a card: questions with their points, and what totals stand for.

    Parameters
    ----------
    model : Network, fitted estimator or card
        Whose weights are whole multiples of one unit, as :func:`bgn.simplify` makes them with `points`.
    {ax}

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-65.5, -20.0])
    >>> network = bgn.Network.of_layers([layer], [0.6, -0.2], -0.4, ["income", "age"], "churn", link="logistic")
    >>> ax = bgn.plots.scorecard(network)
    >>> [text.get_text() for text in ax.texts][:5]
    ['question', 'points if yes', 'income ≥ 65.5', '3', 'age < 20']
    """
    card = model if isinstance(model, Scorecard) else card_of(model)
    laid = _laid(card, _WIDTH, None) if ax is None else _laid(card, min(_WIDTH, inches(ax)[0]), inches(ax)[1])
    ax = axes(ax, _WIDTH, 0.6 + _LINE * laid.lines)
    ax.axis("off")
    ax.set_xlim(0, 1)
    ax.set_ylim(-laid.lines, 0)
    _row(ax, -0.5, laid.head, laid.places, fontsize=laid.size, weight="bold")
    ax.axhline(-1, color="grey", linewidth=0.8)
    at = -1.0
    for row in laid.rows:
        height = _height(row)
        _row(ax, at - height / 2, row, laid.places, fontsize=laid.size)
        at -= height
    ax.axhline(at, color="grey", linewidth=0.8)
    for note in laid.notes:
        ax.text(0.0, at - 0.5, note, va="center", fontsize=laid.small)
        at -= 1
    for k, (total, worth) in enumerate(laid.totals):
        place = (k + 0.5) / len(laid.totals)
        ax.text(place, at - 1.2, total, ha="center", va="center", fontsize=laid.size, weight="bold")
        ax.text(place, at - 2.4, worth, ha="center", va="center", fontsize=laid.small)
    return ax


@dataclass(frozen=True)
class _Laid:
    """A card in lines that fit: its letters' sizes, where columns of points end, and what is written."""

    size: float
    places: tuple[float, ...]
    head: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str]
    totals: Sequence[tuple[str, str]]

    @property
    def small(self) -> float:
        return max(0.9 * self.size, min(READABLE, self.size))

    @property
    def lines(self) -> int:
        return sum(map(_height, self.rows)) + 1 + len(self.notes) + (4 if self.totals else 0)


def _laid(card: Scorecard, width: float, tall: float | None) -> _Laid:
    """Lay a card out in so many inches; in little room letters are small, names short, and few questions are told."""
    largest = 10.0 if tall is None else max(READABLE, min(10.0, 1.8 * width))
    candidates = [(largest, None), *((READABLE, letters) for letters in (None, *NAME_LETTERS))]
    for size, letters in candidates:
        laid = _in_lines(card, width, size, letters)
        if tall is None or laid.lines <= (fit := int(72.0 * tall / (_SPACED * size))):
            return laid
    rows = list(laid.rows)
    while rows and replace(laid, rows=[*rows, ("",)]).lines > fit:
        rows.pop()
    hidden = len(laid.rows) - len(rows)
    return replace(laid, rows=[*rows, (f"and {hidden} more", *("…" for _ in laid.places))])


def _in_lines(card: Scorecard, width: float, size: float, letters: int | None) -> _Laid:
    """Write a card in lines of so many inches, columns by so many letters at most."""
    head, rows, notes, totals = _write_card(card, letters)
    # From the right, as wide as their longest entries; what is left of the width is for the words.
    columns = zip(head[1:], *(row[1:] for row in rows), strict=True)
    wide = [max(_COLUMN, (widest(own) * size / 10.0 + 0.12) / width) for own in columns]
    places = tuple(0.98 - sum(wide[k + 1 :]) for k in range(len(wide)))
    points = min(_WIDEST * size / 10.0, max((places[0] - wide[0]) * width * 72.0, 12.0 * size / 2.0))
    wrapped = [(folded(first, points, size), *others) for first, *others in rows]
    lines = [line for note in notes for line in folded(note, 72.0 * width, 0.9 * size).split("\n")]
    return _Laid(size, places, head, wrapped, lines, totals)


def _height(row: tuple[str, ...]) -> int:
    """Return how many lines a row takes."""
    return row[0].count("\n") + 1


def _row(ax: Any, height: float, cells: Any, places: Sequence[float], **style: Any) -> None:
    """Write one line: words on the left, numbers to the right."""
    first, *others = cells
    ax.text(0.0, height, first, va="center", **style)
    for place, text in zip(places, others, strict=True):
        ax.text(place, height, text, ha="right", va="center", **style)


def _write_card(
    card: Scorecard, letters: int | None
) -> tuple[list[str], list[tuple[str, ...]], list[str], list[tuple[str, str]]]:
    """Return head, lines, notes, and totals with what they stand for, columns by so many letters at most."""
    style, terms = Signs(), card.terms
    terms = terms if letters is None else replace(terms, schema=shortened(terms.schema, letters))
    points = [tuple(style.number(str(own)) for own in line) for line in card.lines()]
    unit, times = style.number(plain(card.unit)), "\N{MULTIPLICATION SIGN}"
    if card.classes:
        texts = ["always", *(describe(term, terms, style) for term in terms.rules)]
        notes = [
            "The class with the highest total is predicted, the first of equals.",
            f"Probability of a class: exp({plain(card.unit)} {times} its total) over the sum for all.",
        ]
        head = [f"points of {quote_name(terms.schema.target or 'class')} =", *map(quote_category, card.classes)]
        return head, [(text, *line) for text, line in zip(texts, points, strict=True)], notes, []
    rows = [(describe(term, terms, style), *line) for term, line in zip(terms.rules, points, strict=True)]
    notes = [f"{quote_name(terms.target)} = {style.number(plain(card.start[0]))} + {unit} {times} total"]
    if card.of_class:
        notes.append(f"total, and below it the probability of {quote_name(card.target)}")
        worth = [percent(card.probability(total)) for total in card.totals()]
        worth = [text.replace("below ", "<").replace("above ", ">").replace(" %", "%") for text in worth]
    else:
        worth = [style.number(plain(card.prediction(total))) for total in card.totals()]
    return ["question", "points if yes"], rows, notes, list(zip(map(str, card.totals()), worth, strict=True))
