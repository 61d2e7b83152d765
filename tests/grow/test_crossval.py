"""Cross-validation: every row is held out once, and a width's loss is that of networks that did not see its rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNRegressor, GrowthSettings
from bgn.engines.raw_rows import RowsInMemory
from bgn.grow.rows import FEW_ROWS, assign_rows
from bgn.inputs.arguments import seed_of
from tests.growing import same, table
from tests.networks import linear_coef_of

QUICK = {"max_terms": 4, "growth": GrowthSettings(max_replacements=1), "random_state": 0, "n_jobs": 1}


@given(st.integers(0, 2**31), st.integers(3, 40), st.integers(2, 6), st.booleans())
@settings(max_examples=25)
def test_every_row_is_held_out_once(seed, rows, folds, weighted):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (rows, 2)).astype(float), rng.integers(0, 2, rows).astype(float)
    weight = rng.integers(1, 4, rows).astype(float) if weighted else None
    result, _ = assign_rows(RowsInMemory(X, y, weight), None, 0.2, 0, cv=folds)
    if len(np.unique(np.column_stack([X, y]), axis=0)) == 1 or not result.folds:
        return
    assert result.validation is None
    assert sum(fold.validation.total for fold in result.folds) == result.train.total
    for fold in result.folds:
        assert fold.train.total + fold.validation.total == result.train.total
        train, held = (
            {(*row, target) for *row, target in np.vstack([rows.part.columns, rows.part.target]).T}
            for rows in (fold.train, fold.validation)
        )
        assert not train & held  # equal rows stay on one side


def test_losses_are_those_of_networks_that_did_not_see_the_rows():
    """Grown fold by fold, with `eval_set` for the rows left out."""
    X, y = table(200)
    folds = assign_rows(RowsInMemory(X, y), None, 0.2, seed_of(0), cv=3)[0].folds
    setting = {"max_terms": 3, "max_features": 1, "shrinkage": 1.0, "random_state": 0}
    model = BGNRegressor(**setting, growth=GrowthSettings(max_replacements=0), cv=3).fit(X, y)
    held = [np.isin(X[:, 0], fold.validation.part.columns[0]) for fold in folds]
    np.testing.assert_array_equal(np.sum(held, axis=0), 1)
    losses = []
    for out in held:
        one = BGNRegressor(**setting, digits=None, growth=GrowthSettings(max_replacements=0, patience=None))
        one.fit(X[~out], y[~out], eval_set=(X[out], y[out]))
        losses.append([out.sum() * snapshot.validation_loss for snapshot in one.history_.paths[0]])
    expected = np.sum(losses, axis=0) / len(y)
    np.testing.assert_allclose([one.validation_loss for one in model.history_.paths[0]], expected, rtol=1e-3)
    assert model.history_.best_size == int(np.argmin(expected))
    assert model.history_.n_validation == len(y)
    assert model.history_.stopped == "max_terms"


@pytest.mark.parametrize("direction", ["search", "lasso"])
def test_the_same_bits_wherever_the_rows_live_and_in_any_order(engine, direction):
    X, y = table(120, seed=2)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = BGNRegressor(**QUICK, direction=direction, cv=2)
    expected = model.fit(X, y, weight).history_
    assert same(engine(model, X, y, weight).history_, expected)
    order = np.random.default_rng(1).permutation(len(y))
    assert same(model.set_params(n_jobs=3).fit(X[order], y[order], weight[order]).history_, expected)


def test_few_rows_are_cross_validated_by_default(tmp_path):
    X, y = table(90)
    model = BGNRegressor(**QUICK).fit(X, y)
    assert model.history_.cross_validated
    assert all(math.isnan(record.validation_loss) for record in model.history_)
    bgn.save(model, tmp_path / "m.json")
    assert bgn.load(tmp_path / "m.json").history_.cross_validated
    many = np.random.default_rng(0).normal(size=(FEW_ROWS + 1, 1))
    for changes, rows in (
        ({"cv": None}, {"X": X, "y": y}),
        ({"max_layers": 2}, {"X": X, "y": y}),
        ({"validation_fraction": 0.0}, {"X": X, "y": y}),
        ({}, {"X": X, "y": y, "eval_set": (X, y)}),
        ({"max_terms": 1}, {"X": many, "y": many[:, 0]}),
    ):
        assert not BGNRegressor(**QUICK | changes).fit(**rows).history_.cross_validated


def test_folds_that_cannot_be_are_named():
    X, y = table(60)
    for cv in (1, 2.5, "some", True):
        with pytest.raises(ValueError, match="cv must be a whole number, at least 2"):
            BGNRegressor(cv=cv).fit(X, y)
    assert BGNRegressor(cv=50, **QUICK).fit(X[:4], y[:4]).predict(X).shape == (60,)


def test_noise_is_answered_by_its_mean():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    model = BGNRegressor(random_state=0, growth=GrowthSettings(max_replacements=0)).fit(X, y)
    assert model.history_.best_size <= 2
    assert np.std(model.predict(X)) < 0.5
    assert model.history_.stopped in ("patience", "no gain")  # lines alone, of which there is one per column


@pytest.mark.parametrize("reported", [{}, {"cv": None}], ids=["folds", "validation rows"])
def test_linear_terms_among_rules_are_not_shrunk_as_many_steps_are(reported):
    """Steps along a line do best with a large penalty; with it a line and a step lost to forty steps."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (300, 4))
        truth = 3 * X[:, 0] + 2 * X[:, 1] + 2.0 * (X[:, 2] > 0.3)
        model = BGNRegressor(max_terms=20, growth=GrowthSettings(2), random_state=seed, n_jobs=1, **reported)
        network = model.fit(X, truth + 0.1 * rng.normal(size=300)).network_
        assert linear_coef_of(network).ravel()[:2] == pytest.approx([3, 2], abs=0.06)
        assert np.mean((network.predict(X) - truth) ** 2) < 0.01
