"""Wall time of a call, for the other benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(
    call: Callable[[], object], repeats: int = 7, choose: Callable[[list[float]], float] = statistics.median
) -> float:
    """The median (or what `choose` picks) of several calls, after one that compiles and warms."""
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return choose(times)
