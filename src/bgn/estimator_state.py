"""What an estimator is made of: the parameters it was given, and what it has learnt (names that end in ``_``)."""

from __future__ import annotations

import functools
import inspect
from dataclasses import fields, replace
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bgn.engines.raw_rows import RowsInMemory
from bgn.grow.constraints import Constraints
from bgn.grow.network import GrowthSettings
from bgn.inputs import arguments
from bgn.inputs.constraints import interaction_groups, monotone_columns
from bgn.model.link import prediction_bounds
from bgn.model.schema import Schema

_Class = TypeVar("_Class", bound=type)
_Estimator = TypeVar("_Estimator", bound=object)


def inherit_parameters(cls: _Class) -> _Class:
    """Show all parameters of an ``__init__`` that passes ``**parameters`` on to its parent's.

    scikit-learn reads an estimator's parameters off the signature of ``__init__``, as help and editors do.
    """
    init = vars(cls)["__init__"]
    above = inspect.signature(next(each for each in cls.__mro__[1:] if "__init__" in vars(each)))
    own = inspect.signature(init)
    shown = {name: each for name, each in own.parameters.items() if each.kind != each.VAR_KEYWORD}
    merged = {"self": shown.pop("self")} | dict(above.parameters) | shown

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **parameters: Any) -> None:
        for name in parameters.keys() - merged.keys():
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}")
        init(self, *values, **parameters)

    checked.__signature__ = own.replace(parameters=list(merged.values()))  # type: ignore[attr-defined]
    cls.__init__ = checked  # type: ignore[misc]
    return cls


def unfitted(estimator: _Estimator) -> _Estimator:
    """The same parameters and nothing learnt, to fit on; the estimator keeps the model of an earlier fit meanwhile."""
    return _with(estimator, {name: value for name, value in _state(estimator).items() if not name.endswith("_")})


def as_it_is(estimator: _Estimator) -> _Estimator:
    """The estimator with all that it has learnt, which a fit in another thread leaves alone."""
    return _with(estimator, _state(estimator))


def take_over(estimator: _Estimator, other: Any) -> _Estimator:
    """Learn what another has learnt, all of it at once: whoever looks sees the model before or the whole new one."""
    learnt = {name: value for name, value in _state(other).items() if name.endswith("_")}
    estimator.__dict__ = _state(unfitted(estimator)) | learnt
    return estimator


def _state(estimator: Any) -> dict[str, Any]:
    """The attributes at one moment."""
    return vars(estimator).copy()


def _with(estimator: _Estimator, state: dict[str, Any]) -> _Estimator:
    made = object.__new__(type(estimator))
    made.__dict__ = state
    return made


_CHOICES = {
    "direction": ("search", "debiased", "lasso"),
    "output": ("full", "stagewise"),
    "select": ("best", "compact"),
}


def growth_settings(estimator: Any) -> GrowthSettings:
    """Check the parameters of an estimator, and return those that growth needs."""
    for name, choices in _CHOICES.items():
        arguments.chosen(name, getattr(estimator, name), choices)
    arguments.whole("max_layers", estimator.max_layers, 1)
    arguments.whole("max_width", estimator.max_width, 1)
    arguments.whole("max_features", estimator.max_features, 1, none="no limit")
    arguments.whole("max_replacements", estimator.max_replacements, 0, none="as many as there are neurons")
    arguments.whole("n_networks", estimator.n_networks, 1)
    if not (isinstance(estimator.sweeps, str) and estimator.sweeps == "auto"):
        arguments.whole("sweeps", estimator.sweeps, 0, also=' or "auto"')
    arguments.whole("patience", estimator.patience, 1, none="no limit")
    arguments.whole("digits", estimator.digits, 1, none="the numbers that growth found")
    cv = estimator.cv
    splits = isinstance(cv, list | tuple) or (hasattr(cv, "split") and not isinstance(cv, str))
    if not splits and not (isinstance(cv, str) and cv == "auto"):
        arguments.whole("cv", cv, 2, none="rows set apart")
    if not isinstance(estimator.verbose, bool):
        arguments.whole("verbose", estimator.verbose, 0)
    _check_linear(estimator)
    arguments.real("learning_rate", estimator.learning_rate, 0.0, 1.0, open_low=True)
    arguments.real("simplicity", estimator.simplicity, 0.0, 1.0, open_high=True)
    arguments.real("validation_fraction", estimator.validation_fraction, 0.0, 1.0, open_high=True)
    if estimator.n_networks > 1 and not estimator.validation_fraction > 0:
        raise ValueError(
            f"validation_fraction must be above 0 where n_networks is above 1, since each network leaves out such a "
            f"share of the rows; got {estimator.validation_fraction!r}."
        )
    if not (isinstance(estimator.shrinkage, str) and estimator.shrinkage == "auto"):
        arguments.real("shrinkage", estimator.shrinkage, 0.0, np.inf, open_high=True, also=' or "auto"')
    if estimator.max_seconds is not None:
        arguments.real("max_seconds", estimator.max_seconds, 0.0, np.inf, also=" or None")
    made_later = ("constraints", "bounds", "lead", "stretch")
    names = [field.name for field in fields(GrowthSettings) if field.name not in made_later]
    settings = {name: getattr(estimator, name) for name in names}
    if estimator.max_features is None:
        settings["max_features"] = np.iinfo(np.int32).max
    return GrowthSettings(**settings)


def _check_linear(estimator: Any) -> None:
    """Refuse a number of linear terms that cannot be, or that the other parameters leave no room for."""
    most = estimator.max_linear
    if isinstance(most, str) and most == "auto":
        return
    if isinstance(most, str):
        raise ValueError(f"max_linear must be a whole number, at least 0, or 'auto'; got {most!r}.")
    arguments.whole("max_linear", most, 0)
    needs = {"max_layers": 1, "output": "full", "direction": "search"}
    for name, needed in needs.items():
        given = getattr(estimator, name)
        if most and given != needed:
            raise ValueError(
                f"max_linear must be 0 or 'auto' where {name} is not {needed!r}; got {most} and {given!r}."
            )


def constraints_of(estimator: Any, schema: Schema) -> Constraints:
    """What the columns of a table want, as an estimator was told."""
    wanted = Constraints(
        monotone_columns(estimator.monotonic_cst, schema), interaction_groups(estimator.interaction_cst, schema)
    )
    told = [name for name, one in (("monotonic_cst", wanted.signed), ("interaction_cst", wanted.groups)) if one]
    if told and estimator.max_layers > 1:
        raise ValueError(f"{told[0]} is for one hidden layer; got max_layers={estimator.max_layers}. Use max_layers=1.")
    if told and estimator.direction != "search":
        raise ValueError(f"{told[0]} needs direction='search'; got {estimator.direction!r}.")
    if wanted.signed and len(schema.classes or ()) > 2:
        raise ValueError(
            f"monotonic_cst is for numbers and for two classes; got {len(schema.classes or ())} classes, of which no "
            "order says what rises. Tell one class from all others."
        )
    return wanted


def bounds_of(estimator: Any, schema: Schema) -> tuple[float, float] | None:
    """What predictions may not go beyond, as an estimator was told."""
    ends = prediction_bounds(estimator.bounds)
    if ends is not None and schema.classes is not None:
        raise ValueError(f"bounds are for numbers: probabilities lie between 0 and 1; got {estimator.bounds!r}.")
    return ends


def folds_of(cv: Any, source: Any, given: Any, seed: int) -> Any:
    """How rows are folded: what splits of scikit-learn's kind say of rows in memory, by the hashes of these rows."""
    if cv is None or isinstance(cv, int | str | np.integer):
        return cv if cv is None or isinstance(cv, str) else int(cv)
    if not isinstance(source, RowsInMemory):
        raise ValueError("cv must be a number of folds, 'auto' or None where rows are not in memory; got splits.")
    hashes = source.hashes(seed)
    splits = cv.split(np.empty((len(hashes), 0)), np.asarray(given.y)) if hasattr(cv, "split") else cv
    try:
        return [(hashes[np.asarray(learn)], hashes[np.asarray(judge)]) for learn, judge in splits]
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(
            f"cv must be a number of folds, 'auto', None, a splitter of scikit-learn or pairs (train, test) of "
            f"positions of rows; these do not fit {len(hashes)} rows: {error}."
        ) from None


class EveryWidth:
    """An estimator whose ``history_`` has the network at every width it had while it grew."""

    history_: Any
    network_: Any

    def at_width(self, width: int, layer: int | None = None) -> Self:
        """Return a fitted estimator like this one, with the network as it was when it had so many neurons.

        Growing keeps every width: a model is made smaller, or larger again, without fitting. This one stays as it is.
        No rows are read. Choose a width by validation errors, which ``history_`` and :func:`bgn.frontier` have: by test
        errors, it would be chosen on the test rows.

        Parameters
        ----------
        width : int
            Neurons of the last hidden layer: any number up to the most that were grown. 0 is the base alone.
        layer : int, optional
            Index of the last hidden layer; of those that were grown the chosen one by default.

        Returns
        -------
        fitted estimator
            With a `network_` of its own, and a `history_` in which this width is the chosen one. Parameters are the
            same, so fitting it again grows and chooses as before.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> import bgn
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = bgn.BGNRegressor(max_width=5, max_linear=0, random_state=0).fit(X, y)
        >>> small = model.at_width(2)
        >>> small.network_.widths, small.history_.best_width
        ((2,), 2)
        """
        check_is_fitted(self, "network_")
        model = as_it_is(self)
        if not hasattr(model, "history_"):
            raise ValueError("width cannot be chosen: the model has no history_, because it was saved without one.")
        arguments.whole("width", width, 0)
        arguments.whole("layer", layer, 0, none="the chosen one")
        last = model.history_.best_layer if layer is None else int(layer)
        model.network_ = model.history_.network(int(width), last)
        model.history_ = replace(model.history_, best_layer=last, best_width=int(width))
        getattr(model, "_recalibrate", lambda: None)()
        return model
