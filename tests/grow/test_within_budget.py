"""Growth within a budget of conditions: what it promises of every table, engine and setting."""

import itertools
import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
import bgn.grow.conditions.choose as choose
import bgn.grow.rows as growth_rows
from bgn import BGNClassifier, BGNRegressor, Linear, Member, Missing, Rule, Threshold
from bgn.grow.conditions.climb import scores
from tests.every_engine import ENGINES

QUICK = {"max_conditions": 5, "random_state": 0, "n_jobs": 1}


def mixed(n=300, seed=0):
    """Numbers, whole numbers with gaps, categories, ordered ones and yes or no, and a target that they decide."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "income": np.round(rng.normal(50, 20, n), 1),
        "visits": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 9, n)),
        "city": rng.choice(["Bern", "Lyon", "Oslo", "Rome"], n),
        "size": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
        "owner": rng.random(n) < 0.5,
    })  # fmt: skip
    y = 2.0 * ((X.income >= 55) & X.city.isin(["Bern", "Rome"])) + 1.5 * X.visits.isna() - (X["size"] == "high")
    return X, y + rng.normal(0, 0.3, n)


def numbers(n=200, seed=0, columns=4):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, columns)).astype(float)
    return X, 3.0 * (X[:, 0] >= 5) * (X[:, 1] < 7) + 0.2 * X[:, 2] + rng.normal(0, 0.5, n)


def same(one, other):
    """Whether two histories have the same networks and losses, bit for bit."""
    pairs = list(zip(one.paths[0], other.paths[0], strict=True))
    losses = all(
        (a.train_loss, str(a.validation_loss)) == (b.train_loss, str(b.validation_loss)) for a, b in pairs
    )
    return losses and all(a.network == b.network for a, b in pairs) and one.best_size == other.best_size


@pytest.mark.parametrize("classes", [None, 2, 3])
def test_no_size_has_more_conditions_than_it_says(classes):
    X, y = mixed()
    if classes:
        model = BGNClassifier(**QUICK).fit(X, pd.qcut(y, classes, labels=False))
    else:
        model = BGNRegressor(**QUICK).fit(X, y)
    history = model.history_
    assert len(history.paths[0]) == 6
    for size in range(6):
        assert history.network(size).n_conditions <= size
    assert model.network_ == history.network()
    assert model.n_conditions_ <= 5


def test_what_was_planted_comes_back():
    X, y = mixed(1500)
    network = BGNRegressor(**QUICK).fit(X, y).network_
    got_back = {term.columns for term in network.rules}
    assert got_back >= {(0, 2), (1,), (3,)}
    text = bgn.equation(network)
    assert "city in {Bern, Rome}" in text
    assert "visits is missing" in text


@given(st.integers(0, 2**31), st.sampled_from([None, 2, 3]), st.integers(2, 60))
@settings(max_examples=20, deadline=None)
def test_terms_say_what_the_search_saw(seed, classes, n):
    """The network scores every row as bins and tables do, ties, gaps and categories included."""
    X, y = mixed(n, seed)
    y = np.asarray(y) if classes is None else np.arange(n) % classes
    estimator = (BGNRegressor if classes is None else BGNClassifier)(**QUICK, digits=None)
    model = estimator.set_params(cv=None, validation_fraction=0.0)
    with bgn_rows(model, X, y) as growth:
        search = choose.ConditionSearch(growth.rows, growth.budget(choose.Setting(1.5, 1.0, True)))
        raw = growth.drawn.learning.columns.T.astype(float)
        for grown in search.climb():
            network = growth.network(grown, choose.Setting(1.5, 1.0, True))
            expected = growth.target.center + growth.target.scale * scores(grown, growth.rows).T
            got = network.predict_encoded(raw, scores=True).reshape(expected.shape)
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


class bgn_rows:
    """The rows of a fit, drawn and cut, while the source is open."""

    def __init__(self, model, X, y):
        arguments = choose_arguments(X, y)
        self._opened = model._open_rows(arguments, None)

    def __enter__(self):
        rows = self._opened.__enter__()
        return choose.Growth(rows, rows.seeds[0], 1, choose.Monitor(None))

    def __exit__(self, *problem):
        return self._opened.__exit__(*problem)


def choose_arguments(X, y):
    from bgn.engines.sources import RowArguments

    return RowArguments(X, y)


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("classes", [None, 3])
def test_the_same_bits_wherever_the_rows_live(engine, classes, monkeypatch):
    """On all rows, and where a sample of them searches and all refit the weights."""
    X, y = numbers()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    model = BGNRegressor(**QUICK)
    if classes:
        model, y = BGNClassifier(**QUICK), np.digitize(y, [0.5, 2.0])
    for most in (16384, 90):
        for module in (choose, growth_rows):
            monkeypatch.setattr(module, "SAMPLE_ROWS", most)
        settings = {} if most > 200 else {"cv": None}
        expected = model.set_params(**settings).fit(X, y, weight).history_
        assert same(ENGINES[engine](model, X, y, sample_weight=weight).history_, expected)


def test_rows_in_any_order_and_on_any_number_of_threads():
    X, y = mixed(400)
    expected = BGNRegressor(**QUICK).fit(X, y).history_
    order = np.random.default_rng(0).permutation(len(y))
    other = BGNRegressor(**QUICK).set_params(n_jobs=3).fit(X.iloc[order], y.iloc[order]).history_
    assert same(expected, other)


def test_a_weight_is_a_repetition():
    X, y = numbers(150)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    one = BGNRegressor(**QUICK).fit(X, y, weight).history_
    other = BGNRegressor(**QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).history_
    assert same(one, other)


@pytest.mark.parametrize("classes", [None, 2, 3])
def test_all_rows_refit_the_weights(classes, monkeypatch):
    """The slow twin is ridge regression, or a minimum found by small steps, on all rows that learn."""
    X, y = numbers(600, 3)
    model = BGNRegressor(**QUICK, digits=None, shrinkage=2.0, cv=None, validation_fraction=0.0)
    if classes:
        y = np.digitize(y, [1.0] if classes == 2 else [0.5, 2.0])
        model = BGNClassifier(**QUICK, digits=None, shrinkage=2.0, cv=None, validation_fraction=0.0)
    for module in (choose, growth_rows):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 150)
    network = model.fit(X, y).network_
    z = np.column_stack([
        term.values(X) - (X[:, term.column].mean() if isinstance(term, Linear) else 0.0) for term in network.terms
    ])  # fmt: skip
    if not classes:
        std = [1.0 if isinstance(term, Rule) else 0.1 * X[:, term.column].std() for term in network.terms]
        full = np.column_stack([np.ones(len(y)), z])
        penalty = np.diag([0.0, *(2.0 * np.square(std))])
        expected = np.linalg.solve(full.T @ full + penalty, full.T @ y)[1:]
        np.testing.assert_allclose(network.coef[:, 0], expected, rtol=0.01, atol=0.01)
        return
    shares = model.predict_proba(X)
    if classes == 2:  # slopes of the penalized loss are zero
        for values, term, coef in zip(z.T, network.terms, network.coef[:, 0], strict=True):
            if isinstance(term, Rule):
                assert ((y - shares[:, 1]) * values).sum() == pytest.approx(2.0 * coef, abs=0.3)
    np.testing.assert_allclose(shares.mean(axis=0), np.bincount(y) / len(y), atol=0.01)


@pytest.mark.parametrize("least", [1, 40, 120])
def test_every_condition_has_rows_enough_on_either_side(least):
    X, y = mixed(400)
    model = BGNRegressor(max_conditions=8, min_rows=least, random_state=0, cv=None, validation_fraction=0.0).fit(X, y)
    rows = model.network_._rows(X)
    for rule in model.network_.rules:
        inside = rule.holds(rows).sum()
        assert inside >= least
        if len(rule.conditions) == 1:
            assert len(X) - inside >= least


def test_only_the_cuts_that_were_given_are_used():
    X, y = mixed(500)
    model = BGNRegressor(max_conditions=8, cuts={"income": [40.0, 60.0], "visits": [3.0]}, random_state=0).fit(X, y)
    for stage in model.history_.paths[0]:
        for rule in stage.network.rules:
            for condition in rule.conditions:
                if isinstance(condition, Threshold):
                    assert condition.threshold in {0: (40.0, 60.0), 1: (3.0,)}[condition.column]


@pytest.mark.parametrize(
    ("cuts", "text"),
    [
        ({"wage": [1]}, "wage"), ({"city": [1]}, "categories"), ({"income": []}, "one number"),
        ({"income": [np.nan]}, "one number"), ([1, 2], "must map columns"), ({"income": ["a"]}, "one number"),
    ],
)  # fmt: skip
def test_wrong_cuts_are_named(cuts, text):
    X, y = mixed(60)
    with pytest.raises(ValueError, match=text):
        BGNRegressor(**QUICK, cuts=cuts).fit(X, y)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_conditions": 0}, {"max_conditions": 2.5}, {"pairs": "or"}, {"min_rows": 0}, {"max_layers": 2},
        {"direction": "lasso"}, {"output": "stagewise"}, {"growth": bgn.GrowthSettings()},
    ],
)  # fmt: skip
def test_wrong_settings_are_named(wrong):
    X, y = mixed(60)
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        BGNRegressor(**QUICK | wrong).fit(X, y)


@pytest.mark.parametrize("name", ["pairs", "min_rows", "cuts"])
def test_what_needs_a_budget_says_so(name):
    X, y = mixed(60)
    with pytest.raises(ValueError, match=f"{name} needs max_conditions"):
        BGNRegressor(**{name: {"pairs": None, "min_rows": 5, "cuts": {"income": [1.0]}}[name]}).fit(X, y)


def test_rows_are_let_go_of(monkeypatch):
    """A cluster would keep them otherwise."""
    closed = []
    monkeypatch.setattr("bgn.engines.raw_rows.RowsInMemory.close", lambda self: closed.append(self))
    X, y = numbers(60)
    BGNRegressor(**QUICK).fit(X, y, eval_set=(X[:20], y[:20]))
    assert len(closed) == 2


def test_without_pairs_every_rule_has_one_condition():
    X, y = mixed(300)
    model = BGNRegressor(**QUICK, pairs=None).fit(X, y)
    assert all(len(rule.conditions) == 1 for stage in model.history_.paths[0] for rule in stage.network.rules)


def test_linear_terms_are_counted_and_limited():
    X, y = numbers(300)
    y = X @ np.array([1.0, 2.0, -1.0, 0.5])
    assert len(BGNRegressor(**QUICK).fit(X, y).network_.linear) == 4
    assert not BGNRegressor(**QUICK, max_linear=0).fit(X, y).network_.linear


@pytest.mark.parametrize("signs", [{"income": 1, "visits": -1}, {"income": -1, "size": 1}, {"size": -1}])
def test_signs_are_kept_at_every_size(signs, monkeypatch):
    X, y = mixed(400)
    for most in (16384, 150):
        for module in (choose, growth_rows):
            monkeypatch.setattr(module, "SAMPLE_ROWS", most)
        model = BGNRegressor(max_conditions=8, monotonic_cst=signs, random_state=0, cv=None).fit(X, y)
        for stage in model.history_.paths[0]:
            proven = bgn.certify(stage.network, list(signs))
            for name, sign in signs.items():
                assert proven[name].direction in ("constant", "increasing" if sign > 0 else "decreasing")


def test_only_columns_that_may_meet_do():
    X, y = mixed(400)
    model = BGNRegressor(max_conditions=10, interaction_cst=[{"income", "visits"}, {"city", "size"}], random_state=0)
    for stage in model.fit(X, y).history_.paths[0]:
        for rule in stage.network.rules:
            assert any(set(rule.columns) <= group for group in ({0, 1}, {2, 3}, {4}))


def test_bounds_hold_for_predictions_and_losses():
    X, y = numbers(200)
    model = BGNRegressor(**QUICK, bounds=(1.0, 2.0)).fit(X, y)
    assert ((model.predict(X) >= 1.0) & (model.predict(X) <= 2.0)).all()
    held = np.clip(y, 1.0, 2.0)
    assert model.history_.paths[0][-1].validation_loss >= np.square(y - held).mean()


def test_a_model_file_has_the_whole_history(tmp_path):
    for model, y in ((BGNRegressor(**QUICK), mixed()[1]), (BGNClassifier(**QUICK), mixed()[1] > 1)):
        X = mixed()[0]
        model.fit(X, y)
        bgn.save(model, tmp_path / "m.json")
        again = bgn.load(tmp_path / "m.json")
        assert same(again.history_, model.history_)
        assert again.get_params()["max_conditions"] == 5
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_history_whose_networks_are_too_large_is_refused(tmp_path):
    import json

    X, y = mixed()
    bgn.save(BGNRegressor(**QUICK).fit(X, y), tmp_path / "m.json")
    plain = json.loads((tmp_path / "m.json").read_text())
    plain["history"]["conditions"]["sizes"][1]["network"] = plain["history"]["conditions"]["sizes"][5]["network"]
    (tmp_path / "m.json").write_text(json.dumps(plain))
    with pytest.raises(bgn.ModelFileError, match="at most 1 condition"):
        bgn.load(tmp_path / "m.json")


def test_callbacks_clocks_and_interrupts_keep_what_there_is():
    X, y = mixed(300)
    seen = []
    fourth = lambda record: seen.append(record) or len(seen) == 4  # noqa: E731
    model = BGNRegressor(max_conditions=9, random_state=0, callbacks=fourth)
    assert len(model.fit(X, y).history_.paths[0]) == 5
    assert model.history_.stopped == "callback"
    assert [record.train_loss for record in seen] == sorted((record.train_loss for record in seen), reverse=True)

    def interrupt(record):
        if record.n_terms >= 3:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupt"):
        model = BGNRegressor(max_conditions=9, random_state=0, callbacks=interrupt).fit(X, y)
    assert model.history_.stopped == "interrupted"
    assert model.network_.terms
    start = time.perf_counter()
    model = BGNRegressor(max_conditions=60, random_state=0, max_seconds=1e-3).fit(X, y)
    assert time.perf_counter() - start < 30
    assert model.history_.stopped == "max_seconds"


def test_folds_evaluate_networks_that_did_not_see_the_rows():
    """The validation loss of every size, from the definition: grown without each fold, with `eval_set` for it."""
    X, y = numbers(120)
    setting = {"max_conditions": 3, "shrinkage": 1.0, "pairs": None, "random_state": 0, "digits": None}
    place = np.arange(len(y)) % 3
    splits = [(np.flatnonzero(place != k), np.flatnonzero(place == k)) for k in range(3)]
    model = BGNRegressor(**setting, cv=splits).fit(X, y)
    losses = np.zeros(4)
    for inside, outside in splits:
        one = BGNRegressor(**setting).fit(X[inside], y[inside], eval_set=(X[outside], y[outside]))
        for size, stage in enumerate(one.history_.paths[0]):
            losses[size] += np.square(y[outside] - stage.network.predict(X[outside])).sum()
    got_back = [stage.validation_loss for stage in model.history_.paths[0]]
    np.testing.assert_allclose(got_back, losses / len(y), rtol=1e-6)
    assert model.history_.cross_validated
    assert model.history_.best_size == int(np.argmin(got_back))


def test_an_ensemble_is_the_mean_of_its_networks():
    X, y = numbers(300)
    model = BGNRegressor(**QUICK, ensemble=3).fit(X, y)
    means = [member.network().predict(X) for member in model.history_.members]
    np.testing.assert_allclose(model.predict(X), np.mean(means, axis=0))


@pytest.mark.parametrize("n", [2, 3, 7])
def test_few_rows_give_a_model_all_the_same(n):
    X, y = mixed(n)
    assert np.isfinite(BGNRegressor(**QUICK).fit(X, y).predict(X)).all()


def test_odd_columns_do_no_harm():
    n = 80
    rng = np.random.default_rng(0)
    y = rng.normal(size=n)
    X = pd.DataFrame({
        "constant": np.ones(n), "empty": np.full(n, np.nan), "huge": rng.normal(size=n) * 1e290,
        "tiny": rng.normal(size=n) * 1e-300, "far": 1e15 + np.arange(n),
        "half": np.where(np.arange(n) % 2, np.nan, 3.0),
    })  # fmt: skip
    for target in (y, np.zeros(n), y * 1e140, y * 1e-140):
        model = BGNRegressor(**QUICK).fit(X, target)
        assert np.isfinite(model.predict(X)).all()
        for term in model.network_.terms:
            assert isinstance(term, Linear | Rule)


def test_conditions_are_those_that_people_say():
    X, y = mixed(800)
    for stage in BGNRegressor(max_conditions=20, random_state=0).fit(X, y).history_.paths[0]:
        for rule in stage.network.rules:
            assert 1 <= len(rule.conditions) <= 3
            assert all(isinstance(one, Threshold | Member | Missing) for one in rule.conditions)
            holds = rule.holds(stage.network._rows(X))
            assert 0 < holds.sum() < len(X)
        for one, other in itertools.combinations(stage.network.terms, 2):
            assert one != other
        assert math.isfinite(stage.train_loss)
