"""Regions and Theorem 1: equal to the definition, and the chain of bounds never falls."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

import bgn.theory
from bgn import Layer, Network
from bgn.model.schema import Column, Schema
from bgn.theory import lower_bounds, regions
from tests.networks import problems as network_problems
from tests.optional import pandas as pd
from tests.optional import polars as pl
from tests.reference import theory as slow

# Few values, exactly representable: projections hit thresholds and rows repeat all the time.
GRID = st.integers(-6, 6).map(lambda k: k / 2)
SMALL = st.integers(-3, 3).map(float)
FLOATS = st.floats(-1e6, 1e6)


def table(rows, columns, numbers):
    return st.lists(st.lists(numbers, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


@st.composite
def networks(draw, inputs, weights=SMALL, numbers=GRID):
    """A network of depth 1 to 3; a layer may be empty."""
    layers, below = [], inputs
    for width in draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)):
        matrix = np.array(draw(table(width, below, weights)), dtype=float).reshape(width, below)
        layers.append(Layer(matrix, draw(st.lists(numbers, min_size=width, max_size=width))))
        below = width
    return Network.of_layers(layers, draw(st.lists(numbers, min_size=below, max_size=below)), draw(numbers))


@st.composite
def problems(draw, values=GRID, weights=SMALL, min_rows=1):
    """A network, rows for it and a target."""
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(min_rows, 25))
    network = draw(networks(columns, weights, values))
    X = draw(table(rows, columns, values))
    return network, X, draw(st.lists(values, min_size=rows, max_size=rows))


@given(problems())
def test_regions_equal_the_definition(problem):
    network, X, _ = problem
    equal_regions(network, X)


def equal_regions(network, X):
    reached = regions(network, X)
    assert len(reached) == network.depth
    for layer, region in enumerate(reached):
        index, patterns, counts = slow.regions(network, X, layer)
        assert region.index.tolist() == index
        assert list(map(tuple, region.patterns.tolist())) == patterns
        assert region.counts.tolist() == counts


@given(problems(), st.data())
def test_bounds_equal_the_definition(problem, data):
    network, X, y = problem
    weight = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y)).filter(any))
    expected = [float(bound) for bound in slow.lower_bounds(network, X, y, weight)]
    np.testing.assert_allclose(lower_bounds(network, X, y, sample_weight=weight), expected, rtol=1e-12, atol=1e-12)


@given(problems(values=FLOATS, weights=st.floats(-10, 10)) | problems(), st.data())
def test_the_chain_of_bounds_never_falls(problem, data):
    network, X, y = problem
    weight = data.draw(st.none() | st.lists(st.floats(0.25, 4), min_size=len(y), max_size=len(y)))
    bounds = lower_bounds(network, X, y, sample_weight=weight)
    assert bounds.shape == (network.depth + 1,)
    assert bounds[0] >= 0
    assert (np.diff(bounds) >= 0).all()  # no tolerance: the sums are built so
    error = np.average((network.predict(X) - np.array(y)) ** 2, weights=weight)
    assert bounds[-1] == pytest.approx(error, rel=1e-9, abs=1e-9)


@given(problems(min_rows=2))
def test_regions_of_a_layer_only_merge_those_below(problem):
    network, X, _ = problem
    reached = regions(network, X)
    for lower, upper in pairwise(reached):
        assert len(set(zip(lower.index.tolist(), upper.index.tolist(), strict=True))) == len(lower)
        assert len(upper) <= len(lower)


@given(problems(), st.randoms(use_true_random=False))
def test_numbers_do_not_depend_on_the_order_of_rows(problem, random):
    network, X, _ = problem
    order = list(range(len(X)))
    random.shuffle(order)
    for ordered, shuffled in zip(regions(network, X), regions(network, [X[i] for i in order]), strict=True):
        assert (ordered.index[order] == shuffled.index).all()
        assert (ordered.patterns == shuffled.patterns).all()


@given(problems(), st.data())
def test_a_row_of_weight_two_is_the_row_twice(problem, data):
    network, X, y = problem
    weight = data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y)).filter(any))
    twice = np.repeat(np.arange(len(y)), weight)
    repeated = lower_bounds(network, np.array(X)[twice], np.array(y)[twice])
    np.testing.assert_allclose(lower_bounds(network, X, y, weight), repeated, rtol=1e-12, atol=1e-12)
    for weighted, plain in zip(
        regions(network, X, sample_weight=weight), regions(network, np.array(X)[twice]), strict=True
    ):
        assert weighted.counts[weighted.counts > 0].tolist() == plain.counts.tolist()


@settings(max_examples=20)
@given(width=st.sampled_from([1, 63, 64, 65, 130]), seed=st.integers(0, 2**32 - 1))
def test_wide_layers_cross_edges_of_64_bits(width, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(40, 3)).astype(float).tolist()
    layer = Layer(rng.integers(-1, 2, size=(width, 3)), rng.integers(-2, 3, size=width))
    equal_regions(Network.of_layers([layer], np.ones(width), 0.0), X)


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    network = Network.of_layers(
        [Layer(rng.normal(size=(6, 4)), np.zeros(6)), Layer(np.eye(3, 6), np.zeros(3))], np.ones(3), 0.5
    )
    whole = regions(network, X), lower_bounds(network, X, y)
    monkeypatch.setattr(bgn.theory, "_BLOCK", 18)  # three rows at a time
    for before, after in zip(whole[0], regions(network, X), strict=True):
        assert (before.index == after.index).all()
        assert (before.patterns == after.patterns).all()
        assert (before.counts == after.counts).all()
    assert (whole[1] == lower_bounds(network, X, y)).all()


def test_the_base_alone_has_one_region_and_the_variance_as_bound():
    network = Network.of_layers([Layer(np.empty((0, 2)), [])], [], 3.0)
    X, y = [[1.0, 2.0], [3.0, 4.0]], [2.0, 6.0]
    (reached,) = regions(network, X)
    assert reached.index.tolist() == [0, 0]
    assert reached.patterns.shape == (1, 0)
    assert lower_bounds(network, X, y).tolist() == [4.0, 5.0]


def test_a_far_away_mean_costs_no_digits():
    network = Network.of_layers([Layer([[1.0]], [-1.0])], [0.5], 1e9)
    bounds = lower_bounds(network, [[0.0], [0.0], [1.0], [1.0]], [1e9 - 1, 1e9, 1e9, 1e9 + 1])
    np.testing.assert_allclose(bounds, [0.25, 0.25], rtol=1e-12)


def test_frames_are_read_by_name():
    network = Network.of_layers([Layer([[1.0, 0.0]], [-2.0])], [1.0], 0.0, feature_names=["a", "b"])
    for frame in (pd.DataFrame, pl.DataFrame):
        X = frame({"b": [9.0, 9.0, 9.0], "a": [1.0, 2.0, 3.0]})
        assert regions(network, X)[0].index.tolist() == [0, 1, 1]
        assert lower_bounds(network, X, [0.0, 1.0, 3.0]).tolist() == pytest.approx([2 / 3, 5 / 3])


def test_records_are_read_only():
    (reached,) = regions(Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0), [[1.0], [-1.0]])
    for array in (reached.index, reached.patterns, reached.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        reached.index = reached.counts
    assert repr(reached) == "Regions(2 regions of 1 neurons, 2 rows)"
    (nothing,) = regions(Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0), np.empty((0, 1)))
    assert (len(nothing), nothing.patterns.shape) == (0, (0, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": [1.0]}, r"y must have one entry per row of X \(2\); got shape \(1,\)"),
        ({"y": [1.0, np.nan]}, "y must be finite; got nan"),
        ({"y": [1e200, -1e200]}, "y must have squares that float64 can hold; got 1e\\+200"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight must not be negative; got -1.0"),
        ({"sample_weight": [0.0, 0.0]}, "sample_weight must not be all zero"),
        ({"sample_weight": [1.0]}, "sample_weight must have one entry per row"),
        ({"X": np.empty((0, 1)), "y": []}, "X must have at least one row"),
        ({"X": [1.0, 2.0]}, "X must have 1 columns"),
        ({"X": 3.0}, "X must have 1 columns"),
        ({"X": [[np.inf], [0.0]]}, "NaN or infinity in column 'x0'"),
    ],
)
def test_bad_input_is_named(changes, message):
    network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match=message):
        lower_bounds(network, **{"X": [[1.0], [2.0]], "y": [1.0, 2.0], **changes})


@pytest.mark.parametrize(("direction", "output"), [("search", "full"), ("lasso", "stagewise")])
def test_growth_records_the_bounds_of_the_networks_it_makes(direction, output):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    kind = {"direction": direction, "output": output, "digits": None}
    model = bgn.BGNRegressor(max_layers=3, max_terms=6, random_state=0, **kind)
    history = model.fit(X[:300], y[:300], eval_set=(X[300:], y[300:])).history_
    records = {(record.layer, record.n_terms): record for record in history.records}  # the last of each width
    assert {layer for layer, _ in records} == {0, 1, 2}
    for (layer, width), record in records.items():
        bounds = lower_bounds(history.network(width, layer), X[:300], y[:300])
        assert (np.diff(bounds) >= 0).all()
        assert bounds[layer] == pytest.approx(record.bound, rel=1e-9)
        assert bounds[-1] == pytest.approx(record.train_mse, rel=1e-9)


def test_a_fitted_estimator_stands_for_its_network():
    X, y = load_diabetes(return_X_y=True)
    model = bgn.BGNRegressor(max_terms=3, max_linear=0, random_state=0, cv=None).fit(X, y)
    np.testing.assert_array_equal(lower_bounds(model, X, y), lower_bounds(model.network_, X, y))
    assert len(regions(model, X)) == 1
    with pytest.raises(TypeError, match=r"got BGNRegressor\. Call fit first"):
        regions(bgn.BGNRegressor(), X)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 3).flatmap(lambda depth: network_problems(depth=depth)), st.integers(2, 4), st.integers(0, 2**32 - 1)
)
def test_no_outputs_beat_the_entropy_of_the_regions(problem, n_classes, seed):
    network, X, background = problem
    rng, rows = np.random.default_rng(seed), np.vstack([X, background])
    parts = {"link": "logistic"}
    if n_classes > 2:
        parts = {"link": "softmax", "output_weights": rng.normal(size=(network.widths[-1], n_classes))}
        parts["base"] = rng.normal(size=n_classes)
    network, y = network.changed(**parts), rng.integers(0, n_classes, len(rows))
    bounds = lower_bounds(network, rows, y)
    np.testing.assert_allclose(bounds, slow.entropies(network, rows.tolist(), y.tolist()), atol=1e-12)
    assert (np.diff(bounds) >= 0).all()
    weight = rng.integers(1, 4, len(rows))
    repeated = lower_bounds(network, np.repeat(rows, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(lower_bounds(network, rows, y, weight), repeated, atol=1e-12)


def test_labels_of_classes_are_known_by_name():
    schema = Schema((Column("x"),), classes=("no", "yes"))
    network = Network.of_layers([Layer([[1.0]], [0.0])], [1.0], 0.0, schema=schema, link="logistic")
    assert lower_bounds(network, [[1.0], [-1.0]], ["yes", "no"])[0] == 0.0
    with pytest.raises(ValueError, match="y holds the label 'perhaps'"):
        lower_bounds(network, [[1.0], [-1.0]], ["yes", "perhaps"])
