"""An effect in about ten lines of text, with bars: what a shell shows of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bgn.explain.one_effect import Effect
from bgn.model.step import Floats
from bgn.show.curve import few_wholes, levels_of
from bgn.show.labels import cell
from bgn.wording import people

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
    >>> network = bgn.Network([bgn.Layer([[1.0]], [-3.0])], [1.0], 2.0, ["rooms"])
    >>> rows = np.array([[2.5], [3.0], [6.0]])
    >>> effect_lines(bgn.effect(network, "rooms", background=rows), rows[:, 0])
    EffectLines(places=('below 3', 'from 3'), levels=(1.0, 3.0), of_steps=None)
    """
    if found.column.levels is not None:
        words, levels, _ = levels_of(found, np.empty(0))
        return EffectLines(tuple(words), tuple(levels.tolist()))
    values = column[~np.isnan(column)]
    if not len(values):
        return _with_gap(found, [], [])
    low, high = float(values.min()), float(values.max())
    inside = found.breakpoints[(found.breakpoints > low) & (found.breakpoints <= high)]
    if few_wholes(values) and high - low < MOST:
        places = np.arange(low, high + 1.0)
        return _with_gap(found, [_place(found, each) for each in places.tolist()], found(places).tolist())
    if found.line is None and found.bends is None and len(inside) < MOST:
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
