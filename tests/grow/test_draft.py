"""Drafts: a part of very many rows finds the questions, all rows refit what they take over, the same everywhere."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import BGNClassifier, BGNRegressor, GrowthSettings
from bgn.engines.raw_rows import different
from bgn.grow import rows as row_sets
from bgn.grow import search as draft
from bgn.grow.refit import Full
from bgn.model.term import Oblique, Projection
from tests.growing import engine_of, same


def made_up(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).round(2)
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + np.sin(2 * X[:, 3]) + 0.1 * rng.normal(size=rows)


@pytest.fixture
def drafts(monkeypatch):
    """Draft on 80 rows, where there are more than 160, and search on 50; so few rows always fit too well."""
    monkeypatch.setattr(draft, "_ABOUT", 100.0)
    monkeypatch.setattr(row_sets, "SAMPLE_ROWS", 50)
    monkeypatch.setattr(row_sets, "LEAST_DRAFT", 80)
    monkeypatch.setattr(row_sets, "DRAFT_ROWS", 1)
    taken, growth = [], draft.DraftedGrowth

    class Counted(growth):
        def _take_over(self, *parts):
            taken.append(super()._take_over(*parts))
            return taken[-1]

    monkeypatch.setattr("bgn.grow.search.DraftedGrowth", Counted)
    return taken


rules = st.builds(
    lambda columns, other, threshold: Oblique(
        Projection((0, 1), (1.0, other)) if columns else Projection((2,), (1.0,)), threshold
    ),
    st.booleans(), st.sampled_from([-1.5, -0.5, 1.0]), st.sampled_from([-0.805, -0.205, 0.005, 0.505, 1.005]),
)  # fmt: skip


@given(st.lists(rules, min_size=1, max_size=4, unique=True), st.lists(rules, max_size=4, unique=True), st.data())
@settings(max_examples=40)
def test_what_is_taken_over_is_refitted_as_least_squares_says(first, then, data):
    """From the definition: ridge least squares on the answers of neurons and lines, whatever was there before."""
    X, y = made_up(60, data.draw(st.integers(0, 1000)))
    weight = np.random.default_rng(1).integers(1, 4, len(y)) if data.draw(st.booleans()) else None
    rows, rule = engine_of(X, y, weight), Full(1.0)
    lines = [rows.linear_of(0, -1.0, 1.0), rows.linear_of(3, -2.0, 2.5)][: data.draw(st.integers(0, 2))]
    state = rule.start(rows)
    layers = [(tuple(first), ()), (tuple([*then, *first][: max(len(first), len(then))]), tuple(lines))]
    for requested, linear in layers:
        before = state
        result = rule.take_over(rows, state, requested, linear, np.zeros(1 + len(requested) + len(linear)))
        columns = [np.where(one.holds(X), 1.0, -1.0) for one in requested]
        for term in linear:
            between = np.clip(X[:, term.column], term.low, term.high)
            columns.append(np.rint((between - term.center) * term.scale) * term.unit)
        design = np.column_stack([np.ones(len(y)), *columns])
        heavy = np.ones(len(y)) if weight is None else weight
        gram = (design.T * heavy) @ design + np.diag([0.0] + [1.0] * len(columns))
        weights = np.linalg.lstsq(gram, (design.T * heavy) @ y, rcond=None)[0]
        wanted = np.average((y - design @ weights) ** 2, weights=heavy)
        was = rows.loss.mean(before.loss, rows.total)
        if result is None:  # nothing has changed
            assert wanted >= was * (1 - 1e-6)
            assert rows.settle(before.output) == before.loss
            return
        state = result
        assert state.rules == requested
        assert rows.loss.mean(state.loss, rows.total) == pytest.approx(wanted, rel=1e-5, abs=1e-9)
        output, grid = state.output, rows.loss.grid
        steps = np.concatenate([[output.base], output.weights, output.linear_coef])
        predicted = design @ grid.value(steps) + grid.center
        np.testing.assert_allclose(predicted, design @ weights, atol=1e-4 * np.ptp(y))
        np.testing.assert_allclose(np.linalg.inv(gram), state.inverse, rtol=1e-6, atol=1e-9)


def test_a_layer_that_does_no_better_is_left():
    X, _ = made_up(80)
    rows, rule = engine_of(X, np.where(X[:, 0] > 0, 1.0, -1.0)), Full(1.0)
    good, bad = Oblique(Projection((0,), (1.0,)), 0.005), Oblique(Projection((3,), (1.0,)), 2.005)
    state = rule.take_over(rows, rule.start(rows), (good,), (), np.zeros(2))
    assert rule.take_over(rows, state, (bad,), (), np.zeros(2)) is None
    assert not rows.put(0, good)[2]  # its answers are there already
    assert rows.settle(state.output) == state.loss


@pytest.mark.parametrize("kind", ["numbers", "lines", "two classes", "three classes", "signs", "deep", "average"])
def test_same_bits_wherever_the_rows_live(engine, kind, drafts):
    X, y = made_up(300)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    growth = GrowthSettings(max_replacements=2, sweeps=0)
    setting = {"max_terms": 4, "growth": growth, "random_state": 2, "cv": None, "shrinkage": 1.0}
    more = {
        "numbers": {"max_linear": 0, "growth": replace(growth, sweeps=1)}, "lines": {"max_linear": 2},
        "signs": {"monotonic_cst": [1, 0, 1, 0]},
        "deep": {"max_layers": 2, "max_terms": 3}, "average": {"ensemble": 2, "max_terms": 3},
    }  # fmt: skip
    classes = {"two classes": 2, "three classes": 3}.get(kind)
    if classes:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    model = (BGNClassifier if classes else BGNRegressor)(**setting | more.get(kind, {}), n_jobs=1)
    given = (X, y) if kind == "average" else (X, y, weight)
    model.fit(*given)
    assert any(drafts)
    expected = model.history_
    if kind == "average":
        assert engine(model, *given).network_ == model.network_
    else:
        assert same(engine(model, *given).history_, expected)


@pytest.mark.parametrize("linear", [0, 2])
def test_every_snapshot_says_what_its_network_does(drafts, linear):
    X, y = made_up(400)
    model = BGNRegressor(
        max_terms=8, max_linear=linear, growth=GrowthSettings(3, sweeps=0), validation_fraction=0, random_state=1
    ).fit(X, y)
    path = model.history_.paths[0]
    assert sum(drafts) >= 8
    assert [len(one.rules) + len(one.linear) for one in path] == [*range(9)]
    for size in range(1, 9):
        network = model.history_.network(size)
        assert np.mean((network.predict(X) - y) ** 2) == pytest.approx(path[size].train_loss)
    losses = [record.train_loss for record in model.history_.records]
    assert all(after < before for before, after in pairwise(losses))
    assert [record.n_terms for record in model.history_.records] == [*range(1, 9)]


@pytest.mark.parametrize("classes", [0, 3])
def test_growth_goes_on_where_drafts_do_not_help(drafts, classes, monkeypatch):
    """All rows search for themselves, from the layer that they took over last."""
    X, y = made_up(400)
    y = np.digitize(y, [-0.5, 0.5]) if classes else y
    kept, requested = Full.take_over, []

    def for_three(self, rows, state, rules, *parts):
        requested.append(len(rules))
        return kept(self, rows, state, rules, *parts) if len(rules) <= 3 else None

    monkeypatch.setattr(Full, "take_over", for_three)
    kind = BGNClassifier if classes else BGNRegressor
    setting = {"max_terms": 7, "max_linear": 0, "growth": GrowthSettings(2, sweeps=0), "shrinkage": 1.0}
    model = kind(**setting, validation_fraction=0, random_state=0).fit(X, y)
    assert max(requested) == 4  # after which they are not asked again
    assert [len(one.rules) for one in model.history_.paths[0]] == [*range(8)]
    assert {"replacement", "addition"} == {record.kind for record in model.history_.records[3:]}
    losses = [record.train_loss for record in model.history_.records]
    assert all(after < before for before, after in pairwise(losses))


def test_all_rows_go_on_where_a_draft_fits_too_well(drafts, monkeypatch):
    """A rule without noise is learnt from all rows, not asked again and again at the threshold of a part of them."""
    for place, name, value in (
        (draft, "_ABOUT", 1.25),
        (row_sets, "SAMPLE_ROWS", 1000),
        (row_sets, "LEAST_DRAFT", 1500),
    ):
        monkeypatch.setattr(place, name, value)
    X = np.random.default_rng(4).normal(size=(4000, 3))
    y = 10.0 * (X[:, 0] > 0.301237) + np.where(X[:, 1] > 0, 0.0, 1e-3)
    setting = {"max_terms": 6, "max_linear": 0, "digits": None, "shrinkage": 1.0, "random_state": 0}
    setting["growth"] = GrowthSettings(sweeps=0)
    losses = []
    for most in (row_sets.MOST_DRAFTED, 0):
        monkeypatch.setattr(row_sets, "MOST_DRAFTED", most)
        path = BGNRegressor(**setting, validation_fraction=0).fit(X, y).history_.paths[0]
        losses.append([one.train_loss for one in path])
    assert any(drafts)
    assert losses[0][1] > 100 * losses[0][-1]
    assert losses[0][-1] < 2 * losses[1][-1]


def test_a_rule_is_taken_over_alone_where_the_whole_layer_does_not_help(drafts, monkeypatch):
    X, y = made_up(400)
    kept, refused = Full.take_over, []

    def nested(self, rows, state, rules, *parts):
        if len(rules) == 4 and rules[:3] != state.rules:
            refused.append(rules)
            return None
        return kept(self, rows, state, rules, *parts)

    monkeypatch.setattr(Full, "take_over", nested)
    setting = {"max_terms": 6, "max_linear": 0, "growth": GrowthSettings(5, sweeps=0), "shrinkage": 1.0}
    path = BGNRegressor(**setting, validation_fraction=0, random_state=0).fit(X, y).history_.paths[0]
    assert refused
    assert all(drafts[:6])
    assert path[4].rules[:3] == path[3].rules
    assert path[4].rules[3] == refused[0][3]


def test_signs_hold(drafts):
    X, y = made_up(500)
    setting = {"max_terms": 8, "monotonic_cst": [0, 1, 1, 0], "random_state": 0, "cv": None}
    setting["growth"] = GrowthSettings(max_replacements=3)
    model = BGNRegressor(**setting).fit(X, y)
    assert any(drafts)
    for column in (1, 2):
        rows = np.repeat(X[:50], 20, axis=0)
        rows[:, column] = np.tile(np.linspace(-3, 3, 20), 50)
        assert (np.diff(model.predict(rows).reshape(50, 20)) >= -1e-9).all()


def test_few_rows_and_wide_tables_are_not_drafted(monkeypatch):
    assert row_sets._draft_rows(50, 10) == row_sets.LEAST_DRAFT
    assert row_sets._draft_rows(1000, 10) == 1000 * row_sets.DRAFT_ROWS
    assert row_sets._draft_rows(0, 10) == 0
    assert row_sets._draft_rows(50, row_sets.MOST_DRAFTED // row_sets.LEAST_DRAFT + 1) == 0
    X, y = made_up(300)
    monkeypatch.setattr(row_sets, "LEAST_DRAFT", 120)
    monkeypatch.setattr(row_sets, "SAMPLE_ROWS", 50)
    monkeypatch.setattr("bgn.grow.search.DraftedGrowth", None)
    BGNRegressor(max_terms=2, cv=None, random_state=0).fit(X, y)  # 240 rows learn
    for setting in ({"output": "stagewise"}, {"direction": "debiased"}):
        monkeypatch.setattr(row_sets, "LEAST_DRAFT", 80)
        BGNRegressor(max_terms=2, cv=None, random_state=0, **setting).fit(X, y)


def test_what_has_grown_stays_where_somebody_interrupts(drafts, monkeypatch):
    X, y = made_up(400)
    advance = draft.Draft.advance

    def interrupted(self):
        if self.state.n_rules == 3:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(draft.Draft, "advance", interrupted)
    growth = GrowthSettings(sweeps=0)
    with pytest.warns(UserWarning, match="interrupted"):
        model = BGNRegressor(max_terms=8, max_linear=0, growth=growth, cv=None, random_state=0).fit(X, y)
    assert model.history_.stopped == "interrupted"
    assert len(model.history_.paths[0]) == 4


def test_drafts_end_in_time(drafts):
    X, y = made_up(400)
    model = BGNRegressor(max_terms=8, max_seconds=0.0, cv=None, random_state=0).fit(X, y)
    assert model.history_.stopped == "max_seconds"


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 12))
def test_the_smallest_hashes_are_those_however_often_they_repeat(values, most):
    from bgn.engines.raw_rows import RawRows

    hashes = np.array(values, np.uint64)
    rows = RawRows(np.zeros((1, len(values))), np.zeros(len(values)))
    rows._hashed = 0, hashes
    assert rows.smallest(0, None, None, most).tolist() == sorted(set(values))[:most]
    assert different(hashes).tolist() == sorted(set(values))
