"""Output weights: what a rule adds once its rule is found.

Weights and base are whole steps of the loss's grid, so the sum of losses is an exact integer and "the training loss
fell" is a comparison of integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bgn.engines.protocol import Cut, Floats, Integers, LinearTerm, Output
from bgn.engines.reduce import Engine
from bgn.grow.constraints import NO_CONSTRAINTS, Constraints
from bgn.grow.directions.protocol import Others
from bgn.model.term import Oblique

# After this many changes the inverse is built anew, so that rounding does not pile up.
_FRESH_AFTER = 64
# Where one refit is not exact: at most so many, and none after one that gains less than this share of all so far. One
# that replaces a rule is given up where the last, so many times over, would not make up for what was taken out.
_MOST_REFITS = 30
_PAYS = 1e-2
_HOPE = 3.0
# No refit makes a weight larger than two to this power: at such scores a loss has long stopped to fall.
_LARGEST = 12


def placed(state: State, slot: int, rule: Oblique) -> tuple[Oblique, ...]:
    return (*state.rules[:slot], rule, *state.rules[slot + 1 :])


def base_alone(rows: Engine) -> tuple[int, State]:
    """Target sum, and the state of the base alone."""
    if not rows.loss.quadratic:
        several = (rows.loss.outputs,) if rows.loss.outputs > 1 else ()
        rows.settle(rounded_output(np.zeros((1, *several))))
        output = rounded_output(rows.loss.start(rows.pulls()[0] / rows.total)[None])
        return 0, State((), output, rows.settle(output))
    output = Output(np.zeros(0, np.int64), round(rows.target_sum / rows.total))
    return rows.target_sum, State((), output, rows.settle(output))


class Full:
    """All output weights refitted after every change, with a ridge penalty on all but the base. For squares that is
    least squares, in one step. For another loss, whose curvature is bounded, steps that lower it (Boehning and Lindsay
    1988): ``weights += inverse @ (H'residual - ridge * weights) / curvature``."""

    def __init__(self, ridge: float) -> None:
        self._ridge = ridge
        self._last: tuple[Fit, int, WithoutOne] | None = None

    def start(self, rows: Engine) -> State:
        total, state = base_alone(rows)
        fit = Fit(
            state.rules, state.output, state.loss,
            np.array([state.output.base if not rows.loss.quadratic else total / rows.total], np.float64),
            np.array([[1.0 / rows.total]]),
            np.array([[float(rows.total)]]), np.array([float(total)]), 0,
        )  # fmt: skip
        return fit if rows.loss.quadratic else self._refitted(rows, fit, thoroughly=True)

    def without(self, state: State, slot: int) -> Output:
        """The other rules, refitted as if the loss were its quadratic bound."""
        return rounded_output(self._rest(state, slot).weights, state.linear)

    def _rest(self, state: State, slot: int) -> WithoutOne:
        """What is left when the rule in `slot` is taken out; asked for several times in a row."""
        assert isinstance(state, Fit)
        if self._last is None or self._last[0] is not state or self._last[1] != slot:
            self._last = state, slot, WithoutOne.of(state, slot)
        return self._last[2]

    def others(self, rows: Engine, state: State, slot: int) -> Others:
        """The other rules are refitted along with the new one; linear terms are taken to stay as they are."""
        rest = self._rest(state, slot)
        inverse = rest.inverse
        for _ in state.linear:
            inverse, _ = taken_out(inverse, len(inverse) - 1)
        return Others(rows.total, self._share(rows), inverse, rest.keep[1 : len(inverse)] - 1, self._ridge)

    def inverse(self, state: State) -> Floats:
        assert isinstance(state, Fit)
        return state.inverse

    def removed(self, rows: Engine, state: State, slot: int) -> State:
        """The state without the rule in a slot, whose place the last one takes, all others refitted."""
        assert isinstance(state, Fit)
        rest, last = WithoutOne.of(state, slot), state.n_rules - 1
        if slot < last:
            rows.move(last, slot)
        order = np.arange(state.n_rules)
        order[slot + 1 :][:1] = state.n_rules
        kept = np.searchsorted(rest.keep, order)
        rules = placed(state, slot, state.rules[last])[:last]
        weights, inverse = rest.weights[order], among(rest.inverse, kept)
        allowed = self._held(rules, inverse, weights)
        output = rounded_output(allowed)
        fit = replace(
            state, rules=rules, output=output, loss=rows.settle(output), weights=weights, inverse=inverse,
            products=among(state.products, order), target=state.target[order], changes=state.changes + 1,
        )  # fmt: skip
        return fit if rows.loss.quadratic else self._refitted(rows, replace(fit, weights=allowed), thoroughly=True)

    def costs(self, state: State) -> Floats:
        """What taking out each rule would cost, as far as the quadratic bound tells."""
        assert isinstance(state, Fit)
        squares = state.weights[1:] ** 2
        return np.asarray((squares if squares.ndim == 1 else squares.sum(axis=1)) / np.diag(state.inverse)[1:])

    def _share(self, rows: Engine) -> float:
        """The ridge penalty beside a curvature of one."""
        return self._ridge / rows.loss.curvature

    def admit(
        self, rows: Engine, state: State, slot: int, cut: Cut, share: float = 1.0, least_gain: float = 0.0
    ) -> State | None:
        """Try the cut's rule in a spare slot; keep it if the penalised and the plain training loss both fall.

        This `share` of what it gains must be more than all that the rule in the slot does, and more than `least_gain`.
        """
        assert isinstance(state, Fit)
        spare = state.n_rules
        (column, target), rest = self._measure(rows, state, spare, cut.rule), self._rest(state, slot)
        inverse, keep, weights = rest.inverse, rest.keep, rest.weights
        others = keep[1 : len(keep) - len(state.linear)]
        copied = others[np.abs(column[others]) >= rows.total]
        rule = cut.rule
        if len(copied):  # a rule that is there already stays as it is
            rule = state.rules[copied[0] - 1]
            column, target = self._measure(rows, state, spare, rule)
        pull = (inverse * column[keep]).sum(axis=1)
        own = rows.total + self._share(rows) - float((pull * column[keep]).sum())
        if own <= 1e-9 * rows.total:
            return None
        weight: Any = np.zeros(weights.shape[1:])
        if rows.loss.quadratic:
            weight = (target - float((column * weights).sum())) / own
            if not self._enough(share * weight * weight * own, rest.gone + least_gain):
                return None
        fit = self._place(state, slot, keep, column, target, inverse, pull, own, weight, weights[keep])
        least_gain += (1.0 / share - 1.0) * rest.gone * rows.loss.curvature
        return self._accepted(
            rows, state, replace(fit, rules=placed(state, slot, rule)), slot, least_gain, state.linear
        )

    def linear_gain(self, rows: Engine, state: State, linear_term: LinearTerm) -> float:
        """What it would lower the penalised loss by, were that its quadratic bound."""
        *_, own = self._linear_column(rows, state, linear_term)
        pulls = rows.linear_pulls([linear_term])[0]
        return float((pulls * pulls).sum() / own / rows.loss.curvature) if own else 0.0

    def admit_linear(self, rows: Engine, state: State, linear_term: LinearTerm) -> State | None:
        """Add a linear term behind the others; keep it if the penalised and the plain training loss both fall."""
        assert isinstance(state, Fit)
        column, pull, own = self._linear_column(rows, state, linear_term)
        if own == 0.0:
            return None
        weight: Any = np.zeros(state.weights.shape[1:])
        target, last = 0.0, len(column) - 1
        if rows.loss.quadratic:
            left = float(rows.linear_pulls([linear_term])[0])
            weight, target = left / own, left + float((column[:-1] * state.weights).sum())
        keep = np.arange(last)
        fit = self._place(state, last - 1, keep, column[:-1], target, state.inverse, pull, own, weight, state.weights)
        fit.products[last, last] = column[last]
        return self._accepted(rows, state, fit, state.n_rules, 0.0, (*state.linear, linear_term))

    def _linear_column(self, rows: Engine, state: State, linear_term: LinearTerm) -> tuple[Floats, Floats, float]:
        """Inner products of a linear term with all terms and itself, these times the inverse, and what is new in it."""
        assert isinstance(state, Fit)
        column = rows.linear_products(linear_term, state.linear)
        pull = (state.inverse * column[:-1]).sum(axis=1)
        own = float(column[-1] + self._share(rows) - (pull * column[:-1]).sum())
        return column, pull, own if own > 1e-9 * column[-1] else 0.0

    def _enough(self, gained: float, gone: float) -> bool:
        return gained > gone * (1 + 1e-12)

    def _held(
        self, rules: tuple[Oblique, ...], inverse: Floats, weights: Floats, linear: tuple[LinearTerm, ...] = ()
    ) -> Floats:
        """The weights to use where a refit gives these, the base's first, linear terms' last."""
        return weights

    def _measure(self, rows: Engine, state: Fit, spare: int, rule: Oblique) -> tuple[Floats, float]:
        """Inner products of the rule's answers with the constant, the other rules, the linear terms and the target."""
        fired, target_sum, _ = rows.put(spare, rule)
        both = rows.overlaps(spare)[:spare].astype(np.float64)
        sums = state.products[0, 1:]  # of rules 2 * fired - rows
        column = np.empty(len(state.products))
        column[0] = 2 * fired - rows.total
        column[1 : spare + 1] = 4 * both - (sums[:spare] + rows.total) - column[0]
        column[spare + 1 :] = 2 * rows.linear_fired(state.linear, spare) - sums[spare:]
        return column, 2 * target_sum - float(state.target[0])

    def _place(
        self, state: Fit, slot: int, keep: Integers, column: Floats, target: float,
        inverse: Floats, pull: Floats, own: float, weight: Any, weights: Floats,
    ) -> Fit:  # fmt: skip
        """The fit with the new rule last, then moved to its slot."""
        n = len(keep)
        products = np.empty((n + 1, n + 1))
        products[:n, :n] = among(state.products, keep)
        products[:n, n] = products[n, :n] = column[keep]
        products[n, n] = state.products[0, 0]
        order = np.concatenate([np.arange(slot + 1), [n], np.arange(slot + 1, n)])
        return replace(
            state,
            weights=np.concatenate([weights - pull * weight if weights.ndim == 1 else weights, [weight]])[order],
            inverse=among(with_one_more(inverse, pull, own), order),
            products=among(products, order),
            target=np.append(state.target[keep], target)[order],
            changes=state.changes + 1,
        )

    def _accepted(
        self, rows: Engine, state: Fit, fit: Fit, slot: int, least_gain: float, linear: tuple[LinearTerm, ...]
    ) -> State | None:
        """Round to whole steps and ask the rows; put everything back if the loss did not fall. Where one refit is not
        exact, it must fall by more than `least_gain`."""
        if fit.changes >= _FRESH_AFTER:
            fit = self._refreshed(fit, self._share(rows), rows.loss.quadratic)
        if slot < (spare := state.n_rules):
            rows.move(spare, slot)
        fit = self._whole_fit(rows, fit, state, linear)
        if fit.loss < state.loss and (rows.loss.quadratic or self.objective(fit) + least_gain < self.objective(state)):
            return fit
        if slot < spare:
            rows.put(slot, state.rules[slot])
        rows.settle(state.output)
        return None

    def _whole_fit(
        self, rows: Engine, fit: Fit, state: Fit, linear: tuple[LinearTerm, ...], before: float | None = None
    ) -> Fit:
        """The fit in whole steps, with its loss; one that is not exact is refitted, to do better than a state."""
        weights = self._held(fit.rules, fit.inverse, fit.weights, linear)
        output = rounded_output(weights, linear)
        fit = replace(fit, output=output, loss=rows.settle(output))
        return fit if rows.loss.quadratic else self._refitted(rows, replace(fit, weights=weights), state, before=before)

    def take_over(
        self, rows: Engine, state: State, rules: tuple[Oblique, ...], linear: tuple[LinearTerm, ...],
        start: Floats | None = None,
    ) -> State | None:  # fmt: skip
        """Take over a layer, all outputs refitted; None, and nothing has changed, where the loss does not fall. Its
        linear terms begin with those of the state. A loss that takes steps starts from `start`, or from the weights
        there are."""
        assert isinstance(state, Fit)
        exact, fit = rows.loss.quadratic, taken_over(rows, state, rules, linear, self._share(rows))
        if fit is not None:
            if exact:
                fit = replace(fit, weights=(fit.inverse * fit.target).sum(axis=1))
            elif start is not None:
                fit = replace(fit, weights=start)
            if fit.changes >= _FRESH_AFTER:
                fit = self._refreshed(fit, self._share(rows), exact)
            fit = self._whole_fit(rows, fit, state, linear, self.objective(state))
            if fit.loss < state.loss and (exact or self.objective(fit) < self.objective(state)):
                return fit
        for slot in changed(state.rules, rules):
            if slot < state.n_rules:
                rows.put(slot, state.rules[slot])
        rows.settle(state.output)
        return None

    def objective(self, fit: State) -> float:
        assert isinstance(fit, Fit)
        return fit.loss + self._ridge * float((fit.weights[1:] * fit.weights[1:]).sum())

    def _refitted(
        self, rows: Engine, fit: Fit, than: State | None = None, thoroughly: bool = False, before: float | None = None
    ) -> Fit:
        """Take steps that lower the loss and its penalty, as long as they pay; the current output is the fit's. Each
        goes where the quadratic bound says, as earlier ones have taught to see it (L-BFGS); where that does not help,
        where the bound alone says. With a state to be better `than`, one that will not be is given up early. What is
        gained counts from `before`, by default from the fit."""
        last = self.objective(fit)
        before = last if before is None else before
        wanted = None if than is None else self.objective(than)
        gradient, curvature = self._gradient(rows, fit), Curvature(fit.inverse, rows.loss.curvature)
        most = 2.0 ** (rows.loss.grid.exponent + _LARGEST)
        for _ in range(_MOST_REFITS):
            weights = np.clip(fit.weights + curvature.step(gradient), -most, most)
            weights = self._held(fit.rules, fit.inverse, weights, fit.linear)
            better = replace(fit, weights=weights, output=rounded_output(weights, fit.linear))
            better = replace(better, loss=rows.settle(better.output))
            gained = last - self.objective(better)
            if gained <= 0:
                rows.settle(fit.output)
                if not curvature.pairs:
                    break
                curvature.pairs.clear()
                continue
            last -= gained
            if gained <= (_PAYS / 100 if thoroughly else _PAYS) * (before - last):
                return better
            if wanted is not None and last - _HOPE * gained > wanted:
                return better
            new_gradient = self._gradient(rows, better)
            curvature.take_in(better.weights - fit.weights, gradient - new_gradient)
            fit, gradient = better, new_gradient
        return fit

    def _gradient(self, rows: Engine, fit: Fit) -> Floats:
        """Half of how fast loss and penalty fall as each weight rises; the current output is the fit's."""
        gradient = np.concatenate([rows.pulls(), rows.linear_pulls(fit.linear)]) if fit.linear else rows.pulls()
        gradient[1:] -= self._ridge * fit.weights[1:]
        return gradient

    def _refreshed(self, fit: Fit, ridge: float, quadratic: bool) -> Fit:
        """Build the inverse anew, one rule after the other, and, where it is exact, the weights from it."""
        inverse = np.array([[1.0 / fit.products[0, 0]]])
        for n in range(1, len(fit.products)):
            column = fit.products[:n, n]
            pull = (inverse * column).sum(axis=1)
            own = fit.products[n, n] + ridge - float((pull * column).sum())
            inverse = with_one_more(inverse, pull, own)
        weights = (inverse * fit.target).sum(axis=1) if quadratic else fit.weights
        return replace(fit, inverse=inverse, weights=weights, changes=0)


def rounded_output(weights: Floats, linear: tuple[LinearTerm, ...] = ()) -> Output:
    """Base, weights and linear coefficients in whole steps."""
    steps = np.rint(weights).astype(np.int64)
    last = len(steps) - len(linear)
    return Output(steps[1:last], steps[0] if steps.ndim > 1 else int(steps[0]), (), linear, steps[last:])


# -- A layer while it grows.


@dataclass(frozen=True)
class State:
    """A layer while it grows: its rules, their output, and the sum of losses it leaves. `same_answers` tells that the
    last step changed nothing but output weights."""

    rules: tuple[Oblique, ...]
    output: Output
    loss: int
    same_answers: bool = field(default=False, kw_only=True)

    @property
    def n_rules(self) -> int:
        return len(self.rules)

    @property
    def linear(self) -> tuple[LinearTerm, ...]:
        """The straight lines beside the rules."""
        return self.output.linear

    @property
    def size(self) -> int:
        return self.n_rules + len(self.linear)


# -- A layer with its outputs fitted: what a refit needs to know, with a rule less, or with other rules.


@dataclass(frozen=True)
class Fit(State):
    """A fitted state: weights in floats, the inverse of ``H'H + ridge / curvature`` and how fresh it is. The constant
    comes first, then the rules, then the linear terms."""

    weights: Floats
    inverse: Floats
    products: Floats
    target: Floats
    changes: int


@dataclass(frozen=True)
class WithoutOne:
    """A fit without the rule in one slot: inverse, columns kept, all weights, and what taking it out costs."""

    inverse: Floats
    keep: Integers
    weights: Floats
    gone: float

    @classmethod
    def of(cls, state: Fit, slot: int) -> WithoutOne:
        if slot == state.n_rules:
            return cls(state.inverse, np.arange(len(state.inverse)), state.weights, 0.0)
        k = slot + 1
        inverse, keep = taken_out(state.inverse, k)
        gone = state.weights[k] / state.inverse[k, k]
        weights = state.weights - (np.outer(state.inverse[:, k], gone) if np.ndim(gone) else state.inverse[:, k] * gone)
        weights[k] = 0.0
        return cls(inverse, keep, weights, float((state.weights[k] * gone).sum()))


def changed(old: tuple[Oblique, ...], new: tuple[Oblique, ...]) -> list[int]:
    """The slots that ask something else, or nothing so far."""
    return [slot for slot, rule in enumerate(new) if slot >= len(old) or rule != old[slot]]


def taken_over(
    rows: Engine, state: Fit, rules: tuple[Oblique, ...], linear: tuple[LinearTerm, ...], ridge: float
) -> Fit | None:
    """The state with other rules in their slots, and more linear terms; None where one answers as others together. What
    is new has no weight yet."""
    layer = _Layer(rows, state, rules, linear)
    lines = layer.add_linear()
    new = changed(state.rules, rules)
    layer.put(new)
    inverse, kept = state.inverse, [*layer.known]
    for slot in reversed([slot for slot in new if slot < state.n_rules]):
        inverse, _ = taken_out(inverse, slot + 1)
        kept.remove(slot + 1)
    for k in [*lines, *(slot + 1 for slot in new)]:
        column = layer.products[kept, k]
        pull = (inverse * column).sum(axis=1)
        own = layer.products[k, k] + ridge - float((pull * column).sum())
        if own <= 1e-9 * layer.products[k, k]:
            return None
        inverse = with_one_more(inverse, pull, own)
        kept.append(k)
    weights = np.zeros((len(kept), *state.weights.shape[1:]))
    weights[layer.known] = state.weights
    weights[[slot + 1 for slot in new]] = 0.0
    return replace(
        state, rules=rules, weights=weights, inverse=among(inverse, np.argsort(kept)), products=layer.products,
        target=layer.target, changes=state.changes + len(lines) + len(new),
    )  # fmt: skip


class _Layer:
    """Products and targets of a layer that follows another: the constant comes first, then rules, then linear terms."""

    def __init__(self, rows: Engine, state: Fit, rules: tuple[Oblique, ...], linear: tuple[LinearTerm, ...]) -> None:
        self._rows, self._state, self._rules, self._linear_of = rows, state, rules, linear
        size, self._first = 1 + len(rules) + len(linear), 1 + len(rules)  # of all; where linear terms begin
        self.known = [*range(state.n_rules + 1), *range(self._first, self._first + len(state.linear))]
        self.products, self.target = np.zeros((size, size)), np.zeros(size)
        self.products[np.ix_(self.known, self.known)], self.target[self.known] = state.products, state.target

    def add_linear(self) -> list[int]:
        """Measure the linear terms that the state does not have, while its rules are in their slots; their places."""
        rows, state, first = self._rows, self._state, self._first
        places = range(first + len(state.linear), first + len(self._linear_of))
        for k in places:
            linear_term = self._linear_of[k - first]
            column = rows.linear_products(linear_term, self._linear_of[: k - first])
            others = [*range(state.n_rules + 1), *range(first, k + 1)]
            self.products[k, others] = self.products[others, k] = column
            if rows.loss.quadratic:
                left = float(rows.linear_pulls([linear_term])[0])
                self.target[k] = left + float((column[: len(state.weights)] * state.weights).sum())
        return [*places]

    def put(self, slots: list[int]) -> None:
        rows, products, total, n_rules = self._rows, self.products, float(self._rows.total), self._first - 1
        for slot in slots:
            fired, target_sum, _ = rows.put(slot, self._rules[slot])
            products[0, slot + 1] = products[slot + 1, 0] = 2 * fired - total
            self.target[slot + 1] = 2 * target_sum - self.target[0]
        for slot in slots:
            k, both = slot + 1, rows.overlaps(slot)[:n_rules].astype(np.float64)
            some = slice(1, 1 + len(both))
            products[k, some] = products[some, k] = 4 * both - (products[0, some] + total) - products[0, k]
            products[k, k] = total
            lines = 2 * rows.linear_fired(self._linear_of, slot) - products[0, self._first :]
            products[k, self._first :] = products[self._first :, k] = lines


# -- Inverses that grow and shrink by a column.


def with_one_more(inverse: Floats, pull: Floats, own: float) -> Floats:
    """The inverse for one more column, the last: `pull` is inverse times its products, `own` what is new in it."""
    n = len(inverse)
    grown = np.empty((n + 1, n + 1))
    grown[:n, :n] = inverse + np.outer(pull, pull) / own
    grown[:n, n] = grown[n, :n] = -pull / own
    grown[n, n] = 1.0 / own
    return grown


def taken_out(inverse: Floats, k: int) -> tuple[Floats, Integers]:
    """The inverse for all columns but number `k`, and the numbers of those columns."""
    keep = np.arange(len(inverse) - 1)
    keep[k:] += 1
    return among(inverse, keep) - np.outer(inverse[keep, k], inverse[k, keep]) / inverse[k, k], keep


def among(matrix: Floats, which: Integers) -> Floats:
    return np.asarray(matrix[which[:, None], which])


# -- How steeply a loss curves, as steps along it tell (L-BFGS).


class Curvature:
    """What steps have told of the curvature, beside its bound: pairs of steps and of what they did to the slope."""

    def __init__(self, inverse: Floats, curvature: float) -> None:
        self._inverse, self._curvature, self._scale = inverse, curvature, 1.0
        self.pairs: list[tuple[Floats, Floats, float]] = []

    def take_in(self, step: Floats, fell: Floats) -> None:
        """Remember a step, and by how much it lowered the slope."""
        along = float((step * fell).sum())
        if along > 0:
            self.pairs.append((step, fell, along))
            self._scale = along / float((fell * self._bounded(fell)).sum())

    def step(self, gradient: Floats) -> Floats:
        """The step to take: two loops over the pairs (Nocedal 1980), around the inverse of the bound."""
        shares = []
        for step, fell, along in reversed(self.pairs):
            share = float((step * gradient).sum()) / along
            gradient = gradient - share * fell
            shares.append(share)
        step_taken = self._bounded(gradient) * (self._scale if self.pairs else 1.0)
        for (step, fell, along), share in zip(self.pairs, reversed(shares), strict=True):
            step_taken = step_taken + (share - float((fell * step_taken).sum()) / along) * step
        return step_taken

    def _bounded(self, gradient: Floats) -> Floats:
        """The step that the bound alone tells."""
        inverse = self._inverse if gradient.ndim == 1 else self._inverse[:, :, None]
        return np.asarray((inverse * gradient).sum(axis=1) / self._curvature)


# -- All output weights refitted after every change, with some of their signs held.

# Pivots per weight: many times what is ever needed; signs hold after fewer too.
_MOST_PIVOTS = 8


class Signed(Full):
    """Like :class:`~bgn.grow.refit.Full`, but that no output weight gets a sign that `constraints` rule out. For
    squares a fit keeps the weights of the refit without signs, from which those with them follow. For other losses
    every step is followed by one to the nearest weights with these signs."""

    def __init__(self, ridge: float, constraints: Constraints) -> None:
        super().__init__(ridge)
        self._constraints = constraints

    def _held(
        self, rules: tuple[Oblique, ...], inverse: Floats, weights: Floats, linear: tuple[LinearTerm, ...] = ()
    ) -> Floats:
        return held(weights, inverse, self._constraints.signs(rules, linear))

    def without(self, state: State, slot: int) -> Output:
        """The other rules, refitted with signs held."""
        assert isinstance(state, Fit)
        rest, inverse = self._rest(state, slot), np.zeros_like(state.inverse)
        inverse[np.ix_(rest.keep, rest.keep)] = rest.inverse
        return rounded_output(self._held(state.rules, inverse, rest.weights, state.linear), state.linear)

    def objective(self, fit: State) -> float:
        weights = np.append(fit.output.weights, fit.output.linear_coef).astype(np.float64)
        return fit.loss + self._ridge * float((weights * weights).sum())

    def costs(self, state: State) -> Floats:
        """What taking out each rule would cost, as far as the quadratic bound tells: of no weight, nothing."""
        assert isinstance(state, Fit)
        weights = self._held(state.rules, state.inverse, state.weights, state.linear)[1:]
        return np.asarray(weights * weights / np.diag(state.inverse)[1:])

    def linear_gain(self, rows: Engine, state: State, linear_term: LinearTerm) -> float:
        """Nothing for a line that would go the wrong way."""
        wrong = self._constraints.of(linear_term.column) * float(rows.linear_pulls([linear_term])[0]) < 0
        return 0.0 if wrong else super().linear_gain(rows, state, linear_term)

    def _explained(self, fit: Fit, linear: tuple[LinearTerm, ...]) -> float:
        """By how much the weights of a fit lower the penalised squares once their signs are held."""
        return float((fit.target * self._held(fit.rules, fit.inverse, fit.weights, linear)).sum())

    def _enough(self, gained: float, gone: float) -> bool:
        return True

    def _accepted(
        self, rows: Engine, state: Fit, fit: Fit, slot: int, least_gain: float, linear: tuple[LinearTerm, ...]
    ) -> State | None:
        """Keep what lowers the loss with signs held; a rule, or line, whose weight they leave at zero does not."""
        if rows.loss.quadratic and self._explained(fit, linear) - self._explained(state, state.linear) <= least_gain:
            return None
        accepted = super()._accepted(rows, state, fit, slot, least_gain, linear)
        if accepted is None or (
            accepted.output.linear_coef[-1] if len(linear) > len(state.linear) else accepted.output.weights[slot]
        ):
            return accepted
        if slot < state.n_rules:
            rows.put(slot, state.rules[slot])
        rows.settle(state.output)
        return None


def held(weights: Floats, inverse: Floats, signs: Integers) -> Floats:
    """The weights nearest to some, as the inverse of `inverse` measures, none of which has the sign against its own.

    Among weights with these signs they lower the penalised squares most, where the given ones are those of the refit
    without signs. Sums of products alone, so it is the same on every machine.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.grow.refit import held
    >>> held(np.array([5.0, -1.0, 2.0]), np.array([[1.0, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]), np.array([0, 1, 1]))
    array([5. , 0. , 2.5])
    """
    if not (weights * signs < 0).any():
        return weights
    which = np.flatnonzero(signs)
    own = signs[which].astype(np.float64)
    factors = multipliers(inverse[np.ix_(which, which)] * np.outer(own, own), weights[which] * own)
    moved = weights + (inverse[:, which] * (own * factors)).sum(axis=1)
    moved[which[factors > 0]] = 0.0
    return np.where(moved * signs < 0, 0.0, moved)


def multipliers(table: Floats, values: Floats) -> Floats:
    """The numbers ``x >= 0`` with ``values + table @ x >= 0``, and of each pair of entries one zero.

    `table` is symmetric and positive definite. Entries that are wrong change places, one at a time, always the last of
    them, which ends (Murty 1974).

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.grow.refit import multipliers
    >>> multipliers(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-2.0, 1.0]))
    array([1., 0.])
    """
    table, values, out = table.copy(), values.copy(), np.zeros(len(values), dtype=bool)
    for _ in range(_MOST_PIVOTS * len(values)):
        wrong = np.flatnonzero(values < 0)
        if len(wrong) == 0:
            break
        k = int(wrong[-1])
        pivot, column, row, value = table[k, k], table[:, k].copy(), table[k].copy(), values[k]
        table -= np.outer(column, row) / pivot
        table[:, k], table[k], table[k, k] = column / pivot, -row / pivot, 1.0 / pivot
        values -= column * (value / pivot)
        values[k] = -value / pivot
        out[k] = not out[k]
    return np.where(out, np.maximum(values, 0.0), 0.0)


# -- The paper's output weights: each rule's are those it was found with.


@dataclass(frozen=True)
class _Steps(State):
    """A stagewise state also remembers what each rule did to the base, and how many rows fire."""

    offsets: tuple[int, ...] = ()
    fired: tuple[int, ...] = ()


class Stagewise:
    """The paper's closed form (Prop. 1): each rule fits the residual it met, times a step size. For squares only."""

    def __init__(self, learning_rate: float, constraints: Constraints = NO_CONSTRAINTS) -> None:
        self._rate, self._constraints = learning_rate, constraints

    def start(self, rows: Engine) -> State:
        if not rows.loss.quadratic:
            raise ValueError("output='stagewise' is for squared errors alone; use output='full'.")
        _, state = base_alone(rows)
        return _Steps(state.rules, state.output, state.loss)

    def without(self, state: State, slot: int) -> Output:
        """Take the rule's step back, base and all."""
        assert isinstance(state, _Steps)
        weights = state.output.weights.copy()
        weights[slot] = 0
        return Output(weights, state.output.base - state.offsets[slot])

    def others(self, rows: Engine, state: State, slot: int) -> Others:
        """The other rules stay as they are."""
        return Others(rows.total, 0.0, np.array([[1.0 / rows.total]]), np.zeros(0, np.int64), 0.0)

    def admit(
        self, rows: Engine, state: State, slot: int, cut: Cut, share: float = 1.0, least_gain: float = 0.0
    ) -> State | None:
        assert isinstance(state, _Steps)
        step = self.step(rows, state, slot, cut, share)
        if step is None:
            return None
        weight, offset = step
        base = state.output if slot == state.n_rules else self.without(state, slot)
        weights = np.append(base.weights, 0) if slot == state.n_rules else base.weights.copy()
        weights[slot] = weight
        *_, changed = rows.put(slot, cut.rule)
        output = Output(weights, base.base + offset)
        return _Steps(
            placed(state, slot, cut.rule), output, rows.settle(output),
            (*state.offsets[:slot], offset, *state.offsets[slot + 1 :]),
            (*state.fired[:slot], cut.fired, *state.fired[slot + 1 :]),
            same_answers=not changed,
        )  # fmt: skip

    def linear_gain(self, rows: Engine, state: State, linear_term: LinearTerm) -> float:
        """Linear terms are for outputs that are refitted."""
        return 0.0

    def admit_linear(self, rows: Engine, state: State, linear_term: LinearTerm) -> State | None:
        return None

    def inverse(self, state: State) -> None:
        return

    def step(self, rows: Engine, state: State, slot: int, cut: Cut, share: float) -> tuple[int, int] | None:
        """Weight of the rule and change of the base, if they lower the squared sum; no pass over the rows."""
        assert isinstance(state, _Steps)
        up, down = cut.fired_sum / cut.fired, cut.silent_sum / cut.silent
        weight, offset = round(self._rate * (up - down) / 2), round(self._rate * (up + down) / 2)
        if (self._constraints.sign(cut.rule.projection) or 0) * weight < 0:
            return None
        total = cut.fired_sum + cut.silent_sum
        released = 0
        if slot < state.n_rules:  # by how much the squared sum rises without the rule that is there
            old, old_offset, fired = int(state.output.weights[slot]), state.offsets[slot], state.fired[slot]
            fired_sum = rows.correlation(slot) + (old + old_offset) * fired
            released = _drop(rows.total, old, old_offset, fired, fired_sum, total)
        gained = _drop(rows.total, weight, offset, cut.fired, cut.fired_sum, total)
        return (weight, offset) if gained > released and share * gained > released else None


def _drop(rows: int, weight: int, offset: int, fired: int, fired_sum: int, total: int) -> int:
    """How far ``weight * answer + offset`` lowers the squared sum of a residual with these sums."""
    up, down = weight + offset, offset - weight
    silent, silent_sum = rows - fired, total - fired_sum
    return 2 * up * fired_sum - up * up * fired + 2 * down * silent_sum - down * down * silent


OutputFitter = Full | Stagewise
