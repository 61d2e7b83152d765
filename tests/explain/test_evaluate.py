"""Scores of classes, against scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import bgn
from bgn.explain.evaluate import EvaluationRows, evaluate_classes
from bgn.explain.rivals import majority_scores

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
    assert (np.diff(measured.predicted) > 0).all()
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
