"""What is called proven holds of every row there is, whatever a solver says: extremes, certificates, guarantees."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network, certify, extremes
from bgn.explain.counterfactual import search as change
from bgn.explain.optimize import program, region, search
from bgn.explain.optimize.problem import read_domain
from bgn.explain.proofs import list_guarantees, requested_signs
from bgn.model.schema import Column, Schema
from bgn.model.term import Oblique, Projection
from tests.command import call
from tests.fuzz_proofs import CHECKS, certificates_hold, counterfactual_holds, extremes_hold, is_proven, random_network
from tests.networks import TABLE, linear_coef_of, problems, table_networks, town, town_rows, with_linear_terms
from tests.optional import pandas as pd
from tests.reference.attainable import moves, range_of, rows

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
        ({"city": ["Paris"]}, "some of its categories, 'Lille'"),
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
def test_certificates_are_those_of_all_regions(case, within, missing):
    compared(case[0], within, missing)


@pytest.mark.exhaustive  # a network of four conditions may take a minute
@settings(max_examples=40)
@given(case=table_networks(), within=WITHIN, missing=st.booleans())
def test_certificates_of_larger_networks_are_those_of_all_regions(case, within, missing):
    compared(case[0], within, missing)


@settings(max_examples=30)
@given(case=problems(max_features=2))
def test_certificates_of_numbers_on_thresholds_are_those_of_all_regions(case):
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


KEPT = {1: ("increasing", "constant"), -1: ("decreasing", "constant")}


def keeps(network, wanted):
    """Every column moves the score as is wanted of it, proven."""
    for name, sign in zip(network.names, wanted, strict=True):
        if sign:
            certificate = bgn.certify(network, [name], max_seconds=60)[name]
            assert certificate.direction in KEPT[sign], certificate


def drawn(seed, classes):
    """Rows whose target moves against what is wanted, here and there, and a model that was told."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "a": rng.integers(0, 7, 80).astype(float), "b": rng.normal(size=80).round(1), "c": rng.normal(size=80).round(1),
        "grade": pd.Categorical(rng.choice(["low", "fair", "high"], 80), ["low", "fair", "high"], ordered=True),
    })  # fmt: skip
    y = np.sin(X["a"]) * 2 + X["a"] / 3 + X["b"] * (X["c"] > 0) - X["c"] + np.abs(X["grade"].cat.codes - 1)
    y = y + rng.normal(size=80)
    wanted = {"a": 1, "b": int(rng.choice([1, -1, 0])), "c": int(rng.choice([-1, 0])), "grade": int(rng.choice([1, 0]))}
    settings = {"max_terms": 6, "max_linear": 0, "random_state": 0, "monotonic_cst": wanted, "cv": None}
    if classes:
        y = y > np.median(y)
    make = bgn.BGNClassifier if classes else bgn.BGNRegressor
    return X, y, make(**settings).fit(X, y)


def made_of(model, X, y, points):
    """Every way to make a model of a model."""
    yield bgn.simplify(model, X, y, points=points).network
    yield bgn.simplify(model, X, ~y if y.dtype == bool else -y, points=points).network  # rows that want the opposite
    yield bgn.simplify(model, X, y, digits=1).network
    yield bgn.distill(model, X, y, max_terms=4, max_linear=0, random_state=0).network_
    yield bgn.edit(model, X, y).round(1).network
    yield model.with_terms(2).network_


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([2, 3, 10]))
def test_columns_move_the_prediction_as_required(seed, classes, points):
    X, y, model = drawn(seed, classes)
    for network in made_of(model, X, y, points):
        keeps(network, requested_signs(model))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(60))
def test_columns_move_the_prediction_as_required_of_many(seed):
    X, y, model = drawn(seed, seed % 2 == 0)
    for network in made_of(model, X, y, 1 + seed % 7):
        keeps(network, requested_signs(model))


def test_a_small_model_asks_together_what_the_large_one_may():
    X, y, _ = drawn(0, False)
    settings = {
        "max_terms": 4,
        "random_state": 0,
        "interaction_cst": "no_interactions",
        "bounds": (-5, None),
        "cv": None,
    }
    large = bgn.BGNRegressor(**settings).fit(X, y)
    small = bgn.distill(large, X, y, max_terms=3, random_state=0, cv=None)
    assert small.interaction_cst == "no_interactions"
    assert all(len(condition.projection.columns) == 1 for condition in small.network_.layers[0].neurons)
    assert small.network_.bounds == large.network_.bounds


def test_a_foreign_model_is_required_too_and_a_pipeline_warned_of():
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    large = HistGradientBoostingRegressor(max_iter=5, monotonic_cst=[1, 0]).fit(X, X[:, 0])
    keeps(bgn.distill(large, X, max_terms=3, random_state=0).network_, (1, 0))
    inside = make_pipeline(StandardScaler(), large).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="the model keeps monotonic_cst for the columns that its last step reads"):
        bgn.distill(inside, X, max_terms=2, random_state=0)


def test_the_command_line_keeps_them(tmp_path):
    X, y, _ = drawn(3, False)
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    X.drop(columns="grade").assign(y=y).to_csv(table, index=False)
    call("fit", table, "--target", "y", "--size", "6", "--increasing", "a", "--max-linear", "0", "-o", model)
    for command in (["simplify", model, table, "--points", "3"], ["distill", model, table, "--max-terms", "4"]):
        out = tmp_path / f"{command[0]}.json"
        call(*command, "-o", out)
        small = bgn.load(out)
        keeps(small.network_, [int(name == "a") for name in small.network_.names])
        assert list_guarantees(small) == ["the prediction never falls as a rises"]
    assert json.loads(model.read_text(encoding="utf-8"))["settings"]["monotonic_cst"]


ENDS = {"a": (1, 3), "b": (-2, 6), "c": (-6, -5)}
WHOLE = Schema(tuple(Column(name, whole=True, seen=ends) for name, ends in ENDS.items()))


@pytest.fixture
def no_lists(monkeypatch):
    """Rows and regions are never few enough to be tried: the solver decides what comes next."""
    for module in (search, change):
        monkeypatch.setattr(module, "_ROWS", 0)
    monkeypatch.setattr(program, "_REGIONS", 0)


@pytest.mark.parametrize("check", CHECKS)
def test_small_networks(check):
    for case in range(60):
        CHECKS[check](np.random.default_rng((0, case)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("check", CHECKS)
def test_many_small_networks(check, seed):
    assert sum(is_proven(check, seed, case) for case in range(100)) >= 97  # some weights are too small beside others


def hold_unless_unproven(seed, cases):
    for case in range(cases):
        extremes_hold(random_network(np.random.default_rng((seed, case))), sure=False)
        certificates_hold(random_network(np.random.default_rng((seed, case)), depth=1, most=3), sure=False)
        counterfactual_holds(np.random.default_rng((seed, case)), sure=False)


def test_small_networks_by_programs(no_lists):
    hold_unless_unproven(40, 12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(41, 44))
def test_many_small_networks_by_programs(no_lists, seed):
    hold_unless_unproven(seed, 60)


def test_three_whole_numbers_in_one_condition(request):
    network = Network.of_layers([Layer([[2.0, 2.0, -1.0]], [-6.0])], [1.0], 0.0, schema=WHOLE)
    for _ in range(2):
        answer = bgn.extremes(network, "seen")
        assert (answer.low, answer.high, answer.proven) == (-1.0, 1.0, True)
        assert {certificate.direction for certificate in bgn.certify(network, within="seen").values()} == {
            "increasing",
            "decreasing",
        }
        request.getfixturevalue("no_lists")


def test_a_solver_that_finds_nothing_where_there_is_something_proves_nothing(no_lists, monkeypatch):
    network, x = Network.of_layers([Layer([[2.0, 2.0, -1.0]], [-6.0])], [1.0], 0.0, schema=WHOLE), [1.0, -2.0, -5.0]
    calls = []

    def lies(real):
        """Every second answer is that there is nothing."""

        def solver(*args, **kwargs):
            calls.append(real)
            return SimpleNamespace(status=2, x=None) if len(calls) % 2 else real(*args, **kwargs)

        return solver

    monkeypatch.setattr(program, "milp", lies(program.milp))
    for start in range(4):
        calls[:] = [None] * start
        answer = bgn.extremes(network, "seen")
        assert not answer.proven or (answer.low, answer.high) == (-1.0, 1.0)
        calls[:] = [None] * start
        reached = bgn.counterfactual(network, x, at_least=1.0)
        assert reached.reached or not reached.unreachable


def test_shares_that_a_solver_makes_up_prove_nothing(no_lists, monkeypatch):
    real, rng = region.linprog, np.random.default_rng(0)

    def made_up(*args, **kwargs):
        answer = real(*args, **kwargs)
        if answer.status == 0 and len(answer.get("ineqlin", {}).get("marginals", ())):
            answer.ineqlin.marginals = -rng.random(len(answer.ineqlin.marginals))
        return answer

    monkeypatch.setattr(region, "linprog", made_up)
    for case in range(10):
        extremes_hold(random_network(np.random.default_rng((60, case)), most=3), sure=False)


def test_weights_that_a_solver_cannot_distinguish_are_not_proven(no_lists):
    layer = Layer([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0]], [0.0, 0.0, -1.0])
    assert not bgn.extremes(Network.of_layers([layer], [1e9, 1.0, 1.0], 0.0)).proven


def test_the_same_weights_are_proven_where_regions_are_listed():
    layer = Layer([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0]], [0.0, 0.0, -1.0])
    answer = bgn.extremes(Network.of_layers([layer], [1e9, 1.0, 1.0], 0.0))
    assert answer.proven
    assert answer.high == 1e9 + 2.0


def test_a_number_that_is_filled_and_moved_changes_once():
    schema = Schema((Column("a", seen=(0.0, 10.0), typical=2.0), Column("b", seen=(0.0, 10.0), typical=2.0)))
    layer = Layer.of([Oblique(Projection((0,), (1.0,)), 5.0, missing=False)], 2)
    network = Network.of_layers([layer], [1.0], 0.0, schema=schema)
    answer = bgn.counterfactual(network, [None, 1.0], at_least=1.0, fill_missing=True, max_changed=1)
    assert answer.reached
    assert list(answer.changes) == ["a"]
    assert answer.x.tolist() == [5.0, 1.0]


def test_a_missing_value_is_filled_within_bounds():
    schema = Schema((Column("city", categories=("Lille", "Nice"), typical=0.0),))
    projection = Projection((0,), ((0.0, 1.0),))
    network = Network.of_layers([Layer.of([Oblique(projection, 1.0, False)], 1)], [1.0], 0.0, schema=schema)
    assert bgn.counterfactual(network, [None], at_least=1.0, fill_missing=True).changes == {"city": (None, "Nice")}
    bounded = {"fill_missing": True, "bounds": {"city": ["Lille"]}}
    assert bgn.counterfactual(network, [None], at_least=1.0, **bounded).unreachable
