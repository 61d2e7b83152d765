"""The pieces into which conditions cut a column, or a sum over several, and which conditions hold in each.

Conditions on one column cut it into runs of floats, which are known to the last one; its categories and its missing
value are pieces of their own. Conditions that compare the same sum over several columns share its pieces.
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
from bgn.model.term import Oblique, Projection

_FEW = 100  # whole numbers that are pieces of their own
_LISTED = 4096  # combinations of categories whose sums are listed


@dataclass(frozen=True, eq=False)
class Cuts:
    """One column, or one sum over several, piece by piece.

    Attributes
    ----------
    projection : Projection
        The sum; of a column alone the column itself.
    conditions : list of int
        The conditions that compare it.
    edges : ndarray, shape (pieces, 2)
        Between which values a piece lies; of a column the first and the last one, NaN for a missing value.
    strict : ndarray of bool, shape (pieces, 2)
        Edges that do not belong to the piece.
    signs : ndarray, shape (pieces, conditions)
        +1 where a condition holds, else -1.
    categorical : bool
    missing : int or None
        The piece, the last one, in which a column is missing, or a missing value leaves no sum.
    """

    projection: Projection
    conditions: list[int]
    edges: Floats
    strict: Bools
    signs: Floats
    categorical: bool = False
    missing: int | None = None

    @property
    def column(self) -> int | None:
        """The column; None for a sum over several."""
        return self.projection.columns[0] if len(self.projection.columns) == 1 else None


def cut_column(
    conditions: Sequence[Oblique], domain: Domain, column: int, ends: Sequence[float] = (), one_by_one: bool = False
) -> Cuts:
    """Return the pieces of one column, cut at some `ends`, too; with `one_by_one`, each whole number is one where they
    are few."""
    own = [k for k, condition in enumerate(conditions) if condition.projection.columns == (column,)]
    allowed, row = domain.categories[column], domain.start[np.newaxis]
    if allowed is not None:
        edges = np.array([(code, code) for code in allowed], np.float64)
    else:
        turns = np.array([*(crossings(conditions[k], column, row)[0] for k in own), *ends])
        low, high, whole = domain.low[column], domain.high[column], domain.whole[column]
        turns = np.ceil(turns) if whole else turns
        if whole and one_by_one and high - low < _FEW:
            turns = np.arange(low, high + 1.0)
        first = np.unique([low, *turns[np.isfinite(turns) & (turns > low) & (turns <= high)]])
        last = np.append(first[1:] - 1.0 if whole else np.nextafter(first[1:], -np.inf), high)
        edges = np.column_stack([first, last])
    if domain.missing[column]:
        edges = np.vstack([edges[: 0 if column in domain.absent else None], [np.nan, np.nan]])
    rows = np.repeat(row, len(edges), axis=0)
    rows[:, column] = edges[:, 0]
    signs = [np.where(conditions[k].holds(rows), 1.0, -1.0) for k in own]
    return Cuts(
        Projection((column,), (1.0,)), own, edges, np.zeros(edges.shape, dtype=bool),
        np.array(signs).T.reshape(len(edges), len(own)), allowed is not None,
        len(edges) - 1 if domain.missing[column] else None,
    )  # fmt: skip


def cut_sums(conditions: Sequence[Oblique], domain: Domain) -> list[Cuts]:
    """Return the pieces of the sums over several columns that conditions compare."""
    groups: dict[tuple[Projection, bool], list[tuple[int, float]]] = {}
    for k, condition in enumerate(conditions):
        if len(condition.projection.columns) > 1:
            scaled, factor = _scaled(condition.projection)
            groups.setdefault((scaled, condition.projection.missing_as is None), []).append((k, factor))
    return [_cut_sum(conditions, domain, scaled, members) for (scaled, _), members in groups.items()]


def _scaled(projection: Projection) -> tuple[Projection, float]:
    """Return a projection divided by its first number's sign and power of two, which rounds nothing; and that."""
    first = next((number for number in projection.numbers if number != 0.0), 1.0)
    factor = copysign(2.0 ** min(frexp(first)[1], 1023), first)
    coefficients = tuple(
        tuple(value / factor for value in number) if isinstance(number, tuple) else number / factor
        for number in projection.coefficients
    )
    missing_as = None
    if projection.missing_as is not None:
        pairs = zip(projection.missing_as, projection.coefficients, strict=True)
        missing_as = tuple(
            value / factor if isinstance(number, tuple) or number == 0.0 else value for value, number in pairs
        )
    return Projection(projection.columns, coefficients, missing_as), factor


def _cut_sum(
    conditions: Sequence[Oblique], domain: Domain, scaled: Projection, members: list[tuple[int, float]]
) -> Cuts:
    """Return the pieces of one sum; each member is a condition and the factor of the sum that it compares."""
    own, factors = [k for k, _ in members], np.array([factor for _, factor in members])
    cuts = np.array([conditions[k].threshold for k in own]) / factors
    # A condition that looks along the sum turns at its threshold, one that looks against it just after.
    turns = list(zip(cuts.tolist(), (factors < 0).tolist(), strict=True))
    keys = sorted(set(turns))
    passed = np.arange(len(keys) + 1)[:, np.newaxis] > [keys.index(turn) for turn in turns]
    signs = np.where(passed == (factors > 0), 1.0, -1.0)
    ends, late = [-np.inf, *(cut for cut, _ in keys), np.inf], [after for _, after in keys]
    edges = np.column_stack([ends[:-1], ends[1:]])
    strict = np.array([[False, *late], [*(not after for after in late), False]]).T
    sums = _list_sums(domain, scaled)
    if sums is not None:  # the pieces that hold a sum, each from its least to its greatest
        spans = []
        for (low, high), (after, before) in zip(edges, strict, strict=True):
            inside = sums[((sums > low) if after else (sums >= low)) & ((sums < high) if before else (sums <= high))]
            spans.append((float(inside[0]), float(inside[-1])) if len(inside) else (np.nan, np.nan))
        edges = np.array(spans)
        kept = ~np.isnan(edges[:, 0])
        edges, signs = edges[kept], signs[kept]
        strict = np.zeros(edges.shape, dtype=bool)
    if scaled.missing_as is None and any(domain.missing[column] for column in scaled.columns):
        if domain.absent.intersection(scaled.columns):  # there is no sum at all
            signs, edges, strict = signs[:0], edges[:0], strict[:0]
        signs = np.vstack([signs, [1.0 if conditions[k].missing else -1.0 for k in own]])
        edges, strict = np.vstack([edges, [-np.inf, np.inf]]), np.vstack([strict, [False, False]])
        return Cuts(scaled, own, edges, strict, signs, missing=len(edges) - 1)
    return Cuts(scaled, own, edges, strict, signs)


def _list_sums(domain: Domain, scaled: Projection) -> Floats | None:
    """Return all values that a sum over categories and whole numbers may have; None where they are too many."""
    options = []
    for place, (column, coefficient) in enumerate(zip(scaled.columns, scaled.coefficients, strict=True)):
        low, high = domain.low[column], domain.high[column]
        if isinstance(coefficient, tuple):
            values = [coefficient[code] for code in domain.categories[column] or ()]
        elif coefficient == 0.0:
            values = [0.0]
        elif domain.whole[column] and high - low < _LISTED:
            values = (coefficient * np.arange(low, high + 1.0)).tolist()
        else:
            return None
        if domain.missing[column] and scaled.missing_as is not None:
            factor = 1.0 if isinstance(coefficient, tuple) else coefficient or 1.0
            values = [*values, scaled.missing_as[place] * factor]
        options.append(values)
    if prod(map(len, options)) > _LISTED:
        return None
    totals = [0.0]
    for count, values in enumerate(options):
        totals = [total + value if count else value for total, value in product(totals, values)]
    return np.unique(totals)
