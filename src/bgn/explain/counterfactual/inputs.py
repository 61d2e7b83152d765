"""A row of numbers, categories and gaps as plain numbers: what the search for a counterfactual works on.

A category becomes one 0/1 input per level, of which one is 1; a gap, which stays, one input that is always 1. Sums are
taken in the same order, so that the plain network answers as the network itself, to the last bit. The ends of a linear
term become two questions that count for nothing: in every region the prediction is then a straight line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.model.layer import Layer
from bgn.model.linear_term import LinearTerm, as_slopes
from bgn.model.network import Network
from bgn.model.neuron import Neuron, Projection
from bgn.model.schema import Level, Schema
from bgn.model.step import Floats


@dataclass(frozen=True, eq=False)
class PlainInputs:
    """A network as the search sees it around one row.

    Attributes
    ----------
    original : Network
    row : ndarray
        The row asked about as the network reads it, NaN for a gap.
    network : Network
        The same on plain numbers.
    x : ndarray
        The row as plain numbers.
    places : tuple of tuple of int
        For every column its inputs: one for a number or a gap, one per level for a category.
    """

    original: Network
    row: Floats
    network: Network
    x: Floats
    places: tuple[tuple[int, ...], ...]

    def is_group(self, column: int) -> bool:
        """Whether a column is a category whose level may change."""
        return self.original.schema.columns[column].levels is not None and not np.isnan(self.row[column])

    def value(self, column: int, plain: Floats) -> Level | None:
        """Return what a column of the table holds in a row of plain numbers; None for a gap."""
        if np.isnan(self.row[column]):
            return None
        levels, values = self.original.schema.columns[column].levels, plain[list(self.places[column])]
        return float(values[0]) if levels is None else levels[int(values.argmax())]

    def table_row(self, plain: Floats) -> Any:
        """Return a row of plain numbers as the table has it: floats where all columns are numbers."""
        if self.original.schema.all_numbers:
            return np.where(np.isnan(self.row), np.nan, plain)
        values = np.empty(len(self.places), dtype=object)
        values[:] = [self.value(column, plain) for column in range(len(self.places))]
        return values


def plain_inputs(network: Network, row: Floats) -> PlainInputs:
    """Return a network around one row, which is as the questions see it, on plain numbers."""
    columns, first = network.schema.columns, network.layers[0]
    if network.schema.all_numbers and not first.takes_gaps and network.slopes is None:
        return PlainInputs(network, row, network, row, tuple((j,) for j in range(len(row))))
    places, values = [], list[float]()
    for column, value in zip(columns, row.tolist(), strict=True):
        levels, gap = column.levels or (), bool(np.isnan(value))
        start = len(values)
        if gap:
            values.append(1.0)
        elif column.levels is None:
            values.append(value)
        else:
            values += [float(code == value) for code in range(len(levels))]
        places.append(tuple(range(start, len(values))))
    neurons = [_plain(neuron, row, places) for neuron in first.neurons]
    terms = [_straight(term, row, places) for term in network.linear_terms]
    ends = [
        Neuron(Projection((each.column,), (1.0,)), end)
        for each in terms
        if each.clipped
        for end in (each.low, each.high)
    ]
    layers = (Layer.of([*neurons, *ends], len(values)), *network.layers[1:])
    weights = np.concatenate([network.output_weights, np.zeros((len(ends), *network.output_weights.shape[1:]))])
    schema = Schema.of_numbers(len(values), target=network.target_name)
    straight: dict[str, Any] = {"slopes": None} | as_slopes(terms, len(values), np.shape(network.base))
    plain = network.changed(
        layers=layers, output_weights=weights if ends else network.output_weights, schema=schema, **straight
    )
    return PlainInputs(network, row, plain, np.array(values), tuple(places))


def _straight(term: LinearTerm, row: Floats, places: list[tuple[int, ...]]) -> LinearTerm:
    """Return a linear term on plain numbers; at a gap, whose input is 1, what it adds there."""
    (place,) = places[term.column]
    if not np.isnan(row[term.column]):
        return replace(term, column=place)
    gap = float(term.values(row[np.newaxis])[0])
    return LinearTerm(place, tuple(slope * gap for slope in term.slopes))


def _plain(neuron: Neuron, row: Floats, places: list[tuple[int, ...]]) -> Neuron:
    """Return a neuron on plain numbers; one that has an answer for a gap of the row always gives it."""
    projection = neuron.projection
    if neuron.missing is not None and np.isnan(row[list(projection.columns)]).any():
        return Neuron(Projection((), ()), -1.0 if neuron.missing else 1.0)
    columns, factors = list[int](), list[float]()
    for place, (column, coefficient) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
        columns += places[column]
        if np.isnan(row[column]):
            factors += projection.at(place).values(row[np.newaxis]).tolist()
        else:
            factors += coefficient if isinstance(coefficient, tuple) else (coefficient,)
    return Neuron(Projection(tuple(columns), tuple(factors)), neuron.threshold)
