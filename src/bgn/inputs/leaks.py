"""Columns that alone predict nearly all of a target: mostly the target again, or something known only after it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgn.inputs.survey import SurveyedColumn, sample
from bgn.model.step import Floats

NEARLY_ALL = 0.98
"""Share of the target's variance, on rows held out, from which a column counts as a leak."""
_SAME_ORDER = 0.9999
_FEWEST, _BINS, _MOST_CLASSES = 40, 64, 20


def leaks(columns: list[SurveyedColumn], target: SurveyedColumn) -> dict[str, float]:
    """Return the columns from which alone the target follows, with the share of its variance that each explains."""
    rows = sample(target.rows)
    rows = rows[target.codes[rows] >= 0]
    outputs = _outputs(target, rows)
    if len(rows) < _FEWEST or outputs is None:
        return {}
    found = {}
    for column in columns:
        if column.name == target.name or len(column.levels) < 2:
            continue
        share = explained(_cells(column, rows), outputs)
        if share < NEARLY_ALL and _same_order(column, target, rows):
            share = 1.0
        if share >= NEARLY_ALL:
            found[column.name] = share
    return found


def _outputs(target: SurveyedColumn, rows: NDArray[np.int64]) -> Floats | None:
    """Return what is to be predicted: a number, or one 0/1 column per class; nothing when it does not vary."""
    codes = target.codes[rows]
    if target.is_number:
        numbers = target.numbers[rows][:, None]
        outputs = numbers / max(float(np.abs(numbers).max(initial=0)), 1e-300)  # squares that a float can hold
    elif target.is_text and len(target.levels) <= _MOST_CLASSES:
        outputs = (codes[:, None] == np.arange(len(target.levels))).astype(float)
    else:
        return None
    return outputs if len(np.unique(codes)) > 1 else None


def _cells(column: SurveyedColumn, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a cell per row: its level, or the bin of a number that has many."""
    codes = column.codes[rows]
    if len(column.levels) <= _BINS:
        return codes + 1
    if not column.is_number:
        return np.unique(codes, return_inverse=True)[1]
    numbers = column.numbers[rows]
    edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.where(np.isnan(numbers), 0, np.searchsorted(edges, numbers, side="right") + 1)


def explained(cells: NDArray[np.int64], outputs: Floats) -> float:
    """Return the share of the variance of the second half that the cells' means in the first half explain."""
    half = len(cells) // 2
    count, base = np.bincount(cells[:half], minlength=int(cells.max()) + 1), outputs[:half].mean(axis=0)
    error = variance = 0.0
    for k, output in enumerate(outputs.T):
        sums = np.bincount(cells[:half], output[:half], len(count))
        means = np.where(count > 0, sums / np.maximum(count, 1), base[k])
        error += float(np.square(output[half:] - means[cells[half:]]).sum())
        variance += float(np.square(output[half:] - output[half:].mean()).sum())
    return 1 - error / variance if variance > 0 else 0.0


def _same_order(column: SurveyedColumn, target: SurveyedColumn, rows: NDArray[np.int64]) -> bool:
    """Return whether a number rises, or falls, with the target all along: a transformation of it."""
    if not (column.is_number and target.is_number) or min(len(column.levels), len(target.levels)) <= 2:
        return False
    ours, theirs = column.numbers[rows], target.numbers[rows]
    both = ~np.isnan(ours)
    if np.count_nonzero(both) < max(_FEWEST, len(rows) // 2):
        return False
    ranks = np.array([_ranks(values[both]) for values in (ours, theirs)])
    return bool(ranks.std(axis=1).min() > 0 and abs(np.corrcoef(ranks)[0, 1]) >= _SAME_ORDER)


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value; equal values share the middle of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - count / 2)[place])
