"""A small network that predicts what a large model predicts."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bgn.engines.protocol import Integers
from bgn.estimators import BGNClassifier, BGNRegressor
from bgn.inputs import arguments
from bgn.inputs.target import numeric_target, to_array
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.tabular import Columns, Tabular
from bgn.text import count_of

# Of the rows that learn probabilities, the share that chooses the size.
_TO_CHOOSE = 0.2
# Probabilities count in these parts of one; a class of less is left out.
_PARTS = 1024
# Probabilities are kept so far from 0 and 1 where their logarithm is taken.
_LEAST = 1e-6


@dataclass(frozen=True)
class Fidelity(Tabular):
    """How well a small model stands for the one it was distilled from, on rows that it did not learn from.

    Attributes
    ----------
    r2 : float
        The share of the variance of the large model's predictions, or probabilities, that the small one's explain.
    agreement : float
        The share of rows that both give the same class; NaN for numbers.
    error, teacher_error : float
        Of the small and of the large model against `y`: mean squared error, or log loss; NaN where `y` was not given.
    n_rows : int
        Number of rows that this was measured on.
    """

    r2: float
    agreement: float
    error: float
    teacher_error: float
    n_rows: int

    def _columns(self) -> Columns:
        known = {name: value for name, value in asdict(self).items() if value == value}
        return {"score": list(known), "value": list(known.values())}

    def __str__(self) -> str:
        parts = [f"R2 {self.r2:.4g} against the large model on {count_of(self.n_rows, 'row')}"]
        if not math.isnan(self.agreement):
            parts.append(f"the same class for {self.agreement:.1%} of them")
        if not math.isnan(self.error):
            parts.append(f"error {self.error:.4g}, the large model's {self.teacher_error:.4g}")
        return ", ".join(parts)


def distill(
    model: Any, X: Any, y: Any = None, *, max_terms: int = 10, test_fraction: float = 0.2, X_test: Any = None,
    y_test: Any = None, random_state: int | None = None, **parameters: Any,
) -> BGNRegressor | BGNClassifier:  # fmt: skip
    """Grow a small network on the predictions of a large model.

    Predictions have less noise than targets: on tables of a few hundred rows the small network can be better than one
    that is grown on the targets. Rows without a target serve as well.

    Parameters
    ----------
    model : Network, fitted estimator of ours, or any fitted model
        What to learn from: an object with ``predict``, or with ``predict_proba`` and ``classes_`` for classes.
    X : array_like or frame of shape (rows, columns)
        Training rows: what the model predicts of them is learned. Test rows of the model are none; pass them as
        `X_test`.
    y : array_like of shape (rows,), optional
        The true targets, to tell the errors of both models. Nothing is learned from them.
    max_terms : int, default 10
        Most terms of the small network.
    test_fraction : float, default 0.2
        Share of the rows of X to set aside, on which ``fidelity_`` is measured, unless `X_test` is given.
    X_test, y_test : array_like or frame, optional
        Test rows, on which ``fidelity_`` is measured instead; all rows of X are then learned from.
    random_state : int, optional
        Seeds the choice of these rows, and growth.
    **parameters
        Of :class:`bgn.BGNRegressor`, with a network's `bounds`, or of :class:`bgn.BGNClassifier` for classes. Where the
        large model has ``monotonic_cst`` or ``interaction_cst``, the small one keeps them unless told otherwise.

    Returns
    -------
    BGNRegressor or BGNClassifier
        Fitted, with one more attribute: ``fidelity_``, a :class:`~bgn.distillation.Fidelity`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LassoCV
    >>> import bgn
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> small = bgn.distill(LassoCV().fit(X, y), X, y, max_terms=5, max_linear=0, random_state=0)
    >>> small.network_.widths
    (5,)
    >>> small.fidelity_.r2 > 0.7
    True
    """
    arguments.whole("max_terms", max_terms, 1)
    arguments.real("test_fraction", test_fraction, 0.0, 1.0, open_low=True, open_high=True)
    if X_test is None and y_test is not None:
        raise ValueError("y_test needs the rows it belongs to; pass X_test too.")
    teacher = _Predictions.of(model, X)
    count = len(teacher.values)
    if y is not None and len(y) != count:
        raise ValueError(f"y must have one value per row of X, {count}; got {len(y)}.")
    if X_test is None:
        train, test = _shares(count, test_fraction, random_state)
        rows, wanted = _rows_at(X, test), teacher.values[test]
        known = None if y is None else np.asarray(to_array(y))[test]
    else:
        train, rows, wanted = np.arange(count), X_test, _Predictions.of(model, X_test).values
        known = None if y_test is None else np.asarray(to_array(y_test))
        if known is not None and len(known) != len(wanted):
            raise ValueError(f"y_test must have one value per row of X_test, {len(wanted)}; got {len(known)}.")
    parameters = _constraints(model) | parameters | {"max_terms": max_terms, "random_state": random_state}
    student: Any
    if teacher.classes is None:
        ends = getattr(getattr(model, "network_", model), "bounds", None)
        bounds = {} if ends is None else {"bounds": tuple(end if np.isfinite(end) else None for end in ends)}
        given = {"task": "regression"} | bounds | parameters
        student = BGNRegressor(**given).fit(_rows_at(X, train), teacher.values[train])
    else:
        student = _of_probabilities(BGNClassifier(**parameters), X, teacher, train, random_state)
    student.fidelity_ = _fidelity(_Predictions.of(student, rows), _Predictions(wanted, teacher.classes), known)
    return student


def _constraints(model: Any) -> dict[str, Any]:
    """Return what is required of a model's predictions, which the small one keeps, as parameters."""
    names = ("monotonic_cst", "interaction_cst")
    kept = {name: getattr(model, name) for name in names if getattr(model, name, None) is not None}
    inner = model  # what predicts inside pipelines, searches and transformed targets
    while True:
        steps = getattr(inner, "steps", None)
        parts = [getattr(inner, name, None) for name in ("best_estimator_", "regressor_")]
        parts += [steps[-1][1]] if isinstance(steps, list) and steps else []
        if (deeper := next((part for part in parts if part is not None), None)) is None:
            break
        inner = deeper
    lost = [name for name in names if inner is not model and getattr(inner, name, None) is not None]
    if lost and not kept:
        warnings.warn(
            f"the model keeps {' and '.join(lost)} for the columns that its last step reads; the small model is not "
            f"told. Pass {lost[0]} for the columns of X to distill.",
            stacklevel=3,
        )
    return kept


@dataclass(frozen=True, eq=False)
class _Predictions:
    """What a model predicts: numbers, or one column of probabilities per class."""

    values: Floats
    classes: tuple[Any, ...] | None

    @classmethod
    def of(cls, model: Any, X: Any) -> _Predictions:
        if isinstance(model, Network):
            values, classes = np.asarray(model.predict(X), dtype=np.float64), model.schema.classes
            if classes is not None and values.ndim == 1:
                values = np.stack([1.0 - values, values], axis=1)
            return cls(values, classes)
        if hasattr(model, "predict_proba"):
            return cls(np.asarray(model.predict_proba(X), dtype=np.float64), tuple(np.asarray(model.classes_).tolist()))
        if not hasattr(model, "predict"):
            raise TypeError(f"model must be fitted and have `predict` or `predict_proba`; got {type(model).__name__}.")
        values = np.asarray(model.predict(X))
        if values.dtype.kind not in "biuf" or values.ndim != 1:
            raise ValueError(
                "model must predict one number per row, or have `predict_proba` for classes; got predictions of "
                f"type {values.dtype} and shape {values.shape}."
            )
        return cls(values.astype(np.float64), None)

    def error(self, y: Any) -> float:
        """Mean squared error, or log loss."""
        if self.classes is None:
            return float(np.mean((self.values - numeric_target(y)) ** 2))
        place = {label: k for k, label in enumerate(self.classes)}
        if unknown := [label for label in np.asarray(y).tolist() if label not in place]:
            raise ValueError(
                f"y must hold classes that the model knows, such as {self.classes[0]!r}; got {unknown[0]!r}."
            )
        own = self.values[np.arange(len(y)), [place[label] for label in np.asarray(y).tolist()]]
        return float(-np.log(np.clip(own, _LEAST, 1.0)).mean())


def _shares(rows: int, share: float, seed: int | None) -> tuple[Integers, Integers]:
    """The rows to learn from and those to judge by, at random, each in their order."""
    held_out = round(share * rows)
    if not 0 < held_out < rows:
        raise ValueError(
            f"X must have training rows and test rows; got {rows}, a share of {share:g} of them."
        )
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def _rows_at(X: Any, places: Integers) -> Any:
    """Some rows of a table, perhaps several times."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if hasattr(X, "take") and not isinstance(X, np.ndarray):  # pyarrow
        return X.take(places)
    return X[places] if hasattr(X, "columns") or isinstance(X, np.ndarray) else np.asarray(X)[places]


def _of_probabilities(
    student: BGNClassifier, X: Any, teacher: _Predictions, rows: Integers, seed: int | None
) -> BGNClassifier:
    """Learn probabilities: each row once per class, with its probability for weight, so that the log loss is theirs.

    The rows that choose the size are others, each with a class drawn at random.
    """
    assert teacher.classes is not None
    rng = np.random.default_rng(seed)
    train, validation = (rows[part] for part in _shares(len(rows), _TO_CHOOSE, seed))
    labels = np.array(teacher.classes, dtype=object if isinstance(teacher.classes[0], str) else None)
    drawn = (teacher.values[validation].cumsum(axis=1) < rng.random(len(validation))[:, None]).sum(axis=1)
    places, codes = np.nonzero(np.rint(teacher.values[train] * _PARTS))
    order = np.argsort(codes, kind="stable")  # class by class
    places, codes = places[order], codes[order]
    weights = np.rint(teacher.values[train][places, codes] * _PARTS) / _PARTS
    known = (_rows_at(X, validation), labels[np.minimum(drawn, len(labels) - 1)])
    return student.fit(_rows_at(X, train[places]), labels[codes], sample_weight=weights, eval_set=known)


def _fidelity(predictions: _Predictions, wanted: _Predictions, y: Any) -> Fidelity:
    """Return how near predictions come to those of the large model, and both to the targets."""
    if wanted.classes is not None and predictions.classes != wanted.classes:  # a class that no row was given
        order = [wanted.classes.index(label) for label in predictions.classes or ()]
        values = np.zeros_like(wanted.values)
        values[:, order] = predictions.values
        predictions = _Predictions(values, wanted.classes)
    total = float(((wanted.values - wanted.values.mean(axis=0)) ** 2).sum())
    missed = float(((wanted.values - predictions.values) ** 2).sum())
    same = math.nan
    if wanted.classes is not None:
        same = float(np.mean(predictions.values.argmax(axis=1) == wanted.values.argmax(axis=1)))
    errors = (math.nan, math.nan) if y is None else (predictions.error(y), wanted.error(y))
    r2 = 1.0 - missed / total if total else float(missed == 0)
    return Fidelity(r2, same, *errors, len(wanted.values))
