"""A few of the tables of `tests.fuzz_columns`: every kind of column through every function, and through a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bgn
from bgn.explain.rivals import MOST_CATEGORIES, as_numbers
from bgn.model.schema import Column, Schema
from tests.any_columns import KINDS, table, target
from tests.command import call
from tests.fuzz_columns import cases


@pytest.mark.parametrize("first", [18, 52])  # categories without levels beside others; classes and numbers
def test_every_function_takes_every_kind_of_column(first: int) -> None:
    assert [wrong for _, problems in cases(first, 3) for wrong in problems] == []


@pytest.mark.exhaustive
def test_every_function_takes_every_pair_of_kinds_of_columns() -> None:
    assert [wrong for _, problems in cases(1000, 60) for wrong in problems] == []


@pytest.mark.filterwarnings("ignore:.*too many to learn from")
@pytest.mark.parametrize("kind", ["empty category", "unused categories", "ordered and empty", "crowded text"])
def test_a_column_without_categories_is_always_missing(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = table([kind, "number"], rng)
    y = X["number 1"] + rng.normal(0, 0.1, len(X))
    model = bgn.BGNRegressor(max_terms=2, cv=None, random_state=0).fit(X, y)
    column = model.network_.schema.columns[0]
    assert column.categories == ()
    assert column.typical is None
    assert np.isnan(model.network_._rows(X)[:, 0]).all()
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(bgn.load(tmp_path / "m.json").predict(X), model.predict(X))
    for row in (model.extremes().low_row, model.extremes(missing=False).high_row):
        assert row[0] is None
    with pytest.raises(ValueError, match="which the model does not use"):
        model.extremes({X.columns[0]: ["a"]})


@pytest.mark.filterwarnings("default:.*too many to learn from")
def test_text_that_is_crowded_among_training_rows_alone(tmp_path: Path) -> None:
    """60 names in 120 rows are not crowded; among the rows to learn from they are."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": rng.permutation([f"w{k % 60}" for k in range(120)]), "a": rng.normal(size=120)})
    X.assign(y=(X.a > 0) * 2.0 + rng.normal(0, 0.1, 120)).to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.json"
    small = ("--size", "2", "--max-terms", "2", "--max-linear", "0", "--folds", "0")
    done = call("fit", tmp_path / "t.csv", "-t", "y", *small, "-o", model, "--report", tmp_path / "r.html").err
    assert done.count("A fit leaves it out") == 1
    assert [column.name for column in bgn.load(model).network_.schema.columns] == ["a"]
    for command in (("show",), ("certify",), ("predict", tmp_path / "t.csv", "-o", tmp_path / "p.csv")):
        call(command[0], model, *command[1:])


WEIGHTED = sorted({*KINDS} - {"crowded text"})


def equal_fits(seed: int) -> None:
    """What rows of weight 0 hold changes nothing."""
    rng = np.random.default_rng(seed)
    X = table([str(kind) for kind in rng.choice(WEIGHTED, 3)], rng, 40)
    y, weight = target("numbers", X, rng), rng.integers(0, 3, 40).astype(float)
    keep = weight > 0
    growth = bgn.GrowthSettings(sweeps=0, max_replacements=1)
    settings = {"max_terms": 3, "random_state": 0, "cv": None, "growth": growth}
    one = bgn.BGNRegressor(**settings).fit(X, y, sample_weight=weight)
    other = bgn.BGNRegressor(**settings).fit(X[keep], y[keep], sample_weight=weight[keep])
    assert one.network_ == other.network_, (seed, list(X))
    assert pd.DataFrame(one.background_).equals(pd.DataFrame(other.background_)), (seed, list(X))


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_weight_0_are_not_there(seed: int) -> None:
    equal_fits(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4, 30))
def test_rows_of_weight_0_are_not_there_in_many_tables(seed: int) -> None:
    equal_fits(seed)


@pytest.mark.parametrize("place", ["column", "array"])
def test_rows_of_weight_0_on_disk_are_not_there(place: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"city": rng.choice(["Lille", "Nice"], 60), "day": pd.Timestamp("2020-01-01")})
    rows["day"] += pd.to_timedelta(rng.integers(0, 20, 60), "D")
    rows["y"], weight = (rows.city == "Nice") + rng.normal(0, 0.1, 60), np.ones(60)
    rows.loc[:5, "city"], rows.loc[:5, "day"], weight[:6] = "Rome", pd.Timestamp("1999-01-01"), 0.0
    rows.assign(w=weight).to_parquet(tmp_path / "t.parquet")
    settings = {"max_terms": 2, "random_state": 0, "cv": None, "max_linear": 0}
    given = {"sample_weight": "w"} if place == "column" else {"sample_weight": weight, "columns": ["city", "day"]}
    model = bgn.BGNRegressor(**settings).fit(tmp_path / "t.parquet", target="y", **given)
    assert model.network_.schema.columns[0].categories == ("Lille", "Nice")
    assert {column.part_of.first for column in model.network_.schema.columns[1:] if column.part_of.first} == {
        str(rows.day[6:].min().date())
    }


def test_classes_are_balanced_by_the_rows_that_count() -> None:
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(80, 2)), np.r_[np.zeros(30), np.ones(50)]
    y = np.where(X[:, 0] + rng.normal(0, 0.5, 80) > 0.3, "yes", "no")
    settings = {"max_terms": 2, "random_state": 0, "cv": None, "class_weight": "balanced"}
    one = bgn.BGNClassifier(**settings).fit(X, y, sample_weight=weight)
    other = bgn.BGNClassifier(**settings).fit(X[30:], y[30:])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_linear_term_says_what_a_missing_value_counts_as() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200).round(1), "b": rng.normal(size=200).round(1)})
    X.loc[::9, "a"] = np.nan
    model = bgn.BGNRegressor(max_terms=2, max_linear=2, random_state=0).fit(X, 3 * X.a.fillna(0) + X.b)
    typical = model.network_.schema.columns[0].typical
    assert not model.network_.layers[0].takes_missing
    assert "a missing" in model.equation("html")
    assert f"a missing a counts as {typical:g}." in model.equation()
    assert "missing b" not in model.equation()


def test_the_linear_model_knows_the_commonest_categories_of_many() -> None:
    """30,000 rows with 10,000 levels would be 2.4 GB of 0 and 1."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10_000, 3000).astype(float)
    codes[::3] = rng.integers(9_990, 10_000, 1000)
    schema = Schema((Column("a"), Column("city", categories=tuple(map(str, range(10_000))))))
    rows = np.column_stack([rng.normal(size=3000), codes])
    columns = as_numbers(schema, rows, rows)
    assert columns.shape == (3000, 1 + MOST_CATEGORIES)
    assert (columns[:, -10:].sum(axis=0) == np.bincount(codes.astype(int))[-10:]).all()
    few = Schema((Column("city", categories=("a", "b", "c")),))
    np.testing.assert_array_equal(as_numbers(few, np.array([[0.0], [2.0]]), rows[:, :1]), [[1, 0, 0], [0, 0, 1]])
