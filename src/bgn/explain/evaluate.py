"""How well a model predicts: one table of scores with standard errors, for regression and classification.

Every score is the mean of one value per row. Its standard error, and that of a difference between two models
(:mod:`bgn.explain.rivals`), follow from these values. :class:`EvaluationRows` holds the rows of a classification, from
which curves are drawn, too.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.arguments import class_labels, rows_and_target, rows_of
from bgn.inputs.arguments import real
from bgn.inputs.target import codes_of, numbers_per_row, weights
from bgn.model.link import LINKS
from bgn.model.network import Network
from bgn.model.readings import is_first_positive, network_of
from bgn.model.schema import category_name
from bgn.model.step import Bools, Floats
from bgn.pipelines import is_wrapped, network_within, through_pipelines
from bgn.require import require
from bgn.text import clean, count_of, people, quote_category

BINS = 10
"""Bins of the calibration error."""
LARGER_IS_BETTER = frozenset({"auc", "accuracy", "r2"})
"""Scores of which more is better; of all others, less."""
TITLES = {
    "r2": "R2, share of the variance explained", "rmse": "RMSE, root mean squared error",
    "mse": "MSE, mean squared error", "mae": "MAE, mean absolute error",
    "auc": "AUC", "log_loss": "log loss", "brier": "Brier score", "calibration_error": "calibration error",
    "accuracy": "accuracy", "sensitivity": "sensitivity", "specificity": "specificity", "precision": "precision",
}  # fmt: skip


def evaluate(
    model: Any, X: Any, y: Any, *, threshold: float = 0.5, sample_weight: Any = None, bins: int = BINS
) -> Evaluation:
    """Return how well a model predicts rows whose target is known: scores with standard errors.

    For regression R2, the mean squared error and its root, and the mean absolute error; for classification AUC, log
    loss, Brier score, calibration error, accuracy and more, and the confusion matrix.

    The calibration error is the mean distance between predicted probabilities and observed shares, over bins of equally
    many rows by the predicted probability (with several classes, that of the predicted one). Even exact probabilities
    have one on a finite number of rows; brackets give that expected error. Standard errors are those of a mean over
    independent rows; of the AUC, DeLong's.

    Parameters
    ----------
    model : Network or fitted estimator
        Or a pipeline around one.
    X : array_like or frame of shape (rows, columns)
    y : array_like of shape (rows,)
        The targets: numbers, or labels.
    threshold : float, default 0.5
        With two classes, the probability of the second ("ja" of "ja" and "nein") above which it is predicted: accuracy,
        sensitivity, specificity, precision and the confusion matrix depend on it.
    sample_weight : array_like of shape (rows,), optional
        What every row counts for.
    bins : int, default 10
        Most bins of the calibration error.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import bgn
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = bgn.BGNClassifier(max_terms=3, random_state=0).fit(X[:400], y[:400])
    >>> evaluation = bgn.evaluate(model, X[400:], y[400:])
    >>> evaluation.scores["auc"] > 0.95, evaluation.confusion.shape
    (True, (2, 2))
    >>> print(str(evaluation).splitlines()[0])
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
        rows = evaluation_rows(model, X, y, sample_weight)
        return evaluate_classes(rows.swap_classes() if is_first_positive(network) else rows, threshold, bins)
    if threshold != 0.5:
        only = "threshold is for two classes, and the model predicts numbers; leave it out."
        raise ValueError(f"{only} Got {threshold!r}.")
    if is_wrapped(model):  # which predicts the target in its own units
        predicted = np.asarray(model.predict(X), np.float64).reshape(-1)
        target = numbers_per_row(y, "y", len(predicted))
    else:
        encoded, target = rows_and_target(network, X, y, "X", "y")
        predicted = network.predict_encoded(encoded)
    return evaluate_numbers(target, predicted, weights_of(sample_weight, len(target)))


def weights_of(sample_weight: Any, n_rows: int) -> Floats:
    """Return what every row counts for, or say what is wrong."""
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(weights(sample_weight, n_rows), np.float64)
    if not weight.sum() > 0:
        raise ValueError("sample_weight must be positive for some row; it is zero for all.")
    return weight


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How well targets are predicted on some rows.

    Attributes
    ----------
    rows : int
        Number of rows.
    scores : mapping of str to float
        For regression ``r2``, the share of the variance that is explained, 0 where the target does not vary; ``rmse``,
        ``mse`` and ``mae``, the mean squared error, its root, and the mean absolute error. For classification ``auc``
        (with several classes the mean of one class against the others), ``log_loss``, ``brier``, ``calibration_error``
        and ``accuracy``; with two classes also ``sensitivity``, ``specificity`` and ``precision`` at the threshold,
        with more ``recall of ...`` and ``precision of ...`` every class. NaN where the rows are too few.
    errors : mapping of str to float
        Standard errors of the scores; NaN where none is known.
    by_row : mapping of str to ndarray of float64, shape (rows,)
        The values whose means the scores are; under ``rmse`` those of ``mse``. A difference between two models is
        measured row by row. Scores that only some rows count for are not among them.
    classes : tuple or None
        The labels, in order; None for regression.
    threshold : float
        With two classes, the probability of the second above which it is predicted.
    by_chance : float
        The calibration error that exact probabilities, such as these, would have on so many rows, on average.
    confusion : ndarray of float64, shape (classes, classes), or None
        Weight of the rows by actual class (down) and predicted class (across).
    """

    rows: int
    scores: Mapping[str, float]
    errors: Mapping[str, float]
    by_row: Mapping[str, Floats]
    classes: tuple[Any, ...] | None = None
    threshold: float = 0.5
    by_chance: float = np.nan
    confusion: Floats | None = None

    def __str__(self) -> str:
        """One line per score."""
        lines = self._lines()
        wide, long = max(len(name) for name, _, _ in lines), max(8, *(len(value) for _, value, _ in lines))
        return "\n".join([self._heading(), *(f"{a:<{wide}}  {b:>{long}}  {c}".rstrip() for a, b, c in lines)])

    __repr__ = __str__

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

    def _heading(self) -> str:
        rows = count_of(self.rows, "row")
        if self.classes is None:
            return rows
        names = [quote_category(category_name(label), 24) for label in self.classes]
        return f"{rows}; positive: {names[1]} (the other: {names[0]})" if len(names) == 2 else (
            f"{rows} of {len(names)} classes")  # fmt: skip

    def _lines(self) -> list[tuple[str, str, str]]:
        """Return title, value and error of every score, written."""
        lines = []
        for name, value in self.scores.items():
            title, error = TITLES.get(name, clean(name, 40)), self.errors[name]
            if self.classes is None:
                lines.append((title, people(value), "" if np.isnan(error) else f"± {people(error, 2)}"))
                continue
            if name in ("sensitivity", "specificity", "precision"):
                title = f"{name} at {self.threshold:g}"
            if name == "calibration_error":
                note = f"({self.by_chance:.4f} by chance alone)"
            elif np.isnan(value):
                note = "(never predicted)" if name.startswith("precision") else f"(no test rows{self._without(name)})"
            else:
                note = "" if np.isnan(error) else f"± {error:.4f}"
            lines.append((title, "-" if np.isnan(value) else f"{value:.4f}", note))
        return lines

    def _without(self, name: str) -> str:
        """Say which classes have no test rows, where the score does not name its own."""
        if name.startswith("recall of ") or self.confusion is None:
            return ""
        without = np.flatnonzero(self.confusion.sum(axis=1) == 0)
        return f" of {', '.join(quote_category(category_name((self.classes or ())[k]), 24) for k in without)}"


# -- The scores of regression and of classification.


def evaluate_predictions(target: Floats, predicted: Floats, classes: Sequence[Any] | None = None) -> Evaluation:
    """Return how well numbers are predicted or, with `classes`, numbers of classes by scores."""
    if classes is None:
        return evaluate_numbers(target, predicted)
    return evaluate_classes(EvaluationRows.of_scores(classes, predicted, target))


def evaluate_numbers(target: Floats, predicted: Floats, weight: Floats | None = None) -> Evaluation:
    """Return how well numbers are predicted; R2 is 0 where the target does not vary."""
    weight = np.ones(len(target)) if weight is None else weight
    squares, deviations = (target - predicted) ** 2, (target - np.average(target, weights=weight)) ** 2
    variance, mse = (float(np.average(values, weights=weight)) for values in (deviations, squares))
    explained = np.zeros(len(target))
    if variance:
        explained += 1.0 - mse / variance  # the mean of the next line is zero
        explained += (mse / variance * deviations - squares) / variance
    by_row = {"r2": explained, "rmse": squares, "mse": squares, "mae": np.abs(target - predicted)}
    measured = {name: mean_and_error(values, weight) for name, values in by_row.items()}
    root = float(np.sqrt(measured["mse"][0]))
    measured["rmse"] = root, measured["mse"][1] / (2 * root) if root else 0.0
    known = np.count_nonzero(weight) > 1
    errors = {name: error if known else np.nan for name, (_, error) in measured.items()}
    return Evaluation(len(target), {name: score for name, (score, _) in measured.items()}, errors, by_row)


def evaluate_classes(rows: EvaluationRows, threshold: float = 0.5, bins: int = BINS) -> Evaluation:
    """Return how well classes are predicted."""
    count, weight, codes, probabilities = len(rows.classes), rows.weight, rows.codes, rows.probabilities
    two, places = count == 2, np.arange(len(codes))
    squares = (probabilities - np.eye(count)[codes]) ** 2
    if two:
        ranks = rows.of_class(1).auc_values()
        chance, happened = probabilities[:, 1], codes == 1
    else:
        ranks = np.mean([rows.of_class(k).auc_values() for k in range(count)], axis=0)
        chance, happened = probabilities[places, rows.predicted], rows.predicted == codes
    predicted = rows.predicted if not two or threshold == 0.5 else (chance > threshold).astype(np.intp)
    # A row counts for the calibration error with its own error, with the sign that its bin's has.
    numbers, errors = bin_numbers(chance, weight, bins), chance - happened
    by_row = {
        "auc": ranks,
        "log_loss": -rows.log_probabilities[places, codes],
        "brier": squares[:, 1] if two else squares.sum(axis=1),
        "calibration_error": np.sign(np.bincount(numbers, weight * errors))[numbers] * errors,
        "accuracy": (predicted == codes).astype(np.float64),
    }
    measured = {name: mean_and_error(values, weight) for name, values in by_row.items()}
    for name in ("calibration_error",) if two else ("calibration_error", "auc"):
        measured[name] = measured[name][0], np.nan
    names = {"sensitivity": (1, True), "specificity": (0, True), "precision": (1, False)} if two else {
        f"{what} of {name}": (k, what == "recall")
        for k, name in enumerate(rows.class_names) for what in ("recall", "precision")}  # fmt: skip
    for name, (k, of_actual) in names.items():
        among, holds = (codes == k, predicted == k)[:: 1 if of_actual else -1]
        measured[name] = mean_and_error(holds[among], weight[among])
    confusion = np.bincount(codes * count + predicted, weight, minlength=count * count).reshape(count, count)
    return Evaluation(
        len(codes), {name: score for name, (score, _) in measured.items()},
        {name: error for name, (_, error) in measured.items()}, by_row, rows.classes, threshold,
        calibration_bins(chance, happened, weight, bins).by_chance, np.asarray(confusion, np.float64),
    )  # fmt: skip


def mean_and_error(values: Any, weight: Floats) -> tuple[float, float]:
    """Return the weighted mean and its standard error; NaN where nothing counts."""
    total = float(weight.sum())
    if not total:
        return np.nan, np.nan
    mean = float(np.sum(weight * values) / total)
    return mean, float(np.sqrt(np.sum((weight * (values - mean)) ** 2)) / total)


# -- Rows whose class is known, with the scores that a network gives them, and the curves of each class.


@dataclass(frozen=True, eq=False)
class EvaluationRows:
    """Rows of known classes and what is predicted of them."""

    classes: tuple[Any, ...]
    codes: NDArray[np.intp]
    scores: Floats  # (rows, classes): up to a number per row the logarithm of the probabilities
    weight: Floats
    tie: int = 0  # which of two equally probable classes is predicted

    @classmethod
    def of_encoded(cls, network: Network, rows: Floats, codes: Any, sample_weight: Any = None) -> EvaluationRows:
        """Return what a network predicts of rows and classes that are numbers already."""
        return cls.of_scores(class_labels(network), network.predict_encoded(rows, scores=True), codes, sample_weight)

    @classmethod
    def of_scores(cls, classes: Any, scores: Floats, codes: Any, sample_weight: Any = None) -> EvaluationRows:
        """Take the scores of two classes as log-odds of the second, or one column per class."""
        if scores.ndim == 2 and len(classes) == 2:
            scores = scores[:, 1] - scores[:, 0]
        columns = np.stack([np.zeros(len(scores)), scores], axis=1) if scores.ndim == 1 else scores
        weight = weights_of(sample_weight, len(codes))
        return cls(tuple(classes), np.asarray(codes).astype(np.intp), columns, weight)

    @property
    def class_names(self) -> list[str]:
        """The labels as text."""
        return [category_name(label) for label in self.classes]

    @cached_property
    def log_probabilities(self) -> Floats:
        """One column per class."""
        return np.asarray(self.scores - np.logaddexp.reduce(self.scores, axis=1, keepdims=True))

    @cached_property
    def probabilities(self) -> Floats:
        """One column per class: those that are predicted."""
        if len(self.classes) > 2:
            return LINKS["softmax"](self.scores)
        second = LINKS["logistic"](self.scores[:, 1])
        return np.stack([1.0 - second, second], axis=1)

    @cached_property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable class of every row; of equally probable ones the first, or `tie`."""
        if self.tie:
            return (self.scores[:, 1] >= self.scores[:, 0]).astype(np.intp)
        return self.scores.argmax(axis=1)

    def swap_classes(self) -> EvaluationRows:
        """Return the same, of two classes, with the first as the second."""
        scores = np.stack([np.zeros(len(self.scores)), -self.scores[:, 1]], axis=1)
        return EvaluationRows(self.classes[::-1], 1 - self.codes, scores, self.weight, 1 - self.tie)

    def of_class(self, k: int) -> OneClass:
        """One class against the others."""
        # The log-odds order rows as the probability does where that has run out of digits.
        if len(self.classes) == 2:
            order = self.scores[:, 1] if k else -self.scores[:, 1]
        else:
            order = self.log_probabilities[:, k]
        return OneClass(order, self.probabilities[:, k], np.asarray(self.codes == k), self.weight)


@through_pipelines("X", targets=("y",), undone=False)
def evaluation_rows(model: Any, X: Any, y: Any, sample_weight: Any = None) -> EvaluationRows:
    """Return what a model predicts of rows, and check the arguments."""
    network = network_with_classes(model)
    rows = rows_of(network, X, "X")
    return EvaluationRows.of_encoded(network, rows, codes_of(network, y, len(rows)), sample_weight)


def network_with_classes(model: Any) -> Network:
    """Return a model's network if it predicts classes."""
    network = network_of(model, plain=False)
    if network.link == "identity":
        raise ValueError("model must predict classes; this one predicts numbers. Fit a BGNClassifier.")
    return network


@dataclass(frozen=True, eq=False)
class OneClass:
    """A class against all others: what orders the rows, its probability, which rows are of it, their weights."""

    order: Floats
    probability: Floats
    member: Bools
    weight: Floats

    @cached_property
    def _steps(self) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """The weight of members and of others at every different score, from the lowest; and each row's place."""
        _, place = np.unique(self.order, return_inverse=True)
        members, others = (np.bincount(place, self.weight * of) for of in (self.member, ~self.member))
        return np.asarray(members, np.float64), np.asarray(others, np.float64), place

    def roc(self) -> tuple[Floats, Floats]:
        """Return the false and true positive rates, from none called positive to all."""
        members, others, _ = self._steps
        sums = (np.concatenate([[0.0], np.cumsum(part[::-1])]) for part in (others, members))
        false, true = (part / part[-1] if part[-1] else np.full(len(part), np.nan) for part in sums)
        return false, true

    def auc_values(self) -> Floats:
        """Return a value per row whose mean is the AUC, ties as half, and its standard error DeLong's; NaN where rows
        of either kind are lacking."""
        members, others, place = self._steps
        total, of_members = self.weight.sum(), self.weight[self.member].sum()
        if not 0 < of_members < total:
            return np.full(len(self.order), np.nan)
        below = ((np.cumsum(others) - 0.5 * others) / others.sum())[place]
        higher = (1.0 - (np.cumsum(members) - 0.5 * members) / members.sum())[place]
        auc = np.average(below[self.member], weights=self.weight[self.member])
        heavier = np.where(self.member, total / of_members, total / (total - of_members))
        return np.asarray(auc + heavier * (np.where(self.member, below, higher) - auc))

    def auc(self) -> tuple[float, float]:
        """Return the AUC and its standard error."""
        return mean_and_error(self.auc_values(), self.weight)

    def precision_recall(self) -> tuple[Floats, Floats]:
        """Return precision and recall as ever more rows are called positive; before the first, precision is 1."""
        members, others, _ = self._steps
        hits, called = np.cumsum(members[::-1]), np.cumsum((members + others)[::-1])
        precision = np.divide(hits, called, out=np.ones_like(hits), where=called > 0)
        recall = hits / hits[-1] if hits[-1] else np.full(len(hits), np.nan)
        return np.concatenate([[1.0], precision]), np.concatenate([[0.0], recall])

    def average_precision(self) -> float:
        """Return the mean of the precision over the steps of the recall."""
        precision, recall = self.precision_recall()
        return float(np.sum(np.diff(recall) * precision[1:]))

    def net_benefit(self, thresholds: Floats) -> Floats:
        """Return true positives less false ones at the odds of a threshold, per row, for all thresholds."""
        benefits = []
        for threshold in thresholds:
            positive = self.probability > threshold
            hits, false = (self.weight[positive & of].sum() for of in (self.member, ~self.member))
            benefits.append((hits - false * threshold / (1.0 - threshold)) / self.weight.sum())
        return np.array(benefits)

    def bins(self, count: int) -> CalibrationBins:
        """Return the rows in bins of about the same weight by their probability; equal ones stay together."""
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
        """What the same would be, on average, of exact probabilities: a normal variable is on average 0.798 standard
        errors away from its mean."""
        return float(np.average(np.sqrt(2.0 / np.pi) * self.exact_error, weights=self.weight))


def calibration_bins(probability: Floats, happened: Bools, weight: Floats, count: int) -> CalibrationBins:
    """Put rows in at most `count` bins of about the same weight by probability; equal ones stay together."""
    counted = weight > 0
    probability, happened, weight = probability[counted], happened[counted], weight[counted]
    which = bin_numbers(probability, weight, count)
    total = np.bincount(which, weight)
    predicted, observed = (np.bincount(which, weight * values) / total for values in (probability, happened))
    error = np.sqrt(observed * (1 - observed) * np.bincount(which, weight**2)) / total
    exact = np.sqrt(np.bincount(which, weight**2 * probability * (1 - probability))) / total
    return CalibrationBins(predicted, observed, error, exact, np.asarray(total, np.float64))


def bin_numbers(probability: Floats, weight: Floats, count: int) -> NDArray[np.intp]:
    """Return the bin of every row, of at most `count` bins of about the same weight; equal values stay together."""
    _, place = np.unique(probability, return_inverse=True)
    heavy = np.bincount(place, weight)
    middle = (np.cumsum(heavy) - 0.5 * heavy) / heavy.sum()
    _, bin_of_value = np.unique(np.minimum((middle * count).astype(int), count - 1), return_inverse=True)
    return np.asarray(bin_of_value[place])
