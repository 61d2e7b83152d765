"""Whole points per question for classes: a score that is added up by hand, and the probabilities it stands for.

Rows that answer all questions alike are one cell, so the search sees a few cells, whatever the number of rows. Points
start from the output weights rounded to every scale that fits, and change while the log loss falls; the unit, and for
two classes the start, are fitted anew for every change that is tried. What is fitted are the counts of the classes,
smoothed as Platt (1999) does, or the unit of classes that are told apart without error would grow for ever, and in
equal parts what the network expects, or its shrinkage would be undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import floor, log10
from typing import Any, ClassVar

import numpy as np

from bgn.explain.class_cells import BLOCK, NEWTON_STEPS, SPARE, STARTS, Cells, cells_of
from bgn.explain.class_tables import fit_several
from bgn.explain.points import SAME, best_points, first_least, in_order, rounding_power, turned_round, with_amounts
from bgn.model.decimals import EXACT, rounded, written
from bgn.model.network import Network
from bgn.model.step import Floats

# Widths up to which two questions change at a time.
_PAIRS = 16


@dataclass(frozen=True, eq=False)
class LogLoss:
    """What is lost on rows of known classes; probabilities fit these rows, or `others` where there are any.

    `straight` is what slopes add to the scores of the rows, beside the network; `signs` are those that amounts must
    have, as in :class:`bgn.explain.points.SquaredError`.
    """

    rows: Floats
    codes: Floats
    others: tuple[Floats, Floats] | None = None
    straight: Floats | float = 0.0
    signs: Floats | None = None
    measure: ClassVar[str] = "log loss"

    def of(self, network: Network) -> float:
        """Return the mean log loss of a network."""
        return log_loss(network.raw_score(self.rows) + self.straight, self.codes)

    def rounded(self, network: Network, digits: int) -> Network:
        """Return the network with amounts (twice the weights) and starts rounded to one decimal place."""
        weights = network.output_weights.reshape(-1, np.size(network.base))
        power = rounding_power(2.0 * weights, digits)
        if power is None:
            return network
        with localcontext(EXACT):
            halves = [[written(rounded(2.0 * each, power)) / 2 for each in own] for own in weights.tolist()]
            starts = np.ravel(network.base) - weights.sum(axis=0)
            bases = [float(written(rounded(start, power)) + sum(half[k] for half in halves))
                     for k, start in enumerate(starts.tolist())]  # fmt: skip
        shape = network.output_weights.shape
        stored = np.array([[float(each) for each in half] for half in halves]).reshape(shape)
        return network.changed(output_weights=stored, base=bases if len(shape) == 2 else bases[0])

    def points(self, network: Network, most: int) -> Network:
        """Return the network whose amounts are whole multiples, up to `most`, of one unit."""
        n_classes = max(2, np.size(network.base))
        cells = cells_of(network, self.rows, self.codes, n_classes)
        judged = cells if self.others is None else cells_of(network, *self.others, n_classes, 0.0)
        if n_classes == 2 and network.link == "logistic":
            return fit_two(network, cells, judged, most, self.signs)
        return fit_several(network, cells, judged, most)


def log_loss(scores: Floats, codes: Floats) -> float:
    """Return the mean log loss of raw scores, of one output or of one per class."""
    if scores.ndim == 1:
        return float(np.mean(np.logaddexp(0.0, np.where(codes == 1, -scores, scores))))
    own = np.take_along_axis(scores, codes.astype(np.intp)[:, np.newaxis], axis=1)[:, 0]
    return float(np.mean(np.logaddexp.reduce(scores, axis=1) - own))


def fit_two(network: Network, cells: Cells, judged: Cells, most: int, signs: Floats | None = None) -> Network:
    """Return the network of two classes whose amounts are whole multiples, up to `most`, of one unit.

    Points are chosen on `cells`, start and unit on the rows `judged`.
    """
    asks = np.array([bool(neuron.projection.columns) for neuron in network.layers[-1].neurons], dtype=bool)
    weights = np.where(asks, network.output_weights, 0.0)
    points = _best_points(weights, cells, asks, most, signs)
    start, unit = _short_line(_totals(points, judged.fires), judged.counts)
    with localcontext(EXACT):
        amounts = [int(each) * unit for each in points]
    return with_amounts(network, amounts, start)


def _totals(points: Floats, fires: Floats) -> Floats:
    """Return the totals of cells; a question of negative points is asked the other way round."""
    return np.asarray(fires @ points - np.minimum(points, 0.0).sum())


def _best_points(weights: Floats, cells: Cells, asks: Any, most: int, signs: Floats | None) -> Floats:
    """Return the whole points of the lowest log loss that were found."""
    largest = float(np.abs(weights).max(initial=0.0))
    if largest == 0.0:
        return np.zeros(len(weights))
    scaled = np.array([np.clip(np.rint(weights / largest * scale), -most, most)
                       for scale in np.linspace(0.6, 1.5 * most, 15 * most)])  # fmt: skip
    starts = np.unique(scaled, axis=0)
    losses = _losses(starts, cells)
    return best_points([_descend(starts[k], cells, asks, most, signs) for k in in_order(losses)[:STARTS]])


def _descend(
    points: Floats, cells: Cells, asks: Any, most: int, signs: Floats | None
) -> tuple[float, Floats]:  # fmt: skip
    """Change the points of one question, or of two by one each, best change first, while the log loss falls."""
    best = float(_losses(points[np.newaxis], cells)[0])
    while True:
        trials = _changed(points, asks, most)
        trials = trials[~turned_round(trials, signs)]
        losses = _losses(trials, cells) if len(trials) else np.array([np.inf])
        k = first_least(losses)
        if not losses[k] < best * (1 - SAME):
            return best, points
        best, points = float(losses[k]), trials[k]


def _changed(points: Floats, asks: Any, most: int) -> Floats:
    """Return all points that differ in one question, or by one in two."""
    asked = np.flatnonzero(asks).tolist()
    near = range(-most, most + 1) if len(asked) <= _PAIRS else range(-1, 2)
    found = []
    for place in asked:
        for other in near if len(asked) <= _PAIRS else (points[place] - 1, points[place] + 1):
            if other != points[place] and abs(other) <= most:
                found.append((place, other, place, other))
    if len(asked) <= _PAIRS:
        for k, place in enumerate(asked):
            for second in asked[:k]:
                for up, over in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                    moved = points[place] + up, points[second] + over
                    if max(map(abs, moved)) <= most:
                        found.append((place, moved[0], second, moved[1]))
    trials = np.repeat(points[np.newaxis], len(found), axis=0)
    for trial, (place, value, second, other) in zip(trials, found, strict=True):
        trial[second], trial[place] = other, value
    return trials


def _losses(points: Floats, cells: Cells) -> Floats:
    """Return the log loss of each row of points with its own best start and unit."""
    at_once = max(1, BLOCK // max(len(cells.fires), 1))
    parts = [_line(cells.fires @ points[k : k + at_once].T, cells.counts)[2] for k in range(0, len(points), at_once)]
    return np.concatenate(parts)


def _line(totals: Floats, counts: Floats, unit: float | None = None) -> tuple[Floats, Floats, Floats]:
    """Return the starts and units of the lines from totals to log-odds, one per column of `totals`, and log losses.

    Newton's method on both, or, with `unit`, on the start alone; a step that does not lower the loss is halved.
    """
    no, yes = counts[:, 0], counts[:, 1]
    mass = no + yes
    centre = mass @ totals / mass.sum()
    moved = totals - centre
    spread = np.sqrt(np.maximum(mass @ moved**2 / mass.sum(), 1e-300))
    moved /= spread
    flat = spread < 1e-9
    slope = np.zeros(totals.shape[1]) if unit is None else unit * spread
    height = np.full(totals.shape[1], np.log(yes.sum() / no.sum()))
    free = unit is None

    def loss(height: Floats, slope: Floats) -> Floats:
        scores = height + slope * moved
        return np.asarray((yes @ np.logaddexp(0.0, -scores) + no @ np.logaddexp(0.0, scores)) / mass.sum())

    now, size = loss(height, slope), np.ones(totals.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(height + slope * moved, -500.0, 500.0)))
        wrong = mass[:, np.newaxis] * chance - yes[:, np.newaxis]
        bend = mass[:, np.newaxis] * chance * (1.0 - chance)
        first, second = wrong.sum(axis=0), (wrong * moved).sum(axis=0)
        a, b, c = bend.sum(axis=0) + 1e-9, (bend * moved).sum(axis=0), (bend * moved**2).sum(axis=0) + 1e-9
        if not free or flat.all():
            up, turn = first / a, np.zeros_like(first)
        else:
            det = np.maximum(a * c - b * b, 1e-300)
            up, turn = (c * first - b * second) / det, (a * second - b * first) / det
            up, turn = np.where(flat, first / a, up), np.where(flat, 0.0, turn)
        tried = loss(height - size * up, slope - size * turn)
        better = tried < now
        height, slope = np.where(better, height - size * up, height), np.where(better, slope - size * turn, slope)
        done = np.abs(now - tried) <= 1e-10 * now
        now, size = np.where(better, tried, now), np.where(better, 1.0, size / 2)
        if done.all():
            break
    units = slope / spread
    return height - units * centre, units, now


def _short_line(totals: Floats, counts: Floats) -> tuple[Decimal, Decimal]:
    """Return the start and the unit, both short, of the line from totals to log-odds; the unit is not below 0."""
    (start,), (slope,), (least,) = _line(totals[:, np.newaxis], counts)
    slope = max(float(slope), 0.0)
    if np.ptp(totals) == 0.0 or slope == 0.0:
        (start,), _, _ = _line(totals[:, np.newaxis], counts, 0.0)
        return written(rounded(float(start), -3)), Decimal(0)
    first = floor(log10(slope))
    for power in range(first, first - 3, -1):
        unit = rounded(slope, power)
        short = rounded(float(_line(totals[:, np.newaxis], counts, unit)[0][0]), power)
        scores = short + unit * totals
        lost = counts[:, 1] @ np.logaddexp(0.0, -scores) + counts[:, 0] @ np.logaddexp(0.0, scores)
        if lost / counts.sum() <= (1.0 + SPARE) * least:
            break
    return written(short), written(unit)
