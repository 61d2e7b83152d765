"""What each column adds to a condition's sum, and where along a column the condition turns: the very number.

A condition holds when its summands, added in the order of the columns, reach the threshold. With the other columns
fixed it turns at most once along a column, because every rounding of that sum is monotone. The first float on the other
side is found by a search over floats in their order, begun at the number that exact arithmetic would give.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgn.compiling import compiled
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.term import Oblique, Projection

_LARGEST = np.finfo(np.float64).max
# Floats as whole numbers in the same order: 0.0 is 0, the next float above it 1, the largest float this.
_LAST = int(np.array(_LARGEST).view(np.int64))
_LOWEST = -_LAST
_UNSIGNED = (1 << 63) - 1
# Strides from the first guess grow up to this; then the rest of the floats is halved.
_FAR = 1 << 12


def summand(condition: Oblique, place: int, rows: Floats) -> Floats:
    """Return what the column at one place of a condition's projection adds to the sum of every row.

    A missing value adds an infinity, with which the condition holds or not as it does there, whatever others add.
    """
    values = condition.projection.at(place).values(rows)
    if condition.missing is None:
        return values
    return np.where(np.isnan(values), np.inf if condition.missing else -np.inf, values)


def summands(condition: Oblique, rows: Floats) -> Floats:
    """Return what every column that a condition reads adds to the sum of every row, shape (columns, rows)."""
    places = range(len(condition.projection.columns))
    return np.array([summand(condition, place, rows) for place in places]).reshape(len(places), len(rows))


def factor(condition: Oblique, column: int) -> float:
    """Return a condition's factor for a column of numbers, 0 if it does not read it."""
    projection = condition.projection
    return projection.factors[projection.columns.index(column)] if column in projection.columns else 0.0


@compiled
def fires(terms: Floats, threshold: float) -> bool:
    """Whether the terms, summed in order, reach the threshold."""
    total = terms[0]
    for term in terms[1:]:
        total += term
    return total >= threshold


@compiled
def _middle(low: int, high: int) -> int:
    """Return the middle of two whole numbers whose sum may be too large to write."""
    return (low >> 1) + (high >> 1) + (low & high & 1)


@compiled
def _search(terms: Floats, place: int, weight: float, threshold: float, out: Floats) -> None:
    """Write the first float of column `place` with the new answer, for every row of products `terms`."""
    number = np.empty(1)
    bits = number.view(np.int64)
    row_terms = np.empty(terms.shape[1])
    for row in range(len(terms)):
        for term in range(len(row_terms)):  # an assignment of slices would take a second to compile
            row_terms[term] = terms[row, term]
        row_terms[place] = 0.0
        number[0] = min(max((threshold - row_terms.sum()) / weight, -_LARGEST), _LARGEST) + 0.0
        if np.isnan(number[0]):
            number[0] = 0.0
        start = bits[0] if number[0] >= 0 else -(bits[0] & _UNSIGNED)
        low, high = _LOWEST - 1, _LAST + 1  # the answer is old at low, new at high
        at, stride = start, 1
        while low + 1 < high:
            bits[0] = at if at >= 0 else -at
            value = number[0] if at >= 0 else -number[0]
            row_terms[place] = value * weight
            if fires(row_terms, threshold) == (weight > 0):
                high = at
                near = low < _LOWEST and stride < _FAR
                at = max(high - stride, _LOWEST) if near else _middle(low, high)
            else:
                low = at
                near = high > _LAST and stride < _FAR
                at = min(low + stride, _LAST) if near else _middle(low, high)
            stride = min(4 * stride, _FAR)
        if high > _LAST:
            out[row] = np.inf
        elif high == _LOWEST:
            out[row] = -np.inf
        else:
            bits[0] = high if high >= 0 else -high
            out[row] = number[0] if high >= 0 else -number[0]


def compile_search() -> None:
    """Compile what searches, so that no clock that starts afterwards counts it."""
    _search(np.zeros((1, 1)), 0, 1.0, 0.0, np.empty(1))


def crossings(condition: Oblique, column: int, rows: Floats) -> Floats:
    """Return for every row the first value of `column`, one of numbers, from which on a condition has its upper answer.

    From there on it holds if its factor is positive, and does not if that is negative; below it is the other way round.
    ``inf`` means that it never turns from the lower answer, ``-inf`` that it has the upper one everywhere.
    """
    place = condition.projection.columns.index(column)
    weight, out = condition.projection.factors[place], np.empty(len(rows))
    if weight == 0.0:  # it asks for missing values alone
        still = rows.copy()
        still[:, column] = 0.0
        return np.where(condition.holds(still), np.inf, -np.inf)
    if len(condition.projection.columns) == 1:
        _search(np.zeros((1, 1)), 0, weight, condition.threshold, out[:1])
        out[:] = out[:1]
    else:
        _search(np.ascontiguousarray(summands(condition, rows).T), place, weight, condition.threshold, out)
    if condition.missing is not None:
        others = [other for other in condition.projection.columns if other != column]
        out[np.isnan(rows[:, others]).any(axis=1)] = -np.inf if condition.missing == (weight > 0) else np.inf
    return out


def crossings_along(layer: Layer, column: int, rows: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the conditions of a layer that read a column, and where they turn along it, shape (rows, readers)."""
    readers = np.flatnonzero(layer.reads[:, column])
    places = np.empty((len(rows), len(readers)))
    for position, reader in enumerate(readers):
        places[:, position] = crossings(layer.neurons[reader], column, rows)
    return readers, places


def walks(network: Network, column: int, rows: Floats) -> tuple[Floats, Floats]:
    """Return where rows cross thresholds along a column, shape (rows, readers), in order, and the scores between.

    Linear terms are left aside. Scores between equal crossings are never met.
    """
    layer = network.layers[0]
    readers, places = crossings_along(layer, column, rows)
    order = np.argsort(places, axis=1)
    upper = np.array([1.0 if factor(layer.neurons[reader], column) > 0 else -1.0 for reader in readers])
    answers = layer.fire(rows)
    answers[:, readers] = -upper
    scores = [after_first(network, answers)]
    for rank in order.T:
        answers[np.arange(len(rows)), readers[rank]] = upper[rank]
        scores.append(after_first(network, answers))
    return np.take_along_axis(places, order, axis=1), np.stack(scores, axis=1)


def mean_steps(places: Floats, predictions: Floats) -> tuple[Floats, Floats]:
    """Return where the mean of the rows' steps may step, and what it is from there on."""
    where, jump = places.ravel(), np.diff(predictions, axis=1).ravel()
    finite = np.isfinite(where)
    unique, slot = np.unique(where[finite], return_inverse=True)
    rises = np.bincount(slot, weights=jump[finite], minlength=len(unique))
    start = predictions[:, 0].sum() + jump[where == -np.inf].sum()
    means = np.concatenate([[start], start + np.cumsum(rises)]) / len(places)
    return np.append(-np.inf, unique), means


def after_first(network: Network, answers: Floats, rows: Floats | None = None) -> Floats:
    """Return the scores, before the link, from the first hidden layer's answers, summed as the network sums.

    Without `rows`, linear terms are left aside.
    """
    for layer in network.layers[1:]:
        answers = layer.fire(answers)
    scores = network.scores_where(answers.T > 0, len(answers), rows)
    return scores if network.link == "softmax" else scores[:, 0]


def lines_in_plane(condition: Oblique, pair: list[int], rows: Floats) -> Floats:
    """Return the lines in the plane of two columns where a condition turns, one per different row."""
    whole = condition.projection
    others = [place for place, column in enumerate(whole.columns) if column not in pair]
    rest = Projection(
        tuple(whole.columns[place] for place in others), tuple(whole.coefficients[place] for place in others),
        None if whole.missing_as is None else tuple(whole.missing_as[place] for place in others),
    )  # fmt: skip
    offsets = np.unique(condition.threshold - rest.values(rows))
    offsets = offsets[~np.isnan(offsets)]
    factors = [np.full(len(offsets), factor(condition, column)) for column in pair]
    return np.column_stack([*factors, offsets])
