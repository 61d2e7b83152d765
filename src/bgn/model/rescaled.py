"""A network about columns that were computed from others, written for those others instead.

A scaler turns a column x into z = (x - mean) / scale. A network that was grown on z is written for x: thresholds and
coefficients change, and where rules hold does not. For a condition on one column that is so for every float, up to the
tolerance below: its threshold is the first number that the same arithmetic takes over the old one. Sums over several
columns are the same up to rounding.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import floor, log10
from typing import Any

import numpy as np

from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.numbers import rounded, shortest
from bgn.model.readings import first_float
from bgn.model.schema import Column, Schema
from bgn.model.step import Floats
from bgn.model.term import Coefficient, Linear, Oblique, Projection

# Thresholds are shortened by at most this share of what one unit of a scaled column is.
_TOLERANCE = 1e-9
_OUTPUT_DIGITS = 12
_REACH = 10  # a scaled column is taken to reach so far from zero
_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Source:
    """The column that another one was computed from, by arithmetic with one number at a time.

    Examples
    --------
    >>> from bgn.model.rescaled import Source
    >>> source = Source(0, (("-", 3.0), ("/", 2.0)))
    >>> source.computed(7.0), source.undone(2.0)
    (2.0, 7.0)
    """

    column: int  # its position
    arithmetic: tuple[tuple[str, float], ...] = ()  # what was done to it, in order
    filled: Any = None  # what a missing value of it was filled with first, in its own units; None where none was

    def computed(self, value: float) -> float:
        """Do the arithmetic, rounded as floats are."""
        for sign, number in self.arithmetic:
            value = _OPERATIONS[sign](value, number)
        return value

    @cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        """Factor and shift of the same arithmetic without rounding."""
        factor, shift = Fraction(1), Fraction(0)
        for sign, number in self.arithmetic:
            exact = Fraction(float(number))
            if sign in "*/":
                factor, shift = _OPERATIONS[sign](factor, exact), _OPERATIONS[sign](shift, exact)
            else:
                shift = _OPERATIONS[sign](shift, exact)
        return factor, shift

    def undone(self, value: float) -> float:
        """Return the short number that the arithmetic turns into a value, up to rounding."""
        if not self.arithmetic:
            return value
        factor, shift = self.line
        return _short((Fraction(value) - shift) / factor, _TOLERANCE / abs(float(factor)) / 1000)


_OPERATIONS: Mapping[str, Any] = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def rescaled(network: Network, sources: Sequence[Source], schema: Schema) -> Network:
    """Return the network that predicts from the columns of `schema` what `network` does from those computed from them.

    The `sources` say for every column of `network` which column of `schema` it comes from, and how.

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.model.rescaled import Source, rescaled
    >>> from bgn.model.schema import Schema
    >>> scaled = Network.of_layers([Layer([[1.0]], [-0.5])], [1.0], 3.0)
    >>> in_years = rescaled(scaled, [Source(0, (("-", 40.0), ("/", 12.0)))], Schema.of_numbers(1, ["age"]))
    >>> in_years.layers[0].thresholds, in_years.predict([[46.0], [45.9]])
    (array([46.]), array([4., 2.]))
    """
    conditions = [_rescaled_condition(condition, sources, schema) for condition in network.layers[0].neurons]
    layers = [Layer.of(conditions, len(schema)), *network.layers[1:]]
    intercept, linear, coef = _rescaled_linear(network, sources)
    rules = Network.of_layers(
        layers, network.rule_coef, intercept, schema=schema, link=network.link, bounds=network.bounds
    )
    return rules.with_linear(linear, coef) if linear else rules


def _rescaled_linear(network: Network, sources: Sequence[Source]) -> tuple[Floats, list[Linear], list[Floats]]:
    """Return the intercept, and linear terms with their weights over the columns that others were made of."""
    intercept, terms, coef = network.intercept, dict[int, Linear](), dict[int, Floats]()
    for term, weights in zip(network.linear, network.linear_coef, strict=True):
        factor, shift = map(float, sources[term.column].line)
        column = sources[term.column].column
        if factor == 0.0:
            intercept = intercept + weights * float(term.between(np.array([shift]))[0])
            continue
        low, high = sorted(((term.low - shift) / factor, (term.high - shift) / factor))
        own = Linear(column, low + 0.0, high + 0.0)
        if terms.setdefault(column, own) != own:
            raise ValueError(
                f"the network has two linear terms of column {column} between different ends, which are not one term."
            )
        coef[column] = coef.get(column, 0.0) + weights * factor
        intercept = intercept + weights * shift
    order = [column for column in sorted(terms) if coef[column].any()]
    return intercept, [terms[column] for column in order], [coef[column] for column in order]


def with_output(network: Network, factor: float, shift: float) -> Network:
    """Return the network that predicts ``factor * prediction + shift``, of so many digits as a float can add up."""
    ends = None if network.bounds is None else np.sort(np.array(network.bounds) * factor + shift).tolist()
    numbers = np.append(network.output_weights, network.base) * factor
    numbers[-1] += shift
    power = floor(log10(np.abs(numbers).max() or 1.0)) - _OUTPUT_DIGITS
    *weights, base = (rounded(number, power) for number in numbers.tolist())
    rounded_weights = iter(weights)
    coef = [float(own[0]) * factor if isinstance(term, Linear) else next(rounded_weights)
            for term, own in zip(network.terms, network.coef, strict=True)]  # fmt: skip
    return network.changed(intercept=base, coef=coef, bounds=ends)


def column_from(column: Column, source: Source, name: str) -> Column:
    """Return what is known of a source column, by what is known of the one computed from it."""
    if column.categories is not None:
        code = None if source.filled is None else float(column.codes([source.filled])[0])
        return replace(column, name=name, typical=column.typical if code is None or np.isnan(code) else code)
    typical = None if column.typical is None else source.undone(column.typical)
    typical = typical if source.filled is None else float(source.filled)
    seen = None if column.seen is None else (source.undone(column.seen[0]), source.undone(column.seen[1]))
    return replace(column, name=name, seen=seen, whole=column.whole and not source.arithmetic, typical=typical)


def _short(value: Fraction | float, tolerance: float) -> float:
    """The shortest number this near to another."""
    near = float(value)
    low, high = near - tolerance, near + tolerance
    return shortest(low, high) if low < near < high else near


def _rescaled_condition(condition: Oblique, sources: Sequence[Source], schema: Schema) -> Oblique:
    """Return one condition of the first layer in terms of the source columns."""
    projection = condition.projection
    read = [sources[column] for column in projection.columns]
    touched = any(source.arithmetic and own for source, own in zip(read, projection.coefficients, strict=True))
    if not touched and len({source.column for source in read}) == len(read):
        columns = tuple(source.column for source in read)
        new, threshold = (
            Projection(columns, projection.coefficients, _missing_as(projection, read, schema)),
            condition.threshold,
        )
    elif len(read) == 1 and projection.coefficients[0]:
        new, threshold = _alone(condition, read[0], schema)
    else:
        new, threshold = _summed(condition, read, schema)
    missing = condition.missing
    if missing is not None and len(read) == 1 and read[0].filled is not None:
        # As before, or that of what missing values were filled with.
        (source,), column = read, schema.columns[read[0].column]
        numeric = column.categories is None
        value = source.computed(float(source.filled)) if numeric else float(column.codes([source.filled])[0])
        missing = bool(condition.holds(np.full((1, max(projection.columns) + 1), value))[0])
    return Oblique(new, threshold, missing)


def _alone(condition: Oblique, source: Source, schema: Schema) -> tuple[Projection, float]:
    """Return a condition about one column of numbers, with the threshold from which on the old one holds."""
    (coefficient,) = condition.projection.factors
    factor, shift = source.line
    sign = 1.0 if coefficient * factor > 0 else -1.0
    edge = first_float(lambda value: coefficient * source.computed(sign * value) >= condition.threshold)
    if not abs(edge) < _LARGEST:  # it holds on all numbers or on none
        exact = (Fraction(condition.threshold) / Fraction(coefficient) - shift) / factor
        edge = min(max(sign * float(exact), -_LARGEST), _LARGEST)
    low = edge - _TOLERANCE / abs(float(factor))
    threshold = shortest(low, edge) if low < edge else edge
    missing_as = _missing_as(condition.projection, [source], schema)
    return Projection((source.column,), (sign,), missing_as), threshold + 0.0


def _summed(condition: Oblique, read: Sequence[Source], schema: Schema) -> tuple[Projection, float]:
    """Return a condition about several columns, the leading coefficient 1 again."""
    projection = condition.projection
    shares: dict[int, Any] = {}
    offset, size, reach = Fraction(0), 0.0, dict[int, float]()
    for source, coefficient in zip(read, projection.coefficients, strict=True):
        if isinstance(coefficient, tuple):
            own: Any = np.array([Fraction(value) for value in coefficient], dtype=object)
            size += max(map(abs, coefficient), default=0.0)
        else:
            factor, shift = source.line
            own = Fraction(coefficient) * factor
            offset += Fraction(coefficient) * shift
            size += abs(coefficient)
            reach[source.column] = max(abs(float(shift / factor)) + _REACH / abs(float(factor)), 1e-300)
        shares[source.column] = shares[source.column] + own if source.column in shares else own
    numbers = [abs(share) for share in shares.values() if isinstance(share, Fraction) and share]
    # The size of the share that belonged to the coefficient of 1.
    leading = max(numbers, default=Fraction(1))
    for source, coefficient in reversed([*zip(read, projection.coefficients, strict=True)]):
        if not isinstance(coefficient, tuple) and abs(coefficient) == 1.0 and shares[source.column]:
            leading = abs(Fraction(shares[source.column]))
    tolerance = _TOLERANCE * size / float(leading)

    def short(column: int, share: Any) -> Coefficient:
        if isinstance(share, Fraction):
            return _short(share / leading, tolerance / (10 * len(shares) * reach[column]))
        return tuple(_short(value / leading, tolerance / 100) for value in share)

    coefficients = tuple(short(column, share) for column, share in shares.items())
    exact = float((Fraction(condition.threshold) - offset) / leading)
    # It holds on rows on the old threshold: the new one lies below them by more than sums are rounded.
    low, high = exact - tolerance, exact - tolerance / 2
    threshold = shortest(low, high) if low < high else exact
    return Projection(tuple(shares), coefficients, _missing_as(projection, read, schema, float(leading))), threshold


def _missing_as(
    projection: Projection, read: Sequence[Source], schema: Schema, leading: float = 1.0
) -> tuple[float, ...] | None:
    """Return what missing values of the source columns count as: what they were filled with, or the same as before."""
    if projection.missing_as is None:
        return None
    counted: dict[int, float] = {}
    for source, coefficient, missing in zip(read, projection.coefficients, projection.missing_as, strict=True):
        if isinstance(coefficient, tuple):
            code = schema.columns[source.column].codes([source.filled])[0]  # NaN for None
            value = (missing if np.isnan(code) else coefficient[int(code)]) / leading
        elif coefficient == 0.0:  # what a missing value adds to the sum
            value = missing / leading if source.filled is None else 0.0
        else:
            value = source.undone(missing) if source.filled is None else float(source.filled)
        counted.setdefault(source.column, value)
    return tuple(counted.values())
