"""Arrays of rows, read a block at a time: ``.npy`` files by plain reads, memory maps where they are.

A file that is cut short while it is mapped kills whoever touches its pages. So files are never mapped here, and the
file of a map that a user hands over is measured before each block.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bgn.inputs.stamp import Stamp, changed

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
        """Turn rows into columns, a little at a time."""
        width = self.shape[1] if len(self.shape) == 2 else 1
        step = max(1, _AT_ONCE // (width * self.dtype.itemsize or 1))
        buffer, everything = np.empty((step, width), self.dtype), list(labels) == list(range(width))
        for k in range(0, columns.shape[1], step):
            to = columns[:, k : k + step]
            rows = self._read(file, (start + k) * width, buffer[: to.shape[1]])
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
        found = np.load(path, **how)
    except (ValueError, EOFError) as error:
        stamp.check()
        raise ValueError(f"{path} is no .npy file that can be read a block at a time ({error}).") from None
    stamp.check()
    return found


def in_memory(array: NDArray[Any], name: str) -> NDArray[Any]:
    """A copy of a memory map."""
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
    private = any(each.mode == "c" for each in maps)
    if base is not None and array.size and maps and not private and hasattr(mmap, "MADV_DONTNEED"):
        reach = [(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
        first = array.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
        start = (first + sum(min(0, way) for way in reach)) // mmap.PAGESIZE * mmap.PAGESIZE
        stop = first + sum(max(0, way) for way in reach) + array.itemsize
        base.madvise(mmap.MADV_DONTNEED, start, stop - start)
