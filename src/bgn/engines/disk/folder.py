"""Temporary folders that are gone in the end, whatever ends the process.

Beside a folder lies a file that its owner keeps locked, and the system lets go of the lock of a process that dies, even
of SIGKILL. Every fit begins by removing the folders whose locks are free. No signal is handled, and nothing depends on
process numbers, which are used again and mean nothing on another host that shares the disk.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

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
        """Remove the folder and all that is in it."""
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
        found = os.fstat(handle)
        mine = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if mine and _hold(handle) and _same(handle, lock):
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)
            os.unlink(lock)
    finally:
        os.close(handle)
