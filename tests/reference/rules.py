"""What rules mean, written from their definition: one row, one condition at a time."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from bgn import Linear, Member, Missing, Network, Rule, Threshold
from bgn.model.term import Oblique

_COMPARED = {
    ">=": lambda value, threshold: value >= threshold,
    "<": lambda value, threshold: value < threshold,
    ">": lambda value, threshold: value > threshold,
    "<=": lambda value, threshold: value <= threshold,
}


def condition_holds(condition: Threshold | Member | Missing | Oblique, row: np.ndarray) -> bool:
    """Whether one condition holds for one row as the network reads it: codes of categories, NaN for a missing value."""
    if isinstance(condition, Oblique):
        total = 0.0
        projection = condition.projection
        for place, (column, factor) in enumerate(zip(projection.columns, projection.coefficients, strict=True)):
            value = row[column]
            if np.isnan(value):
                if projection.missing_as is None:
                    return bool(condition.missing)
                counted = projection.missing_as[place]
                part = counted if isinstance(factor, tuple) else counted * (factor or 1.0)
            else:
                part = factor[int(value)] if isinstance(factor, tuple) else value * factor
            total = total + part if place else part
        return total >= condition.threshold
    value = row[condition.column]
    if isinstance(condition, Missing):
        return bool(np.isnan(value))
    if np.isnan(value):
        return bool(condition.missing)
    if isinstance(condition, Member):
        return int(value) in condition.categories
    return _COMPARED[condition.relation](value, condition.threshold)


def rule_holds(rule: Rule, row: np.ndarray, typical: np.ndarray) -> bool:
    """Whether all conditions of a rule hold; one without an answer for a missing value takes the typical value."""
    filled = np.where(np.isnan(row), typical, row)
    return all(
        condition_holds(condition, filled if _has_no_answer(condition) else row) for condition in rule.conditions
    )


def _has_no_answer(condition: Threshold | Member | Missing | Oblique) -> bool:
    counted = isinstance(condition, Oblique) and condition.projection.missing_as is not None
    return condition.missing is None and not counted


def exact_scores(network: Network, row: np.ndarray) -> list[Fraction]:
    """The scores of a row as fractions: intercept, and for every term its coefficients times what it is worth."""
    scores = [Fraction(float(value)) for value in network.intercept]
    typical = np.array([column.typical for column in network.schema.columns], np.float64)
    for term, coef in zip(network.terms, network.coef.tolist(), strict=True):
        if isinstance(term, Linear):
            value = term.missing if np.isnan(row[term.column]) else row[term.column]
            worth = Fraction(float(min(max(value, term.low), term.high)))
        else:
            worth = Fraction(1 if rule_holds(term, row, typical) else int(term.otherwise))
        scores = [score + Fraction(weight) * worth for score, weight in zip(scores, coef, strict=True)]
    return scores


def cells(network: Network, most: int = 20_000) -> np.ndarray:
    """A row of every cell that thresholds of single columns cut, on and one float beside each threshold, in the ranges
    seen; with every category and a missing value wherever the network has an answer for one."""
    options = []
    for j, column in enumerate(network.schema.columns):
        if column.categories is not None:
            values = [float(code) for code in range(len(column.categories))]
        else:
            low, high = column.seen or (-3.0, 3.0)
            cuts = {
                condition.threshold
                for rule in network.rules
                for condition in rule.conditions
                if isinstance(condition, Threshold) and condition.column == j
            }
            others = [end for cut in cuts for end in (np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf))]
            whole = np.arange(np.ceil(low), np.floor(high) + 1).tolist()
            values = whole if column.whole else [low, high, *(float(v) for v in others if low <= v <= high)]
            values = sorted(set(values))
        takes_missing = not network.refuses_missing[j] or column.typical is not None
        options.append([*values, np.nan] if takes_missing else values)
    rows = np.array(list(product(*options)), dtype=float)
    if len(rows) > most:
        rows = rows[np.random.default_rng(0).choice(len(rows), most, replace=False)]
    return rows
