"""Models that tell classes apart, each fitted once: how probable every class of the test rows is, size and seconds.

A size is a number of yes/no questions: neurons of a network, splits of trees, thresholds with a weight or with points.
Seconds are those of the processor for the fit alone, one thread; what turns words into numbers is not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bgn
from experiments.classdata import ClassRows, Floats
from experiments.rivals import figs_splits, splits, timed

POINTS = 5
"""Most points of a question of a risk score, and least with a minus."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a fitted model says of the test rows.

    Parameters
    ----------
    probabilities : ndarray, shape (rows, classes)
    seconds : float
        To fit it.
    size : int or None
        Questions; None where it has no such size.
    scores : ndarray, shape (rows,), or None
        What two classes are ranked by where that is not the probability of the second.
    setting : str
        What was chosen, in words.
    """

    probabilities: Floats
    seconds: float
    size: int | None = None
    scores: Floats | None = None
    setting: str = ""


Fit = Callable[[ClassRows, int, int], Answer]
"""Rows, the number of questions and the seed in; what it says of the test rows out."""


# -- ours ------------------------------------------------------------------------------------------------------


def two_columns(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN as it comes, at most so many questions."""
    return _answer(*_grown(rows, {"max_width": size}, seed), rows.X_test)


def one_column(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN with questions about one column each."""
    return _answer(*_grown(rows, {"max_width": size, "max_features": 1}, seed), rows.X_test)


def any_width(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN as it comes, as wide as it likes up to its default."""
    return _answer(*_grown(rows, {}, seed), rows.X_test)


def risk_score(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN with whole points in place of weights."""
    model, seconds = _grown(rows, {"max_width": size}, seed)
    found: list[Any] = []
    seconds += timed(lambda: found.append(bgn.simplify(model, rows.X, rows.y, points=POINTS)))
    network = found[0].network
    second = np.asarray(network.predict(rows.X_test))
    return Answer(np.column_stack([1.0 - second, second]), seconds, sum(network.widths))


def _grown(rows: ClassRows, setting: dict[str, Any], seed: int) -> tuple[Any, float]:
    """Return a fitted BGN and the seconds it took; what is compiled on first use is compiled before."""
    bgn.BGNClassifier(n_jobs=1, random_state=seed, **setting | {"max_width": 2}).fit(rows.X, rows.y)
    model = bgn.BGNClassifier(n_jobs=1, random_state=seed, **setting)
    return model, timed(lambda: model.fit(rows.X, rows.y))


def _answer(model: Any, seconds: float, X_test: Any) -> Answer:
    return Answer(model.predict_proba(X_test), seconds, sum(model.network_.widths))


# -- trees and sums of trees -----------------------------------------------------------------------------------


def tree(rows: ClassRows, size: int, seed: int) -> Answer:
    """A tree grown best first."""
    model = DecisionTreeClassifier(max_leaf_nodes=size + 1, random_state=seed)
    seconds = timed(lambda: model.fit(rows.numbers[0], rows.codes[0]))
    return Answer(model.predict_proba(rows.numbers[1]), seconds, splits(model))


def tuned_tree(rows: ClassRows, size: int, seed: int) -> Answer:
    """The same with the least leaf that has the least log loss on a fifth of the rows, fitted to all rows again."""
    (X, X_test), (y, _) = rows.numbers, rows.codes

    def grow(leaf: int, X: Floats, y: Any) -> Any:
        return DecisionTreeClassifier(max_leaf_nodes=size + 1, min_samples_leaf=leaf, random_state=seed).fit(X, y)

    def choose() -> None:
        X_fit, X_held, y_fit, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
        every = np.arange(len(rows.classes))
        losses = {
            leaf: log_loss(y_held, within_reason(grow(leaf, X_fit, y_fit).predict_proba(X_held)), labels=every)
            for leaf in (1, 5, 10, 20, 50)
        }
        leaf = min(losses, key=lambda leaf: losses[leaf])
        chosen.append((leaf, grow(leaf, X, y)))

    chosen: list[tuple[int, Any]] = []
    seconds = timed(choose)
    leaf, model = chosen[0]
    return Answer(model.predict_proba(X_test), seconds, splits(model), setting=f"leaves of {leaf}")


def figs(rows: ClassRows, size: int, seed: int) -> Answer:
    """A sum of trees (FIGS): about a probability, which its ``predict_proba`` would only bring nearer to one half."""
    from imodels import FIGSClassifier

    np.random.seed(seed)  # noqa: NPY002 - FIGS breaks ties by NumPy's own generator, whatever random_state is
    model = FIGSClassifier(max_rules=size, random_state=seed)
    seconds = timed(lambda: model.fit(rows.numbers[0], rows.codes[0]))
    sums = model.predict(rows.numbers[1], by_tree=True).sum(axis=-1)
    clipped = within_reason(np.clip(sums, 0.0, 1.0))
    return Answer(clipped, seconds, figs_splits(model), sums[:, 1] if len(rows.classes) == 2 else None)


# -- thresholds with weights -----------------------------------------------------------------------------------


# How to ask for an L1 penalty, before scikit-learn 1.8 and since.
_LASSO: dict[str, Any] = (
    {"penalty": "l1"} if getattr(LogisticRegression(), "penalty", "") == "l2" else {"l1_ratio": 1.0}
)


def sparse_stumps(rows: ClassRows, size: int, seed: int) -> Answer:
    """Logistic regression on thresholds: those that the L1 path takes up first, weighted anew."""
    (X, X_test), (y, _) = rows.stumps, rows.codes

    def choose() -> None:
        chosen = np.array([], dtype=np.intp)
        for strength in np.geomspace(1e-4, 10.0, 80):
            path = LogisticRegression(C=strength, solver="liblinear", intercept_scaling=10.0, **_LASSO)
            taken = np.flatnonzero(path.fit(X, y).coef_[0])
            if len(taken) > size:
                break
            chosen = taken
        if not len(chosen):  # several came at once
            chosen = np.argsort(-np.abs(path.coef_[0]), kind="stable")[:size]
        found.append((chosen, LogisticRegression(max_iter=1000).fit(X[:, chosen], y)))

    found: list[tuple[Any, Any]] = []
    seconds = timed(choose)
    chosen, model = found[0]
    return Answer(model.predict_proba(X_test[:, chosen]), seconds, len(chosen))


def fasterrisk(rows: ClassRows, size: int, seed: int) -> Answer:
    """FasterRisk on thresholds: whole points, of its pool the score with the least loss."""
    (X, X_test), (y, _) = rows.stumps, rows.codes
    optimizer = _fasterrisk().RiskScoreOptimizer(X, 2.0 * y - 1.0, k=size, lb=-POINTS, ub=POINTS)
    seconds = timed(optimizer.optimize)
    multiplier, base, points = optimizer.get_models(model_index=0)
    second = 1.0 / (1.0 + np.exp(-(base + X_test @ points) / multiplier))
    return Answer(np.column_stack([1.0 - second, second]), seconds, int(np.count_nonzero(points)))


class _Mask(np.ndarray):
    """An array with the method that NumPy 2.3 took away."""

    def tostring(self) -> bytes:
        return self.tobytes()


@cache
def _fasterrisk() -> Any:
    """Return FasterRisk, made to run with the NumPy of today.

    Its wheel asks for versions of NumPy and scikit-learn that exclude ours, so no extra can name it, and one of its
    modules calls `ndarray.tostring` on an array of booleans that it makes itself.
    """
    rounding = import_module("fasterrisk.rounding")
    if not hasattr(np.ndarray, "tostring"):

        def zeros(shape: Any, dtype: Any = float) -> Any:
            made = np.zeros(shape, dtype)
            return made.view(_Mask) if dtype is bool else made

        names = {name: getattr(np, name) for name in ("ndarray", *np.__all__)}
        rounding.np = SimpleNamespace(**names | {"zeros": zeros})
    return import_module("fasterrisk.fasterrisk")


# -- ceilings: as large as serves them ---------------------------------------------------------------------------


def logistic(rows: ClassRows, size: int, seed: int) -> Answer:
    """Logistic regression on all columns."""
    return _fitted(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), rows)


def boosting(rows: ClassRows, size: int, seed: int) -> Answer:
    """LightGBM as it comes, its trees a little smaller."""
    from lightgbm import LGBMClassifier

    return _fitted(LGBMClassifier(num_leaves=15, n_jobs=1, random_state=seed, verbosity=-1), rows)


def hist_boosting(rows: ClassRows, size: int, seed: int) -> Answer:
    """scikit-learn's boosted trees, as many as a tenth of the rows finds good."""
    model = HistGradientBoostingClassifier(max_leaf_nodes=15, early_stopping=True, random_state=seed)
    return _fitted(model, rows)


def ebm(rows: ClassRows, size: int, seed: int) -> Answer:
    """An EBM without pairs, of four bags instead of fourteen."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return _fitted(ExplainableBoostingClassifier(interactions=0, outer_bags=4, n_jobs=1, random_state=seed), rows)


def _fitted(model: Any, rows: ClassRows) -> Answer:
    seconds = timed(lambda: model.fit(rows.numbers[0], rows.codes[0]))
    return Answer(model.predict_proba(rows.numbers[1]), seconds)


# -- shared ----------------------------------------------------------------------------------------------------

SURE = 1e-3
"""No probability is taken to be nearer to 0 or 1 than this: one leaf that is sure and wrong would decide a log loss."""


def within_reason(probabilities: Floats) -> Floats:
    """Return probabilities of at least `SURE` that add up to 1 in every row.

    Examples
    --------
    >>> import numpy as np
    >>> within_reason(np.array([[0.0, 1.0], [0.25, 0.75]])).round(3)
    array([[0.001, 0.999],
           [0.25 , 0.75 ]])
    """
    kept = np.clip(probabilities, SURE, 1.0 - SURE)
    return kept / kept.sum(axis=1, keepdims=True)


# -- all of them -------------------------------------------------------------------------------------------------

SIZES = (5, 10, 20)
SMALL = (5, 10)
"""The sizes of risk scores."""

EQUAL: dict[str, tuple[str, Fit, tuple[int, ...]]] = {
    "bgn": ("BGN", two_columns, SIZES),
    "bgn_1": ("BGN, questions about one column", one_column, SIZES),
    "tree": ("tree", tree, SIZES),
    "tree_tuned": ("tree, least leaf tuned", tuned_tree, SIZES),
    "figs": ("FIGS", figs, SIZES),
    "stumps": ("L1 logistic regression on stumps", sparse_stumps, SIZES),
    "fasterrisk": ("FasterRisk", fasterrisk, SMALL),
    "bgn_points": ("BGN, whole points", risk_score, SMALL),
}
"""Models by their number of questions: what they are called, how they are fitted, at which sizes."""

OURS = ("bgn", "bgn_1", "bgn_points")
TWO_ONLY = ("stumps", "fasterrisk", "bgn_points")

FREE: dict[str, tuple[str, Fit]] = {
    "bgn_any": ("BGN, any size", any_width),
    "logistic": ("logistic regression, all columns", logistic),
    "lightgbm": ("LightGBM", boosting),
    "hgb": ("HistGradientBoosting", hist_boosting),
    "ebm": ("EBM without pairs", ebm),
}
"""Models of any size, which show what could be had."""
