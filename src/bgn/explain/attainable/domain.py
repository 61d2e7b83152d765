"""Which rows are asked about: ranges of numbers, levels of categories, and whether gaps count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgn.explain.subject import column_of, gap_of
from bgn.model.network import Network
from bgn.model.schema import Column
from bgn.model.step import Bools, Floats


@dataclass(frozen=True, eq=False)
class Domain:
    """Rows by their columns, each on its own.

    Attributes
    ----------
    low, high : ndarray, shape (columns,)
        Ends of a number's range, infinite where there are none.
    whole : ndarray of bool, shape (columns,)
        Numbers that must be whole.
    levels : tuple of (tuple of int or None)
        Numbers of the levels that a category may have; None for a number.
    gaps : ndarray of bool, shape (columns,)
        Where a gap is a value of its own.
    start : ndarray, shape (columns,)
        What a column holds where it does not matter.
    absent : frozenset of int
        Columns that hold a gap and nothing else.
    """

    low: Floats
    high: Floats
    whole: Bools
    levels: tuple[tuple[int, ...] | None, ...]
    gaps: Bools
    start: Floats
    absent: frozenset[int] = frozenset()


def read_domain(network: Network, within: Any, gaps: bool) -> Domain:
    """Return the rows that `within` names: "all", "seen", or bounds by column.

    A gap that the questions see as such is a value of its own; one that they count as a number is that number.
    """
    if not (within in ("all", "seen") if isinstance(within, str) else isinstance(within, Mapping)):
        raise ValueError(f"within must be 'all', 'seen' or bounds by column, {{'age': (0, 100)}}; got {within!r}.")
    columns, told = network.schema.columns, {}
    if isinstance(within, Mapping):
        told = {column_of(network, name, "within"): bounds for name, bounds in within.items()}
    seen = within == "seen"
    ends = [_ends(kind, told.get(j), seen) for j, kind in enumerate(columns)]
    levels = tuple(_levels(kind, told.get(j)) for j, kind in enumerate(columns))
    low, high = np.array(ends).reshape(-1, 2).T
    whole = np.array([seen and kind.whole for kind in columns], dtype=bool)
    low[whole], high[whole] = np.ceil(low[whole]), np.floor(high[whole])
    sees = [gap_of(network, j) for j in range(len(columns))]
    visible = np.array([gap is not None and gap != gap for gap in sees], dtype=bool)
    absent = np.array([kind.always_missing for kind in columns], dtype=bool)
    start = [_start(*each) for each in zip(columns, levels, low.tolist(), high.tolist(), strict=True)]
    without_values = frozenset(np.flatnonzero(absent).tolist())
    return Domain(low, high, whole, levels, (visible & gaps) | absent, np.array(start), without_values)


def _start(column: Column, allowed: tuple[int, ...] | None, low: float, high: float) -> float:
    """Return what a column holds where it does not matter; NaN where it can only be missing."""
    if allowed is None:
        return float(np.clip(column.typical or 0.0, low, high))
    if not allowed:
        return np.nan
    return float(allowed[0] if column.typical is None or column.typical not in allowed else column.typical)


def _ends(column: Column, bounds: Any, seen: bool) -> tuple[float, float]:
    """Return the range of a number."""
    if column.levels is not None:
        return -np.inf, np.inf
    if bounds is None:
        return column.seen if seen and column.seen is not None else (-np.inf, np.inf)
    try:
        low, high = (None if end is None else float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"within must give {column.name!r} two ends, (low, high); got {bounds!r}.") from None
    found = -np.inf if low is None else low, np.inf if high is None else high
    if not found[0] <= found[1]:
        raise ValueError(f"within must give {column.name!r} a low end up to the high one; got {bounds!r}.")
    return found


def _levels(column: Column, bounds: Any) -> tuple[int, ...] | None:
    """Return the numbers of the levels that a category may have."""
    if column.levels is None:
        return None
    if bounds is None:
        return tuple(range(len(column.levels)))
    wanted = [bounds] if isinstance(bounds, str) or not isinstance(bounds, Iterable) else list(bounds)
    if column.always_missing:
        raise ValueError(f"within names {column.name!r}, which has no levels: the model does not use it. Leave it out.")
    unknown = [level for level in wanted if level not in column.levels]
    if unknown or not wanted:
        raise ValueError(
            f"within must give {column.name!r} some of its levels, {', '.join(map(repr, column.levels))}; "
            f"got {bounds!r}."
        )
    return tuple(sorted({column.levels.index(level) for level in wanted}))
