"""Mean ranks of models over tables, and by how much they must differ to mean something (Friedman, Nemenyi)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, studentized_range


@dataclass(frozen=True)
class Ranking:
    """Mean ranks, 1 for the best, over so many tables.

    Parameters
    ----------
    ranks : dict of str to float
        By model, the best first.
    tables : int
    """

    ranks: dict[str, float]
    tables: int

    @property
    def critical_difference(self) -> float:
        """By how much two mean ranks must differ for a Nemenyi test at the level of 5 %."""
        models = len(self.ranks)
        quantile = studentized_range.ppf(0.95, models, np.inf) / np.sqrt(2.0)
        return float(quantile * np.sqrt(models * (models + 1) / (6.0 * self.tables)))

    def apart(self, model: str, other: str) -> bool:
        """Tell whether two models differ by that much."""
        return abs(self.ranks[model] - self.ranks[other]) > self.critical_difference


def ranking(errors: Mapping[str, Sequence[float]]) -> Ranking:
    """Return the mean ranks of models by their errors, one per table; equal ones share their ranks, infinite ones last.

    Examples
    --------
    >>> found = ranking({"a": [1.0, 2.0, 1.0, 5.0], "b": [3.0, 3.0, 1.0, 9.0]})
    >>> found.ranks, found.tables, round(found.critical_difference, 3)
    ({'a': 1.125, 'b': 1.875}, 4, 0.98)
    """
    matrix = np.array(list(errors.values()), dtype=float).reshape(len(errors), -1)
    means = np.mean(rankdata(matrix, axis=0), axis=1)
    order = np.argsort(means, kind="stable")
    names = list(errors)
    return Ranking({names[k]: float(means[k]) for k in order}, matrix.shape[1])
