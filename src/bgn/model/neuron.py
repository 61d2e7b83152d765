"""A yes/no question about a row: a sum over a few columns that is compared with a threshold.

A column of numbers enters the sum times a coefficient; a category enters with one value per level, so that "city in
Lille, Nice" is a value of 1 for either and a threshold of 1, and "hour >= 10, or >= 16 on working days" is a sum of
both kinds. Rows are arrays of float64 in which a category is the number of its level and NaN stands for a gap: either
a neuron has an answer for gaps, or its projection says what a gap in each column counts as.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bgn.model.step import Bools, Floats, step

Coefficient = float | tuple[float, ...]


@dataclass(frozen=True)
class Projection:
    """A sum over columns, in their order, each rounded once.

    Parameters
    ----------
    columns : tuple of int
        The columns it reads, in order.
    coefficients : tuple of float or tuple of float
        For each column a factor, or, for a category, one value per level.
    gaps : tuple of float or None, default None
        What a gap counts as, column by column: a value of the column, or, for a category and where the coefficient is
        0, what it adds to the sum. None where a gap leaves no sum.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.neuron import Projection
    >>> Projection((0, 2), (1.0, (0.0, -6.0))).values(np.array([[12.0, 5.0, 0.0], [12.0, 5.0, 1.0]]))
    array([12.,  6.])
    >>> Projection((0, 1), (1.0, 0.5), gaps=(20.0, 3.0)).values(np.array([[np.nan, 4.0], [12.0, np.nan]]))
    array([22. , 13.5])
    """

    columns: tuple[int, ...]
    coefficients: tuple[Coefficient, ...]
    gaps: tuple[float, ...] | None = None

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], Floats]:
        """Columns and factors for a kernel; only where no column is a category."""
        return np.array(self.columns, np.int64), np.array(self.coefficients, np.float64)

    @property
    def factors(self) -> tuple[float, ...]:
        """The coefficients; only where no column is a category."""
        return cast(tuple[float, ...], self.coefficients)

    @property
    def numeric(self) -> bool:
        """True where no column is a category."""
        return not any(isinstance(each, tuple) for each in self.coefficients)

    @property
    def numbers(self) -> Iterator[float]:
        """Every number in it."""
        for each in self.coefficients:
            yield from each if isinstance(each, tuple) else (each,)
        yield from self.gaps or ()

    def at(self, place: int) -> Projection:
        """What the column at a place of `columns` adds, as a projection of its own."""
        gaps = None if self.gaps is None else self.gaps[place : place + 1]
        return Projection(self.columns[place : place + 1], self.coefficients[place : place + 1], gaps)

    def values(self, rows: NDArray[Any]) -> Floats:
        """Return the sum for every row; NaN where a column it reads has a gap that counts as nothing."""
        total = np.zeros(len(rows))
        gaps = self.gaps or (np.nan,) * len(self.columns)
        for count, (column, coefficient, gap) in enumerate(zip(self.columns, self.coefficients, gaps, strict=True)):
            part = rows[:, column]
            if isinstance(coefficient, tuple):
                part = _looked_up(part, coefficient, gap)
            else:
                part = part * coefficient
                if self.gaps is not None:
                    part = np.where(np.isnan(part), gap * (coefficient or 1.0), part)
            total = total + part if count else part
        return total


def _looked_up(levels: Floats, values: tuple[float, ...], gap: float) -> Floats:
    """Return the value of every row's level, or of a gap."""
    missing = np.isnan(levels)
    return np.append(values, gap)[np.where(missing, len(values), levels).astype(np.int64)]


@dataclass(frozen=True)
class Neuron:
    """Fires when its projection reaches the threshold.

    Parameters
    ----------
    projection : Projection
    threshold : float
    missing : bool or None, default None
        Whether it fires where a gap leaves no sum; None where gaps are refused, or count as something. A neuron that
        reads one column with coefficient 0 asks for gaps alone.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.neuron import Neuron, Projection
    >>> Neuron(Projection((0,), (1.0,)), 65.5, missing=True).fires(np.array([[65.5], [65.4], [np.nan]]))
    array([ True, False,  True])
    >>> Neuron(Projection((0,), (0.0,)), 1.0, missing=True).fires(np.array([[65.5], [np.nan]]))
    array([False,  True])
    """

    projection: Projection
    threshold: float
    missing: bool | None = None

    @property
    def takes_gaps(self) -> bool:
        """True where it has an answer for gaps."""
        return self.missing is not None or self.projection.gaps is not None

    def fires(self, rows: NDArray[Any]) -> Bools:
        """Return whether it fires, for every row."""
        values = self.projection.values(rows)
        answers = step(values - self.threshold) > 0
        return np.where(np.isnan(values), bool(self.missing), answers) if self.missing is not None else answers
