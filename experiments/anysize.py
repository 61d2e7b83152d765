"""Models of whatever size serves them best, with the effort a careful user would spend; one thread each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from experiments.data import Rows
from experiments.rivals import Candidate, distinct_stumps, figs_splits, splits, timed


def tree(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield trees of ever more leaves."""
    for leaf in (1, 5, 20):
        for power in range(2, int(np.log2(most)) + 1):
            model = DecisionTreeRegressor(max_leaf_nodes=2**power, min_samples_leaf=leaf, random_state=seed)
            seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
            yield Candidate(f"leaves of {leaf}", splits(model), 0, model.predict, seconds)


def figs(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield sums of trees of up to 50 splits."""
    from imodels import FIGSRegressor

    for size in (10, 20, 35, 50):
        np.random.seed(seed)  # noqa: NPY002 - FIGS breaks ties by NumPy's own generator, whatever random_state is
        model = FIGSRegressor(max_rules=min(size, most), random_state=seed)
        seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
        yield Candidate(f"at most {size} splits", figs_splits(model), 0, model.predict, seconds)


def rulefit(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield RuleFit as imodels ships it: at most 30 terms, linear ones included."""
    from imodels import RuleFitRegressor

    model = RuleFitRegressor(max_rules=min(30, most), random_state=seed)
    seconds = timed(lambda: model.fit(rows.X, rows.y))
    terms = int(np.count_nonzero(model.coef[: rows.X.shape[1]]))
    conditions = sum(len(rule.agg_dict) for rule in model.rules_without_feature_names_)
    yield Candidate("at most 30 terms", conditions, terms, model.predict, seconds)


def ebm(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield an EBM without pairs of features."""
    return _ebm(rows, seed, most, 0)


def ebm_pairs(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield an EBM as it comes, with pairs of features."""
    return _ebm(rows, seed, most, "3x")


def _ebm(rows: Rows, seed: int, most: int, pairs: int | str) -> Iterator[Candidate]:
    from interpret.glassbox import ExplainableBoostingRegressor

    limits = {"max_bins": min(1024, most), "max_interaction_bins": min(64, most), "max_rounds": min(50_000, most)}
    model = ExplainableBoostingRegressor(interactions=pairs, n_jobs=1, random_state=seed, **limits)
    seconds = timed(lambda: model.fit(rows.X, rows.y))
    entries = sum(int(np.size(scores)) for scores in model.term_scores_)
    yield Candidate("default settings", entries, 0, model.predict, seconds)


def stumps(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield boosted stumps, as many as validate best."""
    import xgboost

    for rate in (0.3, 0.1):
        model = xgboost.XGBRegressor(
            max_depth=1, n_estimators=min(4000, most), learning_rate=rate, early_stopping_rounds=50,
            n_jobs=1, random_state=seed,
        )  # fmt: skip
        seconds = timed(
            lambda m=model: m.fit(rows.X, rows.y, eval_set=[(rows.X_validation, rows.y_validation)], verbose=False)
        )
        yield Candidate(f"step {rate:g}", distinct_stumps(model)[model.best_iteration], 0, model.predict, seconds)


def boosting(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield boosted trees (LightGBM) of two sizes and two least leaf sizes, as many as validate best."""
    import lightgbm

    for leaves in (15, 63):
        for least in (5, 20):
            model = lightgbm.LGBMRegressor(
                n_estimators=min(3000, most), num_leaves=leaves, min_child_samples=least, learning_rate=0.05,
                n_jobs=1, random_state=seed, verbosity=-1,
            )  # fmt: skip
            stop = lightgbm.early_stopping(50, verbose=False)
            seconds = timed(
                lambda m=model, s=stop: m.fit(
                    rows.X, rows.y, eval_set=[(rows.X_validation, rows.y_validation)], callbacks=[s]
                )
            )
            trees = model.booster_.dump_model(num_iteration=model.best_iteration_)["tree_info"]
            size = sum(each["num_leaves"] - 1 for each in trees)
            yield Candidate(f"{leaves} leaves of {least}", size, 0, model.predict, seconds)


def gam(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield a spline a column (pyGAM), four strengths of smoothing."""
    from pygam import LinearGAM

    for strength in (0.1, 1.0, 10.0, 100.0):
        model = LinearGAM(lam=strength)
        seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
        yield Candidate(f"smoothing {strength:g}", int(np.size(model.coef_)), 0, model.predict, seconds)


def lasso(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield least squares and the Lasso with its penalty by cross-validation."""
    for name, line in (("least squares", LinearRegression()), ("LassoCV", LassoCV(random_state=seed))):
        model = make_pipeline(StandardScaler(), line)
        seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
        yield Candidate(name, 0, int(np.count_nonzero(model[-1].coef_)), model.predict, seconds)
