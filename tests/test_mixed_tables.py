"""Tables with gaps, words, truths and dates, straight into the estimators: the same network from everywhere."""

import datetime
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import bgn
import bgn.engines.disk.engine as disk
from bgn import BGNRegressor, GrowthSettings
from bgn.grow.rows import assign_rows
from tests.every_engine import in_blocks, in_tensors, local_cluster

QUICK = {"max_terms": 4, "shrinkage": 1.0, "random_state": 0, "n_jobs": 1, "cv": None}
QUICK["growth"] = GrowthSettings(max_replacements=2)


def houses(rows=300, seed=0):
    """A table of all kinds of columns, and prices that depend on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "area": rng.normal(120, 30, rows).round(1),
        "rooms": rng.integers(1, 8, rows),
        "city": rng.choice(["Lille", "Nice", "Paris", "Röm \"x\"", ""], rows),
        "state": pd.Categorical(rng.choice(["poor", "fair", "good"], rows), ["poor", "fair", "good"], ordered=True),
        "garden": rng.random(rows) < 0.5,
        "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
    })  # fmt: skip
    price = frame["area"] + 40 * frame["city"].isin(["Nice", "Paris"]) + 20 * frame["garden"]
    price += 10 * frame["state"].cat.codes + 0.02 * (frame["sold"] - pd.Timestamp("2020-01-01")).dt.days
    price += 30 * (frame["rooms"] >= 4) + rng.normal(0, 2, rows)
    for name, share in (("area", 0.2), ("city", 0.1), ("state", 0.1), ("sold", 0.05)):
        frame.loc[rng.random(rows) < share, name] = None
    return frame, price.rename("price")


def on_disk(X, y):
    """Fit on a Parquet file that is read in small blocks."""
    kept = disk.BLOCK_BYTES
    disk.BLOCK_BYTES = 8 * X.shape[1] * max(40, len(y) // 3)
    try:
        with TemporaryDirectory() as folder:
            path = Path(folder, "rows.parquet")
            X.assign(price=y).to_parquet(path)
            model = BGNRegressor(**QUICK).fit(path, target="price")
            return model, model.predict(path)
    finally:
        disk.BLOCK_BYTES = kept


def test_a_frame_goes_in_as_it_is():
    X, y = houses()
    model = BGNRegressor(max_terms=10, random_state=0, cv=None).fit(X, y)
    assert model.score(X, y) > 0.75
    assert model.n_features_in_ == 6
    assert "sold year" in model.network_.names
    assert {"city", "state", "garden"} & set(bgn.equation(model).replace("[", " ").split())
    again = clone(model).fit(X.sample(frac=1, random_state=1), y.sample(frac=1, random_state=1))
    assert again.network_ == model.network_


def test_the_same_network_from_every_library_and_engine():
    X, y = houses()
    model = BGNRegressor(**QUICK).fit(X, y)
    expected = model.predict(X)
    others = {
        "polars": pl.from_pandas(X.assign(state=X["state"].astype(object).where(X["state"].notna(), None))),
        "arrow": pa.Table.from_pandas(X, preserve_index=False),
        "objects": X.astype(object).where(X.notna(), None).to_numpy(),
    }
    for name in ("arrow",):
        fitted = BGNRegressor(**QUICK).fit(others[name], y)
        assert fitted.network_ == model.network_, name
    for name, table in others.items():
        np.testing.assert_array_equal(model.network_.predict(table), expected, err_msg=name)
    fitted, predicted = on_disk(X, y)
    assert fitted.network_ == model.network_
    np.testing.assert_array_equal(predicted, expected)
    for fit in (in_blocks(3), in_tensors):
        assert fit(BGNRegressor(**QUICK), X, y).network_ == model.network_


@pytest.mark.exhaustive
@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.exhaustive), 3])
def test_the_same_network_on_a_cluster(partitions):
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    from bgn.dask import DaskBGNRegressor

    X, y = houses(120)
    model = BGNRegressor(**QUICK).fit(X, y)
    options = {"n_workers": partitions, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with local_cluster(**options) as cluster, distributed.Client(cluster) as client:
        rows = dd.from_pandas(X.assign(price=y), npartitions=partitions)
        fitted = DaskBGNRegressor(client=client, **QUICK).fit(rows, target="price")
        assert fitted.network_ == model.network_
        np.testing.assert_array_equal(fitted.predict(rows[list(X.columns)]).compute(), model.predict(X))


texts = st.sampled_from(["a", "b", "c d", "é", "", "nan", "1"])


@st.composite
def mixed(draw):
    rows = draw(st.integers(12, 40))
    cells = {
        "x": st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6)),
        "w": st.one_of(st.none(), texts),
        "b": st.booleans(),
        "d": st.one_of(st.none(), st.dates(datetime.date(1990, 1, 1), datetime.date(2030, 1, 1))),
    }
    table = {name: draw(st.lists(column, min_size=rows, max_size=rows)) for name, column in cells.items()}
    table["w"][0], table["d"][0] = "a", datetime.date(2000, 1, 1)  # of nothing but gaps no library knows what they are
    frame = pd.DataFrame({**table, "x": np.array(table["x"], float), "d": pd.to_datetime(pd.Series(table["d"]))})
    frame["w"] = frame["w"].astype(object)
    y = pd.Series(draw(st.lists(st.integers(-9, 9).map(float), min_size=rows, max_size=rows)), name="price")
    weight = draw(st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    return frame, y, None if weight is None or sum(weight) < 3 else np.array(weight, float)


@given(mixed())
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_table_gives_one_network_everywhere(case):
    X, y, weight = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BGNRegressor(**QUICK).fit(X, y, weight)
        for fit in (in_blocks(2), in_tensors):
            assert fit(BGNRegressor(**QUICK), X, y, weight).network_ == model.network_
        assert BGNRegressor(**QUICK).fit(pl.from_pandas(X), y, weight).network_ == model.network_
        if weight is None:
            assert on_disk(X, y)[0].network_ == model.network_
        order = np.random.default_rng(0).permutation(len(y))
        shuffled = BGNRegressor(**QUICK).fit(X.iloc[order], y.iloc[order], None if weight is None else weight[order])
        assert shuffled.network_ == model.network_


def test_growth_measures_the_network_it_returns():
    X, y = houses(400, seed=3)
    model = BGNRegressor(max_terms=12, random_state=0, validation_fraction=0).fit(X, y)
    path = model.history_.paths[0]
    for size in range(len(path)):
        error = np.mean((model.history_.network(size).predict(X) - y) ** 2)
        assert error == pytest.approx(path[size].train_mse, rel=1e-9)


def test_numbers_may_be_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 200).astype(float), rng.normal(size=200)])
    y = np.isin(X[:, 0], [1, 4]) * 3.0
    model = BGNRegressor(**QUICK, categorical_features=[0]).fit(X, y)
    assert model.network_.schema.columns[0].categories == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert model.history_.paths[0][1].train_mse < 0.1
    by_mask = BGNRegressor(**QUICK, categorical_features=[True, False]).fit(X, y)
    assert by_mask.network_ == model.network_
    with pytest.raises(ValueError, match=r"categorical_features must be positions from 0 to 1; got 7"):
        BGNRegressor(**QUICK, categorical_features=[7]).fit(X, y)
    unseen = X.copy()
    unseen[:, 0] = 17.0
    with pytest.warns(UserWarning, match="column 'x0' in 200 rows, such as '17'"):
        assert np.isfinite(model.predict(unseen)).all()


def test_a_model_without_missing_values_at_fit_predicts_rows_with_some():
    X, y = houses()
    X = X[["area", "rooms"]].fillna(100.0)
    model = BGNRegressor(**QUICK).fit(X, y)
    filled = X.assign(area=float(X["area"].sort_values(ignore_index=True)[(len(X) - 1) // 2]))
    typical = model.network_.schema.columns[0].typical
    assert X["area"].min() < typical < X["area"].max()
    np.testing.assert_array_equal(model.predict(X.assign(area=np.nan)), model.predict(filled.assign(area=typical)))


def test_hundreds_of_categories_need_no_matrix_of_0_and_1(monkeypatch):
    import bgn.grow.network as growth

    kept = []
    monkeypatch.setattr(growth, "assign_rows", lambda *a, **k: kept.append(assign_rows(*a, **k)) or kept[-1])
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"street": [f"street {k}" for k in rng.integers(0, 400, 4000)], "x": rng.normal(size=4000)})
    y = X["street"].str.endswith("7") * 2.0 + X["x"]
    model = BGNRegressor(max_terms=3, random_state=0, cv=None).fit(X, y)
    assert kept[0][0].train.n_columns == 2
    assert model.score(X, y) > 0.5


def test_missing_targets_and_weights_stay_errors():
    X, y = houses(60)
    with pytest.raises(ValueError, match="y contains NaN"):
        BGNRegressor().fit(X, y.where(y.index != 3))
    with pytest.raises(ValueError, match="sample_weight has NaN"):
        BGNRegressor().fit(X, y, sample_weight=y.where(y.index != 3))


def test_grid_search_takes_frames():
    X, y = houses(120)
    search = GridSearchCV(BGNRegressor(**QUICK), {"max_terms": [1, 3]}, cv=2).fit(X, y)
    assert search.best_estimator_.network_.widths[0] <= 3


def as_numbers(X):
    """The table as an array of numbers, categories as numbers that name them."""
    codes = {name: pd.Categorical(X[name]).codes for name in ("city", "state")}
    columns = [X["area"], X["rooms"], codes["city"], codes["state"], X["garden"]]
    rows = np.column_stack([np.asarray(column, float) for column in columns])
    rows[:, 2:4][rows[:, 2:4] < 0] = np.nan
    return rows


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_network_on_a_gpu(device, weighted):
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    X, y = houses(3000)
    rows, weight = as_numbers(X), np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else None
    settings = {**QUICK, "max_terms": 12, "categorical_features": [2]}
    model = BGNRegressor(**settings).fit(rows, y, weight)
    if device == "cpu":
        assert in_tensors(BGNRegressor(**settings), rows, y, weight).network_ == model.network_
        return
    tensor = torch.tensor(rows, device=device)
    fitted = BGNRegressor(**settings).fit(tensor, y, weight)
    assert fitted.network_ == model.network_
    np.testing.assert_array_equal(fitted.predict(tensor).cpu().numpy(), model.predict(rows))
