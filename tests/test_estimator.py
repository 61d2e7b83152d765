"""BGNRegressor as its users meet it: frames, weights, bad input, extremes."""

import pickle
import re
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bgn
from bgn import BGNClassifier, BGNRegressor, GrowthSettings, load
from bgn.engines.raw_rows import row_hashes
from bgn.inputs.splits import edge_of, is_test
from tests.optional import pandas as pd
from tests.optional import polars as pl
from tests.optional import pyarrow as pa

QUICK = {"max_terms": 4, "shrinkage": 10.0, "random_state": 0, "cv": None}


def assert_refused(message, call, *args, **more):
    with pytest.raises(ValueError, match=message):
        call(*args, **more)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


def test_frames_of_both_kinds_give_the_same_network(diabetes):
    X, y = diabetes
    from_pandas = BGNRegressor(**QUICK).fit(X, y.to_numpy())
    from_polars = BGNRegressor(**QUICK).fit(pl.DataFrame({name: X[name].to_numpy() for name in X}), y.to_numpy())
    assert from_pandas.network_ == from_polars.network_
    assert from_pandas.network_.feature_names == tuple(X.columns)
    plain = BGNRegressor(**QUICK).fit(X.to_numpy(), y.to_numpy())
    np.testing.assert_array_equal(plain.predict(X.to_numpy()), from_pandas.predict(X))
    assert not hasattr(plain, "feature_names_in_")
    assert BGNRegressor(**QUICK).fit(X, y).network_.target_name == "target"


def test_works_in_pipelines_searches_and_pickles(diabetes):
    X, y = diabetes
    model = BGNRegressor(**QUICK)
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).mean() > 0.2
    search = GridSearchCV(model, {"max_terms": [1, 4]}, cv=2).fit(X, y)
    assert search.best_params_["max_terms"] in (1, 4)
    fitted = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    np.testing.assert_array_equal(fitted.predict(X), clone(model).fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_layers": 0}, "max_layers must be a whole number, at least 1; got 0."),
        ({"max_terms": 2.5}, "max_terms must be a whole number, at least 1; got 2.5."),
        ({"max_features": 0}, "max_features must be a whole number, at least 1; got 0. Use None for no limit."),
        ({"direction": "ridge"}, "direction must be one of 'search', 'debiased', 'lasso'; got 'ridge'."),
        ({"output": None}, "output must be one of 'full', 'stagewise'; got None."),
        ({"shrinkage": -1}, 'shrinkage must be a number at least 0 or "auto"; got -1.'),
        ({"shrinkage": "some"}, "shrinkage must be a number"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0 and at most 1; got 0."),
        ({"growth": GrowthSettings(-1)}, "max_replacements must be a whole number, at least 0; got -1."),
        ({"growth": GrowthSettings(patience=0)}, "patience must be a whole number, at least 1; got 0."),
        ({"verbose": "loud"}, "verbose must be a whole number, at least 0; got 'loud'."),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number at least 0 and below 1; got 1.0."),
        ({"select": "smallest"}, "select must be one of 'best', 'compact'; got 'smallest'."),
        ({"max_seconds": -3}, "max_seconds must be a number at least 0 or None; got -3."),
        ({"callbacks": [3]}, "callbacks must be callables that take a record; got 3."),
        ({"callbacks": 3}, "callbacks must be callables that take a record; got 3."),
    ],
)
def test_bad_parameters_are_named(change, message):
    assert_refused(re.escape(message), BGNRegressor(**change).fit, [[0.0], [1.0]], [0.0, 1.0])


FOUR = [1, 2, 3, 4]


def few_rows():
    return pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "city": ["Lille", "Nice"] * 2})


@pytest.mark.parametrize(
    ("X", "y", "more", "message"),
    [
        (lambda rows: rows[[]], FOUR, {}, "X has no columns, and 4 rows."),
        (lambda _: [[1, 2], [3]], [1, 2], {}, "X must have as many values in every row"),
        (lambda rows: rows.assign(age=np.inf), FOUR, {}, "infinity in column 'age'"),
        (lambda _: np.full((4, 2), np.inf), FOUR, {}, "column 0 (4 of 4 rows). Drop those rows, or put NaN"),
        (lambda rows: rows.assign(age=[10**400] * 4), FOUR, {}, "column 'age' holds numbers too large for a float64"),
        (lambda rows: rows.assign(age=[[1]] * 4), FOUR, {}, "column 'age' holds values of the type list"),
        (lambda rows: rows.set_axis(["age", "age"], axis=1), FOUR, {}, "more than one column named 'age'. Rename"),
        (lambda rows: rows, ["a", "b", "c", "d"], {}, "y must hold numbers; got 'a'. For labels use bgn.BGN"),
        (lambda rows: rows, [1, np.nan, 3, np.nan], {}, "Input y contains NaN (2 of 4 rows). Drop those rows."),
        (lambda rows: rows[["age"]], [1, np.nan, 3, 4], {}, "Input y contains NaN (1 of 4 rows). Drop those rows."),
        (lambda rows: rows, FOUR, {"sample_weight": ["a"] * 4}, "must hold one number per row of X; got 'a'."),
        (lambda rows: rows, FOUR, {"sample_weight": [1.0]}, "sample_weight must have one entry per row of X (4)"),
    ],
)
def test_hostile_rows_are_refused_by_argument_value_and_remedy(X, y, more, message):
    assert_refused(re.escape(message), BGNRegressor(**QUICK).fit, X(few_rows()), y, **more)


def test_scores_need_a_label_per_row_and_tables_a_list_per_column():
    model = BGNClassifier(max_terms=1, random_state=0, cv=None).fit(few_rows(), ["a", "a", "b", "b"])
    assert_refused(r"y must have one label per row of X \(4\); got 3.", model.score, few_rows(), ["a", "a", "b"])
    with pytest.raises(ValueError, match=r"data must hold a list of values per column; got 1 for 'a'."):
        bgn.preparation.fit({"a": 1, "y": 2}, "y")
    with pytest.raises(ValueError, match=r"data must hold as many values in every column; got {'a': 2, 'y': 1}"):
        bgn.preparation.fit({"a": [1, 2], "y": [1]}, "y")


def test_bad_tables_are_named(diabetes):
    X, y = diabetes
    model, paper = BGNRegressor(**QUICK), BGNRegressor.as_in_paper(**QUICK)
    assert_refused(r"NaN in column 'bmi' \(1 of 442 rows\)", paper.fit, X.assign(bmi=X["bmi"].where(X.index != 3)), y)
    assert_refused(r"infinity in column 'bp'", model.fit, X.assign(bp=X["bp"].where(X.index != 3, -np.inf)), y)
    assert_refused(r"in column 'sex': it holds text", paper.fit, X.assign(sex="female"), y)
    with pytest.raises(ValueError, match=r"in column 1: it holds text"):
        paper.fit(np.array([["1", "a"], ["2", "b"]], dtype=object), [1.0, 2.0])
    assert_refused("y contains NaN", model.fit, X, y.where(y.index != 0))
    assert_refused(r"0 sample\(s\)", model.fit, np.empty((0, 3)), [])
    assert_refused(r"1 sample\(s\).*minimum of 2", model.fit, [[1.0, 2.0]], [1.0])
    assert_refused("inconsistent numbers of samples", model.fit, X, y[:-1])
    assert_refused("Negative values", model.fit, X, y, sample_weight=-np.ones(len(y)))
    assert_refused("zero for every row", model.fit, X, y, sample_weight=np.zeros(len(y)))
    assert_refused(r"Column 'sex' holds dates", paper.fit, X.assign(sex=np.datetime64("2024-01-01")), y)
    for pairs in ((X,), [(X, y), (X, y)]):
        assert_refused("eval_set must be one pair", model.fit, X, y, eval_set=pairs)
    assert_refused("Rescale the target", model.fit, X, y, eval_set=(X, y * 1e200))
    with pytest.raises(NotFittedError):
        BGNRegressor().predict(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_dates_alone_and_names_twice_are_refused(frame):
    y = np.arange(30.0)
    dates = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=30)})
    for X in (frame(dates), frame(dates.assign(x=1.0))):
        assert_refused(r"Column 'day' holds dates", BGNRegressor.as_in_paper().fit, X, y)
    assert_refused(r"holds dates", BGNRegressor.as_in_paper().fit, dates.to_numpy(), y)
    with pytest.raises(ValueError, match=r"more than one column named 'a'"):
        BGNRegressor().fit(pd.DataFrame(np.ones((30, 2)), columns=["a", "a"]), y)


def test_predict_wants_the_same_columns(diabetes):
    X, y = diabetes
    model = BGNRegressor(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="expecting 10 features"):
        BGNRegressor(**QUICK).fit(X.to_numpy(), y).predict(X.to_numpy()[:, :9])
    assert_refused("bmi", model.predict, X.rename(columns={"bmi": "mass"}))
    assert_refused("infinity in column 'age'", model.predict, X.assign(age=np.inf))
    with pytest.raises(ValueError, match="NaN or infinity in column 'age'"):
        BGNRegressor.as_in_paper(**QUICK).fit(X, y).predict(X.assign(age=np.nan))


def test_constant_target_is_the_base_alone():
    model = BGNRegressor().fit(np.arange(20.0).reshape(10, 2), np.full(10, 7.25))
    assert model.network_.widths == (0,)
    assert model.network_.base == 7.25
    np.testing.assert_array_equal(model.predict([[0.0, 0.0]]), [7.25])


def test_useless_columns_do_no_harm():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = np.where(x > 0.3, 2.0, -1.0)
    X = np.column_stack([np.zeros(300), x, x, np.full(300, 1e9)])
    model = BGNRegressor(random_state=0).fit(X, y)
    assert np.mean(np.abs(model.predict(X) - y)) < 0.1
    only = BGNRegressor(random_state=0).fit(np.ones((20, 3)), rng.normal(size=20))
    assert only.network_.widths == (0,)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 200))
    y = X[:, 3] * 3 + 0.1 * rng.normal(size=30)
    for direction in ("search", "lasso", "debiased"):
        model = BGNRegressor(direction=direction, max_terms=5, random_state=0, cv=None).fit(X, y)
        assert 3 in model.network_.features_used


@pytest.mark.parametrize(
    ("factor_x", "factor_y"), [(1e299, 1.0), (1e-300, 1.0), (1e-307, 1.0), (1.0, 1e149), (1e299, 1e-149)]
)
@pytest.mark.parametrize("direction", ["search", "lasso"])
def test_extreme_magnitudes_work(factor_x, factor_y, direction):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    y = np.where(X[:, 0] > 0.2, 1.0, 0.0) + 0.1 * X[:, 1]
    X = X * [factor_x, 1.0, factor_x]
    model = BGNRegressor(direction=direction, max_terms=6, shrinkage=1.0, random_state=0, cv=None).fit(X, y * factor_y)
    assert np.mean(np.abs(model.predict(X) / factor_y - y)) < 0.2
    assert 0 in model.network_.features_used


def test_numbers_out_of_reach_are_named():
    X, y = np.arange(10.0).reshape(10, 1), np.arange(10.0)
    with pytest.raises(ValueError, match=r"X has a value of 9e\+300 in column 0; beyond 1e\+300 sums overflow"):
        BGNRegressor().fit(X * 1e300, y)
    for factor in (1e160, 1e-160):
        assert_refused("Rescale the target", BGNRegressor().fit, X, y * factor)


def number_and_noise():
    """A whole number that decides on the target, a column that does not, and the target."""
    rng = np.random.default_rng(0)
    number = rng.integers(0, 4, 200)
    return number, rng.normal(size=200), (number > 1) + 0.01 * rng.normal(size=200)


@pytest.mark.parametrize("direction", ["search", "lasso", "debiased"])
@pytest.mark.parametrize("start", [1.0, -1.0, 1e16, 1e299])
def test_neighbouring_floats_are_different(start, direction):
    number, noise, y = number_and_noise()
    for steps in (number, number > 1):
        X = np.column_stack([start + np.spacing(start) * steps, noise])
        model = BGNRegressor(direction=direction, max_terms=4, shrinkage=1.0, random_state=0, cv=None).fit(X, y)
        assert np.mean(np.abs(model.predict(X) - y)) < 0.05


def test_columns_too_small_to_learn_from_are_named_wherever_the_rows_are(engine):
    number, noise, y = number_and_noise()
    X = np.column_stack([number * 1e-310, noise])
    with pytest.warns(UserWarning, match=r"X varies in column ('x0'|0) by less than about 1e-308.*Multiply it"):
        model = engine(BGNRegressor(**QUICK), X, y)
    assert model.network_.features_used != (0,)
    X[:, 0] *= 2.0**100
    model = engine(BGNRegressor(**QUICK), X, y)
    assert np.mean(np.abs(model.predict(X) - y)) < 0.1
    assert model.network_ == BGNRegressor(**QUICK).fit(X, y).network_


def test_weights_out_of_reach_are_named_wherever_the_rows_are(engine):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(100, 2)), rng.normal(size=100), rng.integers(0, 4, 100).astype(float)
    for factor in (1e300, 5e307, 1e-301, 5e-324):
        with pytest.raises(ValueError, match=r"sample_weight goes up to .*Multiply all weights by one number"):
            engine(BGNRegressor(**QUICK), X, y, weight * factor)


def lowest_hashes(hashes):
    return is_test(hashes, edge_of(lambda: [hashes], 0.2))


def test_validation_rows_follow_content():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(500, 2)).astype(float), rng.integers(0, 3, 500).astype(float)
    hashes = row_hashes(X.T, y, 1)
    held = lowest_hashes(hashes)
    assert abs(held.mean() - 0.2) < 0.03
    rows = np.column_stack([X, y])
    assert not {tuple(row) for row in rows[held]} & {tuple(row) for row in rows[~held]}
    order = rng.permutation(500)
    np.testing.assert_array_equal(lowest_hashes(row_hashes(X[order].T, y[order], 1)), held[order])
    assert not np.array_equal(lowest_hashes(row_hashes(X.T, y, 2)), held)
    assert not lowest_hashes(row_hashes(np.ones((1, 5)), np.ones(5), 0)).any()
    assert (row_hashes(np.array([[0.0]]), np.zeros(1), 0) == row_hashes(np.array([[-0.0]]), np.zeros(1), 0)).all()


def test_seed_decides_and_none_is_allowed(diabetes):
    X, y = diabetes
    same = [BGNRegressor(max_terms=4, shrinkage=10.0, random_state=5, cv=None).fit(X, y).network_ for _ in range(2)]
    assert same[0] == same[1]
    assert BGNRegressor(max_terms=2, cv=None).fit(X, y).network_.widths[0] <= 2
    assert BGNRegressor(max_terms=2, random_state=np.random.RandomState(0), cv=None).fit(X, y).network_ is not None


def test_fractional_weights_shift_the_base():
    X = np.array([[0.0], [0.0], [1.0], [1.0]] * 10)
    y = np.array([0.0, 1.0, 5.0, 6.0] * 10)
    weight = np.array([0.3, 0.7, 1.5, 0.5] * 10)
    model = BGNRegressor(validation_fraction=0.0, shrinkage=0.0).fit(X, y, weight)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [0.7, 5.25], atol=1e-6)


def test_max_features_none_and_three():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = np.where(X[:, 0] + X[:, 1] + X[:, 2] > 0, 1.0, 0.0)
    two = BGNRegressor(max_terms=1, max_features=2, random_state=0, cv=None).fit(X, y)
    three = BGNRegressor(max_terms=1, max_features=3, random_state=0, cv=None).fit(X, y)
    free = BGNRegressor(max_terms=1, max_features=None, random_state=0, cv=None).fit(X, y)
    assert two.network_.max_features == 2
    assert three.network_.max_features == 3
    assert two.score(X, y) < three.score(X, y) - 0.1
    assert free.score(X, y) > three.score(X, y) - 0.1


def test_float32_is_what_predict_sees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    model = BGNRegressor(max_terms=5, random_state=0, cv=None).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(np.float64)))
    assert BGNRegressor(max_terms=2, cv=None).fit(pd.DataFrame(X).rename(columns=str), y) is not None


@pytest.fixture
def rows_and_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = X[:, 0] + (X[:, 1] > 0)
    for name, values in (("X", X), ("y", y), ("w", np.arange(80.0)), ("all", np.column_stack([X, y]))):
        np.save(tmp_path / f"{name}.npy", values)
    return X, y, tmp_path


def test_targets_and_weights_by_path_and_targets_by_position(rows_and_files):
    X, y, folder = rows_and_files
    model = BGNRegressor(max_terms=3, random_state=0, cv=None)
    wanted = model.fit(X, y, np.arange(80.0)).network_
    assert clone(model).fit(X, folder / "y.npy", str(folder / "w.npy")).network_ == wanted
    everything = np.column_stack([X, y])
    for target in (3, -1):
        assert clone(model).fit(everything, target=target, sample_weight=np.arange(80.0)).network_ == wanted


def test_score_wherever_the_rows_are(rows_and_files):
    X, y, folder = rows_and_files
    weight = np.arange(80.0)
    model = BGNRegressor(max_terms=3, random_state=0, cv=None).fit(X, y)
    for w in (None, weight):
        wanted = r2_score(y, model.predict(X), sample_weight=w)
        path = None if w is None else folder / "w.npy"
        assert model.score(X, y, w) == wanted
        assert model.score(np.column_stack([X, y]), sample_weight=w, target=-1) == wanted
        assert model.score(folder / "X.npy", folder / "y.npy", path) == wanted
        assert model.score(folder / "all.npy", sample_weight=path, target=3) == wanted
    assert_refused("y must hold the targets, or target= name their column", model.score, folder / "X.npy")


@pytest.mark.parametrize("columns", [[0, 0], [1, 2, 1]])
def test_columns_are_named_once(rows_and_files, columns):
    X, y, _ = rows_and_files
    with pytest.raises(ValueError, match=f"columns must name each column once; got {columns[0]} twice"):
        BGNRegressor().fit(X, y, columns=columns)


def test_a_network_wants_rows_and_not_their_path(rows_and_files):
    X, y, folder = rows_and_files
    network = BGNRegressor(max_terms=2, random_state=0, cv=None).fit(X, y).network_
    assert_refused(r"got the path '.*X\.npy'\. Loop over bgn\.read_blocks of it", network.predict, folder / "X.npy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "y", "columns": ["a", "y"]}, "columns must leave out the target; got 'y' in it"),
        ({"target": "y", "columns": "ab"}, "columns must be a list of names or positions; got 'ab'"),
        ({"target": "y", "columns": 5}, "columns must be a list of names or positions; got 5"),
        ({"target": "y", "columns": []}, "X has no column left to learn from"),
        ({"target": 1.0}, "target must be the name or the position of a column of X; got 1.0"),
        ({"target": True}, "target must be the name or the position of a column of X; got True"),
        ({"target": "when", "columns": ["a"]}, "y holds dates or durations"),
        ({"y": pd.Series(pd.date_range("2020", periods=80)), "columns": ["a"]}, "y holds dates or durations"),
        ({"y": ["much"] * 80, "columns": ["a"]}, "y must hold numbers; got 'much'"),
        ({"target": "y", "columns": ["a"], "sample_weight": "w"}, "sample_weight must be values or a path to"),
    ],
)
def test_what_names_rows_and_columns_is_checked(rows_and_files, arguments, message):
    X, y, _ = rows_and_files
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, when=pd.date_range("2020", periods=80))
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)):
        BGNRegressor(max_terms=2, cv=None).fit(frame, **arguments)


def test_columns_of_an_array_may_be_counted_from_the_right(rows_and_files):
    X, y, _ = rows_and_files
    model = BGNRegressor(max_terms=3, random_state=0, cv=None)
    wanted = model.fit(X[:, [0, 2]], y).network_
    assert clone(model).fit(np.column_stack([X, y]), target=-1, columns=[0, -2]).network_ == wanted
    for columns, message in (([0.0], "columns must be positions"), ([3], "columns must leave out the target; got 3")):
        with pytest.raises(ValueError, match=message):
            model.fit(np.column_stack([X, y]), target=-1, columns=columns)


def test_a_frame_with_more_columns_is_scored_by_name(rows_and_files):
    X, y, _ = rows_and_files
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    model = BGNRegressor(max_terms=3, random_state=0, cv=None).fit(frame, target="y", columns=["c", "a"])
    assert model.score(frame, target="y") == model.score(frame[["c", "a"]], y)
    assert_refused("Negative values", model.score, frame, sample_weight=-np.ones(80), target="y")
    assert_refused("y holds dates", model.score, frame[["c", "a"]], pd.date_range("2020", periods=80))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must be a whole number, not 0, or None for all cores; got 0"),
        ({"n_jobs": "two"}, "n_jobs must be a whole number, not 0, or None for all cores; got 'two'"),
        ({"n_jobs": 1.5}, "n_jobs must be a whole number, not 0, or None for all cores; got 1.5"),
        ({"random_state": -1}, "a RandomState or a whole number from 0 to 2**32 - 1; got -1"),
    ],
)
def test_threads_and_seeds_are_checked(parameters, message):
    assert_refused(re.escape(message), BGNRegressor(**parameters).fit, [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])


def test_a_lazy_frame_is_to_be_collected():
    lazy = pl.LazyFrame({"a": [1.0, 2.0], "y": [0.0, 1.0]})
    for arguments in ({"target": "y"}, {"y": [0.0, 1.0]}):
        assert_refused(r"got a LazyFrame\. Call its collect\(\) first", BGNRegressor().fit, lazy, **arguments)


def test_a_fit_that_fails_leaves_the_model_of_the_fit_before():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    y = X["a"] + (X["b"] > 0)
    model, other = BGNRegressor(**QUICK).fit(X, y), X[["c", "b", "a"]]
    before = model.predict(X)

    def give_up(record):
        raise RuntimeError("enough")

    for how in ({"sample_weight": -np.ones(200)}, {"eval_set": 3}, {"eval_set": (other, y[:5])}):
        with pytest.raises(ValueError):  # noqa: PT011
            model.fit(other, y, **how)
        np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(RuntimeError, match="enough"):
        model.set_params(callbacks=give_up).fit(other, y)
    np.testing.assert_array_equal(model.predict(X), before)
    unfitted = BGNRegressor(**QUICK, callbacks=give_up)
    with pytest.raises(RuntimeError, match="enough"):
        unfitted.fit(X, y)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


@pytest.mark.parametrize("direction", ["search", "debiased", "lasso"])
def test_a_column_without_a_part_in_the_target_is_not_in_the_equation(direction):
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(100, 2))
        model = BGNRegressor(max_terms=1, shrinkage=1.0, random_state=0, direction=direction, cv=None).fit(X, X[:, 0])
        assert model.network_.features_used == (0,)


def days():
    return pd.Series(pd.date_range("2020", periods=20))


@pytest.mark.parametrize(
    ("column", "target", "weight", "message"),
    [
        (lambda: pd.period_range("2020", periods=20), None, None, "column 'b' holds values of the type period[D]."),
        (None, np.ma.masked_less(np.arange(20.0), 3), None, "y has 3 masked values. Fill them"),
        (None, None, days, "sample_weight holds dates or durations."),
        (None, None, np.ma.masked_less(np.arange(20.0), 2), "sample_weight has 2 masked values."),
        (None, None, np.full(20, 1e-308), "sample_weight goes up to 1e-308;"),
    ],
)
def test_what_is_no_number_is_named(column, target, weight, message):
    X = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) if column is None else column()})
    weight = weight() if callable(weight) else weight
    y = np.arange(20.0) if target is None else target
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        BGNRegressor(**QUICK).fit(X, y, weight)


def test_masked_rows_are_missing_and_tables_of_arrow_are_read():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    assert_refused("X has 1 masked values", BGNRegressor.as_in_paper(**QUICK).fit, np.ma.masked_less(X, 1), y)
    masked = np.ma.masked_less(X, 1)
    model = BGNRegressor(**QUICK).fit(masked, y)
    np.testing.assert_array_equal(model.predict(masked), model.predict(masked.filled(np.nan)))
    model = BGNRegressor(**QUICK).fit(pa.table({"a": y}), y)
    np.testing.assert_array_equal(model.predict(pa.table({"a": y})), model.predict(pd.DataFrame({"a": y})))


def test_tensors_of_the_cpu_are_arrays():
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    X = torch.arange(60.0).reshape(30, 2).bfloat16()
    y = X[:, 0].double().requires_grad_()
    model = BGNRegressor(**QUICK).fit(X.clone().float().requires_grad_(), y)
    assert model.network_ == BGNRegressor(**QUICK).fit(X.float().numpy(), y.detach().numpy()).network_
    np.testing.assert_array_equal(model.predict(X), model.predict(X.float().numpy()))


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_refit_is_seen_whole_or_not_at_all():
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    narrow = pd.DataFrame(wide[:, :2], columns=["a", "b"])
    model = BGNRegressor(max_terms=1, growth=GrowthSettings(0), shrinkage=1.0, n_jobs=1, cv=None).fit(narrow, y)
    ended = threading.Event()

    def refit():
        for k in range(60):
            with suppress(ValueError):
                model.fit(*[(wide, y), (narrow, y), (narrow, y[1:])][k % 3])
        ended.set()

    def look():
        seen = pickle.loads(pickle.dumps(model))
        assert seen.network_ == seen.history_.network()
        assert seen.network_.n_inputs == seen.n_features_in_
        named = seen.network_.feature_names is not None
        assert hasattr(seen, "feature_names_in_") == named == (seen.n_features_in_ == 2)
        message = "expecting 3 features"
        try:
            model.score(narrow, y)
        except ValueError as error:
            message = str(error)
        assert "expecting 3 features" in message

    other = threading.Thread(target=refit)
    other.start()
    try:
        while not ended.is_set():
            look()
    finally:
        other.join()
    look()


def test_intercept_and_weights_are_those_of_the_terms():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = BGNRegressor(max_terms=4, random_state=0).fit(X, y)
    terms, network = model.network_.terms, model.network_
    assert isinstance(model.intercept_, float)
    assert model.term_coef_.shape == (len(terms), 1)
    np.testing.assert_array_equal(model.term_coef_, network.coef)
    assert (model.intercept_, model.n_conditions_) == (network.intercept[0], network.n_conditions)
    labels = np.digitize(y, [100, 200])
    for classes, outputs in ((labels > 0, 1), (labels, 3)):
        classifier = BGNClassifier(max_terms=3, random_state=0, cv=None).fit(X, classes)
        assert classifier.intercept_.shape == (outputs,)
        assert classifier.term_coef_.shape == (len(classifier.network_.terms), outputs)
    assert not hasattr(BGNRegressor(), "intercept_")


def test_feature_selection_reads_one_importance_per_column():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    chosen = SelectFromModel(BGNRegressor(max_terms=3, random_state=0, cv=None)).fit(X, y)
    importances = chosen.estimator_.feature_importances_
    np.testing.assert_array_equal(chosen.get_support(), importances >= importances.mean())


def test_growth_settings_are_one_value(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    growth = GrowthSettings(max_replacements=0, patience=2)
    model = BGNRegressor(max_terms=3, growth=growth, random_state=0, cv=None)
    assert clone(model).growth == growth
    assert model.set_params(growth=replace(growth, patience=None)).growth.patience is None
    search = GridSearchCV(model, {"growth": [None, growth]}, cv=2).fit(X, y)
    assert search.best_params_["growth"] in (None, growth)
    model.set_params(growth=growth).fit(X, y).save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").growth == growth
    with pytest.raises(ValueError, match=r"growth must be a bgn.GrowthSettings, or None for its defaults; got {"):
        BGNRegressor(growth={"patience": 3}).fit(X, y)


DEEPEST = 36
"""Frames of the library from `fit` to a kernel, both counted. The aim is ten; this number only shrinks."""


def test_from_fit_to_a_kernel_the_stack_is_no_deeper(diabetes):
    X, y = (rows[:60] for rows in diabetes)
    model = BGNRegressor(max_terms=1, random_state=0, n_jobs=1).fit(X, y)  # compiles what it uses
    package, deepest = str(Path(bgn.__file__).parent), [""]

    def walk(frame, event, _):
        places = []
        if event == "call" and frame.f_code.co_filename.startswith(package):
            while frame is not None:
                code, frame = frame.f_code, frame.f_back
                if code.co_filename.startswith(package):
                    places.append(f"{code.co_filename.removeprefix(package)}:{code.co_name}")
            deepest[:] = max(deepest, places, key=len)

    sys.setprofile(walk)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    assert "engines" in deepest[0]
    assert deepest[-1].endswith(":fit")
    assert len(deepest) <= DEEPEST, " < ".join(deepest)
