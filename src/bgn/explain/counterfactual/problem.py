"""What a counterfactual is asked for: the goal, the costs, and what a row may become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from bgn.explain.arguments import class_labels, class_number, column_of, columns_of, probabilities_of, rows_of
from bgn.explain.crossings import after_first
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.numbers import whole_numbers
from bgn.model.readings import is_turned
from bgn.model.schema import Category, Column, Schema, category_name
from bgn.model.step import Bools, Floats
from bgn.model.term import Linear, Oblique, Projection
from bgn.model.values import as_rows
from bgn.text import quote_name

# -- How far columns may go, and what it costs: as told, else from what was seen at fit.

_SPREADS = 4.0  # in the range seen at fit, where no rows tell the spread


def read_bounds(inputs: PlainInputs, bounds: Mapping[Any, Any] | None) -> tuple[Floats, Floats]:
    """Return the lowest and highest value of every input; by default what was seen at fit, and where the row is."""
    low, high = np.full(len(inputs.x), -np.inf), np.full(len(inputs.x), np.inf)
    for column, kind in enumerate(inputs.original.schema.columns):
        own = list(inputs.places[column])
        if np.isnan(inputs.row[column]):
            low[own] = high[own] = inputs.x[own]
        elif kind.categories is not None:
            low[own], high[own] = 0.0, 1.0
        elif kind.seen is not None:
            low[own], high[own] = min(kind.seen[0], inputs.row[column]), max(kind.seen[1], inputs.row[column])
    for name, limits in (bounds or {}).items():
        column = column_of(inputs.original, name, "bounds")
        kind, own = inputs.original.schema.columns[column], list(inputs.places[column])
        if np.isnan(inputs.row[column]):
            continue
        if kind.categories is not None:
            high[own] = _allowed(kind, int(inputs.row[column]), limits)
        else:
            low[own], high[own] = _ends(kind, float(inputs.row[column]), limits, (low[own[0]], high[own[0]]))
    return low, high


def categories_to_fill(kind: Column, limits: Any) -> list[float]:
    """Return the numbers of the levels that a gap may become; where it comes from no level, none is too high or low."""
    categories = kind.categories or ()
    free = limits is None or (isinstance(limits, str) and limits in ("increase", "decrease") and kind.ordered)
    allowed = np.ones(len(categories)) if free else _allowed(kind, 0, limits)
    return np.flatnonzero(allowed).astype(np.float64).tolist()


def _ends(kind: Column, value: float, limits: Any, seen: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a number's range."""
    if isinstance(limits, str) and limits in ("increase", "decrease"):
        return (value, seen[1]) if limits == "increase" else (seen[0], value)
    try:
        bottom, top = limits
        low, high = -np.inf if bottom is None else float(bottom), np.inf if top is None else float(top)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds of {kind.name!r} must be (low, high), 'increase' or 'decrease'; got {limits!r}."
        ) from None
    if not low <= high:
        raise ValueError(f"bounds of {kind.name!r} must have low <= high; got {limits!r}.")
    return low, high


def _allowed(kind: Column, own: int, limits: Any) -> Floats:
    """Return 1 for every level that a category may have, else 0."""
    categories = kind.categories or ()
    if isinstance(limits, str) and limits in ("increase", "decrease") and kind.ordered:
        codes = np.arange(len(categories))
        return np.asarray(codes >= own if limits == "increase" else codes <= own, dtype=np.float64)
    words = [] if isinstance(limits, str) or not np.iterable(limits) else list(limits)
    if not words or not set(words) <= set(categories):
        ordered = ", 'increase' or 'decrease'" if kind.ordered else ""
        raise ValueError(
            f"bounds of {kind.name!r} must be a list of some of its levels, {', '.join(map(category_name, categories))}"
            f"{ordered}; got {limits!r}."
        )
    return np.array([float(category in words) for category in categories])


def read_costs(inputs: PlainInputs, costs: Any, background: Any) -> Floats:
    """Return the price of one unit of every input; a change of level moves two of them."""
    network = inputs.original
    if isinstance(costs, str):
        if costs != "fewest":
            raise ValueError(f"costs must be a number per column, a mapping from names, or 'fewest'; got {costs!r}.")
        costs = None
    prices = default_prices(inputs, background)
    if isinstance(costs, Mapping):
        for name, value in costs.items():
            prices[column_of(network, name, "costs")] = value
    elif costs is not None:
        prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != (network.n_inputs,) or not ((prices > 0) & np.isfinite(prices)).all():
        raise ValueError(
            f"costs must be a positive number for each of the {network.n_inputs} columns; got {costs!r}. Use immutable "
            "for a column that must not change."
        )
    plain = np.ones(len(inputs.x))
    for column, price in enumerate(prices.tolist()):
        plain[list(inputs.places[column])] = price / 2.0 if inputs.is_group(column) else price
    return plain


def default_prices(inputs: PlainInputs, background: Any) -> Floats:
    """Return the price of one unit of every column: 1 per spread of a number, and per change of a category."""
    network, prices = inputs.original, np.ones(inputs.original.n_inputs)
    rows = None if background is None else rows_of(network, background, "background")
    for column, kind in enumerate(network.schema.columns):
        if kind.categories is not None:
            continue
        if rows is not None:
            known = rows[~np.isnan(rows[:, column]), column]
            spread = float(known.std()) if len(known) else 0.0
        else:
            spread = 0.0 if kind.seen is None else (kind.seen[1] - kind.seen[0]) / _SPREADS
        price = 1.0 / spread if spread > 0 else 1.0
        prices[column] = price if np.isfinite(price) and price > 0 else 1.0
    return prices


# -- A row of numbers, categories and gaps as plain numbers: what the search for a counterfactual works on.


@dataclass(frozen=True, eq=False)
class PlainInputs:
    """A network as the search sees it around one row.

    Attributes
    ----------
    original : Network
    row : ndarray
        The row asked about as the network reads it, NaN for a gap.
    network : Network
        The same on plain numbers.
    x : ndarray
        The row as plain numbers.
    places : tuple of tuple of int
        For every column its inputs: one for a number or a gap, one per level for a category.
    """

    original: Network
    row: Floats
    network: Network
    x: Floats
    places: tuple[tuple[int, ...], ...]

    def is_group(self, column: int) -> bool:
        """Whether a column is a category whose level may change."""
        return self.original.schema.columns[column].categories is not None and not np.isnan(self.row[column])

    def value(self, column: int, plain: Floats) -> Category | None:
        """Return what a column of the table holds in a row of plain numbers; None for a gap."""
        if np.isnan(self.row[column]):
            return None
        categories, values = self.original.schema.columns[column].categories, plain[list(self.places[column])]
        return float(values[0]) if categories is None else categories[int(values.argmax())]

    def table_row(self, plain: Floats) -> Any:
        """Return a row of plain numbers as the table has it: floats where all columns are numbers."""
        if self.original.schema.all_numbers:
            return np.where(np.isnan(self.row), np.nan, plain)
        values = np.empty(len(self.places), dtype=object)
        values[:] = [self.value(column, plain) for column in range(len(self.places))]
        return values


def plain_inputs(network: Network, row: Floats) -> PlainInputs:
    """Return a network around one row, which is as the questions see it, on plain numbers."""
    columns, first = network.schema.columns, network.layers[0]
    if network.schema.all_numbers and not first.takes_missing and not network.linear:
        return PlainInputs(network, row, network, row, tuple((j,) for j in range(len(row))))
    places, values = [], list[float]()
    for column, value in zip(columns, row.tolist(), strict=True):
        categories, gap = column.categories or (), bool(np.isnan(value))
        start = len(values)
        if gap:
            values.append(1.0)
        elif column.categories is None:
            values.append(value)
        else:
            values += [float(code == value) for code in range(len(categories))]
        places.append(tuple(range(start, len(values))))
    neurons = [_plain(neuron, row, places) for neuron in first.neurons]
    linear, coef = [], network.linear_coef.copy()
    for term, weights in zip(network.linear, coef, strict=True):
        (place,) = places[term.column]
        if np.isnan(row[term.column]):  # its input is 1 there
            linear.append(Linear(place))
            weights *= float(term.values(row[np.newaxis])[0])
        else:
            linear.append(replace(term, column=place))
    ends = [
        Oblique(Projection((term.column,), (1.0,)), end)
        for term in linear
        if term.clipped
        for end in (term.low, term.high)
    ]
    layers = (Layer.of([*neurons, *ends], len(values)), *network.layers[1:])
    weights = np.concatenate([network.output_weights, np.zeros((len(ends), *network.output_weights.shape[1:]))])
    schema = Schema.of_numbers(len(values), target=network.target_name)
    plain = Network.of_layers(
        layers, weights, network.base, schema=schema, link=network.link, bounds=network.bounds
    ).with_linear(linear, coef)
    return PlainInputs(network, row, plain, np.array(values), tuple(places))


def _plain(neuron: Oblique, row: Floats, places: list[tuple[int, ...]]) -> Oblique:
    """Return a neuron on plain numbers; one that has an answer for a gap of the row always gives it."""
    projection = neuron.projection
    if neuron.missing is not None and np.isnan(row[list(projection.columns)]).any():
        return Oblique(Projection((), ()), -1.0 if neuron.missing else 1.0)
    columns, factors = list[int](), list[float]()
    for place, (column, coefficient) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
        columns += places[column]
        if np.isnan(row[column]):
            factors += projection.at(place).values(row[np.newaxis]).tolist()
        else:
            factors += coefficient if isinstance(coefficient, tuple) else (coefficient,)
    return Oblique(Projection(tuple(columns), tuple(factors)), neuron.threshold)


# -- What a counterfactual is to reach: a number within limits, a probability, or a class.

_TINY = float(np.finfo(np.float64).smallest_subnormal)


class Limit(NamedTuple):
    """``scores @ factors >= least``."""

    factors: Floats
    least: float


class Goal(Protocol):
    """What is wanted of the scores of rows, one or several each."""

    @property
    def number(self) -> int | None:
        """The class whose probability is told; None for a number."""

    def holds(self, network: Network, scores: Floats) -> Bools:
        """Whether scores reach the goal."""

    def limits(self, network: Network) -> list[Limit]:
        """Return limits that hold wherever the goal is reached."""


def misses(goal: Goal, network: Network, scores: Floats) -> Floats:
    """Return by how much the scores of rows miss a goal's farthest limit; 0 where the goal holds."""
    columns, found = scores.reshape(len(scores), np.size(network.base)), np.full(len(scores), _TINY)
    for factors, least in goal.limits(network):
        found = np.maximum(found, least - columns @ factors)
    return np.where(goal.holds(network, scores), 0.0, found)


@dataclass(frozen=True)
class Between:
    """A number from `least` to `most`; a bound of the network is reached by all scores beyond it."""

    least: float
    most: float
    number: int | None = None

    def holds(self, network: Network, scores: Floats) -> Bools:
        found = network.linked(scores)
        return np.asarray((found >= self.least) & (found <= self.most))

    def limits(self, network: Network) -> list[Limit]:
        low, high = network.bounds or (-np.inf, np.inf)
        least, most = self.least if self.least > low else -np.inf, self.most if self.most < high else np.inf
        both = Limit(np.array([1.0]), least), Limit(np.array([-1.0]), -most)
        return [limit for limit in both if np.isfinite(limit.least)]


@dataclass(frozen=True)
class Chance:
    """A probability of the class `number` from `least` to `most`.

    A class of probability q has odds of at least q / (1 - q) against each other class of several, and at most
    (n - 1) q / (1 - q) against the likeliest of n - 1 others, `rival`. That is all that the solver is told of more than
    two: what does not reach q after all is ruled out region by region.
    """

    least: float
    most: float
    number: int | None
    rival: int | None = None

    def holds(self, network: Network, scores: Floats) -> Bools:
        found = probabilities_of(network, scores)[:, self.number]
        return np.asarray((found >= self.least) & (found <= self.most))

    def limits(self, network: Network) -> list[Limit]:
        with np.errstate(divide="ignore"):
            low, high = (float(np.log(each) - np.log1p(-each)) for each in (self.least, self.most))
        if network.link == "softmax":
            rivals = _against(network, self.number or 0)
            above = [Limit(factors, low) for _, factors in rivals if np.isfinite(low)]
            below = [Limit(-factors, -high - np.log(len(rivals))) for rival, factors in rivals if rival == self.rival]
            return above + below
        sign = 1.0 if self.number == 1 else -1.0
        both = Limit(np.array([sign]), low), Limit(np.array([-sign]), -high)
        return [limit for limit in both if np.isfinite(limit.least)]


@dataclass(frozen=True)
class Predicted:
    """The class `number`: no other has a higher score, and none before it the same."""

    number: int | None

    def holds(self, network: Network, scores: Floats) -> Bools:
        return np.asarray(predicted(scores) == self.number)

    def limits(self, network: Network) -> list[Limit]:
        # Sums of short decimals differ by a unit of the last place or not at all, but for straight lines.
        short = not network.linear
        whole = whole_numbers([*np.ravel(network.base), *np.ravel(network.output_weights)]) if short else None
        least = _TINY if whole is None else 1.0 / whole[1]
        if network.link == "softmax":
            own = self.number or 0
            return [Limit(factors, least if rival < own else 0.0) for rival, factors in _against(network, own)]
        return [Limit(np.array([1.0]), least) if self.number == 1 else Limit(np.array([-1.0]), 0.0)]


def predicted(scores: Floats) -> Any:
    """Return the number of the class that is predicted from scores: of equal ones the first."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def _against(network: Network, own: int) -> list[tuple[int, Floats]]:
    """Return the other classes, and the factors of the score of class `own` minus each of theirs."""
    unit = np.eye(np.size(network.base))
    return [(rival, unit[own] - unit[rival]) for rival in range(len(unit)) if rival != own]


# -- reading -----------------------------------------------------------------------------------------------


def read_goals(
    network: Network, at_least: float | None, at_most: float | None, to: Any, probability: Any
) -> Sequence[Goal]:
    """Return what is wanted, one goal or several of which any will do, or say what is wrong with it."""
    if network.link == "identity":
        if to is not None or probability is not None:
            raise ValueError(
                "to and probability are for classes; the model predicts a number. Use at_least or at_most."
            )
        return [_between(at_least, at_most, network.bounds or (-np.inf, np.inf))]
    if at_least is not None or at_most is not None:
        raise ValueError("at_least and at_most are for numbers; the model tells classes apart. Use to or probability.")
    labels = class_labels(network)
    if to is None and (probability is None or len(labels) > 2):
        known = ", ".join(map(repr, labels[:10]))
        raise ValueError(f"to must be given: the class that is wanted, one of {known}.")
    number = int(not is_turned(network)) if to is None else class_number(network, to, "to")
    return [Predicted(number)] if probability is None else _chances(number, probability, len(labels))


def _between(at_least: float | None, at_most: float | None, bounds: tuple[float, float]) -> Between:
    """Return the least and the greatest prediction that is wanted."""
    if at_least is None and at_most is None:
        raise ValueError("at_least or at_most must be given: the prediction that is wanted.")
    for argument, wanted in (("at_least", at_least), ("at_most", at_most)):
        if wanted is not None and not np.isfinite(wanted):
            raise ValueError(f"{argument} must be a finite number; got {wanted}. Use None for no limit.")
    least = -np.inf if at_least is None else float(at_least)
    most = np.inf if at_most is None else float(at_most)
    if least > most:
        raise ValueError(f"at_least must not be above at_most; got {at_least} and {at_most}.")
    if least > bounds[1]:
        raise ValueError(f"at_least must not be above {bounds[1]:g}, which no prediction goes beyond; got {at_least}.")
    if most < bounds[0]:
        raise ValueError(f"at_most must not be below {bounds[0]:g}, which no prediction goes beyond; got {at_most}.")
    return Between(least, most)


def _chances(number: int, probability: Any, n_classes: int) -> Sequence[Chance]:
    """Return the least and the greatest probability that is wanted, for every other class that may be the likeliest."""
    try:
        least, most = map(float, probability)
    except (TypeError, ValueError):
        raise ValueError(f"probability must be a pair such as (0.5, 1); got {probability!r}.") from None
    if not 0.0 <= least <= most <= 1.0:
        raise ValueError(f"probability must be a pair from 0 to 1, the lower one first; got {probability!r}.")
    if n_classes > 2 and most < 1.0:
        return [Chance(least, most, number, rival) for rival in range(n_classes) if rival != number]
    return [Chance(least, most, number)]


@dataclass(frozen=True, eq=False)
class ChangeProblem:
    """What a counterfactual is asked for, read once.

    The first layer has the constraints as further neurons, which must fire: thresholds and constraints are then
    decided by one and the same arithmetic. A `part` is what changes as one: a column, or the columns of a one-hot
    group. An answer must not change all the parts of a set in `barred`. Columns that are `filled` have changed before
    they move: `max_changed` does not count them again.
    """

    network: Network
    layer: Layer
    x: Floats
    goal: Goal
    costs: Floats
    low: Floats
    high: Floats
    integer: Bools
    parts: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    max_changed: int | None
    barred: tuple[frozenset[int], ...] = ()
    filled: frozenset[int] = frozenset()

    @property
    def counted(self) -> Bools:
        """Which parts `max_changed` counts."""
        return np.array([not self.filled.issuperset(part) for part in self.parts], dtype=bool)

    @property
    def linear_columns(self) -> list[int]:
        """The columns with linear terms."""
        return [term.column for term in self.network.linear]

    @property
    def most(self) -> int:
        """How many parts an answer can change."""
        return len(self.parts) if self.max_changed is None else min(
            self.max_changed + int((~self.counted).sum()), len(self.parts)
        )  # fmt: skip

    def holds(self, answers: Floats, rows: Floats) -> Bools:
        """Whether the first layer's answers to rows meet the constraints and reach a wanted prediction."""
        wanted = self.goal.holds(self.network, after_first(self.network, answers[:, : self.network.widths[0]], rows))
        return wanted & (answers[:, self.network.widths[0] :] > 0).all(axis=1)

    def allows(self, rows: Floats, wanted: bool = True) -> Bools:
        """Whether rows obey every limit, and reach a wanted prediction unless told not to look."""
        fixed = np.setdiff1d(np.arange(len(self.x)), [column for part in self.parts for column in part])
        fine = ((rows >= self.low) & (rows <= self.high)).all(axis=1) & (rows[:, fixed] == self.x[fixed]).all(axis=1)
        fine &= (rows[:, self.integer] == np.rint(rows[:, self.integer])).all(axis=1)
        for group in self.groups:
            fine &= ((rows[:, group] == 0) | (rows[:, group] == 1)).all(axis=1) & (rows[:, group].sum(axis=1) == 1)
        changed = self.changed(rows)
        if self.max_changed is not None:
            fine &= changed[:, self.counted].sum(axis=1) <= self.max_changed
        for barred in self.barred:
            fine &= ~changed[:, sorted(barred)].all(axis=1)
        answers = self.layer.fire(rows)
        if wanted:
            return fine & self.holds(answers, rows)
        return fine & (answers[:, self.network.widths[0] :] > 0).all(axis=1)

    def changed(self, rows: Floats) -> Bools:
        """Which parts differ from the row asked about, shape (rows, parts)."""
        differs = rows != self.x
        return np.column_stack([np.zeros((len(rows), 0), dtype=bool), *(differs[:, p].any(axis=1) for p in self.parts)])

    def price(self, rows: Floats) -> Floats:
        """Return the cost of turning the row asked about into each row."""
        return np.abs(rows - self.x) @ self.costs

    def cost(self, row: Floats) -> float:
        """Return the cost of turning the row asked about into another."""
        return float(self.price(row[np.newaxis])[0])

    def fits(self, row: Floats, wanted: bool = True) -> bool:
        """Whether one row obeys every limit, and reaches a wanted prediction unless told not to look."""
        return bool(self.allows(row[np.newaxis], wanted)[0])

    def misses(self, rows: Floats) -> Floats:
        """Return how far the rows' predictions are from the wanted ones."""
        return misses(self.goal, self.network, self.network.raw_score(rows))

    def without(self, changed: Iterable[int]) -> ChangeProblem:
        """Return the problem with one more set of parts barred; what was filled has changed in any case."""
        return replace(self, barred=(*self.barred, frozenset(k for k in changed if self.counted[k])))


@dataclass(frozen=True)
class Limits:
    """What a user says of a row's change, as :func:`bgn.counterfactual` takes it."""

    costs: Any = None
    bounds: Mapping[Any, Any] | None = None
    immutable: Iterable[Any] = ()
    max_changed: int | None = None
    integer: Iterable[Any] | None = None
    constraints: Any = None
    one_hot: Sequence[Iterable[Any]] = ()
    background: Any = None


def read_problem(inputs: PlainInputs, goal: Goal, limits: Limits, still: Iterable[int] = ()) -> ChangeProblem:
    """Check and read the arguments of :func:`bgn.counterfactual`; the columns `still` stay whatever they say."""
    network, row, x = inputs.original, inputs.row, inputs.x
    if limits.max_changed is not None and limits.max_changed < 1:
        raise ValueError(f"max_changed must be at least 1; got {limits.max_changed}. Use None for no limit.")
    low, high = read_bounds(inputs, limits.bounds)
    whole = _read_whole(inputs, limits.integer)
    groups = [inputs.places[column] for column in range(len(row)) if inputs.is_group(column)]
    groups += [
        tuple(inputs.places[column][0] for column in group) for group in _read_groups(network, row, limits.one_hot)
    ]
    grouped = [place for group in groups for place in group]
    low[grouped], high[grouped] = np.maximum(low[grouped], 0.0), np.minimum(high[grouped], 1.0)
    whole[grouped] = True
    fixed = [place for column in still for place in inputs.places[column]]
    for column in columns_of(network, limits.immutable, "immutable"):
        own = list(inputs.places[column])
        if not ((low[own] <= x[own]) & (x[own] <= high[own])).all():
            raise ValueError(
                f"immutable has {network.names[column]!r}, but x has {inputs.value(column, x)} there, outside its "
                f"bounds {(limits.bounds or {}).get(network.names[column], '')}. Leave out one of the two."
            )
        fixed += own
    low[fixed] = high[fixed] = x[fixed]
    asked = [_plain_constraint(inputs, each) for each in read_constraints(network, row, limits.constraints)]
    layer = Layer.of([*inputs.network.layers[0].neurons, *asked], inputs.network.n_inputs)
    used, outside = layer.reads.any(axis=0), (x < low) | (x > high)
    moving = [*np.flatnonzero(used & ~np.isin(np.arange(len(x)), fixed)), *np.flatnonzero(outside & ~used)]
    parts: list[tuple[int, ...]] = [(int(column),) for column in moving if column not in grouped]
    parts += [group for group in groups if not set(group) <= set(fixed)]
    return ChangeProblem(
        inputs.network, layer, x, goal, read_costs(inputs, limits.costs, limits.background), low, high, whole,
        tuple(parts), tuple(groups), limits.max_changed,
    )  # fmt: skip


def _plain_constraint(inputs: PlainInputs, constraint: Oblique) -> Oblique:
    """Return a constraint on plain numbers, or say why it is none."""
    for column in constraint.projection.columns:
        kind, name = inputs.original.schema.columns[column], inputs.original.names[column]
        if kind.categories is not None:
            raise ValueError(f"constraints speaks of {name!r}, a category; only numbers can be added up. Use bounds.")
        if np.isnan(inputs.row[column]):
            raise ValueError(f"constraints speaks of {name!r}, which is missing in x. Leave it out.")
    columns = tuple(inputs.places[column][0] for column in constraint.projection.columns)
    return Oblique(Projection(columns, constraint.projection.coefficients), constraint.threshold)


def _read_groups(network: Network, row: Floats, one_hot: Sequence[Iterable[Any]]) -> tuple[tuple[int, ...], ...]:
    """Return the columns of every one-hot group."""
    groups = tuple(tuple(columns_of(network, group, "one_hot")) for group in one_hot)
    for group in groups:
        values = row[list(group)]
        if not (np.isin(values, (0.0, 1.0)).all() and values.sum() == 1):
            names = ", ".join(quote_name(network.names[column]) for column in group)
            raise ValueError(f"one_hot group {names} must have a single 1 in x; got {values.tolist()}.")
    if len({column for group in groups for column in group}) < sum(map(len, groups)):
        raise ValueError("one_hot groups must not share columns.")
    return groups


def read_row(network: Network, x: Any) -> Floats:
    """Return the row asked about, NaN for a gap: a sequence, a mapping or series by name, or a table of one row."""
    x = as_rows(x)
    if len(rows_of(network, x, "x")) != 1:
        raise ValueError(f"x must be one row; got {len(rows_of(network, x, 'x'))}.")
    return network.schema.encode(x, missing=True)[0].copy()


def _read_whole(inputs: PlainInputs, integer: Iterable[Any] | None) -> Bools:
    """Return which inputs must stay whole numbers: those told, else those that were whole at fit, and here."""
    network, row, whole = inputs.original, inputs.row, np.zeros(len(inputs.x), dtype=bool)
    if integer is None:
        columns = [j for j, kind in enumerate(network.schema.columns) if kind.whole and row[j] == np.rint(row[j])]
    else:
        columns = columns_of(network, integer, "integer")
    for column in columns:
        if network.schema.columns[column].categories is not None:
            raise ValueError(f"integer has {network.names[column]!r}, a category. Leave it out.")
        if row[column] != np.rint(row[column]) and not np.isnan(row[column]):
            raise ValueError(f"integer has {network.names[column]!r}, but x has {row[column]} there, no whole number.")
        whole[inputs.places[column][0]] = not np.isnan(row[column])
    return whole


# -- Linear constraints between columns, from text such as ``"bedrooms <= rooms"``.

_FORM = "Write text such as 'a <= b' or '2*a + b >= 3', or ({'a': 1, 'b': -1}, '<=', 0)."
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def read_constraints(network: Network, row: Floats, constraints: Any) -> list[Oblique]:
    """Return neurons that fire where the constraints hold; an equality makes two, a rounding error apart."""
    neurons = []
    for constraint in [constraints] if isinstance(constraints, str) else constraints or ():
        coefficients, relation, right = _read(network, constraint)
        slack = 1e-9 * (np.abs(coefficients) @ np.abs(row) + abs(right)) if relation == "==" else 0.0
        columns = np.flatnonzero(coefficients)
        for sign in {"<=": (-1.0,), ">=": (1.0,), "==": (-1.0, 1.0)}[relation]:
            factors = tuple((sign * coefficients[columns]).tolist())
            neurons.append(Oblique(Projection(tuple(columns.tolist()), factors), float(sign * right - slack)))
    return neurons


def _read(network: Network, constraint: Any) -> tuple[Floats, str, float]:
    """Return coefficients, relation and right side of one linear constraint."""
    if isinstance(constraint, str):
        return _read_text(network, constraint)
    try:
        coefficients, relation, right = constraint
        total = np.zeros(network.n_inputs)
        for name, value in dict(coefficients).items():
            total[column_of(network, name, "constraints")] += float(value)
        right = float(right)
    except (TypeError, ValueError) as error:
        raise ValueError(f"constraints has {constraint!r}, which cannot be read: {error} {_FORM}") from None
    if relation not in ("<=", ">=", "=="):
        raise ValueError(f"constraints has the relation {relation!r}; it must be '<=', '>=' or '=='. {_FORM}")
    return total, relation, right


def _read_text(network: Network, text: str) -> tuple[Floats, str, float]:
    parts = re.split(r"(<=|>=|==)", text)
    if len(parts) != 3:
        raise ValueError(f"constraints has {text!r}, which needs one of '<=', '>=' and '==' once. {_FORM}")
    (left, left_number), (right, right_number) = (_read_side(network, side, text) for side in parts[::2])
    return left - right, parts[1], right_number - left_number


def _read_side(network: Network, side: str, text: str) -> tuple[Floats, float]:
    """Return the coefficients and the plain number of a sum such as ``2*a - b + 3``."""
    names = "|".join(re.escape(name) for name in sorted(network.names, key=len, reverse=True))
    term = re.compile(rf"(?P<alone>{names})|(?P<number>{_NUMBER})\s*(?:(?P<times>\*)\s*(?P<name>{names})?)?")
    coefficients, number, rest = np.zeros(network.n_inputs), 0.0, side.strip()
    if not rest:
        raise ValueError(f"constraints has {text!r}, which lacks a side. {_FORM}")
    first = True
    while rest:
        sign = re.match(r"[+-]\s*", rest)
        if sign is None and not first:
            raise ValueError(f"constraints has {text!r}, which cannot be read from {rest!r} on. {_FORM}")
        rest = rest[sign.end() :] if sign else rest
        found = term.match(rest)
        rest = rest[found.end() :].lstrip() if found else rest
        if found is None or (found["times"] and not found["name"]):
            raise ValueError(
                f"constraints has {text!r}, which cannot be read from {rest!r} on; the columns are "
                f"{', '.join(map(quote_name, network.names))}. {_FORM}"
            )
        factor = float(found["number"] or 1.0) * (-1.0 if sign and sign[0][0] == "-" else 1.0)
        name = found["alone"] or found["name"]
        if name:
            coefficients[network.names.index(name)] += factor
        else:
            number += factor
        first = False
    return coefficients, number
