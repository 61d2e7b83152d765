"""Two more parts of a model file, to plain values and back: the preparation of its columns, and its checks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.persist import strict
from bgn.persist.network import level_in, level_out
from bgn.persist.strict import ModelFileError, Reader
from bgn.preparation import PARTS, Category, Date, Number, Preparation

_CHECKS = 5

# -- preparation ----------------------------------------------------------------------------------------------


def preparation_out(preparation: Preparation) -> list[dict[str, Any]] | dict[str, Any]:
    """Return one object per column, with its kind and its fields; what 0.1.0 did not know only where it is known."""
    columns = [
        {"kind": type(column).__name__.lower()}
        | {name: list(value) if isinstance(value, tuple) else value for name, value in vars(column).items()}
        for column in preparation.columns
    ]
    for column in columns:
        if column.get("zone", False) is None:
            del column["zone"]
    return columns if preparation.decimal == "." else {"decimal": preparation.decimal, "columns": columns}


def preparation_in(value: Any, where: str) -> Preparation:
    """Build a preparation, or say what is wrong."""
    if isinstance(value, list):
        return Preparation(tuple(strict.array(_column_in)(value, where)))
    found = strict.record(value, where, {"decimal": strict.text, "columns": strict.array(_column_in)})
    if len(found["decimal"]) != 1:
        raise strict.refuse(f"{where}.decimal", "one character", found["decimal"])
    return Preparation(tuple(found["columns"]), found["decimal"])


def _values(value: Any, where: str) -> list[Any]:
    """Return what a category held: words, or numbers."""
    words = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return strict.array(strict.text if words else strict.number)(value, where)


_KINDS: dict[str, tuple[type, dict[str, Reader[Any]]]] = {
    "number": (Number, {"boolean": strict.boolean, "fill": strict.optional(strict.number)}),
    "category": (Category, {"values": _values, "fill": strict.anything}),
    "date": (
        Date,
        {
            "parts": strict.array(strict.text),
            "format": strict.optional(strict.text),
            "fill": strict.optional(strict.array(strict.number)),
            "zone": strict.optional(strict.boolean),
        },
    ),
}


def _column_in(value: Any, where: str) -> Number | Category | Date:
    kind = strict.obj(value, where).get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise strict.refuse(f"{where}.kind", "'number', 'category' or 'date'", kind)
    make, parts = _KINDS[kind]
    found = strict.record(value, where, {"kind": strict.text, "column": strict.text} | parts, optional=("zone",))
    found = {name: tuple(each) if isinstance(each, list) else each for name, each in found.items() if name != "kind"}
    fill = found["fill"]
    if kind == "category":
        values = found["values"]
        if len(set(values)) < len(values) or (fill is not None and fill not in values):
            raise ModelFileError(f"{where} must have different values and fill one of them.")
        found["fill"] = None if fill is None else values[values.index(fill)]
    elif kind == "date":
        if any(name not in PARTS for name in found["parts"]):
            raise ModelFileError(f"{where}.parts must be some of {', '.join(PARTS)}.")
        if fill is not None and len(fill) != len(found["parts"]):
            raise ModelFileError(f"{where}.fill must have {len(found['parts'])} entries; got {len(fill)}.")
    column: Number | Category | Date = make(**found)
    return column


# -- checks ---------------------------------------------------------------------------------------------------


def checks_out(network: Network, rows: Any) -> list[dict[str, Any]]:
    """Return a few rows with their predictions, made up where there are none."""
    given = rows is not None and len(rows)
    inputs = network._rows(rows[:_CHECKS]) if given else _threshold_rows(network)
    columns = [
        [None if np.isnan(value) else value if column.levels is None else column.levels[int(value)] for value in values]
        for column, values in zip(network.schema.columns, inputs.T.tolist(), strict=True)
    ]
    table = [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in inputs]
    return [
        {"inputs": [level_out(each) for each in row], "prediction": _float_out(prediction)}
        for row, prediction in zip(table, _predict(network, table).tolist(), strict=True)
    ]


def _float_out(value: Any) -> Any:
    return [strict.float_out(each) for each in value] if isinstance(value, list) else strict.float_out(value)


def _predict(network: Network, table: list[list[Any]]) -> Floats:
    """Return what a network predicts for rows as a file has them."""
    rows = np.empty((len(table), network.n_inputs), dtype=float if network.schema.all_numbers else object)
    for row, values in zip(rows, table, strict=True):
        row[:] = values
    try:
        with np.errstate(all="ignore"):
            return network.predict(rows)
    except (ValueError, IndexError):  # a gap where there may be none, fewer values than levels, no classes
        raise ModelFileError("the network cannot predict the rows of its checks.") from None


def _threshold_rows(network: Network) -> Floats:
    """Make rows up: from where the first layer's neurons cut each column, lowest to highest, all levels, and gaps."""
    columns, layer = network.schema.columns, network.layers[0]
    gaps = layer.takes_gaps and network.slopes is None
    refused = layer.refuses_gaps if gaps else np.ones(len(columns), bool)
    if any(column.levels == () and refused[j] for j, column in enumerate(columns)):
        return np.empty((0, len(columns)))
    cuts: dict[int, list[float]] = {}
    for neuron in layer.neurons:
        for j, weight in zip(neuron.projection.columns, neuron.projection.coefficients, strict=True):
            if not isinstance(weight, tuple) and weight and math.isfinite(cut := neuron.threshold / weight):
                cuts.setdefault(j, []).append(cut)
    rows = np.zeros((_CHECKS, len(columns)))
    for j, found in cuts.items():
        rows[:, j] = np.sort(found)[np.linspace(0, len(found) - 1, _CHECKS).round().astype(int)]
    for j, column in enumerate(columns):
        if column.levels is not None:
            rows[:, j] = np.arange(_CHECKS) % len(column.levels) if column.levels else np.nan
    if gaps:
        rows[-1, ~layer.refuses_gaps] = np.nan
    return rows


def verify(network: Network, value: Any, where: str) -> None:
    """Refuse a network that does not predict what the file says it does."""

    def inputs(value: Any, where: str) -> list[Any]:
        cells = strict.array(strict.anything, network.n_inputs)(value, where)
        return [
            strict.optional(level_in if column.levels else strict.number)(cell, f"{where}[{j}]")
            for j, (cell, column) in enumerate(zip(cells, network.schema.columns, strict=True))
        ]

    outputs = np.shape(network.base)
    prediction: Reader[Any] = strict.array(strict.any_float, *outputs) if outputs else strict.any_float
    parts: dict[str, Reader[Any]] = {"inputs": inputs, "prediction": prediction}
    checks = strict.array(lambda each, place: strict.record(each, place, parts))(value, where)
    if not checks:
        return
    found = _predict(network, [check["inputs"] for check in checks])
    # Exact for sparse layers; a dense one is summed by a matrix product, whose order is the machine's.
    expected = np.array([check["prediction"] for check in checks])
    slack = 0.0 if network.link == "identity" else 1e-12  # the last bits of an exponential are the machine's, too
    with np.errstate(all="ignore"):
        same = np.allclose(found, expected, rtol=1e-9, atol=slack, equal_nan=True)
    if not same:
        raise ModelFileError("the network does not predict what its checks say; the file was changed.")
