"""A score to be driven as high as it goes: conditions with weights, linear terms, the rows that count, and the pieces
into which conditions cut columns and sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import copysign, frexp, prod
from typing import Any

import numpy as np

from bgn.explain.arguments import column_of, value_if_missing
from bgn.explain.crossings import crossings
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.schema import Column
from bgn.model.step import Bools, Floats
from bgn.model.term import Oblique, Projection

# -- Which rows count: ranges of numbers, categories, and whether missing values do.


@dataclass(frozen=True, eq=False)
class Domain:
    """Rows by their columns, one by one."""

    low: Floats  # ends of a number's range, infinite where there are none
    high: Floats
    whole: Bools  # numbers that must be whole
    categories: tuple[tuple[int, ...] | None, ...]  # numbers of those that a column may have; None for a number
    missing: Bools  # where a missing value is a value of its own
    start: Floats  # what a column holds where it does not matter
    absent: frozenset[int] = frozenset()  # columns that are always missing


def read_domain(network: Network, within: Any, missing: bool) -> Domain:
    """Return the rows that `within` names: "all", "seen", or bounds by column.

    A missing value that conditions see as such is a value of its own; one that they count as a number is that number.
    """
    if not (within in ("all", "seen") if isinstance(within, str) else isinstance(within, Mapping)):
        raise ValueError(f"within must be 'all', 'seen' or bounds by column, {{'age': (0, 100)}}; got {within!r}.")
    columns, bounds = network.schema.columns, dict[int, Any]()
    if isinstance(within, Mapping):
        bounds = {column_of(network, name, "within"): ends for name, ends in within.items()}
    seen = within == "seen"
    low, high = np.array([_ends(kind, bounds.get(j), seen) for j, kind in enumerate(columns)]).reshape(-1, 2).T
    categories = tuple(_categories(kind, bounds.get(j)) for j, kind in enumerate(columns))
    whole = np.array([seen and kind.whole for kind in columns], dtype=bool)
    low[whole], high[whole] = np.ceil(low[whole]), np.floor(high[whole])
    visible = np.array([np.isnan(value_if_missing(network, j) or 0.0) for j in range(len(columns))], dtype=bool)
    absent = np.array([kind.always_missing for kind in columns], dtype=bool)
    start = np.empty(len(columns))
    for j, (kind, allowed) in enumerate(zip(columns, categories, strict=True)):
        if allowed is None:
            start[j] = np.clip(kind.typical or 0.0, low[j], high[j])
        else:
            start[j] = kind.typical if kind.typical in allowed else allowed[0] if allowed else np.nan
    without_values = frozenset(np.flatnonzero(absent).tolist())
    return Domain(low, high, whole, categories, (visible & missing) | absent, start, without_values)


def _ends(column: Column, bounds: Any, seen: bool) -> tuple[float, float]:
    """Return the range of a number."""
    if column.categories is not None:
        return -np.inf, np.inf
    if bounds is None:
        return column.seen if seen and column.seen is not None else (-np.inf, np.inf)
    try:
        bottom, top = (None if end is None else float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"within must give {column.name!r} two ends, (low, high); got {bounds!r}.") from None
    low, high = -np.inf if bottom is None else bottom, np.inf if top is None else top
    if not low <= high:
        raise ValueError(f"within must give {column.name!r} a low end up to the high one; got {bounds!r}.")
    return low, high


def _categories(column: Column, bounds: Any) -> tuple[int, ...] | None:
    """Return the numbers of the categories that a column may have."""
    if column.categories is None:
        return None
    if bounds is None:
        return tuple(range(len(column.categories)))
    wanted = [bounds] if isinstance(bounds, str) or not isinstance(bounds, Iterable) else list(bounds)
    if column.always_missing:
        raise ValueError(f"within names {column.name!r}, which the model does not use. Leave it out.")
    if not wanted or any(category not in column.categories for category in wanted):
        raise ValueError(
            f"within must give {column.name!r} some of its categories, {', '.join(map(repr, column.categories))}; "
            f"got {bounds!r}."
        )
    return tuple(sorted({column.categories.index(category) for category in wanted}))


# A column without ends is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0
# Where conditions on the same two numbers meet farther away, it is searched up to so many times.
_FARTHEST = 1e6


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be made as large as possible.

    Of the conditions the first layer's count, the last `n_required` must hold. Linear terms count between the ends of
    `linear_range`; in columns of `missing_as` a missing value is one of its own, with what it counts as for the term.
    :meth:`split` makes problems of their own of both.
    """

    conditions: tuple[Oblique, ...]
    weights: Floats  # what every neuron of the last layer adds, or takes away where it does not fire
    linear_coef: Floats
    domain: Domain
    deeper: tuple[Layer, ...] = ()  # the layers above the first
    n_required: int = 0
    linear_range: Floats | None = None
    constant: float = 0.0
    missing_as: tuple[tuple[int, float], ...] = ()

    @property
    def n_scored(self) -> int:
        """Number of conditions that count."""
        return len(self.conditions) - self.n_required

    @property
    def columns(self) -> list[int]:
        """The columns that matter."""
        read = {column for condition in self.conditions for column in condition.columns}
        return sorted(read | set(np.flatnonzero(self.linear_coef).tolist()))

    def scores(self, signs: Floats) -> Floats:
        """Return the scores where conditions hold or not, shape (rows, conditions); -inf where a required one fails."""
        met, signs = (signs[:, self.n_scored :] > 0).all(axis=1), signs[:, : self.n_scored]
        for layer in self.deeper:
            signs = layer.fire(signs)
        return np.where(met, signs @ self.weights + self.constant, -np.inf)

    def values(self, rows: Floats) -> Floats:
        """Return what is made large, row by row; -inf where a required condition fails."""
        signs = np.array([np.where(condition.holds(rows), 1.0, -1.0) for condition in self.conditions])
        columns = np.flatnonzero(self.linear_coef)
        linear = rows[:, columns] @ self.linear_coef[columns]
        return self.scores(signs.reshape(len(self.conditions), len(rows)).T) + linear

    def value(self, row: Floats) -> float:
        """Return what is made large, at one row."""
        return float(self.values(row[np.newaxis])[0])

    def split(self) -> list[Problem]:
        """Return problems that cover this one, in which the next linear term is linear throughout: with and without a
        missing value, or on every side of its ends; none where all linear terms are."""
        for place, (column, counted) in enumerate(self.missing_as):
            if self.linear_coef[column]:
                here = np.arange(len(self.linear_coef)) == column
                rest = replace(self, missing_as=self.missing_as[:place] + self.missing_as[place + 1 :])
                domain = replace(self.domain, missing=self.domain.missing | here, absent=self.domain.absent | {column})
                return [rest, replace(rest, domain=domain)._fixed(column, counted)]
        if self.linear_range is None:
            return []
        for column in np.flatnonzero(self.linear_coef).tolist():
            (low, high), domain = self.linear_range[column].tolist(), self.domain
            least, most = domain.low[column], domain.high[column]
            if low <= least and most <= high:
                continue
            inner = (np.ceil(low), np.floor(high)) if domain.whole[column] else (low, high)
            spans = [(least, min(most, low), low), (max(least, inner[0]), min(most, inner[1]), None)]
            spans.append((max(least, high), most, high))
            return [self._between(column, *span) for span in spans if span[0] <= span[1]]
        return []

    def _fixed(self, column: int, value: float) -> Problem:
        """Return the problem in which a linear term adds what it adds at a value."""
        here = np.arange(len(self.linear_coef)) == column
        constant = self.constant + float(self.linear_coef[column]) * value
        return replace(self, linear_coef=np.where(here, 0.0, self.linear_coef), constant=constant)

    def _between(self, column: int, low: float, high: float, end: float | None) -> Problem:
        """Return the problem with a column between two values; beyond an `end` its linear term adds the same."""
        here, domain = np.arange(len(self.linear_coef)) == column, self.domain
        low, high = (np.ceil(low), np.floor(high)) if domain.whole[column] and low < high else (low, high)
        domain = replace(domain, low=np.where(here, low, domain.low), high=np.where(here, high, domain.high))
        if end is not None:
            return replace(self, domain=domain)._fixed(column, end)
        assert self.linear_range is not None
        linear_range = np.where(here[:, np.newaxis], [-np.inf, np.inf], self.linear_range)
        return replace(self, domain=domain, linear_range=linear_range)

    def parts(self) -> Iterator[Problem]:
        """Yield problems that share no column and add up to this one."""
        if self.deeper:
            yield self
            return
        root = {column: column for column in self.columns}

        def find(column: int) -> int:
            while root[column] != column:
                column = root[column]
            return column

        for condition in self.conditions:
            for column in condition.columns[1:]:
                root[find(column)] = find(condition.columns[0])
        for top in sorted({find(column) for column in root}):
            own = [k for k, condition in enumerate(self.conditions)
                   if condition.columns and find(condition.columns[0]) == top]  # fmt: skip
            linear = [coef if j in root and find(j) == top else 0.0 for j, coef in enumerate(self.linear_coef)]
            kept = [k for k in own if k < self.n_scored]
            yield replace(
                self, conditions=tuple(self.conditions[k] for k in own), weights=self.weights[kept],
                linear_coef=np.array(linear), n_required=len(own) - len(kept),
            )  # fmt: skip

    def bounded(self) -> Problem:
        """Return the problem with ends where a column has none: far beyond every threshold."""
        reach = np.zeros(len(self.linear_coef))
        ranges = [] if self.linear_range is None else [*self.linear_range.T]
        for ends in (self.domain.low, self.domain.high, *ranges):
            reach = np.maximum(reach, np.where(np.isfinite(ends), np.abs(ends), 0.0))
        for several in (False, True):
            known = reach.copy()
            for condition in self.conditions:
                if (len(condition.columns) > 1) != several:
                    continue
                factors = condition.projection.coefficients
                sizes = [max(map(abs, factor), default=0.0) if isinstance(factor, tuple) else abs(factor) * known[j]
                         for j, factor in zip(condition.columns, factors, strict=True)]  # fmt: skip
                for column, factor, size in zip(condition.columns, factors, sizes, strict=True):
                    if not isinstance(factor, tuple) and factor != 0.0:
                        distance = (abs(condition.threshold) + sum(sizes) - size) / abs(factor)
                        reach[column] = max(reach[column], distance)
        far = np.maximum(_FAR * (reach + 1.0), np.minimum(2.0 * self._meet(), _FARTHEST * (reach + 1.0)))
        low = np.where(np.isfinite(self.domain.low), self.domain.low, np.minimum(-far, self.domain.high - far))
        high = np.where(np.isfinite(self.domain.high), self.domain.high, np.maximum(far, self.domain.low + far))
        return replace(self, domain=replace(self.domain, low=low, high=high))

    def _meet(self) -> Floats:
        """Return how far from 0 the thresholds of two conditions on the same two numbers meet, by column."""
        distances, lines = np.zeros(len(self.linear_coef)), dict[tuple[int, ...], list[list[float]]]()
        for condition in self.conditions:
            projection = condition.projection
            if len(projection.columns) == 2 and projection.numeric:
                lines.setdefault(projection.columns, []).append([*projection.factors, condition.threshold])
        for columns, rows in lines.items():
            a, b, c = np.array(rows).T
            across = np.multiply.outer(a, b) - np.multiply.outer(b, a)
            for column, factor in zip(columns, (b, a), strict=True):
                met = np.abs(np.multiply.outer(c, factor) - np.multiply.outer(factor, c))
                met = np.divide(met, np.abs(across), out=np.zeros_like(met), where=across != 0)
                distances[column] = max(distances[column], float(met.max()))
        return distances


def problem_of(network: Network, domain: Domain, sign: float) -> Problem:
    """Return the problem of a network's highest score, or of its lowest where `sign` is -1."""
    first, weights = network.layers[0], sign * network.output_weights
    linear, ends = linear_terms_of(network, sign)
    terms = [term for term in network.linear if domain.missing[term.column]]
    counted = tuple((term.column, float(term.between(np.array([np.nan]))[0])) for term in terms)
    domain = replace(domain, missing=domain.missing & (linear == 0.0))
    # A condition without weight need not be looked at, unless deeper layers read it.
    kept = [k for k in range(len(first.neurons)) if network.depth > 1 or weights[k] != 0.0]
    return Problem(
        tuple(first.neurons[k] for k in kept), weights if network.depth > 1 else weights[kept], linear, domain,
        network.layers[1:], linear_range=ends if np.isfinite(ends).any() else None, missing_as=counted,
    )  # fmt: skip


def linear_terms_of(network: Network, sign: float) -> tuple[Floats, Floats]:
    """Return the weights of a network's linear terms by column, and between which values they count."""
    coef, ends = np.zeros(network.n_inputs), np.tile([-np.inf, np.inf], (network.n_inputs, 1))
    for term, weights in zip(network.linear, network.linear_coef, strict=True):
        coef[term.column] += sign * weights[0]
        ends[term.column] = term.low, term.high
    return coef, ends


def largest_score(network: Network) -> float:
    """Return what intercept and rules add up to at most, all signs aside."""
    return abs(network.base) + float(np.abs(network.output_weights).sum())


# -- The pieces of a column, known to the last float, or of a sum over several; categories and missing values are pieces
# of their own.

_FEW = 100  # whole numbers that are pieces of their own
_LISTED = 4096  # combinations of categories whose sums are listed


@dataclass(frozen=True, eq=False)
class Cuts:
    """One column, or one sum over several, piece by piece."""

    projection: Projection  # of a column alone the column itself
    conditions: list[int]  # that compare it
    edges: Floats  # (pieces, 2): of a column the first and the last value, NaN for a missing one
    strict: Bools  # (pieces, 2): edges that do not belong to the piece
    signs: Floats  # (pieces, conditions): +1 where a condition holds, else -1
    categorical: bool = False
    missing: int | None = None  # the last piece, in which a column is missing, or a missing value leaves no sum

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
