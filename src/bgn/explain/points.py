"""Whole points per rule: a prediction that can be added up by hand, and stored as it is added up.

What every rule adds where it holds (:attr:`bgn.model.network.Network.gains`) becomes a whole number of points of one
unit. Points are chosen by descent from rounded gains, changing the rule that helps most, while the loss falls: for
numbers the squared error; for two classes the log loss of the best line from totals to log-odds; for several classes
that of the best unit. Start and unit are then as short as that costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import floor, gcd, log10
from typing import Any, ClassVar

import numpy as np

from bgn.explain.arguments import probabilities_of
from bgn.explain.shap import term_worth
from bgn.model.network import Network
from bgn.model.numbers import EXACT, rounded, written
from bgn.model.step import Floats
from bgn.theory import regions

# Start and unit get the fewest digits, up to three of the unit, that raise the loss by at most this share.
_SPARE = 0.001
# Figures that differ by no more than this share are the same: processors round exponentials and sums otherwise.
SAME = 1e-8
# Half of what counts is what was seen, half what the network expects: points then keep its shrinkage.
_EXPECTED = 0.5
# Rules up to which two change at a time.
_PAIRS = 16
# Scales from which points are polished, the best of many.
_STARTS = 4
_NEWTON_STEPS = 25
# Most numbers that are held at a time.
_BLOCK = 1 << 22


# -- What is lost, and what rounding and points do about it.


@dataclass(frozen=True, eq=False)
class SquaredError:
    """What is lost on rows whose target is a number.

    `signs` are those that the gains of the rules must have, 0 for either: what the model guarantees as columns rise.
    """

    rows: Floats
    target: Floats
    signs: Floats | None = None
    measure: ClassVar[str] = "mean squared error"

    def of(self, network: Network) -> float:
        """Return the mean squared error of a network."""
        return float(np.mean((network.predict(self.rows) - self.target) ** 2))

    def rounded(self, network: Network, digits: int) -> Network:
        """Return the network with gains rounded to one decimal place, and its start refitted."""
        gains = np.where(_reading(network)[:, np.newaxis], network.gains, 0.0)
        power = _power(gains, digits)
        if power is None:
            return network
        short = [[written(rounded(gain, power)) for gain in own] for own in gains.tolist()]
        with localcontext(EXACT):
            resting = -sum((min(own[0], Decimal(0)) for own in short), Decimal(0))  # of a lowest score of 0
            start = float(np.mean(self.target - with_gains(network, short, [resting]).predict(self.rows)))
            return with_gains(network, short, [written(rounded(start, power)) + resting])

    def points(self, network: Network, most: int) -> Network:
        """Return the network whose gains are whole multiples, up to `most`, of one unit."""
        holds = term_worth(network, self.rows)
        centered, residual = holds - holds.mean(axis=0), self.target - self.target.mean()
        gram, moment = centered.T @ centered, centered.T @ residual
        gains = np.where(_reading(network), network.gains[:, 0], 0.0)

        def losses(trials: Floats, points: Floats | None = None) -> Floats:
            return np.array([-_explained(trial, gram, moment) for trial in trials])

        def trials(points: Floats) -> Floats:
            changed = np.repeat(points[np.newaxis], 2 * len(points), axis=0)
            changed[np.arange(len(changed)), np.arange(len(changed)) // 2] += np.tile([-1.0, 1.0], len(points))
            return changed[(np.abs(changed) <= most).all(axis=1) & _signed(changed, self.signs)]

        starts = _scaled(gains, np.linspace(0.6, most, 10 * most), most)
        first = starts[first_least(losses(starts))]
        points = in_lowest_terms(_descend(first, losses(first[np.newaxis])[0], trials, losses)[1])
        start, unit = _short_line(_totals(points, holds), self.target)
        return _with_line(network, points, start, unit)


@dataclass(frozen=True, eq=False)
class LogLoss:
    """What is lost on rows of known classes; probabilities fit these rows, or `others` where there are any.

    `linear` is what linear terms add to the scores of the rows, besides the network; `signs` are those that gains must
    have, as in :class:`SquaredError`.
    """

    rows: Floats
    codes: Floats
    others: tuple[Floats, Floats] | None = None
    linear: Floats | float = 0.0
    signs: Floats | None = None
    measure: ClassVar[str] = "log loss"

    def of(self, network: Network) -> float:
        """Return the mean log loss of a network."""
        scores = network.raw_score(self.rows) + self.linear
        if scores.ndim == 1:
            return float(np.mean(np.logaddexp(0.0, np.where(self.codes == 1, -scores, scores))))
        own = np.take_along_axis(scores, self.codes.astype(np.intp)[:, np.newaxis], axis=1)[:, 0]
        return float(np.mean(np.logaddexp.reduce(scores, axis=1) - own))

    def rounded(self, network: Network, digits: int) -> Network:
        """Return the network with gains and starts rounded to one decimal place."""
        power = _power(network.gains, digits)
        if power is None:
            return network
        short = [[written(rounded(gain, power)) for gain in own] for own in network.gains.tolist()]
        return with_gains(network, short, [written(rounded(start, power)) for start in network.resting_score.tolist()])

    def points(self, network: Network, most: int) -> Network:
        """Return the network whose gains are whole multiples, up to `most`, of one unit."""
        n_classes = max(2, network.n_outputs)
        cells = cells_of(network, self.rows, self.codes, n_classes)
        others = cells if self.others is None else cells_of(network, *self.others, n_classes, 0.0)
        if network.link == "logistic":
            points = _best_points(network.gains[:, 0], cells, _reading(network), most, self.signs)
            return _with_line(network, points, *_short_logistic_line(_totals(points, others.holds), others.counts))
        return _several_classes(network, cells, others, most)


def with_gains(network: Network, gains: Sequence[Sequence[Decimal]], resting: Sequence[Decimal]) -> Network:
    """Return the network whose rules, without those that add nothing, add these gains to the score where none holds.

    Every number that is stored, a weight or the intercept, is the float nearest to its decimal.
    """
    kept = [k for k, own in enumerate(gains) if any(own)]
    rules = [network.rules[k] for k in kept]
    with localcontext(EXACT):
        otherwise = [Decimal(int(rule.otherwise)) for rule in rules]
        coef = [[gain / (1 - other) for gain in gains[k]] for k, other in zip(kept, otherwise, strict=True)]
        intercept = [start - sum((own[k] * other for own, other in zip(coef, otherwise, strict=True)), Decimal(0))
                     for k, start in enumerate(resting)]  # fmt: skip
    weights = np.array([[float(value) for value in own] for own in coef]).reshape(len(kept), len(resting))
    return network.changed(terms=rules, coef=weights, intercept=[float(value) for value in intercept])


def _with_line(network: Network, points: Floats, start: Decimal, unit: Decimal) -> Network:
    """Return the network whose score is `start`, the lowest there is, and so many times the unit for every rule."""
    with localcontext(EXACT):
        gains = [int(own) * unit for own in points]
        lowest = start - sum((min(gain, Decimal(0)) for gain in gains), Decimal(0))
    return with_gains(network, [[gain] for gain in gains], [lowest])


def _reading(network: Network) -> Any:
    """Return which rules read a column; those that read none are part of the start."""
    return np.array([bool(rule.columns) for rule in network.rules], dtype=bool)


def _power(gains: Floats, digits: int) -> int | None:
    """Return the power of ten to which gains are rounded so that the largest has so many digits; None for none."""
    largest = float(np.abs(gains).max(initial=0.0))
    return floor(log10(largest)) - digits + 1 if largest else None


def _totals(points: Floats, holds: Floats) -> Floats:
    """Return the totals of rows; a rule of negative points counts where it does not hold."""
    return np.asarray(holds @ points - np.minimum(points, 0.0).sum())


# -- The descent, and which of several points are best.


def _descend(
    points: Floats, loss: float, trials_of: Callable[[Floats], Floats], losses_of: Callable[[Floats, Floats], Floats]
) -> tuple[float, Floats]:
    """Change points as the best trial does, while the loss falls."""
    while True:
        trials = trials_of(points)
        losses = losses_of(trials, points) if len(trials) else np.array([np.inf])
        k = first_least(losses)
        if not losses[k] < loss - SAME * abs(loss):
            return loss, points
        loss, points = float(losses[k]), trials[k]


def first_least(losses: Floats) -> int:
    """Return the place of the first loss that is least, or as good as that."""
    least = losses.min()
    return int(np.argmax(losses <= least + SAME * abs(least)))


def in_order(losses: Floats) -> list[int]:
    """Return the places of losses, the least first; the first of those that are as good as equal."""
    return sorted(range(len(losses)), key=lambda k: float(f"{losses[k]:.7e}"))


def in_lowest_terms(points: Floats) -> Floats:
    """Return whole points divided by what divides them all: five rules of three points each are of one each."""
    return points / max(gcd(*points.astype(np.int64).ravel().tolist()), 1)


def best_points(candidates: Sequence[tuple[float, Floats]]) -> Floats:
    """Return, in lowest terms, the points of the least loss; of several such the smallest."""
    lowest = [(loss, in_lowest_terms(points)) for loss, points in candidates]
    lowest.sort(key=lambda pair: (float(np.abs(pair[1]).sum()), pair[1].ravel().tolist()))
    return lowest[first_least(np.array([loss for loss, _ in lowest]))][1]


def _scaled(gains: Floats, scales: Floats, most: int) -> Floats:
    """Return gains as points of every scale."""
    largest = float(np.abs(gains).max(initial=0.0))
    if not largest:
        return np.zeros((1, *gains.shape))
    return np.array([np.clip(np.rint(gains / largest * scale), -most, most) for scale in scales])


def _signed(trials: Floats, signs: Floats | None) -> Any:
    """Return which of several rows of points have none of the wrong sign."""
    return np.ones(len(trials), dtype=bool) if signs is None else ~(trials * signs < 0).any(axis=1)


# -- Numbers: points that explain most of the variance, and a short line.


def _explained(points: Floats, gram: Floats, moment: Floats) -> float:
    """Return the root of how much of the sum of squares these points explain with their best unit, a positive one."""
    variance, product = points @ gram @ points, points @ moment
    return float(product / np.sqrt(variance)) if variance > 0 and product > 0 else 0.0


def _short_line(totals: Floats, target: Floats) -> tuple[Decimal, Decimal]:
    """Return the start and the unit, both short, of the line from totals to the target; the unit is not below 0."""
    centered, mean = totals - totals.mean(), float(target.mean())
    variance = float(centered @ centered)
    best = max(float(centered @ target) / variance, 0.0) if variance > 0 else 0.0
    least = float(np.sum((target - mean - best * centered) ** 2))
    scale = best or float(target.std())
    if scale == 0.0:
        return written(mean), Decimal(0)
    first, longest = floor(log10(scale)), floor(log10(abs(mean))) - 13 if mean else -400
    for power in range(max(first, longest), max(first - 2, longest) - 1, -1):
        unit = rounded(best, power)
        start = rounded(float(np.mean(target - unit * totals)), power)
        if np.sum((target - start - unit * totals) ** 2) <= (1.0 + _SPARE) * least:
            break
    return written(start), written(unit)


# -- Rows by the rules that hold: what the search sees of a dataset with classes, however many rows it has.


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by the rules that hold."""

    holds: Floats  # (cells, rules): 1 where a rule holds, else 0
    counts: Floats  # (cells, classes): rows of each class, in part those seen, in part those that the network expects


def cells_of(network: Network, rows: Floats, codes: Floats, n_classes: int, expected: float = _EXPECTED) -> Cells:
    """Return the cells of rows of known classes; `expected` is the share of what the network expects."""
    cells = regions(network, rows)[-1]
    counts = np.zeros((len(cells), n_classes))
    np.add.at(counts, (cells.index, codes.astype(np.intp)), 1.0)
    totals, mass = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    smooth = (1.0 / (totals + n_classes))[:, np.newaxis] + np.diag(totals / (totals + n_classes))
    holds = cells.patterns > 0
    scores = network.scores_where(holds.T, len(cells))
    chances = probabilities_of(network, scores if network.link == "softmax" else scores[:, 0])
    return Cells(holds.astype(np.float64), (1.0 - expected) * (counts @ smooth) + expected * mass * chances)


# -- Two classes: a score that is added up by hand, and the probabilities it stands for.


def _best_points(gains: Floats, cells: Cells, reading: Any, most: int, signs: Floats | None) -> Floats:
    """Return the whole points of the lowest log loss that the descents reach."""

    def losses(trials: Floats, points: Floats | None = None) -> Floats:
        return _losses(trials, cells)

    def trials(points: Floats) -> Floats:
        changed = _changed(points, np.flatnonzero(reading).tolist(), most)
        return changed[_signed(changed, signs)]

    starts = np.unique(_scaled(np.where(reading, gains, 0.0), np.linspace(0.6, 1.5 * most, 15 * most), most), axis=0)
    if not starts.any():
        return starts[0]
    first = losses(starts)
    return best_points([_descend(starts[k], float(losses(starts[k : k + 1])[0]), trials, losses)
                        for k in in_order(first)[:_STARTS]])  # fmt: skip


def _changed(points: Floats, places: list[int], most: int) -> Floats:
    """Return all points that differ in one rule, or by one in two where rules are few."""
    few, changes = len(places) <= _PAIRS, list[tuple[int, float, int, float]]()
    for place in places:
        values = range(-most, most + 1) if few else (points[place] - 1, points[place] + 1)
        changes += [(place, value, place, value) for value in values if value != points[place] and abs(value) <= most]
    for k, place in enumerate(places if few else ()):
        for second in places[:k]:
            for up, over in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                moved = points[place] + up, points[second] + over
                if max(map(abs, moved)) <= most:
                    changes.append((place, moved[0], second, moved[1]))
    trials = np.repeat(points[np.newaxis], len(changes), axis=0)
    for trial, (place, value, second, other) in zip(trials, changes, strict=True):
        trial[second], trial[place] = other, value
    return trials


def _losses(points: Floats, cells: Cells) -> Floats:
    """Return the log loss of each row of points with its own best start and unit."""
    at_once = max(1, _BLOCK // max(len(cells.holds), 1))
    blocks = (points[k : k + at_once].T for k in range(0, len(points), at_once))
    return np.concatenate([_logistic_lines(cells.holds @ block, cells.counts)[2] for block in blocks])


def _logistic_lines(totals: Floats, counts: Floats, unit: float | None = None) -> tuple[Floats, Floats, Floats]:
    """Return the starts and units of the lines from totals to log-odds, one per column of `totals`, and log losses.

    Newton's method on both, or, with `unit`, on the start alone; a step that does not lower the loss is halved.
    """
    no, yes = counts[:, 0], counts[:, 1]
    mass = no + yes
    center = mass @ totals / mass.sum()
    moved = totals - center
    std = np.sqrt(np.maximum(mass @ moved**2 / mass.sum(), 1e-300))
    moved /= std
    flat = std < 1e-9
    rise = np.zeros(totals.shape[1]) if unit is None else unit * std
    height = np.full(totals.shape[1], np.log(yes.sum() / no.sum()))

    def loss(height: Floats, rise: Floats) -> Floats:
        scores = height + rise * moved
        return np.asarray((yes @ np.logaddexp(0.0, -scores) + no @ np.logaddexp(0.0, scores)) / mass.sum())

    now, size = loss(height, rise), np.ones(totals.shape[1])
    for _ in range(_NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(height + rise * moved, -500.0, 500.0)))
        wrong = mass[:, np.newaxis] * chance - yes[:, np.newaxis]
        bend = mass[:, np.newaxis] * chance * (1.0 - chance)
        first, second = wrong.sum(axis=0), (wrong * moved).sum(axis=0)
        a, b, c = bend.sum(axis=0) + 1e-9, (bend * moved).sum(axis=0), (bend * moved**2).sum(axis=0) + 1e-9
        if unit is not None or flat.all():
            up, turn = first / a, np.zeros_like(first)
        else:
            det = np.maximum(a * c - b * b, 1e-300)
            up, turn = (c * first - b * second) / det, (a * second - b * first) / det
            up, turn = np.where(flat, first / a, up), np.where(flat, 0.0, turn)
        trial = loss(height - size * up, rise - size * turn)
        better = trial < now
        height, rise = np.where(better, height - size * up, height), np.where(better, rise - size * turn, rise)
        done = np.abs(now - trial) <= 1e-10 * now
        now, size = np.where(better, trial, now), np.where(better, 1.0, size / 2)
        if done.all():
            break
    units = rise / std
    return height - units * center, units, now


def _short_logistic_line(totals: Floats, counts: Floats) -> tuple[Decimal, Decimal]:
    """Return the start and the unit, both short, of the line from totals to log-odds; the unit is not below 0."""
    (start,), (best,), (least,) = _logistic_lines(totals[:, np.newaxis], counts)
    best = max(float(best), 0.0)
    if np.ptp(totals) == 0.0 or best == 0.0:
        (start,), _, _ = _logistic_lines(totals[:, np.newaxis], counts, 0.0)
        return written(rounded(float(start), -3)), Decimal(0)
    for power in range(floor(log10(best)), floor(log10(best)) - 3, -1):
        unit = rounded(best, power)
        short = rounded(float(_logistic_lines(totals[:, np.newaxis], counts, unit)[0][0]), power)
        scores = short + unit * totals
        lost = counts[:, 1] @ np.logaddexp(0.0, -scores) + counts[:, 0] @ np.logaddexp(0.0, scores)
        if lost / counts.sum() <= (1.0 + _SPARE) * least:
            break
    return written(short), written(unit)


# -- Several classes: the class of the most points is predicted.


def _several_classes(network: Network, cells: Cells, others: Cells, most: int) -> Network:
    """Return the network of several classes whose gains, and starts, are whole multiples of one unit.

    A rule has up to `most` points for or against each class. The class of the most points is predicted.
    """
    reading = _reading(network)
    gains = np.where(reading[:, np.newaxis], network.gains, 0.0)
    # What all classes get in the same way changes nothing.
    shift = (gains.max(axis=1, keepdims=True) + gains.min(axis=1, keepdims=True)) / 2.0
    otherwise = np.array([[rule.otherwise] for rule in network.rules]).reshape(-1, 1)
    start = network.intercept + ((gains - shift) * otherwise / (1.0 - otherwise)).sum(axis=0)
    wide = np.vstack([start - start.mean(), gains - shift])
    table, counts = np.column_stack([np.ones(len(cells.holds)), cells.holds]), cells.counts
    free = np.flatnonzero(np.append(True, reading)).tolist()

    def trials(points: Floats) -> Floats:
        places = [(row, column, change) for row in free for column in range(points.shape[1]) for change in (-1.0, 1.0)
                  if not row or abs(points[row, column] + change) <= most]  # fmt: skip
        changed = np.repeat(points[np.newaxis], len(places), axis=0)
        for trial, (row, column, change) in zip(changed, places, strict=True):
            trial[row, column] += change
        return changed

    def losses(trials: Floats, points: Floats) -> Floats:
        """Return the log losses of points that differ in one place from others."""
        totals, parts = table @ points, []
        at_once = max(1, _BLOCK // totals.size)
        for k in range(0, len(trials), at_once):
            block = trials[k : k + at_once]
            own = np.repeat(totals[np.newaxis], len(block), axis=0)
            for trial, row, column in np.argwhere(block != points):
                own[trial, :, column] += (block[trial, row, column] - points[row, column]) * table[:, row]
            parts.append(_softmax_unit(own, counts)[1])
        return np.concatenate(parts)

    largest = float(np.abs(wide[1:]).max(initial=0.0)) or float(np.abs(wide).max()) or 1.0
    starts = [np.rint(wide / largest * scale) for scale in np.linspace(0.6, 1.5 * most, 8 * most)]
    starts = [np.vstack([points[:1], np.clip(points[1:], -most, most)]) for points in starts]
    first = np.array([_softmax_unit((table @ points)[np.newaxis], counts)[1][0] for points in starts])
    candidates = [_descend(starts[k], float(first[k]), trials, losses) for k in in_order(first)[:_STARTS]]
    # The class that has the least starts from none.
    points = best_points([(loss, np.vstack([own[:1] - own[0].min(), own[1:]])) for loss, own in candidates])
    unit = _short_unit(np.column_stack([np.ones(len(others.holds)), others.holds]) @ points, others.counts)
    with localcontext(EXACT):
        starting, *scaled = [[int(value) * unit for value in own] for own in points]
    return with_gains(network, scaled, starting)


def _softmax_unit(totals: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return the best unit, and its log loss, for each table of totals, shape (tables, cells, classes)."""
    mass = counts.sum(axis=1)
    size = np.maximum(np.abs(totals).max(axis=(1, 2)), 1.0)
    moved = totals / size[:, np.newaxis, np.newaxis]
    unit, step = np.zeros(len(totals)), np.ones(len(totals))
    known = np.einsum("tck,ck->t", moved, counts)

    def evaluated(unit: Floats) -> tuple[Floats, Floats]:
        scores = moved * unit[:, np.newaxis, np.newaxis]
        highest = scores.max(axis=2, keepdims=True)
        odds = np.exp(scores - highest)
        total = odds.sum(axis=2, keepdims=True)
        lost = (np.log(total) + highest)[:, :, 0] @ mass - unit * known
        return lost / mass.sum(), odds / total

    now, chance = evaluated(unit)
    for _ in range(_NEWTON_STEPS):
        mean = (chance * moved).sum(axis=2)
        rise = mean @ mass - known
        bend = ((chance * moved**2).sum(axis=2) - mean**2) @ mass + 1e-9
        trial, chances = evaluated(np.maximum(unit - step * rise / bend, 0.0))
        better = trial < now
        unit = np.where(better, np.maximum(unit - step * rise / bend, 0.0), unit)
        done = np.abs(now - trial) <= 1e-10 * now
        chance = np.where(better[:, np.newaxis, np.newaxis], chances, chance)
        now, step = np.where(better, trial, now), np.where(better, 1.0, step / 2)
        if done.all():
            break
    return unit / size, now


def _short_unit(totals: Floats, counts: Floats) -> Decimal:
    """Return the unit of the fewest digits, up to three, that costs next to nothing."""
    (best,), (least,) = _softmax_unit(totals[np.newaxis], counts)
    if not best > 0.0:
        return Decimal(0)
    for power in range(floor(log10(best)), floor(log10(best)) - 3, -1):
        unit = rounded(float(best), power)
        scores = unit * totals
        lost = counts.sum(axis=1) @ np.logaddexp.reduce(scores, axis=1) - float(np.sum(counts * scores))
        if lost / counts.sum() <= (1.0 + _SPARE) * least:
            break
    return written(unit)
