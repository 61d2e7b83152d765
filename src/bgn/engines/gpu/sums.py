"""What all that works on tensors needs: projections, sums by group, and numbers brought to the host at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from bgn.model.neuron import Projection


def project(columns: Tensor, direction: Projection) -> Tensor:
    """The projection of every row in float64, one rounding a step, columns in order."""
    z = None
    for j, c in zip(direction.columns, direction.coefficients, strict=True):
        if isinstance(c, tuple):
            term = look_up(columns[j], c)
            z = term if z is None else torch.add(z.double(), term)
            continue
        # A column times one is the column; a factor of one entry makes the product a float64.
        term = columns[j] if c == 1.0 else columns[j] * torch.full((1,), c, dtype=torch.float64, device=columns.device)
        z = term if z is None else torch.add(z if torch.float64 in (z.dtype, term.dtype) else z.double(), term)
    assert z is not None
    return z.double()


def look_up(levels: Tensor, values: tuple[float, ...]) -> Tensor:
    """What the level of every row adds."""
    return torch.tensor(values, dtype=torch.float64, device=levels.device)[levels.long()]


def numbers(values: Iterable[Tensor]) -> NDArray[Any]:
    """Scalars on a device as an array, in one transfer."""
    return torch.stack(list(values)).cpu().numpy()


def group_sums(keys: Tensor, weight: Tensor | None, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows put together by key: the place of one row of each group in order of the keys, its weight and its sum."""
    keys, order = torch.sort(keys)
    ends = torch.cat([keys[1:] != keys[:-1], torch.ones_like(keys[:1], dtype=torch.bool)]).nonzero().squeeze(1)
    reached = ends + 1 if weight is None else weight[order].cumsum(0)[ends]
    sums = values[order].cumsum(0)[ends]
    return order[ends], _steps(reached), _steps(sums)


def _steps(reached: Tensor) -> Tensor:
    """What running sums grew by from one to the next."""
    steps = reached.clone()
    steps[1:] -= reached[:-1]
    return steps
