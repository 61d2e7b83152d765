"""What the estimators for Dask collections share: rows that live on the workers of a cluster while a network grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from bgn.engines.disk.engine import Scratch
from bgn.engines.protocol import RowSource
from bgn.engines.raw_rows import Survey
from bgn.engines.sources import RowArguments, names_of
from bgn.estimator_base import GrownEstimator
from bgn.estimator_state import as_it_is, take_over
from bgn.explain.shap import shap_values
from bgn.inputs.per_row import no_dates
from bgn.inputs.tables import enough_rows, representable
from bgn.model.network import Network
from bgn.model.schema import Schema
from bgn.require import require


class OnClusterEstimator(GrownEstimator):
    """An estimator whose rows live on a Dask cluster; `_local` is what it is without."""

    client: Any
    predict: Any
    _local: ClassVar[type[GrownEstimator]]

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
        from bgn.engines.cluster import ClusterTasks

        self._calls = ClusterTasks(self.client_)
        try:
            self._calls.check_workers()
            super()._learn(given, eval_set)
        finally:
            self._calls.release()

    def _lazily(self, method: str, X: Any, like: NDArray[Any]) -> Any:
        """What a method of the plain estimator says of every partition, lazily; `like` is such a reply, of no rows."""
        X, reduced = self._checked(X), self._reduced()
        if hasattr(X, "columns"):
            pandas, index = require("pandas", extra="dask"), X._meta.index[:0]
            meta = pandas.Series(like, index=index) if like.ndim == 1 else pandas.DataFrame(like, index=index)
            return X.map_partitions(_applied, reduced, method, like, meta=meta)
        if like.ndim == 1:
            return X.map_blocks(_applied, reduced, method, like, dtype=like.dtype, drop_axis=1, meta=like)
        chunks = X.chunks[0], (like.shape[1],)
        return X.map_blocks(_applied, reduced, method, like, dtype=like.dtype, chunks=chunks, meta=like)

    def _gathered(self, X: Any, y: Any, sample_weight: Any, target: Any) -> tuple[Any, Any, Any]:
        """Targets, predictions and weights of the rows of a collection, here."""
        given = RowArguments(X, y, sample_weight, target, None if target is None else names_of(self)).in_memory()
        gather = partial(require("dask", extra="dask").compute, scheduler=self.client)
        # One after the other: arrays and frames in one go Dask warns of.
        known, predicted, weight = (gather(each)[0] for each in (given.y, self.predict(given.X), given.weight))
        return known, np.asarray(predicted), weight

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
        no_dates(getattr(given.y, "dtype", None))
        no_dates(getattr(given.weight, "dtype", None), "sample_weight")
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

    def _reduced(self) -> Any:
        """What predicts, and no more: it travels with every task."""
        model = take_over(self._local(), self)
        del model.history_
        return model

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
    rows = sum(each.n_rows for each in surveys)
    enough_rows(rows, least)
    if rows:
        representable([], min(each.low for each in surveys), max(each.high for each in surveys), None)


def _applied(part: Any, model: Any, method: str, like: NDArray[Any]) -> Any:
    """What a method says of one partition, which may be empty."""
    found = getattr(model, method)(part) if len(part) else like
    if not hasattr(part, "columns"):
        return found
    pandas = require("pandas", extra="dask")
    return (pandas.Series if found.ndim == 1 else pandas.DataFrame)(found, index=part.index)


def _explain(part: Any, network: Network, background: Any, **options: Any) -> Any:
    """Explain one partition, which may be empty."""
    empty = np.empty((0, network.n_inputs))
    values = shap_values(network, part, background, **options).values if len(part) else empty
    if not hasattr(part, "columns"):
        return values
    return require("pandas", extra="dask").DataFrame(values, index=part.index, columns=network.names)
