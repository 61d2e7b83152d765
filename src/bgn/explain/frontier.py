"""Error against size: what more questions would buy, and what the obvious would cost."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve

from bgn.explain.evaluate import EvaluationRows, evaluation, is_clearly_larger, of_classes
from bgn.explain.subject import class_labels, rows_and_target, rows_of
from bgn.inputs.classes import codes_of
from bgn.model.network import Network
from bgn.model.schema import Schema
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular

_LEAST = float(np.finfo(np.float64).tiny)  # of a probability, whose logarithm is asked for


@dataclass(frozen=True, eq=False)
class Frontier(Tabular):
    """Errors of a model at every size it had while it grew: mean squared errors, or log losses where it has classes.

    Attributes
    ----------
    errors : mapping of str to ndarray of float64, shape (sizes,)
        By the rows they were measured on, those that are known: "training", "validation", "test", in this order.
        Where validation rows are set apart, "training" leaves them out. Entry
        k belongs to k questions in the last hidden layer; entry 0 is predicting the mean, or the shares of the classes.
    linear : mapping of str to float
        The error of a linear model, for classes of logistic regression, by the rows it could be measured on.
    chosen : int
        The size of the model itself.
    cross_validated : bool
        Whether the validation error comes from cross-validation rather than from rows set apart.
    loss : {"mse", "log_loss"}
        Which error it is.
    """

    errors: Mapping[str, Floats]
    linear: Mapping[str, float]
    chosen: int
    cross_validated: bool = False
    loss: str = "mse"

    def _columns(self) -> Columns:
        sizes = range(len(self.errors["training"]))
        told = {f"{self.name(rows)} error": errors.tolist() for rows, errors in self.errors.items()}
        return {"questions": [*sizes], **told, "chosen": [size == self.chosen for size in sizes]}

    @property
    def judged(self) -> str:
        """The rows that tell most of new ones: "test" where known, else "validation", else "training"."""
        return list(self.errors)[-1]

    @property
    def best(self) -> int:
        """The size of the least validation error, whatever the test rows say; of the least training error where there
        is no other. :func:`clearly_better` tells whether the difference is more than noise."""
        return int(np.argmin(self.errors.get("validation", self.errors["training"])))

    def name(self, rows: str) -> str:
        """What the error on some rows is called in print: "cross-validated" where it is that."""
        return "cross-validated" if rows == "validation" and self.cross_validated else rows

    def __str__(self) -> str:
        """One line per size, and one for a linear model."""
        wide = {rows: max(12, 2 + len(self.name(rows))) for rows in self.errors}
        lines = ["questions" + "".join(f"{self.name(rows):>{wide[rows]}}" for rows in self.errors)]
        for size in range(len(self.errors["training"])):
            mark = "  chosen" if size == self.chosen else ""
            cells = (f"{errors[size]:>{wide[rows]}.4g}" for rows, errors in self.errors.items())
            lines.append(f"{size:>9}" + "".join(cells) + mark)
        if self.linear:
            figures = {rows: f"{self.linear[rows]:.4g}" if rows in self.linear else "" for rows in self.errors}
            name = "logistic" if self.loss == "log_loss" else "linear"
            lines.append(f"{name:>9}" + "".join(f"{cell:>{wide[rows]}}" for rows, cell in figures.items()).rstrip())
        return "\n".join(lines)


def clearly_better(model: Any, size: int, other: int) -> bool | None:
    """Tell whether a model of one size predicts rows that did not grow it clearly better than one of another size.

    The loss must be lower by more than the standard error of the difference: paired row by row where the estimator
    kept what it predicted of such rows, else as if the two were measured on different rows. None where no rows
    validated. Test rows have no part in it, so that a size chosen by it can still be judged by them.
    """
    history = history_of(model)
    losses = _validation_losses(model, history, size), _validation_losses(model, history, other)
    if losses[0] is not None and losses[1] is not None:
        return is_clearly_larger(losses[1], losses[0])
    path = history.paths[history.best_layer]
    one, two = path[size], path[other]
    error = np.hypot(one.validation_deviation, two.validation_deviation) / np.sqrt(max(history.n_validation, 1))
    if np.isnan(error):
        return None
    return bool(two.validation_loss - one.validation_loss > error)


def _validation_losses(model: Any, history: Any, size: int) -> Floats | None:
    """Return the losses of rows that validated, row by row, at a size; None where nobody kept them."""
    network = history.network(size)
    if hasattr(model, "out_of_fold_"):
        found = model.out_of_fold_
        predicted, truth = found.predictions[:, size], found.targets
        if network.link == "identity":
            return np.asarray((predicted - truth) ** 2)
        given = np.stack([1.0 - predicted, predicted], axis=1) if predicted.ndim == 1 else predicted
        return np.asarray(-np.log(np.maximum(given[np.arange(len(truth)), truth.astype(np.intp)], _LEAST)))
    if hasattr(model, "validation_rows_"):
        rows, truth = model.validation_rows_
        rows = network._rows(rows, encoded=True)
        if network.link == "identity":
            return np.asarray((network.predict_encoded(rows) - truth) ** 2)
        judged = EvaluationRows.scored(class_labels(network), network.predict_encoded(rows, scores=True), truth)
        return of_classes(judged)["log_loss"]
    return None


def history_of(model: Any) -> Any:
    """Return the history of a fitted estimator, or the history itself."""
    history = getattr(model, "history_", model)
    if not hasattr(history, "records"):
        raise TypeError(
            f"model must be a fitted estimator with history_, or that history; got {type(model).__name__}. "
            "A network alone does not know how it grew."
        )
    return history


@through_pipelines("X", "X_test", targets=("y", "y_test"), undone=False)
def frontier(model: Any, X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None) -> Frontier:
    """Return a model's error at every size it had while it grew, beside a linear model's and the mean's.

    Of a model for classes these are log losses, beside those of logistic regression and of the shares of the classes.
    Training and validation errors are known from growth. Rows given here count equally.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, or the history itself.
    X, y : array_like, optional
        Rows that the linear model is fitted to: those of the model. None for no linear model.
    X_test, y_test : array_like, optional
        Test rows; none by default. They measure each size: choose one by validation errors.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import bgn
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = bgn.BGNRegressor(max_terms=2, random_state=0).fit(X[:300], y[:300])
    >>> sizes = bgn.frontier(model, X[:300], y[:300], X[300:], y[300:])
    >>> len(sizes.errors["test"])  # 0, 1 and 2 questions
    3
    >>> print(str(sizes).splitlines()[0])
    questions    training  cross-validated        test
    """
    history = history_of(model)
    path = history.paths[history.best_layer]
    errors = {"training": np.array([each.train_loss for each in path])}
    if not np.isnan(path[0].validation_loss):
        errors["validation"] = np.array([each.validation_loss for each in path])
    train, test = _rows(history, X, y, "X", "y"), _rows(history, X_test, y_test, "X_test", "y_test")
    if test is not None:
        errors["test"] = np.array([_loss(history.network(k), *test) for k in range(len(path))])
    linear = {}
    if train is not None:
        judged, schema = {"training": train} | ({} if test is None else {"test": test}), history.network().schema
        rows = {name: as_numbers(schema, each, train[0]) for name, (each, _) in judged.items()}
        told = (rows["training"], train[1])
        linear = {name: _linear_loss(history, told, rows[name], truth) for name, (_, truth) in judged.items()}
    loss = "mse" if history.link == "identity" else "log_loss"
    return Frontier(errors, linear, history.best_width, history.cross_validated, loss)


def _rows(history: Any, X: Any, y: Any, x_name: str, y_name: str) -> tuple[Floats, Floats] | None:
    """Return rows and their target, None where there are none."""
    if (X is None) != (y is None):
        raise ValueError(f"{x_name} and {y_name} go together; got one without the other.")
    if X is None:
        return None
    network = history.network()
    if network.link != "identity":
        rows = rows_of(network, X, x_name)
        return rows, codes_of(network, y, len(rows), y_name)
    return rows_and_target(network, X, y, x_name, y_name)


def _loss(network: Network, rows: Floats, truth: Floats) -> float:
    """The mean loss of a network on encoded rows."""
    if network.link == "identity":
        return float(np.mean((network.predict_encoded(rows) - truth) ** 2))
    return _log_loss(class_labels(network), network.predict_encoded(rows, scores=True), truth)


def _linear_loss(history: Any, train: tuple[Floats, Floats], rows: Floats, truth: Floats) -> float:
    """The mean loss of a linear model, or of logistic regression, that was fitted to other rows."""
    if history.link == "identity":
        return float(np.mean((linear_predictions(*train, rows) - truth) ** 2))
    classes = class_labels(history.network())
    return _log_loss(classes, logistic_scores(*train, rows, len(classes)), truth)


def _log_loss(classes: Any, scores: Floats, truth: Floats) -> float:
    return evaluation(EvaluationRows.scored(classes, scores, truth)).scores["log_loss"]


# -- Least squares and logistic regression on all columns: what models are compared with.

MOST_CATEGORIES = 100
"""Levels of a category that have a 0/1 column of their own: tens of thousands would take gigabytes."""

_RIDGE = 1e-9  # of a standardised column's own size
_NEVER = 700.0  # a score so low that its probability is next to nothing
_FAR = 1e30  # standard deviations; scikit-learn's trees read single precision


def known(rows: Floats) -> Floats:
    """Return rows with 0 in columns that hold nothing."""
    return np.where(np.isnan(rows).all(axis=0), 0.0, rows)


def as_numbers(schema: Schema, rows: Floats, learnt: Floats) -> Floats:
    """Return encoded rows as numbers that any model takes.

    A category is one 0/1 column per level, for the commonest :data:`MOST_LEVELS` of the rows `learnt` from; a gap is
    their median.
    """
    if schema.all_numbers and not np.isnan(rows).any():
        return rows
    parts = list[Floats]()
    for kind, column, others in zip(schema.columns, rows.T, known(learnt).T, strict=True):
        if kind.categories is None:
            parts.append(np.where(np.isnan(column), np.nanmedian(others), column))
        else:
            parts += [(column == code).astype(np.float64) for code in _commonest(others, len(kind.categories))]
    return np.stack(parts, axis=1) if parts else np.zeros((len(rows), 1))


def _commonest(codes: Floats, count: int) -> list[int]:
    """Return the numbers of the commonest levels, in their order: all of them where they are few."""
    if count <= MOST_CATEGORIES:
        return list(range(count))
    times = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=count)
    return sorted(np.argsort(-times, kind="stable")[:MOST_CATEGORIES].tolist())


def standardised(rows: Floats, judged: Floats) -> tuple[Floats, Floats]:
    """Return rows, and others to judge by, with the former's columns centred and of size 1, whatever their scale."""
    size = np.maximum(np.abs(rows).max(axis=0), np.finfo(np.float64).tiny)  # 1e300 has no square
    scaled = rows / size
    centre, spread = scaled.mean(axis=0), scaled.std(axis=0)
    spread[np.ptp(scaled, axis=0) == 0] = 1.0
    scaled = (scaled - centre) / spread
    return scaled, scaled if judged is rows else np.clip((judged / size - centre) / spread, -_FAR, _FAR)


def linear_predictions(rows: Floats, target: Floats, judged: Floats) -> Floats:
    """Return what least squares on `rows` predicts for the rows `judged`.

    The system is as small as the fewer of rows and columns; the slightest of ridges makes it solvable, whatever columns
    repeat each other.
    """
    table, asked = standardised(rows, judged)
    wide = len(table) < table.shape[1]
    products = table @ table.T if wide else table.T @ table
    products.flat[:: len(products) + 1] += _RIDGE * len(table)
    residual = target - target.mean()
    solved = solve(products, residual if wide else table.T @ residual, assume_a="pos", check_finite=False)
    return np.asarray(target.mean() + asked @ (table.T @ solved if wide else solved))


def logistic_scores(rows: Floats, codes: Floats, judged: Floats, count: int) -> Floats:
    """Return the scores that logistic regression on `rows` gives the rows `judged`: one column per class.

    It is scikit-learn's, on standardised columns with its usual penalty; a class that `rows` lack is never said.
    """
    from sklearn.linear_model import LogisticRegression

    table, asked = standardised(rows, judged)
    found = np.full((len(asked), count), -_NEVER)
    known = np.unique(codes).astype(int)
    if len(known) == 1:
        found[:, known[0]] = 0.0
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # after so many steps the rest does not matter here
        model = LogisticRegression(max_iter=500).fit(table, codes.astype(int))
    scores = model.decision_function(np.clip(asked, -1e6, 1e6))
    found[:, known] = np.stack([np.zeros(len(asked)), scores], axis=1) if scores.ndim == 1 else scores
    return found


def majority_scores(codes: Floats, judged: int, count: int) -> Floats:
    """Return the scores that say the same of all rows: the shares of the classes."""
    shares = np.bincount(codes.astype(int), minlength=count) / len(codes)
    logs = np.log(shares, out=np.full(count, -_NEVER), where=shares > 0)
    return np.tile(logs, (judged, 1))
