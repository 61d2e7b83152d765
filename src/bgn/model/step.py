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


def shaped(value: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    """Return a read-only array of one shape, or say what is wrong with it."""
    array = frozen(value, name, len(shape))
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}.")
    return array


def sums_that_fit(base: Floats, weights: Floats) -> None:
    """Refuse outputs whose sum may be too large for a float."""
    with np.errstate(over="ignore"):
        fits = np.isfinite(np.abs(base) + np.abs(weights).sum(axis=0)).all()
    if not fits:
        raise ValueError(
            "output_weights and base must add up to a number that float64 can hold, signs left aside, or "
            "predictions would be infinite. Rescale the target."
        )


def any_output(numbers: Floats) -> Bools:
    """Return where a number, or a row of them, is not zero."""
    return np.asarray((numbers != 0) if numbers.ndim == 1 else (numbers != 0).any(axis=1))


def all_finite(numbers: NDArray[np.floating]) -> bool:
    """Return whether all numbers are finite; mostly their sum tells."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(numbers.sum()) or np.isfinite(numbers).all())
