"""Effects of one or two features as what they are: steps and cells, with no grid.

The effect of a feature is its partial dependence: the mean prediction over a background when the feature is set to a
value in every row. A network is constant between thresholds, so the effect of a number is a step function whose
breakpoints are known to the last bit; that of a category has one value per level. So is the mean of a probability over
the background, which is not the probability of the mean score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgn.explain.crossings import add_steps, mean_steps, crossings, factor, lines_in_plane, walks
from bgn.explain.shap import SortedColumns, coalition_counts, mixed_answers
from bgn.explain.arguments import (
    background_of,
    class_number,
    column_of,
    columns_of,
    value_if_missing,
    mean_predictions,
    refuse_dataset,
    predicted_of,
    prediction_title,
    score_of,
)
from bgn.model.link import bounded
from bgn.model.network import Network
from bgn.model.readings import as_told, network_of, outputs_of
from bgn.model.schema import Column, category_name
from bgn.model.step import Floats, any_output
from bgn.model.term import Linear
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular

# -- The effect of one feature: steps, and a straight line beside them.


@dataclass(frozen=True, eq=False)
class Effect(Tabular):
    """A step function of one feature, and a straight line beside it where the network has a linear term of it.

    Attributes
    ----------
    column : Column
        The feature, as in the network's schema; `feature` is its name.
    breakpoints : ndarray, shape (steps,)
        The first value of every new level, in order; for a category the number of the value in ``column.categories``.
    levels : ndarray, shape (steps + 1,)
        Mean prediction below the first breakpoint, from it on, and so forth.
    missing : float or None
        Mean prediction when the feature has a gap; None where the network refuses a gap in it.
    target : str or None
        What the levels are means of: the target's name, "probability of ..." or "log-odds of ...".
    linear : Linear or None
        The feature's linear term, which is not in the levels; calling the effect, and `missing`, include it.
    linear_coef : float
        Its weight.
    standard_error : ndarray, shape (steps + 1,), or None
        Of the levels, in an average; None where a straight line is beside them, along which it varies: see `errors`.
    each : tuple of Effect
        The effects in the networks of an average.
    bends : ndarray, shape (steps + 1,), or None
        Where a linear term is cut off by bounds: by how much the effect rises per unit behind every breakpoint, at
        which it has its level; there is no `linear` term then. Before the first it is what it would be at 0.
    """

    column: Column
    breakpoints: Floats
    levels: Floats
    missing: float | None = None
    target: str | None = None
    linear: Linear | None = None
    linear_coef: float = 0.0
    standard_error: Floats | None = None
    bends: Floats | None = None
    each: tuple[Effect, ...] = ()

    @property
    def bent(self) -> bool:
        """True where there is more than steps, here or in a network of an average."""
        return any(one.linear is not None or one.bends is not None for one in (self, *self.each))

    @property
    def nothing(self) -> bool:
        """True where every value of the feature, and a gap, has the same mean prediction, as one that is not used."""
        alike = self.missing is None or math.isclose(self.missing, self.levels[0], rel_tol=1e-12)
        return not self.bent and len(self.levels) == 1 and alike

    def _columns(self) -> Columns:
        mean = f"mean {self.target}" if self.target else "mean prediction"
        if self.column.categories is not None:
            levels = np.array(self.column.categories, dtype=object)
            words, means = list(map(category_name, self.column.categories)), self(levels).tolist()
            gap = self.missing is not None
            return {self.feature: [*words, *["missing"] * gap], mean: [*means, *[self.missing] * gap]}
        told: dict[str, Any] = {f"{self.feature} from": [-np.inf, *self.breakpoints.tolist()]}
        told[mean] = self.levels.tolist()
        if self.linear is not None:
            told["and per unit"] = [self.linear_coef] * len(self.levels)
        elif self.bends is not None:
            told["and per unit"] = self.bends.tolist()
        if self.standard_error is not None:
            told["standard error"] = self.standard_error.tolist()
        return told

    @property
    def feature(self) -> str:
        """Name of the column."""
        return self.column.name

    def straight(self, values: Floats) -> Floats:
        """Return what the linear term adds at values of the column, or the bends behind breakpoints; zero where there
        is none."""
        if self.bends is not None:
            piece = np.searchsorted(self.breakpoints, values, side="right")
            return self.rise(piece, values)
        return np.zeros(np.shape(values)) if self.linear is None else self.linear_coef * self.linear.between(values)

    def rise(self, piece: NDArray[np.int64], values: Floats) -> Floats:
        """Return what bends add at values on pieces, by their numbers."""
        assert self.bends is not None
        return np.asarray(self.bends[piece] * (values - np.append(0.0, self.breakpoints)[piece]))

    def __call__(self, values: ArrayLike) -> Floats:
        """Return the mean prediction when the feature is set to each of `values`."""
        codes = encoded(self.column, values, None if self.missing is None else np.nan)
        found = self.levels[np.searchsorted(self.breakpoints, codes, side="right")] + self.straight(codes)
        return found if self.missing is None else np.where(np.isnan(codes), self.missing, found)

    def errors(self, values: ArrayLike) -> Floats:
        """Return the standard errors of the mean prediction at each of `values`, from the networks of an average."""
        if len(self.each) < 2:
            raise ValueError("errors need an average of several networks, whose effects differ; fit with ensemble=8.")
        return np.std([one(values) for one in self.each], axis=0, ddof=1)

    def __repr__(self) -> str:
        steps = f"{len(self.breakpoints)} step{'s' * (len(self.breakpoints) != 1)}"
        if self.linear is not None:
            return f"Effect({self.feature}: {steps}, {self.linear_coef:.6g} per unit)"
        if self.nothing:
            return f"Effect({self.feature}: none, {self.levels[0]:.6g} whatever its value)"
        return f"Effect({self.feature}: {steps}, from {self.levels.min():.6g} to {self.levels.max():.6g})"


def encoded(column: Column, values: ArrayLike, gap: float | None) -> Floats:
    """Return values of one column as the network reads them, a gap as `gap`; None refuses gaps."""
    if column.categories is None:
        codes = np.asarray(values, dtype=np.float64)
        words: Any = codes
    else:
        words = np.asarray(values, dtype=object)
        codes = column.codes(words.ravel()).reshape(words.shape)
    missing = np.isnan(codes)
    if missing.any() and gap is None:
        known = "finite numbers" if column.categories is None else "among " + ", ".join(map(repr, column.categories))
        raise ValueError(f"values of {column.name!r} must be {known}; got {words[missing].ravel()[0]!r}.")
    return np.where(missing, gap, codes) if gap is not None else codes


@dataclass(frozen=True, eq=False)
class PairEffect(Tabular):
    """The effect of two features: ``base + first(a) + second(b) + joint(a, b)``.

    Attributes
    ----------
    base : float
        What neither feature changes.
    first, second : Effect
        Neurons that read one of the two and not the other; in a deeper network all is joint.
    lines : ndarray, shape (lines, 3)
        For two numbers, the joint part changes where ``lines[:, 0] * a + lines[:, 1] * b`` crosses ``lines[:, 2]``.
    network : Network
        What the effect is of.
    background : ndarray, shape (any number of rows, features)
        The rows over which the other columns vary, as the network reads them.
    number : int or None
        Of classes, the one whose probability is meant; 0 for a number within bounds. All of it is then joint. None for
        a score, or a number without bounds.
    """

    base: float
    first: Effect
    second: Effect
    lines: Floats
    network: Network
    background: Floats
    number: int | None = None

    def _columns(self) -> Columns:
        drawn = self.background[:, [self.network.names.index(name) for name in self.features]]
        ends = []
        for part, column in zip((self.first, self.second), drawn.T, strict=True):
            values = column[~np.isnan(column)]
            deciles = np.unique(np.quantile(values, np.linspace(0.0, 1.0, 11))).tolist() if len(values) else []
            ends.append(list(part.column.categories) if part.column.categories is not None else deciles)
        pairs = [(a, b) for a in ends[0] for b in ends[1]]
        first, second = [a for a, _ in pairs], [b for _, b in pairs]
        of_words = [np.array(each, dtype=object if each and isinstance(each[0], str) else None)
                    for each in (first, second)]  # fmt: skip
        return {self.features[0]: first, self.features[1]: second, "mean prediction": self(*of_words).tolist()}

    @property
    def features(self) -> tuple[str, str]:
        """Names of the columns."""
        return self.first.feature, self.second.feature

    def __call__(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the mean prediction when the features are set to each pair of values (shapes broadcast)."""
        return self.base + self.first(first) + self.second(second) + self.joint(first, second)

    def joint(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the part that neurons reading both features add, at each pair of values (shapes broadcast)."""
        pair = [self.network.names.index(name) for name in self.features]
        parts = zip(pair, (self.first, self.second), (first, second), strict=True)
        a, b = np.broadcast_arrays(*(encoded(part.column, each, value_if_missing(self.network, j)) for j, part, each in parts))
        if self.number is not None:
            pairs = np.column_stack([a.ravel(), b.ravel()])
            return mean_predictions(self.network, self.number, pair, pairs, self.background).reshape(a.shape)
        deep = self.network.depth > 1
        neurons = list(range(self.network.widths[-1])) if deep else _readers(self.network, pair, every=True)
        found = _means_at(self.network, neurons, pair, np.column_stack([a.ravel(), b.ravel()]), self.background)
        return ((self.network.base if deep else 0.0) + found).reshape(a.shape)

    def cells(self, bounds: ArrayLike | None = None, whole: bool = False) -> list[Cell]:
        """Return the convex polygons on which the joint part is constant.

        Parameters
        ----------
        bounds : array_like, shape (2, 2), optional
            Lowest and highest value of the first feature, then of the second; the background's by default.
        whole : bool, default False
            Cut by the steps of `first` and `second` too, and give the whole effect as level.

        Returns
        -------
        list of Cell
        """
        for part in (self.first, self.second):
            if part.column.categories is not None:
                raise ValueError(f"cells need two columns of numbers; {part.feature!r} is a category. Call the effect.")
        if bounds is None:
            drawn = self.background[:, [self.network.names.index(name) for name in self.features]]
            bounds = np.column_stack([np.nanmin(drawn, axis=0), np.nanmax(drawn, axis=0)])
        box = np.asarray(bounds, dtype=np.float64)
        if box.shape != (2, 2) or not (box[:, 0] < box[:, 1]).all():
            raise ValueError(f"bounds must be two pairs, lowest then highest; got {box.tolist()}.")
        lines = self.lines
        columns = {term.column for term in self.network.linear}
        if self.number is not None and columns & {self.network.names.index(name) for name in self.features}:
            raise ValueError("cells need questions; a feature has a linear term, cut off by bounds. Call the effect.")
        if whole and any(part.linear is not None for part in (self.first, self.second)):
            raise ValueError("whole must be False where a feature has a linear term: no level holds on a whole cell.")
        if whole:
            upright = [(1.0, 0.0, value) for value in self.first.breakpoints]
            level = [(0.0, 1.0, value) for value in self.second.breakpoints]
            lines = np.concatenate([lines, np.array(upright + level).reshape(-1, 3)])
        polygons = arrangement(box, lines)
        centres = np.array([polygon.mean(axis=0) for polygon in polygons])
        levels = (self if whole else self.joint)(centres[:, 0], centres[:, 1])
        return [Cell(polygon, float(level)) for polygon, level in zip(polygons, levels, strict=True)]

    def __repr__(self) -> str:
        return f"PairEffect({' x '.join(self.features)}: {len(self.lines)} joint lines)"


@through_pipelines("background")
def effect(
    model: Any, feature: Any, background: Any = None, *, of: Any = None, scale: str | None = None
) -> Effect | PairEffect:
    """Return the exact effect of a feature, or of a pair, on the prediction.

    Parameters
    ----------
    model : Network or fitted estimator
    feature : str, int, or a pair of them
        The column or columns: numbers, whose effect steps, or categories, which have one value per level.
    background : array_like or frame
        Rows over which the other columns vary; all are used. May be left out when the model has ``background_``.
    of : label, optional
        Of classes, the one whose probability or score is meant; of two the second by default.
    scale : {"probability", "score"}, optional
        With classes, what is averaged over the background: the probability, or the score, for two classes the log-odds.
        By default the probability, but of a feature with a linear term the score: a probability follows it along a
        curve. Where predictions have bounds, "score" leaves these aside.

    Returns
    -------
    Effect or PairEffect

    Examples
    --------
    >>> from bgn import Layer, Network, effect
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> background = [[1.0, 1.0], [3.0, 1.0], [0.0, 9.0]]
    >>> rooms = effect(network, "rooms", background)
    >>> rooms.breakpoints
    array([-4.,  2.,  4.])
    >>> rooms.levels.round(2)
    array([1.5 , 1.83, 3.83, 4.5 ])
    >>> effect(network, ("rooms", "age"), background)(2.0, [3.0, 2.0])
    array([4.5, 3.5])
    >>> effect(network.changed(link="logistic"), "age", background).levels.round(4)
    array([0.8686, 0.8747, 0.9102, 0.9458])
    """
    network = as_told(network_of(model, plain=False))
    refuse_dataset(feature)
    rows = background_of(model, network, background)
    if network.link == "identity" and scale is not None and (network.bounds is None or scale != "score"):
        raise ValueError(f"scale is for classes; the model predicts a number. Leave it out; got {scale!r}.")
    if scale not in (None, "probability", "score"):
        raise ValueError(f"scale must be 'probability' or 'score'; got {scale!r}.")
    score = score_of(network, of)
    if network.link == "identity":
        return effect_over(score if scale == "score" else network, feature, rows)
    several = isinstance(feature, Iterable) and not isinstance(feature, str)
    asked = columns_of(network, feature if several else [feature], "feature")
    straight = any(term.column in asked for term in network.linear)
    if scale == "score" or (scale is None and straight):
        return with_errors(network, lambda one: _effect_over(score_of(one, of), feature, rows))
    if straight:
        raise ValueError("scale must be 'score' for a feature with a linear term: probabilities follow it on a curve.")
    number = 1 if of is None else class_number(network, of, "of")
    return effect_over(network, feature, rows, number)


def effect_over(network: Network, feature: Any, rows: Floats, number: int | None = None) -> Effect | PairEffect:
    """Return the effect of a feature, or of a pair, over background rows as the network reads them.

    On the number that is predicted, or on the probability of the class `number`.
    """
    if network.bounds is not None:
        number = 0
    return with_errors(network, lambda one: _effect_over(one, feature, rows, number))


def _effect_over(network: Network, feature: Any, rows: Floats, number: int | None = None) -> Effect | PairEffect:
    """Return the effect of a feature, or of a pair."""
    if isinstance(feature, Iterable) and not isinstance(feature, str):
        pair = [column_of(network, each, "feature") for each in feature]
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"feature must be one column or two different ones; got {feature!r}.")
        return _pair_effect(network, pair, rows, number)
    if number is not None:
        return _probability_effect(network, column_of(network, feature, "feature"), rows, number)
    neurons, column = np.flatnonzero(network.output_weights).tolist(), column_of(network, feature, "feature")
    return _effect(network, neurons, column, rows, network.base + _others(network, [column], rows))


def _others(network: Network, columns: list[int], rows: Floats) -> float:
    """Return the mean that the linear terms of all other columns add."""
    pairs = zip(network.linear, network.linear_coef[:, 0].tolist(), strict=True)
    return sum((weight * float(term.values(rows).mean()) for term, weight in pairs if term.column not in columns), 0.0)


def _readers(network: Network, columns: list[int], every: bool) -> list[int]:
    """Return the first-layer neurons that read every one, or any, of the columns."""
    read = network.layers[0].reads[:, columns]
    reads = read.all(axis=1) if every else read.any(axis=1)
    if network.depth == 1:
        reads &= any_output(network.output_weights)
    return [int(neuron) for neuron in np.flatnonzero(reads)]


def _means_at(network: Network, neurons: list[int], columns: list[int], values: Floats, background: Floats) -> Floats:
    """Return the mean that last-layer neurons add over the background when columns have each row of `values`."""
    rows, total = np.zeros((len(values), network.n_inputs)), np.zeros(len(values))
    rows[:, columns] = values
    if network.depth > 1:
        return network.output_weights[neurons] @ mixed_answers(network, columns, rows, background)[neurons]
    table, drawn = SortedColumns(rows), SortedColumns(background)
    for k in neurons:
        neuron = network.layers[0].neurons[k]
        coalition = sum(1 << place for place, column in enumerate(neuron.projection.columns) if column in columns)
        counts = coalition_counts(neuron, coalition, table, drawn)
        total += network.output_weights[k] * (2.0 * counts / len(background) - 1.0)
    return total


def _effect(network: Network, neurons: list[int], column: int, rows: Floats, base: float) -> Effect:
    """Return the effect of a column through some neurons of the last layer, added to `base`."""
    kind, missing = network.schema.columns[column], None
    if kind.categories is not None:
        points = np.arange(max(len(kind.categories), 1), dtype=np.float64)
        levels = base + _means_at(network, neurons, [column], points[:, np.newaxis], rows)
    elif network.depth > 1 and neurons:
        points, levels = _walked(network, column, rows)
        levels = levels + (base - network.base)
    else:
        points, levels = _counted(network, neurons, column, rows, base)
    gap = value_if_missing(network, column)
    if gap is not None:
        missing = base + float(_means_at(network, neurons, [column], np.array([[gap]]), rows)[0])
    linear, coef = linear_of(network, column)
    if linear is not None and missing is not None:
        missing += coef * float(linear.between(np.array([np.nan if gap is None else gap]))[0])
    found = _stepping(kind, points, levels, missing, network.target_name)
    return replace(found, linear=linear, linear_coef=coef)


def linear_of(network: Network, column: int) -> tuple[Linear | None, float]:
    """Return the linear term of a column and its weight; None and 0 where it has none."""
    pairs = zip(network.linear, network.linear_coef[:, 0].tolist(), strict=True)
    return next(((term, weight) for term, weight in pairs if term.column == column), (None, 0.0))


def _stepping(
    kind: Column, points: Floats, levels: Floats, missing: float | None, target: str | None
) -> Effect:
    """Return an effect from where it may step, and its levels."""
    changed = np.diff(levels) != 0
    return Effect(kind, points[1:][changed], levels[np.append(True, changed)], missing, target)


def _probability_effect(network: Network, column: int, rows: Floats, number: int) -> Effect:
    """Return the effect of a column on the probability of a class, or on a number within bounds."""
    kind = network.schema.columns[column]
    if kind.categories is not None:
        points = np.arange(max(len(kind.categories), 1), dtype=np.float64)
        levels = mean_predictions(network, number, [column], points[:, np.newaxis], rows)
    else:
        places, scores = walks(network, column, rows)
        for term, weights in zip(network.linear, network.linear_coef, strict=True):
            if term.column != column:
                slopes: Any = weights if scores.ndim > 2 else weights[0]
                scores += np.multiply.outer(term.values(rows), slopes)[:, np.newaxis]
        if any(term.column == column for term in network.linear):  # of a number within bounds
            return bent_effect(network, column, places, scores, _missing(network, column, rows, number))
        found = predicted_of(network, number, scores.reshape(-1, *scores.shape[2:]))
        points, levels = mean_steps(places, found.reshape(scores.shape[:2]))
    missing = _missing(network, column, rows, number)
    return _stepping(kind, points, levels, missing, prediction_title(network, number))


def _missing(network: Network, column: int, rows: Floats, number: int) -> float | None:
    """Return the mean prediction where a column has a gap; None where that is refused."""
    gap = value_if_missing(network, column)
    return None if gap is None else float(mean_predictions(network, number, [column], np.array([[gap]]), rows)[0])


def _counted(network: Network, neurons: list[int], column: int, rows: Floats, base: float) -> tuple[Floats, Floats]:
    """Return where the effect of a number through neurons of one layer may step, and its levels, counted exactly."""
    layer, m = network.layers[0], len(rows)
    moving = [neuron for neuron in neurons if layer.reads[neuron, column]]
    still = [neuron for neuron in neurons if not layer.reads[neuron, column]]
    found = {neuron: np.sort(crossings(layer.neurons[neuron], column, rows)) for neuron in moving}
    every = np.unique(np.concatenate([[], *found.values()]))
    points = np.concatenate([[-np.inf], every[np.isfinite(every)]])
    firing = (layer.only(still).fire(rows) > 0).sum(axis=0)
    levels = np.full(len(points), base + network.output_weights[still] @ (2.0 * firing / m - 1.0))
    for neuron in moving:
        rising = factor(layer.neurons[neuron], column) > 0
        add_steps(found[neuron], points, rising, network.output_weights[neuron], levels)
    return points, levels


def _walked(network: Network, column: int, rows: Floats) -> tuple[Floats, Floats]:
    """Return where the effect of a number in a deeper network may step, and its levels: the mean of the rows' steps."""
    return mean_steps(*walks(network, column, rows))


def _pair_effect(network: Network, pair: list[int], rows: Floats, number: int | None) -> PairEffect:
    """Return the effect of two columns; in a deeper network, and on what is no sum, all of it is joint."""
    deep = network.depth > 1 or number is not None
    joint = _readers(network, pair, every=not deep)
    score = outputs_of(network)[0]
    score = score if number is None else score.with_linear()  # all is joint
    parts, lines, base = [], [np.empty((0, 3))], _others(score, pair, rows)
    for column in pair:
        alone = [] if deep else [k for k in _readers(network, [column], every=True) if k not in joint]
        parts.append(_effect(score, alone, column, rows, 0.0))
    if not deep:
        still = [k for k in range(network.widths[-1]) if k not in _readers(network, pair, every=False)]
        means = network.layers[0].fire(rows)[:, still].mean(axis=0)
        base += float(network.base + means @ network.output_weights[still])
    if all(part.column.categories is None for part in parts):
        lines += [lines_in_plane(network.layers[0].neurons[k], pair, rows) for k in joint]
    return PairEffect(base, parts[0], parts[1], np.concatenate(lines), network, rows, number)


# -- The effect of a number with a linear term on predictions within bounds: it steps, and bends where they cut off.


def bent_effect(network: Network, column: int, places: Floats, scores: Floats, missing: float | None) -> Effect:
    """Return the mean over rows of predictions within bounds as a column with a linear term moves.

    `places`, shape (rows, crossings), are where each row's score steps, and `scores`, shape (rows, crossings + 1), what
    it is between them, without this column's term.
    """
    term, slope = linear_of(network, column)
    assert term is not None
    ends = np.array([term.low, term.high])
    firsts = np.column_stack([np.full(len(places), -np.inf), places])
    lasts = np.column_stack([places, np.full(len(places), np.inf)])
    with np.errstate(invalid="ignore"):
        cut = [(bound - scores) / slope for bound in network.bounds or () if np.isfinite(bound)]
    # Where pieces begin: a crossing, an end of the term, or where the score meets a bound between the two.
    inner = [np.broadcast_to(end, scores.shape) for end in ends] + cut
    edges = np.stack([firsts, *(np.clip(each, firsts, lasts) for each in inner)], axis=2)
    edges.sort(axis=2)
    after = np.concatenate([edges[:, :, 1:], lasts[:, :, np.newaxis]], axis=2)
    there = (edges < after).ravel()
    start, stop = edges.ravel()[there], after.ravel()[there]
    score = np.broadcast_to(scores[:, :, np.newaxis], edges.shape).ravel()[there]
    row = np.broadcast_to(np.arange(len(scores))[:, np.newaxis, np.newaxis], edges.shape).ravel()[there]
    middle = np.where(np.isinf(start), stop - 1.0, np.where(np.isinf(stop), start + 1.0, start / 2 + stop / 2))
    middle = np.where(np.isinf(middle) | np.isnan(middle), 0.0, middle)
    total = score + slope * np.clip(middle, *ends)
    steep = (middle > ends[0]) & (middle < ends[1]) & (bounded(total, network.bounds) == total)
    level = bounded(total, network.bounds) - np.where(steep, slope * middle, 0.0)  # at zero, were it a line
    return _mean(network, column, missing, (start, level, steep, row), slope, len(scores))


def _mean(
    network: Network, column: int, missing: float | None, pieces: tuple[Any, ...], slope: float, rows: int
) -> Effect:
    """Return the mean of rows' pieces: where each begins, its intercept, whether it rises, and whose it is."""
    start, level, steep, row = pieces
    first = np.append(True, row[1:] != row[:-1])
    changes = np.where(first, level, np.diff(level, prepend=0.0))
    rising = steep.astype(np.int64)
    turns = np.where(first, rising, np.diff(rising, prepend=0))
    points, slot = np.unique(start, return_inverse=True)
    intercepts = np.cumsum(np.bincount(slot, weights=changes, minlength=len(points))) / rows
    count = np.cumsum(np.bincount(slot, weights=turns, minlength=len(points)))
    bends = np.rint(count) * slope / rows
    levels = intercepts + np.append(0.0, bends[1:] * points[1:])
    kind = network.schema.columns[column]
    return Effect(kind, points[1:], levels, missing, network.target_name, bends=bends)


# -- The cells into which lines cut a rectangle.

MAX_LINES = 300
"""Most lines whose cells are listed; their number grows with the square."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A convex polygon on which an effect is constant.

    Attributes
    ----------
    vertices : ndarray, shape (corners, 2)
        The corners, in order around the cell.
    level : float
        The value there.
    """

    vertices: Floats
    level: float


def arrangement(box: Floats, lines: Floats) -> list[Floats]:
    """Return the polygons into which `lines` cut the rectangle `box`.

    `box` holds the lowest and highest value of each coordinate; a line ``(a, b, c)`` is ``a x + b y = c``.
    """
    corners = np.array([[box[0, i], box[1, j]] for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
    sides = lines[:, :2] @ corners.T - lines[:, 2:]
    cutting = np.unique(lines[(sides.min(axis=1) < 0) & (sides.max(axis=1) > 0)], axis=0)
    if len(cutting) > MAX_LINES:
        raise ValueError(
            f"{len(cutting)} lines cut the rectangle into too many cells to list (at most {MAX_LINES} lines). Pass "
            "fewer background rows or narrower bounds; calling the effect has no such limit."
        )
    polygons = [corners]
    for line in cutting:
        polygons = [part for polygon in polygons for part in _split(polygon, line)]
    return polygons


def _split(polygon: Floats, line: Floats) -> list[Floats]:
    """Return the one or two parts of a convex polygon on the sides of a line."""
    side = polygon @ line[:2] - line[2]
    side[np.abs(side) <= 1e-12 * (np.abs(polygon) @ np.abs(line[:2]) + abs(line[2]))] = 0.0
    if not (side < 0).any() or not (side > 0).any():
        return [polygon]
    parts: list[list[Floats]] = [[], []]
    for here, there, a, b in zip(polygon, np.roll(polygon, -1, axis=0), side, np.roll(side, -1), strict=True):
        if a <= 0:
            parts[0].append(here)
        if a >= 0:
            parts[1].append(here)
        if a * b < 0:
            crossing = here + (there - here) * (a / (a - b))
            parts[0].append(crossing)
            parts[1].append(crossing)
    return [np.array(part) for part in parts]


# -- Standard errors of what is explained, from how far the networks of an average lie apart.


def with_errors(network: Network, of: Callable[[Network], Any]) -> Any:
    """Return what `of` says of a network: of an average, an effect of one feature with the errors of its levels."""
    effect = of(network)
    if network.members is None or getattr(effect, "bends", None) is not None or not hasattr(effect, "breakpoints"):
        return effect
    each = tuple(of(one) for one in network.members.networks(network))
    effect = replace(effect, each=each)
    if effect.bent:
        return effect
    points = np.append(-np.inf, effect.breakpoints)
    levels = [one.levels[np.searchsorted(one.breakpoints, points, side="right")] for one in each]
    return replace(effect, standard_error=network.members.standard_error(levels))
