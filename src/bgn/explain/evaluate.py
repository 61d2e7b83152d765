"""How well a model predicts: a table of scores with standard errors and, for classes, the confusion matrix."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.subject import class_labels, rows_and_target, rows_of
from bgn.inputs.arguments import real
from bgn.inputs.classes import codes_of
from bgn.inputs.tables import numbers_per_row, weights
from bgn.model.link import LINKS
from bgn.model.network import Network
from bgn.model.readings import is_turned, network_of
from bgn.model.schema import category_name
from bgn.model.step import Bools, Floats
from bgn.pipelines import is_wrapped, network_within, through_pipelines
from bgn.require import require
from bgn.text import clean, count_of, people, quote_category

# -- Rows whose class is known, with what a network says of them, and the curves that judge it.


@dataclass(frozen=True, eq=False)
class EvaluationRows:
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
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any = None) -> EvaluationRows:
        """Ask a model about rows, and check the arguments."""
        network = network_with_classes(model)
        rows = rows_of(network, X, "X")
        return cls.encoded(network, rows, codes_of(network, y, len(rows)), sample_weight)

    @classmethod
    def encoded(cls, network: Network, rows: Floats, codes: Any, sample_weight: Any = None) -> EvaluationRows:
        """Ask a network about rows and classes that are numbers already."""
        scores = network.predict_encoded(rows, scores=True)
        return cls.scored(class_labels(network), scores, codes, sample_weight)

    @classmethod
    def scored(cls, classes: Any, scores: Floats, codes: Any, sample_weight: Any = None) -> EvaluationRows:
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
        return [category_name(label) for label in self.classes]

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

    def turned(self) -> EvaluationRows:
        """Return the same, of two classes, with the first as the second."""
        scores = np.stack([np.zeros(len(self.scores)), -self.scores[:, 1]], axis=1)
        return EvaluationRows(self.classes[::-1], 1 - self.codes, scores, self.weight, 1 - self.evenly)

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


# -- Every measure of a model as one value per row, whose mean it is: what pairs two models row by row, and what its
# standard error comes of.

LARGER_IS_BETTER = frozenset({"auc", "accuracy", "r2"})
"""Measures of which more is better; of all others, less."""
BINS = 10
"""Bins of the calibration error."""


def of_numbers(y: Floats, predicted: Floats, weight: Floats | None = None) -> dict[str, Floats]:
    """Return the values of ``r2``, ``mse`` and ``mae``; R2 is 0 where the target does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> rows = of_numbers(np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 2.0]))
    >>> {name: round(float(values.mean()), 3) for name, values in rows.items()}
    {'r2': 0.875, 'mse': 0.083, 'mae': 0.167}
    """
    weight = np.ones(len(y)) if weight is None else weight
    squares, off = (y - predicted) ** 2, (y - np.average(y, weights=weight)) ** 2
    variance, mse = float(np.average(off, weights=weight)), float(np.average(squares, weights=weight))
    share = np.zeros(len(y))
    if variance:
        share += 1.0 - mse / variance  # the mean of the next line is zero
        share += (mse / variance * off - squares) / variance
    return {"r2": share, "mse": squares, "mae": np.abs(y - predicted)}


def of_classes(judged: EvaluationRows, bins: int = BINS) -> dict[str, Floats]:
    """Return the values of ``auc``, ``log_loss``, ``brier``, ``calibration_error`` and ``accuracy``."""
    rows, count = np.arange(len(judged.codes)), len(judged.classes)
    off = (judged.probabilities - np.eye(count)[judged.codes]) ** 2
    right = judged.predicted == judged.codes
    if count == 2:
        order = auc_values(judged, 1)
        surprise = _surprise(judged.probabilities[:, 1], judged.is_class(1), judged.weight, bins)
    else:
        order = np.mean([auc_values(judged, k) for k in range(count)], axis=0)
        surprise = _surprise(judged.probabilities[rows, judged.predicted], right, judged.weight, bins)
    return {
        "auc": order,
        "log_loss": -judged.log_probabilities[rows, judged.codes],
        "brier": off[:, 1] if count == 2 else off.sum(axis=1),
        "calibration_error": surprise,
        "accuracy": right.astype(np.float64),
    }


def auc_values(judged: EvaluationRows, k: int) -> Floats:
    """Return values whose mean is the AUC of a class against the others; NaN where rows of either are lacking."""
    one = judged.of_class(k)
    below, above = one.placements()
    found = np.where(one.member, below, above)
    total, of_members = one.weight.sum(), one.weight[one.member].sum()
    if not 0 < of_members < total:
        return np.full(len(found), np.nan)
    auc = np.average(below[one.member], weights=one.weight[one.member])
    heavier = np.where(one.member, total / of_members, total / (total - of_members))
    return np.asarray(auc + heavier * (found - auc))


def _surprise(probability: Floats, happened: Bools, weight: Floats, bins: int) -> Floats:
    """Return values whose mean is the calibration error: a row's own error, with the sign that its bin's has."""
    which, error = bin_numbers(probability, weight, bins), probability - happened
    return np.asarray(np.sign(np.bincount(which, weight * error))[which] * error)


TITLES = {
    "r2": "R2, share of the variance explained", "rmse": "RMSE, root mean squared error",
    "mse": "MSE, mean squared error", "mae": "MAE, mean absolute error",
    "auc": "AUC", "log_loss": "log loss", "brier": "Brier score", "calibration_error": "calibration error",
    "accuracy": "accuracy", "sensitivity": "sensitivity", "specificity": "specificity", "precision": "precision",
}  # fmt: skip


class ScoreTable:
    """A table of scores with standard errors, as text, in notebooks and as a frame."""

    scores: Mapping[str, float]
    errors: Mapping[str, float]

    def _lines(self) -> list[tuple[str, str, str]]:
        """Return name, value and error of every score, written."""
        raise NotImplementedError

    def _heading(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        """One line per score."""
        lines = self._lines()
        wide, long = max(len(name) for name, _, _ in lines), max(8, *(len(value) for _, value, _ in lines))
        return "\n".join([self._heading(), *(f"{a:<{wide}}  {b:>{long}}  {c}".rstrip() for a, b, c in lines)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        cells = "".join(
            f"<tr><td>{html.escape(a)}</td><td style='text-align:right'>{b}</td><td>{c}</td></tr>"
            for a, b, c in self._lines()
        )
        return f"<table><caption>{html.escape(self._heading())}</caption><tbody>{cells}</tbody></table>"

    def to_frame(self) -> Any:
        """Return a pandas frame: one row per score, with its standard error.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = require("pandas", extra="cli")
        return pandas.DataFrame({"value": dict(self.scores), "standard error": dict(self.errors)})


@dataclass(frozen=True, eq=False, repr=False)
class RegressionEvaluation(ScoreTable):
    """How well numbers are predicted on some rows.

    Attributes
    ----------
    rows : int
        Number of rows.
    scores : mapping of str to float
        ``r2``, the share of the variance that is explained, 0 where the target does not vary; ``rmse``, ``mse`` and
        ``mae``, the mean squared error, its root, and the mean absolute error.
    errors : mapping of str to float
        Standard errors of the scores; NaN of one row.
    """

    rows: int
    scores: Mapping[str, float]
    errors: Mapping[str, float]

    def _lines(self) -> list[tuple[str, str, str]]:
        return [
            (TITLES[name], people(value), "" if np.isnan(self.errors[name]) else f"± {people(self.errors[name], 2)}")
            for name, value in self.scores.items()
        ]

    def _heading(self) -> str:
        return count_of(self.rows, "row")


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ScoreTable):
    """How well classes are predicted on some rows.

    Attributes
    ----------
    classes : tuple
        The labels, in order.
    rows : int
        Number of rows.
    threshold : float
        Of two classes, the probability of the second above which it is said.
    scores : mapping of str to float
        ``auc`` (of several classes the mean of each against the others), ``log_loss``, ``brier``,
        ``calibration_error`` and ``accuracy``; of two classes also ``sensitivity``, ``specificity`` and ``precision``
        at the threshold, of more ``recall of ...`` and ``precision of ...`` each class. NaN where the rows do not tell.
    errors : mapping of str to float
        Standard errors of the scores; NaN where none is known.
    by_chance : float
        The calibration error that exact probabilities, such as these, would have on so many rows, on average.
    confusion : ndarray of float64, shape (classes, classes)
        Weight of the rows of each class (down) by what was said of them (across).
    """

    classes: tuple[Any, ...]
    rows: int
    threshold: float
    scores: Mapping[str, float]
    errors: Mapping[str, float]
    by_chance: float
    confusion: Floats

    def _lines(self) -> list[tuple[str, str, str]]:
        """Return name, value and error of every score, written."""
        return [
            (self._title(name), "-" if np.isnan(value) else f"{value:.4f}", self._beside(name))
            for name, value in self.scores.items()
        ]

    def _beside(self, name: str) -> str:
        """What stands beside a score: its standard error, or why there is none."""
        if name == "calibration_error":
            return f"({self.by_chance:.4f} by chance alone)"
        if np.isnan(self.scores[name]):
            return "(never predicted)" if name.startswith("precision") else f"({self._without_rows(name)})"
        return "" if np.isnan(self.errors[name]) else f"± {self.errors[name]:.4f}"

    def _without_rows(self, name: str) -> str:
        """Say which classes have no test rows, where the score does not name its own."""
        rows = self.confusion.sum(axis=1)
        found = [quote_category(category_name(self.classes[k]), 24) for k in np.flatnonzero(rows == 0)]
        return "no test rows" if name.startswith("recall of ") else f"no test rows of {', '.join(found)}"

    def _title(self, name: str) -> str:
        if name in ("sensitivity", "specificity", "precision"):
            return f"{name} at {self.threshold:g}"
        return TITLES.get(name, clean(name, 40))

    def _heading(self) -> str:
        words = [quote_category(category_name(label), 24) for label in self.classes]
        if len(words) == 2:
            return f"{count_of(self.rows, 'row')}; positive: {words[1]} (the other: {words[0]})"
        return f"{count_of(self.rows, 'row')} of {len(words)} classes"


def evaluate(
    model: Any, X: Any, y: Any, *, threshold: float = 0.5, sample_weight: Any = None, bins: int = BINS
) -> Evaluation | RegressionEvaluation:
    """Return how well a model predicts rows whose target is known: scores with standard errors.

    For regression R2, the mean squared error and its root, and the mean absolute error; for classification AUC, log
    loss, Brier score, calibration error, accuracy and more, and the confusion matrix.

    The calibration error is the mean distance between what was said and what happened, over bins of equally many rows
    by the predicted probability (of several classes: of the one that is predicted). Even exact probabilities have one
    on a finite number of rows; how large that would be is told beside it. Standard errors are those of a mean
    over independent rows; of the AUC, DeLong's.

    Parameters
    ----------
    model : Network or fitted estimator
        Or a pipeline around one.
    X : array_like or frame of shape (rows, columns)
    y : array_like of shape (rows,)
        The targets: numbers, or labels.
    threshold : float, default 0.5
        Of two classes, the probability of the second ("ja" beside "nein") above which it is said: accuracy,
        sensitivity, specificity, precision and the confusion matrix depend on it.
    sample_weight : array_like of shape (rows,), optional
        What every row counts for.
    bins : int, default 10
        Most bins of the calibration error.

    Returns
    -------
    Evaluation or RegressionEvaluation
        The second for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import bgn
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = bgn.BGNClassifier(max_terms=3, random_state=0).fit(X[:400], y[:400])
    >>> found = bgn.evaluate(model, X[400:], y[400:])
    >>> found.scores["auc"] > 0.95, found.confusion.shape
    (True, (2, 2))
    >>> print(str(found).splitlines()[0])
    169 rows; positive: 1 (the other: 0)
    >>> numbers = bgn.Network.of_layers([bgn.Layer([[1.0]], [-2.0])], [1.0], 5.0, ["rooms"])
    >>> bgn.evaluate(numbers, [[1.0], [2.0], [3.0]], [4.0, 6.0, 7.0])
    3 rows
    R2, share of the variance explained    0.7857  ± 0.18
    RMSE, root mean squared error          0.5774  ± 0.24
    MSE, mean squared error                0.3333  ± 0.27
    MAE, mean absolute error               0.3333  ± 0.27
    """
    real("threshold", threshold, 0.0, 1.0)
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"bins must be a whole number of at least 1; got {bins!r}.")
    network = network_within(model) if is_wrapped(model) else network_of(model, plain=False)
    assert network is not None
    if network.link != "identity":
        return _of_classes(model, X, y, threshold, sample_weight, bins)
    if threshold != 0.5:
        told = "threshold is for two classes, and the model predicts numbers; leave it out."
        raise ValueError(f"{told} Got {threshold!r}.")
    if is_wrapped(model):  # which predicts the target as it was
        predicted = np.asarray(model.predict(X), np.float64).reshape(-1)
        return _of_numbers(numbers_per_row(y, "y", len(predicted)), predicted, sample_weight)
    rows, target = rows_and_target(network, X, y, "X", "y")
    return _of_numbers(target, network.predict_encoded(rows), sample_weight)


def _of_numbers(y: Floats, predicted: Floats, sample_weight: Any) -> RegressionEvaluation:
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(weights(sample_weight, len(y)), np.float64)
    if not weight.sum() > 0:
        raise ValueError("sample_weight must be positive for some row; it is zero for all.")
    return regression_evaluation(y, predicted, weight)


def regression_evaluation(y: Floats, predicted: Floats, weight: Floats | None = None) -> RegressionEvaluation:
    """Return how well numbers are predicted."""
    weight = np.ones(len(y)) if weight is None else weight
    found = {name: mean_and_error(values, weight) for name, values in of_numbers(y, predicted, weight).items()}
    mse, error = found["mse"]
    root = float(np.sqrt(mse))
    found = {"r2": found["r2"], "rmse": (root, error / (2 * root) if root else 0.0)} | found
    several = np.count_nonzero(weight) > 1
    errors = {name: each[1] if several else np.nan for name, each in found.items()}
    return RegressionEvaluation(len(y), {name: each[0] for name, each in found.items()}, errors)


@through_pipelines("X", targets=("y",), undone=False)
def _of_classes(model: Any, X: Any, y: Any, threshold: float, sample_weight: Any, bins: int) -> Evaluation:
    judged = EvaluationRows.of(model, X, y, sample_weight)
    return evaluation(judged.turned() if is_turned(network_with_classes(model)) else judged, threshold, bins)


def evaluation(judged: EvaluationRows, threshold: float = 0.5, bins: int = BINS) -> Evaluation:
    """Return how well classes are predicted on rows that were judged."""
    count, weight, rows = len(judged.classes), judged.weight, np.arange(len(judged.codes))
    two = count == 2
    said = judged.predicted
    if two and threshold != 0.5:
        said = (judged.probabilities[:, 1] > threshold).astype(np.intp)
    known = np.eye(count)[judged.codes]
    off, calibrated = (judged.probabilities - known) ** 2, _calibration(judged, bins)
    measured: dict[str, tuple[float, float]] = {
        "auc": judged.of_class(1).auc() if two else _mean_auc(judged),
        "log_loss": mean_and_error(-judged.log_probabilities[rows, judged.codes], weight),
        "brier": mean_and_error(off[:, 1] if two else off.sum(axis=1), weight),
        "calibration_error": (calibrated.expected_error, np.nan),
        "accuracy": mean_and_error(said == judged.codes, weight),
    }
    if two:
        measured["sensitivity"] = _share(said == 1, judged.codes == 1, weight)
        measured["specificity"] = _share(said == 0, judged.codes == 0, weight)
        measured["precision"] = _share(judged.codes == 1, said == 1, weight)
    else:
        for k, word in enumerate(judged.words):
            measured[f"recall of {word}"] = _share(said == k, judged.codes == k, weight)
            measured[f"precision of {word}"] = _share(judged.codes == k, said == k, weight)
    confusion = np.bincount(judged.codes * count + said, weight, minlength=count * count).reshape(count, count)
    scores = {name: each[0] for name, each in measured.items()}
    errors = {name: each[1] for name, each in measured.items()}
    known = np.asarray(confusion, np.float64)
    return Evaluation(judged.classes, len(rows), threshold, scores, errors, calibrated.by_chance, known)


def _share(holds: Any, among: Any, weight: Floats) -> tuple[float, float]:
    """The share of some rows for which something holds."""
    return mean_and_error(holds[among], weight[among])


def _mean_auc(judged: EvaluationRows) -> tuple[float, float]:
    """The mean over classes of the AUC of each against the others; its error is not known."""
    found = [judged.of_class(k).auc()[0] for k in range(len(judged.classes))]
    return float(np.mean(found)), np.nan


def _calibration(judged: EvaluationRows, bins: int) -> CalibrationBins:
    """Rows in bins by the probability of the second class, or of the one that is predicted."""
    if len(judged.classes) == 2:
        return judged.of_class(1).bins(bins)
    top = judged.probabilities[np.arange(len(judged.codes)), judged.predicted]
    return calibration_bins(top, judged.predicted == judged.codes, judged.weight, bins)


# -- What may be said of a model beside others: only what the rows carry.

LEGEND = (
    "Better or worse: by more than one standard error of the difference, row by row. That is weak "
    "evidence: of equal models about one in three differs by as much."
)
"""What the words of a verdict mean."""


def paired_difference(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the mean of what `first` has more than `second`, row by row, and its standard error; NaN of one row.

    Examples
    --------
    >>> import numpy as np
    >>> paired_difference(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0]))
    (1.0, 0.5773502691896258)
    """
    apart = np.asarray(first, np.float64) - second
    if len(apart) < 2:
        return float(apart.mean()) if len(apart) else np.nan, np.nan
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))


def is_clearly_larger(first: Floats, second: Floats) -> bool:
    """Tell whether the mean of `first` exceeds that of `second` by more than the standard error of the difference."""
    difference, error = paired_difference(first, second)
    return bool(difference > error)  # False where either is NaN


@dataclass(frozen=True)
class Verdict:
    """How a model does beside another.

    Attributes
    ----------
    rival : str
        The other model, as in "a linear model".
    better, worse, unclear, unknown : tuple of str
        Titles of the measures on which the model is clearly better, clearly worse, neither, and those that the rows
        do not tell.
    """

    rival: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    unclear: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One sentence, about every measure that is shown."""
        known = [each for each in (self.better, self.worse, self.unclear) if each]
        if not known:
            return f"These rows do not tell this model from {self.rival}."
        every = "on every measure" if not self.unknown else f"on every measure but {_together(self.unknown)}"
        if len(known) == 1:
            if self.better:
                return f"Better than {self.rival} {every}."
            if self.worse:
                return f"Worse than {self.rival} {every}: consider {self.rival}."
            return f"No clear difference from {self.rival} {every.replace('every', 'any')}."
        parts = []
        for words, titles in (("better", self.better), ("worse", self.worse), ("no clear difference", self.unclear)):
            if titles:
                parts.append(f"{words} in {_together(titles)}")
        more = f": consider {self.rival}" if self.worse and not self.better else ""
        return f"Compared with {self.rival}: {'; '.join(parts)}{more}."


def verdict(
    rival: str, model: Mapping[str, Floats], other: Mapping[str, Floats], titles: Mapping[str, str],
    written: tuple[Mapping[str, str], Mapping[str, str]] | None = None,
) -> Verdict:  # fmt: skip
    """Compare a model with another on the measures that are shown.

    Parameters
    ----------
    rival : str
        What the other is called.
    model, other : mapping of str to ndarray
        A value per row for each measure, whose mean it is.
    titles : mapping of str to str
        What the measures are called.
    written : (mapping of str to str, mapping of str to str), optional
        The figures of the two as they are shown.
    """
    found: dict[str, list[str]] = {"better": [], "worse": [], "unclear": [], "unknown": []}
    for name, title in titles.items():
        sign = 1.0 if name in LARGER_IS_BETTER else -1.0
        ours, theirs = sign * model[name], sign * other[name]
        same = written is not None and written[0][name] == written[1][name]
        if not np.isfinite(ours - theirs).all():
            found["unknown"].append(title)
        elif not same and is_clearly_larger(ours, theirs):
            found["better"].append(title)
        elif not same and is_clearly_larger(theirs, ours):
            found["worse"].append(title)
        else:
            found["unclear"].append(title)
    return Verdict(rival, **{name: tuple(each) for name, each in found.items()})


def _together(titles: Sequence[str]) -> str:
    """Write a list of words."""
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
