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
from sklearn.linear_model import lasso_path
from sklearn.tree import DecisionTreeRegressor

from experiments.data import Floats, Rows


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fitted model of a family.

    Parameters
    ----------
    setting : str
        What sets it apart in its family.
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
        asked = tree[tree["Feature"] != "Leaf"]
        seen |= set(zip(asked["Feature"], asked["Split"], strict=True))
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
            found = extract_rulefit(
                rows.X, rows.y, names, n_estimators=100, tree_size=leaves, memory_par=rate, random_state=seed
            )
            rules = RuleTable(tuple(map(parse_rule, found)), rows.X if linear else None)
            Z = rules.transform(rows.X)
            centre = Z.mean(axis=0)
            base = float(rows.y.mean())
            _, paths, _ = lasso_path(Z - centre, rows.y - base, eps=1e-3, n_alphas=100, max_iter=2000)
            seconds = time.process_time() - started
            for weights in paths.T:
                size, terms = rules.count(weights)
                if size + terms > most:
                    break
                predict = rules.predictor(weights, base - float(centre @ weights))
                yield Candidate(f"trees of {leaves} leaves, step {rate:g}", size, terms, predict, seconds)


Rule = tuple[tuple[int, bool, float], ...]
"""Conditions that must all hold: column, whether above, threshold."""


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
    return tuple((column, above, threshold) for (column, above), threshold in tightest.items())


@dataclass(frozen=True, eq=False)
class RuleTable:
    """RuleFit's columns: winsorised, scaled features when `lines_from` holds the training rows, then rules."""

    rules: tuple[Rule, ...]
    lines_from: Floats | None

    def transform(self, X: Floats) -> Floats:
        """Return a column a term."""
        holds = [
            np.logical_and.reduce([(X[:, j] > cut) if above else (X[:, j] <= cut) for j, above, cut in rule])
            for rule in self.rules
        ]
        columns = np.array(holds, dtype=np.float64).reshape(len(self.rules), len(X)).T
        return columns if self.lines_from is None else np.column_stack([self._lines(X), columns])

    def _lines(self, X: Floats) -> Floats:
        low, high = np.quantile(self.lines_from, [0.025, 0.975], axis=0)
        spread = np.clip(self.lines_from, low, high).std(axis=0)
        return 0.4 * np.clip(X, low, high) / np.where(spread > 0, spread, 1.0)

    def count(self, weights: Floats) -> tuple[int, int]:
        """Return the conditions of the rules and the linear terms that have a weight."""
        first = len(weights) - len(self.rules)
        conditions = sum(len(rule) for rule, weight in zip(self.rules, weights[first:], strict=True) if weight)
        return conditions, int((weights[:first] != 0).sum())

    def predictor(self, weights: Floats, base: float) -> Callable[[Floats], Floats]:
        """Return a function that predicts from the terms with a weight alone."""
        first = len(weights) - len(self.rules)
        used = [k for k in range(len(self.rules)) if weights[first + k]]
        small = RuleTable(tuple(self.rules[k] for k in used), self.lines_from)
        kept = np.concatenate([weights[:first], weights[first:][used]])
        return lambda X: small.transform(X) @ kept + base


# -- shared ----------------------------------------------------------------------------------------------------


def timed(call: Callable[[], object]) -> float:
    """Return the processor's seconds for a call, which other work on the machine disturbs less than the clock's."""
    started = time.process_time()
    call()
    return time.process_time() - started
