"""The lowest and the highest prediction: attained, and never exceeded, as all regions of small networks say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, extremes
from bgn.explain.optimize.problem import read_domain
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.networks import linear_coef_of, problems, table_networks, town, town_rows, with_linear_terms
from tests.reference.attainable import range_of, rows

WITHIN = st.sampled_from(["all", "seen"])


def attains(network, ends, within, missing=True):
    """The rows found are of the domain and have the predictions told."""
    domain = read_domain(network, within, missing)
    for value, row in ((ends.low, ends.low_row), (ends.high, ends.high_row)):
        table = np.array([row], dtype=None if network.schema.all_numbers else object)
        assert network.predict(table)[0] == value
        coded = network.schema.encode(table, missing=True)[0]
        known = ~np.isnan(coded)
        assert (domain.missing | known).all()
        numbers = known & [column.categories is None for column in network.schema.columns]
        assert ((coded >= domain.low) & (coded <= domain.high))[numbers].all()
        assert (coded == np.rint(coded))[known & domain.whole].all()


def agrees(network, ends, expected, atol=1e-9):
    """The values are those of all regions; beyond them only by a row that lies on a threshold but for a rounding."""
    for value, row, sample, sign in (
        (ends.low, ends.low_row, expected[0], -1),
        (ends.high, ends.high_row, expected[1], 1),
    ):
        assert sign * (value - sample) >= -atol
        if abs(value - sample) > atol:
            table = np.array([row], dtype=None if network.schema.all_numbers else object)
            coded = network.schema.encode(table, missing=True)
            first = network.layers[0]
            assert np.nanmin(np.abs(first.project(coded) - first.thresholds)) < 1e-9


@settings(max_examples=60)
@given(case=table_networks(), within=WITHIN, missing=st.booleans())
def test_all_regions_say_the_same_of_numbers_categories_and_missing_values(case, within, missing):
    network, _ = case
    ends = extremes(network, within, missing=missing, max_seconds=60)
    assert ends.proven
    attains(network, ends, within, missing)
    expected = range_of(network, read_domain(network, within, missing))
    agrees(network, ends, expected)


@settings(max_examples=40)
@given(case=problems(max_features=3))
def test_all_regions_say_the_same_of_numbers_on_thresholds(case):
    network, X, _ = case
    ends = extremes(network, max_seconds=60)
    assert ends.proven
    attains(network, ends, "all")
    expected = range_of(network, read_domain(network, "all", True))
    agrees(network, ends, expected)
    assert ends.low <= network.predict(X).min()
    assert ends.high >= network.predict(X).max()


@settings(max_examples=25)
@given(case=table_networks(depth=2, most=3), within=WITHIN)
def test_deeper_networks_too(case, within):
    network, _ = case
    ends = extremes(network, within, max_seconds=60)
    assert ends.proven
    attains(network, ends, within)
    expected = range_of(network, read_domain(network, within, True))
    agrees(network, ends, expected)


@settings(max_examples=40)
@given(
    case=table_networks(complete={0, 1, 2, 3, 4}, most=3),
    linear_coef=st.tuples(*[st.sampled_from([0.0, 1.5, -0.7])] * 2),
)
def test_linear_terms_add_the_ends_of_ranges_and_of_pieces(case, linear_coef):
    network = with_linear_terms(case[0], [linear_coef[0], 0.0, linear_coef[1], 0.0, 0.0])
    ends = extremes(network, "seen", max_seconds=60)
    assert ends.proven
    attains(network, ends, "seen")
    low, high = _with_linear_terms(network)
    agrees(network, ends, (low, high), 1e-4)
    if any(linear_coef):
        endless = extremes(network)
        assert (endless.low, endless.high) == (-np.inf, np.inf)
        assert endless.low_row is None
        assert endless.as_dict()["high"] is None


def _with_linear_terms(network):
    """The range of a network with slopes: in every region the questions' sum, and the best end of the slopes."""
    domain = read_domain(network, "seen", True)
    linear_coef, first, best = linear_coef_of(network)[:, 0], network.layers[0], [np.inf, -np.inf]
    if not network.linear:
        return range_of(network, domain)
    for some in rows(network, domain):
        for row in some:
            answers = first.fire(row[np.newaxis])[0]
            low, high = -3.0, 6.0
            for condition, answer in zip(first.neurons, answers, strict=True):
                factor = dict(zip(condition.projection.columns, condition.projection.coefficients, strict=True)).get(
                    0, 0.0
                )
                if factor:
                    turn = row[0] + (condition.threshold - condition.projection.values(row[np.newaxis])[0]) / factor
                    low, high = (max(low, turn), high) if answer * factor > 0 else (low, min(high, turn))
            flat = network.base + answers @ network.output_weights + linear_coef[2] * row[2]
            best = [min(best[0], *(flat + linear_coef[0] * e for e in (low, high))),
                    max(best[1], *(flat + linear_coef[0] * e for e in (low, high)))]  # fmt: skip
    return best


def test_rules_that_exclude_one_another_are_not_added_up():
    network = Network.of_layers(
        [Layer([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]], [-3.0, 1.0, -2.0, 2.0])], np.ones(4), 0.0
    )
    assert repr(extremes(network)) == "Extremes(between -2 and 0)"  # 2 has two yes, 2.5 one
    same = Network.of_layers([Layer([[1.0, 0.5], [1.0, 0.5]], [-3.0, -3.0])], [1.0, -1.0], 4.0)
    assert (extremes(same).low, extremes(same).high) == (4.0, 4.0)


def test_a_region_of_one_point_counts():
    # x + y >= 3, x <= 2 and y <= 1 hold together at (2, 1) alone.
    network = Network.of_layers([Layer([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [-3.0, 2.0, 1.0])], [1.0, 1.0, 1.0], 0.0)
    ends = extremes(network)
    assert ends.high == 3.0
    assert ends.high_row.tolist() == [2.0, 1.0]


def test_a_region_that_is_only_touched_does_not_count():
    # x + y >= 3, x < 2 and y < 1 never hold together, though their edges meet.
    network = Network.of_layers(
        [Layer([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [-3.0, -2.0, -1.0])], [1.0, -1.0, -1.0], 0.0
    )
    ends = extremes(network)
    assert ends.proven
    assert ends.high == 1.0


def test_ranges_categories_and_missing_values_may_be_given():
    network = town()
    everything, seen = extremes(network), extremes(network, "seen")
    scores = network.predict(town_rows(2000))
    assert everything.low <= seen.low <= scores.min()
    assert scores.max() <= seen.high <= everything.high
    ends = extremes(network, {"age": (0, 1), "city": ["Rome", "Oslo"], "owner": [True]}, missing=False)
    assert 0 <= ends.high_row[0] <= 1
    assert ends.high_row[1] in ("Rome", "Oslo")
    assert ends.high_row[3] is True
    attains(network, ends, {"age": (0, 1), "city": ["Rome", "Oslo"], "owner": [True]}, False)
    assert None not in [*ends.low_row, *ends.high_row]


def test_probabilities_and_classes():
    yes = Network.of_layers([Layer([[1.0]], [-2.0])], [1.0], 0.0, ["age"], "yes", link="logistic")
    ends = extremes(yes)
    np.testing.assert_allclose([ends.low, ends.high], 1 / (1 + np.exp([1.0, -1.0])))
    assert yes.predict([ends.high_row])[0] == ends.high
    many = Network.of_layers([Layer([[1.0]], [-2.0])], [[1.0, -0.5]], [0.0, 1.0], link="softmax")
    assert (extremes(many, output=1).low, extremes(many, output=1).high) == (0.5, 1.5)
    with pytest.raises(ValueError, match="output must be the number of a class, from 0 to 1"):
        extremes(many)
    with pytest.raises(ValueError, match="output must be a whole number from 0 to 1; got 2"):
        extremes(many, output=2)


def test_out_of_time_it_says_so():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(150, 8))
    network = Network.of_layers([Layer(weights, rng.normal(size=150))], rng.normal(size=150), 0.0)
    ends = extremes(network, max_seconds=0.05)
    assert not ends.proven
    assert ends.bounds[0] <= network.predict(rng.normal(size=(2000, 8))).min()
    assert ends.bounds[1] >= network.predict(rng.normal(size=(2000, 8))).max()
    assert "in time" in repr(ends)


def test_a_network_that_asks_nothing():
    base = Network.of_layers([Layer(np.zeros((0, 2)), [])], [], 3.0)
    assert (extremes(base).low, extremes(base).high, extremes(base).proven) == (3.0, 3.0, True)
    idle = Network.of_layers([Layer([[0.0, 0.0]], [1.0])], [2.0], 3.0)
    assert (extremes(idle).low, extremes(idle).high) == (5.0, 5.0)


@pytest.mark.parametrize(
    ("within", "texts"),
    [
        ("some", "within must be 'all', 'seen' or bounds by column"),
        ({"age": 3}, r"within must give 'age' two ends, \(low, high\); got 3"),
        ({"age": (3, 1)}, "a low end up to the high one"),
        ({"city": ["Paris"]}, "some of its levels, 'Lille'"),
        ({"agee": (0, 1)}, "within must name a column"),
    ],
)
def test_what_is_wrong_is_named(within, texts):
    with pytest.raises(ValueError, match=texts):
        extremes(town(), within)


def test_pipelines_are_seen_through():
    pytest.importorskip("sklearn")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(50, 10, (200, 2))
    model = make_pipeline(StandardScaler(), bgn.BGNRegressor(max_terms=3, random_state=0)).fit(X, X[:, 0] > 50)
    ends = extremes(model)
    assert model.predict([ends.high_row])[0] == pytest.approx(ends.high)


def test_numbers_of_any_size():
    schema = Schema((Column("a"), Column("b")))
    conditions = [Oblique(Projection((0,), (1.0,)), 1e300), Oblique(Projection((1,), (1.0,)), 1e-300)]
    network = Network.of_layers([Layer.of(conditions, 2)], [1.0, 2.0], 0.0, schema=schema)
    assert (extremes(network).low, extremes(network).high) == (-3.0, 3.0)
