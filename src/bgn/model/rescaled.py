"""A network about columns that were computed from others, asked about those others instead.

A scaler turns a column x into z = (x - mean) / scale. A network that was grown on z is written for x: thresholds and
coefficients change, and which rows fire does not. Of a question about one column that holds for every float, up to the
tolerance below: its threshold is the first number that the same arithmetic takes over the old one. Sums over several
columns are the same up to rounding.
"""

from __future__ import annotations

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
from bgn.model.schema import Column, Schema
from bgn.model.step import Floats
from bgn.model.term import Coefficient, Linear, Oblique, Projection

# Thresholds are shortened by at most this share of what one unit of a scaled column is.
_TOLERANCE = 1e-9
_OUTPUT_DIGITS = 12
_SPREAD = 10  # a scaled column is taken to reach so far from zero
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Source:
    """The column that another one was computed from, by arithmetic with one number at a time.

    Parameters
    ----------
    column : int
        Its position.
    arithmetic : tuple of (str, float)
        What was done to it, in order: ``("-", 3.0), ("/", 2.0)``.
    filled : value, optional
        What a gap in it was filled with first, in its own units; None where gaps stayed.

    Examples
    --------
    >>> from bgn.model.rescaled import Source
    >>> source = Source(0, (("-", 3.0), ("/", 2.0)))
    >>> source.computed(7.0), source.undone(2.0)
    (2.0, 7.0)
    """

    column: int
    arithmetic: tuple[tuple[str, float], ...] = ()
    filled: Any = None

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
                factor, shift = (_OPERATIONS[sign](each, exact) for each in (factor, shift))
            else:
                shift = _OPERATIONS[sign](shift, exact)
        return factor, shift

    def undone(self, value: float) -> float:
        """Return the short number that the arithmetic turns into a value, up to rounding."""
        if not self.arithmetic:
            return value
        factor, shift = self.line
        return _short((Fraction(value) - shift) / factor, _TOLERANCE / abs(float(factor)) / 1000)


_OPERATIONS: Mapping[str, Any] = {
    "+": lambda value, number: value + number,
    "-": lambda value, number: value - number,
    "*": lambda value, number: value * number,
    "/": lambda value, number: value / number,
}


def rescaled(network: Network, sources: Sequence[Source], schema: Schema) -> Network:
    """Return the network that answers for the columns of `schema` as `network` does for those computed from them.

    Parameters
    ----------
    network : Network
    sources : sequence of Source
        For every column of `network` where it comes from: a column of `schema`.
    schema : Schema

    Returns
    -------
    Network

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
    neurons = [_asked(neuron, sources, schema) for neuron in network.layers[0].neurons]
    layers = [Layer.of(neurons, len(schema)), *network.layers[1:]]
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
                f"the network has two slopes of column {column} between different ends, which are not one slope of it."
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


def _asked(neuron: Oblique, sources: Sequence[Source], schema: Schema) -> Oblique:
    """Return one question of the first layer in terms of the source columns."""
    projection = neuron.projection
    read = [sources[column] for column in projection.columns]
    touched = any(source.arithmetic and each for source, each in zip(read, projection.coefficients, strict=True))
    if not touched and len({source.column for source in read}) == len(read):
        columns, gaps = tuple(source.column for source in read), _gaps(projection, read, schema)
        return Oblique(
            Projection(columns, projection.coefficients, gaps), neuron.threshold, _missing(neuron, read, schema)
        )
    single = len(read) == 1 and bool(projection.coefficients[0])
    return (_alone if single else _summed)(neuron, read, schema)


def _alone(neuron: Oblique, read: Sequence[Source], schema: Schema) -> Oblique:
    """Return a question about one column of numbers, with the threshold from which on the old one fires."""
    (source,), (coefficient,) = read, neuron.projection.factors
    factor, shift = source.line
    sign = 1.0 if coefficient * factor > 0 else -1.0
    edge = _first(lambda value: coefficient * source.computed(sign * value) >= neuron.threshold)
    if not abs(edge) < _LARGEST:  # it fires on all numbers or on none
        exact = (Fraction(neuron.threshold) / Fraction(coefficient) - shift) / factor
        edge = min(max(sign * float(exact), -_LARGEST), _LARGEST)
    low = edge - _TOLERANCE / abs(float(factor))
    threshold = shortest(low, edge) if low < edge else edge
    gaps = _gaps(neuron.projection, read, schema)
    return Oblique(Projection((source.column,), (sign,), gaps), threshold + 0.0, _missing(neuron, read, schema))


def _first(fires: Any) -> float:
    """Return the lowest float on which a question fires that fires on every higher one, too; the largest if none."""
    low, high = _place(-_LARGEST) - 1, _place(_LARGEST)  # floats in order are whole numbers in order
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fires(_float_at(middle)) else (middle, high)
    return _float_at(high)


def _place(value: float) -> int:
    """The place of a float among all of them in order, 0 for zero."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return bits if value >= 0 else -bits


def _float_at(place: int) -> float:
    value = float(np.int64(abs(place)).view(np.float64))
    return value if place >= 0 else -value


def _summed(neuron: Oblique, read: Sequence[Source], schema: Schema) -> Oblique:
    """Return a question about several columns, the leading coefficient 1 again."""
    projection = neuron.projection
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
            reach[source.column] = max(abs(float(shift / factor)) + _SPREAD / abs(float(factor)), 1e-300)
        shares[source.column] = shares[source.column] + own if source.column in shares else own
    numbers = [abs(each) for each in shares.values() if isinstance(each, Fraction) and each]
    leading = _leading(projection, read, shares) or max(numbers, default=Fraction(1))
    tolerance = _TOLERANCE * size / float(leading)

    def short(column: int, share: Any) -> Coefficient:
        if isinstance(share, Fraction):
            return _short(share / leading, tolerance / (10 * len(shares) * reach[column]))
        return tuple(_short(value / leading, tolerance / 100) for value in share)

    coefficients = tuple(short(column, share) for column, share in shares.items())
    exact = float((Fraction(neuron.threshold) - offset) / leading)
    # Rows on the old threshold fire: the new one lies below them by more than sums are rounded.
    low, high = exact - tolerance, exact - tolerance / 2
    threshold = shortest(low, high) if low < high else exact
    gaps = _gaps(projection, read, schema, float(leading))
    return Oblique(Projection(tuple(shares), coefficients, gaps), threshold, _missing(neuron, read, schema))


def _leading(projection: Projection, read: Sequence[Source], shares: Mapping[int, Any]) -> Fraction | None:
    """Return the size of the share that belonged to the coefficient of 1."""
    for source, coefficient in zip(read, projection.coefficients, strict=True):
        if not isinstance(coefficient, tuple) and abs(coefficient) == 1.0 and shares[source.column]:
            return abs(Fraction(shares[source.column]))
    return None


def _gaps(
    projection: Projection, read: Sequence[Source], schema: Schema, leading: float = 1.0
) -> tuple[float, ...] | None:
    """Return what gaps count as in the source columns: what they were filled with, or the same as before."""
    if projection.missing_as is None:
        return None
    found: dict[int, float] = {}
    for source, coefficient, gap in zip(read, projection.coefficients, projection.missing_as, strict=True):
        if isinstance(coefficient, tuple):
            code = schema.columns[source.column].codes([source.filled])[0]  # NaN for None
            found.setdefault(source.column, (gap if np.isnan(code) else coefficient[int(code)]) / leading)
        elif coefficient == 0.0:  # what a gap adds to the sum
            found.setdefault(source.column, gap / leading if source.filled is None else 0.0)
        else:
            found.setdefault(source.column, source.undone(gap) if source.filled is None else float(source.filled))
    return tuple(found.values())


def _missing(neuron: Oblique, read: Sequence[Source], schema: Schema) -> bool | None:
    """Return the answer where a gap leaves no sum: as before, or that of what gaps were filled with."""
    if neuron.missing is None or len(read) != 1 or read[0].filled is None:
        return neuron.missing
    (source,), column = read, schema.columns[read[0].column]
    value = (
        source.computed(float(source.filled)) if column.categories is None else float(column.codes([source.filled])[0])
    )
    row: Floats = np.full((1, max(neuron.projection.columns) + 1), value)
    return bool(neuron.holds(row)[0])
