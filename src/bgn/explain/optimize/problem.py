"""A score to be driven as high as it goes: questions with weights, slopes, and the rows that count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.explain.arguments import column_of, value_if_missing
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.schema import Column
from bgn.model.step import Bools, Floats
from bgn.model.term import Oblique

# -- Which rows are asked about: ranges of numbers, levels of categories, and whether gaps count.


@dataclass(frozen=True, eq=False)
class Domain:
    """Rows by their columns, each on its own.

    Attributes
    ----------
    low, high : ndarray, shape (columns,)
        Ends of a number's range, infinite where there are none.
    whole : ndarray of bool, shape (columns,)
        Numbers that must be whole.
    categories : tuple of (tuple of int or None)
        Numbers of the levels that a category may have; None for a number.
    missing : ndarray of bool, shape (columns,)
        Where a gap is a value of its own.
    start : ndarray, shape (columns,)
        What a column holds where it does not matter.
    absent : frozenset of int
        Columns that hold a gap and nothing else.
    """

    low: Floats
    high: Floats
    whole: Bools
    categories: tuple[tuple[int, ...] | None, ...]
    missing: Bools
    start: Floats
    absent: frozenset[int] = frozenset()


def read_domain(network: Network, within: Any, missing: bool) -> Domain:
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
    categories = tuple(_categories(kind, told.get(j)) for j, kind in enumerate(columns))
    low, high = np.array(ends).reshape(-1, 2).T
    whole = np.array([seen and kind.whole for kind in columns], dtype=bool)
    low[whole], high[whole] = np.ceil(low[whole]), np.floor(high[whole])
    sees = [value_if_missing(network, j) for j in range(len(columns))]
    visible = np.array([gap is not None and gap != gap for gap in sees], dtype=bool)
    absent = np.array([kind.always_missing for kind in columns], dtype=bool)
    start = [_start(*each) for each in zip(columns, categories, low.tolist(), high.tolist(), strict=True)]
    without_values = frozenset(np.flatnonzero(absent).tolist())
    return Domain(low, high, whole, categories, (visible & missing) | absent, np.array(start), without_values)


def _start(column: Column, allowed: tuple[int, ...] | None, low: float, high: float) -> float:
    """Return what a column holds where it does not matter; NaN where it can only be missing."""
    if allowed is None:
        return float(np.clip(column.typical or 0.0, low, high))
    if not allowed:
        return np.nan
    return float(allowed[0] if column.typical is None or column.typical not in allowed else column.typical)


def _ends(column: Column, bounds: Any, seen: bool) -> tuple[float, float]:
    """Return the range of a number."""
    if column.categories is not None:
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


def _categories(column: Column, bounds: Any) -> tuple[int, ...] | None:
    """Return the numbers of the levels that a category may have."""
    if column.categories is None:
        return None
    if bounds is None:
        return tuple(range(len(column.categories)))
    wanted = [bounds] if isinstance(bounds, str) or not isinstance(bounds, Iterable) else list(bounds)
    if column.always_missing:
        raise ValueError(f"within names {column.name!r}, which has no levels: the model does not use it. Leave it out.")
    unknown = [category for category in wanted if category not in column.categories]
    if unknown or not wanted:
        raise ValueError(
            f"within must give {column.name!r} some of its levels, {', '.join(map(repr, column.categories))}; "
            f"got {bounds!r}."
        )
    return tuple(sorted({column.categories.index(category) for category in wanted}))


# A column without ends is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0
# Where questions about the same two numbers meet farther away, it is searched up to so many times.
_FARTHEST = 1e6


@dataclass(frozen=True, eq=False)
class ScoreProblem:
    """What is to be made as large as possible.

    Attributes
    ----------
    neurons : tuple of Oblique
        The first layer's questions; then `limits` more, which must be answered yes.
    weights : ndarray
        What each neuron of the last layer is worth.
    slopes : ndarray, shape (columns,)
    ends : ndarray, shape (columns, 2)
        Between which values each slope counts; infinite where it has no ends. Column by column, a part of the domain
        beyond an end is a problem of its own (:meth:`beyond`).
    domain : Domain
    deeper : tuple of Layer
        The layers above the first.
    limits : int
    missing_as : tuple of (int, float)
        Columns with slopes where a gap is a value of its own, and what it counts as for the slope: such rows are a
        problem of their own (:meth:`beyond`).
    """

    neurons: tuple[Oblique, ...]
    weights: Floats
    slopes: Floats
    domain: Domain
    deeper: tuple[Layer, ...] = ()
    limits: int = 0
    ends: Floats | None = None
    constant: float = 0.0
    missing_as: tuple[tuple[int, float], ...] = ()

    def beyond(self) -> list[ScoreProblem]:
        """Return problems that cover this one: without gaps in the first column with a slope that may have some, and
        with; or each on one side of an end of the first slope that has rows beyond. None where no slope has either."""
        for place, (column, counted) in enumerate(self.missing_as):
            if self.slopes[column]:
                rest = replace(self, missing_as=self.missing_as[:place] + self.missing_as[place + 1 :])
                return [rest, rest._absent(column, counted)]
        if self.ends is None:
            return []
        for column in np.flatnonzero(self.slopes).tolist():
            (low, high), domain = self.ends[column].tolist(), self.domain
            least, most = domain.low[column], domain.high[column]
            if low <= least and most <= high:
                continue
            whole = bool(domain.whole[column])
            inner = (np.ceil(low), np.floor(high)) if whole else (low, high)
            spans = [(least, min(most, low), low), (max(least, inner[0]), min(most, inner[1]), None)]
            spans.append((max(least, high), most, high))
            return [self._between(column, *span) for span in spans if span[0] <= span[1]]
        return []

    def _absent(self, column: int, counted: float) -> ScoreProblem:
        """Return the problem with a gap in a column, whose slope adds what the gap counts as."""
        here = np.arange(len(self.slopes)) == column
        domain = replace(self.domain, missing=self.domain.missing | here, absent=self.domain.absent | {column})
        constant = self.constant + float(self.slopes[column]) * counted
        return replace(self, domain=domain, slopes=np.where(here, 0.0, self.slopes), constant=constant)

    def _between(self, column: int, low: float, high: float, end: float | None) -> ScoreProblem:
        """Return the problem with a column between two values; beyond an `end` its slope adds what it adds there."""
        here = np.arange(len(self.slopes)) == column
        low, high = (np.ceil(low), np.floor(high)) if self.domain.whole[column] and low < high else (low, high)
        domain = replace(
            self.domain, low=np.where(here, low, self.domain.low), high=np.where(here, high, self.domain.high)
        )
        if end is None:
            assert self.ends is not None
            ends = np.where(here[:, np.newaxis], [-np.inf, np.inf], self.ends)
            return replace(self, domain=domain, ends=ends)
        constant = self.constant + float(self.slopes[column]) * end
        return replace(self, domain=domain, slopes=np.where(here, 0.0, self.slopes), constant=constant)

    @property
    def width(self) -> int:
        """Number of questions that count."""
        return len(self.neurons) - self.limits

    @property
    def columns(self) -> list[int]:
        """The columns that matter."""
        read = {column for neuron in self.neurons for column in neuron.projection.columns}
        return sorted(read | set(np.flatnonzero(self.slopes).tolist()))

    def scores(self, answers: Floats) -> Floats:
        """Return what answers to the questions, shape (rows, neurons), are worth; -inf where a limit is not met."""
        met, answers = (answers[:, self.width :] > 0).all(axis=1), answers[:, : self.width]
        for layer in self.deeper:
            answers = layer.fire(answers)
        return np.where(met, answers @ self.weights + self.constant, -np.inf)

    def values(self, rows: Floats) -> Floats:
        """Return what is made large, row by row; -inf where a limit is not met."""
        answers = np.array([np.where(neuron.fires(rows), 1.0, -1.0) for neuron in self.neurons])
        columns = np.flatnonzero(self.slopes)
        straight = rows[:, columns] @ self.slopes[columns]
        return self.scores(answers.reshape(len(self.neurons), len(rows)).T) + straight

    def value(self, row: Floats) -> float:
        """Return what is made large, at one row."""
        return float(self.values(row[np.newaxis])[0])

    def parts(self) -> Iterator[ScoreProblem]:
        """Yield problems that share no column and add up to this one."""
        if self.deeper:
            yield self
            return
        root = {column: column for column in self.columns}

        def find(column: int) -> int:
            while root[column] != column:
                column = root[column]
            return column

        for neuron in self.neurons:
            for column in neuron.projection.columns[1:]:
                root[find(column)] = find(neuron.projection.columns[0])
        for top in sorted({find(column) for column in root}):
            own = [k for k, neuron in enumerate(self.neurons)
                   if neuron.projection.columns and find(neuron.projection.columns[0]) == top]  # fmt: skip
            slopes = np.array([slope if j in root and find(j) == top else 0.0 for j, slope in enumerate(self.slopes)])
            kept = [k for k in own if k < self.width]
            yield replace(
                self, neurons=tuple(self.neurons[k] for k in own), weights=self.weights[kept], slopes=slopes,
                limits=len(own) - len(kept),
            )  # fmt: skip

    def bounded(self) -> ScoreProblem:
        """Return the problem with ends where a column has none: far beyond every threshold."""
        reach = np.zeros(len(self.slopes))
        straight = [] if self.ends is None else [*self.ends.T]
        for ends in (self.domain.low, self.domain.high, *straight):
            reach = np.maximum(reach, np.where(np.isfinite(ends), np.abs(ends), 0.0))
        for several in (False, True):
            known = reach.copy()
            for neuron in self.neurons:
                if (len(neuron.projection.columns) > 1) == several:
                    for column, away in _thrown(neuron, known):
                        reach[column] = max(reach[column], away)
        far = np.maximum(
            _FAR * (reach + 1.0), np.minimum(2.0 * _met(self.neurons, len(reach)), _FARTHEST * (reach + 1.0))
        )
        low = np.where(np.isfinite(self.domain.low), self.domain.low, np.minimum(-far, self.domain.high - far))
        high = np.where(np.isfinite(self.domain.high), self.domain.high, np.maximum(far, self.domain.low + far))
        return replace(self, domain=replace(self.domain, low=low, high=high))


def _met(neurons: Sequence[Oblique], count: int) -> Floats:
    """Return how far from 0 the thresholds of two questions about the same two numbers meet, by column."""
    found, lines = np.zeros(count), dict[tuple[int, ...], list[list[float]]]()
    for neuron in neurons:
        if len(neuron.projection.columns) == 2 and neuron.projection.numeric:
            lines.setdefault(neuron.projection.columns, []).append([*neuron.projection.factors, neuron.threshold])
    for columns, rows in lines.items():
        a, b, c = np.array(rows).T
        across = np.multiply.outer(a, b) - np.multiply.outer(b, a)
        for column, factor in zip(columns, (b, a), strict=True):
            met = np.abs(np.multiply.outer(c, factor) - np.multiply.outer(factor, c))
            met = np.divide(met, np.abs(across), out=np.zeros_like(met), where=across != 0)
            found[column] = max(found[column], float(met.max()))
    return found


def _thrown(neuron: Oblique, reach: Floats) -> Iterator[tuple[int, float]]:
    """Yield for every number that a neuron reads how far from 0 its threshold may lie."""
    pairs = list(zip(neuron.projection.columns, neuron.projection.coefficients, strict=True))
    sizes = [max(map(abs, each), default=0.0) if isinstance(each, tuple) else abs(each) * reach[j] for j, each in pairs]
    for (column, each), size in zip(pairs, sizes, strict=True):
        if not isinstance(each, tuple) and each != 0.0:
            yield column, (abs(neuron.threshold) + sum(sizes) - size) / abs(each)


def problem_of(network: Network, domain: Domain, sign: float) -> ScoreProblem:
    """Return the problem of a network's highest score, or of its lowest where `sign` is -1."""
    first, weights = network.layers[0], sign * network.output_weights
    slopes, ends = np.zeros(network.n_inputs), np.tile([-np.inf, np.inf], (network.n_inputs, 1))
    for term, coef in zip(network.linear, network.linear_coef, strict=True):
        slopes[term.column] += sign * coef[0]
        ends[term.column] = term.low, term.high
    seen = [term for term in network.linear if domain.missing[term.column]]
    missing_as = tuple((each.column, float(each.between(np.array([np.nan]))[0])) for each in seen)
    domain = replace(domain, missing=domain.missing & (slopes == 0.0))
    straight: dict[str, Any] = {"ends": ends if np.isfinite(ends).any() else None, "missing_as": missing_as}
    if network.depth > 1:
        return ScoreProblem(first.neurons, weights, slopes, domain, network.layers[1:], **straight)
    kept = [k for k in range(first.width) if weights[k] != 0.0]
    neurons = tuple(first.neurons[k] for k in kept)
    return ScoreProblem(neurons, weights[kept], slopes, domain, **straight)
