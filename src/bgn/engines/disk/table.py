"""Rows on disk as one table: some columns of some files, a target and weights, in blocks.

A table is one ``.npy`` or Parquet file, a folder of either (its files in the order of their names), or a memory map.
It is never loaded whole.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.engines.disk.files import File, Held, Npy, OpenFiles, Reader
from bgn.engines.protocol import Floats
from bgn.inputs.kinds import FROM_DTYPE, TableKinds, chosen_columns
from bgn.inputs.target import Classes, Label, labels_in, sorted_labels
from bgn.model.schema import Schema
from bgn.model.values import Coded, Misread, values_of

# A block holds about so many bytes of columns, and at most so many rows.
BLOCK_BYTES = 1 << 24
_BLOCK_ROWS = 1 << 20


def on_disk(X: Any) -> bool:
    """True for a path, for a memory map and for rows that are read block by block."""
    return isinstance(X, str | os.PathLike | np.memmap | BlockwiseRows)


def read_blocks(
    X: str | os.PathLike[str] | NDArray[Any], columns: Sequence[str] | Sequence[int] | None = None
) -> Iterator[NDArray[Any]]:
    """Yield the rows of a file, a folder or a memory map a block at a time, so that they never fill the memory.

    Whatever takes an array of rows then works on rows of any number: ``predict``, :func:`bgn.shap_values`.

    Parameters
    ----------
    X : path or memmap
        A ``.npy`` or Parquet file, a folder of either (in the order of the files' names), or a memory map.
    columns : sequence of str or sequence of int, optional
        The columns to read, in that order: names for Parquet, positions otherwise. [default: all]

    Yields
    ------
    ndarray of float64 or float32, shape (some rows, columns)
        About 16 MB of them.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from bgn import Layer, Network, read_blocks
    >>> network = Network.of_layers([Layer([[1.0, 0.0]], [-2.0])], [1.0], 3.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(folder + "/rows.npy", [[1.0, 5.0], [2.0, 5.0]])
    ...     [network.predict(rows) for rows in read_blocks(folder + "/rows.npy")]
    [array([2., 4.])]
    """
    table = FileTable(X, columns=columns)
    for piece in table.pieces(BLOCK_BYTES):
        yield piece.columns.T


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows: columns (columns, rows) and, where the table has them, target and weights."""

    columns: NDArray[Any]
    target: Floats | None = None
    weight: Floats | None = None


class BlockwiseRows(ABC):
    """Rows that can be read block by block: how many at most, of how many columns and of which kind."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    weighted: bool = False
    names: tuple[str, ...] | None = None
    target_name: str | None = None

    @property
    def schema(self) -> Schema:
        """What the columns of its blocks are."""
        return Schema.of_numbers(self.n_columns, self.names, self.target_name)

    @abstractmethod
    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield all rows, checked, in blocks of about `size` bytes."""


class FileTable(BlockwiseRows):
    """Rows in files, with the columns to read, perhaps a target and weights. `target` and `weight` are a column of the
    files, an array of one value per row, or a path to such an array. `known` are the columns to read where columns have
    names. With `missing` the columns may hold what a frame may: numbers with missing values, words, dates; `schema`
    says how to read them or, if it is None, is learnt from the files, with `categorical_features` as for
    :func:`bgn.inputs.kinds.schema_of`. Without, all must be numbers. With `classes` the target is a column of labels,
    and numbers of classes are read."""

    def __init__(
        self,
        X: Any,
        *,
        columns: Any = None,
        target: Any = None,
        weight: Any = None,
        known: Any = None,
        schema: Schema | None = None,
        categorical_features: Any = FROM_DTYPE,
        missing: bool = False,
        classes: Classes | None = None,
    ) -> None:
        self._classes = classes
        self._files = OpenFiles(X)
        first = self._files[0]
        columns = known if known is not None and first.named else columns
        self.n_rows = sum(file.n_rows for file in self._files)
        self._keys: dict[str, Any] = {}
        self._vectors: dict[str, Reader] = {}
        for name, value in (("target", target), ("sample_weight", weight)):
            if _is_column(value):
                self._keys[name] = first.label(value, name)
            elif value is not None:
                self._vectors[name] = _vector(value, "y" if name == "target" else name, self.n_rows)
        self.weighted = weight is not None or (classes is not None and classes.weights is not None)
        self._takes_missing = missing
        self.target_name = self._keys.get("target") if first.named else None
        labels = self._chosen(columns)
        named, shape = labels if first.named else None, (self.n_rows, len(labels))
        if schema is not None:
            labels = [labels[place] for place in schema.places(named, shape)]
        self._check(labels, alike=columns is None and schema is None)
        if schema is None:
            schema = self._schema_of_files(labels, categorical_features) if missing else self._of_numbers(labels)
            labels = [labels[place] for place in schema.places(named, shape)]
        self._schema, self.n_columns = schema, len(schema)
        self._labels = [*dict.fromkeys(labels)]
        self._places = [self._labels.index(label) for label in labels]
        self._read = [*self._labels, *self._keys.values()]
        self.names = schema.names if first.named and schema.named else None
        single = schema.all_numbers and all(file.single(self._labels) for file in self._files)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    @property
    def schema(self) -> Schema:
        return self._schema

    def _check(self, labels: Sequence[Any], alike: bool) -> None:
        """Refuse files that lack a column, and columns that must be numbers and are not."""
        for file in self._files:
            if alike:
                _check_alike(self._files[0], file)
            for label in labels:
                file.label(label, "columns")
            keys = [key for name, key in self._keys.items() if self._classes is None or name != "target"]
            file.check([*(() if self._takes_missing else labels), *keys])

    def _of_numbers(self, labels: Sequence[Any]) -> Schema:
        return Schema.of_numbers(len(labels), labels if self._files[0].named else None, self.target_name)

    def _schema_of_files(self, labels: Sequence[Any], categorical_features: Any) -> Schema:
        """Decide what every column is, by its type where that tells all, else by one pass over its values."""
        files, takes_text, plain = self._files, categorical_features is not None, self._of_numbers(labels)
        chosen = chosen_columns(categorical_features, plain.names if plain.named else None, len(labels))
        of_name = dict(zip(plain.names, labels, strict=True))
        declared = {label for file in files for label in file.categories}
        forced = [name for k, name in enumerate(of_name) if k in chosen or (takes_text and of_name[name] in declared)]
        types = ({name: values_of(file.no_rows(label)) for name, label in of_name.items()} for file in files)
        kinds, *others = (TableKinds.of_columns(columns, forced, plain.named, takes_text) for columns in types)
        kinds = kinds.merged(*others)
        if names := kinds.undecided:
            read = [of_name[name] for name in names]
            for block in self._that_count(read, rows_in(BLOCK_BYTES, len(names))):
                values = dict(zip(names, map(values_of, block), strict=True))
                for name, column in values.items():
                    if isinstance(column, Coded) and all(of_name[name] in file.text for file in files):
                        column.text = True
                kinds = kinds.merged(TableKinds.of_columns(values, forced, plain.named, takes_text))
        return kinds.schema(self.target_name)

    def _that_count(self, labels: Sequence[Any], rows: int) -> Iterator[Sequence[Any]]:
        """Yield some columns, block by block, of the rows whose weight is above 0."""
        key, vector, start = self._keys.get("sample_weight"), self._vectors.get("sample_weight"), 0
        for _, _, block in self._files.blocks([*labels, *([] if key is None else [key])], rows):
            n = len(block[0])
            weight = None if vector is None else vector.columns([0], start, start + n)[0]
            weight = weight if key is None else _numbers(block[-1])
            columns, start = block[: len(labels)], start + n
            if weight is not None and (gone := ~(weight > 0)).any():
                columns = [_some_of(column, ~gone) for column in columns]
            yield columns

    def _chosen(self, columns: Any) -> list[Any]:
        """The labels of the columns to read, those of target and weights left out."""
        first, taken = self._files[0], set(self._keys.values())
        if columns is None:
            chosen = [label for label in first.labels if label not in taken]
        else:
            chosen = [first.label(key, "columns") for key in columns]
        if both := taken.intersection(chosen):
            raise ValueError(f"columns must leave out the target and the weights; got {both.pop()!r} in it.")
        if twice := [label for label, times in Counter(chosen).items() if times > 1]:
            raise ValueError(f"columns must name every column once; got {twice[0]!r} more than once.")
        if not chosen:
            raise ValueError(f"{first.name} has no column left to learn from.")
        return chosen

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield all rows, checked, in blocks of about `size` bytes; small files are put together."""
        rows = rows_in(size, self.n_columns)
        held: list[Piece] = []
        for piece in self._pieces_of_blocks(rows):
            held.append(piece)
            del piece  # while the next one is read nobody needs it
            if sum(one.columns.shape[1] for one in held) >= rows:
                yield _joined(held)
                held = []
        if held:
            yield _joined(held)

    def _pieces_of_blocks(self, rows: int) -> Iterator[Piece]:
        start = 0
        for file, row, block in self._files.blocks(self._read, rows):
            n = len(block[0])
            if n == 0:
                continue
            columns = self._encoded(block, file, row, n)
            keyed = map(self._numbers_of_key, self._keys, block[len(self._labels) :])
            vectors = dict(zip(self._keys, keyed, strict=True))
            for name, values in vectors.items():
                _check_finite(values, f"{file.name}: column {self._keys[name]!r}", row)
            del block
            piece = self._piece(columns, vectors, start, n)
            del columns, keyed, vectors
            yield piece
            del piece
            start += n

    def _numbers_of_key(self, name: str, values: Any) -> NDArray[Any]:
        if name == "target" and self._classes is not None:
            return self._classes.codes(values, f"column {self._keys[name]!r}")
        return _numbers(values)

    def _encoded(self, block: Sequence[Any], file: File, row: int, n: int) -> NDArray[Any]:
        """The columns as a network reads them, (columns, rows); what cannot be is named with its place."""
        columns = np.empty((self.n_columns, n), self.dtype)
        place, raw = -1, None
        for to, column, wanted in zip(columns, self._schema.columns, self._places, strict=True):
            values, what = block[wanted], f"{file.name}: column {self._labels[wanted]!r}"
            is_part = file.named and self._labels[wanted] != column.raw
            if isinstance(values, np.ndarray) and column.categories is None and (column.part_of is None or is_part):
                to[:] = values
            else:
                if raw is None or wanted != place:
                    place, raw = wanted, values_of(values)
                try:
                    to[:] = column.encoded(raw, is_part)
                except Misread as problem:
                    raise ValueError(f"{what} {problem}.") from None
            _check_finite(to, what, row, self._takes_missing)
        return columns

    def _piece(self, columns: NDArray[Any], vectors: dict[str, Any], start: int, n: int) -> Piece:
        for name, vector in self._vectors.items():
            vectors[name] = vector.columns([0], start, start + n)[0].astype(np.float64)
            if vector.stamp is not None:
                vector.stamp.check()
            _check_finite(vectors[name], "y" if name == "target" else name, start)
        weight = vectors.get("sample_weight")
        if weight is not None and (weight < 0).any():
            raise ValueError(f"Negative values in sample_weight: row {start + int(np.argmin(weight))}, for instance.")
        target = vectors.get("target")
        if self._classes is not None and target is not None:
            weight = self._classes.weighted(target, weight)
        return Piece(columns, *(None if v is None else v.astype(np.float64) for v in (target, weight)))


def labels_on_disk(X: Any, target: Any) -> tuple[tuple[Label, ...], Floats]:
    """The different labels in a column of files, in order, and how many rows each has."""
    counts = Counter[Label]()
    for block in column_blocks(X, target):
        if len(block):
            labels_of_block = labels_in(block, f"column {target!r}")
            codes = Classes(labels_of_block).codes(block)
            numbers = np.bincount(codes.astype(np.intp), minlength=len(labels_of_block)).tolist()
            counts.update(dict(zip(labels_of_block, numbers, strict=True)))
    labels = sorted_labels(counts)
    return labels, np.array([float(counts[label]) for label in labels])


def column_blocks(X: Any, target: Any) -> Iterator[Any]:
    files = OpenFiles(X)
    label = files[0].label(target, "target")
    for _, _, block in files.blocks([label], rows_in(BLOCK_BYTES, 1)):
        yield block[0]


def rows_in(size: int, n_columns: int) -> int:
    """How many rows of so many columns make about `size` bytes."""
    return max(1, min(size // (8 * n_columns), _BLOCK_ROWS))


def _joined(pieces: Sequence[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    columns, target, weight = zip(*((piece.columns, piece.target, piece.weight) for piece in pieces), strict=True)
    return Piece(
        np.concatenate(columns, axis=1),
        None if target[0] is None else np.concatenate(target),
        None if weight[0] is None else np.concatenate(weight),
    )


def _is_column(key: Any) -> bool:
    """True for what names a column, and not an array or a path to one."""
    text = isinstance(key, str) and not key.endswith(".npy")
    return text or (isinstance(key, int | np.integer) and not isinstance(key, bool))


def _vector(value: Any, name: str, n_rows: int) -> Reader:
    """An array of one number per row, or a path to one."""
    path = isinstance(value, str | os.PathLike)
    array: Reader = Npy(Path(value).expanduser()) if path else Held(np.asanyarray(value), name)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers; got {array.dtype}.")
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have one value for each of the {n_rows} rows of X; got shape {array.shape}.")
    return array


def _some_of(column: Any, keep: NDArray[np.bool_]) -> Any:
    return column[keep] if isinstance(column, np.ndarray) else column.take(np.flatnonzero(keep))


def _numbers(values: Any) -> NDArray[Any]:
    return values if isinstance(values, np.ndarray) else values_of(values).numbers()


def _check_alike(first: File, file: File) -> None:
    if set(first.labels) == set(file.labels):
        return
    if not first.named:
        raise ValueError(
            f"{file.name} has {len(file.labels)} columns, {first.name} has {len(first.labels)}; they must be alike."
        )
    lacking = [label for label in first.labels if label not in file.labels]
    there = f"lacks the column {lacking[0]!r}" if lacking else "has a column more"
    raise ValueError(f"{file.name} {there}, unlike {first.name}; name the columns to use with columns=.")


def _check_finite(values: NDArray[Any], what: str, row: int, missing: bool = False) -> None:
    good = ~np.isinf(values) if missing else np.isfinite(values)
    if not good.all():
        bad = int(np.argmin(good))
        kind = "NaN" if np.isnan(values[bad]) else "infinity"
        raise ValueError(f"{what} holds {kind} in row {row + bad} (the first is row 0). Drop or fill such rows.")
