"""The scikit-learn face of growth for classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from bgn.engines.disk.table import labels_on_disk, on_disk
from bgn.engines.sources import RowArguments, _loaded, names_of, that_count
from bgn.estimator_base import GrownEstimator
from bgn.estimator_state import as_it_is, inherit_parameters
from bgn.inputs.classes import Classes, class_weights, enough_classes, labels_in
from bgn.inputs.per_row import array_of, weights
from bgn.model.network import on_gpu
from bgn.model.step import Floats


@inherit_parameters
class BGNClassifier(ClassifierMixin, GrownEstimator):
    """Grow a sparse binary activated network that tells classes apart, one neuron at a time.

    The score of a row is a base value plus a handful of weighted yes/no questions, each about at most `max_features`
    columns: the log-odds of the second of two classes, or one score per class where there are more. The same rows give
    the same network, bit for bit, in any order, on any number of threads and wherever they live.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None, default None
        What a row of each class counts for; "balanced" gives all classes the same weight in total. Probabilities are
        then those of such a table.
    **parameters
        As for :class:`bgn.BGNRegressor`, but that the loss is the log loss and outputs are always ``"full"``.

    Attributes
    ----------
    network_ : Network
        What was grown: its raw scores are log-odds, its predictions probabilities.
    history_ : History or AverageHistory
        Every step, and the network at every width; losses are mean log losses.
    classes_ : ndarray
        The labels, in order.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when the columns of X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bgn import BGNClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = BGNClassifier(max_width=3, random_state=0).fit(X, y)
    >>> model.classes_, model.predict_proba(X.head(2)).shape
    (array([0, 1]), (2, 2))
    """

    _predicts = "classes"
    _accurate: ClassVar[dict[str, Any]] = {"n_networks": 16}

    classes_: NDArray[Any]

    def __init__(self, *, class_weight: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.class_weight = class_weight

    def predict(self, X: Any, interval: float | None = None, groups: Any = None) -> Any:
        """Predict the class of every row.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
        interval : float, optional
            Share of rows whose class is to be in their set of classes, such as 0.9: the sets come too.
        groups : array_like of shape (rows,), optional
            The group of every row, where ``intervals_`` were made for groups.

        Returns
        -------
        ndarray, shape (rows,)
            Labels; of equally probable classes the first. With `interval` a pair: the labels, and an array of bool of
            shape (rows, classes) that says which classes are in the set.
        """
        check_is_fitted(self)
        model = as_it_is(self)
        scores: Any = model.decision_function(X)
        if on_gpu(X):
            scores = scores.cpu().numpy()
        labels = model.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]
        return labels if interval is None else (labels, model._sure(X, interval, groups))

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Return the probability of every class.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
        return_std : bool, default False
            Of an average, return the standard errors of the probabilities too: the standard deviation of what its
            networks predict.

        Returns
        -------
        ndarray of float64, shape (rows, classes)
            In the order of ``classes_``. For a CUDA tensor a tensor on the same GPU. With `return_std` a pair: the
            probabilities, and an array of the same shape.
        """
        check_is_fitted(self)
        if return_std:
            errors = as_it_is(self)._spread(X)
            return self.predict_proba(X), errors if errors.ndim == 2 else np.stack([errors, errors], axis=1)
        found = as_it_is(self)._predicted(X)
        if found.ndim == 2:
            return found
        return np.stack([1.0 - found, found], axis=1) if isinstance(found, np.ndarray) else _beside(found)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of every class.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path

        Returns
        -------
        ndarray of float64, shape (rows, classes)
        """
        scores = np.asarray(self.decision_function(X), np.float64)
        if scores.ndim == 1:
            return np.stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)], axis=1)
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores: log-odds of the second of two classes, or one score per class.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path

        Returns
        -------
        ndarray of float64, shape (rows,) or (rows, classes)
        """
        check_is_fitted(self)
        return as_it_is(self)._predicted(X, scores=True)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | int | None = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
        y : array_like of shape (rows,)
            To be left out with `target`.
        sample_weight : array_like of shape (rows,), optional
        target : str or int, optional
            The column of X that holds the labels, instead of `y`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        model = as_it_is(self)
        named = target is not None and hasattr(X, "columns")
        given = RowArguments(X, y, sample_weight, target, names_of(model) if named else None)
        if on_disk(X):
            return model._score_on_disk(given)
        given = given.in_memory()
        known = Classes(tuple(model.classes_.tolist())).codes(given.y)
        right = known == Classes(tuple(model.classes_.tolist())).codes(model.predict(given.X))
        weight = None if given.weight is None else weights(given.weight, len(known))
        return float(accuracy_score(np.ones(len(right)), right * 1.0, sample_weight=weight))

    def _score_on_disk(self, given: RowArguments) -> float:
        from bgn.engines.sources import known_columns, opened_again

        given = replace(given, classes=Classes(tuple(self.classes_.tolist())))
        right = total = 0.0
        for piece, predicted in self._pieces(known_columns(self, opened_again(self, given, scored=True))):
            found = predicted.argmax(axis=1) if predicted.ndim == 2 else predicted > 0.5
            heavy = np.ones(len(found)) if piece.weight is None else piece.weight
            right, total = right + float(heavy[found == piece.target].sum()), total + float(heavy.sum())
        return right / total

    # -- learning ------------------------------------------------------------------------------------------

    def _with_classes(
        self, given: RowArguments, held_out: RowArguments | None
    ) -> tuple[RowArguments, RowArguments | None, tuple[Any, ...] | None]:
        """Number the classes; labels of rows in memory become these numbers, others are read as such."""
        if given.y is None and given.target is None:
            raise ValueError("This BGNClassifier estimator requires y to be passed, but the target y is None.")
        if given.target is None or not on_disk(given.X):
            given = given if on_disk(given.X) or on_gpu(given.X) else given.in_memory()
            given = replace(given, y=_labels(given.y), name=given.target_name)
            labels = labels_in(given.y)
            codes = Classes(labels).codes(given.y)
            counts = np.bincount(codes.astype(np.intp), minlength=len(labels)).astype(np.float64)
            if (keep := that_count(given.weight)) is not None and len(keep) == len(codes):
                left = np.bincount(codes[keep].astype(np.intp), minlength=len(labels)).astype(np.float64)
                counts = left if left.all() else counts  # a class of which nothing is left is refused below
        else:
            labels, counts = labels_on_disk(given.X, given.target)
        classes = self._judged(labels, counts)
        held_out = None if held_out is None else self._numbered(held_out, Classes(labels), "y of eval_set")
        return self._numbered(given, classes, "y"), held_out, labels

    def _judged(self, labels: tuple[Any, ...], counts: Floats) -> Classes:
        """The classes, with their weights; the estimator takes note of them."""
        enough_classes(labels, counts)
        self.classes_ = np.array(labels) if len({*map(type, labels)}) == 1 else np.array(labels, dtype=object)
        return Classes(labels, class_weights(self.class_weight, labels, counts))

    def _numbered(self, given: RowArguments, classes: Classes, name: str) -> RowArguments:
        """The rows with numbers of classes for labels, where these are in memory."""
        if given.target is not None and on_disk(given.X):
            return replace(given, classes=classes)
        given = given if on_disk(given.X) or on_gpu(given.X) else given.in_memory()
        given = replace(given, name=given.target_name)
        codes = classes.codes(_labels(given.y), name)
        weight = _loaded(given.weight, "sample_weight") if classes.weights is not None else given.weight
        if weight is not None and not isinstance(weight, str) and not on_gpu(weight) and not on_disk(given.X):
            weight = weights(weight, len(codes))
            _nothing_removed(classes, codes, weight)
        return replace(given, y=codes, weight=classes.weighted(codes, weight))


def _labels(y: Any) -> Any:
    """Labels, one per row, in memory."""
    y = array_of(_loaded(y, "y"))
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return column_or_1d(y, warn=True) if len(shape) == 2 and shape[1] == 1 else y


def _nothing_removed(classes: Classes, codes: Any, weight: Any) -> None:
    """Refuse row weights that leave nothing of a class."""
    left = np.bincount(codes.astype(np.intp), weight, minlength=len(classes.labels))
    if not left.all() and left.any():
        gone = classes.labels[int(np.argmin(left))]
        raise ValueError(
            f"sample_weight is zero for every row of the class {gone!r}: less than two classes, or fewer than y names, "
            "are left. Drop those rows."
        )


def _beside(found: Any) -> Any:
    """Probabilities of two classes, of a tensor."""
    import torch

    return torch.stack([1.0 - found, found], dim=1)
