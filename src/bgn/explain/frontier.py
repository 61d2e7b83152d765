"""Error against size: what more questions would buy, and what the obvious would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.linear import as_numbers, linear_predictions
from bgn.explain.subject import rows_and_target
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines


@dataclass(frozen=True, eq=False)
class Frontier:
    """Mean squared errors of a model at every size it had while it grew, in the target's units squared.

    Attributes
    ----------
    errors : mapping of str to ndarray of float64, shape (sizes,)
        By the rows they were measured on, those that are known: "training", "validation", "test", in this order. Entry
        k belongs to k questions in the last hidden layer; entry 0 is predicting the mean.
    linear : mapping of str to float
        The error of a linear model, by the rows it could be measured on.
    chosen : int
        The size of the model itself.
    """

    errors: Mapping[str, Floats]
    linear: Mapping[str, float]
    chosen: int

    @property
    def judged(self) -> str:
        """The rows that tell most of new ones: "test" where known, else "validation", else "training"."""
        return list(self.errors)[-1]

    @property
    def best(self) -> int:
        """The size that validated best, whatever the test rows say; by the training error where there is no other."""
        return int(np.argmin(self.errors.get("validation", self.errors["training"])))

    def __str__(self) -> str:
        """One line per size, and one for a linear model."""
        lines = ["questions" + "".join(f"{rows:>12}" for rows in self.errors)]
        for size, errors in enumerate(zip(*self.errors.values(), strict=True)):
            mark = "  chosen" if size == self.chosen else ""
            lines.append(f"{size:>9}" + "".join(f"{error:>12.4g}" for error in errors) + mark)
        if self.linear:
            cells = (f"{self.linear[rows]:.4g}" if rows in self.linear else "" for rows in self.errors)
            lines.append("   linear" + "".join(f"{cell:>12}" for cell in cells).rstrip())
        return "\n".join(lines)


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

    Training and validation errors are known from growth. Rows given here count equally.

    Parameters
    ----------
    model : fitted estimator or History
        Whatever has ``history_``, or the history itself.
    X, y : array_like, optional
        Rows that the linear model is fitted to: those of the model. None for no linear model.
    X_test, y_test : array_like, optional
        Rows to measure the test error on; none unless told.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import bgn
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = bgn.BGNRegressor(max_width=2, random_state=0).fit(X[:300], y[:300])
    >>> sizes = bgn.frontier(model, X[:300], y[:300], X[300:], y[300:])
    >>> len(sizes.errors["test"])  # 0, 1 and 2 questions
    3
    >>> print(str(sizes).splitlines()[0])
    questions    training  validation        test
    """
    history = history_of(model)
    path = history.paths[history.best_layer]
    errors = {"training": np.array([each.train_mse for each in path])}
    if not np.isnan(path[0].validation_mse):
        errors["validation"] = np.array([each.validation_mse for each in path])
    train, test = _rows(history, X, y, "X", "y"), _rows(history, X_test, y_test, "X_test", "y_test")
    if test is not None:
        networks = map(history.network, range(len(path)))
        errors["test"] = np.array([_mse(network.predict_encoded(test[0]), test[1]) for network in networks])
    linear = {}
    if train is not None:
        judged, schema = {"training": train} | ({} if test is None else {"test": test}), history.network().schema
        rows = {name: as_numbers(schema, each, train[0]) for name, (each, _) in judged.items()}
        told = (rows["training"], train[1])
        linear = {name: _mse(linear_predictions(*told, rows[name]), truth) for name, (_, truth) in judged.items()}
    return Frontier(errors, linear, history.best_width)


def _rows(history: Any, X: Any, y: Any, x_name: str, y_name: str) -> tuple[Floats, Floats] | None:
    """Return rows and their target, None where there are none."""
    if (X is None) != (y is None):
        raise ValueError(f"{x_name} and {y_name} go together; got one without the other.")
    return None if X is None else rows_and_target(history.network(), X, y, x_name, y_name)


def _mse(predicted: Floats, truth: Floats) -> float:
    return float(np.mean((predicted - truth) ** 2))
