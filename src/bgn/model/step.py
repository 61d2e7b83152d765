"""The only activation there is, and what arrays of numbers look like everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def step(z: ArrayLike) -> Floats:
    """Return +1 where ``z >= 0`` and -1 elsewhere: the only activation there is.

    Parameters
    ----------
    z : array_like
        Any shape.

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> from bgn import step
    >>> step([-0.5, 0.0, 2.0])
    array([-1.,  1.,  1.])
    """
    return np.where(np.asarray(z) >= 0, 1.0, -1.0)


def frozen(value: ArrayLike, name: str, *dimensions: int) -> Floats:
    """Return a read-only float64 copy of `value` with as many dimensions as allowed, or say what is wrong with it."""
    array = np.array(value, dtype=np.float64) + 0.0  # -0.0 becomes 0.0, so that equal arrays hash alike
    if array.ndim not in dimensions:
        wanted = " or ".join(map(str, dimensions))
        raise ValueError(f"{name} must have {wanted} dimension{'s' * (dimensions != (1,))}; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; got {array[~np.isfinite(array)][0]} in it.")
    array.setflags(write=False)
    return array


def all_finite(numbers: NDArray[np.floating]) -> bool:
    """Return whether all numbers are finite; mostly their sum tells."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(numbers.sum()) or np.isfinite(numbers).all())
