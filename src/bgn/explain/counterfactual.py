"""The cheapest change of a row that brings its prediction where it is wanted, or a proof that none does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.explain.enumeration import best_along, change_one, change_two, complete
from bgn.explain.program import Program, Solution
from bgn.explain.question import Question, read_question
from bgn.explain.subject import network_of
from bgn.network import Floats

# Costs closer than this, relatively, are the same: the solver promises no more.
_SAME = 1e-6
# How far inside its region, relative to the columns' ranges, a row is placed: from edges that belong to it and from
# those that do not.
_INSETS = (
    (0.0, 0.0),
    (1e-13, 1e-13),
    (1e-11, 1e-11),
    (1e-9, 1e-9),
    (1e-7, 1e-7),
    (0.0, 1e-9),
    (0.0, 1e-5),
    (1e-5, 1e-5),
)
# A column without bounds is searched this many times farther than the farthest threshold in its way.
_FAR = 100.0


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """An answer to "what would have to change?".

    Attributes
    ----------
    found : bool
        Whether a row with a wanted prediction was found.
    x : ndarray or None
        That row. When there is none, the allowed row that comes nearest; None if no row is allowed at all.
    prediction : float
        What the network predicts for `x`: when nothing was found, the best attainable.
    changes : dict
        Old and new value of every column that changed, by name.
    cost : float
        Weighted sum of the changes.
    optimal : bool
        Whether it is proven that nothing is cheaper (or, when nothing was found, that nothing comes nearer).
    gap : float
        By how much, at most, something cheaper may exist, relative to `cost`; 0 when optimal.
    unreachable : bool
        Whether it is proven that no allowed row has a wanted prediction.
    alternatives : tuple of Counterfactual
        Further answers that change other columns, dearer ones last.
    """

    found: bool
    x: Floats | None
    prediction: float
    changes: dict[str, tuple[float, float]]
    cost: float
    optimal: bool
    gap: float
    unreachable: bool
    alternatives: tuple[Counterfactual, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the answer, and its alternatives, in plain types: what JSON can hold."""
        return {
            "found": self.found,
            "x": None if self.x is None else self.x.tolist(),
            "prediction": None if np.isnan(self.prediction) else self.prediction,
            "changes": {name: {"from": old, "to": new} for name, (old, new) in self.changes.items()},
            "cost": self.cost if np.isfinite(self.cost) else None,
            "optimal": self.optimal,
            "gap": self.gap if np.isfinite(self.gap) else None,
            "unreachable": self.unreachable,
            "alternatives": [answer.as_dict() for answer in self.alternatives],
        }

    def __repr__(self) -> str:
        if self.unreachable and self.x is None:
            return "Counterfactual(unreachable: no row obeys the limits)"
        if self.unreachable:
            return f"Counterfactual(unreachable: the best attainable is {self.prediction:.6g})"
        if not self.found:
            return f"Counterfactual(not found in time; the nearest so far is {self.prediction:.6g})"
        moves = ", ".join(f"{name} {old:.6g} -> {new:.6g}" for name, (old, new) in self.changes.items())
        proof = "optimal" if self.optimal else f"gap {self.gap:.1%}"
        return f"Counterfactual({moves or 'no change'}: {self.prediction:.6g} at cost {self.cost:.6g}, {proof})"


def counterfactual(
    model: Any,
    x: Any,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    costs: Any = None,
    bounds: Mapping[Any, Any] | None = None,
    immutable: Iterable[Any] = (),
    max_changed: int | None = None,
    integer: Iterable[Any] = (),
    constraints: Any = None,
    one_hot: Sequence[Iterable[Any]] = (),
    n: int = 1,
    max_seconds: float = 10.0,
) -> Counterfactual:
    """Return the cheapest change of a row that brings its prediction to a wanted value, with proof.

    Changes of one part, and of two, are found by trying every candidate; larger ones by a mixed-integer program over
    the regions of the network. Every answer is a row of floats that the network itself has confirmed, thresholds
    included: where a value must lie below a threshold, it is the largest float that does, or as near as the solver
    comes where several columns meet. "Optimal" means to within a millionth of the cost. Columns without bounds are
    searched a hundred times beyond the farthest threshold in their way; "unreachable" is proven within that range.

    Parameters
    ----------
    model : Network or fitted estimator
    x : array_like, mapping or series
        The row to change.
    at_least, at_most : float
        The wanted prediction: one of them or both.
    costs : sequence, mapping from names, or "fewest"
        Price of one unit of each column, 1 by default and for names left out. "fewest" asks for as few changed
        columns as possible first, then for the smallest change.
    bounds : mapping
        Column to ``(low, high)``, None for an open end, or to "increase" or "decrease".
    immutable : sequence of columns
        What must not change.
    max_changed : int, optional
        Most columns that may change; a one-hot group counts once.
    integer : sequence of columns
        What must stay a whole number.
    constraints : sequence
        Linear constraints such as ``"bedrooms <= rooms"`` or ``({"a": 1, "b": -1}, "<=", 0)``.
    one_hot : sequence of groups of columns
        Columns of which exactly one is 1 and the others 0.
    n : int, default 1
        Number of answers; each further one may not change all that an earlier one changes.
    max_seconds : float, default 10
        When to stop with the best answer so far, and a gap.

    Returns
    -------
    Counterfactual

    Examples
    --------
    >>> from bgn import Layer, Network, counterfactual
    >>> network = Network([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> counterfactual(network, [1.0, 1.0], at_least=4.0)
    Counterfactual(rooms 1 -> 4: 4.5 at cost 3, optimal)
    >>> counterfactual(network, [1.0, 1.0], at_least=4.0, bounds={"rooms": (0, 2)}, costs={"rooms": 10})
    Counterfactual(rooms 1 -> 2, age 1 -> 3: 4.5 at cost 12, optimal)
    >>> counterfactual(network, [1.0, 1.0], at_least=4.0, immutable=["rooms"])
    Counterfactual(unreachable: the best attainable is 2.5)
    """
    deadline = time.monotonic() + max_seconds
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    if not max_seconds > 0:
        raise ValueError(f"max_seconds must be positive; got {max_seconds}.")
    network = network_of(model)
    question = read_question(
        network, x, at_least, at_most, costs, bounds, immutable, max_changed, integer, constraints, one_hot
    )
    fewest = isinstance(costs, str)
    first = _answer(question, fewest, deadline)
    answers = [first]
    while len(answers) < n and answers[-1].found and answers[-1].changes and time.monotonic() < deadline:
        assert answers[-1].x is not None
        question = question.without(np.flatnonzero(question.changed(answers[-1].x[np.newaxis])[0]).tolist())
        answers.append(_answer(question, fewest, deadline))
    return replace(first, alternatives=tuple(answer for answer in answers[1:] if answer.found))


def _answer(question: Question, fewest: bool, deadline: float) -> Counterfactual:
    """Return the cheapest answer; with `fewest`, among those that change the fewest parts."""
    most = len(question.parts) if question.max_changed is None else min(question.max_changed, len(question.parts))
    proven, bound, row = True, 0.0, None
    for limit in range(1, max(most, 1) + 1) if fewest else (question.max_changed,):
        row, bound, solved = _cheapest(replace(question, max_changed=limit), deadline)
        proven &= solved
        if row is not None or time.monotonic() > deadline:
            break
    if row is not None:
        row = _neat(question, row)
        cost = float(question.price(row[np.newaxis])[0])
        gap = 0.0 if proven else min(max((cost - bound) / cost, 0.0), 1.0) if cost > 0 else 0.0
        return _record(question, row, True, proven, gap)
    nearest, sure = _nearest_miss(question, deadline)
    return _record(question, nearest, False, proven and sure, 0.0 if proven and sure else np.inf)


def _record(question: Question, row: Floats | None, found: bool, proven: bool, gap: float) -> Counterfactual:
    names = question.network.names
    if row is None:
        return Counterfactual(False, None, np.nan, {}, np.inf, proven, gap, proven)
    row.setflags(write=False)
    changes = {names[i]: (float(question.x[i]), float(row[i])) for i in np.flatnonzero(row != question.x)}
    prediction = float(question.network.predict(row[np.newaxis])[0])
    cost = float(question.price(row[np.newaxis])[0]) if found else np.inf
    return Counterfactual(found, row, prediction, changes, cost, proven, gap, proven and not found)


def _cheapest(question: Question, deadline: float) -> tuple[Floats | None, float, bool]:
    """Return the cheapest row that will do, a lower bound of the cost, and whether the row is proven cheapest."""
    row = change_one(question)
    cost = np.inf if row is None else float(question.price(row[np.newaxis])[0])
    if cost == 0:
        return row, 0.0, True
    most = len(question.parts) if question.max_changed is None else min(question.max_changed, len(question.parts))
    if most >= 2:
        pair = change_two(question, cost, deadline)
        if pair is not None:
            row, cost = pair, float(question.price(pair[np.newaxis])[0])
    tiny = cost <= 1e-12 * float(np.abs(question.x) @ question.costs) + 1e-200  # nothing that a solver could tell apart
    if tiny or most <= 1 or (most == 2 and complete(question, cost)):
        proven = time.monotonic() <= deadline
        return row, cost if proven else 0.0, proven
    reach = _reach(question, cost)
    row, bound, proven = _by_program(question, row, cost, reach, deadline)
    if row is not None:
        cost = float(question.price(row[np.newaxis])[0])
        if not _covers(question, reach, cost):
            row, bound, proven = _by_program(question, row, cost, _reach(question, cost), deadline)
    return row, bound, proven


def _reach(question: Question, cost: float) -> Floats:
    """Return how far each column need be moved: no farther than an answer's cost pays for."""
    if np.isfinite(cost):
        return cost * (1 + 1e-9) / question.costs
    x, layer = question.x, question.layer
    spread = np.where(np.isfinite(question.high - question.low), question.high - question.low, 0.0)
    missing = np.abs(layer.thresholds - layer.project(x[np.newaxis])[0]) + np.abs(layer.weights) @ spread
    sizes = np.abs(layer.weights)
    far = np.divide(missing[:, np.newaxis], sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return _FAR * (far.max(axis=0, initial=0.0) + 1.0)


def _covers(question: Question, reach: Floats, cost: float) -> bool:
    """Whether all rows of at most this cost were within reach."""
    needed = np.minimum(cost / question.costs, np.maximum(question.high - question.x, question.x - question.low))
    moving = [column for part in question.parts for column in part]
    return bool((needed[moving] <= reach[moving] * (1 + 1e-6)).all())


def _by_program(
    question: Question, row: Floats | None, cost: float, reach: Floats, deadline: float
) -> tuple[Floats | None, float, bool]:
    """Improve on a row until the program proves that nothing is cheaper, region by region."""
    program, bound = Program(question, reach), 0.0
    while (left := deadline - time.monotonic()) > 0:
        solution = program.solve(left, ceiling=cost)
        if solution is None:
            return row, cost, True
        bound = max(bound, solution.bound)
        if cost <= bound * (1 + _SAME):
            return row, bound, True
        if solution.x is None:
            break
        better = _enter(program, solution, deadline)
        if better is not None and question.price(better[np.newaxis])[0] < cost:
            row, cost = better, float(question.price(better[np.newaxis])[0])
        if cost <= bound * (1 + _SAME):
            return row, bound, True
        if not solution.finished:
            break
        program.rule_out(solution)
    return row, bound, False


def _enter(program: Program, solution: Solution, deadline: float) -> Floats | None:
    """Return the cheapest row inside a region that the network confirms, or None if the region holds none."""
    question, best, best_cost = program.question, None, np.inf
    aim = np.inf
    for insets in _INSETS:
        found = program.solve(max(deadline - time.monotonic(), 0.1), inside=solution, insets=insets)
        if found is None or found.x is None:
            continue
        aim = min(aim, float(question.price(found.x[np.newaxis])[0]))
        row = _tighten(question, _settle(program, found))
        if question.allows(row[np.newaxis])[0]:
            cost = float(question.price(row[np.newaxis])[0])
            if cost < best_cost:
                best, best_cost = row, cost
            if best_cost <= aim * (1 + 1e-9):
                break
    return best


def _settle(program: Program, solution: Solution) -> Floats:
    """Move the solver's values, right to a millionth, onto the floats that are meant."""
    question = program.question
    assert solution.x is not None
    row = solution.x.copy()
    row[question.integer] = np.rint(row[question.integer])
    near = np.zeros(len(row))
    near[program.columns] = 1e-7 * program.scale
    same = np.abs(row - question.x) <= near
    row[same] = question.x[same]
    row = np.clip(row, question.low, question.high)
    for each, piece in zip(program.directions, solution.pieces, strict=True):
        if np.count_nonzero(each.weights) == 1:
            column = int(np.flatnonzero(each.weights)[0])
            row[column] = np.clip(row[column], *each.edges[piece])
    return row


def _tighten(question: Question, row: Floats) -> Floats:
    """Bring every changed column, one after the other, as near to where it was as the prediction allows."""
    single = [part[0] for part in question.parts if len(part) == 1]
    fine = bool(question.allows(row[np.newaxis])[0])
    for column in [*single, *reversed(single)]:
        if row[column] == question.x[column]:
            continue
        trial = row.copy()
        trial[column] = best_along(question, column, row[np.newaxis])[0]
        nearer = abs(trial[column] - question.x[column]) < abs(row[column] - question.x[column])
        if (nearer or not fine) and question.allows(trial[np.newaxis])[0]:
            row, fine = trial, True
    return row


def _neat(question: Question, row: Floats) -> Floats:
    """Write every changed value with the fewest digits that cost no more, to a billionth, and still do."""
    ceiling = question.price(row[np.newaxis])[0] * (1 + 1e-9)
    for column in np.flatnonzero(row != question.x):
        for digits in range(1, 16):
            trial = row.copy()
            trial[column] = float(f"{row[column]:.{digits}g}")
            if question.price(trial[np.newaxis])[0] <= ceiling and question.allows(trial[np.newaxis])[0]:
                row = trial
                break
    return row


def _nearest_miss(question: Question, deadline: float) -> tuple[Floats | None, bool]:
    """Return the allowed row whose prediction comes nearest to the wanted ones, and whether that is proven."""
    program = Program(question, _reach(question, np.inf))
    best = question.x.copy() if question.allows(question.x[np.newaxis], wanted=False)[0] else None
    miss = np.inf if best is None else _misses(question, best)
    while (left := deadline - time.monotonic()) > 0:
        solution = program.solve(left, missing=True)
        if solution is None:
            return best, True
        if solution.x is None or solution.bound >= miss - _SAME * program.unit:
            return best, solution.x is not None
        for insets in _INSETS:
            found = program.solve(max(left, 0.1), missing=True, inside=solution, insets=insets)
            if found is None or found.x is None:
                continue
            row = _settle(program, found)
            if question.allows(row[np.newaxis], wanted=False)[0] and _misses(question, row) < miss:
                best, miss = row, _misses(question, row)
            if miss <= solution.bound + _SAME * program.unit:
                return best, solution.finished
        if not solution.finished:
            return best, False
        program.rule_out(solution)
    return best, False


def _misses(question: Question, row: Floats) -> float:
    """Return how far a row's prediction is from the wanted ones."""
    prediction = float(question.network.predict(row[np.newaxis])[0])
    return max(question.least - prediction, prediction - question.most, 0.0)
