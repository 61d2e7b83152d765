"""Which columns of a table the steps of a scikit-learn pipeline pass on, and what they did to them.

Scalers, imputers and selectors pass columns on, one by one; whatever else a step makes is a column of its own, known by
the name that the step gives it. Steps are known by the names of their classes, so that nothing has to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.model.rescaled import Source
from bgn.model.schema import Level


@dataclass(frozen=True)
class Made:
    """A column that a step made.

    Parameters
    ----------
    by : str
        The step in words: its name and class.
    level : (int, level), optional
        For a 0/1 column of a one-hot encoder: the column and the level that it stands for.
    """

    by: str
    level: tuple[int, Level] | None = None


Traced = list[Source | Made]


def called(name: str, step: Any) -> str:
    """Name a step: ``'pca' (PCA)``."""
    return f"{name!r} ({type(step).__name__})"


def trace(name: str, step: Any, n_in: int, n_out: int) -> Traced:
    """Return where each of a fitted step's output columns comes from, by the position of its input columns.

    Parameters
    ----------
    name : str
    step : fitted transformer, "passthrough" or None
    n_in, n_out : int
        Number of its input and output columns.

    Returns
    -------
    list of Source or Made

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bgn.pipelines.steps import trace
    >>> trace("scale", StandardScaler().fit([[1.0], [5.0]]), 1, 1)
    [Source(column=0, arithmetic=(('-', 3.0), ('/', 2.0)), filled=None)]
    """
    ours = type(step).__module__.partition(".")[0] in ("sklearn", "builtins")  # others may do anything
    readers = [_READERS[kind.__name__] for kind in type(step).__mro__ if ours and kind.__name__ in _READERS]
    found = readers[0](name, step, n_in, n_out) if readers else None
    return found if found is not None and len(found) == n_out else [Made(called(name, step))] * n_out


def after(first: Traced, second: Traced) -> Traced:
    """Return where columns come from that two steps make, one after the other."""
    found: Traced = []
    for own in second:
        if isinstance(own, Made):
            origin = None if own.level is None else first[own.level[0]]
            plain = isinstance(origin, Source) and not origin.arithmetic
            level = (origin.column, own.level[1]) if plain and own.level and isinstance(origin, Source) else None
            found.append(replace(own, level=level))
            continue
        before = first[own.column]
        if isinstance(before, Source):
            filled = before.filled
            if filled is None and own.filled is not None:
                filled = before.undone(own.filled) if before.arithmetic else own.filled
            before = Source(before.column, before.arithmetic + own.arithmetic, filled)
        found.append(before)
    return found


def _scaler(*operations: tuple[str, str, str]) -> Callable[..., Traced | None]:
    """Read a scaler by its operations, in order: sign, fitted attribute, and the setting that may leave it out."""

    def read(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
        if getattr(step, "clip", False):
            return None
        done = [(sign, getattr(step, numbers)) for sign, numbers, asked in operations if getattr(step, asked, True)]
        return [Source(j, tuple((sign, float(numbers[j])) for sign, numbers in done)) for j in range(n_in)]

    return read


def _same(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    return [Source(j) for j in range(n_in)]


def _function(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    return None if step.func is not None else _same(name, step, n_in, n_out)


def _imputer(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    if str(step.missing_values) not in ("nan", "None", "<NA>"):
        return None  # a number or a word that stands for gaps
    fills = step.statistics_.tolist()
    kept = [j for j, fill in enumerate(fills) if step.keep_empty_features or fill == fill]
    passed: Traced = [Source(j, filled=fills[j]) for j in kept]
    return passed + [Made(called(name, step))] * (n_out - len(passed))


def _selector(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    return [Source(int(j)) for j in step.get_support(indices=True)]


def _one_hot(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    found: Traced = []
    dropped = [None] * n_in if step.drop_idx_ is None else step.drop_idx_
    for j, (levels, left_out) in enumerate(zip(step.categories_, dropped, strict=True)):
        for k, level in enumerate(levels.tolist()):
            if k != left_out:
                told = (j, float(level) if type(level) is int else level)
                found.append(Made(called(name, step), told if isinstance(level, (str, float, int)) else None))
    return found


def _pipeline(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    return trace_all([(name, each) for name, each in step.steps], n_in, n_out)


def trace_all(steps: Sequence[tuple[str, Any]], n_in: int, n_out: int) -> Traced:
    """Trace columns through steps, one after the other."""
    found: Traced = [Source(j) for j in range(n_in)]
    for (name, step), width in zip(steps, widths(steps, n_in, n_out), strict=True):
        found = after(found, trace(name, step, len(found), width))
    return found


def widths(steps: Sequence[tuple[str, Any]], n_in: int, n_out: int) -> list[int]:
    """Return the number of columns after each step: what the next one read."""
    found, last = [], n_out
    for position in range(len(steps) - 1, -1, -1):
        found.append(last)
        last = getattr(steps[position][1], "n_features_in_", last)
    return found[::-1]


def _column_transformer(name: str, step: Any, n_in: int, n_out: int) -> Traced | None:
    found: Traced = [Made(called(name, step))] * n_out
    for own, part, columns in step.transformers_:
        places = np.arange(n_out)[step.output_indices_[own]]
        if not len(places):
            continue
        read = [int(j) for j in _positions(columns, step, n_in)]
        inside = trace(own, part, len(read), len(places))
        for place, each in zip(places, after([Source(j) for j in read], inside), strict=True):
            found[place] = each
    return found


def _positions(columns: Any, step: Any, n_in: int) -> Any:
    """Return the positions of columns that are given by name, by position, as a slice or as a mask."""
    names = list(getattr(step, "feature_names_in_", ()))
    if isinstance(columns, slice):
        first = names.index(columns.start) if isinstance(columns.start, str) else columns.start
        last = names.index(columns.stop) + 1 if isinstance(columns.stop, str) else columns.stop  # by name: inclusive
        return range(n_in)[first : last : columns.step]
    several = [columns] if isinstance(columns, str | int) else list(columns)
    if several and all(isinstance(each, bool | np.bool_) for each in several):
        return np.flatnonzero(several)
    return [names.index(each) if isinstance(each, str) else range(n_in)[each] for each in several]


_READERS: dict[str, Callable[..., Traced | None]] = {
    "NoneType": _same,
    "str": _same,
    "StandardScaler": _scaler(("-", "mean_", "with_mean"), ("/", "scale_", "with_std")),
    "MinMaxScaler": _scaler(("*", "scale_", ""), ("+", "min_", "")),
    "MaxAbsScaler": _scaler(("/", "scale_", "")),
    "RobustScaler": _scaler(("-", "center_", "with_centering"), ("/", "scale_", "with_scaling")),
    "SimpleImputer": _imputer,
    "SelectorMixin": _selector,
    "FunctionTransformer": _function,
    "OneHotEncoder": _one_hot,
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
}
