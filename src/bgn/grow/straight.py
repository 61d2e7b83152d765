"""Linear terms: which column to take as a straight line next, and between which ends.

A ramp answers numbers where a neuron answers +-1; all else is the same. Its ends are those of the rows to learn from,
of an average all that any of its networks learns from, rounded outwards to short decimals, so that it cannot run away
on rows beyond them.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from bgn.engines.protocol import CONTRAST, Floats, Grid, Integers, Output, Ramp
from bgn.grow.directions.column_bins import bins_of
from bgn.grow.output import State
from bgn.grow.roles import Roles
from bgn.model.decimals import EXACT, written
from bgn.model.linear_term import LinearTerm

_TRIED = 2  # columns that are fitted together with all terms, before one is taken


class Straight:
    """The linear terms that a layer may get, at most so many."""

    def __init__(self, rows: Roles, most: int, digits: int | None) -> None:
        self._rows, self._most, self._digits = rows, most, digits
        self._columns = _numbers(rows) if most else np.zeros(0, np.int64)

    def candidates(self, state: State) -> list[Ramp]:
        """The columns that explain most of what a state leaves, as ramps, the most promising first."""
        taken = [ramp.column for ramp in state.ramps]
        columns = self._columns[~np.isin(self._columns, taken)]
        if len(taken) >= self._most or len(columns) == 0:
            return []
        rows = self._rows.train
        gains = self._explained(state.output)[columns]
        found: list[Ramp] = []
        for j in columns[np.argsort(-gains, kind="stable")[:_TRIED]].tolist():
            ramp = rows.ramp_of(j, *ends(*self._rows.ends(j), self._digits))
            found += [] if ramp is None else [ramp]
        return found

    def _explained(self, output: Output) -> Floats:
        """How much each column alone explains of what an output leaves; of several outputs all together."""
        rows = self._rows.train
        about, several = rows.describe(), rows.loss.outputs
        each = [output]
        if several > 1:
            half = 1 << (CONTRAST - 1)
            each = [output.seen(tuple(half * (k == j) for k in range(several))) for j in range(several)]
        deviation = np.where(about.deviation > 0, about.deviation, np.inf)
        shares = [rows.products(one) / deviation for one in each]
        return np.asarray(sum(share * share for share in shares))


def _numbers(rows: Roles) -> Integers:
    """The columns of numbers that take more than two values in the sample, and vary."""
    if rows.sample is None or (part := rows.sample.part).below is not None:
        return np.zeros(0, np.int64)
    coding = rows.coding
    n = part.n_columns if coding is None else coding.n_columns
    levels = [None] * n if coding is None else coding.levels
    varied = rows.train.describe().deviation > 0
    different = bins_of(rows.sample, coding).different
    return np.array([j for j in range(n) if levels[j] is None and varied[j] and different[j] > 2], np.int64)


def ends(low: float, high: float, digits: int | None) -> tuple[float, float]:
    """The ends of a line over values from `low` to `high`: the nearest decimals beyond, of so many digits."""
    if digits is None or not low < high or not math.isfinite(high - low):
        return low, high
    unit = Decimal(1).scaleb(written(high - low).adjusted() - digits + 1, EXACT)
    places = ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    found = [
        float(EXACT.multiply(EXACT.divide(written(each), unit).to_integral_value(rounding, EXACT), unit))
        for each, rounding in places
    ]
    return (found[0], found[1]) if found[0] <= low < high <= found[1] else (low, high)


# -- between steps of a grid and units ----------------------------------------------------------------------


def in_units(grid: Grid, output: Output) -> tuple[Any, Floats, Floats]:
    """Base, output weights and slopes per unit of their columns; the base holds where all columns are zero."""
    base: Any = grid.centre + grid.value(output.base)
    slopes = grid.value(output.slopes)
    slopes = slopes * _beside([ramp.per_unit for ramp in output.ramps], slopes)
    if output.ramps:
        base = base - (slopes * _beside([ramp.centre for ramp in output.ramps], slopes)).sum(axis=0)
    return base if np.ndim(base) else float(base), grid.value(output.weights), slopes


def in_steps(grid: Grid, ramps: tuple[Ramp, ...], base: Any, weights: Floats, slopes: Floats) -> Output:
    """The output of these numbers in whole steps."""
    if ramps:
        base = base + (slopes * _beside([ramp.centre for ramp in ramps], slopes)).sum(axis=0)
        slopes = slopes / _beside([ramp.per_unit for ramp in ramps], slopes)
    steps = [np.rint(np.ldexp(each, grid.exponent)).astype(np.int64) for each in (weights, base - grid.centre, slopes)]
    return Output(steps[0], steps[1], (), ramps, steps[2])


def _beside(values: list[float], slopes: Floats) -> Floats:
    """One number per ramp, to be multiplied by slopes of one output or several."""
    return np.array(values, np.float64).reshape(-1, *(1,) * (slopes.ndim - 1))


def linear_terms(ramps: tuple[Ramp, ...], slopes: Floats, rows: Roles) -> tuple[LinearTerm, ...]:
    """Ramps with their slopes as a network has them."""
    typical = None if rows.coding is None else rows.coding.typical
    return tuple(
        LinearTerm(each.column, tuple(np.atleast_1d(slope).tolist()), each.low, each.high,
                   math.nan if typical is None else typical[each.column])
        for each, slope in zip(ramps, slopes, strict=True)
    )  # fmt: skip
