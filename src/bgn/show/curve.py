"""The effect of a feature over the range of its column: where it steps, and how the data lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bgn.explain.effects import Effect
from bgn.model.schema import level_word
from bgn.model.step import Floats

_HALF = np.finfo(np.float64).max / 2.0


def few_wholes(column: Floats) -> bool:
    """Tell whether a column holds whole numbers in a short range, such as hours or yes and no; it has no gaps.

    Beyond 2**52 all floats are whole, and halves between them are none.
    """
    if not len(column):
        return False
    return bool(np.ptp(column) <= 60 and (column == np.rint(column)).all() and np.abs(column).max() < 2.0**52)


def levels_of(found: Effect, column: Floats) -> tuple[list[str], Floats, Floats]:
    """Return the levels of a category in words, "missing" last where gaps are known, their effects and their rows."""
    levels = found.column.levels or ()
    words, effects = list(map(level_word, levels)), found(np.array(levels, dtype=object))
    counts = np.array([np.sum(column == code) for code in range(len(levels))], dtype=np.float64)
    if found.missing is None:
        return words, effects, counts
    return [*words, "missing"], np.append(effects, found.missing), np.append(counts, np.isnan(column).sum())


def histogram(column: Floats) -> tuple[Floats, Floats]:
    """Return counts and edges of bins: one bin per number for few whole numbers, otherwise thirty at most."""
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        edges = np.arange(low - 0.5, high + 1.0)
    else:  # halved, because the widest range there is has no length in float64
        room = max(0.5, 1e-3 * abs(low)) / 2.0 if low == high else 0.0
        edges = np.unique(np.clip(np.linspace(low / 2.0 - room, high / 2.0 + room, 31), -_HALF, _HALF) * 2.0)
        edges[[0, -1]] = min(edges[0], low), max(edges[-1], high)
    return np.histogram(column, bins=edges)[0].astype(np.float64), edges


def corners(found: Effect, column: Floats) -> tuple[Floats, Floats]:
    """Return where the effect steps within a column's range, and the levels from there on; the last closes the line.

    A column of few whole numbers gets one level per number: what lies between them never occurs.
    """
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        places = np.arange(low, high + 1.0)
        return np.append(places - 0.5, high + 0.5), found(np.append(places, high))
    if not stepping(found, column):
        return _bent(found, low, high)
    first, last = np.searchsorted(found.breakpoints, [low, high], side="right")
    places = np.concatenate([[low], found.breakpoints[first:last], [high]])
    return places, np.append(found.levels[first : last + 1], found.levels[last])


def band(found: Effect) -> tuple[Effect, Effect] | None:
    """Return the ends of the band of two standard errors around the effect in an average; None for other networks."""
    if found.standard_error is None or np.isnan(found.standard_error).any():
        return None
    away = 2.0 * found.standard_error
    return replace(found, levels=found.levels - away), replace(found, levels=found.levels + away)
def _bent(found: Effect, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the corners of an effect with a linear term, where it steps or bends: twice each, from below and above."""
    inner = np.unique([*found.breakpoints, *((found.line.low, found.line.high) if found.line is not None else ())])
    edges = np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
    places = np.repeat(edges, 2)[1:-1]
    pieces = np.searchsorted(found.breakpoints, edges[:-1], side="right")
    levels = np.repeat(found.levels[pieces], 2)
    if found.bends is None:
        return places, levels + found.straight(places)
    return places, levels + found.rise(np.repeat(pieces, 2), places)


def stepping(found: Effect, column: Floats) -> bool:
    """Tell whether the corners of an effect are joined by steps, not by straight lines."""
    return (found.line is None and found.bends is None) or few_wholes(column)
