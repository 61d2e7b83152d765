"""The nearest point, all columns free, where a network predicts something else."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bgn.explain.crossings import after_first
from bgn.network import Floats, Network, step

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
    for neurons in _hyperplanes(network):
        first = neurons[0]
        same = np.sign(layer.weights[neurons] @ layer.weights[first])
        worth = answers[:, neurons] * network.output_weights[neurons]
        # Beyond the hyperplane all its neurons have turned; on it, those that point towards it have not fired yet.
        beyond = -2.0 * worth.sum(axis=1)
        on = 2.0 * np.where(answers[:, neurons] < 0, -worth, 0.0).sum(axis=1)
        matters = (np.abs(beyond) > tolerance) | ((np.abs(on) > tolerance) & (len(set(same)) > 1))
        normal = layer.weights[first] * scale
        length = np.linalg.norm(normal)
        missing = (layer.thresholds[first] - projections[:, first]) / length
        distance = np.where(matters, np.abs(missing), np.inf)
        nearer = distance < best
        best[nearer] = distance[nearer]
        feet[nearer] = rows[nearer] + missing[nearer, np.newaxis] * (normal / length * scale)
    return best, feet


def _hyperplanes(network: Network) -> list[list[int]]:
    """Return the neurons that count, those with one and the same hyperplane together."""
    layer = network.layers[0]
    groups: dict[bytes, list[int]] = {}
    for neuron, weights in enumerate(layer.weights):
        if (network.depth > 1 or network.output_weights[neuron] != 0) and weights.any():
            lead = weights[np.flatnonzero(weights)[0]]
            key = np.append(weights / lead, layer.bias[neuron] / lead) + 0.0
            groups.setdefault(key.tobytes(), []).append(neuron)
    return list(groups.values())


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
    """Search the regions around a row, nearest first, until one predicts something else."""
    layer, groups = network.layers[0], _hyperplanes(network)
    normals, missing = layer.weights * scale, layer.thresholds - layer.project(row[np.newaxis])[0]
    lengths = np.linalg.norm(normals, axis=1)
    size = _INSIDE * float(np.abs(missing / np.where(lengths > 0, lengths, 1.0)).max(initial=1e-300))
    own = step(-missing)
    here = after_first(network, own[np.newaxis])[0]
    queue: list[tuple[float, tuple[float, ...], Floats]] = [(0.0, tuple(own), np.zeros(len(row)))]
    seen = {tuple(own)}
    for _ in range(max_cells):
        if not queue:
            return np.inf, np.full(len(row), np.nan), True
        distance, answers, move = heapq.heappop(queue)
        if abs(after_first(network, np.array([answers]))[0] - here) > tolerance:
            return distance, row + move * scale, True
        for group in groups:
            turned = np.array(answers)
            turned[group] *= -1.0
            if tuple(turned) in seen:
                continue
            seen.add(tuple(turned))
            lead = [neurons[0] for neurons in groups]
            sides = turned[lead] / lengths[lead]
            point = _least_distance(normals[lead] * sides[:, np.newaxis], missing[lead] * sides + size)
            if point is not None:
                heapq.heappush(queue, (float(np.linalg.norm(point)), tuple(turned), point))
    return queue[0][0], np.full(len(row), np.nan), False


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
