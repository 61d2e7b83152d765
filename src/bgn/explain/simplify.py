"""Fewer digits, at a price that is known: rules whose thresholds, directions and weights are rounder.

A threshold may slide anywhere between the projections of the rows on its two sides without changing one answer on
them, so the shortest number there costs nothing. So does a rounder direction that still separates the same rows.
Weights are rounded next, or become whole points, and the loss is measured: the squared error, or the log loss of
classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import localcontext
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from bgn.explain.arguments import clipped_network, linear_values, read_codes
from bgn.explain.points import LogLoss, SquaredError
from bgn.explain.proofs import requested_signs, weight_signs
from bgn.inputs.errors import option
from bgn.inputs.frames import LARGEST_SQUARED, rows_of
from bgn.inputs.target import codes_of
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.numbers import EXACT, asks_as_written, between, shortest, written
from bgn.model.step import Floats
from bgn.model.term import Condition, Oblique, Projection, condition_of
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular

# Most significant digits to which directions are rounded; beyond, they stay as they are.
_MOST_DIGITS = 6
_MOST_POINTS = 1000
_CANDIDATES = 30  # thresholds between two projections
_ROUNDING = 1e-12  # relative difference below which two sums of answers are the same


@dataclass(frozen=True, eq=False)
class Simplified(Tabular):
    """A network with rounder numbers, and what that cost on the rows it was rounded for.

    Attributes
    ----------
    network : Network
        Thresholds, directions and weights rounded; rules whose weight became 0 are gone.
    free : Network
        Thresholds and directions rounded only: not one prediction on the rows has changed.
    before, after : float
        The `measure` of the model and of `network` on the rows.
    measure : {"mean squared error", "log loss"}
        What is lost: the latter for classes.
    """

    network: Network
    free: Network
    before: float
    after: float
    measure: str = "mean squared error"

    def _columns(self) -> Columns:
        losses: dict[str, Any] = {"measure": [self.measure], "before": [self.before], "after": [self.after]}
        return losses | {"relative rise": [self.loss], "conditions": [self.network.n_conditions]}

    @property
    def loss(self) -> float:
        """How much the measure rose, relative to what it was."""
        return self.after / self.before - 1.0 if self.before > 0 else float(self.after > 0)

    def __repr__(self) -> str:
        return f"Simplified({self.network!r}, {self.measure} {self.before:.6g} -> {self.after:.6g})"


@through_pipelines("X", targets=("y",))
def simplify(
    model: Any, X: Any, y: ArrayLike, *, digits: int | None = None, max_loss: float = 0.01, points: int | None = None,
    calibrate_on: tuple[Any, Any] | None = None,
) -> Simplified:  # fmt: skip
    """Round a network's numbers: thresholds and directions for free, then output weights, perhaps to whole points.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, shape (rows, features)
        Training rows, whose answers must not change. Thresholds, weights and points are learned from them: pass no test
        rows, or errors on these are no test any more.
    y : array_like, shape (rows,)
        The target of the training rows: numbers, or labels of classes.
    digits : int, optional
        Significant digits of the largest output weight; the others are rounded to the same decimal place. By default
        the fewest whose loss is at most `max_loss`.
    max_loss : float, default 0.01
        Most relative rise of the mean squared error, or log loss, that choosing `digits` may cost.
    points : int, optional
        Most points of a rule. With it, every rule is worth a whole number of points, and a prediction is
        ``start + unit * total`` of the points of the rules that hold, with a short start and a short unit: what
        :func:`bgn.scorecard` prints. Whatever the loss, which is `Simplified.loss`. With two classes it is the log-odds
        that are ``start + unit * total``; with more, every class has its total. Linear terms have no points: an
        estimator that has some is grown anew on these rows, with ``max_linear=0`` and a warning. What
        ``monotonic_cst`` requires holds for the points, too.
    calibrate_on : (X, y), optional
        Validation rows from which start and unit take their values where there are classes, so that the card's
        probabilities fit them; by default `X` and `y`. They are learned from, so test rows are no choice.

    Returns
    -------
    Simplified

    Examples
    --------
    >>> from bgn import Layer, Network, scorecard, simplify
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [0.5931, 1.0]], [-28.2174, -63.557])], [0.30412, 0.505], 1.8)
    >>> rows = [[20.0, 40.0], [31.0, 50.0], [40.0, 30.0], [25.0, 60.0]]
    >>> simple = simplify(network, rows, network.predict(rows), digits=2)
    >>> simple.network.layers[0].thresholds, simple.network.output_weights
    (array([30., 60.]), array([0.3, 0.5]))
    >>> bool((simple.free.predict(rows) == network.predict(rows)).all())
    True
    >>> scorecard(simplify(network, rows, network.predict(rows), points=5).network).points
    ((5,), (3,))
    """
    return rounded(model, X, y, requested_signs(model), digits, max_loss, points, calibrate_on)


def rounded(
    model: Any, X: Any, y: Any, wanted: tuple[int, ...], digits: int | None, max_loss: float, points: int | None,
    calibrate_on: tuple[Any, Any] | None = None,
) -> Simplified:  # fmt: skip
    """Return a model with rounder numbers, whose score still moves with the columns as they want, 1, -1 or 0 each."""
    if digits is not None and points is not None:
        raise ValueError(f"digits and points exclude each other; got {digits} and {points}. Leave one out.")
    for name, value, most in (("digits", digits, 17), ("points", points, _MOST_POINTS)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (whole and 1 <= value <= most):
            raise ValueError(f"{name} must be a whole number from 1 to {most}; got {value!r}.")
    network = clipped_network(model if points is None else _without_linear(model, X, y))
    original = network.with_linear().changed(bounds=None)
    rows = rows_of(original, X, "X")
    # Rules alone are rounded: what they must explain is what linear terms leave.
    linear = linear_values(network, rows).sum(axis=1)
    loss: SquaredError | LogLoss
    if network.link != "identity":
        others = None
        if calibrate_on is not None:
            given = rows_of(original, calibrate_on[0], "X of calibrate_on")
            others = given, codes_of(original, calibrate_on[1], len(given), "y of calibrate_on")
        loss = LogLoss(rows, codes_of(original, y, len(rows)), others, linear)
    elif calibrate_on is not None:
        raise ValueError("calibrate_on is for classes; the model predicts a number. Leave it out.")
    else:
        target = np.asarray(y, dtype=np.float64)
        if target.shape != (len(rows),) or not np.isfinite(target).all():
            raise ValueError(f"y must have one finite number per row ({len(rows)}); got shape {target.shape}.")
        if np.abs(target).max() > LARGEST_SQUARED:
            raise ValueError(f"y must stay within {LARGEST_SQUARED:g}; got {np.abs(target).max():g}. Rescale it.")
        loss = SquaredError(rows, target - linear)
    coded = read_codes(original)
    free, before = _free(coded, rows), loss.of(coded)
    loss = replace(loss, signs=weight_signs(free, wanted))
    if points is not None:
        simple = loss.points(free, points)
    elif digits is not None:
        simple = loss.rounded(free, digits)
    else:
        candidates = (loss.rounded(free, few) for few in range(1, 17))
        simple = next((one for one in candidates if loss.of(one) <= (1.0 + max_loss) * before), free)
    after, (simple, free) = loss.of(simple), (
        one.changed(schema=original.schema, bounds=network.bounds).with_linear(network.linear, network.linear_coef)
        for one in (simple, free)
    )  # fmt: skip
    return Simplified(simple, free, before, after, loss.measure)


def _without_linear(model: Any, X: Any, y: Any) -> Any:
    """Return a model without linear terms, which have no points: an estimator that has some is grown anew."""
    if not clipped_network(model).linear:
        return model
    if not hasattr(model, "get_params"):
        raise ValueError(
            f"points are for models of rules alone, and this one has linear terms. Use {option('digits')}, or fit with "
            f"{option('max_linear', '0')}."
        )
    warnings.warn(
        "points are for rules alone, and the model has linear terms: it was grown anew on these rows with "
        "max_linear=0. Fit with max_linear=0 to choose that yourself.",
        stacklevel=4,
    )
    return clone(model).set_params(max_linear=0).fit(X, y)


def _free(network: Network, rows: Floats) -> Network:
    """Return the network with the roundest directions and thresholds that give the same answers on the rows."""
    inputs, below = rows, list[Layer]()
    for layer in network.below:
        answers, choose = layer.fire(inputs), _between_sums if below else _between_rows
        below.append(Layer.of([_round_sum(one, inputs, choose) for one in layer.neurons], layer.n_inputs))
        inputs = answers
    choose = _between_sums if below else _between_rows

    def rounder(condition: Condition) -> Condition:
        oblique = _round_sum(condition.as_oblique(), inputs, choose)
        return oblique if below else condition_of(oblique)

    rules = [replace(rule, conditions=tuple(map(rounder, rule.conditions))) for rule in network.rules]
    return network.changed(terms=rules, below=below)


def _round_sum(condition: Oblique, inputs: Floats, choose: Callable[..., float | None]) -> Oblique:
    """Return the roundest coefficients, then threshold, with which the condition holds on the same rows."""
    projection, holds = condition.projection, condition.holds(inputs)
    if all(isinstance(factor, tuple) or factor == 0.0 for factor in projection.coefficients):
        return condition  # about categories or missing values alone
    # Where a category takes part, or a missing value counts as something, only the threshold moves.
    plain = projection.numeric and projection.missing_as is None
    for divisor, numbers in _rounder(projection.factors) if plain else [(1.0, projection.coefficients)]:
        projection, near = replace(projection, coefficients=numbers), condition.threshold / divisor
        projections = projection.values(inputs)
        known = ~np.isnan(projections)
        low = float(projections[known & ~holds].max(initial=-np.inf))
        high = float(projections[known & holds].min(initial=np.inf))
        threshold = choose(low, high, near, projection, inputs) if low < high else None
        if threshold is not None:
            return replace(condition, projection=projection, threshold=threshold)
    return condition


def _shifts(projection: Projection, inputs: Floats) -> tuple[float, ...]:
    """Return what 0/1 columns, categories and missing values may add to the one number of a sum, where it is one."""
    shifts, numbers = list[float](), 0
    missing_as = projection.missing_as or (0.0,) * len(projection.columns)
    for j, factor, value in zip(projection.columns, projection.coefficients, missing_as, strict=True):
        if isinstance(factor, tuple):
            shifts += [*factor, value]
        elif factor == 0.0:
            shifts.append(value)
        elif np.isin(inputs[:, j], (0.0, 1.0)).all():
            shifts.append(factor)
        else:
            numbers += 1 if abs(factor) == 1.0 else 2
    return tuple(dict.fromkeys(shifts)) if numbers == 1 else ()


def _between_rows(low: float, high: float, near: float, projection: Projection, inputs: Floats) -> float:
    """Return the shortest number between two projections that is short, too, less what may be added to the others.

    An infinite projection is taken as far from `near` as the other.
    """
    if low < near <= high:
        low, high = (2 * near - high if np.isinf(low) else low), (2 * near - low if np.isinf(high) else high)
    if not low < high:
        return near
    candidates, shifts = [*islice(between(low, high), _CANDIDATES)], _shifts(projection, inputs)
    candidates += [near] if low < near <= high else []
    fitting = (value for value in candidates if all(asks_as_written(value, shift) for shift in shifts))
    return next(fitting, candidates[0])


def _between_sums(low: float, high: float, near: float, projection: Projection, inputs: Floats) -> float | None:
    """Return a threshold of answers from below, +-1, that is short when they are written as 0 and 1.

    It stays away from both sums, so that it parts them however they are rounded; None where they differ by rounding.
    """
    if np.isinf(low):
        low = min(2 * near - high, high - 1.0)
    elif np.isinf(high):
        high = max(2 * near - low, low + 1.0)
    away, numbers = (high - low) / 4, projection.factors
    if away < _ROUNDING * sum(map(abs, numbers)):
        return None
    with localcontext(EXACT):
        ones = sum(map(written, numbers), written(0.0))
        short = shortest((low + away + float(ones)) / 2, (high - away + float(ones)) / 2)
        return float(2 * written(short) - ones)


def _rounder(factors: tuple[float, ...]) -> Iterator[tuple[float, tuple[float, ...]]]:
    """Yield coefficients, the roundest first and one of them +-1, and what they were divided by before rounding."""
    unit = abs(next((factor for factor in factors if abs(factor) == 1.0), max(factors, key=abs)))
    for digits in range(1, _MOST_DIGITS + 1):
        yield unit, tuple(float(f"{factor / unit:.{digits - 1}e}") for factor in factors)
    yield unit, tuple(factor / unit for factor in factors)
    yield 1.0, factors
