"""The pieces into which questions cut a column, or a sum over several, and the answers in each.

Questions about one column cut it into runs of floats, which are known to the last one; its levels and its gap are
pieces of their own. Questions that compare the same sum over several columns share its pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import copysign, frexp, prod

import numpy as np

from bgn.explain.crossings import crossings
from bgn.explain.optimize.problem import Domain
from bgn.model.step import Bools, Floats
from bgn.model.term import Coefficient, Oblique, Projection

_FEW = 100  # whole numbers that are pieces of their own
_LISTED = 4096  # combinations of levels whose sums are listed


@dataclass(frozen=True, eq=False)
class ColumnPieces:
    """What a column may hold, piece by piece, and how the questions about it alone answer there.

    Attributes
    ----------
    column : int
    spans : ndarray, shape (pieces, 2)
        First and last value of every piece; NaN for a gap, which comes last.
    neurons : list of int
        The questions about this column alone.
    answers : ndarray, shape (pieces, neurons)
        +-1.
    category : bool
    """

    column: int
    spans: Floats
    neurons: list[int]
    answers: Floats
    category: bool

    @property
    def gap(self) -> int | None:
        """Which piece is the gap."""
        return len(self.spans) - 1 if np.isnan(self.spans[-1, 0]) else None


def column_pieces(neurons: Sequence[Oblique], domain: Domain, column: int, steep: bool = False) -> ColumnPieces:
    """Return the pieces of one column; of whole numbers on a slope each, where they are few."""
    own = [k for k, neuron in enumerate(neurons) if neuron.projection.columns == (column,)]
    allowed, row = domain.categories[column], domain.start[np.newaxis]
    if allowed is not None:
        spans = np.array([(code, code) for code in allowed], np.float64)
    else:
        turns = np.array([crossings(neurons[k], column, row)[0] for k in own])
        low, high, whole = domain.low[column], domain.high[column], domain.whole[column]
        turns = np.ceil(turns) if whole else turns
        if whole and steep and high - low < _FEW:
            turns = np.arange(low, high + 1.0)
        first = np.unique([low, *turns[np.isfinite(turns) & (turns > low) & (turns <= high)]])
        last = np.append(first[1:] - 1.0 if whole else np.nextafter(first[1:], -np.inf), high)
        spans = np.column_stack([first, last])
    if domain.missing[column]:
        spans = np.vstack([spans[: 0 if column in domain.absent else None], [np.nan, np.nan]])
    rows = np.repeat(row, len(spans), axis=0)
    rows[:, column] = spans[:, 0]
    answers = [np.where(neurons[k].fires(rows), 1.0, -1.0) for k in own]
    return ColumnPieces(
        column, spans, own, np.array(answers).T.reshape(len(spans), len(own)), allowed is not None
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SharedSum:
    """A sum over several columns that some questions compare, and the pieces between their thresholds.

    Piece r lies between ``edges[r, 0]`` and ``edges[r, 1]``, without an edge that is `strict`. Where a gap leaves no
    sum, the last piece is that, without edges.
    """

    projection: Projection
    neurons: list[int]
    edges: Floats
    strict: Bools
    answers: Floats
    loses: bool


def shared_sums(neurons: Sequence[Oblique], domain: Domain) -> list[SharedSum]:
    """Return the sums over several columns that questions compare."""
    groups: dict[tuple[Projection, bool], list[tuple[int, float]]] = {}
    for k, neuron in enumerate(neurons):
        if len(neuron.projection.columns) > 1:
            scaled, lead = _scaled(neuron.projection)
            groups.setdefault((scaled, neuron.projection.missing_as is None), []).append((k, lead))
    return [_shared_sum(neurons, domain, scaled, found) for (scaled, _), found in groups.items()]


def _scaled(projection: Projection) -> tuple[Projection, float]:
    """Return a projection divided by its first number's sign and power of two, which rounds nothing; and that."""
    first = next((each for each in projection.numbers if each != 0.0), 1.0)
    lead = copysign(2.0 ** min(frexp(first)[1], 1023), first)
    coefficients = tuple(
        tuple(value / lead for value in each) if isinstance(each, tuple) else each / lead
        for each in projection.coefficients
    )
    gaps = None
    if projection.missing_as is not None:
        pairs = zip(projection.missing_as, projection.coefficients, strict=True)
        gaps = tuple(gap / lead if isinstance(each, tuple) or each == 0.0 else gap for gap, each in pairs)
    return Projection(projection.columns, coefficients, gaps), lead


def _shared_sum(
    neurons: Sequence[Oblique], domain: Domain, scaled: Projection, found: list[tuple[int, float]]
) -> SharedSum:
    numbers, leads = [k for k, _ in found], np.array([lead for _, lead in found])
    cuts = np.array([neurons[k].threshold for k in numbers]) / leads
    # A neuron that looks along the sum turns at its threshold, one that looks against it just after.
    turns = list(zip(cuts.tolist(), (leads < 0).tolist(), strict=True))
    keys = sorted(set(turns))
    passed = np.arange(len(keys) + 1)[:, np.newaxis] > [keys.index(turn) for turn in turns]
    answers = np.where(passed == (leads > 0), 1.0, -1.0)
    ends, late = [-np.inf, *(cut for cut, _ in keys), np.inf], [after for _, after in keys]
    edges = np.column_stack([ends[:-1], ends[1:]])
    strict = np.array([[False, *late], [*(not after for after in late), False]]).T
    sums = _listed(domain, scaled)
    if sums is not None:
        edges, strict, kept = _tight(edges, strict, sums)
        answers = answers[kept]
    sees = [column for column in scaled.columns if domain.missing[column]]
    loses = scaled.missing_as is None and bool(sees)
    if loses:
        answers = np.vstack([answers, [1.0 if neurons[k].missing else -1.0 for k in numbers]])
        edges, strict = np.vstack([edges, [-np.inf, np.inf]]), np.vstack([strict, [False, False]])
    return SharedSum(scaled, numbers, edges, strict, answers, loses)


def _listed(domain: Domain, scaled: Projection) -> Floats | None:
    """Return all values that a sum over categories and whole numbers may have; None where they are too many."""
    options = []
    for place, (column, coefficient) in enumerate(zip(scaled.columns, scaled.coefficients, strict=True)):
        values = _values(domain, column, coefficient)
        if values is None:
            return None
        if domain.missing[column] and scaled.missing_as is not None:
            values = [*values, scaled.missing_as[place] * (1.0 if isinstance(coefficient, tuple) else coefficient or 1.0)]
        options.append(values)
    if prod(map(len, options)) > _LISTED:
        return None
    totals = [0.0]
    for count, values in enumerate(options):
        totals = [total + value if count else value for total, value in product(totals, values)]
    return np.unique(totals)


def _values(domain: Domain, column: int, coefficient: Coefficient) -> list[float] | None:
    """Return what a column may add to a sum; None where that is any of very many numbers."""
    allowed = domain.categories[column]
    if isinstance(coefficient, tuple):
        return [coefficient[code] for code in allowed or ()]
    if coefficient == 0.0:
        return [0.0]
    low, high = domain.low[column], domain.high[column]
    if not domain.whole[column] or not high - low < _LISTED:
        return None
    return (coefficient * np.arange(low, high + 1.0)).tolist()


def _tight(edges: Floats, strict: Bools, sums: Floats) -> tuple[Floats, Bools, list[int]]:
    """Return the pieces that hold a sum, each from its least to its greatest."""
    kept, ends = list[int](), list[tuple[float, float]]()
    for piece, ((low, high), (after, before)) in enumerate(zip(edges, strict, strict=True)):
        inside = sums[((sums > low) if after else (sums >= low)) & ((sums < high) if before else (sums <= high))]
        if len(inside):
            kept.append(piece)
            ends.append((float(inside[0]), float(inside[-1])))
    return np.array(ends), np.zeros((len(kept), 2), dtype=bool), kept
