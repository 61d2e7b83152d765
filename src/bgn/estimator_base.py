"""What all estimators share: parameters, and a fit that validates, makes the rows, grows, stores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from bgn.compiling import compile_ahead
from bgn.engines.disk.engine import Scratch
from bgn.engines.disk.table import BLOCK_BYTES, BlockwiseRows, Piece, on_disk
from bgn.engines.protocol import RowSource
from bgn.engines.sources import RowArguments, known_columns, opened_again, rows_in_memory, source_of
from bgn.estimator_intervals import WithIntervals
from bgn.estimator_methods import AsksItself
from bgn.estimator_state import EveryWidth, bounds_of, constraints_of, folds_of, growth_settings, take_over, unfitted
from bgn.grow.average import AverageHistory, grow_average, member_seeds
from bgn.grow.history import History, Record
from bgn.grow.layer import Monitor
from bgn.grow.loss import loss_of
from bgn.grow.network import GrowthSettings, grow_network
from bgn.grow.progress import progress_bar
from bgn.grow.roles import assign_roles
from bgn.inputs import arguments
from bgn.inputs.tables import nothing_lost, numbers_alone
from bgn.model.above import ANSWERS
from bgn.model.network import Network, on_gpu
from bgn.model.reading import dense_blocks, is_sparse
from bgn.model.schema import Schema


class GrownEstimator(AsksItself, WithIntervals, EveryWidth, BaseEstimator):
    """An estimator that grows a network on some loss; :class:`bgn.BGNRegressor` says what the parameters mean."""

    _predicts: ClassVar[str] = "numbers"
    # What `accurate` sets for numbers; classes have their own.
    _accurate: ClassVar[dict[str, Any]] = {"n_networks": 8, "shrinkage": 30.0}
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
        sweeps: int | str = "auto",
        patience: int | None = 10,
        validation_fraction: float = 0.2,
        cv: Any = "auto",
        n_networks: int = 1,
        select: str = "best",
        digits: int | None = 3,
        simplicity: float = 0.0,
        max_linear: int | str = "auto",
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        bounds: tuple[float | None, float | None] | None = None,
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
        self.sweeps = sweeps
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_networks = n_networks
        self.select = select
        self.digits = digits
        self.simplicity = simplicity
        self.max_linear = max_linear
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.bounds = bounds
        self.max_seconds = max_seconds
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def accurate(cls, **changes: Any) -> Self:
        """Return an estimator for people who want accuracy and do not mind the size.

        The mean of eight networks, of sixteen for classes, that grow as wide as serves them, with questions about at
        most four columns and no replacements: a few hundred to a few thousand questions, and straight lines where they
        validate better. It explains itself exactly all the same, and knows standard errors (``return_std``). The ridge
        penalty of numbers and what is done with lines were settled on made-up tables and on diamonds, the penalty for
        few rows and the number of columns and of networks after looking at housing, bike and power plant, too; for
        classes on tables of numbers, their targets made into two classes. On one core a fit took 15 s on 6,000 rows of
        power plant, 40 s on 12,000 of housing, 65 s on 10,000 of bike, and 5 s on some hundred rows; of classes 30 s on
        some hundred rows, eight minutes on 4,000 of phoneme. Networks grow side by side on more.
        ``python -m benchmarks.accurate`` measures it.

        Parameters
        ----------
        **changes
            Parameters to set otherwise.

        Returns
        -------
        estimator

        Examples
        --------
        >>> from bgn import BGNRegressor
        >>> BGNRegressor.accurate(random_state=0).n_networks
        8
        """
        size: dict[str, Any] = {"max_width": 1000, "max_features": 4, "max_replacements": 0}
        return cls(**(cls._accurate | size | {"patience": 60, "validation_fraction": 0.15} | changes))

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
        X : array_like, sparse matrix or frame of shape (rows, columns), memmap, or path
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
        fresh = unfitted(self)
        fresh._learn(RowArguments(X, y, sample_weight, target, columns), eval_set)
        if fresh.history_.stopped == "interrupted":
            warnings.warn("fit was interrupted; the best network so far is kept.", stacklevel=2)
        return take_over(self, fresh)

    def _learn(self, given: RowArguments, eval_set: Any) -> None:
        """Validate, make the engine, grow, store."""
        compile_ahead(self._predicts)
        settings, callbacks = growth_settings(self), arguments.callables("callbacks", self.callbacks)
        seed, threads = arguments.seed_of(self.random_state), arguments.threads(self.n_jobs)
        with Scratch(threads) as scratch, progress_bar(self.verbose, self.max_width, self.n_networks) as show:
            given, held_out, classes = self._with_classes(given, given.to_validate(eval_set))
            source, schema = self._source(given, scratch, seed)
            self._look_at_targets(given)
            evaluation = None if held_out is None else self._source(held_out, scratch, seed, schema)[0]
            schema, monitor = replace(schema, classes=classes), Monitor(self.max_seconds, callbacks, show)
            settings = replace(settings, constraints=constraints_of(self, schema), bounds=bounds_of(self, schema))
            folds = folds_of(settings.folds, source, given, seed)
            seeds = member_seeds(seed, self.n_networks)
            grow = partial(self._grown, settings, folds, schema)
            self.history_: History | AverageHistory
            if self.n_networks == 1:
                self.history_ = grow(source, evaluation, seed, threads, monitor)
            else:
                self.history_ = grow_average(grow, source, evaluation, seeds, threads, monitor, self.select)
            self.network_: Network = self.history_.network()
            self._keep_background(source, seed)
        self._take_out_of_fold()
        apart = self.history_.n_validation > 0 and not self.history_.cross_validated
        if apart and self.n_networks > 1 and held_out is None:
            self._calibrate_average(given, schema, seeds)
        elif apart:  # otherwise all rows were learnt from
            self._calibrate(given, held_out, schema, seed)

    def _grown(
        self, settings: GrowthSettings, folds: Any, schema: Schema, source: RowSource, evaluation: RowSource | None,
        seed: int, threads: int, monitor: Monitor,
    ) -> History:  # fmt: skip
        """Give every row its role, and grow one network."""
        engines, scaled = assign_roles(
            source, evaluation, self.validation_fraction, seed, threads, loss_of(schema.classes), schema.columns, folds,
            always=self.n_networks > 1, bounds=settings.bounds, drafted=settings.drafted,
        )  # fmt: skip
        if self.direction != "search":
            numbers_alone(self.direction, schema, () if engines.coding is None else engines.coding.marked)
        nothing_lost(engines.train.lost(), schema.names if schema.named else None)
        return grow_network(engines, settings.scaled(scaled), seed, monitor, schema)

    def _with_classes(
        self, given: RowArguments, held_out: RowArguments | None
    ) -> tuple[RowArguments, RowArguments | None, tuple[Any, ...] | None]:
        """The rows with numbers for targets and, where these stand for classes, their labels."""
        return given, held_out, None

    def _look_at_targets(self, given: RowArguments) -> None:
        """Say what is odd about targets that can be read."""

    def _source(
        self, given: RowArguments, scratch: Scratch, seed: int, schema: Schema | None = None
    ) -> tuple[RowSource, Schema]:
        return source_of(self, given, scratch, seed, schema)

    def _predicted(self, X: Any, scores: bool = False) -> Any:
        """What the network predicts of every row, or its raw scores."""
        if on_gpu(X):
            return ANSWERS["predict"](self.network_, X, scores)
        if is_sparse(X):  # never dense as a whole
            return np.concatenate([self._predicted(rows, scores) for rows in dense_blocks(X, BLOCK_BYTES)])
        if not on_disk(X):
            found = self.network_._raw_score(rows_in_memory(self, X))
            return found if scores else self.network_.linked(found)
        rows = known_columns(self, opened_again(self, RowArguments(X)))
        predicted, done = np.empty((rows.n_rows, *np.shape(self.network_.base))), 0
        for _, some in self._pieces(rows, scores):
            predicted[done : done + len(some)] = some
            done += len(some)
        return predicted

    def _spread(self, X: Any, scores: bool = False) -> Any:
        """The standard errors of predictions, or of raw scores, from the members of an average."""
        network, members = self.network_, self.network_.members
        if members is None:
            raise ValueError(
                "return_std needs an average, whose members differ: fit with n_networks=8, or ask for interval=0.9."
            )
        if on_disk(X):
            pieces = known_columns(self, opened_again(self, RowArguments(X))).pieces(BLOCK_BYTES)
            blocks = (network._rows(piece.columns.T, encoded=True) for piece in pieces)
            return np.concatenate([members.prediction_error(network, rows, scores) for rows in blocks])
        rows = rows_in_memory(self, X.cpu().numpy() if on_gpu(X) else X)
        return members.prediction_error(network, rows, scores)

    def _pieces(self, rows: BlockwiseRows, scores: bool = False) -> Iterator[tuple[Piece, NDArray[np.float64]]]:
        """Yield rows on disk, a block at a time, with their predictions, or raw scores."""
        for piece in rows.pieces(BLOCK_BYTES):
            yield piece, self.network_.predict_encoded(piece.columns.T, scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        searches = self.direction == "search"
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = searches
        return tags

    def _repr_html_(self) -> str:
        """Return what notebooks show: the card of a fitted model."""
        if hasattr(self, "network_"):
            return str(ANSWERS["card"](self))
        return str(estimator_html_repr(self))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what notebooks choose from: the same and text, or text alone where scikit-learn is set so."""
        if get_config()["display"] != "diagram":
            return {"text/plain": repr(self)}
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
