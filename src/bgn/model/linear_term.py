"""Straight lines beside the questions: what a column adds per unit, between two ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgn.model.schema import Schema
from bgn.model.step import Floats, any_output


@dataclass(frozen=True)
class LinearTerm:
    """What one column adds per unit; a value beyond an end counts as that end.

    Parameters
    ----------
    column : int
    slopes : tuple of float
        What a unit adds to each output.
    low, high : float
        The ends; infinite where there are none.
    gap : float
        What a gap counts as; NaN where gaps are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.linear_term import LinearTerm
    >>> LinearTerm(0, (0.5,), 20.0, 40.0, gap=30.0).values(np.array([[10.0], [25.0], [np.nan]]))
    array([20., 25., 30.])
    """

    column: int
    slopes: tuple[float, ...]
    low: float = -np.inf
    high: float = np.inf
    gap: float = np.nan

    @property
    def clipped(self) -> bool:
        """True where it has an end."""
        return bool(np.isfinite([self.low, self.high]).any())

    def values(self, rows: NDArray[Any]) -> Floats:
        """Return what its column counts as in every row: between the ends, gaps filled."""
        return self.between(rows[:, self.column])

    def between(self, values: NDArray[Any]) -> Floats:
        """Return values of the column, gaps filled and none beyond an end."""
        there = np.where(np.isnan(values), self.gap, values)
        return np.minimum(np.maximum(there, self.low), self.high)


def ends_of(ranges: ArrayLike | None, slopes: Floats | None) -> Floats | None:
    """Return the ends of all slopes, two per column and infinite without one, or say what is wrong; None for none."""
    if ranges is None or slopes is None:
        return None
    ends = np.array(ranges, dtype=np.float64) + 0.0
    if ends.shape != (len(slopes), 2) or not (ends[:, 0] <= ends[:, 1]).all() or np.isposinf(ends[:, 0]).any():
        raise ValueError(f"ranges must be one pair (low, high) per column, low first; got {ranges!r}.")
    ends[~any_output(slopes)] = -np.inf, np.inf
    ends.setflags(write=False)
    return ends if np.isfinite(ends).any() else None


def as_slopes(terms: Sequence[LinearTerm], n_inputs: int, outputs: tuple[int, ...]) -> dict[str, Floats]:
    """Return slopes and ranges of a network with these terms, by name; nothing without any."""
    if not terms:
        return {}
    slopes, ranges = np.zeros((n_inputs, *outputs)), np.tile([-np.inf, np.inf], (n_inputs, 1))
    for term in terms:
        slopes[term.column] = term.slopes if outputs else term.slopes[0]
        ranges[term.column] = term.low, term.high
    return {"slopes": slopes, "ranges": ranges}


def linear_terms_of(slopes: Floats | None, ranges: Floats | None, schema: Schema) -> tuple[LinearTerm, ...]:
    """Return the linear terms of a network, by column."""
    if slopes is None:
        return ()
    found = []
    for j in np.flatnonzero(any_output(slopes)).tolist():
        low, high = (-np.inf, np.inf) if ranges is None else ranges[j].tolist()
        typical = schema.columns[j].typical
        slope = tuple(np.atleast_1d(slopes[j]).tolist())
        found.append(LinearTerm(j, slope, low, high, np.nan if typical is None else float(typical)))
    return tuple(found)
