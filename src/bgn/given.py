"""What a user hands to ``fit``: rows, their targets and weights, wherever they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bgn.engines.disk.arrays import in_memory, load
from bgn.engines.disk.table import BlockwiseRows, FileTable, on_disk
from bgn.judge import different_columns


@dataclass(frozen=True, eq=False)
class Given:
    """The arguments of a fit that speak of rows. The target is `y`, or the column of `X` that `target` names."""

    X: Any
    y: Any = None
    weight: Any = None
    target: str | int | None = None
    columns: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.y is not None and self.target is not None:
            raise ValueError(f"target={self.target!r} names a column of X to predict; leave out y, or target.")
        if self.target is not None and (
            isinstance(self.target, bool) or not isinstance(self.target, str | int | np.integer)
        ):
            raise ValueError(f"target must be the name or the position of a column of X; got {self.target!r}.")
        if self.columns is not None and (isinstance(self.columns, str) or not isinstance(self.columns, Iterable)):
            raise ValueError(f"columns must be a list of names or positions; got {self.columns!r}.")

    @property
    def target_name(self) -> str | None:
        """What the target is called, where it has a name."""
        if isinstance(self.target, str):
            return self.target
        name = None if on_disk(self.y) else getattr(self.y, "name", None)
        return None if name is None else str(name)

    def opened(self, known: Sequence[str] | None) -> BlockwiseRows:
        """Rows on disk; of the columns `known`, where the columns have names."""
        if isinstance(self.X, BlockwiseRows):
            return self.X
        aim = self.y if self.target is None else self.target
        if aim is None:
            raise ValueError("y must hold the targets, or target= name their column of X; got neither.")
        return FileTable(self.X, columns=self.columns, target=aim, weight=self.weight, known=known)

    def in_memory(self) -> Given:
        """The same with the columns to learn from as X and the targets as y, for a table that is in memory."""
        y, weight = _loaded(self.y, "y"), _loaded(self.weight, "sample_weight")
        if self.target is None and self.columns is None:
            return replace(self, y=y, weight=weight)
        frame = bool(different_columns(self.X))
        X: Any = self.X if frame else np.asarray(self.X)
        there = list(X.columns) if frame else list(range(X.shape[1]))
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
        return Given(X[keep] if frame else X[:, keep], y, weight)

    def to_validate(self, eval_set: Any) -> Given | None:
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
        return Given(X, y, None, self.target if y is None else None, columns)


def _from_the_left(key: Any, n: int) -> Any:
    """A position among `n`, counted from the left; everything else as it is."""
    whole = isinstance(key, int | np.integer) and not isinstance(key, bool)
    return int(key) + n * (key < 0) if whole and -n <= key < n else key


def _loaded(values: Any, name: str) -> Any:
    """What a path leads to, and what a memory map holds; everything else as it is."""
    if isinstance(values, np.memmap):
        return in_memory(values, name)
    if not isinstance(values, str | os.PathLike):
        return values
    if not Path(values).expanduser().is_file():
        raise FileNotFoundError(f"{name} must be values or a path to a .npy file; there is no file {str(values)!r}.")
    return np.asarray(load(Path(values).expanduser()))
