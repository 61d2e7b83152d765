"""Validation rows, chosen by what a row holds and never by where it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(h: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def row_hashes(X: NDArray[Any], y: NDArray[np.float64], seed: int) -> Hashes:
    """Return a 64-bit hash of every row's content, the target included."""
    with np.errstate(over="ignore"):
        h = np.full(len(y), _mix(np.array([seed], dtype=np.uint64) + _GOLDEN)[0])
        for column in [*(X[:, j] for j in range(X.shape[1])), y]:
            bits = (column.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: both zeros are one value
            h = _mix((h ^ bits) * _GOLDEN + _GOLDEN)
    return h


def lowest(hashes: Hashes, weight: NDArray[np.int64] | None, share: float) -> NDArray[np.bool_]:
    """Mark the rows of lowest hash that together weigh nearest to `share` of all; equal rows go together.

    Never marks everything: where all rows are equal nothing is marked.
    """
    order = np.argsort(hashes, kind="stable")
    sorted_hashes = hashes[order]
    heavy = np.ones(len(hashes), np.int64) if weight is None else weight[order]
    ends = np.flatnonzero(np.append(sorted_hashes[1:] != sorted_hashes[:-1], True))
    reached = np.cumsum(heavy)[ends]
    wanted = share * float(reached[-1])
    marked = np.zeros(len(hashes), dtype=bool)
    if len(ends) > 1 and share > 0:
        choice = int(np.argmin(np.abs(reached[:-1] - wanted)))
        marked[order[: ends[choice] + 1]] = True
    return marked
