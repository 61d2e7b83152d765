"""The regions that neurons part the rows into: how they are told apart, and put together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bgn.engines.integers import Integers

# Keys of regions; their weights and target sums, or the weights of their classes.
Regions = tuple[NDArray[np.uint64], Integers]


def merge_regions(parts: Sequence[Regions]) -> Regions:
    """Keys and sums of the regions of several parts, as one."""
    if len(parts) == 1:
        return parts[0]
    keys, number = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    sums = np.zeros((len(keys), parts[0][1].shape[1]), np.int64)
    np.add.at(sums, number, np.concatenate([part for _, part in parts]))
    return keys, sums


@cache
def _keys(groups: int) -> NDArray[np.uint64]:
    """A random number for each of the 256 answers of every group of eight neurons."""
    with np.errstate(over="ignore"):
        keys = mix(np.arange(1, 256 * groups + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return keys.reshape(groups, 256)


def region_keys(width: int) -> NDArray[np.uint64]:
    """The same for the first `width` slots alone: bits beyond hold old answers."""
    groups = (width + 7) >> 3
    keys = _keys(1 << groups.bit_length())[:groups].copy()
    if width & 7:
        keys[-1] = keys[-1][np.arange(256) & ((1 << (width & 7)) - 1)]
    return keys


def mix(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))
