"""From scores to predictions: what the sum of a network's terms means.

One entry per link, by name: the number itself, the probability of "yes", the probabilities of several classes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bgn.model.step import Floats


def identity(scores: Floats) -> Floats:
    """Return the scores: they are the predictions."""
    return scores


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


LINKS: dict[str, Callable[[Floats], Floats]] = {"identity": identity, "logistic": logistic, "softmax": softmax}
