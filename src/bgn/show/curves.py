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

_PIECES = 64  # of a band along a linear term
_HALF = np.finfo(np.float64).max / 2.0
MOST = 10
"""Lines of a number's effect."""


def few_wholes(column: Floats) -> bool:
    """Tell whether a column without missing values holds whole numbers in a short range, such as hours or yes and no.

    Beyond 2**52 all floats are whole, and halves between them are none.
    """
    if not len(column):
        return False
    return bool(np.ptp(column) <= 60 and (column == np.rint(column)).all() and np.abs(column).max() < 2.0**52)


def categories_of(effect: Effect, column: Floats) -> tuple[list[str], Floats, Floats]:
    """Return the categories of a column, "missing" last where its effect is known, their effects and their rows."""
    categories = effect.column.categories or ()
    names, effects = list(map(category_name, categories)), effect(np.array(categories, dtype=object))
    counts = np.array([np.sum(column == code) for code in range(len(categories))], dtype=np.float64)
    if effect.missing is None:
        return names, effects, counts
    return [*names, "missing"], np.append(effects, effect.missing), np.append(counts, np.isnan(column).sum())


def histogram(column: Floats) -> tuple[Floats, Floats]:
    """Return counts and edges of bins: one bin per number for few whole numbers, otherwise thirty at most."""
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        edges = np.arange(low - 0.5, high + 1.0)
    else:  # halved, because the widest range there is has no length in float64
        margin = max(0.5, 1e-3 * abs(low)) / 2.0 if low == high else 0.0
        edges = np.unique(np.clip(np.linspace(low / 2.0 - margin, high / 2.0 + margin, 31), -_HALF, _HALF) * 2.0)
        edges[[0, -1]] = min(edges[0], low), max(edges[-1], high)
    return np.histogram(column, bins=edges)[0].astype(np.float64), edges


def corners(effect: Effect, column: Floats) -> tuple[Floats, Floats]:
    """Return where the effect steps within a column's range, and its values from there on; the last closes the line.

    A column of few whole numbers gets one value per number: what lies between them never occurs. An effect with a
    linear term has every place where it steps or bends twice, as it is reached from below and from above.
    """
    edges = _edges(effect, column)
    if few_wholes(column):
        return np.append(edges[:-1] - 0.5, edges[-1] + 0.5), effect(edges)
    bent = effect.has_linear_part
    return (np.repeat(edges, 2)[1:-1] if bent else edges), _values_between(effect, edges, bent)


def band(effect: Effect, column: Floats) -> tuple[Floats, Floats] | None:
    """Return both ends of the band of two standard errors at the corners of an effect, or at its categories.

    None where the model is no ensemble.
    """
    if len(effect.members) < 2:
        return None
    if effect.column.categories is not None:
        middle, *curves = (categories_of(one, column)[1] for one in (effect, *effect.members))
    else:
        edges, bent, wholes = _edges(effect, column), effect.has_linear_part, few_wholes(column)
        curves = [one(edges) if wholes else _values_between(one, edges, bent) for one in effect.members]
        middle = corners(effect, column)[1]
    error = 2.0 * np.std(curves, axis=0, ddof=1)
    return middle - error, middle + error


def _edges(effect: Effect, column: Floats) -> Floats:
    """Return where an effect may step or bend, from the least to the greatest value of a column."""
    low, high = float(column.min()), float(column.max())
    if few_wholes(column):
        return np.append(np.arange(low, high + 1.0), high)
    inner = effect.breakpoints
    if effect.has_linear_part:
        lines = [one.linear for one in (effect, *effect.members) if one.linear is not None]
        more = np.linspace(low, high, _PIECES + 1) if effect.members else ()  # between corners a band is curved
        inner = np.unique([*inner, *(end for line in lines for end in (line.low, line.high)), *more])
    return np.concatenate([[low], inner[(inner > low) & (inner <= high)], [high]])


def _values_between(effect: Effect, edges: Floats, bent: bool) -> Floats:
    """Return an effect from each edge to the next, at both where it is bent; the last closes the line."""
    pieces = np.searchsorted(effect.breakpoints, edges[:-1], side="right")
    if not bent:
        return np.append(effect.values[pieces], effect.values[pieces[-1]])
    places, pieces = np.repeat(edges, 2)[1:-1], np.repeat(pieces, 2)
    return np.asarray(effect.values[pieces] + effect.linear_part(places, pieces))


def stepping(effect: Effect, column: Floats) -> bool:
    """Tell whether the corners of an effect are joined by steps."""
    return not effect.has_linear_part or few_wholes(column)


@dataclass(frozen=True)
class EffectLines:
    """What is printed of an effect: `places` such as "below 5", "5 to 12" or "from 12", and the mean prediction there.

    Where the places are some values of the range of the rows, `of_steps` is how many steps there are in it.
    """

    places: tuple[str, ...]
    values: tuple[float, ...]
    of_steps: int | None = None


def effect_lines(effect: Effect, column: Floats) -> EffectLines:
    """Return an effect within the range of a column: all of it where that takes few lines, else at ten places.

    Examples
    --------
    >>> import bgn, numpy as np
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-3.0])], [1.0], 2.0, ["rooms"])
    >>> rows = np.array([[2.5], [3.0], [6.0]])
    >>> effect_lines(bgn.effect(network, "rooms", background=rows), rows[:, 0])
    EffectLines(places=('below 3', 'from 3'), values=(1.0, 3.0), of_steps=None)
    """
    if effect.column.categories is not None:
        names, effects, _ = categories_of(effect, np.empty(0))
        return EffectLines(tuple(names), tuple(effects.tolist()))
    values, texts, points, steps = column[~np.isnan(column)], list[str](), np.empty(0), None
    if len(values):
        low, high = float(values.min()), float(values.max())
        inside = effect.breakpoints[(effect.breakpoints > low) & (effect.breakpoints <= high)]
        wholes = few_wholes(values) and high - low < MOST
        all_steps = not wholes and effect.linear is None and effect.rates is None and len(inside) < MOST
        if wholes:
            points = np.arange(low, high + 1.0)
        elif all_steps:
            points = np.concatenate([[low], inside])
        else:
            points, steps = _ten_values(values, effect.column.whole), len(inside)
        # A value to six digits; a time as a clock shows it.
        dated = effect.column.part_of is not None
        texts = [cell(effect.column, point) if dated else people(point, 6) for point in points.tolist()]
        if all_steps:
            inner = texts[1:]
            between = [f"{first} to {second}" for first, second in pairwise(inner)]
            texts = [f"below {inner[0]}", *between, f"from {inner[-1]}"] if inner else ["anywhere"]
    means: list[float] = effect(points).tolist() if len(values) else []
    if effect.missing is not None:
        texts, means = [*texts, "missing"], [*means, float(effect.missing)]
    return EffectLines(tuple(texts), tuple(means), steps)


def _ten_values(values: Floats, whole: bool) -> Floats:
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
    size = max(known) - min(known) if known else 0.0
    size = size if size > 0.0 else max([abs(value) for value in known], default=0.0) / 10.0
    return min(15, max(0, 2 - math.floor(math.log10(size)))) if 0.0 < size < math.inf else 2


def bars(values: Sequence[float], width: int = 24) -> list[str]:
    """Return a bar per value, from zero, all together `width` signs at most; those of negative values end at zero.

    Examples
    --------
    >>> bars([1.0, 2.0, 4.0], 8)
    ['██', '████', '████████']
    >>> bars([-2.0, 0.0, 4.0], 6)
    ['██', '', '  ████']
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
