"""The end of a temporary folder, also when SIGTERM ends the process, which by default unwinds nothing."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from types import FrameType


class Removal:
    """Removes a folder when told, or when SIGTERM comes before; the process then dies of it as it would have.

    A handler that somebody else has set stays, and outside the main thread none can be set: there the folder is
    removed when told.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, os.getpid()
        self._before = signal.getsignal(signal.SIGTERM)
        if self._before is signal.SIG_DFL or isinstance(self._before, Removal):
            with suppress(ValueError):
                signal.signal(signal.SIGTERM, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGTERM."""
        # A forked child has the handler as well, but the folder is its parent's.
        if os.getpid() == self._process:
            self._remove_in_use()
        signal.signal(signal.SIGTERM, self._before)
        signal.raise_signal(signal.SIGTERM)

    def _remove_in_use(self) -> None:
        """Remove the folder while threads work in it: under another name they cannot add to it."""
        doomed = Path(f"{self._folder}.gone")
        with suppress(OSError):
            self._folder.rename(doomed)
        for folder in (doomed, self._folder):
            shutil.rmtree(folder, ignore_errors=True)

    def now(self) -> None:
        """Remove the folder and hand SIGTERM back."""
        watching = signal.getsignal(signal.SIGTERM) is self
        try:
            shutil.rmtree(self._folder)
        finally:
            if watching:
                with suppress(ValueError):
                    signal.signal(signal.SIGTERM, self._before)
