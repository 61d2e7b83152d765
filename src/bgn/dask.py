"""Grow a network on a Dask cluster: the estimators for Dask arrays and dataframes.

They follow the conventions of the Dask estimators of LightGBM and XGBoost, and grow the same network, to the bit, as
:class:`bgn.BGNRegressor` and :class:`bgn.BGNClassifier` on the same rows in memory, whatever the partitions, the number
of workers, and the workers lost on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from bgn.engines.disk.engine import Scratch
from bgn.engines.protocol import RowSource
from bgn.engines.raw_rows import Survey
from bgn.engines.sources import RowArguments, names_of
from bgn.estimator_base import GrownEstimator, OpenRows, as_it_is, inherit_parameters, take_over
from bgn.estimators import BGNClassifier, BGNRegressor, r2
from bgn.explain.shap import shap_values
from bgn.inputs.frames import check_representable, check_row_count
from bgn.inputs.target import Classes, refuse_dates, sorted_labels
from bgn.model.network import Network
from bgn.model.schema import Schema
from bgn.require import require


class OnClusterEstimator(GrownEstimator):
    """An estimator whose rows live on a Dask cluster; `_local` is what it is without."""

    client: Any
    predict: Any
    _local: ClassVar[type[GrownEstimator]]
    _agreement: Any

    @property
    def client_(self) -> Any:
        """The client in use: the one given, or the current one."""
        if self.client is not None:
            return self.client
        try:
            return require("distributed", extra="dask").default_client()
        except ValueError:
            raise ValueError(
                "client is None and there is no current client. Make one, for instance with distributed.Client(), or "
                "pass client=."
            ) from None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        *,
        target: Any = None,
        columns: Sequence[Any] | None = None,
    ) -> Self:
        """Grow a network on the rows of a Dask collection.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)
            The lengths of its partitions need not be known. Columns in several chunks are put together.
        y : dask array or series, shape (rows,)
            In partitions like those of X. The name of a series becomes the network's target name. To be left out with
            `target`.
        sample_weight : dask array or series, shape (rows,), optional
            A row of weight 2 counts as the row twice, exactly; rows of weight 0 are left out.
        eval_set : (X, y) of collections, or X with `target`, optional
            Rows to validate on, instead of a share of X.
        target : str, optional
            The column of a dataframe X to predict, instead of `y`.
        columns : sequence of str, optional
            The columns of a dataframe X to learn from; all but the target unless told.

        Returns
        -------
        self
        """
        client = self.client_
        if not hasattr(client, "asynchronous"):
            raise ValueError(
                f"client must be a distributed.Client; got {client!r}. Make one: distributed.Client(address)."
            )
        if client.asynchronous:
            raise ValueError("client is asynchronous, and fit waits for answers; make one without asynchronous=True.")
        return super().fit(X, y, sample_weight, eval_set, target=target, columns=columns)

    @contextmanager
    def _open_rows(self, given: RowArguments, eval_set: Any) -> Iterator[OpenRows]:
        """Keep the rows on the workers while a network grows."""
        from bgn.engines.cluster import ClusterTasks

        self._calls = ClusterTasks(self.client_)
        try:
            self._calls.check_workers()
            with super()._open_rows(given, eval_set) as rows:
                yield rows
        finally:
            self._calls.release()

    def _lazily(self, method: str, X: Any, like: NDArray[Any]) -> Any:
        """What a method of the plain estimator says of every partition, lazily; `like` is such a reply, of no rows."""
        X, reduced = self._checked(X), take_over(self._local(), self)
        del reduced.history_  # what predicts, and no more, travels with every task
        if hasattr(X, "columns"):
            pandas, index = require("pandas", extra="dask"), X._meta.index[:0]
            meta = pandas.Series(like, index=index) if like.ndim == 1 else pandas.DataFrame(like, index=index)
            return X.map_partitions(_applied, reduced, method, like, meta=meta)
        if like.ndim == 1:
            return X.map_blocks(_applied, reduced, method, like, dtype=like.dtype, drop_axis=1, meta=like)
        chunks = X.chunks[0], (like.shape[1],)
        return X.map_blocks(_applied, reduced, method, like, dtype=like.dtype, chunks=chunks, meta=like)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: Any = None) -> float:
        """Return what the plain estimator's `score` returns: R^2, or the share of rows whose class is predicted.

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
        """
        check_is_fitted(self)
        model = as_it_is(self)
        given = RowArguments(X, y, sample_weight, target, None if target is None else names_of(model)).in_memory()
        gather = partial(require("dask", extra="dask").compute, scheduler=model.client)
        # One after the other: arrays and frames in one go Dask warns of.
        rows = given.y, model.predict(given.X), given.weight
        known, predicted, weight = (gather(collection)[0] for collection in rows)
        return float(model._agreement(known, np.asarray(predicted), weight))

    def shap_values(self, X: Any, background: Any, **options: Any) -> Any:
        """Return the SHAP values of every row against a background, lazily; see :func:`bgn.shap_values`.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)
        background : array_like or frame, shape (any number of rows, columns)
            In memory; it travels to every worker.
        **options
            As for :func:`bgn.shap_values`.

        Returns
        -------
        dask array or dataframe, shape (rows, columns)
            With the mean prediction over the background added, a row adds up to its prediction.
        """
        check_is_fitted(self)
        model = as_it_is(self)
        X, network = model._checked(X), model.network_
        options = options | {"background": require("dask", extra="dask").delayed(background)}
        if hasattr(X, "columns"):
            meta = require("pandas", extra="dask").DataFrame(
                columns=network.names, index=X._meta.index, dtype=np.float64
            )
            return X.map_partitions(_explain, network=network, meta=meta, **options)
        return X.map_blocks(_explain, network=network, dtype=np.float64, meta=np.empty((0, 0)), **options)

    def to_local(self) -> Any:
        """Return the plain estimator, fitted if this one is."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        return take_over(self._local(**parameters), self)

    # -- checking what came in -----------------------------------------------------------------------------

    def _source(
        self, given: RowArguments, scratch: Scratch, seed: int, schema: Schema | None = None
    ) -> tuple[RowSource, Schema]:
        """Check collections as far as can be told without reading them; also what their columns are."""
        from bgn.engines.cluster import rows_on_cluster, schema_on_cluster

        named, reset = hasattr(given.X, "columns"), schema is None
        if not named and (given.target is not None or given.columns is not None):
            raise ValueError("target and columns name columns of a dataframe; X has none. Pass y, and X[:, columns].")
        given = replace(given.in_memory(), classes=given.classes) if named else given
        self._checked(given.X, reset, "X" if reset else "X of eval_set")
        refuse_dates(getattr(given.y, "dtype", None))
        refuse_dates(getattr(given.weight, "dtype", None), "sample_weight")
        least = 0 if given.weight is not None else 2 if reset else 1
        check = partial(_check_surveys, least=least)
        name = given.target_name if hasattr(given.y, "map_partitions") else None
        if schema is None and self.direction == "search":
            schema = schema_on_cluster(self._calls, given.X, self.categorical_features, name, given.weight)
        source = rows_on_cluster(self._calls, given, check, schema)
        return source, schema or Schema.of_numbers(self.n_features_in_, names_of(self), name)

    def _checked(self, X: Any, reset: bool = False, name: str = "X") -> Any:
        """A table in whole rows, with as many columns, and the names, that are known."""
        require("dask.dataframe", extra="dask")
        from bgn.inputs.dask_tables import whole_rows

        X = whole_rows(X, name)
        like = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
        validate_data(self, like, reset=reset, skip_check_array=True)
        return X

    # -- the client stays here -----------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"client": None}

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        made: Any = type(self)
        copy: Self = made(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)
        return copy


def _check_surveys(surveys: Sequence[Survey], least: int) -> None:
    """Refuse too few rows, and targets whose squares no float64 can hold."""
    survey = reduce(Survey.merged, surveys)
    check_row_count(survey.n_rows, least)
    if survey.n_rows:
        check_representable([], survey.low, survey.high, None)


def _applied(part: Any, model: Any, method: str, like: NDArray[Any]) -> Any:
    """What a method says of one partition, which may be empty."""
    values = getattr(model, method)(part) if len(part) else like
    if not hasattr(part, "columns"):
        return values
    pandas = require("pandas", extra="dask")
    return (pandas.Series if values.ndim == 1 else pandas.DataFrame)(values, index=part.index)


def _explain(part: Any, network: Network, background: Any, **options: Any) -> Any:
    """Explain one partition, which may be empty."""
    empty = np.empty((0, network.n_inputs))
    values = shap_values(network, part, background, **options).values if len(part) else empty
    if not hasattr(part, "columns"):
        return values
    return require("pandas", extra="dask").DataFrame(values, index=part.index, columns=network.names)


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
    ...     model = DaskBGNRegressor(max_terms=1, max_linear=0, shrinkage=1.0, random_state=0, client=client).fit(X, y)
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

    _agreement = staticmethod(r2)

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
    ...     model = DaskBGNClassifier(max_terms=1, shrinkage=1.0, random_state=0, cv=None, client=client).fit(X, y)
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

    def _agreement(self, known: Any, predicted: Any, weight: Any) -> float:
        classes = Classes(tuple(self.classes_.tolist()))
        return accuracy_score(classes.codes(known), classes.codes(predicted), sample_weight=weight)

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
        classes = self._known_classes(labels, np.array([float(counts[label]) for label in labels]))
        held_out_codes = None if held_out is None else replace(held_out, classes=Classes(labels))
        return replace(given, classes=classes), held_out_codes, labels


def _no_interval(interval: float | None, return_std: bool = False) -> None:
    """Refuse intervals and standard errors of rows on a cluster."""
    if return_std:
        raise ValueError("return_std must be False for rows on a cluster. Ask the model about some rows in memory.")
    if interval is not None:
        raise ValueError(
            f"interval must be None for rows on a cluster; got {interval!r}. Use bgn.intervals on some rows."
        )
