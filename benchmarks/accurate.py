"""The preset for accuracy, `accurate()`, beside the models that people take when size is no concern.

Numbers (``numbers``): the seven tables of the study, a quarter of the rows for testing. Mean test MSE over seeds and
the processor's seconds per fit of `BGNRegressor.accurate()`, of four networks of two layers (``deep``), of an EBM with
pairs, of LightGBM (the grid of ``experiments.rivals``, chosen on validation rows) and of LassoCV.

Classes (``classes``): the seven tables of two classes, a quarter of the rows for testing. AUC and log loss of
`BGNClassifier.accurate()`, of an EBM as it comes, of LightGBM and of logistic regression.

Explanations (``explain``): SHAP values of 10,000 rows against 10,000, importances and an effect, of an average.

Deviation (``deviation``): what `return_std` tells, beside how far predictions vary over ten tables drawn alike, and
how far they lie from the truth.

    python -m benchmarks.accurate [numbers] [classes] [explain] [deviation] [--tables housing bike] [--seeds 3]

BGN and the EBM, which set rows aside by themselves, are fitted to the training and validation rows of the study
together; LightGBM learns from the former and stops by the latter; LassoCV takes both. One thread each; the tables are
found through BGN_DATA.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bgn
from experiments import data, rivals
from experiments.classrivals import tuned_boosting
from experiments.rivals import timed
from experiments.store import Task

Figures = dict[str, tuple[float, ...]]


def numbers(name: str, seed: int, without: list[str]) -> Figures:
    """Return test MSE, seconds and size of every model on one split of a table."""
    rows = data.split(Task("peers", name, "free", {}, seed, data.paper_split()))
    X, y = np.vstack([rows.X, rows.X_validation]), np.concatenate([rows.y, rows.y_validation])

    def accurate(**changes: Any) -> tuple[float, ...]:
        model = bgn.BGNRegressor.accurate(n_jobs=1, random_state=seed, **changes)
        return (*_evaluate(model, X, y, rows), model.network_.widths[-1])

    def deep() -> tuple[float, ...]:
        return accurate(max_layers=2, ensemble=4)

    def ebm() -> tuple[float, ...]:
        from interpret.glassbox import ExplainableBoostingRegressor

        return _evaluate(ExplainableBoostingRegressor(n_jobs=1, random_state=seed), X, y, rows)

    def lightgbm() -> tuple[float, ...]:
        candidates = list(rivals.boosting(rows, seed, 2**16))
        predictions = [candidate.predict(rows.X_validation) for candidate in candidates]
        errors = [float(np.mean((predicted - rows.y_validation) ** 2)) for predicted in predictions]
        best = candidates[int(np.argmin(errors))]
        return _mse(best.predict, rows), sum(candidate.fit_seconds for candidate in candidates)

    def lasso() -> tuple[float, ...]:
        return _evaluate(make_pipeline(StandardScaler(), LassoCV(random_state=seed)), X, y, rows)

    models = {"accurate": accurate, "deep": deep, "ebm": ebm, "lightgbm": lightgbm, "lasso": lasso}
    return {name: fit() for name, fit in models.items() if name not in without}


def _evaluate(model: Any, X: Any, y: Any, rows: Any) -> tuple[float, ...]:
    seconds = timed(lambda: model.fit(X, y))
    return _mse(model.predict, rows), seconds


def _mse(predict: Callable[[Any], Any], rows: Any) -> float:
    return float(np.mean((np.ravel(predict(rows.X_test)) - rows.y_test) ** 2))


def classes(name: str, seed: int, without: list[str]) -> Figures:
    """Return AUC, log loss, seconds and size of every model on one split of a table."""
    rows = data.class_split(Task("classes", name, "free", {}, seed, data.stratified_split()))
    (X, X_test), (y, y_test) = rows.numbers, rows.codes

    def evaluate(model: Any, *given: Any) -> tuple[float, ...]:
        seconds = timed(lambda: model.fit(*given[:2]))
        second = model.predict_proba(given[2])[:, 1]
        return float(roc_auc_score(y_test, second)), float(log_loss(y_test, np.clip(second, 1e-15, 1 - 1e-15))), seconds

    def accurate() -> tuple[float, ...]:
        model = bgn.BGNClassifier.accurate(n_jobs=1, random_state=seed)
        return (*evaluate(model, rows.X, rows.y, rows.X_test), model.network_.widths[-1])

    def ebm() -> tuple[float, ...]:
        from interpret.glassbox import ExplainableBoostingClassifier

        return evaluate(ExplainableBoostingClassifier(n_jobs=1, random_state=seed), X, y, X_test)

    def lightgbm() -> tuple[float, ...]:
        return evaluate(tuned_boosting(seed), X, y, X_test)

    def logistic() -> tuple[float, ...]:
        return evaluate(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), X, y, X_test)

    models = {"accurate": accurate, "ebm": ebm, "lightgbm": lightgbm, "lasso": logistic}
    return {name: fit() for name, fit in models.items() if name not in without}


def explain(seed: int) -> None:
    """Print how long explanations of an average take."""
    rows = data.split(Task("peers", "housing", "free", {}, seed, data.paper_split()))
    model = bgn.BGNRegressor.accurate(random_state=seed).fit(rows.X, rows.y)
    some = rows.X[:10_000]
    bgn.shap_values(model, some[:10], some[:10])  # compiles
    print(f"average of {len(model.history_.members)} networks, {model.network_.widths[-1]:,} neurons")
    for label, work in (
        ("SHAP values of 10,000 rows against 10,000", lambda: bgn.shap_values(model, some, some)),
        ("importance over 1,000 rows", lambda: bgn.importance(model, some[:1000])),
        ("effect of a column over 1,000 rows", lambda: bgn.effect(model, 0, some[:1000])),
    ):
        begun, used = time.perf_counter(), time.process_time()
        work()
        print(f"{label}: {time.perf_counter() - begun:.1f} s, the processors' {time.process_time() - used:.1f} s")


def deviation() -> None:
    """Print what the spread of the networks tells, beside what it stands for."""
    rng = np.random.default_rng(0)
    rows, predicted, deviations = rng.uniform(-1, 1, (200, 5)), [], []

    def truth(X: Any) -> Any:
        return np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]

    for seed in range(10):
        X = rng.uniform(-1, 1, (500, 5))
        growth = bgn.GrowthSettings(max_replacements=0, patience=20)
        settings: dict[str, Any] = {"max_terms": 60, "growth": growth, "shrinkage": 20.0}
        model = bgn.BGNRegressor(ensemble=8, random_state=seed, n_jobs=1, **settings)
        model.fit(X, truth(X) + rng.normal(0, 0.4, 500))
        mean, error = model.predict(rows, return_std=True)
        predicted.append(mean)
        deviations.append(error)
    print(f"standard error told: {np.sqrt(np.mean(np.square(deviations))):.3f}")
    print(f"standard deviation over tables: {np.sqrt(np.var(predicted, axis=0, ddof=1).mean()):.3f}")
    print(f"distance from the truth: {np.sqrt(np.mean((np.array(predicted) - truth(rows)) ** 2)):.3f}")


def table(fit: Callable[..., Figures], names: tuple[str, ...], titles: str, options: argparse.Namespace) -> None:
    """Print the means over seeds, one line per table and model, as they come."""
    print(f"{'table':<24} {'model':<10} {titles}")
    for name in options.tables or names:
        results: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(options.seeds):
            for model, figures in fit(name, seed, options.without).items():
                results.setdefault(model, []).append(figures)
        for model, figures in results.items():
            means = np.mean(figures, axis=0)
            print(f"{name:<24} {model:<10} " + " ".join(f"{value:>12.5g}" for value in means), flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["numbers", "classes", "explain", "deviation"])
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--without", nargs="*", default=[], help="models to leave out: deep, ebm, lightgbm, lasso")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    bgn.BGNRegressor(max_terms=2, cv=None).fit(np.arange(40.0).reshape(20, 2), np.arange(20.0))  # compiles
    if "numbers" in options.parts:
        table(numbers, data.TABLES, f"{'MSE':>12} {'seconds':>12} {'neurons':>12}", options)
    if "classes" in options.parts:
        table(classes, data.TWO, f"{'AUC':>12} {'log loss':>12} {'seconds':>12} {'neurons':>12}", options)
    if "explain" in options.parts:
        explain(0)
    if "deviation" in options.parts:
        deviation()


if __name__ == "__main__":
    main()
