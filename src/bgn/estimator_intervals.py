"""Intervals of a fitted estimator, from the rows that growth, or each fold of it, did not learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bgn.conformal import Intervals, calibrated, of_predictions
from bgn.engines.disk.table import on_disk
from bgn.engines.raw_rows import (
    Hashes,
    RowsInMemory,
    few_of,
    find_edge,
    histogram,
    inside_bin,
    row_hashes,
    weight_exponent,
)
from bgn.engines.sources import RowArguments, _in_memory
from bgn.grow.history import OutOfFold
from bgn.grow.roles import _few_and_often
from bgn.inputs.arguments import threads
from bgn.inputs.per_row import weights
from bgn.model.network import on_gpu
from bgn.model.schema import Schema
from bgn.model.step import Bools, Floats

_MOST_ROWS = 5000  # which intervals are learnt from: their share is then right to half a percent


class WithIntervals:
    """An estimator that keeps how far off it was on the rows that validated: ``intervals_``.

    Some of these rows, as the network reads them, and their targets are kept in memory as ``validation_rows_``, so that
    the same network at another width has intervals too. Where growth was cross-validated, ``out_of_fold_`` has for
    every width what the folds' networks predicted of the rows that they were grown without, and the targets of these.
    """

    network_: Any
    history_: Any
    intervals_: Intervals
    validation_rows_: tuple[Floats, Floats]
    out_of_fold_: OutOfFold

    def _calibrate(self, given: RowArguments, held_out: RowArguments | None, schema: Schema, seed: int) -> None:
        """Learn intervals from validation rows in memory; elsewhere :func:`bgn.intervals` is to be asked."""
        rows = given if held_out is None else held_out
        if on_gpu(rows.X) or on_disk(rows.X) or type(rows.X).__module__.partition(".")[0] == "dask":
            return
        rows = rows.in_memory()
        X, y, _ = _in_memory(self, rows, schema)
        weight = None if rows.weight is None else weights(rows.weight, len(X))
        share = self.validation_fraction  # type: ignore[attr-defined]
        hashes = row_hashes(X.T, y, seed, threads(self.n_jobs))  # type: ignore[attr-defined]
        chosen = np.ones(len(X), dtype=bool) if held_out is not None else validating(weight, hashes, share)
        if weight is not None:
            chosen &= weight > 0
        few = np.flatnonzero(chosen)
        few = few[few_of(hashes[few], _MOST_ROWS, last=True)]
        if len(few):
            self.validation_rows_ = np.asarray(X[few], dtype=np.float64), np.asarray(y[few], dtype=np.float64)
            self._recalibrate()

    def _calibrate_average(self, given: RowArguments, schema: Schema, seeds: Sequence[int]) -> None:
        """Learn the intervals of an average from rows in memory, each as the networks without it predict it.

        These are fewer than all, mostly one: the mean of all is off by less, so that intervals err on the wide side.
        """
        members = self.history_.members
        gone = on_gpu(given.X) or on_disk(given.X) or type(given.X).__module__.partition(".")[0] == "dask"
        if gone or len(members) < len(seeds):
            return
        given = given.in_memory()
        X, y, _ = _in_memory(self, given, schema)
        weight = None if given.weight is None else weights(given.weight, len(X))
        share = self.validation_fraction  # type: ignore[attr-defined]
        total, count = np.zeros((len(X), *np.shape(self.network_.base))), np.zeros(len(X), np.int64)
        hashes = [row_hashes(X.T, y, seed, threads(self.n_jobs)) for seed in seeds]  # type: ignore[attr-defined]
        for own, member in zip(hashes, members, strict=True):
            without = validating(weight, own, share)
            total[without] += member.network().predict_encoded(np.asarray(X[without], np.float64), scores=True)
            count += without
        seen = np.flatnonzero((count > 0) & (True if weight is None else weight > 0))
        if len(seen):
            seen = seen[few_of(hashes[0][seen], _MOST_ROWS, last=True)]
            means = (total[seen].T / count[seen]).T
            found, targets = self.network_.linked(means), np.asarray(y[seen], np.float64)
            self.intervals_ = of_predictions(self.network_, found, targets)

    def _take_out_of_fold(self) -> None:
        """Learn intervals from what the folds said of the rows they were grown without, and keep that."""
        found = getattr(self.history_, "out_of_fold", None)
        if found is not None:
            self.out_of_fold_, self.history_ = found, replace(self.history_, out_of_fold=None)
            self._recalibrate()

    def _recalibrate(self) -> None:
        """Learn the intervals of the network at hand, if there are rows to learn them from."""
        if hasattr(self, "out_of_fold_"):
            found, width = self.out_of_fold_, self.history_.best_width
            self.intervals_ = of_predictions(self.network_, found.predictions[:, width], found.targets)
        elif hasattr(self, "validation_rows_"):
            rows, targets = self.validation_rows_
            self.intervals_ = calibrated(self.network_, self.network_._rows(rows, encoded=True), targets)

    def _sure(self, X: Any, level: float, groups: Any) -> Any:
        """Return the intervals of rows, or say why there are none."""
        found = getattr(self, "intervals_", None)
        told = (
            "Set model.intervals_ = bgn.intervals(model, X, y) with rows that it did not learn from, or with those "
            "that it did and cv=5, which fits it again without each fifth."
        )
        if found is None:
            raise ValueError(f"interval: the model has no rows to tell by, as none validated in memory. {told}")
        if found.network != self.network_:
            raise ValueError(f"interval: the intervals are those of another network, or of another width. {told}")
        return found.predict(X, level, groups)


def validating(weight: Floats | None, hashes: Hashes, share: float) -> Bools:
    """Return which rows validate: those that growth chooses by the same hash of their content."""
    those, whole, exponent = hashes, None, 0
    if weight is not None:
        exponent = weight_exponent(RowsInMemory(np.empty((len(weight), 0)), weight, weight))
        whole = np.rint(np.ldexp(weight, exponent)).astype(np.int64)
        those, whole = hashes[whole > 0], whole[whole > 0]
    counts = histogram(those, whole)
    often = _few_and_often(counts, float(counts.sum()) / 2**exponent)
    edge = None if often else find_edge(counts, lambda number: [inside_bin(those, whole, number)], share)
    return np.zeros(len(hashes), dtype=bool) if edge is None else hashes <= np.uint64(edge)
