"""The rows of a fit: checked once, wherever they are; where they are decides on the engine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.disk.engine import OnDisk, Scratch
from bgn.engines.disk.files import Npy, in_memory, load
from bgn.engines.disk.table import BlockwiseRows, FileTable, column_blocks, on_disk
from bgn.engines.protocol import RowSource
from bgn.engines.raw_rows import RowsInMemory
from bgn.inputs import frames
from bgn.inputs.kinds import FROM_DTYPE, schema_of
from bgn.inputs.target import Classes, to_array, weights
from bgn.model.network import on_gpu
from bgn.model.schema import Schema, Unseen
from bgn.model.step import Floats
from bgn.model.values import dense, is_named_row, labels_of, rows_where
from bgn.text import clean

_FIRST_ROWS, _ROWS = 1000, 1 << 20  # of a block of targets


@dataclass(frozen=True, eq=False)
class RowArguments:
    """The arguments of a fit that speak of rows. The target is `y`, or the column of `X` that `target` names."""

    X: Any
    y: Any = None
    weight: Any = None
    target: str | int | None = None
    columns: Sequence[Any] | None = None
    name: str | None = None  # of the target, where `y` no longer tells
    classes: Classes | None = None  # what a column of targets on disk, or on a cluster, is read as

    def __post_init__(self) -> None:
        if self.y is not None and self.target is not None:
            raise ValueError(f"target={self.target!r} names a column of X to predict; leave out y, or target.")
        if self.target is not None and not isinstance(self.target, str) and not _is_position(self.target):
            raise ValueError(f"target must be the name or the position of a column of X; got {self.target!r}.")
        if self.columns is not None and (isinstance(self.columns, str) or not isinstance(self.columns, Iterable)):
            raise ValueError(f"columns must be a list of names or positions; got {self.columns!r}.")

    @property
    def target_name(self) -> str | None:
        if isinstance(self.target, str) or self.name is not None:
            return self.name or str(self.target)
        name = None if on_disk(self.y) else getattr(self.y, "name", None)
        return None if name is None else str(name)

    def opened(self, known: Sequence[str] | None, targets: bool = True, **reading: Any) -> BlockwiseRows:
        """Rows on disk; of the columns `known`, where the columns have names."""
        if isinstance(self.X, BlockwiseRows):
            return self.X
        aim = self.y if self.target is None else self.target
        if aim is None and targets:
            raise ValueError("y must hold the targets, or target= name their column of X; got neither.")
        selected = {"columns": self.columns, "target": aim, "weight": self.weight, "classes": self.classes}
        return FileTable(self.X, known=known, **selected, **reading)

    def in_memory(self) -> RowArguments:
        """The same with the columns to learn from as X and the targets as y, for a table that is in memory."""
        y, weight = _loaded(self.y, "y"), _loaded(self.weight, "sample_weight")
        X: Any = dense(self.X)
        if self.target is None and self.columns is None:
            return replace(self, X=X, y=y, weight=weight)
        labels = labels_of(X) or []
        frame = bool(labels)
        X = X if frame else np.asarray(X)
        there = labels if frame else list(range(X.shape[1]))
        target = self.target if frame else _from_the_left(self.target, len(there))
        keep = list(there if self.columns is None else self.columns)
        if not frame:
            keep = [_from_the_left(key, len(there)) for key in keep]
        if self.columns is None:
            keep = [key for key in keep if key != target]
        elif target is not None and target in keep:
            raise ValueError(f"columns must leave out the target; got {target!r} in it.")
        if twice := [key for k, key in enumerate(keep) if key in keep[:k]]:
            raise ValueError(f"columns must name each column once; got {twice[0]!r} twice.")
        for argument, keys in (("target", [target]), ("columns", keep)):
            if unknown := [key for key in keys if key is not None and key not in there]:
                names = ", ".join(map(repr, there))
                raise ValueError(f"{argument}: X has no column {unknown[0]!r}; it has {names}.")
        if not keep:
            raise ValueError("X has no column left to learn from.")
        if not frame and (odd := [key for key in keep if not isinstance(key, int)]):
            raise ValueError(f"columns must be positions where columns have no names; got {odd[0]!r}.")
        y = y if target is None else X[target] if frame else X[:, target]
        rows = X[:, keep] if not frame else X.select(keep) if hasattr(X, "select") else X[keep]
        return RowArguments(rows, y, weight, name=self.target_name)

    def to_validate(self, eval_set: Any) -> RowArguments | None:
        """The validation rows: a pair (X, y), or X alone where the target is one of its columns."""
        if eval_set is None:
            return None
        if on_disk(eval_set) or (self.target is not None and hasattr(eval_set, "columns")):
            return replace(self, X=eval_set, y=None, weight=None)
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if not isinstance(eval_set, Sequence) or len(eval_set) != 2 or isinstance(eval_set[1], tuple):
            raise ValueError("eval_set must be one pair (X, y) of validation rows.")
        X, y = eval_set
        columns = self.columns if self.target is None or y is None else None
        return RowArguments(X, y, None, self.target if y is None else None, columns, classes=self.classes)


def target_blocks(given: RowArguments) -> Iterator[Any]:
    """Yield the targets of a fit, wherever they are; the first block is small, and mostly tells enough."""
    y = given.y
    if isinstance(given.X, BlockwiseRows):
        return
    if on_disk(given.X) and given.target is not None:
        yield from column_blocks(given.X, given.target)
        return
    if given.target is not None:
        y = given.in_memory().y
    on_file = Npy(Path(y).expanduser()) if isinstance(y, str | os.PathLike) else None
    y = y if hasattr(y, "shape") or on_file is not None else np.asarray(y)
    rows = on_file.shape[0] if on_file is not None else len(y)
    for start, end in ((0, min(rows, _FIRST_ROWS)), (_FIRST_ROWS, rows)):
        for first in range(start, end, _ROWS):
            last = min(end, first + _ROWS)
            yield to_array(y[first:last]) if on_file is None else on_file.columns([0], first, last)[0]


def source_of(
    estimator: Any, given: RowArguments, scratch: Scratch, seed: int, schema: Schema | None = None
) -> tuple[RowSource, Schema]:
    """Return rows, checked and of one length, as the source of an engine; also what their columns are. Without a schema
    the columns are decided on, and the estimator takes note of them; with one they are known again."""
    if on_gpu(given.X):
        return _on_gpu(estimator, given, schema)
    if on_disk(given.X):
        reading = {"schema": schema, "missing": estimator.direction == "search"}
        reading["categorical_features"] = estimator.categorical_features
        table = given.opened(None if schema is None else names_of(estimator), **reading)
        rows = OnDisk(known_columns(estimator, table, schema is None), scratch, seed)
        new_schema = replace(table.schema, target=table.target_name or given.target_name)
        frames.check_representable(rows.largest, rows.low, rows.high, new_schema.names if new_schema.named else None)
        return rows, schema or new_schema
    given = given.in_memory()
    X, y, schema = _in_memory(estimator, given, schema)
    reach = [np.fmax.reduce(np.abs(column), initial=0.0) for column in X.T]
    frames.check_representable(reach, y.min(), y.max(), schema.names if schema.named else None)
    weight = None if given.weight is None else weights(given.weight, len(X))
    return RowsInMemory(X, y, weight, scratch.threads), schema


def _in_memory(estimator: Any, given: RowArguments, schema: Schema | None) -> tuple[Any, Any, Schema]:
    """A table in memory as engines read it, its targets, and what its columns are."""
    reset, chosen, searches = schema is None, estimator.categorical_features, estimator.direction == "search"
    least, X = 2 if reset else 1, to_array(given.X)
    if is_named_row(X):
        raise ValueError(f"X must be a table of rows; got one row, a {type(X).__name__}. Pass a DataFrame.")
    declared = not (chosen is None or (isinstance(chosen, str) and chosen == FROM_DTYPE))
    if schema is None and searches and (labels_of(X) is not None or _is_mixed(X) or declared):
        keep = that_count(given.weight)
        schema = schema_of(X if keep is None else rows_where(X, keep), chosen, given.target_name)
    if schema is None or (not _is_mixed(X) and schema.plain):
        rows, y = frames.numeric_table(estimator, X, given.y, reset=reset, least=least, missing=searches)
        return rows, y, schema or Schema.of_numbers(rows.shape[1], names_of(estimator), given.target_name)
    return *frames.mixed_table(estimator, X, schema, given.y, reset=reset, least=least), schema


def that_count(weight: Any) -> NDArray[np.bool_] | None:
    """Which rows have a weight above 0, as the others are as if they were not there; None where that is all of them."""
    if weight is None or isinstance(weight, str | os.PathLike):
        return None
    try:
        keep = np.asarray(to_array(weight), dtype=np.float64) > 0
    except (TypeError, ValueError):
        return None  # what is wrong with it is said where it is read
    return keep if keep.ndim == 1 and keep.any() and not keep.all() else None


def _is_mixed(X: Any) -> bool:
    """True for an array that may hold more than numbers, and for a table that is none of arrays."""
    if type(X).__module__.partition(".")[0] == "pyarrow":
        return True
    if labels_of(X) is not None:
        return False
    try:
        return np.asarray(X).dtype.kind in "OUTmM"
    except ValueError as error:
        raise ValueError(f"X must have as many values in every row: {error}") from None


def _on_gpu(estimator: Any, given: RowArguments, schema: Schema | None) -> tuple[RowSource, Schema]:
    from bgn.engines.gpu import tensors
    from bgn.model import gpu

    if given.target is not None or given.columns is not None:
        raise ValueError("target and columns are for files and frames; where X is a tensor, pass y and slice X.")
    X = gpu.table_of(given.X, None if schema is None else estimator.n_features_in_)
    if schema is None:
        frames.check_row_count(len(X))
        estimator.n_features_in_ = X.shape[1]
        keep = that_count(given.weight.cpu() if on_gpu(given.weight) else given.weight)
        schema = tensors.schema_of(X if keep is None else X[keep], estimator.categorical_features, given.target_name)
    source, largest, reach = tensors.source_of(gpu.encoded(X, schema), given.y, given.weight)
    frames.check_representable(largest, *reach, names_of(estimator))
    return source, schema


def rows_in_memory(estimator: Any, X: Any) -> Floats:
    """A table in memory, with the columns that a fitted estimator knows, as its network reads it. Levels that were not
    there at fit count as missing, and a warning says which."""
    X, schema = dense(to_array(X)), estimator.network_.schema
    if not is_named_row(X) and not schema.reads_categories(labels_of(X)):
        X = frames.pick_known_columns(X, names_of(estimator) or ())
        if schema.plain and not _is_mixed(X):
            X = frames.numeric_table(estimator, X, reset=False, missing=True)
        else:
            frames.check_known_columns(estimator, X)
    unseen: dict[str, Unseen] = {}
    rows: Floats = estimator.network_._rows(X, raw=True, unseen=unseen)
    schema = estimator.network_.schema
    used = {schema.columns[j].raw for j in estimator.network_.features_used}  # of the others a file keeps no rare ones
    if unknown := {name: values for name, values in unseen.items() if name in used}:
        warn_of_unseen(unknown)
    return rows


def warn_of_unseen(unseen: Mapping[str, Unseen]) -> None:
    """Say in one warning which columns hold categories that were not there at fit."""
    descriptions = []
    for name, (count, examples) in unseen.items():
        rows = f"{count:,} row{'s' * (count > 1)}"
        descriptions.append(f"column {clean(name, 60)!r} in {rows}, such as {', '.join(map(repr, examples))}")
    warnings.warn(
        f"X holds categories that were not there at fit, which count as missing: {'; '.join(descriptions)}.",
        UserWarning,
        stacklevel=5,
    )


def known_columns(estimator: Any, table: BlockwiseRows, reset: bool = False) -> BlockwiseRows:
    """Take note of the columns of rows on disk or, unless `reset`, compare them with those known."""
    raws = table.schema.raws
    if reset:
        frames.check_row_count(table.n_rows)
        estimator.n_features_in_ = len(raws)
        if table.schema.named:
            estimator.feature_names_in_ = np.array(raws, dtype=object)
    elif len(raws) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(raws)} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return table


def opened_again(estimator: Any, given: RowArguments, scored: bool = False) -> BlockwiseRows:
    """Rows on disk as the network of a fitted estimator reads them; with their targets where they are `scored`."""
    schema = estimator.network_.schema
    known = names_of(estimator)
    if isinstance(given.X, np.memmap):
        frames.numeric_table(estimator, in_memory(given.X[:1], "X"), reset=False, missing=True)
    missing = any(column.typical is not None for column in schema.columns)
    return given.opened(known, targets=scored, schema=schema, missing=missing)


def names_of(estimator: Any) -> tuple[str, ...] | None:
    """The names of the columns an estimator knows, where they have names."""
    return tuple(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else None


def _is_position(key: Any) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def _from_the_left(key: Any, n: int) -> Any:
    """A position among `n`, counted from the left; everything else as it is."""
    return int(key) + n * (key < 0) if _is_position(key) and -n <= key < n else key


def _loaded(values: Any, name: str) -> Any:
    """What a path leads to, and what a memory map holds; everything else as it is."""
    if isinstance(values, np.memmap):
        return in_memory(values, name)
    if not isinstance(values, str | os.PathLike):
        return values
    if not Path(values).expanduser().is_file():
        raise FileNotFoundError(f"{name} must be values or a path to a .npy file; there is no file {str(values)!r}.")
    return np.asarray(load(Path(values).expanduser()))
