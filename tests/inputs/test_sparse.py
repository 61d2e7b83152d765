"""Sparse tables give the bits that the same numbers give dense, in every function; none is made dense beyond a size."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bgn
from bgn.model import values as reading

SETTINGS = {"max_terms": 3, "random_state": 0, "cv": None}
RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((80, 5)) < 0.6, 0.0, RNG.normal(size=(80, 5)).round(2))
TARGET = 2.0 * (DENSE[:, 0] > 0) + DENSE[:, 1]
FORMATS = [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, sp.dok_array, sp.bsr_matrix]


@pytest.fixture(scope="module")
def model() -> bgn.BGNRegressor:
    return bgn.BGNRegressor(**SETTINGS).fit(DENSE, TARGET)


@pytest.mark.parametrize("make", FORMATS)
def test_every_format_gives_the_same_bits(model: bgn.BGNRegressor, make: type) -> None:
    X = make(DENSE)
    assert bgn.BGNRegressor(**SETTINGS).fit(X, TARGET).network_ == model.network_
    np.testing.assert_array_equal(model.predict(X), model.predict(DENSE))
    np.testing.assert_array_equal(model.network_.predict(X), model.predict(DENSE))


def test_a_row_of_a_sparse_array_is_a_row(model: bgn.BGNRegressor) -> None:
    row = sp.csr_array(DENSE)[3]
    assert row.shape == (5,)
    for result in (lambda X: model.explain(X, background=DENSE).values, lambda X: model.margin(X).up,
                   lambda X: model.counterfactual(X, at_least=1.0).x):  # fmt: skip
        np.testing.assert_array_equal(result(row), result(DENSE[3]))


def test_columns_of_a_sparse_table_are_chosen_by_position(model: bgn.BGNRegressor) -> None:
    X = sp.csr_matrix(np.column_stack([DENSE, TARGET]))
    fitted = bgn.BGNRegressor(**SETTINGS).fit(X, target=5, eval_set=(sp.csr_matrix(DENSE), TARGET))
    other = bgn.BGNRegressor(**SETTINGS).fit(DENSE, TARGET, eval_set=(DENSE, TARGET))
    assert fitted.network_ == other.network_


def test_every_function_takes_sparse_rows(model: bgn.BGNRegressor, tmp_path: Path) -> None:
    X = sp.csr_matrix(DENSE)
    np.testing.assert_array_equal(model.explain(X).values, model.explain(DENSE).values)
    np.testing.assert_array_equal(model.margin(X[:4]).distance, model.margin(DENSE[:4]).distance)
    assert model.counterfactual(X[:1], at_least=1.0).cost == model.counterfactual(DENSE[0], at_least=1.0).cost
    np.testing.assert_array_equal(model.importance(X).features, model.importance(DENSE).features)
    assert model.score(X, TARGET) == model.score(DENSE, TARGET)
    np.testing.assert_array_equal(model.predict(X, interval=0.8)[1], model.predict(DENSE, interval=0.8)[1])
    assert model.simplify(X, TARGET).network == model.simplify(DENSE, TARGET).network
    model.report(X, TARGET, tmp_path / "sparse.html")
    model.report(DENSE, TARGET, tmp_path / "dense.html")
    assert (tmp_path / "sparse.html").read_text() == (tmp_path / "dense.html").read_text()


def test_classes_and_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.where(TARGET > 1, "high", "low")
    model = bgn.BGNClassifier(**SETTINGS).fit(sp.csr_matrix(DENSE), labels)
    expected = model.predict_proba(DENSE)
    monkeypatch.setattr("bgn.estimator_base.BLOCK_BYTES", 8 * 5 * 7)  # seven rows at a time
    np.testing.assert_array_equal(model.predict_proba(sp.coo_matrix(DENSE)), expected)


def test_frames_with_sparse_columns_need_no_warning(model: bgn.BGNRegressor) -> None:
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(DENSE), columns=list("abcde"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = bgn.BGNRegressor(**SETTINGS).fit(frame, TARGET)
        np.testing.assert_array_equal(fitted.predict(frame), model.predict(DENSE))
        np.testing.assert_array_equal(fitted.explain(frame).values, model.explain(DENSE).values)
        assert fitted.explain(frame.iloc[0]).values.shape == (1, 5)


def test_what_would_take_too_much_memory_is_refused_up_front(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = sp.csr_matrix((np.ones(3), ([0, 5, 9], [1, 2, 99_999])), shape=(1_000_000, 100_000))
    with pytest.raises(ValueError, match=r"1,000,000 rows and 100,000 sparse .* 745 GiB; at most 4 GiB.*one-hot"):
        bgn.BGNRegressor().fit(huge, np.zeros(1_000_000))
    monkeypatch.setattr(reading, "MOST_DENSE", 1000)
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(DENSE))
    with pytest.raises(ValueError, match="80 rows and 5 sparse columns"):
        bgn.BGNRegressor().fit(frame, TARGET)


def test_predictions_of_a_wide_sparse_table_are_never_dense_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    model = bgn.BGNRegressor(**SETTINGS).fit(DENSE, TARGET)
    expected = model.predict(DENSE)
    monkeypatch.setattr(reading, "MOST_DENSE", 8 * 5 * 10)
    monkeypatch.setattr("bgn.estimator_base.BLOCK_BYTES", 8 * 5 * 10)
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(DENSE)), expected)


def test_what_encoders_return_goes_in() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"city": rng.choice(["Lille", "Nice", "Rome"], 90), "area": rng.normal(size=90)})
    y = 3.0 * (X.city == "Nice") + (X.area > 0)
    steps = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough", sparse_threshold=1.0)
    pipeline = make_pipeline(steps, bgn.BGNRegressor(**SETTINGS, max_linear=0)).fit(X, y)
    assert sp.issparse(pipeline[0].transform(X))
    assert "city = Nice" in bgn.equation(pipeline)
    explanation = bgn.shap_values(pipeline, X.iloc[0], background=X)
    np.testing.assert_allclose(explanation.base_value + explanation.values.sum(), pipeline.predict(X[:1]))
