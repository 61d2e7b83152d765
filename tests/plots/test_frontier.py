"""Error against size: the numbers are those of the networks themselves, the figure shows them."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import bgn
from bgn.explain.rivals import linear_predictions
from tests.optional import pandas as pd


def mse(predicted: Any, truth: Any) -> float:
    return float(np.mean((predicted - truth) ** 2))


@pytest.fixture(scope="module")
def rows() -> tuple[Any, ...]:
    X = np.random.default_rng(0).uniform(size=(300, 3))
    y = 2.0 * (X[:, 0] > 0.4) + X[:, 1] + 5.0
    return X[:200], y[:200], X[200:], y[200:]


@pytest.fixture(scope="module")
def model(rows: tuple[Any, ...]) -> bgn.BGNRegressor:
    return bgn.BGNRegressor(max_terms=6, random_state=0, cv=None).fit(*rows[:2]).with_terms(3)


def test_every_size_has_the_error_of_its_network(model: bgn.BGNRegressor, rows: tuple[Any, ...]) -> None:
    X, y, X_test, y_test = rows
    measured = bgn.frontier(model, *rows)
    assert (measured.chosen, measured.evaluated_on) == (3, "test")
    assert list(measured.errors) == ["training", "validation", "test"]
    assert len(set(map(len, measured.errors.values()))) == 1
    for size, error in enumerate(measured.errors["test"]):
        assert error == pytest.approx(mse(model.with_terms(size).predict(X_test), y_test))
    assert np.all(np.diff(measured.errors["training"]) < 0)
    linear = LinearRegression().fit(X, y)
    assert measured.linear["training"] == pytest.approx(mse(linear.predict(X), y))
    assert measured.linear["test"] == pytest.approx(mse(linear.predict(X_test), y_test))
    lines = str(measured).splitlines()
    assert len(lines) == len(measured.errors["test"]) + 2
    assert lines[4].split()[0] == "3"
    assert [line.endswith("chosen") for line in lines].index(True) == 4


def test_what_is_not_known_is_left_out(rows: tuple[Any, ...]) -> None:
    model = bgn.BGNRegressor(max_terms=2, random_state=0, validation_fraction=0).fit(*rows[:2])
    measured = bgn.frontier(model.history_)
    assert (measured.evaluated_on, measured.linear, measured.best) == ("training", {}, 2)
    assert len(str(measured).splitlines()) == 4
    assert measured.errors["training"][0] == pytest.approx(np.var(rows[1]))  # of the mean


def test_errors_of_folds_are_called_cross_validated(rows: tuple[Any, ...]) -> None:
    growth = bgn.GrowthSettings(max_replacements=0)
    model = bgn.BGNRegressor(max_terms=3, growth=growth, random_state=0, shrinkage=1.0, cv=2).fit(*rows[:2])
    measured = bgn.frontier(model, *rows)
    assert measured.cross_validated
    path = model.history_.paths[0]
    np.testing.assert_array_equal(measured.errors["validation"], [snapshot.validation_mse for snapshot in path])
    lines = str(measured).splitlines()
    assert lines[0].split() == ["terms", "training", "cross-validated", "test"]
    assert len({len(line.removesuffix("  chosen")) for line in lines}) == 1
    ax = bgn.plots.frontier(model)
    assert [line.get_label() for line in ax.lines][1:3] == ["cross-validated error", "the mean, cross-validated"]
    plt.close(ax.figure)


@pytest.mark.filterwarnings("ignore:X holds categories that were not there")
def test_test_rows_may_have_missing_values_and_categories_never_seen(rows: tuple[Any, ...]) -> None:
    X = pd.DataFrame({"city": np.resize(["Lille", "Nice", "Oslo"], 200), "area": rows[0][:, 0]})
    y = 2.0 * (X["city"] == "Nice") + X["area"]
    growth = bgn.GrowthSettings(max_replacements=0)
    model = bgn.BGNRegressor(max_terms=3, growth=growth, random_state=0, cv=None).fit(X, y)
    X_test = pd.DataFrame({"city": ["Nice", "Rome", None], "area": [0.3, np.nan, 0.9]})
    y_test = np.array([2.0, 1.0, 0.5])
    measured = bgn.frontier(model, X, y, X_test, y_test)
    for size, error in enumerate(measured.errors["test"]):
        assert error == pytest.approx(mse(model.with_terms(size).predict(X_test), y_test))
    assert np.isfinite(measured.linear["test"])


def test_what_does_not_go_together_is_named(model: bgn.BGNRegressor, rows: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="X_test and y_test go together"):
        bgn.frontier(model, X_test=rows[2])
    with pytest.raises(ValueError, match="X and y must have equally many rows"):
        bgn.frontier(model, rows[0], rows[1][1:])
    with pytest.raises(TypeError, match="A network alone does not know how it grew"):
        bgn.frontier(model.network_)


@pytest.mark.parametrize("shape", [(40, 3), (5, 12), (1, 2)])
def test_the_linear_model_predicts_what_it_can(shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(1)
    X = np.column_stack([generator.normal(size=shape), np.ones(shape[0])])
    X[:, 0] *= 1e200
    y = X[:, 1] - 4.0
    np.testing.assert_allclose(linear_predictions(X, y, X), y, atol=1e-6)


def test_the_figure_shows_the_table(model: bgn.BGNRegressor, rows: tuple[Any, ...]) -> None:
    ax = plt.subplots()[1]
    assert bgn.plots.frontier(model, *rows, ax=ax) is ax
    measured = bgn.frontier(model, *rows)
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    for name, errors in measured.errors.items():
        np.testing.assert_array_equal(lines[f"{name} error"], errors)
    assert lines["the mean, test rows"][0] == measured.errors["test"][0]
    assert lines["a linear model, test rows"][0] == measured.linear["test"]
    assert "chosen: 3" in lines
    ax.figure.canvas.draw()


def test_the_figure_without_rows_has_no_linear_model(model: bgn.BGNRegressor) -> None:
    ax = bgn.plots.frontier(model)
    assert [line.get_label() for line in ax.lines] == [
        "training error", "validation error", "the mean, validation rows", "chosen: 3",
    ]  # fmt: skip
    plt.close(ax.figure)
