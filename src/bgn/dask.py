"""Grow a network on a Dask cluster: the estimator for Dask arrays and dataframes.

:class:`DaskBGNRegressor` follows the conventions of the Dask estimators of LightGBM and XGBoost, and grows the same
network, to the bit, as :class:`bgn.BGNRegressor` on the same rows in memory, whatever the partitions, the number of
workers, and the workers lost on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from bgn.engines.disk.engine import Scratch
from bgn.engines.raw_rows import Survey
from bgn.engines.requests import RowSource
from bgn.estimator_state import as_it_is, inherit_parameters, take_over
from bgn.estimators import BGNRegressor, r2
from bgn.explain.shap import shap_values
from bgn.inputs.per_row import no_dates
from bgn.inputs.tables import enough_rows, representable
from bgn.model.network import Network
from bgn.model.schema import Schema
from bgn.require import require
from bgn.sources import RowArguments, names_of


@inherit_parameters
class DaskBGNRegressor(BGNRegressor):
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
    ...     model = DaskBGNRegressor(max_width=1, shrinkage=1.0, random_state=0, client=client).fit(X, y)
    ...     predicted = model.predict(X).compute()
    >>> model.network_.widths, predicted.shape
    ((1,), (442,))
    """

    def __init__(self, *, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

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

    def _learn(self, given: RowArguments, eval_set: Any) -> None:
        """Learn from rows that live on the workers for so long."""
        from bgn.engines.cluster.tasks import ClusterTasks

        self._calls = ClusterTasks(self.client_)
        try:
            self._calls.check_workers()
            super()._learn(given, eval_set)
        finally:
            self._calls.release()

    def predict(self, X: Any) -> Any:
        """Predict the target of every row, lazily.

        Parameters
        ----------
        X : dask array or dataframe, shape (rows, columns)

        Returns
        -------
        dask array or series, shape (rows,)
            Of the same kind and in the same partitions as X; a series keeps the index.
        """
        check_is_fitted(self)
        model = as_it_is(self)
        X, reduced = model._checked(X), model._reduced()
        if hasattr(X, "columns"):
            return X.map_partitions(_predict, reduced, meta=X._meta.iloc[:, :0].sum(axis=1).astype(np.float64))
        return X.map_blocks(_predict, reduced, dtype=np.float64, drop_axis=1, meta=np.empty(0))

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
        model = as_it_is(self)
        given = RowArguments(X, y, sample_weight, target, None if target is None else names_of(model)).in_memory()
        gather = partial(require("dask", extra="dask").compute, scheduler=self.client)
        # One after the other: arrays and frames in one go Dask warns of.
        known, predicted, weight = (gather(each)[0] for each in (given.y, model.predict(given.X), given.weight))
        return r2(known, np.asarray(predicted), weight)

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

    def to_local(self) -> BGNRegressor:
        """Return the plain estimator, fitted if this one is."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        return take_over(BGNRegressor(**parameters), self)

    # -- checking what came in -----------------------------------------------------------------------------

    def _source(
        self, given: RowArguments, scratch: Scratch, seed: int, schema: Schema | None = None
    ) -> tuple[RowSource, Schema]:
        """Check collections as far as can be told without reading them; also what their columns are."""
        from bgn.engines.cluster.partitions import rows_on_cluster, schema_on_cluster

        named, reset = hasattr(given.X, "columns"), schema is None
        if not named and (given.target is not None or given.columns is not None):
            raise ValueError("target and columns name columns of a dataframe; X has none. Pass y, and X[:, columns].")
        given = given.in_memory() if named else given
        self._checked(given.X, reset, "X" if reset else "X of eval_set")
        no_dates(getattr(given.y, "dtype", None))
        no_dates(getattr(given.weight, "dtype", None), "sample_weight")
        least = 0 if given.weight is not None else 2 if reset else 1
        check = partial(_check_surveys, least=least)
        name = given.target_name if hasattr(given.y, "map_partitions") else None
        if schema is None and self.direction == "search":
            schema = schema_on_cluster(self._calls, given.X, self.categorical_features, name)
        source = rows_on_cluster(self._calls, given.X, given.y, given.weight, check, schema)
        return source, schema or Schema.of_numbers(self.n_features_in_, names_of(self), name)

    def _checked(self, X: Any, reset: bool = False, name: str = "X") -> Any:
        """A table in whole rows, with as many columns, and the names, that are known."""
        require("dask.dataframe", extra="dask")
        from bgn.inputs.dask_tables import whole_rows

        X = whole_rows(X, name)
        like = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
        validate_data(self, like, reset=reset, skip_check_array=True)
        return X

    def _reduced(self) -> BGNRegressor:
        """What predicts, and no more: it travels with every task."""
        model = take_over(BGNRegressor(), self)
        del model.history_
        return model

    # -- the client stays here -----------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"client": None}

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)


def _check_surveys(surveys: Sequence[Survey], least: int) -> None:
    """Refuse too few rows, and targets whose squares no float64 can hold."""
    rows = sum(each.n_rows for each in surveys)
    enough_rows(rows, least)
    if rows:
        representable([], min(each.low for each in surveys), max(each.high for each in surveys), None)


def _predict(part: Any, model: BGNRegressor) -> Any:
    """Predict one partition, which may be empty."""
    predicted: NDArray[np.float64] = model.predict(part) if len(part) else np.empty(0)
    if not hasattr(part, "columns"):
        return predicted
    return require("pandas", extra="dask").Series(predicted, index=part.index)


def _explain(part: Any, network: Network, background: Any, **options: Any) -> Any:
    """Explain one partition, which may be empty."""
    empty = np.empty((0, network.n_inputs))
    values = shap_values(network, part, background, **options).values if len(part) else empty
    if not hasattr(part, "columns"):
        return values
    return require("pandas", extra="dask").DataFrame(values, index=part.index, columns=network.names)
