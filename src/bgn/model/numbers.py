"""Short decimals: what people read, and what networks store.

A float is taken for the decimal that ``repr`` writes, the shortest that comes back to it. Comparing two floats and
comparing what is written is then the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import reduce

import numpy as np

from bgn.model.step import Floats

# Every float, and every sum and product of some of them, is exact in so many digits.
EXACT = Context(prec=1600, Emax=10_000, Emin=-10_000)
_MOST_WHOLE = 1 << 53  # below it every whole number is a float
_MOST_DECIMALS = 22  # ten to this power is a float


def written(value: float) -> Decimal:
    """The decimal that a float is written as."""
    return Decimal(repr(float(value)))


def shortest(low: float, high: float) -> float:
    """The decimal of the fewest decimals above `low` and up to `high`; of several the one nearest to the middle.

    Examples
    --------
    >>> shortest(3.0, 4.0), shortest(64.97, 65.52), shortest(-118.264, -118.258)
    (4.0, 65.0, -118.26)
    """
    if not low < high:
        raise ValueError(f"low must be below high; got {low} and {high}.")
    return next(between(low, high))


def between(low: float, high: float) -> Iterator[float]:
    """Decimals above `low` and up to `high`, the shortest first; of equally short ones the few next to the middle."""
    if low < 0.0 <= high:
        yield 0.0
    if math.isinf(low) or math.isinf(high):
        yield float(high if math.isinf(low) else low + max(1.0, abs(low)))
        return
    first, end = written(low), written(high)
    middle = EXACT.divide(EXACT.add(first, end), Decimal(2))
    for power in range(max(first.adjusted(), end.adjusted()) + 1, -400, -1):
        unit = Decimal(1).scaleb(power, EXACT)
        last = EXACT.multiply(_whole(end, unit, ROUND_FLOOR), unit)
        if last <= first:
            continue
        nearest = EXACT.multiply(_whole(middle, unit, ROUND_HALF_EVEN), unit)
        candidates = (EXACT.add(nearest, unit * k) for k in (0, 1, -1, 2, -2))
        for decimal in dict.fromkeys((*candidates, last)):
            if first < decimal <= end and low < float(decimal) <= high:
                yield float(decimal)
    yield high


def asks_as_written(threshold: float, shift: float) -> bool:
    """Return whether ``x + shift >= threshold``, in floats, holds from the written difference of the two on.

    A float sum may round across the threshold where the exact one does not.

    Examples
    --------
    >>> asks_as_written(0.8445, 0.609), asks_as_written(0.844, 0.609)
    (True, False)
    """
    first = float(EXACT.subtract(written(threshold), written(shift)))
    return first + shift >= threshold > math.nextafter(first, -math.inf) + shift


def multiples(low: float, high: float, digits: int, further: int = 0) -> list[float]:
    """Decimals of at most so many digits next to the interval from `low` to `high`, the shortest first.

    Of the longest there are so many `further` ones on either side.

    Examples
    --------
    >>> multiples(-69.58782, -69.58779, 4)
    [-100.0, 0.0, -70.0, -60.0, -70.0, -69.0, -69.6, -69.5, -69.59, -69.58]
    """
    end, decimals = written(high), list[Decimal]()
    first = max(written(low).adjusted(), end.adjusted()) + 1
    for power in range(first, first - digits - 1, -1):
        unit = Decimal(1).scaleb(power, EXACT)
        last = EXACT.multiply(_whole(end, unit, ROUND_FLOOR), unit)
        decimals += [last, EXACT.add(last, unit)]
    decimals += [EXACT.add(last, unit * k) for step in range(1, further + 1) for k in (-step, 1 + step)]
    return [float(value) + 0.0 for value in decimals if math.isfinite(float(value))]


def sum_of(values: Iterable[Decimal]) -> Decimal:
    """The exact sum."""
    return reduce(EXACT.add, values, Decimal(0))


def _whole(value: Decimal, unit: Decimal, rounding: str) -> Decimal:
    return EXACT.divide(value, unit).to_integral_value(rounding, EXACT)


def rounded(value: float, power: int) -> float:
    """The multiple of ``10**power`` nearest to a float."""
    unit = Decimal(1).scaleb(power, EXACT)
    return float(EXACT.multiply(_whole(Decimal(value), unit, ROUND_HALF_EVEN), unit))


def whole_numbers(values: Iterable[float]) -> tuple[Floats, float] | None:
    """The values as whole numbers over one power of ten, where all their sums are floats; None where they are not.

    Sums of them do not depend on their order, and one division makes the nearest float of what they write.
    """
    decimals = [written(value) for value in values]
    if not all(decimal.is_finite() for decimal in decimals):
        return None
    places = max([0, *(-int(decimal.normalize(EXACT).as_tuple().exponent) for decimal in decimals)])
    if places > _MOST_DECIMALS:
        return None
    whole = [int(decimal.scaleb(places, EXACT)) for decimal in decimals]
    if sum(map(abs, whole)) >= _MOST_WHOLE:
        return None
    return np.array(whole, np.float64), float(10**places)
