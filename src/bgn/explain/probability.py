"""Probabilities of classes, averaged over a background, and what they are called."""

from __future__ import annotations

import numpy as np

from bgn.explain.subject import class_labels, probabilities_of
from bgn.model.network import Network
from bgn.model.schema import level_word
from bgn.model.step import Floats

# Rows that are evaluated at a time.
_BLOCK = 1 << 16


def mean_probabilities(network: Network, number: int, columns: list[int], values: Floats, background: Floats) -> Floats:
    """Return the mean probability of a class over the background when columns have each row of `values`."""
    found = np.empty(len(values))
    at_once = max(1, _BLOCK // len(background))
    for start in range(0, len(values), at_once):
        block = values[start : start + at_once]
        mixed = np.tile(background, (len(block), 1))
        mixed[:, columns] = np.repeat(block, len(background), axis=0)
        probabilities = probabilities_of(network, network._raw_score(mixed))[:, number]
        found[start : start + at_once] = probabilities.reshape(len(block), -1).mean(axis=1)
    return found


def probability_title(network: Network, number: int) -> str:
    """Return what the probability of a class is called, such as "probability of Churn = Yes"."""
    return f"probability of {network.target_name or 'class'} = {level_word(class_labels(network)[number])}"
