"""Axes along which the neurons of the first layer look, and the pieces into which their thresholds cut each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgn.explain.counterfactual.problem import Problem
from bgn.explain.crossings import crossings, direction, normal
from bgn.model.neuron import Projection
from bgn.model.step import Bools, Floats


@dataclass(frozen=True, eq=False)
class Axis:
    """Neurons whose weights are multiples of one vector, and the pieces between their thresholds.

    Piece r lies between ``edges[r, 0]`` and ``edges[r, 1]``, without an edge that is `strict`; ``answers[r]`` are the
    neurons' answers there. `column` is the only one with a weight, None where there are several.
    """

    weights: Floats
    column: int | None
    neurons: list[int]
    edges: Floats
    strict: Bools
    answers: Floats


def axes(problem: Problem) -> list[Axis]:
    """Return the axes of the first layer, with the pieces in which every constraint holds."""
    groups: dict[Projection, list[int]] = {}
    for number, neuron in enumerate(problem.layer.neurons):
        if neuron.projection.columns:
            groups.setdefault(direction(neuron), []).append(number)
    return [_axis(problem, numbers) for numbers in groups.values()]


def _axis(problem: Problem, numbers: list[int]) -> Axis:
    """Return the axis of some parallel neurons."""
    neurons = [problem.layer.neurons[number] for number in numbers]
    first = neurons[0].projection
    vectors = np.array([normal(neuron, len(problem.x)) for neuron in neurons])
    weights = vectors[0] / neurons[0].projection.factors[0]
    leads = vectors @ weights / (weights @ weights)
    cuts = np.array([neuron.threshold for neuron in neurons]) / leads
    # A neuron that looks along the axis turns at its threshold, one that looks against it just after.
    turns = list(zip(cuts.tolist(), (leads < 0).tolist(), strict=True))
    keys = sorted(set(turns))
    passed = np.arange(len(keys) + 1)[:, np.newaxis] > [keys.index(turn) for turn in turns]
    answers = np.where(passed == (leads > 0), 1.0, -1.0)
    limits = np.array(numbers) >= problem.network.widths[0]
    allowed = (answers[:, limits] > 0).all(axis=1)
    column = first.columns[0] if len(first.columns) == 1 else None
    if column is None:
        edges = np.array([-np.inf, *(cut for cut, _ in keys), np.inf])
        spans = np.column_stack([edges[:-1], edges[1:]])
        late = [after for _, after in keys]
        strict = np.array([[False, *late], [*(not after for after in late), False]]).T
    else:
        spans = _exact_spans(problem, column, numbers, passed)
        allowed &= spans[:, 0] <= spans[:, 1]
        strict = np.zeros(spans.shape, dtype=bool)
    return Axis(weights, column, numbers, spans[allowed], strict[allowed], answers[allowed])


def _exact_spans(problem: Problem, column: int, numbers: list[int], passed: Bools) -> Floats:
    """Return the first and last value of one column in every piece: the last float, or whole number, that belongs."""
    neurons = [problem.layer.neurons[number] for number in numbers]
    turns = np.array([crossings(neuron, column, problem.x[np.newaxis])[0] for neuron in neurons])
    first = np.where(passed, turns, -np.inf).max(axis=1)
    last = np.where(passed, np.inf, np.nextafter(turns, -np.inf)).min(axis=1)
    if problem.integer[column]:
        first, last = np.ceil(first), np.floor(last)
    return np.column_stack([first, last])
