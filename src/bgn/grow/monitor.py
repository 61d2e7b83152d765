"""Who watches growth: the clock, the progress bar, and callbacks that may stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bgn.grow.history import Record

Callback = Callable[[Record], bool | None]


@dataclass
class Monitor:
    """Watches the clock, tells the callbacks, and remembers why growth stopped."""

    max_seconds: float | None = None
    callbacks: Sequence[Callback] = ()
    on_record: Callable[[Record], None] | None = None
    started: float = field(default_factory=time.perf_counter)
    stopped: str = ""
    member: int = 0

    @property
    def seconds(self) -> float:
        """Since growth began."""
        return time.perf_counter() - self.started

    def out_of_time(self) -> bool:
        """True, and noted, once the time is up or somebody asked to stop."""
        if not self.stopped and self.max_seconds is not None and self.seconds >= self.max_seconds:
            self.stopped = "max_seconds"
        return bool(self.stopped)

    def tell(self, record: Record) -> None:
        """Pass a record on; a callback that returns True stops growth."""
        if self.on_record is not None:
            self.on_record(record)
        for callback in self.callbacks:
            if isinstance(answer := callback(record), (bool, np.bool_)) and answer and not self.stopped:
                self.stopped = "callback"
