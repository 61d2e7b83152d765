"""From what growth finds to numbers that people can say: short thresholds, and short amounts for the answers.

Growth itself goes on with the numbers it found, so a network with short numbers has the rules of one without.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from bgn.engines.coding import Coding
from bgn.engines.kernels.cuts import gain
from bgn.engines.protocol import NO_OUTPUT, Cut, CutRequest, Floats, Integers, LinearTerm, Output
from bgn.engines.reduce import Engine
from bgn.model.numbers import EXACT, asks_as_written, between, multiples, rounded, sum_of, written
from bgn.model.term import Oblique, Projection

_MORE_FOR_THRESHOLDS = 2  # digits that a threshold may have beyond those of coefficients and amounts
_MOST_MORE = 8  # where no shorter one will do
_TRIED = 30  # thresholds between two projections
_AT_A_TIME = 2  # thresholds nearby: the shortest are mostly good enough
# A shorter threshold may cost a cut the first share of its gain, and answer the second of the rows otherwise; more
# where it would have many digits without.
_COSTS, _COSTS_MORE = (0.02, 0.002), (0.1, 0.02)
_MOST_MADE_UP = 100  # weights: to make up for the rounding of each takes as many squared operations
_FURTHER = 4  # multiples on either side of a cut, which rows may lie on
_FAR = 2  # times as many rows of a sample are beyond doubt too many
_ROUNDINGS = 8 * float(np.finfo(float).eps)  # of a sum of products, as a share of its largest value


@dataclass(frozen=True)
class Shortener:
    """How short numbers are: `digits` of coefficients, and of amounts as far as the targets' `scale` goes. `coding`
    tells what the columns of the rows are."""

    digits: int
    scale: float
    coding: Coding | None = None

    @property
    def power(self) -> int | None:
        """Amounts are multiples of ten to this power; None where the targets do not differ."""
        return written(self.scale).adjusted() - self.digits + 1 if 0 < self.scale < math.inf else None

    def rule(
        self, rows: Engine, sample: Engine | None, output: Output, cut: Cut, most: float = math.inf
    ) -> tuple[Oblique, bool]:
        """The cut's rule in short numbers, and whether it answers some rows otherwise. Long coefficients are shortened
        where that costs little of the gain, and the sum is cut anew. A threshold between the cut's neighbours answers
        no row otherwise. Where that takes many digits, the shortest is taken among the cuts nearby that gain nearly as
        much; a sample of the rows tells which are far away. No more weight of rows than `most` may be answered
        otherwise."""
        said = self._said(rows, output, cut, most)
        anew, cut = said is not None, said or cut
        threshold, tolerance, first = self._between(rows, cut)
        line = self._numbers(cut.rule.projection)
        reach, few = _reach(rows, line), self.digits + _MORE_FOR_THRESHOLDS
        if not first and (moved := _moved(rows, output, cut)) is not None:
            other, other_tolerance, _ = self._between(rows, moved)
            as_written = [_as_written(rows, line, threshold, self._ordered),
                    _as_written(rows, moved.rule.projection, other, self._ordered)]  # fmt: skip
            if as_written[1] and (not as_written[0] or _length(other, reach) < _length(threshold, reach)):
                anew, cut, threshold, tolerance, line = True, moved, other, other_tolerance, moved.rule.projection
        if _length(threshold, reach) <= few:
            return replace(cut.rule, threshold=threshold), anew
        stages = (few, 0, _COSTS), (few, _FURTHER, _COSTS_MORE), (self.digits + _MOST_MORE, 0, _COSTS)
        for digits, further, costs in stages:
            tried = multiples(cut.lower, cut.upper, digits, further)
            if sample is not None and sample is not rows:
                tried = _not_far(sample, cut, tried, costs)
            for nearby in self._nearby(rows, output, cut, tried, tolerance, costs, most):
                if _as_written(rows, line, nearby, self._ordered):
                    return replace(cut.rule, threshold=nearby), True
        return replace(cut.rule, threshold=threshold), anew

    def _said(self, rows: Engine, output: Output, cut: Cut, most: float) -> Cut | None:
        """The cut of nearly the same sum with shorter coefficients; None where they are short, or it gains less."""
        line, seen, old = cut.rule.projection, rows.seen(), cut.rule.threshold
        numbers = (seen[j] != (0.0, 1.0, True) and j not in self._ordered for j in line.columns)
        if self.coding is None or len(line.columns) == 1 or not line.numeric or not all(numbers):
            return None
        said, scale = short_sum(line, self.digits, {j: max(map(abs, seen[j][:2])) for j in line.columns})
        if said == line:
            return None
        now = dict(zip(said.columns, said.factors, strict=True))
        moved = [(now.get(j, 0.0) - scale * c, seen[j]) for j, c in zip(line.columns, line.factors, strict=True)]
        low, high = (scale * old + sum(side(c * reach[0], c * reach[1]) for c, reach in moved) for side in (min, max))
        (shorter,) = rows.cuts([CutRequest(output, said, (low, high))])
        if shorter is None or shorter.gain < (1.0 - _COSTS_MORE[0]) * cut.gain:
            return None
        return shorter if abs(shorter.silent - cut.silent) <= min(_COSTS_MORE[1] * rows.total, most) else None

    def _nearby(
        self, rows: Engine, output: Output, cut: Cut, tried: list[float], tolerance: float, costs: tuple[float, float],
        most: float,
    ) -> Iterator[float]:  # fmt: skip
        """Those of some thresholds that cut nearly as well, in their order; the rows are asked about few at a time."""
        total, enough = cut.fired_sum + cut.silent_sum, (1.0 - costs[0]) * cut.gain
        most_moved = min(costs[1] * rows.total, most)
        different = list(dict.fromkeys(tried))
        for start in range(0, len(different), _AT_A_TIME):
            some = different[start : start + _AT_A_TIME]
            thresholds = np.array(sorted(some))
            below, nearest = rows.split(output, cut.rule.projection, thresholds)
            near = nearest if len(nearest) else np.full(len(thresholds), np.inf)
            good = {
                float(threshold)
                for threshold, (n, s), distance in zip(thresholds, below.tolist(), near.tolist(), strict=True)
                if 0 < n < rows.total and distance > tolerance and abs(n - cut.silent) <= most_moved
                if gain(n, s, rows.total, total) >= enough
            }
            yield from (threshold for threshold in some if threshold in good)

    def _between(self, rows: Engine, cut: Cut) -> tuple[float, float, bool]:
        """The shortest threshold next to a cut that asks floats what it asks decimals, what roundings amount to, and
        whether there is no shorter one that does not."""
        line = self._numbers(cut.rule.projection)
        tolerance = _ROUNDINGS * _reach(rows, line) if len(line.columns) > 1 else 0.0
        if not cut.lower + tolerance < cut.upper - tolerance:
            return cut.rule.threshold, tolerance, False
        tried = [*islice(between(cut.lower + tolerance, cut.upper - tolerance), _TRIED)]
        good = (k for k, threshold in enumerate(tried) if _as_written(rows, line, threshold, self._ordered))
        k = next(good, None)
        return tried[k or 0], tolerance, k == 0

    @cached_property
    def _ordered(self) -> frozenset[int]:
        return frozenset() if self.coding is None else frozenset(np.flatnonzero(self.coding.ordered).tolist())

    def _numbers(self, line: Projection) -> Projection:
        """A projection without the marks of its own column's missing values."""
        if self.coding is None or len(line.columns) != 2 or len({*map(self.coding.owner, line.columns)}) == 2:
            return line
        return Projection(line.columns[:1], line.coefficients[:1])

    def short_outputs(
        self, base: Any, weights: Floats, inverse: Floats | None, more: int, signs: Integers,
        linear: Sequence[LinearTerm] = (), linear_coef: Floats | None = None,
    ) -> tuple[Any, Floats, Floats]:  # fmt: skip
        """Base, output weights and linear coefficients of few digits: what a rule adds, and a line from end to end.
        They have `more` digits than usual. One after the other is rounded, linear terms first. With the `inverse` of
        their products, base first and linear terms last, the others make up for it as far as they can, where they are
        not too many, and as their `signs` let them, 0 for either. Several outputs are rounded each by itself."""
        linear_coef = np.zeros((0, *weights.shape[1:])) if linear_coef is None else linear_coef
        if weights.ndim > 1:
            numbers = zip(base.tolist(), weights.T, linear_coef.T, strict=True)
            some = [
                self.short_outputs(one, weight, inverse, more, signs, linear, coef) for one, weight, coef in numbers
            ]
            bases, *others = zip(*some, strict=True)
            return np.array(bases), *(np.stack(values, axis=1) for values in others)  # type: ignore[return-value]
        if self.power is None:
            return base, weights, linear_coef
        power = self.power - more
        inverse = None if inverse is None or len(weights) > _MOST_MADE_UP else inverse.copy()
        per_unit = np.array([linear_term.per_unit for linear_term in linear])
        center = np.array([linear_term.center for linear_term in linear])
        values = np.concatenate([[base + float((linear_coef * center).sum())], weights, linear_coef / per_unit])
        first = 1 + len(weights)
        short_coef = linear_coef.copy()
        for k in (*range(first, len(values)), *range(1, first)):
            if k >= first:
                linear_term = linear[k - first]
                across = power - written(linear_term.high / 2 - linear_term.low / 2).adjusted()
                coef = 0.0 if signs[k] * values[k] < 0 else values.item(k) * linear_term.per_unit
                short_coef[k - first] = rounded(coef, across)
                short = short_coef.item(k - first) / linear_term.per_unit
            else:
                short = 0.0 if signs[k] * values[k] < 0 else rounded(2 * values.item(k), power) / 2
            if inverse is not None:
                column = inverse[:, k] / inverse[k, k]
                values = values + column * (short - values[k])
                inverse -= np.outer(column, inverse[k])
                inverse[k, k] = 1.0
            values[k] = short
        weights = values[1:first]
        zero = values.item(0) - float((short_coef * center).sum())
        noes = written(rounded(zero - math.fsum(weights.tolist()), power))
        return float(sum_of([noes, *map(written, weights.tolist())])), weights, short_coef


def _moved(rows: Engine, output: Output, cut: Cut) -> Cut | None:
    """The cut of a number beside a column whose categories add what they did, less what the one adds whose threshold is
    nearest to zero; None where these add nothing already, or there is no such cut. A sum then rounds less than the
    number itself has digits for: its thresholds are decimals of few digits."""
    line, threshold = cut.rule.projection, cut.rule.threshold
    place = next((k for k, coefficient in enumerate(line.coefficients) if isinstance(coefficient, tuple)), None)
    if place is None or len(line.columns) != 2 or line.coefficients[1 - place] != 1.0:
        return None
    values: Any = line.coefficients[place]
    by = min(values, key=lambda value: (abs(threshold - value), abs(value)))
    if by == 0.0:
        return None
    coefficients = [*line.coefficients]
    coefficients[place] = tuple(value - by for value in values)
    line, tolerance = replace(line, coefficients=tuple(coefficients)), 2 * _ROUNDINGS * _reach(rows, line)
    (moved,) = rows.cuts([CutRequest(output, line, (cut.lower - by - tolerance, cut.upper - by + tolerance))])
    same = moved is not None and (moved.silent, moved.silent_sum) == (cut.silent, cut.silent_sum)
    return moved if same else None


def _reach(rows: Engine, line: Projection) -> float:
    """A value that no projection exceeds."""
    seen = rows.seen()
    return sum(
        max(map(abs, c)) if isinstance(c, tuple) else abs(c) * max(map(abs, seen[j][:2]))
        for j, c in zip(line.columns, line.coefficients, strict=True)
    )


def _length(threshold: float, reach: float) -> int:
    """Digits of a threshold, from the first that numbers up to `reach` have."""
    last = int(written(threshold).normalize(EXACT).as_tuple().exponent)
    return 0 if threshold == 0 else max(written(reach).adjusted(), written(threshold).adjusted()) - last + 1


def _not_far(sample: Engine, cut: Cut, tried: list[float], costs: tuple[float, float]) -> list[float]:
    """Those of some thresholds that move few rows of a sample."""
    line, thresholds = cut.rule.projection, np.array(sorted({*tried, cut.rule.threshold}))
    below = dict(zip(thresholds.tolist(), sample.split(NO_OUTPUT, line, thresholds)[0][:, 0].tolist(), strict=True))
    most = _FAR * costs[1] * sample.total
    return [threshold for threshold in tried if abs(below[threshold] - below[cut.rule.threshold]) <= most]


def _as_written(rows: Engine, line: Projection, threshold: float, ordered: Collection[int]) -> bool:
    """True unless a number beside a 0/1 column, or a category, is compared otherwise than with its threshold for 1, or
    for a category, as it is written."""
    if len(line.columns) != 2:
        return True
    seen = rows.seen()
    shifts: list[list[float]] = []
    for j, coefficient in zip(line.columns, line.coefficients, strict=True):
        if isinstance(coefficient, tuple):
            shifts.append([*{*coefficient} - {0.0}])
        elif seen[j] == (0.0, 1.0, True) or j in ordered:
            shifts.append([coefficient * code for code in range(1, int(seen[j][1]) + 1)])
        else:
            shifts.append([])
    if (
        all(shifts)
        or not any(shifts)
        or 1.0 not in (c for c, some in zip(line.coefficients, shifts, strict=True) if not some)
    ):
        return True
    return all(asks_as_written(threshold, shift) for shift in shifts[0] or shifts[1])


# -- Sums of columns in coefficients that people can say.

_CRUDE = 0.05  # share by which rounding may change a coefficient, where another way of saying it is shorter


def short_sum(line: Projection, digits: int, reach: Mapping[int, float]) -> tuple[Projection, float]:
    """The sum in coefficients of a few digits and at most one decimal more, and its size beside the one given.

    `reach` is the size of the numbers of every column in it. The column with coefficient 1 leads. Where so few
    decimals change another coefficient much, another column leads in whose units all of them are short, unless its
    sums had more digits than thresholds should, and than its own numbers have. Where none can lead, small
    coefficients are rounded all the same, and those that vanish left out.

    Examples
    --------
    >>> from bgn.model.term import Projection
    >>> longitude_and_households = Projection((0, 1), (1.0, -0.000144))
    >>> short_sum(longitude_and_households, 3, {0: 124.0, 1: 6000.0})[0].coefficients
    (1.0, -0.0001)
    >>> short_sum(longitude_and_households, 3, {0: 10.0, 1: 6000.0})[0].coefficients
    (6940.0, -1.0)
    """
    columns, factors = line.columns, line.factors
    first = max(range(len(factors)), key=lambda k: (abs(factors[k]) == 1.0, abs(factors[k])))
    others = sorted((k for k in range(len(factors)) if k != first), key=lambda k: -abs(factors[k]))
    for leading in (first, *others):
        scale = 1.0 / abs(factors[leading])
        short = [_short(factor * scale, digits) for factor in factors]
        changed = any(abs(a - b * scale) > _CRUDE * abs(b * scale) for a, b in zip(short, factors, strict=True))
        size = sum(abs(factor) * reach[j] for factor, j in zip(short, columns, strict=True))
        if not changed and (leading == first or _places(size) <= max(digits + 2, _places(reach[columns[leading]]))):
            return Projection(columns, tuple(short)), scale
    scale = 1.0 / abs(factors[first])
    rounded = [(j, _short(factor * scale, digits)) for j, factor in zip(columns, factors, strict=True)]
    kept = [pair for pair in rounded if pair[1]]
    return Projection(tuple(j for j, _ in kept), tuple(factor for _, factor in kept)), scale


def _short(factor: float, digits: int) -> float:
    """A coefficient of a few digits and at most one decimal more."""
    short = float(f"%.{digits}g" % factor)
    return short if abs(short) >= 1.0 else float(f"%.{digits + 1}f" % short)


def _places(size: float) -> float:
    """Digits before the point."""
    return written(size).adjusted() + 1 if math.isfinite(size) else math.inf
