"""SHAP values by sampled permutations, for networks whose coalitions are too many to enumerate."""

from __future__ import annotations

import numpy as np

from bgn.explain.shap.coalitions import Ints, Slots
from bgn.model.network import Network
from bgn.model.step import Bools, Floats


def sampled_shares(
    network: Network, rows: Floats, background: Floats, samples: int, rng: np.random.Generator, neuron_values: Floats,
    slots: Slots,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the shares of the connections, one row of `slots` each, and the standard error of the features' values.

    A sample is a background row and an order in which the players turn from its values to the row's, walked forwards
    and backwards. Background rows come in a shuffled cycle, so that none counts twice before all have counted once.
    """
    players, neurons = np.array(network.features_used, dtype=np.int64), np.flatnonzero(network.output_weights)
    weights = network.output_weights[neurons]
    total = np.zeros((len(players), len(neurons), len(rows)))
    squares = np.zeros((len(players), len(rows)))
    start = np.array([], dtype=np.int64)
    for _ in range(samples):
        if len(start) == 0:
            start = rng.permutation(len(background))
        drawn, start = background[start[0]], start[1:]
        order = rng.permutation(len(players))
        forth, back = (_walk(network, neurons, players, each, rows, drawn) for each in (order, order[::-1]))
        one = (forth + back) / 2.0
        total += one
        squares += np.einsum("k,pkn->pn", weights, one) ** 2
    mean = total / samples
    variance = squares / samples - np.einsum("k,pkn->pn", weights, mean) ** 2
    player_error = np.sqrt(np.maximum(variance, 0.0) / max(samples - 1, 1))
    reaches = np.array([[(p, k) in slots for k in neurons] for p in players]).reshape(len(players), len(neurons))
    values = _settle(mean * weights[:, np.newaxis], player_error, neuron_values.T[neurons], reaches)
    shares, error = np.zeros((len(slots), len(rows))), np.zeros((len(rows), network.n_inputs))
    for player, neuron in np.argwhere(reaches):
        shares[slots[players[player], neurons[neuron]]] = values[player, neuron]
    error[:, players] = player_error.T
    return shares, error


def _walk(network: Network, neurons: Ints, players: Ints, order: Ints, rows: Floats, drawn: Floats) -> Floats:
    """Return what each player changes when it turns from the drawn row's value to the row's, in the given order."""
    mixed = np.repeat(drawn[np.newaxis, np.newaxis], len(players) + 1, axis=0).repeat(len(rows), axis=1)
    for position, player in enumerate(players[order], start=1):
        mixed[position:, :, player] = rows[:, player]
    fires = network._hidden(mixed.reshape(-1, rows.shape[1]))[:, neurons]
    fires = fires.reshape(len(players) + 1, len(rows), len(neurons))
    changes = np.empty((len(players), len(neurons), len(rows)))
    changes[order] = np.diff(fires, axis=0).transpose(0, 2, 1)
    return changes


def _settle(values: Floats, error: Floats, expected: Floats, reaches: Bools) -> Floats:
    """Spread what the estimates miss of a neuron's known sum over the players that reach it, most where they err most.

    `values` are per player, neuron and row; `error` per player and row; `expected` per neuron and row; `reaches` per
    player and neuron.
    """
    share = error[:, np.newaxis] ** 2 * reaches[:, :, np.newaxis]
    total = share.sum(axis=0)
    even = (reaches / np.maximum(reaches.sum(axis=0), 1))[:, :, np.newaxis]
    share = np.where(total > 0, share / np.where(total > 0, total, 1.0), even)
    return values + share * (expected - values.sum(axis=0))
