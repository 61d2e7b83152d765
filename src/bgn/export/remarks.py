"""What is said once, below an equation, of all its questions: bounds, what gaps count as, and the order of levels."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bgn.export.condition import counting, ordered_edge
from bgn.export.numbers import whole
from bgn.export.text import Text
from bgn.model.linear_term import LinearTerm
from bgn.model.question import Condition, named_choices, named_columns
from bgn.model.schema import level_word
from bgn.model.terms import Terms


def remarks(terms: Terms, style: Text | None = None, units: Mapping[str, str] | None = None) -> list[str]:
    """Return the sentences without which the questions of an equation could not be answered on every row.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.model.neuron import Neuron, Projection
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("age"), Column("grade", levels=("low", "fair", "high"), ordered=True)))
    >>> asked = [Neuron(Projection((0, 1), (1.0, (0.0, 5.0, 5.0)), gaps=(38.5, 0.0)), 40.0)]
    >>> asked += [Neuron(Projection((1,), ((0.0, 1.0, 2.0),)), 1.0, missing=True)]
    >>> terms = as_terms(Network([Layer.of(asked, 2)], [1.0, 2.0], 0.0, schema=schema))
    >>> for each in remarks(terms):
    ...     print(each)
    In questions about several columns, a missing age counts as 38.5.
    grade: low < fair < high.
    A level never seen counts as missing.
    """
    style = style or Text()
    said = [within] if (within := bounds(terms, style)) else []
    if terms.counted_as:
        told = counting(terms.counted_as.items(), terms, style, units or {})
        said.append(style.words("In questions about several columns, ") + told + style.words("."))
    if any(term.clipped for term in terms.linear_terms):
        said.append(style.words("A value beyond the ends in brackets counts as the nearer end."))
    lacking = [term for term in terms.linear_terms if term.column not in terms.complete or terms.may_lack(term.column)]
    lines = {term.column: term.gap for term in lacking}
    if known := [(column, gap) for column, gap in lines.items() if not math.isnan(gap)]:
        words = counting(known, terms, style, units or {})
        said.append(style.words("In what is added per unit, ") + words + style.words("."))
    gaps, ordered = False, {}
    for condition in (each for each in terms.conditions if each.layer == 0):
        gaps |= _tells_gaps(condition, terms)
        for choice in named_choices(condition):
            if ordered_edge(terms.schema.columns[choice.column], choice) is not None:
                ordered[choice.column] = terms.schema.columns[choice.column]
    for _, column in sorted(ordered.items()):
        levels = f" {style.relations['<']} ".join(style.category(level_word(level)) for level in column.levels or ())
        said.append(f"{style.name(column.name)}{style.words(': ')}{levels}{style.words('.')}")
    return [*said, style.words("A level never seen counts as missing.")] if gaps else said


def bounds(terms: Terms, style: Text | None = None) -> str:
    """Say what sums beyond the bounds count as; nothing where there are no bounds.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.export.remarks import bounds
    >>> bounds(as_terms(Network([Layer([[1.0]], [-2.0])], [1.0], 0.5, bounds=(0, 1.2))))
    'A sum below 0 counts as 0, one above 1.2 as 1.2.'
    """
    style, (low, high) = style or Text(), terms.bounds or (-math.inf, math.inf)
    below, above = (style.number(whole(each)) if math.isfinite(each) else "" for each in (low, high))
    if below and above:
        more = [style.words(", one above "), above, style.words(" as "), above, style.words(".")]
        return "".join([style.words("A sum below "), below, style.words(" counts as "), below, *more])
    side, end = ("below", below) if below else ("above", above)
    return "".join([style.words(f"A sum {side} "), end, style.words(" counts as "), end, style.words(".")]) * bool(end)


def ends(term: LinearTerm) -> tuple[str, str]:
    """Write the ends of a linear term, nothing where there is none."""
    low, high = ("" if math.isinf(each) else whole(each) for each in (term.low, term.high))
    return low, high


def _tells_gaps(condition: Condition, terms: Terms) -> bool:
    """Tell whether a question may name the gap of a category."""
    several = condition.missing is not None and len(condition.columns) > 1  # then the gaps of all are named
    named = set(condition.columns) if several else named_columns(condition)
    columns = {j: terms.schema.columns[j].levels for j in named - terms.complete}
    columns = {j: levels for j, levels in columns.items() if levels not in (None, (False, True))}
    if not condition.takes_gaps or not columns:
        return False
    if condition.reading is None or several:
        return True
    told = [choice for choice in named_choices(condition) if choice.column in columns]
    return any(choice.missing or 2 * len(choice.values) > len(columns[choice.column] or ()) for choice in told)
