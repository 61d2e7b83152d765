"""Constraints that hold while a network grows: on every row there can be, at every width, on every engine."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import BGNClassifier, BGNRegressor, GrowthSettings
from bgn.grow.constraints import Constraints
from bgn.grow.refit import held
from bgn.model.term import Projection
from tests.every_engine import in_blocks, in_tensors
from tests.growing import table
from tests.networks import linear_coef_of
from tests.reference.growth import held_by_trying

QUICK = {"max_terms": 6, "shrinkage": 1.0, "random_state": 0, "n_jobs": 1, "cv": None}
QUICK["growth"] = GrowthSettings(max_replacements=3, sweeps=0)
SWEPT = {"growth": GrowthSettings(max_replacements=3, sweeps=1)}
WANTED = {1: ("increasing", "constant"), -1: ("decreasing", "constant")}


def houses(rows=250, seed=0):
    """Numbers and an ordered category, all with gaps, beside words; prices that often move against what is wanted."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "area": rng.normal(120, 30, rows).round(1),
        "age": rng.integers(0, 60, rows).astype(float),
        "state": pd.Categorical(rng.choice(["poor", "fair", "good"], rows), ["poor", "fair", "good"], ordered=True),
        "city": rng.choice(["Lille", "Nice", "Rome"], rows),
    })  # fmt: skip
    y = np.sin(X["area"] / 20) * 20 + X["area"] / 4 + 15 * (X["city"] == "Nice") * (X["area"] > 110)
    y += 8 * np.abs(X["state"].cat.codes - 1) - 0.3 * X["age"] * (X["city"] == "Rome") + rng.normal(0, 2, rows)
    for name in ("area", "age", "state"):
        X.loc[rng.random(rows) < 0.15, name] = None
    return X, y.rename("price")


def proven(model, wanted):
    """Check that every width of a model is proven to move as wanted, and has signs that say why."""
    names = model.network_.names
    for size in range(len(model.history_.paths[0])):
        network = model.history_.network(size)
        for name, sign in wanted.items():
            result = bgn.certify(network, [name], max_seconds=60)[name]
            assert result.direction in WANTED[sign], (size, name, result)
        constraints = Constraints(tuple(wanted.get(name, 0) for name in names))
        for rule, weight in zip(network.layers[0].neurons, network.output_weights, strict=True):
            numbers = [(j, c) for j, c in zip(rule.projection.columns, rule.projection.coefficients, strict=True)
                       if not isinstance(c, tuple)]  # fmt: skip
            if numbers:
                sign = constraints.sign(Projection(*zip(*numbers, strict=True)))
                assert sign is not None
                assert sign * weight >= 0


@given(st.integers(0, 10**6), st.integers(1, 7), st.floats(0.01, 30))
@settings(max_examples=200)
def test_weights_with_signs_held_are_the_best_of_all_with_these_signs(seed, size, ridge):
    rng = np.random.default_rng(seed)
    answers = rng.choice([-1.0, 1.0], (rng.integers(2, 30), size))
    H = np.column_stack([np.ones(len(answers)), answers])
    penalty = np.diag([1e-3, *[ridge] * size])
    target = rng.normal(size=len(H)).round(1)
    inverse = np.linalg.inv(H.T @ H + penalty)
    signs = np.array([0, *rng.integers(-1, 2, size)])
    result = held(inverse @ H.T @ target, inverse, signs)
    assert (result * signs >= 0).all()
    expected = held_by_trying(H, target, penalty, signs)
    np.testing.assert_allclose(result, expected, atol=1e-8)


def test_weights_that_agree_with_their_signs_are_left_alone():
    weights = np.array([3.0, -1.0, 2.0, -5.0])
    assert held(weights, np.eye(4), np.array([0, -1, 1, 0])) is weights


@pytest.mark.parametrize(
    ("columns", "coefficients", "sign"),
    [
        ((0,), (2.0,), 1),
        ((0,), (-2.0,), -1),
        ((1,), (1.0,), -1),
        ((2,), (-1.0,), 0),
        ((0, 1), (1.0, -1.0), 1),
        ((0, 1), (-1.0, 1.0), -1),
        ((0, 1), (1.0, 1.0), None),
        ((0, 2), (1.0, -3.0), 1),
        ((1, 4), (1.0, -3.0), -1),  # beside the marks of gaps
        ((0, 3), (1.0, (0.0, 1.0)), 1),
    ],
)
def test_signs_that_columns_want(columns, coefficients, sign):
    assert Constraints((1, -1, 0, 0), marked=(2,)).sign(Projection(columns, coefficients)) == sign


@pytest.mark.parametrize(
    "change", [{}, {"output": "stagewise"}, {"digits": None}, {"max_features": 3}, {"cv": 3}, SWEPT]
)
def test_every_size_is_proven(change):
    X, y = houses()
    wanted = {"area": 1, "age": 1, "state": -1}
    model = BGNRegressor(**QUICK | change, monotonic_cst=wanted).fit(X, y)
    assert len(model.network_.features_used) > 1
    proven(model, wanted)


@given(st.integers(0, 10**6))
@settings(max_examples=8)
def test_columns_that_want_anything_at_all(seed):
    rng = np.random.default_rng(seed)
    X, y = table(int(rng.integers(30, 200)), seed % 1000, 5)
    signs = rng.integers(-1, 2, 5)
    model = BGNRegressor(**QUICK, monotonic_cst=signs).fit(X, y)
    proven(model, {f"x{j}": int(sign) for j, sign in enumerate(signs) if sign})
    higher = X.copy()
    moved = np.flatnonzero(signs)
    if len(moved):
        column = rng.choice(moved)
        higher[:, column] += rng.exponential(size=len(X))
        assert (signs[column] * (model.predict(higher) - model.predict(X)) >= 0).all()


def test_two_classes():
    X, y = houses()
    wanted = {"area": -1, "age": 1}
    model = BGNClassifier(**QUICK | SWEPT, monotonic_cst=wanted).fit(X, y > y.median())
    assert len(model.network_.features_used) > 0
    proven(model, wanted)


@pytest.mark.parametrize("kind", [BGNRegressor, BGNClassifier])
def test_constraints_hold_on_every_engine(kind, engine):
    X, y = table(200, 3, 5)
    y = y if kind is BGNRegressor else (y > np.median(y)) * 1.0
    signs = [1, -1, 0, -1, 1]
    settings = QUICK | SWEPT | {"max_terms": 4, "monotonic_cst": signs, "interaction_cst": [{0, 1, 2}]}
    model = kind(**settings).fit(X, y)
    assert engine(kind(**settings), X, y).network_ == model.network_


def test_the_same_network_from_mixed_tables():
    X, y = houses()
    settings = QUICK | {"monotonic_cst": {"area": 1, "state": -1}, "interaction_cst": [{"area", "city"}]}
    model = BGNRegressor(**settings).fit(X, y)
    for fit in (in_blocks(3), in_tensors):
        assert fit(BGNRegressor(**settings), X, y).network_ == model.network_


def columns_read_together(model):
    return {rule.projection.columns for snapshot in model.history_.paths[0] for rule in snapshot.rules}


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("no_interactions", [{0}, {1}, {2}, {3}, {4}]),
        ("pairwise", [*map(set, combinations(range(5), 2))]),
        ([{0, 1}], [{0, 1}, {2, 3, 4}]),
        ([[3, 4], (0, 1, 2), {0, 3}], [{3, 4}, {0, 1, 2}, {0, 3}]),
    ],
)
def test_rules_read_columns_of_one_group(given, allowed):
    X, y = table(300, 1, 5)
    model = BGNRegressor(**QUICK | {"max_features": 3}, interaction_cst=given).fit(X, y)
    result = columns_read_together(model)
    assert result
    assert all(any(set(columns) <= group for group in allowed) for columns in result)
    free = BGNRegressor(**QUICK | {"max_features": 3}).fit(X, y)
    assert any(not any(set(columns) <= group for group in allowed) for columns in columns_read_together(free))


def test_groups_of_names_with_missing_values_and_categories():
    X, y = houses()
    model = BGNRegressor(**QUICK, interaction_cst=[{"area", "age"}, {"city"}]).fit(X, y)
    groups = [{0, 1}, {2}, {3}]
    assert all(any(set(columns) <= group for group in groups) for columns in columns_read_together(model))


def test_three_classes_have_groups_but_no_order():
    X, y = table(200, 0, 5)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = BGNClassifier(**QUICK, interaction_cst="no_interactions").fit(X, labels)
    assert {len(columns) for columns in columns_read_together(model)} == {1}
    with pytest.raises(ValueError, match="monotonic_cst is for numbers and for two classes; got 3 classes"):
        BGNClassifier(**QUICK, monotonic_cst=[1, 0, 0, 0, 0]).fit(X, labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"monotonic_cst": {"aera": 1}}, "there is no column 'aera'; X has .* Did you mean 'area'"),
        ({"monotonic_cst": {"area": 2}}, "must be 1 .*got 2 for 'area'"),
        ({"monotonic_cst": {"city": 1}}, "'city' is a categorical column without an order"),
        ({"monotonic_cst": [1, 0]}, r"must have one entry per column \(4\)"),
        ({"monotonic_cst": [True, 0, 0, 0]}, "got True for 'area'"),
        ({"monotonic_cst": {"area": 1}, "max_layers": 2}, "monotonic_cst is for one hidden layer; got max_layers=2"),
        ({"interaction_cst": [{"area"}], "max_layers": 2}, "interaction_cst is for one hidden layer"),
        ({"interaction_cst": "none"}, "must be 'pairwise', 'no_interactions', None, or a list of sets"),
        ({"interaction_cst": [0, 1]}, "or a list of sets of names or positions"),
        ({"interaction_cst": [{0, 9}]}, "positions from 0 to 3; got 9"),
    ],
)
def test_errors_name_the_remedy(change, message):
    X, y = houses(60)
    with pytest.raises(ValueError, match=message):
        BGNRegressor(**QUICK | change).fit(X, y)


def test_other_directions_are_refused():
    X, y = table(60, 0, 5)
    with pytest.raises(ValueError, match="monotonic_cst needs direction='search'; got 'lasso'"):
        BGNRegressor(**QUICK | {"direction": "lasso"}, monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y)
    with pytest.raises(ValueError, match="must give positions where columns have no names; got 'x0'"):
        BGNRegressor(**QUICK, monotonic_cst={"x0": 1}).fit(X, y)


def test_files_keep_what_was_wanted(tmp_path):
    X, y = houses(80)
    for cst, groups in (({"area": 1}, [{"area", "age"}]), ([1, 0, -1, 0], "pairwise"), (np.array([1, 0, 0, 0]), None)):
        model = BGNRegressor(**QUICK, monotonic_cst=cst, interaction_cst=groups).fit(X, y)
        bgn.save(model, tmp_path / "model.json")
        again = bgn.load(tmp_path / "model.json").fit(X, y)
        assert again.network_ == model.network_


@pytest.mark.parametrize("kind", [BGNRegressor, BGNClassifier])
def test_ensembles_are_held_as_their_members_are(kind):
    X, y = houses()
    wanted = {"area": 1, "state": -1}
    target = y if kind is BGNRegressor else y > y.median()
    bounds = {"bounds": (20, None)} if kind is BGNRegressor else {}
    held = {"monotonic_cst": wanted, "interaction_cst": "no_interactions", **bounds}
    model = kind(**QUICK, ensemble=3, **held).fit(X, target)
    for name, sign in wanted.items():
        assert bgn.certify(model, [name], max_seconds=60)[name].direction in WANTED[sign]
    assert {len(rule.projection.columns) for rule in model.network_.layers[0].neurons} == {1}
    if bounds:
        assert bgn.extremes(model).low >= 20


@pytest.mark.parametrize("kind", [BGNRegressor, BGNClassifier])
@pytest.mark.parametrize("wanted", [{"area": 1, "age": -1}, {"area": -1, "age": 1}])
def test_linear_terms_have_the_signs_that_columns_want(kind, wanted):
    X, y = houses()
    target = 40 * y.rank(pct=True) + 0.3 * X["area"].fillna(100) - X["age"].fillna(30)
    target = target if kind is BGNRegressor else target > target.median()
    model = kind(**QUICK, max_linear=2, monotonic_cst=wanted).fit(X, target)
    for size in range(len(model.history_.paths[0])):
        network = model.history_.network(size)
        for name, sign in wanted.items():
            column = network.names.index(name)
            assert sign * linear_coef_of(network)[column, 0] >= 0
            assert bgn.certify(network, [name], max_seconds=60)[name].direction in WANTED[sign]
    if wanted["area"] > 0:
        assert any(snapshot.linear for snapshot in model.history_.paths[0])
