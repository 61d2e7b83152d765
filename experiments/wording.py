"""Counts, shares and ranges as sentences say them."""

from __future__ import annotations

from collections.abc import Iterable

_WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def words(count: int) -> str:
    """Return a small count in words."""
    return _WORDS[count] if count < len(_WORDS) else f"{count:,}"


def share(count: int, total: int) -> str:
    """Return how many of some: ``"all four"``, ``"both"``, ``"three of four"``."""
    if count == total == 2:
        return "both"
    return f"all {words(total)}" if count == total else f"{words(count)} of {words(total)}"


def span(values: Iterable[float], form: str = ".0f", unit: str = "") -> str:
    """Return from the least to the greatest: ``"9 to 37 %"``."""
    found = list(values)
    low, high = (format(value, form) for value in (min(found), max(found)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def percent(ratio: float) -> float:
    """Return by how many per cent something lies below 1."""
    return 100 * (1 - ratio)
