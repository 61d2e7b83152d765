"""What each column adds to a neuron's sum, and where along a column the neuron changes its answer: the very number.

A neuron fires when its summands, added in the order of the columns, reach the threshold. With the other columns fixed,
its answer changes at most once along a column, because every rounding of that sum is monotone. The first float with the
new answer is found by a search over floats in their order, begun at the number that exact arithmetic would give.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def summand(neuron: Oblique, place: int, rows: Floats) -> Floats:
    """Return what the column at one place of a neuron's projection adds to the sum of every row.

    A gap adds an infinity of the sign that gives the neuron's answer for gaps, whatever the other columns add.
    """
    values = neuron.projection.at(place).values(rows)
    if neuron.missing is None:
        return values
    return np.where(np.isnan(values), np.inf if neuron.missing else -np.inf, values)


def summands(neuron: Oblique, rows: Floats) -> Floats:
    """Return what every column that a neuron reads adds to the sum of every row, shape (columns, rows)."""
    places = range(len(neuron.projection.columns))
    return np.array([summand(neuron, place, rows) for place in places]).reshape(len(places), len(rows))


def factor(neuron: Oblique, column: int) -> float:
    """Return a neuron's factor for a column of numbers, 0 if it does not read it."""
    projection = neuron.projection
    return projection.factors[projection.columns.index(column)] if column in projection.columns else 0.0


def normal(neuron: Oblique, n_inputs: int) -> Floats:
    """Return a neuron's factors, all of numbers, as a vector over the columns."""
    vector = np.zeros(n_inputs)
    vector[list(neuron.projection.columns)] = neuron.projection.factors
    return vector


def direction(neuron: Oblique) -> Projection:
    """Return a neuron's projection divided by its first factor: parallel neurons have the same."""
    projection = neuron.projection
    return Projection(projection.columns, tuple(each / projection.factors[0] for each in projection.factors))


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


def crossings(neuron: Oblique, column: int, rows: Floats) -> Floats:
    """Return for every row the first value of `column`, one of numbers, at which a neuron has its upper answer.

    At that value and above the neuron fires if its weight there is positive, and does not if it is negative; below
    it is the other way round. ``inf`` means that the answer never changes from the lower one, ``-inf`` that it is
    the upper one everywhere.
    """
    place = neuron.projection.columns.index(column)
    weight, out = neuron.projection.factors[place], np.empty(len(rows))
    if weight == 0.0:  # it asks for gaps alone
        still = rows.copy()
        still[:, column] = 0.0
        return np.where(neuron.fires(still), np.inf, -np.inf)
    if len(neuron.projection.columns) == 1:
        _search(np.zeros((1, 1)), 0, weight, neuron.threshold, out[:1])
        out[:] = out[:1]
    else:
        _search(np.ascontiguousarray(summands(neuron, rows).T), place, weight, neuron.threshold, out)
    if neuron.missing is not None:
        others = [each for each in neuron.projection.columns if each != column]
        out[np.isnan(rows[:, others]).any(axis=1)] = -np.inf if neuron.missing == (weight > 0) else np.inf
    return out


@compiled
def add_steps(crossings: Floats, points: Floats, rising: bool, weight: float, levels: Floats) -> None:
    """Add to `levels`, one per point, a neuron's mean part over rows that cross at `crossings`; both in order.

    A row fires from its crossing on if `rising`, else before it. Cost: one pass over both.
    """
    rows, passed = len(crossings), 0
    for k in range(len(points)):
        while passed < rows and crossings[passed] <= points[k]:
            passed += 1
        firing = passed if rising else rows - passed
        levels[k] += weight * (2.0 * firing / rows - 1.0)


def crossings_along(layer: Layer, column: int, rows: Floats) -> Floats:
    """Return where the neurons that read a column change their answers along it, shape (rows, readers), in order."""
    return np.sort(_crossings_of(layer, np.flatnonzero(layer.reads[:, column]), column, rows), axis=1)


def _crossings_of(layer: Layer, readers: NDArray[np.intp], column: int, rows: Floats) -> Floats:
    found = np.empty((len(rows), len(readers)))
    for position, reader in enumerate(readers):
        found[:, position] = crossings(layer.neurons[reader], column, rows)
    return found


def answers_along(layer: Layer, column: int, rows: Floats) -> tuple[Floats, Iterator[Floats]]:
    """Return what every row meets when one column goes from the lowest to the highest value.

    First the crossings of the neurons that read the column, shape (rows, readers), in order; then an iterator of
    the layer's answers before the first, after it, and so on: readers + 1 times the same array, updated. Answers
    between equal crossings are never met.
    """
    readers = np.flatnonzero(layer.reads[:, column])
    found = _crossings_of(layer, readers, column, rows)
    order = np.argsort(found, axis=1)
    upper = np.array([1.0 if factor(layer.neurons[reader], column) > 0 else -1.0 for reader in readers])

    def walk() -> Iterator[Floats]:
        answers = layer.fire(rows)
        answers[:, readers] = -upper
        yield answers
        for rank in order.T:
            answers[np.arange(len(rows)), readers[rank]] = upper[rank]
            yield answers

    return np.take_along_axis(found, order, axis=1), walk()


def walks(network: Network, column: int, rows: Floats) -> tuple[Floats, Floats]:
    """Return the crossings along a column, shape (rows, readers), and the scores between them, slopes left aside."""
    places, answers = answers_along(network.layers[0], column, rows)
    return places, np.stack([after_first(network, each) for each in answers], axis=1)


def mean_steps(places: Floats, predictions: Floats) -> tuple[Floats, Floats]:
    """Return where the mean of the rows' steps may step, and its levels."""
    where, jump = places.ravel(), np.diff(predictions, axis=1).ravel()
    finite = np.isfinite(where)
    unique, slot = np.unique(where[finite], return_inverse=True)
    rises = np.bincount(slot, weights=jump[finite], minlength=len(unique))
    level = predictions[:, 0].sum() + jump[where == -np.inf].sum()
    levels = np.concatenate([[level], level + np.cumsum(rises)]) / len(places)
    return np.append(-np.inf, unique), levels


def after_first(network: Network, answers: Floats, rows: Floats | None = None) -> Floats:
    """Return the scores, before the link, from the first hidden layer's answers, summed as the network sums.

    Without `rows`, slopes are left aside.
    """
    for layer in network.layers[1:]:
        answers = layer.fire(answers)
    return after_last(network, answers, rows)


def after_last(network: Network, answers: Floats, rows: Floats | None = None) -> Floats:
    """Return the scores, before the link, from the last hidden layer's answers, summed as the network sums."""
    scores = network.scores_where(answers.T > 0, len(answers), rows)
    return scores if network.link == "softmax" else scores[:, 0]


def lines_in_plane(neuron: Oblique, pair: list[int], rows: Floats) -> Floats:
    """Return the lines in the plane of two columns where a neuron changes its answer, one per different row."""
    first, second = (factor(neuron, column) for column in pair)
    whole = neuron.projection
    others = [place for place, column in enumerate(whole.columns) if column not in pair]
    gaps = None if whole.missing_as is None else tuple(whole.missing_as[place] for place in others)
    columns = tuple(whole.columns[place] for place in others)
    each = tuple(whole.coefficients[place] for place in others)
    offsets = np.unique(neuron.threshold - Projection(columns, each, gaps).values(rows))
    offsets = offsets[~np.isnan(offsets)]
    return np.column_stack([np.full(len(offsets), first), np.full(len(offsets), second), offsets])
