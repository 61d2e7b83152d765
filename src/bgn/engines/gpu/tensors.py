"""Torch tensors as users hand them over: checked, turned into rows of an engine, and predicted, where they are.

:class:`RawTensors` does for tensors what :class:`bgn.engines.raw_rows.RawRows` does for arrays, with the same hashes,
samples and parts. Predictions have the bits that arrays give.
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
from bgn.engines.gpu.engine import ClassTensorPart, TensorEngine, TensorPart, group_sums, project
from bgn.engines.protocol import Floats, Grid, Integers, Loss, OneBlock, Output
from bgn.engines.raw_rows import Plan, RawRows, Sample
from bgn.inputs.kinds import chosen_columns
from bgn.inputs.splits import Hashes, Inside, mix
from bgn.model.layer import Layer
from bgn.model.network import Network
from bgn.model.readings import network_of
from bgn.model.schema import Schema
from bgn.model.term import Linear, Rule

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

    def _gaps(self, columns: Tensor) -> NDArray[np.bool_]:
        return torch.stack([column.isnan().any() for column in columns]).cpu().numpy()

    def _histogram(self, rows: Any) -> Integers:
        weight = None if rows.weight is None else rows.weight.double()  # sums stay far below 2^53
        return torch.bincount(_bins(rows.hashes), weight, 1 << _BIN_BITS).long().cpu().numpy()


def _coded(raw: Tensor, coding: Coding) -> Tensor:
    """What :meth:`bgn.engines.coding.Coding.columns` says."""
    gaps = torch.stack([column.isnan().any() for column in raw]).cpu()
    if coding.plain and not gaps.any():
        return raw
    found = torch.cat([raw, *(raw[column].isnan().to(raw.dtype)[None] for column in coding.marked)])
    for column in gaps.nonzero().flatten().tolist():
        found[column].nan_to_num_(coding.in_gaps(column))
    return found


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
    far = _scaled((y / 2 - grid.centre / 2).clamp(-1e308, 1e308), grid.exponent + 1)
    return far.clamp(-float(grid.limit), float(grid.limit)).round().long()


_BLOCK = 1 << 24
_MOST_ROWS = (1 << 31) - 1  # torch counts the entries of a mask in 32 bits


def table_of(X: Tensor, n_columns: int | None = None) -> Tensor:
    """Return `X` as a table of float32 or float64 where it is, or say what is wrong with it."""
    X = X.detach()
    if X.ndim != 2 or 0 in X.shape or (n_columns is not None and X.shape[1] != n_columns):
        wanted = "at least one column" if n_columns is None else f"{n_columns} columns"
        raise ValueError(f"X must have two dimensions, at least one row and {wanted}; got shape {tuple(X.shape)}.")
    if len(X) > _MOST_ROWS:
        raise ValueError(f"X has {len(X):,} rows; a GPU takes at most {_MOST_ROWS:,}. Use a Dask cluster or a sample.")
    return _as_floats(X, "X")


def _as_floats(values: Tensor, name: str) -> Tensor:
    """Return the values as floats that hold them exactly: half precision as float32, whole numbers as float64."""
    if values.dtype in (torch.float32, torch.float64):
        return values
    if values.is_complex():
        raise ValueError(f"{name} must hold real numbers; got dtype {values.dtype}.")
    return values.to(torch.float32 if values.is_floating_point() else torch.float64)


def schema_of(X: Tensor, categorical_features: Any, target: str | None) -> Schema:
    """Decide what every column of a tensor is: numbers, and those that are told to be categories."""
    chosen = chosen_columns(categorical_features, None, X.shape[1])
    columns = []
    for j, column in enumerate(Schema.of_numbers(X.shape[1]).columns):
        known = X[:, j][~X[:, j].isnan()] if j in chosen else X[:0, j]
        categories = tuple(torch.unique(known).double().cpu().tolist()) if j in chosen else None
        columns.append(replace(column, categories=categories))
    return Schema(tuple(columns), target, named=False)


def encoded(X: Tensor, schema: Schema) -> Tensor:
    """Return a table as a network reads it: a category as the number of its level, a level never seen as NaN."""
    if schema.all_numbers:
        return X
    X = X.double()
    rows = X.clone()
    for j, column in enumerate(schema.columns):
        if column.categories is not None:
            categories = torch.tensor([float(category) for category in column.categories], dtype=torch.float64, device=X.device)
            place = torch.searchsorted(categories, X[:, j].contiguous()).clamp(max=max(len(categories) - 1, 0))
            known = categories[place] == X[:, j] if len(categories) else torch.zeros_like(X[:, j], dtype=torch.bool)
            rows[:, j] = torch.where(known, place.double(), torch.nan)
    return rows


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
    values = _as_floats(values.detach(), name).to(X.device, torch.float64)
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


def hidden(network: Network, X: Tensor, layer: int = -1) -> Tensor:
    """Return the +-1 answers of one hidden layer, a float64 tensor beside `X`."""
    return _answers(network, _rows(network, X).T, layer).T.double()


def predict(network: Network, X: Tensor, scores: bool = False) -> Tensor:
    """Return the predicted value of every row, a float64 tensor beside `X`, or its raw score.

    Scores have the bits that arrays give; so have predictions where they are scores.
    """
    rows = _rows(network_of(network, plain=False), X)
    intercept, coef, over = network.addends
    total = rows.new_tensor(intercept, dtype=torch.float64).repeat((len(rows), 1))
    for some, out in zip(rows.split(_BLOCK), total.split(_BLOCK), strict=True):
        answers = iter(_answers(network, some.T, -1))
        for term, weights in zip(network.terms, coef, strict=True):
            if isinstance(term, Rule):
                values = torch.where(next(answers) > 0, 1.0, term.otherwise).double()
            else:
                values = _linear_values(term, some)
            out += torch.outer(values, rows.new_tensor(weights, dtype=torch.float64))
    found = total / torch.tensor([over], dtype=torch.float64, device=rows.device)
    found = found if network.link == "softmax" else found[:, 0]
    if not scores and network.bounds is not None:
        low, high = network.bounds
        found = torch.where(found < low, low, torch.where(found > high, high, found))
    if scores or network.link == "identity":
        return found
    return torch.sigmoid(found) if network.link == "logistic" else torch.softmax(found, dim=-1)


def _linear_values(term: Linear, rows: Tensor) -> Tensor:
    """What a linear term is worth in every row."""
    missing = np.nan if term.missing is None else term.missing
    low, high, missing = torch.tensor([term.low, term.high, missing], dtype=torch.float64, device=rows.device)
    values = rows[:, term.column].double()
    return torch.minimum(torch.maximum(torch.where(values.isnan(), missing, values), low), high)


def _rows(network: Network, X: Tensor) -> Tensor:
    """What :meth:`bgn.model.network.Network._rows` says."""
    rows = encoded(table_of(X, network.n_inputs), network.schema)
    gaps, refused = rows.isnan().any(dim=0).cpu().numpy(), network.refuses_missing
    typical = [column.typical for column in network.schema.columns]
    bad = rows.isinf().any(dim=0).cpu().numpy() | (gaps & refused & np.array([each is None for each in typical]))
    if bad.any():
        name = network.names[int(np.flatnonzero(bad)[0])]
        raise ValueError(f"X has NaN or infinity in column {name!r}; drop or fill those rows first.")
    filled = gaps & network.layers[0].refuses_missing & np.array([each is not None for each in typical])
    if filled.any():
        rows = rows.clone()
        for j in np.flatnonzero(filled).tolist():
            rows[:, j].nan_to_num_(typical[j])
    return rows


def _answers(network: Network, columns: Tensor, layer: int) -> Tensor:
    """The +-1 answers of one layer, one row per neuron."""
    for each in network.layers[: layer % network.depth + 1]:
        columns = _fire(each, columns)
    return columns


def _fire(layer: Layer, columns: Tensor) -> Tensor:
    """What :meth:`bgn.model.layer.Layer.fire` says, transposed."""
    answers = torch.empty((layer.width, columns.shape[1]), dtype=torch.int8, device=columns.device)
    for row, neuron in zip(answers, layer.neurons, strict=True):
        if neuron.projection.columns:
            z = project(columns, neuron.projection)
            fires = z - neuron.threshold >= 0
            fires = fires if neuron.missing is None else torch.where(z.isnan(), bool(neuron.missing), fires)
            row[:] = fires.to(torch.int8) * 2 - 1
        else:
            row[:] = 1 if neuron.threshold <= 0 else -1
    return answers
