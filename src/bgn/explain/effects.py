"""Effects of one or two features as what they are: steps and cells, with no grid.

The effect of a feature is its partial dependence: the mean prediction over a background when the feature is set to a
value in every row. Rules are constant between thresholds, so the effect of a number is a step function whose
breakpoints are known to the last bit, plus its linear term where it has one; that of a categorical column has one value
per category. So is the mean of a probability over the background, which is not the probability of the mean score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgn.explain.arguments import (
    background_of,
    class_number,
    column_of,
    columns_of,
    mean_predictions,
    predicted_of,
    prediction_title,
    score_of,
    value_if_missing,
)
from bgn.explain.crossings import crossings, factor, lines_in_plane, mean_steps, walks
from bgn.explain.shap import SortedColumns, holding_counts, mixed_sums
from bgn.model.link import bounded
from bgn.model.network import Network
from bgn.model.readings import network_of, outputs_of, with_positive_second
from bgn.model.schema import Column, category_name
from bgn.model.step import Floats
from bgn.model.term import Linear, Rule
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular


@through_pipelines("background")
def effect(
    model: Any, feature: Any, background: Any = None, *, of: Any = None, scale: str | None = None
) -> Effect | PairEffect:
    """Return the exact effect of a feature, or of a pair, on the prediction.

    Parameters
    ----------
    model : Network or fitted estimator
    feature : str, int, or a pair of them
        The column or columns: numbers, whose effect steps, or categories, which have one value each.
    background : array_like or frame
        Rows over which the other columns vary; all are used. May be left out when the model has ``background_``.
    of : label, optional
        Of classes, the one whose probability or score is meant; of two the second by default.
    scale : {"probability", "score"}, optional
        With classes, what is averaged over the background: the probability, or the score, of two classes the log-odds.
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
    >>> rooms.values.round(2)
    array([1.5 , 1.83, 3.83, 4.5 ])
    >>> effect(network, ("rooms", "age"), background)(2.0, [3.0, 2.0])
    array([4.5, 3.5])
    >>> effect(network.changed(link="logistic"), "age", background).values.round(4)
    array([0.8686, 0.8747, 0.9102, 0.9458])
    """
    network = with_positive_second(network_of(model, plain=False))
    if hasattr(feature, "columns") or np.ndim(feature) > 1:
        raise ValueError(
            f"feature must be a column, or two; got a table ({type(feature).__name__}). The column comes first, the "
            "rows second: effect(model, 'income', X), or model.effect('income', X)."
        )
    rows = background_of(model, network, background)
    if network.link == "identity" and scale is not None and (network.bounds is None or scale != "score"):
        raise ValueError(f"scale is for classes; the model predicts a number. Leave it out; got {scale!r}.")
    if scale not in (None, "probability", "score"):
        raise ValueError(f"scale must be 'probability' or 'score'; got {scale!r}.")
    score = score_of(network, of)
    if network.link == "identity":
        return effect_over(score if scale == "score" else network, feature, rows)
    several = isinstance(feature, Iterable) and not isinstance(feature, str)
    columns = columns_of(network, feature if several else [feature], "feature")
    has_linear = any(_linear_of(network, column)[0] is not None for column in columns)
    if scale == "score" or (scale is None and has_linear):
        return _with_errors(network, lambda one: _effect_over(score_of(one, of), feature, rows, None))
    if has_linear:
        raise ValueError("scale must be 'score' for a feature with a linear term: probabilities follow it on a curve.")
    return effect_over(network, feature, rows, 1 if of is None else class_number(network, of, "of"))


def effect_over(network: Network, feature: Any, rows: Floats, number: int | None = None) -> Effect | PairEffect:
    """Return the effect of a feature, or of a pair, over background rows as the network reads them.

    On the number that is predicted, or on the probability of the class `number`.
    """
    number = number if network.bounds is None else 0
    return _with_errors(network, lambda one: _effect_over(one, feature, rows, number))


def _with_errors(network: Network, effect_of: Callable[[Network], Any]) -> Any:
    """Return the effect in a network; in an ensemble, that of one feature with those of its members and errors."""
    effect = effect_of(network)
    if network.members is None or not isinstance(effect, Effect) or effect.rates is not None:
        return effect
    members = tuple(effect_of(one) for one in network.members.networks(network))
    effect = replace(effect, members=members)
    if effect.has_linear_part:
        return effect
    points = np.append(-np.inf, effect.breakpoints)
    values = [one.values[np.searchsorted(one.breakpoints, points, side="right")] for one in members]
    return replace(effect, standard_error=network.members.standard_error(values))


def _effect_over(network: Network, feature: Any, rows: Floats, number: int | None) -> Effect | PairEffect:
    if isinstance(feature, Iterable) and not isinstance(feature, str):
        pair = [column_of(network, name, "feature") for name in feature]
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"feature must be one column or two different ones; got {feature!r}.")
        return _pair_effect(network, pair, rows, number)
    column = column_of(network, feature, "feature")
    if number is not None:
        return _prediction_effect(network, column, rows, number)
    rules = [k for k, term in enumerate(network.terms) if isinstance(term, Rule) and network.coef[k, 0]]
    return _score_effect(network, rules, column, rows, float(network.intercept[0]) + _others(network, [column], rows))


# -- The effect of one feature: steps, and a linear term.


@dataclass(frozen=True, eq=False)
class Effect(Tabular):
    """A step function of one feature, plus its linear term where the network has one.

    Attributes
    ----------
    column : Column
        The feature, as in the network's schema; `feature` is its name.
    breakpoints : ndarray, shape (steps,)
        Where every new value begins, in order; for a category its number in ``column.categories``.
    values : ndarray, shape (steps + 1,)
        Mean prediction below the first breakpoint, from it on, and so forth.
    missing : float or None
        Mean prediction when the feature is missing; None where the network refuses missing values in it.
    target : str or None
        What the values are means of: the target's name, "probability of ..." or "log-odds of ...".
    linear : Linear or None
        The linear term of the feature, which is not in `values`; calling the effect, and `missing`, include it.
    linear_coef : float
        Its weight: what the feature adds per unit.
    standard_error : ndarray, shape (steps + 1,), or None
        Of the values, in an ensemble; None where there is a linear term, along which it varies: see `errors`.
    rates : ndarray, shape (steps + 1,), or None
        Where bounds cut a linear term off: by how much the effect rises per unit after every breakpoint, at which it
        has its value; `linear` is None then. Before the first breakpoint the value is what it would be at 0.
    members : tuple of Effect
        The effects in the networks of an ensemble.
    """

    column: Column
    breakpoints: Floats
    values: Floats
    missing: float | None = None
    target: str | None = None
    linear: Linear | None = None
    linear_coef: float = 0.0
    standard_error: Floats | None = None
    rates: Floats | None = None
    members: tuple[Effect, ...] = ()

    @property
    def has_linear_part(self) -> bool:
        """True where there is more than steps, here or in a network of an ensemble."""
        return any(one.linear is not None or one.rates is not None for one in (self, *self.members))

    @property
    def is_constant(self) -> bool:
        """True where every value of the feature, also a missing one, has the same mean prediction."""
        same = self.missing is None or math.isclose(self.missing, self.values[0], rel_tol=1e-12)
        return not self.has_linear_part and len(self.values) == 1 and same

    def _columns(self) -> Columns:
        mean = f"mean {self.target}" if self.target else "mean prediction"
        if self.column.categories is not None:
            names, means = (
                list(map(category_name, self.column.categories)),
                self(np.array(self.column.categories, dtype=object)).tolist(),
            )
            missing = self.missing is not None
            return {self.feature: [*names, *["missing"] * missing], mean: [*means, *[self.missing] * missing]}
        table: dict[str, Any] = {f"{self.feature} from": [-np.inf, *self.breakpoints.tolist()]}
        table[mean] = self.values.tolist()
        if self.linear is not None:
            table["and per unit"] = [self.linear_coef] * len(self.values)
        elif self.rates is not None:
            table["and per unit"] = self.rates.tolist()
        if self.standard_error is not None:
            table["standard error"] = self.standard_error.tolist()
        return table

    @property
    def feature(self) -> str:
        """Name of the column."""
        return self.column.name

    def linear_part(self, values: Floats, pieces: NDArray[np.int64] | None = None) -> Floats:
        """Return what the linear term adds at values of the column, zero where there is none; `pieces` are the numbers
        of the steps that they belong to, where these are not those that hold them."""
        if self.rates is not None:
            pieces = np.searchsorted(self.breakpoints, values, side="right") if pieces is None else pieces
            return np.asarray(self.rates[pieces] * (values - np.append(0.0, self.breakpoints)[pieces]))
        return np.zeros(np.shape(values)) if self.linear is None else self.linear_coef * self.linear.between(values)

    def __call__(self, values: ArrayLike) -> Floats:
        """Return the mean prediction when the feature is set to each of `values`."""
        codes = _encoded(self.column, values, None if self.missing is None else np.nan)
        means = self.values[np.searchsorted(self.breakpoints, codes, side="right")] + self.linear_part(codes)
        return means if self.missing is None else np.where(np.isnan(codes), self.missing, means)

    def errors(self, values: ArrayLike) -> Floats:
        """Return the standard errors of the mean prediction at each of `values`, from the networks of an ensemble."""
        if len(self.members) < 2:
            raise ValueError("errors need an ensemble, whose networks have different effects; fit with ensemble=8.")
        return np.std([one(values) for one in self.members], axis=0, ddof=1)

    def __repr__(self) -> str:
        steps = f"{len(self.breakpoints)} step{'s' * (len(self.breakpoints) != 1)}"
        if self.linear is not None:
            return f"Effect({self.feature}: {steps}, {self.linear_coef:.6g} per unit)"
        if self.is_constant:
            return f"Effect({self.feature}: none, {self.values[0]:.6g} whatever its value)"
        return f"Effect({self.feature}: {steps}, from {self.values.min():.6g} to {self.values.max():.6g})"


def _encoded(column: Column, values: ArrayLike, missing_as: float | None) -> Floats:
    """Return values of one column as the network reads them, missing ones as `missing_as`; None refuses them."""
    if column.categories is None:
        given: Any = np.asarray(values, dtype=np.float64)
        codes = given
    else:
        given = np.asarray(values, dtype=object)
        codes = column.codes(given.ravel()).reshape(given.shape)
    missing = np.isnan(codes)
    if missing.any() and missing_as is None:
        known = "finite numbers" if column.categories is None else "among " + ", ".join(map(repr, column.categories))
        raise ValueError(f"values of {column.name!r} must be {known}; got {given[missing].ravel()[0]!r}.")
    return np.where(missing, missing_as, codes) if missing_as is not None else codes


def _score_effect(network: Network, rules: list[int], column: int, rows: Floats, base: float) -> Effect:
    """Return the effect of a column through some rules, by their numbers, and its linear term, added to `base`."""
    kind, missing = network.schema.columns[column], None
    if kind.categories is not None:
        points = np.arange(max(len(kind.categories), 1), dtype=np.float64)
        values = base + _means_at(network, rules, [column], points[:, np.newaxis], rows)
    elif network.below and rules:
        points, values = mean_steps(*walks(network, column, rows))
        values = values + (base - network.intercept[0])
    else:
        points, values = _counted(network, rules, column, rows, base)
    missing_as, (linear, coef) = value_if_missing(network, column), _linear_of(network, column)
    if missing_as is not None:
        missing = base + float(_means_at(network, rules, [column], np.array([[missing_as]]), rows)[0])
    if linear is not None and missing is not None:
        missing += coef * float(linear.between(np.array([np.nan if missing_as is None else missing_as]))[0])
    return replace(_stepwise(kind, points, values, missing, network.target_name), linear=linear, linear_coef=coef)


def _linear_of(network: Network, column: int) -> tuple[Linear | None, float]:
    """Return the linear term of a column and its weight in the first output; None and 0 where it has none."""
    for term, coef in zip(network.terms, network.coef, strict=True):
        if isinstance(term, Linear) and term.column == column and coef.any():
            return term, float(coef[0])
    return None, 0.0


def _others(network: Network, columns: list[int], rows: Floats) -> float:
    """Return the mean that the linear terms of all other columns add."""
    pairs = zip(network.linear, network.linear_coef[:, 0].tolist(), strict=True)
    return sum((coef * float(term.values(rows).mean()) for term, coef in pairs if term.column not in columns), 0.0)


def _means_at(network: Network, rules: list[int], columns: list[int], values: Floats, background: Floats) -> Floats:
    """Return the mean that rules add over the background when columns have each row of `values`."""
    rows, total = np.zeros((len(values), network.n_inputs)), np.zeros(len(values))
    rows[:, columns] = values
    mixed = mixed_sums(network, columns, rows, background) if network.below else None
    table, drawn = SortedColumns(rows), SortedColumns(background)
    for k in rules:
        rule: Any = network.terms[k]
        if mixed is not None:
            share = mixed[:, k] / len(background)
        else:
            share = holding_counts(rule.conditions, columns, table, drawn) / len(background)
        total += network.coef[k, 0] * (rule.otherwise + (1.0 - rule.otherwise) * share)
    return total


def _counted(network: Network, rules: list[int], column: int, rows: Floats, base: float) -> tuple[Floats, Floats]:
    """Return where the effect of a number through rules may step, and its values, counted exactly."""
    moving = {k: _interval_ends(network.terms[k], column, rows) for k in rules if column in network.terms[k].columns}
    every = np.unique(np.concatenate([[], *(end for ends in moving.values() for end in ends)]))
    points = np.concatenate([[-np.inf], every[np.isfinite(every)]])
    means = [term.values(rows).mean() for k, term in enumerate(network.terms) if k in rules and k not in moving]
    still = [k for k in rules if k not in moving]
    values = np.full(len(points), base + network.coef[still, 0] @ np.array(means))
    for k, (first, last) in moving.items():
        holding = np.searchsorted(first, points, side="right") - np.searchsorted(last, points, side="right")
        otherwise = network.terms[k].otherwise  # type: ignore[union-attr]
        values += network.coef[k, 0] * (otherwise + (1.0 - otherwise) * holding / len(rows))
    return points, values


def _interval_ends(rule: Any, column: int, rows: Floats) -> tuple[Floats, Floats]:
    """Return from where, and below where, a rule holds along a column of numbers, each in order over the rows where it
    holds anywhere."""
    first, last = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    for condition in rule.conditions:
        if column not in condition.columns:
            last[~condition.holds(rows)] = -np.inf
            continue
        oblique = condition.as_oblique()
        where = crossings(oblique, column, rows)
        if factor(oblique, column) > 0:
            first = np.maximum(first, where)
        else:
            last = np.minimum(last, where)
    somewhere = first < last
    return np.sort(first[somewhere]), np.sort(last[somewhere])


def _stepwise(kind: Column, points: Floats, values: Floats, missing: float | None, target: str | None) -> Effect:
    """Return an effect from where it may step, and its values."""
    changed = np.diff(values) != 0
    return Effect(kind, points[1:][changed], values[np.append(True, changed)], missing, target)


def _prediction_effect(network: Network, column: int, rows: Floats, number: int) -> Effect:
    """Return the effect of a column on the probability of a class, or on a number within bounds."""
    kind, missing_as = network.schema.columns[column], value_if_missing(network, column)
    missing = None
    if missing_as is not None:
        missing = float(mean_predictions(network, number, [column], np.array([[missing_as]]), rows)[0])
    if kind.categories is not None:
        points = np.arange(max(len(kind.categories), 1), dtype=np.float64)
        values = mean_predictions(network, number, [column], points[:, np.newaxis], rows)
        return _stepwise(kind, points, values, missing, prediction_title(network, number))
    places, scores = walks(network, column, rows)
    for term, coef in zip(network.linear, network.linear_coef, strict=True):
        if term.column != column:
            added = np.multiply.outer(term.values(rows), coef)
            scores += (added if scores.ndim > 2 else added[:, 0])[:, np.newaxis]
    if _linear_of(network, column)[0] is not None:  # of a number within bounds
        return _bounded_linear_effect(network, column, places, scores, missing)
    predictions = predicted_of(network, number, scores.reshape(-1, *scores.shape[2:]))
    points, values = mean_steps(places, predictions.reshape(scores.shape[:2]))
    return _stepwise(kind, points, values, missing, prediction_title(network, number))


def _bounded_linear_effect(
    network: Network, column: int, places: Floats, scores: Floats, missing: float | None
) -> Effect:
    """Return the mean over rows of predictions within bounds as a column with a linear term moves: it steps, and bends
    where bounds cut the term off.

    `places`, shape (rows, crossings), are where each row's score steps, and `scores`, shape (rows, crossings + 1), what
    it is between them, without this column's term.
    """
    linear, coef = _linear_of(network, column)
    assert linear is not None
    ends = np.array([linear.low, linear.high])
    firsts = np.column_stack([np.full(len(places), -np.inf), places])
    lasts = np.column_stack([places, np.full(len(places), np.inf)])
    with np.errstate(invalid="ignore"):
        cut = [(bound - scores) / coef for bound in network.bounds or () if np.isfinite(bound)]
    # Where pieces begin: a crossing, an end of the term, or where the score meets a bound between the two.
    inner = [np.broadcast_to(end, scores.shape) for end in ends] + cut
    edges = np.stack([firsts, *(np.clip(inside, firsts, lasts) for inside in inner)], axis=2)
    edges.sort(axis=2)
    after = np.concatenate([edges[:, :, 1:], lasts[:, :, np.newaxis]], axis=2)
    real = (edges < after).ravel()
    start, stop = edges.ravel()[real], after.ravel()[real]
    score = np.broadcast_to(scores[:, :, np.newaxis], edges.shape).ravel()[real]
    row = np.broadcast_to(np.arange(len(scores))[:, np.newaxis, np.newaxis], edges.shape).ravel()[real]
    middle = np.where(np.isinf(start), stop - 1.0, np.where(np.isinf(stop), start + 1.0, start / 2 + stop / 2))
    middle = np.where(np.isinf(middle) | np.isnan(middle), 0.0, middle)
    total = score + coef * np.clip(middle, *ends)
    rises = (middle > ends[0]) & (middle < ends[1]) & (bounded(total, network.bounds) == total)
    at_zero = bounded(total, network.bounds) - np.where(rises, coef * middle, 0.0)
    # The mean of all rows' pieces: by how much its value at zero, and how many of them rise, change at every start.
    new_row = np.append(True, row[1:] != row[:-1])
    changes = np.where(new_row, at_zero, np.diff(at_zero, prepend=0.0))
    turns = np.where(new_row, rises.astype(np.int64), np.diff(rises.astype(np.int64), prepend=0))
    points, slot = np.unique(start, return_inverse=True)
    at_zeros = np.cumsum(np.bincount(slot, weights=changes, minlength=len(points))) / len(scores)
    rates = np.rint(np.cumsum(np.bincount(slot, weights=turns, minlength=len(points)))) * coef / len(scores)
    values = at_zeros + np.append(0.0, rates[1:] * points[1:])
    return Effect(network.schema.columns[column], points[1:], values, missing, network.target_name, rates=rates)


# -- The effect of two features.


@dataclass(frozen=True, eq=False)
class PairEffect(Tabular):
    """The effect of two features: ``base + first(a) + second(b) + joint(a, b)``.

    Attributes
    ----------
    base : float
        What neither feature changes.
    first, second : Effect
        Rules that read one of the two and not the other; in a deeper network all is joint.
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
        ends = []
        for part, column in zip((self.first, self.second), self.background[:, self._pair].T, strict=True):
            values = column[~np.isnan(column)]
            deciles = np.unique(np.quantile(values, np.linspace(0.0, 1.0, 11))).tolist() if len(values) else []
            ends.append(list(part.column.categories) if part.column.categories is not None else deciles)
        first, second = [a for a in ends[0] for _ in ends[1]], [b for _ in ends[0] for b in ends[1]]
        given = [np.array(values, dtype=object if values and isinstance(values[0], str) else None)
                 for values in (first, second)]  # fmt: skip
        return {self.features[0]: first, self.features[1]: second, "mean prediction": self(*given).tolist()}

    @property
    def features(self) -> tuple[str, str]:
        """Names of the columns."""
        return self.first.feature, self.second.feature

    @property
    def _pair(self) -> list[int]:
        return [self.network.names.index(name) for name in self.features]

    def __call__(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the mean prediction when the features are set to each pair of values (shapes broadcast)."""
        return self.base + self.first(first) + self.second(second) + self.joint(first, second)

    def joint(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the part that rules reading both features add, at each pair of values (shapes broadcast)."""
        pair = self._pair
        parts = zip(pair, (self.first, self.second), (first, second), strict=True)
        a, b = np.broadcast_arrays(
            *(_encoded(part.column, values, value_if_missing(self.network, j)) for j, part, values in parts)
        )
        values = np.column_stack([a.ravel(), b.ravel()])
        if self.number is not None:
            return mean_predictions(self.network, self.number, pair, values, self.background).reshape(a.shape)
        deep = self.network.below
        rules = _rules_reading(self.network, [] if deep else pair, all)
        means = _means_at(self.network, rules, pair, values, self.background)
        return ((float(self.network.intercept[0]) if deep else 0.0) + means).reshape(a.shape)

    def cells(self, bounds: ArrayLike | None = None, whole: bool = False) -> list[Cell]:
        """Return the convex polygons on which the joint part is constant.

        Parameters
        ----------
        bounds : array_like, shape (2, 2), optional
            Lowest and highest value of the first feature, then of the second; the background's by default.
        whole : bool, default False
            Cut by the steps of `first` and `second` too, and give the whole effect as value.

        Returns
        -------
        list of Cell
        """
        for part in (self.first, self.second):
            if part.column.categories is not None:
                raise ValueError(f"cells need two columns of numbers; {part.feature!r} is a category. Call the effect.")
        if bounds is None:
            drawn = self.background[:, self._pair]
            bounds = np.column_stack([np.nanmin(drawn, axis=0), np.nanmax(drawn, axis=0)])
        box = np.asarray(bounds, dtype=np.float64)
        if box.shape != (2, 2) or not (box[:, 0] < box[:, 1]).all():
            raise ValueError(f"bounds must be two pairs, lowest then highest; got {box.tolist()}.")
        if self.number is not None and any(_linear_of(self.network, column)[0] for column in self._pair):
            raise ValueError("cells need rules; a feature has a linear term, cut off by bounds. Call the effect.")
        if whole and any(part.linear is not None for part in (self.first, self.second)):
            raise ValueError("whole must be False where a feature has a linear term: no value holds on a whole cell.")
        lines = self.lines
        if whole:
            upright = [(1.0, 0.0, value) for value in self.first.breakpoints]
            flat = [(0.0, 1.0, value) for value in self.second.breakpoints]
            lines = np.concatenate([lines, np.array(upright + flat).reshape(-1, 3)])
        polygons = arrangement(box, lines)
        centers = np.array([polygon.mean(axis=0) for polygon in polygons])
        values = (self if whole else self.joint)(centers[:, 0], centers[:, 1])
        return [Cell(polygon, float(value)) for polygon, value in zip(polygons, values, strict=True)]

    def __repr__(self) -> str:
        return f"PairEffect({' x '.join(self.features)}: {len(self.lines)} joint lines)"


def _pair_effect(network: Network, pair: list[int], rows: Floats, number: int | None) -> PairEffect:
    """Return the effect of two columns; in a deeper network, and on what is no sum, all of it is joint."""
    alone, score = not network.below and number is None, outputs_of(network)[0]
    if number is not None:  # without linear terms, which are joint, too
        score = score.with_linear()
    both = _rules_reading(network, pair, all)
    parts, base = [], _others(score, pair, rows)
    for column in pair:
        own = [k for k in _rules_reading(network, [column], all) if k not in both] if alone else []
        parts.append(_score_effect(score, own, column, rows, 0.0))
    if alone:
        either = _rules_reading(network, pair, any)
        still = [k for k, term in enumerate(network.terms) if isinstance(term, Rule) and k not in either]
        means = np.array([network.terms[k].values(rows).mean() for k in still])
        base += float(network.intercept[0] + means @ network.coef[still, 0])
    lines = [np.empty((0, 3))]
    if all(part.column.categories is None for part in parts):
        if network.below:
            obliques = list(network.layers[0].neurons)
        else:
            joint = both if alone else _rules_reading(network, pair, any)
            obliques = [condition.as_oblique() for k in joint for condition in network.terms[k].conditions]  # type: ignore[union-attr]
        lines += [lines_in_plane(one, pair, rows) for one in obliques if not set(pair).isdisjoint(one.columns)]
    return PairEffect(base, parts[0], parts[1], np.concatenate(lines), network, rows, number)


def _rules_reading(network: Network, columns: list[int], needed: Callable[[Iterable[bool]], bool]) -> list[int]:
    """Return the numbers of the rules that read all, or any, of the columns and change a score."""
    return [
        k for k, term in enumerate(network.terms)
        if isinstance(term, Rule) and network.coef[k].any() and needed(column in term.columns for column in columns)
    ]  # fmt: skip


# -- The cells into which lines cut a rectangle.

MAX_LINES = 300
"""Most lines whose cells are listed; their number grows with the square."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A convex polygon on which an effect is constant: its corners, in order around it, and the effect there."""

    vertices: Floats
    value: float


def arrangement(box: Floats, lines: Floats) -> list[Floats]:
    """Return the polygons into which lines, ``(a, b, c)`` for ``a x + b y = c``, cut a rectangle of lowest and highest
    values."""
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
