"""Error against size: the numbers are those of the networks themselves, the figure shows them."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import bgn
from bgn.explain.frontier import count_conditions
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
    assert lines[4].split()[:2] == ["3", str(model.n_conditions_)]
    assert [line.endswith("chosen") for line in lines].index(True) == 4


PAPER = bgn.BGNRegressor.as_in_paper
MODELS = {
    "regression": lambda X, y: bgn.BGNRegressor(max_terms=5, cv=None, max_linear=0, random_state=0).fit(X, y),
    "linear terms": lambda X, y: bgn.BGNRegressor(max_terms=5, cv=None, random_state=0).fit(X, X[:, 0] + y),
    "oblique conditions": lambda X, y: PAPER(max_terms=5, max_layers=1, random_state=0).fit(X, X[:, 0] - X[:, 1] + y),
    "layers": lambda X, y: PAPER(max_terms=4, max_layers=2, random_state=0).fit(X, X[:, 0] * X[:, 1] + y),
    "two classes": lambda X, y: bgn.BGNClassifier(max_terms=4, random_state=0).fit(X, y > np.median(y)),
    "several classes": lambda X, y: bgn.BGNClassifier(max_terms=4, random_state=0).fit(X, np.digitize(y, [6, 7])),
    "ensemble": lambda X, y: bgn.BGNRegressor(max_terms=3, ensemble=3, max_linear=0, random_state=0).fit(X, y),
}  # fmt: skip


def read_conditions(network: bgn.Network) -> int:
    """Count what a reader reads: every comparison of every rule and of the layers below, sums by their columns."""
    count = len(network.linear)
    for rule in network.rules:
        count += sum(len(condition.columns) for condition in rule.conditions)
    return count + sum(int(np.count_nonzero(layer.weights)) for layer in network.below)


@pytest.mark.parametrize("kind", MODELS)
def test_every_size_is_known_in_conditions(kind: str, rows: tuple[Any, ...]) -> None:
    model = MODELS[kind](*rows[:2])
    history = model.history_
    measured = bgn.frontier(model)
    networks = [history.network(size) for size in range(len(history.paths[history.best_layer]))]
    assert measured.conditions == tuple(map(read_conditions, networks))
    assert measured.conditions == tuple(network.n_conditions for network in networks)
    assert measured.conditions[measured.chosen] == model.n_conditions_
    assert count_conditions(history, history.best_layer) == list(measured.conditions)
    assert measured.to_frame()["conditions"].tolist() == list(measured.conditions)
    printed = [line.split()[:2] for line in str(measured).splitlines()[1:]]
    assert printed == [[str(size), str(count)] for size, count in enumerate(measured.conditions)]
    if kind in ("oblique conditions", "layers"):
        assert model.n_conditions_ > len(model.network_.terms)
    ax = bgn.plots.growth(model)
    reached = ax.lines[len(getattr(history, "members", ())) * 2].get_xdata()
    if len(history.paths) == 1 and kind != "ensemble":
        assert ax.get_xlabel() == "conditions"
        np.testing.assert_array_equal(reached, measured.conditions[1:])
    if kind == "ensemble":
        assert ax.get_xlabel() == "conditions of a network"
        chosen = np.mean([member.network().n_conditions for member in history.members])
        assert reached[measured.chosen - 1] == pytest.approx(chosen)
    if kind == "layers":
        assert ax.get_xlabel() == "conditions, layer after layer"
        first, second = count_conditions(history, 0), count_conditions(history, 1)
        assert reached.tolist() == [*first[1:], *(max(first) + count - second[0] for count in second[1:])]
        assert second[0] == history.network(0, 1).n_conditions > 0
    plt.close(ax.figure)


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
    assert lines[0].split() == ["terms", "conditions", "training", "cross-validated", "test"]
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
    for line, errors in zip(ax.lines, measured.errors.values(), strict=False):
        np.testing.assert_array_equal(line.get_xdata(), measured.conditions)
        np.testing.assert_array_equal(lines[line.get_label()], errors)
    assert [*lines][:3] == [f"{name} error" for name in measured.errors]
    assert lines["the mean, test rows"][0] == measured.errors["test"][0]
    assert lines["a linear model, test rows"][0] == measured.linear["test"]
    assert f"chosen: {model.n_conditions_}" in lines
    assert ax.get_xlabel() == "conditions"
    ax.figure.canvas.draw()


def test_the_figure_without_rows_has_no_linear_model(model: bgn.BGNRegressor) -> None:
    ax = bgn.plots.frontier(model)
    assert [line.get_label() for line in ax.lines] == [
        "training error", "validation error", "the mean, validation rows", f"chosen: {model.n_conditions_}",
    ]  # fmt: skip
    plt.close(ax.figure)
