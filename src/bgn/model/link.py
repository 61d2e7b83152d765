"""From scores to predictions: what the sum of a network's terms means.

One entry per link, by name: the number itself, the probability of "yes", the probabilities of several classes. Numbers
may have bounds, which are part of the link: a score beyond them predicts the nearer one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bgn.model.step import Floats


def logistic(scores: Floats) -> Floats:
    """Return the probability of "yes" for scores that are log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.link import logistic
    >>> logistic(np.array([-800.0, 0.0, 800.0]))
    array([0. , 0.5, 1. ])
    """
    odds = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, odds) / (1.0 + odds)


def softmax(scores: Floats) -> Floats:
    """Return the probabilities of the classes, one column per class.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.model.link import softmax
    >>> softmax(np.array([[0.0, 0.0], [900.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


LINKS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda scores: scores, "logistic": logistic, "softmax": softmax,
}  # fmt: skip


def prediction_bounds(given: Any) -> tuple[float, float] | None:
    """Return what predictions may not go beyond, infinite for an open end; None where both are open."""
    if given is None:
        return None
    try:
        low, high = (math.inf * side if end is None else float(end) for side, end in zip((-1, 1), given, strict=True))
    except (TypeError, ValueError):
        low = high = math.nan
    if not low < high:
        raise ValueError(f"bounds must be two ends, (low, high) with None for an open one; got {given!r}.")
    return None if (low, high) == (-math.inf, math.inf) else (low + 0.0, high + 0.0)


def bounded(scores: Floats, bounds: tuple[float, float] | None) -> Floats:
    """Return scores with those beyond the bounds moved to the nearer one."""
    if bounds is None:
        return scores
    low, high = bounds
    return np.where(scores < low, low, np.where(scores > high, high, scores))


def checked_link(link: str, bounds: Any) -> tuple[float, float] | None:
    """Return bounds as :func:`prediction_bounds` does, if they go with a link that there is."""
    if link not in LINKS:
        raise ValueError(f"link must be one of {', '.join(map(repr, LINKS))}; got {link!r}.")
    ends = prediction_bounds(bounds)
    if ends is not None and link != "identity":
        raise ValueError(f"bounds are for numbers, whose link is 'identity'; got {bounds!r} and {link!r}.")
    return ends
