"""The question that a neuron asks, as it is printed.

Its leading coefficient is 1 where that can be had without rounding and no ordered category leads, answers from the
layer below count 0 and 1, and only gaps that can reach it are spoken of.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import frexp

import numpy as np

from bgn.model.cases import is_flag, read
from bgn.model.decimals import EXACT, shortest, written
from bgn.model.network import Network
from bgn.model.neuron import Coefficient, Neuron, Projection
from bgn.model.question import Condition
from bgn.model.schema import Schema

_MOST_TRIED = 10  # answers of the layer below whose every combination is tried
_MIRROR = {">=": "<=", "<": ">"}


def condition_of(
    network: Network, layer: int, neuron: int, flipped: bool, filled: dict[int, float | None]
) -> Condition:
    """Return the question of one neuron, answered yes where it fires (or where it does not, when `flipped`)."""
    asked = network.layers[layer].neurons[neuron]
    asked = asked if layer else _seeing(asked, filled)
    columns, coefficients, gaps = asked.projection.columns, asked.projection.coefficients, asked.projection.gaps
    threshold = _of_answers(asked) if layer > 0 else asked.threshold
    relation = "<" if flipped else ">="
    leading = _leading(columns, coefficients, None if layer else network.schema)
    # Only signs and powers of two are divided by: nothing is rounded.
    if leading is not None and abs(frexp(leading)[0]) == 0.5:
        if gaps is not None:
            gaps = tuple(
                gap / leading if isinstance(each, tuple) or each == 0.0 else gap
                for gap, each in zip(gaps, coefficients, strict=True)
            )
        coefficients = tuple(
            tuple(value / leading for value in each) if isinstance(each, tuple) else each / leading
            for each in coefficients
        )
        threshold = threshold / leading + 0.0
        relation = _MIRROR[relation] if leading < 0 else relation
    missing = None if asked.missing is None or layer > 0 else asked.missing is not flipped
    condition = Condition(layer, neuron, columns, coefficients, relation, threshold, missing, gaps)
    return read(condition, network.schema, filled)


def _seeing(asked: Neuron, filled: dict[int, float | None]) -> Neuron:
    """Return a neuron of the first layer with what it says of gaps that it can see, and without idle numbers.

    One that reads a single column has an answer for its gap, whatever the gap counts as.
    """
    projection, gaps, missing = asked.projection, asked.projection.gaps, asked.missing
    if filled.keys() >= set(projection.columns):
        gaps = missing = None
    if missing is None:
        places = [
            place
            for place, each in enumerate(projection.coefficients)
            if not _idle(each, None if gaps is None or projection.columns[place] in filled else gaps[place])
        ]
        columns = tuple(projection.columns[place] for place in places)
        kept = None if gaps is None else tuple(gaps[place] for place in places)
        projection = Projection(columns, tuple(projection.coefficients[place] for place in places), kept)
        if kept is not None and len(columns) == 1:
            missing = bool(Neuron(projection, asked.threshold).fires(np.full((1, columns[0] + 1), np.nan))[0])
            projection = replace(projection, gaps=None)
    return Neuron(projection, asked.threshold, missing)


def _idle(coefficient: Coefficient, gap: float | None) -> bool:
    """Tell whether a column adds nothing to a sum, whatever it holds."""
    return not any((*(coefficient if isinstance(coefficient, tuple) else (coefficient,)), gap or 0.0))


def _leading(columns: tuple[int, ...], coefficients: tuple[Coefficient, ...], schema: Schema | None) -> float | None:
    """Return the coefficient that a question is divided by: a number's before a 0/1 column's, 1 before others."""
    factors = [
        (column, each) for column, each in zip(columns, coefficients, strict=True) if not isinstance(each, tuple)
    ]
    numbers = [each for j, each in factors if schema is not None and not is_flag(schema.columns[j])]
    for some in (numbers, [each for _, each in factors]):
        if some:
            return next((each for each in some if abs(each) == 1.0), max(some, key=abs))
    return None


def _of_answers(asked: Neuron) -> float:
    """Return the threshold of a question that reads 0/1 answers in place of +-1: w . (2 a - 1) >= t is w . a >= this.

    Where a sum would lie on it, and a rounding decide, it is moved between the sums on both sides. Only where floats
    answer two combinations of one and the same sum differently there is nothing between them; thresholds that are grown
    lie between sums.
    """
    factors = asked.projection.factors
    exact = written(asked.threshold)
    for each in factors:
        exact = EXACT.add(exact, written(each))
    threshold = float(EXACT.divide(exact, Decimal(2)))
    if not 0 < len(factors) <= _MOST_TRIED:
        return threshold
    answers = np.array(list(product((0.0, 1.0), repeat=len(factors))))
    compact = Projection(tuple(range(len(factors))), factors)
    sums, fires = compact.values(answers), Neuron(compact, asked.threshold).fires(2.0 * answers - 1.0)
    size = 1e-9 * np.abs(factors).max()
    if np.abs(sums - threshold).min() > size or fires.all() or not fires.any():
        return threshold
    low, high = float(sums[~fires].max()), float(sums[fires].min())
    return shortest(low + size, high - size) if high - low > 4 * size else threshold
