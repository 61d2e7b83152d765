"""Sweeps: a neuron taken out is gone, every width is at least as good as before, and all rows grow what was found."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import BGNClassifier, BGNRegressor, GrowthSettings
from bgn.grow import rows as row_sets
from bgn.grow.directions.search import Search
from bgn.grow.layer import LayerSettings, Monitor
from bgn.grow.refit import Full
from bgn.grow.rows import RowSets
from bgn.grow.search import Sweeper, how_many
from tests.growing import engine_of, same


def made_up(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + np.sin(2 * X[:, 3]) + 0.1 * rng.normal(size=rows)


def sweeper(X, y, size=6, ridge=1.0, seed=0):
    engine = engine_of(X, y)
    rows = RowSets(engine, None, engine)
    limits = LayerSettings(size, 3, None)
    return Sweeper(rows, Search(rows, 2), Full(ridge), limits, np.random.default_rng(seed), Monitor(), 0)


@given(st.integers(0, 2**31), st.integers(0, 3), st.sampled_from([0.0, 1.0, 20.0]))
@settings(max_examples=15)
def test_a_rule_taken_out_leaves_the_fit_of_the_others(seed, slot, ridge):
    """From the definition: ridge least squares on the answers of the neurons that are left."""
    X, y = made_up(80, seed)
    growth = sweeper(X, y, 4, ridge)
    growth._up()
    if growth.state.n_rules < 4:
        return
    left = [*growth.state.rules]
    left[slot] = left[-1]
    left.pop()
    growth._take_out(slot)
    assert [*growth.state.rules] == left
    design = np.column_stack([np.ones(len(y)), *(np.where(one.holds(X), 1.0, -1.0) for one in left)])
    gram = design.T @ design + np.diag([0.0] + [ridge] * len(left))
    weights = np.linalg.lstsq(gram, design.T @ y, rcond=None)[0]
    grid = growth.rows.train.loss.grid
    output = growth.state.output
    predicted = design @ np.append(grid.value(output.base) + grid.center, grid.value(output.weights))
    np.testing.assert_allclose(predicted, design @ weights, atol=1e-4 * np.ptp(y))
    squares = growth.rows.train.loss.mean(growth.state.loss, len(y))
    assert squares == pytest.approx(np.mean((y - predicted) ** 2), rel=1e-6)


@given(st.integers(0, 2**31))
@settings(max_examples=10)
def test_no_size_gets_worse_and_larger_is_better(seed):
    X, y = made_up(120, seed)
    losses = []
    for sweeps in (0, 2):
        growth = sweeper(X, y, seed=seed)
        growth.plan(sweeps)
        losses.append([growth.fitter.objective(growth._best[size]) for size in range(len(growth._best))])
    assert len(losses[0]) <= len(losses[1])
    assert all(after <= before for before, after in zip(*losses, strict=False))
    assert all(wider < narrower for narrower, wider in pairwise(losses[1]))


def test_all_rows_grow_what_the_sweeps_chose():
    X, y = made_up(150)
    growth = sweeper(X, y, 8)
    plan = growth.plan(2)
    assert len(plan.layers) == 9
    growth = GrowthSettings(sweeps=2, max_replacements=3)
    model = BGNRegressor(max_terms=5, growth=growth, shrinkage=1.0, validation_fraction=0, digits=None)
    path = model.set_params(random_state=0).fit(X, y).history_.paths[0]
    assert [len(one.rules) for one in path] == [*range(6)]
    plain = model.set_params(growth=replace(growth, sweeps=0)).fit(X, y).history_.paths[0]
    assert path[5].train_loss < plain[5].train_loss
    records = model.set_params(growth=replace(growth, sweeps=1)).fit(X, y).history_.records
    assert [one.n_terms for one in records] == [1, 2, 3, 4, 5]
    assert np.mean((model.predict(X) - y) ** 2) == pytest.approx(model.history_.paths[0][-1].train_loss)


def test_short_numbers_are_evaluated_as_they_are():
    """What a snapshot says of its training loss is what its network's predictions have."""
    X, y = made_up(300)
    model = BGNRegressor(max_terms=8, growth=GrowthSettings(sweeps=3), validation_fraction=0, random_state=1).fit(X, y)
    for size in range(1, 9):
        network = model.history_.network(size)
        assert np.mean((network.predict(X) - y) ** 2) == pytest.approx(model.history_.paths[0][size].train_loss)


@pytest.mark.parametrize("rows", [60, 1000])
def test_same_bits_wherever_the_rows_live(engine, rows, monkeypatch):
    """Swept on a sample of the rows, and on all of them."""
    monkeypatch.setattr(row_sets, "SAMPLE_ROWS", rows)
    X, y = made_up(160)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    setting = {
        "max_terms": 3,
        "growth": GrowthSettings(sweeps=1, max_replacements=2),
        "max_linear": 0,
        "random_state": 2,
        "cv": None,
        "shrinkage": 1.0,
    }
    model = BGNRegressor(**setting, n_jobs=1)
    expected = model.fit(X.round(2), y, weight).history_
    assert same(engine(model, X.round(2), y, weight).history_, expected)
    once = model.set_params(growth=GrowthSettings(sweeps=0, max_replacements=2)).fit(X.round(2), y, weight).history_
    assert not same(once, expected)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_swept(classes):
    X, y = made_up(200)
    labels = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    losses = []
    for sweeps in (0, 2):
        growth = GrowthSettings(sweeps=sweeps)
        model = BGNClassifier(max_terms=4, growth=growth, shrinkage=1.0, validation_fraction=0, random_state=0)
        losses.append(model.fit(X, labels).history_.paths[0][-1].train_loss)
    assert losses[1] <= losses[0] * 1.02


def test_the_paper_s_settings_have_none():
    X, y = made_up(100)
    paper = BGNRegressor.as_in_paper(max_terms=4, max_layers=1, random_state=0)
    assert paper.growth.sweeps == 0
    growth = replace(paper.growth, sweeps=3)
    more = BGNRegressor.as_in_paper(max_terms=4, max_layers=1, random_state=0, growth=growth)
    assert paper.fit(X, y).network_ == more.fit(X, y).network_


def test_few_sizes_are_swept_more_often():
    assert [how_many("auto", size) for size in (1, 5, 10, 20, 21, 1000)] == [60, 12, 6, 3, 1, 1]
    assert how_many(7, 1000) == 7


def test_time_and_callbacks():
    X, y = made_up(200)
    model = BGNRegressor(max_terms=5, growth=GrowthSettings(sweeps=50), max_seconds=0.0, random_state=0).fit(X, y)
    assert model.history_.stopped == "max_seconds"
    reported = []
    swept = {"max_terms": 5, "growth": GrowthSettings(sweeps=2), "max_linear": 0, "validation_fraction": 0}
    model = BGNRegressor(**swept, random_state=0)
    model.set_params(callbacks=lambda record: reported.append(record.n_terms)).fit(X, y)
    assert reported == [1, 2, 3, 4, 5]


def test_interrupted_sweeps_leave_what_they_chose(monkeypatch):
    X, y = made_up(200)

    def interrupted(self, low):
        raise KeyboardInterrupt

    monkeypatch.setattr(Sweeper, "_down", interrupted)
    swept = {"max_terms": 5, "growth": GrowthSettings(sweeps=2), "max_linear": 0, "validation_fraction": 0}
    with pytest.warns(UserWarning, match="interrupted"):
        model = BGNRegressor(**swept, random_state=0).fit(X, y)
    assert model.network_.widths == (5,)
    assert model.history_.stopped == "interrupted"


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", None, True])
def test_wrong_numbers_of_sweeps(wrong):
    X, y = made_up(30)
    with pytest.raises(ValueError, match='sweeps must be a whole number, at least 0 or "auto"'):
        BGNRegressor(growth=GrowthSettings(sweeps=wrong)).fit(X, y)
