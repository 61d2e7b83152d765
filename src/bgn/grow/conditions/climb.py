"""The local search: terms are added, swapped, lengthened, shortened and dropped within a budget of conditions.

The steps are Python; what runs over rows is compiled (:mod:`bgn.grow.conditions.moves`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgn.engines.kernels.scores import fill_gradient
from bgn.grow.conditions.moves import (
    LEAST_FALL,
    MOST,
    TRIED,
    Budget,
    Candidates,
    Rows,
    TermArrays,
    cost_of,
    fill_drop_costs,
    fill_values,
    follows_signs,
    propose,
    refit,
)


class Model(NamedTuple):
    """The terms of one size, the intercept first, and the loss of the rows they were grown on, ridge included."""

    loss: float
    beta: NDArray
    linear: NDArray
    columns: NDArray
    tables: NDArray

    @property
    def n_conditions(self) -> int:
        """What a reader reads."""
        return int(sum(map(cost_of, self.linear[1:], self.columns[1:])))


class ConditionSearch:
    """The terms at hand on some rows, and the best model of every size that it has met."""

    def __init__(self, rows: Rows, budget: Budget):
        outputs, n = rows.y.shape
        space, n_bins = budget.size + 2, int(rows.bins.max()) + 1
        self.rows, self.budget, self.size = rows, budget, 1
        self.terms = TermArrays(
            np.ones((space, n)), np.zeros((outputs, space)), np.full(space, -1), np.full((space, MOST), -1),
            np.zeros((space, MOST, n_bins), np.uint8), np.zeros((outputs, space, space)),
        )  # fmt: skip
        self.state = np.zeros((outputs, n)), np.zeros((outputs, n)), np.zeros((outputs, n)), np.zeros(n)
        most = 3 * TRIED + 2 * MOST
        self.candidates = Candidates(
            np.zeros(1, np.int64), np.zeros(most, np.int64), np.zeros((most, MOST), np.int64),
            np.zeros((most, MOST, n_bins), np.uint8),
        )  # fmt: skip
        self.holds = np.zeros(n, np.uint8)
        self.models: list[Model | None] = [None] * (budget.size + 1)
        self.value = self.refit(-1)
        self.note(0)

    def climb(
        self, swaps: int = 1, downward: bool = False, stop: Callable[[], bool] | None = None,
        tell: Callable[[ConditionSearch, int], bool] | None = None,
    ) -> list[Model]:  # fmt: skip
        """Grow the best model of every size, upward and perhaps down again; a smaller one may be the best of a size.

        Where `stop`, or `tell` after a size, says so, there are no larger ones.
        """
        for size in range(1, self.budget.size + 1):
            if stop is not None and stop():
                return self.up_to_now()
            self.add(size)
            self.settle(size, swaps)
            if tell is not None and tell(self, size):
                return self.up_to_now()
        if downward:
            self.recall(self.up_to_now()[-1])
            for size in range(self.budget.size - 1, 0, -1):
                if stop is not None and stop():
                    break
                while self.used > size:
                    costs = self.drop_costs() / np.maximum(self.costs, 1)
                    self.take(1 + int(costs[1:].argmin()))
                self.settle(size, swaps)
        return self.up_to_now()

    def up_to_now(self) -> list[Model]:
        """Return the models there are, by size."""
        known: list[Model] = []
        last = max(size for size, model in enumerate(self.models) if model is not None)
        for model in self.models[: last + 1]:
            known.append(known[-1] if model is None or (known and known[-1].loss < model.loss) else model)
        return known

    @property
    def costs(self) -> NDArray:
        """How many conditions each term has; the intercept has none."""
        terms = self.terms
        return np.where(terms.linear[: self.size] >= 0, 1, (terms.columns[: self.size] >= 0).sum(1))

    @property
    def used(self) -> int:
        """How many conditions all terms have."""
        return int(self.costs.sum())

    def add(self, size: int) -> None:
        """Take up the best terms, or lengthen rules, until the size is met or a better term waits for more space."""
        while (free := size - self.used) > 0:
            worth, net, at = self.propose(0, free + 1, False)
            place, best = self.size, None
            if at >= 0:
                best = self.candidate(at)
            if self.budget.price < np.inf:
                for t in range(1, self.size):
                    if self.terms.linear[t] < 0 and self.terms.columns[t, MOST - 1] < 0:
                        own = int((self.terms.columns[t] >= 0).sum())
                        longer, gain, at = self.propose(t, own + free, True)
                        if longer > worth:
                            worth, net, place, best = longer, gain, t, self.candidate(at)
            if best is None or not net > LEAST_FALL * self.value:
                return
            if place == self.size and cost_of(best[0], best[1]) > free:
                return
            self.put(place, *best)
            self.value = self.refit(place)

    def settle(self, size: int, swaps: int) -> None:
        """Swap the weakest terms for better ones, drop what contradicts a sign, and keep the model of this size."""
        self.keep_signs()
        tried = 0
        while tried < swaps and self.size > 1:
            swapped = False
            for t in (1 + np.argsort(self.drop_costs()[1:], kind="stable"))[: swaps - tried]:
                tried += 1
                space = int(self.costs[t]) + size - self.used
                _, net, at = self.propose(int(t), space, False)
                if net > LEAST_FALL * self.value:
                    kept, before = self.term(t), self.terms.beta.copy()
                    value = self.value
                    self.put(t, *self.candidate(at))
                    self.value = self.refit(t)
                    if self.value < value * (1 - LEAST_FALL):
                        swapped = True
                        break
                    self.put(t, *kept)
                    self.terms.beta[:] = before
                    self.value = self.refit(t)
            if not swapped:
                break
        self.keep_signs()
        self.note(size)

    def keep_signs(self) -> None:
        """Drop terms whose weight has come to contradict a sign."""
        if not self.budget.signs.any():
            return
        terms = self.terms
        t = self.size - 1
        while t > 0:
            weight = terms.beta[0, t]
            if not follows_signs(self.budget, self.rows.bins, *self.term(t), weight):
                self.take(t)
                t = self.size
            t -= 1

    # The kernels, with the arrays at hand.

    def propose(self, skip: int, space: int, near: bool) -> tuple[float, float, int]:
        return propose(self.rows, self.budget, self.terms, self.state, self.size, skip, space, near, self.candidates)

    def refit(self, changed: int) -> float:
        return refit(self.terms, self.rows, self.budget, self.size, changed, self.state)

    def drop_costs(self) -> NDArray:
        costs = np.zeros(self.size)
        fill_drop_costs(self.terms, self.budget, self.size, costs)
        return costs

    # TermArrays come and go.

    def candidate(self, at: int) -> tuple[int, NDArray, NDArray]:
        return int(self.candidates.linear[at]), self.candidates.columns[at].copy(), self.candidates.tables[at].copy()

    def term(self, t: int) -> tuple[int, NDArray, NDArray]:
        return int(self.terms.linear[t]), self.terms.columns[t].copy(), self.terms.tables[t].copy()

    def put(self, t: int, linear: int, columns: NDArray, tables: NDArray) -> None:
        """Write a term in a place, with coefficient 0."""
        terms = self.terms
        terms.linear[t], terms.columns[t], terms.tables[t], terms.beta[:, t] = linear, columns, tables, 0.0
        fill_values(self.rows, linear, columns, tables, self.holds, terms.z[t])
        self.size = max(self.size, t + 1)

    def take(self, t: int) -> None:
        """Take a term out and refit; the last one moves into its place."""
        terms, last = self.terms, self.size - 1
        if t != last:
            terms.linear[t], terms.columns[t], terms.tables[t] = (
                terms.linear[last],
                terms.columns[last],
                terms.tables[last],
            )
            terms.beta[:, t], terms.z[t] = terms.beta[:, last], terms.z[last]
        self.size = last
        self.value = self.refit(min(t, last - 1) if t != last else -2)

    def note(self, size: int) -> None:
        """Keep the terms at hand as the model of a size, if none there is better."""
        kept = self.models[size]
        if kept is None or self.value < kept.loss:
            terms, n = self.terms, self.size
            self.models[size] = Model(
                self.value, terms.beta[:, :n].copy(), terms.linear[:n].copy(), terms.columns[:n].copy(),
                terms.tables[:n].copy(),
            )  # fmt: skip

    def recall(self, model: Model) -> None:
        """Take up the terms of a model again."""
        self.size = 1
        for t in range(1, len(model.linear)):
            self.put(t, model.linear[t], model.columns[t], model.tables[t])
        self.terms.beta[:, : self.size] = model.beta
        self.value = self.refit(-1)


def scores(model: Model, rows: Rows) -> NDArray:
    """Return the scores of rows, one line per output."""
    f = np.tile(model.beta[:, :1], (1, len(rows.w)))
    z, holds = np.zeros(len(rows.w)), np.zeros(len(rows.w), np.uint8)
    for t in range(1, len(model.linear)):
        fill_values(rows, model.linear[t], model.columns[t], model.tables[t], holds, z)
        f += model.beta[:, t : t + 1] * z
    return f


def losses_of(kind: int, f: NDArray, y: NDArray, w: NDArray) -> NDArray:
    """Return the loss of every row times its weight, for scores."""
    losses = np.zeros(len(w))
    fill_gradient(kind, f, y, w, np.zeros_like(f), np.zeros_like(f), losses)
    return losses


def total_of(values: NDArray) -> float:
    """Add up numbers one after the other: the same bits on every processor."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0
