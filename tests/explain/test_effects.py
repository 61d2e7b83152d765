"""Effects against their definition: the mean prediction with the feature set in every background row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, effect
from bgn.explain.crossings import crossings
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import mixed_networks, mixed_rows, problems, table_networks, table_rows


def test_rows_in_the_place_of_a_column_are_refused():
    network, rows = Network.of_layers([Layer([[1.0, 0.0]], [-2.0])], [1.0], 3.0), np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"got a table \(ndarray\). The column comes first, the rows second"):
        effect(network, rows, 0)


def dependence(network, columns, values, background):
    mixed = background.copy()
    mixed[:, columns] = values
    return network.predict(mixed).mean()


@settings(deadline=None, max_examples=80)
@given(st.one_of(problems(), problems(depth=2), problems(depth=3)), st.integers(0, 3))
def test_steps_equal_the_definition_at_every_breakpoint(problem, column):
    network, X, background = problem
    column %= network.n_inputs
    curve = effect(network, column, background)
    below = np.nextafter(curve.breakpoints, -np.inf)
    values = np.concatenate([curve.breakpoints, below, X[:, column], background[:, column], [-50.0, 50.0]])
    expected = [dependence(network, [column], value, background) for value in values]
    np.testing.assert_allclose(curve(values), expected, atol=1e-10)
    assert (np.diff(curve.breakpoints) > 0).all()
    assert (np.diff(curve.values) != 0).all()
    assert len(curve.values) == len(curve.breakpoints) + 1


@settings(deadline=None, max_examples=80)
@given(st.one_of(problems(), problems(depth=2)), st.integers(0, 3), st.integers(1, 3))
def test_pairs_equal_the_definition(problem, first, lost):
    network, X, background = problem
    if network.n_inputs == 1:
        return
    pair = [first % network.n_inputs, (first % network.n_inputs + 1 + lost % (network.n_inputs - 1)) % network.n_inputs]
    curve = effect(network, pair, background)
    points = np.vstack([X, background])[:, pair]
    expected = [dependence(network, pair, point, background) for point in points]
    np.testing.assert_allclose(curve(points[:, 0], points[:, 1]), expected, atol=1e-10)
    assert curve(points[:1, 0], points[:, 1]).shape == (len(points),)
    for cell in curve.cells(bounds=[[-2.0, 2.0], [-1.0, 3.0]], whole=True):
        weights = np.random.default_rng(0).dirichlet(np.ones(len(cell.vertices)), size=5)
        for point in weights @ cell.vertices:
            assert cell.value == pytest.approx(dependence(network, pair, point, background), abs=1e-9)


@settings(deadline=None, max_examples=80)
@given(st.data(), st.booleans(), st.integers(0, 3), st.integers(1, 3))
def test_categories_and_missing_values_equal_the_definition(data, missing, first, step):
    network = data.draw(mixed_networks(missing=missing, one_number=True))
    X, background = (np.array(data.draw(mixed_rows(missing)), dtype=object) for _ in range(2))
    scale = np.abs(network.output_weights).sum() + 1.0
    for column in range(4):
        curve = effect(network, column, background)
        values = X[:, column].tolist()
        if column in (0, 2):
            values += [*curve.breakpoints, *np.nextafter(curve.breakpoints, -np.inf)]
        expected = [dependence(network, [column], value, background) for value in values]
        np.testing.assert_allclose(curve(values), expected, atol=1e-12 * scale)
        assert (curve.missing is not None) == network.layers[0].takes_missing
    pair = [first, (first + step) % 4]
    curve, points = effect(network, pair, background), X[:, pair]
    expected = [dependence(network, pair, point, background) for point in points]
    np.testing.assert_allclose(curve(points[:, 0], points[:, 1]), expected, atol=1e-12 * scale)
    if set(pair) == {0, 2}:
        cell = curve.cells(bounds=[[-2.0, 2.0], [-1.0, 3.0]], whole=True)[0]
        center = cell.vertices.mean(axis=0)
        np.testing.assert_allclose(cell.value, dependence(network, pair, center, background), atol=1e-12 * scale)
    else:
        with pytest.raises(ValueError, match="cells need two columns of numbers"):
            curve.cells()


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from([1, 2]), st.integers(0, 4), st.integers(1, 4))
def test_missing_values_that_count_as_something_equal_the_definition(data, depth, first, step):
    network, _ = data.draw(table_networks(depth))
    X, background = data.draw(table_rows()), data.draw(table_rows())
    for column in range(5):
        curve = effect(network, column, background)
        categories = network.schema.columns[column].categories
        values = [None, *X[:, column], *(curve.breakpoints if categories is None else categories)]
        if categories is None:
            values += [*np.nextafter(curve.breakpoints, -np.inf)]
        expected = [dependence(network, [column], value, background) for value in values]
        np.testing.assert_allclose(curve(values), expected, atol=1e-10)
    pair = [first, (first + step) % 5]
    curve, points = effect(network, pair, background), X[:, pair]
    expected = [dependence(network, pair, point, background) for point in points]
    np.testing.assert_allclose(curve(points[:, 0], points[:, 1]), expected, atol=1e-10)
    if set(pair) == {0, 2}:
        for cell in curve.cells(bounds=[[-2.0, 2.0], [-1.0, 3.0]], whole=True):
            center = cell.vertices.mean(axis=0)
            np.testing.assert_allclose(cell.value, dependence(network, pair, center, background), atol=1e-10)


def test_a_category_never_seen_is_refused_where_missing_values_are():
    layer = Layer.of([Oblique(Projection((0,), ((0.0, 1.0),)), 1.0)], 1)
    network = Network.of_layers([layer], [0.5], 1.0, schema=Schema((Column("city", categories=("Lille", "Nice")),)))
    curve = effect(network, "city", [["Lille"], ["Nice"]])
    assert curve(["Nice", "Lille"]).tolist() == [1.5, 0.5]
    assert curve("Nice") == 1.5
    with pytest.raises(ValueError, match="values of 'city' must be among 'Lille', 'Nice'; got 'Rome'"):
        curve(["Nice", "Rome"])


def area(cell):
    x, y = cell.vertices.T
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2


@settings(deadline=None, max_examples=40)
@given(problems())
def test_cells_fill_the_rectangle(problem):
    network, _, background = problem
    if network.n_inputs > 1:
        cells = effect(network, (0, 1), background).cells(bounds=[[-2.0, 2.0], [-1.0, 3.0]])
        assert sum(map(area, cells)) == pytest.approx(16.0)


@settings(deadline=None, max_examples=100)
@given(problems(), st.integers(0, 3), st.sampled_from([1.0, 1e-300, 1e200, 1e-17]))
def test_crossings_are_the_first_float_of_the_new_answer(problem, column, scale):
    network, _, background = problem
    column %= network.n_inputs
    layer = network.layers[0]
    network = Network.of_layers([Layer(layer.weights, layer.bias * scale)], network.output_weights, 0.0)
    for number in np.flatnonzero(layer.weights[:, column]):
        curve = crossings(network.layers[0].neurons[number], column, background)
        for row, value in zip(background, curve, strict=True):
            upper = 1.0 if layer.weights[number, column] > 0 else -1.0
            for x, answer in ((value, upper), (np.nextafter(value, -np.inf), -upper)):
                row[column] = x
                assert network.hidden([row])[0, number] == answer


def test_crossings_that_never_come():
    """A tiny weight cannot move a large sum past its threshold within the floats."""
    network = Network.of_layers([Layer([[1e-300, 1.0], [-1e-300, 1.0]], [-1e300, -1e300])], [1.0, 1.0], 0.0)
    rows = np.zeros((1, 2))
    assert crossings(network.layers[0].neurons[0], 0, rows).tolist() == [np.inf]
    assert crossings(network.layers[0].neurons[1], 0, rows).tolist() == [-np.inf]
    curve = effect(network, 0, rows)
    assert curve.breakpoints.tolist() == []
    assert curve.values.tolist() == [-2.0]


def test_names_and_refusals():
    network = Network.of_layers([Layer([[1.0, 0.0]], [-2.0])], [1.0], 0.0, ["a", "b"])
    assert repr(effect(network, "a", [[0.0, 0.0]])) == "Effect(a: 1 step, from -1 to 1)"
    assert repr(effect(network, ("a", "b"), [[0.0, 0.0]])) == "PairEffect(a x b: 0 joint lines)"
    for feature, message in (
        ("c", "feature must name a column, one of a, b"),
        (2, "or give its position from 0 to 1; got 2"),
        (("a", "a"), "one column or two different ones"),
        (("a", "b", "a"), "one column or two different ones"),
    ):
        with pytest.raises(ValueError, match=message):
            effect(network, feature, [[0.0, 0.0]])
    with pytest.raises(ValueError, match="background must be a table"):
        effect(network, "a")
    with pytest.raises(ValueError, match="bounds must be two pairs"):
        effect(network, ("a", "b"), [[0.0, 0.0]]).cells()


def test_too_many_cells_are_refused():
    rng = np.random.default_rng(0)
    network = Network.of_layers([Layer([[1.0, 1.0, 1.0]], [0.0])], [1.0], 0.0)
    curve = effect(network, (0, 1), rng.normal(size=(400, 3)))
    with pytest.raises(ValueError, match="lines cut the rectangle into too many cells"):
        curve.cells(bounds=[[-9.0, 9.0], [-9.0, 9.0]])
