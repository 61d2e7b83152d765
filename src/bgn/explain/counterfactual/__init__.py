"""The cheapest change of a row that brings its prediction where it is wanted, or a proof that none does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgn.explain.counterfactual.problem import Problem, read_problem
from bgn.explain.counterfactual.proof import cheapest_row, nearest_miss, neat
from bgn.explain.crossings import compile_search
from bgn.model.step import Floats
from bgn.model.terms import network_of
from bgn.pipelines import through_pipelines


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """An answer to "what would have to change?".

    Changes of one part, and of two, are found by trying every candidate; larger ones by a mixed-integer program over
    the regions of the network. Every answer is a row of floats that the network itself has confirmed, thresholds
    included: where a value must lie below a threshold, it is the largest float that does, or as near as the solver
    comes where several columns meet. "Optimal" means to within a millionth of the cost. Columns without bounds are
    searched a hundred times beyond the farthest threshold in their way; "unreachable" is proven within that range.

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


@through_pipelines("x")
def counterfactual(
    model: Any, x: Any, *, at_least: float | None = None, at_most: float | None = None, costs: Any = None,
    bounds: Mapping[Any, Any] | None = None, immutable: Iterable[Any] = (), max_changed: int | None = None,
    integer: Iterable[Any] = (), constraints: Any = None, one_hot: Sequence[Iterable[Any]] = (), n: int = 1,
    max_seconds: float = 10.0,
) -> Counterfactual:  # fmt: skip
    """Return the cheapest change of a row that brings its prediction to a wanted value, with proof.

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
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    limits = (costs, bounds, immutable, max_changed, integer, constraints, one_hot)
    problem = read_problem(network_of(model), x, at_least, at_most, *limits)
    return _answers(problem, n, isinstance(costs, str), max_seconds)


def _answers(problem: Problem, n: int, fewest: bool, max_seconds: float) -> Counterfactual:
    """Return the cheapest answer, and up to `n` - 1 others as its alternatives."""
    if not max_seconds > 0:
        raise ValueError(f"max_seconds must be positive; got {max_seconds}.")
    compile_search()
    deadline = time.monotonic() + max_seconds
    answers = [_answer(problem, fewest, deadline)]
    while len(answers) < n and answers[-1].found and answers[-1].changes and time.monotonic() < deadline:
        assert answers[-1].x is not None
        problem = problem.without(np.flatnonzero(problem.changed(answers[-1].x[np.newaxis])[0]).tolist())
        answers.append(_answer(problem, fewest, deadline))
    return replace(answers[0], alternatives=tuple(answer for answer in answers[1:] if answer.found))


def _answer(problem: Problem, fewest: bool, deadline: float) -> Counterfactual:
    """Return the cheapest answer; with `fewest`, among those that change the fewest parts."""
    most = len(problem.parts) if problem.max_changed is None else min(problem.max_changed, len(problem.parts))
    proven, bound, row = True, 0.0, None
    for limit in range(1, max(most, 1) + 1) if fewest else (problem.max_changed,):
        row, bound, solved = cheapest_row(replace(problem, max_changed=limit), deadline)
        proven &= solved
        if row is not None or time.monotonic() > deadline:
            break
    if row is not None:
        row = neat(problem, row)
        cost = problem.cost(row)
        gap = 0.0 if proven else min(max((cost - bound) / cost, 0.0), 1.0) if cost > 0 else 0.0
        return _record(problem, row, True, proven, gap)
    nearest, sure = nearest_miss(problem, deadline)
    return _record(problem, nearest, False, proven and sure, 0.0 if proven and sure else np.inf)


def _record(problem: Problem, row: Floats | None, found: bool, proven: bool, gap: float) -> Counterfactual:
    names = problem.network.names
    if row is None:
        return Counterfactual(False, None, np.nan, {}, np.inf, proven, gap, proven)
    row.setflags(write=False)
    changes = {names[i]: (float(problem.x[i]), float(row[i])) for i in np.flatnonzero(row != problem.x)}
    prediction = float(problem.network.predict(row[np.newaxis])[0])
    cost = problem.cost(row) if found else np.inf
    return Counterfactual(found, row, prediction, changes, cost, proven, gap, proven and not found)
