"""Models that tell classes apart, each fitted once: how probable every class of the test rows is, size and seconds.

A size is a number of yes/no questions: neurons of a network, splits of trees, thresholds with a weight or with points.
Seconds are those of the processor for the fit alone, one thread; what turns words into numbers is not among them.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from experiments.classanswers import Answer, Fit, both, within_reason
from experiments.classdata import ClassRows, Floats
from experiments.classstumps import POINTS, boosted_points, fasterrisk, sparse_steps, sparse_stumps
from experiments.rivals import figs_splits, splits, timed

# -- ours ------------------------------------------------------------------------------------------------------


def two_columns(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN as it comes, at most so many questions."""
    return _answer(*_grown(rows, {"max_terms": size}, seed), rows.X_test)


def one_column(rows: ClassRows, size: int, seed: int) -> Answer:
    """BGN with questions about one column each."""
    return _answer(*_grown(rows, {"max_terms": size, "max_features": 1, "max_linear": 0}, seed), rows.X_test)


def any_width(rows: ClassRows, size: int, seed: int) -> Answer:
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
    found: list[Any] = []
    seconds += timed(lambda: found.append(bgn.simplify(model, rows.X, rows.y, points=POINTS)))
    network = found[0].network
    return Answer(both(network.predict(rows.X_test)), seconds, sum(network.widths))


def _grown(rows: ClassRows, setting: dict[str, Any], seed: int) -> tuple[Any, float]:
    """Return a fitted BGN and the seconds it took; what is compiled on first use is compiled before."""
    bgn.BGNClassifier(n_jobs=1, random_state=seed, **setting | {"max_terms": 2}).fit(rows.X, rows.y)
    model = bgn.BGNClassifier(n_jobs=1, random_state=seed, **setting)
    return model, timed(lambda: model.fit(rows.X, rows.y))


def _answer(model: Any, seconds: float, X_test: Any) -> Answer:
    """Questions and straight lines count alike."""
    size = sum(model.network_.widths) + len(model.network_.linear_terms)
    return Answer(model.predict_proba(X_test), seconds, size)


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


# -- all of them -------------------------------------------------------------------------------------------------

SIZES = (5, 10, 20, 40)
SMALL = (5, 10)
"""The sizes of risk scores."""

EQUAL: dict[str, tuple[str, Fit, tuple[int, ...]]] = {
    "bgn": ("BGN", two_columns, SIZES),
    "bgn_1": ("BGN, questions about one column", one_column, SIZES),
    "tree": ("tree", tree, SIZES),
    "tree_tuned": ("tree, least leaf tuned", tuned_tree, SIZES),
    "figs": ("FIGS", figs, SIZES),
    "stumps": ("L1 logistic regression on stumps", sparse_stumps, SIZES),
    "steps": ("fastsparsegams", sparse_steps, SIZES),
    "gbrs": ("GBRS", boosted_points, SIZES),
    "fasterrisk": ("FasterRisk", fasterrisk, SMALL),
    "bgn_points": ("BGN, whole points", risk_score, SMALL),
}
"""Models by their number of questions: what they are called, how they are fitted, at which sizes."""

OURS = ("bgn", "bgn_1", "bgn_points", "bgn_any", "bgn_accurate")
TWO_ONLY = ("stumps", "steps", "gbrs", "fasterrisk", "bgn_points", "bgn_accurate")

FREE: dict[str, tuple[str, Fit]] = {
    "bgn_any": ("BGN, our defaults", any_width),
    "bgn_accurate": ("BGN, accurate()", preset),
    "logistic": ("logistic regression, all columns", logistic),
    "lightgbm": ("LightGBM, tuned", boosting),
    "hgb": ("HistGradientBoosting", hist_boosting),
    "ebm": ("EBM", ebm),
}
"""Models of any size, which show what could be had."""
