"""How sure a prediction is: conformal intervals for numbers, and sets of classes, from validation rows.

A score says how badly a row was predicted; the interval of a new row holds all targets whose score is no worse than a
share of the scores seen. Where rows are exchangeable and had no part in the model, it holds the truth in at least that
share of them, on average over datasets and whatever the model (Vovk et al. 2005; Lei et al. 2018). In one dataset with
n such rows the share has a beta distribution around it, with a standard deviation of about the root of
coverage (1 - coverage) / (n + 2) (Vovk 2012). CV+ is proven to hold 1 - 2 (1 - coverage) and mostly holds the coverage
(Barber et al. 2021). Rows that chose a model's size had a part in it, and rows that were cross-validated are predicted
by other networks than the model: what these hold is near the coverage and not proven.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.inputs.frames import rows_of
from bgn.inputs.target import codes_of, numbers_per_row
from bgn.model.network import Network
from bgn.model.readings import network_of
from bgn.model.step import Bools, Floats
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular
from bgn.text import count_of

_KEPT = np.concatenate([np.linspace(0.0, 0.8, 60), np.linspace(0.8, 1.0, 201)])
"""Ranks of the scores that are kept, as shares: intervals are wider by a thousandth of the rows at most above 0.8."""
_MOST_OF_FOLDS = 2000  # scores that are kept for CV+
_ROWS_PER_BIN, _MOST_BINS = 50, 20
_COVERAGES = (0.5, 0.8, 0.9, 0.95)  # that tables show
_LEAST_SHARE = 0.05  # of the mean error, which no bin's error is below


@dataclass(frozen=True, eq=False)
class Calibration:
    """Some of `count` scores, in order: those whose ranks :attr:`ranks` tells."""

    scores: Floats
    count: int

    @classmethod
    def of(cls, scores: Floats) -> Calibration:
        """Return the calibration of some scores, of which a few hundred are kept."""
        return cls(np.sort(scores)[ranks_kept(len(scores)) - 1], len(scores))

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of every score that is kept, from 1."""
        return ranks_kept(self.count)

    def quantile(self, coverage: float) -> float:
        """Return the score that a share of all scores, the next row's included, is at most; infinite with few rows."""
        rank = math.ceil((self.count + 1) * coverage - 1e-9)
        place = int(np.searchsorted(self.ranks, rank))
        return float(self.scores[place]) if place < len(self.scores) else math.inf


def ranks_kept(count: int) -> NDArray[np.int64]:
    """Return the ranks of the scores that are kept of so many: all of a few hundred."""
    if count <= len(_KEPT):
        return np.arange(1, count + 1)
    return np.unique(np.rint(1 + _KEPT * (count - 1)).astype(np.int64))


@dataclass(frozen=True, eq=False)
class ErrorScale:
    """How large errors are by prediction: a line through `sizes` at `centers`, flat beyond."""

    centers: Floats
    sizes: Floats

    @classmethod
    def of(cls, predictions: Floats, errors: Floats) -> ErrorScale | None:
        """Return the mean size of errors in bins of predictions; None where there are no errors."""
        mean = float(errors.mean())
        if not mean > 0:
            return None
        bins = int(np.clip(len(errors) // _ROWS_PER_BIN, 1, _MOST_BINS))
        edges = np.unique(np.quantile(predictions, np.linspace(0, 1, bins + 1)[1:-1]))
        number = np.searchsorted(edges, predictions, side="right")
        counts = np.bincount(number, minlength=len(edges) + 1)
        there = counts > 0
        centers = np.bincount(number, predictions, len(edges) + 1)[there] / counts[there]
        sizes = np.bincount(number, errors, len(edges) + 1)[there] / counts[there]
        return cls(centers, np.maximum(sizes, _LEAST_SHARE * mean))

    def at(self, predictions: Floats) -> Floats:
        """Return the size of errors at predictions."""
        return np.interp(predictions, self.centers, self.sizes)


@dataclass(frozen=True, eq=False)
class Intervals(Tabular):
    """What a model's predictions are sure of.

    Attributes
    ----------
    network : Network
        The model.
    calibrations : mapping of group to Calibration
        Scores by group; under None where there are no groups.
    scale : ErrorScale or None
        How large errors are by prediction, where widths follow it.
    folds : tuple of Network
        For CV+ the network of each fold, grown without its rows.
    fold_of : tuple of int
        For CV+ the fold of each score, in the order of ``fold_scores``.
    fold_scores : ndarray
        For CV+ the scores of rows, each by the network that was grown without it.

    Examples
    --------
    >>> import numpy as np, bgn
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0]], [-2.0])], [1.0], 5.0, ["rooms"])
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (400, 1))
    >>> y = network.predict(X) + rng.normal(size=400) * np.where(X[:, 0] >= 2, 2.0, 0.5)
    >>> intervals = bgn.intervals(network, X, y)
    >>> intervals
    Intervals(split, 400 rows, widths by prediction)
    >>> intervals.predict([[1.0], [3.0]], 0.9).round(1)
    array([[3.2, 4.8],
           [2.7, 9.3]])
    """

    network: Network
    calibrations: Mapping[Any, Calibration]
    scale: ErrorScale | None = None
    folds: tuple[Network, ...] = ()
    fold_of: tuple[int, ...] = ()
    fold_scores: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def method(self) -> str:
        """``"split"``, ``"cv+"`` or, for classes, ``"sets"``."""
        return "cv+" if self.folds else "split" if self.network.link == "identity" else "sets"

    def predict(self, X: Any, coverage: float = 0.9, groups: Any = None) -> Any:
        """Return the interval of every row, or the set of its classes.

        Parameters
        ----------
        X : array_like or frame, shape (rows, columns)
        coverage : float, default 0.9
            Share of rows whose truth is to be inside.
        groups : array_like of shape (rows,), optional
            The group of every row, where the calibration had groups.

        Returns
        -------
        ndarray of float64, shape (rows, 2), or of bool, shape (rows, classes)
            Lower and upper ends, infinite where there were too few rows to tell, and within the bounds that the network
            has; or which classes are in the set.
        """
        return self.predict_encoded(rows_of(self.network, X, "X"), coverage, groups)

    def predict_encoded(self, rows: Floats, coverage: float, groups: Any = None) -> Any:
        """Return the same for rows as the network reads them."""
        if isinstance(coverage, bool) or not 0 < coverage < 1:
            raise ValueError(f"interval must be a share between 0 and 1, such as 0.9; got {coverage!r}.")
        predictions = self.network.predict_encoded(rows)
        unit = 1.0 if self.scale is None else self.scale.at(predictions)
        if self.folds:  # order statistics of each fold's prediction less, or plus, a score of that fold
            count = len(self.fold_scores)
            place = math.ceil((count + 1) * coverage - 1e-9)
            if place > count:
                return self.network.linked(np.tile([-np.inf, np.inf], (len(rows), 1)))
            centers = np.stack([network.predict_encoded(rows) for network in self.folds])[list(self.fold_of)]
            reach = self.fold_scores[:, np.newaxis] * unit
            low = np.partition(centers - reach, count - place, axis=0)[count - place]
            high = np.partition(centers + reach, place - 1, axis=0)[place - 1]
            return self.network.linked(np.column_stack([low, high]))
        reach = self._reach(coverage, groups, len(rows))
        if self.network.link != "identity":
            return 1.0 - _of_classes(predictions) <= reach[:, np.newaxis]
        return self.network.linked(np.column_stack([predictions - reach * unit, predictions + reach * unit]))

    def _reach(self, coverage: float, groups: Any, count: int) -> Floats:
        """Return the score that is not exceeded, row by row."""
        known = {group: calibration.quantile(coverage) for group, calibration in self.calibrations.items()}
        if set(known) == {None}:
            return np.full(count, known[None])
        if groups is None:
            raise ValueError("groups must be the group of every row: the intervals were made for groups.")
        labels = labels_per_row(groups, count)
        if unknown := [label for label in labels if label not in known]:
            raise ValueError(f"groups must be of those that were calibrated, {', '.join(map(repr, known))}; "
                             f"got {unknown[0]!r}.")  # fmt: skip
        return np.array([known[label] for label in labels])

    def _columns(self) -> Columns:
        """How far predictions are to be trusted: of every group the scores that shares of its rows are at most.

        A score is the size of an error, by that of errors near its prediction where widths follow it; of classes it is
        one less the probability of the true one.
        """
        groups = dict(self.calibrations) or {None: Calibration.of(self.fold_scores)}
        named = {} if set(groups) == {None} else {"group": [*groups]}
        shares = {f"{share:.0%}": [own.quantile(share) for own in groups.values()] for share in _COVERAGES}
        return {**named, "rows": [own.count for own in groups.values()], **shares}

    def __repr__(self) -> str:
        count = sum(own.count for own in self.calibrations.values()) or len(self.fold_scores)
        parts = [self.method, count_of(count, "row")]
        if set(self.calibrations) not in ({None}, set()):
            parts.append(count_of(len(self.calibrations), "group"))
        return f"Intervals({', '.join(parts + ['widths by prediction'] * (self.scale is not None))})"


@through_pipelines("X", targets=("y",))
def intervals(
    model: Any, X: Any, y: Any, *, scaled: bool = True, groups: Any = None, cv: int | None = None,
    random_state: int = 0,
) -> Intervals:  # fmt: skip
    """Return what a model's predictions are sure of, from rows that it did not learn from, or from folds.

    Parameters
    ----------
    model : Network or fitted estimator
        Of numbers or of classes. With `cv` an estimator, which is fitted again without the rows of each fold.
    X, y : array_like or frame
        Validation rows, which the model did not learn from; with `cv`, the training rows. Widths are learned from them:
        how often intervals hold shows on other rows.
    scaled : bool, default True
        Whether widths follow the size of errors by prediction; False for one width everywhere. For numbers.
    groups : array_like of shape (rows,), optional
        The group of every row: the share holds in each of them (Mondrian).
    cv : int, optional
        Number of folds for CV+, whose intervals use every row. For numbers.
    random_state : int, default 0
        Chooses the folds.

    Returns
    -------
    Intervals
    """
    network = network_of(model, plain=False)
    rows = rows_of(network, X, "X")
    if cv is not None:
        if network.link != "identity" or groups is not None:
            raise ValueError("cv is for numbers without groups; leave out cv, and pass validation rows.")
        return _by_folds(model, network, X, y, rows, scaled, cv, random_state)
    targets = numbers_per_row(y, "y", len(rows)) if network.link == "identity" else codes_of(network, y, len(rows))
    return of_predictions(network, network.predict_encoded(rows), targets, scaled, groups)


def of_predictions(
    network: Network, predictions: Floats, targets: Floats, scaled: bool = True, groups: Any = None
) -> Intervals:
    """Return the intervals of a network from what it, or one like it, predicted of rows it did not learn from."""
    scale = None
    if network.link == "identity":
        scores = np.abs(targets - predictions)
        if scaled:
            scores, scale = _scaled(predictions, scores)
    else:
        scores = 1.0 - _of_classes(predictions)[np.arange(len(targets)), targets.astype(np.int64)]
    if groups is None:
        return Intervals(network, {None: Calibration.of(scores)}, scale)
    labels = labels_per_row(groups, len(targets))
    of_groups = {label: Calibration.of(scores[[other == label for other in labels]]) for label in dict.fromkeys(labels)}
    return Intervals(network, of_groups, scale)


def _scaled(predictions: Floats, errors: Floats) -> tuple[Floats, ErrorScale | None]:
    """Return errors by the size of others at their prediction, every row's by rows of the other half; and all sizes."""
    order = np.lexsort((errors, predictions))
    half: Bools = np.zeros(len(errors), dtype=bool)
    half[order[::2]] = True
    scale, scores = ErrorScale.of(predictions, errors), errors.copy()
    if scale is None or half.all():
        return errors, None
    for some in (half, ~half):
        others = ErrorScale.of(predictions[~some], errors[~some])
        scores[some] /= (others or scale).at(predictions[some])
    return scores, scale


def _by_folds(
    model: Any, network: Network, X: Any, y: Any, rows: Floats, scaled: bool, cv: int, seed: int
) -> Intervals:
    """Return CV+ intervals of an estimator."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold
    from sklearn.utils import _safe_indexing

    if isinstance(model, Network):
        raise ValueError("cv needs an estimator, to be fitted again on folds; got a network.")
    targets = numbers_per_row(y, "y", len(rows))
    predictions, fold_of, folds = np.empty(len(rows)), np.empty(len(rows), np.int64), []
    for number, (train, left) in enumerate(KFold(cv, shuffle=True, random_state=seed).split(rows)):
        fitted = clone(model).fit(_safe_indexing(X, train), targets[train])
        folds.append(fitted.network_)
        predictions[left], fold_of[left] = fitted.network_.predict_encoded(rows[left]), number
    errors = np.abs(targets - predictions)
    scores, scale = _scaled(predictions, errors) if scaled else (errors, None)
    kept = np.random.default_rng(seed).permutation(len(rows))[:_MOST_OF_FOLDS]
    kept = kept[np.lexsort((scores[kept], fold_of[kept]))]  # their order tells nothing of the rows
    return Intervals(network, {}, scale, tuple(folds), tuple(fold_of[kept].tolist()), scores[kept])


def _of_classes(predictions: Floats) -> Floats:
    """Return the probability of every class, one column each."""
    return predictions if predictions.ndim == 2 else np.column_stack([1.0 - predictions, predictions])


def labels_per_row(groups: Any, count: int) -> list[Any]:
    """Return one label per row in plain types."""
    labels = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if len(labels) != count:
        raise ValueError(f"groups must have one entry per row, {count}; got {len(labels)}.")
    return labels
