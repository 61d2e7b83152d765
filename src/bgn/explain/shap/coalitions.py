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

import numpy as np
from numpy.typing import NDArray

from bgn.explain.shap.counting import count_merged, count_searched, count_windowed
from bgn.model.network import Network
from bgn.model.step import Floats

Ints = NDArray[np.int64]

# A deeper network is evaluated on at most this many rows at a time.
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Game:
    """Players (columns) and the last-layer neurons whose answers they share."""

    players: tuple[int, ...]
    neurons: tuple[int, ...]


class SortedColumns:
    """Rows kept column by column, each column sorted when first asked for and then remembered."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows
        self.columns = np.ascontiguousarray(rows.T)
        self._orders: dict[int, Ints] = {}
        self._sorted: dict[int, Floats] = {}

    def order(self, column: int) -> Ints:
        """Return the rows' numbers, smallest value of the column first."""
        if column not in self._orders:
            self._orders[column] = np.argsort(self.columns[column])
        return self._orders[column]

    def sorted(self, column: int) -> Floats:
        """Return the column's values, smallest first."""
        if column not in self._sorted:
            self._sorted[column] = np.sort(self.columns[column])
        return self._sorted[column]


def games(network: Network) -> list[Game]:
    """Return the games whose values, weighted by the output, add up to the network's."""
    if network.depth == 1:
        neurons = network.layers[0].neurons
        return [Game(neurons[k].projection.columns, (int(k),)) for k in np.flatnonzero(network.output_weights)]
    return [Game(network.features_used, tuple(int(k) for k in np.flatnonzero(network.output_weights)))]


def averages(network: Network, game: Game, rows: SortedColumns, background: SortedColumns) -> Iterator[tuple[int, Floats]]:
    """Yield every coalition, a bit a player, and the mean answer of the game's neurons, shape (neurons, rows)."""
    if network.depth == 1:
        m = len(background.rows)
        for coalition, counts in enumerate(neuron_counts(network, game.neurons[0], rows, background)):
            yield coalition, (2.0 * counts / m - 1.0)[np.newaxis]
    else:
        for coalition in range(1 << len(game.players)):
            known = [player for bit, player in enumerate(game.players) if coalition >> bit & 1]
            yield coalition, mixed_answers(network, known, rows.rows, background.rows)[list(game.neurons)]


def neuron_counts(network: Network, neuron: int, rows: SortedColumns, background: SortedColumns) -> Iterator[Ints]:
    """Yield for every coalition of a first-layer neuron's inputs, in order, the firing background rows of each row."""
    for coalition in range(1 << len(network.layers[0].neurons[neuron].projection.columns)):
        yield coalition_counts(network, neuron, coalition, rows, background)


def coalition_counts(network: Network, neuron: int, coalition: int, rows: SortedColumns, background: SortedColumns) -> Ints:
    """Return for every row how many background rows make a first-layer neuron fire, a bit of `coalition` an input."""
    asked = network.layers[0].neurons[neuron]
    (columns, weights), threshold = asked.projection.arrays, asked.threshold
    if coalition == 0:
        drawn = background.columns[columns] * weights[:, np.newaxis]
        total = int(np.count_nonzero(_sums(drawn) >= threshold))
        return np.full(len(rows.rows), total, dtype=np.int64)
    fixed = rows.columns[columns] * weights[:, np.newaxis]
    if coalition == (1 << len(columns)) - 1:
        return np.where(_sums(fixed) >= threshold, len(background.rows), 0)
    if len(columns) == 2:
        known, other = coalition - 1, 2 - coalition
        upwards = rows.order(columns[known])[:: 1 if weights[known] > 0 else -1]
        downwards = (background.sorted(columns[other]) * weights[other])[:: -1 if weights[other] > 0 else 1]
        counts = np.empty(len(rows.rows), dtype=np.int64)
        count_merged(fixed[known], upwards, downwards, threshold, counts)
        return counts
    places = np.array([place for place in range(len(columns)) if not coalition >> place & 1])
    return _count(fixed.T, places, (background.columns[columns] * weights[:, np.newaxis]).T, threshold)


def _sums(products: Floats) -> Floats:
    """Return the projections: the rows of `products`, one a column of the table, added from first to last."""
    total = np.zeros(products.shape[1])
    for count, product in enumerate(products):
        total = total + product if count else product
    return total


def _count(fixed: Floats, places: Ints, drawn: Floats, threshold: float) -> Ints:
    """Count the background rows that make each row fire when they fill `places`, for three inputs and more."""
    fixed = np.ascontiguousarray(fixed)
    counts = np.empty(len(fixed), dtype=np.int64)
    if len(places) == 1:
        count_searched(fixed, int(places[0]), np.sort(drawn[:, places[0]]), threshold, counts)
        return counts
    distinct, times = np.unique(drawn[:, places], axis=0, return_counts=True)
    sums = distinct.sum(axis=1)
    order = np.argsort(sums)
    above = np.append(np.cumsum(times[order][::-1])[::-1], 0)
    count_windowed(fixed, places, distinct[order], sums[order], above, threshold, counts)
    return counts


def mixed_answers(network: Network, known: list[int], rows: Floats, background: Floats) -> Floats:
    """Return the mean last-layer answers with the known columns from a row and the rest from the background."""
    means = np.empty((network.widths[-1], len(rows)))
    at_once = max(1, _BLOCK // len(background))
    for start in range(0, len(rows), at_once):
        block = rows[start : start + at_once]
        mixed = np.tile(background, (len(block), 1))
        mixed[:, known] = np.repeat(block[:, known], len(background), axis=0)
        fires = network.hidden(mixed).reshape(len(block), len(background), -1)
        means[:, start : start + at_once] = fires.mean(axis=1).T
    return means


@cache
def shapley_weights(players: int) -> tuple[float, ...]:
    """Return the weight of joining a coalition of each size, 0 to players - 1: it depends on the players alone.

    A column that a neuron does not read changes nothing, so the sum over all coalitions of all columns collapses to
    the neuron's own: a one-feature neuron gets weight 1.
    """
    return tuple(factorial(size) * factorial(players - size - 1) / factorial(players) for size in range(players))


@cache
def interaction_weights(players: int) -> tuple[float, ...]:
    """Return the weight of a pair joining a coalition of each size, 0 to players - 2."""
    return tuple(
        factorial(size) * factorial(players - size - 2) / factorial(players - 1) for size in range(players - 1)
    )
