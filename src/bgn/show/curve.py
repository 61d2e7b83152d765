"""The effect of a feature over the range of its column: where it steps, and how the data lie."""

from __future__ import annotations

import numpy as np

from bgn.explain.effects import Effect
from bgn.model.schema import level_word
from bgn.model.step import Floats

_PIECES = 64  # of a band along a straight line
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

    A column of few whole numbers gets one level per number: what lies between them never occurs. An effect with a
    linear term has every place where it steps or bends twice, as it is reached from below and from above.
    """
    edges = _edges(found, column)
    if few_wholes(column):
        return np.append(edges[:-1] - 0.5, edges[-1] + 0.5), found(edges)
    return (np.repeat(edges, 2)[1:-1] if found.bent else edges), _on(found, edges, found.bent)


def band(found: Effect, column: Floats) -> tuple[Floats, Floats] | None:
    """Return both ends of the band of two standard errors at the corners of an effect; None without an average."""
    if len(found.each) < 2:
        return None
    edges, bent, wholes = _edges(found, column), found.bent, few_wholes(column)
    curves = [each(edges) if wholes else _on(each, edges, bent) for each in found.each]
    away, middle = 2.0 * np.std(curves, axis=0, ddof=1), corners(found, column)[1]
    return middle - away, middle + away


def band_of_levels(found: Effect, column: Floats) -> tuple[Floats, Floats] | None:
    """Return both ends of the band of two standard errors at the levels of a category; None without an average."""
    if len(found.each) < 2:
        return None
    away = 2.0 * np.std([levels_of(each, column)[1] for each in found.each], axis=0, ddof=1)
    middle = levels_of(found, column)[1]
    return middle - away, middle + away


def _edges(found: Effect, column: Floats) -> Floats:
    """Return where an effect may step or bend, from the least to the greatest value of a column."""
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        return np.append(np.arange(low, high + 1.0), high)
    inner = found.breakpoints
    if found.bent:
        lines = [each.line for each in (found, *found.each) if each.line is not None]
        spread = np.linspace(low, high, _PIECES + 1) if found.each else ()  # between corners a band is no straight line
        inner = np.unique([*inner, *(end for line in lines for end in (line.low, line.high)), *spread])
    return np.concatenate([[low], inner[(inner > low) & (inner <= high)], [high]])


def _on(found: Effect, edges: Floats, bent: bool) -> Floats:
    """Return an effect from each edge to the next, at both where it is bent; the last closes the line."""
    pieces = np.searchsorted(found.breakpoints, edges[:-1], side="right")
    if not bent:
        return np.append(found.levels[pieces], found.levels[pieces[-1]])
    places, pieces = np.repeat(edges, 2)[1:-1], np.repeat(pieces, 2)
    more = found.straight(places) if found.bends is None else found.rise(pieces, places)
    return np.asarray(found.levels[pieces] + more)


def stepping(found: Effect, column: Floats) -> bool:
    """Tell whether the corners of an effect are joined by steps, not by straight lines."""
    return not found.bent or few_wholes(column)
