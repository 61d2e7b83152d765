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
from bgn.model.network import expand
from bgn.model.readings import outputs_of
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import CATEGORIES, POWERS, mixed_networks, mixed_rows, table_networks, table_rows, with_linear_terms
from tests.reference.model import score


@given(st.data())
def test_scores_are_those_of_the_definition(data):
    missing = data.draw(st.booleans())
    network, table = data.draw(mixed_networks(missing=missing, linear=not missing)), data.draw(mixed_rows(missing))
    expected = np.array([score(network, row) for row in table])
    result = network.raw_score(np.array(table, dtype=object))
    np.testing.assert_array_equal(result.reshape(expected.shape), expected)
    np.testing.assert_array_equal(network.raw_score(pd.DataFrame(table, columns=list(network.names))), result)
    alone = np.array([network.raw_score(np.array([row], dtype=object))[0] for row in table])
    np.testing.assert_array_equal(alone, result)


@given(st.data(), st.sampled_from([1, 2]))
def test_missing_values_count_as_the_definition_says(data, depth):
    network, _ = data.draw(table_networks(depth))
    X = data.draw(table_rows())
    np.testing.assert_array_equal(network.predict(X), [score(network, row)[0] for row in X.tolist()])
    np.testing.assert_array_equal(network.expanded().predict(expand(network, X)), network.predict(X))


@given(mixed_networks(), mixed_rows())
def test_the_expanded_network_says_the_same_in_plain_matrices(network, table):
    X = np.array(table, dtype=object)
    plain = network.expanded()
    assert plain.layers[0].numeric
    np.testing.assert_array_equal(plain.hidden(expand(network, X)), network.hidden(X))
    np.testing.assert_array_equal(plain.predict(expand(network, X)), network.predict(X))


@given(mixed_networks())
def test_what_is_copied_is_equal(network):
    for twin in (pickle.loads(pickle.dumps(network)), network.changed()):
        assert twin == network
        assert hash(twin) == hash(network)
    assert network.changed(schema=replace(network.schema, target="rent")) != network


@given(mixed_networks(missing=False))
def test_a_network_that_knows_no_missing_values_refuses_them(network):
    with pytest.raises(ValueError, match="X has NaN or infinity in column 'age'"):
        network.predict(np.array([[None, "Nice", 1.0, True]], dtype=object))


def test_probabilities_add_up():
    layer = Layer([[1.0]], [-1.0])
    classes = Network.of_layers([layer], [[1.0, 2.0, -3.0]], [0.0, 0.5, 1.0], link="softmax")
    np.testing.assert_allclose(classes.predict([[0.0], [2.0]]).sum(axis=1), 1.0)
    yes = Network.of_layers([layer], [800.0], 0.0, link="logistic")
    assert yes.predict([[0.0], [2.0]]).tolist() == [0.0, 1.0]


def test_a_network_of_numbers_is_its_own_expansion():
    network = Network.of_layers([Layer([[1.0, 0.0]], [-2.0])], [1.0], 0.0)
    assert network.expanded() is network


def test_a_layer_of_conditions_is_the_layer_of_its_matrix():
    layer = Layer([[1.0, 0.0, -2.0], [0.0, 0.0, 0.0]], [-3.0, 1.0])
    twin = Layer.of([Oblique(Projection((2, 0), (-2.0, 1.0)), 3.0), Oblique(Projection((1,), (0.0,)), -1.0)], 3)
    assert twin == layer
    assert hash(twin) == hash(layer)
    np.testing.assert_array_equal(twin.weights, layer.weights)
    with pytest.raises(ValueError, match=r"columns must be different and below 3; got \(3,\)"):
        Layer.of([Oblique(Projection((3,), (1.0,)), 0.0)], 3)
    with pytest.raises(AttributeError, match="conditions on categories has no weights"):
        _ = Layer.of([Oblique(Projection((0,), ((0.0, 1.0),)), 1.0)], 1).weights


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"link": "probit"}, "link must be one of 'identity', 'logistic', 'softmax'; got 'probit'"),
        ({"base": [1.0, 2.0]}, r"base must have 0 dimensions; got shape \(2,\)"),
        ({"schema": Schema((Column("a"),))}, "schema must have 2 columns, as before; got 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    network = Network.of_layers([Layer([[1.0, 0.0]], [-2.0])], [1.0], 0.0)
    with pytest.raises(ValueError, match=message):
        network.changed(**changes)


def test_regions_and_bounds_know_categories():
    layer = Layer.of([Oblique(Projection((0,), ((0.0, 1.0),)), 1.0, missing=False)], 1)
    network = Network.of_layers([layer], [1.0], 0.0, schema=Schema((Column("city", categories=("Lille", "Nice")),)))
    X = np.array([["Lille"], ["Nice"], [None]], dtype=object)
    (result,) = theory.regions(network, X)
    assert result.index.tolist() == [0, 1, 0]
    np.testing.assert_allclose(theory.lower_bounds(network, X, [1.0, 5.0, 3.0])[0], 2.0 / 3.0)


@given(st.data())
def test_terms_are_the_network_output_by_output(data):
    missing = data.draw(st.booleans())
    network, table = (
        data.draw(mixed_networks(missing=missing, linear=not missing, numbers=POWERS)),
        data.draw(mixed_rows(missing)),
    )
    X = np.array(table, dtype=object)
    result = np.transpose([bgn.as_terms(one).evaluate(X) for one in outputs_of(network)])
    np.testing.assert_array_equal(result, network.raw_score(X).reshape(result.shape))
    for form in ("text", "latex", "markdown", "html"):
        assert bgn.equation(network, format=form)
    assert network._repr_html_().count("<svg") == result.shape[1]


MISSING = "city or age is missing"
CITY, AGE = Column("city", categories=CATEGORIES), Column("age", unit="years")


@pytest.mark.parametrize(
    ("columns", "coefficients", "threshold", "missing", "weight", "expected"),
    [
        ((0,), ((1.0, 1.0, 0.0),), 1.0, None, 1.0, "city is not Rome"),
        ((0,), ((1.0, 1.0, 0.0),), 1.0, False, 1.0, "city in {Lille, Nice}"),
        ((0,), ((1.0, 1.0, 0.0),), 1.0, True, 1.0, "city is not Rome or city is missing"),
        ((0,), ((0.0, 1.0, 0.0),), 1.0, True, -1.0, "city in {Lille, Rome}"),
        ((0,), ((0.0, 1.0, 0.0),), 1.0, None, 1.0, "city = Nice"),
        ((0,), ((0.0, 0.0, 0.0),), 1.0, True, 1.0, "city is missing"),
        ((0,), ((0.0, 0.0, 0.0),), 1.0, True, -1.0, "city is not missing"),
        ((1,), (1.0,), 65.0, True, 1.0, "age >= 65 years or age is missing"),
        ((1,), (1.0,), 65.0, True, -1.0, "age < 65 years"),
        ((0, 1), ((0.0, -6.0, 0.0), 1.0), 10.0, None, 1.0, "age >= 16 years, or age >= 10 years and city is not Nice"),
        (
            (0, 1),
            ((0.0, 3.0, 0.0), -2.0),
            8.0,
            True,
            1.0,
            "age <= -4 years, or age <= -2.5 years and city = Nice, or " + MISSING,
        ),
    ],
)
def test_conditions_on_categories_and_missing_values(columns, coefficients, threshold, missing, weight, expected):
    layer = Layer.of([Oblique(Projection(columns, coefficients), threshold, missing)], 2)
    network = Network.of_layers([layer], [weight], 0.0, schema=Schema((CITY, AGE)))
    assert bgn.equation(network).splitlines()[1].endswith(f"[{expected}]")


def test_a_rule_that_never_holds_goes_into_the_intercept():
    never = Layer.of([Oblique(Projection((0,), ((0.0, 0.0, 0.0),)), 1.0, False)], 1)
    network = Network.of_layers([never], [-1.0], 0.5, schema=Schema((CITY,)))
    assert bgn.as_terms(network).intercept == (1.5,)
    assert network.predict([["Nice"], [None]]).tolist() == [1.5, 1.5]
    assert "[" not in bgn.equation(network)


def test_linear_terms_have_no_regions():
    network = with_linear_terms(Network.of_layers([Layer([[1.0]], [-1.0])], [1.0], 0.0), [2.0])
    with pytest.raises(ValueError, match="with linear terms has regions"):
        theory.regions(network, [[1.0]])
    assert theory.regions(network.changed(link="logistic").with_linear(), [[1.0], [0.0]]) is not None


def test_the_base_alone_is_the_papers_kind(tmp_path):
    network = Network.of_layers([Layer.of([], 2)], [], 3.0)
    assert network.plain
    bgn.save(network, tmp_path / "m.json")
    assert bgn.load(tmp_path / "m.json").predict([[1.0, 2.0]]).tolist() == [3.0]
    assert bgn.as_terms(network).intercept == (3.0,)
    with pytest.raises(ValueError, match="X has NaN or infinity"):
        network.predict([[np.nan, 2.0]])
