"""The direction that minimises the paper's Eq. (2) itself, as far as a search can tell.

The best cut of every single column, the debiased direction, and pairs of columns at several angles compete. They
are screened on tables of a sample of rows, the best are cut exactly, the winner's angle is refined. Coefficients
are rounded to three digits before anything is cut: what the equation prints is what the network uses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from bgn.engines.coding import n_columns_read
from bgn.engines.memory import MemoryEngine
from bgn.engines.protocol import BITS, CutRequest, Floats, Integers, Output
from bgn.grow.constraints import NO_CONSTRAINTS, Constraints
from bgn.grow.directions.lasso import InnerProducts, direction_of, rounded, short
from bgn.grow.directions.pairs import ANGLE_STEP, ANGLES, Pairs, SingleLines, Subsets, bins_of, largest, logarithm, turn
from bgn.grow.directions.protocol import Others, RatedDirection
from bgn.grow.directions.screen import Lines, Refit, SampledRows, rate_directions, share_among_threads
from bgn.grow.rows import RowSets
from bgn.model.term import Projection

_MOST_IN_PAIRS = 12  # columns, those that gain most alone
_MOST_USED = 4  # but for these, which most rules read: alone they may have nothing left to gain
_MOST_ANSWERS = 192  # the same, where columns are the answers of a layer
_SINGLES, _PAIRS = 4, 8  # how many of each are judged more closely
_TURNED = 2  # of the best, how many are tried at other angles
_MOST_JOINT = 200  # rules: beyond, a rule is judged as if the others stayed as they are: much quicker,
_CLOSELY, _LASTING = 3, 0.2  # unless this many of the best promise less than this share when the others are refitted
_MOST_REQUESTS = 12  # rules worth putting to all rows, the most promising first
_DIGITS = 3  # of coefficients, by default
_DIRECTIONS_PER_THREAD = 3
_SLIGHTLY = [ANGLE_STEP * share for share in (-0.25, -0.125, -0.06, 0.06, 0.125, 0.25)]
_WITH_MISSING = (
    3  # columns that gain most alone: where one has a missing value, each of the others may be asked otherwise
)


class Search:
    """Single columns, pairs at several angles and the debiased direction, the largest gain first."""

    def __init__(
        self, rows: RowSets, max_features: int, digits: int | None = None, simplicity: float = 0.0,
        constraints: Constraints = NO_CONSTRAINTS,
    ) -> None:  # fmt: skip
        assert rows.sample is not None
        self._digits, self._simplicity, self._constraints = digits or _DIGITS, simplicity, constraints
        self._rows, self._most = rows, max_features
        self._sample, self._part = rows.sample, rows.sample.part
        self._share = partial(share_among_threads, rows.sample.part)
        columns, coding = self._part.columns, rows.coding
        self._n_columns = len(columns) if coding is None else coding.n_columns
        weight = self._part.weight if len(self._part.weight) else np.ones(self._part.n_rows, np.int64)
        bins = bins_of(rows.sample, coding)
        self._subsets, coarse = None, bins.coarse
        if coding is not None and coding.subsets:
            self._subsets = Subsets(coding, columns, weight, rows.unit)
            columns = columns.astype(np.float64)
            columns[list(coding.subsets)] = 0.0
            coarse = replace(coarse, codes=coarse.codes.copy())  # of these columns they change
        self._columns = columns
        subsets = () if coding is None else coding.subsets
        numbers = (np.arange(len(columns)) < self._n_columns) | (max_features <= 2)
        numbers[list(subsets)] = False
        self._products = InnerProducts(rows.sample, numbers)
        usable = np.sort([*np.flatnonzero(self._products.usable).tolist(), *subsets]).astype(np.int64)
        self._owner = [*range(self._n_columns), *(() if coding is None else coding.marked)]
        self._usable = np.unique([self._owner[j] for j in usable]).astype(np.int64)
        self._paired = usable[usable < self._n_columns]
        self._may_pair = np.isin(np.arange(len(columns)), self._paired).tolist()
        self._lines = SingleLines(bins, coding, rows.train, self._constraints)
        self._wanted = self._constraints.of_all(range(len(columns)))
        self._free = not self._constraints.signed and self._constraints.groups is None
        self._pairs = Pairs(coarse, self._part.weight, self._share, self._wanted)
        self._scales: list[float] = self._pairs.binned.scale.tolist()
        self._answers = None if self._part.below is None else AnswerPairs(columns, weight)
        self._used: dict[int, tuple[int, ...]] = {}
        self._two_values = bins.two_values
        self._flags = [values == [0.0, 1.0] for values in self._two_values]

    def learn(self, slot: int, direction: Projection) -> None:
        self._products.learn(slot)
        self._used[slot] = direction.columns

    def strength(self, output: Output) -> float:
        """What the best cut of a single column gains on the sample."""
        values, total = self._values(output)
        singles = self._lines.gains(values, self._sample.total, total, self._share)
        self._choose_categories(values, total, singles)
        return float(singles.max(initial=0.0))

    def propose(self, output: Output, others: Others) -> list[CutRequest]:
        """The best rules about the residual that `output` leaves, as a sample of rows sees them."""
        if len(self._usable) == 0:
            return []
        quick = others if len(others.slots) <= _MOST_JOINT else others.staying()
        best = self._best(output, quick)
        if quick is not others and not self._last(output, others, best):
            best = self._best(output, others)
        spelled = (lambda line: line) if self._subsets is None else self._subsets.spelled
        return [
            CutRequest(output, spelled(direction.projection), direction.window) for direction in best[:_MOST_REQUESTS]
        ]

    def _last(self, output: Output, others: Others, best: Sequence[RatedDirection]) -> bool:
        """Whether what the best promise holds when the others are refitted, too, at least in good part."""
        values, total = self._values(output)
        chance, some = (
            self._chance(output, others, values, total),
            [direction.projection for direction in best[:_CLOSELY]],
        )
        closely = self._rate(output, others, chance, some, NO_CHANCE)
        return bool(closely) and closely[0].score > _LASTING * best[0].score

    def _best(self, output: Output, others: Others) -> list[RatedDirection]:
        values, total = self._values(output)
        chance = self._chance(output, others, values, total)
        chance_gains = chance_gains_in(
            self._sample, output, total, self._rows.unit, len(self._usable), self._subsets, others.total
        )
        singles = self._lines.gains(values, self._sample.total, total, self._share)
        self._choose_categories(values, total, singles)
        best_of, lines = self._lines.best(singles)
        candidates = [self._lines.lines[lines[j]] for j in self._usable[largest(best_of[self._usable], _SINGLES)]]
        ranked = self._paired[largest(singles[self._paired], _MOST_ANSWERS)]
        if self._most > 1 and len(ranked) > 1:
            if self._answers is not None:
                candidates += self._answers.best(np.sort(ranked[:_MOST_ANSWERS]), values, _PAIRS)
            else:
                pairs = [*combinations(self._worth_pairing(ranked).tolist(), 2), *self._pairs_with_missing(candidates)]
                candidates += self._best_pairs(self._constraints.pairs(pairs), values, total)
        fitted = self._debiased(output) if self._most > 1 and len(ranked) > 1 else []
        best = self._rate(output, others, chance, candidates, chance_gains, fitted)
        turned = [direction.projection for direction in best[:_TURNED] if self._asks(direction.projection) == 2]
        if turned and self._answers is None:
            finer = [other for direction in turned for other in self._turned(direction)]
            best = sorted(
                [*best, *self._rate(output, others, chance, finer, chance_gains)],
                key=lambda direction: -direction.score,
            )
        while best and 2 <= self._asks(best[0].projection) < self._most and not self._marks(best[0].projection):
            wider = self._rate(output, others, chance, self._extended(best[0].projection, values, total), chance_gains)
            if not wider or wider[0].score - best[0].score <= 0.01 * abs(best[0].score):
                break
            best = [wider[0], *best]
        return best

    def _asks(self, direction: Projection) -> int:
        return n_columns_read(direction, self._rows.coding)

    def _marks(self, direction: Projection) -> bool:
        """True for a direction that asks for missing values."""
        return direction.columns[-1] >= self._n_columns

    def _choose_categories(self, values: Integers, total: int, singles: Floats) -> None:
        """Ask for those categories of every category that gain most, as if each were a column of 0 and 1."""
        if self._subsets is None:
            return
        self._subsets.choose(values, self._sample.total, total)
        chosen = zip(self._subsets.columns, self._subsets.codes, self._subsets.chosen(), strict=True)
        for j, codes, categories in chosen:
            chosen_rows = categories[codes]
            self._columns[j] = chosen_rows
            self._pairs.rewrite(j, chosen_rows)
        singles[list(self._subsets.columns)] = self._subsets.gains

    # -- on the sample -------------------------------------------------------------------------------------

    def _values(self, output: Output) -> tuple[Integers, int]:
        values = self._part.residual(output)
        if len(self._part.weight):
            values = values * self._part.weight
        return values, int(values.sum())

    def _rate(
        self, output: Output, others: Others, chance: Floats, picked: Sequence[Projection], chance_gains: ChanceGains,
        fitted: Sequence[Projection] = (),
    ) -> list[RatedDirection]:  # fmt: skip
        """What each direction promises, the largest promise first, and where on it the cut should be. A promise is the
        gain, without what `chance` explains, less the luck there is in picking the best of many; there is none in
        directions that were fitted."""
        first_fitted = len(directions := [*filter(self._may_ask, dict.fromkeys(picked))])
        directions += filter(self._may_ask, fitted)
        if not directions:
            return []
        size = np.array([len(direction.columns) for direction in directions])
        widest = int(size.max())
        index = np.array([direction.columns + (0,) * (widest - len(direction.columns)) for direction in directions])
        coefficients = np.array(
            [direction.factors + (0.0,) * (widest - len(direction.columns)) for direction in directions]
        )
        ends = coefficients[:, :, None] * self._pairs.binned.reach[index]
        reach = np.stack([ends.min(axis=2).sum(axis=1), ends.max(axis=2).sum(axis=1)], axis=1)
        n_rules = len(self._sample.output.weights) if len(others.slots) else 0  # number of rules refitted jointly
        part = self._part
        sampled = SampledRows(self._columns, part.residual(output), part.weight, part.codes, BITS)
        refit = Refit(others.slots, others.inverse, float(others.total), others.ridge, chance, self._least(others))
        ratings = np.empty((len(directions), 3))
        wanted = np.zeros(len(directions), np.int64)
        if not self._free:
            wanted[:] = [self._constraints.sign(direction) or 0 for direction in directions]

        def rate(some: slice) -> None:
            lines = Lines(index[some], coefficients[some], size[some], reach[some], wanted[some])
            rate_directions(sampled, lines, n_rules, refit, ratings[some])

        self._share(rate, len(directions), _DIRECTIONS_PER_THREAD)
        rated = [
            RatedDirection(
                self._score_of(gain, direction, chance_gains if k < first_fitted else NO_CHANCE), direction, (low, high)
            )
            for k, (direction, (gain, low, high)) in enumerate(zip(directions, ratings.tolist(), strict=True))
            if gain > 0
        ]
        return sorted(rated, key=lambda direction: -direction.score)

    def _may_ask(self, direction: Projection) -> bool:
        return self._sample.can_project(direction) and (self._free or self._constraints.sign(direction) is not None)

    def _score_of(self, gain: float, direction: Projection, chance_gains: ChanceGains) -> float:
        """What a direction gains beyond luck; several columns count for less, where simple rules are preferred."""
        several = self._asks(direction) > 1
        beyond = gain - chance_gains.of(direction, several)
        return beyond * (1.0 - self._simplicity if several and beyond > 0 else 1.0)

    def _chance(self, output: Output, others: Others, values: Integers, total: int) -> Floats:
        """The weights that would explain what the constant and the other rules leave of themselves in the sample. Least
        squares on all rows leaves nothing of them there, but by chance something in a sample. Without this, a rule that
        the others nearly answer would promise much and give nothing."""
        if self._sample.total == others.total:
            return np.zeros(len(others.slots) + 1)
        fired = self._part.fired_sums(values, len(self._sample.output.weights) if len(others.slots) else 0)
        left = np.append(total, 2 * fired[others.slots] - total) * (others.total / self._sample.total)
        left[1:] -= others.penalty * output.along()[others.slots]
        return np.asarray((others.inverse * left).sum(axis=1))

    def _least(self, others: Others) -> float:
        """What a rule holds that the others do not, as far as the sample can tell it from nothing."""
        rows = self._sample.total
        return max(1e-3, 4 * math.sqrt((1 - rows / others.total) * self._rows.unit / rows)) * others.total

    def _worth_pairing(self, ranked: Integers) -> Integers:
        """The columns that gain most alone, and those that most rules read."""
        if len(ranked) <= _MOST_IN_PAIRS:
            return np.sort(ranked)
        n_rules = len(self._sample.output.weights)  # slots beyond it were given up
        used_now = chain.from_iterable(columns for slot, columns in self._used.items() if slot < n_rules)
        uses = Counter(j for j in used_now if self._may_pair[j])
        most_used = sorted(uses, key=lambda j: (-uses[j], j))[:_MOST_USED]
        return np.sort(list(dict.fromkeys([*most_used, *ranked.tolist()]))[:_MOST_IN_PAIRS])

    def _pairs_with_missing(self, singles: Sequence[Projection]) -> list[tuple[int, int]]:
        """Pairs of a column and the marks of another's missing values, of those that gain most alone."""
        coding = self._rows.coding
        if coding is None or not coding.marked:
            return []
        top = [coding.owner(direction.columns[0]) for direction in singles[:_WITH_MISSING]]
        return [(j, coding.mark_of(k)) for j in top for k in top if j != k and k in coding.marked]

    def _best_pairs(self, pairs: list[tuple[int, int]], values: Integers, total: int) -> list[Projection]:
        if not pairs:
            return []
        rows = self._sample.total
        screened = self._pairs.best(np.array(pairs), values, rows, total)
        screened = screened.at(np.argsort(-screened.gains, kind="stable")[:_PAIRS])
        angles = self._pairs.near(screened, rows, total).tolist()
        return [
            self._direction(a, b, *turn(angle)) for (a, b), angle in zip(screened.pairs.tolist(), angles, strict=True)
        ]

    def _direction(self, a: int, b: int, x: float, y: float) -> Projection:
        """The direction with these weights of two columns in units of their spread; the larger becomes 1. Beside a
        column of 0 and 1 the other's becomes 1: the rule has one threshold for each of the two."""
        if self._even(a, b):
            return Projection((a, b), (1.0, math.copysign(1.0, x * y)))
        ratio = self._scales[a] / self._scales[b]
        flags = self._flags[a], self._flags[b]
        if flags == (False, True) if any(flags) else abs(x) >= abs(y):
            other = y / x * ratio if x else 0.0
            return Projection((a, b), (1.0, short(other, self._digits))) if _usable(other) else Projection((a,), (1.0,))
        other = x / y / ratio if ratio and y else 0.0
        return Projection((a, b), (short(other, self._digits), 1.0)) if _usable(other) else Projection((b,), (1.0,))

    def _even(self, a: int, b: int) -> bool:
        """True for two columns of two values with steps of one size, of which sum and difference say it all. Another
        angle would ask "both?" or "either?" in odder words; but a third column may need it to join."""
        first, second = self._two_values[a], self._two_values[b]
        if self._most > 2 or self._answers is not None or first is None or second is None:
            return False
        (low, high), (left, right) = first, second
        return bool(low + right == high + left and low - left == high - right)

    def _debiased(self, output: Output) -> list[Projection]:
        direction = self._products.in_units(self._products.debiased(output, self._most))
        if direction is None:
            return []
        if len(direction.columns) == 2 and self._even(*direction.columns):
            x, y = self._in_scales(direction)
            alone = Projection((direction.columns[abs(y) > abs(x)],), (1.0,))
            return [self._direction(*direction.columns, x, y), alone]
        return [rounded(direction, self._digits)]

    def _in_scales(self, direction: Projection) -> tuple[float, float]:
        """The weights of two columns in units of their spread, the larger of them 1 or -1."""
        (a, b), (x, y) = direction.columns, direction.factors
        x, y = x * self._scales[a], y * self._scales[b]
        larger = max(abs(x), abs(y))
        return (x / larger, y / larger) if _usable(larger) else (1.0, 0.0)

    def _turned(self, direction: Projection) -> list[Projection]:
        (a, b), (x, y) = direction.columns, self._in_scales(direction)
        turns = [turn(angle) for angle in _SLIGHTLY]
        return [self._direction(a, b, x * cos - y * sin, x * sin + y * cos) for cos, sin in turns]

    def _extended(self, direction: Projection, values: Integers, total: int) -> list[Projection]:
        """The direction with one more column, at the angle with the highest screened gain."""
        line = sum(
            c * self._columns[j].astype(np.float64) for j, c in zip(direction.columns, direction.factors, strict=True)
        )
        together, columns_read = self._constraints.together, direction.columns
        others = np.array([j for j in self._paired if j not in columns_read and together((*columns_read, j))])
        if len(others) == 0:
            return []
        table = self._pairs.binned.with_column(np.asarray(line))
        pairs = np.stack([np.full(len(others), len(table.codes) - 1), others], axis=1)
        wanted = np.append(self._wanted, self._constraints.sign(direction) or 0)
        screened = Pairs(table, self._part.weight, self._share, wanted).best(pairs, values, self._sample.total, total)
        directions = []
        for k in np.argsort(-screened.gains, kind="stable")[:_PAIRS]:
            cos, sin = turn(screened.angles.item(k))
            extra = sin / cos * table.scale[-1] / table.scale[others[k]]
            if math.isfinite(extra) and extra != 0:
                columns, coefficients = (*direction.columns, int(others[k])), (*direction.factors, extra)
                directions.append(rounded(direction_of(columns, coefficients), self._digits))
        return directions


def _usable(coefficient: float) -> bool:
    return coefficient != 0.0 and math.isfinite(coefficient)


# -- What chance alone lets rules seem to gain, when the best of many is picked.

_STEPS = 1 << 14


@dataclass(frozen=True)
class ChanceGains:
    """What single columns, pairs, and the categories of each category seem to gain by chance."""

    single: float = 0.0
    pair: float = 0.0
    categories: Mapping[int, float] = field(default_factory=dict)

    def of(self, direction: Projection, several: bool) -> float:
        """What there is in one direction."""
        chosen = sum(self.categories.get(j, 0.0) for j in direction.columns) if self.categories else 0.0
        return (self.pair if several else self.single) + chosen


NO_CHANCE = ChanceGains()


def chance_gains_in(
    sample: MemoryEngine, output: Output, total: int, unit: float, columns: int, subsets: Subsets | None, weight: int
) -> ChanceGains:
    """What chance lets the best of all single columns, and of all pairs at all angles, seem to gain. On noise, the
    largest of K gains is about ``2 log K`` times the variance. The more rows there are, the less of a residual is
    noise: chance fades above 500 rows and is gone at 1,500. What there is in choosing some categories of a column never
    fades. `total` is the sum of the residuals, `unit` the weight of one row, `weight` that of all."""
    rows, part = sample.total, sample.part
    share = min(max(1.5 - rows / unit / 1000, 0.0), 1.0)
    if share == 0.0 and subsets is None:
        return NO_CHANCE
    residual = part.residual(output)
    largest = max(1, int(np.abs(residual).max(initial=0)))
    whole = np.rint(residual * (_STEPS / largest)).astype(np.int64)  # whole, so that order does not matter
    squares = int((whole * whole * (part.weight if len(part.weight) else 1)).sum())
    step, mean = largest / _STEPS, total / rows
    variance = (squares / rows * (step * step) - mean * mean) * unit
    categories = {} if subsets is None else subsets.chance_gains()
    variance, among_categories = variance * share, variance * (weight / rows)
    pairs = 2 * logarithm(max(1, columns * (columns - 1) // 2 * ANGLES)) * variance
    return ChanceGains(
        2 * logarithm(columns) * variance, pairs, {j: gain * among_categories for j, gain in categories.items()}
    )


# -- Pairs of yes/no columns: which two answers of a layer, taken together, explain a residual best.

_EXACT = 53  # bits of a whole number that a float64 holds


class AnswerPairs:
    """Counts of every pair of +-1 columns. Two answers make four groups of rows, and each of them can be cut off from
    the other three: "a and b", "a and not b" and so on. The sums of all groups come from one matrix product of whole
    numbers that float64 holds exactly, so they do not depend on the order of the rows."""

    def __init__(self, columns: NDArray[np.int8], weight: Integers) -> None:
        self._yes = (columns > 0).astype(np.float64)
        self._weight = weight.astype(np.float64)
        self._count = (self._yes * self._weight) @ self._yes.T
        self._total = float(weight.sum())

    def best(self, columns: Integers, values: Integers, most: int) -> list[Projection]:
        """The pairs among `columns` with the largest gain, the largest first; `values` are weighted residuals."""
        shift = max(0, int(np.abs(values).sum()).bit_length() - _EXACT)
        whole = (values >> shift).astype(np.float64)
        yes = self._yes[columns]
        both = (yes * whole) @ yes.T
        count = self._count[np.ix_(columns, columns)]
        alone, number, everything = np.diag(both), np.diag(count), float(whole.sum())
        mean = everything / self._total
        same = np.maximum(
            self._gain(count, both, mean),
            self._gain(
                self._total - number[:, None] - number + count, everything - alone[:, None] - alone + both, mean
            ),
        )
        opposite = self._gain(number[:, None] - count, alone[:, None] - both, mean)
        opposed = np.maximum(opposite, opposite.T)
        rows, others = np.triu_indices(len(columns), 1)
        gains = np.maximum(same, opposed)[rows, others]
        directions = []
        for k in np.argsort(-gains, kind="stable")[:most]:
            a, b = int(rows[k]), int(others[k])
            sign = 1.0 if same[a, b] >= opposed[a, b] else -1.0
            directions.append(Projection((int(columns[a]), int(columns[b])), (1.0, sign)))
        return directions

    def _gain(self, count: Floats, sums: Floats, mean: float) -> Floats:
        """What cutting groups off gains, up to a factor; nothing where a group is empty or everything."""
        excess = sums - count * mean
        weight_product = count * (self._total - count)
        return np.where(weight_product > 0, excess * excess / np.maximum(weight_product, 1.0), 0.0)
