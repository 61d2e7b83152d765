"""Slow twins of the explanations, written from their definitions."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np

from bgn.network import Network


def mean_answers(network: Network, known: tuple[int, ...], x: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Mean last-layer answers when the known columns come from x and the others from each background row."""
    mixed = background.copy()
    mixed[:, list(known)] = x[list(known)]
    return network.hidden(mixed).mean(axis=0)


def shapley(network: Network, X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Shapley values over all coalitions of all columns, shape (rows, features, last-layer neurons)."""
    d = network.n_inputs
    values = np.zeros((len(X), d, network.widths[-1]))
    for row, x in enumerate(X):
        for feature in range(d):
            others = [j for j in range(d) if j != feature]
            for size in range(d):
                weight = factorial(size) * factorial(d - size - 1) / factorial(d)
                for coalition in combinations(others, size):
                    with_it = mean_answers(network, (*coalition, feature), x, background)
                    values[row, feature] += weight * (with_it - mean_answers(network, coalition, x, background))
    return values * network.output_weights


def interactions(network: Network, X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """SHAP interaction values from the definition, shape (rows, features, features)."""
    d = network.n_inputs
    values = np.zeros((len(X), d, d))
    phi = shapley(network, X, background).sum(axis=2)
    for row, x in enumerate(X):

        def value(*known: int, x: np.ndarray = x) -> float:
            return float(mean_answers(network, known, x, background) @ network.output_weights)

        for i, j in combinations(range(d), 2):
            others = [k for k in range(d) if k not in (i, j)]
            for size in range(d - 1):
                weight = factorial(size) * factorial(d - size - 2) / factorial(d - 1) / 2
                for q in combinations(others, size):
                    values[row, i, j] += weight * (value(*q, i, j) - value(*q, i) - value(*q, j) + value(*q))
            values[row, j, i] = values[row, i, j]
        np.fill_diagonal(values[row], phi[row] - values[row].sum(axis=1))
    return values


def paper_matrix(network: Network, X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Algorithm "1-BANN SHAP" with the corrected weight, as a mean over pairs of rows."""
    layer = network.layers[0]
    matrix = np.zeros((network.n_inputs, layer.width))
    for k in range(layer.width):
        players = [int(i) for i in np.flatnonzero(layer.weights[k])]
        for i in players:
            others = [j for j in players if j != i]
            for size in range(len(players)):
                weight = factorial(size) * factorial(len(players) - size - 1) / factorial(len(players))
                for q in combinations(others, size):
                    for x in X:
                        without, with_it = background.copy(), background.copy()
                        without[:, list(q)] = x[list(q)]
                        with_it[:, [*q, i]] = x[[*q, i]]
                        change = np.abs(network.hidden(with_it)[:, k] - network.hidden(without)[:, k]).mean()
                        matrix[i, k] += abs(network.output_weights[k]) * weight * change / len(X)
    return matrix
