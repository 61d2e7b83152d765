"""The Lasso's direction, as in the paper, and the debiased one: least squares on the columns that the Lasso takes.

For squares both come from inner products that the engine summed once per rule, so they cost no pass over rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bgn.compiling import compiled
from bgn.engines.protocol import NO_OUTPUT, Bools, CutRequest, Floats, Output
from bgn.engines.reduce import Engine
from bgn.grow.directions.protocol import Others
from bgn.model.term import Projection

_NOTHING = 1e-7


class InnerProducts:
    """Inner products of standardised columns with each other, with the rules' answers and with residuals. Those with
    each other are kept for the columns alone that were asked for, one row each: all of them would be as many as columns
    squared."""

    def __init__(self, rows: Engine, numbers: Bools | None = None) -> None:
        self._rows = rows
        about = rows.describe()
        self.usable = about.deviation > 0 if numbers is None else (about.deviation > 0) & numbers
        self._all_usable = bool(self.usable.all())
        self._norm = np.where(self.usable, about.deviation, 1.0)
        self._to_units: list[float] = (about.scale / self._norm).tolist()
        self._none = NO_OUTPUT
        self._start = self._mean_products(self._none)
        self._gram = np.zeros((min(8, rows.n_columns), rows.n_columns))
        self._row_of: NDArray[np.int64] = np.full(rows.n_columns, -1)
        self._n_known = 0
        self._cross = np.zeros((8, rows.n_columns))
        self._unknown: set[int] = set()  # slots whose products are asked for when they are needed
        self._last: tuple[Output, Floats] = self._none, self._start

    def _mean_products(self, output: Output) -> Floats:
        return self._rows.products(output) / (self._norm * self._rows.total)

    def learn(self, slot: int) -> None:
        """Take note that the answers of `slot` are new."""
        self._unknown.add(slot)
        self._last = self._none, self._start

    def _learn_all(self, n_rules: int) -> None:
        """Ask for the inner products of the columns with new answers, as far as they count."""
        for slot in sorted(slot for slot in self._unknown if slot < n_rules):
            self._unknown.remove(slot)
            while slot >= len(self._cross):
                self._cross = np.concatenate([self._cross, np.zeros_like(self._cross)])
            self._cross[slot] = self._rows.cross(slot) / (self._norm * self._rows.total)

    def with_residual(self, output: Output) -> Floats:
        """Mean of every standardised column times the residual that `output` leaves."""
        known, products = self._last
        if not self._rows.loss.quadratic or output.linear:
            if known is not output:
                self._last = output, self._mean_products(output)
            return self._last[1]
        self._learn_all(len(output.weights))
        if len(known.weights) == len(output.weights):
            (changed,) = (known.weights != output.weights).nonzero()
            if len(changed) <= 1:
                for slot in changed.tolist():
                    products = products - float(output.weights[slot] - known.weights[slot]) * self._cross[slot]
                return products
        explained = np.empty(len(self._start))
        weighted_sum(self._cross, output.weights.astype(np.float64), explained)
        products = self._start - explained
        self._last = output, products
        return products

    def lasso(self, output: Output, most: int) -> Floats:
        """Standardised Lasso weights where column number ``most + 1`` would enter the path."""
        products = self.with_residual(output)
        if not self._all_usable:
            products = np.where(self.usable, products, 0.0)
        weights = np.empty(len(products))
        while (missing := lasso_path(self._gram, self._row_of, products, most, weights)) >= 0:
            self._fetch(missing)
        return weights

    def least_squares(self, output: Output, support: NDArray[np.int64]) -> Floats:
        """Standardised least-squares weights on `support`, zero elsewhere."""
        gram = self.gram_of(support)
        weights = np.zeros(len(self.usable))
        answer = self.with_residual(output)[support].copy()
        if len(support) and solve_small(np.ascontiguousarray(gram[:, support]), answer):
            weights[support] = answer
        return weights

    def debiased(self, output: Output, most: int) -> Floats:
        """Least squares on the columns that the Lasso would take."""
        return self.least_squares(output, np.flatnonzero(self.lasso(output, most)))

    def _fetch(self, column: int) -> None:
        row = self._rows.gram(column) / (self._norm * self._norm[column] * self._rows.total)
        if self._n_known == len(self._gram):
            self._gram = np.concatenate([self._gram, np.zeros_like(self._gram)])
        self._gram[self._n_known] = np.where(self.usable, row, 0.0)
        self._row_of[column] = self._n_known
        self._n_known += 1

    def gram_of(self, columns: NDArray[np.int64]) -> Floats:
        """Inner products of some standardised columns, one row each, with all columns."""
        for column in columns:
            if self._row_of[column] < 0:
                self._fetch(int(column))
        return self._gram[self._row_of[columns]]

    def in_units(self, weights: Floats) -> Projection | None:
        """Turn standardised weights to the columns' own units, the leading one exactly 1. Weights below a ten-millionth
        of it are what rounding left of nothing."""
        used = weights.nonzero()[0].tolist()
        if not used:
            return None
        leading = max(used, key=lambda j: abs(weights[j]))
        first, unit = weights.item(leading), self._to_units[leading]
        used = [j for j in used if abs(weights[j]) > _NOTHING * abs(first)]
        return direction_of(used, [weights.item(j) / first * (self._to_units[j] / unit) for j in used])


def direction_of(columns: Iterable[int], coefficients: Iterable[float]) -> Projection:
    """A direction with its columns in order, without the coefficients that no float64 can hold."""
    pairs = sorted([pair for pair in zip(columns, coefficients, strict=True) if pair[1] and math.isfinite(pair[1])])
    return Projection(tuple([column for column, _ in pairs]), tuple([c for _, c in pairs]))


def rounded(direction: Projection, digits: int) -> Projection:
    """The direction with coefficients of a few digits."""
    return Projection(direction.columns, tuple([short(c, digits) for c in direction.factors]))


def short(number: float, digits: int) -> float:
    """A number of a few digits."""
    return float(f"{number:.{digits}g}")


class Lasso:
    """The paper's direction: the Lasso path, stopped when one column too many would enter."""

    def __init__(self, rows: Engine, max_features: int, digits: int | None = None) -> None:
        self._products = InnerProducts(rows)
        self._most, self._digits = max_features, digits

    def learn(self, slot: int, direction: Projection) -> None:
        """Take note of the rule just stored in `slot`."""
        self._products.learn(slot)

    def strength(self, output: Output) -> float:
        """The largest product of a column with the residual."""
        products = np.where(self._products.usable, self._products.with_residual(output), 0.0)
        return float(np.abs(products).max(initial=0.0))

    def propose(self, output: Output, others: Others) -> list[CutRequest]:
        """One direction, or none where the residual is uncorrelated with every column."""
        direction = self._products.in_units(self._weights(output))
        if direction is None:
            return []
        return [CutRequest(output, direction if self._digits is None else rounded(direction, self._digits))]

    def _weights(self, output: Output) -> Floats:
        return self._products.lasso(output, self._most)


class Debiased(Lasso):
    """Least squares on the support that the Lasso chose."""

    def _weights(self, output: Output) -> Floats:
        return self._products.debiased(output, self._most)


# -- The Lasso path from inner products, compiled.


@compiled
def solve_small(matrix, answer):
    """Solve ``matrix x = answer`` in place by elimination with pivoting; False when it is singular."""
    a = matrix.copy()
    n = len(answer)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if abs(a[p, k]) < 1e-10:
            return False
        for j in range(n):
            a[k, j], a[p, j] = a[p, j], a[k, j]
        answer[k], answer[p] = answer[p], answer[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
            answer[i] -= f * answer[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            answer[k] -= a[k, j] * answer[j]
        answer[k] /= a[k, k]
    return True


@compiled
def weighted_sum(lines, weights, out):
    """Write the sum of some lines, each times its weight, one after the other; four at a time save steps."""
    out[:] = 0.0
    whole = len(weights) // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = lines[k], lines[k + 1], lines[k + 2], lines[k + 3]
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for j in range(len(out)):
            out[j] = (((out[j] + a[j] * wa) + b[j] * wb) + c[j] * wc) + d[j] * wd
    for k in range(whole, len(weights)):
        for j in range(len(out)):
            out[j] += lines[k, j] * weights[k]


@compiled
def lasso_path(gram, rows, products, most, weights):
    """Follow the Lasso path until column number ``most + 1`` would enter; write the weights there. Minimises ``w' gram
    w / 2 - products' w + penalty |w|_1`` for a falling penalty. Columns are standardised, so the diagonal of the whole
    `gram` is one; of it there are the rows of some columns, and `rows` says which row is a column's, -1 for none.
    Returns -1 when done, or the number of a column whose row is wanted: add it and call again. O(columns) per knot."""
    d = len(products)
    weights[:] = 0.0
    c = products.copy()
    active = np.empty(min(most, d), np.int64)
    size = 0
    out = np.empty(d, np.bool_)  # active already, or a copy of active columns
    out[:] = False
    left = -1  # the column that has just left may come back only with the other sign
    entering = -1
    penalty = 0.0
    for j in range(d):
        if abs(c[j]) > penalty:
            penalty, entering = abs(c[j]), j
    start = penalty
    for _ in range(20 * d + 20):
        if entering >= 0:
            if size == len(active):
                return -1
            if rows[entering] < 0:
                return entering
            active[size] = entering
            out[entering] = True
            size += 1
        if size == 0 or penalty <= 1e-12 * start:
            return -1
        move = np.empty(size)
        if not way(gram, rows, c, active[:size], move):
            size -= 1
            entering = -1
            continue
        rate = np.empty(d)
        rate[:] = 0.0
        for a in range(size):
            for j in range(d):
                rate[j] += gram[rows[active[a]], j] * move[a]
        length, entering, leaving = next_knot(c, rate, penalty, out, left, (weights, active[:size], move))
        for a in range(size):
            weights[active[a]] += length * move[a]
        for j in range(d):
            c[j] -= length * rate[j]
        penalty -= length
        left = -1
        if leaving >= 0:
            left = active[leaving]
            weights[left] = 0.0
            out[left] = False
            for a in range(leaving, size - 1):
                active[a] = active[a + 1]
            size -= 1
        elif entering < 0:
            return -1
    return -1


@compiled
def way(gram, rows, c, active, move):
    """Write how the weights of the active columns change as the penalty falls; False where that is not determined."""
    among = np.empty((len(active), len(active)))
    for a in range(len(active)):
        move[a] = 1.0 if c[active[a]] > 0 else -1.0
        for b in range(len(active)):
            among[a, b] = gram[rows[active[a]], active[b]]
    return solve_small(among, move)


@compiled
def next_knot(c, rate, penalty, out, left, walk):
    """How far the penalty falls until a column enters, one leaves, or nothing is left of it; and which of them. `walk`
    has all weights, the active columns, and how their weights change."""
    weights, active, move = walk
    length, entering, leaving = penalty, -1, -1
    for j in range(len(c)):
        if out[j]:
            continue
        up, down = 1.0 - rate[j], 1.0 + rate[j]
        if up > 1e-12 and (penalty - c[j]) / up < length and not (j == left and c[j] > 0):
            length, entering = max((penalty - c[j]) / up, 0.0), j
        if down > 1e-12 and (penalty + c[j]) / down < length and not (j == left and c[j] < 0):
            length, entering = max((penalty + c[j]) / down, 0.0), j
    for a in range(len(active)):
        w = weights[active[a]]
        if w * move[a] < 0.0 and -w / move[a] < length:
            length, entering, leaving = -w / move[a], -1, a
    return length, entering, leaving
