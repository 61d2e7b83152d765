"""Grow a network on a Dask cluster: the estimators for Dask arrays and dataframes.

They follow the conventions of the Dask estimators of LightGBM and XGBoost, and grow the same network, to the bit, as
:class:`bgn.BGNRegressor` and :class:`bgn.BGNClassifier` on the same rows in memory, whatever the partitions, the number
of workers, and the workers lost on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from bgn.classifier import BGNClassifier
from bgn.dask_base import OnClusterEstimator
from bgn.engines.sources import RowArguments
from bgn.estimator_state import as_it_is, inherit_parameters
from bgn.estimators import BGNRegressor, r2
from bgn.inputs.classes import Classes, sorted_labels

__all__ = ["DaskBGNClassifier", "DaskBGNRegressor"]


@inherit_parameters
class DaskBGNRegressor(OnClusterEstimator, BGNRegressor):
    """Grow a sparse binary activated network on a Dask cluster.

    The parameters are those of :class:`bgn.BGNRegressor`, and `client`. Fitted attributes are NumPy, so the fitted
    model needs no cluster: `to_local` gives the plain estimator.

    Partitions are shared out among the workers' threads and read once; a worker needs about twice the size of its
    share while they are read. When a worker is lost, Dask makes its partitions again from the tasks that made them and
    growth goes on; data that was scattered exists once and cannot be made again.

    Parameters
    ----------
    client : distributed.Client or None, default None
        The cluster to use; None for the current client. It may be in use by others, and is never pickled.
    **parameters
        As for :class:`bgn.BGNRegressor`. `n_jobs` has no effect: every thread of every worker is used.

    Attributes
    ----------
    network_ : Network
        What was grown, in the columns' own units.
    history_ : History
        Every step, and the network at every width.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a dataframe.

    Examples
    --------
    >>> from distributed import Client
    >>> import dask.array as da
    >>> from sklearn.datasets import load_diabetes
    >>> from bgn.dask import DaskBGNRegressor
    >>> X, y = (da.from_array(rows, chunks=100) for rows in load_diabetes(return_X_y=True))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = DaskBGNRegressor(max_width=1, max_linear=0, shrinkage=1.0, random_state=0, client=client).fit(X, y)
    ...     predicted = model.predict(X).compute()
    >>> model.network_.widths, predicted.shape
    ((1,), (442,))
    """

    _local: ClassVar[Any] = BGNRegressor

    def __init__(self, *, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    def predict(self, X: Any, interval: float | None = None, groups: Any = None, return_std: bool = False) -> Any:
        """Predict the target of every row, lazily.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)
        interval, groups, return_std : None
            Intervals and standard errors are for rows in memory: see :func:`bgn.intervals`.

        Returns
        -------
        dask array or series, shape (rows,)
            Of the same kind and in the same partitions as X; a series keeps the index.
        """
        _no_interval(interval, return_std)
        check_is_fitted(self)
        return as_it_is(self)._lazily("predict", X, np.empty(0))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: Any = None) -> float:
        """Return the share of the target's variance that the predictions explain, R^2.

        Targets, predictions and weights, a few numbers per row, are gathered here.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)
        y : dask array or series, shape (rows,)
            To be left out with `target`.
        sample_weight : dask array or series, shape (rows,), optional
        target : str, optional
            The column of a dataframe X that holds the targets, instead of `y`.

        Returns
        -------
        float
            1 for a perfect fit, 0 for the mean of the targets, less than that for worse.
        """
        check_is_fitted(self)
        return r2(*as_it_is(self)._gathered(X, y, sample_weight, target))

    def _target_tallies(self, given: RowArguments) -> Iterator[tuple[list[Any], int]]:
        """Ask the workers which values the targets have."""
        from bgn.engines.cluster import tallies_on_cluster

        return tallies_on_cluster(self._calls, given.y if given.target is None else given.X[given.target])


@inherit_parameters
class DaskBGNClassifier(OnClusterEstimator, BGNClassifier):
    """Grow a sparse binary activated network that tells classes apart, on a Dask cluster.

    The parameters are those of :class:`bgn.BGNClassifier`, and `client`; rows and workers are treated as by
    :class:`DaskBGNRegressor`.

    Parameters
    ----------
    client : distributed.Client or None, default None
        The cluster to use; None for the current client. It may be in use by others, and is never pickled.
    **parameters
        As for :class:`bgn.BGNClassifier`. `n_jobs` has no effect: every thread of every worker is used.

    Examples
    --------
    >>> from distributed import Client
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bgn.dask import DaskBGNClassifier
    >>> X, y = (da.from_array(rows, chunks=200) for rows in load_breast_cancer(return_X_y=True))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = DaskBGNClassifier(max_width=1, shrinkage=1.0, random_state=0, cv=None, client=client).fit(X, y)
    ...     predicted = model.predict_proba(X).compute()
    >>> model.network_.widths, predicted.shape
    ((1,), (569, 2))
    """

    _local: ClassVar[Any] = BGNClassifier

    def __init__(self, *, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    def predict(self, X: Any, interval: float | None = None, groups: Any = None) -> Any:
        """Predict the class of every row, lazily.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)
        interval, groups : None
            Intervals are for rows in memory: see :func:`bgn.intervals`.

        Returns
        -------
        dask array or series, shape (rows,)
        """
        _no_interval(interval)
        check_is_fitted(self)
        model = as_it_is(self)
        return model._lazily("predict", X, model.classes_[:0])

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Return the probability of every class, lazily.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)
        return_std : bool, default False
            Standard errors are for rows in memory.

        Returns
        -------
        dask array or dataframe, shape (rows, classes)
        """
        _no_interval(None, return_std)
        check_is_fitted(self)
        model = as_it_is(self)
        return model._lazily("predict_proba", X, np.empty((0, len(model.classes_))))

    def decision_function(self, X: Any) -> Any:
        """Return the scores, lazily: log-odds of the second of two classes, or one score per class.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)

        Returns
        -------
        dask array, series or dataframe, shape (rows,) or (rows, classes)
        """
        check_is_fitted(self)
        model = as_it_is(self)
        shape = (0,) if len(model.classes_) == 2 else (0, len(model.classes_))
        return model._lazily("decision_function", X, np.empty(shape))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)
        y : dask array or series, shape (rows,)
            To be left out with `target`.
        sample_weight : dask array or series, shape (rows,), optional
        target : str, optional
            The column of a dataframe X that holds the labels, instead of `y`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        model = as_it_is(self)
        known, predicted, weight = model._gathered(X, y, sample_weight, target)
        classes = Classes(tuple(model.classes_.tolist()))
        return float(accuracy_score(classes.codes(known), classes.codes(predicted), sample_weight=weight))

    def _with_classes(
        self, given: RowArguments, held_out: RowArguments | None
    ) -> tuple[RowArguments, RowArguments | None, tuple[Any, ...] | None]:
        """Number the classes that the workers find."""
        from bgn.engines.cluster import labels_on_cluster

        y = given.y if given.target is None else given.X[given.target]
        if y is None:
            raise ValueError("This DaskBGNClassifier estimator requires y to be passed, but the target y is None.")
        counts: Counter[Any] = sum(labels_on_cluster(self._calls, y), Counter())
        labels = sorted_labels(counts)
        classes = self._judged(labels, np.array([float(counts[each]) for each in labels]))
        told = None if held_out is None else replace(held_out, classes=Classes(labels))
        return replace(given, classes=classes), told, labels


def _no_interval(interval: float | None, return_std: bool = False) -> None:
    """Refuse intervals and standard errors of rows on a cluster."""
    if return_std:
        raise ValueError("return_std must be False for rows on a cluster. Ask the model about some rows in memory.")
    if interval is not None:
        raise ValueError(
            f"interval must be None for rows on a cluster; got {interval!r}. Use bgn.intervals on some rows."
        )
