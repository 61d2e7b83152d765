"""Network, Layer and step: frozen values that answer the same alone, in a block, on a threshold."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, step
from tests.networks import with_linear_terms
from tests.optional import pandas as pd
from tests.optional import polars as pl


def random_network(rng, inputs, sizes, features=None):
    """A network with `features` non-zero weights a neuron (all when None)."""
    layers = []
    for size in sizes:
        weights = rng.normal(size=(size, inputs))
        for row in weights if features else []:
            row[rng.permutation(inputs)[features:]] = 0.0
        layers.append(Layer(weights, rng.normal(size=size)))
        inputs = size
    return Network.of_layers(layers, rng.normal(size=inputs), float(rng.normal()))


# -- step ----------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False), max_size=5))
def test_step_is_plus_one_from_zero_up(values):
    assert step(values).tolist() == [1.0 if v >= 0 else -1.0 for v in values]


def test_step_keeps_the_shape_and_counts_both_zeros():
    assert step(0.0).shape == ()
    assert step([[-0.0, 0.0], [5e-324, -5e-324]]).tolist() == [[1.0, 1.0], [1.0, -1.0]]


# -- Layer ---------------------------------------------------------------------------------------------------


def test_a_layer_copies_and_freezes_what_it_is_given():
    weights, bias = np.array([[1.0, 2.0]]), np.array([3.0])
    layer = Layer(weights, bias)
    weights[0, 0] = bias[0] = 9.0
    assert layer.weights.tolist() == [[1.0, 2.0]]
    assert layer.bias.tolist() == [3.0]
    for array in (layer.weights, layer.bias):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    with pytest.raises(FrozenInstanceError):
        layer.bias = bias


def test_a_layer_knows_its_shape_and_thresholds():
    layer = Layer([[1, 0, 2], [0, 0, -1]], [-3, 0])
    assert (layer.width, layer.n_inputs) == (2, 3)
    assert layer.weights.dtype == layer.bias.dtype == np.float64
    assert layer.thresholds.tolist() == [3.0, 0.0]
    assert not np.signbit(layer.thresholds).any()
    assert repr(layer) == "Layer(width=2, n_inputs=3, non_zero=3)"


def test_equal_layers_hash_alike():
    layer = Layer([[1.0, 0.0]], [0.0])
    twin = Layer(np.array([[1, -0.0]]), [-0.0])
    assert layer == twin
    assert hash(layer) == hash(twin)
    assert len({layer, twin, Layer([[1.0, 0.0]], [1.0]), Layer([[2.0, 0.0]], [0.0])}) == 3
    assert layer != "layer"


@pytest.mark.parametrize(
    ("weights", "bias", "message"),
    [
        ([1.0], [1.0], r"weights must have 2 dimensions; got shape \(1,\)"),
        ([[1.0]], 1.0, r"bias must have 1 dimension; got shape \(\)"),
        ([[1.0]], [1.0, 2.0], "one entry per neuron; got 2 for 1 rows"),
        ([[np.nan]], [1.0], "weights must be finite; got nan"),
        ([[1.0]], [-np.inf], "bias must be finite; got -inf"),
    ],
)
def test_a_bad_layer_is_refused(weights, bias, message):
    with pytest.raises(ValueError, match=message):
        Layer(weights, bias)


def test_projections_are_summed_in_the_order_of_the_columns():
    row = np.array([[0.1, 0.2, 0.3, 1e16, -1e16]])
    weights = [3.0, 7.0, 0.0, 1.0, 1.0]
    expected = ((0.1 * 3.0 + 0.2 * 7.0) + 1e16) + -1e16
    assert Layer([weights], [0.0]).project(row).tolist() == [[expected]]
    assert expected != 0.1 * 3.0 + 0.2 * 7.0  # another order would show


def test_a_threshold_of_one_feature_of_weight_one_compares_the_very_column():
    values = np.array([0.1 + 0.2, 0.3, np.nextafter(0.3, 1), np.nextafter(0.3, 0)])
    layer = Layer([[1.0, 0.0]], [-0.3])
    fires = layer.fire(np.column_stack([values, [1e300, -1e300, 1e-300, 0.0]]))
    assert fires[:, 0].tolist() == [1.0, 1.0, 1.0, -1.0]


# -- Network: shape ------------------------------------------------------------------------------------------


@pytest.fixture
def network():
    """Two layers on three named columns; the last column feeds only a neuron nobody listens to."""
    first = Layer([[1.0, 0.0, 0.0], [0.5, -1.0, 0.0], [0.0, 0.0, 2.0]], [-2.0, 0.0, 1.0])
    second = Layer([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.5, 0.0])
    return Network.of_layers([first, second], [3.0, 0.0], 10.0, feature_names=["a", "b", "c"], target_name="price")


def test_a_network_knows_its_size(network):
    assert network.n_inputs == 3
    assert network.widths == (3, 2)
    assert network.depth == 2
    assert network.n_weights == 8
    assert network.n_parameters == 12
    assert network.max_features == 2
    assert network.features_used == (0, 1)
    assert network.names == ("a", "b", "c")
    assert repr(network) == "Network(3 inputs, widths (3, 2), 12 non-zero parameters, uses a, b)"


def test_a_long_list_of_columns_is_cut_short_in_the_repr():
    network = Network.of_layers([Layer(np.eye(9), np.zeros(9))], np.ones(9), 0.0)
    assert repr(network).endswith("uses x0, x1, x2, x3, x4, x5 and 3 more)")


def test_a_network_is_frozen(network):
    with pytest.raises(FrozenInstanceError):
        network.intercept = 0.0
    with pytest.raises(ValueError, match="read-only"):
        network.coef[0] = 1.0
    assert isinstance(network.layers, tuple)
    assert isinstance(network.base, float)


def test_equality_looks_at_everything(network):
    names = ("layers", "output_weights", "base", "feature_names", "target_name")
    parts = {name: getattr(network, name) for name in names}
    twin = Network.of_layers(**parts)
    assert twin == network
    assert hash(twin) == hash(network)
    for change in (
        {"layers": (network.layers[0], Layer(network.layers[1].weights, [0.5, 1.0]))},
        {"output_weights": [3.0, 1.0]},
        {"base": 11.0},
        {"feature_names": ["a", "b", "d"]},
        {"feature_names": None},
        {"target_name": None},
    ):
        assert Network.of_layers(**{**parts, **change}) != network
    assert network != "network"


def test_a_network_survives_pickling(network):
    assert pickle.loads(pickle.dumps(network)) == network


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": []}, "layers must be one or more bgn.Layer values"),
        ({"layers": [([[1.0]], [0.0])]}, "layers must be one or more bgn.Layer values"),
        ({"layers": [Layer([[1.0]], [0.0]), Layer([[1.0, 1.0]], [0.0])]}, r"layers\[1\] reads 2 inputs but .* width 1"),
        ({"output_weights": [1.0, 2.0]}, r"one entry per neuron of the last layer \(1\); got 2"),
        ({"output_weights": [np.inf]}, "output_weights must be finite; got inf"),
        ({"base": np.nan}, "base must be finite; got nan"),
        ({"feature_names": ["a", "b"]}, "feature_names must name all 1 columns; got 2 names"),
        (
            {"layers": [Layer([[1.0, 1.0]], [0.0])], "feature_names": ["a", "a"]},
            "feature_names must differ; got 'a' twice",
        ),
    ],
)
def test_a_bad_network_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Network.of_layers(**{"layers": [Layer([[1.0]], [0.0])], "output_weights": [1.0], "base": 0.0, **changes})


# -- Network: values -----------------------------------------------------------------------------------------


def test_predictions_by_hand(network):
    X = [[2.0, 1.0, 0.0], [2.0, 1.5, 0.0], [1.0, 0.5, 0.0], [0.0, 9.0, -1.0]]
    assert network.hidden(X, 0).tolist() == [[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, -1]]
    assert network.hidden(X, 1).tolist() == [[1, 1], [1, 1], [1, 1], [-1, -1]]
    assert (network.hidden(X) == network.hidden(X, -1)).all()
    assert (network.hidden(X, -2) == network.hidden(X, 0)).all()
    assert network.predict(X).tolist() == [13.0, 13.0, 13.0, 7.0]


@pytest.mark.parametrize("layer", [2, -3])
def test_a_layer_that_is_not_there(network, layer):
    with pytest.raises(ValueError, match=f"layer must be between 0 and 1.*got {layer}"):
        network.hidden([[0.0, 0.0, 0.0]], layer)


def test_the_base_alone():
    network = Network.of_layers([Layer(np.empty((0, 2)), [])], [], 4.5)
    assert network.predict([[1.0, 2.0], [3.0, 4.0]]).tolist() == [4.5, 4.5]
    assert network.hidden([[1.0, 2.0]]).shape == (1, 0)
    assert (network.widths, network.max_features, network.features_used) == ((0,), 0, ())
    assert repr(network) == "Network(2 inputs, widths (0,), 1 non-zero parameters, uses nothing but the base)"


def test_no_rows_give_no_predictions(network):
    assert network.predict(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_read_by_name(network, frame):
    X = frame({"c": [0.0, -1.0], "extra": [7.0, 7.0], "b": [1.0, 9.0], "a": [2.0, 0.0]})
    assert network.predict(X).tolist() == [13.0, 7.0]
    with pytest.raises(ValueError, match="X lacks the columns 'b', 'c'"):
        network.predict(frame({"a": [1.0]}))


def test_a_network_without_names_takes_a_frame_as_it_stands():
    network = Network.of_layers([Layer([[1.0, 0.0]], [0.0])], [1.0], 0.0)
    assert network.predict(pd.DataFrame({"q": [1.0, -1.0], "p": [-1.0, 1.0]})).tolist() == [1.0, -1.0]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, bool])
def test_other_number_types_are_read_as_float64(dtype):
    network = Network.of_layers([Layer([[1.0]], [-1.0])], [1.0], 0.0)
    assert network.predict(np.array([[0], [1]], dtype=dtype)).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0, 3.0], r"X must have 3 columns; got shape \(3,\)"),
        ([[1.0, 2.0]], r"X must have 3 columns; got shape \(1, 2\)"),
        ([[1.0, np.nan, 2.0]], "NaN or infinity in column 'b'"),
        ([[1.0, 2.0, -np.inf]], "NaN or infinity in column 'c'"),
        ([["p", "q", "r"]], "column 'a' holds words"),
    ],
)
def test_bad_rows_are_refused(network, X, message):
    with pytest.raises(ValueError, match=message):
        network.predict(X)


@settings(max_examples=60)
@given(
    inputs=st.sampled_from([1, 2, 7, 40]),
    sizes=st.lists(st.sampled_from([1, 2, 5, 33]), min_size=1, max_size=3),
    features=st.sampled_from([1, 2, None]),
    on_threshold=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_row_alone_answers_as_in_a_block_to_the_bit(inputs, sizes, features, on_threshold, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, inputs))
    network = random_network(rng, inputs, sizes, features)
    if on_threshold:  # every neuron of the first layer has a row that sits on it exactly
        first = network.layers[0]
        rows = rng.integers(len(X), size=first.width)
        bias = -first.project(X)[rows, np.arange(first.width)]
        network = Network.of_layers(
            [Layer(first.weights, bias), *network.layers[1:]], network.output_weights, network.base
        )
        assert (network.hidden(X, 0)[rows, np.arange(first.width)] == 1.0).all()
    block = network.predict(X)
    assert block.tobytes() == np.concatenate([network.predict(row[np.newaxis]) for row in X]).tobytes()
    assert block.tobytes() == network.predict(np.asfortranarray(X)).tobytes()
    for layer in range(network.depth):
        alone = np.vstack([network.hidden(row[np.newaxis], layer) for row in X])
        assert (network.hidden(X, layer) == alone).all()
        assert set(np.unique(alone)) <= {-1.0, 1.0}


def test_dense_layers_fire_as_their_projections_say():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 50))
    weights = rng.normal(size=(30, 50))
    bias = -Layer(weights, np.zeros(30)).project(X)[:30].diagonal()
    layer = Layer(weights, bias)
    assert (layer.fire(X) == step(layer.project(X) + layer.bias)).all()
    assert (layer.fire(X)[:30].diagonal() == 1.0).all()


@pytest.mark.parametrize("columns", [3, 80])
@pytest.mark.parametrize("outputs", [(), (3,)])
def test_blocks_of_rows_add_up_what_answers_say(columns, outputs):
    rng = np.random.default_rng(columns)
    plain = random_network(rng, columns, (5,), 2)
    linear = np.zeros((columns, *outputs))
    linear[0] = rng.normal(size=outputs)
    link = {"link": "softmax"} if outputs else {}
    rules = Network.of_layers(plain.layers, rng.normal(size=(5, *outputs)), rng.normal(size=outputs), **link)
    network = with_linear_terms(rules, linear)
    X = rng.normal(size=(20_000, columns)).round(1)
    total = np.broadcast_to(network.base, (len(X), *outputs)) + np.multiply.outer(X[:, 0], linear[0])
    for answers, weight in zip(network.hidden(X).T, network.output_weights, strict=True):
        total = total + np.multiply.outer(answers, weight)
    np.testing.assert_array_equal(network.raw_score(X), total)
    np.testing.assert_array_equal(network.raw_score(X[::-1])[::-1], total)
