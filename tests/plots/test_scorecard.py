"""The card as a figure: every question and point of the printed card, on the axes that are given."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import bgn
from tests.networks import town


def cards():
    network = town()
    two = network.changed(link="logistic", base=-4.0, schema=replace(network.schema, classes=("No", "Yes")))
    weights = np.arange(24).reshape(8, 3) % 5 * 0.25 - 0.5
    schema = replace(network.schema, classes=("a", "b", "c"))
    several = network.changed(link="softmax", output_weights=weights, base=[0.0, 0.5, 1.0], schema=schema)
    return [network, two, several]


@pytest.mark.parametrize("model", cards(), ids=["number", "two", "several"])
def test_a_figure_has_all_rules_and_points(model):
    figure, ax = plt.subplots(figsize=(9, 6))
    card = bgn.scorecard(model)
    assert bgn.plots.scorecard(card, ax=ax) is ax
    texts = [text.get_text() for text in ax.texts]
    shown = " ".join(texts).replace("\n", " ").replace("≥", ">=").replace("≤", "<=").replace("\N{MINUS SIGN}", "-")
    assert all(rule in shown for rule in card.rules)
    points = [own if isinstance(own, int) else own[0] for own in card.points]
    assert all(str(own).replace("-", "\N{MINUS SIGN}") in texts for own in points)
    plt.close(figure)
