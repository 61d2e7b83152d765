"""Networks of numbers, categories and gaps, with slopes and several outputs, beside their slow twin."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, theory
from bgn.model.expansion import expand, expanded
from bgn.model.neuron import Neuron, Projection
from bgn.model.schema import Column, Schema
from tests.reference.model import score

LEVELS = ("Lille", "Nice", "Rome")
NUMBERS = st.sampled_from([-2.5, -1.0, 0.0, 0.5, 1.0, 3.0, 1e9])


@st.composite
def networks(draw, gaps=True, slopes=False, outputs=None):
    """A network on two numbers and two categories."""
    schema = Schema(
        (Column("age"), Column("city", levels=LEVELS), Column("rooms"), Column("owner", levels=(False, True))),
        target="price",
    )

    def neuron():
        columns = tuple(sorted(draw(st.sets(st.integers(0, 3), max_size=3))))
        coefficients = tuple(
            draw(NUMBERS.filter(bool)) if levels is None else tuple(draw(NUMBERS) for _ in levels)
            for levels in (schema.columns[j].levels for j in columns)
        )
        return Neuron(Projection(columns, coefficients), draw(NUMBERS), draw(st.booleans()) if gaps else None)

    first = Layer.of([neuron() for _ in range(draw(st.integers(1, 4)))], 4)
    deeper = draw(st.booleans())
    layers = [first, Layer(np.array(draw(st.lists(NUMBERS, min_size=first.width, max_size=first.width)))[None], [0.5])]
    layers = layers if deeper else [first]
    width, K = layers[-1].width, draw(st.sampled_from([None, 3])) if outputs is None else outputs
    shape = (width,) if K is None else (width, K)
    weights = np.array(draw(st.lists(NUMBERS, min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))))
    lines = np.zeros((4, *shape[1:]))
    lines[[0, 2]] = 0.25 if slopes else 0.0
    link = "softmax" if K else draw(st.sampled_from(["identity", "logistic"]))
    base = 1.5 if K is None else np.arange(K) / 2.0
    return Network(layers, weights.reshape(shape), base, schema=schema, link=link, slopes=lines)


def rows(gaps=True):
    number = st.one_of(NUMBERS, st.none()) if gaps else NUMBERS
    word = st.sampled_from([*LEVELS, None, "never seen"] if gaps else list(LEVELS))
    owner = st.sampled_from([True, False, None] if gaps else [True, False])
    return st.lists(st.tuples(number, word, number, owner).map(list), min_size=1, max_size=6)


@given(st.data())
def test_scores_are_those_of_the_definition(data):
    gaps = data.draw(st.booleans())
    network, table = data.draw(networks(gaps=gaps, slopes=not gaps)), data.draw(rows(gaps))
    expected = np.array([score(network, row) for row in table])
    found = network.raw_score(np.array(table, dtype=object))
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    np.testing.assert_array_equal(network.raw_score(pd.DataFrame(table, columns=list(network.names))), found)
    alone = np.array([network.raw_score(np.array([row], dtype=object))[0] for row in table])
    np.testing.assert_array_equal(alone, found)


@given(networks(), rows())
def test_the_expanded_network_says_the_same_in_plain_matrices(network, table):
    X = np.array(table, dtype=object)
    plain = expanded(network)
    assert plain.layers[0].numeric
    np.testing.assert_array_equal(plain.hidden(expand(network, X)), network.hidden(X))
    np.testing.assert_array_equal(plain.predict(expand(network, X)), network.predict(X))


@given(networks())
def test_what_is_copied_is_equal(network):
    for twin in (pickle.loads(pickle.dumps(network)), network.changed()):
        assert twin == network
        assert hash(twin) == hash(network)
    assert network.changed(schema=replace(network.schema, target="rent")) != network


@given(networks(gaps=False))
def test_a_network_that_knows_no_gaps_refuses_them(network):
    with pytest.raises(ValueError, match="X has NaN or infinity in column 'age'"):
        network.predict(np.array([[None, "Nice", 1.0, True]], dtype=object))


def test_probabilities_add_up():
    layer = Layer([[1.0]], [-1.0])
    classes = Network([layer], [[1.0, 2.0, -3.0]], [0.0, 0.5, 1.0], link="softmax")
    np.testing.assert_allclose(classes.predict([[0.0], [2.0]]).sum(axis=1), 1.0)
    yes = Network([layer], [800.0], 0.0, link="logistic")
    assert yes.predict([[0.0], [2.0]]).tolist() == [0.0, 1.0]


def test_a_network_of_numbers_is_its_own_expansion():
    network = Network([Layer([[1.0, 0.0]], [-2.0])], [1.0], 0.0)
    assert network.expanded() is network


def test_a_layer_of_neurons_is_the_layer_of_its_matrix():
    layer = Layer([[1.0, 0.0, -2.0], [0.0, 0.0, 0.0]], [-3.0, 1.0])
    twin = Layer.of([Neuron(Projection((2, 0), (-2.0, 1.0)), 3.0), Neuron(Projection((1,), (0.0,)), -1.0)], 3)
    assert twin == layer
    assert hash(twin) == hash(layer)
    np.testing.assert_array_equal(twin.weights, layer.weights)
    with pytest.raises(ValueError, match=r"columns must be different and below 3; got \(3,\)"):
        Layer.of([Neuron(Projection((3,), (1.0,)), 0.0)], 3)
    with pytest.raises(AttributeError, match="questions about categories has no weights"):
        _ = Layer.of([Neuron(Projection((0,), ((0.0, 1.0),)), 1.0)], 1).weights


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"link": "probit"}, "link must be one of 'identity', 'logistic', 'softmax'; got 'probit'"),
        ({"base": [1.0, 2.0]}, r"base must have 0 dimensions; got shape \(2,\)"),
        ({"slopes": [1.0]}, r"slopes must have shape \(2,\); got \(1,\)"),
        ({"schema": Schema((Column("a"),))}, "schema must have 2 columns, as the first layer; got 1"),
        ({"link": "softmax"}, r"output_weights must have 2 dimensions; got shape \(1,\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    network = Network([Layer([[1.0, 0.0]], [-2.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match=message):
        network.changed(**changes)


def test_regions_and_bounds_know_categories():
    layer = Layer.of([Neuron(Projection((0,), ((0.0, 1.0),)), 1.0, missing=False)], 1)
    network = Network([layer], [1.0], 0.0, schema=Schema((Column("city", levels=("Lille", "Nice")),)))
    X = np.array([["Lille"], ["Nice"], [None]], dtype=object)
    (found,) = theory.regions(network, X)
    assert found.index.tolist() == [0, 1, 0]
    np.testing.assert_allclose(theory.lower_bounds(network, X, [1.0, 5.0, 3.0])[0], 2.0 / 3.0)


@given(networks(), st.sampled_from([bgn.as_terms, bgn.equation]))
def test_what_is_not_ready_for_them_says_so(network, use):
    with pytest.raises(ValueError, match="model must predict one number from columns of numbers"):
        use(network)


def test_slopes_and_classes_have_no_regions():
    network = Network([Layer([[1.0]], [-1.0])], [1.0], 0.0, slopes=[2.0])
    for changed in (network, network.changed(slopes=None, link="logistic")):
        with pytest.raises(ValueError, match="slopes and classes have no regions"):
            theory.regions(changed, [[1.0]])


def test_the_base_alone_is_the_papers_kind(tmp_path):
    network = Network([Layer.of([], 2)], [], 3.0)
    assert network.plain
    bgn.save(network, tmp_path / "m.json")
    assert bgn.load(tmp_path / "m.json").predict([[1.0, 2.0]]).tolist() == [3.0]
    assert bgn.as_terms(network).base == 3.0
    with pytest.raises(ValueError, match="X has NaN or infinity"):
        network.predict([[np.nan, 2.0]])
