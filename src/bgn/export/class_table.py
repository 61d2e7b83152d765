"""Questions by classes: the equation of a network of several classes, each question written once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from bgn.export.condition import describe
from bgn.export.layouts import PageLayout, layout_of
from bgn.export.numbers import aligned, amounts
from bgn.export.remarks import remarks
from bgn.export.rounded import rounded
from bgn.model.term_table import TermTable
from bgn.model.terms import Terms
from bgn.printable import quote_name
from bgn.wording import count_of

PROBABILITY = "The probability of a class is exp(its score) over the sum of exp(score) of all classes."


def class_table(
    table: TermTable, format: str, digits: int | None, units: Mapping[str, str] | None, note: str, rows: Any = None
) -> str:
    """Write a table of questions by classes, and how probabilities follow from the scores."""
    layout, shown = layout_of(format), table if digits is None else _shorter(table, digits)
    if shown != table:
        note = " ".join(filter(None, [_told(table, shown, digits or 0, rows), note]))
    body = [("always", shown.starts), *zip(_questions(shown.asked, layout, units), shown.amounts, strict=True)]
    written = aligned([each for _, own in body for each in own])
    numbers = np.array([layout.style.number(each) for each in written], dtype=object).reshape(len(body), -1)
    words = [layout.style.words("always"), *(question for question, _ in body[1:])]
    lines = [*remarks(shown.asked, layout.style, units), layout.style.words(PROBABILITY)]
    lines += [layout.style.words(note)] if note else []
    return layout.page(table_blocks(shown, layout, units, words, numbers.tolist(), lines, "score"), "equation")


def table_blocks(
    table: TermTable, layout: PageLayout, units: Mapping[str, str] | None, words: Sequence[str],
    numbers: Sequence[Sequence[str]], lines: Sequence[str], title: str,
) -> list[str]:  # fmt: skip
    """Write what stands below the questions, the table of questions by classes, and some lines."""
    style, asked = layout.style, table.asked
    names = {place: style.name(name) + style.words(": ") for place, name in asked.hidden_names.items()}
    hidden = [names[each.layer, each.neuron] + describe(each, asked, style, units)
              for layer in asked.hidden for each in layer]  # fmt: skip
    target = quote_name(asked.schema.target) if asked.schema.target else "class"
    head = [style.words(f"{title} of {target} ="), *map(style.category, table.classes)]
    rows = [[word, *own] for word, own in zip(words, numbers, strict=True)]
    return [*([layout.lines(hidden)] if hidden else []), layout.table(head, rows), layout.lines(lines)]


def _questions(asked: Terms, layout: PageLayout, units: Mapping[str, str] | None) -> list[str]:
    """Write the questions, in order."""
    return [layout.style.words("if ") + describe(term.condition, asked, layout.style, units) for term in asked.terms]


def _shorter(table: TermTable, digits: int) -> TermTable:
    """Return the table with numbers of fewer digits."""
    flat = [float(each) for own in (table.starts, *table.amounts) for each in own]
    texts = amounts(flat, [each for each in flat[len(table.starts) :] if each] or flat, digits)
    numbers = np.array([Decimal(text) for text in texts], dtype=object).reshape(-1, len(table.starts)).tolist()
    short = rounded(table.asked, digits)
    return replace(table, asked=short, starts=tuple(numbers[0]), amounts=tuple(map(tuple, numbers[1:])))


def _told(table: TermTable, shown: TermTable, digits: int, rows: Any) -> str:
    """Say that numbers are rounded, and how far scores are off on rows."""
    said = f"Rounded to {digits} digit{'s' * (digits > 1)}"
    if rows is None:
        return f"{said}: rows near a threshold may be answered otherwise."
    apart = np.abs(shown.evaluate(rows) - table.evaluate(rows))
    return f"{said}: scores differ by up to {apart.max(initial=0.0):.2g} on {count_of(len(apart), 'row')}."
