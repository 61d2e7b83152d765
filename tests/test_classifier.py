"""The estimator for classes: labels of every kind, the same bits from everywhere, and what it promises."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.metrics import log_loss

import bgn
from bgn import BGNClassifier, GrowthSettings
from bgn.engines.memory import MemoryEngine, part_of
from bgn.grow.losses import Logistic, Softmax
from bgn.grow.refit import Full
from bgn.model.term import Oblique, Projection
from tests.growing import same

QUICK = {"max_terms": 4, "shrinkage": 1.0, "random_state": 0, "n_jobs": 1, "cv": None}
QUICK["growth"] = GrowthSettings(max_replacements=2)


def table(classes, rows=240, seed=0):
    return make_classification(rows, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=seed)


@pytest.mark.parametrize("classes", [2, 3])
def test_every_engine_grows_the_same_network(engine, classes):
    X, y = table(classes)
    model = BGNClassifier(**QUICK, max_layers=2)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    expected = clone(model).fit(X, y, weight).history_
    assert same(engine(clone(model), X, y * 1.0, weight).history_, clone(model).fit(X, y * 1.0, weight).history_)
    for before, after in pairwise(expected.records):
        assert before.layer < after.layer or after.train_loss < before.train_loss
    for record in expected.records:
        assert record.bound <= record.train_loss + 1e-9


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_folds_choose_the_same_everywhere(engine, classes):
    X, y = table(classes)
    model = BGNClassifier(**QUICK | {"cv": 3, "shrinkage": "auto"})
    assert same(engine(clone(model), X, y * 1.0).history_, clone(model).fit(X, y * 1.0).history_)


@pytest.mark.parametrize(
    "labels",
    [("no", "yes"), (0, 1), (-1, 1), (False, True), (2.0, 4.0), ("b", "a", "c"), (3, 1, 2)],
    ids=str,
)
def test_labels_of_every_kind(labels):
    X, codes = table(len(labels))
    model = BGNClassifier(**QUICK).fit(X, np.array(labels)[codes])
    assert list(model.classes_) == sorted(labels)
    assert model.classes_.dtype.kind == np.array(labels).dtype.kind
    predicted = model.predict(X)
    assert set(predicted) <= set(labels)
    assert model.score(X, np.array(labels)[codes]) == np.mean(predicted == np.array(labels)[codes])
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], predicted)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probabilities, atol=1e-12)
    assert pickle.loads(pickle.dumps(model)).network_ == model.network_


def test_series_frames_and_target_columns_go_in_as_they_are():
    X, codes = table(2)
    frame = pd.DataFrame(X, columns=list("abcde"))
    churn = pd.Series(np.array(["stays", "leaves"])[codes], name="churn")
    model = BGNClassifier(**QUICK).fit(frame, churn)
    assert model.network_.schema.classes == ("leaves", "stays")
    assert model.network_.target_name == "churn"
    other = BGNClassifier(**QUICK).fit(frame.assign(churn=churn), target="churn")
    assert other.network_ == model.network_
    category = BGNClassifier(**QUICK).fit(frame, churn.astype("category"))
    assert category.network_ == model.network_
    assert "log-odds of churn = stays" in bgn.equation(model)


def test_labels_on_disk(tmp_path):
    X, codes = table(3)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.array(["x", "y", "z"])[codes])
    frame.to_parquet(tmp_path / "rows.parquet")
    model = BGNClassifier(**QUICK, class_weight="balanced").fit(tmp_path / "rows.parquet", target="kind")
    expected = BGNClassifier(**QUICK, class_weight="balanced").fit(frame, target="kind")
    assert same(model.history_, expected.history_)
    assert model.score(tmp_path / "rows.parquet", target="kind") == expected.score(frame, target="kind")
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))


def test_weights_of_classes_are_weights_of_rows():
    X, y = table(2)
    weight = np.where(y == 1, 3.0, 1.0)
    by_class = BGNClassifier(**QUICK, class_weight={1: 3.0}).fit(X, y)
    assert by_class.network_ == BGNClassifier(**QUICK).fit(X, y, weight).network_
    balanced = BGNClassifier(**QUICK, class_weight="balanced").fit(X[:150], y[:150])
    assert balanced.network_.predict(X[:150]).shape == (150,)


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = table(3)
    weight = np.random.default_rng(1).integers(1, 3, len(y))
    twice = np.repeat(np.arange(len(y)), weight)
    for changes in ({}, {"cv": 3}):
        model = BGNClassifier(**QUICK | changes)
        assert clone(model).fit(X, y, weight).network_ == clone(model).fit(X[twice], y[twice]).network_


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(20)}, "1 class"),
        ({"y": np.full(20, np.inf)}, "infinity"),
        ({"y": np.ones(20) * 1j}, "Complex"),
        ({"y": [*["a"] * 10, *["b"] * 9, None]}, "have no label"),
        ({"y": [*[0.0] * 10, *[1.0] * 9, np.nan]}, "NaN"),
        ({"y": np.linspace(0, 1, 20)}, "Unknown label type"),
        ({"y": np.arange(20) % 2, "sample_weight": np.arange(20) % 2}, "every row of the class 0"),
        ({"y": np.arange(20) % 2, "eval_set": (np.ones((4, 2)), [0, 1, 2, 1])}, "label 2"),
        ({"y": pd.date_range("2020", periods=20)}, "dates"),
        ({"y": np.eye(20)[:, :2]}, "y must be one label per row"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(arguments, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        BGNClassifier(**QUICK).fit(X, **arguments)


@pytest.mark.parametrize("weight", ["even", {5: 1.0}, {0: 0.0}, [1, 2]])
def test_weights_that_make_no_sense_are_refused(weight):
    X, y = table(2)
    with pytest.raises(ValueError, match="class_weight"):
        BGNClassifier(**QUICK, class_weight=weight).fit(X, y)


def test_too_many_classes_are_refused():
    X = np.random.default_rng(0).normal(size=(600, 2))
    with pytest.raises(ValueError, match="at most 256"):
        BGNClassifier(**QUICK).fit(X, np.arange(600) % 300)


def test_separable_tables_do_not_run_away():
    X, y = load_breast_cancer(return_X_y=True)
    model = BGNClassifier(max_terms=10, random_state=0, cv=None).fit(X[::2], y[::2])
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.35
    assert np.abs(model.decision_function(X)).max() < 50


@pytest.mark.parametrize("ridge", [0.5, 20.0])
def test_two_classes_by_softmax_are_two_classes_by_log_odds(ridge):
    """With the same questions and a penalty that means the same, both give the same probabilities."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(np.int64)
    models = []
    for kind, penalty in ((Logistic, ridge), (Softmax, 2 * ridge)):
        loss = kind.over(0.0, 1.0, 300)
        rows = MemoryEngine(part_of(np.ascontiguousarray(X.T), y, None, loss), loss)
        rule = Full(penalty)
        state = rule.start(rows)
        for slot in range(3):
            fired = [Oblique(Projection((slot,), (1.0,)), 0.1)]
            from bgn.engines.protocol import Cut

            state = rule.admit(rows, state, slot, Cut(fired[0], 1.0, 1, 1, 1, 1, 0.0, 0.0)) or state
        thorough = rule._refitted(rows, state, thoroughly=True)
        for _ in range(20):
            thorough = rule._refitted(rows, thorough, thoroughly=True)
        scores = loss.grid.value(-rows.part._diff(thorough.output))
        models.append(scores if loss.outputs == 1 else scores[1] - scores[0])
    np.testing.assert_allclose(1 / (1 + np.exp(-models[0])), 1 / (1 + np.exp(-models[1])), atol=1e-6)


def test_every_size_is_kept_and_numbers_are_short():
    X, y = load_iris(return_X_y=True)
    model = BGNClassifier(max_terms=5, max_linear=0, random_state=0).fit(X, y)
    small = model.with_terms(2)
    assert small.network_.widths == (2,)
    assert small.predict_proba(X).shape == (150, 3)
    weights = model.network_.output_weights
    np.testing.assert_allclose(2 * weights, np.round(2 * weights, 4), atol=1e-12)


def test_the_regressor_tells_of_targets_that_look_like_classes():
    X, y = table(2)
    with pytest.warns(UserWarning, match="BGNClassifier"):
        bgn.BGNRegressor(**QUICK).fit(X, y)


def test_a_class_of_one_row_is_warned_of():
    X, y = table(2)
    with pytest.warns(UserWarning, match="7 in one row"):
        model = BGNClassifier(**QUICK).fit(X, np.where(np.arange(len(y)) == 3, 7, y))
    assert list(model.classes_) == [0, 1, 7]
