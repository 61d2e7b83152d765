"""The scikit-learn face of growth."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from bgn.engines.disk.table import labels_on_disk, on_disk
from bgn.engines.sources import RowArguments, _loaded, known_columns, names_of, opened_again, target_blocks, that_count
from bgn.estimator_base import GrownEstimator, as_it_is, inherit_parameters
from bgn.grow.search import GrowthSettings
from bgn.inputs.arguments import chosen
from bgn.inputs.target import (
    Classes,
    check_classes,
    class_weights,
    few_values,
    labels_in,
    numeric_target,
    tally,
    to_array,
    weights,
)
from bgn.model.network import on_gpu
from bgn.model.step import Floats


@inherit_parameters
class BGNRegressor(RegressorMixin, GrownEstimator):
    """Interpretable regressor: an intercept plus a few weighted rules and linear terms.

    A rule adds its weight to the prediction if its condition holds, such as ``age >= 28``; each is about at most
    `max_features` columns. The same rows give the same model, bit for bit, in any order and on any number of threads.

    Parameters
    ----------
    max_terms : int, default 50
        **First: size, task, seed.** Maximum number of rules and linear terms (of each layer); the number with the
        lowest validation error is kept.
    task : {"regression"} or None, default None
        "regression" confirms that a target of few whole numbers, such as counts or ratings, is a quantity. With None
        `fit` warns of such a target, because class labels look the same.
    random_state : int, RandomState or None, default None
        Seed for the choice of validation rows and of the rules to replace.
    max_conditions : int or None, default None
        **Common.** Maximum number of conditions that a reader of the model reads, in place of `max_terms` and
        `max_features`: one per condition, one per linear term. Rules then join up to three conditions by "and", and one
        search finds rules and linear terms within this budget; sizes, as in ``history_`` and ``with_terms``, count
        conditions. For one layer, ``direction="search"`` and ``output="full"``.
    pairs : {"and"} or None, default "and"
        Whether rules may join conditions, with `max_conditions`.
    min_rows : int, default 1
        Least training rows where a rule holds, and where a rule of one condition does not, with `max_conditions`.
    cuts : mapping of names to thresholds, or None, default None
        The only thresholds that some columns may be compared with, ``{"age": [18, 30, 65]}``, with `max_conditions`.
    max_features : int or None, default 2
         Maximum number of columns in a rule; None: no limit.
    max_linear : int or "auto", default "auto"
        Maximum number of linear terms, which add a weight per unit of a numeric column between its lowest and highest
        training value; each counts as one term. They join the rules where that lowers the validation error by a quarter
        of its standard error (above 16,384 rows by a whole one), and are used without rules unless rules lower it by
        more than its standard error. In an ensemble all networks decide together. 0: none, which is what "auto" means
        with several layers, and for classification without cross-validation.
    select : {"best", "compact"}, default "best"
        Keep the size with the lowest validation error, or the smallest within one standard error of it.
    ensemble : int, default 1
        Number of networks to average, each grown without another share of the rows, `validation_fraction`, which
        validates it. The mean is more accurate and larger. It is one network, in which equal rules are one. Networks
        grow in parallel where rows are in memory, without cross-validation.
    categorical_features : {"from_dtype"}, mask, positions, names or None, default "from_dtype"
        Columns that are categorical whatever they hold, numbers too. Columns of text, of booleans and of the
        categorical types of pandas and polars always are; None refuses these.
    monotonic_cst : mapping of names to 1, 0 or -1, sequence of such, one per column, or None, default None
        1 where the prediction must never fall as the column rises, -1 where it must never rise, all other columns
        fixed; with two classes the score of the second. For numeric columns and ordered categories. It holds for all
        possible rows, at every size; :func:`bgn.certify` proves it. Missing values have no place in the order.
    interaction_cst : {"pairwise", "no_interactions"}, list of sets of names or positions, or None, default None
        Which columns a rule may combine: any two, none, or those of one set. Columns in no set form another one.
    bounds : (float or None, float or None) or None, default None
        Limits of all predictions, whatever the row, such as ``(0, None)``: where the sum of the terms is beyond, the
        nearer limit is predicted. Sizes are chosen by predictions within the limits.
    max_seconds : float or None, default None
        Stop growing after this many seconds and keep the best network so far.
    verbose : int, default 0
        1 shows a progress bar.
    n_jobs : int or None, default None
        Number of threads; None and -1: all cores. The result does not depend on it.
    shrinkage : float or "auto", default "auto"
        **Advanced.** Ridge penalty on the weights, for ``output="full"``, in units of rows. "auto" tries several on
        small datasets and keeps the one with the lowest validation error; above 5,000 training rows it is 1, in an
        ensemble 30.
    validation_fraction : float, default 0.2
        Share of the rows to validate on, chosen by a hash of their content so that equal rows stay together. 0: none;
        growth then stops at `max_terms`, or when nothing is gained. There are also none where at most 50 rows are
        different and each occurs ten times on average: without one of them, growth would miss a group.
    cv : int, "auto", None, splitter or pairs of positions, default "auto"
        Number of folds. Where rows are few, the size, the ridge penalty and the columns per rule are chosen by
        cross-validation, and the network is grown on all rows. "auto": five folds up to 6,000 rows (three where rows
        times columns exceed 2,097,152), unless there is an `eval_set` or a `validation_fraction` of 0; None: never.
        With several layers there is never any. scikit-learn's splitters and pairs (train, test) need rows in memory.
    digits : int or None, default 3
        Significant digits of the network's coefficients; thresholds have at most two more, and weights as many as fit
        the target's standard deviation, more only where the validation error would rise. An equation then prints what
        the network stores. None: unrounded.
    growth : GrowthSettings or None, default None
        How thoroughly to search, see :class:`bgn.GrowthSettings`; None for its defaults.
    callbacks : callable or sequence of callables, optional
        Each is called with every :class:`~bgn.grow.history.Record`; return True to stop.
    max_layers : int, default 1
        **The paper's.** Maximum number of hidden layers; the depth with the lowest validation error is kept.
    direction : {"search", "debiased", "lasso"}, default "search"
        How a rule's columns are chosen. "search" tries single columns, pairs at many angles and the debiased direction,
        and takes what lowers the training error most; "lasso" is the paper's; "debiased" is least squares on the
        columns that the Lasso picks.
    output : {"full", "stagewise"}, default "full"
        "full" refits all weights after every change; "stagewise" is the paper's closed form, which leaves the weights
        of earlier rules unchanged.
    learning_rate : float, default 1.0
        Step size, for ``output="stagewise"``. Small steps need a large `max_terms` and generalize better.

    Attributes
    ----------
    network_ : Network
        The model, in the columns' own units.
    intercept_ : float
        The constant.
    term_coef_ : ndarray, shape (terms, 1)
        The weights of ``network_.terms``. ``feature_importances_`` has one number per column.
    n_conditions_ : int
        The model's size.
    history_ : History or EnsembleHistory
        Every step, and the network at every size: ``history_.network(5)``, or ``with_terms(5)`` as an estimator. Of an
        ensemble ``history_.members``, one per network.
    intervals_ : Intervals
        Errors on the validation rows, where these were in memory, or on the rows that each fold left out.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when the columns of X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bgn import BGNRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = BGNRegressor(max_terms=3, max_linear=0, random_state=0).fit(X, y)
    >>> model.n_conditions_, round(model.intercept_), model.term_coef_.shape
    (6, 168, (3, 1))
    >>> model.predict(X.head(2)).shape
    (2,)
    """

    def __init__(self, *, task: str | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.task = task

    @classmethod
    def as_in_paper(cls, **changes: Any) -> Self:
        """Return an estimator that runs the paper's algorithm as its text has it.

        Lasso directions with at most two features, stagewise outputs, as many replacement attempts as neurons,
        up to three hidden layers of up to 1000 neurons, patience 100, numbers as they come out. Each layer is cut to
        the width that validates best before the next begins, which the text leaves open.

        `changes` are parameters to set otherwise.

        Examples
        --------
        >>> from bgn import BGNRegressor
        >>> BGNRegressor.as_in_paper(random_state=0).direction
        'lasso'
        """
        growth = GrowthSettings(max_replacements=None, sweeps=0, patience=100)
        size: dict[str, Any] = {"max_layers": 3, "max_terms": 1000, "growth": growth, "cv": None, "max_linear": 0}
        kind: dict[str, Any] = {"max_features": 2, "direction": "lasso", "output": "stagewise", "digits": None}
        return cls(**(size | kind | changes))

    @property
    def intercept_(self) -> float:
        """The constant of the model."""
        return float(self.network_.intercept[0])

    def _look_at_targets(self, given: RowArguments) -> None:
        """Warn of targets that look like classes, unless the user has said what they are."""
        chosen("task", self.task, (None, "regression"))
        if self.task is None and (few := few_values(self._target_tallies(given))):
            warnings.warn(
                f"y has {few}. If they are classes, use bgn.BGNClassifier, which predicts their probabilities; if they "
                f"are amounts, {type(self).__name__}(task='regression') says so.",
                stacklevel=5,
            )

    def _target_tallies(self, given: RowArguments) -> Iterator[tuple[list[Any], int]]:
        """Yield which values each block of the targets has."""
        return map(tally, target_blocks(given))

    def predict(self, X: Any, interval: float | None = None, groups: Any = None, return_std: bool = False) -> Any:
        """Predict the target of every row.

        Parameters
        ----------
        X : array_like, sparse matrix or frame of shape (rows, columns), memmap, or path
            As in `fit`; one row may be a series or a mapping by name. Categories that were not there at fit count as
            missing, with a warning. Rows in a file or in a memory map are read block by block; where the predictions
            themselves are too many for the memory, loop over :func:`bgn.read_blocks`.
        interval : float, optional
            Share of rows whose target is to lie in their interval, such as 0.9: intervals come too. See ``intervals_``.
        groups : array_like of shape (rows,), optional
            The group of every row, where the intervals were made for groups.
        return_std : bool, default False
            Of an ensemble, return the standard errors of the predictions too: the standard deviation of what its
            networks predict. For where targets lie, use `interval`.

        Returns
        -------
        ndarray of float64, shape (rows,)
            For a CUDA tensor a tensor on the same GPU, with the same bits. With `interval` a pair: the predictions,
            and an array of shape (rows, 2) with the ends of the intervals; with `return_std` the predictions and an
            array of shape (rows,).
        """
        check_is_fitted(self)
        model = as_it_is(self)
        if return_std:
            if interval is not None:
                both = f"got interval={interval!r} and return_std=True"
                raise ValueError(f"interval and return_std are for two calls; {both}.")
            return model._predicted(X), model._standard_errors(X)
        return model._predicted(X) if interval is None else (model._predicted(X), model._intervals(X, interval, groups))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | int | None = None) -> float:
        """Return the share of the target's variance that the predictions explain, R^2.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
            As in `fit`.
        y : array_like of shape (rows,), memmap, or path to a ``.npy`` file
            To be left out with `target`.
        sample_weight : array_like of shape (rows,), memmap, or path to a ``.npy`` file, optional
        target : str or int, optional
            The column of X that holds the targets, instead of `y`.

        Returns
        -------
        float
            1 for a perfect fit, 0 for the mean of the targets, less than that for worse.
        """
        check_is_fitted(self)
        model = as_it_is(self)
        named = target is not None and hasattr(X, "columns")
        given = RowArguments(X, y, sample_weight, target, names_of(model) if named else None)
        if not on_disk(X):
            given = given.in_memory()
            return r2(given.y, model.predict(given.X), given.weight)
        pieces = model._pieces(known_columns(model, opened_again(model, given, scored=True)))
        # What is kept of a block is a few numbers per row.
        kept = [(piece.target, some, piece.weight) for piece, some in pieces]
        targets, predicted, weight = (
            None if parts[0] is None else np.concatenate(parts) for parts in zip(*kept, strict=True)
        )
        return r2(targets, predicted, weight)


def r2(y: Any, predicted: Any, weight: Any) -> float:
    """The share of the target's variance that predictions explain."""
    weight = None if weight is None else weights(weight, len(predicted))
    return float(r2_score(numeric_target(y), predicted, sample_weight=weight))


@inherit_parameters
class BGNClassifier(ClassifierMixin, GrownEstimator):
    """Interpretable classifier: the scores are an intercept plus a few weighted rules and linear terms.

    A rule adds its weight if its condition holds, such as ``age >= 28``; each is about at most `max_features` columns.
    With two classes there is one score, the log-odds of the second, with more classes one each. The same rows give the
    same model, bit for bit, in any order, on any number of threads and wherever they live.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None, default None
        The weight of a row of each class; "balanced" gives all classes the same weight in total. Probabilities are then
        those of such a dataset.
    **parameters
        As for :class:`bgn.BGNRegressor`, without `task`; the loss is the log loss, and `output` is always "full".

    Attributes
    ----------
    network_ : Network
        The model: its raw scores are log-odds, its predictions probabilities.
    intercept_ : ndarray, shape (1,) or (classes,)
        The constants, one per score.
    classes_ : ndarray
        The labels, in order.
    term_coef_, n_conditions_, history_, intervals_, n_features_in_, feature_names_in_
        As for :class:`bgn.BGNRegressor`; losses are mean log losses.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bgn import BGNClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = BGNClassifier(max_terms=3, random_state=0).fit(X, y)
    >>> model.classes_, model.predict_proba(X.head(2)).shape
    (array([0, 1]), (2, 2))
    """

    _predicts = "classes"
    _accurate: ClassVar[dict[str, Any]] = {"ensemble": 16}

    classes_: NDArray[Any]

    def __init__(self, *, class_weight: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.class_weight = class_weight

    @property
    def intercept_(self) -> Floats:
        """The constants of the scores."""
        return self.network_.intercept

    def predict(self, X: Any, interval: float | None = None, groups: Any = None) -> Any:
        """Predict the class of every row.

        Parameters
        ----------
        X, groups
            As for :meth:`BGNRegressor.predict`.
        interval : float, optional
            Share of rows whose class is to be in their set of classes, such as 0.9: the sets come too.

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
        return labels if interval is None else (labels, model._intervals(X, interval, groups))

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Return the probability of every class.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
        return_std : bool, default False
            Of an ensemble, return the standard errors of the probabilities too.

        Returns
        -------
        ndarray of float64, shape (rows, classes)
            In the order of ``classes_``. For a CUDA tensor a tensor on the same GPU. With `return_std` a pair: the
            probabilities, and an array of the same shape.
        """
        check_is_fitted(self)
        if return_std:
            errors = as_it_is(self)._standard_errors(X)
            return self.predict_proba(X), errors if errors.ndim == 2 else np.stack([errors, errors], axis=1)
        second = as_it_is(self)._predicted(X)
        if second.ndim == 2:
            return second
        if isinstance(second, np.ndarray):
            return np.stack([1.0 - second, second], axis=1)
        import torch

        return torch.stack([1.0 - second, second], dim=1)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of every class, shape (rows, classes)."""
        scores = np.asarray(self.decision_function(X), np.float64)
        if scores.ndim == 1:
            return np.stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)], axis=1)
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores: log-odds of the second of two classes, or one score per class."""
        check_is_fitted(self)
        return as_it_is(self)._predicted(X, scores=True)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | int | None = None) -> float:
        """Return the share of rows whose class is predicted; arguments as for :meth:`BGNRegressor.score`."""
        check_is_fitted(self)
        model = as_it_is(self)
        named = target is not None and hasattr(X, "columns")
        given = RowArguments(X, y, sample_weight, target, names_of(model) if named else None)
        classes = Classes(tuple(model.classes_.tolist()))
        if not on_disk(X):
            given = given.in_memory()
            codes, predicted = classes.codes(given.y), classes.codes(model.predict(given.X))
            if len(codes) != len(predicted):
                raise ValueError(f"y must have one label per row of X ({len(predicted)}); got {len(codes)}.")
            hits = codes == predicted
            weight = None if given.weight is None else weights(given.weight, len(hits))
            return float(accuracy_score(np.ones(len(hits)), hits * 1.0, sample_weight=weight))
        right = total = 0.0
        rows = known_columns(model, opened_again(model, replace(given, classes=classes), scored=True))
        for piece, predicted in model._pieces(rows):
            codes = np.asarray(predicted.argmax(axis=1) if predicted.ndim == 2 else predicted > 0.5)
            heavy = np.ones(len(codes)) if piece.weight is None else piece.weight
            right, total = right + float(heavy[codes == piece.target].sum()), total + float(heavy.sum())
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
        classes = self._known_classes(labels, counts)
        held_out = None if held_out is None else self._numbered(held_out, Classes(labels), "y of eval_set")
        return self._numbered(given, classes, "y"), held_out, labels

    def _known_classes(self, labels: tuple[Any, ...], counts: Floats) -> Classes:
        """The classes, with their weights; the estimator takes note of them."""
        check_classes(labels, counts)
        self.classes_ = np.array(labels) if len({*map(type, labels)}) == 1 else np.array(labels, dtype=object)
        return Classes(labels, class_weights(self.class_weight, labels, counts))

    def _numbered(self, given: RowArguments, classes: Classes, name: str) -> RowArguments:
        if given.target is not None and on_disk(given.X):
            return replace(given, classes=classes)
        given = given if on_disk(given.X) or on_gpu(given.X) else given.in_memory()
        given = replace(given, name=given.target_name)
        codes = classes.codes(_labels(given.y), name)
        weight = _loaded(given.weight, "sample_weight") if classes.weights is not None else given.weight
        if weight is not None and not isinstance(weight, str) and not on_gpu(weight) and not on_disk(given.X):
            weight = weights(weight, len(codes))
            left = np.bincount(codes.astype(np.intp), weight, minlength=len(classes.labels))
            if not left.all() and left.any():
                gone = classes.labels[int(np.argmin(left))]
                raise ValueError(
                    f"sample_weight is zero for every row of the class {gone!r}: less than two classes, or fewer than "
                    "y names, are left. Drop those rows."
                )
        return replace(given, y=codes, weight=classes.weighted(codes, weight))


def _labels(y: Any) -> Any:
    y = to_array(_loaded(y, "y"))
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return column_or_1d(y, warn=True) if len(shape) == 2 and shape[1] == 1 else y
