"""The rivals that a model must beat: the mean or the shares of the classes, and a linear model or logistic regression.

Least squares and logistic regression read all columns, a category as one 0/1 column per category. A verdict says on
which scores a model is better or worse than another, as far as the rows tell them from each other.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.arguments import class_labels, rows_and_target, rows_of
from bgn.explain.evaluate import LARGER_IS_BETTER, Evaluation, evaluate_predictions
from bgn.inputs.target import codes_of
from bgn.model.network import Network
from bgn.model.schema import Schema
from bgn.model.step import Floats
from bgn.text import people

NAMES = {
    "model": "this model", "linear": "linear model", "mean": "predicting the mean",
    "logistic": "logistic regression", "majority": "the commonest class",
}  # fmt: skip
"""The model and its rivals, as a table names them."""
_IN_SENTENCES = NAMES | {"linear": "a linear model", "majority": "always predicting the shares of the classes"}
SHOWN = {
    "mse": {"r2": "R2", "rmse": "RMSE", "mse": "MSE", "mae": "MAE"},
    "log_loss": {"log_loss": "log loss", "auc": "AUC", "accuracy": "accuracy"},
}  # fmt: skip
"""By the loss of a model the scores that are compared, with their titles."""
LEGEND = (
    "Better or worse: by more than one standard error of the difference, row by row. That is weak "
    "evidence: of equal models about one in three differs by as much."
)
"""What the words of a verdict mean."""


@dataclass(frozen=True, eq=False)
class RivalScores:
    """The scores of a model and of its rivals on the same rows, by "model", "linear" and "mean" or, with classes,
    "model", "logistic" and "majority"; what the rows tell of the differences from each rival; and how many conditions a
    reader reads of each, one per linear term."""

    evaluations: Mapping[str, Evaluation]
    verdicts: tuple[Verdict, ...]
    conditions: Mapping[str, int]

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        """The scores alone."""
        return {name: dict(evaluation.scores) for name, evaluation in self.evaluations.items()}


def rows_with_target(network: Network, X: Any, y: Any, x_name: str, y_name: str) -> tuple[Floats, Floats]:
    """Return encoded rows and their targets, of classes their numbers."""
    if network.link == "identity":
        return rows_and_target(network, X, y, x_name, y_name)
    rows = rows_of(network, X, x_name)
    return rows, codes_of(network, y, len(rows), y_name)


def compare_with_rivals(network: Network, train: tuple[Floats, Floats], test: tuple[Floats, Floats]) -> RivalScores:
    """Evaluate a network beside its rivals on encoded rows."""
    classes = None if network.link == "identity" else class_labels(network)
    predicted = {"model": network.predict_encoded(test[0], scores=classes is not None)}
    predicted |= rival_predictions(network.schema, train, test[0], classes)
    evaluations = {name: evaluate_predictions(test[1], values, classes) for name, values in predicted.items()}
    titles = SHOWN["mse" if classes is None else "log_loss"]
    shown = {name: {score: written_score(score, evaluation.scores[score]) for score in titles}
             for name, evaluation in evaluations.items()}  # fmt: skip
    verdicts = tuple(
        verdict(_IN_SENTENCES[name], evaluations["model"], evaluation, titles, (shown["model"], shown[name]))
        for name, evaluation in evaluations.items() if name != "model"
    )  # fmt: skip
    n_linear = as_numbers(network.schema, train[0][:1], train[0]).shape[1]
    conditions = dict(zip(evaluations, (network.n_conditions, n_linear, 0), strict=True))
    return RivalScores(evaluations, verdicts, conditions)


def written_score(name: str, value: float) -> str:
    """Write a score: shares to three digits after the point, errors to four that count."""
    if value != value:
        return "-"
    return people(value) if name in ("mse", "rmse", "mae", "log_loss") else f"{round(value, 3) + 0.0:.3f}"


# -- What may be said of a model and a rival: only what the rows carry.


@dataclass(frozen=True)
class Verdict:
    """How a model compares with a rival, such as "a linear model": titles of scores by what the rows tell."""

    rival: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    unclear: tuple[str, ...]
    unknown: tuple[str, ...] = ()  # not known on these rows

    def __str__(self) -> str:
        """One sentence, about every measure that is shown."""
        known = [titles for titles in (self.better, self.worse, self.unclear) if titles]
        if not known:
            return f"These rows do not tell this model from {self.rival}."
        every = "on every measure" if not self.unknown else f"on every measure but {_listed(self.unknown)}"
        if len(known) == 1:
            if self.better:
                return f"Better than {self.rival} {every}."
            if self.worse:
                return f"Worse than {self.rival} {every}: consider {self.rival}."
            return f"No clear difference from {self.rival} {every.replace('every', 'any')}."
        groups = {"better": self.better, "worse": self.worse, "no clear difference": self.unclear}
        parts = [f"{what} in {_listed(titles)}" for what, titles in groups.items() if titles]
        more = f": consider {self.rival}" if self.worse and not self.better else ""
        return f"Compared with {self.rival}: {'; '.join(parts)}{more}."


def _listed(titles: Sequence[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"


def verdict(
    rival: str, model: Evaluation, other: Evaluation, titles: Mapping[str, str],
    written: tuple[Mapping[str, str], Mapping[str, str]] | None = None,
) -> Verdict:  # fmt: skip
    """Compare a model with another on the same rows; scores that are `written` the same do not differ."""
    groups: dict[str, list[str]] = {"better": [], "worse": [], "unclear": [], "unknown": []}
    for name, title in titles.items():
        sign = 1.0 if name in LARGER_IS_BETTER else -1.0
        ours, theirs = sign * model.by_row[name], sign * other.by_row[name]
        same = written is not None and written[0][name] == written[1][name]
        if not np.isfinite(ours - theirs).all():
            groups["unknown"].append(title)
        elif not same and is_clearly_larger(ours, theirs):
            groups["better"].append(title)
        elif not same and is_clearly_larger(theirs, ours):
            groups["worse"].append(title)
        else:
            groups["unclear"].append(title)
    return Verdict(rival, **{name: tuple(group) for name, group in groups.items()})


def is_clearly_larger(first: Floats, second: Floats) -> bool:
    """Tell whether the mean of `first` exceeds that of `second` by more than the standard error of the difference."""
    difference, error = paired_difference(first, second)
    return bool(difference > error)  # False where either is NaN


def paired_difference(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the mean of `first` less `second`, row by row, and its standard error; NaN of one row.

    >>> paired_difference(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0]))
    (1.0, 0.5773502691896258)
    """
    differences = np.asarray(first, np.float64) - second
    if len(differences) < 2:
        return float(differences.mean()) if len(differences) else np.nan, np.nan
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))


# -- What rivals predict.

MOST_CATEGORIES = 100
"""Categories of a column that have a 0/1 column of their own: tens of thousands would take gigabytes."""

_RIDGE = 1e-9  # of a standardized column's own size
_NEVER = 700.0  # a score so low that its probability is next to nothing
_FAR = 1e30  # standard deviations; scikit-learn's trees read single precision


def rival_predictions(
    schema: Schema, train: tuple[Floats, Floats], test: Floats, classes: Sequence[Any] | None
) -> dict[str, Floats]:
    """Return what rivals that are fitted to encoded training rows predict of test rows: numbers, or scores."""
    rows, target = train
    numeric = as_numbers(schema, rows, rows), as_numbers(schema, test, rows)
    if classes is None:
        linear = linear_predictions(numeric[0], target, numeric[1])
        return {"linear": linear, "mean": np.full(len(test), target.mean())}
    return {"logistic": logistic_scores(numeric[0], target, numeric[1], len(classes)),
            "majority": majority_scores(target, len(test), len(classes))}  # fmt: skip


def as_numbers(schema: Schema, rows: Floats, train: Floats) -> Floats:
    """Return encoded rows as numbers: a categorical column as one 0/1 column for each of the commonest
    :data:`MOST_CATEGORIES` of the training rows, a missing value as their median."""
    if schema.all_numbers and not np.isnan(rows).any():
        return rows
    parts = list[Floats]()
    for kind, column, others in zip(schema.columns, rows.T, zero_if_empty(train).T, strict=True):
        if kind.categories is None:
            parts.append(np.where(np.isnan(column), np.nanmedian(others), column))
            continue
        codes = list(range(len(kind.categories)))
        if len(codes) > MOST_CATEGORIES:
            times = np.bincount(others[~np.isnan(others)].astype(np.intp), minlength=len(codes))
            codes = sorted(np.argsort(-times, kind="stable")[:MOST_CATEGORIES].tolist())
        parts += [(column == code).astype(np.float64) for code in codes]
    return np.stack(parts, axis=1) if parts else np.zeros((len(rows), 1))


def zero_if_empty(rows: Floats) -> Floats:
    """Return rows with 0 in columns that hold nothing."""
    return np.where(np.isnan(rows).all(axis=0), 0.0, rows)


def standardized(rows: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Return training and test rows with the former's columns of mean 0 and size 1, whatever their scale."""
    size = np.maximum(np.abs(rows).max(axis=0), np.finfo(np.float64).tiny)  # 1e300 has no square
    scaled = rows / size
    mean, std = scaled.mean(axis=0), scaled.std(axis=0)
    std[np.ptp(scaled, axis=0) == 0] = 1.0
    scaled = (scaled - mean) / std
    return scaled, scaled if test is rows else np.clip((test / size - mean) / std, -_FAR, _FAR)


def linear_predictions(rows: Floats, target: Floats, test: Floats) -> Floats:
    """Return what least squares on `rows` predicts for the rows `test`.

    The system has the fewer of rows and columns; the slightest ridge makes it solvable whatever columns repeat.
    """
    from scipy.linalg import solve

    table, others = standardized(rows, test)
    wide = len(table) < table.shape[1]
    products = table @ table.T if wide else table.T @ table
    products.flat[:: len(products) + 1] += _RIDGE * len(table)
    residual = target - target.mean()
    solved = solve(products, residual if wide else table.T @ residual, assume_a="pos", check_finite=False)
    return np.asarray(target.mean() + others @ (table.T @ solved if wide else solved))


def logistic_scores(rows: Floats, codes: Floats, test: Floats, n_classes: int) -> Floats:
    """Return the scores that logistic regression on `rows` gives the rows `test`: one column per class.

    It is scikit-learn's, on standardized columns with its usual penalty; a class that `rows` lack is never predicted.
    """
    from sklearn.linear_model import LogisticRegression

    table, others = standardized(rows, test)
    scores = np.full((len(others), n_classes), -_NEVER)
    seen = np.unique(codes).astype(int)
    if len(seen) == 1:
        scores[:, seen[0]] = 0.0
        return scores
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # after 500 iterations the rest does not matter here
        model = LogisticRegression(max_iter=500).fit(table, codes.astype(int))
    of_seen = model.decision_function(np.clip(others, -1e6, 1e6))
    scores[:, seen] = np.stack([np.zeros(len(others)), of_seen], axis=1) if of_seen.ndim == 1 else of_seen
    return scores


def majority_scores(codes: Floats, n_rows: int, n_classes: int) -> Floats:
    """Return the scores that are the same for all rows: the shares of the classes."""
    shares = np.bincount(codes.astype(int), minlength=n_classes) / len(codes)
    logs = np.log(shares, out=np.full(n_classes, -_NEVER), where=shares > 0)
    return np.tile(logs, (n_rows, 1))
