"""Figures: axes in, axes out; labels that do not touch; cells that are the network's own."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import cbook
from matplotlib.text import Text
from sklearn.tree import DecisionTreeRegressor

import bgn
from bgn.export.styles import color
from bgn.model.schema import Column, Schema
from bgn.model.step import Floats
from bgn.show.curves import histogram
from bgn.show.drawing import draw, text_width
from bgn.show.labels import shorten, shortened, term_labels
from bgn.text import clean
from tests.export_cases import with_rules
from tests.networks import grown, random_network
from tests.plots.figures import assert_no_overlap

NASTY = [
    "<script>alert(1)</script>",
    "costs $x^{2$ and _this_ % too",
    "Größe in µm",
    "x" * 200,
    "x" * 199 + "y",
    "season = winter",
    " trimmed",
    "trimmed  ",
]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def table(network: bgn.Network, rows: int = 60, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, network.n_inputs))


@pytest.mark.parametrize("size", [1, 5, 12, 30])
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_labels_of_the_drawing_do_not_overlap(size: int, style: str) -> None:
    with plt.style.context(style):
        network = random_network(size, [f"feature {i}" for i in range(12)])
        assert_no_overlap(bgn.plots.network(network, table(network)))


def test_texts_of_the_drawing_stay_in_their_boxes() -> None:
    network = random_network(60, NASTY)
    ax = bgn.plots.network(network)
    ax.figure.canvas.draw()
    drawing = draw(network)
    for box in drawing.boxes:
        right = ax.transData.transform((box.x + box.width, 0))[0]
        text = next(one for one in ax.texts if one.get_text() == box.text)
        assert text.get_window_extent().x1 <= right
        assert text.get_fontsize() >= 7
    wide, high = ax.figure.get_size_inches()
    assert wide < 18
    assert high < 22


def test_a_bracket_joins_the_conditions_of_a_rule() -> None:
    network = next(network for seed in range(3, 9) if (network := with_rules(seed)).link == "identity")
    drawing = draw(network)
    boxes = [box for box in drawing.boxes if box.joined]
    sizes = sorted(len(box.rectangles) for box in boxes)
    assert set(sizes) <= {2, 3}
    assert len(sizes) >= 2
    for box in boxes:
        assert all(lower[1] - upper[1] > upper[3] for upper, lower in pairwise(box.rectangles))
        assert {x0 for x0, *_ in box.bracket[:-2]} == {box.x + box.rectangles[0][2]}
        assert box.bracket[-1][2:] == (box.x + box.width, box.y)
    assert_no_overlap(bgn.plots.network(network))


def test_deep_networks_are_drawn_layer_by_layer() -> None:
    network = random_network(8, ["a", "b", "c"], second=4)
    ax = bgn.plots.network(network, table(network))
    assert_no_overlap(ax)
    kinds = [(box.kind, box.layer) for box in draw(network).boxes]
    assert sorted(set(kinds)) == [("feature", -1), ("neuron", 0), ("neuron", 1), ("output", 2)]


def test_the_drawing_shares_colors_and_order_with_the_equation() -> None:
    network = random_network(7, ["a", "b", "c"])
    importance = bgn.importance(network, table(network))
    boxes = [box for box in draw(network, importance).boxes if box.kind == "neuron"]
    shares = [box.share for box in boxes]
    assert shares == sorted(shares, reverse=True)
    np.testing.assert_allclose(sum(shares), 1.0)
    for position, term in enumerate(bgn.as_terms(network).rules):
        assert next(box for box in boxes if box.index == term.index).color == color(position)
    inner = [line for line in draw(network, importance).lines if not line.text]
    assert all(0.0 <= line.darkness <= 1.0 for line in inner)


@pytest.mark.parametrize("of", ["features", "terms"])
@pytest.mark.parametrize("size", [5, 30])
def test_bars_do_not_overlap(of: str, size: int) -> None:
    network = random_network(size, NASTY)
    assert_no_overlap(bgn.plots.importance(network, table(network), of=of, most=30))


@pytest.mark.parametrize("by", ["features", "terms"])
def test_waterfall_adds_up_and_does_not_overlap(by: str) -> None:
    network = random_network(30, [f"feature {i}" for i in range(20)])
    rows = table(network)
    explanation = bgn.shap_values(network, rows, rows)
    ax = bgn.plots.waterfall(explanation, 3, by=by)
    assert_no_overlap(ax)
    bars = ax.patches
    assert len(bars) == 12
    np.testing.assert_allclose(
        explanation.base_value + sum(bar.get_width() for bar in bars), network.predict(rows[3:4])[0], atol=1e-9
    )
    np.testing.assert_allclose(bars[0].get_x() + bars[0].get_width(), network.predict(rows[3:4])[0], atol=1e-9)


def test_waterfall_tells_categories() -> None:
    schema = Schema((Column("a", category_of=("season", "winter")), Column("b", category_of=("season", "summer"))))
    network = bgn.Network.of_layers([bgn.Layer(np.eye(2), [-0.5, -0.5])], [2.0, 1.0], 0.0, schema=schema)
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    ax = bgn.plots.waterfall(bgn.shap_values(network, rows, rows))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["season = winter", "season is not summer"]


def test_summary_shows_every_row_once_a_feature() -> None:
    network = random_network(10, NASTY)
    rows = table(network, 80)
    ax = bgn.plots.summary(bgn.shap_values(network, rows, rows), points=50, most=4)
    assert_no_overlap(ax)
    assert [len(dots.get_offsets()) for dots in ax.collections if len(dots.get_offsets()) > 1] == [50] * 4
    for place, dots in enumerate(ax.collections):
        assert np.abs(dots.get_offsets()[:, 1] - place).max() <= 0.4


@pytest.mark.parametrize("steps", [False, True])
def test_regions_show_the_predictions(steps: bool) -> None:
    network = random_network(6, ["a", "b", "c"])
    rows = table(network)
    ax = bgn.plots.regions(network, rows, ("c", "a"), at={"b": 0.5}, steps=steps, points=10)
    ax.figure.canvas.draw()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")
    if not steps:
        shown = ax.collections[0].get_array()
        grid = np.random.default_rng(0).uniform(rows.min(axis=0), rows.max(axis=0), size=(500, 3))
        grid[:, 1] = 0.5
        assert set(np.round(network.predict(grid), 9)) <= set(np.round(shown, 9))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"features": ("a", "nothing")}, "nothing"), ({"features": ("a", "a")}, "different"), ({"at": {"z": 1.0}}, "'z'")],
)
def test_regions_name_what_is_wrong(arguments: dict, message: str) -> None:
    network = random_network(3, ["a", "b"])
    with pytest.raises(ValueError, match=message):
        bgn.plots.regions(network, table(network), **arguments)


def test_effect_steps_where_the_effect_does() -> None:
    network = random_network(8, ["a", "b", "c"])
    rows = table(network)
    ax = bgn.plots.effect(network, "a", rows)
    exact = bgn.effect(network, "a", rows)
    (line,) = ax.lines
    places, heights = line.get_data()
    np.testing.assert_array_equal(heights, exact(places))
    inside = exact.breakpoints[(exact.breakpoints > rows[:, 0].min()) & (exact.breakpoints <= rows[:, 0].max())]
    assert set(inside) <= set(places)


def test_effect_of_whole_numbers_has_one_step_per_number() -> None:
    network = random_network(8, ["a", "b"])
    rows = np.column_stack([np.arange(40) % 5, table(network)[:40, 1]])
    (line,) = bgn.plots.effect(network, "a", rows).lines
    places, heights = line.get_data()
    assert places.tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5]
    np.testing.assert_array_equal(heights[:-1], bgn.effect(network, "a", rows)(np.arange(5.0)))


def test_effect_of_a_pair_is_a_map() -> None:
    network = random_network(6, ["a", "b", "c"])
    rows = table(network)
    ax = bgn.plots.effect(network, ("c", "b"), rows)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "b")
    shown = ax.collections[0].get_array()
    corner = bgn.effect(network, ("c", "b"), rows)(rows[:, 2].min(), rows[:, 1].min())
    np.testing.assert_allclose(np.ravel(shown)[0], corner)


def test_every_figure_takes_axes_and_gives_them_back() -> None:
    network = random_network(5, ["a", "b"])
    rows = table(network)
    explanation = bgn.shap_values(network, rows, rows)
    for call in (
        lambda ax: bgn.plots.network(network, ax=ax),
        lambda ax: bgn.plots.importance(network, rows, ax=ax),
        lambda ax: bgn.plots.regions(network, rows, ax=ax),
        lambda ax: bgn.plots.effect(network, "a", rows, ax=ax),
        lambda ax: bgn.plots.summary(explanation, ax=ax),
        lambda ax: bgn.plots.waterfall(explanation, ax=ax),
    ):
        ax = plt.subplots()[1]
        assert call(ax) is ax
        assert call(None) is not ax


def test_names_that_look_like_mathematics_are_drawn_as_they_are() -> None:
    network = random_network(9, NASTY)
    rows = table(network)
    for ax in (
        bgn.plots.network(network, rows),
        bgn.plots.importance(network, rows),
        bgn.plots.regions(network, rows, (1, 3)),
        bgn.plots.effect(network, 1, rows),
        bgn.plots.effect(network, (1, 3), rows),
        bgn.plots.regions(network, rows, (1, 3), steps=True),
        bgn.plots.summary(bgn.shap_values(network, rows, rows)),
        bgn.plots.waterfall(bgn.shap_values(network, rows, rows)),
    ):
        ax.figure.canvas.draw()
        texts = [text for text in ax.figure.findobj(Text) if text.get_text()]
        assert texts
        assert not [text for text in texts if text.get_parse_math() and cbook.is_math_text(text.get_text())]


def test_short_names_stay_different() -> None:
    for length in (8, 12, 24):
        short = shorten(NASTY, length)
        assert len(set(short)) == len(NASTY)
        assert max(map(len, short)) <= length + 8
    assert shorten(["a b"])[0] == clean("a   b")
    assert len(set(shorten(["a b", "a  b", "a b (1)"]))) == 3


def test_short_names_of_categories_keep_both_halves() -> None:
    long = Column("x", category_of=("a long name of a category", "a long name of a level"))
    assert shortened(Schema((long, Column("x = y")))).names == ("a long…egory = a long…level", '"x = y"')


def test_estimated_sizes_of_texts_are_large_enough() -> None:
    from matplotlib.textpath import TextPath

    for text in [
        *term_labels(random_network(40, ["Median income", "WWW %", "illi", "season = winter"])),
        "MMMM",
        "0.123",
    ]:
        assert TextPath((0, 0), text, size=10).get_extents().width <= text_width(text) + 3


def test_growth_shows_the_errors_of_every_size() -> None:
    ax = bgn.plots.growth(grown())
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert lines["training error"] == [[1.0, 1.0], [2.0, 0.5], [3.0, 1 / 3], [4.0, 0.25], [5.0, 0.2]]
    assert lines["validation error"] == [[1.0, 2.0], [2.0, 1.0], [3.0, 2 / 3], [4.0, 0.5], [5.0, 0.6]]
    assert lines["replacement accepted"] == [[2.0, 0.5]]
    assert lines["chosen: 3"][0][0] == 3
    ax.figure.canvas.draw()


def test_growth_says_where_errors_are_cross_validated() -> None:
    history = grown()
    steps = tuple(replace(record, validation_loss=math.nan) for record in history.records)
    ax = bgn.plots.growth(replace(history, records=steps))
    lines = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
    assert lines["cross-validated error"] == [2.0, 1.0, 2 / 3, 0.5, 0.6]
    assert "validation error" not in lines


def test_tree_comparison_measures_both_on_the_test_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(200, 2))
    target = 1.5 + 2.0 * rows[:, 0]
    ax = bgn.plots.tree_comparison(grown(), rows[:150], target[:150], rows[150:], target[150:])
    lines = {line.get_label(): np.array(line.get_ydata()) for line in ax.lines}
    expected = [np.mean((grown().network(w).predict(rows[150:]) - target[150:]) ** 2) for w in (1, 2, 3)]
    np.testing.assert_allclose(lines["network"], expected)
    tree = DecisionTreeRegressor(max_leaf_nodes=3, random_state=0).fit(rows[:150], target[:150])
    np.testing.assert_allclose(lines["tree"][1], np.mean((tree.predict(rows[150:]) - target[150:]) ** 2))


def test_figures_of_a_network_without_terms_are_empty_and_its_path_is_unknown() -> None:
    network = bgn.Network.of_layers([bgn.Layer(np.zeros((0, 2)), [])], [], 4.5, ["a", "b"])
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    explanation = bgn.shap_values(network, rows, rows)
    for ax in (bgn.plots.summary(explanation), bgn.plots.waterfall(explanation), bgn.plots.network(network, rows)):
        ax.figure.canvas.draw()
    compare, truth = bgn.plots.tree_comparison, [1.0, 2.0]
    for call in (lambda: bgn.plots.growth(network), lambda: compare(network, rows, truth, rows, truth)):
        with pytest.raises(TypeError, match="model must be a fitted estimator with history_"):
            call()


@pytest.mark.parametrize(
    "column",
    [
        1e18 + 128.0 * np.arange(50),
        np.append(1e18, np.arange(49)),
        1e16 + np.tile([0.0, 2.0], 25),
        np.linspace(-1e300, 1e300, 50),
        5e-324 * np.arange(50),
        np.full(50, 1e18),
        np.full(50, 3.7),
    ],
    ids=["far", "one far", "neighbours", "huge", "subnormal", "constant far", "constant"],
)
def test_effect_of_columns_of_any_scale(column: Floats) -> None:
    rows = np.column_stack([column, np.arange(50.0)])
    layer = bgn.Layer([[1.0, 0.0], [0.0, 1.0]], [-np.median(column), -20.0])
    network = bgn.Network.of_layers([layer], [1.0, 0.5], 3.0, ["a", "b"])
    counts, edges = histogram(column)
    assert counts.sum() == 50
    assert (np.diff(edges) > 0).all()
    for feature in ("a", ("a", "b")):
        bgn.plots.effect(network, feature, rows).figure.canvas.draw()
