"""SHAP values of rows on a GPU: the counts of :mod:`bgn.explain.shap`, made where the rows are.

Operations are those of arrays in the same order, so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from bgn.explain.shap import Game, Slots, SortedColumns, add_shares, holding_counts
from bgn.model import gpu
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.term import Oblique


def exact_shares(
    network: Network, parts: Sequence[Game], X: Tensor, background: Any, slots: Slots
) -> tuple[Floats, Floats, Floats]:
    """Return how often rules hold in the background, whether they do for every row, and the shares of the connections
    in counts; of a network of rules, each with one condition on numbers."""
    rows = gpu.table_of(X, network.n_inputs)
    if not isinstance(background, Tensor):
        background = torch.from_numpy(background)
    drawn = gpu.table_of(background.to(rows.device), network.n_inputs)
    expected = (gpu.hidden(network, drawn) > 0).sum(dim=0).cpu().numpy() / len(drawn)
    worth = (gpu.hidden(network, rows) > 0).double().cpu().numpy()
    shares = torch.zeros((len(slots), len(rows)), dtype=torch.float64, device=rows.device)
    sides = _Side(rows), _Side(drawn)
    for game in (part for part in parts if part.players):
        condition = network.rules[game.terms[0]].conditions[0].as_oblique()
        for coalition in range(1 << len(game.players)):
            add_shares(game, coalition, [_counts(condition, coalition, *sides).double()], shares, slots)
    return expected, worth, shares.cpu().numpy()


class _Side:
    """Rows on the device; on the host as well once they are needed there."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows

    @cached_property
    def table(self) -> SortedColumns:
        """The rows as arrays."""
        return SortedColumns(self.rows.double().cpu().numpy())

    def product(self, column: int, weight: float) -> Tensor:
        """One column times a weight, in float64."""
        return self.rows[:, column].double() * weight


def _counts(condition: Oblique, coalition: int, rows: _Side, drawn: _Side) -> Tensor:
    """Return what :func:`holding_counts` does, which is called where three inputs and more leave two unknown."""
    columns, weights, threshold = condition.columns, condition.projection.factors, condition.threshold
    unknown = [place for place in range(len(columns)) if not coalition >> place & 1]
    pairs = list(zip(columns, weights, strict=True))
    if len(unknown) == len(columns):
        holds = _sum([drawn.product(*pair) for pair in pairs]) >= threshold
        return holds.sum().expand(len(rows.rows))
    if not unknown:
        return (_sum([rows.product(*pair) for pair in pairs]) >= threshold) * len(drawn.rows)
    if len(unknown) == 1:
        place = unknown[0]
        terms = [rows.product(*pair) for pair in pairs]
        return _searched(terms, place, torch.sort(drawn.product(*pairs[place]))[0], threshold)
    known = [column for place, column in enumerate(columns) if place not in unknown]
    return torch.from_numpy(holding_counts([condition], known, rows.table, drawn.table)).to(rows.rows.device)


def _sum(terms: Sequence[Tensor]) -> Tensor:
    """Add up the terms from first to last."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _searched(terms: list[Tensor], place: int, drawn: Tensor, threshold: float) -> Tensor:
    """Count, for every row, the entries of `drawn`, sorted upwards, that make it hold at `place`: bisection."""
    low, high = torch.zeros_like(terms[0], dtype=torch.int64), torch.full_like(terms[0], len(drawn), dtype=torch.int64)
    for _ in range(len(drawn).bit_length()):
        middle = (low + high) >> 1
        value = drawn[middle.clamp(max=len(drawn) - 1)]
        holds = (_sum([*terms[:place], value, *terms[place + 1 :]]) >= threshold) | (low == high)
        low, high = torch.where(holds, low, middle + 1), torch.where(holds, middle, high)
    return len(drawn) - low
