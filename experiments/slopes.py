"""Models with slopes, each a family of candidates: lines, hinges, rules and trees with lines in their leaves.

A condition is a split, a hinge or the condition of a rule; a slope counts as one more (`Candidate.linear_terms`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import lasso_path
from sklearn.preprocessing import StandardScaler

from experiments.data import Floats, Rows
from experiments.rivals import Candidate, sizes_up_to, timed


def lines(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield the Lasso's path: no threshold at all, a term for a condition."""
    started = time.process_time()
    scale = StandardScaler().fit(rows.X)
    base = float(rows.y.mean())
    _, paths, _ = lasso_path(scale.transform(rows.X), rows.y - base)
    seconds = time.process_time() - started
    for weights in paths.T:
        if 0 < np.count_nonzero(weights) <= most:
            predict = _line(scale, weights, base)
            yield Candidate("penalty's path", 0, int(np.count_nonzero(weights)), predict, seconds)


def _line(scale: StandardScaler, weights: Floats, base: float) -> Callable[[Floats], Floats]:
    return lambda X: scale.transform(X) @ weights + base


# -- hinges ----------------------------------------------------------------------------------------------------


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
    conditions = sum(len(each.get_involved_variables()) for each in model.basis_)
    return Candidate(f"{size} terms of degree {degree}", conditions, 0, model.predict, seconds)


# -- rules and trees with lines ----------------------------------------------------------------------------------


def cubist(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield Cubist with ever more rules: each has conditions, and a slope per column of its line."""
    for rules in range(1, 12):
        found = _cubist(rows, {"n_rules": rules}, seed)
        if found.size + found.linear_terms <= most:
            yield found


def cubist_default(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield Cubist as it comes, and with ten committees."""
    return (_cubist(rows, {"n_committees": count}, seed) for count in (1, min(10, most)))


def _cubist(rows: Rows, setting: dict[str, Any], seed: int) -> Candidate:
    from cubist import Cubist

    model = Cubist(random_state=seed, **setting)
    seconds = timed(lambda: model.fit(rows.X, rows.y))
    slopes = model.coeffs_.drop(columns=["(Intercept)", "committee", "rule"]).notna().to_numpy().sum()
    conditions = 0 if model.splits_ is None else len(model.splits_)
    (name, count), *_ = setting.items()
    return Candidate(f"{name} {count}", conditions, int(slopes), model.predict, seconds)


def pilot(rows: Rows, seed: int, most: int) -> Iterator[Candidate]:
    """Yield PILOT trees of ever more depth: splits, and lines along the way."""
    for depth in range(1, 7):
        for nodes in range(depth, 2 * depth + 3):
            found = _pilot(rows, {"max_depth": depth, "max_model_depth": nodes})
            if 0 < found.size + found.linear_terms <= most:
                yield found


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
    slopes = int(kinds.get("lin", 0)) + 2 * sum(int(kinds.get(kind, 0)) for kind in ("blin", "plin"))
    told = ", ".join(f"{name} {value}" for name, value in setting.items())
    return Candidate(told, splits, slopes, model.predict, seconds)
