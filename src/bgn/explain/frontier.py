"""Error against size: how accurate a model was at every size while it grew, and whether more terms would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from bgn.explain.arguments import class_labels
from bgn.explain.evaluate import evaluate_predictions
from bgn.explain.rivals import is_clearly_larger, rival_predictions, rows_with_target
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular

_LEAST = float(np.finfo(np.float64).tiny)  # of a probability whose logarithm is taken


@dataclass(frozen=True, eq=False)
class Frontier(Tabular):
    """Errors of a model at every size it had while it grew: mean squared errors, or log losses where it has classes.

    Attributes
    ----------
    errors : mapping of str to ndarray of float64, shape (sizes,)
        By the rows they were measured on, those that are known: "training", "validation", "test", in this order. Where
        there is a validation set, "training" leaves it out. Entry k belongs to k terms of the last layer; entry 0 is
        predicting the mean, or the shares of the classes.
    linear : mapping of str to float
        The error of a linear model, for classes of logistic regression, by the rows it could be measured on.
    chosen : int
        How many terms the model itself has in its last layer.
    conditions : tuple of int
        How many conditions a reader reads of the model with k terms: its size, ``n_conditions`` of its network.
    cross_validated : bool
        Whether the validation error comes from cross-validation rather than from a validation set.
    loss : {"mse", "log_loss"}
    counted : {"terms", "conditions"}
        What a size counts: conditions where the model grew within a budget of them.
    """

    errors: Mapping[str, Floats]
    linear: Mapping[str, float]
    chosen: int
    conditions: tuple[int, ...]
    cross_validated: bool = False
    loss: str = "mse"
    counted: str = "terms"

    def _columns(self) -> Columns:
        sizes = range(len(self.errors["training"]))
        errors = {f"{self.name(rows)} error": values.tolist() for rows, values in self.errors.items()}
        counts = {self.counted: [*sizes]} | {"conditions": [*self.conditions]}
        return {**counts, **errors, "chosen": [size == self.chosen for size in sizes]}

    @property
    def evaluated_on(self) -> str:
        """The rows that measure best how new rows are predicted: "test", else "validation", else "training"."""
        return list(self.errors)[-1]

    @property
    def best(self) -> int:
        """The size of the least validation error, whatever the test error is; of the least training error where there
        is no other. :func:`clearly_better` tells whether the difference is more than noise."""
        return int(np.argmin(self.errors.get("validation", self.errors["training"])))

    def name(self, rows: str) -> str:
        """What the error on some rows is called in print: "cross-validated" where it is that."""
        return "cross-validated" if rows == "validation" and self.cross_validated else rows

    def __str__(self) -> str:
        """One line per size, and one for a linear model."""
        wide = {rows: max(12, 2 + len(self.name(rows))) for rows in self.errors}
        head = f"terms    {'conditions':>12}" if self.counted == "terms" else f"at most  {'conditions':>12}"
        lines = [head + "".join(f"{self.name(rows):>{wide[rows]}}" for rows in self.errors)]
        for size in range(len(self.errors["training"])):
            mark = "  chosen" if size == self.chosen else ""
            cells = (f"{errors[size]:>{wide[rows]}.4g}" for rows, errors in self.errors.items())
            lines.append(f"{size:>9}{self.conditions[size]:>12}" + "".join(cells) + mark)
        if self.linear:
            figures = {rows: f"{self.linear[rows]:.4g}" if rows in self.linear else "" for rows in self.errors}
            name = "logistic" if self.loss == "log_loss" else "linear"
            cells = (f"{cell:>{wide[rows]}}" for rows, cell in figures.items())
            lines.append(f"{name:>9}{'':12}" + "".join(cells).rstrip())
        return "\n".join(lines)


@through_pipelines("X", "X_test", targets=("y", "y_test"), undone=False)
def frontier(model: Any, X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None) -> Frontier:
    """Return a model's error at every size it had while it grew, with a linear model's and the mean's.

    Of a model for classes these are log losses, with those of logistic regression and of the shares of the classes.
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
    >>> len(sizes.errors["test"])  # 0, 1 and 2 terms
    3
    >>> print(str(sizes).splitlines()[0])
    terms      conditions    training  cross-validated        test
    """
    history = history_of(model)
    network, path = history.network(), history.paths[history.best_layer]
    loss = "mse" if network.link == "identity" else "log_loss"
    classes = None if network.link == "identity" else class_labels(network)

    def error(target: Floats, predicted: Floats) -> float:
        return evaluate_predictions(target, predicted, classes).scores[loss]

    networks, given = [history.network(size) for size in range(len(path))], {}
    for name, (features, target), end in (("training", (X, y), ""), ("test", (X_test, y_test), "_test")):
        if (features is None) != (target is None):
            raise ValueError(f"X{end} and y{end} go together; got one without the other.")
        if features is not None:
            given[name] = rows_with_target(network, features, target, f"X{end}", f"y{end}")
    errors = {"training": np.array([step.train_loss for step in path])}
    if not np.isnan(path[0].validation_loss):
        errors["validation"] = np.array([step.validation_loss for step in path])
    if "test" in given:
        rows, target = given["test"]
        errors["test"] = np.array([error(target, one.predict_encoded(rows, scores=classes is not None))
                                   for one in networks])  # fmt: skip
    linear = {}
    if "training" in given:
        for name, (rows, target) in given.items():
            predicted = rival_predictions(network.schema, given["training"], rows, classes)
            linear[name] = error(target, predicted["linear" if classes is None else "logistic"])
    conditions = tuple(one.n_conditions for one in networks)
    return Frontier(errors, linear, history.best_size, conditions, history.cross_validated, loss, history.counted)


def count_conditions(history: Any, layer: int | None = None) -> list[int]:
    """Return how many conditions a reader reads of the network at every size that a layer had, the chosen layer unless
    given. Conditions of the layers below are among them; of an ensemble they are those of the mean."""
    layer = history.best_layer if layer is None else layer
    return [history.network(size, layer).n_conditions for size in range(len(history.paths[layer]))]


def size_of_networks(history: Any) -> list[float]:
    """Return the conditions at every size of the chosen layer as its losses are measured: of an ensemble the mean over
    its networks, of a single network its own."""
    members = getattr(history, "members", ())
    if not members:
        return [*count_conditions(history)]
    grown = [(count_conditions(member), member.best_size) for member in members]
    sizes = range(len(history.paths[history.best_layer]))
    return [fmean(counts[min(size, best)] for counts, best in grown) for size in sizes]


def history_of(model: Any) -> Any:
    """Return the history of a fitted estimator, or the history itself."""
    history = getattr(model, "history_", model)
    if not hasattr(history, "records"):
        raise TypeError(
            f"model must be a fitted estimator with history_, or that history; got {type(model).__name__}. "
            "A network alone does not know how it grew."
        )
    return history


def size_advice(model: Any, sizes: Frontier, keep: str = "", larger: str = "") -> str:
    """Say whether a model of another size predicts better, by rows that did not grow it; nothing where that is unknown.

    Test rows may speak against a larger model, never for one: sizes are not to be chosen by them. `keep` and `larger`
    are how a caller asks for a size, and for more.
    """
    what, errors = "terms" if model.network_.linear else "rules", sizes.errors
    what = "conditions" if sizes.counted == "conditions" else what
    keep, larger = keep or f"max_{sizes.counted}={{}}", larger or f"a larger max_{sizes.counted}"
    last, chosen, best = len(errors["training"]) - 1, sizes.chosen, sizes.best
    if "validation" not in errors:
        return ""
    if last > chosen:
        if best <= chosen:
            return f"By the {sizes.name('validation')} error more {what} do not help."
        if not clearly_better(model, best, chosen):
            return f"No clear gain from more {what}."
        if "test" in errors and errors["test"][best] >= errors["test"][chosen]:
            return f"The test error does not confirm a gain from more {what}."
        return f"{best} {what} predict clearly better: {keep.format(best)} keeps them."
    if model.history_.stopped == f"max_{sizes.counted}" and chosen > 1 and clearly_better(model, chosen, chosen // 2):
        return f"The {sizes.name('validation')} error was still falling at {chosen} {what}; {larger} may help."
    return ""


def clearly_better(model: Any, size: int, other: int) -> bool | None:
    """Tell whether a model of one size predicts validation rows clearly better than one of another; None without such.

    The loss must be lower by more than the standard error of the difference: paired row by row where the estimator
    kept what it predicted of such rows, else as if the two were measured on different rows.
    """
    history = history_of(model)
    one, two = _validation_losses(model, history, size), _validation_losses(model, history, other)
    if one is not None and two is not None:
        return is_clearly_larger(two, one)
    path = history.paths[history.best_layer]
    error = np.hypot(path[size].validation_deviation, path[other].validation_deviation)
    error /= np.sqrt(max(history.n_validation, 1))
    if np.isnan(error):
        return None
    return bool(path[other].validation_loss - path[size].validation_loss > error)


def _validation_losses(model: Any, history: Any, size: int) -> Floats | None:
    """Return the losses of validation rows, row by row, at a size; None where nobody kept them."""
    network = history.network(size)
    if hasattr(model, "out_of_fold_"):
        kept = model.out_of_fold_
        predicted, target = kept.predictions[:, size], kept.targets
        if network.link == "identity":
            return np.asarray((predicted - target) ** 2)
        given = np.stack([1.0 - predicted, predicted], axis=1) if predicted.ndim == 1 else predicted
        return np.asarray(-np.log(np.maximum(given[np.arange(len(target)), target.astype(np.intp)], _LEAST)))
    if hasattr(model, "validation_rows_"):
        rows, target = model.validation_rows_
        classes = None if network.link == "identity" else class_labels(network)
        predicted = network.predict_encoded(network._rows(rows, encoded=True), scores=classes is not None)
        return evaluate_predictions(target, predicted, classes).by_row["mse" if classes is None else "log_loss"]
    return None
