"""scikit-learn's wrappers around an estimator seen through: pipelines, grid searches, transformed targets.

What explains or prints a model takes a network and a table. :func:`see_through` finds the network inside a wrapper and
writes it for the columns of the table that the wrapper reads, as far as the steps before it can be undone
(:mod:`bgn.pipelines`, :mod:`bgn.model.rescaled`); :func:`through_pipelines` lets a function of a model and tables
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
from bgn.model.rescaled import Source, column_from, rescaled, with_output
from bgn.model.schema import Category, Column, Schema, category_name
from bgn.model.step import Floats
from bgn.model.values import dense
from bgn.text import quote_category, quote_name

# -- The columns that a network can be about: those of the table that a pipeline reads, and those that its steps
# make.

# By stage and place: the step in words, and the level of a category that a 0/1 column stands for.
Makers = dict[tuple[int, int], tuple[str, tuple[str, Category] | None]]


@dataclass(frozen=True)
class Root:
    """A column of the table (stage 0), or one that a step made (the stage after it), which a network can be about."""

    stage: int
    place: int
    column: Column
    made_by: str = ""


def n_columns(steps: Sequence[tuple[str, Any]], network: Network) -> int:
    return int(getattr(steps[0][1], "n_features_in_", network.n_inputs)) if steps else network.n_inputs


def roots_of(
    steps: Sequence[tuple[str, Any]], network: Network
) -> tuple[list[tuple[Root, Source]], tuple[str, ...] | None]:
    """Return for every column of a network the column it can be traced back to, and how; and the table's names."""
    n = n_columns(steps, network)
    given = getattr(steps[0][1], "feature_names_in_", None) if steps else network.feature_names
    names = None if given is None else tuple(map(str, given))
    labels = [names or tuple(f"x{j}" for j in range(n))]
    at, makers = [(0, Source(j)) for j in range(n)], Makers()
    counts = column_counts(steps, n, network.n_inputs)
    for stage, ((name, step), count) in enumerate(zip(steps, counts, strict=True), start=1):
        following = list[tuple[int, Source]]()
        for place, own in enumerate(trace(name, step, len(at), count)):
            if isinstance(own, Source):
                origin, before = at[own.column]
                (source,) = after([before], [replace(own, column=0)])
                following.append((origin, source))  # type: ignore[arg-type]
                continue
            following.append((stage, Source(place)))
            category = None
            if own.category is not None:
                origin, before = at[own.category[0]]
                category = None if before.arithmetic else (labels[origin][before.column], own.category[1])
            makers[stage, place] = own.by, category
        own_names = tuple(f"{name}{place}" for place in range(count))
        for before_names in (labels[-1], None):
            try:
                out = tuple(map(str, step.get_feature_names_out(before_names)))
            except (AttributeError, ValueError, TypeError):
                continue
            if len(out) == count:
                own_names = out
                break
        labels.append(own_names)
        at = following
    return _rooted(at, makers, labels, network), names


def _rooted(
    at: list[tuple[int, Source]], makers: Makers, labels: Sequence[Sequence[str]], network: Network
) -> list[tuple[Root, Source]]:
    """Return the root of every column of a network; each has a name of its own."""
    roots, rooted = dict[tuple[int, int], tuple[Root, Any]](), list[tuple[Root, Source]]()
    taken = {labels[0][source.column] for stage, source in at if stage == 0}
    for j, (stage, source) in enumerate(at):
        key = stage, source.column
        if key in roots and roots[key][1] != source.filled:  # a missing value would have to count as two things
            key, source = (len(labels) - 1, j), Source(j)
        if key not in roots:
            (by, category), name = makers.get(key, ("'all'" * bool(key[0]), None)), labels[key[0]][key[1]]
            while key[0] and name in taken:
                name = f"{name} ({by})"
            taken.add(name)
            column = column_from(network.schema.columns[j], source, name)
            column = column if category is None else replace(column, category_of=category)
            roots[key] = Root(key[0], key[1], column, by), source.filled
        rooted.append((roots[key][0], source))
    return rooted


def column_at(table: Any, root: Root) -> Floats:
    """Return one column of a stage's table as a network reads it."""
    if hasattr(table, "tocsc"):
        column = table[:, [root.place]].toarray()
        return Schema((root.column,), named=False).encode(column, missing=True)[:, 0]
    if hasattr(table, "columns"):
        by_name = root.stage == 0 and root.column.name in set(table.columns)
        values = np.asarray(table[root.column.name if by_name else table.columns[root.place]])
    else:
        values = np.asarray(table)[:, root.place]
    return Schema((root.column,), named=False).encode(values.reshape(-1, 1), missing=True)[:, 0]


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
        for _, step in self.steps:
            X = step.transform(X)
        return dense(X)

    def rows(self, X: Any) -> Any:
        """Return a table, or one row, as `model` reads it."""
        if X is None or isinstance(X, str) or (self.whole and (_by_name(X) or np.shape(X)[-1:] == (len(self.roots),))):
            return X
        if isinstance(X, Mapping) or np.ndim(X) == 1:
            if not _by_name(X):
                return self.rows(np.reshape(np.asarray(X), (1, -1)))[0]
            import pandas as pd

            return self.rows(pd.DataFrame([dict(X)]))[0]
        stages, wanted = [X], [root.stage for root in self.roots]
        for _, step in self.steps[: max(wanted, default=0)]:
            stages.append(step.transform(stages[-1]))
        # Of what is sparse, the columns alone that the network can be about are ever dense.
        stages = [stage.tocsc() if hasattr(stage, "tocsc") else stage for stage in stages]
        columns = [column_at(stages[root.stage], root) for root in self.roots]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))

    def target(self, y: Any) -> Any:
        return y if y is None or self.output_undone else self.transformed_target(y)

    def transformed_target(self, y: Any) -> Any:
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
    >>> pipeline = make_pipeline(StandardScaler(), bgn.BGNRegressor(max_terms=2, random_state=0)).fit(X, y)
    >>> seen = see_through(pipeline)
    >>> seen.whole, seen.model.network_.names[:3]
    (True, ('age', 'sex', 'bmi'))
    >>> bool(abs(seen.model.network_.predict(X) - pipeline.predict(X)).max() < 1e-9)
    True
    """
    estimator, steps, targets = _unwrapped(model)
    network: Network = estimator if isinstance(estimator, Network) else estimator.network_
    traced, names = roots_of(steps, network)
    linear = {term.column for term in network.linear}
    read = [j for j in range(network.n_inputs) if network.layers[0].reads[:, j].any() or j in linear]
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
        undone = rescaled(network, [replace(source, column=places.get(root, 0)) for root, source in traced], schema)
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
    return model, [(name, step) for name, step in steps if not (step is None or isinstance(step, str))], targets


def _article(kind: str) -> str:
    return f"a{'n' * (kind[:1] in 'AEIOU')} {kind}"


def _flat(steps: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    flat = []
    for name, step in steps:
        flat += _flat(step.steps) if hasattr(step, "named_steps") else [(name, step)]
    return flat


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
    sentences = [f"{units} was undone, exact up to rounding."] if scaled else []
    for by in dict.fromkeys(root.made_by for root in made):
        names: list[str] = []
        for column in (root.column for root in made if root.made_by == by):
            raw, category = column.category_of or (column.name, "")
            value = "" if column.category_of is None else f" = {quote_category(category_name(category))}"
            names.append(quote_name(raw) + value)
        several, listed = len(names) > 1, ", ".join(names)
        which = f"The column{'s' * several} {listed}" if not alone or len(names) < len(made) else "Columns"
        are, them = ("are", "them") if several or which == "Columns" else ("is", "it")
        sentences.append(f"{which} {are} as the step {by} made {them}.")
    if lost:
        sentences.append(f"The target is {lost}: what was done to it could not be undone.")
    return " ".join(sentences)


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


# -- Which columns of a table the steps of a scikit-learn pipeline pass on, and what they did to them.


@dataclass(frozen=True)
class Made:
    """A column that a step made: the step in words and, of a 0/1 column of an encoder, its column and category."""

    by: str
    category: tuple[int, Category] | None = None


Traced = list[Source | Made]


def called(name: str, step: Any) -> str:
    """Name a step: ``'pca' (PCA)``."""
    return f"{name!r} ({type(step).__name__})"


def trace(name: str, step: Any, n_in: int, n_out: int) -> Traced:
    """Return where each of a fitted step's output columns comes from, by the position of its input columns."""
    ours = type(step).__module__.partition(".")[0] in ("sklearn", "builtins")  # others may do anything
    readers = [_READERS[kind.__name__] for kind in type(step).__mro__ if ours and kind.__name__ in _READERS]
    traced = readers[0](name, step, n_in, n_out) if readers else None
    return traced if traced is not None and len(traced) == n_out else [Made(called(name, step))] * n_out


def after(first: Traced, second: Traced) -> Traced:
    """Return where columns come from that two steps make, one after the other."""
    traced: Traced = []
    for own in second:
        if isinstance(own, Made):
            category = None
            if own.category is not None:
                origin = first[own.category[0]]
                plain = isinstance(origin, Source) and not origin.arithmetic
                category = (origin.column, own.category[1]) if plain else None  # type: ignore[union-attr]
            traced.append(replace(own, category=category))
            continue
        before = first[own.column]
        if isinstance(before, Source):
            filled = before.filled
            if filled is None and own.filled is not None:
                filled = before.undone(own.filled) if before.arithmetic else own.filled
            before = Source(before.column, before.arithmetic + own.arithmetic, filled)
        traced.append(before)
    return traced


def _scaler(*operations: tuple[str, str, str]) -> Callable[..., Traced | None]:
    """Read a scaler by its operations, in order: sign, fitted attribute, and the setting that may leave it out."""

    def read(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
        if getattr(step, "clip", False):
            return None
        done = [(sign, getattr(step, numbers)) for sign, numbers, setting in operations if getattr(step, setting, True)]
        return [Source(j, tuple((sign, float(numbers[j])) for sign, numbers in done)) for j in range(n_in)]

    return read


def _same(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    return None if getattr(step, "func", None) is not None else [Source(j) for j in range(n_in)]


def _imputer(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    if str(step.missing_values) not in ("nan", "None", "<NA>"):
        return None  # a number or a text that stands for missing values
    fills = step.statistics_.tolist()
    kept = [j for j, fill in enumerate(fills) if step.keep_empty_features or fill == fill]
    passed: Traced = [Source(j, filled=fills[j]) for j in kept]
    return passed + [Made(called(name, step))] * (n_out - len(passed))


def _one_hot(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    traced: Traced = []
    dropped = [None] * n_in if step.drop_idx_ is None else step.drop_idx_
    for j, (categories, left_out) in enumerate(zip(step.categories_, dropped, strict=True)):
        for k, category in enumerate(categories.tolist()):
            if k != left_out:
                own = (j, float(category) if type(category) is int else category)
                traced.append(Made(called(name, step), own if isinstance(category, (str, float, int)) else None))
    return traced


def _pipeline(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    traced: Traced = [Source(j) for j in range(n_in)]
    for (own, part), count in zip(step.steps, column_counts(step.steps, n_in, n_out), strict=True):
        traced = after(traced, trace(own, part, len(traced), count))
    return traced


def column_counts(steps: Sequence[tuple[str, Any]], n_in: int, n_out: int) -> list[int]:
    """Return the number of columns after each step: what the next one read."""
    counts = [n_out]
    for _, step in reversed(steps[1:]):
        counts.insert(0, getattr(step, "n_features_in_", counts[0]))
    return counts[: len(steps)]


def _column_transformer(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    traced: Traced = [Made(called(name, step))] * n_out
    for own, part, columns in step.transformers_:
        places = np.arange(n_out)[step.output_indices_[own]]
        if not len(places):
            continue
        read = [int(j) for j in _positions(columns, step, n_in)]
        inside = trace(own, part, len(read), len(places))
        for place, source in zip(places, after([Source(j) for j in read], inside), strict=True):
            traced[place] = source
    return traced


def _positions(columns: Any, step: Any, n_in: int) -> Any:
    """Return the positions of columns that are given by name, by position, as a slice or as a mask."""
    names = list(getattr(step, "feature_names_in_", ()))
    if isinstance(columns, slice):
        first = names.index(columns.start) if isinstance(columns.start, str) else columns.start
        last = names.index(columns.stop) + 1 if isinstance(columns.stop, str) else columns.stop  # by name: inclusive
        return range(n_in)[first : last : columns.step]
    several = [columns] if isinstance(columns, str | int) else list(columns)
    if several and all(isinstance(column, bool | np.bool_) for column in several):
        return np.flatnonzero(several)
    return [names.index(column) if isinstance(column, str) else range(n_in)[column] for column in several]


_READERS: dict[str, Callable[..., Traced | None]] = {
    "NoneType": _same,
    "str": _same,
    "StandardScaler": _scaler(("-", "mean_", "with_mean"), ("/", "scale_", "with_std")),
    "MinMaxScaler": _scaler(("*", "scale_", ""), ("+", "min_", "")),
    "MaxAbsScaler": _scaler(("/", "scale_", "")),
    "RobustScaler": _scaler(("-", "center_", "with_centering"), ("/", "scale_", "with_scaling")),
    "SimpleImputer": _imputer,
    "SelectorMixin": lambda name, step, *_: [Source(int(j)) for j in step.get_support(indices=True)],
    "FunctionTransformer": _same,
    "OneHotEncoder": _one_hot,
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
}
