"""The equation of a model in any format, and which formats there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from bgn.export.condition import describe, ends, remarks
from bgn.export.numbers import aligned, amounts, whole
from bgn.export.rounded import check_digits, loss, rounded
from bgn.export.styles import Html, Latex, Markdown, PageLayout, Text, Written, layout_of
from bgn.model.numbers import sum_of
from bgn.model.readings import Terms, TermTable, as_table, as_terms, as_told, network_of, outputs_of
from bgn.pipelines import is_wrapped, see_through
from bgn.text import count_of, quote_category, quote_name

FORMATS: dict[str, Callable[[], Text]] = {
    "text": Text,
    "latex": Latex,
    "markdown": Markdown,
    "html": Html,
}


def equation(
    model: Any,
    format: str = "text",
    digits: int | None = None,
    units: Mapping[str, str] | None = None,
    rows: Any = None,
    most: int | None = None,
) -> str:
    """Write a model as an equation: a base value plus weighted yes/no terms, the heaviest first.

    Numbers are written whole: what is printed, added up by hand, is what the model predicts. For two classes it is the
    log-odds of the second; for more, one table of questions by classes.

    Parameters
    ----------
    model : Network, Terms or fitted estimator
        One with slopes for several classes gets one equation per class.
    format : {"text", "latex", "markdown", "html"}, default "text"
        LaTeX is an ``align*`` that needs amsmath. HTML is one table without scripts.
    digits : int, optional
        Fewer digits than the model has: the text then says that it is rounded, and how far it may be off.
    units : mapping of str to str, optional
        Units by column name, written after thresholds; the target's goes beside its name. Names that the model does not
        have are left aside.
    rows : array_like or frame, optional
        Rows on which to measure what `digits` costs, such as those that the model was fitted to.
    most : int, optional
        Questions to write, the heaviest, with what the others add at most; all unless told, and in tables of classes.

    Returns
    -------
    str

    Examples
    --------
    >>> import bgn
    >>> layer = bgn.Layer([[1.0, 0.0], [1.0, 0.59], [0.0, 1.0]], [-65.46, -63.56, -20.0])
    >>> network = bgn.Network.of_layers([layer], [0.635, 0.505, -0.135], 2.275, ["income", "age"], "value")
    >>> print(bgn.equation(network, units={"income": "k$"}))
    value = 1.00
          + 1.27 [income >= 65.46 k$]
          + 1.01 [income + 0.59 age >= 63.56 k$]
          + 0.27 [age < 20]
    >>> print(bgn.equation(network, format="latex").splitlines()[2])
    &\\quad {} + 1.27 \\cdot \\mathbf{1}_{\\{\\text{income} \\ge 65.46\\}} \\\\
    """
    _check(format, digits, most)
    seen = see_through(model) if is_wrapped(model) else None
    model, undone, rows = (model, "", rows) if seen is None else (seen.model, seen.note, seen.rows(rows))
    outputs = [model] if isinstance(model, Terms) else _outputs(model)
    if isinstance(outputs, TermTable):
        return class_table(outputs, format, digits, units, undone, rows)
    texts = []
    for terms in outputs:
        shown, note = _shortened(terms, digits, rows, most)
        chances = PROBABILITY if len(outputs) > 1 and terms is outputs[-1] else ""
        texts.append(_written(shown, FORMATS[format](), units, " ".join(filter(None, [chances, note, undone]))))
        undone = ""  # said once
    return "\n\n".join(texts)


def _check(format: str, digits: int | None, most: int | None) -> None:
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}; got {format!r}.")
    check_digits(digits)
    if most is not None and most < 1:
        raise ValueError(f"most must be at least 1; got {most}. Use None for all questions.")


def _shortened(terms: Terms, digits: int | None, rows: Any, most: int | None) -> tuple[Terms, str]:
    """Return terms of so many digits, the heaviest of them, and what is to be said of both."""
    shown = terms if digits is None else rounded(terms, digits)
    note = "" if digits is None else loss(terms, shown, digits, rows)
    shown, left = _heaviest(shown, most)
    return shown, " ".join(filter(None, [left, note]))


def _heaviest(terms: Terms, most: int | None) -> tuple[Terms, str]:
    """Return the first terms, and what is to be said of the others."""
    others = [] if most is None else terms.terms[most:]
    if not others:
        return terms, ""
    added = sum_of(term.amount for term in others)
    return replace(terms, terms=terms.terms[:most]), f"{len(others)} more questions add up to {added:f} at most."


def _outputs(model: Any) -> list[Terms] | TermTable:
    """Return what is written of a model: one equation, one table of classes or, with slopes, an equation per class."""
    network = as_told(network_of(model, plain=False))
    if network.link == "softmax":
        return as_table(network) if not network.linear else list(map(as_terms, outputs_of(network)))
    return [as_terms(network)]


def _written(terms: Terms, style: Text, units: Mapping[str, str] | None, note: str) -> str:
    """Write the equation of one output."""
    base, *amounts = map(style.number, aligned([terms.start, *(term.amount for term in terms.terms)]))
    conditions = [style.asked(describe(term.condition, terms, style, units)) for term in terms.terms]
    lines = [("+", amount, condition) for amount, condition in zip(amounts, conditions, strict=True)]
    for term, weight in terms.linear_terms:
        sign, slope = style.number("-") if weight < 0 else "+", whole(abs(weight))
        lines.append((sign, style.number(slope), style.scaled(style.name(terms.names[term.column]), *ends(term))))
    unit = (units or {}).get(terms.target) or terms.schema.target_unit
    names = terms.hidden_names
    return style.whole(
        Written(
            target=style.name(terms.target) + (style.words(f" ({quote_category(unit)})") if unit else ""),
            base=base,
            lines=lines,
            hidden=[
                (style.name(names[each.layer, each.neuron]), describe(each, terms, style, units))
                for layer in terms.hidden
                for each in layer
            ],
            notes=[*remarks(terms, style, units), *map(style.words, filter(None, [_chance(terms), note]))],
        )
    )


def _chance(terms: Terms) -> str:
    """Say how a probability follows from log-odds; nothing for numbers."""
    if terms.link != "logistic":
        return ""
    return "The probability is 1 / (1 + exp(-log-odds)): 50 % at log-odds of 0, 73 % at 1, 88 % at 2, 95 % at 3."


# -- Questions by classes: the equation of a network of several classes, each question written once.

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
