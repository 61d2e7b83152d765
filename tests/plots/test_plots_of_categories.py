"""Figures of networks with categories and gaps speak in the words of the table."""

from __future__ import annotations

import numpy as np
import pytest

import bgn
from bgn.plots.style import ink
from tests.networks import town, town_rows

pytest.importorskip("matplotlib")


def texts(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_and_dots_are_called_by_categories_and_missing_values():
    network, X = town(), town_rows(60)
    X[0] = [None, "Nice", 3.0, True, "low"]
    explanation = bgn.shap_values(network, X, X)
    shown = texts(bgn.plots.waterfall(explanation, row=0))
    assert {"age is missing", "city = Nice", "rooms = 3", "owner = True", "grade = low"} >= set(shown)
    assert "age is missing" in shown
    assert "city = Nice" in shown
    assert texts(bgn.plots.waterfall(explanation, row=0, by="terms"))
    assert set(texts(bgn.plots.summary(explanation))) == set(network.names)
    assert ink(0.5)
    assert texts(bgn.plots.importance(network, X))
    assert bgn.plots.network(network, X)


@pytest.mark.parametrize(
    ("feature", "labels"),
    [("city", ["Lille", "Nice", "Rome", "Oslo", "missing"]), ("owner", ["False", "True", "missing"])],
)
def test_the_effect_of_a_column_has_a_dot_per_category_and_one_where_it_is_missing(feature, labels):
    network, X = town(), town_rows(60)
    ax = bgn.plots.effect(network, feature, X)
    assert [label.get_text() for label in ax.get_xticklabels()] == labels
    drawn = ax.lines[0].get_ydata()
    column = network.names.index(feature)
    for category, height in zip([*network.schema.columns[column].categories, None], drawn, strict=True):
        mixed = X.copy()
        mixed[:, column] = category
        np.testing.assert_allclose(height, network.predict(mixed).mean())


def test_effects_of_numbers_and_pairs_are_drawn_with_missing_values():
    network, X = town(), town_rows(60)
    assert "missing" in [text.get_text() for text in bgn.plots.effect(network, "age", X).texts]
    ax = bgn.plots.effect(network, ("age", "city"), X)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Lille", "Nice", "Rome", "Oslo"]
