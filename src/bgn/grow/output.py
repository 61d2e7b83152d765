"""Output weights: what a neuron adds once its question is found.

Weights and base are whole steps of the loss's grid, so the sum of losses is an exact integer and "the training loss
fell" is a comparison of integers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bgn.engines.protocol import Cut, Engine, Floats, Integers, Output, Ramp
from bgn.grow.curvature import LearntCurvature
from bgn.grow.directions.protocol import Others
from bgn.grow.fits import Fit, WithoutOne, changed, taken_over
from bgn.grow.inverses import among, taken_out, with_one_more
from bgn.grow.output_rule import OutputRule as OutputRule
from bgn.grow.output_rule import State as State
from bgn.model.neuron import Neuron

# After this many changes the inverse is built anew, so that rounding does not pile up.
_FRESH_AFTER = 64
# Where one refit is not exact: at most so many, and none after one that gains less than this share of all so far. One
# that replaces a neuron is given up where the last, so many times over, would not make up for what was taken out.
_MOST_REFITS = 30
_PAYS = 1e-2
_HOPE = 3.0
# No refit makes a weight larger than two to this power: at such scores a loss has long stopped to fall.
_LARGEST = 12


def placed(state: State, slot: int, neuron: Neuron) -> tuple[Neuron, ...]:
    """The state's neurons with one in a slot."""
    return (*state.neurons[:slot], neuron, *state.neurons[slot + 1 :])


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
    """All output weights refitted after every change, with a ridge penalty on all but the base.

    For squares that is least squares, in one step. For another loss, whose curvature is bounded, steps that lower it
    (Boehning and Lindsay 1988): ``weights += inverse @ (H'residual - ridge * weights) / curvature``.
    """

    def __init__(self, ridge: float) -> None:
        self._ridge = ridge
        self._last: tuple[Fit, int, WithoutOne] | None = None

    def start(self, rows: Engine) -> State:
        """The base alone."""
        total, state = base_alone(rows)
        fit = Fit(
            state.neurons, state.output, state.loss,
            np.array([state.output.base if not rows.loss.quadratic else total / rows.total], np.float64),
            np.array([[1.0 / rows.total]]),
            np.array([[float(rows.total)]]), np.array([float(total)]), 0,
        )  # fmt: skip
        return fit if rows.loss.quadratic else self._refitted(rows, fit, thoroughly=True)

    def without(self, state: State, slot: int) -> Output:
        """The other neurons, refitted as if the loss were its quadratic bound."""
        return rounded_output(self._rest(state, slot).weights, state.ramps)

    def _rest(self, state: State, slot: int) -> WithoutOne:
        """What is left when the neuron in `slot` is taken out; asked for several times in a row."""
        assert isinstance(state, Fit)
        if self._last is None or self._last[0] is not state or self._last[1] != slot:
            self._last = state, slot, WithoutOne.of(state, slot)
        return self._last[2]

    def others(self, rows: Engine, state: State, slot: int) -> Others:
        """The other neurons are refitted along with the new one; ramps are taken to stay as they are."""
        rest = self._rest(state, slot)
        inverse = rest.inverse
        for _ in state.ramps:
            inverse, _ = taken_out(inverse, len(inverse) - 1)
        return Others(rows.total, self._share(rows), inverse, rest.keep[1 : len(inverse)] - 1, self._ridge)

    def inverse(self, state: State) -> Floats:
        """The one that refits need."""
        assert isinstance(state, Fit)
        return state.inverse

    def removed(self, rows: Engine, state: State, slot: int) -> State:
        """The state without the neuron in a slot, whose place the last one takes, all others refitted."""
        assert isinstance(state, Fit)
        rest, last = WithoutOne.of(state, slot), state.width - 1
        if slot < last:
            rows.move(last, slot)
        order = np.arange(state.width)
        order[slot + 1 :][:1] = state.width
        kept = np.searchsorted(rest.keep, order)
        neurons = placed(state, slot, state.neurons[last])[:last]
        weights, inverse = rest.weights[order], among(rest.inverse, kept)
        allowed = self._held(neurons, inverse, weights)
        output = rounded_output(allowed)
        fit = replace(
            state, neurons=neurons, output=output, loss=rows.settle(output), weights=weights, inverse=inverse,
            products=among(state.products, order), target=state.target[order], changes=state.changes + 1,
        )  # fmt: skip
        return fit if rows.loss.quadratic else self._refitted(rows, replace(fit, weights=allowed), thoroughly=True)

    def costs(self, state: State) -> Floats:
        """What taking out each neuron would cost, as far as the quadratic bound tells."""
        assert isinstance(state, Fit)
        squares = state.weights[1:] ** 2
        return np.asarray((squares if squares.ndim == 1 else squares.sum(axis=1)) / np.diag(state.inverse)[1:])

    def _share(self, rows: Engine) -> float:
        """The ridge penalty beside a curvature of one."""
        return self._ridge / rows.loss.curvature

    def admit(
        self, rows: Engine, state: State, slot: int, cut: Cut, share: float = 1.0, lead: float = 0.0
    ) -> State | None:
        """Try the neuron in a spare slot; keep it if the penalised and the plain training loss both fall."""
        assert isinstance(state, Fit)
        spare = state.width
        (column, target), rest = self._measure(rows, state, spare, cut.neuron), self._rest(state, slot)
        inverse, keep, weights = rest.inverse, rest.keep, rest.weights
        others = keep[1 : len(keep) - len(state.ramps)]
        copied = others[np.abs(column[others]) >= rows.total]
        neuron = cut.neuron
        if len(copied):  # a question that is asked already stays in its words
            neuron = state.neurons[copied[0] - 1]
            column, target = self._measure(rows, state, spare, neuron)
        pull = (inverse * column[keep]).sum(axis=1)
        own = rows.total + self._share(rows) - float((pull * column[keep]).sum())
        if own <= 1e-9 * rows.total:
            return None
        weight: Any = np.zeros(weights.shape[1:])
        if rows.loss.quadratic:
            weight = (target - float((column * weights).sum())) / own
            if not self._enough(share * weight * weight * own, rest.gone + lead):
                return None
        fit = self._place(state, slot, keep, column, target, inverse, pull, own, weight, weights[keep])
        lead += (1.0 / share - 1.0) * rest.gone * rows.loss.curvature
        return self._accepted(rows, state, replace(fit, neurons=placed(state, slot, neuron)), slot, lead, state.ramps)

    def ramp_gain(self, rows: Engine, state: State, ramp: Ramp) -> float:
        """What it would lower the penalised loss by, were that its quadratic bound."""
        *_, own = self._beside(rows, state, ramp)
        pulls = rows.ramp_pulls([ramp])[0]
        return float((pulls * pulls).sum() / own / rows.loss.curvature) if own else 0.0

    def admit_ramp(self, rows: Engine, state: State, ramp: Ramp) -> State | None:
        """Add a ramp behind the others; keep it if the penalised and the plain training loss both fall."""
        assert isinstance(state, Fit)
        column, pull, own = self._beside(rows, state, ramp)
        if own == 0.0:
            return None
        weight: Any = np.zeros(state.weights.shape[1:])
        target, last = 0.0, len(column) - 1
        if rows.loss.quadratic:
            left = float(rows.ramp_pulls([ramp])[0])
            weight, target = left / own, left + float((column[:-1] * state.weights).sum())
        keep = np.arange(last)
        fit = self._place(state, last - 1, keep, column[:-1], target, state.inverse, pull, own, weight, state.weights)
        fit.products[last, last] = column[last]
        return self._accepted(rows, state, fit, state.width, 0.0, (*state.ramps, ramp))

    def _beside(self, rows: Engine, state: State, ramp: Ramp) -> tuple[Floats, Floats, float]:
        """Inner products of a ramp with all terms and itself, these times the inverse, and what is new in it; 0 for
        nothing."""
        assert isinstance(state, Fit)
        column = rows.ramp_products(ramp, state.ramps)
        pull = (state.inverse * column[:-1]).sum(axis=1)
        own = float(column[-1] + self._share(rows) - (pull * column[:-1]).sum())
        return column, pull, own if own > 1e-9 * column[-1] else 0.0

    def _enough(self, gained: float, gone: float) -> bool:
        """Whether a neuron gains more than the one it replaces."""
        return gained > gone * (1 + 1e-12)

    def _held(
        self, neurons: tuple[Neuron, ...], inverse: Floats, weights: Floats, ramps: tuple[Ramp, ...] = ()
    ) -> Floats:
        """The weights to use where a refit gives these, the base's first, ramps' last."""
        return weights

    def _measure(self, rows: Engine, state: Fit, spare: int, neuron: Neuron) -> tuple[Floats, float]:
        """Inner products of the neuron's +-1 answers with the constant, the other neurons, the ramps and the target."""
        fired, target_sum, _ = rows.put(spare, neuron)
        both = rows.overlaps(spare)[:spare].astype(np.float64)
        sums = state.products[0, 1:]  # of neurons 2 * fired - rows
        column = np.empty(len(state.products))
        column[0] = 2 * fired - rows.total
        column[1 : spare + 1] = 4 * both - (sums[:spare] + rows.total) - column[0]
        column[spare + 1 :] = 2 * rows.ramp_fired(state.ramps, spare) - sums[spare:]
        return column, 2 * target_sum - float(state.target[0])

    def _place(
        self, state: Fit, slot: int, keep: Integers, column: Floats, target: float,
        inverse: Floats, pull: Floats, own: float, weight: Any, weights: Floats,
    ) -> Fit:  # fmt: skip
        """The fit with the new neuron last, then moved to its slot."""
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
        self, rows: Engine, state: Fit, fit: Fit, slot: int, lead: float, ramps: tuple[Ramp, ...]
    ) -> State | None:
        """Round to whole steps and ask the rows; put everything back if the loss did not fall.

        Where one refit is not exact, it must fall by more than `lead`.
        """
        if fit.changes >= _FRESH_AFTER:
            fit = self._refreshed(fit, self._share(rows), rows.loss.quadratic)
        if slot < (spare := state.width):
            rows.move(spare, slot)
        fit = self._settled(rows, fit, state, ramps)
        if fit.loss < state.loss and (rows.loss.quadratic or self.objective(fit) + lead < self.objective(state)):
            return fit
        if slot < spare:
            rows.put(slot, state.neurons[slot])
        rows.settle(state.output)
        return None

    def _settled(self, rows: Engine, fit: Fit, state: Fit, ramps: tuple[Ramp, ...], before: float | None = None) -> Fit:
        """The fit in whole steps, with its loss; one that is not exact is refitted, to do better than a state."""
        weights = self._held(fit.neurons, fit.inverse, fit.weights, ramps)
        output = rounded_output(weights, ramps)
        fit = replace(fit, output=output, loss=rows.settle(output))
        return fit if rows.loss.quadratic else self._refitted(rows, replace(fit, weights=weights), state, before=before)

    def take_over(
        self, rows: Engine, state: State, neurons: tuple[Neuron, ...], ramps: tuple[Ramp, ...],
        start: Floats | None = None,
    ) -> State | None:  # fmt: skip
        """Take over a layer, all outputs refitted; None, and nothing has changed, where the loss does not fall.

        Its ramps begin with those of the state. A loss that takes steps takes them from `start`, or from the weights
        there are.
        """
        assert isinstance(state, Fit)
        exact, fit = rows.loss.quadratic, taken_over(rows, state, neurons, ramps, self._share(rows))
        if fit is not None:
            if exact:
                fit = replace(fit, weights=(fit.inverse * fit.target).sum(axis=1))
            elif start is not None:
                fit = replace(fit, weights=start)
            if fit.changes >= _FRESH_AFTER:
                fit = self._refreshed(fit, self._share(rows), exact)
            fit = self._settled(rows, fit, state, ramps, self.objective(state))
            if fit.loss < state.loss and (exact or self.objective(fit) < self.objective(state)):
                return fit
        for slot in changed(state.neurons, neurons):
            if slot < state.width:
                rows.put(slot, state.neurons[slot])
        rows.settle(state.output)
        return None

    def objective(self, fit: State) -> float:
        """The loss with its penalty."""
        assert isinstance(fit, Fit)
        return fit.loss + self._ridge * float((fit.weights[1:] * fit.weights[1:]).sum())

    def _refitted(
        self, rows: Engine, fit: Fit, than: State | None = None, thoroughly: bool = False, before: float | None = None
    ) -> Fit:
        """Take steps that lower the loss and its penalty, as long as they pay; the current output is the fit's.

        Each goes where the quadratic bound says, as earlier ones have taught to see it (L-BFGS); where that does not
        help, where the bound alone says. With a state to be better `than`, one that will not be is given up early. What
        is gained counts from `before`, from the fit unless told.
        """
        last = self.objective(fit)
        before = last if before is None else before
        wanted = None if than is None else self.objective(than)
        slope, learnt = self._slope(rows, fit), LearntCurvature(fit.inverse, rows.loss.curvature)
        most = 2.0 ** (rows.loss.grid.exponent + _LARGEST)
        for _ in range(_MOST_REFITS):
            weights = np.clip(fit.weights + learnt.step(slope), -most, most)
            weights = self._held(fit.neurons, fit.inverse, weights, fit.ramps)
            better = replace(fit, weights=weights, output=rounded_output(weights, fit.ramps))
            better = replace(better, loss=rows.settle(better.output))
            gained = last - self.objective(better)
            if gained <= 0:
                rows.settle(fit.output)
                if not learnt.pairs:
                    break
                learnt.pairs.clear()
                continue
            last -= gained
            if gained <= (_PAYS / 100 if thoroughly else _PAYS) * (before - last):
                return better
            if wanted is not None and last - _HOPE * gained > wanted:
                return better
            found = self._slope(rows, better)
            learnt.take_in(better.weights - fit.weights, slope - found)
            fit, slope = better, found
        return fit

    def _slope(self, rows: Engine, fit: Fit) -> Floats:
        """Half of how fast loss and penalty fall as each weight rises; the current output is the fit's."""
        slope = np.concatenate([rows.pulls(), rows.ramp_pulls(fit.ramps)]) if fit.ramps else rows.pulls()
        slope[1:] -= self._ridge * fit.weights[1:]
        return slope

    def _refreshed(self, fit: Fit, ridge: float, quadratic: bool) -> Fit:
        """Build the inverse anew, one neuron after the other, and, where it is exact, the weights from it."""
        inverse = np.array([[1.0 / fit.products[0, 0]]])
        for n in range(1, len(fit.products)):
            column = fit.products[:n, n]
            pull = (inverse * column).sum(axis=1)
            own = fit.products[n, n] + ridge - float((pull * column).sum())
            inverse = with_one_more(inverse, pull, own)
        weights = (inverse * fit.target).sum(axis=1) if quadratic else fit.weights
        return replace(fit, inverse=inverse, weights=weights, changes=0)


def rounded_output(weights: Floats, ramps: tuple[Ramp, ...] = ()) -> Output:
    """Base, weights and slopes in whole steps."""
    steps = np.rint(weights).astype(np.int64)
    last = len(steps) - len(ramps)
    return Output(steps[1:last], steps[0] if steps.ndim > 1 else int(steps[0]), (), ramps, steps[last:])
