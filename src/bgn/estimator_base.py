"""What all estimators share: parameters, and a fit that validates, makes the rows, grows, stores."""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

import bgn
from bgn.compiling import compile_ahead
from bgn.conformal import Intervals, of_predictions
from bgn.engines.disk.engine import Scratch
from bgn.engines.disk.table import BLOCK_BYTES, BlockwiseRows, Piece, on_disk
from bgn.engines.protocol import RowSource
from bgn.engines.raw_rows import RowsInMemory, row_hashes, weight_exponent
from bgn.engines.sources import RowArguments, _in_memory, known_columns, opened_again, rows_in_memory, source_of
from bgn.explain.arguments import decode_rows
from bgn.grow.constraints import Constraints
from bgn.grow.ensemble import grow_ensemble, member_seeds
from bgn.grow.history import Monitor, OutOfFold, Record, progress_bar
from bgn.grow.network import GrowthRows, grow_network
from bgn.grow.rows import _few_and_often
from bgn.grow.search import GrowthSettings, SearchSettings
from bgn.inputs import arguments
from bgn.inputs.arguments import given_cuts, interaction_groups, monotone_columns
from bgn.inputs.splits import Hashes, few_of, find_edge, histogram, inside_bin
from bgn.inputs.target import weights
from bgn.model.link import prediction_bounds
from bgn.model.network import Network, on_gpu
from bgn.model.schema import Schema
from bgn.model.step import Bools, Floats
from bgn.model.values import dense_blocks, is_sparse

if TYPE_CHECKING:
    from bgn.explain.counterfactual import Counterfactual
    from bgn.explain.effects import Effect, PairEffect
    from bgn.explain.frontier import Frontier
    from bgn.explain.importance import Importance
    from bgn.explain.margin import Margin
    from bgn.explain.proofs import Certificates, Extremes
    from bgn.explain.shap import Explanation
    from bgn.explain.simplify import Simplified


_Class = TypeVar("_Class", bound=type)
_Estimator = TypeVar("_Estimator", bound=object)


def inherit_parameters(cls: _Class) -> _Class:
    """Show all parameters of an ``__init__`` that passes ``**parameters`` on to its parent's.

    scikit-learn reads an estimator's parameters off the signature of ``__init__``, as help and editors do.
    """
    init = vars(cls)["__init__"]
    inherited = inspect.signature(next(base for base in cls.__mro__[1:] if "__init__" in vars(base)))
    own = inspect.signature(init)
    shown = {name: one for name, one in own.parameters.items() if one.kind != one.VAR_KEYWORD}
    merged = {"self": shown.pop("self")} | dict(inherited.parameters) | shown

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **parameters: Any) -> None:
        for name in parameters.keys() - merged.keys():
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}")
        init(self, *values, **parameters)

    checked.__signature__ = own.replace(parameters=list(merged.values()))  # type: ignore[attr-defined]
    cls.__init__ = checked  # type: ignore[misc]
    return cls


def unfitted(estimator: _Estimator) -> _Estimator:
    """The same parameters and nothing fitted: a fit that fails leaves the estimator as it was."""
    copy = as_it_is(estimator)
    copy.__dict__ = {name: value for name, value in vars(copy).items() if not name.endswith("_")}
    return copy


def as_it_is(estimator: _Estimator) -> _Estimator:
    """The estimator with all its attributes, which a fit in another thread leaves alone."""
    copy = object.__new__(type(estimator))
    copy.__dict__ = vars(estimator).copy()
    return copy


def take_over(estimator: _Estimator, other: Any) -> _Estimator:
    """Take all fitted attributes of another at once: other threads see the model before or the whole new one."""
    fitted = {name: value for name, value in vars(other).copy().items() if name.endswith("_")}
    estimator.__dict__ = vars(unfitted(estimator)) | fitted
    return estimator


def search_settings(estimator: Any) -> SearchSettings:
    """Check the parameters of an estimator, and return those that growth needs."""
    arguments.chosen("direction", estimator.direction, ("search", "debiased", "lasso"))
    arguments.chosen("output", estimator.output, ("full", "stagewise"))
    arguments.chosen("select", estimator.select, ("best", "compact"))
    growth = GrowthSettings() if estimator.growth is None else estimator.growth
    if not isinstance(growth, GrowthSettings):
        raise ValueError(f"growth must be a bgn.GrowthSettings, or None for its defaults; got {growth!r}.")
    for name, least in (("max_layers", 1), ("max_terms", 1), ("ensemble", 1)):
        arguments.whole(name, getattr(estimator, name), least)
    arguments.whole("max_features", estimator.max_features, 1, none="no limit")
    arguments.whole("digits", estimator.digits, 1, none="the numbers that growth found")
    arguments.whole("max_replacements", growth.max_replacements, 0, none="one attempt per rule")
    arguments.whole("patience", growth.patience, 1, none="no limit")
    if not (isinstance(growth.sweeps, str) and growth.sweeps == "auto"):
        arguments.whole("sweeps", growth.sweeps, 0, also=' or "auto"')
    arguments.real("simplicity", growth.simplicity, 0.0, 1.0, open_high=True)
    cv = estimator.cv
    splits = isinstance(cv, list | tuple) or (hasattr(cv, "split") and not isinstance(cv, str))
    if not splits and not (isinstance(cv, str) and cv == "auto"):
        arguments.whole("cv", cv, 2, none="rows set apart")
    _check_budget(estimator)
    if not isinstance(estimator.verbose, bool):
        arguments.whole("verbose", estimator.verbose, 0)
    if not (isinstance(estimator.max_linear, str) and estimator.max_linear == "auto"):
        arguments.whole("max_linear", estimator.max_linear, 0, also=' or "auto"')
        for name, needed in {"max_layers": 1, "output": "full", "direction": "search"}.items():
            given = getattr(estimator, name)
            if estimator.max_linear and given != needed:
                raise ValueError(
                    f"max_linear must be 0 or 'auto' where {name} is not {needed!r}; got {estimator.max_linear} and "
                    f"{given!r}."
                )
    arguments.real("learning_rate", estimator.learning_rate, 0.0, 1.0, open_low=True)
    arguments.real("validation_fraction", estimator.validation_fraction, 0.0, 1.0, open_high=True)
    if estimator.ensemble > 1 and not estimator.validation_fraction > 0:
        raise ValueError(
            f"validation_fraction must be above 0 where ensemble is above 1, since each network leaves out such a "
            f"share of the rows; got {estimator.validation_fraction!r}."
        )
    if not (isinstance(estimator.shrinkage, str) and estimator.shrinkage == "auto"):
        arguments.real("shrinkage", estimator.shrinkage, 0.0, np.inf, open_high=True, also=' or "auto"')
    if estimator.max_seconds is not None:
        arguments.real("max_seconds", estimator.max_seconds, 0.0, np.inf, also=" or None")
    given = vars(estimator) | vars(growth)
    settings = {field.name: given[field.name] for field in fields(SearchSettings) if field.name in given}
    if estimator.max_features is None:
        settings["max_features"] = np.iinfo(np.int32).max
    return SearchSettings(**settings | {"bounds": None})


def _check_budget(estimator: Any) -> None:
    """Check what belongs to growth within a budget of conditions."""
    arguments.whole("max_conditions", estimator.max_conditions, 1, none="max_terms counts")
    arguments.chosen("pairs", estimator.pairs, ("and", None))
    arguments.whole("min_rows", estimator.min_rows, 1)
    if estimator.max_conditions is None:
        for name, usual in {"pairs": "and", "min_rows": 1, "cuts": None}.items():
            if getattr(estimator, name) != usual:
                raise ValueError(f"{name} needs max_conditions, such as 20; got {getattr(estimator, name)!r} without.")
        return
    for name, needed in {"max_layers": 1, "direction": "search", "output": "full", "growth": None}.items():
        if getattr(estimator, name) != needed:
            raise ValueError(f"{name} must be {needed!r} with max_conditions; got {getattr(estimator, name)!r}.")


def limits_of(estimator: Any, schema: Schema) -> dict[str, Any]:
    """Return the constraints on columns and the bounds of predictions that an estimator was given."""
    wanted = Constraints(
        monotone_columns(estimator.monotonic_cst, schema), interaction_groups(estimator.interaction_cst, schema)
    )
    name = "monotonic_cst" if wanted.signed else "interaction_cst" if wanted.groups else None
    if name and estimator.max_layers > 1:
        raise ValueError(f"{name} is for one hidden layer; got max_layers={estimator.max_layers}. Use max_layers=1.")
    if name and estimator.direction != "search":
        raise ValueError(f"{name} needs direction='search'; got {estimator.direction!r}.")
    if wanted.signed and len(schema.classes or ()) > 2:
        raise ValueError(
            f"monotonic_cst is for numbers and for two classes; got {len(schema.classes or ())} classes, of which no "
            "order says what rises. Tell one class from all others."
        )
    bounds = prediction_bounds(estimator.bounds)
    if bounds is not None and schema.classes is not None:
        raise ValueError(f"bounds are for numbers: probabilities lie between 0 and 1; got {estimator.bounds!r}.")
    return {"constraints": wanted, "bounds": bounds, "cuts": given_cuts(estimator.cuts, schema)}


def folds_of(cv: Any, source: Any, given: Any, seed: int) -> Any:
    """How rows are folded: what splits of scikit-learn's kind say of rows in memory, by the hashes of these rows."""
    if cv is None or isinstance(cv, int | str | np.integer):
        return cv if cv is None or isinstance(cv, str) else int(cv)
    if not isinstance(source, RowsInMemory):
        raise ValueError("cv must be a number of folds, 'auto' or None where rows are not in memory; got splits.")
    hashes = source.hashes(seed)
    splits = cv.split(np.empty((len(hashes), 0)), np.asarray(given.y)) if hasattr(cv, "split") else cv
    try:
        return [(hashes[np.asarray(train)], hashes[np.asarray(test)]) for train, test in splits]
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(
            f"cv must be a number of folds, 'auto', None, a splitter of scikit-learn or pairs (train, test) of "
            f"positions of rows; these do not fit {len(hashes)} rows: {error}."
        ) from None


@dataclass(frozen=True)
class OpenRows(GrowthRows):
    """The rows of a fit while it lasts, and who watches it."""

    callbacks: tuple[Callable[[Record], bool | None], ...]
    show: Callable[[Record], None] | None
    given: RowArguments
    held_out: RowArguments | None


_MOST_BACKGROUND_ROWS = 1000  # kept to compare with
_MOST_INTERVAL_ROWS = 5000  # that intervals are fitted to: their share is then right to half a percent


class GrownEstimator(BaseEstimator):
    """An estimator that grows a network on some loss; :class:`bgn.BGNRegressor` says what the parameters mean.

    Of rows in memory it keeps up to a thousand as ``background_``, which explanations compare with, and in
    ``validation_rows_`` or ``out_of_fold_`` what intervals of other sizes need. Model files have neither.
    """

    network_: Network
    history_: Any
    background_: Any
    intervals_: Intervals
    validation_rows_: tuple[Floats, Floats]
    out_of_fold_: OutOfFold
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _predicts: ClassVar[str] = "numbers"
    # What `accurate` sets for numbers; classes have their own.
    _accurate: ClassVar[dict[str, Any]] = {"ensemble": 8, "shrinkage": 30.0}

    def __init__(
        self,
        *,
        max_layers: int = 1,
        max_terms: int = 50,
        max_features: int | None = 2,
        direction: str = "search",
        output: str = "full",
        shrinkage: float | str = "auto",
        learning_rate: float = 1.0,
        validation_fraction: float = 0.2,
        cv: Any = "auto",
        ensemble: int = 1,
        select: str = "best",
        digits: int | None = 3,
        max_linear: int | str = "auto",
        max_conditions: int | None = None,
        pairs: str | None = "and",
        min_rows: int = 1,
        cuts: Mapping[Any, Sequence[float]] | None = None,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        bounds: tuple[float | None, float | None] | None = None,
        growth: GrowthSettings | None = None,
        max_seconds: float | None = None,
        callbacks: Callable[[Record], bool | None] | Sequence[Callable[[Record], bool | None]] | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_layers = max_layers
        self.max_terms = max_terms
        self.max_features = max_features
        self.direction = direction
        self.output = output
        self.shrinkage = shrinkage
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.ensemble = ensemble
        self.select = select
        self.digits = digits
        self.max_linear = max_linear
        self.max_conditions = max_conditions
        self.pairs = pairs
        self.min_rows = min_rows
        self.cuts = cuts
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.bounds = bounds
        self.growth = growth
        self.max_seconds = max_seconds
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def accurate(cls, **changes: Any) -> Self:
        """Return an estimator for people who want accuracy and do not mind the size.

        The mean of eight networks, of sixteen for classification, with rules on at most four columns and no
        replacements: a few hundred to a few thousand rules, and linear terms where they lower the validation error. It
        explains itself exactly all the same, and has standard errors (``return_std``). The ridge penalty and the share
        of linear terms were chosen on made-up data and on diamonds; the penalty for few rows and the number of columns
        and of networks also on housing, bike and power plant, whose targets served as two classes. A fit on one core
        takes seconds to a minute for regression, up to eight minutes for classification;
        ``python -m benchmarks.accurate`` measures it.

        `changes` are parameters to set otherwise.

        Examples
        --------
        >>> from bgn import BGNRegressor
        >>> BGNRegressor.accurate(random_state=0).ensemble
        8
        """
        growth = GrowthSettings(max_replacements=0, patience=60)
        size: dict[str, Any] = {"max_terms": 1000, "max_features": 4, "validation_fraction": 0.15, "growth": growth}
        return cls(**(cls._accurate | size | changes))

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
        with fresh._open_rows(RowArguments(X, y, sample_weight, target, columns), eval_set) as rows:
            monitor = Monitor(self.max_seconds, rows.callbacks, rows.show)
            if self.ensemble == 1:
                fresh.history_ = grow_network(rows, rows.seeds[0], rows.threads, monitor)
            else:
                fresh.history_ = grow_ensemble(rows, monitor)
            fresh.network_ = fresh.history_.network()
            fresh._keep_rows(rows)
        if monitor.stopped == "interrupted":
            warnings.warn("fit was interrupted; the best network so far is kept.", stacklevel=2)
        return take_over(self, fresh)

    @contextmanager
    def _open_rows(self, given: RowArguments, eval_set: Any) -> Iterator[OpenRows]:
        """Check the arguments, and open the rows to train and to validate on, wherever they are."""
        compile_ahead(self._predicts)
        settings, callbacks = search_settings(self), arguments.callables("callbacks", self.callbacks)
        seed, threads = arguments.seed_of(self.random_state), arguments.threads(self.n_jobs)
        most = self.max_conditions or self.max_terms
        with Scratch(threads) as scratch, progress_bar(self.verbose, most, self.ensemble) as show:
            given, held_out, classes = self._with_classes(given, given.to_validate(eval_set))
            source, schema = self._source(given, scratch, seed)
            self._look_at_targets(given)
            evaluation = None if held_out is None else self._source(held_out, scratch, seed, schema)[0]
            schema = replace(schema, classes=classes)
            settings = replace(settings, **limits_of(self, schema))
            yield OpenRows(
                source, evaluation, schema, settings, folds_of(settings.folds, source, given, seed),
                self.validation_fraction, member_seeds(seed, self.ensemble), threads, callbacks, show, given, held_out,
            )  # fmt: skip

    def _keep_rows(self, rows: OpenRows) -> None:
        """Keep what explanations and intervals need of the rows, where they are in memory."""
        if isinstance(rows.source, RowsInMemory):
            weighted = rows.source.that_count()
            chosen = weighted[few_of(rows.source.hashes(rows.seeds[0])[weighted], _MOST_BACKGROUND_ROWS)]
            self.background_ = decode_rows(self.network_, rows.source.encoded(chosen))
        out_of_fold = getattr(self.history_, "out_of_fold", None)
        if out_of_fold is not None:
            self.out_of_fold_, self.history_ = out_of_fold, replace(self.history_, out_of_fold=None)
            self._recalibrate()
        if self.history_.n_validation == 0 or self.history_.cross_validated:
            return  # no rows were validated on, or all of them
        given = rows.given if rows.held_out is None else rows.held_out
        if on_gpu(given.X) or on_disk(given.X) or type(given.X).__module__.partition(".")[0] == "dask":
            return
        given = given.in_memory()
        X, y, _ = _in_memory(self, given, rows.schema)
        weight = None if given.weight is None else weights(given.weight, len(X))
        if self.ensemble > 1 and rows.held_out is None:
            self._calibrate_ensemble(X, y, weight, rows)
        else:
            self._calibrate(X, y, weight, rows)

    def _calibrate(self, X: Any, y: Any, weight: Floats | None, rows: OpenRows) -> None:
        hashes = row_hashes(X.T, y, rows.seeds[0], rows.threads)
        chosen = np.ones(len(X), dtype=bool)
        if rows.held_out is None:
            chosen = validating(weight, hashes, self.validation_fraction)
        if weight is not None:
            chosen &= weight > 0
        few = np.flatnonzero(chosen)
        few = few[few_of(hashes[few], _MOST_INTERVAL_ROWS, last=True)]
        if len(few):
            self.validation_rows_ = np.asarray(X[few], dtype=np.float64), np.asarray(y[few], dtype=np.float64)
            self._recalibrate()

    def _calibrate_ensemble(self, X: Any, y: Any, weight: Floats | None, rows: OpenRows) -> None:
        """Fit the intervals of an ensemble, each row predicted by the networks that were not trained on it.

        These are fewer than all, mostly one: the mean of all is more accurate, so that intervals err on the wide side.
        """
        members = self.history_.members
        if len(members) < len(rows.seeds):
            return
        total, count = np.zeros((len(X), *np.shape(self.network_.base))), np.zeros(len(X), np.int64)
        hashes = [row_hashes(X.T, y, seed, rows.threads) for seed in rows.seeds]
        for own, member in zip(hashes, members, strict=True):
            without = validating(weight, own, self.validation_fraction)
            total[without] += member.network().predict_encoded(np.asarray(X[without], np.float64), scores=True)
            count += without
        seen = np.flatnonzero((count > 0) & (True if weight is None else weight > 0))
        if len(seen):
            seen = seen[few_of(hashes[0][seen], _MOST_INTERVAL_ROWS, last=True)]
            predicted = self.network_.linked((total[seen].T / count[seen]).T)
            self.intervals_ = of_predictions(self.network_, predicted, np.asarray(y[seen], np.float64))

    def _recalibrate(self) -> None:
        """Fit the intervals of the network at hand, if there are rows to fit them to."""
        if hasattr(self, "out_of_fold_"):
            kept, size = self.out_of_fold_, self.history_.best_size
            self.intervals_ = of_predictions(self.network_, kept.predictions[:, size], kept.targets)
        elif hasattr(self, "validation_rows_"):
            rows, targets = self.validation_rows_
            predicted = self.network_.predict_encoded(self.network_._rows(rows, encoded=True))
            self.intervals_ = of_predictions(self.network_, predicted, targets)

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

    # -- the fitted model ------------------------------------------------------------------------------------

    def with_terms(self, n_terms: int, layer: int | None = None) -> Self:
        """Return a fitted estimator like this one, with the network as it was when it had this many terms.

        Growing keeps every size: a model is made smaller, or larger again, without fitting. This one stays as it is.
        No rows are read. Choose a size by validation errors, which ``history_`` and :func:`bgn.frontier` have: test
        errors then still measure the model that you chose.

        Parameters
        ----------
        n_terms : int
            Terms of the last layer, up to the most that were grown. 0 is the intercept alone.
        layer : int, optional
            Index of the last hidden layer; the chosen one by default.

        Returns
        -------
        fitted estimator
            With its own `network_`, and a `history_` in which this size is the chosen one. Parameters are the same, so
            fitting it again grows and chooses as before.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> import bgn
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = bgn.BGNRegressor(max_terms=5, max_linear=0, random_state=0).fit(X, y)
        >>> small = model.with_terms(2)
        >>> small.network_.widths, small.history_.best_size
        ((2,), 2)
        """
        check_is_fitted(self, "network_")
        model = as_it_is(self)
        if not hasattr(model, "history_"):
            raise ValueError("n_terms cannot be chosen: the model has no history_, because it was saved without one.")
        arguments.whole("n_terms", n_terms, 0)
        arguments.whole("layer", layer, 0, none="the chosen one")
        last = model.history_.best_layer if layer is None else int(layer)
        model.network_ = model.history_.network(int(n_terms), last)
        model.history_ = replace(model.history_, best_layer=last, best_size=int(n_terms))
        model._recalibrate()
        return model

    @property
    def n_conditions_(self) -> int:
        """How many conditions a reader of the model reads."""
        return self.network_.n_conditions

    @property
    def term_coef_(self) -> Floats:
        """The weights of ``network_.terms``, shape (terms, outputs).

        They are not called ``coef_``, which scikit-learn's feature selection takes for one weight per column;
        ``feature_importances_`` has these.
        """
        return self.network_.coef

    @property
    def feature_importances_(self) -> Floats:
        """How much each column matters, adding up to 1: by mean absolute SHAP values over ``background_``."""
        if not hasattr(self, "background_"):
            raise AttributeError(
                "feature_importances_ needs the rows of a fit in memory, which model files do not have. Use "
                "model.importance(X).relative_features."
            )
        return self.importance().relative_features

    def _fitted(self) -> Self:
        check_is_fitted(self)
        return self

    def equation(self, format: str = "text", **options: Any) -> str:
        """Write the model as an equation; see :func:`bgn.equation`."""
        return bgn.equation(self._fitted(), format, **options)

    def explain(self, X: Any, background: Any = None, **options: Any) -> Explanation:
        """Return the SHAP values of rows; see :func:`bgn.shap_values`."""
        return bgn.shap_values(self._fitted(), X, background, **options)

    def importance(self, X: Any = None, background: Any = None, kind: str = "shap") -> Importance:
        """Return how much columns and rules matter [default rows: ``background_``]; see :func:`bgn.importance`."""
        return bgn.importance(self._fitted(), getattr(self, "background_", None) if X is None else X, background, kind)

    def effect(self, feature: Any, background: Any = None, **options: Any) -> Effect | PairEffect:
        """Return the effect of a column, or of two; see :func:`bgn.effect`."""
        return bgn.effect(self._fitted(), feature, background, **options)

    def margin(self, X: Any, **options: Any) -> Margin:
        """Return how far rows are from another prediction; see :func:`bgn.margin`."""
        return bgn.margin(self._fitted(), X, **options)

    def counterfactual(self, x: Any, **options: Any) -> Counterfactual:
        """Return the cheapest change of a row that has a wanted prediction; see :func:`bgn.counterfactual`."""
        return bgn.counterfactual(self._fitted(), x, **options)

    def extremes(self, within: Any = "all", **options: Any) -> Extremes:
        """Return the lowest and the highest prediction there can be; see :func:`bgn.extremes`."""
        return bgn.extremes(self._fitted(), within, **options)

    def certify(self, columns: Iterable[Any] | None = None, **options: Any) -> Certificates:
        """Prove which columns only raise or lower the prediction; see :func:`bgn.certify`."""
        return bgn.certify(self._fitted(), columns, **options)

    def frontier(self, X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None) -> Frontier:
        """Return the error at every size; see :func:`bgn.frontier`."""
        return bgn.frontier(self._fitted(), X, y, X_test, y_test)

    def simplify(self, X: Any, y: Any, **options: Any) -> Simplified:
        """Return a network with rounder numbers, or points, learned from training rows; see :func:`bgn.simplify`."""
        return bgn.simplify(self._fitted(), X, y, **options)

    def report(self, X: Any, y: Any, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a one-file web page about the model; see :func:`bgn.write_report`."""
        return bgn.write_report(self._fitted(), X, y, path, **options)

    def save(self, path: str | os.PathLike[str], *, units: Mapping[str, str] | None = None) -> None:
        """Write the model to a JSON file; see :func:`bgn.save`."""
        bgn.save(self._fitted(), path, units=units)

    def _intervals(self, X: Any, share: float, groups: Any) -> Any:
        intervals = getattr(self, "intervals_", None)
        remedy = (
            "Set model.intervals_ = bgn.intervals(model, X, y) with rows that it did not learn from, or with those "
            "that it did and cv=5, which fits it again without each fifth."
        )
        if intervals is None:
            raise ValueError(f"interval: the model has no rows to tell by, as none validated in memory. {remedy}")
        if intervals.network != self.network_:
            raise ValueError(f"interval: the intervals are those of another network, or of another width. {remedy}")
        return intervals.predict(X, share, groups)

    def _predicted(self, X: Any, scores: bool = False) -> Any:
        """What the network predicts of every row, or its raw scores."""
        if on_gpu(X):
            from bgn.model.gpu import predict

            return predict(self.network_, X, scores)
        if is_sparse(X):  # never dense as a whole
            return np.concatenate([self._predicted(rows, scores) for rows in dense_blocks(X, BLOCK_BYTES)])
        if not on_disk(X):
            raw = self.network_._raw_score(rows_in_memory(self, X))
            return raw if scores else self.network_.linked(raw)
        rows = known_columns(self, opened_again(self, RowArguments(X)))
        predicted, done = np.empty((rows.n_rows, *np.shape(self.network_.base))), 0
        for _, some in self._pieces(rows, scores):
            predicted[done : done + len(some)] = some
            done += len(some)
        return predicted

    def _standard_errors(self, X: Any, scores: bool = False) -> Any:
        """The standard errors of predictions, or of raw scores, from the members of an average."""
        network, members = self.network_, self.network_.members
        if members is None:
            raise ValueError(
                "return_std needs an ensemble, whose networks differ: fit with ensemble=8, or ask for interval=0.9."
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
            from bgn.report import card

            return str(card(self))
        return str(estimator_html_repr(self))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what notebooks choose from: the same and text, or text alone where scikit-learn is set so."""
        if get_config()["display"] != "diagram":
            return {"text/plain": repr(self)}
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def validating(weight: Floats | None, hashes: Hashes, share: float) -> Bools:
    """Return which rows validate: those that growth chooses by the same hash of their content."""
    those, whole, exponent = hashes, None, 0
    if weight is not None:
        exponent = weight_exponent(RowsInMemory(np.empty((len(weight), 0)), weight, weight))
        whole = np.rint(np.ldexp(weight, exponent)).astype(np.int64)
        those, whole = hashes[whole > 0], whole[whole > 0]
    counts = histogram(those, whole)
    often = _few_and_often(counts, float(counts.sum()) / 2**exponent)
    edge = None if often else find_edge(counts, lambda number: [inside_bin(those, whole, number)], share)
    return np.zeros(len(hashes), dtype=bool) if edge is None else hashes <= np.uint64(edge)
