"""Intervals, to plain values and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgn.conformal import Calibration, Intervals, Spread, ranks_kept
from bgn.model.network import Network
from bgn.persist import strict
from bgn.persist.network import level_in, level_out, network_in, network_out
from bgn.persist.strict import ModelFileError, Reader

_MOST_ROWS = 10**12
_MOST_FOLDS = 1000


def intervals_out(intervals: Intervals) -> dict[str, Any]:
    """Return intervals as plain values; the network stands elsewhere."""
    found: dict[str, Any] = {
        "groups": [
            {"group": None if group is None else level_out(group), "rows": each.count, "scores": each.scores.tolist()}
            for group, each in intervals.calibrations.items()
        ]
    }
    if intervals.spread is not None:
        found["spread"] = {"centres": intervals.spread.centres.tolist(), "sizes": intervals.spread.sizes.tolist()}
    if intervals.folds:
        found["folds"] = [network_out(network) for network in intervals.folds]
        found["fold_of"], found["fold_scores"] = list(intervals.fold_of), intervals.fold_scores.tolist()
    return found


def intervals_in(value: Any, where: str, network: Network) -> Intervals:
    """Build the intervals of a network, or say what is wrong."""
    numbers = strict.array(strict.number)
    parts: dict[str, Reader[Any]] = {
        "groups": strict.array(_group_in), "spread": _spread_in, "folds": strict.array(strict.anything),
        "fold_of": strict.array(strict.whole(_MOST_FOLDS)), "fold_scores": numbers,
    }  # fmt: skip
    found = strict.record(value, where, parts, optional=("spread", "folds", "fold_of", "fold_scores"))
    groups = [group for group, _ in found["groups"]]
    if len(set(groups)) < len(groups):
        raise ModelFileError(f"{where}.groups must differ; one stands there twice.")
    folds = tuple(
        network_in(each, f"{where}.folds[{k}]", network.schema) for k, each in enumerate(found.get("folds", ()))
    )
    fold_of, scores = found.get("fold_of", []), np.array(found.get("fold_scores", []), dtype=np.float64)
    if len(fold_of) != len(scores) or any(each >= len(folds) for each in fold_of) or bool(folds) != bool(len(scores)):
        raise ModelFileError(f"{where}.fold_of must name the fold of every score.")
    if not folds and not groups:
        raise ModelFileError(f"{where}.groups must have at least one entry.")
    return Intervals(network, dict(found["groups"]), found.get("spread"), folds, tuple(fold_of), scores)


def _group_in(value: Any, where: str) -> tuple[Any, Calibration]:
    parts: dict[str, Reader[Any]] = {
        "group": strict.optional(level_in), "rows": strict.whole(_MOST_ROWS), "scores": strict.array(strict.number)
    }  # fmt: skip
    found = strict.record(value, where, parts)
    scores, count = np.array(found["scores"], dtype=np.float64), found["rows"]
    if len(scores) != len(ranks_kept(count)) or (np.diff(scores) < 0).any():
        raise ModelFileError(f"{where}.scores must be those kept of {count} rows, in order.")
    return found["group"], Calibration(scores, count)


def _spread_in(value: Any, where: str) -> Spread:
    numbers = strict.array(strict.number)
    found = strict.record(value, where, {"centres": numbers, "sizes": numbers})
    centres, sizes = (np.array(found[name], dtype=np.float64) for name in ("centres", "sizes"))
    if len(centres) != len(sizes) or not len(sizes) or (np.diff(centres) <= 0).any() or not (sizes > 0).all():
        raise ModelFileError(f"{where} must have rising centres, and a positive size for each.")
    return Spread(centres, sizes)
