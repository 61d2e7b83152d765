"""Sums of columns in coefficients that people can say."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bgn.model.decimals import written
from bgn.model.neuron import Projection

_CRUDE = 0.05  # share by which rounding may change a coefficient, where another way of saying it is shorter


def sayable(line: Projection, digits: int, reach: Mapping[int, float]) -> tuple[Projection, float]:
    """The sum in coefficients of a few digits and at most one decimal more, and its size beside the one given.

    `reach` is the size of the numbers of every column in it. The column with coefficient 1 leads. Where so few
    decimals change another coefficient much, another column leads in whose units all of them are short, unless its
    sums had more digits than thresholds should, and than its own numbers have. Where none can lead, small
    coefficients are rounded all the same, and those that vanish left out.

    Examples
    --------
    >>> from bgn.model.neuron import Projection
    >>> longitude_and_households = Projection((0, 1), (1.0, -0.000144))
    >>> sayable(longitude_and_households, 3, {0: 124.0, 1: 6000.0})[0].coefficients
    (1.0, -0.0001)
    >>> sayable(longitude_and_households, 3, {0: 10.0, 1: 6000.0})[0].coefficients
    (6940.0, -1.0)
    """
    columns, factors = line.columns, line.factors
    first = max(range(len(factors)), key=lambda k: (abs(factors[k]) == 1.0, abs(factors[k])))
    others = sorted((k for k in range(len(factors)) if k != first), key=lambda k: -abs(factors[k]))
    for lead in (first, *others):
        scale = 1.0 / abs(factors[lead])
        short = [_short(factor * scale, digits) for factor in factors]
        changed = any(abs(a - b * scale) > _CRUDE * abs(b * scale) for a, b in zip(short, factors, strict=True))
        size = sum(abs(factor) * reach[j] for factor, j in zip(short, columns, strict=True))
        if not changed and (lead == first or _places(size) <= max(digits + 2, _places(reach[columns[lead]]))):
            return Projection(columns, tuple(short)), scale
    scale = 1.0 / abs(factors[first])
    rounded = [(j, _short(factor * scale, digits)) for j, factor in zip(columns, factors, strict=True)]
    kept = [each for each in rounded if each[1]]
    return Projection(tuple(j for j, _ in kept), tuple(factor for _, factor in kept)), scale


def _short(factor: float, digits: int) -> float:
    """A coefficient of a few digits and at most one decimal more."""
    short = float(f"%.{digits}g" % factor)
    return short if abs(short) >= 1.0 else float(f"%.{digits + 1}f" % short)


def _places(size: float) -> float:
    """Digits before the point."""
    return written(size).adjusted() + 1 if math.isfinite(size) else math.inf
