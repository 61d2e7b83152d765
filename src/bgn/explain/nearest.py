"""The nearest point, all columns free, where a network predicts something else."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bgn.explain.crossings import after_first
from bgn.model.network import Network
from bgn.model.step import Floats

# How far inside a region, relative to the sizes at hand, a point must lie for the region to count as one.
_INSIDE = 1e-9


def nearest_shallow(network: Network, rows: Floats, scale: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Return the distance to, and foot on, the nearest hyperplane that matters, for a single hidden layer.

    Crossing a hyperplane alone is always possible at its nearest point or beside it, so that the nearest one whose
    neurons do not cancel decides.
    """
    layer = network.layers[0]
    best, feet = np.full(len(rows), np.inf), np.full(rows.shape, np.nan)
    projections, answers = layer.project(rows), layer.fire(rows)
    for neurons, states in _hyperplanes(network):
        now = answers[:, neurons] @ network.output_weights[neurons]
        then = np.array(states) @ network.output_weights[neurons]
        matters = (np.abs(then - now[:, np.newaxis]) > tolerance).any(axis=1)
        first = neurons[0]
        normal = layer.weights[first] * scale
        length = np.linalg.norm(normal)
        missing = (layer.thresholds[first] - projections[:, first]) / length
        distance = np.where(matters, np.abs(missing), np.inf)
        nearer = distance < best
        best[nearer] = distance[nearer]
        feet[nearer] = rows[nearer] + missing[nearer, np.newaxis] * (normal / length * scale)
    return best, feet


def _hyperplanes(network: Network) -> list[tuple[list[int], list[Floats]]]:
    """Return the hyperplanes that count: the neurons of each, and their answers below, on and above it.

    Above is where the first of them points to. All fire on it.
    """
    layer = network.layers[0]
    groups: dict[bytes, list[int]] = {}
    for neuron, weights in enumerate(layer.weights):
        if (network.depth > 1 or network.output_weights[neuron] != 0) and weights.any():
            lead = weights[np.flatnonzero(weights)[0]]
            key = np.append(weights / lead, layer.bias[neuron] / lead) + 0.0
            groups.setdefault(key.tobytes(), []).append(neuron)
    found = []
    for neurons in groups.values():
        along = np.sign(layer.weights[neurons] @ layer.weights[neurons[0]])
        found.append((neurons, [-along, np.ones(len(neurons)), along]))
    return found


def nearest_deep(
    network: Network, rows: Floats, scale: Floats, tolerance: float, max_cells: int
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return distance, nearest point and whether it is proven, for any depth: regions in order of distance."""
    found = [_grow_outwards(network, row, scale, tolerance, max_cells) for row in rows]
    distances, points, exact = zip(*found, strict=True)
    return np.array(distances), np.array(points), np.array(exact)


def _grow_outwards(
    network: Network, row: Floats, scale: Floats, tolerance: float, max_cells: int
) -> tuple[float, Floats, bool]:
    """Search the regions around a row, nearest first, until one predicts something else.

    A region has a state a hyperplane: 0 below, 1 on, 2 above; on is a state of its own where neurons face each other.
    Regions with no inside, between thresholds a rounding error apart, are passed through and do not count.
    """
    layer, planes = network.layers[0], _hyperplanes(network)
    firsts = [neurons[0] for neurons, _ in planes]
    normals, missing = layer.weights[firsts] * scale, (layer.thresholds - layer.project(row[np.newaxis])[0])[firsts]
    lengths = np.linalg.norm(normals, axis=1)
    normals, missing = normals / lengths[:, np.newaxis], missing / lengths
    size = _INSIDE * float(np.abs(missing).max(initial=1e-300))
    answers = layer.fire(row[np.newaxis])

    def predict(states: tuple[int, ...]) -> float:
        for (neurons, options), state in zip(planes, states, strict=True):
            answers[0, neurons] = options[state]
        return float(after_first(network, answers)[0])

    own = tuple(
        max(state for state in range(3) if np.array_equal(options[state], answers[0, neurons]))
        for neurons, options in planes
    )
    here = predict(own)
    queue: list[tuple[float, tuple[int, ...], Floats | None]] = [(0.0, own, np.zeros(len(row)))]
    seen = {own}
    for _ in range(max_cells):
        if not queue:
            return np.inf, np.full(len(row), np.nan), True
        distance, states, move = heapq.heappop(queue)
        if move is not None and abs(predict(states) - here) > tolerance:
            return distance, row + move * scale, True
        for place, (_, options) in enumerate(planes):
            facing = not any(np.array_equal(options[1], options[side]) for side in (0, 2))
            for state in range(3) if facing else (0, 2):
                turned = (*states[:place], state, *states[place + 1 :])
                if turned in seen:
                    continue
                seen.add(turned)
                point = _inside(normals, missing, turned, size)
                edge = _inside(normals, missing, turned, 0.0) if point is None else point
                if edge is not None:
                    heapq.heappush(queue, (float(np.linalg.norm(edge)), turned, point))
    return (queue[0][0] if queue else np.inf), np.full(len(row), np.nan), not queue


def _inside(normals: Floats, missing: Floats, states: tuple[int, ...], size: float) -> Floats | None:
    """Return the shortest vector into a region, `size` away from its edges, or None if it has no inside."""
    where = np.array(states)
    above, below, on = where == 2, where == 0, where == 1
    sides = np.vstack([normals[above], -normals[below], normals[on], -normals[on]])
    least = np.concatenate([missing[above] + size, size - missing[below], missing[on], -missing[on]])
    return _least_distance(sides, least)


def _least_distance(normals: Floats, least: Floats) -> Floats | None:
    """Return the shortest vector with ``normals @ vector >= least``, or None: Lawson and Hanson's LDP."""
    unit = max(float(np.abs(least).max(initial=0.0)), 1e-300)
    system = np.vstack([normals.T, least / unit])
    target = np.append(np.zeros(normals.shape[1]), 1.0)
    solution, _ = nnls(system, target)
    residual = system @ solution - target
    if abs(residual[-1]) < 1e-12:
        return None
    vector = -residual[:-1] / residual[-1] * unit
    return vector if (normals @ vector >= least - 1e-3 * _INSIDE * unit).all() else None
