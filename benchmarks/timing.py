"""Wall time of a call, for the other benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence


def seconds(
    call: Callable[[], object], repeats: int = 7, choose: Callable[[list[float]], float] = statistics.median
) -> float:
    """The median (or what `choose` picks) of several calls, after one that compiles and warms."""
    call()
    return choose([seconds_once(call) for _ in range(repeats)])


def seconds_once(call: Callable[[], object]) -> float:
    """The wall time of one call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def by_turns(calls: Sequence[Callable[[], object]], rounds: int = 7) -> list[float]:
    """The fastest of several runs of each call, all of them by turns, so that they meet what else the machine does."""
    return [min(times) for times in zip(*([seconds_once(call) for call in calls] for _ in range(rounds)), strict=True)]
