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
    gaps = direction.gaps or (None,) * len(direction.columns)
    for j, c, gap in zip(direction.columns, direction.coefficients, gaps, strict=True):
        if isinstance(c, tuple) or gap is not None:
            term = look_up(columns[j], c, gap) if isinstance(c, tuple) else _filled(columns[j], c, gap)
            z = term if z is None else torch.add(z.double(), term)
            continue
        # A column times one is the column; a factor of one entry makes the product a float64.
        term = columns[j] if c == 1.0 else columns[j] * torch.full((1,), c, dtype=torch.float64, device=columns.device)
        z = term if z is None else torch.add(z if torch.float64 in (z.dtype, term.dtype) else z.double(), term)
    assert z is not None
    return z.double()


def look_up(levels: Tensor, values: tuple[float, ...], gap: float | None = None) -> Tensor:
    """What the level of every row adds, and a gap."""
    table = torch.tensor([*values, torch.nan if gap is None else gap], dtype=torch.float64, device=levels.device)
    return table[torch.where(levels.isnan(), len(values), levels).long()]


def _filled(column: Tensor, factor: float, gap: float | None) -> Tensor:
    """What the value of every row adds where a gap counts as something."""
    assert gap is not None
    term = column * torch.full((1,), factor, dtype=torch.float64, device=column.device)
    return torch.where(term.isnan(), gap * (factor or 1.0), term)


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
