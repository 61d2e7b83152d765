"""Models that add up thresholds of single columns, with weights or with points, fitted once each."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from experiments.classanswers import Answer, both
from experiments.classdata import CUTS, ClassRows, Floats
from experiments.rivals import timed

POINTS = 5
"""Most points of a question of a risk score, and least with a minus."""


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
    return Answer(both(second), seconds, int(np.count_nonzero(points)))


def sparse_steps(rows: ClassRows, size: int, seed: int) -> Answer:
    """L0-penalised logistic regression on thresholds (fastsparsegams).

    How many of them, at most so many, is what has the least log loss on a fifth of the rows; then all rows are fitted.
    """
    fit = import_module("fastsparsegams").fit
    (X, X_test), (y, _) = rows.stumps, rows.codes

    def path(X: Floats, y: Any) -> tuple[Any, dict[int, float]]:
        model = fit(X, 2.0 * y - 1.0, loss="Logistic", penalty="L0", algorithm="CDPSI", max_support_size=size)
        found = model.characteristics()
        counts = found["support_size"].astype(int)
        return model, {k: lam for k, lam in zip(counts, found["l0"], strict=True) if 0 < k <= size}

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
    count, found = answers[0]
    return Answer(found, seconds, count)


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
            found.append((len(kept), model))

    found: list[tuple[int, Any]] = []
    seconds = timed(choose)
    count, model = found[-1]
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
