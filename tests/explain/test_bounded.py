"""Networks with bounds: explanations of the score, and of predictions within the bounds, as brute force says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bgn
from bgn import Layer, Network
from bgn.explain.optimize.problem import read_domain
from bgn.model.term import Oblique, Projection
from bgn.show.curves import corners
from tests.networks import TABLE, problems, table_networks, table_rows, town, town_rows, with_linear_terms
from tests.reference.attainable import moves, range_of
from tests.reference.explain import cheapest_table_row

SHARES = st.sampled_from([(0.3, 0.7), (0.2, None), (None, 0.8), (0.45, 0.55), (0.9, 1.5)])


def with_bounds(network, shares):
    """The network with bounds at shares of what its score can reach."""
    low = network.base - np.abs(network.output_weights).sum()
    span = 2 * np.abs(network.output_weights).sum() + 1e-3
    ends = [None if share is None else float(low + share * span) for share in shares]
    return network.changed(bounds=ends)


@settings(max_examples=15, deadline=None)
@given(case=table_networks(), shares=SHARES, within=st.sampled_from(["all", "seen"]))
def test_extremes_and_certificates_of_all_regions(case, shares, within):
    network = with_bounds(case[0], shares)
    domain = read_domain(network, within, True)
    ends, expected = bgn.extremes(network, within, max_seconds=60), range_of(network, domain)
    assert ends.proven
    for value, row, sample, sign in zip(
        (ends.low, ends.high), (ends.low_row, ends.high_row), expected, (-1, 1), strict=True
    ):
        assert network.predict(np.array([row], dtype=object))[0] == value
        assert sign * (value - sample) >= -1e-9
    answer = bgn.certify(network, within=within, max_seconds=60)
    for name, certificate in answer.items():
        if certificate.direction == "unordered":
            continue
        fall, rise = moves(network, domain, network.names.index(name))
        assert certificate.direction not in ("increasing", "constant") or fall <= 1e-9
        assert certificate.direction not in ("decreasing", "constant") or rise <= 1e-9
        for pair, sign in ((certificate.rises, 1), (certificate.falls, -1)):
            if pair is not None:
                low, high = network.predict(np.array(pair, dtype=object))
                assert sign * (high - low) > 0
                before, after = network.schema.encode(np.array(pair, dtype=object), missing=True)
                column = network.names.index(name)
                assert before[column] < after[column]
                np.testing.assert_array_equal(np.delete(before, column), np.delete(after, column))
        if certificate.direction == "neither":
            assert certificate.rises is not None
            assert certificate.falls is not None


def test_a_condition_on_missing_values_alone_has_no_far_ends():
    there = Oblique(Projection((0, 4), (0.0, (0.0, 0.0, 0.0)), (-2.6, 0.0)), -1.0)
    layer = Layer.of([there, Oblique(Projection((0,), (1.7,)), -1.0, missing=False)], 5)
    network = Network.of_layers([layer], [1.0, 2.0], 10.0, schema=TABLE).changed(bounds=(None, 11.0))
    low, high = bgn.certify(network)["age"].rises
    assert max(abs(low[0]), abs(high[0])) < 1e9


@settings(max_examples=60, deadline=None)
@given(case=table_networks(depth=1), shares=SHARES, data=st.data(), share=st.floats(0, 1))
def test_counterfactuals_of_all_rows(case, shares, data, share):
    network, complete = with_bounds(case[0], shares), case[1]
    x = data.draw(table_rows(complete, 1, 1))[0]
    low, high = network.bounds
    scores = network.base - np.abs(network.output_weights).sum(), network.base + np.abs(network.output_weights).sum()
    least = min(max(scores[0] + share * (scores[1] - scores[0]), low), high)
    least = data.draw(st.sampled_from([least, *(end for end in network.bounds if np.isfinite(end))]))
    row = network._rows(np.array([x], dtype=object))[0]
    prices = [1.0 if kind.categories is not None else 4.0 / max(kind.seen[1] - kind.seen[0], 1e-300) for kind in
              network.schema.columns]  # fmt: skip
    answer = bgn.counterfactual(network, x, at_least=least, max_seconds=60)
    best = cheapest_table_row(
        network, network.schema.encode(np.array([x], dtype=object), missing=True)[0], least, prices
    )
    assert answer.reached == np.isfinite(best)
    if answer.reached:
        assert answer.prediction >= least
        assert network.predict(np.array([answer.x], dtype=object))[0] == answer.prediction
        assert answer.cost <= best + 1e-6
    if least <= low:
        assert not answer.changes
    assert row.shape == (5,)


@settings(max_examples=60, deadline=None)
@given(problem=st.one_of(problems(), problems(depth=2)), shares=SHARES, column=st.integers(0, 3))
def test_effects_are_means_of_predictions_within(problem, shares, column):
    network, X, background = problem
    network, column = with_bounds(network, shares), column % network.n_inputs
    answer = bgn.effect(network, column, background)
    values = np.concatenate([answer.breakpoints, np.nextafter(answer.breakpoints, -np.inf), X[:, column]])

    def mean(columns, point):
        mixed = background.copy()
        mixed[:, columns] = point
        return network.predict(mixed).mean()

    np.testing.assert_allclose(answer(values), [mean([column], value) for value in values], atol=1e-10)
    if network.n_inputs > 1:
        pair = [column, (column + 1) % network.n_inputs]
        points = X[:, pair]
        both = bgn.effect(network, pair, background)(points[:, 0], points[:, 1])
        np.testing.assert_allclose(both, [mean(pair, point) for point in points], atol=1e-10)
    scores = bgn.effect(network, column, background, scale="score")
    free = bgn.effect(network.changed(bounds=None), column, background)
    np.testing.assert_array_equal(scores(values), free(values))


@settings(max_examples=60, deadline=None)
@given(problem=problems(), shares=SHARES, column=st.integers(0, 3), steepness=st.sampled_from([1.5, -0.4, 1e-3]),
       endless=st.booleans())  # fmt: skip
def test_effects_of_lines_that_bounds_cut_off(problem, shares, column, steepness, endless):
    network, X, background = problem
    count, column = network.n_inputs, column % network.n_inputs
    linear_coef = np.where(np.arange(count) == column, steepness, 0.25)
    ends = np.tile([-np.inf if endless else -0.5, 1.25], (count, 1))
    network = with_bounds(with_linear_terms(network, linear_coef, ends), shares)
    answer = bgn.effect(network, column, background)
    nearby = [np.nextafter(answer.breakpoints, side * np.inf) for side in (-1, 1)]
    between = (answer.breakpoints[1:] + answer.breakpoints[:-1]) / 2
    values = np.concatenate([answer.breakpoints, *nearby, between, X[:, column], [-9.0, 9.0]])
    mixed = np.repeat(background[np.newaxis], len(values), axis=0)
    mixed[:, :, column] = values[:, np.newaxis]
    want = network.predict(mixed.reshape(-1, count)).reshape(len(values), -1).mean(axis=1)
    np.testing.assert_allclose(answer(values), want, atol=1e-9)
    if count > 1:
        pair = [column, (column + 1) % count]
        points = X[:, pair]
        mixed = np.repeat(background[np.newaxis], len(points), axis=0)
        mixed[:, :, pair] = points[:, np.newaxis]
        want = network.predict(mixed.reshape(-1, count)).reshape(len(points), -1).mean(axis=1)
        both = bgn.effect(network, pair, background)
        np.testing.assert_allclose(both(points[:, 0], points[:, 1]), want, atol=1e-9)
        with pytest.raises(ValueError, match="cut off by bounds"):
            both.cells([[-1, 1], [-1, 1]])
    line = np.linspace(-2, 2, 301)
    places, categories = corners(answer, line)
    inside = (places[:-1] < places[1:]) & (np.diff(places) > 1e-6)
    middles = (places[:-1] / 2 + places[1:] / 2)[inside]
    np.testing.assert_allclose((categories[:-1] / 2 + categories[1:] / 2)[inside], answer(middles), atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(problem=problems(max_features=2), shares=SHARES)
def test_margins_to_another_prediction_within(problem, shares):
    network, X, _ = problem
    network = with_bounds(network, shares)
    answer, own = bgn.margin(network, X), network.predict(X)
    rng = np.random.default_rng(0)
    for k, row in enumerate(X):
        for column in range(network.n_inputs):
            for end, side in ((answer.up, 1), (answer.down, -1)):
                value, moved = end[k, column], np.repeat(row[np.newaxis], 60, axis=0)
                if np.isfinite(value):
                    other = row.copy()
                    other[column] = value
                    assert abs(network.predict([other])[0] - own[k]) > 1e-12
                reach = abs(value - row[column]) if np.isfinite(value) else 50.0
                moved[:, column] = row[column] + side * reach * rng.random(60) * (1 - 1e-9)
                if reach > 1e-9:
                    np.testing.assert_allclose(network.predict(moved), own[k], atol=1e-11)
        if answer.exact[k]:
            radius = answer.euclidean[k] if np.isfinite(answer.euclidean[k]) else 20.0
            ways = rng.normal(size=(400, network.n_inputs))
            ways *= (radius * (1 - 1e-5) * rng.random(400) / np.linalg.norm(ways, axis=1))[:, np.newaxis]
            if radius > 1e-6:
                np.testing.assert_allclose(network.predict(row + ways), own[k], atol=1e-11)


def test_what_is_explained_is_the_score_and_the_prediction_is_shown_too():
    network, rows = town().changed(bounds=(0.0, 1.5)), town_rows(40)
    answer, free = bgn.shap_values(network, rows, rows), bgn.shap_values(town(), rows, rows)
    np.testing.assert_array_equal(answer.values, free.values)
    np.testing.assert_array_equal(answer.predictions, network.predict(rows))
    assert free.predictions is None
    np.testing.assert_allclose(answer.base_value + answer.values.sum(axis=1), network.raw_score(rows))
    shift = bgn.compare_tables(network, rows[:20], rows[20:])
    assert shift.difference == pytest.approx(network.raw_score(rows[20:]).mean() - network.raw_score(rows[:20]).mean())
    edited = bgn.edit(network, rows, network.predict(rows)).coef(1, 0.3)
    np.testing.assert_array_equal(edited.network.predict(rows), np.clip(edited.network.raw_score(rows), 0.0, 1.5))
    assert edited.network.bounds == network.bounds
    simple = bgn.simplify(network, rows, network.predict(rows), digits=1).network
    assert simple.bounds == network.bounds


def test_linear_terms_without_ends_reach_the_bounds():
    line = with_linear_terms(
        Network.of_layers([Layer([[1.0, 0.0]], [-2.0])], [1.0], 0.5, ["a", "b"], bounds=(-3.0, 8.0)), [0.0, -0.7]
    )
    ends = bgn.extremes(line)
    assert (ends.low, ends.high, ends.proven) == (-3.0, 8.0, True)
    np.testing.assert_array_equal(line.predict([ends.low_row, ends.high_row]), [-3.0, 8.0])
    one = bgn.extremes(line.changed(bounds=(None, 8.0)))
    assert one.low == -np.inf
    assert one.low_row is None


def test_what_no_prediction_reaches_is_refused():
    network = Network.of_layers([Layer([[1.0]], [-2.0])], [1.0], 0.5, ["rooms"], bounds=(0, 1))
    with pytest.raises(ValueError, match="at_least must not be above 1, which no prediction goes beyond; got 2"):
        bgn.counterfactual(network, [1.0], at_least=2)
    with pytest.raises(ValueError, match="at_most must not be below 0, which no prediction goes beyond; got -1"):
        bgn.counterfactual(network, [1.0], at_most=-1)
    assert bgn.counterfactual(network, [5.0], at_most=0).x.tolist() == [np.nextafter(2.0, 0.0)]
