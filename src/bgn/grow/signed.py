"""All output weights refitted after every change, with some of their signs held."""

from __future__ import annotations

import numpy as np

from bgn.engines.protocol import Engine, Floats, Integers, Output, Ramp
from bgn.grow.constraints import Constraints
from bgn.grow.fits import Fit
from bgn.grow.output import Full, State, rounded_output
from bgn.model.neuron import Neuron

# Pivots per weight: many times what is ever needed; signs hold after fewer too.
_MOST_PIVOTS = 8


class Signed(Full):
    """Like :class:`~bgn.grow.output.Full`, but that no output weight gets a sign that `constraints` rule out.

    For squares a fit keeps the weights of the refit without signs, from which those with them follow. For other losses
    every step is followed by one to the nearest weights with these signs.
    """

    def __init__(self, ridge: float, constraints: Constraints) -> None:
        super().__init__(ridge)
        self._constraints = constraints

    def _held(
        self, neurons: tuple[Neuron, ...], inverse: Floats, weights: Floats, ramps: tuple[Ramp, ...] = ()
    ) -> Floats:
        return held(weights, inverse, self._constraints.signs(neurons, ramps))

    def without(self, state: State, slot: int) -> Output:
        """The other neurons, refitted with signs held."""
        assert isinstance(state, Fit)
        rest, inverse = self._rest(state, slot), np.zeros_like(state.inverse)
        inverse[np.ix_(rest.keep, rest.keep)] = rest.inverse
        return rounded_output(self._held(state.neurons, inverse, rest.weights, state.ramps), state.ramps)

    def objective(self, fit: State) -> float:
        """The loss with the penalty on the weights in use."""
        weights = np.append(fit.output.weights, fit.output.slopes).astype(np.float64)
        return fit.loss + self._ridge * float((weights * weights).sum())

    def costs(self, state: State) -> Floats:
        """What taking out each neuron would cost, as far as the quadratic bound tells: of no weight, nothing."""
        assert isinstance(state, Fit)
        weights = self._held(state.neurons, state.inverse, state.weights, state.ramps)[1:]
        return np.asarray(weights * weights / np.diag(state.inverse)[1:])

    def ramp_gain(self, rows: Engine, state: State, ramp: Ramp) -> float:
        """Nothing for a line that would go the wrong way."""
        wrong = self._constraints.of(ramp.column) * float(rows.ramp_pulls([ramp])[0]) < 0
        return 0.0 if wrong else super().ramp_gain(rows, state, ramp)

    def _explained(self, fit: Fit, ramps: tuple[Ramp, ...]) -> float:
        """By how much the weights of a fit lower the penalised squares once their signs are held."""
        return float((fit.target * self._held(fit.neurons, fit.inverse, fit.weights, ramps)).sum())

    def _enough(self, gained: float, gone: float) -> bool:
        """Whether a neuron gains enough is told once the signs are held."""
        return True

    def _accepted(
        self, rows: Engine, state: Fit, fit: Fit, slot: int, lead: float, ramps: tuple[Ramp, ...]
    ) -> State | None:
        """Keep what lowers the loss with signs held; a neuron, or line, whose weight they leave at zero does not."""
        if rows.loss.quadratic and self._explained(fit, ramps) - self._explained(state, state.ramps) <= lead:
            return None
        found = super()._accepted(rows, state, fit, slot, lead, ramps)
        if found is None or (found.output.slopes[-1] if len(ramps) > len(state.ramps) else found.output.weights[slot]):
            return found
        if slot < state.width:
            rows.put(slot, state.neurons[slot])
        rows.settle(state.output)
        return None


def held(weights: Floats, inverse: Floats, signs: Integers) -> Floats:
    """The weights nearest to some, as the inverse of `inverse` measures, none of which has the sign against its own.

    Among weights with these signs they lower the penalised squares most, where the given ones are those of the refit
    without signs. Sums of products alone, so it is the same on every machine.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.grow.signed import held
    >>> held(np.array([5.0, -1.0, 2.0]), np.array([[1.0, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]), np.array([0, 1, 1]))
    array([5. , 0. , 2.5])
    """
    if not (weights * signs < 0).any():
        return weights
    which = np.flatnonzero(signs)
    own = signs[which].astype(np.float64)
    found = multipliers(inverse[np.ix_(which, which)] * np.outer(own, own), weights[which] * own)
    moved = weights + (inverse[:, which] * (own * found)).sum(axis=1)
    moved[which[found > 0]] = 0.0
    return np.where(moved * signs < 0, 0.0, moved)


def multipliers(table: Floats, values: Floats) -> Floats:
    """The numbers ``x >= 0`` with ``values + table @ x >= 0``, and of each pair of entries one zero.

    `table` is symmetric and positive definite. Entries that are wrong change places, one at a time, always the last of
    them, which ends (Murty 1974).

    Examples
    --------
    >>> import numpy as np
    >>> from bgn.grow.signed import multipliers
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
