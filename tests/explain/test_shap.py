"""SHAP values against their definition, the axioms, and another program."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, shap_values
from tests.networks import mixed_networks, mixed_rows, problems, table_networks, table_rows
from tests.optional import pandas as pd
from tests.reference.explain import interactions, shapley


def assert_equals_definition(explanation, network, X, background):
    expected, atol = shapley(network, X, background), 1e-10 * (1.0 + np.abs(network.output_weights).sum())
    np.testing.assert_allclose(explanation.values, expected.sum(axis=2), atol=atol)
    matrix = np.zeros_like(expected)
    matrix[:, explanation.connections[:, 0], explanation.connections[:, 1]] = explanation.connection_values
    np.testing.assert_allclose(matrix, expected, atol=atol)
    np.testing.assert_allclose(explanation.term_values, expected.sum(axis=1), atol=atol)
    np.testing.assert_allclose(explanation.base_value, network.predict(background).mean(), atol=atol)


@settings(deadline=None, max_examples=150)
@given(problems())
def test_equal_to_brute_force_over_all_coalitions(problem):
    network, X, background = problem
    explanation = shap_values(network, X, background)
    assert explanation.method == "exact"
    assert_equals_definition(explanation, network, X, background)


@settings(deadline=None, max_examples=40)
@given(problems(depth=2))
def test_deeper_networks_equal_brute_force(problem):
    network, X, background = problem
    assert_equals_definition(shap_values(network, X, background), network, X, background)


@st.composite
def mixed_problems(draw):
    missing = draw(st.booleans())
    tables = (np.array(draw(mixed_rows(missing)), dtype=object) for _ in range(2))
    return draw(mixed_networks(missing=missing, one_number=True)), *tables


@settings(deadline=None, max_examples=60)
@given(mixed_problems())
def test_categories_and_missing_values_equal_brute_force(problem):
    network, X, background = problem
    explanation = shap_values(network, X[:2], background)
    assert explanation.feature_names == ("age", "city", "rooms", "owner")
    assert_equals_definition(explanation, network, X[:2], background)
    atol = 1e-10 * (1.0 + np.abs(network.output_weights).sum())
    np.testing.assert_allclose(explanation.interaction_values(), interactions(network, X[:2], background), atol=atol)
    sampled = shap_values(network, X[:2], background, method="sampled", n_samples=2)
    np.testing.assert_allclose(sampled.base_value + sampled.values.sum(axis=1), network.predict(X[:2]), atol=atol)


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from([1, 2]))
def test_missing_values_that_count_as_something_equal_brute_force(data, depth):
    network, _ = data.draw(table_networks(depth))
    X, background = data.draw(table_rows(most=2)), data.draw(table_rows())
    explanation = shap_values(network, X, background)
    assert_equals_definition(explanation, network, X, background)
    np.testing.assert_allclose(explanation.interaction_values(), interactions(network, X, background), atol=1e-10)


@settings(deadline=None, max_examples=40)
@given(st.one_of(problems(), problems(depth=2)))
def test_interactions_equal_their_definition(problem):
    network, X, background = problem
    explanation = shap_values(network, X, background)
    values = explanation.interaction_values()
    np.testing.assert_allclose(values, interactions(network, X, background), atol=1e-10)
    np.testing.assert_allclose(values.sum(axis=1), explanation.values, atol=1e-10)


@settings(deadline=None, max_examples=60)
@given(problems())
def test_efficiency_and_dummy(problem):
    network, X, background = problem
    sampled = shap_values(network, X, background, method="sampled", n_samples=2)
    np.testing.assert_allclose(sampled.base_value + sampled.values.sum(axis=1), network.predict(X), atol=1e-10)
    explanation = shap_values(network, X, background)
    for parts in (explanation.values, explanation.term_values, explanation.connection_values):
        np.testing.assert_allclose(explanation.base_value + parts.sum(axis=1), network.predict(X), atol=1e-10)
    unread = [i for i in range(network.n_inputs) if i not in network.features_used]
    assert (explanation.values[:, unread] == 0).all()


@settings(deadline=None, max_examples=60)
@given(problems())
def test_symmetry(problem):
    """Two columns that a network treats alike, with equal values everywhere, share alike."""
    network, X, background = problem
    X, background = np.rint(X), np.rint(background)  # whole numbers: the order of a sum cannot matter
    weights = np.rint(3 * network.layers[0].weights)
    layer = Layer(np.hstack([weights, weights[:, :1]]), np.rint(network.layers[0].bias))
    doubled = Network.of_layers([layer], network.output_weights, network.base)
    values = shap_values(doubled, np.hstack([X, X[:, :1]]), np.hstack([background, background[:, :1]])).values
    np.testing.assert_allclose(values[:, 0], values[:, -1], atol=1e-12)


def test_symmetric_features_get_equal_values():
    network = Network.of_layers([Layer([[1.0, 1.0, 0.0]], [-2.0])], [3.0], 1.0)
    values = shap_values(network, [[1.0, 1.0, 5.0]], [[0.0, 0.0, 1.0], [2.0, 2.0, 0.0], [1.0, 1.0, 1.0]]).values
    assert values[0, 0] == values[0, 1]


@settings(deadline=None, max_examples=60)
@given(problems(), st.floats(-3, 3), st.floats(-3, 3))
def test_linearity(problem, a, b):
    """The values of a weighted sum of two networks are the weighted sum of their values."""
    network, X, background = problem
    layer, weights = network.layers[0], network.output_weights
    other = Network.of_layers([Layer(layer.weights[::-1], layer.bias[::-1] + 0.5)], weights, 1.0)
    both = Network.of_layers(
        [Layer(np.vstack([layer.weights, other.layers[0].weights]), np.append(layer.bias, other.layers[0].bias))],
        np.append(a * weights, b * weights),
        a * network.base + b,
    )
    expected = a * shap_values(network, X, background).values + b * shap_values(other, X, background).values
    np.testing.assert_allclose(shap_values(both, X, background).values, expected, atol=1e-10)


def test_one_feature_rule_gets_the_whole_difference():
    """Not half of it, as the printed weight C(D, D^(k), Q) would give."""
    network = Network.of_layers([Layer([[1.0, 0.0, 0.0]], [-1.0])], [2.0], 0.0)
    assert shap_values(network, [[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]).values.tolist() == [[4.0, 0.0, 0.0]]


def test_ties_are_decided_as_the_network_decides():
    """0.1 + 0.2 rounds above 0.3, and 1 - 1e-17 rounds to 1: a threshold moved to the other side would miss both."""
    X, background = np.array([[0.1, 0.2], [1.0, -1e-17]]), np.array([[1.0, -1e-17], [0.1, 0.2]])
    for threshold in (0.1 + 0.2, 0.3, 1.0):
        network = Network.of_layers([Layer([[1.0, 1.0]], [-threshold])], [1.0], 0.0)
        assert_equals_definition(shap_values(network, X, background), network, X, background)


def test_equal_to_shap_exact_explainer():
    shap = pytest.importorskip("shap", reason="shap is an outside check")
    rng = np.random.default_rng(0)
    for _ in range(20):
        d, n_conditions = int(rng.integers(2, 7)), int(rng.integers(1, 8))
        weights = rng.normal(size=(n_conditions, d)) * (rng.random((n_conditions, d)) < 0.5)
        network = Network.of_layers(
            [Layer(weights, rng.normal(size=n_conditions))], rng.normal(size=n_conditions), rng.normal()
        )
        X, background = rng.normal(size=(5, d)), rng.normal(size=(30, d))
        masker = shap.maskers.Independent(background, max_samples=len(background))
        theirs = shap.explainers.Exact(network.predict, masker)(X)
        ours = shap_values(network, X, background)
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-8)
        np.testing.assert_allclose(ours.base_value, theirs.base_values, atol=1e-8)
        np.testing.assert_allclose(ours.to_shap().values, theirs.values, atol=1e-8)


def deep_and_wide():
    rng = np.random.default_rng(3)
    layers = [Layer(rng.normal(size=(6, 12)), rng.normal(size=6)), Layer(rng.normal(size=(3, 6)), rng.normal(size=3))]
    return Network.of_layers(layers, rng.normal(size=3), 1.0), rng.normal(size=(4, 12)), rng.normal(size=(20, 12))


def test_sampled_values_are_near_and_say_how_near():
    network, X, background = deep_and_wide()
    with pytest.warns(UserWarning, match="SHAP values are sampled: 12 inputs"):
        sampled = shap_values(network, X, background, n_samples=400, random_state=0)
    assert sampled.method == "sampled"
    exact = shap_values(network, X, background, method="exact")
    assert exact.method == "exact"
    assert exact.standard_error is None
    far = np.abs(sampled.values - exact.values) / np.maximum(sampled.standard_error, 1e-12)
    assert far.max() < 5
    assert 0.5 < np.sqrt((far**2).mean()) < 1.5
    for parts in (sampled.values, sampled.term_values, sampled.connection_values):
        np.testing.assert_allclose(sampled.base_value + parts.sum(axis=1), network.predict(X), atol=1e-10)
    with pytest.raises(ValueError, match="interaction_values needs method='exact'"):
        sampled.interaction_values()


def test_sampling_can_be_forced_and_repeats():
    network, X, background = deep_and_wide()
    first, second = (
        shap_values(network, X, background, method="sampled", n_samples=10, random_state=1).values for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


class Fitted:
    def __init__(self, network, background=None):
        self.network_ = network
        if background is not None:
            self.background_ = background


def test_estimators_frames_and_stored_backgrounds():
    network = Network.of_layers([Layer([[1.0, 1.0]], [-1.0])], [1.0], 0.0, ["a", "b"])
    frame = pd.DataFrame({"extra": ["x", "y"], "b": [1.0, 0.0], "a": [0.5, 0.25]})
    plain = shap_values(network, [[0.5, 1.0], [0.25, 0.0]], [[0.0, 0.0]])
    for values in (
        shap_values(Fitted(network), frame, pd.DataFrame({"b": [0.0], "a": [0.0]})),
        shap_values(Fitted(network, [[0.0, 0.0]]), frame),
    ):
        np.testing.assert_array_equal(values.values, plain.values)
        assert values.feature_names == ("a", "b")
    assert repr(plain) == "Explanation(2 rows, 2 features, base value -1, exact)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: shap_values(n, [[0.0, 0.0]]), "background must be a table"),
        (lambda n: shap_values(n, [[0.0]], [[0.0, 0.0]]), "X must have 2 columns"),
        (lambda n: shap_values(n, [[0.0, np.nan]], [[0.0, 0.0]]), "X has NaN or infinity in column 'b'"),
        (lambda n: shap_values(n, [[0.0, 0.0]], np.empty((0, 2))), "background must have at least one row"),
        (lambda n: shap_values(n, [[0.0, 0.0]], [[0.0, 0.0]], method="fast"), "method must be"),
        (lambda n: shap_values(n, [[0.0, 0.0]], [[0.0, 0.0]], n_samples=1), "n_samples must be at least 2"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(Network.of_layers([Layer([[1.0, 1.0]], [-1.0])], [1.0], 0.0, ["a", "b"]))


def test_a_model_without_network_is_refused():
    with pytest.raises(TypeError, match=r"model must be a bgn\.Network or a fitted estimator"):
        shap_values(object(), [[0.0]], [[0.0]])


def test_networks_of_nothing():
    for network in (
        Network.of_layers([Layer(np.empty((0, 2)), [])], [], 3.0),
        Network.of_layers([Layer([[0.0, 0.0]], [1.0])], [2.0], 3.0),
        Network.of_layers([Layer([[1.0, 0.0]], [1.0])], [0.0], 3.0),
    ):
        explanation = shap_values(network, [[1.0, 2.0]], [[0.0, 0.0]])
        assert explanation.values.tolist() == [[0.0, 0.0]]
        assert explanation.base_value == network.predict([[1.0, 2.0]])[0]
        assert (explanation.interaction_values() == 0).all()


def test_explaining_loads_no_optional_package():
    code = (
        "import sys, bgn; layer = bgn.Layer([[1.0]], [0.0]); "
        "bgn.shap_values(bgn.Network.of_layers([layer], [1.0], 0.0), [[1.0]], [[0.0]]); "
        "assert not {'shap', 'torch', 'matplotlib', 'dask', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
