"""More parts of a model file, to plain values and back: how columns are prepared, rows set aside, and checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bgn.conformal import Calibration, Intervals, Spread, ranks_kept
from bgn.inputs.file_format import MISSING_VALUES, Numerals
from bgn.inputs.splits import HeldOut
from bgn.model.network import Edit, Network
from bgn.model.readings import is_flag
from bgn.model.schema import Column, Schema
from bgn.model.step import Floats
from bgn.persist import strict
from bgn.persist.network import category_in, category_out, column_in, network_in, network_out, schema_out
from bgn.persist.strict import ModelFileError, Reader
from bgn.preparation import Preparation

_CHECKS = 5

# -- preparation ----------------------------------------------------------------------------------------------


def preparation_out(preparation: Preparation, schema: Schema) -> dict[str, Any]:
    """Return how text is written; the columns only where a network's schema does not tell how they are read."""
    found: dict[str, Any] = {"decimal": preparation.decimal, "written": [vars(each) for each in preparation.written]}
    found |= {"missing_values": list(preparation.missing_values), "date_format": preparation.date_format}
    if preparation.merged:
        found["merged"] = [*map(category_out, preparation.merged)]
    if not preparation.header:
        found["header"] = False
    own, told = preparation.schema.columns, schema.columns
    if len(own) != len(told) or [*map(_how_read, own, told)] != [*map(_how_read, told)]:
        found["columns"] = schema_out(preparation.schema)["columns"]
    return found


def _how_read(column: Column, other: Column | None = None) -> tuple[Any, ...]:
    """Return what tells how a column is read; what a gap counts as is that of another, where it does not tell."""
    typical = other.typical if column.typical is None and other is not None else column.typical
    return column.name, column.categories, column.category_of, column.part_of, is_flag(column), typical


def preparation_in(value: Any, where: str) -> Preparation:
    """Build a preparation, or say what is wrong; without columns where these are the network's."""
    parts: dict[str, Reader[Any]] = {
        "decimal": _mark, "written": strict.array(_written_in), "missing_values": strict.array(strict.text),
        "date_format": strict.optional(strict.text), "columns": strict.array(column_in),
        "merged": strict.array(category_in), "header": strict.boolean,
    }  # fmt: skip
    plain: dict[str, Any] = {"written": (), "missing_values": MISSING_VALUES, "date_format": None, "columns": ()}
    plain |= {"merged": (), "header": True}
    found = plain | strict.record(value, where, parts, optional=tuple(plain))
    found |= {name: tuple(found[name]) for name in ("written", "missing_values", "merged")}
    columns = tuple(found.pop("columns"))
    if len({column.name for column in columns}) < len(columns):
        raise ModelFileError(f"{where}.columns must have different names; one stands there twice.")
    return Preparation(Schema(columns), **found)


def _mark(value: Any, where: str) -> str:
    """Return a decimal mark."""
    if len(found := strict.text(value, where)) != 1:
        raise strict.refuse(where, "one character", found)
    return found


def _written_in(value: Any, where: str) -> Numerals:
    parts: dict[str, Reader[Any]] = {"column": strict.text, "decimal": _mark, "thousands": strict.text}
    found = Numerals(**strict.record(value, where, parts | {"unit": strict.text}))
    if len(found.thousands) > 1 or found.thousands == found.decimal:
        raise strict.refuse(
            f"{where}.thousands", "one character, another than the decimal mark, or none", found.thousands
        )
    return found


# -- test rows ------------------------------------------------------------------------------------------------


def held_out_in(value: Any, where: str) -> HeldOut:
    """Build what is known of the rows that were set aside, or say what is wrong."""
    most = strict.whole(2**64 - 1)
    fields: dict[str, Reader[Any]] = {
        "seed": most, "share": strict.number, "key": strict.optional(strict.text), "edge": strict.optional(most),
        "rows": most, "fingerprint": most,
    }  # fmt: skip
    return HeldOut(**strict.record(value, where, fields))


# -- checks ---------------------------------------------------------------------------------------------------


def checks_out(network: Network) -> list[dict[str, Any]]:
    """Return a few made-up rows with their predictions; a row of a dataset would leave the machine with the file."""
    inputs = _threshold_rows(network)
    columns = [
        [
            None if np.isnan(value) else value if column.categories is None else column.categories[int(value)]
            for value in values
        ]
        for column, values in zip(network.schema.columns, inputs.T.tolist(), strict=True)
    ]
    table = [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in inputs]
    return [
        {"inputs": [category_out(each) for each in row], "prediction": _float_out(prediction)}
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
    gaps = layer.takes_missing
    empty = np.array([column.always_missing for column in columns], bool)
    if (empty & network.refuses_missing).any():
        return np.empty((0, len(columns)))
    refused = network.refuses_missing if gaps else ~empty
    cuts: dict[int, list[float]] = {}
    for neuron in layer.neurons:
        for j, weight in zip(neuron.projection.columns, neuron.projection.coefficients, strict=True):
            if not isinstance(weight, tuple) and weight and math.isfinite(cut := neuron.threshold / weight):
                cuts.setdefault(j, []).append(cut)
    rows = np.zeros((_CHECKS, len(columns)))
    for j, found in cuts.items():
        rows[:, j] = np.sort(found)[np.linspace(0, len(found) - 1, _CHECKS).round().astype(int)]
    for j, column in enumerate(columns):
        if column.categories is not None:
            rows[:, j] = np.arange(_CHECKS) % len(column.categories) if column.categories else np.nan
    rows[-1, ~refused] = np.nan
    return rows


def verify(network: Network, value: Any, where: str) -> None:
    """Refuse a network that does not predict what the file says it does."""

    def inputs(value: Any, where: str) -> list[Any]:
        cells = strict.array(strict.anything, network.n_inputs)(value, where)
        return [
            strict.optional(category_in if column.categories else strict.number)(cell, f"{where}[{j}]")
            for j, (cell, column) in enumerate(zip(cells, network.schema.columns, strict=True))
        ]

    several = network.link == "softmax"
    prediction: Reader[Any] = strict.array(strict.any_float, network.n_outputs) if several else strict.any_float
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


# -- The log of edits, to plain values and back.

_MOST_ROWS = 10**12


def edits_out(log: Sequence[Edit]) -> list[dict[str, Any]]:
    """Return a log as plain values; what is unknown is left out."""
    return [{name: value for name, value in asdict(edit).items() if value not in (None, "")} for edit in log]


def edits_in(value: Any, where: str) -> tuple[Edit, ...]:
    """Build a log, or say what is wrong."""
    count = strict.whole(_MOST_ROWS)
    parts: dict[str, Reader[Any]] = {
        "what": strict.text, "why": strict.text, "rows": count, "changed": count, "decisions": count,
        "before": strict.number, "after": strict.number,
    }  # fmt: skip

    def entry(each: Any, place: str) -> Edit:
        return Edit(**strict.record(each, place, parts, optional=("why", "decisions", "before", "after")))

    return tuple(strict.array(entry)(value, where))


# -- Intervals, to plain values and back.

_MOST_SCORED_ROWS = 10**12
_MOST_FOLDS = 1000


def intervals_out(intervals: Intervals) -> dict[str, Any]:
    """Return intervals as plain values; the network stands elsewhere."""
    found: dict[str, Any] = {
        "groups": [
            {
                "group": None if group is None else category_out(group),
                "rows": each.count,
                "scores": each.scores.tolist(),
            }
            for group, each in intervals.calibrations.items()
        ]
    }
    if intervals.spread is not None:
        found["scale"] = {"centers": intervals.spread.centres.tolist(), "sizes": intervals.spread.sizes.tolist()}
    if intervals.folds:
        found["folds"] = [network_out(network) for network in intervals.folds]
        found["fold_of"], found["fold_scores"] = list(intervals.fold_of), intervals.fold_scores.tolist()
    return found


def intervals_in(value: Any, where: str, network: Network, simple: bool) -> Intervals:
    """Build the intervals of a network, or say what is wrong; `simple` is that of :func:`network_in`."""
    numbers = strict.array(strict.number)
    parts: dict[str, Reader[Any]] = {
        "groups": strict.array(_group_in), "scale": _scale_in, "folds": strict.array(strict.anything),
        "fold_of": strict.array(strict.whole(_MOST_FOLDS)), "fold_scores": numbers,
    }  # fmt: skip
    found = strict.record(value, where, parts, optional=("scale", "folds", "fold_of", "fold_scores"))
    groups = [group for group, _ in found["groups"]]
    if len(set(groups)) < len(groups):
        raise ModelFileError(f"{where}.groups must differ; one stands there twice.")
    folds = tuple(
        network_in(fold, f"{where}.folds[{k}]", network.schema, simple) for k, fold in enumerate(found.get("folds", ()))
    )
    fold_of, scores = found.get("fold_of", []), np.array(found.get("fold_scores", []), dtype=np.float64)
    if len(fold_of) != len(scores) or any(each >= len(folds) for each in fold_of) or bool(folds) != bool(len(scores)):
        raise ModelFileError(f"{where}.fold_of must name the fold of every score.")
    if not folds and not groups:
        raise ModelFileError(f"{where}.groups must have at least one entry.")
    return Intervals(network, dict(found["groups"]), found.get("scale"), folds, tuple(fold_of), scores)


def _group_in(value: Any, where: str) -> tuple[Any, Calibration]:
    parts: dict[str, Reader[Any]] = {
        "group": strict.optional(category_in), "rows": strict.whole(_MOST_SCORED_ROWS),
        "scores": strict.array(strict.number)
    }  # fmt: skip
    found = strict.record(value, where, parts)
    scores, count = np.array(found["scores"], dtype=np.float64), found["rows"]
    if len(scores) != len(ranks_kept(count)) or (np.diff(scores) < 0).any():
        raise ModelFileError(f"{where}.scores must be those kept of {count} rows, in order.")
    return found["group"], Calibration(scores, count)


def _scale_in(value: Any, where: str) -> Spread:
    numbers = strict.array(strict.number)
    found = strict.record(value, where, {"centers": numbers, "sizes": numbers})
    centers, sizes = (np.array(found[name], dtype=np.float64) for name in ("centers", "sizes"))
    if len(centers) != len(sizes) or not len(sizes) or (np.diff(centers) <= 0).any() or not (sizes > 0).all():
        raise ModelFileError(f"{where} must have rising centers, and a positive size for each.")
    return Spread(centers, sizes)
