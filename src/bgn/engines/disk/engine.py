"""Rows on disk: blocks in a scratch folder, of which a few at a time are mapped to memory.

The input is read once, checked, and copied to the scratch folder a block at a time, columns contiguous, so that a cut
reads two columns and not all. Once every row has its role, each block is rewritten as rows that train and rows that
validate. A request maps a block's files, is answered as if the rows were in memory, and lets go of them.

Scratch folders are gone in the end, whatever ends the process: beside a folder lies a file that its owner keeps
locked, and the system lets go of the lock of a process that dies, even of SIGKILL. Every fit begins by removing the
folders whose locks are free. No signal is handled, and nothing depends on process numbers, which are used again and
mean nothing on another host that shares the disk.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import reduce
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bgn.engines.disk.table import BLOCK_BYTES, BlockwiseRows, Piece
from bgn.engines.memory import Part, part_of
from bgn.engines.protocol import NO_OUTPUT, CellPart, Loss, Parts, RawBlock, Reply, Request, RowPart, RowSource
from bgn.engines.raw_rows import Plan, RawRows, Survey, row_hashes
from bgn.engines.reduce import CellEngine, Regions, merge, merge_regions
from bgn.inputs.splits import Hashes
from bgn.model.term import Oblique

try:
    import fcntl
except ImportError:  # Windows, where a file that somebody holds open cannot be removed
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX = "bgn-scratch-", ".lock"
# Some network file systems do not tell two locks of one process apart.
_ours: set[str] = set()


class OwnedFolder:
    """A temporary folder, this process's own until it is removed."""

    def __init__(self, where: str | None) -> None:
        while not (made := _make(where)):
            pass
        self.path, self._lock, self._handle = made

    def remove(self) -> None:
        try:
            shutil.rmtree(self.path)
        finally:
            _give_up(self._lock, self._handle, gone=not self.path.exists())


def _make(where: str | None) -> tuple[Path, str, int] | None:
    """A new folder, its lock and the handle that holds the lock; None where somebody was quicker."""
    handle, lock = tempfile.mkstemp(_SUFFIX, _PREFIX, where)
    _ours.add(lock)
    held = True
    with suppress(NotImplementedError):  # a file system without locks, on which nobody can tell and nobody removes
        held = _hold(handle)
    try:
        if held and _same(handle, lock):
            folder = Path(lock.removesuffix(_SUFFIX))
            folder.mkdir(mode=0o700)
            return folder, lock, handle
    except FileExistsError:
        pass
    except OSError:
        _give_up(lock, handle)
        raise
    _give_up(lock, handle)
    return None


def _give_up(lock: str, handle: int, gone: bool = True) -> None:
    """Let go of a lock; without a folder, of its file too."""
    os.close(handle)
    if gone:
        with suppress(OSError):
            os.unlink(lock)
    _ours.discard(lock)


def _hold(handle: int) -> bool:
    """Lock a file for as long as it is open; False when somebody else has."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise NotImplementedError from error
    return True


def _same(handle: int, lock: str) -> bool:
    """True when the file that is open is still the one of that name."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), os.stat(lock, follow_symlinks=False))
    return False


def remove_abandoned(where: str | None) -> None:
    """Remove the folders of this user's processes that are no more."""
    with suppress(OSError), os.scandir(where or tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX) and entry.path not in _ours:
                with suppress(OSError, NotImplementedError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(lock: str) -> None:
    folder = lock.removesuffix(_SUFFIX)
    if fcntl is None:
        os.unlink(lock)  # fails where somebody holds it
        shutil.rmtree(folder)
        return
    handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if mine and _hold(handle) and _same(handle, lock):
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)
            os.unlink(lock)
    finally:
        os.close(handle)


# With many threads blocks are smaller, so that those in memory hold no more than this.
_MOST_MAPPED = 16 * BLOCK_BYTES
_REGIONS_AT_ONCE = 1 << 20


class Scratch:
    """A temporary folder and the threads that work in it; both are gone when it is closed. The folder is made when
    first needed, in the one that the environment variable ``BGN_SCRATCH`` names or in the system's folder for temporary
    files. What processes that were killed have left there is removed at the start."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._folder: OwnedFolder | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._numbers = count()

    def __enter__(self) -> Self:
        remove_abandoned(os.environ.get("BGN_SCRATCH"))
        return self

    def __exit__(self, *problem: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if self._folder is not None:
            self._folder.remove()

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = _new_folder()
        return self._folder.path

    def reserve(self, needed: int) -> None:
        """Refuse at once what there is no room for."""
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise self._full(f"{needed:,} bytes are needed and {free:,} are free")

    def _full(self, what: str) -> OSError:
        where = self.folder.parent
        return OSError(f"not enough room in {where}: {what}. Name another folder with BGN_SCRATCH.")

    def write(self, array: NDArray[Any], path: str | None = None) -> str:
        """Write an array to a file, behind what it holds; a new one by default."""
        path = path or f"{self.folder}/{next(self._numbers)}"
        try:
            with open(path, "ab") as file:
                file.write(np.ascontiguousarray(array).data)
        except OSError as error:
            raise self._full("it is full") if error.errno == errno.ENOSPC else error from None
        return path

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Run `work` on every item, on the threads there are; the results in order."""
        if self.threads == 1 or len(items) < 2:
            return map(work, items)
        self._pool = self._pool or ThreadPoolExecutor(self.threads)
        return self._pool.map(work, items)


def _new_folder() -> OwnedFolder:
    """Make a temporary folder where the user wants it."""
    where = os.environ.get("BGN_SCRATCH")
    try:
        return OwnedFolder(where or None)
    except OSError as error:
        if not where:
            raise
        raise type(error)(
            f"BGN_SCRATCH must name a folder that temporary files can be written to; got {where!r} "
            f"({error.strerror}). Name another, or unset it for the system's own."
        ) from None


def _mapped(path: str, dtype: Any, *shape: int) -> NDArray[Any]:
    """A file as an array, mapped for as long as somebody holds it. It may be written to, which kernels compiled for
    rows in memory expect. (`numpy.memmap` does the same and takes ten times as long.)"""
    handle = os.open(path, os.O_RDWR)
    try:
        return np.frombuffer(mmap.mmap(handle, 0), dtype).reshape(shape)
    finally:
        os.close(handle)


class _RawRowsOnDisk(RawRows):
    """Raw rows in files, hashed when they were written; answers like a block in memory, and is as short-lived."""

    def __init__(self, files: dict[str, str], dtype: Any, seed: int) -> None:
        n = os.path.getsize(files["target"]) // 8
        weight = _mapped(files["weight"], np.float64, n) if "weight" in files else None
        columns = _mapped(files["columns"], dtype, -1, n)
        super().__init__(columns, _mapped(files["target"], np.float64, n), weight)
        self._known: tuple[int, Hashes] = seed, _mapped(files["hashes"], np.uint64, n)

    def hashes(self, seed: int) -> Hashes:
        """The hashes written beside the rows, where they are those of the seed."""
        return self._known[1] if seed == self._known[0] else np.asarray(super().hashes(seed))


class OnDisk(RowSource):
    """Raw rows in files, copied to a scratch folder, as a source. `largest` is the largest absolute value of every
    column, `low` and `high` the reach of the target."""

    def __init__(self, rows: BlockwiseRows, scratch: Scratch, seed: int) -> None:
        self._scratch, self.weighted, self._dtype = scratch, rows.weighted, rows.dtype
        self.largest = np.zeros(rows.n_columns)
        self.low, self.high = np.inf, -np.inf
        scratch.reserve(rows.n_rows * (rows.n_columns * rows.dtype.itemsize + 16 + 8 * rows.weighted))
        size = min(BLOCK_BYTES, _MOST_MAPPED // scratch.threads)
        self._seed, self._blocks = seed, [self._store(piece, seed) for piece in rows.pieces(size)]
        self._parts: tuple[Plan, dict[bool, list[PartOnDisk]]] | None = None

    def _store(self, piece: Piece, seed: int) -> dict[str, str]:
        assert piece.target is not None
        reach = [np.fmax.reduce(np.abs(column), initial=0.0) for column in piece.columns]
        self.largest = np.maximum(self.largest, reach)
        self.low, self.high = min(self.low, piece.target.min()), max(self.high, piece.target.max())
        arrays = {"columns": piece.columns, "target": piece.target, "weight": piece.weight}
        arrays["hashes"] = row_hashes(piece.columns, piece.target, seed)
        return {name: self._scratch.write(array) for name, array in arrays.items() if array is not None}

    def replies(self, request: Request[RawBlock, Reply]) -> list[Any]:
        """What all blocks reply; large replies are merged as they come."""
        arguments: Any = request.arguments
        replies = self._scratch.map(lambda files: request.put_to(self._block(files)), self._blocks)
        if request.method is RawBlock.survey:
            return [reduce(Survey.merged, replies)]
        if request.method is RawBlock.smallest:
            return [reduce(lambda one, other: np.union1d(one, other)[: arguments[-1]], replies)]
        return [*replies]

    def _block(self, files: dict[str, str]) -> _RawRowsOnDisk:
        return _RawRowsOnDisk(files, self._dtype, self._seed)

    def engine(self, plan: Plan, held_out: bool) -> CellEngine:
        parts = self._arranged(plan)[held_out]
        return CellEngine(PartsOnDisk(parts, self._scratch), plan.loss_of(held_out))

    def _arranged(self, plan: Plan) -> dict[bool, list[PartOnDisk]]:
        """Sort the rows, once per plan: each block becomes a part that trains and one that validates."""
        if self._parts is None or self._parts[0] is not plan:
            for old in () if self._parts is None else (part for parts in self._parts[1].values() for part in parts):
                old.remove()  # whoever grew on it is done

            def arrange(files: dict[str, str]) -> dict[bool, PartOnDisk]:
                block = self._block(files)
                parts = {held: PartOnDisk.of(block.part(plan, held), self._scratch) for held in (False, True)}
                del block
                for path in () if self.kept else files.values():
                    os.unlink(path)
                return parts

            arranged = [*self._scratch.map(arrange, self._blocks)]
            both = {held: [parts[held] for parts in arranged if parts[held].n_rows] for held in (False, True)}
            self._parts = plan, both
        return self._parts[1]


class PartOnDisk:
    """A part whose columns, targets, weights and answers are in files; see :class:`bgn.engines.memory.Part`."""

    def __init__(self, scratch: Scratch, files: dict[str, str], n_rows: int, dtype: Any, loss: Loss) -> None:
        self._scratch, self._files, self.n_rows = scratch, files, n_rows
        self._dtype, self._loss = dtype, loss
        self._groups = 0
        self._output = NO_OUTPUT

    @classmethod
    def of(cls, part: Part, scratch: Scratch) -> PartOnDisk:
        """Write a part in memory to disk."""
        arrays = {"columns": part.columns, "target": part.target, "weight": part.weight}
        files = {name: scratch.write(array) for name, array in arrays.items() if array.size}
        return cls(scratch, files, part.n_rows, part.columns.dtype, part.loss)

    def remove(self) -> None:
        for path in self._files.values():
            os.unlink(path)

    def reply(self, request: Request[CellPart, Reply]) -> Reply:
        """Put a request to the rows, in memory for as long as it takes."""
        arguments: Any = request.arguments
        # Files of answers are written, not mapped, because a full disk must be an error and not a crash.
        while request.method is RowPart.put and arguments[0] >> 3 >= self._groups:
            zeros = np.zeros(self.n_rows, np.uint8)
            self._files["codes"] = self._scratch.write(zeros, self._files.get("codes"))
            self._groups += 1
        part = self._part()
        reply = request.put_to(part)
        self._output = part.output
        return reply

    def _part(self) -> Part:
        files, n = self._files, self.n_rows
        part = part_of(
            _mapped(files["columns"], self._dtype, -1, n),
            _mapped(files["target"], np.int64, n),
            _mapped(files["weight"], np.int64, n) if "weight" in files else None,
            self._loss,
            below=_mapped(files["below"], np.uint8, -1, n) if "below" in files else None,
        )
        if self._groups:
            part.codes = _mapped(files["codes"], np.uint8, -1, n)
        part.output = self._output
        return part

    def next_layer(self, rules: Sequence[Oblique]) -> PartOnDisk:
        part = self._part()
        files = {name: path for name, path in self._files.items() if name in ("target", "weight")}
        for k in range(0, len(rules), 8):
            columns = part.answers(rules[k : k + 8])
            below = np.packbits(columns > 0, axis=0, bitorder="little")
            files["columns"] = self._scratch.write(columns, files.get("columns"))
            files["below"] = self._scratch.write(below, files.get("below"))
        return PartOnDisk(self._scratch, files, self.n_rows, np.int8, self._loss)


class PartsOnDisk(Parts[CellPart]):
    """Parts on disk, a few of them in memory at a time."""

    def __init__(self, parts: Sequence[PartOnDisk], scratch: Scratch) -> None:
        self._parts, self._scratch = parts, scratch

    def replies(self, request: Request[CellPart, Reply]) -> list[Any]:
        """What all parts reply; large replies are merged as they come."""
        replies = self._scratch.map(lambda part: part.reply(request), self._parts)
        if request.method is CellPart.cells:
            return [reduce(lambda one, other: [*map(merge, zip(one, other, strict=True))], replies)]
        return [*replies] if request.method is not CellPart.regions else [_merge_regions(replies)]

    def next_layer(self, rules: Sequence[Oblique]) -> PartsOnDisk:
        parts = [*self._scratch.map(lambda part: part.next_layer(rules), self._parts)]
        return PartsOnDisk(parts, self._scratch)


def _merge_regions(replies: Iterator[Regions]) -> Regions:
    """Put the regions of all parts together whenever they have become many."""
    held: list[Regions] = []
    for regions in replies:
        held.append(regions)
        if len(held) > 1 and sum(len(keys) for keys, _ in held[1:]) > max(_REGIONS_AT_ONCE, len(held[0][0])):
            held = [merge_regions(held)]
    return merge_regions(held)
