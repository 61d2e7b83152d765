"""Figures that judge classes: on the axes given, with the numbers of `bgn.evaluate`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bgn

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def two() -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + rng.normal(0, 0.7, 200) > 0, "$yes", "no")
    return bgn.BGNClassifier(max_terms=3, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def three() -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + rng.normal(0, 0.3, 200), [-0.5, 0.5])
    return bgn.BGNClassifier(max_terms=3, random_state=0).fit(X, y), X, y


FIGURES = ("roc", "precision_recall", "calibration", "scores", "decision_curve")


@pytest.mark.parametrize("name", FIGURES)
def test_axes_in_axes_out(name: str, two: Any, three: Any) -> None:
    draw = getattr(bgn.plots, name)
    figure, ax = plt.subplots()
    assert draw(*two, ax=ax) is ax
    figure.canvas.draw()  # a dollar sign in a label is no mathematics
    plt.close(figure)
    more = {"of": 2} if name == "scores" else {}
    drawn = draw(*three, **more)
    assert drawn.get_legend() is not None
    plt.close(drawn.figure)
    with pytest.raises(ValueError, match="of must be one of the classes"):
        draw(*three, of="cow", ax=drawn)


def test_legends_say_what_evaluate_says(two: Any) -> None:
    evaluation = bgn.evaluate(*two)
    scores, errors = evaluation.scores, evaluation.errors
    for draw, text in (
        (bgn.plots.roc, f"AUC {scores['auc']:.3f} ± {errors['auc']:.3f}"),
        (bgn.plots.calibration, f"calibration error {scores['calibration_error']:.3f}"),
    ):
        ax = draw(*two)
        assert text in ax.get_legend().get_texts()[0].get_text()
        plt.close(ax.figure)


def test_weights_and_one_class_of_several(three: Any) -> None:
    model, X, y = three
    weight = np.where(y == 0, 0.0, 1.0)
    ax = bgn.plots.roc(model, X, y, of=1, sample_weight=weight)
    known = y > 0
    other = bgn.plots.roc(model, X[known], y[known], of=1)
    assert ax.get_legend().get_texts()[0].get_text() == other.get_legend().get_texts()[0].get_text()
    plt.close(ax.figure)
    plt.close(other.figure)


def test_growth_and_frontier_say_log_loss(two: Any) -> None:
    model, X, y = two
    for ax in (bgn.plots.growth(model), bgn.plots.frontier(model, X, y, X, y)):
        assert ax.get_ylabel() == "log loss"
        plt.close(ax.figure)
    sizes = bgn.frontier(model, X, y, X, y)
    assert sizes.loss == "log_loss"
    assert sizes.errors["test"][sizes.chosen] == pytest.approx(bgn.evaluate(model, X, y).scores["log_loss"])
    assert "logistic" in str(sizes)


def test_what_is_wrong_is_named(two: Any, three: Any) -> None:
    with pytest.raises(ValueError, match="bins must be a whole number of at least 1; got 0"):
        bgn.plots.calibration(*two, bins=0)
    with pytest.raises(ValueError, match="of must name one of the classes"):
        bgn.plots.scores(*three)
    numbers = bgn.Network.of_layers([bgn.Layer([[1.0, 0.0, 0.0]], [0.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match="model must predict classes"):
        bgn.plots.roc(numbers, *two[1:])
