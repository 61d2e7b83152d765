"""Directions in which the first layer looks, and the pieces into which its thresholds cut each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgn.explain.counterfactual.problem import Problem
from bgn.explain.crossings import crossings
from bgn.model.step import Floats


@dataclass(frozen=True, eq=False)
class Axis:
    """Neurons whose weights are multiples of one axis, and the pieces between their thresholds.

    Piece r lies between ``edges[r, 0]`` and ``edges[r, 1]``, without an edge that is `strict`; ``answers[r]`` are the
    neurons' answers there.
    """

    weights: Floats
    neurons: list[int]
    edges: Floats
    strict: NDArray[np.bool_]
    answers: Floats


def axes(problem: Problem) -> list[Axis]:
    """Return the axes of the first layer, with the pieces in which every constraint holds."""
    layer, width = problem.layer, problem.network.widths[0]
    groups: dict[bytes, list[int]] = {}
    for neuron, weights in enumerate(layer.weights):
        if weights.any():
            groups.setdefault((weights / weights[np.flatnonzero(weights)[0]] + 0.0).tobytes(), []).append(neuron)
    found = []
    for key, neurons in groups.items():
        weights = np.frombuffer(key)
        leads = layer.weights[neurons] @ weights / (weights @ weights)
        cuts = layer.thresholds[neurons] / leads
        # A neuron that looks along the axis turns at its threshold, one that looks against it just after.
        keys = sorted({(float(cut), bool(lead < 0)) for cut, lead in zip(cuts, leads, strict=True)})
        passed = np.array(
            [[piece > keys.index((float(cut), bool(lead < 0))) for cut, lead in zip(cuts, leads, strict=True)]
             for piece in range(len(keys) + 1)]
        )  # fmt: skip
        answers = np.where(passed == (leads > 0), 1.0, -1.0)
        edges = np.array([-np.inf, *(cut for cut, _ in keys), np.inf])
        allowed = np.array([all(a > 0 for n, a in zip(neurons, row, strict=True) if n >= width) for row in answers])
        spans = np.column_stack([edges[:-1], edges[1:]])
        late = [after for _, after in keys]
        strict = np.array([[False, *late], [*(not after for after in late), False]]).T
        if np.count_nonzero(weights) == 1:
            spans = _exact_spans(problem, int(np.flatnonzero(weights)[0]), neurons, answers)
            allowed &= spans[:, 0] <= spans[:, 1]
            strict[:] = False
        found.append(Axis(weights, neurons, spans[allowed], strict[allowed], answers[allowed]))
    return found


def _exact_spans(problem: Problem, column: int, neurons: list[int], answers: Floats) -> Floats:
    """Return the first and last value of one column in every piece: the last float, or whole number, that belongs."""
    layer = problem.layer
    turns = np.array([crossings(layer.neurons[neuron], column, problem.x[np.newaxis])[0] for neuron in neurons])
    passed = (answers > 0) == (layer.weights[neurons, column] > 0)
    first = np.where(passed, turns, -np.inf).max(axis=1)
    last = np.where(passed, np.inf, np.nextafter(turns, -np.inf)).min(axis=1)
    if problem.integer[column]:
        first, last = np.ceil(first), np.floor(last)
    return np.column_stack([first, last])
