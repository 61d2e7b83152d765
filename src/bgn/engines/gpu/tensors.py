"""Torch tensors as users hand them over: checked and turned into rows of an engine, where they are.

:class:`RawTensors` does for tensors what :class:`bgn.engines.raw_rows.RawRows` does for arrays, with the same hashes,
samples and parts.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bgn.engines.coding import Coding
from bgn.engines.gpu.engine import ClassTensorPart, TensorEngine, TensorPart, group_sums
from bgn.engines.protocol import Floats, Grid, Integers, Loss, OneBlock, Output
from bgn.engines.raw_rows import Plan, RawRows, Sample
from bgn.inputs.kinds import chosen_columns
from bgn.inputs.splits import Hashes, Inside, mix
from bgn.model.gpu import as_floats
from bgn.model.schema import Schema

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_LOWEST = -(1 << 63)
_BIN_BITS = 16
_NAN = int(np.array([np.nan]).view(np.int64)[0])


@cache
def part_kind(device: str, loss: Loss, weighted: bool = False) -> type[TensorPart]:
    """What holds rows: for squares without weights, kernels of our own on a GPU where Triton works, which shows when it
    is used."""
    if loss.outputs > 1:
        return ClassTensorPart
    if device != "cuda" or not loss.quadratic or weighted:
        return TensorPart
    try:
        from bgn.engines.gpu.fused import FusedPart

        one = torch.ones((1, 1), device=device)
        FusedPart(one, one[0].long(), None, loss).residual(Output(np.zeros(1, np.int64), 1))
    except Exception as problem:  # no Triton, no compiler that it needs, a device that is too old
        warnings.warn(f"Triton does not work here, so fits take longer: {problem}", stacklevel=2)
        return TensorPart
    return FusedPart


class Tensors(OneBlock):
    """Raw rows in tensors of one device, as a source."""

    def __init__(self, X: Tensor, y: Tensor, sample_weight: Tensor | None = None) -> None:
        self._rows = RawTensors(X.T, y, sample_weight)
        super().__init__(self._rows, sample_weight is not None)

    def engine(self, plan: Plan, held_out: bool) -> TensorEngine:
        return TensorEngine(self._rows.part(plan, held_out), plan.loss_of(held_out))


class RawTensors(RawRows):
    """Raw rows in tensors; hashes are less 2^63 here, so that signed numbers keep their order."""

    def inside(self, seed: int, exponent: int | None, number: int) -> Inside:
        rows = self._rows(seed, exponent)
        bins = _bins(rows.hashes)
        here = rows.hashes[bins == number]
        heavy = torch.ones_like(here) if rows.weight is None else rows.weight[bins == number]
        below = rows.hashes[bins < number]
        return _hashes(here), heavy.cpu().numpy(), int(below.max()) - _LOWEST if len(below) else None

    def smallest(self, seed: int, exponent: int | None, edge: int | None, most: int) -> Hashes:
        keys = self._rows(seed, exponent).hashes
        keys = keys if edge is None else keys[keys > self._hash(edge)]
        return _hashes(torch.unique(keys)[:most])

    def sample(self, plan: Plan) -> Sample:
        rows = self._rows(plan.seed, plan.exponent)
        where = self._chosen(rows.hashes, plan, False, plan.limit).nonzero().squeeze(1)
        heavy = torch.ones_like(where) if rows.weight is None else rows.weight[where]
        one, _, weight = group_sums(rows.hashes[where], None, heavy)
        index = where[one]
        return Sample(
            _hashes(rows.hashes[index]),
            rows.columns[:, index].cpu().numpy(),
            plan.loss.targets.steps(rows.target[index].cpu().numpy()),
            weight.cpu().numpy(),
        )

    @staticmethod
    def _array(values: Any) -> Any:
        return values.cpu().numpy()

    def part(self, plan: Plan, held_out: bool) -> Any:
        """The rows that learn, or those that validate, as part of an engine."""
        rows = self._rows(plan.seed, plan.exponent)
        index = self._chosen(rows.hashes, plan, held_out).nonzero().squeeze(1)
        columns = rows.columns.new_empty((len(rows.columns), len(index)))
        for to, column in zip(columns, rows.columns, strict=True):
            torch.index_select(column, 0, index, out=to)
        columns = columns if plan.coding is None else _coded(columns, plan.coding)
        weight = None if rows.weight is None else rows.weight[index]
        loss = plan.loss_of(held_out)
        kind = part_kind(columns.device.type, loss, weight is not None)
        return kind(columns, _steps(loss.targets, rows.target[index]), weight, loss)

    def hashes(self, seed: int) -> Tensor:
        """What :func:`bgn.inputs.splits.hash_values` says, less 2^63."""
        with np.errstate(over="ignore"):
            start = mix(np.array([seed], dtype=np.uint64) + np.uint64(_GOLDEN + (1 << 64))).view(np.int64)[0]
        h = torch.full(self.target.shape, int(start), dtype=torch.int64, device=self.target.device)
        for column in [*self.columns, self.target]:
            values = column.double() + 0.0  # both zeros are one value, and all NaN
            bits = torch.where(values.isnan(), _NAN, values.view(torch.int64))
            h = _mix((h ^ bits) * _GOLDEN + _GOLDEN)
        return h ^ _LOWEST

    def _hash(self, value: int) -> int:
        return value + _LOWEST

    def _whole_weight(self, exponent: int) -> Tensor:
        return _scaled(self.weight, exponent).round().long()

    def _missing(self, columns: Tensor) -> NDArray[np.bool_]:
        return torch.stack([column.isnan().any() for column in columns]).cpu().numpy()

    def _histogram(self, rows: Any) -> Integers:
        weight = None if rows.weight is None else rows.weight.double()  # sums stay far below 2^53
        return torch.bincount(_bins(rows.hashes), weight, 1 << _BIN_BITS).long().cpu().numpy()


def _coded(raw: Tensor, coding: Coding) -> Tensor:
    """What :meth:`bgn.engines.coding.Coding.columns` says."""
    missing = torch.stack([column.isnan().any() for column in raw]).cpu()
    if coding.plain and not missing.any():
        return raw
    columns = torch.cat([raw, *(raw[column].isnan().to(raw.dtype)[None] for column in coding.marked)])
    for column in missing.nonzero().flatten().tolist():
        columns[column].nan_to_num_(coding.fill_value(column))
    return columns


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
    """What :meth:`bgn.engines.protocol.Grid.steps` says."""
    far = _scaled((y / 2 - grid.center / 2).clamp(-1e308, 1e308), grid.exponent + 1)
    return far.clamp(-float(grid.limit), float(grid.limit)).round().long()


def schema_of(X: Tensor, categorical_features: Any, target: str | None) -> Schema:
    """Decide what every column of a tensor is: numbers, and those that are told to be categories."""
    chosen = chosen_columns(categorical_features, None, X.shape[1])
    columns = []
    for j, column in enumerate(Schema.of_numbers(X.shape[1]).columns):
        known = X[:, j][~X[:, j].isnan()] if j in chosen else X[:0, j]
        categories = tuple(torch.unique(known).double().cpu().tolist()) if j in chosen else None
        columns.append(replace(column, categories=categories))
    return Schema(tuple(columns), target, named=False)


def source_of(X: Tensor, y: Any, weight: Any) -> tuple[Tensors, Floats, tuple[float, float]]:
    """Judge rows, finite and of one length; also the largest value of every column and the reach of the target."""
    if y is None:
        raise ValueError("y must hold the targets of the rows of X; got None.")
    low, high = (ends.cpu().numpy().astype(np.float64) for ends in torch.aminmax(X.nan_to_num(0.0), dim=0))
    for j in np.flatnonzero(X.isinf().any(dim=0).cpu().numpy()):
        _refuse(X[:, int(j)], f"X contains {{}} in column {int(j)!r}", "Drop or fill those rows.")
    y = _vector(y, X, "y")
    reach = torch.aminmax(y)
    if weight is not None:
        weight = _vector(weight, X, "sample_weight")
        if float(weight.min()) < 0:
            raise ValueError(f"Negative values in data passed to `sample_weight`: {float(weight.min())}.")
    return Tensors(X, y, weight), np.maximum(np.abs(low), np.abs(high)), (float(reach.min), float(reach.max))


def _vector(values: Any, X: Tensor, name: str) -> Tensor:
    """Return one finite float64 per row of `X`, beside it."""
    if name == "sample_weight" and np.ndim(values) == 0:
        values = np.full(len(X), values)
    if not isinstance(values, Tensor):
        values = torch.from_numpy(np.array(values, dtype=np.float64))
    values = as_floats(values.detach(), name).to(X.device, torch.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != X.shape[:1]:
        raise ValueError(f"{name} must have one entry per row of X ({len(X)}); got shape {tuple(values.shape)}.")
    if not bool(torch.isfinite(torch.stack(torch.aminmax(values))).all()):
        _refuse(values, f"{name} contains {{}}", "Drop those rows.")
    return values.contiguous()


def _refuse(values: Tensor, what: str, remedy: str) -> None:
    """Say how many values are not finite; nothing where all are."""
    bad = int((values.isinf() if bool(values.isinf().any()) else values.isnan()).sum())
    if bad:
        kind = "infinity" if bool(values.isinf().any()) else "NaN"
        raise ValueError(f"Input {what.format(kind)} ({bad} of {len(values)} rows). {remedy}")
