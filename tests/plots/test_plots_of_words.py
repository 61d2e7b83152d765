"""Figures of networks with categories and gaps speak in the words of the table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bgn
from bgn.plots.style import ink
from tests.networks import town, town_rows

pytest.importorskip("matplotlib")


def texts(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_and_dots_are_called_by_levels_and_gaps():
    network, X = town(), town_rows(60)
    X[0] = [None, "Nice", 3.0, True, "low"]
    explanation = bgn.shap_values(network, X, X)
    shown = texts(bgn.plots.waterfall(explanation, row=0))
    assert {"age is missing", "city = Nice", "rooms = 3", "owner = True", "grade = low"} >= set(shown)
    assert "age is missing" in shown
    assert "city = Nice" in shown
    assert texts(bgn.plots.waterfall(explanation, row=0, by="neurons"))
    assert set(texts(bgn.plots.summary(explanation))) == set(network.names)
    assert ink(0.5)
    assert texts(bgn.plots.importance(network, X))
    assert bgn.plots.network(network, X)


@pytest.mark.parametrize(
    ("feature", "labels"),
    [("city", ["Lille", "Nice", "Rome", "Oslo", "missing"]), ("owner", ["False", "True", "missing"])],
)
def test_the_effect_of_a_category_has_a_dot_per_level_and_one_for_the_gap(feature, labels):
    network, X = town(), town_rows(60)
    ax = bgn.plots.effect(network, feature, X)
    assert [label.get_text() for label in ax.get_xticklabels()] == labels
    drawn = ax.lines[0].get_ydata()
    column = network.names.index(feature)
    for word, level in zip([*network.schema.columns[column].levels, None], drawn, strict=True):
        mixed = X.copy()
        mixed[:, column] = word
        np.testing.assert_allclose(level, network.predict(mixed).mean())


def test_effects_of_numbers_and_pairs_are_drawn_beside_gaps():
    network, X = town(), town_rows(60)
    assert "missing" in [text.get_text() for text in bgn.plots.effect(network, "age", X).texts]
    ax = bgn.plots.effect(network, ("age", "city"), X)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Lille", "Nice", "Rome", "Oslo"]


def test_long_names_fit_into_axes_that_are_handed_over():
    import matplotlib.pyplot as plt

    names = [f"a name of sixty letters, as tables out of offices have them, {k}" for k in range(4)]
    network = bgn.Network([bgn.Layer(np.eye(4), [-1.0] * 4)], [1.0, 2.0, 3.0, 4.0], 0.0, names)
    rows = np.random.default_rng(0).normal(1.0, 1.0, (30, 4))
    found = bgn.compare_tables(network, rows[:15], rows[15:])
    explanation = bgn.shap_values(network, rows, rows)
    for draw in (
        lambda ax: bgn.plots.importance(network, rows, of="neurons", ax=ax),
        lambda ax: bgn.plots.comparison(found, by="questions", ax=ax),
        lambda ax: bgn.plots.waterfall(explanation, by="neurons", ax=ax),
        lambda ax: bgn.plots.scorecard(network, ax=ax),
    ):
        figure, ax = plt.subplots(figsize=(4.0, 3.6), layout="constrained")
        draw(ax)
        figure.canvas.draw()
        names, sheet = ax.get_yticklabels() if ax.axison else [], figure.bbox
        boxes = {each.get_text(): each.get_window_extent() for each in [*names, *ax.texts]}
        assert [name for name, box in boxes.items() if box.x0 < sheet.x0 - 1 or box.x1 > sheet.x1 + 1] == []
        assert not any(a.overlaps(b) for a, b in itertools.pairwise([each.get_window_extent() for each in names]))
        plt.close(figure)
