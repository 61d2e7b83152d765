"""The cheapest change of a row that brings its prediction where it is wanted, or a proof that none does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bgn.explain.arguments import (
    class_labels,
    clipped_network,
    column_of,
    columns_of,
    probabilities_of,
    table_row,
    value_if_missing,
)
from bgn.explain.counterfactual.problem import (
    ChangeProblem,
    Goal,
    Limits,
    categories_to_fill,
    predicted,
    read_goals,
    read_problem,
    read_row,
)
from bgn.explain.counterfactual.search import cheapest_row, nearest_miss, round_row, shorten
from bgn.explain.crossings import compile_search
from bgn.model.network import Network
from bgn.model.schema import category_name
from bgn.model.step import Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import quote_category, quote_name


@dataclass(frozen=True, eq=False)
class Counterfactual(Tabular):
    """An answer to "what would have to change?".

    Changes of one part, and of two, are found by trying every candidate, larger ones too where rows are few; else by a
    mixed-integer program over the regions of the network. No proof rests on one answer of its solver: a second program,
    written differently, must find nothing cheaper, and a region is left aside only with a proof that it has no row that
    costs less. Every answer is a row of floats that the network itself has confirmed: where a value must lie below a
    threshold, it is the largest float that does, or as near as the solver comes where several columns meet. "Optimal"
    means to within a millionth of the cost. Columns without bounds are searched a hundred times beyond the farthest
    threshold; "unreachable" is proven within that range.

    Attributes
    ----------
    reached : bool
        Whether a row with a wanted prediction was found.
    x : ndarray or None
        That row, None for a missing value. When there is none, the allowed row that comes nearest; None if no row is
        allowed at all.
    prediction : float
        What the network predicts for `x`: when nothing was found, the best attainable. With classes, the probability of
        the one that is wanted; the nearest row is then the one whose scores miss what is wanted least.
    changes : dict
        Old and new value of every column that changed, by name.
    cost : float
        Weighted sum of the changes.
    optimal : bool
        Whether it is proven that nothing is cheaper (or, when nothing was found, that nothing comes nearer).
    max_saving : float
        By how much, at most, something cheaper may exist, relative to `cost`; 0 when optimal.
    unreachable : bool
        Whether it is proven that no allowed row has a wanted prediction.
    alternatives : tuple of Counterfactual
        Further answers that change other columns, dearer ones last.
    row : ndarray or None
        The row as the conditions see it: categories as numbers, NaN for a missing value.
    miss : float
        How far the prediction is from the wanted ones, with classes in scores; 0 where found.
    label : label or None
        With classes, the one that the network predicts for `x`.
    rounded : Counterfactual or None
        The same change in fewer digits, as texts show it, where linear terms need many: the network has confirmed
        that it will do, and it costs up to two thousandths more, which is its `max_saving`.
    """

    reached: bool
    x: Any
    prediction: float
    changes: dict[str, tuple[Any, Any]]
    cost: float
    optimal: bool
    max_saving: float
    unreachable: bool
    alternatives: tuple[Counterfactual, ...] = ()
    row: Floats | None = field(default=None, repr=False)
    miss: float = field(default=0.0, repr=False)
    label: Any = None
    rounded: Counterfactual | None = field(default=None, repr=False)

    def _columns(self) -> Columns:
        old, new = ([move[side] for move in self.changes.values()] for side in (0, 1))
        columns = {"column": list(self.changes), "from": old, "to": new}
        return columns | {"prediction": [self.prediction] * len(old), "cost": [self.cost] * len(old)}

    def as_dict(self) -> dict[str, Any]:
        """Return the answer, and its alternatives, in plain types: what JSON can hold."""
        return {
            "reached": self.reached,
            "x": None if self.x is None else list(self.x.tolist()),
            "prediction": None if np.isnan(self.prediction) else self.prediction,
            **({} if self.label is None else {"label": self.label}),
            "changes": {name: {"from": old, "to": new} for name, (old, new) in self.changes.items()},
            "cost": self.cost if np.isfinite(self.cost) else None,
            "optimal": self.optimal,
            "max_saving": self.max_saving if np.isfinite(self.max_saving) else None,
            "unreachable": self.unreachable,
            **({} if self.rounded is None else {"rounded": self.rounded.as_dict()}),
            "alternatives": [answer.as_dict() for answer in self.alternatives],
        }

    def __repr__(self) -> str:
        if self.unreachable and self.x is None:
            return "Counterfactual(unreachable: no row obeys the limits)"
        shown = self if self.rounded is None else self.rounded
        if self.x is None:
            return "Counterfactual(not found in time)"
        value = f"{shown.prediction:.6g}"
        if shown.label is not None:
            value = f"{quote_category(category_name(shown.label))}, probability {shown.prediction:.4g}"
        if self.unreachable:
            best = "best attainable" if self.optimal else "nearest found"
            return f"Counterfactual(unreachable: the {best} is {value})"
        if not self.reached:
            return f"Counterfactual(not found in time; the nearest so far is {value})"
        changes = shown.changes.items()
        moves = ", ".join(f"{quote_name(name)} {_written(old)} -> {_written(new)}" for name, (old, new) in changes)
        proof = "optimal" if shown.optimal else f"gap {shown.max_saving:.1%}"
        if self.optimal and shown is not self:
            proof = f"optimal to within {max(shown.max_saving, 0.001):.1%}"
        return f"Counterfactual({moves or 'no change'}: {value} at cost {shown.cost:.6g}, {proof})"


def _written(value: Any) -> str:
    """Write what a column holds."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else quote_category(category_name(value))


@through_pipelines("x")
def counterfactual(
    model: Any, x: Any, *, at_least: float | None = None, at_most: float | None = None, to: Any = None,
    probability: tuple[float, float] | None = None, costs: Any = None, bounds: Mapping[Any, Any] | None = None,
    immutable: Iterable[Any] = (), max_changed: int | None = None, integer: Iterable[Any] | None = None,
    constraints: Any = None, one_hot: Sequence[Iterable[Any]] = (), n: int = 1, background: Any = None,
    fill_missing: bool | Iterable[Any] = False, max_seconds: float = 10.0,
) -> Counterfactual:  # fmt: skip
    """Return the cheapest change of a row that brings its prediction to a wanted value, or class, with proof.

    By default numbers stay within the range seen at fit (``Column.seen``), whole numbers stay whole, and a change costs
    1 per standard deviation of its column over a `background`, or per quarter of that range. Without a range there is
    no limit, and a unit costs 1. A category changes to any other for 1; a missing value stays.

    Parameters
    ----------
    model : Network or fitted estimator
    x : array_like, mapping, series or table of one row
        The row to change.
    at_least, at_most : float
        The wanted prediction, where it is a number: one of them or both.
    to : label
        With classes, the one that is to be predicted; of equal scores `predict` takes the first.
    probability : (float, float)
        With classes, the wanted probability of `to`, or of the second of two ("ja" beside "nein"), instead.
    costs : sequence, mapping from names, or "fewest"
        Price of one unit of a number, and of a category's change; "fewest" first asks for as few changes as possible.
    bounds : mapping
        Number to ``(low, high)``, None for an open end, or to "increase" or "decrease"; category to a list of those
        allowed.
    immutable : sequence of columns that must not change
    max_changed : int, optional, the most columns that may change
    integer : sequence of columns, optional
        What must stay a whole number, instead of the columns that were whole at fit.
    constraints : sequence
        Linear constraints such as ``"bedrooms <= rooms"`` or ``({"a": 1, "b": -1}, "<=", 0)``.
    one_hot : sequence of groups of columns, of which exactly one is 1 and the others 0
    n : int, default 1
        Number of answers; each further one may not change all that an earlier one changes.
    background : array_like or frame, optional, whose standard deviation prices a change
    fill_missing : bool or sequence of columns, default False
        Which missing values may be filled, for 1 each; a number then starts from its ``Column.typical``.
    max_seconds : float, default 10
        When to stop with the best answer so far, and a gap.

    Returns
    -------
    Counterfactual

    Examples
    --------
    >>> from bgn import Layer, Network, counterfactual
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> counterfactual(network, [1.0, 1.0], at_least=4.0)
    Counterfactual(rooms 1 -> 4: 4.5 at cost 3, optimal)
    >>> counterfactual(network.changed(base=-1.0, link="logistic"), [1.0, 1.0], to=1)
    Counterfactual(rooms 1 -> 4: 1, probability 0.6225 at cost 3, optimal)
    """
    limits = Limits(costs, bounds, immutable, max_changed, integer, constraints, one_hot, background)
    network = clipped_network(model)
    if network.linear and network.link == "softmax" and probability is not None:
        raise ValueError(
            "probability is for two classes where the model has linear terms: of more, it is not linear. Ask for "
            "the class alone, with to, or fit with max_linear=0."
        )
    goals = read_goals(network, at_least, at_most, to, probability)
    tasks = _read_tasks(network, read_row(network, x), goals, limits, fill_missing)
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    if not max_seconds > 0:
        raise ValueError(f"max_seconds must be positive; got {max_seconds}.")
    compile_search()
    deadline, fewest = time.monotonic() + max_seconds, isinstance(costs, str)
    answers = list[Counterfactual]()
    for task in tasks:
        others = [_answer(task, fewest, deadline)]  # the cheapest, and up to n - 1 that change other parts
        while len(others) < n and others[-1].reached and others[-1].changes and time.monotonic() < deadline:
            assert others[-1].row is not None
            task = replace(task, problem=task.problem.without(others[-1].row))
            others.append(_answer(task, fewest, deadline))
        answers.append(replace(others[0], alternatives=tuple(other for other in others[1:] if other.reached)))

    def rank(answer: Counterfactual) -> tuple[float, ...]:
        """Those that reach the goal first, the cheapest before others."""
        if answer.reached:
            return 0.0, float(len(answer.changes)) if fewest else 0.0, answer.cost
        return 1.0, 0.0, np.inf if np.isnan(answer.prediction) else answer.miss

    best = min(answers, key=rank)
    if not best.reached:
        sure = all(answer.optimal for answer in answers)
        unreachable = all(answer.unreachable for answer in answers)
        return replace(best, optimal=sure, max_saving=0.0 if sure else np.inf, unreachable=unreachable)
    if best.optimal and not all(answer.optimal or answer.unreachable for answer in answers):
        return replace(best, optimal=False, max_saving=1.0)
    return best


# -- The problems to solve: one, or, where missing values may be filled, one per way to fill them.

_MOST_WAYS = 256  # to fill the missing values of a row
_STAYS = None  # among the ways to fill one


@dataclass(frozen=True, eq=False)
class Task:
    """One problem, the row that was asked about, and which of its missing values were filled to get there.

    A missing value that stays where all conditions count it as something is a number or a category that does not
    change.
    """

    problem: ChangeProblem
    original: Floats
    filled: frozenset[int]

    def read(self, row: Floats) -> Any:
        """Return a row as the dataset has it; what is missing and was not filled stays so."""
        stays = np.isnan(self.original) & ~np.isin(np.arange(len(row)), [*self.filled])
        return table_row(self.problem.network, np.where(stays, np.nan, row))

    def record(self, row: Floats | None, reached: bool, proven: bool, max_saving: float) -> Counterfactual:
        """Return a row as an answer."""
        problem, network, number = self.problem, self.problem.network, self.problem.goal.number
        if row is None:
            return Counterfactual(False, None, np.nan, {}, np.inf, proven, max_saving, proven)
        row.setflags(write=False)
        before, after, changes = self.read(problem.x), self.read(row), dict[str, tuple[Any, Any]]()
        for column, (name, old, new) in enumerate(zip(network.names, before.tolist(), after.tolist(), strict=True)):
            if column in self.filled:
                changes[name] = None, new
            elif row[column] != problem.x[column] and not np.isnan(row[column]):
                changes[name] = old, new
        scores, label = network.predict_encoded(row[np.newaxis], scores=True), None
        if number is None:
            prediction = float(network.linked(scores)[0])
        else:
            prediction = float(probabilities_of(network, scores)[0, number])
            label = class_labels(network)[int(predicted(scores)[0])]
        cost = problem.cost(row) + float(len(self.filled)) if reached else np.inf
        return Counterfactual(
            reached, after, prediction, changes, cost, proven, max_saving, proven and not reached, row=row,
            miss=float(problem.misses(row[np.newaxis])[0]), label=label,
        )  # fmt: skip


def _read_tasks(
    network: Network, raw: Floats, goals: Sequence[Goal], limits: Limits, fill_missing: bool | Iterable[Any]
) -> list[Task]:
    """Return the problems whose cheapest answer is wanted."""
    columns, missing = network.schema.columns, np.flatnonzero(np.isnan(raw)).tolist()
    fill = missing if fill_missing is True else []
    if not isinstance(fill_missing, bool):
        fill = columns_of(network, fill_missing, "fill_missing")
    immutable = columns_of(network, limits.immutable, "immutable")
    bounds = {column_of(network, name, "bounds"): ends for name, ends in (limits.bounds or {}).items()}
    ways: dict[int, list[float | None]] = {}  # what a missing value may become: itself, a category, the typical number
    for column in missing:
        ways[column], kind = [_STAYS], columns[column]
        if column in fill and column not in immutable:
            typical = [] if kind.typical is None else [kind.typical]
            ways[column] += typical if kind.categories is None else categories_to_fill(kind, bounds.get(column))
    if prod(map(len, ways.values())) > _MOST_WAYS:
        names = ", ".join(network.names[column] for column in fill if column in missing)
        raise ValueError(
            f"fill_missing allows too many ways to fill {names}. Name fewer columns: fill_missing=['a', 'b']."
        )
    tasks = []
    for chosen in product(*ways.values()):
        row, filled = raw.copy(), frozenset(c for c, value in zip(ways, chosen, strict=True) if value is not _STAYS)
        for column, value in zip(ways, chosen, strict=True):
            counted = value_if_missing(network, column) if value is _STAYS else value
            row[column] = np.nan if counted is None else counted
        if limits.max_changed is None or len(filled) <= limits.max_changed:
            kept = [column for column in missing if column not in filled or columns[column].categories is not None]
            tasks += [Task(read_problem(network, row, goal, limits, kept, filled), raw, filled) for goal in goals]
    return tasks


# -- Answers of one problem.


def _answer(task: Task, fewest: bool, deadline: float) -> Counterfactual:
    """Return the cheapest answer; with `fewest`, among those that change the fewest parts."""
    problem = task.problem
    most = int(problem.counted.sum()) if problem.max_changed is None else problem.max_changed
    proven, bound, row = True, 0.0, None
    least = 0 if problem.filled else 1  # to change nothing is among what one change allows
    for limit in range(least, max(most, least) + 1) if fewest else (problem.max_changed,):
        row, bound, solved = cheapest_row(replace(problem, max_changed=limit), deadline)
        proven &= solved
        if row is not None or time.monotonic() > deadline:
            break
    if row is None:
        nearest, sure = nearest_miss(problem, deadline)
        answer = task.record(nearest, False, proven and sure, 0.0 if proven and sure else np.inf)
        return replace(answer, unreachable=proven)
    row = shorten(problem, row)
    cost = problem.cost(row)
    max_saving = 0.0 if proven or cost <= 0 else min(max((cost - bound) / cost, 0.0), 1.0)
    answer, short = task.record(row, True, proven, max_saving), round_row(problem, row)
    if np.array_equal(short, row, equal_nan=True):
        return answer
    dearer = problem.cost(short)
    return replace(answer, rounded=task.record(short, True, False, (dearer - (1.0 - max_saving) * cost) / dearer))
