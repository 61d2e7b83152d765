"""What is not what it was at fit is refused or told: numbers for dates, codes for words, categories never seen."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bgn
from tests.command import call

RNG = np.random.default_rng(0)
SETTINGS = {"max_terms": 4, "random_state": 0, "cv": None}
ROWS = pd.DataFrame({
    "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 500, 90), "D"),
    "took": pd.to_timedelta(RNG.integers(0, 10**6, 90), "s"),
    "opens": [datetime.time(int(hour)) for hour in RNG.integers(0, 24, 90)],
    "city": RNG.choice(["Lille", "Nice", "Rome"], 90), "floor": RNG.integers(0, 5, 90),
})  # fmt: skip
PRICE = ROWS.sold.dt.month + ROWS.took.dt.days + 3.0 * (ROWS.city == "Nice") + ROWS.floor


@pytest.fixture(scope="module")
def model() -> bgn.BGNRegressor:
    return bgn.BGNRegressor(**SETTINGS).fit(ROWS, PRICE)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sold": ROWS.sold.astype("int64")}, "'sold' holds numbers, and held dates at fit.*pandas.to_datetime"),
        ({"took": ROWS.took.dt.total_seconds()}, "'took' holds numbers, and held durations.*pandas.to_timedelta"),
        ({"took": ROWS.took.dt.total_seconds().astype(str)}, "'took' holds numbers, and held durations"),
        ({"opens": 8.5}, "'opens' holds numbers, and held times of day"),
        ({"sold": ROWS.sold.dt.tz_localize("UTC")}, "'sold' holds times that have a time zone, and had none"),
        ({"city": ROWS.city.astype("category").cat.codes}, "'city' holds numbers, and held words.* as 'Lille'"),
        ({"floor": "ground"}, "'floor' holds words"),
        ({"floor": ROWS.sold}, "'floor' holds dates, not numbers"),
        ({"sold": ROWS.took}, "'sold' holds durations, not numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_as_at_fit_is_refused(model: bgn.BGNRegressor, changes: Any, message: str) -> None:
    X = ROWS.assign(**changes)
    for ask in (model.predict, model.network_.predict, model.explain):
        with pytest.raises(ValueError, match=message):
            ask(X)


@pytest.mark.parametrize(
    "changes",
    [
        {"sold": ROWS.sold.astype(str)}, {"sold": ROWS.sold.astype(object)}, {"floor": ROWS.floor.astype(str)},
        {"floor": ROWS.floor.astype(float)}, {"opens": [time.isoformat() for time in ROWS.opens]},
        {"city": ROWS.city.astype("category")}, {"took": ROWS.took.astype(object)},
    ],
)  # fmt: skip
def test_what_means_the_same_predicts_the_same(model: bgn.BGNRegressor, changes: Any) -> None:
    np.testing.assert_array_equal(model.predict(ROWS.assign(**changes)), model.predict(ROWS))


def test_parts_are_numbers_under_their_own_names(model: bgn.BGNRegressor) -> None:
    schema = model.network_.schema
    parts = pd.DataFrame(schema.encode(ROWS), columns=schema.names).astype({"city": int}).drop(columns="city")
    np.testing.assert_array_equal(model.network_.predict(parts.assign(city=ROWS.city)), model.predict(ROWS))


def test_arrays_hold_dates_where_the_table_had_them() -> None:
    """A single number is made of each duration: an array of numbers has as many columns, and means something else."""
    model = bgn.BGNRegressor(**SETTINGS).fit(np.array([[value] for value in ROWS.took], dtype=object), PRICE)
    with pytest.raises(ValueError, match="holds numbers, and held durations at fit"):
        model.predict(ROWS.took.dt.total_seconds().to_numpy().reshape(-1, 1))
    seen = np.array([[value] for value in ROWS.took], dtype=object)
    assert model.predict(seen).shape == (90,)
    assert model.explain(seen[:2]).values.shape == (2, 1)  # whose background is made of numbers


def test_numbers_on_disk_in_the_place_of_dates_are_refused(tmp_path: Path) -> None:
    model = bgn.BGNRegressor(**SETTINGS).fit(ROWS[["took", "floor"]], PRICE)
    ROWS[["floor"]].assign(took=ROWS.took.dt.total_seconds()).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="column 'took' holds numbers, and held durations at fit"):
        model.predict(tmp_path / "t.parquet")
    ROWS[["floor", "took"]].to_parquet(tmp_path / "u.parquet")
    np.testing.assert_array_equal(model.predict(tmp_path / "u.parquet"), model.predict(ROWS[["took", "floor"]]))


# -- tables in which each column of dates becomes one number -------------------------------------------------------

ALONE = {
    "duration": ROWS.took, "time of day": ROWS.opens, "constant date": pd.Series([pd.Timestamp("2020-02-29")] * 90),
    "no date": pd.Series([pd.NaT] * 90, dtype="datetime64[ns]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ALONE)
@pytest.mark.parametrize("with_others", [True, False])
def test_one_number_per_date(kind: str, with_others: bool, tmp_path: Path) -> None:
    X = pd.DataFrame({"when": ALONE[kind]} | ({"floor": ROWS.floor} if with_others else {}))
    model = bgn.BGNRegressor(**SETTINGS).fit(X, PRICE)
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(bgn.load(tmp_path / "m.json").predict(X), model.predict(X))
    assert model.predict(X.head(3)).shape == (3,)


def test_models_of_the_command_line_predict_such_frames(tmp_path: Path) -> None:
    X = ROWS[["took", "opens", "floor"]]
    X.assign(y=PRICE).to_parquet(tmp_path / "t.parquet")
    small = ("--size", "3", "--max-terms", "3", "--folds", "0", "--test", "0")
    call("fit", tmp_path / "t.parquet", "-t", "y", *small, "-o", tmp_path / "m.json")
    model = bgn.load(tmp_path / "m.json")
    call("predict", tmp_path / "m.json", tmp_path / "t.parquet", "--exact", "-o", tmp_path / "p.csv")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "p.csv").iloc[:, -1], model.predict(X), rtol=1e-12)


# -- categories never seen -----------------------------------------------------------------------------------------


def test_categories_never_seen_are_said_once(model: bgn.BGNRegressor) -> None:
    X = ROWS.assign(city=["Oslo", "Bari", *ROWS.city[2:]])
    missing = model.predict(X.assign(city=[None, None, *ROWS.city[2:]]))
    with pytest.warns(UserWarning, match="not there at fit") as caught:
        np.testing.assert_array_equal(model.predict(X), missing)
    (one,) = caught
    assert str(one.message) == (
        "X holds categories that were not there at fit, which count as missing: column 'city' in 2 rows, such as "
        "'Bari', 'Oslo'."
    )
    assert Path(one.filename).name == Path(__file__).name
    with pytest.warns(UserWarning, match="in 2 rows"):
        model.score(X, PRICE)


def test_numbers_and_truths_that_were_no_categories_are_said() -> None:
    X = pd.DataFrame({"kind": RNG.choice([1, 2, 3], 60), "flag": RNG.random(60) < 0.5})
    y = 2.0 * (X.kind == 2) + X.flag
    model = bgn.BGNRegressor(**SETTINGS, categorical_features=["kind"]).fit(X, y)
    same = X.assign(kind=X.kind.map({1: "1", 2: "2", 3: "3"}), flag=X.flag.astype(int))
    np.testing.assert_array_equal(model.predict(same), model.predict(X))
    with pytest.warns(UserWarning, match=r"'kind' in 60 rows, such as '7'; column 'flag' in 60 rows, such as '2'\."):
        model.predict(X.assign(kind=7, flag=2.0))


def test_known_categories_missing_values_and_networks_are_quiet(model: bgn.BGNRegressor) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(ROWS.assign(city=None))
        model.network_.predict(ROWS.assign(city="Oslo"))
        model.explain(ROWS.head(2))
