"""The ends of a slope, to plain values and back."""

from __future__ import annotations

import math
from typing import Any

from bgn.persist import strict


def ends_out(low: float, high: float) -> list[float | None] | None:
    """Return the ends of a slope, or of predictions, null for one that is open; null for both."""
    ends = [None if math.isinf(each) else each for each in (low, high)]
    return None if ends == [None, None] else ends


def ends_in(value: Any, where: str) -> tuple[float, float]:
    """Return the ends of a slope, or of predictions, infinite where they are open, or say what is wrong."""
    if value is None:
        return -math.inf, math.inf
    low, high = strict.array(strict.anything, 2)(value, where)
    return (
        -math.inf if low is None else strict.number(low, f"{where}[0]"),
        math.inf if high is None else strict.number(high, f"{where}[1]"),
    )
