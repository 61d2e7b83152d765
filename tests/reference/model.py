"""A network with categories, gaps, slopes and outputs, one row and one neuron at a time, from the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bgn import Network


def score(network: Network, row: list[Any]) -> list[float]:
    """Return the scores of a row of raw values, one per output."""
    columns = network.schema.columns
    values: list[Any] = []
    for value, column in zip(row, columns, strict=True):
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        known = column.categories is None or value in column.categories
        values.append(
            None if missing or not known else value if column.categories is None else column.categories.index(value)
        )
    for j, column in enumerate(columns):
        alone = [rule.missing is None and rule.projection.missing_as is None
                 for rule in network.layers[0].neurons if j in rule.projection.columns]  # fmt: skip
        if values[j] is None and (any(alone) or not network.layers[0].takes_missing):
            values[j] = column.typical if column.categories is None else int(column.typical)
    for layer in network.layers:
        answers: list[Any] = []
        for rule in layer.neurons:
            parts = []
            missing_values = rule.projection.missing_as or (math.nan,) * len(rule.projection.columns)
            requested = zip(rule.projection.columns, rule.projection.coefficients, missing_values, strict=True)
            for j, coefficient, is_missing in requested:
                if values[j] is None:
                    parts.append(is_missing if isinstance(coefficient, tuple) else (coefficient or 1.0) * is_missing)
                else:
                    parts.append(coefficient[values[j]] if isinstance(coefficient, tuple) else coefficient * values[j])
            total = 0.0
            for count, part in enumerate(parts):
                total = total + part if count else part
            fires = rule.missing if math.isnan(total) else total >= rule.threshold
            answers.append(1.0 if fires else -1.0)
        last, values = values, answers
        if layer is network.layers[0]:
            raw = last
    outputs = np.atleast_2d(network.output_weights.T)
    result = []
    for k, base in enumerate(np.atleast_1d(network.base).tolist()):
        total = base
        for term, weights in zip(network.linear, network.linear_coef.tolist(), strict=True):
            total += weights[k] * raw[term.column]
        for answer, weight in zip(values, outputs[k].tolist(), strict=True):
            total += weight * answer
        result.append(total)
    return result
