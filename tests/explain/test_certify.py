"""Certificates: what all regions of small networks say, with two rows that show what is not so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgn import Layer, Network, certify
from bgn.explain.optimize.problem import read_domain
from tests.networks import TABLE, problems, table_networks, town, with_linear_terms
from tests.reference.attainable import moves

WITHIN = st.sampled_from(["all", "seen"])
DIRECTIONS = {(False, False): "constant", (True, False): "increasing", (False, True): "decreasing"}


def shows(network, certificate, column):
    """The rows given differ in the column alone, and change the prediction by as much as is told."""
    for pair, size, sign in ((certificate.rises, certificate.rise, 1), (certificate.falls, certificate.fall, -1)):
        assert (pair is None) == (size == 0.0)
        if pair is not None:
            table = np.array(pair, dtype=None if network.schema.all_numbers else object)
            scores = network.predict(table)
            assert sign * (scores[1] - scores[0]) == pytest.approx(size, abs=1e-9)
            coded = network.schema.encode(table, missing=True)
            assert coded[0, column] < coded[1, column]
            others = [j for j in range(network.n_inputs) if j != column]
            np.testing.assert_array_equal(coded[0, others], coded[1, others])


def compared(network, within, missing=True, max_seconds=60):
    certificates = certify(network, within=within, missing=missing, max_seconds=max_seconds)
    domain = read_domain(network, within, missing)
    for column in network.features_used:
        certificate, kind = certificates[network.names[column]], network.schema.columns[column]
        if kind.categories is not None and not kind.ordered:
            assert certificate.direction == "unordered"
            continue
        fall, rise = moves(network, domain, column)
        assert certificate.rise >= rise - 1e-9
        assert certificate.fall >= fall - 1e-9
        shows(network, certificate, column)
        wanted = DIRECTIONS.get((certificate.rise > 0, certificate.fall > 0), "neither")
        assert certificate.direction == wanted
        if abs(certificate.rise - rise) + abs(certificate.fall - fall) > 1e-9:  # rows on thresholds but for a rounding
            pairs = [pair for pair in (certificate.rises, certificate.falls) if pair is not None]
            table = np.array(
                [row for pair in pairs for row in pair], dtype=None if network.schema.all_numbers else object
            )
            coded, first = network.schema.encode(table, missing=True), network.layers[0]
            assert np.nanmin(np.abs(first.project(coded) - first.thresholds)) < 1e-9


@settings(max_examples=40)
@given(case=table_networks(most=3), within=WITHIN, missing=st.booleans())
def test_all_regions_say_the_same_of_numbers_categories_and_missing_values(case, within, missing):
    compared(case[0], within, missing)


@pytest.mark.exhaustive  # a network of four conditions may take a minute
@settings(max_examples=40)
@given(case=table_networks(), within=WITHIN, missing=st.booleans())
def test_all_regions_say_the_same_of_larger_networks(case, within, missing):
    compared(case[0], within, missing)


@settings(max_examples=30)
@given(case=problems(max_features=2))
def test_all_regions_say_the_same_of_numbers_on_thresholds(case):
    compared(case[0], "all")


@settings(max_examples=30)
@given(case=table_networks(complete={0, 1, 2, 3, 4}, most=3), steepness=st.sampled_from([1.5, -0.7]))
def test_a_linear_term_and_jumps_against_it(case, steepness):
    network = with_linear_terms(case[0], [steepness, 0.0, 0.0, 0.0, 0.0])
    certificate, endless = (
        certify(network, ["age"], within="seen", max_seconds=60)["age"],
        certify(network, ["age"])["age"],
    )
    domain = read_domain(network, "seen", True)
    fall, rise = moves(network, domain, 0)  # samples of regions: a lower bound, as slopes go on to their edges
    assert certificate.rise >= rise - 1e-6
    assert certificate.fall >= fall - 1e-6
    jumps = certify(case[0], ["age"], within="seen")["age"]
    if steepness > 0:
        assert certificate.direction == ("neither" if jumps.fall > 0 else "increasing")
        assert endless.rise == np.inf
    else:
        assert certificate.direction == ("neither" if jumps.rise > 0 else "decreasing")
        assert endless.fall == np.inf
    shows(network, certificate, 0)


def test_weights_that_cancel_are_constant():
    network = Network.of_layers([Layer([[1.0, 0.5], [2.0, 1.0]], [-3.0, -6.0])], [1.0, -1.0], 4.0, ["a", "b"])
    assert [certificate.direction for certificate in certify(network).values()] == ["constant", "constant"]
    facing = Network.of_layers([Layer([[1.0, 0.5], [-1.0, -0.5]], [-3.0, 3.0])], [1.0, 1.0], 4.0, ["a", "b"])
    certificate = certify(facing)["a"]  # on the line both fire, beside it one: up and down again
    assert (certificate.direction, certificate.rise, certificate.fall) == ("neither", 2.0, 2.0)
    tenths = Network.of_layers([Layer([[1.0], [1.0], [1.0]], [-3.0] * 3)], [0.1, 0.2, -0.3], 4.0, ["a"])
    assert certify(tenths)["a"].direction == "constant"


def test_rules_that_hide_one_another():
    # The fall at 3 happens only where the other question says so, and there the rise at 3 makes up for it.
    layer = Layer([[1.0, 0.0], [1.0, 0.0]], [-3.0, -3.0])
    network = Network.of_layers([layer], [1.0, -0.25], 0.0, ["a", "b"])
    assert certify(network)["a"].direction == "increasing"
    assert certify(network, ["b"])["b"].direction == "constant"
    # x1 + 10 x0 >= 25 would fall with x0, but only above 2.4: not within these ranges.
    far = Network.of_layers([Layer([[1.0, 0.0], [10.0, 1.0]], [-1.0, -25.0])], [1.0, -0.5], 0.0, ["a", "b"])
    assert certify(far)["a"].direction == "neither"
    assert certify(far, within={"a": (0, 2), "b": (0, 4)})["a"].direction == "increasing"


def test_deep_networks_are_unknown_and_classes_have_scores():
    deep = Network.of_layers([Layer([[1.0, 0.0]], [0.0]), Layer([[1.0]], [0.0])], [1.0], 0.0, ["a", "b"])
    assert certify(deep)["a"].direction == "unknown"
    assert certify(deep, ["b"])["b"].direction == "constant"
    yes = Network.of_layers([Layer([[1.0]], [-2.0])], [1.0], 0.0, ["age"], "yes", link="logistic")
    assert certify(yes)["age"].direction == "increasing"
    many = Network.of_layers([Layer([[1.0]], [-2.0])], [[1.0, -0.5]], [0.0, 1.0], ["age"], link="softmax")
    assert certify(many, output=1)["age"].direction == "decreasing"


def test_what_is_printed():
    certificates = certify(town())
    assert (
        repr(certificates)
        == "Certificates(age neither, city unordered, rooms increasing, owner unordered, grade increasing)"
    )
    assert len(certificates) == 5
    assert certificates["grade"].as_dict()["falls"] is None
    assert certificates["grade"].as_dict()["rises"][0][4] == "low"
    assert repr(certificates["city"]) == "Certificate(city: unordered)"
    assert certificates["city"].as_dict()["rise"] is None
    with pytest.raises(ValueError, match="columns must name a column"):
        certify(town(), ["height"])
    with pytest.raises(ValueError, match="max_seconds must be positive; got 0"):
        certify(town(), max_seconds=0)


def test_out_of_time_it_is_unknown_or_shown():
    rng = np.random.default_rng(0)
    network = Network.of_layers([Layer(rng.normal(size=(80, 6)), rng.normal(size=80))], rng.normal(size=80), 0.0)
    certificate = certify(network, [0], max_seconds=0.01)["x0"]
    assert certificate.direction in ("unknown", "neither")
    assert TABLE.columns[4].ordered
