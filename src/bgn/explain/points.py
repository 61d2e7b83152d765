"""Whole points per question: a prediction that can be added up by hand, and stored as it is added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import floor, gcd, log10
from typing import Any, ClassVar

import numpy as np

from bgn.explain.arguments import probabilities_of
from bgn.explain.crossings import after_last
from bgn.model.network import Network
from bgn.model.numbers import EXACT, rounded, written
from bgn.model.step import Floats
from bgn.theory import regions

# Start and unit get the fewest digits, up to three of the unit, that raise the squared error by at most this share.
_SPARE = 0.001
# Figures that differ by no more than this share are the same: processors round exponentials and sums otherwise.
SAME = 1e-8


def first_least(losses: Floats) -> int:
    """Return the place of the first loss that is least, or as good as that."""
    least = losses.min()
    return int(np.argmax(losses <= least + SAME * abs(least)))


def in_order(losses: Floats) -> list[int]:
    """Return the places of losses, the least first; the first of those that are as good as equal."""
    return sorted(range(len(losses)), key=lambda k: float(f"{losses[k]:.7e}"))


def in_lowest_terms(points: Floats) -> Floats:
    """Return whole points divided by what divides them all: five questions of three points each are of one each."""
    return points / max(gcd(*points.astype(np.int64).ravel().tolist()), 1)


def best_points(found: Sequence[tuple[float, Floats]]) -> Floats:
    """Return, in lowest terms, the points of the least loss; of several such the smallest."""
    told = [(loss, in_lowest_terms(points)) for loss, points in found]
    told.sort(key=lambda each: (float(np.abs(each[1]).sum()), each[1].ravel().tolist()))
    return told[first_least(np.array([loss for loss, _ in told]))][1]


def with_amounts(network: Network, amounts: Sequence[Decimal], start: Decimal) -> Network:
    """Return the network whose last neurons add these amounts to `start`, the lowest prediction there is.

    A negative amount is added where its neuron does not fire. Every number that is stored, an amount's half or the
    base, is the float nearest to its decimal. Neurons that add nothing are gone.
    """
    keep = [neuron for neuron, amount in enumerate(amounts) if amount]
    with localcontext(EXACT):
        halves = [amounts[neuron] / 2 for neuron in keep]
        base = start + sum(map(abs, halves))
    layers = [*network.layers[:-1], network.layers[-1].only(np.array(keep, np.int64))]
    return network.changed(layers=layers, output_weights=[float(half) for half in halves], base=float(base))


def asking_weights(network: Network) -> Floats:
    """Return the output weights, 0 for neurons that read nothing: they are part of the base."""
    asks = [bool(neuron.projection.columns) for neuron in network.layers[-1].neurons]
    return np.where(asks, network.output_weights, 0.0)


def rounding_power(steps: Floats, digits: int) -> int | None:
    """Return the power of ten to which amounts are rounded so that the largest has so many digits; None for none."""
    largest = float(np.abs(steps).max(initial=0.0))
    return floor(log10(largest)) - digits + 1 if largest else None


@dataclass(frozen=True, eq=False)
class SquaredError:
    """What is lost on rows whose target is a number.

    `signs` are those that the amounts of the last layer's questions must have, 0 for either: what a model was told that
    its predictions do as columns rise.
    """

    rows: Floats
    target: Floats
    signs: Floats | None = None
    measure: ClassVar[str] = "mean squared error"

    def of(self, network: Network) -> float:
        """Return the mean squared error of a network."""
        return float(np.mean((network.predict(self.rows) - self.target) ** 2))

    def rounded(self, network: Network, digits: int) -> Network:
        """Return the network with amounts (twice the weights) rounded to one decimal place, and its start refitted."""
        steps = 2.0 * asking_weights(network)
        power = rounding_power(steps, digits)
        if power is None:
            return network
        amounts = [written(rounded(step, power)) for step in steps.tolist()]
        from_zero = with_amounts(network, amounts, written(0.0))
        start = float(np.mean(self.target - from_zero.predict(self.rows)))
        return with_amounts(network, amounts, written(rounded(start, power)))

    def points(self, network: Network, most: int) -> Network:
        """Return the network whose amounts are whole multiples, up to `most`, of one unit."""
        return fit_points(network, self.rows, self.target, most, self.signs)


def fit_points(network: Network, rows: Floats, target: Floats, most: int, signs: Floats | None = None) -> Network:
    """Return the network whose amounts are whole multiples, up to `most`, of one unit; start and unit are short.

    Where `signs` says so, of that sign or none.

    Points start from the output weights rounded to every unit that fits, and then change by one at a time while the
    squared error falls.
    """
    fires = (network.hidden(rows) > 0).astype(np.float64)
    centred, residual = fires - fires.mean(axis=0), target - target.mean()
    gram, moment = centred.T @ centred, centred.T @ residual
    weights = asking_weights(network)
    largest = float(np.abs(weights).max(initial=0.0))
    starts = [
        np.clip(np.rint(weights / largest * scale), -most, most)
        for scale in np.linspace(0.6, most, 10 * most)
        if largest > 0
    ]
    starts = starts or [np.zeros(fires.shape[1])]
    first = first_least(np.array([-_explained(each, gram, moment) for each in starts]))
    points = in_lowest_terms(_climb(starts[first], gram, moment, most, signs))
    start, unit = _short_line(np.where(points < 0, 1.0 - fires, fires) @ np.abs(points), target)
    with localcontext(EXACT):
        amounts = [int(each) * unit for each in points]
    return with_amounts(network, amounts, start)


def _short_line(totals: Floats, target: Floats) -> tuple[Decimal, Decimal]:
    """Return the start and the unit, both short, of the line from totals to the target; the unit is not below 0."""
    centred, mean = totals - totals.mean(), float(target.mean())
    variance = float(centred @ centred)
    slope = max(float(centred @ target) / variance, 0.0) if variance > 0 else 0.0
    least = float(np.sum((target - mean - slope * centred) ** 2))
    scale = slope or float(target.std())
    if scale == 0.0:
        return written(mean), Decimal(0)
    first, longest = floor(log10(scale)), floor(log10(abs(mean))) - 13 if mean else -400
    for power in range(max(first, longest), max(first - 2, longest) - 1, -1):
        unit = rounded(slope, power)
        start = rounded(float(np.mean(target - unit * totals)), power)
        if np.sum((target - start - unit * totals) ** 2) <= (1.0 + _SPARE) * least:
            break
    return written(start), written(unit)


def _explained(points: Floats, gram: Floats, moment: Floats) -> float:
    """Return the root of how much of the sum of squares these points explain with their best unit, a positive one."""
    variance = points @ gram @ points
    slope = points @ moment
    return float(slope / np.sqrt(variance)) if variance > 0 and slope > 0 else 0.0


def turned_round(points: Floats, signs: Floats | None) -> Any:
    """Return which of several rows of points have one of the wrong sign."""
    if signs is None:
        return np.zeros(len(points), dtype=bool)
    return (points * signs < 0).any(axis=1)


def _climb(points: Floats, gram: Floats, moment: Floats, most: int, signs: Floats | None) -> Floats:
    """Change points by one, best change first, while they explain more."""
    best = _explained(points, gram, moment)
    while True:
        trials: list[Floats] = []
        for neuron in range(len(points)):
            for change in (-1.0, 1.0):
                trial = points.copy()
                trial[neuron] += change
                if abs(trial[neuron]) <= most and not turned_round(trial[np.newaxis], signs)[0]:
                    trials.append(trial)
        if not trials:
            return points
        explained = np.array([_explained(trial, gram, moment) for trial in trials])
        k = first_least(-explained)
        if explained[k] <= best * (1 + SAME):
            return points
        best, points = float(explained[k]), trials[k]


# -- Whole points per question for classes: a score that is added up by hand, and the probabilities it stands for.

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
    start, unit = _short_logistic_line(_totals(points, judged.fires), judged.counts)
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


def _short_logistic_line(totals: Floats, counts: Floats) -> tuple[Decimal, Decimal]:
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


# -- Whole points per question and class, where there are more than two: the class of the most points is predicted.


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


# -- Rows by their answers: what the search for whole points sees of a table, however many rows it has.

# Half of what counts is what was seen, half what the network expects: points then keep its shrinkage.
EXPECTED = 0.5
# Start and unit get the fewest digits, up to three of the unit, that raise the log loss by at most this share.
SPARE = 0.001
# Scales from which points are polished, the best of many.
STARTS = 4
NEWTON_STEPS = 25
# Most numbers that are held at a time.
BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by their answers in the last layer.

    Attributes
    ----------
    fires : ndarray, shape (cells, neurons)
        1 where a neuron fires, else 0.
    counts : ndarray, shape (cells, classes)
        How many rows of each class, smoothed: in part those seen, in part those that the network expects.
    """

    fires: Floats
    counts: Floats


def cells_of(network: Network, rows: Floats, codes: Floats, n_classes: int, expected: float = EXPECTED) -> Cells:
    """Return the cells of rows of known classes; `expected` is the share of what the network says."""
    found = regions(network, rows)[-1]
    counts = np.zeros((len(found), n_classes))
    np.add.at(counts, (found.index, codes.astype(np.intp)), 1.0)
    totals, mass = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    smooth = (1.0 / (totals + n_classes))[:, np.newaxis] + np.diag(totals / (totals + n_classes))
    told = probabilities_of(network, after_last(network, found.patterns.astype(np.float64)))
    return Cells((found.patterns > 0).astype(np.float64), (1.0 - expected) * (counts @ smooth) + expected * mass * told)
