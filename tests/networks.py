"""Networks made up for tests."""

from __future__ import annotations

import numpy as np

import bgn


def random_network(
    width: int, names: list[str], seed: int = 0, second: int = 0, target: str | None = "demand"
) -> bgn.Network:
    """A network as growth leaves them, of one layer or two."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((width, len(names)))
    for k, row in enumerate(weights):
        columns = rng.choice(len(names), size=min(1 + k % 2, len(names)), replace=False)
        row[columns] = rng.normal(size=len(columns)).round(3)
        row[columns[0]] = rng.choice([-1.0, 1.0])
    layers = [bgn.Layer(weights, rng.normal(size=width))]
    if second:
        above = np.zeros((second, width))
        for row in above:
            row[rng.choice(width, size=2, replace=False)] = [1.0, -0.5]
        layers.append(bgn.Layer(above, np.full(second, 0.25)))
    outputs = rng.normal(size=layers[-1].width)
    return bgn.Network(layers, outputs, 3.0, names, target)
