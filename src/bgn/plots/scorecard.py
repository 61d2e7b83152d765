"""A card of whole points as a figure."""

from __future__ import annotations

from typing import Any

from bgn.export.class_card import ClassCard
from bgn.export.condition import describe
from bgn.export.numbers import percent, plain
from bgn.export.scorecard import Scorecard
from bgn.export.scorecard import scorecard as card_of
from bgn.export.text import Signs
from bgn.plots.style import axes, folded, inches, widest

_WIDEST = 60  # letters of a question per line
_LINE, _WIDTH = 0.26, 8.0  # inches
_COLUMN = 0.11  # share of the width that a column of points takes at least


def scorecard(model: Any, *, ax: Any = None) -> Any:
    """Draw a card: questions with their points, and what totals stand for.

    Parameters
    ----------
    model : Network, fitted estimator or card
        Whose weights are whole multiples of one unit, as :func:`bgn.simplify` makes them with `points`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-65.5, -20.0])
    >>> network = bgn.Network([layer], [0.6, -0.2], -0.4, ["income", "age"], "churn", link="logistic")
    >>> ax = bgn.plots.scorecard(network)
    >>> [text.get_text() for text in ax.texts][:5]
    ['question', 'points if yes', 'income ≥ 65.5', '3', 'age < 20']
    """
    card = model if isinstance(model, Scorecard | ClassCard) else card_of(model)
    head, rows, notes, totals = _of_classes(card) if isinstance(card, ClassCard) else _of_one(card)
    width = _WIDTH if ax is None else min(_WIDTH, inches(ax))
    size = max(6.0, min(10.0, 1.8 * width))
    # From the right, as wide as their longest entries; what is left of the width is for the words.
    columns = zip(head[1:], *(row[1:] for row in rows), strict=True)
    wide = [max(_COLUMN, (widest(own) * size / 10.0 + 0.12) / width) for own in columns]
    places = [0.98 - sum(wide[k + 1 :]) for k in range(len(wide))]
    letters = min(_WIDEST, int((places[0] - wide[0]) * width * 72.0 / (0.55 * size)))
    wrapped = [(folded(first, max(letters, 12)), *others) for first, *others in rows]
    heights = [first.count("\n") + 1 for first, *_ in wrapped]
    notes = [line for note in notes for line in folded(note, int(width * 72.0 / (0.5 * size))).split("\n")]
    lines = sum(heights) + 1 + len(notes) + (len(totals) and 4)
    ax = axes(ax, _WIDTH, 0.6 + _LINE * lines)
    ax.axis("off")
    ax.set_xlim(0, 1)
    ax.set_ylim(-lines, 0)
    _row(ax, -0.5, head, places, fontsize=size, weight="bold")
    ax.axhline(-1, color="grey", linewidth=0.8)
    at = -1.0
    for row, height in zip(wrapped, heights, strict=True):
        _row(ax, at - height / 2, row, places, fontsize=size)
        at -= height
    ax.axhline(at, color="grey", linewidth=0.8)
    for note in notes:
        ax.text(0.0, at - 0.5, note, va="center", fontsize=0.9 * size)
        at -= 1
    for k, (total, worth) in enumerate(totals):
        place = (k + 0.5) / len(totals)
        ax.text(place, at - 1.2, total, ha="center", va="center", fontsize=size, weight="bold")
        ax.text(place, at - 2.4, worth, ha="center", va="center", fontsize=0.9 * size)
    return ax


def _row(ax: Any, height: float, cells: Any, places: list[float], **style: Any) -> None:
    """Write one line: words on the left, numbers to the right."""
    first, *others = cells
    ax.text(0.0, height, first, va="center", **style)
    for place, each in zip(places, others, strict=True):
        ax.text(place, height, each, ha="right", va="center", **style)


def _of_one(card: Scorecard) -> tuple[list[str], list[tuple[str, ...]], list[str], list[tuple[str, str]]]:
    """Return head, lines, notes and totals of a card of a number or of two classes."""
    style = Signs()
    words = [describe(term.condition, card.terms, style) for term in card.terms.terms]
    rows: list[tuple[str, ...]] = [(word, str(own)) for word, own in zip(words, card.points, strict=True)]
    unit, start = style.number(plain(card.unit)), style.number(plain(card.start))
    notes = [f"{card.terms.target} = {start} + {unit} \N{MULTIPLICATION SIGN} total"]
    if card.of_class:
        notes.append(f"total, and below it the probability of {card.target}")
    worth = [_short(card, total) for total in card.totals()]
    return ["question", "points if yes"], rows, notes, list(zip(map(str, card.totals()), worth, strict=True))


def _short(card: Scorecard, total: int) -> str:
    """Write what a total stands for in few letters."""
    if not card.of_class:
        return Signs().number(plain(card.prediction(total)))
    return percent(card.probability(total)).replace("below ", "<").replace("above ", ">").replace(" %", "%")


def _of_classes(card: ClassCard) -> tuple[list[str], list[tuple[str, ...]], list[str], list[tuple[str, str]]]:
    """Return head, lines, notes and no totals of a card of several classes."""
    asked, style = card.table.asked, Signs()
    words = ["always", *(describe(term.condition, asked, style) for term in asked.terms)]
    numbers = [[style.number(str(each)) for each in own] for own in (card.start, *card.points)]
    rows = [(word, *own) for word, own in zip(words, numbers, strict=True)]
    notes = [
        "The class with the highest total is predicted, the first of equals.",
        f"Probability of a class: exp({plain(card.unit)} \N{MULTIPLICATION SIGN} its total) over the sum for all.",
    ]
    return [f"points of {asked.schema.target or 'class'} =", *card.classes], rows, notes, []
