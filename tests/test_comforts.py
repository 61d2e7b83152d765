"""What is asked of a fitted estimator directly, and results as frames and HTML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bgn
from bgn.tabular import Tabular


@pytest.fixture(scope="module")
def houses() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"rooms": rng.integers(1, 8, 300).astype(float), "age": rng.uniform(0, 90, 300)})
    X["city"] = rng.choice(["Lille", "Nice", "Rome"], 300)
    return X, pd.Series(100.0 * X["rooms"] - X["age"] + 50.0 * (X["city"] == "Nice"), name="price")


@pytest.fixture(scope="module")
def model(houses: tuple[pd.DataFrame, pd.Series]) -> Any:
    return bgn.BGNRegressor(max_terms=4, max_linear=0, cv=None, random_state=0).fit(*houses)


def test_methods_are_the_functions(model: Any, houses: tuple[pd.DataFrame, pd.Series], tmp_path: Path) -> None:
    X, y = houses
    assert model.equation() == bgn.equation(model)
    np.testing.assert_array_equal(model.explain(X, X).values, bgn.shap_values(model, X, background=X).values)
    np.testing.assert_array_equal(model.effect("rooms", X).values, bgn.effect(model, "rooms", X).values)
    np.testing.assert_array_equal(model.margin(X[:5]).distance, bgn.margin(model, X[:5]).distance)
    assert repr(model.counterfactual(X.iloc[0], at_least=500)) == repr(
        bgn.counterfactual(model, X.iloc[0], at_least=500)
    )
    assert repr(model.extremes()) == repr(bgn.extremes(model))
    assert repr(model.certify()) == repr(bgn.certify(model))
    assert str(model.frontier(X, y)) == str(bgn.frontier(model, X, y))
    assert repr(model.simplify(X, y)) == repr(bgn.simplify(model, X, y))
    assert model.report(X, y, tmp_path / "report.html").exists()
    model.save(tmp_path / "model.json")
    loaded = bgn.load(tmp_path / "model.json")
    assert loaded.network_ == model.network_
    assert not hasattr(loaded, "background_")  # rows stay at home
    assert not hasattr(loaded, "feature_importances_")


def test_the_background_is_some_training_rows(model: Any, houses: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = houses
    kept = {tuple(row) for row in model.background_.tolist()}
    assert kept == {tuple(row) for row in X.to_numpy(dtype=object).tolist()}
    np.testing.assert_allclose(model.explain(X).values, bgn.shap_values(model, X, background=X).values, atol=1e-9)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances.argmax() == 0
    small = bgn.BGNRegressor(max_terms=3, cv=None, random_state=0)
    selected = SelectFromModel(small, max_features=1, threshold=-np.inf)
    assert selected.fit(X[["rooms", "age"]], y).get_support().tolist() == [True, False]
    many = np.random.default_rng(1).normal(size=(1500, 2))
    fitted = bgn.BGNRegressor(max_terms=2, cv=None, random_state=0).fit(many, many[:, 0])
    order = np.random.default_rng(2).permutation(1500)
    again = bgn.BGNRegressor(max_terms=2, cv=None, random_state=0).fit(many[order], many[order, 0])
    assert fitted.background_.shape == (1000, 2)
    assert {*map(tuple, fitted.background_)} == {*map(tuple, again.background_)}


def test_a_pipeline_does_not_compare_with_scaled_rows(houses: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = houses[0][["rooms", "age"]], houses[1]
    pipeline = make_pipeline(StandardScaler(), bgn.BGNRegressor(max_terms=3, cv=None, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="background must be a table of rows"):
        bgn.effect(pipeline, "rooms")


def results(model: Any, X: pd.DataFrame, y: pd.Series) -> dict[str, Any]:
    simple, predicted = bgn.simplify(model, X, y, points=5), model.predict(X)
    changes = model.counterfactual(X.iloc[int(predicted.argmin())], at_least=float(predicted.max()))
    results_by_name = {
        "effect": model.effect("rooms"), "levels": model.effect("city"), "pair": model.effect(("rooms", "city")),
        "shap": model.explain(X), "importance": model.importance(), "margin": model.margin(X),
        "changes": changes, "extremes": model.extremes(),
        "certificates": model.certify(), "frontier": model.frontier(), "simple": simple,
        "card": bgn.scorecard(simple.network), "check": bgn.check(X), "history": model.history_,
        "comparison": bgn.compare_groups(model, X, X["city"], between=("Lille", "Nice")),
        "receipt": bgn.edit(model, X, y).round(2).receipt, "intervals": bgn.intervals(model, X, y),
        "groups": bgn.intervals(model, X, y, groups=X["rooms"] >= 4),
    }  # fmt: skip
    plain = bgn.Network.of_layers([bgn.Layer([[1.0]], [-4.0])], [1.0], 0.0, ["rooms"])
    (results_by_name["regions"],) = bgn.theory.regions(plain, X[["rooms"]])
    results_by_name["certificate"] = results_by_name["certificates"]["rooms"]
    results_by_name["fidelity"] = bgn.distill(model, X, y, max_terms=2, random_state=0).fidelity_
    return results_by_name


def test_every_result_is_a_frame_and_html(model: Any, houses: tuple[pd.DataFrame, pd.Series]) -> None:
    for name, result in results(model, *houses).items():
        frame, shown = result.to_frame(), result._repr_html_()
        assert len(frame) > 0, name
        assert "<table" in shown, name
        assert "<script" not in shown
        rows = len(re.findall(r"<tr>", shown)) - 1
        if isinstance(result, Tabular):
            assert rows == min(50, len(frame)), name


def test_frames_say_what_results_hold(model: Any, houses: tuple[pd.DataFrame, pd.Series]) -> None:
    X, _ = houses
    shap = model.explain(X)
    frame = shap.to_frame()
    assert list(frame) == ["base value", "rooms", "age", "city"]
    np.testing.assert_allclose(frame.sum(axis=1), model.predict(X))
    effect = model.effect("rooms").to_frame()
    assert effect.iloc[0, 0] == -np.inf
    assert list(model.effect("city").to_frame()["city"])[:3] == ["Lille", "Nice", "Rome"]
    assert model.importance().to_frame()["share"].is_monotonic_decreasing
    assert model.frontier().to_frame()["chosen"].sum() == 1


def test_names_cannot_break_out_of_html() -> None:
    network = bgn.Network.of_layers([bgn.Layer([[1.0]], [0.0])], [1.0], 0.0, ["<script>alert(1)</script>"])
    assert "<script" not in bgn.importance(network, [[1.0], [-1.0]])._repr_html_()
