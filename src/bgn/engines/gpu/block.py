"""Raw rows in torch tensors, before growth; they answer like :class:`bgn.engines.block.Block`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Concatenate

import numpy as np
import torch
from torch import Tensor

from bgn.engines.block import Plan, Sample, Survey, Weights
from bgn.engines.gpu.engine import TensorEngine, TensorPart
from bgn.engines.gpu.sums import group_sums
from bgn.engines.integers import Grid
from bgn.engines.protocol import Loss, Output
from bgn.engines.requests import Answer, Arguments, RawBlock, answer
from bgn.engines.split import Hashes, Inside, mix

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_LOWEST = -(1 << 63)
_BIN_BITS = 16


@cache
def part_kind(device: str, loss: Loss) -> type[TensorPart]:
    """What holds rows without weights: for squares, kernels of our own on a GPU where Triton works, which shows when it
    is used."""
    if device != "cuda" or not loss.quadratic:
        return TensorPart
    try:
        from bgn.engines.gpu.fused import FusedPart

        one = torch.ones((1, 1), device=device)
        FusedPart(one, one[0].long(), None, loss).residual(Output(np.zeros(1, np.int64), 1))
    except Exception as problem:  # no Triton, no compiler that it needs, a device that is too old
        warnings.warn(f"Triton does not work here, so fits take longer: {problem}", stacklevel=2)
        return TensorPart
    return FusedPart


class Tensors:
    """Rows in tensors of one device, in one block; see :class:`bgn.engines.requests.RowSource`."""

    def __init__(self, X: Tensor, y: Tensor, sample_weight: Tensor | None = None) -> None:
        self._block = TensorBlock(X.T, y, sample_weight)
        self.weighted = sample_weight is not None

    def ask(
        self, request: Callable[Concatenate[RawBlock, Arguments], Answer], *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> list[Answer]:  # fmt: skip
        """Put a request to the block."""
        return [answer(self._block, request, *arguments, **named)]

    def engine(self, plan: Plan, held_out: bool) -> TensorEngine:
        """The rows that learn, or those that validate."""
        return TensorEngine(self._block.part(plan, held_out), plan.loss)


@dataclass(frozen=True, eq=False)
class _Counted:
    """Rows that count: their keys are their hashes less 2^63, so that signed numbers keep their order."""

    columns: Tensor
    target: Tensor
    keys: Tensor
    weight: Tensor | None


class TensorBlock:
    """Raw rows: `columns` (columns, rows) of float64 or float32, their target and, perhaps, their weights."""

    def __init__(self, columns: Tensor, target: Tensor, weight: Tensor | None = None) -> None:
        self.columns, self.target, self.weight = columns, target, weight

    def weights(self) -> Weights:
        """What must be known to make all weights whole."""
        assert self.weight is not None
        w = self.weight[self.weight > 0]
        largest = float(w.max()) if len(w) else 0.0
        return Weights(len(w), largest, float(w.sum()), bool(torch.equal(w, w.round())))

    def weigh(self, exponent: int) -> int:
        """Sum of the weights times ``2**exponent``, each rounded."""
        return int(self._whole_weight(exponent).sum())

    def _whole_weight(self, exponent: int) -> Tensor:
        assert self.weight is not None
        return _scaled(self.weight, exponent).round().long()

    def survey(self, seed: int, exponent: int | None) -> Survey:
        """Count, weigh and hash the rows."""
        rows = self._rows(seed, exponent)
        n = len(rows.target)
        low, high = (float(y) for y in torch.aminmax(rows.target)) if n else (math.inf, -math.inf)
        weight = None if rows.weight is None else rows.weight.double()  # sums stay far below 2^53
        counts = torch.bincount(_bins(rows.keys), weight, 1 << _BIN_BITS).long().cpu().numpy()
        return Survey(n, n if rows.weight is None else int(rows.weight.sum()), low, high, counts)

    def inside(self, seed: int, exponent: int | None, number: int) -> Inside:
        """The hashes in one bin."""
        rows = self._rows(seed, exponent)
        bins = _bins(rows.keys)
        here = rows.keys[bins == number]
        heavy = torch.ones_like(here) if rows.weight is None else rows.weight[bins == number]
        below = rows.keys[bins < number]
        return _hashes(here), heavy.cpu().numpy(), int(below.max()) - _LOWEST if len(below) else None

    def smallest(self, seed: int, exponent: int | None, edge: int | None, most: int) -> Hashes:
        """The smallest different hashes above `edge`, at most so many."""
        keys = self._rows(seed, exponent).keys
        keys = keys if edge is None else keys[keys > edge + _LOWEST]
        return _hashes(torch.unique(keys)[:most])

    def sample(self, plan: Plan) -> Sample:
        """The rows of the sample, equal ones put together."""
        rows = self._rows(plan.seed, plan.exponent)
        chosen = self._held_out(rows.keys, plan, False)
        if plan.limit is not None:
            chosen &= rows.keys < plan.limit + _LOWEST
        where = chosen.nonzero().squeeze(1)
        heavy = torch.ones_like(where) if rows.weight is None else rows.weight[where]
        one, _, weight = group_sums(rows.keys[where], None, heavy)
        index = where[one]
        return Sample(
            _hashes(rows.keys[index]),
            rows.columns[:, index].cpu().numpy(),
            plan.loss.targets.steps(rows.target[index].cpu().numpy()),
            weight.cpu().numpy(),
        )

    def part(self, plan: Plan, held_out: bool) -> TensorPart:
        """The rows that learn, or those that validate, as part of an engine."""
        rows = self._rows(plan.seed, plan.exponent)
        index = self._held_out(rows.keys, plan, held_out).nonzero().squeeze(1)
        columns = rows.columns.new_empty((len(rows.columns), len(index)))
        for to, column in zip(columns, rows.columns, strict=True):
            torch.index_select(column, 0, index, out=to)
        weight = None if rows.weight is None else rows.weight[index]
        kind = part_kind(columns.device.type, plan.loss) if weight is None else TensorPart
        return kind(columns, _steps(plan.loss.targets, rows.target[index]), weight, plan.loss)

    def _held_out(self, keys: Tensor, plan: Plan, held_out: bool) -> Tensor:
        """Mark the rows that validate, or the others."""
        if plan.edge is None:
            return torch.full(keys.shape, not held_out, dtype=torch.bool, device=keys.device)
        return (keys <= plan.edge + _LOWEST) == held_out

    def _rows(self, seed: int, exponent: int | None) -> _Counted:
        """The rows with weight, hashed; the last answer is remembered."""
        known = getattr(self, "_last", None)
        if known is None or known[0] != (seed, exponent):
            columns, target, weight = self.columns, self.target, None
            if self.weight is not None:
                weight = self._whole_weight(exponent or 0)
                keep = weight > 0
                if not keep.all():
                    columns, target, weight = columns[:, keep], target[keep], weight[keep]
            keys = _keys(columns, target, seed)
            known = self._last = (
                (seed, exponent),
                _Counted(columns, target, keys, None if exponent is None else weight),
            )
        return known[1]


def _keys(columns: Iterable[Tensor], y: Tensor, seed: int) -> Tensor:
    """What :func:`bgn.engines.split.row_hashes` says, less 2^63."""
    with np.errstate(over="ignore"):
        start = mix(np.array([seed], dtype=np.uint64) + np.uint64(_GOLDEN + (1 << 64))).view(np.int64)[0]
    h = torch.full(y.shape, int(start), dtype=torch.int64, device=y.device)
    for column in [*columns, y]:
        bits = (column.double() + 0.0).view(torch.int64)  # + 0.0: both zeros are one value
        h = _mix((h ^ bits) * _GOLDEN + _GOLDEN)
    return h ^ _LOWEST


def _mix(h: Tensor) -> Tensor:
    """The finaliser of splitmix64 on 64 bits taken for a signed number, whose products wrap around."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = (h ^ ((h >> shift) & ((1 << (64 - shift)) - 1))) * (factor - (1 << 64))
    return h ^ ((h >> 31) & ((1 << 33) - 1))


def _bins(keys: Tensor) -> Tensor:
    return (keys >> (64 - _BIN_BITS)) + (1 << (_BIN_BITS - 1))


def _hashes(keys: Tensor) -> Hashes:
    return keys.cpu().numpy().view(np.uint64) ^ np.uint64(1 << 63)


def _scaled(values: Tensor, exponent: int) -> Tensor:
    """The values times ``2**exponent``, in two steps: one power alone may be beyond all floats."""
    half = exponent // 2
    return values * math.ldexp(1.0, half) * math.ldexp(1.0, exponent - half)


def _steps(grid: Grid, y: Tensor) -> Tensor:
    """What :meth:`bgn.engines.integers.Grid.steps` says."""
    far = _scaled((y / 2 - grid.centre / 2).clamp(-1e308, 1e308), grid.exponent + 1)
    return far.clamp(-float(grid.limit), float(grid.limit)).round().long()
