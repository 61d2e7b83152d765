"""A network with categories and gaps as the paper's plain matrices over 0/1 inputs.

Theorem 1, the regions and the paper's importances are defined on these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bgn.model.layer import Layer
from bgn.model.linear_term import LinearTerm, as_slopes
from bgn.model.network import Network
from bgn.model.neuron import Neuron, Projection
from bgn.model.schema import Column, level_word
from bgn.model.step import Floats

# Outweighs whatever the other columns of a neuron add up to.
_DECIDES = 2.0**1000


def expanded(network: Network) -> Network:
    """Return the network that says of :func:`expand`\\ 's rows what `network` says of the rows themselves.

    Parameters
    ----------
    network : Network

    Returns
    -------
    Network
        Of plain weights and biases; `network` itself where it has neither categories nor gaps.

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.model.neuron import Neuron, Projection
    >>> from bgn.model.schema import Column, Schema, level_word
    >>> layer = Layer.of([Neuron(Projection((0,), ((0.0, 1.0),)), 1.0, missing=True)], 1)
    >>> network = Network([layer], [0.5], 1.0, schema=Schema((Column("city", levels=("Lille", "Nice")),)))
    >>> plain = expanded(network)
    >>> plain.names
    ('city = Lille', 'city = Nice', 'city is missing')
    >>> X = [["Nice"], ["Lille"], [None]]
    >>> network.predict(X), plain.predict(expand(network, X))
    (array([1.5, 0.5, 1.5]), array([1.5, 0.5, 1.5]))
    """
    first, gaps = network.layers[0], network.layers[0].takes_gaps
    if first.numeric and not gaps and network.schema.all_numbers:
        return network
    columns: list[Column] = []
    starts: list[int] = []
    for column in network.schema.columns:
        starts.append(len(columns))
        if column.levels is None:
            columns.append(column)
        for level in column.levels or ():
            columns.append(Column(f"{column.name} = {level_word(level)}", level_of=(column.name, level)))
        columns += [Column(f"{column.name} is missing")] * gaps
    weights = np.zeros((first.width, len(columns)))
    for row, neuron in zip(weights, first.neurons, strict=True):
        projection = neuron.projection
        for place, (j, coefficient) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
            values = np.atleast_1d(coefficient)
            row[starts[j] : starts[j] + len(values)] = values
            if projection.gaps is not None:
                gap = projection.gaps[place]
                row[starts[j] + len(values)] = gap if isinstance(coefficient, tuple) else gap * (coefficient or 1.0)
            elif gaps:
                row[starts[j] + len(values)] = _DECIDES if neuron.missing else -_DECIDES
    schema = replace(network.schema, columns=tuple(columns), named=True)
    layers = (Layer.of(map(_neuron, weights, first.neurons), len(columns)), *network.layers[1:])
    straight: dict[str, Any] = as_slopes(_straight(network, starts), len(columns), np.shape(network.base))
    straight |= {"link": network.link, "bounds": network.bounds}
    return Network(layers, network.output_weights, network.base, schema=schema, **straight)


def _straight(network: Network, starts: list[int]) -> list[LinearTerm]:
    """Return the linear terms over the expanded columns: a gap is a zero there, and its mark makes up for that."""
    found = []
    for term in network.linear_terms:
        found.append(replace(term, column=starts[term.column]))
        nothing, gap = term.between(np.array([0.0, np.nan])).tolist()
        if network.layers[0].takes_gaps and not network.layers[0].refuses_gaps[term.column]:
            slopes = tuple(slope * (gap - nothing) for slope in term.slopes)
            found.append(LinearTerm(starts[term.column] + 1, slopes))
    return found


def _neuron(weights: Floats, neuron: Neuron) -> Neuron:
    """Return a neuron with these weights, which are added up in order, and the threshold of another."""
    used = np.flatnonzero(weights)
    return Neuron(Projection(tuple(used.tolist()), tuple(weights[used].tolist())), neuron.threshold)


def expand(network: Network, X: Any) -> Floats:
    """Return rows as the inputs of the expanded network.

    Parameters
    ----------
    network : Network
        The network that `X` belongs to, not the expanded one.
    X : array_like or frame

    Returns
    -------
    ndarray of float64
    """
    rows, gaps = network._rows(X), network.layers[0].takes_gaps
    if network.layers[0].numeric and not gaps and network.schema.all_numbers:
        return rows
    parts = []
    for values, column in zip(rows.T, network.schema.columns, strict=True):
        gap = np.isnan(values)
        if column.levels is None:
            parts.append(np.where(gap, 0.0, values))
        else:
            parts += [(values == code).astype(np.float64) for code in range(len(column.levels))]
        if gaps:
            parts.append(gap.astype(np.float64))
    return np.stack(parts, axis=1) if parts else np.zeros((len(rows), 0))
