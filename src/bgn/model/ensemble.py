"""The mean of several networks as one network."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bgn.model.layer import Layer
from bgn.model.network import Ensemble, Network
from bgn.model.numbers import whole_numbers
from bgn.model.step import Floats
from bgn.model.term import Linear, Oblique, Projection

_MOST_WHOLE = 1 << 53  # below it every whole number is a float
_MORE_DECIMALS = 4  # than the members have, where their mean has no end


def mean_of(networks: Sequence[Network]) -> Network:
    """Return the mean of networks of the same columns, link and bounds as one network, which knows its members.

    With one hidden layer, neurons that ask the same question are one, their weights added. Deeper networks stand side
    by side; one of fewer layers passes its answers on. Weights and base are the exact means of what the members'
    decimals write where these have an end, as for 2, 4, 5, 8, 10 or 16 networks; otherwise they have four decimals more
    than the members' and are rounded. Of networks with long numbers they are the nearest floats. Slopes are averaged
    likewise; the lines of a column must end at the same values in all networks. Where there are bounds, it is the mean
    of the scores that is held to them.

    Parameters
    ----------
    networks : sequence of Network

    Returns
    -------
    Network

    Examples
    --------
    >>> from bgn import Layer, Network
    >>> from bgn.model.ensemble import mean_of
    >>> first = Network.of_layers([Layer([[1.0], [1.0]], [-2.0, -5.0])], [0.5, 0.25], 1.0, ["rooms"])
    >>> second = Network.of_layers([Layer([[1.0]], [-5.0])], [0.7], 2.0, ["rooms"])
    >>> mean = mean_of([first, second])
    >>> mean.widths, mean.output_weights, mean.base
    ((2,), array([0.25 , 0.475]), 1.5)
    """
    first = networks[0]
    layers, places = _merged(networks) if all(each.depth == 1 for each in networks) else _side_by_side(networks)
    width = layers[-1].width
    weights = np.stack([_placed(each.rule_coef, at, width) for each, at in zip(networks, places, strict=True)])
    bases = np.array([network.intercept for network in networks])
    values = _means(np.concatenate([bases[:, np.newaxis], weights], axis=1))
    linear, slopes = _linear_terms(networks)
    mean = Network.of_layers(layers, values[1:], values[0], schema=first.schema, link=first.link, bounds=first.bounds)
    own = np.concatenate([slopes, weights], axis=1)
    return mean.changed(
        terms=[*linear, *mean.rules], coef=np.concatenate([_means(slopes), mean.rule_coef]),
        members=Ensemble(bases, own),
    )  # fmt: skip


def _linear_terms(networks: Sequence[Network]) -> tuple[list[Linear], Floats]:
    """Return the linear terms of all networks by column, and their weights, shape (networks, terms, outputs)."""
    known: dict[int, Linear] = {}
    for network in networks:
        for term in network.linear:
            if known.setdefault(term.column, term) != term:
                ends = [(some.low, some.high) for some in (known[term.column], term)]
                raise ValueError(
                    "networks must have linear terms between the same ends, or their mean is no network; those of "
                    f"{network.names[term.column]!r} end at {ends[0]} and {ends[1]}."
                )
    columns = sorted(known)
    weights = np.zeros((len(networks), len(columns), networks[0].n_outputs))
    for own, network in zip(weights, networks, strict=True):
        for term, coef in zip(network.linear, network.linear_coef, strict=True):
            own[columns.index(term.column)] += coef
    return [known[column] for column in columns], weights


def _placed(weights: Floats, places: Sequence[int], width: int) -> Floats:
    """Return weights where their neurons stand now; those of one place are added up, decimals as decimals."""
    values, over = whole_numbers(weights.ravel()) or (weights, 1.0)
    found = np.zeros((width, *weights.shape[1:]))
    np.add.at(found, list(places), values.reshape(weights.shape))
    return found / over


def _merged(networks: Sequence[Network]) -> tuple[list[Layer], list[list[int]]]:
    """Return one layer of all different neurons, and where each network's stand in it."""
    found: dict[Oblique, int] = {}
    places = [[found.setdefault(neuron, len(found)) for neuron in each.layers[0].neurons] for each in networks]
    return [Layer.of(found, networks[0].n_inputs)], places


def _side_by_side(networks: Sequence[Network]) -> tuple[list[Layer], list[list[int]]]:
    """Return layers in which every network has its own neurons, and where they stand in the last.

    Neurons keep the order of the columns they read, so that their sums round as they did.
    """
    layers: list[Layer] = []
    below, width = [range(networks[0].n_inputs)] * len(networks), networks[0].n_inputs
    for depth in range(max(each.depth for each in networks)):
        neurons: list[Oblique] = []
        above: list[range] = []
        for network, columns in zip(networks, below, strict=True):
            start = len(neurons)
            if depth < network.depth:
                neurons += [_moved(neuron, columns) for neuron in network.layers[depth].neurons]
            else:
                neurons += [Oblique(Projection((column,), (1.0,)), 0.0) for column in columns]
            above.append(range(start, len(neurons)))
        layers.append(Layer.of(neurons, width))
        below, width = above, len(neurons)
    return layers, [list(each) for each in below]


def _moved(neuron: Oblique, columns: range) -> Oblique:
    """Return a neuron that reads its columns where they stand now."""
    line = neuron.projection
    where = tuple(columns[column] for column in line.columns)
    return Oblique(Projection(where, line.coefficients, line.missing_as), neuron.threshold, neuron.missing)


def _means(values: Floats) -> Floats:
    """Return means along the first axis: of decimals in decimals."""
    count, found = len(values), whole_numbers(values.ravel())
    if found is not None:
        whole, over = found[0].reshape(len(values), -1).astype(np.int64).sum(axis=0).tolist(), round(found[1])
        more = next((k for k in range(_MORE_DECIMALS + 1) if 10**k % count == 0), _MORE_DECIMALS)
        means = [_rounded(each * 10**more, count) for each in whole]
        if sum(map(abs, means)) < _MOST_WHOLE:
            return np.array([each / (over * 10**more) for each in means]).reshape(values.shape[1:])
    flat = values.reshape(count, -1).T
    return np.array([math.fsum(each) / count for each in flat.tolist()]).reshape(values.shape[1:])


def _rounded(value: int, by: int) -> int:
    """Return a whole number divided by another, rounded to the nearest, half to even."""
    whole, rest = divmod(value, by)
    return whole + (2 * rest > by or (2 * rest == by and whole % 2 == 1))
