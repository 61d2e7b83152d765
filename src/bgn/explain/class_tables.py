"""Whole points per question and class, where there are more than two: the class of the most points is predicted."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import floor, log10
from typing import Any

import numpy as np

from bgn.explain.class_cells import BLOCK, NEWTON_STEPS, SPARE, STARTS, Cells
from bgn.explain.points import SAME, best_points, first_least, in_order
from bgn.model.decimals import EXACT, rounded, written
from bgn.model.network import Network
from bgn.model.step import Floats


def fit_several(network: Network, cells: Cells, judged: Cells, most: int) -> Network:
    """Return the network of several classes whose amounts, and starts, are whole multiples of one unit.

    A question has up to `most` points for or against each class. The class of the most points is predicted.
    """
    asks = np.array([bool(neuron.projection.columns) for neuron in network.layers[-1].neurons], dtype=bool)
    weights = np.where(asks[:, np.newaxis], network.output_weights, 0.0)
    # What all classes get alike changes nothing.
    weights = weights - (weights.max(axis=1, keepdims=True) + weights.min(axis=1, keepdims=True)) / 2.0
    start = np.asarray(network.base) - weights.sum(axis=0)
    wide = np.vstack([start - start.mean(), 2.0 * weights])
    table = np.column_stack([np.ones(len(cells.fires)), cells.fires])
    free = np.append(True, asks)
    largest = float(np.abs(wide[1:]).max(initial=0.0)) or float(np.abs(wide).max()) or 1.0
    starts = [_limited(np.rint(wide / largest * scale), most) for scale in np.linspace(0.6, 1.5 * most, 8 * most)]
    losses = np.array([_softmax_unit((table @ each)[np.newaxis], cells.counts)[1][0] for each in starts])
    found = [_descend_table(starts[k], table, cells.counts, free, most) for k in in_order(losses)[:STARTS]]
    points = best_points([(loss, _from_nothing(each)) for loss, each in found])
    unit = _short_unit(np.column_stack([np.ones(len(judged.fires)), judged.fires]) @ points, judged.counts)
    return with_class_amounts(network, points, unit)


def _from_nothing(points: Floats) -> Floats:
    """Return the points with a start of none for the class that has the least."""
    return np.vstack([points[:1] - points[0].min(), points[1:]])


def _limited(points: Floats, most: int) -> Floats:
    """Return points of questions within the limit; those of the start are free."""
    return np.vstack([points[:1], np.clip(points[1:], -most, most)])


def _descend_table(points: Floats, table: Floats, counts: Floats, free: Any, most: int) -> tuple[float, Floats]:
    """Change one number of points by one, best change first, while the log loss falls."""
    totals = table @ points
    best = float(_softmax_unit(totals[np.newaxis], counts)[1][0])
    while True:
        tried = [
            (row, column, change)
            for row in np.flatnonzero(free).tolist() for column in range(points.shape[1]) for change in (-1.0, 1.0)
            if not row or abs(points[row, column] + change) <= most
        ]  # fmt: skip
        losses, at_once = [], max(1, BLOCK // totals.size)
        for k in range(0, len(tried), at_once):
            block = tried[k : k + at_once]
            trials = np.repeat(totals[np.newaxis], len(block), axis=0)
            for trial, (row, column, change) in zip(trials, block, strict=True):
                trial[:, column] += change * table[:, row]
            losses.append(_softmax_unit(trials, counts)[1])
        found = np.concatenate(losses)
        k = first_least(found)
        if not found[k] < best * (1 - SAME):
            return best, points
        row, column, change = tried[k]
        points = points.copy()
        points[row, column] += change
        totals, best = table @ points, float(found[k])


def _softmax_unit(totals: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return the best unit, and its log loss, for each table of totals, shape (tables, cells, classes)."""
    mass = counts.sum(axis=1)
    size = np.maximum(np.abs(totals).max(axis=(1, 2)), 1.0)
    moved = totals / size[:, np.newaxis, np.newaxis]
    unit, step = np.zeros(len(totals)), np.ones(len(totals))
    known = np.einsum("tck,ck->t", moved, counts)

    def judged(unit: Floats) -> tuple[Floats, Floats]:
        scores = moved * unit[:, np.newaxis, np.newaxis]
        highest = scores.max(axis=2, keepdims=True)
        odds = np.exp(scores - highest)
        total = odds.sum(axis=2, keepdims=True)
        lost = (np.log(total) + highest)[:, :, 0] @ mass - unit * known
        return lost / mass.sum(), odds / total

    now, chance = judged(unit)
    for _ in range(NEWTON_STEPS):
        mean = (chance * moved).sum(axis=2)
        slope = mean @ mass - known
        bend = ((chance * moved**2).sum(axis=2) - mean**2) @ mass + 1e-9
        tried, chances = judged(np.maximum(unit - step * slope / bend, 0.0))
        better = tried < now
        unit = np.where(better, np.maximum(unit - step * slope / bend, 0.0), unit)
        done = np.abs(now - tried) <= 1e-10 * now
        chance = np.where(better[:, np.newaxis, np.newaxis], chances, chance)
        now, step = np.where(better, tried, now), np.where(better, 1.0, step / 2)
        if done.all():
            break
    return unit / size, now


def _short_unit(totals: Floats, counts: Floats) -> Decimal:
    """Return the unit of the fewest digits, up to three, that costs next to nothing."""
    (best,), (least,) = _softmax_unit(totals[np.newaxis], counts)
    if not best > 0.0:
        return Decimal(0)
    first = floor(log10(best))
    for power in range(first, first - 3, -1):
        unit = rounded(float(best), power)
        scores = unit * totals
        lost = counts.sum(axis=1) @ np.logaddexp.reduce(scores, axis=1) - float(np.sum(counts * scores))
        if lost / counts.sum() <= (1.0 + SPARE) * least:
            break
    return written(unit)


def with_class_amounts(network: Network, points: Floats, unit: Decimal) -> Network:
    """Return the network whose scores are `unit` times whole points: a row of the start, then one per last neuron."""
    keep = [k for k, own in enumerate(points[1:]) if own.any() and unit]
    with localcontext(EXACT):
        halves = [[int(each) * unit / 2 for each in points[1 + k]] for k in keep]
        bases: list[Any] = [
            int(each) * unit + sum(half[column] for half in halves) for column, each in enumerate(points[0])
        ]
    layers = [*network.layers[:-1], network.layers[-1].only(np.array(keep, np.int64))]
    weights = np.array([[float(each) for each in half] for half in halves]).reshape(len(keep), points.shape[1])
    return network.changed(layers=layers, output_weights=weights, base=[float(each) for each in bases])
