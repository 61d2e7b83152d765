"""What neurons answer on average when some of their inputs are known and the others come from a background.

A coalition is a set of known inputs. A one-layer network is a sum of neurons, each a game among its own few inputs,
and the average of one neuron under one coalition is a share of the background: a count found by sorting once and
searching, ``O((rows + background) log background)``, never a loop over pairs of rows. A deeper network is one game
among all the features it uses, played by evaluating it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.crossings import summand, summands
from bgn.explain.shap.counting import count_in_cells, count_merged, count_windowed
from bgn.model.network import Network
from bgn.model.neuron import Neuron
from bgn.model.step import Floats

Ints = NDArray[np.int64]
Slots = dict[tuple[int, ...], int]

# A deeper network is evaluated on at most this many rows at a time.
_BLOCK = 1 << 16
_FEWEST_CELLS = 64


@dataclass(frozen=True)
class Game:
    """Players (columns) and the last-layer neurons whose answers they share."""

    players: tuple[int, ...]
    neurons: tuple[int, ...]


class SortedColumns:
    """Rows kept column by column; what sorts a column of numbers is remembered from the first time it is asked for."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows
        self.by_column = np.ascontiguousarray(rows.T).T
        self._orders: dict[int, Ints] = {}
        self._sorted: dict[int, Floats] = {}
        self._last: tuple[Neuron, Floats] | None = None

    def summands(self, neuron: Neuron) -> Floats:
        """Return what every column that a neuron reads adds to its sum, (rows, columns); the last is remembered."""
        known = self._last
        if known is None or known[0] is not neuron:
            known = self._last = neuron, np.ascontiguousarray(summands(neuron, self.by_column).T)
        return known[1]

    def order(self, neuron: Neuron, place: int) -> Ints:
        """Return the rows' numbers, the smallest summand of the column at a place of a neuron's projection first."""
        column, factor = neuron.projection.columns[place], neuron.projection.coefficients[place]
        if isinstance(factor, tuple) or neuron.takes_gaps:
            return np.argsort(summand(neuron, place, self.by_column))
        if column not in self._orders:
            self._orders[column] = np.argsort(self.by_column[:, column])
        return self._orders[column][:: 1 if factor > 0 else -1]

    def largest_first(self, neuron: Neuron, place: int) -> Floats:
        """Return the summands of the column at a place of a neuron's projection, sorted downwards."""
        column, factor = neuron.projection.columns[place], neuron.projection.coefficients[place]
        if isinstance(factor, tuple) or neuron.takes_gaps:
            return np.sort(summand(neuron, place, self.by_column))[::-1]
        if column not in self._sorted:
            self._sorted[column] = np.sort(self.by_column[:, column])
        return (self._sorted[column] * factor)[:: -1 if factor > 0 else 1]


def games(network: Network) -> list[Game]:
    """Return the games whose values, weighted by the output, add up to the network's."""
    alive = tuple(np.flatnonzero(network.output_weights).tolist())
    if network.depth == 1:
        return [Game(network.layers[0].neurons[k].projection.columns, (k,)) for k in alive]
    return [Game(network.features_used, alive)]


def averages(
    network: Network, game: Game, rows: SortedColumns, background: SortedColumns
) -> Iterator[tuple[int, Floats]]:
    """Yield every coalition, one bit per player, and the mean answers of the game's neurons, shape (neurons, rows)."""
    for coalition in range(1 << len(game.players)):
        if network.depth == 1:
            counts = coalition_counts(network.layers[0].neurons[game.neurons[0]], coalition, rows, background)
            yield coalition, (2.0 * counts / len(background.rows) - 1.0)[np.newaxis]
        else:
            known = [player for bit, player in enumerate(game.players) if coalition >> bit & 1]
            yield coalition, mixed_answers(network, known, rows.rows, background.rows)[list(game.neurons)]


def add_shares(network: Network, game: Game, coalition: int, means: Any, shares: Any, slots: Slots) -> None:
    """Add the part of one coalition, mean answers per neuron of the game, to the shares of the connections.

    `shares` has one row per connection, found by `slots`: arrays and tensors alike.
    """
    weights, size = shapley_weights(len(game.players)), coalition.bit_count()
    for bit, player in enumerate(game.players):
        factor = weights[size - 1] if coalition >> bit & 1 else -weights[size]
        for neuron, mean in zip(game.neurons, means, strict=True):
            if (player, neuron) in slots:
                shares[slots[player, neuron]] += float(factor * network.output_weights[neuron]) * mean


def coalition_counts(neuron: Neuron, coalition: int, rows: SortedColumns, background: SortedColumns) -> Ints:
    """Return for every row how many background rows make a first-layer neuron fire.

    A bit of `coalition` per column that the neuron reads tells whether the row's value is known.
    """
    size, threshold = len(neuron.projection.columns), neuron.threshold
    if coalition == 0:
        return np.full(len(rows.rows), np.count_nonzero(neuron.fires(background.by_column)))
    if coalition == (1 << size) - 1:
        return np.where(neuron.fires(rows.by_column), len(background.rows), 0)
    counts = np.empty(len(rows.rows), dtype=np.int64)
    if size == 2:
        known, other = coalition - 1, 2 - coalition
        fixed, drawn = summand(neuron, known, rows.by_column), background.largest_first(neuron, other)
        count_merged(fixed, rows.order(neuron, known), drawn, threshold, counts)
        return counts
    fixed, drawn = rows.summands(neuron), background.summands(neuron)
    given = np.array([bool(coalition >> place & 1) for place in range(size)])
    if count_in_cells(fixed, drawn, given, threshold, max(_FEWEST_CELLS, len(drawn)), counts):
        return counts
    places = np.flatnonzero(~given)
    drawn = np.ascontiguousarray(drawn.T[places])
    drawn = drawn[:, np.lexsort(drawn)]
    new = np.ones(drawn.shape[1], dtype=bool)
    new[1:] = (drawn[:, 1:] != drawn[:, :-1]).any(axis=0)
    sums, times = drawn[:, new].sum(axis=0), np.diff(np.flatnonzero(new), append=drawn.shape[1])
    order = np.argsort(sums)
    distinct, above = drawn[:, new].T[order], np.append(np.cumsum(times[order][::-1])[::-1], 0)
    count_windowed(fixed, places, distinct, sums[order], above, threshold, counts)
    return counts


def mixed_answers(network: Network, known: list[int], rows: Floats, background: Floats) -> Floats:
    """Return the mean last-layer answers with the known columns from a row and the rest from the background."""
    means = np.empty((network.widths[-1], len(rows)))
    at_once = max(1, _BLOCK // len(background))
    for start in range(0, len(rows), at_once):
        block = rows[start : start + at_once]
        mixed = np.tile(background, (len(block), 1))
        mixed[:, known] = np.repeat(block[:, known], len(background), axis=0)
        fires = network._hidden(mixed).reshape(len(block), len(background), -1)
        means[:, start : start + at_once] = fires.mean(axis=1).T
    return means


@cache
def shapley_weights(players: int) -> tuple[float, ...]:
    """Return the weight of joining a coalition of each size, 0 to players - 1: it depends on the players alone.

    A column that a neuron does not read changes nothing, so the sum over all coalitions of all columns collapses to
    the neuron's own: a one-feature neuron gets weight 1. A pair joins as one of one player fewer.
    """
    return tuple(factorial(size) * factorial(players - size - 1) / factorial(players) for size in range(players))
