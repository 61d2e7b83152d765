"""Rows whose class is known, with what a network says of them, and the curves that judge it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.classes import class_labels
from bgn.explain.subject import rows_of
from bgn.inputs.classes import codes_of
from bgn.inputs.per_row import weights
from bgn.model.link import LINKS
from bgn.model.network import Network
from bgn.model.schema import level_word
from bgn.model.step import Bools, Floats
from bgn.model.terms import network_of


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """What became of rows and what was said of them.

    Parameters
    ----------
    classes : tuple
        The labels, in order.
    codes : ndarray of int, shape (rows,)
        The class of every row.
    scores : ndarray of float64, shape (rows, classes)
        Up to a number per row the logarithm of the probabilities.
    weight : ndarray of float64, shape (rows,)
        What every row counts for.
    evenly : int
        Which of two equally probable classes is said.
    """

    classes: tuple[Any, ...]
    codes: NDArray[np.intp]
    scores: Floats
    weight: Floats
    evenly: int = 0

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any = None) -> JudgedRows:
        """Ask a model about rows, and check the arguments."""
        network = network_with_classes(model)
        rows = rows_of(network, X, "X")
        return cls.encoded(network, rows, codes_of(network, y, len(rows)), sample_weight)

    @classmethod
    def encoded(cls, network: Network, rows: Floats, codes: Any, sample_weight: Any = None) -> JudgedRows:
        """Ask a network about rows and classes that are numbers already."""
        scores = network.predict_encoded(rows, scores=True)
        return cls.scored(class_labels(network), scores, codes, sample_weight)

    @classmethod
    def scored(cls, classes: Any, scores: Floats, codes: Any, sample_weight: Any = None) -> JudgedRows:
        """Take the scores of two classes as log-odds of the second, or one column per class."""
        if scores.ndim == 2 and len(classes) == 2:
            scores = scores[:, 1] - scores[:, 0]
        columns = np.stack([np.zeros(len(scores)), scores], axis=1) if scores.ndim == 1 else scores
        weight = np.ones(len(codes)) if sample_weight is None else weights(sample_weight, len(codes))
        if not weight.sum() > 0:
            raise ValueError("sample_weight must be positive for some row; it is zero for all.")
        return cls(tuple(classes), np.asarray(codes).astype(np.intp), columns, np.asarray(weight, np.float64))

    @property
    def words(self) -> list[str]:
        """The labels, as words."""
        return [level_word(label) for label in self.classes]

    @cached_property
    def log_probabilities(self) -> Floats:
        """Of every class, one column each."""
        return np.asarray(self.scores - np.logaddexp.reduce(self.scores, axis=1, keepdims=True))

    @cached_property
    def probabilities(self) -> Floats:
        """Of every class, one column each: those that are predicted."""
        if len(self.classes) > 2:
            return LINKS["softmax"](self.scores)
        second = LINKS["logistic"](self.scores[:, 1])
        return np.stack([1.0 - second, second], axis=1)

    @cached_property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable class of every row; of equally probable ones the first."""
        if self.evenly:
            return (self.scores[:, 1] >= self.scores[:, 0]).astype(np.intp)
        return self.scores.argmax(axis=1)

    def turned(self) -> JudgedRows:
        """Return the same, of two classes, with the first as the second."""
        scores = np.stack([np.zeros(len(self.scores)), -self.scores[:, 1]], axis=1)
        return JudgedRows(self.classes[::-1], 1 - self.codes, scores, self.weight, 1 - self.evenly)

    def is_class(self, k: int) -> Bools:
        """Which rows are of a class."""
        return np.asarray(self.codes == k)

    def of_class(self, k: int) -> OneClass:
        """One class against the others."""
        # The log-odds order rows as the probability does where that has run out of digits.
        if len(self.classes) == 2:
            order = self.scores[:, 1] if k else -self.scores[:, 1]
        else:
            order = self.log_probabilities[:, k]
        return OneClass(order, self.probabilities[:, k], self.is_class(k), self.weight)


@dataclass(frozen=True, eq=False)
class OneClass:
    """A class against all others: what orders the rows, its probability, which rows are of it, their weights."""

    order: Floats
    probability: Floats
    member: Bools
    weight: Floats

    @cached_property
    def steps(self) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """The weight of members and of others at every different score, from the lowest; and each row's place."""
        _, place = np.unique(self.order, return_inverse=True)
        count = int(place.max()) + 1
        parts = (np.bincount(place, self.weight * each, count) for each in (self.member, ~self.member))
        members, others = (np.asarray(each, np.float64) for each in parts)
        return members, others, place

    def roc(self) -> tuple[Floats, Floats]:
        """The false and true positive rates, from none called positive to all."""
        members, others, _ = self.steps
        rates = (np.concatenate([[0.0], np.cumsum(each[::-1])]) for each in (others, members))
        found = [each / each[-1] if each[-1] else np.full(len(each), np.nan) for each in rates]
        return found[0], found[1]

    def placements(self) -> tuple[Floats, Floats]:
        """For every row the share of the others that score below it, and of the members above, ties as half; NaN
        where there are none."""
        members, others, place = self.steps
        with np.errstate(invalid="ignore"):
            below = (np.cumsum(others) - 0.5 * others) / others.sum()
            above = 1.0 - (np.cumsum(members) - 0.5 * members) / members.sum()
        return below[place], above[place]

    def auc(self) -> tuple[float, float]:
        """The chance that a member scores above another row, ties as half, and its standard error (DeLong)."""
        members, others, _ = self.steps
        if not members.any() or not others.any():
            return np.nan, np.nan
        below, above = self.placements()
        parts = [(below[self.member], self.weight[self.member])]
        parts += [(above[~self.member], self.weight[~self.member])]
        errors = [mean_and_error(*each) for each in parts]
        return errors[0][0], float(np.hypot(errors[0][1], errors[1][1]))

    def precision_recall(self) -> tuple[Floats, Floats]:
        """Precision and recall as ever more rows are called positive; before the first, precision is 1."""
        members, others, _ = self.steps
        hits, called = np.cumsum(members[::-1]), np.cumsum((members + others)[::-1])
        precision = np.divide(hits, called, out=np.ones_like(hits), where=called > 0)
        recall = hits / hits[-1] if hits[-1] else np.full(len(hits), np.nan)
        return np.concatenate([[1.0], precision]), np.concatenate([[0.0], recall])

    def average_precision(self) -> float:
        """The mean of the precision over the steps of the recall."""
        precision, recall = self.precision_recall()
        return float(np.sum(np.diff(recall) * precision[1:]))

    def net_benefit(self, thresholds: Floats) -> Floats:
        """True positives less false ones at the odds of each threshold, per row; above a threshold acts."""
        total, found = self.weight.sum(), []
        for threshold in thresholds:
            acted = self.probability > threshold
            hits = self.weight[acted & self.member].sum()
            false = self.weight[acted & ~self.member].sum()
            found.append((hits - false * threshold / (1.0 - threshold)) / total)
        return np.array(found)

    def bins(self, count: int) -> CalibrationBins:
        """Rows in bins of about the same weight by their probability; equal ones stay together."""
        return calibration_bins(self.probability, self.member, self.weight, count)


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """Mean probability, share that happened, its standard error, what that is of exact probabilities, and weight of
    each bin."""

    predicted: Floats
    observed: Floats
    error: Floats
    exact_error: Floats
    weight: Floats

    @property
    def expected_error(self) -> float:
        """The expected calibration error: the mean distance of the two, by weight."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.weight))

    @property
    def by_chance(self) -> float:
        """What the same would be, on average, if exactly these probabilities were the true ones: shares of so few rows
        are never what was said. The mean distance of a normal variable from its mean is 0.798 standard errors."""
        return float(np.average(np.sqrt(2.0 / np.pi) * self.exact_error, weights=self.weight))


def calibration_bins(probability: Floats, happened: Bools, weight: Floats, count: int) -> CalibrationBins:
    """Put rows in at most `count` bins of about the same weight by probability; equal ones stay together."""
    counted = weight > 0
    probability, happened, weight = probability[counted], happened[counted], weight[counted]
    which = bin_numbers(probability, weight, count)
    total = np.bincount(which, weight)
    predicted, observed = (np.bincount(which, weight * each) / total for each in (probability, happened))
    squares = np.bincount(which, weight**2)
    error = np.sqrt(observed * (1 - observed) * squares) / total
    exact = np.sqrt(np.bincount(which, weight**2 * probability * (1 - probability))) / total
    return CalibrationBins(predicted, observed, error, exact, np.asarray(total, np.float64))


def bin_numbers(probability: Floats, weight: Floats, count: int) -> NDArray[np.intp]:
    """Return the bin of every row, of at most `count` bins of about the same weight; equal values stay together."""
    _, place = np.unique(probability, return_inverse=True)
    heavy = np.bincount(place, weight)
    middle = (np.cumsum(heavy) - 0.5 * heavy) / heavy.sum()
    _, bin_of_value = np.unique(np.minimum((middle * count).astype(int), count - 1), return_inverse=True)
    return np.asarray(bin_of_value[place])


def mean_and_error(values: Any, weight: Floats) -> tuple[float, float]:
    """The weighted mean and its standard error; NaN where nothing counts."""
    total = float(weight.sum())
    if not total:
        return np.nan, np.nan
    mean = float(np.sum(weight * values) / total)
    return mean, float(np.sqrt(np.sum((weight * (values - mean)) ** 2)) / total)


def network_with_classes(model: Any) -> Network:
    """Return a model's network if it tells classes apart."""
    network = network_of(model, plain=False)
    if network.link == "identity":
        raise ValueError("model must predict classes; this one predicts numbers. Fit a BGNClassifier.")
    return network
