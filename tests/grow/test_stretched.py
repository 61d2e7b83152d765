"""Scores stretched as folds tell, against their definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNClassifier, GrowthSettings
from bgn.engines.raw_rows import RowsInMemory
from bgn.grow import network as crossval
from bgn.grow.losses import loss_of
from bgn.grow.out_of_fold import FoldScores, stretches
from bgn.grow.rows import assign_rows
from tests.growing import same


def _row_sets(rng: np.random.Generator, classes: int, rows: int = 60, weighted: bool = False):
    X = rng.integers(-2, 3, (rows, 2)).astype(float)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)]).astype(float)
    weight = rng.integers(1, 5, rows) / 2.0 if weighted else None
    return assign_rows(RowsInMemory(X, y, weight), None, 0.2, 0, loss=loss_of(range(classes)), cv=3)[0]


@given(st.integers(0, 2**31), st.sampled_from([2, 3]), st.sampled_from([0.25, 1.0, 4.0]))
@settings(max_examples=40)
def test_a_stretch_is_the_best_of_all_or_one(seed, classes, scale):
    rng = np.random.default_rng(seed)
    row_sets = _row_sets(rng, classes, 120)
    shape = () if classes == 2 else (classes,)
    folds = []
    for fold in row_sets.folds:
        part, loss = fold.validation.part, fold.validation.loss
        own = 2.0 * part.target - 1.0 if classes == 2 else 2.0 * np.eye(classes)[part.target] - 1.0
        scores = tuple(scale * size * (own + rng.normal(size=own.shape)) for size in range(3))
        folds.append(FoldScores(part, loss, scores, np.zeros(shape)))
    grid = np.arange(8, 33) / 16
    for size, stretch in enumerate(stretches(folds, 3)):
        losses = [sum(fold.total(size, one) for fold in folds) for one in grid]
        assert stretch == 1.0 or sum(fold.total(size, stretch) for fold in folds) == min(losses)


def test_scores_too_near_to_one_another_are_stretched():
    """Log-odds that are half of the true ones, on many rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1))
    y = rng.random(3000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    row_sets = assign_rows(RowsInMemory(X, y.astype(float)), None, 0.2, 0, loss=loss_of((0, 1)), cv=5)[0]
    parts = [(one.validation.part, one.validation.loss) for one in row_sets.folds]
    folds = [FoldScores(part, loss, (part.columns[0],) * 2, 0.0) for part, loss in parts]
    assert stretches(folds, 2)[1] == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("classes", [pytest.param(2, marks=pytest.mark.exhaustive), 3])
def test_the_same_bits_wherever_rows_with_classes_live(engine, classes, monkeypatch):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(150, 3)).round(1)
    y = ((X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=150)) > 0).astype(int) + (classes > 2) * (X[:, 1] > 1)
    monkeypatch.setattr(crossval, "_TELLING", 1)
    model = BGNClassifier(max_terms=4, growth=GrowthSettings(max_replacements=2), cv=2, random_state=0, n_jobs=1)
    expected = model.fit(X, y).history_
    assert same(engine(model, X, y, None).history_, expected)
    order = rng.permutation(len(y))
    assert same(model.set_params(n_jobs=3).fit(X[order], y[order]).history_, expected)


def test_monotone_classes_stay_monotone_when_stretched():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(2500, 2)).round(1), columns=["x0", "x1"])
    y = rng.random(2500) < 1 / (1 + np.exp(-3 * X.x0.to_numpy()))
    model = BGNClassifier(max_terms=6, monotonic_cst=[1, 0], cv=3, shrinkage=600, random_state=0).fit(X, y)
    scores, weights = model.network_.raw_score(X), model.history_.paths[0][-1].output_weights
    assert (weights >= 0).all()
    assert np.ptp(scores) > 2
    assert bgn.certify(model)["x0"].direction in ("increasing", "constant")
