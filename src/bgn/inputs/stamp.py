"""Files that must stay what they are while they are read, or an error that says so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Stamp:
    """Size of a file and when it was last written to."""

    name: str
    size: int
    time: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Stamp:
        """What a file is now."""
        found = os.stat(path)
        return cls(os.fspath(path), found.st_size, found.st_mtime_ns)

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
    """The error for rows that are no longer what they were."""
    return OSError(f"{name} changed while it was read: {how}. Start again when nobody writes to it, or read a copy.")
