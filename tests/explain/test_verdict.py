"""What is said of a model beside others is true of the figures that are shown, and of what the rows carry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bgn
from bgn.explain.evaluate import LARGER_IS_BETTER, Evaluation, EvaluationRows, evaluate_classes, evaluate_numbers
from bgn.explain.rivals import is_clearly_larger, paired_difference, verdict
from bgn.report.facts import MEASURES as ALL_MEASURES

SHARE_OF_ONE = 0.317  # of a normal variable beyond one standard deviation

MEASURES = ALL_MEASURES[True]


def _classes(seed: int, rows: int, count: int, weighted: bool = False) -> tuple[EvaluationRows, EvaluationRows]:
    """Return two models' rows of one truth; scores and classes tie now and then."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, count, rows)
    shape = rows if count == 2 else (rows, count)
    scores = [rng.normal(size=shape).round(int(rng.integers(0, 3))) * rng.choice([0.0, 0.3, 3.0]) for _ in range(2)]
    weight = rng.integers(0, 4, rows) + (np.arange(rows) == 0) if weighted else None
    one, other = (EvaluationRows.of_scores(range(count), draw, codes, weight) for draw in scores)
    return one, other


@given(st.integers(0, 2**31), st.integers(1, 60), st.integers(2, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_measure_of_classes_is_the_mean_of_its_rows(seed, rows, count, weighted):
    evaluated, _ = _classes(seed, rows, count, weighted)
    scores = evaluate_classes(evaluated)
    for name, values in scores.by_row.items():
        expected = scores.scores[name]
        if np.isnan(expected):
            assert np.isnan(values).any()
            continue
        assert np.average(values, weights=evaluated.weight) == pytest.approx(expected, abs=1e-9)
        error = np.sqrt(np.sum((evaluated.weight * (values - expected)) ** 2)) / evaluated.weight.sum()
        if not np.isnan(scores.errors[name]):
            assert error == pytest.approx(scores.errors[name], abs=1e-9)  # of the AUC, DeLong's


@given(st.integers(0, 2**31), st.integers(1, 60), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_a_verdict_is_true_of_the_figures_shown(seed, rows, count):
    ours, theirs = _classes(seed, rows, count)
    ours, theirs = evaluate_classes(ours), evaluate_classes(theirs)
    figures = [ours.scores, theirs.scores]
    shown = [{name: f"{draw[name]:.3f}" for name in MEASURES} for draw in figures]
    compared = verdict("the other", ours, theirs, MEASURES, (shown[0], shown[1]))
    of = {title: name for name, title in MEASURES.items()}
    assert sorted(compared.better + compared.worse + compared.unclear + compared.unknown) == sorted(of)
    for titles, sign in ((compared.better, 1), (compared.worse, -1)):
        for title in titles:
            name = of[title]
            one, other = (float(draw[name]) for draw in shown)
            assert (sign * one > sign * other) == (name in LARGER_IS_BETTER)
            assert one != other
    for title in compared.unknown:
        assert "nan" in (shown[0][of[title]], shown[1][of[title]])
    text = str(compared)
    for title in (*compared.better, *compared.worse):
        known = compared.better + compared.worse + compared.unclear
        assert title in text or compared.better == known or compared.worse == known
    turned = verdict("the other", theirs, ours, MEASURES, (shown[1], shown[0]))
    assert (turned.better, turned.worse, turned.unclear) == (compared.worse, compared.better, compared.unclear)


@given(st.integers(0, 2**31), st.integers(1, 40), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_measure_of_numbers_is_the_mean_of_its_rows(seed, rows, weighted):
    rng = np.random.default_rng(seed)
    y, predicted = rng.integers(-3, 4, rows) * 1.0, rng.normal(size=rows)
    weight = rng.integers(1, 4, rows) * 1.0 if weighted else None
    compared = evaluate_numbers(y, predicted, weight)
    for name, values in compared.by_row.items():
        score = compared.scores[name] ** 2 if name == "rmse" else compared.scores[name]
        assert np.average(values, weights=weight) == pytest.approx(score, abs=1e-9)
    known = {"mse": metrics.mean_squared_error, "mae": metrics.mean_absolute_error}
    for name, score in known.items():
        assert compared.scores[name] == pytest.approx(score(y, predicted, sample_weight=weight))
    assert compared.scores["rmse"] == pytest.approx(np.sqrt(compared.scores["mse"]))
    if rows > 1 and np.ptp(y):
        assert compared.scores["r2"] == pytest.approx(metrics.r2_score(y, predicted, sample_weight=weight))


def test_equal_models_differ_clearly_as_often_as_one_standard_error_says():
    """Two models with errors of the same kind: each is called better in about a sixth of the tables."""
    rng, trials, rows = np.random.default_rng(0), 400, 60
    better, worse = dict.fromkeys(MEASURES, 0), dict.fromkeys(MEASURES, 0)
    for _ in range(trials):
        codes = rng.integers(0, 2, rows)
        models = [EvaluationRows.of_scores((0, 1), codes - 0.5 + rng.normal(size=rows), codes) for _ in range(2)]
        compared = verdict("the other", *map(evaluate_classes, models), {name: name for name in MEASURES})
        for name in compared.better:
            better[name] += 1
        for name in compared.worse:
            worse[name] += 1
    # Of two calibration errors the signs are noise, too: they are told apart less often than that.
    assert (better.pop("calibration_error") + worse["calibration_error"]) / trials < SHARE_OF_ONE
    for name in better:
        assert (better[name] + worse[name]) / trials == pytest.approx(SHARE_OF_ONE, abs=0.1), name
        assert better[name] / trials == pytest.approx(SHARE_OF_ONE / 2, abs=0.07), name
    draws = rng.standard_t(5, size=(2000, 2, 40))
    clear = np.mean([is_clearly_larger(*draw) or is_clearly_larger(*draw[::-1]) for draw in draws])
    assert clear == pytest.approx(SHARE_OF_ONE, abs=0.04)


def _evaluation(values: np.ndarray) -> Evaluation:
    return Evaluation(len(values), {"mse": float(values.mean())}, {"mse": 1.0}, {"mse": values})


def test_what_rows_do_not_tell_is_not_said():
    one = np.array([1.0])
    assert paired_difference(one, one * 3)[0] == -2.0
    assert not is_clearly_larger(one * 3, one)
    same = _evaluation(np.arange(5.0))
    titles = {"mse": "RMSE"}
    assert str(verdict("a tree", same, same, titles)) == "No clear difference from a tree on any measure."
    nobody = _evaluation(np.full(5, np.nan))
    assert str(verdict("a tree", nobody, same, titles)) == "These rows do not tell this model from a tree."
    worse = _evaluation(np.arange(5.0) + 1.0)
    assert str(verdict("a tree", worse, same, titles)) == "Worse than a tree on every measure: consider a tree."
    # written alike, a difference cannot be seen
    alike = verdict("a tree", _evaluation(np.arange(5.0) + 1e-9), same, titles, ({"mse": "2.00"}, {"mse": "2.00"}))
    assert alike.unclear == ("RMSE",)


def test_numbers_are_evaluated_through_wrappers_in_the_units_of_the_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = 100.0 * (X[:, 0] > 0) + rng.normal(size=120)
    inside = bgn.BGNRegressor(max_terms=2, max_linear=0, cv=None, random_state=0)
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), inside), transformer=StandardScaler()).fit(X, y)
    compared = bgn.evaluate(model, X, y)
    assert compared.scores["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    assert compared.scores["r2"] > 0.99
    assert list(compared.to_frame().index) == ["r2", "rmse", "mse", "mae"]
    plain = inside.fit(X, y)
    weight = rng.integers(0, 3, len(y))
    weighed, repeated = bgn.evaluate(plain, X, y, sample_weight=weight), np.repeat(np.arange(len(y)), weight)
    assert weighed.scores["mse"] == pytest.approx(bgn.evaluate(plain, X[repeated], y[repeated]).scores["mse"])
    with pytest.raises(ValueError, match="threshold is for two classes, and the model predicts numbers; leave it out"):
        bgn.evaluate(plain, X, y, threshold=0.3)
    with pytest.raises(ValueError, match="sample_weight must be positive for some row"):
        bgn.evaluate(plain, X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(TypeError, match="fitted estimator"):
        bgn.evaluate(LinearRegression(), X, y)
    assert str(bgn.evaluate(plain, X[:1], y[:1])).startswith("1 row\n")
