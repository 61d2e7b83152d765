"""From Dask collections to rows on a cluster: what is checked here, and how a worker reads and checks a partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from numpy.typing import NDArray

from bgn.engines.cluster.engine import OnCluster, RawRowsOnCluster
from bgn.engines.cluster.tasks import ClusterTasks
from bgn.engines.protocol import Floats
from bgn.engines.raw_rows import Survey
from bgn.inputs.classes import Classes, Label, labels_in
from bgn.inputs.column_kinds import ColumnKind
from bgn.inputs.dask_tables import Layout, aligned, layout_of, no_rows, whole_rows
from bgn.inputs.few_values import tally
from bgn.inputs.frames import FROM_DTYPE, Kinds, chosen_columns
from bgn.inputs.tables import LARGEST_VALUE
from bgn.model.reading import rows_where
from bgn.model.schema import Schema
from bgn.require import require

_AS_THEY_ARE = {"enforce_metadata": False, "transform_divisions": False, "align_dataframes": False}


def schema_on_cluster(
    tasks: ClusterTasks, X: Any, categorical_features: Any = FROM_DTYPE, target: str | None = None, weight: Any = None
) -> Schema:
    """Decide what every column of a collection is; the workers look at those whose type does not tell.

    `categorical_features` is as for :func:`bgn.inputs.frames.schema_of`. Rows of `weight` 0 tell nothing.
    """
    X = whole_rows(X)
    types = Kinds.of(no_rows(X), categorical_features)
    if not types.unsettled:
        return types.schema(target)
    # What Dask knows of categories before it has read them may not be so.
    kinds = replace(types, columns=tuple(each if each.settled else ColumnKind(each.name) for each in types.columns))
    told = categorical_features
    if types.named:
        names = tuple(each.name for each in types.columns)
        chosen = chosen_columns(told, names, len(names))
        X, told = X[list(types.unsettled)], sorted(names[place] for place in chosen) if types.words else None
    look = dask.delayed(_kinds_of, pure=False)
    if weight is None:
        parts = _delayed(X)
    else:
        parts = _together(tasks, {"X": X, "sample_weight": aligned(X, weight, "sample_weight")})
    return kinds.merged(*tasks.results("kinds", [look(part, told) for part in parts])).schema(target)


def _kinds_of(rows: Any, categorical_features: Any) -> Kinds:
    """What a partition tells: X alone, or X and the weights of its rows."""
    if isinstance(rows, tuple | list):
        X, weight = rows
        rows = rows_where(X, np.asarray(weight, dtype=np.float64) > 0)
    return Kinds.of(rows, categorical_features)


def rows_on_cluster(
    tasks: ClusterTasks,
    given: Any,
    check: Callable[[Sequence[Survey]], None],
    schema: Schema | None = None,
) -> OnCluster:
    """Check what can be checked without reading, and say how every partition is to be read.

    `given` has `X`, `y`, `weight` and, where targets are labels, `classes`.

    With a schema, columns may hold all that it can encode, and gaps; without, they must hold finite numbers.
    """
    X, classes = whole_rows(given.X), given.classes
    layout = layout_of(X, numbers=schema is None)
    others = {"y": given.y} if given.weight is None else {"y": given.y, "sample_weight": given.weight}
    tables = {"X": X} | {name: aligned(X, other, name) for name, other in others.items()}
    read, name = dask.delayed(read_rows, pure=False), tasks.name("partition")
    partitions = [
        read(number, layout, rows, schema, classes, dask_key_name=f"{name}-{number}")
        for number, rows in enumerate(_together(tasks, tables))
    ]
    weighted = given.weight is not None or (classes is not None and classes.weights is not None)
    return OnCluster(tasks, partitions, weighted, check)


def labels_on_cluster(tasks: ClusterTasks, y: Any) -> list[Counter[Label]]:
    """How many rows have each of the different labels, partition by partition."""
    count = dask.delayed(_labels, pure=False)
    return tasks.results("labels", [count(part) for part in _delayed(y)])


def tallies_on_cluster(tasks: ClusterTasks, y: Any) -> Iterator[tuple[list[Any], int]]:
    """Yield what :func:`bgn.inputs.few_values.tally` says of every partition; the first is asked before the others."""
    count, parts = dask.delayed(tally, pure=False), _delayed(y)
    yield from tasks.results("targets", [count(part) for part in parts[:1]])
    yield from tasks.results("targets", [count(part) for part in parts[1:]])


def _labels(y: Any) -> Counter[Label]:
    """How many rows of a partition have each of its different labels."""
    if not len(y):
        return Counter()
    found = labels_in(y)
    codes = Classes(found).codes(y).astype(np.intp)
    return Counter(dict(zip(found, np.bincount(codes, minlength=len(found)).tolist(), strict=True)))


def _together(tasks: ClusterTasks, tables: dict[str, Any]) -> list[Any]:
    """The rows of X with what belongs to them, partition by partition."""
    frames = [each for each in tables.values() if not isinstance(each, da.Array)]
    if len(frames) == len(tables) and len({each.npartitions for each in frames}) == 1:
        return _delayed(dd.map_partitions(_beside, *frames, **_AS_THEY_ARE, meta=frames[0]._meta))
    parts = {name: _delayed(table) for name, table in tables.items()}
    if len({len(each) for each in parts.values()}) > 1:
        parts = _cut_alike(tasks, parts)
    return list(zip(*parts.values(), strict=True))


def _beside(*parts: Any) -> tuple[Any, ...]:
    return parts


def _cut_alike(tasks: ClusterTasks, parts: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns cut where X is, by counting rows: for numbers of partitions that differ, of lengths that are unknown."""
    count, cut = dask.delayed(len, pure=False), dask.delayed(_cut, pure=False)
    lengths = iter(tasks.results("lengths", [count(part) for each in parts.values() for part in each]))
    edges = {name: np.cumsum([0, *(next(lengths) for _ in each)]) for name, each in parts.items()}
    alike = {"X": parts["X"]}
    for name, each in parts.items():
        if edges[name][-1] != edges["X"][-1]:
            raise ValueError(f"X has {edges['X'][-1]} rows and {name} has {edges[name][-1]}.")
        if name != "X":
            alike[name] = [cut(each[k : m + 1], *ends) for k, m, *ends in _pieces(edges["X"], edges[name])]
    return alike


def _pieces(wanted: NDArray[Any], there: NDArray[Any]) -> Iterator[tuple[int, int, int, int]]:
    """For every piece that is wanted: its first and its last partition, and where it begins and ends in them."""
    last = len(there) - 2
    for start, stop in pairwise(wanted.tolist()):
        k = min(int(np.searchsorted(there, start, side="right")) - 1, last)
        m = max(k, min(int(np.searchsorted(there, stop, side="left")) - 1, last))
        yield k, m, start - int(there[k]), stop - int(there[k])


def _delayed(collection: Any) -> list[Any]:
    """The partitions, one after the other.

    Those of a frame are the ones that its user sees, of which only the columns that matter are read. Dask's own
    optimiser would put some of them together, more of a few columns than of many.
    """
    if isinstance(collection, da.Array):
        return list(collection.to_delayed().ravel())
    simplify = getattr(collection, "simplify", lambda: collection)
    return list(simplify().to_delayed(optimize_graph=False))


# -- on a worker -------------------------------------------------------------------------------------------------


def read_rows(
    number: int, layout: Layout, rows: tuple[Any, ...], schema: Schema | None = None, classes: Classes | None = None
) -> RawRowsOnCluster:
    """Take a partition (X, y, perhaps weights) column by column, or name the column that holds something else."""
    X, y, weight = rows if len(rows) == 3 else (*rows, None)
    names = tuple(X.columns) if hasattr(X, "columns") else None
    n_columns = len(names) if names is not None else np.shape(X)[1]
    if names != layout.names or n_columns != layout.n_columns:
        raise ValueError(
            f"Partition {number} of X has the columns {names or n_columns}, not {layout.names or layout.n_columns}."
        )
    columns = _numbers_of(X, layout, number) if schema is None else _encoded(X, layout, number, schema)
    told = layout.name if schema is None else schema.names.__getitem__
    for j, column in enumerate(columns):
        largest = float(np.fmax.reduce(np.abs(column), initial=0.0))
        if largest > LARGEST_VALUE:
            raise ValueError(
                f"X has a value of {largest:.3g} in column {told(j)!r} of partition {number}; beyond {LARGEST_VALUE:g} "
                "sums overflow. Rescale the column."
            )
    target = _column(y if classes is None else classes.codes(y), "y", number, len(X))
    heavy = None if weight is None else _column(weight, "sample_weight", number, len(X))
    if heavy is not None and (heavy < 0).any():
        raise ValueError(f"sample_weight has negative values in partition {number}, the least {heavy.min():g}.")
    return RawRowsOnCluster(columns, target, heavy if classes is None else classes.weighted(target, heavy))


def _numbers_of(X: Any, layout: Layout, number: int) -> NDArray[Any]:
    columns = np.empty((layout.n_columns, len(X)), layout.dtype)
    for j, column in enumerate(columns):
        where = f"X in column {layout.name(j)!r} of partition {number}"
        column[:] = _numbers(X[:, j] if layout.names is None else X.iloc[:, j], layout.dtype, where)
    return columns


def _encoded(X: Any, layout: Layout, number: int, schema: Schema) -> NDArray[Any]:
    try:
        rows = schema.encode(X, gaps=True)
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from None
    return np.ascontiguousarray(rows.T, layout.dtype if schema.all_numbers else np.float64)


def _cut(parts: Sequence[Any], start: int, stop: int) -> Any:
    """Some rows of a column in several parts."""
    if hasattr(parts[0], "iloc"):
        return require("pandas", extra="dask").concat(parts).iloc[start:stop]
    return np.concatenate(parts)[start:stop]


def _column(values: Any, name: str, number: int, length: int) -> Floats:
    if len(values) != length:
        raise ValueError(f"Partition {number}: X has {length} rows and {name} has {len(values)}.")
    return np.array(_numbers(values, np.float64, f"{name} in partition {number}"))


def _numbers(values: Any, dtype: Any, where: str) -> NDArray[Any]:
    """The values as finite numbers."""
    try:
        if hasattr(values, "to_numpy"):  # a series, perhaps of a dtype that has a value for nothing
            numbers = values.to_numpy(dtype=dtype, na_value=np.nan)
        else:
            numbers = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Input {where} does not hold numbers: {error}") from None
    if not (fine := np.isfinite(numbers)).all():
        kind = "NaN" if np.isnan(numbers).any() else "infinity"
        variable, _, place = where.partition(" ")
        raise ValueError(
            f"Input {variable} contains {kind} {place} ({(~fine).sum()} of {len(numbers)} rows). Drop or fill them."
        )
    return numbers
