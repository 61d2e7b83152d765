"""The models that people use today, each a family of candidates: what was set, how large it came out, how to predict.

Here are families made of threshold conditions, from one condition up; ``anysize`` has models of whatever size serves
them best. Every family gets a grid of comparable effort; ``peers`` chooses among its candidates on validation rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV, LinearRegression, lasso_path
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from experiments.data import Floats, Rows


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fitted model of a family.

    Parameters
    ----------
    setting : str
        What tells it from others of its family.
    size : int
        Threshold conditions, or what the family counts.
    linear_terms : int
        Terms of the form weight times column, on top of the conditions.
    predict : callable
        Rows in, values out.
    fit_seconds : float
        The processor's, to fit it or the path it was taken from.
    columns : int or None, default None
        Columns that its conditions and linear terms name; None for one each.
    raw : bool, default False
        Whether it predicts from columns as they are, words and gaps among them, and not from numbers.
    """

    setting: str
    size: int
    linear_terms: int
    predict: Callable[[Any], Any]
    fit_seconds: float
    columns: int | None = None
    raw: bool = False

    @property
    def conditions(self) -> int:
        """Conditions and linear terms together."""
        return self.size + self.linear_terms

    @property
    def named_columns(self) -> int:
        """Columns that its conditions and linear terms name, one as often as it is named."""
        return self.conditions if self.columns is None else self.columns


Family = Callable[[Rows, int, int], Iterator[Candidate]]
"""Rows, the seed and the largest size in; candidates out."""


def sizes_up_to(most: int) -> list[int]:
    """Return `most` and its halves, and one between each two: for families that are fitted anew for every size.

    Examples
    --------
    >>> sizes_up_to(40)
    [1, 2, 4, 5, 7, 10, 14, 20, 28, 40]
    """
    halves = {round(most / 2 ** (k / 2)) for k in range(2 * most.bit_length())}
    return sorted(size for size in halves if size > 0)


def timed(call: Callable[[], object]) -> float:
    """Return the processor's seconds for a call, which other work on the machine disturbs less than the clock's."""
    started = time.process_time()
    call()
    return time.process_time() - started


# -- trees and sums of trees -----------------------------------------------------------------------------------


def splits(tree: Any) -> int:
    """Return the internal nodes of a fitted scikit-learn tree."""
    return int((tree.tree_.children_left >= 0).sum())


def best_first_trees(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield trees grown best first, every size, three least leaf sizes."""
    for leaf in (1, 5, 20):
        for size in range(1, most + 1):
            tree = DecisionTreeRegressor(max_leaf_nodes=size + 1, min_samples_leaf=leaf, random_state=seed)
            seconds = timed(lambda t=tree: t.fit(rows.X, rows.y))
            yield Candidate(f"leaves of {leaf}", splits(tree), 0, tree.predict, seconds)


def shrunken_trees(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield the trees again, their leaves shrunk towards the nodes above (HSTree)."""
    from imodels import HSTreeRegressor

    for strength in (10.0, 50.0, 200.0):
        for size in sizes_up_to(most):
            tree = DecisionTreeRegressor(max_leaf_nodes=size + 1, random_state=seed)
            model = HSTreeRegressor(tree, reg_param=strength)
            seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
            yield Candidate(f"shrinkage {strength:g}", splits(model.estimator_), 0, model.predict, seconds)


def figs(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield sums of trees (FIGS): as many trees as it likes, or at most three."""
    from imodels import FIGSRegressor

    for trees in (None, 3):
        for size in sizes_up_to(most):
            np.random.seed(seed)  # noqa: NPY002 - FIGS breaks ties by NumPy's own generator, whatever random_state is
            model = FIGSRegressor(max_rules=size, max_trees=trees, random_state=seed)
            seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
            setting = "any number of trees" if trees is None else f"at most {trees} trees"
            yield Candidate(setting, figs_splits(model), 0, model.predict, seconds)


def figs_splits(model: Any) -> int:
    """Return the splits of all trees of a fitted FIGS."""

    def below(node: Any) -> int:
        return 0 if node.left is None else 1 + below(node.left) + below(node.right)

    return sum(map(below, model.trees_))


# -- stumps ----------------------------------------------------------------------------------------------------


def stumps(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield boosted stumps (XGBoost). Stumps that ask the same are one condition, so small steps cost nothing."""
    import xgboost

    for rate in (1.0, 0.3, 0.1):
        for bins in (16, 64, 256):
            model = xgboost.XGBRegressor(
                max_depth=1, n_estimators=15 * most, learning_rate=rate, max_bin=bins, random_state=seed, n_jobs=1
            )
            seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
            sizes = distinct_stumps(model)
            last = [k for k, size in enumerate(sizes, start=1) if size not in sizes[k : k + 1]]
            for count in sorted({*last, *sizes_up_to(len(sizes))}):
                if sizes[count - 1] <= most:
                    predict = _first_rounds(model, count)
                    yield Candidate(f"step {rate:g}, {bins} bins", sizes[count - 1], 0, predict, seconds)


def distinct_stumps(model: Any) -> list[int]:
    """Return how many different conditions the first 1, 2, ... stumps of a fitted XGBoost ask."""
    frame = model.get_booster().trees_to_dataframe()
    seen: set[tuple[str, float]] = set()
    counts = []
    for _, tree in frame.groupby("Tree", sort=True):
        conditions = tree[tree["Feature"] != "Leaf"]
        seen |= set(zip(conditions["Feature"], conditions["Split"], strict=True))
        counts.append(len(seen))
    return counts


def _first_rounds(model: Any, count: int) -> Callable[[Floats], Floats]:
    return lambda X: np.asarray(model.predict(X, iteration_range=(0, count)), dtype=np.float64)


# -- rules -----------------------------------------------------------------------------------------------------


def rules_only(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield RuleFit without linear terms."""
    return _rulefit(rows, seed, most, linear=False)


def rules_and_lines(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield RuleFit with linear terms, its default."""
    return _rulefit(rows, seed, most, linear=True)


def _rulefit(rows: Rows, seed: int, most: int, linear: bool) -> Iterator[Candidate]:
    """Yield RuleFit's own rules with the coefficients of its Lasso, all along the penalty's path.

    imodels makes the rules once for every penalty it tries; once is enough, and the path shows every size.
    """
    from imodels.util.extract import extract_rulefit

    names = [f"X{j}" for j in range(rows.X.shape[1])]
    for leaves in (2, 4):
        for rate in (0.01, 0.1):
            started = time.process_time()
            rules_as_text = extract_rulefit(
                rows.X, rows.y, names, n_estimators=100, tree_size=leaves, memory_par=rate, random_state=seed
            )
            rules = RuleTable(tuple(map(parse_rule, rules_as_text)), rows.X if linear else None)
            Z = rules.transform(rows.X)
            means = Z.mean(axis=0)
            intercept = float(rows.y.mean())
            _, paths, _ = lasso_path(Z - means, rows.y - intercept, eps=1e-3, n_alphas=100, max_iter=2000)
            seconds = time.process_time() - started
            for weights in paths.T:
                size, terms = rules.count(weights)
                if size + terms > most:
                    break
                predict = rules.predictor(weights, intercept - float(means @ weights))
                yield Candidate(f"trees of {leaves} leaves, step {rate:g}", size, terms, predict, seconds)


Rule = tuple[tuple[int, bool, float], ...]
"""Conditions that must all hold: column, whether greater, threshold."""


def parse_rule(rule: str) -> Rule:
    """Return the conditions of a rule such as ``"X0 <= 3.5 and X2 > 1.0"``, those on one side of a column merged.

    Examples
    --------
    >>> parse_rule("X0 <= 3.5 and X2 > 1.0 and X0 <= 2.0")
    ((0, False, 2.0), (2, True, 1.0))
    """
    tightest: dict[tuple[int, bool], float] = {}
    for condition in rule.split(" and "):
        name, sign, value = condition.split()
        key, threshold = (int(name[1:]), sign == ">"), float(value)
        kept = tightest.get(key, threshold)
        tightest[key] = max(kept, threshold) if key[1] else min(kept, threshold)
    return tuple((column, greater, threshold) for (column, greater), threshold in tightest.items())


@dataclass(frozen=True, eq=False)
class RuleTable:
    """RuleFit's columns: winsorised, scaled features when `lines_from` holds the training rows, then rules."""

    rules: tuple[Rule, ...]
    lines_from: Floats | None

    def transform(self, X: Floats) -> Floats:
        """Return a column a term."""
        holds = [
            np.logical_and.reduce([(X[:, j] > cut) if greater else (X[:, j] <= cut) for j, greater, cut in rule])
            for rule in self.rules
        ]
        columns = np.array(holds, dtype=np.float64).reshape(len(self.rules), len(X)).T
        return columns if self.lines_from is None else np.column_stack([self._lines(X), columns])

    def _lines(self, X: Floats) -> Floats:
        low, high = np.quantile(self.lines_from, [0.025, 0.975], axis=0)
        scale = np.clip(self.lines_from, low, high).std(axis=0)
        return 0.4 * np.clip(X, low, high) / np.where(scale > 0, scale, 1.0)

    def count(self, weights: Floats) -> tuple[int, int]:
        """Return the conditions of the rules and the linear terms that have a weight."""
        first = len(weights) - len(self.rules)
        conditions = sum(len(rule) for rule, weight in zip(self.rules, weights[first:], strict=True) if weight)
        return conditions, int((weights[:first] != 0).sum())

    def predictor(self, weights: Floats, intercept: float) -> Callable[[Floats], Floats]:
        """Return a function that predicts from the terms with a weight alone."""
        first = len(weights) - len(self.rules)
        used = [k for k in range(len(self.rules)) if weights[first + k]]
        small = RuleTable(tuple(self.rules[k] for k in used), self.lines_from)
        kept = np.concatenate([weights[:first], weights[first:][used]])
        return lambda X: small.transform(X) @ kept + intercept


# -- models of any size, with the effort a careful user would spend -------------------------------------------------


def tree(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield trees of ever more leaves."""
    for leaf in (1, 5, 20):
        for power in range(2, int(np.log2(most)) + 1):
            model = DecisionTreeRegressor(max_leaf_nodes=2**power, min_samples_leaf=leaf, random_state=seed)
            seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
            yield Candidate(f"leaves of {leaf}", splits(model), 0, model.predict, seconds)


def free_figs(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
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


def free_stumps(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
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
            size = sum(info["num_leaves"] - 1 for info in trees)
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


# -- models with linear terms ------------------------------------------------------------------------------------------


def lines(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield the Lasso's path: no threshold at all, a term for a condition."""
    started = time.process_time()
    scale = StandardScaler().fit(rows.X)
    intercept = float(rows.y.mean())
    _, paths, _ = lasso_path(scale.transform(rows.X), rows.y - intercept)
    seconds = time.process_time() - started
    for weights in paths.T:
        if 0 < np.count_nonzero(weights) <= most:
            predict = _line(scale, weights, intercept)
            yield Candidate("penalty's path", 0, int(np.count_nonzero(weights)), predict, seconds)


def _line(scale: StandardScaler, weights: Floats, intercept: float) -> Callable[[Floats], Floats]:
    return lambda X: scale.transform(X) @ weights + intercept


def aplr(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield piecewise linear regressions (APLR) with ever more terms, each a slope or a hinge of one column."""
    from aplr import APLRRegressor

    for terms in sizes_up_to(most):
        model = APLRRegressor(max_terms=terms, random_state=seed, max_interaction_level=0, n_jobs=1)
        seconds = timed(lambda m=model: m.fit(rows.X, rows.y))
        size = int(np.count_nonzero(model.get_term_coefficients()[1:]))
        if size <= most:
            yield Candidate(f"{terms} terms", size, 0, model.predict, seconds)


def aplr_default(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield APLR as it comes."""
    from aplr import APLRRegressor

    model = APLRRegressor(random_state=seed, n_jobs=1, m=min(3000, 10 * most))
    seconds = timed(lambda: model.fit(rows.X, rows.y))
    size = int(np.count_nonzero(model.get_term_coefficients()[1:]))
    yield Candidate("default settings", size, 0, model.predict, seconds)


ROWS, KNOTS = 2000, 25
"""MARS learns from so many rows, drawn by the seed, and looks at about so many knots per column: its package is written
in Python, and takes minutes to hours otherwise."""


def mars(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield MARS with ever more hinges of one column each."""
    sizes = [size for size in sizes_up_to(most) if size in (5, 10, 20) or size < 3]
    return (_mars(rows, seed, size, 1) for size in sizes)


def mars_default(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield MARS of up to 20 terms, hinges of one column each and products of two."""
    return (_mars(rows, seed, min(20, most), degree) for degree in (1, 2))


def _mars(rows: Rows, seed: int, size: int, degree: int) -> Candidate:
    from pymars import Earth

    chosen = np.random.default_rng(seed).permutation(len(rows.y))[:ROWS]
    X, y = rows.X[chosen], rows.y[chosen]
    model = Earth(max_degree=degree, max_terms=size + 1, minspan=max(1, len(chosen) // KNOTS))
    seconds = timed(lambda: model.fit(X, y))
    conditions = sum(len(product.get_involved_variables()) for product in model.basis_)
    return Candidate(f"{size} terms of degree {degree}", conditions, 0, model.predict, seconds)


def cubist(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield Cubist with ever more rules: each has conditions, and a slope per column of its line."""
    for rules in range(1, 12):
        candidate = _cubist(rows, {"n_rules": rules}, seed)
        if candidate.size + candidate.linear_terms <= most:
            yield candidate


def cubist_default(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield Cubist as it comes, and with ten committees."""
    return (_cubist(rows, {"n_committees": count}, seed) for count in (1, min(10, most)))


def _cubist(rows: Rows, setting: dict[str, Any], seed: int) -> Candidate:
    from cubist import Cubist

    model = Cubist(random_state=seed, **setting)
    seconds = timed(lambda: model.fit(rows.X, rows.y))
    linear_terms = model.coeffs_.drop(columns=["(Intercept)", "committee", "rule"]).notna().to_numpy().sum()
    conditions = 0 if model.splits_ is None else len(model.splits_)
    (name, count), *_ = setting.items()
    return Candidate(f"{name} {count}", conditions, int(linear_terms), model.predict, seconds)


def pilot(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield PILOT trees of ever more depth: splits, and lines along the way."""
    for depth in range(1, 7):
        for nodes in range(depth, 2 * depth + 3):
            candidate = _pilot(rows, {"max_depth": depth, "max_model_depth": nodes})
            if 0 < candidate.size + candidate.linear_terms <= most:
                yield candidate


def pilot_default(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield PILOT as it comes, and without a least gain."""
    return (_pilot(rows, {"rel_tolerance": least}) for least in (0.01, 0.0))


def _pilot(rows: Rows, setting: dict[str, Any]) -> Candidate:
    from pilot import PILOT

    model = PILOT(**setting)
    seconds = timed(lambda: model.train(rows.X, rows.y))
    kinds = model.tree_summary()["node_type"].value_counts()
    splits = sum(int(kinds.get(kind, 0)) for kind in ("pcon", "blin", "plin", "pconc"))
    # Of a node with a split each side has its slope, but for the piecewise constant one.
    linear_terms = int(kinds.get("lin", 0)) + 2 * sum(int(kinds.get(kind, 0)) for kind in ("blin", "plin"))
    setting_text = ", ".join(f"{name} {value}" for name, value in setting.items())
    return Candidate(setting_text, splits, linear_terms, model.predict, seconds)
