"""The scikit-learn face of growth: validate, make the rows, grow, store."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from bgn import judge
from bgn.engines.disk.arrays import in_memory
from bgn.engines.disk.engine import OnDisk, Scratch
from bgn.engines.disk.table import BLOCK_BYTES, Piece, Rows, Table, on_disk
from bgn.engines.memory.engine import RowsInMemory
from bgn.engines.requests import RowSource
from bgn.given import Given
from bgn.grow.history import History, Record
from bgn.grow.layer import Monitor
from bgn.grow.network import GrowthSettings, grow_network
from bgn.grow.progress import progress_bar
from bgn.grow.roles import assign_roles
from bgn.model.network import Network, on_gpu

_CHOICES = {
    "direction": ("search", "debiased", "lasso"),
    "output": ("full", "stagewise"),
    "select": ("best", "compact"),
}


class BGNRegressor(RegressorMixin, BaseEstimator):
    """Grow a sparse binary activated network, one neuron at a time.

    A prediction is a base value plus a handful of weighted yes/no questions, each about at most `max_features`
    columns. The same rows give the same network, bit for bit, in any order and on any number of threads.

    Parameters
    ----------
    max_layers : int, default 1
        Most hidden layers. The layer that validates best is the last one.
    max_width : int, default 50
        Most neurons of a layer.
    max_features : int or None, default 2
        Most columns a neuron may look at; None for no limit.
    direction : {"search", "debiased", "lasso"}, default "search"
        How a neuron finds its direction. "search" tries single columns, pairs at many angles and the debiased
        direction, and takes what lowers the training error most; "lasso" is the paper's; "debiased" is least
        squares on the columns that the Lasso picks.
    output : {"full", "stagewise"}, default "full"
        "full" refits all output weights after every change; "stagewise" is the paper's closed form, which leaves
        the weights of earlier neurons alone.
    shrinkage : float or "auto", default "auto"
        Ridge penalty on the output weights, for ``output="full"``, in units of rows. "auto" tries several on
        small tables and keeps the one that validates best; above 5,000 training rows it is 1.
    learning_rate : float, default 1.0
        Step size, for ``output="stagewise"``. Small steps want a large `max_width` and generalise better.
    max_replacements : int or None, default 10
        After each new neuron, how many times to try to replace one at random; None for as many as there are.
    patience : int or None, default 10
        Stop when the validation error has not fallen for so many neurons; None to go on.
    validation_fraction : float, default 0.2
        Share of the rows to validate on, chosen by a hash of their content so that equal rows stay together. 0
        for none: then growth ends at `max_width`, or when nothing is gained. There are none either where at most 50
        rows are different and each is there ten times on average: without one of them, growth would not see a group.
    select : {"best", "compact"}, default "best"
        The width with the lowest validation error, or the smallest within one standard error of it.
    max_seconds : float or None, default None
        Stop growing after so many seconds and keep the best network so far.
    callbacks : callable or sequence of callables, optional
        Each is called with every :class:`~bgn.grow.history.Record`; return True to stop.
    verbose : int, default 0
        1 shows a progress bar.
    n_jobs : int or None, default None
        Threads; None and -1 for all cores. The result does not depend on it.
    random_state : int, RandomState or None, default None
        Seeds the choice of validation rows and of the neurons to replace.

    Attributes
    ----------
    network_ : Network
        What was grown, in the columns' own units.
    history_ : History
        Every step, and the network at every width: ``history_.network(5)``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when the columns of X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bgn import BGNRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = BGNRegressor(max_width=3, random_state=0).fit(X, y)
    >>> model.network_.widths
    (3,)
    >>> model.predict(X.head(2)).shape
    (2,)
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        max_layers: int = 1,
        max_width: int = 50,
        max_features: int | None = 2,
        direction: str = "search",
        output: str = "full",
        shrinkage: float | str = "auto",
        learning_rate: float = 1.0,
        max_replacements: int | None = 10,
        patience: int | None = 10,
        validation_fraction: float = 0.2,
        select: str = "best",
        max_seconds: float | None = None,
        callbacks: Callable[[Record], bool | None] | Sequence[Callable[[Record], bool | None]] | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_layers = max_layers
        self.max_width = max_width
        self.max_features = max_features
        self.direction = direction
        self.output = output
        self.shrinkage = shrinkage
        self.learning_rate = learning_rate
        self.max_replacements = max_replacements
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.select = select
        self.max_seconds = max_seconds
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def as_in_paper(cls, **changes: Any) -> Self:
        """Return an estimator that runs the paper's algorithm to the letter.

        Lasso directions with at most two features, stagewise outputs, as many replacement attempts as there are
        neurons, up to three hidden layers of up to 1000 neurons, patience 100.

        Parameters
        ----------
        **changes
            Parameters to set otherwise.

        Returns
        -------
        BGNRegressor

        Examples
        --------
        >>> from bgn import BGNRegressor
        >>> BGNRegressor.as_in_paper(random_state=0).direction
        'lasso'
        """
        paper: dict[str, Any] = {
            "max_layers": 3,
            "max_width": 1000,
            "max_features": 2,
            "direction": "lasso",
            "output": "stagewise",
            "learning_rate": 1.0,
            "max_replacements": None,
            "patience": 100,
        }
        return cls(**(paper | changes))

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        *,
        target: str | int | None = None,
        columns: Sequence[str] | Sequence[int] | None = None,
    ) -> Self:
        """Grow a network on the rows of a table.

        Rows in a file or in a memory map are read block by block and may be larger than memory. The network is the
        one that the same rows in memory give.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
            A path leads to a ``.npy`` or Parquet file, or to a folder of either.
        y : array_like of shape (rows,), memmap, or path to a ``.npy`` file
            The name of a series becomes the network's target name. To be left out with `target`.
        sample_weight : array_like of shape (rows,), memmap, path to a ``.npy`` file, or str, optional
            A row of weight 2 counts as the row twice, exactly; rows of weight 0 are left out. The name of a column
            where X is Parquet.
        eval_set : (X, y), or X with `target`, optional
            Rows to validate on, instead of a share of X.
        target : str or int, optional
            The column of X to predict, instead of `y`: a name where columns have names, a position otherwise.
        columns : sequence of str or sequence of int, optional
            The columns of X to learn from; all but the target and the weights unless told.

        Returns
        -------
        self
        """
        fresh = judge.unfitted(self)
        fresh._learn(Given(X, y, sample_weight, target, columns), eval_set)
        if fresh.history_.stopped == "interrupted":
            warnings.warn("fit was interrupted; the best network so far is kept.", stacklevel=2)
        return judge.take_over(self, fresh)

    def _learn(self, given: Given, eval_set: Any) -> None:
        """Validate, make the engine, grow, store."""
        settings, callbacks = self._settings(), judge.callables("callbacks", self.callbacks)
        seed = judge.seed_of(self.random_state)
        threads = judge.threads(self.n_jobs)
        shown = progress_bar(self.verbose, self.max_width)
        with Scratch(threads) as scratch, shown as show:
            source, name = self._source(given, scratch, seed)
            evaluation = self._evaluation(given.to_validate(eval_set), scratch, seed)
            monitor = Monitor(self.max_seconds, callbacks, show)
            engines, scaled = assign_roles(source, evaluation, self.validation_fraction, seed, threads)
            judge.nothing_lost(engines.train.lost(), self._names())
            self.history_: History = grow_network(engines, settings.scaled(scaled), seed, monitor, self._names(), name)
            self.network_: Network = self.history_.network()

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of every row.

        Parameters
        ----------
        X : array_like or frame of shape (rows, columns), memmap, or path
            As in `fit`. Rows in a file or in a memory map are read block by block; where the predictions themselves
            are too many for the memory, loop over :func:`bgn.read_blocks`.

        Returns
        -------
        ndarray of float64, shape (rows,)
            For a CUDA tensor a tensor on the same GPU, with the same bits.
        """
        check_is_fitted(self)
        return judge.as_it_is(self)._predict(X)

    def _predict(self, X: Any) -> NDArray[np.float64]:
        if on_gpu(X):
            return self.network_.predict(X)
        if not on_disk(X):
            return self.network_.predict(judge.table(self, X, reset=False))
        if isinstance(X, np.memmap):
            judge.table(self, in_memory(X[:1], "X"), reset=False)
        table = self._known(Table(X, known=self._names()), reset=False)
        predicted, done = np.empty(table.n_rows), 0
        for _, some in self._pieces(table):
            predicted[done : done + len(some)] = some
            done += len(some)
        return predicted

    def _pieces(self, table: Rows) -> Iterator[tuple[Piece, NDArray[np.float64]]]:
        """Yield rows on disk, a block at a time, with their predictions."""
        for piece in table.pieces(BLOCK_BYTES):
            yield piece, self.network_.predict(piece.columns.T)

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
        return judge.as_it_is(self)._score(X, y, sample_weight, target)

    def _score(self, X: Any, y: Any, sample_weight: Any, target: str | int | None) -> float:
        named = target is not None and hasattr(X, "columns")
        given = Given(X, y, sample_weight, target, self._names() if named else None)
        if not on_disk(X):
            given = given.in_memory()
            return r2(given.y, self.predict(given.X), given.weight)
        pieces = self._pieces(self._known(given.opened(self._names()), reset=False))
        # What is kept of a block is a few numbers a row.
        kept = [(piece.target, some, piece.weight) for piece, some in pieces]
        targets, predicted, weight = (
            None if each[0] is None else np.concatenate(each) for each in zip(*kept, strict=True)
        )
        return r2(targets, predicted, weight)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the card of a fitted model, loaded by name because reports stand above."""
        if hasattr(self, "network_"):
            return str(importlib.import_module("bgn.report").card(self))
        return str(estimator_html_repr(self))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what notebooks choose from: the same and text, or text alone where scikit-learn is set so."""
        if get_config()["display"] != "diagram":
            return {"text/plain": repr(self)}
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # -- judging what came in ------------------------------------------------------------------------------

    def _settings(self) -> GrowthSettings:
        """Judge the parameters."""
        for name, choices in _CHOICES.items():
            judge.chosen(name, getattr(self, name), choices)
        judge.whole("max_layers", self.max_layers, 1)
        judge.whole("max_width", self.max_width, 1)
        judge.whole("max_features", self.max_features, 1, none="no limit")
        judge.whole("max_replacements", self.max_replacements, 0, none="as many as there are neurons")
        judge.whole("patience", self.patience, 1, none="no limit")
        if not isinstance(self.verbose, bool):
            judge.whole("verbose", self.verbose, 0)
        judge.real("learning_rate", self.learning_rate, 0.0, 1.0, open_low=True)
        judge.real("validation_fraction", self.validation_fraction, 0.0, 1.0, open_high=True)
        if not (isinstance(self.shrinkage, str) and self.shrinkage == "auto"):
            judge.real("shrinkage", self.shrinkage, 0.0, np.inf, open_high=True, also=' or "auto"')
        if self.max_seconds is not None:
            judge.real("max_seconds", self.max_seconds, 0.0, np.inf, also=" or None")
        return GrowthSettings(
            max_layers=self.max_layers,
            max_width=self.max_width,
            max_features=np.iinfo(np.int32).max if self.max_features is None else self.max_features,
            direction=self.direction,
            output=self.output,
            shrinkage=self.shrinkage,
            learning_rate=self.learning_rate,
            max_replacements=self.max_replacements,
            patience=self.patience,
            select=self.select,
        )

    def _source(self, given: Given, scratch: Scratch, seed: int, reset: bool = True) -> tuple[RowSource, str | None]:
        """Judge rows, numeric, finite, of one length; where they live decides on the engine. Also the target's name."""
        if on_gpu(given.X):
            return self._tensors(given, reset), given.target_name
        if on_disk(given.X):
            table = self._known(given.opened(None if reset else self._names()), reset)
            rows = OnDisk(table, scratch, seed)
            judge.representable(rows.largest, rows.low, rows.high, self._names())
            return rows, table.target_name or given.target_name
        given = given.in_memory()
        X, y = judge.table(self, given.X, given.y, reset=reset, least=2 if reset else 1)
        judge.representable([np.abs(column).max() for column in X.T], y.min(), y.max(), self._names())
        weight = None
        if given.weight is not None:
            weight = judge.weights(given.weight, X)
        return RowsInMemory(X, y, weight, scratch.threads), given.target_name

    def _tensors(self, given: Given, reset: bool) -> RowSource:
        """Judge rows on a GPU, where they are."""
        from bgn.tensors import source_of, table_of

        if given.target is not None or given.columns is not None:
            raise ValueError("target and columns are for files and frames; where X is a tensor, pass y and slice X.")
        X = table_of(given.X, None if reset else self.n_features_in_)
        if reset:
            judge.enough_rows(len(X))
            self.n_features_in_ = X.shape[1]
        source, largest, reach = source_of(X, given.y, given.weight)
        judge.representable(largest, *reach, self._names())
        return source

    def _evaluation(self, given: Given | None, scratch: Scratch, seed: int) -> RowSource | None:
        return None if given is None else self._source(given, scratch, seed, reset=False)[0]

    def _known(self, table: Rows, reset: bool) -> Rows:
        """Take note of the columns of rows on disk or, unless `reset`, compare them with those known."""
        if reset:
            judge.enough_rows(table.n_rows)
            self.n_features_in_ = table.n_columns
            if table.names is not None:
                self.feature_names_in_ = np.array(table.names, dtype=object)
        elif table.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {table.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        return table

    def _names(self) -> tuple[str, ...] | None:
        return tuple(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None


def r2(y: Any, predicted: Any, weight: Any) -> float:
    """The share of the target's variance that predictions explain."""
    judge.number_target(y)
    weight = None if weight is None else judge.weights(weight, predicted)
    return float(r2_score(y, predicted, sample_weight=weight))
