"""What a model was told its predictions must do holds of every model that is made of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn.explain.proofs import list_guarantees, requested_signs
from tests.command import call
from tests.optional import pandas as pd

KEPT = {1: ("increasing", "constant"), -1: ("decreasing", "constant")}


def keeps(network, wanted):
    """Every column moves the score as is wanted of it, proven."""
    for name, sign in zip(network.names, wanted, strict=True):
        if sign:
            certificate = bgn.certify(network, [name], max_seconds=60)[name]
            assert certificate.direction in KEPT[sign], certificate


def drawn(seed, classes):
    """Rows whose target moves against what is wanted, here and there, and a model that was told."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "a": rng.integers(0, 7, 80).astype(float), "b": rng.normal(size=80).round(1), "c": rng.normal(size=80).round(1),
        "grade": pd.Categorical(rng.choice(["low", "fair", "high"], 80), ["low", "fair", "high"], ordered=True),
    })  # fmt: skip
    y = np.sin(X["a"]) * 2 + X["a"] / 3 + X["b"] * (X["c"] > 0) - X["c"] + np.abs(X["grade"].cat.codes - 1)
    y = y + rng.normal(size=80)
    wanted = {"a": 1, "b": int(rng.choice([1, -1, 0])), "c": int(rng.choice([-1, 0])), "grade": int(rng.choice([1, 0]))}
    settings = {"max_terms": 6, "max_linear": 0, "random_state": 0, "monotonic_cst": wanted, "cv": None}
    if classes:
        y = y > np.median(y)
    make = bgn.BGNClassifier if classes else bgn.BGNRegressor
    return X, y, make(**settings).fit(X, y)


def made_of(model, X, y, points):
    """Every way to make a model of a model."""
    yield bgn.simplify(model, X, y, points=points).network
    yield bgn.simplify(model, X, ~y if y.dtype == bool else -y, points=points).network  # rows that want the opposite
    yield bgn.simplify(model, X, y, digits=1).network
    yield bgn.distill(model, X, y, max_terms=4, max_linear=0, random_state=0).network_
    yield bgn.edit(model, X, y).round(1).network
    yield model.with_terms(2).network_


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([2, 3, 10]))
def test_columns_move_the_prediction_as_required(seed, classes, points):
    X, y, model = drawn(seed, classes)
    for network in made_of(model, X, y, points):
        keeps(network, requested_signs(model))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(60))
def test_columns_move_the_prediction_as_required_of_many(seed):
    X, y, model = drawn(seed, seed % 2 == 0)
    for network in made_of(model, X, y, 1 + seed % 7):
        keeps(network, requested_signs(model))


def test_a_small_model_asks_together_what_the_large_one_may():
    X, y, _ = drawn(0, False)
    settings = {
        "max_terms": 4,
        "random_state": 0,
        "interaction_cst": "no_interactions",
        "bounds": (-5, None),
        "cv": None,
    }
    large = bgn.BGNRegressor(**settings).fit(X, y)
    small = bgn.distill(large, X, y, max_terms=3, random_state=0, cv=None)
    assert small.interaction_cst == "no_interactions"
    assert all(len(condition.projection.columns) == 1 for condition in small.network_.layers[0].neurons)
    assert small.network_.bounds == large.network_.bounds


def test_a_foreign_model_is_required_too_and_a_pipeline_warned_of():
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    large = HistGradientBoostingRegressor(max_iter=5, monotonic_cst=[1, 0]).fit(X, X[:, 0])
    keeps(bgn.distill(large, X, max_terms=3, random_state=0).network_, (1, 0))
    inside = make_pipeline(StandardScaler(), large).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="the model keeps monotonic_cst for the columns that its last step reads"):
        bgn.distill(inside, X, max_terms=2, random_state=0)


def test_the_command_line_keeps_them(tmp_path):
    X, y, _ = drawn(3, False)
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    X.drop(columns="grade").assign(y=y).to_csv(table, index=False)
    call("fit", table, "--target", "y", "--size", "6", "--increasing", "a", "--max-linear", "0", "-o", model)
    for command in (["simplify", model, table, "--points", "3"], ["distill", model, table, "--max-terms", "4"]):
        out = tmp_path / f"{command[0]}.json"
        call(*command, "-o", out)
        small = bgn.load(out)
        keeps(small.network_, [int(name == "a") for name in small.network_.names])
        assert list_guarantees(small) == ["the prediction never falls as a rises"]
    assert json.loads(model.read_text(encoding="utf-8"))["settings"]["monotonic_cst"]
