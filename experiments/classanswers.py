"""What a fitted model says of the test rows of a table with classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.classdata import ClassRows, Floats


@dataclass(frozen=True, eq=False)
class Answer:
    """What a fitted model says of the test rows.

    Parameters
    ----------
    probabilities : ndarray, shape (rows, classes)
    seconds : float
        To fit it.
    size : int or None
        Questions; None where it has no such size.
    scores : ndarray, shape (rows,), or None
        What two classes are ranked by where that is not the probability of the second.
    setting : str
        What was chosen, in words.
    """

    probabilities: Floats
    seconds: float
    size: int | None = None
    scores: Floats | None = None
    setting: str = ""


Fit = Callable[[ClassRows, int, int], Answer]
"""Rows, the number of questions and the seed in; what it says of the test rows out."""

SURE = 1e-3
"""No probability is taken to be nearer to 0 or 1 than this: one leaf that is sure and wrong would decide a log loss."""


def within_reason(probabilities: Floats) -> Floats:
    """Return probabilities of at least `SURE` that add up to 1 in every row.

    Examples
    --------
    >>> import numpy as np
    >>> within_reason(np.array([[0.0, 1.0], [0.25, 0.75]])).round(3)
    array([[0.001, 0.999],
           [0.25 , 0.75 ]])
    """
    kept = np.clip(probabilities, SURE, 1.0 - SURE)
    return kept / kept.sum(axis=1, keepdims=True)


def both(second: Floats) -> Floats:
    """Return the probabilities of both classes from those of the second."""
    kept = np.clip(np.ravel(second), 0.0, 1.0)
    return np.column_stack([1.0 - kept, kept])
