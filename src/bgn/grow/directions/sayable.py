"""Directions in coefficients that people can say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bgn.grow.directions.lasso import direction_of
from bgn.model.decimals import written
from bgn.model.neuron import Projection

_CRUDE = 0.05  # share by which rounding may change a coefficient, where another way of saying it is shorter


def sayable(direction: Projection, digits: int, middle: Sequence[float], reach: Sequence[float]) -> Projection:
    """The direction with coefficients of a few digits and at most one decimal more; `reach` is the size of each column.

    The first column with coefficient 1 leads. Where such decimals would change another coefficient much, another column
    leads in whose units all of them are short, unless its sums had more digits than thresholds should, and than its own
    numbers have. Where none can lead, small coefficients are rounded all the same, and those that vanish left out.

    Examples
    --------
    >>> from bgn.model.neuron import Projection
    >>> longitude_and_households = Projection((0, 1), (1.0, -0.000144))
    >>> sayable(longitude_and_households, 3, [119.0, 400.0], [124.0, 6000.0]).coefficients
    (1.0, -0.0001)
    >>> sayable(longitude_and_households, 3, [5.0, 400.0], [10.0, 6000.0]).coefficients
    (-6940.0, 1.0)
    """
    columns, factors = direction.columns, direction.factors
    if len(columns) == 1:
        return direction
    first = factors.index(1.0) if 1.0 in factors else max(range(len(factors)), key=lambda k: abs(factors[k]))
    others = sorted((k for k in range(len(factors)) if k != first), key=lambda k: -abs(factors[k]))
    for lead in (first, *others):
        exact = [factor / factors[lead] for factor in factors]
        short = [_short(factor, digits) for factor in exact]
        changed = any(abs(a - b) > _CRUDE * abs(b) for a, b in zip(short, exact, strict=True))
        size = sum(abs(factor) * middle[j] for factor, j in zip(short, columns, strict=True))
        if not changed and (lead == first or _places(size) <= max(digits + 2, _places(reach[columns[lead]]))):
            return direction_of(columns, short)
    return direction_of(columns, [_short(factor / factors[first], digits) for factor in factors])


def _short(factor: float, digits: int) -> float:
    """A coefficient of a few digits and at most one decimal more."""
    short = float(f"%.{digits}g" % factor)
    return short if abs(short) >= 1.0 else float(f"%.{digits + 1}f" % short)


def _places(size: float) -> float:
    """Digits before the point."""
    return written(size).adjusted() + 1 if math.isfinite(size) else math.inf
