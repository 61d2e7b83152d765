"""What a counterfactual is asked for: the wanted predictions, the costs, and what a row may become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.explain.counterfactual.constraints import read_constraints
from bgn.explain.crossings import after_first
from bgn.explain.subject import column_of, columns_of, positive_of, rows_of
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.step import Bools, Floats
from bgn.printable import clean


@dataclass(frozen=True, eq=False)
class Problem:
    """What a counterfactual is asked for, read once.

    The first layer has the constraints as further neurons, which must fire: thresholds and constraints are then
    decided by one and the same arithmetic. A `part` is what changes as one: a column, or the columns of a one-hot
    group. An answer must not change all the parts of a set in `barred`.
    """

    network: Network
    layer: Layer
    x: Floats
    least: float
    most: float
    costs: Floats
    low: Floats
    high: Floats
    integer: Bools
    parts: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    max_changed: int | None
    barred: tuple[frozenset[int], ...] = ()

    def holds(self, answers: Floats) -> Bools:
        """Whether the first layer's answers meet the constraints and reach a wanted prediction."""
        predictions = after_first(self.network, answers[:, : self.network.widths[0]])
        wanted = (predictions >= self.least) & (predictions <= self.most)
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
            fine &= changed.sum(axis=1) <= self.max_changed
        for barred in self.barred:
            fine &= ~changed[:, sorted(barred)].all(axis=1)
        answers = self.layer.fire(rows)
        if wanted:
            return fine & self.holds(answers)
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
        predictions = self.network.predict(rows)
        return np.maximum(np.maximum(self.least - predictions, predictions - self.most), 0.0)

    def without(self, changed: Iterable[int]) -> Problem:
        """Return the problem with one more set of parts barred."""
        return replace(self, barred=(*self.barred, frozenset(changed)))


def read_problem(
    network: Network, x: Any, at_least: float | None, at_most: float | None, costs: Any,
    bounds: Mapping[Any, Any] | None, immutable: Iterable[Any], max_changed: int | None, integer: Iterable[Any],
    constraints: Any, one_hot: Sequence[Iterable[Any]],
) -> Problem:  # fmt: skip
    """Check and read the arguments of :func:`bgn.counterfactual`."""
    row = _read_row(network, x)
    least, most = _read_wanted(at_least, at_most)
    if max_changed is not None and max_changed < 1:
        raise ValueError(f"max_changed must be at least 1; got {max_changed}. Use None for no limit.")
    low, high = _read_bounds(network, row, bounds)
    whole = np.zeros(len(row), dtype=bool)
    whole[columns_of(network, integer, "integer")] = True
    if (row[whole] != np.rint(row[whole])).any():
        column = int(np.flatnonzero(whole & (row != np.rint(row)))[0])
        raise ValueError(f"integer has {network.names[column]!r}, but x has {row[column]} there, no whole number.")
    groups = _read_groups(network, row, one_hot)
    grouped = [column for group in groups for column in group]
    low[grouped], high[grouped] = np.maximum(low[grouped], 0.0), np.minimum(high[grouped], 1.0)
    whole[grouped] = True
    fixed = columns_of(network, immutable, "immutable")
    for column in fixed:
        if not low[column] <= row[column] <= high[column]:
            raise ValueError(
                f"immutable has {network.names[column]!r}, but x has {row[column]} there, outside its bounds "
                f"({low[column]}, {high[column]}). Leave out one of the two."
            )
    low[fixed] = high[fixed] = row[fixed]
    limits = read_constraints(network, row, constraints)
    layer = Layer.of([*network.layers[0].neurons, *limits], network.n_inputs)
    used, outside = layer.reads.any(axis=0), (row < low) | (row > high)
    moving = [*np.flatnonzero(used & ~np.isin(np.arange(len(row)), fixed)), *np.flatnonzero(outside & ~used)]
    parts: list[tuple[int, ...]] = [(int(column),) for column in moving if column not in grouped]
    parts += [group for group in groups if not set(group) <= set(fixed)]
    return Problem(
        network, layer, row, least, most, _read_costs(network, costs), low, high, whole,
        tuple(parts), groups, max_changed,
    )  # fmt: skip


def _read_wanted(at_least: float | None, at_most: float | None) -> tuple[float, float]:
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
    return least, most


def _read_groups(network: Network, row: Floats, one_hot: Sequence[Iterable[Any]]) -> tuple[tuple[int, ...], ...]:
    """Return the columns of every one-hot group."""
    groups = tuple(tuple(columns_of(network, group, "one_hot")) for group in one_hot)
    for group in groups:
        values = row[list(group)]
        if not (np.isin(values, (0.0, 1.0)).all() and values.sum() == 1):
            names = ", ".join(clean(network.names[column]) for column in group)
            raise ValueError(f"one_hot group {names} must have a single 1 in x; got {values.tolist()}.")
    if len({column for group in groups for column in group}) < sum(map(len, groups)):
        raise ValueError("one_hot groups must not share columns.")
    return groups


def _read_row(network: Network, x: Any) -> Floats:
    """Return the row asked about: a sequence, a mapping or series by name, or a table of one row."""
    if isinstance(x, Mapping) or (hasattr(x, "to_dict") and getattr(x, "ndim", 0) == 1):
        values = dict(x)
        missing = [name for name in network.names if name not in values]
        if missing:
            raise ValueError(f"x lacks {', '.join(map(repr, missing))}.")
        x = [[values[name] for name in network.names]]
    elif getattr(x, "columns", None) is None:
        x = np.atleast_2d(np.asarray(x))
    rows = rows_of(network, x, "x")
    if len(rows) != 1:
        raise ValueError(f"x must be one row; got {len(rows)}.")
    return rows[0].copy()


def _read_bounds(network: Network, row: Floats, bounds: Mapping[Any, Any] | None) -> tuple[Floats, Floats]:
    """Return the lowest and highest value of every column."""
    low, high = np.full(len(row), -np.inf), np.full(len(row), np.inf)
    for name, limits in (bounds or {}).items():
        column = column_of(network, name, "bounds")
        if limits == "increase":
            low[column] = row[column]
        elif limits == "decrease":
            high[column] = row[column]
        else:
            try:
                bottom, top = limits
            except (TypeError, ValueError):
                raise ValueError(
                    f"bounds of {network.names[column]!r} must be (low, high), 'increase' or 'decrease'; "
                    f"got {limits!r}."
                ) from None
            low[column] = -np.inf if bottom is None else float(bottom)
            high[column] = np.inf if top is None else float(top)
            if not low[column] <= high[column]:
                raise ValueError(f"bounds of {network.names[column]!r} must have low <= high; got {limits!r}.")
    return low, high


def _read_costs(network: Network, costs: Any) -> Floats:
    """Return the cost of one unit of every column."""
    if isinstance(costs, str):
        if costs != "fewest":
            raise ValueError(f"costs must be a number a column, a mapping from names, or 'fewest'; got {costs!r}.")
        costs = None
    return positive_of(network, costs, "costs", " Use immutable for a column that must not change.")
