"""Fewer digits than a model has, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from bgn.export.numbers import amounts, whole
from bgn.model.numbers import EXACT
from bgn.model.readings import Condition, Term, Terms, read
from bgn.text import count_of


def check_digits(digits: Any) -> None:
    """Refuse what is no number of digits."""
    if digits is None or (isinstance(digits, int) and not isinstance(digits, bool) and 1 <= digits <= 17):
        return
    raise ValueError(f"digits must be a whole number from 1 to 17, or None to write numbers whole; got {digits!r}.")


def rounded(terms: Terms, digits: int) -> Terms:
    """Return the terms with numbers of so many significant digits; digits before the point are never dropped."""
    values = [terms.start, *(term.amount for term in terms.terms)]
    scale = [float(value) for value in values[1:] or values]
    start, *sizes = map(Decimal, amounts([float(value) for value in values], scale, digits))
    return replace(
        terms,
        start=start,
        terms=tuple(
            Term(size, _shorter(term.condition, terms, digits)) for size, term in zip(sizes, terms.terms, strict=True)
        ),
        hidden=tuple(tuple(_shorter(each, terms, digits) for each in layer) for layer in terms.hidden),
        linear_terms=tuple((term, _near(weight, digits)) for term, weight in terms.linear_terms),
    )


def _shorter(condition: Condition, terms: Terms, digits: int) -> Condition:
    """Return a question with shorter numbers."""
    coefficients = tuple(
        tuple(_near(value, digits) for value in each) if isinstance(each, tuple) else _near(each, digits)
        for each in condition.coefficients
    )
    threshold = _near(condition.threshold, digits)
    gaps = None if condition.missing_as is None else tuple(_near(gap, digits) for gap in condition.missing_as)
    shorter = replace(condition, coefficients=coefficients, threshold=threshold, missing_as=gaps)
    return read(shorter, terms.schema, terms.complete)


def _near(value: float, digits: int) -> float:
    short = float(f"{value:.{digits - 1}e}")
    return short if abs(value) < 10.0**digits else float(f"{value:.0f}")


def loss(terms: Terms, shorter: Terms, digits: int, rows: Any = None) -> str:
    """Say that numbers are rounded and how far predictions may be off; nothing where they are not."""
    if shorter == terms:
        return ""
    said = f"Rounded to {digits} digit{'s' * (digits > 1)}: "
    if rows is not None:
        apart = np.abs(shorter.evaluate(rows) - terms.evaluate(rows))
        apart_most = _up(float(apart.max(initial=0.0)))
        return f"{said}predictions differ by up to {apart_most} on {count_of(len(apart), 'row')}."
    pairs = zip((terms.start, *(term.amount for term in terms.terms)),
                (shorter.start, *(term.amount for term in shorter.terms)), strict=True)  # fmt: skip
    most = Decimal(0)
    for before, after in pairs:
        most = EXACT.add(most, EXACT.abs(EXACT.subtract(before, after)))
    slopes = ", slopes aside" if shorter.linear_terms != terms.linear_terms else ""
    return (
        f"{said}sums differ by up to {_up(float(most))}{slopes}, and rows near a threshold may be answered otherwise."
    )


def _up(value: float) -> str:
    """Write a difference with two digits, never too small."""
    short = float(f"{value:.1e}")
    if short < value:
        short = float(f"{value + 10.0 ** (np.floor(np.log10(value)) - 1):.1e}")
    return whole(short)
