"""Classes as explanations speak of them: their labels, the score of each, and their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.inputs.refusal import did_you_mean
from bgn.model.network import Network
from bgn.model.schema import Level, level_word
from bgn.model.step import Floats
from bgn.model.terms import outputs_of
from bgn.model.told import swapped
from bgn.printable import Quoted, quote_category, quote_name

# Rows that are evaluated at a time.
_BLOCK = 1 << 16


def class_labels(network: Network) -> tuple[Level, ...]:
    """Return the labels of the classes that a network tells apart: their numbers where it does not name them."""
    return network.schema.classes or tuple(range(max(2, np.size(network.base))))


def class_number(network: Network, label: Any, argument: str) -> int:
    """Return the number of the class that a label names."""
    labels = class_labels(network)
    for number, known in enumerate(labels):
        if known == label and isinstance(known, str) == isinstance(label, str):
            return number
    words = list(map(level_word, labels))
    if isinstance(label, str) and words.count(label) == 1:
        return words.index(label)
    raise ValueError(
        f"{argument} must be one of the classes {', '.join(map(repr, labels[:10]))}; got {label!r}."
        f"{did_you_mean(str(label), words)}"
    )


def score_of(network: Network, label: Any, argument: str = "of") -> Network:
    """Return the network whose prediction is the score of one class; of two, the log-odds of that class.

    Of two classes the second where `label` is None.
    """
    outputs = outputs_of(network)
    if network.link == "identity":
        if label is not None:
            raise ValueError(f"{argument} names a class; the model predicts a number. Leave it out.")
        return outputs[0]
    if label is None and len(outputs) > 1:
        known = ", ".join(map(repr, class_labels(network)[:10]))
        raise ValueError(f"{argument} must name one of the classes, {known}; got None.")
    number = len(outputs) if label is None else class_number(network, label, argument)
    if len(outputs) > 1:
        return outputs[number]
    return outputs_of(network if number == 1 else swapped(network))[0]


def probabilities_of(network: Network, scores: Floats) -> Floats:
    """Return the probabilities of all classes, one column per class, from raw scores."""
    found = network.linked(scores)
    return found if found.ndim == 2 else np.stack([1.0 - found, found], axis=1)


def predicted_of(network: Network, number: int, scores: Floats) -> Floats:
    """Return the probability of the class `number` from raw scores; of a number, the prediction within its bounds."""
    return network.linked(scores) if network.link == "identity" else probabilities_of(network, scores)[:, number]


def mean_predictions(network: Network, number: int, columns: list[int], values: Floats, background: Floats) -> Floats:
    """Return the mean over the background of what `predicted_of` says when columns have each row of `values`."""
    found = np.empty(len(values))
    at_once = max(1, _BLOCK // len(background))
    for start in range(0, len(values), at_once):
        block = values[start : start + at_once]
        mixed = np.tile(background, (len(block), 1))
        mixed[:, columns] = np.repeat(block, len(background), axis=0)
        predictions = predicted_of(network, number, network._raw_score(mixed))
        found[start : start + at_once] = predictions.reshape(len(block), -1).mean(axis=1)
    return found


def prediction_title(network: Network, number: int) -> str | None:
    """Return what the probability of a class is called, such as "probability of Churn = Yes"; a number by its name."""
    if network.link == "identity":
        return network.target_name
    word = quote_category(level_word(class_labels(network)[number]))
    return Quoted(f"probability of {quote_name(network.target_name or 'class')} = {word}")
