"""Growth: the paper's propositions, exactness, stopping, and what the path keeps."""

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

import bgn.engines.memory as shared_rows
import bgn.grow.rows as grow_rows
import bgn.grow.search as grow_search
from bgn import BGNRegressor, GrowthSettings, theory
from bgn.engines.protocol import CutRequest, Output
from bgn.grow.refit import Full, Stagewise
from bgn.model.term import Projection
from experiments.timing import literal_neuron
from tests.growing import EMPTY, engine_of, same, table
from tests.reference.growth import ridge_weights

SETTINGS = [
    {"direction": direction, "output": output, "max_layers": layers}
    for direction in ("lasso", "debiased", "search")
    for output in ("stagewise", "full")
    for layers in (1, 3)
]


def names(setting):
    return "-".join(str(value) for value in setting.values())


@given(st.integers(0, 2**31), st.integers(2, 60), st.sampled_from([None, 3]))
@settings(max_examples=100)
def test_propositions_1_and_2(seed, rows, ties):
    """The stagewise pair minimises the squared error, and lowers it by (n+ rho+^2 + n- rho-^2) / m."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2)) if ties is None else rng.integers(0, ties, (rows, 2)).astype(float)
    y = rng.normal(size=rows)
    engine = engine_of(X, y)
    rule = Stagewise(1.0)
    before = rule.start(engine)
    (cut,) = engine.cuts([CutRequest(before.output, Projection((0,), (1.0,)))])
    if cut is None:
        return
    residual = engine.residual(before.output).astype(float)
    after = rule.admit(engine, before, 0, cut)
    fires = X[:, 0] >= cut.rule.threshold
    design = np.column_stack([np.where(fires, 1.0, -1.0), np.ones(rows)])
    best, *_ = np.linalg.lstsq(design, residual, rcond=None)
    step = 2.0**8  # a grid step is 2**-38 of the range of y
    assert after.output.weights[0] == pytest.approx(best[0], abs=step)
    assert after.output.base - before.output.base == pytest.approx(best[1], abs=step)
    drop = (fires.sum() * residual[fires].mean() ** 2 + (~fires).sum() * residual[~fires].mean() ** 2) / rows
    assert (before.loss - after.loss) / rows == pytest.approx(drop, rel=1e-9)
    # Prop. 2 as printed holds once the residual has mean zero, which the mean for a start sees to.
    pair = float(after.output.weights[0]), float(after.output.base - before.output.base)
    assert (pair[0] + pair[1]) * (pair[0] - pair[1]) == pytest.approx(drop, rel=1e-6)


def test_first_rule_is_the_papers():
    X, y = table(400)
    model = BGNRegressor.as_in_paper(max_terms=1, max_layers=1, validation_fraction=0.0, random_state=0).fit(X, y)
    weights, threshold, up, base = literal_neuron(X, y)
    expected = base + up * np.where(X @ weights >= threshold, 1.0, -1.0)
    assert np.mean(np.abs(model.network_.predict(X) - expected) > 1e-3) < 0.01


@given(st.integers(0, 2**31), st.floats(0, 50))
@settings(max_examples=30)
def test_full_output_is_ridge_regression_on_the_answers(seed, ridge):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=80)
    settings = {"shrinkage": ridge, "validation_fraction": 0.0, "growth": GrowthSettings(3), "digits": None}
    model = BGNRegressor(max_terms=6, random_state=0, **settings).fit(X, y)
    network = replace(model.history_, shrinkage=0.0).network()  # copies of a question not yet one
    expected = ridge_weights(network.hidden(X), y, ridge)
    np.testing.assert_allclose(np.append(network.base, network.output_weights), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("setting", SETTINGS, ids=names)
def test_training_error_falls_and_bounds_hold(setting, engine):
    X, y = table()
    limits = {"max_terms": 8, "max_linear": 0, "growth": GrowthSettings(patience=None), "cv": None}
    model = engine(BGNRegressor(**setting, **limits, random_state=1), X, y)
    for layer in range(len(model.history_.paths)):
        records = [record for record in model.history_.records if record.layer == layer]
        errors = [record.train_mse for record in records]
        assert errors == sorted(errors, reverse=True)
        assert len(set(errors)) == len(errors)
        assert all(record.bound <= record.train_mse * (1 + 1e-12) for record in records)
    assert [r.n_terms for r in records if r.kind == "addition"] == list(range(1, len(model.history_.paths[layer])))
    bounds = theory.lower_bounds(model.network_, X, y)
    assert np.all(np.diff(bounds) >= -1e-9 * bounds[-1])


@pytest.mark.parametrize("setting", SETTINGS, ids=names)
@pytest.mark.parametrize("case", ["weights", "float32", "plain"])
def test_same_bits_wherever_the_rows_live(setting, case, engine):
    X, y = table(220, seed=3)
    X = X.round(2).astype(np.float32 if case == "float32" else np.float64)
    weight = np.random.default_rng(0).integers(0, 3, len(y)) if case == "weights" else None
    model = BGNRegressor(**setting, max_terms=5, random_state=2, n_jobs=1, cv=None)
    expected = model.fit(X, y, weight).history_
    assert same(engine(model, X, y, weight).history_, expected)


def test_rows_of_weight_zero_are_left_out(engine):
    X, y = table(200)
    weight = np.random.default_rng(0).integers(0, 2, len(y))
    model = BGNRegressor(max_terms=3, random_state=0, n_jobs=1, cv=None)
    expected = model.fit(X[weight > 0], y[weight > 0]).network_
    assert engine(model, X, y, weight).network_ == expected


@pytest.mark.parametrize("setting", SETTINGS, ids=names)
@pytest.mark.parametrize("case", ["weights", "float32", "plain"])
def test_same_bits_whatever_the_threads_and_order(setting, case, monkeypatch):
    X, y = table(220, seed=3)
    X = X.round(2)
    X = X.astype(np.float32) if case == "float32" else X
    weight = np.random.default_rng(0).integers(0, 3, len(y)) if case == "weights" else None
    model = BGNRegressor(**setting, max_terms=5, random_state=2, n_jobs=1, cv=None)
    reference = model.fit(X, y, weight).history_
    order = np.random.default_rng(1).permutation(len(y))
    assert same(model.fit(X[order], y[order], None if weight is None else weight[order]).history_, reference)
    if weight is not None:
        assert same(model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).history_, reference)
    monkeypatch.setattr(shared_rows, "_ROWS_FOR_SHARING", 1)
    monkeypatch.setattr(shared_rows, "_ROWS_FOR_THREADS", 1)
    for threads in (2, 7):
        assert same(model.set_params(n_jobs=threads).fit(X, y, weight).history_, reference)


def test_a_sample_is_enough_to_search_on(monkeypatch, engine):
    X, y = table(3000)
    monkeypatch.setattr(grow_rows, "SAMPLE_ROWS", 500)
    model = BGNRegressor(max_terms=8, random_state=0, cv=None)
    network = model.fit(X, y).network_
    order = np.random.default_rng(1).permutation(len(y))
    assert engine(model, X[order], y[order]).network_ == network
    assert model.score(X, y) > 0.7


def test_a_few_rows_many_times_all_learn(engine):
    cells = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)])
    X = np.repeat(cells, 10, axis=0)
    y = X @ [1.0, 2.0, 4.0]
    model = BGNRegressor(max_terms=6, random_state=0, cv=None)
    fitted = engine(model, X, y)
    assert fitted.score(X, y) > 0.999
    assert np.isnan(fitted.history_.records[-1].validation_mse)
    often = np.full(8, 10)
    heavy = BGNRegressor(max_terms=6, random_state=0, cv=None).fit(cells, cells @ [1.0, 2.0, 4.0], sample_weight=often)
    assert heavy.network_ == fitted.network_
    fewer = BGNRegressor(max_terms=6, random_state=0, cv=None).fit(X[1:], y[1:])  # 79 rows of eight kinds
    assert not np.isnan(fewer.history_.records[-1].validation_mse)


def test_growth_on_a_sample_does_not_stall_on_rules_already_there(monkeypatch):
    monkeypatch.setattr(grow_rows, "SAMPLE_ROWS", 1000)
    rng = np.random.default_rng(0)
    X = rng.integers(0, [30, 7, 18], size=(3000, 3)).astype(float)
    y = rng.normal(size=30)[X[:, 0].astype(int)] * np.sin(X[:, 2]) + rng.normal(size=7)[X[:, 1].astype(int)] * X[:, 0]
    model = BGNRegressor(
        max_terms=60, growth=GrowthSettings(0, patience=None), validation_fraction=0, shrinkage=1.0, random_state=0
    )
    errors = [record.train_mse for record in model.fit(X, y).history_.records]
    gains = -np.diff(errors)
    assert len(errors) == 60
    # A sample is wrong now and then. With no regard to what other neurons answer, half of the additions gain nothing.
    assert (gains < 1e-3 * np.array(errors[1:])).sum() <= 5, gains


def test_history_gives_every_size():
    X, y = load_diabetes(return_X_y=True)
    limits = {"max_terms": 6, "max_linear": 0, "growth": GrowthSettings(patience=None), "cv": None}
    model = BGNRegressor(**limits, shrinkage=10.0, random_state=0).fit(X, y)
    history = model.history_
    assert history.network(history.best_size) == model.network_
    for size in range(7):
        network = history.network(size)
        assert network.widths == (size,)
        snapshot = history.paths[0][size]
        assert np.isfinite(network.predict(X)).all()
        assert snapshot.train_mse >= history.paths[0][min(size + 1, 6)].train_mse
    with pytest.raises(ValueError, match="size must be one that was grown, 0 to 6; got 7"):
        history.network(7)


def test_recorded_errors_are_those_of_the_network(engine):
    X, y = table(500)
    held = slice(400, None)
    model = BGNRegressor(max_terms=5, max_linear=0, random_state=0, cv=None)  # lines are summed in small steps
    model = engine(model, X[:400], y[:400], eval_set=(X[held], y[held]))
    for size, snapshot in enumerate(model.history_.paths[0]):
        network = model.history_.network(size)
        assert snapshot.train_mse == pytest.approx(np.mean((network.predict(X[:400]) - y[:400]) ** 2), rel=1e-9)
        assert snapshot.validation_mse == pytest.approx(np.mean((network.predict(X[held]) - y[held]) ** 2), rel=1e-9)
        squared = (network.predict(X[held]) - y[held]) ** 2
        assert snapshot.validation_deviation == pytest.approx(np.std(squared), rel=1e-6)


@pytest.mark.exhaustive
def test_compact_is_no_wider_than_best():
    X, y = table(600)
    best = BGNRegressor(max_terms=25, random_state=0, cv=None).fit(X, y)
    compact = BGNRegressor(max_terms=25, select="compact", random_state=0, cv=None).fit(X, y)
    path = best.history_.paths[0]
    assert compact.history_.best_size < best.history_.best_size
    chosen, winner = path[compact.history_.best_size], path[best.history_.best_size]
    error = winner.validation_deviation / np.sqrt(best.history_.n_validation)
    assert chosen.validation_mse <= winner.validation_mse + error


def test_replacement_helps_and_is_capped(engine):
    X, y = table(500)
    errors = {}
    for attempts in (0, 2, None):
        model = BGNRegressor(
            max_terms=10, growth=GrowthSettings(attempts, patience=None), validation_fraction=0.0, random_state=0
        )
        model = engine(model, X, y)
        errors[attempts] = model.history_.records[-1].train_mse
        replaced = [r.n_terms for r in model.history_.records if r.kind == "replacement"]
        assert attempts is None or all(replaced.count(size) <= attempts for size in range(11))
    assert errors[None] < errors[0]
    assert errors[2] < errors[0]


def test_stops_in_time_on_request_and_on_interrupt():
    X, y = table(2000)
    growth = GrowthSettings(patience=None)
    model = BGNRegressor(max_terms=1000, growth=growth, max_seconds=0.5, random_state=0, cv=None).fit(X, y)
    assert model.history_.stopped == "max_seconds"
    assert model.network_.widths[0] < 1000

    seen = []
    stop_at_three = [lambda record: seen.append(record) or np.equal(record.n_terms, 3)]
    model = BGNRegressor(callbacks=stop_at_three, random_state=0, cv=None).fit(X, y)
    assert model.history_.stopped == "callback"
    assert seen[-1].n_terms == 3
    assert model.network_.widths[0] <= 3

    def interrupt(record):
        if record.n_terms == 4:
            raise KeyboardInterrupt

    growth = GrowthSettings(patience=None)
    with pytest.warns(UserWarning, match="interrupted"):
        model = BGNRegressor(callbacks=[interrupt], growth=growth, random_state=0, cv=None).fit(X, y)
    assert model.history_.stopped == "interrupted"
    assert model.network_.widths == (3,)


def test_progress_bar_shows_errors(capsys):
    X, y = table(100)
    BGNRegressor(max_terms=2, verbose=1, random_state=0, cv=None).fit(X, y)
    assert "validation" in capsys.readouterr().err


def test_a_refused_rule_leaves_no_trace():
    """Full output rolls back when the plain error does not fall."""
    X, y = table(100)
    engine = engine_of(X, y)
    rule = Full(0.0)
    state = rule.start(engine)
    (cut,) = engine.cuts([CutRequest(state.output, Projection((0,), (1.0,)))])
    state = rule.admit(engine, state, 0, cut)
    residual = engine.residual(state.output).copy()
    assert rule.admit(engine, state, 1, cut) is None
    assert rule.admit(engine, state, 0, cut) is None
    np.testing.assert_array_equal(engine.residual(Output(state.output.weights.copy(), state.output.base)), residual)
    np.testing.assert_array_equal(engine.residual(state.output), residual)
    assert engine.settle(EMPTY) > state.loss


@pytest.mark.parametrize("rows", [300, 3000])
def test_columns_of_two_values_are_read_alone(rows):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (rows, 6)).astype(float)
    y = 3 * X[:, 0] + 2 * X[:, 1] * X[:, 2] - np.maximum(X[:, 3], 1 - X[:, 4]) * 2 + X[:, 4] * X[:, 5]
    (layer,) = BGNRegressor(random_state=0, cv=None).fit(X, y + rng.normal(size=rows) / 4).network_.layers
    assert {0.0, 1.0} == set(np.abs(layer.weights).ravel())
    assert {0.0} == set((2 * layer.bias) % 1)


@pytest.mark.parametrize("values", [3, 10, 50])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_last_of_few_values_is_seen(values, sign):
    rng = np.random.default_rng(0)
    column, other = rng.integers(0, values, 2000) * float(sign), rng.integers(0, 2, 2000)
    y = 9.0 * values * (np.abs(column) == values - 1) + other * 0.5 + rng.normal(size=2000)
    model = BGNRegressor(max_terms=1, max_features=1, growth=GrowthSettings(0), random_state=0, cv=None)
    assert model.fit(np.column_stack([column, other]), y).network_.layers[0].weights[0, 0] != 0


def test_no_rule_stands_twice():
    """Under a ridge penalty copies are shrunk less, so growth may ask again; the network says it once."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (500, 4)).astype(float)
    y = 2 * X[:, 0] + X[:, 1]
    model = BGNRegressor(digits=None, random_state=0, cv=None).fit(X, y)
    assert model.history_.best_size > 2
    assert model.network_.widths == (2,)
    np.testing.assert_allclose(model.predict(X), y, atol=0.01)
    tiny = BGNRegressor(random_state=0, cv=None).fit([[1.0], [2.0], [3.0]], [2.0, 3.0, 5.0])
    assert tiny.network_.widths == (1,)


@given(st.integers(0, 2**31), st.sampled_from([2, 3]), st.sampled_from(["search", "lasso"]))
@settings(max_examples=15, deadline=None)
def test_networks_with_copies_as_one_predict_what_growth_recorded(seed, values, direction):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (60, 3)).astype(float)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=60)
    settings = {"max_terms": 8, "max_linear": 0, "shrinkage": 30.0, "random_state": 0, "cv": None}
    settings["growth"] = GrowthSettings(patience=None)
    model = BGNRegressor(direction=direction, **settings).fit(X, y)
    for size, snapshot in enumerate(model.history_.paths[0]):
        network = model.history_.network(size)
        answers = network.hidden(X)
        assert (
            len(np.unique(np.column_stack([network.layers[0].weights, network.layers[0].bias]), axis=0))
            == answers.shape[1]
        )
        fires = (
            np.stack(
                [X[:, list(n.projection.columns)] @ n.projection.coefficients >= n.threshold for n in snapshot.rules],
                axis=1,
            )
            if size
            else np.zeros((60, 0))
        )
        np.testing.assert_allclose(
            network.predict(X), snapshot.base + (2.0 * fires - 1.0) @ snapshot.output_weights, atol=1e-9
        )


def test_an_interrupt_between_two_attempts_keeps_what_was_grown(monkeypatch):
    X, y = table(200)
    attempts = []
    build = grow_search._finder

    def finder(*about):
        attempts.append(1)
        if len(attempts) == 3:
            raise KeyboardInterrupt
        return build(*about)

    monkeypatch.setattr(grow_search, "_finder", finder)
    with pytest.warns(UserWarning, match="interrupted"):
        model = BGNRegressor(max_terms=3, random_state=0, cv=None).fit(X, y)
    assert model.history_.stopped == "interrupted"
    assert model.network_.widths[0] > 0
    attempts.clear()
    monkeypatch.setattr(grow_search, "_finder", lambda *about: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        BGNRegressor(max_terms=3, random_state=0, cv=None).fit(X, y)


def test_a_fit_leaves_nothing_that_only_a_collector_frees():
    X, y = table(5000)
    before = set(threading.enumerate())
    gc.collect()
    gc.disable()
    try:
        BGNRegressor(max_terms=2, n_jobs=3, random_state=0, cv=None).fit(X, y)
        own = set(threading.enumerate()) - before
        for thread in own:
            thread.join(timeout=10)
        assert not any(thread.is_alive() for thread in own)
    finally:
        gc.enable()
