"""Margins, checked by moving each row just short of them and just past them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, margin
from bgn.explain.margin import margin_over
from tests.networks import TABLE, problems, table_networks, table_rows
from tests.reference.explain import table_rows_of


@settings(deadline=None, max_examples=100)
@given(st.one_of(problems(), problems(depth=2)))
def test_one_column_at_a_time_just_short_and_just_past(problem):
    network, X, background = problem
    rows = np.vstack([X, background])
    margins = margin(network, rows)
    before = network.predict(rows)
    for row in range(len(rows)):
        for column in range(network.n_inputs):
            for value, back in ((margins.up[row, column], -np.inf), (margins.down[row, column], np.inf)):
                moved = np.repeat(rows[row : row + 1], 30, axis=0)
                if np.isfinite(value):
                    moved[0, column] = value
                    assert abs(network.predict(moved[:1])[0] - before[row]) > 1e-13
                    last = np.nextafter(value, back)
                    steps = np.linspace(rows[row, column], last, 30)  # of subnormal length may go past the end
                    moved[:, column] = np.clip(steps, min(rows[row, column], last), max(rows[row, column], last))
                else:
                    moved[:, column] = np.linspace(rows[row, column], np.copysign(100.0, value), 30)
                np.testing.assert_allclose(network.predict(moved), before[row], atol=1e-11)
    np.testing.assert_array_equal(margins.distance, np.minimum(margins.up - rows, rows - margins.down))


@settings(deadline=None, max_examples=60)
@given(st.one_of(problems(), problems(depth=2)))
def test_whole_columns_go_to_the_nearest_whole_number_that_will_do(problem):
    network, X, _ = problem
    rows = np.rint(X)
    margins = margin_over(network, rows, whole=range(network.n_inputs))
    before, steps = network.predict(rows), np.arange(1.0, 100.0)
    for row, column in np.ndindex(rows.shape):
        for value, side in ((margins.up[row, column], 1.0), (margins.down[row, column], -1.0)):
            moved = np.repeat(rows[row : row + 1], len(steps), axis=0)
            moved[:, column] += side * steps
            others = np.flatnonzero(np.abs(network.predict(moved) - before[row]) > 1e-11)
            if len(others):
                assert value == moved[others[0], column]
            else:
                assert abs(value - rows[row, column]) > steps[-1]


def test_no_distance_is_shown_where_no_number_changes_anything():
    network = Network.of_layers([Layer([[1.0]], [-2.0])], [0.0], 1.0, ["a"])
    assert repr(margin(network, [[1.0]])) == "Margin(1 row, 1 feature, no change near)"


def changed_within(network, row, radius, scale):
    """Whether any of many points in a ball has another prediction, or the point of few digits in its middle."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(3000, network.n_inputs))
    directions /= np.linalg.norm(directions, axis=1)[:, np.newaxis]
    lengths = radius * rng.random(3000) ** (1 / network.n_inputs)
    # Rounded, since a prediction may be another at a single point: between two questions with the same threshold.
    moved = np.vstack([row + directions * lengths[:, np.newaxis] * scale, row.round(12)])
    return np.abs(network.predict(moved) - network.predict([row])).max() > 1e-11


@settings(deadline=None, max_examples=100)
@given(problems(), st.booleans())
def test_euclidean_just_short_and_just_past(problem, scaled):
    network, X, _ = problem
    scale = np.linspace(0.5, 2.0, network.n_inputs) if scaled else np.ones(network.n_inputs)
    margins = margin(network, X, units=scale)
    for row, distance, nearest in zip(X, margins.euclidean, margins.nearest, strict=True):
        if np.isinf(distance):
            assert not changed_within(network, row, 100.0, scale)
            continue
        np.testing.assert_allclose(np.linalg.norm((nearest - row) / scale), distance, atol=1e-12)
        if distance > 1e-9:
            assert not changed_within(network, row, distance * (1 - 1e-6), scale)
        # Just past: in a small ball around the foot.
        assert changed_within(network, nearest, 1e-6 * (1 + np.abs(nearest).max()), scale) or (
            abs(network.predict([nearest]) - network.predict([row])) > 1e-11
        )


@settings(deadline=None, max_examples=40)
@given(problems(depth=2))
def test_deeper_euclidean_just_short_and_just_past(problem):
    network, X, _ = problem
    margins = margin(network, X)
    assert margins.exact.all()
    for row, distance, nearest in zip(X, margins.euclidean, margins.nearest, strict=True):
        if np.isinf(distance):
            assert not changed_within(network, row, 20.0, 1.0)
        else:
            if distance > 1e-6:
                assert not changed_within(network, row, distance * (1 - 1e-5), 1.0)
            assert abs(network.predict([nearest]) - network.predict([row])) > 1e-11 or changed_within(
                network, nearest, 1e-6 * (1 + np.abs(nearest).max()), 1.0
            )


@settings(deadline=None, max_examples=30)
@given(st.data(), st.sampled_from([1, 2]))
def test_categories_and_missing_values_stay_and_numbers_move(data, depth):
    network, _ = data.draw(table_networks(depth))
    X = data.draw(table_rows())
    margins, before, rows = margin(network, X), network.predict(X), TABLE.encode(X, missing=True)
    rng = np.random.default_rng(0)
    for k, row in enumerate(rows):
        for column in network.features_used:
            kind = TABLE.columns[column]
            if np.isnan(row[column]):
                assert np.isinf(margins.distance[k, column])
                assert kind.categories is None or not margins.categories[kind.name][k].any()
            elif kind.categories is not None:
                moved = np.repeat(row[np.newaxis], len(kind.categories), axis=0)
                moved[:, column] = range(len(kind.categories))
                other = np.abs(network.predict(table_rows_of(network, moved)) - before[k]) > 1e-9
                np.testing.assert_array_equal(margins.categories[kind.name][k], other)
            else:
                for value, back in ((margins.up[k, column], -np.inf), (margins.down[k, column], np.inf)):
                    moved = np.repeat(row[np.newaxis], 30, axis=0)
                    end = np.nextafter(value, back) if np.isfinite(value) else np.copysign(50.0, value)
                    moved[:, column] = np.linspace(row[column], end, 30)
                    np.testing.assert_allclose(network.predict(table_rows_of(network, moved)), before[k])
                    if np.isfinite(value):
                        moved[:, column] = value
                        assert abs(network.predict(table_rows_of(network, moved[:1]))[0] - before[k]) > 1e-9
        free = [column for column in (0, 2) if not np.isnan(row[column])]
        around, reach = np.repeat(row[np.newaxis], 200, axis=0), min(margins.euclidean[k], 50.0)
        steps = rng.normal(size=(200, len(free)))
        steps /= np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-300)
        around[:, free] += steps * reach * (1 - 1e-6) * rng.random((200, 1))
        if reach > 1e-7:  # regions of deep networks are entered by a billionth of the sizes at hand
            np.testing.assert_allclose(network.predict(table_rows_of(network, around)), before[k])
        if np.isfinite(margins.euclidean[k]):
            around[:] = margins.nearest[k]
            around[:, free] += steps * 1e-6
            around[-1] = margins.nearest[k]
            assert (np.abs(network.predict(table_rows_of(network, around)) - before[k]) > 1e-9).any()


def test_rules_that_cancel_do_not_count():
    network = Network.of_layers([Layer([[1.0], [2.0], [1.0]], [-1.0, -2.0, -5.0])], [1.0, -1.0, 2.0], 0.0)
    margins = margin(network, [[0.0]])
    assert margins.up.tolist() == [[5.0]]
    assert margins.down.tolist() == [[-np.inf]]
    assert margins.euclidean.tolist() == [5.0]


def test_a_prediction_on_a_threshold_alone_counts():
    """Fires at 1 and above, and at 1 and below: both only at 1."""
    network = Network.of_layers([Layer([[1.0], [-1.0]], [-1.0, 1.0])], [1.0, 1.0], 0.0)
    margins = margin(network, [[0.0], [1.0]])
    assert margins.up.tolist() == [[1.0], [np.nextafter(1.0, 2.0)]]
    assert margins.euclidean.tolist() == [1.0, 0.0]


def test_a_row_on_a_threshold_that_two_rules_share():
    """At 2 both fire; beside it they cancel differently from what all turning would give."""
    shared = Layer([[1.0], [-1.0]], [-2.0, 2.0])
    shallow = Network.of_layers([shared], [1.0, -1.0], 0.0)
    deep = Network.of_layers([shared, Layer([[1.0, -1.0]], [-1.0])], [1.0], 0.0)
    for network in (shallow, deep):
        assert margin(network, [[2.0]]).euclidean[0] == pytest.approx(0.0, abs=1e-8)
        assert margin(network, [[0.0]]).euclidean[0] == pytest.approx(2.0)
    gone = Network.of_layers([shared, Layer([[1.0, 1.0]], [-1.0])], [1.0], 0.0)
    assert margin(gone, [[0.0]]).euclidean[0] == pytest.approx(2.0)


def test_thresholds_with_a_rounding_error_between_are_passed_together():
    first = Layer([[-0.7], [-1.0]], [0.28, 0.4])
    network = Network.of_layers([first, Layer([[1.0, 1.0]], [0.0])], [1.0], 0.0)
    assert margin(network, [[0.3]]).euclidean[0] == pytest.approx(0.1)
    assert margin(network, [[0.5]]).euclidean[0] == pytest.approx(0.1)


def test_an_unfinished_search_says_so():
    rng = np.random.default_rng(0)
    layers = [Layer(rng.normal(size=(8, 3)), rng.normal(size=8)), Layer(np.ones((1, 8)), [-7.5])]
    network = Network.of_layers(layers, [1.0], 0.0)
    row = np.zeros((1, 3))
    short, whole = margin(network, row, max_cells=2), margin(network, row, max_cells=100_000)
    assert not short.exact[0]
    assert whole.exact[0]
    assert short.euclidean[0] <= whole.euclidean[0] * (1 + 1e-6)


def test_refusals_and_names():
    network = Network.of_layers([Layer([[1.0, 1.0]], [-1.0])], [1.0], 0.0, ["a", "b"])
    assert margin(network, [[0.0, 0.0]], units={"a": 2.0}).euclidean[0] == pytest.approx(1 / 5**0.5)
    for units in ([1.0], [1.0, 0.0], [1.0, np.inf]):
        with pytest.raises(ValueError, match="units must be a positive number for each of the 2 columns"):
            margin(network, [[0.0, 0.0]], units=units)
    with pytest.raises(ValueError, match="units must name a column"):
        margin(network, [[0.0, 0.0]], units={"c": 1.0})
    assert repr(margin(network, [[0.0, 1.0]])) == "Margin(1 row, 2 features, nearest change at 0)"
