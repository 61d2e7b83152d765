"""Models that tell classes apart, each fitted once: how probable every class of the test rows is, size and seconds.

A size is a number of terms: rules and linear terms of BGN, splits of trees, thresholds with a weight or with points.
A term of BGN may have several conditions, which are counted beside; one of the others is one condition.
Seconds are those of the processor for the fit alone, one thread; what turns words into numbers is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bgn
from experiments.data import CUTS, ClassRows, Floats
from experiments.rivals import figs_splits, splits, timed


@dataclass(frozen=True, eq=False)
class Answer:
    """What a fitted model says of the test rows.

    Parameters
    ----------
    probabilities : ndarray, shape (rows, classes)
    seconds : float
        To fit it.
    size : int or None
        Terms; None where it has no such size.
    scores : ndarray, shape (rows,), or None
        What two classes are ranked by where that is not the probability of the second.
    setting : str
        What was chosen, in words.
    conditions : int or None
        How many conditions a reader reads; None where that is its size.
    """

    probabilities: Floats
    seconds: float
    size: int | None = None
    scores: Floats | None = None
    setting: str = ""
    conditions: int | None = None


Fit = Callable[[ClassRows, int, int], Answer]
"""Rows, the size and the seed in; what it says of the test rows out."""

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


def both(second: Floats) -> Floats:
    """Return the probabilities of both classes from those of the second."""
    kept = np.clip(np.ravel(second), 0.0, 1.0)
    return np.column_stack([1.0 - kept, kept])


MOST_POINTS = 5
"""Most points of a rule of a risk score, and least with a minus."""

# -- ours ------------------------------------------------------------------------------------------------------


def two_columns(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN as it comes, at most so many terms."""
    return _answer(*_grown(rows, {"max_terms": size}, seed), rows.X_test)


def one_column(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN with rules on one column each."""
    return _answer(*_grown(rows, {"max_terms": size, "max_features": 1, "max_linear": 0}, seed), rows.X_test)


def any_size(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN as it comes, as wide as it likes up to its default."""
    return _answer(*_grown(rows, {"max_terms": size} if size else {}, seed), rows.X_test)


def preset(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN's preset for accuracy."""
    model = bgn.BGNClassifier.accurate(n_jobs=1, random_state=seed)
    if size:
        model.set_params(max_terms=size, ensemble=2)
    return _answer(model, timed(lambda: model.fit(rows.X, rows.y)), rows.X_test)


def risk_score(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN with whole points in place of weights."""
    model, seconds = _grown(rows, {"max_terms": size, "max_linear": 0}, seed)
    scores: list[Any] = []
    seconds += timed(lambda: scores.append(bgn.simplify(model, rows.X, rows.y, points=MOST_POINTS)))
    network = scores[0].network
    probabilities = both(network.predict(rows.X_test))
    return Answer(probabilities, seconds, sum(network.widths), conditions=network.n_conditions)


def _grown(rows: ClassRows, setting: dict[str, Any], seed: int) -> tuple[Any, float]:
    """Return a fitted BGN and the seconds it took; what is compiled on first use is compiled before."""
    bgn.BGNClassifier(n_jobs=1, random_state=seed, **setting | {"max_terms": 2}).fit(rows.X, rows.y)
    model = bgn.BGNClassifier(n_jobs=1, random_state=seed, **setting)
    return model, timed(lambda: model.fit(rows.X, rows.y))


def _answer(model: Any, seconds: float, X_test: Any) -> Answer:
    """Rules and linear terms count alike."""
    network = model.network_
    size = sum(network.widths) + len(network.linear)
    return Answer(model.predict_proba(X_test), seconds, size, conditions=network.n_conditions)


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


# -- ceilings: as large as serves them ---------------------------------------------------------------------------


def logistic(rows: ClassRows, size: int, seed: int) -> Answer:
    """Logistic regression on all columns."""
    return _fitted(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), rows)


def boosting(rows: ClassRows, size: int, seed: int) -> Answer:
    """LightGBM with the leaves, the rate and the number of trees that five folds of the training rows find best."""
    return _fitted(tuned_boosting(seed, *([[size]] if size else [])), rows)


def tuned_boosting(seed: int, trees: Sequence[int] = (50, 150, 400)) -> Any:
    """Return a LightGBM that chooses its settings by the log loss in five folds."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, random_state=seed, verbosity=-1)
    grid = {"num_leaves": [4, 15, 31], "learning_rate": [0.03, 0.1], "n_estimators": list(trees)}
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=5)


def hist_boosting(rows: ClassRows, size: int, seed: int) -> Answer:
    """scikit-learn's boosted trees, as many as a tenth of the rows finds good."""
    model = HistGradientBoostingClassifier(max_leaf_nodes=15, early_stopping=True, random_state=seed)
    return _fitted(model, rows)


def ebm(rows: ClassRows, size: int, seed: int) -> Answer:
    """An EBM as it comes: with pairs for two classes, without them for more."""
    from interpret.glassbox import ExplainableBoostingClassifier

    limits = {"max_rounds": size, "outer_bags": 2} if size else {}
    return _fitted(ExplainableBoostingClassifier(n_jobs=1, random_state=seed, **limits), rows)


def _fitted(model: Any, rows: ClassRows) -> Answer:
    seconds = timed(lambda: model.fit(rows.numbers[0], rows.codes[0]))
    return Answer(model.predict_proba(rows.numbers[1]), seconds)


# -- thresholds of single columns, with weights or with points ------------------------------------------------------

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
        fits.append((chosen, LogisticRegression(max_iter=1000).fit(X[:, chosen], y)))

    fits: list[tuple[Any, Any]] = []
    seconds = timed(choose)
    chosen, model = fits[0]
    return Answer(model.predict_proba(X_test[:, chosen]), seconds, len(chosen))


def fasterrisk(rows: ClassRows, size: int, seed: int) -> Answer:
    """FasterRisk on thresholds: whole points, of its pool the score with the least loss."""
    (X, X_test), (y, _) = rows.stumps, rows.codes
    optimizer = _fasterrisk().RiskScoreOptimizer(X, 2.0 * y - 1.0, k=size, lb=-MOST_POINTS, ub=MOST_POINTS)
    seconds = timed(optimizer.optimize)
    multiplier, base, points = optimizer.get_models(model_index=0)
    second = 1.0 / (1.0 + np.exp(-(base + X_test @ points) / multiplier))
    return Answer(both(second), seconds, int(np.count_nonzero(points)))


def sparse_steps(rows: ClassRows, size: int, seed: int) -> Answer:
    """L0-penalised logistic regression on thresholds (fastsparsegams).

    How many of them, at most so many, is what has the least log loss on a fifth of the rows; then all rows are fitted.
    """
    fit = import_module("fastsparsegams").fit
    (X, X_test), (y, _) = rows.stumps, rows.codes

    def path(X: Floats, y: Any) -> tuple[Any, dict[int, float]]:
        model = fit(X, 2.0 * y - 1.0, loss="Logistic", penalty="L0", algorithm="CDPSI", max_support_size=size)
        characteristics = model.characteristics()
        counts = characteristics["support_size"].astype(int)
        return model, {k: lam for k, lam in zip(counts, characteristics["l0"], strict=True) if 0 < k <= size}

    def choose() -> None:
        X_fit, X_held, y_fit, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
        model, tried = path(X_fit, y_fit)
        losses = {k: log_loss(y_held, both(model.predict(X_held, lambda_0=lam))) for k, lam in tried.items()}
        best = min(losses, key=lambda k: losses[k])
        model, grown = path(X, y)
        count = max((k for k in grown if k <= best), default=min(grown))
        answers.append((count, both(model.predict(X_test, lambda_0=grown[count]))))

    answers: list[tuple[int, Floats]] = []
    seconds = timed(choose)
    count, probabilities = answers[0]
    return Answer(probabilities, seconds, count)


def boosted_points(rows: ClassRows, size: int, seed: int) -> Answer:
    """Boosted thresholds that a card adds up (GBRS): as many rounds as leave at most so many thresholds."""
    GBRS = import_module("gbrs").GBRS
    (X, X_test), (y, _) = rows.numbers, rows.codes

    def choose() -> None:
        for rounds in (2**k for k in range(12)):
            model = GBRS(n_iter=rounds, lr=0.3, n_quantiles=CUTS)
            model.fit_proba(np.ascontiguousarray(X), y.astype(float))
            inner = model._model
            terms = zip(inner.get_idxs(), inner.get_split_val(), inner.get_params().w, strict=True)
            kept = {(column, cut) for column, cut, weight in terms if weight}
            if len(kept) > size:
                break
            fits.append((len(kept), model))

    fits: list[tuple[int, Any]] = []
    seconds = timed(choose)
    count, model = fits[-1]
    return Answer(both(model.predict_proba(np.ascontiguousarray(X_test))), seconds, count)


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


# -- all of them -------------------------------------------------------------------------------------------------

SIZES = (5, 10, 20, 40)
SMALL = (5, 10)
"""The sizes of risk scores."""

EQUAL: dict[str, tuple[str, Fit, tuple[int, ...]]] = {
    "bgn": ("BGN", two_columns, SIZES),
    "bgn_1": ("BGN, rules on one column", one_column, SIZES),
    "tree": ("tree", tree, SIZES),
    "tree_tuned": ("tree, least leaf tuned", tuned_tree, SIZES),
    "figs": ("FIGS", figs, SIZES),
    "stumps": ("L1 logistic regression on stumps", sparse_stumps, SIZES),
    "steps": ("fastsparsegams", sparse_steps, SIZES),
    "gbrs": ("GBRS", boosted_points, SIZES),
    "fasterrisk": ("FasterRisk", fasterrisk, SMALL),
    "bgn_points": ("BGN, whole points", risk_score, SMALL),
}
"""Models by their size: what they are called, how they are fitted, at which sizes."""

OURS = ("bgn", "bgn_1", "bgn_points", "bgn_any", "bgn_accurate")
TWO_ONLY = ("stumps", "steps", "gbrs", "fasterrisk", "bgn_points", "bgn_accurate")

FREE: dict[str, tuple[str, Fit]] = {
    "bgn_any": ("BGN, our defaults", any_size),
    "bgn_accurate": ("BGN, accurate()", preset),
    "logistic": ("logistic regression, all columns", logistic),
    "lightgbm": ("LightGBM, tuned", boosting),
    "hgb": ("HistGradientBoosting", hist_boosting),
    "ebm": ("EBM", ebm),
}
"""Models of any size, which show what could be had."""
