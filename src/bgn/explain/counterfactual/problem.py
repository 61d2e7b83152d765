"""What a counterfactual is to reach, what a change costs, and what a row may become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from bgn.explain.arguments import (
    class_labels,
    class_number,
    column_of,
    columns_of,
    positive_numbers,
    probabilities_of,
    rows_of,
)
from bgn.explain.crossings import after_first, crossings_along
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.numbers import whole_numbers
from bgn.model.readings import is_first_positive
from bgn.model.schema import Column, category_name
from bgn.model.step import Bools, Floats
from bgn.model.term import Oblique, Projection
from bgn.model.values import as_rows
from bgn.text import quote_name

# -- What a counterfactual is to reach: a number within limits, a probability, or a class.

_TINY = float(np.finfo(np.float64).smallest_subnormal)


class Limit(NamedTuple):
    """``scores @ factors >= least``."""

    factors: Floats
    least: float


class Goal(Protocol):
    """What is wanted of the scores of rows, one or several each, and limits that hold wherever it is reached."""

    @property
    def number(self) -> int | None:
        """The class whose probability is printed; None for a number."""

    def holds(self, network: Network, scores: Floats) -> Bools: ...

    def limits(self, network: Network) -> list[Limit]: ...


@dataclass(frozen=True)
class Between:
    """A number from `least` to `most`; a bound of the network is reached by all scores beyond it."""

    least: float
    most: float
    number: int | None = None

    def holds(self, network: Network, scores: Floats) -> Bools:
        predictions = network.linked(scores)
        return np.asarray((predictions >= self.least) & (predictions <= self.most))

    def limits(self, network: Network) -> list[Limit]:
        low, high = network.bounds or (-np.inf, np.inf)
        least, most = self.least if self.least > low else -np.inf, self.most if self.most < high else np.inf
        both = Limit(np.array([1.0]), least), Limit(np.array([-1.0]), -most)
        return [limit for limit in both if np.isfinite(limit.least)]


@dataclass(frozen=True)
class Probability:
    """A probability of the class `number` from `least` to `most`.

    A class of probability q has odds of at least q / (1 - q) against each other class of several, and at most
    (n - 1) q / (1 - q) against the likeliest of n - 1 others, `rival`. That is all that the solver knows of more than
    two: what does not reach q after all is ruled out region by region.
    """

    least: float
    most: float
    number: int | None
    rival: int | None = None

    def holds(self, network: Network, scores: Floats) -> Bools:
        shares = probabilities_of(network, scores)[:, self.number]
        return np.asarray((shares >= self.least) & (shares <= self.most))

    def limits(self, network: Network) -> list[Limit]:
        with np.errstate(divide="ignore"):
            low, high = (float(np.log(share) - np.log1p(-share)) for share in (self.least, self.most))
        if network.link == "softmax":
            rivals = _against(network, self.number or 0)
            limits = [Limit(factors, low) for _, factors in rivals if np.isfinite(low)]
            most = -high - np.log(len(rivals))
            return limits + [Limit(-factors, most) for rival, factors in rivals if rival == self.rival]
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
        # Sums of short decimals differ by a unit of the last place or not at all, but for linear terms.
        numbers = [*np.ravel(network.base), *np.ravel(network.output_weights)]
        whole = None if network.linear else whole_numbers(numbers)
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


def read_goals(
    network: Network, at_least: float | None, at_most: float | None, to: Any, probability: Any
) -> Sequence[Goal]:
    """Return what is wanted, one goal or several of which any will do, or say what is wrong with it."""
    if network.link == "identity":
        if to is not None or probability is not None:
            raise ValueError(
                "to and probability are for classes; the model predicts a number. Use at_least or at_most."
            )
        return [_read_predictions(at_least, at_most, network.bounds or (-np.inf, np.inf))]
    if at_least is not None or at_most is not None:
        raise ValueError("at_least and at_most are for numbers; the model tells classes apart. Use to or probability.")
    labels = class_labels(network)
    if to is None and (probability is None or len(labels) > 2):
        known = ", ".join(map(repr, labels[:10]))
        raise ValueError(f"to must be given: the class that is wanted, one of {known}.")
    number = int(not is_first_positive(network)) if to is None else class_number(network, to, "to")
    return [Predicted(number)] if probability is None else _read_probability(number, probability, len(labels))


def _read_predictions(at_least: float | None, at_most: float | None, bounds: tuple[float, float]) -> Between:
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


def _read_probability(number: int, probability: Any, n_classes: int) -> Sequence[Probability]:
    """Return the least and the greatest probability that is wanted, for every other class that may be the likeliest."""
    try:
        least, most = map(float, probability)
    except (TypeError, ValueError):
        raise ValueError(f"probability must be a pair such as (0.5, 1); got {probability!r}.") from None
    if not 0.0 <= least <= most <= 1.0:
        raise ValueError(f"probability must be a pair from 0 to 1, the lower one first; got {probability!r}.")
    if n_classes > 2 and most < 1.0:
        return [Probability(least, most, number, rival) for rival in range(n_classes) if rival != number]
    return [Probability(least, most, number)]


# -- The problem: one row, and the rows that it may become.


@dataclass(frozen=True, eq=False)
class ChangeProblem:
    """What a counterfactual is to do, read once; rows are encoded, as the conditions see them.

    The first layer has the constraints as further conditions, which must hold: thresholds and constraints are then
    decided by one and the same arithmetic. A `part` is what changes as one: a column, or the columns of a one-hot
    group. An answer must not change all the parts of a set in `barred`. Columns that are `filled` have changed before
    they move: `max_changed` does not count them again. A category costs the same whatever it becomes, one of those
    `allowed`; a missing value that conditions see stays.
    """

    network: Network
    layer: Layer
    x: Floats
    goal: Goal
    costs: Floats
    low: Floats
    high: Floats
    allowed: tuple[tuple[int, ...] | None, ...]
    integer: Bools
    parts: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    max_changed: int | None
    barred: tuple[frozenset[int], ...] = ()
    filled: frozenset[int] = frozenset()

    @cached_property
    def counted(self) -> Bools:
        """Which parts `max_changed` counts."""
        return np.array([not self.filled.issuperset(part) for part in self.parts], dtype=bool)

    @cached_property
    def linear_columns(self) -> list[int]:
        """The columns with linear terms."""
        return [term.column for term in self.network.linear]

    @cached_property
    def categorical(self) -> list[int]:
        """The columns that are categories."""
        return [column for column, codes in enumerate(self.allowed) if codes is not None]

    @cached_property
    def _numbers(self) -> list[int] | slice:
        """The columns of numbers that are there."""
        numbers = [j for j, codes in enumerate(self.allowed) if codes is None and not np.isnan(self.x[j])]
        return numbers if len(numbers) < len(self.x) else slice(None)

    def listed(self, part: tuple[int, ...]) -> Floats | None:
        """Return what a category or a one-hot group may be, one row each; None for a number."""
        if part in self.groups:
            return np.eye(len(part))
        codes = self.allowed[part[0]]
        return None if codes is None else np.array(codes, np.float64)[:, np.newaxis]

    @property
    def most(self) -> int:
        """How many parts an answer can change."""
        most = len(self.parts) if self.max_changed is None else self.max_changed + int((~self.counted).sum())
        return min(most, len(self.parts))

    def holds(self, signs: Floats, rows: Floats) -> Bools:
        """Whether rows, in which these conditions hold, meet the constraints and reach a wanted prediction."""
        count = len(self.network.layers[0].neurons)
        wanted = self.goal.holds(self.network, after_first(self.network, signs[:, :count], rows))
        return wanted & (signs[:, count:] > 0).all(axis=1)

    def allows(self, rows: Floats, wanted: bool = True) -> Bools:
        """Whether rows obey every limit, and reach a wanted prediction unless that does not matter."""
        numbers = self._numbers
        within = (rows[:, numbers] >= self.low[numbers]) & (rows[:, numbers] <= self.high[numbers])
        fine = within.all(axis=1) & (rows[:, self.integer] == np.rint(rows[:, self.integer])).all(axis=1)
        for column in self.categorical:
            if not np.isnan(self.x[column]):
                fine &= np.isin(rows[:, column], self.allowed[column] or ())
        for group in self.groups:
            fine &= ((rows[:, group] == 0) | (rows[:, group] == 1)).all(axis=1) & (rows[:, group].sum(axis=1) == 1)
        changed = self.changed(rows)
        if self.max_changed is not None:
            fine &= changed[:, self.counted].sum(axis=1) <= self.max_changed
        for barred in self.barred:
            fine &= ~changed[:, sorted(barred)].all(axis=1)
        signs = self.layer.fire(rows)
        if wanted:
            return fine & self.holds(signs, rows)
        return fine & (signs[:, len(self.network.layers[0].neurons) :] > 0).all(axis=1)

    def changed(self, rows: Floats) -> Bools:
        """Which parts differ from the row that is changed, shape (rows, parts)."""
        differs = rows != self.x
        return np.column_stack([np.zeros((len(rows), 0), dtype=bool), *(differs[:, p].any(axis=1) for p in self.parts)])

    def moved_numbers(self, row: Floats) -> list[int]:
        """Return the columns of numbers that a row changes."""
        return [j for j in np.flatnonzero(row != self.x).tolist() if self.allowed[j] is None and not np.isnan(row[j])]

    def price(self, rows: Floats) -> Floats:
        """Return the cost of turning the row that is changed into each row."""
        moves = np.abs(rows - self.x)
        if self.categorical:
            moves[:, self.categorical] = moves[:, self.categorical] > 0
        if not isinstance(self._numbers, slice):
            moves[:, np.isnan(self.x)] = 0.0
        return moves @ self.costs

    def cost(self, row: Floats) -> float:
        """Return the cost of turning the row that is changed into another."""
        return float(self.price(row[np.newaxis])[0])

    def fits(self, row: Floats, wanted: bool = True) -> bool:
        """Whether one row obeys every limit, and reaches a wanted prediction unless that does not matter."""
        return bool(self.allows(row[np.newaxis], wanted)[0])

    def misses(self, rows: Floats) -> Floats:
        """Return by how much the scores of rows miss the goal's farthest limit; 0 where the goal holds."""
        scores = self.network.predict_encoded(rows, scores=True)
        outputs, farthest = scores.reshape(len(rows), self.network.n_outputs), np.full(len(rows), _TINY)
        for factors, least in self.goal.limits(self.network):
            farthest = np.maximum(farthest, least - outputs @ factors)
        return np.where(self.goal.holds(self.network, scores), 0.0, farthest)

    def places_along(self, column: int, rows: Floats) -> Floats:
        """Return where conditions turn along a column, and where its linear term begins and ends, in order."""
        ends = [end for term in self.network.linear if term.column == column for end in (term.low, term.high)]
        return np.sort(np.hstack([crossings_along(self.layer, column, rows)[1], np.tile(ends, (len(rows), 1))]), axis=1)

    def without(self, row: Floats) -> ChangeProblem:
        """Return the problem with one more set of parts barred, those that a row changes; what was filled has changed
        in any case."""
        changed = np.flatnonzero(self.changed(row[np.newaxis])[0] & self.counted).tolist()
        return replace(self, barred=(*self.barred, frozenset(changed)))


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


def read_row(network: Network, x: Any) -> Floats:
    """Return the row to change, NaN for a missing value: a sequence, a mapping or series by name, or a dataset of one
    row."""
    x = as_rows(x)
    if len(rows_of(network, x, "x")) != 1:
        raise ValueError(f"x must be one row; got {len(rows_of(network, x, 'x'))}.")
    return network.schema.encode(x, missing=True)[0].copy()


def read_problem(
    network: Network, x: Floats, goal: Goal, limits: Limits, kept: Sequence[int], filled: frozenset[int]
) -> ChangeProblem:
    """Check and read the arguments of :func:`bgn.counterfactual`; columns that are `kept` stay whatever they say."""
    max_changed, missing = limits.max_changed, np.isnan(x)
    if max_changed is not None and max_changed < 1:
        raise ValueError(f"max_changed must be at least 1; got {max_changed}. Use None for no limit.")
    low, high, allowed = _read_bounds(network, x, limits.bounds)
    whole = _read_whole(network, x, limits.integer)
    groups = _read_groups(network, x, limits.one_hot)
    grouped = [column for group in groups for column in group]
    low[grouped], high[grouped] = np.maximum(low[grouped], 0.0), np.minimum(high[grouped], 1.0)
    whole[grouped] = True
    outside: Any = (x < low) | (x > high)
    for column, codes in enumerate(allowed):
        if codes is not None and not missing[column]:
            outside[column] = int(x[column]) not in codes
    fixed: Any = missing | np.isin(np.arange(len(x)), kept)
    for column in columns_of(network, limits.immutable, "immutable"):
        name, kind = network.names[column], network.schema.columns[column]
        if outside[column]:
            value = x[column] if kind.categories is None else kind.categories[int(x[column])]
            raise ValueError(
                f"immutable has {name!r}, but x has {value} there, outside its bounds "
                f"{(limits.bounds or {}).get(name, '')}. Leave out one of the two."
            )
        fixed[column] = True
    low[fixed] = high[fixed] = x[fixed]
    allowed = tuple(
        (int(x[j]),) if codes is not None and fixed[j] and not missing[j] else codes for j, codes in enumerate(allowed)
    )
    required = read_constraints(network, x, limits.constraints)
    layer = Layer.of([*network.layers[0].neurons, *required], network.n_inputs)
    used: Any = layer.reads.any(axis=0)
    numeric = np.array([codes is None for codes in allowed])
    used[[term.column for term in network.linear]] = True
    outside &= ~fixed
    moving = [*np.flatnonzero(used & ~fixed & numeric), *np.flatnonzero(outside & ~used & numeric)]
    parts: list[tuple[int, ...]] = [(int(column),) for column in moving if column not in grouped]
    parts += [(int(column),) for column in np.flatnonzero(~numeric & ~fixed)]
    parts += [group for group in groups if not fixed[list(group)].all()]
    return ChangeProblem(
        network, layer, x, goal, _read_costs(network, limits.costs, limits.background), low, high, allowed, whole,
        tuple(parts), groups, None if max_changed is None else max_changed - len(filled), filled=filled,
    )  # fmt: skip


def _read_bounds(
    network: Network, x: Floats, bounds: Mapping[Any, Any] | None
) -> tuple[Floats, Floats, tuple[tuple[int, ...] | None, ...]]:
    """Return the lowest and highest value of every number, and the categories allowed; by default what was seen at fit,
    and where the row is."""
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    allowed = [None if kind.categories is None else (*range(len(kind.categories)),) for kind in network.schema.columns]
    for column, kind in enumerate(network.schema.columns):
        if kind.categories is None and kind.seen is not None:
            low[column], high[column] = min(kind.seen[0], x[column]), max(kind.seen[1], x[column])
    for name, limits in (bounds or {}).items():
        column = column_of(network, name, "bounds")
        kind = network.schema.columns[column]
        if np.isnan(x[column]):
            continue
        if kind.categories is not None:
            allowed[column] = _read_categories(kind, int(x[column]), limits)
        elif isinstance(limits, str) and limits in ("increase", "decrease"):
            (low if limits == "increase" else high)[column] = x[column]
        else:
            low[column], high[column] = _read_range(kind, limits)
    return low, high, tuple(allowed)


def categories_to_fill(kind: Column, limits: Any) -> list[float]:
    """Return the codes of the categories that a missing value may become; no category is too high or low for one."""
    free = limits is None or (isinstance(limits, str) and limits in ("increase", "decrease") and kind.ordered)
    codes = range(len(kind.categories or ())) if free else _read_categories(kind, 0, limits)
    return [float(code) for code in codes]


def _read_categories(kind: Column, own: int, limits: Any) -> tuple[int, ...]:
    """Return the codes of the categories that are allowed."""
    categories = kind.categories or ()
    if isinstance(limits, str) and limits in ("increase", "decrease") and kind.ordered:
        return (*range(own, len(categories)),) if limits == "increase" else (*range(own + 1),)
    wanted = [] if isinstance(limits, str) or not np.iterable(limits) else list(limits)
    if not wanted or not set(wanted) <= set(categories):
        ordered = ", 'increase' or 'decrease'" if kind.ordered else ""
        raise ValueError(
            f"bounds of {kind.name!r} must be a list of some of its categories, "
            f"{', '.join(map(category_name, categories))}{ordered}; got {limits!r}."
        )
    return tuple(code for code, category in enumerate(categories) if category in wanted)


def _read_range(kind: Column, limits: Any) -> tuple[float, float]:
    """Return the ends of a number's range."""
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


_STDS = 4.0  # in the range seen at fit, where no background tells the standard deviation


def _read_costs(network: Network, costs: Any, background: Any) -> Floats:
    """Return the price of one unit of every number, and of a category's change; by default 1 per standard deviation."""
    if isinstance(costs, str):
        if costs != "fewest":
            raise ValueError(f"costs must be a number per column, a mapping from names, or 'fewest'; got {costs!r}.")
        costs = None
    prices = np.ones(network.n_inputs)
    rows = None if background is None else rows_of(network, background, "background")
    for column, kind in enumerate(network.schema.columns):
        if kind.categories is not None:
            continue
        std = 0.0 if kind.seen is None else (kind.seen[1] - kind.seen[0]) / _STDS
        if rows is not None:
            known = rows[~np.isnan(rows[:, column]), column]
            std = float(known.std()) if len(known) else 0.0
        price = 1.0 / std if std > 0 else 1.0
        prices[column] = price if np.isfinite(price) and price > 0 else 1.0
    return positive_numbers(network, costs, "costs", " Use immutable for a column that must not change.", prices)


def _read_whole(network: Network, x: Floats, integer: Iterable[Any] | None) -> Bools:
    """Return which columns must stay whole numbers: those named, else those that were whole at fit, and here."""
    whole = np.zeros(len(x), dtype=bool)
    if integer is None:
        columns = [j for j, kind in enumerate(network.schema.columns) if kind.whole and x[j] == np.rint(x[j])]
    else:
        columns = columns_of(network, integer, "integer")
    for column in columns:
        if network.schema.columns[column].categories is not None:
            raise ValueError(f"integer has {network.names[column]!r}, a category. Leave it out.")
        if x[column] != np.rint(x[column]) and not np.isnan(x[column]):
            raise ValueError(f"integer has {network.names[column]!r}, but x has {x[column]} there, no whole number.")
        whole[column] = not np.isnan(x[column])
    return whole


def _read_groups(network: Network, x: Floats, one_hot: Sequence[Iterable[Any]]) -> tuple[tuple[int, ...], ...]:
    """Return the columns of every one-hot group."""
    groups = tuple(tuple(columns_of(network, group, "one_hot")) for group in one_hot)
    for group in groups:
        values = x[list(group)]
        if not (np.isin(values, (0.0, 1.0)).all() and values.sum() == 1):
            names = ", ".join(quote_name(network.names[column]) for column in group)
            raise ValueError(f"one_hot group {names} must have a single 1 in x; got {values.tolist()}.")
    if len({column for group in groups for column in group}) < sum(map(len, groups)):
        raise ValueError("one_hot groups must not share columns.")
    return groups


# -- Linear constraints between columns, from text such as ``"bedrooms <= rooms"``.

_FORM = "Write text such as 'a <= b' or '2*a + b >= 3', or ({'a': 1, 'b': -1}, '<=', 0)."
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def read_constraints(network: Network, row: Floats, constraints: Any) -> list[Oblique]:
    """Return conditions that hold where the constraints do; an equality makes two, a rounding error between them."""
    conditions = []
    for constraint in [constraints] if isinstance(constraints, str) else constraints or ():
        coefficients, relation, right = _read_constraint(network, constraint)
        columns = np.flatnonzero(coefficients)
        for column in columns:
            name = network.names[column]
            if network.schema.columns[column].categories is not None:
                raise ValueError(
                    f"constraints speaks of {name!r}, a category; only numbers can be added up. Use bounds."
                )
            if np.isnan(row[column]):
                raise ValueError(f"constraints speaks of {name!r}, which is missing in x. Leave it out.")
        size = np.abs(coefficients) @ np.where(coefficients == 0.0, 0.0, np.abs(row)) + abs(right)
        slack = 1e-9 * size if relation == "==" else 0.0
        for sign in {"<=": (-1.0,), ">=": (1.0,), "==": (-1.0, 1.0)}[relation]:
            factors = tuple((sign * coefficients[columns]).tolist())
            conditions.append(Oblique(Projection(tuple(columns.tolist()), factors), float(sign * right - slack)))
    return conditions


def _read_constraint(network: Network, constraint: Any) -> tuple[Floats, str, float]:
    """Return coefficients, relation and right side of one linear constraint."""
    if isinstance(constraint, str):
        sides = re.split(r"(<=|>=|==)", constraint)
        if len(sides) != 3:
            raise ValueError(f"constraints has {constraint!r}, which needs one of '<=', '>=' and '==' once. {_FORM}")
        (left, left_number), (right, right_number) = (_read_side(network, side, constraint) for side in sides[::2])
        return left - right, sides[1], right_number - left_number
    try:
        factors, relation, number = constraint
        coefficients, number = np.zeros(network.n_inputs), float(number)
        for name, value in dict(factors).items():
            coefficients[column_of(network, name, "constraints")] += float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"constraints has {constraint!r}, which cannot be read: {error} {_FORM}") from None
    if relation not in ("<=", ">=", "=="):
        raise ValueError(f"constraints has the relation {relation!r}; it must be '<=', '>=' or '=='. {_FORM}")
    return coefficients, relation, number


def _read_side(network: Network, side: str, text: str) -> tuple[Floats, float]:
    """Return the coefficients and the plain number of a sum such as ``2*a - b + 3``."""
    names = "|".join(re.escape(name) for name in sorted(network.names, key=len, reverse=True))
    term = re.compile(rf"(?P<alone>{names})|(?P<number>{_NUMBER})\s*(?:(?P<times>\*)\s*(?P<name>{names})?)?")
    coefficients, number, rest = np.zeros(network.n_inputs), 0.0, side.strip()
    if not rest:
        raise ValueError(f"constraints has {text!r}, which lacks a side. {_FORM}")
    start = rest
    while rest:
        sign = re.match(r"[+-]\s*", rest)
        if sign is None and rest is not start:
            raise ValueError(f"constraints has {text!r}, which cannot be read from {rest!r} on. {_FORM}")
        rest = rest[sign.end() :] if sign else rest
        match = term.match(rest)
        rest = rest[match.end() :].lstrip() if match else rest
        if match is None or (match["times"] and not match["name"]):
            raise ValueError(
                f"constraints has {text!r}, which cannot be read from {rest!r} on; the columns are "
                f"{', '.join(map(quote_name, network.names))}. {_FORM}"
            )
        factor = float(match["number"] or 1.0) * (-1.0 if sign and sign[0][0] == "-" else 1.0)
        name = match["alone"] or match["name"]
        if name:
            coefficients[network.names.index(name)] += factor
        else:
            number += factor
    return coefficients, number
