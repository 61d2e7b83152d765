"""Scores against scikit-learn's, with labels of every kind; what is said of a model and its rivals is true of them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

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
from bgn.explain.rivals import is_clearly_larger, majority_scores, paired_difference, verdict
from bgn.report.facts import MEASURES as ALL_MEASURES
from bgn.report.facts import Facts, quality
from tests.optional import pandas as pd

LABELS = {2: ("no", "yes"), 3: ("a", "b", "c"), 4: (1, 2, 3, 4)}


@st.composite
def evaluated_rows(draw: st.DrawFn, ties: bool = True) -> EvaluationRows:
    classes = draw(st.sampled_from(list(LABELS)))
    rows = draw(st.integers(classes, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (rows,) if classes == 2 else (rows, classes)
    scores = rng.normal(size=shape).round(draw(st.integers(0, 2))) * draw(st.sampled_from([0.5, 2.0]))
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    weight = draw(st.sampled_from([None, rng.integers(1, 4, rows), rng.uniform(0.1, 3.0, rows)]))
    return EvaluationRows.of_scores(LABELS[classes], scores, codes, weight)


@given(evaluated_rows(), st.sampled_from([0.5, 0.2, 0.9]))
@settings(max_examples=150)
def test_scores_are_scikit_learns(evaluated: EvaluationRows, threshold: float) -> None:
    measured, weight = evaluate_classes(evaluated, threshold).scores, evaluated.weight
    truth, chances = evaluated.codes, evaluated.probabilities
    expected = {"log_loss": metrics.log_loss(truth, chances, sample_weight=weight)}
    if len(evaluated.classes) == 2:
        said = chances[:, 1] > threshold
        expected |= {
            "auc": metrics.roc_auc_score(truth, evaluated.scores[:, 1], sample_weight=weight),
            "brier": metrics.brier_score_loss(truth, chances[:, 1], sample_weight=weight),
            "accuracy": metrics.accuracy_score(truth, said, sample_weight=weight),
            "sensitivity": metrics.recall_score(truth, said, sample_weight=weight),
            "specificity": metrics.recall_score(truth, said, pos_label=0, sample_weight=weight),
            "precision": metrics.precision_score(truth, said, sample_weight=weight, zero_division=np.nan),
        }
        area = metrics.average_precision_score(truth, evaluated.scores[:, 1], sample_weight=weight)
        assert evaluated.of_class(1).average_precision() == pytest.approx(area)
    else:
        said = evaluated.predicted
        recall = metrics.recall_score(truth, said, average=None, sample_weight=weight)
        # scikit-learn takes weights for no macro average over classes, so one class at a time.
        ranks = [
            metrics.roc_auc_score(truth == k, evaluated.log_probabilities[:, k], sample_weight=weight)
            for k in range(len(evaluated.classes))
        ]
        expected |= {
            "auc": np.mean(ranks),
            "brier": np.average(((chances - np.eye(len(evaluated.classes))[truth]) ** 2).sum(axis=1), weights=weight),
            "accuracy": metrics.accuracy_score(truth, said, sample_weight=weight),
        }
        expected |= {
            f"recall of {name}": sample for name, sample in zip(map(str, evaluated.classes), recall, strict=True)
        }
    assert {name: measured[name] for name in expected} == pytest.approx(expected, nan_ok=True)
    confusion = metrics.confusion_matrix(truth, said, sample_weight=weight)
    np.testing.assert_allclose(evaluate_classes(evaluated, threshold).confusion, confusion)


@given(evaluated_rows())
def test_curves_are_scikit_learns(evaluated: EvaluationRows) -> None:
    one = evaluated.of_class(len(evaluated.classes) - 1)
    across, up = one.roc()
    false, true, _ = metrics.roc_curve(one.member, one.order, sample_weight=one.weight, drop_intermediate=False)
    np.testing.assert_allclose(np.c_[across, up], np.c_[false, true], atol=1e-12)
    precision, recall = one.precision_recall()
    expected = metrics.precision_recall_curve(one.member, one.order, sample_weight=one.weight)
    np.testing.assert_allclose(precision, expected[0][::-1])
    np.testing.assert_allclose(recall, expected[1][::-1], atol=1e-12)


@given(evaluated_rows(), st.integers(1, 12))
def test_bins_hold_all_rows_and_keep_equal_ones_together(evaluated: EvaluationRows, count: int) -> None:
    one = evaluated.of_class(1)
    measured = one.bins(count)
    assert len(measured.weight) <= count
    assert measured.weight.sum() == pytest.approx(one.weight.sum())
    assert (np.diff(measured.predicted) > -1e-12).all()  # two probabilities may be one float apart, their means none
    mean = np.average(one.probability, weights=one.weight)
    assert np.average(measured.predicted, weights=measured.weight) == pytest.approx(mean)
    share = np.average(one.member, weights=one.weight)
    assert np.average(measured.observed, weights=measured.weight) == pytest.approx(share)
    assert one.bins(1).expected_error == pytest.approx(abs(mean - share), abs=1e-12)


@given(evaluated_rows())
def test_a_weight_of_two_is_the_row_twice(evaluated: EvaluationRows) -> None:
    times = np.random.default_rng(0).integers(1, 3, len(evaluated.codes))
    heavy = EvaluationRows(evaluated.classes, evaluated.codes, evaluated.scores, times.astype(float))
    twice = np.repeat(np.arange(len(times)), times)
    plain = EvaluationRows(evaluated.classes, evaluated.codes[twice], evaluated.scores[twice], np.ones(len(twice)))
    assert evaluate_classes(heavy).scores == pytest.approx(evaluate_classes(plain).scores, nan_ok=True)


def test_standard_errors_are_those_of_repeated_tables() -> None:
    rng = np.random.default_rng(1)
    measured = []
    for _ in range(300):
        codes = rng.integers(0, 2, 200)
        measured.append(evaluate_classes(EvaluationRows.of_scores(("no", "yes"), codes + rng.normal(size=200), codes)))
    for name in ("auc", "log_loss", "brier", "accuracy", "sensitivity", "specificity", "precision"):
        deviation = np.std([sample.scores[name] for sample in measured])
        assert np.mean([sample.errors[name] for sample in measured]) == pytest.approx(deviation, rel=0.2)


def test_net_benefit_is_its_definition() -> None:
    evaluated = EvaluationRows.of_scores(("no", "yes"), np.array([2.0, 1.0, -1.0, -3.0]), [1, 0, 1, 0])
    assert evaluated.of_class(1).net_benefit(np.array([0.5, 0.1])) == pytest.approx([0.0, (2 - 0.1 / 0.9) / 4])


def test_a_model_is_evaluated_as_it_predicts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    for y in (X[:, 0] + X[:, 1] > 0, np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]):
        model = bgn.BGNClassifier(max_terms=3, random_state=0).fit(X, y)
        measured = bgn.evaluate(model, X, y)
        assert measured.scores["accuracy"] == pytest.approx(model.score(X, y))
        assert measured.scores["log_loss"] == pytest.approx(metrics.log_loss(y, model.predict_proba(X)))
        assert list(measured.to_frame().index) == list(measured.scores)
        assert "log loss" in str(measured)
        assert "<table>" in measured._repr_html_()
        assert measured.classes == tuple(model.classes_.tolist())


def test_what_cannot_be_evaluated_is_refused(tmp_path: Path) -> None:
    X = np.arange(12.0).reshape(6, 2)
    model = bgn.BGNClassifier(max_terms=1, validation_fraction=0).fit(X, ["a", "a", "a", "b", "b", "b"])
    with pytest.raises(ValueError, match="y holds the label 'c', which fit did not see"):
        bgn.evaluate(model, X, ["a", "a", "a", "b", "b", "c"])
    with pytest.raises(ValueError, match="threshold must be"):
        bgn.evaluate(model, X, ["a"] * 6, threshold=2)
    with pytest.raises(ValueError, match="y must have one label per row"):
        bgn.evaluate(model, X, ["a"] * 5)
    one = bgn.evaluate(model, X, ["a"] * 6)
    assert np.isnan(one.scores["auc"])
    lines = {line.split("  ")[0]: line.split("  ")[-1] for line in str(one).splitlines()}
    assert lines["AUC"] == lines["sensitivity at 0.5"] == "(no test rows of b)"
    page = bgn.write_report(model, X, [*"aaabbb"], tmp_path / "r.html", X_test=X[:3], y_test=["a"] * 3)
    assert "No AUC: there are no test rows of “b”." in page.read_text(encoding="utf-8")


def test_a_class_without_rows_is_named_with_its_recall():
    evaluated = EvaluationRows.of_scores(
        ("a", "b", "c"), np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0]]), np.array([0, 0])
    )
    lines = {line.split("  ")[0]: line.split("  ")[-1] for line in str(evaluate_classes(evaluated)).splitlines()}
    assert lines["AUC"] == "(no test rows of b, c)"
    assert lines["recall of b"] == lines["recall of c"] == "(no test rows)"
    assert lines["precision of c"] == "(never predicted)"


@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_error_by_chance_is_that_of_exact_probabilities(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    scores, weight = rng.normal(size=600) * 1.5, rng.integers(1, 4, 600) if weighted else None
    drawn = rng.random((400, 600)) < 1.0 / (1.0 + np.exp(-scores))
    bins = [EvaluationRows.of_scores(("no", "yes"), scores, sample, weight).of_class(1).bins(10) for sample in drawn]
    assert bins[0].by_chance == pytest.approx(np.mean([sample.expected_error for sample in bins]), rel=0.05)


def test_the_shares_of_two_classes_are_evaluated_as_probabilities():
    """Scores in two columns are those of a softmax, here logarithms of probabilities."""
    codes = np.array([0, 0, 0, 1, 1])
    evaluated = EvaluationRows.of_scores(("no", "yes"), majority_scores(codes, 5, 2), codes)
    assert np.allclose(evaluated.probabilities, [[0.6, 0.4]] * 5)
    assert evaluate_classes(evaluated).scores["brier"] == pytest.approx(0.6 * 0.4)


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


KINDS = {
    "whole": [3, 7, 8], "truths": [False, True], "words": ["ad", "bo", "cy"], "numbers": [-1.0, 2.0, 1e3],
    "objects": ["ad", "bo", "cy"], "categories": ["ad", "bo", "cy"], "yes first": ["ja", "nein"],
}  # fmt: skip
CASES = [(kind, count) for kind, labels in KINDS.items() for count in (2, 3) if count <= len(labels)]


def rows(count):
    rng = np.random.default_rng(count)
    X = rng.normal(size=(90, 3)).round(2)
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=90) * 0.4, [0.0, 0.7][: count - 1])


def labels_of(kind, codes):
    """Labels as users have them, in the order of their classes."""
    names = KINDS[kind]
    values = np.array(names, dtype=object if kind in ("objects", "categories") else None)[codes]
    return pd.Categorical(values) if kind == "categories" else values


@lru_cache
def fitted(kind, count):
    X, codes = rows(count)
    y = codes if kind is None else labels_of(kind, codes)
    return bgn.BGNClassifier(max_terms=3, max_linear=0, random_state=0).fit(X[:60], y[:60])


@lru_cache
def figures(kind, count):
    """What every function that takes labels says of them."""
    (X, codes), model = rows(count), fitted(kind, count)
    y = codes if kind is None else labels_of(kind, codes)
    values = {
        "scores": list(bgn.evaluate(model, X, y).scores.values()),
        "points": [(simple := bgn.simplify(model, X, y, points=3)).before, simple.after],
        "digits": [(simple := bgn.simplify(model, X, y, digits=1)).before, simple.after],
        "sizes": np.concatenate([*bgn.frontier(model, X[:60], y[:60], X[60:], y[60:]).errors.values()]).tolist(),
        "report": [rival.evaluation.scores[name] for rival in quality(Facts.of(model, X[:60], y[:60], X[60:], y[60:]))
                   for name in MEASURES],
        "distilled": [*vars(bgn.distill(model, X, y, max_terms=2, max_linear=0, random_state=0).fidelity_).values()],
        "gap": bgn.compare_groups(model, X, list(y), random_state=0).columns.tolist() if count == 2 else [],
    }  # fmt: skip
    if count == 2:
        receipt = bgn.edit(model, X, y, cutoff=0.5).coef(1, 0.25).receipt.edit
        values["edit"] = [receipt.before, receipt.after]
    return values


@pytest.mark.parametrize(("kind", "count"), CASES)
def test_figures_are_those_of_classes_that_are_numbered(kind, count):
    known, wanted = figures(kind, count), figures(None, count)
    assert known.keys() == wanted.keys()
    for name, values in wanted.items():
        if kind != "yes first" or name in ("points", "digits", "sizes", "distilled"):  # others are about "ja"
            np.testing.assert_allclose(known[name], values, rtol=1e-12, err_msg=name)


def test_an_edit_tells_labels_it_does_not_know():
    X, codes = rows(2)
    with pytest.raises(ValueError, match="holds the label 0, which fit did not see; the classes are 3, 7"):
        bgn.edit(fitted("whole", 2), X, codes)
