"""What a counterfactual is asked for: the goal, the costs, and what a row may become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.explain.counterfactual.constraints import read_constraints
from bgn.explain.counterfactual.goals import Goal, misses
from bgn.explain.counterfactual.inputs import PlainInputs
from bgn.explain.counterfactual.prices import read_bounds, read_costs
from bgn.explain.crossings import after_first
from bgn.explain.subject import columns_of, rows_of
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.neuron import Neuron, Projection
from bgn.model.reading import as_rows
from bgn.model.step import Bools, Floats
from bgn.printable import quote_name


@dataclass(frozen=True, eq=False)
class Problem:
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

    def without(self, changed: Iterable[int]) -> Problem:
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


def read_problem(inputs: PlainInputs, goal: Goal, limits: Limits, still: Iterable[int] = ()) -> Problem:
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
    return Problem(
        inputs.network, layer, x, goal, read_costs(inputs, limits.costs, limits.background), low, high, whole,
        tuple(parts), tuple(groups), limits.max_changed,
    )  # fmt: skip


def _plain_constraint(inputs: PlainInputs, constraint: Neuron) -> Neuron:
    """Return a constraint on plain numbers, or say why it is none."""
    for column in constraint.projection.columns:
        kind, name = inputs.original.schema.columns[column], inputs.original.names[column]
        if kind.levels is not None:
            raise ValueError(f"constraints speaks of {name!r}, a category; only numbers can be added up. Use bounds.")
        if np.isnan(inputs.row[column]):
            raise ValueError(f"constraints speaks of {name!r}, which is missing in x. Leave it out.")
    columns = tuple(inputs.places[column][0] for column in constraint.projection.columns)
    return Neuron(Projection(columns, constraint.projection.coefficients), constraint.threshold)


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
    return network.schema.encode(x, gaps=True)[0].copy()


def _read_whole(inputs: PlainInputs, integer: Iterable[Any] | None) -> Bools:
    """Return which inputs must stay whole numbers: those told, else those that were whole at fit, and here."""
    network, row, whole = inputs.original, inputs.row, np.zeros(len(inputs.x), dtype=bool)
    if integer is None:
        columns = [j for j, kind in enumerate(network.schema.columns) if kind.whole and row[j] == np.rint(row[j])]
    else:
        columns = columns_of(network, integer, "integer")
    for column in columns:
        if network.schema.columns[column].levels is not None:
            raise ValueError(f"integer has {network.names[column]!r}, a category. Leave it out.")
        if row[column] != np.rint(row[column]) and not np.isnan(row[column]):
            raise ValueError(f"integer has {network.names[column]!r}, but x has {row[column]} there, no whole number.")
        whole[inputs.places[column][0]] = not np.isnan(row[column])
    return whole
