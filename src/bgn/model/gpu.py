"""What a network predicts of tensors on a GPU, where they are and with the bits that arrays give.

:meth:`~bgn.model.schema.Schema.encode`, :meth:`~bgn.model.layer.Layer.fire` and
:meth:`~bgn.model.network.Network.scores` have their twins in torch here. The model room imports torch in this module
alone, and this module only where a tensor is handed over.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bgn.model.network import Network
from bgn.model.schema import Schema
from bgn.model.term import Projection, Rule

_BLOCK = 1 << 24
_MOST_ROWS = (1 << 31) - 1  # torch counts the entries of a mask in 32 bits


def predict(network: Network, X: Tensor, scores: bool = False) -> Tensor:
    """Return the predicted value of every row, a float64 tensor beside `X`, or its raw score, which has equal bits."""
    rows = _rows(network, X)
    intercept, coef, over = network.addends
    total = rows.new_tensor(intercept, dtype=torch.float64).repeat((len(rows), 1))
    for some, out in zip(rows.split(_BLOCK), total.split(_BLOCK), strict=True):
        answers = iter(_fire(network, some.T, network.depth))
        for term, weights in zip(network.terms, coef, strict=True):
            if isinstance(term, Rule):
                values = torch.where(next(answers) > 0, 1.0, term.otherwise).double()
            else:
                missing = np.nan if term.missing is None else term.missing
                low, high, filled = torch.tensor([term.low, term.high, missing], dtype=torch.float64, device=X.device)
                values = some[:, term.column].double()
                values = torch.minimum(torch.maximum(torch.where(values.isnan(), filled, values), low), high)
            out += torch.outer(values, rows.new_tensor(weights, dtype=torch.float64))
    total = total / torch.tensor([over], dtype=torch.float64, device=rows.device)
    total = total if network.link == "softmax" else total[:, 0]
    if not scores and network.bounds is not None:
        low, high = network.bounds
        total = torch.where(total < low, low, torch.where(total > high, high, total))
    if scores or network.link == "identity":
        return total
    return torch.sigmoid(total) if network.link == "logistic" else torch.softmax(total, dim=-1)


def hidden(network: Network, X: Tensor, layer: int = -1) -> Tensor:
    """Return the +-1 answers of one hidden layer, a float64 tensor beside `X`."""
    return _fire(network, _rows(network, X).T, layer % network.depth + 1).T.double()


def table_of(X: Tensor, n_columns: int | None = None) -> Tensor:
    """Return `X` as a table of float32 or float64 where it is, or say what is wrong with it."""
    X = X.detach()
    if X.ndim != 2 or 0 in X.shape or (n_columns is not None and X.shape[1] != n_columns):
        wanted = "at least one column" if n_columns is None else f"{n_columns} columns"
        raise ValueError(f"X must have two dimensions, at least one row and {wanted}; got shape {tuple(X.shape)}.")
    if len(X) > _MOST_ROWS:
        raise ValueError(f"X has {len(X):,} rows; a GPU takes at most {_MOST_ROWS:,}. Use a Dask cluster or a sample.")
    return as_floats(X, "X")


def as_floats(values: Tensor, name: str) -> Tensor:
    """Return the values as floats that hold them exactly: half precision as float32, whole numbers as float64."""
    if values.dtype in (torch.float32, torch.float64):
        return values
    if values.is_complex():
        raise ValueError(f"{name} must hold real numbers; got dtype {values.dtype}.")
    return values.to(torch.float32 if values.is_floating_point() else torch.float64)


def encoded(X: Tensor, schema: Schema) -> Tensor:
    """Return a table as a network reads it: a category as its number, one never seen as NaN."""
    if schema.all_numbers:
        return X
    X = X.double()
    rows = X.clone()
    for j, column in enumerate(schema.columns):
        if column.categories is not None:
            categories = torch.tensor([*map(float, column.categories)], dtype=torch.float64, device=X.device)
            place = torch.searchsorted(categories, X[:, j].contiguous()).clamp(max=max(len(categories) - 1, 0))
            known = categories[place] == X[:, j] if len(categories) else torch.zeros_like(X[:, j], dtype=torch.bool)
            rows[:, j] = torch.where(known, place.double(), torch.nan)
    return rows


def _rows(network: Network, X: Tensor) -> Tensor:
    """Return a table as the first layer reads it, or say what is wrong with it."""
    rows = encoded(table_of(X, network.n_inputs), network.schema)
    missing, refused = rows.isnan().any(dim=0).cpu().numpy(), network.refuses_missing
    typical = np.array([column.typical for column in network.schema.columns], np.float64)  # None is NaN
    for j in np.flatnonzero(rows.isinf().any(dim=0).cpu().numpy() | (missing & refused & np.isnan(typical))).tolist():
        raise ValueError(f"X has NaN or infinity in column {network.names[j]!r}; drop or fill those rows first.")
    filled = np.flatnonzero(missing & network.layers[0].refuses_missing & ~np.isnan(typical)).tolist()
    rows = rows.clone() if filled else rows
    for j in filled:
        rows[:, j].nan_to_num_(float(typical[j]))
    return rows


def _fire(network: Network, columns: Tensor, depth: int) -> Tensor:
    """Return the +-1 answers of the last of so many layers, one row per neuron."""
    for layer in network.layers[:depth]:
        answers = torch.empty((layer.width, columns.shape[1]), dtype=torch.int8, device=columns.device)
        for row, condition in zip(answers, layer.neurons, strict=True):
            if condition.columns:
                z = project(columns, condition.projection)
                holds = z - condition.threshold >= 0
                holds = holds if condition.missing is None else torch.where(z.isnan(), bool(condition.missing), holds)
                row[:] = holds.to(torch.int8) * 2 - 1
            else:
                row[:] = 1 if condition.threshold <= 0 else -1
        columns = answers
    return columns


def project(columns: Tensor, projection: Projection) -> Tensor:
    """Return the projection of every row in float64, one rounding a step, columns in order."""
    z = None
    missing_as = projection.missing_as or (None,) * len(projection.columns)
    for j, coefficient, missing in zip(projection.columns, projection.coefficients, missing_as, strict=True):
        column = columns[j]
        if isinstance(coefficient, tuple):
            known = [*coefficient, torch.nan if missing is None else missing]
            table = torch.tensor(known, dtype=torch.float64, device=column.device)
            part = table[torch.where(column.isnan(), len(coefficient), column).long()]
        elif missing is None and coefficient == 1.0:
            part = column  # a column times one is the column
        else:
            # A factor of one entry makes the product a float64.
            part = column * torch.full((1,), coefficient, dtype=torch.float64, device=column.device)
            part = part if missing is None else torch.where(part.isnan(), missing * (coefficient or 1.0), part)
        if z is not None:
            part = torch.add(z if torch.float64 in (z.dtype, part.dtype) else z.double(), part)
        z = part
    assert z is not None
    return z.double()
