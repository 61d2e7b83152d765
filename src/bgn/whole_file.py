"""Files written whole or not at all: one way for models, reports, tables and downloads.

A new file grows beside its place, under another name, and moves there once it is whole. Until then nobody else may read
it; a program that was killed leaves it behind, and the next one to save into that folder removes it. What is not a
regular file (a pipe, a terminal, the null device, ``/dev/stdout``) is written through and never replaced.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

try:
    import fcntl
except ImportError:  # where there is none, an open file cannot be removed either
    fcntl = None  # type: ignore[assignment]

_MOST_LINKS = 40
_TEMPORARY = re.compile(r"\.bgn-[0-9a-f]{16}")
_STALE = 24 * 3600.0  # seconds after which a file that nobody holds is left over


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that its name never stands for half of it; see :func:`whole_file`."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write that takes its place when the block ends, and leaves no trace when it fails.

    Links are followed, and a file that is replaced hands on its permissions. Pipes and devices are written to as they
    are, as is the open file that a name such as ``/dev/stdout`` or ``/dev/fd/3`` stands for.

    Examples
    --------
    >>> import os, tempfile
    >>> from bgn.whole_file import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         with whole_file(os.path.join(folder, "rows.csv")) as file:
    ...             file.write(b"half a row") and 1 / 0
    ...     except ZeroDivisionError:
    ...         os.listdir(folder)
    []
    """
    opened = _through(path)
    if opened is not None:
        with opened:
            yield opened
        return
    check_place(path)
    target = Path(os.path.realpath(path))
    _remove_stale(target.parent)
    temporary = target.with_name(f".bgn-{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            usual = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            os.chmod(file.fileno() if os.chmod in os.supports_fd else temporary, stat.S_IRUSR | stat.S_IWUSR)
            _hold(file)
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            _hand_on_permissions(target, temporary)
        else:
            os.chmod(temporary, usual)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == os.fspath(temporary):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a name that no file can be written under: to be known before an hour's work, not after."""
    if goes_through(path):
        if (number := _descriptor(path)) is not None:
            os.fstat(number)
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"the folder {target.parent} is write-protected; name a file in another.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{os.fspath(path)!r} is write-protected; name another file, or allow writing to it.")


def goes_through(path: str | os.PathLike[str]) -> bool:
    """Whether a name stands for something that is written to as it is: a pipe, a device, an open file."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _through(path: str | os.PathLike[str]) -> BinaryIO | None:
    """What a name stands for, open to write, where that must not be replaced."""
    number = _descriptor(path)
    if number is None:
        return open(path, "wb") if goes_through(path) else None
    for stream in (sys.stdout, sys.stderr):  # what was printed before comes first
        if stream is not None:
            stream.flush()
    # Another handle to the same open file: neither cut to nothing nor written over from its start.
    return open(os.dup(number), "wb")


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number of the open file of this process that a name such as ``/dev/stdout`` leads to."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be the name of a file to write; got a {type(path).__name__}.")
    own = ("/dev/fd", f"/proc/{os.getpid()}/fd")
    name = os.fspath(path)
    for _ in range(_MOST_LINKS):
        folder, last = os.path.split(os.path.abspath(name))
        folder = os.path.realpath(folder)
        if folder in own and last.isdecimal():
            return int(last)
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            break
        name = os.path.join(folder, os.readlink(name))
    return None


def _hold(file: BinaryIO) -> bool:
    """Lock a file as long as it is open; tell whether nobody else holds it, where that can be known."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(folder: Path) -> None:
    """Remove what killed programs left in a folder: our own files of a day and more ago that nobody holds."""
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if _TEMPORARY.fullmatch(entry.name)]
    except OSError:
        return
    for path in left:
        with suppress(OSError):
            about = os.lstat(path)
            own = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
            if not (own and stat.S_ISREG(about.st_mode) and time.time() - about.st_mtime > _STALE):
                continue
            with open(path, "rb", opener=_itself) as file:
                free = _hold(file) and os.path.samestat(os.fstat(file.fileno()), about)
            if free:
                os.unlink(path)


def _itself(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _hand_on_permissions(old: Path, new: Path) -> None:
    about = os.stat(old)
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(new, about.st_uid, about.st_gid)
    os.chmod(new, stat.S_IMODE(about.st_mode))


# -- Files that must stay what they are while they are read, or an error that says so.

T = TypeVar("T")


@dataclass(frozen=True)
class Stamp:
    """Size of a file and when it was last written to."""

    name: str
    size: int
    time: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Stamp:
        about = os.stat(path)
        return cls(os.fspath(path), about.st_size, about.st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that is another by now."""
        try:
            now = Stamp.of(self.name)
        except OSError as error:
            raise changed(self.name, f"it can no longer be found ({error.strerror})") from None
        if now.size != self.size:
            raise changed(self.name, f"it had {self.size:,} bytes and now has {now.size:,}")
        if now.time != self.time:
            raise changed(self.name, "somebody has written to it since it was opened")

    def watch(self, blocks: Iterable[T]) -> Iterator[T]:
        """Yield what is read of a file for as long as it is what it was."""
        self.check()
        try:
            for block in blocks:
                self.check()
                yield block
                del block  # while the next one is read nobody needs it
        except (ValueError, OSError):
            self.check()  # the reason for most that a reader may say
            raise
        self.check()


def changed(name: str, how: str) -> OSError:
    return OSError(f"{name} changed while it was read: {how}. Start again when nobody writes to it, or read a copy.")
