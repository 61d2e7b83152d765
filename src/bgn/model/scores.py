"""Base, lines and questions of a network added up, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bgn.model.step import Floats

if TYPE_CHECKING:
    from bgn.model.network import Network

# Rows of a block: what a processor holds close by.
_ROWS = 1 << 14
_FEWEST = 1 << 12
# Up to so many columns a block is copied, column by column, before questions read it.
_COPIED = 64


def raw_scores(network: Network, rows: Floats) -> Floats:
    """Return base, lines and questions added up, in a fixed order, for every row as the first layer reads it.

    Parameters
    ----------
    network : Network
    rows : ndarray of float64, shape (rows, n_inputs)

    Returns
    -------
    ndarray of float64, shape (rows,) or (rows, outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Layer, Network
    >>> from bgn.model.scores import raw_scores
    >>> raw_scores(Network([Layer([[1.0]], [-65.5])], [0.5], 1.0), np.array([[70.0], [60.0]]))
    array([1.5, 0.5])
    """
    base, weights, over = network.summands
    total = np.empty((len(rows), *weights.shape[1:]))
    size = _ROWS if network.n_inputs <= _COPIED // 4 and network.depth == 1 else _FEWEST
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        block = np.asfortranarray(block) if network.n_inputs <= _COPIED else block
        sums = np.empty((*weights.shape[1:], len(block)))  # one contiguous sum per output
        sums.T[:] = base
        for term in network.linear_terms:
            sums += np.multiply.outer(term.slopes if sums.ndim > 1 else term.slopes[0], term.values(block))
        for fires, weight in zip(_fired(network, block), weights, strict=True):
            sums += np.where(fires, weight[..., np.newaxis], -weight[..., np.newaxis])
        total[start : start + size] = sums.T
    return total if over == 1.0 else np.divide(total, over, out=total)


def _fired(network: Network, block: Floats) -> Iterator[np.ndarray]:
    """Yield which rows of a block fire, neuron by neuron of the last layer."""
    *below, last = network.layers
    for layer in below:
        block = layer.fire(block)
    if last.dense:
        yield from last.fire(block).T > 0
    else:
        yield from (neuron.fires(block) for neuron in last.neurons)
