"""What the README and the pages say in words and several cells carry: one function per claim.

Each returns the words as the published tables support them, so that a claim that no longer holds reads otherwise, and
the test that compares it with the README fails. ``cite`` explains where the names stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from experiments.cite import number, table
from experiments.data import LARGE, TABLES

SIZES = (5, 10, 20, 40)
SMALL = tuple(name for name in TABLES if name not in LARGE)
_WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_BGN = "BGN, our defaults"


def words(count: int) -> str:
    """Return a small count in words."""
    return _WORDS[count] if count < len(_WORDS) else f"{count:,}"


def share(count: int, total: int) -> str:
    """Return how many of some: ``"all four"``, ``"three of four"``."""
    return f"all {words(total)}" if count == total else f"{words(count)} of {words(total)}"


def span(values: Iterable[float], form: str = ".0f", unit: str = "") -> str:
    """Return from the least to the greatest: ``"9 to 37 %"``."""
    found = list(values)
    low, high = (format(value, form) for value in (min(found), max(found)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def percent(ratio: float) -> float:
    """Return by how many per cent something lies below 1."""
    return 100 * (1 - ratio)


def _equal(model: str, name: str, size: int) -> float:
    """Return a test error at equal size."""
    return number(f"full/peers-equal-{size}", [model], name)


def below(model: str, names: Iterable[str] = LARGE) -> str:
    """Return by how much BGN's errors lie below a model's, over tables and sizes."""
    return span((percent(_equal(_BGN, n, k) / _equal(model, n, k)) for n in names for k in SIZES), unit=" %")


def tables_below(model: str, names: Iterable[str] = LARGE) -> str:
    """Return on how many tables BGN has the lower error at every size."""
    found = [all(_equal(_BGN, name, k) < _equal(model, name, k) for k in SIZES) for name in names]
    return share(sum(found), len(found))


def tables_above_lasso() -> str:
    """Return on how many small tables the Lasso's path has the lower error at every size."""
    model = "Lasso: linear terms alone"
    found = [all(_equal(model, name, k) < _equal(_BGN, name, k) for k in SIZES) for name in SMALL]
    return share(sum(found), len(found))


def sizes(model: str, names: Iterable[str] = LARGE, step: int = 1000) -> str:
    """Return from what to what size a model of any size has, in thousands."""
    return span((step * round(number("full/peers-sizes", [model], name) / step) for name in names), ",.0f")


def at_or_below(variant: str) -> str:
    """Return on how many tables a variant of BGN is at or below the printed BGN."""
    rows = [row for row in table("full/accuracy-targets").rows if row[1] == f"BGN, {variant}"]
    return f"{words(sum(row[-1] == 'yes' for row in rows))} of the {words(len(rows))}"


CLAIMS: dict[str, Callable[[], str]] = {
    "peers-below-tree": lambda: tables_below("tree, best first"),
    "peers-below-figs": lambda: below("FIGS"),
    "peers-small-beside-figs": lambda: below("FIGS", SMALL),
    "peers-lasso-better": tables_above_lasso,
    "peers-ebm-entries": lambda: sizes("EBM, default"),
    "accuracy-paper-at-or-below": lambda: at_or_below("as in the paper"),
    "accuracy-defaults-at-or-below": lambda: at_or_below("our defaults"),
}
"""Every claim by name."""
