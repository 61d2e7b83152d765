"""The problems that a question comes to: one, or, where gaps may be filled, one per way to fill them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bgn.explain.counterfactual.goals import Goal
from bgn.explain.counterfactual.inputs import PlainInputs, plain_inputs
from bgn.explain.counterfactual.prices import levels_to_fill
from bgn.explain.counterfactual.problem import Limits, Problem, read_problem, read_row
from bgn.explain.subject import column_of, columns_of, gap_of
from bgn.model.network import Network
from bgn.model.step import Floats

_MOST_WAYS = 256  # to fill the gaps of a row
_STAYS = None  # among the ways to fill a gap


@dataclass(frozen=True, eq=False)
class Task:
    """One problem, what was filled to get there, and its price.

    A gap that stays where all questions count it as something is a number or a level that does not change.
    """

    problem: Problem
    inputs: PlainInputs
    raw: Floats
    filled: tuple[int, ...]

    @property
    def flat(self) -> float:
        """What filling gaps costs."""
        return float(len(self.filled))

    def changes(self, row: Floats) -> dict[str, tuple[Any, Any]]:
        """Return old and new value of every column that a row of plain numbers changes, by name."""
        found: dict[str, tuple[Any, Any]] = {}
        for column, (name, places) in enumerate(zip(self.inputs.original.names, self.inputs.places, strict=True)):
            own = list(places)
            if column in self.filled:
                found[name] = (None, self.inputs.value(column, row))
            elif (row[own] != self.inputs.x[own]).any():
                found[name] = (self.inputs.value(column, self.inputs.x), self.inputs.value(column, row))
        return found

    def without(self, row: Floats | None) -> Task:
        """Return the task with the parts barred that a row changes."""
        assert row is not None
        changed = np.flatnonzero(self.problem.changed(row[np.newaxis])[0]).tolist()
        return replace(self, problem=self.problem.without(changed))


def read_tasks(
    network: Network, x: Any, goals: Sequence[Goal], limits: Limits, fill_gaps: bool | Iterable[Any]
) -> list[Task]:
    """Return the problems whose cheapest answer is wanted."""
    raw = read_row(network, x)
    gaps = np.flatnonzero(np.isnan(raw)).tolist()
    told = gaps if fill_gaps is True else [] if fill_gaps is False else columns_of(network, fill_gaps, "fill_gaps")
    still = columns_of(network, limits.immutable, "immutable")
    bounds = {column_of(network, name, "bounds"): each for name, each in (limits.bounds or {}).items()}
    free = [column for column in told if column not in still]
    ways = {column: _ways(network, column, column in free, bounds.get(column)) for column in gaps}
    if prod(map(len, ways.values())) > _MOST_WAYS:
        names = ", ".join(network.names[column] for column in told if column in gaps)
        raise ValueError(f"fill_gaps allows too many ways to fill {names}. Name fewer columns: fill_gaps=['a', 'b'].")
    tasks = []
    for chosen in product(*ways.values()):
        row, filled = raw.copy(), []
        for column, value in zip(ways, chosen, strict=True):
            if value is _STAYS:
                seen = gap_of(network, column)
                row[column] = np.nan if seen is None else seen
            else:
                row[column] = value
                filled.append(column)
        if limits.max_changed is not None and len(filled) > limits.max_changed:
            continue
        kept = [column for column in gaps if column not in filled or network.schema.columns[column].levels is not None]
        tasks += [_task(network, row, raw, tuple(filled), kept, goal, limits) for goal in goals]
    return tasks


def _task(
    network: Network, row: Floats, raw: Floats, filled: tuple[int, ...], kept: list[int],
    goal: Goal, limits: Limits,
) -> Task:  # fmt: skip
    inputs = plain_inputs(network, row)
    problem = read_problem(inputs, goal, limits, kept)
    problem = replace(problem, filled=frozenset(place for column in filled for place in inputs.places[column]))
    if limits.max_changed is not None:
        problem = replace(problem, max_changed=limits.max_changed - len(filled))
    return Task(problem, replace(inputs, row=np.where(_stays(raw, filled), np.nan, row)), raw, filled)


def _stays(raw: Floats, filled: tuple[int, ...]) -> Any:
    return np.isnan(raw) & ~np.isin(np.arange(len(raw)), filled)


def _ways(network: Network, column: int, free: bool, bounds: Any) -> list[float | None]:
    """Return what a gap may become: itself, and if `free` each level within bounds, or the typical number."""
    kind = network.schema.columns[column]
    if not free:
        return [_STAYS]
    if kind.levels is not None:
        return [_STAYS, *levels_to_fill(kind, bounds)]
    return [_STAYS] if kind.typical is None else [_STAYS, kind.typical]
