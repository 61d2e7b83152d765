"""The effect of a column over the range of its data: the corners of its curve, and the same in ten lines of text.

Figures and reports join the corners; the command line prints the lines with bars. Effects are those of
:mod:`bgn.explain.effects`, and columns hold what the network reads: a category as a number, NaN for a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bgn.explain.effects import Effect
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.show.labels import cell
from bgn.text import people

_PIECES = 64  # of a band along a straight line
_HALF = np.finfo(np.float64).max / 2.0


def few_wholes(column: Floats) -> bool:
    """Tell whether a column holds whole numbers in a short range, such as hours or yes and no; it has no gaps.

    Beyond 2**52 all floats are whole, and halves between them are none.
    """
    if not len(column):
        return False
    return bool(np.ptp(column) <= 60 and (column == np.rint(column)).all() and np.abs(column).max() < 2.0**52)


def categories_of(found: Effect, column: Floats) -> tuple[list[str], Floats, Floats]:
    """Return the levels of a category in words, "missing" last where gaps are known, their effects and their rows."""
    levels = found.column.categories or ()
    words, effects = list(map(category_name, levels)), found(np.array(levels, dtype=object))
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
    return (np.repeat(edges, 2)[1:-1] if found.has_linear_part else edges), _on(found, edges, found.has_linear_part)


def band(found: Effect, column: Floats) -> tuple[Floats, Floats] | None:
    """Return both ends of the band of two standard errors at the corners of an effect; None without an average."""
    if len(found.members) < 2:
        return None
    edges, bent, wholes = _edges(found, column), found.has_linear_part, few_wholes(column)
    curves = [each(edges) if wholes else _on(each, edges, bent) for each in found.members]
    away, middle = 2.0 * np.std(curves, axis=0, ddof=1), corners(found, column)[1]
    return middle - away, middle + away


def band_of_categories(found: Effect, column: Floats) -> tuple[Floats, Floats] | None:
    """Return both ends of the band of two standard errors at the levels of a category; None without an average."""
    if len(found.members) < 2:
        return None
    away = 2.0 * np.std([categories_of(each, column)[1] for each in found.members], axis=0, ddof=1)
    middle = categories_of(found, column)[1]
    return middle - away, middle + away


def _edges(found: Effect, column: Floats) -> Floats:
    """Return where an effect may step or bend, from the least to the greatest value of a column."""
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        return np.append(np.arange(low, high + 1.0), high)
    inner = found.breakpoints
    if found.has_linear_part:
        lines = [each.linear for each in (found, *found.members) if each.linear is not None]
        spread = np.linspace(low, high, _PIECES + 1) if found.members else ()  # between corners a band is no straight line
        inner = np.unique([*inner, *(end for line in lines for end in (line.low, line.high)), *spread])
    return np.concatenate([[low], inner[(inner > low) & (inner <= high)], [high]])


def _on(found: Effect, edges: Floats, bent: bool) -> Floats:
    """Return an effect from each edge to the next, at both where it is bent; the last closes the line."""
    pieces = np.searchsorted(found.breakpoints, edges[:-1], side="right")
    if not bent:
        return np.append(found.values[pieces], found.values[pieces[-1]])
    places, pieces = np.repeat(edges, 2)[1:-1], np.repeat(pieces, 2)
    return np.asarray(found.values[pieces] + found.linear_part(places, pieces))


def stepping(found: Effect, column: Floats) -> bool:
    """Tell whether the corners of an effect are joined by steps, not by straight lines."""
    return not found.has_linear_part or few_wholes(column)


MOST = 10
"""Lines of a number's effect."""


@dataclass(frozen=True)
class EffectLines:
    """What is printed of an effect: where, and the mean prediction there.

    Attributes
    ----------
    places : tuple of str
        "below 5", "5 to 12", "from 12", or single values.
    levels : tuple of float
    of_steps : int or None
        The number of steps in the range of the rows where the places are some values of it; None where nothing is
        left out.
    """

    places: tuple[str, ...]
    levels: tuple[float, ...]
    of_steps: int | None = None


def effect_lines(found: Effect, column: Floats) -> EffectLines:
    """Return an effect within the range of a column: all of it where that takes few lines, else at ten places.

    Parameters
    ----------
    found : Effect
    column : ndarray
        What the rows hold, as the network reads it.

    Returns
    -------
    EffectLines

    Examples
    --------
    >>> import bgn, numpy as np
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-3.0])], [1.0], 2.0, ["rooms"])
    >>> rows = np.array([[2.5], [3.0], [6.0]])
    >>> effect_lines(bgn.effect(network, "rooms", background=rows), rows[:, 0])
    EffectLines(places=('below 3', 'from 3'), levels=(1.0, 3.0), of_steps=None)
    """
    if found.column.categories is not None:
        words, levels, _ = categories_of(found, np.empty(0))
        return EffectLines(tuple(words), tuple(levels.tolist()))
    values = column[~np.isnan(column)]
    if not len(values):
        return _with_gap(found, [], [])
    low, high = float(values.min()), float(values.max())
    inside = found.breakpoints[(found.breakpoints > low) & (found.breakpoints <= high)]
    if few_wholes(values) and high - low < MOST:
        places = np.arange(low, high + 1.0)
        return _with_gap(found, [_place(found, each) for each in places.tolist()], found(places).tolist())
    if found.linear is None and found.rates is None and len(inside) < MOST:
        words = [_place(found, each) for each in inside.tolist()]
        places_said = [f"{a} to {b}" for a, b in pairwise(words)]
        places_said = [f"below {words[0]}", *places_said, f"from {words[-1]}"] if words else ["anywhere"]
        return _with_gap(found, places_said, found(np.concatenate([[low], inside])).tolist())
    places = _spread(values, found.column.whole)
    told = [_place(found, each) for each in places.tolist()]
    return _with_gap(found, told, found(places).tolist(), len(inside))


def _with_gap(found: Effect, places: list[str], levels: list[float], steps: int | None = None) -> EffectLines:
    """Add what a gap is predicted, where that is known."""
    if found.missing is not None:
        places, levels = [*places, "missing"], [*levels, float(found.missing)]
    return EffectLines(tuple(places), tuple(levels), steps)


def _place(found: Effect, value: float) -> str:
    """Write a value of the column, to six digits; a time as a clock shows it."""
    return cell(found.column, value) if found.column.part_of is not None else people(value, 6)


def _spread(values: Floats, whole: bool) -> Floats:
    """Return ten values: the least, the greatest, and eight short ones where nearly all rows lie."""
    ends, most = [float(values.min()), float(values.max())], np.quantile(values / 2.0, [0.025, 0.975]) * 2.0
    shares = np.linspace(0.0, 1.0, MOST - 2)
    inner = most[0] * (1.0 - shares) + most[1] * shares
    step = float(most[1] / MOST - most[0] / MOST)
    if step > 0.0:
        decimals = 0 if whole else 1 - math.floor(math.log10(step))
        inner = np.round(inner, decimals) if abs(decimals) < 300 else inner
    return np.unique(np.clip(np.array([*ends, *inner]), ends[0], ends[1]))


def decimals_of(values: Sequence[float]) -> int:
    """Return how many decimals show three digits of what values differ by.

    Examples
    --------
    >>> decimals_of([0.5, 3.25]), decimals_of([100.0, 5200.0]), decimals_of([0.1, 0.1])
    (2, 0, 4)
    """
    known = [value for value in values if math.isfinite(value)]
    apart = max(known) - min(known) if known else 0.0
    apart = apart if apart > 0.0 else max([abs(value) for value in known], default=0.0) / 10.0
    return min(15, max(0, 2 - math.floor(math.log10(apart)))) if 0.0 < apart < math.inf else 2


def bars(values: Sequence[float], width: int = 24) -> list[str]:
    """Return a bar per value, from zero: twice the value, twice the bar. All together are `width` signs at most.

    Where some values are negative, their bars end where those of the others begin.

    Examples
    --------
    >>> bars([1.0, 2.0, 4.0], 8)
    ['██', '████', '████████']
    >>> bars([-2.0, 0.0, 4.0], 6)
    ['██', '', '  ████']
    >>> bars([0.2625, 0.3607])
    ['█████████████████', '████████████████████████']
    """
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    reach = high / 2 - low / 2  # of values near the largest float, too
    if not 0.0 < reach < math.inf:
        return [""] * len(values)
    lengths = [round(width * (abs(value) / 2 / reach)) for value in values]
    zero = round(width * (-low / 2 / reach))
    return [
        (" " * (zero - min(zero, length)) if value < 0 else " " * zero) + "█" * length if length else ""
        for value, length in zip(values, lengths, strict=True)
    ]
