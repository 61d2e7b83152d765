"""Regions and Theorem 1 from their definitions: a row at a time, exact fractions, no NumPy shortcuts."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from bgn import Network


def pattern(network: Network, row: list[float], layer: int) -> tuple[int, ...]:
    """Return the +-1 answers of hidden layer number `layer` on one row."""
    values = list(row)
    for item in network.layers[: layer + 1]:
        answers = []
        for weights, bias in zip(item.weights.tolist(), item.bias.tolist(), strict=True):
            z = sum((w * v for w, v in zip(weights, values, strict=True)), 0.0) + bias
            answers.append(1 if z >= 0 else -1)
        values = answers
    return tuple(values)


def regions(
    network: Network, rows: list[list[float]], layer: int
) -> tuple[list[int], list[tuple[int, ...]], list[int]]:
    """Return region of each row, pattern of each region, rows in each region."""
    patterns = [pattern(network, row, layer) for row in rows]
    order = sorted(set(patterns))
    counts = Counter(patterns)
    return [order.index(p) for p in patterns], order, [counts[p] for p in order]


def lower_bounds(
    network: Network, rows: list[list[float]], y: list[float], weight: list[float] | None = None
) -> list[Fraction]:
    """Return the weighted variance of y inside each layer's regions, then the mean squared error; exactly."""
    target = [Fraction(v) for v in y]
    mass = [Fraction(w) for w in weight] if weight is not None else [Fraction(1)] * len(y)
    bounds = []
    for layer in range(network.depth):
        index, order, _ = regions(network, rows, layer)
        inside = Fraction(0)
        for region in range(len(order)):
            members = [i for i, r in enumerate(index) if r == region and mass[i] > 0]
            if members:
                mean = sum(mass[i] * target[i] for i in members) / sum(mass[i] for i in members)
                inside += sum(mass[i] * (target[i] - mean) ** 2 for i in members)
        bounds.append(inside / sum(mass))
    return [*bounds, mean_squared_error(network, rows, target, mass)]


def mean_squared_error(
    network: Network, rows: list[list[float]], target: list[Fraction], mass: list[Fraction]
) -> Fraction:
    """Return the weighted mean of (output - y)^2, exactly."""
    total = Fraction(0)
    for row, value, m in zip(rows, target, mass, strict=True):
        answers = pattern(network, row, network.depth - 1)
        output = Fraction(network.base) + sum(
            (Fraction(w) * a for w, a in zip(network.output_weights.tolist(), answers, strict=True)), Fraction(0)
        )
        total += m * (output - value) ** 2
    return total / sum(mass)


def entropies(network: Network, rows: list[list[float]], codes: list[int]) -> list[float]:
    """Return the mean entropy of the classes inside each layer's regions, a region at a time, then the log loss."""
    result = []
    for layer in range(network.depth):
        members: dict[tuple[int, ...], list[int]] = {}
        for row, code in zip(rows, codes, strict=True):
            members.setdefault(pattern(network, row, layer), []).append(code)
        counts = [Counter(own).values() for own in members.values()]
        result.append(sum(n * math.log(sum(own) / n) for own in counts for n in own) / len(rows))
    lost = 0.0
    for row, code in zip(rows, codes, strict=True):
        chances = network.predict([row])[0]
        lost -= math.log(chances[code] if network.link == "softmax" else chances if code else 1.0 - chances)
    return [*result, lost / len(rows)]
