"""SHAP values of rows on a GPU: the counts of :mod:`bgn.explain.shap`, found where the rows are.

Operations are those of arrays in the same order, so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from bgn.engines.gpu import tensors
from bgn.explain.shap import Game, Slots, SortedColumns, add_shares, coalition_counts
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.term import Oblique


def exact_shares(
    network: Network, parts: Sequence[Game], X: Tensor, background: Any, slots: Slots
) -> tuple[Floats, Floats, Floats]:
    """Mean answers of the background, what every neuron adds, and the share of every connection; one hidden layer."""
    rows = tensors.table_of(X, network.n_inputs)
    if not isinstance(background, Tensor):
        background = torch.from_numpy(background)
    drawn = tensors.table_of(background.to(rows.device), network.n_inputs)
    expected = tensors.hidden(network, drawn).sum(dim=0).cpu().numpy() / len(drawn)
    weights = torch.from_numpy(network.output_weights.copy()).to(rows.device)
    term_values = (tensors.hidden(network, rows) - torch.from_numpy(expected).to(rows.device)) * weights
    shares = torch.zeros((len(slots), len(rows)), dtype=torch.float64, device=rows.device)
    sides = _Side(rows), _Side(drawn)
    m = torch.full((1,), len(drawn), dtype=torch.float64, device=rows.device)
    for game in (each for each in parts if each.players):
        neuron = network.layers[0].neurons[game.neurons[0]]
        for coalition in range(1 << len(game.players)):
            mean = 2.0 * _counts(neuron, coalition, *sides).double() / m - 1.0
            add_shares(network, game, coalition, [mean], shares, slots)
    return expected, term_values.cpu().numpy(), shares.cpu().numpy()


class _Side:
    """Rows on the device; on the host as well once they are asked for there."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows

    @cached_property
    def table(self) -> SortedColumns:
        """The rows as arrays."""
        return SortedColumns(self.rows.double().cpu().numpy())

    def product(self, column: int, weight: float) -> Tensor:
        """One column times a weight, in float64."""
        return self.rows[:, column].double() * weight


def _counts(neuron: Oblique, coalition: int, rows: _Side, drawn: _Side) -> Tensor:
    """What :func:`coalition_counts` says, which is asked where three inputs and more leave two unknown."""
    columns, weights, threshold = neuron.projection.columns, neuron.projection.factors, neuron.threshold
    unknown = [place for place in range(len(columns)) if not coalition >> place & 1]
    pairs = list(zip(columns, weights, strict=True))
    if len(unknown) == len(columns):
        fires = _sum([drawn.product(*pair) for pair in pairs]) >= threshold
        return fires.sum().expand(len(rows.rows))
    if not unknown:
        return (_sum([rows.product(*pair) for pair in pairs]) >= threshold) * len(drawn.rows)
    if len(unknown) == 1:
        place = unknown[0]
        terms = [rows.product(*pair) for pair in pairs]
        return _searched(terms, place, torch.sort(drawn.product(*pairs[place]))[0], threshold)
    counts = coalition_counts(neuron, coalition, rows.table, drawn.table)
    return torch.from_numpy(counts).to(rows.rows.device)


def _sum(terms: Sequence[Tensor]) -> Tensor:
    """The terms added from first to last."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _searched(terms: list[Tensor], place: int, drawn: Tensor, threshold: float) -> Tensor:
    """Count, for every row, the entries of `drawn`, sorted upwards, that make it fire at `place`: bisection."""
    low, high = torch.zeros_like(terms[0], dtype=torch.int64), torch.full_like(terms[0], len(drawn), dtype=torch.int64)
    for _ in range(len(drawn).bit_length()):
        middle = (low + high) >> 1
        value = drawn[middle.clamp(max=len(drawn) - 1)]
        fires = (_sum([*terms[:place], value, *terms[place + 1 :]]) >= threshold) | (low == high)
        low, high = torch.where(fires, low, middle + 1), torch.where(fires, middle, high)
    return len(drawn) - low
