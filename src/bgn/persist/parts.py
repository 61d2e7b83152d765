"""More parts of a model file, to plain values and back: how columns are prepared, rows set aside, and checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bgn.conformal import Calibration, ErrorScale, Intervals, ranks_kept
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
_MOST_ROWS = 10**12


def preparation_out(preparation: Preparation, schema: Schema) -> dict[str, Any]:
    """Return how text is written; the columns only where a network's schema does not tell how they are read."""
    plain: dict[str, Any] = {
        "decimal": preparation.decimal, "written": [vars(numerals) for numerals in preparation.written],
        "missing_values": list(preparation.missing_values), "date_format": preparation.date_format,
    }  # fmt: skip
    if preparation.merged:
        plain["merged"] = [*map(category_out, preparation.merged)]
    if not preparation.header:
        plain["header"] = False

    def how_read(column: Column, other: Column) -> tuple[Any, ...]:
        # What a missing value counts as is that of the other, where it does not say.
        typical = other.typical if column.typical is None else column.typical
        return column.name, column.categories, column.category_of, column.part_of, is_flag(column), typical

    own, others = preparation.schema.columns, schema.columns
    if len(own) != len(others) or [*map(how_read, own, others)] != [*map(how_read, others, others)]:
        plain["columns"] = schema_out(preparation.schema)["columns"]
    return plain


def preparation_in(value: Any, where: str) -> Preparation:
    """Build a preparation, or say what is wrong; without columns where these are the network's."""
    parts: dict[str, Reader[Any]] = {
        "decimal": _mark, "written": strict.array(_written_in), "missing_values": strict.array(strict.text),
        "date_format": strict.optional(strict.text), "columns": strict.array(column_in),
        "merged": strict.array(category_in), "header": strict.boolean,
    }  # fmt: skip
    usual: dict[str, Any] = {"written": (), "missing_values": MISSING_VALUES, "date_format": None, "columns": ()}
    usual |= {"merged": (), "header": True}
    own = usual | strict.record(value, where, parts, optional=tuple(usual))
    own |= {name: tuple(own[name]) for name in ("written", "missing_values", "merged")}
    columns = tuple(own.pop("columns"))
    if len({column.name for column in columns}) < len(columns):
        raise ModelFileError(f"{where}.columns must have different names; one stands there twice.")
    return Preparation(Schema(columns), **own)


def _mark(value: Any, where: str) -> str:
    """Return a decimal mark."""
    if len(mark := strict.text(value, where)) != 1:
        raise strict.refuse(where, "one character", mark)
    return mark


def _written_in(value: Any, where: str) -> Numerals:
    parts: dict[str, Reader[Any]] = {"column": strict.text, "decimal": _mark, "thousands": strict.text}
    numerals = Numerals(**strict.record(value, where, parts | {"unit": strict.text}))
    if len(numerals.thousands) > 1 or numerals.thousands == numerals.decimal:
        wanted = "one character, another than the decimal mark, or none"
        raise strict.refuse(f"{where}.thousands", wanted, numerals.thousands)
    return numerals


def held_out_in(value: Any, where: str) -> HeldOut:
    """Build what is known of the test rows, or say what is wrong."""
    most = strict.whole(2**64 - 1)
    fields: dict[str, Reader[Any]] = {
        "seed": most, "share": strict.number, "key": strict.optional(strict.text), "edge": strict.optional(most),
        "rows": most, "fingerprint": most,
    }  # fmt: skip
    return HeldOut(**strict.record(value, where, fields))


def checks_out(network: Network) -> list[dict[str, Any]]:
    """Return a few made-up rows with their predictions; a row of a dataset would leave the machine with the file."""
    columns = network.schema.columns
    rows = [
        [
            None if np.isnan(value) else value if column.categories is None else column.categories[int(value)]
            for column, value in zip(columns, row, strict=True)
        ]
        for row in _threshold_rows(network).tolist()
    ]
    checks = []
    for row, prediction in zip(rows, _predict(network, rows).tolist(), strict=True):
        several = isinstance(prediction, list)
        numbers = [*map(strict.float_out, prediction)] if several else strict.float_out(prediction)
        checks.append({"inputs": [*map(category_out, row)], "prediction": numbers})
    return checks


def _predict(network: Network, table: list[list[Any]]) -> Floats:
    """Return what a network predicts for rows as a file has them."""
    rows = np.empty((len(table), network.n_inputs), dtype=float if network.schema.all_numbers else object)
    for row, values in zip(rows, table, strict=True):
        row[:] = values
    try:
        with np.errstate(all="ignore"):
            return network.predict(rows)
    except (ValueError, IndexError):  # a missing value where there may be none, too few values or classes
        raise ModelFileError("the network cannot predict the rows of its checks.") from None


def _threshold_rows(network: Network) -> Floats:
    """Make rows up: thresholds of each column, lowest to highest, all categories, and missing values."""
    columns, layer = network.schema.columns, network.layers[0]
    empty = np.array([column.always_missing for column in columns], bool)
    if (empty & network.refuses_missing).any():
        return np.empty((0, len(columns)))
    refused = network.refuses_missing if layer.takes_missing else ~empty
    cuts: dict[int, list[float]] = {}
    for condition in layer.neurons:
        for j, factor in zip(condition.projection.columns, condition.projection.coefficients, strict=True):
            if not isinstance(factor, tuple) and factor and math.isfinite(cut := condition.threshold / factor):
                cuts.setdefault(j, []).append(cut)
    rows = np.zeros((_CHECKS, len(columns)))
    for j, own in cuts.items():
        rows[:, j] = np.sort(own)[np.linspace(0, len(own) - 1, _CHECKS).round().astype(int)]
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
    checks = strict.array(lambda check, place: strict.record(check, place, parts))(value, where)
    if not checks:
        return
    # Exact for sparse layers; a dense one is summed by a matrix product, whose order is the machine's.
    predictions = _predict(network, [check["inputs"] for check in checks])
    slack = 0.0 if network.link == "identity" else 1e-12  # the last bits of an exponential are the machine's, too
    with np.errstate(all="ignore"):
        expected = np.array([check["prediction"] for check in checks])
        same = np.allclose(predictions, expected, rtol=1e-9, atol=slack, equal_nan=True)
    if not same:
        raise ModelFileError("the network does not predict what its checks say; the file was changed.")


# -- The log of edits, to plain values and back.


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

    optional = ("why", "decisions", "before", "after")
    return tuple(
        strict.array(lambda edit, place: Edit(**strict.record(edit, place, parts, optional=optional)))(value, where)
    )


# -- Intervals, to plain values and back.

_MOST_FOLDS = 1000


def intervals_out(intervals: Intervals) -> dict[str, Any]:
    """Return intervals as plain values; the network stands elsewhere."""
    groups = [
        {"group": None if group is None else category_out(group), "rows": own.count, "scores": own.scores.tolist()}
        for group, own in intervals.calibrations.items()
    ]
    plain: dict[str, Any] = {"groups": groups}
    if intervals.scale is not None:
        plain["scale"] = {"centers": intervals.scale.centers.tolist(), "sizes": intervals.scale.sizes.tolist()}
    if intervals.folds:
        plain["folds"] = [network_out(network) for network in intervals.folds]
        plain["fold_of"], plain["fold_scores"] = list(intervals.fold_of), intervals.fold_scores.tolist()
    return plain


def intervals_in(value: Any, where: str, network: Network, simple: bool) -> Intervals:
    """Build the intervals of a network, or say what is wrong; `simple` is that of :func:`network_in`."""
    numbers = strict.array(strict.number)
    parts: dict[str, Reader[Any]] = {
        "groups": strict.array(_group_in), "scale": _scale_in, "folds": strict.array(strict.anything),
        "fold_of": strict.array(strict.whole(_MOST_FOLDS)), "fold_scores": numbers,
    }  # fmt: skip
    plain = strict.record(value, where, parts, optional=("scale", "folds", "fold_of", "fold_scores"))
    groups = [group for group, _ in plain["groups"]]
    if len(set(groups)) < len(groups):
        raise ModelFileError(f"{where}.groups must differ; one stands there twice.")
    folds = tuple(
        network_in(fold, f"{where}.folds[{k}]", network.schema, simple) for k, fold in enumerate(plain.get("folds", ()))
    )
    fold_of, scores = plain.get("fold_of", []), np.array(plain.get("fold_scores", []), dtype=np.float64)
    if len(fold_of) != len(scores) or any(k >= len(folds) for k in fold_of) or bool(folds) != bool(len(scores)):
        raise ModelFileError(f"{where}.fold_of must name the fold of every score.")
    if not folds and not groups:
        raise ModelFileError(f"{where}.groups must have at least one entry.")
    return Intervals(network, dict(plain["groups"]), plain.get("scale"), folds, tuple(fold_of), scores)


def _group_in(value: Any, where: str) -> tuple[Any, Calibration]:
    parts: dict[str, Reader[Any]] = {
        "group": strict.optional(category_in), "rows": strict.whole(_MOST_ROWS),
        "scores": strict.array(strict.number)
    }  # fmt: skip
    group, count, scores = strict.record(value, where, parts).values()
    scores = np.array(scores, dtype=np.float64)
    if len(scores) != len(ranks_kept(count)) or (np.diff(scores) < 0).any():
        raise ModelFileError(f"{where}.scores must be those kept of {count} rows, in order.")
    return group, Calibration(scores, count)


def _scale_in(value: Any, where: str) -> ErrorScale:
    numbers = strict.array(strict.number)
    lists = strict.record(value, where, {"centers": numbers, "sizes": numbers})
    centers, sizes = (np.array(numbers, dtype=np.float64) for numbers in lists.values())
    if len(centers) != len(sizes) or not len(sizes) or (np.diff(centers) <= 0).any() or not (sizes > 0).all():
        raise ModelFileError(f"{where} must have rising centers, and a positive size for each.")
    return ErrorScale(centers, sizes)
