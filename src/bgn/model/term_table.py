"""A network of several classes as one table: every question once, with what it adds to each class's score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from bgn.model.decimals import EXACT, written
from bgn.model.schema import level_word
from bgn.model.step import Floats
from bgn.model.terms import Term, Terms, as_terms, network_of, outputs_of


@dataclass(frozen=True)
class TermTable:
    """Scores of classes as starts plus what questions that hold add, which may be below zero.

    Attributes
    ----------
    asked : Terms
        The questions, each asked so that what it changes most it raises, the heaviest first.
    starts : tuple of Decimal
        The score of every class when no question holds.
    amounts : tuple of tuple of Decimal
        For every question, what it adds to the score of each class.
    classes : tuple of str
        Their labels in words.
    """

    asked: Terms
    starts: tuple[Decimal, ...]
    amounts: tuple[tuple[Decimal, ...], ...]
    classes: tuple[str, ...]

    def evaluate(self, X: Any) -> Floats:
        """Return the score of every class: starts and the amounts of the questions that hold, added up.

        Parameters
        ----------
        X : array_like or frame, shape (rows, columns)

        Returns
        -------
        ndarray of float64, shape (rows, classes)
        """
        found = []
        for k, start in enumerate(self.starts):
            own = [replace(term, amount=each[k]) for term, each in zip(self.asked.terms, self.amounts, strict=True)]
            found.append(replace(self.asked, start=start, terms=tuple(own)).evaluate(X))
        return np.stack(found, axis=1)


def as_table(model: Any) -> TermTable:
    """Return a model of several classes as one table of questions by classes.

    Parameters
    ----------
    model : Network or fitted estimator
        Of more than two classes, without slopes; :func:`bgn.as_terms` is for the others.

    Returns
    -------
    TermTable

    Examples
    --------
    >>> from bgn import Layer, Network, as_table
    >>> network = Network([Layer([[1.0]], [-2.0])], [[1.0, -0.5, 0.0]], [0.0, 1.0, 0.5], ["age"], link="softmax")
    >>> table = as_table(network)
    >>> table.starts, table.amounts
    ((Decimal('-1.0'), Decimal('1.5'), Decimal('0.5')), ((Decimal('2.0'), Decimal('-1.0'), Decimal('0.0')),))
    >>> table.evaluate([[3.0]]), network.raw_score([[3.0]])
    (array([[1. , 0.5, 0.5]]), array([[1. , 0.5, 0.5]]))
    """
    network = network_of(model, plain=False)
    if network.link != "softmax" or network.slopes is not None:
        raise ValueError("model must tell classes apart, one score per class, without slopes. Use bgn.as_terms.")
    weights = network.output_weights
    heaviest = np.abs(weights).argmax(axis=1) if weights.shape[1] else np.zeros(len(weights), dtype=np.intp)
    lead = weights[np.arange(len(weights)), heaviest]
    (first, *_) = outputs_of(network)
    asked = as_terms(first.changed(output_weights=lead, base=0.0))
    starts = [written(base) for base in network.base.tolist()]
    told = {term.neuron for term in asked.terms}
    for neuron, own in enumerate(weights.tolist()):
        fires = lead[neuron] < 0 if neuron in told else network.layers[-1].bias[neuron] >= 0
        answer = 1 if fires else -1  # where the question does not hold; the only one where there is none
        starts = [
            EXACT.add(start, EXACT.multiply(Decimal(answer), written(each)))
            for start, each in zip(starts, own, strict=True)
        ]
    amounts = tuple(tuple(_amount(term, each, lead) for each in weights[term.neuron].tolist()) for term in asked.terms)
    labels = network.schema.classes or tuple(range(weights.shape[1]))
    asked = replace(asked, schema=replace(asked.schema, target=network.target_name, target_unit=""))
    return TermTable(asked, tuple(starts), amounts, tuple(map(level_word, labels)))


def _amount(term: Term, weight: float, lead: Floats) -> Decimal:
    """Return what a question adds to a score when it holds."""
    twice = EXACT.multiply(Decimal(2), written(weight))
    return EXACT.minus(twice) if lead[term.neuron] < 0 else twice
