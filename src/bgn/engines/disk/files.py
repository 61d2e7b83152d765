"""Files of rows, read a block at a time: ``.npy``, Parquet, a folder of either, and memory maps.

One small class per format. Errors name the file and the column; a file that changes while it is read is one of them.
A file that is cut short while it is mapped kills whoever touches its pages. So ``.npy`` files are read and never
mapped, and the file of a map that a user hands over is measured before each block.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bgn.model.values import values_of
from bgn.require import require
from bgn.whole_file import Stamp, changed

_AT_ONCE = 1 << 19  # bytes, which stay in the processor's cache


class Reader(ABC):
    """An array of one or two dimensions, of which some rows can be read."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stamp: Stamp | None = None  # what the file was when it was opened, if it is one

    @abstractmethod
    def columns(self, labels: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        """Some columns of some rows, (columns, rows), in float32 if that is what they are and float64 otherwise."""


class Npy(Reader):
    """A ``.npy`` file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = self.stamp = Stamp.of(path)
        mapped = load(path, mmap_mode="r")  # which reads the header and no more
        self.shape, self.dtype = mapped.shape, mapped.dtype
        self._offset, self._by_column = mapped.offset, mapped.ndim == 2 and not mapped.flags.c_contiguous

    def columns(self, labels: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        columns = np.empty((len(labels), stop - start), _kept(self.dtype))
        with open(self._file.name, "rb", buffering=0) as file:
            if self._by_column:
                self._from_columns(file, labels, start, columns)
            else:
                self._from_rows(file, labels, start, columns)
        return columns

    def _from_columns(self, file: BinaryIO, labels: Sequence[int], start: int, columns: NDArray[Any]) -> None:
        buffer = np.empty(columns.shape[1], self.dtype)
        for to, label in zip(columns, labels, strict=True):
            to[:] = self._read(file, label * self.shape[0] + start, buffer)

    def _from_rows(self, file: BinaryIO, labels: Sequence[int], start: int, columns: NDArray[Any]) -> None:
        n_columns = self.shape[1] if len(self.shape) == 2 else 1
        step = max(1, _AT_ONCE // (n_columns * self.dtype.itemsize or 1))
        buffer, everything = np.empty((step, n_columns), self.dtype), list(labels) == list(range(n_columns))
        for k in range(0, columns.shape[1], step):
            to = columns[:, k : k + step]
            rows = self._read(file, (start + k) * n_columns, buffer[: to.shape[1]])
            to[:] = (rows if everything else np.take(rows, labels, axis=1)).T

    def _read(self, file: BinaryIO, first: int, buffer: NDArray[Any]) -> NDArray[Any]:
        """Fill a buffer with what the file holds from its entry number `first` on."""
        file.seek(self._offset + first * self.dtype.itemsize)
        wanted = buffer.reshape(-1).view(np.uint8).data
        while len(wanted):
            got = file.readinto(wanted)  # type: ignore[attr-defined]
            if not got:
                raise changed(self._file.name, f"it ends {len(wanted):,} bytes too early")
            wanted = wanted[got:]
        return buffer


class Held(Reader):
    """A memory map, or any array."""

    def __init__(self, array: NDArray[Any], name: str) -> None:
        self._array, self._name = array if array.ndim == 2 else array[:, None], name
        self.shape, self.dtype = array.shape, array.dtype

    def columns(self, labels: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        columns = np.empty((len(labels), stop - start), _kept(self.dtype))
        step = max(1, _AT_ONCE // (self._array.shape[1] * self.dtype.itemsize or 1))
        _still_there(self._array, self._name)
        block = self._array[start:stop]
        for k in range(0, len(block), step):
            columns[:, k : k + step] = np.take(block[k : k + step], labels, axis=1).T
        _let_go(block)
        return columns


def _kept(dtype: np.dtype[Any]) -> Any:
    return np.float32 if dtype == np.float32 else np.float64


def load(path: str | os.PathLike[str], **how: Any) -> Any:
    """Read or map a ``.npy`` file."""
    stamp = Stamp.of(path)
    try:
        array = np.load(path, **how)
    except (ValueError, EOFError) as error:
        stamp.check()
        raise ValueError(f"{path} is no .npy file that can be read a block at a time ({error}).") from None
    stamp.check()
    return array


def in_memory(array: NDArray[Any], name: str) -> NDArray[Any]:
    _still_there(array, name)
    return np.array(array)


def _still_there(array: NDArray[Any], name: str) -> None:
    """Refuse a memory map whose file has become shorter."""
    base, maps = _map_of(array)
    if base is None or not maps:
        return
    before = maps[-1].offset - maps[-1].offset % mmap.ALLOCATIONGRANULARITY + len(base)
    if base.size() < before:
        raise changed(str(maps[-1].filename or name), f"of the {before:,} bytes in use it now has {base.size():,}")


def _map_of(array: NDArray[Any]) -> tuple[mmap.mmap | None, list[Any]]:
    """The memory that an array lies in, if it is mapped, and the memory maps on the way there."""
    base: Any = array
    maps = []
    while isinstance(base, np.ndarray):
        maps += [base] if isinstance(base, np.memmap) else []
        base = base.base
    return base if isinstance(base, mmap.mmap) else None, maps


def _let_go(array: NDArray[Any]) -> None:
    """Hand back the pages of a memory map that an array lies in: they are in its file."""
    base, maps = _map_of(array)
    # What was written to a copy ("c") is nowhere else.
    private = any(one.mode == "c" for one in maps)
    if base is not None and array.size and maps and not private and hasattr(mmap, "MADV_DONTNEED"):
        reach = [(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
        first = array.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
        start = (first + sum(min(0, way) for way in reach)) // mmap.PAGESIZE * mmap.PAGESIZE
        stop = first + sum(max(0, way) for way in reach) + array.itemsize
        base.madvise(mmap.MADV_DONTNEED, start, stop - start)


_KINDS = (".npy", ".parquet")
_LEAVE_OUT = "or leave it out with columns=."


class File(ABC):
    """What each format offers. Columns go by label: names, or positions where there are none."""

    name: str
    n_rows: int
    named: bool
    labels: Sequence[Any]
    categories: Collection[Any] = ()  # columns of numbers that were categories when the file was written
    text: Collection[Any] = ()  # columns of words, none of them declared as categories; they are read as codes
    stamp: Stamp | None  # what the file was when it was opened, if it is one

    @abstractmethod
    def label(self, key: Any, argument: str) -> Any:
        """The label that a user's `key` stands for."""

    def check(self, labels: Sequence[Any]) -> None:  # noqa: B027
        """Refuse columns that hold no numbers."""

    @abstractmethod
    def single(self, labels: Sequence[Any]) -> bool:
        """True when these columns are all float32."""

    @abstractmethod
    def no_rows(self, label: Any) -> Any:
        """A column's type: the column without its rows."""

    @abstractmethod
    def blocks(self, labels: Sequence[Any], rows: int) -> Iterator[Sequence[Any]]:
        """Yield the columns, so many rows at a time: numbers as arrays of float64 or float32, others as Arrow has."""


class _Array(File):
    """A ``.npy`` file or a memory map: columns go by position."""

    named = False

    def __init__(self, name: str, array: Reader) -> None:
        self.name, self._array, self.stamp = name, array, array.stamp
        if len(array.shape) != 2:
            raise ValueError(f"{name} must have two dimensions, rows and columns; got shape {array.shape}.")
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{name} must hold numbers; its dtype is {array.dtype}.")
        self.n_rows = array.shape[0]
        self.labels = range(array.shape[1])

    def label(self, key: Any, argument: str) -> int:
        n = len(self.labels)
        if isinstance(key, str | bool) or not isinstance(key, int | np.integer) or not -n <= key < n:
            raise ValueError(f"{argument}: {self.name} has columns 0 to {n - 1}, without names; got {key!r}.")
        return int(key) % n

    def single(self, labels: Sequence[int]) -> bool:
        return bool(self._array.dtype == np.float32)

    def no_rows(self, label: int) -> Any:
        return np.empty(0, self._array.dtype)

    def blocks(self, labels: Sequence[int], rows: int) -> Iterator[Sequence[NDArray[Any]]]:
        for start in range(0, self.n_rows, rows):
            yield list(self._array.columns(labels, start, min(start + rows, self.n_rows)))


class _Parquet(File):
    """A Parquet file; the row index that pandas may have stored is left out."""

    named = True

    def __init__(self, path: Path) -> None:
        self.name, self._pa, self.stamp = str(path), require("pyarrow", extra="parquet"), Stamp.of(path)
        with self._open() as file:
            self.n_rows = file.metadata.num_rows
            self._types = {field.name: field.type for field in file.schema_arrow}
            if len(self._types) < len(file.schema_arrow):
                raise ValueError(f"{self.name} has two columns of the same name; rename one.")
            self.categories = _categories(file.schema_arrow)
            self.text = {name for name, kind in self._types.items() if self._is_text(kind)}
        self.labels = [name for name in self._types if not name.startswith("__index_level_")]

    def _open(self, dictionaries: Sequence[str] = ()) -> Any:
        parquet = require("pyarrow.parquet", extra="parquet")
        try:
            # Read ahead, Arrow would hold all of the file in memory.
            return parquet.ParquetFile(self.name, buffer_size=1 << 20, pre_buffer=False, read_dictionary=dictionaries)
        except (self._pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{self.name} is no Parquet file that can be read ({error}).") from None

    def label(self, key: Any, argument: str) -> str:
        if key not in self.labels:
            raise ValueError(
                f"{argument}: {self.name} has no column {key!r}; it has {', '.join(map(repr, self.labels))}."
            )
        return str(key)

    def check(self, labels: Sequence[str]) -> None:
        for label in labels:
            types, kind = self._pa.types, self._kind(self.label(label, "columns"))
            if types.is_temporal(kind):
                raise ValueError(
                    f"{self.name}: column {label!r} holds dates or durations ({kind}). Make numbers of it {_LEAVE_OUT}"
                )
            if not self._is_number(kind):
                raise ValueError(f"{self.name}: column {label!r} holds {kind}, not numbers. Encode it {_LEAVE_OUT}")

    def _kind(self, label: str) -> Any:
        kind = self._types[label]
        return kind.value_type if self._pa.types.is_dictionary(kind) else kind

    def _is_number(self, kind: Any) -> bool:
        types = self._pa.types
        return any(is_one(kind) for is_one in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))

    def _is_text(self, kind: Any) -> bool:
        return bool(self._pa.types.is_string(kind) or self._pa.types.is_large_string(kind))

    def single(self, labels: Sequence[str]) -> bool:
        return all(self._kind(label) == self._pa.float32() for label in labels)

    def no_rows(self, label: str) -> Any:
        return self._pa.array([], self._types[label])

    def blocks(self, labels: Sequence[str], rows: int) -> Iterator[Sequence[Any]]:
        text = [label for label in labels if label in self.text]
        with self._open(text) as file:
            for group in range(file.num_row_groups):
                batches = file.iter_batches(rows, [group], columns=list(labels), use_threads=False)
                while (batch := self._next(batches, group)) is not None:
                    yield [self._numbers(batch.column(label)) for label in labels]

    def _next(self, batches: Iterator[Any], group: int) -> Any:
        """The next rows, or None; a file that is damaged inside is named."""
        try:
            return next(batches, None)
        except (self._pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{self.name} is damaged in row group {group} ({error}).") from None

    def _numbers(self, column: Any) -> Any:
        """A column as numbers, if that is what it holds."""
        if not self._is_number(column.type):
            return column
        if column.type == self._pa.float32():
            return np.asarray(column.to_numpy(zero_copy_only=False))
        return values_of(column).numbers()


def _categories(schema: Any) -> set[Any]:
    """The columns that pandas says were categories: of those of numbers Parquet does not tell."""
    try:
        columns = (schema.pandas_metadata or {})["columns"]
        return {column["name"] for column in columns if column["pandas_type"] == "categorical"}
    except (KeyError, TypeError, ValueError):
        return set()


# -- opening and checking -------------------------------------------------------------------------------------


class OpenFiles(list[File]):
    """The files of a path or a memory map, in the order of their names, for as long as all is as it was opened."""

    def __init__(self, X: Any) -> None:
        self._folder: Path | None = None
        self._paths: list[Path] = []
        if isinstance(X, np.memmap):
            super().__init__([_Array("X", Held(X, "X"))])
            return
        if not isinstance(X, str | os.PathLike):
            raise TypeError(
                f"X must be a path to a file or a folder, or a memory map; got {type(X).__name__}. Rows that are in "
                "memory need not be read in blocks: use them as they are, or save them with numpy.save and give the "
                "path."
            )
        path = Path(X).expanduser()
        if path.is_dir():
            self._folder, self._paths = path, _inside(path)
        elif path.is_file():
            self._paths = [path]
        else:
            raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
        super().__init__(map(_open_file, self._paths))
        if sum(file.n_rows for file in self) == 0:
            raise ValueError(f"{path} has no rows.")

    def blocks(self, labels: Sequence[Any], rows: int) -> Iterator[tuple[File, int, Sequence[Any]]]:
        """Yield the blocks of all files, each with its file and its first row."""
        self._check()
        for file in self:
            done = 0
            blocks = file.blocks(labels, rows)
            for block in blocks if file.stamp is None else file.stamp.watch(blocks):
                done += len(block[0])
                yield file, done - len(block[0]), block
                del block  # while the next one is read nobody needs it
            if done != file.n_rows:
                raise changed(file.name, f"it had {file.n_rows:,} rows and {done:,} were read")
        self._check()

    def _check(self) -> None:
        """Refuse a folder that has gained or lost files by now, and files that have changed."""
        now = self._paths if self._folder is None else _inside(self._folder)
        for files, others, what in ((now, self._paths, "gained"), (self._paths, now, "lost")):
            if different := [path.name for path in files if path not in others]:
                raise changed(str(self._folder), f"it has {what} the file {different[0]!r}")
        for file in self:
            if file.stamp is not None:
                file.stamp.check()


def _inside(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names; like Spark's marks, "_x" and ".x" are no rows."""
    paths = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    if folders := [path.name for path in paths if path.is_dir()]:
        raise ValueError(f"{folder} holds the folder {folders[0]!r}; the files must lie side by side in one folder.")
    if others := [path.name for path in paths if _suffix(path) not in _KINDS]:
        raise ValueError(
            f"{folder} holds {others[0]!r}, which is no .npy or .parquet file. Move it elsewhere, or begin its name "
            "with an underscore to have it passed over."
        )
    if not paths:
        raise ValueError(f"the folder {folder} holds no .npy or .parquet file.")
    first, odd = paths[0], [path for path in paths if _suffix(path) != _suffix(paths[0])]
    if odd:
        raise ValueError(
            f"{folder} must hold files of one kind; it has {first.name!r} and {odd[0].name!r}. Give each kind a folder."
        )
    return paths


def _suffix(path: Path) -> str:
    return ".parquet" if path.suffix.lower() == ".pq" else path.suffix.lower()


def _open_file(path: Path) -> File:
    kind = _suffix(path)
    if kind == ".npy":
        return _Array(str(path), Npy(path))
    if kind == ".parquet":
        return _Parquet(path)
    raise ValueError(f"cannot read {str(path)!r}: rows on disk are .npy or .parquet files, or a folder of either.")
