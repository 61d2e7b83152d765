"""Figures in small axes: texts keep apart, stay on the sheet and can be read, whatever names are like."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import bgn
from bgn.show.drawing import Sheet, draw
from tests.networks import random_network
from tests.plots.figures import NAMES, assert_no_overlap, every_figure, many_rules

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def figures() -> Any:
    return every_figure()


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("style", "size"), [("default", (4, 3)), ("dark_background", (4, 4)), ("default", None)])
def test_texts_of_every_figure_do_not_overlap_and_can_be_read(figures: Any, style: str, size: Any) -> None:
    assert min(map(len, NAMES)) >= 60
    for draw_on in figures.values():
        with plt.style.context(style):
            given = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
            ax = draw_on(given)
            shown = assert_no_overlap(ax)
            assert min(points for *_, points in shown) >= 6.6
            names = sorted((box.y0, box.y1) for text, box, _ in shown if "…" in text and box.x1 < ax.bbox.x0)
            assert all(upper[0] - lower[1] > 1.5 for lower, upper in pairwise(names))  # with space between them
            plt.close(ax.figure)


def test_a_layout_that_comes_later_fits_too(figures: Any) -> None:
    for name in ("comparison by terms", "waterfall of terms", "importance of terms", "scorecard"):
        figure, ax = plt.subplots(figsize=(4, 3))
        figures[name](ax)
        figure.tight_layout()
        assert_no_overlap(ax)


def test_drawings_among_other_figures_and_without_a_layout_can_be_read(figures: Any) -> None:
    left, right = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")[1]
    figures["network"](left)
    figures["waterfall of terms"](right)
    alone = plt.subplots(figsize=(4, 3))[1]
    figures["network"](alone)
    for ax in (left, alone):
        shown = assert_no_overlap(ax)
        assert min(points for *_, points in shown) >= 6.0


def test_bars_that_do_not_fit_share_one(figures: Any) -> None:
    for name in ("comparison by columns", "waterfall of features"):
        ax = plt.subplots(figsize=(4, 1.2), layout="constrained")[1]
        figures[name](ax)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert len(labels) < 9
        assert labels[-1] == f"{10 - len(labels)} others"
        whole = figures[name](None)
        total = sum(bar.get_width() for bar in whole.patches)
        assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(total)


def test_what_does_not_fit_into_a_drawing_shares_a_box() -> None:
    network = many_rules()
    rows = np.random.default_rng(0).normal(1.0, 1.0, (60, 9))
    importance = bgn.importance(network, rows)
    whole, small = draw(network, importance), draw(network, importance, sheet=Sheet(most=4))
    boxes = [box.label for box in small.boxes]
    kinds = [box.kind for box in small.boxes]
    assert list(map(kinds.count, ("feature", "neuron", "output"))) == [4, 4, 1]
    assert boxes[:3] == [box.label for box in whole.boxes][:3]
    assert boxes[3].startswith("6 other columns")
    assert boxes[7].startswith("6 other rules")
    for kind in ("feature", "neuron"):
        shares = [sum(box.share for box in drawing.boxes if box.kind == kind) for drawing in (whole, small)]
        assert shares[0] == pytest.approx(shares[1])
    assert all(0 <= line.start < line.end < len(boxes) and line.darkness <= 1.0 for line in small.lines)
    drawn = {(line.start, line.text) for line in small.lines if line.end == 8}
    assert (7, "") in drawn
    assert len(drawn) == 4
    # Every connection of the whole drawing has one between the boxes that stand for its ends.
    stands = (
        {place: min(place, 3) for place in range(9)} | {9 + place: 4 + min(place, 3) for place in range(9)} | {18: 8}
    )
    assert {(stands[line.start], stands[line.end]) for line in whole.lines} == {(e.start, e.end) for e in small.lines}


@pytest.mark.parametrize(("size", "second"), [(40, 0), (200, 0), (6, 3)])
def test_drawings_of_large_and_deep_networks_stay_on_the_sheet(size: int, second: int) -> None:
    network = random_network(size, NAMES, second=second)
    ax = plt.subplots(figsize=(4, 4), layout="constrained")[1]
    bgn.plots.network(network, ax=ax)
    shown = assert_no_overlap(ax)
    if not second:
        assert min(points for *_, points in shown) >= 6.0
