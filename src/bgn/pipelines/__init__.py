"""scikit-learn's wrappers around an estimator seen through: pipelines, grid searches, transformed targets.

What explains or prints a model takes a network and a table. :func:`see_through` finds the network inside a wrapper and
writes it for the columns of the table that the wrapper reads, as far as the steps before it can be undone
(:mod:`bgn.pipelines.steps`, :mod:`bgn.model.rescaled`); :func:`through_pipelines` lets a function of a model and tables
take wrappers and the tables they read.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

import numpy as np

from bgn.model.network import Network
from bgn.model.reading import dense
from bgn.model.rescaled import Source, rescaled, with_output
from bgn.model.schema import Column, level_word
from bgn.pipelines.roots import Root, column_at, n_columns, roots_of
from bgn.pipelines.steps import Made, called, trace
from bgn.printable import quote_category, quote_name

P = ParamSpec("P")
R = TypeVar("R")
# What tells a pipeline, a fitted search, one that is not, and a regressor with a transformed target.
_WRAPPERS = (("named_steps",), ("best_estimator_",), ("estimator", "refit"), ("regressor", "check_inverse"))


@dataclass(frozen=True, eq=False)
class SeenThrough:
    """A model without its wrappers.

    Attributes
    ----------
    model : Network or fitted estimator
        Its network is about the columns of the table, where steps could be undone, and about those that steps made.
    estimator : Network or fitted estimator
        The model as it was fitted, behind all steps.
    note : str
        What was undone and what was not; empty where there was nothing to undo.
    whole : bool
        Whether everything was undone: the model reads the table, and predicts what the wrapper does.
    """

    model: Any
    estimator: Any
    note: str
    whole: bool
    steps: Sequence[tuple[str, Any]]
    targets: Sequence[Any]
    roots: Sequence[Root]
    output_undone: bool

    def transformed(self, X: Any) -> Any:
        """Return a table as the estimator reads it."""
        for _, step in self.steps:
            X = step.transform(X)
        return dense(X)

    def rows(self, X: Any) -> Any:
        """Return a table, or one row, as `model` reads it."""
        if X is None or isinstance(X, str) or (self.whole and (_by_name(X) or np.shape(X)[-1:] == (len(self.roots),))):
            return X
        if isinstance(X, Mapping) or np.ndim(X) == 1:
            return self.rows(_one_row(X))[0]
        stages, wanted = [X], [root.stage for root in self.roots]
        for _, step in self.steps[: max(wanted, default=0)]:
            stages.append(step.transform(stages[-1]))
        # Of what is sparse, the columns alone that the network can be about are ever dense.
        stages = [stage.tocsc() if hasattr(stage, "tocsc") else stage for stage in stages]
        columns = [column_at(stages[root.stage], root) for root in self.roots]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))

    def target(self, y: Any) -> Any:
        """Return targets as `model` predicts them."""
        return y if y is None or self.output_undone else self.transformed_target(y)

    def transformed_target(self, y: Any) -> Any:
        """Return targets as the estimator predicts them."""
        if y is None or not self.targets:
            return y
        values = np.asarray(y, dtype=np.float64).reshape(-1, 1)
        for transformer in self.targets:
            values = transformer.transform(values)
        return np.ravel(values)


def is_wrapped(model: Any) -> bool:
    """Tell whether a model is a wrapper that may have an estimator of ours inside, fitted or not."""
    if isinstance(model, Network | type) or hasattr(model, "network_"):
        return False
    return any(all(hasattr(model, name) for name in names) for names in _WRAPPERS)


def through_pipelines(
    *tables: str, targets: Sequence[str] = (), undone: bool = True
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function whose first argument is a model take pipelines and the like, and the tables that they read.

    Parameters
    ----------
    *tables : str
        Arguments that hold tables or rows.
    targets : sequence of str
        Arguments that hold targets.
    undone : bool, default True
        Whether the function gets a model whose steps are undone as far as possible, or the estimator as it was fitted.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        first = next(iter(signature.parameters))

        @functools.wraps(function)
        def explained(*args: P.args, **kwargs: P.kwargs) -> R:
            if not is_wrapped(args[0] if args else kwargs.get(first)):
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            seen = see_through(bound.arguments[first])
            bound.arguments[first] = seen.model if undone else seen.estimator
            for names, change in (
                (tables, seen.rows if undone else seen.transformed),
                (targets, seen.target if undone else seen.transformed_target),
            ):
                for name in names:
                    if bound.arguments.get(name) is not None:
                        bound.arguments[name] = change(bound.arguments[name])
            return function(*bound.args, **bound.kwargs)

        return explained

    return decorate


def network_within(model: Any) -> Network | None:
    """Return the network inside a wrapper, undone as far as possible; None for what is no wrapper."""
    if not is_wrapped(model):
        return None
    seen = see_through(model).model
    return seen if isinstance(seen, Network) else seen.network_


def see_through(model: Any) -> SeenThrough:
    """Return the model inside pipelines, searches and transformed targets, written for the table that they read.

    Parameters
    ----------
    model : fitted Pipeline, search with ``best_estimator_``, TransformedTargetRegressor, or any nest of them
        Whose innermost estimator is one of ours.

    Returns
    -------
    SeenThrough

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import bgn
    >>> from bgn.pipelines import see_through
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> pipeline = make_pipeline(StandardScaler(), bgn.BGNRegressor(max_width=2, random_state=0)).fit(X, y)
    >>> seen = see_through(pipeline)
    >>> seen.whole, seen.model.network_.names[:3]
    (True, ('age', 'sex', 'bmi'))
    >>> bool(abs(seen.model.network_.predict(X) - pipeline.predict(X)).max() < 1e-9)
    True
    """
    estimator, steps, targets = _unwrapped(model)
    network: Network = estimator if isinstance(estimator, Network) else estimator.network_
    traced, names = roots_of(steps, network)
    read = [j for j in range(network.n_inputs) if network.layers[0].reads[:, j].any() or _slopes(network, j)]
    # A network is about the columns of the table that reach it, and those of the steps that it reads.
    kept = {root for j, (root, _) in enumerate(traced) if not root.made_by or j in read} or {traced[0][0]}
    roots = sorted(kept, key=lambda root: (root.stage, root.place))
    made = [root for root in roots if root.made_by]
    if names is None and not made:  # without names, a column is known by its place
        by_place = {root.place: root for root in roots}
        roots = [by_place.get(j, Root(0, j, Column(f"x{j}"))) for j in range(n_columns(steps, network))]
    undone = network
    if steps:
        columns = tuple(root.column for root in roots)
        schema = replace(network.schema, columns=columns, named=names is not None or bool(made))
        # Columns that nothing reads may come from any.
        places = {root: place for place, root in enumerate(roots)}
        undone = rescaled(network, [replace(each, column=places.get(root, 0)) for root, each in traced], schema)
    undone, lost = _undone_output(undone, targets)
    scaled = any(traced[j][1].arithmetic for j in read) or bool(targets and not lost)
    note = _note(scaled, made, len(made) == len(roots), lost)
    seen = estimator if undone == network else _with_network(estimator, undone, note, keep_history=not targets)
    return SeenThrough(seen, estimator, note, not made and not lost, steps, targets, roots, not lost)


# -- inside a wrapper ----------------------------------------------------------------------------------------------


def _unwrapped(model: Any) -> tuple[Any, list[tuple[str, Any]], list[Any]]:
    """Return the innermost estimator, the steps before it, and what was done to the target, the outermost first."""
    outer, steps, targets = type(model).__name__, list[tuple[str, Any]](), list[Any]()
    while not (isinstance(model, Network) or hasattr(model, "network_")):
        kind = type(model).__name__
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "regressor_"):
            targets.append(model.transformer_)
            model = model.regressor_
        elif hasattr(model, "named_steps"):
            steps += _flat(model.steps[:-1])
            name, model = model.steps[-1]
            if not hasattr(model, "fit") or not (is_wrapped(model) or type(model).__module__.startswith("bgn.")):
                raise TypeError(
                    f"model must end in a bgn estimator; the last step of this {kind} is {called(name, model)}. "
                    "Fit a bgn estimator in its place."
                )
        elif hasattr(model, "cv_results_"):
            raise TypeError(
                f"model must have best_estimator_; this {kind} was fitted with refit={model.refit!r}. Fit it with "
                "refit=True, or pass one of its estimators."
            )
        elif is_wrapped(model) or type(model).__module__.startswith("bgn."):
            raise TypeError(f"model must be fitted; got {_article(outer)} whose {kind} is not. Call fit first.")
        else:
            raise TypeError(
                f"model must have a fitted bgn estimator inside; got {_article(outer)} around {_article(kind)}. "
                "Fit a bgn estimator in its place."
            )
    return model, [step for step in steps if not _idle(step[1])], targets


def _article(kind: str) -> str:
    return f"a{'n' * (kind[:1] in 'AEIOU')} {kind}"


def _flat(steps: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the steps of nested pipelines in one list."""
    found = []
    for name, step in steps:
        found += _flat(step.steps) if hasattr(step, "named_steps") else [(name, step)]
    return found


def _idle(step: Any) -> bool:
    return step is None or isinstance(step, str)


def _slopes(network: Network, column: int) -> bool:
    return network.slopes is not None and bool(np.any(network.slopes[column]))


def _undone_output(network: Network, targets: Sequence[Any]) -> tuple[Network, str]:
    """Return a network that predicts the target as it was, or else what it predicts instead, in words."""
    source, lost = Source(0), network.target_name or "prediction"
    for transformer in targets:
        (own,) = trace("target", transformer, 1, 1)
        if isinstance(own, Made):
            function = getattr(getattr(transformer, "func", None), "__name__", type(transformer).__name__)
            lost = f"{function}({lost})"
            return network.changed(schema=replace(network.schema, target=lost, target_unit="")), lost
        source = Source(0, source.arithmetic + own.arithmetic)
    if not source.arithmetic:
        return network, ""
    factor, shift = source.line
    return with_output(network, float(1 / factor), float(-shift / factor)), ""


def _note(scaled: bool, made: Sequence[Root], alone: bool, lost: str) -> str:
    """Say what was undone and what was not."""
    units = "Scaling" if made or lost else "Numbers are in the table's own units: scaling"
    told = [f"{units} was undone, exact up to rounding."] if scaled else []
    for by in dict.fromkeys(root.made_by for root in made):
        names = [_named(root.column) for root in made if root.made_by == by]
        several, listed = len(names) > 1, ", ".join(names)
        which = f"The column{'s' * several} {listed}" if not alone or len(names) < len(made) else "Columns"
        are, them = ("are", "them") if several or which == "Columns" else ("is", "it")
        told.append(f"{which} {are} as the step {by} made {them}.")
    if lost:
        told.append(f"The target is {lost}: what was done to it could not be undone.")
    return " ".join(told)


def _named(column: Column) -> str:
    """Name a column as questions do."""
    if column.level_of is None:
        return quote_name(column.name)
    return f"{quote_name(column.level_of[0])} = {quote_category(level_word(column.level_of[1]))}"


def _with_network(estimator: Any, network: Network, note: str, keep_history: bool) -> Any:
    """Return a fitted estimator like this one around another network."""
    if isinstance(estimator, Network):
        return network
    model = copy.copy(estimator)
    vars(model).update(network_=network, n_features_in_=network.n_inputs, steps_note_=note)
    vars(model).pop("feature_names_in_", None)
    vars(model).pop("background_", None)  # its rows are as the steps made them
    if network.feature_names is not None:
        model.feature_names_in_ = np.array(network.feature_names, dtype=object)
    if not keep_history:
        vars(model).pop("history_", None)  # its errors are of the target as it was transformed
    return model


def _by_name(X: Any) -> bool:
    """Tell whether the columns of a table, or the values of a row, are found by name."""
    return isinstance(X, Mapping) or hasattr(X, "columns") or (hasattr(X, "to_dict") and np.ndim(X) == 1)


def _one_row(x: Any) -> Any:
    """Return a row as a table: by name where it has names."""
    if not _by_name(x):
        return np.reshape(np.asarray(x), (1, -1))
    import pandas as pd

    return pd.DataFrame([dict(x)])
