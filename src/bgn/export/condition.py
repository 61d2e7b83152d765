"""The wording of a condition, decided once for every format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from bgn.export.numbers import number
from bgn.export.text import Text
from bgn.model.schema import Column, level_word
from bgn.model.terms import Condition, Terms
from bgn.printable import clean


def describe(
    condition: Condition,
    terms: Terms,
    style: Text | None = None,
    digits: int = 3,
    units: Mapping[str, str] | None = None,
) -> str:
    """Write a condition of `terms` in words and numbers; `units`, by name, go before those of the schema.

    Examples
    --------
    >>> from bgn import Layer, Network, as_terms
    >>> from bgn.model.schema import Column, Schema
    >>> schema = Schema((Column("winter", level_of=("season", "winter")),))
    >>> terms = as_terms(Network([Layer([[1.0], [-1.0]], [-0.5, 0.5])], [1.0, 1.0], 0.0, schema=schema))
    >>> [describe(term.condition, terms) for term in terms.terms]
    ['season = winter', 'season is not winter']
    """
    style = Text() if style is None else style
    if not condition.columns:
        return style.words("always" if condition.holds(np.zeros((1, 1)))[0] else "never")
    written = _logic(condition, terms, style) if condition.layer else _levels(condition, terms, style)
    if written is None:
        written = f"{_sum(condition, terms, style, digits)} {style.relations[condition.relation]} "
        unit = _unit(condition, terms, units)
        written += style.number(number(condition.threshold, digits)) + (style.words(unit) if unit else "")
    if condition.missing and written != style.words("always"):
        gaps = " or ".join(style.name(terms.names[column]) for column in condition.columns)
        written += f"{style.words(' or ') if written else ''}{gaps}{style.words(' is missing')}"
    return written


def _unit(condition: Condition, terms: Terms, units: Mapping[str, str] | None) -> str:
    """Return the unit of a question's threshold as it stands after the number: 1000 USD is multiplied."""
    if condition.layer or condition.leading is None:
        return ""
    column = terms.schema.columns[condition.leading]
    unit = (units or {}).get(column.name) or column.unit
    if not unit:
        return ""
    unit = clean(unit)
    return f" \N{MULTIPLICATION SIGN} {unit}" if unit[0].isdigit() else f" {unit}"


def _sum(condition: Condition, terms: Terms, style: Text, digits: int) -> str:
    """Write what is compared with the threshold."""
    parts, minus = "", style.number("-")
    for name, coefficient in _summands(condition, terms):
        written = style.name(name)
        if abs(coefficient) != 1.0:
            written = style.product(style.number(number(abs(coefficient), digits)), written)
        sign = minus if coefficient < 0 else "+"
        parts += f" {sign} {written}" if parts else (minus if coefficient < 0 else "") + written
    return parts or style.number("0")


def _summands(condition: Condition, terms: Terms) -> Iterator[tuple[str, float]]:
    """Yield what a question adds up, with its coefficients: columns, levels of categories, answers from below."""
    for j, coefficient in zip(condition.columns, condition.coefficients, strict=True):
        if condition.layer:
            name = terms.hidden_names[condition.layer - 1, j]
        else:
            column = terms.schema.columns[j]
            name = column.name if column.level_of is None else "({} = {})".format(*_level_of(column))
        if not isinstance(coefficient, tuple):
            yield name, coefficient
        else:
            words = map(level_word, terms.schema.columns[j].levels or ())
            yield from ((f"({name} = {word})", value) for word, value in zip(words, coefficient, strict=True) if value)


def _level_of(column: Column) -> tuple[str, str]:
    assert column.level_of is not None
    return column.level_of[0], level_word(column.level_of[1])


def _levels(condition: Condition, terms: Terms, style: Text) -> str | None:
    """Write a question about one category by its levels; None where it is about something else.

    Empty where only a gap is answered yes.
    """
    j, *others = condition.columns
    column = terms.schema.columns[j]
    if others or (column.levels is None and column.level_of is None):
        return None
    codes = np.zeros((2 if column.levels is None else len(column.levels), j + 1))
    codes[:, j] = np.arange(len(codes))
    yes = condition.holds(codes).tolist()
    if column.levels is None:
        (title, word), negated = _level_of(column), yes[0]
        if yes[0] == yes[1]:
            return None
        chosen = [word]
    else:
        # "Not in" is shorter, but would take in a gap.
        title, negated = column.name, all(yes) or (2 * sum(yes) > len(yes) and condition.missing is not False)
        chosen = [level_word(level) for level, one in zip(column.levels, yes, strict=True) if one is not negated]
    if not chosen:
        if condition.missing is (not negated):
            return f"{style.name(title)}{style.words(' is not missing')}" if negated else ""
        return style.words("always" if negated else "never")
    if len(chosen) == 1:
        return f"{style.name(title)}{style.words(' is not ' if negated else ' = ')}{style.name(chosen[0])}"
    among = style.words(", ").join(map(style.name, chosen))
    return f"{style.name(title)}{style.words(' not in {' if negated else ' in {')}{among}{style.words('}')}"


def _logic(condition: Condition, terms: Terms, style: Text) -> str | None:
    """Write a condition on one or two answers of the layer below with and, or, not; None when it reads more."""
    names = [style.name(name) for name, _ in _summands(condition, terms)]
    if len(names) > 2:
        return None
    table = np.zeros((2 ** len(names), max(condition.columns) + 1))
    table[:, list(condition.columns)] = list(product((0.0, 1.0), repeat=len(names)))
    yes = [tuple(row) for row in table[condition.holds(table)][:, list(condition.columns)]]
    if len(yes) in (0, len(table)):
        return style.words("always" if yes else "never")
    fixed = {i: values.pop() for i in range(len(names)) if len(values := {row[i] for row in yes}) == 1}
    if fixed and len(yes) == 2 ** (len(names) - len(fixed)):
        literals, glue = fixed, " and "
    else:
        # Three of four rows: everything but the one row that says no.
        no = next(row for row in product((0.0, 1.0), repeat=2) if row not in yes)
        literals, glue = {i: 1.0 - value for i, value in enumerate(no)}, " or "
    written = [names[i] if value else style.words("not ") + names[i] for i, value in literals.items()]
    return style.words(glue).join(written)
