"""Numbers as people read them: those of a model whole or with fewer digits, measured ones rounded, shares in percent.

Fewer digits of a model are its terms with shorter numbers (:func:`round_terms`), and what that costs
(:func:`rounding_note`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from bgn.model.numbers import EXACT, sum_of, written
from bgn.model.readings import ReadCondition, Terms, read
from bgn.text import count_of

_MOST_PLACES = 12  # decimals that are filled up with zeros


def whole(value: float | Decimal) -> str:
    """Write a number with all its digits, so that ``float`` and ``Decimal`` read it back.

    Examples
    --------
    >>> [whole(value) for value in (65.5, 622.0, 0.1 + 0.2, -0.0, 7e-5, 1e300, 5e-324, Decimal("1.270"))]
    ['65.5', '622', '0.30000000000000004', '0', '0.00007', '1e+300', '5e-324', '1.27']
    """
    exact = (value if isinstance(value, Decimal) else written(value)).normalize(EXACT)
    if not exact:
        return "0"
    return f"{exact:f}" if -8 < exact.adjusted() < 16 else f"{exact:e}"


def aligned(values: Iterable[Decimal]) -> list[str]:
    """Write numbers with all their digits, and the same number of decimals.

    Examples
    --------
    >>> aligned([Decimal(1), Decimal("1.27"), Decimal("0.3")])
    ['1.00', '1.27', '0.30']
    """
    texts = [whole(value) for value in values]
    most = places(texts)
    if not most:
        return texts
    parts = [text.partition(".") for text in texts]
    return [f"{before}.{after:0<{most}}" for before, _, after in parts]


def places(texts: Iterable[str]) -> int | None:
    """Return the most decimals among written numbers; None where they are many, or there are powers of ten."""
    texts = list(texts)
    most = max((len(text.partition(".")[2]) for text in texts), default=0)
    return None if most > _MOST_PLACES or any("e" in text for text in texts) else most


def number(value: float, digits: int) -> str:
    """Write a measured number: whole when it is short, otherwise with `digits` significant digits.

    Digits before the point are never dropped, and halves and numbers up to two digits longer than `digits` are written
    whole, so that a cut between two integers (1996.5) is not rounded on to one of them.

    Examples
    --------
    >>> [number(value, 3) for value in (65.5, 1000000.5, 0.123456, 123456.789, 6.02214e23, 622.0)]
    ['65.5', '1000000.5', '0.123', '123457', '6.02e+23', '622']
    """
    if not math.isfinite(value):
        return str(value)
    shortest = np.format_float_positional(abs(value), trim="-")
    length = len(shortest.replace(".", "").strip("0"))
    size = math.floor(math.log10(abs(value))) if value else 0
    if not -8 < size < 9:
        return f"{value:.{digits - 1}e}"
    if length <= digits + 2 or float(2 * value).is_integer():
        return ("-" if value < 0 else "") + shortest
    return f"{value:.{max(digits - 1 - size, 0)}f}"


def alike(values: list[float], scale: list[float], digits: int) -> list[str]:
    """Write values alike, so that the largest of `scale` has `digits` digits and the smallest at least one."""
    sizes = [math.floor(math.log10(abs(value))) for value in scale if value and math.isfinite(value)] or [0]
    if not -6 < max(sizes) < 9:
        return [f"{value:.{digits - 1}e}" for value in values]
    decimals = min(max(digits - 1 - max(sizes), -min(sizes), 0), 12)
    nothing = f"{-0.0:.{decimals}f}"
    texts = [f"{value:.{decimals}f}" for value in values]
    return [text[1:] if text == nothing else text for text in texts]


def plain(value: Decimal) -> str:
    """Write a decimal with all its digits, zeros at its end included."""
    return f"{value:f}" if -7 < value.adjusted() < 16 else f"{value.normalize(EXACT):e}"


def percent(probability: float) -> str:
    """Write a probability with one decimal of a percent; what is next to 0 or 1 is not written as either.

    Examples
    --------
    >>> percent(0.1234), percent(0.0), percent(1e-9), percent(0.99999)
    ('12.3 %', '0 %', 'below 0.1 %', 'above 99.9 %')
    """
    if probability in (0.0, 1.0):
        return f"{probability * 100:.0f} %"
    if probability < 0.001:
        return "below 0.1 %"
    return "above 99.9 %" if probability > 0.999 else f"{probability * 100:.1f} %"


def share_of(part: float) -> str:
    """Write a share of a whole; under half a per cent is not nothing."""
    return "<1%" if 0.0 < part < 0.005 else f"{100 * part:.0f}%"


# -- Fewer digits than a model has, and what they cost.


def check_digits(digits: Any) -> None:
    """Refuse what is no number of digits."""
    if digits is None or (isinstance(digits, int) and not isinstance(digits, bool) and 1 <= digits <= 17):
        return
    raise ValueError(f"digits must be a whole number from 1 to 17, or None to write numbers whole; got {digits!r}.")


def round_terms(terms: Terms, digits: int) -> Terms:
    """Return the terms with numbers of fewer significant digits; digits before the point are never dropped."""
    values = [float(value) for value in (*terms.intercept, *(value for term in terms.rules for value in term.coef))]
    scale = [value for value in values[len(terms.intercept) :] if value] or values
    short = iter(map(Decimal, alike(values, scale, digits)))
    intercept = tuple(next(short) for _ in terms.intercept)
    rounded = []
    for term in terms.terms:
        if term.linear is not None:
            coef = tuple(written(_near(float(value), digits)) for value in term.coef)
        else:
            coef = tuple(next(short) for _ in term.coef)
        conditions = tuple(_shorten(condition, terms, digits) for condition in term.conditions)
        rounded.append(replace(term, coef=coef, conditions=conditions))
    hidden = tuple(tuple(_shorten(condition, terms, digits) for condition in layer) for layer in terms.hidden)
    return replace(terms, intercept=intercept, terms=tuple(rounded), hidden=hidden)


def _shorten(condition: ReadCondition, terms: Terms, digits: int) -> ReadCondition:
    """Return a condition with shorter numbers."""
    coefficients = tuple(
        tuple(_near(value, digits) for value in coefficient) if isinstance(coefficient, tuple)
        else _near(coefficient, digits)
        for coefficient in condition.coefficients
    )  # fmt: skip
    missing_as = condition.missing_as
    missing_as = None if missing_as is None else tuple(_near(number, digits) for number in missing_as)
    threshold = _near(condition.threshold, digits)
    shorter = replace(condition, coefficients=coefficients, threshold=threshold, missing_as=missing_as)
    return read(shorter, terms.schema, terms.complete)


def _near(value: float, digits: int) -> float:
    short = float(f"{value:.{digits - 1}e}")
    return short if abs(value) < 10.0**digits else float(f"{value:.0f}")


def rounding_note(terms: Terms, shorter: Terms, digits: int, rows: Any = None) -> str:
    """Say that numbers are rounded and how far predictions may be off; nothing where they are not."""
    if shorter == terms:
        return ""
    rounded, several = f"Rounded to {digits} digit{'s' * (digits > 1)}: ", len(terms.intercept) > 1
    if rows is not None:
        differences = np.abs(shorter.evaluate(rows) - terms.evaluate(rows))
        what, most = "scores" if several else "predictions", float(differences.max(initial=0.0))
        return f"{rounded}{what} differ by up to {_round_up(most)} on {count_of(len(differences), 'row')}."
    if several:
        return f"{rounded}rows near a threshold may be answered otherwise."

    def numbers(some: Terms) -> list[Decimal]:
        return [some.intercept[0], *(term.coef[0] for term in some.rules)]

    pairs = zip(numbers(terms), numbers(shorter), strict=True)
    most = float(sum_of(EXACT.abs(EXACT.subtract(before, after)) for before, after in pairs))
    linear = ", linear terms aside" if shorter.linear != terms.linear else ""
    return (
        f"{rounded}sums differ by up to {_round_up(most)}{linear}, and rows near a threshold may be answered otherwise."
    )


def _round_up(value: float) -> str:
    """Write a difference with two digits, never too small."""
    short = float(f"{value:.1e}")
    if short < value:
        short = float(f"{value + 10.0 ** (np.floor(np.log10(value)) - 1):.1e}")
    return whole(short)
