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
_MORE_DECIMALS = 4  # than the networks have, where their mean has no end


def mean_of(networks: Sequence[Network]) -> Network:
    """Return the mean of networks of the same columns, link and bounds as one network, which knows its members.

    With one hidden layer, equal rules are one, their weights added. Deeper networks stand side by side; one of fewer
    layers passes its answers on. Weights and intercept are the exact means of what the networks' decimals write where
    these have an end, as for 2, 4, 5, 8, 10 or 16 networks; otherwise they have four decimals more than the networks'
    and are rounded. Of networks with long numbers they are the nearest floats. So are the weights of linear terms,
    which must end at the same values of a column in all networks. Where there are bounds, it is the mean of the scores
    that is held to them.

    Examples
    --------
    >>> from bgn import Network, Rule, Threshold
    >>> from bgn.model.ensemble import mean_of
    >>> first = Network(0.25, [Rule(Threshold(0, 2.0)), Rule(Threshold(0, 5.0))], [1.0, 0.5], ["rooms"])
    >>> mean = mean_of([first, Network(1.3, [Rule(Threshold(0, 5.0))], [1.4], ["rooms"])])
    >>> len(mean.terms), mean.predict([[1.0], [3.0], [5.0]])
    (2, array([0.775, 1.275, 2.225]))
    """
    first, deep = networks[0], any(network.depth > 1 for network in networks)
    if deep:
        layers, places = _side_by_side(networks)
    else:
        order: dict[Oblique, int] = {}
        places = [[order.setdefault(one, len(order)) for one in network.layers[0].neurons] for network in networks]
        layers = [Layer.of(order, first.n_inputs)]
    weights = np.zeros((len(networks), layers[-1].width, first.n_outputs))
    for own, network, at in zip(weights, networks, places, strict=True):
        # Those of one place are added up, decimals as decimals.
        coef = network.output_weights.reshape(-1, first.n_outputs)
        numbers, over = whole_numbers(coef.ravel()) or (coef, 1.0)
        np.add.at(own, at, numbers.reshape(coef.shape))
        own /= over
    intercepts = np.array([np.atleast_1d(network.base) for network in networks])
    values = _means(np.concatenate([intercepts[:, np.newaxis], weights], axis=1))
    linear, linear_coef = _linear_terms(networks)
    mean = Network.of_layers(layers, values[1:], values[0], schema=first.schema, link=first.link, bounds=first.bounds)
    return mean.changed(
        terms=[*linear, *mean.rules], coef=np.concatenate([_means(linear_coef), mean.rule_coef]),
        members=Ensemble(intercepts, np.concatenate([linear_coef, weights], axis=1)),
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


def _side_by_side(networks: Sequence[Network]) -> tuple[list[Layer], list[list[int]]]:
    """Return layers in which every network has its own conditions, and where they stand in the last.

    Conditions keep the order of the columns they read, so that their sums round as they did.
    """
    layers: list[Layer] = []
    columns, n_inputs = [range(networks[0].n_inputs)] * len(networks), networks[0].n_inputs
    for depth in range(max(network.depth for network in networks)):
        obliques: list[Oblique] = []
        for k, network in enumerate(networks):
            start, read = len(obliques), columns[k]
            if depth >= network.depth:
                obliques += [Oblique(Projection((column,), (1.0,)), 0.0) for column in read]
            for one in network.layers[depth].neurons if depth < network.depth else ():
                moved = Projection(
                    tuple(read[j] for j in one.columns), one.projection.coefficients, one.projection.missing_as
                )
                obliques.append(Oblique(moved, one.threshold, one.missing))
            columns[k] = range(start, len(obliques))
        layers.append(Layer.of(obliques, n_inputs))
        n_inputs = len(obliques)
    return layers, [list(places) for places in columns]


def _means(values: Floats) -> Floats:
    """Return means along the first axis: of decimals in decimals, rounded half to even."""
    count, decimals = len(values), whole_numbers(values.ravel())
    if decimals is not None:
        whole, over = decimals[0].reshape(count, -1).astype(np.int64).sum(axis=0).tolist(), round(decimals[1])
        more = next((k for k in range(_MORE_DECIMALS + 1) if 10**k % count == 0), _MORE_DECIMALS)
        means = []
        for total in whole:
            quotient, rest = divmod(total * 10**more, count)
            means.append(quotient + (2 * rest > count or (2 * rest == count and quotient % 2 == 1)))
        if sum(map(abs, means)) < _MOST_WHOLE:
            return np.array([mean / (over * 10**more) for mean in means]).reshape(values.shape[1:])
    flat = values.reshape(count, -1).T.tolist()
    return np.array([math.fsum(column) / count for column in flat]).reshape(values.shape[1:])
