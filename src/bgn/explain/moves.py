"""Two rows, equal but in one column, whose predictions within bounds move as their scores do."""

from __future__ import annotations

import numpy as np

from bgn.explain.attainable.domain import Domain
from bgn.explain.crossings import crossings
from bgn.model.network import Network
from bgn.model.step import Floats

_ROWS = 4096


def within_bounds(
    network: Network, domain: Domain, column: int, sign: float, pair: tuple[Floats, Floats]
) -> tuple[Floats, Floats] | None:
    """Return two rows, the second higher in a column, whose predictions rise, or fall where `sign` is -1.

    The pair itself, whose scores do, or one of rows on both sides of the thresholds; None where none is found.
    """
    rows = _tried(network, domain, column, pair)
    low, high = rows.copy(), rows.copy()
    values = _values(network, domain, column, rows)
    values = values[~np.isnan(values)]  # gaps have no place in the order
    ends = np.sort(np.random.default_rng(1).choice(values, (len(rows), 2)), axis=1)
    ends[::2] = pair[0][column], pair[1][column]
    low[:, column], high[:, column] = ends.T
    low[0], high[0] = pair
    moves = sign * (network.predict_encoded(high) - network.predict_encoded(low))
    reach = abs(network.base) + float(np.abs(network.output_weights).sum())
    best = int(moves.argmax())
    return (low[best], high[best]) if moves[best] > 1e-12 * reach else None


def _tried(network: Network, domain: Domain, column: int, pair: tuple[Floats, Floats]) -> Floats:
    """Return rows that the questions tell apart, those of the pair's other columns among them."""
    rng, rows = np.random.default_rng(0), np.tile(pair[0], (_ROWS, 1))
    for other in network.features_used:
        if other != column:
            moved = rng.random(_ROWS) < 0.5
            rows[moved, other] = rng.choice(_values(network, domain, other, rows[:64]), int(moved.sum()))
    return rows


def _values(network: Network, domain: Domain, column: int, rows: Floats) -> Floats:
    """Return values of a column on both sides of where questions change their answers, and a gap where it may be."""
    gap = [np.nan] if domain.gaps[column] else []
    levels = domain.levels[column]
    if levels is not None:
        return np.array([*map(float, levels), *gap])
    first = network.layers[0]
    asked = [first.neurons[k] for k in np.flatnonzero(first.reads[:, column])]
    edges = np.unique(np.concatenate([rows[:1, column], *(crossings(each, column, rows[:64]) for each in asked)]))
    edges = edges[np.isfinite(edges)]  # a question about gaps alone changes nowhere
    low, high = domain.low[column], domain.high[column]
    values = np.concatenate([edges, np.nextafter(edges, -np.inf), edges + 1.0, edges - 1.0, [low, high]])
    if domain.whole[column]:
        values = np.concatenate([np.floor(values), np.ceil(values)])
    values = values[np.isfinite(values) & (values >= low) & (values <= high)]
    return np.array([*(values if len(values) else rows[:1, column]), *gap])
