"""Numbers as people read them: those of a model whole, measured ones rounded."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from bgn.model.numbers import EXACT, written

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
    """Write numbers with all their digits, and as many decimals each.

    Examples
    --------
    >>> aligned([Decimal(1), Decimal("1.27"), Decimal("0.3")])
    ['1.00', '1.27', '0.30']
    """
    texts = [whole(value) for value in values]
    most = places(texts)
    return texts if most is None else [_filled(text, most) for text in texts]


def places(texts: Iterable[str]) -> int | None:
    """Return the most decimals among written numbers; None where they are many, or there are powers of ten."""
    texts = list(texts)
    most = max((len(text.partition(".")[2]) for text in texts), default=0)
    return None if most > _MOST_PLACES or any("e" in text for text in texts) else most


def _filled(text: str, decimals: int) -> str:
    before, _, after = text.partition(".")
    return f"{before}.{after:0<{decimals}}" if decimals else before


def number(value: float, digits: int) -> str:
    """Write a measured number: whole when it is short, otherwise with `digits` significant digits.

    Digits before the point are never dropped, and halves and numbers up to two digits longer than asked are written
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


def amounts(values: list[float], scale: list[float], digits: int) -> list[str]:
    """Write values alike, so that the largest of `scale` has `digits` digits and the smallest at least one."""
    sizes = [math.floor(math.log10(abs(value))) for value in scale if value and math.isfinite(value)] or [0]
    if not -6 < max(sizes) < 9:
        return [f"{value:.{digits - 1}e}" for value in values]
    places = min(max(digits - 1 - max(sizes), -min(sizes), 0), 12)
    nothing = f"{-0.0:.{places}f}"
    written = [f"{value:.{places}f}" for value in values]
    return [text[1:] if text == nothing else text for text in written]


def plain(value: Decimal) -> str:
    """Write a decimal with all its digits."""
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
