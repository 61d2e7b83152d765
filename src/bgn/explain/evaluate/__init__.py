"""How well a model predicts: a table of scores with standard errors and, for classes, the confusion matrix."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.evaluate.judged import (
    CalibrationBins,
    JudgedRows,
    calibration_bins,
    mean_and_error,
    network_with_classes,
)
from bgn.explain.evaluate.per_row import BINS, of_numbers
from bgn.explain.subject import rows_and_target
from bgn.inputs.arguments import real
from bgn.inputs.per_row import numbers_per_row, weights
from bgn.model.schema import level_word
from bgn.model.step import Floats
from bgn.model.terms import network_of
from bgn.model.told import is_turned
from bgn.pipelines import is_wrapped, network_within, through_pipelines
from bgn.printable import clean, quote_category
from bgn.require import require
from bgn.wording import count_of, people

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
        found = [quote_category(level_word(self.classes[k]), 24) for k in np.flatnonzero(rows == 0)]
        return "no test rows" if name.startswith("recall of ") else f"no test rows of {', '.join(found)}"

    def _title(self, name: str) -> str:
        if name in ("sensitivity", "specificity", "precision"):
            return f"{name} at {self.threshold:g}"
        return TITLES.get(name, clean(name, 40))

    def _heading(self) -> str:
        words = [quote_category(level_word(label), 24) for label in self.classes]
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
    >>> model = bgn.BGNClassifier(max_width=3, random_state=0).fit(X[:400], y[:400])
    >>> found = bgn.evaluate(model, X[400:], y[400:])
    >>> found.scores["auc"] > 0.95, found.confusion.shape
    (True, (2, 2))
    >>> print(str(found).splitlines()[0])
    169 rows; positive: 1 (the other: 0)
    >>> numbers = bgn.Network([bgn.Layer([[1.0]], [-2.0])], [1.0], 5.0, ["rooms"])
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
    judged = JudgedRows.of(model, X, y, sample_weight)
    return evaluation(judged.turned() if is_turned(network_with_classes(model)) else judged, threshold, bins)


def evaluation(judged: JudgedRows, threshold: float = 0.5, bins: int = BINS) -> Evaluation:
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


def _mean_auc(judged: JudgedRows) -> tuple[float, float]:
    """The mean over classes of the AUC of each against the others; its error is not known."""
    found = [judged.of_class(k).auc()[0] for k in range(len(judged.classes))]
    return float(np.mean(found)), np.nan


def _calibration(judged: JudgedRows, bins: int) -> CalibrationBins:
    """Rows in bins by the probability of the second class, or of the one that is predicted."""
    if len(judged.classes) == 2:
        return judged.of_class(1).bins(bins)
    top = judged.probabilities[np.arange(len(judged.codes)), judged.predicted]
    return calibration_bins(top, judged.predicted == judged.codes, judged.weight, bins)
