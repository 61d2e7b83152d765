"""The distances of rows to other predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bgn.model.step import Bools, Floats
from bgn.tabular import Columns, Tabular
from bgn.wording import count_of


@dataclass(frozen=True, eq=False)
class Margin(Tabular):
    """Distances to the nearest other prediction: with classes, to the nearest other class unless asked otherwise.

    Attributes
    ----------
    up, down : ndarray, shape (rows, features)
        The nearest value above, and below, the row's own at which the prediction is another, all other columns as
        they are; ``inf`` and ``-inf`` where there is none.
    distance : ndarray, shape (rows, features)
        How far the nearer of the two is, in the units of the column; ``inf`` for categories and gaps.
    euclidean : ndarray, shape (rows,)
        Distance to the nearest rows with another prediction, all numbers free, in the units given: their infimum.
    nearest : ndarray, shape (rows, features)
        The point of the threshold at that distance; NaN where there is none. Categories and gaps stay.
    exact : ndarray of bool, shape (rows,)
        False where the search in a deeper network ended early: `euclidean` is then a lower bound.
    levels : dict of str to ndarray of bool, shape (rows, levels)
        By category: at which of its levels the prediction is another, all other columns as they are; none where the
        row has a gap.
    slopes : ndarray, shape (rows, features), or None
        What linear terms add per unit of each column until then, 0 beyond their ends; with several classes one last
        axis for them. None without linear terms.
    feature_names : tuple of str
        Names of the columns.
    """

    up: Floats
    down: Floats
    distance: Floats
    euclidean: Floats
    nearest: Floats
    exact: Bools
    levels: Mapping[str, Bools] = field(default_factory=dict)
    slopes: Floats | None = None
    feature_names: tuple[str, ...] = ()

    def _columns(self) -> Columns:
        names = self.feature_names or tuple(f"x{j}" for j in range(self.distance.shape[1]))
        along = {name: each.tolist() for name, each in zip(names, self.distance.T, strict=True)}
        rows = {"row": [*range(1, len(self.distance) + 1)], "all columns free": self.euclidean.tolist()}
        return rows | {f"{name} alone": each for name, each in along.items()}

    def __repr__(self) -> str:
        rows, features = self.distance.shape
        shape = f"{count_of(rows, 'row')}, {count_of(features, 'feature')}"
        return f"Margin({shape}, nearest change at {self.euclidean.min():.6g})"
